//! Fakes of everything outside an agent: a model, commands, files, hooks and notes.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, future, stream};
use serde_json::{Value, json};
use slug_code::context::ContextProvider;
use slug_code::domain::{CallId, ContentHash, ScanExtent, StopReason};
use slug_code::hooks::{HookCommand, HookCommandResult, HookExit, HookRunner};
use slug_code::platform::files::DiskFiles;
use slug_code::providers::{
    ErrorRecovery, ModelInfo, Provider, ProviderError, ProviderRequest, StreamEvent,
};
use slug_code::tools::{
    ExitCause, FileError, FileState, Files, FolderItem, ProcessError, Processes, ScriptExit,
    ScriptSpec, WriteReport,
};
use tokio::sync::{Barrier, Semaphore, watch};
use tokio_util::sync::CancellationToken;

/// An event of a scripted response.
#[derive(Clone)]
pub enum ScriptedEvent {
    Event(StreamEvent),
    Fail(ProviderError),
    /// No more events come, and the stream stays open.
    Hang,
    /// No more events come until the test says so.
    Wait(Arc<StreamPause>),
}

/// A place in a response that waits for the test.
pub struct StreamPause {
    reached: Semaphore,
    released: Semaphore,
}

impl StreamPause {
    pub fn new() -> Arc<Self> {
        Arc::new(Self { reached: Semaphore::new(0), released: Semaphore::new(0) })
    }

    /// Waits until all that comes before has been taken by the agent.
    pub async fn reached(&self) {
        self.reached.acquire().await.unwrap().forget();
    }

    pub fn release(&self) {
        self.released.add_permits(1);
    }
}

pub type ScriptedStream = Vec<ScriptedEvent>;

pub fn words(text: &str) -> ScriptedStream {
    let pieces =
        text.split_inclusive(' ').map(|word| ScriptedEvent::Event(StreamEvent::Text(word.into())));
    pieces.chain([finish_event(StopReason::EndTurn)]).collect()
}

pub fn calls(calls: &[(&str, &str, Value)]) -> ScriptedStream {
    let mut reply = unfinished_calls(calls);
    reply.push(finish_event(StopReason::ToolUse));
    reply
}

/// A Bash call, for [`calls`].
pub fn bash(id: &'static str, command: &str) -> (&'static str, &'static str, Value) {
    (id, "Bash", json!({"command": command}))
}

/// A response with calls that ran into the output limit.
pub fn cut_calls(calls: &[(&str, &str, Value)]) -> ScriptedStream {
    let mut reply = unfinished_calls(calls);
    reply.push(finish_event(StopReason::MaxTokens));
    reply
}

/// A response with calls whose end does not come.
pub fn unfinished_calls(calls: &[(&str, &str, Value)]) -> ScriptedStream {
    let mut reply = Vec::new();
    for (index, (id, name, input)) in calls.iter().enumerate() {
        let (id, name) = (CallId::new(*id), (*name).to_owned());
        reply.push(ScriptedEvent::Event(StreamEvent::ToolUseStarted { index, id, name }));
        let json = input.to_string();
        reply.push(ScriptedEvent::Event(StreamEvent::ToolInputDelta { index, json }));
    }
    reply
}

pub fn finish_event(reason: StopReason) -> ScriptedEvent {
    ScriptedEvent::Event(StreamEvent::Finished(reason))
}

pub fn failure(status: u16, recovery: ErrorRecovery) -> ScriptedEvent {
    let message = format!("The server said {status}.");
    ScriptedEvent::Fail(ProviderError { message, status: Some(status), recovery })
}

/// A window that nothing fits into badly: what happens in small ones is in `compaction`.
const VAST: u64 = 10_000_000;

/// The answer to the request for the models.
pub enum FakeModelList {
    Named(Vec<&'static str>),
    /// These failures in turn, then `test-model`.
    AfterFailures(Mutex<VecDeque<ProviderError>>),
    Hang,
}

/// A model that plays one queued reply for each request.
pub struct ScriptedProvider {
    replies: Mutex<VecDeque<ScriptedStream>>,
    requests: Mutex<Vec<ProviderRequest>>,
    models: FakeModelList,
    host: Option<&'static str>,
}

impl ScriptedProvider {
    pub fn new(models: FakeModelList) -> Self {
        Self { replies: Mutex::default(), requests: Mutex::default(), models, host: None }
    }

    /// A model on this host, instead of on this machine.
    pub fn at(host: &'static str) -> Self {
        Self { host: Some(host), ..Self::new(FakeModelList::Named(Vec::new())) }
    }

    pub fn reply(&self, reply: ScriptedStream) {
        self.replies.lock().unwrap().push_back(reply);
    }

    /// Drops a queued reply; `false` when there is none.
    pub fn skip(&self) -> bool {
        self.replies.lock().unwrap().pop_front().is_some()
    }

    pub fn requests(&self) -> Vec<ProviderRequest> {
        self.requests.lock().unwrap().clone()
    }

    pub fn last_request(&self) -> ProviderRequest {
        self.requests().pop().expect("no request came")
    }
}

/// Streams a scripted response.
pub fn play(reply: ScriptedStream) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
    stream::iter(reply)
        .then(|piece| async move {
            match piece {
                ScriptedEvent::Event(event) => Ok(event),
                ScriptedEvent::Fail(error) => Err(error),
                ScriptedEvent::Hang => future::pending().await,
                ScriptedEvent::Wait(pause) => {
                    pause.reached.add_permits(1);
                    pause.released.acquire().await.unwrap().forget();
                    Ok(StreamEvent::Text(" ".into()))
                }
            }
        })
        .boxed()
}

#[async_trait]
impl Provider for ScriptedProvider {
    fn stream(
        &self,
        request: ProviderRequest,
        _cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        self.requests.lock().unwrap().push(request);
        let reply = self.replies.lock().unwrap().pop_front();
        let reply = reply.unwrap_or_else(|| vec![failure(400, ErrorRecovery::GiveUp)]);
        play(reply)
    }

    async fn models(&self) -> Result<Vec<ModelInfo>, ProviderError> {
        match &self.models {
            FakeModelList::Named(names) => Ok(names
                .iter()
                .map(|name| ModelInfo {
                    id: (*name).to_owned(),
                    context_window: Some(VAST),
                    ..ModelInfo::default()
                })
                .collect()),
            FakeModelList::AfterFailures(failures) => match failures.lock().unwrap().pop_front() {
                Some(failure) => Err(failure),
                None => Ok(vec![ModelInfo {
                    id: "test-model".into(),
                    context_window: None,
                    ..ModelInfo::default()
                }]),
            },
            FakeModelList::Hang => future::pending().await,
        }
    }

    fn is_local(&self) -> bool {
        self.host.is_none()
    }

    fn host(&self) -> Option<&str> {
        self.host
    }
}

/// Fake commands: `block …` waits for [`Self::release`], `deaf` never ends, not even by a stop, and
/// `panic` panics in the tool. `write FILE TEXT`, `remove FILE` and `flatten FOLDER TEXT` (which
/// puts a file in place of a folder) change files. Everything else ends at once.
pub struct FakeAgentProcesses {
    log: Mutex<Vec<String>>,
    blocked: Semaphore,
    sessions: PathBuf,
}

impl FakeAgentProcesses {
    pub fn new(sessions: PathBuf) -> Self {
        Self { log: Mutex::default(), blocked: Semaphore::new(0), sessions }
    }

    /// Lets one blocked command end.
    pub fn release(&self) {
        self.blocked.add_permits(1);
    }

    /// The beginnings and ends of the commands, in order.
    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    fn note(&self, what: String) {
        self.log.lock().unwrap().push(what);
    }

    /// How many calls the logs announce as about to run.
    fn intents(&self) -> usize {
        let logs = std::fs::read_dir(&self.sessions).unwrap().map(|entry| entry.unwrap().path());
        logs.filter(|path| path.extension().is_some_and(|it| it == "jsonl"))
            .map(|log| std::fs::read_to_string(log).unwrap().matches("\"tool_started\"").count())
            .sum()
    }
}

#[async_trait]
impl Processes for FakeAgentProcesses {
    async fn run(
        &self,
        script: ScriptSpec,
        output: &mut (dyn for<'a> FnMut(&'a [u8]) + Send),
        cancel: CancellationToken,
    ) -> Result<ScriptExit, ProcessError> {
        // A command that is allowed without a question is rebuilt by slug, with all words quoted.
        let text = script.text.replace('\'', "");
        let begun_count = self.log().iter().filter(|it| it.starts_with("begin")).count();
        self.note(format!("begin {text}"));
        if self.intents() <= begun_count {
            self.note(format!("{text} ran without being on record"));
        }
        assert!(text != "panic", "a tool that panics");
        let words: Vec<&str> = text.split(' ').collect();
        match words[..] {
            ["write", file, text] | ["block", "write", file, text] => {
                std::fs::write(script.cwd.join(file), text).unwrap();
            }
            ["flatten", folder, text] => {
                let folder = script.cwd.join(folder);
                std::fs::remove_dir_all(&folder).unwrap();
                std::fs::write(folder, text).unwrap();
            }
            ["print", count] => output("x".repeat(count.parse().unwrap()).as_bytes()),
            ["remove", file] => std::fs::remove_file(script.cwd.join(file)).unwrap(),
            _ => {}
        }
        output(format!("{text} says hello\n").as_bytes());
        let mut cause = ExitCause::Code(0);
        if text == "deaf" {
            future::pending::<()>().await;
        } else if text.starts_with("block") {
            tokio::select! {
                permit = self.blocked.acquire() => permit.unwrap().forget(),
                () = cancel.cancelled() => cause = ExitCause::Cancelled,
            }
        }
        self.note(format!("end {text}"));
        Ok(ScriptExit {
            cause,
            elapsed: Duration::from_millis(1),
            left_running: false,
            refused: Vec::new(),
            denied: ScanExtent::Whole,
            made: Vec::new(),
        })
    }
}

/// The disk, except that reads of `pair…` end only two at a time, reads of `panic…` panic, and
/// writes of `slow…` wait for [`Self::release`].
pub struct FakeFiles {
    disk: DiskFiles,
    pair: Barrier,
    slow: Semaphore,
    writing: Arc<Semaphore>,
    reads: watch::Sender<Vec<String>>,
}

impl FakeFiles {
    pub fn new() -> Self {
        Self {
            disk: DiskFiles,
            pair: Barrier::new(2),
            slow: Semaphore::new(0),
            writing: Arc::new(Semaphore::new(0)),
            reads: watch::Sender::default(),
        }
    }

    pub fn release(&self) {
        self.slow.add_permits(1);
    }

    /// The names of the files that were read, in order.
    pub fn reads(&self) -> Vec<String> {
        self.reads.borrow().clone()
    }

    /// Waits until this file was read.
    pub async fn reading(&self, name: &str) {
        let has_it = |reads: &Vec<String>| reads.iter().any(|it| it == name);
        self.reads.subscribe().wait_for(has_it).await.unwrap();
    }

    /// Waits until a slow write has begun.
    pub async fn writing(&self) {
        self.writing.acquire().await.unwrap().forget();
    }
}

fn is_named(path: &Path, name: &str) -> bool {
    path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(name))
}

#[async_trait]
impl Files for FakeFiles {
    async fn read(&self, path: &Path, limit: u64) -> Result<FileState, FileError> {
        assert!(!is_named(path, "panic"), "a tool that panics");
        if is_named(path, "pair") {
            self.pair.wait().await;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.reads.send_modify(|reads| reads.push(name));
        self.disk.read(path, limit).await
    }

    async fn write(
        &self,
        path: &Path,
        bytes: &[u8],
        expected: Option<Option<ContentHash>>,
    ) -> Result<WriteReport, FileError> {
        if is_named(path, "slow") {
            self.writing.add_permits(1);
            self.slow.acquire().await.unwrap().forget();
        }
        self.disk.write(path, bytes, expected).await
    }

    fn open(&self, path: &Path) -> Result<Option<File>, FileError> {
        self.disk.open(path)
    }

    async fn list(&self, path: &Path, limit: usize) -> Result<(Vec<FolderItem>, u64), FileError> {
        self.disk.list(path, limit).await
    }

    fn modified(&self, path: &Path) -> Option<SystemTime> {
        self.disk.modified(path)
    }
}

/// A note whose text a test can change.
#[derive(Clone, Default)]
pub struct NoteContext(pub Arc<Mutex<Option<String>>>);

#[async_trait]
impl ContextProvider for NoteContext {
    fn name(&self) -> &str {
        "note"
    }

    async fn collect(&self) -> Option<String> {
        self.0.lock().unwrap().clone()
    }
}

/// A context provider that never returns.
pub struct StalledContext;

#[async_trait]
impl ContextProvider for StalledContext {
    fn name(&self) -> &str {
        "stalled"
    }

    async fn collect(&self) -> Option<String> {
        future::pending().await
    }
}

/// Fake commands of hooks that end as the test [sets](Self::set), by default with status 0 and no
/// output. `block` waits until it is cancelled.
#[derive(Default)]
pub struct FakeHooks {
    ends: Mutex<HashMap<String, (i32, String, String)>>,
    orders: Mutex<Vec<HookCommand>>,
}

impl FakeHooks {
    /// Sets how a command ends: its status, and the text on both outputs.
    pub fn set(&self, name: &str, status: i32, output: &str, complaint: &str) {
        let end = (status, output.to_owned(), complaint.to_owned());
        self.ends.lock().unwrap().insert(name.to_owned(), end);
    }

    /// The commands that ran, with their input.
    pub fn inputs(&self) -> Vec<(String, Value)> {
        let orders = self.orders.lock().unwrap();
        let input = |command: &HookCommand| {
            (command.line.clone(), serde_json::from_str(&command.input).unwrap())
        };
        orders.iter().map(input).collect()
    }

    /// The commands that ran.
    pub fn run(&self) -> Vec<String> {
        self.inputs().into_iter().map(|(line, _)| line).collect()
    }
}

#[async_trait]
impl HookRunner for FakeHooks {
    async fn run(&self, command: HookCommand, cancel: &CancellationToken) -> HookCommandResult {
        let name = command.line.clone();
        self.orders.lock().unwrap().push(command);
        let end = self.ends.lock().unwrap().get(&name).cloned();
        let (status, output, complaint) = end.unwrap_or_default();
        let mut ended = HookExit::Code(status);
        if name == "block" {
            cancel.cancelled().await;
            ended = HookExit::Cancelled;
        }
        HookCommandResult {
            exit: ended,
            stdout: output,
            stderr: complaint,
            elapsed: Duration::ZERO,
        }
    }
}
