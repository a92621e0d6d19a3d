//! Runs one turn: waits for whatever happens next, feeds it to the turn machine (`turn`), and
//! carries out the actions that the machine returns. What to do next is not decided here.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::domain::{
    ApprovalAnswer, ContentBlock, ContentHash, Message, MessageRole, NoticeLevel, ToolCall, TurnId,
    UserInput,
};
use crate::hooks::{HookPayload, MergedHookVerdict};
use crate::platform::debug_log::DebugEventNumber;
use crate::providers::retry::{self, ReceivedContent, RetryAttempt, RetryDecision, ServerHistory};
use crate::providers::{ProviderError, ProviderFault, RequestOverflow, StreamEvent, ToolChoice};
use crate::session::{LogEntry, MessageEntry, TurnOutcome};

use super::agent_loop::Agent;
use super::command_inbox::CommandInbox;
use super::compaction::summary::{self, CompactionRun, CompletedCompaction};
use super::early_start::start_complete_calls;
use super::pipeline::{give_up, refuse};
use super::random_fraction::random_fraction;
use super::session_hooks::StopHookDecision;
use super::session_skills::PromptTiming;
use super::tool_gate::ToolGate;
use super::tool_messages::{cut_call, output_limit, rounds_left};
use super::turn::{StopHookState, TruncationPoint, TurnAction, TurnInput, TurnMachine};
use super::{AgentCommand, AgentEvent, CommandRefusal, SteerId, batch, budget};

pub(super) mod answer_stream;
mod compacting;
mod requests;
mod waits;

use answer_stream::{AnswerStream, ended_early};
use waits::{CallBatch, asked_hooks, finished, next_piece, wait_until};

/// What the model is told when the output limit cut its answer.
const GO_ON: &str = "Your answer was cut off at the output limit. Go on exactly where it stops, in the \
                     midst of the word if need be. Repeat nothing, and say nothing about this note.";

/// What the model is told when the output limit left no room for an answer.
const GO_ON_SPEAKING: &str = "You reached the output limit before you had said anything. Think less this time, \
                              and answer.";

/// What the user reads after stopping a compaction.
const UNCOMPACTED: &str = "The compaction was stopped. The conversation is as it was.";

/// The names of slug's notes to the model in the midst of a turn.
const CONTINUATION: &str = "continuation";
const ROUNDS: &str = "rounds";

/// What the model is told when its rounds of tool calls are used up.
const NO_ROUNDS_LEFT: &str = "This turn has used all its rounds of tool calls, so no call runs any more. \
                              Answer with text alone: what is done, what is open, and what comes next.";

/// The state of a running turn besides the machine: its stream, calls, pause and open questions.
pub(super) struct TurnRun {
    pub(super) turn: TurnId,
    pub(super) cancel: CancellationToken,
    machine: TurnMachine,
    gate: Arc<ToolGate>,
    model: String,
    fallback: ModelFallback,
    system: String,
    cancel_state: CancelState,
    front_end: FrontEndState,
    stream: Option<AnswerStream>,
    answered: Option<ContentHash>,
    tool_choice: ToolChoice,
    /// The output limit of the last request; `None` left it to the server.
    max_tokens: Option<u32>,
    /// The measure of the request that is being answered.
    measure: Option<u64>,
    /// The next request asks for the least answer: the server has refused a longer one, and nothing can be
    /// left out.
    wants_least_answer: bool,
    /// The request in the debug log, until its response is logged, too.
    exchange: Option<DebugEventNumber>,
    first_token: Option<Instant>,
    /// How much of the current response has arrived, in bytes of text, thinking and calls.
    streamed: usize,
    server: ServerHistory,
    /// Whether the server could not be reached since its last response. It may be another one by now.
    was_away: bool,
    calls: Option<CallBatch>,
    pause_over: Option<tokio::time::Instant>,
    steering: VecDeque<(SteerId, UserInput)>,
    outcome: Option<TurnOutcome>,
    /// What the server has said when it refused the last request as too long.
    overflow: Option<RequestOverflow>,
    /// What the last failed request says about the provider.
    fault: Option<ProviderFault>,
    /// The question about the budget that the next request waits for.
    over_budget: Option<budget::BudgetQuestion>,
    /// The running `Stop` hooks that the end of the turn waits for.
    stop_hooks: Option<JoinHandle<MergedHookVerdict>>,
    /// The compaction that the next request waits for.
    compaction: Option<CompactionRun>,
    purpose: TurnPurpose,
}

/// Why a turn was begun, which decides what it does first and which commands wait for its end.
pub(super) enum TurnPurpose {
    /// To answer the user.
    Answer,
    /// To go on with the reports of agents in the background.
    Reports,
    /// To make the conversation shorter. Holds what the summary is to keep above all.
    Compaction { focus: Option<String> },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CancelState {
    NotYet,
    Seen,
}

/// Whether the fallback model answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ModelFallback {
    No,
    Yes,
}

/// Whether the front end still sends commands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FrontEndState {
    Connected,
    Disconnected,
}

enum TurnRunEvent {
    Input(TurnInput),
    /// The batch ended abnormally; some of these calls may have no result.
    CallsLost(Vec<ToolCall>),
    Command(AgentCommand),
    Budget(ApprovalAnswer),
    HooksAsked(Box<MergedHookVerdict>),
    Compacted(Box<CompletedCompaction>),
    FrontEndGone,
}

impl TurnRun {
    pub(super) fn new(
        gate: Arc<ToolGate>,
        machine: TurnMachine,
        model: String,
        system: String,
        purpose: TurnPurpose,
    ) -> Self {
        Self {
            turn: gate.turn,
            cancel: gate.context.cancel.clone(),
            machine,
            gate,
            model,
            fallback: ModelFallback::No,
            system,
            cancel_state: CancelState::NotYet,
            front_end: FrontEndState::Connected,
            stream: None,
            answered: None,
            tool_choice: ToolChoice::Auto,
            max_tokens: None,
            measure: None,
            wants_least_answer: false,
            exchange: None,
            first_token: None,
            streamed: 0,
            server: ServerHistory::Unknown,
            was_away: false,
            calls: None,
            pause_over: None,
            steering: VecDeque::new(),
            outcome: None,
            overflow: None,
            fault: None,
            over_budget: None,
            stop_hooks: None,
            compaction: None,
            purpose,
        }
    }

    /// Waits for whatever happens next. A stop comes before everything else, commands before data.
    async fn next(&mut self, commands: &mut CommandInbox) -> TurnRunEvent {
        let cancelled = async {
            match self.cancel_state {
                CancelState::NotYet => self.cancel.cancelled().await,
                CancelState::Seen => pending().await,
            }
        };
        let failures = self.machine.failures();
        let known = (self.machine.response_progress(), self.server);
        tokio::select! {
            biased;
            () = cancelled => {
                self.cancel_state = CancelState::Seen;
                self.stream = None;
                self.pause_over = None;
                TurnRunEvent::Input(TurnInput::Cancelled)
            }
            command = commands.next_meanwhile(), if self.front_end == FrontEndState::Connected => match command {
                Some(command) => TurnRunEvent::Command(command),
                None => {
                    self.front_end = FrontEndState::Disconnected;
                    TurnRunEvent::FrontEndGone
                }
            },
            piece = next_piece(&mut self.stream) => TurnRunEvent::Input(match piece {
                Some(Ok(event)) => TurnInput::Event(event),
                Some(Err(error)) => {
                    self.was_away |= error.status.is_none();
                    failed(error, failures, known)
                }
                None => failed(ended_early(), failures, known),
            }),
            lost = finished(&mut self.calls) => match (lost, self.gate.repeats.hopeless()) {
                (None, Some(why)) => TurnRunEvent::Input(TurnInput::CallsRepeated(why)),
                (None, None) => TurnRunEvent::Input(TurnInput::CallsDone),
                (Some(calls), _) => TurnRunEvent::CallsLost(calls),
            },
            answer = budget::answered(&mut self.over_budget) => TurnRunEvent::Budget(answer),
            merged = asked_hooks(&mut self.stop_hooks) => TurnRunEvent::HooksAsked(Box::new(merged)),
            done = summary::completed(&mut self.compaction) => TurnRunEvent::Compacted(Box::new(done)),
            () = wait_until(self.pause_over) => TurnRunEvent::Input(TurnInput::PauseOver),
        }
    }

    /// Starts what can run before the response has ended, and drops it where the response is void.
    fn start_calls_early(&self, has_more_of_call: bool) {
        match self.machine.response().filter(|response| response.has_begun()) {
            Some(response) if has_more_of_call && self.tool_choice == ToolChoice::Auto => {
                start_complete_calls(&self.gate, response);
            }
            Some(_) => {}
            None if self.calls.is_none() => self.gate.early.clear(),
            None => {}
        }
    }

    /// Tells the running calls whether a message of the user waits for their end.
    fn signal_steering(&self) {
        self.gate.context.steering.set(!self.steering.is_empty());
    }
}

impl Agent {
    /// Runs a turn to its end. Its first message must be in the log.
    pub(super) async fn drive(&mut self, running: TurnRun) {
        let (session, turn, model) = (self.session.id, running.turn.0, running.model.clone());
        let span = tracing::info_span!("turn", %session, turn, model);
        self.drive_to_end(running).instrument(span).await;
    }

    async fn drive_to_end(&mut self, mut running: TurnRun) {
        let mut event = TurnRunEvent::Input(match running.purpose {
            TurnPurpose::Answer | TurnPurpose::Reports => TurnInput::Begun,
            TurnPurpose::Compaction { .. } => TurnInput::CompactionAsked,
        });
        loop {
            match event {
                TurnRunEvent::Input(input) => self.take(&mut running, input).await,
                TurnRunEvent::CallsLost(calls) => self.calls_lost(&mut running, calls).await,
                TurnRunEvent::Command(command) => self.command_in_turn(&mut running, command).await,
                TurnRunEvent::Budget(answer) => self.take_budget(&mut running, &answer).await,
                TurnRunEvent::HooksAsked(merged) => {
                    let input = match self.apply_stop_hooks(&merged, &running.gate).await {
                        StopHookDecision::Continue => TurnInput::HooksContinue,
                        StopHookDecision::End => TurnInput::HooksAllowEnd,
                    };
                    self.take(&mut running, input).await;
                }
                TurnRunEvent::Compacted(done) => {
                    let trigger = done.trigger;
                    let result =
                        self.end_compaction(running.request_base(), *done, &running.cancel).await;
                    let result = self.with_least_answer(&mut running, trigger, result).await;
                    self.take(&mut running, TurnInput::Compacted(result)).await;
                }
                TurnRunEvent::FrontEndGone => running.cancel.cancel(),
            }
            if running.outcome.is_some() {
                break;
            }
            event = running.next(&mut self.commands).await;
        }
        self.end(running).await;
    }

    async fn take(&mut self, running: &mut TurnRun, input: TurnInput) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            self.tell_of(running, &input);
            if matches!(
                input,
                TurnInput::Failed { .. } | TurnInput::Event(StreamEvent::Finished(_))
            ) {
                running.stream = None;
            }
            if let TurnInput::Failed { error, .. } = &input {
                running.fault = Some(error.fault());
                running.overflow = error.overflow();
            }
            if let TurnInput::Failed { error, .. } = &input
                && let Some(exchange) = running.exchange.take()
            {
                let failed = json!({"error": error.message, "status": error.status});
                self.setup.debug.response(exchange, failed);
            }
            if input == TurnInput::PauseOver {
                running.pause_over = None;
            }
            let is_of_call = matches!(input, TurnInput::Event(StreamEvent::ToolInputDelta { .. }));
            for action in running.machine.step(input) {
                inputs.extend(self.perform(running, action).await);
            }
            running.start_calls_early(is_of_call);
        }
    }

    /// Forwards the pieces of a response to the front end.
    fn tell_of(&self, running: &mut TurnRun, input: &TurnInput) {
        let TurnInput::Event(event) = input else { return };
        let turn = running.turn;
        let forwarded = match event {
            StreamEvent::Started
            | StreamEvent::Signature(_)
            | StreamEvent::Sealed { .. }
            | StreamEvent::Usage(_)
            | StreamEvent::Finished(_) => return,
            StreamEvent::RateLimited(held) => {
                AgentEvent::RequestRateLimited { turn, held: held.clone() }
            }
            StreamEvent::Prefill(progress) => AgentEvent::Prefill { turn, progress: *progress },
            StreamEvent::Text(text) => {
                running.streamed += text.len();
                AgentEvent::Text { turn, text: text.clone() }
            }
            StreamEvent::Thinking(text) => {
                running.streamed += text.len();
                AgentEvent::Thinking { turn, text: text.clone() }
            }
            StreamEvent::ToolUseStarted { id, name, .. } => {
                running.streamed += name.len();
                AgentEvent::CallStarted { turn, call: id.clone(), name: name.clone() }
            }
            StreamEvent::ToolInputDelta { index, json } => {
                running.streamed += json.len();
                let response = running.machine.response();
                let Some(call) = response.and_then(|response| response.call_id(*index)) else {
                    return;
                };
                AgentEvent::CallInput { turn, call: call.clone(), json: json.clone() }
            }
        };
        if !matches!(forwarded, AgentEvent::Prefill { .. } | AgentEvent::RequestRateLimited { .. })
        {
            running.first_token.get_or_insert_with(Instant::now);
        }
        self.events.send(forwarded);
    }

    async fn perform(&mut self, running: &mut TurnRun, action: TurnAction) -> Option<TurnInput> {
        match action {
            TurnAction::Request => {
                running.tool_choice = ToolChoice::Auto;
                self.tell_changed_mode(running.turn).await;
                self.tell_ended_jobs(running.turn).await;
                self.tell_ended_agents(running.turn).await;
                self.note_budgets(running.turn);
                self.tell_late_findings(running.turn).await;
                self.tell_nested_instructions(running.turn).await;
                return self.request_or_compact(running).await;
            }
            TurnAction::RequestWithoutTools => {
                running.tool_choice = ToolChoice::None;
                return self.request_or_compact(running).await;
            }
            TurnAction::NoteRoundsLeft(left) => {
                write_note(&running.gate, ROUNDS, rounds_left(left)).await;
            }
            TurnAction::AskForSummary => {
                write_note(&running.gate, ROUNDS, NO_ROUNDS_LEFT.to_owned()).await;
            }
            TurnAction::WarnNoSummary(reason) => {
                self.warn(format!(
                    "The model could not sum up what is done and what is open: {reason}"
                ));
            }
            TurnAction::Record { message, stop, usage } => {
                self.record_response(running, message, stop, usage).await;
            }
            TurnAction::Run(calls) => {
                let batch = batch::run(running.gate.clone(), calls.clone()).in_current_span();
                running.calls = Some(CallBatch { calls, running: tokio::spawn(batch) });
            }
            TurnAction::Refuse { calls, reason } => {
                for call in calls {
                    refuse(&running.gate, &call, &reason).await;
                }
            }
            TurnAction::RefuseCut(calls) => {
                let reason = cut_call(running.max_tokens);
                for call in calls {
                    refuse(&running.gate, &call, &reason).await;
                }
            }
            TurnAction::TakeSteering => {
                let waiting = std::mem::take(&mut running.steering);
                running.signal_steering();
                running.gate.repeats.begin_anew();
                for (id, text) in waiting {
                    let hook_note = match self.check_message(&text.text, &running.cancel).await {
                        Ok(hook_note) => hook_note,
                        Err(reason) => {
                            let returned = Some(text);
                            self.events.send(AgentEvent::SteerSettled { id, returned });
                            self.warn(reason);
                            continue;
                        }
                    };
                    let timing = PromptTiming::InTurn;
                    let prompt = self.slash_blocks(&text.text, timing, &running.cancel).await;
                    let prompt = match prompt {
                        Ok(blocks) => blocks,
                        Err(reason) => {
                            let returned = Some(text);
                            self.events.send(AgentEvent::SteerSettled { id, returned });
                            reason.into_iter().for_each(|reason| self.warn(reason));
                            continue;
                        }
                    };
                    let mentioned = self.mention_blocks(&text.text, &running.gate.context);
                    let mentioned = running.cancel.run_until_cancelled(mentioned).await;
                    let mentioned = mentioned.unwrap_or_default();
                    let notes = hook_note.into_iter().chain(mentioned).chain(prompt);
                    let content = notes.chain(text.into_blocks()).collect();
                    let message = Message { role: MessageRole::User, content };
                    let entry = LogEntry::Message(MessageEntry::new(message));
                    self.events.send(AgentEvent::SteerSettled { id, returned: None });
                    running.gate.journal.write(running.turn, entry).await;
                }
            }
            TurnAction::Pause { again, reason } => {
                running.pause_over = Some(tokio::time::Instant::now() + again.pause);
                self.dropped(running, reason, Some(again));
            }
            TurnAction::Drop(reason) => self.dropped(running, reason, None),
            TurnAction::Compact(trigger) => self.begin_compaction(running, trigger).await,
            TurnAction::TellUncompacted => self.events.notice(NoticeLevel::Info, UNCOMPACTED),
            TurnAction::FallBack { model, reason } => {
                self.warn(format!("{reason} slug uses {model} for the rest of this turn."));
                self.tell_named(&model).await;
                running.model = model;
                running.fallback = ModelFallback::Yes;
            }
            TurnAction::ContinueTruncated(point) => {
                let text = match point {
                    TruncationPoint::Answer => GO_ON,
                    TruncationPoint::Thought => GO_ON_SPEAKING,
                };
                write_note(&running.gate, CONTINUATION, text.to_owned()).await;
            }
            TurnAction::AskHooks(state) => {
                let (hooks, cancel) = (running.gate.hooks.clone(), running.cancel.clone());
                let payload = HookPayload::Stop { active: state == StopHookState::Active };
                let asking = async move { hooks.fire(&payload, &cancel).await };
                running.stop_hooks = Some(tokio::spawn(asking.in_current_span()));
            }
            TurnAction::WarnTruncated => {
                let limit = output_limit(running.max_tokens);
                self.warn(format!(
                    "The answer was cut off at {limit} several times. Send \"go on\", or raise \
                     `max_tokens` in config.toml."
                ));
            }
            TurnAction::DescribeTools(reason) => {
                self.tell_of_described_tools(&running.model, Some(reason));
            }
            TurnAction::LeaveImagesOut(reason) => {
                self.images.leave_out(&running.model);
                self.warn(format!(
                    "{reason} slug leaves the images out, with a note in their place."
                ));
            }
            TurnAction::End(outcome) => running.outcome = Some(outcome),
        }
        None
    }

    /// Tells the front end that what streamed is void.
    fn dropped(&self, running: &mut TurnRun, reason: String, again: Option<RetryAttempt>) {
        running.first_token = None;
        self.events.send(AgentEvent::ResponseDropped { turn: running.turn, reason, again });
    }

    /// Logs a result for each call that has none after its batch ended abnormally.
    async fn calls_lost(&mut self, running: &mut TurnRun, calls: Vec<ToolCall>) {
        self.session.catch_up();
        for call in calls {
            if self.session.conversation.open_calls.iter().any(|open| open.id == call.id) {
                give_up(&running.gate, &call).await;
            }
        }
        self.take(running, TurnInput::CallsDone).await;
    }

    async fn command_in_turn(&mut self, running: &mut TurnRun, command: AgentCommand) {
        match command {
            AgentCommand::Steer { id, text } => {
                running.steering.push_back((id, text));
                running.signal_steering();
                self.take(running, TurnInput::Steered).await;
            }
            AgentCommand::WithdrawSteer { id } => {
                let at = running.steering.iter().position(|(waiting, _)| *waiting == id);
                if let Some((id, text)) = at.and_then(|at| running.steering.remove(at)) {
                    self.events.send(AgentEvent::SteerSettled { id, returned: Some(text) });
                }
                running.signal_steering();
                if running.steering.is_empty() {
                    self.take(running, TurnInput::Unsteered).await;
                }
            }
            command if command.is_possible_at_any_time() => self.command_at_any_time(command).await,
            command => match running.purpose {
                TurnPurpose::Answer => {
                    self.events.send(AgentEvent::CommandRefused(CommandRefusal::TurnRunning));
                }
                // The front end may not know yet that a turn runs.
                TurnPurpose::Compaction { .. } | TurnPurpose::Reports => {
                    self.commands.hold(command);
                }
            },
        }
    }

    /// Returns steering messages that were not used, and ends the turn.
    async fn end(&mut self, mut running: TurnRun) {
        self.record_stopped_compaction(&mut running).await;
        let TurnRun { machine, gate, steering, outcome, fault, over_budget, purpose, .. } = running;
        if let Some(question) = over_budget {
            self.events.send(AgentEvent::ApprovalWithdrawn(question.id));
        }
        if running.fallback == ModelFallback::Yes {
            self.tell_model().await;
        }
        for (id, text) in steering {
            self.events.send(AgentEvent::SteerSettled { id, returned: Some(text) });
        }
        let outcome = outcome.unwrap_or(TurnOutcome::Interrupted);
        if let (TurnOutcome::Failed(_), Some(fault)) = (&outcome, fault) {
            self.tell_fault(fault);
        }
        self.end_turn(&gate, outcome, machine.rounds(), &purpose).await;
    }

    fn warn(&self, text: impl Into<String>) {
        self.events.notice(NoticeLevel::Warning, text);
    }
}

/// Logs a note of slug's to the model.
async fn write_note(gate: &ToolGate, name: &str, text: String) {
    let note = ContentBlock::Context { name: name.to_owned(), text };
    let message = Message { role: MessageRole::User, content: vec![note] };
    gate.journal.write(gate.turn, LogEntry::Message(MessageEntry::new(message))).await;
}

fn failed(
    error: ProviderError,
    failures: u32,
    known: (ReceivedContent, ServerHistory),
) -> TurnInput {
    let again = match retry::next(failures + 1, &error, known, random_fraction()) {
        RetryDecision::Retry(again) => Some(again),
        RetryDecision::Stop => None,
    };
    TurnInput::Failed { error, again }
}
