//! Going to places in the transcript: messages, errors, a share of the whole.

use crate::domain::NoticeLevel;

use super::block::{Block, Body, ToolState};
use super::geometry::Bar;
use super::model::{Focus, Model};
use super::scroll::{Anchor, Place, SHARES};
use super::transcript::BlockId;

/// Where to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Jump {
    /// The message of the person's above.
    PreviousMessage,
    /// The message of the person's below.
    NextMessage,
    /// The error above.
    PreviousError,
    /// The error below.
    NextError,
}

/// Goes there from the focused pane, or else from the top of the screen.
pub fn jump(model: &mut Model, jump: Jump) {
    let (wanted, what): (fn(&Block) -> bool, _) = match jump {
        Jump::PreviousMessage | Jump::NextMessage => (is_message, "message"),
        Jump::PreviousError | Jump::NextError => (is_error, "error"),
    };
    let here = here(model);
    let blocks = model.transcript.blocks();
    let found = match jump {
        Jump::PreviousMessage | Jump::PreviousError => {
            let above = &blocks[..here.above.min(blocks.len())];
            above.iter().rfind(|block| wanted(block))
        }
        Jump::NextMessage | Jump::NextError => {
            blocks.get(here.below..).and_then(|below| below.iter().find(|block| wanted(block)))
        }
    };
    match found.map(|block| block.id) {
        Some(id) => go_to(model, id),
        None => {
            let way = match jump {
                Jump::PreviousMessage | Jump::PreviousError => "above",
                Jump::NextMessage | Jump::NextError => "below",
            };
            model.toast(NoticeLevel::Info, format!("No {what} {way}"));
        }
    }
}

/// Puts a block at the top of the screen, and the focus on it when that is on the panes.
pub fn go_to(model: &mut Model, block: BlockId) {
    model.scroll.to(block, 0, model.transcript.lines());
    model.visited = Some(block);
    if let Focus::Pane(_) = model.focus {
        model.focus = Focus::Pane(block);
    }
}

/// Puts the thumb of the scroll bar at this row of the bar.
pub fn drag_bar(model: &mut Model, bar: &Bar, start: u16) {
    let room = bar.area.height.saturating_sub(bar.size);
    let lines = model.transcript.lines();
    if start >= room {
        model.scroll.to_tail();
        return;
    }
    let blocks = model.transcript.blocks();
    let share = f64::from(start) / f64::from(room) * (1.0 - bar.span) * blocks.len() as f64;
    let Some(block) = blocks.get(share as usize) else { return };
    let place = Place::Share((share.fract() * f64::from(SHARES)) as u16);
    model.scroll.hold(Anchor::At { block: block.id, place }, lines);
}

/// Which blocks are above and below where the person is: indices behind the last one above, and
/// of the first one below.
struct Here {
    above: usize,
    below: usize,
}

fn here(model: &Model) -> Here {
    let on = |id: BlockId| {
        let index = model.transcript.index(id);
        Here { above: index, below: index + 1 }
    };
    if let Focus::Pane(id) = model.focus {
        return on(id);
    }
    // Near the end the top row stays where it is: from there the last goal counts.
    if let Some(id) = model.visited.filter(|id| model.geometry.rows.iter().any(|r| r.block == *id))
    {
        return on(id);
    }
    match model.geometry.top {
        // At the tail all that is on screen is above.
        Anchor::Tail => on(BlockId(u64::MAX)),
        Anchor::At { .. } if model.geometry.anchor == Anchor::Tail => on(BlockId(u64::MAX)),
        Anchor::At { block, place } => {
            let here = on(block);
            let inside = !matches!(place, Place::Head(_));
            Here { above: here.above + usize::from(inside), ..here }
        }
    }
}

fn is_message(block: &Block) -> bool {
    matches!(block.body, Body::User(_))
}

fn is_error(block: &Block) -> bool {
    match &block.body {
        Body::Notice(notice) => notice.level == NoticeLevel::Error,
        Body::Tool(tool) => tool.state == ToolState::Failed,
        Body::User(_)
        | Body::Assistant(_)
        | Body::Thinking(_)
        | Body::Image(_)
        | Body::Interrupted
        | Body::Compacted => false,
    }
}
