//! Which records are in force after all rewinds and redos.

use std::collections::HashMap;

use crate::domain::{ContentBlock, EntryId, MessageRole};
use crate::session::{LogEntry, LogRecord, MessageEntry, RewindEntry};

/// Which records of a log are in force, and which rewinds can be taken back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RewindHistory {
    /// Whether each record is in force; empty where there is no rewind at all.
    live: Vec<bool>,
    standing: Vec<ActiveRewind>,
}

/// A rewind that can still be taken back, because nothing was said since.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ActiveRewind {
    /// The record of the rewind.
    id: EntryId,
    at: usize,
    /// The index of the record that it goes back before.
    start: usize,
    /// Whether it took back all that was done to the files since.
    has_files: bool,
    /// The indices of the records that it took out of force.
    hidden: Vec<usize>,
}

/// What a later record means for the records before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RewindMark {
    /// A message: earlier rewinds can no longer be taken back.
    Message(EntryId),
    /// A rewind or a redo.
    Rewind(EntryId, Box<RewindEntry>),
}

impl RewindHistory {
    /// The history of these records.
    pub fn of(records: &[LogRecord]) -> Self {
        Self::of_parts(records, &[])
    }

    /// The history of these records, where later ones follow of which only the marks are known.
    pub fn of_parts(records: &[LogRecord], later: &[RewindMark]) -> Self {
        let is_rewind = |record: &LogRecord| matches!(record.entry, LogEntry::Rewind(_));
        if later.is_empty() && !records.iter().any(is_rewind) {
            return Self::default();
        }
        let mut replay = RewindReplay::default();
        for record in records {
            if let LogEntry::Rewind(rewind) = &record.entry {
                replay.rewind(record.id, rewind);
            } else if let LogEntry::Message(_) = &record.entry {
                replay.say(record.id);
            } else {
                replay.push(record.id);
            }
        }
        for mark in later {
            match mark {
                RewindMark::Message(id) => replay.say(*id),
                RewindMark::Rewind(id, rewind) => replay.rewind(*id, rewind),
            }
        }
        Self { live: replay.live, standing: replay.standing }
    }

    /// Whether the record at this index is in force.
    pub fn is_live(&self, at: usize) -> bool {
        self.live.get(at).copied().unwrap_or(true)
    }

    /// The index of the rewind that a redo would take back; `None` where there is none.
    pub fn redoable(&self) -> Option<usize> {
        self.standing.last().map(|standing| standing.at)
    }

    /// The index of the record that the files have gone back before; `None` where they have not.
    pub fn files_back_to(&self) -> Option<usize> {
        self.standing.iter().filter(|it| it.has_files).map(|it| it.start).min()
    }
}

/// The marks of these records: what they mean for the records before them.
pub fn marks(records: &[LogRecord]) -> Vec<RewindMark> {
    let mut marks = Vec::new();
    for record in records {
        if let LogEntry::Rewind(rewind) = &record.entry {
            marks.push(RewindMark::Rewind(record.id, Box::new(rewind.clone())));
        } else if let LogEntry::Message(_) = &record.entry
            && !matches!(marks.last(), Some(RewindMark::Message(_)))
        {
            marks.push(RewindMark::Message(record.id));
        }
    }
    marks
}

/// The user's messages that are in force, with their indices: the points that a rewind can go back
/// before.
pub fn points<'a>(
    records: &'a [LogRecord],
    rewinds: &RewindHistory,
) -> impl DoubleEndedIterator<Item = (usize, &'a MessageEntry)> {
    records.iter().enumerate().filter_map(|(at, record)| {
        let LogEntry::Message(message) = &record.entry else { return None };
        (is_user_message(message) && rewinds.is_live(at)).then_some((at, message))
    })
}

fn is_user_message(message: &MessageEntry) -> bool {
    let speaks = |block: &ContentBlock| match block {
        ContentBlock::Text { text } => !text.trim().is_empty(),
        ContentBlock::Image(_) => true,
        ContentBlock::Context { .. }
        | ContentBlock::Thinking { .. }
        | ContentBlock::Sealed { .. }
        | ContentBlock::ToolUse(_)
        | ContentBlock::ToolResult { .. } => false,
    };
    message.role == MessageRole::User
        && message.result.is_none()
        && message.content.iter().any(speaks)
}

#[derive(Default)]
struct RewindReplay {
    places: HashMap<EntryId, usize>,
    live: Vec<bool>,
    standing: Vec<ActiveRewind>,
}

impl RewindReplay {
    fn push(&mut self, id: EntryId) {
        self.places.insert(id, self.live.len());
        self.live.push(true);
    }

    fn say(&mut self, id: EntryId) {
        self.push(id);
        self.standing.clear();
    }

    fn rewind(&mut self, id: EntryId, rewind: &RewindEntry) {
        let at = self.live.len();
        self.push(id);
        match rewind.redoes {
            None => {
                // A record that is not here is older than everything that is.
                let start = self.places.get(&rewind.before).copied().unwrap_or(0);
                let hidden: Vec<usize> = match rewind.what.has_conversation() {
                    true => (start..at).filter(|at| self.live[*at]).collect(),
                    false => Vec::new(),
                };
                for hidden in &hidden {
                    self.live[*hidden] = false;
                }
                let has_files = rewind.what.has_files() && rewind.part.is_none();
                self.standing.push(ActiveRewind { id, at, start, has_files, hidden });
            }
            Some(redone) => {
                self.live[at] = false;
                let Some(from) = self.standing.iter().position(|it| it.id == redone) else {
                    return;
                };
                // A part comes back alone: what was taken back after it stays so.
                let upto = if rewind.part.is_some() { from + 1 } else { self.standing.len() };
                for standing in self.standing.drain(from..upto).rev() {
                    self.live[standing.at] = false;
                    for hidden in standing.hidden {
                        self.live[hidden] = true;
                    }
                }
            }
        }
    }
}
