//! The panel beside the transcript on a wide screen: the plan, the changed files, what fills the
//! context window, and what runs. Where it is and what its rows lead to is measured by the view.

use crate::agent::{ContextLedger, ContextSource};

use super::transcript::Transcript;

/// From this many columns of the chat on, the panel is beside it.
const WIDE: u16 = 140;

/// Columns of the panel, its edge included.
const COLUMNS: u16 = 38;

/// Whether the user wants the panel where there is room for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SidePanelChoice {
    #[default]
    Shown,
    Hidden,
}

impl SidePanelChoice {
    /// The other choice.
    pub fn toggled(self) -> Self {
        match self {
            Self::Shown => Self::Hidden,
            Self::Hidden => Self::Shown,
        }
    }

    /// The choice as a sentence.
    pub fn told(self) -> &'static str {
        match self {
            Self::Shown => "The panel is on. It needs at least 140 columns.",
            Self::Hidden => "The panel is off.",
        }
    }
}

/// The columns that the panel takes from a chat of `width` columns; `None` without a panel. A
/// conversation in which nothing was said has none: the start screen has the room.
pub fn columns(transcript: &Transcript, choice: SidePanelChoice, width: u16) -> Option<u16> {
    let has_begun = !transcript.blocks().is_empty();
    (choice == SidePanelChoice::Shown && has_begun && width >= WIDE).then_some(COLUMNS)
}

/// What fills the context window, by kind. The agent is asked for it when a turn has ended, and only
/// while the panel is on screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextShares {
    /// The estimated tokens of each kind, the most first.
    pub kinds: Vec<(ContextSource, u64)>,
    is_stale: bool,
}

impl ContextShares {
    /// Notes that the context has changed.
    pub fn outdate(&mut self) {
        self.is_stale = true;
    }

    /// Whether the context has changed since the shares were asked for. They count as asked for from then
    /// on.
    pub fn take_stale(&mut self) -> bool {
        std::mem::take(&mut self.is_stale)
    }

    /// Takes over what the agent has measured.
    pub fn measured(&mut self, ledger: &ContextLedger) {
        self.is_stale = false;
        self.kinds.clear();
        for source in &ledger.sources {
            match self.kinds.iter_mut().find(|(kind, _)| *kind == source.kind) {
                Some((_, tokens)) => *tokens += source.tokens,
                None => self.kinds.push((source.kind, source.tokens)),
            }
        }
        self.kinds.sort_by_key(|(kind, tokens)| (std::cmp::Reverse(*tokens), *kind));
    }
}
