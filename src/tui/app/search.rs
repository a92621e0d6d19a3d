//! Searching the transcript.
//!
//! The source of every block is searched, whatever is folded or was never laid out, a bounded
//! part with each tick, from what is on screen upwards and then below it: the nearest match is
//! there at once, and no length of a session holds up a key. While the search stands on a match
//! in a folded pane, the pane is open. Which cells are matches is the view's to find.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;

use crate::domain::sanitize::EscapeSequenceReader;

use super::editor::{EditorLines, TextEditor};
use super::effect::ScreenEffect;
use super::geometry::ScreenGeometry;
use super::keymap::{self, KeyPress, SearchKey, SearchMatchKey};
use super::model::{KeyboardFocus, ScreenModel};
use super::pager;
use super::scroll::{BlockPosition, ScrollAnchor};
use super::sidebar::SidebarVisibility;
use super::source::{self, BlockPart};
use super::text_query::{TextQuery, TextQueryKind};
use super::transcript::{BlockId, PaneFold, Transcript, TranscriptBlock};

/// Bytes that are looked at with one tick.
pub const STEP: usize = 512 * 1024;
/// What looking at a block costs on top of its bytes.
const BLOCK_COST: usize = 64;
/// A text is not cut smaller than this: a match across a cut would not be seen.
const PIECE: usize = 64 * 1024;
/// More matches than this are not counted: nobody goes through them.
pub const MOST: usize = 10_000;
/// Blocks at the end that are looked at again when they change: what streams and runs.
const NEWEST: usize = 64;

/// An open search.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptSearch {
    /// What is typed.
    pub field: TextEditor,
    /// How it is read.
    pub kind: TextQueryKind,
    /// What keys do.
    pub stage: TranscriptSearchStage,
    query: Option<TextQuery>,
    error: Option<String>,
    hits: VecDeque<TranscriptMatch>,
    current: Option<TranscriptMatch>,
    /// Where the person was when it was opened.
    origin: (ScrollAnchor, KeyboardFocus),
    scan: TranscriptScan,
    /// How far the newest blocks were when they were looked at.
    looked: VecDeque<(BlockId, u32)>,
}

/// What keys do while a search is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptSearchStage {
    /// They are typed into the query.
    Typing,
    /// They go from match to match, or do what they do on the panes.
    Navigating,
}

/// A match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TranscriptMatch {
    /// The block.
    pub block: BlockId,
    /// The text of the block that it is in.
    pub part: BlockPart,
    /// Where it begins.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
}

/// What has come of a search so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TranscriptSearchStatus {
    /// Nothing is looked for.
    Idle,
    /// The query makes no sense, and why.
    Wrong(String),
    /// So many so far; not all was looked at.
    SoFar(usize),
    /// There is none.
    None,
    /// The search stands on one of them: which, from 1, and how many there are.
    One(usize, usize),
    /// There are too many to count.
    TooMany,
}

/// Which match to go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptSearchDirection {
    /// The one before, else the last.
    Previous,
    /// The one behind, else the first.
    Next,
}

/// How much was looked at: the blocks from `above` up to before `below`.
#[derive(Debug, Clone, PartialEq)]
struct TranscriptScan {
    /// Where it began.
    start: BlockId,
    above: BlockId,
    below: BlockId,
    /// A long block that was looked at in part.
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
    model.search.as_ref().is_some_and(|search| search.stage == TranscriptSearchStage::Typing)
}

/// Opens the search, or goes back to typing in it.
pub fn open(model: &mut ScreenModel) {
    match &mut model.search {
        Some(search) => search.stage = TranscriptSearchStage::Typing,
        None => {
            let origin = (model.scroll.anchor, model.focus);
            model.search = Some(Box::new(TranscriptSearch::new(origin)));
        }
    }
}

/// A key while the query is typed.
pub fn typing_key(model: &mut ScreenModel, key: &KeyPress<'_>) -> Vec<ScreenEffect> {
    match keymap::find(keymap::SEARCH, key) {
        Some(SearchKey::Stay) => return stay(model),
        Some(SearchKey::Back) => back(model),
        Some(SearchKey::Previous) => go(model, TranscriptSearchDirection::Previous),
        Some(SearchKey::Next) => go(model, TranscriptSearchDirection::Next),
        Some(SearchKey::Regex) => {
            if let Some(search) = &mut model.search {
                search.kind = match search.kind {
                    TextQueryKind::Plain => TextQueryKind::Regex,
                    TextQueryKind::Regex => TextQueryKind::Plain,
                };
            }
            restart(model);
        }
        None => {
            let Some(search) = &mut model.search else { return Vec::new() };
            let before = search.field.revision();
            search.field.key(key);
            if search.field.revision() != before {
                restart(model);
            }
        }
    }
    Vec::new()
}

/// A key while the search stands on a match; `None` where it means nothing to the search.
pub fn found_key(model: &mut ScreenModel, key: &KeyPress<'_>) -> Option<Vec<ScreenEffect>> {
    model.search.as_ref()?;
    match keymap::find(keymap::FOUND, key)? {
        SearchMatchKey::Previous => go(model, TranscriptSearchDirection::Previous),
        SearchMatchKey::Next => go(model, TranscriptSearchDirection::Next),
        SearchMatchKey::Edit => open(model),
        SearchMatchKey::Close => close(model),
    }
    Some(Vec::new())
}

/// Text in one piece for the query.
pub fn paste(model: &mut ScreenModel, text: &str) {
    if let Some(search) = &mut model.search {
        search.field.insert(text);
        restart(model);
    }
}

/// Ends the search where it stands; one that began in the list of sessions goes back there.
pub fn close(model: &mut ScreenModel) {
    let origin = model.search.take().map(|search| search.origin.1);
    model.transcript.peek(None);
    if origin == Some(KeyboardFocus::Sidebar)
        && model.sidebar.visibility == SidebarVisibility::Shown
    {
        model.focus = KeyboardFocus::Sidebar;
    }
}

/// Begins a search that stands on the first match in these blocks. False where there is no block.
pub fn open_at_match(model: &mut ScreenModel, blocks: &[BlockId], text: &str) -> bool {
    let Some(first) = blocks.first().copied() else { return false };
    let mut search = TranscriptSearch::new((model.scroll.anchor, KeyboardFocus::Sidebar));
    search.field = TextEditor::with_text(EditorLines::One, text);
    search.stage = TranscriptSearchStage::Navigating;
    search.query = TextQuery::new(text, search.kind).ok();
    let parts =
        blocks.iter().flat_map(|block| [(*block, BlockPart::Head), (*block, BlockPart::Body)]);
    search.current = search.query.as_ref().and_then(|query| {
        parts
            .filter_map(|(id, part)| {
                let text = source::text(model.transcript.get(id)?, part);
                let found = matches(query, &text).into_iter().next()?;
                Some(TranscriptMatch { block: id, part, from: found.start, to: found.end })
            })
            .next()
    });
    search.scan = TranscriptScan::from(BlockId(first.0.saturating_add(1)));
    let found = search.current.is_some();
    model.search = Some(Box::new(search));
    tick(model);
    if found {
        show_match(model);
    } else {
        // The text goes over lines, or over what the block leaves out.
        let lines = model.transcript.lines();
        model.scroll.hold(ScrollAnchor::At { block: first, place: BlockPosition::Head(0) }, lines);
        model.focus = KeyboardFocus::Pane(first);
    }
    true
}

/// Ends the search and goes back to where it was opened.
pub fn back(model: &mut ScreenModel) {
    let Some(search) = model.search.take() else { return };
    hold(model);
    model.transcript.peek(None);
    let (anchor, focus) = search.origin;
    model.focus = focus;
    match anchor {
        ScrollAnchor::Tail => model.scroll.to_tail(),
        ScrollAnchor::At { .. } => model.scroll.hold(anchor, model.transcript.lines()),
    }
}

/// Stays on the match: from here on letters are keys of the panes. One that is left out of what
/// its pane shows is gone to in the pager.
pub fn stay(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let Some(search) = &mut model.search else { return Vec::new() };
    if let Some(current) = search.current {
        search.stage = TranscriptSearchStage::Navigating;
        model.focus = KeyboardFocus::Pane(current.block);
    }
    open_hidden(model).unwrap_or_default()
}

/// Opens the pager at the match that the search stands on, where the pane that has the focus is
/// unfolded and leaves it out.
pub fn open_hidden(model: &mut ScreenModel) -> Option<Vec<ScreenEffect>> {
    let search = model.search.as_ref()?;
    let (hit, query) = (search.current?, search.query.clone()?);
    let block = model.transcript.get(hit.block)?;
    let is_hidden = hit.part == BlockPart::Body
        && model.transcript.fold(block) != PaneFold::Closed
        && model.focus == KeyboardFocus::Pane(hit.block)
        && is_drawn(model)
        && !is_shown(&model.geometry, hit);
    is_hidden.then(|| pager::open_at(model, hit, query))
}

/// Whether any of a match is on screen: long output has a middle that is left out.
pub fn is_shown(geometry: &ScreenGeometry, hit: TranscriptMatch) -> bool {
    let rows = geometry.rows.iter();
    let mut rows = rows.filter(|row| (row.block, row.kind.part()) == (hit.block, hit.part));
    rows.any(|row| !row.columns(&(hit.from..hit.to)).is_empty())
}

/// Whether what was drawn last is what is on screen: nobody has gone elsewhere since.
fn is_drawn(model: &ScreenModel) -> bool {
    model.scroll.delta == 0 && model.scroll.anchor == model.geometry.anchor
}

/// The query is typed no longer; what was found stays marked.
pub fn stop_typing(model: &mut ScreenModel) {
    if let Some(search) = &mut model.search {
        search.stage = TranscriptSearchStage::Navigating;
    }
}

/// Goes to another match.
pub fn go(model: &mut ScreenModel, towards: TranscriptSearchDirection) {
    let Some(search) = &mut model.search else { return };
    let Some(next) = search.other(towards) else { return };
    search.current = Some(next);
    show_match(model);
}

/// Looks at more of the transcript, a bounded part of it.
pub fn tick(model: &mut ScreenModel) {
    let Some(search) = &mut model.search else { return };
    if !search.is_looking(&model.transcript) {
        return;
    }
    search.step(&model.transcript, STEP);
    settle(model);
}

/// Whether not all was looked at.
pub fn is_looking(model: &ScreenModel) -> bool {
    model.search.as_ref().is_some_and(|search| search.is_looking(&model.transcript))
}

/// The transcript has changed: what is newest is looked at again.
pub fn changed(model: &mut ScreenModel) {
    if let Some(search) = &mut model.search {
        search.look_again(&model.transcript);
        settle(model);
    }
}

/// Stands on the nearest match, if it stands on none: the last one above the end of the screen,
/// else the first below.
fn settle(model: &mut ScreenModel) {
    let Some(search) = model.search.as_mut().filter(|search| search.current.is_none()) else {
        return;
    };
    let above = search.hits.partition_point(|hit| hit.block < search.scan.start);
    let nearest = match above.checked_sub(1) {
        Some(last) => search.hits.get(last),
        None if !search.has_more_above(&model.transcript) => search.hits.front(),
        None => None,
    };
    search.current = nearest.copied();
    if search.current.is_some() {
        show_match(model);
    }
}

/// Begins to look for what is typed now.
fn restart(model: &mut ScreenModel) {
    let bottom = model.geometry.rows.last().map(|row| row.block);
    let last = model.transcript.blocks().last().map(|block| block.id);
    let Some(search) = &mut model.search else { return };
    let text = search.field.text();
    (search.query, search.error) = match TextQuery::new(&text, search.kind) {
        Ok(query) => (Some(query), None),
        Err(_) if text.is_empty() => (None, None),
        Err(error) => (None, Some(error.to_string())),
    };
    search.hits.clear();
    search.looked.clear();
    search.current = None;
    let from = bottom.or(last).unwrap_or(BlockId(0));
    search.scan = TranscriptScan::from(BlockId(from.0.saturating_add(1)));
    // The match of a shorter query may have been far away.
    let (anchor, _) = search.origin;
    model.transcript.peek(None);
    match anchor {
        ScrollAnchor::Tail => model.scroll.to_tail(),
        ScrollAnchor::At { .. } => model.scroll.hold(anchor, model.transcript.lines()),
    }
    tick(model);
}

/// Shows the match that the search stands on.
fn show_match(model: &mut ScreenModel) {
    let Some(hit) = model.search.as_ref().and_then(|search| search.current) else { return };
    if model.search.as_ref().is_some_and(|search| search.stage == TranscriptSearchStage::Navigating)
    {
        model.focus = KeyboardFocus::Pane(hit.block);
    }
    let peek = (hit.part == BlockPart::Body).then_some(hit.block);
    let unfolds = model.transcript.peek(peek);
    let seen = is_drawn(model)
        && model.geometry.rows.iter().any(|row| {
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
    let above = i32::from(model.geometry.transcript.height / 3);
    let lines = model.transcript.lines();
    model.scroll.hold(ScrollAnchor::At { block: hit.block, place }, lines);
    model.scroll.by(-above, lines);
}

fn hold(model: &mut ScreenModel) {
    let top = model.geometry.top;
    if top != ScrollAnchor::Tail {
        model.scroll.hold(top, model.transcript.lines());
    }
}

impl TranscriptSearch {
    fn new(origin: (ScrollAnchor, KeyboardFocus)) -> Self {
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
            looked: VecDeque::new(),
        }
    }

    /// The match that it stands on.
    pub fn current(&self) -> Option<TranscriptMatch> {
        self.current
    }

    /// The matches in some bytes of a part of a block, in order.
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

    /// What has come of it so far.
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

    fn other(&self, towards: TranscriptSearchDirection) -> Option<TranscriptMatch> {
        let current = self.current?;
        let at = self.hits.partition_point(|hit| *hit < current);
        let found = match towards {
            TranscriptSearchDirection::Previous => {
                at.checked_sub(1).and_then(|at| self.hits.get(at))
            }
            TranscriptSearchDirection::Next => self.hits.get(at + 1),
        };
        let around = match towards {
            TranscriptSearchDirection::Previous => self.hits.back(),
            TranscriptSearchDirection::Next => self.hits.front(),
        };
        found.or(around).copied()
    }

    fn is_looking(&self, transcript: &Transcript) -> bool {
        let more_below = transcript.index(self.scan.below) < transcript.blocks().len();
        let more = more_below || self.has_more_above(transcript);
        self.query.is_some() && self.hits.len() < MOST && more
    }

    /// Whether there are blocks above that were not looked at, those that came in later too.
    fn has_more_above(&self, transcript: &Transcript) -> bool {
        transcript.index(self.scan.above) > 0
    }

    /// Looks at about so many bytes more.
    fn step(&mut self, transcript: &Transcript, budget: usize) -> usize {
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

    /// Looks at a block, or at as much of it as is left for; `None` where there is more of it.
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

    /// Remembers how far a block was.
    fn note(&mut self, block: &TranscriptBlock) {
        self.looked.retain(|(id, _)| *id != block.id);
        self.looked.push_back((block.id, block.revision));
        if self.looked.len() > NEWEST {
            // The oldest blocks are those that no longer change.
            if let Some(oldest) = (0..self.looked.len()).min_by_key(|at| self.looked[*at].0) {
                self.looked.remove(oldest);
            }
        }
    }

    fn look_again(&mut self, transcript: &Transcript) {
        if self.query.is_none() {
            return;
        }
        let stale: Vec<BlockId> = self
            .looked
            .iter()
            .filter(|(id, revision)| {
                transcript.get(*id).is_none_or(|block| block.revision != *revision)
            })
            .map(|(id, _)| *id)
            .collect();
        for id in stale {
            self.hits.retain(|hit| hit.block != id);
            let Some(block) = transcript.get(id) else {
                self.looked.retain(|(looked, _)| *looked != id);
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
    fn from(start: BlockId) -> Self {
        Self { start, above: start, below: start, inside: None }
    }
}

/// The beginning of a text, about so long, that ends with a line where there is one.
fn piece(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let cut = text.floor_char_boundary(most);
    let end = text[..cut].rfind('\n').map_or(cut.max(1), |end| end + 1);
    &text[..text.ceil_char_boundary(end)]
}

/// The matches in a text, line by line. Colours do not come between the letters of a word.
fn matches(query: &TextQuery, text: &str) -> Vec<Range<usize>> {
    if query.kind() == TextQueryKind::Plain && !text.contains('\u{1b}') {
        return query.matches(text);
    }
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split('\n') {
        let (plain, places) = without_escapes(line);
        let source = |plain: usize| {
            let next = places.partition_point(|(from, _)| *from <= plain);
            let (from, raw) = next.checked_sub(1).map_or((0, 0), |last| places[last]);
            at + raw + (plain - from)
        };
        let ranges = query.matches(&plain);
        found.extend(ranges.into_iter().map(|it| source(it.start)..source(it.end - 1) + 1));
        at += line.len() + 1;
    }
    found
}

/// A line without escape sequences, and which of its bytes are which of the line's.
fn without_escapes(line: &str) -> (Cow<'_, str>, Vec<(usize, usize)>) {
    if !line.contains('\u{1b}') {
        return (line.into(), Vec::new());
    }
    let mut sequences = EscapeSequenceReader::new(line);
    let (mut plain, mut places, mut at) = (String::new(), Vec::new(), 0);
    while let Some(next) = line[at..].find('\u{1b}') {
        places.push((plain.len(), at));
        plain.push_str(&line[at..at + next]);
        at += next + sequences.at(at + next).1;
    }
    places.push((plain.len(), at));
    plain.push_str(&line[at..]);
    (plain.into(), places)
}

#[cfg(test)]
mod tests;
