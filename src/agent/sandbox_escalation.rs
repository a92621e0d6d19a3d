//! Offers to run a command again outside of the sandbox after the sandbox made it fail. The user is
//! asked with the exact command; in a headless run the failure stands.
//!
//! The model cannot ask for this: no argument of a call leads here. Deny rules hold for the second
//! run as for the first, and only the command that was shown can run.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;

use crate::domain::{
    ApprovalAnswer, ApprovalId, ApprovalKind, CallInput, PermissionOutcome, SandboxSummary,
    ToolAccess, ToolCall, ToolOutput, ToolStatus,
};
use crate::permissions::sandbox::ReadRules;
use crate::permissions::{HookPermission, ToolCallTicket};
use crate::platform::sandbox::denial_line;
use crate::tools::{Processes, Tool};

use super::AgentEvent;
use super::decide::{NO, record, resolve};
use super::gate::{CompletedCall, Interactivity, RunLocation, ToolGate, run};
use super::hooks;

/// The name of the approval in the log.
const ANSWER: &str = "outside the sandbox";

/// The sandbox that is in force, and how to run commands outside of it once the user has approved.
#[derive(Clone)]
pub struct SandboxEscalation {
    /// The backend, folder and network of the sandbox.
    pub boundary: SandboxSummary,
    /// Runs commands outside of the sandbox.
    pub processes: Arc<dyn Processes>,
    /// The rules that the sandbox uses to hide files from the commands inside.
    pub read_rules: Arc<ReadRules>,
}

impl fmt::Debug for SandboxEscalation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outside").field("boundary", &self.boundary).finish_non_exhaustive()
    }
}

/// Offers to run a call again outside of the sandbox, if it failed and its output shows that the
/// sandbox may be the reason. Returns the result of the run that counts.
pub(super) async fn offer(
    gate: &ToolGate,
    call: &ToolCall,
    approved: &ToolCallTicket,
    tool: &dyn Tool,
    ended: CompletedCall,
) -> CompletedCall {
    let Some(escalation) = &gate.escalation else { return ended };
    let accesses = tool.access(approved.input(), gate.place()).unwrap_or_default();
    let runs = accesses.iter().any(|access| matches!(access, ToolAccess::Run { .. }));
    if !runs || ended.output.status != ToolStatus::Failed {
        return ended;
    }
    let Some(denial) = denial_line(&ended.output.observation, &escalation.boundary) else {
        return ended;
    };
    let boundary = escalation.boundary.meaning();
    let dir = escalation.boundary.dir.display();
    let why = format!("It ran in a sandbox ({boundary}): only files in {dir} can be changed");
    if gate.interactivity == Interactivity::Headless {
        return with_note(ended, &format!("{why}. Nobody is there to let it run outside."));
    }
    match ask(gate, call, approved.input(), &boundary, &denial).await {
        Some(EscalationReply::Yes(input)) => {
            let current_call = ToolCall { input: CallInput::Valid(input.clone()), ..call.clone() };
            let accepted = match input == *approved.input() {
                true => Ok(()),
                false => hooks::check_user_edit(gate, call, &input).await,
            };
            let ticket = match accepted {
                Ok(()) => outside_ticket(gate, tool, &current_call, &input).await,
                Err(output) => Err(output.observation),
            };
            match ticket {
                Ok(approved) => {
                    record(gate, call, PermissionOutcome::Allow, ANSWER, None).await;
                    let again =
                        run(gate, &current_call, &approved, tool, RunLocation::Outside).await;
                    let again = match again {
                        Ok(again) => again,
                        Err(output) => return with_note(ended, &output.observation),
                    };
                    let note = format!(
                        "In the sandbox it failed ({denial}); the user let it run again outside"
                    );
                    with_note(again, &note)
                }
                Err(reason) => with_note(ended, &format!("{why}. Outside it is refused: {reason}")),
            }
        }
        Some(EscalationReply::No(instruction)) => {
            record(gate, call, PermissionOutcome::Deny, ANSWER, None).await;
            let wish = instruction.map(|it| format!(" They say instead: {it}"));
            let wish = wish.unwrap_or_default();
            with_note(ended, &format!("{why}. The user does not want it run outside.{wish}"))
        }
        // The turn was stopped, so the result of the first run stands.
        None => ended,
    }
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
    gate.ask_user(gate.question(id, call, input, (ApprovalKind::SandboxEscalation, reason)));
    match wait_for_answer(gate, id, answer).await? {
        ApprovalAnswer::Once
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

/// The ticket for a run that the user has approved. Decides again, because rules may have been
/// added meanwhile.
async fn outside_ticket(
    gate: &ToolGate,
    tool: &dyn Tool,
    current_call: &ToolCall,
    input: &Value,
) -> Result<ToolCallTicket, String> {
    let query =
        resolve(gate, tool, current_call, input).await.map_err(|output| output.observation)?;
    let (decision, _) = gate.permissions.decide(&query, &HookPermission::Nothing);
    decision.approve_by_user(current_call, ANSWER).map_err(|decision| decision.reason().to_owned())
}

fn with_note(ended: CompletedCall, note: &str) -> CompletedCall {
    let observation = format!("{}\n[{note}]", ended.output.observation);
    CompletedCall { output: ToolOutput { observation, ..ended.output }, ..ended }
}
