//! Writes images as sequences for the terminals that are known to show them.
//!
//! slug does not ask the terminal. An unknown terminal gets no images, since it might show the
//! sequences as text. Multiplexers do not keep images in their place, so inside one there are no
//! images either. kitty and Ghostty store an image under a number and draw it in every cell that
//! names it ("Unicode placeholders"), so that it scrolls and is covered like text. Other terminals
//! paint it once over the cells at the cursor.

mod sixel;

use std::io::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::imageops::{self, FilterType};

use crate::domain::MediaType;

use super::clipboard::TerminalMultiplexer;
use super::image::{self as images, ImageError};
use super::terminal_kind::{TerminalInfo, TerminalKind};

/// The most bytes of base64 in one sequence of kitty's graphics protocol.
const CHUNK: usize = 4096;
/// The pixels of a cell, across and down, where the terminal does not tell.
const CELL: (u16, u16) = (10, 20);

/// The protocol by which a terminal shows images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphicsProtocol {
    /// kitty's graphics protocol, with Unicode placeholders.
    Kitty,
    Iterm,
    Sixel,
}

/// The protocol and the cell size that images are encoded for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraphicsCanvas {
    pub graphics: GraphicsProtocol,
    /// Pixels of a cell, across and down.
    pub cell: (u16, u16),
}

/// A size in cells of the terminal, as opposed to pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SizeInCells {
    pub columns: u16,
    pub rows: u16,
}

impl GraphicsProtocol {
    /// The protocol that this terminal is known to understand; `None` inside a multiplexer.
    pub fn of(terminal: TerminalInfo) -> Option<Self> {
        if terminal.multiplexer != TerminalMultiplexer::None {
            return None;
        }
        match terminal.kind {
            TerminalKind::Kitty | TerminalKind::Ghostty => Some(Self::Kitty),
            TerminalKind::Iterm2 | TerminalKind::WezTerm => Some(Self::Iterm),
            TerminalKind::Foot => Some(Self::Sixel),
            TerminalKind::Alacritty
            | TerminalKind::AppleTerminal
            | TerminalKind::ConEmu
            | TerminalKind::Dumb
            | TerminalKind::Konsole
            | TerminalKind::LinuxConsole
            | TerminalKind::Mintty
            | TerminalKind::Rio
            | TerminalKind::Urxvt
            | TerminalKind::VsCode
            | TerminalKind::Vte
            | TerminalKind::Warp
            | TerminalKind::WindowsTerminal
            | TerminalKind::Xterm
            | TerminalKind::Zed
            | TerminalKind::Unknown => None,
        }
    }
}

impl GraphicsCanvas {
    /// Asks this process's terminal for its cell size; 10 by 20 pixels where it gives none.
    pub fn new(graphics: GraphicsProtocol) -> Self {
        let size = crossterm::terminal::window_size().ok();
        let side = |pixels: u16, cells: u16| pixels.checked_div(cells).filter(|side| *side > 1);
        let cell = size.and_then(|size| {
            Some((side(size.width, size.columns)?, side(size.height, size.rows)?))
        });
        Self { graphics, cell: cell.unwrap_or(CELL) }
    }

    /// The cells that an image of `size` pixels takes, at most `most`. It is never enlarged.
    pub fn cells(self, size: (u32, u32), most: SizeInCells) -> SizeInCells {
        let (width, height) = self.pixels(size, most);
        let cells = |pixels: u32, cell: u16, most: u16| {
            let cells = pixels.div_ceil(u32::from(cell));
            u16::try_from(cells).unwrap_or(most).clamp(1, most.max(1))
        };
        SizeInCells {
            columns: cells(width, self.cell.0, most.columns),
            rows: cells(height, self.cell.1, most.rows),
        }
    }

    /// The sequence that shows an image in so many cells: at the cursor, or for kitty under the
    /// number `id`. Decodes and scales: do not call it on the UI task.
    ///
    /// # Errors
    ///
    /// When `bytes` are no image of this kind, have too many pixels, or cannot be encoded again.
    pub fn picture(
        self,
        id: u32,
        cells: SizeInCells,
        name: &str,
        kind: MediaType,
        bytes: &[u8],
    ) -> Result<Vec<u8>, ImageError> {
        let decoded = images::decode(name, kind, bytes)?;
        let size = (decoded.width(), decoded.height());
        let (width, height) = self.pixels(size, cells);
        let mut pixels = decoded.into_rgba8();
        if (width, height) != size {
            pixels = imageops::resize(&pixels, width, height, FilterType::Triangle);
        }
        Ok(match self.graphics {
            GraphicsProtocol::Kitty => {
                kitty(id, cells, &images::png(name, (width, height), &pixels)?)
            }
            GraphicsProtocol::Iterm => iterm(cells, &images::png(name, (width, height), &pixels)?),
            GraphicsProtocol::Sixel => sixel::encode(&pixels),
        })
    }

    fn pixels(self, size: (u32, u32), most: SizeInCells) -> (u32, u32) {
        let across = u32::from(self.cell.0) * u32::from(most.columns);
        let down = u32::from(self.cell.1) * u32::from(most.rows);
        images::within(size, (across, down))
    }
}

/// The sequence that makes kitty drop an image and all cells that show it.
pub fn forget(id: u32) -> String {
    format!("\x1b_Ga=d,d=I,i={id},q=2\x1b\\")
}

/// Transmits the image in chunks and places it for the cells that name it.
fn kitty(id: u32, cells: SizeInCells, png: &[u8]) -> Vec<u8> {
    let encoded = STANDARD.encode(png);
    let SizeInCells { columns, rows } = cells;
    let mut sequence = Vec::with_capacity(encoded.len() + encoded.len() / 100 + 100);
    let mut head = format!("a=T,U=1,q=2,f=100,i={id},c={columns},r={rows},");
    let mut chunks = encoded.as_bytes().chunks(CHUNK).peekable();
    while let Some(chunk) = chunks.next() {
        let more = u8::from(chunks.peek().is_some());
        // Writing to memory cannot fail.
        let _ = write!(sequence, "\x1b_G{head}m={more};");
        sequence.extend_from_slice(chunk);
        sequence.extend_from_slice(b"\x1b\\");
        head = "q=2,".to_owned();
    }
    sequence
}

fn iterm(cells: SizeInCells, png: &[u8]) -> Vec<u8> {
    let SizeInCells { columns, rows } = cells;
    let (size, encoded) = (png.len(), STANDARD.encode(png));
    let sequence = format!(
        "\x1b]1337;File=inline=1;size={size};width={columns};height={rows};\
         preserveAspectRatio=1;doNotMoveCursor=1:{encoded}\x07"
    );
    sequence.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: SizeInCells = SizeInCells { columns: 40, rows: 10 };

    fn canvas(graphics: GraphicsProtocol) -> GraphicsCanvas {
        GraphicsCanvas { graphics, cell: (10, 20) }
    }

    fn picture(graphics: GraphicsProtocol, side: u32) -> String {
        let pixels: Vec<u8> = (0..side * side * 4).map(|n| (n * 7919 % 251) as u8).collect();
        let png = images::png("p", (side, side), &pixels).unwrap();
        let cells = canvas(graphics).cells((side, side), MOST);
        let sequence = canvas(graphics).picture(7, cells, "p", MediaType::Png, &png).unwrap();
        String::from_utf8(sequence).unwrap()
    }

    #[test]
    fn a_picture_keeps_its_proportions_and_is_never_enlarged() {
        let cells = |width, height| {
            let cells = canvas(GraphicsProtocol::Kitty).cells((width, height), MOST);
            (cells.columns, cells.rows)
        };
        assert_eq!(cells(400, 200), (40, 10));
        assert_eq!(cells(4000, 200), (40, 1));
        assert_eq!(cells(100, 2000), (1, 10));
        assert_eq!(cells(25, 25), (3, 2));
        assert_eq!(cells(1, 1), (1, 1));
    }

    #[test]
    fn kitty_gets_the_image_in_pieces() {
        let sequence = picture(GraphicsProtocol::Kitty, 100);
        assert!(sequence.starts_with("\x1b_Ga=T,U=1,q=2,f=100,i=7,c=10,r=5,m=1;iVBOR"));
        let pieces: Vec<&str> = sequence.split_terminator("\x1b\\").collect();
        assert!(pieces.len() > 2 && pieces.iter().all(|piece| piece.len() < CHUNK + 100));
        assert!(pieces[1].starts_with("\x1b_Gq=2,m=1;"));
        assert!(pieces.last().unwrap().starts_with("\x1b_Gq=2,m=0;"));
        assert_eq!(forget(7), "\x1b_Ga=d,d=I,i=7,q=2\x1b\\");
    }

    #[test]
    fn other_terminals_get_the_image_at_the_cursor() {
        let sequence = picture(GraphicsProtocol::Iterm, 20);
        assert!(sequence.starts_with("\x1b]1337;File=inline=1;size="), "{sequence:?}");
        assert!(sequence.contains(";width=2;height=1;") && sequence.ends_with('\x07'));
        let sequence = picture(GraphicsProtocol::Sixel, 20);
        assert!(sequence.starts_with("\x1bP") && sequence.ends_with("\x1b\\"));
    }

    #[test]
    fn only_terminals_that_are_known_for_it_get_pictures() {
        let of = |variables: &[(&str, &str)]| {
            GraphicsProtocol::of(TerminalInfo::detect(|name| {
                variables.iter().find(|(it, _)| *it == name).map(|(_, value)| value.into())
            }))
        };
        assert_eq!(of(&[("TERM", "xterm-kitty")]), Some(GraphicsProtocol::Kitty));
        assert_eq!(of(&[("TERM", "xterm-kitty"), ("TMUX", "/tmp/t,1,0")]), None);
        assert_eq!(of(&[("TERM", "foot")]), Some(GraphicsProtocol::Sixel));
        let wezterm = [("TERM", "xterm-256color"), ("TERM_PROGRAM", "WezTerm")];
        assert_eq!(of(&wezterm), Some(GraphicsProtocol::Iterm));
        assert_eq!(of(&[("TERM", "xterm-256color")]), None);
    }
}
