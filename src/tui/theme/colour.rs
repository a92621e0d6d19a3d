//! Colours: how they are written, how different they look, and which colour of a smaller palette is
//! nearest.
//!
//! Distances are measured in OKLab (2020), where equal steps look equal. Contrast
//! is that of WCAG 2.

use std::sync::LazyLock;

use ratatui::style::Color;

/// Red, green and blue, 8 bits each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RgbColor(pub u8, pub u8, pub u8);

/// A colour as a theme names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorValue {
    /// No colour: the one beneath shows.
    Unset,
    /// One of the terminal's own 16 colours, or of the palette of 256.
    Indexed(u8),
    /// 24 bits, which a terminal may not be able to show.
    Rgb(RgbColor),
}

/// The names of the 16 colours, in their order.
pub const ANSI_NAMES: [&str; 16] = [
    "black",
    "red",
    "green",
    "yellow",
    "blue",
    "magenta",
    "cyan",
    "white",
    "bright-black",
    "bright-red",
    "bright-green",
    "bright-yellow",
    "bright-blue",
    "bright-magenta",
    "bright-cyan",
    "bright-white",
];

/// xterm's values for the 16 colours. Every terminal has its own, so these serve only to find near
/// colours.
const ANSI: [RgbColor; 16] = [
    RgbColor(0, 0, 0),
    RgbColor(205, 0, 0),
    RgbColor(0, 205, 0),
    RgbColor(205, 205, 0),
    RgbColor(0, 0, 238),
    RgbColor(205, 0, 205),
    RgbColor(0, 205, 205),
    RgbColor(229, 229, 229),
    RgbColor(127, 127, 127),
    RgbColor(255, 0, 0),
    RgbColor(0, 255, 0),
    RgbColor(255, 255, 0),
    RgbColor(92, 92, 255),
    RgbColor(255, 0, 255),
    RgbColor(0, 255, 255),
    RgbColor(255, 255, 255),
];

/// The palette of 256 in OKLab.
static PALETTE: LazyLock<Vec<OklabColor>> =
    LazyLock::new(|| (0..=255).map(|index| OklabColor::from(indexed(index))).collect());

/// A colour has lost its hue when less than this share of its chroma is left.
const HUE_LOST: f32 = 0.5;
/// Chroma below this looks grey.
const GREY: f32 = 0.02;

#[derive(Debug, Clone, Copy)]
struct OklabColor {
    lightness: f32,
    a: f32,
    b: f32,
}

impl ColorValue {
    /// Parses `none`, `#rrggbb`, `#rgb` and the names of the 16 colours.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "none" {
            return Some(Self::Unset);
        }
        if let Some(hex) = text.strip_prefix('#') {
            return RgbColor::parse_hex(hex).map(Self::Rgb);
        }
        let index = ANSI_NAMES.iter().position(|name| *name == text)?;
        u8::try_from(index).ok().map(Self::Indexed)
    }

    /// The colour on a terminal with 24 bits; `None` if unset.
    pub fn to_true_color(self) -> Option<Color> {
        match self {
            Self::Unset => None,
            Self::Indexed(index) => Some(Color::Indexed(index)),
            Self::Rgb(RgbColor(r, g, b)) => Some(Color::Rgb(r, g, b)),
        }
    }

    /// The colour on a terminal with the palette of 256; `None` if unset.
    pub fn to_palette(self) -> Option<Color> {
        match self {
            Self::Unset => None,
            Self::Indexed(index) => Some(Color::Indexed(index)),
            Self::Rgb(rgb) => Some(Color::Indexed(rgb.nearest(16, 255))),
        }
    }

    /// The colour on a terminal with only its own 16; `None` if unset.
    pub fn to_ansi(self) -> Option<Color> {
        match self {
            Self::Unset => None,
            Self::Indexed(index @ 0..16) => Some(Color::Indexed(index)),
            Self::Indexed(index) => Some(Color::Indexed(indexed(index).nearest(0, 15))),
            Self::Rgb(rgb) => Some(Color::Indexed(rgb.nearest(0, 15))),
        }
    }

    /// Whether `shown` has nothing left of this colour's hue: a tint that became grey.
    pub fn loses_hue(self, shown: Color) -> bool {
        let (Self::Rgb(original), Some(shown)) = (self, RgbColor::of(shown)) else { return false };
        let strength = |rgb| {
            let lab = OklabColor::from(rgb);
            lab.a.hypot(lab.b)
        };
        strength(original) > GREY && strength(shown) < strength(original) * HUE_LOST
    }
}

impl RgbColor {
    /// The value of a colour; the 16 as xterm has them. `None` for the terminal's own default.
    pub fn of(color: Color) -> Option<Self> {
        match color {
            Color::Rgb(r, g, b) => Some(Self(r, g, b)),
            Color::Indexed(index) => Some(indexed(index)),
            Color::Reset
            | Color::Black
            | Color::Red
            | Color::Green
            | Color::Yellow
            | Color::Blue
            | Color::Magenta
            | Color::Cyan
            | Color::Gray
            | Color::DarkGray
            | Color::LightRed
            | Color::LightGreen
            | Color::LightYellow
            | Color::LightBlue
            | Color::LightMagenta
            | Color::LightCyan
            | Color::White => None,
        }
    }

    /// Relative luminance, 0 to 1 (WCAG 2).
    pub fn luminance(self) -> f32 {
        let [r, g, b] = self.linear();
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    /// Contrast ratio of two colours, 1 to 21 (WCAG 2).
    pub fn contrast(self, other: Self) -> f32 {
        let (one, two) = (self.luminance(), other.luminance());
        (one.max(two) + 0.05) / (one.min(two) + 0.05)
    }

    /// The index in the palette, `from` to `to`, that looks most like this colour.
    pub fn nearest(self, from: u8, to: u8) -> u8 {
        let wanted = OklabColor::from(self);
        let distance = |index: u8| {
            let lab = PALETTE[usize::from(index)];
            (lab.lightness - wanted.lightness).powi(2)
                + (lab.a - wanted.a).powi(2)
                + (lab.b - wanted.b).powi(2)
        };
        let by_distance = |one: &u8, two: &u8| distance(*one).total_cmp(&distance(*two));
        (from..=to).min_by(by_distance).unwrap_or(from)
    }

    fn parse_hex(hex: &str) -> Option<Self> {
        if !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let part = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
        let digit = |at: usize| u8::from_str_radix(hex.get(at..=at)?, 16).ok().map(|it| it * 17);
        match hex.len() {
            3 => Some(Self(digit(0)?, digit(1)?, digit(2)?)),
            6 => Some(Self(part(0)?, part(2)?, part(4)?)),
            _ => None,
        }
    }

    fn linear(self) -> [f32; 3] {
        [self.0, self.1, self.2].map(|byte| {
            let value = f32::from(byte) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }
}

impl From<RgbColor> for OklabColor {
    fn from(rgb: RgbColor) -> Self {
        let [r, g, b] = rgb.linear();
        let l = (0.412_221_46 * r + 0.536_332_55 * g + 0.051_445_995 * b).cbrt();
        let m = (0.211_903_5 * r + 0.680_699_5 * g + 0.107_396_96 * b).cbrt();
        let s = (0.088_302_46 * r + 0.281_718_85 * g + 0.629_978_7 * b).cbrt();
        Self {
            lightness: 0.210_454_26 * l + 0.793_617_8 * m - 0.004_072_047 * s,
            a: 1.977_998_5 * l - 2.428_592_2 * m + 0.450_593_7 * s,
            b: 0.025_904_037 * l + 0.782_771_77 * m - 0.808_675_77 * s,
        }
    }
}

/// The value of a palette entry: the 16, a cube of six steps a side, and 24 greys.
pub fn indexed(index: u8) -> RgbColor {
    let step = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
    match index {
        0..16 => ANSI[usize::from(index)],
        16..232 => {
            let place = index - 16;
            RgbColor(step(place / 36), step(place / 6 % 6), step(place % 6))
        }
        232..=255 => {
            let grey = 8 + 10 * (index - 232);
            RgbColor(grey, grey, grey)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_written_in_four_ways() {
        let rows = [
            ("none", Some(ColorValue::Unset)),
            ("#0af", Some(ColorValue::Rgb(RgbColor(0, 170, 255)))),
            ("#1E1e2e", Some(ColorValue::Rgb(RgbColor(30, 30, 46)))),
            ("bright-cyan", Some(ColorValue::Indexed(14))),
            ("#12345", None),
            ("#ééé", None),
            ("beige", None),
        ];
        for (text, want) in rows {
            assert_eq!(ColorValue::parse(text), want, "{text}");
        }
    }

    #[test]
    fn contrast_is_that_of_the_guidelines() {
        let (black, white) = (RgbColor(0, 0, 0), RgbColor(255, 255, 255));
        assert!((white.contrast(black) - 21.0).abs() < 0.01);
        assert!((RgbColor(0x76, 0x76, 0x76).contrast(white) - 4.54).abs() < 0.01);
    }

    #[test]
    fn neighbours_look_alike() {
        let rows = [
            (RgbColor(0, 0, 0), 16),
            (RgbColor(255, 255, 255), 231),
            (RgbColor(255, 0, 0), 196),
            (RgbColor(95, 135, 175), 67),
            (RgbColor(30, 88, 46), 22),
        ];
        for (rgb, want) in rows {
            assert_eq!(rgb.nearest(16, 255), want, "{rgb:?}");
        }
        assert_eq!(RgbColor(240, 90, 90).nearest(0, 15), 9);
    }

    #[test]
    fn a_tint_that_becomes_grey_is_noticed() {
        let tint = ColorValue::Rgb(RgbColor(18, 46, 26));
        assert!(tint.loses_hue(tint.to_palette().unwrap()));
        let strong = ColorValue::Rgb(RgbColor(30, 88, 46));
        assert!(!strong.loses_hue(strong.to_palette().unwrap()));
        let grey = ColorValue::Rgb(RgbColor(40, 40, 40));
        assert!(!grey.loses_hue(grey.to_palette().unwrap()));
    }
}
