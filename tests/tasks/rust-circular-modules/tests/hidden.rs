use task::Priority;
use task::message::{Message, Priority as Other};
use task::queue::Queue;

#[test]
fn hidden() {
    let same: Other = Priority::High;
    assert_eq!(same.letter(), b'h');
    let mut queue = Queue::default();
    for text in ["x", "y"] {
        queue.push(Message { text: text.into(), priority: Priority::Low });
    }
    assert_eq!(queue.pop().unwrap().text, "x");
}
