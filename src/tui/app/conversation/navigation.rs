//! Moves in the transcript: scrolling, steps from pane to pane, jumps to the next or previous message
//! or error, and to where the scroll bar was dragged.

use crate::domain::NoticeLevel;

use super::Conversation;
use super::block::{BlockBody, ToolCallState, TranscriptBlock};
use super::scroll::{BlockPosition, SHARES, ScrollAnchor};
use super::transcript::BlockId;
use crate::tui::app::focus::KeyboardFocus;
use crate::tui::app::geometry::ScrollBar;
use crate::tui::app::keymap::{ScrollAction, TranscriptJump};
use crate::tui::app::shared::SharedState;

/// Jumps from the focused pane, or else from the top of the screen. Shows a notice if there is no
/// such block.
pub fn jump(conversation: &mut Conversation, shared: &mut SharedState, jump: TranscriptJump) {
    let (wanted, what): (fn(&TranscriptBlock) -> bool, _) = match jump {
        TranscriptJump::PreviousMessage | TranscriptJump::NextMessage => (is_message, "message"),
        TranscriptJump::PreviousError | TranscriptJump::NextError => (is_error, "error"),
    };
    let here = here(conversation);
    let blocks = conversation.transcript.blocks();
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
        Some(id) => go_to(conversation, id),
        None => {
            let direction = match jump {
                TranscriptJump::PreviousMessage | TranscriptJump::PreviousError => "above",
                TranscriptJump::NextMessage | TranscriptJump::NextError => "below",
            };
            shared.toast(NoticeLevel::Info, format!("No {what} {direction}"));
        }
    }
}

/// Puts a block at the top of the screen. If a pane has the focus, this block gets it.
pub fn go_to(conversation: &mut Conversation, block: BlockId) {
    conversation.transcript.reveal(block);
    conversation.scroll.to(block, 0, conversation.transcript.lines());
    conversation.visited = Some(block);
    if let KeyboardFocus::Pane(_) = conversation.focus {
        conversation.focus = KeyboardFocus::Pane(block);
    }
}

/// Scrolls the transcript.
pub fn scroll(conversation: &mut Conversation, how: ScrollAction) {
    let page = i32::from(conversation.geometry.transcript.height).max(2) - 1;
    let lines = conversation.transcript.lines();
    match how {
        ScrollAction::LineUp => conversation.scroll.by(-1, lines),
        ScrollAction::LineDown => conversation.scroll.by(1, lines),
        ScrollAction::HalfUp => conversation.scroll.by(-(page / 2).max(1), lines),
        ScrollAction::HalfDown => conversation.scroll.by((page / 2).max(1), lines),
        ScrollAction::PageUp => conversation.scroll.by(-page, lines),
        ScrollAction::PageDown => conversation.scroll.by(page, lines),
        ScrollAction::Top => {
            if let Some(first) = conversation.transcript.blocks().first() {
                conversation.scroll.to(first.id, 0, lines);
            }
        }
        ScrollAction::Bottom => conversation.scroll.to_tail(),
    }
}

/// Keeps the top row in place while something below it changes its height.
pub fn hold(conversation: &mut Conversation) {
    let top = conversation.geometry.top;
    if top != ScrollAnchor::Tail {
        conversation.scroll.hold(top, conversation.transcript.lines());
    }
}

/// The same, except at the tail, which the view goes on to follow: what is new stays in sight, however
/// often all panes are folded.
pub fn hold_above_tail(conversation: &mut Conversation) {
    if conversation.geometry.anchor == ScrollAnchor::Tail {
        conversation.scroll.to_tail();
    } else {
        hold(conversation);
    }
}

/// Moves the focus to the pane above or below; scrolls to it if it is not on screen.
pub fn step_pane(conversation: &mut Conversation, from: BlockId, by: isize) {
    let transcript = &conversation.transcript;
    let mut at = transcript.index(transcript.shown(from)).checked_add_signed(by);
    let block = loop {
        let Some((index, block)) = at.and_then(|at| Some((at, transcript.blocks().get(at)?)))
        else {
            return;
        };
        if !transcript.is_hidden(block) {
            break block.id;
        }
        at = index.checked_add_signed(by);
    };
    conversation.focus = KeyboardFocus::Pane(block);
    let visible = conversation.geometry.rows.iter().any(|row| row.block == block);
    if !visible {
        conversation.scroll.to(block, 2, conversation.transcript.lines());
    }
}

/// Moves the focus to the lowest pane on screen, or back to the input.
pub fn swap_focus(conversation: &mut Conversation) {
    conversation.focus = match conversation.focus {
        KeyboardFocus::Pane(_) | KeyboardFocus::Caret(_) | KeyboardFocus::Sidebar => {
            KeyboardFocus::Input
        }
        KeyboardFocus::Input => {
            let shown = conversation.geometry.rows.iter().rev().map(|row| row.block);
            let pane = shown
                .clone()
                .find(|id| conversation.transcript.get(*id).is_some_and(TranscriptBlock::is_pane));
            match pane.or_else(|| shown.clone().next()) {
                Some(block) => KeyboardFocus::Pane(block),
                None => KeyboardFocus::Input,
            }
        }
    };
}

/// Whether the transcript cannot be scrolled further in a direction; negative is up.
pub fn is_at_end(conversation: &Conversation, direction: i32) -> bool {
    let first = conversation.transcript.blocks().first().map(|block| block.id);
    match conversation.geometry.top {
        _ if direction > 0 => conversation.geometry.anchor == ScrollAnchor::Tail,
        ScrollAnchor::At { block, place: BlockPosition::Head(0) } => Some(block) == first,
        ScrollAnchor::At { .. } | ScrollAnchor::Tail => false,
    }
}

/// Scrolls so that the thumb's top is at row `start` of the scroll bar; the last possible row
/// follows the tail.
pub fn drag_bar(conversation: &mut Conversation, bar: &ScrollBar, start: u16) {
    let room = bar.area.height.saturating_sub(bar.size);
    let lines = conversation.transcript.lines();
    if start >= room {
        conversation.scroll.to_tail();
        return;
    }
    let blocks = conversation.transcript.blocks();
    let share = f64::from(start) / f64::from(room) * (1.0 - bar.span) * blocks.len() as f64;
    let Some(block) = blocks.get(share as usize) else { return };
    let place = BlockPosition::Share((share.fract() * f64::from(SHARES)) as u16);
    conversation.scroll.hold(ScrollAnchor::At { block: block.id, place }, lines);
}

/// The blocks around the user's place in the transcript: `above` is one past the index of the last
/// block above it, `below` is the index of the first block below it.
struct NearbyBlocks {
    above: usize,
    below: usize,
}

fn here(conversation: &Conversation) -> NearbyBlocks {
    let on = |id: BlockId| {
        let index = conversation.transcript.index(id);
        NearbyBlocks { above: index, below: index + 1 }
    };
    if let KeyboardFocus::Pane(id) = conversation.focus {
        return on(id);
    }
    // Near the end a jump cannot move the top row, so the last target counts as the place.
    if let Some(id) =
        conversation.visited.filter(|id| conversation.geometry.rows.iter().any(|r| r.block == *id))
    {
        return on(id);
    }
    match conversation.geometry.top {
        // At the tail, everything on screen counts as above.
        ScrollAnchor::Tail => on(BlockId(u64::MAX)),
        ScrollAnchor::At { .. } if conversation.geometry.anchor == ScrollAnchor::Tail => {
            on(BlockId(u64::MAX))
        }
        ScrollAnchor::At { block, place } => {
            let here = on(block);
            let inside = !matches!(place, BlockPosition::Head(_));
            NearbyBlocks { above: here.above + usize::from(inside), ..here }
        }
    }
}

/// Whether a block is a message of the user's.
pub fn is_message(block: &TranscriptBlock) -> bool {
    matches!(block.body, BlockBody::User(_))
}

/// Whether a block is an error, or a call that failed.
pub fn is_error(block: &TranscriptBlock) -> bool {
    match &block.body {
        BlockBody::Notice(notice) => notice.level == NoticeLevel::Error,
        BlockBody::Tool(tool) => tool.state == ToolCallState::Failed,
        BlockBody::User(_)
        | BlockBody::Assistant(_)
        | BlockBody::Thinking(_)
        | BlockBody::Image(_)
        | BlockBody::Lookups
        | BlockBody::TurnEnd(_)
        | BlockBody::Compacted(_) => false,
    }
}
