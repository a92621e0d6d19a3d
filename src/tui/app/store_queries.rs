//! Routes the answers of the store to the component that waits for each.

use crate::domain::NoticeLevel;

use super::conversation::Conversation;
use super::conversation::fold_actions::keep_session;
use super::dialog_reply::DialogReply;
use super::intent::Intent;
use super::request_id::RequestId;
use crate::services::store_query::StoreQueryResult;

/// Routes an answer to the component that waits for it; a failure ends the waiting and is shown.
/// `waiting` is the conversation that waits for this answer, unless a dialog does.
pub fn answered(
    waiting: Option<&mut Conversation>,
    id: RequestId,
    answer: Result<StoreQueryResult, String>,
) -> Vec<Intent> {
    let tell = Intent::TellDialogs;
    match (answer, waiting) {
        (Ok(StoreQueryResult::Folds { session, kinds }), Some(conversation)) => {
            conversation.requests.folds = None;
            conversation.transcript.restore_folds(&session, kinds);
            let is_kept = conversation.transcript.session_folds() == session;
            let keep = keep_session(conversation).filter(|_| !is_kept);
            keep.map(Intent::Effect).into_iter().collect()
        }
        // The size of the store is part of the status.
        (Ok(StoreQueryResult::Folds { .. } | StoreQueryResult::StoreSize(_)), _) => Vec::new(),
        (Ok(StoreQueryResult::Document(document)), _) => {
            vec![tell(DialogReply::Document { id, document: Some(document) })]
        }
        (Ok(StoreQueryResult::Changes(files)), _) => {
            vec![tell(DialogReply::Changes { id, files: Some(files) })]
        }
        (Err(reason), waiting) => {
            if let Some(conversation) = waiting {
                conversation.requests.folds = None;
            }
            vec![
                tell(DialogReply::Document { id, document: None }),
                tell(DialogReply::Changes { id, files: None }),
                Intent::Toast(NoticeLevel::Error, reason),
            ]
        }
    }
}
