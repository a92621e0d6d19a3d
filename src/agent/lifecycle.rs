//! Hooks beside calls: when a session is opened or left, a message sent, an answer given, the
//! conversation made shorter, the person waited for.

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
use super::gate::{Interactivity, ToolGate};
use super::hooks::SessionHooks;

/// How long the hooks of a session's end may take when slug ends: nobody waits longer for a shell.
const FAREWELL: Duration = Duration::from_millis(1500);

/// How often hooks may have the model go on where it would end its turn.
pub(super) const MAX_HOOK_CONTINUATIONS: u32 = 5;

impl Agent {
    /// The hooks, in the session that is open now.
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
        }
    }

    /// Takes up what the person has written into their files of hooks, and says so.
    pub(super) async fn refresh_hooks(&mut self) {
        let hooks = self.setup.hooks.clone();
        let changes = match tokio::task::spawn_blocking(move || hooks.refresh()).await {
            Ok(changes) => changes,
            Err(error) => return tracing::error!(%error, "looking at the hooks ended abnormally"),
        };
        for HookFileChange { file, version: holds } in changes {
            let file = self.setup.workspace.show(&file);
            let text = match holds {
                HookFileVersion::Current => {
                    format!("The hooks in {file} have changed, and hold as they are now.")
                }
                HookFileVersion::Previous => format!(
                    "The hooks in {file} have changed. They hold as they were until you trust what is \
                     new: /hooks shows it."
                ),
            };
            self.events.notice(NoticeLevel::Info, text).await;
        }
    }

    /// Runs what a session begins with. What comes of it goes with the first message, which waits
    /// for it; nothing else does.
    pub(super) fn session_began(&mut self, source: &'static str) {
        let hooked = self.session_hooks();
        self.session_start = hooked.has(HookEvent::SessionStart).then(|| {
            self.background.tasks.spawn(async move {
                let moment = HookPayload::SessionStart { source };
                hooked.fire(&moment, &hooked.background.over).await
            })
        });
    }

    /// Takes note that another session may be open than the one with these hooks.
    pub(super) fn session_changed(&mut self, left: &SessionHooks, how: &'static str) {
        if left.session != self.session.id {
            left.fire_in_background(HookPayload::SessionEnd { reason: how });
            self.session_began(how);
        }
    }

    /// The session is left, and slug with it.
    pub(super) async fn session_ended(&mut self) {
        let hooked = self.session_hooks();
        let moment = HookPayload::SessionEnd { reason: "exit" };
        if tokio::time::timeout(FAREWELL, hooked.fire(&moment, &self.background.over))
            .await
            .is_err()
        {
            tracing::warn!("the hooks of the session's end took too long and were ended");
        }
        self.background.over.cancel();
        self.background.tasks.close();
        self.background.tasks.wait().await;
    }

    /// What the model is told with the first message of a session.
    pub(super) async fn session_context(
        &mut self,
        cancel: &CancellationToken,
    ) -> Option<ContentBlock> {
        let begun = self.session_start.as_mut()?;
        let merged = cancel.run_until_cancelled(begun).await?;
        self.session_start = None;
        match merged {
            Ok(merged) => {
                if let MergedHookDecision::Block(said) = &merged.decision {
                    self.complain(said, "has a complaint about the session's start").await;
                }
                told(&merged)
            }
            Err(error) => {
                tracing::error!(%error, "the hooks of a session's start ended abnormally");
                None
            }
        }
    }

    /// What hooks make of a message: what they tell the model with it, or why it is not sent.
    pub(super) async fn check_message(
        &self,
        text: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<ContentBlock>, String> {
        let hooked = self.session_hooks();
        if !hooked.has(HookEvent::UserPromptSubmit) {
            return Ok(None);
        }
        let moment = HookPayload::UserPromptSubmit { prompt: text.to_owned() };
        let merged = hooked.fire(&moment, cancel).await;
        let said = match (&merged.decision, &merged.stop) {
            (MergedHookDecision::Block(said), _) | (_, Some(said)) => said,
            (
                MergedHookDecision::Nothing
                | MergedHookDecision::Allow(_)
                | MergedHookDecision::Ask(_),
                None,
            ) => return Ok(told(&merged)),
        };
        Err(format!(
            "{} did not let this message through: {}",
            hooked.hook_label(&said.origin),
            said.text
        ))
    }

    /// Gives a message back that is not sent.
    pub(super) async fn give_back(&mut self, text: UserInput, reason: Option<String>) {
        self.stop.end();
        self.events.tell(AgentEvent::MessageReturned(text)).await;
        let outcome = reason.map_or(TurnOutcome::Interrupted, TurnOutcome::Failed);
        self.skip_turn(outcome).await;
    }

    /// What comes of the hooks that were asked whether a turn may end: whether the model goes on,
    /// with their reason in the log.
    pub(super) async fn apply_stop_hooks(
        &mut self,
        merged: &MergedHookVerdict,
        gate: &ToolGate,
    ) -> StopHookDecision {
        let MergedHookDecision::Block(said) = &merged.decision else {
            return StopHookDecision::End;
        };
        if merged.stop.is_some() {
            return StopHookDecision::End;
        }
        self.complain(said, "has the model go on").await;
        let text = format!("A hook does not let you end here: {}", said.text);
        let note = ContentBlock::Context {
            name: "hook".into(),
            text: context::escape_context_tags(&text),
        };
        let message = Message { role: MessageRole::User, content: vec![note] };
        gate.journal.write(gate.turn, LogEntry::Message(MessageEntry::new(message))).await;
        StopHookDecision::Continue
    }

    /// Whether hooks let the conversation be made shorter on request.
    pub(super) async fn may_compact(&mut self) -> Result<(), String> {
        let cancel = self.stop.begin();
        let hooked = self.session_hooks();
        let merged = hooked.fire(&HookPayload::PreCompact { trigger: "manual" }, &cancel).await;
        self.stop.end();
        match &merged.decision {
            _ if cancel.is_cancelled() => Err("Stopped: the conversation is as it was.".into()),
            MergedHookDecision::Block(said) => Err(format!(
                "{} did not let this happen: {}",
                hooked.hook_label(&said.origin),
                said.text
            )),
            MergedHookDecision::Nothing
            | MergedHookDecision::Allow(_)
            | MergedHookDecision::Ask(_) => Ok(()),
        }
    }

    /// A turn is over. Where the person does nothing for a while, hooks call them.
    pub(super) fn start_idle_timer(&mut self) {
        let calls = self.setup.interactivity == Interactivity::Interactive
            && self.setup.hooks.has(HookEvent::Notification);
        self.idle_at = calls.then(|| Instant::now() + self.setup.idle_after);
    }

    /// Has hooks call the person, who has done nothing for a while.
    pub(super) fn notify_idle(&mut self) {
        self.idle_at = None;
        let message = "slug has ended its turn and waits for you.".into();
        self.session_hooks()
            .fire_in_background(HookPayload::Notification { kind: "idle_prompt", message });
    }

    async fn complain(&self, said: &HookMessage, what: &str) {
        let who = self.session_hooks().hook_label(&said.origin);
        self.events.notice(NoticeLevel::Info, format!("{who} {what}: {}", said.text)).await;
    }
}

/// Whether a turn ends that would.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopHookDecision {
    End,
    Continue,
}

/// At that time; without one, never.
pub(super) async fn wait_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

fn told(merged: &MergedHookVerdict) -> Option<ContentBlock> {
    let text = context::escape_context_tags(&merged.contexts.join("\n"));
    (!text.is_empty()).then(|| ContentBlock::Context { name: "hook".into(), text })
}
