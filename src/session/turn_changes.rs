//! What a turn changed in files: the figures that its end has in the log.
//!
//! The lines are those of the diffs that the calls of the turn showed, so a line that was changed twice
//! counts twice. Where a file was changed without a diff, by a command, no lines are given: half of a
//! figure would be a wrong one.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::domain::{ToolDisplay, TurnId};

use super::change::FileChangeSource;
use super::{LogEntry, LogRecord};

/// The files that a turn changed, and the lines in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TurnChanges {
    /// How many files.
    pub files: usize,
    /// `None` where not every change was shown as a diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<ChangedLines>,
}

/// Counts of added and removed lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChangedLines {
    pub added: usize,
    pub removed: usize,
}

/// Counts the changes of the newest turn, record by record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnChangeTally {
    turn: TurnId,
    changed: BTreeSet<PathBuf>,
    /// Files whose changes were shown as diffs.
    shown: BTreeSet<PathBuf>,
    lines: ChangedLines,
}

impl TurnChangeTally {
    /// Counts one more record.
    pub fn note(&mut self, record: &LogRecord) {
        match &record.entry {
            LogEntry::FileChange(change) if change.by != FileChangeSource::Rewind => {
                self.begin(record.turn);
                self.changed.insert(change.path.clone());
            }
            LogEntry::Message(message) => {
                let display = message.result.as_ref().and_then(|result| result.display.as_ref());
                if let Some(ToolDisplay::Diff(diff)) = display {
                    self.begin(record.turn);
                    self.shown.insert(diff.path.clone());
                    self.lines.added += diff.added;
                    self.lines.removed += diff.removed;
                }
            }
            LogEntry::FileChange(_)
            | LogEntry::Session(_)
            | LogEntry::ToolStarted { .. }
            | LogEntry::Permission(_)
            | LogEntry::NotCovered(_)
            | LogEntry::Rewind(_)
            | LogEntry::Compaction(_)
            | LogEntry::ContextEdit(_)
            | LogEntry::Interrupted
            | LogEntry::TurnEnd(_)
            | LogEntry::Title { .. }
            | LogEntry::Todo { .. }
            | LogEntry::Tasks(_)
            | LogEntry::Model { .. }
            | LogEntry::Mode { .. } => {}
        }
    }

    /// What this turn has changed so far; `None` if nothing.
    pub fn of(&self, turn: TurnId) -> Option<TurnChanges> {
        if self.turn != turn || self.changed.is_empty() {
            return None;
        }
        let lines = self.changed.is_subset(&self.shown).then_some(self.lines);
        Some(TurnChanges { files: self.changed.len(), lines })
    }

    fn begin(&mut self, turn: TurnId) {
        if self.turn != turn {
            *self = Self { turn, ..Self::default() };
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::Utc;

    use super::*;
    use crate::domain::{
        CallId, ContentBlock, EntryId, FileDiff, Message, MessageRole, ToolStatus,
    };
    use crate::session::{FileChangeEntry, MessageEntry, ToolResultInfo};

    fn record(turn: u32, entry: LogEntry) -> LogRecord {
        LogRecord { id: EntryId::generate(), timestamp: Utc::now(), turn: TurnId(turn), entry }
    }

    fn change(turn: u32, path: &str, by: FileChangeSource) -> LogRecord {
        record(turn, LogEntry::FileChange(FileChangeEntry::new(path.into(), None, None, by)))
    }

    fn edit(turn: u32, path: &str, before: &str, after: &str) -> LogRecord {
        let result = ContentBlock::ToolResult {
            tool_use_id: CallId::new("c"),
            content: "done".into(),
            is_error: false,
        };
        let info = ToolResultInfo {
            name: "Edit".into(),
            status: ToolStatus::Done,
            summary: None,
            display: Some(ToolDisplay::Diff(FileDiff::between(path, before, after))),
            elapsed_ms: 1,
            kept: None,
            job: None,
            agent: None,
        };
        let message = Message { role: MessageRole::User, content: vec![result] };
        record(
            turn,
            LogEntry::Message(MessageEntry { result: Some(info), ..MessageEntry::new(message) }),
        )
    }

    fn tally(records: &[LogRecord]) -> TurnChangeTally {
        let mut tally = TurnChangeTally::default();
        records.iter().for_each(|record| tally.note(record));
        tally
    }

    #[test]
    fn a_turn_counts_its_own_files_and_lines() {
        use FileChangeSource::{Rewind, Tool};
        let tally = tally(&[
            change(1, "/w/old", Tool),
            change(2, "/w/a", Tool),
            edit(2, "/w/a", "1\n2\n", "1\n3\n4\n"),
            change(2, "/w/a", Tool),
            edit(2, "/w/a", "1\n", "1\n5\n"),
            change(2, "/w/c", Rewind),
        ]);
        let lines = Some(ChangedLines { added: 3, removed: 1 });
        assert_eq!(tally.of(TurnId(2)), Some(TurnChanges { files: 1, lines }));
        assert_eq!(tally.of(TurnId(3)), None);
    }

    #[test]
    fn lines_are_left_out_where_a_command_changed_a_file() {
        use FileChangeSource::{Command, Tool};
        let tally = tally(&[
            change(1, "/w/a", Tool),
            edit(1, "/w/a", "1\n", "2\n"),
            change(1, "/w/b", Command),
        ]);
        assert_eq!(tally.of(TurnId(1)), Some(TurnChanges { files: 2, lines: None }));
    }
}
