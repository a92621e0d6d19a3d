//! What a tool says of itself, what a call touches, and what comes back.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::FileDiff;

/// A tool as the model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolSpec {
    /// The name that calls use.
    pub name: String,
    /// What it does and when to use it, in few words: every token is paid for on each request.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
}

/// One thing that a call would touch. Permissions, the dialog and the executor decide from these. A call
/// without any is one of which nothing is known: it is asked about, and runs alone.
///
/// Paths are absolute and lexically clean (no `.` or `..`); symbolic links are not resolved yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolAccess {
    /// Reads a file, or anything below a folder.
    Read(PathBuf),
    /// Makes or changes a file.
    Write(PathBuf),
    /// Runs a shell command, in this folder.
    Run {
        /// The command line as the model wrote it.
        command: String,
        /// The folder it starts in.
        cwd: PathBuf,
    },
    /// Asks a tool of a server that slug does not look into, such as one of MCP's.
    External {
        /// The server's name in the configuration.
        server: String,
        /// The tool's name on the server.
        tool: String,
        /// Whether the server says that the tool changes nothing.
        read_only: bool,
    },
    /// Gets what is at an address of the web.
    Fetch {
        /// The address.
        url: String,
    },
    /// Touches nothing beyond the conversation.
    Nothing,
}

impl ToolAccess {
    /// Whether it leaves everything as it was, so that calls with only such accesses may run side
    /// by side.
    pub fn is_read(&self) -> bool {
        match self {
            Self::Read(_) | Self::Fetch { .. } | Self::Nothing => true,
            Self::External { read_only, .. } => *read_only,
            Self::Write(_) | Self::Run { .. } => false,
        }
    }
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// What a program can read (`slug tools run --json`).
    pub output: Value,
    /// What the model reads.
    pub observation: String,
    /// What the person sees, where that is not the observation.
    pub display: Option<ToolDisplay>,
    /// A few words for the right edge of the pane's head: "4 matches", "+1 -1".
    pub summary: Option<String>,
    /// How it went.
    pub status: ToolStatus,
}

/// What the person sees of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ToolDisplay {
    /// A changed file.
    Diff(FileDiff),
    /// Output of a command, with its SGR colours.
    Terminal {
        /// The text; may hold escape sequences, which the layout parses or makes visible.
        text: String,
    },
}

/// How a call went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// It did what was asked.
    Done,
    /// It ran and failed, or its input was wrong.
    Failed,
    /// The person or a rule said no.
    Denied,
    /// The person stopped it.
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
    /// A result that is the same text for model and person.
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

    /// A failure: `observation` says what to send instead.
    pub fn failed(observation: impl Into<String>) -> Self {
        Self { status: ToolStatus::Failed, ..Self::text(observation) }
    }

    /// The same with a summary for the pane's head.
    pub fn with_summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = Some(summary.into());
        self
    }

    /// The same with something else for the person to see.
    pub fn with_display(mut self, display: ToolDisplay) -> Self {
        self.display = Some(display);
        self
    }

    /// The same with a structured form for programs.
    pub fn with_output(mut self, output: Value) -> Self {
        self.output = output;
        self
    }
}
