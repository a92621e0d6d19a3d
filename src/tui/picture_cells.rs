//! Records which cells of the screen show a picture.
//!
//! A picture stands in the frame as cells that hold a placeholder: a private character with two
//! combining marks that name the row and the column of the picture, in a colour that is the
//! picture's number (kitty graphics protocol, "Unicode placeholders"). So its cells are compared,
//! scrolled, covered and cleared like any others. kitty draws the picture from these cells; for
//! other terminals the terminal backend reads here what to paint over them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ratatui::buffer::Cell;
use ratatui::style::Color;

use crate::platform::graphics::{GraphicsProtocol, SizeInCells};

/// The character that kitty draws as a part of a picture.
const PLACEHOLDER: char = '\u{10eeee}';

/// The combining marks for 0, 1, 2 and so on in a placeholder, from kitty's table of diacritics.
const MARKS: [char; 76] = [
    '\u{305}', '\u{30d}', '\u{30e}', '\u{310}', '\u{312}', '\u{33d}', '\u{33e}', '\u{33f}',
    '\u{346}', '\u{34a}', '\u{34b}', '\u{34c}', '\u{350}', '\u{351}', '\u{352}', '\u{357}',
    '\u{35b}', '\u{363}', '\u{364}', '\u{365}', '\u{366}', '\u{367}', '\u{368}', '\u{369}',
    '\u{36a}', '\u{36b}', '\u{36c}', '\u{36d}', '\u{36e}', '\u{36f}', '\u{483}', '\u{484}',
    '\u{485}', '\u{486}', '\u{487}', '\u{592}', '\u{593}', '\u{594}', '\u{595}', '\u{597}',
    '\u{598}', '\u{599}', '\u{59c}', '\u{59d}', '\u{59e}', '\u{59f}', '\u{5a0}', '\u{5a1}',
    '\u{5a8}', '\u{5a9}', '\u{5ab}', '\u{5ac}', '\u{5af}', '\u{5c4}', '\u{610}', '\u{611}',
    '\u{612}', '\u{613}', '\u{614}', '\u{615}', '\u{616}', '\u{617}', '\u{657}', '\u{658}',
    '\u{659}', '\u{65a}', '\u{65b}', '\u{65d}', '\u{65e}', '\u{6d6}', '\u{6d7}', '\u{6d8}',
    '\u{6d9}', '\u{6da}', '\u{6db}', '\u{6dc}',
];

/// The largest picture whose rows and columns can all be named with `MARKS`.
pub const MOST: SizeInCells = SizeInCells { columns: 76, rows: 76 };

/// A picture in the form in which the terminal takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalPicture {
    /// The picture's number: 24 bits, unique in this run.
    pub id: u32,
    pub graphics: GraphicsProtocol,
    /// The room that the picture takes.
    pub cells: SizeInCells,
    /// The bytes that make the terminal show the picture, or load it in kitty's case.
    pub sequence: Arc<[u8]>,
}

/// The part of a picture that one cell shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PicturePart {
    /// The picture's number.
    pub id: u32,
    /// Row in the picture, from 0.
    pub row: u16,
    /// Column in the picture, from 0.
    pub column: u16,
}

/// The pictures of the current frame by number. A clone shares the same table.
#[derive(Debug, Clone, Default)]
pub struct PictureTable(Arc<Mutex<PictureTableState>>);

#[derive(Debug, Default)]
struct PictureTableState {
    frame: BTreeMap<u32, TerminalPicture>,
    /// Numbers of the pictures that a terminal keeps in its memory (kitty).
    held: BTreeSet<u32>,
}

impl PictureTable {
    /// Call before a frame is drawn: empties the frame's table.
    pub fn begin_frame(&self) {
        self.lock().frame.clear();
    }

    /// Makes a cell of the frame show a part of a picture.
    pub fn mark_cell(&self, picture: &TerminalPicture, row: u16, column: u16, cell: &mut Cell) {
        let mark = |at: u16| MARKS.get(usize::from(at));
        let (Some(down), Some(across)) = (mark(row), mark(column)) else { return };
        let [_, red, green, blue] = picture.id.to_be_bytes();
        let background = cell.bg;
        cell.reset();
        cell.set_bg(background);
        cell.set_symbol(&String::from_iter([PLACEHOLDER, *down, *across]));
        cell.set_fg(Color::Rgb(red, green, blue));
        self.lock().frame.entry(picture.id).or_insert_with(|| picture.clone());
    }

    /// The picture with this number, if the current frame shows it.
    pub fn get(&self, id: u32) -> Option<TerminalPicture> {
        self.lock().frame.get(&id).cloned()
    }

    /// The frame's pictures for kitty that it does not hold yet; they count as held from now on.
    pub fn take_new(&self) -> Vec<TerminalPicture> {
        let mut state = self.lock();
        let PictureTableState { frame, held } = &mut *state;
        let kept = frame.values().filter(|picture| picture.graphics == GraphicsProtocol::Kitty);
        kept.filter(|picture| held.insert(picture.id)).cloned().collect()
    }

    /// The pictures that the terminal holds and the frame does not show; they no longer count as
    /// held.
    pub fn take_old(&self) -> Vec<u32> {
        let mut state = self.lock();
        let PictureTableState { frame, held } = &mut *state;
        let old: Vec<u32> = held.iter().copied().filter(|id| !frame.contains_key(id)).collect();
        held.retain(|id| frame.contains_key(id));
        old
    }

    /// All pictures that the terminal holds; none counts as held from now on.
    pub fn take_held(&self) -> Vec<u32> {
        std::mem::take(&mut self.lock().held).into_iter().collect()
    }

    fn lock(&self) -> MutexGuard<'_, PictureTableState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PicturePart {
    /// The part of a picture that a cell shows, if it holds a placeholder.
    pub fn of(cell: &Cell) -> Option<Self> {
        let mut chars = cell.symbol().chars();
        if chars.next() != Some(PLACEHOLDER) {
            return None;
        }
        let Color::Rgb(red, green, blue) = cell.fg else { return None };
        let mut mark = || {
            let mark = chars.next()?;
            u16::try_from(MARKS.iter().position(|it| *it == mark)?).ok()
        };
        let (row, column) = (mark()?, mark()?);
        Some(Self { id: u32::from_be_bytes([0, red, green, blue]), row, column })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_tells_its_part_of_a_picture() {
        let cells = SizeInCells { columns: 3, rows: 2 };
        let sequence = Arc::from(*b"x");
        let picture =
            TerminalPicture { id: 0x1_0203, graphics: GraphicsProtocol::Kitty, cells, sequence };
        let table = PictureTable::default();
        let mut cell = Cell::default();
        table.mark_cell(&picture, 1, 2, &mut cell);
        assert_eq!(PicturePart::of(&cell), Some(PicturePart { id: 0x1_0203, row: 1, column: 2 }));
        assert_eq!(cell.symbol(), "\u{10eeee}\u{30d}\u{30e}");
        assert_eq!(table.get(0x1_0203), Some(picture.clone()));
        assert_eq!(table.take_new(), [picture]);
        assert_eq!(table.take_new(), []);
        assert_eq!(table.take_old(), [0; 0]);
        table.begin_frame();
        assert_eq!(table.get(0x1_0203), None);
        assert_eq!(table.take_old(), [0x1_0203]);
        assert_eq!(table.take_held(), [0; 0]);
        assert_eq!(PicturePart::of(&Cell::new("a")), None);
    }
}
