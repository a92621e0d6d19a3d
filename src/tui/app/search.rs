//! The search in the transcript.
//!
//! It searches the source of every block, whether or not the block is folded or was laid out. Each
//! tick searches a bounded part, from the screen upwards and then below it: so the nearest match is
//! found at once, and a long session never delays a key. While the current match is in a folded
//! pane, the pane is shown open. The view finds which cells to highlight.

mod line_matches;
mod scan;

use std::collections::VecDeque;

use super::editor::{EditorLines, TextEditor};
use super::effect::ScreenEffect;
use super::focus::KeyboardFocus;
use super::geometry::ScreenGeometry;
use super::keymap::{self, KeyPress, SearchKey, SearchMatchKey};
use super::model::ScreenModel;
use super::pager;
use super::scroll::{BlockPosition, ScrollAnchor};
use super::sidebar::SidebarVisibility;
use super::source::{self, BlockPart};
use super::text_query::{TextQuery, TextQueryKind};
use super::transcript::{BlockId, PaneFold};
use line_matches::matches;

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

/// Whether keys are typed into the query.
pub fn is_typed(model: &ScreenModel) -> bool {
    model
        .conversation
        .search
        .as_ref()
        .is_some_and(|search| search.stage == TranscriptSearchStage::Typing)
}

/// Opens the search, or returns to typing in the open one.
pub fn open(model: &mut ScreenModel) {
    match &mut model.conversation.search {
        Some(search) => search.stage = TranscriptSearchStage::Typing,
        None => {
            let origin = (model.conversation.scroll.anchor, model.conversation.focus);
            model.conversation.search = Some(Box::new(TranscriptSearch::new(origin)));
        }
    }
}

/// Handles a key while the query is typed.
pub fn typing_key(model: &mut ScreenModel, key: &KeyPress<'_>) -> Vec<ScreenEffect> {
    match keymap::find(keymap::SEARCH, key) {
        Some(SearchKey::Stay) => return stay(model),
        Some(SearchKey::Back) => back(model),
        Some(SearchKey::Previous) => go(model, TranscriptSearchDirection::Previous),
        Some(SearchKey::Next) => go(model, TranscriptSearchDirection::Next),
        Some(SearchKey::Regex) => {
            if let Some(search) = &mut model.conversation.search {
                search.kind = match search.kind {
                    TextQueryKind::Plain => TextQueryKind::Regex,
                    TextQueryKind::Regex => TextQueryKind::Plain,
                };
            }
            restart(model);
        }
        None => {
            let Some(search) = &mut model.conversation.search else { return Vec::new() };
            let before = search.field.revision();
            search.field.key(key);
            if search.field.revision() != before {
                restart(model);
            }
        }
    }
    Vec::new()
}

/// Handles a key while matches are stepped through; `None` if the search does not use it.
pub fn found_key(model: &mut ScreenModel, key: &KeyPress<'_>) -> Option<Vec<ScreenEffect>> {
    model.conversation.search.as_ref()?;
    match keymap::find(keymap::FOUND, key)? {
        SearchMatchKey::Previous => go(model, TranscriptSearchDirection::Previous),
        SearchMatchKey::Next => go(model, TranscriptSearchDirection::Next),
        SearchMatchKey::Edit => open(model),
        SearchMatchKey::Close => close(model),
    }
    Some(Vec::new())
}

/// Pastes text into the query.
pub fn paste(model: &mut ScreenModel, text: &str) {
    if let Some(search) = &mut model.conversation.search {
        search.field.insert(text);
        restart(model);
    }
}

/// Ends the search and stays at the match. A search opened from the list of sessions gives the
/// focus back to the list.
pub fn close(model: &mut ScreenModel) {
    let origin = model.conversation.search.take().map(|search| search.origin.1);
    model.conversation.transcript.peek(None);
    if origin == Some(KeyboardFocus::Sidebar)
        && model.sidebar.visibility == SidebarVisibility::Shown
    {
        model.conversation.focus = KeyboardFocus::Sidebar;
    }
}

/// Opens a search at the first match in these blocks. False if `blocks` is empty.
pub fn open_at_match(model: &mut ScreenModel, blocks: &[BlockId], text: &str) -> bool {
    let Some(first) = blocks.first().copied() else { return false };
    let mut search =
        TranscriptSearch::new((model.conversation.scroll.anchor, KeyboardFocus::Sidebar));
    search.field = TextEditor::with_text(EditorLines::One, text);
    search.stage = TranscriptSearchStage::Navigating;
    search.query = TextQuery::new(text, search.kind).ok();
    let parts =
        blocks.iter().flat_map(|block| [(*block, BlockPart::Head), (*block, BlockPart::Body)]);
    search.current = search.query.as_ref().and_then(|query| {
        parts
            .filter_map(|(id, part)| {
                let text = source::text(model.conversation.transcript.get(id)?, part);
                let found = matches(query, &text).into_iter().next()?;
                Some(TranscriptMatch { block: id, part, from: found.start, to: found.end })
            })
            .next()
    });
    search.scan = TranscriptScan::from(BlockId(first.0.saturating_add(1)));
    let found = search.current.is_some();
    model.conversation.search = Some(Box::new(search));
    tick(model);
    if found {
        show_match(model);
    } else {
        // The text was found across lines, or in a part that the block does not show.
        let lines = model.conversation.transcript.lines();
        model
            .conversation
            .scroll
            .hold(ScrollAnchor::At { block: first, place: BlockPosition::Head(0) }, lines);
        model.conversation.focus = KeyboardFocus::Pane(first);
    }
    true
}

/// Ends the search and goes back to where it was opened.
pub fn back(model: &mut ScreenModel) {
    let Some(search) = model.conversation.search.take() else { return };
    hold(model);
    model.conversation.transcript.peek(None);
    let (anchor, focus) = search.origin;
    model.conversation.focus = focus;
    match anchor {
        ScrollAnchor::Tail => model.conversation.scroll.to_tail(),
        ScrollAnchor::At { .. } => {
            model.conversation.scroll.hold(anchor, model.conversation.transcript.lines());
        }
    }
}

/// Ends typing and stays on the match: from now on letters are keys of the panes. If the pane
/// leaves the match out, opens it in the pager.
pub fn stay(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let Some(search) = &mut model.conversation.search else { return Vec::new() };
    if let Some(current) = search.current {
        search.stage = TranscriptSearchStage::Navigating;
        model.conversation.focus = KeyboardFocus::Pane(current.block);
    }
    open_hidden(model).unwrap_or_default()
}

/// Opens the pager at the current match, if its pane has the focus, is unfolded and leaves the
/// match out. `None` otherwise.
pub fn open_hidden(model: &mut ScreenModel) -> Option<Vec<ScreenEffect>> {
    let search = model.conversation.search.as_ref()?;
    let (hit, query) = (search.current?, search.query.clone()?);
    let block = model.conversation.transcript.get(hit.block)?;
    let is_hidden = hit.part == BlockPart::Body
        && model.conversation.transcript.fold(block) != PaneFold::Closed
        && model.conversation.focus == KeyboardFocus::Pane(hit.block)
        && is_drawn(model)
        && !is_shown(&model.shared.geometry, hit);
    is_hidden.then(|| pager::open_at(model, hit, query))
}

/// Whether a part of a match is on screen: the middle of long output is left out.
pub fn is_shown(geometry: &ScreenGeometry, hit: TranscriptMatch) -> bool {
    let rows = geometry.rows.iter();
    let mut rows = rows.filter(|row| (row.block, row.kind.part()) == (hit.block, hit.part));
    rows.any(|row| !row.columns(&(hit.from..hit.to)).is_empty())
}

/// Whether the last frame shows the present position: nothing has scrolled since.
fn is_drawn(model: &ScreenModel) -> bool {
    model.conversation.scroll.delta == 0
        && model.conversation.scroll.anchor == model.shared.geometry.anchor
}

/// Ends typing the query; matches stay marked.
pub fn stop_typing(model: &mut ScreenModel) {
    if let Some(search) = &mut model.conversation.search {
        search.stage = TranscriptSearchStage::Navigating;
    }
}

/// Goes to the next or previous match; wraps around at the ends.
pub fn go(model: &mut ScreenModel, direction: TranscriptSearchDirection) {
    let Some(search) = &mut model.conversation.search else { return };
    let Some(next) = search.other(direction) else { return };
    search.current = Some(next);
    show_match(model);
}

/// Searches the next bounded part of the transcript.
pub fn tick(model: &mut ScreenModel) {
    let Some(search) = &mut model.conversation.search else { return };
    if !search.is_looking(&model.conversation.transcript) {
        return;
    }
    search.step(&model.conversation.transcript, STEP);
    settle(model);
}

/// Whether a part of the transcript still has to be searched.
pub fn is_looking(model: &ScreenModel) -> bool {
    model
        .conversation
        .search
        .as_ref()
        .is_some_and(|search| search.is_looking(&model.conversation.transcript))
}

/// The transcript has changed: searches the changed blocks among the newest again.
pub fn changed(model: &mut ScreenModel) {
    if let Some(search) = &mut model.conversation.search {
        search.look_again(&model.conversation.transcript);
        settle(model);
    }
}

/// Goes to the nearest match, if there is no current one: the last match above the end of the
/// screen, else the first one below.
fn settle(model: &mut ScreenModel) {
    let Some(search) = model.conversation.search.as_mut().filter(|search| search.current.is_none())
    else {
        return;
    };
    let above = search.hits.partition_point(|hit| hit.block < search.scan.start);
    let nearest = match above.checked_sub(1) {
        Some(last) => search.hits.get(last),
        None if !search.has_more_above(&model.conversation.transcript) => search.hits.front(),
        None => None,
    };
    search.current = nearest.copied();
    if search.current.is_some() {
        show_match(model);
    }
}

/// Starts over with the query as it is typed now.
fn restart(model: &mut ScreenModel) {
    let bottom = model.shared.geometry.rows.last().map(|row| row.block);
    let last = model.conversation.transcript.blocks().last().map(|block| block.id);
    let Some(search) = &mut model.conversation.search else { return };
    let text = search.field.text();
    (search.query, search.error) = match TextQuery::new(&text, search.kind) {
        Ok(query) => (Some(query), None),
        Err(_) if text.is_empty() => (None, None),
        Err(error) => (None, Some(error.to_string())),
    };
    search.hits.clear();
    search.scanned.clear();
    search.current = None;
    let from = bottom.or(last).unwrap_or(BlockId(0));
    search.scan = TranscriptScan::from(BlockId(from.0.saturating_add(1)));
    // A match of the shorter query before may have scrolled far away.
    let (anchor, _) = search.origin;
    model.conversation.transcript.peek(None);
    match anchor {
        ScrollAnchor::Tail => model.conversation.scroll.to_tail(),
        ScrollAnchor::At { .. } => {
            model.conversation.scroll.hold(anchor, model.conversation.transcript.lines());
        }
    }
    tick(model);
}

/// Scrolls the current match into sight, and unfolds its pane.
fn show_match(model: &mut ScreenModel) {
    let Some(hit) = model.conversation.search.as_ref().and_then(|search| search.current) else {
        return;
    };
    if model
        .conversation
        .search
        .as_ref()
        .is_some_and(|search| search.stage == TranscriptSearchStage::Navigating)
    {
        model.conversation.focus = KeyboardFocus::Pane(hit.block);
    }
    let peek = (hit.part == BlockPart::Body).then_some(hit.block);
    let unfolds = model.conversation.transcript.peek(peek);
    let seen = is_drawn(model)
        && model.shared.geometry.rows.iter().any(|row| {
            row.block == hit.block
                && row.kind.part() == hit.part
                && row.runs.iter().any(|run| run.columns(&(hit.from..hit.to)).is_some())
        });
    if seen && !unfolds {
        return;
    }
    let place = match hit.part {
        BlockPart::Head => BlockPosition::Head(0),
        BlockPart::Body => BlockPosition::Body { source: hit.from, row: 0 },
    };
    let above = i32::from(model.shared.geometry.transcript.height / 3);
    let lines = model.conversation.transcript.lines();
    model.conversation.scroll.hold(ScrollAnchor::At { block: hit.block, place }, lines);
    model.conversation.scroll.by(-above, lines);
}

fn hold(model: &mut ScreenModel) {
    let top = model.shared.geometry.top;
    if top != ScrollAnchor::Tail {
        model.conversation.scroll.hold(top, model.conversation.transcript.lines());
    }
}

#[cfg(test)]
mod tests;
