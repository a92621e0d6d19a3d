//! The permission question, read out.

use serde_json::Value;

use crate::domain::{CallPart, DangerFacts, PermissionOutcome};
use crate::permissions::meaning;
use crate::tui::app::conversation::title::{home_path, visible_path};
use crate::tui::app::diff_text;
use crate::tui::app::settings::ScreenSettings;
use crate::tui::dialogs::DialogView;
use crate::tui::dialogs::linear_page::{
    LabelledLine, LineLabel, LinearPage, indented, line, line_count_words, lines,
};
use crate::tui::dialogs::rules::rule_location;
use crate::tui::dialogs::rules::view::decision_text;

use super::offers::{self, OfferedAnswer};
use super::{ApprovalDialog, ApprovalRequestExt, ApprovalRuleSlot, ApprovalStage, words};

/// The question, or the field that is open in it.
pub(super) fn linear_page(approval: &ApprovalDialog, around: DialogView<'_>) -> LinearPage {
    let request = &approval.request;
    let key = |stage: &str| format!("question {} {stage}", request.id.0);
    match &approval.stage {
        ApprovalStage::Choosing => {
            LinearPage { key: key("answer"), lines: approval_lines(approval, around) }
        }
        ApprovalStage::Rule(slot, editor) => {
            let rule = editor.text();
            let mut out = lines(
                LineLabel::Note,
                &words::about_rule(approval, *slot, &around.shared.settings),
            );
            out.extend(lines(LineLabel::Continuation, &indented(&rule)));
            if let (ApprovalRuleSlot::Allow(_), Some(means)) = (slot, meaning(&rule)) {
                out.push(LabelledLine::new(
                    LineLabel::Warning,
                    format!("{} {means}.", line(&rule)),
                ));
            }
            out.push(LabelledLine::new(
                LineLabel::Continuation,
                "Type y to save this rule, or type another rule. An empty line goes back.",
            ));
            LinearPage { key: key(&format!("rule {slot:?}")), lines: out }
        }
        ApprovalStage::Command(editor) => {
            let mut out = lines(LineLabel::Note, &format!("The command is: {}", editor.text()));
            out.push(LabelledLine::new(
                LineLabel::Continuation,
                "Type the command to run instead; slug checks it again. An empty line goes back.",
            ));
            LinearPage { key: key("command"), lines: out }
        }
        ApprovalStage::Instruction(_) => {
            let text = "Type what it should do instead. An empty line goes back.";
            LinearPage {
                key: key("instruction"),
                lines: vec![LabelledLine::new(LineLabel::Note, text)],
            }
        }
    }
}

/// The facts that were counted meanwhile, and the requests that wait by now.
pub(super) fn additions(approval: &ApprovalDialog, around: DialogView<'_>) -> Vec<LinearPage> {
    if approval.stage != ApprovalStage::Choosing {
        return Vec::new();
    }
    let id = approval.request.id.0;
    let facts = match approval.request.facts {
        DangerFacts::Found(_) => danger(approval),
        DangerFacts::Unknown | DangerFacts::Pending => None,
    };
    let facts = facts.map(|text| LinearPage {
        key: format!("question {id} facts"),
        lines: vec![LabelledLine::new(LineLabel::Warning, text)],
    });
    let listed = offers::waiting_with(around.shared);
    let waiting = waiting(around, LineLabel::Note).map(|waiting| LinearPage {
        key: format!("question {id} and {:?}", listed.iter().map(|it| it.id.0).collect::<Vec<_>>()),
        lines: vec![waiting],
    });
    facts.into_iter().chain(waiting).collect()
}

/// The requests that a yes to all would answer, and that answer.
fn waiting(around: DialogView<'_>, label: LineLabel) -> Option<LabelledLine> {
    let listed = offers::waiting_with(around.shared);
    let rows = listed.iter().map(|it| line(&words::waiting_row(it, &around.shared.settings)));
    let rows = rows.collect::<Vec<_>>().join("; ");
    let text = format!("Waiting: {rows}. Y {}.", words::yes_to_waiting(listed.len()));
    (!listed.is_empty()).then(|| LabelledLine::new(label, text))
}

fn approval_lines(approval: &ApprovalDialog, around: DialogView<'_>) -> Vec<LabelledLine> {
    let request = &approval.request;
    let settings = &around.shared.settings;
    let same = |text: String| LabelledLine::new(LineLabel::Continuation, text);
    let name = request.preview.as_ref().map(|diff| words::shown_path(&diff.path, settings));
    let mut title = words::title(request, &name.unwrap_or_default());
    let counter = words::counter(around.shared.question_number, around.shared.questions.len());
    if !counter.is_empty() {
        title.push_str(&format!(" ({counter})"));
    }
    if request.preview.is_some() {
        title.push_str(&format!(" {}.", line_count_words(words::line_counts(request))));
    }
    let mut out = vec![LabelledLine::new(LineLabel::Question, line(&title))];
    out.extend(words::description(request).map(|text| same(line(&text))));
    out.extend(words::formatting(request).map(|text| same(format!("{text}."))));
    out.extend(danger(approval).map(|text| same(format!("Danger: {text}"))));
    match (&request.preview, request.command()) {
        (Some(_), _) => {
            let texts = request.previews().map(diff_text::unified);
            out.extend(texts.flat_map(|text| lines(LineLabel::Continuation, &text)));
        }
        (None, Some(command)) => {
            out.extend(lines(LineLabel::Continuation, &indented(command)));
            if request.cwd != settings.cwd {
                let folder = visible_path(&home_path(&request.cwd, settings.home.as_deref()));
                out.push(same(format!("in {folder}")));
            }
        }
        (None, None) => {
            out.extend(lines(LineLabel::Continuation, &indented(&arguments(&request.input))));
        }
    }
    if request.parts.len() > 1 {
        out.extend(request.parts.iter().map(|it| same(part(it, settings))));
    }
    out.extend(approval.lookalikes.iter().map(|warning| same(line(warning))));
    if !request.reason.is_empty() {
        out.extend(lines(LineLabel::Continuation, &request.reason));
    }
    let offer = words::rule_offer(approval, "a", settings, u16::MAX);
    out.extend(offer.map(|text| same(line(&format!("{text}.")))));
    if let Some(picks) = &approval.hunks {
        let text = format!("y allows all {} changes.", picks.count);
        out.push(same(text));
    }
    out.extend(waiting(around, LineLabel::Continuation));
    out.push(same(answers(approval)));
    out
}

/// The danger, and what was counted about it so far.
fn danger(approval: &ApprovalDialog) -> Option<String> {
    let request = &approval.request;
    let text = words::dangers(request)?;
    let facts = match request.facts {
        DangerFacts::Pending => None,
        DangerFacts::Unknown | DangerFacts::Found(_) => words::facts(request),
    };
    let facts = facts.map_or_else(String::new, |facts| format!(": {facts}"));
    Some(line(&format!("{text}{facts}.")))
}

/// The answers with their letters.
fn answers(approval: &ApprovalDialog) -> String {
    let answers = approval.offered().into_iter().filter_map(|answer| {
        let letter = match answer {
            OfferedAnswer::Yes => 'y',
            OfferedAnswer::Session => 's',
            OfferedAnswer::Always => 'a',
            OfferedAnswer::OnTerminal => 'p',
            OfferedAnswer::EditCommand => 'e',
            OfferedAnswer::No => 'n',
            OfferedAnswer::Never => 'd',
            OfferedAnswer::Instruct => 't',
            // It has a line of its own, with what it is about.
            OfferedAnswer::YesToWaiting => return None,
        };
        let lines = words::answer(approval, answer);
        let (start, rules) = lines.split_first()?;
        let rules: Vec<&str> = rules.iter().map(|rule| rule.trim()).collect();
        let text = [start.as_str(), &rules.join(" and ")].join(" ");
        Some(format!("{letter} {}", text.trim_end()))
    });
    let answers: Vec<String> = answers.collect();
    format!("Answers: {}; stop {}.", answers.join("; "), words::STOP)
}

fn part(part: &CallPart, settings: &ScreenSettings) -> String {
    let mut text = format!("  {}: {}", line(&part.text), line(&decision_text(part)));
    if part.decision == PermissionOutcome::Ask && part.rule.is_none() {
        text = format!("  {}: asked", line(&part.text));
    }
    if let Some(source) = &part.rule {
        text.push_str(&format!(" in {}", line(&rule_location(source, settings))));
    }
    text
}

fn arguments(input: &Value) -> String {
    let Some(fields) = input.as_object() else { return input.to_string() };
    let field = |(name, value): (&String, &Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{name}: {value}")
    };
    fields.iter().map(field).collect::<Vec<_>>().join("\n")
}
