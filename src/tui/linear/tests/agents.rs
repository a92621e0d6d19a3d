//! What is said of agents that calls start.

use super::*;
use crate::domain::{AgentId, CallId, SubagentState, SubagentSummary};

#[tokio::test]
async fn the_end_of_an_agent_in_the_background_is_said_once() {
    let test = test_loop(StdinSource::Pipe).opened().await;
    let works = SubagentSummary {
        agent: AgentId(7),
        call: CallId::new("c1"),
        session: None,
        kind: "explore".into(),
        task: "find the callers".into(),
        model: None,
        state: SubagentState::Running,
        in_background: true,
        tool_calls: 0,
        refused_calls: 0,
        tokens: 0,
        cost: None,
        elapsed_ms: 0,
    };
    let stands = |state| {
        let summary = SubagentSummary { state, ..works.clone() };
        AgentEvent::Subagent(Box::new(summary))
    };
    let (running, silent) = (SubagentState::Running, SubagentState::Silent);
    test.events([stands(running), stands(silent), stands(silent)]).await;
    test.until("Warning: Agent explore: find the callers is silent.\n").await;
    let output = test.end().await;
    assert_eq!(output.matches("is silent").count(), 1, "{output}");
}
