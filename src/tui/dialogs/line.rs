//! How a front end without keys answers: with whole lines.

/// How the next line will be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedLine {
    /// A message or a command.
    Message,
    /// An answer to a permission question.
    Answer,
    /// The shell command to run in place of the one that the model proposed.
    Command,
    /// Text that tells the model what to do instead.
    Instruction,
    /// A row of a list, by its number or name.
    Row,
    /// What to do with a part of what is sent, and its number.
    LedgerEdit,
    /// Nothing: what is open has not been loaded yet.
    Nothing,
}

/// Why a line is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineAnswerError {
    /// The line came before the question was read out.
    #[error("That line came before the question could be read, and is no answer to it.")]
    TooSoon,
    /// Choosing: a line that is none of the answers.
    #[error("That is none of the answers. Type one of the letters that the question names.")]
    NoAnswer,
    /// A yes-or-no question: a line that is neither.
    #[error("That is no answer. Type y or n.")]
    YesOrNo,
    /// For example a rule for a call that offers none.
    #[error("That answer is not offered for this call. Type one that the question names.")]
    NotOffered,
    /// One rule was typed, but the call needs several.
    #[error("This call needs several rules, which cannot be replaced by one. Answer s or a alone.")]
    SeveralRules,
    /// The typed rule allows more than its words show; holds what it means.
    #[error("That rule {0}. Answer s or a alone to have it all the same.")]
    Wide(String),
    /// A list was shown, and no row has that number or name.
    #[error("No row has that number. Type one of the numbers, or an empty line to go back.")]
    NoRow,
    /// The line names no edit of what is sent that is possible.
    #[error(
        "That cannot be done. Type fold or pin and one of the numbers, or an empty line to go back."
    )]
    NoEdit,
}
