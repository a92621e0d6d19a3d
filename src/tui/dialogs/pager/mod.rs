//! The pager: a long text over the whole screen, to scroll, search, follow and copy.
//!
//! It opens with the text of the transcript. If the store has the full output, the pager shows that
//! as soon as it is read. Only what is on screen is laid out; lines are found once. While a command
//! runs, its output is added as it comes, and followed until the user scrolls up.

mod input;
mod opening;
pub mod search;
pub mod view;

use std::ops::Range;
use std::sync::Arc;

use ratatui::layout::Position;

use crate::domain::{CallId, ContentHash};
use crate::session::BranchComparison;
use crate::tui::layout::pager_lines::{self, PagerWrap};

use crate::services::store_query::StoreQuery;
use crate::services::text_document::TextDocument;
use crate::tui::app::dialog_reply::DialogReply;
use crate::tui::app::editor::TextEditor;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{KeyPlace, KeyPress, ScrollAction};
use crate::tui::app::page_position::{PagePosition, PageRow};
use crate::tui::app::request_id::RequestId;
use crate::tui::app::text_query::{TextQuery, TextQueryError, TextQueryKind};
use crate::tui::branch_page::BranchPage;
use crate::tui::dialogs::dialog::{
    Dialog, DialogCanvas, DialogContext, DialogLayer, DialogLifetime, DialogView,
};
use crate::tui::dialogs::geometry::PageGeometry;
use crate::tui::dialogs::linear_page::{LineLabel, LinearPage, lines};
use search::{PagerSearch, PagerSearchDirection};

use input::PagerDrag;

pub use opening::{explain, open, open_at};

/// A long text over the whole screen.
#[derive(Debug, Clone, PartialEq)]
pub struct Pager {
    pub title: String,
    /// The text so far.
    pub document: Arc<TextDocument>,
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

/// Some lines of a text as a terminal would show them, without escape sequences, each with a line
/// feed.
pub fn plain_text(document: &TextDocument, lines: Range<usize>) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str(&pager_lines::text(document.line(line)));
        text.push('\n');
    }
    text
}

impl Pager {
    /// Shows a complete text from its beginning, wrapped and without line numbers.
    pub fn new(title: String, document: Arc<TextDocument>) -> Self {
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
    fn scrolled_to(&mut self, page: &PageGeometry) {
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
        Some(ScreenEffect::LayOutBranches { id, branches: branches.clone(), width })
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
            Ok(_) | Err(TextQueryError::Empty) => None,
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
        document: Arc<TextDocument>,
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

impl Pager {
    /// Shows a new layout of two branches.
    fn branches_laid_out(
        &mut self,
        page: &BranchPage,
        around: &mut DialogContext<'_>,
    ) -> Option<ScreenEffect> {
        let next = around.shared.requests.issue();
        let branches = page.branches.clone();
        self.source = PagerSource::Branches { branches, width: page.width, asked: None };
        // Keeps about the same place, though the text is longer or shorter now.
        let (before, now) = (self.document.len().max(1), page.document.len());
        let line = self.position.top.line * now / before;
        let effect = self.replace(page.document.clone(), &around.measured.page, next);
        self.position = PagePosition::at(PageRow { line, row: 0 }, 0);
        effect
    }

    /// Takes over the matches of a search off the UI task.
    fn found(
        &mut self,
        id: RequestId,
        hits: &[search::PagerMatch],
        searched: usize,
        page: &PageGeometry,
    ) {
        let document = Arc::clone(&self.document);
        if let Some(search) = self.search.as_mut().filter(|search| search.asked == Some(id)) {
            search.found(hits.to_vec(), searched, &document);
            self.show_match(page);
        }
    }

    /// The call that is shown is over: requests its full output, if that is stored.
    fn call_ended(
        &mut self,
        output: Option<&ContentHash>,
        around: &mut DialogContext<'_>,
    ) -> Option<ScreenEffect> {
        let follow = match &self.source {
            PagerSource::Running(_, follow) => *follow,
            PagerSource::Whole | PagerSource::Branches { .. } => PagerFollow::Paused,
        };
        if follow == PagerFollow::Tail {
            self.position = PagePosition::END;
        }
        self.source = PagerSource::Whole;
        let id = around.shared.requests.issue();
        self.waiting = output.is_some().then_some((id, follow));
        let job = |hash| StoreQuery::FullOutput { document: id.0, hash };
        output.cloned().map(|hash| ScreenEffect::QueryStore { id, job: job(hash) })
    }

    /// Shows the full output that was read; `None` if it could not be read.
    fn full_output(
        &mut self,
        id: RequestId,
        document: Option<&Arc<TextDocument>>,
        around: &mut DialogContext<'_>,
    ) -> Option<ScreenEffect> {
        let (_, follow) = self.waiting.take_if(|(asked, _)| *asked == id)?;
        let next = around.shared.requests.issue();
        let document = document.cloned();
        let effect =
            document.and_then(|document| self.replace(document, &around.measured.page, next));
        if follow == PagerFollow::Tail {
            self.position = PagePosition::END;
        }
        effect
    }

    fn reads(&self, call: &CallId) -> bool {
        match &self.source {
            PagerSource::Running(running, _) => running == call,
            PagerSource::Whole | PagerSource::Branches { .. } => false,
        }
    }
}

impl Dialog for Pager {
    fn place(&self) -> KeyPlace {
        match self.prompt {
            Some(_) => KeyPlace::PagerSearch,
            None => KeyPlace::Pager,
        }
    }

    fn key(&mut self, key: &KeyPress<'_>, around: &mut DialogContext<'_>) -> Vec<Intent> {
        input::key(self, key, around)
    }

    fn draw(&self, _around: DialogView<'_>, canvas: DialogCanvas<'_>) -> Option<Position> {
        let area = canvas.above_hints();
        let DialogCanvas { layouts, styles, buffer, measured, .. } = canvas;
        view::draw(self, layouts, styles, area, buffer, measured)
    }

    fn paste(&mut self, text: &str, around: &mut DialogContext<'_>) -> Option<Vec<Intent>> {
        let id = around.shared.requests.issue();
        if let Some(prompt) = &mut self.prompt {
            prompt.editor.paste(text);
        }
        Some(self.look(id, &around.measured.page).map(Intent::Effect).into_iter().collect())
    }

    fn linear_page(&self, _around: DialogView<'_>) -> Option<LinearPage> {
        let text = plain_text(&self.document, 0..self.document.len());
        let key = format!("pager {}", self.document.id());
        Some(LinearPage { key, lines: lines(LineLabel::Note, &text) })
    }

    fn wheel(&mut self, rows: i32, around: &mut DialogContext<'_>) {
        input::wheel(self, rows, &around.measured.page);
    }

    fn click(&mut self, at: (u16, u16), around: &mut DialogContext<'_>) -> Vec<Intent> {
        input::drag(self, at, PagerDrag::Down, &around.measured.page);
        Vec::new()
    }

    fn drag(&mut self, at: (u16, u16), around: &mut DialogContext<'_>) -> Option<Vec<Intent>> {
        input::drag(self, at, PagerDrag::Moved, &around.measured.page);
        Some(Vec::new())
    }

    fn button_up(&mut self) -> Option<Vec<Intent>> {
        Some(input::button_up(self))
    }

    fn reply(&mut self, reply: &DialogReply, around: &mut DialogContext<'_>) -> Vec<Intent> {
        let effect = match reply {
            DialogReply::Found { id, hits, searched } => {
                self.found(*id, hits, *searched, &around.measured.page);
                None
            }
            // An explanation that there is none of; why is told.
            DialogReply::Document { id, document: None }
                if self.document.is_empty()
                    && self.waiting.is_some_and(|(asked, _)| asked == *id) =>
            {
                return vec![Intent::Close];
            }
            DialogReply::Document { id, document } => {
                self.full_output(*id, document.as_ref(), around)
            }
            DialogReply::BranchesLaidOut { id, page } if self.is_waiting_for(*id) => {
                self.branches_laid_out(page, around)
            }
            DialogReply::CallProgress { call, text } if self.reads(call) => {
                self.push(text);
                None
            }
            DialogReply::CallEnded { call, output } if self.reads(call) => {
                self.call_ended(output.as_ref(), around)
            }
            _ => None,
        };
        effect.map(Intent::Effect).into_iter().collect()
    }

    fn is_waiting_for(&self, id: RequestId) -> bool {
        match &self.source {
            PagerSource::Branches { asked, .. } => *asked == Some(id),
            PagerSource::Whole | PagerSource::Running(..) => false,
        }
    }

    fn drawn(&mut self, layer: DialogLayer, around: &mut DialogContext<'_>) -> Vec<Intent> {
        let page = &around.measured.page;
        self.scrolled_to(page);
        match layer {
            DialogLayer::Top => {
                let effect = self.request_layout(page.area.width, around.shared.requests.issue());
                effect.map(Intent::Effect).into_iter().collect()
            }
            DialogLayer::Covered => Vec::new(),
        }
    }

    fn lifetime(&self) -> DialogLifetime {
        DialogLifetime::Session
    }
}
