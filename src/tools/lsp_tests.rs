//! The Lsp tool with servers that answer as they are told.

use std::path::Path;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::json;

use super::lsp::LspTool;
use super::testing::ToolTestEnv;
use super::{
    CodeAnswer, CodeItem, CodeOperation, CodePlace, CodePosition, CodeQuery, FileChange,
    LanguageServerError, LanguageServers, Tool, WorkingDirectory,
};
use crate::domain::ToolAccess;

/// Answers each question with the same, and remembers the last.
pub(super) struct ScriptedCode {
    pub(super) answer: Result<CodeAnswer, LanguageServerError>,
    pub(super) asked: Mutex<Option<CodeQuery>>,
}

#[async_trait]
impl LanguageServers for ScriptedCode {
    async fn ask(&self, query: &CodeQuery) -> Result<CodeAnswer, LanguageServerError> {
        *self.asked.lock().unwrap() = Some(query.clone());
        self.answer.clone()
    }
    fn covers(&self, _: &Path) -> bool {
        true
    }
    async fn check_changes(&self, _: Vec<FileChange>) -> Option<String> {
        None
    }
    fn take_late_findings(&self) -> Option<String> {
        None
    }
}

fn env_with(answer: CodeAnswer) -> (ToolTestEnv, Arc<ScriptedCode>) {
    let mut env = ToolTestEnv::new();
    let code = Arc::new(ScriptedCode { answer: Ok(answer), asked: Mutex::default() });
    env.context.code = code.clone();
    (env, code)
}

fn item(place: CodePlace, line: u64, label: &str) -> CodeItem {
    CodeItem { place, line, label: label.into(), depth: 0 }
}

#[tokio::test]
async fn places_are_shown_with_their_lines() {
    let (env, _) = env_with(CodeAnswer::default());
    let at = |name: &str, line| item(CodePlace::File(env.path(name)), line, "");
    let items = vec![
        at("a.rs", 2),
        at("b/c.rs", 1),
        at("target/x.rs", 1),
        at("secret.rs", 1),
        at("alias.rs", 1),
        item(CodePlace::File("/usr/lib/l.rs".into()), 7, ""),
        item(CodePlace::Foreign("jdt://x".into()), 3, ""),
    ];
    let notes = vec!["still loading".to_owned()];
    let (env2, code) = env_with(CodeAnswer { items, notes, ..CodeAnswer::default() });
    let mut env = env;
    env.context.code = env2.context.code.clone();
    env.put(".gitignore", "target\n");
    env.put("a.rs", "fn one() {}\n    let \u{1b}[1m= total;\n");
    env.put("b/c.rs", "total()\n");
    env.put("target/x.rs", "built\n");
    env.put("secret.rs", "hidden\n");
    std::os::unix::fs::symlink("secret.rs", env.path("alias.rs")).unwrap();
    let call =
        json!({"operation": "findReferences", "filePath": "a.rs", "name": "total", "line": 1});
    let output = env.run(&LspTool, call).await.unwrap();
    assert_eq!(
        output.observation,
        "a.rs:2: let ␛[1m= total;\nb/c.rs:1: total()\n/usr/lib/l.rs:7\njdt://x:3\n[still loading]\n\
         [`total` taken from line 2.]\n[3 results in ignored or hidden files left out.]"
    );
    let asked = code.asked.lock().unwrap().take().unwrap();
    assert_eq!(asked.operation, CodeOperation::References);
    assert_eq!(asked.position, CodePosition { line: 1, byte: 14 });
}

#[tokio::test]
async fn long_answers_are_cut_and_counted() {
    let path = Path::new("/elsewhere/a.rs");
    let items = (1..=60).map(|at| item(CodePlace::File(path.into()), at, "")).collect();
    let (env, _) = env_with(CodeAnswer { items, ..CodeAnswer::default() });
    env.put("a.rs", "x\n");
    let call = json!({"operation": "definition", "file_path": "a.rs", "symbol": "x"});
    let output = env.run(&LspTool, call).await.unwrap();
    assert_eq!(output.observation.lines().count(), 51);
    assert!(output.observation.ends_with("… and 10 more"), "{}", output.observation);
}

#[tokio::test]
async fn a_symbol_is_found_near_its_line_as_a_word_of_its_own() {
    let (env, code) = env_with(CodeAnswer { text: "fn x".into(), ..CodeAnswer::default() });
    env.put("a.rs", "\u{feff}totals total\n\nä.total()\n\n\ntotal\n");
    for (call, line, byte) in [
        (json!({"symbol": "total"}), 0, 7),
        (json!({"symbol": "total", "line": "3"}), 2, 3),
        (json!({"symbol": "Cart::total()", "line": 99}), 5, 0),
        (json!({"line": 3, "character": 3}), 2, 3),
        (json!({"line": 3, "character": 300}), 2, 10),
    ] {
        let mut call = call;
        call["operation"] = "hover".into();
        call["file_path"] = "a.rs".into();
        env.run(&LspTool, call.clone()).await.unwrap();
        let asked = code.asked.lock().unwrap().take().unwrap();
        assert_eq!(asked.position, CodePosition { line, byte }, "{call}");
        assert!(!asked.text.starts_with('\u{feff}'));
    }
}

#[tokio::test]
async fn what_cannot_be_asked_is_said_before_a_server_starts() {
    let (env, code) = env_with(CodeAnswer::default());
    env.put("a.rs", "x\n");
    env.put("bin.rs", b"\xff\xfe");
    env.fifo("fifo.rs");
    for (call, part) in [
        (
            json!({"operation": "fix", "file_path": "a.rs"}),
            "must be one of diagnostics, definition",
        ),
        (json!({"operation": "hover"}), "`file_path` is missing"),
        (json!({"operation": "hover", "file_path": "a.rs"}), "`symbol` is missing"),
        (json!({"operation": "hover", "file_path": "a.rs", "line": 4}), "`symbol` is missing"),
        (json!({"operation": "workspaceSymbols"}), "`query` is missing"),
        (
            json!({"operation": "hover", "file_path": "a.rs", "symbol": "y"}),
            "`y` is not in the file",
        ),
        (
            json!({"operation": "hover", "file_path": "a.rs", "line": 9, "character": 1}),
            "the file has only 1 line",
        ),
        (json!({"operation": "diagnostics", "file_path": "none.rs"}), "none.rs is not there"),
        (json!({"operation": "diagnostics", "file_path": "bin.rs"}), "bin.rs is no UTF-8 text"),
        (json!({"operation": "diagnostics", "file_path": "fifo.rs"}), "is no regular file"),
    ] {
        let error = env.run(&LspTool, call.clone()).await.unwrap_err().0;
        assert!(error.contains(part), "{call}: {error}");
    }
    assert_eq!(*code.asked.lock().unwrap(), None);
}

#[tokio::test]
async fn nothing_found_and_a_failure_are_said() {
    let (mut env, _) = env_with(CodeAnswer::default());
    env.put("a.rs", "x\n");
    let call = json!({"operation": "diagnostics", "file_path": "a.rs"});
    let output = env.run(&LspTool, call.clone()).await.unwrap();
    assert_eq!(output.observation, "The language server finds nothing wrong in this file.");
    let answer = Err(LanguageServerError("It is not installed.".into()));
    env.context.code = Arc::new(ScriptedCode { answer, asked: Mutex::default() });
    let error = env.run(&LspTool, call.clone()).await.unwrap_err().0;
    assert_eq!(error, "It is not installed.");
    env.context.cancel.cancel();
    let stopped = env.run(&LspTool, call).await.unwrap();
    assert_eq!(stopped.observation, "Stopped by the user.");
}

#[test]
fn a_call_reads_the_file_and_the_folder_and_is_named_by_what_it_asks() {
    let place = WorkingDirectory { cwd: "/w".into(), home: None };
    let call = json!({"operation": "goToDefinition", "file_path": "a.rs", "symbol": "total"});
    let reads = ["/w/a.rs", "/w"].map(|path| ToolAccess::Read(path.into()));
    assert_eq!(LspTool.access(&call, &place), Ok(reads.to_vec()));
    assert_eq!(LspTool.call_title(&call, Path::new("/w")), "definition total a.rs");
}
