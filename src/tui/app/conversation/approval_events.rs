//! What an agent says about its questions: one is asked, facts about it were counted, it no longer
//! needs an answer.

use crate::agent::AgentEvent;
use crate::domain::{ApprovalId, DangerFact, DangerFacts};
use crate::tui::dialogs::stack::DialogStack;

use super::Conversation;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::shared::SharedState;
use crate::tui::app::waiting_question::WaitingQuestion;

/// Whether an event is about a question, which comes up even from a conversation behind.
pub(super) fn is_about_question(event: &AgentEvent) -> bool {
    matches!(
        event,
        AgentEvent::ApprovalAsked(_)
            | AgentEvent::QuestionsAsked(_)
            | AgentEvent::ApprovalFacts { .. }
            | AgentEvent::ApprovalWithdrawn(_)
    )
}

/// Queues a question of a conversation.
pub(super) fn asked(
    shared: &mut SharedState,
    conversation: &mut Conversation,
    event: AgentEvent,
) -> Option<ScreenEffect> {
    let question = WaitingQuestion::of(event)?;
    let (now, project) = (shared.now, &conversation.status.project);
    let asker = match &question {
        WaitingQuestion::Approval(request) => request.tool.as_str(),
        WaitingQuestion::Asked(_) => "the model",
    };
    let effect = shared.attention.notify_question(now, project, asker);
    if let WaitingQuestion::Asked(request) = &question {
        conversation.transcript.call_waits(&request.call);
    }
    shared.questions.push_back((conversation.agent, question));
    effect
}

/// Takes over the facts about a question that waits.
pub(super) fn counted(shared: &mut SharedState, id: ApprovalId, facts: &[DangerFact]) {
    for (_, question) in &mut shared.questions {
        if let WaitingQuestion::Approval(request) = question
            && request.id == id
        {
            request.facts = DangerFacts::Found(facts.to_owned());
        }
    }
}

/// Removes a question that no longer needs an answer.
pub(super) fn withdrawn(shared: &mut SharedState, dialogs: &mut DialogStack, id: ApprovalId) {
    shared.questions.retain(|(_, question)| question.id() != id);
    dialogs.withdraw(id);
}
