//! Values with their origin.

use std::fmt;
use std::path::PathBuf;

/// A value with its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigValue<T> {
    pub value: T,
    pub origin: ConfigOrigin,
}

/// Where a value came from. `Display` shows it as a user would search for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigOrigin {
    /// Built into slug.
    Default,
    File {
        path: PathBuf,
        /// From 1.
        line: usize,
    },
    /// The variable's name.
    Environment(&'static str),
    /// The flag as written: `--model`.
    Flag(&'static str),
}

impl<T> ConfigValue<T> {
    /// A built-in value.
    pub(super) fn default(value: T) -> Self {
        Self { value, origin: ConfigOrigin::Default }
    }

    /// Another value with the same origin.
    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> ConfigValue<U> {
        ConfigValue { value: change(self.value), origin: self.origin }
    }
}

impl fmt::Display for ConfigOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Environment(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}
