//! Renames by a language server: completed, asked about with all files, applied as one step and undone.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use slug_code::agent::{AgentSetup, InitialSession, RewindDestination};
use slug_code::domain::{ApprovalAnswer, ContentHash, PermissionMode, ToolStatus};
use slug_code::session::{LogEntry, RewindScope, TurnOutcome};
use slug_code::tools::{
    CodeAnswer, CodeEdit, CodeFileEdits, CodeOperation, CodeQuery, FileChange, LanguageServerError,
    LanguageServers,
};

use super::fakes::{calls, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies};

/// Renames `total` in each of its files.
struct RenamingServers(Vec<PathBuf>);

#[async_trait]
impl LanguageServers for RenamingServers {
    fn take_late_findings(&self) -> Option<String> {
        None
    }

    fn covers(&self, _: &Path) -> bool {
        false
    }

    async fn ask(&self, query: &CodeQuery) -> Result<CodeAnswer, LanguageServerError> {
        assert_eq!(query.operation, CodeOperation::Rename);
        let edits = self.0.iter().map(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            let edit = |(start, _)| CodeEdit { start, end: start + 5, text: query.name.clone() };
            CodeFileEdits {
                path: path.clone(),
                content: ContentHash::of(text.as_bytes()),
                edits: text.match_indices("total").map(edit).collect(),
            }
        });
        Ok(CodeAnswer { edits: edits.collect(), ..CodeAnswer::default() })
    }

    async fn check_changes(&self, _: Vec<FileChange>) -> Option<String> {
        None
    }
}

fn rename(symbol: &str, new: &str, file: &str) -> Value {
    let input =
        json!({"operation": "rename", "file_path": file, "symbol": symbol, "new_name": new});
    json!({"tool": "Lsp", "input": input})
}

/// A fixture with ten files that use `total`, and their names.
fn ten_files(mode: PermissionMode) -> (AgentFixture, Vec<String>) {
    let fixture = AgentFixture::in_mode(mode);
    let names: Vec<String> = (0..10).map(|at| format!("f{at}.x")).collect();
    for name in &names {
        fixture.put(name, &format!("# 😀 {name}\r\ntotal = total\r\n"));
    }
    (fixture, names)
}

async fn open(fixture: &AgentFixture, names: &[String]) -> TestAgent {
    let paths = names.iter().map(|name| fixture.work.join(name)).collect();
    let setup = AgentSetup { code: Arc::new(RenamingServers(paths)), ..fixture.setup(Vec::new()) };
    fixture.open_setup(setup, InitialSession::New).await
}

fn texts(fixture: &AgentFixture, names: &[String]) -> Vec<String> {
    names.iter().map(|name| fixture.read(name)).collect()
}

/// Runs a turn with a rename that is approved, and goes back and forth over it. Returns its result.
pub(super) async fn rename_undo_redo(
    fixture: &AgentFixture,
    agent: &mut TestAgent,
    (names, call): (&[String], Value),
) -> String {
    let before = texts(fixture, names);
    queue_replies(fixture, [calls(&[("c1", "Call", call)]), words("Done.")]);
    agent.send("rename it").await;
    let question = agent.next_approval().await;
    let shown: Vec<&Path> = question.previews().map(|diff| diff.path.as_path()).collect();
    let wanted: Vec<PathBuf> = names.iter().map(|name| fixture.work.join(name)).collect();
    assert_eq!(shown, wanted.iter().map(PathBuf::as_path).collect::<Vec<_>>(), "all are shown");
    assert_eq!(texts(fixture, names), before, "nothing is written before the answer");
    agent.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let (told, status) = agent.result("c1");
    assert_eq!(status, ToolStatus::Done, "{told}");
    let after = texts(fixture, names);
    assert!(before.iter().zip(&after).all(|(before, after)| before != after));
    agent.go(RewindDestination::Last, RewindScope::Both).await;
    assert_eq!(texts(fixture, names), before, "one step takes all back");
    agent.go(RewindDestination::Redo, RewindScope::Both).await;
    assert_eq!(texts(fixture, names), after, "and one brings all again");
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rename_over_ten_files_is_shown_applied_undone_and_redone_as_one() {
    let (fixture, names) = ten_files(PermissionMode::Ask);
    let mut agent = open(&fixture, &names).await;
    let call = rename("total", "sum", "f0.x");
    let told = rename_undo_redo(&fixture, &mut agent, (&names, call)).await;
    assert!(told.starts_with("Renamed in 10 files (10 changed places):\nf0.x (+1 -1)\n"), "{told}");
    assert_eq!(fixture.read("f9.x"), "# 😀 f9.x\r\nsum = sum\r\n");
    let is_change = |entry: &LogEntry| matches!(entry, LogEntry::FileChange(_));
    let records = agent.records();
    assert!(records.iter().filter(|record| is_change(&record.entry)).count() >= 10);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changes_while_the_question_is_open_leaves_all_files_alone() {
    let (fixture, names) = ten_files(PermissionMode::Ask);
    let mut agent = open(&fixture, &names).await;
    let call = ("c1", "Call", rename("total", "sum", "f0.x"));
    queue_replies(&fixture, [calls(&[call]), words("Done.")]);
    agent.send("rename it").await;
    let question = agent.next_approval().await;
    fixture.put("f7.x", "total, by somebody else\n");
    let before = texts(&fixture, &names);
    agent.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let (told, status) = agent.result("c1");
    assert_eq!(status, ToolStatus::Failed);
    assert!(told.starts_with("f7.x has changed since the rename was computed."), "{told}");
    assert_eq!(texts(&fixture, &names), before);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_file_of_a_rename_passes_the_gate() {
    // A rule for one file, a protected place, and plan mode: none of the files is changed.
    for (deny, mode, other) in [
        (Some("Edit(f7.x)"), PermissionMode::Yolo, None),
        (Some("Read(f7.x)"), PermissionMode::Yolo, None),
        (None, PermissionMode::Plan, None),
        (None, PermissionMode::AllowEdits, Some(".git/hooks/a.x")),
        (None, PermissionMode::Yolo, Some("../outside.x")),
    ] {
        let (fixture, mut names) = ten_files(mode);
        let deny: Vec<&str> = deny.into_iter().collect();
        fixture.settings(&json!({"permissions": {"deny": deny}}));
        if let Some(other) = other {
            fixture.put(other, "total\n");
            names.push(other.to_owned());
        }
        let before = texts(&fixture, &names);
        let paths: Vec<String> = names.clone();
        let mut agent = open(&fixture, &paths).await;
        let call = ("c1", "Call", rename("total", "sum", "f0.x"));
        queue_replies(&fixture, [calls(&[call]), words("Done.")]);
        agent.send("rename it").await;
        if other == Some(".git/hooks/a.x") {
            let question = agent.next_approval().await;
            assert_eq!(question.previews().count(), 11, "asked though edits are allowed");
            agent.answer(&question, ApprovalAnswer::Deny { instruction: None }).await;
        }
        assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
        let (told, status) = agent.result("c1");
        assert_ne!(status, ToolStatus::Done, "{deny:?} {mode:?} {other:?}: {told}");
        assert_eq!(texts(&fixture, &names), before, "{deny:?} {mode:?} {other:?}: {told}");
        agent.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_renames_in_one_response_follow_each_other() {
    let (fixture, names) = ten_files(PermissionMode::Yolo);
    let mut agent = open(&fixture, &names).await;
    let first = ("c1", "Call", rename("total", "total_sum", "f0.x"));
    let second = ("c2", "Call", rename("total_sum", "other", "f0.x"));
    queue_replies(&fixture, [calls(&[first, second]), words("Done.")]);
    assert_eq!(agent.turn("rename it").await, TurnOutcome::Answered);
    for id in ["c1", "c2"] {
        assert_eq!(agent.result(id).1, ToolStatus::Done, "{:?}", agent.result(id));
    }
    assert_eq!(fixture.read("f3.x"), "# 😀 f3.x\r\nother_sum = other_sum\r\n");
    agent.close().await;
}
