//! The open part of a text that streams, read into blocks.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Tag};

use super::super::code::Code;
use super::super::math::Masked;
use super::super::{Spanned, parser};
use super::{Frozen, Resume};

/// The open part, read.
pub(super) struct Tail<'t> {
    /// With ranges in the whole source.
    pub(super) events: Vec<Spanned<'t>>,
    /// The events of each top-level block.
    pub(super) blocks: Vec<Range<usize>>,
    /// Whether it says what is meant elsewhere: the address of links, the text of footnotes.
    pub(super) defines: bool,
}

impl<'t> Tail<'t> {
    pub(super) fn parse(text: &'t Masked<'_>, frozen: &Frozen) -> Self {
        let repeated = match &frozen.resume {
            Resume::Fence(fence) => fence.opening.len(),
            Resume::Block | Resume::List(_) => 0,
        };
        let parser = parser(text.text());
        let links = parser.reference_definitions().iter().next().is_some();
        let place = |at: usize| (frozen.source + at).saturating_sub(repeated);
        let events: Vec<_> = text
            .restore(parser.into_offset_iter())
            .into_iter()
            .map(|(event, range)| (event, place(range.start)..place(range.end)))
            .collect();
        let blocks = top_level(&events);
        let footnote =
            |(event, _): &Spanned<'_>| matches!(event, Event::Start(Tag::FootnoteDefinition(_)));
        let defines = links || events.iter().any(footnote);
        Self { events, blocks, defines }
    }

    /// Whether the text no longer begins with what it was cut inside of. It always does; were
    /// the parser ever to see that differently, all is laid out again.
    pub(super) fn misread(&self, frozen: &Frozen) -> bool {
        let first = self.events.first().map(|(event, _)| event);
        match frozen.resume {
            Resume::Block => false,
            Resume::List(_) => !matches!(first, Some(Event::Start(Tag::List(_)))),
            Resume::Fence(_) => !matches!(first, Some(Event::Start(Tag::CodeBlock(_)))),
        }
    }

    pub(super) fn start(&self, block: &Range<usize>) -> usize {
        self.events[block.start].1.start
    }

    /// The text of a code block.
    pub(super) fn code(&self, block: &Range<usize>) -> Code {
        let mut code = Code::default();
        for (event, range) in &self.events[block.clone()] {
            if let Event::Text(text) = event {
                code.push(text, range.start);
            }
        }
        code
    }

    /// The event that starts the last item of a top-level list.
    pub(super) fn last_item(&self, list: &Range<usize>) -> Option<usize> {
        let mut depth = 0_u32;
        let mut last = None;
        for index in list.clone() {
            match &self.events[index].0 {
                Event::Start(Tag::Item) if depth == 1 => {
                    last = Some(index);
                    depth += 1;
                }
                Event::Start(_) => depth += 1,
                Event::End(_) => depth -= 1,
                _ => {}
            }
        }
        last
    }

    /// Whether the block is fenced code that surely goes on after `end`.
    pub(super) fn ends_in_open_fence(
        &self,
        block: &Range<usize>,
        source: &str,
        end: usize,
    ) -> bool {
        let (event, range) = &self.events[block.start];
        let fenced = matches!(event, Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))));
        let last = source[..end].trim_end_matches('\n').rsplit('\n').next().unwrap_or_default();
        let last = last.trim();
        let closing = last.len() >= 3
            && (last.bytes().all(|byte| byte == b'`') || last.bytes().all(|byte| byte == b'~'));
        fenced && range.end == end && !closing
    }
}

/// The events of each block that stands in no other.
fn top_level(events: &[Spanned<'_>]) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let (mut depth, mut start) = (0_u32, 0);
    for (index, (event, _)) in events.iter().enumerate() {
        match event {
            Event::Start(_) => {
                if depth == 0 {
                    start = index;
                }
                depth += 1;
            }
            Event::End(_) => {
                depth -= 1;
                if depth == 0 {
                    blocks.push(start..index + 1);
                }
            }
            _ if depth == 0 => blocks.push(index..index + 1),
            _ => {}
        }
    }
    blocks
}

/// Where the line of `at` begins. To the parser a lone carriage return ends a line too.
pub(super) fn line_start(source: &str, at: usize) -> usize {
    source[..at].rfind(['\n', '\r']).map_or(0, |before| before + 1)
}

/// Columns of white space at the start of a line.
pub(super) fn indentation(line: &str) -> usize {
    let blank = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t'));
    blank.fold(0, |column, byte| if byte == b'\t' { column / 4 * 4 + 4 } else { column + 1 })
}
