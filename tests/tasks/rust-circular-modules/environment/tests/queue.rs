use task::Priority;
use task::message::Message;
use task::queue::Queue;

#[test]
fn high_comes_first() {
    let mut queue = Queue::default();
    queue.push(Message { text: "a".into(), priority: Priority::Low });
    queue.push(Message { text: "b".into(), priority: Priority::High });
    assert_eq!(queue.pop().unwrap().bytes(), b"hb");
    assert_eq!(queue.pop().unwrap().bytes(), b"la");
    assert_eq!(queue.pop(), None);
}
