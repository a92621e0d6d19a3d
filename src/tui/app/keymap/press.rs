//! A key on its way through the screen, and what it means to each context that it is asked for.
//!
//! Contexts are asked one after another, and the first that knows the key, or waits for more of a
//! sequence that it begins, takes it: the contexts behind it are told nothing. What came of it is
//! kept with the press, so that one place decides about sequences. An action that is chosen in the
//! palette goes the same way as its key.

use std::cell::Cell;
use std::sync::LazyLock;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::chord::{KeyChord, KeySequence, in_words};
use super::context::{KeyAction, KeyContext};
use super::resolved_keymap::{KeyActionId, Keymap, KeymapRow};
use super::tables::KeyBinding;

/// How long a sequence that was begun waits for its next key.
pub const SEQUENCE_TIMEOUT: Duration = Duration::from_secs(1);

/// A sequence that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingKeys {
    /// What was pressed so far.
    pub chords: Vec<KeyChord>,
    /// When it is forgotten.
    pub until: Duration,
}

/// A key, with what was pressed before it of a sequence; or an action without one.
#[derive(Debug)]
pub struct KeyPress<'a> {
    keys: &'a Keymap,
    what: KeyPressSource,
    progress: Cell<KeyPressProgress>,
}

/// What has come of a press so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPressProgress {
    /// No context knows it.
    Unknown,
    /// It begins a sequence.
    Incomplete,
    /// It means something.
    Known,
}

#[derive(Debug)]
enum KeyPressSource {
    /// A key, and the chords of which it is the last.
    Keys(KeyEvent, Vec<KeyChord>),
    Action(KeyActionId),
}

static BUILT_IN: LazyLock<Keymap> = LazyLock::new(Keymap::default);

/// What a key does in one context, by the context's table.
pub fn find<A: KeyAction>(table: &'static [KeyBinding<A>], key: &KeyPress<'_>) -> Option<A> {
    let row = key.ask(A::CONTEXT)?;
    table.get(row).map(|row| row.action)
}

/// Whether a key does just this, where the rest of the action's context does not hold.
pub fn is<A: KeyAction>(action: A, key: &KeyPress<'_>) -> bool {
    let row = key.keys.row(action);
    let meant = match &key.what {
        KeyPressSource::Action(id) => row.is_some_and(|row| row.id == *id),
        KeyPressSource::Keys(_, chords) => row.is_some_and(|row| row.is_pressed(chords)),
    };
    if meant {
        key.progress.set(KeyPressProgress::Known);
    }
    meant
}

/// The character that a key types, if it types one.
pub fn typed(key: &KeyPress<'_>) -> Option<char> {
    key.event().and_then(typed_by)
}

fn typed_by(key: KeyEvent) -> Option<char> {
    const CTRL: KeyModifiers = KeyModifiers::CONTROL;
    const ALT: KeyModifiers = KeyModifiers::ALT;
    match key.code {
        KeyCode::Char(c) if !key.modifiers.intersects(CTRL | ALT | KeyModifiers::SUPER) => Some(c),
        // AltGr reaches some terminals as both.
        KeyCode::Char(c) if key.modifiers.contains(CTRL | ALT) => Some(c),
        _ => None,
    }
}

impl KeyPress<'static> {
    /// A key by slug's own tables, for the pages that are shown before any map is read.
    pub fn built_in(event: KeyEvent) -> Self {
        Self::new(&BUILT_IN, Vec::new(), event)
    }
}

impl<'a> KeyPress<'a> {
    /// A key after those of a sequence that was begun.
    pub fn new(keys: &'a Keymap, begun: Vec<KeyChord>, event: KeyEvent) -> Self {
        let mut chords = begun;
        chords.push(KeyChord::of(event));
        let progress = Cell::new(KeyPressProgress::Unknown);
        Self { keys, what: KeyPressSource::Keys(event, chords), progress }
    }

    /// An action that is to be done as if its key were pressed.
    pub fn action(keys: &'a Keymap, id: KeyActionId) -> Self {
        let progress = Cell::new(KeyPressProgress::Unknown);
        Self { keys, what: KeyPressSource::Action(id), progress }
    }

    /// The key as the terminal told it, while it is one by itself and nothing waits for more.
    pub fn event(&self) -> Option<KeyEvent> {
        match &self.what {
            KeyPressSource::Keys(event, chords)
                if chords.len() == 1 && self.progress.get() != KeyPressProgress::Incomplete =>
            {
                Some(*event)
            }
            KeyPressSource::Keys(..) | KeyPressSource::Action(_) => None,
        }
    }

    /// What was pressed, in order.
    pub fn chords(&self) -> &[KeyChord] {
        match &self.what {
            KeyPressSource::Keys(_, chords) => chords,
            KeyPressSource::Action(_) => &[],
        }
    }

    /// What has come of it so far.
    pub fn progress(&self) -> KeyPressProgress {
        self.progress.get()
    }

    /// Which row of a context it means.
    fn ask(&self, context: KeyContext) -> Option<usize> {
        let chords = match &self.what {
            KeyPressSource::Action(id) => return (id.context == context).then_some(id.row),
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
    /// Whether these chords are one of its keys.
    fn is_pressed(&self, chords: &[KeyChord]) -> bool {
        self.keys.iter().any(|keys| keys.chords() == chords)
    }

    /// What can follow these chords, for each of its keys that begins with them.
    pub fn continues(&self, begun: &[KeyChord]) -> impl Iterator<Item = &[KeyChord]> {
        self.keys.iter().filter_map(move |keys: &KeySequence| keys.after(begun))
    }
}

impl PendingKeys {
    /// What was pressed so far, as people write it.
    pub fn label(&self) -> String {
        in_words(&self.chords)
    }
}
