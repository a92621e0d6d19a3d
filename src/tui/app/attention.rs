//! Whether slug notifies the user: it needs an answer or has finished, and the user looks
//! elsewhere.
//!
//! Terminals that report focus settle the question. Where no focus event has come (many terminals
//! never send one, tmux only with `focus-events`), only questions notify, and only after a while
//! without a key: nobody wants a bell for what is in front of them. A notification names the folder
//! and the tool. It contains nothing from messages or files, since it may show on a locked screen.

use std::time::Duration;

use super::conversation::status::clock;
use super::effect::ScreenEffect;

/// How long no key may have come before a question notifies, where the focus is unknown.
const QUIET: Duration = Duration::from_secs(10);

/// Where the user looks, as far as the terminal reports it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TerminalFocus {
    /// The terminal has sent no focus event.
    #[default]
    Unknown,
    Focused,
    Unfocused,
}

/// What is known of the user's attention, and the question that may have to notify.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UserAttention {
    pub focus: TerminalFocus,
    /// The time of the last key, click or paste.
    last_activity: Duration,
    /// The question to notify of if no key comes.
    question: Option<UnansweredQuestion>,
}

#[derive(Debug, Clone, PartialEq)]
struct UnansweredQuestion {
    asked: Duration,
    text: String,
}

impl UserAttention {
    /// Records a key, click or paste.
    pub fn record_activity(&mut self, now: Duration) {
        self.last_activity = now;
    }

    /// When a question notifies, if nothing happens before; `None` if no question waits for that.
    pub fn wake_at(&self) -> Option<Duration> {
        let question = self.question.as_ref()?;
        Some(question.asked.max(self.last_activity) + QUIET)
    }

    /// Takes a focus event from the terminal.
    pub fn set_focus(&mut self, focus: TerminalFocus) {
        self.focus = focus;
        self.question = None;
    }

    /// Notifies of a new question of a tool in a project: at once if the terminal is unfocused, not
    /// at all if it is focused, and after `QUIET` if the focus is unknown.
    pub fn notify_question(
        &mut self,
        now: Duration,
        project: &str,
        tool: &str,
    ) -> Option<ScreenEffect> {
        let text = format!("{project}: {tool} needs your answer");
        match self.focus {
            TerminalFocus::Focused => None,
            TerminalFocus::Unfocused => Some(ScreenEffect::Notify(text)),
            TerminalFocus::Unknown => {
                self.question.get_or_insert(UnansweredQuestion { asked: now, text });
                None
            }
        }
    }

    /// Notifies that a turn in a project is over and nothing follows it, if the terminal is
    /// unfocused.
    pub fn notify_turn_end(
        &self,
        project: &str,
        took: Duration,
        end: TurnEndKind,
    ) -> Option<ScreenEffect> {
        let word = match end {
            TurnEndKind::Answered => "done after",
            TurnEndKind::Failed => "failed after",
        };
        let text = format!("{project}: {word} {}", clock(took));
        (self.focus == TerminalFocus::Unfocused).then_some(ScreenEffect::Notify(text))
    }

    /// Notifies of a question that has waited long enough, and forgets one that has been answered.
    pub fn tick(&mut self, now: Duration, has_question: bool) -> Option<ScreenEffect> {
        if self.question.is_some() && !has_question {
            self.question = None;
        }
        if self.wake_at().is_none_or(|at| now < at) {
            return None;
        }
        self.question.take().map(|question| ScreenEffect::Notify(question.text))
    }
}

/// How a turn ended by itself, without the user stopping it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEndKind {
    Answered,
    Failed,
}
