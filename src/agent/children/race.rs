//! A race: two models answer the same message side by side, each in a fork of the conversation, and the
//! user takes one of the two answers.
//!
//! The message is in the log before either fork is made, so both begin with the same bytes. They only read
//! (`ForkLimits::Race`). An answer that is taken is copied record by record, as if it had been given
//! here; what it cost was counted while it was a child's. The other one stays in its own log. Whatever
//! ends a race otherwise leaves a message without an answer. What the user types is read in
//! `race_entry`.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::agent::active_session::note_read;
use crate::agent::agent_handle::InitialSession;
use crate::agent::agent_loop::Agent;
use crate::agent::blocking::blocking;
use crate::agent::tool_gate::{Interactivity, ToolGate};
use crate::agent::turn_runner::{FrontEndState, TurnPurpose};
use crate::agent::{AgentCommand, AgentEvent, CommandRefusal};
use crate::domain::{
    AgentId, CallId, ModelName, NoticeLevel, SessionId, SpawnOrigin, SubagentState,
    SubagentSummary, UserInput,
};
use crate::session::{LogEntry, LogRecord, MessageEntry, TurnEnd, TurnOutcome};

use super::call_agents::{begun, ended_of};
use super::fork_agent::{DEADLINE, NO_PLACE, SILENCE, agents_on_record};
use super::session_agents::ChildAgent;

/// The type of an agent in a race, as lists show it.
pub(super) const RACE: &str = "race";

/// How long an agent that is stopped may take to say what it has used.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Why there is no race where nobody chooses.
const NOBODY_CHOOSES: &str =
    "/race needs slug's full screen, where you take one of the two answers.";

/// One of the two agents of a race.
struct RaceSide {
    model: ModelName,
    session: SessionId,
    child: Arc<ChildAgent>,
}

/// How a race has ended.
enum RaceEnd {
    /// The user takes the answer of the side with this index.
    Taken(usize),
    Stopped,
    /// Neither side has an answer.
    NoAnswer,
}

impl RaceSide {
    fn state(&self) -> SubagentState {
        self.child.summary().state
    }

    fn agent(&self) -> AgentId {
        self.child.summary().agent
    }

    /// Stops it if it runs, and waits until what it has used is counted.
    async fn stop(&self) {
        if self.state().is_running() {
            self.child.stop.stop_turn();
            if timeout(LAST_WORDS, ended_of(&self.child)).await.is_err() {
                self.child.change(|summary| summary.state = SubagentState::Stopped);
            }
        }
    }

    /// Why it has no answer, as the middle of a sentence.
    fn failure(&self) -> String {
        let reason = self.child.end.borrow().as_ref().map(|end| end.reason.clone());
        let reason = reason.filter(|reason| !reason.is_empty());
        let words = self.state().words();
        format!("{}: {}", self.model.model, reason.unwrap_or_else(|| format!("{words}.")))
    }
}

impl Agent {
    /// Has two models answer what the user typed behind `/race`.
    pub(in crate::agent) async fn race(&mut self, typed: String) {
        if self.setup.parent.is_some() {
            return self.events.send(AgentEvent::CommandRefused(CommandRefusal::StartedAgent));
        }
        let line = UserInput::from(format!("/race {typed}"));
        if self.setup.interactivity == Interactivity::Headless {
            return self.give_back(line, Some(NOBODY_CHOOSES.to_owned()));
        }
        let (models, text) = match self.race_entry(&typed) {
            Ok(entry) => entry,
            Err(reason) => return self.give_back(line, Some(reason)),
        };
        let Some(gate) = self.begin_message(text, line).await else { return };
        let (outcome, rounds) = self.run_race(&gate, models).await;
        self.end_turn(&gate, outcome, rounds, &TurnPurpose::Answer).await;
    }

    /// Runs a race to its end. Returns how the turn ends, and after how many rounds of tool calls.
    async fn run_race(&mut self, gate: &ToolGate, models: [ModelName; 2]) -> (TurnOutcome, u32) {
        // Nobody is asked for more: the message can be sent without a race.
        for name in &models {
            if let Some(overdraft) = self.overdraft(gate.turn, &name.model).await {
                return (TurnOutcome::Budget(overdraft.to_string()), 0);
            }
        }
        if gate.context.cancel.is_cancelled() {
            return (TurnOutcome::Interrupted, 0);
        }
        let sides = match self.start_sides(gate, models).await {
            Ok(sides) => sides,
            Err(reason) => return (TurnOutcome::Failed(reason), 0),
        };
        let [first, second] = &sides;
        let agents = [first.agent(), second.agent()];
        self.events.send(AgentEvent::RaceStarted { sides: agents });
        let end = self.race_end(gate, &sides).await;
        tokio::join!(first.stop(), second.stop());
        let (taken, outcome, rounds) = match end {
            RaceEnd::Stopped => (None, TurnOutcome::Interrupted, 0),
            RaceEnd::NoAnswer
                if sides.iter().all(|side| side.state() == SubagentState::Stopped) =>
            {
                (None, TurnOutcome::Interrupted, 0)
            }
            RaceEnd::NoAnswer => {
                let (one, other) = (first.failure(), second.failure());
                let reason = format!("Neither model has answered. {one} {other}");
                (None, TurnOutcome::Failed(reason), 0)
            }
            RaceEnd::Taken(at) => match self.take_answer(gate, &sides[at]).await {
                Ok(end) => (Some(&sides[at]), TurnOutcome::Answered, end.rounds),
                Err(reason) => (None, TurnOutcome::Failed(reason), 0),
            },
        };
        if let Some(side) = taken {
            side.child.change(|summary| summary.task.push_str(", taken"));
        }
        for side in &sides {
            self.events.send(AgentEvent::Subagent(Box::new(side.child.summary())));
        }
        let ended = agents_on_record(sides.iter().map(|side| side.child.summary()).collect());
        gate.journal.write(gate.turn, LogEntry::Message(ended)).await;
        self.session.catch_up();
        self.events.send(AgentEvent::RaceEnded { taken: taken.map(RaceSide::agent) });
        if let Some(side) = taken {
            self.tell_taken(side);
        }
        (outcome, rounds)
    }

    /// Starts both sides on the conversation as it is in the log.
    ///
    /// # Errors
    ///
    /// Why there is no race, as a sentence for the user.
    async fn start_sides(
        &self,
        gate: &ToolGate,
        models: [ModelName; 2],
    ) -> Result<[RaceSide; 2], String> {
        let cancel = gate.context.cancel.clone();
        let source = self.child_source(gate.turn, gate.journal.clone(), cancel);
        let mut starts = Vec::new();
        for name in models {
            let origin = SpawnOrigin { session: self.session.id, call: CallId::generate() };
            let setup = source.template.race_side(origin.clone(), &name)?;
            source.agents.reserve(gate.turn).map_err(|_| NO_PLACE.to_owned())?;
            // Both before either is on record: the two have the same conversation.
            let session = self.copy_session(origin.clone()).await?;
            let summary = SubagentSummary {
                session: Some(session),
                model: Some(name.model.clone()),
                ..begun(origin.call, RACE, &name.model)
            };
            starts.push((name, session, setup, summary));
        }
        let summaries = starts.iter().map(|(.., summary)| summary.clone()).collect();
        let started = LogEntry::Message(agents_on_record(summaries));
        gate.journal.write(gate.turn, started).await;
        let mut sides = Vec::new();
        for (model, session, setup, summary) in starts {
            let start = (InitialSession::Resume(session), AgentCommand::Retry);
            let child = source.launch(setup, start, summary, (DEADLINE, SILENCE))?;
            sides.push(RaceSide { model, session, child });
        }
        sides.try_into().map_err(|_| NO_PLACE.to_owned())
    }

    /// Waits until the user takes an answer, stops the race, or no answer can come any more.
    async fn race_end(&mut self, gate: &ToolGate, sides: &[RaceSide; 2]) -> RaceEnd {
        let mut front_end = FrontEndState::Connected;
        loop {
            let command = tokio::select! {
                biased;
                () = gate.context.cancel.cancelled() => return RaceEnd::Stopped,
                command = self.commands.next_meanwhile(), if front_end == FrontEndState::Connected => command,
                () = no_answer(sides) => return RaceEnd::NoAnswer,
            };
            match command {
                Some(AgentCommand::TakeAnswer { agent }) => {
                    let at = sides.iter().position(|side| side.agent() == agent);
                    match at {
                        Some(at) if sides[at].state().has_answer() => return RaceEnd::Taken(at),
                        Some(at) => {
                            let text = match sides[at].state().is_running() {
                                true => format!("{} still answers.", sides[at].model.model),
                                false => format!("No answer to take. {}", sides[at].failure()),
                            };
                            self.events.notice(NoticeLevel::Warning, text);
                        }
                        None => {}
                    }
                }
                Some(command) if command.is_possible_at_any_time() => {
                    self.command_at_any_time(command).await;
                }
                // There is no one turn that it could be put into.
                Some(AgentCommand::Steer { id, text }) => {
                    self.events.send(AgentEvent::SteerSettled { id, returned: Some(text) });
                }
                Some(AgentCommand::WithdrawSteer { .. }) => {}
                Some(_) => {
                    self.events.send(AgentEvent::CommandRefused(CommandRefusal::TurnRunning));
                }
                None => {
                    front_end = FrontEndState::Disconnected;
                    gate.context.cancel.cancel();
                }
            }
        }
    }

    /// Copies the answer of a side into the conversation. Returns how it ended there.
    ///
    /// # Errors
    ///
    /// Why nothing was taken, as a sentence for the user.
    async fn take_answer(&mut self, gate: &ToolGate, side: &RaceSide) -> Result<TurnEnd, String> {
        let (store, session) = (self.setup.store.clone(), side.session);
        let loaded = blocking(move || store.read(session)).await;
        let loaded = loaded.and_then(|loaded| loaded).map_err(|error| error.to_string())?;
        let Some((answer, end)) = answer_of(loaded.records) else {
            return Err(format!(
                "The answer of {} was not saved completely, so it was not taken. /agents still \
                 shows it.",
                side.model.model
            ));
        };
        for entry in answer {
            let entry = taken_entry(entry, session);
            note_read(&self.session.reads, &entry);
            // Announcements are in the log alone, and what cannot be saved the journal tells.
            if let LogEntry::ToolStarted { .. } = entry {
                drop(gate.journal.intent(gate.turn, entry).await);
            } else {
                gate.journal.write(gate.turn, entry).await;
            }
        }
        self.session.catch_up();
        Ok(end)
    }

    fn tell_taken(&self, side: &RaceSide) {
        let ModelName { provider, model } = &side.model;
        let current = &self.current_provider().name;
        let is_own = self.model.as_ref() == Some(model) && current == provider;
        let text = match (&self.model, is_own) {
            (Some(own), false) => {
                let name =
                    if current == provider { model.clone() } else { format!("{provider}/{model}") };
                format!(
                    "Took the answer of {model}. The session continues with {own}; /model {name} \
                     changes to {model}."
                )
            }
            (Some(_) | None, _) => format!("Took the answer of {model}."),
        };
        self.events.notice(NoticeLevel::Info, text);
    }
}

/// Resolves once both sides have ended and neither has an answer.
async fn no_answer([first, second]: &[RaceSide; 2]) {
    tokio::join!(ended_of(&first.child), ended_of(&second.child));
    if first.state().has_answer() || second.state().has_answer() {
        pending::<()>().await;
    }
}

/// What a fork's log has of its first turn, and how that turn ended; `None` where its end is not there.
fn answer_of(records: Vec<LogRecord>) -> Option<(Vec<LogEntry>, TurnEnd)> {
    // What was copied has ids that are older than that of the fork's own first line.
    let own = records.first()?.id;
    let mut answer = Vec::new();
    for record in records.into_iter().skip(1).filter(|record| record.id > own) {
        match record.entry {
            LogEntry::TurnEnd(end) => return Some((answer, end)),
            LogEntry::Message(message) if !message.source.is_main() => {}
            entry @ (LogEntry::Message(_)
            | LogEntry::ToolStarted { .. }
            | LogEntry::Permission(_)
            | LogEntry::Todo { .. }
            | LogEntry::Tasks(_)) => answer.push(entry),
            // Nothing is written in a race, and where the fork stood was its own business.
            LogEntry::Session(_)
            | LogEntry::Compaction(_)
            | LogEntry::ContextEdit(_)
            | LogEntry::FileChange(_)
            | LogEntry::NotCovered(_)
            | LogEntry::Rewind(_)
            | LogEntry::Interrupted
            | LogEntry::Title { .. }
            | LogEntry::Model { .. }
            | LogEntry::Mode { .. } => {}
        }
    }
    None
}

/// An entry as the log has it whose conversation takes it over.
fn taken_entry(entry: LogEntry, from: SessionId) -> LogEntry {
    let LogEntry::Message(message) = entry else { return entry };
    let is_response = message.stop_reason.is_some();
    LogEntry::Message(MessageEntry {
        usage: None,
        is_usage_estimated: false,
        cost: None,
        measure: None,
        taken_from: is_response.then_some(from),
        ..message
    })
}
