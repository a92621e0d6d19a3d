//! Going back in a session and forth again, with files on a disk.

use std::path::PathBuf;
use std::sync::Arc;

use chrono::DateTime;
use serde_json::json;
use slug_code::agent::{AgentCommand, AgentEvent, InitialSession, RewindDestination, RewindPlan};
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
use super::test_agent::{AgentFixture, TestAgent, queue_replies};

impl TestAgent {
    async fn plan(&mut self, to: RewindDestination) -> Result<Arc<RewindPlan>, String> {
        self.tell(AgentCommand::PlanRewind(to)).await;
        self.planned().await
    }

    /// The same once all is on record that a stopped call has done.
    async fn plan_once_settled(&mut self, to: RewindDestination) -> Arc<RewindPlan> {
        loop {
            match self.plan(to).await {
                Ok(plan) => return plan,
                Err(reason) => assert!(reason.contains("still being looked after"), "{reason}"),
            }
        }
    }

    async fn planned(&mut self) -> Result<Arc<RewindPlan>, String> {
        match self.wait_for("plan", |event| matches!(event, AgentEvent::RewindPlanned(_))).await {
            AgentEvent::RewindPlanned(plan) => plan,
            _ => unreachable!(),
        }
    }

    /// Goes there; what comes back into the input.
    async fn go(&mut self, to: RewindDestination, what: RewindScope) -> Option<UserInput> {
        let plan = self.plan(to).await.unwrap();
        self.tell(AgentCommand::Rewind { plan, what }).await;
        match self.wait_for("return", |event| matches!(event, AgentEvent::Rewound { .. })).await {
            AgentEvent::Rewound { message, .. } => message,
            _ => unreachable!(),
        }
    }

    /// What the model was told of files that went back with the last message.
    fn told_of_files(&self, scene: &AgentFixture) -> Option<String> {
        let said = scene.model.last_request().messages.pop().unwrap();
        said.content.into_iter().find_map(|block| match block {
            ContentBlock::Context { name, text } if name == "rewind" => Some(text),
            _ => None,
        })
    }

    fn messages_to_model(&self) -> Vec<String> {
        self.conversation().messages.iter().map(|(_, said)| said.text()).collect()
    }
}

/// A session of two turns: one writes a file, the other changes it by a tool and makes and removes
/// others by commands.
async fn worked(scene: &AgentFixture) -> TestAgent {
    scene.put("old", "old\n");
    queue_replies(
        scene,
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
    let mut rig = scene.open(InitialSession::New).await;
    rig.turn("make it").await;
    rig.turn("change it").await;
    rig
}

fn files(scene: &AgentFixture) -> [Option<String>; 3] {
    ["a", "b", "old"].map(|name| std::fs::read_to_string(scene.work.join(name)).ok())
}

fn are(texts: [Option<&str>; 3]) -> [Option<String>; 3] {
    texts.map(|text| text.map(str::to_owned))
}

#[tokio::test]
async fn files_and_conversation_go_back_and_forth() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = worked(&scene).await;
    let all = rig.messages_to_model();
    assert_eq!(files(&scene), are([Some("two\n"), Some("made"), None]));

    let message = rig.go(RewindDestination::Last, RewindScope::Both).await;
    assert_eq!(message, Some("change it".into()));
    assert_eq!(files(&scene), are([Some("one\n"), None, Some("old\n")]));
    assert_eq!(rig.messages_to_model()[..1], ["make it"]);
    assert!(!rig.messages_to_model().contains(&"change it".to_owned()));

    rig.go(RewindDestination::Last, RewindScope::Both).await;
    assert_eq!(files(&scene), are([None, None, Some("old\n")]));
    assert!(rig.messages_to_model().is_empty());
    assert!(rig.plan(RewindDestination::Last).await.is_err(), "there is nothing before");

    rig.go(RewindDestination::Redo, RewindScope::Both).await;
    rig.go(RewindDestination::Redo, RewindScope::Both).await;
    assert_eq!(files(&scene), are([Some("two\n"), Some("made"), None]));
    assert_eq!(rig.messages_to_model(), all);
    assert!(rig.plan(RewindDestination::Redo).await.is_err(), "there is nothing more");
    rig.close().await;
}

#[tokio::test]
async fn what_went_back_is_the_same_after_a_restart() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = worked(&scene).await;
    rig.go(RewindDestination::Last, RewindScope::Both).await;
    let (session, heard) = (rig.id(), rig.messages_to_model());
    rig.close().await;
    let list = scene.store.list().unwrap();
    assert_eq!(list[0].message_count, 3, "question, call, answer");
    assert_eq!(list[0].summary.as_deref(), Some("Made."));

    let mut rig = scene.open(InitialSession::Resume(session)).await;
    assert_eq!(rig.messages_to_model(), heard);
    rig.go(RewindDestination::Redo, RewindScope::Both).await;
    assert_eq!(files(&scene), are([Some("two\n"), Some("made"), None]));
    rig.close().await;
}

#[tokio::test]
async fn the_model_is_told_of_files_that_went_back_alone() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = worked(&scene).await;
    assert_eq!(rig.go(RewindDestination::Last, RewindScope::Files).await, None);
    assert_eq!(files(&scene), are([Some("one\n"), None, Some("old\n")]));
    queue_replies(&scene, [words("I see.")]);
    rig.turn("and now?").await;
    let sent = serde_json::to_string(&scene.model.last_request().messages).unwrap();
    assert!(sent.contains("took your changes of these files back: a, b, old"), "{sent}");
    assert!(sent.contains("change it"), "the conversation stayed");
    assert!(rig.plan(RewindDestination::Redo).await.is_err(), "something was said since");
    rig.close().await;
}

#[tokio::test]
async fn what_the_person_wrote_meanwhile_stays() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = worked(&scene).await;
    scene.put("b", "mine");
    let plan = rig.plan(RewindDestination::Last).await.unwrap();
    let left: Vec<&str> =
        plan.files.skipped().map(|file| file.path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(left, ["b"]);
    rig.go(RewindDestination::Last, RewindScope::Both).await;
    assert_eq!(files(&scene), are([Some("one\n"), Some("mine"), Some("old\n")]));
    rig.close().await;
}

#[tokio::test]
async fn what_changed_after_the_preview_is_shown_anew_and_not_done() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = worked(&scene).await;
    let plan = rig.plan(RewindDestination::Last).await.unwrap();
    scene.put("a", "mine\n");
    rig.tell(AgentCommand::Rewind { plan: plan.clone(), what: RewindScope::Both }).await;
    let anew = rig.planned().await.unwrap();
    assert_ne!(anew.files, plan.files);
    assert_eq!(files(&scene), are([Some("mine\n"), Some("made"), None]));
    let is_rewind = |entry: &LogEntry| matches!(entry, LogEntry::Rewind(_));
    assert!(!rig.records().iter().any(|record| is_rewind(&record.entry)));
    rig.close().await;
}

#[tokio::test]
async fn a_log_that_ends_before_the_files_were_written_is_gone_on_from() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = worked(&scene).await;
    rig.go(RewindDestination::Last, RewindScope::Both).await;
    let session = rig.id();
    rig.close().await;
    // As slug leaves it when it is killed right behind the announcement.
    let path = scene.store.log_path(session);
    let log = std::fs::read_to_string(&path).unwrap();
    let end = log.find("\"type\":\"rewind\"").unwrap();
    let end = end + log[end..].find('\n').unwrap() + 1;
    std::fs::write(&path, &log[..end]).unwrap();
    scene.put("a", "two\n");

    let mut rig = scene.open(InitialSession::Resume(session)).await;
    let plan = rig.plan(RewindDestination::Last).await.unwrap();
    let left: Vec<_> = plan.files.skipped().collect();
    assert!(left.is_empty(), "{left:?}");
    rig.go(RewindDestination::Last, RewindScope::Files).await;
    assert_eq!(files(&scene), are([None, None, Some("old\n")]));
    rig.close().await;
}

#[tokio::test]
async fn a_command_of_the_persons_own_is_covered_too() {
    let scene = AgentFixture::in_mode(PermissionMode::Ask);
    queue_replies(&scene, [words("Hello.")]);
    let mut rig = scene.open(InitialSession::New).await;
    rig.turn("hello").await;
    rig.tell(AgentCommand::Shell { command: "write b made".into() }).await;
    rig.wait_for("end", |event| matches!(event, AgentEvent::ToolEnded { .. })).await;
    let plan = rig.plan(RewindDestination::Last).await.unwrap();
    assert_eq!(plan.files.files.len(), 1);
    assert_eq!(plan.files.files[0].action, FileAction::Remove);
    rig.close().await;
}

#[tokio::test]
async fn a_command_that_only_reads_is_not_looked_after() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    queue_replies(&scene, [calls(&[("c1", "Bash", json!({"command": "cat a"}))]), words("Read.")]);
    let mut rig = scene.open(InitialSession::New).await;
    rig.turn("read it").await;
    let of_files =
        |entry: &LogEntry| matches!(entry, LogEntry::FileChange(_) | LogEntry::NotCovered(_));
    assert!(!rig.records().iter().any(|record| of_files(&record.entry)));
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_stopped_command_changed_goes_back_too() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [calls(&[("c1", "Bash", json!({"command": "block write b made"}))])]);
    rig.send("go").await;
    rig.wait_for("output", |event| matches!(event, AgentEvent::ToolProgress { .. })).await;
    assert_eq!(rig.stop().await, TurnOutcome::Interrupted);
    let plan = rig.plan_once_settled(RewindDestination::Last).await;
    let acts: Vec<_> = plan.files.files.iter().map(|file| &file.action).collect();
    assert_eq!(acts, [&FileAction::Remove]);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_stopped_call_still_writes_nothing_goes_back() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = scene.open(InitialSession::New).await;
    let write = ("c1", "Write", json!({"file_path": "slow.txt", "content": "written"}));
    queue_replies(&scene, [calls(&[write])]);
    rig.send("go").await;
    scene.files.writing().await;
    assert_eq!(rig.stop().await, TurnOutcome::Interrupted);
    let refused = rig.plan(RewindDestination::Last).await.unwrap_err();
    assert!(refused.contains("still being looked after"), "{refused}");
    scene.files.release();
    let plan = rig.plan_once_settled(RewindDestination::Last).await;
    assert_eq!(plan.files.touched().count(), 1);
    rig.close().await;
}

/// A pipe that nobody can read from before this goes.
struct BlockedPipe(PathBuf);

impl Drop for BlockedPipe {
    fn drop(&mut self) {
        // Open at both ends, so that this waits for nobody. Who comes later finds nothing.
        let _open = std::fs::OpenOptions::new().read(true).write(true).open(&self.0).unwrap();
        std::fs::remove_file(&self.0).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_does_not_wait_for_the_look_at_what_a_command_changed() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = scene.open(InitialSession::New).await;
    // A content that cannot be kept before somebody opens this.
    let hash = ContentHash::of(b"made");
    let (folder, name) = hash.as_str().split_at(2);
    let folder = scene.home.join("blobs").join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let shut = BlockedPipe(folder.join(name));
    assert!(std::process::Command::new("mkfifo").arg(&shut.0).status().unwrap().success());
    queue_replies(&scene, [calls(&[("c1", "Bash", json!({"command": "write b made"}))])]);
    rig.send("go").await;
    rig.wait_for("output", |event| matches!(event, AgentEvent::ToolProgress { .. })).await;
    assert_eq!(rig.stop().await, TurnOutcome::Interrupted);
    let refused = rig.plan(RewindDestination::Last).await.unwrap_err();
    assert!(refused.contains("still being looked after"), "{refused}");
    drop(shut);
    let plan = rig.plan_once_settled(RewindDestination::Last).await;
    assert_eq!(plan.files.touched().count(), 1);
    rig.close().await;
}

#[tokio::test]
async fn a_folder_comes_back_where_a_file_has_taken_its_place() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    scene.put("d/x", "old");
    let commands = ["remove d/x", "flatten d flat"];
    let made = [
        ("c1", "Bash", json!({"command": commands[0]})),
        ("c2", "Bash", json!({"command": commands[1]})),
    ];
    queue_replies(&scene, [calls(&made), words("Done.")]);
    let mut rig = scene.open(InitialSession::New).await;
    rig.turn("go").await;
    assert_eq!(scene.read("d"), "flat");
    rig.go(RewindDestination::Last, RewindScope::Files).await;
    assert_eq!(scene.read("d/x"), "old", "{:?}", rig.notices());
    rig.close().await;
}

#[tokio::test]
async fn what_went_back_is_told_with_the_next_message_and_once() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = worked(&scene).await;
    rig.go(RewindDestination::Last, RewindScope::Files).await;
    rig.go(RewindDestination::Last, RewindScope::Files).await;
    // The model is not asked anything with this.
    rig.tell(AgentCommand::Shell { command: "echo".into() }).await;
    rig.wait_for("end", |event| matches!(event, AgentEvent::ToolEnded { .. })).await;
    queue_replies(&scene, [words("I see."), words("Yes.")]);
    rig.turn("and now?").await;
    let told = rig.told_of_files(&scene).unwrap();
    assert!(told.contains("files back: a, b, old."), "{told}");
    rig.turn("and then?").await;
    assert_eq!(rig.told_of_files(&scene), None);
    rig.close().await;
}

#[tokio::test]
async fn going_back_asks_for_no_budget_again() {
    let mut scene = AgentFixture::in_mode(PermissionMode::Yolo);
    scene.budgets =
        AgentBudgets { session: "640 tokens".parse().unwrap(), ..AgentBudgets::default() };
    for (text, input) in [("One.", 600), ("Two.", 300), ("Three.", 300)] {
        let usage = TokenUsage { input, output: 50, ..TokenUsage::default() };
        let mut reply = words(text);
        reply.insert(0, ScriptedEvent::Event(StreamEvent::Usage(usage)));
        scene.model.reply(reply);
    }
    let mut rig = scene.open(InitialSession::New).await;
    rig.turn("one").await;
    rig.send("two").await;
    let question = rig.next_approval().await;
    rig.answer(&question, ApprovalAnswer::Session { rules: Vec::new() }).await;
    rig.wait_for_turn_end().await;
    rig.go(RewindDestination::Last, RewindScope::Conversation).await;
    let asked = rig.approval_count();
    rig.send("three").await;
    let ends = |event: &AgentEvent| {
        matches!(event, AgentEvent::TurnEnded { .. } | AgentEvent::ApprovalAsked(_))
    };
    rig.wait_for("end or question", ends).await;
    assert_eq!(rig.approval_count(), asked);
    rig.close().await;
}

#[tokio::test]
async fn a_place_that_the_log_cannot_name_is_not_covered() {
    use std::os::unix::ffi::OsStrExt;
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let real = scene.work.join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    if std::fs::create_dir(&real).is_err() {
        eprintln!("skipped: this file system takes UTF-8 names only");
        return;
    }
    std::os::unix::fs::symlink(&real, scene.work.join("link")).unwrap();
    let write = ("c1", "Write", json!({"file_path": "link/a", "content": "one"}));
    queue_replies(&scene, [calls(&[write]), words("Made.")]);
    let mut rig = scene.open(InitialSession::New).await;
    rig.turn("go").await;
    assert_eq!(scene.read("link/a"), "one");
    let plan = rig.plan(RewindDestination::Last).await.unwrap();
    assert_eq!(plan.files.files, []);
    let why = |not_covered: &UntrackedChanges| not_covered.files.first().map(|file| file.why);
    assert_eq!(
        plan.files.not_covered.iter().map(why).collect::<Vec<_>>(),
        [Some(UntrackedReason::Name)]
    );
    rig.close().await;
}

#[tokio::test]
async fn a_file_that_the_person_has_changed_goes_back_by_their_word_and_comes_again() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = worked(&scene).await;
    scene.put("b", "mine");
    let mut plan = Arc::unwrap_or_clone(rig.plan(RewindDestination::Last).await.unwrap());
    for file in &mut plan.files.files {
        file.toggle_override();
    }
    rig.tell(AgentCommand::Rewind { plan: Arc::new(plan), what: RewindScope::Both }).await;
    rig.wait_for("return", |event| matches!(event, AgentEvent::Rewound { .. })).await;
    assert_eq!(files(&scene), are([Some("one\n"), None, Some("old\n")]));
    rig.go(RewindDestination::Redo, RewindScope::Both).await;
    assert_eq!(files(&scene), are([Some("two\n"), Some("mine"), None]));
    rig.close().await;
}

#[tokio::test]
async fn an_answer_is_for_the_version_that_was_shown() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut rig = worked(&scene).await;
    scene.put("a", "mine\n");
    let mut plan = Arc::unwrap_or_clone(rig.plan(RewindDestination::Last).await.unwrap());
    plan.files.files.iter_mut().for_each(|file| file.toggle_override());
    scene.put("a", "mine, and more\n");
    rig.tell(AgentCommand::Rewind { plan: Arc::new(plan), what: RewindScope::Both }).await;
    let anew = rig.planned().await.unwrap();
    assert!(
        anew.files.has_questions() && !anew.files.files.iter().any(|file| file.is_overridden())
    );
    assert_eq!(scene.read("a"), "mine, and more\n");
    rig.close().await;
}

/// A log that somebody else made, taken over: it says that files were changed in the workspace,
/// outside of it, and in places that others take orders from.
async fn imported(scene: &AgentFixture, changed: &[(PathBuf, &str, Option<&str>)]) -> TestAgent {
    let session = SessionId::generate();
    let record = |turn: u32, entry| LogRecord {
        id: EntryId::generate(),
        timestamp: DateTime::from_timestamp(1_790_000_000, 0).unwrap(),
        turn: TurnId(turn),
        entry,
    };
    let image = |text: &str| FileVersion {
        kind: FileKind::File,
        hash: ContentHash::of(text.as_bytes()),
        mode: None,
    };
    let header = SessionHeader {
        session_id: session,
        version: SessionHeader::VERSION,
        cwd: scene.work.clone(),
        model: "test-model".into(),
        provider: "openai".into(),
        forked_from: None,
    };
    let said = LogEntry::Message(MessageEntry::new(Message::user("make it")));
    let mut records = vec![record(0, LogEntry::Session(header)), record(1, said)];
    for (path, after, before) in changed {
        // What they would put there has come along.
        before.map(|before| scene.store.blobs().put(before.as_bytes()).unwrap());
        let (before, after) = (before.map(image), Some(image(after)));
        let change = FileChangeEntry::new(path.clone(), before, after, FileChangeSource::Tool);
        records.push(record(1, LogEntry::FileChange(change)));
    }
    let lines: Vec<String> = records.iter().map(|it| serde_json::to_string(it).unwrap()).collect();
    let file = scene.work.with_file_name("theirs.jsonl");
    std::fs::write(&file, lines.join("\n") + "\n").unwrap();
    let taken = scene.store.import(&file, &scene.work, &|_| None, ImportMode::Write);
    assert_eq!(taken[0].outcome.as_ref().unwrap().session, session);
    scene.open(InitialSession::Resume(session)).await
}

#[tokio::test]
async fn an_imported_session_restores_nothing_outside_or_protected_without_an_answer_of_its_own() {
    let scene = AgentFixture::new();
    let outside = scene.work.with_file_name("outside");
    let (made, link) = (scene.work.with_file_name("made"), scene.work.join("link"));
    std::os::unix::fs::symlink(scene.work.parent().unwrap(), &link).unwrap();
    std::fs::create_dir_all(scene.work.join(".git/hooks")).unwrap();
    let paths = [
        scene.work.join("plain"),
        outside.clone(),
        made.clone(),
        scene.work.join("sub/../../dotted"),
        link.join("linked"),
        scene.work.join(".git/hooks/pre-commit"),
        scene.work.join(".slug/settings.json"),
        scene.home.join("settings.json"),
    ];
    for path in &paths {
        std::fs::create_dir_all(path.parent().unwrap_or(&scene.work)).ok();
        std::fs::create_dir_all(scene.work.join("sub")).unwrap();
        std::fs::create_dir_all(scene.work.join(".slug")).unwrap();
        std::fs::write(path, "{}").unwrap();
    }
    let changed: Vec<_> =
        paths.iter().map(|path| (path.clone(), "{}", (*path != made).then_some("evil"))).collect();
    let mut rig = imported(&scene, &changed).await;
    let read = |path: &PathBuf| std::fs::read_to_string(path).unwrap_or_else(|_| "gone".into());

    let plan = rig.plan(RewindDestination::Last).await.unwrap();
    let marked =
        |path: &PathBuf| plan.files.files.iter().find(|it| it.path == *path).unwrap().place;
    assert!(!marked(&paths[0]).needs_answer());
    for path in &paths[1..] {
        assert!(marked(path).needs_answer(), "{path:?}");
    }
    assert!(marked(&outside).is_outside && marked(&link.join("linked")).is_outside);
    assert_eq!(marked(&paths[5]).protected, Some("what git runs"));
    rig.go(RewindDestination::Last, RewindScope::Files).await;
    let now: Vec<String> = paths.iter().map(read).collect();
    assert_eq!(now[0], "evil", "what is plain goes back");
    assert_eq!(now[1..], ["{}"; 7].map(str::to_owned), "all else stays");
    rig.close().await;
}

#[tokio::test]
async fn what_an_answer_of_its_own_names_is_restored_and_nothing_else() {
    let scene = AgentFixture::new();
    let (one, other) = (scene.work.with_file_name("one"), scene.work.with_file_name("other"));
    for path in [&one, &other] {
        std::fs::write(path, "now").unwrap();
    }
    let changed = [&one, &other].map(|path| (path.clone(), "now", Some("then")));
    let mut rig = imported(&scene, &changed).await;
    let plan = rig.plan(RewindDestination::Last).await.unwrap();
    let mut plan = (*plan).clone();
    plan.files.files[0].toggle_override();
    let what = RewindScope::Files;
    rig.tell(AgentCommand::Rewind { plan: Arc::new(plan), what }).await;
    rig.wait_for("return", |event| matches!(event, AgentEvent::Rewound { .. })).await;
    let read = |path: &PathBuf| std::fs::read_to_string(path).unwrap();
    assert_eq!((read(&one), read(&other)), ("then".to_owned(), "now".to_owned()));

    // Forth again is asked about in the same way.
    rig.go(RewindDestination::Redo, RewindScope::Files).await;
    assert_eq!(read(&one), "then");
    rig.close().await;
}
