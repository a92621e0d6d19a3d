//! The session shown below the list: it follows what is selected, and never has more than one
//! log read at a time, however fast the selection moves.

use crate::domain::SessionId;
use crate::tui::app::effect::RequestId;
use crate::tui::app::sessions::{Preview, SessionAnswer};

/// The lower part of the list.
#[derive(Debug, Clone, PartialEq)]
pub enum Pane {
    /// It is not there.
    Closed,
    /// It shows the session that is selected.
    Open {
        /// What is there to show, or why nothing is.
        shown: Option<(SessionId, Result<Preview, String>)>,
        /// What is being read.
        reading: Option<(RequestId, SessionId)>,
    },
}

impl Pane {
    /// Opens or closes it.
    pub(super) fn toggle(&mut self) {
        *self = match self {
            Self::Closed => Self::Open { shown: None, reading: None },
            Self::Open { .. } => Self::Closed,
        };
    }

    /// What is to be read now, with this session selected.
    pub(super) fn wants(&self, selected: Option<SessionId>) -> Option<SessionId> {
        match self {
            Self::Open { shown, reading: None } => {
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
    pub(super) fn answer(&mut self, id: RequestId, answer: Result<SessionAnswer, String>) {
        let Self::Open { shown, reading } = self else { return };
        let Some((asked, session)) = *reading else { return };
        if asked != id {
            return;
        }
        *reading = None;
        match answer {
            Ok(SessionAnswer::Previewed(preview)) => *shown = Some((session, Ok(preview))),
            Ok(SessionAnswer::Listed(_) | SessionAnswer::Changed) => {}
            Err(reason) => *shown = Some((session, Err(reason))),
        }
    }

    /// What there is to show of a session.
    pub fn of(&self, session: SessionId) -> Option<&Result<Preview, String>> {
        match self {
            Self::Closed => None,
            Self::Open { shown, .. } => {
                shown.as_ref().filter(|(known, _)| *known == session).map(|(_, shown)| shown)
            }
        }
    }
}
