//! What the user reads about a compaction that was not enough.

use crate::domain::{ContextWindow, format_tokens};
use crate::session::{COMPACTION_CONTEXT, ReplayedConversation, is_shell, users_own};

use super::estimate::{TokenEstimator, measure_block};
use super::limits::RequestLimits;

/// What a request is made of that cannot become shorter, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agent) struct RequestFloor {
    pub(in crate::agent) system: u64,
    pub(in crate::agent) tools: u64,
    /// The user's own messages.
    pub(in crate::agent) user: u64,
    /// The outputs of the user's own commands.
    pub(in crate::agent) outputs: u64,
    /// The notes that stand in place of what is left out.
    pub(in crate::agent) notes: u64,
    /// Results and answers that the user has pinned.
    pub(in crate::agent) pinned: u64,
    /// The last rounds, and all else.
    pub(in crate::agent) rest: u64,
    /// The user's last message, which is a part of `user`.
    pub(in crate::agent) last: u64,
}

impl RequestFloor {
    /// The parts of a request with this conversation.
    pub(in crate::agent) fn of(
        conversation: &ReplayedConversation,
        (system, tools): (u64, u64),
        estimator: TokenEstimator,
    ) -> Self {
        let messages = || conversation.messages.iter().map(|(_, message)| message);
        let blocks = messages().flat_map(|message| &message.content);
        let is_note = |name: &str| name == COMPACTION_CONTEXT;
        let user = messages().flat_map(users_own).map(measure_block).sum();
        let outputs = messages().flat_map(|message| &message.content);
        let outputs = outputs.filter(|block| is_shell(block)).map(measure_block).sum();
        let notes = blocks
            .filter(|block| block.as_context().is_some_and(|(name, _)| is_note(name)))
            .map(measure_block)
            .sum();
        let last = messages().rev().find(|message| users_own(message).next().is_some());
        let last = last.map_or(0, |last| users_own(last).map(measure_block).sum());
        let last = estimator.tokens(last);
        let edits = &conversation.edits;
        let pinned = conversation.messages.iter().filter(|(id, _)| edits.has_pinned(*id));
        let pinned = pinned.map(|(_, message)| {
            let all = message.content.iter().map(measure_block).sum::<u64>();
            let outputs = message.content.iter().filter(|block| is_shell(block));
            let own = users_own(message).chain(outputs).map(measure_block).sum();
            all.saturating_sub(own)
        });
        let pinned = estimator.tokens(pinned.sum());
        let all = estimator.messages(messages());
        let (user, notes) = (estimator.tokens(user), estimator.tokens(notes));
        let outputs = estimator.tokens(outputs);
        let (system, tools) = (estimator.tokens(system), estimator.tokens(tools));
        let rest = all.saturating_sub(user + outputs + notes + pinned);
        Self { system, tools, user, outputs, notes, pinned, rest, last }
    }

    fn parts(&self) -> String {
        let parts = [
            ("the system text", self.system),
            ("the tools", self.tools),
            ("your messages", self.user),
            ("the output of your commands", self.outputs),
            ("the note in place of older messages", self.notes),
            ("what you have pinned in /context", self.pinned),
            ("the last rounds", self.rest),
        ];
        let parts = parts.iter().filter(|(_, tokens)| *tokens > 0);
        let parts: Vec<String> =
            parts.map(|(what, tokens)| format!("{what} ~{}", format_tokens(*tokens))).collect();
        parts.join(", ")
    }
}

/// A request that a compaction could not make small enough.
pub(in crate::agent) struct LargeRequest<'a> {
    pub(in crate::agent) model: &'a str,
    /// Its size after the compaction.
    pub(in crate::agent) size: u64,
    pub(in crate::agent) limits: &'a RequestLimits,
    pub(in crate::agent) floor: &'a RequestFloor,
    /// Whether the server is on this machine.
    pub(in crate::agent) is_local: bool,
}

impl LargeRequest<'_> {
    /// Says that a compaction has left more than it should, what that is made of, and whether a request
    /// is sent now. It may have made nothing shorter.
    pub(in crate::agent) fn high_floor(&self, is_shorter: bool, is_sent: bool) -> String {
        let request =
            if is_shorter { "A request still" } else { "Nothing can be left out: a request" };
        let (window, room) = (self.limits.window.tokens(), self.limits.room());
        let room = if self.size <= room {
            format!(
                "{} tokens (a window of {} less {} for the answer)",
                format_tokens(room),
                format_tokens(window),
                format_tokens(self.limits.reserve)
            )
        } else {
            format!(
                "a window of {} tokens, which leaves {} for the answer",
                format_tokens(window),
                format_tokens(window.saturating_sub(self.size))
            )
        };
        let sent = if is_sent { "slug sends it anyway. " } else { "" };
        format!(
            "{request} takes ~{} of {room}: {}. {sent}slug compacts again when the conversation \
             has grown. For more room, {}",
            format_tokens(self.size),
            self.floor.parts(),
            self.remedy()
        )
    }

    /// Says that a compaction was not needed.
    pub(in crate::agent) fn short_enough(&self) -> String {
        format!(
            "No need to compact yet: a request takes ~{} of {} tokens.",
            format_tokens(self.size),
            format_tokens(self.limits.room()),
        )
    }

    /// Says why a request cannot be sent at all.
    pub(in crate::agent) fn too_large(&self) -> String {
        let source = match self.limits.window {
            ContextWindow::Served(_) => "as its server says",
            ContextWindow::Known(_) => "as the catalogue says",
            ContextWindow::Assumed(_) => "as `context_window` says",
        };
        format!(
            "The context window of {} is too small: it has {} tokens, {source}, less at least {} \
             for the answer, and a request takes ~{} at least: {}. To go on, {}",
            self.model,
            format_tokens(self.limits.window.tokens()),
            format_tokens(self.limits.least_answer()),
            format_tokens(self.size),
            self.floor.parts(),
            self.remedy()
        )
    }

    fn remedy(&self) -> String {
        let (last, most) = (self.floor.last, self.limits.floor());
        let is_last_too_long = self.size > most && self.size.saturating_sub(last) <= most;
        let shorten = match is_last_too_long {
            true => format!(
                "take your last message (~{}) back with /undo and send a shorter one, ",
                format_tokens(last)
            ),
            false => String::new(),
        };
        let larger = match self.is_local {
            true => "start the server with a larger context, choose another model with /model",
            false => "choose a model with a larger window with /model",
        };
        format!("{shorten}{larger}, or begin anew with /new.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_is_too_small_is_said_with_numbers() {
        let limits = RequestLimits::new(ContextWindow::Served(8_192), 4_096, 2_000);
        let floor = RequestFloor {
            system: 400,
            tools: 1_600,
            user: 9_000,
            outputs: 0,
            notes: 0,
            pinned: 0,
            rest: 300,
            last: 8_900,
        };
        let short = RequestFloor { last: 10, ..floor };
        let large = |size, has_short_message, is_local| {
            let floor = if has_short_message { &short } else { &floor };
            LargeRequest { model: "tiny", size, limits: &limits, floor, is_local }
        };
        assert_eq!(
            large(11_300, false, true).too_large(),
            "The context window of tiny is too small: it has 8.2k tokens, as its server says, less at \
             least 1k for the answer, and a request takes ~11.3k at least: the system text ~400, the \
             tools ~1.6k, your messages ~9k, the last rounds ~300. To go on, take your last \
             message (~8.9k) back with /undo and send a shorter one, start the server with a larger \
             context, choose another model with /model, or begin anew with /new."
        );
        assert_eq!(
            large(5_000, true, false).high_floor(true, true),
            "A request still takes ~5k of 5.5k tokens (a window of 8.2k less \
             2.7k for the answer): the system text ~400, the tools ~1.6k, your messages ~9k, the last \
             rounds ~300. slug sends it anyway. slug compacts again when the conversation has \
             grown. For more room, choose a model with a larger window with /model, or begin anew with \
             /new."
        );
        let most_of_it = large(7_000, false, false).high_floor(true, false);
        assert!(most_of_it.contains("~7k of a window of 8.2k tokens, which leaves 1.2k for"));
    }
}
