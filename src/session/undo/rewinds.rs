//! Which records are in force after all the going back and forth.

use std::collections::HashMap;

use crate::domain::{ContentBlock, EntryId, MessageRole};
use crate::session::{LogEntry, LogRecord, MessageEntry, RewindEntry};

/// What of a log is in force.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RewindHistory {
    /// For each record; empty where nobody ever went back.
    live: Vec<bool>,
    standing: Vec<ActiveRewind>,
}

/// A rewind that can be taken back: nothing was said since.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ActiveRewind {
    /// The record of the rewind.
    id: EntryId,
    at: usize,
    /// The record that it goes back before.
    start: usize,
    has_files: bool,
    /// The records that it took out of force.
    hidden: Vec<usize>,
}

/// What matters of a record to what comes before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RewindMark {
    /// Something was said.
    Message(EntryId),
    /// The person went back or forth.
    Rewind(EntryId, Box<RewindEntry>),
}

impl RewindHistory {
    /// Of these records.
    pub fn of(records: &[LogRecord]) -> Self {
        Self::of_parts(records, &[])
    }

    /// Of these records, where others follow that have these marks.
    pub fn of_parts(records: &[LogRecord], later: &[RewindMark]) -> Self {
        let is_rewind = |record: &LogRecord| matches!(record.entry, LogEntry::Rewind(_));
        if later.is_empty() && !records.iter().any(is_rewind) {
            return Self::default();
        }
        let mut fold = RewindReplay::default();
        for record in records {
            if let LogEntry::Rewind(rewind) = &record.entry {
                fold.rewind(record.id, rewind);
            } else if let LogEntry::Message(_) = &record.entry {
                fold.say(record.id);
            } else {
                fold.push(record.id);
            }
        }
        for mark in later {
            match mark {
                RewindMark::Message(id) => fold.say(*id),
                RewindMark::Rewind(id, rewind) => fold.rewind(*id, rewind),
            }
        }
        Self { live: fold.live, standing: fold.standing }
    }

    /// Whether the record at this place is in force.
    pub fn is_live(&self, at: usize) -> bool {
        self.live.get(at).copied().unwrap_or(true)
    }

    /// The rewind that going forth takes back.
    pub fn redoable(&self) -> Option<usize> {
        self.standing.last().map(|standing| standing.at)
    }

    /// The record that the files have gone back before, if they have.
    pub fn files_back_to(&self) -> Option<usize> {
        self.standing.iter().filter(|it| it.has_files).map(|it| it.start).min()
    }
}

/// What of these records matters to those before them.
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

/// The messages of the person's that are in force: what can be gone back before.
pub fn points<'a>(
    records: &'a [LogRecord],
    rewinds: &RewindHistory,
) -> impl DoubleEndedIterator<Item = (usize, &'a MessageEntry)> {
    records.iter().enumerate().filter_map(|(at, record)| {
        let LogEntry::Message(said) = &record.entry else { return None };
        (is_user_message(said) && rewinds.is_live(at)).then_some((at, said))
    })
}

fn is_user_message(said: &MessageEntry) -> bool {
    let speaks = |block: &ContentBlock| match block {
        ContentBlock::Text { text } => !text.trim().is_empty(),
        ContentBlock::Image(_) => true,
        ContentBlock::Context { .. }
        | ContentBlock::Thinking { .. }
        | ContentBlock::Sealed { .. }
        | ContentBlock::ToolUse(_)
        | ContentBlock::ToolResult { .. } => false,
    };
    said.role == MessageRole::User && said.result.is_none() && said.content.iter().any(speaks)
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
                // What is not here is older than everything that is.
                let start = self.places.get(&rewind.before).copied().unwrap_or(0);
                let hidden: Vec<usize> = match rewind.what.has_conversation() {
                    true => (start..at).filter(|at| self.live[*at]).collect(),
                    false => Vec::new(),
                };
                for hidden in &hidden {
                    self.live[*hidden] = false;
                }
                let has_files = rewind.what.has_files();
                self.standing.push(ActiveRewind { id, at, start, has_files, hidden });
            }
            Some(redone) => {
                self.live[at] = false;
                let Some(from) = self.standing.iter().position(|it| it.id == redone) else {
                    return;
                };
                for standing in self.standing.drain(from..).rev() {
                    self.live[standing.at] = false;
                    for hidden in standing.hidden {
                        self.live[hidden] = true;
                    }
                }
            }
        }
    }
}
