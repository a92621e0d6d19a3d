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

use super::chord::{Chord, Sequence, in_words};
use super::context::{Action, Context};
use super::live::{ActionId, Keymap, Row};
use super::tables::Binding;

/// How long a sequence that was begun waits for its next key.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// A sequence that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// What was pressed so far.
    pub chords: Vec<Chord>,
    /// When it is forgotten.
    pub until: Duration,
}

/// A key, with what was pressed before it of a sequence; or an action without one.
#[derive(Debug)]
pub struct Press<'a> {
    keys: &'a Keymap,
    what: What,
    progress: Cell<Progress>,
}

/// What has come of a press so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// No context knows it.
    Unknown,
    /// It begins a sequence.
    Waits,
    /// It means something.
    Known,
}

#[derive(Debug)]
enum What {
    /// A key, and the chords of which it is the last.
    Keys(KeyEvent, Vec<Chord>),
    Action(ActionId),
}

static BUILT_IN: LazyLock<Keymap> = LazyLock::new(Keymap::default);

/// What a key does in one context, by the context's table.
pub fn find<A: Action>(table: &'static [Binding<A>], key: &Press<'_>) -> Option<A> {
    let row = key.ask(A::CONTEXT)?;
    table.get(row).map(|row| row.action)
}

/// Whether a key does just this, where the rest of the action's context does not hold.
pub fn is<A: Action>(action: A, key: &Press<'_>) -> bool {
    let row = key.keys.row(action);
    let meant = match &key.what {
        What::Action(id) => row.is_some_and(|row| row.id == *id),
        What::Keys(_, chords) => row.is_some_and(|row| row.is_pressed(chords)),
    };
    if meant {
        key.progress.set(Progress::Known);
    }
    meant
}

/// The character that a key types, if it types one.
pub fn typed(key: &Press<'_>) -> Option<char> {
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

impl Press<'static> {
    /// A key by slug's own tables, for the pages that are shown before any map is read.
    pub fn built_in(event: KeyEvent) -> Self {
        Self::new(&BUILT_IN, Vec::new(), event)
    }
}

impl<'a> Press<'a> {
    /// A key after those of a sequence that was begun.
    pub fn new(keys: &'a Keymap, begun: Vec<Chord>, event: KeyEvent) -> Self {
        let mut chords = begun;
        chords.push(Chord::of(event));
        let progress = Cell::new(Progress::Unknown);
        Self { keys, what: What::Keys(event, chords), progress }
    }

    /// An action that is to be done as if its key were pressed.
    pub fn action(keys: &'a Keymap, id: ActionId) -> Self {
        let progress = Cell::new(Progress::Unknown);
        Self { keys, what: What::Action(id), progress }
    }

    /// The key as the terminal told it, while it is one by itself and nothing waits for more.
    pub fn event(&self) -> Option<KeyEvent> {
        match &self.what {
            What::Keys(event, chords)
                if chords.len() == 1 && self.progress.get() != Progress::Waits =>
            {
                Some(*event)
            }
            What::Keys(..) | What::Action(_) => None,
        }
    }

    /// What was pressed, in order.
    pub fn chords(&self) -> &[Chord] {
        match &self.what {
            What::Keys(_, chords) => chords,
            What::Action(_) => &[],
        }
    }

    /// What has come of it so far.
    pub fn progress(&self) -> Progress {
        self.progress.get()
    }

    /// Which row of a context it means.
    fn ask(&self, context: Context) -> Option<usize> {
        let chords = match &self.what {
            What::Action(id) => return (id.context == context).then_some(id.row),
            What::Keys(_, chords) => chords,
        };
        if self.progress.get() == Progress::Waits {
            return None;
        }
        let rows = self.keys.rows(context);
        let found = rows.iter().position(|row| row.is_pressed(chords));
        if found.is_some() {
            self.progress.set(Progress::Known);
        } else if rows.iter().any(|row| row.continues(chords).next().is_some()) {
            self.progress.set(Progress::Waits);
        }
        found
    }
}

impl Row {
    /// Whether these chords are one of its keys.
    fn is_pressed(&self, chords: &[Chord]) -> bool {
        self.keys.iter().any(|keys| keys.chords() == chords)
    }

    /// What can follow these chords, for each of its keys that begins with them.
    pub fn continues(&self, begun: &[Chord]) -> impl Iterator<Item = &[Chord]> {
        self.keys.iter().filter_map(move |keys: &Sequence| keys.after(begun))
    }
}

impl Pending {
    /// What was pressed so far, as people write it.
    pub fn label(&self) -> String {
        in_words(&self.chords)
    }
}
