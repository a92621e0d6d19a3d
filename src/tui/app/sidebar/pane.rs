//! The preview of the selected session below the list. It reads at most one log at a time, however
//! fast the selection moves.

use crate::domain::{EntryId, SessionId};
use crate::services::sessions::{SessionPreview, SessionStoreResponse};
use crate::tui::app::request_id::RequestId;

/// The state of the preview.
#[derive(Debug, Clone, PartialEq)]
pub enum SidebarPreview {
    Closed,
    /// Follows the selected session.
    Open {
        /// The session that was read last and its messages, or why they could not be read.
        shown: Option<(SessionId, Result<SessionPreview, String>)>,
        /// The request that is under way.
        reading: Option<(RequestId, SessionId)>,
        /// Index of the selected message among those shown.
        at: Option<usize>,
    },
}

impl SidebarPreview {
    /// Opens or closes the preview.
    pub(super) fn toggle(&mut self) {
        *self = match self {
            Self::Closed => Self::Open { shown: None, reading: None, at: None },
            Self::Open { .. } => Self::Closed,
        };
    }

    /// The session to read next; `None` if the preview is closed, busy, or shows `selected`
    /// already.
    pub(super) fn session_to_read(&self, selected: Option<SessionId>) -> Option<SessionId> {
        match self {
            Self::Open { shown, reading: None, .. } => {
                let known = shown.as_ref().map(|(session, _)| *session);
                selected.filter(|selected| known != Some(*selected))
            }
            Self::Open { reading: Some(_), .. } | Self::Closed => None,
        }
    }

    /// Notes that a session is being read by this request.
    pub(super) fn asked(&mut self, id: RequestId, session: SessionId) {
        if let Self::Open { reading, .. } = self {
            *reading = Some((id, session));
        }
    }

    /// Takes over an answer; an answer to another request is stale and ignored.
    pub(super) fn answer(&mut self, id: RequestId, answer: Result<SessionStoreResponse, String>) {
        let Self::Open { shown, reading, at } = self else { return };
        let Some((asked, session)) = *reading else { return };
        if asked != id {
            return;
        }
        *reading = None;
        *at = None;
        match answer {
            Ok(SessionStoreResponse::Previewed(preview)) => *shown = Some((session, Ok(preview))),
            Ok(
                SessionStoreResponse::Listed(_)
                | SessionStoreResponse::Changed
                | SessionStoreResponse::Compared(_)
                | SessionStoreResponse::Exported(_)
                | SessionStoreResponse::SummedUp(_),
            ) => {}
            Err(reason) => *shown = Some((session, Err(reason))),
        }
    }

    /// Moves the selected message by a number of messages; the first step selects the last message.
    pub(super) fn choose(&mut self, session: SessionId, by: isize) {
        let Self::Open { shown: Some((known, Ok(preview))), at, .. } = self else { return };
        let Some(last) = preview.messages.len().checked_sub(1).filter(|_| *known == session) else {
            return;
        };
        *at = Some(at.map_or(last, |at| at.saturating_add_signed(by).min(last)));
    }

    /// Index of the selected message.
    pub fn at(&self) -> Option<usize> {
        match self {
            Self::Open { at, .. } => *at,
            Self::Closed => None,
        }
    }

    /// The log's line of the selected message.
    pub(super) fn chosen(&self, session: SessionId) -> Option<EntryId> {
        let preview = self.of(session)?.as_ref().ok()?;
        Some(preview.messages.get(self.at()?)?.entry)
    }

    /// What the preview shows of a session; `None` if it has not been read.
    pub fn of(&self, session: SessionId) -> Option<&Result<SessionPreview, String>> {
        match self {
            Self::Closed => None,
            Self::Open { shown, .. } => {
                shown.as_ref().filter(|(known, _)| *known == session).map(|(_, shown)| shown)
            }
        }
    }
}
