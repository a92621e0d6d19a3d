//! Values that are one of several: which model, which mode, which theme, which keys.

use std::fmt;
use std::path::PathBuf;

use crate::domain::PermissionMode;

/// Which model answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelChoice {
    /// The one that the server offers: `default`.
    Served,
    /// This one.
    Named(String),
}

/// A permission mode as it can be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModeChoice {
    /// One that slug has.
    Mode(PermissionMode),
    /// The operating system's sandbox around this folder, the working folder where none is named.
    Sandbox(Option<PathBuf>),
}

/// Which theme is used. Whether there is one of a name is the screen's to know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ThemeChoice {
    /// `dark` or `light` by the terminal's background, `dark` where that cannot be told.
    #[default]
    Auto,
    /// This one.
    Named(String),
    /// One of these, by the terminal's background.
    Pair {
        /// On a dark one.
        dark: String,
        /// On a light one.
        light: String,
    },
}

impl ModelChoice {
    /// `default` stands for the model that the server offers.
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
    /// `auto` stands for the terminal's background.
    pub fn parse(name: &str) -> Self {
        if name == "auto" { Self::Auto } else { Self::Named(name.to_owned()) }
    }
}

/// What of the transcript stays in the terminal once slug has left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExitTranscript {
    /// What was said last.
    #[default]
    End,
    /// Everything.
    All,
    /// Nothing.
    Nothing,
}

impl ExitTranscript {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::End, Self::All, Self::Nothing];

    /// As it is written in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::All => "all",
            Self::Nothing => "nothing",
        }
    }
}

/// Which keys slug begins with, before the person's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeyPreset {
    /// slug's own.
    #[default]
    Default,
    /// For hands that know Vi.
    Vi,
    /// For hands that know Emacs.
    Emacs,
}

impl KeyPreset {
    /// All of them.
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
