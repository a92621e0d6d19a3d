//! Front end: `slug -p` and `slug serve`, for scripts.
//!
//! Only the answer goes to standard output, everything else to standard error. What is printed
//! follows from the agent's events and from how the run ended ([`HeadlessReport`]); [`run`] has the
//! clock, and writes it to the two streams. `stream` is for scripts that do not only ask once.

mod output_line;
mod report;
mod run_facts;
mod stream;
#[cfg(test)]
mod stream_schema_tests;

use std::io::Write;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, sleep_until};

use crate::agent::{AddressedEvent, AgentCommand, AgentEvent, AgentEventReceiver, AgentHandle};
use crate::cli::OutputFormat;
use crate::session::SessionStore;

pub use report::HeadlessReport;
pub use run_facts::RunFacts;
pub use stream::{ConversationLimits, ImageKeeper, StreamRun, StreamTransport, converse};

use report::ReportStream;
use run_facts::RunEnd;

/// How long a run that was stopped may take to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// The processes that the agent's calls have left running.
#[async_trait]
pub trait BackgroundProcesses: Send + Sync {
    /// A name for each, as the user or the model would know it: the command that started it.
    async fn left_running(&self) -> Vec<String>;
}

/// What a run is asked, and what it needs besides the agent.
pub struct HeadlessRun<'a> {
    pub prompt: String,
    pub format: OutputFormat,
    pub facts: RunFacts,
    /// After this time the run is stopped.
    pub time_limit: Option<Duration>,
    /// Has the contents of changed files.
    pub store: SessionStore,
    pub background: &'a dyn BackgroundProcesses,
}

/// Sends the prompt, prints the result, and returns the report once the turn is over or its time is
/// up.
///
/// # Errors
///
/// When a stream cannot be written to, or the agent is gone.
pub async fn run(
    given: HeadlessRun<'_>,
    agent: &AgentHandle,
    events: &mut AgentEventReceiver,
    (out, err): (&mut dyn Write, &mut dyn Write),
) -> anyhow::Result<HeadlessReport> {
    let HeadlessRun { prompt, format, facts, time_limit, store, background } = given;
    let began = Instant::now();
    let cwd = facts.cwd.clone();
    let mut report = HeadlessReport::new(format, facts);
    let mut prompt = Some(prompt);
    let mut write = |lines: Vec<(ReportStream, String)>| -> std::io::Result<()> {
        for (stream, text) in lines {
            match stream {
                ReportStream::Out => writeln!(out, "{text}")?,
                ReportStream::Err => writeln!(err, "{text}")?,
            }
        }
        out.flush()
    };
    let mut deadline = time_limit.map(|limit| began + limit);
    while !report.is_over() {
        let received = tokio::select! {
            received = events.recv() => received,
            () = wait_until(deadline) => {
                if report.is_out_of_time() {
                    break;
                }
                report.stop_for_time();
                prompt = None;
                agent.stop.stop_all();
                deadline = Some(Instant::now() + STOP_TIMEOUT);
                continue;
            }
        };
        let Some(AddressedEvent { agent: from, event }) = received else {
            anyhow::bail!("the agent ended before its turn did")
        };
        if from != agent.id {
            continue;
        }
        if matches!(event, AgentEvent::SessionOpened { .. })
            && let Some(text) = prompt.take()
        {
            // The agent says why there is none, where the model would take it for a message.
            let command = match text.strip_prefix("/race ") {
                Some(typed) => AgentCommand::Race { typed: typed.to_owned() },
                None => AgentCommand::Send { text: text.into() },
            };
            agent.commands.send(command.to(agent.id)).await?;
        }
        write(report.take(&event))?;
    }
    let end = RunEnd {
        elapsed: began.elapsed(),
        files: store.file_deltas(report.changes(), &cwd),
        background: background.left_running().await,
    };
    write(report.finish(&end))?;
    Ok(report)
}

async fn wait_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
