//! Searches the blocks of the transcript step by step, from where the search begins upwards and then
//! below it, and keeps the matches in order.

use std::collections::VecDeque;
use std::ops::Range;

use crate::tui::app::conversation::scroll::ScrollAnchor;
use crate::tui::app::conversation::source::{self, BlockPart};
use crate::tui::app::conversation::transcript::{BlockId, Transcript, TranscriptBlock};
use crate::tui::app::editor::{EditorLines, TextEditor};
use crate::tui::app::focus::KeyboardFocus;
use crate::tui::app::text_query::TextQueryKind;

use super::line_matches::matches;
use super::{
    MOST, PartialBlockScan, STEP, TranscriptMatch, TranscriptScan, TranscriptSearch,
    TranscriptSearchDirection, TranscriptSearchStage, TranscriptSearchStatus,
};

/// Cost of a block beside its bytes, counted as bytes.
pub(super) const BLOCK_COST: usize = 64;
/// The smallest piece of a long text in bytes: a match across two pieces would be missed.
pub(super) const PIECE: usize = 64 * 1024;
/// How many of the newest blocks are searched again when they change, as they do while they stream
/// or run.
const NEWEST: usize = 64;

impl TranscriptSearch {
    pub(super) fn new(origin: (ScrollAnchor, KeyboardFocus)) -> Self {
        Self {
            field: TextEditor::new(EditorLines::One),
            kind: TextQueryKind::default(),
            stage: TranscriptSearchStage::Typing,
            query: None,
            error: None,
            hits: VecDeque::new(),
            current: None,
            origin,
            scan: TranscriptScan::from(BlockId(0)),
            scanned: VecDeque::new(),
        }
    }

    /// The current match.
    pub fn current(&self) -> Option<TranscriptMatch> {
        self.current
    }

    /// The matches that overlap a range of bytes in a text of a block, in order.
    pub fn hits_in(
        &self,
        block: BlockId,
        part: BlockPart,
        bytes: Range<usize>,
    ) -> impl Iterator<Item = TranscriptMatch> {
        let place = (block, part, bytes.start);
        let from = self.hits.partition_point(|hit| (hit.block, hit.part, hit.to) <= place);
        let hits = self.hits.range(from..).copied();
        hits.take_while(move |hit| (hit.block, hit.part) == (block, part) && hit.from < bytes.end)
    }

    /// The result of the search so far.
    pub fn found(&self, transcript: &Transcript) -> TranscriptSearchStatus {
        let count = self.hits.len();
        match (&self.query, &self.error, self.current) {
            (_, Some(error), _) => TranscriptSearchStatus::Wrong(error.clone()),
            (None, None, _) => TranscriptSearchStatus::Idle,
            (Some(_), None, _) if count >= MOST => TranscriptSearchStatus::TooMany,
            (Some(_), None, _) if self.is_looking(transcript) => {
                TranscriptSearchStatus::SoFar(count)
            }
            (Some(_), None, None) => TranscriptSearchStatus::None,
            (Some(_), None, Some(current)) => TranscriptSearchStatus::One(
                self.hits.partition_point(|hit| *hit < current) + 1,
                count,
            ),
        }
    }

    pub(super) fn other(&self, direction: TranscriptSearchDirection) -> Option<TranscriptMatch> {
        let current = self.current?;
        let at = self.hits.partition_point(|hit| *hit < current);
        let found = match direction {
            TranscriptSearchDirection::Previous => {
                at.checked_sub(1).and_then(|at| self.hits.get(at))
            }
            TranscriptSearchDirection::Next => self.hits.get(at + 1),
        };
        let around = match direction {
            TranscriptSearchDirection::Previous => self.hits.back(),
            TranscriptSearchDirection::Next => self.hits.front(),
        };
        found.or(around).copied()
    }

    pub(super) fn is_looking(&self, transcript: &Transcript) -> bool {
        let more_below = transcript.index(self.scan.below) < transcript.blocks().len();
        let more = more_below || self.has_more_above(transcript);
        self.query.is_some() && self.hits.len() < MOST && more
    }

    /// Whether blocks above have not been searched, including those loaded later.
    pub(super) fn has_more_above(&self, transcript: &Transcript) -> bool {
        transcript.index(self.scan.above) > 0
    }

    /// Searches about `budget` bytes more, and returns the cost.
    pub(super) fn step(&mut self, transcript: &Transcript, budget: usize) -> usize {
        let mut left = budget;
        while left > 0 && self.is_looking(transcript) {
            let above = transcript.index(self.scan.above).checked_sub(1);
            let index = above.unwrap_or_else(|| transcript.index(self.scan.below));
            let Some(block) = transcript.blocks().get(index) else { break };
            left = left.saturating_sub(BLOCK_COST);
            let Some(found) = self.look_at(block, &mut left) else { break };
            self.note(block);
            if above.is_none() {
                self.scan.below = BlockId(block.id.0 + 1);
                self.hits.extend(found);
            } else {
                self.scan.above = block.id;
                found.into_iter().rev().for_each(|hit| self.hits.push_front(hit));
            }
        }
        budget - left
    }

    /// Searches a block, or as much of it as `left` allows; `None` if a part of it remains.
    fn look_at(
        &mut self,
        block: &TranscriptBlock,
        left: &mut usize,
    ) -> Option<Vec<TranscriptMatch>> {
        let query = self.query.as_ref()?;
        let inside = self.scan.inside.take().filter(|inside| inside.block == block.id);
        let new =
            PartialBlockScan { block: block.id, part: BlockPart::Head, at: 0, found: Vec::new() };
        let mut inside = inside.unwrap_or(new);
        loop {
            let text = source::text(block, inside.part);
            let rest = text.get(inside.at..).unwrap_or_default();
            let piece = piece(rest, (*left).max(PIECE));
            let hits = matches(query, piece).into_iter().map(|range| TranscriptMatch {
                block: block.id,
                part: inside.part,
                from: inside.at + range.start,
                to: inside.at + range.end,
            });
            inside.found.extend(hits.take(MOST));
            *left = left.saturating_sub(piece.len());
            inside.at += piece.len();
            if inside.at < text.len() {
                if inside.found.len() >= MOST {
                    return Some(inside.found);
                }
                self.scan.inside = Some(inside);
                return None;
            }
            match inside.part {
                BlockPart::Head => (inside.part, inside.at) = (BlockPart::Body, 0),
                BlockPart::Body => return Some(inside.found),
            }
        }
    }

    /// Remembers the revision of a block that was searched.
    fn note(&mut self, block: &TranscriptBlock) {
        self.scanned.retain(|(id, _)| *id != block.id);
        self.scanned.push_back((block.id, block.revision));
        if self.scanned.len() > NEWEST {
            // The oldest blocks no longer change.
            if let Some(oldest) = (0..self.scanned.len()).min_by_key(|at| self.scanned[*at].0) {
                self.scanned.remove(oldest);
            }
        }
    }

    pub(super) fn look_again(&mut self, transcript: &Transcript) {
        if self.query.is_none() {
            return;
        }
        let stale: Vec<BlockId> = self
            .scanned
            .iter()
            .filter(|(id, revision)| {
                transcript.get(*id).is_none_or(|block| block.revision != *revision)
            })
            .map(|(id, _)| *id)
            .collect();
        for id in stale {
            self.hits.retain(|hit| hit.block != id);
            let Some(block) = transcript.get(id) else {
                self.scanned.retain(|(scanned, _)| *scanned != id);
                continue;
            };
            let inside = self.scan.inside.take();
            let mut budget = STEP;
            let found = self.look_at(block, &mut budget).unwrap_or_default();
            self.scan.inside = inside;
            self.note(block);
            let at = self.hits.partition_point(|hit| hit.block < id);
            for (offset, hit) in found.into_iter().enumerate() {
                self.hits.insert(at + offset, hit);
            }
        }
        if let Some(current) = self.current.filter(|hit| self.hits.binary_search(hit).is_err()) {
            let near = self.hits.partition_point(|hit| *hit < current);
            self.current = self.hits.get(near).or_else(|| self.hits.back()).copied();
        }
    }
}

impl TranscriptScan {
    pub(super) fn from(start: BlockId) -> Self {
        Self { start, above: start, below: start, inside: None }
    }
}

/// The beginning of a text, at most about `most` bytes long; it ends at the end of a line if there
/// is one.
fn piece(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let cut = text.floor_char_boundary(most);
    let end = text[..cut].rfind('\n').map_or(cut.max(1), |end| end + 1);
    &text[..text.ceil_char_boundary(end)]
}
