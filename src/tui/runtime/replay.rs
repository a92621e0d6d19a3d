//! A replay on the full screen: its own loop, because the keys are the replay's, the clock is the
//! replay's, and there is nothing that could carry out an effect.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use futures_util::Stream;
use tokio::time::Instant;

use crate::platform::terminal::TerminalEvents;
use crate::tui::app::{JobControl, ScreenModel, ScreenMsg, idle_wanted_at, wake_at};
use crate::tui::input::TerminalEventStream;
use crate::tui::replay::bar::{self, ReplayProgress, ReplayState};
use crate::tui::replay::{ReplayChange, ReplayPace, ReplayPlayer, ReplaySetup, ReplayTimeline};

use super::full_screen::FullScreen;
use super::{FrameDue, ScreenControl, ScreenLoop, ScreenSurface, arrived, message};
use futures_util::StreamExt;

/// The slowest and the fastest speed.
const SPEEDS: (f64, f64) = (1.0 / 16.0, 64.0);

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplayKey {
    Pause,
    Forward,
    Back,
    Faster,
    Slower,
    Start,
    End,
    Quit,
}

/// The clock of a replay: where it is, how fast it goes, and whether it does.
#[derive(Debug)]
struct ReplayClock {
    /// Its time at `since`.
    at: Duration,
    since: Instant,
    speed: f64,
    is_paused: bool,
}

/// A replay that is shown.
struct ReplayLoop<'a, S> {
    ui: &'a mut ScreenLoop<S>,
    player: ReplayPlayer,
    clock: ReplayClock,
    setup: ReplaySetup,
    timeline: Arc<ReplayTimeline>,
    /// The second that the last line shows.
    shown_second: u64,
}

impl FullScreen {
    /// Plays a session until the user quits or `control` ends it.
    ///
    /// # Errors
    ///
    /// Fails when the terminal cannot be read from or written to.
    pub async fn replay(
        mut self,
        timeline: Arc<ReplayTimeline>,
        setup: ReplaySetup,
        pace: ReplayPace,
        control: ScreenControl,
    ) -> anyhow::Result<()> {
        self.ui.replay(TerminalEvents::new, timeline, setup, pace, control).await
    }
}

impl<S: ScreenSurface> ScreenLoop<S> {
    pub(super) async fn replay<K>(
        &mut self,
        keys: impl Fn() -> K,
        timeline: Arc<ReplayTimeline>,
        setup: ReplaySetup,
        pace: ReplayPace,
        mut control: ScreenControl,
    ) -> anyhow::Result<()>
    where
        K: Stream<Item = io::Result<Input>> + Unpin,
    {
        self.show(setup.screen(&timeline, self.surface.size()?));
        let clock = ReplayClock::new(pace.speed);
        let player = ReplayPlayer::new(Arc::clone(&timeline), setup.session);
        let mut replay = ReplayLoop { ui: self, player, clock, setup, timeline, shown_second: 0 };
        replay.run(keys, &mut control).await
    }
}

impl<S: ScreenSurface> ReplayLoop<'_, S> {
    async fn run<K>(
        &mut self,
        keys: impl Fn() -> K,
        control: &mut ScreenControl,
    ) -> anyhow::Result<()>
    where
        K: Stream<Item = io::Result<Input>> + Unpin,
    {
        let mut input = TerminalEventStream::new(keys());
        loop {
            self.ui.query_background(&mut input)?;
            self.play();
            self.draw_if_due()?;
            let busy = !self.ui.surface.is_free();
            let wake = self.wake();
            let msg = tokio::select! {
                biased;
                () = control.shutdown.cancelled() => return Ok(()),
                taken = self.ui.surface.wait_until_free(), if busy => {
                    taken.context("cannot write to the terminal")?;
                    continue;
                }
                key = input.next() => match key {
                    Some(key) => message(key.context("cannot read keys")?),
                    None => return Ok(()),
                },
                answer = self.ui.answers.recv() => answer,
                Some(job) = control.jobs.recv() => Some(ScreenMsg::JobControl(job)),
                () = tokio::time::sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => None,
            };
            let mut next = msg;
            while let Some(msg) = next.take() {
                if self.take(msg)?.is_break() {
                    return Ok(());
                }
                next = match arrived(&mut input).await {
                    Some(Some(key)) => message(key.context("cannot read keys")?),
                    Some(None) | None => None,
                };
            }
        }
    }

    /// Takes a message. Breaks where the user quits.
    fn take(&mut self, msg: ScreenMsg) -> io::Result<std::ops::ControlFlow<()>> {
        use std::ops::ControlFlow::{Break, Continue};
        match msg {
            ScreenMsg::Key(key) => match ReplayKey::of(&key) {
                Some(ReplayKey::Quit) => return Ok(Break(())),
                Some(key) => self.press(key),
                // These only scroll, also in a question.
                None if matches!(key.code, KeyCode::PageUp | KeyCode::PageDown) => {
                    self.show_msg(ScreenMsg::Key(key));
                }
                None => {}
            },
            ScreenMsg::Mouse(mouse) if is_wheel(&mouse) => self.show_msg(ScreenMsg::Mouse(mouse)),
            ScreenMsg::JobControl(JobControl::StopRequested) => {
                self.ui.surface.suspend()?;
                self.repaint()?;
            }
            ScreenMsg::JobControl(JobControl::Continued) => self.repaint()?,
            ScreenMsg::Resized { .. } | ScreenMsg::Background(_) | ScreenMsg::CodeColoured => {
                self.show_msg(msg);
            }
            // Nothing else is asked for, so nothing else comes. A key of the mouse answers nothing.
            _ => {}
        }
        Ok(Continue(()))
    }

    fn press(&mut self, key: ReplayKey) {
        let now = Instant::now();
        self.ui.due = FrameDue::Now;
        match key {
            ReplayKey::Pause if self.player.is_over() => self.seek(0, Duration::ZERO, now),
            ReplayKey::Pause => self.clock.toggle(now),
            ReplayKey::Faster => self.clock.speed_by(2.0, now),
            ReplayKey::Slower => self.clock.speed_by(0.5, now),
            ReplayKey::Forward => {
                let (records, at) = self.player.step_forward();
                self.show_up_to(records);
                self.clock.go(at.max(self.clock.at(now)), now);
                self.clock.pause(now);
            }
            ReplayKey::Back => {
                let (records, at) = self.player.step_back();
                self.seek(records, at, now);
                self.clock.pause(now);
            }
            ReplayKey::Start => self.seek(0, Duration::ZERO, now),
            ReplayKey::End => {
                self.show_up_to(self.timeline.records().len());
                self.clock.go(self.timeline.length(), now);
            }
            ReplayKey::Quit => {}
        }
    }

    /// Shows the session as it was after so many records.
    fn seek(&mut self, records: usize, at: Duration, now: Instant) {
        let theme = std::mem::take(&mut self.ui.model.shared.theme);
        let size = (self.ui.model.shared.geometry.width, self.ui.model.shared.geometry.height);
        self.ui.show(self.setup.screen(&self.timeline, size));
        self.ui.model.shared.theme = theme;
        self.player.restart();
        self.clock.go(at, now);
        self.show_msg(ScreenMsg::Tick(at));
        self.show_up_to(records);
        self.ui.due = FrameDue::Now;
    }

    fn show_up_to(&mut self, records: usize) {
        while let Some(step) = self.player.change_towards(records) {
            self.show_msg(ScreenMsg::Tick(step.at));
            self.show_change(step.change);
        }
    }

    fn show_change(&mut self, change: ReplayChange) {
        let ScreenModel { conversation, shared, .. } = &mut self.ui.model;
        if let Some(msg) = change.into_msg(&mut conversation.status, shared) {
            self.show_msg(msg);
        }
    }

    /// Shows what is due now.
    fn play(&mut self) {
        let now = self.clock.at(Instant::now()).min(self.end());
        let moves = wake_at(&self.ui.model).is_some_and(|at| at <= now);
        let due = self.ui.due;
        self.show_msg(ScreenMsg::Tick(now));
        if idle_wanted_at(&self.ui.model).is_some() {
            // Nobody answers a question of a replay, so it need not wait for quiet.
            self.show_msg(ScreenMsg::InputIdle(Duration::MAX));
        }
        self.ui.due = due;
        if moves || now.as_secs() != self.shown_second {
            self.ui.due = due.max(FrameDue::Soon);
        }
        while let Some(step) = self.player.next_change(now) {
            self.show_change(step.change);
        }
    }

    /// When the clock stops: a while behind the last record, so that notices end.
    fn end(&self) -> Duration {
        self.timeline.length() + Duration::from_secs(6)
    }

    /// Changes the model. What would be done outside is not.
    fn show_msg(&mut self, msg: ScreenMsg) {
        drop(self.ui.take(msg));
    }

    fn repaint(&mut self) -> io::Result<()> {
        self.ui.surface.forget()?;
        self.ui.due = FrameDue::Now;
        let (width, height) = self.ui.surface.size()?;
        self.show_msg(ScreenMsg::Resized { width, height });
        Ok(())
    }

    fn draw_if_due(&mut self) -> io::Result<()> {
        let rested = self.ui.drawn.is_none_or(|at| at.elapsed() >= super::FRAME);
        let is_due = match self.ui.due {
            FrameDue::No => false,
            FrameDue::Soon => rested,
            FrameDue::Now => true,
        };
        if !is_due || !self.ui.surface.is_free() {
            return Ok(());
        }
        let state = match (self.player.is_over(), self.clock.is_paused) {
            (true, _) => ReplayState::Ended,
            (false, true) => ReplayState::Paused,
            (false, false) => ReplayState::Playing,
        };
        let length = self.timeline.length();
        let at = self.clock.at(Instant::now()).min(length);
        self.shown_second = self.clock.at(Instant::now()).min(self.end()).as_secs();
        let progress = ReplayProgress { at, length, speed: self.clock.speed, state };
        self.ui.draw_under(&mut |frame, styles| {
            let area = frame.area();
            bar::draw(&progress, styles, area, frame.buffer_mut());
        })
    }

    /// When the next change, the next second or the next frame is due.
    fn wake(&mut self) -> Option<Instant> {
        let frame = (self.ui.due > FrameDue::No && self.ui.surface.is_free())
            .then(|| self.ui.drawn.map_or_else(Instant::now, |at| at + super::FRAME));
        if self.clock.is_paused
            || self.player.is_over() && self.clock.at(Instant::now()) >= self.end()
        {
            return frame;
        }
        let at = self.clock.at(Instant::now());
        let second = Duration::from_secs(at.as_secs() + 1);
        let next = [self.player.next_due(), wake_at(&self.ui.model), Some(second)];
        let next = next.into_iter().flatten().min().map(|next| self.clock.when(next));
        [frame, next].into_iter().flatten().min()
    }
}

impl ReplayKey {
    fn of(key: &KeyEvent) -> Option<Self> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        Some(match key.code {
            KeyCode::Char('c' | 'd') if is_control => Self::Quit,
            KeyCode::Char('q') | KeyCode::Esc => Self::Quit,
            KeyCode::Char(' ') => Self::Pause,
            KeyCode::Right => Self::Forward,
            KeyCode::Left => Self::Back,
            KeyCode::Char('+' | '=') => Self::Faster,
            KeyCode::Char('-') => Self::Slower,
            KeyCode::Home => Self::Start,
            KeyCode::End => Self::End,
            _ => return None,
        })
    }
}

impl ReplayClock {
    fn new(speed: f64) -> Self {
        Self { at: Duration::ZERO, since: Instant::now(), speed, is_paused: false }
    }

    /// The time on the session's clock.
    fn at(&self, now: Instant) -> Duration {
        if self.is_paused {
            return self.at;
        }
        self.at + now.saturating_duration_since(self.since).mul_f64(self.speed)
    }

    /// When the replay is there, if it goes on as it does.
    fn when(&self, at: Duration) -> Instant {
        self.since + at.saturating_sub(self.at).div_f64(self.speed)
    }

    fn go(&mut self, at: Duration, now: Instant) {
        (self.at, self.since) = (at, now);
    }

    fn pause(&mut self, now: Instant) {
        self.go(self.at(now), now);
        self.is_paused = true;
    }

    fn toggle(&mut self, now: Instant) {
        self.go(self.at(now), now);
        self.is_paused = !self.is_paused;
    }

    fn speed_by(&mut self, factor: f64, now: Instant) {
        self.go(self.at(now), now);
        self.speed = (self.speed * factor).clamp(SPEEDS.0, SPEEDS.1);
    }
}

fn is_wheel(mouse: &crossterm::event::MouseEvent) -> bool {
    use crossterm::event::MouseEventKind::{ScrollDown, ScrollUp};
    matches!(mouse.kind, ScrollDown | ScrollUp)
}
