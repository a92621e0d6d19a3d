#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    Low,
    High,
}

impl Priority {
    pub fn letter(self) -> u8 {
        match self {
            Self::Low => b'l',
            Self::High => b'h',
        }
    }
}
