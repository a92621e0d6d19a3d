//! Rewinding a session and reversing it, with files on disk.

use std::path::PathBuf;
use std::sync::Arc;

use chrono::DateTime;
use serde_json::json;
use slug_code::agent::{
    AgentCommand, AgentEvent, InitialSession, RewindDestination, RewindError, RewindPlan,
};
use slug_code::domain::{
    AgentBudgets, ApprovalAnswer, ContentBlock, ContentHash, EntryId, Message, PermissionMode,
    SessionId, TokenUsage, TurnId, UserInput,
};
use slug_code::providers::StreamEvent;
use slug_code::session::undo::FileAction;
use slug_code::session::{
    FileChangeEntry, FileChangeSource, FileKind, FileVersion, ImportMode, LogEntry, LogRecord,
    MessageEntry, RewindScope, SessionHeader, TurnOutcome, UntrackedChanges, UntrackedReason,
};

use super::fakes::{ScriptedEvent, calls, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies, tool_end, turn_end};

impl TestAgent {
    async fn plan(&mut self, to: RewindDestination) -> Result<Arc<RewindPlan>, RewindError> {
        self.tell(AgentCommand::PlanRewind(to)).await;
        self.planned().await
    }

    /// Plans a rewind, after everything that a stopped call has done is logged.
    async fn plan_once_settled(&mut self, to: RewindDestination) -> Arc<RewindPlan> {
        loop {
            match self.plan(to).await {
                Ok(plan) => return plan,
                Err(reason) => assert_eq!(reason, RewindError::LateWrites),
            }
        }
    }

    async fn planned(&mut self) -> Result<Arc<RewindPlan>, RewindError> {
        match self.wait_for("plan", |event| matches!(event, AgentEvent::RewindPlanned(_))).await {
            AgentEvent::RewindPlanned(plan) => plan,
            _ => unreachable!(),
        }
    }

    /// Rewinds, and returns the message that goes back into the input.
    pub(super) async fn go(
        &mut self,
        to: RewindDestination,
        what: RewindScope,
    ) -> Option<UserInput> {
        let plan = self.plan(to).await.unwrap();
        self.tell(AgentCommand::Rewind { plan, what }).await;
        match self.wait_for("return", |event| matches!(event, AgentEvent::Rewound { .. })).await {
            AgentEvent::Rewound { message, .. } => message,
            _ => unreachable!(),
        }
    }

    /// The note about restored files in the last message to the model.
    fn restored_files_note(&self, fixture: &AgentFixture) -> Option<String> {
        let message = fixture.model.last_request().messages.pop().unwrap();
        message.content.into_iter().find_map(|block| match block {
            ContentBlock::Context { name, text } if name == "rewind" => Some(text),
            _ => None,
        })
    }

    fn messages_to_model(&self) -> Vec<String> {
        self.conversation().messages.iter().map(|(_, message)| message.text()).collect()
    }
}

/// A session of two turns: the first writes a file, the second changes it by a tool and creates and
/// removes other files by commands.
async fn session_with_changes(fixture: &AgentFixture) -> TestAgent {
    fixture.put("old", "old\n");
    queue_replies(
        fixture,
        [
            calls(&[("c1", "Write", json!({"file_path": "a", "content": "one\n"}))]),
            words("Made."),
            calls(&[
                ("c2", "Edit", json!({"file_path": "a", "old_string": "one", "new_string": "two"})),
                ("c3", "Bash", json!({"command": "write b made"})),
                ("c4", "Bash", json!({"command": "remove old"})),
            ]),
            words("Changed."),
        ],
    );
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn("make it").await;
    agent.turn("change it").await;
    agent
}

fn files(fixture: &AgentFixture) -> [Option<String>; 3] {
    ["a", "b", "old"].map(|name| std::fs::read_to_string(fixture.work.join(name)).ok())
}

fn texts(texts: [Option<&str>; 3]) -> [Option<String>; 3] {
    texts.map(|text| text.map(str::to_owned))
}

#[tokio::test]
async fn files_and_conversation_go_back_and_forth() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = session_with_changes(&fixture).await;
    let all = agent.messages_to_model();
    assert_eq!(files(&fixture), texts([Some("two\n"), Some("made"), None]));

    let message = agent.go(RewindDestination::Last, RewindScope::Both).await;
    assert_eq!(message, Some("change it".into()));
    assert_eq!(files(&fixture), texts([Some("one\n"), None, Some("old\n")]));
    assert_eq!(agent.messages_to_model()[..1], ["make it"]);
    assert!(!agent.messages_to_model().contains(&"change it".to_owned()));

    agent.go(RewindDestination::Last, RewindScope::Both).await;
    assert_eq!(files(&fixture), texts([None, None, Some("old\n")]));
    assert!(agent.messages_to_model().is_empty());
    assert!(agent.plan(RewindDestination::Last).await.is_err(), "there is nothing before");

    agent.go(RewindDestination::Redo, RewindScope::Both).await;
    agent.go(RewindDestination::Redo, RewindScope::Both).await;
    assert_eq!(files(&fixture), texts([Some("two\n"), Some("made"), None]));
    assert_eq!(agent.messages_to_model(), all);
    assert!(agent.plan(RewindDestination::Redo).await.is_err(), "there is nothing more");
    agent.close().await;
}

#[tokio::test]
async fn a_title_goes_with_the_message_that_it_was_made_of_and_one_that_was_given_stays() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [words("1"), words("2")]);
    let title = |agent: &TestAgent| agent.conversation().title;
    let (back, conversation) = (RewindDestination::Last, RewindScope::Conversation);
    agent.turn("first").await;
    agent.go(back, conversation).await;
    assert_eq!(title(&agent), None);
    agent.go(RewindDestination::Redo, conversation).await;
    assert_eq!(title(&agent).as_deref(), Some("first"));
    agent.go(back, conversation).await;
    agent.turn("second").await;
    assert_eq!(title(&agent).as_deref(), Some("second"));
    agent.tell(AgentCommand::SetTitle("Mine".into())).await;
    agent.go(back, conversation).await;
    assert_eq!(title(&agent).as_deref(), Some("Mine"));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_cell_of_a_notebook_is_asked_about_and_goes_back() {
    const NOTEBOOK: &str = "{\"cells\": [{\"cell_type\": \"raw\", \"id\": \"a1\", \"source\": \"old\"}], \
                            \"nbformat\": 4, \"nbformat_minor\": 5}";
    let fixture = AgentFixture::new();
    fixture.put("n.ipynb", NOTEBOOK);
    let cell = json!({"notebook_path": "n.ipynb", "cell_id": "a1", "new_source": "new"});
    let call = |id| calls(&[(id, "Call", json!({"tool": "NotebookEdit", "input": cell}))]);
    let read = calls(&[("c2", "Read", json!({"file_path": "n.ipynb"}))]);
    queue_replies(&fixture, [call("c1"), read, call("c3"), call("c4"), words("Done.")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.send("change it").await;
    let question = agent.next_approval().await;
    assert_eq!(
        (question.tool.as_str(), question.call.to_string().as_str()),
        ("NotebookEdit", "c3")
    );
    let preview = question.preview.clone().expect("it changes a file");
    assert_eq!((preview.added, preview.removed), (1, 1));
    assert_eq!(fixture.read("n.ipynb"), NOTEBOOK, "nothing is written before the answer");
    let deny = ApprovalAnswer::Deny { instruction: Some("first tell me why".into()) };
    agent.answer(&question, deny).await;
    let question = agent.next_approval().await;
    assert_eq!(fixture.read("n.ipynb"), NOTEBOOK);
    agent.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let (unread, _) = agent.result("c1");
    assert!(unread.contains("You have not read n.ipynb yet."), "{unread}");
    assert!(agent.result("c2").0.contains("=== cell a1, raw"));
    assert_eq!(fixture.read("n.ipynb"), NOTEBOOK.replace("old", "new"));
    agent.go(RewindDestination::Last, RewindScope::Both).await;
    assert_eq!(fixture.read("n.ipynb"), NOTEBOOK);
    agent.close().await;
}

#[tokio::test]
async fn a_rewind_is_the_same_after_a_restart() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = session_with_changes(&fixture).await;
    agent.go(RewindDestination::Last, RewindScope::Both).await;
    let (session, messages) = (agent.id(), agent.messages_to_model());
    agent.close().await;
    let list = fixture.store.list().unwrap();
    assert_eq!(list[0].message_count, 3, "question, call, answer");
    assert_eq!(list[0].summary.as_deref(), Some("Made."));

    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    assert_eq!(agent.messages_to_model(), messages);
    agent.go(RewindDestination::Redo, RewindScope::Both).await;
    assert_eq!(files(&fixture), texts([Some("two\n"), Some("made"), None]));
    agent.close().await;
}

#[tokio::test]
async fn the_model_is_told_about_files_that_were_restored_alone() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = session_with_changes(&fixture).await;
    assert_eq!(agent.go(RewindDestination::Last, RewindScope::Files).await, None);
    assert_eq!(files(&fixture), texts([Some("one\n"), None, Some("old\n")]));
    queue_replies(&fixture, [words("I see.")]);
    agent.turn("and now?").await;
    let sent = serde_json::to_string(&fixture.model.last_request().messages).unwrap();
    assert!(sent.contains("took your changes of these files back: a, b, old"), "{sent}");
    assert!(sent.contains("change it"), "the conversation is unchanged");
    assert!(agent.plan(RewindDestination::Redo).await.is_err(), "something was said since");
    agent.close().await;
}

#[tokio::test]
async fn a_file_that_the_user_changed_meanwhile_stays() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = session_with_changes(&fixture).await;
    fixture.put("b", "mine");
    let plan = agent.plan(RewindDestination::Last).await.unwrap();
    let left: Vec<&str> =
        plan.files.skipped().map(|file| file.path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(left, ["b"]);
    agent.go(RewindDestination::Last, RewindScope::Both).await;
    assert_eq!(files(&fixture), texts([Some("one\n"), Some("mine"), Some("old\n")]));
    agent.close().await;
}

#[tokio::test]
async fn after_a_change_since_the_preview_a_new_plan_is_shown_and_nothing_done() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = session_with_changes(&fixture).await;
    let plan = agent.plan(RewindDestination::Last).await.unwrap();
    fixture.put("a", "mine\n");
    agent.tell(AgentCommand::Rewind { plan: plan.clone(), what: RewindScope::Both }).await;
    let anew = agent.planned().await.unwrap();
    assert_ne!(anew.files, plan.files);
    assert_eq!(files(&fixture), texts([Some("mine\n"), Some("made"), None]));
    let is_rewind = |entry: &LogEntry| matches!(entry, LogEntry::Rewind(_));
    assert!(!agent.records().iter().any(|record| is_rewind(&record.entry)));
    agent.close().await;
}

#[tokio::test]
async fn a_log_that_ends_before_the_files_were_written_can_be_continued() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = session_with_changes(&fixture).await;
    agent.go(RewindDestination::Last, RewindScope::Both).await;
    let session = agent.id();
    agent.close().await;
    // The log of a slug that is killed right after it has announced the rewind.
    let path = fixture.store.log_path(session);
    let log = std::fs::read_to_string(&path).unwrap();
    let end = log.find("\"type\":\"rewind\"").unwrap();
    let end = end + log[end..].find('\n').unwrap() + 1;
    std::fs::write(&path, &log[..end]).unwrap();
    fixture.put("a", "two\n");

    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    let plan = agent.plan(RewindDestination::Last).await.unwrap();
    let left: Vec<_> = plan.files.skipped().collect();
    assert!(left.is_empty(), "{left:?}");
    agent.go(RewindDestination::Last, RewindScope::Files).await;
    assert_eq!(files(&fixture), texts([None, None, Some("old\n")]));
    agent.close().await;
}

#[tokio::test]
async fn a_command_of_the_user_is_covered_too() {
    let fixture = AgentFixture::in_mode(PermissionMode::Ask);
    queue_replies(&fixture, [words("Hello.")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn("hello").await;
    agent.tell(AgentCommand::Shell { command: "write b made".into() }).await;
    agent.wait_for("end", |event| tool_end(event).is_some()).await;
    let plan = agent.plan(RewindDestination::Last).await.unwrap();
    assert_eq!(plan.files.files.len(), 1);
    assert_eq!(plan.files.files[0].action, FileAction::Remove);
    agent.close().await;
}

#[tokio::test]
async fn a_command_that_only_reads_is_not_tracked() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    queue_replies(
        &fixture,
        [calls(&[("c1", "Bash", json!({"command": "cat a"}))]), words("Read.")],
    );
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn("read it").await;
    let of_files =
        |entry: &LogEntry| matches!(entry, LogEntry::FileChange(_) | LogEntry::NotCovered(_));
    assert!(!agent.records().iter().any(|record| of_files(&record.entry)));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_a_stopped_command_are_restored_too() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [calls(&[("c1", "Bash", json!({"command": "block write b made"}))])]);
    agent.send("go").await;
    agent.wait_for("output", |event| matches!(event, AgentEvent::ToolProgress { .. })).await;
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    let plan = agent.plan_once_settled(RewindDestination::Last).await;
    let acts: Vec<_> = plan.files.files.iter().map(|file| &file.action).collect();
    assert_eq!(acts, [&FileAction::Remove]);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_stopped_call_still_writes_a_rewind_is_refused() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = fixture.open(InitialSession::New).await;
    let write = ("c1", "Write", json!({"file_path": "slow.txt", "content": "written"}));
    queue_replies(&fixture, [calls(&[write])]);
    agent.send("go").await;
    fixture.files.writing().await;
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    let refused = agent.plan(RewindDestination::Last).await.unwrap_err();
    assert_eq!(refused, RewindError::LateWrites);
    fixture.files.release();
    let plan = agent.plan_once_settled(RewindDestination::Last).await;
    assert_eq!(plan.files.touched().count(), 1);
    agent.close().await;
}

/// A named pipe that blocks its readers until this is dropped.
struct BlockedPipe(PathBuf);

impl Drop for BlockedPipe {
    fn drop(&mut self) {
        // Opens both ends, so that opening does not block. Later readers find no file.
        let _open = std::fs::OpenOptions::new().read(true).write(true).open(&self.0).unwrap();
        std::fs::remove_file(&self.0).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_does_not_wait_for_the_scan_of_changes() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = fixture.open(InitialSession::New).await;
    // This content cannot be stored until the pipe is opened.
    let hash = ContentHash::of(b"made");
    let (folder, name) = hash.as_str().split_at(2);
    let folder = fixture.home.join("blobs").join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let shut = BlockedPipe(folder.join(name));
    assert!(std::process::Command::new("mkfifo").arg(&shut.0).status().unwrap().success());
    queue_replies(&fixture, [calls(&[("c1", "Bash", json!({"command": "write b made"}))])]);
    agent.send("go").await;
    agent.wait_for("output", |event| matches!(event, AgentEvent::ToolProgress { .. })).await;
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    let refused = agent.plan(RewindDestination::Last).await.unwrap_err();
    assert_eq!(refused, RewindError::LateWrites);
    drop(shut);
    let plan = agent.plan_once_settled(RewindDestination::Last).await;
    assert_eq!(plan.files.touched().count(), 1);
    agent.close().await;
}

#[tokio::test]
async fn a_folder_comes_back_where_a_file_has_taken_its_place() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    fixture.put("d/x", "old");
    let commands = ["remove d/x", "flatten d flat"];
    let made = [
        ("c1", "Bash", json!({"command": commands[0]})),
        ("c2", "Bash", json!({"command": commands[1]})),
    ];
    queue_replies(&fixture, [calls(&made), words("Done.")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn("go").await;
    assert_eq!(fixture.read("d"), "flat");
    agent.go(RewindDestination::Last, RewindScope::Files).await;
    assert_eq!(fixture.read("d/x"), "old", "{:?}", agent.notices());
    agent.close().await;
}

#[tokio::test]
async fn restored_files_are_reported_once_with_the_next_message() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = session_with_changes(&fixture).await;
    agent.go(RewindDestination::Last, RewindScope::Files).await;
    agent.go(RewindDestination::Last, RewindScope::Files).await;
    // This sends nothing to the model.
    agent.tell(AgentCommand::Shell { command: "echo".into() }).await;
    agent.wait_for("end", |event| tool_end(event).is_some()).await;
    queue_replies(&fixture, [words("I see."), words("Yes.")]);
    agent.turn("and now?").await;
    let note = agent.restored_files_note(&fixture).unwrap();
    assert!(note.contains("files back: a, b, old."), "{note}");
    agent.turn("and then?").await;
    assert_eq!(agent.restored_files_note(&fixture), None);
    agent.close().await;
}

#[tokio::test]
async fn going_back_asks_for_no_budget_again() {
    let mut fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    fixture.budgets =
        AgentBudgets { session: "640 tokens".parse().unwrap(), ..AgentBudgets::default() };
    for (text, input) in [("One.", 600), ("Two.", 300), ("Three.", 300)] {
        let usage = TokenUsage { input, output: 50, ..TokenUsage::default() };
        let mut reply = words(text);
        reply.insert(0, ScriptedEvent::Event(StreamEvent::Usage(usage)));
        fixture.model.reply(reply);
    }
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn("one").await;
    agent.send("two").await;
    let question = agent.next_approval().await;
    agent.answer(&question, ApprovalAnswer::Session { rules: Vec::new() }).await;
    agent.wait_for_turn_end().await;
    agent.go(RewindDestination::Last, RewindScope::Conversation).await;
    let asked = agent.approval_count();
    agent.send("three").await;
    let ends = |event: &AgentEvent| {
        turn_end(event).is_some() || matches!(event, AgentEvent::ApprovalAsked(_))
    };
    agent.wait_for("end or question", ends).await;
    assert_eq!(agent.approval_count(), asked);
    agent.close().await;
}

#[tokio::test]
async fn a_path_that_the_log_cannot_name_is_not_covered() {
    use std::os::unix::ffi::OsStrExt;
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let real = fixture.work.join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    if std::fs::create_dir(&real).is_err() {
        eprintln!("skipped: this file system takes UTF-8 names only");
        return;
    }
    std::os::unix::fs::symlink(&real, fixture.work.join("link")).unwrap();
    let write = ("c1", "Write", json!({"file_path": "link/a", "content": "one"}));
    queue_replies(&fixture, [calls(&[write]), words("Made.")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn("go").await;
    assert_eq!(fixture.read("link/a"), "one");
    let plan = agent.plan(RewindDestination::Last).await.unwrap();
    assert_eq!(plan.files.files, []);
    let why = |not_covered: &UntrackedChanges| not_covered.files.first().map(|file| file.why);
    assert_eq!(
        plan.files.not_covered.iter().map(why).collect::<Vec<_>>(),
        [Some(UntrackedReason::Name)]
    );
    agent.close().await;
}

#[tokio::test]
async fn a_file_that_the_user_has_changed_is_restored_on_request_and_the_redo_brings_it_back() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = session_with_changes(&fixture).await;
    fixture.put("b", "mine");
    let mut plan = Arc::unwrap_or_clone(agent.plan(RewindDestination::Last).await.unwrap());
    for file in &mut plan.files.files {
        file.toggle_override();
    }
    agent.tell(AgentCommand::Rewind { plan: Arc::new(plan), what: RewindScope::Both }).await;
    agent.wait_for("return", |event| matches!(event, AgentEvent::Rewound { .. })).await;
    assert_eq!(files(&fixture), texts([Some("one\n"), None, Some("old\n")]));
    agent.go(RewindDestination::Redo, RewindScope::Both).await;
    assert_eq!(files(&fixture), texts([Some("two\n"), Some("mine"), None]));
    agent.close().await;
}

#[tokio::test]
async fn an_answer_is_for_the_version_that_was_shown() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = session_with_changes(&fixture).await;
    fixture.put("a", "mine\n");
    let mut plan = Arc::unwrap_or_clone(agent.plan(RewindDestination::Last).await.unwrap());
    plan.files.files.iter_mut().for_each(|file| file.toggle_override());
    fixture.put("a", "mine, and more\n");
    agent.tell(AgentCommand::Rewind { plan: Arc::new(plan), what: RewindScope::Both }).await;
    let anew = agent.planned().await.unwrap();
    assert!(
        anew.files.has_questions() && !anew.files.files.iter().any(|file| file.is_overridden())
    );
    assert_eq!(fixture.read("a"), "mine, and more\n");
    agent.close().await;
}

/// Imports a foreign log, which says that files were changed in the workspace, outside of it, and
/// in protected places.
async fn imported(fixture: &AgentFixture, changed: &[(PathBuf, &str, Option<&str>)]) -> TestAgent {
    let session = SessionId::generate();
    let record = |turn: u32, entry| LogRecord {
        id: EntryId::generate(),
        timestamp: DateTime::from_timestamp(1_790_000_000, 0).unwrap(),
        turn: TurnId(turn),
        entry,
    };
    let version = |text: &str| FileVersion {
        kind: FileKind::File,
        hash: ContentHash::of(text.as_bytes()),
        mode: None,
    };
    let header = SessionHeader {
        session_id: session,
        version: SessionHeader::VERSION,
        cwd: fixture.work.clone(),
        model: "test-model".into(),
        provider: "openai".into(),
        forked_from: None,
        spawned_by: None,
        server_tools: Vec::new(),
    };
    let message = LogEntry::Message(MessageEntry::new(Message::user("make it")));
    let mut records = vec![record(0, LogEntry::Session(header)), record(1, message)];
    for (path, after, before) in changed {
        // The contents to restore come with the log.
        before.map(|before| fixture.store.blobs().put(before.as_bytes()).unwrap());
        let (before, after) = (before.map(version), Some(version(after)));
        let change = FileChangeEntry::new(path.clone(), before, after, FileChangeSource::Tool);
        records.push(record(1, LogEntry::FileChange(change)));
    }
    let lines: Vec<String> = records.iter().map(|it| serde_json::to_string(it).unwrap()).collect();
    let file = fixture.work.with_file_name("theirs.jsonl");
    std::fs::write(&file, lines.join("\n") + "\n").unwrap();
    let imported = fixture.store.import(&file, &fixture.work, &|_| None, ImportMode::Write);
    assert_eq!(imported[0].outcome.as_ref().unwrap().session, session);
    fixture.open(InitialSession::Resume(session)).await
}

#[tokio::test]
async fn an_imported_session_restores_nothing_outside_or_protected_without_an_answer_of_its_own() {
    let fixture = AgentFixture::new();
    let outside = fixture.work.with_file_name("outside");
    let (made, link) = (fixture.work.with_file_name("made"), fixture.work.join("link"));
    std::os::unix::fs::symlink(fixture.work.parent().unwrap(), &link).unwrap();
    std::fs::create_dir_all(fixture.work.join(".git/hooks")).unwrap();
    let paths = [
        fixture.work.join("plain"),
        outside.clone(),
        made.clone(),
        fixture.work.join("sub/../../dotted"),
        link.join("linked"),
        fixture.work.join(".git/hooks/pre-commit"),
        fixture.work.join(".slug/settings.json"),
        fixture.home.join("settings.json"),
    ];
    for path in &paths {
        std::fs::create_dir_all(path.parent().unwrap_or(&fixture.work)).ok();
        std::fs::create_dir_all(fixture.work.join("sub")).unwrap();
        std::fs::create_dir_all(fixture.work.join(".slug")).unwrap();
        std::fs::write(path, "{}").unwrap();
    }
    let changed: Vec<_> =
        paths.iter().map(|path| (path.clone(), "{}", (*path != made).then_some("evil"))).collect();
    let mut agent = imported(&fixture, &changed).await;
    let read = |path: &PathBuf| std::fs::read_to_string(path).unwrap_or_else(|_| "gone".into());

    let plan = agent.plan(RewindDestination::Last).await.unwrap();
    let marked =
        |path: &PathBuf| plan.files.files.iter().find(|it| it.path == *path).unwrap().place.clone();
    assert!(!marked(&paths[0]).needs_answer());
    for path in &paths[1..] {
        assert!(marked(path).needs_answer(), "{path:?}");
    }
    assert!(marked(&outside).is_outside && marked(&link.join("linked")).is_outside);
    assert_eq!(marked(&paths[5]).protected, Some("what git runs".into()));
    agent.go(RewindDestination::Last, RewindScope::Files).await;
    let now: Vec<String> = paths.iter().map(read).collect();
    assert_eq!(now[0], "evil", "what is plain goes back");
    assert_eq!(now[1..], ["{}"; 7].map(str::to_owned), "all else stays");
    agent.close().await;
}

#[tokio::test]
async fn only_the_file_with_an_answer_of_its_own_is_restored() {
    let fixture = AgentFixture::new();
    let (one, other) = (fixture.work.with_file_name("one"), fixture.work.with_file_name("other"));
    for path in [&one, &other] {
        std::fs::write(path, "now").unwrap();
    }
    let changed = [&one, &other].map(|path| (path.clone(), "now", Some("then")));
    let mut agent = imported(&fixture, &changed).await;
    let plan = agent.plan(RewindDestination::Last).await.unwrap();
    let mut plan = (*plan).clone();
    plan.files.files[0].toggle_override();
    let what = RewindScope::Files;
    agent.tell(AgentCommand::Rewind { plan: Arc::new(plan), what }).await;
    agent.wait_for("return", |event| matches!(event, AgentEvent::Rewound { .. })).await;
    let read = |path: &PathBuf| std::fs::read_to_string(path).unwrap();
    assert_eq!((read(&one), read(&other)), ("then".to_owned(), "now".to_owned()));

    // The redo needs an answer for the file in the same way.
    agent.go(RewindDestination::Redo, RewindScope::Files).await;
    assert_eq!(read(&one), "then");
    agent.close().await;
}
