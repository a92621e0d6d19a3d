//! The mapping: what an agent tells, as updates of the protocol. The only place that has it.
//!
//! A call is announced once, before anything else is said of it, and each has an end. Updates come in the
//! order of the events. Text of the response is as the model wrote it; text that commands print is shown
//! without control sequences.

use std::path::Path;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    CompactionStatus, CompactionUpdate, ContentBlock, ContentChunk, Cost, Diff, MessageId, Notice,
    NoticeSeverity, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionInfoUpdate,
    SessionUpdate, ToolCallStatus, ToolCallUpdateFields, UsageUpdate,
};

use crate::agent::AgentEvent;
use crate::domain;
use crate::domain::sanitize::strip_ansi;
use crate::domain::{
    CallId, ContentHash, MessageRole, NoticeLevel, TodoStatus, ToolCall, ToolDisplay, ToolKind,
    ToolStatus, WorkPlan,
};
use crate::session::{
    BlobStore, FileChangeEntry, FileKind, LogEntry, LogRecord, MessageEntry, ToolResultInfo,
};
use crate::tools::{ToolRegistry, WorkingDirectory};

use super::capabilities::EditorFeatures;
use super::tool_calls::{CallOutput, EditorCalls, OpenCall, text};

/// The most bytes of a file that are shown as a diff.
const LARGEST_DIFF: usize = 1 << 20;
/// The most bytes of output that are kept for a client without terminals.
const LARGEST_OUTPUT: usize = 16 << 10;

/// Makes updates of events, for one session.
pub(super) struct EventMapper {
    pub(super) features: EditorFeatures,
    pub(super) calls: EditorCalls,
    cwd: std::path::PathBuf,
    blobs: BlobStore,
    plan: WorkPlan,
    usage: ContextUsage,
    /// How many responses have begun.
    responses: u64,
    compactions: u64,
    is_compacting: bool,
    /// Whether the session was told to have a title.
    has_title: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct ContextUsage {
    used: u64,
    size: u64,
    cost: Option<f64>,
}

impl EventMapper {
    pub(super) fn new(
        features: EditorFeatures,
        registry: Arc<ToolRegistry>,
        place: WorkingDirectory,
        blobs: BlobStore,
    ) -> Self {
        Self {
            features,
            cwd: place.cwd.clone(),
            calls: EditorCalls::new(registry, place),
            blobs,
            plan: WorkPlan::default(),
            usage: ContextUsage::default(),
            responses: 0,
            compactions: 0,
            is_compacting: false,
            has_title: false,
        }
    }

    /// The updates that an event becomes; most have none. Questions are asked by the session.
    pub(super) fn take(&mut self, event: &AgentEvent) -> Vec<SessionUpdate> {
        match event {
            AgentEvent::Text { text, .. } => {
                vec![SessionUpdate::AgentMessageChunk(self.chunk(text))]
            }
            AgentEvent::Thinking { text, .. } => {
                vec![SessionUpdate::AgentThoughtChunk(self.chunk(text))]
            }
            AgentEvent::RequestSent { .. } => {
                self.responses += 1;
                Vec::new()
            }
            AgentEvent::CallStarted { call, name, .. } => {
                let look = self.calls.bare_look(name);
                // Only with its arguments is it known whether a command runs.
                match look.kind {
                    ToolKind::Execute | ToolKind::Other => Vec::new(),
                    ToolKind::Think
                    | ToolKind::Read
                    | ToolKind::Search
                    | ToolKind::Fetch
                    | ToolKind::Edit
                    | ToolKind::Move
                    | ToolKind::Delete => {
                        let text = CallOutput::Text { all: String::new(), sent: 0 };
                        let open = self.calls.begin(call, look, text);
                        vec![SessionUpdate::ToolCall(open.announcement(&self.cwd))]
                    }
                }
            }
            AgentEvent::ResponseDropped { reason, .. } => {
                self.responses += 1;
                let mut updates = self.end_calls();
                updates.extend(self.notice(NoticeLevel::Warning, reason));
                updates
            }
            AgentEvent::ToolStarted { call, .. } => {
                let mut updates = self.announce(call);
                if let Some(open) = self.calls.get(&call.id) {
                    let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
                    updates.push(SessionUpdate::ToolCallUpdate(open.update(fields)));
                }
                updates
            }
            AgentEvent::ToolProgress { call, text, .. } => self.progress(call, text),
            AgentEvent::Recorded(record) | AgentEvent::NotRecorded(record) => self.record(record),
            AgentEvent::SessionState { title, todos, tasks } => {
                self.plan = WorkPlan::new(todos.clone(), tasks.clone());
                let title = title.as_ref().map(|title| self.title(title));
                let plan = (!self.plan.is_empty()).then(|| self.plan());
                title.into_iter().chain(plan).collect()
            }
            AgentEvent::ModelChanged { window, .. } => {
                self.used(ContextUsage { size: window.tokens(), ..self.usage })
            }
            AgentEvent::ContextEstimated(ledger) => self.used(ContextUsage {
                used: ledger.used,
                size: ledger.window.tokens(),
                ..self.usage
            }),
            AgentEvent::SpendingChanged(spending) => {
                let cost = spending.total().known_cost().map(domain::Money::dollars);
                self.used(ContextUsage { cost, ..self.usage })
            }
            AgentEvent::Notice { level, text } => self.notice(*level, text),
            AgentEvent::CommandRefused(refusal) => {
                self.notice(refusal.level(), &refusal.to_string())
            }
            AgentEvent::SaveFailed { reason } => self.notice(NoticeLevel::Error, reason),
            AgentEvent::RequestRateLimited { held, .. } => {
                self.notice(NoticeLevel::Info, &held.reason)
            }
            AgentEvent::CompactionStarted { .. } if self.features.has_compactions => {
                self.compactions += 1;
                self.is_compacting = true;
                vec![self.compaction(CompactionStatus::InProgress)]
            }
            AgentEvent::CompactionStarted { .. }
            | AgentEvent::SessionOpened { .. }
            | AgentEvent::SessionRead { .. }
            | AgentEvent::ModelNeeded { .. }
            | AgentEvent::ProviderFailed { .. }
            | AgentEvent::ModelLoading(_)
            | AgentEvent::Subagent(_)
            | AgentEvent::ModeChanged(_)
            | AgentEvent::TurnStarted { .. }
            | AgentEvent::SteerSettled { .. }
            | AgentEvent::MessageReturned(_)
            | AgentEvent::PromptFiles(_)
            | AgentEvent::CompactionProgress { .. }
            | AgentEvent::Prefill { .. }
            | AgentEvent::CallInput { .. }
            | AgentEvent::ResponseTimed { .. }
            | AgentEvent::CacheMissed { .. }
            | AgentEvent::ApprovalAsked(_)
            | AgentEvent::QuestionsAsked(_)
            | AgentEvent::Jobs(_)
            | AgentEvent::JobStarted(_)
            | AgentEvent::RaceStarted { .. }
            | AgentEvent::RaceEnded { .. }
            | AgentEvent::JobOutput(_)
            | AgentEvent::JobEnded { .. }
            | AgentEvent::ApprovalFacts { .. }
            | AgentEvent::ApprovalWithdrawn(_)
            | AgentEvent::CallRefused { .. }
            | AgentEvent::Rules(_)
            | AgentEvent::Context(_)
            | AgentEvent::Memory(_)
            | AgentEvent::RewindPlanned(_)
            | AgentEvent::ReviewPlanned(_)
            | AgentEvent::Rewound { .. }
            | AgentEvent::Forked { .. } => Vec::new(),
        }
    }

    /// Tells of a call unless the editor knows it, and of its arguments if it does not know these.
    pub(super) fn announce(&mut self, call: &ToolCall) -> Vec<SessionUpdate> {
        let look = self.calls.look(call);
        if let Some(open) = self.calls.get(&call.id) {
            if open.look == look {
                return Vec::new();
            }
            open.look = look;
            return vec![SessionUpdate::ToolCallUpdate(open.update(open.looks_now()))];
        }
        let output = if self.features.has_terminal_output && look.kind == ToolKind::Execute {
            CallOutput::Terminal { is_empty: true }
        } else {
            CallOutput::Text { all: String::new(), sent: 0 }
        };
        let open = self.calls.begin(&call.id, look, output);
        vec![SessionUpdate::ToolCall(open.announcement(&self.cwd))]
    }

    /// Tells of a call that no response has made, such as a server's question before a turn.
    pub(super) fn announce_unknown(&mut self, call: &CallId, name: &str) -> Vec<SessionUpdate> {
        let look = self.calls.bare_look(name);
        let output = CallOutput::Text { all: String::new(), sent: 0 };
        let open = self.calls.begin(call, look, output);
        vec![SessionUpdate::ToolCall(open.announcement(&self.cwd))]
    }

    fn record(&mut self, record: &LogRecord) -> Vec<SessionUpdate> {
        match &record.entry {
            LogEntry::Message(message) if message.source.is_main() => self.message(message),
            LogEntry::FileChange(change) => self.file_changed(change),
            LogEntry::Todo { todos } => {
                self.plan.todos.clone_from(todos);
                vec![self.plan()]
            }
            LogEntry::Tasks(change) => {
                self.plan.apply(change);
                vec![self.plan()]
            }
            LogEntry::Title { title } => vec![self.title(title)],
            LogEntry::TurnEnd(_) => {
                let mut updates = self.end_calls();
                updates.extend(self.compacted(CompactionStatus::Failed));
                updates
            }
            LogEntry::Compaction(entry) => {
                let mut updates = self.compacted(CompactionStatus::Completed);
                updates.extend(self.notice(NoticeLevel::Info, &entry.told()));
                updates
            }
            LogEntry::Message(_)
            | LogEntry::Session(_)
            | LogEntry::ToolStarted { .. }
            | LogEntry::Permission(_)
            | LogEntry::NotCovered(_)
            | LogEntry::Rewind(_)
            | LogEntry::ContextEdit(_)
            | LogEntry::Interrupted
            | LogEntry::Model { .. }
            | LogEntry::Mode { .. } => Vec::new(),
        }
    }

    fn message(&mut self, message: &MessageEntry) -> Vec<SessionUpdate> {
        let mut updates = Vec::new();
        let first_line = message.message().text().lines().next().map(str::to_owned);
        if message.role == MessageRole::User
            && !self.has_title
            && let Some(title) = first_line.filter(|line| !line.trim().is_empty())
        {
            updates.push(self.title(&title));
        }
        for block in &message.content {
            match block {
                domain::ContentBlock::ToolUse(call) => updates.extend(self.announce(call)),
                domain::ContentBlock::ToolResult { tool_use_id, content, .. } => {
                    updates.extend(self.result(tool_use_id, content, message.result.as_ref()));
                }
                domain::ContentBlock::Text { .. }
                | domain::ContentBlock::Context { .. }
                | domain::ContentBlock::Image(_)
                | domain::ContentBlock::Thinking { .. }
                | domain::ContentBlock::Sealed { .. } => {}
            }
        }
        if let (MessageRole::Assistant, Some(usage)) = (message.role, message.usage) {
            let used = usage.input.saturating_add(usage.output);
            updates.extend(self.used(ContextUsage { used, ..self.usage }));
        }
        updates
    }

    fn progress(&mut self, call: &CallId, more: &str) -> Vec<SessionUpdate> {
        let Some(open) = self.calls.get(call) else { return Vec::new() };
        let more = strip_ansi(more);
        let fields = match &mut open.output {
            CallOutput::Terminal { is_empty } => {
                *is_empty = false;
                return vec![SessionUpdate::ToolCallUpdate(open.terminal_output(&more))];
            }
            CallOutput::Text { all, sent } => {
                all.push_str(&more);
                if all.len() > LARGEST_OUTPUT {
                    let cut = all.ceil_char_boundary(all.len() - LARGEST_OUTPUT / 2);
                    all.drain(..cut);
                    *sent = 0;
                }
                // Each update repeats all of it.
                if all.len() < *sent + (*sent / 2).max(1) {
                    return Vec::new();
                }
                *sent = all.len();
                let shown = text(fenced(all));
                ToolCallUpdateFields::new().content(open.content(vec![shown]))
            }
        };
        vec![SessionUpdate::ToolCallUpdate(open.update(fields))]
    }

    fn file_changed(&mut self, change: &FileChangeEntry) -> Vec<SessionUpdate> {
        let Some(call) = &change.call else { return Vec::new() };
        let is_file = change.kind == FileKind::File && change.kind_before == FileKind::File;
        let (Some(before), Some(after)) =
            (self.content(&change.before), self.content(&change.after))
        else {
            return Vec::new();
        };
        let Some(open) = self.calls.get(call).filter(|_| is_file) else { return Vec::new() };
        let old = change.before.is_some().then_some(before);
        open.set_diff(Diff::new(change.path.clone(), after).old_text(old));
        let fields = ToolCallUpdateFields::new().content(open.content(Vec::new()));
        vec![SessionUpdate::ToolCallUpdate(open.update(fields))]
    }

    /// The text with this hash, empty where there is no file; `None` where it is no text or lost.
    fn content(&self, hash: &Option<ContentHash>) -> Option<String> {
        let Some(hash) = hash else { return Some(String::new()) };
        let bytes = self.blobs.get(hash).ok().flatten()?;
        (bytes.len() <= LARGEST_DIFF).then(|| String::from_utf8(bytes).ok()).flatten()
    }

    fn result(
        &mut self,
        call: &CallId,
        content: &str,
        info: Option<&ToolResultInfo>,
    ) -> Vec<SessionUpdate> {
        let Some(open) = self.calls.end(call) else { return Vec::new() };
        let is_done = info.is_none_or(|info| info.status == ToolStatus::Done);
        let status = if is_done { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
        let printed = match info.and_then(|info| info.display.as_ref()) {
            Some(ToolDisplay::Terminal { text }) => Some(strip_ansi(text)),
            Some(ToolDisplay::Diff(_)) | None => None,
        };
        let fields = ToolCallUpdateFields::new().status(status);
        let shown = strip_ansi(content);
        let mut updates = Vec::new();
        let update = match &open.output {
            CallOutput::Terminal { is_empty } => {
                if *is_empty {
                    let all = printed.as_ref().unwrap_or(&shown);
                    updates.push(SessionUpdate::ToolCallUpdate(open.terminal_output(all)));
                }
                open.terminal_exit(fields, is_done.then_some(0))
            }
            CallOutput::Text { .. } => {
                let shown = match printed {
                    Some(printed) => text(fenced(&printed)),
                    None if open.look.kind == ToolKind::Read => text(fenced(&shown)),
                    None => text(shown.into_owned()),
                };
                let has_diff = is_done && !open.diffs.is_empty();
                let extra = if has_diff { Vec::new() } else { vec![shown] };
                open.update(fields.content(open.content(extra)))
            }
        };
        updates.push(SessionUpdate::ToolCallUpdate(update));
        updates
    }

    /// Ends the calls that no result will come for.
    pub(super) fn end_calls(&mut self) -> Vec<SessionUpdate> {
        let failed = || ToolCallUpdateFields::new().status(ToolCallStatus::Failed);
        let ended = self.calls.end_all().into_iter().map(|open| match open.output {
            CallOutput::Terminal { .. } => open.terminal_exit(failed(), None),
            CallOutput::Text { .. } => open.update(failed()),
        });
        ended.map(SessionUpdate::ToolCallUpdate).collect()
    }

    fn chunk(&self, text: &str) -> ContentChunk {
        let id = MessageId::new(format!("response-{}", self.responses));
        ContentChunk::new(ContentBlock::from(text.to_owned())).message_id(id)
    }

    fn plan(&self) -> SessionUpdate {
        let entries = self.plan.items().map(|item| {
            let status = match item.status {
                TodoStatus::Pending => PlanEntryStatus::Pending,
                TodoStatus::InProgress => PlanEntryStatus::InProgress,
                TodoStatus::Completed => PlanEntryStatus::Completed,
            };
            PlanEntry::new(item.text, PlanEntryPriority::Medium, status)
        });
        SessionUpdate::Plan(Plan::new(entries.collect()))
    }

    /// The update for the gauge, where something has changed and the size is known.
    fn used(&mut self, usage: ContextUsage) -> Vec<SessionUpdate> {
        if std::mem::replace(&mut self.usage, usage) == usage || usage.size == 0 {
            return Vec::new();
        }
        let cost = usage.cost.map(|cost| Cost::new(cost, "USD"));
        vec![SessionUpdate::UsageUpdate(UsageUpdate::new(usage.used, usage.size).cost(cost))]
    }

    fn notice(&self, level: NoticeLevel, text: &str) -> Vec<SessionUpdate> {
        if !self.features.has_notices {
            tracing::info!(text, "a notice that the client does not take");
            return Vec::new();
        }
        let severity = match level {
            NoticeLevel::Info => NoticeSeverity::Info,
            NoticeLevel::Warning => NoticeSeverity::Warning,
            NoticeLevel::Error => NoticeSeverity::Error,
        };
        vec![SessionUpdate::Notice(Notice::new(severity, text))]
    }

    /// The title of the session: the user's, the model's, or else the first line that the user wrote.
    fn title(&mut self, title: &str) -> SessionUpdate {
        self.has_title = true;
        SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title.to_owned()))
    }

    /// The end of the compaction that is told as running, if there is one.
    fn compacted(&mut self, status: CompactionStatus) -> Vec<SessionUpdate> {
        let was_running = std::mem::take(&mut self.is_compacting);
        was_running.then(|| self.compaction(status)).into_iter().collect()
    }

    fn compaction(&self, status: CompactionStatus) -> SessionUpdate {
        let id = format!("compaction-{}", self.compactions);
        SessionUpdate::CompactionUpdate(CompactionUpdate::new(id, status))
    }

    pub(super) fn cwd(&self) -> &Path {
        &self.cwd
    }

    pub(super) fn blobs(&self) -> &BlobStore {
        &self.blobs
    }
}

impl OpenCall {
    /// Takes the newest state of a file that the call changes.
    pub(super) fn set_diff(&mut self, diff: Diff) {
        match self.diffs.iter_mut().find(|it| it.path == diff.path) {
            Some(earlier) => *earlier = diff,
            None => self.diffs.push(diff),
        }
    }
}

/// A text that is no Markdown, as a block of code that it cannot end.
pub(super) fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat((longest + 1).max(3));
    let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    format!("{fence}\n{text}{end}{fence}")
}
