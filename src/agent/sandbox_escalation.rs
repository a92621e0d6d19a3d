//! A command that failed for the sandbox can be run again outside of it: where a person is there,
//! they are asked, with the exact command; else it stays as it is.
//!
//! The model has no say in it: there is nothing that it could set or ask for. Deny rules hold for
//! the second run as for the first, and what runs is bound to what was shown.

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

/// The answer's name on record.
const ANSWER: &str = "outside the sandbox";

/// The sandbox that is in force, and the way around it for what a person says yes to.
#[derive(Clone)]
pub struct SandboxEscalation {
    /// What the sandbox is.
    pub boundary: SandboxSummary,
    /// Runs commands outside of it.
    pub processes: Arc<dyn Processes>,
    /// Where commands inside learn which files the deny rules keep from them.
    pub read_rules: Arc<ReadRules>,
}

impl fmt::Debug for SandboxEscalation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outside").field("boundary", &self.boundary).finish_non_exhaustive()
    }
}

/// Offers to run a call again outside, where it failed and the sandbox may be why.
pub(super) async fn offer(
    gate: &ToolGate,
    call: &ToolCall,
    approved: &ToolCallTicket,
    tool: &dyn Tool,
    ended: CompletedCall,
) -> CompletedCall {
    let Some(outside) = &gate.escalation else { return ended };
    let accesses = tool.access(approved.input(), gate.place()).unwrap_or_default();
    let runs = accesses.iter().any(|access| matches!(access, ToolAccess::Run { .. }));
    if !runs || ended.output.status != ToolStatus::Failed {
        return ended;
    }
    let Some(mark) = denial_line(&ended.output.observation, &outside.boundary) else {
        return ended;
    };
    let boundary = outside.boundary.meaning();
    let dir = outside.boundary.dir.display();
    let why = format!("It ran in a sandbox ({boundary}): only files in {dir} can be changed");
    if gate.interactivity == Interactivity::Headless {
        return noted(ended, &format!("{why}. Nobody is there to let it run outside."));
    }
    match ask(gate, call, approved.input(), &boundary, &mark).await {
        Some(EscalationReply::Yes(input)) => {
            let asked = ToolCall { input: CallInput::Valid(input.clone()), ..call.clone() };
            let passed = match input == *approved.input() {
                true => Ok(()),
                false => hooks::check_user_edit(gate, call, &input).await,
            };
            let ticket = match passed {
                Ok(()) => outside_ticket(gate, tool, &asked, &input).await,
                Err(output) => Err(output.observation),
            };
            match ticket {
                Ok(approved) => {
                    record(gate, call, PermissionOutcome::Allow, ANSWER, None).await;
                    let again = run(gate, &asked, &approved, tool, RunLocation::Outside).await;
                    let again = match again {
                        Ok(again) => again,
                        Err(output) => return noted(ended, &output.observation),
                    };
                    let note = format!(
                        "In the sandbox it failed ({mark}); the user let it run again outside"
                    );
                    noted(again, &note)
                }
                Err(reason) => noted(ended, &format!("{why}. Outside it is refused: {reason}")),
            }
        }
        Some(EscalationReply::No(instruction)) => {
            record(gate, call, PermissionOutcome::Deny, ANSWER, None).await;
            let instead = instruction.map(|it| format!(" They say instead: {it}"));
            let instead = instead.unwrap_or_default();
            noted(ended, &format!("{why}. The user does not want it run outside.{instead}"))
        }
        // The turn was stopped; what came of the first run stands.
        None => ended,
    }
}

/// What the person said.
enum EscalationReply {
    Yes(Value),
    No(Option<String>),
}

async fn ask(
    gate: &ToolGate,
    call: &ToolCall,
    input: &Value,
    boundary: &str,
    mark: &str,
) -> Option<EscalationReply> {
    let (id, answer) = gate.approvals.open();
    let reason = format!(
        "It failed in the sandbox ({boundary}): {mark}. Outside the sandbox it can change what you \
         can change, and reach what you can reach."
    );
    gate.ask_user(gate.question(id, call, input, (ApprovalKind::SandboxEscalation, reason))).await;
    match answered(gate, id, answer).await? {
        ApprovalAnswer::Once
        | ApprovalAnswer::Part { .. }
        | ApprovalAnswer::Session { .. }
        | ApprovalAnswer::Always { .. } => Some(EscalationReply::Yes(input.clone())),
        ApprovalAnswer::Edited { input } => Some(EscalationReply::Yes(input)),
        ApprovalAnswer::Deny { instruction } => Some(EscalationReply::No(instruction)),
        ApprovalAnswer::Never { .. } => Some(EscalationReply::No(None)),
    }
}

async fn answered(
    gate: &ToolGate,
    id: ApprovalId,
    answer: oneshot::Receiver<ApprovalAnswer>,
) -> Option<ApprovalAnswer> {
    tokio::select! {
        biased;
        () = gate.context.cancel.cancelled() => {
            gate.events.tell(AgentEvent::ApprovalWithdrawn(id)).await;
            None
        }
        answer = answer => Some(answer.unwrap_or(NO)),
    }
}

/// The ticket for a run that the person said yes to. Rules may have been added meanwhile.
async fn outside_ticket(
    gate: &ToolGate,
    tool: &dyn Tool,
    asked: &ToolCall,
    input: &Value,
) -> Result<ToolCallTicket, String> {
    let query = resolve(gate, tool, asked, input).await.map_err(|output| output.observation)?;
    let (decision, _) = gate.permissions.decide(&query, &HookPermission::Nothing);
    decision.approve_by_user(asked, ANSWER).map_err(|decision| decision.reason().to_owned())
}

fn noted(ended: CompletedCall, note: &str) -> CompletedCall {
    let observation = format!("{}\n[{note}]", ended.output.observation);
    CompletedCall { output: ToolOutput { observation, ..ended.output }, ..ended }
}
