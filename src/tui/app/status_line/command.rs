//! Runs the status command when its input has changed.

use serde::Serialize;

use super::{REST, StatusLineFreshness, StatusLineHealth};
use crate::domain::{ContextWindow, Money, NoticeLevel};
use crate::tui::app::conversation::Conversation;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::request_id::RequestId;
use crate::tui::app::settings::StatusCommandState;
use crate::tui::app::shared::SharedState;

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
pub fn tick(
    conversation: &Conversation,
    shared: &mut SharedState,
    has_question: bool,
) -> Option<ScreenEffect> {
    if shared.settings.status_command == StatusCommandState::None {
        return None;
    }
    let state = state(conversation, shared, has_question);
    let line = &mut shared.status_line;
    if line.last_input.as_ref() == Some(&state) {
        line.fresh = StatusLineFreshness::Current;
        return None;
    }
    line.fresh = StatusLineFreshness::Stale;
    if line.under_way.is_some() || shared.now < line.next {
        return None;
    }
    let id = shared.requests.issue();
    line.fresh = StatusLineFreshness::Current;
    line.next = shared.now + REST;
    line.under_way = Some(id);
    line.last_input = Some(state.clone());
    Some(ScreenEffect::RunStatusCommand { id, state })
}

/// Takes over the command's output. The first failure becomes a notice.
pub fn answered(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    id: RequestId,
    answer: Result<String, String>,
) {
    let line = &mut shared.status_line;
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
            let text = format!("`ui.status_command` failed: {reason}");
            conversation.transcript.notice(NoticeLevel::Warning, text);
        }
        Err(_) => {}
    }
}

fn state(conversation: &Conversation, shared: &SharedState, has_question: bool) -> String {
    let status = &conversation.status;
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
        cwd: shared.settings.cwd.display().to_string(),
        project: &status.project,
        model: &status.model,
        mode: status.mode.name(),
        running: !conversation.turn.is_idle(),
        waiting: has_question,
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
