//! What an agent says about its questions: one is asked, facts about it were counted, it no longer
//! needs an answer. The next one that waits is shown from here.

use crate::agent::AgentEvent;
use crate::domain::{ApprovalId, DangerFact, DangerFacts, PermissionMode};
use crate::tui::dialogs::EarlyKey;
use crate::tui::dialogs::approval::{ApprovalDialog, SessionScope};
use crate::tui::dialogs::questions::QuestionsDialog;
use crate::tui::dialogs::stack::DialogStack;

use super::conversation::{Conversation, rule_offers};
use super::effect::ScreenEffect;
use super::model::ScreenModel;
use super::shared::{AskingAgent, SharedState};
use super::waiting_question::WaitingQuestion;

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

/// Shows the next question, unless one is on screen already, or a dialog takes all keys.
pub fn show_next_question(model: &mut ScreenModel, early_key: EarlyKey) {
    if model.dialogs.open_question().is_some() || model.dialogs.takes_everything() {
        return;
    }
    let Some((agent, question)) = model.shared.questions.pop_front() else {
        model.shared.question_number = 0;
        return;
    };
    model.shared.question_number += 1;
    let several = model.shared.behind > 0;
    let asking = model.conversation_with(agent);
    let name = asking.filter(|_| several).map(Conversation::name);
    match question {
        WaitingQuestion::Approval(request) => {
            let mode = asking.map_or(PermissionMode::Ask, |asking| asking.status.mode);
            let scope = SessionScope::of(&request, mode, &model.shared.settings.cwd);
            let counted_rules = rule_offers::counted_rules(&request).to_owned();
            let allowed_before = asking.and_then(|asking| {
                asking.rule_offers.offered(asking.status.session, &counted_rules)
            });
            model.shared.asker = Some(AskingAgent { agent, name, counted_rules });
            let mut question = ApprovalDialog::new(*request, early_key, scope);
            question.allowed_before = allowed_before;
            model.dialogs.push(question);
        }
        WaitingQuestion::Asked(request) => {
            model.shared.asker = Some(AskingAgent { agent, name, counted_rules: Vec::new() });
            model.dialogs.push(QuestionsDialog::new(*request, early_key));
        }
    }
}
