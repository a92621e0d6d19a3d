//! The whole of something long, over the whole screen: to scroll, search, follow and copy.
//!
//! It opens with what the transcript has and, where the output was kept whole, shows that as soon
//! as it is read. Only what is on screen is laid out; lines are found once. While a command runs
//! its output is added as it comes, and followed until the person scrolls up.

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
use super::effect::{RequestId, ScreenEffect};
use super::geometry::{PageGeometry, ScreenGeometry};
use super::keymap::ScrollAction;
use super::model::ScreenModel;
use super::overlay::Overlay;
use super::page_position::{PagePosition, PageRow};
use super::search::TranscriptMatch as Match;
use super::sessions::{BranchPage, BranchPageRequest, SessionStoreRequest};
use super::source::{self, BlockPart};
use super::store_queries::StoreQuery;
use super::text_query::{TextQuery, TextQueryKind};
use super::transcript::BlockId;
use document::PagerDocument;
use search::{PagerSearch, PagerSearchDirection};

pub use input::{PagerDrag, drag, key, on_button_up, paste, wheel};

/// A long text on the screen.
#[derive(Debug, Clone, PartialEq)]
pub struct Pager {
    /// What it is.
    pub title: String,
    /// The text so far.
    pub document: Arc<PagerDocument>,
    /// Where it stands.
    pub position: PagePosition,
    /// Whether long lines go on in the next row.
    pub wrap: PagerWrap,
    /// Whether lines have their numbers.
    pub numbers: PagerLineNumbers,
    /// Whether more comes, and is followed.
    pub source: PagerSource,
    /// The whole, which is being read, and whether its end is to be in sight then.
    pub waiting: Option<(RequestId, PagerFollow)>,
    /// What is looked for.
    pub search: Option<PagerSearch>,
    /// The field for what to look for.
    pub prompt: Option<PagerPrompt>,
    /// Lines that are marked, from where it began to where it is.
    pub marked: Option<(usize, usize)>,
    /// The line that the mouse's button went down on.
    pressed: Option<usize>,
}

/// Whether long lines go on in the next row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagerWrap {
    /// They do.
    On,
    /// They are cut; what is shown begins at this column.
    Off(usize),
}

/// Whether lines have their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagerLineNumbers {
    /// They have.
    Shown,
    /// They have not.
    Hidden,
}

/// Where the text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PagerSource {
    /// It is all there.
    Whole,
    /// The output of a call that runs.
    Running(CallId, PagerFollow),
    /// Two branches, laid out for a width; anew where there is another one now.
    Branches {
        /// What is in them.
        branches: Arc<BranchComparison>,
        /// The width.
        width: u16,
        /// The page of the other width, which is being made.
        asked: Option<RequestId>,
    },
}

/// Whether the end stays in sight while more comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagerFollow {
    /// It does.
    Tail,
    /// The person has scrolled up.
    Paused,
}

/// The field for what to look for.
#[derive(Debug, Clone, PartialEq)]
pub struct PagerPrompt {
    /// What is typed.
    pub editor: TextEditor,
    /// How it is read.
    pub kind: TextQueryKind,
    /// What is wrong with it.
    pub error: Option<String>,
    /// Where the page stood before.
    before: PagePosition,
}

impl Pager {
    /// A text from its beginning.
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

    /// Two branches, compared.
    pub fn of_branches(BranchPage { branches, width, document }: BranchPage) -> Self {
        let source = PagerSource::Branches { branches, width, asked: None };
        Self { source, ..Self::new("Two branches".to_owned(), document) }
    }

    /// The marked lines.
    pub fn marked_lines(&self) -> Option<Range<usize>> {
        self.marked.map(|(from, to)| from.min(to)..from.max(to) + 1)
    }

    /// What the view found.
    pub fn drawn(&mut self, page: &PageGeometry) {
        self.position = match &self.source {
            PagerSource::Running(_, PagerFollow::Tail) => PagePosition::END,
            PagerSource::Running(_, PagerFollow::Paused)
            | PagerSource::Whole
            | PagerSource::Branches { .. } => PagePosition { top: page.top, delta: 0 },
        };
    }

    /// The job that lays it out for the width that it has now.
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

    /// Stops following where the page stands.
    fn hold_at(&mut self, top: PageRow) {
        if matches!(self.source, PagerSource::Running(_, PagerFollow::Tail)) {
            self.hold();
            self.position = PagePosition { top, delta: 0 };
        }
    }

    /// Brings the current match into sight.
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

    /// The row of a line that a match is in.
    fn row_of(&self, line: usize, nth: usize, width: u16) -> usize {
        let (PagerWrap::On, Some(search)) = (self.wrap, &self.search) else { return 0 };
        let (text, starts) =
            pager_lines::joined(&pager_lines::rows(self.document.line(line), width));
        let found = search.query.matches(&text);
        let at = found.get(nth).map_or(0, |range| range.start);
        starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// Looks for what is typed, from where the page stood before.
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

    /// Looks for all matches: in a short text at once, else off the UI task.
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

    /// Looks for all matches, and stands at the one in this line, so many rows below the top.
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

    fn step(&mut self, way: PagerSearchDirection, page: &PageGeometry) {
        if let Some(search) = &mut self.search {
            search.step(way);
            self.show_match(page);
        }
    }

    /// More of the output that is followed.
    fn push(&mut self, text: &str) {
        let before = self.document.dropped_lines();
        let document = Arc::make_mut(&mut self.document);
        document.push(text);
        let gone = document.dropped_lines() - before;
        if gone > 0 {
            // Lines have other numbers now.
            (self.search, self.marked) = (None, None);
            self.position.top.line = self.position.top.line.saturating_sub(gone);
        } else if let Some(search) = &mut self.search {
            search.go_on(&self.document);
        }
    }

    /// Puts the whole in the place of what was shown so far. What was looked for is looked for in
    /// it, too: what stood in the second half stands as far from the end as it did.
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

/// Where the moving end of the marked lines goes.
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

/// Opens the whole of a block.
pub fn open(model: &mut ScreenModel, block: BlockId) -> Vec<ScreenEffect> {
    let Some(block) = model.transcript.get(block) else { return Vec::new() };
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
        model.toast(NoticeLevel::Info, "There is no more of it");
        return Vec::new();
    }
    let id = model.requests.issue();
    let mut effects = Vec::new();
    let let_go = match tool.as_ref().map(|tool| &tool.content) {
        Some(ToolCallContent::Live(live)) => live.hidden,
        Some(
            ToolCallContent::Nothing
            | ToolCallContent::Text(_)
            | ToolCallContent::Terminal(_)
            | ToolCallContent::Diff(_),
        )
        | None => 0,
    };
    let mut pager = Pager::new(title, Arc::new(PagerDocument::with(id.0, &text, let_go)));
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

/// Opens the whole of a block at a match of a search in the transcript.
pub fn open_at(model: &mut ScreenModel, hit: Match, query: TextQuery) -> Vec<ScreenEffect> {
    let place = model.transcript.get(hit.block).and_then(|block| place_of(block, hit, &query));
    let mut effects = open(model, hit.block);
    let (line, nth) = place.unwrap_or_default();
    let above = usize::from(model.geometry.height / 3);
    let id = model.requests.issue();
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

/// A patch has lines of its own beside those of the files.
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

/// The columns that the text of a pager has on this screen, its line numbers left out.
pub fn text_width(geometry: &ScreenGeometry) -> u16 {
    geometry.width.saturating_sub(2).max(1)
}

/// The page on top was drawn: where it has another width than it was laid out for, it is made anew.
pub fn update_layout(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let width = model.geometry.page.as_ref().map(|page| page.area.width);
    let (Some(width), Some(Overlay::Pager(pager))) = (width, model.overlays.last_mut()) else {
        return Vec::new();
    };
    pager.request_layout(width, model.requests.issue()).into_iter().collect()
}

/// A page was made anew. `None` where no pager waits for it.
pub fn on_layout(
    model: &mut ScreenModel,
    id: RequestId,
    page: &BranchPage,
) -> Option<Vec<ScreenEffect>> {
    let shown = model.geometry.page.clone().unwrap_or_default();
    let next = model.requests.issue();
    let pager = pagers(model).find(|pager| pager.waits_for(id))?;
    let branches = page.branches.clone();
    pager.source = PagerSource::Branches { branches, width: page.width, asked: None };
    // About the same place of what is longer or shorter now.
    let (before, now) = (pager.document.len().max(1), page.document.len());
    let line = pager.position.top.line * now / before;
    let effect = pager.replace(page.document.clone(), &shown, next);
    pager.position = PagePosition::at(PageRow { line, row: 0 }, 0);
    Some(effect.into_iter().collect())
}

/// What a search elsewhere has found.
pub fn found(model: &mut ScreenModel, id: RequestId, hits: &[search::PagerMatch], searched: usize) {
    let page = model.geometry.page.clone().unwrap_or_default();
    for pager in pagers(model) {
        let document = Arc::clone(&pager.document);
        if let Some(search) = pager.search.as_mut().filter(|search| search.asked == Some(id)) {
            search.found(hits.to_vec(), searched, &document);
            pager.show_match(&page);
        }
    }
}

/// More output of a call.
pub fn progress(model: &mut ScreenModel, call: &CallId, text: &str) {
    for pager in pagers(model).filter(|pager| pager.reads(call)) {
        pager.push(text);
    }
}

/// A call is over: where its output was kept whole, that is shown from now on.
pub fn ended(model: &mut ScreenModel, call: &CallId) -> Vec<ScreenEffect> {
    if !pagers(model).any(|pager| pager.reads(call)) {
        return Vec::new();
    }
    let id = model.requests.issue();
    let hash = model.transcript.of_call(call).and_then(|tool| tool.full_output.clone());
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

/// The whole of an output was read, or could not be.
pub fn on_full_output(
    model: &mut ScreenModel,
    id: RequestId,
    document: Option<&Arc<PagerDocument>>,
) -> Vec<ScreenEffect> {
    let page = model.geometry.page.clone().unwrap_or_default();
    let next = model.requests.issue();
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
