//! Takes over the older part of a long session (`transcript::backfill`).

use super::Conversation;
use super::jump;
use super::pending_jump::BackfillState;
use super::transcript::backfill::BackfillResult;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::request_id::RequestId;
use crate::tui::app::shared::SharedState;
use crate::tui::app::store_requests;

/// Puts the older part before the blocks on screen. Asks again for the folds of its panes: the
/// first answer came before these panes existed.
pub fn on_backfilled(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    id: RequestId,
    result: BackfillResult,
) -> Vec<ScreenEffect> {
    if conversation.requests.backfill.take_if(|pending| *pending == id).is_none() {
        return Vec::new();
    }
    conversation.transcript.prepend(result.blocks);
    jump::arrive(conversation, shared, BackfillState::Complete);
    let session = conversation.status.session;
    session
        .map(|session| store_requests::ask_for_folds(conversation, shared, session, result.parent))
        .into_iter()
        .collect()
}
