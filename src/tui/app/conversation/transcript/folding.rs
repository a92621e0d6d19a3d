//! The folds of the transcript's panes.
//!
//! The saved folds of a session also name panes of its older part, which may not be loaded yet.
//! These folds are kept until the panes come, so that folding a pane meanwhile does not lose them.

use std::collections::BTreeMap;

use crate::session::{KindFolds, PaneName, SessionFolds};
use crate::tui::app::conversation::folds::{self, PaneFolds};
use crate::tui::app::conversation::pane_kind::PaneKind;

use super::{BlockBody, BlockId, PaneFold, Transcript, TranscriptBlock};

/// Folds of panes that are not loaded yet.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PendingFolds {
    /// Saved folds of single panes.
    panes: BTreeMap<PaneName, PaneFold>,
    /// Kinds that the user folded since the session was opened: saved folds of single panes of
    /// these kinds no longer apply.
    kinds: Vec<PaneKind>,
}

impl PendingFolds {
    fn asks_of(&self, kind: &PaneKind) -> bool {
        self.kinds.iter().any(|asked| asked.covers(kind))
    }
}

impl Transcript {
    /// How much of a block is shown: by a search match in it, its own fold, that of its kind or of
    /// all panes, or else by its default.
    pub fn fold(&self, block: &TranscriptBlock) -> PaneFold {
        if let Some(peeked) = self.peeked
            && (peeked == block.id && block.is_pane()
                || block.body == BlockBody::Lookups
                    && self.get(peeked).is_some_and(|it| it.run == Some(block.id)))
        {
            return PaneFold::Open;
        }
        block.fold.or_else(|| self.folds.of(block)).unwrap_or_else(|| block.natural_fold())
    }

    /// Folds an open pane; unfolds any other.
    pub fn toggle(&mut self, id: BlockId) {
        let Some(fold) = self.get(id).filter(|block| block.is_pane()).map(|block| self.fold(block))
        else {
            return;
        };
        self.peeked = self.peeked.filter(|peeked| *peeked != id);
        let at = self.index(id);
        self.blocks[at].fold = Some(match fold {
            PaneFold::Open => PaneFold::Closed,
            PaneFold::Closed | PaneFold::Preview => PaneFold::Open,
        });
    }

    /// Opens this pane until the next call, and ends this for the pane before. Returns whether a
    /// pane unfolds or folds by it.
    pub fn peek(&mut self, id: Option<BlockId>) -> bool {
        let shown = |transcript: &Self, id: Option<BlockId>| {
            id.and_then(|id| transcript.get(id)).map(|block| transcript.fold(block))
        };
        let old = self.peeked;
        let before = (shown(self, old), shown(self, id));
        self.peeked = id;
        before != (shown(self, old), shown(self, id))
    }

    /// Leaves the pane that was opened by [`Transcript::peek`] open, and the run that it is in.
    /// Returns whether a fold changed by it.
    pub fn keep_peek(&mut self) -> bool {
        let Some(pane) = self.peeked.take().and_then(|id| self.get(id)) else { return false };
        let (id, run) = (pane.id, pane.run);
        let mut has_changed = false;
        for id in [Some(id), run].into_iter().flatten() {
            let at = self.index(id);
            let Some(block) = self.blocks.get(at) else { continue };
            let is_pane = block.is_pane() || block.body == BlockBody::Lookups;
            if is_pane && self.fold(block) != PaneFold::Open {
                self.blocks[at].fold = Some(PaneFold::Open);
                has_changed = true;
            }
        }
        has_changed
    }

    /// Cycles the fold of all panes: open, closed, each by its default.
    pub fn toggle_all(&mut self) {
        for block in &mut self.blocks {
            block.fold = None;
        }
        self.pending_folds = PendingFolds::default();
        self.folds.cycle_all();
    }

    /// The folds of all panes or of a kind.
    pub fn folds(&self) -> &PaneFolds {
        &self.folds
    }

    /// Folds all panes of a kind; `None` returns each to its default.
    pub fn set_kind(&mut self, kind: &PaneKind, fold: Option<PaneFold>) {
        for block in &mut self.blocks {
            if block.fold.is_some() && block.kind().is_some_and(|it| kind.covers(&it)) {
                block.fold = None;
            }
        }
        self.pending_folds.kinds.push(kind.clone());
        self.folds.ask(kind, fold);
    }

    /// The folds of this session for saving, including those of panes that are not loaded yet.
    pub fn session_folds(&self) -> SessionFolds {
        let named = folds::names(&self.blocks).zip(&self.blocks);
        let here = named.filter_map(|(name, block)| Some((name?, block.fold?)));
        let mut panes = self.pending_folds.panes.clone();
        panes.extend(here);
        SessionFolds { all: self.folds.all, panes }
    }

    /// Restores saved folds, except of panes that were folded since, alone or with their kind.
    pub fn restore_folds(&mut self, session: &SessionFolds, kinds: KindFolds) {
        self.folds = PaneFolds { all: session.all, kinds };
        self.pending_folds.panes.clone_from(&session.panes);
        if session.panes.is_empty() {
            return;
        }
        let names: Vec<_> = folds::names(&self.blocks).collect();
        for (name, block) in names.into_iter().zip(&mut self.blocks) {
            let remembered = name.and_then(|name| self.pending_folds.panes.remove(&name));
            let asked_since = || block.kind().is_some_and(|kind| self.pending_folds.asks_of(&kind));
            if remembered.is_some() && block.fold.is_none() && !asked_since() {
                block.fold = remembered;
            }
        }
    }
}
