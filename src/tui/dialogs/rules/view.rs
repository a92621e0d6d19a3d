//! Draws the permission rules over the whole screen: the list on top, and beneath it the details of
//! the selected row or the text that the user types.

use chrono::{DateTime, TimeDelta, Utc};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::domain::{CallPart, PermissionOutcome, RuleKind, RuleSource, first_step};
use crate::permissions::meaning;
use crate::tui::app::conversation::denied_calls::DeniedCall;
use crate::tui::app::keymap::{FieldKey, RulesKey};
use crate::tui::app::settings::ScreenSettings;
use crate::tui::dialogs::dialog::DialogView;
use crate::tui::dialogs::geometry::DialogGeometry;
use crate::tui::dialogs::rules::{
    RulesEntryPurpose, RulesPage, RulesRow, RulesStage, RulesTestResult, RulesTextEntry, listed,
    rule_location, short,
};
use crate::tui::layout::{StyleRole, StyledLine, StyledSpan, plain};

use crate::tui::view::blocks::harmless;
use crate::tui::view::field::draw_field;
use crate::tui::view::list_rows;
use crate::tui::view::paint;
use crate::tui::view::paint::{RoleStyles, line, span, spans_width, truncate};

/// Rows beneath the list while the user types nothing.
const BENEATH: u16 = 4;

/// Draws the page on all of `area`. Returns the caret's cell while the user types.
pub fn draw(
    around: DialogView<'_>,
    page: &RulesPage,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
    measured: &mut DialogGeometry,
) -> Option<Position> {
    paint::clear(area, styles, buffer);
    let width = area.width.saturating_sub(2);
    let inner = Rect { x: area.x + 1, width, ..area };
    let rows = page.rows(&around.conversation.denied_calls);
    heading(around, page, styles, Rect { height: area.height.min(1), ..inner }, buffer);
    let rule = Rect { y: area.y + 1, height: u16::from(area.height > 1), ..area };
    paint::rule(rule, styles, buffer);

    let (typed, details) = beneath(around, page, width);
    let detail_rows = u16::try_from(details.len()).unwrap_or(u16::MAX);
    let wanted = detail_rows.max(BENEATH) + u16::from(typed.is_some());
    let rest = area.height.saturating_sub(3);
    let height = wanted.min(rest.saturating_sub(3).max(rest / 2));
    let list = Rect { y: area.y + 2, height: rest - height, ..inner };
    draw_rows(around, page, &rows, styles, list, buffer);
    measured.list = Some(list.into());

    let rule = Rect { y: list.y + list.height, height: 1, ..area };
    paint::rule(rule.intersection(area), styles, buffer);
    let mut place = Rect { y: rule.y + 1, height: 1, ..inner };
    let end = area.y + area.height;
    let mut caret = None;
    if let Some(typing) = typed
        && place.y < end
    {
        paint::spans(&[span("❯ ", StyleRole::User)], styles, place, buffer);
        let field = Rect { x: place.x + 2, width: place.width.saturating_sub(2), ..place };
        caret = Some(draw_field(&typing.editor, styles, field, buffer));
        place.y += 1;
    }
    for (y, line) in (place.y..end).zip(&details) {
        paint::spans(&line.spans, styles, Rect { y, ..place }, buffer);
    }
    caret
}

fn heading(
    around: DialogView<'_>,
    page: &RulesPage,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) {
    let count = page.list.as_ref().map_or(0, |list| list.rules.len());
    let words = match count {
        1 => "1 rule".to_owned(),
        count => format!("{count} rules"),
    };
    let left =
        [span("Permissions", StyleRole::Strong), span(format!("   {words}"), StyleRole::Muted)];
    let right = [span(format!("mode {}", around.conversation.status.mode), StyleRole::Muted)];
    paint::both_edges(&left, &right, styles, area, buffer);
}

fn draw_rows(
    around: DialogView<'_>,
    page: &RulesPage,
    rows: &[RulesRow<'_>],
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) {
    if rows.is_empty() {
        let add = around.shared.settings.keys.key(RulesKey::Add);
        let text = match page.list {
            Some(_) => format!("No rules yet: the mode decides. {add} adds one."),
            None => "One moment …".to_owned(),
        };
        for (y, line) in
            (area.y..area.y + area.height).zip(plain::render(&text, StyleRole::Muted, area.width))
        {
            paint::spans(&line.spans, styles, Rect { y, height: 1, ..area }, buffer);
        }
        return;
    }
    let choosable = rows.iter().enumerate().filter(|(_, row)| !row.is_heading());
    let selected = choosable.map(|(at, _)| at).nth(page.selected).unwrap_or(0);
    let height = usize::from(area.height.max(1));
    // The row's heading is visible, too, if there is room.
    let first = (selected + 1).saturating_sub(height).min(selected.saturating_sub(1));
    for (y, (at, row)) in (area.y..area.y + area.height).zip(rows.iter().enumerate().skip(first)) {
        let place = Rect { y, height: 1, ..area };
        let is_selected = at == selected;
        if is_selected {
            paint::selected(place, styles, buffer);
        }
        let mark = span(if is_selected { "❯ " } else { "  " }, StyleRole::User);
        let (mut left, right) = match row {
            RulesRow::Heading(text) => (vec![span(*text, StyleRole::Heading(2))], None),
            RulesRow::Rule(rule) => of_rule(rule, around, mark),
            RulesRow::Warning(warning) => {
                let file = short(&warning.file, &around.shared.settings);
                let line = warning.line.map_or(String::new(), |line| format!(":{line}"));
                let text = span(harmless(&warning.text), StyleRole::Warning);
                (vec![mark, text], Some(format!("{file}{line}")))
            }
            RulesRow::Refused(refused) => of_refused(refused, around, mark),
        };
        let right = right.map(|text| span(harmless(&text), StyleRole::Muted));
        let right = right.as_slice();
        let room = area.width.saturating_sub(spans_width(right) + 2);
        left = list_rows::fit(left, room);
        paint::both_edges(&left, right, styles, place, buffer);
    }
}

fn of_rule(
    rule: &RuleSource,
    around: DialogView<'_>,
    mark: StyledSpan,
) -> (Vec<StyledSpan>, Option<String>) {
    let mut left = vec![mark, span(harmless(&rule.rule), StyleRole::Text)];
    if means(rule.kind, &rule.rule).is_some() {
        left.push(span("  !", StyleRole::Warning));
    }
    (left, Some(rule_location(rule, &around.shared.settings)))
}

fn of_refused(
    refused: &DeniedCall,
    around: DialogView<'_>,
    mark: StyledSpan,
) -> (Vec<StyledSpan>, Option<String>) {
    let entry = &refused.entry;
    let time = clock(refused, around).format("%H:%M");
    let about = first_step(entry.about.as_deref().unwrap_or_default());
    let left = vec![
        mark,
        span(format!("{time}  "), StyleRole::Muted),
        span(format!("{:<5} ", harmless(&entry.tool)), StyleRole::Tool),
        span(harmless(&about), StyleRole::Text),
    ];
    (left, Some(refused_by(refused)))
}

/// When a call was refused, in the user's time zone.
fn clock(refused: &DeniedCall, around: DialogView<'_>) -> DateTime<Utc> {
    refused.at + TimeDelta::seconds(around.shared.settings.clock.into())
}

/// Who or what refused a call.
pub fn refused_by(refused: &DeniedCall) -> String {
    match (&refused.entry.rule, refused.entry.answer.as_str()) {
        (Some(rule), "rule") => format!("by {}", rule.rule),
        (_, "mode") => "by the mode".to_owned(),
        (_, "headless") => "nobody to ask".to_owned(),
        (Some(_), "never") => "by you, always".to_owned(),
        (_, _) => "by you".to_owned(),
    }
}

/// What an allow rule permits beyond its text.
fn means(kind: RuleKind, rule: &str) -> Option<String> {
    (kind == RuleKind::Allow).then(|| meaning(rule)).flatten()
}

/// The field that the user types in, and the lines beneath the list.
fn beneath<'a>(
    around: DialogView<'_>,
    page: &'a RulesPage,
    width: u16,
) -> (Option<&'a RulesTextEntry>, Vec<StyledLine>) {
    let keys = &around.shared.settings.keys;
    let mut details = Vec::new();
    let mut add = |text: &str, role| details.extend(plain::render(text, role, width));
    let typing = match &page.stage {
        RulesStage::Typing(typing) => typing,
        RulesStage::Removing => {
            if let Some(RulesRow::Rule(rule)) = page.chosen(&around.conversation.denied_calls) {
                add(&format!("{} {}", rule.kind.word(), rule.rule), StyleRole::Text);
                let key = keys.key(RulesKey::Remove);
                let place = rule_location(rule, &around.shared.settings);
                add(&format!("{key} again to remove it from {place}."), StyleRole::Warning);
            }
            return (None, details);
        }
        RulesStage::Choosing => {
            if let Some(failed) = &page.failed {
                add(failed, StyleRole::Error);
            }
            if let Some(row) = page.chosen(&around.conversation.denied_calls) {
                details.extend(of_row(row, around, page, width));
            }
            return (None, details);
        }
    };
    if let Some(failed) = &page.failed {
        add(failed, StyleRole::Error);
    }
    match &typing.what {
        RulesEntryPurpose::Try => match &page.tried {
            Some(tried) => details.extend(of_tried(tried, &around.shared.settings, width)),
            None => add(
                "A command, or a tool and a path: `git push`, `Edit src/main.rs`. Nothing runs.",
                StyleRole::Muted,
            ),
        },
        RulesEntryPurpose::Add(file) => {
            let next = keys.key(FieldKey::Next);
            let place = match page.files.get(*file) {
                Some(file) => format!("saved to {}", short(file, &around.shared.settings)),
                None => "until slug quits".to_owned(),
            };
            add(&format!("{place}   {next}: elsewhere"), StyleRole::Muted);
            let file = page.files.get(*file);
            details.extend(of_typed(typing, page, file.map(|file| &**file), width));
        }
        RulesEntryPurpose::Edit(rule) => {
            add(&format!("in {}", rule_location(rule, &around.shared.settings)), StyleRole::Muted);
            details.extend(of_typed(typing, page, rule.file.as_deref(), width));
        }
    }
    (Some(typing), details)
}

/// Warnings about a rule before it is saved.
fn of_typed(
    typing: &RulesTextEntry,
    page: &RulesPage,
    file: Option<&std::path::Path>,
    width: u16,
) -> Vec<StyledLine> {
    let mut details = shared(page, file, width);
    if let Some((kind, rule)) = listed(&typing.editor.text())
        && let Some(means) = means(kind, &rule)
    {
        details.extend(plain::render(&format!("! It {means}."), StyleRole::Warning, width));
    }
    details
}

/// A warning about the project's own file: it is shared with the repository.
fn shared(page: &RulesPage, file: Option<&std::path::Path>, width: u16) -> Vec<StyledLine> {
    let is_shared = file.is_some_and(|file| {
        page.files.first().is_some_and(|own| own != file) && file.ends_with(".slug/settings.json")
    });
    let text = "This file belongs to the project: if git tracks it, others get the change too.";
    if is_shared { plain::render(text, StyleRole::Warning, width) } else { Vec::new() }
}

/// The details of a row.
fn of_row(
    row: RulesRow<'_>,
    around: DialogView<'_>,
    page: &RulesPage,
    width: u16,
) -> Vec<StyledLine> {
    let mut details = Vec::new();
    let mut add = |text: &str, role| details.extend(plain::render(text, role, width));
    match row {
        RulesRow::Heading(_) => {}
        RulesRow::Rule(rule) => {
            add(&format!("{} {}", rule.kind.word(), rule.rule), StyleRole::Text);
            add(&rule_location(rule, &around.shared.settings), StyleRole::Muted);
            if let Some(means) = means(rule.kind, &rule.rule) {
                add(&format!("! It {means}."), StyleRole::Warning);
            }
            details.extend(shared(page, rule.file.as_deref(), width));
        }
        RulesRow::Warning(warning) => add(&warning.to_string(), StyleRole::Warning),
        RulesRow::Refused(refused) => {
            let entry = &refused.entry;
            let about = entry.about.as_deref().unwrap_or_default();
            add(&format!("{}: {about}", entry.tool), StyleRole::Text);
            let place =
                entry.rule.as_ref().map(|rule| rule_location(rule, &around.shared.settings));
            let place = place.map_or(String::new(), |place| format!("   {place}"));
            let when = clock(refused, around).format("%Y-%m-%d %H:%M");
            add(&format!("Refused {}, {when}{place}", refused_by(refused)), StyleRole::Muted);
        }
    }
    details
}

fn of_tried(tried: &RulesTestResult, settings: &ScreenSettings, width: u16) -> Vec<StyledLine> {
    let report = match &tried.report {
        Ok(report) => report,
        Err(why) => return plain::render(why, StyleRole::Error, width),
    };
    let (_, role) = sign(report.decision);
    let mut details = vec![line(vec![
        span(report.decision.word(), role),
        span(
            truncate(&format!("  {}", harmless(&tried.typed)), width.saturating_sub(6)),
            StyleRole::Text,
        ),
    ])];
    let mode = tried.mode;
    details.extend(plain::render(
        &format!("{}   mode {mode}", report.reason),
        StyleRole::Muted,
        width,
    ));
    let widest = report.commands.iter().map(|part| paint::width(&harmless(&part.text))).max();
    let column = widest.unwrap_or(0).min(width / 2);
    details.extend(report.commands.iter().map(|part| of_part(part, column, width, settings)));
    details
}

/// The sign and role of an outcome.
fn sign(outcome: PermissionOutcome) -> (&'static str, StyleRole) {
    match outcome {
        PermissionOutcome::Allow => ("✓", StyleRole::Success),
        PermissionOutcome::Ask => ("?", StyleRole::Warning),
        PermissionOutcome::Deny => ("✗", StyleRole::Error),
    }
}

/// The decision about a part of a call, and the rule behind it.
pub fn decision_text(part: &CallPart) -> String {
    let (word, rule) = match (part.decision, &part.rule) {
        (PermissionOutcome::Allow, Some(rule)) => ("allowed by", rule),
        (PermissionOutcome::Allow, None) => return "allowed".to_owned(),
        (PermissionOutcome::Ask, Some(rule)) if rule.kind == RuleKind::Allow => {
            ("may not be covered by", rule)
        }
        (PermissionOutcome::Ask, Some(rule)) => ("asked by", rule),
        (PermissionOutcome::Ask, None) => return String::new(),
        (PermissionOutcome::Deny, Some(rule)) => ("denied by", rule),
        (PermissionOutcome::Deny, None) => return "denied".to_owned(),
    };
    format!("{word} {}", rule.rule)
}

/// A part of a call, its decision, and the rule with its file and line.
pub fn of_part(part: &CallPart, column: u16, width: u16, settings: &ScreenSettings) -> StyledLine {
    let (mark, role) = sign(part.decision);
    let text = truncate(&harmless(&part.text), column);
    let pad = usize::from(column.saturating_sub(paint::width(&text))) + 4;
    let mut why = decision_text(part);
    if let Some(rule) = &part.rule {
        why.push_str(&format!("   {}", rule_location(rule, settings)));
    }
    let room = width.saturating_sub(column + 6);
    line(vec![
        span(format!("{mark} "), role),
        span(text, StyleRole::Text),
        span(" ".repeat(pad), StyleRole::Text),
        span(truncate(&harmless(&why), room), StyleRole::Muted),
    ])
}
