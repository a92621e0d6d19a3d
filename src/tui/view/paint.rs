//! Draws spans and lines of roles on the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_segmentation::UnicodeSegmentation;

use crate::tui::layout::wrap::display_width;
use crate::tui::layout::{StyleRole, StyledLine, StyledSpan};
use crate::tui::links::LinkTable;
use crate::tui::theme::Theme;

/// Maps each role to a style. The theme implements it.
pub trait RoleStyles {
    /// The style of text in this role.
    fn style(&self, role: StyleRole) -> Style;
}

impl RoleStyles for Theme {
    fn style(&self, role: StyleRole) -> Style {
        Self::style(self, role)
    }
}

/// A span of text without a link.
pub fn span(text: impl Into<String>, role: StyleRole) -> StyledSpan {
    StyledSpan::new(text, role)
}

/// A line of spans without a gutter.
pub fn line(spans: Vec<StyledSpan>) -> StyledLine {
    StyledLine { spans, ..StyledLine::default() }
}

/// How many columns a text takes.
pub fn width(text: &str) -> u16 {
    u16::try_from(display_width(text)).unwrap_or(u16::MAX)
}

/// How many columns spans take.
pub fn spans_width(spans: &[StyledSpan]) -> u16 {
    spans.iter().fold(0, |sum: u16, span| sum.saturating_add(width(&span.text)))
}

/// The text cut to `columns`, with an ellipsis where something is missing.
pub fn truncate(text: &str, columns: u16) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let mut kept = String::new();
    for grapheme in text.graphemes(true) {
        let Some(rest) = left.checked_sub(width(grapheme)) else { break };
        left = rest;
        kept.push_str(grapheme);
    }
    if columns > 0 {
        kept.push('…');
    }
    kept
}

/// Draws spans in the first row of `area`, and returns the column behind them.
pub fn spans(
    spans: &[StyledSpan],
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) -> u16 {
    let mut x = area.x;
    let end = area.x + area.width;
    if area.height == 0 {
        return x;
    }
    for span in spans {
        let left = end.saturating_sub(x);
        if left == 0 {
            break;
        }
        let style = styles.style(span.role);
        (x, _) = buffer.set_stringn(x, area.y, &span.text, usize::from(left), style);
    }
    x
}

/// Draws a line in the first row of `area`, and fills the rest of the row if the line has a fill.
pub fn filled_line(line: &StyledLine, styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) {
    let x = spans(&line.spans, styles, area, buffer);
    if let Some(role) = line.fill {
        let width = (area.x + area.width).saturating_sub(x);
        let rest = Rect { x, width, height: area.height.min(1), ..area };
        buffer.set_style(rest, styles.style(role));
    }
}

/// Draws spans in cells that were reset before: otherwise a role without a colour of its own would
/// take over the colour of what it covers.
pub fn overwrite(
    parts: &[StyledSpan],
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) -> u16 {
    let covered = Rect { width: spans_width(parts).min(area.width), height: 1, ..area };
    clear(covered, styles, buffer);
    spans(parts, styles, area, buffer)
}

/// Marks the cells of links among spans that were drawn in the first row of `area`.
pub fn link(spans: &[StyledSpan], links: &LinkTable, area: Rect, buffer: &mut Buffer) {
    let end = area.x.saturating_add(area.width);
    let mut x = area.x;
    for span in spans {
        let next = x.saturating_add(width(&span.text)).min(end);
        if let Some(link) = &span.link {
            let mark = Style::new().underline_color(links.mark(link));
            buffer.set_style(Rect { x, width: next - x, height: 1, ..area }, mark);
        }
        x = next;
    }
}

/// The spans with the last one cut to fit.
pub fn fitted(spans: &[StyledSpan], room: u16) -> Vec<StyledSpan> {
    let mut spans = spans.to_vec();
    if let Some(last) = spans.pop() {
        let left = room.saturating_sub(spans_width(&spans));
        spans.push(StyledSpan { text: truncate(&last.text, left), ..last });
    }
    spans
}

/// Draws `left` from the left and `right` at the right edge; `left` is cut if they do not both fit.
pub fn both_edges(
    left: &[StyledSpan],
    right: &[StyledSpan],
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) {
    let wide = spans_width(right);
    if wide >= area.width {
        spans(left, styles, area, buffer);
        return;
    }
    let gap = u16::from(wide > 0);
    let room = Rect { width: area.width - wide - gap, ..area };
    spans(left, styles, room, buffer);
    spans(right, styles, Rect { x: area.x + area.width - wide, width: wide, ..area }, buffer);
}

/// Draws a horizontal rule over the whole width.
pub fn rule(area: Rect, styles: &dyn RoleStyles, buffer: &mut Buffer) {
    let text = "─".repeat(usize::from(area.width));
    spans(&[span(text, StyleRole::Border)], styles, area, buffer);
}

/// Draws a frame with a title on its left and a word on its right, clears what it covers, and
/// returns its inside, two columns from the sides.
pub fn frame(
    title: &str,
    aside: &str,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) -> Rect {
    clear(with_strips(area, *buffer.area()), styles, buffer);
    if area.width < 4 || area.height < 2 {
        return Rect { width: 0, height: 0, ..area };
    }
    let across = usize::from(area.width) - 2;
    let border = |text: String| span(text, StyleRole::Border);
    let row = |y: u16| Rect { y, height: 1, ..area };
    let top = format!("┌{}┐", "─".repeat(across));
    let bottom = format!("└{}┘", "─".repeat(across));
    spans(&[border(top)], styles, row(area.y), buffer);
    for y in area.y + 1..area.y + area.height - 1 {
        spans(&[border("│".into())], styles, row(y), buffer);
        let right = Rect { x: area.x + area.width - 1, y, width: 1, height: 1 };
        spans(&[border("│".into())], styles, right, buffer);
    }
    spans(&[border(bottom)], styles, row(area.y + area.height - 1), buffer);
    let inner = Rect { x: area.x + 2, width: area.width - 4, ..row(area.y) };
    if !title.is_empty() {
        let title = format!(" {} ", truncate(title, inner.width.saturating_sub(2)));
        overwrite(
            &[span(title, StyleRole::Title)],
            styles,
            Rect { x: area.x + 1, ..inner },
            buffer,
        );
    }
    if !aside.is_empty() && width(aside) + width(title) + 6 < area.width {
        let aside = format!(" {aside} ");
        let x = area.x + area.width - 2 - width(&aside);
        spans(&[span(aside, StyleRole::Muted)], styles, Rect { x, ..inner }, buffer);
    }
    Rect {
        x: area.x + 3,
        y: area.y + 1,
        width: area.width.saturating_sub(6),
        height: area.height - 2,
    }
}

/// Marks a row as selected; its text is drawn over that.
pub fn selected(row: Rect, styles: &dyn RoleStyles, buffer: &mut Buffer) {
    buffer.set_style(row.intersection(*buffer.area()), styles.style(StyleRole::Selected));
}

/// Fills an area with blanks in the screen's style.
pub fn clear(area: Rect, styles: &dyn RoleStyles, buffer: &mut Buffer) {
    let style = styles.style(StyleRole::Screen);
    let area = area.intersection(*buffer.area());
    for position in area.positions() {
        if let Some(cell) = buffer.cell_mut(position) {
            cell.reset();
            cell.set_style(style);
        }
    }
}

/// `area`, extended to the edge of the screen where the strip beside it is too narrow to read.
fn with_strips(area: Rect, screen: Rect) -> Rect {
    const NARROW: u16 = 3;
    let left = if area.x - screen.x <= NARROW { screen.x } else { area.x };
    let end = if screen.right() - area.right() <= NARROW { screen.right() } else { area.right() };
    Rect { x: left, width: end - left, ..area }
}

/// A rectangle of this size in the middle of `area`, or as much of it as fits.
pub fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_does_not_fit_ends_in_an_ellipsis() {
        assert_eq!(truncate("abcdef", 6), "abcdef");
        assert_eq!(truncate("abcdef", 4), "abc…");
        assert_eq!(truncate("日本語", 4), "日…");
        assert_eq!(truncate("abc", 0), "");
    }
}
