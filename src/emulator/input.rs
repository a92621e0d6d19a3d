//! Keys, pastes and mouse events as the bytes that a program expects of an xterm: xterm's control
//! sequences ("PC-Style Function Keys", "Mouse Tracking", "Bracketed Paste Mode").

use alacritty_terminal::term::TermMode;

use crate::domain::{
    HeldModifiers, MouseAction, TerminalButton, TerminalInput, TerminalKey, TerminalKeyPress,
    TerminalMouse,
};

/// How many rows a turn of the wheel moves in a program that has not asked for the mouse.
const WHEEL_ROWS: usize = 3;
/// The largest coordinate that the oldest form of a mouse report has room for.
const MOST_CELLS: u16 = 222;

pub(super) fn bytes(typed: &TerminalInput, mode: TermMode) -> Vec<u8> {
    match typed {
        TerminalInput::Key(press) => key(*press, mode),
        TerminalInput::Paste(text) => paste(text, mode),
        TerminalInput::Mouse(event) => mouse(*event, mode),
    }
}

fn key(TerminalKeyPress { key, held }: TerminalKeyPress, mode: TermMode) -> Vec<u8> {
    let is_application = mode.contains(TermMode::APP_CURSOR);
    match key {
        TerminalKey::Character(character) => with_alt(character_bytes(character, held), held),
        TerminalKey::Enter if mode.contains(TermMode::LINE_FEED_NEW_LINE) => {
            with_alt(b"\r\n".to_vec(), held)
        }
        TerminalKey::Enter => with_alt(b"\r".to_vec(), held),
        TerminalKey::Escape => with_alt(b"\x1b".to_vec(), held),
        TerminalKey::Tab if held.shift => with_alt(b"\x1b[Z".to_vec(), held),
        TerminalKey::Tab => with_alt(b"\t".to_vec(), held),
        TerminalKey::Backspace if held.control => with_alt(b"\x08".to_vec(), held),
        TerminalKey::Backspace => with_alt(b"\x7f".to_vec(), held),
        TerminalKey::Up => letter(b'A', held, is_application),
        TerminalKey::Down => letter(b'B', held, is_application),
        TerminalKey::Right => letter(b'C', held, is_application),
        TerminalKey::Left => letter(b'D', held, is_application),
        TerminalKey::Home => letter(b'H', held, is_application),
        TerminalKey::End => letter(b'F', held, is_application),
        TerminalKey::Insert => number(2, held),
        TerminalKey::Delete => number(3, held),
        TerminalKey::PageUp => number(5, held),
        TerminalKey::PageDown => number(6, held),
        TerminalKey::Function(at @ 1..=4) => letter(b'P' + at - 1, held, true),
        TerminalKey::Function(5) => number(15, held),
        TerminalKey::Function(at @ 6..=10) => number(at + 11, held),
        TerminalKey::Function(at @ 11..=12) => number(at + 12, held),
        TerminalKey::Function(_) => Vec::new(),
    }
}

/// A character, with ctrl the control character that terminals make of it. The digits are what
/// terminals report for the control characters that have no letter.
fn character_bytes(character: char, held: HeldModifiers) -> Vec<u8> {
    let control = match character.to_ascii_lowercase() {
        letter @ 'a'..='z' => Some(letter as u8 - b'a' + 1),
        ' ' | '@' | '2' => Some(0),
        '[' | '3' => Some(0x1b),
        '\\' | '4' => Some(0x1c),
        ']' | '5' => Some(0x1d),
        '^' | '6' => Some(0x1e),
        '_' | '/' | '7' => Some(0x1f),
        '?' | '8' => Some(0x7f),
        _ => None,
    };
    match control.filter(|_| held.control) {
        Some(control) => vec![control],
        None => character.to_string().into_bytes(),
    }
}

fn with_alt(bytes: Vec<u8>, held: HeldModifiers) -> Vec<u8> {
    if held.alt { [b"\x1b", bytes.as_slice()].concat() } else { bytes }
}

/// The parameter that stands for modifiers; `None` without any.
fn modifiers(held: HeldModifiers) -> Option<u8> {
    let sum = u8::from(held.shift) + 2 * u8::from(held.alt) + 4 * u8::from(held.control);
    (sum > 0).then_some(sum + 1)
}

/// A key that ends in a letter.
fn letter(last: u8, held: HeldModifiers, is_application: bool) -> Vec<u8> {
    let last = char::from(last);
    let text = match (modifiers(held), is_application) {
        (Some(held), _) => format!("\x1b[1;{held}{last}"),
        (None, true) => format!("\x1bO{last}"),
        (None, false) => format!("\x1b[{last}"),
    };
    text.into_bytes()
}

/// A key that is a number.
fn number(number: u8, held: HeldModifiers) -> Vec<u8> {
    let held = modifiers(held).map(|held| format!(";{held}")).unwrap_or_default();
    format!("\x1b[{number}{held}~").into_bytes()
}

/// Text in one piece. Nothing in it can end the brackets around it.
fn paste(text: &str, mode: TermMode) -> Vec<u8> {
    let text = text.replace("\r\n", "\r").replace('\n', "\r");
    if !mode.contains(TermMode::BRACKETED_PASTE) {
        return text.into_bytes();
    }
    let text: String =
        text.chars().filter(|c| !matches!(c, '\u{1b}' | '\u{80}'..='\u{9f}')).collect();
    format!("\x1b[200~{text}\x1b[201~").into_bytes()
}

fn mouse(event: TerminalMouse, mode: TermMode) -> Vec<u8> {
    let is_wanted = match (event.action, event.button) {
        (MouseAction::Press | MouseAction::Release, _) => mode.intersects(TermMode::MOUSE_MODE),
        (MouseAction::Move, Some(_)) => {
            mode.intersects(TermMode::MOUSE_DRAG | TermMode::MOUSE_MOTION)
        }
        (MouseAction::Move, None) => mode.contains(TermMode::MOUSE_MOTION),
    };
    match event.button {
        Some(button @ (TerminalButton::WheelUp | TerminalButton::WheelDown))
            if !is_wanted && mode.contains(TermMode::ALT_SCREEN | TermMode::ALTERNATE_SCROLL) =>
        {
            let last = if button == TerminalButton::WheelUp { b'A' } else { b'B' };
            let is_application = mode.contains(TermMode::APP_CURSOR);
            letter(last, HeldModifiers::default(), is_application).repeat(WHEEL_ROWS)
        }
        _ if is_wanted => mouse_report(event, mode),
        Some(_) | None => Vec::new(),
    }
}

fn mouse_report(event: TerminalMouse, mode: TermMode) -> Vec<u8> {
    let HeldModifiers { shift, alt, control } = event.held;
    let held = 4 * u8::from(shift) + 8 * u8::from(alt) + 16 * u8::from(control);
    let button = match event.button {
        Some(TerminalButton::Left) => 0,
        Some(TerminalButton::Middle) => 1,
        Some(TerminalButton::Right) => 2,
        None => 3,
        Some(TerminalButton::WheelUp) => 64,
        Some(TerminalButton::WheelDown) => 65,
    };
    let moved = if event.action == MouseAction::Move { 32 } else { 0 };
    let is_release = event.action == MouseAction::Release;
    if mode.contains(TermMode::SGR_MOUSE) {
        let last = if is_release { 'm' } else { 'M' };
        let (column, row) = (u32::from(event.column) + 1, u32::from(event.row) + 1);
        return format!("\x1b[<{};{column};{row}{last}", button + moved + held).into_bytes();
    }
    if event.column > MOST_CELLS || event.row > MOST_CELLS {
        return Vec::new();
    }
    let button = if is_release { 3 } else { button };
    let cell = |at: u16| u8::try_from(at + 33).unwrap_or(u8::MAX);
    let report = [32 + button + moved + held, cell(event.column), cell(event.row)];
    [b"\x1b[M".as_slice(), &report].concat()
}
