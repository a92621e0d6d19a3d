//! Draws the rewind dialog: what would happen, and the choices.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::app::keymap::RewindKey;
use crate::tui::dialogs::dialog::DialogView;
use crate::tui::dialogs::geometry::DialogGeometry;
use crate::tui::dialogs::geometry::ScrollExtent;
use crate::tui::dialogs::rewind::{RewindDialog, RewindFileOutcome, RewindFileQuestion, RewindRow};
use crate::tui::layout::{StyleRole, StyledLine, plain};

use crate::tui::view::blocks::harmless;
use crate::tui::view::paint;
use crate::tui::view::paint::{RoleStyles, line, span, truncate};

/// The dialog's greatest width.
const WIDEST: u16 = 90;

/// Draws the dialog, centred in `area`.
pub fn draw(
    around: DialogView<'_>,
    dialog: &RewindDialog,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
    measured: &mut DialogGeometry,
) {
    let width = area.width.saturating_sub(4).min(WIDEST);
    // The width without the frame and its margins.
    let inside = width.saturating_sub(6).max(1);
    let rows = dialog.rows(&around.shared.settings.cwd);
    let column = rows.iter().map(name_width).max().unwrap_or(0).min(inside / 2);
    let lines: Vec<(StyledLine, RewindFileQuestion)> = rows
        .iter()
        .flat_map(|row| draw_row(row, column, inside).into_iter().map(|line| (line, asked(row))))
        .collect();
    let offers = offers(around, dialog);
    let below = if offers.is_empty() { 0 } else { offers.len() + 1 };
    let wanted = u16::try_from(lines.len() + below + 2).unwrap_or(u16::MAX);
    let height = wanted.min(area.height.saturating_sub(2)).max(4.min(area.height));
    let outer = paint::centred(area, width, height);
    let inner = paint::frame(dialog.title(), "", styles, outer, buffer);
    let below = u16::try_from(below).unwrap_or(inner.height).min(inner.height);
    let above = Rect { height: inner.height - below, ..inner };
    let shown = lines.iter().skip(dialog.scroll);
    for (y, (line, asked)) in (above.y..above.y + above.height).zip(shown) {
        let place = Rect { y, height: 1, ..above };
        let text = || line.spans.iter().map(|span| span.text.as_str()).collect::<String>();
        let spans = match asked {
            // In a row that is drawn in reverse, each colour would become a block.
            RewindFileQuestion::Next => &[span(text(), StyleRole::Selected)][..],
            RewindFileQuestion::Yes | RewindFileQuestion::No => &line.spans,
        };
        if *asked == RewindFileQuestion::Next {
            paint::selected(place, styles, buffer);
        }
        paint::spans(spans, styles, place, buffer);
    }
    let hidden = lines.len().saturating_sub(dialog.scroll + usize::from(above.height));
    if below > 0 {
        let gap = Rect { y: above.y + above.height, height: 1, ..inner };
        if hidden > 0 {
            let text = format!("… {hidden} more below");
            paint::spans(&[span(text, StyleRole::Muted)], styles, gap, buffer);
        }
        for (y, line) in (gap.y + 1..inner.y + inner.height).zip(&offers) {
            paint::spans(&line.spans, styles, Rect { y, height: 1, ..inner }, buffer);
        }
    }
    measured.extent = ScrollExtent { rows: lines.len(), shown: usize::from(above.height) };
    measured.is_cramped = above.height == 0;
}

fn name_width(row: &RewindRow) -> u16 {
    match row {
        RewindRow::File { name, .. } => paint::width(&harmless(name)),
        RewindRow::Gap | RewindRow::Message(_) | RewindRow::Note(_) | RewindRow::Warning(_) => 0,
    }
}

fn asked(row: &RewindRow) -> RewindFileQuestion {
    match row {
        RewindRow::File { asked, .. } => *asked,
        RewindRow::Gap | RewindRow::Message(_) | RewindRow::Note(_) | RewindRow::Warning(_) => {
            RewindFileQuestion::No
        }
    }
}

fn draw_row(row: &RewindRow, column: u16, width: u16) -> Vec<StyledLine> {
    match row {
        RewindRow::Gap => vec![StyledLine::default()],
        RewindRow::Message(text) => {
            let text = truncate(&harmless(text), width.saturating_sub(2));
            vec![line(vec![span("❯ ", StyleRole::User), span(text, StyleRole::Strong)])]
        }
        RewindRow::Note(text) => plain::render(text, StyleRole::Muted, width),
        RewindRow::Warning(text) => plain::render(&format!("! {text}"), StyleRole::Warning, width),
        RewindRow::File { name, lines, what, fate, asked: _ } => {
            let name = truncate(&harmless(name), column);
            let pad = " ".repeat(usize::from(column.saturating_sub(paint::width(&name))) + 2);
            let role = match fate {
                RewindFileOutcome::Back | RewindFileOutcome::BackFromCommand => StyleRole::Muted,
                RewindFileOutcome::Stays => StyleRole::Warning,
            };
            let (added, removed) = match lines {
                Some((added, removed)) => (format!("+{added}"), format!("-{removed}")),
                None => (String::new(), String::new()),
            };
            let room = width.saturating_sub(column + 4 + 12);
            vec![line(vec![
                span(fate.mark(), role),
                span(name, StyleRole::Text),
                span(pad, StyleRole::Text),
                span(format!("{added:>5} "), StyleRole::Success),
                span(format!("{removed:<5} "), StyleRole::Error),
                span(truncate(&harmless(what), room), role),
            ])]
        }
    }
}

/// The keys and their effects.
fn offers(around: DialogView<'_>, dialog: &RewindDialog) -> Vec<StyledLine> {
    let offers = dialog.offers();
    if offers.is_empty() {
        return Vec::new();
    }
    let keys = &around.shared.settings.keys;
    let label = |key| span(format!("{:<5} ", keys.key(key)), StyleRole::Key);
    let all = offers.into_iter().chain([(RewindKey::Back, "cancel")]);
    let offers = all.map(|(key, word)| line(vec![label(key), span(word, StyleRole::Text)]));
    let answer = dialog.answer(&around.shared.settings.cwd).map(|(text, count)| {
        let next = match count {
            1 => String::new(),
            _ => format!(" ({}: the next)", keys.key(RewindKey::NextQuestion)),
        };
        line(vec![
            label(RewindKey::Answer),
            span(harmless(&text), StyleRole::Text),
            span(next, StyleRole::Muted),
        ])
    });
    answer.into_iter().chain(offers).collect()
}
