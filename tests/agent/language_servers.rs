//! The whole way from a call to a published language server and back: findings after an edit, definition,
//! references, and a rename over ten files that is undone and redone. `tests/lsp/servers.sh` installs the
//! servers and runs these tests, which are not part of `cargo test`.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use slug_code::agent::{AgentSetup, InitialSession};
use slug_code::domain::ToolStatus;
use slug_code::lsp::{LspDefinitions, LspServers};
use slug_code::session::TurnOutcome;
use slug_code::tools::{CodeOperation, CodePosition, CodeQuery, LanguageServers};

use crate::lsp::servers_in;

use super::fakes::{calls, words};
use super::rename::rename_undo_redo;
use super::test_agent::{AgentFixture, TestAgent, queue_replies};

/// How long a server may take until it knows all files.
const INDEX_TIMEOUT: Duration = Duration::from_secs(120);

/// Ten files of a language, the first of which defines what the others use.
struct ServerProof {
    ending: &'static str,
    first: &'static str,
    /// `{at}` is the number of the file.
    others: &'static str,
    /// Files beside them.
    beside: &'static [(&'static str, &'static str)],
    /// What an edit replaces, by what, and what is found then.
    mistake: (&'static str, &'static str, &'static str),
    /// The definition of servers in the configuration.
    definitions: Value,
}

const PYTHON_FIRST: &str = "def total(a: int) -> int:\n    return a\n";
const PYTHON_OTHERS: &str = "from f0 import total\r\n\r\n\r\nprint(\"😀\", total({at}))\r\n";
const TS_FIRST: &str = "export function total(a: number): number {\n  return a;\n}\n";
const TS_OTHERS: &str =
    "import { total } from \"./f0\";\r\nexport const n{at} = [\"😀\", total({at})];\r\n";
const TS_CONFIG: &str = "{\"compilerOptions\": {\"strict\": true, \"module\": \"commonjs\"}}";
const C_FIRST: &str = "int total(int a) { return a; }\n";
const C_OTHERS: &str = "int total(int a);\r\nint n{at}(void) { /* 😀 */ return total({at}); }\r\n";

/// The proof of both servers for TypeScript.
fn typescript(definitions: Value) -> ServerProof {
    ServerProof {
        ending: "ts",
        first: TS_FIRST,
        others: TS_OTHERS,
        beside: &[("tsconfig.json", TS_CONFIG)],
        mistake: ("(1)", "(\"x\")", "not assignable"),
        definitions,
    }
}

impl ServerProof {
    async fn open(&self) -> (AgentFixture, Vec<String>, Arc<LspServers>, TestAgent) {
        let fixture = AgentFixture::new();
        let names: Vec<String> = (0..10).map(|at| format!("f{at}.{}", self.ending)).collect();
        for (at, name) in names.iter().enumerate() {
            let text = if at == 0 { self.first } else { self.others };
            fixture.put(name, &text.replace("{at}", &at.to_string()));
        }
        for (name, text) in self.beside {
            fixture.put(name, text);
        }
        if self.ending == "c" {
            let commands: Vec<Value> = names
                .iter()
                .map(|name| json!({"directory": fixture.work, "file": name, "command": format!("cc -c {name}")}))
                .collect();
            fixture.put("compile_commands.json", &Value::from(commands).to_string());
        }
        let definitions = LspDefinitions::read(self.definitions.as_object().unwrap(), None);
        let servers = Arc::new(servers_in(&fixture.work, definitions));
        let setup = AgentSetup { code: servers.clone(), ..fixture.setup(Vec::new()) };
        let agent = fixture.open_setup(setup, InitialSession::New).await;
        (fixture, names, servers, agent)
    }

    /// Asks until the server knows this many places of `total`.
    async fn wait_until_known(&self, fixture: &AgentFixture, servers: &LspServers, count: usize) {
        let path = fixture.work.join(format!("f0.{}", self.ending));
        let text = fixture.read(&format!("f0.{}", self.ending));
        let mut lines = text.lines().enumerate();
        let (line, byte) = lines.find_map(|(at, text)| Some((at, text.find("total")?))).unwrap();
        let query = CodeQuery {
            operation: CodeOperation::References,
            path: Some(path),
            text: text.into(),
            position: CodePosition { line, byte },
            name: String::new(),
        };
        let known = tokio::time::timeout(INDEX_TIMEOUT, async {
            while servers.ask(&query).await.unwrap().items.len() < count {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        known.await.expect("the server does not know all files");
    }

    async fn find_and_edit(&self, agent: &mut TestAgent, fixture: &AgentFixture) {
        let (old, new, finding) = self.mistake;
        let name = format!("f1.{}", self.ending);
        let edit = json!({"file_path": name, "old_string": old, "new_string": new});
        let diagnostics = json!({"operation": "diagnostics", "file_path": name});
        queue_replies(
            fixture,
            [
                calls(&[("warm", "Call", json!({"tool": "Lsp", "input": diagnostics}))]),
                calls(&[("read", "Read", json!({"file_path": name}))]),
                calls(&[("edit", "Edit", edit)]),
                words("Done."),
            ],
        );
        agent.send("edit it").await;
        let question = agent.next_approval().await;
        agent.answer(&question, slug_code::domain::ApprovalAnswer::Once).await;
        assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
        let (told, status) = agent.result("edit");
        eprintln!("--- edit\n{told}");
        assert_eq!(status, ToolStatus::Done, "{told}");
        assert!(told.contains("New diagnostics") && told.contains(finding), "{told}");
    }

    async fn ask(&self, agent: &mut TestAgent, fixture: &AgentFixture, operation: &str) -> String {
        let input = json!({"operation": operation, "file_path": format!("f1.{}", self.ending), "symbol": "total"});
        let id = format!("ask {operation}");
        queue_replies(
            fixture,
            [calls(&[(&*id, "Call", json!({"tool": "Lsp", "input": input}))]), words("Done.")],
        );
        assert_eq!(agent.turn("ask it").await, TurnOutcome::Answered);
        let (told, status) = agent.result(&id);
        eprintln!("--- {operation}\n{told}");
        assert_eq!(status, ToolStatus::Done, "{told}");
        told
    }

    /// `uses` is how many places the server has to know before it is asked.
    async fn prove_all(&self, uses: usize) {
        let (fixture, names, servers, mut agent) = self.open().await;
        self.wait_until_known(&fixture, &servers, uses).await;
        let found = self.ask(&mut agent, &fixture, "definition").await;
        assert!(found.contains("f0."), "{found}");
        let found = self.ask(&mut agent, &fixture, "references").await;
        assert!(names.iter().all(|name| found.contains(name.as_str())), "{found}");
        let input = json!({"operation": "rename", "file_path": names[0], "symbol": "total", "new_name": "sum_of"});
        let call = json!({"tool": "Lsp", "input": input});
        let told = rename_undo_redo(&fixture, &mut agent, (&names, call)).await;
        eprintln!("--- rename\n{told}");
        assert!(!told.contains("New diagnostics"), "a rename breaks nothing: {told}");
        for name in &names {
            let text = fixture.read(name);
            assert!(text.contains("sum_of") && !text.contains("total"), "{text:?}");
            assert_eq!(
                text.matches("\r\n").count(),
                text.matches("\n").count() * usize::from(*name != names[0])
            );
        }
        self.find_and_edit(&mut agent, &fixture).await;
        agent.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs pyright-langserver in PATH"]
async fn pyright_renames_over_ten_files() {
    let proof = ServerProof {
        ending: "py",
        first: PYTHON_FIRST,
        others: PYTHON_OTHERS,
        beside: &[],
        mistake: ("(1)", "(\"x\")", "reportArgumentType"),
        definitions: json!({}),
    };
    proof.prove_all(19).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs typescript-language-server in PATH"]
async fn typescript_language_server_renames_over_ten_files() {
    typescript(json!({})).prove_all(19).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs TypeScript 7 at SLUG_TYPESCRIPT_7"]
async fn typescript_7_renames_over_ten_files() {
    let program = std::env::var("SLUG_TYPESCRIPT_7").unwrap();
    let definitions = json!({
        "typescript": {"disabled": true},
        "tsgo": {"command": [program, "--lsp", "--stdio"], "extensions": [".ts"],
                 "markers": ["tsconfig.json"]},
    });
    typescript(definitions).prove_all(19).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs clangd in PATH"]
async fn clangd_renames_over_ten_files() {
    let proof = ServerProof {
        ending: "c",
        first: C_FIRST,
        others: C_OTHERS,
        beside: &[],
        mistake: ("(1)", "(nothing)", "nothing"),
        definitions: json!({}),
    };
    proof.prove_all(19).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs bash-language-server and shellcheck in PATH"]
async fn bash_language_server_finds_mistakes_and_definitions() {
    let script = "#!/bin/bash\ntotal() { echo \"$1\"; }\ntotal 1\n";
    let proof = ServerProof {
        ending: "sh",
        first: script,
        others: script,
        beside: &[],
        mistake: ("total 1", "cd /nowhere", "SC2164"),
        definitions: json!({}),
    };
    let (fixture, _, servers, mut agent) = proof.open().await;
    // It answers before it has read anything.
    proof.wait_until_known(&fixture, &servers, 2).await;
    assert!(proof.ask(&mut agent, &fixture, "definition").await.contains("f1.sh:2"));
    assert!(proof.ask(&mut agent, &fixture, "references").await.contains("f1.sh:3"));
    proof.find_and_edit(&mut agent, &fixture).await;
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs yaml-language-server in PATH"]
async fn yaml_language_server_finds_mistakes() {
    let proof = ServerProof {
        ending: "yaml",
        first: "total: &total 1\nuse: *total\n",
        others: "total: &total 1\nuse: *total\n",
        beside: &[],
        mistake: ("use: *total", "total: 2", "unique"),
        definitions: json!({}),
    };
    let (fixture, _, _, mut agent) = proof.open().await;
    proof.find_and_edit(&mut agent, &fixture).await;
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs ruff in PATH"]
async fn ruff_finds_mistakes() {
    let proof = ServerProof {
        ending: "py",
        first: PYTHON_FIRST,
        others: PYTHON_OTHERS,
        beside: &[("ruff.toml", "")],
        mistake: ("print(", "import os\r\nprint(", "F401"),
        definitions: json!({"pyright": {"disabled": true}, "basedpyright": {"disabled": true}, "ty": {"disabled": true}}),
    };
    let (fixture, _, _, mut agent) = proof.open().await;
    proof.find_and_edit(&mut agent, &fixture).await;
    agent.close().await;
}
