//! Messages typed while a turn runs, and the `/compact` among them, as the line that was typed. They are
//! shown above the input until they are sent.

use crate::agent::SteerId;
use crate::domain::UserInput;

/// The waiting messages, in the order in which they were typed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MessageQueue {
    items: Vec<QueuedMessage>,
    /// Counts the changes.
    revision: u64,
}

/// A waiting message.
#[derive(Debug, Clone, PartialEq)]
pub struct QueuedMessage {
    /// Identifies the message, also for the agent.
    pub id: SteerId,
    pub text: UserInput,
    pub delivery: Delivery,
}

/// When a message is sent to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// As a turn of its own, after the running one.
    Queue,
    /// Into the running turn, at its next step.
    Steer,
}

impl MessageQueue {
    /// The waiting messages, in order.
    pub fn items(&self) -> &[QueuedMessage] {
        &self.items
    }

    /// Counts the changes: two equal values mean the same messages.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// All that is not sent yet: the waiting messages and what is `typed`, as one text.
    pub fn unsent(&self, typed: UserInput) -> UserInput {
        let waiting = self.items.iter().map(|item| item.text.clone());
        let all: Vec<UserInput> = waiting.chain((!typed.is_blank()).then_some(typed)).collect();
        let are_several = all.len() > 1;
        let mut all = all.into_iter().reduce(UserInput::followed_by).unwrap_or_default();
        // A command in front would take the messages behind it for a part of itself.
        if are_several && all.text.starts_with(['!', '/']) {
            all.text.insert(0, ' ');
        }
        all
    }

    /// Adds a message under an id that no other message has.
    pub fn push(&mut self, id: SteerId, text: UserInput, delivery: Delivery) {
        self.revision += 1;
        self.items.push(QueuedMessage { id, text, delivery });
    }

    /// Removes the last message, so that the user can edit it.
    pub fn take_last(&mut self) -> Option<QueuedMessage> {
        self.revision += 1;
        self.items.pop()
    }

    /// Removes the first message that waits for the end of the turn.
    pub fn take_next(&mut self) -> Option<UserInput> {
        let at = self.items.iter().position(|item| item.delivery == Delivery::Queue)?;
        self.revision += 1;
        Some(self.items.remove(at).text)
    }

    /// Removes a message that was sent or came back.
    pub fn settle(&mut self, id: SteerId) {
        self.revision += 1;
        self.items.retain(|item| item.id != id);
    }

    /// Queues steering messages that missed their step for after the turn.
    pub fn requeue_steered(&mut self) {
        for item in &mut self.items {
            item.delivery = Delivery::Queue;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiting_command_takes_no_other_message_along() {
        let queue = |texts: &[&str]| {
            let mut queue = MessageQueue::default();
            for text in texts {
                queue.push(SteerId::default(), (*text).into(), Delivery::Queue);
            }
            queue
        };
        for (waiting, typed, unsent) in [
            (&["!true"][..], "", "!true"),
            (&["!true", "now test"], "", " !true\nnow test"),
            (&["/compact"], "and go on", " /compact\nand go on"),
            (&["now test", "!true"], "", "now test\n!true"),
        ] {
            assert_eq!(queue(waiting).unsent(typed.into()).text, unsent);
        }
    }
}
