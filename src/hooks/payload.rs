//! What a hook gets on its standard input: one JSON object, with the key names that other coding
//! agents use, too.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::domain::{AgentId, PermissionMode, SessionId};

use super::event::HookEvent;

/// Where an event happens: the part of the payload that all events share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookContext {
    /// The open session.
    pub session: SessionId,
    /// The session's log file, which does not exist before the first message.
    pub transcript: PathBuf,
    /// The working folder.
    pub cwd: PathBuf,
    pub mode: PermissionMode,
}

/// The part of the payload that depends on the event.
#[derive(Debug, Clone, PartialEq)]
pub enum HookPayload {
    /// A session is opened.
    SessionStart {
        /// `startup`, `resume` or `clear`.
        source: &'static str,
    },
    /// The session is left.
    SessionEnd {
        /// `exit`, `resume` or `clear`.
        reason: &'static str,
    },
    /// The user sends a message.
    UserPromptSubmit { prompt: String },
    /// The model makes a call.
    PreToolUse(HookToolCall),
    /// A call has run.
    PostToolUse {
        /// The call as it ran.
        call: HookToolCall,
        /// The call's result as the model gets it.
        response: Value,
    },
    /// slug asks the user, or waits for the user.
    Notification {
        /// `permission_prompt`, `question` or `idle_prompt`.
        kind: &'static str,
        /// The text of the notification.
        message: String,
    },
    /// The model has answered.
    Stop {
        /// Whether the model only continued because a hook wanted it to.
        active: bool,
    },
    /// An agent that another one has started has ended its turn.
    SubagentStop {
        agent: AgentId,
        /// The name of its type.
        kind: String,
    },
    /// The conversation that is sent to the model is about to be shortened.
    PreCompact {
        /// `manual` or `auto`.
        trigger: &'static str,
    },
}

/// A tool call, as its hooks see it.
#[derive(Debug, Clone, PartialEq)]
pub struct HookToolCall {
    pub tool: String,
    pub input: Value,
    pub id: String,
}

impl HookPayload {
    /// The event that the payload belongs to.
    pub fn event(&self) -> HookEvent {
        match self {
            Self::SessionStart { .. } => HookEvent::SessionStart,
            Self::SessionEnd { .. } => HookEvent::SessionEnd,
            Self::UserPromptSubmit { .. } => HookEvent::UserPromptSubmit,
            Self::PreToolUse(_) => HookEvent::PreToolUse,
            Self::PostToolUse { .. } => HookEvent::PostToolUse,
            Self::Notification { .. } => HookEvent::Notification,
            Self::Stop { .. } => HookEvent::Stop,
            Self::SubagentStop { .. } => HookEvent::SubagentStop,
            Self::PreCompact { .. } => HookEvent::PreCompact,
        }
    }

    /// The text that filters are matched against: the tool's name, the agent's type, or the kind of
    /// the event.
    pub fn subject(&self) -> Option<&str> {
        match self {
            Self::SessionStart { source } => Some(source),
            Self::SessionEnd { reason } => Some(reason),
            Self::PreToolUse(call) | Self::PostToolUse { call, .. } => Some(&call.tool),
            Self::Notification { kind, .. } => Some(kind),
            Self::PreCompact { trigger } => Some(trigger),
            Self::SubagentStop { kind, .. } => Some(kind),
            Self::UserPromptSubmit { .. } | Self::Stop { .. } => None,
        }
    }

    /// The whole JSON object that the hook reads.
    pub fn json(&self, context: &HookContext) -> Value {
        let mut object = json!({
            "session_id": context.session,
            "transcript_path": context.transcript.to_string_lossy(),
            "cwd": context.cwd.to_string_lossy(),
            "permission_mode": context.mode.name(),
            "hook_event_name": self.event().name(),
        });
        let of_call = |object: &mut Value, call: &HookToolCall| {
            object["tool_name"] = json!(call.tool);
            object["tool_input"] = call.input.clone();
            object["tool_use_id"] = json!(call.id);
        };
        match self {
            Self::SessionStart { source } => object["source"] = json!(source),
            Self::SessionEnd { reason } => object["reason"] = json!(reason),
            Self::UserPromptSubmit { prompt } => object["prompt"] = json!(prompt),
            Self::PreToolUse(call) => of_call(&mut object, call),
            Self::PostToolUse { call, response } => {
                of_call(&mut object, call);
                object["tool_response"] = response.clone();
            }
            Self::Notification { kind, message } => {
                object["notification_type"] = json!(kind);
                object["message"] = json!(message);
            }
            Self::Stop { active } => object["stop_hook_active"] = json!(active),
            Self::SubagentStop { agent, kind } => {
                object["stop_hook_active"] = json!(false);
                object["agent_id"] = json!(agent.to_string());
                object["agent_type"] = json!(kind);
            }
            Self::PreCompact { trigger } => object["trigger"] = json!(trigger),
        }
        object
    }

    /// A made-up payload, to try out a hook of this event.
    pub fn sample(event: HookEvent) -> Self {
        let call = || HookToolCall {
            tool: "Bash".into(),
            input: json!({"command": "ls -l", "description": "A call to try a hook with"}),
            id: "sample".into(),
        };
        match event {
            HookEvent::SessionStart => Self::SessionStart { source: "startup" },
            HookEvent::SessionEnd => Self::SessionEnd { reason: "exit" },
            HookEvent::UserPromptSubmit => {
                Self::UserPromptSubmit { prompt: "A message to try a hook with.".into() }
            }
            HookEvent::PreToolUse => Self::PreToolUse(call()),
            HookEvent::PostToolUse => {
                let response = json!({"status": "done", "content": "total 0"});
                Self::PostToolUse { call: call(), response }
            }
            HookEvent::Notification => Self::Notification {
                kind: "permission_prompt",
                message: "A notice to try a hook with.".into(),
            },
            HookEvent::Stop => Self::Stop { active: false },
            HookEvent::SubagentStop => {
                Self::SubagentStop { agent: AgentId(1), kind: "general".into() }
            }
            HookEvent::PreCompact => Self::PreCompact { trigger: "manual" },
        }
    }
}
