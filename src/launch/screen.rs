//! Starts the chat: first the questions about trust and model on the full screen, then the agent
//! and its front end. The linear mode uses [`ChatLaunch`], too.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use chrono::Datelike;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::agent::{self, AgentHandle, Interactivity};
use crate::cli::{Cli, CliExitStatus, DemoChoice};
use crate::commands::{CommandPart, CommandRegistry};
use crate::config::{NotificationMethod, ResolvedConfig};
use crate::context::{GitHead, git_head};
use crate::domain::AgentId;
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
use crate::platform::{logging, status_command, supervisor};
use crate::tui::app::JobControl;
use crate::tui::app::conversation::status::{ConversationStatus, GitSummary};
use crate::tui::app::keymap::Keymap;
use crate::tui::app::setting_response::LiveSettings;
use crate::tui::app::settings::{
    InputSource, ScreenSettings, StartMode, StartSettings, StatusCommandState,
};
use crate::tui::app::startup::StartupAnswer;
use crate::tui::app::theme_state::ThemeState;
use crate::tui::dialogs::{DialogOpening, OpenDialog};
use crate::tui::executor::{AgentConnection, ExecutorHandles, FrontEndServices};
use crate::tui::linear::{self, StdinLines, TerminalBell};
use crate::tui::replay::{ReplayPace, ReplaySetup, ReplayTimeline};
use crate::tui::runtime::{
    CodeHighlighting, FullScreen, ScreenControl, ScreenOpening, ScreenStart,
};
use crate::tui::theme::ColorDepth;

use super::build::{self, RunParticipants, RunParts};
use super::connections::ProviderConnections;
use super::linear::StdoutLineWriter;
use super::live_settings::live_settings;
use super::questions;
use super::run_context::RunContext;
use super::screen_services::{self, ScreenServices};
use super::startup::{self, StartupModel, StartupOutcome, StartupQuestions};
use super::{maintenance, print, script_run, themes};

/// What the input of the demo begins with: the task that its script plays.
const DEMO_MESSAGE: &str = "Customers say a 500 g parcel costs too much. Fix it.";

/// How long the agent may take to save the session when slug ends. A disk that hangs must not keep
/// the user from the shell.
const SAVE_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) async fn run(cli: &Cli, run_context: &RunContext) -> anyhow::Result<CliExitStatus> {
    if !terminal::is_capable() {
        bail!(
            "The full screen needs a terminal. Use `slug --linear` without one, or `slug -p \
             TEXT` for a single answer."
        );
    }
    startup::run(cli, run_context, ScreenStartup::open).await
}

/// Takes the terminal over.
fn open(run_context: &RunContext, own: &ResolvedConfig) -> anyhow::Result<FullScreen> {
    let takes_mouse = own.mouse.value && TerminalInfo::from_environment().sends_escape_with_mouse();
    let mouse = if takes_mouse { MouseOwner::Slugs } else { MouseOwner::Terminals };
    let theme = theme_state(run_context, own);
    let settings = ScreenSettings { wheel: live_settings(own).wheel, ..ScreenSettings::default() };
    let highlighting = match depth() {
        ColorDepth::None => CodeHighlighting::Plain,
        ColorDepth::Sixteen | ColorDepth::Palette | ColorDepth::TrueColor => {
            CodeHighlighting::Coloured
        }
    };
    let opening = ScreenOpening { settings, theme, highlighting };
    FullScreen::open(TerminalGuard::enter(mouse)?, opening)
}

/// The full screen while it plays a session.
pub(super) struct ReplayScreen {
    screen: FullScreen,
    signals: SignalStream,
}

impl ReplayScreen {
    pub(super) fn open(run_context: &RunContext, config: &ResolvedConfig) -> anyhow::Result<Self> {
        let signals = SignalStream::listen()?;
        Ok(Self { screen: open(run_context, config)?, signals })
    }

    /// Plays until the user quits, or a signal ends slug.
    pub(super) async fn play(
        mut self,
        timeline: Arc<ReplayTimeline>,
        setup: ReplaySetup,
        pace: ReplayPace,
    ) -> anyhow::Result<()> {
        let shutdown = CancellationToken::new();
        let (sender, control) = screen_control(&shutdown);
        let playing = self.screen.replay(timeline, setup, pace, control);
        let sink = ChatSignalSink::Screen(sender);
        let (played, signal) = until_left(playing, &mut self.signals, &shutdown, sink).await;
        if let Some(signal) = signal {
            raise_again(signal, &supervisor::program()?);
        }
        played
    }
}

/// The settings of a replay's screen that are the user's.
pub(super) fn settings_of_replay(config: &ResolvedConfig) -> ScreenSettings {
    ScreenSettings {
        wheel: live_settings(config).wheel,
        clock: chrono::Local::now().offset().local_minus_utc(),
        notify_after: Duration::MAX,
        start: StartSettings { version: env!("CARGO_PKG_VERSION"), ..StartSettings::default() },
        ..ScreenSettings::default()
    }
}

/// The full screen while it asks the questions before the chat.
pub(super) struct ScreenStartup {
    screen: FullScreen,
    signals: SignalStream,
}

impl ScreenStartup {
    /// Takes the terminal over.
    pub(super) fn open(run_context: &RunContext, own: &ResolvedConfig) -> anyhow::Result<Self> {
        let signals = SignalStream::listen()?;
        Ok(Self { screen: open(run_context, own)?, signals })
    }

    /// Asks a question, and waits for its answer or a signal that ends slug.
    pub(super) async fn ask<D: Into<OpenDialog>>(
        &mut self,
        question: DialogOpening<D>,
        services: Arc<dyn FrontEndServices>,
    ) -> anyhow::Result<StartupOutcome<StartupAnswer>> {
        let (sender, control) = screen_control(&CancellationToken::new());
        let shutdown = control.shutdown.clone();
        let asked = self.screen.ask(question, services, control);
        let sink = ChatSignalSink::Screen(sender);
        let (answer, signal) = until_left(asked, &mut self.signals, &shutdown, sink).await;
        match (signal, answer?) {
            (Some(signal), _) => Ok(StartupOutcome::Signal(signal)),
            (None, Some(answer)) => Ok(StartupOutcome::Answer(answer)),
            (None, None) => Ok(StartupOutcome::Quit),
        }
    }
}

impl StartupQuestions for ScreenStartup {
    async fn trust(
        &mut self,
        cli: &Cli,
        run_context: &RunContext,
    ) -> anyhow::Result<StartupOutcome<ProjectSettingsTrust>> {
        questions::trust(cli, run_context, self).await
    }

    async fn model(
        &mut self,
        cli: &Cli,
        run_context: &RunContext,
        config: &ResolvedConfig,
    ) -> anyhow::Result<StartupOutcome<StartupModel>> {
        questions::model(cli, run_context, config, self).await
    }

    fn into_chat(self, _config: &ResolvedConfig) -> (ChatFrontEnd, SignalStream) {
        (ChatFrontEnd::Full(self.screen), self.signals)
    }
}

/// The front end of the chat, with what it needs.
pub(super) enum ChatFrontEnd {
    /// On the whole screen.
    Full(FullScreen),
    /// Line by line.
    Linear {
        /// The lines of standard input.
        lines: StdinLines,
        /// The writer to standard output.
        writer: StdoutLineWriter,
        /// Whether the terminal bell calls the user.
        bell: TerminalBell,
    },
}

impl ChatFrontEnd {
    /// The clipboard. Escape sequences are used only on a terminal that understands them.
    fn clipboard(&self, run_context: &RunContext, config: &ResolvedConfig) -> Clipboard {
        match self {
            Self::Linear { .. } if !terminal::is_capable() => {
                screen_services::clipboard(run_context, config).without_terminal()
            }
            Self::Linear { .. } | Self::Full(_) => screen_services::clipboard(run_context, config),
        }
    }
}

/// What is decided before the chat starts.
pub(super) struct ChatLaunch<'a> {
    pub(super) cli: &'a Cli,
    pub(super) run_context: &'a RunContext,
    pub(super) config: ResolvedConfig,
    pub(super) project: ProjectSettingsTrust,
    pub(super) script: Option<DemoChoice>,
}

impl ChatLaunch<'_> {
    pub(super) async fn run(
        self,
        mut front: ChatFrontEnd,
        mut signals: SignalStream,
    ) -> anyhow::Result<CliExitStatus> {
        let Self { cli, run_context, config, project, script } = self;
        let redactor = Redactor::default();
        let filter = std::env::var("RUST_LOG").ok();
        let log = logging::start(&run_context.home.logs(), filter.as_deref(), redactor.clone());
        let debug = build::debug_log(cli, run_context, &redactor)?;
        let (providers, notices) =
            build::services(run_context, &config, script.as_ref(), &redactor, &debug)?;
        let last_models = script.is_none().then(|| run_context.home.last_models());
        let participants = RunParticipants {
            providers: providers.clone(),
            interactivity: Interactivity::Interactive,
            last_models,
            debug: debug.clone(),
            notices,
        };
        let RunParts { mut setup, processes, git, servers, languages } =
            build::parts(run_context, &config, project, participants, &redactor)?;
        let (keys, key_warnings) = run_context.keys(&config);
        setup.notices.extend(key_warnings);
        let (slash_commands, conflicts) =
            CommandRegistry::from_parts(vec![CommandPart::built_in()]);
        setup.notices.extend(conflicts.iter().map(ToString::to_string));
        setup.notices.extend(run_context.too_wide_notice(project)?);
        setup.notices.extend(log.as_ref().err().map(ToString::to_string));
        if let ChatFrontEnd::Full(screen) = &mut front {
            let theme = screen.theme_mut();
            theme.choice.clone_from(&config.theme.value);
            setup.notices.extend(theme.remarks());
        }
        let command = config.status_command.as_ref();
        let command = command.map(|it| {
            let environment = build::child_environment(&config, &redactor);
            status_command::StatusCommand::new(&it.value, environment)
        });
        maintenance::start(setup.store.clone());
        let stores = (setup.store.clone(), setup.hooks.clone());
        let clipboard = front.clipboard(run_context, &config);
        let connections = ProviderConnections {
            cli: cli.clone(),
            run_context: run_context.clone(),
            project,
            redactor: redactor.clone(),
            debug,
            providers,
        };
        let around = (servers.clone(), languages);
        let services = ScreenServices::new(connections, git, stores, around, command, clipboard);
        let shutdown = CancellationToken::new();
        let boundary = setup.escalation.as_ref().map(|escalation| escalation.boundary.clone());
        servers.start();
        let (AgentHandle { id: agent, commands, stop, children, task }, events) =
            agent::spawn(setup, script_run::start(cli, run_context)?);
        let watch = io::stdin().is_terminal().then(|| HangupWatch::start(shutdown.clone()));
        if let Some(Err(error)) = &watch {
            tracing::warn!(%error, "the terminal's end will not be noticed");
        }
        let handles = handles(agent, (commands, children), &stop, services.clone());

        let mode = match &script {
            Some(DemoChoice::Tour) => StartMode::Tour,
            Some(DemoChoice::Plain) => StartMode::Demo,
            Some(DemoChoice::File(_)) | None => StartMode::Chat,
        };
        let settings = ScreenSettings {
            boundary,
            commands: slash_commands,
            start: StartSettings { version: env!("CARGO_PKG_VERSION"), day: today(), mode },
            ..settings(run_context, &config, keys)
        };
        let status = status(run_context, &config);
        let history = services.last_sent();
        let (exit, signal) = match front {
            ChatFrontEnd::Full(screen) => {
                let (sender, control) = screen_control(&shutdown);
                let start = ScreenStart {
                    agent,
                    settings,
                    status,
                    history,
                    draft: match mode {
                        StartMode::Chat => services.draft(),
                        StartMode::Demo | StartMode::Tour => DEMO_MESSAGE.into(),
                    },
                    first_message: cli.first_message(),
                    exit_transcript: config.leave.value,
                    announcer: announcer(&config, &TerminalInfo::from_environment()),
                };
                let chat = screen.chat(start, handles, events, control);
                until_left(chat, &mut signals, &shutdown, ChatSignalSink::Screen(sender)).await
            }
            ChatFrontEnd::Linear { lines, writer, bell } => {
                let (sender, interrupts) = mpsc::channel(4);
                let start = linear::LinearStart {
                    agent,
                    settings,
                    status,
                    history,
                    first_message: cli.first_message(),
                    interrupts,
                    shutdown: shutdown.clone(),
                    bell,
                };
                let chat = linear::run(start, lines, writer, handles, events);
                until_left(chat, &mut signals, &shutdown, ChatSignalSink::Linear(sender)).await
            }
        };
        stop.stop_all();
        let agent = ended(task).await;
        processes.end_all().await;
        drop((log, watch));
        if let Some(signal) = signal {
            raise_again(signal, &supervisor::program()?);
        }
        match agent {
            AgentEnd::Completed => {}
            AgentEnd::Failed => {
                let logs = run_context.home.logs();
                bail!("slug's agent ended abnormally. The log is in {}.", logs.display());
            }
            AgentEnd::TimedOut => print::complain(
                "The session's last lines could not be saved in time (a slow disk?). The log is \
                 repaired when the session is opened again.",
            ),
        }
        print::farewell(run_context, &exit?);
        Ok(CliExitStatus::Answered)
    }
}

/// How the agent's task ended.
enum AgentEnd {
    Completed,
    Failed,
    TimedOut,
}

/// Waits until the agent, which was told to stop, has saved everything.
async fn ended(task: JoinHandle<()>) -> AgentEnd {
    let abort = task.abort_handle();
    match tokio::time::timeout(SAVE_TIMEOUT, task).await {
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

fn settings(run_context: &RunContext, config: &ResolvedConfig, keys: Keymap) -> ScreenSettings {
    let LiveSettings { motion, wheel, notify_after, status_items, typing, panel } =
        live_settings(config);
    ScreenSettings {
        cwd: run_context.cwd.clone(),
        home: run_context.user_home.clone(),
        keys: Arc::new(keys),
        commands: CommandRegistry::default(),
        motion,
        wheel,
        typing,
        panel,
        canvas: canvas(config),
        clock: chrono::Local::now().offset().local_minus_utc(),
        notify_after,
        status_items,
        status_command: match config.status_command {
            Some(_) => StatusCommandState::Given,
            None => StatusCommandState::None,
        },
        boundary: None,
        start: StartSettings::default(),
        input: InputSource::default(),
    }
}

/// The number of the day in the user's time zone.
fn today() -> u32 {
    u32::try_from(chrono::Local::now().date_naive().num_days_from_ce()).unwrap_or_default()
}

/// The canvas for pictures, with a first picture number that other programs in the terminal do not
/// use. `None` when the terminal cannot show pictures.
fn canvas(config: &ResolvedConfig) -> Option<(GraphicsCanvas, u32)> {
    let colours = match depth() {
        ColorDepth::TrueColor | ColorDepth::Palette => true,
        ColorDepth::Sixteen | ColorDepth::None => false,
    };
    let graphics = GraphicsProtocol::of(TerminalInfo::from_environment());
    let graphics = graphics.filter(|_| colours && config.images.value)?;
    Some((GraphicsCanvas::new(graphics), std::process::id() << 8))
}

/// The status that is known before the session is open.
fn status(run_context: &RunContext, config: &ResolvedConfig) -> ConversationStatus {
    let name = run_context.cwd.file_name().unwrap_or(run_context.cwd.as_os_str());
    let branch = git_head(&run_context.cwd).map(|head| match head {
        GitHead::Branch(name) | GitHead::Detached(name) => name,
    });
    ConversationStatus {
        project: name.to_string_lossy().into_owned(),
        git: branch.map(|branch| GitSummary { branch, ..GitSummary::default() }),
        mode: config.mode.value,
        ..ConversationStatus::default()
    }
}

/// How to notify the user: what the configuration wants, as far as the terminal can do it.
fn announcer(config: &ResolvedConfig, terminal: &TerminalInfo) -> TerminalNotifier {
    let method = match config.notify.value {
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
    TerminalNotifier { method, title, progress, multiplexer: terminal.multiplexer }
}

fn handles(
    agent: AgentId,
    (commands, children): (mpsc::Sender<agent::AddressedCommand>, agent::AgentDirectory),
    stop: &agent::StopHandle,
    services: Arc<ScreenServices>,
) -> ExecutorHandles {
    let stop = stop.clone();
    let connection = AgentConnection { commands, cancel: Arc::new(move || stop.stop_turn()) };
    ExecutorHandles { agents: BTreeMap::from([(agent, connection)]), children, services }
}

/// What stops a screen that runs until `shutdown`, and the way of its stops and continuations.
fn screen_control(shutdown: &CancellationToken) -> (mpsc::Sender<JobControl>, ScreenControl) {
    let (sender, jobs) = mpsc::channel(4);
    (sender, ScreenControl { jobs, shutdown: shutdown.clone() })
}

/// Where signals go that do not end slug.
enum ChatSignalSink {
    /// The full screen gets stops and continuations.
    Screen(mpsc::Sender<JobControl>),
    /// The linear mode gets ctrl+c.
    Linear(mpsc::Sender<()>),
}

/// Waits for a chat or question to end, or for a signal that ends it.
async fn until_left<T>(
    chat: impl Future<Output = anyhow::Result<T>>,
    signals: &mut SignalStream,
    shutdown: &CancellationToken,
    sink: ChatSignalSink,
) -> (anyhow::Result<T>, Option<HandledSignal>) {
    tokio::pin!(chat);
    let mut ending = None;
    loop {
        tokio::select! {
            exit = &mut chat => return (exit, ending),
            signal = signals.next(), if ending.is_none() => {
                match (signal, &sink) {
                    // In linear mode ctrl+c and ctrl+z are signals. When the queue is full,
                    // one more ctrl+c makes no difference.
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

pub(super) fn theme_state(run_context: &RunContext, config: &ResolvedConfig) -> ThemeState {
    ThemeState {
        choice: config.theme.value.clone(),
        background: TerminalBackground::from_environment(|name| std::env::var(name).ok()),
        depth: depth(),
        library: Arc::new(themes::library(&run_context.home.themes())),
    }
}

pub(super) fn depth() -> ColorDepth {
    ColorDepth::detect(|name| std::env::var(name).ok())
}
