use crate::message::Mesage;

pub fn encode(message: &Message) -> Vec<u8> {
    let mut bytes = vec![message.priority.letter()];
    bytes.extend(message.text.as_bytes());
    bytes
}
