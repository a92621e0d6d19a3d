//! How panes are folded: one pane, all panes of a kind, or all panes at once.
//!
//! The user's setting for one pane overrides the setting for all panes, which overrides the setting
//! for its kind. A pane without any setting is folded by its default
//! ([`TranscriptBlock::natural_fold`]). Settings for kinds hold in every session, the others only
//! in their session.

use std::fmt;

use crate::domain::NoticeLevel;
use crate::session::{KindFolds, PaneName};

use super::block::{PaneFold, TranscriptBlock};
use super::effect::ScreenEffect;
use super::model::ScreenModel;
use super::transcript::BlockId;

/// A group of panes that can be folded together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaneKind {
    Thinking,
    /// Long messages of the user.
    Messages,
    Images,
    /// The calls of all tools.
    Tools,
    /// The calls of the tool with this name.
    Tool(String),
}

/// The fold settings for more than one pane.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PaneFolds {
    /// The setting for all panes at once.
    pub all: Option<PaneFold>,
    /// The settings for kinds, by name.
    pub kinds: KindFolds,
}

/// Whether a fold applies to the kind of one pane, or to the calls of all tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldScope {
    Kind,
    AllCalls,
}

impl PaneKind {
    /// The kind with this name, as the user types it; any other name is that of a tool.
    pub fn named(name: &str) -> Self {
        match name {
            "thinking" => Self::Thinking,
            "messages" => Self::Messages,
            "images" => Self::Images,
            "tools" => Self::Tools,
            tool => Self::Tool(tool.to_owned()),
        }
    }

    /// The kind that contains this one.
    fn wider(&self) -> Option<Self> {
        match self {
            Self::Tool(_) => Some(Self::Tools),
            Self::Thinking | Self::Messages | Self::Images | Self::Tools => None,
        }
    }

    /// Whether panes of the other kind belong to this kind.
    pub fn covers(&self, other: &Self) -> bool {
        self == other || other.wider().as_ref() == Some(self)
    }
}

impl fmt::Display for PaneKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Thinking => "thinking",
            Self::Messages => "messages",
            Self::Images => "images",
            Self::Tools => "tools",
            Self::Tool(name) => name,
        })
    }
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
    fn asked(&self, kind: &PaneKind) -> Option<PaneFold> {
        self.kinds.0.get(&kind.to_string()).copied()
    }
}

/// The setting that comes after `now`: open, closed, default (`None`). Skips the one that equals
/// the default of the pane, `natural`.
fn after(now: Option<PaneFold>, natural: Option<PaneFold>) -> Option<PaneFold> {
    let around = [None, Some(PaneFold::Open), Some(PaneFold::Closed)];
    let at = around.iter().position(|fold| *fold == now).unwrap_or(0);
    let next = |by: usize| around[(at + by) % around.len()];
    if next(1).is_some() && next(1) == natural { next(2) } else { next(1) }
}

/// Folds or unfolds a pane.
pub fn toggle(model: &mut ScreenModel, block: BlockId) -> Vec<ScreenEffect> {
    model.conversation.transcript.toggle(block);
    keep_session(model).into_iter().collect()
}

/// Folds or unfolds all panes.
pub fn toggle_all(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    model.conversation.transcript.toggle_all();
    keep_session(model).into_iter().collect()
}

/// Switches all panes of this one's kind, or of the kind that contains it, to the next setting.
pub fn toggle_like(model: &mut ScreenModel, block: BlockId, scope: FoldScope) -> Vec<ScreenEffect> {
    let Some(block) = model.conversation.transcript.get(block) else { return Vec::new() };
    let Some(kind) = block.kind() else { return Vec::new() };
    let natural = block.natural_fold();
    let kind = match scope {
        FoldScope::Kind => kind,
        FoldScope::AllCalls => kind.wider().unwrap_or(kind),
    };
    let now = model.conversation.transcript.folds().asked(&kind);
    set_kind(model, &kind, after(now, Some(natural)))
}

/// Sets how all panes of a kind are folded; `None` for the default of each.
pub fn set_kind(
    model: &mut ScreenModel,
    kind: &PaneKind,
    fold: Option<PaneFold>,
) -> Vec<ScreenEffect> {
    model.conversation.transcript.set_kind(kind, fold);
    let how = match fold {
        Some(PaneFold::Open) => "open",
        Some(PaneFold::Preview) => "shortened",
        Some(PaneFold::Closed) => "folded",
        None => "as suits each",
    };
    model
        .shared
        .toast(NoticeLevel::Info, format!("All {kind} panes: {how}, here and in other sessions"));
    let kinds = model.conversation.transcript.folds().kinds.clone();
    [Some(ScreenEffect::KeepKinds(kinds)), keep_session(model)].into_iter().flatten().collect()
}

/// Switches all panes of a kind to the next setting.
pub fn cycle_kind(model: &mut ScreenModel, kind: &PaneKind) -> Vec<ScreenEffect> {
    let now = model.conversation.transcript.folds().asked(kind);
    set_kind(model, kind, after(now, None))
}

/// Saves the folds of the session. Before the saved folds are read it saves nothing, since that
/// would overwrite them; the answer of the read then saves.
pub(super) fn keep_session(model: &ScreenModel) -> Option<ScreenEffect> {
    let session =
        model.conversation.status.session.filter(|_| model.shared.requests.folds.is_none())?;
    Some(ScreenEffect::KeepFolds { session, folds: model.conversation.transcript.session_folds() })
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
