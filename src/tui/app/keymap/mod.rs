//! The keys: what each does in which context, and under which name.
//!
//! `actions` names what can be done and `tables` holds the keys that slug comes with for it, `presets` and `file` what changes that, and `live` the map
//! that holds. The help, the palette, the last line and every other place that names a key ask the
//! live map, so that none of them can say something else than what the keys do. A context's own
//! keys are asked before the more general ones: the list under the caret before the input, the
//! input before the chat.

mod actions;
mod chord;
mod conflicts;
mod context;
mod file;
mod presets;
mod press;
mod resolved_keymap;
mod tables;

pub use actions::*;
pub use chord::{KeyChord, KeyParseError, KeySequence, in_words};
pub use context::{KeyAction, KeyContext};
pub use press::{KeyPress, KeyPressProgress, PendingKeys, SEQUENCE_TIMEOUT, find, is, typed};
pub use resolved_keymap::{KeyActionId, KeyOrigin, Keymap, KeymapRow};
pub use tables::*;
