//! A replay as one animated SVG: no script, nothing from elsewhere, so that it plays wherever an
//! image is shown.
//!
//! Each row of the screen is a strip of film: its contents stand one below another, a window as high
//! as a row shows one of them, and steps of a CSS animation move the strip. A content that comes back
//! stands there once. So the size follows what changes, and is bounded. Where nothing is animated,
//! the picture shows the last frame.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::time::Duration;

use ratatui::buffer::Buffer;

use crate::domain::escape_markup;
use crate::tui::theme::colour::RgbColor;
use crate::tui::theme::{Theme, ThemeKind};

use super::cell_markup::{CELL_HEIGHT, CELL_WIDTH, CellStyles, PictureColors, hex};
use super::frames::FrameFlow;

/// The most bytes that the rows and the times of a picture take.
const MOST_BYTES: usize = 6 << 20;
/// Around the screen.
const MARGIN: u32 = 12;
/// Above the screen, for the title.
const HEAD: u32 = 28;

/// The ground of a picture whose theme paints none.
const DARK: PictureColors =
    PictureColors { text: RgbColor(0xd8, 0xdb, 0xe2), ground: RgbColor(0x16, 0x18, 0x1d) };
const LIGHT: PictureColors =
    PictureColors { text: RgbColor(0x22, 0x25, 0x2b), ground: RgbColor(0xfb, 0xfa, 0xf8) };

/// Collects frames and writes them as one picture.
#[derive(Debug)]
pub struct SvgRecorder {
    size: (u16, u16),
    colors: PictureColors,
    styles: CellStyles,
    rows: Vec<RowFilm>,
    last: Option<Buffer>,
    ends_at: Duration,
    bytes: usize,
    /// How many bytes are enough.
    pub(super) most: usize,
}

/// The contents of a row, and when which of them is shown.
#[derive(Debug, Default)]
struct RowFilm {
    contents: Vec<String>,
    places: HashMap<String, usize>,
    shown: Vec<(Duration, usize)>,
}

impl SvgRecorder {
    /// A recorder of a screen of this size (columns, rows) in a theme.
    pub fn new(size: (u16, u16), theme: &Theme) -> Self {
        let colors = match theme.kind() {
            ThemeKind::Dark => DARK,
            ThemeKind::Light => LIGHT,
        };
        Self {
            size,
            colors,
            styles: CellStyles::default(),
            rows: (0..size.1).map(|_| RowFilm::default()).collect(),
            last: None,
            ends_at: Duration::ZERO,
            bytes: 0,
            most: MOST_BYTES,
        }
    }

    /// Adds a frame. Breaks where the picture has reached its size.
    pub fn frame(&mut self, at: Duration, cells: &Buffer) -> FrameFlow {
        self.ends_at = at;
        let width = usize::from(cells.area.width);
        for (y, film) in (0..self.size.1).zip(&mut self.rows) {
            let from = usize::from(y) * width;
            let row = cells.content().get(from..from + width);
            let before = self.last.as_ref().and_then(|last| last.content().get(from..from + width));
            if row.is_some() && row == before {
                continue;
            }
            let content = self.styles.row(cells, y, self.colors);
            self.bytes += film.show(at, content);
        }
        self.last = Some(cells.clone());
        if self.bytes > self.most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// The picture, under a title.
    pub fn finish(self, title: &str) -> String {
        let style = self.style();
        let mut svg = String::with_capacity(self.bytes * 2);
        let (width, height) = self.extent();
        // Writing to a `String` never fails.
        let _ = write!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" xml:space=\"preserve\"><title>{}</title><style>{style}</style>",
            escape_markup(title)
        );
        self.body(&mut svg, title);
        svg.push_str("</svg>\n");
        svg
    }

    /// The style sheet of the picture.
    pub(super) fn style(&self) -> String {
        let PictureColors { text, ground } = self.colors;
        let seconds = self.ends_at.as_secs_f64().max(0.1);
        let mut style = format!(
            "text{{font:13.3px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans \
             Mono','Liberation Mono',monospace;fill:{};white-space:pre}}\
             rect{{shape-rendering:crispEdges}}.w{{fill:{};stroke:#80808066}}.h{{fill:#80808099}}\
             .r{{animation:{seconds:.3}s step-end infinite}}",
            hex(text),
            hex(ground)
        );
        style.push_str(&self.styles.rules());
        for (number, film) in self.rows.iter().enumerate().filter(|(_, film)| film.moves()) {
            let _ = write!(style, ".r{number}{{animation-name:k{number}}}@keyframes k{number}{{");
            for (at, place) in &film.shown {
                let share = at.as_secs_f64() / seconds * 100.0;
                let up = *place as u32 * CELL_HEIGHT;
                let _ = write!(style, "{share:.3}%{{transform:translateY(-{up}px)}}");
            }
            style.push('}');
        }
        style.push_str("@media(prefers-reduced-motion:reduce){.r{animation:none}}");
        style
    }

    /// What the picture shows, behind its style.
    pub(super) fn body(&self, svg: &mut String, title: &str) {
        let (width, height) = self.extent();
        let _ = write!(
            svg,
            "<rect class=\"w\" x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"9\"/>",
            width - 1,
            height - 1
        );
        for x in [16, 34, 52] {
            let _ = write!(svg, "<circle class=\"h\" cx=\"{x}\" cy=\"15\" r=\"5\"/>");
        }
        let _ = write!(
            svg,
            "<text class=\"h\" x=\"{}\" y=\"19\" text-anchor=\"middle\">{}</text>",
            width / 2,
            escape_markup(title)
        );
        let columns = u32::from(self.size.0) * CELL_WIDTH;
        for (number, film) in self.rows.iter().enumerate() {
            let y = HEAD + number as u32 * CELL_HEIGHT;
            if film.contents.iter().all(String::is_empty) {
                continue;
            }
            let _ = write!(
                svg,
                "<svg x=\"{MARGIN}\" y=\"{y}\" width=\"{columns}\" height=\"{CELL_HEIGHT}\">"
            );
            film.write(svg, number);
            svg.push_str("</svg>");
        }
    }

    /// Width and height.
    pub(super) fn extent(&self) -> (u32, u32) {
        let (columns, rows) = (u32::from(self.size.0), u32::from(self.size.1));
        (columns * CELL_WIDTH + 2 * MARGIN, rows * CELL_HEIGHT + HEAD + MARGIN)
    }

    /// How long the picture plays.
    pub(super) fn length(&self) -> Duration {
        self.ends_at
    }
}

impl RowFilm {
    /// Shows a content from a time on. Returns about how many bytes that takes.
    fn show(&mut self, at: Duration, content: String) -> usize {
        let known = self.places.get(&content).copied();
        let place = known.unwrap_or(self.contents.len());
        if self.shown.last().is_some_and(|(_, shown)| *shown == place) {
            return 0;
        }
        self.shown.push((at, place));
        if known.is_some() {
            return 45;
        }
        let bytes = content.len() + 80;
        self.places.insert(content.clone(), place);
        self.contents.push(content);
        bytes
    }

    fn moves(&self) -> bool {
        self.contents.len() > 1
    }

    fn write(&self, svg: &mut String, number: usize) {
        let last = self.shown.last().map_or(0, |(_, place)| *place as u32 * CELL_HEIGHT);
        if self.moves() {
            let _ = write!(svg, "<g class=\"r r{number}\" transform=\"translate(0 -{last})\">");
        }
        for (place, content) in self.contents.iter().enumerate() {
            match place as u32 * CELL_HEIGHT {
                _ if content.is_empty() => {}
                0 => svg.push_str(content),
                down => {
                    let _ = write!(svg, "<g transform=\"translate(0 {down})\">{content}</g>");
                }
            }
        }
        if self.moves() {
            svg.push_str("</g>");
        }
    }
}
