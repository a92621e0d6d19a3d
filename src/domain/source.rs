//! What a request to a model was made for.

use serde::{Deserialize, Serialize};

/// The purpose of a request to a model. What is asked beside the conversation appears beside it
/// wherever slug shows tokens and costs, counts for the budgets, and is no part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RequestSource {
    /// The conversation with the user.
    #[default]
    Main,
    /// A title for the session.
    Title,
    /// A summary for the user: of a session, or of what changed.
    Summary,
    /// A shorter text in place of the older part of a conversation.
    Compaction,
    /// An answer that a hook of the user's asks for.
    Hook,
    /// An agent that a call of this session started. Its session has the response itself.
    Agent,
    /// The conversation, too, but nothing of the response could be kept: it was stopped within a call.
    Stopped,
}

impl RequestSource {
    /// The purpose as one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Title => "title",
            Self::Summary => "summary",
            Self::Compaction => "compaction",
            Self::Hook => "hook",
            Self::Agent => "agents",
            Self::Stopped => "stopped",
        }
    }

    /// Whether it is the conversation, which logs leave out.
    pub fn is_main(&self) -> bool {
        *self == Self::Main
    }
}

/// What approves a command that the user typed with `!`, in the log.
pub const TYPED_BY_USER: &str = "user (typed)";
