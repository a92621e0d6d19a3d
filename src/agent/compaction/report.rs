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
        Self { system, tools, user, outputs, notes, pinned, rest }
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

/// Says that a compaction has left more than it should, and what that is made of. It may have made
/// nothing shorter.
pub(in crate::agent) fn high_floor(
    (is_shorter, after): (bool, u64),
    limits: &RequestLimits,
    floor: &RequestFloor,
) -> String {
    let request =
        if is_shorter { "Even so a request" } else { "Nothing can be left out: a request" };
    let room = if after <= limits.room() {
        format!("the {} tokens that the window has room for", format_tokens(limits.room()))
    } else {
        let window = limits.window.tokens();
        let (window, left) = (format_tokens(window), window.saturating_sub(after));
        format!(
            "the {window} tokens of the window, which leaves {} for the answer",
            format_tokens(left)
        )
    };
    format!(
        "{request} takes ~{} of {room}: {}. slug does not try again before more has been said. A \
         model with a larger window, or /new, helps.",
        format_tokens(after),
        floor.parts()
    )
}

/// Says why a request cannot be sent at all.
pub(in crate::agent) fn too_large(
    model: &str,
    after: u64,
    limits: &RequestLimits,
    floor: &RequestFloor,
) -> String {
    let source = match limits.window {
        ContextWindow::Served(_) => "as its server says",
        ContextWindow::Known(_) => "as the catalogue says",
        ContextWindow::Assumed(_) => "as `context_window` says",
    };
    format!(
        "The context window of {model} is too small: it has {} tokens, {source}, of which an answer \
         needs {}, and a request takes ~{} at least: {}. Load the model with a larger window, choose \
         another with /model, or begin anew with /new.",
        format_tokens(limits.window.tokens()),
        format_tokens(limits.least_answer()),
        format_tokens(after),
        floor.parts()
    )
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
        };
        let text = too_large("tiny", 11_300, &limits, &floor);
        assert_eq!(
            text,
            "The context window of tiny is too small: it has 8.2k tokens, as its server says, of which an \
             answer needs 1k, and a request takes ~11.3k at least: the system text ~400, the tools \
             ~1.6k, your messages ~9k, the last rounds ~300. Load the model with a larger window, \
             choose another with /model, or begin anew with /new."
        );
        assert!(high_floor((true, 4_000), &limits, &floor).contains("~4k of the 5.5k tokens"));
        let most_of_it = high_floor((true, 7_000), &limits, &floor);
        assert!(most_of_it.contains("~7k of the 8.2k tokens of the window, which leaves 1.2k for"));
    }
}
