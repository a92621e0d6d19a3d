//! The user's message above the rows in sight that answer it, where it has itself scrolled out of sight:
//! one row at the top, only while the view is away from the end. A click on it goes there.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::app::conversation::Conversation;
use crate::tui::app::conversation::block::{BlockBody, TranscriptBlock};
use crate::tui::app::conversation::scroll::ScrollAnchor;
use crate::tui::app::geometry::PinnedMessage;
use crate::tui::layout::StyleRole;

use super::blocks::harmless;
use super::layouts::ViewLayouts;
use super::paint::{self, RoleStyles, span, truncate};
use super::window::TranscriptWindow;

/// A transcript with fewer rows keeps them all.
const MIN_HEIGHT: u16 = 8;
/// How much of a message is looked through for its first line, in bytes.
const MAX_SEARCHED: usize = 2000;

/// The message that belongs above this window of `height` rows, if any.
pub fn above<'a>(
    conversation: &'a Conversation,
    layouts: &mut ViewLayouts,
    window: &TranscriptWindow,
    height: u16,
) -> Option<&'a TranscriptBlock> {
    if window.anchor == ScrollAnchor::Tail || height < MIN_HEIGHT {
        return None;
    }
    let blocks = conversation.transcript.blocks();
    let top = window.rows.first()?.index;
    let timeline = layouts.timeline();
    timeline.update(conversation.agent, blocks);
    blocks.get(timeline.message_before(top + 1)?).filter(|block| {
        // A message of which a row is in sight stands for itself.
        blocks.get(top).is_some_and(|first| first.id != block.id)
    })
}

/// Draws the first line of the message on the first row of the area.
pub fn draw(
    block: &TranscriptBlock,
    styles: &dyn RoleStyles,
    (band, text): (Rect, Rect),
    buffer: &mut Buffer,
) -> Option<PinnedMessage> {
    let BlockBody::User(message) = &block.body else { return None };
    let end = message.floor_char_boundary(MAX_SEARCHED);
    let mut lines = message[..end].lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    let more = if lines.next().is_some() || end < message.len() { " …" } else { "" };
    let room = text.width.saturating_sub(4);
    let line = [
        span("❯ ", StyleRole::User),
        span(truncate(&harmless(first.trim_end()), room), StyleRole::UserMessage),
        span(more, StyleRole::Muted),
    ];
    buffer.set_style(band, styles.style(StyleRole::UserMessage));
    paint::spans(&line, styles, text, buffer);
    Some(PinnedMessage { area: band.into(), block: block.id })
}
