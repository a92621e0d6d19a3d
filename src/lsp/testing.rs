//! Language servers that are played in memory, where programs would be started.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt, SimplexStream, WriteHalf};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::domain::{ExitCause, JobEnd};
use crate::platform::server_program::ServerProgramSearch;
use crate::tools::{
    JobHandle, JobSpec, OutputSink, ProcessError, Processes, ScriptExit, ScriptSpec, TerminalSize,
};

use super::definition::{LspDefinitions, LspServerDefinition};
use super::framing::{LspMessageReader, lsp_frame};
use super::servers::LspServers;
use super::slot::LspPorts;

/// The longest that a test waits for anything.
pub(super) const WAIT_TIMEOUT: Duration = Duration::from_secs(20);

/// How a played server tells what it finds: an error for each line with `bad` in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlayedFindings {
    PushWithVersion,
    Push,
    Pull,
    Never,
}

/// What a played server does.
#[derive(Debug, Clone)]
pub(super) struct PlayedServer {
    pub(super) findings: PlayedFindings,
    pub(super) capabilities: Value,
    /// It ends when it is sent this.
    pub(super) ends_on: Option<&'static str>,
    /// What it answers to `textDocument/prepareRename` and `textDocument/rename`, the latter by the address
    /// of the file that is asked about.
    pub(super) rename: (Value, fn(&str) -> Value),
}

impl Default for PlayedServer {
    fn default() -> Self {
        Self {
            findings: PlayedFindings::PushWithVersion,
            capabilities: json!({"definitionProvider": true}),
            ends_on: None,
            rename: (Value::Null, |_| Value::Null),
        }
    }
}

/// Plays a server for each program that is started.
pub(super) struct PlayedServers {
    server: PlayedServer,
    pub(super) starts: AtomicUsize,
    heard: Arc<watch::Sender<Vec<Value>>>,
    /// Findings are told only while this is true.
    pub(super) tells: watch::Sender<bool>,
}

impl PlayedServers {
    /// What all servers have been sent with this method so far.
    pub(super) fn heard(&self, method: &str) -> Vec<Value> {
        let heard = self.heard.borrow();
        heard.iter().filter(|it| it["method"] == method).map(|it| it["params"].clone()).collect()
    }

    /// Waits until so many messages with this method have been sent.
    pub(super) async fn until_heard(&self, method: &str, count: usize) {
        let mut news = self.heard.subscribe();
        let waiting = news
            .wait_for(|heard| heard.iter().filter(|it| it["method"] == method).count() >= count);
        let waited = tokio::time::timeout(WAIT_TIMEOUT, waiting).await;
        assert!(waited.is_ok(), "not {count} of {method}");
    }
}

/// A workspace with servers for it.
pub(super) struct LspTestEnv {
    _folder: TempDir,
    pub(super) workspace: PathBuf,
    pub(super) played: Arc<PlayedServers>,
    pub(super) servers: LspServers,
}

impl LspTestEnv {
    /// A workspace in which the program `played-lsp` is for files that end in `.x`.
    pub(super) fn new(server: PlayedServer) -> Self {
        Self::with(server, |_| {}, Duration::from_secs(600))
    }

    pub(super) fn with(
        server: PlayedServer,
        change: impl Fn(&mut LspServerDefinition),
        idle_limit: Duration,
    ) -> Self {
        let folder = TempDir::new().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (workspace, programs) = (root.join("w"), root.join("bin"));
        std::fs::create_dir_all(&workspace).unwrap();
        put_program(&programs.join("played-lsp"));
        let keys = json!({"played": {"command": "played-lsp", "extensions": ["x"]}});
        let mut found = LspDefinitions::read(keys.as_object().unwrap(), None);
        found.servers.truncate(1);
        found.servers.iter_mut().for_each(change);
        let played = Arc::new(PlayedServers {
            server,
            starts: AtomicUsize::new(0),
            heard: Arc::default(),
            tells: watch::Sender::new(true),
        });
        let ports = LspPorts {
            processes: played.clone(),
            programs: ServerProgramSearch { path: programs.into(), project: workspace.clone() },
            memory_limit: 1 << 30,
            idle_limit,
        };
        let servers = LspServers::new(found.servers, workspace.clone(), ports, WAIT_TIMEOUT);
        Self { _folder: folder, workspace, played, servers }
    }

    /// The same workspace, with another program for its files.
    pub(super) fn with_command(self, command: &str) -> Self {
        let keys = json!({"played": {"command": command, "extensions": ["x"]}});
        let mut found = LspDefinitions::read(keys.as_object().unwrap(), None);
        found.servers.truncate(1);
        let path =
            std::env::join_paths([&self.workspace, &self.workspace.join("node_modules/.bin")]);
        let ports = LspPorts {
            processes: self.played.clone(),
            programs: ServerProgramSearch { path: path.unwrap(), project: self.workspace.clone() },
            memory_limit: 1 << 30,
            idle_limit: WAIT_TIMEOUT,
        };
        let servers = LspServers::new(found.servers, self.workspace.clone(), ports, WAIT_TIMEOUT);
        Self { servers, ..self }
    }

    pub(super) fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.workspace.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }
}

/// Makes a program that does nothing.
pub(super) fn put_program(path: &Path) {
    use std::os::unix::fs::PermissionsExt;

    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[async_trait]
impl Processes for PlayedServers {
    async fn run(
        &self,
        _: ScriptSpec,
        _: &mut (dyn for<'a> FnMut(&'a [u8]) + Send),
        _: CancellationToken,
    ) -> Result<ScriptExit, ProcessError> {
        panic!("a language server is a job");
    }

    async fn start(
        &self,
        _: JobSpec,
        mut sink: Box<dyn OutputSink>,
    ) -> Result<Arc<dyn JobHandle>, ProcessError> {
        self.starts.fetch_add(1, Ordering::AcqRel);
        let (mut from_slug, to_server) = tokio::io::simplex(1 << 16);
        let ended = Arc::new(OnceLock::new());
        let done = CancellationToken::new();
        let job = PlayedJob {
            input: tokio::sync::Mutex::new(Some(to_server)),
            ended: ended.clone(),
            done: done.clone(),
        };
        let (server, heard, tells) =
            (self.server.clone(), self.heard.clone(), self.tells.subscribe());
        tokio::spawn(async move {
            // Whole messages are read from what the job is written in pieces.
            let (reader, mut writer) = tokio::io::simplex(1 << 16);
            let feeding = async {
                let mut buffer = [0; 4096];
                while let Ok(count @ 1..) = from_slug.read(&mut buffer).await {
                    if writer.write_all(&buffer[..count]).await.is_err() {
                        break;
                    }
                }
                let _ = writer.shutdown().await;
            };
            let playing = play(server, LspMessageReader::new(reader), &mut *sink, &heard, tells);
            tokio::select! {
                () = playing => {}
                () = async { feeding.await; std::future::pending().await } => {}
                () = done.cancelled() => {}
            }
            sink.end().await;
            let _ = ended.set(JobEnd::Exited(ExitCause::Code(0)));
            done.cancel();
        });
        Ok(Arc::new(job))
    }
}

async fn play(
    server: PlayedServer,
    mut messages: LspMessageReader<tokio::io::ReadHalf<SimplexStream>>,
    sink: &mut dyn OutputSink,
    heard: &watch::Sender<Vec<Value>>,
    mut tells: watch::Receiver<bool>,
) {
    let mut texts = std::collections::BTreeMap::<String, String>::new();
    let mut versions = std::collections::BTreeMap::<String, Value>::new();
    while let Ok(Some(message)) = messages.next().await {
        heard.send_modify(|heard| heard.push(message.clone()));
        let method = message["method"].as_str().unwrap_or_default();
        if server.ends_on == Some(method) || method == "exit" {
            return;
        }
        let params = &message["params"];
        let uri = params["textDocument"]["uri"].as_str().unwrap_or_default().to_owned();
        let findings = |text: &str, is_broken: bool| -> Value {
            let is_wrong = |line: &str| line.contains("bad") || (is_broken && line == "uses a");
            let lines = text.lines().enumerate().filter(|(_, line)| is_wrong(line));
            let finding = |(at, line): (usize, &str)| {
                json!({"range": {"start": {"line": at, "character": 0}}, "severity": 1,
                       "message": format!("wrong: {}", line.trim())})
            };
            lines.map(finding).collect()
        };
        let mut answer = Value::Null;
        match method {
            "initialize" => {
                let mut capabilities = server.capabilities.clone();
                if server.findings == PlayedFindings::Pull {
                    capabilities["diagnosticProvider"] = json!({"interFileDependencies": false});
                }
                answer = json!({"capabilities": capabilities});
            }
            "textDocument/didOpen" | "textDocument/didChange" => {
                let text = params["textDocument"]["text"].as_str();
                let text =
                    text.or(params["contentChanges"][0]["text"].as_str()).unwrap_or_default();
                texts.insert(uri.clone(), text.to_owned());
                versions.insert(uri.clone(), params["textDocument"]["version"].clone());
                let is_broken = texts.values().any(|text| text.contains("breaks"));
                match server.findings {
                    PlayedFindings::PushWithVersion | PlayedFindings::Push => {}
                    PlayedFindings::Pull | PlayedFindings::Never => continue,
                }
                if tells.wait_for(|tells| *tells).await.is_err() {
                    return;
                }
                // Of the changed file first, then of what uses another.
                let others = texts.iter().filter(|(it, text)| **it != uri && text.contains("uses"));
                for (uri, text) in texts.get_key_value(&uri).into_iter().chain(others) {
                    let mut told = json!({"uri": uri, "diagnostics": findings(text, is_broken)});
                    if server.findings == PlayedFindings::PushWithVersion {
                        told["version"] = versions[uri].clone();
                    }
                    let note = json!({"method": "textDocument/publishDiagnostics", "params": told});
                    sink.write(&lsp_frame(&note)).await;
                }
            }
            "textDocument/diagnostic" => {
                let text = texts.get(&uri).cloned().unwrap_or_default();
                let is_broken = texts.values().any(|text| text.contains("breaks"));
                answer = json!({"kind": "full", "items": findings(&text, is_broken)});
            }
            "textDocument/prepareRename" => answer = server.rename.0.clone(),
            "textDocument/rename" => answer = server.rename.1(&uri),
            "textDocument/definition" => {
                let start = json!({"line": 0, "character": 0});
                answer = json!([{"uri": uri, "range": {"start": start, "end": start}}]);
            }
            _ => {}
        }
        if let Some(id) = message.get("id") {
            sink.write(&lsp_frame(&json!({"id": id, "result": answer}))).await;
        }
    }
}

struct PlayedJob {
    input: tokio::sync::Mutex<Option<WriteHalf<SimplexStream>>>,
    ended: Arc<OnceLock<JobEnd>>,
    done: CancellationToken,
}

#[async_trait]
impl JobHandle for PlayedJob {
    async fn write(&self, bytes: &[u8]) -> std::io::Result<()> {
        match &mut *self.input.lock().await {
            Some(input) => input.write_all(bytes).await,
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        }
    }

    async fn close_input(&self) {
        self.input.lock().await.take();
    }

    fn resize(&self, _: TerminalSize) -> std::io::Result<()> {
        Ok(())
    }

    fn interrupt(&self) {}

    fn terminate(&self) {
        self.done.cancel();
    }

    fn kill(&self) {
        self.done.cancel();
    }

    fn ended(&self) -> Option<JobEnd> {
        self.ended.get().cloned()
    }

    async fn wait(&self) -> JobEnd {
        self.done.cancelled().await;
        JobEnd::Exited(ExitCause::Code(0))
    }
}
