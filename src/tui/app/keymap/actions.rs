//! The actions that keys can be bound to, by context.
//!
//! The name of an action comes from its variant: `ChatKey::FoldAll` is `chat.fold-all` in every
//! list and in `keys.toml`. Renaming a variant therefore breaks the `keys.toml` of users.

pub use super::page_actions::*;

/// Keys that work wherever the focus is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AlwaysKey {
    /// Clears the input, else stops the turn, else leaves.
    Cancel,
    /// Draws the whole screen again.
    Redraw,
    /// Suspends slug and returns to the shell.
    Suspend,
    /// Goes to the next mark of the tour.
    SkipMark,
    /// Ends the tour.
    LeaveTour,
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
    /// Shows the conversation with the next agent.
    NextConversation,
    /// Lists the agents that the model has started.
    Agents,
    /// Lets the running command go on in the background.
    Background,
    /// Takes back what the last call that changed a file changed.
    UndoEdit,
}

/// How something scrolls: by rows, by half a page, by a page, or to either end.
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
    PageUp,
    PageDown,
    /// To the start.
    Top,
    /// To the end.
    Bottom,
}

/// Keys of the input while it has the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InputKey {
    /// Sends the text; while a turn runs, once that turn ends.
    Send,
    /// Begins a new line.
    Newline,
    /// Sends the text into the running turn.
    Steer,
    /// A row up; at the top, the older text of the history.
    Up,
    /// A row down; at the bottom, the newer text of the history.
    Down,
    /// Opens the list of texts sent before.
    History,
    /// Opens the user's editor.
    OpenEditor,
    /// Replaces the chip at the caret by its text.
    Unfold,
    /// Pastes the clipboard: an image, or text.
    PasteImage,
    /// Types `@`, which names a file.
    File,
}

/// Keys of the input while it is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EmptyInputKey {
    /// Types `/`, which starts a slash command.
    Command,
    /// Types `!`, which starts a shell command.
    Shell,
    /// Shows the keys.
    Help,
    /// Opens one of the recent sessions, by its digit.
    Recent,
}

/// Keys of the completion list under the caret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompletionKey {
    /// The row above.
    Previous,
    /// The row below.
    Next,
    /// Inserts the row, and runs the slash command if that completes it.
    Accept,
    /// Inserts the row; the user types on.
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
    /// Folds or unfolds the pane.
    Toggle,
    /// Folds or unfolds all panes of this kind.
    ToggleKind,
    /// Folds or unfolds the calls of all tools.
    ToggleTools,
    /// Shows the pane's content in full, over the whole screen.
    View,
    /// Shows what the log says about the pane: why a call ran, what was sent and what it took.
    Explain,
    /// Copies the pane's text.
    Copy,
    /// Forks the session after this message.
    Fork,
    /// Rewinds to before this message.
    Rewind,
    /// Reviews what the turn of this pane changed.
    Review,
    /// Takes back what the call of this pane changed in files.
    Undo,
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
    /// Puts a caret into the transcript, which selects text.
    Select,
}

/// Keys of the transcript search while the query is being typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SearchKey {
    /// Closes the query and stays on the match.
    Stay,
    /// Goes back to where the search began.
    Back,
    /// The match above.
    Previous,
    /// The match below.
    Next,
    /// Switches between a regular expression and literal text.
    Regex,
}

/// Keys of the panes while a search is on a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SearchMatchKey {
    /// The match above.
    Previous,
    /// The match below.
    Next,
    /// Edits the query again.
    Edit,
    /// Ends the search.
    Close,
}

/// Keys of the caret that selects in the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CaretKey {
    Move(CaretMotion),
    /// Moves the caret and selects the text it passes.
    Extend(CaretMotion),
    /// Starts or ends a selection at the caret.
    Mark,
    /// Starts or ends a selection of whole lines at the caret.
    MarkLines,
    /// Copies the selection, or the caret's line if nothing is selected.
    Copy,
    /// Ends the selection, or leaves the transcript if there is none.
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
    /// To the start of the word, or of the previous one.
    WordLeft,
    /// To the start of the next word.
    WordRight,
    RowStart,
    RowEnd,
    /// Half a page up.
    HalfUp,
    /// Half a page down.
    HalfDown,
    PageUp,
    PageDown,
    /// To the start of the transcript.
    Top,
    /// To the end of the transcript.
    Bottom,
}

/// Keys of a permission question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApprovalKey {
    /// The marked answer.
    Accept,
    /// Marks the answer above.
    PreviousAnswer,
    /// Marks the answer below.
    NextAnswer,
    /// Yes, once.
    Once,
    /// Yes, and to the listed requests that wait.
    AllWaiting,
    /// Yes, for this session.
    Session,
    /// Yes, and to all edits in the workspace.
    AllowEdits,
    /// Yes, always.
    Always,
    /// No, once.
    No,
    /// No, and stop the turn.
    Stop,
    /// No, always.
    Never,
    /// Yes, on a terminal of its own.
    OnTerminal,
    /// Edits the command first.
    EditCommand,
    /// No, with an instruction what to do instead.
    Instruct,
    /// Includes the focused change of an edit, or leaves it out.
    Pick,
    /// The next change of an edit.
    NextChange,
    /// The previous change of an edit.
    PreviousChange,
    /// Scrolls the command or the diff; where all of it is on screen, the chat above it.
    Scroll(ScrollAction),
    /// Scrolls the chat above the question.
    Chat(ScrollAction),
}

/// Keys of a text field in a dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FieldKey {
    /// Accepts the text.
    Accept,
    /// Closes the field and drops the text.
    Back,
    /// Goes to the next field.
    Next,
    /// Inserts a line end.
    Newline,
}

/// Keys of a list to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListKey {
    /// The row above.
    Previous,
    /// The row below.
    Next,
    PageUp,
    PageDown,
    /// Chooses the row.
    Accept,
    /// Closes the list.
    Back,
}

/// Keys of the list of models, in addition to those of every list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelListKey {
    /// Marks the model as a favourite, or removes the mark.
    Mark,
}

/// Keys of the list of sessions, while no text field is open in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SidebarKey {
    /// The session above.
    Previous,
    /// The session below.
    Next,
    PageUp,
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
    /// Restores the session that was deleted last.
    Undo,
    /// Opens the filter, which searches titles and messages.
    Filter,
    /// Switches between grouping by project, by date and by fork.
    Group,
    /// Marks a session, then compares another one with it.
    Compare,
    /// Inserts a summary of the session into the input.
    SumUp,
    /// Exports the session to a file that can be shared.
    Export,
    /// Shows the messages of the session.
    Preview,
    /// The previous message of the preview.
    PreviousMessage,
    /// The next message of the preview.
    NextMessage,
    /// Switches between the sessions of all projects and of this one.
    Scope,
    /// Shows the keys.
    Help,
    /// Moves the focus to the input; the list stays open.
    Leave,
    /// Closes the list.
    Close,
}

/// A jump to the nearest message or error above or below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TranscriptJump {
    /// To the nearest user message above.
    PreviousMessage,
    /// To the nearest user message below.
    NextMessage,
    /// To the nearest error above.
    PreviousError,
    /// To the nearest error below.
    NextError,
}

/// An action of an editing key. Actions that move the caret end the selection, unless they select.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EditAction {
    /// Moves one grapheme to the left, or to the start of the selection.
    Left,
    /// Moves one grapheme to the right, or to the end of the selection.
    Right,
    /// Moves to the start of the word, or of the one before.
    WordLeft,
    /// Moves behind the word, or behind the next one.
    WordRight,
    /// Moves to the start of the row, and from there to the start of the line.
    Home,
    /// Moves to the end of the row, and from there to the end of the line.
    End,
    /// Extends the selection by one grapheme to the left.
    SelectLeft,
    /// Extends the selection by one grapheme to the right.
    SelectRight,
    /// Extends the selection back to the start of the word.
    SelectWordLeft,
    /// Extends the selection to the end of the next word.
    SelectWordRight,
    /// Extends the selection to the start of the row, then of the line.
    SelectHome,
    /// Extends the selection to the end of the row, then of the line.
    SelectEnd,
    SelectAll,
    /// Removes the selection into the kill ring.
    Cut,
    /// Removes the selection, or the grapheme before the caret. The kill ring does not change.
    Backspace,
    /// Removes the selection, or the grapheme behind the caret. The kill ring does not change.
    Delete,
    /// Kills back to the start of the word.
    KillWordLeft,
    /// Kills up to the end of the next word.
    KillWordRight,
    /// Kills back to the start of the line; at the start, kills the line end before it.
    KillHome,
    /// Kills up to the end of the line; at the end, kills the line end.
    KillEnd,
    /// Inserts the newest kill.
    Yank,
    /// Directly after a yank: replaces the inserted kill by the one before it.
    YankOlder,
    /// Undoes the last step.
    Undo,
    /// Redoes the step that was undone last.
    Redo,
}
