//! Messages typed while a turn runs: shown above the input until they go in.

use crate::agent::SteerId;
use crate::domain::UserInput;

/// The waiting messages, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MessageQueue {
    items: Vec<QueuedMessage>,
    next: u64,
}

/// A message that waits.
#[derive(Debug, Clone, PartialEq)]
pub struct QueuedMessage {
    /// Names it, for the agent too.
    pub id: SteerId,
    /// What was typed.
    pub text: UserInput,
    /// When it goes in.
    pub delivery: Delivery,
}

/// When a message goes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// As a turn of its own, after the running one.
    Queue,
    /// Into the running turn, at its next step.
    Steer,
}

impl MessageQueue {
    /// What waits, in order.
    pub fn items(&self) -> &[QueuedMessage] {
        &self.items
    }

    /// Adds a message and names it.
    pub fn push(&mut self, text: UserInput, goes: Delivery) -> SteerId {
        let id = SteerId(self.next);
        self.next += 1;
        self.items.push(QueuedMessage { id, text, delivery: goes });
        id
    }

    /// Takes the last message back.
    pub fn take_last(&mut self) -> Option<QueuedMessage> {
        self.items.pop()
    }

    /// Takes out the first message that waits for the end of the turn.
    pub fn take_next(&mut self) -> Option<UserInput> {
        let at = self.items.iter().position(|item| item.delivery == Delivery::Queue)?;
        Some(self.items.remove(at).text)
    }

    /// Forgets a message that has gone in or came back.
    pub fn settle(&mut self, id: SteerId) {
        self.items.retain(|item| item.id != id);
    }

    /// Keeps messages that missed their step for after the turn.
    pub fn requeue_steered(&mut self) {
        for item in &mut self.items {
            item.delivery = Delivery::Queue;
        }
    }
}
