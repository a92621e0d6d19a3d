//! Tokens, as the provider counted them.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// What one response, or several together, took. All figures are tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Read by the model, cached ones included.
    pub input: u64,
    /// Written by the model, thinking included.
    pub output: u64,
    /// The part of `input` that came from the provider's prefix cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_read: u64,
    /// The part of `input` that was written to that cache, where it is counted.
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
