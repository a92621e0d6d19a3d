//! What a front end can ask of an agent. Stopping a turn is not here: that is a token, which
//! waits behind no queue.

use std::sync::Arc;

use super::{RewindDestination, RewindPlan, RuleRequest};
use crate::domain::{
    ApprovalAnswer, ApprovalId, EntryId, ModelName, PermissionMode, ReasoningEffort, SessionId,
    UserInput,
};
use crate::session::RewindScope;

/// Something wanted.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentCommand {
    /// Starts a turn with the person's text. While a turn runs, front ends queue on their side.
    Send {
        /// What the person typed.
        text: UserInput,
    },
    /// Puts a message into the running turn at its next tool boundary, or before it would end. One
    /// that comes after the turn's end is the front end's again, which `TurnEnded` has told.
    Steer {
        /// Names it for `WithdrawSteer`.
        id: SteerId,
        /// What the person typed.
        text: UserInput,
    },
    /// Takes a steering message back that has not gone in yet.
    WithdrawSteer {
        /// Which one.
        id: SteerId,
    },
    /// Answers a permission question.
    Answer {
        /// Which question.
        id: ApprovalId,
        /// The answer.
        answer: ApprovalAnswer,
    },
    /// Runs a shell command of the person's own and shows its output to the model, too.
    Shell {
        /// The command line.
        command: String,
    },
    /// Sends the last message of the person's again, after a failed turn.
    Retry,
    /// Makes the conversation that is sent shorter.
    Compact,
    /// Begins an empty session.
    NewSession,
    /// Opens a session from the store.
    Resume {
        /// Which one.
        session: SessionId,
    },
    /// Forks a session and opens the fork.
    Fork {
        /// Which one.
        session: SessionId,
        /// How much of it.
        at: ForkPosition,
    },
    /// Tells what going back in the session, or forth again, would do.
    PlanRewind(RewindDestination),
    /// Goes there.
    Rewind {
        /// What was shown of it.
        plan: Arc<RewindPlan>,
        /// What goes.
        what: RewindScope,
    },
    /// Changes how much is asked.
    SetMode(PermissionMode),
    /// Changes the model to what a person means by this: a model's name, or `PROVIDER/MODEL`.
    SetModel(String),
    /// Changes the model, and the provider with it.
    UseModel(ModelName),
    /// Changes how hard the model is to think; `None` leaves it to the provider.
    SetEffort(Option<ReasoningEffort>),
    /// Gives the open session a title.
    SetTitle(String),
    /// Shows the rules, changes one, or tries a call on them.
    Rules(RuleRequest),
}

/// Names a steering message until it has gone in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SteerId(pub u64);

/// Where a fork goes its own way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkPosition {
    /// At the end: it has all that its parent has.
    End,
    /// Behind this entry.
    After(EntryId),
    /// Before this message of the person's, which is theirs again.
    Before(EntryId),
}
