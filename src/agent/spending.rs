//! What the session takes, as the front end is told of it.

use super::Event;
use super::driver::Agent;

impl Agent {
    /// Tells what the session has taken so far.
    pub(super) async fn tell_spent(&mut self) {
        self.open.catch_up();
        let spending = self.open.conversation.spending.clone();
        self.events.tell(Event::Spent(Box::new(spending))).await;
    }
}
