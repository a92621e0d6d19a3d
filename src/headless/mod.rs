//! Front end: `slug -p`, for scripts.
//!
//! Only the answer goes to standard output, everything else to standard error. The output is a pure
//! function of the agent's events ([`HeadlessReport`]); [`run`] only writes it to the two streams.

mod report;

use std::io::Write;

use crate::agent::{AddressedEvent, AgentCommand, AgentEvent, AgentEventReceiver, AgentHandle};
use crate::cli::OutputFormat;

pub use report::HeadlessReport;

use report::ReportStream;

/// Sends `prompt`, prints the result, and returns the report once the turn is over.
///
/// # Errors
///
/// When a stream cannot be written to, or the agent is gone.
pub async fn run(
    prompt: String,
    format: OutputFormat,
    agent: &AgentHandle,
    events: &mut AgentEventReceiver,
    (out, err): (&mut dyn Write, &mut dyn Write),
) -> anyhow::Result<HeadlessReport> {
    let mut report = HeadlessReport::new(format);
    let mut prompt = Some(prompt);
    while let Some(AddressedEvent { agent: from, event }) = events.recv().await {
        if from != agent.id {
            continue;
        }
        if matches!(event, AgentEvent::SessionOpened { .. })
            && let Some(text) = prompt.take()
        {
            let command = AgentCommand::Send { text: text.into() };
            agent.commands.send(command.to(agent.id)).await?;
        }
        for (stream, text) in report.take(&event) {
            match stream {
                ReportStream::Out => writeln!(out, "{text}")?,
                ReportStream::Err => writeln!(err, "{text}")?,
            }
        }
        out.flush()?;
        if report.is_over() {
            return Ok(report);
        }
    }
    anyhow::bail!("the agent ended before its turn did")
}
