//! Language servers as real programs: a scripted one (`tests/lsp/server.sh`).

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use slug_code::lsp::{LspDefinitions, LspInstallState, LspPorts, LspServers, survey_servers};
use slug_code::platform::environment::EnvironmentRules;
use slug_code::platform::server_program::ServerProgramSearch;
use slug_code::tools::{
    CodeOperation, CodePosition, CodeQuery, FileChange, LanguageServerError, LanguageServers,
};
use tempfile::TempDir;

use super::support::process_host::process_host;

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lsp/server.sh");

/// The longest that a test waits for anything.
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

struct LspProgramEnv {
    folder: TempDir,
    servers: LspServers,
}

impl LspProgramEnv {
    /// A folder with a server for files that end in `.x`.
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let state = folder.path().to_str().unwrap().to_owned();
        let keys = json!({"scripted": {"command": "bash", "args": [SERVER, state],
            "extensions": ["x"], "env": {"GIVEN": "it's a $token"}}});
        Self::with(folder, LspDefinitions::read(keys.as_object().unwrap(), None))
    }

    fn with(folder: TempDir, definitions: LspDefinitions) -> Self {
        let servers = servers_in(folder.path(), definitions);
        Self { folder, servers }
    }

    fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().canonicalize().unwrap().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    async fn ask(
        &self,
        operation: CodeOperation,
        path: &Path,
        (text, line): (&str, usize),
    ) -> Result<Vec<String>, LanguageServerError> {
        let query = CodeQuery {
            operation,
            path: Some(path.to_owned()),
            text: text.into(),
            position: CodePosition { line, byte: 0 },
            name: String::new(),
        };
        let answer = self.servers.ask(&query).await?;
        let text = Some(answer.text).filter(|text| !text.is_empty());
        let items = answer.items.into_iter().map(|it| format!("{} {}", it.line, it.label));
        Ok(text.into_iter().chain(items).collect())
    }
}

fn ports_in(workspace: &Path) -> LspPorts {
    let variables = std::env::vars_os().chain([("SLUG_TEST_SECRET".into(), "s3cr3t".into())]);
    LspPorts {
        processes: Arc::new(process_host(variables, &EnvironmentRules::default())),
        programs: ServerProgramSearch {
            path: std::env::var_os("PATH").unwrap(),
            project: workspace.to_owned(),
        },
        memory_limit: 4 << 30,
        idle_limit: WAIT_TIMEOUT,
    }
}

/// The servers of a folder, as programs.
pub(super) fn servers_in(folder: &Path, definitions: LspDefinitions) -> LspServers {
    assert_eq!(definitions.problems, Vec::<String>::new());
    let workspace = folder.canonicalize().unwrap();
    let ports = ports_in(&workspace);
    LspServers::new(definitions.servers, workspace, ports, WAIT_TIMEOUT)
}

#[tokio::test]
async fn a_program_is_started_asked_and_told_of_changes() {
    let env = LspProgramEnv::new();
    let path = env.put("a.x", "one\n");
    let found = env.ask(CodeOperation::Diagnostics, &path, ("one\n", 0)).await.unwrap();
    assert_eq!(found, ["1 error (scripted): version 1"]);
    let change = FileChange { path, before: Some("one\n".into()), after: "two\n".into() };
    std::fs::write(&change.path, "two\n").unwrap();
    let new = env.servers.check_changes(vec![change]).await.unwrap();
    assert!(new.ends_with("1: error (scripted): version 2"), "{new}");
}

/// S97: a server gets few variables of slug's, and its own.
#[tokio::test]
async fn s97_a_language_server_gets_a_bare_environment() {
    let env = LspProgramEnv::new();
    let path = env.put("a.x", "");
    env.ask(CodeOperation::Diagnostics, &path, ("", 0)).await.unwrap();
    let given = std::fs::read_to_string(env.folder.path().join("environment")).unwrap();
    assert!(given.contains("GIVEN=it's a $token\n") && !given.contains("s3cr3t"), "{given}");
}

/// As rustup's proxy without the component does.
#[tokio::test]
async fn what_a_program_says_before_it_ends_at_once_is_told() {
    let folder = TempDir::new().unwrap();
    let keys = json!({"proxy": {"command": "bash",
        "args": ["-c", "echo 'Unknown binary' >&2; exit 1"], "extensions": ["x"]}});
    let env = LspProgramEnv::with(folder, LspDefinitions::read(keys.as_object().unwrap(), None));
    let path = env.put("a.x", "");
    let error = env.ask(CodeOperation::Hover, &path, ("", 0)).await.unwrap_err();
    let start = "The language server proxy ended at once";
    assert!(error.0.starts_with(start) && error.0.contains("may not be installed"), "{error}");
}

#[tokio::test]
async fn a_survey_says_which_servers_are_there_and_which_run() {
    let (folder, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let workspace = folder.path().canonicalize().unwrap();
    let mut definitions = serde_json::Map::new();
    for (name, script) in [
        ("told", "[ \"$1\" = --version ] && pwd >\"$0.where\" && echo told 1.2.3"),
        ("broken", "echo 'error: the component is not installed' >&2; exit 1"),
        ("crashed", "echo /usr/lib/node-20.1/server.js:7 >&2; exit 1"),
        ("serving", "exec cat"),
    ] {
        let program = elsewhere.path().join(name);
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        definitions.insert(name.into(), json!({"command": program, "extensions": [name]}));
    }
    definitions
        .insert("gone".into(), json!({"command": "no-such-program", "extensions": ["gone"]}));
    let names = ["told", "broken", "crashed", "serving", "gone"];
    let files = names.map(|name| workspace.join(format!("a.{name}"))).to_vec();
    let definitions = LspDefinitions::read(&definitions, None).servers;
    let rows = survey_servers(definitions, &workspace, files, &ports_in(&workspace)).await;
    let state = |name: &str| rows.iter().find(|row| row.server == name).unwrap().state.clone();
    assert_eq!(state("told"), LspInstallState::Installed(Some("told 1.2.3".into())));
    let why = "error: the component is not installed";
    assert_eq!(state("broken"), LspInstallState::Broken(why.into()));
    assert_eq!(state("crashed"), LspInstallState::Installed(None));
    assert_eq!(state("serving"), LspInstallState::Installed(None));
    assert!(matches!(state("gone"), LspInstallState::Missing(_)));
    let place = std::fs::read_to_string(elsewhere.path().join("told.where")).unwrap();
    assert_eq!(place, "/\n", "nothing of the folder takes part");
}
