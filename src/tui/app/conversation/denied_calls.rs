//! The tool calls that were denied in a session, from its log.

use chrono::{DateTime, Utc};

use crate::domain::PermissionOutcome;
use crate::session::{LogEntry, LogRecord, PermissionEntry};

/// A tool call that was denied in this session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeniedCall {
    pub at: DateTime<Utc>,
    pub entry: PermissionEntry,
}

/// Adds a record of the log to the denied calls, if it is one.
pub fn note(calls: &mut Vec<DeniedCall>, record: &LogRecord) {
    calls.extend(refusal(record));
}

/// Adds the denied calls of an older part of the log, which is loaded later, before the others.
pub fn note_earlier(calls: &mut Vec<DeniedCall>, earlier: &[LogRecord]) {
    calls.splice(0..0, earlier.iter().filter_map(refusal));
}

fn refusal(record: &LogRecord) -> Option<DeniedCall> {
    match &record.entry {
        LogEntry::Permission(entry) if entry.decision == PermissionOutcome::Deny => {
            Some(DeniedCall { at: record.timestamp, entry: entry.clone() })
        }
        LogEntry::Session(_)
        | LogEntry::Message(_)
        | LogEntry::ToolStarted { .. }
        | LogEntry::Permission(_)
        | LogEntry::FileChange(_)
        | LogEntry::NotCovered(_)
        | LogEntry::Rewind(_)
        | LogEntry::Compaction(_)
        | LogEntry::Interrupted
        | LogEntry::TurnEnd(_)
        | LogEntry::ContextEdit(_)
        | LogEntry::Title { .. }
        | LogEntry::Todo { .. }
        | LogEntry::Tasks(_)
        | LogEntry::Model { .. }
        | LogEntry::Mode { .. } => None,
    }
}
