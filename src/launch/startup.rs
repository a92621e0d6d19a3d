//! What comes before every run, in one order: the folder, the user's own configuration, the questions,
//! and then the configuration with the folder's part. Nothing of the folder is read before it is
//! known whether the user trusts it.
//!
//! How a question is asked is the front end's: [`StartupQuestions`].

use tempfile::TempDir;

use crate::cli::{Cli, CliExitStatus, DemoChoice};
use crate::config::{ConfigError, ResolvedConfig};
use crate::disk::private_folder;
use crate::permissions::store::ProjectSettingsTrust;
use crate::platform::signals::{HandledSignal, SignalStream, raise_again};
use crate::platform::supervisor;
use crate::providers::demo;

use super::print;
use super::questions;
use super::run_context::RunContext;
use super::screen::{ChatFrontEnd, ChatLaunch};

/// How a question before the chat ended.
pub(super) enum StartupOutcome<T> {
    /// The user has answered.
    Answer(T),
    /// The user leaves slug.
    Quit,
    /// A signal ends slug.
    Signal(HandledSignal),
}

/// The model that the user has chosen.
pub(super) enum StartupModel {
    /// The scripted model of the demo.
    Demo,
    /// The one that is in the configuration file now.
    Configured,
}

/// The questions as a front end asks them, and the front end of the chat that it becomes. Dropping it
/// gives the terminal back.
pub(super) trait StartupQuestions: Sized {
    /// Asks whether to trust the folder, unless that is already decided.
    async fn trust(
        &mut self,
        cli: &Cli,
        run_context: &RunContext,
    ) -> anyhow::Result<StartupOutcome<ProjectSettingsTrust>>;

    /// Asks which model is to answer, and writes the answer into the configuration.
    async fn model(
        &mut self,
        cli: &Cli,
        run_context: &RunContext,
        config: &ResolvedConfig,
    ) -> anyhow::Result<StartupOutcome<StartupModel>>;

    /// The front end of the chat, and the signals that it hears.
    fn into_chat(self, config: &ResolvedConfig) -> (ChatFrontEnd, SignalStream);
}

/// Starts a chat: asks what has to be asked, with the questions that `begin` makes of the user's own
/// configuration, and runs it to its end.
pub(super) async fn run<Q: StartupQuestions>(
    cli: &Cli,
    run_context: &RunContext,
    begin: impl FnOnce(&RunContext, &ResolvedConfig) -> anyhow::Result<Q>,
) -> anyhow::Result<CliExitStatus> {
    let scratch = ScratchFolder::for_demo(cli)?;
    let moved = scratch.as_ref().map(|scratch| scratch.moved(run_context));
    let run_context = moved.as_ref().unwrap_or(run_context);
    // Errors in the user's own file are printed before the screen is taken over.
    let own = match run_context.config(cli, ProjectSettingsTrust::Untrusted) {
        Ok(config) => config,
        Err(errors) => return Ok(report_config_errors(&errors)),
    };
    questions::plain_http(run_context, &own)?;
    let mut questions = begin(run_context, &own)?;
    let project = match &scratch {
        // slug has made this folder itself.
        Some(_) => ProjectSettingsTrust::Trusted,
        None => match questions.trust(cli, run_context).await? {
            StartupOutcome::Answer(project) => project,
            StartupOutcome::Quit => return Ok(CliExitStatus::Answered),
            StartupOutcome::Signal(signal) => return raise(questions, signal),
        },
    };
    let mut config = match run_context.config(cli, project) {
        Ok(config) => config,
        Err(errors) => {
            drop(questions);
            return Ok(report_config_errors(&errors));
        }
    };
    let mut script = cli.demo_choice();
    if script.is_none() && config.nothing_configured() {
        match questions.model(cli, run_context, &config).await? {
            StartupOutcome::Answer(StartupModel::Demo) => script = Some(DemoChoice::Tour),
            StartupOutcome::Answer(StartupModel::Configured) => {
                match run_context.config(cli, project) {
                    Ok(chosen) => config = chosen,
                    Err(errors) => {
                        drop(questions);
                        return Ok(report_config_errors(&errors));
                    }
                }
            }
            StartupOutcome::Quit => return Ok(CliExitStatus::Answered),
            StartupOutcome::Signal(signal) => return raise(questions, signal),
        }
    }
    let (front, signals) = questions.into_chat(&config);
    let is_own = script.as_ref().is_some_and(|script| script.file().is_none());
    if scratch.is_none() && is_own && cli.directory.is_none() {
        let scratch = ScratchFolder::new()?;
        let run_context = &scratch.moved(run_context);
        let project = ProjectSettingsTrust::Trusted;
        return ChatLaunch { cli, run_context, config, project, script }.run(front, signals).await;
    }
    ChatLaunch { cli, run_context, config, project, script }.run(front, signals).await
}

/// A repository that the built-in demo works in; removed when it is dropped.
pub(super) struct ScratchFolder(TempDir);

impl ScratchFolder {
    /// The folder for `--demo`; `None` where the user names a folder or another script.
    pub(super) fn for_demo(cli: &Cli) -> anyhow::Result<Option<Self>> {
        match cli.demo_choice() {
            Some(DemoChoice::Tour | DemoChoice::Plain) if cli.directory.is_none() => {
                Self::new().map(Some)
            }
            Some(_) | None => Ok(None),
        }
    }

    fn new() -> anyhow::Result<Self> {
        let folder = private_folder("slug-demo-")?;
        demo::materialise_repo(folder.path())?;
        Ok(Self(folder))
    }

    /// The same context in this folder.
    pub(super) fn moved(&self, run_context: &RunContext) -> RunContext {
        run_context.moved_to(self.0.path().to_owned())
    }
}

/// Prints the errors of the configuration.
pub(super) fn report_config_errors(errors: &[ConfigError]) -> CliExitStatus {
    print::config_errors(errors);
    CliExitStatus::Usage
}

/// Gives the terminal back, and ends slug as the signal would have.
fn raise<Q>(questions: Q, signal: HandledSignal) -> anyhow::Result<CliExitStatus> {
    drop(questions);
    raise_again(signal, &supervisor::program()?)
}
