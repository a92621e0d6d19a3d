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
use crate::tui::layout::paged;

use super::block::{Block, Body, Shows, Tool};
use super::editor::Editor;
use super::effect::{Effect, RequestId};
use super::find::{Query, QueryKind};
use super::geometry::{Geometry, PageGeometry};
use super::keymap::Scrolling;
use super::model::Model;
use super::overlay::Overlay;
use super::pages::PageJob;
use super::reach::{Place, Reach};
use super::search::Hit as Match;
use super::sessions::{BranchPage, PageOrder, SessionJob};
use super::source::{self, Part};
use super::transcript::BlockId;
use document::Document;
use search::{Search, Way};

pub use input::{Drag, drag, key, let_go, paste, wheel};

/// A long text on the screen.
#[derive(Debug, Clone, PartialEq)]
pub struct Pager {
    /// What it is.
    pub title: String,
    /// The text so far.
    pub document: Arc<Document>,
    /// Where it stands.
    pub reach: Reach,
    /// Whether long lines go on in the next row.
    pub wrap: Wrap,
    /// Whether lines have their numbers.
    pub numbers: Numbers,
    /// Whether more comes, and is followed.
    pub source: Source,
    /// The whole, which is being read, and whether its end is to be in sight then.
    pub waiting: Option<(RequestId, Follow)>,
    /// What is looked for.
    pub search: Option<Search>,
    /// The field for what to look for.
    pub prompt: Option<Prompt>,
    /// Lines that are marked, from where it began to where it is.
    pub marked: Option<(usize, usize)>,
    /// The line that the mouse's button went down on.
    pressed: Option<usize>,
}

/// Whether long lines go on in the next row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrap {
    /// They do.
    On,
    /// They are cut; what is shown begins at this column.
    Off(usize),
}

/// Whether lines have their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// They have.
    Shown,
    /// They have not.
    Hidden,
}

/// Where the text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// It is all there.
    Whole,
    /// The output of a call that runs.
    Running(CallId, Follow),
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
pub enum Follow {
    /// It does.
    Tail,
    /// The person has scrolled up.
    Held,
}

/// The field for what to look for.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// What is typed.
    pub editor: Editor,
    /// How it is read.
    pub kind: QueryKind,
    /// What is wrong with it.
    pub error: Option<String>,
    /// Where the page stood before.
    before: Reach,
}

impl Pager {
    /// A text from its beginning.
    pub fn new(title: String, document: Arc<Document>) -> Self {
        Self {
            title,
            document,
            reach: Reach::default(),
            wrap: Wrap::On,
            numbers: Numbers::Hidden,
            source: Source::Whole,
            waiting: None,
            search: None,
            prompt: None,
            marked: None,
            pressed: None,
        }
    }

    /// Two branches, compared.
    pub fn of_branches(BranchPage { branches, width, document }: BranchPage) -> Self {
        let source = Source::Branches { branches, width, asked: None };
        Self { source, ..Self::new("Two branches".to_owned(), document) }
    }

    /// The marked lines.
    pub fn marked_lines(&self) -> Option<Range<usize>> {
        self.marked.map(|(from, to)| from.min(to)..from.max(to) + 1)
    }

    /// What the view found.
    pub fn drawn(&mut self, page: &PageGeometry) {
        self.reach = match &self.source {
            Source::Running(_, Follow::Tail) => Reach::END,
            Source::Running(_, Follow::Held) | Source::Whole | Source::Branches { .. } => {
                Reach { top: page.top, delta: 0 }
            }
        };
    }

    /// The job that lays it out for the width that it has now.
    fn lay(&mut self, width: u16, id: RequestId) -> Option<Effect> {
        let Source::Branches { branches, width: laid, asked } = &mut self.source else {
            return None;
        };
        if *laid == width || asked.is_some() {
            return None;
        }
        *asked = Some(id);
        let page = PageOrder { document: id.0, width };
        let job = SessionJob::Lay { branches: branches.clone(), page };
        Some(Effect::Sessions { id, job })
    }

    fn scroll(&mut self, how: Scrolling, page: &PageGeometry) {
        if let Some((_, to)) = &mut self.marked {
            *to = moved(*to, how, page.rows.len(), self.document.len());
            let to = *to;
            if !page.rows.contains(&to) {
                self.hold();
                self.reach = Reach::at(Place { line: to, row: 0 }, page.rows.len() / 2);
            }
            return;
        }
        let up = match how {
            Scrolling::LineUp | Scrolling::HalfUp | Scrolling::PageUp | Scrolling::Top => true,
            Scrolling::LineDown | Scrolling::HalfDown | Scrolling::PageDown => false,
            Scrolling::Bottom => {
                if let Source::Running(_, follow) = &mut self.source {
                    *follow = Follow::Tail;
                }
                false
            }
        };
        if up {
            self.hold_at(page.top);
        }
        self.reach.scroll(how, page.rows.len());
    }

    fn hold(&mut self) {
        if let Source::Running(_, follow) = &mut self.source {
            *follow = Follow::Held;
        }
    }

    /// Stops following where the page stands.
    fn hold_at(&mut self, top: Place) {
        if matches!(self.source, Source::Running(_, Follow::Tail)) {
            self.hold();
            self.reach = Reach { top, delta: 0 };
        }
    }

    /// Brings the current match into sight.
    fn show_match(&mut self, page: &PageGeometry) {
        let Some((line, nth)) = self.search.as_ref().and_then(Search::here) else { return };
        self.hold();
        let row = self.row_of(line, nth, page.area.width);
        let visible = page.rows.contains(&line) && row == 0;
        if !visible {
            self.reach = Reach::at(Place { line, row }, page.rows.len() / 3);
        }
    }

    /// The row of a line that a match is in.
    fn row_of(&self, line: usize, nth: usize, width: u16) -> usize {
        let (Wrap::On, Some(search)) = (self.wrap, &self.search) else { return 0 };
        let (text, starts) = paged::joined(&paged::rows(self.document.line(line), width));
        let found = search.query.matches(&text);
        let at = found.get(nth).map_or(0, |range| range.start);
        starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// Looks for what is typed, from where the page stood before.
    fn look(&mut self, id: RequestId, page: &PageGeometry) -> Option<Effect> {
        let prompt = self.prompt.as_mut()?;
        let query = Query::new(&prompt.editor.text(), prompt.kind);
        prompt.error = match &query {
            Ok(_) | Err(super::find::QueryError::Empty) => None,
            Err(error) => Some(error.to_string()),
        };
        let before = prompt.before;
        let Ok(query) = query else {
            self.search = None;
            self.reach = before;
            return None;
        };
        let search = Search::new(query, before.top.line.min(self.document.len()));
        let effect = self.begin(search, id);
        if effect.is_none() {
            self.reach = before;
            self.show_match(page);
        }
        effect
    }

    /// Looks for all matches: in a short text at once, else off the UI task.
    fn begin(&mut self, mut search: Search, id: RequestId) -> Option<Effect> {
        let (document, query) = (Arc::clone(&self.document), search.query.clone());
        if document.bytes() > search::AT_ONCE {
            search.asked = Some(id);
            self.search = Some(search);
            return Some(Effect::Find { id, document, query });
        }
        let hits = search::hits(&document, &query, 0..document.len());
        search.found(hits, document.len(), &document);
        self.search = Some(search);
        None
    }

    /// Looks for all matches, and stands at the one in this line, so many rows below the top.
    fn stand_at(&mut self, search: Search, above: usize, id: RequestId) -> Option<Effect> {
        self.hold();
        self.reach = Reach::at(Place { line: search.origin(), row: 0 }, above);
        self.begin(search, id)
    }

    fn step(&mut self, way: Way, page: &PageGeometry) {
        if let Some(search) = &mut self.search {
            search.step(way);
            self.show_match(page);
        }
    }

    /// More of the output that is followed.
    fn push(&mut self, text: &str) {
        let before = self.document.let_go();
        let document = Arc::make_mut(&mut self.document);
        document.push(text);
        let gone = document.let_go() - before;
        if gone > 0 {
            // Lines have other numbers now.
            (self.search, self.marked) = (None, None);
            self.reach.top.line = self.reach.top.line.saturating_sub(gone);
        } else if let Some(search) = &mut self.search {
            search.go_on(&self.document);
        }
    }

    /// Puts the whole in the place of what was shown so far. What was looked for is looked for in
    /// it, too: what stood in the second half stands as far from the end as it did.
    fn replace(
        &mut self,
        document: Arc<Document>,
        page: &PageGeometry,
        id: RequestId,
    ) -> Option<Effect> {
        self.reach.top.line = self.reach.top.line.saturating_add(self.document.let_go());
        let (before, now) = (self.document.len(), document.len());
        self.document = document;
        self.marked = None;
        let search = self.search.take()?;
        let (line, nth) = search.here().unwrap_or((search.origin(), 0));
        let line = if line * 2 < before { line } else { (line + now).saturating_sub(before) };
        self.stand_at(Search::at(search.query, line, nth), page.rows.len() / 3, id)
    }
}

/// Where the moving end of the marked lines goes.
fn moved(line: usize, how: Scrolling, shown: usize, count: usize) -> usize {
    let page = shown.saturating_sub(1).max(1);
    let to = match how {
        Scrolling::LineUp => line.saturating_sub(1),
        Scrolling::LineDown => line + 1,
        Scrolling::HalfUp => line.saturating_sub(page.div_ceil(2)),
        Scrolling::HalfDown => line + page.div_ceil(2),
        Scrolling::PageUp => line.saturating_sub(page),
        Scrolling::PageDown => line + page,
        Scrolling::Top => 0,
        Scrolling::Bottom => usize::MAX,
    };
    to.min(count.saturating_sub(1))
}

/// Opens the whole of a block.
pub fn open(model: &mut Model, block: BlockId) -> Vec<Effect> {
    let Some(block) = model.transcript.get(block) else { return Vec::new() };
    let text = whole(block);
    let (title, tool) = match &block.body {
        Body::User(_) => ("What you said".to_owned(), None),
        Body::Assistant(_) => ("The answer".to_owned(), None),
        Body::Thinking(_) => ("Thinking".to_owned(), None),
        Body::Tool(tool) => (format!("{}  {}", tool.name, tool.title), Some((**tool).clone())),
        Body::Image(image) => (image.name().to_owned(), None),
        Body::Notice(_) | Body::Interrupted | Body::Compacted => ("Notice".to_owned(), None),
    };
    if text.is_empty() && tool.as_ref().is_none_or(Tool::is_over) {
        model.toast(NoticeLevel::Info, "There is no more of it");
        return Vec::new();
    }
    let id = model.requests.issue();
    let mut effects = Vec::new();
    let let_go = match tool.as_ref().map(|tool| &tool.shows) {
        Some(Shows::Live(live)) => live.hidden,
        Some(Shows::Nothing | Shows::Text(_) | Shows::Terminal(_) | Shows::Diff(_)) | None => 0,
    };
    let mut pager = Pager::new(title, Arc::new(Document::with(id.0, &text, let_go)));
    if let Some(tool) = tool {
        if !tool.is_over() {
            pager.source = Source::Running(tool.call.clone(), Follow::Tail);
            pager.reach = Reach::END;
        }
        if let Some(hash) = tool.kept {
            pager.waiting = Some((id, Follow::Held));
            effects.push(Effect::Pages { id, job: PageJob::Kept { document: id.0, hash } });
        }
    }
    model.overlays.push(Overlay::Pager(Box::new(pager)));
    effects
}

/// Opens the whole of a block at a match of a search in the transcript.
pub fn open_at(model: &mut Model, hit: Match, query: Query) -> Vec<Effect> {
    let place = model.transcript.get(hit.block).and_then(|block| place_of(block, hit, &query));
    let mut effects = open(model, hit.block);
    let (line, nth) = place.unwrap_or_default();
    let above = usize::from(model.geometry.height / 3);
    let id = model.requests.issue();
    if let Some(Overlay::Pager(pager)) = model.overlays.last_mut() {
        effects.extend(pager.stand_at(Search::at(query, line, nth), above, id));
    }
    effects
}

/// The line of the pager's text that a match of the transcript is in, and which of the matches in
/// that line it is.
fn place_of(block: &Block, hit: Match, query: &Query) -> Option<(usize, usize)> {
    let text = source::text(block, Part::Body);
    let start = match &block.body {
        Body::Tool(tool) => source::output_start(tool),
        Body::User(_)
        | Body::Assistant(_)
        | Body::Thinking(_)
        | Body::Image(_)
        | Body::Notice(_)
        | Body::Interrupted
        | Body::Compacted => 0,
    };
    let before = text.get(start..hit.from)?;
    let line = before.matches('\n').count();
    let in_line = before.rfind('\n').map_or(before, |end| &before[end + 1..]);
    Some((in_patch(block, line), query.matches(in_line).len()))
}

/// A patch has lines of its own beside those of the files.
fn in_patch(block: &Block, line: usize) -> usize {
    let Body::Tool(tool) = &block.body else { return line };
    let Shows::Diff(diff) = &tool.shows else { return line };
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
fn whole(block: &Block) -> String {
    match &block.body {
        Body::Tool(tool) => match &tool.shows {
            Shows::Live(live) => live.text.clone(),
            Shows::Text(text) | Shows::Terminal(text) => text.clone(),
            Shows::Nothing | Shows::Diff(_) => source::of_block(block),
        },
        Body::User(_)
        | Body::Assistant(_)
        | Body::Thinking(_)
        | Body::Image(_)
        | Body::Notice(_)
        | Body::Interrupted
        | Body::Compacted => source::of_block(block),
    }
}

/// The columns that the text of a pager has on this screen, its line numbers left out.
pub fn text_width(geometry: &Geometry) -> u16 {
    geometry.width.saturating_sub(2).max(1)
}

/// The page on top was drawn: where it has another width than it was laid out for, it is made anew.
pub fn lay_anew(model: &mut Model) -> Vec<Effect> {
    let width = model.geometry.page.as_ref().map(|page| page.area.width);
    let (Some(width), Some(Overlay::Pager(pager))) = (width, model.overlays.last_mut()) else {
        return Vec::new();
    };
    pager.lay(width, model.requests.issue()).into_iter().collect()
}

/// A page was made anew. `None` where no pager waits for it.
pub fn laid(model: &mut Model, id: RequestId, page: &BranchPage) -> Option<Vec<Effect>> {
    let shown = model.geometry.page.clone().unwrap_or_default();
    let next = model.requests.issue();
    let pager = pagers(model).find(|pager| pager.waits_for(id))?;
    let branches = page.branches.clone();
    pager.source = Source::Branches { branches, width: page.width, asked: None };
    // About the same place of what is longer or shorter now.
    let (before, now) = (pager.document.len().max(1), page.document.len());
    let line = pager.reach.top.line * now / before;
    let effect = pager.replace(page.document.clone(), &shown, next);
    pager.reach = Reach::at(Place { line, row: 0 }, 0);
    Some(effect.into_iter().collect())
}

/// What a search elsewhere has found.
pub fn found(model: &mut Model, id: RequestId, hits: &[search::Hit], searched: usize) {
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
pub fn progress(model: &mut Model, call: &CallId, text: &str) {
    for pager in pagers(model).filter(|pager| pager.reads(call)) {
        pager.push(text);
    }
}

/// A call is over: where its output was kept whole, that is shown from now on.
pub fn ended(model: &mut Model, call: &CallId) -> Vec<Effect> {
    if !pagers(model).any(|pager| pager.reads(call)) {
        return Vec::new();
    }
    let id = model.requests.issue();
    let hash = model.transcript.of_call(call).and_then(|tool| tool.kept.clone());
    for pager in pagers(model).filter(|pager| pager.reads(call)) {
        let follow = match &pager.source {
            Source::Running(_, follow) => *follow,
            Source::Whole | Source::Branches { .. } => Follow::Held,
        };
        if follow == Follow::Tail {
            pager.reach = Reach::END;
        }
        pager.source = Source::Whole;
        pager.waiting = hash.is_some().then_some((id, follow));
    }
    let job = |hash| Effect::Pages { id, job: PageJob::Kept { document: id.0, hash } };
    hash.map(job).into_iter().collect()
}

/// The whole of an output was read, or could not be.
pub fn kept(model: &mut Model, id: RequestId, document: Option<&Arc<Document>>) -> Vec<Effect> {
    let page = model.geometry.page.clone().unwrap_or_default();
    let next = model.requests.issue();
    let mut effects = Vec::new();
    for pager in pagers(model) {
        let Some((_, follow)) = pager.waiting.take_if(|(asked, _)| *asked == id) else { continue };
        if let Some(document) = document {
            effects.extend(pager.replace(Arc::clone(document), &page, next));
        }
        if follow == Follow::Tail {
            pager.reach = Reach::END;
        }
    }
    effects
}

impl Pager {
    fn waits_for(&self, id: RequestId) -> bool {
        match &self.source {
            Source::Branches { asked, .. } => *asked == Some(id),
            Source::Whole | Source::Running(..) => false,
        }
    }

    fn reads(&self, call: &CallId) -> bool {
        match &self.source {
            Source::Running(running, _) => running == call,
            Source::Whole | Source::Branches { .. } => false,
        }
    }
}

fn pagers(model: &mut Model) -> impl Iterator<Item = &mut Pager> {
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
