//! Starts reads while the response that holds them still streams.
//!
//! Only the first calls of a response start early, as long as each is one of a tool that only looks
//! ([`Tool::can_start_early`](crate::tools::Tool::can_start_early)): a call behind any other one could
//! depend on it. A call starts once its arguments are complete, if no hook is due before it and the
//! rules and the mode allow it without a question. This decides only that it starts: when the response
//! has ended well, each call takes all steps of `pipeline`, and only then does `early_calls` hand
//! over the result.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use crate::domain::{CallInput, PermissionOutcome, ToolCall};
use crate::hooks::{HookPayload, HookToolCall};
use crate::permissions::HookPermission;

use super::call_plan::CallPlan;
use super::early_calls::{EarlyCall, EarlyResult};
use super::response::ResponseAssembler;
use super::run::run_early;
use super::tool_gate::ToolGate;

/// The most calls of one response that start early. A response may name thousands.
const MAX_EARLY_CALLS: usize = 16;

/// The longest arguments of a call that starts early, in bytes. Nobody reads by longer ones, and they
/// are parsed more than once.
const MAX_ARGUMENT_BYTES: usize = 4096;

/// Starts the calls of a response whose arguments have become complete.
pub(super) fn start_complete_calls(gate: &Arc<ToolGate>, response: &ResponseAssembler) {
    while let Some(next) = gate.early.next() {
        let Some((id, name, json)) = response.calls().nth(next) else { return };
        let looks = gate.registry.get(name).is_ok_and(|tool| tool.can_start_early());
        if !looks || json.len() > MAX_ARGUMENT_BYTES || gate.early.count() >= MAX_EARLY_CALLS {
            return gate.early.close();
        }
        if !is_complete(json) {
            return;
        }
        let call =
            ToolCall { id: id.clone(), name: name.to_owned(), input: CallInput::parse(json) };
        let plan = CallPlan::parse(&call, &gate.registry, gate.place()).ok();
        let plan = plan.filter(|plan| !gate.early.has_same(&plan.call));
        gate.early.pass(plan.map(|plan| start(gate.clone(), plan)));
    }
}

/// Whether nothing but white space can follow: behind a whole object, anything else is no JSON.
fn is_complete(json: &str) -> bool {
    json.trim_end().ends_with('}') && serde_json::from_str::<Map<String, Value>>(json).is_ok()
}

fn start(gate: Arc<ToolGate>, plan: CallPlan) -> EarlyCall {
    let stop = gate.context.cancel.child_token();
    let (call, cancel) = (plan.call.clone(), stop.clone());
    // A tool that panics does so again when its call runs, and then gets a result.
    let running = async move {
        let run = AssertUnwindSafe(run_if_allowed(&gate, plan, cancel)).catch_unwind();
        run.await.ok().flatten()
    };
    let running = AbortOnDropHandle::new(tokio::spawn(running.in_current_span()));
    EarlyCall { call, running, _stop: stop.drop_guard() }
}

async fn run_if_allowed(
    gate: &ToolGate,
    plan: CallPlan,
    cancel: CancellationToken,
) -> Option<EarlyResult> {
    let CallPlan { call, input, accesses, .. } = &plan;
    let (tool, id) = (call.name.clone(), call.id.as_str().to_owned());
    let payload = HookPayload::PreToolUse(HookToolCall { tool, input: input.clone(), id });
    let is_forbidden = gate.fork.is_some_and(|fork| fork.refusal(&call.name, accesses).is_some());
    if is_forbidden || gate.hooks.is_due(&payload) || gate.repeats.repeat_count(call).is_some() {
        return None;
    }
    let query = plan.resolve(gate).await.ok()?;
    let (decision, changed) = gate.permissions.decide(&query, &HookPermission::Nothing);
    if decision.outcome() != PermissionOutcome::Allow {
        return None;
    }
    let ticket = decision.approve(call).ok()?;
    let (output, elapsed) = run_early(gate, &plan, (ticket, &query), cancel).await;
    Some(EarlyResult { output, elapsed, query, changed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_complete_once_nothing_can_follow() {
        for (json, complete) in [
            (r#"{"file_path": "a"}"#, true),
            ("{}\n", true),
            (r#"{"a": {"b": 1}}"#, true),
            (r#"{"a": {"b": 1}"#, false),
            (r#"{"file_path": "a}"#, false),
            (r#"{"file_path": "}"#, false),
            ("", false),
            ("null", false),
            (r#""{}""#, false),
            (r#"{"a": 1}{"#, false),
        ] {
            assert_eq!(is_complete(json), complete, "{json}");
        }
    }
}
