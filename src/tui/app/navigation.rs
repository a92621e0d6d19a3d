//! Jumps in the transcript: to the next or previous message or error, and to where the scroll bar
//! was dragged.

use crate::domain::NoticeLevel;

use super::block::{BlockBody, ToolCallState, TranscriptBlock};
use super::focus::KeyboardFocus;
use super::geometry::ScrollBar;
use super::model::ScreenModel;
use super::scroll::{BlockPosition, SHARES, ScrollAnchor};
use super::transcript::BlockId;

/// A jump to the nearest message or error above or below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TranscriptJump {
    /// To the nearest user message above.
    PreviousMessage,
    /// To the nearest user message below.
    NextMessage,
    /// To the nearest error above.
    PreviousError,
    /// To the nearest error below.
    NextError,
}

/// Jumps from the focused pane, or else from the top of the screen. Shows a notice if there is no
/// such block.
pub fn jump(model: &mut ScreenModel, jump: TranscriptJump) {
    let (wanted, what): (fn(&TranscriptBlock) -> bool, _) = match jump {
        TranscriptJump::PreviousMessage | TranscriptJump::NextMessage => (is_message, "message"),
        TranscriptJump::PreviousError | TranscriptJump::NextError => (is_error, "error"),
    };
    let here = here(model);
    let blocks = model.conversation.transcript.blocks();
    let found = match jump {
        TranscriptJump::PreviousMessage | TranscriptJump::PreviousError => {
            let above = &blocks[..here.above.min(blocks.len())];
            above.iter().rfind(|block| wanted(block))
        }
        TranscriptJump::NextMessage | TranscriptJump::NextError => {
            blocks.get(here.below..).and_then(|below| below.iter().find(|block| wanted(block)))
        }
    };
    match found.map(|block| block.id) {
        Some(id) => go_to(model, id),
        None => {
            let direction = match jump {
                TranscriptJump::PreviousMessage | TranscriptJump::PreviousError => "above",
                TranscriptJump::NextMessage | TranscriptJump::NextError => "below",
            };
            model.shared.toast(NoticeLevel::Info, format!("No {what} {direction}"));
        }
    }
}

/// Puts a block at the top of the screen. If a pane has the focus, this block gets it.
pub fn go_to(model: &mut ScreenModel, block: BlockId) {
    model.conversation.scroll.to(block, 0, model.conversation.transcript.lines());
    model.conversation.visited = Some(block);
    if let KeyboardFocus::Pane(_) = model.conversation.focus {
        model.conversation.focus = KeyboardFocus::Pane(block);
    }
}

/// Scrolls so that the thumb's top is at row `start` of the scroll bar; the last possible row
/// follows the tail.
pub fn drag_bar(model: &mut ScreenModel, bar: &ScrollBar, start: u16) {
    let room = bar.area.height.saturating_sub(bar.size);
    let lines = model.conversation.transcript.lines();
    if start >= room {
        model.conversation.scroll.to_tail();
        return;
    }
    let blocks = model.conversation.transcript.blocks();
    let share = f64::from(start) / f64::from(room) * (1.0 - bar.span) * blocks.len() as f64;
    let Some(block) = blocks.get(share as usize) else { return };
    let place = BlockPosition::Share((share.fract() * f64::from(SHARES)) as u16);
    model.conversation.scroll.hold(ScrollAnchor::At { block: block.id, place }, lines);
}

/// The blocks around the user's place in the transcript: `above` is one past the index of the last
/// block above it, `below` is the index of the first block below it.
struct NearbyBlocks {
    above: usize,
    below: usize,
}

fn here(model: &ScreenModel) -> NearbyBlocks {
    let on = |id: BlockId| {
        let index = model.conversation.transcript.index(id);
        NearbyBlocks { above: index, below: index + 1 }
    };
    if let KeyboardFocus::Pane(id) = model.conversation.focus {
        return on(id);
    }
    // Near the end a jump cannot move the top row, so the last target counts as the place.
    if let Some(id) = model
        .conversation
        .visited
        .filter(|id| model.shared.geometry.rows.iter().any(|r| r.block == *id))
    {
        return on(id);
    }
    match model.shared.geometry.top {
        // At the tail, everything on screen counts as above.
        ScrollAnchor::Tail => on(BlockId(u64::MAX)),
        ScrollAnchor::At { .. } if model.shared.geometry.anchor == ScrollAnchor::Tail => {
            on(BlockId(u64::MAX))
        }
        ScrollAnchor::At { block, place } => {
            let here = on(block);
            let inside = !matches!(place, BlockPosition::Head(_));
            NearbyBlocks { above: here.above + usize::from(inside), ..here }
        }
    }
}

fn is_message(block: &TranscriptBlock) -> bool {
    matches!(block.body, BlockBody::User(_))
}

fn is_error(block: &TranscriptBlock) -> bool {
    match &block.body {
        BlockBody::Notice(notice) => notice.level == NoticeLevel::Error,
        BlockBody::Tool(tool) => tool.state == ToolCallState::Failed,
        BlockBody::User(_)
        | BlockBody::Assistant(_)
        | BlockBody::Thinking(_)
        | BlockBody::Image(_)
        | BlockBody::Interrupted
        | BlockBody::Compacted => false,
    }
}
