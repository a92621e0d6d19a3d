//! Draws an image in the transcript: its picture, if the terminal can show one and it is ready,
//! else a frame of the same size with a description.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::{MessageImage, format_bytes};
use crate::platform::graphics::{GraphicsCanvas, GraphicsProtocol, SizeInCells};
use crate::tui::app::conversation::Conversation;
use crate::tui::app::conversation::block::{BlockBody, BlockId};
use crate::tui::app::geometry::{ConversationGeometry, TranscriptRowKind};
use crate::tui::app::pictures::PictureRequest;
use crate::tui::app::shared::SharedState;
use crate::tui::layout::{StyleRole, StyledLine};

use super::blocks::INDENT;
use super::layouts::ViewLayouts;
use super::paint::{line, span, truncate, width};
use super::window::TranscriptRowFinder;

/// The largest picture, so that the text around it stays visible.
const MOST: SizeInCells = SizeInCells { columns: 72, rows: 15 };

/// The description of an image in its frame.
pub fn about(image: &MessageImage) -> String {
    format!("{} {}  {}", image.media_type.short(), image.size(), format_bytes(image.bytes))
}

/// The room that an image's picture takes in a text of this width.
pub fn size(image: &MessageImage, canvas: GraphicsCanvas, width: u16) -> SizeInCells {
    let columns = width.min(MOST.columns);
    canvas.cells((image.width, image.height), SizeInCells { columns, ..MOST })
}

/// A frame of this size with the description in its middle; only the text if there is no room for a
/// frame.
pub fn frame(image: &MessageImage, SizeInCells { columns, rows }: SizeInCells) -> Vec<StyledLine> {
    let inner = columns.saturating_sub(2);
    let middle = (rows - 1) / 2;
    if rows < 3 || inner < 4 {
        let words = line(vec![span(truncate(&about(image), columns), StyleRole::Muted)]);
        let row = |row| if row == middle { words.clone() } else { StyledLine::default() };
        return (0..rows).map(row).collect();
    }
    let across = "─".repeat(usize::from(inner));
    let edge = |text: String| line(vec![span(text, StyleRole::Border)]);
    let words = truncate(&about(image), inner - 2);
    let left = (inner - width(&words)) / 2;
    let right = inner - width(&words) - left;
    let room = |columns: u16| " ".repeat(usize::from(columns));
    let row = |row| {
        if row == 0 {
            edge(format!("┌{across}┐"))
        } else if row == rows - 1 {
            edge(format!("└{across}┘"))
        } else if row == middle {
            line(vec![
                span(format!("│{}", room(left)), StyleRole::Border),
                span(words.clone(), StyleRole::Muted),
                span(format!("{}│", room(right)), StyleRole::Border),
            ])
        } else {
            edge(format!("│{}│", room(inner)))
        }
    };
    (0..rows).map(row).collect()
}

/// The frame for a terminal without pictures: as small as its text.
pub fn label(image: &MessageImage, columns: u16) -> Vec<StyledLine> {
    let columns = (width(&about(image)) + 6).min(columns);
    frame(image, SizeInCells { columns, rows: 3 })
}

/// Replaces the frames of images by the pictures that are ready, and records which are on screen.
/// `text` is the area of the transcript's rows.
pub fn place_pictures(
    conversation: &Conversation,
    shared: &SharedState,
    layouts: &mut ViewLayouts,
    text: Rect,
    buffer: &mut Buffer,
    geometry: &mut ConversationGeometry,
) {
    let Some((canvas, _)) = shared.settings.canvas else { return };
    let rows =
        geometry.rows.iter().zip(text.y..).filter(|(row, _)| row.kind == TranscriptRowKind::Body);
    let bodies: Vec<(BlockId, usize, u16)> = rows.map(|(row, y)| (row.block, row.row, y)).collect();
    for body in bodies.chunk_by(|one, other| one.0 == other.0) {
        let (id, first, top) = body[0];
        let index = conversation.transcript.index(id);
        let Some(BlockBody::Image(image)) =
            conversation.transcript.get(id).map(|block| &block.body)
        else {
            continue;
        };
        let indent = u16::try_from(INDENT).unwrap_or(0);
        let cells = size(image, canvas, text.width.saturating_sub(indent).max(1));
        geometry.pictures.push(PictureRequest { image: image.clone(), cells });
        let Some(picture) = shared.pictures.ready(&image.hash, cells) else { continue };
        let shape = TranscriptRowFinder::new(conversation, layouts, text.width).shape(index);
        let above = u16::try_from(first - shape.gap - shape.head).unwrap_or(0);
        let count = u16::try_from(body.len()).unwrap_or(0);
        match canvas.graphics {
            GraphicsProtocol::Kitty => {}
            // These protocols show a picture whole or not at all.
            GraphicsProtocol::Iterm | GraphicsProtocol::Sixel if count == cells.rows => {}
            GraphicsProtocol::Iterm | GraphicsProtocol::Sixel => continue,
        }
        for (row, column) in (0..count).flat_map(|y| (0..cells.columns).map(move |x| (y, x))) {
            if let Some(cell) = buffer.cell_mut((text.x + indent + column, top + row)) {
                layouts.picture_table().mark_cell(picture, above + row, column, cell);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::MediaType;

    fn shown(lines: &[StyledLine]) -> Vec<String> {
        lines.iter().map(|line| line.spans.iter().map(|it| it.text.as_str()).collect()).collect()
    }

    #[test]
    fn a_frame_has_its_size_and_its_words_in_the_middle() {
        let image = MessageImage::new("a.png", MediaType::Png, (30, 20), &[0; 2_345]);
        let lines = shown(&frame(&image, SizeInCells { columns: 24, rows: 5 }));
        assert_eq!(lines.len(), 5);
        assert!(lines.iter().all(|line| width(line) == 24), "{lines:?}");
        assert_eq!(lines[2], "│  PNG 30×20  2.3 kB   │");
        assert_eq!(shown(&frame(&image, SizeInCells { columns: 12, rows: 3 }))[1], "│ PNG 30×… │");
        assert_eq!(shown(&frame(&image, SizeInCells { columns: 5, rows: 2 })), ["PNG …", ""]);
    }

    #[test]
    fn sizes_read_well() {
        let texts = [999, 1_000, 2_345_678].map(format_bytes);
        assert_eq!(texts, ["999 bytes", "1.0 kB", "2.3 MB"]);
    }
}
