//! Values that are one of several: which model, which mode, which theme, which keys.

use std::fmt;
use std::path::PathBuf;

use crate::domain::PermissionMode;

/// Which model answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelChoice {
    /// The model that the server offers, written `default`.
    Served,
    Named(String),
}

/// A permission mode as the user can ask for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModeChoice {
    /// A mode that slug has.
    Mode(PermissionMode),
    /// The operating system's sandbox around this folder; the working folder where none is named.
    Sandbox(Option<PathBuf>),
}

/// Which theme is used. Whether a theme of that name exists is checked by the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ThemeChoice {
    /// `dark` or `light` by the terminal's background; `dark` where that is not known.
    #[default]
    Auto,
    Named(String),
    /// One of two themes, by the terminal's background.
    Pair {
        dark: String,
        light: String,
    },
}

impl ModelChoice {
    /// Reads the name; `default` stands for the model that the server offers.
    pub fn parse(name: &str) -> Self {
        if name == "default" { Self::Served } else { Self::Named(name.to_owned()) }
    }

    /// The name as written in the configuration.
    pub fn name(&self) -> &str {
        match self {
            Self::Served => "default",
            Self::Named(name) => name,
        }
    }
}

impl ThemeChoice {
    /// Reads the name; `auto` stands for the terminal's background.
    pub fn parse(name: &str) -> Self {
        if name == "auto" { Self::Auto } else { Self::Named(name.to_owned()) }
    }
}

/// Which part of the transcript stays in the terminal after slug exits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExitTranscript {
    /// Only the end of the conversation.
    #[default]
    End,
    All,
    Nothing,
}

impl ExitTranscript {
    /// All values, the default first.
    pub const ALL: [Self; 3] = [Self::End, Self::All, Self::Nothing];

    /// The name as written in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::All => "all",
            Self::Nothing => "nothing",
        }
    }
}

/// Which keys slug starts with, before the user's own are added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeyPreset {
    #[default]
    Default,
    /// For users who know Vi.
    Vi,
    /// For users who know Emacs.
    Emacs,
}

impl KeyPreset {
    /// All presets, the default first.
    pub const ALL: [Self; 3] = [Self::Default, Self::Vi, Self::Emacs];

    /// The name as written in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Vi => "vi",
            Self::Emacs => "emacs",
        }
    }
}

impl fmt::Display for KeyPreset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for ThemeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Named(name) => f.write_str(name),
            Self::Pair { dark, light } => write!(f, "{dark} or {light}"),
        }
    }
}
