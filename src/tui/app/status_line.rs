//! The user's status command, whose first line of output is shown in the first line of the screen:
//! when it runs, its input and its output.
//!
//! It runs only when its input has changed, at most once a second, and one at a time. The input has
//! no time of day, because that always changes. A failure is reported once; the last output stays
//! on screen.

use std::time::Duration;

use serde::Serialize;

use crate::domain::{ContextWindow, Money, NoticeLevel};

use super::effect::ScreenEffect;
use super::model::ScreenModel;
use super::request::RequestId;
use super::settings::StatusCommandState;

/// The least time between two runs.
const REST: Duration = Duration::from_secs(1);

/// The state of the status command.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StatusLine {
    /// The first line of its last output, with colours.
    pub text: Option<String>,
    /// The input of the last run.
    last_input: Option<String>,
    /// Whether the input has changed since the last run.
    fresh: StatusLineFreshness,
    /// The earliest time of the next run.
    next: Duration,
    under_way: Option<RequestId>,
    health: StatusLineHealth,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum StatusLineFreshness {
    /// The last run had the present input.
    #[default]
    Current,
    /// The command has to run again.
    Stale,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum StatusLineHealth {
    #[default]
    Well,
    Failed,
}

/// The input of the command, one JSON object. Unknown values are null.
#[derive(Debug, Serialize)]
struct StatusLineInput<'a> {
    version: &'a str,
    session_id: Option<String>,
    title: Option<&'a str>,
    cwd: String,
    project: &'a str,
    model: &'a str,
    mode: &'a str,
    running: bool,
    waiting: bool,
    git: Option<StatusLineGit<'a>>,
    context: StatusLineContext,
    tokens_per_second: Option<f64>,
    cost: Option<Money>,
}

#[derive(Debug, Serialize)]
struct StatusLineGit<'a> {
    branch: &'a str,
    added: usize,
    changed: usize,
    removed: usize,
}

#[derive(Debug, Serialize)]
struct StatusLineContext {
    used: Option<u64>,
    cached: Option<u64>,
    window: Option<u64>,
    /// Whether the server reported the size of the window.
    measured: bool,
}

/// Runs the command if its input has changed and the pause is over.
pub fn tick(model: &mut ScreenModel) -> Option<ScreenEffect> {
    if model.shared.settings.status_command == StatusCommandState::None {
        return None;
    }
    let state = state(model);
    let line = &mut model.shared.status_line;
    if line.last_input.as_ref() == Some(&state) {
        line.fresh = StatusLineFreshness::Current;
        return None;
    }
    line.fresh = StatusLineFreshness::Stale;
    if line.under_way.is_some() || model.shared.now < line.next {
        return None;
    }
    let id = model.shared.requests.issue();
    line.fresh = StatusLineFreshness::Current;
    line.next = model.shared.now + REST;
    line.under_way = Some(id);
    line.last_input = Some(state.clone());
    Some(ScreenEffect::RunStatusCommand { id, state })
}

/// When the command is due; `None` if its input has not changed or it runs.
pub fn wake_at(model: &ScreenModel) -> Option<Duration> {
    let line = &model.shared.status_line;
    (line.fresh == StatusLineFreshness::Stale && line.under_way.is_none()).then_some(line.next)
}

/// Takes over the command's output. The first failure becomes a notice.
pub fn answered(model: &mut ScreenModel, id: RequestId, answer: Result<String, String>) {
    let line = &mut model.shared.status_line;
    if line.under_way != Some(id) {
        return;
    }
    line.under_way = None;
    match answer {
        Ok(text) => {
            line.text = Some(text);
        }
        Err(reason) if line.health == StatusLineHealth::Well => {
            line.health = StatusLineHealth::Failed;
            let text = format!("`ui.status_command` fails: {reason}");
            model.conversation.transcript.notice(NoticeLevel::Warning, text);
        }
        Err(_) => {}
    }
}

fn state(model: &ScreenModel) -> String {
    let status = &model.conversation.status;
    let (window, measured) = match status.window {
        Some(ContextWindow::Served(window)) => (Some(window), true),
        Some(ContextWindow::Known(window) | ContextWindow::Assumed(window)) => {
            (Some(window), false)
        }
        None => (None, false),
    };
    let state = StatusLineInput {
        version: env!("CARGO_PKG_VERSION"),
        session_id: status.session.map(|session| session.to_string()),
        title: status.title.as_deref(),
        cwd: model.shared.settings.cwd.display().to_string(),
        project: &status.project,
        model: &status.model,
        mode: status.mode.name(),
        running: !model.conversation.turn.is_idle(),
        waiting: model.has_question(),
        git: status.git.as_ref().map(|git| StatusLineGit {
            branch: &git.branch,
            added: git.added,
            changed: git.changed,
            removed: git.removed,
        }),
        context: StatusLineContext {
            used: status.usage.map(|usage| usage.input + usage.output),
            cached: status.usage.map(|usage| usage.cache_read),
            window,
            measured,
        },
        tokens_per_second: status.rate,
        cost: status.spending.total().known_cost(),
    };
    // This cannot fail to serialize: its keys are fixed, its numbers finite.
    serde_json::to_string(&state).unwrap_or_default()
}
