//! The permission question, read out.

use serde_json::Value;

use crate::domain::{ApprovalKind, CallPart};
use crate::tui::app::diff_text;
use crate::tui::app::settings::ScreenSettings;
use crate::tui::app::title::{home_path, visible_path};
use crate::tui::dialogs::DialogView;
use crate::tui::dialogs::linear_page::{
    LabelledLine, LineLabel, LinearPage, count_words, indented, line, lines,
};
use crate::tui::dialogs::rules::rule_location;
use crate::tui::dialogs::rules::view::decision_text;

use super::{ApprovalDialog, ApprovalRequestExt, ApprovalStage};

/// The question, or the field that is open in it.
pub(super) fn linear_page(approval: &ApprovalDialog, around: DialogView<'_>) -> LinearPage {
    let request = &approval.request;
    let key = |stage| format!("question {} {stage}", request.id.0);
    match &approval.stage {
        ApprovalStage::Choosing | ApprovalStage::Rule(..) => {
            LinearPage { key: key("answer"), lines: approval_lines(approval, around) }
        }
        ApprovalStage::Command(editor) => {
            let mut out = lines(LineLabel::Note, &format!("The command is: {}", editor.text()));
            out.push(LabelledLine::new(
                LineLabel::Continuation,
                "Type the one to run instead; it is checked again. An empty line goes back.",
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

fn approval_lines(approval: &ApprovalDialog, around: DialogView<'_>) -> Vec<LabelledLine> {
    let request = &approval.request;
    let home = around.shared.settings.home.as_deref();
    let same = |text: String| LabelledLine::new(LineLabel::Continuation, text);
    let tool = line(&request.tool);
    let more = match around.shared.questions.len() {
        0 => String::new(),
        more => format!(" ({more} more after this)"),
    };
    let mut out = Vec::new();
    match (&request.preview, request.command()) {
        (Some(diff), _) => {
            let path = visible_path(&home_path(&diff.path, home));
            let text = format!("may {tool} change {path}? {}.{more}", count_words(diff));
            out.push(LabelledLine::new(LineLabel::Question, text));
            out.extend(lines(LineLabel::Continuation, &diff_text::unified(diff)));
        }
        (None, Some(command)) => {
            let asks = match request.kind {
                ApprovalKind::Permission => format!("may {tool} run this?{more}"),
                ApprovalKind::SandboxEscalation => {
                    format!("may {tool} run this again, outside the sandbox?{more}")
                }
                ApprovalKind::RepeatedCall => format!("shall {tool} run this again?{more}"),
                ApprovalKind::Budget => format!("shall the turn go on?{more}"),
            };
            out.push(LabelledLine::new(LineLabel::Question, asks));
            out.extend(lines(LineLabel::Continuation, &indented(command)));
            out.push(same(format!("in {}", visible_path(&home_path(&request.cwd, home)))));
        }
        (None, None) => {
            let asks = match request.kind {
                ApprovalKind::Permission => format!("may {tool} do this?{more}"),
                ApprovalKind::SandboxEscalation => {
                    format!("may {tool} do this outside the sandbox?{more}")
                }
                ApprovalKind::RepeatedCall => format!("shall {tool} do this again?{more}"),
                ApprovalKind::Budget => format!("shall the turn go on?{more}"),
            };
            out.push(LabelledLine::new(LineLabel::Question, asks));
            out.extend(lines(LineLabel::Continuation, &indented(&arguments(&request.input))));
        }
    }
    out.extend(request.parts.iter().map(|it| same(part(it, &around.shared.settings))));
    out.extend(approval.lookalikes.iter().map(|warning| same(line(warning))));
    if !request.reason.is_empty() {
        out.extend(lines(LineLabel::Continuation, &request.reason));
    }
    if let Some(picks) = &approval.hunks {
        let text = format!("These are {} changes; a yes here is to all of them.", picks.count);
        out.push(same(text));
    }
    out.push(same(answers(approval, around)));
    out
}

fn answers(approval: &ApprovalDialog, around: DialogView<'_>) -> String {
    let mut answers = match approval.request.kind {
        ApprovalKind::Permission => vec!["y yes, once".to_owned(), "n no".to_owned()],
        ApprovalKind::SandboxEscalation => {
            vec!["y run it outside the sandbox".to_owned(), "n leave it at that".to_owned()]
        }
        ApprovalKind::RepeatedCall => {
            vec!["y go on with it".to_owned(), "n stop the turn".to_owned()]
        }
        ApprovalKind::Budget => vec![
            "y one more request".to_owned(),
            "s go on to twice the budget".to_owned(),
            "n stop the turn".to_owned(),
        ],
    };
    if approval.offers_rules() {
        let rules = line(&approval.allow_rules.join(" and "));
        let file = &approval.request.rule_file.0;
        let file = line(&home_path(file, around.shared.settings.home.as_deref()));
        answers.push("s yes, for this session".to_owned());
        answers.push(format!("a yes, always for {rules}, kept in {file}"));
    }
    if let Some(rule) = &approval.deny_rule {
        answers.push(format!("d no, always for {}", line(rule)));
    }
    if approval.request.command().is_some() {
        answers.push("e edit the command".to_owned());
    }
    match approval.request.kind {
        ApprovalKind::Permission | ApprovalKind::SandboxEscalation | ApprovalKind::RepeatedCall => {
            answers.push("t no, and tell it what to do instead".to_owned());
        }
        ApprovalKind::Budget => {}
    }
    format!("Answers: {}.", answers.join("; "))
}

fn part(part: &CallPart, settings: &ScreenSettings) -> String {
    let mut text = format!("  {}: {}", line(&part.text), line(&decision_text(part)));
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
