//! Notes with a fixed text: those of `[context.static]`.

use async_trait::async_trait;

use super::ContextProvider;

/// A fixed text from `[context.static]` in the configuration.
#[derive(Debug, Clone)]
pub struct StaticText {
    name: String,
    text: String,
}

impl StaticText {
    /// The note `name` with this text.
    pub fn new(name: String, text: String) -> Self {
        Self { name, text }
    }
}

#[async_trait]
impl ContextProvider for StaticText {
    fn name(&self) -> &str {
        &self.name
    }

    async fn collect(&self) -> Option<String> {
        Some(self.text.clone())
    }
}
