//! Tests of the linear front end: from events and lines to printed lines.

mod agents;

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::agent::{
    AddressedCommand, AgentCommand, AgentEvent, AgentEventSender, RewindDestination, RewindError,
    RewindPlan, event_queue,
};
use crate::domain::{
    ApprovalAnswer, ApprovalId, CallDanger, ContentBlock, ContentHash, ContextWindow, DangerFact,
    DangerFacts, EntryId, ModelName, PermissionMode, ToolStatus, TurnId,
};
use crate::providers::RateLimited;
use crate::providers::retry::RetryAttempt;
use crate::services::sessions::{SessionStoreRequest, SessionStoreResponse};
use crate::services::store_query::{StoreQuery, StoreQueryResult};
use crate::session::undo::{self, Alternative, FileAction, FilesPlan, PlannedFile, PlannedRestore};
use crate::session::{
    FileChangeSource, FileKind, LogEntry, RewindScope, ToolResultInfo, TurnOutcome,
};
use crate::tui::app::conversation::status::ConversationStatus;
use crate::tui::app::msg::{FavouriteMark, ModelRow};
use crate::tui::app::settings::ScreenSettings;
use crate::tui::dialogs::linear_page::{LabelledLine, LineLabel};
use crate::tui::executor::{AgentConnection, ExecutorHandles, FrontEndServices};
use crate::tui::runtime::FrontEndExit;
use crate::tui::test_screen::{
    AGENT, TURN, assistant, call, done, question, recorded, result, session, turn_end, user,
};

use super::{
    LabelColoring, LabelledLineWriter, LinearStart, StdinLines, StdinSource, TerminalBell, run,
};

struct FakeLinearServices;

#[async_trait]
impl FrontEndServices for FakeLinearServices {
    async fn sessions(&self, _: SessionStoreRequest) -> Result<SessionStoreResponse, String> {
        Err("The sessions cannot be read.".into())
    }
    async fn pages(&self, _: StoreQuery) -> Result<StoreQueryResult, String> {
        // The answer is no part of what is tested here.
        std::future::pending().await
    }
    async fn models(&self) -> Result<Vec<ModelRow>, String> {
        Ok(["small", "large"]
            .map(|name| ModelRow {
                name: ModelName::new("vllm", name),
                window: None,
                mark: FavouriteMark::None,
            })
            .into())
    }
    async fn status_line(&self, state: String) -> Result<String, String> {
        Ok(state)
    }
    fn copy(&self, _: String) -> BoxFuture<'static, Result<String, String>> {
        Box::pin(async { Ok("Copied".into()) })
    }
    fn edit(&self, text: &str) -> Result<String, String> {
        Ok(text.to_owned())
    }
    fn show_in_pager(&self, _: &str) -> Result<(), String> {
        Ok(())
    }
}

/// The output so far, shared with the loop.
#[derive(Clone, Default)]
struct CapturedOutput(Arc<Mutex<Vec<u8>>>);

impl Write for CapturedOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

struct TestLinearLoop {
    events: AgentEventSender,
    commands: mpsc::Receiver<AddressedCommand>,
    lines: Option<mpsc::Sender<std::io::Result<String>>>,
    interrupts: mpsc::Sender<()>,
    cancelled: Arc<Mutex<usize>>,
    output: CapturedOutput,
    task: tokio::task::JoinHandle<anyhow::Result<FrontEndExit>>,
}

fn test_loop(source: StdinSource) -> TestLinearLoop {
    let (events, events_out) = event_queue(AGENT);
    let (commands_in, commands) = mpsc::channel(8);
    let (lines, stdin_lines) = mpsc::channel(8);
    let (interrupts, interrupts_out) = mpsc::channel(8);
    let cancelled = Arc::new(Mutex::new(0));
    let count = Arc::clone(&cancelled);
    let handles = ExecutorHandles {
        children: Default::default(),
        agents: BTreeMap::from([(
            AGENT,
            AgentConnection {
                commands: commands_in,
                cancel: Arc::new(move || *count.lock().unwrap() += 1),
            },
        )]),
        services: Arc::new(FakeLinearServices),
    };
    let start = LinearStart {
        agent: AGENT,
        settings: ScreenSettings {
            cwd: "/home/me/src/webshop".into(),
            home: Some("/home/me".into()),
            ..ScreenSettings::default()
        },
        status: ConversationStatus { mode: PermissionMode::Ask, ..ConversationStatus::default() },
        history: crate::session::HistoryPage::default(),
        first_message: None,
        interrupts: interrupts_out,
        shutdown: CancellationToken::new(),
        bell: TerminalBell::Silent,
    };
    let output = CapturedOutput::default();
    let writer = LabelledLineWriter::new(output.clone(), LabelColoring::Plain);
    let stdin = StdinLines::new(stdin_lines, source);
    let task = tokio::spawn(run(start, stdin, writer, handles, events_out));
    TestLinearLoop { events, commands, lines: Some(lines), interrupts, cancelled, output, task }
}

impl TestLinearLoop {
    async fn event(&self, event: AgentEvent) {
        self.events.send(event);
    }

    async fn events(&self, events: impl IntoIterator<Item = AgentEvent>) {
        for event in events {
            self.event(event).await;
        }
    }

    /// Opens an empty session with a model.
    async fn opened(self) -> Self {
        let records = Arc::default();
        self.event(AgentEvent::SessionOpened { session: session(), records }).await;
        self.modelled().await
    }

    async fn modelled(self) -> Self {
        let window = ContextWindow::Served(32_000);
        let model = ModelName::new("vllm", "qwen3");
        let model = AgentEvent::ModelChanged { model, effort: None, window, local: true };
        self.event(model).await;
        self.until("You: ").await;
        self
    }

    async fn line(&self, text: &str) {
        self.lines.as_ref().unwrap().send(Ok(text.to_owned())).await.unwrap();
    }

    fn printed(&self) -> String {
        String::from_utf8(self.output.0.lock().unwrap().clone()).unwrap()
    }

    /// Waits until the output contains `text`; fails with all output.
    async fn until(&self, text: &str) {
        let end = tokio::time::Instant::now() + Duration::from_secs(60);
        while !self.printed().contains(text) {
            assert!(tokio::time::Instant::now() < end, "no {text:?} in\n{}", self.printed());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Waits until the output ends with `text`.
    async fn until_last(&self, text: &str) {
        let end = tokio::time::Instant::now() + Duration::from_secs(60);
        while !self.printed().ends_with(text) {
            assert!(tokio::time::Instant::now() < end, "no {text:?} last in\n{}", self.printed());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn command(&mut self) -> AgentCommand {
        let wait = tokio::time::timeout(Duration::from_secs(60), self.commands.recv());
        let addressed = wait.await;
        let addressed =
            addressed.unwrap_or_else(|_| panic!("no command in\n{}", self.printed())).unwrap();
        assert_eq!(addressed.agent, AGENT);
        addressed.command
    }

    /// Ends the input, waits until slug leaves, and returns all output.
    async fn end(mut self) -> String {
        self.lines = None;
        (&mut self.task).await.unwrap().unwrap();
        self.printed()
    }
}

fn ended(outcome: TurnOutcome) -> [AgentEvent; 1] {
    [recorded(&turn_end(outcome))]
}

fn text(text: &str) -> AgentEvent {
    AgentEvent::Text { turn: TURN, text: text.into() }
}

#[tokio::test]
async fn an_answer_is_said_by_whole_lines_and_once() {
    let mut test = test_loop(StdinSource::Pipe).opened().await;
    test.line("why?").await;
    assert_eq!(test.command().await, AgentCommand::Send { text: "why?".into() });
    test.event(AgentEvent::TurnStarted { turn: TURN }).await;
    test.events([recorded(&user("why?")), text("Because.\nIt "), text("was **so**")]).await;
    test.until("slug: Because.\n").await;
    assert!(!test.printed().contains("It"), "{}", test.printed());
    test.event(text(" then.\n\nThe en")).await;
    test.until("It was **so** then.\n").await;
    let whole = "Because.\nIt was **so** then.\n\nThe end.";
    test.event(recorded(&assistant(vec![ContentBlock::Text { text: whole.into() }]))).await;
    test.events(ended(TurnOutcome::Answered)).await;
    test.until_last("The end.\nYou: ").await;
    let output = test.end().await;
    let conversation = &output[output.find("You:").unwrap()..];
    assert_eq!(conversation, "You: why?\nslug: Because.\nIt was **so** then.\n\nThe end.\nYou: \n");
}

#[tokio::test]
async fn a_pause_before_another_try_is_told_once() {
    let test = test_loop(StdinSource::Pipe).opened().await;
    test.event(AgentEvent::TurnStarted { turn: TURN }).await;
    let (turn, reason) = (TURN, "The server is busy.".to_owned());
    let again = Some(RetryAttempt { pause: Duration::from_secs(40), number: 2, of: 5 });
    test.event(AgentEvent::ResponseDropped { turn, reason, again }).await;
    test.until("Warning: The server is busy.\n").await;
    test.until("s (2 of 5). ctrl+c stops.\n").await;
    let held = RateLimited { wait: Duration::from_secs(40), reason: "Slow down.".to_owned() };
    test.event(AgentEvent::RequestRateLimited { turn, held }).await;
    test.until("s for the server. ctrl+c stops.\n").await;
    test.events(ended(TurnOutcome::Interrupted)).await;
    let output = test.end().await;
    assert_eq!(output.matches("Trying again in").count(), 1, "{output}");
}

#[tokio::test]
async fn a_call_is_one_line_when_it_is_over() {
    let test = test_loop(StdinSource::Pipe).opened().await;
    let read = call("c1", "Read", json!({"file_path": "/home/me/src/webshop/a.rs"}));
    let bash = call("c2", "Bash", json!({"command": "cargo test"}));
    let calls = vec![ContentBlock::ToolUse(read.clone()), ContentBlock::ToolUse(bash.clone())];
    test.event(AgentEvent::TurnStarted { turn: TURN }).await;
    test.events([
        recorded(&assistant(calls)),
        AgentEvent::ToolStarted { turn: TURN, call: read },
        AgentEvent::ToolStarted { turn: TURN, call: bash },
        recorded(&result(
            "c2",
            "boom\u{1b}[31m",
            ToolResultInfo {
                status: ToolStatus::Failed,
                summary: Some("exit 1".into()),
                ..done("Bash", 3_100)
            },
        )),
    ])
    .await;
    test.until("Tool: Bash cargo test: failed, exit 1, 3.1 s\n").await;
    assert!(!test.printed().contains("Read"), "{}", test.printed());
    test.event(recorded(&result("c1", "1 fn", done("Read", 3)))).await;
    test.until("Tool: Read a.rs\n").await;
    test.events(ended(TurnOutcome::Failed("No server answers.".into()))).await;
    test.until("Error: No server answers.\n").await;
    let output = test.end().await;
    assert!(!output.contains('\u{1b}'), "{output:?}");
    assert_eq!(output.matches("Tool:").count(), 2, "{output}");
}

#[tokio::test]
async fn a_question_is_asked_in_words_and_answered_by_a_letter() {
    let mut test = test_loop(StdinSource::Pipe).opened().await;
    test.event(AgentEvent::TurnStarted { turn: TURN }).await;
    test.event(question(1, "git status && rm -rf build/")).await;
    test.until_last("Answer: ").await;
    let output = test.printed();
    for line in [
        "Question: Run this command?\n  git status && rm -rf build/\n",
        "  git status: allowed by Bash(git status) in ~/.slug/settings.json:3\n",
        "  rm -rf build/: asked\n",
        "Answers: y Yes; s Yes, and don't ask again for `rm -rf build/` this session; a Always \
         allow `rm -rf build/` …; p Yes, on a terminal, see /jobs; \
         e Edit the command first; n No; d Never allow `rm *` …; t No, \
         and say what to do instead; stop No, and stop the turn.\n",
    ] {
        assert!(output.contains(line), "no {line:?} in\n{output}");
    }
    test.line("maybe").await;
    test.until("Not one of the answers").await;
    test.line("y").await;
    let answer = ApprovalAnswer::Once;
    assert_eq!(test.command().await, AgentCommand::Answer { id: ApprovalId(1), answer });
    test.task.abort();
}

/// The answer to a question that these lines give.
async fn answered(lines: &[&str]) -> ApprovalAnswer {
    let mut test = test_loop(StdinSource::Pipe).opened().await;
    test.event(AgentEvent::TurnStarted { turn: TURN }).await;
    test.event(question(1, "rm -rf build/")).await;
    test.until("Answer: ").await;
    for line in lines {
        test.line(line).await;
    }
    let AgentCommand::Answer { answer, .. } = test.command().await else {
        panic!("{}", test.printed())
    };
    test.task.abort();
    answer
}

#[tokio::test]
async fn every_answer_of_the_dialog_can_be_given() {
    let rules = |rule: &str| vec![rule.to_owned()];
    let edited = |command: &str| ApprovalAnswer::Edited { input: json!({ "command": command }) };
    let deny = |text: &str| ApprovalAnswer::Deny { instruction: Some(text.into()) };
    let own = "Bash(rm -rf build/)";
    let rows: [(&[&str], ApprovalAnswer); 14] = [
        (&["yes"], ApprovalAnswer::Once),
        (&["n"], ApprovalAnswer::Deny { instruction: None }),
        (&["s"], ApprovalAnswer::Session { rules: rules(own) }),
        (&["a", "y"], ApprovalAnswer::Always { rules: rules(own) }),
        (&["a", "Bash(rm -r *)"], ApprovalAnswer::Always { rules: rules("Bash(rm -r *)") }),
        (&["a", "stop", "/quit", "", "y"], ApprovalAnswer::Once),
        (&["d", "", "Y"], ApprovalAnswer::Once),
        (&["a Bash(rm *)"], ApprovalAnswer::Always { rules: rules("Bash(rm *)") }),
        (&["d", "y"], ApprovalAnswer::Never { rule: "Bash(rm *)".into() }),
        (&["e", "rm -r build/"], edited("rm -r build/")),
        (&["e rm -r build/"], edited("rm -r build/")),
        (&["t", "use git clean"], deny("use git clean")),
        (&["t use git clean"], deny("use git clean")),
        (&["e", "", "y"], ApprovalAnswer::Once),
    ];
    for (lines, want) in rows {
        assert_eq!(answered(lines).await, want, "{lines:?}");
    }
}

#[tokio::test]
async fn a_yes_to_all_is_for_those_that_were_read_out() {
    let mut test = test_loop(StdinSource::Pipe).opened().await;
    test.event(AgentEvent::TurnStarted { turn: TURN }).await;
    test.event(question(1, "make")).await;
    test.until_last("Answer: ").await;
    test.event(question(2, "ls")).await;
    test.until("Note: Waiting: $ ls. Y Yes, and to the 1 waiting call.\n").await;
    test.line("Y").await;
    let answer = |id| AgentCommand::Answer { id: ApprovalId(id), answer: ApprovalAnswer::Once };
    assert_eq!([test.command().await, test.command().await], [answer(1), answer(2)]);
    assert_eq!(test.printed().matches("Run this command?").count(), 1, "{}", test.printed());
    test.task.abort();
}

#[tokio::test]
async fn a_line_typed_before_the_question_answers_nothing() {
    let test = test_loop(StdinSource::Terminal).opened().await;
    test.event(AgentEvent::TurnStarted { turn: TURN }).await;
    test.event(question(1, "rm -rf build/")).await;
    test.until_last("Answer: ").await;
    test.line("y").await;
    test.until("came before the question was shown").await;
    test.until_last("Answer: ").await;
    test.task.abort();
}

#[tokio::test]
async fn lines_of_a_pipe_wait_until_they_are_asked_for() {
    let mut test = test_loop(StdinSource::Pipe).opened().await;
    for line in ["clean up", "y", "/quit"] {
        test.line(line).await;
    }
    assert_eq!(test.command().await, AgentCommand::Send { text: "clean up".into() });
    test.event(AgentEvent::TurnStarted { turn: TURN }).await;
    test.event(question(1, "rm -rf build/")).await;
    let answer = ApprovalAnswer::Once;
    assert_eq!(test.command().await, AgentCommand::Answer { id: ApprovalId(1), answer });
    test.events(ended(TurnOutcome::Answered)).await;
    test.until("You: /quit\n").await;
    (&mut test.task).await.unwrap().unwrap();
}

#[tokio::test]
async fn when_lines_end_the_turn_is_seen_through_and_questions_get_a_no() {
    let mut test = test_loop(StdinSource::Pipe).opened().await;
    test.line("clean up").await;
    test.command().await;
    test.lines = None;
    test.event(AgentEvent::TurnStarted { turn: TURN }).await;
    test.event(question(1, "rm -rf build/")).await;
    let answer = ApprovalAnswer::Deny { instruction: None };
    assert_eq!(test.command().await, AgentCommand::Answer { id: ApprovalId(1), answer });
    test.until("Input has ended").await;
    test.events([text("Then not.")]).await;
    test.events(ended(TurnOutcome::Answered)).await;
    (&mut test.task).await.unwrap().unwrap();
    assert!(test.printed().contains("Then not."), "{}", test.printed());
}

#[tokio::test]
async fn ctrl_c_stops_the_turn_and_twice_leaves() {
    let mut test = test_loop(StdinSource::Terminal).opened().await;
    test.event(AgentEvent::TurnStarted { turn: TURN }).await;
    test.event(text("Well,\nnow")).await;
    test.until("Well,\n").await;
    test.line("and another thing").await;
    test.until("Queued until this turn ends.").await;
    test.interrupts.send(()).await.unwrap();
    test.events(ended(TurnOutcome::Interrupted)).await;
    test.until("You stopped the turn.").await;
    assert_eq!(*test.cancelled.lock().unwrap(), 1);
    test.interrupts.send(()).await.unwrap();
    test.until("ctrl+c again to quit").await;
    test.interrupts.send(()).await.unwrap();
    (&mut test.task).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_list_is_numbered_and_a_row_chosen_by_its_number_or_name() {
    let mut test = test_loop(StdinSource::Pipe).opened().await;
    test.line("/model").await;
    test.until("Models:\n1. small\n2. large\nType a number, or an empty line to go back.\n").await;
    test.line("7").await;
    test.until("No row has that number").await;
    test.line("2").await;
    assert_eq!(test.command().await, AgentCommand::UseModel(ModelName::new("vllm", "large")));
    test.line("/mode").await;
    test.line("plan").await;
    assert_eq!(test.command().await, AgentCommand::SetMode(PermissionMode::Plan));
    test.line("/mode").await;
    test.line("").await;
    test.line("/sessions").await;
    test.until("Error: The sessions cannot be read.\n").await;
    test.task.abort();
}

#[tokio::test]
async fn pages_are_read_out() {
    let test = test_loop(StdinSource::Pipe).opened().await;
    test.line("/help").await;
    test.until("/quit: quit slug\n").await;
    test.line("/diff").await;
    test.until("This session has not changed anything yet.\n").await;
    test.line("/todos").await;
    test.until("No plan yet.").await;
    test.line("/nonsense").await;
    test.until("Error: There is no command /nonsense.").await;
    test.end().await;
}

#[tokio::test]
async fn a_session_that_is_resumed_has_its_end_read_out() {
    let test = test_loop(StdinSource::Pipe);
    let answer = |text: &str| assistant(vec![ContentBlock::Text { text: text.into() }]);
    let records = vec![user("first"), answer("old news"), user("and now?"), answer("Now\nthis.")];
    let records = Arc::new(records);
    test.event(AgentEvent::SessionOpened { session: session(), records }).await;
    let output = test.modelled().await.end().await;
    assert!(
        output.contains(
            "Showing its end, after 2 earlier entries.\nYou: and now?\nslug: Now\nthis.\n"
        ),
        "{output}"
    );
    assert!(!output.contains("old news"), "{output}");
}

#[tokio::test]
async fn the_output_of_a_users_own_command_is_read_out() {
    let mut test = test_loop(StdinSource::Pipe).opened().await;
    test.line("!ls").await;
    assert_eq!(test.command().await, AgentCommand::Shell { command: "ls".into() });
    let ls = call("s1", "Bash", json!({"command": "ls"}));
    test.event(AgentEvent::ToolStarted { turn: TurnId(0), call: ls }).await;
    let output = "a.rs\n\x1b[32mb.rs\x1b[0m\n";
    let mut ran = user("");
    if let LogEntry::Message(message) = &mut ran.entry {
        let text = format!("$ ls\n{output}");
        message.content = vec![ContentBlock::Context { name: "shell".into(), text }];
        let display = Some(crate::domain::ToolDisplay::Terminal { text: output.into() });
        message.result = Some(ToolResultInfo { display, ..done("Bash", 4) });
    }
    test.event(recorded(&ran)).await;
    test.until("Tool: Bash ls\na.rs\nb.rs\n").await;
    test.end().await;
}

#[test]
fn labels_have_colours_only_where_they_are_wanted() {
    let lines = [LabelledLine::new(LineLabel::Error, "x")];
    let write = |paint| {
        let output = CapturedOutput::default();
        LabelledLineWriter::new(output.clone(), paint).write_lines(&lines).unwrap();
        String::from_utf8(output.0.lock().unwrap().clone()).unwrap()
    };
    assert_eq!(write(LabelColoring::Plain), "Error: x\n");
    assert_eq!(write(LabelColoring::Labels), "\x1b[31mError:\x1b[0m x\n");
}

#[tokio::test]
async fn a_rewind_is_answered_by_numbers() {
    let mut test = test_loop(StdinSource::Pipe).opened().await;
    test.line("/undo").await;
    assert_eq!(test.command().await, AgentCommand::PlanRewind(RewindDestination::Last));
    let image = |bytes| crate::session::FileVersion {
        kind: FileKind::File,
        hash: ContentHash::of(bytes),
        mode: None,
    };
    let back = FileAction::Put(PlannedRestore {
        version: image(b"x"),
        bytes: b"x".to_vec(),
        is_merged: false,
    });
    let file = PlannedFile {
        path: "/home/me/src/webshop/notes.md".into(),
        now: Some(image(b"y")),
        place: undo::FilePlace::default(),
        by: FileChangeSource::Tool,
        action: FileAction::Skip(undo::SkipReason::SameLines),
        lines: None,
        alternative: Some(Alternative { action: back, lines: None }),
    };
    let before = EntryId::generate();
    let mut plan = RewindPlan {
        to: RewindDestination::Before(before),
        before,
        message: "go".into(),
        offers: vec![RewindScope::Both, RewindScope::Files, RewindScope::Conversation],
        messages: 2,
        files: FilesPlan { files: vec![file], not_covered: Vec::new() },
    };
    test.event(AgentEvent::RewindPlanned(Ok(Arc::new(plan.clone())))).await;
    test.until("1 conversation only\n").await;
    test.until("2 notes.md: restore it anyway; /redo restores your version\n").await;
    test.line("2").await;
    test.until("1 files and conversation\n").await;
    test.until("4 notes.md: skip it\n").await;
    test.line("1").await;
    plan.files.files[0].toggle_override();
    let wanted = AgentCommand::Rewind { plan: Arc::new(plan), what: RewindScope::Both };
    assert_eq!(test.command().await, wanted);
    test.event(AgentEvent::RewindPlanned(Err(RewindError::Log("The disk is gone.".into())))).await;
    test.until("The disk is gone.").await;
    test.end().await;
}

#[tokio::test]
async fn a_session_whose_last_message_was_not_answered_says_so() {
    let linear = test_loop(StdinSource::Terminal);
    let records = Arc::new(vec![user("Rename the cart.")]);
    linear.event(AgentEvent::SessionOpened { session: session(), records }).await;
    linear.until("slug ended before your last message was answered.").await;
    linear.end().await;
}

#[tokio::test]
async fn facts_are_said_when_they_are_there_and_the_question_is_not_said_again() {
    let linear = test_loop(StdinSource::Terminal).opened().await;
    linear.event(AgentEvent::TurnStarted { turn: TURN }).await;
    let AgentEvent::ApprovalAsked(mut request) = question(1, "rm -rf build") else { panic!() };
    request.dangers = vec![CallDanger::DeletesFiles];
    request.facts = DangerFacts::Pending;
    linear.event(AgentEvent::ApprovalAsked(request)).await;
    linear.until("Answer: ").await;
    let before = linear.printed();
    assert!(before.contains("Danger: Deletes files.\n"), "{before}");
    let files = DangerFact::Files { count: 2, bytes: 10, tracked: Some(2), is_partial: false };
    linear.event(AgentEvent::ApprovalFacts { id: ApprovalId(1), facts: vec![files] }).await;
    linear.until("Warning: Deletes files: 2 files, 10 bytes, all in git.").await;
    let after = linear.printed();
    assert_eq!(after.matches("Run this command?").count(), 1, "{after}");
    linear.events(ended(TurnOutcome::Interrupted)).await;
    linear.end().await;
}
