//! The answers of the approval dialog, and the cells that each of them covers; while the user
//! types, the text field instead.

use crate::domain::ApprovalKind;
use crate::permissions::meaning;
use crate::tui::app::editor::TextEditor;
use crate::tui::app::keymap::{ApprovalKey, FieldKey, Keymap};
use crate::tui::app::softwrap;
use crate::tui::app::title::home_path;
use crate::tui::dialogs::approval::{
    ApprovalDialog, ApprovalRequestExt, ApprovalRuleSlot, ApprovalStage,
};
use crate::tui::dialogs::dialog::DialogView;
use crate::tui::layout::{StyleRole, StyledSpan, plain};
use crate::tui::view::blocks::harmless;
use crate::tui::view::field;
use crate::tui::view::paint;
use crate::tui::view::paint::{span, truncate};

/// The rows below the dialog's subject, and the caret's position in them.
pub(super) struct ApprovalAnswers {
    pub(super) rows: Vec<ApprovalAnswerRow>,
    pub(super) caret: Option<(usize, u16)>,
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

/// The answer that doubles the budget.
const TWICE: &str = "go on to twice the budget";

/// The rows for the current stage of a dialog that has this much room inside, on a screen of
/// `height` rows.
pub(super) fn answers(
    around: DialogView<'_>,
    approval: &ApprovalDialog,
    width: u16,
    height: u16,
) -> ApprovalAnswers {
    match &approval.stage {
        ApprovalStage::Choosing => {
            let rows = if height < 20 || width < 60 {
                short(&around.shared.settings.keys, approval, width)
            } else {
                long(around, approval, width)
            };
            ApprovalAnswers { rows: with_guard(approval, rows), caret: None }
        }
        ApprovalStage::Rule(slot, editor) => {
            let words = match slot {
                ApprovalRuleSlot::Allow(_) => "allows",
                ApprovalRuleSlot::Deny => "denies",
            };
            let next = around.shared.settings.keys.key(FieldKey::Next);
            let words = format!("The rule that {words} it from now on. {next}: the next rule.");
            let mut answers = field(&words, editor, width);
            if let ApprovalRuleSlot::Allow(_) = slot {
                answers.rows.extend(rule_warning(&editor.text(), width));
            }
            answers
        }
        ApprovalStage::Command(editor) => {
            field("The command to run instead. It is checked again before it runs.", editor, width)
        }
        ApprovalStage::Instruction(editor) => {
            field("No. What should it do instead?", editor, width)
        }
    }
}

impl ApprovalAnswerRow {
    /// Appends text that is not an answer.
    fn text(mut self, text: impl Into<String>, role: StyleRole) -> Self {
        self.spans.push(StyledSpan::new(text, role));
        self
    }

    /// Appends an answer, padded to at least `columns`.
    fn answer(
        self,
        keys: &Keymap,
        key: ApprovalKey,
        words: &str,
        columns: usize,
        role: StyleRole,
    ) -> Self {
        let spans = [span(keys.key(key), role), span(format!("  {words}"), StyleRole::Text)];
        let wide = usize::from(paint::spans_width(&spans));
        self.button(key, spans).text(" ".repeat(columns.saturating_sub(wide)), StyleRole::Text)
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
fn with_guard(
    approval: &ApprovalDialog,
    mut rows: Vec<ApprovalAnswerRow>,
) -> Vec<ApprovalAnswerRow> {
    if !approval.guard.is_armed() {
        for row in &mut rows {
            for span in &mut row.spans {
                span.role = StyleRole::Muted;
            }
        }
    }
    rows
}

/// The effect of a no.
fn deny_words(approval: &ApprovalDialog) -> &'static str {
    match approval.request.kind {
        ApprovalKind::Permission => "no",
        ApprovalKind::SandboxEscalation => "no",
        ApprovalKind::RepeatedCall | ApprovalKind::Budget => "stop the turn",
    }
}

/// What a yes approves.
fn approve_words(approval: &ApprovalDialog) -> String {
    match approval.request.kind {
        ApprovalKind::Permission => {}
        ApprovalKind::SandboxEscalation => return "run it outside the sandbox".into(),
        ApprovalKind::RepeatedCall => return "go on with it".into(),
        ApprovalKind::Budget => return "one more request".into(),
    }
    match approval.hunks.as_ref().map(|picks| (picks.included_count(), picks.count)) {
        None => "yes, once".into(),
        Some((0, _)) => "no, since none is taken".into(),
        Some((taken, count)) if taken == count => format!("yes, once, all {count} changes"),
        Some((taken, count)) => format!("yes, {taken} of {count} changes"),
    }
}

fn long(around: DialogView<'_>, approval: &ApprovalDialog, width: u16) -> Vec<ApprovalAnswerRow> {
    // The longest answer of the right column has to fit beside the left one.
    let half = usize::from(width.saturating_sub(38)).clamp(27, 37);
    let keys = &around.shared.settings.keys;
    let yes = if approval.can_approve() { StyleRole::Success } else { StyleRole::Muted };
    let and_save = if approval.can_save_rules() { StyleRole::Success } else { StyleRole::Muted };
    let blank = || ApprovalAnswerRow::default().text(" ".repeat(half), StyleRole::Text);
    let first = ApprovalAnswerRow::default().answer(
        keys,
        ApprovalKey::Once,
        &approve_words(approval),
        half,
        yes,
    );
    if approval.request.kind == ApprovalKind::Budget {
        let twice =
            ApprovalAnswerRow::default().answer(keys, ApprovalKey::Session, TWICE, half, yes);
        return vec![
            first.answer(keys, ApprovalKey::No, deny_words(approval), 0, StyleRole::Error),
            twice,
        ];
    }
    let mut second = match approval.offers_rules() {
        true => ApprovalAnswerRow::default().answer(
            keys,
            ApprovalKey::Session,
            "yes, for this session",
            half,
            and_save,
        ),
        false => blank(),
    };
    if let Some(rule) = &approval.deny_rule {
        let taken =
            u16::try_from(half).unwrap_or(0) + paint::width(&keys.key(ApprovalKey::Never)) + 2;
        let words = format!("no, always for {}", harmless(rule));
        let words = truncate(&words, width.saturating_sub(taken));
        second = second.answer(keys, ApprovalKey::Never, &words, 0, StyleRole::Error);
    }
    let mut rows = vec![
        first.answer(keys, ApprovalKey::No, deny_words(approval), 0, StyleRole::Error),
        second,
    ];
    if approval.offers_rules() {
        rows.extend(always(around, approval, width, and_save));
        rows.extend(approval.allow_rules.iter().flat_map(|rule| rule_warning(rule, width)));
    }
    let last = match &approval.hunks {
        Some(_) => ApprovalAnswerRow::default().answer(
            keys,
            ApprovalKey::Pick,
            "take or leave this change",
            half,
            StyleRole::Key,
        ),
        None if approval.request.command().is_some() => ApprovalAnswerRow::default().answer(
            keys,
            ApprovalKey::EditCommand,
            "edit the command",
            half,
            yes,
        ),
        None => blank(),
    };
    let tell = "no, and tell it what to do instead";
    rows.push(last.answer(keys, ApprovalKey::Instruct, tell, 0, StyleRole::Error));
    rows
}

/// The answer that saves rules, with their file.
fn always(
    around: DialogView<'_>,
    approval: &ApprovalDialog,
    width: u16,
    role: StyleRole,
) -> [ApprovalAnswerRow; 2] {
    let keys = &around.shared.settings.keys;
    let rules: Vec<String> = approval.allow_rules.iter().map(|rule| harmless(rule)).collect();
    let file = home_path(&approval.request.rule_file.0, around.shared.settings.home.as_deref());
    let words = format!("yes, always for  {}", rules.join("  "));
    let edit = format!("{} edits the rule", keys.key(ApprovalKey::EditRule));
    let room = usize::from(width.saturating_sub(paint::width(&edit) + 3));
    // The key, the space after it, and a gap before the next text.
    let taken = usize::from(paint::width(&keys.key(ApprovalKey::Always))) + 4;
    let words = truncate(&words, u16::try_from(room.saturating_sub(taken)).unwrap_or(0));
    let row = ApprovalAnswerRow::default()
        .answer(keys, ApprovalKey::Always, &words, room, role)
        .button(ApprovalKey::EditRule, [span(edit, StyleRole::Muted)]);
    let below = if approval.can_approve() && !approval.can_save_rules() {
        format!(
            "{} and {} take all changes, or none",
            keys.key(ApprovalKey::Session),
            keys.key(ApprovalKey::Always)
        )
    } else {
        format!("kept in {file}")
    };
    [
        row,
        ApprovalAnswerRow::default()
            .text(truncate(&format!("   {below}"), width), StyleRole::Muted),
    ]
}

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
fn short(keys: &Keymap, approval: &ApprovalDialog, width: u16) -> Vec<ApprovalAnswerRow> {
    let yes = match approval.hunks.as_ref() {
        None if approval.request.kind == ApprovalKind::RepeatedCall => "go on".into(),
        None if approval.request.kind == ApprovalKind::Budget => "once more".into(),
        None if approval.request.kind == ApprovalKind::SandboxEscalation => "outside".into(),
        None => "yes".into(),
        Some(picks) => format!("yes, {} of {}", picks.included_count(), picks.count),
    };
    let mut answers =
        vec![(ApprovalKey::Once, yes.as_str()), (ApprovalKey::No, deny_words(approval))];
    if approval.hunks.is_some() {
        answers.push((ApprovalKey::Pick, "take or leave"));
    }
    if approval.offers_rules() {
        answers.extend([
            (ApprovalKey::Session, "this session"),
            (ApprovalKey::Always, "always"),
            (ApprovalKey::EditRule, "rule"),
        ]);
    }
    if approval.deny_rule.is_some() {
        answers.push((ApprovalKey::Never, "never"));
    }
    if approval.request.command().is_some() {
        answers.push((ApprovalKey::EditCommand, "edit"));
    }
    match approval.request.kind {
        ApprovalKind::Permission | ApprovalKind::SandboxEscalation | ApprovalKind::RepeatedCall => {
            answers.push((ApprovalKey::Instruct, "tell"));
        }
        ApprovalKind::Budget => answers.push((ApprovalKey::Session, TWICE)),
    }
    let mut rows = Vec::new();
    let mut row = ApprovalAnswerRow::default();
    for (key, word) in answers {
        let word = format!("{} {word}", keys.key(key));
        let taken = paint::spans_width(&row.spans);
        if taken > 0 && taken + 2 + paint::width(&word) > width {
            rows.push(std::mem::take(&mut row));
        } else if taken > 0 {
            row = row.text("  ", StyleRole::Text);
        }
        row = row.button(key, [span(word, StyleRole::Text)]);
    }
    rows.push(row);
    if let Some(rule) = approval.allow_rules.first() {
        let (always, session) = (keys.key(ApprovalKey::Always), keys.key(ApprovalKey::Session));
        let text = truncate(&format!("{always}, {session}: {}", harmless(rule)), width);
        rows.push(ApprovalAnswerRow::default().text(text, StyleRole::Muted));
    }
    rows.extend(approval.allow_rules.iter().flat_map(|rule| rule_warning(rule, width)));
    rows
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
    ApprovalAnswers { rows, caret: Some((above + row - first, column + 2)) }
}
