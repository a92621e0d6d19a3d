//! The search in the transcript.
//!
//! It searches the source of every block, whether or not the block is folded or was laid out. Each
//! tick searches a bounded part, from the screen upwards and then below it: so the nearest match is
//! found at once, and a long session never delays a key. While the current match is in a folded
//! pane, the pane is shown open. The view finds which cells to highlight.

pub mod keys;
mod line_matches;
mod scan;

use std::collections::VecDeque;

use super::block::BlockId;
use super::scroll::ScrollAnchor;
use super::source::BlockPart;
use crate::tui::app::editor::TextEditor;
use crate::tui::app::focus::KeyboardFocus;
use crate::tui::app::geometry::ConversationGeometry;
use crate::tui::app::text_query::{TextQuery, TextQueryKind};

/// Bytes searched in one tick.
pub const STEP: usize = 512 * 1024;
/// The search stops at this many matches: nobody steps through more.
pub const MOST: usize = 10_000;

/// An open search.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptSearch {
    pub field: TextEditor,
    pub kind: TextQueryKind,
    pub stage: TranscriptSearchStage,
    query: Option<TextQuery>,
    error: Option<String>,
    hits: VecDeque<TranscriptMatch>,
    current: Option<TranscriptMatch>,
    /// Where the user was when the search was opened.
    origin: (ScrollAnchor, KeyboardFocus),
    scan: TranscriptScan,
    /// The newest blocks, with their revision when they were searched.
    scanned: VecDeque<(BlockId, u32)>,
}

/// What keys do while a search is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptSearchStage {
    /// Keys are typed into the query.
    Typing,
    /// Keys step from match to match, or do what they do on panes.
    Navigating,
}

/// A match; ordered by its place in the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TranscriptMatch {
    pub block: BlockId,
    /// Which text of the block has the match.
    pub part: BlockPart,
    /// Byte offset at which the match begins.
    pub from: usize,
    /// Byte offset behind the match.
    pub to: usize,
}

/// The result of a search so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TranscriptSearchStatus {
    /// The query is empty.
    Idle,
    /// The query is invalid, with the reason.
    Wrong(String),
    /// This many matches so far; the search goes on.
    SoFar(usize),
    /// The search is complete, without a match.
    None,
    /// The search is complete: number of the current match, from 1, and of all matches.
    One(usize, usize),
    /// At least [`MOST`] matches; the search stopped.
    TooMany,
}

/// Which match to go to from the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptSearchDirection {
    /// The match before, else the last one.
    Previous,
    /// The match behind, else the first one.
    Next,
}

/// The part that was searched: the blocks from `above` up to before `below`.
#[derive(Debug, Clone, PartialEq)]
struct TranscriptScan {
    start: BlockId,
    above: BlockId,
    below: BlockId,
    /// A long block that was searched in part.
    inside: Option<PartialBlockScan>,
}

#[derive(Debug, Clone, PartialEq)]
struct PartialBlockScan {
    block: BlockId,
    part: BlockPart,
    at: usize,
    found: Vec<TranscriptMatch>,
}

/// Whether a part of a match is on screen: the middle of long output is left out.
pub fn is_shown(geometry: &ConversationGeometry, hit: TranscriptMatch) -> bool {
    let rows = geometry.rows.iter();
    let mut rows = rows.filter(|row| (row.block, row.kind.part()) == (hit.block, hit.part));
    rows.any(|row| !row.columns(&(hit.from..hit.to)).is_empty())
}

#[cfg(test)]
mod tests;
