//! What a tool declares, what a call touches, and what a call returns.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ContentBlock, ContentHash, FileDiff, JobState, MessageImage, SubagentSummary};

/// A tool as it is described to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ToolSpec {
    /// The name that calls use.
    pub name: String,
    /// What the tool does and when to use it. Short, because every request pays for each token.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
}

/// What a tool is to everything but the model: what its calls do and may touch. The screen, hooks and
/// permissions go by this and by no tool's name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolDescriptor {
    /// The name that calls, rules and the log use.
    pub name: Cow<'static, str>,
    /// The name that the user reads.
    pub title: Cow<'static, str>,
    pub kind: ToolKind,
    pub capability: ToolCapability,
    pub listing: ToolListing,
    pub polling: ToolPolling,
}

/// Whether the same call of a tool may come to something else, though no file has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolPolling {
    /// The same call comes to the same result, unless another call changed something.
    Never,
    /// The same call may come to something else later, as long as the job in its result runs.
    Polls,
    /// The calls of this and other such tools change or show what the conversation keeps: each runs
    /// after all calls before it.
    InOrder,
}

/// How a model learns of a tool. What is in the tools array is paid for with every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolListing {
    /// In the tools array of every request.
    Always,
    /// By a search; calls of it come inside another call, or by its name all the same.
    Deferred,
}

impl ToolDescriptor {
    /// A tool of slug's own, whose name is what the user reads, too.
    pub const fn built_in(name: &'static str, kind: ToolKind, capability: ToolCapability) -> Self {
        let (title, listing) = (Cow::Borrowed(name), ToolListing::Always);
        let polling = ToolPolling::Never;
        Self { name: Cow::Borrowed(name), title, kind, capability, listing, polling }
    }

    /// The same tool outside of the tools array.
    #[must_use]
    pub const fn deferred(mut self) -> Self {
        self.listing = ToolListing::Deferred;
        self
    }

    /// The same tool, whose calls run after all calls before them.
    #[must_use]
    pub const fn in_order(mut self) -> Self {
        self.polling = ToolPolling::InOrder;
        self
    }

    /// The same tool, whose calls look at something that goes on by itself.
    #[must_use]
    pub const fn polling(mut self) -> Self {
        self.polling = ToolPolling::Polls;
        self
    }
}

/// What the calls of a tool do, in the words of the Agent Client Protocol (its schema's `ToolKind`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Reads files or data.
    Read,
    /// Changes the content of files.
    Edit,
    /// Removes files or data.
    Delete,
    /// Moves or renames files.
    Move,
    /// Looks for information.
    Search,
    /// Runs commands or code.
    Execute,
    /// Plans or reasons; touches nothing else.
    Think,
    /// Gets something from the network.
    Fetch,
    /// Anything else, and every tool that slug does not know.
    Other,
}

impl ToolKind {
    /// Whether the calls only look something up, so that their result is for the model alone.
    pub fn is_lookup(self) -> bool {
        match self {
            Self::Read | Self::Search => true,
            Self::Edit
            | Self::Delete
            | Self::Move
            | Self::Execute
            | Self::Think
            | Self::Fetch
            | Self::Other => false,
        }
    }
}

/// The most that calls of a tool may touch. A call that declares an access beyond it is not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCapability {
    /// Nothing beyond the conversation.
    Conversation,
    /// Files, to look at them only.
    ReadFiles,
    /// Files, to look at them and to change them.
    WriteFiles,
    /// Commands, and whatever these do.
    RunCommands,
    /// Servers on the network.
    Network,
    /// Whatever a program that slug does not see into can do.
    External,
}

impl ToolCapability {
    /// Whether calls with this capability may declare such an access.
    pub fn covers(self, access: &ToolAccess) -> bool {
        match access {
            ToolAccess::AskUser | ToolAccess::Nothing => true,
            ToolAccess::Read(_) => match self {
                Self::ReadFiles | Self::WriteFiles | Self::RunCommands | Self::External => true,
                Self::Conversation | Self::Network => false,
            },
            ToolAccess::Write(_) => match self {
                Self::WriteFiles | Self::RunCommands | Self::External => true,
                Self::Conversation | Self::ReadFiles | Self::Network => false,
            },
            ToolAccess::Run { .. } | ToolAccess::Type { .. } => self == Self::RunCommands,
            ToolAccess::External { .. } => self == Self::External,
            ToolAccess::Fetch { .. } | ToolAccess::Search { .. } => match self {
                Self::Network | Self::External => true,
                Self::Conversation | Self::ReadFiles | Self::WriteFiles | Self::RunCommands => {
                    false
                }
            },
        }
    }
}

/// Whether a call waits for its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandPace {
    /// The call ends with the command.
    Foreground,
    /// The command goes on beside later calls, and so may change what these are decided by.
    Background,
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
        pace: CommandPace,
    },
    /// Types something into the terminal of a job, whose program may do anything with it.
    Type {
        /// What is typed, as a command line would have it.
        text: String,
        /// The same for the user to read: keys and control characters by their names.
        shown: String,
        /// The folder that paths in the text are judged in.
        cwd: PathBuf,
    },
    /// Calls a tool of a server whose inner workings slug cannot see, such as an MCP server.
    External {
        /// The server's name in the configuration.
        server: String,
        /// The tool's name on the server, or what else of the server is used.
        tool: String,
        /// The name that rules have for it, which begins with that of the server: `mcp__s__t`.
        rule_name: String,
        /// Whether the server declares that the tool changes nothing.
        read_only: bool,
        /// Hash of all that defines the tool: how its server is started or reached, and what the
        /// server says of the tool.
        definition: ContentHash,
    },
    /// Fetches a web address.
    Fetch {
        /// The address as the model wrote it.
        url: String,
    },
    /// Asks the search engine of the user's configuration.
    Search {
        /// The words that are sent to it.
        query: String,
    },
    /// Asks the user something, which needs somebody who can answer.
    AskUser,
    /// Touches nothing beyond the conversation.
    Nothing,
}

impl ToolAccess {
    /// Runs a command whose end the call waits for.
    pub fn foreground(command: impl Into<String>, cwd: impl Into<PathBuf>) -> Self {
        Self::Run { command: command.into(), cwd: cwd.into(), pace: CommandPace::Foreground }
    }

    /// Whether the access changes nothing. Calls with only such accesses may run in parallel.
    pub fn is_read(&self) -> bool {
        match self {
            Self::Read(_) | Self::Fetch { .. } | Self::Search { .. } | Self::Nothing => true,
            Self::External { read_only, .. } => *read_only,
            Self::Write(_) | Self::Run { .. } | Self::Type { .. } | Self::AskUser => false,
        }
    }

    /// The file or folder that is read or written; commands, servers and addresses have none.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Read(path) | Self::Write(path) => Some(path),
            Self::Run { .. }
            | Self::Type { .. }
            | Self::External { .. }
            | Self::Fetch { .. }
            | Self::Search { .. }
            | Self::AskUser
            | Self::Nothing => None,
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
    /// An image for the model, behind the observation.
    pub image: Option<MessageImage>,
    /// A context note for the model, behind the observation. It outlives the result.
    pub note: Option<ContentBlock>,
    /// The file that the observation shows, if that lets the model replace it.
    pub read: Option<FileRead>,
    /// The job that the call started or looked at.
    pub job: Option<JobState>,
    /// The agent that the call started.
    pub agent: Option<Box<SubagentSummary>>,
}

/// A file whose content a call has shown to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FileRead {
    /// Absolute, as the call named it.
    pub path: PathBuf,
    /// Of the whole content, of which the call may have shown a part.
    pub hash: ContentHash,
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
            image: None,
            note: None,
            read: None,
            job: None,
            agent: None,
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

    /// Adds an image for the model.
    pub fn with_image(mut self, image: MessageImage) -> Self {
        self.image = Some(image);
        self
    }

    /// Adds the file that the model has seen by this. The log cannot hold a path that is not UTF-8.
    pub fn with_read(mut self, path: &Path, hash: ContentHash) -> Self {
        self.read = path.to_str().map(|_| FileRead { path: path.to_owned(), hash });
        self
    }

    /// Adds the job that the call started or looked at.
    pub fn with_job(mut self, job: JobState) -> Self {
        self.job = Some(job);
        self
    }

    /// Adds the agent that the call started.
    pub fn with_agent(mut self, agent: SubagentSummary) -> Self {
        self.agent = Some(Box::new(agent));
        self
    }

    /// Adds a structured result for programs.
    pub fn with_output(mut self, output: Value) -> Self {
        self.output = output;
        self
    }
}
