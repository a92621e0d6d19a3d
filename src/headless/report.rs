//! Turns events into the lines that a script reads, in each output format.

use serde_json::{Map, Value, json};

use crate::agent::AgentEvent;
use crate::cli::{CliExitStatus, OutputFormat};
use crate::domain::{
    ContentBlock, MessageRole, Money, NoticeLevel, SessionId, StopReason, TokenUsage, ToolCall,
    TurnId,
};
use crate::session::{LogEntry, LogRecord, MessageEntry, SpendingBySource, TurnOutcome};

/// What has happened so far, and what the result will be.
#[derive(Debug)]
pub struct HeadlessReport {
    format: OutputFormat,
    session: Option<SessionId>,
    text: String,
    /// The stop reason of the response that `text` is from.
    stop: Option<StopReason>,
    turn: TurnId,
    refused: Vec<(ToolCall, String)>,
    outcome: Option<TurnOutcome>,
    usage: TokenUsage,
    cost: Option<Money>,
    by_source: SpendingBySource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportStream {
    Out,
    Err,
}

type ReportLines = Vec<(ReportStream, String)>;

impl HeadlessReport {
    /// A report before the first event.
    pub fn new(format: OutputFormat) -> Self {
        Self {
            format,
            session: None,
            text: String::new(),
            stop: None,
            turn: TurnId::default(),
            refused: Vec::new(),
            outcome: None,
            usage: TokenUsage::default(),
            cost: None,
            by_source: SpendingBySource::default(),
        }
    }

    /// Whether the turn has ended.
    pub fn is_over(&self) -> bool {
        self.outcome.is_some()
    }

    /// The exit status for the events so far. A run whose turn has not ended has failed.
    pub fn exit(&self) -> CliExitStatus {
        match &self.outcome {
            Some(TurnOutcome::Answered) if self.refused.is_empty() => CliExitStatus::Answered,
            Some(TurnOutcome::Answered) => CliExitStatus::Refused,
            Some(TurnOutcome::Budget(_)) => CliExitStatus::Budget,
            Some(
                TurnOutcome::Interrupted
                | TurnOutcome::RoundLimit
                | TurnOutcome::Failed(_)
                | TurnOutcome::ModelFailed(_),
            )
            | None => CliExitStatus::Failed,
        }
    }

    pub(super) fn take(&mut self, event: &AgentEvent) -> ReportLines {
        match event {
            AgentEvent::SessionOpened { session, .. } => {
                self.session = Some(*session);
                self.line(&json!({"type": "session", "id": session}))
            }
            AgentEvent::SessionRead { .. } => Vec::new(),
            AgentEvent::TurnStarted { turn } => {
                self.turn = *turn;
                Vec::new()
            }
            AgentEvent::SpendingChanged(spending) => {
                self.cost = spending.turn(self.turn).known_cost();
                let by_source = spending.turn_by_source(self.turn);
                self.by_source = by_source.cloned().unwrap_or_default();
                Vec::new()
            }
            AgentEvent::Recorded(record) | AgentEvent::NotRecorded(record) => self.recorded(record),
            AgentEvent::Notice { level, text } => self.notice(*level, text),
            AgentEvent::CommandRefused(refusal) => {
                self.notice(NoticeLevel::Warning, &refusal.to_string())
            }
            AgentEvent::SaveFailed { reason } => vec![(ReportStream::Err, reason.clone())],
            AgentEvent::ResponseDropped { reason, again: Some(again), .. } => {
                let (seconds, number, of) = (again.pause.as_secs_f32(), again.number, again.of);
                let text = format!("{reason} Trying again in {seconds:.1} s ({number} of {of}).");
                let mut lines = vec![(ReportStream::Err, text)];
                lines.extend(self.line(&json!({
                    "type": "retry",
                    "reason": reason,
                    "wait_ms": again.pause.as_millis(),
                    "number": number,
                    "of": of,
                })));
                lines
            }
            // A notice tells what is requested instead.
            AgentEvent::ResponseDropped { again: None, .. } => Vec::new(),
            AgentEvent::RequestRateLimited { held, .. } => {
                let reason = &held.reason;
                let text = format!("{reason} Waiting {:.1} s.", held.wait.as_secs_f32());
                let mut lines = vec![(ReportStream::Err, text)];
                lines.extend(self.line(&json!({
                    "type": "held",
                    "reason": reason,
                    "wait_ms": held.wait.as_millis(),
                })));
                lines
            }
            AgentEvent::CallRefused { call, reason } => {
                self.refused.push((call.clone(), reason.clone()));
                vec![(ReportStream::Err, format!("Refused {}: {reason}", call.name))]
            }
            AgentEvent::ModelChanged { .. }
            | AgentEvent::ModelNeeded { .. }
            | AgentEvent::ModeChanged(_)
            | AgentEvent::SessionState { .. }
            | AgentEvent::SteerSettled { .. }
            | AgentEvent::MessageReturned(_)
            | AgentEvent::RequestSent { .. }
            | AgentEvent::Prefill { .. }
            | AgentEvent::Text { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::CallStarted { .. }
            | AgentEvent::CallInput { .. }
            | AgentEvent::ResponseTimed { .. }
            | AgentEvent::CacheMissed { .. }
            | AgentEvent::ToolStarted { .. }
            | AgentEvent::ToolProgress { .. }
            | AgentEvent::JobStarted(_)
            | AgentEvent::JobEnded { .. }
            | AgentEvent::ApprovalAsked(_)
            | AgentEvent::ApprovalWithdrawn(_)
            | AgentEvent::Rules(_)
            | AgentEvent::RewindPlanned(_)
            | AgentEvent::Rewound { .. }
            | AgentEvent::Forked { .. } => Vec::new(),
        }
    }

    fn notice(&self, level: NoticeLevel, text: &str) -> ReportLines {
        let level = match level {
            NoticeLevel::Info => "info",
            NoticeLevel::Warning => "warning",
            NoticeLevel::Error => "error",
        };
        let mut lines = vec![(ReportStream::Err, text.to_owned())];
        lines.extend(self.line(&json!({"type": "notice", "level": level, "text": text})));
        lines
    }

    fn recorded(&mut self, record: &LogRecord) -> ReportLines {
        if let LogEntry::TurnEnd(end) = &record.entry {
            return self.ended(&end.outcome, end.usage);
        }
        let LogEntry::Message(entry) = &record.entry else { return Vec::new() };
        if !entry.source.is_main() {
            return Vec::new();
        }
        match entry.role {
            MessageRole::Assistant => {
                let text = entry.message().text();
                if std::mem::replace(&mut self.stop, entry.stop_reason)
                    == Some(StopReason::MaxTokens)
                {
                    self.text.push_str(&text);
                } else {
                    self.text = text;
                }
                self.line(&json!({
                    "type": "message",
                    "role": "assistant",
                    "content": entry.content,
                    "stop_reason": entry.stop_reason,
                    "usage": entry.usage,
                    "cost": entry.cost,
                }))
            }
            MessageRole::User => self.results(entry),
        }
    }

    fn results(&self, entry: &MessageEntry) -> ReportLines {
        let name = entry.result.as_ref().map(|result| result.name.as_str());
        let mut lines = Vec::new();
        for block in &entry.content {
            match block {
                ContentBlock::ToolResult { tool_use_id, content, is_error } => {
                    lines.extend(self.line(&json!({
                        "type": "tool_result",
                        "tool_use_id": tool_use_id,
                        "name": name,
                        "content": content,
                        "is_error": is_error,
                    })));
                }
                ContentBlock::Text { .. }
                | ContentBlock::Context { .. }
                | ContentBlock::Image(_)
                | ContentBlock::Thinking { .. }
                | ContentBlock::Sealed { .. }
                | ContentBlock::ToolUse(_) => {}
            }
        }
        lines
    }

    fn ended(&mut self, outcome: &TurnOutcome, usage: TokenUsage) -> ReportLines {
        self.outcome = Some(outcome.clone());
        self.usage = usage;
        let mut lines = Vec::new();
        let error = RunError::of(outcome);
        if let Some(error) = &error {
            lines.push((ReportStream::Err, error.message.clone()));
        }
        match self.format {
            OutputFormat::Text if !self.text.is_empty() => {
                lines.push((ReportStream::Out, self.text.clone()));
            }
            OutputFormat::Text => {}
            OutputFormat::Json | OutputFormat::StreamJson => {
                lines.push((ReportStream::Out, self.result(error.as_ref()).to_string()));
            }
        }
        lines
    }

    fn result(&self, error: Option<&RunError>) -> Value {
        let refused: Vec<Value> = self
            .refused
            .iter()
            .map(|(call, reason)| json!({"call": call, "reason": reason}))
            .collect();
        let by_source: Map<String, Value> = self
            .by_source
            .iter()
            .map(|(of, spent)| {
                let sums = json!({"usage": spent.usage, "cost": spent.known_cost()});
                (of.name().to_owned(), sums)
            })
            .collect();
        // An unknown cost is not zero.
        json!({
            "type": "result",
            "text": self.text,
            "session_id": self.session,
            "usage": self.usage,
            "cost": self.cost,
            "by_source": by_source,
            "turns": self.turn,
            "exit": self.exit().code(),
            "refused": refused,
            "error": error.map(|error| json!({"kind": error.kind, "message": error.message})),
        })
    }

    /// A line of the event stream; nothing in other formats.
    fn line(&self, value: &Value) -> ReportLines {
        match self.format {
            OutputFormat::StreamJson => vec![(ReportStream::Out, value.to_string())],
            OutputFormat::Text | OutputFormat::Json => Vec::new(),
        }
    }
}

/// Why a run has no answer, or not the whole one.
struct RunError {
    /// Part of the interface for scripts: a name that does not change.
    kind: &'static str,
    message: String,
}

impl RunError {
    fn of(outcome: &TurnOutcome) -> Option<Self> {
        let (kind, message) = match outcome {
            TurnOutcome::Answered => return None,
            TurnOutcome::Interrupted => ("interrupted", "Interrupted.".to_owned()),
            TurnOutcome::RoundLimit => (
                "round_limit",
                "Stopped: the turn used all its rounds of tool calls. Raise `max_tool_rounds`, or \
                 go on with --continue."
                    .to_owned(),
            ),
            TurnOutcome::Budget(message) => ("budget", message.clone()),
            TurnOutcome::Failed(message) => ("failed", message.clone()),
            TurnOutcome::ModelFailed(failure) => (failure.name(), failure.to_string()),
        };
        Some(Self { kind, message })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use chrono::DateTime;

    use super::*;
    use crate::domain::{CallId, CallInput, EntryId, Message};
    use crate::session::TurnEnd;

    fn response(text: &str) -> AgentEvent {
        let mut entry = MessageEntry::new(Message {
            role: MessageRole::Assistant,
            content: vec![ContentBlock::Text { text: text.into() }],
        });
        entry.stop_reason = Some(StopReason::EndTurn);
        AgentEvent::Recorded(Arc::new(LogRecord {
            id: EntryId::generate(),
            timestamp: DateTime::UNIX_EPOCH,
            turn: TurnId(1),
            entry: LogEntry::Message(entry),
        }))
    }

    fn ended(outcome: TurnOutcome) -> AgentEvent {
        AgentEvent::Recorded(Arc::new(LogRecord {
            id: EntryId::generate(),
            timestamp: DateTime::UNIX_EPOCH,
            turn: TurnId(1),
            entry: LogEntry::TurnEnd(TurnEnd { outcome, usage: TokenUsage::default(), cost: None }),
        }))
    }

    fn play(
        format: OutputFormat,
        events: &[AgentEvent],
    ) -> (HeadlessReport, Vec<String>, Vec<String>) {
        let mut report = HeadlessReport::new(format);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        for (stream, line) in events.iter().flat_map(|event| report.take(event)) {
            match stream {
                ReportStream::Out => out.push(line),
                ReportStream::Err => err.push(line),
            }
        }
        (report, out, err)
    }

    #[test]
    fn text_is_the_last_answer_alone() {
        let events = [response("looking"), response("here"), ended(TurnOutcome::Answered)];
        let (report, out, err) = play(OutputFormat::Text, &events);
        assert_eq!((out, err), (vec!["here".to_owned()], vec![]));
        assert_eq!(report.exit(), CliExitStatus::Answered);
    }

    #[test]
    fn the_pieces_of_an_answer_that_was_cut_off_are_one() {
        let cut = |text: &str| match response(text) {
            AgentEvent::Recorded(record) => {
                let mut record = Arc::unwrap_or_clone(record);
                if let LogEntry::Message(entry) = &mut record.entry {
                    entry.stop_reason = Some(StopReason::MaxTokens);
                }
                AgentEvent::Recorded(Arc::new(record))
            }
            other => other,
        };
        let ended = ended(TurnOutcome::Answered);
        let events = [response("looking"), cut("one t"), cut("wo thr"), response("ee"), ended];
        let (_, out, _) = play(OutputFormat::Text, &events);
        assert_eq!(out, ["one two three"]);
    }

    #[test]
    fn every_retry_is_reported_with_its_number() {
        use crate::providers::RateLimited;
        use crate::providers::retry::RetryAttempt;
        let pause = std::time::Duration::from_millis(1500);
        let (turn, reason) = (TurnId(1), "Busy.".to_owned());
        let again = Some(RetryAttempt { pause, number: 2, of: 10 });
        let held = RateLimited { wait: pause, reason: "Slow down.".to_owned() };
        let events = [
            AgentEvent::ResponseDropped { turn, reason: reason.clone(), again },
            AgentEvent::ResponseDropped { turn, reason, again: None },
            AgentEvent::RequestRateLimited { turn, held },
        ];
        let (_, out, err) = play(OutputFormat::StreamJson, &events);
        assert_eq!(err, ["Busy. Trying again in 1.5 s (2 of 10).", "Slow down. Waiting 1.5 s."]);
        let lines: Vec<Value> =
            out.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let retry = json!({"type": "retry", "reason": "Busy.", "wait_ms": 1500, "number": 2,
            "of": 10});
        let held = json!({"type": "held", "reason": "Slow down.", "wait_ms": 1500});
        assert_eq!(lines, [retry, held]);
    }

    #[test]
    fn a_failure_goes_to_standard_error_and_exits_with_one() {
        let events = [ended(TurnOutcome::Failed("No server answers.".into()))];
        let (report, out, err) = play(OutputFormat::Text, &events);
        assert_eq!((out, err), (vec![], vec!["No server answers.".to_owned()]));
        assert_eq!(report.exit(), CliExitStatus::Failed);
    }

    #[test]
    fn refused_calls_are_listed_and_exit_with_four() {
        let call = ToolCall {
            id: CallId::new("c"),
            name: "Bash".into(),
            input: CallInput::Valid(json!({"command": "rm x"})),
        };
        let events = [
            AgentEvent::CallRefused { call, reason: "nobody to ask".into() },
            response("could not"),
            ended(TurnOutcome::Answered),
        ];
        let (report, out, _) = play(OutputFormat::Json, &events);
        assert_eq!(report.exit(), CliExitStatus::Refused);
        let result: Value = serde_json::from_str(&out[0]).unwrap();
        assert_eq!(result["exit"], 4);
        assert_eq!(result["refused"][0]["call"]["input"]["command"], "rm x");
    }

    #[test]
    fn refused_calls_are_reported_in_every_format() {
        for format in [OutputFormat::Text, OutputFormat::Json, OutputFormat::StreamJson] {
            let call = ToolCall {
                id: CallId::new("c"),
                name: "Bash".into(),
                input: CallInput::Valid(json!({"command": "rm x"})),
            };
            let refused =
                AgentEvent::CallRefused { call, reason: "The rule Bash(rm *) refuses it.".into() };
            let (_, out, err) = play(format, &[refused, ended(TurnOutcome::Answered)]);
            assert_eq!(err, ["Refused Bash: The rule Bash(rm *) refuses it."]);
            if format != OutputFormat::Text {
                let result: Value = serde_json::from_str(out.last().unwrap()).unwrap();
                assert_eq!(result["refused"][0]["reason"], "The rule Bash(rm *) refuses it.");
            }
        }
    }

    #[test]
    fn the_event_stream_is_one_object_a_line_and_ends_with_the_result() {
        let session = SessionId::generate();
        let events = [
            AgentEvent::SessionOpened { session, records: Arc::default() },
            response("hi"),
            ended(TurnOutcome::Answered),
        ];
        let (_, out, _) = play(OutputFormat::StreamJson, &events);
        let kinds: Vec<String> = out
            .iter()
            .map(|line| {
                let value: Value = serde_json::from_str(line).unwrap();
                value["type"].as_str().unwrap().to_owned()
            })
            .collect();
        assert_eq!(kinds, ["session", "message", "result"]);
    }
}
