//! Forks that the user has work in the background: a child whose conversation begins with the whole of its
//! parent's, so that a server finds its requests in the cache.
//!
//! Its log is a fork of the parent's. What started it is no call but an entry of the parent's log that is
//! no part of the conversation: it has the summary of the fork.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::agent::agent_handle::InitialSession;
use crate::agent::agent_loop::Agent;
use crate::agent::blocking::blocking;
use crate::agent::{AgentCommand, AgentEvent, CommandRefusal};
use crate::domain::{
    CallId, Message, MessageRole, RequestSource, SessionId, SpawnOrigin, SubagentSummary, UserInput,
};
use crate::session::{LogEntry, MessageEntry, SessionHeader};

use super::call_agents::begun;
use super::fork_limits::ForkLimits;

/// The longest that a fork may take.
pub(super) const DEADLINE: Duration = Duration::from_secs(60 * 60);

/// After this long without a word from its model or its tools a fork is given up, as every agent is.
pub(super) const SILENCE: Duration = Duration::from_secs(15 * 60);

/// What the user is told where as many agents run, or were started since the last message, as can be.
pub(super) const NO_PLACE: &str =
    "No more agents can be started now. Wait until one has ended, or stop one in /agents.";
/// The type of a fork, as lists show it.
const FORK: &str = "fork";

impl Agent {
    /// Starts a fork of the conversation in the background.
    pub(in crate::agent) async fn fork_agent(&mut self, text: UserInput) {
        if self.setup.parent.is_some() {
            return self.events.send(AgentEvent::CommandRefused(CommandRefusal::StartedAgent));
        }
        if let Err(reason) = self.start_fork(text).await {
            self.error(reason);
        }
    }

    /// # Errors
    ///
    /// Why there is no fork, as a sentence for the user.
    async fn start_fork(&mut self, text: UserInput) -> Result<(), String> {
        if let Some(reason) = self.session.read_only.clone() {
            return Err(reason);
        }
        if self.session.conversation.messages.is_empty() {
            return Err("No conversation to fork yet. Send a message first.".to_owned());
        }
        let (parent, turn) = (self.session.id, self.session.last_turn());
        let own = self.header(parent);
        let journal = self.session.journal(&self.setup.store, &self.events, own);
        let journal = journal.map_err(|error| error.to_string())?;
        self.note_budgets(turn);
        let source = self.child_source(turn, journal.clone(), CancellationToken::new());
        source.agents.reserve(turn).map_err(|_| NO_PLACE.to_owned())?;
        let origin = SpawnOrigin { session: parent, call: CallId::generate() };
        let summary =
            SubagentSummary { in_background: true, ..begun(origin.call.clone(), FORK, &text.text) };
        let fork = self.copy_session(origin.clone()).await?;
        let summary = SubagentSummary { session: Some(fork), ..summary };
        // On record before it does anything: a resumed session knows what ended with slug.
        let started = LogEntry::Message(agents_on_record(vec![summary.clone()]));
        journal.write(turn, started).await;
        self.session.catch_up();
        let setup = source.template.fork(origin, (FORK, ForkLimits::Background));
        let start = (InitialSession::Resume(fork), AgentCommand::Send { text });
        source.launch(setup, start, summary, (DEADLINE, SILENCE)).map(drop)
    }

    /// Copies the log of the open session for an agent that goes on with it.
    ///
    /// # Errors
    ///
    /// Why there is no copy, as a sentence for the user.
    pub(super) async fn copy_session(&self, origin: SpawnOrigin) -> Result<SessionId, String> {
        let parent = origin.session;
        let header =
            SessionHeader { spawned_by: Some(origin), ..self.header(SessionId::generate()) };
        let (store, fork) = (self.setup.store.clone(), header.session_id);
        let copied = blocking(move || store.fork(parent, None, header)).await;
        copied.and_then(|copied| copied).map_err(|error| error.to_string())?;
        Ok(fork)
    }
}

/// An entry that is no part of the conversation and says how these agents stand.
pub(super) fn agents_on_record(agents: Vec<SubagentSummary>) -> MessageEntry {
    MessageEntry {
        source: RequestSource::Agent,
        agents,
        ..MessageEntry::new(Message { role: MessageRole::User, content: Vec::new() })
    }
}
