//! The hooks of a session: runs those of an event and shows what they say.
//!
//! What follows from it for a call is in `call_hooks`, for all else in `session_hooks`; reading and
//! running hooks is in `crate::hooks`.

use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::domain::{ApprovalKind, ApprovalRequest, NoticeLevel, SessionId, UserQuestion};
use crate::hooks::{
    HookContext, HookEvent, HookMessage, HookOrigin, HookPayload, HookSet, MergedHookVerdict,
};
use crate::permissions::Workspace;

use super::event_queue::AgentEventSender;
use super::permission_state::PermissionState;

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
    /// Whether the agent was started by another one: only the hooks of calls are for it.
    pub(super) is_of_child: bool,
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
        let is_for_it = match event {
            HookEvent::PreToolUse | HookEvent::PostToolUse | HookEvent::PreCompact => true,
            HookEvent::SessionStart
            | HookEvent::SessionEnd
            | HookEvent::UserPromptSubmit
            | HookEvent::Notification
            | HookEvent::Stop => !self.is_of_child,
            HookEvent::SubagentStop => self.is_of_child,
        };
        is_for_it && self.hooks.has(event)
    }

    /// Whether a hook would run for this.
    pub(super) fn is_due(&self, payload: &HookPayload) -> bool {
        self.has(payload.event()) && self.hooks.has_fitting(payload)
    }

    /// Runs the hooks of an event and shows their messages and failures to the user.
    pub(super) async fn fire(
        &self,
        payload: &HookPayload,
        cancel: &CancellationToken,
    ) -> MergedHookVerdict {
        if !self.has(payload.event()) {
            return MergedHookVerdict::default();
        }
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
            let text = format!("{} failed and was ignored: {text}", self.hook_label(origin));
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
            ApprovalKind::SandboxInForce => {
                format!("slug asks whether {} may run outside the sandbox.", request.tool)
            }
            ApprovalKind::Budget => "slug asks about its budget.".into(),
        };
        self.fire_in_background(HookPayload::Notification { kind: "permission_prompt", message });
    }

    /// Runs the `Notification` hooks because the model asks the user something.
    pub(super) fn notify_of_questions(&self, questions: &[UserQuestion]) {
        let first = questions.first().map_or("", |first| first.question.as_str());
        let message = format!("The model asks: {first}");
        self.fire_in_background(HookPayload::Notification { kind: "question", message });
    }

    /// Names a hook at the beginning of a sentence, by its file and line.
    pub(super) fn hook_label(&self, origin: &HookOrigin) -> String {
        let file = self.workspace.show(&origin.file);
        match origin.line {
            Some(line) => format!("The hook at {file}:{line}"),
            None => format!("The hook at {file}"),
        }
    }

    /// What a hook did, and its words for it, as a sentence.
    pub(super) fn says(&self, message: &HookMessage, what: &str) -> String {
        let who = self.hook_label(&message.origin);
        if message.text.is_empty() {
            format!("{who} {what}.")
        } else {
            format!("{who} {what}: {}", message.text)
        }
    }
}
