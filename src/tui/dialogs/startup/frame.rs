//! The layout that the questions before the chat share: a centred column, wrapped text, and key hints
//! in the last line.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::app::editor::TextEditor;
use crate::tui::app::softwrap;
use crate::tui::layout::{StyleRole, StyledSpan};
use crate::tui::view::RoleStyles;
use crate::tui::view::paint::{self, span};

/// Most columns of text: longer lines are hard to read.
const WIDEST: u16 = 76;

/// One row of text.
pub type StartupRow = Vec<StyledSpan>;

/// The areas of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartupColumn {
    pub body: Rect,
    /// A free row above the hints; empty on a low screen.
    pub margin: Rect,
    /// The last row of the screen.
    pub hints: Rect,
}

/// Divides the screen: hints in the last row, a free row above them if there is room.
pub fn column(area: Rect) -> StartupColumn {
    let width = area.width.saturating_sub(2).min(WIDEST);
    let x = area.x + (area.width - width) / 2;
    let top = match area.height {
        0..16 => 0,
        16..36 => 1,
        36.. => (area.height - 30) / 4,
    };
    let below = if area.height < 8 { 1 } else { 2 };
    let height = area.height.saturating_sub(top + below);
    let body = Rect { x, y: area.y + top, width, height };
    let last = area.y + area.height.saturating_sub(1);
    let margin = Rect { x, y: body.y + height, width, height: below - 1 };
    StartupColumn { body, margin, hints: Rect { x, y: last, width, height: area.height.min(1) } }
}

/// Text wrapped to `width` columns.
pub fn text(text: &str, role: StyleRole, width: u16) -> Vec<StartupRow> {
    indented("", text, role, width)
}

/// Text wrapped to `width` columns and indented behind a mark, which stands before the first row.
pub fn indented(mark: &str, text: &str, role: StyleRole, width: u16) -> Vec<StartupRow> {
    let left = paint::width(mark);
    let blank = " ".repeat(usize::from(left));
    let rows = softwrap::rows(text, width.saturating_sub(left).max(1));
    let row = |(number, row): (usize, &softwrap::SoftWrapRow)| {
        let before = if number == 0 { mark } else { blank.as_str() };
        vec![span(before, role), span(text[row.clone()].trim_end(), role)]
    };
    rows.iter().enumerate().map(row).collect()
}

/// Draws rows, starting with the row of index `first`.
pub fn rows(
    rows: &[StartupRow],
    first: usize,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) {
    let shown = rows.iter().skip(first).take(usize::from(area.height));
    for (y, row) in (area.y..).zip(shown) {
        paint::spans(row, styles, Rect { y, height: 1, ..area }, buffer);
    }
}

/// Draws hints for the keys: as many as fit, in order.
pub fn hints(hints: &[(&str, &str)], styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) {
    let mut row: StartupRow = Vec::new();
    for (key, word) in hints {
        let gap = if row.is_empty() { "" } else { "   " };
        let wide = paint::width(gap) + paint::width(key) + 1 + paint::width(word);
        if paint::spans_width(&row) + wide > area.width {
            break;
        }
        row.extend([
            span(gap, StyleRole::Text),
            span(*key, StyleRole::Key),
            span(format!(" {word}"), StyleRole::Muted),
        ]);
    }
    paint::spans(&row, styles, area, buffer);
}

/// A text that the user types: the part of it that `width` columns show, and the column of the
/// caret.
pub fn field(editor: &TextEditor, shows: StartupFieldDisplay, width: u16) -> (String, u16) {
    let text = editor.text();
    let (before, behind) = text.split_at(editor.caret());
    let masked = |part: &str| match shows {
        StartupFieldDisplay::Text => part.to_owned(),
        StartupFieldDisplay::Dots => "•".repeat(part.chars().count()),
    };
    let (before, behind) = (masked(before), masked(behind));
    let room = width.saturating_sub(1);
    let mut start = 0;
    while softwrap::columns(&before[start..]) > room {
        start += before[start..].chars().next().map_or(1, char::len_utf8);
    }
    let caret = softwrap::columns(&before[start..]);
    (format!("{}{behind}", &before[start..]), caret)
}

/// How a field shows its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartupFieldDisplay {
    /// Readable.
    Text,
    /// A dot for each character, for secrets.
    Dots,
}
