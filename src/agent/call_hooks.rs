//! Hooks before and after a call: what they are told, and what follows from their verdict.
//!
//! Before a call is decided, hooks can refuse it, have the user asked, allow what the mode would
//! ask about, or change its arguments; then the changed call is decided. After the call has run,
//! they can add to what the model is told.

use serde_json::{Value, json};

use crate::domain::{NoticeLevel, PermissionOutcome, ToolCall, ToolOutput, ToolStatus};
use crate::hooks::{HookEvent, HookMessage, HookPayload, HookToolCall, MergedHookDecision};
use crate::permissions::HookPermission;

use super::call_plan::{ArgumentsOrigin, CallPlan, CallProvenance};
use super::event::AgentEvent;
use super::tool_gate::{Interactivity, ToolGate};
use super::tool_messages::denied;

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
        let text = "It would alter the part of the change that the user accepted. Only the whole change, or \
            none of it, can be accepted with this hook.";
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
        ArgumentsOrigin::Hook(who) => Err(denied(&format!(
            "{who} would change the command that the user edited, so it was not run."
        ))),
        ArgumentsOrigin::Model | ArgumentsOrigin::User | ArgumentsOrigin::Partial(_) => Ok(()),
    }
}

/// Runs the hooks after a call and adds what they say to the result. Hooks do not run for a call
/// that was denied or cancelled.
pub(super) async fn after(
    gate: &ToolGate,
    plan: &CallPlan,
    output: ToolOutput,
    mut notes: Vec<String>,
) -> ToolOutput {
    let hooks = &gate.hooks;
    let has_run = matches!(output.status, ToolStatus::Done | ToolStatus::Failed);
    if has_run && hooks.has(HookEvent::PostToolUse) {
        let call = HookToolCall {
            tool: plan.call.name.clone(),
            input: plan.input.clone(),
            id: plan.call.id.as_str().to_owned(),
        };
        let response = json!({"status": output.status, "content": output.observation});
        let payload = HookPayload::PostToolUse { call, response };
        let merged = hooks.fire(&payload, &gate.context.cancel).await;
        notes.extend(merged.contexts);
        if let MergedHookDecision::Block(message) = &merged.decision {
            let text = hooks.says(message, &format!("objects to what {} did", plan.call.name));
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
    gate.record_decision(call, PermissionOutcome::Deny, "hook", None).await;
    let reason = gate.hooks.says(message, &format!("blocked {}", call.name));
    match gate.interactivity {
        Interactivity::Interactive => gate.events.notice(NoticeLevel::Warning, reason),
        Interactivity::Headless => {
            gate.events.send(AgentEvent::CallRefused { call: call.clone(), reason });
        }
    }
    denied(&format!("Not run: a hook blocked this call. {}", message.text))
}
