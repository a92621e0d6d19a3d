//! Runs of calls that only look something up: two or more of them in a row stand under one line, which
//! opens to show each.
//!
//! The line is a block of its own before the first call of the run. It is made when the second call
//! comes; each such call leaves the id before its own free for it. So what is live and what is replayed
//! get the same blocks. A run has a limit, so that no frame has to pass more calls than that.

use crate::tools::kind_of;

use super::{BlockBody, BlockId, PaneFold, ToolCallOrigin, Transcript, TranscriptBlock};

/// Most calls under one line.
const LIMIT: usize = 100;

impl BlockBody {
    /// Whether the block is a call of the model that only looks something up.
    pub fn is_lookup(&self) -> bool {
        self.tool_call().is_some_and(|tool| {
            tool.origin == ToolCallOrigin::Model && kind_of(&tool.name).is_lookup()
        })
    }
}

impl Transcript {
    /// The calls under the line of a run, which is the block at this index; empty for other blocks.
    pub fn run(&self, index: usize) -> &[TranscriptBlock] {
        let Some(TranscriptBlock { id, body: BlockBody::Lookups, .. }) = self.blocks.get(index)
        else {
            return &[];
        };
        let rest = &self.blocks[index + 1..];
        let count = rest.iter().take(LIMIT).take_while(|it| it.run == Some(*id)).count();
        &rest[..count]
    }

    /// Whether a block is one of a run that is folded.
    pub fn is_hidden(&self, block: &TranscriptBlock) -> bool {
        let run = block.run.and_then(|run| self.get(run));
        run.is_some_and(|run| self.fold(run) == PaneFold::Closed)
    }

    /// The block itself, or the line of its run if it is hidden under that.
    pub fn shown(&self, id: BlockId) -> BlockId {
        match self.get(id) {
            Some(TranscriptBlock { run: Some(run), .. })
                if self.get(id).is_some_and(|block| self.is_hidden(block)) =>
            {
                *run
            }
            Some(_) | None => id,
        }
    }

    /// Opens the run that a block is hidden in.
    pub fn reveal(&mut self, id: BlockId) {
        let run = self.shown(id);
        let at = self.index(run);
        if run != id
            && let Some(block) = self.blocks.get_mut(at)
        {
            block.fold = Some(PaneFold::Open);
        }
    }

    /// Adds a block at the end, under the line of the run that it goes on.
    pub(super) fn append(&mut self, mut block: TranscriptBlock) {
        block.run = None;
        if block.body.is_lookup()
            && let Some(last) = self.blocks.last().filter(|last| last.body.is_lookup())
        {
            match last.run {
                Some(run) if self.run(self.index(run)).len() < LIMIT => block.run = Some(run),
                Some(_) => {}
                None => block.run = Some(self.begin_run()),
            }
        }
        self.blocks.push(block);
    }

    /// Puts a line above the last block. A call that the user has folded or opened stays in sight.
    fn begin_run(&mut self) -> BlockId {
        let first = self.blocks.len() - 1;
        let id = BlockId(self.blocks[first].id.0 - 1);
        let fold = self.blocks[first].fold.map(|_| PaneFold::Open);
        self.blocks[first].run = Some(id);
        let body = BlockBody::Lookups;
        let line = TranscriptBlock { id, revision: 0, entry: None, body, fold, run: None };
        self.blocks.insert(first, line);
        id
    }

    /// Makes the runs around this index anew, after blocks there were removed or joined.
    pub(super) fn settle_runs(&mut self, around: usize) {
        let of_run =
            |block: &TranscriptBlock| block.body == BlockBody::Lookups || block.body.is_lookup();
        let around = around.min(self.blocks.len());
        let before = self.blocks[..around].iter().rev().take_while(|it| of_run(it)).count();
        let after = self.blocks[around..].iter().take_while(|it| of_run(it)).count();
        let rest = self.blocks.split_off(around + after);
        let calls = self.blocks.split_off(around - before);
        let mut folds = Vec::new();
        for block in calls {
            if block.body == BlockBody::Lookups {
                folds.push((block.id, block.fold));
            } else {
                self.append(block);
            }
        }
        self.blocks.extend(rest);
        for (id, fold) in folds {
            let at = self.index(id);
            if let Some(line) = self.blocks.get_mut(at).filter(|line| line.id == id) {
                line.fold = fold;
            }
        }
    }
}
