//! The context ledger: what fills the model's window, by source, and what the user folds out, brings
//! back or pins.
//!
//! The sizes are those of `compaction::estimate`, by which conversations are compacted; where the
//! server has counted the whole, the parts are shares of its count. `parts` takes a conversation
//! apart, `context_requests` is the agent's half. What a decision does to the conversation is in
//! `session::context_edit`, since a log has to be read the same way each time.
//!
//! A new source is a variant of [`ContextSource`] and the part that has it.

mod context_requests;
mod parts;

use serde::{Deserialize, Serialize};

use crate::domain::ContextWindow;
use crate::session::{ContextAction, ContextItem};

/// What a front end asks of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ContextRequest {
    /// Tell what fills the window.
    Show,
    /// Do this with an item of the ledger.
    Edit { item: ContextItem, action: ContextAction },
}

/// The ledger as it is after a [`ContextRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ContextReply {
    pub ledger: ContextLedger,
    /// Why the requested edit was not made.
    pub failed: Option<ContextEditError>,
}

/// Why a part of the conversation was not left out, brought back or pinned. Each text is a
/// sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum ContextEditError {
    /// The session is open for reading only; holds the reason.
    #[error("{0}")]
    ReadOnlySession(String),
    #[error("That cannot be done with this part of the conversation, or it is no longer there.")]
    NotPossible,
    /// The session's log cannot be read or written.
    #[error("{0}")]
    Log(String),
}

/// What the next request would be made of, in tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ContextLedger {
    /// The whole; the sources add up to it.
    pub used: u64,
    /// Whether slug estimates `used`; otherwise the server has counted it. The parts are always
    /// estimates.
    pub is_estimate: bool,
    pub window: ContextWindow,
    /// The size at which the conversation is compacted.
    pub compacts_at: u64,
    /// What is kept free for the answer.
    pub reserve: u64,
    /// In the order in which the window is filled, without empty ones.
    pub sources: Vec<LedgerSource>,
}

/// A source of what is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LedgerSource {
    pub kind: ContextSource,
    /// The path of an instruction file; `None` for a source that there is only one of.
    pub path: Option<String>,
    pub tokens: u64,
    /// What it is made of, oldest first; empty for a source without parts.
    pub items: Vec<LedgerItem>,
}

/// A kind of source, in the order in which lists show them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ContextSource {
    SystemPrompt,
    Tools,
    /// One instruction file.
    Instructions,
    /// The list of skills, and the text of those that are loaded.
    Skills,
    /// Notes of slug's: date and folder, git, the mode, the plan.
    Notes,
    /// What stands in place of what compactions have left out.
    Summary,
    UserMessages,
    Answers,
    Thinking,
    /// The calls themselves, with their arguments.
    ToolCalls,
    /// Results of calls, and of commands that the user ran.
    ToolResults,
    Images,
}

/// A part of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LedgerItem {
    /// What it is edited by; `None` where nothing can be done with it.
    pub item: Option<ContextItem>,
    /// The tool, or the name of a note; empty for what was said.
    pub name: String,
    /// What a call is about, or how a message begins.
    pub about: String,
    pub tokens: u64,
    /// The tokens behind it, which a server reads anew when it changes.
    pub behind: u64,
    /// How many turns ago it came; `None` for what belongs to no turn.
    pub turns_ago: Option<u32>,
    pub state: LedgerItemState,
    /// Whether a stub can take its place, or it can be brought back.
    pub can_fold: bool,
    pub can_pin: bool,
}

/// How an item is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LedgerItemState {
    Full,
    /// In full, also after compactions.
    Pinned,
    /// As the stub that the user put in its place.
    FoldedOut,
    /// As what a compaction has left of it.
    Compacted,
}

impl ContextSource {
    /// The name that lists show.
    pub fn title(self) -> &'static str {
        match self {
            Self::SystemPrompt => "System prompt",
            Self::Tools => "Tool definitions",
            Self::Instructions => "Instructions",
            Self::Skills => "Skills",
            Self::Notes => "Notes by slug",
            Self::Summary => "Compactions",
            Self::UserMessages => "Your messages",
            Self::Answers => "Answers",
            Self::Thinking => "Thinking",
            Self::ToolCalls => "Tool calls",
            Self::ToolResults => "Tool results",
            Self::Images => "Images",
        }
    }

    /// Why items of this kind, or some of them, cannot be left out: a sentence.
    pub fn why_fixed(self) -> &'static str {
        match self {
            Self::SystemPrompt | Self::Tools => {
                "Every request begins with this: it stays the same, so that servers can cache it."
            }
            Self::Instructions => {
                "Every request begins with this file: edit or remove the file to have it sent \
                 otherwise, from your next message on."
            }
            Self::Skills => {
                "Skills that are loaded stay, also after a compaction. The list has each skill that the \
                 model may load: /skills shows where they are."
            }
            Self::Notes => "This stays: slug would send the note again.",
            Self::Summary => "It takes the place of what a compaction left out.",
            Self::UserMessages => {
                "Your first and your last message always stay, and so does a short one: a stub would \
                 not be shorter."
            }
            Self::Answers => "This stays: a stub would not be shorter.",
            Self::Thinking => "The thinking of the last turn stays: servers want it back.",
            Self::ToolCalls => {
                "A call stays, since each result needs its call. Its result can be left out."
            }
            Self::ToolResults => "This stays: a stub would not be shorter.",
            Self::Images => "This always stays.",
        }
    }
}

impl LedgerItem {
    /// What the key that folds does with it; `None` where it does nothing.
    pub fn fold_action(&self) -> Option<ContextAction> {
        if !self.can_fold {
            return None;
        }
        Some(match self.state {
            LedgerItemState::Full | LedgerItemState::Pinned => ContextAction::FoldOut,
            LedgerItemState::FoldedOut | LedgerItemState::Compacted => ContextAction::BringBack,
        })
    }

    /// What the key that pins does with it; `None` where it does nothing.
    pub fn pin_action(&self) -> Option<ContextAction> {
        if !self.can_pin {
            return None;
        }
        Some(match self.state {
            LedgerItemState::Pinned => ContextAction::Unpin,
            LedgerItemState::Full | LedgerItemState::FoldedOut | LedgerItemState::Compacted => {
                ContextAction::Pin
            }
        })
    }
}

impl ContextLedger {
    /// The item that is edited by this.
    pub fn find(&self, item: ContextItem) -> Option<&LedgerItem> {
        let mut items = self.sources.iter().flat_map(|source| &source.items);
        items.find(|it| it.item == Some(item))
    }
}
