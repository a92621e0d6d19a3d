//! The session shown below the list: it follows what is selected, and never has more than one
//! log read at a time, however fast the selection moves.

use crate::domain::{EntryId, SessionId};
use crate::tui::app::effect::RequestId;
use crate::tui::app::sessions::{SessionPreview, SessionStoreResponse};

/// The lower part of the list.
#[derive(Debug, Clone, PartialEq)]
pub enum SidebarPreview {
    /// It is not there.
    Closed,
    /// It shows the session that is selected.
    Open {
        /// What is there to show, or why nothing is.
        shown: Option<(SessionId, Result<SessionPreview, String>)>,
        /// What is being read.
        reading: Option<(RequestId, SessionId)>,
        /// The message that was gone to, of those that are shown.
        at: Option<usize>,
    },
}

impl SidebarPreview {
    /// Opens or closes it.
    pub(super) fn toggle(&mut self) {
        *self = match self {
            Self::Closed => Self::Open { shown: None, reading: None, at: None },
            Self::Open { .. } => Self::Closed,
        };
    }

    /// What is to be read now, with this session selected.
    pub(super) fn session_to_read(&self, selected: Option<SessionId>) -> Option<SessionId> {
        match self {
            Self::Open { shown, reading: None, .. } => {
                let known = shown.as_ref().map(|(session, _)| *session);
                selected.filter(|selected| known != Some(*selected))
            }
            Self::Open { reading: Some(_), .. } | Self::Closed => None,
        }
    }

    /// It is being read.
    pub(super) fn asked(&mut self, id: RequestId, session: SessionId) {
        if let Self::Open { reading, .. } = self {
            *reading = Some((id, session));
        }
    }

    /// An answer; one to another request is stale.
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

    /// Goes so many messages further, from the last one where none was gone to.
    pub(super) fn choose(&mut self, session: SessionId, by: isize) {
        let Self::Open { shown: Some((known, Ok(preview))), at, .. } = self else { return };
        let Some(last) = preview.messages.len().checked_sub(1).filter(|_| *known == session) else {
            return;
        };
        *at = Some(at.map_or(last, |at| at.saturating_add_signed(by).min(last)));
    }

    /// The message that was gone to, by its number.
    pub fn at(&self) -> Option<usize> {
        match self {
            Self::Open { at, .. } => *at,
            Self::Closed => None,
        }
    }

    /// The log's line of the message that was gone to.
    pub(super) fn chosen(&self, session: SessionId) -> Option<EntryId> {
        let preview = self.of(session)?.as_ref().ok()?;
        Some(preview.messages.get(self.at()?)?.entry)
    }

    /// What there is to show of a session.
    pub fn of(&self, session: SessionId) -> Option<&Result<SessionPreview, String>> {
        match self {
            Self::Closed => None,
            Self::Open { shown, .. } => {
                shown.as_ref().filter(|(known, _)| *known == session).map(|(_, shown)| shown)
            }
        }
    }
}
