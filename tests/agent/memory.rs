//! `/memory` and the `#` line, from the request to what the model is sent.

use std::os::unix::fs::{PermissionsExt, symlink};

use slug_code::agent::{AgentCommand, AgentEvent, InitialSession, MemoryReply, MemoryRequest};
use slug_code::context::{InstructionState, RememberLevel};

use super::fakes::words;
use super::test_agent::{AgentFixture, TestAgent, queue_replies};

impl TestAgent {
    async fn memory(&mut self, request: MemoryRequest) -> MemoryReply {
        self.tell(AgentCommand::Memory(request)).await;
        let event = self.wait_for("files", |it| matches!(it, AgentEvent::Memory(_))).await;
        let AgentEvent::Memory(reply) = event else { panic!("{event:?}") };
        *reply
    }

    /// Remembers a line, and returns the notice that says what came of it.
    async fn remember(&mut self, level: RememberLevel, typed: &str) -> String {
        let typed = typed.to_owned();
        self.tell(AgentCommand::Memory(MemoryRequest::Remember { level, typed })).await;
        let event = self.wait_for("a notice", |it| matches!(it, AgentEvent::Notice { .. })).await;
        let AgentEvent::Notice { text, .. } = event else { panic!("{event:?}") };
        text
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_remembered_line_goes_out_with_the_next_message() {
    let fixture = AgentFixture::new();
    fixture.put("SLUG.md", "# Rules\n");
    let mode = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(fixture.work.join("SLUG.md"), mode).unwrap();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [words("one"), words("two")]);
    agent.turn("first").await;
    let told = agent.remember(RememberLevel::Project, "# use tabs").await;
    assert!(told.starts_with("Remembered in SLUG.md: - use tabs"), "{told}");
    let told = agent.remember(RememberLevel::User, "#be brief").await;
    assert!(told.contains("- be brief"), "{told}");
    agent.turn("second").await;
    agent.close().await;
    let requests = fixture.model.requests();
    assert!(!requests[0].system.contains("tabs"));
    assert!(requests[1].system.contains("# Rules\n\n- use tabs"), "{}", requests[1].system);
    assert!(requests[1].system.contains("- be brief"));
    assert_eq!(fixture.read("SLUG.md"), "# Rules\n\n- use tabs\n");
    let mode = std::fs::metadata(fixture.work.join("SLUG.md")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_written_says_what_to_do() {
    let fixture = AgentFixture::new();
    let outside = fixture.home.join("other.md");
    std::fs::write(&outside, "theirs").unwrap();
    symlink(&outside, fixture.work.join("SLUG.md")).unwrap();
    std::fs::write(fixture.home.join("SLUG.md"), b"\xff\0").unwrap();
    let mut agent = fixture.open(InitialSession::New).await;
    let told = agent.remember(RememberLevel::Project, "# x").await;
    assert!(told.contains("link to a file outside the project"), "{told}");
    let told = agent.remember(RememberLevel::User, "# x").await;
    assert!(told.contains("is not a file with text"), "{told}");
    std::fs::write(fixture.home.join("SLUG.md"), "x".repeat(300 << 10)).unwrap();
    let told = agent.remember(RememberLevel::User, "# x").await;
    assert!(told.contains("over 256 KB"), "{told}");
    agent.close().await;
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "theirs");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_untrusted_project_is_neither_listed_nor_written() {
    let fixture = AgentFixture::new();
    fixture.put("SLUG.md", "theirs");
    let mut setup = fixture.setup(Vec::new());
    setup.instruction_folders = Vec::new();
    let mut agent = fixture.open_setup(setup, InitialSession::New).await;
    let reply = agent.memory(MemoryRequest::Show).await;
    assert!(!reply.report.is_trusted && reply.report.files.len() == 1);
    let told = agent.remember(RememberLevel::Project, "# x").await;
    assert!(told.contains("not trusted"), "{told}");
    agent.close().await;
    assert_eq!(fixture.read("SLUG.md"), "theirs");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_files_of_the_list_are_read() {
    let fixture = AgentFixture::new();
    fixture.put("SLUG.md", "ours");
    fixture.put("secret.txt", "not yours");
    let mut agent = fixture.open(InitialSession::New).await;
    let path = fixture.work.join("SLUG.md");
    let reply = agent.memory(MemoryRequest::Read { path }).await;
    assert_eq!(reply.text.unwrap().text.as_deref(), Ok("ours"));
    assert!(reply.report.files.iter().any(|file| file.state == InstructionState::Sent));
    let path = fixture.work.join("secret.txt");
    assert_eq!(agent.memory(MemoryRequest::Read { path }).await.text, None);
    let missing = fixture.home.join("SLUG.md");
    let reply = agent.memory(MemoryRequest::Read { path: missing }).await;
    assert!(reply.text.unwrap().text.unwrap_err().contains("does not exist yet"));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_no_longer_fits_is_not_said_to_go_out() {
    let fixture = AgentFixture::new();
    fixture.put("SLUG.md", &"word ".repeat(10_000));
    let mut agent = fixture.open(InitialSession::New).await;
    let told = agent.remember(RememberLevel::Project, "# use tabs").await;
    assert!(told.contains("- use tabs\nslug does not send this line"), "{told}");
    agent.close().await;
    assert!(fixture.read("SLUG.md").ends_with("- use tabs\n"));
}
