//! Model files for tests: heads without a model behind them.

/// A GGUF head in the making.
pub(super) struct GgufText {
    pairs: Vec<u8>,
    count: u64,
}

impl GgufText {
    pub(super) fn new(architecture: &str) -> Self {
        Self { pairs: Vec::new(), count: 0 }.text("general.architecture", architecture)
    }

    pub(super) fn text(self, key: &str, value: &str) -> Self {
        self.pair(key, 8, &of_text(value))
    }

    pub(super) fn number(self, key: &str, value: u64) -> Self {
        self.pair(key, 10, &value.to_le_bytes())
    }

    pub(super) fn numbers(self, key: &str, values: &[u32]) -> Self {
        let mut bytes = 4_u32.to_le_bytes().to_vec();
        bytes.extend((values.len() as u64).to_le_bytes());
        values.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
        self.pair(key, 9, &bytes)
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"GGUF\x03\0\0\0".to_vec();
        bytes.extend(0_u64.to_le_bytes());
        bytes.extend(self.count.to_le_bytes());
        bytes.extend(&self.pairs);
        bytes
    }

    fn pair(mut self, key: &str, kind: u32, value: &[u8]) -> Self {
        self.pairs.extend(of_text(key));
        self.pairs.extend(kind.to_le_bytes());
        self.pairs.extend(value);
        self.count += 1;
        self
    }
}

fn of_text(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes
}
