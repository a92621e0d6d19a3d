//! Turns events into the lines that a script reads, in each output format.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::agent::AgentEvent;
use crate::cli::{CliExitStatus, OutputFormat};
use crate::domain::{
    AgentId, ContentBlock, JobId, MessageRole, ModelName, Money, NoticeLevel, PermissionMode,
    SessionId, StopReason, SubagentState, SubagentSummary, TokenUsage, ToolCall, TurnId, pluralise,
};
use crate::session::{FileDelta, LogEntry, LogRecord, MessageEntry, SpendingBySource, TurnOutcome};

use super::output_line::{
    AgentLine, OutputLine, RefusedCall, ResultError, ResultFile, ResultLine, SessionLine,
    SourceCost,
};
use super::run_facts::{AwaitedResponse, RunEnd, RunError, RunFacts, TimeState};

/// What has happened so far, and what the result will be.
#[derive(Debug)]
pub struct HeadlessReport {
    format: OutputFormat,
    facts: RunFacts,
    first_line: FirstLineState,
    /// The lines that wait for the first one.
    held: ReportLines,
    model: Option<ModelName>,
    mode: Option<PermissionMode>,
    time: TimeState,
    awaited: AwaitedResponse,
    /// It was said that the model loads.
    has_told_loading: bool,
    /// How many responses made calls.
    rounds: u32,
    /// The records of changed files.
    changes: Vec<Arc<LogRecord>>,
    /// The commands of the jobs that run.
    jobs: BTreeMap<JobId, String>,
    /// The agents that were started.
    agents: BTreeMap<AgentId, SubagentState>,
    /// The calls of each that were not permitted.
    refused_to_agents: BTreeMap<AgentId, u32>,
    session: Option<SessionId>,
    text: String,
    /// The stop reason of the response that `text` is from.
    stop: Option<StopReason>,
    turn: TurnId,
    refused: Vec<RefusedCall>,
    outcome: Option<TurnOutcome>,
    usage: TokenUsage,
    cost: Option<Money>,
    by_source: SpendingBySource,
}

/// The first line of the event stream. It names the model, which is sometimes known only from the
/// server's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstLineState {
    NotOpened,
    /// Written as soon as the model is known, at the latest at the end. Other lines wait for it.
    Waiting,
    Written,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportStream {
    Out,
    Err,
}

pub(super) type ReportLines = Vec<(ReportStream, String)>;

impl HeadlessReport {
    /// A report before the first event.
    pub fn new(format: OutputFormat, facts: RunFacts) -> Self {
        Self {
            format,
            facts,
            first_line: FirstLineState::NotOpened,
            held: Vec::new(),
            model: None,
            mode: None,
            time: TimeState::Left,
            awaited: AwaitedResponse::No,
            has_told_loading: false,
            rounds: 0,
            changes: Vec::new(),
            jobs: BTreeMap::new(),
            agents: BTreeMap::new(),
            session: None,
            text: String::new(),
            stop: None,
            turn: TurnId::default(),
            refused: Vec::new(),
            refused_to_agents: BTreeMap::new(),
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

    /// Notes that the time is up, and that the turn is therefore stopped.
    pub(super) fn stop_for_time(&mut self) {
        self.time = TimeState::Up(self.awaited);
    }

    /// Whether the run was stopped because its time is up.
    pub(super) fn is_out_of_time(&self) -> bool {
        matches!(self.time, TimeState::Up(_))
    }

    /// The records of the files that the run has changed so far.
    pub(super) fn changes(&self) -> impl Iterator<Item = &LogRecord> {
        self.changes.iter().map(|record| &**record)
    }

    /// The exit status for the events so far. A run whose turn has not ended has failed.
    pub fn exit(&self) -> CliExitStatus {
        match &self.outcome {
            Some(TurnOutcome::Answered)
                if self.refused.is_empty() && self.refused_to_agents.is_empty() =>
            {
                CliExitStatus::Answered
            }
            Some(TurnOutcome::Answered) => CliExitStatus::Refused,
            Some(TurnOutcome::Budget(_) | TurnOutcome::RoundLimit) => CliExitStatus::Limit,
            Some(TurnOutcome::Interrupted) | None if self.is_out_of_time() => CliExitStatus::Limit,
            Some(
                TurnOutcome::Interrupted | TurnOutcome::Failed(_) | TurnOutcome::ModelFailed(_),
            )
            | None => CliExitStatus::Failed,
        }
    }

    pub(super) fn take(&mut self, event: &AgentEvent) -> ReportLines {
        let lines = self.lines_of(event);
        if self.first_line != FirstLineState::Waiting {
            return lines;
        }
        let (out, err) = lines.into_iter().partition(|(stream, _)| *stream == ReportStream::Out);
        self.held.extend(out);
        let mut lines: ReportLines = err;
        if self.model.is_some() {
            lines.extend(self.release());
        }
        lines
    }

    /// The first line of the event stream, and those that waited for it.
    fn release(&mut self) -> ReportLines {
        self.first_line = FirstLineState::Written;
        let mut lines = self.line(&self.session_line());
        lines.append(&mut self.held);
        lines
    }

    /// The line that names the session, with what is known of it.
    pub(super) fn session_line(&self) -> OutputLine {
        OutputLine::Session(Box::new(SessionLine {
            id: self.session,
            version: self.facts.version,
            cwd: self.facts.cwd.clone(),
            provider: self.model.as_ref().map(|model| model.provider.clone()),
            model: self.model.as_ref().map(|model| model.model.clone()),
            mode: self.mode.map(PermissionMode::name),
            tools: self.facts.tools.clone(),
        }))
    }

    /// The first line and those that wait for it, though the model may not be known yet.
    pub(super) fn release_waiting(&mut self) -> ReportLines {
        match self.first_line {
            FirstLineState::Waiting => self.release(),
            FirstLineState::NotOpened | FirstLineState::Written => Vec::new(),
        }
    }

    /// Forgets what belongs to the turn before: the next one has a result of its own.
    pub(super) fn begin_turn(&mut self) {
        let new = Self::new(self.format, RunFacts::default());
        let before = std::mem::replace(self, new);
        self.facts = before.facts;
        (self.first_line, self.held) = (before.first_line, before.held);
        (self.session, self.model, self.mode) = (before.session, before.model, before.mode);
        (self.jobs, self.agents, self.turn) = (before.jobs, before.agents, before.turn);
        self.has_told_loading = before.has_told_loading;
    }

    /// Follows whether a response is awaited, for a run whose time is up.
    fn note_awaited(&mut self, event: &AgentEvent) {
        if let AgentEvent::RequestSent { .. } = event {
            self.awaited = AwaitedResponse::Silent;
        } else if let AgentEvent::Prefill { progress, .. } = event {
            let (read, total) = (progress.processed, progress.total);
            self.awaited = AwaitedResponse::Prefill { read, total };
        } else if matches!(
            event,
            AgentEvent::Text { .. }
                | AgentEvent::Thinking { .. }
                | AgentEvent::CallStarted { .. }
                | AgentEvent::ResponseDropped { .. }
                | AgentEvent::RequestRateLimited { .. }
                | AgentEvent::ToolStarted { .. }
                | AgentEvent::CompactionStarted { .. }
                | AgentEvent::Recorded(_)
                | AgentEvent::NotRecorded(_)
        ) {
            self.awaited = AwaitedResponse::No;
        }
    }

    fn lines_of(&mut self, event: &AgentEvent) -> ReportLines {
        self.note_awaited(event);
        match event {
            AgentEvent::SessionOpened { session, .. } => {
                self.session = Some(*session);
                self.first_line = FirstLineState::Waiting;
                Vec::new()
            }
            AgentEvent::ModelChanged { model, .. } => {
                let is_news = self.model.replace(model.clone()).is_none();
                match is_news && self.first_line == FirstLineState::Written {
                    true => self.line(&self.session_line()),
                    false => Vec::new(),
                }
            }
            AgentEvent::JobStarted(job) => {
                self.jobs.insert(job.id, job.command.clone());
                Vec::new()
            }
            AgentEvent::JobEnded { job, .. } => {
                self.jobs.remove(job);
                Vec::new()
            }
            AgentEvent::ModeChanged(mode) => {
                self.mode = Some(*mode);
                Vec::new()
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
                self.notice(refusal.level(), &refusal.to_string())
            }
            AgentEvent::SaveFailed { reason } => vec![(ReportStream::Err, reason.clone())],
            AgentEvent::ResponseDropped { reason, again: Some(again), .. } => {
                let (seconds, number, of) = (again.pause.as_secs_f32(), again.number, again.of);
                let text = format!("{reason} Trying again in {seconds:.1} s ({number} of {of}).");
                let mut lines = vec![(ReportStream::Err, text)];
                let (reason, wait_ms) = (reason.clone(), milliseconds(again.pause));
                lines.extend(self.line(&OutputLine::Retry { reason, wait_ms, number, of }));
                lines
            }
            // A notice tells what is requested instead.
            AgentEvent::ResponseDropped { again: None, .. } => Vec::new(),
            AgentEvent::RequestRateLimited { held, .. } => {
                let reason = &held.reason;
                let text = format!("{reason} Waiting {:.1} s.", held.wait.as_secs_f32());
                let mut lines = vec![(ReportStream::Err, text)];
                let (reason, wait_ms) = (reason.clone(), milliseconds(held.wait));
                lines.extend(self.line(&OutputLine::Held { reason, wait_ms }));
                lines
            }
            AgentEvent::Subagent(agent) => self.subagent(agent),
            AgentEvent::CallRefused { call, reason } => self.refuse(call.clone(), reason.clone()),
            AgentEvent::ModelLoading(Some(_)) if !self.has_told_loading => {
                self.has_told_loading = true;
                vec![(ReportStream::Err, "Loading the model.".to_owned())]
            }
            AgentEvent::ModelNeeded { .. }
            | AgentEvent::ModelLoading(_)
            | AgentEvent::ProviderFailed { .. }
            | AgentEvent::SessionState { .. }
            | AgentEvent::SteerSettled { .. }
            | AgentEvent::MessageReturned(_)
            | AgentEvent::RequestSent { .. }
            | AgentEvent::CompactionStarted { .. }
            | AgentEvent::CompactionProgress { .. }
            | AgentEvent::Prefill { .. }
            | AgentEvent::Text { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::CallStarted { .. }
            | AgentEvent::CallInput { .. }
            | AgentEvent::ResponseTimed { .. }
            | AgentEvent::CacheMissed { .. }
            | AgentEvent::ToolStarted { .. }
            | AgentEvent::ToolProgress { .. }
            | AgentEvent::ApprovalAsked(_)
            | AgentEvent::QuestionsAsked(_)
            | AgentEvent::ApprovalFacts { .. }
            | AgentEvent::ApprovalWithdrawn(_)
            | AgentEvent::RaceStarted { .. }
            | AgentEvent::RaceEnded { .. }
            | AgentEvent::Rules(_)
            | AgentEvent::Context(_)
            | AgentEvent::Memory(_)
            | AgentEvent::ContextEstimated(_)
            | AgentEvent::PromptFiles(_)
            | AgentEvent::Jobs(_)
            | AgentEvent::JobOutput(_)
            | AgentEvent::RewindPlanned(_)
            | AgentEvent::ReviewPlanned(_)
            | AgentEvent::Rewound { .. }
            | AgentEvent::Forked { .. } => Vec::new(),
        }
    }

    /// Notes a call that was not permitted.
    pub(super) fn refuse(&mut self, call: ToolCall, reason: String) -> ReportLines {
        let text = format!("Refused {}: {reason}", call.name);
        self.refused.push(RefusedCall { call, reason });
        vec![(ReportStream::Err, text)]
    }

    /// Tells that an agent has begun or ended, and in lines of JSON all that changes in between.
    fn subagent(&mut self, agent: &SubagentSummary) -> ReportLines {
        let is_news = self.agents.insert(agent.agent, agent.state) != Some(agent.state);
        let state = agent.state.words();
        if agent.refused_calls > 0 {
            self.refused_to_agents.insert(agent.agent, agent.refused_calls);
        }
        let mut lines = Vec::new();
        if is_news {
            let refused = match agent.refused_calls {
                0 => String::new(),
                count => format!(" {} not permitted.", pluralise(count as usize, "call")),
            };
            let text = format!("Agent {} ({}) is {state}.{refused}", agent.agent, agent.name());
            lines.push((ReportStream::Err, text));
        }
        lines.extend(self.line(&OutputLine::Agent(Box::new(AgentLine {
            agent: agent.agent,
            call: agent.call.clone(),
            session: agent.session,
            kind: agent.kind.clone(),
            task: agent.task.clone(),
            state: agent.state,
            tool_calls: agent.tool_calls,
            refused_calls: agent.refused_calls,
            tokens: agent.tokens,
            cost: agent.cost,
            elapsed_ms: agent.elapsed_ms,
        }))));
        lines
    }

    fn notice(&self, level: NoticeLevel, text: &str) -> ReportLines {
        let level = match level {
            NoticeLevel::Info => "info",
            NoticeLevel::Warning => "warning",
            NoticeLevel::Error => "error",
        };
        let mut lines = vec![(ReportStream::Err, text.to_owned())];
        lines.extend(self.line(&OutputLine::Notice { level, text: text.to_owned() }));
        lines
    }

    /// What a record of the log tells.
    pub(super) fn recorded(&mut self, record: &Arc<LogRecord>) -> ReportLines {
        if let LogEntry::TurnEnd(end) = &record.entry {
            (self.outcome, self.usage) = (Some(end.outcome.clone()), end.usage);
            self.rounds += end.rounds;
            return Vec::new();
        }
        if let LogEntry::FileChange(_) = &record.entry {
            self.changes.push(record.clone());
        }
        if let LogEntry::Compaction(compaction) = &record.entry {
            let (told, tokens) = (compaction.told(), compaction.tokens);
            let line = OutputLine::Compaction {
                text: told.clone(),
                tokens_before: tokens.map(|tokens| tokens.before),
                tokens_after: tokens.map(|tokens| tokens.after),
            };
            let mut lines = vec![(ReportStream::Err, told)];
            lines.extend(self.line(&line));
            return lines;
        }
        let LogEntry::Message(entry) = &record.entry else { return Vec::new() };
        if !entry.source.is_main() {
            return Vec::new();
        }
        match entry.role {
            MessageRole::Assistant => {
                let message = entry.message();
                let text = message.text();
                if std::mem::replace(&mut self.stop, entry.stop_reason)
                    == Some(StopReason::MaxTokens)
                {
                    self.text.push_str(&text);
                } else {
                    self.text = text;
                }
                self.line(&OutputLine::Message {
                    role: entry.role,
                    content: entry.content.clone(),
                    stop_reason: entry.stop_reason,
                    usage: entry.usage,
                    cost: entry.cost,
                })
            }
            MessageRole::User => self.results(entry),
        }
    }

    fn results(&self, entry: &MessageEntry) -> ReportLines {
        let name = entry.result.as_ref().map(|result| result.name.clone());
        let mut lines = Vec::new();
        for block in &entry.content {
            match block {
                ContentBlock::ToolResult { tool_use_id, content, is_error } => {
                    lines.extend(self.line(&OutputLine::ToolResult {
                        tool_use_id: tool_use_id.clone(),
                        name: name.clone(),
                        content: content.clone(),
                        is_error: *is_error,
                    }));
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

    /// The last lines: what went wrong, what is ended, and the result.
    pub(super) fn finish(&mut self, end: &RunEnd) -> ReportLines {
        let mut lines = self.release_waiting();
        for command in self.background(end) {
            let text = format!("Still running, and ended now: {}", one_line(command));
            lines.push((ReportStream::Err, text));
        }
        lines.extend(self.finish_turn(end));
        lines
    }

    /// What went wrong in a turn that is over, and its result.
    pub(super) fn finish_turn(&mut self, end: &RunEnd) -> ReportLines {
        let mut lines = self.release_waiting();
        let error = RunError::of(self.outcome.as_ref(), self.time);
        if let Some(error) = &error {
            lines.push((ReportStream::Err, error.message.clone()));
        }
        match self.format {
            OutputFormat::Text if !self.text.is_empty() => {
                lines.push((ReportStream::Out, self.text.clone()));
            }
            OutputFormat::Text => {}
            OutputFormat::Json | OutputFormat::StreamJson => {
                lines.push((ReportStream::Out, self.result(end, error).text()));
            }
        }
        lines
    }

    /// The commands of what still runs: jobs, and what calls have left behind.
    fn background<'a>(&'a self, end: &'a RunEnd) -> impl Iterator<Item = &'a String> {
        self.jobs.values().chain(&end.background)
    }

    fn result(&self, end: &RunEnd, error: Option<RunError>) -> OutputLine {
        let files = end.files.iter().map(|FileDelta { name, lines }| {
            let (added, removed) = lines.unzip();
            ResultFile { path: name.clone(), added, removed }
        });
        let by_source = self.by_source.iter().map(|(of, spent)| {
            (of.name(), SourceCost { usage: spent.usage, cost: spent.known_cost() })
        });
        let error = error.map(|RunError { kind, message }| ResultError { kind, message });
        // An unknown cost is not zero.
        OutputLine::Result(Box::new(ResultLine {
            text: self.text.clone(),
            session_id: self.session,
            usage: self.usage,
            cost: self.cost,
            by_source: by_source.collect(),
            turns: self.turn,
            rounds: self.rounds,
            duration_ms: milliseconds(end.elapsed),
            provider: self.model.as_ref().map(|model| model.provider.clone()),
            model: self.model.as_ref().map(|model| model.model.clone()),
            stop_reason: self.stop,
            files: files.collect(),
            background: self.background(end).cloned().collect(),
            exit: self.exit().code(),
            refused: self.refused.clone(),
            refused_to_agents: self.refused_to_agents.values().sum(),
            error,
        }))
    }

    /// A line of the event stream; nothing in other formats.
    fn line(&self, line: &OutputLine) -> ReportLines {
        match self.format {
            OutputFormat::StreamJson => vec![(ReportStream::Out, line.text())],
            OutputFormat::Text | OutputFormat::Json => Vec::new(),
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A command on one line.
fn one_line(command: &str) -> String {
    command.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
