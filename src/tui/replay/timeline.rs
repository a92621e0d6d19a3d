//! When each record of a log is shown in a replay: as far apart as the log's times say, but no pause
//! longer than a limit.
//!
//! The times of a log are whatever the file says. One that goes back counts as no time.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::{MessageRole, SessionId};
use crate::session::{LogEntry, LogRecord, SessionHeader, TurnOutcome};

/// How fast a replay is, before the user changes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplayPace {
    /// How many seconds of the session take one second.
    pub speed: f64,
    /// The longest pause between two records, on the session's clock.
    pub max_pause: Duration,
}

impl Default for ReplayPace {
    fn default() -> Self {
        Self { speed: 1.0, max_pause: Duration::from_secs(3) }
    }
}

/// The records of a session with the times at which they are shown.
#[derive(Debug, Clone)]
pub struct ReplayTimeline {
    records: Arc<Vec<LogRecord>>,
    /// When each record is shown, since the beginning; never earlier than the one before.
    starts: Vec<Duration>,
}

impl ReplayTimeline {
    /// A timeline of records, which are in the order of the log.
    pub fn new(records: Vec<LogRecord>, max_pause: Duration) -> Self {
        let mut at = Duration::ZERO;
        let mut before = None;
        let starts = records.iter().map(|record| {
            let gap = before.replace(record.timestamp).map(|before| record.timestamp - before);
            let gap = gap.and_then(|gap| gap.to_std().ok()).unwrap_or_default();
            at = at.saturating_add(gap.min(max_pause));
            at
        });
        Self { starts: starts.collect(), records: Arc::new(records) }
    }

    /// The records, in order.
    pub fn records(&self) -> &Arc<Vec<LogRecord>> {
        &self.records
    }

    /// When a record is shown; the end for one behind the last.
    pub fn start(&self, index: usize) -> Duration {
        self.starts.get(index).copied().unwrap_or_else(|| self.length())
    }

    /// How long all of it takes.
    pub fn length(&self) -> Duration {
        self.starts.last().copied().unwrap_or_default()
    }

    /// The session's first line; `None` where the log has lost it.
    pub fn header(&self) -> Option<&SessionHeader> {
        self.records.iter().find_map(|record| match &record.entry {
            LogEntry::Session(header) => Some(header),
            _ => None,
        })
    }

    /// The session, as its first line names it.
    pub fn session(&self) -> Option<SessionId> {
        self.header().map(|header| header.session_id)
    }

    /// How many records have been shown after the next stop behind the first `shown`; all of them if
    /// there is none.
    pub(super) fn next_stop(&self, shown: usize) -> usize {
        let behind = self.records.iter().enumerate().skip(shown);
        behind
            .filter(|(_, record)| is_stop(record))
            .map(|(at, _)| at + 1)
            .next()
            .unwrap_or(self.records.len())
    }

    /// How many records have been shown after the last stop of the first `shown`; 0 if there is none.
    pub(super) fn last_stop(&self, shown: usize) -> usize {
        let before = self.records.iter().enumerate().take(shown).rev();
        before.filter(|(_, record)| is_stop(record)).map(|(at, _)| at + 1).next().unwrap_or(0)
    }
}

/// Whether the step keys stop behind a record: something has been said or done that is worth a look.
fn is_stop(record: &LogRecord) -> bool {
    match &record.entry {
        LogEntry::Message(message) => message.source.is_main(),
        LogEntry::Permission(permission) => super::steps::was_asked(permission),
        LogEntry::TurnEnd(end) => end.outcome != TurnOutcome::Answered,
        LogEntry::Rewind(_) | LogEntry::Compaction(_) | LogEntry::Interrupted => true,
        LogEntry::Session(_)
        | LogEntry::ToolStarted { .. }
        | LogEntry::FileChange(_)
        | LogEntry::NotCovered(_)
        | LogEntry::ContextEdit(_)
        | LogEntry::Title { .. }
        | LogEntry::Todo { .. }
        | LogEntry::Tasks(_)
        | LogEntry::Model { .. }
        | LogEntry::Mode { .. } => false,
    }
}

/// Whether a record is a message of the user's that a turn answers.
pub(super) fn asks(record: &LogRecord) -> bool {
    record.entry.as_message().is_some_and(|message| {
        message.role == MessageRole::User && message.source.is_main() && message.result.is_none()
    })
}
