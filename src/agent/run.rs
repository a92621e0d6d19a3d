//! The only place that runs a tool, and it needs a ticket: the last look at what the call touches,
//! the intent in the log, the tool itself with the files that it named, and what it changed. What the
//! user's own message has read needs none ([`run_unasked`]). A read that was started while its response
//! streamed ([`run_early`]) takes the same steps, and gets its result from `early_calls`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::domain::{ContentHash, JobState, PermissionOutcome, ToolOutput};
use crate::permissions::{HookPermission, PermissionQuery, ResolvedAccess, ToolCallTicket};
use crate::session::{LogEntry, ToolResultInfo};
use crate::tools::{AskUser, NobodyToAsk, Processes, ReadLedger, Tool, ToolContext, ToolError};

use super::call_mode::CallMode;
use super::call_plan::CallPlan;
use super::call_questions::CallQuestions;
use super::change_tracker;
use super::edit_diagnostics::{ChangeCollector, with_new_findings};
use super::event::AgentEvent;
use super::jobs::CallJobs;
use super::path_order::PathOrderGuard;
use super::permission_state::PermissionState;
use super::redacting_processes::{RedactingProcesses, without_keys};
use super::tool_events::ToolEventQueue;
use super::tool_gate::{Interactivity, ToolGate};
use super::tool_messages::{stopped, stopped_after};

/// How long a cancelled tool may take to end by itself, before the gate answers for it.
pub const CANCELLED_TOOL_GRACE: Duration = Duration::from_millis(75);

/// A call with its result.
pub(super) struct CompletedCall {
    pub(super) output: ToolOutput,
    /// The hash of its whole output in the blob store, when the model gets only a part of it.
    pub(super) kept: Option<ContentHash>,
    /// How long it ran, without the wait for an answer; nothing for a call that did not run.
    pub(super) elapsed: Duration,
}

impl CompletedCall {
    pub(super) fn new(output: ToolOutput, elapsed: Duration) -> Self {
        Self { output, kept: None, elapsed }
    }

    /// The same result with a line more for the model.
    pub(super) fn with_note(self, note: &str) -> Self {
        let observation = format!("{}\n[{note}]", self.output.observation);
        Self { output: ToolOutput { observation, ..self.output }, ..self }
    }

    /// The result as it is logged.
    pub(super) fn info(&self, tool: &str) -> ToolResultInfo {
        ToolResultInfo {
            name: tool.to_owned(),
            status: self.output.status,
            summary: self.output.summary.clone(),
            display: self.output.display.clone(),
            elapsed_ms: u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX),
            kept: self.kept.clone(),
            job: self.output.job.map(JobState::id),
            agent: self.output.agent.clone(),
        }
    }
}

/// Where a call runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunLocation {
    /// Inside the sandbox; without a sandbox, on the host.
    Default,
    /// Outside the sandbox, because the user said so.
    Outside,
}

/// Runs a call. `Err` is what the model is told about a call that could not begin.
pub(super) async fn run(
    gate: &ToolGate,
    plan: &CallPlan,
    ticket: ToolCallTicket,
    place: RunLocation,
) -> Result<CompletedCall, ToolOutput> {
    let call = &plan.call;
    let _order = in_order(gate, plan).await?;
    let query = check_and_record_intent(gate, plan, &ticket).await?;
    let tracker = change_tracker::begin_tracking(gate, &query).await;
    let started = Instant::now();
    if gate.context.cancel.is_cancelled() {
        return Err(stopped());
    }
    gate.events.send(AgentEvent::ToolStarted { turn: gate.turn, call: call.clone() });

    keep_scratch_private(gate);
    let tool_events = Arc::new(ToolEventQueue::new(gate.blobs.clone()));
    let recorder = gate.recorder();
    let processes = match (place, &gate.escalation) {
        (RunLocation::Outside, Some(escalation)) => escalation.processes.clone(),
        (RunLocation::Outside, None) | (RunLocation::Default, _) => gate.context.processes.clone(),
    };
    let (effects, changes) = ChangeCollector::new(tool_events.sender(), gate.context.code.clone());
    let effects = Arc::new(effects);
    let processes: Arc<dyn Processes> = Arc::new(RedactingProcesses {
        processes,
        redactor: gate.redactor.clone(),
        search_path: ticket.search_path().map(ToOwned::to_owned),
        scratch: gate.scratch.as_deref().map(|scratch| scratch.path().to_owned()),
        cwd: working_folder(&query),
    });
    let may_outlive = may_outlive(gate, plan, &ticket).await;
    let jobs =
        Arc::new(CallJobs { processes: processes.clone(), may_outlive, ..gate.jobs.clone() });
    let user: Arc<dyn AskUser> = match gate.interactivity {
        Interactivity::Interactive => Arc::new(CallQuestions::of(gate, plan)),
        Interactivity::Headless => Arc::new(NobodyToAsk),
    };
    let mode = Arc::new(CallMode::of(gate));
    let agents = gate.children.for_call(&call.id);
    let context =
        ToolContext { effects, processes, jobs, user, agents, mode, ..gate.context_for(&query) };
    let cancelled = gate.context.cancel.clone();
    let out_of_time = async {
        cancelled.cancelled().await;
        tokio::time::sleep(CANCELLED_TOOL_GRACE).await;
    };
    tokio::pin!(out_of_time);
    let early = gate.early.take(call);
    let running = async {
        let early = match early {
            Some(early) => early.result(&query, &gate.context.reads).await,
            None => None,
        };
        match early {
            Some((output, elapsed)) => (output, Some(elapsed)),
            None => {
                let tool = &plan.tool;
                (tool.run(&context, ticket.into_input()).await, None)
            }
        }
    };
    tokio::pin!(running);
    let (output, early) = loop {
        tokio::select! {
            ended = &mut running => break ended,
            () = tool_events.wait() => recorder.record_events(&call.id, &tool_events).await,
            () = &mut out_of_time => {
                let late = recorder.clone().record_late_events(call.id.clone(), tool_events.clone());
                drop(gate.journal.look_after(late));
                break (Ok(stopped_after(&tool_events.recent_output())), None);
            }
        }
    };
    let elapsed = early.unwrap_or_else(|| started.elapsed());
    keep_scratch_private(gate);
    recorder.record_events(&call.id, &tool_events).await;
    if let Some(tracker) = tracker {
        // A stop does not wait for this scan.
        let scan = gate.journal.look_after(tracker.record_changes(call.id.clone(), recorder));
        if let Some(Err(error)) = gate.context.cancel.run_until_cancelled(scan).await {
            tracing::error!(%error, "looking for what a command changed ended abnormally");
        }
    }
    let output = output.unwrap_or_else(|error| ToolOutput::failed(error.to_string()));
    let output = with_new_findings(gate, &changes, output).await;
    let output = without_keys(&gate.redactor, output);
    Ok(CompletedCall { output, kept: tool_events.kept(), elapsed })
}

/// Runs a call while its response still streams, and tells nobody. It gets a ledger of its own, so that
/// what it reads is not taken for something that the model has seen.
pub(super) async fn run_early(
    gate: &ToolGate,
    plan: &CallPlan,
    (ticket, query): (ToolCallTicket, &PermissionQuery),
    cancel: CancellationToken,
) -> (Result<ToolOutput, ToolError>, Duration) {
    let started = Instant::now();
    let reads = Arc::new(ReadLedger::default());
    let context = ToolContext { reads, cancel, ..gate.context_for(query) };
    let tool = &plan.tool;
    let output = tool.run(&context, ticket.into_input()).await;
    (output, started.elapsed())
}

/// Around each call: a command in the scratch folder is not asked about, and may have opened it to others.
fn keep_scratch_private(gate: &ToolGate) {
    if let Some(scratch) = &gate.scratch {
        scratch.keep_private();
    }
}

/// Whether the call's command may go on without its call, though nobody asks for it: where the user
/// allowed it, or it would be allowed without a question in the background, too.
async fn may_outlive(gate: &ToolGate, plan: &CallPlan, ticket: &ToolCallTicket) -> bool {
    if !plan.runs_command() || ticket.is_by_user() {
        return true;
    }
    let Ok(query) = plan.in_background().resolve(gate).await else { return false };
    let (decision, _) = gate.permissions.decide(&query, &HookPermission::Nothing);
    decision.outcome() == PermissionOutcome::Allow
}

/// The folder in which a command was judged: the real one. By another name of it, `cd ..` would lead
/// elsewhere.
fn working_folder(query: &PermissionQuery) -> Option<PathBuf> {
    query.accesses.iter().find_map(|access| match access {
        ResolvedAccess::Run(run) => Some(run.cwd.real.clone()),
        ResolvedAccess::Read(_)
        | ResolvedAccess::Write(_)
        | ResolvedAccess::External { .. }
        | ResolvedAccess::Fetch { .. }
        | ResolvedAccess::Search { .. }
        | ResolvedAccess::Type(..)
        | ResolvedAccess::AskUser
        | ResolvedAccess::Nothing => None,
    })
}

/// Why a call for the user's message did not lead to a result.
pub(super) enum UnaskedCallError {
    /// By a rule or the mode, for this reason.
    Denied(String),
    Failed(ToolError),
}

/// Runs a call that is the user's own wish, as a mention is, and so is not asked about. What is denied is
/// not run.
pub(super) async fn run_unasked(
    permissions: &PermissionState,
    query: &PermissionQuery,
    tool: &dyn Tool,
    (context, input): (&ToolContext, Value),
) -> Result<ToolOutput, UnaskedCallError> {
    let (decision, _) = permissions.decide(query, &HookPermission::Nothing);
    if decision.outcome() == PermissionOutcome::Deny {
        return Err(UnaskedCallError::Denied(decision.reason().to_owned()));
    }
    tool.run(context, input).await.map_err(UnaskedCallError::Failed)
}

/// Waits for calls of other agents that this one must not run beside.
async fn in_order(gate: &ToolGate, plan: &CallPlan) -> Result<PathOrderGuard, ToolOutput> {
    if !plan.runs_command() && !plan.writes_files() {
        return Ok(PathOrderGuard::Free);
    }
    let query = plan.resolve(gate).await?;
    let waited = gate.permissions.path_order.wait(&query);
    gate.context.cancel.run_until_cancelled(waited).await.ok_or_else(stopped)
}

/// The last check before a call runs: what it touches is still what was approved, and the log has
/// the intent to run it. Returns what it touches, which is all that it can open.
async fn check_and_record_intent(
    gate: &ToolGate,
    plan: &CallPlan,
    ticket: &ToolCallTicket,
) -> Result<PermissionQuery, ToolOutput> {
    let now = plan.resolve(gate).await?;
    if ticket.input() != &plan.input || !ticket.still_holds(&now) {
        return Err(ToolOutput::failed(
            "Not run: what the call would touch changed after it was approved. Look again, then \
             repeat the call.",
        ));
    }
    let intent = LogEntry::ToolStarted {
        call: plan.call.id.clone(),
        arguments: ContentHash::of(ticket.input().to_string().as_bytes()),
        approved_by: ticket.approved_by().to_owned(),
    };
    gate.journal.intent(gate.turn, intent).await.map_err(|error| {
        ToolOutput::failed(format!("Not run: slug could not write to the session log, and runs nothing that is not in it. {error}"))
    })?;
    Ok(now)
}
