//! How large a request may become, and how the room is shared out when it is made smaller.

use std::collections::HashMap;

use crate::domain::{ContextWindow, SessionId};

use super::estimate::TokenCalibration;

/// At this share of the room for a request it is made smaller, in percent.
const TRIGGER: u64 = 80;
/// A request that is larger than this share of the trigger after a compaction has a floor that is
/// too high, in percent.
const FLOOR: u64 = 70;
/// What a summary aims at, as a share of the trigger in percent: less than the floor, so that there
/// is room to work in.
const AIM: u64 = 55;
/// A conversation is compacted again once it has grown by this part of the trigger.
const GROWTH: u64 = 10;
/// The least that an answer gets where the rest of the window is taken, in tokens.
const LEAST_ANSWER: u64 = 1_000;
/// An estimate may be so much too low, in percent.
const DOUBT: u64 = 3;
/// An estimate may be so much too high, in percent: what may fit is sent, and the server says whether it
/// does.
const EXCESS: u64 = 15;
/// The most of the window that is reserved for the answer.
const MAX_RESERVE: u64 = 3;
/// The most of the user's own messages that stays, in tokens and as a part of the window.
const USER_MESSAGES: (u64, u64) = (20_000, 5);
/// The most that stays of the last rounds, in tokens.
const LAST_ROUNDS: u64 = 20_000;
/// The longest summary, in tokens and as a part of the trigger.
const SUMMARY: (u64, u64) = (4_000, 8);
/// The least that each part gets, in tokens, however small the window is.
pub(super) const MIN_PART: u64 = 200;

/// What an agent knows about the room for its requests.
#[derive(Debug, Default)]
pub(in crate::agent) struct ContextRoom {
    pub(in crate::agent) tokens: TokenCalibration,
    /// The measure of the smallest request that the server of a model has refused as too long.
    refused: HashMap<String, u64>,
    hold: Option<CompactionHold>,
}

/// The session that was compacted last is left alone until new text comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CompactionHold {
    session: SessionId,
    /// The size of its next request after the compaction.
    size: u64,
    /// The size from which on it is compacted again.
    from: u64,
}

impl ContextRoom {
    /// Notes that the server has refused the request that was sent last, although it fits into the
    /// window that slug knows.
    pub(in crate::agent) fn note_refusal(&mut self, model: &str) {
        let Some(measure) = self.tokens.unanswered() else { return };
        let smallest = self.refused.entry(model.to_owned()).or_insert(measure);
        *smallest = measure.min(*smallest);
    }

    /// The limits for this model: its window, or less where its server has refused less.
    pub(in crate::agent) fn limits(
        &self,
        (model, window): (&str, ContextWindow),
        wanted: u64,
        fixed: u64,
    ) -> RequestLimits {
        let limits = RequestLimits::new(window, wanted, fixed);
        let refused = self.refused.get(model).map(|measure| self.tokens.of(model).tokens(*measure));
        match refused.filter(|refused| *refused <= limits.room()) {
            Some(refused) => {
                let window = ContextWindow::Assumed(refused * 9 / 10 + limits.reserve);
                RequestLimits { window, ..limits }
            }
            None => limits,
        }
    }

    /// Compacts this session, whose next request has this size, again only once one has the size `from`.
    pub(in crate::agent) fn hold(&mut self, session: SessionId, size: u64, from: u64) {
        self.hold = Some(CompactionHold { session, size, from });
    }

    /// Whether a request of this size may be made smaller. A conversation that has become clearly
    /// smaller, as after a rewind, is another one than that which is held.
    pub(in crate::agent) fn may_compact(&mut self, session: SessionId, size: u64) -> bool {
        let holds = |it: &CompactionHold| it.session == session && size >= it.size / 10 * 9;
        self.hold = self.hold.filter(holds);
        self.hold.is_none_or(|hold| size >= hold.from)
    }
}

/// The sizes that a request of one model is held to, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agent) struct RequestLimits {
    /// The model's context window.
    pub(in crate::agent) window: ContextWindow,
    /// What the answer may take.
    pub(in crate::agent) reserve: u64,
    /// What stands before the messages: the system text and the tools.
    pub(in crate::agent) fixed: u64,
}

/// How much of the conversation stays when a summary takes the place of the rest, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agent) struct KeptShares {
    pub(in crate::agent) user_messages: u64,
    pub(in crate::agent) last_rounds: u64,
    pub(in crate::agent) summary: u64,
}

impl RequestLimits {
    /// The limits for a window of which `wanted` tokens are asked for as the answer.
    pub(in crate::agent) fn new(window: ContextWindow, wanted: u64, fixed: u64) -> Self {
        Self { window, reserve: wanted.min(window.tokens() / MAX_RESERVE), fixed }
    }

    /// The largest request that leaves room for the answer.
    pub(in crate::agent) fn room(&self) -> u64 {
        self.window.tokens().saturating_sub(self.reserve)
    }

    /// What is left for an answer in any case.
    pub(in crate::agent) fn least_answer(&self) -> u64 {
        LEAST_ANSWER.min(self.reserve)
    }

    /// Whether a request of this size can be sent, if need be with less room for the answer. Nothing
    /// is too large for a window that nobody names.
    pub(in crate::agent) fn fits(&self, size: u64) -> bool {
        match self.window {
            ContextWindow::Served(window) | ContextWindow::Known(window) => {
                with_doubt(size) + self.least_answer() <= window
            }
            ContextWindow::Assumed(_) => true,
        }
    }

    /// Whether a request of this size is certainly too large, even if its estimate is too high.
    pub(in crate::agent) fn is_too_large(&self, size: u64) -> bool {
        !self.fits(size.saturating_sub(size * EXCESS / 100))
    }

    /// The largest request that leaves room for so much besides. Only a server that has refused a
    /// request has shown that a window that nobody names is a limit.
    pub(in crate::agent) fn room_beside(&self, tokens: u64, has_refused: bool) -> u64 {
        match self.window {
            ContextWindow::Served(window) | ContextWindow::Known(window) => {
                window.saturating_sub(tokens) * 100 / (100 + DOUBT)
            }
            ContextWindow::Assumed(_) if has_refused => self.room(),
            ContextWindow::Assumed(_) => u64::MAX,
        }
    }

    /// The output limit of a request of this size: `wanted`, or what the window leaves.
    pub(in crate::agent) fn answer(&self, size: u64, wanted: u32) -> u32 {
        match self.window {
            ContextWindow::Served(window) | ContextWindow::Known(window) => {
                let left = window.saturating_sub(with_doubt(size)).max(self.least_answer());
                u32::try_from(left).unwrap_or(u32::MAX).min(wanted)
            }
            ContextWindow::Assumed(_) => wanted,
        }
    }

    /// The size at which a request is made smaller.
    pub(in crate::agent) fn trigger(&self) -> u64 {
        self.room().saturating_mul(TRIGGER) / 100
    }

    /// The size that a request is to have after it was made smaller.
    pub(in crate::agent) fn floor(&self) -> u64 {
        self.trigger().saturating_mul(FLOOR) / 100
    }

    /// The size up to which a request that was made smaller is not made smaller again.
    pub(in crate::agent) fn next_size(&self, after: u64) -> u64 {
        after.saturating_add(self.trigger() / GROWTH)
    }

    /// How the room is shared out below the floor. `size` is that of the request now: of a
    /// conversation that is short not all rounds are kept when the user asks for less. What the user
    /// has said is kept as far as the window has room for it.
    pub(in crate::agent) fn shares(&self, size: u64) -> KeptShares {
        let summary = SUMMARY.0.min(self.trigger() / SUMMARY.1).max(MIN_PART);
        let most = self.trigger() * AIM / 100;
        let half_of = |aim: u64| aim.saturating_sub(self.fixed + summary) / 2;
        let of_window = self.window.tokens() / USER_MESSAGES.1;
        KeptShares {
            user_messages: USER_MESSAGES.0.min(of_window).min(half_of(most)).max(MIN_PART),
            last_rounds: LAST_ROUNDS.min(half_of(most.min(size))).max(MIN_PART),
            summary,
        }
    }
}

fn with_doubt(size: u64) -> u64 {
    size + size * DOUBT / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_leaves_little_room_goes_with_a_lower_output_limit() {
        let limits = limits(16_000, 5_000);
        assert_eq!(limits.answer(4_000, 5_000), 5_000, "as it is while there is room");
        assert_eq!(limits.answer(12_000, 5_000), 16_000 - 12_360);
        assert!(limits.fits(14_500) && !limits.fits(14_600));
        assert_eq!(limits.answer(15_900, 5_000), 1_000, "never less");
        assert_eq!(limits.answer(12_000, 500), 500, "nor more than was wanted");
        let nobody_says = RequestLimits { window: ContextWindow::Assumed(16_000), ..limits };
        assert!(nobody_says.fits(40_000) && nobody_says.answer(40_000, 5_000) == 5_000);
    }

    /// The size of the window is what the server says.
    #[test]
    fn no_window_is_too_large() {
        let limits = limits(u64::MAX, 5_000);
        assert!(limits.trigger() > 1 << 50 && limits.floor() <= limits.trigger());
        assert!(limits.next_size(u64::MAX) == u64::MAX && limits.fits(1 << 40));
    }

    /// A rewind took back a paste that had filled the window, and nothing was compacted any more until the
    /// window was full once again.
    #[test]
    fn a_conversation_that_became_smaller_is_not_held() {
        let (session, other) = (SessionId::generate(), SessionId::generate());
        let mut room = ContextRoom::default();
        room.hold(session, 14_000, 15_400);
        assert!(!room.may_compact(session, 14_000) && room.may_compact(session, 15_400));
        assert!(!room.may_compact(session, 13_800), "estimates vary");
        assert!(room.may_compact(session, 3_000) && room.may_compact(session, 9_000));
        room.hold(session, 14_000, 15_400);
        assert!(room.may_compact(other, 14_000));
    }

    fn limits(window: u64, wanted: u64) -> RequestLimits {
        RequestLimits::new(ContextWindow::Served(window), wanted, 2_000)
    }

    #[test]
    fn the_trigger_is_eighty_percent_of_what_the_answer_leaves() {
        let sizes = |limits: RequestLimits| (limits.room(), limits.trigger(), limits.floor());
        assert_eq!(sizes(limits(128_000, 8_000)), (120_000, 96_000, 67_200));
        assert_eq!(sizes(limits(16_000, 4_000)), (12_000, 9_600, 6_720));
        assert_eq!(sizes(limits(6_000, 32_000)), (4_000, 3_200, 2_240), "a third at most");
    }

    #[test]
    fn what_stays_fits_below_the_floor() {
        for window in [12_000, 16_000, 32_000, 128_000, 1_000_000] {
            let limits = limits(window, 4_000);
            let shares = limits.shares(limits.trigger());
            let together = shares.user_messages + shares.last_rounds + shares.summary;
            assert!(limits.fixed + together <= limits.floor(), "{window}: {shares:?}");
            assert!(shares.user_messages <= 20_000.min(window / 5));
        }
    }
}
