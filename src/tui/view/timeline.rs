//! The marks beside the transcript, in the column of the scroll bar: where the user's messages, the changes
//! of files and the failures are in the whole conversation.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::AgentId;
use crate::tui::app::conversation::block::{BlockBody, BlockId, TranscriptBlock};
use crate::tui::app::conversation::navigation::{is_error, is_message};
use crate::tui::app::geometry::{ScrollBar, TimelineMark, TimelineMarkKind};
use crate::tui::layout::StyleRole;

use super::paint::{self, RoleStyles, span};

/// The indices of the marked blocks, kept from frame to frame: only blocks that are new, or can still
/// change, are looked at again.
#[derive(Debug, Default)]
pub struct TranscriptTimeline {
    /// Whose blocks they are.
    key: Option<(AgentId, BlockId)>,
    /// How many blocks, from the first, no longer change their mark.
    settled: usize,
    /// Of each kind, in order.
    failures: Vec<usize>,
    messages: Vec<usize>,
    edits: Vec<usize>,
}

impl TranscriptTimeline {
    /// Takes in the blocks that are new since the last frame.
    pub fn update(&mut self, agent: AgentId, blocks: &[TranscriptBlock]) {
        let key = blocks.first().map(|first| (agent, first.id));
        if key != self.key || blocks.len() < self.settled {
            *self = Self { key, ..Self::default() };
        }
        let settled = self.settled;
        for marked in [&mut self.failures, &mut self.messages, &mut self.edits] {
            marked.truncate(marked.partition_point(|at| *at < settled));
        }
        for (at, block) in blocks.iter().enumerate().skip(settled) {
            match kind(block) {
                Some(TimelineMarkKind::Failure) => self.failures.push(at),
                Some(TimelineMarkKind::Message) => self.messages.push(at),
                Some(TimelineMarkKind::Edit) => self.edits.push(at),
                None => {}
            }
        }
        let unsettled = blocks[settled..].iter().position(|block| !is_settled(block));
        self.settled = unsettled.map_or(blocks.len(), |at| settled + at);
    }

    /// The last of the user's messages before the block of this index.
    pub fn message_before(&self, index: usize) -> Option<usize> {
        let before = self.messages.partition_point(|at| *at < index);
        self.messages[..before].last().copied()
    }

    /// The marks of so many rows that stand for all `count` blocks: at most one a row, what matters most
    /// of the blocks that the row stands for.
    fn marks(
        &self,
        count: usize,
        rows: u16,
    ) -> impl Iterator<Item = (u16, usize, TimelineMarkKind)> {
        let kinds = [
            (TimelineMarkKind::Failure, &self.failures),
            (TimelineMarkKind::Message, &self.messages),
            (TimelineMarkKind::Edit, &self.edits),
        ];
        let begin = move |row: u16| (usize::from(row) * count).div_ceil(usize::from(rows.max(1)));
        (0..rows).filter_map(move |row| {
            let blocks = begin(row)..begin(row + 1);
            kinds.iter().find_map(|(kind, marked)| {
                let at = *marked.get(marked.partition_point(|at| *at < blocks.start))?;
                blocks.contains(&at).then_some((row, at, *kind))
            })
        })
    }
}

/// Draws the marks beside the scroll bar's thumb, and says which block each row leads to.
pub fn draw(
    timeline: &TranscriptTimeline,
    blocks: &[TranscriptBlock],
    bar: &ScrollBar,
    styles: &dyn RoleStyles,
    buffer: &mut Buffer,
) -> Vec<TimelineMark> {
    let mut marks = Vec::new();
    for (row, at, kind) in timeline.marks(blocks.len(), bar.area.height) {
        let (sign, role) = match kind {
            TimelineMarkKind::Failure => ("×", StyleRole::Error),
            TimelineMarkKind::Message => ("•", StyleRole::User),
            TimelineMarkKind::Edit => ("+", StyleRole::Success),
        };
        let is_thumb = (bar.start..bar.start + bar.size).contains(&row);
        let sign = if is_thumb { "▐" } else { sign };
        let place = Rect { x: bar.area.x, y: bar.area.y + row, width: 1, height: 1 };
        paint::spans(&[span(sign, role)], styles, place, buffer);
        marks.push(TimelineMark { row, block: blocks[at].id, kind });
    }
    marks
}

fn kind(block: &TranscriptBlock) -> Option<TimelineMarkKind> {
    if is_error(block) {
        return Some(TimelineMarkKind::Failure);
    }
    if is_message(block) {
        return Some(TimelineMarkKind::Message);
    }
    block.body.tool_call().filter(|tool| tool.is_edit()).map(|_| TimelineMarkKind::Edit)
}

fn is_settled(block: &TranscriptBlock) -> bool {
    match &block.body {
        BlockBody::Tool(tool) => tool.is_over(),
        BlockBody::User(_)
        | BlockBody::Assistant(_)
        | BlockBody::Thinking(_)
        | BlockBody::Image(_)
        | BlockBody::Notice(_)
        | BlockBody::Lookups
        | BlockBody::TurnEnd(_)
        | BlockBody::Compacted(_) => true,
    }
}
