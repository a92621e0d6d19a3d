//! What can be done by a key, context by context.
//!
//! An action's name is that of its variant: `ChatKey::FoldAll` is `chat.fold-all` wherever it is
//! listed or bound to other keys, so a variant's name is a promise to people's `keys.toml`.

use crate::tui::app::navigation::TranscriptJump;

/// Keys that work wherever the focus is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AlwaysKey {
    /// Clears the input, then stops the turn, then leaves.
    Cancel,
    /// Draws everything anew.
    Redraw,
    /// Back to the shell for a while.
    Suspend,
}

/// Keys of the chat, whichever part has the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChatKey {
    /// Shows the keys.
    Help,
    /// Lists every command.
    Palette,
    /// Lists the sessions.
    Sessions,
    /// Folds or unfolds all panes.
    FoldAll,
    /// Moves the focus between the input and the panes.
    Focus,
    /// Goes to the next mode.
    NextMode,
    /// Closes what is open, else stops the turn.
    Back,
    /// Moves through the transcript.
    Scroll(ScrollAction),
    /// Goes to a message or an error.
    Jump(TranscriptJump),
    /// Copies the last answer.
    CopyAnswer,
    /// Copies the last code block.
    CopyCode,
    /// Searches the transcript.
    Search,
}

/// How something scrolls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScrollAction {
    /// One row up.
    LineUp,
    /// One row down.
    LineDown,
    /// Half a page up.
    HalfUp,
    /// Half a page down.
    HalfDown,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the beginning.
    Top,
    /// To the end.
    Bottom,
}

/// Keys of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InputKey {
    /// Sends what is typed; while a turn runs, after it.
    Send,
    /// Begins a new line.
    Newline,
    /// Puts what is typed into the running turn.
    Steer,
    /// A row up, and at the top the older text.
    Up,
    /// A row down, and at the bottom the newer text.
    Down,
    /// Searches what was sent before.
    History,
    /// Opens the person's editor.
    OpenEditor,
    /// Puts the text of the paste at the caret in its place.
    Unfold,
    /// Takes what is on the clipboard: an image, or text.
    PasteImage,
    /// Names a file: types its sign.
    File,
}

/// Keys of the input while it is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EmptyInputKey {
    /// Names a command: types its sign.
    Command,
    /// Runs a shell command: types its sign.
    Shell,
    /// Shows the keys.
    Help,
}

/// Keys of the list under the caret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompletionKey {
    /// The row above.
    Previous,
    /// The row below.
    Next,
    /// Takes the row, and runs a command that is complete with it.
    Accept,
    /// Takes the row.
    Complete,
    /// Closes the list.
    Dismiss,
}

/// Keys while the focus is on the panes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PaneKey {
    /// The pane above.
    Previous,
    /// The pane below.
    Next,
    /// Folds or unfolds.
    Toggle,
    /// Folds or unfolds all panes of this kind.
    ToggleKind,
    /// Folds or unfolds all calls, whichever the tool.
    ToggleTools,
    /// Shows the whole over the whole screen.
    View,
    /// Copies the pane's text.
    Copy,
    /// Forks the session after this message.
    Fork,
    /// Goes back before this message.
    Rewind,
    /// Shows the keys.
    Help,
    /// Moves through the transcript.
    Scroll(ScrollAction),
    /// Goes to a message or an error.
    Jump(TranscriptJump),
    /// Copies the pane's last code block.
    CopyCode,
    /// Searches the transcript.
    Search,
    /// Puts a caret into the transcript, to select with it.
    Select,
}

/// Keys of the search while its query is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SearchKey {
    /// Stays on the match.
    Stay,
    /// Goes back to where the search began.
    Back,
    /// The match above.
    Previous,
    /// The match below.
    Next,
    /// Reads the query as a regular expression, or letter by letter again.
    Regex,
}

/// Keys of the panes while a search stands on a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SearchMatchKey {
    /// The match above.
    Previous,
    /// The match below.
    Next,
    /// Goes on typing the query.
    Edit,
    /// Ends the search.
    Close,
}

/// Keys of the caret in the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CaretKey {
    /// Moves it.
    Move(CaretMotion),
    /// Moves it, and selects what it goes over.
    Extend(CaretMotion),
    /// Selects from here on, or no longer.
    Mark,
    /// Selects whole lines from here on, or no longer.
    MarkLines,
    /// Copies what is selected, or else the line.
    Copy,
    /// Selects no longer, then leaves.
    Back,
}

/// How the caret in the transcript moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CaretMotion {
    /// A character left.
    Left,
    /// A character right.
    Right,
    /// A row up.
    Up,
    /// A row down.
    Down,
    /// To the beginning of the word, or of the one before.
    WordLeft,
    /// To the beginning of the next word.
    WordRight,
    /// To the beginning of the row.
    RowStart,
    /// To the end of the row.
    RowEnd,
    /// Half a page up.
    HalfUp,
    /// Half a page down.
    HalfDown,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the beginning of the transcript.
    Top,
    /// To the end of the transcript.
    Bottom,
}

/// Keys of a permission question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApprovalKey {
    /// Yes, once.
    Once,
    /// Yes, for this session.
    Session,
    /// Yes, always.
    Always,
    /// No, once.
    No,
    /// No, always.
    Never,
    /// Edits the command first.
    EditCommand,
    /// No, with what to do instead.
    Instruct,
    /// Edits the rule that is saved.
    EditRule,
    /// Takes the change that has the focus, or leaves it out.
    Pick,
    /// The next change of an edit.
    NextChange,
    /// The change before.
    PreviousChange,
    /// Moves through the command or the diff.
    Scroll(ScrollAction),
}

/// Keys of a text field in a dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FieldKey {
    /// Takes what is typed.
    Accept,
    /// Leaves it as it was.
    Back,
    /// Goes to the next field.
    Next,
    /// Begins a new line.
    Newline,
}

/// Keys of a list to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListKey {
    /// The row above.
    Previous,
    /// The row below.
    Next,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// Takes the row.
    Accept,
    /// Closes the list.
    Back,
}

/// Keys of the list of models, beside those of every list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelListKey {
    /// Marks the model as a favourite, or takes its mark off.
    Mark,
}

/// Keys of the list of sessions, while nothing is typed in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SidebarKey {
    /// The session above.
    Previous,
    /// The session below.
    Next,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// The first session.
    First,
    /// The last session.
    Last,
    /// Opens the session.
    Open,
    /// Forks the session and opens the fork.
    Fork,
    /// Edits the session's title.
    Rename,
    /// Moves the session to the trash.
    Delete,
    /// Brings back what was deleted last.
    Undo,
    /// Narrows the list, and looks for what is typed in what was said.
    Filter,
    /// Groups by project, by date, or by what was forked.
    Group,
    /// Marks a session, then compares another one with it.
    Compare,
    /// Puts a summary of the session into the input.
    SumUp,
    /// Writes the session into a file that can be passed on.
    Export,
    /// Shows what was said in the session.
    Preview,
    /// The message above, in what was said.
    PreviousMessage,
    /// The message below, in what was said.
    NextMessage,
    /// Shows the sessions of all projects, or of this one.
    Scope,
    /// Shows the keys.
    Help,
    /// Back to the input; the list stays.
    Leave,
    /// Closes the list.
    Close,
}

/// Keys of the permission rules, while nothing is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RulesKey {
    /// The row above.
    Previous,
    /// The row below.
    Next,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// The first row.
    First,
    /// The last row.
    Last,
    /// Adds a rule.
    Add,
    /// Edits the rule.
    Edit,
    /// Removes the rule, the second time.
    Remove,
    /// Tries a call on the rules.
    Try,
    /// Closes the page.
    Back,
}

/// Keys of the dialog for going back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RewindKey {
    /// Does all that is offered.
    Accept,
    /// Takes the files back alone.
    Files,
    /// Takes the conversation back alone.
    Conversation,
    /// Gives the other answer for the file that is asked about.
    Answer,
    /// The next file that is asked about; behind the last one, the first.
    NextQuestion,
    /// Moves through what would happen.
    Scroll(ScrollAction),
    /// Does nothing.
    Back,
}

/// Keys of something to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReadingKey {
    /// Moves through it.
    Scroll(ScrollAction),
    /// Closes it.
    Back,
}

/// Keys of the pager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PagerKey {
    /// Moves through it, or the end of what is marked.
    Scroll(ScrollAction),
    /// To the left where lines are not wrapped.
    Left,
    /// To the right where lines are not wrapped.
    Right,
    /// Wraps long lines, or cuts them.
    Wrap,
    /// Shows or hides line numbers.
    Numbers,
    /// Keeps the end in sight while more comes.
    Follow,
    /// Looks for something.
    Search,
    /// The next match.
    Next,
    /// The match before.
    Previous,
    /// Begins or ends marking lines.
    Mark,
    /// Copies the marked lines, or all.
    Copy,
    /// Opens it in the person's own pager.
    OpenPager,
    /// Ends marking, or closes it.
    Back,
}

/// Keys of the field for what to look for in the pager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FindKey {
    /// Closes the field and stays there.
    Accept,
    /// Closes the field and goes back.
    Back,
    /// Reads what is typed as a regular expression, or letter by letter.
    Regex,
    /// The next match.
    Next,
    /// The match before.
    Previous,
}

/// Keys of the page that shows what the session changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangesKey {
    /// Moves through the diff.
    Scroll(ScrollAction),
    /// The next file.
    NextFile,
    /// The file before.
    PreviousFile,
    /// The next change.
    NextHunk,
    /// The change before.
    PreviousHunk,
    /// One below the other, or side by side.
    Sides,
    /// Shows what did not change, or folds it.
    Context,
    /// Opens the first fold on screen.
    Unfold,
    /// Copies the file's patch.
    Copy,
    /// Copies the patch of all files.
    CopyAll,
    /// Reads the files anew.
    Reload,
    /// Closes it.
    Back,
}
