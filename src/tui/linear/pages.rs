//! The screen's panes, dialogs and lists as lines.

use serde_json::Value;

use crate::commands::{CommandDescriptor, CommandRegistry};
use crate::domain::sanitize::{sanitize, sanitize_line};
use crate::domain::{ApprovalKind, CallPart, FileDiff, NoticeLevel, TodoItem, TodoStatus};
use crate::session::undo::PlannedFile;
use crate::tui::app::ScreenModel;
use crate::tui::app::block::{
    PaneFold, ToolCallBlock, ToolCallContent, ToolCallOrigin, ToolCallState, TranscriptBlock,
};
use crate::tui::app::choice::PickerChoice;
use crate::tui::app::diff_text;
use crate::tui::app::focus::KeyboardFocus;
use crate::tui::app::session_changes::{ExternalChange, NetChangeContent, NetFileChange};
use crate::tui::app::settings::ScreenSettings;
use crate::tui::app::sidebar::{Sidebar, SidebarVisibility, age};
use crate::tui::app::title::{first_line, home_path, visible_path};
use crate::tui::dialogs::approval::{ApprovalDialog, ApprovalRequestExt, ApprovalStage};
use crate::tui::dialogs::changes::patch;
use crate::tui::dialogs::hooks::HookTrustDialog;
use crate::tui::dialogs::picker::{Picker, PickerLoading};
use crate::tui::dialogs::reading::ReadingPage;
use crate::tui::dialogs::reading::status_page;
use crate::tui::dialogs::reading::status_page::{StatusPageRow, StatusPageTotals};
use crate::tui::dialogs::rewind::{self, RewindDialog};
use crate::tui::dialogs::rules;
use crate::tui::dialogs::rules::view::{decision_text, refused_by};
use crate::tui::dialogs::rules::{RulesPage, rule_location};
use crate::tui::dialogs::{DialogView, OpenDialog};
use crate::tui::layout::StyledSpan;
use crate::tui::layout::ansi::{self, AnsiExcerpt};
use crate::tui::view::heads;

use super::line_writer::{LabelledLine, LineLabel};

/// A page, dialog or list that is open over the chat.
#[derive(Debug)]
pub(super) struct LinearPage {
    /// Differs for each page, so that a page is read out once.
    pub(super) key: String,
    /// The whole page.
    pub(super) lines: Vec<LabelledLine>,
}

/// A text as lines; only the first carries the label.
pub(super) fn lines(label: LineLabel, text: &str) -> Vec<LabelledLine> {
    let text = sanitize(text.strip_suffix('\n').unwrap_or(text));
    let first = std::iter::once(label).chain(std::iter::repeat(LineLabel::Continuation));
    text.split('\n')
        .zip(first)
        .map(|(line, label)| LabelledLine::new(label, line.trim_end()))
        .collect()
}

/// A text on one line.
pub(super) fn line(text: &str) -> String {
    sanitize_line(text)
}

/// A call that is over: one line, and the output of a command that the user ran.
pub(super) fn call(
    model: &ScreenModel,
    block: &TranscriptBlock,
    tool: &ToolCallBlock,
) -> Vec<LabelledLine> {
    if tool.is_plan() && tool.state == ToolCallState::Done {
        return vec![LabelledLine::new(LineLabel::Call, progress(&model.conversation.todos))];
    }
    let what = format!("{} {}", line(&tool.name), line(&tool.title));
    let came = heads::head(block, PaneFold::Closed, model.shared.now, u16::MAX)
        .map(|head| words(&head.right))
        .unwrap_or_default();
    // Parts that stand at the screen's right edge are a list here.
    let apart = came.split("  ").map(str::trim).filter(|part| !part.is_empty());
    let change = match &tool.content {
        ToolCallContent::Diff(diff) => {
            Some((format!("+{} -{}", diff.added, diff.removed), counts(diff)))
        }
        ToolCallContent::Nothing
        | ToolCallContent::Live(_)
        | ToolCallContent::Text(_)
        | ToolCallContent::Terminal(_) => None,
    };
    let spoken = |part: &str| match &change {
        Some((signs, words)) if part == signs => words.clone(),
        Some(_) | None => part.to_owned(),
    };
    let came = apart.map(spoken).collect::<Vec<_>>().join(", ");
    let mut out = vec![LabelledLine::new(LineLabel::Call, format!("{}: {came}", what.trim_end()))];
    let output = match (&tool.content, tool.origin) {
        (ToolCallContent::Terminal(text) | ToolCallContent::Text(text), ToolCallOrigin::User) => {
            text.as_str()
        }
        (
            ToolCallContent::Nothing | ToolCallContent::Live(_) | ToolCallContent::Diff(_),
            ToolCallOrigin::User,
        )
        | (_, ToolCallOrigin::Model) => "",
    };
    if !output.trim().is_empty() {
        // Rendered as a terminal would show it, without its colours.
        let rows = ansi::render(output, AnsiExcerpt::All, u16::MAX);
        out.extend(
            rows.iter().map(|row| LabelledLine::new(LineLabel::Continuation, words(&row.spans))),
        );
    }
    out
}

/// The page over the chat, if one is open.
pub(super) fn open_page(model: &ScreenModel) -> Option<LinearPage> {
    match model.dialogs.top() {
        Some(OpenDialog::Approval(approval)) => Some(question(model, approval)),
        Some(OpenDialog::Picker(picker)) => picked(picker),
        Some(OpenDialog::Reading(reading)) => Some(match reading.page {
            ReadingPage::Help => {
                LinearPage { key: "help".to_owned(), lines: help(&model.shared.settings.commands) }
            }
            ReadingPage::Status => {
                let rows = status_page::rows(DialogView {
                    conversation: &model.conversation,
                    shared: &model.shared,
                });
                LinearPage { key: "status".to_owned(), lines: status(&rows) }
            }
            ReadingPage::Todos => {
                LinearPage { key: "todos".to_owned(), lines: plan(&model.conversation.todos) }
            }
        }),
        Some(OpenDialog::HookTrust(question)) => {
            let text = format!("{}\n{}", HookTrustDialog::TITLE, question.news);
            let mut out = lines(LineLabel::Question, &text);
            out.push(LabelledLine::new(
                LineLabel::Continuation,
                "Type y to trust it, n to leave it as it is.",
            ));
            Some(LinearPage { key: format!("hook trust {}", question.news), lines: out })
        }
        Some(OpenDialog::Changes(page)) => {
            let files = page.files.as_ref()?;
            Some(LinearPage { key: format!("changes {}", page.version), lines: changes(files) })
        }
        Some(OpenDialog::Rules(page)) => {
            let list = page.list.as_ref()?;
            Some(LinearPage {
                key: "rules".to_owned(),
                lines: rule_list(model, page, list.rules.len()),
            })
        }
        Some(OpenDialog::Rewind(dialog)) => rewind_page(model, dialog),
        Some(OpenDialog::Pager(pager)) => {
            let text = pager.document.read(0..pager.document.len());
            let key = format!("pager {}", pager.document.id());
            Some(LinearPage { key, lines: lines(LineLabel::Note, &text) })
        }
        // Without a screen these are asked as text, before the conversation.
        Some(OpenDialog::Trust(_) | OpenDialog::FirstRun(_)) => None,
        None if model.conversation.focus == KeyboardFocus::Sidebar => {
            sessions(model, &model.sidebar)
        }
        None => None,
    }
}

/// What a rewind would do, and its choices, each with its number.
fn rewind_page(model: &ScreenModel, dialog: &RewindDialog) -> Option<LinearPage> {
    let rewind::RewindStage::Planned(plan) = &dialog.stage else { return None };
    let mut out = vec![LabelledLine::new(LineLabel::Note, format!("{}:", dialog.title()))];
    let rows = dialog.rows(&model.shared.settings.cwd);
    out.extend(rows.into_iter().filter_map(|row| {
        let text = match row {
            rewind::RewindRow::Gap => return None,
            rewind::RewindRow::Message(text) => format!("  before: {text}"),
            rewind::RewindRow::Note(text) | rewind::RewindRow::Warning(text) => format!("  {text}"),
            rewind::RewindRow::File { name, what, fate, .. } => {
                format!("  {}{name}: {what}", fate.mark())
            }
        };
        Some(LabelledLine::new(LineLabel::Continuation, line(&text)))
    }));
    let answers = dialog.answers(&model.shared.settings.cwd);
    let offers = dialog.offers().into_iter().map(|(_, word)| word.to_owned());
    let all = offers.chain(answers).zip(1..);
    out.extend(all.map(|(word, number)| {
        LabelledLine::new(LineLabel::Continuation, line(&format!("{number} {word}")))
    }));
    out.push(LabelledLine::new(
        LineLabel::Continuation,
        "Type a number. An empty line leaves everything as it is.",
    ));
    let turned: Vec<bool> = plan.files.files.iter().map(PlannedFile::is_overridden).collect();
    Some(LinearPage { key: format!("rewind {:?} {turned:?}", plan.to), lines: out })
}

/// The rules and the refused calls. Testing a call against them is left to `slug permissions`.
fn rule_list(model: &ScreenModel, page: &RulesPage, count: usize) -> Vec<LabelledLine> {
    let heading = if count == 1 { "1 rule:".to_owned() } else { format!("{count} rules:") };
    let mut out = vec![LabelledLine::new(LineLabel::Note, heading)];
    out.extend(page.rows(&model.conversation.denied_calls).into_iter().map(|row| {
        let text = match row {
            rules::RulesRow::Heading(text) => format!("{text}:"),
            rules::RulesRow::Rule(rule) => {
                format!("  {}, {}", rule.rule, rule_location(rule, &model.shared.settings))
            }
            rules::RulesRow::Warning(warning) => format!("  {warning}"),
            rules::RulesRow::Refused(refused) => {
                let about = refused.entry.about.as_deref().unwrap_or_default();
                format!("  {}: {}, {}", refused.entry.tool, first_line(about), refused_by(refused))
            }
        };
        LabelledLine::new(LineLabel::Continuation, line(&text))
    }));
    out
}

fn question(model: &ScreenModel, approval: &ApprovalDialog) -> LinearPage {
    let request = &approval.request;
    let key = |stage| format!("question {} {stage}", request.id.0);
    match &approval.stage {
        ApprovalStage::Choosing | ApprovalStage::Rule(..) => {
            LinearPage { key: key("answer"), lines: approval_lines(model, approval) }
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

fn approval_lines(model: &ScreenModel, approval: &ApprovalDialog) -> Vec<LabelledLine> {
    let request = &approval.request;
    let home = model.shared.settings.home.as_deref();
    let same = |text: String| LabelledLine::new(LineLabel::Continuation, text);
    let tool = line(&request.tool);
    let more = match model.shared.questions.len() {
        0 => String::new(),
        more => format!(" ({more} more after this)"),
    };
    let mut out = Vec::new();
    match (&request.preview, request.command()) {
        (Some(diff), _) => {
            let path = visible_path(&home_path(&diff.path, home));
            let text = format!("may {tool} change {path}? {}.{more}", counts(diff));
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
    out.extend(request.parts.iter().map(|it| same(part(it, &model.shared.settings))));
    out.extend(approval.lookalikes.iter().map(|warning| same(line(warning))));
    if !request.reason.is_empty() {
        out.extend(lines(LineLabel::Continuation, &request.reason));
    }
    if let Some(picks) = &approval.hunks {
        let text = format!("These are {} changes; a yes here is to all of them.", picks.count);
        out.push(same(text));
    }
    out.push(same(answers(model, approval)));
    out
}

fn answers(model: &ScreenModel, approval: &ApprovalDialog) -> String {
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
        let file = line(&home_path(file, model.shared.settings.home.as_deref()));
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

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

fn picked(picker: &Picker) -> Option<LinearPage> {
    let title = picker.title;
    match &picker.state {
        PickerLoading::Waiting(_) => None,
        PickerLoading::Failed(reason) => Some(LinearPage {
            key: format!("{title} failed"),
            lines: lines(LineLabel::Error, reason),
        }),
        PickerLoading::Ready => {
            let colon = if title.ends_with('?') { "" } else { ":" };
            let mut out = vec![LabelledLine::new(LineLabel::Note, format!("{title}{colon}"))];
            if let Some(PickerChoice::Hook(choice)) = picker.list.chosen()
                && let Some(subject) = choice.subject()
            {
                out.extend(lines(LineLabel::Continuation, &indented(&subject)));
            }
            let rows = (0..picker.list.len()).filter_map(|at| picker.list.row(at));
            out.extend(rows.zip(1..).map(|((label, detail, aside), number)| {
                let parts = [label, detail, aside].map(|part| line(part).trim().to_owned());
                let parts: Vec<String> = parts.into_iter().filter(|it| !it.is_empty()).collect();
                LabelledLine::new(
                    LineLabel::Continuation,
                    format!("{number}. {}", parts.join(", ")),
                )
            }));
            out.push(LabelledLine::new(
                LineLabel::Continuation,
                "Type a number, or an empty line to go back.",
            ));
            Some(LinearPage { key: format!("{title} ready"), lines: out })
        }
    }
}

fn sessions(model: &ScreenModel, sidebar: &Sidebar) -> Option<LinearPage> {
    if sidebar.visibility == SidebarVisibility::Hidden {
        return None;
    }
    if let Some(note) = &sidebar.note {
        let label = match note.level {
            NoticeLevel::Info => LineLabel::Note,
            NoticeLevel::Warning => LineLabel::Warning,
            NoticeLevel::Error => LineLabel::Error,
        };
        return Some(LinearPage { key: note.text.clone(), lines: lines(label, &note.text) });
    }
    let now = sidebar.tree.as_ref()?.now();
    let rows = sidebar.sessions();
    let mut out =
        vec![LabelledLine::new(LineLabel::Note, "Sessions, the newest of this folder first:")];
    if rows.is_empty() {
        out = vec![LabelledLine::new(LineLabel::Note, "There are no sessions yet.")];
    }
    out.extend(rows.iter().zip(1..).map(|((_, row), number)| {
        let title = if row.title.is_empty() { "(nothing said)" } else { row.title.as_str() };
        let open =
            if model.conversation.status.session == Some(row.id) { ", open here" } else { "" };
        let age = age(row.last_used_at, now);
        let place = if row.working_directory == model.shared.settings.cwd {
            String::new()
        } else {
            let home = model.shared.settings.home.as_deref();
            format!(", in {}", line(&home_path(&row.working_directory, home)))
        };
        LabelledLine::new(
            LineLabel::Continuation,
            format!("{number}. {}, {age}{place}{open}", line(title)),
        )
    }));
    out.push(LabelledLine::new(
        LineLabel::Continuation,
        "Type a number, or an empty line to go back.",
    ));
    Some(LinearPage { key: "sessions".to_owned(), lines: out })
}

fn help(commands: &CommandRegistry) -> Vec<LabelledLine> {
    let mut out = vec![LabelledLine::new(LineLabel::Note, "Commands:")];
    let row = |it: &CommandDescriptor| {
        LabelledLine::new(LineLabel::Continuation, format!("/{}: {}", it.name, it.summary))
    };
    out.extend(commands.all().map(row));
    out.extend(
        [
            "A line is sent as it is; one that ends in a backslash goes on in the next.",
            "A line that begins with ! runs a shell command of your own.",
            "While a turn runs, a line waits for its end.",
            "ctrl+c stops the turn, and leaves when nothing runs and it comes twice; so does ctrl+d.",
        ]
        .map(|text| LabelledLine::new(LineLabel::Continuation, text)),
    );
    out
}

fn changes(files: &[NetFileChange]) -> Vec<LabelledLine> {
    let mut out = Vec::new();
    for file in files {
        let name = line(&file.name);
        let what = match &file.content {
            NetChangeContent::Changed(diff) => counts(diff),
            NetChangeContent::New(diff) => format!("new, {}", counts(diff)),
            NetChangeContent::Deleted(diff) => format!("deleted, {}", counts(diff)),
            NetChangeContent::Same => "as it was before this session".to_owned(),
            NetChangeContent::Unknown(why) => line(why),
        };
        let since = match file.external_change {
            ExternalChange::Nothing => "",
            ExternalChange::Changed => ", changed outside of slug since",
            ExternalChange::Deleted => ", deleted outside of slug since",
        };
        out.push(LabelledLine::new(LineLabel::Note, format!("{name}, {what}{since}:")));
        out.extend(
            lines(LineLabel::Continuation, &patch::of(file))
                .into_iter()
                .filter(|_| file.diff().is_some()),
        );
    }
    out
}

/// The page of `/status`, with the sums as sentences.
fn status(rows: &[StatusPageRow]) -> Vec<LabelledLine> {
    let spoken = |row: &StatusPageRow| match row {
        StatusPageRow::Gap => None,
        StatusPageRow::Heading(text) => Some(format!("{text}:")),
        StatusPageRow::Pair(name, value) => Some(format!("{name}: {}", line(value))),
        StatusPageRow::Sums(sums) => Some(sums_in_words(sums)),
        StatusPageRow::Note(text) => Some(text.clone()),
    };
    let label = std::iter::once(LineLabel::Note).chain(std::iter::repeat(LineLabel::Continuation));
    rows.iter()
        .filter_map(spoken)
        .zip(label)
        .map(|(text, label)| LabelledLine::new(label, text))
        .collect()
}

fn sums_in_words(sums: &StatusPageTotals) -> String {
    let parts = [
        ("tokens read", &sums.read),
        ("from the cache", &sums.cached),
        ("stored in it", &sums.stored),
        ("written", &sums.written),
        ("in cost", &sums.cost),
    ];
    let known = parts.into_iter().filter(|(_, count)| !count.is_empty());
    let out: Vec<String> = known.map(|(what, count)| format!("{count} {what}")).collect();
    format!("{}: {}", line(&sums.name), out.join(", "))
}

fn plan(todos: &[TodoItem]) -> Vec<LabelledLine> {
    if todos.is_empty() {
        let text = "There is no plan. The model makes one for work of several steps.";
        return vec![LabelledLine::new(LineLabel::Note, text)];
    }
    let mut out = vec![LabelledLine::new(LineLabel::Note, "The plan:")];
    out.extend(todos.iter().map(|todo| {
        let state = match todo.status {
            TodoStatus::Completed => "done",
            TodoStatus::InProgress => "now",
            TodoStatus::Pending => "to do",
        };
        LabelledLine::new(LineLabel::Continuation, format!("{state}: {}", line(&todo.content)))
    }));
    out
}

/// The plan's progress in one line.
fn progress(todos: &[TodoItem]) -> String {
    let done = todos.iter().filter(|todo| todo.status == TodoStatus::Completed).count();
    let now = todos.iter().find(|todo| todo.status == TodoStatus::InProgress);
    let now = now.map(|todo| format!(". Now: {}", line(&todo.active_form))).unwrap_or_default();
    format!("plan, {done} of {} done{now}", todos.len())
}

/// The added and removed lines of a diff.
fn counts(diff: &FileDiff) -> String {
    let lines = if diff.added == 1 { "line" } else { "lines" };
    format!("{} {lines} added, {} removed", diff.added, diff.removed)
}

fn words(spans: &[StyledSpan]) -> String {
    spans.iter().map(|span| span.text.as_str()).collect()
}
