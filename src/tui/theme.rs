//! Turns roles into styles. This is the only module that names colours.
//!
//! A theme comes from a TOML file: one of those in `assets/themes`, which are compiled in, or the
//! user's own. `file` reads it, `library` looks up what it inherits, and [`Theme`] is the result: a
//! style for each role, made for as many colours as the terminal has.
//!
//! Nothing is expressed by colour alone. Where a colour cannot be shown, because there are none
//! (`NO_COLOR`) or too few for a tint, weight, slant and underlines stand in for it. Backgrounds of
//! 24 bits are not forced on a terminal of 16 colours: the terminal's own background shows there.

pub mod colour;
mod depth;
mod file;
pub mod library;
pub mod roles;

use ratatui::style::{Color, Modifier, Style};

use super::layout::{AnsiColor, AnsiStyle, StyleRole, SyntaxTokenKind};

use colour::{ColorValue, RgbColor};
pub use depth::ColorDepth;
use file::ThemeColor;
pub use library::ThemeLibrary;

/// A style for each role, resolved for one colour depth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    name: String,
    kind: ThemeKind,
    depth: ColorDepth,
    styles: [Style; roles::COUNT],
}

/// The kind of background that a theme is made for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ThemeKind {
    #[default]
    Dark,
    Light,
}

/// A theme with all its colours, before they are reduced to a colour depth.
#[derive(Debug)]
struct ThemeDraft {
    name: String,
    kind: ThemeKind,
    background: Option<ThemeColor>,
    looks: [RoleColors; roles::COUNT],
}

/// A role's look with its colour references resolved.
#[derive(Debug, Clone, Copy, Default)]
struct RoleColors {
    fg: Option<ThemeColor>,
    bg: Option<ThemeColor>,
    modifiers: Modifier,
}

impl ThemeKind {
    /// The name in theme files and in the configuration: `dark` or `light`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dark => "dark",
            Self::Light => "light",
        }
    }
}

impl Theme {
    /// slug's own theme for dark backgrounds.
    pub fn dark(depth: ColorDepth) -> Self {
        ThemeLibrary::default_for(ThemeKind::Dark, depth)
    }

    /// slug's own theme for light backgrounds.
    pub fn light(depth: ColorDepth) -> Self {
        ThemeLibrary::default_for(ThemeKind::Light, depth)
    }

    /// The name that the theme is chosen by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kind of background that the theme is made for.
    pub fn kind(&self) -> ThemeKind {
        self.kind
    }

    /// The style of text in this role, to be patched over the style of what it stands on.
    pub fn style(&self, role: StyleRole) -> Style {
        match role {
            StyleRole::Ansi(ansi) => self.ansi(ansi),
            StyleRole::AddedSyntax(syntax) => self.changed_code(syntax, StyleRole::Added),
            StyleRole::RemovedSyntax(syntax) => self.changed_code(syntax, StyleRole::Removed),
            other => self.role_style(other),
        }
    }

    fn role_style(&self, role: StyleRole) -> Style {
        roles::slot(role).and_then(|slot| self.styles.get(slot)).copied().unwrap_or_default()
    }

    /// Code of a changed line: in its own colours on the background of the line, or, where the
    /// terminal cannot show that background, in the colour of the line.
    fn changed_code(&self, syntax: SyntaxTokenKind, line: StyleRole) -> Style {
        let line = self.role_style(line);
        if line.bg.is_some() {
            line.patch(self.role_style(StyleRole::Syntax(syntax)))
        } else {
            line
        }
    }

    /// The style of what a command printed. Where the theme paints the screen, the 16 colours are
    /// the theme's: the terminal's own are made for the terminal's background. A foreground and a
    /// background that were chosen together are left as they are.
    fn ansi(&self, ansi: AnsiStyle) -> Style {
        let mut style = Style::new();
        let painted = self.role_style(StyleRole::Screen).bg;
        (style.fg, style.bg) = match (painted, ansi.foreground, ansi.background) {
            (Some(_), Some(AnsiColor::Indexed(index @ 0..16)), None) => {
                (self.of_the_16(index), None)
            }
            (Some(screen), None, Some(AnsiColor::Indexed(index @ 0..16))) => {
                (Some(screen), self.of_the_16(index))
            }
            (_, fg, bg) => {
                (fg.and_then(|color| self.color(color)), bg.and_then(|color| self.color(color)))
            }
        };
        for (set, modifier) in [
            (ansi.bold, Modifier::BOLD),
            (ansi.dim, Modifier::DIM),
            (ansi.italic, Modifier::ITALIC),
            (ansi.underline, Modifier::UNDERLINED),
            (ansi.reverse, Modifier::REVERSED),
        ] {
            if set {
                style = style.add_modifier(modifier);
            }
        }
        style
    }

    /// The theme's colour for one of the 16 that can be read on the theme's background.
    fn of_the_16(&self, index: u8) -> Option<Color> {
        let is_dark = self.kind == ThemeKind::Dark;
        let role = match index {
            1 | 9 => StyleRole::Error,
            2 | 10 => StyleRole::Success,
            3 | 11 => StyleRole::Warning,
            4 | 12 => StyleRole::Link,
            5 | 13 => StyleRole::Tool,
            6 | 14 => StyleRole::User,
            0 if is_dark => StyleRole::Muted,
            7 if !is_dark => StyleRole::Muted,
            8 => StyleRole::Muted,
            _ => StyleRole::Screen,
        };
        self.role_style(role).fg
    }

    fn color(&self, color: AnsiColor) -> Option<Color> {
        let shade = match color {
            AnsiColor::Indexed(index) => ColorValue::Indexed(index),
            AnsiColor::Rgb(r, g, b) => ColorValue::Rgb(RgbColor(r, g, b)),
        };
        ThemeColor::from(shade).at(self.depth)
    }
}

impl ThemeColor {
    fn at(self, depth: ColorDepth) -> Option<Color> {
        match depth {
            ColorDepth::None => None,
            ColorDepth::Sixteen => self.ansi.unwrap_or(self.full).to_ansi(),
            ColorDepth::Palette => self.indexed.unwrap_or(self.full).to_palette(),
            ColorDepth::TrueColor => self.full.to_true_color(),
        }
    }

    /// The colour as a background. A tint that would become plain grey, or that the 16 colours do
    /// not have, is left out.
    fn as_background(self, depth: ColorDepth) -> Option<Color> {
        let shown = self.at(depth)?;
        let is_there = match (depth, self.ansi.unwrap_or(self.full)) {
            (ColorDepth::Sixteen, ColorValue::Rgb(_)) => false,
            (ColorDepth::Palette, _) => self.indexed.is_some() || !self.full.loses_hue(shown),
            (ColorDepth::None | ColorDepth::Sixteen | ColorDepth::TrueColor, _) => true,
        };
        is_there.then_some(shown)
    }
}

impl ThemeDraft {
    fn new(name: &str, kind: ThemeKind) -> Self {
        let looks = [RoleColors::default(); roles::COUNT];
        Self { name: name.to_owned(), kind, background: None, looks }
    }

    fn at(self, depth: ColorDepth) -> Theme {
        let Self { name, kind, background, looks } = self;
        let mut styles = [Style::new(); roles::COUNT];
        for ((style, look), row) in styles.iter_mut().zip(looks).zip(&roles::ROLES) {
            *style = if row.role == StyleRole::Screen {
                screen(look, background, depth)
            } else {
                look.at(depth, row.plain)
            };
        }
        Theme { name, kind, depth, styles }
    }
}

/// The style of the screen itself. On 16 colours it is the terminal's own: a foreground that the
/// theme chose for its own background would stand on another one.
fn screen(look: RoleColors, background: Option<ThemeColor>, depth: ColorDepth) -> Style {
    let style = Style::new().add_modifier(look.modifiers);
    match depth {
        ColorDepth::None | ColorDepth::Sixteen => style,
        ColorDepth::Palette | ColorDepth::TrueColor => Style {
            fg: look.fg.and_then(|color| color.at(depth)),
            bg: background.and_then(|color| color.at(depth)),
            ..style
        },
    }
}

impl RoleColors {
    fn at(self, depth: ColorDepth, plain: Modifier) -> Style {
        let style = Style::new().add_modifier(self.modifiers);
        if depth == ColorDepth::None {
            return style.add_modifier(plain);
        }
        let fg = self.fg.and_then(|color| color.at(depth));
        let bg = self.bg.and_then(|color| color.as_background(depth));
        let is_lost = |wanted: Option<ThemeColor>, shown: Option<Color>| {
            shown.is_none() && wanted.is_some_and(|color| color.full != ColorValue::Unset)
        };
        if !is_lost(self.fg, fg) && !is_lost(self.bg, bg) {
            return Style { fg, bg, ..style };
        }
        // Reversed, it shows the colours of the text that it covers.
        let reversed = plain.contains(Modifier::REVERSED);
        let (fg, bg) = if reversed { (None, None) } else { (fg, bg) };
        Style { fg, bg, ..style }.add_modifier(plain)
    }
}

#[cfg(test)]
mod contrast;
#[cfg(test)]
pub mod screen_contrast;
#[cfg(test)]
mod tests;
