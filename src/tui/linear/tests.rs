//! The conversation without a screen, from events and lines to words.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::agent::{AgentCommand, AgentEvent, RewindDestination, RewindPlan};
use crate::domain::{
    ApprovalAnswer, ApprovalId, ContentBlock, ContentHash, ContextWindow, EntryId, MessageImage,
    ModelName, PermissionMode, SessionId, TokenUsage, ToolStatus, TurnId, UserInput,
};
use crate::platform::graphics::{GraphicsCanvas, SizeInCells};
use crate::providers::RateLimited;
use crate::providers::retry::RetryAttempt;
use crate::session::undo::{self, Alternative, FileAction, FilesPlan, PlannedFile, PlannedRestore};
use crate::session::{
    FileChangeSource, FileKind, KindFolds, RewindScope, SessionFolds, SessionSearchResult,
    ToolResultInfo, TurnOutcome,
};
use crate::tui::app::hooks::{HookAdminRequest, HookAdminResponse};
use crate::tui::app::images::{ImageLoadResult, ImageSource};
use crate::tui::app::model::ScreenSettings;
use crate::tui::app::msg::{FavouriteMark, ModelRow};
use crate::tui::app::sessions::{SessionStoreRequest, SessionStoreResponse};
use crate::tui::app::status::{GitSummary, ScreenStatus};
use crate::tui::app::store_queries::{StoreQuery, StoreQueryResult};
use crate::tui::executor::{ExecutorHandles, FrontEndServices};
use crate::tui::picture_cells::TerminalPicture;
use crate::tui::runtime::FrontEndExit;
use crate::tui::test_screen::{
    TURN, assistant, call, done, question, recorded, result, session, turn_end, user,
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
    async fn search_sessions(
        &self,
        _: String,
        _: Arc<[SessionId]>,
        _: mpsc::Sender<SessionSearchResult>,
    ) {
    }
    async fn pages(&self, _: StoreQuery) -> Result<StoreQueryResult, String> {
        // The answer is no part of what is tested here.
        std::future::pending().await
    }
    async fn hooks(&self, _: HookAdminRequest) -> Result<HookAdminResponse, String> {
        Err("not in this test".into())
    }
    async fn keep_folds(&self, _: SessionId, _: SessionFolds) -> Result<(), String> {
        Ok(())
    }
    async fn toggle_favourite(&self, _: ModelName) -> Result<(), String> {
        Ok(())
    }

    async fn keep_kinds(&self, _: KindFolds) -> Result<(), String> {
        Ok(())
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
    async fn files(&self) -> Vec<String> {
        Vec::new()
    }
    async fn history(&self, _: u64) -> Result<crate::session::HistoryPage, String> {
        Ok(crate::session::HistoryPage::default())
    }
    async fn count_lines(&self, _: String) -> Option<u64> {
        None
    }
    async fn list_folder(&self, _: String) -> Vec<String> {
        Vec::new()
    }
    async fn git(&self) -> Option<GitSummary> {
        None
    }
    async fn picture(
        &self,
        _: GraphicsCanvas,
        _: u32,
        _: MessageImage,
        _: SizeInCells,
    ) -> Result<TerminalPicture, String> {
        Err("not in this test".into())
    }
    async fn take_image(&self, _: ImageSource) -> Result<ImageLoadResult, String> {
        Ok(ImageLoadResult::Nothing)
    }
    async fn save_draft(&self, _: UserInput) -> Result<(), String> {
        Ok(())
    }
    async fn add_history(&self, _: UserInput) -> Result<(), String> {
        Ok(())
    }
    async fn status_line(&self, state: String) -> Result<String, String> {
        Ok(state)
    }
    async fn themes(&self) -> crate::tui::theme::ThemeLibrary {
        crate::tui::theme::ThemeLibrary::default()
    }
    async fn keep_theme(&self, _: crate::config::ThemeChoice) -> Result<(), String> {
        Ok(())
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

/// What was said, for all to read.
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
    events: mpsc::Sender<AgentEvent>,
    commands: mpsc::Receiver<AgentCommand>,
    lines: Option<mpsc::Sender<std::io::Result<String>>>,
    interrupts: mpsc::Sender<()>,
    cancelled: Arc<Mutex<usize>>,
    output: CapturedOutput,
    task: tokio::task::JoinHandle<anyhow::Result<FrontEndExit>>,
}

fn test_loop(hand: StdinSource) -> TestLinearLoop {
    let (events, events_out) = mpsc::channel(64);
    let (commands_in, commands) = mpsc::channel(8);
    let (lines, heard) = mpsc::channel(8);
    let (interrupts, interrupts_out) = mpsc::channel(8);
    let cancelled = Arc::new(Mutex::new(0));
    let count = Arc::clone(&cancelled);
    let handles = ExecutorHandles {
        commands: commands_in,
        cancel: Arc::new(move || *count.lock().unwrap() += 1),
        services: Arc::new(FakeLinearServices),
    };
    let start = LinearStart {
        settings: ScreenSettings {
            cwd: "/home/me/src/webshop".into(),
            home: Some("/home/me".into()),
            ..ScreenSettings::default()
        },
        status: ScreenStatus { mode: PermissionMode::Ask, ..ScreenStatus::default() },
        history: crate::session::HistoryPage::default(),
        interrupts: interrupts_out,
        shutdown: CancellationToken::new(),
        bell: TerminalBell::Silent,
    };
    let paper = CapturedOutput::default();
    let voice = LabelledLineWriter::new(paper.clone(), LabelColoring::Plain);
    let ears = StdinLines::new(heard, hand);
    let task = tokio::spawn(run(start, ears, voice, handles, events_out));
    TestLinearLoop {
        events,
        commands,
        lines: Some(lines),
        interrupts,
        cancelled,
        output: paper,
        task,
    }
}

impl TestLinearLoop {
    async fn event(&self, event: AgentEvent) {
        self.events.send(event).await.unwrap();
    }

    async fn events(&self, events: impl IntoIterator<Item = AgentEvent>) {
        for event in events {
            self.event(event).await;
        }
    }

    /// An empty session with a model.
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

    fn said(&self) -> String {
        String::from_utf8(self.output.0.lock().unwrap().clone()).unwrap()
    }

    /// Waits until this was said; fails with all that was said.
    async fn until(&self, text: &str) {
        let end = tokio::time::Instant::now() + Duration::from_secs(60);
        while !self.said().contains(text) {
            assert!(tokio::time::Instant::now() < end, "no {text:?} in\n{}", self.said());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Waits until this was said last.
    async fn until_last(&self, text: &str) {
        let end = tokio::time::Instant::now() + Duration::from_secs(60);
        while !self.said().ends_with(text) {
            assert!(tokio::time::Instant::now() < end, "no {text:?} last in\n{}", self.said());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn command(&mut self) -> AgentCommand {
        let wait = tokio::time::timeout(Duration::from_secs(60), self.commands.recv());
        wait.await.unwrap_or_else(|_| panic!("no command in\n{}", self.said())).unwrap()
    }

    /// No more lines: it leaves by itself. All that was said.
    async fn end(mut self) -> String {
        self.lines = None;
        (&mut self.task).await.unwrap().unwrap();
        self.said()
    }
}

fn ended(outcome: TurnOutcome) -> [AgentEvent; 2] {
    [
        recorded(&turn_end(outcome.clone())),
        AgentEvent::TurnEnded { turn: TURN, outcome, usage: TokenUsage::default() },
    ]
}

fn text(text: &str) -> AgentEvent {
    AgentEvent::Text { turn: TURN, text: text.into() }
}

#[tokio::test]
async fn an_answer_is_said_by_whole_lines_and_once() {
    let mut rig = test_loop(StdinSource::Pipe).opened().await;
    rig.line("why?").await;
    assert_eq!(rig.command().await, AgentCommand::Send { text: "why?".into() });
    rig.event(AgentEvent::TurnStarted { turn: TURN }).await;
    rig.events([recorded(&user("why?")), text("Because.\nIt "), text("was **so**")]).await;
    rig.until("slug: Because.\n").await;
    assert!(!rig.said().contains("It"), "{}", rig.said());
    rig.event(text(" then.\n\nThe en")).await;
    rig.until("It was **so** then.\n").await;
    let whole = "Because.\nIt was **so** then.\n\nThe end.";
    rig.event(recorded(&assistant(vec![ContentBlock::Text { text: whole.into() }]))).await;
    rig.events(ended(TurnOutcome::Answered)).await;
    rig.until_last("The end.\nYou: ").await;
    let said = rig.end().await;
    let talk = &said[said.find("You:").unwrap()..];
    assert_eq!(talk, "You: why?\nslug: Because.\nIt was **so** then.\n\nThe end.\nYou: \n");
}

#[tokio::test]
async fn a_pause_before_another_try_is_told_once() {
    let rig = test_loop(StdinSource::Pipe).opened().await;
    rig.event(AgentEvent::TurnStarted { turn: TURN }).await;
    let (turn, reason) = (TURN, "The server is busy.".to_owned());
    let again = Some(RetryAttempt { pause: Duration::from_secs(40), number: 2, of: 5 });
    rig.event(AgentEvent::ResponseDropped { turn, reason, again }).await;
    rig.until("Warning: The server is busy.\n").await;
    rig.until("s (2 of 5). ctrl+c stops.\n").await;
    let held = RateLimited { wait: Duration::from_secs(40), reason: "Slow down.".to_owned() };
    rig.event(AgentEvent::RequestRateLimited { turn, held }).await;
    rig.until("s for the server. ctrl+c stops.\n").await;
    rig.events(ended(TurnOutcome::Interrupted)).await;
    let said = rig.end().await;
    assert_eq!(said.matches("Trying again in").count(), 1, "{said}");
}

#[tokio::test]
async fn a_call_is_one_line_when_it_is_over() {
    let rig = test_loop(StdinSource::Pipe).opened().await;
    let read = call("c1", "Read", json!({"file_path": "/home/me/src/webshop/a.rs"}));
    let bash = call("c2", "Bash", json!({"command": "cargo test"}));
    let calls = vec![ContentBlock::ToolUse(read.clone()), ContentBlock::ToolUse(bash.clone())];
    rig.event(AgentEvent::TurnStarted { turn: TURN }).await;
    rig.events([
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
    rig.until("Tool: Bash cargo test: failed, exit 1, 3.1s\n").await;
    assert!(!rig.said().contains("Read"), "{}", rig.said());
    rig.event(recorded(&result("c1", "1 fn", done("Read", 3)))).await;
    rig.until("Tool: Read a.rs: 3 ms\n").await;
    rig.events(ended(TurnOutcome::Failed("No server answers.".into()))).await;
    rig.until("Error: No server answers.\n").await;
    let said = rig.end().await;
    assert!(!said.contains('\u{1b}'), "{said:?}");
    assert_eq!(said.matches("Tool:").count(), 2, "{said}");
}

#[tokio::test]
async fn a_question_is_asked_in_words_and_answered_by_a_letter() {
    let mut rig = test_loop(StdinSource::Pipe).opened().await;
    rig.event(AgentEvent::TurnStarted { turn: TURN }).await;
    rig.event(question(1, "git status && rm -rf build/")).await;
    rig.until_last("Answer: ").await;
    let said = rig.said();
    for line in [
        "Question: may Bash run this?\n  git status && rm -rf build/\nin ~/src/webshop\n",
        "  git status: allowed by Bash(git status) in ~/.slug/settings.json:3\n",
        "  rm -rf build/: no rule\n",
        "Answers: y yes, once; n no; s yes, for this session; a yes, always for Bash(rm -rf \
         build/), kept in ~/.slug/settings.json; d no, always for Bash(rm *); e edit the command; \
         t no, and tell it what to do instead.\n",
    ] {
        assert!(said.contains(line), "no {line:?} in\n{said}");
    }
    rig.line("maybe").await;
    rig.until("none of the answers").await;
    rig.line("y").await;
    let answer = ApprovalAnswer::Once;
    assert_eq!(rig.command().await, AgentCommand::Answer { id: ApprovalId(1), answer });
    rig.task.abort();
}

/// What a line makes of a question.
async fn answered(lines: &[&str]) -> ApprovalAnswer {
    let mut rig = test_loop(StdinSource::Pipe).opened().await;
    rig.event(AgentEvent::TurnStarted { turn: TURN }).await;
    rig.event(question(1, "rm -rf build/")).await;
    rig.until("Answer: ").await;
    for line in lines {
        rig.line(line).await;
    }
    let AgentCommand::Answer { answer, .. } = rig.command().await else { panic!("{}", rig.said()) };
    rig.task.abort();
    answer
}

#[tokio::test]
async fn every_answer_of_the_dialog_can_be_given() {
    let rules = |rule: &str| vec![rule.to_owned()];
    let edited = |command: &str| ApprovalAnswer::Edited { input: json!({ "command": command }) };
    let deny = |text: &str| ApprovalAnswer::Deny { instruction: Some(text.into()) };
    let own = "Bash(rm -rf build/)";
    let rows: [(&[&str], ApprovalAnswer); 11] = [
        (&["yes"], ApprovalAnswer::Once),
        (&["n"], ApprovalAnswer::Deny { instruction: None }),
        (&["s"], ApprovalAnswer::Session { rules: rules(own) }),
        (&["a"], ApprovalAnswer::Always { rules: rules(own) }),
        (&["a Bash(rm *)"], ApprovalAnswer::Always { rules: rules("Bash(rm *)") }),
        (&["d"], ApprovalAnswer::Never { rule: "Bash(rm *)".into() }),
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
async fn a_line_typed_before_the_question_answers_nothing() {
    let rig = test_loop(StdinSource::Terminal).opened().await;
    rig.event(AgentEvent::TurnStarted { turn: TURN }).await;
    rig.event(question(1, "rm -rf build/")).await;
    rig.until_last("Answer: ").await;
    rig.line("y").await;
    rig.until("came before the question could be read").await;
    rig.until_last("Answer: ").await;
    rig.task.abort();
}

#[tokio::test]
async fn lines_of_a_pipe_wait_until_they_are_asked_for() {
    let mut rig = test_loop(StdinSource::Pipe).opened().await;
    for line in ["clean up", "y", "/quit"] {
        rig.line(line).await;
    }
    assert_eq!(rig.command().await, AgentCommand::Send { text: "clean up".into() });
    rig.event(AgentEvent::TurnStarted { turn: TURN }).await;
    rig.event(question(1, "rm -rf build/")).await;
    let answer = ApprovalAnswer::Once;
    assert_eq!(rig.command().await, AgentCommand::Answer { id: ApprovalId(1), answer });
    rig.events(ended(TurnOutcome::Answered)).await;
    rig.until("You: /quit\n").await;
    (&mut rig.task).await.unwrap().unwrap();
}

#[tokio::test]
async fn when_lines_end_the_turn_is_seen_through_and_questions_get_a_no() {
    let mut rig = test_loop(StdinSource::Pipe).opened().await;
    rig.line("clean up").await;
    rig.command().await;
    rig.lines = None;
    rig.event(AgentEvent::TurnStarted { turn: TURN }).await;
    rig.event(question(1, "rm -rf build/")).await;
    let answer = ApprovalAnswer::Deny { instruction: None };
    assert_eq!(rig.command().await, AgentCommand::Answer { id: ApprovalId(1), answer });
    rig.until("Nobody is there to answer").await;
    rig.events([text("Then not.")]).await;
    rig.events(ended(TurnOutcome::Answered)).await;
    (&mut rig.task).await.unwrap().unwrap();
    assert!(rig.said().contains("Then not."), "{}", rig.said());
}

#[tokio::test]
async fn ctrl_c_stops_the_turn_and_twice_leaves() {
    let mut rig = test_loop(StdinSource::Terminal).opened().await;
    rig.event(AgentEvent::TurnStarted { turn: TURN }).await;
    rig.event(text("Well,\nnow")).await;
    rig.until("Well,\n").await;
    rig.line("and another thing").await;
    rig.until("That waits for the end of this turn.").await;
    rig.interrupts.send(()).await.unwrap();
    rig.events(ended(TurnOutcome::Interrupted)).await;
    rig.until("Stopped by you.").await;
    assert_eq!(*rig.cancelled.lock().unwrap(), 1);
    rig.interrupts.send(()).await.unwrap();
    rig.until("ctrl+c again leaves slug").await;
    rig.interrupts.send(()).await.unwrap();
    (&mut rig.task).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_list_is_numbered_and_a_row_chosen_by_its_number_or_name() {
    let mut rig = test_loop(StdinSource::Pipe).opened().await;
    rig.line("/model").await;
    rig.until("Models:\n1. small\n2. large\nType a number, or an empty line to go back.\n").await;
    rig.line("7").await;
    rig.until("No row has that number").await;
    rig.line("2").await;
    assert_eq!(rig.command().await, AgentCommand::UseModel(ModelName::new("vllm", "large")));
    rig.line("/mode").await;
    rig.line("plan").await;
    assert_eq!(rig.command().await, AgentCommand::SetMode(PermissionMode::Plan));
    rig.line("/mode").await;
    rig.line("").await;
    rig.line("/sessions").await;
    rig.until("Error: The sessions cannot be read.\n").await;
    rig.task.abort();
}

#[tokio::test]
async fn pages_are_read_out() {
    let rig = test_loop(StdinSource::Pipe).opened().await;
    rig.line("/help").await;
    rig.until("/quit: leave slug\n").await;
    rig.line("/diff").await;
    rig.until("This session has changed nothing so far.\n").await;
    rig.line("/todos").await;
    rig.until("There is no plan.").await;
    rig.line("/nonsense").await;
    rig.until("Error: There is no command /nonsense.").await;
    rig.end().await;
}

#[tokio::test]
async fn a_session_that_is_resumed_has_its_end_read_out() {
    let rig = test_loop(StdinSource::Pipe);
    let answer = |text: &str| assistant(vec![ContentBlock::Text { text: text.into() }]);
    let records = vec![user("first"), answer("old news"), user("and now?"), answer("Now\nthis.")];
    let records = Arc::new(records);
    rig.event(AgentEvent::SessionOpened { session: session(), records }).await;
    let said = rig.modelled().await.end().await;
    assert!(
        said.contains("This is its end, after 2 earlier parts.\nYou: and now?\nslug: Now\nthis.\n"),
        "{said}"
    );
    assert!(!said.contains("old news"), "{said}");
}

#[tokio::test]
async fn the_output_of_a_persons_own_command_is_read_out() {
    let mut rig = test_loop(StdinSource::Pipe).opened().await;
    rig.line("!ls").await;
    assert_eq!(rig.command().await, AgentCommand::Shell { command: "ls".into() });
    let ls = call("s1", "Bash", json!({"command": "ls"}));
    rig.event(AgentEvent::ToolStarted { turn: TurnId(0), call: ls }).await;
    let display =
        crate::domain::ToolDisplay::Terminal { text: "a.rs\n\x1b[32mb.rs\x1b[0m\n".into() };
    rig.event(AgentEvent::ToolEnded {
        turn: TurnId(0),
        call: crate::domain::CallId::new("s1"),
        status: ToolStatus::Done,
        display: Some(display),
        summary: None,
        elapsed: Duration::from_millis(4),
    })
    .await;
    rig.until("Tool: Bash ls: 4 ms\na.rs\nb.rs\n").await;
    rig.end().await;
}

#[test]
fn labels_have_colours_only_where_they_are_wanted() {
    let said = [super::line_writer::LabelledLine::new(super::line_writer::LineLabel::Error, "x")];
    let write = |paint| {
        let paper = CapturedOutput::default();
        LabelledLineWriter::new(paper.clone(), paint).write_lines(&said).unwrap();
        String::from_utf8(paper.0.lock().unwrap().clone()).unwrap()
    };
    assert_eq!(write(LabelColoring::Plain), "Error: x\n");
    assert_eq!(write(LabelColoring::Labels), "\x1b[31mError:\x1b[0m x\n");
}

#[tokio::test]
async fn what_going_back_would_do_is_answered_by_numbers() {
    let mut rig = test_loop(StdinSource::Pipe).opened().await;
    rig.line("/undo").await;
    assert_eq!(rig.command().await, AgentCommand::PlanRewind(RewindDestination::Last));
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
    rig.event(AgentEvent::RewindPlanned(Ok(Arc::new(plan.clone())))).await;
    rig.until("1 conversation only\n").await;
    rig.until("2 notes.md: take it back all the same; yours is kept\n").await;
    rig.line("2").await;
    rig.until("1 files and conversation\n").await;
    rig.until("4 notes.md: leave it as it is\n").await;
    rig.line("1").await;
    plan.files.files[0].toggle_override();
    let wanted = AgentCommand::Rewind { plan: Arc::new(plan), what: RewindScope::Both };
    assert_eq!(rig.command().await, wanted);
    rig.event(AgentEvent::RewindPlanned(Err("The disk is gone.".into()))).await;
    rig.until("The disk is gone.").await;
    rig.end().await;
}
