//! Draws the approval dialog: what would run, what the rules say about it, and the answers.
//!
//! The dialog shows exactly what runs, with hidden characters made visible. The subject scrolls;
//! the answers are always on screen. The cells that can be clicked are recorded in the geometry.

mod answers;
mod subject;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use unicode_segmentation::UnicodeSegmentation;

use crate::domain::ApprovalKind;
use crate::tui::app::keymap::{ApprovalKey, ScrollAction};
use crate::tui::app::title::visible_path;
use crate::tui::dialogs::approval::{ApprovalDialog, ApprovalStage};
use crate::tui::dialogs::dialog::DialogView;
use crate::tui::dialogs::geometry::DialogGeometry;
use crate::tui::dialogs::geometry::ScrollExtent;
use crate::tui::dialogs::review::QuestionReview;
use crate::tui::layout::StyleRole;

use crate::tui::view::blocks::harmless;
use crate::tui::view::layouts::ViewLayouts;
use crate::tui::view::paint;
use crate::tui::view::paint::{RoleStyles, span, truncate};
use answers::answers;
use subject::{ApprovalSubject, MARGIN};

/// The greatest comfortable width for text.
const WIDE: u16 = 104;
/// A diff may be wider, so that its sides can stand next to each other.
const WIDEST: u16 = 190;

/// A file's name in this many columns: its beginning and its end.
fn both_ends(name: &str, columns: u16) -> String {
    if paint::width(name) <= columns {
        return name.to_owned();
    }
    let mut end = String::new();
    for cluster in name.graphemes(true).rev() {
        if paint::width(&end) + paint::width(cluster) > columns / 2 {
            break;
        }
        end.insert_str(0, cluster);
    }
    format!("{}{end}", truncate(name, columns.saturating_sub(paint::width(&end))))
}

/// Draws the dialog. Returns the caret's cell while the user types in it.
pub fn draw(
    around: DialogView<'_>,
    approval: &ApprovalDialog,
    layouts: &mut ViewLayouts,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
    measured: &mut DialogGeometry,
) -> Option<Position> {
    let widest = if approval.request.preview.is_some() { WIDEST } else { WIDE };
    let width = area.width.saturating_sub(2).min(widest);
    let room = width.saturating_sub(6).max(1);
    let what = ApprovalSubject::new(around, approval, layouts, room);
    let answers = answers(around, approval, room, area.height);
    let fixed = u16::try_from(answers.rows.len()).unwrap_or(u16::MAX).saturating_add(3);
    let wanted = u16::try_from(what.len()).unwrap_or(u16::MAX).saturating_add(fixed);
    // The input below stays visible, since keys typed too early still go there.
    let most = area.height.saturating_sub(if area.height > 24 { 6 } else { 1 });
    let height = wanted.min(most);
    let outer = Rect { height: most.max(height), ..area };
    let outer = paint::centred(outer, width, height);
    let waiting = around.shared.questions.len();
    let count = if waiting > 0 { format!("1 of {}", waiting + 1) } else { String::new() };
    let tool = harmless(&approval.request.tool);
    let tool = match approval.request.preview.as_ref().and_then(|diff| diff.path.file_name()) {
        Some(name) => {
            // The rest of the title row holds the tool, the decoration of a title, and the number
            // of waiting questions.
            let room = width.saturating_sub(paint::width(&tool) + 14);
            format!("{tool}  {}", both_ends(&visible_path(&name.to_string_lossy()), room))
        }
        None => tool,
    };
    let title = match approval.request.kind {
        ApprovalKind::SandboxEscalation => format!("{tool}, outside the sandbox"),
        ApprovalKind::Permission | ApprovalKind::RepeatedCall | ApprovalKind::Budget => tool,
    };
    let asker = around.shared.asker.as_ref().and_then(|it| it.name.as_deref());
    let title = match asker {
        Some(name) => format!("{}: {title}", harmless(name)),
        None => title,
    };
    let inner = paint::frame(&title, &count, styles, outer, buffer);

    let shown = usize::from(inner.height.saturating_sub(fixed - 2)).max(1);
    let scroll = approval.scroll.min(what.len().saturating_sub(shown));
    for (y, row) in (inner.y..inner.y + inner.height).zip(scroll..scroll + shown) {
        let place = Rect { y, height: 1, ..inner };
        what.draw(row, styles, place, buffer);
        if let Some(change) = what.box_at(row) {
            let width = MARGIN.min(place.width);
            measured.boxes.push((Rect { width, ..place }.into(), change));
        }
    }
    measured.extent = ScrollExtent { rows: what.len(), shown };
    measured.hunk_rows = what.changes.clone();
    let split = inner.y + u16::try_from(shown).unwrap_or(0);
    if what.len() > shown {
        let more = what.len() - shown - scroll;
        let up = around.shared.settings.keys.key(ApprovalKey::Scroll(ScrollAction::LineUp));
        let down = around.shared.settings.keys.key(ApprovalKey::Scroll(ScrollAction::LineDown));
        let text = match (more, approval.review) {
            (0, _) => format!("{up} scrolls back"),
            (more, QuestionReview::Seen) => format!("{more} more below: {down}"),
            (more, QuestionReview::Unseen) => {
                format!("{more} more below: {down} to the end, then it can be approved")
            }
        };
        let place = Rect { y: split, height: 1, ..inner };
        paint::spans(
            &[span(truncate(&text, inner.width), StyleRole::Warning)],
            styles,
            place,
            buffer,
        );
        if approval.stage == ApprovalStage::Choosing {
            let how = if more == 0 { ScrollAction::PageUp } else { ScrollAction::PageDown };
            measured.answers.push((place.into(), ApprovalKey::Scroll(how)));
        }
    }
    let top = split + 1;
    for (y, row) in (top..inner.y + inner.height).zip(&answers.rows) {
        let place = Rect { y, height: 1, ..inner };
        paint::spans(&row.spans, styles, place, buffer);
        measured.answers.extend(row.buttons.iter().map(|button| {
            let (x, width) = (place.x + button.from, button.width);
            (Rect { x, width, ..place }.intersection(place).into(), button.key)
        }));
    }
    let (row, column) = answers.caret?;
    Some(Position {
        x: (inner.x + column).min(inner.x + inner.width),
        y: top + u16::try_from(row).unwrap_or(0),
    })
}
