//! Folding panes by key or command: one pane, all panes of a kind, or all panes at once.

use crate::domain::NoticeLevel;

use super::Conversation;
use super::block::{BlockId, PaneFold};
use super::folds::after;
use super::pane_kind::PaneKind;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::shared::SharedState;

/// Whether a fold applies to the kind of one pane, or to the calls of all tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldScope {
    Kind,
    AllCalls,
}

/// Folds or unfolds a pane.
pub fn toggle(conversation: &mut Conversation, block: BlockId) -> Vec<ScreenEffect> {
    conversation.transcript.toggle(block);
    keep_session(conversation).into_iter().collect()
}

/// Folds or unfolds all panes.
pub fn toggle_all(conversation: &mut Conversation) -> Vec<ScreenEffect> {
    conversation.transcript.toggle_all();
    keep_session(conversation).into_iter().collect()
}

/// Switches all panes of this one's kind, or of the kind that contains it, to the next setting.
pub fn toggle_like(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    block: BlockId,
    scope: FoldScope,
) -> Vec<ScreenEffect> {
    let Some(block) = conversation.transcript.get(block) else { return Vec::new() };
    let Some(kind) = block.kind() else { return Vec::new() };
    let natural = block.natural_fold();
    let kind = match scope {
        FoldScope::Kind => kind,
        FoldScope::AllCalls => kind.wider().unwrap_or(kind),
    };
    let now = conversation.transcript.folds().asked(&kind);
    set_kind(conversation, shared, &kind, after(now, Some(natural)))
}

/// Sets how all panes of a kind are folded; `None` for the default of each.
pub fn set_kind(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    kind: &PaneKind,
    fold: Option<PaneFold>,
) -> Vec<ScreenEffect> {
    conversation.transcript.set_kind(kind, fold);
    let how = match fold {
        Some(PaneFold::Open) => "open",
        Some(PaneFold::Preview) => "shortened",
        Some(PaneFold::Closed) => "folded",
        None => "automatic",
    };
    shared.toast(NoticeLevel::Info, format!("All {kind} panes: {how}, here and in other sessions"));
    let kinds = conversation.transcript.folds().kinds.clone();
    [Some(ScreenEffect::KeepKinds(kinds)), keep_session(conversation)]
        .into_iter()
        .flatten()
        .collect()
}

/// Switches all panes of a kind to the next setting.
pub fn cycle_kind(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    kind: &PaneKind,
) -> Vec<ScreenEffect> {
    let now = conversation.transcript.folds().asked(kind);
    set_kind(conversation, shared, kind, after(now, None))
}

/// Saves the folds of the session. Before the saved folds are read it saves nothing, since that
/// would overwrite them; the answer of the read then saves.
pub fn keep_session(conversation: &Conversation) -> Option<ScreenEffect> {
    let session = conversation.status.session.filter(|_| conversation.requests.folds.is_none())?;
    Some(ScreenEffect::KeepFolds { session, folds: conversation.transcript.session_folds() })
}
