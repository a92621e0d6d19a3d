//! Which part of the screen gets the keys.

use super::conversation::block::BlockId;
use super::conversation::caret::TranscriptCaret;

/// The part of the screen that gets the keys, below any dialog.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeyboardFocus {
    #[default]
    Input,
    /// A block of the transcript.
    Pane(BlockId),
    /// The caret in the transcript, to select text.
    Caret(TranscriptCaret),
    /// The list of sessions.
    Sidebar,
}
