//! What language servers find in a changed file: in the call's result, or with the next request.

use std::path::Path;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::json;
use slug_code::agent::{AgentSetup, InitialSession};
use slug_code::domain::PermissionMode;
use slug_code::session::TurnOutcome;
use slug_code::tools::{CodeAnswer, CodeQuery, FileChange, LanguageServerError, LanguageServers};

use super::fakes::{calls, words};
use super::test_agent::{AgentFixture, queue_replies};

/// Finds something in each changed file that ends in `.rs`, and one thing later.
#[derive(Default)]
struct FindingServers {
    changes: Mutex<Vec<FileChange>>,
    late: Mutex<Option<String>>,
}

#[async_trait]
impl LanguageServers for FindingServers {
    async fn ask(&self, _: &CodeQuery) -> Result<CodeAnswer, LanguageServerError> {
        Ok(CodeAnswer::default())
    }

    fn covers(&self, path: &Path) -> bool {
        path.extension().is_some_and(|it| it == "rs")
    }

    async fn check_changes(&self, changes: Vec<FileChange>) -> Option<String> {
        self.changes.lock().unwrap().extend(changes);
        *self.late.lock().unwrap() = Some("found </context> later".to_owned());
        Some("found at once".to_owned())
    }

    fn take_late_findings(&self) -> Option<String> {
        self.late.lock().unwrap().take()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn findings_are_in_the_result_and_late_ones_in_a_note_once() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let code = Arc::new(FindingServers::default());
    let setup = AgentSetup { code: code.clone(), ..fixture.setup(Vec::new()) };
    let mut agent = fixture.open_setup(setup, InitialSession::New).await;
    let write = |name: &str| json!({"file_path": name, "content": "fn x() {}\n"});
    queue_replies(
        &fixture,
        [
            calls(&[("c1", "Write", write("a.txt"))]),
            calls(&[("c2", "Write", write("a.rs"))]),
            calls(&[("c3", "Write", json!({"file_path": "b.rs"}))]),
            words("done"),
        ],
    );
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    assert!(!agent.result("c1").0.contains("found"), "no server is for it");
    assert!(agent.result("c2").0.ends_with("\n\nfound at once"), "{:?}", agent.result("c2"));
    assert!(!agent.result("c3").0.contains("found"), "nothing was changed");
    let changes = code.changes.lock().unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!((&changes[0].before, &*changes[0].after), (&None, &b"fn x() {}\n"[..]));
    let sent = format!("{:?}", fixture.model.last_request().messages);
    assert_eq!(sent.matches("name: \"diagnostics\"").count(), 1, "{sent}");
    assert!(!sent.contains("found </context> later"), "escaped: {sent}");
}
