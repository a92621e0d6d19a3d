//! Draws text that is being edited.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use unicode_segmentation::UnicodeSegmentation;

use crate::tui::app::editor::TextEditor;
use crate::tui::app::softwrap::{self, SoftWrapRow};
use crate::tui::layout::{StyleRole, StyledSpan};

use super::paint::{self, RoleStyles, span};

/// Draws a one-row text field: as much of the text as fits, with the caret in view.
pub fn draw_field(
    editor: &TextEditor,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) -> Position {
    let text = editor.text();
    let before = &text[..editor.caret()];
    let room = area.width.saturating_sub(1);
    let mut start = 0;
    for (at, _) in before.grapheme_indices(true) {
        start = at;
        if softwrap::columns(&before[at..]) <= room {
            break;
        }
    }
    if before.is_empty() || softwrap::columns(before) <= room {
        start = 0;
    }
    let shown = format!("{} ", &text[start..]);
    paint::spans(&[span(shown, StyleRole::User)], styles, area, buffer);
    Position { x: area.x + softwrap::columns(&before[start..]).min(room), y: area.y }
}

/// A row of a text that is being edited. Labels for pasted text or images, and characters that were
/// made visible, have roles of their own.
pub fn typed_row(editor: &TextEditor, text: &str, row: &SoftWrapRow) -> Vec<StyledSpan> {
    let line = &text[row.clone()];
    let mut spans: Vec<StyledSpan> = Vec::new();
    for (at, shown) in softwrap::shown(line, editor.chips()) {
        let role = if line[at..].starts_with(shown.as_ref()) || line[at..].starts_with('\t') {
            StyleRole::Text
        } else if editor.chips().of(&line[at..]).is_some() {
            StyleRole::Code
        } else {
            StyleRole::Escaped
        };
        match spans.last_mut() {
            Some(last) if last.role == role => last.text.push_str(&shown),
            Some(_) | None => spans.push(span(shown, role)),
        }
    }
    spans
}
