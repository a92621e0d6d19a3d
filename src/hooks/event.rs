//! The moments at which hooks run.

/// A moment at which hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HookEvent {
    /// A session is opened.
    SessionStart,
    /// It is left.
    SessionEnd,
    /// The person sends a message.
    UserPromptSubmit,
    /// The model makes a call.
    PreToolUse,
    /// A call has run.
    PostToolUse,
    /// slug asks the person, or waits for them.
    Notification,
    /// The model has answered.
    Stop,
    /// A subagent has. There are none yet, so it never comes.
    SubagentStop,
    /// The conversation that is sent is about to be made shorter.
    PreCompact,
}

impl HookEvent {
    /// All of them, in the order in which a session meets them.
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

    /// Its name in settings files and in what hooks are told.
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

    /// Reads a name; `pre_tool_use` is PreToolUse, too.
    pub fn parse(name: &str) -> Option<Self> {
        let letters = |name: &str| name.replace(['_', '-'], "").to_ascii_lowercase();
        let name = letters(name);
        Self::ALL.into_iter().find(|event| letters(event.name()) == name)
    }

    /// Whether something waits for its yes: what cannot be run there says no.
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

    /// Whether what a hook prints goes to the model.
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
