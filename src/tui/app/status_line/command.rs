//! Runs the status command when its input has changed.

use serde::Serialize;

use super::{REST, StatusLineFreshness, StatusLineHealth};
use crate::domain::{ContextWindow, Money, NoticeLevel, TokenUsage};
use crate::services::session_changes::ChangedFile;
use crate::tui::app::conversation::Conversation;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::request_id::RequestId;
use crate::tui::app::settings::StatusCommandState;
use crate::tui::app::shared::SharedState;

/// The input of the command, one JSON object. Unknown values are null. What Claude Code tells its
/// status commands, too, has the same names here, so that these run unchanged.
#[derive(Debug, Serialize)]
struct StatusLineInput<'a> {
    version: &'a str,
    session_id: Option<String>,
    session_name: Option<&'a str>,
    cwd: &'a str,
    workspace: StatusLineWorkspace<'a>,
    project: &'a str,
    model: StatusLineModel<'a>,
    mode: &'a str,
    running: bool,
    waiting: bool,
    git: Option<StatusLineGit<'a>>,
    context_window: StatusLineContext,
    tokens_per_second: Option<f64>,
    cost: StatusLineCost,
}

#[derive(Debug, Serialize)]
struct StatusLineModel<'a> {
    id: &'a str,
    display_name: &'a str,
}

#[derive(Debug, Serialize)]
struct StatusLineWorkspace<'a> {
    current_dir: &'a str,
    project_dir: &'a str,
}

#[derive(Debug, Serialize)]
struct StatusLineCost {
    total_cost_usd: Option<Money>,
    total_lines_added: usize,
    total_lines_removed: usize,
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
    context_window_size: Option<u64>,
    /// Whether the server reported the size of the window.
    measured: bool,
    used_percentage: Option<u64>,
    remaining_percentage: Option<u64>,
    total_input_tokens: u64,
    total_output_tokens: u64,
    current_usage: Option<StatusLineUsage>,
}

/// The last response's tokens; their sum fills the window.
#[derive(Debug, Serialize)]
struct StatusLineUsage {
    /// Without those of the cache.
    input_tokens: u64,
    output_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
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
    let cwd = shared.settings.cwd.display().to_string();
    let total = status.spending.total();
    let lines = || conversation.changes.changed().filter_map(ChangedFile::lines);
    let state = StatusLineInput {
        version: env!("CARGO_PKG_VERSION"),
        session_id: status.session.map(|session| session.to_string()),
        session_name: status.title.as_deref(),
        cwd: &cwd,
        workspace: StatusLineWorkspace { current_dir: &cwd, project_dir: &cwd },
        project: &status.project,
        model: StatusLineModel { id: &status.model, display_name: &status.model },
        mode: status.mode.name(),
        running: !conversation.turn.is_idle(),
        waiting: has_question,
        git: status.git.as_ref().map(|git| StatusLineGit {
            branch: &git.branch,
            added: git.added,
            changed: git.changed,
            removed: git.removed,
        }),
        context_window: context(window, measured, status.usage, total.usage),
        tokens_per_second: status.rate,
        cost: StatusLineCost {
            total_cost_usd: total.known_cost(),
            total_lines_added: lines().map(|lines| lines.added).sum(),
            total_lines_removed: lines().map(|lines| lines.removed).sum(),
        },
    };
    // This cannot fail to serialize: its keys are fixed, its numbers finite.
    serde_json::to_string(&state).unwrap_or_default()
}

fn context(
    window: Option<u64>,
    measured: bool,
    last: Option<TokenUsage>,
    total: TokenUsage,
) -> StatusLineContext {
    let used = |usage: TokenUsage| {
        let tokens = usage.input.saturating_add(usage.output).saturating_mul(100);
        window.filter(|window| *window > 0).map(|window| (tokens / window).min(100))
    };
    let used_percentage = last.and_then(used);
    StatusLineContext {
        context_window_size: window,
        measured,
        used_percentage,
        remaining_percentage: used_percentage.map(|used| 100 - used),
        total_input_tokens: total.input,
        total_output_tokens: total.output,
        current_usage: last.map(|usage| StatusLineUsage {
            input_tokens: usage.input.saturating_sub(usage.cache_read + usage.cache_write),
            output_tokens: usage.output,
            cache_creation_input_tokens: usage.cache_write,
            cache_read_input_tokens: usage.cache_read,
        }),
    }
}
