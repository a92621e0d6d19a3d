//! What a parent notes of a child: signs of life, and what is on record.

use std::sync::Arc;

use crate::agent::AgentEvent;
use crate::domain::{ApprovalId, CallId, SessionId};
use crate::session::LogRecord;

/// A part of an event of a child that its parent goes by.
#[derive(Debug, Clone)]
pub(in crate::agent) enum ChildSign {
    /// It goes on.
    Alive,
    /// A request was sent, so no question is open.
    Requested,
    Opened(SessionId),
    Asked(ApprovalId, CallId),
    Withdrawn(ApprovalId),
    /// An entry is in its log.
    Recorded(Arc<LogRecord>),
}

/// What a parent notes of an event.
pub(in crate::agent) fn sign_of(event: &AgentEvent) -> ChildSign {
    match event {
        AgentEvent::SessionOpened { session, .. } => ChildSign::Opened(*session),
        AgentEvent::Recorded(record) | AgentEvent::NotRecorded(record) => {
            ChildSign::Recorded(record.clone())
        }
        AgentEvent::ApprovalAsked(request) => ChildSign::Asked(request.id, request.call.clone()),
        AgentEvent::QuestionsAsked(request) => ChildSign::Asked(request.id, request.call.clone()),
        AgentEvent::ApprovalWithdrawn(id) => ChildSign::Withdrawn(*id),
        AgentEvent::RequestSent { .. } => ChildSign::Requested,
        AgentEvent::ModeChanged(_)
        | AgentEvent::SpendingChanged(_)
        | AgentEvent::RewindPlanned(_)
        | AgentEvent::ReviewPlanned(_)
        | AgentEvent::MessageReturned(_)
        | AgentEvent::CommandRefused(_)
        | AgentEvent::ContextEstimated(_)
        | AgentEvent::JobStarted(_)
        | AgentEvent::Jobs(_)
        | AgentEvent::Rules(_)
        | AgentEvent::Subagent(_)
        | AgentEvent::RaceStarted { .. }
        | AgentEvent::RaceEnded { .. }
        | AgentEvent::ModelLoading(_)
        | AgentEvent::PromptFiles(_)
        | AgentEvent::JobOutput(_)
        | AgentEvent::Context(_)
        | AgentEvent::Memory(_)
        | AgentEvent::SessionRead { .. }
        | AgentEvent::ModelNeeded { .. }
        | AgentEvent::JobEnded { .. }
        | AgentEvent::ModelChanged { .. }
        | AgentEvent::Forked { .. }
        | AgentEvent::SaveFailed { .. }
        | AgentEvent::ProviderFailed { .. }
        | AgentEvent::SteerSettled { .. }
        | AgentEvent::ResponseTimed { .. }
        | AgentEvent::ResponseDropped { .. }
        | AgentEvent::CacheMissed { .. }
        | AgentEvent::CallRefused { .. }
        | AgentEvent::RequestRateLimited { .. }
        | AgentEvent::CallStarted { .. }
        | AgentEvent::ToolStarted { .. }
        | AgentEvent::CompactionStarted { .. }
        | AgentEvent::TurnStarted { .. }
        | AgentEvent::Rewound { .. }
        | AgentEvent::Notice { .. }
        | AgentEvent::SessionState { .. }
        | AgentEvent::Thinking { .. }
        | AgentEvent::Prefill { .. }
        | AgentEvent::ToolProgress { .. }
        | AgentEvent::CompactionProgress { .. }
        | AgentEvent::ApprovalFacts { .. }
        | AgentEvent::CallInput { .. }
        | AgentEvent::Text { .. } => ChildSign::Alive,
    }
}
