//! A key on its way through the screen, and what it means in each context.
//!
//! Contexts are asked one after another. The first one that knows the key, or in which the key
//! begins a sequence, takes it; the contexts after it do not see the key. The press itself records
//! the outcome, so that one place decides about sequences. An action chosen in the palette takes
//! the same path as its key.

use std::cell::Cell;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::chord::{KeyChord, KeySequence, in_words};
use super::context::{KeyAction, KeyContext};
use super::resolved_keymap::{KeyActionId, Keymap, KeymapRow};
use super::tables::KeyBinding;

/// How long a started sequence waits for its next key.
pub const SEQUENCE_TIMEOUT: Duration = Duration::from_secs(1);

/// The start of a sequence, whose next key has not come yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingKeys {
    /// The chords pressed so far.
    pub chords: Vec<KeyChord>,
    /// When the sequence is dropped.
    pub until: Duration,
}

/// A key with the chords before it in a sequence, or an action chosen without a key.
#[derive(Debug)]
pub struct KeyPress<'a> {
    keys: &'a Keymap,
    source: KeyPressSource,
    progress: Cell<KeyPressProgress>,
}

/// What the contexts asked so far have made of a press.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPressProgress {
    /// No context knows the key.
    Unknown,
    /// The key starts or continues a sequence.
    Incomplete,
    /// A context has an action for the key.
    Known,
}

#[derive(Debug)]
enum KeyPressSource {
    /// A key event, and the chords of the sequence so far, including this key.
    Keys(KeyEvent, Vec<KeyChord>),
    Action(KeyActionId),
}

/// The action of a key in one context, given by the context's table.
pub fn find<A: KeyAction>(table: &'static [KeyBinding<A>], key: &KeyPress<'_>) -> Option<A> {
    let row = key.ask(A::CONTEXT)?;
    table.get(row).map(|row| row.action)
}

/// Whether a key is bound to this action, in a place where the other actions of its context do not
/// hold.
pub fn is<A: KeyAction>(action: A, key: &KeyPress<'_>) -> bool {
    let row = key.keys.row(action);
    let is_match = match &key.source {
        KeyPressSource::Action(id) => row.is_some_and(|row| row.id == *id),
        KeyPressSource::Keys(_, chords) => row.is_some_and(|row| row.is_pressed(chords)),
    };
    if is_match {
        key.progress.set(KeyPressProgress::Known);
    }
    is_match
}

/// Whether a key writes or corrects a text.
pub fn is_text(key: &KeyEvent) -> bool {
    let is_command =
        key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SUPER);
    matches!(key.code, KeyCode::Char(_) | KeyCode::Backspace) && !is_command
}

/// The character that a key types in a text field.
pub fn typed(key: &KeyPress<'_>) -> Option<char> {
    key.event().and_then(typed_by)
}

fn typed_by(key: KeyEvent) -> Option<char> {
    const CTRL: KeyModifiers = KeyModifiers::CONTROL;
    const ALT: KeyModifiers = KeyModifiers::ALT;
    match key.code {
        KeyCode::Char(c) if !key.modifiers.intersects(CTRL | ALT | KeyModifiers::SUPER) => Some(c),
        // Some terminals report AltGr as ctrl and alt.
        KeyCode::Char(c) if key.modifiers.contains(CTRL | ALT) => Some(c),
        _ => None,
    }
}

impl<'a> KeyPress<'a> {
    /// A key that follows the chords of a started sequence.
    pub fn new(keys: &'a Keymap, begun: Vec<KeyChord>, event: KeyEvent) -> Self {
        let mut chords = begun;
        chords.push(KeyChord::of(event));
        let progress = Cell::new(KeyPressProgress::Unknown);
        Self { keys, source: KeyPressSource::Keys(event, chords), progress }
    }

    /// An action to be done as if its key had been pressed.
    pub fn action(keys: &'a Keymap, id: KeyActionId) -> Self {
        let progress = Cell::new(KeyPressProgress::Unknown);
        Self { keys, source: KeyPressSource::Action(id), progress }
    }

    /// The key event; `None` if the key starts or continues a sequence, and for an action.
    pub fn event(&self) -> Option<KeyEvent> {
        match &self.source {
            KeyPressSource::Keys(event, chords)
                if chords.len() == 1 && self.progress.get() != KeyPressProgress::Incomplete =>
            {
                Some(*event)
            }
            KeyPressSource::Keys(..) | KeyPressSource::Action(_) => None,
        }
    }

    /// The chords of the sequence so far, including this key; empty for an action without a key.
    pub fn chords(&self) -> &[KeyChord] {
        match &self.source {
            KeyPressSource::Keys(_, chords) => chords,
            KeyPressSource::Action(_) => &[],
        }
    }

    /// What the contexts asked so far have made of the press.
    pub fn progress(&self) -> KeyPressProgress {
        self.progress.get()
    }

    /// The index of the row that the press stands for in a context.
    fn ask(&self, context: KeyContext) -> Option<usize> {
        let chords = match &self.source {
            KeyPressSource::Action(id) if id.context == context => {
                self.progress.set(KeyPressProgress::Known);
                return Some(id.row);
            }
            KeyPressSource::Action(_) => return None,
            KeyPressSource::Keys(_, chords) => chords,
        };
        if self.progress.get() == KeyPressProgress::Incomplete {
            return None;
        }
        let rows = self.keys.rows(context);
        let found = rows.iter().position(|row| row.is_pressed(chords));
        if found.is_some() {
            self.progress.set(KeyPressProgress::Known);
        } else if rows.iter().any(|row| row.continues(chords).next().is_some()) {
            self.progress.set(KeyPressProgress::Incomplete);
        }
        found
    }
}

impl KeymapRow {
    /// Whether these chords are one of the row's key sequences.
    fn is_pressed(&self, chords: &[KeyChord]) -> bool {
        self.keys.iter().any(|keys| keys.chords() == chords)
    }

    /// What can follow these chords, for each of the row's key sequences that starts with them.
    pub fn continues(&self, begun: &[KeyChord]) -> impl Iterator<Item = &[KeyChord]> {
        self.keys.iter().filter_map(move |keys: &KeySequence| keys.after(begun))
    }
}

impl PendingKeys {
    /// The chords pressed so far, in the notation of `keys.toml`.
    pub fn label(&self) -> String {
        in_words(&self.chords)
    }
}
