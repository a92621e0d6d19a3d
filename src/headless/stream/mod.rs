//! A conversation with a script over lines of JSON: on standard input and output, or with many clients of one
//! socket. One client writes, all read.
//!
//! [`StreamHub`] has the clients and the clock; [`conversation`] decides what each line and each event means.

mod client;
mod conversation;
#[cfg(test)]
mod conversation_tests;
pub(super) mod input_line;
mod line_reader;
mod record_lines;

use std::collections::{BTreeMap, VecDeque};
use std::future::pending;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::agent::{AddressedCommand, AgentEventReceiver, AgentHandle};
use crate::cli::CliExitStatus;
use crate::domain::UserInput;
use crate::platform::local_socket::{LocalPeer, LocalSocket};
use crate::session::SessionStore;

use super::output_line::{MessageDelivery, OutputLine, WriterState};
use super::run_facts::{RunEnd, RunFacts};
use super::{BackgroundProcesses, STOP_TIMEOUT, wait_until};
use client::{
    ClientId, ClientInput, ClientKind, ClientLine, ClientOutlet, client_queue, read_client,
    write_client,
};
use conversation::{ConversationStep, ScriptConversation};

pub use client::ImageKeeper;
pub use conversation::ConversationLimits;

/// How many clients a socket may have at once.
const MOST_CLIENTS: usize = 32;
/// How many lines of clients may wait for the hub.
const WAITING_INPUTS: usize = 16;
/// How long slug waits when the system has no room for another connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long the clients of a socket may take to read the last lines.
const LAST_LINES_LIMIT: Duration = Duration::from_secs(2);

const READER: &str = "Only one client writes at a time, and this one reads. Once nobody writes, send \
    {\"type\":\"write\"} first.";

/// What a conversation needs besides the agent.
pub struct StreamRun<'a> {
    pub facts: RunFacts,
    pub limits: ConversationLimits,
    /// After this time the run is stopped.
    pub time_limit: Option<Duration>,
    /// Has the contents of changed files.
    pub store: SessionStore,
    pub background: &'a dyn BackgroundProcesses,
    pub images: ImageKeeper,
    /// Cancelled when slug has to end.
    pub ending: CancellationToken,
}

/// Where the lines come from and go to.
pub enum StreamTransport {
    /// Standard input and output, with a message that comes before those of the input.
    Pipe(Option<String>),
    Socket(LocalSocket),
}

/// Holds a conversation until its client has ended it, and returns the status of its last turn.
///
/// # Errors
///
/// When the session cannot be opened, nobody reads standard output any more, standard error cannot be
/// written to, or the agent is gone.
pub async fn converse(
    run: StreamRun<'_>,
    transport: StreamTransport,
    agent: &AgentHandle,
    events: &mut AgentEventReceiver,
    err: &mut (dyn Write + Send),
) -> anyhow::Result<CliExitStatus> {
    let (inputs, mut received) = mpsc::channel(WAITING_INPUTS);
    let mut deadline = run.time_limit.map(|limit| Instant::now() + limit);
    let ending = run.ending.clone();
    let mut hub = StreamHub {
        conversation: ScriptConversation::new(agent.id, run.facts.clone(), run.limits.clone()),
        run,
        agent,
        err,
        clients: BTreeMap::new(),
        writer: None,
        pipe: None,
        next: ClientId(1),
        inputs,
        readers: JoinSet::new(),
        writers: JoinSet::new(),
        turn_began: Instant::now(),
    };
    let (mut first, socket) = match transport {
        StreamTransport::Pipe(first) => {
            hub.connect_pipe();
            (first, None)
        }
        StreamTransport::Socket(socket) => (None, Some(socket)),
    };
    let (mut is_stopped, mut is_over) = (false, false);
    while !is_over && !hub.conversation.is_finished() {
        let is_open = hub.conversation.is_open();
        if let Some(text) = first.take_if(|_| is_open) {
            // There is room for the first one.
            let said = hub.conversation.say(UserInput::from(text), MessageDelivery::Queue);
            hub.apply(said.unwrap_or_default()).await?;
        }
        tokio::select! {
            event = events.recv() => match event {
                Some(event) => {
                    let steps = hub.conversation.event(&event);
                    hub.apply(steps).await?;
                }
                None if is_stopped => is_over = true,
                None => bail!("the agent ended before the conversation did"),
            },
            Some(input) = received.recv(), if is_open => hub.input(input).await?,
            peer = accept(socket.as_ref()), if is_open => hub.accepted(peer).await,
            () = ending.cancelled(), if !is_stopped => {
                is_stopped = true;
                let steps = hub.conversation.stop(false);
                hub.apply(steps).await?;
                agent.stop.stop_all();
                deadline = Some(Instant::now() + STOP_TIMEOUT);
                is_over = !is_open;
            }
            () = wait_until(deadline) => {
                is_over = is_stopped;
                is_stopped = true;
                let steps = hub.conversation.stop(true);
                hub.apply(steps).await?;
                agent.stop.stop_all();
                deadline = Some(Instant::now() + STOP_TIMEOUT);
            }
        }
        while hub.readers.try_join_next().is_some() || hub.writers.try_join_next().is_some() {}
    }
    // Nobody can connect any more.
    drop(socket);
    if hub.conversation.is_busy() {
        hub.apply(vec![ConversationStep::TurnEnded]).await?;
    }
    let exit = hub.conversation.exit();
    hub.end().await;
    Ok(exit)
}

async fn accept(socket: Option<&LocalSocket>) -> std::io::Result<LocalPeer> {
    match socket {
        Some(socket) => socket.accept().await,
        None => pending().await,
    }
}

struct StreamHub<'a> {
    run: StreamRun<'a>,
    agent: &'a AgentHandle,
    conversation: ScriptConversation,
    err: &'a mut (dyn Write + Send),
    clients: BTreeMap<ClientId, ClientOutlet>,
    /// The client that writes.
    writer: Option<ClientId>,
    /// The one client of standard input and output.
    pipe: Option<ClientId>,
    next: ClientId,
    inputs: mpsc::Sender<ClientInput>,
    readers: JoinSet<()>,
    writers: JoinSet<()>,
    turn_began: Instant,
}

impl StreamHub<'_> {
    fn connect_pipe(&mut self) {
        let (id, (outlet, inlet)) = (self.new_id(), client_queue(ClientKind::Pipe));
        self.clients.insert(id, outlet);
        (self.pipe, self.writer) = (Some(id), Some(id));
        let (images, inputs) = (self.run.images.clone(), self.inputs.clone());
        self.readers.spawn(read_client(id, tokio::io::stdin(), images, inputs));
        self.writers.spawn(write_client(tokio::io::stdout(), None, inlet));
    }

    async fn accepted(&mut self, peer: std::io::Result<LocalPeer>) {
        let (stream, why) = match peer {
            Ok(LocalPeer::Accepted(stream)) if self.clients.len() < MOST_CLIENTS => {
                let (id, (outlet, inlet)) = (self.new_id(), client_queue(ClientKind::Socket));
                let (from, to) = stream.into_split();
                let so_far = (self.run.facts.clone(), self.conversation.so_far());
                let (images, inputs) = (self.run.images.clone(), self.inputs.clone());
                self.readers.spawn(read_client(id, from, images, inputs));
                self.writers.spawn(write_client(to, Some(so_far), inlet));
                self.clients.insert(id, outlet);
                return self.tell_access(id).await;
            }
            Ok(LocalPeer::Accepted(stream)) => {
                (stream, format!("{MOST_CLIENTS} clients are connected, and no more may be."))
            }
            Ok(LocalPeer::Refused(stream, why)) => (stream, why.to_owned()),
            Err(error) => {
                tracing::warn!(%error, "a connection to the socket");
                return tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        };
        let line = OutputLine::Error { line: 0, message: why };
        // The socket is new, so it has room for the line; whoever is gone does not read it.
        let _ = stream.try_write(format!("{}\n", line.text()).as_bytes());
    }

    fn new_id(&mut self) -> ClientId {
        let id = self.next;
        self.next = ClientId(id.0 + 1);
        id
    }

    /// Takes a line of a client's.
    async fn input(&mut self, input: ClientInput) -> anyhow::Result<()> {
        let ClientInput { client, line, said } = input;
        // A client that was dropped may still be heard.
        if !self.clients.contains_key(&client) {
            return Ok(());
        }
        let asked = match said {
            ClientLine::End if self.pipe == Some(client) => {
                let steps = self.conversation.end();
                return self.apply(steps).await;
            }
            ClientLine::End => {
                self.clients.remove(&client);
                self.writer_left(client).await;
                return Ok(());
            }
            ClientLine::Write if self.writer.is_none() => {
                self.writer = Some(client);
                self.tell_access_to_all().await;
                return Ok(());
            }
            ClientLine::Write => {
                self.tell_access(client).await;
                return Ok(());
            }
            ClientLine::Wrong(why) => Err(why),
            ClientLine::Request(_) if self.writer != Some(client) => Err(READER.to_owned()),
            ClientLine::Request(asked) => self.conversation.request(asked),
        };
        match asked {
            Ok(steps) => self.apply(steps).await,
            Err(message) => {
                let begun = self.conversation.begin_lines();
                self.apply(begun).await?;
                self.send(client, &OutputLine::Error { line, message }).await;
                self.pipe_is_read()
            }
        }
    }

    /// Does what has to happen, in order.
    async fn apply(&mut self, steps: Vec<ConversationStep>) -> anyhow::Result<()> {
        let mut left = VecDeque::from(steps);
        while let Some(step) = left.pop_front() {
            match step {
                ConversationStep::Line(line) => {
                    self.send_to_all(&line.into()).await;
                    self.pipe_is_read()?;
                }
                ConversationStep::Complain(text) => {
                    let written = writeln!(self.err, "{text}");
                    // A session that is served outlives the terminal that it was started in.
                    if self.pipe.is_some() {
                        written?;
                    }
                }
                ConversationStep::Command(command) => self.command(command).await,
                ConversationStep::Stop => self.agent.stop.stop_turn(),
                ConversationStep::TurnEnded => {
                    let files = &self.run.facts.cwd;
                    let end = RunEnd {
                        elapsed: self.turn_began.elapsed(),
                        files: self.run.store.file_deltas(self.conversation.changes(), files),
                        background: self.run.background.left_running().await,
                    };
                    self.turn_began = Instant::now();
                    left.extend(self.conversation.end_turn(&end));
                }
                ConversationStep::Failed(why) => bail!(why),
            }
        }
        Ok(())
    }

    async fn command(&mut self, addressed: AddressedCommand) {
        if addressed.agent == self.agent.id {
            if !self.conversation.is_running() {
                self.turn_began = Instant::now();
            }
            // An agent that is gone has ended its events, which ends the conversation.
            let _ = self.agent.commands.send(addressed).await;
        } else if let Some(commands) = self.agent.children.commands(addressed.agent) {
            // An agent that is gone waits for no answer.
            let _ = commands.send(addressed).await;
        }
    }

    async fn send(&mut self, client: ClientId, line: &OutputLine) {
        let Some(outlet) = self.clients.get(&client) else { return };
        if !outlet.send(&line.text().into()).await {
            self.clients.remove(&client);
            Box::pin(self.writer_left(client)).await;
        }
    }

    async fn send_to_all(&mut self, line: &Arc<str>) {
        let mut gone = Vec::new();
        for (id, outlet) in &self.clients {
            if !outlet.send(line).await {
                gone.push(*id);
            }
        }
        for id in gone {
            self.clients.remove(&id);
            self.writer_left(id).await;
        }
    }

    /// Lets another client write if the one that has left did.
    async fn writer_left(&mut self, client: ClientId) {
        if self.writer == Some(client) {
            self.writer = None;
            self.tell_access_to_all().await;
        }
    }

    async fn tell_access_to_all(&mut self) {
        let all: Vec<ClientId> = self.clients.keys().copied().collect();
        for client in all {
            self.tell_access(client).await;
        }
    }

    async fn tell_access(&mut self, client: ClientId) {
        let writer = match self.writer {
            Some(writer) if writer == client => WriterState::You,
            Some(_) => WriterState::Other,
            None => WriterState::Nobody,
        };
        self.send(client, &OutputLine::Access { writer }).await;
    }

    /// # Errors
    ///
    /// When the one client of the pipe is gone.
    fn pipe_is_read(&self) -> anyhow::Result<()> {
        if self.pipe.is_some() && self.clients.is_empty() {
            bail!("Nobody reads standard output any more, so the session has ended.");
        }
        Ok(())
    }

    /// Lets the clients read what was told last.
    async fn end(mut self) {
        self.readers.abort_all();
        self.clients.clear();
        let written = async { while self.writers.join_next().await.is_some() {} };
        if self.pipe.is_some() {
            return written.await;
        }
        // A client that does not read holds nothing up.
        let _ = timeout(LAST_LINES_LIMIT, written).await;
    }
}
