//! Asks the user whether the model may repeat a call, or go on with a tool that keeps failing.

use serde_json::Value;

use crate::agent::approvals::ApprovalWait;
use crate::agent::call_plan::CallPlan;
use crate::agent::tool_gate::{Interactivity, ToolGate};
use crate::agent::tool_messages::{denied_by_user, stopped};
use crate::domain::{
    ApprovalAnswer, ApprovalKind, CallInput, PermissionOutcome, ToolCall, ToolOutput,
};
use crate::permissions::HookPermission;
use crate::tools::ToolError;

use super::NO;

/// Whether a call cannot run, whatever the user would say: there is no such call, or a rule or the
/// mode denies it.
pub(super) async fn cannot_run(gate: &ToolGate, plan: &Result<CallPlan, ToolError>) -> bool {
    let Ok(plan) = plan else { return true };
    let Ok(query) = plan.resolve(gate).await else { return true };
    let (decision, _) = gate.permissions.decide(&query, &HookPermission::Nothing);
    decision.outcome() == PermissionOutcome::Deny
}

/// Why the user is asked whether the model may go on with its calls.
pub(super) fn repetition(gate: &ToolGate, call: &ToolCall, repeats: Option<u32>) -> Option<String> {
    if let Some(times) = repeats {
        return Some(format!(
            "This exact call has had the same result {times} times in a row, and no other call has \
             changed anything since."
        ));
    }
    let times = gate.repeats.failures.too_many(&gate.tool_name(call))?;
    let what = &call.name;
    (gate.interactivity == Interactivity::Interactive).then(|| {
        format!("{what} has failed in the same way {times} times in a row, with other arguments each time.")
    })
}

/// Asks whether a repeated call may run again. A no ends the turn, unless it comes with an
/// instruction for the model. Returns the call as the user edited it, if they did.
pub(super) async fn ask_to_go_on(
    gate: &ToolGate,
    call: &ToolCall,
    reason: String,
    question: &ApprovalWait,
) -> Result<Option<ToolCall>, ToolOutput> {
    let input = match &call.input {
        CallInput::Valid(input) => input.clone(),
        CallInput::Invalid(raw) => Value::String(raw.clone()),
    };
    question.turn().await;
    let (id, answer) = gate.approvals.open();
    question.begin(id);
    gate.ask_user(gate.question(id, call, &input, (ApprovalKind::RepeatedCall, reason)));
    question.let_others_ask();
    let answer = answer.await.unwrap_or(NO);
    question.end();
    match answer {
        ApprovalAnswer::Once
        | ApprovalAnswer::OnTerminal
        | ApprovalAnswer::Part { .. }
        | ApprovalAnswer::Session { .. }
        | ApprovalAnswer::Always { .. } => {
            gate.repeats.go_on(call);
            gate.repeats.failures.forget(&gate.tool_name(call));
            Ok(None)
        }
        ApprovalAnswer::Edited { input } => {
            Ok(Some(ToolCall { input: CallInput::Valid(input), ..call.clone() }))
        }
        ApprovalAnswer::Deny { instruction: Some(instruction) } => {
            gate.repeats.failures.forget(&gate.tool_name(call));
            Err(denied_by_user(Some(instruction)))
        }
        ApprovalAnswer::Deny { instruction: None } | ApprovalAnswer::Never { .. } => {
            gate.context.cancel.cancel();
            Err(stopped())
        }
    }
}
