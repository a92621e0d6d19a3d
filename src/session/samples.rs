//! Sample records and stores for the tests of `session`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;
use tempfile::TempDir;

use crate::domain::{
    CallId, CallInput, ContentBlock, ContentHash, EntryId, JobId, Message, MessageRole, Money,
    PermissionMode, PermissionOutcome, RuleKind, RuleSource, SessionId, StopReason, TaskChange,
    TaskId, TaskItem, TodoItem, TodoStatus, TokenUsage, ToolCall, ToolDisplay, ToolStatus, TurnId,
};

use super::{
    ChangedLines, CompactionEntry, ContextAction, ContextEditEntry, ContextItem, ContextPart,
    FileChangeEntry, FileChangeSource, FileKind, FileVersion, LogEntry, LogRecord, MessageEntry,
    PermissionEntry, RewindEntry, RewindScope, SessionHeader, SessionStore, ToolResultInfo,
    TurnChanges, TurnEnd, TurnOutcome, UntrackedChanges, UntrackedFile, UntrackedReason,
    UnwatchedFolderReason, files,
};

/// A store in a temporary folder, which is removed with it.
pub(super) struct TestSessionStore {
    pub(super) dir: TempDir,
    pub(super) store: SessionStore,
}

/// An empty store in a new folder.
pub(super) fn home() -> TestSessionStore {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let store = SessionStore::new(at("sessions"), at("trash"), at("blobs"));
    TestSessionStore { dir, store }
}

impl TestSessionStore {
    /// Creates a closed session in `/work` in which the user said `texts`.
    pub(super) async fn session(&self, texts: &[&str]) -> SessionId {
        self.session_in("/work", texts).await
    }

    /// Creates a closed session in `cwd` in which the user said `texts`.
    pub(super) async fn session_in(&self, cwd: &str, texts: &[&str]) -> SessionId {
        let handle = self.store.create(header(cwd)).unwrap();
        for text in texts {
            handle.append(TurnId(1), user(text)).await.unwrap();
        }
        handle.close().await.unwrap();
        handle.session()
    }

    /// Creates a session whose log holds these bytes.
    pub(super) fn planted(&self, bytes: &[u8]) -> SessionId {
        let session = SessionId::generate();
        files::make_folder(&self.dir.path().join("sessions")).unwrap();
        std::fs::write(self.store.paths(session).log(), bytes).unwrap();
        session
    }
}

/// A header for a session in `cwd`.
pub(super) fn header(cwd: &str) -> SessionHeader {
    SessionHeader {
        session_id: SessionId::generate(),
        version: SessionHeader::VERSION,
        cwd: PathBuf::from(cwd),
        model: "qwen".into(),
        provider: "local".into(),
        forked_from: None,
        spawned_by: None,
        server_tools: Vec::new(),
    }
}

/// A record of turn `turn`, a second later than the record made before it.
pub(super) fn record(turn: u32, entry: LogEntry) -> LogRecord {
    static SECONDS: std::sync::atomic::AtomicI64 = std::sync::atomic::AtomicI64::new(0);
    let seconds = SECONDS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let base: DateTime<Utc> = "2026-01-02T03:04:05Z".parse().unwrap();
    let timestamp = base + TimeDelta::seconds(seconds);
    LogRecord { id: EntryId::generate(), timestamp, turn: TurnId(turn), entry }
}

/// A message of the user.
pub(super) fn user(text: &str) -> LogEntry {
    LogEntry::Message(MessageEntry::new(Message::user(text)))
}

/// A response of the model.
pub(super) fn assistant(content: Vec<ContentBlock>) -> LogEntry {
    LogEntry::Message(MessageEntry {
        stop_reason: Some(StopReason::EndTurn),
        usage: Some(TokenUsage { input: 10, output: 2, cache_read: 4, ..TokenUsage::default() }),
        ..MessageEntry::new(Message { role: MessageRole::Assistant, content })
    })
}

/// A response of the model that holds text alone.
pub(super) fn says(text: &str) -> LogEntry {
    assistant(vec![ContentBlock::Text { text: text.into() }])
}

/// A call of the tool Read.
pub(super) fn call(id: &str) -> ToolCall {
    ToolCall {
        id: CallId::new(id),
        name: "Read".into(),
        input: CallInput::Valid(json!({"file_path": "a"})),
    }
}

/// A response of the model with calls of the tool Read.
pub(super) fn calls(ids: &[&str]) -> LogEntry {
    assistant(ids.iter().map(|id| ContentBlock::ToolUse(call(id))).collect())
}

/// The result of a tool call, without [`ToolResultInfo`].
pub(super) fn result(id: &str, content: &str) -> LogEntry {
    let block = ContentBlock::ToolResult {
        tool_use_id: CallId::new(id),
        content: content.into(),
        is_error: false,
    };
    LogEntry::Message(MessageEntry::new(Message { role: MessageRole::User, content: vec![block] }))
}

/// A turn that ended with an answer, for nothing.
pub(super) fn turn_end() -> LogEntry {
    LogEntry::TurnEnd(TurnEnd::of(TurnOutcome::Answered))
}

/// One entry of each kind.
pub(super) fn every_kind() -> Vec<LogEntry> {
    let hash = ContentHash::of(b"content");
    vec![
        LogEntry::Session(header("/work")),
        user("Fix the \u{1b}[31mcart\u{1b}[0m\nplease"),
        match calls(&["c1"]) {
            LogEntry::Message(message) => LogEntry::Message(MessageEntry {
                model: Some("qwen".into()),
                cost: Some(Money::from_nanos(1_234_567)),
                ..message
            }),
            other => panic!("{other:?}"),
        },
        LogEntry::Permission(PermissionEntry {
            call: CallId::new("c1"),
            tool: "Read".into(),
            about: Some("src/main.rs".into()),
            decision: PermissionOutcome::Allow,
            answer: "rule".into(),
            rule: Some(RuleSource {
                rule: "Read(**)".into(),
                kind: RuleKind::Allow,
                file: Some("/home/settings.json".into()),
                line: Some(3),
            }),
        }),
        LogEntry::ToolStarted {
            call: CallId::new("c1"),
            arguments: hash.clone(),
            approved_by: "once".into(),
        },
        LogEntry::FileChange(FileChangeEntry {
            real: Some("/home/you/a".into()),
            ..FileChangeEntry::new(
                "/home/me/a".into(),
                Some(FileVersion { kind: FileKind::Link, hash: hash.clone(), mode: None }),
                Some(FileVersion { kind: FileKind::File, hash: hash.clone(), mode: Some(0o644) }),
                FileChangeSource::Command,
            )
        }),
        LogEntry::NotCovered(UntrackedChanges {
            files: vec![UntrackedFile {
                path: "/home/me/b".into(),
                why: UntrackedReason::TooLarge,
            }],
            more: 2,
            folder: Some(UnwatchedFolderReason::TooManyFiles),
        }),
        LogEntry::Rewind(RewindEntry {
            left: vec!["/home/me/c".into()],
            ..rewind(EntryId::generate(), RewindScope::Files)
        }),
        LogEntry::Message(MessageEntry {
            result: Some(ToolResultInfo {
                name: "Read".into(),
                status: ToolStatus::Done,
                summary: Some("4 lines".into()),
                display: Some(ToolDisplay::Terminal { text: "ok".into() }),
                elapsed_ms: 12,
                kept: None,
                job: Some(JobId(3)),
                agent: None,
            }),
            answered: Some(hash),
            ..match result("c1", "content") {
                LogEntry::Message(message) => message,
                other => panic!("{other:?}"),
            }
        }),
        LogEntry::Todo {
            todos: vec![TodoItem {
                content: "Run the tests".into(),
                status: TodoStatus::InProgress,
                active_form: "Running the tests".into(),
            }],
        },
        LogEntry::Tasks(TaskChange {
            tasks: vec![TaskItem {
                id: TaskId(2),
                subject: "Write the docs".into(),
                description: "All pages.".into(),
                active_form: Some("Writing the docs".into()),
                owner: Some("writer".into()),
                status: TodoStatus::Pending,
                blocked_by: BTreeSet::from([TaskId(1)]),
            }],
            removed: vec![TaskId(1)],
        }),
        LogEntry::Compaction(CompactionEntry {
            results_kept_from: Some(EntryId::generate()),
            ..CompactionEntry::default()
        }),
        LogEntry::ContextEdit(ContextEditEntry {
            item: ContextItem { entry: EntryId::generate(), part: ContextPart::Result },
            action: ContextAction::Pin,
        }),
        LogEntry::Title { title: "The cart".into() },
        LogEntry::Model { model: "other".into(), provider: Some("mine".into()), effort: None },
        LogEntry::Mode { mode: PermissionMode::AllowEdits },
        LogEntry::Interrupted,
        LogEntry::TurnEnd(TurnEnd {
            outcome: TurnOutcome::Failed("No server answers.".into()),
            usage: TokenUsage::default(),
            rounds: 2,
            cost: Some(Money::from_nanos(1_234_567)),
            elapsed_ms: 14_200,
            changes: Some(TurnChanges {
                files: 3,
                lines: Some(ChangedLines { added: 7, removed: 2 }),
            }),
            is_compaction: false,
        }),
    ]
}

/// A rewind to before a message, which changes no file.
pub(super) fn rewind(before: EntryId, what: RewindScope) -> RewindEntry {
    RewindEntry {
        before,
        redoes: None,
        what,
        part: None,
        files: Vec::new(),
        left: Vec::new(),
        messages: 1,
        summary: Some("an answer".into()),
    }
}

/// The records as a log's lines.
pub(super) fn lines(records: &[LogRecord]) -> Vec<u8> {
    records
        .iter()
        .flat_map(|record| {
            let mut line = serde_json::to_vec(record).unwrap();
            line.push(b'\n');
            line
        })
        .collect()
}

/// A log of `count` records: a header, then turns of a question, calls, results and an answer.
pub(super) fn log(count: usize) -> Vec<LogRecord> {
    let turn = |number: usize| u32::try_from(number / 5 + 1).unwrap();
    std::iter::once(record(0, LogEntry::Session(header("/work"))))
        .chain((0..count - 1).map(|number| {
            let id = format!("c{}", number / 5);
            let entry = match number % 5 {
                0 => user(&format!("question {number}")),
                1 => calls(&[&id]),
                2 => result(&id, "naïve 漢字 \u{0} \\ \"quoted\""),
                3 => says("an answer"),
                _ => turn_end(),
            };
            record(turn(number), entry)
        }))
        .collect()
}
