//! Helpers for the tests of the questions before the chat: a screen with one of them, through which
//! keys and frames go as they do on a terminal.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

use crate::tui::app::geometry::FrameGeometry;
use crate::tui::app::guard::QUIET_TIME;
use crate::tui::app::startup::StartupAnswer;
use crate::tui::app::{ScreenEffect, ScreenModel, ScreenMsg, update};
use crate::tui::dialogs::geometry::DialogGeometry;
use crate::tui::dialogs::{Dialog, DialogCanvas, DialogView, OpenDialog};
use crate::tui::layout::{StyleRole, SyntaxHighlighter};
use crate::tui::test_screen::screen;
use crate::tui::theme::screen_contrast::assert_readable;
use crate::tui::view::{RoleStyles, ViewLayouts};

/// Styles without colours.
struct PlainStyles;

impl RoleStyles for PlainStyles {
    fn style(&self, _role: StyleRole) -> Style {
        Style::default()
    }
}

/// A screen with a question before the chat. It is drawn only when a test says so.
pub struct StartupScene {
    pub model: ScreenModel,
    size: (u16, u16),
}

impl StartupScene {
    /// The question on a screen of this size, before its first frame.
    pub fn new(question: impl Into<OpenDialog>, width: u16, height: u16) -> Self {
        let mut model = screen(width, height).model;
        model.dialogs.push(question);
        Self { model, size: (width, height) }
    }

    /// Sends a message to the screen, and returns what it asks for.
    pub fn send(&mut self, msg: ScreenMsg) -> Vec<ScreenEffect> {
        update(&mut self.model, msg)
    }

    /// Presses a key without modifiers.
    pub fn key(&mut self, code: KeyCode) -> Vec<ScreenEffect> {
        self.event(KeyEvent::new(code, KeyModifiers::NONE))
    }

    /// Presses a key with its modifiers, at whatever is on screen; nothing is typed after it.
    pub fn event(&mut self, event: KeyEvent) -> Vec<ScreenEffect> {
        let mut effects = self.send(ScreenMsg::Key(event));
        effects.extend(self.send(ScreenMsg::InputIdle(Duration::ZERO)));
        effects
    }

    /// Presses a key at a question that has been on screen for a while.
    pub fn press(&mut self, code: KeyCode) -> Vec<ScreenEffect> {
        self.arm();
        self.key(code)
    }

    /// Gives the screen another size, without a frame of it.
    pub fn resize(&mut self, width: u16, height: u16) {
        self.size = (width, height);
        self.send(ScreenMsg::Resized { width, height });
    }

    /// Composes a frame.
    pub fn draw(&mut self) {
        let (_, _, measured) = self.render(&PlainStyles);
        let mut frame = FrameGeometry::of_size(self.size.0, self.size.1);
        frame.screen.dialogs = vec![measured];
        self.send(ScreenMsg::Drawn(Box::new(frame)));
    }

    /// Arms the question: it was drawn, and nothing was typed for a while.
    pub fn arm(&mut self) {
        self.draw();
        self.send(ScreenMsg::Painted(Duration::ZERO));
        self.send(ScreenMsg::InputIdle(QUIET_TIME));
    }

    /// The question as the next frame will show it, as text.
    pub fn picture(&self) -> String {
        let (buffer, caret, _) = self.render(&PlainStyles);
        let mut text = text(&buffer);
        if let Some(caret) = caret {
            text.push_str(&format!("caret {},{}\n", caret.x, caret.y));
        }
        text
    }

    /// As [`Self::picture`]. Fails if a cell of it cannot be read in one of the shipped themes.
    #[track_caller]
    pub fn readable_picture(&self) -> String {
        assert_readable(|styles| self.render(styles).0);
        self.picture()
    }

    fn render(&self, styles: &dyn RoleStyles) -> (Buffer, Option<Position>, DialogGeometry) {
        let area = Rect { x: 0, y: 0, width: self.size.0, height: self.size.1 };
        let (mut buffer, mut measured) = (Buffer::empty(area), DialogGeometry::default());
        let ScreenModel { conversation, background, shared, dialogs, .. } = &self.model;
        let canvas = DialogCanvas {
            dock: Rect::default(),
            layouts: &mut ViewLayouts::new(SyntaxHighlighter::off()),
            styles,
            area,
            buffer: &mut buffer,
            measured: &mut measured,
        };
        let dialog: &dyn Dialog = &**dialogs.top().unwrap();
        let caret = dialog.draw(DialogView { conversation, background, shared }, canvas);
        (buffer, caret, measured)
    }
}

/// The answer among the effects, if there is one.
pub fn answer(effects: Vec<ScreenEffect>) -> Option<StartupAnswer> {
    effects.into_iter().find_map(|effect| match effect {
        ScreenEffect::AnswerStartup(answer) => Some(answer),
        _ => None,
    })
}

fn text(buffer: &Buffer) -> String {
    let mut text = String::new();
    for y in 0..buffer.area.height {
        let mut line = String::new();
        let mut x = 0;
        while x < buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            x += u16::try_from(symbol.width().max(1)).unwrap();
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
