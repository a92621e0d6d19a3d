//! Tests of screens: draws one in every shipped theme, and measures each cell in which something
//! stands.
//!
//! The limits and the backgrounds are those of [`super::contrast`], which measures roles. A screen
//! shows what the roles do not say: which of them stand on each other. Dim cells and colours that
//! are the terminal's own are left out there, and so they are here.

use std::sync::LazyLock;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use super::contrast::{DRAWN, TEXT, on_screen, paints};
use super::*;
use crate::tui::view::RoleStyles;

/// Each shipped theme, in 24 bits and in the palette of 256.
static THEMES: LazyLock<Vec<Theme>> = LazyLock::new(|| {
    let library = ThemeLibrary::default();
    let depths = [ColorDepth::TrueColor, ColorDepth::Palette];
    let named = library.names().into_iter().flat_map(|name| depths.map(|depth| (name, depth)));
    named.map(|(name, depth)| library.find(name, depth).unwrap().theme).collect()
});

/// Fails if something on a screen cannot be read in a shipped theme. `draw` draws the screen.
#[track_caller]
pub fn assert_readable(mut draw: impl FnMut(&dyn RoleStyles) -> Buffer) {
    let mut all = Vec::new();
    for theme in THEMES.iter() {
        all.extend(faults(theme, &draw(theme)));
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// The first cell of each pair of colours that is too weak in a frame.
fn faults(theme: &Theme, buffer: &Buffer) -> Vec<String> {
    let mut found: Vec<(RgbColor, RgbColor, String)> = Vec::new();
    let width = usize::from(buffer.area.width).max(1);
    // What a command prints in these is what the terminal makes of them.
    let of_the_16 = matches!(theme.style(StyleRole::User).fg, Some(Color::Indexed(0..16)));
    let is_left_out = !of_the_16 && !paints(theme);
    for screen in on_screen(theme) {
        for (index, cell) in buffer.content().iter().enumerate() {
            let is_of_program = matches!(cell.fg, Color::Indexed(0..16)) && is_left_out;
            let Some((fg, bg)) = colours(cell, screen).filter(|_| !is_of_program) else { continue };
            let contrast = fg.contrast(bg);
            let is_known = found.iter().any(|(a, b, _)| (*a, *b) == (fg, bg));
            if contrast < least(theme, cell) && !is_known {
                let row = buffer.content().chunks(width).nth(index / width).unwrap_or_default();
                let row: String = row.iter().map(Cell::symbol).collect();
                let fault = format!(
                    "{} {:?}: {contrast:.2} at {:?} ({fg:02x?} on {bg:02x?}) in {row:?}",
                    theme.name(),
                    theme.depth,
                    cell.symbol(),
                );
                found.push((fg, bg, fault));
            }
        }
    }
    found.into_iter().map(|(_, _, fault)| fault).collect()
}

/// Frames, bars and blocks are graphics, and so are other signs in the colour of frames; everything else
/// is text.
fn least(theme: &Theme, cell: &Cell) -> f32 {
    let is_sign = Some(cell.fg) == theme.style(StyleRole::Border).fg;
    let is_drawn = |c: char| match c {
        '\u{2500}'..='\u{259f}' => true,
        c => is_sign && !c.is_alphanumeric(),
    };
    if cell.symbol().chars().all(is_drawn) { DRAWN } else { TEXT }
}

/// The colours of a cell, unless it is empty or one of them is the terminal's own.
fn colours(cell: &Cell, screen: RgbColor) -> Option<(RgbColor, RgbColor)> {
    if cell.symbol().trim().is_empty() || cell.modifier.contains(Modifier::DIM) {
        return None;
    }
    let fg = RgbColor::of(cell.fg)?;
    let bg = if cell.bg == Color::Reset { screen } else { RgbColor::of(cell.bg)? };
    Some(if cell.modifier.contains(Modifier::REVERSED) { (bg, fg) } else { (fg, bg) })
}

#[test]
fn a_cell_that_cannot_be_read_is_noticed() {
    let theme = ThemeLibrary::default().find("dark", ColorDepth::TrueColor).unwrap().theme;
    let mut buffer = Buffer::with_lines(["a─ b"]);
    let weak = Style::new().fg(Color::Rgb(0x77, 0x77, 0x77)).bg(Color::Rgb(0x11, 0x11, 0x11));
    buffer.set_style(buffer.area, weak);
    let found = faults(&theme, &buffer);
    assert!(found.len() == 1 && found[0].contains("at \"a\""), "{found:?}");
    buffer.set_style(buffer.area, weak.add_modifier(Modifier::DIM));
    assert_eq!(faults(&theme, &buffer), [""; 0]);
}
