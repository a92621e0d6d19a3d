//! The person's own command whose first line of output the first line shows: when it runs, what
//! it is told, and what it said.
//!
//! It runs only when something it is told has changed, at most once a second, and one at a time.
//! What it is told holds no time, which always changes. A command that fails is told of once;
//! what it said last stays on screen.

use std::time::Duration;

use serde::Serialize;

use crate::domain::{ContextWindow, Money, NoticeLevel};

use super::effect::{Effect, RequestId};
use super::model::{Model, StatusCommand};

/// The least time between two runs.
const REST: Duration = Duration::from_secs(1);

/// What is known of the command.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StatusLine {
    /// The first line that it printed last, colours and all.
    pub text: Option<String>,
    /// What it was told last.
    told: Option<String>,
    /// Whether what it would be told has changed since.
    fresh: Fresh,
    /// When it may run again.
    next: Duration,
    under_way: Option<RequestId>,
    health: Health,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Fresh {
    /// It knows the state as it is.
    #[default]
    Yes,
    /// It has to run again.
    No,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Health {
    #[default]
    Well,
    Failed,
}

/// What the command reads, one JSON object. What is not known is null.
#[derive(Debug, Serialize)]
struct State<'a> {
    version: &'a str,
    session_id: Option<String>,
    title: Option<&'a str>,
    cwd: String,
    project: &'a str,
    model: &'a str,
    mode: &'a str,
    running: bool,
    waiting: bool,
    git: Option<GitState<'a>>,
    context: Context,
    tokens_per_second: Option<f64>,
    cost: Option<Money>,
}

#[derive(Debug, Serialize)]
struct GitState<'a> {
    branch: &'a str,
    added: usize,
    changed: usize,
    removed: usize,
}

#[derive(Debug, Serialize)]
struct Context {
    used: Option<u64>,
    cached: Option<u64>,
    window: Option<u64>,
    /// Whether the server said how large the window is.
    measured: bool,
}

/// Time has passed, or something has changed.
pub fn tick(model: &mut Model) -> Option<Effect> {
    if model.settings.status_command == StatusCommand::None {
        return None;
    }
    let state = state(model);
    let line = &mut model.status_line;
    if line.told.as_ref() == Some(&state) {
        line.fresh = Fresh::Yes;
        return None;
    }
    line.fresh = Fresh::No;
    if line.under_way.is_some() || model.now < line.next {
        return None;
    }
    let id = model.requests.issue();
    line.fresh = Fresh::Yes;
    line.next = model.now + REST;
    line.under_way = Some(id);
    line.told = Some(state.clone());
    Some(Effect::RunStatusCommand { id, state })
}

/// When the command is due, if it is.
pub fn wake_at(model: &Model) -> Option<Duration> {
    let line = &model.status_line;
    (line.fresh == Fresh::No && line.under_way.is_none()).then_some(line.next)
}

/// The command has answered.
pub fn answered(model: &mut Model, id: RequestId, answer: Result<String, String>) {
    let line = &mut model.status_line;
    if line.under_way != Some(id) {
        return;
    }
    line.under_way = None;
    match answer {
        Ok(text) => {
            line.text = Some(text);
        }
        Err(reason) if line.health == Health::Well => {
            line.health = Health::Failed;
            let text = format!("`ui.status_command` fails: {reason}");
            model.transcript.notice(NoticeLevel::Warning, text);
        }
        Err(_) => {}
    }
}

fn state(model: &Model) -> String {
    let status = &model.status;
    let (window, measured) = match status.window {
        Some(ContextWindow::Served(window)) => (Some(window), true),
        Some(ContextWindow::Known(window) | ContextWindow::Assumed(window)) => {
            (Some(window), false)
        }
        None => (None, false),
    };
    let state = State {
        version: env!("CARGO_PKG_VERSION"),
        session_id: status.session.map(|session| session.to_string()),
        title: status.title.as_deref(),
        cwd: model.settings.cwd.display().to_string(),
        project: &status.project,
        model: &status.model,
        mode: status.mode.name(),
        running: !model.turn.is_idle(),
        waiting: model.has_question(),
        git: status.git.as_ref().map(|git| GitState {
            branch: &git.branch,
            added: git.added,
            changed: git.changed,
            removed: git.removed,
        }),
        context: Context {
            used: status.usage.map(|usage| usage.input + usage.output),
            cached: status.usage.map(|usage| usage.cache_read),
            window,
            measured,
        },
        tokens_per_second: status.rate,
        cost: status.spending.total().known_cost(),
    };
    // Nothing in it can fail to be written as JSON: its keys are fixed, its numbers finite.
    serde_json::to_string(&state).unwrap_or_default()
}
