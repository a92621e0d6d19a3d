//! A session that a script holds over lines of JSON: `slug -p --input-format stream-json`, and `slug serve`.
//!
//! Whoever writes these lines is the user: the agent asks, and waits for the answer.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::agent::Interactivity;
use crate::cli::{Cli, CliExitStatus};
use crate::headless::{ConversationLimits, StreamRun, StreamTransport, converse};
use crate::platform::local_socket::LocalSocket;

use super::run_context::RunContext;
use super::script_run::{CheckedRun, ScriptRun, until_end};
use super::{build, print};

/// `slug serve`: the session of many clients.
pub(super) async fn serve(
    cli: &Cli,
    run_context: &RunContext,
    path: &Path,
) -> anyhow::Result<CliExitStatus> {
    let checked = match CheckedRun::of(cli, run_context).await? {
        Ok(checked) => checked,
        Err(exit) => return Ok(exit),
    };
    let socket = LocalSocket::bind(path)?;
    let run = checked.start(cli, Interactivity::Interactive).await?;
    writeln!(print::out(), "Serving at {}", socket.path().display())?;
    hold(run, StreamTransport::Socket(socket), None).await?;
    // Its clients have heard how each turn went.
    Ok(CliExitStatus::Answered)
}

/// Holds the conversation to its end.
pub(super) async fn hold(
    mut run: ScriptRun,
    transport: StreamTransport,
    time_limit: Option<Duration>,
) -> anyhow::Result<CliExitStatus> {
    let ending = CancellationToken::new();
    let (facts, store, images) = (run.facts.clone(), run.store.clone(), run.store.clone());
    let limits =
        ConversationLimits { opening: run.opening, mode: run.mode, has_sandbox: run.has_sandbox };
    let mut err = print::PrintWriter::new(std::io::stderr());
    let (agent, events, background, signals) = run.split();
    let given = StreamRun {
        facts,
        limits,
        time_limit,
        store,
        background,
        images: Arc::new(move |name, bytes| build::keep_image(&images, name, bytes)),
        ending: ending.clone(),
    };
    let conversing = converse(given, transport, agent, events, &mut err);
    let (exit, signal) = until_end(conversing, signals, || ending.cancel()).await;
    run.end(exit, signal).await
}
