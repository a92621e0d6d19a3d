//! One turn on its way: waits for whatever comes next, feeds the turn machine, and carries out
//! what it says.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::pending;
use futures_util::stream::BoxStream;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::domain::{
    Answer, Block, ContentHash, Message, ModelName, NoticeLevel, Role, StopReason, ToolCall,
    TurnId, Typed, Usage,
};
use crate::hooks::{HookPayload, MergedHookVerdict};
use crate::platform::debug_log::ExchangeNumber;
use crate::providers::retry::{self, ReceivedContent, RetryAttempt, RetryDecision};
use crate::providers::{ErrorRecovery, ProviderError, StreamEvent, limit_response};
use crate::session::{LogEntry, MessageEntry, TurnOutcome};

use super::budget::Verdict;
use super::driver::{Agent, left_out};
use super::gate::{Gate, give_up, refuse};
use super::lifecycle::Ends;
use super::normalise::{is_silent, normalise};
use super::stop::Inbox;
use super::turn::{Action, Compacted, Cut, Held, Input, Turn};
use super::{Command, Event, SteerId, batch, budget, known, request, seals};

/// What the model is told where the output limit cut its answer.
const GO_ON: &str = "Your answer was cut off at the output limit. Go on exactly where it stops, in the \
                     midst of the word if need be. Repeat nothing, and say nothing about this note.";

/// What it is told where the limit left no room for an answer.
const GO_ON_SPEAKING: &str = "You reached the output limit before you had said anything. Think less this time, \
                              and answer.";

/// A turn that runs.
pub(super) struct Running {
    pub(super) turn: TurnId,
    pub(super) cancel: CancellationToken,
    machine: Turn,
    gate: Arc<Gate>,
    model: String,
    stands_in: StandsIn,
    system: String,
    cancel_seen: CancelSeen,
    front_end: FrontEnd,
    stream: Option<BoxStream<'static, Result<StreamEvent, ProviderError>>>,
    answered: Option<ContentHash>,
    /// The request in the debug log, until its response is there, too.
    exchange: Option<ExchangeNumber>,
    first_token: Option<Instant>,
    calls: Option<Batch>,
    pause_over: Option<tokio::time::Instant>,
    steering: VecDeque<(SteerId, Typed)>,
    outcome: Option<TurnOutcome>,
    /// What the person has to say before the next request.
    over_budget: Option<budget::Question>,
    /// What hooks have to say before the turn ends.
    ending: Option<JoinHandle<MergedHookVerdict>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CancelSeen {
    NotYet,
    Seen,
}

/// Whether a model answers that was not asked first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StandsIn {
    No,
    Yes,
}

/// Whether somebody still sends commands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FrontEnd {
    There,
    Gone,
}

/// The calls of a response on their way.
struct Batch {
    calls: Vec<ToolCall>,
    running: JoinHandle<()>,
}

enum Happened {
    Input(Input),
    /// These calls ended, some of them perhaps without a result.
    CallsLost(Vec<ToolCall>),
    Command(Command),
    /// The person has said what becomes of a turn over its budget.
    Budget(Answer),
    /// Hooks have said whether the turn may end.
    HooksAsked(Box<MergedHookVerdict>),
    FrontEndGone,
}

impl Running {
    pub(super) fn new(gate: Arc<Gate>, machine: Turn, model: String, system: String) -> Self {
        Self {
            turn: gate.turn,
            cancel: gate.context.cancel.clone(),
            machine,
            gate,
            model,
            stands_in: StandsIn::No,
            system,
            cancel_seen: CancelSeen::NotYet,
            front_end: FrontEnd::There,
            stream: None,
            answered: None,
            exchange: None,
            first_token: None,
            calls: None,
            pause_over: None,
            steering: VecDeque::new(),
            outcome: None,
            over_budget: None,
            ending: None,
        }
    }

    /// Waits for whatever comes next. A stop goes before everything else, commands before data.
    async fn next(&mut self, commands: &mut Inbox) -> Happened {
        let cancelled = async {
            match self.cancel_seen {
                CancelSeen::NotYet => self.cancel.cancelled().await,
                CancelSeen::Seen => pending().await,
            }
        };
        let (failures, came) = (self.machine.failures(), self.machine.came());
        tokio::select! {
            biased;
            () = cancelled => {
                self.cancel_seen = CancelSeen::Seen;
                self.stream = None;
                self.pause_over = None;
                Happened::Input(Input::Cancelled)
            }
            command = commands.next_meanwhile(), if self.front_end == FrontEnd::There => match command {
                Some(command) => Happened::Command(command),
                None => {
                    self.front_end = FrontEnd::Gone;
                    Happened::FrontEndGone
                }
            },
            piece = next_piece(&mut self.stream) => Happened::Input(match piece {
                Some(Ok(event)) => Input::Event(event),
                Some(Err(error)) => failed(error, failures, came),
                None => failed(ended_early(), failures, came),
            }),
            lost = finished(&mut self.calls) => match lost {
                None => Happened::Input(Input::CallsDone),
                Some(calls) => Happened::CallsLost(calls),
            },
            answer = budget::answered(&mut self.over_budget) => Happened::Budget(answer),
            merged = asked_hooks(&mut self.ending) => Happened::HooksAsked(Box::new(merged)),
            () = at(self.pause_over) => Happened::Input(Input::PauseOver),
        }
    }
}

impl Agent {
    /// Runs a turn whose first message is in the log, to its end.
    pub(super) async fn drive(&mut self, running: Running) {
        let (session, turn, model) = (self.open.id, running.turn.0, running.model.clone());
        let span = tracing::info_span!("turn", %session, turn, model);
        self.drive_to_end(running).instrument(span).await;
    }

    async fn drive_to_end(&mut self, mut running: Running) {
        let mut happened = Happened::Input(Input::Begun);
        loop {
            match happened {
                Happened::Input(input) => self.take(&mut running, input).await,
                Happened::CallsLost(calls) => self.calls_lost(&mut running, calls).await,
                Happened::Command(command) => self.command_in_turn(&mut running, command).await,
                Happened::Budget(answer) => self.take_budget(&mut running, &answer).await,
                Happened::HooksAsked(merged) => {
                    let held = match self.held_up(&merged, &running.gate).await {
                        Ends::NotYet => Input::HeldUp,
                        Ends::Now => Input::LetGo,
                    };
                    self.take(&mut running, held).await;
                }
                Happened::FrontEndGone => running.cancel.cancel(),
            }
            if running.outcome.is_some() {
                break;
            }
            happened = running.next(&mut self.commands).await;
        }
        self.end(running).await;
    }

    async fn take(&mut self, running: &mut Running, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            self.tell_of(running, &input).await;
            if matches!(input, Input::Failed { .. } | Input::Event(StreamEvent::Finished(_))) {
                running.stream = None;
            }
            if let Input::Failed { error, .. } = &input
                && let Some(exchange) = running.exchange.take()
            {
                let failed = json!({"error": error.message, "status": error.status});
                self.setup.debug.response(exchange, &failed);
            }
            if input == Input::PauseOver {
                running.pause_over = None;
            }
            for action in running.machine.step(input) {
                inputs.extend(self.perform(running, action).await);
            }
        }
    }

    /// Forwards the pieces of a response to the front end.
    async fn tell_of(&self, running: &mut Running, input: &Input) {
        let Input::Event(event) = input else { return };
        let turn = running.turn;
        let told = match event {
            StreamEvent::Started
            | StreamEvent::Signature(_)
            | StreamEvent::Sealed { .. }
            | StreamEvent::Usage(_)
            | StreamEvent::Finished(_) => return,
            StreamEvent::RateLimited(held) => Event::RequestHeld { turn, held: held.clone() },
            StreamEvent::Prefill(progress) => Event::Prefill { turn, progress: *progress },
            StreamEvent::Text(text) => Event::Text { turn, text: text.clone() },
            StreamEvent::Thinking(text) => Event::Thinking { turn, text: text.clone() },
            StreamEvent::ToolUseStarted { id, name, .. } => {
                Event::CallStarted { turn, call: id.clone(), name: name.clone() }
            }
            StreamEvent::ToolInputDelta { index, json } => {
                let response = running.machine.response();
                let Some(call) = response.and_then(|response| response.call_id(*index)) else {
                    return;
                };
                Event::CallInput { turn, call: call.clone(), json: json.clone() }
            }
        };
        if !matches!(told, Event::Prefill { .. } | Event::RequestHeld { .. }) {
            running.first_token.get_or_insert_with(Instant::now);
        }
        self.events.tell(told).await;
    }

    async fn perform(&mut self, running: &mut Running, action: Action) -> Option<Input> {
        match action {
            Action::Request => self.request_within_budget(running).await,
            Action::Record { message, stop, usage } => {
                self.record_response(running, message, stop, usage).await;
            }
            Action::Run(calls) => {
                let batch = batch::run(running.gate.clone(), calls.clone()).in_current_span();
                running.calls = Some(Batch { calls, running: tokio::spawn(batch) });
            }
            Action::Refuse { calls, reason } => {
                for call in calls {
                    refuse(&running.gate, &call, &reason).await;
                }
            }
            Action::TakeSteering => {
                for (id, text) in std::mem::take(&mut running.steering) {
                    let heard = match self.message_checked(&text.text, &running.cancel).await {
                        Ok(heard) => heard,
                        Err(reason) => {
                            let returned = Some(text);
                            self.events.tell(Event::SteerSettled { id, returned }).await;
                            self.warn(reason).await;
                            continue;
                        }
                    };
                    let mentioned = self.mentioned(&text.text);
                    let mentioned = running.cancel.run_until_cancelled(mentioned).await.flatten();
                    let notes = heard.into_iter().chain(mentioned);
                    let content = notes.chain(text.into_blocks()).collect();
                    let message = Message { role: Role::User, content };
                    let entry = LogEntry::Message(MessageEntry::new(message));
                    self.events.tell(Event::SteerSettled { id, returned: None }).await;
                    running.gate.journal.write(running.turn, entry).await;
                }
            }
            Action::Pause { again, reason } => {
                running.pause_over = Some(tokio::time::Instant::now() + again.pause);
                self.dropped(running, reason, Some(again)).await;
            }
            Action::Drop(reason) => self.dropped(running, reason, None).await,
            Action::Compact(stage) => {
                let hooked = &running.gate.hooks;
                hooked.fire(&HookPayload::PreCompact { trigger: "auto" }, &running.cancel).await;
                // Where this is stopped half-way, the stop is the next thing that happens.
                let compaction =
                    running.cancel.run_until_cancelled(self.compaction(&[stage])).await?;
                return Some(Input::Compacted(match compaction {
                    Ok(Some(compaction)) => {
                        let text = left_out(&compaction);
                        self.open.write(running.turn, LogEntry::Compaction(compaction)).await;
                        self.warn(format!(
                            "The conversation was longer than what {} can read. {text}",
                            running.model
                        ))
                        .await;
                        Compacted::Shorter
                    }
                    Ok(None) => Compacted::NothingLeft,
                    Err(error) => {
                        self.error(error.to_string()).await;
                        Compacted::NothingLeft
                    }
                }));
            }
            Action::FallBack { model, reason } => {
                self.warn(format!("{reason} {model} answers for the rest of this turn.")).await;
                self.tell_named(&model).await;
                running.model = model;
                running.stands_in = StandsIn::Yes;
            }
            Action::GoOn(cut) => {
                let text = match cut {
                    Cut::Answer => GO_ON,
                    Cut::Thought => GO_ON_SPEAKING,
                };
                let note = Block::Context { name: "continuation".into(), text: text.into() };
                let message = Message { role: Role::User, content: vec![note] };
                let entry = LogEntry::Message(MessageEntry::new(message));
                running.gate.journal.write(running.turn, entry).await;
            }
            Action::AskHooks(held) => {
                let (hooked, cancel) = (running.gate.hooks.clone(), running.cancel.clone());
                let moment = HookPayload::Stop { active: held == Held::Before };
                let asking = async move { hooked.fire(&moment, &cancel).await };
                running.ending = Some(tokio::spawn(asking.in_current_span()));
            }
            Action::TellCut => {
                let facts = self.facts(&running.model).await;
                let limit = known::max_tokens(self.service().max_tokens, facts.as_ref());
                self.warn(format!(
                    "The answer was cut off at {limit} tokens, time and again. Say \"go on\", or \
                     raise `max_tokens` in config.toml."
                ))
                .await;
            }
            Action::LeaveImagesOut(reason) => {
                self.pictures.leave_out(&running.model);
                self.warn(format!(
                    "{reason} The images of this conversation are left out, with a note in their \
                     place."
                ))
                .await;
            }
            Action::End(outcome) => running.outcome = Some(outcome),
        }
        None
    }

    /// Tells that what streamed is void.
    async fn dropped(&self, running: &mut Running, reason: String, again: Option<RetryAttempt>) {
        running.first_token = None;
        let turn = running.turn;
        self.events.tell(Event::ResponseDropped { turn, reason, again }).await;
    }

    /// Gives each call of a batch that came to an abnormal end its result.
    async fn calls_lost(&mut self, running: &mut Running, calls: Vec<ToolCall>) {
        self.open.catch_up();
        for call in calls {
            if self.open.conversation.open_calls.iter().any(|open| open.id == call.id) {
                give_up(&running.gate, &call).await;
            }
        }
        self.take(running, Input::CallsDone).await;
    }

    async fn request_within_budget(&mut self, running: &mut Running) {
        match self.within_budget(&running.gate.clone(), &running.model).await {
            Verdict::Fits => self.request(running).await,
            Verdict::Asked(question) => running.over_budget = Some(question),
            Verdict::Stop(reason) => running.outcome = Some(TurnOutcome::Budget(reason)),
        }
    }

    async fn take_budget(&mut self, running: &mut Running, answer: &Answer) {
        let Some(question) = running.over_budget.take() else { return };
        match answer {
            Answer::Once | Answer::Part { .. } | Answer::Edited { .. } => {}
            Answer::Session { .. } | Answer::Always { .. } => {
                self.allowance.double(running.turn, &question.overdraft);
            }
            Answer::Never { .. } | Answer::Deny { .. } => {
                let reason = question.overdraft.to_string();
                running.outcome = Some(TurnOutcome::Budget(reason));
                return;
            }
        }
        self.request(running).await;
    }

    async fn request(&mut self, running: &mut Running) {
        self.open.catch_up();
        let history = self.open.conversation.messages.iter().map(|(_, message)| message.clone());
        let mut messages = normalise(history);
        let facts = self.facts(&running.model).await;
        self.heed_images(&running.model, facts.as_ref());
        let images = self.pictures.fill(&mut messages, &running.model, &self.setup.blobs).await;
        let parts = request::Parts {
            model: &running.model,
            system: &running.system,
            tools: running.gate.registry.specs(),
            max_tokens: known::max_tokens(self.service().max_tokens, facts.as_ref()),
            temperature: self.setup.temperature,
            effort: known::effort(self.effort, facts.as_ref()),
        };
        let seals = &self.open.conversation.seals;
        let hashes = seals::unseal(&parts, &mut messages, seals);
        running.answered = Some(hashes.whole.clone());
        let request = request::build(&parts, request::Said { messages, images });
        running.exchange = request::log(&self.setup.debug, &request);
        let name = ModelName::new(self.service().name.as_str(), request.model.as_str());
        self.prefix.sent(name, hashes);
        running.first_token = None;
        tracing::info!(model = running.model, messages = request.messages.len(), "request");
        self.events.tell(Event::RequestSent { turn: running.turn }).await;
        let cancel = running.cancel.child_token();
        let stream = limit_response(self.service().provider.stream(request, cancel));
        // A server may repeat the key in another form than it was sent in.
        let redactor = self.setup.redactor.clone();
        let cleaned = stream.map(move |event| {
            event.map_err(|error| {
                let message = redactor.redact_own(&error.message).into_owned();
                ProviderError { message, ..error }
            })
        });
        running.stream = Some(cleaned.boxed());
    }

    async fn record_response(
        &mut self,
        running: &mut Running,
        message: Message,
        stop: StopReason,
        usage: Option<Usage>,
    ) {
        let streamed_for = running.first_token.take().map_or(Duration::ZERO, |at| at.elapsed());
        let is_silent = is_silent(&message);
        if let Some(exchange) = running.exchange.take() {
            let response = json!({"message": message, "stop_reason": stop, "usage": usage});
            self.setup.debug.response(exchange, &response);
        }
        let entry = MessageEntry {
            stop_reason: Some(stop),
            usage,
            cost: self.cost(&running.model, usage).await,
            model: Some(running.model.clone()),
            answered: running.answered.take(),
            ..MessageEntry::new(message)
        };
        running.gate.journal.write(running.turn, LogEntry::Message(entry)).await;
        let Usage { input, output, cache_read, cache_write } = usage.unwrap_or_default();
        tracing::info!(input, output, cache_read, cache_write, ?streamed_for, "response");
        let ended = Event::ResponseEnded { turn: running.turn, stop, usage, streamed_for };
        self.events.tell(ended).await;
        self.tell_spent().await;
        self.tell_cache(usage).await;
        match stop {
            StopReason::Refusal => {
                self.warn("The provider withheld the rest of this answer.").await;
            }
            StopReason::EndTurn | StopReason::ToolUse if is_silent => {
                self.warn("The model answered with nothing. /retry asks again.").await;
            }
            StopReason::EndTurn
            | StopReason::ToolUse
            | StopReason::MaxTokens
            | StopReason::Paused
            | StopReason::Interrupted => {}
        }
    }

    async fn command_in_turn(&mut self, running: &mut Running, command: Command) {
        match command {
            Command::Steer { id, text } => {
                running.steering.push_back((id, text));
                self.take(running, Input::Steered).await;
            }
            Command::Unsteer { id } => {
                let at = running.steering.iter().position(|(waiting, _)| *waiting == id);
                if let Some((id, text)) = at.and_then(|at| running.steering.remove(at)) {
                    self.events.tell(Event::SteerSettled { id, returned: Some(text) }).await;
                }
                if running.steering.is_empty() {
                    self.take(running, Input::Unsteered).await;
                }
            }
            Command::Answer { .. }
            | Command::SetMode(_)
            | Command::SetTitle(_)
            | Command::Rules(_) => {
                self.command_at_any_time(command).await;
            }
            Command::Send { .. }
            | Command::Shell { .. }
            | Command::Retry
            | Command::Compact
            | Command::NewSession
            | Command::Resume { .. }
            | Command::Fork { .. }
            | Command::PlanRewind(_)
            | Command::Rewind { .. }
            | Command::SetModel(_)
            | Command::UseModel(_)
            | Command::SetEffort(_) => {
                self.warn("A turn is running: wait for its end, or stop it with Escape.").await;
            }
        }
    }

    /// Hands back what did not go in, and ends the turn.
    async fn end(&mut self, running: Running) {
        let Running { machine, gate, steering, outcome, stands_in, over_budget, .. } = running;
        if let Some(question) = over_budget {
            self.events.tell(Event::ApprovalWithdrawn(question.id)).await;
        }
        if stands_in == StandsIn::Yes {
            self.tell_model().await;
        }
        for (id, text) in steering {
            self.events.tell(Event::SteerSettled { id, returned: Some(text) }).await;
        }
        let outcome = outcome.unwrap_or(TurnOutcome::Interrupted);
        self.end_turn(&gate, outcome, machine.usage()).await;
    }

    async fn warn(&self, text: impl Into<String>) {
        self.events.notice(NoticeLevel::Warning, text).await;
    }
}

async fn next_piece(
    stream: &mut Option<BoxStream<'static, Result<StreamEvent, ProviderError>>>,
) -> Option<Result<StreamEvent, ProviderError>> {
    match stream {
        Some(stream) => stream.next().await,
        None => pending().await,
    }
}

/// Waits for the running calls; what they are, where they ended abnormally.
async fn finished(batch: &mut Option<Batch>) -> Option<Vec<ToolCall>> {
    let ended = match batch {
        Some(batch) => (&mut batch.running).await,
        None => pending().await,
    };
    let batch = batch.take()?;
    ended.err().map(|error| {
        tracing::error!(%error, "a batch of calls ended abnormally");
        batch.calls
    })
}

/// What hooks say to the end of the turn. Where they could not be heard, it ends.
async fn asked_hooks(ending: &mut Option<JoinHandle<MergedHookVerdict>>) -> MergedHookVerdict {
    let merged = match ending {
        Some(ending) => ending.await,
        None => pending().await,
    };
    *ending = None;
    merged.unwrap_or_else(|error| {
        tracing::error!(%error, "asking hooks ended abnormally");
        MergedHookVerdict::default()
    })
}

async fn at(when: Option<tokio::time::Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when).await,
        None => pending().await,
    }
}

fn failed(error: ProviderError, failures: u32, came: ReceivedContent) -> Input {
    let again = match retry::next(failures + 1, &error, came, random_fraction()) {
        RetryDecision::Retry(again) => Some(again),
        RetryDecision::Stop => None,
    };
    Input::Failed { error, again }
}

fn ended_early() -> ProviderError {
    ProviderError {
        message: "The server closed the connection before the answer was complete.".into(),
        status: None,
        recovery: ErrorRecovery::Retry,
    }
}

/// Between 0 and 1, from the random bits of a UUID.
pub(super) fn random_fraction() -> f64 {
    let bits = uuid::Uuid::new_v4().as_u64_pair().1 & u64::from(u32::MAX);
    #[allow(clippy::cast_precision_loss, reason = "32 bits fit a double exactly")]
    let fraction = bits as f64 / f64::from(u32::MAX);
    fraction
}
