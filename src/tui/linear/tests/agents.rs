//! What is said of agents that calls start.

use super::*;
use crate::domain::testing;
use crate::domain::{SubagentState, SubagentSummary};

#[tokio::test]
async fn the_end_of_an_agent_in_the_background_is_said_once() {
    let test = test_loop(StdinSource::Pipe).opened().await;
    let works =
        SubagentSummary { in_background: true, ..testing::subagent(SubagentState::Running) };
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
