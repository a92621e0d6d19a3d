//! What a hook is told on its standard input: one JSON object, with the names in wide use.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::domain::{PermissionMode, SessionId};

use super::event::HookEvent;

/// Where it happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookContext {
    /// The open session.
    pub session: SessionId,
    /// Its log; not there before its first message.
    pub transcript: PathBuf,
    /// The working folder.
    pub cwd: PathBuf,
    /// How much is asked.
    pub mode: PermissionMode,
}

/// What happens.
#[derive(Debug, Clone, PartialEq)]
pub enum HookPayload {
    /// A session is opened.
    SessionStart {
        /// `startup`, `resume` or `clear`.
        source: &'static str,
    },
    /// It is left.
    SessionEnd {
        /// `exit`, `resume` or `clear`.
        reason: &'static str,
    },
    /// The person sends a message.
    UserPromptSubmit {
        /// Its text.
        prompt: String,
    },
    /// The model makes a call.
    PreToolUse(HookToolCall),
    /// It has run.
    PostToolUse {
        /// The call as it ran.
        call: HookToolCall,
        /// What the model is told of it.
        response: Value,
    },
    /// slug asks or waits.
    Notification {
        /// `permission_prompt` or `idle_prompt`.
        kind: &'static str,
        /// What it says.
        message: String,
    },
    /// The model has answered.
    Stop {
        /// Whether it goes on because a hook wanted that.
        active: bool,
    },
    /// A subagent has.
    SubagentStop,
    /// The conversation that is sent is about to be made shorter.
    PreCompact {
        /// `manual` or `auto`.
        trigger: &'static str,
    },
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct HookToolCall {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub input: Value,
    /// Names the call.
    pub id: String,
}

impl HookPayload {
    /// Which moment it is.
    pub fn event(&self) -> HookEvent {
        match self {
            Self::SessionStart { .. } => HookEvent::SessionStart,
            Self::SessionEnd { .. } => HookEvent::SessionEnd,
            Self::UserPromptSubmit { .. } => HookEvent::UserPromptSubmit,
            Self::PreToolUse(_) => HookEvent::PreToolUse,
            Self::PostToolUse { .. } => HookEvent::PostToolUse,
            Self::Notification { .. } => HookEvent::Notification,
            Self::Stop { .. } => HookEvent::Stop,
            Self::SubagentStop => HookEvent::SubagentStop,
            Self::PreCompact { .. } => HookEvent::PreCompact,
        }
    }

    /// What filters look at.
    pub fn subject(&self) -> Option<&str> {
        match self {
            Self::SessionStart { source } => Some(source),
            Self::SessionEnd { reason } => Some(reason),
            Self::PreToolUse(call) | Self::PostToolUse { call, .. } => Some(&call.tool),
            Self::Notification { kind, .. } => Some(kind),
            Self::PreCompact { trigger } => Some(trigger),
            Self::UserPromptSubmit { .. } | Self::Stop { .. } | Self::SubagentStop => None,
        }
    }

    /// What the hook reads.
    pub fn json(&self, scene: &HookContext) -> Value {
        let mut told = json!({
            "session_id": scene.session,
            "transcript_path": scene.transcript.to_string_lossy(),
            "cwd": scene.cwd.to_string_lossy(),
            "permission_mode": scene.mode.name(),
            "hook_event_name": self.event().name(),
        });
        let of_call = |told: &mut Value, call: &HookToolCall| {
            told["tool_name"] = json!(call.tool);
            told["tool_input"] = call.input.clone();
            told["tool_use_id"] = json!(call.id);
        };
        match self {
            Self::SessionStart { source } => told["source"] = json!(source),
            Self::SessionEnd { reason } => told["reason"] = json!(reason),
            Self::UserPromptSubmit { prompt } => told["prompt"] = json!(prompt),
            Self::PreToolUse(call) => of_call(&mut told, call),
            Self::PostToolUse { call, response } => {
                of_call(&mut told, call);
                told["tool_response"] = response.clone();
            }
            Self::Notification { kind, message } => {
                told["notification_type"] = json!(kind);
                told["message"] = json!(message);
            }
            Self::Stop { active } => told["stop_hook_active"] = json!(active),
            Self::SubagentStop => told["stop_hook_active"] = json!(false),
            Self::PreCompact { trigger } => told["trigger"] = json!(trigger),
        }
        told
    }

    /// One to try a hook of this event with.
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
            HookEvent::SubagentStop => Self::SubagentStop,
            HookEvent::PreCompact => Self::PreCompact { trigger: "manual" },
        }
    }
}
