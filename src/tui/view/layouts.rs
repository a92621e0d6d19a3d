//! Laid-out lines, kept by block, revision, width and fold, so that a finished block is laid out
//! once. Holds nothing that could not be made again, and at most a few megabytes of it.

use std::collections::HashMap;

use crate::tui::app::block::{Block, BlockId, Body, Fold, TextState};
use crate::tui::layout::Line;

use super::blocks::{self, Growing};

const BUDGET: usize = 8 * 1024 * 1024;

/// The lines of blocks that were on screen.
#[derive(Debug, Default)]
pub struct Layouts {
    entries: HashMap<BlockId, Entry>,
    bytes: usize,
    frame: u64,
}

#[derive(Debug)]
struct Entry {
    revision: u32,
    width: u16,
    fold: Fold,
    lines: Laid,
    bytes: usize,
    used: u64,
}

#[derive(Debug)]
enum Laid {
    Whole(Vec<Line>),
    Growing(Growing),
}

impl Layouts {
    /// A frame begins: what was not used in the last ones may go.
    pub fn begin_frame(&mut self) {
        self.frame += 1;
        if self.bytes > BUDGET {
            let oldest = self.frame.saturating_sub(2);
            self.entries.retain(|_, entry| entry.used >= oldest);
            self.bytes = self.entries.values().map(|entry| entry.bytes).sum();
        }
    }

    /// Forgets everything: another session was opened.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.bytes = 0;
    }

    /// The lines of a block below its head.
    pub fn lines(&mut self, block: &Block, fold: Fold, width: u16) -> &[Line] {
        let frame = self.frame;
        let fresh = self.entries.get(&block.id).is_some_and(|entry| {
            (entry.revision, entry.width, entry.fold) == (block.revision, width, fold)
        });
        if !fresh {
            self.lay_out(block, fold, width);
        }
        let Some(entry) = self.entries.get_mut(&block.id) else { return &[] };
        entry.used = frame;
        match &entry.lines {
            Laid::Whole(lines) => lines,
            Laid::Growing(growing) => growing.lines(),
        }
    }

    fn lay_out(&mut self, block: &Block, fold: Fold, width: u16) {
        let old = self.entries.remove(&block.id);
        self.bytes -= old.as_ref().map_or(0, |entry| entry.bytes);
        let growing = |new: fn() -> Growing, text: &str| {
            let mut growing = match old.map(|entry| entry.lines) {
                Some(Laid::Growing(growing)) => growing,
                Some(Laid::Whole(_)) | None => new(),
            };
            growing.update(text, width);
            Laid::Growing(growing)
        };
        let lines = match &block.body {
            Body::Assistant(prose) if prose.state == TextState::Streaming => {
                growing(Growing::answer, &prose.text)
            }
            Body::Thinking(thinking)
                if thinking.state == TextState::Streaming && fold == Fold::Open =>
            {
                growing(Growing::thinking, &thinking.text)
            }
            Body::Assistant(_)
            | Body::User(_)
            | Body::Thinking(_)
            | Body::Tool(_)
            | Body::Notice(_)
            | Body::Interrupted
            | Body::Compacted => Laid::Whole(blocks::body(block, fold, width)),
        };
        // What grows is needed anyway, and counting it would cost more the longer it gets.
        let bytes = match &lines {
            Laid::Whole(lines) => lines.iter().map(weight).sum(),
            Laid::Growing(_) => 0,
        };
        self.bytes += bytes;
        let entry = Entry { revision: block.revision, width, fold, lines, bytes, used: self.frame };
        self.entries.insert(block.id, entry);
    }
}

fn weight(line: &Line) -> usize {
    let spans = line.spans.iter().map(|span| size_of_val(span) + span.text.capacity());
    size_of_val(line) + spans.sum::<usize>()
}
