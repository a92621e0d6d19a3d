//! The one loop of the screen: it takes in everything that has arrived, then draws at most once.
//!
//! A key is drawn at once; streamed text is drawn at most sixty times a second. While nothing
//! happens there is no timer and nothing is drawn. A frame is written at once, between the marks of
//! a synchronized update, so that no terminal shows half of one. While the terminal has not taken a
//! frame, no other frame is made and everything else goes on; the next frame then shows the latest
//! state.

use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use anyhow::Context;
use crossterm::event::{Event as Input, MouseEventKind};
use futures_util::{Stream, StreamExt};
use ratatui::Frame;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::agent::{self, AddressedEvent};
use crate::platform::terminal_background::FilteredEvent;
use crate::platform::terminal_notifier::TerminalProgress;

use super::app::attention::TerminalFocus;
use super::app::conversation::composer::CaretShape;
use super::app::geometry::FrameGeometry;
use super::app::startup::StartupAnswer;
use super::app::themes;
use super::app::{
    JobControl, ScreenEffect, ScreenModel, ScreenMsg, idle_wanted_at, update, wake_at,
};
use super::executor::{EffectExecutor, TerminalAction};
use super::input::TerminalEventStream;
use super::layout::SyntaxHighlighter;
use super::links::LinkTable;
use super::picture_cells::PictureTable;
use super::theme::{Theme, ThemeLibrary};
use super::view::label::{TerminalLabel, label};
use super::view::{RoleStyles, ViewLayouts, view};

mod asciicast;
mod backend;
mod full_screen;
mod replay;
mod tty;

pub use asciicast::{AsciicastVersion, record_asciicast};
pub use full_screen::{CodeHighlighting, FrontEndExit, FullScreen, ScreenOpening, ScreenStart};

/// The least time between two frames that no key asked for. Streamed text scrolls all rows again
/// and again, and each such frame is a whole screen for the terminal.
const FRAME: Duration = Duration::from_millis(16);
/// Most messages that are taken in before a frame is due.
const BATCH: usize = 1024;

/// What ends or stops the screen from outside while its loop runs.
pub struct ScreenControl {
    /// Stop and continue requests of the shell, or of whoever acts for it.
    pub jobs: mpsc::Receiver<JobControl>,
    /// Ends the loop when cancelled: a signal, or the terminal is gone.
    pub shutdown: CancellationToken,
}

/// The terminal as the loop needs it. Tests implement it without one.
trait ScreenSurface {
    /// The table in which it looks up the links of the cells that it draws.
    fn links(&self) -> LinkTable {
        LinkTable::default()
    }
    /// The table in which it looks up the pictures of the cells that it draws.
    fn picture_table(&self) -> PictureTable {
        PictureTable::default()
    }
    /// Columns and rows.
    fn size(&self) -> io::Result<(u16, u16)>;
    /// Whether the terminal has taken the last frame.
    fn is_free(&self) -> bool {
        true
    }
    /// Returns once the terminal has taken the last frame. Cancel-safe.
    fn wait_until_free(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        std::future::ready(Ok(()))
    }
    /// Whether slug was stopped and continued since the last call.
    fn was_continued(&self) -> bool {
        false
    }
    /// Whether the terminal has input that was not read yet.
    fn has_unread_input(&self) -> bool {
        false
    }
    /// Sets the cursor's shape from the next frame on.
    fn set_caret_shape(&mut self, shape: CaretShape);
    /// Draws a frame and puts it on screen. Does not wait for the terminal.
    fn draw(&mut self, render: &mut dyn FnMut(&mut Frame<'_>)) -> io::Result<()>;
    /// Forgets what is on screen: the next frame draws everything.
    fn forget(&mut self) -> io::Result<()>;
    /// Gives the terminal away while `visitor` runs.
    fn lend(&mut self, visitor: &mut dyn FnMut()) -> io::Result<()>;
    /// Stops slug until the shell continues it.
    fn suspend(&mut self) -> io::Result<()>;
    /// Queries the terminal's background. The reply comes among the keys.
    fn ask_background(&mut self) -> io::Result<()>;
    /// Tells the terminal something outside of the frame; it leaves with the next frame.
    fn announce(&mut self, news: TerminalAnnouncement<'_>) -> io::Result<()>;
}

/// What the terminal is told outside of the frame.
#[derive(Debug, Clone, Copy)]
enum TerminalAnnouncement<'a> {
    /// A call for the user, with its text.
    Call(&'a str),
    /// The window's title.
    Title(&'a str),
    /// How far the work is.
    Progress(TerminalProgress),
}

/// The screen's state together with the surface that it is drawn on.
struct ScreenLoop<S> {
    surface: S,
    model: ScreenModel,
    layouts: ViewLayouts,
    applied_theme: AppliedTheme,
    began: Instant,
    drawn: Option<Instant>,
    /// Whether the terminal may still have to take the last frame.
    is_sending: bool,
    due: FrameDue,
    /// The label that the terminal was told last; `None` when it has to be told again.
    told: Option<TerminalLabel>,
    /// Effects that the last frame asked for, such as pictures to be made.
    wanted: Vec<ScreenEffect>,
    /// Takes the answers to effects.
    answers_in: mpsc::Sender<ScreenMsg>,
    answers: mpsc::Receiver<ScreenMsg>,
}

/// The theme that the last frame was drawn with, and the library that it is from.
struct AppliedTheme {
    name: String,
    library: Arc<ThemeLibrary>,
    theme: Theme,
}

/// When the next frame is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum FrameDue {
    /// Nothing has changed.
    No,
    /// At the end of the current interval (`FRAME`).
    Soon,
    /// At once: a key was pressed.
    Now,
}

#[derive(Debug, Clone, PartialEq)]
enum ScreenLoopControl {
    GoOn,
    Leave(ScreenLoopEnd),
}

/// Why the loop has ended.
#[derive(Debug, Clone, PartialEq)]
enum ScreenLoopEnd {
    /// The user leaves, the agent or the input is gone, or the loop was told to end.
    Left,
    /// The user has answered a question before the chat.
    Answered(StartupAnswer),
}

/// Draws, and goes on until the user leaves, the agent ends or `control` ends it.
async fn run_loop<S, K>(
    ui: &mut ScreenLoop<S>,
    keys: impl Fn() -> K,
    control: &mut ScreenControl,
    executor: &mut EffectExecutor,
    events: &mut agent::AgentEventReceiver,
) -> anyhow::Result<ScreenLoopEnd>
where
    S: ScreenSurface,
    K: Stream<Item = io::Result<Input>> + Unpin,
{
    ui.draw()?;
    let mut input = TerminalEventStream::new(keys());
    loop {
        ui.query_background(&mut input)?;
        for effect in std::mem::take(&mut ui.wanted) {
            // None of the effects of a frame is a terminal action.
            executor.run(effect);
        }
        let waiting = executor.has_waiting();
        let wake = ui.wake();
        let busy = !ui.surface.is_free();
        let first = tokio::select! {
            biased;
            () = control.shutdown.cancelled() => return Ok(ScreenLoopEnd::Left),
            taken = ui.surface.wait_until_free(), if busy => {
                taken.context("cannot write to the terminal")?;
                ui.confirm_painted();
                ui.draw_if_due()?;
                continue;
            }
            key = input.next() => match key {
                Some(key) => {
                    ui.heed_continue();
                    message(key.context("cannot read keys")?)
                }
                None => return Ok(ScreenLoopEnd::Left),
            },
            event = events.recv() => match event {
                Some(AddressedEvent { agent, event }) => Some(ScreenMsg::Agent(agent, Box::new(event))),
                None => return Ok(ScreenLoopEnd::Left),
            },
            answer = ui.answers.recv() => answer,
            Some(job) = control.jobs.recv() => Some(ScreenMsg::JobControl(job)),
            alive = executor.send_pending_command(), if waiting => {
                if !alive { return Ok(ScreenLoopEnd::Left); }
                continue;
            }
            () = tokio::time::sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => None,
        };
        let mut effects = ui.take(ScreenMsg::Tick(ui.began.elapsed()));
        effects.extend(first.map_or_else(Vec::new, |msg| ui.take(msg)));
        let mut is_idle = false;
        for _ in 0..BATCH {
            let arrived = arrived(&mut input).await;
            is_idle = arrived.is_none();
            let next = match arrived {
                Some(Some(key)) => {
                    ui.heed_continue();
                    message(key.context("cannot read keys")?)
                }
                Some(None) | None => match (events.try_recv(), ui.answers.try_recv()) {
                    (Ok(AddressedEvent { agent, event }), answer) => {
                        effects.extend(ui.take(ScreenMsg::Agent(agent, Box::new(event))));
                        answer.ok()
                    }
                    (Err(_), Ok(answer)) => Some(answer),
                    (Err(_), Err(_)) => break,
                },
            };
            effects.extend(next.map_or_else(Vec::new, |msg| ui.take(msg)));
        }
        if is_idle {
            effects.extend(ui.input_idle());
        }
        let mut end = None;
        for effect in effects {
            let Some(action) = executor.run(effect) else { continue };
            let lends = matches!(
                action,
                TerminalAction::Suspend
                    | TerminalAction::Retake
                    | TerminalAction::OpenEditor(_)
                    | TerminalAction::EditFile(_)
                    | TerminalAction::OpenPager(_)
            );
            let done = if lends {
                // Nothing may read keys while the terminal is given away.
                drop(input);
                let done = ui.perform(action, executor);
                input = TerminalEventStream::new(keys());
                done
            } else {
                ui.perform(action, executor)
            };
            match done? {
                ScreenLoopControl::GoOn => {}
                ScreenLoopControl::Leave(why) => end = Some(why),
            }
        }
        if let Some(end) = end {
            return Ok(end);
        }
        ui.draw_if_due()?;
    }
}

/// The next input that has already arrived. Polls with the loop's own waker: crossterm wakes the
/// waker that polled first, and with a waker that does nothing a key would be lost.
async fn arrived<K>(input: &mut K) -> Option<Option<K::Item>>
where
    K: Stream + Unpin,
{
    std::future::poll_fn(|context| {
        Poll::Ready(match input.poll_next_unpin(context) {
            Poll::Ready(item) => Some(item),
            Poll::Pending => None,
        })
    })
    .await
}

/// An input event as a message; `None` for mouse movement.
fn message(event: FilteredEvent) -> Option<ScreenMsg> {
    let input = match event {
        FilteredEvent::Event(input) => input,
        FilteredEvent::Background(background) => return Some(ScreenMsg::Background(background)),
    };
    match input {
        Input::Key(key) => Some(ScreenMsg::Key(key)),
        Input::Paste(text) => Some(ScreenMsg::Paste(text)),
        Input::Mouse(mouse) if mouse.kind == MouseEventKind::Moved => None,
        Input::Mouse(mouse) => Some(ScreenMsg::Mouse(mouse)),
        Input::Resize(width, height) => Some(ScreenMsg::Resized { width, height }),
        Input::FocusGained => Some(ScreenMsg::FocusChanged(TerminalFocus::Focused)),
        Input::FocusLost => Some(ScreenMsg::FocusChanged(TerminalFocus::Unfocused)),
    }
}

impl<S: ScreenSurface> ScreenLoop<S> {
    fn new(surface: S, model: ScreenModel, highlighting: CodeHighlighting) -> Self {
        let (answers_in, answers) = mpsc::channel(64);
        let highlighter = match highlighting {
            CodeHighlighting::Plain => SyntaxHighlighter::off(),
            CodeHighlighting::Coloured => {
                let colours = answers_in.clone();
                // A full queue holds messages that draw a frame anyway.
                SyntaxHighlighter::new(move || drop(colours.try_send(ScreenMsg::CodeColoured)))
            }
        };
        let layouts = ViewLayouts::new(highlighter)
            .with_links(surface.links())
            .with_picture_table(surface.picture_table());
        Self {
            surface,
            applied_theme: AppliedTheme::by(&model),
            model,
            layouts,
            began: Instant::now(),
            drawn: None,
            is_sending: false,
            due: FrameDue::Soon,
            told: None,
            wanted: Vec::new(),
            answers_in,
            answers,
        }
    }

    /// Shows another model from the next frame on, whose time begins now.
    fn show(&mut self, model: ScreenModel) {
        self.applied_theme = AppliedTheme::by(&model);
        self.model = model;
        self.layouts.clear();
        self.began = Instant::now();
        self.due = FrameDue::Soon;
        self.told = None;
        self.wanted.clear();
    }

    /// Updates the model with a message, and notes when the next frame is due.
    fn take(&mut self, msg: ScreenMsg) -> Vec<ScreenEffect> {
        let due = match &msg {
            ScreenMsg::Key(_)
            | ScreenMsg::Line(_)
            | ScreenMsg::Interrupt
            | ScreenMsg::Paste(_)
            | ScreenMsg::Mouse(_)
            | ScreenMsg::Resized { .. } => FrameDue::Now,
            ScreenMsg::Drawn(_) | ScreenMsg::Painted(_) | ScreenMsg::FocusChanged(_) => {
                FrameDue::No
            }
            ScreenMsg::Agent(_, event) => {
                if matches!(**event, agent::AgentEvent::SessionOpened { .. }) {
                    self.layouts.clear();
                }
                FrameDue::Soon
            }
            ScreenMsg::Tick(_)
            | ScreenMsg::Printed(_)
            | ScreenMsg::InputIdle(_)
            | ScreenMsg::ScreenLost
            | ScreenMsg::Connect(_)
            | ScreenMsg::FilesIndexed { .. }
            | ScreenMsg::ImageLoaded { .. }
            | ScreenMsg::HistoryRead { .. }
            | ScreenMsg::PathsRanked { .. }
            | ScreenMsg::LinesCounted { .. }
            | ScreenMsg::FolderListed { .. }
            | ScreenMsg::PictureMade { .. }
            | ScreenMsg::Backfilled { .. }
            | ScreenMsg::Sessions { .. }
            | ScreenMsg::BranchesLaidOut { .. }
            | ScreenMsg::SessionsFound { .. }
            | ScreenMsg::StoreAnswered { .. }
            | ScreenMsg::Hooks { .. }
            | ScreenMsg::McpServers { .. }
            | ScreenMsg::LspServers { .. }
            | ScreenMsg::ServerOffers { .. }
            | ScreenMsg::Settings { .. }
            | ScreenMsg::Found { .. }
            | ScreenMsg::LinesRead { .. }
            | ScreenMsg::PagerClosed(_)
            | ScreenMsg::ModelsListed { .. }
            | ScreenMsg::GitRead { .. }
            | ScreenMsg::StatusLine { .. }
            | ScreenMsg::EditorClosed(_)
            | ScreenMsg::FileEdited(_)
            | ScreenMsg::ThemesRead { .. }
            | ScreenMsg::Background(_)
            | ScreenMsg::CodeColoured
            | ScreenMsg::JobControl(_)
            | ScreenMsg::Notice { .. } => FrameDue::Soon,
        };
        self.due = self.due.max(due);
        update(&mut self.model, msg)
    }

    /// When the loop has to wake up even if nothing arrives.
    fn wake(&self) -> Option<Instant> {
        let is_next = self.due > FrameDue::No && self.surface.is_free();
        let frame = is_next.then(|| self.drawn.map_or_else(Instant::now, |at| at + FRAME));
        let moves = wake_at(&self.model).map(|at| self.began + at);
        [frame, moves].into_iter().flatten().min()
    }

    fn draw_if_due(&mut self) -> io::Result<()> {
        if !self.surface.is_free() {
            return Ok(());
        }
        let rested = self.drawn.is_none_or(|at| at.elapsed() >= FRAME);
        match self.due {
            FrameDue::Soon if rested => self.draw(),
            FrameDue::Now => self.draw(),
            FrameDue::No | FrameDue::Soon => Ok(()),
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        self.announce_changes()?;
        self.draw_under(&mut |_, _| {})
    }

    /// Draws a frame, and `over` on top of it.
    fn draw_under(
        &mut self,
        over: &mut dyn FnMut(&mut Frame<'_>, &dyn RoleStyles),
    ) -> io::Result<()> {
        let mut geometry: Option<FrameGeometry> = None;
        if !self.applied_theme.is_of(&self.model) {
            self.applied_theme = AppliedTheme::by(&self.model);
        }
        let Self { surface, model, layouts, applied_theme, .. } = self;
        surface.set_caret_shape(model.caret_shape());
        surface.draw(&mut |frame| {
            geometry = Some(view(model, layouts, &applied_theme.theme, frame));
            over(frame, &applied_theme.theme);
        })?;
        self.drawn = Some(Instant::now());
        self.due = FrameDue::No;
        if let Some(geometry) = geometry {
            let wanted = self.take(ScreenMsg::Drawn(Box::new(geometry)));
            self.wanted.extend(wanted);
        }
        self.is_sending = true;
        self.confirm_painted();
        Ok(())
    }

    /// Tells the model once the terminal has taken the last frame.
    fn confirm_painted(&mut self) {
        if self.is_sending && self.surface.is_free() {
            self.is_sending = false;
            let now = self.began.elapsed();
            self.update_for(ScreenMsg::Painted(now));
        }
    }

    /// Tells the model when slug was continued: input read after that was typed at the shell.
    fn heed_continue(&mut self) {
        if self.surface.was_continued() {
            self.update_for(ScreenMsg::ScreenLost);
        }
    }

    /// Nothing has arrived: a question that was quiet for long enough now takes answers, and held keys
    /// are all that was typed.
    fn input_idle(&mut self) -> Vec<ScreenEffect> {
        let now = self.began.elapsed();
        let is_wanted = idle_wanted_at(&self.model).is_some_and(|due| due <= now);
        if !is_wanted || self.surface.has_unread_input() {
            return Vec::new();
        }
        self.heed_continue();
        self.take(ScreenMsg::InputIdle(now))
    }

    fn update_for(&mut self, msg: ScreenMsg) {
        let wanted = self.take(msg);
        self.wanted.extend(wanted);
    }

    /// Tells the terminal which parts of its label have changed: title and progress.
    fn announce_changes(&mut self) -> io::Result<()> {
        let label = label(&self.model);
        let before = self.told.replace(label.clone());
        if before.as_ref() == Some(&label) {
            return Ok(());
        }
        if before.as_ref().is_none_or(|before| before.title != label.title) {
            self.surface.announce(TerminalAnnouncement::Title(&label.title))?;
        }
        let busy = label.progress != TerminalProgress::None;
        if busy || before.is_some_and(|before| before.progress != label.progress) {
            self.surface.announce(TerminalAnnouncement::Progress(label.progress))?;
        }
        Ok(())
    }

    /// Queries the background if the theme follows it. The first frame is already drawn by then.
    fn query_background<K>(&mut self, input: &mut TerminalEventStream<K>) -> io::Result<()> {
        if self.model.shared.theme.follows_background() {
            input.ask(|| self.surface.ask_background())?;
        }
        Ok(())
    }

    /// Carries out what only the owner of the terminal can do.
    fn perform(
        &mut self,
        action: TerminalAction,
        executor: &mut EffectExecutor,
    ) -> io::Result<ScreenLoopControl> {
        match action {
            TerminalAction::Quit => return Ok(ScreenLoopControl::Leave(ScreenLoopEnd::Left)),
            TerminalAction::AnswerStartup(answer) => {
                return Ok(ScreenLoopControl::Leave(ScreenLoopEnd::Answered(answer)));
            }
            TerminalAction::Suspend => self.surface.suspend()?,
            TerminalAction::Redraw => {}
            TerminalAction::Retake => self.surface.lend(&mut || ())?,
            TerminalAction::OpenEditor(text) => {
                let mut edited = Ok(text.clone());
                self.surface.lend(&mut || edited = executor.edit(&text))?;
                self.take(ScreenMsg::EditorClosed(edited));
            }
            TerminalAction::EditFile(path) => {
                let mut edited = None;
                self.surface.lend(&mut || edited = Some(executor.edit_file(path.clone())))?;
                edited.into_iter().for_each(|msg| self.update_for(msg));
            }
            TerminalAction::Notify(text) => {
                self.surface.announce(TerminalAnnouncement::Call(&text))?;
                self.due = FrameDue::Now;
                return Ok(ScreenLoopControl::GoOn);
            }
            TerminalAction::OpenPager(document) => {
                let mut paged = Ok(());
                self.surface.lend(&mut || paged = executor.show_in_pager(&document))?;
                self.take(ScreenMsg::PagerClosed(paged));
            }
        }
        self.surface.forget()?;
        self.update_for(ScreenMsg::ScreenLost);
        self.told = None;
        // A change of size is not reported while the terminal is given away.
        let (width, height) = self.surface.size()?;
        self.take(ScreenMsg::Resized { width, height });
        Ok(ScreenLoopControl::GoOn)
    }
}

impl AppliedTheme {
    fn by(model: &ScreenModel) -> Self {
        let name = themes::shown(model);
        let theme = model.shared.theme.theme(name);
        Self { name: name.to_owned(), library: Arc::clone(&model.shared.theme.library), theme }
    }

    fn is_of(&self, model: &ScreenModel) -> bool {
        self.name == themes::shown(model) && Arc::ptr_eq(&self.library, &model.shared.theme.library)
    }
}

#[cfg(test)]
mod tests;
