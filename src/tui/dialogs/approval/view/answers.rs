//! The answers of the question, one on each row, and the cells that each of them covers; while the
//! user types, the text field instead.

use crate::domain::ApprovalKind;
use crate::permissions::meaning;
use crate::tui::app::editor::TextEditor;
use crate::tui::app::keymap::{ApprovalKey, FieldKey, Keymap};
use crate::tui::app::softwrap;
use crate::tui::dialogs::approval::offers::OfferedAnswer;
use crate::tui::dialogs::approval::{ApprovalDialog, ApprovalRuleSlot, ApprovalStage, words};
use crate::tui::dialogs::dialog::DialogView;
use crate::tui::layout::{StyleRole, StyledSpan, plain};
use crate::tui::view::blocks::harmless;
use crate::tui::view::field;
use crate::tui::view::paint;
use crate::tui::view::paint::span;

/// The rows below the subject of the question.
#[derive(Default)]
pub(super) struct ApprovalAnswers {
    pub(super) rows: Vec<ApprovalAnswerRow>,
    /// The caret's row and column.
    pub(super) caret: Option<(usize, u16)>,
    /// The row that has to stay on screen: that of the mark.
    pub(super) marked: usize,
}

/// A row of answers, with its buttons.
#[derive(Default)]
pub(super) struct ApprovalAnswerRow {
    pub(super) spans: Vec<StyledSpan>,
    pub(super) buttons: Vec<ApprovalButton>,
}

/// The columns of a row that belong to one answer.
pub(super) struct ApprovalButton {
    pub(super) from: u16,
    pub(super) width: u16,
    pub(super) key: ApprovalKey,
}

/// How answers share rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerLayout {
    /// Each has rows of its own.
    Rows,
    /// Each yes on the left, each no on the right.
    Columns,
    /// As many as fit share a row, in a word or two.
    Packed,
}

/// The rows for the current stage of a dialog that has this much room inside.
pub(super) fn answers(
    around: DialogView<'_>,
    approval: &ApprovalDialog,
    width: u16,
    layout: AnswerLayout,
) -> ApprovalAnswers {
    let keys = &around.shared.settings.keys;
    match &approval.stage {
        ApprovalStage::Choosing => {
            let mut answers = match layout {
                AnswerLayout::Rows => rows(keys, approval, &approval.rows(), width),
                AnswerLayout::Columns => columns(keys, approval, width),
                AnswerLayout::Packed => packed(keys, approval, width),
            };
            mute_before_guard(approval, &mut answers.rows);
            answers
        }
        ApprovalStage::Rule(slot, editor) => {
            let mut about = words::about_rule(approval, *slot, &around.shared.settings);
            if matches!(slot, ApprovalRuleSlot::Allow(_)) && approval.allow_rules.len() > 1 {
                about.push_str(&format!("  ({}: next rule)", keys.key(FieldKey::Next)));
            }
            let mut answers = field(&about, editor, width);
            if let ApprovalRuleSlot::Allow(_) = slot {
                answers.rows.extend(rule_warning(&editor.text(), width));
            }
            answers
        }
        ApprovalStage::Command(editor) => {
            field("Edit the command. slug checks it again.", editor, width)
        }
        ApprovalStage::Instruction(editor) => field("What should it do instead?", editor, width),
    }
}

impl ApprovalAnswerRow {
    /// Appends text that is not an answer.
    fn text(mut self, text: impl Into<String>, role: StyleRole) -> Self {
        self.spans.push(StyledSpan::new(text, role));
        self
    }

    fn button(mut self, key: ApprovalKey, spans: impl IntoIterator<Item = StyledSpan>) -> Self {
        let from = paint::spans_width(&self.spans);
        self.spans.extend(spans);
        let width = paint::spans_width(&self.spans) - from;
        self.buttons.push(ApprovalButton { from, width, key });
        self
    }
}

/// Mutes the answers while the dialog does not take keys yet.
fn mute_before_guard(approval: &ApprovalDialog, rows: &mut [ApprovalAnswerRow]) {
    if !approval.guard.is_armed() {
        for span in rows.iter_mut().flat_map(|row| &mut row.spans) {
            span.role = StyleRole::Muted;
        }
    }
}

/// The colour of an answer's key: muted where the answer would do nothing now.
fn role_of(approval: &ApprovalDialog, answer: OfferedAnswer) -> StyleRole {
    let is_possible = match answer {
        OfferedAnswer::Yes | OfferedAnswer::OnTerminal => approval.can_approve(),
        OfferedAnswer::Session if approval.request.kind == ApprovalKind::Budget => true,
        OfferedAnswer::YesToWaiting | OfferedAnswer::Session | OfferedAnswer::Always => {
            approval.can_save_rules()
        }
        OfferedAnswer::No | OfferedAnswer::Never | OfferedAnswer::Instruct => {
            return StyleRole::Error;
        }
        OfferedAnswer::EditCommand => return StyleRole::Key,
    };
    if is_possible { StyleRole::Success } else { StyleRole::Muted }
}

/// One answer below the other. Long ones go on below themselves: a rule is never cut.
fn rows(
    keys: &Keymap,
    approval: &ApprovalDialog,
    offered: &[OfferedAnswer],
    width: u16,
) -> ApprovalAnswers {
    let widest = offered.iter().map(|it| paint::width(&keys.key(it.key()))).max().unwrap_or(1);
    let indent = widest.saturating_add(4);
    let mut answers = ApprovalAnswers::default();
    for answer in offered.iter().copied() {
        let is_marked = answer == approval.mark;
        if is_marked {
            answers.marked = answers.rows.len();
        }
        let mark = if is_marked { "❯ " } else { "  " };
        let name = keys.key(answer.key());
        let pad = usize::from(widest.saturating_sub(paint::width(&name))) + 2;
        let mut start = vec![
            span(mark, StyleRole::User),
            span(name, role_of(approval, answer)),
            span(" ".repeat(pad), StyleRole::Text),
        ];
        let role = if is_marked { StyleRole::Strong } else { StyleRole::Text };
        let room = width.saturating_sub(indent).max(8);
        let lines = words::answer(approval, answer);
        for line in lines.iter().flat_map(|text| plain::render(text, role, room)) {
            start.extend(line.spans);
            answers.rows.push(ApprovalAnswerRow::default().button(answer.key(), start));
            start = vec![span(" ".repeat(usize::from(indent)), StyleRole::Text)];
        }
        if answer == OfferedAnswer::Always {
            let warnings = approval.allow_rules.iter().flat_map(|rule| rule_warning(rule, width));
            answers.rows.extend(warnings);
        }
    }
    answers
}

/// The answers that let something run on the left, the others on the right, as on two pages.
fn columns(keys: &Keymap, approval: &ApprovalDialog, width: u16) -> ApprovalAnswers {
    let (left, right): (Vec<_>, Vec<_>) =
        approval.rows().into_iter().partition(|answer| !answer.is_no());
    let is_right = right.contains(&approval.mark);
    let column = width.saturating_sub(GAP) / 2;
    let left = rows(keys, approval, &left, column);
    let right = rows(keys, approval, &right, column);
    let marked = if is_right { right.marked } else { left.marked };
    let count = left.rows.len().max(right.rows.len());
    let (mut left, mut right) = (left.rows.into_iter(), right.rows.into_iter());
    let rows = (0..count).map(|_| {
        let mut row = left.next().unwrap_or_default();
        let Some(beside) = right.next() else { return row };
        let from = column + GAP;
        let pad = from.saturating_sub(paint::spans_width(&row.spans));
        row = row.text(" ".repeat(usize::from(pad)), StyleRole::Text);
        row.spans.extend(beside.spans);
        let buttons = beside.buttons.into_iter();
        row.buttons.extend(buttons.map(|it| ApprovalButton { from: it.from + from, ..it }));
        row
    });
    ApprovalAnswers { rows: rows.collect(), caret: None, marked }
}

/// Columns between a yes and a no in the same row.
const GAP: u16 = 2;

/// A warning about what a rule permits beyond its text, shown before it is saved.
fn rule_warning(rule: &str, width: u16) -> Vec<ApprovalAnswerRow> {
    let text = meaning(rule).map(|means| format!("! {} {means}.", harmless(rule)));
    let lines = text.map(|text| plain::render(&text, StyleRole::Warning, width));
    lines
        .into_iter()
        .flatten()
        .map(|line| ApprovalAnswerRow { spans: line.spans, ..ApprovalAnswerRow::default() })
        .collect()
}

/// The answers in as few rows as possible, for small screens.
fn packed(keys: &Keymap, approval: &ApprovalDialog, width: u16) -> ApprovalAnswers {
    let mut answers = ApprovalAnswers::default();
    let mut row = ApprovalAnswerRow::default();
    for answer in approval.rows() {
        let is_marked = answer == approval.mark;
        let mark = if is_marked { "❯" } else { "" };
        let word =
            format!("{mark}{} {}", keys.key(answer.key()), words::short_answer(approval, answer));
        let taken = paint::spans_width(&row.spans);
        if taken > 0 && taken.saturating_add(2 + paint::width(&word)) > width {
            answers.rows.push(std::mem::take(&mut row));
        } else if taken > 0 {
            row = row.text("  ", StyleRole::Text);
        }
        if is_marked {
            answers.marked = answers.rows.len();
        }
        let role = match role_of(approval, answer) {
            StyleRole::Muted => StyleRole::Muted,
            _ if is_marked => StyleRole::Strong,
            _ => StyleRole::Text,
        };
        row = row.button(answer.key(), [span(word, role)]);
    }
    answers.rows.push(row);
    answers
}

fn field(words: &str, editor: &TextEditor, width: u16) -> ApprovalAnswers {
    let text = editor.text();
    let typed = editor.rows(width.saturating_sub(3).max(1));
    let (row, column) = softwrap::place_with(&text, &typed, editor.caret(), editor.chips());
    let first = row.saturating_sub(3);
    let words = plain::render(words, StyleRole::Muted, width).into_iter();
    let mut rows: Vec<ApprovalAnswerRow> = words
        .map(|line| ApprovalAnswerRow { spans: line.spans, ..ApprovalAnswerRow::default() })
        .collect();
    let above = rows.len();
    for (number, part) in typed.iter().enumerate().skip(first).take(4) {
        let mark = if number == 0 { "❯ " } else { "  " };
        let mut spans = vec![span(mark, StyleRole::User)];
        spans.extend(field::typed_row(editor, &text, part));
        rows.push(ApprovalAnswerRow { spans, ..ApprovalAnswerRow::default() });
    }
    let marked = above + row - first;
    ApprovalAnswers { rows, caret: Some((marked, column + 2)), marked }
}
