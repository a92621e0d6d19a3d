//! Caches laid-out lines by block, so that a frame costs only what is visible.
//!
//! The cache is bounded in bytes, and everything in it can be computed again: dropping it all
//! changes no pixel. A block keeps one layout for each width and fold state. A new revision
//! replaces the old one, and code is laid out once more when its colours have arrived.

use std::sync::Arc;

pub use crate::domain::PaneFold;

use super::clock_cache::ClockCache;
use super::{
    BlockLayout, HighlightState, SourceRun, StyledLine, StyledSpan, SyntaxHighlighter, markdown,
};

/// Default limit in bytes: more than a thousand screens of dense text. The two longest texts that are laid out
/// as Markdown fit in it, or a frame with both would lay each out again.
pub const MAX_LAYOUT_BYTES: usize = 16 * 1024 * 1024;

/// Identifies one layout of one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LayoutKey {
    /// Whose block it is: two agents may have blocks with the same id.
    pub owner: u64,
    /// The block's id, unique for its owner.
    pub block: u64,
    /// Version of the block's content.
    pub revision: u64,
    /// Columns that the lines fit.
    pub width: u16,
    pub fold: PaneFold,
}

/// The layouts of the blocks that were shown last, and of the one that is streaming.
#[derive(Debug)]
pub struct LayoutCache {
    done: ClockCache<(u64, u64, u16, PaneFold), CachedLayout>,
    open: Option<StreamingBlock>,
    misses: u64,
}

#[derive(Debug)]
struct CachedLayout {
    revision: u64,
    /// The highlighter's generation when the lines were made, if more colours may come.
    pending: Option<u64>,
    lines: Arc<[StyledLine]>,
}

#[derive(Debug)]
struct StreamingBlock {
    /// Its owner and its id.
    block: (u64, u64),
    stream: markdown::StreamingMarkdown,
}

impl Default for LayoutCache {
    fn default() -> Self {
        Self::new(MAX_LAYOUT_BYTES)
    }
}

impl LayoutCache {
    /// A cache that keeps at most `limit` bytes of lines.
    pub fn new(limit: usize) -> Self {
        Self { done: ClockCache::new(limit), open: None, misses: 0 }
    }

    /// The lines of a block; calls `lay` if they are not cached or out of date.
    pub fn get(
        &mut self,
        key: LayoutKey,
        highlighter: &SyntaxHighlighter,
        lay: impl FnOnce() -> BlockLayout,
    ) -> Arc<[StyledLine]> {
        let generation = highlighter.generation();
        let place = (key.owner, key.block, key.width, key.fold);
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

    /// The lines of the Markdown block (owner and id) that is streaming; `text` is all of it so far. Costs only
    /// what is new. A block whose text changed other than by growing is laid out from the start.
    pub fn streaming(
        &mut self,
        block: (u64, u64),
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

    /// How often [`Self::get`] had to lay out lines.
    pub fn misses(&self) -> u64 {
        self.misses
    }

    /// Approximate bytes of the cached lines.
    pub fn bytes(&self) -> usize {
        self.done.bytes()
    }
}

/// Whether `text` begins with `known`. Only the end of `known` is compared: the text of a block
/// changes only by growing, and this runs in every frame.
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
        LayoutKey { owner: 1, block, revision, width: 20, fold: PaneFold::Open }
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
        let (sender, receiver) = channel();
        let highlighter = SyntaxHighlighter::new(move || sender.send(()).unwrap_or_default());
        let mut layouts = LayoutCache::default();
        let source = "```rust\nfn main() {}\n```";
        let mut lines = |highlighter: &SyntaxHighlighter| {
            let lines =
                layouts.get(key(1, 0), highlighter, || markdown::render(source, 20, highlighter));
            (lines, layouts.misses())
        };
        let (plain, _) = lines(&highlighter);
        while lines(&highlighter).0 == plain {
            receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        }
        let (coloured, misses) = lines(&highlighter);
        assert!(
            coloured
                .iter()
                .flat_map(|line| &line.spans)
                .any(|span| matches!(span.role, StyleRole::Syntax(_)))
        );
        highlighter.highlight("python", "x = 1");
        receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(lines(&highlighter).1, misses);
    }

    #[test]
    fn the_block_that_streams_may_be_replaced_by_another() {
        let (mut layouts, off) = (LayoutCache::default(), SyntaxHighlighter::off());
        for (block, text) in [(1, "# a"), (1, "# a\n\nb"), (2, "c"), (2, "other"), (1, "")] {
            let lines = layouts.streaming((1, block), text, 20, &off).to_vec();
            assert_eq!(lines, markdown::render(text, 20, &off).lines, "{block} {text}");
        }
    }
}
