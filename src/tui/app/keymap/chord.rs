//! Keys in writing: `ctrl+b`, `shift+enter`, `g g`.
//!
//! Invariants: a chord is always in one normal form, chosen so that terminals agree on it, so a
//! pressed key equals its written form. Parsing a printed chord gives the same chord.

use std::fmt;
use std::str::FromStr;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::domain::nearest;

const CTRL: KeyModifiers = KeyModifiers::CONTROL;
const ALT: KeyModifiers = KeyModifiers::ALT;
const SHIFT: KeyModifiers = KeyModifiers::SHIFT;

/// The modifiers: the three that are printed, in the order of printing, then other names that are
/// parsed.
const MODIFIERS: &[(&str, KeyModifiers)] = &[
    ("ctrl", CTRL),
    ("alt", ALT),
    ("shift", SHIFT),
    ("control", CTRL),
    ("option", ALT),
    ("meta", ALT),
];

/// The keys with a name. The first name of a key is printed, the others are only parsed.
const NAMES: &[(&str, KeyCode)] = &[
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("space", KeyCode::Char(' ')),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pgup", KeyCode::PageUp),
    ("pgdn", KeyCode::PageDown),
    ("return", KeyCode::Enter),
    ("escape", KeyCode::Esc),
    ("del", KeyCode::Delete),
    ("ins", KeyCode::Insert),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
];

/// A key with its modifiers, in normal form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyChord {
    pub code: KeyCode,
    /// Only ctrl, alt and shift.
    pub modifiers: KeyModifiers,
}

/// Which keys reach slug through the terminal, as far as slug knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalKeys {
    /// Whether the terminal tells shift+enter from enter, by the kitty keyboard protocol.
    pub extended: bool,
    /// The key that a multiplexer keeps for itself.
    pub prefix: Option<KeyChord>,
    /// The key that the terminal keeps for itself: alt+enter, for its own full screen.
    pub taken: Option<KeyChord>,
}

/// Chords that are pressed one after another; at least one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeySequence(Vec<KeyChord>);

/// Why a written key cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyParseError {
    /// The text is empty.
    #[error("this is empty: write a key like `ctrl+b`, or [] for none")]
    Empty,
    /// No key has this name.
    #[error("there is no key `{written}`{}", suggestion(nearest.as_deref()))]
    Unknown {
        written: String,
        /// The known name that is closest.
        nearest: Option<String>,
    },
    /// No modifier has this name.
    #[error("`{0}` is not a modifier here: use ctrl, alt or shift")]
    Modifier(String),
    /// The character that shift types with this key depends on the keyboard.
    #[error("`shift+{0}` types another character: write that character instead")]
    Shifted(char),
}

/// `: did you mean this?`, or nothing if no name is close.
pub(super) fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!(": did you mean `{nearest}`?"))
}

impl KeyChord {
    /// A chord in its normal form. Shift is dropped for a character that is typed with it. With
    /// ctrl or alt, a letter is lower case. A back tab is a tab with shift, whether or not the
    /// terminal reports shift. ctrl+_ is what other terminals send for kitty's ctrl+shift+-.
    pub fn new(code: KeyCode, modifiers: KeyModifiers) -> Self {
        let mut modifiers = modifiers & (CTRL | ALT | SHIFT);
        let code = match code {
            KeyCode::BackTab => {
                modifiers.insert(SHIFT);
                KeyCode::Tab
            }
            KeyCode::Char('-') if modifiers == CTRL | SHIFT => {
                modifiers.remove(SHIFT);
                KeyCode::Char('_')
            }
            KeyCode::Char(c) if !modifiers.intersects(CTRL | ALT) => {
                modifiers.remove(SHIFT);
                KeyCode::Char(c)
            }
            KeyCode::Char(c) if modifiers.contains(ALT) && !c.is_alphanumeric() => {
                modifiers.remove(SHIFT);
                KeyCode::Char(c)
            }
            KeyCode::Char(c) => KeyCode::Char(c.to_ascii_lowercase()),
            code => code,
        };
        Self { code, modifiers }
    }

    /// The chord of a key event of the terminal.
    pub fn of(key: KeyEvent) -> Self {
        Self::new(key.code, key.modifiers)
    }

    /// The character that the chord types in a text field; `None` with ctrl or alt.
    pub fn types(self) -> Option<char> {
        match self.code {
            KeyCode::Char(c) if !self.modifiers.intersects(CTRL | ALT) => Some(c),
            _ => None,
        }
    }
}

impl fmt::Display for KeyChord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, modifier) in &MODIFIERS[..3] {
            if self.modifiers.contains(*modifier) {
                write!(f, "{name}+")?;
            }
        }
        match (NAMES.iter().find(|(_, code)| *code == self.code), self.code) {
            (Some((name, _)), _) => f.write_str(name),
            (None, KeyCode::Char(c)) => write!(f, "{c}"),
            (None, KeyCode::F(number)) => write!(f, "f{number}"),
            (None, code) => f.write_str(&format!("{code:?}").to_lowercase()),
        }
    }
}

impl FromStr for KeyChord {
    type Err = KeyParseError;

    fn from_str(text: &str) -> Result<Self, KeyParseError> {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = text;
        // A name before a plus is a modifier, unless nothing follows: `ctrl++` is a plus with ctrl.
        while let Some((modifier, key)) =
            rest.split_once('+').filter(|(modifier, key)| !modifier.is_empty() && !key.is_empty())
        {
            let modifier = modifier.to_lowercase();
            let found = MODIFIERS.iter().find(|(name, _)| *name == modifier);
            modifiers |= found.ok_or(KeyParseError::Modifier(modifier))?.1;
            rest = key;
        }
        let code = code(rest)?;
        match code {
            KeyCode::Char(c) if modifiers == SHIFT && c.is_alphabetic() => {
                let mut upper = c.to_uppercase();
                let code = upper.next().filter(|_| upper.len() == 0).map(KeyCode::Char);
                Ok(Self::new(code.ok_or(KeyParseError::Shifted(c))?, KeyModifiers::NONE))
            }
            KeyCode::Char(c)
                if modifiers.contains(SHIFT)
                    && Self::new(code, modifiers).modifiers != modifiers =>
            {
                Err(KeyParseError::Shifted(c))
            }
            code => Ok(Self::new(code, modifiers)),
        }
    }
}

fn code(name: &str) -> Result<KeyCode, KeyParseError> {
    let mut characters = name.chars();
    match (characters.next(), characters.next()) {
        (None, _) => return Err(KeyParseError::Empty),
        (Some(c), None) if !c.is_control() && !c.is_whitespace() => return Ok(KeyCode::Char(c)),
        (Some(_), _) => {}
    }
    let lower = name.to_lowercase();
    if let Some((_, code)) = NAMES.iter().find(|(name, _)| *name == lower) {
        return Ok(*code);
    }
    let number = lower.strip_prefix('f').filter(|digits| !digits.starts_with(['0', '+']));
    match number.and_then(|digits| digits.parse::<u8>().ok()) {
        Some(number @ 1..=24) => Ok(KeyCode::F(number)),
        Some(_) | None => Err(KeyParseError::Unknown {
            written: name.escape_debug().to_string(),
            nearest: nearest(&lower, NAMES.iter().map(|(name, _)| *name)).map(str::to_owned),
        }),
    }
}

impl TerminalKeys {
    fn sends(&self, chord: KeyChord) -> bool {
        let KeyChord { code, modifiers } = chord;
        let needs_protocol = match code {
            KeyCode::Enter | KeyCode::Backspace => modifiers.intersects(CTRL.union(SHIFT)),
            KeyCode::Tab => modifiers.contains(CTRL),
            KeyCode::Char(_) => modifiers.contains(CTRL.union(SHIFT)),
            _ => false,
        };
        ![self.prefix, self.taken].contains(&Some(chord)) && (self.extended || !needs_protocol)
    }
}

impl KeySequence {
    /// Whether the terminal can send all of these keys.
    pub fn is_sent_by(&self, terminal: &TerminalKeys) -> bool {
        self.0.iter().all(|chord| terminal.sends(*chord))
    }

    /// All chords of the sequence, in order.
    pub fn chords(&self) -> &[KeyChord] {
        &self.0
    }

    /// The first chord.
    pub fn first(&self) -> Option<KeyChord> {
        self.0.first().copied()
    }

    /// The rest of the sequence after these chords; `None` if they are all of it or not its start.
    pub fn after(&self, begun: &[KeyChord]) -> Option<&[KeyChord]> {
        self.0.strip_prefix(begun).filter(|rest| !rest.is_empty())
    }

    /// Whether one sequence is the start of the other, or equal: they cannot both be bound.
    pub fn collides(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0) || other.0.starts_with(&self.0)
    }
}

impl From<KeyChord> for KeySequence {
    fn from(chord: KeyChord) -> Self {
        Self(vec![chord])
    }
}

impl fmt::Display for KeySequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&in_words(&self.0))
    }
}

impl FromStr for KeySequence {
    type Err = KeyParseError;

    fn from_str(text: &str) -> Result<Self, KeyParseError> {
        let chords: Vec<KeyChord> =
            text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        if chords.is_empty() { Err(KeyParseError::Empty) } else { Ok(Self(chords)) }
    }
}

/// Chords in writing, separated by spaces.
pub fn in_words(chords: &[KeyChord]) -> String {
    chords.iter().map(KeyChord::to_string).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> KeyChord {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn only_keys_that_the_terminal_sends_are_shown() {
        let sent = |keys: &str, extended, prefix: Option<&str>| {
            let terminal = TerminalKeys { extended, prefix: prefix.map(parsed), taken: None };
            keys.parse::<KeySequence>().unwrap().is_sent_by(&terminal)
        };
        for (keys, legacy, extended) in [
            ("shift+enter", false, true),
            ("alt+enter", true, true),
            ("enter", true, true),
            ("ctrl+shift+_", false, true),
            ("shift+tab", true, true),
            ("ctrl+b", true, true),
        ] {
            assert_eq!(sent(keys, false, None), legacy, "{keys}");
            assert_eq!(sent(keys, true, None), extended, "{keys}");
        }
        assert!(!sent("ctrl+b", true, Some("ctrl+b")) && sent("alt+s", true, Some("ctrl+b")));
        let mut map = super::super::Keymap::default();
        let prefix = Some(parsed("ctrl+b"));
        let tmux = TerminalKeys { extended: false, prefix, taken: None };
        map.show_only(|keys| keys.is_sent_by(&tmux));
        assert_eq!(map.key(super::super::ChatKey::Sessions), "alt+s");
        let newline = map.row(super::super::InputKey::Newline).unwrap();
        assert_eq!(newline.shown(), "alt+enter  ctrl+j");
        assert_eq!(newline.keys.len(), 3, "the others keep their meaning");
        let xterm = TerminalKeys { taken: Some(parsed("alt+enter")), ..tmux };
        map.show_only(|keys| keys.is_sent_by(&xterm));
        assert_eq!(map.key(super::super::InputKey::Newline), "ctrl+j");
    }

    #[test]
    fn keys_are_parsed_in_every_usual_spelling() {
        let rows = [
            ("ctrl+b", KeyCode::Char('b'), CTRL),
            ("Ctrl+B", KeyCode::Char('b'), CTRL),
            ("control+shift+x", KeyCode::Char('x'), CTRL | SHIFT),
            ("alt+<", KeyCode::Char('<'), ALT),
            ("meta+v", KeyCode::Char('v'), ALT),
            ("shift+enter", KeyCode::Enter, SHIFT),
            ("shift+tab", KeyCode::Tab, SHIFT),
            ("shift+g", KeyCode::Char('G'), KeyModifiers::NONE),
            ("G", KeyCode::Char('G'), KeyModifiers::NONE),
            ("space", KeyCode::Char(' '), KeyModifiers::NONE),
            ("+", KeyCode::Char('+'), KeyModifiers::NONE),
            ("ctrl++", KeyCode::Char('+'), CTRL),
            ("PageUp", KeyCode::PageUp, KeyModifiers::NONE),
            ("f12", KeyCode::F(12), KeyModifiers::NONE),
            ("f", KeyCode::Char('f'), KeyModifiers::NONE),
            ("é", KeyCode::Char('é'), KeyModifiers::NONE),
        ];
        for (text, code, modifiers) in rows {
            assert_eq!(parsed(text), KeyChord { code, modifiers }, "{text}");
        }
    }

    #[test]
    fn a_parse_error_says_what_to_write() {
        let error = |text: &str| text.parse::<KeySequence>().unwrap_err().to_string();
        assert_eq!(error("pgupp"), "there is no key `pgupp`: did you mean `pgup`?");
        assert_eq!(error("f99"), "there is no key `f99`");
        assert_eq!(error("cmd+b"), "`cmd` is not a modifier here: use ctrl, alt or shift");
        assert_eq!(
            error("shift+1"),
            "`shift+1` types another character: write that character instead"
        );
        assert!(error(" ").starts_with("this is empty"));
    }

    #[test]
    fn a_pressed_key_equals_the_written_one() {
        let rows = [
            ("shift+tab", KeyCode::BackTab, SHIFT),
            ("shift+tab", KeyCode::BackTab, KeyModifiers::NONE),
            ("G", KeyCode::Char('G'), SHIFT),
            ("?", KeyCode::Char('?'), SHIFT),
            ("alt+<", KeyCode::Char('<'), ALT | SHIFT),
            ("alt+shift+g", KeyCode::Char('G'), ALT | SHIFT),
            ("ctrl+b", KeyCode::Char('b'), CTRL),
            ("ctrl+_", KeyCode::Char('-'), CTRL | SHIFT),
        ];
        for (text, code, modifiers) in rows {
            assert_eq!(KeyChord::of(KeyEvent::new(code, modifiers)), parsed(text), "{text}");
        }
    }

    #[test]
    fn a_sequence_knows_what_it_waits_for() {
        let sequence: KeySequence = "ctrl+x  ctrl+s".parse().unwrap();
        assert_eq!(sequence.to_string(), "ctrl+x ctrl+s");
        assert_eq!(sequence.after(&[parsed("ctrl+x")]), Some(&[parsed("ctrl+s")][..]));
        assert_eq!(sequence.after(sequence.chords()), None);
        assert_eq!(sequence.after(&[parsed("ctrl+s")]), None);
        assert!(sequence.collides(&parsed("ctrl+x").into()));
        assert!(!sequence.collides(&parsed("ctrl+s").into()));
    }

    fn chord() -> impl Strategy<Value = KeyChord> {
        let names = NAMES.iter().map(|(_, code)| *code).collect::<Vec<_>>();
        let code = prop_oneof![
            proptest::sample::select(names),
            (1..=24_u8).prop_map(KeyCode::F),
            any::<char>()
                .prop_filter("a key types it", |c| !c.is_control() && !c.is_whitespace())
                .prop_map(KeyCode::Char),
        ];
        (code, 0..8_u8)
            .prop_map(|(code, bits)| KeyChord::new(code, KeyModifiers::from_bits_truncate(bits)))
    }

    proptest! {
        #[test]
        fn a_printed_sequence_parses_back(chords in prop::collection::vec(chord(), 1..4)) {
            let sequence = KeySequence(chords);
            prop_assert_eq!(sequence.to_string().parse::<KeySequence>(), Ok(sequence));
        }

        #[test]
        fn parsing_never_panics_and_round_trips(text in "\\PC{0,12}") {
            if let Ok(sequence) = text.parse::<KeySequence>() {
                prop_assert_eq!(sequence.to_string().parse::<KeySequence>(), Ok(sequence));
            }
        }
    }
}
