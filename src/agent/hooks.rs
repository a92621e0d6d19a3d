//! Hooks before and after a call: what they are told, and what follows from their verdict.
//!
//! Before a call is decided, hooks can refuse it, have the user asked, allow what the mode would
//! ask about, or change its arguments; then the changed call is decided. After the call has run,
//! they can add to what the model is told. Hooks of other events are in `lifecycle`; reading and
//! running hooks is in `crate::hooks`.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::domain::{
    ApprovalKind, ApprovalRequest, NoticeLevel, PermissionOutcome, SessionId, ToolCall, ToolOutput,
    ToolStatus,
};
use crate::hooks::{
    HookContext, HookEvent, HookMessage, HookOrigin, HookPayload, HookSet, HookToolCall,
    MergedHookDecision, MergedHookVerdict,
};
use crate::permissions::{HookPermission, ToolCallTicket, Workspace};

use super::AgentEvent;
use super::decide::{ArgumentsOrigin, CallProvenance, record};
use super::event_queue::AgentEventSender;
use super::gate::{Interactivity, ToolGate};
use super::permission_state::PermissionState;
use super::tool_messages::denied;

/// The hooks of a run, with what they are told about the session.
#[derive(Clone)]
pub(super) struct SessionHooks {
    pub(super) hooks: Arc<HookSet>,
    pub(super) session: SessionId,
    pub(super) transcript: PathBuf,
    pub(super) cwd: PathBuf,
    pub(super) permissions: Arc<PermissionState>,
    pub(super) workspace: Arc<Workspace>,
    pub(super) events: AgentEventSender,
    pub(super) background: BackgroundHooks,
}

/// Owns the hooks that run in the background. `over` cancels them when the agent ends.
#[derive(Clone, Default)]
pub(super) struct BackgroundHooks {
    pub(super) tasks: TaskTracker,
    pub(super) over: CancellationToken,
}

impl SessionHooks {
    /// Whether there is a hook for this event.
    pub(super) fn has(&self, event: HookEvent) -> bool {
        self.hooks.has(event)
    }

    /// Runs the hooks of an event and shows their messages and failures to the user.
    pub(super) async fn fire(
        &self,
        payload: &HookPayload,
        cancel: &CancellationToken,
    ) -> MergedHookVerdict {
        let context = HookContext {
            session: self.session,
            transcript: self.transcript.clone(),
            cwd: self.cwd.clone(),
            mode: self.permissions.mode(),
        };
        let merged = self.hooks.fire(&context, payload, cancel).await;
        for HookMessage { text, origin } in &merged.messages {
            let text = format!("{} says: {text}", self.hook_label(origin));
            self.events.notice(NoticeLevel::Info, text);
        }
        for HookMessage { text, origin } in &merged.faults {
            let text = format!("{} failed and was passed over: {text}", self.hook_label(origin));
            self.events.notice(NoticeLevel::Warning, text);
        }
        merged
    }

    /// Runs the hooks of an event in the background; their verdict is ignored.
    pub(super) fn fire_in_background(&self, payload: HookPayload) {
        if self.has(payload.event()) {
            let hooks = self.clone();
            self.background.tasks.spawn(async move {
                hooks.fire(&payload, &hooks.background.over).await;
            });
        }
    }

    /// Runs the `Notification` hooks because the user is asked something.
    pub(super) fn notify_of(&self, request: &ApprovalRequest) {
        let message = match request.kind {
            ApprovalKind::Permission => format!("slug asks whether {} may run.", request.tool),
            ApprovalKind::RepeatedCall => {
                format!("slug asks whether {} may run again.", request.tool)
            }
            ApprovalKind::SandboxEscalation => {
                format!("slug asks whether {} may run outside the sandbox.", request.tool)
            }
            ApprovalKind::Budget => "slug asks about its budget.".into(),
        };
        self.fire_in_background(HookPayload::Notification { kind: "permission_prompt", message });
    }

    /// Names a hook at the beginning of a sentence, by its file and line.
    pub(super) fn hook_label(&self, origin: &HookOrigin) -> String {
        let file = self.workspace.show(&origin.file);
        match origin.line {
            Some(line) => format!("The hook at {file}:{line}"),
            None => format!("The hook at {file}"),
        }
    }

    fn says(&self, message: &HookMessage, what: &str) -> String {
        let who = self.hook_label(&message.origin);
        if message.text.is_empty() {
            format!("{who} {what}.")
        } else {
            format!("{who} {what}: {}", message.text)
        }
    }
}

/// Runs the hooks before a call is decided. Returns the arguments, changed or not, and what the
/// hooks say about them. `Err` is what the model is told when they refuse the call.
pub(super) async fn before(
    gate: &ToolGate,
    call: &ToolCall,
    (input, origin): (Value, ArgumentsOrigin),
) -> Result<(Value, CallProvenance), ToolOutput> {
    let hooks = &gate.hooks;
    let mut provenance =
        CallProvenance { origin, word: HookPermission::Nothing, notes: Vec::new() };
    if !hooks.has(HookEvent::PreToolUse) {
        return Ok((input, provenance));
    }
    let (tool, id) = (call.name.clone(), call.id.as_str().to_owned());
    let payload = HookPayload::PreToolUse(HookToolCall { tool, input: input.clone(), id });
    let merged = hooks.fire(&payload, &gate.context.cancel).await;
    if let Some(message) = &merged.stop {
        end_turn(gate, message);
        return Err(refused(gate, call, message).await);
    }
    provenance.word = match &merged.decision {
        MergedHookDecision::Block(message) => return Err(refused(gate, call, message).await),
        MergedHookDecision::Allow(message) => {
            HookPermission::Allow(hooks.says(message, "allows it"))
        }
        MergedHookDecision::Ask(message) => HookPermission::Ask(hooks.says(message, "asks")),
        MergedHookDecision::Nothing => HookPermission::Nothing,
    };
    provenance.notes = merged.contexts;
    let Some((changed, origin)) = merged.input.filter(|(changed, _)| *changed != input) else {
        return Ok((input, provenance));
    };
    if let ArgumentsOrigin::Partial(_) = provenance.origin {
        let text = "It would change the part that was taken. Take the change whole, or none of it.";
        return Err(refused(gate, call, &HookMessage { text: text.into(), origin }).await);
    }
    let who = hooks.hook_label(&origin);
    hooks.events.notice(NoticeLevel::Info, format!("{who} changed a call of {}.", call.name));
    provenance.origin = ArgumentsOrigin::Hook(who);
    Ok((changed, provenance))
}

/// Runs the hooks on arguments that the user wrote and approved. Hooks can only accept or refuse
/// them: one that would change them refuses the call.
pub(super) async fn check_user_edit(
    gate: &ToolGate,
    call: &ToolCall,
    input: &Value,
) -> Result<(), ToolOutput> {
    let (_, provenance) = before(gate, call, (input.clone(), ArgumentsOrigin::User)).await?;
    match provenance.origin {
        ArgumentsOrigin::Hook(who) => {
            Err(denied(&format!("{who} would change what the user wrote.")))
        }
        ArgumentsOrigin::Model | ArgumentsOrigin::User | ArgumentsOrigin::Partial(_) => Ok(()),
    }
}

/// Runs the hooks after a call and adds what they say to the result. Hooks do not run for a call
/// that was denied or cancelled.
pub(super) async fn after(
    gate: &ToolGate,
    approved: &ToolCallTicket,
    output: ToolOutput,
    mut notes: Vec<String>,
) -> ToolOutput {
    let hooks = &gate.hooks;
    let has_run = matches!(output.status, ToolStatus::Done | ToolStatus::Failed);
    if has_run && hooks.has(HookEvent::PostToolUse) {
        let call = HookToolCall {
            tool: approved.tool().to_owned(),
            input: approved.input().clone(),
            id: approved.call().as_str().to_owned(),
        };
        let response = json!({"status": output.status, "content": output.observation});
        let payload = HookPayload::PostToolUse { call, response };
        let merged = hooks.fire(&payload, &gate.context.cancel).await;
        notes.extend(merged.contexts);
        if let MergedHookDecision::Block(message) = &merged.decision {
            let text = hooks.says(message, &format!("objects to what {} did", approved.tool()));
            hooks.events.notice(NoticeLevel::Warning, text);
            notes.push(format!("A hook objects to what this call did: {}", message.text));
        }
        if let Some(message) = &merged.stop {
            end_turn(gate, message);
        }
    }
    if notes.is_empty() {
        return output;
    }
    let observation = format!("{}\n\n[from hooks]\n{}", output.observation, notes.join("\n"));
    ToolOutput { observation, ..output }
}

fn end_turn(gate: &ToolGate, message: &HookMessage) {
    let text = gate.hooks.says(message, "ended the turn");
    gate.events.notice(NoticeLevel::Warning, text);
    gate.context.cancel.cancel();
}

async fn refused(gate: &ToolGate, call: &ToolCall, message: &HookMessage) -> ToolOutput {
    record(gate, call, PermissionOutcome::Deny, "hook", None).await;
    let reason = gate.hooks.says(message, &format!("blocked {}", call.name));
    match gate.interactivity {
        Interactivity::Interactive => gate.events.notice(NoticeLevel::Warning, reason),
        Interactivity::Headless => {
            gate.events.send(AgentEvent::CallRefused { call: call.clone(), reason });
        }
    }
    denied(&format!("Not run: a hook blocked this call. {}", message.text))
}
