//! Whether the person has to be called: slug needs an answer, or is done, and they look elsewhere.
//!
//! Terminals that report the focus settle it. Where none has been reported (many never do, tmux
//! only with `focus-events`), only questions call, and only once no key has come for a while:
//! nobody wants a bell for what they are looking at. The texts name the folder and the tool, and
//! hold nothing of what was said or of any file, since they may show on a locked screen.

use std::time::Duration;

use super::effect::Effect;
use super::model::Model;
use super::status::clock;

/// How long no key may have come, where the focus is not known, before a question calls.
const QUIET: Duration = Duration::from_secs(10);

/// Where the person looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Presence {
    /// The terminal has never said.
    #[default]
    Unknown,
    /// At this terminal.
    Here,
    /// Elsewhere.
    Away,
}

/// What is known of the person's attention.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attention {
    /// Where they look.
    pub presence: Presence,
    /// When the last key, click or text came.
    last_sign: Duration,
    /// A question that will call when they stay quiet.
    question: Option<Question>,
}

#[derive(Debug, Clone, PartialEq)]
struct Question {
    asked: Duration,
    text: String,
}

impl Attention {
    /// The person did something.
    pub fn sign(&mut self, now: Duration) {
        self.last_sign = now;
    }

    /// When a question will call, if nothing happens before.
    pub fn wake_at(&self) -> Option<Duration> {
        let question = self.question.as_ref()?;
        Some(question.asked.max(self.last_sign) + QUIET)
    }
}

/// The terminal says where the person looks.
pub fn looks(model: &mut Model, presence: Presence) {
    model.attention.presence = presence;
    model.attention.question = None;
}

/// A question is asked.
pub fn question(model: &mut Model, tool: &str) -> Vec<Effect> {
    let text = format!("{}: {tool} needs your answer", model.status.project);
    match model.attention.presence {
        Presence::Here => Vec::new(),
        Presence::Away => vec![Effect::Notify(text)],
        Presence::Unknown => {
            let asked = model.now;
            model.attention.question.get_or_insert(Question { asked, text });
            Vec::new()
        }
    }
}

/// A turn is over, and nothing follows it.
pub fn done(model: &Model, took: Duration, how: Done) -> Option<Effect> {
    let long = took >= model.settings.notify_after;
    if model.attention.presence != Presence::Away || !long {
        return None;
    }
    let word = match how {
        Done::Answered => "done after",
        Done::Failed => "stopped with an error after",
    };
    Some(Effect::Notify(format!("{}: {word} {}", model.status.project, clock(took))))
}

/// How a turn ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// With an answer.
    Answered,
    /// It could not go on.
    Failed,
}

/// Time has passed.
pub fn tick(model: &mut Model) -> Option<Effect> {
    if model.attention.question.is_some() && !model.has_question() {
        model.attention.question = None;
    }
    if model.attention.wake_at().is_none_or(|at| model.now < at) {
        return None;
    }
    model.attention.question.take().map(|question| Effect::Notify(question.text))
}
