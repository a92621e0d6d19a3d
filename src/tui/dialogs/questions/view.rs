//! Draws a question of the model above the input, at full width: the question, a row for each answer, and
//! below them what the marked option would look like.

use ratatui::layout::{Position, Rect};

use crate::domain::pluralise;
use crate::tui::app::editor::TextEditor;
use crate::tui::app::keymap::{QuestionKey, ScrollAction};
use crate::tui::app::softwrap;
use crate::tui::dialogs::dialog::{DialogCanvas, DialogView};
use crate::tui::dialogs::geometry::ScrollExtent;
use crate::tui::dialogs::review::QuestionReview;
use crate::tui::layout::{StyleRole, StyledSpan, plain};
use crate::tui::view::ViewLayouts;
use crate::tui::view::blocks::harmless;
use crate::tui::view::field;
use crate::tui::view::paint::{self, span, truncate};

use super::state::{QuestionField, QuestionRow, QuestionsDialog};

/// Columns on the left for the bar and a space, and one on the right.
const MARGINS: u16 = 3;
/// Columns before the text of a row: the mark, the key, and spaces.
const KEY_COLUMNS: u16 = 5;
/// The most columns of the model's word for a question.
const HEADER_COLUMNS: u16 = 20;
/// The most rows of a question that stay on screen.
const QUESTION_ROWS: usize = 6;
/// Rows of a document that are on screen before each answer has a row.
const DOCUMENT_ROWS: usize = 4;
/// The most rows of the field for the user's own words.
const FIELD_ROWS: usize = 4;

/// A line of the dialog.
struct QuestionLine {
    spans: Vec<StyledSpan>,
    /// The row that a click takes, counted among all rows that can be taken.
    row: Option<usize>,
}

/// The lines of a question at a width.
struct QuestionLines {
    head: Vec<QuestionLine>,
    rows: Vec<QuestionLine>,
    /// The first and last line of the marked row.
    marked: (usize, usize),
    /// The caret's line among `rows` and its column, while the user types.
    caret: Option<(usize, u16)>,
    /// The document above the answers, or what the marked option would look like below them.
    body: Vec<QuestionLine>,
    place: BodyPlace,
    /// The caret's line in the body and its column, while the user changes the document.
    body_caret: Option<(usize, u16)>,
}

/// Where the part that scrolls stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyPlace {
    AboveAnswers,
    BelowAnswers,
}

/// The model's word for the question, and which of several it is; empty where there is neither.
pub(super) fn subject(dialog: &QuestionsDialog) -> String {
    let count = dialog.request.questions.len();
    let header = dialog.question().map_or(String::new(), |it| harmless(&it.header));
    let header = truncate(&header, HEADER_COLUMNS);
    let counter = if count > 1 { format!("{} of {count}", dialog.at + 1) } else { String::new() };
    let parts = [header, counter];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// The rows that the question takes at this width, of `room`.
pub(super) fn rows_wanted(
    around: DialogView<'_>,
    dialog: &QuestionsDialog,
    layouts: &mut ViewLayouts,
    (width, room): (u16, u16),
) -> u16 {
    let width = width.saturating_sub(MARGINS).max(1);
    let lines = question_lines(around, dialog, layouts, width, AnswerDetail::All);
    let wanted = lines.head.len() + lines.rows.len() + lines.body.len();
    u16::try_from(wanted).unwrap_or(u16::MAX).min(room)
}

/// Draws the question. Returns the caret's cell while the user types in it.
pub(super) fn draw(
    around: DialogView<'_>,
    dialog: &QuestionsDialog,
    DialogCanvas { layouts, styles, dock, buffer, measured, .. }: DialogCanvas<'_>,
) -> Option<Position> {
    let area = dock.intersection(*buffer.area());
    measured.docked = Some(area.into());
    measured.is_cramped = true;
    if area.width <= MARGINS || area.height == 0 {
        return None;
    }
    paint::clear(area, styles, buffer);
    for y in area.y..area.y + area.height {
        let cell = Rect { y, width: 1, height: 1, ..area };
        paint::spans(&[span("▌", StyleRole::Assistant)], styles, cell, buffer);
    }
    let inner = Rect { x: area.x + 2, width: area.width - MARGINS, ..area };
    let height = usize::from(inner.height);
    let mut lines = question_lines(around, dialog, layouts, inner.width, AnswerDetail::All);
    if lines.head.len() + lines.rows.len() > height {
        lines = question_lines(around, dialog, layouts, inner.width, AnswerDetail::OfMarked);
    }
    let QuestionLines { head, rows, marked, caret, body, place, body_caret } = lines;
    // The marked row stays longest, then the question, and then some of a document.
    let above = head.len().min(height.saturating_sub(1));
    let least = if place == BodyPlace::AboveAnswers { DOCUMENT_ROWS.min(body.len()) } else { 0 };
    let left = height - above;
    let shown_rows = rows.len().min(left.saturating_sub(least).max(1));
    let first = match rows.len() <= shown_rows {
        true => 0,
        false => (marked.1 + 1).saturating_sub(shown_rows).min(marked.0),
    };
    let room = left - shown_rows.min(left);
    let scroll = dialog.scroll.min(body.len().saturating_sub(room));
    let scroll = match body_caret {
        Some((line, _)) => (line + 1).saturating_sub(room),
        None => scroll,
    };
    let body_shown = room.min(body.len() - scroll);
    measured.extent = ScrollExtent { rows: body.len(), shown: room };
    let lacks_document = place == BodyPlace::AboveAnswers && body_shown == 0;
    measured.is_cramped = above == 0 || shown_rows == 0 || lacks_document;
    let answers = rows.iter().skip(first).take(shown_rows);
    let shown_body = body.iter().skip(scroll).take(room);
    let head = head.iter().take(above);
    let lines: Vec<&QuestionLine> = match place {
        BodyPlace::AboveAnswers => head.chain(shown_body).chain(answers).collect(),
        BodyPlace::BelowAnswers => head.chain(answers).chain(shown_body).collect(),
    };
    for (y, line) in (inner.y..inner.y + inner.height).zip(lines) {
        let place = Rect { y, height: 1, ..inner };
        paint::spans(&line.spans, styles, place, buffer);
        measured.boxes.extend(line.row.map(|row| (place.into(), row)));
    }
    let subject = [span(subject(dialog), StyleRole::Muted)];
    let width = paint::spans_width(&subject).min(inner.width);
    let cell = Rect { x: inner.x + inner.width - width, width, height: 1, ..inner };
    paint::spans(&subject, styles, cell, buffer);
    let below = body.len() - scroll - body_shown;
    if place == BodyPlace::AboveAnswers && below > 0 && body_caret.is_none() {
        let down = around.shared.settings.keys.key(QuestionKey::Scroll(ScrollAction::PageDown));
        let lines = pluralise(below, "more line");
        let rest = match dialog.review {
            QuestionReview::Seen => format!(" {lines}: {down} "),
            QuestionReview::Unseen => format!(" {lines} to read first: {down} "),
        };
        let rest = [span(rest, StyleRole::Warning)];
        let width = paint::spans_width(&rest).min(inner.width);
        let y = inner.y + u16::try_from(above + body_shown).ok()?.saturating_sub(1);
        let cell = Rect { x: inner.x + inner.width - width, y, width, height: 1 };
        paint::clear(cell, styles, buffer);
        paint::spans(&rest, styles, cell, buffer);
    }
    let answers_top = match place {
        BodyPlace::AboveAnswers => above + body_shown,
        BodyPlace::BelowAnswers => above,
    };
    let (line, column) = match body_caret {
        Some((line, column)) => (above + line.checked_sub(scroll)?, column),
        None => {
            let (line, column) = caret?;
            (answers_top + line.checked_sub(first)?, column)
        }
    };
    let y = inner.y + u16::try_from(line).ok()?;
    (y < inner.y + inner.height)
        .then(|| Position { x: (inner.x + column).min(inner.x + inner.width), y })
}

/// Which answers have more than one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerDetail {
    All,
    /// Only the marked one: there is no room for more.
    OfMarked,
}

fn question_lines(
    around: DialogView<'_>,
    dialog: &QuestionsDialog,
    layouts: &mut ViewLayouts,
    width: u16,
    detail: AnswerDetail,
) -> QuestionLines {
    let keys = &around.shared.settings.keys;
    let Some(question) = dialog.question() else {
        return QuestionLines {
            head: Vec::new(),
            rows: Vec::new(),
            marked: (0, 0),
            caret: None,
            body: Vec::new(),
            place: BodyPlace::BelowAnswers,
            body_caret: None,
        };
    };
    let narrower = paint::width(&subject(dialog));
    let narrower = if narrower > 0 { narrower + 2 } else { 0 };
    let asked = harmless(&question.question);
    let mut head = text_lines(&asked, StyleRole::Strong, width.saturating_sub(narrower).max(1));
    if head.len() > QUESTION_ROWS {
        head.truncate(QUESTION_ROWS);
        if let Some(last) = head.last_mut() {
            last.spans.push(span(" …", StyleRole::Muted));
        }
    }
    head.push(QuestionLine { spans: Vec::new(), row: None });

    let chosen = dialog.answers.get(dialog.at).map_or(&[][..], |answer| &answer.chosen);
    let role = |row: QuestionRow| match (dialog.guard.is_armed(), row == dialog.mark) {
        (false, _) => StyleRole::Muted,
        (true, true) => StyleRole::Strong,
        (true, false) => StyleRole::Text,
    };
    let mut rows = Vec::new();
    let (mut marked, mut caret) = ((0, 0), None);
    for (at, row) in dialog.rows().into_iter().enumerate() {
        let (key, label, about) = match row {
            QuestionRow::Option(option) => {
                let offered = &question.options[option];
                let mark = match (question.allows_several, chosen.contains(&option)) {
                    (false, _) => "",
                    (true, true) => "[x] ",
                    (true, false) => "[ ] ",
                };
                let label = format!("{mark}{}", harmless(&offered.label));
                ((option + 1).to_string(), label, offered.description.as_deref().map(harmless))
            }
            QuestionRow::OwnWords => {
                let label = match question.document {
                    None if question.options.is_empty() => "Type the answer …",
                    None => "In my own words …",
                    Some(_) => "No, and say what to change …",
                };
                (keys.key(QuestionKey::OwnWords), label.to_owned(), None)
            }
            QuestionRow::LeaveOpen => {
                let label = if question.server.is_some() {
                    "Leave it open"
                } else {
                    "Leave it to the model"
                };
                (keys.key(QuestionKey::LeaveOpen), label.to_owned(), None)
            }
        };
        let first = rows.len();
        let is_marked = row == dialog.mark;
        let field = dialog.field.as_ref().filter(|_| row == QuestionRow::OwnWords);
        if let Some(QuestionField::OwnWords(editor)) = field {
            let text = editor.text();
            let typed = editor.rows(width.saturating_sub(KEY_COLUMNS).max(1));
            let (line, column) =
                softwrap::place_with(&text, &typed, editor.caret(), editor.chips());
            let top = (line + 1).saturating_sub(FIELD_ROWS);
            caret = Some((first + line - top, column + KEY_COLUMNS));
            for (number, part) in typed.iter().enumerate().skip(top).take(FIELD_ROWS) {
                let mark = if number == 0 { "❯ " } else { "  " };
                let mut spans = vec![span(format!("{mark}   "), StyleRole::User)];
                spans.extend(field::typed_row(editor, &text, part));
                rows.push(QuestionLine { spans, row: None });
            }
        } else {
            let mark = if is_marked { "❯" } else { " " };
            let mut spans = vec![
                span(format!("{mark} "), StyleRole::User),
                span(format!("{:<3}", truncate(&key, 2)), StyleRole::Key),
            ];
            let room = width.saturating_sub(KEY_COLUMNS).max(1);
            let wrapped = plain::render(&label, role(row), room);
            let mut wrapped = wrapped.into_iter();
            spans.extend(wrapped.next().into_iter().flat_map(|line| line.spans));
            let used = paint::spans_width(&spans);
            let about = about.filter(|text| !text.trim().is_empty());
            let beside = about.as_ref().filter(|text| {
                wrapped.len() == 0 && used + 2 + paint::width(text) <= width && !text.contains('\n')
            });
            if let Some(text) = beside {
                spans.push(span(format!("  {text}"), StyleRole::Muted));
            }
            rows.push(QuestionLine { spans, row: Some(at) });
            let below = wrapped.map(|line| line.spans).chain(
                about
                    .as_ref()
                    .filter(|_| beside.is_none())
                    .into_iter()
                    .flat_map(|text| plain::render(text, StyleRole::Muted, room))
                    .map(|line| line.spans),
            );
            let has_room = detail == AnswerDetail::All || is_marked;
            for spans in below.filter(|_| has_room) {
                let indent = span(" ".repeat(KEY_COLUMNS.into()), StyleRole::Text);
                let spans = std::iter::once(indent).chain(spans).collect();
                rows.push(QuestionLine { spans, row: Some(at) });
            }
        }
        if is_marked {
            marked = (first, rows.len().saturating_sub(1));
        }
    }
    let (body, place, body_caret) = match (dialog.document(), &dialog.field) {
        (Some(_), Some(QuestionField::Document(editor))) => {
            let (lines, caret) = edited_document(editor, width);
            (lines, BodyPlace::AboveAnswers, Some(caret))
        }
        (Some(document), _) => {
            let lines =
                layouts.question_document(dialog.request.id, (document, dialog.revision), width);
            let lines = lines.iter().map(|line| line.spans.clone()).chain([Vec::new()]);
            let lines = lines.map(|spans| QuestionLine { spans, row: None }).collect();
            (lines, BodyPlace::AboveAnswers, None)
        }
        (None, _) => (preview_lines(around, dialog, width), BodyPlace::BelowAnswers, None),
    };
    QuestionLines { head, rows, marked, caret, body, place, body_caret }
}

/// The document in its field, with the caret's line and column.
fn edited_document(editor: &TextEditor, width: u16) -> (Vec<QuestionLine>, (usize, u16)) {
    let text = editor.text();
    let typed = editor.rows(width.saturating_sub(2).max(1));
    let (line, column) = softwrap::place_with(&text, &typed, editor.caret(), editor.chips());
    let lines = typed.iter().map(|part| {
        let bar = span("│ ", StyleRole::User);
        let spans = std::iter::once(bar).chain(field::typed_row(editor, &text, part)).collect();
        QuestionLine { spans, row: None }
    });
    (lines.collect(), (line, column + 2))
}

/// What the marked option would look like, below an empty row.
fn preview_lines(
    around: DialogView<'_>,
    dialog: &QuestionsDialog,
    width: u16,
) -> Vec<QuestionLine> {
    let QuestionRow::Option(option) = dialog.mark else { return Vec::new() };
    let option = dialog.question().and_then(|question| question.options.get(option));
    let Some(preview) = option.and_then(|option| option.preview.as_deref()) else {
        return Vec::new();
    };
    let keys = &around.shared.settings.keys;
    let down = keys.key(QuestionKey::Scroll(ScrollAction::PageDown));
    let room = width.saturating_sub(KEY_COLUMNS).max(1);
    let code = plain::broken_anywhere(&harmless(preview), StyleRole::CodeBlock, room);
    let title = format!("Preview  {down} for more");
    let title = if code.len() > FIELD_ROWS { title } else { "Preview".to_owned() };
    let title = vec![span(title, StyleRole::Muted)];
    [Vec::new(), title]
        .into_iter()
        .chain(code.into_iter().map(|line| {
            let bar = span("  │ ", StyleRole::Muted);
            std::iter::once(bar).chain(line.spans).collect()
        }))
        .map(|spans| QuestionLine { spans, row: None })
        .collect()
}

fn text_lines(text: &str, role: StyleRole, width: u16) -> Vec<QuestionLine> {
    let lines = plain::render(text, role, width).into_iter();
    lines.map(|line| QuestionLine { spans: line.spans, row: None }).collect()
}
