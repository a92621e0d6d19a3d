//! Runs the calls of one response: reads side by side, everything else one after another in order.
//!
//! A call that is the same as one before it runs only if something in between may have changed what it
//! comes to: models that fall into a loop make one call dozens of times in one response.
//!
//! A call that changes something runs after every call before it; a read waits only for earlier
//! calls that may change what it reads (a command may change anything), so that an open question to
//! the user delays no more calls than necessary. A call whose effects are unknown runs alone.
//!
//! Questions are asked at once and in the order of the calls, and queue up on the user's side. A
//! question waits only when what it shows depends on an earlier call: one that changes the same
//! file, or the read that an edit requires before there is a diff to show.

use std::sync::Arc;

use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use crate::domain::{ToolCall, ToolOutput};

use super::approvals::ApprovalOrder;
use super::authorise::CallDependencies;
use super::call_plan::{CallFootprint, CallPlan};
use super::pipeline::{answer_unrun, execute_with_permission};
use super::repeats::repeated_within;
use super::tool_gate::ToolGate;
use super::tool_messages::SAME_CALL;

/// Runs `calls` to their results. All results are in the log when this returns.
pub(super) async fn run(gate: Arc<ToolGate>, calls: Vec<ToolCall>) {
    gate.repeats.failures.begin_response();
    let plans: Vec<_> =
        calls.iter().map(|call| CallPlan::parse(call, &gate.registry, gate.place())).collect();
    // A call without a plan fails without touching anything.
    let footprints: Vec<CallFootprint> = plans
        .iter()
        .map(|plan| plan.as_ref().map_or(CallFootprint::Reads(Vec::new()), CallPlan::footprint))
        .collect();
    let repeated = repeated_within(&calls, &footprints);
    let done: Vec<CancellationToken> = calls.iter().map(|_| CancellationToken::new()).collect();
    let asked: Vec<CancellationToken> = calls.iter().map(|_| CancellationToken::new()).collect();
    // A file that several calls change is formatted with the last.
    let changed_by = footprints.iter().zip(&repeated).map(|(footprint, is_repeated)| {
        if *is_repeated { &[] } else { footprint.paths_to_change() }
    });
    let announced: Vec<_> = changed_by.map(|paths| gate.context.reads.announce(paths)).collect();
    let calls_with_plans = calls.iter().zip(plans).zip(announced).enumerate();
    let running = calls_with_plans.map(|(at, ((call, plan), announced))| {
        let earlier_that = |matters: fn(&CallFootprint, &CallFootprint) -> bool| {
            let earlier = footprints[..at].iter().zip(&done);
            earlier
                .filter(|(earlier, _)| matters(&footprints[at], earlier))
                .map(|(_, done)| done.clone())
                .collect()
        };
        let waits = CallDependencies {
            before_deciding: earlier_that(CallFootprint::is_asked_after),
            before_running: earlier_that(CallFootprint::waits_for),
            asking: ApprovalOrder { earlier: asked[..at].to_vec(), asked: asked[at].clone() },
        };
        let (gate, done, asked) = (&gate, &done[at], &asked[at]);
        let is_repeated = repeated[at];
        async move {
            let _done = done.clone().drop_guard();
            let _asked = asked.clone().drop_guard();
            let _announced = announced;
            if is_repeated {
                return answer_unrun(gate, call, ToolOutput::text(SAME_CALL)).await;
            }
            execute_with_permission(gate, call, plan, waits).await;
        }
    });
    join_all(running).await;
    gate.early.clear();
}
