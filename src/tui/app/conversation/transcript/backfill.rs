//! The older part of a long session. When a session opens, only its newest records are replayed, so
//! that they are on screen at once. The rest is replayed on another thread and put before them once
//! it is ready.
//!
//! Invariant: the blocks of both parts together equal the blocks of a replay of the whole log.

use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::SessionId;
use crate::session::undo::{RewindHistory, RewindMark};
use crate::session::{LogEntry, LogRecord, NEWEST_RECORDS};

use super::Transcript;
use crate::tui::app::conversation::block::TranscriptBlock;

/// Block ids reserved for the older part: far more than a log has records or a record has blocks.
pub(super) const IDS: u64 = 1 << 40;

/// Capacity left for blocks that come later, so that adding the first one does not reallocate.
const ROOM: usize = 4 * NEWEST_RECORDS;

/// The records to replay for the older part of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct BackfillRequest {
    records: Arc<Vec<LogRecord>>,
    /// Replay only the first `upto` records.
    upto: usize,
    /// Rewinds among the later records that affect the ones replayed here.
    later: Vec<RewindMark>,
    /// The id of the first block.
    from: u64,
    cwd: PathBuf,
}

/// The replayed older part of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct BackfillResult {
    /// The blocks that go before those on screen.
    pub blocks: Vec<TranscriptBlock>,
    /// The session that this one was forked from.
    pub parent: Option<SessionId>,
}

impl BackfillRequest {
    pub(super) fn new(
        records: Arc<Vec<LogRecord>>,
        upto: usize,
        later: Vec<RewindMark>,
        from: u64,
        cwd: PathBuf,
    ) -> Self {
        Self { records, upto, later, from, cwd }
    }

    /// Replays the records. Takes a while: do not call on the thread that draws.
    pub fn replay(self) -> BackfillResult {
        let records = &self.records[..self.upto];
        let rewinds = RewindHistory::of_parts(records, &self.later);
        let part = Transcript::part(self.from, self.cwd, records, &rewinds);
        let mut blocks = part.into_blocks();
        blocks.reserve(ROOM);
        BackfillResult { blocks, parent: parent(records) }
    }
}

/// How many of a session's records are left for the older part.
pub(super) fn upto(records: &[LogRecord]) -> usize {
    let earliest = records.len().saturating_sub(NEWEST_RECORDS);
    if earliest == 0 {
        return 0;
    }
    let begin = records[earliest..].iter().position(LogRecord::can_start_conversation);
    // A single turn of a thousand records without an answer is replayed as a whole.
    begin.map_or(0, |begin| earliest + begin)
}

/// The session that the one with these records was forked from; `None` if it is no fork.
pub fn parent(records: &[LogRecord]) -> Option<SessionId> {
    let LogEntry::Session(header) = &records.first()?.entry else { return None };
    header.forked_from
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::{ContentBlock, TurnId};
    use crate::session::{LogEntry, RewindEntry, RewindScope, TurnOutcome};
    use crate::tui::app::conversation::block::BlockBody;
    use crate::tui::test_screen::{assistant, call, done, result, turn_end, user};

    fn turns(count: usize) -> Vec<LogRecord> {
        let turn = |n: usize| {
            let (one, two) = (format!("a{n}"), format!("b{n}"));
            vec![
                user(&format!("question {n}")),
                assistant(vec![
                    ContentBlock::Text { text: format!("I look, {n}.") },
                    ContentBlock::ToolUse(call(&one, "Read", json!({"file_path": "a.rs"}))),
                    ContentBlock::ToolUse(call(&two, "Read", json!({"file_path": "b.rs"}))),
                ]),
                result(&one, "1 a", done("Read", 3)),
                result(&two, "1 b", done("Read", 3)),
                assistant(vec![ContentBlock::Text { text: format!("answer {n}") }]),
                turn_end(if n % 7 == 3 { TurnOutcome::Interrupted } else { TurnOutcome::Answered }),
            ]
        };
        let numbered = |n: usize| {
            let number = TurnId(u32::try_from(n).unwrap());
            turn(n).into_iter().map(move |record| LogRecord { turn: number, ..record })
        };
        (0..count).flat_map(numbered).collect()
    }

    fn bodies(blocks: &[TranscriptBlock]) -> Vec<BlockBody> {
        blocks.iter().map(|block| block.body.clone()).collect()
    }

    #[test]
    fn both_parts_equal_the_whole_at_every_cut() {
        let mut records = turns(NEWEST_RECORDS / 6 + 20);
        while records.len() > NEWEST_RECORDS {
            let whole = Transcript::from_records("/".into(), &records);
            let mut parts = Transcript::new("/".into());
            let shared = Arc::new(records.clone());
            if let Some(older) = parts.open(&shared) {
                let newest = parts.blocks().len();
                assert!(
                    newest <= NEWEST_RECORDS + NEWEST_RECORDS / 6 + 10
                        && newest > NEWEST_RECORDS / 2,
                    "{newest}"
                );
                parts.prepend(older.replay().blocks);
            }
            assert!(bodies(parts.blocks()) == bodies(whole.blocks()), "of {}", records.len());
            assert!(parts.blocks().is_sorted_by(|one, two| one.id < two.id));
            records.pop();
        }
    }

    #[test]
    fn later_rewinds_remove_blocks_of_the_older_part() {
        let mut records = turns(NEWEST_RECORDS / 6 + 40);
        let rewind = |before: usize, redoes: Option<&LogRecord>| {
            crate::tui::test_screen::record(LogEntry::Rewind(RewindEntry {
                before: records[before].id,
                redoes: redoes.map(|record| record.id),
                what: RewindScope::Both,
                part: None,
                files: Vec::new(),
                left: Vec::new(),
                messages: 0,
                summary: None,
            }))
        };
        // Back to before the newest part, forward again, and back a little further.
        let back = rewind(60, None);
        let end = [rewind(60, Some(&back)), rewind(12, None)];
        records.push(back);
        for record in std::iter::once(None).chain(end.map(Some)) {
            records.extend(record);
            let whole = Transcript::from_records("/".into(), &records);
            let mut parts = Transcript::new("/".into());
            if let Some(older) = parts.open(&Arc::new(records.clone())) {
                parts.prepend(older.replay().blocks);
            }
            assert!(bodies(parts.blocks()) == bodies(whole.blocks()), "of {}", records.len());
            // As an agent reports it that has read only the end of the log.
            let (earlier, newest) = records.split_at(records.len() - NEWEST_RECORDS);
            let mut parts = Transcript::new("/".into());
            parts.open(&Arc::new(newest.to_vec()));
            let earlier = Arc::new(earlier.to_vec());
            if let Some(older) = parts.older(&earlier, earlier.len()) {
                parts.prepend(older.replay().blocks);
            }
            assert!(bodies(parts.blocks()) == bodies(whole.blocks()), "of {}", records.len());
        }
    }

    #[test]
    fn a_short_session_has_no_older_part() {
        let mut transcript = Transcript::new("/".into());
        assert_eq!(transcript.open(&Arc::new(turns(3))), None);
        assert_eq!(transcript.blocks().len(), 18);
    }
}
