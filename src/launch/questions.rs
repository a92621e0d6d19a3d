//! The questions before the chat: whether the user trusts this folder, and which model answers.

use std::io::{BufRead, IsTerminal, Write};
use std::sync::Arc;

use anyhow::Context;
use async_trait::async_trait;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::cli::Cli;
use crate::config::{self, ConfigChange, EndpointSecurity, ResolvedConfig};
use crate::permissions::store::ProjectSettingsTrust;
use crate::platform::process_privacy;
use crate::platform::signals::ContinuedFlag;
use crate::platform::terminal::{drop_unread, waits_for_input};
use crate::services::connect::{
    ConnectEvent, ConnectJob, ConnectPlace, ConnectPreference, ConnectTarget, DetectedServer, rank,
};
use crate::services::server_search::{found_keys, run_job, run_search};
use crate::trust::{TrustQuestion, TrustStatus, git_config};
use crate::tui::app::conversation::title::home_path;
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::startup::{FirstRunAnswer, StartupAnswer, TrustAnswer};
use crate::tui::dialogs::DialogOpening;
use crate::tui::dialogs::connect::ConnectDialog;
use crate::tui::dialogs::startup::trust::{TrustDialog, TrustSubject};
use crate::tui::executor::FrontEndServices;

use super::connections;
use super::formatters;
use super::local;
use super::lsp;
use super::mcp;
use super::run_context::RunContext;
use super::screen::ScreenStartup;
use super::server_discovery::{ServerConsent, ServerDiscovery};
use super::startup::{StartupModel, StartupOutcome};

/// Asks on the full screen whether to trust this folder, unless that is already decided.
pub(super) async fn trust(
    cli: &Cli,
    run_context: &RunContext,
    screen: &mut ScreenStartup,
) -> anyhow::Result<StartupOutcome<ProjectSettingsTrust>> {
    if cli.trust_workspace {
        return Ok(StartupOutcome::Answer(ProjectSettingsTrust::Trusted));
    }
    let mut store = run_context.trust()?;
    // A change while the question is open leads to the next question.
    loop {
        let subject = match store.status(&run_context.cwd) {
            TrustStatus::Trusted => {
                return Ok(StartupOutcome::Answer(ProjectSettingsTrust::Trusted));
            }
            // Such a folder cannot be trusted. The chat says what is left out.
            TrustStatus::TooWide => {
                return Ok(StartupOutcome::Answer(ProjectSettingsTrust::Untrusted));
            }
            TrustStatus::Unknown => TrustSubject::Folder,
            TrustStatus::Changed(_) => TrustSubject::Changes,
        };
        let question = store.question(&run_context.cwd)?;
        if has_nothing_to_trust(cli, run_context, &question, &store.status(&run_context.cwd)) {
            return Ok(StartupOutcome::Answer(ProjectSettingsTrust::Trusted));
        }
        let folder = run_context.cwd.display().to_string();
        let dialog = TrustDialog::new(&folder, subject, question.items());
        let opening = DialogOpening::of(dialog, Vec::new());
        match screen.ask(opening, Arc::new(NoServices)).await? {
            StartupOutcome::Signal(signal) => return Ok(StartupOutcome::Signal(signal)),
            StartupOutcome::Answer(StartupAnswer::Trust(TrustAnswer::Trust)) => {
                store.grant_asked(question)?;
            }
            StartupOutcome::Answer(StartupAnswer::Trust(TrustAnswer::GoOnWithout)) => {
                return Ok(StartupOutcome::Answer(ProjectSettingsTrust::Untrusted));
            }
            StartupOutcome::Answer(
                StartupAnswer::Trust(TrustAnswer::Quit) | StartupAnswer::FirstRun(_),
            )
            | StartupOutcome::Quit => return Ok(StartupOutcome::Quit),
        }
    }
}

/// Whether a folder that the user was never asked about has nothing that an answer would be about. It
/// counts as trusted for this run, and nothing is kept: once it has something, slug asks.
pub(super) fn has_nothing_to_trust(
    cli: &Cli,
    run_context: &RunContext,
    question: &TrustQuestion,
    status: &TrustStatus,
) -> bool {
    match status {
        TrustStatus::Unknown => {
            question.items().is_empty()
                && git_config::is_plain(&run_context.cwd)
                && !mcp::starts_own_programs(cli, run_context)
                && !lsp::is_configured(cli, run_context)
                && !formatters::is_set_up(cli, run_context)
        }
        TrustStatus::Trusted | TrustStatus::Changed(_) | TrustStatus::TooWide => false,
    }
}

/// Asks on the full screen which model is to answer, and writes the answer into the configuration.
pub(super) async fn model(
    cli: &Cli,
    run_context: &RunContext,
    config: &ResolvedConfig,
    screen: &mut ScreenStartup,
) -> anyhow::Result<StartupOutcome<StartupModel>> {
    let file = run_context.config_file(cli);
    let keys = found_keys(|name| process_privacy::variable(name)?.into_string().ok());
    let shown = home_path(&file, run_context.user_home.as_deref());
    let opening = ConnectDialog::first_run(&shown, keys, local::offered(run_context, config));
    let services = Arc::new(FirstRunServices(ServerDiscovery::new(run_context, config)));
    match screen.ask(opening, services).await? {
        StartupOutcome::Signal(signal) => Ok(StartupOutcome::Signal(signal)),
        StartupOutcome::Answer(StartupAnswer::FirstRun(FirstRunAnswer::Demo)) => {
            Ok(StartupOutcome::Answer(StartupModel::Demo))
        }
        StartupOutcome::Answer(StartupAnswer::FirstRun(FirstRunAnswer::File(path))) => {
            config::save(&file, &[ConfigChange::LocalModel(path)])?;
            Ok(StartupOutcome::Answer(StartupModel::Configured))
        }
        StartupOutcome::Answer(StartupAnswer::FirstRun(FirstRunAnswer::Use { target, model })) => {
            save(cli, run_context, target, model)?;
            Ok(StartupOutcome::Answer(StartupModel::Configured))
        }
        StartupOutcome::Answer(
            StartupAnswer::FirstRun(FirstRunAnswer::Quit) | StartupAnswer::Trust(_),
        )
        | StartupOutcome::Quit => Ok(StartupOutcome::Quit),
    }
}

/// What the question about the folder needs from the rest of slug: nothing of the folder, and nothing
/// else.
struct NoServices;

impl FrontEndServices for NoServices {}

/// What the first run needs from the rest of slug.
struct FirstRunServices(Arc<ServerDiscovery>);

#[async_trait]
impl FrontEndServices for FirstRunServices {
    async fn connect(&self, job: ConnectJob, events: mpsc::Sender<ConnectEvent>) {
        let consent = match &job {
            // Headers and the like at the top of the file are for the server whose address goes there.
            ConnectJob::Check { target, .. } if target.place == ConnectPlace::Top => {
                ServerConsent::Chosen
            }
            ConnectJob::Check { target, .. }
                if matches!(target.place, ConnectPlace::Environment(_)) =>
            {
                ServerConsent::Chosen
            }
            ConnectJob::Check { .. }
            | ConnectJob::FindServers
            | ConnectJob::Test { .. }
            | ConnectJob::Save { .. }
            | ConnectJob::Remove { .. } => ServerConsent::None,
        };
        run_job(job, events, |target| Arc::clone(&self.0).models(consent, target)).await;
    }
}

/// Writes the choice into the configuration, as what slug starts with.
pub(super) fn save(
    cli: &Cli,
    run_context: &RunContext,
    target: ConnectTarget,
    model: Option<String>,
) -> anyhow::Result<()> {
    let file = run_context.config_file(cli);
    let mut trust = run_context.trust()?;
    connections::write(&file, &mut trust, target, model, ConnectPreference::Default)
}

/// The servers that answer at the usual ports of this machine, the most likely first.
pub(super) async fn local_servers(discovery: &Arc<ServerDiscovery>) -> Vec<DetectedServer> {
    let (sender, mut events) = mpsc::channel(4);
    let list = |target| discovery.clone().models(ServerConsent::None, target);
    let search = run_search(sender, list);
    let collect = async {
        let mut servers = Vec::new();
        while let Some(event) = events.recv().await {
            if let ConnectEvent::Found(server) = event {
                servers.push(server);
            }
        }
        servers.sort_by_key(|server: &DetectedServer| rank(&server.endpoint));
        servers
    };
    let ((), servers) = tokio::join!(search, collect);
    servers
}

/// Asks, before anything is sent, whether to use a server on another machine without encryption.
pub(super) fn plain_http(run_context: &RunContext, config: &ResolvedConfig) -> anyhow::Result<()> {
    let endpoint = &config.server.endpoint.value;
    let mut store = run_context.trust()?;
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
    if confirmed(&format!("Use {} all the same? [y/N]", origin.as_str()))? {
        store.allow_origin(origin.as_str())?;
    }
    Ok(())
}

/// Whether the user answers the question that was just printed with `y`; nobody does without a
/// terminal. `again` is printed where slug was stopped in between.
pub(super) fn confirmed(again: &str) -> anyhow::Result<bool> {
    let mut answer = String::new();
    if std::io::stdin().is_terminal() {
        let continued = ContinuedFlag::listen()?;
        loop {
            wait_until_armed().context("No answer")?;
            answer.clear();
            std::io::stdin().lock().read_line(&mut answer).context("No answer")?;
            // A line that was typed at the shell while slug was stopped is no answer.
            if !continued.take() {
                break;
            }
            writeln!(std::io::stderr(), "{again}")?;
        }
    }
    Ok(answer.trim().eq_ignore_ascii_case("y"))
}

/// Waits until the user has had time to read a question that was just printed. Drops everything
/// that is typed until then, also half a line. For a terminal in line mode.
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
