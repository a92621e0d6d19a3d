//! Puts the questions of a running call to the user. They wait in the same queue as the questions about
//! permissions, so the user answers all of them one after the other.

use std::sync::Arc;

use async_trait::async_trait;

use crate::domain::{ApprovalId, CallId, QuestionAnswer, QuestionRequest, TurnId, UserQuestion};
use crate::tools::AskUser;

use super::approvals::PendingQuestions;
use super::call_plan::CallPlan;
use super::event::AgentEvent;
use super::event_queue::AgentEventSender;
use super::hooks::SessionHooks;
use super::tool_gate::ToolGate;

/// Asks for one call.
pub(super) struct CallQuestions {
    turn: TurnId,
    call: CallId,
    open: Arc<PendingQuestions>,
    events: AgentEventSender,
    hooks: SessionHooks,
}

/// Tells the front end that a question needs no answer, unless it got one.
struct OpenQuestion<'a> {
    events: &'a AgentEventSender,
    id: Option<ApprovalId>,
}

impl CallQuestions {
    pub(super) fn of(gate: &ToolGate, plan: &CallPlan) -> Self {
        Self {
            turn: gate.turn,
            call: plan.call.id.clone(),
            open: gate.questions.clone(),
            events: gate.events.clone(),
            hooks: gate.hooks.clone(),
        }
    }
}

#[async_trait]
impl AskUser for CallQuestions {
    async fn ask(&self, questions: Vec<UserQuestion>) -> Option<Vec<QuestionAnswer>> {
        let count = questions.len();
        let (id, answer) = self.open.open();
        self.hooks.notify_of_questions(&questions);
        let request = QuestionRequest { id, turn: self.turn, call: self.call.clone(), questions };
        let mut open = OpenQuestion { events: &self.events, id: Some(id) };
        self.events.send(AgentEvent::QuestionsAsked(Box::new(request)));
        let answer = answer.await;
        open.id = None;
        let mut answers = answer.ok()?;
        answers.resize_with(count, QuestionAnswer::default);
        Some(answers)
    }
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.events.send(AgentEvent::ApprovalWithdrawn(id));
        }
    }
}
