//! The full screen: the questions before the chat, then the chat.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::agent::{self, AgentHandle, Interactivity};
use crate::cli::{Cli, CliExitStatus};
use crate::config::{ConfigError, ConfigOrigin, KeyPreset, NotificationMethod, ResolvedConfig};
use crate::context::{GitHead, git_head};
use crate::permissions::store::ProjectSettingsTrust;
use crate::platform::clipboard::Clipboard;
use crate::platform::graphics::{GraphicsCanvas, GraphicsProtocol};
use crate::platform::hangup::HangupWatch;
use crate::platform::redact::Redactor;
use crate::platform::signals::{HandledSignal, SignalStream, raise_again, stop};
use crate::platform::terminal::{self, MouseOwner, TerminalGuard};
use crate::platform::terminal_background::TerminalBackground;
use crate::platform::terminal_kind::TerminalInfo;
use crate::platform::terminal_notifier::{
    NotificationSequence, ProgressReporting, TerminalNotifier, TitleReporting,
};
use crate::platform::{child, logging, status_command};
use crate::providers::demo;
use crate::tui::app::JobControl;
use crate::tui::app::composer::EditingMode;
use crate::tui::app::keymap::Keymap;
use crate::tui::app::model::{MotionPreference, ScreenSettings, StatusCommandState};
use crate::tui::app::status::{GitSummary, ScreenStatus};
use crate::tui::app::theme_state::ThemeState;
use crate::tui::app::wheel::WheelSettings;
use crate::tui::executor::ExecutorHandles;
use crate::tui::linear::{self, StdinLines, TerminalBell};
use crate::tui::runtime::{self, CodeHighlighting, FrontEndExit, ScreenStart};
use crate::tui::theme::ColorDepth;

use super::build::{self, RunParticipants, RunParts};
use super::linear::StdoutLineWriter;
use super::questions::{self, StartupModel, StartupOutcome};
use super::run_context::RunContext;
use super::screen_services::{self, ScreenServices};
use super::{maintenance, print, single_prompt, themes};

/// How long the agent may take to save what it has when it is told to end. A disk that hangs must
/// not hold the shell up.
const LAST_LINES: Duration = Duration::from_secs(5);

pub(super) async fn run(cli: &Cli, ground: &RunContext) -> anyhow::Result<CliExitStatus> {
    if !terminal::is_capable() {
        bail!(
            "The full screen needs a terminal. `slug --linear` does without a screen, and `slug -p TEXT` \
             without a conversation."
        );
    }
    let scratch = scratch(cli)?;
    let moved = scratch.as_ref().map(|scratch| ground.moved_to(scratch.path().to_owned()));
    let ground = moved.as_ref().unwrap_or(ground);
    // What is wrong in the person's own file is said before the screen is taken.
    let own = match ground.config(cli, ProjectSettingsTrust::Untrusted) {
        Ok(config) => config,
        Err(errors) => return Ok(report_config_errors(&errors)),
    };
    questions::plain_http(ground, &own)?;
    let mut looks = looks(ground, &own);
    let mut signals = SignalStream::listen()?;
    let mouse = if own.mouse.value { MouseOwner::Slugs } else { MouseOwner::Terminals };
    let mut screen = TerminalGuard::enter(mouse)?;
    let project = match &scratch {
        // slug has made it itself.
        Some(_) => ProjectSettingsTrust::Trusted,
        None => match questions::trust(cli, ground, &mut screen, &mut signals, &mut looks).await? {
            StartupOutcome::Answer(project) => project,
            StartupOutcome::Quit => return Ok(CliExitStatus::Answered),
            StartupOutcome::Signal(signal) => return raise(screen, signal),
        },
    };
    let mut config = match ground.config(cli, project) {
        Ok(config) => config,
        Err(errors) => {
            drop(screen);
            return Ok(report_config_errors(&errors));
        }
    };
    let mut script = cli.demo.clone();
    if script.is_none() && config.nothing_configured() {
        match questions::model(cli, ground, &config, &mut screen, &mut signals, &mut looks).await? {
            StartupOutcome::Answer(StartupModel::Demo) => script = Some(None),
            StartupOutcome::Answer(StartupModel::Configured) => match ground.config(cli, project) {
                Ok(chosen) => config = chosen,
                Err(errors) => {
                    drop(screen);
                    return Ok(report_config_errors(&errors));
                }
            },
            StartupOutcome::Quit => return Ok(CliExitStatus::Answered),
            StartupOutcome::Signal(signal) => return raise(screen, signal),
        }
    }
    if scratch.is_none() && script == Some(None) && cli.directory.is_none() {
        let folder = scratch_repo()?;
        let ground = ground.moved_to(folder.path().to_owned());
        let chat = ChatLaunch {
            cli,
            ground: &ground,
            config,
            project: ProjectSettingsTrust::Trusted,
            script,
        };
        return chat.run(ChatFrontEnd::Full { screen, looks }, signals).await;
    }
    let front = ChatFrontEnd::Full { screen, looks };
    ChatLaunch { cli, ground, config, project, script }.run(front, signals).await
}

/// The scratch repository that the built-in demo works in; gone when it is dropped.
pub(super) fn scratch(cli: &Cli) -> anyhow::Result<Option<TempDir>> {
    if cli.demo != Some(None) || cli.directory.is_some() {
        return Ok(None);
    }
    scratch_repo().map(Some)
}

pub(super) fn scratch_repo() -> anyhow::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("slug-demo-").tempdir()?;
    demo::materialise_repo(folder.path())?;
    Ok(folder)
}

/// How the chat meets the person.
pub(super) enum ChatFrontEnd {
    /// On the whole screen.
    Full {
        /// The screen.
        screen: TerminalGuard,
        /// Its colours.
        looks: ThemeState,
    },
    /// Line by line.
    Linear {
        /// Where lines come from.
        ears: StdinLines,
        /// Where lines go.
        voice: StdoutLineWriter,
        /// Whether a bell calls.
        bell: TerminalBell,
    },
}

impl ChatFrontEnd {
    /// Sequences go to a terminal that understands them, and to nothing else.
    fn clipboard(&self, ground: &RunContext, config: &ResolvedConfig) -> Clipboard {
        match self {
            Self::Linear { .. } if !terminal::is_capable() => {
                screen_services::clipboard(ground, config).without_terminal()
            }
            Self::Linear { .. } | Self::Full { .. } => screen_services::clipboard(ground, config),
        }
    }
}

/// All that the chat needs.
pub(super) struct ChatLaunch<'a> {
    pub(super) cli: &'a Cli,
    pub(super) ground: &'a RunContext,
    pub(super) config: ResolvedConfig,
    pub(super) project: ProjectSettingsTrust,
    pub(super) script: Option<Option<PathBuf>>,
}

impl ChatLaunch<'_> {
    pub(super) async fn run(
        self,
        mut front: ChatFrontEnd,
        mut signals: SignalStream,
    ) -> anyhow::Result<CliExitStatus> {
        let Self { cli, ground, config, project, script } = self;
        let redactor = Redactor::default();
        let filter = std::env::var("RUST_LOG").ok();
        let log = logging::start(&ground.home.logs(), filter.as_deref(), redactor.clone());
        let services = build::services(ground, &config, script.as_ref(), &redactor)?;
        let last_models = script.is_none().then(|| ground.home.last_models());
        let sides = RunParticipants {
            providers: services.clone(),
            interactivity: Interactivity::Interactive,
            last_models,
        };
        let RunParts { mut setup, processes, git } =
            build::parts(cli, ground, &config, project, sides, &redactor)?;
        let (keys, said) = ground.keys(&config);
        setup.notices.extend(said);
        setup.notices.extend(ground.too_wide_notice(project)?);
        setup.notices.extend(log.as_ref().err().map(ToString::to_string));
        if let ChatFrontEnd::Full { looks, .. } = &mut front {
            looks.choice.clone_from(&config.theme.value);
            setup.notices.extend(looks.remarks());
        }
        let command = config.status_command.as_ref();
        let command = command.map(|it| {
            let environment = build::child_environment(&config, &redactor);
            status_command::StatusCommand::new(&it.value, environment)
        });
        maintenance::start(setup.store.clone());
        let kept = (setup.store.clone(), setup.hooks.clone());
        let clipboard = front.clipboard(ground, &config);
        let outside = ScreenServices::new(cli, ground, git, services, kept, command, clipboard);
        let shutdown = CancellationToken::new();
        let boundary = setup.escalation.as_ref().map(|outside| outside.boundary.clone());
        let AgentHandle { commands, events, stop, task } =
            agent::spawn(setup, single_prompt::start(cli, ground)?);
        let watch = io::stdin().is_terminal().then(|| HangupWatch::start(shutdown.clone()));
        if let Some(Err(error)) = &watch {
            tracing::warn!(%error, "the terminal's end will not be noticed");
        }
        let handles = handles(commands, &stop, outside.clone());

        let settings = ScreenSettings { boundary, ..settings(ground, &config, keys) };
        let status = status(ground, &config);
        let history = outside.last_sent();
        let (left, signal) = match front {
            ChatFrontEnd::Full { screen, looks } => {
                let (told, jobs) = mpsc::channel(4);
                let start = ScreenStart {
                    settings,
                    status,
                    history,
                    draft: outside.draft(),
                    code: if depth() == ColorDepth::None {
                        CodeHighlighting::Plain
                    } else {
                        CodeHighlighting::Coloured
                    },
                    leave: config.leave.value,
                    looks,
                    announcer: announcer(&config, &TerminalInfo::from_environment()),
                    jobs,
                    shutdown: shutdown.clone(),
                };
                let chat = runtime::run(screen, start, handles, events);
                until_left(chat, &mut signals, &shutdown, ChatSignalSink::Screen(told)).await
            }
            ChatFrontEnd::Linear { ears, voice, bell } => {
                let (told, interrupts) = mpsc::channel(4);
                let start = linear::LinearStart {
                    settings,
                    status,
                    history,
                    interrupts,
                    shutdown: shutdown.clone(),
                    bell,
                };
                let chat = linear::run(start, ears, voice, handles, events);
                until_left(chat, &mut signals, &shutdown, ChatSignalSink::Linear(told)).await
            }
        };
        stop.stop_all();
        let agent = ended(task).await;
        processes.end_all().await;
        drop((log, watch));
        if let Some(signal) = signal {
            raise_again(signal, &child::program()?);
        }
        match agent {
            AgentEnd::Completed => {}
            AgentEnd::Failed => {
                let logs = ground.home.logs();
                bail!("slug's agent ended abnormally. The log is in {}.", logs.display());
            }
            AgentEnd::TimedOut => print::complain(
                "The session's last lines could not be saved in time (a slow disk?). \
                 What is on the disk is put in order when the session is opened again.",
            ),
        }
        print::farewell(ground, &left?);
        Ok(CliExitStatus::Answered)
    }
}

/// How the agent came to its end.
enum AgentEnd {
    Completed,
    Failed,
    TimedOut,
}

/// Waits for the agent, which has been told to stop, to have saved everything.
async fn ended(task: JoinHandle<()>) -> AgentEnd {
    let abort = task.abort_handle();
    match tokio::time::timeout(LAST_LINES, task).await {
        Ok(Ok(())) => AgentEnd::Completed,
        Ok(Err(error)) => {
            tracing::error!(%error, "the agent");
            AgentEnd::Failed
        }
        Err(_) => {
            abort.abort();
            AgentEnd::TimedOut
        }
    }
}

/// The preset brings Vi's modes along, unless `vi` says otherwise.
fn typing(config: &ResolvedConfig) -> EditingMode {
    let by_preset = config.keys.value == KeyPreset::Vi && config.vi.origin == ConfigOrigin::Default;
    if config.vi.value || by_preset { EditingMode::Vi } else { EditingMode::Plain }
}

fn settings(ground: &RunContext, config: &ResolvedConfig, keys: Keymap) -> ScreenSettings {
    ScreenSettings {
        cwd: ground.cwd.clone(),
        home: ground.user_home.clone(),
        keys: Arc::new(keys),
        motion: if config.reduced_motion.value {
            MotionPreference::Reduced
        } else {
            MotionPreference::Full
        },
        wheel: wheel(config),
        typing: typing(config),
        canvas: canvas(config),
        clock: chrono::Local::now().offset().local_minus_utc(),
        notify_after: Duration::from_secs(config.notify_after.value.into()),
        status_items: config.status.value.clone(),
        status_command: match config.status_command {
            Some(_) => StatusCommandState::Given,
            None => StatusCommandState::None,
        },
        boundary: None,
    }
}

/// What pictures are painted on, with a number to begin with that other programs do not have.
fn canvas(config: &ResolvedConfig) -> Option<(GraphicsCanvas, u32)> {
    let colours = match depth() {
        ColorDepth::TrueColor | ColorDepth::Palette => true,
        ColorDepth::Sixteen | ColorDepth::None => false,
    };
    let graphics = GraphicsProtocol::of(TerminalInfo::from_environment());
    let graphics = graphics.filter(|_| colours && config.images.value)?;
    Some((GraphicsCanvas::new(graphics), std::process::id() << 8))
}

/// What is known before the session is open.
fn status(ground: &RunContext, config: &ResolvedConfig) -> ScreenStatus {
    let name = ground.cwd.file_name().unwrap_or(ground.cwd.as_os_str());
    let branch = git_head(&ground.cwd).map(|head| match head {
        GitHead::Branch(name) | GitHead::Detached(name) => name,
    });
    ScreenStatus {
        project: name.to_string_lossy().into_owned(),
        git: branch.map(|branch| GitSummary { branch, ..GitSummary::default() }),
        mode: config.mode.value,
        ..ScreenStatus::default()
    }
}

fn wheel(config: &ResolvedConfig) -> WheelSettings {
    let rows = u16::try_from(config.wheel_rows.value).unwrap_or(u16::MAX);
    let events = match &config.wheel_events {
        Some(events) => u16::try_from(events.value).unwrap_or(u16::MAX),
        None => TerminalInfo::from_environment().kind.wheel_events(),
    };
    WheelSettings { rows, events }
}

/// What is wanted of what the terminal can do.
fn announcer(config: &ResolvedConfig, terminal: &TerminalInfo) -> TerminalNotifier {
    let call = match config.notify.value {
        NotificationMethod::Auto => Some(NotificationSequence::of(terminal.kind)),
        NotificationMethod::Bell => Some(NotificationSequence::Bell),
        NotificationMethod::Osc9 => Some(NotificationSequence::Osc9),
        NotificationMethod::Osc777 => Some(NotificationSequence::Osc777),
        NotificationMethod::Osc99 => Some(NotificationSequence::Osc99),
        NotificationMethod::Never => None,
    };
    let title = if config.title.value {
        TitleReporting::possible(terminal.kind)
    } else {
        TitleReporting::No
    };
    let progress = if config.progress.value {
        ProgressReporting::safe(terminal)
    } else {
        ProgressReporting::No
    };
    TerminalNotifier { method: call, title, progress, multiplexer: terminal.multiplexer }
}

fn handles(
    commands: mpsc::Sender<agent::AgentCommand>,
    stop: &agent::StopHandle,
    outside: Arc<ScreenServices>,
) -> ExecutorHandles {
    let stop = stop.clone();
    ExecutorHandles { commands, cancel: Arc::new(move || stop.stop_turn()), services: outside }
}

/// Who is told of the signals that end nothing.
enum ChatSignalSink {
    /// The full screen: of stops.
    Screen(mpsc::Sender<JobControl>),
    /// The linear mode: of ctrl+c.
    Linear(mpsc::Sender<()>),
}

/// Waits for the chat to end, or for a signal that ends it.
async fn until_left(
    chat: impl Future<Output = anyhow::Result<FrontEndExit>>,
    signals: &mut SignalStream,
    shutdown: &CancellationToken,
    told: ChatSignalSink,
) -> (anyhow::Result<FrontEndExit>, Option<HandledSignal>) {
    tokio::pin!(chat);
    let mut ending = None;
    loop {
        tokio::select! {
            left = &mut chat => return (left, ending),
            signal = signals.next(), if ending.is_none() => {
                match (signal, &told) {
                    // Without a screen ctrl+c is a signal, and so is ctrl+z. A full queue holds
                    // more than anybody means.
                    (HandledSignal::Interrupt, ChatSignalSink::Linear(interrupts)) => {
                        let _ = interrupts.try_send(());
                        continue;
                    }
                    (HandledSignal::Stop, ChatSignalSink::Linear(_)) => {
                        if let Err(error) = stop() {
                            tracing::warn!(%error, "slug cannot be stopped");
                        }
                        continue;
                    }
                    (HandledSignal::Stop, ChatSignalSink::Screen(jobs)) => {
                        let _ = jobs.try_send(JobControl::StopRequested);
                    }
                    (HandledSignal::Continue, ChatSignalSink::Screen(jobs)) => {
                        let _ = jobs.try_send(JobControl::Continued);
                    }
                    (HandledSignal::Continue, ChatSignalSink::Linear(_))
                    | (HandledSignal::Interrupt, ChatSignalSink::Screen(_))
                    | (HandledSignal::Terminate | HandledSignal::Hangup | HandledSignal::Quit, _) => {}
                }
                if signal.is_ending() {
                    ending = Some(signal);
                    shutdown.cancel();
                }
            }
        }
    }
}

pub(super) fn report_config_errors(errors: &[ConfigError]) -> CliExitStatus {
    print::config_errors(errors);
    CliExitStatus::Usage
}

fn raise(screen: TerminalGuard, signal: HandledSignal) -> anyhow::Result<CliExitStatus> {
    drop(screen);
    raise_again(signal, &child::program()?)
}

fn looks(ground: &RunContext, config: &ResolvedConfig) -> ThemeState {
    ThemeState {
        choice: config.theme.value.clone(),
        background: TerminalBackground::from_environment(|name| std::env::var(name).ok()),
        depth: depth(),
        library: Arc::new(themes::library(&ground.home.themes())),
    }
}

pub(super) fn depth() -> ColorDepth {
    ColorDepth::detect(|name| std::env::var(name).ok())
}
