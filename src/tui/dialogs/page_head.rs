//! The head of a page over the whole screen: its title, what the page comes to, and a rule.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::layout::StyleRole;
use crate::tui::view::paint::{self, RoleStyles, span};

/// Clears the page's area and draws its head there. Returns the rows beneath, a column from each edge.
pub fn draw_head(
    title: &str,
    summary: String,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) -> Rect {
    paint::clear(area, styles, buffer);
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let row = |at: u16| Rect { y: area.y + at, height: u16::from(at < area.height), ..inner };
    let left = [span(title, StyleRole::Strong)];
    let right = [span(summary, StyleRole::Muted)];
    paint::both_edges(&left, &right, styles, row(0), buffer);
    paint::rule(Rect { x: area.x, width: area.width, ..row(1) }, styles, buffer);
    let head = area.height.min(2);
    Rect { y: area.y + head, height: area.height - head, ..inner }
}
