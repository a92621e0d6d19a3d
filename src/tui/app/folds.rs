//! How panes are folded: one by one, all of a kind, all at once.
//!
//! What was asked of one pane goes before what was asked of all, that before what was asked of
//! its kind, and without any of it a pane is folded as suits what it shows. Kinds hold in every
//! session, the rest in the session that it was asked in.

use std::fmt;

use crate::domain::NoticeLevel;
use crate::session::{KindFolds, PaneName};

use super::block::{PaneFold, TranscriptBlock};
use super::effect::ScreenEffect;
use super::model::ScreenModel;
use super::transcript::BlockId;

/// Panes that are folded together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaneKind {
    /// The model's reasoning.
    Thinking,
    /// Long messages of the person's.
    Messages,
    /// Images.
    Images,
    /// Every call.
    Tools,
    /// The calls of the tool with this name.
    Tool(String),
}

/// What is asked of panes beyond single ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PaneFolds {
    /// Of all panes at once.
    pub all: Option<PaneFold>,
    /// Of those of a kind.
    pub kinds: KindFolds,
}

/// How far a kind reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldScope {
    /// The calls of one tool.
    Kind,
    /// All calls.
    AllCalls,
}

impl PaneKind {
    /// The kind with this name, as it is typed: a tool's name stands for its calls.
    pub fn named(name: &str) -> Self {
        match name {
            "thinking" => Self::Thinking,
            "messages" => Self::Messages,
            "images" => Self::Images,
            "tools" => Self::Tools,
            tool => Self::Tool(tool.to_owned()),
        }
    }

    /// The wider kind that it is one of.
    fn wider(&self) -> Option<Self> {
        match self {
            Self::Tool(_) => Some(Self::Tools),
            Self::Thinking | Self::Messages | Self::Images | Self::Tools => None,
        }
    }

    /// Whether panes of the other kind belong to it.
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
    /// What is asked of a block beyond what is asked of it alone.
    pub fn of(&self, block: &TranscriptBlock) -> Option<PaneFold> {
        if self.all.is_none() && self.kinds.0.is_empty() {
            return None;
        }
        let kind = block.kind()?;
        self.all.or_else(|| self.of_kind(&kind))
    }

    /// Goes on with all panes at once: open, closed, each as suits it.
    pub fn cycle_all(&mut self) {
        self.all = after(self.all, None);
    }

    /// What is asked of a kind.
    fn of_kind(&self, kind: &PaneKind) -> Option<PaneFold> {
        self.asked(kind).or_else(|| self.asked(&kind.wider()?))
    }

    /// Asks this of a kind, or nothing, whatever was asked of all and of the narrower kinds.
    pub(super) fn ask(&mut self, kind: &PaneKind, fold: Option<PaneFold>) {
        self.all = None;
        self.kinds.0.retain(|name, _| !kind.covers(&PaneKind::named(name)));
        if let Some(fold) = fold {
            self.kinds.0.insert(kind.to_string(), fold);
        }
    }

    /// What is asked of exactly this kind.
    fn asked(&self, kind: &PaneKind) -> Option<PaneFold> {
        self.kinds.0.get(&kind.to_string()).copied()
    }
}

/// What comes after `now` when folds go around: open, closed, as suits each. What `natural` is
/// anyway is left out.
fn after(now: Option<PaneFold>, natural: Option<PaneFold>) -> Option<PaneFold> {
    let around = [None, Some(PaneFold::Open), Some(PaneFold::Closed)];
    let at = around.iter().position(|fold| *fold == now).unwrap_or(0);
    let next = |by: usize| around[(at + by) % around.len()];
    if next(1).is_some() && next(1) == natural { next(2) } else { next(1) }
}

/// Folds or unfolds a pane.
pub fn toggle(model: &mut ScreenModel, block: BlockId) -> Vec<ScreenEffect> {
    model.transcript.toggle(block);
    keep_session(model).into_iter().collect()
}

/// Folds or unfolds all panes.
pub fn toggle_all(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    model.transcript.toggle_all();
    keep_session(model).into_iter().collect()
}

/// Folds or unfolds all panes of the kind of this one, or of the wider kind that it is of.
pub fn toggle_like(model: &mut ScreenModel, block: BlockId, reach: FoldScope) -> Vec<ScreenEffect> {
    let Some(block) = model.transcript.get(block) else { return Vec::new() };
    let Some(kind) = block.kind() else { return Vec::new() };
    let natural = block.natural_fold();
    let kind = match reach {
        FoldScope::Kind => kind,
        FoldScope::AllCalls => kind.wider().unwrap_or(kind),
    };
    let now = model.transcript.folds().asked(&kind);
    set_kind(model, &kind, after(now, Some(natural)))
}

/// Folds all panes of a kind so, or as suits each.
pub fn set_kind(
    model: &mut ScreenModel,
    kind: &PaneKind,
    fold: Option<PaneFold>,
) -> Vec<ScreenEffect> {
    model.transcript.set_kind(kind, fold);
    let how = match fold {
        Some(PaneFold::Open) => "open",
        Some(PaneFold::Preview) => "shortened",
        Some(PaneFold::Closed) => "folded",
        None => "as suits each",
    };
    model.toast(NoticeLevel::Info, format!("All {kind} panes: {how}, here and in other sessions"));
    let kinds = model.transcript.folds().kinds.clone();
    [Some(ScreenEffect::KeepKinds(kinds)), keep_session(model)].into_iter().flatten().collect()
}

/// Folds all panes of a kind as comes next.
pub fn cycle_kind(model: &mut ScreenModel, kind: &PaneKind) -> Vec<ScreenEffect> {
    let now = model.transcript.folds().asked(kind);
    set_kind(model, kind, after(now, None))
}

/// Nothing is kept before what was kept is known: it would be lost. It follows with the answer.
pub(super) fn keep_session(model: &ScreenModel) -> Option<ScreenEffect> {
    let session = model.status.session.filter(|_| model.requests.folds.is_none())?;
    Some(ScreenEffect::KeepFolds { session, folds: model.transcript.session_folds() })
}

/// The name of each pane of some blocks, in their order: its entry, and which of the blocks of
/// that entry it is.
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
    fn folds_go_around_without_what_is_so_anyway() {
        let around = |natural| {
            let mut now = None;
            let mut seen = Vec::new();
            for _ in 0..3 {
                now = after(now, natural);
                seen.push(now);
            }
            seen
        };
        let (open, closed) = (Some(PaneFold::Open), Some(PaneFold::Closed));
        assert_eq!(around(None), [open, closed, None]);
        assert_eq!(around(Some(PaneFold::Preview)), [open, closed, None]);
        assert_eq!(around(open), [closed, None, closed]);
        assert_eq!(around(closed), [open, None, open]);
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
