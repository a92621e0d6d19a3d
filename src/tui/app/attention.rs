//! Whether the person has to be called: slug needs an answer, or is done, and they look elsewhere.
//!
//! Terminals that report the focus settle it. Where none has been reported (many never do, tmux
//! only with `focus-events`), only questions call, and only once no key has come for a while:
//! nobody wants a bell for what they are looking at. The texts name the folder and the tool, and
//! hold nothing of what was said or of any file, since they may show on a locked screen.

use std::time::Duration;

use super::effect::ScreenEffect;
use super::model::ScreenModel;
use super::status::clock;

/// How long no key may have come, where the focus is not known, before a question calls.
const QUIET: Duration = Duration::from_secs(10);

/// Where the person looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TerminalFocus {
    /// The terminal has never said.
    #[default]
    Unknown,
    /// At this terminal.
    Focused,
    /// Elsewhere.
    Unfocused,
}

/// What is known of the person's attention.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UserAttention {
    /// Where they look.
    pub focus: TerminalFocus,
    /// When the last key, click or text came.
    last_activity: Duration,
    /// A question that will call when they stay quiet.
    question: Option<UnansweredQuestion>,
}

#[derive(Debug, Clone, PartialEq)]
struct UnansweredQuestion {
    asked: Duration,
    text: String,
}

impl UserAttention {
    /// The person did something.
    pub fn record_activity(&mut self, now: Duration) {
        self.last_activity = now;
    }

    /// When a question will call, if nothing happens before.
    pub fn wake_at(&self) -> Option<Duration> {
        let question = self.question.as_ref()?;
        Some(question.asked.max(self.last_activity) + QUIET)
    }
}

/// The terminal says where the person looks.
pub fn set_focus(model: &mut ScreenModel, presence: TerminalFocus) {
    model.attention.focus = presence;
    model.attention.question = None;
}

/// A question is asked.
pub fn notify_question(model: &mut ScreenModel, tool: &str) -> Vec<ScreenEffect> {
    let text = format!("{}: {tool} needs your answer", model.status.project);
    match model.attention.focus {
        TerminalFocus::Focused => Vec::new(),
        TerminalFocus::Unfocused => vec![ScreenEffect::Notify(text)],
        TerminalFocus::Unknown => {
            let asked = model.now;
            model.attention.question.get_or_insert(UnansweredQuestion { asked, text });
            Vec::new()
        }
    }
}

/// A turn is over, and nothing follows it.
pub fn notify_turn_end(
    model: &ScreenModel,
    took: Duration,
    how: TurnEndKind,
) -> Option<ScreenEffect> {
    let long = took >= model.settings.notify_after;
    if model.attention.focus != TerminalFocus::Unfocused || !long {
        return None;
    }
    let word = match how {
        TurnEndKind::Answered => "done after",
        TurnEndKind::Failed => "stopped with an error after",
    };
    Some(ScreenEffect::Notify(format!("{}: {word} {}", model.status.project, clock(took))))
}

/// How a turn ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEndKind {
    /// With an answer.
    Answered,
    /// It could not go on.
    Failed,
}

/// Time has passed.
pub fn tick(model: &mut ScreenModel) -> Option<ScreenEffect> {
    if model.attention.question.is_some() && !model.has_question() {
        model.attention.question = None;
    }
    if model.attention.wake_at().is_none_or(|at| model.now < at) {
        return None;
    }
    model.attention.question.take().map(|question| ScreenEffect::Notify(question.text))
}
