//! The only way to run a tool: every call of the model goes through [`execute_with_permission`].
//!
//! A call takes these steps: a plan of what it would touch (`call_plan`), the hooks before it
//! (`call_hooks`), rules, mode and the user (`authorise`), the last check, the intent in the log and
//! the run (`run`), the hooks after it, and the result in the log. Only arguments that the user or a
//! hook changes go back: they are planned, and decided about, like the first. A command that failed in
//! the sandbox may be authorised a second time, to run outside (`sandbox_escalation`).
//!
//! A command that the user types goes through [`execute_for_user`]: typing it is its approval.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use tracing::Instrument;

use crate::domain::{
    ContentBlock, ContentHash, Message, MessageRole, PermissionMode, ToolCall, ToolOutput,
    ToolStatus,
};
use crate::permissions::{self, RuleSet};
use crate::session::{LogEntry, MessageEntry, ModelFailure};
use crate::tools::ToolError;

use super::authorise::{CallAuthorisation, CallDependencies, GrantedCall, authorise};
use super::call_hooks;
use super::call_plan::{ArgumentsOrigin, CallPlan};
use super::debug_events;
use super::repeated_failures::{FailureKind, HINT_FROM, MAX_FAILURES};
use super::run::{CompletedCall, RunLocation, run};
use super::sandbox_escalation::{SandboxEscalationOutcome, authorise_outside};
use super::tool_gate::{Interactivity, ToolGate};
use super::tool_messages::{
    ArgumentsEditor, crashed, denied, failing_calls, invalid_calls, unknown_tools,
    with_other_input, with_partial_note,
};

/// Decides and runs one call. `plan` is made of it, or what the model is told where none can be. The
/// result is in the log when this returns.
pub(super) async fn execute_with_permission(
    gate: &ToolGate,
    call: &ToolCall,
    plan: Result<CallPlan, ToolError>,
    waits: CallDependencies,
) -> ToolOutput {
    let span = tracing::info_span!("call", call = %call.id, tool = call.name);
    let started = Instant::now();
    debug_events::write_call(&gate.debug, call);
    // Hooks, rules and the log know a tool by its own name, however the model spelled it.
    let planned = plan.as_ref().ok().map(|plan| plan.call.clone());
    let call = planned.as_ref().unwrap_or(call);
    // A tool that panics still gets a result, and the calls beside it go on.
    let attempt = AssertUnwindSafe(attempt(gate, call, plan, waits)).catch_unwind();
    let ended = attempt.instrument(span.clone()).await;
    let ended = ended.unwrap_or_else(|_| CompletedCall::new(crashed(), started.elapsed()));
    let output = ended.output.clone();
    record_result(gate, call, ended).instrument(span).await;
    output
}

async fn attempt(
    gate: &ToolGate,
    call: &ToolCall,
    plan: Result<CallPlan, ToolError>,
    waits: CallDependencies,
) -> CompletedCall {
    let stage = if plan.is_ok() { CallStage::Planned } else { CallStage::Invalid };
    let not_run = match authorise(gate, call, plan, waits).await {
        CallAuthorisation::Granted(granted) => match run_granted(gate, call, *granted).await {
            Ok(ended) => return ended,
            Err(output) => output,
        },
        CallAuthorisation::NotRun(output) => output,
        CallAuthorisation::Repeated(output) => return CompletedCall::new(output, Duration::ZERO),
    };
    gate.repeats.note_unrun(call, &not_run);
    CompletedCall::new(count_failure(gate, call, stage, not_run), Duration::ZERO)
}

/// Runs a call and says what the model is told of it. `Err` for a call that could not begin.
async fn run_granted(
    gate: &ToolGate,
    call: &ToolCall,
    GrantedCall { plan, ticket, provenance }: GrantedCall,
) -> Result<CompletedCall, ToolOutput> {
    let first = run(gate, &plan, ticket, RunLocation::Default).await?;
    let ended = match authorise_outside(gate, call, &plan, &first.output).await {
        SandboxEscalationOutcome::Stands => first,
        SandboxEscalationOutcome::Noted(note) => first.with_note(&note),
        SandboxEscalationOutcome::Outside { plan, ticket, note } => {
            match run(gate, &plan, *ticket, RunLocation::Outside).await {
                Ok(second) => second.with_note(&note),
                Err(output) => first.with_note(&output.observation),
            }
        }
    };
    gate.repeats.note(call, &plan.accesses, &ended.output);
    let stage = if plan.runs_command() { CallStage::RanCommand } else { CallStage::Ran };
    let output = count_failure(gate, call, stage, ended.output);
    let output = match &provenance.origin {
        ArgumentsOrigin::Model => output,
        ArgumentsOrigin::User => {
            with_other_input(output, ArgumentsEditor::User, &call.input, &plan.input)
        }
        ArgumentsOrigin::Hook(_) => {
            with_other_input(output, ArgumentsEditor::Hook, &call.input, &plan.input)
        }
        ArgumentsOrigin::Partial(part) => with_partial_note(output, part),
    };
    let output = call_hooks::after(gate, &plan, output, provenance.notes).await;
    Ok(CompletedCall { output, ..ended })
}

/// How far a call came.
#[derive(Clone, Copy)]
enum CallStage {
    /// It names no tool, or its arguments are not those of the tool.
    Invalid,
    Planned,
    Ran,
    RanCommand,
}

/// Counts the result among the failures of its tool. A tool that fails in the same way in too many
/// responses ends a turn without a user, and before that the model is told what a valid call is.
fn count_failure(
    gate: &ToolGate,
    call: &ToolCall,
    stage: CallStage,
    output: ToolOutput,
) -> ToolOutput {
    let (tool, failures) = (gate.tool_name(call), &gate.repeats.failures);
    let kind = match (output.status, stage) {
        (ToolStatus::Done, _) | (ToolStatus::Failed, CallStage::RanCommand) => {
            failures.forget(&tool);
            return output;
        }
        (ToolStatus::Denied | ToolStatus::Cancelled, _) => return output,
        (ToolStatus::Failed, CallStage::Invalid) => FailureKind::InvalidCall,
        (ToolStatus::Failed, CallStage::Planned | CallStage::Ran) => {
            FailureKind::Error(ContentHash::of(output.observation.as_bytes()))
        }
    };
    let times = failures.count(&tool, kind.clone());
    if times >= MAX_FAILURES && gate.interactivity == Interactivity::Headless {
        gate.repeats.give_up(ModelFailure::RepeatedFailures);
    }
    if times < HINT_FROM {
        return output;
    }
    let hint = match (kind, gate.registry.get(&tool)) {
        (FailureKind::Error(_), _) => failing_calls(times, &tool),
        (FailureKind::InvalidCall, Ok(tool)) => invalid_calls(times, &tool.spec()),
        (FailureKind::InvalidCall, Err(_)) => unknown_tools(times),
    };
    let observation = format!("{}\n[{hint}]", output.observation);
    ToolOutput { observation, ..output }
}

/// Logs a result for a call that ended without one.
pub(super) async fn give_up(gate: &ToolGate, call: &ToolCall) {
    record_result(gate, call, CompletedCall::new(crashed(), Duration::ZERO)).await;
}

/// Logs a failure for a call without running it. It is no refusal: nothing but the response itself
/// keeps the call from running.
pub(super) async fn refuse(gate: &ToolGate, call: &ToolCall, reason: &str) {
    answer_unrun(gate, call, ToolOutput::failed(reason)).await;
}

/// Logs a result for a call without running it.
pub(super) async fn answer_unrun(gate: &ToolGate, call: &ToolCall, output: ToolOutput) {
    debug_events::write_call(&gate.debug, call);
    record_result(gate, call, CompletedCall::new(output, Duration::ZERO)).await;
}

/// Runs a command that the user typed. Typing it is its approval, whatever the rules say about the
/// model; the steps after the approval are the same.
pub(super) async fn execute_for_user(gate: &ToolGate, call: &ToolCall) -> CompletedCall {
    let started = Instant::now();
    debug_events::write_call(&gate.debug, call);
    let attempt = AssertUnwindSafe(attempt_for_user(gate, call)).catch_unwind().await;
    let ended = match attempt {
        Ok(Ok(ended)) => ended,
        Ok(Err(output)) => CompletedCall::new(output, started.elapsed()),
        Err(_) => CompletedCall::new(crashed(), started.elapsed()),
    };
    debug_events::write_result(&gate.debug, call, &ended.output);
    ended
}

async fn attempt_for_user(gate: &ToolGate, call: &ToolCall) -> Result<CompletedCall, ToolOutput> {
    let plan = CallPlan::parse(call, &gate.registry, gate.place())?;
    let query = plan.resolve(gate).await?;
    let decision =
        permissions::decide(&query, &RuleSet::new(), PermissionMode::Ask, &gate.workspace);
    match decision.approve_typed_command(call) {
        Ok(ticket) => run(gate, &plan, ticket, RunLocation::Outside).await,
        Err(decision) => Err(denied(decision.reason())),
    }
}

/// Runs a command that a text of the user's brings along. It is decided about like a call of the model,
/// since the text may be a project's, but it is no part of the conversation: its result is in no log.
pub(super) async fn execute_beside(gate: &ToolGate, call: &ToolCall) -> CompletedCall {
    let started = Instant::now();
    debug_events::write_call(&gate.debug, call);
    let plan = CallPlan::parse(call, &gate.registry, gate.place());
    let attempt = attempt(gate, call, plan, CallDependencies::none());
    let ended = AssertUnwindSafe(attempt).catch_unwind().await;
    let ended = ended.unwrap_or_else(|_| CompletedCall::new(crashed(), started.elapsed()));
    debug_events::write_result(&gate.debug, call, &ended.output);
    ended
}

/// Writes the result to the log and tells the front end.
async fn record_result(gate: &ToolGate, call: &ToolCall, ended: CompletedCall) {
    debug_events::write_result(&gate.debug, call, &ended.output);
    let info = ended.info(&call.name);
    let output = ended.output;
    let block = ContentBlock::ToolResult {
        tool_use_id: call.id.clone(),
        content: output.observation,
        is_error: output.status.is_error(),
    };
    let behind = output.image.map(ContentBlock::Image).into_iter().chain(output.note);
    let content = std::iter::once(block).chain(behind).collect();
    let entry = MessageEntry {
        result: Some(info),
        read: output.read,
        ..MessageEntry::new(Message { role: MessageRole::User, content })
    };
    gate.journal.write_end(gate.turn, LogEntry::Message(entry)).await;
}
