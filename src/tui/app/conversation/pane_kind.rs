//! Kinds of panes, which fold rules name.

use std::fmt;

/// A group of panes that can be folded together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaneKind {
    Thinking,
    /// Long messages of the user.
    Messages,
    Images,
    /// The notes that take the place of older messages.
    Summaries,
    /// The lines above runs of calls that only look something up.
    Lookups,
    /// The calls of all tools.
    Tools,
    /// The calls of the tool with this name.
    Tool(String),
}

impl PaneKind {
    /// The kind with this name, as the user types it; any other name is that of a tool.
    pub fn named(name: &str) -> Self {
        match name {
            "thinking" => Self::Thinking,
            "messages" => Self::Messages,
            "images" => Self::Images,
            "summaries" => Self::Summaries,
            "lookups" => Self::Lookups,
            "tools" => Self::Tools,
            tool => Self::Tool(tool.to_owned()),
        }
    }

    /// The kind that contains this one.
    pub fn wider(&self) -> Option<Self> {
        match self {
            Self::Tool(_) => Some(Self::Tools),
            Self::Thinking
            | Self::Messages
            | Self::Images
            | Self::Summaries
            | Self::Lookups
            | Self::Tools => None,
        }
    }

    /// Whether panes of the other kind belong to this kind.
    pub fn covers(&self, other: &Self) -> bool {
        self == other || other.wider().as_ref() == Some(self)
    }
}

impl fmt::Display for PaneKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Thinking => "thinking",
            Self::Messages => "messages",
            Self::Images => "images",
            Self::Summaries => "summaries",
            Self::Lookups => "lookups",
            Self::Tools => "tools",
            Self::Tool(name) => name,
        })
    }
}
