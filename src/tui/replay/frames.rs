//! A replay as frames with their times, for the files that it is written to.
//!
//! Frames are drawn where something changes, at most `FRAMES_A_SECOND` of them, by the screen's own
//! view on any backend of ratatui. What a file may hold is bounded: the recorder stops where its sink
//! has enough.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use ratatui::backend::Backend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

use crate::tui::app::settings::MotionPreference;
use crate::tui::app::themes;
use crate::tui::app::{ScreenModel, ScreenMsg, update, wake_at};
use crate::tui::layout::SyntaxHighlighter;
use crate::tui::links::LinkTable;
use crate::tui::theme::Theme;
use crate::tui::view::{ViewLayouts, view};

use super::player::{ReplayPlayer, ReplaySetup};
use super::timeline::{ReplayPace, ReplayTimeline};

/// How many frames a second of the file has at most.
const FRAMES_A_SECOND: f64 = 20.0;
/// How long the last frame stays, on the clock of the file.
const LAST_FRAME: Duration = Duration::from_secs(3);
/// How long a frame waits for the colours of its code. Colours that take longer come with the next.
const COLOUR_TIMEOUT: Duration = Duration::from_secs(5);
/// How often it looks whether all colours are there.
const COLOUR_POLL: Duration = Duration::from_millis(2);

/// A replay that was longer than its file may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayCut {
    /// The time of the session's clock at which the file ends.
    pub at: Duration,
    /// How long the session would be.
    pub of: Duration,
}

/// Draws a replay frame by frame.
pub struct ReplayRecorder {
    player: ReplayPlayer,
    model: ScreenModel,
    layouts: ViewLayouts,
    theme: Theme,
    speed: f64,
    /// Hears of new colours.
    colours: Receiver<()>,
}

/// A frame as it was drawn.
#[derive(Debug)]
pub struct ReplayFrame<'a> {
    /// Since the beginning of the file.
    pub at: Duration,
    pub cells: &'a Buffer,
    pub model: &'a ScreenModel,
}

/// Whether the recorder goes on behind a frame.
pub type FrameFlow = ControlFlow<()>;

impl ReplayRecorder {
    /// A recorder of a timeline on a screen of this size (columns, rows), whose links go into `links`.
    pub fn new(
        timeline: Arc<ReplayTimeline>,
        setup: &ReplaySetup,
        pace: ReplayPace,
        size: (u16, u16),
        links: LinkTable,
    ) -> Self {
        let mut model = setup.screen(&timeline, size);
        model.shared.settings.motion = MotionPreference::Reduced;
        let theme = model.shared.theme.theme(themes::shown(&model));
        let (sender, colours) = channel();
        // When the recorder is gone, nobody waits for colours.
        let highlighter = SyntaxHighlighter::new(move || _ = sender.send(()));
        Self {
            player: ReplayPlayer::new(timeline, setup.session),
            model,
            layouts: ViewLayouts::new(highlighter).with_links(links),
            theme,
            speed: pace.speed,
            colours,
        }
    }

    /// The theme of the frames.
    pub fn theme(&self) -> &Theme {
        &self.theme
    }

    /// Draws all frames on a backend, each of which goes to `sink`. Returns where the sink had enough.
    ///
    /// # Errors
    ///
    /// Fails where the backend or the sink does.
    pub fn record<B: Backend, E: From<B::Error>>(
        mut self,
        backend: B,
        mut sink: impl FnMut(&ReplayFrame<'_>) -> Result<FrameFlow, E>,
    ) -> Result<Option<ReplayCut>, E> {
        let size = &self.model.shared.geometry;
        let viewport = Viewport::Fixed(Rect::new(0, 0, size.width, size.height));
        let mut terminal = Terminal::with_options(backend, TerminalOptions { viewport })?;
        let beat = Duration::from_secs_f64(self.speed / FRAMES_A_SECOND);
        let (mut now, mut quiet_until) = (Duration::ZERO, None);
        loop {
            self.play_until(now);
            let cells = self.draw(&mut terminal, now)?;
            let frame = ReplayFrame { at: self.in_file(now), cells: &cells, model: &self.model };
            if sink(&frame)?.is_break() {
                let of = self.player.timeline().length();
                return Ok(Some(ReplayCut { at: now, of }).filter(|_| !self.player.is_over()));
            }
            if self.player.is_over() {
                quiet_until.get_or_insert(now + LAST_FRAME.mul_f64(self.speed));
            }
            let next = [self.player.next_due(), wake_at(&self.model)].into_iter().flatten().min();
            let next = next.map(|next| next.max(now + beat));
            match (next, quiet_until) {
                (Some(next), None) => now = next,
                (Some(next), Some(end)) if next < end => now = next,
                (_, Some(end)) => {
                    let frame =
                        ReplayFrame { at: self.in_file(end), cells: &cells, model: &self.model };
                    // Whether the sink wants more makes no difference at the end.
                    let _ = sink(&frame)?;
                    return Ok(None);
                }
                (None, None) => return Ok(None),
            }
        }
    }

    fn in_file(&self, at: Duration) -> Duration {
        at.div_f64(self.speed)
    }

    fn play_until(&mut self, now: Duration) {
        self.take(ScreenMsg::Tick(now));
        while let Some(step) = self.player.next_change(now) {
            let ScreenModel { conversation, shared, .. } = &mut self.model;
            if let Some(msg) = step.change.into_msg(&mut conversation.status, shared) {
                self.take(msg);
            }
        }
    }

    /// Changes the model. What would be done outside is not: a replay has no outside.
    fn take(&mut self, msg: ScreenMsg) {
        drop(update(&mut self.model, msg));
    }

    /// Draws until the code of the frame has its colours.
    fn draw<B: Backend>(
        &mut self,
        terminal: &mut Terminal<B>,
        now: Duration,
    ) -> Result<Buffer, B::Error> {
        loop {
            let Self { model, layouts, theme, .. } = self;
            layouts.links().begin_frame();
            let mut geometry = None;
            let drawn =
                terminal.draw(|frame| geometry = Some(view(model, layouts, &*theme, frame)))?;
            let cells = drawn.buffer.clone();
            if let Some(geometry) = geometry {
                self.take(ScreenMsg::Drawn(Box::new(geometry)));
            }
            self.take(ScreenMsg::Painted(now));
            if !self.wait_for_colours() {
                self.take(ScreenMsg::InputIdle(now));
                return Ok(cells);
            }
        }
    }

    /// Waits until no code waits for its colours. `false` if there are no new ones.
    fn wait_for_colours(&self) -> bool {
        let mut has_new = false;
        let highlighter = self.layouts.highlighter();
        for _ in 0..COLOUR_TIMEOUT.as_millis() / COLOUR_POLL.as_millis() {
            let is_working = highlighter.is_working();
            // The worker says so before it is through.
            has_new |= self.colours.try_iter().count() > 0;
            if !is_working {
                break;
            }
            has_new |= self.colours.recv_timeout(COLOUR_POLL).is_ok();
        }
        has_new
    }
}
