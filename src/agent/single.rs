//! Runs one call without a model, for `slug tools run`. The call goes through the same gate.

use crate::domain::{ToolCall, ToolOutput, TurnId};

use super::agent_loop::Agent;
use super::authorise::CallDependencies;
use super::call_plan::CallPlan;
use super::pipeline::execute_with_permission;
use super::setup::AgentSetup;

/// Runs `call` and returns its result. `None`, with the reason in slug's own log, when the session
/// that records the call cannot be created. A call that would need a question is refused.
pub async fn run_call(setup: AgentSetup, call: ToolCall) -> Option<ToolOutput> {
    let (mut agent, mut events, _commands) = Agent::new(setup);
    // Nobody listens to the events of a single call, but they must not fill their queue.
    let listener = tokio::spawn(async move { while events.recv().await.is_some() {} });
    agent.session.jobs.refuse_all();
    let gate = match agent.gate(TurnId::default()) {
        Ok(gate) => gate,
        Err(reason) => {
            tracing::error!(reason, "a single call has no session to be on record in");
            return None;
        }
    };
    let call = call.inner().into_owned();
    let plan = CallPlan::parse(&call, &gate.registry, gate.place());
    let output = execute_with_permission(&gate, &call, plan, CallDependencies::none()).await;
    drop(gate);
    agent.session.close().await;
    drop(agent);
    if let Err(error) = listener.await {
        tracing::error!(%error, "listening to a single call ended abnormally");
    }
    Some(output)
}
