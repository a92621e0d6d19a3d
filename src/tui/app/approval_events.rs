//! What an agent says about its permission questions: one is asked, facts about it were counted, it no
//! longer needs an answer.

use crate::agent::AgentEvent;
use crate::domain::{ApprovalId, ApprovalRequest, DangerFact, DangerFacts};
use crate::tui::dialogs::stack::DialogStack;

use super::conversation::Conversation;
use super::effect::ScreenEffect;
use super::shared::SharedState;

/// Whether an event is about a question, which comes up even from a conversation behind.
pub(super) fn is_about_question(event: &AgentEvent) -> bool {
    matches!(
        event,
        AgentEvent::ApprovalAsked(_)
            | AgentEvent::ApprovalFacts { .. }
            | AgentEvent::ApprovalWithdrawn(_)
    )
}

/// Queues a question of a conversation.
pub(super) fn asked(
    shared: &mut SharedState,
    conversation: &Conversation,
    request: ApprovalRequest,
) -> Option<ScreenEffect> {
    let (now, project) = (shared.now, &conversation.status.project);
    let effect = shared.attention.notify_question(now, project, &request.tool);
    shared.questions.push_back((conversation.agent, request));
    effect
}

/// Takes over the facts about a question that waits.
pub(super) fn counted(shared: &mut SharedState, id: ApprovalId, facts: &[DangerFact]) {
    let mut waiting = shared.questions.iter_mut().map(|(_, request)| request);
    if let Some(request) = waiting.find(|request| request.id == id) {
        request.facts = DangerFacts::Found(facts.to_owned());
    }
}

/// Removes a question that no longer needs an answer.
pub(super) fn withdrawn(shared: &mut SharedState, dialogs: &mut DialogStack, id: ApprovalId) {
    shared.questions.retain(|(_, request)| request.id != id);
    dialogs.retain_approvals(|request| request.id != id);
}
