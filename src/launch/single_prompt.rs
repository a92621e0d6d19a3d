//! `slug -p`: one question, its answer, and an exit status for a script.

use std::io::{IsTerminal, Read, Write};

use anyhow::{Context, bail};

use crate::agent::Interactivity;
use crate::cli::{Cli, CliExitStatus, InputFormat};
use crate::headless::{self, HeadlessRun, StreamTransport};

use super::print::PrintWriter;
use super::run_context::RunContext;
use super::script_run::{CheckedRun, until_end};
use super::stream_session;

/// The most bytes of standard input that are read as context.
const INPUT_LIMIT: u64 = 4 << 20;

pub(super) async fn run(
    cli: &Cli,
    run_context: &RunContext,
    prompt: Option<&str>,
) -> anyhow::Result<CliExitStatus> {
    let checked = match CheckedRun::of(cli, run_context).await? {
        Ok(checked) => checked,
        Err(exit) => return Ok(exit),
    };
    match cli.input_format {
        InputFormat::Text => {}
        InputFormat::StreamJson => {
            let transport = StreamTransport::Pipe(prompt.map(str::to_owned));
            let run = checked.start(cli, Interactivity::Interactive).await?;
            return stream_session::hold(run, transport, cli.timeout).await;
        }
    }
    let text = prompt_text(prompt)?;
    let mut run = checked.start(cli, Interactivity::Headless).await?;
    let mut streams = (PrintWriter::new(std::io::stdout()), PrintWriter::new(std::io::stderr()));
    let (facts, store) = (run.facts.clone(), run.store.clone());
    let (agent, events, background, signals) = run.split();
    let given = HeadlessRun {
        prompt: text,
        format: cli.output_format,
        facts,
        time_limit: cli.timeout,
        store,
        background,
    };
    let streams: (&mut dyn Write, &mut dyn Write) = (&mut streams.0, &mut streams.1);
    let answering = headless::run(given, agent, events, streams);
    let (report, signal) = until_end(answering, signals, || agent.stop.stop_all()).await;
    run.end(report.map(|report| Ok(report?.exit())), signal).await
}

/// The text of `-p`, followed by standard input unless that is a terminal.
fn prompt_text(prompt: Option<&str>) -> anyhow::Result<String> {
    let stdin = std::io::stdin();
    let mut input = String::new();
    if !stdin.is_terminal() {
        let mut bytes = Vec::new();
        stdin.lock().take(INPUT_LIMIT + 1).read_to_end(&mut bytes).context("Standard input")?;
        if bytes.len() as u64 > INPUT_LIMIT {
            bail!("Standard input is larger than 4 MB. Write it to a file and name that instead.");
        }
        input = String::from_utf8_lossy(&bytes).into_owned();
    }
    match (prompt, input.trim()) {
        (None, "") => bail!("No prompt: give text after -p, or on standard input."),
        (None, input) => Ok(input.to_owned()),
        (Some(prompt), "") => Ok(prompt.to_owned()),
        (Some(prompt), input) => Ok(format!("{prompt}\n\n<stdin>\n{input}\n</stdin>")),
    }
}
