//! Caches the laid-out lines of the transcript's blocks and of the pages over it.

use std::ops::Range;
use std::sync::Arc;

use crate::domain::{AgentId, ApprovalId, FileDiff};
use crate::platform::graphics::GraphicsCanvas;
use crate::services::text_document::TextDocument;
use crate::tui::app::conversation::block::{
    BlockBody, BlockId, PaneFold, TextState, TranscriptBlock,
};
use crate::tui::layout::diff::rows::DiffRow;
use crate::tui::layout::diff::{self, DiffRenderer};
use crate::tui::layout::pager_lines::PagerWrap;
use crate::tui::layout::{
    self, BlockLayout, HighlightState, LayoutKey, StyledLine, SyntaxHighlighter, code, pager_lines,
};
use crate::tui::links::LinkTable;
use crate::tui::picture_cells::PictureTable;

use super::blocks::{self, StreamingThinking};
use super::timeline::TranscriptTimeline;

/// The layout caches of the screen, and the highlighter that colours their code.
#[derive(Debug)]
pub struct ViewLayouts {
    kept: layout::LayoutCache,
    highlighter: SyntaxHighlighter,
    /// Whose conversation is drawn.
    agent: AgentId,
    thought: Option<((AgentId, BlockId), StreamingThinking)>,
    /// Rows of the pages over the chat.
    pages: layout::LayoutCache,
    /// The rows of each change in the edit that the last approval question showed.
    places: Option<(LayoutKey, Arc<[Range<usize>]>)>,
    /// The changed files on screen, on the page of changes or a review.
    changed_files: Vec<ChangedFileLayout>,
    /// Keeps the lines that were returned last alive, so that they can be borrowed.
    last: Arc<[StyledLine]>,
    timeline: TranscriptTimeline,
    links: LinkTable,
    picture_table: PictureTable,
    /// How the terminal shows pictures; `None` if it cannot.
    canvas: Option<GraphicsCanvas>,
    /// The key that shows all of a text that is cut.
    view_key: String,
}

/// How many changed files are kept laid out: more than a screen shows at once.
const MAX_CHANGED_FILES: usize = 64;

#[derive(Debug)]
struct ChangedFileLayout {
    /// Identifies its rows.
    version: u64,
    width: u16,
    /// The highlighter's generation when it was laid out.
    generation: u64,
    renderer: DiffRenderer<Arc<FileDiff>>,
}

impl ViewLayouts {
    /// Empty caches that colour code with this highlighter.
    pub fn new(highlighter: SyntaxHighlighter) -> Self {
        Self {
            kept: layout::LayoutCache::default(),
            highlighter,
            agent: AgentId(0),
            thought: None,
            pages: layout::LayoutCache::default(),
            places: None,
            changed_files: Vec::new(),
            last: Arc::default(),
            timeline: TranscriptTimeline::default(),
            links: LinkTable::default(),
            picture_table: PictureTable::default(),
            canvas: None,
            view_key: String::new(),
        }
    }

    /// Uses this table for links; the terminal's backend reads the same one.
    pub fn with_links(self, links: LinkTable) -> Self {
        Self { links, ..self }
    }

    /// Uses this table for pictures; the terminal's backend reads the same one.
    pub fn with_picture_table(self, picture_table: PictureTable) -> Self {
        Self { picture_table, ..self }
    }

    /// Sets how pictures are shown. From now on images take the room of their pictures.
    pub fn paint_on(&mut self, canvas: Option<GraphicsCanvas>) {
        if self.canvas != canvas {
            self.canvas = canvas;
            self.kept = layout::LayoutCache::default();
        }
    }

    /// Sets the name of the key that shows all of a text that is cut.
    pub fn name_view_key(&mut self, key: String) {
        if self.view_key != key {
            self.view_key = key;
            self.kept = layout::LayoutCache::default();
        }
    }

    /// Sets whose conversation is drawn from now on.
    pub fn draw_for(&mut self, agent: AgentId) {
        self.agent = agent;
    }

    /// The pictures on screen.
    pub fn picture_table(&self) -> &PictureTable {
        &self.picture_table
    }

    /// What is marked beside the scroll bar.
    pub fn timeline(&mut self) -> &mut TranscriptTimeline {
        &mut self.timeline
    }

    /// The links on screen.
    pub fn links(&self) -> &LinkTable {
        &self.links
    }

    /// Forgets everything, as when another session is opened.
    pub fn clear(&mut self) {
        self.kept = layout::LayoutCache::default();
        self.pages = layout::LayoutCache::default();
        self.thought = None;
        self.places = None;
        self.changed_files.clear();
    }

    /// How many blocks were laid out so far, cached ones not counted.
    pub fn layout_count(&self) -> u64 {
        self.kept.misses()
    }

    /// The highlighter of all code on the screen.
    pub fn highlighter(&self) -> &SyntaxHighlighter {
        &self.highlighter
    }

    /// The diff of a question, and the rows of each change, given `above` rows before the diff. The
    /// diffs of other files follow it, each under its heading.
    pub fn approval_diff<'a>(
        &mut self,
        id: ApprovalId,
        (diff, others): (&FileDiff, impl FnOnce() -> Vec<(Vec<StyledLine>, &'a FileDiff)>),
        width: u16,
        above: usize,
    ) -> (Arc<[StyledLine]>, Arc<[Range<usize>]>) {
        // Ids of blocks count up from 0, ids of questions down from the end.
        let key = LayoutKey {
            owner: 0,
            block: u64::MAX - id.0,
            revision: 0,
            width,
            fold: PaneFold::Open,
        };
        let highlighter = &self.highlighter;
        let mut places = self.places.take().filter(|(of, _)| *of == key).map(|(_, places)| places);
        let rows = |places: Vec<Range<usize>>| -> Arc<[Range<usize>]> {
            places.iter().map(|place| place.start + above..place.end + above).collect()
        };
        let lines = self.kept.get(key, highlighter, || {
            let (mut laid, found) = diff::render_whole(diff, width, highlighter);
            places = Some(rows(found));
            for (heading, diff) in others() {
                let rest = diff::render_whole(diff, width, highlighter).0;
                laid.lines.push(StyledLine::default());
                laid.lines.extend(heading);
                laid.lines.extend(rest.lines);
                laid.colours = laid.colours.and(rest.colours);
            }
            laid
        });
        // The lines may still be cached although another question's rows were remembered since.
        let places = places.unwrap_or_else(|| rows(diff::render_whole(diff, width, highlighter).1));
        self.places = Some((key, Arc::clone(&places)));
        (lines, places)
    }

    /// The lines of the command that a question is about.
    pub fn approval_command(
        &mut self,
        id: ApprovalId,
        command: &str,
        width: u16,
    ) -> Arc<[StyledLine]> {
        let key = LayoutKey {
            owner: 0,
            block: u64::MAX - id.0,
            revision: 0,
            width,
            fold: PaneFold::Preview,
        };
        let highlighter = &self.highlighter;
        self.kept.get(key, highlighter, || code::shell_command(command, width, highlighter))
    }

    /// The lines of the Markdown that a question of the model is about. `revision` counts what the user
    /// has changed in it.
    pub fn question_document(
        &mut self,
        id: ApprovalId,
        (text, revision): (&str, u64),
        width: u16,
    ) -> Arc<[StyledLine]> {
        let (block, fold) = (u64::MAX - id.0, PaneFold::Open);
        let key = LayoutKey { owner: 0, block, revision, width, fold };
        let highlighter = &self.highlighter;
        self.kept.get(key, highlighter, || blocks::bounded_markdown(text, width, highlighter, ""))
    }

    /// The rows of one line of a long text.
    pub fn pager_line(
        &mut self,
        document: &TextDocument,
        line: usize,
        width: u16,
        wrap: PagerWrap,
    ) -> Arc<[StyledLine]> {
        let text = document.line(line);
        // A line changes only by growing, and only the last one does.
        let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let fold = match wrap {
            PagerWrap::On => PaneFold::Open,
            PagerWrap::Off(_) => PaneFold::Closed,
        };
        let block = u64::try_from(line + document.dropped_lines()).unwrap_or(u64::MAX);
        let revision = document.id() << 32 | length & 0xffff_ffff;
        let key = LayoutKey { owner: 0, block, revision, width, fold };
        let lay = || BlockLayout {
            lines: match wrap {
                PagerWrap::On => pager_lines::rows(text, width),
                PagerWrap::Off(_) => vec![pager_lines::row(text)],
            },
            colours: HighlightState::Final,
        };
        self.pages.get(key, &self.highlighter, lay)
    }

    /// The lines of one row of a changed file. `version` identifies the row's file and folds.
    pub fn changed_file_row(
        &mut self,
        version: u64,
        diff: &Arc<FileDiff>,
        rows: &[DiffRow],
        row: usize,
        width: u16,
    ) -> Arc<[StyledLine]> {
        let generation = self.highlighter.generation();
        let fits = |shown: &ChangedFileLayout| {
            (shown.version, shown.width) == (version, width)
                && (shown.generation == generation
                    || shown.renderer.colours() == HighlightState::Final)
        };
        if !self.changed_files.iter().any(fits) {
            self.changed_files.retain(|shown| shown.version != version);
            if self.changed_files.len() >= MAX_CHANGED_FILES {
                self.changed_files.remove(0);
            }
            let renderer =
                DiffRenderer::new(Arc::clone(diff), width, usize::MAX, &self.highlighter);
            let file = ChangedFileLayout { version, width, generation, renderer };
            self.changed_files.push(file);
        }
        let shown = self.changed_files.iter().find(|shown| fits(shown));
        let (Some(ChangedFileLayout { renderer, .. }), Some(of)) = (shown, rows.get(row)) else {
            return Arc::default();
        };
        let block = u64::try_from(row).unwrap_or(u64::MAX);
        let key = LayoutKey { owner: 0, block, revision: version, width, fold: PaneFold::Preview };
        self.pages.get(key, &self.highlighter, || {
            let mut lines = Vec::new();
            renderer.lay(of, &mut lines);
            BlockLayout { lines, colours: renderer.colours() }
        })
    }

    /// The lines of a block below its head.
    pub fn lines(&mut self, block: &TranscriptBlock, fold: PaneFold, width: u16) -> &[StyledLine] {
        if let BlockBody::Assistant(prose) = &block.body
            && prose.state == TextState::Streaming
            && prose.text.len() <= layout::markdown::MAX_MARKDOWN
        {
            let id = (self.agent.0, block.id.0);
            return self.kept.streaming(id, &prose.text, width, &self.highlighter);
        }
        if let BlockBody::Thinking(thinking) = &block.body
            && thinking.state == TextState::Streaming
            && fold == PaneFold::Open
            && thinking.text.len() <= layout::markdown::MAX_MARKDOWN
        {
            let id = (self.agent, block.id);
            let continues = self.thought.as_ref().is_some_and(|(of, _)| *of == id);
            if !continues {
                self.thought = None;
            }
            let new = || (id, StreamingThinking::default());
            let (_, growing) = self.thought.get_or_insert_with(new);
            growing.update(&thinking.text, width);
            return growing.lines();
        }
        let key = LayoutKey {
            owner: self.agent.0,
            block: block.id.0,
            revision: u64::from(block.revision),
            width,
            fold,
        };
        let (highlighter, canvas, keys) = (&self.highlighter, self.canvas, self.view_key.as_str());
        let lay = || blocks::body(block, fold, width, highlighter, canvas, keys);
        self.last = self.kept.get(key, highlighter, lay);
        &self.last
    }
}
