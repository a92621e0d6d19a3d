//! What the user asks about instruction files with `/memory` and the `#` line, and the answer.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::context::{InstructionReport, RememberLevel};

/// A request about the files of `/memory`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum MemoryRequest {
    /// Lists the files.
    Show,
    /// Tells the text of a file that was listed.
    Read { path: PathBuf },
    /// Adds a line to the instructions of a level. A notice says what came of it.
    Remember {
        level: RememberLevel,
        /// The whole line; slug takes the `#` off.
        typed: String,
    },
}

/// The answer to a [`MemoryRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MemoryReply {
    /// The files as they are now.
    pub report: InstructionReport,
    /// The text that was asked for.
    pub text: Option<MemoryText>,
}

/// The text of a file, or why it cannot be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MemoryText {
    pub path: PathBuf,
    /// The failure is a sentence.
    pub text: Result<String, String>,
}
