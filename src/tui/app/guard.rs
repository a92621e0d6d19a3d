//! The guard of every question: a key typed before the question could be read never answers it.
//!
//! A question takes answers once a frame with it has reached the terminal, and 300 ms have passed
//! without a typed key and without input waiting to be read. The guard starts over when the screen
//! was lost (a stop, an editor, a pager, another dialog on top) and when the window gets the
//! focus. While the user types a text into the input below, the question waits for a longer rest.
//! Escape always means "no", and needs no guard.
//!
//! Being armed is a state, not a comparison of times: [`QuestionGuard::input_idle`] arms the guard,
//! and the loop calls it only after it has found no input. So a key that waited while the loop was
//! busy comes too early, however late the loop reads it.

use std::time::Duration;

/// How long nothing may have been typed before a question takes answers.
pub const QUIET_TIME: Duration = Duration::from_millis(300);

/// How long nothing may have been typed where the user was typing a text: a hand that pauses for a word
/// is still typing.
pub const TYPING_QUIET_TIME: Duration = Duration::from_secs(1);

/// Decides whether a question takes answers yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QuestionGuard {
    state: GuardState,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum GuardState {
    /// The question is not on screen.
    #[default]
    Hidden,
    /// The question is in a frame that the terminal has not taken yet.
    Sent,
    /// The question is on screen. `quiet_since` is the time of the last key, or of the frame;
    /// `typing` tells whether that key was part of a text.
    Painted { quiet_since: Duration, typing: TextTyping },
    /// The question takes answers.
    Armed,
}

/// Whether the user types a text while the question is on screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextTyping {
    Yes,
    No,
}

impl QuestionGuard {
    /// Whether the question takes answers now.
    pub fn is_armed(self) -> bool {
        self.state == GuardState::Armed
    }

    /// Whether the question is not on screen, or not printed.
    pub fn is_hidden(self) -> bool {
        self.state == GuardState::Hidden
    }

    /// When the question takes answers if nothing is typed before; `None` if it is armed or not
    /// painted.
    pub fn due_at(self) -> Option<Duration> {
        match self.state {
            GuardState::Painted { quiet_since, typing: TextTyping::No } => {
                Some(quiet_since + QUIET_TIME)
            }
            GuardState::Painted { quiet_since, typing: TextTyping::Yes } => {
                Some(quiet_since + TYPING_QUIET_TIME)
            }
            GuardState::Hidden | GuardState::Sent | GuardState::Armed => None,
        }
    }

    /// Records a frame with the question, which is on its way to the terminal.
    pub fn drawn(&mut self) {
        if self.state == GuardState::Hidden {
            self.state = GuardState::Sent;
        }
    }

    /// Records that the terminal has taken all frames.
    pub fn painted(&mut self, now: Duration) {
        if self.state == GuardState::Sent {
            self.state = GuardState::Painted { quiet_since: now, typing: TextTyping::No };
        }
    }

    /// Whether the user types a text, so that keys are for the input.
    pub fn is_typing(self) -> bool {
        matches!(self.state, GuardState::Painted { typing: TextTyping::Yes, .. })
    }

    /// Records a typed key. An armed guard stays armed: the key was an answer, or meant for the
    /// question.
    pub fn typed(&mut self, now: Duration) {
        if let GuardState::Painted { quiet_since, .. } = &mut self.state {
            *quiet_since = now;
        }
    }

    /// Records that the user has typed a piece of text. An armed guard waits again.
    pub fn text_typed(&mut self, now: Duration) {
        match self.state {
            GuardState::Hidden | GuardState::Sent => {}
            GuardState::Painted { .. } | GuardState::Armed => {
                self.state = GuardState::Painted { quiet_since: now, typing: TextTyping::Yes };
            }
        }
    }

    /// Records that the loop has found no input; arms the guard if the quiet time is over.
    pub fn input_idle(&mut self, now: Duration) {
        if self.due_at().is_some_and(|due| due <= now) {
            self.state = GuardState::Armed;
        }
    }

    /// Starts over when the user comes back to the window: waiting keys were not meant for the
    /// question.
    pub fn start_over(&mut self, now: Duration) {
        match self.state {
            GuardState::Hidden | GuardState::Sent => {}
            GuardState::Painted { .. } | GuardState::Armed => {
                self.state = GuardState::Painted { quiet_since: now, typing: TextTyping::No };
            }
        }
    }

    /// Records that the question is no longer on screen, or no longer gets the keys.
    pub fn hidden(&mut self) {
        self.state = GuardState::Hidden;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn painted_at(millis: u64) -> QuestionGuard {
        let mut guard = QuestionGuard::default();
        guard.drawn();
        guard.painted(at(millis));
        guard
    }

    #[test]
    fn a_painted_frame_and_then_silence_arm_the_guard() {
        let mut guard = QuestionGuard::default();
        for step in [QuestionGuard::drawn, QuestionGuard::hidden, QuestionGuard::drawn] {
            step(&mut guard);
            guard.input_idle(at(10_000));
            assert!(!guard.is_armed() && guard.due_at().is_none());
        }
        guard.painted(at(10_000));
        assert_eq!(guard.due_at(), Some(at(10_300)));
        guard.input_idle(at(10_299));
        assert!(!guard.is_armed());
        guard.input_idle(at(10_300));
        assert!(guard.is_armed());
    }

    #[test]
    fn a_frame_painted_before_the_question_was_drawn_does_not_count() {
        let mut guard = QuestionGuard::default();
        guard.painted(at(0));
        guard.input_idle(at(10_000));
        assert!(!guard.is_armed());
    }

    #[test]
    fn time_alone_arms_nothing_while_a_key_waits() {
        let mut guard = painted_at(0);
        // The loop was busy for ten seconds, and then reads the key that waited.
        guard.typed(at(10_000));
        assert!(!guard.is_armed());
        guard.input_idle(at(10_000));
        assert!(!guard.is_armed());
        guard.input_idle(at(10_300));
        assert!(guard.is_armed());
    }

    #[test]
    fn the_guard_starts_over_when_the_user_was_elsewhere() {
        for lost in [QuestionGuard::hidden, |guard: &mut QuestionGuard| guard.start_over(at(900))] {
            let mut guard = painted_at(0);
            guard.input_idle(at(800));
            assert!(guard.is_armed());
            lost(&mut guard);
            assert!(!guard.is_armed());
            guard.input_idle(at(901));
            assert!(!guard.is_armed());
        }
    }

    #[derive(Debug, Clone)]
    enum GuardTestStep {
        Drawn,
        Painted,
        Typed,
        TextTyped,
        Idle,
        StartOver,
        Hidden,
    }

    proptest! {
        #[test]
        fn no_order_of_events_arms_the_guard_without_a_painted_question_and_silence(
            steps in prop::collection::vec(
                (prop_oneof![
                    Just(GuardTestStep::Drawn), Just(GuardTestStep::Painted),
                    Just(GuardTestStep::Typed), Just(GuardTestStep::TextTyped),
                    Just(GuardTestStep::Idle), Just(GuardTestStep::StartOver),
                    Just(GuardTestStep::Hidden),
                ], 0_u64..400),
                0..60,
            )
        ) {
            let mut guard = QuestionGuard::default();
            let mut now = 0;
            // When the question was painted, and the last time that something disturbed it.
            let (mut is_drawn, mut painted, mut disturbed) = (false, None, 0);
            let mut typed_text = None;
            for (step, wait) in steps {
                now += wait;
                let was_armed = guard.is_armed();
                match step {
                    GuardTestStep::Drawn => { guard.drawn(); is_drawn = true; }
                    GuardTestStep::Painted => {
                        guard.painted(at(now));
                        if is_drawn && painted.is_none() { painted = Some(now); }
                    }
                    GuardTestStep::Typed => { guard.typed(at(now)); disturbed = now; }
                    GuardTestStep::TextTyped => {
                        guard.text_typed(at(now));
                        disturbed = now;
                        if guard.is_typing() {
                            typed_text = Some(now);
                        }
                        prop_assert!(!guard.is_armed());
                    }
                    GuardTestStep::Idle => guard.input_idle(at(now)),
                    GuardTestStep::StartOver => {
                        guard.start_over(at(now));
                        (disturbed, typed_text) = (now, None);
                    }
                    GuardTestStep::Hidden => {
                        guard.hidden();
                        (is_drawn, painted, typed_text) = (false, None, None);
                    }
                }
                if guard.is_armed() && !was_armed {
                    prop_assert!(matches!(step, GuardTestStep::Idle));
                    prop_assert!(painted.is_some_and(|painted| painted + 300 <= now));
                    prop_assert!(disturbed + 300 <= now);
                    prop_assert!(typed_text.is_none_or(|typed| typed + 1_000 <= now));
                }
            }
        }
    }
}
