//! Tests of the bytes that the backend writes, and of what terminals show for them.

use proptest::prelude::*;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};

use super::super::tty::FrameBuffer;
use super::*;
use crate::tui::layout::WebLink;

mod columns;
mod pictures;

const WIDTH: u16 = 40;
const HEIGHT: u16 = 4;

/// A backend that writes into memory, with the links and cells that it drew.
struct CapturedTerminal {
    terminal: Terminal<TerminalBackend<FrameBuffer>>,
    batch: FrameBuffer,
    links: LinkTable,
}

impl CapturedTerminal {
    fn new(hyperlinks: HyperlinkSupport) -> Self {
        let (batch, links) = (FrameBuffer::default(), LinkTable::default());
        let backend = TerminalBackend::new(batch.clone(), links.clone(), hyperlinks);
        backend.size.set(Size { width: WIDTH, height: HEIGHT });
        let viewport = Viewport::Fixed(Rect::new(0, 0, WIDTH, HEIGHT));
        let terminal = Terminal::with_options(backend, TerminalOptions { viewport }).unwrap();
        Self { terminal, batch, links }
    }

    /// Draws a frame, and returns the bytes that were written for it.
    fn draw(&mut self, render: impl FnOnce(&mut Frame<'_>, &LinkTable)) -> String {
        let links = self.links.clone();
        links.begin_frame();
        self.terminal.draw(|frame| render(frame, &links)).unwrap();
        String::from_utf8(self.batch.take()).unwrap()
    }

    fn text(&mut self, row: u16, text: &str, address: Option<&str>) -> String {
        self.draw(|frame, links| put(frame, links, row, text, address))
    }
}

fn put(frame: &mut Frame<'_>, links: &LinkTable, row: u16, text: &str, address: Option<&str>) {
    let link = address.and_then(WebLink::to);
    let style = link.map_or(Style::new(), |link| Style::new().underline_color(links.mark(&link)));
    frame.buffer_mut().set_stringn(0, row, text, usize::from(WIDTH), style);
}

/// The addresses of the links that are opened, in order. Fails when one is left open.
fn opened(bytes: &str) -> Vec<&str> {
    let mut opened = Vec::new();
    let mut open = false;
    for part in bytes.split("\x1b]8;").skip(1) {
        let (link, _) = part.split_once("\x1b\\").expect("each sequence ends");
        let (_, address) = link.split_once(';').unwrap();
        open = !address.is_empty();
        if open {
            opened.push(address);
        }
    }
    assert!(!open, "a link is left open in {bytes:?}");
    opened
}

const ONE: &str = "https://one.example/";
const TWO: &str = "https://two.example/";

#[test]
fn a_link_is_opened_before_its_text_and_closed_behind_it() {
    let bytes = CapturedTerminal::new(HyperlinkSupport::Clickable).text(0, "here", Some(ONE));
    assert!(
        bytes.contains("\x1b]8;id=1;https://one.example/\x1b\\here\x1b]8;;\x1b\\"),
        "{bytes:?}"
    );
}

#[test]
fn a_link_that_leads_elsewhere_is_drawn_again_though_its_text_is_the_same() {
    let mut terminal = CapturedTerminal::new(HyperlinkSupport::Clickable);
    assert_eq!(opened(&terminal.text(0, "here", Some(ONE))), [ONE]);
    assert_eq!(opened(&terminal.text(0, "here", Some(ONE))), [""; 0]);
    let bytes = terminal.text(0, "here", Some(TWO));
    assert_eq!(opened(&bytes), [TWO]);
    assert!(bytes.contains("here"), "{bytes:?}");
    let bytes = terminal.text(0, "here", None);
    assert!(bytes.contains("here") && opened(&bytes).is_empty(), "{bytes:?}");
}

#[test]
fn the_rows_of_a_link_are_one_link() {
    let bytes = CapturedTerminal::new(HyperlinkSupport::Clickable).draw(|frame, links| {
        put(frame, links, 0, "first", Some(ONE));
        put(frame, links, 1, "other", Some(TWO));
        put(frame, links, 2, "second", Some(ONE));
    });
    assert_eq!(opened(&bytes), [ONE, TWO, ONE]);
    assert_eq!(bytes.matches("id=1;").count(), 2);
}

#[test]
fn text_over_a_link_is_no_link() {
    let mut terminal = CapturedTerminal::new(HyperlinkSupport::Clickable);
    terminal.text(0, "a long link", Some(ONE));
    let bytes = terminal.draw(|frame, links| {
        put(frame, links, 0, "a long link", Some(ONE));
        frame.render_widget(ratatui::widgets::Clear, Rect::new(2, 0, 4, 1));
    });
    assert_eq!(opened(&bytes), [""; 0]);
    assert!(bytes.contains("    "), "{bytes:?}");
}

#[test]
fn no_link_sequence_is_written_where_it_does_harm() {
    let bytes = CapturedTerminal::new(HyperlinkSupport::Plain).text(0, "here", Some(ONE));
    assert!(bytes.contains("here") && !bytes.contains("\x1b]"), "{bytes:?}");
}

#[test]
fn a_frame_without_a_change_writes_next_to_nothing() {
    let mut terminal = CapturedTerminal::new(HyperlinkSupport::Clickable);
    let row = "text with ❤\u{fe0f} and 👩\u{200d}👧 in it";
    terminal.text(0, row, Some(ONE));
    assert_eq!(terminal.text(0, row, Some(ONE)), "\x1b[?25l");
}

#[test]
fn styles_cost_one_change_each_and_are_off_at_the_end() {
    let bytes = CapturedTerminal::new(HyperlinkSupport::Clickable).draw(|frame, _| {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        frame.buffer_mut().set_string(0, 0, "bold", bold);
        frame.buffer_mut().set_string(4, 0, "plain", Style::new());
        frame.buffer_mut().set_string(9, 0, "blue", Style::new().fg(Color::Blue));
    });
    assert_eq!(bytes, "\x1b[1;1H\x1b[1mbold\x1b[0mplain\x1b[38;5;4mblue\x1b[0m\x1b[?25l");
}

/// Rows of plain text mixed with clusters whose width terminals agree or disagree on.
fn row() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "a",
        "bcd",
        " ",
        "日",
        "語",
        "e\u{301}",
        "❤\u{fe0f}",
        "1\u{fe0f}\u{20e3}",
        "👍🏽",
        "🇩🇪",
        "👩\u{200d}👩\u{200d}👧",
        "क\u{94d}ष\u{93f}",
        "ﾊ\u{ff9f}",
        "\u{1fae9}",
    ]);
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

/// What a terminal shows after these frames, row by row.
fn seen(terminal: &mut CapturedTerminal, frames: &[Vec<(String, usize)>]) -> Vec<String> {
    let size = |cells| std::num::NonZeroU16::new(cells).unwrap();
    // vt100 wraps at its right edge although told not to, so that edge is further out.
    let mut parser = vt100::Parser::new(size(HEIGHT), size(2 * WIDTH), 0);
    for rows in frames {
        let bytes = terminal.draw(|frame, links| {
            for (row, (text, indent)) in rows.iter().enumerate() {
                put(frame, links, row as u16, &(" ".repeat(*indent) + text), None);
            }
        });
        parser.process(bytes.as_bytes());
    }
    parser.screen().rows(0, WIDTH).map(|row| row.trim_end().to_owned()).collect()
}

proptest! {
    #[test]
    fn frames_one_after_another_show_what_the_last_one_does(
        frames in prop::collection::vec(
            prop::collection::vec((row(), 0..3_usize), HEIGHT as usize), 1..8,
        )
    ) {
        let shown = seen(&mut CapturedTerminal::new(HyperlinkSupport::Clickable), &frames);
        let last = seen(&mut CapturedTerminal::new(HyperlinkSupport::Clickable), &frames[frames.len() - 1..]);
        prop_assert_eq!(shown, last);
    }

    #[test]
    fn no_frame_leaves_a_link_open_and_none_leads_astray(
        frames in prop::collection::vec(
            prop::collection::vec(("[a-c 日👩\u{fe0f}\u{200d}]{0,9}", 0..4_usize), HEIGHT as usize),
            1..6,
        )
    ) {
        let addresses = [None, Some(ONE), Some(TWO), Some("https://\u{1b}]8;;evil")];
        let mut terminal = CapturedTerminal::new(HyperlinkSupport::Clickable);
        for rows in frames {
            let bytes = terminal.draw(|frame, links| {
                for (row, (text, address)) in rows.iter().enumerate() {
                    put(frame, links, row as u16, text, addresses[*address]);
                }
            });
            prop_assert!(opened(&bytes).iter().all(|address| [ONE, TWO].contains(address)));
        }
    }
}
