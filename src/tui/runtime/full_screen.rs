//! The full screen from its first question to the end of the chat: one surface and one loop, with a
//! model for the questions and then one for the chat.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use anyhow::Context;
use crossterm::event::Event as Input;
use futures_util::Stream;

use crate::agent::{self, AgentDirectory};
use crate::config::ExitTranscript;
use crate::domain::{AgentId, SessionId, UserInput};
use crate::platform::signals::ContinuedFlag;
use crate::platform::terminal::{TerminalEvents, TerminalGuard};
use crate::platform::terminal_notifier::TerminalNotifier;
use crate::session::HistoryPage;
use crate::tui::app::conversation::composer::ChatComposer;
use crate::tui::app::conversation::status::ConversationStatus;
use crate::tui::app::settings::ScreenSettings;
use crate::tui::app::startup::StartupAnswer;
use crate::tui::app::theme_state::ThemeState;
use crate::tui::app::{ScreenEffect, ScreenModel};
use crate::tui::dialogs::dialog::DialogOpening;
use crate::tui::dialogs::{DialogStack, OpenDialog};
use crate::tui::executor::{EffectExecutor, ExecutorHandles, FrontEndServices};
use crate::tui::exit_transcript;

use super::tty::TtySurface;
use super::{ScreenControl, ScreenLoop, ScreenLoopEnd, ScreenSurface, run_loop};

/// The agent of a screen without a conversation: the ids of agents begin with 1.
const NO_AGENT: AgentId = AgentId(0);

/// The screen, with the terminal taken. Dropping it gives the terminal back.
pub struct FullScreen {
    pub(super) ui: Box<ScreenLoop<TtySurface>>,
}

/// What the screen needs before anything of the folder is known.
pub struct ScreenOpening {
    /// What the questions before the chat are shown with.
    pub settings: ScreenSettings,
    /// The theme and what it is chosen by.
    pub theme: ThemeState,
    pub highlighting: CodeHighlighting,
}

/// Everything that the chat needs besides the terminal and the agent.
pub struct ScreenStart {
    /// The agent whose conversation is shown.
    pub agent: AgentId,
    /// What stays the same while the screen runs.
    pub settings: ScreenSettings,
    /// What the first line shows from the beginning.
    pub status: ConversationStatus,
    /// Texts that were sent before, oldest first.
    pub history: HistoryPage,
    /// The unsent input of the last run.
    pub draft: UserInput,
    /// The message of the command line.
    pub first_message: Option<UserInput>,
    /// How much of the transcript stays in the terminal.
    pub exit_transcript: ExitTranscript,
    /// Sends what the terminal shows outside of the frame: title, progress, notifications.
    pub announcer: TerminalNotifier,
}

/// Whether code is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeHighlighting {
    /// By its language.
    Coloured,
    /// Not at all, for screens without colours.
    Plain,
}

/// What the screen or the linear front end ends with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontEndExit {
    /// The session that was open last.
    pub session: Option<SessionId>,
    /// The part of the transcript that stays in the terminal; empty when a signal ended slug.
    pub page: String,
}

impl FullScreen {
    /// Takes the terminal over. Nothing is drawn yet.
    ///
    /// # Errors
    ///
    /// Fails when SIGCONT cannot be watched or the terminal has no size.
    pub fn open(screen: TerminalGuard, opening: ScreenOpening) -> anyhow::Result<Self> {
        let continued = ContinuedFlag::listen().context("cannot listen for SIGCONT")?;
        // Before the chat the terminal is told nothing but what is on the screen.
        let surface = TtySurface::new(screen, TerminalNotifier::silent(), continued)
            .context("cannot draw on the terminal")?;
        Ok(Self { ui: Box::new(ScreenLoop::open(surface, opening)?) })
    }

    /// The theme, which follows the terminal's background as soon as that is known.
    pub fn theme_mut(&mut self) -> &mut ThemeState {
        &mut self.ui.model.shared.theme
    }

    /// Asks a question before the chat. `None` if `control` ended it.
    ///
    /// # Errors
    ///
    /// Fails when the terminal cannot be read from or written to, or its input ends.
    pub async fn ask<D: Into<OpenDialog>>(
        &mut self,
        question: DialogOpening<D>,
        services: Arc<dyn FrontEndServices>,
        control: ScreenControl,
    ) -> anyhow::Result<Option<StartupAnswer>> {
        self.ui.ask(question, TerminalEvents::new, services, control).await
    }

    /// Shows the chat until the user leaves, the agent ends or `control` ends it. The terminal is
    /// given back before this returns.
    ///
    /// # Errors
    ///
    /// Fails when the terminal cannot be read from or written to.
    pub async fn chat(
        mut self,
        start: ScreenStart,
        handles: ExecutorHandles,
        events: agent::AgentEventReceiver,
        control: ScreenControl,
    ) -> anyhow::Result<FrontEndExit> {
        self.ui.surface.announce_by(start.announcer);
        (*self.ui).chat(TerminalEvents::new, start, handles, events, control).await
    }
}

impl<S: ScreenSurface> ScreenLoop<S> {
    /// A screen without a conversation, for the questions before the chat.
    pub(super) fn open(surface: S, opening: ScreenOpening) -> io::Result<Self> {
        let ScreenOpening { settings, theme, highlighting } = opening;
        let (status, composer) = (ConversationStatus::default(), ChatComposer::new(Vec::new(), ""));
        let size = surface.size()?;
        let mut model = ScreenModel::new(NO_AGENT, settings, status, composer, size);
        model.shared.theme = theme;
        Ok(Self::new(surface, model, highlighting))
    }

    pub(super) async fn ask<D, K>(
        &mut self,
        question: DialogOpening<D>,
        keys: impl Fn() -> K,
        services: Arc<dyn FrontEndServices>,
        mut control: ScreenControl,
    ) -> anyhow::Result<Option<StartupAnswer>>
    where
        D: Into<OpenDialog>,
        K: Stream<Item = io::Result<Input>> + Unpin,
    {
        let handles = ExecutorHandles {
            agents: BTreeMap::new(),
            children: AgentDirectory::default(),
            services,
        };
        let mut executor = EffectExecutor::new(handles, self.answers_in.clone());
        // No agent sends anything, and the queue stays open as long as the question.
        let (_no_agent, mut events) = agent::event_queue(self.model.conversation.agent);
        self.model.dialogs = DialogStack::default();
        for effect in self.model.dialogs.open(question) {
            // What opens a question is work for the services, not for the terminal.
            executor.run(effect);
        }
        match run_loop(self, keys, &mut control, &mut executor, &mut events).await? {
            ScreenLoopEnd::Answered(answer) => Ok(Some(answer)),
            ScreenLoopEnd::Left if control.shutdown.is_cancelled() => Ok(None),
            ScreenLoopEnd::Left => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        }
    }

    pub(super) async fn chat<K>(
        mut self,
        keys: impl Fn() -> K,
        start: ScreenStart,
        handles: ExecutorHandles,
        mut events: agent::AgentEventReceiver,
        mut control: ScreenControl,
    ) -> anyhow::Result<FrontEndExit>
    where
        K: Stream<Item = io::Result<Input>> + Unpin,
    {
        let leave = start.exit_transcript;
        let mut executor = EffectExecutor::new(handles, self.answers_in.clone());
        self.begin_chat(start)?;
        executor.run(ScreenEffect::FollowOffers { seen: None });
        run_loop(&mut self, keys, &mut control, &mut executor, &mut events).await?;
        executor.run(ScreenEffect::SaveDraft { text: self.model.conversation.unsent() });
        executor.finish().await;
        let leave = if control.shutdown.is_cancelled() { ExitTranscript::Nothing } else { leave };
        let theme = &self.applied_theme.theme;
        let page = exit_transcript::render(&self.model, &mut self.layouts, theme, leave);
        Ok(FrontEndExit { session: self.model.conversation.status.session, page })
    }

    /// Shows the conversation in place of the questions.
    pub(super) fn begin_chat(&mut self, start: ScreenStart) -> io::Result<()> {
        let ScreenStart { agent, settings, status, history, draft, first_message, .. } = start;
        let mut composer = ChatComposer::new(Vec::new(), draft);
        composer.history.prepend(history, &settings.cwd);
        let mut model = ScreenModel::new(agent, settings, status, composer, self.surface.size()?);
        model.shared.theme = std::mem::take(&mut self.model.shared.theme);
        model.conversation.first_message = first_message;
        self.show(model);
        Ok(())
    }
}
