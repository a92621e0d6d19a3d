//! Token counts, as the provider reports them.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Token counts of one response, or of several together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TokenUsage {
    /// Tokens that the model read, cached ones included.
    pub input: u64,
    /// Tokens that the model wrote, thinking included.
    pub output: u64,
    /// The part of `input` that came from the provider's prefix cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_read: u64,
    /// The part of `input` that was written to that cache; 0 if the provider does not report it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write: u64,
}

impl AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
