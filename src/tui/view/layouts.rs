//! The laid-out lines of the transcript's blocks: which of them stream, and which are kept.

use std::sync::Arc;

use crate::tui::app::block::{Block, BlockId, Body, Fold, TextState};
use crate::tui::layout::{self, Highlighter, Key, Laid, Line};
use crate::tui::links::Links;

use super::blocks::{self, GrowingThought};

/// The lines of blocks that were on screen, and what colours their code.
#[derive(Debug)]
pub struct Layouts {
    kept: layout::Layouts,
    highlighter: Highlighter,
    thought: Option<(BlockId, GrowingThought)>,
    /// The lines that were asked for last.
    last: Arc<[Line]>,
    links: Links,
}

impl Layouts {
    /// None yet.
    pub fn new(highlighter: Highlighter) -> Self {
        Self {
            kept: layout::Layouts::default(),
            highlighter,
            thought: None,
            last: Arc::default(),
            links: Links::default(),
        }
    }

    /// Links that are drawn go into this table, which the terminal reads.
    pub fn with_links(self, links: Links) -> Self {
        Self { links, ..self }
    }

    /// The links on screen.
    pub fn links(&self) -> &Links {
        &self.links
    }

    /// Forgets everything: another session was opened.
    pub fn clear(&mut self) {
        self.kept = layout::Layouts::default();
        self.thought = None;
    }

    /// What colours code.
    pub fn highlighter(&self) -> &Highlighter {
        &self.highlighter
    }

    /// The lines of something beside the transcript, by an id of its own: a dialog's diff.
    pub fn aside(
        &mut self,
        id: u64,
        width: u16,
        lay: impl FnOnce(&Highlighter) -> Laid,
    ) -> Arc<[Line]> {
        // Blocks count up from 0, these down from the end.
        let key = Key { block: u64::MAX - id, revision: 0, width, fold: Fold::Open };
        let highlighter = &self.highlighter;
        self.kept.get(key, highlighter, || lay(highlighter))
    }

    /// The lines of a block below its head.
    pub fn lines(&mut self, block: &Block, fold: Fold, width: u16) -> &[Line] {
        match &block.body {
            Body::Assistant(prose) if prose.state == TextState::Streaming => {
                self.kept.streaming(block.id.0, &prose.text, width, &self.highlighter)
            }
            Body::Thinking(thinking)
                if thinking.state == TextState::Streaming && fold == Fold::Open =>
            {
                let continues = self.thought.as_ref().is_some_and(|(id, _)| *id == block.id);
                if !continues {
                    self.thought = None;
                }
                let new = || (block.id, GrowingThought::default());
                let (_, growing) = self.thought.get_or_insert_with(new);
                growing.update(&thinking.text, width);
                growing.lines()
            }
            Body::Assistant(_)
            | Body::User(_)
            | Body::Thinking(_)
            | Body::Tool(_)
            | Body::Notice(_)
            | Body::Interrupted
            | Body::Compacted => {
                let key =
                    Key { block: block.id.0, revision: u64::from(block.revision), width, fold };
                let highlighter = &self.highlighter;
                let lay = || blocks::body(block, fold, width, highlighter);
                self.last = self.kept.get(key, highlighter, lay);
                &self.last
            }
        }
    }
}
