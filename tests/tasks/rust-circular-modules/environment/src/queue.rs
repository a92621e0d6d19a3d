use crate::message::Message;
use crate::old::message::Priority;

#[derive(Default)]
pub struct Queue {
    waiting: Vec<Message>,
}

impl Queue {
    pub fn push(&mut self, message: Message) {
        self.waiting.push(message);
    }

    /// The first message of the highest priority.
    pub fn pop(&mut self) -> Option<Message> {
        let at = [Priority::High, Priority::Low]
            .into_iter()
            .find_map(|priority| self.waiting.iter().position(|it| it.priority == priority))?;
        Some(self.waiting.remove(at))
    }
}
