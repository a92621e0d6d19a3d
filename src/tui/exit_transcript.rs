//! What slug leaves in the terminal when it exits: the end of the transcript, or all of it, as it
//! looked on screen. While slug runs it draws on the alternate screen, which leaves nothing behind.

use std::collections::VecDeque;
use std::fmt::Write;

use ratatui::style::{Color, Modifier, Style};

use crate::config::ExitTranscript;

use super::app::ScreenModel;
use super::app::conversation::block::BlockBody;
use super::layout::StyledSpan;
use super::view::transcript_rows::{TranscriptRowContent, row};
use super::view::window::{BlockRowPosition, TranscriptRowFinder};
use super::view::{RoleStyles, ViewLayouts, paint};

/// Most rows of the end. Resuming the session shows what is above them.
const END: usize = 200;
/// Most rows when the whole transcript is wanted. Most terminals keep no more than this, and laying
/// out a long session would delay the exit by seconds.
const ALL: usize = 10_000;

/// The rows with the sequences that style them, each followed by a line end.
pub fn render(
    model: &ScreenModel,
    layouts: &mut ViewLayouts,
    styles: &dyn RoleStyles,
    leave: ExitTranscript,
) -> String {
    let blocks = model.conversation.transcript.blocks();
    let width = model.conversation.geometry.transcript.width;
    let (from, most) = match leave {
        ExitTranscript::Nothing => return String::new(),
        ExitTranscript::All => (0, ALL),
        // The user's last message, and everything after it.
        ExitTranscript::End => {
            let last_message =
                blocks.iter().rposition(|block| matches!(block.body, BlockBody::User(_)));
            (last_message.unwrap_or(0), END)
        }
    };
    let mut out = String::new();
    let mut rows = last_rows(model, layouts, width, from, most + 1);
    let cut = rows.len() > most;
    if cut {
        rows.pop_front();
    }
    if cut || (leave == ExitTranscript::All && model.conversation.requests.backfill.is_some()) {
        let note = "… more above; resume the session to see it";
        line(&[paint::span(note, super::layout::StyleRole::Muted)], styles, &mut out);
    }
    for at in rows {
        let now = model.shared.shown_now();
        match row(&model.conversation, layouts, at, (width, now)).content {
            TranscriptRowContent::Empty => out.push('\n'),
            TranscriptRowContent::Head(head) => line(&head.spans(), styles, &mut out),
            TranscriptRowContent::Body(body) => line(&body.spans, styles, &mut out),
        }
    }
    out.trim_start_matches('\n').to_owned()
}

/// The last rows of the blocks from index `from` on. Blocks above these rows are not laid out.
fn last_rows(
    model: &ScreenModel,
    layouts: &mut ViewLayouts,
    width: u16,
    from: usize,
    most: usize,
) -> VecDeque<BlockRowPosition> {
    let mut rows = VecDeque::new();
    for index in (from..model.conversation.transcript.blocks().len()).rev() {
        let shape = TranscriptRowFinder::new(&model.conversation, layouts, width).shape(index);
        for row in (0..shape.rows).rev() {
            if rows.len() == most {
                return rows;
            }
            rows.push_front(BlockRowPosition { index, row });
        }
    }
    rows
}

/// One row behind a margin, without trailing blanks.
fn line(spans: &[StyledSpan], styles: &dyn RoleStyles, out: &mut String) {
    let shown = spans.iter().rposition(|span| !span.text.trim().is_empty());
    let mut row = String::from(" ");
    for span in &spans[..shown.map_or(0, |last| last + 1)] {
        let codes = codes(styles.style(span.role));
        // Writing to a string cannot fail.
        let _ = match codes.as_str() {
            "" => write!(row, "{}", span.text),
            codes => write!(row, "\x1b[{codes}m{}\x1b[0m", span.text),
        };
    }
    out.push_str(row.trim_end());
    out.push('\n');
}

/// The SGR parameters that give text this style (ECMA-48, 8.3.117).
fn codes(style: Style) -> String {
    let modifiers = [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::ITALIC, "3"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::REVERSED, "7"),
        (Modifier::CROSSED_OUT, "9"),
    ];
    let set = modifiers.iter().filter(|(modifier, _)| style.add_modifier.contains(*modifier));
    let mut codes: Vec<String> = set.map(|(_, code)| (*code).to_owned()).collect();
    codes.extend(style.fg.and_then(|color| color_code(color, 30)));
    codes.extend(style.bg.and_then(|color| color_code(color, 40)));
    codes.join(";")
}

/// The SGR parameters of a colour; `base` is 30 for text and 40 for the background.
fn color_code(color: Color, base: u8) -> Option<String> {
    let own = |number: u8| Some((base + number).to_string());
    let bright = |number: u8| Some((base + 60 + number).to_string());
    match color {
        Color::Reset => None,
        Color::Black => own(0),
        Color::Red => own(1),
        Color::Green => own(2),
        Color::Yellow => own(3),
        Color::Blue => own(4),
        Color::Magenta => own(5),
        Color::Cyan => own(6),
        Color::Gray => own(7),
        Color::DarkGray => bright(0),
        Color::LightRed => bright(1),
        Color::LightGreen => bright(2),
        Color::LightYellow => bright(3),
        Color::LightBlue => bright(4),
        Color::LightMagenta => bright(5),
        Color::LightCyan => bright(6),
        Color::White => bright(7),
        Color::Indexed(number) => Some(format!("{};5;{number}", base + 8)),
        Color::Rgb(red, green, blue) => Some(format!("{};2;{red};{green};{blue}", base + 8)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ContentBlock;
    use crate::tui::layout::SyntaxHighlighter;
    use crate::tui::test_screen::{assistant, recorded, screen, user};
    use crate::tui::theme::{ColorDepth, Theme};

    fn left(leave: ExitTranscript) -> String {
        let text = |text: &str| assistant(vec![ContentBlock::Text { text: text.into() }]);
        let log = [user("first"), text("one"), user("second"), text("two **bold**")];
        let scene = screen(60, 24).events(log.iter().map(recorded));
        let mut layouts = ViewLayouts::new(SyntaxHighlighter::off());
        render(&scene.model, &mut layouts, &Theme::dark(ColorDepth::None), leave)
    }

    #[test]
    fn the_end_is_the_last_message_and_what_follows() {
        assert_eq!(
            left(ExitTranscript::End),
            " ❯ \x1b[1msecond\x1b[0m\n\n two \x1b[1mbold\x1b[0m\n"
        );
        assert_eq!(left(ExitTranscript::Nothing), "");
    }

    #[test]
    fn the_whole_transcript_is_left_if_wanted() {
        let wanted = concat!(
            " ❯ \x1b[1mfirst\x1b[0m\n\n one\n\n",
            " ❯ \x1b[1msecond\x1b[0m\n\n two \x1b[1mbold\x1b[0m\n"
        );
        assert_eq!(left(ExitTranscript::All), wanted);
    }

    #[test]
    fn the_number_of_rows_left_is_bounded() {
        let list = "- item\n".repeat(99);
        let log = vec![assistant(vec![ContentBlock::Text { text: list }]); 150];
        let scene = screen(60, 24).events(log.iter().map(recorded));
        let mut layouts = ViewLayouts::new(SyntaxHighlighter::off());
        let page =
            render(&scene.model, &mut layouts, &Theme::dark(ColorDepth::None), ExitTranscript::All);
        let lines: Vec<&str> = page.lines().collect();
        assert_eq!(lines.len(), ALL + 1);
        assert!(lines[0].contains("… more above"), "{}", lines[0]);
        // Each block has 100 rows including the gap above it. Blocks further up are never laid out.
        assert_eq!(layouts.layout_count(), ALL as u64 / 100 + 1);
    }

    #[test]
    fn styles_are_written_as_terminals_read_them() {
        for (style, wanted) in [
            (Style::new(), ""),
            (Style::new().fg(Color::Reset), ""),
            (Style::new().fg(Color::Cyan), "36"),
            (Style::new().fg(Color::LightRed).bg(Color::White), "91;107"),
            (Style::new().fg(Color::Indexed(80)).add_modifier(Modifier::BOLD), "1;38;5;80"),
            (Style::new().bg(Color::Rgb(1, 2, 3)).add_modifier(Modifier::DIM), "2;48;2;1;2;3"),
        ] {
            assert_eq!(codes(style), wanted);
        }
    }
}
