//! The actions of the pages that lie over the chat, by context.

use super::actions::ScrollAction;

/// Keys of the page of permission rules, while no text field is open in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RulesKey {
    /// The row above.
    Previous,
    /// The row below.
    Next,
    PageUp,
    PageDown,
    /// The first row.
    First,
    /// The last row.
    Last,
    /// Adds a rule.
    Add,
    /// Edits the rule.
    Edit,
    /// Removes the rule when pressed twice.
    Remove,
    /// Tests a call against the rules.
    Try,
    /// Closes the page.
    Back,
}

/// Keys of the page of what fills the context window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LedgerKey {
    /// The row above.
    Previous,
    /// The first row.
    First,
    PageUp,
    /// The row below.
    Next,
    /// The last row.
    Last,
    PageDown,
    /// Shows the items of a source, or hides them.
    Toggle,
    /// Shows the items of a source.
    Open,
    /// Hides the items of a source.
    Close,
    /// Folds the item out of what is sent, or brings it back.
    Fold,
    /// Pins the item, or no longer.
    Pin,
    /// Measures the context anew.
    Reload,
    /// Closes the page.
    Back,
}

/// Keys of the page of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobsKey {
    /// The job above.
    Previous,
    /// The job below.
    Next,
    /// Scrolls the output. To its end also follows it.
    Scroll(ScrollAction),
    /// Ends the job when pressed twice.
    End,
    /// Copies the part of the output that is on screen.
    Copy,
    /// Shows the output in the pager.
    Open,
    /// Gives all keys to the job's terminal.
    TakeOver,
    /// Takes the keys back from the terminal; when pressed again, it goes to the terminal.
    GiveBack,
    /// Closes the page.
    Back,
}

/// Keys of the page of agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AgentsKey {
    /// The agent above.
    Previous,
    /// The agent below.
    Next,
    /// Shows the conversation with the agent.
    Open,
    /// Stops the agent when pressed twice.
    Stop,
    /// Closes the page.
    Back,
}

/// Keys of the page of a race.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RaceKey {
    /// Takes the answer of the selected side.
    Take,
    /// Selects the other side.
    Switch,
    /// Selects the left side.
    Left,
    /// Selects the right side.
    Right,
    /// Shows the conversation of the selected side.
    Open,
    /// Scrolls the selected side.
    Scroll(ScrollAction),
    /// Stops both sides and takes neither answer.
    Stop,
}

/// Keys of the page of MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum McpKey {
    /// Moves the selection, or scrolls what is shown of a server.
    Scroll(ScrollAction),
    /// Shows the selected server.
    Open,
    /// Goes back to the list.
    Leave,
    Restart,
    /// Begins a login to the server.
    LogIn,
    /// Lets the server that is shown start.
    Allow,
    /// Accepts the changed definitions that are shown.
    Accept,
    /// Goes back to the list, or closes the page.
    Back,
}

/// Keys of the page of language servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LspKey {
    /// Moves the selection.
    Scroll(ScrollAction),
    Restart,
    /// Ends the server until it is restarted.
    Stop,
    /// Closes the page.
    Back,
}

/// Keys of the page of instruction files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemoryKey {
    /// Moves the selection.
    Scroll(ScrollAction),
    /// Shows the text of the file.
    Open,
    /// Opens the file in the user's editor.
    Edit,
    /// Closes the page.
    Back,
}

/// Keys of the rewind dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RewindKey {
    /// Rewinds everything that is offered.
    Accept,
    /// Rewinds only the files.
    Files,
    /// Rewinds only the conversation.
    Conversation,
    /// Switches the answer for the file in question.
    Answer,
    /// The next file in question; after the last, the first.
    NextQuestion,
    /// Scrolls the list of what would happen.
    Scroll(ScrollAction),
    /// Closes the dialog and changes nothing.
    Back,
}

/// Keys of the review of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReviewKey {
    Scroll(ScrollAction),
    NextChange,
    PreviousChange,
    NextFile,
    PreviousFile,
    /// Rejects the change, or takes it back in.
    Toggle,
    /// Rejects all changes of the file, or takes them back in.
    ToggleFile,
    /// Rejects all changes, or takes them back in.
    ToggleAll,
    /// Takes the rejected changes out of the files.
    Apply,
    EarlierTurn,
    LaterTurn,
    /// Shows the whole session, or the last turn again.
    Session,
    /// Switches between a unified and a side-by-side diff.
    Sides,
    Back,
}

/// Keys of a question of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QuestionKey {
    /// Takes the option whose number is the key.
    Number,
    /// Takes the marked answer, or goes on with those that are chosen.
    Accept,
    /// Chooses the marked option, where several may be, or drops it.
    Toggle,
    RowAbove,
    RowBelow,
    /// Opens a field for the user's own words.
    OwnWords,
    /// Leaves the question to the model.
    LeaveOpen,
    /// Goes back to the question before.
    Back,
    /// Opens the document that the question is about, to change it.
    EditDocument,
    /// Scrolls the document, or what an option would look like.
    Scroll(ScrollAction),
    /// Stops the turn.
    Stop,
}

/// Keys of a page of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReadingKey {
    /// Scrolls the page.
    Scroll(ScrollAction),
    /// Closes the page.
    Back,
}

/// Keys of the pager while no search field is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PagerKey {
    /// Scrolls, or moves the end of the marked lines.
    Scroll(ScrollAction),
    /// Scrolls left; only if lines are not wrapped.
    Left,
    /// Scrolls right; only if lines are not wrapped.
    Right,
    /// Switches between wrapping and cutting long lines.
    Wrap,
    /// Shows or hides line numbers.
    Numbers,
    /// Keeps the end in view while more output comes.
    Follow,
    /// Opens the search field.
    Search,
    /// The next match.
    Next,
    /// The previous match.
    Previous,
    /// Starts or ends marking lines.
    Mark,
    /// Copies the marked lines, or all lines if none are marked.
    Copy,
    /// Opens the text in the user's own pager.
    OpenPager,
    /// Ends marking, or closes the pager.
    Back,
}

/// Keys of the pager's search field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FindKey {
    /// Closes the field and stays on the match.
    Accept,
    /// Closes the field and goes back to where the search began.
    Back,
    /// Switches between a regular expression and literal text.
    Regex,
    /// The next match.
    Next,
    /// The previous match.
    Previous,
}

/// Keys of the changes page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangesKey {
    /// Scrolls the diff.
    Scroll(ScrollAction),
    NextFile,
    PreviousFile,
    /// The next change.
    NextHunk,
    /// The previous change.
    PreviousHunk,
    /// Switches between a unified and a side-by-side diff.
    Sides,
    /// Shows or folds the unchanged parts.
    Context,
    /// Unfolds the first fold on screen.
    Unfold,
    /// Copies the file's patch.
    Copy,
    /// Copies the patch of all files.
    CopyAll,
    /// Reads the files again.
    Reload,
    /// Closes the page.
    Back,
}
