//! Lays out Markdown that is still being written.
//!
//! What can no longer change is frozen: whole blocks once another block has begun below them, the
//! items of an open list except the last, the lines of an open code block. Only the rest is laid
//! out again. Freezing looks only at complete lines, since half a line can turn out to be anything,
//! and never happens after a lone carriage return.
//!
//! Frozen lines are laid out again in two cases: code when its colours arrive, and text that could
//! refer to a link reference or a footnote that is defined (or no longer defined) further down. The
//! open part is parsed below those earlier definitions that it could refer to. (The parser stops
//! resolving references once they stand for more than 100,000 bytes of addresses together, counted
//! from the start of what it parses.)

mod definitions;
mod fence;
mod tail;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Tag};

use self::definitions::{LabelDefinition, LabelDefinitions, LabelSet, ReferenceIndex};
use self::fence::OpenCodeBlock;
use self::tail::{ParsedTail, TailOffsets, indentation, line_start};
use super::blocks::{BlockRenderer, PrecedingBlock};
use super::code::{self, CodeText};
use super::events::SpannedEvent;
use super::math::MaskedFormulas;
use crate::tui::layout::highlight::SyntaxHighlighter;
use crate::tui::layout::wrap::WrapFrame;
use crate::tui::layout::{HighlightState, StyledLine};

/// A text that grows at its end, and its lines.
#[derive(Debug, Default)]
pub struct StreamingMarkdown {
    source: String,
    layout: StreamLayout,
    /// Whether text was added after the last layout.
    grown: bool,
    generation: u64,
}

#[derive(Debug, Default)]
struct StreamLayout {
    width: u16,
    /// The frozen lines, then the open ones.
    lines: Vec<StyledLine>,
    frozen: FrozenPrefix,
    /// Frozen parts that may have to be laid out again, in order.
    parts: Vec<FrozenPart>,
    references: ReferenceIndex,
    /// The open part's definitions with which the frozen lines were laid out.
    open: BTreeSet<LabelDefinition>,
}

/// How much of the source and of the lines is final, and how the text continues.
#[derive(Debug, Default)]
struct FrozenPrefix {
    source: usize,
    lines: usize,
    /// Complete lines up to here have been examined for freezing.
    examined: usize,
    /// The last frozen block.
    above: PrecedingBlock,
    resume: ResumePoint,
    /// The definitions of the frozen part.
    definitions: LabelDefinitions,
}

/// How the open part begins.
#[derive(Debug, Default)]
enum ResumePoint {
    #[default]
    Block,
    /// With the next item of a list, which has this number.
    List(Option<u64>),
    /// With more lines of a code block.
    Fence(Box<OpenCodeBlock>),
}

/// Adjacent blocks or items that were frozen together.
#[derive(Debug)]
struct FrozenPart {
    source: Range<usize>,
    lines: Range<usize>,
    colours: HighlightState,
    above: PrecedingBlock,
    /// `Some` if the part is items of a list: the number of its first item.
    list: Option<Option<u64>>,
}

impl StreamingMarkdown {
    /// Adds text at the end.
    pub fn push(&mut self, text: &str) {
        self.source.push_str(text);
        self.grown |= !text.is_empty();
    }

    /// All the text so far.
    pub fn text(&self) -> &str {
        &self.source
    }

    /// The lines of the text so far. The cost grows with what is new.
    pub fn lines(&mut self, width: u16, highlighter: &SyntaxHighlighter) -> &[StyledLine] {
        let generation = highlighter.generation();
        let recolour = generation != self.generation;
        let resized = width != self.layout.width;
        if resized {
            self.layout = StreamLayout { width, ..StreamLayout::default() };
        }
        if self.grown || recolour || resized {
            let layout = &mut self.layout;
            layout.lines.truncate(layout.frozen.lines);
            if recolour {
                layout.recolour(&self.source, highlighter);
            }
            layout.freeze(&self.source, highlighter);
            layout.lay_open(&self.source, highlighter);
        }
        (self.grown, self.generation) = (false, generation);
        &self.layout.lines
    }
}

impl StreamLayout {
    /// Forgets everything that was frozen.
    fn thaw(&mut self) {
        let examined = self.frozen.examined;
        self.frozen = FrozenPrefix { examined, ..FrozenPrefix::default() };
        self.lines.clear();
        self.parts.clear();
        self.references = ReferenceIndex::default();
        self.open.clear();
    }

    /// Freezes what can no longer change.
    fn freeze(&mut self, source: &str, highlighter: &SyntaxHighlighter) {
        let end = source.rfind('\n').map_or(0, |at| at + 1);
        if end <= self.frozen.examined {
            return;
        }
        self.frozen.examined = end;
        // After a lone carriage return the parser starts a new line in some cases only.
        if has_lone_return(&source[self.frozen.source..end]) {
            return;
        }
        let (text, place) = self.frozen.open_text(&source[..end]);
        let text = MaskedFormulas::of(&text);
        let tail = ParsedTail::parse(&text, &place);
        if tail.is_misread(&self.frozen) {
            self.thaw();
            return;
        }
        self.define(source, &tail, highlighter);
        self.freeze_blocks(source, &tail, end, highlighter);
        for (at, definition) in tail.defines {
            if at < self.frozen.source {
                self.open.remove(&definition);
                self.frozen.definitions.add(definition);
            }
        }
    }

    /// Freezes all blocks except the open end of the last one.
    fn freeze_blocks(
        &mut self,
        source: &str,
        tail: &ParsedTail<'_>,
        end: usize,
        highlighter: &SyntaxHighlighter,
    ) {
        let closed = match self.frozen.resume {
            ResumePoint::Block | ResumePoint::List(_) => 0,
            ResumePoint::Fence(_) => self.freeze_code(source, tail, end, highlighter),
        };
        let blocks = tail.blocks.get(closed..).unwrap_or_default();
        let Some((last, done)) = blocks.split_last() else { return };
        let mut from = None;
        for block in done {
            let start = *from.get_or_insert(block.start);
            if let Some(at) = tail.cut(source, block) {
                self.freeze_events(source, &tail.events[start..block.end], at, highlighter);
                self.frozen.resume = ResumePoint::Block;
                from = None;
            }
        }
        if from.is_none() {
            self.freeze_part(source, tail, last, end, highlighter);
        }
    }

    /// Freezes more lines of the open code block. Returns how many blocks are done: all of them,
    /// unless another block has begun below the code.
    fn freeze_code(
        &mut self,
        source: &str,
        tail: &ParsedTail<'_>,
        end: usize,
        highlighter: &SyntaxHighlighter,
    ) -> usize {
        let Some(mut fence) = self.frozen.take_fence() else { return 0 };
        let first = tail.blocks.first();
        let (block, next) = match first.map(|block| (block, tail.cut(source, block))) {
            Some((block, Some(next))) => (block, Some(next)),
            Some((block, None)) if tail.ends_in_open_fence(block, source, end) => (block, None),
            // The code may have ended: the next block will tell.
            Some((_, None)) | None => {
                self.frozen.resume = ResumePoint::Fence(fence);
                return tail.blocks.len();
            }
        };
        fence.extend(&tail.code(block), self.width, highlighter, &mut self.lines);
        self.frozen.lines = self.lines.len();
        if let Some(next) = next {
            self.close(&fence, next);
        } else {
            self.frozen.source = end;
            self.frozen.resume = ResumePoint::Fence(fence);
        }
        1
    }

    /// Freezes the lines of events; the open part then begins at `next`. Returns the number of the
    /// next item if the events leave a list open.
    fn freeze_events(
        &mut self,
        source: &str,
        events: &[SpannedEvent<'_>],
        next: usize,
        highlighter: &SyntaxHighlighter,
    ) -> Option<u64> {
        let (above, from) = (self.frozen.above, self.lines.len());
        let list = self.frozen.list();
        let part = self.frozen.source..next;
        let out = std::mem::take(&mut self.lines);
        let mut renderer = below(source, self.width, highlighter, out, above, list);
        renderer.events(if list.is_some() { &events[1..] } else { events });
        self.frozen.above = renderer.above;
        let (number, colours) = (renderer.next_item(), renderer.colours());
        self.lines = renderer.finish().lines;
        let labels = LabelSet::of(&source[part.clone()]);
        if colours == HighlightState::Pending || !labels.is_empty() {
            self.references.add(self.parts.len(), labels);
            let lines = from..self.lines.len();
            self.parts.push(FrozenPart { source: part, lines, colours, above, list });
        }
        self.frozen.source = next;
        self.frozen.lines = self.lines.len();
        number
    }

    /// Freezes the closed part of the last block: items of a list, lines of code.
    fn freeze_part(
        &mut self,
        source: &str,
        tail: &ParsedTail<'_>,
        last: &Range<usize>,
        end: usize,
        highlighter: &SyntaxHighlighter,
    ) {
        match &tail.events[last.start].0 {
            Event::Start(Tag::List(_)) => {
                let Some(item) = tail.last_item(last) else { return };
                let at = line_start(source, tail.events[item].1.start);
                // An item with a deeper indentation would read as code when it stands alone.
                if item > last.start + 1 && indentation(&source[at..]) < 4 {
                    let events = &tail.events[last.start..item];
                    let number = self.freeze_events(source, events, at, highlighter);
                    self.frozen.resume = ResumePoint::List(number);
                }
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info)))
                if tail.ends_in_open_fence(last, source, end) =>
            {
                let code = tail.code(last);
                if code.text.is_empty() {
                    return;
                }
                self.open_fence(source, tail.start(last), info, &code, highlighter);
                self.frozen.source = end;
            }
            _ => {}
        }
    }

    /// Begins a code block whose end is open.
    fn open_fence(
        &mut self,
        source: &str,
        start: usize,
        info: &str,
        code: &CodeText,
        highlighter: &SyntaxHighlighter,
    ) {
        let at = line_start(source, start);
        let opening = source[at..].split_inclusive('\n').next().unwrap_or_default().to_owned();
        let (label, above, top) = (code::language(info), self.frozen.above, self.lines.len());
        let out = std::mem::take(&mut self.lines);
        let mut renderer = below(source, self.width, highlighter, out, above, None);
        renderer.separate(start);
        renderer.code_top(&label, WrapFrame { source: start, ..WrapFrame::prose(self.width) });
        self.lines = renderer.finish().lines;
        self.frozen.above = PrecedingBlock::Block;
        let language = code::known_or_guessed(&label, &code.text).into_owned();
        let top = self.lines.len() - top;
        let mut fence = OpenCodeBlock::new(at, opening, language, above, top);
        fence.extend(code, self.width, highlighter, &mut self.lines);
        self.frozen.lines = self.lines.len();
        self.frozen.resume = ResumePoint::Fence(Box::new(fence));
    }

    /// Ends a code block; the next block begins at `next`.
    fn close(&mut self, fence: &OpenCodeBlock, next: usize) {
        if let Some(code) = fence.uncoloured() {
            // The blank line above the code and its language belong to the part, too.
            let top = code - fence.top;
            let (source, lines) = (fence.start..next, top..self.lines.len());
            let (colours, above) = (HighlightState::Pending, fence.above);
            self.parts.push(FrozenPart { source, lines, colours, above, list: None });
        }
        self.frozen.source = next;
        self.frozen.resume = ResumePoint::Block;
    }

    /// Lays out the open part below the frozen lines.
    fn lay_open(&mut self, source: &str, highlighter: &SyntaxHighlighter) {
        let (text, place) = self.frozen.open_text(source);
        let text = MaskedFormulas::of(&text);
        let mut tail = ParsedTail::parse(&text, &place);
        let whole;
        if self.frozen.source > 0 && tail.is_misread(&self.frozen) {
            self.thaw();
            whole = MaskedFormulas::of(source);
            tail = ParsedTail::parse(&whole, &TailOffsets::default());
        }
        self.define(source, &tail, highlighter);
        let mut events = tail.events.as_slice();
        if let (ResumePoint::Fence(fence), Some(first)) = (&self.frozen.resume, tail.blocks.first())
        {
            fence.lay_open(&tail.code(first), self.width, &mut self.lines);
            events = &events[first.end..];
        }
        let out = std::mem::take(&mut self.lines);
        let list = self.frozen.list();
        let mut renderer = below(source, self.width, highlighter, out, self.frozen.above, list);
        renderer.events(if list.is_some() { events.get(1..).unwrap_or_default() } else { events });
        self.lines = renderer.finish().lines;
    }

    /// Lays out frozen code again if its colours have arrived.
    fn recolour(&mut self, source: &str, highlighter: &SyntaxHighlighter) {
        if let Some(mut fence) = self.frozen.take_fence() {
            fence.lay(self.width, highlighter, &mut self.lines);
            self.frozen.lines = self.lines.len();
            self.frozen.resume = ResumePoint::Fence(fence);
        }
        if self.parts.iter().all(|part| part.colours == HighlightState::Final) {
            return;
        }
        let open = self.open.iter().cloned().collect();
        for index in 0..self.parts.len() {
            if self.parts[index].colours == HighlightState::Pending {
                self.lay_again(index, source, &open, highlighter);
            }
        }
    }

    /// Lays out again the frozen lines that refer to what the open part defines now, or defined
    /// before.
    fn define(&mut self, source: &str, tail: &ParsedTail<'_>, highlighter: &SyntaxHighlighter) {
        if tail.defines.is_empty() && self.open.is_empty() {
            return;
        }
        let new = tail.defines.iter().map(|(_, definition)| definition);
        let new = new.filter(|definition| !self.frozen.definitions.contains(definition));
        let defined = new.cloned().collect();
        let before = std::mem::replace(&mut self.open, defined);
        let changed = before.symmetric_difference(&self.open);
        let parts: BTreeSet<usize> = changed.flat_map(|one| self.references.to(one)).collect();
        if parts.is_empty() {
            return;
        }
        let open = self.open.iter().cloned().collect();
        for part in parts {
            self.lay_again(part, source, &open, highlighter);
        }
    }

    /// Lays out a frozen part again; `open` holds the definitions of the open part.
    fn lay_again(
        &mut self,
        index: usize,
        source: &str,
        open: &LabelDefinitions,
        highlighter: &SyntaxHighlighter,
    ) {
        let part = &mut self.parts[index];
        let text = &source[part.source.clone()];
        let preface = self.frozen.definitions.preface(open, &LabelSet::of(text));
        let place = TailOffsets { start: part.source.start, preface: preface.len(), opening: 0 };
        let text = [&preface, text].concat();
        let text = MaskedFormulas::of(&text);
        let tail = ParsedTail::parse(&text, &place);
        let out = Vec::new();
        let mut renderer = below(source, self.width, highlighter, out, part.above, part.list);
        let skip = usize::from(part.list.is_some()).min(tail.events.len());
        renderer.events(&tail.events[skip..]);
        let laid = renderer.finish();
        part.colours = laid.colours;
        let (old, new) = (part.lines.len(), laid.lines.len());
        self.lines.splice(part.lines.clone(), laid.lines);
        part.lines.end = part.lines.start + new;
        if new == old {
            return;
        }
        let moved = |line: usize| line + new - old;
        for below in &mut self.parts[index + 1..] {
            below.lines = moved(below.lines.start)..moved(below.lines.end);
        }
        self.frozen.lines = moved(self.frozen.lines);
        if let ResumePoint::Fence(fence) = &mut self.frozen.resume {
            fence.shift(moved);
        }
    }
}

impl FrozenPrefix {
    /// The text of the open part, and where it stands. Earlier definitions are put before it, and
    /// the fence if it continues a code block.
    fn open_text<'s>(&self, source: &'s str) -> (Cow<'s, str>, TailOffsets) {
        let rest = &source[self.source..];
        let opening = match &self.resume {
            ResumePoint::Block | ResumePoint::List(_) => "",
            ResumePoint::Fence(fence) => &fence.opening,
        };
        let preface = if self.definitions.is_empty() {
            String::new()
        } else {
            self.definitions.preface(&LabelDefinitions::default(), &LabelSet::of(rest))
        };
        let (start, lengths) = (self.source, (preface.len(), opening.len()));
        let place = TailOffsets { start, preface: lengths.0, opening: lengths.1 };
        let text = match lengths {
            (0, 0) => Cow::Borrowed(rest),
            _ => Cow::Owned([&preface, opening, rest].concat()),
        };
        (text, place)
    }

    fn list(&self) -> Option<Option<u64>> {
        match self.resume {
            ResumePoint::List(next) => Some(next),
            ResumePoint::Block | ResumePoint::Fence(_) => None,
        }
    }

    fn take_fence(&mut self) -> Option<Box<OpenCodeBlock>> {
        match std::mem::take(&mut self.resume) {
            ResumePoint::Fence(fence) => Some(fence),
            other @ (ResumePoint::Block | ResumePoint::List(_)) => {
                self.resume = other;
                None
            }
        }
    }
}

/// Whether a carriage return stands before anything but a line feed.
fn has_lone_return(text: &str) -> bool {
    text.match_indices('\r').any(|(at, _)| !text[at + 1..].starts_with('\n'))
}

/// A renderer that appends to `out`.
fn below<'e>(
    source: &'e str,
    width: u16,
    highlighter: &'e SyntaxHighlighter,
    out: Vec<StyledLine>,
    above: PrecedingBlock,
    list: Option<Option<u64>>,
) -> BlockRenderer<'e> {
    let renderer = BlockRenderer::new(source, width, highlighter).below(out, above);
    match list {
        Some(next) => renderer.in_list(next),
        None => renderer,
    }
}
