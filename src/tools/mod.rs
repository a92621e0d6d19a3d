//! What the model can do: the [`Tool`] trait, the registry, and one file per tool.
//!
//! Tools know nothing of permissions. They say what a call would touch ([`Tool::access`]); the
//! agent's gate decides and then runs them. They reach the machine through the ports in their
//! [`ToolContext`].

mod agent;
mod ask_user;
mod bash;
mod built_in;
mod call;
mod change;
mod deferred;
mod denied_tools;
mod edit;
mod formatters;
#[cfg(test)]
mod formatting_tests;
mod glob;
mod grep;
mod input;
mod jobs;
mod language_servers;
mod lsp;
mod lsp_rename;
#[cfg(test)]
mod lsp_rename_tests;
#[cfg(test)]
mod lsp_tests;
mod notebook;
mod notebook_edit;
mod paths;
mod pdf;
mod plan_mode;
mod ports;
mod read;
mod registry;
mod scoped_files;
mod servers;
mod similarity;
mod skill;
mod sleep;
mod task_change;
mod task_read;
mod task_write;
#[cfg(test)]
pub(crate) mod testing;
mod text;
mod titles;
mod todo_write;
mod tool_search;
mod truncation;
mod walk;
mod web;
mod web_fetch;
mod web_search;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::domain::{
    ContentHash, ExcludedHunks, FileDiff, MessageImage, TodoItem, ToolAccess, ToolDescriptor,
    ToolOutput, ToolSpec, ToolStatus, clean_path,
};

pub use crate::domain::{ExitCause, TerminalSize};
pub use agent::{AGENT_TOOL, NoSubagents, SubagentOrder, SubagentStarter};
pub use ask_user::{AskUser, NobodyToAsk};
pub(crate) use bash::{LiveTextDecoder, job_state, last_lines};
pub use built_in::{SHELL_TOOL, call_title, is_for_user, kind_of, own_name, reaches_deferred};
pub use deferred::{CurrentDeferredTools, DeferredTools};
pub use denied_tools::DeniedTools;
pub use formatters::{ChangeFormatting, FormatRequest, FormatResult, NoFormatters, TextFormatter};
pub use jobs::{
    JobBelongings, JobHandle, JobOutput, JobProgress, JobSpec, JobStarter, JobStreams, JobTerminal,
    NoSessionJobs, OutputSink, PrintedOutput, SessionJob,
};
pub use language_servers::{
    CodeAnswer, CodeEdit, CodeFileEdits, CodeItem, CodeOperation, CodePlace, CodePosition,
    CodeQuery, LanguageServerError, LanguageServers, NoLanguageServers,
};
pub use pdf::{NoPdfReader, PdfError, PdfReader};
pub use plan_mode::{EXIT_PLAN_MODE, FixedMode, ModeControl};
pub use ports::{
    AnnouncedChanges, DetachPolicy, DetachedScript, FileError, FileState, Files, FolderItem,
    FolderItemKind, OutputFile, OutputFiles, PreviewedChange, ProcessError, Processes, ReadLedger,
    ScriptExit, ScriptOutcome, ScriptSpec, WriteReport,
};
pub use registry::{ToolNameConflict, ToolPart, ToolRegistry};
pub use scoped_files::{AccessMode, Grant, ScopedFiles};
pub use servers::{
    FilledPrompt, NoServerPrompts, READ_RESOURCE_TOOL, ServerPrompts, resource_title,
};
pub use skill::{LoadedSkill, NoSkills, SKILL_TOOL, SkillSource};
pub use sleep::{SLEEP_TOOL, SteeringSignal};
pub use task_change::{InMemoryTasks, SessionTasks};
pub use web::{
    FetchedPage, FoundPage, NoWebPages, PageFormat, PageText, SearchResults, WebError, WebPages,
};

/// Something that the model can do.
#[async_trait]
pub trait Tool: Send + Sync {
    /// The name, description and schema for the model. The same bytes each time.
    fn spec(&self) -> ToolSpec;

    /// What the tool is to everything but the model. Has the same name as the spec.
    fn descriptor(&self) -> &ToolDescriptor;

    /// What a call with this input is about, in a few words on one line; without a better idea, its
    /// first argument that is a text. Paths inside `cwd` are shown relative to it.
    fn call_title(&self, input: &Value, _cwd: &Path) -> String {
        titles::first_text(input)
    }

    /// The arguments that start the call's command on a terminal of its own; `None` for a tool that
    /// runs no commands.
    fn on_terminal(&self, _input: &Value) -> Option<Value> {
        None
    }

    /// The input with each argument under its own name and in its own form, where the model wrote
    /// another that means the same. All steps of a call see this input and no other.
    fn canonical_input(&self, input: Value) -> Value {
        input
    }

    /// What a call with this input would touch; relative paths start from `place`.
    ///
    /// # Errors
    ///
    /// When the input is not usable; the error tells the model what to send instead.
    fn access(&self, input: &Value, place: &WorkingDirectory)
    -> Result<Vec<ToolAccess>, ToolError>;

    /// Whether a call may run before its response has ended, and its result be dropped: it only looks at
    /// files, tells nobody of it, and keeps nothing.
    fn can_start_early(&self) -> bool {
        false
    }

    /// Whether what a call with this input changes is found only by asking ([`Self::find_changes`]).
    fn has_changes_to_find(&self, _input: &Value) -> bool {
        false
    }

    /// The input with all that the call changes in it, which [`Self::access`] then names. Called once,
    /// with the files that the input is approved for; the new input is decided about anew.
    ///
    /// # Errors
    ///
    /// When the call cannot be done; the error tells the model what to do instead.
    async fn find_changes(
        &self,
        _context: &ToolContext,
        input: &Value,
    ) -> Result<Value, ToolError> {
        Ok(input.clone())
    }

    /// The diff that a call would make to the current file, for the approval dialog; `None` where
    /// the tool has no preview.
    ///
    /// # Errors
    ///
    /// When the call itself would fail, with the same error.
    async fn preview(
        &self,
        _context: &ToolContext,
        _input: &Value,
    ) -> Result<Option<FileDiff>, ToolError> {
        Ok(None)
    }

    /// The diffs of the other files that a call changes, where it changes more than one.
    ///
    /// # Errors
    ///
    /// As for [`Self::preview`].
    async fn other_previews(
        &self,
        _context: &ToolContext,
        _input: &Value,
    ) -> Result<Vec<FileDiff>, ToolError> {
        Ok(Vec::new())
    }

    /// The input of a narrower call: it makes the changes of `shown`, the preview of `input`,
    /// except those that are left out.
    ///
    /// # Errors
    ///
    /// When no call of the tool can do that.
    async fn narrow_input(
        &self,
        _context: &ToolContext,
        _input: &Value,
        _shown: &FileDiff,
        _left_out: &ExcludedHunks,
    ) -> Result<Value, ToolError> {
        Err(ToolError("This call cannot be done in part.".into()))
    }

    /// Runs the call. Only the agent's gate may call this.
    ///
    /// # Errors
    ///
    /// When the call cannot be done; the error tells the model what to do instead.
    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError>;
}

/// The folder that paths of a call start from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkingDirectory {
    /// Absolute.
    pub cwd: PathBuf,
    /// The user's home folder, for `~`; `None` where it is unknown.
    pub home: Option<PathBuf>,
}

/// The ports and the surroundings of a running call.
#[derive(Clone)]
pub struct ToolContext {
    pub place: WorkingDirectory,
    /// Reads and writes only the files that the call said it would touch.
    pub files: Arc<dyn Files>,
    pub processes: Arc<dyn Processes>,
    /// Starts and finds the jobs of the session; they run as this call may run commands.
    pub jobs: Arc<dyn JobStarter>,
    pub web: Arc<dyn WebPages>,
    /// Gets the text out of PDFs.
    pub pdfs: Arc<dyn PdfReader>,
    /// Knows the code of the folder.
    pub code: Arc<dyn LanguageServers>,
    /// Formats what is written as the project does.
    pub formatter: Arc<dyn TextFormatter>,
    /// How often this session has searched the web.
    pub searches: Arc<AtomicU32>,
    /// The content of each file as the model last read it, by hash.
    pub reads: Arc<ReadLedger>,
    /// Says which paths a deny rule hides from searches.
    pub is_hidden: Arc<dyn Fn(&Path) -> bool + Send + Sync>,
    /// The tools that are not in the tools array.
    pub deferred: CurrentDeferredTools,
    /// Asks the user.
    pub user: Arc<dyn AskUser>,
    /// Starts other agents.
    pub agents: Arc<dyn SubagentStarter>,
    /// The permission mode, for the tools that change it.
    pub mode: Arc<dyn ModeControl>,
    /// The tasks of the session.
    pub tasks: Arc<dyn SessionTasks>,
    /// Finds the skills that the model loads.
    pub skills: Arc<dyn SkillSource>,
    /// Says that the user has sent a message while the turn runs.
    pub steering: SteeringSignal,
    /// Gets what the user and the log should know while the call runs.
    pub effects: Arc<dyn ToolEffects>,
    /// Where long output goes; `None` in a session without a scratch folder.
    pub outputs: Option<Arc<dyn OutputFiles>>,
    pub cancel: CancellationToken,
}

/// Receives what a running call tells the agent.
#[async_trait]
pub trait ToolEffects: Send + Sync {
    /// More output, shown as it comes. Never stored.
    fn progress(&self, text: &str);
    /// The model's plan has changed.
    fn todos(&self, todos: Vec<TodoItem>);
    /// A file was written. Either content is `None` where there is no file on that side.
    fn file_changed(&self, change: FileChange);
    /// Stores `bytes` under their hash, for output of which the model gets only a part.
    async fn keep(&self, bytes: Vec<u8>) -> Option<ContentHash>;
    /// Makes an image fit for a model and stores it; scaling a large one takes up to a second.
    ///
    /// # Errors
    ///
    /// When the bytes are no image that models take, or it cannot be stored; a sentence.
    async fn keep_image(&self, name: &str, bytes: Vec<u8>) -> Result<MessageImage, String>;
}

/// A file before and after a tool wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Absolute.
    pub path: PathBuf,
    /// `None` when the file did not exist.
    pub before: Option<Vec<u8>>,
    pub after: Vec<u8>,
}

/// Why a call could not be done. The message is for the model and says what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

impl WorkingDirectory {
    /// An absolute path without `.` and `..`. A leading `~` is the home folder, and a name in the
    /// `$'…'` form of [`WorkingDirectory::show`] is read back. Purely lexical.
    pub fn resolve(&self, path: &str) -> PathBuf {
        let joined = match (path.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            (None, Some(home)) if path == "~" => home.clone(),
            _ => self.cwd.join(paths::unquoted(path)),
        };
        clean_path(&joined)
    }

    /// `path` as the model and the user like to read it: relative inside the working folder, and as
    /// `$'…'` where it is not plain text.
    pub fn show(&self, path: &Path) -> String {
        match path.strip_prefix(&self.cwd) {
            Ok(inside) if inside.as_os_str().is_empty() => String::from("."),
            Ok(inside) => paths::quoted(inside),
            Err(_) => paths::quoted(path),
        }
    }
}

/// A call that could not be done has failed.
impl From<ToolError> for ToolOutput {
    fn from(error: ToolError) -> Self {
        Self::failed(error.0)
    }
}

impl From<FileError> for ToolError {
    fn from(error: FileError) -> Self {
        match &error {
            FileError::Changed(_) => {
                Self(format!("{error}. Nothing was written. Read it again, then repeat the call."))
            }
            FileError::Linked(_) => Self(format!(
                "{error}. It was left alone. Look at what is there, then repeat the call."
            )),
            FileError::NotApproved(_) | FileError::Io { .. } => Self(format!("{error}.")),
        }
    }
}

/// Runs blocking or long work off the asynchronous threads; `None` where the call was stopped
/// first. Work that can be long must watch the token, too.
async fn off_thread<T: Send + 'static>(
    cancel: &CancellationToken,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Option<T>, ToolError> {
    let running = tokio::task::spawn_blocking(work);
    tokio::select! {
        biased;
        () = cancel.cancelled() => Ok(None),
        done = running => match done {
            Ok(value) => Ok(Some(value)),
            Err(failure) => Err(ToolError(format!("The tool itself failed: {failure}."))),
        },
    }
}

/// The result of a call that the user stopped.
fn stopped_output() -> ToolOutput {
    ToolOutput { status: ToolStatus::Cancelled, ..ToolOutput::text("Stopped by the user.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_without_looking() {
        let place = WorkingDirectory { cwd: "/w/app".into(), home: Some("/home/u".into()) };
        let cases = [
            ("src/../a.rs", "/w/app/a.rs"),
            ("./src//b", "/w/app/src/b"),
            ("../../../../etc", "/etc"),
            ("/etc/./passwd", "/etc/passwd"),
            ("~/x", "/home/u/x"),
            ("~", "/home/u"),
            ("~x", "/w/app/~x"),
            ("", "/w/app"),
        ];
        for (path, resolved) in cases {
            assert_eq!(place.resolve(path), PathBuf::from(resolved), "{path}");
        }
        assert_eq!(place.show(Path::new("/w/app/src/a.rs")), "src/a.rs");
        assert_eq!(place.show(Path::new("/w/app")), ".");
        assert_eq!(place.show(Path::new("/w/app-secrets/k")), "/w/app-secrets/k");
    }
}
