//! Servers of the Model Context Protocol: a scripted one as a real program (`tests/mcp/server.sh`),
//! and one over HTTP.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::{Value, json};
use slug_code::domain::{
    ContentHash, MessageImage, PermissionMode, TodoItem, ToolAccess, ToolOutput, ToolStatus,
};
use slug_code::mcp::{
    McpDefinitionSource, McpDefinitions, McpLoginStore, McpPorts, McpServerState, McpServers,
    McpStore, McpSurroundings,
};
use slug_code::net::HttpClient;
use slug_code::platform::environment::EnvironmentRules;
use slug_code::platform::files::DiskFiles;
use slug_code::platform::redact::Redactor;
use slug_code::platform::server_program::ServerProgramSearch;
use slug_code::tools::{
    DeniedTools, FileChange, FixedMode, InMemoryTasks, NoFormatters, NoLanguageServers,
    NoPdfReader, NoSessionJobs, NoSkills, NoSubagents, NoWebPages, NobodyToAsk, OutputFile,
    OutputFiles, ReadLedger, Tool, ToolContext, ToolEffects, ToolError, WorkingDirectory,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::support::process_host::process_host;

mod always_load;
mod changes;
mod commands;
mod elicitation;
mod import;
mod login;
mod offers;
mod official;
mod revision_2026;
mod secrets;
mod sse;

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/server.sh");

/// The longest that a test waits for anything.
const WAIT_TIMEOUT: Duration = Duration::from_secs(20);

/// A session's servers, and where they keep what they saw.
struct McpTestEnv {
    folder: TempDir,
    home: TempDir,
    servers: Arc<McpServers>,
    /// What models are not told of.
    denied: DeniedTools,
    host: Arc<slug_code::platform::process::ProcessHost>,
}

#[derive(Default)]
struct RecordedProgress(Mutex<String>);

#[async_trait]
impl ToolEffects for RecordedProgress {
    fn progress(&self, text: &str) {
        self.0.lock().unwrap().push_str(text);
    }
    fn todos(&self, _todos: Vec<TodoItem>) {}
    fn file_changed(&self, _change: FileChange) {}
    async fn keep(&self, _bytes: Vec<u8>) -> Option<ContentHash> {
        None
    }
    async fn keep_image(&self, name: &str, _bytes: Vec<u8>) -> Result<MessageImage, String> {
        Err(format!("no place for {name}"))
    }
}

struct FolderOutputs(PathBuf);

impl OutputFiles for FolderOutputs {
    fn create(&self) -> std::io::Result<OutputFile> {
        let path = self.0.join("output");
        Ok(OutputFile { file: std::fs::File::create(&path)?, path })
    }
}

impl McpTestEnv {
    fn new(servers: Value) -> Self {
        Self::in_folders(TempDir::new().unwrap(), TempDir::new().unwrap(), servers)
    }

    fn in_folders(folder: TempDir, home: TempDir, mut servers: Value) -> Self {
        if servers.is_null() {
            let state = folder.path().to_str().unwrap();
            servers = json!({"s": {"command": "bash", "args": [SERVER, state], "env": {"GIVEN": "${TOKEN}"}}});
        }
        let text = json!({"mcpServers": servers}).to_string();
        let path = std::env::var_os("PATH").unwrap();
        Self::with_definitions(folder, home, McpDefinitions::read_file(&text), path)
    }

    /// With `path` as slug's PATH.
    fn with_definitions(
        folder: TempDir,
        home: TempDir,
        definitions: McpDefinitions,
        path: OsString,
    ) -> Self {
        assert_eq!(definitions.problems, Vec::<String>::new());
        let variables = std::env::vars_os().chain([("SLUG_TEST_SECRET".into(), "s3cr3t".into())]);
        let host = Arc::new(process_host(variables, &EnvironmentRules::default()));
        let real = folder.path().canonicalize().unwrap();
        let denied = DeniedTools::default();
        let surroundings = McpSurroundings {
            folder: real.clone(),
            ports: McpPorts {
                processes: host.clone(),
                programs: ServerProgramSearch { path, project: real },
                http: Arc::new(HttpClient::new()),
            },
            store: McpStore::new(home.path()),
            logins: McpLoginStore::new(home.path()),
            denied: denied.clone(),
            lookup: Arc::new(|name| (name == "TOKEN").then(|| "it's a $token".to_owned())),
            redactor: Redactor::default(),
        };
        let servers = McpServers::new(definitions.servers, &surroundings, |_| {});
        Self { folder, home, servers, host, denied }
    }

    /// With every server allowed and ready.
    async fn started(servers: Value) -> Self {
        let env = Self::new(servers);
        env.allow_all().await;
        env.until("it is ready", || env.state() == McpServerState::Ready).await;
        env
    }

    async fn allow_all(&self) {
        self.servers.start();
        self.servers.settle(WAIT_TIMEOUT).await;
        for status in self.servers.status() {
            if let Some(question) = status.start_question {
                self.servers.allow(&status.name, question.hash).await.unwrap();
            }
        }
    }

    fn state(&self) -> McpServerState {
        self.servers.status()[0].state.clone()
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    async fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < WAIT_TIMEOUT, "not {what}: {:?}", self.servers.status());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let tools = self.servers.tools();
        tools.into_iter().find(|tool| tool.spec().name == name).unwrap()
    }

    async fn call(&self, name: &str, input: Value) -> Result<ToolOutput, ToolError> {
        let (context, _) = self.context();
        self.tool(name).run(&context, input).await
    }

    fn context(&self) -> (ToolContext, Arc<RecordedProgress>) {
        let effects = Arc::new(RecordedProgress::default());
        let context = ToolContext {
            place: WorkingDirectory { cwd: self.folder.path().to_owned(), home: None },
            files: Arc::new(DiskFiles),
            processes: self.host.clone(),
            jobs: Arc::new(NoSessionJobs),
            web: Arc::new(NoWebPages),
            pdfs: Arc::new(NoPdfReader),
            code: Arc::new(NoLanguageServers),
            formatter: Arc::new(NoFormatters),
            user: Arc::new(NobodyToAsk),
            agents: Arc::new(NoSubagents),
            mode: Arc::new(FixedMode(PermissionMode::Ask)),
            searches: Arc::default(),
            tasks: Arc::new(InMemoryTasks::default()),
            skills: Arc::new(NoSkills),
            steering: Default::default(),
            reads: Arc::new(ReadLedger::default()),
            is_hidden: Arc::new(|_: &Path| false),
            deferred: Default::default(),
            effects: effects.clone(),
            outputs: Some(Arc::new(FolderOutputs(self.home.path().to_owned()))),
            cancel: CancellationToken::new(),
        };
        (context, effects)
    }
}

#[tokio::test]
async fn a_program_is_started_listed_and_called() {
    let env = McpTestEnv::started(Value::Null).await;
    let names: Vec<String> = env.servers.tools().iter().map(|tool| tool.spec().name).collect();
    let expected = ["echo", "hang", "die", "big", "change", "second"];
    assert_eq!(names, expected.map(|name| format!("mcp__s__{name}")));
    let status = &env.servers.status()[0];
    assert_eq!(status.implementation.as_deref(), Some("scripted 1"));
    assert_eq!(status.warnings, ["The tool \"bad\" was left out: its schema is not an object."]);
    assert_eq!(
        env.servers.note(&[]).unwrap().lines().last(),
        Some("- s (6 tools): Finds bugs."),
        "one line, and only the first of what the server says"
    );

    let echo = env.tool("mcp__s__echo");
    let place = WorkingDirectory { cwd: "/".into(), home: None };
    let access = echo.access(&json!({"text": "x"}), &place).unwrap();
    let [ToolAccess::External { server, tool, rule_name, read_only: false, definition }] =
        &access[..]
    else {
        panic!("{access:?}")
    };
    assert_eq!((&**server, &**tool, &**rule_name), ("s", "echo", "mcp__s__echo"));
    let big = env.tool("mcp__s__big").access(&json!({}), &place).unwrap();
    let [ToolAccess::External { definition: other, .. }] = &big[..] else { panic!("{big:?}") };
    assert_ne!(definition, other);
    let error = echo.access(&json!({}), &place).unwrap_err().0;
    assert!(error.starts_with("Missing: text. The arguments have to match {"), "{error}");

    let (context, progress) = env.context();
    let output = echo.run(&context, json!({"text": "hi"})).await.unwrap();
    assert_eq!((&*output.observation, output.status), ("echo: hi", ToolStatus::Done));
    assert_eq!(*progress.0.lock().unwrap(), "1 half\n");
    let failed = env.call("mcp__s__second", json!(null)).await.unwrap();
    assert_eq!(failed.status, ToolStatus::Failed);
    assert_eq!(failed.observation, "[content of the unknown type \"hologram\"]");
    env.until("the error output is kept", || {
        env.servers.status()[0].error_output == "hello on standard error\n"
    })
    .await;
}

/// S97: a server gets four variables of slug's, and its own.
#[tokio::test]
async fn s97_a_program_gets_a_bare_environment_and_its_own_variables() {
    let env = McpTestEnv::started(Value::Null).await;
    let given = env.file("environment");
    assert!(given.contains("GIVEN=it's a $token\n"), "{given}");
    let names: Vec<&str> = given.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    let allowed = ["PATH", "HOME", "LANG", "TERM", "GIVEN", "PWD", "SHLVL", "_"];
    assert!(names.iter().all(|name| allowed.contains(name)), "{names:?}");
}

/// S64: whatever PATH has before it, a name means a program outside of the folder, and so do the names
/// in what it runs.
#[tokio::test]
async fn s64_a_program_given_by_name_is_never_the_folders_own() {
    let program = |path: &Path, text: &str| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    let outside = TempDir::new().unwrap();
    let hostile = "bin:.::sub/../bin";
    let own_path = format!("{hostile}:{}:/usr/bin:/bin", outside.path().display());
    for (source, keys) in [
        (McpDefinitionSource::User, json!({})),
        (McpDefinitionSource::Project, json!({})),
        (McpDefinitionSource::User, json!({"cwd": "bin"})),
        (McpDefinitionSource::User, json!({"cwd": "/"})),
        (McpDefinitionSource::User, json!({"env": {"PATH": own_path}})),
        (McpDefinitionSource::Project, json!({"env": {"PATH": own_path}, "cwd": "bin"})),
    ] {
        let folder = TempDir::new().unwrap();
        let real = folder.path().canonicalize().unwrap();
        let log = real.join("ran");
        let says = |word: &str| format!("#!/bin/bash\necho {word} >>'{}'\n", log.display());
        for name in ["tool", "bin/tool", "helper", "bin/helper", "mine", "bin/mine"] {
            program(&real.join(name), &says("the folder's"));
        }
        let server = format!("helper\nexec bash '{SERVER}' '{}'\n", real.display());
        program(&outside.path().join("tool"), &(says("tool") + &server));
        program(&outside.path().join("helper"), &says("helper"));
        let path = format!("{hostile}:{}/bin:{own_path}", real.display());
        let start = |command: &str| {
            let mut server = keys.clone();
            server["command"] = json!(command);
            let table = serde_json::Map::from_iter([("s".to_owned(), server)]);
            let definitions = McpDefinitions::read_table(&table, source, "a file");
            (definitions, OsString::from(&path))
        };
        let (definitions, search_path) = start("mine");
        let env =
            McpTestEnv::with_definitions(folder, TempDir::new().unwrap(), definitions, search_path);
        env.allow_all().await;
        let has_failed = || matches!(env.state(), McpServerState::Failed(_));
        env.until("it has failed", has_failed).await;
        let why = env.state().failure().unwrap();
        assert!(why.starts_with("No folder of PATH outside of this project has"), "{why}");
        let McpTestEnv { folder, home, .. } = env;
        let (definitions, search_path) = start("tool");
        let env = McpTestEnv::with_definitions(folder, home, definitions, search_path);
        env.allow_all().await;
        env.until("it is ready", || env.state() == McpServerState::Ready).await;
        assert_eq!(env.file("ran"), "tool\nhelper\n", "{source:?} {keys}");
    }
}

/// S66: a yes to a server covers the file that it runs, also while slug runs.
#[tokio::test]
async fn s66_a_server_whose_file_has_changed_is_not_started_again() {
    let folder = TempDir::new().unwrap();
    let text = format!("exec bash '{SERVER}' '{}'\n", folder.path().display());
    std::fs::write(folder.path().join("own.sh"), text).unwrap();
    let servers = json!({"s": {"command": "bash", "args": ["own.sh"]}});
    let env = McpTestEnv::in_folders(folder, TempDir::new().unwrap(), servers);
    env.allow_all().await;
    env.until("it is ready", || env.state() == McpServerState::Ready).await;
    let own = env.folder.path().join("own.sh");
    let text = std::fs::read_to_string(&own).unwrap();
    std::fs::write(&own, format!("touch changed\n{text}")).unwrap();
    let _ = env.call("mcp__s__die", json!({})).await.unwrap_err();
    let error = env.call("mcp__s__echo", json!({"text": "x"})).await.unwrap_err().0;
    assert!(error.contains("The user has not allowed it as it is now"), "{error}");
    assert!(!env.folder.path().join("changed").exists());
    let shown = env.servers.status()[0].start_question.clone().unwrap();
    assert!(shown.particulars.contains(&"a yes covers own.sh as it is now".into()), "{shown:?}");
    std::fs::write(&own, format!("touch changed again\n{text}")).unwrap();
    let error = env.servers.allow("s", shown.hash.clone()).await.unwrap_err();
    assert_eq!(error, "s has changed since it was shown. Look at it again.");
    env.until("it is shown anew", || {
        env.servers.status()[0].start_question.as_ref().is_some_and(|it| it.hash != shown.hash)
    })
    .await;
    env.allow_all().await;
    env.until("it is ready", || env.state() == McpServerState::Ready).await;
    assert!(env.folder.path().join("changed").exists());
}

/// S55: without a yes nothing of a project's servers starts.
#[tokio::test]
async fn s55_a_projects_server_needs_a_yes() {
    let env = McpTestEnv::new(Value::Null);
    env.servers.start();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!((env.state(), &*env.file("starts")), (McpServerState::NotAllowed, ""));
    env.allow_all().await;
    env.until("it is ready", || env.state() == McpServerState::Ready).await;
    let McpTestEnv { folder, home, servers, host, denied: _ } = env;
    drop((servers, host));
    let again = McpTestEnv::in_folders(folder, home, Value::Null);
    again.servers.start();
    again.until("the yes is kept", || again.state() == McpServerState::Ready).await;
}

#[tokio::test]
async fn a_killed_server_fails_its_call_and_is_started_for_the_next() {
    let env = McpTestEnv::started(Value::Null).await;
    let error = env.call("mcp__s__die", json!({})).await.unwrap_err().0;
    assert!(error.starts_with("The MCP server s: It has ended"), "{error}");
    let output = env.call("mcp__s__echo", json!({"text": "again"})).await.unwrap();
    assert_eq!(output.observation, "echo: again");
    assert_eq!(env.file("starts").matches("started").count(), 2);
    for _ in 0..2 {
        let _ = env.call("mcp__s__die", json!({})).await.unwrap_err();
    }
    let error = env.call("mcp__s__echo", json!({"text": "x"})).await.unwrap_err().0;
    assert!(error.contains("It has ended too often"), "{error}");
    assert_eq!(env.file("received").matches("\"name\":\"die\"").count(), 3, "none is repeated");
    env.servers.restart("s").await.unwrap();
    env.until("it runs again", || env.state() == McpServerState::Ready).await;
}

#[tokio::test]
async fn a_call_that_is_stopped_is_cancelled_on_the_server() {
    let env = McpTestEnv::started(Value::Null).await;
    let (context, _) = env.context();
    let tool = env.tool("mcp__s__hang");
    let stop = context.cancel.clone();
    let called = tokio::spawn(async move { tool.run(&context, json!({})).await });
    env.until("the call is there", || env.file("received").contains("\"name\":\"hang\"")).await;
    stop.cancel();
    assert_eq!(called.await.unwrap().unwrap().status, ToolStatus::Cancelled);
    env.until("the server is told", || env.file("received").contains("notifications/cancelled"))
        .await;
    let output = env.call("mcp__s__echo", json!({"text": "on"})).await.unwrap();
    assert_eq!(output.observation, "echo: on");
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("silent"), "").unwrap();
    let state = folder.path().to_str().unwrap();
    let servers = json!({"s": {"command": "bash", "args": [SERVER, state], "start_timeout": 1}});
    let env = McpTestEnv::in_folders(folder, TempDir::new().unwrap(), servers);
    env.allow_all().await;
    let failed = McpServerState::Failed("It did not answer within 1 seconds.".into());
    env.until("it is given up", || env.state() == failed).await;
}

#[tokio::test]
async fn a_missing_program_and_a_flood_fail_by_themselves() {
    let env = McpTestEnv::new(json!({
        "missing": {"command": "/nowhere/server"},
        "flood": {"command": "bash", "args": ["-c", "yes 'no message at all'"], "start_timeout": 1},
    }));
    env.allow_all().await;
    env.until("both have failed", || {
        let failed = |state: &McpServerState| matches!(state, McpServerState::Failed(_));
        env.servers.status().iter().all(|status| failed(&status.state))
    })
    .await;
    let status = env.servers.status();
    assert!(status[1].error_output.contains("/nowhere/server"), "{status:?}");
    assert_eq!(status[1].state, McpServerState::Failed("It has ended with status 127.".into()));
}

/// A server that sends without end, and reads no answer.
#[tokio::test]
async fn a_server_that_floods_with_requests_or_notifications_is_ended() {
    for message in [
        r#"{"jsonrpc":"2.0","id":"r","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"r","method":"sampling/createMessage","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":"r","method":"no/such"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
    ] {
        let env = McpTestEnv::started(Value::Null).await;
        std::fs::write(env.folder.path().join("flood"), message).unwrap();
        let error = env.call("mcp__s__hang", json!({})).await.unwrap_err().0;
        assert!(error.contains("It floods slug with messages or values"), "{message}: {error}");
        let state = env.state();
        assert!(matches!(state, McpServerState::Failed(_)), "{message}: {state:?}");
        let pid = env.file("flooding").trim().parse::<u32>().unwrap();
        // What has ended has no command line, even before anyone has asked how it ended.
        let words = || std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let running = || words().starts_with(b"yes");
        env.until("the program is ended", || !running()).await;
    }
}

#[tokio::test]
async fn a_huge_result_is_cut_and_kept() {
    let env = McpTestEnv::started(Value::Null).await;
    let output = env.call("mcp__s__big", json!({})).await.unwrap();
    assert!(output.observation.len() < 101_000, "{}", output.observation.len());
    let path = env.home.path().join("output");
    let note = format!("\n[100000 of 200000 bytes; the whole result is in {}]", path.display());
    assert!(output.observation.ends_with(&note));
    assert_eq!(std::fs::read(path).unwrap().len(), 200_000);
}

/// S93: a tool that changes its definition is not called before the user has accepted it.
#[tokio::test]
async fn s93_a_changed_tool_waits_for_the_user() {
    let env = McpTestEnv::started(Value::Null).await;
    env.call("mcp__s__change", json!({})).await.unwrap();
    env.until("the change is seen", || env.servers.status()[0].changed_tools == ["echo"]).await;
    let error = env.call("mcp__s__echo", json!({"text": "x"})).await.unwrap_err().0;
    assert!(error.contains("has changed the definition of this tool"), "{error}");
    env.call("mcp__s__second", json!({})).await.unwrap();
    let shown: Vec<_> = env.servers.status()[0].changed().cloned().collect();
    assert_eq!(shown[0].description, "second");
    std::fs::write(env.folder.path().join("description"), "third").unwrap();
    env.servers.restart("s").await.unwrap();
    env.until("the next change is seen", || {
        env.servers.status()[0].changed().all(|tool| tool.description == "third")
    })
    .await;
    env.servers.accept("s", shown).await.unwrap();
    let error = env.call("mcp__s__echo", json!({"text": "x"})).await.unwrap_err().0;
    assert!(error.contains("has changed the definition"), "only what was shown: {error}");
    let shown = env.servers.status()[0].changed().cloned().collect();
    env.servers.accept("s", shown).await.unwrap();
    assert_eq!(env.tool("mcp__s__echo").spec().description, "third");
    env.call("mcp__s__echo", json!({"text": "x"})).await.unwrap();
}

#[tokio::test]
async fn a_server_ends_with_its_session() {
    let env = McpTestEnv::started(Value::Null).await;
    let McpTestEnv { servers, folder, .. } = env;
    drop(servers);
    let began = Instant::now();
    let path = folder.path().to_str().unwrap().to_owned();
    let runs = || {
        let mut processes = std::fs::read_dir("/proc").unwrap().flatten();
        processes.any(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&path)
        })
    };
    if !Path::new("/proc/self/cmdline").exists() {
        return;
    }
    while runs() {
        assert!(began.elapsed() < WAIT_TIMEOUT, "it still runs");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A server over HTTP that answers each request with JSON, and wants a header.
async fn http_server() -> String {
    async fn answer(headers: HeaderMap, Json(request): Json<Value>) -> (StatusCode, Json<Value>) {
        if headers.get("x-key").is_none_or(|key| key != "k1") {
            return (StatusCode::FORBIDDEN, Json(json!({"error": "no key"})));
        }
        let result = match request["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "web", "version": "2"},
            }),
            "tools/list" => json!({"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}),
            "tools/call" => json!({"content": [{"type": "text", "text": "42"}]}),
            _ if request.get("id").is_none() => return (StatusCode::ACCEPTED, Json(Value::Null)),
            _ => {
                let error = json!({"code": -32601, "message": "method not found"});
                return (
                    StatusCode::OK,
                    Json(json!({"jsonrpc": "2.0", "id": request["id"], "error": error})),
                );
            }
        };
        (StatusCode::OK, Json(json!({"jsonrpc": "2.0", "id": request["id"], "result": result})))
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = axum::Router::new().route("/mcp", post(answer));
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    format!("http://{address}/mcp")
}

#[tokio::test]
async fn a_server_over_http_is_reached_with_its_headers() {
    let url = http_server().await;
    let env = McpTestEnv::started(json!({"web": {"url": url, "headers": {"X-Key": "k1"}}})).await;
    let output = env.call("mcp__web__add", json!({})).await.unwrap();
    assert_eq!(output.observation, "42");
    let refused = McpTestEnv::new(json!({"web": {"url": url}}));
    refused.allow_all().await;
    let is_failed =
        || !matches!(refused.state(), McpServerState::Starting | McpServerState::NotAllowed);
    refused.until("it has failed", is_failed).await;
    assert!(
        matches!(refused.state(), McpServerState::Failed(_) | McpServerState::NeedsLogin),
        "{:?}",
        refused.state()
    );
}

/// Servers of older revisions need not say that they do not know a request.
#[tokio::test]
async fn a_server_that_answers_what_it_does_not_know_is_reached_as_one_of_an_older_revision() {
    async fn answer(Json(request): Json<Value>) -> (StatusCode, Json<Value>) {
        let result = match request["method"].as_str().unwrap_or_default() {
            "initialize" => {
                assert_eq!(request["params"]["protocolVersion"], "2025-11-25");
                json!({
                    "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "lax", "version": "1"},
                })
            }
            "tools/list" => json!({"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}),
            _ if request.get("id").is_none() => return (StatusCode::ACCEPTED, Json(Value::Null)),
            _ => json!({}),
        };
        (StatusCode::OK, Json(json!({"jsonrpc": "2.0", "id": request["id"], "result": result})))
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let app = axum::Router::new().route("/mcp", post(answer));
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    let env = McpTestEnv::started(json!({"s": {"url": url}})).await;
    assert_eq!(env.servers.status()[0].implementation.as_deref(), Some("lax 1"));
    assert_eq!(env.servers.tools().len(), 1);
}

/// The library's own words name its types.
#[tokio::test]
async fn a_server_that_nobody_runs_is_said_to_be_out_of_reach() {
    let env = McpTestEnv::new(json!({"s": {"url": "http://127.0.0.1:1/mcp"}}));
    env.allow_all().await;
    env.until("it has failed", || matches!(env.state(), McpServerState::Failed(_))).await;
    let McpServerState::Failed(why) = env.state() else { unreachable!() };
    assert!(why.starts_with("It cannot be reached: Connection refused"), "{why}");
}
