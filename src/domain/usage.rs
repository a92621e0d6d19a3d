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

/// A count of tokens in short, rounded: `940`, `12.4k`, `128k`, `1.0M`.
pub fn format_tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..100_000 => {
            let tenths = (count + 50) / 100;
            match tenths % 10 {
                0 => format!("{}k", tenths / 10),
                rest => format!("{}.{rest}k", tenths / 10),
            }
        }
        100_000..999_500 => format!("{}k", (count + 500) / 1000),
        999_500.. => format!("{:.1}M", count as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_counts_are_shortened() {
        let rows = [
            (0, "0"),
            (999, "999"),
            (12_431, "12.4k"),
            (16_384, "16.4k"),
            (32_000, "32k"),
            (99_960, "100k"),
            (131_072, "131k"),
            (199_999, "200k"),
            (999_700, "1.0M"),
        ];
        for (count, want) in rows {
            assert_eq!(format_tokens(count), want);
        }
        assert_eq!(format_tokens(1_000_000), "1.0M");
    }
}
