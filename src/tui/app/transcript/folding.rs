//! How the panes of the transcript are folded.
//!
//! What is remembered of a session names panes of its older part, too, which may not be there yet.
//! It is kept until they come, so that folding one pane meanwhile does not forget the others.

use std::collections::BTreeMap;

use crate::session::{KindFolds, PaneName, SessionFolds};
use crate::tui::app::folds::{self, PaneFolds, PaneKind};

use super::{BlockId, PaneFold, Transcript, TranscriptBlock};

/// What was asked of panes that have not come yet.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PendingFolds {
    /// One by one.
    panes: BTreeMap<PaneName, PaneFold>,
    /// Kinds of which something was asked since the session was opened: of a pane of theirs nothing
    /// that was asked before holds.
    kinds: Vec<PaneKind>,
}

impl PendingFolds {
    fn asks_of(&self, kind: &PaneKind) -> bool {
        self.kinds.iter().any(|asked| asked.covers(kind))
    }
}

impl Transcript {
    /// How much of a block is shown.
    pub fn fold(&self, block: &TranscriptBlock) -> PaneFold {
        if self.peeked == Some(block.id) && block.is_pane() {
            return PaneFold::Open;
        }
        block.fold.or_else(|| self.folds.of(block)).unwrap_or_else(|| block.natural_fold())
    }

    /// Folds an open pane, unfolds any other.
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

    /// Opens this pane for as long as it is looked at, and no other any longer. Says whether
    /// anything unfolds or folds by it.
    pub fn peek(&mut self, id: Option<BlockId>) -> bool {
        let shown = |transcript: &Self, id: Option<BlockId>| {
            id.and_then(|id| transcript.get(id)).map(|block| transcript.fold(block))
        };
        let old = self.peeked;
        let before = (shown(self, old), shown(self, id));
        self.peeked = id;
        before != (shown(self, old), shown(self, id))
    }

    /// Goes on with all panes at once: open, closed, each as suits it.
    pub fn toggle_all(&mut self) {
        for block in &mut self.blocks {
            block.fold = None;
        }
        self.pending_folds = PendingFolds::default();
        self.folds.cycle_all();
    }

    /// What is asked of more than one pane.
    pub fn folds(&self) -> &PaneFolds {
        &self.folds
    }

    /// Folds all panes of a kind so, or as suits each.
    pub fn set_kind(&mut self, kind: &PaneKind, fold: Option<PaneFold>) {
        for block in &mut self.blocks {
            if block.fold.is_some() && block.kind().is_some_and(|it| kind.covers(&it)) {
                block.fold = None;
            }
        }
        self.pending_folds.kinds.push(kind.clone());
        self.folds.ask(kind, fold);
    }

    /// How this session's panes are folded, as it is remembered: those that have not come yet, too.
    pub fn session_folds(&self) -> SessionFolds {
        let named = folds::names(&self.blocks).zip(&self.blocks);
        let here = named.filter_map(|(name, block)| Some((name?, block.fold?)));
        let mut panes = self.pending_folds.panes.clone();
        panes.extend(here);
        SessionFolds { all: self.folds.all, panes }
    }

    /// Folds the panes as it was remembered, but for those that were folded since, one by one or
    /// with their kind.
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
