//! What can be wrong with a configuration. No message repeats a key.

use std::path::PathBuf;

use super::ConfigOrigin;

/// Something that slug cannot start with.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A value that cannot be used.
    #[error("{origin}: {problem}")]
    Value {
        /// Where it was written.
        origin: ConfigOrigin,
        /// What is wrong with it and what to write instead.
        problem: String,
    },
    /// The file named with `--config` is not there.
    #[error("{0} is not there: check the name after --config")]
    Missing(PathBuf),
    /// A file that is there cannot be read.
    #[error("{path} {problem}")]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why, and what to do.
        problem: String,
    },
    /// A file could not be written.
    #[error("cannot write {path}: {source}")]
    Unwritable {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}
