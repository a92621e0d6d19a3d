//! What a front end can ask of an agent. Stopping a turn is not a command: it goes through
//! [`StopHandle`](super::StopHandle), which does not wait in the queue.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    ContextRequest, MemoryRequest, ReviewPlan, ReviewScope, RewindDestination, RewindPlan,
    RuleRequest,
};
use crate::domain::{
    AgentId, ApprovalAnswer, ApprovalId, CallId, EntryId, FollowedJobs, JobId, ModelName,
    NoticeLevel, PermissionMode, QuestionAnswer, ReasoningEffort, SessionId, TerminalInput,
    TerminalSize, UserInput,
};
use crate::session::RewindScope;
use crate::session::undo::FileRejection;

/// A command with the agent that it is for, as it travels. An agent refuses the commands of others
/// ([`CommandRefusal::OtherAgent`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AddressedCommand {
    pub agent: AgentId,
    pub command: AgentCommand,
}

/// A request of the front end. The agent takes commands one by one, in the order they were sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum AgentCommand {
    /// Starts a turn with the user's text. While a turn runs, the front end keeps the text itself.
    Send { text: UserInput },
    /// Puts a message into the running turn at its next tool boundary, or before the turn would
    /// end. A message that arrives after the turn's end is ignored: the front end knows from that end
    /// that it still has it.
    Steer {
        /// Chosen by the front end, for `WithdrawSteer` and `SteerSettled`.
        id: SteerId,
        text: UserInput,
    },
    /// Withdraws a steering message that is not in the conversation yet.
    WithdrawSteer { id: SteerId },
    /// Answers a permission question.
    Answer { id: ApprovalId, answer: ApprovalAnswer },
    /// Answers questions of the model's, in their order; what is missing is left to the model.
    AnswerQuestions { id: ApprovalId, answers: Vec<QuestionAnswer> },
    /// Runs a shell command that the user typed (`!cargo test`). Its output goes to the model, too.
    Shell {
        /// The command line, without the `!`.
        command: String,
    },
    /// Asks the model again, after a failed turn. Nothing is added to the conversation.
    Retry,
    /// Leaves out older parts of the conversation that is sent to the model, which takes a turn.
    Compact {
        /// What a summary is to keep above all, in the user's words.
        focus: Option<String>,
    },
    /// Takes the last compaction back: what it left out is sent again.
    UndoCompaction,
    /// Begins an empty session.
    NewSession,
    /// Opens a session from the store.
    Resume { session: SessionId },
    /// Forks a session and opens the fork.
    Fork { session: SessionId, at: ForkPosition },
    /// Starts an agent in the background that is a fork of the conversation and gets this message;
    /// `Subagent` tells how it stands.
    ForkAgent { text: UserInput },
    /// Has two models answer one message side by side, each in a fork of the conversation that can only
    /// read: `RaceStarted` names the two, and the turn waits until `TakeAnswer` takes one.
    Race {
        /// What follows `/race`: one model, which races the session's own, or two; then the message.
        typed: String,
    },
    /// Takes the answer of one of the two agents of the running race into the conversation. A notice says
    /// why it cannot be taken yet.
    TakeAnswer { agent: AgentId },
    /// Plans a rewind, or its reversal, without doing it; `RewindPlanned` answers.
    PlanRewind(RewindDestination),
    /// Does a rewind that was planned.
    Rewind {
        /// The plan that the user saw; if it no longer holds, a new plan is shown instead.
        plan: Arc<RewindPlan>,
        /// Whether files, the conversation or both go back.
        what: RewindScope,
    },
    /// Tells what a turn or the session changed; `ReviewPlanned` answers. Also while a turn runs.
    PlanReview(ReviewScope),
    /// Takes back changes that the user rejects in a review.
    Reject {
        /// The review that the user saw; where a file is another one by now, nothing is done and
        /// the review is planned anew.
        plan: Arc<ReviewPlan>,
        rejected: Vec<FileRejection>,
    },
    /// Takes back all that one call changed in files; `Rewound` says what was done, or a notice why
    /// nothing was.
    UndoCall { call: CallId },
    /// Changes the permission mode.
    SetMode(PermissionMode),
    /// Changes the model to what the user typed: a model's name, or `PROVIDER/MODEL`.
    SetModel(String),
    /// Changes the model, and the provider with it.
    UseModel(ModelName),
    /// Changes how hard the model is to think; `None` leaves it to the provider.
    SetEffort(Option<ReasoningEffort>),
    /// Gives the open session a title.
    SetTitle(String),
    /// Saves what could not be saved so far, if there is anything, and says where the session is.
    Save,
    /// Ends a job of the open session; `JobEnded` follows. Does nothing where there is none.
    EndJob { job: JobId },
    /// Types something into the terminal of a job, in no log and past no question: for what the user
    /// types. Does nothing where there is no such terminal.
    TypeIntoJob { job: JobId, typed: TerminalInput },
    /// Changes the size of a job's terminal. Does nothing where there is none.
    ResizeJob { job: JobId, size: TerminalSize },
    /// Tells how the jobs of the open session stand, now and when that changes: `Jobs` events, at most
    /// one a second while jobs run. Also what one of them prints, as `JobOutput` events: the end of what
    /// it has printed, then what follows, without parts where it prints too fast; of a terminal what it
    /// shows. `None`, or the end of
    /// the session, ends this.
    FollowJobs(Option<FollowedJobs>),
    /// Lets the command that a call, or the user's own `!` line, waits for go on in the background as a
    /// job. Does nothing where no command runs.
    DetachCommand,
    /// Shows the rules, changes one, or tries a call on them.
    Rules(RuleRequest),
    /// Tells what fills the context window, or folds a part of it out, brings one back or pins one.
    /// What changes, the next request shows.
    Context(ContextRequest),
    /// Shows the instruction files, or adds a line to one.
    Memory(MemoryRequest),
}

impl AgentCommand {
    /// Whether the agent would have another session open after it.
    pub(super) fn leaves_session(&self) -> bool {
        match self {
            Self::NewSession | Self::Resume { .. } | Self::Fork { .. } => true,
            Self::PlanRewind(_)
            | Self::ForkAgent { .. }
            | Self::Race { .. }
            | Self::TakeAnswer { .. }
            | Self::SetMode(_)
            | Self::SetTitle(_)
            | Self::UseModel(_)
            | Self::SetModel(_)
            | Self::FollowJobs(_)
            | Self::Rules(_)
            | Self::SetEffort(_)
            | Self::Context(_)
            | Self::Memory(_)
            | Self::PlanReview(_)
            | Self::EndJob { .. }
            | Self::TypeIntoJob { .. }
            | Self::ResizeJob { .. }
            | Self::DetachCommand
            | Self::Send { .. }
            | Self::Rewind { .. }
            | Self::Save
            | Self::UndoCall { .. }
            | Self::Shell { .. }
            | Self::UndoCompaction
            | Self::Steer { .. }
            | Self::WithdrawSteer { .. }
            | Self::Answer { .. }
            | Self::AnswerQuestions { .. }
            | Self::Compact { .. }
            | Self::Reject { .. }
            | Self::Retry => false,
        }
    }

    /// Whether the agent does this at once while something runs. Messages for the running turn are not
    /// among these: only a turn takes them.
    pub(super) fn is_possible_at_any_time(&self) -> bool {
        match self {
            Self::Answer { .. }
            | Self::AnswerQuestions { .. }
            | Self::SetMode(_)
            | Self::SetTitle(_)
            | Self::Save
            | Self::EndJob { .. }
            | Self::TypeIntoJob { .. }
            | Self::ResizeJob { .. }
            | Self::DetachCommand
            | Self::FollowJobs(_)
            | Self::Rules(_)
            | Self::Context(_)
            | Self::Memory(_)
            | Self::PlanReview(_) => true,
            Self::Send { .. }
            | Self::Steer { .. }
            | Self::WithdrawSteer { .. }
            | Self::Shell { .. }
            | Self::Retry
            | Self::Compact { .. }
            | Self::UndoCompaction
            | Self::NewSession
            | Self::Resume { .. }
            | Self::Fork { .. }
            | Self::ForkAgent { .. }
            | Self::Race { .. }
            | Self::TakeAnswer { .. }
            | Self::PlanRewind(_)
            | Self::Rewind { .. }
            | Self::Reject { .. }
            | Self::UndoCall { .. }
            | Self::SetModel(_)
            | Self::UseModel(_)
            | Self::SetEffort(_) => false,
        }
    }

    /// The command with its address.
    pub fn to(self, agent: AgentId) -> AddressedCommand {
        AddressedCommand { agent, command: self }
    }
}

/// Why an agent does not carry out a command. The message is a sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum CommandRefusal {
    /// Holds the id in the address, which is not that of the agent that got it.
    #[error("A command for agent {0} came to another agent, which did nothing.")]
    OtherAgent(AgentId),
    /// The command needs an agent without a running turn.
    #[error("A turn is running: wait for its end, or stop it with Escape.")]
    TurnRunning,
    /// The agent was started by another one, whose session and mode are the user's to change.
    #[error(
        "This agent was started by another one and keeps its session and mode. Go to the main conversation \
         with f6 for that."
    )]
    StartedAgent,
    /// `/compact` before there is anything to summarise.
    #[error("The conversation is still too short to compact.")]
    TooShortToCompact,
}

impl CommandRefusal {
    /// How a front end shows it.
    pub fn level(&self) -> NoticeLevel {
        match self {
            Self::TooShortToCompact => NoticeLevel::Info,
            Self::OtherAgent(_) | Self::TurnRunning | Self::StartedAgent => NoticeLevel::Warning,
        }
    }
}

/// Identifies a steering message until it is in the conversation or withdrawn. Chosen by the front
/// end, which gives no two messages the same id, also not to two of its agents.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SteerId(pub u64);

/// Where a fork leaves its parent session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum ForkPosition {
    /// At the end: the fork has all of its parent's entries.
    End,
    /// After this entry, which the fork still has.
    After(EntryId),
    /// Before this message of the user's, which goes back into the input.
    Before(EntryId),
}
