//! Turns the cells of a screen's row into SVG, for pictures that need no terminal.
//!
//! Every run of cells stands at its column and is as wide as its cells, whatever font the reader has.
//! Colours of the terminal's own palette get fixed values, since a picture has no terminal. All text
//! is made harmless and escaped, though the screen has made it harmless already.

use std::collections::HashMap;
use std::fmt::Write as _;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use crate::domain::escape_markup;
use crate::tui::layout::wrap::cluster_width;
use crate::tui::theme::colour::{RgbColor, indexed};

/// The width of a cell, in the picture's unit.
pub const CELL_WIDTH: u32 = 8;
/// The height of a cell.
pub const CELL_HEIGHT: u32 = 17;
/// Where the base line of text is in its row.
const BASE_LINE: u32 = 13;

/// The colours of a picture where the screen has none of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureColors {
    pub text: RgbColor,
    pub ground: RgbColor,
}

/// The 16 colours as a picture shows them: readable on its ground, unlike those of old terminals.
const PALETTE: [RgbColor; 16] = [
    RgbColor(0x28, 0x2d, 0x3a),
    RgbColor(0xff, 0x8b, 0x8b),
    RgbColor(0x8f, 0xd1, 0x9e),
    RgbColor(0xe3, 0xc8, 0x78),
    RgbColor(0x92, 0xbb, 0xff),
    RgbColor(0xdb, 0xa2, 0xf0),
    RgbColor(0x6f, 0xd0, 0xdc),
    RgbColor(0xd8, 0xdb, 0xe2),
    RgbColor(0x9a, 0xa0, 0xae),
    RgbColor(0xff, 0xa8, 0xa8),
    RgbColor(0xb1, 0xe3, 0xbd),
    RgbColor(0xf2, 0xdf, 0xa2),
    RgbColor(0xb5, 0xd1, 0xff),
    RgbColor(0xea, 0xc6, 0xf8),
    RgbColor(0x9d, 0xe4, 0xec),
    RgbColor(0xff, 0xff, 0xff),
];

/// Collects the styles of a picture's cells, each of which is one class of its style sheet.
#[derive(Debug, Default)]
pub struct CellStyles {
    classes: HashMap<CellStyle, usize>,
    grounds: HashMap<RgbColor, usize>,
}

/// How the text of a run looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct CellStyle {
    color: Option<RgbColor>,
    modifier: Modifier,
}

/// Cells of one row that look alike.
struct CellRun {
    column: usize,
    columns: usize,
    text: String,
    style: CellStyle,
}

impl CellStyles {
    /// A row of the screen as SVG elements, at the top left corner.
    pub fn row(&mut self, cells: &Buffer, y: u16, colors: PictureColors) -> String {
        let mut markup = String::new();
        let row: Vec<&Cell> = (0..cells.area.width).filter_map(|x| cells.cell((x, y))).collect();
        self.grounds(&mut markup, &row, colors);
        for run in runs(&row, colors) {
            let class = self.class(run.style);
            let (x, width) = (run.column as u32 * CELL_WIDTH, run.columns as u32 * CELL_WIDTH);
            let text = escape_markup(&run.text);
            // Writing to a `String` never fails.
            let _ = write!(markup, "<text x=\"{x}\" y=\"{BASE_LINE}\" class=\"t{class}\"");
            if run.columns > 1 {
                // Letters move apart or together, but lines of boxes have to touch.
                let stretch =
                    if is_drawn(&run.text) { " lengthAdjust=\"spacingAndGlyphs\"" } else { "" };
                let _ = write!(markup, " textLength=\"{width}\"{stretch}");
            }
            let _ = write!(markup, ">{text}</text>");
        }
        markup
    }

    /// The rules of the style sheet for all rows so far.
    pub fn rules(&self) -> String {
        let mut rules = String::new();
        let mut classes: Vec<_> = self.classes.iter().collect();
        classes.sort_by_key(|(_, class)| **class);
        for (style, class) in classes {
            let mut rule = String::new();
            if let Some(color) = style.color {
                let _ = write!(rule, "fill:{};", hex(color));
            }
            for (modifier, css) in [
                (Modifier::BOLD, "font-weight:700;"),
                (Modifier::ITALIC, "font-style:italic;"),
                (Modifier::DIM, "fill-opacity:.65;"),
            ] {
                if style.modifier.contains(modifier) {
                    rule.push_str(css);
                }
            }
            let lines =
                [(Modifier::UNDERLINED, "underline"), (Modifier::CROSSED_OUT, "line-through")];
            let lines: Vec<&str> = lines
                .iter()
                .filter(|(modifier, _)| style.modifier.contains(*modifier))
                .map(|(_, css)| *css)
                .collect();
            if !lines.is_empty() {
                let _ = write!(rule, "text-decoration:{};", lines.join(" "));
            }
            if !rule.is_empty() {
                let _ = write!(rules, ".t{class}{{{rule}}}");
            }
        }
        let mut grounds: Vec<_> = self.grounds.iter().collect();
        grounds.sort_by_key(|(_, class)| **class);
        for (color, class) in grounds {
            let _ = write!(rules, ".g{class}{{fill:{}}}", hex(*color));
        }
        rules
    }

    fn class(&mut self, style: CellStyle) -> usize {
        let next = self.classes.len();
        *self.classes.entry(style).or_insert(next)
    }

    /// The backgrounds of a row, where they differ from that of the picture.
    fn grounds(&mut self, markup: &mut String, row: &[&Cell], colors: PictureColors) {
        let mut column = 0;
        while column < row.len() {
            let ground = ground(row[column], colors);
            let same = row[column..].iter().take_while(|cell| self::ground(cell, colors) == ground);
            let columns = same.count();
            if ground != colors.ground {
                let next = self.grounds.len();
                let class = *self.grounds.entry(ground).or_insert(next);
                let (x, width) = (column as u32 * CELL_WIDTH, columns as u32 * CELL_WIDTH);
                let _ = write!(
                    markup,
                    "<rect x=\"{x}\" width=\"{width}\" height=\"{CELL_HEIGHT}\" class=\"g{class}\"/>"
                );
            }
            column += columns;
        }
    }
}

/// The runs of a row without its blanks, unless something is drawn below or through them.
fn runs(row: &[&Cell], colors: PictureColors) -> Vec<CellRun> {
    let mut runs: Vec<CellRun> = Vec::new();
    let mut column = 0;
    while column < row.len() {
        let cell = row[column];
        let columns = cluster_width(cell.symbol()).max(1);
        let style = style(cell, colors);
        let is_blank = cell.symbol().trim().is_empty()
            && !style.modifier.intersects(Modifier::UNDERLINED | Modifier::CROSSED_OUT);
        if !is_blank {
            match runs.last_mut() {
                // Over a single blank a run goes on.
                Some(run)
                    if run.style == style
                        && (run.column + run.columns == column
                            || run.column + run.columns + 1 == column)
                        && is_drawn(&run.text) == is_drawn(cell.symbol()) =>
                {
                    if run.column + run.columns < column {
                        run.text.push(' ');
                    }
                    run.text.push_str(cell.symbol());
                    run.columns = column + columns - run.column;
                }
                Some(_) | None => {
                    let text = cell.symbol().to_owned();
                    runs.push(CellRun { column, columns, text, style });
                }
            }
        }
        column += columns;
    }
    runs
}

/// Whether a text is made of lines and blocks that have to touch.
fn is_drawn(text: &str) -> bool {
    text.chars().next().is_some_and(|c| ('\u{2500}'..='\u{259f}').contains(&c))
}

fn style(cell: &Cell, colors: PictureColors) -> CellStyle {
    let color = if cell.modifier.contains(Modifier::REVERSED) {
        rgb(cell.bg).unwrap_or(colors.ground)
    } else {
        rgb(cell.fg).unwrap_or(colors.text)
    };
    let shown = Modifier::BOLD
        | Modifier::ITALIC
        | Modifier::DIM
        | Modifier::UNDERLINED
        | Modifier::CROSSED_OUT;
    CellStyle {
        color: Some(color).filter(|color| *color != colors.text),
        modifier: cell.modifier & shown,
    }
}

fn ground(cell: &Cell, colors: PictureColors) -> RgbColor {
    if cell.modifier.contains(Modifier::REVERSED) {
        rgb(cell.fg).unwrap_or(colors.text)
    } else {
        rgb(cell.bg).unwrap_or(colors.ground)
    }
}

/// A colour in the picture; `None` for the terminal's own.
fn rgb(color: Color) -> Option<RgbColor> {
    let index = match color {
        Color::Reset => return None,
        Color::Rgb(r, g, b) => return Some(RgbColor(r, g, b)),
        Color::Indexed(index) => index,
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightGreen => 10,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        Color::White => 15,
    };
    Some(PALETTE.get(usize::from(index)).copied().unwrap_or_else(|| indexed(index)))
}

/// A colour as CSS writes it.
pub(super) fn hex(RgbColor(r, g, b): RgbColor) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}
