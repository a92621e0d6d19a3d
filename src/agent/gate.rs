//! The only way to run a tool: every call of the model goes through [`execute_with_permission`].
//!
//! The order of the steps never changes: validate the input, run the hooks before the call, resolve
//! what it touches, apply rules and mode, ask the user, write the intent to the log, run the call,
//! run the hooks after it. An input that the user edits starts again from the top. When a rule or
//! the mode changes while a question is open or the call waits for earlier calls, the call is
//! decided again. A call runs only if what it touches is still what was approved.
//!
//! A command that the user types goes through [`execute_for_user`]: typing it is its approval.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::domain::{
    ApprovalId, ApprovalKind, ApprovalRequest, CallInput, ContentBlock, ContentHash, Message,
    MessageRole, PermissionMode, ToolCall, ToolOutput, TurnId,
};
use crate::permissions::{
    self, PermissionQuery, ResolvedAccess, RuleSet, ToolCallTicket, Workspace,
};
use crate::platform::debug_log::DebugLog;
use crate::platform::redact::Redactor;
use crate::platform::watch::FolderWatcher;
use crate::session::{BlobStore, LogEntry, MessageEntry, ToolResultInfo};
use crate::tools::{
    AccessMode, Grant, ScopedFiles, Tool, ToolContext, ToolRegistry, WorkingDirectory,
};

use super::AgentEvent;
use super::approvals::{ApprovalOrder, PendingApprovals};
use super::change_tracker;
use super::decide::{GateOutcome, authorise, resolve};
use super::event_queue::AgentEventSender;
use super::hooks::{self, SessionHooks};
use super::journal::SessionJournal;
use super::permission_state::PermissionState;
use super::redacting_processes::{RedactingProcesses, without_keys};
use super::repeats::RepeatedCalls;
use super::sandbox_escalation::{self, SandboxEscalation};
use super::tool_event_recorder::ToolEventRecorder;
use super::tool_events::ToolEventQueue;
use super::tool_messages::{crashed, denied, not_json, stopped, stopped_after, with_change};

/// How long a cancelled tool may take to end by itself, before the gate answers for it.
pub const CANCELLED_TOOL_GRACE: Duration = Duration::from_millis(75);

/// Whether somebody can answer questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interactivity {
    /// A user is at the front end.
    Interactive,
    /// Nobody is there: a call that would need a question is refused.
    Headless,
}

/// What all calls of a turn share.
pub(super) struct ToolGate {
    pub(super) turn: TurnId,
    pub(super) registry: Arc<ToolRegistry>,
    pub(super) context: ToolContext,
    pub(super) workspace: Arc<Workspace>,
    pub(super) escalation: Option<SandboxEscalation>,
    pub(super) permissions: Arc<PermissionState>,
    pub(super) approvals: Arc<PendingApprovals>,
    pub(super) watch: Arc<FolderWatcher>,
    pub(super) repeats: RepeatedCalls,
    pub(super) interactivity: Interactivity,
    pub(super) journal: Arc<SessionJournal>,
    pub(super) blobs: BlobStore,
    pub(super) events: AgentEventSender,
    pub(super) hooks: SessionHooks,
    pub(super) debug: DebugLog,
    pub(super) redactor: Redactor,
}

impl ToolGate {
    pub(super) fn place(&self) -> &WorkingDirectory {
        &self.context.place
    }

    /// The context for the call that `query` is about. It can open only the files that it names, at
    /// their real paths.
    pub(super) fn context_for(&self, query: &PermissionQuery) -> ToolContext {
        let granted = query.accesses.iter().filter_map(|access| {
            let (path, mode) = match access {
                ResolvedAccess::Read(path) => (path, AccessMode::Read),
                ResolvedAccess::Write(path) => (path, AccessMode::Write),
                _ => return None,
            };
            Some(Grant { named: path.path.clone(), real: path.real.clone(), mode })
        });
        let scoped_files = Arc::new(ScopedFiles::new(self.context.files.clone(), granted));
        let (is_hidden, places) = (self.context.is_hidden.clone(), scoped_files.clone());
        ToolContext {
            files: scoped_files,
            // A rule and a search may name the same file by different paths.
            is_hidden: Arc::new(move |path| {
                let elsewhere = || places.real(path).filter(|real| real != path);
                is_hidden(path) || elsewhere().is_some_and(|real| is_hidden(&real))
            }),
            ..self.context.clone()
        }
    }

    /// A question that offers no rules and shows no change.
    pub(super) fn question(
        &self,
        id: ApprovalId,
        call: &ToolCall,
        input: &Value,
        (kind, reason): (ApprovalKind, String),
    ) -> ApprovalRequest {
        ApprovalRequest {
            id,
            turn: self.turn,
            call: call.id.clone(),
            tool: call.name.clone(),
            input: input.clone(),
            cwd: self.place().cwd.clone(),
            kind,
            reason,
            parts: Vec::new(),
            allow_rules: Vec::new(),
            deny_rule: None,
            rule_file: self.permissions.rule_file(),
            preview: None,
        }
    }

    /// Asks the user, and runs the `Notification` hooks.
    pub(super) fn ask_user(&self, question: ApprovalRequest) {
        self.hooks.notify_of(&question);
        self.events.send(AgentEvent::ApprovalAsked(Box::new(question)));
    }

    pub(super) fn recorder(&self) -> ToolEventRecorder {
        ToolEventRecorder {
            turn: self.turn,
            journal: self.journal.clone(),
            blobs: self.blobs.clone(),
            events: self.events.clone(),
        }
    }
}

/// The earlier calls that a call waits for; each token is cancelled when its call is done.
pub(super) struct CallDependencies {
    pub(super) before_deciding: Vec<CancellationToken>,
    pub(super) before_running: Vec<CancellationToken>,
    pub(super) asking: ApprovalOrder,
}

impl CallDependencies {
    /// For a call without earlier calls.
    pub(super) fn none() -> Self {
        Self {
            before_deciding: Vec::new(),
            before_running: Vec::new(),
            asking: ApprovalOrder::default(),
        }
    }
}

/// Decides and runs one call. Its result is in the log when this returns.
pub(super) async fn execute_with_permission(
    gate: &ToolGate,
    call: &ToolCall,
    waits: CallDependencies,
) -> ToolOutput {
    let span = tracing::info_span!("call", call = %call.id, tool = call.name);
    go_through(gate, call, waits).instrument(span).await
}

async fn go_through(gate: &ToolGate, call: &ToolCall, waits: CallDependencies) -> ToolOutput {
    let started = Instant::now();
    // A tool that panics still gets a result, and the calls beside it go on.
    let attempt = AssertUnwindSafe(attempt(gate, call, waits)).catch_unwind().await;
    let ended = attempt.unwrap_or_else(|_| CompletedCall::new(crashed(), started.elapsed()));
    let output = ended.output.clone();
    settle(gate, call, ended).await;
    output
}

/// A call with its result.
pub(super) struct CompletedCall {
    pub(super) output: ToolOutput,
    /// The hash of its whole output in the blob store, when the model gets only a part of it.
    pub(super) kept: Option<ContentHash>,
    /// How long it ran, without the wait for an answer; for a call that did not run, how long until
    /// that was decided.
    pub(super) elapsed: Duration,
}

impl CompletedCall {
    fn new(output: ToolOutput, elapsed: Duration) -> Self {
        Self { output, kept: None, elapsed }
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
        }
    }
}

async fn attempt(gate: &ToolGate, call: &ToolCall, waits: CallDependencies) -> CompletedCall {
    let started = Instant::now();
    match authorise(gate, call, waits).await {
        GateOutcome::Approved { approved, tool, story } => {
            let ended = match run(gate, call, &approved, &*tool, RunLocation::Default).await {
                Ok(ended) => ended,
                Err(output) => {
                    gate.repeats.note(call, &[], &output);
                    return CompletedCall::new(output, started.elapsed());
                }
            };
            let ended = sandbox_escalation::offer(gate, call, &approved, &*tool, ended).await;
            let accesses = tool.access(approved.input(), gate.place()).unwrap_or_default();
            gate.repeats.note(call, &accesses, &ended.output);
            let output = with_change(ended.output, &approved, story.origin);
            let output = hooks::after(gate, &approved, output, story.notes).await;
            CompletedCall { output, ..ended }
        }
        GateOutcome::Repeated(output) => CompletedCall::new(output, started.elapsed()),
        GateOutcome::Stopped(output) => {
            gate.repeats.note(call, &[], &output);
            CompletedCall::new(output, started.elapsed())
        }
    }
}

/// Logs a result for a call that ended without one.
pub(super) async fn give_up(gate: &ToolGate, call: &ToolCall) {
    settle(gate, call, CompletedCall::new(crashed(), Duration::ZERO)).await;
}

/// Logs a refusal for a call without running it.
pub(super) async fn refuse(gate: &ToolGate, call: &ToolCall, reason: &str) {
    settle(gate, call, CompletedCall::new(denied(reason), Duration::ZERO)).await;
}

/// Runs a command that the user typed. Typing it is its approval, whatever the rules say about the
/// model; the steps after the approval are the same.
pub(super) async fn execute_for_user(gate: &ToolGate, call: &ToolCall) -> CompletedCall {
    let started = Instant::now();
    let attempt = AssertUnwindSafe(attempt_for_user(gate, call)).catch_unwind().await;
    let output = match attempt {
        Ok(Ok(ended)) => return ended,
        Ok(Err(output)) => output,
        Err(_) => crashed(),
    };
    CompletedCall::new(output, started.elapsed())
}

async fn attempt_for_user(gate: &ToolGate, call: &ToolCall) -> Result<CompletedCall, ToolOutput> {
    let CallInput::Valid(input) = &call.input else { return Err(not_json("")) };
    let tool = gate.registry.get(&call.name).map_err(|it| ToolOutput::failed(it.to_string()))?;
    let query = resolve(gate, &*tool, call, input).await?;
    let decision =
        permissions::decide(&query, &RuleSet::new(), PermissionMode::Ask, &gate.workspace);
    match decision.approve_typed_command(call) {
        Ok(approved) => run(gate, call, &approved, &*tool, RunLocation::Outside).await,
        Err(decision) => Err(denied(decision.reason())),
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
    call: &ToolCall,
    approved: &ToolCallTicket,
    tool: &dyn Tool,
    place: RunLocation,
) -> Result<CompletedCall, ToolOutput> {
    let query = check_and_record_intent(gate, call, approved, tool).await?;
    let tracker = change_tracker::begin_tracking(gate, &query).await;
    let started = Instant::now();
    if gate.context.cancel.is_cancelled() {
        return Err(stopped());
    }
    let mut shown = call.clone();
    shown.input = CallInput::Valid(approved.input().clone());
    gate.events.send(AgentEvent::ToolStarted { turn: gate.turn, call: shown });

    let tool_events = Arc::new(ToolEventQueue::new(gate.blobs.clone()));
    let recorder = gate.recorder();
    let processes = match (place, &gate.escalation) {
        (RunLocation::Outside, Some(escalation)) => escalation.processes.clone(),
        (RunLocation::Outside, None) | (RunLocation::Default, _) => gate.context.processes.clone(),
    };
    let effects = Arc::new(tool_events.sender());
    let processes = Arc::new(RedactingProcesses {
        processes,
        redactor: gate.redactor.clone(),
        search_path: approved.search_path().map(ToOwned::to_owned),
    });
    let context = ToolContext { effects, processes, ..gate.context_for(&query) };
    let cancelled = gate.context.cancel.clone();
    let out_of_time = async {
        cancelled.cancelled().await;
        tokio::time::sleep(CANCELLED_TOOL_GRACE).await;
    };
    tokio::pin!(out_of_time);
    let running = tool.run(&context, approved.input().clone());
    tokio::pin!(running);
    let logged = gate.debug.tool_call(&json!({"name": call.name, "input": approved.input()}));
    let output = loop {
        tokio::select! {
            output = &mut running => break output,
            () = tool_events.wait() => recorder.record_events(&call.id, &tool_events).await,
            () = &mut out_of_time => {
                drop(gate.journal.look_after(recorder.clone().record_late_events(tool_events.clone())));
                break Ok(stopped_after(&tool_events.recent_output()));
            }
        }
    };
    let elapsed = started.elapsed();
    recorder.record_events(&call.id, &tool_events).await;
    if let Some(tracker) = tracker {
        // A stop does not wait for this scan.
        let scan = gate.journal.look_after(tracker.record_changes(recorder));
        if let Some(Err(error)) = gate.context.cancel.run_until_cancelled(scan).await {
            tracing::error!(%error, "looking for what a command changed ended abnormally");
        }
    }
    let output = output.unwrap_or_else(|error| ToolOutput::failed(error.to_string()));
    let output = without_keys(&gate.redactor, output);
    gate.debug.tool_result(logged, &json!({"status": output.status, "text": output.observation}));
    Ok(CompletedCall { output, kept: tool_events.kept(), elapsed })
}

/// The last check before a call runs: what it touches is still what was approved, and the log has
/// the intent to run it. Returns what it touches, which is all that it can open.
async fn check_and_record_intent(
    gate: &ToolGate,
    call: &ToolCall,
    approved: &ToolCallTicket,
    tool: &dyn Tool,
) -> Result<PermissionQuery, ToolOutput> {
    let now = resolve(gate, tool, call, approved.input()).await?;
    if !approved.still_holds(&now) {
        return Err(ToolOutput::failed(
            "Not run: what the call would touch changed after it was approved. Look again, then \
             repeat the call.",
        ));
    }
    let intent = LogEntry::ToolStarted {
        call: call.id.clone(),
        arguments: ContentHash::of(approved.input().to_string().as_bytes()),
        approved_by: approved.approved_by().to_owned(),
    };
    gate.journal.intent(gate.turn, intent).await.map_err(|error| {
        ToolOutput::failed(format!("Not run, since nothing runs that is not on record. {error}"))
    })?;
    Ok(now)
}

/// Writes the result to the log and tells the front end.
async fn settle(gate: &ToolGate, call: &ToolCall, ended: CompletedCall) {
    let info = ended.info(&call.name);
    let CompletedCall { output, elapsed, .. } = ended;
    let block = ContentBlock::ToolResult {
        tool_use_id: call.id.clone(),
        content: output.observation,
        is_error: output.status.is_error(),
    };
    let entry = MessageEntry {
        result: Some(info),
        ..MessageEntry::new(Message { role: MessageRole::User, content: vec![block] })
    };
    gate.journal.write(gate.turn, LogEntry::Message(entry)).await;
    gate.events.send(AgentEvent::ToolEnded {
        turn: gate.turn,
        call: call.id.clone(),
        status: output.status,
        display: output.display,
        summary: output.summary,
        elapsed,
    });
}
