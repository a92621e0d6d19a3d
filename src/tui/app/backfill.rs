//! The older part of a long session. The newest part is folded as a session opens, so that it is
//! on screen at once; the rest is folded on another thread, and goes before it when it is there.
//!
//! The law: the blocks of both parts are those of the whole.

use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::SessionId;
use crate::session::undo::{RewindHistory, RewindMark};
use crate::session::{LogRecord, NEWEST_RECORDS};

use super::block::TranscriptBlock;
use super::effect::{RequestId, ScreenEffect};
use super::jump::{self, BackfillState};
use super::model::ScreenModel;
use super::store_queries;
use super::transcript::Transcript;

/// As many ids are kept for older blocks: more than a log has records, or a record has blocks.
pub(super) const IDS: u64 = 1 << 40;

/// Room for blocks that come later, so that the first of them does not move all others.
const ROOM: usize = 4 * NEWEST_RECORDS;

/// Records to be folded.
#[derive(Debug, Clone, PartialEq)]
pub struct BackfillRequest {
    records: Arc<Vec<LogRecord>>,
    /// As many of them.
    upto: usize,
    /// What in those behind them matters to them.
    later: Vec<RewindMark>,
    /// The id of their first block.
    from: u64,
    cwd: PathBuf,
}

/// The older part of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct BackfillResult {
    /// What goes before the blocks that are shown.
    blocks: Vec<TranscriptBlock>,
    /// The session that it was forked from.
    parent: Option<SessionId>,
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

    /// Folds them. Takes a while: not for the thread that draws.
    pub fn replay(self) -> BackfillResult {
        let records = &self.records[..self.upto];
        let rewinds = RewindHistory::of_parts(records, &self.later);
        let part = Transcript::part(self.from, self.cwd, records, &rewinds);
        let mut blocks = part.into_blocks();
        blocks.reserve(ROOM);
        BackfillResult { blocks, parent: store_queries::parent(records) }
    }
}

/// Takes the older part in. How its panes were folded is asked for once more, since the answer
/// for the newest part has come before it.
pub fn on_backfilled(
    model: &mut ScreenModel,
    id: RequestId,
    folded: BackfillResult,
) -> Vec<ScreenEffect> {
    if model.requests.backfill.take_if(|asked| *asked == id).is_none() {
        return Vec::new();
    }
    model.transcript.prepend(folded.blocks);
    jump::arrive(model, BackfillState::Complete);
    let session = model.status.session;
    session
        .map(|session| store_queries::ask_for_folds(model, session, folded.parent))
        .into_iter()
        .collect()
}

/// How many of a session's records are older than what is folded at once.
pub(super) fn upto(records: &[LogRecord]) -> usize {
    let earliest = records.len().saturating_sub(NEWEST_RECORDS);
    if earliest == 0 {
        return 0;
    }
    let begin = records[earliest..].iter().position(LogRecord::can_start_conversation);
    // One turn of a thousand records without an answer: all of it then.
    begin.map_or(0, |begin| earliest + begin)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::{ContentBlock as Said, TurnId};
    use crate::session::{LogEntry, RewindEntry, RewindScope, TurnOutcome};
    use crate::tui::app::block::BlockBody;
    use crate::tui::test_screen::{assistant, call, done, result, turn_end, user};

    fn turns(count: usize) -> Vec<LogRecord> {
        let turn = |n: usize| {
            let (one, two) = (format!("a{n}"), format!("b{n}"));
            vec![
                user(&format!("question {n}")),
                assistant(vec![
                    Said::Text { text: format!("I look, {n}.") },
                    Said::ToolUse(call(&one, "Read", json!({"file_path": "a.rs"}))),
                    Said::ToolUse(call(&two, "Read", json!({"file_path": "b.rs"}))),
                ]),
                result(&one, "1 a", done("Read", 3)),
                result(&two, "1 b", done("Read", 3)),
                assistant(vec![Said::Text { text: format!("answer {n}") }]),
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
    fn both_parts_are_the_whole_wherever_it_is_cut() {
        let mut records = turns(NEWEST_RECORDS / 6 + 20);
        while records.len() > NEWEST_RECORDS {
            let whole = Transcript::from_records("/".into(), &records);
            let mut parts = Transcript::new("/".into());
            let shared = Arc::new(records.clone());
            if let Some(older) = parts.open(&shared) {
                let newest = parts.blocks().len();
                assert!(newest <= NEWEST_RECORDS + 10 && newest > NEWEST_RECORDS / 2, "{newest}");
                parts.prepend(older.replay().blocks);
            }
            assert!(bodies(parts.blocks()) == bodies(whole.blocks()), "of {}", records.len());
            assert!(parts.blocks().is_sorted_by(|one, two| one.id < two.id));
            records.pop();
        }
    }

    #[test]
    fn what_the_end_takes_back_is_gone_from_the_older_part() {
        let mut records = turns(NEWEST_RECORDS / 6 + 40);
        let rewind = |before: usize, redoes: Option<&LogRecord>| {
            crate::tui::test_screen::record(LogEntry::Rewind(RewindEntry {
                before: records[before].id,
                redoes: redoes.map(|record| record.id),
                what: RewindScope::Both,
                files: Vec::new(),
                left: Vec::new(),
                messages: 0,
                summary: None,
            }))
        };
        // Before the newest part, forth again, and a little further back.
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
            // As an agent tells it that has read the end alone.
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
        assert_eq!(transcript.blocks().len(), 15);
    }
}
