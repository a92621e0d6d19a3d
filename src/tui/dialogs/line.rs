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
    /// The rule to save, or a yes to the one that was printed.
    Rule,
    /// Text that tells the model what to do instead.
    Instruction,
    /// A row of a list, by its number or name.
    Row,
    /// The new value of a setting.
    Value,
    /// What to do with a part of what is sent, and its number.
    LedgerEdit,
    /// Nothing: what is open has not been loaded yet.
    Nothing,
}

/// Why a line is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineAnswerError {
    /// The line came before the question was read out.
    #[error("That line came before the question was shown, so it does not answer it.")]
    TooSoon,
    /// Choosing: a line that is none of the answers.
    #[error("Not one of the answers. Type one of the letters in the question.")]
    NoAnswer,
    /// A question of the model's: a number that no answer has.
    #[error("No answer has that number. Type one from the list, or your own words.")]
    NoOption,
    /// A yes-or-no question: a line that is neither.
    #[error("Type y or n.")]
    YesOrNo,
    /// For example a rule for a call that offers none.
    #[error("That answer is not available here. Type one of the letters in the question.")]
    NotOffered,
    /// One rule was typed, but the call needs several.
    #[error("This call needs several rules, so you cannot type one here. Type only s or a.")]
    SeveralRules,
    /// The typed rule allows more than its words show; holds what it means.
    #[error("That rule {0}. Type s or a alone to use it anyway.")]
    Wide(String),
    /// The rule that was typed where one is edited allows more than its words show.
    #[error("That rule {0}. Type y to save it anyway, or another rule.")]
    WideRule(String),
    /// A rule was expected, and the line is a word.
    #[error(
        "Type y to save the rule, another rule such as Bash(npm *), or an empty line to go back."
    )]
    NoRule,
    /// A list was shown, and no row has that number or name.
    #[error("No row has that number. Type a number from the list, or an empty line to go back.")]
    NoRow,
    /// A change of a review that cannot be rejected.
    #[error(
        "That change cannot be rejected: its lines have changed since, or it is already reverted."
    )]
    NoRejection,
    /// A review is applied in which nothing is rejected.
    #[error("No change is rejected. Type the number of a change, or an empty line to close.")]
    NothingRejected,
    /// The line names no edit of what is sent that is possible.
    #[error("Type fold or pin and a number from the list, or an empty line to go back.")]
    NoEdit,
    /// A server is shown, and the line is nothing that can be done with it.
    #[error("Type restart, allow or accept, or an empty line to go back to the list.")]
    NoServerAction,
}

/// The index of the row that a line names by its number, which counts from 1.
///
/// # Errors
///
/// When it is no number, or none of `count` rows has it.
pub fn numbered_row(line: &str, count: usize) -> Result<usize, LineAnswerError> {
    let number = line.trim().parse::<usize>().ok();
    let index = number.and_then(|number| number.checked_sub(1));
    index.filter(|index| *index < count).ok_or(LineAnswerError::NoRow)
}
