//! What can be wrong with a configuration. No message repeats a key.

use std::path::PathBuf;

use super::ConfigOrigin;

/// A reason why slug cannot start, or cannot save.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A value that cannot be used.
    #[error("{origin}: {problem}")]
    Value {
        origin: ConfigOrigin,
        /// What is wrong with the value, and what to write instead.
        problem: String,
    },
    /// The file named with `--config` does not exist.
    #[error("{0} does not exist: check the name after --config")]
    Missing(PathBuf),
    /// A file exists and cannot be read.
    #[error("{path} {problem}")]
    Unreadable {
        path: PathBuf,
        /// Why, and what to do. Reads on behind the path.
        problem: String,
    },
    /// A file could not be written.
    #[error("cannot write {path}: {source}")]
    Unwritable {
        path: PathBuf,
        /// The system's own error.
        source: std::io::Error,
    },
}
