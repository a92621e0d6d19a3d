//! An environment to try tools in: a temporary folder as workspace with real files, and recorders
//! for everything else.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{
    AccessMode, CurrentDeferredTools, ExitCause, FileChange, FixedMode, Grant, InMemoryTasks,
    NoFormatters, NoLanguageServers, NoPdfReader, NoSessionJobs, NoSkills, NoSubagents, NoWebPages,
    NobodyToAsk, ProcessError, Processes, ReadLedger, ScopedFiles, ScriptExit, ScriptSpec, Tool,
    ToolContext, ToolEffects, ToolError, WorkingDirectory,
};
use crate::domain::{
    ContentHash, MessageImage, PermissionMode, ScanExtent, TodoItem, ToolAccess, ToolCapability,
    ToolDescriptor, ToolKind, ToolOutput, ToolSpec,
};
use crate::platform::files::DiskFiles;
use crate::platform::image;

/// A tool that touches nothing, under a name.
pub(crate) struct NamedTool(ToolDescriptor);

/// A tool that touches nothing, of a server or plugin in a test.
pub(crate) fn named_tool(name: &'static str) -> Arc<dyn Tool> {
    let (kind, capability) = (ToolKind::Other, ToolCapability::Conversation);
    Arc::new(NamedTool(ToolDescriptor::built_in(name, kind, capability)))
}

/// The same outside of the tools array.
pub(crate) fn deferred_tool(name: &'static str) -> Arc<dyn Tool> {
    let (kind, capability) = (ToolKind::Other, ToolCapability::Conversation);
    Arc::new(NamedTool(ToolDescriptor::built_in(name, kind, capability).deferred()))
}

#[async_trait]
impl Tool for NamedTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.0.name.to_string(),
            description: "Does nothing.".into(),
            input_schema: json!({"type": "object", "properties": {}, "required": []}),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &self.0
    }

    fn access(&self, _: &Value, _: &WorkingDirectory) -> Result<Vec<ToolAccess>, ToolError> {
        Ok(vec![ToolAccess::Nothing])
    }

    async fn run(&self, _: &ToolContext, _: Value) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("nothing"))
    }
}

/// A workspace, and the context that a tool gets in it.
pub(crate) struct ToolTestEnv {
    _dir: TempDir,
    root: PathBuf,
    pub context: ToolContext,
    pub effects: Arc<EffectsRecorder>,
    /// The processes that Bash starts.
    pub processes: Arc<ScriptedProcesses>,
}

impl ToolTestEnv {
    /// An empty workspace; paths with `secret` in them are hidden from searches.
    pub fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let effects = Arc::new(EffectsRecorder::default());
        let processes = Arc::new(ScriptedProcesses::default());
        let context = ToolContext {
            place: WorkingDirectory { cwd: root.clone(), home: None },
            files: Arc::new(DiskFiles),
            processes: processes.clone(),
            jobs: Arc::new(NoSessionJobs),
            web: Arc::new(NoWebPages),
            pdfs: Arc::new(NoPdfReader),
            code: Arc::new(NoLanguageServers),
            formatter: Arc::new(NoFormatters),
            searches: Arc::default(),
            tasks: Arc::new(InMemoryTasks::default()),
            skills: Arc::new(NoSkills),
            steering: Default::default(),
            reads: Arc::new(ReadLedger::default()),
            is_hidden: Arc::new(|path: &Path| path.to_string_lossy().contains("secret")),
            deferred: CurrentDeferredTools::default(),
            user: Arc::new(NobodyToAsk),
            agents: Arc::new(NoSubagents),
            mode: Arc::new(FixedMode(PermissionMode::Ask)),
            effects: effects.clone(),
            outputs: None,
            cancel: CancellationToken::new(),
        };
        Self { _dir: dir, root, context, effects, processes }
    }

    /// The absolute path of a name in the workspace.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Writes a file and makes its folders, without the tools' knowledge.
    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Makes a FIFO.
    pub fn fifo(&self, name: &str) {
        crate::domain::testing::make_fifo(&self.path(name));
    }

    /// Records that the model has read the file's current content.
    pub fn seen(&self, name: &str) {
        self.context.reads.record(&self.path(name), &self.bytes(name));
    }

    /// The current content of a file.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Runs a tool as the gate would.
    ///
    /// # Errors
    ///
    /// When the tool fails or does not accept the input.
    pub async fn run(&self, tool: &dyn Tool, input: Value) -> Result<ToolOutput, ToolError> {
        let input = tool.canonical_input(input);
        tool.run(&self.context_for(tool, &input)?, input).await
    }

    /// The context that the gate would give a call.
    ///
    /// # Errors
    ///
    /// When the tool does not accept the input.
    pub fn context_for(&self, tool: &dyn Tool, input: &Value) -> Result<ToolContext, ToolError> {
        let accesses = tool.access(input, &self.context.place)?;
        let granted = accesses.into_iter().filter_map(|access| {
            let (named, mode) = match access {
                ToolAccess::Read(path) => (path, AccessMode::Read),
                ToolAccess::Write(path) => (path, AccessMode::Write),
                _ => return None,
            };
            let real = named.canonicalize().unwrap_or_else(|_| named.clone());
            Some(Grant { named, real, mode })
        });
        let scoped = ScopedFiles::new(self.context.files.clone(), granted);
        Ok(ToolContext { files: Arc::new(scoped), ..self.context.clone() })
    }
}

/// Records what tools tell the agent.
#[derive(Default)]
pub(crate) struct EffectsRecorder {
    progress: Mutex<String>,
    todos: Mutex<Vec<TodoItem>>,
    changes: Mutex<Vec<FileChange>>,
    kept: Mutex<Vec<Vec<u8>>>,
}

impl EffectsRecorder {
    /// All live output so far, joined.
    pub fn progress(&self) -> String {
        self.progress.lock().unwrap().clone()
    }

    /// The last plan; empty before the first.
    pub fn todos(&self) -> Vec<TodoItem> {
        self.todos.lock().unwrap().clone()
    }

    /// All written files, in order.
    pub fn changes(&self) -> Vec<FileChange> {
        self.changes.lock().unwrap().clone()
    }

    /// All contents that tools stored, in order.
    pub fn kept(&self) -> Vec<Vec<u8>> {
        self.kept.lock().unwrap().clone()
    }
}

#[async_trait]
impl ToolEffects for EffectsRecorder {
    fn progress(&self, text: &str) {
        self.progress.lock().unwrap().push_str(text);
    }

    fn todos(&self, todos: Vec<TodoItem>) {
        *self.todos.lock().unwrap() = todos;
    }

    fn file_changed(&self, change: FileChange) {
        self.changes.lock().unwrap().push(change);
    }

    async fn keep_image(&self, name: &str, bytes: Vec<u8>) -> Result<MessageImage, String> {
        let fit = image::fit(name, bytes).map_err(|error| error.to_string())?;
        self.kept.lock().unwrap().push(fit.bytes);
        Ok(fit.image)
    }

    async fn keep(&self, bytes: Vec<u8>) -> Option<ContentHash> {
        let hash = ContentHash::of(&bytes);
        self.kept.lock().unwrap().push(bytes);
        Some(hash)
    }
}

/// Pretends to run scripts, with a given output and end.
pub(crate) struct ScriptedProcesses {
    /// The scripts that were run.
    pub scripts: Mutex<Vec<ScriptSpec>>,
    /// The pieces of output that each script prints.
    pub output: Mutex<Vec<Vec<u8>>>,
    pub exit: Mutex<ScriptExit>,
}

impl Default for ScriptedProcesses {
    fn default() -> Self {
        let exit = ScriptExit {
            cause: ExitCause::Code(0),
            elapsed: Duration::ZERO,
            left_running: false,
            refused: Vec::new(),
            denied: ScanExtent::Whole,
            made: Vec::new(),
        };
        Self { scripts: Mutex::default(), output: Mutex::default(), exit: Mutex::new(exit) }
    }
}

impl ScriptedProcesses {
    /// Makes the next scripts print these pieces and end like this.
    pub fn play(&self, output: &[&[u8]], cause: ExitCause) {
        *self.output.lock().unwrap() = output.iter().map(|piece| piece.to_vec()).collect();
        self.exit.lock().unwrap().cause = cause;
    }
}

#[async_trait]
impl Processes for ScriptedProcesses {
    async fn run(
        &self,
        script: ScriptSpec,
        output: &mut (dyn for<'a> FnMut(&'a [u8]) + Send),
        _cancel: CancellationToken,
    ) -> Result<ScriptExit, ProcessError> {
        self.scripts.lock().unwrap().push(script);
        for piece in self.output.lock().unwrap().iter() {
            output(piece);
        }
        Ok(self.exit.lock().unwrap().clone())
    }
}
