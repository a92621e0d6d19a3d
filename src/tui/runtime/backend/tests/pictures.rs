//! Tests of pictures: what a terminal is told, and when.

use std::sync::Arc;

use crate::platform::graphics::SizeInCells;

use super::*;

const PLACE: (u16, u16) = (3, 1);

fn picture(graphics: GraphicsProtocol) -> TerminalPicture {
    let cells = SizeInCells { columns: 4, rows: 2 };
    TerminalPicture { id: 9, graphics, cells, sequence: Arc::from(*b"<picture>") }
}

/// A terminal, and the picture table that its backend reads.
fn captured_terminal() -> (CapturedTerminal, PictureTable) {
    let (mut terminal, picture_table) =
        (CapturedTerminal::new(HyperlinkSupport::Plain), PictureTable::default());
    terminal.terminal.backend_mut().picture_table = picture_table.clone();
    (terminal, picture_table)
}

/// Draws a frame with the picture at this place, under a text.
fn draw_picture(
    terminal: &mut CapturedTerminal,
    picture_table: &PictureTable,
    picture: &TerminalPicture,
    covering: &str,
) -> String {
    picture_table.begin_frame();
    terminal.draw(|frame, _| {
        for (row, column) in (0..2).flat_map(|row| (0..4).map(move |column| (row, column))) {
            let cell = &mut frame.buffer_mut()[(PLACE.0 + column, PLACE.1 + row)];
            picture_table.mark_cell(picture, row, column, cell);
        }
        frame.buffer_mut().set_string(0, 1, covering, Style::new());
    })
}

fn draw_empty(terminal: &mut CapturedTerminal, picture_table: &PictureTable) -> String {
    picture_table.begin_frame();
    terminal.draw(|_, _| {})
}

#[test]
fn kitty_gets_a_picture_once_while_it_is_on_screen() {
    let (mut terminal, picture_table) = captured_terminal();
    let picture = picture(GraphicsProtocol::Kitty);
    let first = draw_picture(&mut terminal, &picture_table, &picture, "");
    assert_eq!(first.matches("<picture>").count(), 1);
    assert!(first.contains("38;2;0;0;9") && first.contains("\u{10eeee}\u{305}\u{305}"));
    assert!(!draw_picture(&mut terminal, &picture_table, &picture, "a").contains("<picture>"));
    assert!(draw_empty(&mut terminal, &picture_table).contains(&forget(9)));
    assert!(!draw_empty(&mut terminal, &picture_table).contains("\x1b_G"));
    assert!(draw_picture(&mut terminal, &picture_table, &picture, "").contains("<picture>"));
}

#[test]
fn other_terminals_get_the_picture_after_its_cells() {
    let (mut terminal, picture_table) = captured_terminal();
    let picture = picture(GraphicsProtocol::Sixel);
    let first = draw_picture(&mut terminal, &picture_table, &picture, "");
    assert!(!first.contains('\u{10eeee}'));
    assert!(first.contains("\x1b[2;4H<picture>"), "{first:?}");
    assert!(
        !draw_picture(&mut terminal, &picture_table, &picture, "a").contains("<picture>"),
        "it is there"
    );
    let gone = draw_empty(&mut terminal, &picture_table);
    assert!(gone.contains(' ') && !gone.contains("<picture>"), "its cells are written over");
}

#[test]
fn a_partly_covered_picture_is_not_painted() {
    let (mut terminal, picture_table) = captured_terminal();
    let picture = picture(GraphicsProtocol::Iterm);
    assert!(!draw_picture(&mut terminal, &picture_table, &picture, "covers").contains("<picture>"));
    assert!(draw_picture(&mut terminal, &picture_table, &picture, "").contains("<picture>"));
}
