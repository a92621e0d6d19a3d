//! What the model of a resumed session is told of agents that ended with slug.

use crate::domain::{ContentBlock, SubagentSummary};
use crate::session::LogRecord;

use super::report::AGENT_NOTE;

/// What the model of a session that is opened again is told of children in the background whose end it was
/// not told of: they ended with slug.
pub(in crate::agent) fn interrupted_note(records: &[LogRecord]) -> Option<ContentBlock> {
    let mut open: Vec<&SubagentSummary> = Vec::new();
    for message in records.iter().filter_map(|record| record.entry.as_message()) {
        open.retain(|known| message.agents.iter().all(|ended| ended.call != known.call));
        let started = message.result.as_ref().and_then(|result| result.agent.as_deref());
        // Of a race the model knows nothing: its message is without an answer.
        let forked = message.agents.iter().filter(|agent| agent.in_background);
        open.extend(started.into_iter().chain(forked).filter(|agent| agent.state.is_running()));
    }
    let names: Vec<String> = open.iter().map(|agent| agent.name()).collect();
    let text = format!(
        "Interrupted when slug ended or this session was left, without a report: {}. Start them again only if their work is still \
         needed.",
        names.join("; ")
    );
    (!names.is_empty()).then(|| ContentBlock::Context { name: AGENT_NOTE.into(), text })
}
