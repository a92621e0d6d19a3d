//! The agents that calls have started, on screen: each has a conversation of its own behind that of its
//! parent, and a line in it.

use std::collections::BTreeMap;

use crate::domain::{AgentId, NoticeLevel, SubagentSummary};

use super::conversation::Conversation;
use super::conversation::status::ConversationStatus;
use super::shared::SharedState;

/// Notes how an agent stands that a conversation has started. Returns the status of its own conversation,
/// if it has none yet.
pub fn stands(
    parent: &mut Conversation,
    shared: &mut SharedState,
    summary: &SubagentSummary,
) -> Option<ConversationStatus> {
    parent.transcript.agent_stands(summary);
    let known = shared.started_agents.iter_mut().find(|(_, known)| known.agent == summary.agent);
    let Some((_, known)) = known else {
        shared.started_agents.push((parent.agent, summary.clone()));
        return Some(ConversationStatus {
            title: Some(summary.name()),
            started_as: Some(summary.name()),
            project: parent.status.project.clone(),
            git: parent.status.git.clone(),
            mode: parent.status.mode,
            ..ConversationStatus::default()
        });
    };
    let has_ended = known.state.is_running() && !summary.state.is_running();
    known.clone_from(summary);
    if has_ended && summary.in_background {
        let level =
            if summary.state.is_failure() { NoticeLevel::Warning } else { NoticeLevel::Info };
        let text = format!("Agent {} is {}.", summary.name(), summary.state.words());
        parent.transcript.notice(level, text);
    }
    None
}

/// Forgets the agents that a conversation has started: another session is open there.
pub fn forget(
    parent: &Conversation,
    background: &mut BTreeMap<AgentId, Conversation>,
    shared: &mut SharedState,
) {
    for (_, summary) in shared.started_agents.extract_if(.., |(by, _)| *by == parent.agent) {
        background.remove(&summary.agent);
    }
    shared.behind = background.len();
}
