//! One client: a task that reads its lines, and one that writes what it gets. The two know nothing of the
//! conversation; the hub has both their ends.
//!
//! What waits for a client of a socket is bounded. One that does not read is dropped, so it holds up neither
//! the agent nor the other clients. A pipe has one client, and the hub waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::cli::OutputFormat;
use crate::domain::MessageImage;

use super::super::output_line::OutputLine;
use super::super::report::HeadlessReport;
use super::super::run_facts::RunFacts;
use super::conversation::{ClientRequest, ConversationSoFar};
use super::input_line::InputLine;
use super::line_reader::{LONGEST_LINE, LineReader, ReadLine};
use super::record_lines::lines_of_record;

/// How many lines may wait for a client of a pipe.
const WAITING_FOR_PIPE: usize = 64;
/// How many lines, and how many bytes, may wait for a client of a socket.
const WAITING_FOR_SOCKET: usize = 8192;
const WAITING_BYTES: usize = 8 << 20;
/// How long a client that was too slow may take to hear of it.
const FAREWELL_LIMIT: Duration = Duration::from_secs(10);

const TOO_SLOW: &str = "This client does not read fast enough, so slug has closed its connection. Connect \
    again to get the conversation from its beginning.";

/// Stores an image under a name.
pub type ImageKeeper = Arc<dyn Fn(&str, Vec<u8>) -> Result<MessageImage, String> + Send + Sync>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClientId(pub(super) u64);

/// What comes from a client.
pub(super) struct ClientInput {
    pub(super) client: ClientId,
    /// The number of the line; 0 for the end.
    pub(super) line: u64,
    pub(super) said: ClientLine,
}

/// A line of a client's.
pub(super) enum ClientLine {
    Request(ClientRequest),
    /// It wants to be the one that writes.
    Write,
    /// It cannot be understood, as this sentence says.
    Wrong(String),
    /// There is none any more.
    End,
}

/// The way to the task that writes to a client.
#[derive(Debug)]
pub(super) struct ClientOutlet {
    lines: mpsc::Sender<Arc<str>>,
    kind: ClientKind,
    waiting: Arc<AtomicUsize>,
    is_slow: CancellationToken,
}

/// How a client is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientKind {
    Pipe,
    Socket,
}

/// What the writing task gets.
pub(super) struct ClientInlet {
    lines: mpsc::Receiver<Arc<str>>,
    waiting: Arc<AtomicUsize>,
    is_slow: CancellationToken,
}

/// A new client's queue.
pub(super) fn client_queue(kind: ClientKind) -> (ClientOutlet, ClientInlet) {
    let (sender, lines) = mpsc::channel(match kind {
        ClientKind::Pipe => WAITING_FOR_PIPE,
        ClientKind::Socket => WAITING_FOR_SOCKET,
    });
    let (waiting, is_slow) = (Arc::new(AtomicUsize::new(0)), CancellationToken::new());
    let inlet = ClientInlet { lines, waiting: waiting.clone(), is_slow: is_slow.clone() };
    (ClientOutlet { lines: sender, kind, waiting, is_slow }, inlet)
}

impl ClientOutlet {
    /// Sends a line; whether the client is still there.
    pub(super) async fn send(&self, line: &Arc<str>) -> bool {
        if self.kind == ClientKind::Pipe {
            return self.lines.send(line.clone()).await.is_ok();
        }
        let has_room = self.waiting.load(Ordering::Relaxed) < WAITING_BYTES;
        if has_room && self.lines.try_send(line.clone()).is_ok() {
            self.waiting.fetch_add(line.len(), Ordering::Relaxed);
            return true;
        }
        self.is_slow.cancel();
        false
    }
}

/// Reads the lines of a client, until its end or until nobody takes them.
pub(super) async fn read_client(
    client: ClientId,
    from: impl AsyncRead + Unpin,
    images: ImageKeeper,
    inputs: mpsc::Sender<ClientInput>,
) {
    let mut reader = LineReader::new(from, LONGEST_LINE);
    loop {
        let (line, said) = match reader.next().await {
            Ok(Some((_, ReadLine::Whole(line)))) if line.trim_ascii().is_empty() => continue,
            Ok(Some((number, ReadLine::Whole(line)))) => (number, understood(line, &images).await),
            Ok(Some((number, ReadLine::TooLong))) => {
                let limit = LONGEST_LINE >> 20;
                let why = format!("This line is longer than {limit} MB. Name a file instead.");
                (number, ClientLine::Wrong(why))
            }
            Ok(None) | Err(_) => (0, ClientLine::End),
        };
        let is_over = matches!(said, ClientLine::End);
        if inputs.send(ClientInput { client, line, said }).await.is_err() || is_over {
            return;
        }
    }
}

/// What a line says. Images are stored on a thread of their own.
async fn understood(line: Vec<u8>, images: &ImageKeeper) -> ClientLine {
    let images = images.clone();
    let read = tokio::task::spawn_blocking(move || {
        Ok(ClientLine::Request(match InputLine::read(&line)? {
            InputLine::User { message, delivery } => {
                let input = message.into_input(|name, bytes| images(name, bytes))?;
                ClientRequest::Say(input, delivery)
            }
            InputLine::Approval { id, allow, remember, message } => {
                ClientRequest::Approve { id, allow, remember, message }
            }
            InputLine::Answers { id, answers } => ClientRequest::Answer { id, answers },
            InputLine::Interrupt => ClientRequest::Interrupt,
            InputLine::Mode { mode } => ClientRequest::SetMode(mode),
            InputLine::Write => return Ok(ClientLine::Write),
            InputLine::End => ClientRequest::End,
        }))
    });
    match read.await {
        Ok(Ok(said)) => said,
        Ok(Err(why)) => ClientLine::Wrong(why),
        Err(error) => ClientLine::Wrong(format!("This line cannot be read: {error}.")),
    }
}

/// Writes what has been said so far, and then each line, until there are no more.
pub(super) async fn write_client(
    mut to: impl AsyncWrite + Unpin,
    so_far: Option<(RunFacts, ConversationSoFar)>,
    inlet: ClientInlet,
) {
    let ClientInlet { mut lines, waiting, is_slow } = inlet;
    let mut before = so_far.into_iter().flat_map(|(facts, so_far)| lines_so_far(facts, so_far));
    loop {
        let line: Arc<str> = match before.next() {
            Some(line) => line.into(),
            None => tokio::select! {
                biased;
                () = is_slow.cancelled() => break,
                line = lines.recv() => match line {
                    Some(line) => {
                        waiting.fetch_sub(line.len(), Ordering::Relaxed);
                        line
                    }
                    None => {
                        // Whoever reads may be gone already.
                        let _ = to.shutdown().await;
                        return;
                    }
                },
            },
        };
        let writing = write_line(&mut to, &line);
        tokio::pin!(writing);
        let written = tokio::select! {
            written = &mut writing => written,
            // Half a line would spoil what the client is told now.
            () = is_slow.cancelled() => match timeout(FAREWELL_LIMIT, writing).await {
                Ok(written) => written,
                Err(_) => return,
            },
        };
        if written.is_err() {
            return;
        }
        if is_slow.is_cancelled() {
            break;
        }
    }
    let error = OutputLine::Error { line: 0, message: TOO_SLOW.to_owned() };
    let farewell = async {
        write_line(&mut to, &error.text()).await?;
        to.shutdown().await
    };
    // It may not read this either.
    let _ = timeout(FAREWELL_LIMIT, farewell).await;
}

async fn write_line(to: &mut (impl AsyncWrite + Unpin), line: &str) -> std::io::Result<()> {
    to.write_all(line.as_bytes()).await?;
    to.write_all(b"\n").await?;
    to.flush().await
}

/// The lines for a client that has just come, each made when it is written.
fn lines_so_far(facts: RunFacts, so_far: ConversationSoFar) -> impl Iterator<Item = String> {
    let ConversationSoFar { session, records, now } = so_far;
    let mut report = HeadlessReport::new(OutputFormat::StreamJson, facts);
    let said = records.into_iter().flat_map(move |record| lines_of_record(&mut report, &record));
    [session].into_iter().chain(said).chain(now)
}
