//! The questions before the chat: does the person trust this folder, and which model answers.

use std::io::{BufRead, IsTerminal, Write};
use std::sync::Arc;

use anyhow::Context;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::cli::Cli;
use crate::config::{
    self, ConfigChange, ConfigEndpoint as Address, EndpointSecurity, ResolvedConfig,
};
use crate::permissions::store::ProjectSettingsTrust;
use crate::platform::process_privacy;
use crate::platform::signals::{ContinuedFlag, HandledSignal, SignalStream};
use crate::platform::terminal::{TerminalGuard, drop_unread, waits_for_input};
use crate::trust::TrustStatus;
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::theme_state::ThemeState;
use crate::tui::welcome::first_run::{
    DetectedServer, FirstRunAnswer, FirstRunEndpoint, FirstRunEvent, FirstRunJob,
    FirstRunKeyStorage, FirstRunPage, found_keys, rank, run_job,
};
use crate::tui::welcome::trust::{TrustAnswer, TrustPage, TrustPageSubject};
use crate::tui::welcome::{self, runner::StartupEnd};

use super::run_context::RunContext;
use super::server_discovery::{ServerConsent, ServerDiscovery};

/// What came of a question.
pub(super) enum StartupOutcome<T> {
    /// This.
    Answer(T),
    /// The person leaves.
    Quit,
    /// A signal ends slug.
    Signal(HandledSignal),
}

/// What answers from now on.
pub(super) enum StartupModel {
    /// The scripted one.
    Demo,
    /// What the configuration, as it is now, says.
    Configured,
}

/// Asks about this folder, where that has not been settled.
pub(super) async fn trust(
    cli: &Cli,
    ground: &RunContext,
    screen: &mut TerminalGuard,
    signals: &mut SignalStream,
    looks: &mut ThemeState,
) -> anyhow::Result<StartupOutcome<ProjectSettingsTrust>> {
    if cli.trust_workspace {
        return Ok(StartupOutcome::Answer(ProjectSettingsTrust::Trusted));
    }
    let mut store = ground.trust()?;
    // What changes while the question is open is asked about next.
    loop {
        let about = match store.status(&ground.cwd) {
            TrustStatus::Trusted => {
                return Ok(StartupOutcome::Answer(ProjectSettingsTrust::Trusted));
            }
            // A yes would not help. The chat says what is left out.
            TrustStatus::TooWide => {
                return Ok(StartupOutcome::Answer(ProjectSettingsTrust::Untrusted));
            }
            TrustStatus::Unknown => TrustPageSubject::Folder,
            TrustStatus::Changed(_) => TrustPageSubject::Changes,
        };
        let question = store.question(&ground.cwd)?;
        let page = TrustPage::new(&ground.cwd.display().to_string(), about, question.items());
        let nothing = |job: welcome::trust::NeverJob, _| async move { match job {} };
        match welcome::run(page, screen, signals, looks, nothing).await? {
            StartupEnd::Signalled(signal) => return Ok(StartupOutcome::Signal(signal)),
            StartupEnd::Answered(TrustAnswer::Quit) => return Ok(StartupOutcome::Quit),
            StartupEnd::Answered(TrustAnswer::GoOnWithout) => {
                return Ok(StartupOutcome::Answer(ProjectSettingsTrust::Untrusted));
            }
            StartupEnd::Answered(TrustAnswer::Trust) => store.grant_asked(question)?,
        }
    }
}

/// Asks which model is to answer, and writes that into the configuration.
pub(super) async fn model(
    cli: &Cli,
    ground: &RunContext,
    config: &ResolvedConfig,
    screen: &mut TerminalGuard,
    signals: &mut SignalStream,
    looks: &mut ThemeState,
) -> anyhow::Result<StartupOutcome<StartupModel>> {
    let file = cli.config.clone().unwrap_or_else(|| ground.home.config());
    let page = FirstRunPage::new(
        &file.display().to_string(),
        found_keys(|name| process_privacy::variable(name)?.into_string().ok()),
    );
    let candidates = ServerDiscovery::new(ground, config);
    let jobs = |job, notes| {
        let candidates = candidates.clone();
        let said = match &job {
            FirstRunJob::FindServers => ServerConsent::None,
            FirstRunJob::Check { .. } => ServerConsent::Chosen,
        };
        run_job(job, notes, move |target| candidates.clone().models(said, target))
    };
    match welcome::run(page, screen, signals, looks, jobs).await? {
        StartupEnd::Signalled(signal) => Ok(StartupOutcome::Signal(signal)),
        StartupEnd::Answered(FirstRunAnswer::Quit) => Ok(StartupOutcome::Quit),
        StartupEnd::Answered(FirstRunAnswer::Demo) => {
            Ok(StartupOutcome::Answer(StartupModel::Demo))
        }
        StartupEnd::Answered(FirstRunAnswer::Use { target, model }) => {
            save(cli, ground, target, model)?;
            Ok(StartupOutcome::Answer(StartupModel::Configured))
        }
    }
}

/// Writes what was chosen into the configuration. The person has agreed to an address that is not
/// encrypted. A key of the environment stays there.
pub(super) fn save(
    cli: &Cli,
    ground: &RunContext,
    target: FirstRunEndpoint,
    model: Option<String>,
) -> anyhow::Result<()> {
    let file = cli.config.clone().unwrap_or_else(|| ground.home.config());
    let mut changes = match target.key_storage {
        FirstRunKeyStorage::InEnvironment => vec![ConfigChange::Provider(target.protocol)],
        FirstRunKeyStorage::InFile => {
            let endpoint = Address::parse(&target.endpoint)?;
            if endpoint.security() == EndpointSecurity::PlainRemote {
                ground.trust()?.allow_origin(endpoint.origin().as_str())?;
            }
            let key = target.key.map(ConfigChange::ApiKey);
            std::iter::once(ConfigChange::Endpoint(endpoint)).chain(key).collect()
        }
    };
    changes.extend(model.map(ConfigChange::Model));
    config::save(&file, &changes)?;
    Ok(())
}

/// The servers that answer at the usual ports of this machine.
pub(super) async fn local_servers(candidates: &Arc<ServerDiscovery>) -> Vec<DetectedServer> {
    let (notes, mut found) = mpsc::channel(4);
    let list = |target| candidates.clone().models(ServerConsent::None, target);
    let look = run_job(FirstRunJob::FindServers, notes, list);
    let collect = async {
        let mut servers = Vec::new();
        while let Some(note) = found.recv().await {
            if let FirstRunEvent::Found(server) = note {
                servers.push(server);
            }
        }
        servers.sort_by_key(|server: &DetectedServer| rank(&server.endpoint));
        servers
    };
    let ((), servers) = tokio::join!(look, collect);
    servers
}

/// Asks, before anything is sent, about a server elsewhere that is reached without encryption.
pub(super) fn plain_http(ground: &RunContext, config: &ResolvedConfig) -> anyhow::Result<()> {
    let endpoint = &config.server.endpoint.value;
    let mut store = ground.trust()?;
    let origin = endpoint.origin();
    if endpoint.security() != EndpointSecurity::PlainRemote || store.origin_allowed(origin.as_str())
    {
        return Ok(());
    }
    let mut out = std::io::stderr();
    writeln!(
        out,
        "{} is another machine, and plain http is not encrypted: anyone on the way can read what \
         is sent, the key too.\nUse it all the same, from now on? [y/N]",
        origin.as_str()
    )?;
    let mut answer = String::new();
    if std::io::stdin().is_terminal() {
        let continued = ContinuedFlag::listen()?;
        loop {
            wait_until_armed().context("No answer")?;
            answer.clear();
            std::io::stdin().lock().read_line(&mut answer).context("No answer")?;
            // What was typed at the shell while slug was stopped is no answer.
            if !continued.take() {
                break;
            }
            writeln!(out, "Use {} all the same? [y/N]", origin.as_str())?;
        }
    }
    if answer.trim().eq_ignore_ascii_case("y") {
        store.allow_origin(origin.as_str())?;
    }
    Ok(())
}

/// Returns once a question that was printed just now takes an answer from a terminal that edits
/// lines; drops what is typed until then, half a line too.
fn wait_until_armed() -> std::io::Result<()> {
    let began = Instant::now();
    let mut guard = QuestionGuard::default();
    guard.drawn();
    guard.painted(began.elapsed());
    drop_unread()?;
    while let Some(due) = guard.due_at() {
        if waits_for_input(due.saturating_sub(began.elapsed()))? {
            drop_unread()?;
            guard.typed(began.elapsed());
        } else {
            guard.input_idle(began.elapsed());
        }
    }
    drop_unread()
}
