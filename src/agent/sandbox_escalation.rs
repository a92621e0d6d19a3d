//! Offers to run a command again outside of the sandbox after the sandbox made it fail. The user is
//! asked with the exact command; in a headless run the failure stands.
//!
//! The model cannot ask for this: no argument of a call leads here. Deny rules hold for the second
//! run as for the first, and only the command that was shown can run.

use serde_json::Value;
use tokio::sync::oneshot;

use crate::domain::{
    ApprovalAnswer, ApprovalId, ApprovalKind, PermissionOutcome, ToolCall, ToolOutput, ToolStatus,
};
use crate::permissions::{HookPermission, ToolCallTicket};
use crate::platform::sandbox::denial_line;

use super::authorise::NO;
use super::call_hooks;
use super::call_plan::CallPlan;
use super::event::AgentEvent;
use super::tool_gate::{Interactivity, ToolGate};

/// The name of the approval in the log.
const ANSWER: &str = "outside the sandbox";

/// What follows for a call that has run in the sandbox.
pub(super) enum SandboxEscalationOutcome {
    /// Its result stands: there is no sandbox, or it is not the reason for a failure.
    Stands,
    /// Its result stands, and this is added to it for the model.
    Noted(String),
    /// The call runs again outside, with this plan and ticket.
    Outside {
        plan: Box<CallPlan>,
        ticket: Box<ToolCallTicket>,
        /// What the model is told with the second result.
        note: String,
    },
}

/// Authorises a call a second time, to run outside of the sandbox, if it failed and its output shows
/// that the sandbox may be the reason.
pub(super) async fn authorise_outside(
    gate: &ToolGate,
    call: &ToolCall,
    plan: &CallPlan,
    output: &ToolOutput,
) -> SandboxEscalationOutcome {
    let Some(escalation) = &gate.escalation else { return SandboxEscalationOutcome::Stands };
    if !plan.runs_command() || output.status != ToolStatus::Failed {
        return SandboxEscalationOutcome::Stands;
    }
    let Some(denial) = denial_line(&output.observation, &escalation.boundary) else {
        return SandboxEscalationOutcome::Stands;
    };
    let boundary = escalation.boundary.meaning();
    let dir = escalation.boundary.dir.display();
    let why = format!("It ran in a sandbox ({boundary}): only files in {dir} can be changed");
    if gate.interactivity == Interactivity::Headless {
        let note = format!("{why}. No user is there to let it run outside of the sandbox.");
        return SandboxEscalationOutcome::Noted(note);
    }
    match ask(gate, call, &plan.input, &boundary, &denial).await {
        Some(EscalationReply::Yes(input)) => match outside_ticket(gate, call, plan, input).await {
            Ok((plan, ticket)) => {
                gate.record_decision(call, PermissionOutcome::Allow, ANSWER, None).await;
                let note = format!(
                    "In the sandbox it failed ({denial}); the user let it run again outside"
                );
                SandboxEscalationOutcome::Outside {
                    plan: Box::new(plan),
                    ticket: Box::new(ticket),
                    note,
                }
            }
            Err(reason) => {
                SandboxEscalationOutcome::Noted(format!("{why}. Outside it is refused: {reason}"))
            }
        },
        Some(EscalationReply::No(instruction)) => {
            gate.record_decision(call, PermissionOutcome::Deny, ANSWER, None).await;
            let wish = instruction.map(|it| format!(" They say instead: {it}"));
            let wish = wish.unwrap_or_default();
            SandboxEscalationOutcome::Noted(format!(
                "{why}. The user does not want it run outside.{wish}"
            ))
        }
        // The turn was stopped, so the result of the first run stands.
        None => SandboxEscalationOutcome::Stands,
    }
}

/// The plan and the ticket for a run that the user has approved. Decides again, because rules may
/// have been added meanwhile.
async fn outside_ticket(
    gate: &ToolGate,
    call: &ToolCall,
    plan: &CallPlan,
    input: Value,
) -> Result<(CallPlan, ToolCallTicket), String> {
    if input != plan.input {
        let checked = call_hooks::check_user_edit(gate, call, &input).await;
        checked.map_err(|output| output.observation)?;
    }
    let plan = plan.clone().with_input(input, gate.place()).map_err(|it| it.to_string())?;
    let query = plan.resolve(gate).await.map_err(|output| output.observation)?;
    let (decision, _) = gate.permissions.decide(&query, &HookPermission::Nothing);
    let ticket = decision
        .approve_by_user(&plan.call, ANSWER)
        .map_err(|decision| decision.reason().to_owned())?;
    Ok((plan, ticket))
}

/// The user's answer. `Yes` holds the arguments, which the user may have edited.
enum EscalationReply {
    Yes(Value),
    No(Option<String>),
}

async fn ask(
    gate: &ToolGate,
    call: &ToolCall,
    input: &Value,
    boundary: &str,
    denial: &str,
) -> Option<EscalationReply> {
    let (id, answer) = gate.approvals.open();
    let reason = format!(
        "It failed in the sandbox ({boundary}): {denial}. Outside the sandbox it can change what you \
         can change, and reach what you can reach."
    );
    gate.ask_user(gate.question(id, call, input, (ApprovalKind::SandboxInForce, reason)));
    match wait_for_answer(gate, id, answer).await? {
        ApprovalAnswer::Once
        | ApprovalAnswer::OnTerminal
        | ApprovalAnswer::Part { .. }
        | ApprovalAnswer::Session { .. }
        | ApprovalAnswer::Always { .. } => Some(EscalationReply::Yes(input.clone())),
        ApprovalAnswer::Edited { input } => Some(EscalationReply::Yes(input)),
        ApprovalAnswer::Deny { instruction } => Some(EscalationReply::No(instruction)),
        ApprovalAnswer::Never { .. } => Some(EscalationReply::No(None)),
    }
}

async fn wait_for_answer(
    gate: &ToolGate,
    id: ApprovalId,
    answer: oneshot::Receiver<ApprovalAnswer>,
) -> Option<ApprovalAnswer> {
    tokio::select! {
        biased;
        () = gate.context.cancel.cancelled() => {
            gate.events.send(AgentEvent::ApprovalWithdrawn(id));
            None
        }
        answer = answer => Some(answer.unwrap_or(NO)),
    }
}
