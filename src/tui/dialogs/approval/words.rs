//! The words of a question, the same on the full screen and line by line: its title, what its
//! answers mean, and how rules are named in them.

use std::iter;
use std::path::Path;

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::domain::sanitize::sanitize_line;
use crate::domain::{
    ApprovalKind, ApprovalRequest, CallDanger, DangerFacts, DiffLineTag, FileDiff, NOT_COUNTED,
    ToolKind, pluralise,
};
use crate::permissions::{domain_in, is_on_definition};
use crate::tools;
use crate::tui::app::conversation::title::{home_path, visible_path};
use crate::tui::app::settings::ScreenSettings;
use crate::tui::layout::one_line::harmless;

use super::offers::{OfferedAnswer, SessionScope};
use super::{ApprovalDialog, ApprovalRequestExt, ApprovalRuleSlot};

/// The question in a few words, such as "Run this command?". `name` is the file's, where there is
/// one.
pub(super) fn title(request: &ApprovalRequest, name: &str) -> String {
    let is_command = request.command().is_some();
    match (request.kind, is_command) {
        (ApprovalKind::SandboxInForce, true) => {
            return "Run this command outside the sandbox?".to_owned();
        }
        (ApprovalKind::SandboxInForce, false) => {
            return "Do this outside the sandbox?".to_owned();
        }
        (ApprovalKind::RepeatedCall, true) => return "Run this command again?".to_owned(),
        (ApprovalKind::RepeatedCall, false) => {
            return format!("Use {} again?", harmless(&request.tool));
        }
        (ApprovalKind::Budget, _) => return "Continue over budget?".to_owned(),
        (ApprovalKind::Permission, _) => {}
    }
    match (&request.preview, tools::kind_of(&request.tool)) {
        (Some(_), _) if !request.other_previews.is_empty() => {
            format!("Change {}?", file_count(request))
        }
        (Some(diff), _) if is_new(diff) => format!("Write {name}?"),
        (Some(_), _) => format!("Change {name}?"),
        (None, _) if is_command && is_for_background(&request.input) => {
            "Run this command in the background?".to_owned()
        }
        (None, _) if is_command => "Run this command?".to_owned(),
        (None, ToolKind::Read) => "Read this?".to_owned(),
        (None, ToolKind::Search) => "Search this?".to_owned(),
        (None, ToolKind::Fetch) => "Fetch this?".to_owned(),
        (None, ToolKind::Edit) => "Write this?".to_owned(),
        (None, ToolKind::Delete) => "Delete this?".to_owned(),
        (None, ToolKind::Move) => "Move this?".to_owned(),
        (None, ToolKind::Execute | ToolKind::Think | ToolKind::Other) => {
            format!("Use {}?", harmless(&request.tool))
        }
    }
}

/// How many files a call changes, in words.
fn file_count(request: &ApprovalRequest) -> String {
    pluralise(request.previews().count(), "file")
}

/// The lines that a call adds and removes in all of its files.
pub(super) fn line_counts(request: &ApprovalRequest) -> (usize, usize) {
    request.previews().fold((0, 0), |sum, diff| (sum.0 + diff.added, sum.1 + diff.removed))
}

/// Whether a command becomes a job, which goes on when its call has ended.
fn is_for_background(input: &Value) -> bool {
    input.get("run_in_background").and_then(Value::as_bool) == Some(true)
}

/// Whether the file has no line yet.
fn is_new(diff: &FileDiff) -> bool {
    let mut lines = diff.lines();
    diff.mode.is_none() && lines.all(|(_, line)| line.tag == DiffLineTag::Added)
}

/// The path of an edit, relative to the workspace where it is inside, with all characters visible.
pub(super) fn shown_path(path: &Path, settings: &ScreenSettings) -> String {
    match path.strip_prefix(&settings.cwd) {
        Ok(inside) => visible_path(&inside.display().to_string()),
        Err(_) => visible_path(&home_path(path, settings.home.as_deref())),
    }
}

/// What the call does that is hard to take back, in one line. `None` for most calls.
pub(super) fn dangers(request: &ApprovalRequest) -> Option<String> {
    let words = request.dangers.iter().map(|danger| CallDanger::words(*danger));
    let words = words.collect::<Vec<_>>().join(" · ");
    (!words.is_empty()).then_some(words)
}

/// What was counted about it. `None` where nothing can be.
pub(super) fn facts(request: &ApprovalRequest) -> Option<String> {
    match &request.facts {
        DangerFacts::Unknown => None,
        DangerFacts::Pending => Some("counting …".to_owned()),
        DangerFacts::Found(facts) if facts.is_empty() => Some(NOT_COUNTED.to_owned()),
        DangerFacts::Found(facts) => {
            let facts: Vec<String> =
                facts.iter().map(|fact| sanitize_line(&fact.words())).collect();
            Some(facts.join(" · "))
        }
    }
}

/// Which formatter has made the text that is shown. `None` for the text of the call itself.
pub(super) fn formatting(request: &ApprovalRequest) -> Option<String> {
    let by = request.preview.as_ref()?.formatted_by.as_deref()?;
    Some(format!("Formatted by {}, and written as shown", harmless(by)))
}

/// What the model says that the command does; its words, and no fact.
pub(super) fn description(request: &ApprovalRequest) -> Option<String> {
    request.command()?;
    let text = request.input.get("description")?.as_str()?;
    let text = harmless(text.trim());
    (!text.is_empty()).then_some(text)
}

/// A request that waits, in one line.
pub(super) fn waiting_row(request: &ApprovalRequest, settings: &ScreenSettings) -> String {
    match (&request.preview, request.command()) {
        (Some(diff), _) => {
            let path = match request.other_previews[..] {
                [] => shown_path(&diff.path, settings),
                [_, ..] => file_count(request),
            };
            let (added, removed) = line_counts(request);
            format!("{path}  +{added} -{removed}")
        }
        (None, Some(command)) => format!("$ {}", harmless(command.trim())),
        (None, None) => harmless(&request.tool),
    }
}

/// The place of this question among those of now, such as "2 of 3"; empty for a single one.
pub(super) fn counter(number: usize, waiting: usize) -> String {
    let number = number.max(1);
    let total = number + waiting;
    if total > 1 { format!("{number} of {total}") } else { String::new() }
}

/// What an answer means, in lines of their own where it is about several rules.
pub(super) fn answer(approval: &ApprovalDialog, answer: OfferedAnswer) -> Vec<String> {
    let text = match answer {
        OfferedAnswer::Yes => yes(approval),
        OfferedAnswer::YesToWaiting => yes_to_waiting(approval.waiting().len()),
        OfferedAnswer::Session => match (approval.request.kind, approval.session_scope) {
            (ApprovalKind::Budget, _) => "Yes, up to twice the budget".to_owned(),
            (_, SessionScope::AllEdits) => "Yes, and all edits this session".to_owned(),
            (_, SessionScope::Rules) => {
                let [rule] = &approval.allow_rules[..] else {
                    let start = "Yes, and don't ask again this session for";
                    return with_rules(start, &approval.allow_rules);
                };
                match is_on_definition(rule) {
                    true => format!("Yes, and don't ask again this session for {AS_DEFINED}"),
                    false => format!("Yes, and don't ask again for {} this session", named(rule)),
                }
            }
        },
        OfferedAnswer::Always => match &approval.allow_rules[..] {
            [rule] if is_on_definition(rule) => format!("Always allow {AS_DEFINED} …"),
            [rule] => format!("Always allow {} …", named(rule)),
            rules => return with_rules("Always allow …", rules),
        },
        OfferedAnswer::OnTerminal => "Yes, on a terminal, see /jobs".to_owned(),
        OfferedAnswer::EditCommand => "Edit the command first".to_owned(),
        OfferedAnswer::No => no(approval.request.kind).to_owned(),
        OfferedAnswer::Never => {
            let rule = approval.deny_rule.as_deref().unwrap_or_default();
            format!("Never allow {} …", named(rule))
        }
        OfferedAnswer::Instruct => "No, and say what to do instead".to_owned(),
    };
    vec![text]
}

/// What a rule on a server's tool covers: a changed definition is asked about again.
const AS_DEFINED: &str = "this tool as defined now";
/// The answer that has no row, since its key is known everywhere.
pub(super) const STOP: &str = "No, and stop the turn";

/// An answer in a word or two, for small screens.
pub(super) fn short_answer(approval: &ApprovalDialog, answer: OfferedAnswer) -> String {
    let text = match answer {
        OfferedAnswer::Yes => match (approval.request.kind, &approval.hunks) {
            (ApprovalKind::SandboxInForce, _) => "outside",
            (_, Some(hunks)) => {
                return format!("yes, {} of {}", hunks.included_count(), hunks.count);
            }
            (_, None) => "yes",
        },
        OfferedAnswer::YesToWaiting => "yes to all",
        OfferedAnswer::Session => match (approval.request.kind, approval.session_scope) {
            (ApprovalKind::Budget, _) => "twice the budget",
            (_, SessionScope::AllEdits) => "all edits",
            (_, SessionScope::Rules) => "this session",
        },
        OfferedAnswer::Always => "always",
        OfferedAnswer::OnTerminal => "terminal",
        OfferedAnswer::EditCommand => "edit",
        OfferedAnswer::No => match approval.request.kind {
            ApprovalKind::RepeatedCall | ApprovalKind::Budget => "stop the turn",
            ApprovalKind::Permission | ApprovalKind::SandboxInForce => "no",
        },
        OfferedAnswer::Never => "never",
        OfferedAnswer::Instruct => "instead",
    };
    text.to_owned()
}

/// What becomes of the rule that is edited.
pub(super) fn about_rule(
    approval: &ApprovalDialog,
    slot: ApprovalRuleSlot,
    settings: &ScreenSettings,
) -> String {
    let file = home_path(&approval.request.rule_file.0, settings.home.as_deref());
    let verb = match slot {
        ApprovalRuleSlot::Allow(_) => "Allow",
        ApprovalRuleSlot::Deny => "Deny",
    };
    format!("{verb} from now on, saved to {file}:")
}

/// The line that offers a rule to who has allowed the same call again and again. `always` is the key
/// of that answer.
pub(super) fn rule_offer(
    approval: &ApprovalDialog,
    always: &str,
    settings: &ScreenSettings,
    width: u16,
) -> Option<String> {
    let times = approval.allowed_before.filter(|_| approval.offers_always())?;
    let is_here = approval.request.rule_file.0.starts_with(&settings.cwd);
    let place = if is_here { "always in this project" } else { "always" };
    let line = |what: &str| format!("You allowed {what} {times} times. {always}: {place}");
    let long = match &approval.request.allow_rules[..] {
        [rule] if !is_on_definition(rule) => line(&named(rule)),
        [rule, other] => line(&format!("{} and {}", named(rule), named(other))),
        _ => line("this"),
    };
    Some(if long.width() <= usize::from(width) { long } else { line("this") })
}

pub(super) fn yes_to_waiting(count: usize) -> String {
    format!("Yes, and to the {}", pluralise(count, "waiting call"))
}

/// A line, and one more for each rule.
fn with_rules(start: &str, rules: &[String]) -> Vec<String> {
    let rules = rules.iter().map(|rule| format!("  {}", named(rule)));
    iter::once(start.to_owned()).chain(rules).collect()
}

/// A rule as its pattern in backticks.
fn named(rule: &str) -> String {
    format!("`{}`", sanitize_line(pattern(rule)))
}

/// What a rule is about: a host, the text in its parentheses, or else the whole rule.
fn pattern(rule: &str) -> &str {
    if let Some(host) = domain_in(rule) {
        return host;
    }
    let inside = rule.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inside.filter(|inside| !inside.is_empty()).unwrap_or(rule)
}

fn yes(approval: &ApprovalDialog) -> String {
    match approval.request.kind {
        ApprovalKind::SandboxInForce => return "Yes, outside the sandbox".to_owned(),
        ApprovalKind::Budget => return "Yes, one more request".to_owned(),
        ApprovalKind::Permission | ApprovalKind::RepeatedCall => {}
    }
    match approval.hunks.as_ref().map(|hunks| (hunks.included_count(), hunks.count)) {
        None => "Yes".to_owned(),
        Some((0, _)) => "(no changes selected)".to_owned(),
        Some((taken, count)) if taken == count => format!("Yes, all {count} changes"),
        Some((taken, count)) => format!("Yes, {taken} of {count} changes"),
    }
}

fn no(kind: ApprovalKind) -> &'static str {
    match kind {
        ApprovalKind::Permission | ApprovalKind::SandboxInForce => "No",
        ApprovalKind::RepeatedCall | ApprovalKind::Budget => "No, stop the turn",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_named_by_its_pattern() {
        for (rule, named) in [
            ("Bash(git push *)", "git push *"),
            ("Edit(src/(a).rs)", "src/(a).rs"),
            ("WebFetch(domain:docs.example.org)", "docs.example.org"),
            ("Read", "Read"),
            ("Read()", "Read()"),
        ] {
            assert_eq!(pattern(rule), named);
        }
    }

    #[test]
    fn the_counter_counts_up() {
        assert_eq!(counter(1, 0), "");
        assert_eq!(counter(1, 2), "1 of 3");
        assert_eq!(counter(2, 1), "2 of 3");
        assert_eq!(counter(3, 0), "3 of 3");
        assert_eq!(counter(0, 0), "");
    }
}
