//! What is known of an agent that another one has started with a call: where it came from, how it stands
//! and what it has taken.

use serde::{Deserialize, Serialize};

use super::{AgentId, CallId, Money, SessionId, format_tokens, pluralise};

/// The call that started an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SpawnOrigin {
    /// The session of the agent that made the call.
    pub session: SessionId,
    pub call: CallId,
}

/// How a started agent stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SubagentState {
    Running,
    /// It has ended with a report.
    Done,
    /// Its model or its server has failed, or it has died.
    Failed,
    /// The user stopped it, or the agent that started it.
    Stopped,
    /// It has used up its rounds of tool calls.
    OutOfRounds,
    /// Its budget, or that of the session, is used up.
    OutOfBudget,
    /// Its time is over.
    OutOfTime,
    /// Nothing came from it for too long.
    Silent,
    /// slug ended while it ran.
    Interrupted,
}

impl SubagentState {
    /// The state in a few words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::OutOfRounds => "out of rounds",
            Self::OutOfBudget => "out of budget",
            Self::OutOfTime => "out of time",
            Self::Silent => "silent",
            Self::Interrupted => "interrupted",
        }
    }

    /// Whether it has not done its task, without anybody having stopped it.
    pub fn is_failure(self) -> bool {
        match self {
            Self::Running | Self::Done | Self::Stopped | Self::Interrupted => false,
            Self::Failed
            | Self::OutOfRounds
            | Self::OutOfBudget
            | Self::OutOfTime
            | Self::Silent => true,
        }
    }

    /// Whether it has given an answer to its task. One that is out of rounds has summed up what it knows.
    pub fn has_answer(self) -> bool {
        match self {
            Self::Done | Self::OutOfRounds => true,
            Self::Running
            | Self::Failed
            | Self::Stopped
            | Self::OutOfBudget
            | Self::OutOfTime
            | Self::Silent
            | Self::Interrupted => false,
        }
    }

    /// Whether it still works.
    pub fn is_running(self) -> bool {
        self == Self::Running
    }
}

/// A started agent in one line, as its parent's log and front ends know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SubagentSummary {
    /// Unique in the process that it ran in, and nowhere else.
    pub agent: AgentId,
    /// The call that started it.
    pub call: CallId,
    /// Its own session; `None` until that is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The name of its type, such as `explore`.
    pub kind: String,
    /// What it has to do, in a few words.
    pub task: String,
    /// Its model; `None` where that is the one of its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub state: SubagentState,
    /// Whether its parent goes on without waiting for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_background: bool,
    /// The calls that it has made.
    pub tool_calls: u32,
    /// Those of them that were not permitted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused_calls: u32,
    /// The tokens that its model had to process: all except those from a cache.
    pub tokens: u64,
    /// `None` where no price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    pub elapsed_ms: u64,
}

/// For serde, which hands over a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl SubagentSummary {
    /// What it has done and taken: `5 calls  12.3k tokens  $0.02`.
    pub fn figures(&self) -> String {
        let calls = pluralise(self.tool_calls as usize, "call");
        let tokens = format_tokens(self.tokens);
        let cost = self.cost.map(|cost| format!("  {cost}")).unwrap_or_default();
        format!("{calls}  {tokens} tokens{cost}")
    }

    /// What it is called beside others: its type and what it has to do.
    pub fn name(&self) -> String {
        format!("{}: {}", self.kind, self.task)
    }
}
