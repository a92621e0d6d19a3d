//! Draws the permission question above the input, at full width: what would run, what the rules say
//! about it, and the answers.
//!
//! The question shows exactly what runs, with hidden characters made visible. The subject scrolls;
//! the title and the marked answer are always on screen. The cells that can be clicked are recorded in
//! the geometry.

mod answers;
mod subject;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use unicode_segmentation::UnicodeSegmentation;

use crate::tui::app::keymap::{ApprovalKey, ScrollAction};
use crate::tui::dialogs::approval::{ApprovalDialog, ApprovalStage, offers, words};
use crate::tui::dialogs::dialog::DialogView;
use crate::tui::dialogs::geometry::DialogGeometry;
use crate::tui::dialogs::geometry::ScrollExtent;
use crate::tui::dialogs::review::QuestionReview;
use crate::tui::layout::{StyleRole, StyledSpan};

use crate::domain::{ApprovalId, ApprovalRequest, pluralise};
use crate::tui::view::blocks::harmless;
use crate::tui::view::layouts::ViewLayouts;
use crate::tui::view::paint;
use crate::tui::view::paint::{RoleStyles, span, truncate};
use answers::{AnswerLayout, ApprovalAnswers, answers};
use subject::{ApprovalSubject, MARGIN};

/// Columns on the left for the bar and a space, and one on the right.
const MARGINS: u16 = 3;
/// Below this width answers are words in a row.
const NARROW: u16 = 48;
/// On fewer columns a command cannot be judged, so the question takes no answer.
const LEAST_WIDTH: u16 = 20;
/// From this width on answers can stand in two columns.
const TWO_COLUMNS: u16 = 70;
/// On screens with fewer rows the question lists no others, and no verdicts of rules.
const ROOMY: u16 = 18;
/// Rows of a long subject that are to be on screen before each answer gets a row of its own.
const LONG_SUBJECT: usize = 12;
/// Rows of a subject that are to be on screen before answers get more than one row.
const SUBJECT: usize = 3;

/// The parts of the question at a width.
struct QuestionParts<'a> {
    /// Title, description and danger.
    head: Vec<Vec<StyledSpan>>,
    counter: String,
    subject: ApprovalSubject<'a>,
    /// The requests that the subject lists and that a yes to all would answer.
    listed: Vec<ApprovalId>,
}

/// How the rows of the question are divided.
#[derive(Debug, PartialEq, Eq)]
struct QuestionRows {
    head: usize,
    subject: usize,
    /// Whether a row below the subject says how much of it is out of sight.
    has_rest: bool,
    answers: usize,
}

impl QuestionRows {
    /// Divides `height` rows among so many of each part. The marked answer and a row of the subject
    /// stay longest, then the title.
    fn divide(height: usize, head: usize, subject: usize, answers: usize) -> Self {
        let head = head.min(height.saturating_sub(2).max(1)).min(height);
        let rest = height - head;
        if subject + answers <= rest {
            return Self { head, subject, has_rest: false, answers };
        }
        let least = if rest > 6 { SUBJECT + 1 } else { 2 };
        let answers = answers.min(rest.saturating_sub(least)).max(rest.min(2) / 2);
        let room = rest - answers;
        match subject > room && room > 1 {
            true => Self { head, subject: room - 1, has_rest: true, answers },
            false => Self { head, subject: room.min(subject), has_rest: false, answers },
        }
    }

    /// Whether what is asked can be read: the title, the danger if there is one, a row of the subject,
    /// and an answer.
    fn can_be_read(&self, request: &ApprovalRequest, subject: usize) -> bool {
        let head = if request.dangers.is_empty() { 1 } else { 2 };
        self.head >= head && self.subject >= subject.min(1) && self.answers > 0
    }
}

/// The rows that the question takes at this width, of `room`.
pub fn rows_wanted(
    around: DialogView<'_>,
    approval: &ApprovalDialog,
    layouts: &mut ViewLayouts,
    (width, room): (u16, u16),
) -> u16 {
    let width = width.saturating_sub(MARGINS).max(1);
    let parts = parts(around, approval, layouts, width);
    let above = (parts.head.len(), parts.subject.len());
    let (answers, gap) = fitting_answers(around, approval, above, width, room.into());
    let wanted = above.0 + above.1 + gap + answers.rows.len();
    u16::try_from(wanted).unwrap_or(u16::MAX).min(room)
}

/// The answers as they are shown below so many rows of title and subject in a question of so many
/// rows, and the empty rows above them. They yield to the subject: first the empty row goes, then they
/// stand in two columns, and then they are words in a row.
fn fitting_answers(
    around: DialogView<'_>,
    approval: &ApprovalDialog,
    (head, subject): (usize, usize),
    width: u16,
    height: usize,
) -> (ApprovalAnswers, usize) {
    let layout = |layout| answers(around, approval, width, layout);
    if width < NARROW {
        return (layout(AnswerLayout::Packed), 0);
    }
    let rows = layout(AnswerLayout::Rows);
    if approval.stage != ApprovalStage::Choosing {
        return (rows, 0);
    }
    let left = |answers: &ApprovalAnswers| height.saturating_sub(head + answers.rows.len());
    if subject <= left(&rows) {
        let gap = usize::from(subject > 0 && subject < left(&rows));
        return (rows, gap);
    }
    let columns = (width >= TWO_COLUMNS).then(|| layout(AnswerLayout::Columns));
    let columns = columns.filter(|columns| columns.rows.len() < rows.rows.len());
    match columns {
        Some(columns) if subject <= left(&columns) => (columns, 0),
        // One row less than what is left is for what says how much there is below.
        _ if LONG_SUBJECT < left(&rows) => (rows, 0),
        Some(columns) if SUBJECT < left(&columns) => (columns, 0),
        None if SUBJECT < left(&rows) => (rows, 0),
        Some(_) | None => (layout(AnswerLayout::Packed), 0),
    }
}

/// Draws the question. Returns the caret's cell while the user types in it.
pub fn draw(
    around: DialogView<'_>,
    approval: &ApprovalDialog,
    layouts: &mut ViewLayouts,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
    measured: &mut DialogGeometry,
) -> Option<Position> {
    let area = area.intersection(*buffer.area());
    measured.docked = Some(area.into());
    measured.is_cramped = true;
    if area.is_empty() {
        return None;
    }
    paint::clear(area, styles, buffer);
    let bar =
        if approval.request.dangers.is_empty() { StyleRole::Warning } else { StyleRole::Error };
    for y in area.y..area.y + area.height {
        paint::spans(&[span("▌", bar)], styles, Rect { y, width: 1, height: 1, ..area }, buffer);
    }
    let left = 2.min(area.width);
    let inner = Rect {
        x: area.x + left,
        width: area.width.saturating_sub(MARGINS).max(1).min(area.width - left),
        ..area
    };
    if inner.width == 0 {
        return None;
    }
    let height = usize::from(inner.height);
    let QuestionParts { head, counter, subject, listed } =
        parts(around, approval, layouts, inner.width);
    measured.listed = listed;
    let above = (head.len(), subject.len());
    let (answers_shown, gap) = fitting_answers(around, approval, above, inner.width, height);
    let rows = QuestionRows::divide(height - gap, above.0, above.1, answers_shown.rows.len());

    let row_at = |row: usize| {
        let y = inner.y + u16::try_from(row).unwrap_or(u16::MAX).min(inner.height - 1);
        Rect { y, height: 1, ..inner }
    };
    // The title stays, then the danger, which is the last of the head.
    let title = head.first().map_or(&[][..], |title| title);
    let counter = [span(counter, StyleRole::Muted)];
    paint::both_edges(title, &counter, styles, row_at(0), buffer);
    measured.is_cramped = area.width < LEAST_WIDTH || !rows.can_be_read(&approval.request, above.1);
    if measured.is_cramped {
        let text = truncate("Enlarge the window to answer.", inner.width);
        let place = row_at(usize::from(inner.height > 1));
        paint::clear(place, styles, buffer);
        paint::spans(&[span(text, StyleRole::Warning)], styles, place, buffer);
        return None;
    }
    let left_out = head.len() - rows.head.saturating_sub(1).min(head.len());
    for (at, line) in head.iter().skip(left_out.max(1)).enumerate() {
        paint::spans(line, styles, row_at(1 + at), buffer);
    }
    let shown = rows.subject;
    let scroll = approval.scroll.min(subject.len().saturating_sub(shown));
    for (at, row) in (scroll..scroll + shown).enumerate() {
        let place = row_at(rows.head + at);
        subject.draw(row, styles, place, buffer);
        if let Some(change) = subject.box_at(row) {
            let width = MARGIN.min(place.width);
            measured.boxes.push((Rect { width, ..place }.into(), change));
        }
    }
    measured.extent = ScrollExtent { rows: subject.len(), shown };
    measured.hunk_rows = subject.changes.clone();
    if rows.has_rest {
        let place = row_at(rows.head + shown);
        let below = subject.len() - shown - scroll;
        draw_rest(around, approval, below, styles, place, buffer, measured);
    }
    let top = rows.head + shown + usize::from(rows.has_rest) + gap;
    draw_answers(&answers_shown, top, rows.answers, styles, inner, buffer, measured)
}

/// Says how much of the subject is below the last row on screen.
fn draw_rest(
    around: DialogView<'_>,
    approval: &ApprovalDialog,
    below: usize,
    styles: &dyn RoleStyles,
    place: Rect,
    buffer: &mut Buffer,
    measured: &mut DialogGeometry,
) {
    let keys = &around.shared.settings.keys;
    let up = keys.key(ApprovalKey::Scroll(ScrollAction::PageUp));
    let down = keys.key(ApprovalKey::Scroll(ScrollAction::PageDown));
    let lines = pluralise(below, "more line");
    let text = match (below, approval.review) {
        (0, _) => format!("{up} scrolls back"),
        (_, QuestionReview::Seen) => format!("{lines}: {down}"),
        (_, QuestionReview::Unseen) => format!("{lines}. Scroll to the end to approve: {down}"),
    };
    let text = truncate(&text, place.width);
    paint::spans(&[span(text, StyleRole::Warning)], styles, place, buffer);
    if approval.stage == ApprovalStage::Choosing {
        let how = if below == 0 { ScrollAction::PageUp } else { ScrollAction::PageDown };
        measured.answers.push((place.into(), ApprovalKey::Scroll(how)));
    }
}

/// Draws as many rows of answers as there is room for, that of the mark among them.
fn draw_answers(
    answers: &ApprovalAnswers,
    top: usize,
    shown: usize,
    styles: &dyn RoleStyles,
    inner: Rect,
    buffer: &mut Buffer,
    measured: &mut DialogGeometry,
) -> Option<Position> {
    let first = (answers.marked + 1).saturating_sub(shown.max(1));
    let place_of = |at: usize| {
        let y = inner.y + u16::try_from(top + at).unwrap_or(u16::MAX);
        Rect { y, height: 1, ..inner }
    };
    for (at, row) in answers.rows.iter().skip(first).take(shown).enumerate() {
        let place = place_of(at).intersection(inner);
        if place.is_empty() {
            break;
        }
        paint::spans(&row.spans, styles, place, buffer);
        measured.answers.extend(row.buttons.iter().map(|button| {
            let (x, width) = (place.x + button.from, button.width);
            (Rect { x, width, ..place }.intersection(place).into(), button.key)
        }));
    }
    let (row, column) = answers.caret?;
    let place = place_of(row.checked_sub(first)?).intersection(inner);
    (!place.is_empty())
        .then(|| Position { x: (place.x + column).min(place.x + place.width), y: place.y })
}

fn parts<'a>(
    around: DialogView<'_>,
    approval: &'a ApprovalDialog,
    layouts: &mut ViewLayouts,
    width: u16,
) -> QuestionParts<'a> {
    let settings = &around.shared.settings;
    let request = &approval.request;
    let mut listed = offers::waiting_with(around.shared);
    if around.shared.geometry.height < ROOMY {
        listed.clear();
    }
    let counter = words::counter(around.shared.question_number, around.shared.questions.len());
    let asker = around.shared.asker.as_ref().and_then(|it| it.name.as_deref());
    let asker = asker.map_or_else(String::new, |name| format!("{}: ", harmless(name)));
    // The name of a file has to fit: what it does not say of the path stands below.
    let room = width.saturating_sub(paint::width(&asker) + paint::width(&counter) + 12);
    let path = request.preview.as_ref().map(|diff| words::shown_path(&diff.path, settings));
    let is_one_file = request.other_previews.is_empty();
    let name = path.as_ref().map_or_else(String::new, |path| match paint::width(path) <= room {
        true => path.clone(),
        false => both_ends(path.rsplit('/').next().unwrap_or(path), room),
    });
    let is_named = is_one_file && path.as_ref() == Some(&name);
    let mut title = vec![span(asker + &words::title(request, &name), StyleRole::Strong)];
    let subject = ApprovalSubject::new(around, approval, layouts, (width, is_named), &listed);
    if is_named || !is_one_file {
        let (added, removed) = words::line_counts(request);
        title.push(span(format!("  +{added}"), StyleRole::Success));
        title.push(span(format!(" -{removed}"), StyleRole::Error));
    }
    let mut head = vec![title];
    if let Some(text) = words::description(request) {
        head.push(vec![span(truncate(&text, width), StyleRole::Muted)]);
    }
    if let Some(text) = words::formatting(request) {
        head.push(vec![span(truncate(&text, width), StyleRole::Muted)]);
    }
    let always = settings.keys.key(ApprovalKey::Always);
    if let Some(text) = words::rule_offer(approval, &always, settings, width) {
        head.push(vec![span(truncate(&text, width), StyleRole::Muted)]);
    }
    if let Some(text) = words::dangers(request) {
        let facts = words::facts(request);
        let danger = |text: &str| span(truncate(text, width), StyleRole::Error);
        match facts.map(|facts| (format!("{text}: {facts}"), facts)) {
            None => head.push(vec![danger(&text)]),
            Some((all, facts)) if paint::width(&all) <= width => {
                head.push(vec![danger(&format!("{text}: ")), span(facts, StyleRole::Text)]);
            }
            // The danger stays longest where rows are few, so it is the last.
            Some((_, facts)) => {
                head.push(vec![span(truncate(&facts, width), StyleRole::Text)]);
                head.push(vec![danger(&text)]);
            }
        }
    }
    let listed = listed.iter().map(|request| request.id).collect();
    QuestionParts { head, counter, subject, listed }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_the_height_the_rows_fit_and_an_answer_and_the_subject_stay() {
        for (head, subject, answers) in [(1, 1, 7), (3, 90, 7), (2, 4, 3), (1, 0, 1)] {
            for height in 0..40 {
                let rows = QuestionRows::divide(height, head, subject, answers);
                let sum = rows.head + rows.subject + usize::from(rows.has_rest) + rows.answers;
                assert!(sum <= height, "{height}: {rows:?}");
                if height >= 3 {
                    let has_all = rows.answers > 0 && (rows.subject > 0 || subject == 0);
                    assert!(has_all && rows.head > 0, "{height}: {rows:?}");
                }
            }
        }
    }
}
