//! What a record of the log is shown as: the events that an agent has sent for it.
//!
//! A log has the end of a response and not its stream. The text is spread over the time that the
//! response took, at most as fast as a fast model writes. A question is shown with what the log has
//! of it: the call, the change that was made, and the answer; not the rules that were offered.

use std::sync::Arc;
use std::time::Duration;

use crate::agent::AgentEvent;
use crate::domain::{
    ApprovalId, ApprovalKind, ApprovalRequest, CallId, CallInput, CallPart, ContentBlock,
    DangerFacts, FileDiff, MessageRole, ModelName, NoticeLevel, PermissionOutcome, RuleFile,
    SessionId, ToolCall, ToolDisplay, TurnId,
};
use crate::session::{LogEntry, MessageEntry, PermissionEntry, ReplayedConversation};

use super::timeline::{ReplayTimeline, asks};

/// How fast text is shown at most, in bytes a second: a fast model's rate.
const RATE: f64 = 250.0;
/// How often streamed text grows.
const BEAT: Duration = Duration::from_millis(60);
/// The most pieces that the text of a response is shown in.
const MOST_PIECES: usize = 400;
/// How far a result is looked for behind the question about its call, in records.
const NEAR: usize = 64;

/// Something that happens in a replay.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplayChange {
    /// As an agent tells it.
    Event(Box<AgentEvent>),
    /// Another model answers. Its window is not in the log, so this is no event.
    Model(ModelName),
    /// A short notice.
    Toast(NoticeLevel, String),
}

/// A change with its time since the beginning of the replay.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayStep {
    pub at: Duration,
    pub change: ReplayChange,
}

/// How much of what led to a record is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepDetail {
    /// Text grows, and questions are open for a while.
    Live,
    /// Only what remains.
    Final,
}

impl From<AgentEvent> for ReplayChange {
    fn from(event: AgentEvent) -> Self {
        Self::Event(Box::new(event))
    }
}

/// The steps for the record `index`, in the order of their times. `totals` has taken it already.
pub(super) fn steps(
    timeline: &ReplayTimeline,
    index: usize,
    totals: &ReplayedConversation,
    detail: StepDetail,
) -> Vec<ReplayStep> {
    let Some(record) = timeline.records().get(index) else { return Vec::new() };
    let until = timeline.start(index);
    let from = index.checked_sub(1).map_or(until, |before| timeline.start(before));
    let mut steps = ReplaySteps { until, steps: Vec::new() };
    let turn = record.turn;
    match &record.entry {
        LogEntry::Session(header) if index == 0 => {
            let (session, records) = (header.session_id, Arc::default());
            steps.now(AgentEvent::SessionOpened { session, records });
        }
        LogEntry::Message(message) if !message.source.is_main() => {
            steps.now(AgentEvent::Recorded(Arc::new(record.clone())));
        }
        LogEntry::Message(message) if message.role == MessageRole::Assistant => {
            if detail == StepDetail::Live {
                steps.stream(turn, message, from);
            }
            steps.now(AgentEvent::Recorded(Arc::new(record.clone())));
            steps.now(AgentEvent::SpendingChanged(Box::new(totals.spending.clone())));
        }
        LogEntry::Message(_) => {
            if asks(record) && begins_turn(timeline, index) {
                steps.now(AgentEvent::TurnStarted { turn });
            }
            steps.now(AgentEvent::Recorded(Arc::new(record.clone())));
        }
        LogEntry::ToolStarted { call, .. } => {
            if let Some(call) = call_before(timeline, index, call) {
                steps.now(AgentEvent::ToolStarted { turn, call });
            }
        }
        LogEntry::Permission(permission) if was_asked(permission) => {
            if detail == StepDetail::Live
                && let Some(request) = question(timeline, index, permission)
            {
                let id = request.id;
                steps.at(from, AgentEvent::ApprovalAsked(Box::new(request)));
                steps.now(AgentEvent::ApprovalWithdrawn(id));
                steps.now(ReplayChange::Toast(NoticeLevel::Info, answered(permission)));
            }
        }
        LogEntry::Rewind(_) => {
            let records = Arc::new(timeline.records()[..=index].to_vec());
            if let Some(session) = timeline.session() {
                steps.now(AgentEvent::SessionOpened { session, records });
                steps.now(AgentEvent::session_state(totals));
            }
        }
        LogEntry::Mode { mode } => steps.now(AgentEvent::ModeChanged(*mode)),
        LogEntry::Model { model, provider, .. } => {
            let provider = provider.clone().unwrap_or_default();
            steps.now(ReplayChange::Model(ModelName { provider, model: model.clone() }));
        }
        LogEntry::TurnEnd(_)
        | LogEntry::Interrupted
        | LogEntry::Title { .. }
        | LogEntry::Todo { .. }
        | LogEntry::Tasks(_)
        | LogEntry::FileChange(_)
        | LogEntry::NotCovered(_)
        | LogEntry::Compaction(_)
        | LogEntry::ContextEdit(_)
        | LogEntry::Permission(_)
        | LogEntry::Session(_) => steps.now(AgentEvent::Recorded(Arc::new(record.clone()))),
    }
    steps.steps
}

/// What opens a replay whose log has lost its first line.
pub(super) fn opening(session: SessionId) -> ReplayChange {
    AgentEvent::SessionOpened { session, records: Arc::default() }.into()
}

/// Whether the user was asked, and no rule, mode or hook has decided.
pub(super) fn was_asked(permission: &PermissionEntry) -> bool {
    words(&permission.answer).is_some()
}

/// What the user answered, in words; `None` for decisions that nobody was asked for.
fn words(answer: &str) -> Option<&'static str> {
    match answer {
        "once" => Some("yes, this time"),
        "part" => Some("yes, to a part of it"),
        "session" => Some("yes, for this session"),
        "always" => Some("always"),
        "never" => Some("never"),
        "edited" => Some("yes, after a change"),
        "deny" => Some("no"),
        _ => None,
    }
}

fn answered(permission: &PermissionEntry) -> String {
    format!("Answered: {}.", words(&permission.answer).unwrap_or("no"))
}

struct ReplaySteps {
    /// When the record itself is shown.
    until: Duration,
    steps: Vec<ReplayStep>,
}

impl ReplaySteps {
    fn at(&mut self, at: Duration, change: impl Into<ReplayChange>) {
        self.steps.push(ReplayStep { at, change: change.into() });
    }

    fn now(&mut self, change: impl Into<ReplayChange>) {
        self.at(self.until, change);
    }

    /// Lets a response grow in the time that it took.
    fn stream(&mut self, turn: TurnId, message: &MessageEntry, from: Duration) {
        let took = self.until.saturating_sub(from);
        let bytes: usize = message.content.iter().map(shown_bytes).sum();
        let writes = Duration::from_secs_f64(bytes as f64 / RATE).min(took);
        self.at(from, AgentEvent::RequestSent { turn });
        let beats = usize::try_from(writes.as_millis() / BEAT.as_millis()).unwrap_or(MOST_PIECES);
        if bytes == 0 || beats < 2 {
            return;
        }
        let size = bytes.div_ceil(beats.min(MOST_PIECES)).max(1);
        let (began, mut written) = (self.until.saturating_sub(writes), 0);
        for block in &message.content {
            if let ContentBlock::ToolUse(call) = block {
                let at = began + writes.mul_f64(written as f64 / bytes as f64);
                let (call, name) = (call.id.clone(), call.name.clone());
                self.at(at, AgentEvent::CallStarted { turn, call, name });
            }
            let (ContentBlock::Text { text } | ContentBlock::Thinking { thinking: text, .. }) =
                block
            else {
                continue;
            };
            for text in pieces(text, size) {
                written += text.len();
                let at = began + writes.mul_f64(written as f64 / bytes as f64);
                let text = text.to_owned();
                let event = match block {
                    ContentBlock::Thinking { .. } => AgentEvent::Thinking { turn, text },
                    _ => AgentEvent::Text { turn, text },
                };
                self.at(at.min(self.until), event);
            }
        }
    }
}

/// How much of a response is shown while it streams.
fn shown_bytes(block: &ContentBlock) -> usize {
    match block {
        ContentBlock::Text { text } | ContentBlock::Thinking { thinking: text, .. } => text.len(),
        ContentBlock::Context { .. }
        | ContentBlock::Image(_)
        | ContentBlock::Sealed { .. }
        | ContentBlock::ToolUse(_)
        | ContentBlock::ToolResult { .. } => 0,
    }
}

/// A text in pieces of about `size` bytes, cut between characters.
fn pieces(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.ceil_char_boundary(size);
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Whether no earlier message belongs to the turn of the record `index`.
fn begins_turn(timeline: &ReplayTimeline, index: usize) -> bool {
    let records = timeline.records();
    let turn = records[index].turn;
    let before = records[..index].iter().rev().find(|record| record.entry.as_message().is_some());
    before.is_none_or(|before| before.turn != turn)
}

/// A call of the response before the record `index`, as it was made: without the `Call` around it.
fn call_before(timeline: &ReplayTimeline, index: usize, call: &CallId) -> Option<ToolCall> {
    let before = timeline.records()[..index].iter().rev();
    let mut messages = before.filter_map(|record| record.entry.as_message());
    let response = messages.find(|message| message.role == MessageRole::Assistant)?;
    response.content.iter().find_map(|block| match block {
        ContentBlock::ToolUse(one) if one.id == *call => Some(one.inner().into_owned()),
        _ => None,
    })
}

/// The question that the user has answered, as far as the log has it.
fn question(
    timeline: &ReplayTimeline,
    index: usize,
    permission: &PermissionEntry,
) -> Option<ApprovalRequest> {
    let call = call_before(timeline, index, &permission.call)?;
    let CallInput::Valid(input) = call.input else { return None };
    let about = permission.about.clone().unwrap_or_default();
    Some(ApprovalRequest {
        id: ApprovalId(index as u64),
        turn: timeline.records()[index].turn,
        call: call.id,
        tool: permission.tool.clone(),
        input,
        cwd: timeline.header().map(|header| header.cwd.clone()).unwrap_or_default(),
        kind: ApprovalKind::Permission,
        reason: String::new(),
        parts: vec![CallPart { text: about, decision: PermissionOutcome::Ask, rule: None }],
        allow_rules: Vec::new(),
        deny_rule: None,
        rule_file: RuleFile(std::path::PathBuf::new()),
        preview: change_behind(timeline, index, &permission.call),
        other_previews: Vec::new(),
        dangers: Vec::new(),
        facts: DangerFacts::Unknown,
    })
}

/// The change that a call has made, from its result.
fn change_behind(timeline: &ReplayTimeline, index: usize, call: &CallId) -> Option<FileDiff> {
    let behind = timeline.records().iter().skip(index).take(NEAR);
    let result = behind.filter_map(|record| record.entry.as_message()).find(|message| {
        message.content.iter().any(
            |block| matches!(block, ContentBlock::ToolResult { tool_use_id, .. } if tool_use_id == call),
        )
    })?;
    match result.result.as_ref()?.display.as_ref()? {
        ToolDisplay::Diff(diff) => Some(diff.clone()),
        ToolDisplay::Terminal { .. } => None,
    }
}
