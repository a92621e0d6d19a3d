//! What a formatter makes of the changes of a turn.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use slug_code::agent::{AgentSetup, InitialSession, RewindDestination};
use slug_code::domain::{ApprovalAnswer, PermissionMode, ToolStatus};
use slug_code::session::{LogEntry, RewindScope, TurnOutcome};
use slug_code::tools::{FormatRequest, FormatResult, TextFormatter};

use super::fakes::{calls, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies};

/// A formatter that writes everything in capitals.
struct CapitalsFormatter;

#[async_trait]
impl TextFormatter for CapitalsFormatter {
    async fn format(&self, request: FormatRequest) -> FormatResult {
        if request.is_changed_again {
            return FormatResult::NotConfigured;
        }
        FormatResult::Formatted { by: "capitals".into(), text: request.after.to_uppercase() }
    }
}

async fn open(fixture: &AgentFixture) -> TestAgent {
    let setup = AgentSetup { formatter: Arc::new(CapitalsFormatter), ..fixture.setup(Vec::new()) };
    fixture.open_setup(setup, InitialSession::New).await
}

fn edit(id: &'static str, old: &str, new: &str) -> (&'static str, &'static str, Value) {
    (id, "Edit", json!({"file_path": "f", "old_string": old, "new_string": new}))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_formatted_change_is_shown_and_taken_back_as_one() {
    let fixture = AgentFixture::new();
    fixture.put("f", "one\ntwo\n");
    let mut agent = open(&fixture).await;
    queue_replies(&fixture, [calls(&[edit("c1", "two", "three")]), words("Done.")]);
    agent.send("go").await;
    let question = agent.next_approval().await;
    let shown = question.preview.clone().unwrap();
    assert_eq!((shown.added, shown.formatted_by.as_deref()), (2, Some("capitals")));
    agent.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(fixture.read("f"), "ONE\nTHREE\n");
    let is_change = |entry: &LogEntry| matches!(entry, LogEntry::FileChange(_));
    let records = agent.records();
    assert_eq!(records.iter().filter(|record| is_change(&record.entry)).count(), 1);
    agent.go(RewindDestination::Last, RewindScope::Both).await;
    assert_eq!(fixture.read("f"), "one\ntwo\n");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_edits_of_a_file_in_one_response_the_last_is_formatted() {
    let fixture = AgentFixture::in_mode(PermissionMode::AllowEdits);
    fixture.put("f", "one\ntwo\nthree\n");
    let mut agent = open(&fixture).await;
    let edits = [edit("c1", "one", "1"), edit("c2", "two", "2"), edit("c3", "three", "drei")];
    queue_replies(&fixture, [calls(&edits), words("Done.")]);
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    for id in ["c1", "c2", "c3"] {
        let (told, status) = agent.result(id);
        assert_eq!((status, told.contains("capitals")), (ToolStatus::Done, id == "c3"), "{told}");
    }
    assert_eq!(fixture.read("f"), "1\n2\nDREI\n");
    agent.close().await;
}
