use crate::wire::encode;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    Low,
    High,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub text: String,
    pub priority: Priority,
}

impl Message {
    pub fn bytes(&self) -> Vec<u8> {
        encode(self)
    }
}
