//! The actions that keys can be bound to, by context.
//!
//! The name of an action comes from its variant: `ChatKey::FoldAll` is `chat.fold-all` in every
//! list and in `keys.toml`. Renaming a variant therefore breaks the `keys.toml` of users.

/// Keys that work wherever the focus is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AlwaysKey {
    /// Clears the input, else stops the turn, else leaves.
    Cancel,
    /// Draws the whole screen again.
    Redraw,
    /// Suspends slug and returns to the shell.
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
    /// Shows the conversation with the next agent.
    NextConversation,
    /// Lets the running command go on in the background.
    Background,
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
    /// Copies the pane's text.
    Copy,
    /// Forks the session after this message.
    Fork,
    /// Rewinds to before this message.
    Rewind,
    /// Reviews what the turn of this pane changed.
    Review,
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
