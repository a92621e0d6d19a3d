//! How panes are folded: one pane, all panes of a kind, or all panes at once.
//!
//! The user's setting for one pane overrides the setting for all panes, which overrides the setting
//! for its kind. A pane without any setting is folded by its default
//! ([`TranscriptBlock::natural_fold`]). Settings for kinds hold in every session, the others only
//! in their session.

use crate::session::{KindFolds, PaneName};

use super::block::{PaneFold, TranscriptBlock};
use super::pane_kind::PaneKind;

/// The fold settings for more than one pane.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PaneFolds {
    /// The setting for all panes at once.
    pub all: Option<PaneFold>,
    /// The settings for kinds, by name.
    pub kinds: KindFolds,
}

impl PaneFolds {
    /// The setting for a block that comes from all panes or from its kind.
    pub fn of(&self, block: &TranscriptBlock) -> Option<PaneFold> {
        if self.all.is_none() && self.kinds.0.is_empty() {
            return None;
        }
        let kind = block.kind()?;
        self.all.or_else(|| self.of_kind(&kind))
    }

    /// Switches all panes at once to the next setting: open, closed, each by its default.
    pub fn cycle_all(&mut self) {
        self.all = after(self.all, None);
    }

    /// The setting for a kind, or for the kind that contains it.
    fn of_kind(&self, kind: &PaneKind) -> Option<PaneFold> {
        self.asked(kind).or_else(|| self.asked(&kind.wider()?))
    }

    /// Sets or removes the setting for a kind. Removes those for all panes and for narrower kinds.
    pub(super) fn ask(&mut self, kind: &PaneKind, fold: Option<PaneFold>) {
        self.all = None;
        self.kinds.0.retain(|name, _| !kind.covers(&PaneKind::named(name)));
        if let Some(fold) = fold {
            self.kinds.0.insert(kind.to_string(), fold);
        }
    }

    /// The setting for exactly this kind.
    pub fn asked(&self, kind: &PaneKind) -> Option<PaneFold> {
        self.kinds.0.get(&kind.to_string()).copied()
    }
}

/// The setting that comes after `now`: open, closed, default (`None`). Skips the one that equals
/// the default of the pane, `natural`.
pub fn after(now: Option<PaneFold>, natural: Option<PaneFold>) -> Option<PaneFold> {
    let around = [None, Some(PaneFold::Open), Some(PaneFold::Closed)];
    let at = around.iter().position(|fold| *fold == now).unwrap_or(0);
    let next = |by: usize| around[(at + by) % around.len()];
    if next(1).is_some() && next(1) == natural { next(2) } else { next(1) }
}

/// The name of each pane of these blocks, in their order: its log entry, and its index among the
/// blocks of that entry. `None` for blocks without an entry.
pub fn names(blocks: &[TranscriptBlock]) -> impl Iterator<Item = Option<PaneName>> + '_ {
    let mut last = None;
    let mut part = 0;
    blocks.iter().map(move |block| {
        let entry = block.entry?;
        part = if last == Some(entry) { part + 1 } else { 0 };
        last = Some(entry);
        Some(PaneName { entry, part })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_cycle_without_the_default() {
        let cycle = |natural| {
            let mut now = None;
            let mut settings = Vec::new();
            for _ in 0..3 {
                now = after(now, natural);
                settings.push(now);
            }
            settings
        };
        let (open, closed) = (Some(PaneFold::Open), Some(PaneFold::Closed));
        assert_eq!(cycle(None), [open, closed, None]);
        assert_eq!(cycle(Some(PaneFold::Preview)), [open, closed, None]);
        assert_eq!(cycle(open), [closed, None, closed]);
        assert_eq!(cycle(closed), [open, None, open]);
    }

    #[test]
    fn a_tool_is_one_of_the_tools() {
        let bash = PaneKind::named("Bash");
        assert!(PaneKind::Tools.covers(&bash) && !bash.covers(&PaneKind::Tools));
        assert!(!PaneKind::Thinking.covers(&bash));
        for kind in [PaneKind::Thinking, PaneKind::Messages, PaneKind::Tools, bash] {
            assert_eq!(PaneKind::named(&kind.to_string()), kind);
        }
    }
}
