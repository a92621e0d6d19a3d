//! Hooks on the way of a call: what they are told, and what their word comes to.
//!
//! Before a call is decided they may refuse it, have it asked about, answer what the mode would
//! ask, or change it, in which case it is decided as changed. After it has run they may add to what
//! the model is told. What hooks do beside calls is in `lifecycle`.

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
use super::event_sender::AgentEventSender;
use super::gate::{Interactivity, ToolGate};
use super::permission_state::PermissionState;
use super::tool_messages::denied;

/// The hooks of a run, in one session.
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

/// What owns the hooks that nobody waits for.
#[derive(Clone, Default)]
pub(super) struct BackgroundHooks {
    pub(super) tasks: TaskTracker,
    pub(super) over: CancellationToken,
}

impl SessionHooks {
    /// Whether there is any of these.
    pub(super) fn has(&self, event: HookEvent) -> bool {
        self.hooks.has(event)
    }

    /// Runs the hooks of a moment, and tells the person what they have to say.
    pub(super) async fn fire(
        &self,
        moment: &HookPayload,
        cancel: &CancellationToken,
    ) -> MergedHookVerdict {
        let scene = HookContext {
            session: self.session,
            transcript: self.transcript.clone(),
            cwd: self.cwd.clone(),
            mode: self.permissions.mode(),
        };
        let merged = self.hooks.fire(&scene, moment, cancel).await;
        for HookMessage { text, origin } in &merged.messages {
            let text = format!("{} says: {text}", self.hook_label(origin));
            self.events.notice(NoticeLevel::Info, text).await;
        }
        for HookMessage { text, origin } in &merged.faults {
            let text = format!("{} failed and was passed over: {text}", self.hook_label(origin));
            self.events.notice(NoticeLevel::Warning, text).await;
        }
        merged
    }

    /// Runs the hooks of a moment that nobody waits for.
    pub(super) fn fire_in_background(&self, moment: HookPayload) {
        if self.has(moment.event()) {
            let hooked = self.clone();
            self.background.tasks.spawn(async move {
                hooked.fire(&moment, &hooked.background.over).await;
            });
        }
    }

    /// Has hooks call the person, who is asked something.
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

    /// A hook, at the beginning of a sentence.
    pub(super) fn hook_label(&self, origin: &HookOrigin) -> String {
        let file = self.workspace.show(&origin.file);
        match origin.line {
            Some(line) => format!("The hook at {file}:{line}"),
            None => format!("The hook at {file}"),
        }
    }

    fn says(&self, said: &HookMessage, what: &str) -> String {
        let who = self.hook_label(&said.origin);
        if said.text.is_empty() {
            format!("{who} {what}.")
        } else {
            format!("{who} {what}: {}", said.text)
        }
    }
}

/// What hooks make of a call before it is decided: its arguments, and what they say of it. `Err` is
/// what the model is told of one that they refuse.
pub(super) async fn before(
    gate: &ToolGate,
    call: &ToolCall,
    (input, whose): (Value, ArgumentsOrigin),
) -> Result<(Value, CallProvenance), ToolOutput> {
    let hooked = &gate.hooks;
    let mut story =
        CallProvenance { origin: whose, word: HookPermission::Nothing, notes: Vec::new() };
    if !hooked.has(HookEvent::PreToolUse) {
        return Ok((input, story));
    }
    let (tool, id) = (call.name.clone(), call.id.as_str().to_owned());
    let moment = HookPayload::PreToolUse(HookToolCall { tool, input: input.clone(), id });
    let merged = hooked.fire(&moment, &gate.context.cancel).await;
    if let Some(said) = &merged.stop {
        end_turn(gate, said).await;
        return Err(refused(gate, call, said).await);
    }
    story.word = match &merged.decision {
        MergedHookDecision::Block(said) => return Err(refused(gate, call, said).await),
        MergedHookDecision::Allow(said) => HookPermission::Allow(hooked.says(said, "allows it")),
        MergedHookDecision::Ask(said) => HookPermission::Ask(hooked.says(said, "asks")),
        MergedHookDecision::Nothing => HookPermission::Nothing,
    };
    story.notes = merged.contexts;
    let Some((changed, origin)) = merged.input.filter(|(changed, _)| *changed != input) else {
        return Ok((input, story));
    };
    if let ArgumentsOrigin::Partial(_) = story.origin {
        let text = "It would change the part that was taken. Take the change whole, or none of it.";
        return Err(refused(gate, call, &HookMessage { text: text.into(), origin }).await);
    }
    let who = hooked.hook_label(&origin);
    hooked
        .events
        .notice(NoticeLevel::Info, format!("{who} changed a call of {}.", call.name))
        .await;
    story.origin = ArgumentsOrigin::Hook(who);
    Ok((changed, story))
}

/// Whether hooks let a call stand as the person wrote it, who has said yes to these arguments. One
/// that would change them refuses it.
pub(super) async fn check_user_edit(
    gate: &ToolGate,
    call: &ToolCall,
    input: &Value,
) -> Result<(), ToolOutput> {
    let (_, story) = before(gate, call, (input.clone(), ArgumentsOrigin::User)).await?;
    match story.origin {
        ArgumentsOrigin::Hook(who) => {
            Err(denied(&format!("{who} would change what the user wrote.")))
        }
        ArgumentsOrigin::Model | ArgumentsOrigin::User | ArgumentsOrigin::Partial(_) => Ok(()),
    }
}

/// What the model is told of a call that has run, with what hooks add to it.
pub(super) async fn after(
    gate: &ToolGate,
    approved: &ToolCallTicket,
    output: ToolOutput,
    mut notes: Vec<String>,
) -> ToolOutput {
    let hooked = &gate.hooks;
    let has_run = matches!(output.status, ToolStatus::Done | ToolStatus::Failed);
    if has_run && hooked.has(HookEvent::PostToolUse) {
        let call = HookToolCall {
            tool: approved.tool().to_owned(),
            input: approved.input().clone(),
            id: approved.call().as_str().to_owned(),
        };
        let response = json!({"status": output.status, "content": output.observation});
        let moment = HookPayload::PostToolUse { call, response };
        let merged = hooked.fire(&moment, &gate.context.cancel).await;
        notes.extend(merged.contexts);
        if let MergedHookDecision::Block(said) = &merged.decision {
            let text = hooked.says(said, &format!("objects to what {} did", approved.tool()));
            hooked.events.notice(NoticeLevel::Warning, text).await;
            notes.push(format!("A hook objects to what this call did: {}", said.text));
        }
        if let Some(said) = &merged.stop {
            end_turn(gate, said).await;
        }
    }
    if notes.is_empty() {
        return output;
    }
    let observation = format!("{}\n\n[from hooks]\n{}", output.observation, notes.join("\n"));
    ToolOutput { observation, ..output }
}

async fn end_turn(gate: &ToolGate, said: &HookMessage) {
    let text = gate.hooks.says(said, "ended the turn");
    gate.events.notice(NoticeLevel::Warning, text).await;
    gate.context.cancel.cancel();
}

async fn refused(gate: &ToolGate, call: &ToolCall, said: &HookMessage) -> ToolOutput {
    record(gate, call, PermissionOutcome::Deny, "hook", None).await;
    let reason = gate.hooks.says(said, &format!("blocked {}", call.name));
    match gate.interactivity {
        Interactivity::Interactive => gate.events.notice(NoticeLevel::Warning, reason).await,
        Interactivity::Headless => {
            gate.events.tell(AgentEvent::CallRefused { call: call.clone(), reason }).await;
        }
    }
    denied(&format!("Not run: a hook blocked this call. {}", said.text))
}
