//! What an agent tells its front end. Facts only: each has happened.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::{
    ApprovalId, ApprovalRequest, CallId, ContextWindow, ModelName, NoticeLevel, PermissionMode,
    ReasoningEffort, SessionId, StopReason, TodoItem, TokenUsage, ToolCall, ToolDisplay,
    ToolStatus, TurnId, UserInput,
};
use crate::providers::retry::RetryAttempt;
use crate::providers::{ModelInfo, PrefillProgress, RateLimited};
use crate::session::{LogRecord, SessionSpending, TurnOutcome};

use super::{ForkPosition, RewindPlan, RuleReply, SteerId};

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    /// A session is open; `records` is all there is of it, empty for a new one. Of a long session
    /// it is the end, and `SessionRead` follows.
    SessionOpened {
        /// Which.
        session: SessionId,
        /// Its log.
        records: Arc<Vec<LogRecord>>,
    },
    /// All of a long session has been read.
    SessionRead {
        /// Which.
        session: SessionId,
        /// What comes before the records that it was opened with.
        earlier: Arc<Vec<LogRecord>>,
    },
    /// The model that answers.
    ModelChanged {
        /// Which, and whose.
        model: ModelName,
        /// How hard it is to think, where that was said.
        effort: Option<ReasoningEffort>,
        /// How much it can read at once.
        window: ContextWindow,
        /// Whether the server is on this machine.
        local: bool,
    },
    /// The server offers several models and none was named: nothing can be sent before `SetModel`.
    ModelNeeded {
        /// The provider's name.
        provider: String,
        /// All of them.
        models: Vec<ModelInfo>,
    },
    /// How much is asked from now on.
    ModeChanged(PermissionMode),
    /// The session's title.
    TitleChanged(String),
    /// A turn has begun.
    TurnStarted {
        /// Its number.
        turn: TurnId,
    },
    /// A line is in the log: a message of the person's, a finished response, a tool's result.
    Recorded(Arc<LogRecord>),
    /// A steering message has gone in (its `RecordedRequest` follows), or was taken back.
    SteerSettled {
        /// Which.
        id: SteerId,
        /// The one that was taken back.
        returned: Option<UserInput>,
    },
    /// A message was not sent, and is the person's again; `TurnEnded` follows and says why.
    MessageReturned(UserInput),
    /// A request is on its way to the model, or one for the models that there are.
    RequestSent {
        /// The turn.
        turn: TurnId,
    },
    /// The request waits: the server asked to be left alone.
    RequestRateLimited {
        /// The turn.
        turn: TurnId,
        /// How long, and what the server said.
        held: RateLimited,
    },
    /// The server reads the prompt.
    Prefill {
        /// The turn.
        turn: TurnId,
        /// How far it is.
        progress: PrefillProgress,
    },
    /// More text of the response.
    Text {
        /// The turn.
        turn: TurnId,
        /// The next piece.
        text: String,
    },
    /// More reasoning of the response.
    Thinking {
        /// The turn.
        turn: TurnId,
        /// The next piece.
        text: String,
    },
    /// The model has begun to write a call.
    CallStarted {
        /// The turn.
        turn: TurnId,
        /// The call.
        call: CallId,
        /// The tool's name.
        name: String,
    },
    /// More of a call's arguments.
    CallInput {
        /// The turn.
        turn: TurnId,
        /// The call.
        call: CallId,
        /// The next piece of JSON text.
        json: String,
    },
    /// The response is over; its `RecordedRequest` has come just before.
    ResponseEnded {
        /// The turn.
        turn: TurnId,
        /// Why.
        stop: StopReason,
        /// What it took, where the server said.
        usage: Option<TokenUsage>,
        /// How long tokens came, for a rate.
        streamed_for: Duration,
    },
    /// The server read anew what it should have had in its cache.
    CacheMissed {
        /// What changed since the request before, in a sentence.
        reason: String,
    },
    /// What the session has taken so far.
    SpendingChanged(Box<SessionSpending>),
    /// The response, or the list of models that a turn waits for, failed and will be asked for
    /// again: what streamed is void.
    ResponseDropped {
        /// The turn.
        turn: TurnId,
        /// Why, in a sentence.
        reason: String,
        /// When the same is tried again; `None` where something else is asked at once, of which a
        /// notice tells.
        again: Option<RetryAttempt>,
    },
    /// A call has passed the gate and runs. For a command of the person's own, the only start.
    ToolStarted {
        /// The turn.
        turn: TurnId,
        /// The call as it is run.
        call: ToolCall,
    },
    /// More live output of a call.
    ToolProgress {
        /// The turn.
        turn: TurnId,
        /// The call.
        call: CallId,
        /// The next piece.
        text: String,
    },
    /// A call is over; its `RecordedRequest` has come just before.
    ToolEnded {
        /// The turn.
        turn: TurnId,
        /// The call.
        call: CallId,
        /// How it went.
        status: ToolStatus,
        /// What the person sees, where that is not the result's text.
        display: Option<ToolDisplay>,
        /// A few words for the pane's head.
        summary: Option<String>,
        /// How long it ran.
        elapsed: Duration,
    },
    /// The person is asked. Questions queue up on the front end's side.
    ApprovalAsked(Box<ApprovalRequest>),
    /// A question no longer needs an answer (the turn was stopped, or a new rule decided it).
    ApprovalWithdrawn(ApprovalId),
    /// The plan has changed.
    TodosChanged(Vec<TodoItem>),
    /// Something the person should know.
    Notice {
        /// How bad it is.
        level: NoticeLevel,
        /// A sentence, with a remedy where there is one.
        text: String,
    },
    /// The turn is over. Comes without a `TurnStarted` where one that was asked for could not
    /// begin; the outcome then says why.
    TurnEnded {
        /// Its number.
        turn: TurnId,
        /// How.
        outcome: TurnOutcome,
        /// Tokens of all its responses together.
        usage: TokenUsage,
    },
    /// A call was refused for want of permission in a run without a person: a rule or the mode
    /// denies it, or nobody could be asked.
    CallRefused {
        /// The call.
        call: ToolCall,
        /// Why.
        reason: String,
    },
    /// What came of a `Rules` command.
    Rules(Box<RuleReply>),
    /// Entries cannot be saved. Told once, until saving works again.
    SaveFailed {
        /// What the system said, and what slug does now.
        reason: String,
    },
    /// What going back in the session, or forth again, would do, or why that cannot be.
    RewindPlanned(Result<Arc<RewindPlan>, String>),
    /// The person went there. The session was opened anew just before.
    Rewound {
        /// The message that it went back before, which is the person's again.
        message: Option<UserInput>,
        /// What was done, in a sentence.
        told: String,
    },
    /// What is open now is a fork.
    Forked {
        /// The session it came from.
        from: SessionId,
        /// Where it goes its own way.
        at: ForkPosition,
        /// The message that it goes its own way before, which is the person's again.
        message: Option<UserInput>,
    },
}
