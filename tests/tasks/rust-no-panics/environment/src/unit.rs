#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unit {
    Gram,
    Litre,
    Piece,
}

impl Unit {
    pub fn named(name: &str) -> Self {
        match name {
            "g" => Self::Gram,
            "l" => Self::Litre,
            "pc" => Self::Piece,
            other => panic!("unit {other}"),
        }
    }
}
