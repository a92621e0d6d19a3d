//! Pictures: what a terminal is told, and when.

use std::sync::Arc;

use crate::platform::graphics::SizeInCells;

use super::*;

const PLACE: (u16, u16) = (3, 1);

fn picture(graphics: GraphicsProtocol) -> TerminalPicture {
    let cells = SizeInCells { columns: 4, rows: 2 };
    TerminalPicture { id: 9, graphics, cells, sequence: Arc::from(*b"<picture>") }
}

/// A terminal, and the table that its pen reads.
fn desk() -> (CapturedTerminal, PictureTable) {
    let (mut desk, gallery) =
        (CapturedTerminal::new(HyperlinkSupport::Plain), PictureTable::default());
    desk.terminal.backend_mut().picture_table = gallery.clone();
    (desk, gallery)
}

/// A frame with the picture, at this place, under a text.
fn hung(
    desk: &mut CapturedTerminal,
    gallery: &PictureTable,
    picture: &TerminalPicture,
    over: &str,
) -> String {
    gallery.begin_frame();
    desk.draw(|frame, _| {
        for (row, column) in (0..2).flat_map(|row| (0..4).map(move |column| (row, column))) {
            let cell = &mut frame.buffer_mut()[(PLACE.0 + column, PLACE.1 + row)];
            gallery.mark_cell(picture, row, column, cell);
        }
        frame.buffer_mut().set_string(0, 1, over, Style::new());
    })
}

fn bare(desk: &mut CapturedTerminal, gallery: &PictureTable) -> String {
    gallery.begin_frame();
    desk.draw(|_, _| {})
}

#[test]
fn kitty_is_told_once_while_the_picture_is_on_screen() {
    let (mut desk, gallery) = desk();
    let picture = picture(GraphicsProtocol::Kitty);
    let first = hung(&mut desk, &gallery, &picture, "");
    assert_eq!(first.matches("<picture>").count(), 1);
    assert!(first.contains("38;2;0;0;9") && first.contains("\u{10eeee}\u{305}\u{305}"));
    assert!(!hung(&mut desk, &gallery, &picture, "a").contains("<picture>"));
    assert!(bare(&mut desk, &gallery).contains(&forget(9)));
    assert!(!bare(&mut desk, &gallery).contains("\x1b_G"));
    assert!(hung(&mut desk, &gallery, &picture, "").contains("<picture>"));
}

#[test]
fn others_get_it_behind_the_cells_that_it_covers() {
    let (mut desk, gallery) = desk();
    let picture = picture(GraphicsProtocol::Sixel);
    let first = hung(&mut desk, &gallery, &picture, "");
    assert!(!first.contains('\u{10eeee}'));
    assert!(first.contains("\x1b[2;4H<picture>"), "{first:?}");
    assert!(!hung(&mut desk, &gallery, &picture, "a").contains("<picture>"), "it is there");
    let gone = bare(&mut desk, &gallery);
    assert!(gone.contains(' ') && !gone.contains("<picture>"), "its cells are written over");
}

#[test]
fn what_lies_over_a_part_of_it_is_not_painted_over() {
    let (mut desk, gallery) = desk();
    let picture = picture(GraphicsProtocol::Iterm);
    assert!(!hung(&mut desk, &gallery, &picture, "covers").contains("<picture>"));
    assert!(hung(&mut desk, &gallery, &picture, "").contains("<picture>"));
}
