//! Laid-out lines by block, so that a frame costs what is visible.
//!
//! Bounded in bytes. Holds nothing that could not be made again: dropping it all changes no
//! pixel. A block keeps one layout for each width and fold state; a new revision takes the place
//! of the old one, and code whose colours have come is laid out once more.

use std::sync::Arc;

pub use crate::domain::PaneFold;

use super::clock_cache::ClockCache;
use super::{
    BlockLayout, HighlightState, SourceRun, StyledLine, StyledSpan, SyntaxHighlighter, markdown,
};

/// Bytes of lines that are kept unless told otherwise: some three hundred screens of dense text.
const LIMIT: usize = 4 * 1024 * 1024;

/// What lines are the lines of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LayoutKey {
    /// The block.
    pub block: u64,
    /// Which version of its content.
    pub revision: u64,
    /// The width they fit, in columns.
    pub width: u16,
    /// How much of it is shown.
    pub fold: PaneFold,
}

/// The layouts of the blocks that were shown last, and of the one that is streaming.
#[derive(Debug)]
pub struct LayoutCache {
    done: ClockCache<(u64, u16, PaneFold), CachedLayout>,
    open: Option<StreamingBlock>,
    misses: u64,
}

#[derive(Debug)]
struct CachedLayout {
    revision: u64,
    /// The generation of the highlighter, where more colours may come.
    pending: Option<u64>,
    lines: Arc<[StyledLine]>,
}

#[derive(Debug)]
struct StreamingBlock {
    block: u64,
    stream: markdown::StreamingMarkdown,
}

impl Default for LayoutCache {
    fn default() -> Self {
        Self::new(LIMIT)
    }
}

impl LayoutCache {
    /// Keeps at most this many bytes of lines.
    pub fn new(limit: usize) -> Self {
        Self { done: ClockCache::new(limit), open: None, misses: 0 }
    }

    /// The lines of a block; `lay` makes them where they are not there.
    pub fn get(
        &mut self,
        key: LayoutKey,
        highlighter: &SyntaxHighlighter,
        lay: impl FnOnce() -> BlockLayout,
    ) -> Arc<[StyledLine]> {
        let generation = highlighter.generation();
        let place = (key.block, key.width, key.fold);
        if let Some(entry) = self.done.get(&place)
            && entry.revision == key.revision
            && entry.pending.is_none_or(|pending| pending == generation)
        {
            return Arc::clone(&entry.lines);
        }
        self.misses += 1;
        let laid = lay();
        let pending = match laid.colours {
            HighlightState::Final => None,
            HighlightState::Pending => Some(generation),
        };
        let lines: Arc<[StyledLine]> = laid.lines.into();
        let entry = CachedLayout { revision: key.revision, pending, lines: Arc::clone(&lines) };
        self.done.insert(place, entry, lines.iter().map(size).sum());
        lines
    }

    /// The lines of the Markdown block that is streaming, of which `text` is all so far. Costs
    /// what is new; a block whose text did not grow at its end begins anew.
    pub fn streaming(
        &mut self,
        block: u64,
        text: &str,
        width: u16,
        highlighter: &SyntaxHighlighter,
    ) -> &[StyledLine] {
        let continues = self
            .open
            .as_ref()
            .is_some_and(|open| open.block == block && continues(open.stream.text(), text));
        if !continues {
            self.open = None;
        }
        let new = || StreamingBlock { block, stream: markdown::StreamingMarkdown::default() };
        let stream = &mut self.open.get_or_insert_with(new).stream;
        let known = stream.text().len();
        stream.push(&text[known..]);
        stream.lines(width, highlighter)
    }

    /// How often lines had to be made.
    pub fn misses(&self) -> u64 {
        self.misses
    }

    /// Bytes of the lines that are kept, about.
    pub fn bytes(&self) -> usize {
        self.done.bytes()
    }
}

/// Whether `text` begins with what is known of it. Only the end of that is compared: the text of
/// a block does not change but by growing, and this is asked in every frame.
fn continues(known: &str, text: &str) -> bool {
    let from = known.len().saturating_sub(64);
    text.as_bytes().get(from..known.len()) == Some(&known.as_bytes()[from..])
        && text.is_char_boundary(known.len())
}

fn size(line: &StyledLine) -> usize {
    let spans = line.spans.iter().map(|span| size_of::<StyledSpan>() + span.text.capacity());
    let runs = line.runs.capacity() * size_of::<SourceRun>();
    size_of::<StyledLine>() + spans.sum::<usize>() + runs
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::super::{StyleRole, plain};
    use super::*;

    fn key(block: u64, revision: u64) -> LayoutKey {
        LayoutKey { block, revision, width: 20, fold: PaneFold::Open }
    }

    fn laid(text: &str) -> BlockLayout {
        BlockLayout {
            lines: plain::render(text, StyleRole::Text, 20),
            colours: HighlightState::Final,
        }
    }

    #[test]
    fn a_block_is_laid_out_once_for_each_width_and_revision() {
        let (mut layouts, off) = (LayoutCache::default(), SyntaxHighlighter::off());
        for key in [
            key(1, 0),
            key(1, 0),
            key(1, 1),
            LayoutKey { width: 30, ..key(1, 1) },
            LayoutKey { fold: PaneFold::Closed, ..key(1, 1) },
            key(1, 1),
        ] {
            layouts.get(key, &off, || laid("text"));
        }
        assert_eq!(layouts.misses(), 4);
    }

    #[test]
    fn it_stays_within_its_bytes() {
        let (mut layouts, off) = (LayoutCache::new(10_000), SyntaxHighlighter::off());
        for block in 0..1_000 {
            layouts.get(key(block, 0), &off, || laid(&"text ".repeat(20)));
            assert!(layouts.bytes() <= 10_000);
        }
        layouts.get(key(999, 0), &off, || panic!("the newest is there"));
    }

    #[test]
    fn colours_that_come_later_lay_it_out_once_more() {
        let (told, news) = channel();
        let highlighter = SyntaxHighlighter::new(move || told.send(()).unwrap_or_default());
        let mut layouts = LayoutCache::default();
        let source = "```rust\nfn main() {}\n```";
        let mut lines = |highlighter: &SyntaxHighlighter| {
            let lines =
                layouts.get(key(1, 0), highlighter, || markdown::render(source, 20, highlighter));
            (lines, layouts.misses())
        };
        let (plain, _) = lines(&highlighter);
        while lines(&highlighter).0 == plain {
            news.recv_timeout(Duration::from_secs(60)).unwrap();
        }
        let (coloured, misses) = lines(&highlighter);
        assert!(
            coloured
                .iter()
                .flat_map(|line| &line.spans)
                .any(|span| matches!(span.role, StyleRole::Syntax(_)))
        );
        highlighter.highlight("python", "x = 1");
        news.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(lines(&highlighter).1, misses);
    }

    #[test]
    fn the_block_that_streams_may_be_replaced_by_another() {
        let (mut layouts, off) = (LayoutCache::default(), SyntaxHighlighter::off());
        for (block, text) in [(1, "# a"), (1, "# a\n\nb"), (2, "c"), (2, "other"), (1, "")] {
            let lines = layouts.streaming(block, text, 20, &off).to_vec();
            assert_eq!(lines, markdown::render(text, 20, &off).lines, "{block} {text}");
        }
    }
}
