//! What an agent tells its front end. Each event is something that has happened, never a request.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::{
    AgentId, ApprovalId, ApprovalRequest, CallId, ContextWindow, DangerFact, FollowedOutput,
    JobEnd, JobId, JobInfo, JobReport, ModelName, NoticeLevel, PermissionMode, QuestionRequest,
    ReasoningEffort, SessionId, SubagentSummary, TaskItem, TodoItem, ToolCall, TurnId, UserInput,
};
use crate::providers::retry::RetryAttempt;
use crate::providers::{ModelInfo, ModelLoading, PrefillProgress, ProviderFault, RateLimited};
use crate::session::{LogRecord, ReplayedConversation, SessionSpending};
use crate::skills::PromptLibraryReport;

use super::{
    CommandRefusal, ContextLedger, ContextReply, ForkPosition, MemoryReply, ReviewPlan,
    RewindError, RewindPlan, RuleReply, SteerId,
};

/// An event with the agent that it is from, as it travels. Turns, calls and messages in it are those
/// of that agent: their ids may occur with another agent, too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AddressedEvent {
    pub agent: AgentId,
    pub event: AgentEvent,
}

/// Something that happened. Events of one agent arrive in the order in which they happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum AgentEvent {
    /// A session is open. `records` is its whole log, empty for a new session. For a long session
    /// it is only the end of the log, and `SessionRead` follows.
    SessionOpened { session: SessionId, records: Arc<Vec<LogRecord>> },
    /// All of a long session has been read.
    SessionRead {
        session: SessionId,
        /// The records before those of `SessionOpened`.
        earlier: Arc<Vec<LogRecord>>,
    },
    /// Another model answers from now on, or more is known about the current one.
    ModelChanged {
        model: ModelName,
        /// The configured effort; `None` leaves it to the provider.
        effort: Option<ReasoningEffort>,
        /// The context window, with how certain it is.
        window: ContextWindow,
        /// Whether the server is on this machine.
        local: bool,
    },
    /// The server offers several models and none was named: nothing can be sent before `SetModel`.
    ModelNeeded {
        /// The name of the provider in the configuration.
        provider: String,
        models: Vec<ModelInfo>,
    },
    /// The provider cannot be used: its models could not be listed, or a turn has failed with it. The
    /// notice or the end of the turn that follows says why.
    ProviderFailed {
        /// The name of the provider in the configuration.
        provider: String,
        fault: ProviderFault,
    },
    /// How far the model is loaded whose server slug runs; `None` once nothing loads any more.
    ModelLoading(Option<ModelLoading>),
    /// The permission mode that holds from now on, in all sessions of the agent. A record of a mode is
    /// only history.
    ModeChanged(PermissionMode),
    /// What all records of the open session come to, once they have been read. From then on, records
    /// change it.
    SessionState {
        /// The title that was given, else one made from the user's first message.
        title: Option<String>,
        /// The steps of the model's plan.
        todos: Vec<TodoItem>,
        /// The model's tasks, in the order of their numbers.
        tasks: Vec<TaskItem>,
    },
    /// A turn has begun.
    TurnStarted { turn: TurnId },
    /// An entry is in the log, and tells what has happened: a message of the user's, a finished
    /// response, the end of a call with its result, another title or plan, the end of a turn.
    Recorded(Arc<LogRecord>),
    /// Something has ended as this record says, which is in no log: a turn that was asked for and
    /// could not begin, or an end that could not be put on record.
    NotRecorded(Arc<LogRecord>),
    /// A steering message is in the conversation (its `Recorded` follows), or was withdrawn.
    SteerSettled {
        id: SteerId,
        /// The text of a message that was withdrawn, which goes back into the input.
        returned: Option<UserInput>,
    },
    /// A message was not sent and goes back into the input; the end of its turn follows and says why.
    MessageReturned(UserInput),
    /// A request was sent: to the model, or for the list of models that a turn waits for.
    RequestSent { turn: TurnId },
    /// The conversation is being made shorter; its `Recorded` follows, if anything can be left out.
    CompactionStarted { turn: TurnId },
    /// A model writes the summary for a compaction.
    CompactionProgress {
        turn: TurnId,
        /// How much of the conversation the server has read, where it reports this.
        read: Option<PrefillProgress>,
        /// How much the model has written, in bytes; about four make a token.
        written: u64,
    },
    /// The request waits because of a rate limit.
    RequestRateLimited {
        turn: TurnId,
        /// How long, and what the server said.
        held: RateLimited,
    },
    /// The server reads the prompt; only some servers report this.
    Prefill {
        turn: TurnId,
        /// How much of the prompt the server has read.
        progress: PrefillProgress,
    },
    /// More text of the response.
    Text { turn: TurnId, text: String },
    /// More reasoning of the response.
    Thinking { turn: TurnId, text: String },
    /// The model has begun to write a call.
    CallStarted { turn: TurnId, call: CallId, name: String },
    /// More of a call's arguments.
    CallInput {
        turn: TurnId,
        call: CallId,
        /// The next piece of JSON text; only all pieces together are valid JSON.
        json: String,
    },
    /// The response is complete; its `Recorded` follows.
    ResponseTimed {
        turn: TurnId,
        /// The time from the first token to the end, to compute a rate.
        streamed_for: Duration,
    },
    /// The server did not use its prompt cache where it should have.
    CacheMissed {
        /// What changed since the previous request, as a sentence.
        reason: String,
    },
    /// What the session has spent so far.
    SpendingChanged(Box<SessionSpending>),
    /// The response, or the list of models that a turn waits for, failed and is requested again.
    /// What was streamed of it is void.
    ResponseDropped {
        turn: TurnId,
        /// Why, as a sentence.
        reason: String,
        /// The next try of the same request; `None` when a different request follows at once, which
        /// a notice explains.
        again: Option<RetryAttempt>,
    },
    /// A call has passed the gate and runs. For a command that the user typed, this is the only
    /// event at its start.
    ToolStarted {
        turn: TurnId,
        /// The call with the arguments that run, which may differ from what the model sent.
        call: ToolCall,
    },
    /// More live output of a call.
    ToolProgress { turn: TurnId, call: CallId, text: String },
    /// A job of the session runs. It may outlive the turn.
    JobStarted(JobInfo),
    /// Nothing of a job runs any more.
    JobEnded { job: JobId, end: JobEnd },
    /// How the jobs of the session stand that run or have ended not long ago, in the order in which
    /// they were started. Only after `FollowJobs`.
    Jobs(Vec<JobReport>),
    /// More output of the job that `FollowJobs` named.
    JobOutput(FollowedOutput),
    /// The user is asked. Several questions can be open; the front end queues them.
    ApprovalAsked(Box<ApprovalRequest>),
    /// The model asks the user something.
    QuestionsAsked(Box<QuestionRequest>),
    /// What was counted about the call of an open question.
    ApprovalFacts { id: ApprovalId, facts: Vec<DangerFact> },
    /// A question of slug or of the model no longer needs an answer (the turn was stopped, or a new rule
    /// decided it).
    ApprovalWithdrawn(ApprovalId),
    /// A message for the user that is no part of the conversation.
    Notice {
        level: NoticeLevel,
        /// A sentence, with a remedy if there is one.
        text: String,
    },
    /// A command was not carried out.
    CommandRefused(CommandRefusal),
    /// A call was refused in a headless run: a rule, the mode or a hook denies it, or it would need
    /// an answer of the user.
    CallRefused { call: ToolCall, reason: String },
    /// An agent that a call of this one has started, as it stands now. The first is before any event of
    /// that agent.
    Subagent(Box<SubagentSummary>),
    /// Two agents answer the last message, the first of them in the left pane. The turn waits for the user
    /// to take one of the answers.
    RaceStarted { sides: [AgentId; 2] },
    /// The race is over, and whose answer is in the conversation now.
    RaceEnded { taken: Option<AgentId> },
    /// The answer to a `Rules` command.
    Rules(Box<RuleReply>),
    /// The answer to a `Context` command.
    Context(Box<ContextReply>),
    /// The answer to a `Memory` command that asks for something.
    Memory(Box<MemoryReply>),
    /// The skills and custom commands that there are, at the start and whenever that has changed.
    PromptFiles(Box<PromptLibraryReport>),
    /// What would be sent now, which no server has counted. Told unasked, interactively only.
    ContextEstimated(Box<ContextLedger>),
    /// Entries cannot be saved. This is told once, and again only after saving has worked.
    SaveFailed {
        /// What the system said, and what slug does now, as sentences.
        reason: String,
    },
    /// The answer to `PlanRewind`: what a rewind, or its reversal, would do, or why it is not
    /// possible.
    RewindPlanned(Result<Arc<RewindPlan>, RewindError>),
    /// The answer to `PlanReview`: what was changed, or why that cannot be told. Also why a `Reject`
    /// could not be done.
    ReviewPlanned(Result<Arc<ReviewPlan>, RewindError>),
    /// A rewind, or the rejection of a review, is done. For a rewind, `SessionOpened` with the new
    /// state came just before.
    Rewound {
        /// The message that the rewind took back, which goes into the input.
        message: Option<UserInput>,
        /// What was done, as a sentence.
        told: String,
    },
    /// The session that is open now is a fork.
    Forked {
        /// The session it came from.
        from: SessionId,
        /// Where the fork leaves its parent.
        at: ForkPosition,
        /// The message that the fork leaves out, which goes into the input.
        message: Option<UserInput>,
    },
}

impl AgentEvent {
    /// The `SessionState` of a conversation.
    pub fn session_state(conversation: &ReplayedConversation) -> Self {
        Self::SessionState {
            title: conversation.title.clone(),
            todos: conversation.plan.todos.clone(),
            tasks: conversation.plan.tasks.iter().cloned().collect(),
        }
    }
}
