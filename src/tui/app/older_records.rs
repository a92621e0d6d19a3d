//! Takes over the older part of a long session (`transcript::backfill`).

use super::conversation::Conversation;
use super::effect::ScreenEffect;
use super::jump;
use super::pending_jump::BackfillState;
use super::request_id::RequestId;
use super::shared::SharedState;
use super::store_requests;
use super::transcript::backfill::BackfillResult;

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
