//! Follows a child until its parent lets it go: counts what it does, puts what it spends and changes on the
//! parent's record, stops it at its limits, and says once how it has ended.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::agent::AgentEvent;
use crate::agent::event_queue::AgentEventSender;
use crate::agent::journal::SessionJournal;
use crate::agent::session_hooks::wait_until;
use crate::domain::{
    ApprovalId, CallId, Message, MessageRole, Money, RequestSource, SubagentState, SubagentSummary,
    ToolStatus, TurnId,
};
use crate::session::{
    FileChangeEntry, FileChangeSource, LogEntry, LogRecord, MessageEntry, SpendingSum, TurnOutcome,
};

use super::session_agents::{ChildAgent, ChildEnd, SessionAgents};
use super::signs::ChildSign;

/// How long a child that is stopped may take to end by itself.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// What follows one child.
pub(super) struct ChildFollower {
    pub(super) child: Arc<ChildAgent>,
    pub(super) agents: std::sync::Weak<SessionAgents>,
    pub(super) signs: mpsc::UnboundedReceiver<ChildSign>,
    pub(super) task: JoinHandle<()>,
    /// The turn of the parent that started it.
    pub(super) turn: TurnId,
    pub(super) call: CallId,
    pub(super) journal: Arc<SessionJournal>,
    /// The parent's.
    pub(super) events: AgentEventSender,
    pub(super) deadline: Duration,
    pub(super) silence: Duration,
}

/// What is known of a child besides its summary.
struct ChildProgress {
    began: Instant,
    heard: Instant,
    looked: Instant,
    /// The time that it may still work, as long as no question is open.
    time_left: Duration,
    silence: Duration,
    asked: HashMap<ApprovalId, CallId>,
    spent: SpendingSum,
    text: String,
    /// Why it is being stopped, and since when.
    stopping: Option<(SubagentState, String, Instant)>,
    has_ended: bool,
}

impl ChildFollower {
    /// Follows the child until it is gone.
    pub(super) async fn follow(mut self) {
        let now = Instant::now();
        let mut progress = ChildProgress {
            began: now,
            heard: now,
            looked: now,
            time_left: self.deadline,
            silence: self.silence,
            asked: HashMap::new(),
            spent: SpendingSum::default(),
            text: String::new(),
            stopping: None,
            has_ended: false,
        };
        loop {
            let limit = progress.limit();
            tokio::select! {
                biased;
                sign = self.signs.recv() => match sign {
                    Some(sign) => self.take(&mut progress, sign).await,
                    None => break,
                },
                () = wait_until(limit) => self.over_limit(&mut progress),
            }
        }
        if let Err(error) = (&mut self.task).await {
            tracing::error!(%error, "an agent that was started ended abnormally");
        }
        let (state, reason) = match progress.stopping.take() {
            Some((state, reason, _)) => (state, reason),
            None => (SubagentState::Failed, "It ended unexpectedly, without an answer.".to_owned()),
        };
        self.end(&mut progress, state, reason);
    }

    async fn take(&mut self, progress: &mut ChildProgress, sign: ChildSign) {
        progress.tick();
        match sign {
            ChildSign::Alive => {}
            ChildSign::Requested => progress.asked.clear(),
            ChildSign::Opened(session) => {
                self.tell(progress, |summary| summary.session = Some(session));
            }
            ChildSign::Asked(id, call) => {
                progress.asked.insert(id, call);
            }
            ChildSign::Withdrawn(id) => {
                progress.asked.remove(&id);
            }
            ChildSign::Recorded(record) => self.record(progress, &record).await,
        }
    }

    async fn record(&mut self, progress: &mut ChildProgress, record: &Arc<LogRecord>) {
        match &record.entry {
            LogEntry::Permission(answered) => {
                progress.asked.retain(|_, call| *call != answered.call);
            }
            LogEntry::Message(message) => self.message(progress, message).await,
            LogEntry::FileChange(change) => {
                // Not as the parent's own: its model has not seen the content.
                let change = FileChangeEntry {
                    by: FileChangeSource::Command,
                    call: Some(self.call.clone()),
                    ..change.clone()
                };
                self.journal.write(self.turn, LogEntry::FileChange(change)).await;
            }
            LogEntry::NotCovered(untracked) => {
                let entry = LogEntry::NotCovered(untracked.clone());
                self.journal.write(self.turn, entry).await;
            }
            LogEntry::TurnEnd(end) if !end.is_compaction => {
                let (state, reason) = match progress.stopping.take() {
                    Some((state, reason, _)) => (state, reason),
                    None => outcome(&end.outcome, &progress.text),
                };
                self.end(progress, state, reason);
            }
            LogEntry::Mode { .. }
            | LogEntry::Model { .. }
            | LogEntry::Title { .. }
            | LogEntry::Tasks(_)
            | LogEntry::Todo { .. }
            | LogEntry::TurnEnd(_)
            | LogEntry::Interrupted
            | LogEntry::Session(_)
            | LogEntry::ContextEdit(_)
            | LogEntry::Compaction(_)
            | LogEntry::Rewind(_)
            | LogEntry::ToolStarted { .. } => {}
        }
    }

    async fn message(&mut self, progress: &mut ChildProgress, message: &MessageEntry) {
        if let Some(result) = &message.result {
            for call in message.message().answers() {
                progress.asked.retain(|_, asked| asked != call);
            }
            let refused = u32::from(result.status == ToolStatus::Denied);
            self.tell(progress, |summary| {
                summary.tool_calls += 1;
                summary.refused_calls += refused;
            });
            return;
        }
        // Of a response that was stopped, too: it is what the child had said by then.
        if message.role == MessageRole::Assistant && message.source.is_main() {
            let text = message.message().text();
            if !text.trim().is_empty() {
                progress.text = text;
            }
        }
        if message.stop_reason.is_none() {
            return;
        }
        let spent = SpendingSum::of(message);
        progress.spent += spent;
        let (tokens, cost): (u64, Option<Money>) =
            (progress.spent.worked(), progress.spent.known_cost());
        self.tell(progress, |summary| (summary.tokens, summary.cost) = (tokens, cost));
        // Nothing of it is part of the parent's conversation: it only counts as spent there.
        let paid = MessageEntry {
            stop_reason: message.stop_reason,
            usage: message.usage,
            is_usage_estimated: message.is_usage_estimated,
            model: message.model.clone(),
            cost: message.cost,
            source: RequestSource::Agent,
            ..MessageEntry::new(Message { role: MessageRole::Assistant, content: Vec::new() })
        };
        self.journal.write(self.turn, LogEntry::Message(paid)).await;
        let overdrawn = self.agents.upgrade().and_then(|agents| agents.budget.spend(spent));
        if let (Some(whose), false) = (overdrawn, progress.has_ended) {
            let reason = format!("The budget of {whose} is used up.");
            self.stop(progress, SubagentState::OutOfBudget, reason);
        }
    }

    fn over_limit(&mut self, progress: &mut ChildProgress) {
        progress.tick_silently();
        if let Some((_, _, since)) = &progress.stopping {
            if since.elapsed() >= STOP_TIMEOUT {
                // Its turn does not end. The log keeps what it has done by now.
                self.child.stop.stop_all();
                self.task.abort();
                let (state, reason) = progress.stopping.take().map_or_else(
                    || (SubagentState::Failed, String::new()),
                    |(state, reason, _)| (state, reason),
                );
                self.end(progress, state, reason);
            }
        } else if progress.time_left.is_zero() {
            let reason = format!("Its time of {} s is over.", self.deadline.as_secs());
            self.stop(progress, SubagentState::OutOfTime, reason);
        } else if progress.heard.elapsed() >= self.silence {
            let reason = format!("Nothing came from it for {} s.", self.silence.as_secs());
            self.stop(progress, SubagentState::Silent, reason);
        }
    }

    fn stop(&self, progress: &mut ChildProgress, state: SubagentState, reason: String) {
        progress.stopping.get_or_insert((state, reason, Instant::now()));
        self.child.stop.stop_turn();
    }

    /// Notes the end, once: what the user has the agent do after it is between the two.
    fn end(&self, progress: &mut ChildProgress, state: SubagentState, reason: String) {
        if std::mem::replace(&mut progress.has_ended, true) {
            return;
        }
        let text = std::mem::take(&mut progress.text);
        self.tell(progress, |summary| summary.state = state);
        self.child.end.send_replace(Some(ChildEnd { text, reason }));
        if let Some(agents) = self.agents.upgrade() {
            agents.ended.notify_waiters();
        }
    }

    /// Changes the summary, and tells the parent's front end.
    fn tell(&self, progress: &ChildProgress, change: impl FnOnce(&mut SubagentSummary)) {
        let elapsed = u64::try_from(progress.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let summary = self.child.change(|summary| {
            if summary.state.is_running() {
                summary.elapsed_ms = elapsed;
            }
            change(summary);
        });
        self.events.send(AgentEvent::Subagent(Box::new(summary)));
    }
}

impl ChildProgress {
    /// Something came from the child.
    fn tick(&mut self) {
        self.tick_silently();
        self.heard = Instant::now();
    }

    /// The time since the last look was worked, unless a question was open.
    fn tick_silently(&mut self) {
        if self.asked.is_empty() {
            self.time_left = self.time_left.saturating_sub(self.looked.elapsed());
        }
        self.looked = Instant::now();
    }

    /// When something is to be done if nothing comes; `None` while the user is asked, and after the end.
    fn limit(&self) -> Option<Instant> {
        if self.has_ended {
            return None;
        }
        if let Some((_, _, since)) = &self.stopping {
            return Some(*since + STOP_TIMEOUT);
        }
        self.asked.is_empty().then(|| (self.heard + self.silence).min(self.looked + self.time_left))
    }
}

/// How a child has ended whose turn ended so. An error is never a report.
fn outcome(outcome: &TurnOutcome, text: &str) -> (SubagentState, String) {
    match outcome {
        TurnOutcome::Answered if text.trim().is_empty() => {
            (SubagentState::Failed, "It ended without a report.".to_owned())
        }
        TurnOutcome::Answered => (SubagentState::Done, String::new()),
        TurnOutcome::Interrupted => (SubagentState::Stopped, "It was stopped.".to_owned()),
        TurnOutcome::RoundLimit => {
            (SubagentState::OutOfRounds, "It has used all its rounds of tool calls.".to_owned())
        }
        TurnOutcome::Budget(reason) => (SubagentState::OutOfBudget, reason.clone()),
        TurnOutcome::Failed(reason) => (SubagentState::Failed, reason.clone()),
        TurnOutcome::ModelFailed(failure) => (SubagentState::Failed, failure.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(now: Instant) -> ChildProgress {
        ChildProgress {
            began: now,
            heard: now,
            looked: now,
            time_left: Duration::from_secs(60),
            silence: Duration::from_secs(15),
            asked: HashMap::new(),
            spent: SpendingSum::default(),
            text: String::new(),
            stopping: None,
            has_ended: false,
        }
    }

    #[test]
    fn no_limit_holds_while_the_user_is_asked_and_after_the_end() {
        let now = Instant::now();
        let mut child = progress(now);
        assert_eq!(child.limit(), Some(now + Duration::from_secs(15)));
        child.asked.insert(ApprovalId(1), CallId::new("c1"));
        assert_eq!(child.limit(), None);
        child.tick_silently();
        assert_eq!(
            child.time_left,
            Duration::from_secs(60),
            "the time of a question is not its own"
        );
        child.asked.clear();
        child.time_left = Duration::from_secs(5);
        assert_eq!(child.limit(), Some(child.looked + Duration::from_secs(5)));
        child.stopping = Some((SubagentState::Silent, String::new(), now));
        assert_eq!(child.limit(), Some(now + STOP_TIMEOUT), "it is not waited for without end");
        child.has_ended = true;
        assert_eq!(child.limit(), None);
    }
}
