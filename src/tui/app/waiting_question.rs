//! A question that waits for the user: of slug about a call, or of the model.

use crate::agent::AgentEvent;
use crate::domain::{ApprovalId, ApprovalRequest, QuestionRequest};

/// A question that an agent has asked and that is not on screen yet.
#[derive(Debug, Clone, PartialEq)]
pub enum WaitingQuestion {
    /// Whether a call may run.
    Approval(Box<ApprovalRequest>),
    /// What the model asks.
    Asked(Box<QuestionRequest>),
}

impl WaitingQuestion {
    /// The question that an event asks.
    pub fn of(event: AgentEvent) -> Option<Self> {
        match event {
            AgentEvent::ApprovalAsked(request) => Some(Self::Approval(request)),
            AgentEvent::QuestionsAsked(request) => Some(Self::Asked(request)),
            _ => None,
        }
    }

    /// The id that the answer has to carry.
    pub fn id(&self) -> ApprovalId {
        match self {
            Self::Approval(request) => request.id,
            Self::Asked(request) => request.id,
        }
    }

    /// The question about a call, if it is one.
    pub fn approval(&self) -> Option<&ApprovalRequest> {
        match self {
            Self::Approval(request) => Some(request),
            Self::Asked(_) => None,
        }
    }
}
