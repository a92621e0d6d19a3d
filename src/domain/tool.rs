//! What a tool declares, what a call touches, and what a call returns.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::FileDiff;

/// A tool as it is described to the model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolSpec {
    /// The name that calls use.
    pub name: String,
    /// What the tool does and when to use it. Short, because every request pays for each token.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
}

/// One thing that a call would touch. Permissions, the dialog and the executor decide from these. A
/// call with no access listed is unknown: slug asks about it and runs it alone.
///
/// Paths are absolute and lexically clean (no `.` or `..`); symbolic links are not resolved yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolAccess {
    /// Reads a file, or anything below a folder.
    Read(PathBuf),
    /// Creates or changes a file.
    Write(PathBuf),
    /// Runs a shell command.
    Run {
        /// The command line as the model wrote it.
        command: String,
        /// The folder in which the command starts.
        cwd: PathBuf,
    },
    /// Calls a tool of a server whose inner workings slug cannot see, such as an MCP server.
    External {
        /// The server's name in the configuration.
        server: String,
        /// The tool's name on the server.
        tool: String,
        /// Whether the server declares that the tool changes nothing.
        read_only: bool,
    },
    /// Fetches a web address.
    Fetch {
        /// The address as the model wrote it.
        url: String,
    },
    /// Touches nothing beyond the conversation.
    Nothing,
}

impl ToolAccess {
    /// Whether the access changes nothing. Calls with only such accesses may run in parallel.
    pub fn is_read(&self) -> bool {
        match self {
            Self::Read(_) | Self::Fetch { .. } | Self::Nothing => true,
            Self::External { read_only, .. } => *read_only,
            Self::Write(_) | Self::Run { .. } => false,
        }
    }
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// The structured result for programs (`slug tools run --json`).
    pub output: Value,
    /// The text that the model reads.
    pub observation: String,
    /// What the user sees; `None` if that is the observation.
    pub display: Option<ToolDisplay>,
    /// A few words for the right edge of the pane's head: "4 matches", "+1 -1".
    pub summary: Option<String>,
    /// How the call ended.
    pub status: ToolStatus,
}

/// What the user sees of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ToolDisplay {
    /// A changed file.
    Diff(FileDiff),
    /// A command's output, with its SGR colours.
    Terminal {
        /// The text. It may hold escape sequences, which the layout parses or makes visible.
        text: String,
    },
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// The call succeeded.
    Done,
    /// The call ran and failed, or its input was wrong.
    Failed,
    /// The user or a rule refused it.
    Denied,
    /// The user interrupted it.
    Cancelled,
}

impl ToolStatus {
    /// Whether the model is told that the call went wrong.
    pub fn is_error(self) -> bool {
        match self {
            Self::Done => false,
            Self::Failed | Self::Denied | Self::Cancelled => true,
        }
    }
}

impl ToolOutput {
    /// A successful result with the same text for the model and the user.
    pub fn text(observation: impl Into<String>) -> Self {
        let observation = observation.into();
        Self {
            output: Value::String(observation.clone()),
            observation,
            display: None,
            summary: None,
            status: ToolStatus::Done,
        }
    }

    /// A failure; `observation` tells the model what to send instead.
    pub fn failed(observation: impl Into<String>) -> Self {
        Self { status: ToolStatus::Failed, ..Self::text(observation) }
    }

    /// Adds a summary for the pane's head.
    pub fn with_summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = Some(summary.into());
        self
    }

    /// Adds a separate display for the user.
    pub fn with_display(mut self, display: ToolDisplay) -> Self {
        self.display = Some(display);
        self
    }

    /// Adds a structured result for programs.
    pub fn with_output(mut self, output: Value) -> Self {
        self.output = output;
        self
    }
}
