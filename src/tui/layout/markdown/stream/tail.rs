//! Parses the open part of a text that streams into blocks.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Tag};

use super::super::code::CodeText;
use super::super::events::{SpannedEvent, parser};
use super::super::math::MaskedFormulas;
use super::definitions::LabelDefinition;
use super::{FrozenPrefix, ResumePoint};

/// Where the parsed text stands in the source.
#[derive(Debug, Default)]
pub(super) struct TailOffsets {
    /// Start of the open part in the source.
    pub(super) start: usize,
    /// Bytes of the definitions that were put in front of it.
    pub(super) preface: usize,
    /// Bytes of the repeated fence that follow those, where the open part continues a code block.
    pub(super) opening: usize,
}

/// The parsed open part.
pub(super) struct ParsedTail<'t> {
    /// Events, with ranges in the whole source.
    pub(super) events: Vec<SpannedEvent<'t>>,
    /// Ranges of the events of each top-level block.
    pub(super) blocks: Vec<Range<usize>>,
    /// The definitions of the open part (addresses of links, footnotes), with their positions.
    pub(super) defines: Vec<(usize, LabelDefinition)>,
}

impl<'t> ParsedTail<'t> {
    pub(super) fn parse(text: &'t MaskedFormulas<'_>, place: &TailOffsets) -> Self {
        let parser = parser(text.text());
        let added = place.preface + place.opening;
        let in_source = |at: usize| (place.start + at).saturating_sub(added);
        let links = parser.reference_definitions().iter();
        let mut defines: Vec<_> = links
            .filter(|(_, link)| link.span.start >= place.preface)
            .map(|(label, link)| {
                (in_source(link.span.start), LabelDefinition::link(label, &link.dest))
            })
            .collect();
        let events: Vec<_> = text
            .restore(parser.into_offset_iter())
            .into_iter()
            .filter(|(_, range)| range.end > place.preface || place.preface == 0)
            .map(|(event, range)| (event, in_source(range.start)..in_source(range.end)))
            .collect();
        let notes = events.iter().filter_map(|(event, range)| match event {
            Event::Start(Tag::FootnoteDefinition(label)) => {
                Some((range.start, LabelDefinition::note(label)))
            }
            _ => None,
        });
        defines.extend(notes);
        let blocks = top_level(&events);
        Self { events, blocks, defines }
    }

    /// Whether the parser no longer sees the block that the open part was cut inside of. It always
    /// sees it; if that should ever fail, everything is laid out again.
    pub(super) fn is_misread(&self, frozen: &FrozenPrefix) -> bool {
        let first = self.events.first().map(|(event, _)| event);
        match frozen.resume {
            ResumePoint::Block => false,
            ResumePoint::List(_) => !matches!(first, Some(Event::Start(Tag::List(_)))),
            ResumePoint::Fence(_) => !matches!(first, Some(Event::Start(Tag::CodeBlock(_)))),
        }
    }

    pub(super) fn start(&self, block: &Range<usize>) -> usize {
        self.events[block.start].1.start
    }

    /// Where the source can be cut after `block`, so that the rest parses alone to the same blocks;
    /// `None` if it might not. Definitions right above a paragraph matter: what follows them is not
    /// a list or code that it would be after a blank line. They stay with the paragraph, unless
    /// they could also continue `block`.
    pub(super) fn cut(&self, source: &str, block: &Range<usize>) -> Option<usize> {
        let (event, range) = self.events.get(block.end)?;
        // Only a footnote may begin within a line, and several may begin in one.
        if let Event::Start(Tag::FootnoteDefinition(_)) = event {
            return Some(range.start);
        }
        let next = line_start(source, range.start);
        if !matches!(event, Event::Start(Tag::Paragraph | Tag::Heading { .. } | Tag::Table(_))) {
            return Some(next);
        }
        match definition_above(source, self.end(block), next) {
            None => Some(next),
            Some(at) => match self.events[block.start].0 {
                Event::Start(Tag::List(_) | Tag::BlockQuote(_) | Tag::FootnoteDefinition(_)) => {
                    None
                }
                _ => Some(at),
            },
        }
    }

    /// The end of the text of a block. Its container may continue after that, up to the next block.
    fn end(&self, block: &Range<usize>) -> usize {
        let ends = self.events[block.clone()].iter().map(|(event, range)| match event {
            Event::Start(
                Tag::List(_) | Tag::Item | Tag::BlockQuote(_) | Tag::FootnoteDefinition(_),
            ) => range.start + 1,
            Event::End(_) => range.start,
            _ => range.end,
        });
        ends.max().unwrap_or_default()
    }

    /// The text of a code block, with its positions in the source.
    pub(super) fn code(&self, block: &Range<usize>) -> CodeText {
        let mut code = CodeText::default();
        for (event, range) in &self.events[block.clone()] {
            if let Event::Text(text) = event {
                code.push(text, range.start);
            }
        }
        code
    }

    /// Index of the event that starts the last item of a top-level list.
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

    /// Whether the block is fenced code that certainly continues after `end`.
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

/// The event ranges of the blocks at the top level.
fn top_level(events: &[SpannedEvent<'_>]) -> Vec<Range<usize>> {
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

/// Start of the line that `at` is in. To the parser a lone carriage return ends a line, too.
pub(super) fn line_start(source: &str, at: usize) -> usize {
    source[..at].rfind(['\n', '\r']).map_or(0, |before| before + 1)
}

/// Start of the first of the definitions that stand right above the line at `next` and after
/// `after`.
fn definition_above(source: &str, after: usize, next: usize) -> Option<usize> {
    let mut at = after.min(next);
    if at > 0 && !source[..at].ends_with('\n') {
        at += source[at..next].find('\n').map_or(next - at, |end| end + 1);
    }
    let mut definition = None;
    for line in source[at..next].split_inclusive('\n') {
        if line.trim().is_empty() {
            definition = None;
        } else if line.trim_start().starts_with('[') && indentation(line) < 4 {
            definition = definition.or(Some(at));
        }
        at += line.len();
    }
    definition
}

/// Columns of white space at the start of a line.
pub(super) fn indentation(line: &str) -> usize {
    let blank = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t'));
    blank.fold(0, |column, byte| if byte == b'\t' { column / 4 * 4 + 4 } else { column + 1 })
}
