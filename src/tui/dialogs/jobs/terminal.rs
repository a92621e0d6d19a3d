//! The terminal of the selected job: what it shows, who has its keys, and the user's keys and mouse as
//! its program knows them.
//!
//! While it is taken over, one key gives it back. The same key again goes to the program, and the
//! terminal is taken over once more: so a program gets this key, too, without a wait for a second press.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use crate::agent::AgentCommand;
use crate::domain::{
    HeldModifiers, MouseAction, NoticeLevel, TerminalButton, TerminalFrame, TerminalInput,
    TerminalKey, TerminalKeyPress, TerminalMouse, TerminalSize,
};
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{self, JobsKey, KeyPress, Keymap};
use crate::tui::dialogs::pager::PagerFollow;
use crate::tui::layout::wrap::display_width;

use super::JobsPage;

/// The key that gives a terminal back where the user has bound none that is pressed alone.
const GIVE_BACK: &str = "ctrl+]";

/// The terminal of a job on screen.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TerminalPane {
    /// What it shows, once that is told.
    pub(super) frame: Option<TerminalFrame>,
    /// The size that it was given last.
    pub(super) size: Option<TerminalSize>,
    keys: PaneKeys,
}

/// Whether what is typed goes to the page or to the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum PaneKeys {
    #[default]
    Page,
    Program,
    /// The page has them since the key before this one.
    GivenBack,
}

impl TerminalPane {
    pub(super) fn is_taken_over(&self) -> bool {
        self.keys == PaneKeys::Program
    }

    /// Gives the keys back to the page, and lets questions come up that have waited.
    pub(super) fn give_back(&mut self) -> Vec<Intent> {
        let (given_back, next) = match self.keys {
            PaneKeys::Program => (vec![Intent::ShowQuestion], PaneKeys::GivenBack),
            PaneKeys::Page | PaneKeys::GivenBack => (Vec::new(), PaneKeys::Page),
        };
        self.keys = next;
        given_back
    }

    /// The text on its screen.
    pub(super) fn text(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        for runs in self.frame.iter().flat_map(|frame| &frame.rows) {
            let mut line = String::new();
            for run in runs {
                let gap = usize::from(run.column).saturating_sub(display_width(&line));
                line.push_str(&" ".repeat(gap));
                line.push_str(&run.text);
            }
            lines.push(line.trim_end().to_owned());
        }
        lines.join("\n").trim_end().to_owned()
    }
}

impl JobsPage {
    /// Whether the screen of a terminal is in sight, and not what has scrolled off it.
    pub(super) fn shows_screen(&self) -> bool {
        self.terminal.frame.is_some() && self.output.follow == PagerFollow::Tail
    }

    pub(super) fn take_over(&mut self) -> Vec<Intent> {
        let say = |text: String| vec![Intent::Toast(NoticeLevel::Info, text)];
        match self.chosen() {
            None => Vec::new(),
            Some((_, job)) if !job.has_terminal => {
                say(format!("Job {} has no terminal to take over.", job.job.id.0))
            }
            Some((_, job)) if job.end.is_some() => {
                say(format!("Job {} has ended already.", job.job.id.0))
            }
            Some(_) => {
                self.terminal.keys = PaneKeys::Program;
                self.output.follow = PagerFollow::Tail;
                Vec::new()
            }
        }
    }

    /// The key that gives the terminal back, pressed on the page: right after it was given back it goes
    /// to the program.
    pub(super) fn press_give_back(&mut self, key: Option<KeyEvent>) -> Vec<Intent> {
        if self.terminal.keys != PaneKeys::GivenBack {
            return Vec::new();
        }
        self.terminal.keys = PaneKeys::Page;
        let mut intents = self.take_over();
        if self.terminal.is_taken_over() {
            intents.extend(self.type_in(key.and_then(typed).map(TerminalInput::Key)));
        }
        intents
    }

    /// Types something into the terminal of the selected job.
    pub(super) fn type_in(&self, typed: Option<TerminalInput>) -> Vec<Intent> {
        let job = self.chosen().map(|(_, job)| job.job.id);
        let command = job.zip(typed).map(|(job, typed)| AgentCommand::TypeIntoJob { job, typed });
        command.map(Intent::Command).into_iter().collect()
    }

    /// Shows in full what has scrolled off the screen, and the screen below it.
    pub(super) fn open_screen(&self) -> Vec<Intent> {
        let Some((_, job)) = self.chosen() else { return Vec::new() };
        let document = &self.output.document;
        let mut text: String =
            (0..document.len()).map(|line| format!("{}\n", document.line(line))).collect();
        text.push_str(&self.terminal.text());
        vec![Intent::OpenText { title: format!("Job {}  {}", job.job.id.0, job.job.command), text }]
    }
}

/// Whether a key gives the terminal back.
pub(super) fn gives_back(keys: &Keymap, key: KeyEvent) -> bool {
    let press = KeyPress::new(keys, Vec::new(), key);
    match bound_key(keys) {
        Some(_) => keymap::is(JobsKey::GiveBack, &press),
        None => {
            key.modifiers == KeyModifiers::CONTROL && matches!(key.code, KeyCode::Char(']' | '5'))
        }
    }
}

/// The key that gives the terminal back, as it is written.
pub(super) fn give_back_key(keys: &Keymap) -> String {
    bound_key(keys).unwrap_or_else(|| GIVE_BACK.to_owned())
}

/// The key of the user's or of slug's that is pressed alone; `None` where each is a sequence.
fn bound_key(keys: &Keymap) -> Option<String> {
    keys.bound(JobsKey::GiveBack).map(ToString::to_string).filter(|key| !key.contains(' '))
}

/// The key as the program knows it; `None` for keys that terminals do not have.
pub(super) fn typed(event: KeyEvent) -> Option<TerminalKeyPress> {
    let mut held = held(event.modifiers);
    let key = match event.code {
        KeyCode::Char(character) => {
            // The character says it already.
            held.shift = false;
            TerminalKey::Character(character)
        }
        KeyCode::Enter => TerminalKey::Enter,
        KeyCode::Esc => TerminalKey::Escape,
        KeyCode::Tab => TerminalKey::Tab,
        KeyCode::BackTab => {
            held.shift = true;
            TerminalKey::Tab
        }
        KeyCode::Backspace => TerminalKey::Backspace,
        KeyCode::Delete => TerminalKey::Delete,
        KeyCode::Insert => TerminalKey::Insert,
        KeyCode::Up => TerminalKey::Up,
        KeyCode::Down => TerminalKey::Down,
        KeyCode::Left => TerminalKey::Left,
        KeyCode::Right => TerminalKey::Right,
        KeyCode::Home => TerminalKey::Home,
        KeyCode::End => TerminalKey::End,
        KeyCode::PageUp => TerminalKey::PageUp,
        KeyCode::PageDown => TerminalKey::PageDown,
        KeyCode::F(number) => TerminalKey::Function(number),
        KeyCode::Null => {
            held.control = true;
            TerminalKey::Character(' ')
        }
        KeyCode::CapsLock
        | KeyCode::ScrollLock
        | KeyCode::NumLock
        | KeyCode::PrintScreen
        | KeyCode::Pause
        | KeyCode::Menu
        | KeyCode::KeypadBegin
        | KeyCode::Media(_)
        | KeyCode::Modifier(_) => return None,
    };
    Some(TerminalKeyPress { key, held })
}

fn held(modifiers: KeyModifiers) -> HeldModifiers {
    HeldModifiers {
        shift: modifiers.contains(KeyModifiers::SHIFT),
        alt: modifiers.contains(KeyModifiers::ALT),
        control: modifiers.contains(KeyModifiers::CONTROL),
    }
}

/// A mouse event over a cell of the terminal, as the program knows it.
pub(super) fn mouse(event: MouseEvent, (column, row): (u16, u16)) -> Option<TerminalMouse> {
    let button = |button| match button {
        MouseButton::Left => TerminalButton::Left,
        MouseButton::Middle => TerminalButton::Middle,
        MouseButton::Right => TerminalButton::Right,
    };
    let (action, button) = match event.kind {
        MouseEventKind::Down(it) => (MouseAction::Press, Some(button(it))),
        MouseEventKind::Up(it) => (MouseAction::Release, Some(button(it))),
        MouseEventKind::Drag(it) => (MouseAction::Move, Some(button(it))),
        MouseEventKind::Moved => (MouseAction::Move, None),
        MouseEventKind::ScrollUp => (MouseAction::Press, Some(TerminalButton::WheelUp)),
        MouseEventKind::ScrollDown => (MouseAction::Press, Some(TerminalButton::WheelDown)),
        MouseEventKind::ScrollLeft | MouseEventKind::ScrollRight => return None,
    };
    Some(TerminalMouse { action, button, column, row, held: held(event.modifiers) })
}
