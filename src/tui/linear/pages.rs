//! What stands on the screen's panes and in the list of sessions, as lines. A dialog says itself how it is
//! read out.

use crate::domain::{NoticeLevel, WorkPlan};
use crate::tui::app::ScreenModel;
use crate::tui::app::conversation::block::{
    PaneFold, ToolCallBlock, ToolCallContent, ToolCallOrigin, ToolCallState, TranscriptBlock,
};
use crate::tui::app::conversation::title::home_path;
use crate::tui::app::focus::KeyboardFocus;
use crate::tui::app::sidebar::{Sidebar, SidebarVisibility, age};
use crate::tui::dialogs::DialogView;
use crate::tui::dialogs::linear_page::{
    LabelledLine, LineLabel, LinearPage, count_words, line, lines,
};
use crate::tui::layout::StyledSpan;
use crate::tui::layout::ansi::{self, AnsiExcerpt};
use crate::tui::view::heads;

/// A call that is over: one line, and the output of a command that the user ran.
pub(super) fn call(
    model: &ScreenModel,
    block: &TranscriptBlock,
    tool: &ToolCallBlock,
) -> Vec<LabelledLine> {
    if tool.is_plan() && tool.state == ToolCallState::Done {
        return vec![LabelledLine::new(LineLabel::Call, progress(&model.conversation.plan))];
    }
    let what = format!("{} {}", line(&tool.name), line(&tool.title));
    let came = heads::head(block, &[], PaneFold::Closed, model.shared.now, u16::MAX)
        .map(|head| words(&head.right))
        .unwrap_or_default();
    // What stands behind the title is a list here, and a word needs no sign.
    let signs = |c: char| "✗⊘■".contains(c) || c.is_whitespace();
    let apart = came.split("  ").map(|it| it.trim_start_matches(signs).trim_end());
    let apart = apart.filter(|part| !part.is_empty());
    let change = match &tool.content {
        ToolCallContent::Diff(diff) => {
            Some((format!("+{} -{}", diff.added, diff.removed), count_words(diff)))
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
    let what = what.trim_end();
    let said = if came.is_empty() { what.to_owned() } else { format!("{what}: {came}") };
    let mut out = vec![LabelledLine::new(LineLabel::Call, said)];
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
        Some(dialog) => dialog.linear_page(around(model)),
        None if model.conversation.focus == KeyboardFocus::Sidebar => {
            sessions(model, &model.sidebar)
        }
        None => None,
    }
}

/// What has come to the open page since, each to be said once.
pub(super) fn additions(model: &ScreenModel) -> Vec<LinearPage> {
    let dialog = model.dialogs.top();
    dialog.map_or_else(Vec::new, |it| it.linear_additions(around(model)))
}

fn around(model: &ScreenModel) -> DialogView<'_> {
    let ScreenModel { conversation, background, shared, .. } = model;
    DialogView { conversation, background, shared }
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
    let mut out = vec![LabelledLine::new(LineLabel::Note, "Sessions, this folder's newest first:")];
    if rows.is_empty() {
        out = vec![LabelledLine::new(LineLabel::Note, "No sessions yet.")];
    }
    out.extend(rows.iter().zip(1..).map(|((_, row), number)| {
        let title = if row.title.is_empty() { "(empty)" } else { row.title.as_str() };
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

/// The plan's progress in one line.
fn progress(plan: &WorkPlan) -> String {
    let now = plan.current().map(|item| format!(". Now: {}", line(item.active_form)));
    let (done, all) = (plan.completed(), plan.len());
    format!("plan, {done} of {all} done{}", now.unwrap_or_default())
}

fn words(spans: &[StyledSpan]) -> String {
    spans.iter().map(|span| span.text.as_str()).collect()
}
