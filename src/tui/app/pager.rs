//! The pager: a long text over the whole screen, to scroll, search, follow and copy.
//!
//! It opens with the text of the transcript. If the store has the full output, the pager shows that
//! as soon as it is read. Only what is on screen is laid out; lines are found once. While a command
//! runs, its output is added as it comes, and followed until the user scrolls up.

pub mod document;
mod input;
pub mod search;

use std::ops::Range;
use std::sync::Arc;

use crate::domain::{CallId, NoticeLevel};
use crate::session::BranchComparison;
use crate::tui::layout::pager_lines;

use super::block::{BlockBody, ToolCallBlock, ToolCallContent, TranscriptBlock};
use super::editor::TextEditor;
use super::effect::ScreenEffect;
use super::geometry::{PageGeometry, ScreenGeometry};
use super::keymap::ScrollAction;
use super::model::ScreenModel;
use super::overlay::Overlay;
use super::page_position::{PagePosition, PageRow};
use super::request::RequestId;
use super::search::TranscriptMatch as Match;
use super::sessions::{BranchPage, BranchPageRequest, SessionStoreRequest};
use super::source::{self, BlockPart};
use super::store_queries::StoreQuery;
use super::text_query::{TextQuery, TextQueryKind};
use super::transcript::BlockId;
use document::PagerDocument;
use search::{PagerSearch, PagerSearchDirection};

pub use input::{PagerDrag, drag, key, on_button_up, paste, wheel};

/// A long text over the whole screen.
#[derive(Debug, Clone, PartialEq)]
pub struct Pager {
    pub title: String,
    /// The text so far.
    pub document: Arc<PagerDocument>,
    pub position: PagePosition,
    pub wrap: PagerWrap,
    pub numbers: PagerLineNumbers,
    pub source: PagerSource,
    /// The request for the full output, and whether to show its end once it is there.
    pub waiting: Option<(RequestId, PagerFollow)>,
    pub search: Option<PagerSearch>,
    /// The search field, while it is open.
    pub prompt: Option<PagerPrompt>,
    /// The marked lines: where the mark began, and its moving end. The second may be the smaller.
    pub marked: Option<(usize, usize)>,
    /// The line that the mouse button went down on.
    pressed: Option<usize>,
}

/// Whether long lines wrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagerWrap {
    On,
    /// Lines are cut; the visible part begins at this column.
    Off(usize),
}

/// Whether line numbers are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagerLineNumbers {
    Shown,
    Hidden,
}

/// Where the text comes from, and whether it may still change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PagerSource {
    /// The text is complete.
    Whole,
    /// The output of a running tool call.
    Running(CallId, PagerFollow),
    /// A comparison of two branches, laid out for one width and again after a resize.
    Branches {
        branches: Arc<BranchComparison>,
        /// In columns, of the present layout.
        width: u16,
        /// The request for a layout of another width.
        asked: Option<RequestId>,
    },
}

/// Whether the end stays in sight while more comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagerFollow {
    Tail,
    /// The user has scrolled up.
    Paused,
}

/// The search field of the pager.
#[derive(Debug, Clone, PartialEq)]
pub struct PagerPrompt {
    pub editor: TextEditor,
    pub kind: TextQueryKind,
    /// What is wrong with the query.
    pub error: Option<String>,
    /// The position before the search, which Escape restores.
    before: PagePosition,
}

impl Pager {
    /// Shows a complete text from its beginning, wrapped and without line numbers.
    pub fn new(title: String, document: Arc<PagerDocument>) -> Self {
        Self {
            title,
            document,
            position: PagePosition::default(),
            wrap: PagerWrap::On,
            numbers: PagerLineNumbers::Hidden,
            source: PagerSource::Whole,
            waiting: None,
            search: None,
            prompt: None,
            marked: None,
            pressed: None,
        }
    }

    /// Shows the comparison of two branches.
    pub fn of_branches(BranchPage { branches, width, document }: BranchPage) -> Self {
        let source = PagerSource::Branches { branches, width, asked: None };
        Self { source, ..Self::new("Two branches".to_owned(), document) }
    }

    /// The marked lines in order, as indices.
    pub fn marked_lines(&self) -> Option<Range<usize>> {
        self.marked.map(|(from, to)| from.min(to)..from.max(to) + 1)
    }

    /// Takes over the row that the view found to be at the top.
    pub fn drawn(&mut self, page: &PageGeometry) {
        self.position = match &self.source {
            PagerSource::Running(_, PagerFollow::Tail) => PagePosition::END,
            PagerSource::Running(_, PagerFollow::Paused)
            | PagerSource::Whole
            | PagerSource::Branches { .. } => PagePosition { top: page.top, delta: 0 },
        };
    }

    /// The effect that lays the branches out for another width; `None` if the width is right or a
    /// layout is under way.
    fn request_layout(&mut self, width: u16, id: RequestId) -> Option<ScreenEffect> {
        let PagerSource::Branches { branches, width: laid, asked } = &mut self.source else {
            return None;
        };
        if *laid == width || asked.is_some() {
            return None;
        }
        *asked = Some(id);
        let page = BranchPageRequest { document: id.0, width };
        let job = SessionStoreRequest::Lay { branches: branches.clone(), page };
        Some(ScreenEffect::Sessions { id, job })
    }

    fn scroll(&mut self, how: ScrollAction, page: &PageGeometry) {
        if let Some((_, to)) = &mut self.marked {
            *to = moved(*to, how, page.rows.len(), self.document.len());
            let to = *to;
            if !page.rows.contains(&to) {
                self.hold();
                self.position = PagePosition::at(PageRow { line: to, row: 0 }, page.rows.len() / 2);
            }
            return;
        }
        let up = match how {
            ScrollAction::LineUp
            | ScrollAction::HalfUp
            | ScrollAction::PageUp
            | ScrollAction::Top => true,
            ScrollAction::LineDown | ScrollAction::HalfDown | ScrollAction::PageDown => false,
            ScrollAction::Bottom => {
                if let PagerSource::Running(_, follow) = &mut self.source {
                    *follow = PagerFollow::Tail;
                }
                false
            }
        };
        if up {
            self.hold_at(page.top);
        }
        self.position.scroll(how, page.rows.len());
    }

    fn hold(&mut self) {
        if let PagerSource::Running(_, follow) = &mut self.source {
            *follow = PagerFollow::Paused;
        }
    }

    /// Stops following, with `top` at the top.
    fn hold_at(&mut self, top: PageRow) {
        if matches!(self.source, PagerSource::Running(_, PagerFollow::Tail)) {
            self.hold();
            self.position = PagePosition { top, delta: 0 };
        }
    }

    /// Scrolls the current match into sight.
    fn show_match(&mut self, page: &PageGeometry) {
        let Some((line, nth)) = self.search.as_ref().and_then(PagerSearch::current_place) else {
            return;
        };
        self.hold();
        let row = self.row_of(line, nth, page.area.width);
        let visible = page.rows.contains(&line) && row == 0;
        if !visible {
            self.position = PagePosition::at(PageRow { line, row }, page.rows.len() / 3);
        }
    }

    /// The wrapped row of a line that holds the line's `nth` match.
    fn row_of(&self, line: usize, nth: usize, width: u16) -> usize {
        let (PagerWrap::On, Some(search)) = (self.wrap, &self.search) else { return 0 };
        let (text, starts) =
            pager_lines::joined(&pager_lines::rows(self.document.line(line), width));
        let found = search.query.matches(&text);
        let at = found.get(nth).map_or(0, |range| range.start);
        starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// Searches for the typed text, from where the page was before the search.
    fn look(&mut self, id: RequestId, page: &PageGeometry) -> Option<ScreenEffect> {
        let prompt = self.prompt.as_mut()?;
        let query = TextQuery::new(&prompt.editor.text(), prompt.kind);
        prompt.error = match &query {
            Ok(_) | Err(super::text_query::TextQueryError::Empty) => None,
            Err(error) => Some(error.to_string()),
        };
        let before = prompt.before;
        let Ok(query) = query else {
            self.search = None;
            self.position = before;
            return None;
        };
        let search = PagerSearch::new(query, before.top.line.min(self.document.len()));
        let effect = self.begin(search, id);
        if effect.is_none() {
            self.position = before;
            self.show_match(page);
        }
        effect
    }

    /// Finds all matches: in a short text at once, else off the UI task by the returned effect.
    fn begin(&mut self, mut search: PagerSearch, id: RequestId) -> Option<ScreenEffect> {
        let (document, query) = (Arc::clone(&self.document), search.query.clone());
        if document.bytes() > search::AT_ONCE {
            search.asked = Some(id);
            self.search = Some(search);
            return Some(ScreenEffect::Find { id, document, query });
        }
        let hits = search::hits(&document, &query, 0..document.len());
        search.found(hits, document.len(), &document);
        self.search = Some(search);
        None
    }

    /// Finds all matches, and scrolls to the search's origin line, `above` rows below the top.
    fn stand_at(
        &mut self,
        search: PagerSearch,
        above: usize,
        id: RequestId,
    ) -> Option<ScreenEffect> {
        self.hold();
        self.position = PagePosition::at(PageRow { line: search.origin(), row: 0 }, above);
        self.begin(search, id)
    }

    fn step(&mut self, direction: PagerSearchDirection, page: &PageGeometry) {
        if let Some(search) = &mut self.search {
            search.step(direction);
            self.show_match(page);
        }
    }

    /// Adds output of the running call.
    fn push(&mut self, text: &str) {
        let before = self.document.dropped_lines();
        let document = Arc::make_mut(&mut self.document);
        document.push(text);
        let gone = document.dropped_lines() - before;
        if gone > 0 {
            // The beginning was dropped, so all lines have new numbers.
            (self.search, self.marked) = (None, None);
            self.position.top.line = self.position.top.line.saturating_sub(gone);
        } else if let Some(search) = &mut self.search {
            search.go_on(&self.document);
        }
    }

    /// Shows the full text in place of the part shown so far, and repeats the search in it. A match
    /// in the second half keeps its distance from the end.
    fn replace(
        &mut self,
        document: Arc<PagerDocument>,
        page: &PageGeometry,
        id: RequestId,
    ) -> Option<ScreenEffect> {
        self.position.top.line =
            self.position.top.line.saturating_add(self.document.dropped_lines());
        let (before, now) = (self.document.len(), document.len());
        self.document = document;
        self.marked = None;
        let search = self.search.take()?;
        let (line, nth) = search.current_place().unwrap_or((search.origin(), 0));
        let line = if line * 2 < before { line } else { (line + now).saturating_sub(before) };
        self.stand_at(PagerSearch::at(search.query, line, nth), page.rows.len() / 3, id)
    }
}

/// The new line of the mark's moving end after a scroll key.
fn moved(line: usize, how: ScrollAction, shown: usize, count: usize) -> usize {
    let page = shown.saturating_sub(1).max(1);
    let to = match how {
        ScrollAction::LineUp => line.saturating_sub(1),
        ScrollAction::LineDown => line + 1,
        ScrollAction::HalfUp => line.saturating_sub(page.div_ceil(2)),
        ScrollAction::HalfDown => line + page.div_ceil(2),
        ScrollAction::PageUp => line.saturating_sub(page),
        ScrollAction::PageDown => line + page,
        ScrollAction::Top => 0,
        ScrollAction::Bottom => usize::MAX,
    };
    to.min(count.saturating_sub(1))
}

/// Opens the full text of a block, or shows a notice if there is none.
pub fn open(model: &mut ScreenModel, block: BlockId) -> Vec<ScreenEffect> {
    let Some(block) = model.conversation.transcript.get(block) else { return Vec::new() };
    let text = whole(block);
    let (title, tool) = match &block.body {
        BlockBody::User(_) => ("What you said".to_owned(), None),
        BlockBody::Assistant(_) => ("The answer".to_owned(), None),
        BlockBody::Thinking(_) => ("Thinking".to_owned(), None),
        BlockBody::Tool(tool) => (format!("{}  {}", tool.name, tool.title), Some((**tool).clone())),
        BlockBody::Image(image) => (image.name().to_owned(), None),
        BlockBody::Notice(_) | BlockBody::Interrupted | BlockBody::Compacted => {
            ("Notice".to_owned(), None)
        }
    };
    if text.is_empty() && tool.as_ref().is_none_or(ToolCallBlock::is_over) {
        model.shared.toast(NoticeLevel::Info, "There is no more of it");
        return Vec::new();
    }
    let id = model.shared.requests.issue();
    let mut effects = Vec::new();
    let hidden_lines = match tool.as_ref().map(|tool| &tool.content) {
        Some(ToolCallContent::Live(live)) => live.hidden,
        Some(
            ToolCallContent::Nothing
            | ToolCallContent::Text(_)
            | ToolCallContent::Terminal(_)
            | ToolCallContent::Diff(_),
        )
        | None => 0,
    };
    let mut pager = Pager::new(title, Arc::new(PagerDocument::with(id.0, &text, hidden_lines)));
    if let Some(tool) = tool {
        if !tool.is_over() {
            pager.source = PagerSource::Running(tool.call.clone(), PagerFollow::Tail);
            pager.position = PagePosition::END;
        }
        if let Some(hash) = tool.full_output {
            pager.waiting = Some((id, PagerFollow::Paused));
            effects.push(ScreenEffect::QueryStore {
                id,
                job: StoreQuery::FullOutput { document: id.0, hash },
            });
        }
    }
    model.overlays.push(Overlay::Pager(Box::new(pager)));
    effects
}

/// Opens the full text of a block at a match of the transcript search.
pub fn open_at(model: &mut ScreenModel, hit: Match, query: TextQuery) -> Vec<ScreenEffect> {
    let place =
        model.conversation.transcript.get(hit.block).and_then(|block| place_of(block, hit, &query));
    let mut effects = open(model, hit.block);
    let (line, nth) = place.unwrap_or_default();
    let above = usize::from(model.shared.geometry.height / 3);
    let id = model.shared.requests.issue();
    if let Some(Overlay::Pager(pager)) = model.overlays.last_mut() {
        effects.extend(pager.stand_at(PagerSearch::at(query, line, nth), above, id));
    }
    effects
}

/// The line of the pager's text that a match of the transcript is in, and which of the matches in
/// that line it is.
fn place_of(block: &TranscriptBlock, hit: Match, query: &TextQuery) -> Option<(usize, usize)> {
    let text = source::text(block, BlockPart::Body);
    let start = match &block.body {
        BlockBody::Tool(tool) => source::output_start(tool),
        BlockBody::User(_)
        | BlockBody::Assistant(_)
        | BlockBody::Thinking(_)
        | BlockBody::Image(_)
        | BlockBody::Notice(_)
        | BlockBody::Interrupted
        | BlockBody::Compacted => 0,
    };
    let before = text.get(start..hit.from)?;
    let line = before.matches('\n').count();
    let in_line = before.rfind('\n').map_or(before, |end| &before[end + 1..]);
    Some((in_patch(block, line), query.matches(in_line).len()))
}

/// The line of the patch text for a line of the files: a patch adds two lines of names, and a
/// heading for each hunk.
fn in_patch(block: &TranscriptBlock, line: usize) -> usize {
    let BlockBody::Tool(tool) = &block.body else { return line };
    let ToolCallContent::Diff(diff) = &tool.content else { return line };
    let mut left = line;
    let names = 2;
    let headings = diff.hunks.iter().take_while(|hunk| {
        let is_above = left >= hunk.lines.len();
        left = left.saturating_sub(hunk.lines.len());
        is_above
    });
    names + headings.count() + 1 + line
}

/// The text of a block, with the colours of its output.
fn whole(block: &TranscriptBlock) -> String {
    match &block.body {
        BlockBody::Tool(tool) => match &tool.content {
            ToolCallContent::Live(live) => live.text.clone(),
            ToolCallContent::Text(text) | ToolCallContent::Terminal(text) => text.clone(),
            ToolCallContent::Nothing | ToolCallContent::Diff(_) => source::of_block(block),
        },
        BlockBody::User(_)
        | BlockBody::Assistant(_)
        | BlockBody::Thinking(_)
        | BlockBody::Image(_)
        | BlockBody::Notice(_)
        | BlockBody::Interrupted
        | BlockBody::Compacted => source::of_block(block),
    }
}

/// The columns for the text of a pager on this screen, without line numbers.
pub fn text_width(geometry: &ScreenGeometry) -> u16 {
    geometry.width.saturating_sub(2).max(1)
}

/// After a frame: requests a new layout if the topmost pager has another width than it was laid out
/// for.
pub fn update_layout(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let width = model.shared.geometry.page.as_ref().map(|page| page.area.width);
    let (Some(width), Some(Overlay::Pager(pager))) = (width, model.overlays.last_mut()) else {
        return Vec::new();
    };
    pager.request_layout(width, model.shared.requests.issue()).into_iter().collect()
}

/// Shows a new layout of two branches. `None` if no pager waits for it.
pub fn on_layout(
    model: &mut ScreenModel,
    id: RequestId,
    page: &BranchPage,
) -> Option<Vec<ScreenEffect>> {
    let shown = model.shared.geometry.page.clone().unwrap_or_default();
    let next = model.shared.requests.issue();
    let pager = pagers(model).find(|pager| pager.waits_for(id))?;
    let branches = page.branches.clone();
    pager.source = PagerSource::Branches { branches, width: page.width, asked: None };
    // Keeps about the same place, though the text is longer or shorter now.
    let (before, now) = (pager.document.len().max(1), page.document.len());
    let line = pager.position.top.line * now / before;
    let effect = pager.replace(page.document.clone(), &shown, next);
    pager.position = PagePosition::at(PageRow { line, row: 0 }, 0);
    Some(effect.into_iter().collect())
}

/// Takes over the matches of a search off the UI task.
pub fn found(model: &mut ScreenModel, id: RequestId, hits: &[search::PagerMatch], searched: usize) {
    let page = model.shared.geometry.page.clone().unwrap_or_default();
    for pager in pagers(model) {
        let document = Arc::clone(&pager.document);
        if let Some(search) = pager.search.as_mut().filter(|search| search.asked == Some(id)) {
            search.found(hits.to_vec(), searched, &document);
            pager.show_match(&page);
        }
    }
}

/// Adds output of a running call to the pagers that show it.
pub fn progress(model: &mut ScreenModel, call: &CallId, text: &str) {
    for pager in pagers(model).filter(|pager| pager.reads(call)) {
        pager.push(text);
    }
}

/// Handles the end of a call: if the store has its full output, the pagers that show the call
/// request it.
pub fn ended(model: &mut ScreenModel, call: &CallId) -> Vec<ScreenEffect> {
    if !pagers(model).any(|pager| pager.reads(call)) {
        return Vec::new();
    }
    let id = model.shared.requests.issue();
    let hash =
        model.conversation.transcript.of_call(call).and_then(|tool| tool.full_output.clone());
    for pager in pagers(model).filter(|pager| pager.reads(call)) {
        let follow = match &pager.source {
            PagerSource::Running(_, follow) => *follow,
            PagerSource::Whole | PagerSource::Branches { .. } => PagerFollow::Paused,
        };
        if follow == PagerFollow::Tail {
            pager.position = PagePosition::END;
        }
        pager.source = PagerSource::Whole;
        pager.waiting = hash.is_some().then_some((id, follow));
    }
    let job = |hash| ScreenEffect::QueryStore {
        id,
        job: StoreQuery::FullOutput { document: id.0, hash },
    };
    hash.map(job).into_iter().collect()
}

/// Shows the full output that was read; `None` if it could not be read.
pub fn on_full_output(
    model: &mut ScreenModel,
    id: RequestId,
    document: Option<&Arc<PagerDocument>>,
) -> Vec<ScreenEffect> {
    let page = model.shared.geometry.page.clone().unwrap_or_default();
    let next = model.shared.requests.issue();
    let mut effects = Vec::new();
    for pager in pagers(model) {
        let Some((_, follow)) = pager.waiting.take_if(|(asked, _)| *asked == id) else { continue };
        if let Some(document) = document {
            effects.extend(pager.replace(Arc::clone(document), &page, next));
        }
        if follow == PagerFollow::Tail {
            pager.position = PagePosition::END;
        }
    }
    effects
}

impl Pager {
    fn waits_for(&self, id: RequestId) -> bool {
        match &self.source {
            PagerSource::Branches { asked, .. } => *asked == Some(id),
            PagerSource::Whole | PagerSource::Running(..) => false,
        }
    }

    fn reads(&self, call: &CallId) -> bool {
        match &self.source {
            PagerSource::Running(running, _) => running == call,
            PagerSource::Whole | PagerSource::Branches { .. } => false,
        }
    }
}

fn pagers(model: &mut ScreenModel) -> impl Iterator<Item = &mut Pager> {
    model.overlays.iter_mut().filter_map(|overlay| match overlay {
        Overlay::Pager(pager) => Some(&mut **pager),
        Overlay::Approval(_)
        | Overlay::Picker(_)
        | Overlay::Reading(_)
        | Overlay::Changes(_)
        | Overlay::Rules(_)
        | Overlay::Rewind(_) => None,
    })
}
