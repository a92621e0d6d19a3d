//! Values that know where they came from.

use std::fmt;
use std::path::PathBuf;

/// A value with its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigValue<T> {
    /// What holds.
    pub value: T,
    /// Why.
    pub origin: ConfigOrigin,
}

/// Where a value came from. Shown as a person would look for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigOrigin {
    /// Built in.
    Default,
    /// A line of a file, from 1.
    File {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
    },
    /// An environment variable.
    Environment(&'static str),
    /// A flag: `--model`.
    Flag(&'static str),
}

impl<T> ConfigValue<T> {
    /// A built-in value.
    pub(super) fn default(value: T) -> Self {
        Self { value, origin: ConfigOrigin::Default }
    }

    /// Another value from the same place.
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
