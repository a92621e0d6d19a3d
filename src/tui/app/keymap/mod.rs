//! Keys: what each does in which context, and the names of the actions.
//!
//! `actions` names the actions and `tables` holds slug's default keys. `presets` and `file` change
//! these keys, and `resolved_keymap` holds the result. The help, the palette, the last line and
//! every other place that names a key ask the resolved keymap, so that none of them can contradict
//! what the keys do. A context's own keys come before more general ones: the completion list before
//! the input, the input before the chat. `place` lists which contexts hold where.

mod actions;
mod chord;
mod conflicts;
mod context;
mod file;
mod page_actions;
mod place;
mod presets;
mod press;
mod resolved_keymap;
mod tables;

pub use actions::*;
pub use chord::{KeyChord, KeyParseError, KeySequence, TerminalKeys, in_words};
pub use context::{KeyAction, KeyContext};
pub use place::KeyPlace;
pub use press::{
    KeyPress, KeyPressProgress, PendingKeys, SEQUENCE_TIMEOUT, find, is, is_text, typed,
};
pub use resolved_keymap::{KeyActionId, KeyOrigin, Keymap, KeymapRow};
pub use tables::*;
