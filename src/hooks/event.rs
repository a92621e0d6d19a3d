//! The events on which hooks run.

/// An event on which hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HookEvent {
    /// A session is opened.
    SessionStart,
    /// The session is left.
    SessionEnd,
    /// The user sends a message.
    UserPromptSubmit,
    /// The model makes a call.
    PreToolUse,
    /// A call has run.
    PostToolUse,
    /// slug asks the user, or waits for the user.
    Notification,
    /// The model has answered.
    Stop,
    /// An agent that a call has started has ended its turn.
    SubagentStop,
    /// The conversation that is sent to the model is about to be shortened.
    PreCompact,
}

impl HookEvent {
    /// All events, in the order in which a session fires them.
    pub const ALL: [Self; 9] = [
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PostToolUse,
        Self::Notification,
        Self::Stop,
        Self::SubagentStop,
        Self::PreCompact,
        Self::SessionEnd,
    ];

    /// The event's name in settings files and in the payload.
    pub fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::Notification => "Notification",
            Self::Stop => "Stop",
            Self::SubagentStop => "SubagentStop",
            Self::PreCompact => "PreCompact",
        }
    }

    /// Reads a name in any case, with or without `_` and `-`: `pre_tool_use` is PreToolUse, too.
    pub fn parse(name: &str) -> Option<Self> {
        let letters = |name: &str| name.replace(['_', '-'], "").to_ascii_lowercase();
        let name = letters(name);
        Self::ALL.into_iter().find(|event| letters(event.name()) == name)
    }

    /// Whether slug waits for the hook's consent: a hook that cannot be run blocks.
    pub fn is_guard(self) -> bool {
        match self {
            Self::PreToolUse | Self::UserPromptSubmit => true,
            Self::SessionStart
            | Self::SessionEnd
            | Self::PostToolUse
            | Self::Notification
            | Self::Stop
            | Self::SubagentStop
            | Self::PreCompact => false,
        }
    }

    /// Whether the text that a hook prints goes to the model.
    pub fn tells_model(self) -> bool {
        match self {
            Self::SessionStart | Self::UserPromptSubmit | Self::PreToolUse | Self::PostToolUse => {
                true
            }
            Self::SessionEnd
            | Self::Notification
            | Self::Stop
            | Self::SubagentStop
            | Self::PreCompact => false,
        }
    }
}
