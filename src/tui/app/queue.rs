//! Messages typed while a turn runs: shown above the input until they go in.

use crate::agent::SteerId;
use crate::domain::UserInput;

/// The waiting messages, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Queue {
    items: Vec<Queued>,
    next: u64,
}

/// A message that waits.
#[derive(Debug, Clone, PartialEq)]
pub struct Queued {
    /// Names it, for the agent too.
    pub id: SteerId,
    /// What was typed.
    pub text: UserInput,
    /// When it goes in.
    pub goes: Goes,
}

/// When a message goes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goes {
    /// As a turn of its own, after the running one.
    AfterTurn,
    /// Into the running turn, at its next step.
    NextStep,
}

impl Queue {
    /// What waits, in order.
    pub fn items(&self) -> &[Queued] {
        &self.items
    }

    /// Adds a message and names it.
    pub fn push(&mut self, text: UserInput, goes: Goes) -> SteerId {
        let id = SteerId(self.next);
        self.next += 1;
        self.items.push(Queued { id, text, goes });
        id
    }

    /// Takes the last message back.
    pub fn take_last(&mut self) -> Option<Queued> {
        self.items.pop()
    }

    /// Takes out the first message that waits for the end of the turn.
    pub fn take_next(&mut self) -> Option<UserInput> {
        let at = self.items.iter().position(|item| item.goes == Goes::AfterTurn)?;
        Some(self.items.remove(at).text)
    }

    /// Forgets a message that has gone in or came back.
    pub fn settle(&mut self, id: SteerId) {
        self.items.retain(|item| item.id != id);
    }

    /// Keeps messages that missed their step for after the turn.
    pub fn miss_step(&mut self) {
        for item in &mut self.items {
            item.goes = Goes::AfterTurn;
        }
    }
}
