//! The requests to the session store that events and commands lead to: folds, sizes.

use crate::domain::SessionId;

use super::conversation::Conversation;
use super::effect::ScreenEffect;
use super::shared::SharedState;
use crate::services::store_query::StoreQuery;

/// Queries the size of the store.
pub fn ask_for_size(shared: &mut SharedState) -> ScreenEffect {
    ScreenEffect::QueryStore { id: shared.requests.issue(), job: StoreQuery::StoreSize }
}

/// Queries the saved folds of the session that was just opened.
pub fn ask_for_folds(
    conversation: &mut Conversation,
    shared: &mut SharedState,
    session: SessionId,
    parent: Option<SessionId>,
) -> ScreenEffect {
    let id = shared.requests.issue();
    conversation.requests.folds = Some(id);
    ScreenEffect::QueryStore { id, job: StoreQuery::Folds { session, parent } }
}
