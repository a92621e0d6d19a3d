//! Writes the changed cells to the terminal: ratatui's backend, with links and pictures, and with
//! columns that stay aligned where terminals disagree about the width of a character.
//!
//! Terminals disagree about emoji with joiners and selectors, flags, and the clusters of some
//! scripts. slug counts them as `unicode-width` does. To keep the rest of the row in place on a
//! terminal that counts otherwise, such a cluster gets its columns blanked first, the cursor is
//! moved to where the next cell begins, and the cells that a wider reading may have covered are
//! written again. At worst the cluster itself looks odd. This needs no query and no mode of the
//! terminal.
//!
//! The cells of a picture are written as the terminal takes them; other bytes that a picture needs
//! follow the last cell of the frame.
//!
//! A link is opened before its first cell and closed after its last: no frame leaves one open.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crossterm::cursor::MoveTo;
use crossterm::queue;
use crossterm::style::{Attribute, Colors, Print, SetAttribute, SetColors};
use crossterm::terminal::{DisableLineWrap, EnableLineWrap};
use ratatui::backend::{Backend, ClearType, CrosstermBackend, IntoCrossterm, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use ratatui::style::{Color, Modifier};

use crate::platform::graphics::{GraphicsProtocol, forget};
use crate::platform::hyperlinks::HyperlinkSupport;
use crate::tui::layout::wrap::cluster_width;
use crate::tui::links::LinkTable;
use crate::tui::picture_cells::{PicturePart, PictureTable, TerminalPicture};

const CLOSE: &str = "\x1b]8;;\x1b\\";

const ATTRIBUTES: [(Modifier, Attribute); 9] = [
    (Modifier::BOLD, Attribute::Bold),
    (Modifier::DIM, Attribute::Dim),
    (Modifier::ITALIC, Attribute::Italic),
    (Modifier::UNDERLINED, Attribute::Underlined),
    (Modifier::SLOW_BLINK, Attribute::SlowBlink),
    (Modifier::RAPID_BLINK, Attribute::RapidBlink),
    (Modifier::REVERSED, Attribute::Reverse),
    (Modifier::HIDDEN, Attribute::Hidden),
    (Modifier::CROSSED_OUT, Attribute::CrossedOut),
];

/// Draws on a terminal by writing to `W`.
pub(super) struct TerminalBackend<W: Write> {
    out: CrosstermBackend<W>,
    links: LinkTable,
    hyperlinks: HyperlinkSupport,
    picture_table: PictureTable,
    /// The rows as they stand on screen, for the cells written so far.
    shown: Vec<Vec<Cell>>,
    /// The size that the terminal reported last.
    size: std::cell::Cell<Size>,
}

/// What the terminal has been told since the frame began.
#[derive(Default)]
struct BackendFrameState {
    /// Where the next character goes; `None` after a cluster of uncertain width.
    cursor: Option<Position>,
    foreground: Color,
    background: Color,
    modifier: Modifier,
    /// The number of the open link.
    link: Option<u32>,
    /// Cells that a cluster of uncertain width may have covered.
    repaint: Option<RowRepaint>,
    /// The row of the last cell, and the column after it.
    taken: Option<(u16, u16)>,
    /// Pictures to be painted over cells that were written, and their top left corners.
    pictures: BTreeMap<u32, Position>,
}

struct RowRepaint {
    row: u16,
    from: u16,
    to: u16,
}

impl BackendFrameState {
    /// Notes that the cells of a row between two columns have to be written even if they did not
    /// change.
    fn schedule_repaint(&mut self, row: u16, from: u16, to: u16) {
        if from < to {
            let known = self.repaint.as_ref().filter(|owed| owed.row == row);
            self.repaint =
                Some(RowRepaint { row, from, to: known.map_or(to, |owed| owed.to.max(to)) });
        }
    }
}

impl<W: Write> TerminalBackend<W> {
    pub(super) fn new(out: W, links: LinkTable, hyperlinks: HyperlinkSupport) -> Self {
        let size = std::cell::Cell::default();
        let picture_table = PictureTable::default();
        Self {
            out: CrosstermBackend::new(out),
            links,
            hyperlinks,
            picture_table,
            shown: Vec::new(),
            size,
        }
    }

    /// The same backend, with this table of pictures.
    pub(super) fn with_picture_table(self, picture_table: PictureTable) -> Self {
        Self { picture_table, ..self }
    }

    /// The same backend for a terminal of this size, which cannot be asked.
    pub(super) fn with_size(self, width: u16, height: u16) -> Self {
        self.size.set(Size { width, height });
        self
    }

    /// Records what a cell shows now. Returns the column after the old content that it covers.
    fn keep(&mut self, x: u16, y: u16, cell: &Cell) -> u16 {
        let (x, y, width) = (usize::from(x), usize::from(y), usize::from(columns(cell)));
        if self.shown.len() <= y {
            self.shown.resize_with(y + 1, Vec::new);
        }
        let row = &mut self.shown[y];
        if row.len() < x + width {
            row.resize(x + width, Cell::EMPTY);
        }
        let covered = row[x..x + width].iter().zip(x..);
        let end = covered.map(|(old, at)| at + usize::from(columns(old))).max().unwrap_or(x);
        row[x].clone_from(cell);
        // ratatui does not report the cells that a wide one covers.
        row[x + 1..x + width].fill(Cell::EMPTY);
        u16::try_from(end).unwrap_or(u16::MAX)
    }

    /// Writes again what may have been covered, up to column `until` of its row.
    fn repaint(&mut self, state: &mut BackendFrameState, until: u16) -> io::Result<()> {
        while let Some(owed) = state.repaint.as_mut().filter(|owed| owed.from < owed.to.min(until))
        {
            let (x, y) = (owed.from, owed.row);
            let row = self.shown.get(usize::from(y));
            let cell = row.and_then(|row| row.get(usize::from(x))).cloned().unwrap_or_default();
            owed.from += columns(&cell);
            self.put(state, x, y, &cell)?;
        }
        Ok(())
    }

    fn put(
        &mut self,
        state: &mut BackendFrameState,
        x: u16,
        y: u16,
        cell: &Cell,
    ) -> io::Result<()> {
        let width = columns(cell);
        let end = x.saturating_add(width);
        if state.cursor != Some(Position { x, y }) {
            queue!(self.out, MoveTo(x, y))?;
        }
        self.style(state, cell)?;
        self.link(state, cell)?;
        state.taken = Some((y, end));
        if let Some(owed) = state.repaint.as_mut().filter(|owed| owed.row == y) {
            owed.from = owed.from.max(end);
        }
        if let Some(part) = PicturePart::of(cell) {
            state.cursor = Some(Position { x: end, y });
            return self.part(state, part, Position { x, y }, cell.symbol());
        }
        let symbol = cell.symbol();
        if is_certain(symbol) {
            state.cursor = Some(Position { x: end, y });
            return queue!(self.out, Print(symbol));
        }
        let edge = self.size.get().width;
        // The widest reading of any terminal: each character by itself, and wide.
        let most = u16::try_from(symbol.chars().count()).unwrap_or(u16::MAX).saturating_mul(2);
        let most = x.saturating_add(most);
        queue!(self.out, Print(" ".repeat(usize::from(width))), MoveTo(x, y))?;
        if most > edge {
            queue!(self.out, DisableLineWrap, Print(symbol), EnableLineWrap)?;
        } else {
            queue!(self.out, Print(symbol))?;
        }
        state.cursor = None;
        state.schedule_repaint(y, end, most.min(edge));
        Ok(())
    }

    /// Writes a cell of a picture: kitty knows what belongs there, for other terminals it stays
    /// blank.
    fn part(
        &mut self,
        state: &mut BackendFrameState,
        part: PicturePart,
        at: Position,
        cell: &str,
    ) -> io::Result<()> {
        match self.picture_table.get(part.id).map(|picture| picture.graphics) {
            Some(GraphicsProtocol::Kitty) => queue!(self.out, Print(cell)),
            Some(GraphicsProtocol::Iterm | GraphicsProtocol::Sixel) => {
                let x = at.x.saturating_sub(part.column);
                let y = at.y.saturating_sub(part.row);
                state.pictures.insert(part.id, Position { x, y });
                queue!(self.out, Print(' '))
            }
            None => queue!(self.out, Print(' ')),
        }
    }

    /// Shows the pictures of the frame, and has the terminal forget those of the previous frame.
    fn pictures(&mut self, state: &mut BackendFrameState) -> io::Result<()> {
        for picture in self.picture_table.take_new() {
            self.out.write_all(&picture.sequence)?;
        }
        for id in self.picture_table.take_old() {
            self.out.write_all(forget(id).as_bytes())?;
        }
        for (id, at) in std::mem::take(&mut state.pictures) {
            let Some(picture) = self.picture_table.get(id) else { continue };
            // What covers a part of the picture would be painted over.
            if self.is_whole(&picture, at) {
                queue!(self.out, MoveTo(at.x, at.y))?;
                self.out.write_all(&picture.sequence)?;
            }
        }
        Ok(())
    }

    fn is_whole(&self, picture: &TerminalPicture, at: Position) -> bool {
        let cell = |row: u16, column: u16| {
            let row = self.shown.get(usize::from(at.y + row))?;
            PicturePart::of(row.get(usize::from(at.x + column))?)
        };
        (0..picture.cells.rows).all(|row| {
            (0..picture.cells.columns).all(|column| {
                cell(row, column) == Some(PicturePart { id: picture.id, row, column })
            })
        })
    }

    fn style(&mut self, state: &mut BackendFrameState, cell: &Cell) -> io::Result<()> {
        if !cell.modifier.contains(state.modifier) {
            queue!(self.out, SetAttribute(Attribute::Reset))?;
            state.modifier = Modifier::empty();
            (state.foreground, state.background) = (Color::Reset, Color::Reset);
        }
        for (modifier, attribute) in ATTRIBUTES {
            if (cell.modifier - state.modifier).contains(modifier) {
                queue!(self.out, SetAttribute(attribute))?;
            }
        }
        state.modifier = cell.modifier;
        if (cell.fg, cell.bg) != (state.foreground, state.background) {
            let colors = Colors {
                foreground: (cell.fg != state.foreground).then(|| cell.fg.into_crossterm()),
                background: (cell.bg != state.background).then(|| cell.bg.into_crossterm()),
            };
            queue!(self.out, SetColors(colors))?;
            (state.foreground, state.background) = (cell.fg, cell.bg);
        }
        Ok(())
    }

    fn link(&mut self, state: &mut BackendFrameState, cell: &Cell) -> io::Result<()> {
        let link = match self.hyperlinks {
            HyperlinkSupport::Clickable => self.links.read(cell.underline_color),
            HyperlinkSupport::Plain => None,
        };
        let number = link.as_ref().map(|(number, _)| *number);
        if number == state.link {
            return Ok(());
        }
        state.link = number;
        match link {
            // With the number as its id, the rows of one link are one link to the terminal.
            Some((number, link)) => {
                write!(self.out, "\x1b]8;id={number};{}\x1b\\", link.address())
            }
            None => self.out.write_all(CLOSE.as_bytes()),
        }
    }
}

impl<W: Write> Backend for TerminalBackend<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut state = BackendFrameState::default();
        for (x, y, cell) in content {
            let same_row = state.repaint.as_ref().is_some_and(|owed| owed.row == y);
            self.repaint(&mut state, if same_row { x } else { u16::MAX })?;
            let covered = self.keep(x, y, cell);
            // The right half of a wide cell that was just written.
            if state.taken.is_some_and(|(row, end)| row == y && x < end) {
                continue;
            }
            self.put(&mut state, x, y, cell)?;
            // Part of a wide character that stood here may still be visible.
            state.schedule_repaint(y, x + columns(cell), covered);
        }
        self.repaint(&mut state, u16::MAX)?;
        if state.link.is_some() {
            self.out.write_all(CLOSE.as_bytes())?;
        }
        if !state.modifier.is_empty()
            || (state.foreground, state.background) != (Color::Reset, Color::Reset)
        {
            queue!(self.out, SetAttribute(Attribute::Reset))?;
        }
        self.pictures(&mut state)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.out.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.out.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        self.out.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.out.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        self.shown.clear();
        self.out.clear_region(clear_type)
    }

    fn size(&self) -> io::Result<Size> {
        let size = self.out.size()?;
        self.size.set(size);
        Ok(size)
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.out.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.out)
    }
}

/// How many columns a cell takes by slug's count.
fn columns(cell: &Cell) -> u16 {
    u16::try_from(cluster_width(cell.symbol())).unwrap_or(u16::MAX).max(1)
}

/// Whether all terminals agree on a cluster's width: one character, perhaps with marks above or
/// below it. They disagree on recent emoji, flags, and clusters of several characters.
fn is_certain(symbol: &str) -> bool {
    let mut chars = symbol.chars();
    let alone = chars.next().is_none_or(|base| {
        !matches!(base, '\u{2e3a}' | '\u{2e3b}' | '\u{ff9e}' | '\u{ff9f}'
            | '\u{1f1e6}'..='\u{1f1ff}' | '\u{1f6d5}'..='\u{1f6df}' | '\u{1f7f0}'
            | '\u{1fa70}'..='\u{1faff}')
    });
    alone
        && chars.all(|mark| {
            matches!(mark, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{487}' | '\u{591}'..='\u{5c7}'
                | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{6d6}'..='\u{6dc}'
                | '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}' | '\u{3099}'
                | '\u{309a}')
        })
}

#[cfg(test)]
mod tests;
