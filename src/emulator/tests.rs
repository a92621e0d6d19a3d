//! What programs print, as cells and as text, and what they get for keys; also from programs that mean
//! no good.

use proptest::prelude::*;

use super::TerminalEmulator;
use crate::domain::{
    HeldModifiers, MouseAction, TerminalButton, TerminalColor, TerminalInput, TerminalKeyPress,
    TerminalMouse, TerminalSize, TerminalStyle,
};

fn emulator(columns: u16, rows: u16) -> TerminalEmulator {
    TerminalEmulator::new(TerminalSize { columns, rows })
}

fn shown(printed: &[u8]) -> Vec<String> {
    let mut terminal = emulator(20, 5);
    terminal.print(printed);
    terminal.text(0).screen
}

fn typed(terminal: &TerminalEmulator, key: &str) -> String {
    let press = TerminalKeyPress::parse(key).unwrap();
    String::from_utf8(terminal.bytes_for(&TerminalInput::Key(press))).unwrap()
}

fn mouse(terminal: &TerminalEmulator, action: MouseAction, button: TerminalButton) -> String {
    let (button, held) = (Some(button), HeldModifiers::default());
    let event = TerminalMouse { action, button, column: 9, row: 4, held };
    String::from_utf8(terminal.bytes_for(&TerminalInput::Mouse(event))).unwrap()
}

#[test]
fn what_is_printed_is_on_the_screen_where_it_belongs() {
    assert_eq!(shown(b"one\r\ntwo"), ["one", "two"]);
    assert_eq!(shown(b"12345\rab\x1b[2;3Hc"), ["ab345", "  c"]);
    assert_eq!(shown("日本\r\n\u{1b}[K".as_bytes()), ["日本"]);
    // The edge of the screen ends no line.
    assert_eq!(shown(&[b'x'; 30]), ["x".repeat(30)]);
    // Line drawing, and a character that is repeated.
    assert_eq!(shown(b"\x1b(0lqk\x1b(B-\x1b[3b"), ["┌─┐----"]);
}

#[test]
fn colours_and_the_cursor_are_in_the_frame() {
    let mut terminal = emulator(20, 5);
    terminal.print(b"a\x1b[1;31mb\x1b[48;2;1;2;3mc\x1b[0m d");
    let frame = terminal.frame(false);
    let red = Some(TerminalColor::Indexed(1));
    let bold = TerminalStyle { foreground: red, bold: true, ..TerminalStyle::default() };
    let styles: Vec<_> =
        frame.rows[0].iter().map(|run| (run.column, &*run.text, run.style)).collect();
    let on = TerminalStyle { background: Some(TerminalColor::Rgb(1, 2, 3)), ..bold };
    let plain = TerminalStyle::default();
    assert_eq!(styles, [(0, "a", plain), (1, "b", bold), (2, "c", on), (3, " d", plain)]);
    assert_eq!(frame.cursor, Some((5, 0)));
    assert_eq!(frame.rows.len(), 5);
    terminal.print(b"\x1b[?25l");
    assert_eq!(terminal.frame(true).cursor, None);
}

#[test]
fn lines_that_scroll_off_are_kept_and_counted() {
    let mut terminal = emulator(10, 3);
    for line in 0..5_000 {
        terminal.print(format!("line {line}\r\n").as_bytes());
    }
    let text = terminal.text(0);
    assert_eq!((text.next, text.skipped, text.scrolled.len()), (4_998, 2_998, 2_000));
    assert_eq!(text.scrolled[0], "line 2998");
    assert_eq!(text.screen, ["line 4998", "line 4999"]);
    terminal.print(b"more\r\nand more\r\n");
    let news = terminal.text(text.next);
    assert_eq!(
        (news.skipped, &news.scrolled[..]),
        (0, &["line 4998", "line 4999"].map(String::from)[..])
    );
    assert_eq!(news.screen, ["more", "and more"]);
}

#[test]
fn a_wrapped_line_that_scrolls_off_is_one_line() {
    let mut terminal = emulator(10, 2);
    terminal.print(b"0123456789abcdef\r\nnext\r\n\r\n");
    assert_eq!(terminal.text(0).scrolled, ["0123456789abcdef", "next"]);
}

#[test]
fn a_new_size_wraps_lines_anew() {
    let mut terminal = emulator(20, 5);
    terminal.print(b"0123456789abcdef");
    terminal.resize(TerminalSize { columns: 10, rows: 5 });
    assert_eq!(terminal.text(0).screen, ["0123456789abcdef"]);
    terminal.resize(TerminalSize { columns: 0, rows: u16::MAX });
    assert_eq!(terminal.size(), TerminalSize { columns: 4, rows: 200 });
}

#[test]
fn s73_strings_for_a_terminal_are_dropped_however_they_are_cut() {
    let printed = b"a\x1b]0;title\x07b\x1b]52;c;c2VjcmV0\x1b\\c\x1b]8;;http://x\x1b\\d\x1b]8;;\x07\
                    e\x1bP$q m\x1b\\f\x1b_Gi=1\x1b\\g\x1b^pm\x1b\\h\x1bXsos\x1b\\i\x1b]9;note\x18j";
    for size in 1..printed.len() {
        let mut terminal = emulator(20, 5);
        printed.chunks(size).for_each(|part| terminal.print(part));
        assert_eq!(terminal.text(0).screen, ["abcdefghij"], "in pieces of {size}");
        assert!(terminal.take_replies().is_empty());
    }
}

#[test]
fn an_endless_string_costs_nothing_and_ends() {
    let mut terminal = emulator(20, 5);
    terminal.print(b"a\x1b]0;");
    for _ in 0..100 {
        terminal.print(&[b'x'; 64 << 10]);
    }
    terminal.print(b"\x07b");
    assert_eq!(terminal.text(0).screen, ["ab"]);
}

#[test]
fn questions_are_answered_and_floods_of_them_bounded() {
    let mut terminal = emulator(20, 5);
    terminal.print(b"ab\x1b[c\x1b[6n");
    assert_eq!(terminal.take_replies(), b"\x1b[?6c\x1b[1;3R");
    assert!(terminal.take_replies().is_empty());
    for _ in 0..10_000 {
        terminal.print(b"\x1b[6n\x1b[c\x1bP$qm\x1b\\\x1b[18t\x1b]11;?\x07");
    }
    let replies = terminal.take_replies();
    assert!((1_000..=1_024).contains(&replies.len()), "{}", replies.len());
}

#[test]
fn marks_without_end_do_not_grow_a_cell() {
    let mut terminal = emulator(20, 5);
    for _ in 0..200 {
        terminal.print("e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\r".repeat(1_000).as_bytes());
        terminal.print("\u{301}".repeat(10_000).as_bytes());
    }
    let text = terminal.text(0).screen.concat();
    assert!(text.len() < 100, "{}", text.len());
    // Nothing invisible and nothing that turns the text around gets through.
    terminal.print("\r\nx\u{202e}y\u{200b}z\u{2066}".as_bytes());
    assert_eq!(terminal.text(0).screen[1], "xyz");
}

#[test]
fn of_a_hundred_megabytes_of_one_line_little_is_kept() {
    let mut terminal = emulator(80, 24);
    for _ in 0..160 {
        terminal.print(&[b'x'; 64 << 10]);
    }
    let text = terminal.text(0);
    let kept: usize = text.scrolled.iter().map(String::len).sum();
    assert!((1 << 19..=1 << 20).contains(&kept), "{kept}");
    assert!(text.scrolled.iter().all(|line| line.len() <= (16 << 10) + 80));
}

#[test]
fn keys_are_what_an_xterm_sends() {
    let mut terminal = emulator(20, 5);
    let plain = [
        ("a", "a"),
        ("é", "é"),
        ("enter", "\r"),
        ("escape", "\x1b"),
        ("tab", "\t"),
        ("shift+tab", "\x1b[Z"),
        ("backspace", "\x7f"),
        ("ctrl+c", "\x03"),
        ("ctrl+C", "\x03"),
        ("ctrl+space", "\0"),
        ("ctrl+]", "\x1d"),
        ("ctrl+5", "\x1d"),
        ("alt+x", "\x1bx"),
        ("alt+enter", "\x1b\r"),
        ("ctrl+alt+a", "\x1b\x01"),
        ("up", "\x1b[A"),
        ("ctrl+right", "\x1b[1;5C"),
        ("shift+alt+end", "\x1b[1;4F"),
        ("delete", "\x1b[3~"),
        ("ctrl+pageup", "\x1b[5;5~"),
        ("f1", "\x1bOP"),
        ("shift+f4", "\x1b[1;2S"),
        ("f5", "\x1b[15~"),
        ("f10", "\x1b[21~"),
        ("f12", "\x1b[24~"),
    ];
    for (key, bytes) in plain {
        assert_eq!(typed(&terminal, key), bytes, "{key}");
    }
    terminal.print(b"\x1b[?1h");
    assert_eq!(typed(&terminal, "up"), "\x1bOA");
    assert_eq!(typed(&terminal, "home"), "\x1bOH");
    assert_eq!(typed(&terminal, "shift+up"), "\x1b[1;2A");
}

#[test]
fn a_paste_is_bracketed_as_the_program_asked_and_cannot_end_itself() {
    let mut terminal = emulator(20, 5);
    let paste = TerminalInput::Paste("a\nb\x1b[201~c\u{9b}d".to_owned());
    assert_eq!(terminal.bytes_for(&paste), "a\rb\x1b[201~c\u{9b}d".as_bytes());
    terminal.print(b"\x1b[?2004h");
    assert_eq!(terminal.bytes_for(&paste), b"\x1b[200~a\rb[201~cd\x1b[201~");
}

#[test]
fn the_mouse_is_told_as_the_program_asked() {
    let mut terminal = emulator(20, 5);
    let (press, left) = (MouseAction::Press, TerminalButton::Left);
    assert_eq!(mouse(&terminal, press, left), "");
    terminal.print(b"\x1b[?1000h");
    assert_eq!(mouse(&terminal, press, left), "\x1b[M *%");
    assert_eq!(mouse(&terminal, MouseAction::Release, left), "\x1b[M#*%");
    assert_eq!(mouse(&terminal, MouseAction::Move, left), "");
    terminal.print(b"\x1b[?1002h\x1b[?1006h");
    assert_eq!(mouse(&terminal, press, left), "\x1b[<0;10;5M");
    assert_eq!(mouse(&terminal, MouseAction::Release, left), "\x1b[<0;10;5m");
    assert_eq!(mouse(&terminal, MouseAction::Move, left), "\x1b[<32;10;5M");
    assert_eq!(mouse(&terminal, press, TerminalButton::WheelUp), "\x1b[<64;10;5M");
    // On the other screen, the wheel of a program without a mouse is arrows.
    let mut pager = emulator(20, 5);
    pager.print(b"\x1b[?1049h");
    assert_eq!(mouse(&pager, press, TerminalButton::WheelDown), "\x1b[B\x1b[B\x1b[B");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes_and_sizes_leave_a_screen(
        parts in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..200),
                "(\x1b[\\[\\]P()#?]?[0-9;?]{0,9}[A-Za-z@`]|[a-z日é\u{301}\r\n\t]){0,80}".prop_map(String::into_bytes),
            ],
            1..8,
        ),
        sizes in prop::collection::vec((any::<u16>(), 0u16..300), 1..8),
    ) {
        let mut terminal = emulator(80, 24);
        for (part, (columns, rows)) in parts.iter().zip(sizes.iter().cycle()) {
            terminal.print(part);
            let frame = terminal.frame(false);
            prop_assert_eq!(frame.rows.len(), usize::from(frame.size.rows));
            for run in frame.rows.iter().flatten() {
                prop_assert!(!run.text.chars().any(char::is_control), "{:?}", run);
            }
            terminal.resize(TerminalSize { columns: *columns, rows: *rows });
            prop_assert!(terminal.text(0).screen.len() <= 200);
        }
    }
}
