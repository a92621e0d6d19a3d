//! Commands and events are plain values: each kind of them survives the way through JSON.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::context::{
    InstructionGroup, InstructionReport, InstructionRow, InstructionState, RememberLevel,
};
use crate::domain::{
    AgentId, ApprovalAnswer, ApprovalId, ApprovalKind, ApprovalRequest, CallDanger, CallId,
    CallInput, ContextWindow, DangerFact, DangerFacts, EntryId, ExitCause, FileDiff, FollowedJobs,
    FollowedOutput, HeldModifiers, JobEnd, JobId, JobInfo, JobReport, Message, ModelName,
    MouseAction, NoticeLevel, PermissionMode, QuestionAnswer, QuestionOption, QuestionRequest,
    ReasoningEffort, RuleFile, SessionId, SubagentState, SubagentSummary, TaskId, TaskItem,
    TerminalButton, TerminalColor, TerminalFrame, TerminalInput, TerminalKey, TerminalKeyPress,
    TerminalMouse, TerminalRun, TerminalSize, TerminalStyle, TodoItem, TodoStatus, ToolCall,
    TurnId, UserInput, UserQuestion,
};
use crate::permissions::RuleListReport;
use crate::permissions::store::RuleSaveError;
use crate::providers::retry::RetryAttempt;
use crate::providers::{ModelInfo, ModelLoading, PrefillProgress, ProviderFault, RateLimited};
use crate::session::undo::{
    FileAction, FilePlace, FileRejection, FilesPlan, PlannedFile, PlannedRestore, ReviewFiles,
    ReviewedChange, ReviewedContent, ReviewedFile, SkipReason,
};
use crate::session::{
    ContextAction, ContextItem, ContextPart, FileChangeSource, FileKind, FileVersion, LogEntry,
    LogRecord, MessageEntry, RewindScope,
};
use crate::skills::{PromptFileRow, PromptLibraryReport};

use super::{
    AgentCommand, AgentEvent, CommandRefusal, ContextEditError, ContextLedger, ContextReply,
    ContextRequest, ContextSource, ForkPosition, LedgerItem, LedgerItemState, LedgerSource,
    MemoryReply, MemoryRequest, MemoryText, ReviewPlan, ReviewScope, RewindDestination,
    RewindError, RewindPlan, RuleChangeError, RuleReply, RuleRequest, RuleTestError, SteerId,
};

const TURN: TurnId = TurnId(7);

fn record() -> LogRecord {
    let timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
    let entry = LogEntry::Message(MessageEntry::new(Message::user("hello")));
    LogRecord { id: EntryId::generate(), timestamp, turn: TURN, entry }
}

fn call() -> ToolCall {
    let input = CallInput::Valid(json!({"command": "cargo test"}));
    ToolCall { id: CallId::new("c1"), name: "Bash".into(), input }
}

fn plan() -> Arc<RewindPlan> {
    let version = |bytes: &[u8]| FileVersion {
        kind: FileKind::File,
        hash: crate::domain::ContentHash::of(bytes),
        mode: Some(0o644),
    };
    let protected = Some("what git runs".into());
    let put = PlannedRestore {
        version: version(b"\xff\x00a"),
        bytes: b"\xff\x00a".to_vec(),
        is_merged: true,
    };
    let file = PlannedFile {
        path: "/w/.git/config".into(),
        now: Some(version(b"b")),
        place: FilePlace { is_outside: true, protected, is_one_of_links: false },
        by: FileChangeSource::Tool,
        action: FileAction::Put(put),
        lines: Some((1, 2)),
        alternative: None,
    };
    Arc::new(RewindPlan {
        to: RewindDestination::Before(EntryId::generate()),
        before: EntryId::generate(),
        message: "go".into(),
        offers: vec![RewindScope::Both],
        messages: 3,
        files: FilesPlan { files: vec![file], not_covered: Vec::new() },
    })
}

fn review() -> Arc<ReviewPlan> {
    let diff = Arc::new(FileDiff::between("/w/a", "1\n", "2\n"));
    let file = ReviewedFile {
        path: "/w/a".into(),
        place: FilePlace::default(),
        by: FileChangeSource::Command,
        before: None,
        after: None,
        now: None,
        content: ReviewedContent::Text {
            diff,
            changes: vec![ReviewedChange::Conflict(SkipReason::SameLines)],
        },
    };
    Arc::new(ReviewPlan {
        scope: ReviewScope::Turn(TURN),
        title: "go".into(),
        earlier: None,
        later: Some(TurnId(9)),
        changes: ReviewFiles { files: vec![file], not_covered: Vec::new() },
    })
}

fn approval() -> ApprovalRequest {
    ApprovalRequest {
        id: ApprovalId(3),
        turn: TURN,
        call: CallId::new("c1"),
        tool: "Edit".into(),
        input: json!({"file_path": "a"}),
        cwd: "/w".into(),
        kind: ApprovalKind::Permission,
        reason: "No rule allows it.".into(),
        parts: Vec::new(),
        allow_rules: vec!["Edit(a)".into()],
        deny_rule: Some("Edit(a)".into()),
        rule_file: RuleFile(PathBuf::from("/w/.slug/settings.json")),
        preview: Some(FileDiff::between("a", "1\n", "2\n")),
        other_previews: vec![FileDiff::between("b", "1\n", "2\n")],
        dangers: vec![CallDanger::ProtectedPlace],
        facts: DangerFacts::Pending,
    }
}

fn questions() -> QuestionRequest {
    let option = QuestionOption {
        label: "This".into(),
        description: Some("it is small".into()),
        preview: Some("fn this() {}".into()),
    };
    let question = UserQuestion {
        question: "Which one?".into(),
        header: "Choice".into(),
        options: vec![option],
        allows_several: true,
        document: Some("1. This".into()),
        server: Some("notes".into()),
    };
    QuestionRequest {
        id: ApprovalId(4),
        turn: TURN,
        call: CallId::new("c2"),
        questions: vec![question],
    }
}

fn context_item() -> ContextItem {
    ContextItem { entry: EntryId::generate(), part: ContextPart::Result }
}

fn ledger() -> ContextLedger {
    let item = LedgerItem {
        item: Some(context_item()),
        name: "Read".into(),
        about: "a.rs".into(),
        tokens: 900,
        behind: 40,
        turns_ago: Some(2),
        state: LedgerItemState::Pinned,
        can_fold: true,
        can_pin: true,
    };
    let source = LedgerSource {
        kind: ContextSource::ToolResults,
        path: None,
        tokens: 900,
        items: vec![item],
    };
    ContextLedger {
        used: 940,
        is_estimate: true,
        window: ContextWindow::Served(8192),
        compacts_at: 5000,
        reserve: 1024,
        sources: vec![source],
    }
}

/// Every kind of command.
pub(super) fn commands() -> Vec<AgentCommand> {
    let session = SessionId::generate();
    let text = UserInput::from("hello");
    vec![
        AgentCommand::Send { text: text.clone() },
        AgentCommand::Steer { id: SteerId(1), text },
        AgentCommand::WithdrawSteer { id: SteerId(1) },
        AgentCommand::Answer { id: ApprovalId(3), answer: ApprovalAnswer::Once },
        AgentCommand::AnswerQuestions {
            id: ApprovalId(4),
            answers: vec![QuestionAnswer {
                chosen: vec![0],
                text: Some("and that".into()),
                document: Some("1. That".into()),
            }],
        },
        AgentCommand::Shell { command: "ls".into() },
        AgentCommand::Retry,
        AgentCommand::Compact { focus: Some("the API".into()) },
        AgentCommand::UndoCompaction,
        AgentCommand::NewSession,
        AgentCommand::Resume { session },
        AgentCommand::Fork { session, at: ForkPosition::After(EntryId::generate()) },
        AgentCommand::ForkAgent { text: "look there".into() },
        AgentCommand::Race { typed: "qwen3 why".into() },
        AgentCommand::TakeAnswer { agent: AgentId(9) },
        AgentCommand::PlanRewind(RewindDestination::Last),
        AgentCommand::Rewind { plan: plan(), what: RewindScope::Files },
        AgentCommand::PlanReview(ReviewScope::LastTurn),
        AgentCommand::UndoCall { call: CallId::new("c1") },
        AgentCommand::Reject {
            plan: review(),
            rejected: vec![FileRejection {
                path: "/w/a".into(),
                changes: [0].into_iter().collect(),
            }],
        },
        AgentCommand::SetMode(PermissionMode::Plan),
        AgentCommand::SetModel("qwen".into()),
        AgentCommand::UseModel(ModelName::new("local", "qwen")),
        AgentCommand::SetEffort(Some(ReasoningEffort::High)),
        AgentCommand::SetTitle("A title".into()),
        AgentCommand::Save,
        AgentCommand::EndJob { job: JobId(3) },
        AgentCommand::TypeIntoJob {
            job: JobId(3),
            typed: TerminalInput::Key(TerminalKeyPress {
                key: TerminalKey::Function(5),
                held: HeldModifiers { control: true, ..HeldModifiers::default() },
            }),
        },
        AgentCommand::TypeIntoJob { job: JobId(3), typed: TerminalInput::Paste("text".into()) },
        AgentCommand::TypeIntoJob {
            job: JobId(3),
            typed: TerminalInput::Mouse(TerminalMouse {
                action: MouseAction::Press,
                button: Some(TerminalButton::WheelUp),
                column: 3,
                row: 4,
                held: HeldModifiers::default(),
            }),
        },
        AgentCommand::ResizeJob { job: JobId(3), size: TerminalSize { columns: 80, rows: 24 } },
        AgentCommand::DetachCommand,
        AgentCommand::FollowJobs(Some(FollowedJobs { output_of: Some(JobId(3)) })),
        AgentCommand::FollowJobs(None),
        AgentCommand::Rules(RuleRequest::Try("ls".into())),
        AgentCommand::Context(ContextRequest::Show),
        AgentCommand::Memory(MemoryRequest::Show),
        AgentCommand::Memory(MemoryRequest::Read { path: "/w/SLUG.md".into() }),
        AgentCommand::Memory(MemoryRequest::Remember {
            level: RememberLevel::Project,
            typed: "# use tabs".into(),
        }),
        AgentCommand::Context(ContextRequest::Edit {
            item: context_item(),
            action: ContextAction::FoldOut,
        }),
    ]
}

/// Every kind of event.
pub(super) fn events() -> Vec<AgentEvent> {
    let session = SessionId::generate();
    let (turn, call_id) = (TURN, CallId::new("c1"));
    let records = Arc::new(vec![record()]);
    let again = RetryAttempt { pause: Duration::from_millis(1500), number: 1, of: 3 };
    let todo = TodoItem {
        content: "Test".into(),
        status: TodoStatus::Pending,
        active_form: "Testing".into(),
    };
    let task = TaskItem {
        id: TaskId(1),
        subject: "Test".into(),
        description: "All of it".into(),
        active_form: Some("Testing".into()),
        owner: Some("tester".into()),
        status: TodoStatus::InProgress,
        blocked_by: BTreeSet::from([TaskId(2)]),
    };
    vec![
        AgentEvent::SessionOpened { session, records: records.clone() },
        AgentEvent::SessionRead { session, earlier: records },
        AgentEvent::ModelChanged {
            model: ModelName::new("local", "qwen"),
            effort: None,
            window: ContextWindow::Served(8192),
            local: true,
        },
        AgentEvent::ModelLoading(Some(ModelLoading { percent: Some(42) })),
        AgentEvent::ModelLoading(None),
        AgentEvent::ModelNeeded {
            provider: "local".into(),
            models: vec![ModelInfo {
                id: "qwen".into(),
                context_window: None,
                ..ModelInfo::default()
            }],
        },
        AgentEvent::ProviderFailed { provider: "local".into(), fault: ProviderFault::NotListening },
        AgentEvent::ModeChanged(PermissionMode::Yolo),
        AgentEvent::SessionState {
            title: Some("A title".into()),
            todos: vec![todo],
            tasks: vec![task],
        },
        AgentEvent::TurnStarted { turn },
        AgentEvent::Recorded(Arc::new(record())),
        AgentEvent::NotRecorded(Arc::new(record())),
        AgentEvent::SteerSettled { id: SteerId(1), returned: Some("no".into()) },
        AgentEvent::MessageReturned("again".into()),
        AgentEvent::RequestSent { turn },
        AgentEvent::CompactionStarted { turn },
        AgentEvent::CompactionProgress {
            turn,
            read: Some(PrefillProgress { processed: 1, total: 2, cached: 0 }),
            written: 3,
        },
        AgentEvent::RequestRateLimited {
            turn,
            held: RateLimited { wait: Duration::from_secs(2), reason: "slow down".into() },
        },
        AgentEvent::Prefill {
            turn,
            progress: PrefillProgress { processed: 1, total: 2, cached: 0 },
        },
        AgentEvent::Text { turn, text: "a".into() },
        AgentEvent::Thinking { turn, text: "b".into() },
        AgentEvent::CallStarted { turn, call: call_id.clone(), name: "Bash".into() },
        AgentEvent::CallInput { turn, call: call_id.clone(), json: "{\"com".into() },
        AgentEvent::ResponseTimed { turn, streamed_for: Duration::from_millis(20) },
        AgentEvent::CacheMissed { reason: "The model changed.".into() },
        AgentEvent::SpendingChanged(Box::default()),
        AgentEvent::ResponseDropped { turn, reason: "reset".into(), again: Some(again) },
        AgentEvent::ToolStarted { turn, call: call() },
        AgentEvent::ToolProgress { turn, call: call_id, text: "out".into() },
        AgentEvent::JobStarted(JobInfo { id: JobId(3), command: "npm run dev".into() }),
        AgentEvent::JobEnded { job: JobId(3), end: JobEnd::Exited(ExitCause::Signal(15)) },
        AgentEvent::JobEnded { job: JobId(3), end: JobEnd::Lost },
        AgentEvent::Subagent(Box::new(SubagentSummary {
            agent: AgentId(9),
            call: CallId::new("c1"),
            session: None,
            kind: "explore".into(),
            task: "find it".into(),
            model: Some("small".into()),
            state: SubagentState::OutOfTime,
            in_background: true,
            tool_calls: 3,
            refused_calls: 1,
            tokens: 12_000,
            cost: None,
            elapsed_ms: 41_000,
        })),
        AgentEvent::Jobs(vec![JobReport {
            job: JobInfo { id: JobId(3), command: "npm run dev".into() },
            elapsed: Duration::from_secs(72),
            end: Some(JobEnd::Exited(ExitCause::Code(1))),
            printed: 3_400,
            last_lines: "listening on 3000".into(),
            has_terminal: true,
        }]),
        AgentEvent::JobOutput(FollowedOutput::Screen {
            job: JobId(3),
            frame: TerminalFrame {
                size: TerminalSize { columns: 80, rows: 24 },
                rows: vec![vec![TerminalRun {
                    column: 2,
                    text: "up".into(),
                    style: TerminalStyle {
                        foreground: Some(TerminalColor::Indexed(1)),
                        background: Some(TerminalColor::Rgb(1, 2, 3)),
                        bold: true,
                        ..TerminalStyle::default()
                    },
                }]],
                cursor: Some((4, 0)),
                hides_input: true,
            },
            scrolled: vec!["before".into()],
        }),
        AgentEvent::JobOutput(FollowedOutput::Printed {
            job: JobId(3),
            skipped: 7,
            text: "up\n".into(),
        }),
        AgentEvent::JobOutput(FollowedOutput::Lost {
            job: JobId(3),
            reason: "It ended unexpectedly.".into(),
        }),
        AgentEvent::ApprovalAsked(Box::new(approval())),
        AgentEvent::QuestionsAsked(Box::new(questions())),
        AgentEvent::ApprovalFacts {
            id: ApprovalId(3),
            facts: vec![DangerFact::Commits { count: 3, remote: "origin".into() }],
        },
        AgentEvent::ApprovalWithdrawn(ApprovalId(3)),
        AgentEvent::Notice { level: NoticeLevel::Warning, text: "Mind the gap.".into() },
        AgentEvent::CommandRefused(CommandRefusal::TurnRunning),
        AgentEvent::CommandRefused(CommandRefusal::TooShortToCompact),
        AgentEvent::CommandRefused(CommandRefusal::OtherAgent(AgentId(2))),
        AgentEvent::CallRefused { call: call(), reason: "a rule denies it".into() },
        AgentEvent::RaceStarted { sides: [AgentId(9), AgentId(10)] },
        AgentEvent::RaceEnded { taken: Some(AgentId(9)) },
        AgentEvent::Rules(Box::new(RuleReply::Tried {
            typed: "ls".into(),
            mode: PermissionMode::Ask,
            report: Err(RuleTestError::UnknownTool("no such tool".into())),
        })),
        AgentEvent::Rules(Box::new(RuleReply::Listed {
            list: RuleListReport::default(),
            files: Vec::new(),
            failed: Some(RuleChangeError::SessionOnly(RuleSaveError::Gone {
                file: "settings.json".into(),
                rule: "Bash(ls)".into(),
            })),
        })),
        AgentEvent::Context(Box::new(ContextReply { ledger: ledger(), failed: None })),
        AgentEvent::ContextEstimated(Box::new(ledger())),
        AgentEvent::Memory(Box::new(MemoryReply {
            report: InstructionReport {
                files: vec![InstructionRow {
                    path: "/w/SLUG.md".into(),
                    group: InstructionGroup::Project,
                    tokens: 3,
                    state: InstructionState::NotSent("empty".into()),
                    depth: 0,
                }],
                ..InstructionReport::default()
            },
            text: Some(MemoryText { path: "/w/SLUG.md".into(), text: Ok("text".into()) }),
        })),
        AgentEvent::Context(Box::new(ContextReply {
            ledger: ledger(),
            failed: Some(ContextEditError::NotPossible),
        })),
        AgentEvent::PromptFiles(Box::new(PromptLibraryReport {
            rows: vec![PromptFileRow {
                name: "fix".into(),
                is_skill: false,
                command: Some("fix".into()),
                description: "Mends an issue".into(),
                argument_hint: Some("<number>".into()),
                origin: "yours".into(),
                path: "~/.slug/commands/fix.md".into(),
                tokens: 40,
                is_listed: false,
                hidden_by: None,
                allowed_tools: vec!["Bash(gh *)".into()],
                warnings: Vec::new(),
            }],
            refused: vec!["~/x.md:1: it is not UTF-8 text, and is not loaded".into()],
        })),
        AgentEvent::SaveFailed { reason: "The disk is full.".into() },
        AgentEvent::RewindPlanned(Ok(plan())),
        AgentEvent::RewindPlanned(Err(RewindError::LateWrites)),
        AgentEvent::ReviewPlanned(Ok(review())),
        AgentEvent::Rewound { message: None, told: "Undone: one file".into() },
        AgentEvent::Forked { from: session, at: ForkPosition::End, message: None },
    ]
}

/// Sends each value through JSON and returns the names of their kinds.
fn round_trip<T>(values: Vec<T>) -> BTreeSet<String>
where
    T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let kind = |value: T| {
        let json = serde_json::to_string(&value).unwrap();
        assert_eq!(serde_json::from_str::<T>(&json).unwrap(), value, "{json}");
        let json: Value = serde_json::from_str(&json).unwrap();
        json["type"].as_str().unwrap().to_owned()
    };
    values.into_iter().map(kind).collect()
}

/// The names of the variants of an enum in its source.
fn variants(source: &str, name: &str) -> BTreeSet<String> {
    let body = source.split_once(&format!("pub enum {name} {{")).unwrap().1;
    let body = body.split_once("\n}").unwrap().0;
    let lines = body.lines().filter_map(|line| line.strip_prefix("    "));
    let names = lines.filter(|line| line.starts_with(char::is_uppercase));
    names
        .map(|line| line.split(|it: char| !it.is_alphanumeric()).next().unwrap().to_owned())
        .collect()
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

#[test]
fn every_command_survives_json() {
    let all = variants(include_str!("command.rs"), "AgentCommand");
    assert_eq!(round_trip(commands()), all.iter().map(|name| snake_case(name)).collect());
}

#[test]
fn every_event_survives_json() {
    let all = variants(include_str!("event.rs"), "AgentEvent");
    assert_eq!(round_trip(events()), all.iter().map(|name| snake_case(name)).collect());
}
