//! Helpers for the tests of the screens before the chat: plain styles, keys, and screens as text.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

use crate::tui::app::guard::QUIET_TIME;
use crate::tui::layout::StyleRole;
use crate::tui::view::RoleStyles;

use super::{StartupInput, StartupPage};

/// Styles without colours.
pub struct PlainStyles;

impl RoleStyles for PlainStyles {
    fn style(&self, _role: StyleRole) -> Style {
        Style::default()
    }
}

/// A key without modifiers.
pub fn key<N>(code: KeyCode) -> StartupInput<N> {
    StartupInput::Key(KeyEvent::new(code, KeyModifiers::NONE))
}

/// Arms the page's question: it was drawn, and nothing was typed for a while.
pub fn arm(page: &mut impl StartupPage) {
    page.drawn();
    page.guard_mut().painted(Duration::ZERO);
    page.guard_mut().input_idle(QUIET_TIME);
}

/// The page drawn on a screen of this size, as text.
pub fn picture(page: &impl StartupPage, width: u16, height: u16) -> String {
    let mut buffer = Buffer::empty(Rect { x: 0, y: 0, width, height });
    let caret = page.draw(&PlainStyles, buffer.area, &mut buffer);
    let mut text = text(&buffer);
    if let Some(caret) = caret {
        text.push_str(&format!("caret {},{}\n", caret.x, caret.y));
    }
    text
}

/// The text of a buffer.
pub fn text(buffer: &Buffer) -> String {
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
