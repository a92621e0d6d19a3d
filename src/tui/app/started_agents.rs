//! The agents that calls have started, on screen: each has a conversation of its own behind that of its
//! parent, and a line in it.

use std::collections::BTreeMap;

use crate::domain::{AgentId, ModelName, NoticeLevel, RequestSource, SubagentSummary};
use crate::session::LogRecord;

use super::conversation::Conversation;
use super::conversation::status::ConversationStatus;
use super::shared::SharedState;
use super::started_agent::StartedAgent;

/// The agents that run now.
pub fn running(shared: &SharedState) -> impl Iterator<Item = &StartedAgent> {
    shared.started_agents.iter().filter(|it| it.summary.state.is_running())
}

/// Notes how an agent stands that a conversation has started. Returns the status of its own conversation,
/// if it has none yet.
pub fn stands(
    parent: &mut Conversation,
    shared: &mut SharedState,
    summary: &SubagentSummary,
) -> Option<ConversationStatus> {
    parent.transcript.agent_stands(summary);
    let told_at = shared.now;
    let known = shared.started_agents.iter_mut().find(|known| known.summary.agent == summary.agent);
    let Some(known) = known else {
        let started = StartedAgent { parent: parent.agent, summary: summary.clone(), told_at };
        shared.started_agents.push(started);
        return Some(ConversationStatus {
            title: Some(summary.name()),
            started_as: Some(summary.name()),
            project: parent.status.project.clone(),
            git: parent.status.git.clone(),
            mode: parent.status.mode,
            ..ConversationStatus::default()
        });
    };
    let has_ended = known.summary.state.is_running() && !summary.state.is_running();
    known.summary.clone_from(summary);
    known.told_at = told_at;
    if has_ended && summary.in_background {
        let level =
            if summary.state.is_failure() { NoticeLevel::Warning } else { NoticeLevel::Info };
        let text = format!("Agent {} is {}.", summary.name(), summary.state.words());
        parent.transcript.notice(level, text);
    }
    None
}

/// Counts at once what an agent has spent that the conversation has started: the session's own sum comes
/// with the next response.
pub fn spends(parent: &mut Conversation, record: &LogRecord) {
    let message = record.entry.as_message().filter(|it| it.source == RequestSource::Agent);
    if let Some(message) = message {
        let ConversationStatus { provider, model, spending, .. } = &mut parent.status;
        let model = message.model.clone().unwrap_or_else(|| model.clone());
        spending.take(record, message, ModelName { provider: provider.clone(), model });
    }
}

/// Forgets the agents that a conversation has started: another session is open there.
pub fn forget(
    parent: &Conversation,
    background: &mut BTreeMap<AgentId, Conversation>,
    shared: &mut SharedState,
) {
    for it in shared.started_agents.extract_if(.., |it| it.parent == parent.agent) {
        background.remove(&it.summary.agent);
    }
    shared.behind = background.len();
}
