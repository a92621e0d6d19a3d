//! The permission dialog: what would run, what the rules say of it, and the answers.
//!
//! What is shown is what runs, with everything made visible. What would run scrolls; the answers
//! are always on screen.

mod what;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::tui::app::Model;
use crate::tui::app::approval::{Approval, Asked, End, Slot, Stage};
use crate::tui::app::editor::Editor;
use crate::tui::app::geometry::{Extent, Geometry};
use crate::tui::app::keymap::{ApprovalKey, FieldKey, Keymap, Scrolling};
use crate::tui::app::softwrap;
use crate::tui::app::title::home_path;
use crate::tui::layout::{Line, Role, Span, plain};

use super::blocks::harmless;
use super::layouts::Layouts;
use super::paint::{self, Styles, line, span, truncate};
use what::What;

/// As wide as reads well.
const WIDE: u16 = 104;
/// A diff may be wider: its sides stand next to each other then.
const WIDEST: u16 = 190;

/// Draws the dialog, and returns the caret's cell when something is typed in it.
pub fn draw(
    model: &Model,
    approval: &Approval,
    layouts: &mut Layouts,
    styles: &dyn Styles,
    area: Rect,
    buffer: &mut Buffer,
    geometry: &mut Geometry,
) -> Option<Position> {
    let widest = if approval.request.preview.is_some() { WIDEST } else { WIDE };
    let width = area.width.saturating_sub(2).min(widest);
    let room = width.saturating_sub(6).max(1);
    let what = What::new(model, approval, layouts, room);
    let answers = answers(model, approval, room, area.height);
    let fixed = u16::try_from(answers.lines.len()).unwrap_or(u16::MAX).saturating_add(3);
    let wanted = u16::try_from(what.len()).unwrap_or(u16::MAX).saturating_add(fixed);
    // The input below stays in sight, since early keys still go there.
    let most = area.height.saturating_sub(if area.height > 24 { 6 } else { 1 });
    let height = wanted.min(most);
    let outer = Rect { height: most.max(height), ..area };
    let outer = paint::centred(outer, width, height);
    let waiting = model.questions.len();
    let count = if waiting > 0 { format!("1 of {}", waiting + 1) } else { String::new() };
    let inner = paint::frame(&harmless(&approval.request.tool), &count, styles, outer, buffer);

    let shown = usize::from(inner.height.saturating_sub(fixed - 2)).max(1);
    let scroll = approval.scroll.min(what.len().saturating_sub(shown));
    for (y, row) in (inner.y..inner.y + inner.height).zip(scroll..scroll + shown) {
        what.draw(row, styles, Rect { y, height: 1, ..inner }, buffer);
    }
    geometry.dialog = Some(Extent { rows: what.len(), shown });
    geometry.changes = what.changes.clone();
    let split = inner.y + u16::try_from(shown).unwrap_or(0);
    if what.len() > shown {
        let more = what.len() - shown - scroll;
        let up = model.settings.keys.key(ApprovalKey::Scroll(Scrolling::LineUp));
        let down = model.settings.keys.key(ApprovalKey::Scroll(Scrolling::LineDown));
        let text = match (more, approval.end) {
            (0, _) => format!("{up} scrolls back"),
            (more, End::Seen) => format!("{more} more below: {down}"),
            (more, End::Unseen) => {
                format!("{more} more below: {down} to the end, then it can be approved")
            }
        };
        let place = Rect { y: split, height: 1, ..inner };
        paint::spans(&[span(truncate(&text, inner.width), Role::Warning)], styles, place, buffer);
    }
    let top = split + 1;
    for (y, line) in (top..inner.y + inner.height).zip(&answers.lines) {
        paint::spans(&line.spans, styles, Rect { y, height: 1, ..inner }, buffer);
    }
    let (row, column) = answers.caret?;
    Some(Position {
        x: (inner.x + column).min(inner.x + inner.width),
        y: top + u16::try_from(row).unwrap_or(0),
    })
}

/// The rows below, and where in them the caret stands.
struct Answers {
    lines: Vec<Line>,
    caret: Option<(usize, u16)>,
}

fn answers(model: &Model, approval: &Approval, width: u16, height: u16) -> Answers {
    match &approval.stage {
        Stage::Choosing => {
            let lines = if height < 20 || width < 60 {
                short(&model.settings.keys, approval, width)
            } else {
                long(model, approval, width)
            };
            Answers { lines: with_guard(model, approval, lines), caret: None }
        }
        Stage::Rule(slot, editor) => {
            let words = match slot {
                Slot::Allow(_) => "allows",
                Slot::Deny => "denies",
            };
            let next = model.settings.keys.key(FieldKey::Next);
            let words = format!("The rule that {words} it from now on. {next}: the next rule.");
            field(&words, editor, width)
        }
        Stage::Command(editor) => {
            field("The command to run instead. It is checked again before it runs.", editor, width)
        }
        Stage::Instruction(editor) => field("No. What should it do instead?", editor, width),
    }
}

/// Until it takes keys, the answers say so.
fn with_guard(model: &Model, approval: &Approval, mut lines: Vec<Line>) -> Vec<Line> {
    if !approval.is_armed(model.now) {
        for line in &mut lines {
            for span in &mut line.spans {
                span.role = Role::Muted;
            }
        }
    }
    lines
}

fn answer(key: String, words: &str, column: usize, role: Role) -> Vec<Span> {
    let wide = usize::from(paint::width(&key)) + 2 + usize::from(paint::width(words));
    let pad = " ".repeat(column.saturating_sub(wide));
    vec![span(key, role), span(format!("  {words}{pad}"), Role::Text)]
}

/// What the yes is to.
fn once(approval: &Approval) -> String {
    match approval.picks.as_ref().map(|picks| (picks.taken(), picks.count)) {
        None => "yes, once".into(),
        Some((0, _)) => "no, since none is taken".into(),
        Some((taken, count)) if taken == count => format!("yes, once, all {count} changes"),
        Some((taken, count)) => format!("yes, {taken} of {count} changes"),
    }
}

fn long(model: &Model, approval: &Approval, width: u16) -> Vec<Line> {
    // The longest answer of the right column has to fit beside the left one.
    let half = usize::from(width.saturating_sub(38)).clamp(27, 37);
    let key = |action| model.settings.keys.key(action);
    let yes = if approval.may_approve() { Role::Success } else { Role::Muted };
    let and_save = if approval.may_save() { Role::Success } else { Role::Muted };
    let row = |left: Vec<Span>, right: Vec<Span>| line([left, right].concat());
    let blank = || vec![span(" ".repeat(half), Role::Text)];
    let never = match &approval.deny_rule {
        Some(rule) => answer(
            key(ApprovalKey::Never),
            &format!("no, always for {}", harmless(rule)),
            0,
            Role::Error,
        ),
        None => Vec::new(),
    };
    let session = if approval.offers_rules() {
        answer(key(ApprovalKey::Session), "yes, for this session", half, and_save)
    } else {
        blank()
    };
    let mut lines = vec![
        row(
            answer(key(ApprovalKey::Once), &once(approval), half, yes),
            answer(key(ApprovalKey::No), "no", 0, Role::Error),
        ),
        row(session, never),
    ];
    if approval.offers_rules() {
        let rules: Vec<String> = approval.allow_rules.iter().map(|rule| harmless(rule)).collect();
        let file = home_path(&approval.request.rule_file.0, model.settings.home.as_deref());
        let words = format!("yes, always for  {}", rules.join("  "));
        let edit = format!("{} edits the rule", key(ApprovalKey::EditRule));
        let always = key(ApprovalKey::Always);
        let room = usize::from(width.saturating_sub(paint::width(&edit) + 3));
        let left = room.saturating_sub(usize::from(paint::width(&always)) + 2);
        let words = truncate(&words, u16::try_from(left).unwrap_or(0));
        lines.push(row(answer(always, &words, room, and_save), vec![span(edit, Role::Muted)]));
        let below = if approval.may_approve() && !approval.may_save() {
            format!(
                "{} and {} take all changes, or none",
                key(ApprovalKey::Session),
                key(ApprovalKey::Always)
            )
        } else {
            format!("kept in {file}")
        };
        lines.push(line(vec![span(truncate(&format!("   {below}"), width), Role::Muted)]));
    }
    let edit = match &approval.picks {
        Some(_) => answer(key(ApprovalKey::Pick), "take or leave this change", half, Role::Key),
        None if approval.request.command().is_some() => {
            answer(key(ApprovalKey::EditCommand), "edit the command", half, yes)
        }
        None => blank(),
    };
    let tell = key(ApprovalKey::Instruct);
    lines.push(row(edit, answer(tell, "no, and tell it what to do instead", 0, Role::Error)));
    lines
}

/// The answers in as few rows as can be, for small screens.
fn short(keys: &Keymap, approval: &Approval, width: u16) -> Vec<Line> {
    let yes = match approval.picks.as_ref() {
        None => "yes".into(),
        Some(picks) => format!("yes, {} of {}", picks.taken(), picks.count),
    };
    let mut answers = vec![(ApprovalKey::Once, yes.as_str()), (ApprovalKey::No, "no")];
    if approval.picks.is_some() {
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
    answers.push((ApprovalKey::Instruct, "tell"));
    let words = answers.into_iter().map(|(key, word)| format!("{} {word}", keys.key(key)));
    let mut rows = vec![String::new()];
    for word in words {
        let full = rows
            .last()
            .is_some_and(|row| !row.is_empty() && row.len() + 2 + word.len() > usize::from(width));
        if full {
            rows.push(String::new());
        }
        if let Some(row) = rows.last_mut() {
            if !row.is_empty() {
                row.push_str("  ");
            }
            row.push_str(&word);
        }
    }
    let mut lines: Vec<Line> =
        rows.into_iter().map(|row| line(vec![span(row, Role::Text)])).collect();
    if let Some(rule) = approval.allow_rules.first() {
        let (always, session) = (keys.key(ApprovalKey::Always), keys.key(ApprovalKey::Session));
        let text = truncate(&format!("{always}, {session}: {}", harmless(rule)), width);
        lines.push(line(vec![span(text, Role::Muted)]));
    }
    lines
}

fn field(words: &str, editor: &Editor, width: u16) -> Answers {
    let text = editor.text();
    let rows = editor.rows(width.saturating_sub(3).max(1));
    let (row, column) = softwrap::place_with(&text, &rows, editor.caret(), editor.chips());
    let first = row.saturating_sub(3);
    let mut lines = plain::render(words, Role::Muted, width);
    let above = lines.len();
    for (number, part) in rows.iter().enumerate().skip(first).take(4) {
        let mark = if number == 0 { "❯ " } else { "  " };
        let mut row = vec![span(mark, Role::User)];
        row.extend(super::composer::typed_row(editor, &text, part));
        lines.push(line(row));
    }
    Answers { lines, caret: Some((above + row - first, column + 2)) }
}
