//! Renders the block structure: turns events into lines, decorated by the lists and quotes around
//! them.

use pulldown_cmark::{BlockQuoteKind, CodeBlockKind, Event, HeadingLevel, Tag, TagEnd};

use super::code::{self, CODE_BAR, CodeText};
use super::events::SpannedEvent;
use super::html;
use super::inline::InlineText;
use super::table::MarkdownTable;
use crate::domain::sanitize::sanitize;
use crate::tui::layout::SyntaxHighlighter;
use crate::tui::layout::wrap::{
    PROSE_WIDTH, StyledPiece, WrapFrame, display_width, truncate, wrap,
};
use crate::tui::layout::{BlockLayout, HighlightState, StyleRole, StyledLine, StyledSpan};

const QUOTE_BAR: &str = "▌ ";
const CODE_TOP: &str = "╭ ";
const BULLETS: [&str; 3] = ["•", "◦", "‣"];

/// Lays out events one after another.
pub(super) struct BlockRenderer<'e> {
    source: &'e str,
    width: u16,
    highlighter: &'e SyntaxHighlighter,
    pub(super) out: Vec<StyledLine>,
    colours: HighlightState,
    containers: Vec<ContainerBlock>,
    /// How many of the containers are lists.
    lists: usize,
    pub(super) above: PrecedingBlock,
    leaf: LeafBlock<'e>,
}

/// The block before the next one in the innermost container; decides whether a blank line is due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum PrecedingBlock {
    /// The container is still empty.
    #[default]
    Nothing,
    /// A heading that stands close to its text, or the label of an alert.
    Heading,
    /// A footnote: footnotes stand close together.
    Note,
    /// Any other block.
    Block,
}

/// A block that holds other blocks.
#[derive(Debug, Clone)]
enum ContainerBlock {
    Quote {
        /// Role of the bar.
        role: StyleRole,
        /// Role of the text.
        text: StyleRole,
        source: usize,
    },
    List {
        /// The number of the next item; `None` in a bulleted list.
        next: Option<u64>,
    },
    Item {
        marker: String,
        /// Whether a line shows the marker already.
        shown: bool,
        source: usize,
    },
}

/// The block being read.
enum LeafBlock<'e> {
    None,
    Text { inline: InlineText<'e>, source: usize },
    Code { label: &'e str, code: CodeText },
    Html { code: CodeText },
    Table { table: MarkdownTable<'e>, source: usize },
}

impl<'e> BlockRenderer<'e> {
    /// A renderer for events whose ranges lie in `source`.
    pub(super) fn new(source: &'e str, width: u16, highlighter: &'e SyntaxHighlighter) -> Self {
        Self {
            source,
            width,
            highlighter,
            out: Vec::new(),
            colours: HighlightState::Final,
            containers: Vec::new(),
            lists: 0,
            above: PrecedingBlock::Nothing,
            leaf: LeafBlock::None,
        }
    }

    /// Appends lines to `out`, the last block of which is `above`.
    pub(super) fn below(mut self, out: Vec<StyledLine>, above: PrecedingBlock) -> Self {
        (self.out, self.above) = (out, above);
        self
    }

    /// Continues a top-level list whose next item has this number. No event starts that list.
    pub(super) fn in_list(mut self, next: Option<u64>) -> Self {
        self.containers.push(ContainerBlock::List { next });
        self.lists += 1;
        self
    }

    /// The number of the next item of the top-level list that is open.
    pub(super) fn next_item(&self) -> Option<u64> {
        match self.containers.first() {
            Some(ContainerBlock::List { next }) => *next,
            Some(ContainerBlock::Quote { .. } | ContainerBlock::Item { .. }) | None => None,
        }
    }

    pub(super) fn colours(&self) -> HighlightState {
        self.colours
    }

    pub(super) fn events(&mut self, events: &'e [SpannedEvent<'e>]) {
        for spanned in events {
            self.event(spanned);
        }
    }

    pub(super) fn finish(self) -> BlockLayout {
        BlockLayout { lines: self.out, colours: self.colours }
    }

    fn event(&mut self, spanned: &'e SpannedEvent<'e>) {
        let (event, range) = spanned;
        match (event, &mut self.leaf) {
            (Event::Start(tag), _) if is_block(tag) => self.start(tag, range.start),
            (Event::End(tag), _) if is_block_end(*tag) => self.end(*tag),
            (Event::Rule, _) => {
                self.end_text();
                self.rule(range.start);
            }
            (Event::TaskListMarker(done), _) => self.task(*done),
            (Event::Text(text), LeafBlock::Code { code, .. })
            | (Event::Text(text) | Event::Html(text), LeafBlock::Html { code }) => {
                code.push(text, range.start);
            }
            (_, LeafBlock::Table { table, .. }) => {
                if let Some(cell) = table.cell() {
                    cell.event(spanned);
                }
            }
            (_, LeafBlock::Text { inline, .. }) => inline.event(spanned),
            // In a tight list the text of an item stands in no paragraph.
            (_, LeafBlock::None | LeafBlock::Code { .. } | LeafBlock::Html { .. }) => {
                self.begin_text(range.start, self.base());
                if let LeafBlock::Text { inline, .. } = &mut self.leaf {
                    inline.event(spanned);
                }
            }
        }
    }

    fn start(&mut self, tag: &'e Tag<'e>, at: usize) {
        match tag {
            Tag::TableHead | Tag::TableRow => {
                if let LeafBlock::Table { table, .. } = &mut self.leaf {
                    table.begin_row(at);
                }
                return;
            }
            Tag::TableCell => {
                let base = self.base();
                if let LeafBlock::Table { table, .. } = &mut self.leaf {
                    table.begin_cell(base);
                }
                return;
            }
            _ => self.end_text(),
        }
        match tag {
            Tag::Heading { level, .. } => self.begin_text(at, StyleRole::Heading(depth(*level))),
            Tag::BlockQuote(kind) => self.quote(*kind, at),
            Tag::CodeBlock(kind) => {
                self.separate(at);
                let label = match kind {
                    CodeBlockKind::Fenced(info) => info,
                    CodeBlockKind::Indented => "",
                };
                let code = CodeText::at(at);
                self.leaf = LeafBlock::Code { label, code };
            }
            Tag::HtmlBlock => {
                self.separate(at);
                self.leaf = LeafBlock::Html { code: CodeText::at(at) };
            }
            Tag::FootnoteDefinition(label) => {
                if self.above == PrecedingBlock::Note {
                    self.above = PrecedingBlock::Nothing;
                }
                let marker = format!("[{}] ", sanitize(label));
                self.enter(ContainerBlock::Item { marker, shown: false, source: at }, at);
            }
            Tag::List(start) => self.enter(ContainerBlock::List { next: *start }, at),
            Tag::Item => {
                let marker = self.marker(at);
                self.enter(ContainerBlock::Item { marker, shown: false, source: at }, at);
            }
            Tag::Table(alignments) => {
                // A heading of its own would read as part of the heading above it.
                if self.above == PrecedingBlock::Heading {
                    self.above = PrecedingBlock::Block;
                }
                self.separate(at);
                let source = at;
                self.leaf = LeafBlock::Table { table: MarkdownTable::new(alignments), source };
            }
            // A paragraph. The other tags are extensions that are not turned on, and are shown as
            // paragraphs.
            _ => self.begin_text(at, self.base()),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::TableHead | TagEnd::TableRow => return,
            TagEnd::TableCell => {
                if let LeafBlock::Table { table, .. } = &mut self.leaf {
                    table.end_cell();
                }
                return;
            }
            _ => {}
        }
        match std::mem::replace(&mut self.leaf, LeafBlock::None) {
            LeafBlock::None => {}
            LeafBlock::Text { inline, source } => self.text(inline, source),
            LeafBlock::Code { label, mut code } => {
                // Small models put all of a call behind the fence: it must be in sight.
                if let (true, Some((_, rest))) =
                    (code.text.is_empty(), label.trim().split_once(char::is_whitespace))
                {
                    code.push(rest, code.source());
                }
                self.code(label, &code);
            }
            LeafBlock::Html { code } => self.html(&code),
            LeafBlock::Table { table, source } => {
                let frame = self.frame(source);
                table.lay(&frame, &mut self.out);
            }
        }
        match tag {
            TagEnd::List(_) | TagEnd::Item | TagEnd::BlockQuote(_) => self.leave(),
            TagEnd::FootnoteDefinition => {
                self.leave();
                self.above = PrecedingBlock::Note;
            }
            // Large headings have a blank line below them.
            TagEnd::Heading(HeadingLevel::H1 | HeadingLevel::H2) => {}
            TagEnd::Heading(_) => self.above = PrecedingBlock::Heading,
            _ => {}
        }
    }

    fn begin_text(&mut self, at: usize, base: StyleRole) {
        self.separate(at);
        self.leaf = LeafBlock::Text { inline: InlineText::new(base), source: at };
    }

    /// Ends text that has no end event of its own, as in the items of tight lists.
    fn end_text(&mut self) {
        if let LeafBlock::Text { inline, source } =
            std::mem::replace(&mut self.leaf, LeafBlock::None)
        {
            self.text(inline, source);
        }
    }

    fn text(&mut self, inline: InlineText<'_>, source: usize) {
        let frame = self.frame(source).narrowed(PROSE_WIDTH);
        wrap(&inline.finish(), &frame, &mut self.out);
    }

    fn code(&mut self, label: &str, code: &CodeText) {
        let label = code::language(label);
        let frame = self.frame(code.source());
        let mut frame = self.code_top(&label, frame);
        if code.text.is_empty() {
            wrap(&[], &frame, &mut self.out);
            return;
        }
        let language = code::known_or_guessed(&label, &code.text);
        let known = code::highlight(self.highlighter, &language, &code.text);
        self.colours = self.colours.and(known.colours);
        for (index, (line, source)) in code.lines().enumerate() {
            code::line(line, source, index, &language, &known, &frame, &mut self.out);
            frame.first.clone_from(&frame.rest);
        }
    }

    /// Adds the line with the language above the code, if there is one; returns the frame of the
    /// code.
    pub(super) fn code_top(&mut self, language: &str, mut frame: WrapFrame) -> WrapFrame {
        if !language.is_empty() {
            let mut spans = frame.first;
            let taken: usize = spans.iter().map(|span| display_width(&span.text)).sum();
            let width = usize::from(self.width).saturating_sub(taken);
            if width > CODE_TOP.len() {
                let room = width - display_width(CODE_TOP);
                spans.push(StyledSpan::new(CODE_TOP, StyleRole::Border));
                spans.push(StyledSpan::new(truncate(language, room), StyleRole::Muted));
            }
            // The whole line is decoration: it is not in the code.
            let gutter = spans.iter().map(|span| display_width(&span.text)).sum::<usize>();
            let gutter = u16::try_from(gutter).unwrap_or(u16::MAX);
            self.out.push(StyledLine {
                spans,
                source: frame.source,
                gutter,
                ..StyledLine::default()
            });
            frame.first = frame.rest.clone();
        }
        frame.first.push(StyledSpan::new(CODE_BAR, StyleRole::Border));
        frame.rest.push(StyledSpan::new(CODE_BAR, StyleRole::Border));
        frame
    }

    fn html(&mut self, code: &CodeText) {
        let mut frame = self.frame(code.source());
        let mut reader = html::HtmlReader::default();
        for (line, source) in code.lines() {
            let pieces = reader.line(line, source, self.base());
            wrap(&pieces, &WrapFrame { source, ..frame.clone() }, &mut self.out);
            frame.first.clone_from(&frame.rest);
        }
    }

    fn rule(&mut self, at: usize) {
        self.separate(at);
        let frame = self.frame(at);
        let taken: usize = frame.rest.iter().map(|span| display_width(&span.text)).sum();
        let width = usize::from(self.width).saturating_sub(taken);
        let mut spans = frame.first;
        spans.push(StyledSpan::new("─".repeat(width), StyleRole::Border));
        self.out.push(StyledLine {
            spans,
            source: frame.source,
            gutter: self.width,
            ..StyledLine::default()
        });
    }

    /// Puts the checkbox of a task into the marker of its item.
    fn task(&mut self, done: bool) {
        if let Some(ContainerBlock::Item { marker, shown: false, .. }) = self.containers.last_mut()
        {
            let tick = if done { "[x] " } else { "[ ] " };
            if marker.starts_with(|c: char| c.is_ascii_digit()) {
                marker.push_str(tick);
            } else {
                *marker = tick.into();
            }
        }
    }

    /// Begins a quote, with the label of an alert above its text.
    fn quote(&mut self, kind: Option<BlockQuoteKind>, at: usize) {
        let Some(kind) = kind else {
            let (role, text) = (StyleRole::Border, StyleRole::Quote);
            self.enter(ContainerBlock::Quote { role, text, source: at }, at);
            return;
        };
        let (word, role) = match kind {
            BlockQuoteKind::Note => ("Note", StyleRole::Heading(2)),
            BlockQuoteKind::Tip => ("Tip", StyleRole::Success),
            BlockQuoteKind::Important => ("Important", StyleRole::Tool),
            BlockQuoteKind::Warning => ("Warning", StyleRole::Warning),
            BlockQuoteKind::Caution => ("Caution", StyleRole::Error),
        };
        self.enter(ContainerBlock::Quote { role, text: StyleRole::Text, source: at }, at);
        let frame = self.frame(at);
        wrap(&[StyledPiece::new(word, role, at..at)], &frame, &mut self.out);
        self.above = PrecedingBlock::Heading;
    }

    /// The marker of the item that begins at `at`.
    fn marker(&mut self, at: usize) -> String {
        let source = self.source.get(at..).unwrap_or_default();
        let sign = source.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
        let sign = if sign.starts_with(')') { ')' } else { '.' };
        let bullet = BULLETS[self.lists.saturating_sub(1) % BULLETS.len()];
        match self.containers.last_mut() {
            Some(ContainerBlock::List { next: Some(number) }) => {
                let marker = format!("{number}{sign} ");
                *number = number.saturating_add(1);
                marker
            }
            Some(
                ContainerBlock::List { next: None }
                | ContainerBlock::Quote { .. }
                | ContainerBlock::Item { .. },
            )
            | None => format!("{bullet} "),
        }
    }

    fn enter(&mut self, container: ContainerBlock, at: usize) {
        self.separate(at);
        self.lists += usize::from(matches!(container, ContainerBlock::List { .. }));
        self.containers.push(container);
        self.above = PrecedingBlock::Nothing;
    }

    /// Leaves the innermost container. Its decoration is shown even if it is empty.
    fn leave(&mut self) {
        let unseen = match self.containers.last() {
            Some(ContainerBlock::Item { shown: false, source, .. }) => Some(*source),
            Some(ContainerBlock::Quote { source, .. }) if self.above == PrecedingBlock::Nothing => {
                Some(*source)
            }
            Some(
                ContainerBlock::Item { .. }
                | ContainerBlock::Quote { .. }
                | ContainerBlock::List { .. },
            )
            | None => None,
        };
        if let Some(source) = unseen {
            let frame = self.frame(source);
            wrap(&[], &frame, &mut self.out);
        }
        let left = self.containers.pop();
        self.lists -= usize::from(matches!(left, Some(ContainerBlock::List { .. })));
        self.above = PrecedingBlock::Block;
    }

    /// Begins a block at `at` in the source, with a blank line above it if one is due.
    pub(super) fn separate(&mut self, at: usize) {
        let above = std::mem::replace(&mut self.above, PrecedingBlock::Block);
        let due = match (above, self.containers.last()) {
            (PrecedingBlock::Nothing | PrecedingBlock::Heading, _) => false,
            (
                PrecedingBlock::Note | PrecedingBlock::Block,
                Some(ContainerBlock::List { .. } | ContainerBlock::Item { .. }),
            ) => self.blank_above(at),
            (
                PrecedingBlock::Note | PrecedingBlock::Block,
                Some(ContainerBlock::Quote { .. }) | None,
            ) => true,
        };
        if !due {
            return;
        }
        let source = at;
        let frame = self.frame_of(source, MarkerVisibility::Hidden);
        let mut spans = frame.rest;
        while spans.last().is_some_and(|span| span.text.trim().is_empty()) {
            spans.pop();
        }
        if let Some(last) = spans.last_mut() {
            last.text.truncate(last.text.trim_end().len());
        }
        let gutter: usize = spans.iter().map(|span| display_width(&span.text)).sum();
        let gutter = u16::try_from(gutter).unwrap_or(u16::MAX);
        self.out.push(StyledLine { spans, source, gutter, ..StyledLine::default() });
    }

    /// Whether the line above the one at `at` is blank, but for quote marks.
    fn blank_above(&self, at: usize) -> bool {
        let before = &self.source[..at.min(self.source.len())];
        let Some(above) = before.rfind('\n') else { return false };
        let line = before[..above].rsplit('\n').next().unwrap_or_default();
        line.chars().all(|c| c.is_whitespace() || c == '>')
    }

    /// The role of text without markup.
    fn base(&self) -> StyleRole {
        let quote = self.containers.iter().rev().find_map(|container| match container {
            ContainerBlock::Quote { text, .. } => Some(*text),
            ContainerBlock::List { .. } | ContainerBlock::Item { .. } => None,
        });
        quote.unwrap_or(StyleRole::Text)
    }

    /// The decoration for the next block. Markers that it shows count as shown from then on.
    fn frame(&mut self, source: usize) -> WrapFrame {
        let frame = self.frame_of(source, MarkerVisibility::Shown);
        // If one marker was shown already, those of the outer items were, too.
        for container in self.containers.iter_mut().rev() {
            match container {
                ContainerBlock::Item { shown: true, .. } => break,
                ContainerBlock::Item { shown, .. } => *shown = true,
                ContainerBlock::List { .. } | ContainerBlock::Quote { .. } => {}
            }
        }
        frame
    }

    fn frame_of(&self, source: usize, marks: MarkerVisibility) -> WrapFrame {
        let mut frame = WrapFrame { source, ..WrapFrame::prose(self.width) };
        // Deep nesting may take two thirds of the width; beyond that the outer levels stop
        // indenting.
        let mut room = usize::from(self.width) * 2 / 3;
        for container in self.containers.iter().rev() {
            let (text, role) = match container {
                ContainerBlock::List { .. } => continue,
                ContainerBlock::Quote { role, .. } => (QUOTE_BAR, *role),
                ContainerBlock::Item { marker, .. } => (marker.as_str(), StyleRole::ListMarker),
            };
            let width = display_width(text);
            let Some(left) = room.checked_sub(width) else { break };
            room = left;
            let blank = StyledSpan::new(" ".repeat(width), StyleRole::Text);
            let (first, rest) = match container {
                ContainerBlock::Item { shown: false, .. } if marks == MarkerVisibility::Shown => {
                    (StyledSpan::new(text, role), blank)
                }
                ContainerBlock::Item { .. } | ContainerBlock::List { .. } => (blank.clone(), blank),
                ContainerBlock::Quote { .. } => {
                    (StyledSpan::new(text, role), StyledSpan::new(text, role))
                }
            };
            frame.first.push(first);
            frame.rest.push(rest);
        }
        frame.first.reverse();
        frame.rest.reverse();
        frame
    }
}

/// Whether to show the markers of the items that begin on this line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MarkerVisibility {
    Shown,
    Hidden,
}

fn is_block(tag: &Tag<'_>) -> bool {
    !matches!(
        tag,
        Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough
            | Tag::Link { .. }
            | Tag::Image { .. }
            | Tag::Superscript
            | Tag::Subscript
    )
}

fn is_block_end(tag: TagEnd) -> bool {
    !matches!(
        tag,
        TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Link
            | TagEnd::Image
            | TagEnd::Superscript
            | TagEnd::Subscript
    )
}

fn depth(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}
