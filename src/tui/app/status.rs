//! What the first line tells: the project, the model, the mode and how full the window is.

use std::time::Duration;

use crate::domain::{ContextWindow, PermissionMode, ReasoningEffort, SessionId, TokenUsage};
use crate::session::{SessionSpending, StoreSize};

/// What is known of the session's surroundings. What is not known is not shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScreenStatus {
    /// The folder's name.
    pub project: String,
    /// The git state, where the folder has one and it has been read.
    pub git: Option<GitSummary>,
    /// The model that answers.
    pub model: String,
    /// Whose it is, by the name in the configuration.
    pub provider: String,
    /// How hard it is to think, where that was said.
    pub effort: Option<ReasoningEffort>,
    /// How much the model can read at once, once it is known.
    pub window: Option<ContextWindow>,
    /// Whether the model runs on this machine.
    pub host: ModelHost,
    /// How much is asked.
    pub mode: PermissionMode,
    /// What the last response took: together what stands in the window.
    pub usage: Option<TokenUsage>,
    /// What the session has taken so far.
    pub spending: SessionSpending,
    /// Why the server last read anew what its cache should have had.
    pub cache_miss: Option<String>,
    /// Tokens a second of the last response, measured.
    pub rate: Option<f64>,
    /// The open session.
    pub session: Option<SessionId>,
    /// Its title.
    pub title: Option<String>,
    /// How large the store is, once it was asked for.
    pub store: Option<StoreSize>,
}

/// Where the model runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ModelHost {
    /// On this machine: rates and cache hits are worth showing.
    Local,
    /// Somewhere else.
    #[default]
    Remote,
}

/// The state of the working tree, in files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitSummary {
    /// The branch, or the commit's short name.
    pub branch: String,
    /// New files.
    pub added: usize,
    /// Changed files.
    pub changed: usize,
    /// Removed files.
    pub removed: usize,
}

/// A count of tokens as people like to read it: `940`, `12.4k`, `128k`, `1.0M`.
pub fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..100_000 => {
            let tenths = count / 100;
            match tenths % 10 {
                0 => format!("{}k", tenths / 10),
                rest => format!("{}.{rest}k", tenths / 10),
            }
        }
        100_000..1_000_000 => format!("{}k", count / 1000),
        1_000_000.. => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// Seconds as a clock: `0:07`, `12:30`, `1:02:03`.
pub fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        hours => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_read_well() {
        let rows = [(0, "0"), (999, "999"), (12_431, "12.4k"), (32_000, "32k"), (131_072, "131k")];
        for (count, want) in rows {
            assert_eq!(tokens(count), want);
        }
        assert_eq!(tokens(1_000_000), "1.0M");
    }
}
