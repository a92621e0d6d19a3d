//! The terminal of a job: its size, what it shows, and what is typed into it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The size of a job's terminal in cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TerminalSize {
    pub columns: u16,
    pub rows: u16,
}

impl TerminalSize {
    /// The size while nobody looks.
    pub const UNSEEN: Self = Self { columns: 80, rows: 24 };

    /// The nearest size that a job's terminal can have.
    #[must_use]
    pub fn clamped(self) -> Self {
        Self { columns: self.columns.clamp(4, 500), rows: self.rows.clamp(2, 200) }
    }
}

/// What a job's terminal shows now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TerminalFrame {
    pub size: TerminalSize,
    /// The rows from the top. Cells without a run are blank.
    pub rows: Vec<Vec<TerminalRun>>,
    /// Column and row of the cursor; `None` while the program hides it.
    pub cursor: Option<(u16, u16)>,
    /// Whether the terminal does not show what is typed, as at a password prompt.
    pub hides_input: bool,
}

/// Text of one style in a row of a terminal. Holds no control and no invisible character.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TerminalRun {
    pub column: u16,
    pub text: String,
    #[serde(default)]
    pub style: TerminalStyle,
}

/// How a terminal shows a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TerminalStyle {
    /// `None` is the terminal's default.
    pub foreground: Option<TerminalColor>,
    /// `None` is the terminal's default.
    pub background: Option<TerminalColor>,
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    pub underline: bool,
    pub reverse: bool,
}

/// A colour as programs choose it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TerminalColor {
    /// A colour of the palette of 256.
    Indexed(u8),
    /// Red, green, blue.
    Rgb(u8, u8, u8),
}

/// The text of a terminal, without sequences. A line that the screen's edge has wrapped is one line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminalText {
    /// How many lines scrolled off the screen since the place that was asked for, and are not kept.
    pub skipped: u64,
    /// The lines that scrolled off since then.
    pub scrolled: Vec<String>,
    /// The lines on the screen, without the blank ones at its end.
    pub screen: Vec<String>,
    /// The number of lines that have scrolled off in all: the place for the next look.
    pub next: u64,
}

/// Something that is typed into a job's terminal. What the program gets depends on what it has asked
/// its terminal for. `Debug` shows nothing of it, since it may be a password.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum TerminalInput {
    Key(TerminalKeyPress),
    /// Text in one piece.
    Paste(String),
    Mouse(TerminalMouse),
}

impl fmt::Debug for TerminalInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key(_) => "Key(..)",
            Self::Paste(_) => "Paste(..)",
            Self::Mouse(_) => "Mouse(..)",
        })
    }
}

/// A key with its modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TerminalKeyPress {
    pub key: TerminalKey,
    #[serde(default)]
    pub held: HeldModifiers,
}

/// The modifiers that are held with a key or a button.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HeldModifiers {
    pub shift: bool,
    pub alt: bool,
    pub control: bool,
}

/// What a keyboard has, without the modifiers that are held.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TerminalKey {
    Character(char),
    Enter,
    Escape,
    Tab,
    Backspace,
    Delete,
    Insert,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    /// f1 to f12.
    Function(u8),
}

impl TerminalKey {
    /// The keys that have a name, with it.
    const NAMES: [(&str, Self); 15] = [
        ("enter", Self::Enter),
        ("escape", Self::Escape),
        ("tab", Self::Tab),
        ("backspace", Self::Backspace),
        ("delete", Self::Delete),
        ("insert", Self::Insert),
        ("up", Self::Up),
        ("down", Self::Down),
        ("left", Self::Left),
        ("right", Self::Right),
        ("home", Self::Home),
        ("end", Self::End),
        ("pageup", Self::PageUp),
        ("pagedown", Self::PageDown),
        ("space", Self::Character(' ')),
    ];
}

impl TerminalKeyPress {
    /// The key that is written like this: `ctrl+c`, `alt+shift+up`, `f5`, `enter`.
    pub fn parse(written: &str) -> Option<Self> {
        let mut held = HeldModifiers::default();
        let lower = written.to_lowercase();
        let (mut rest, mut spelled) = (lower.as_str(), written);
        while let Some((modifier, key)) = rest.split_once('+').filter(|(_, key)| !key.is_empty()) {
            match modifier {
                "ctrl" | "control" => held.control = true,
                "alt" | "meta" => held.alt = true,
                "shift" => held.shift = true,
                _ => return None,
            }
            spelled = spelled.split_once('+').map_or(spelled, |(_, key)| key);
            rest = key;
        }
        let rest = match rest {
            "esc" => "escape",
            "return" => "enter",
            "pgup" => "pageup",
            "pgdn" => "pagedown",
            "del" => "delete",
            rest => rest,
        };
        let named = TerminalKey::NAMES.iter().find(|(name, _)| *name == rest).map(|(_, key)| *key);
        let mut characters = spelled.chars();
        let character = characters.next().filter(|_| characters.next().is_none());
        let function = || rest.strip_prefix('f')?.parse().ok().filter(|it| (1..=12).contains(it));
        let key = named
            .or(character.filter(|it| !it.is_control()).map(TerminalKey::Character))
            .or_else(|| function().map(TerminalKey::Function))?;
        Some(Self { key, held })
    }

    /// The key as [`Self::parse`] reads it.
    pub fn written(self) -> String {
        let HeldModifiers { shift, alt, control } = self.held;
        let held = [(control, "ctrl+"), (alt, "alt+"), (shift, "shift+")];
        let held: String = held.iter().filter(|(is_held, _)| *is_held).map(|it| it.1).collect();
        let name = TerminalKey::NAMES.iter().find(|(_, key)| *key == self.key);
        match (name, self.key) {
            (Some((name, _)), _) => format!("{held}{name}"),
            (None, TerminalKey::Character(character)) => format!("{held}{character}"),
            (None, TerminalKey::Function(number)) => format!("{held}f{number}"),
            // All others have a name.
            (None, _) => held,
        }
    }
}

/// A mouse event over a cell of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TerminalMouse {
    pub action: MouseAction,
    /// `None` only for a move without a button.
    pub button: Option<TerminalButton>,
    /// From 0, from the left.
    pub column: u16,
    /// From 0, from the top.
    pub row: u16,
    #[serde(default)]
    pub held: HeldModifiers,
}

/// What the mouse does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MouseAction {
    Press,
    Release,
    /// With the button held, or without one.
    Move,
}

/// A button of the mouse, or a turn of its wheel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TerminalButton {
    Left,
    Middle,
    Right,
    WheelUp,
    WheelDown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_is_written() {
        for written in ["ctrl+c", "alt+up", "f12", "enter", "a", "A", "ctrl+alt+shift+left", "+"] {
            let key = TerminalKeyPress::parse(written);
            assert_eq!(key.map(TerminalKeyPress::written).as_deref(), Some(written));
        }
        for (written, same) in [("Esc", "escape"), ("Ctrl+C", "ctrl+C"), ("RETURN", "enter")] {
            let key = TerminalKeyPress::parse(written);
            assert_eq!(key.map(TerminalKeyPress::written).as_deref(), Some(same));
        }
        for none in ["", "hyper+a", "f13", "f0", "abc", "ctrl+", "\n", "ctrl+\u{1b}"] {
            assert!(TerminalKeyPress::parse(none).is_none(), "{none:?}");
        }
    }

    #[test]
    fn what_is_typed_is_in_no_debug_text() {
        let typed = [
            TerminalInput::Paste("hunter2".to_owned()),
            TerminalInput::Key(TerminalKeyPress {
                key: TerminalKey::Character('7'),
                held: HeldModifiers::default(),
            }),
        ];
        let shown = format!("{typed:?}");
        assert_eq!(shown, "[Paste(..), Key(..)]");
    }
}
