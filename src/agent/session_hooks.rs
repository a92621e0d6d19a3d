//! Hooks of a session: it is opened or left, a message is sent, a response is complete, slug waits
//! for the user. Hooks of calls are in `call_hooks`, that of a compaction is run by `compaction`.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::context;
use crate::domain::{ContentBlock, Message, MessageRole, NoticeLevel, UserInput};
use crate::hooks::{
    HookEvent, HookFileChange, HookFileVersion, HookMessage, HookPayload, MergedHookDecision,
    MergedHookVerdict,
};
use crate::session::{LogEntry, MessageEntry, TurnOutcome};

use super::AgentEvent;
use super::agent_loop::Agent;
use super::hooks::SessionHooks;
use super::setup::AgentParent;
use super::tool_gate::{Interactivity, ToolGate};

/// How long the `SessionEnd` hooks may take when slug ends, since the user waits for the shell.
const SESSION_END_TIMEOUT: Duration = Duration::from_millis(1500);

/// How often in one turn `Stop` hooks may have the model go on.
pub(super) const MAX_HOOK_CONTINUATIONS: u32 = 5;

impl Agent {
    /// The hooks, for the session that is open now.
    pub(super) fn session_hooks(&self) -> SessionHooks {
        SessionHooks {
            hooks: self.setup.hooks.clone(),
            session: self.session.id,
            transcript: self.setup.store.log_path(self.session.id),
            cwd: self.setup.place.cwd.clone(),
            permissions: self.permissions.clone(),
            workspace: self.setup.workspace.clone(),
            events: self.events.clone(),
            background: self.background.clone(),
            is_of_child: self.setup.parent.is_some(),
        }
    }

    /// Runs the `SubagentStop` hooks where this agent was started by another one.
    pub(super) fn subagent_stopped(&self) {
        if let Some(AgentParent { kind, .. }) = &self.setup.parent {
            let (agent, kind) = (self.events.agent(), kind.clone());
            let payload = HookPayload::SubagentStop { agent, kind };
            self.session_hooks().fire_in_background(payload);
        }
    }

    /// Reads hook files that have changed, and tells the user whether the changes hold.
    pub(super) async fn refresh_hooks(&mut self) {
        let hooks = self.setup.hooks.clone();
        let changes = match tokio::task::spawn_blocking(move || hooks.refresh()).await {
            Ok(changes) => changes,
            Err(error) => return tracing::error!(%error, "looking at the hooks ended abnormally"),
        };
        for HookFileChange { file, version } in changes {
            let file = self.setup.workspace.show(&file);
            let text = match version {
                HookFileVersion::Current => {
                    format!("The hooks in {file} have changed. The new ones are active.")
                }
                HookFileVersion::Previous => format!(
                    "The hooks in {file} have changed. The old ones stay active until you trust \
                     the new ones in /hooks."
                ),
            };
            self.events.notice(NoticeLevel::Info, text);
        }
    }

    /// Runs the `SessionStart` hooks in the background. What they say goes with the first message,
    /// and only that message waits for them.
    pub(super) fn session_began(&mut self, source: &'static str) {
        let hooks = self.session_hooks();
        self.session_start = hooks.has(HookEvent::SessionStart).then(|| {
            self.background.tasks.spawn(async move {
                let payload = HookPayload::SessionStart { source };
                hooks.fire(&payload, &hooks.background.over).await
            })
        });
    }

    /// Runs the hooks of the session that was left and of the one that was opened, if the session
    /// has changed at all.
    pub(super) fn session_changed(&mut self, left: &SessionHooks, how: &'static str) {
        if left.session != self.session.id {
            left.fire_in_background(HookPayload::SessionEnd { reason: how });
            self.session_began(how);
        }
    }

    /// Runs the `SessionEnd` hooks because slug ends, and ends all background hooks.
    pub(super) async fn session_ended(&mut self) {
        let hooks = self.session_hooks();
        let payload = HookPayload::SessionEnd { reason: "exit" };
        if tokio::time::timeout(SESSION_END_TIMEOUT, hooks.fire(&payload, &self.background.over))
            .await
            .is_err()
        {
            tracing::warn!("the hooks of the session's end took too long and were ended");
        }
        self.background.over.cancel();
        self.background.tasks.close();
        self.background.tasks.wait().await;
    }

    /// What the `SessionStart` hooks tell the model with the first message of a session.
    pub(super) async fn session_context(
        &mut self,
        cancel: &CancellationToken,
    ) -> Option<ContentBlock> {
        let start_hooks = self.session_start.as_mut()?;
        let merged = cancel.run_until_cancelled(start_hooks).await?;
        self.session_start = None;
        match merged {
            Ok(merged) => {
                if let MergedHookDecision::Block(hook_message) = &merged.decision {
                    self.complain(hook_message, "has a complaint about the session's start");
                }
                context_block(&merged)
            }
            Err(error) => {
                tracing::error!(%error, "the hooks of a session's start ended abnormally");
                None
            }
        }
    }

    /// Runs the hooks on a message. Returns what they tell the model with it, or, as a sentence,
    /// why it is not sent.
    pub(super) async fn check_message(
        &self,
        text: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<ContentBlock>, String> {
        let hooks = self.session_hooks();
        if !hooks.has(HookEvent::UserPromptSubmit) {
            return Ok(None);
        }
        let payload = HookPayload::UserPromptSubmit { prompt: text.to_owned() };
        let merged = hooks.fire(&payload, cancel).await;
        let hook_message = match (&merged.decision, &merged.stop) {
            (MergedHookDecision::Block(hook_message), _) | (_, Some(hook_message)) => hook_message,
            (
                MergedHookDecision::Nothing
                | MergedHookDecision::Allow(_)
                | MergedHookDecision::Ask(_),
                None,
            ) => return Ok(context_block(&merged)),
        };
        Err(format!(
            "{} did not let this message through: {}",
            hooks.hook_label(&hook_message.origin),
            hook_message.text
        ))
    }

    /// Returns a message that is not sent to the front end, and ends its turn.
    pub(super) fn give_back(&mut self, text: UserInput, reason: Option<String>) {
        self.stop.end();
        self.events.send(AgentEvent::MessageReturned(text));
        let outcome = reason.map_or(TurnOutcome::Interrupted, TurnOutcome::Failed);
        self.skip_turn(outcome);
    }

    /// Applies the verdict of the `Stop` hooks. When the model is to go on, their reason is in the
    /// log afterwards.
    pub(super) async fn apply_stop_hooks(
        &mut self,
        merged: &MergedHookVerdict,
        gate: &ToolGate,
    ) -> StopHookDecision {
        let MergedHookDecision::Block(hook_message) = &merged.decision else {
            return StopHookDecision::End;
        };
        if merged.stop.is_some() {
            return StopHookDecision::End;
        }
        self.complain(hook_message, "has the model go on");
        let text = format!("A hook does not let you end here: {}", hook_message.text);
        let note = ContentBlock::Context {
            name: "hook".into(),
            text: context::escape_context_tags(&text),
        };
        let message = Message { role: MessageRole::User, content: vec![note] };
        gate.journal.write(gate.turn, LogEntry::Message(MessageEntry::new(message))).await;
        StopHookDecision::Continue
    }

    /// Starts the timer for the idle notification. A turn has just ended.
    pub(super) fn start_idle_timer(&mut self) {
        let calls = self.setup.interactivity == Interactivity::Interactive
            && self.session_hooks().has(HookEvent::Notification);
        self.idle_at = calls.then(|| Instant::now() + self.setup.idle_after);
    }

    /// Runs the `Notification` hooks because the user has done nothing for a while.
    pub(super) fn notify_idle(&mut self) {
        self.idle_at = None;
        let message = "slug has ended its turn and waits for you.".into();
        self.session_hooks()
            .fire_in_background(HookPayload::Notification { kind: "idle_prompt", message });
    }

    fn complain(&self, hook_message: &HookMessage, what: &str) {
        let who = self.session_hooks().hook_label(&hook_message.origin);
        self.events.notice(NoticeLevel::Info, format!("{who} {what}: {}", hook_message.text));
    }
}

/// Whether a turn that is about to end does so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopHookDecision {
    End,
    Continue,
}

/// Waits until `time`; for ever when it is `None`.
pub(super) async fn wait_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

fn context_block(merged: &MergedHookVerdict) -> Option<ContentBlock> {
    let text = context::escape_context_tags(&merged.contexts.join("\n"));
    (!text.is_empty()).then(|| ContentBlock::Context { name: "hook".into(), text })
}
