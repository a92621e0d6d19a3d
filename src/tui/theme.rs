//! Roles to styles. The only place that names colours.
//!
//! The built-in themes use the terminal's own 16 colours and never paint the background of the
//! screen, so that they fit whatever the person chose for their terminal. Where the terminal can
//! show 24 bits, changed lines of a diff get a gentle background. Without colours (`NO_COLOR`)
//! weight, slant and lines remain; nothing is said by colour alone.

use ratatui::style::{Color, Modifier, Style};

use super::layout::{Ansi, AnsiColor, Role, Syntax};

/// How many colours the terminal can show, and may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorDepth {
    /// None: `NO_COLOR` is set.
    None,
    /// Its own 16, and the palette of 256.
    Palette,
    /// 24 bits.
    TrueColor,
}

/// A style for each role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    palette: &'static Palette,
    depth: ColorDepth,
}

/// What a theme file says.
#[derive(Debug, PartialEq, Eq)]
struct Palette {
    name: &'static str,
    user: Color,
    assistant: Color,
    tool: Color,
    system: Color,
    error: Color,
    success: Color,
    heading: Color,
    code: Color,
    link: Color,
    added: Color,
    removed: Color,
    added_background: Color,
    removed_background: Color,
    added_word_background: Color,
    removed_word_background: Color,
    keyword: Color,
    function: Color,
    kind: Color,
    string: Color,
    number: Color,
    attribute: Color,
}

const DARK: Palette = Palette {
    name: "dark",
    user: Color::Cyan,
    assistant: Color::Green,
    tool: Color::Magenta,
    system: Color::Yellow,
    error: Color::LightRed,
    success: Color::Green,
    heading: Color::LightBlue,
    code: Color::LightCyan,
    link: Color::LightBlue,
    added: Color::Green,
    removed: Color::LightRed,
    added_background: Color::Rgb(18, 46, 26),
    removed_background: Color::Rgb(58, 24, 26),
    added_word_background: Color::Rgb(30, 88, 46),
    removed_word_background: Color::Rgb(110, 40, 42),
    keyword: Color::LightMagenta,
    function: Color::LightBlue,
    kind: Color::LightCyan,
    string: Color::LightGreen,
    number: Color::LightYellow,
    attribute: Color::Cyan,
};

const LIGHT: Palette = Palette {
    name: "light",
    user: Color::Cyan,
    assistant: Color::Green,
    tool: Color::Magenta,
    system: Color::Yellow,
    error: Color::Red,
    success: Color::Green,
    heading: Color::Blue,
    code: Color::Blue,
    link: Color::Blue,
    added: Color::Green,
    removed: Color::Red,
    added_background: Color::Rgb(222, 245, 226),
    removed_background: Color::Rgb(252, 228, 228),
    added_word_background: Color::Rgb(172, 228, 184),
    removed_word_background: Color::Rgb(246, 184, 184),
    keyword: Color::Magenta,
    function: Color::Blue,
    kind: Color::Cyan,
    string: Color::Green,
    number: Color::Red,
    attribute: Color::Cyan,
};

/// No theme has this name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("There is no theme \"{0}\". Choose \"dark\" or \"light\".")]
pub struct UnknownTheme(String);

impl ColorDepth {
    /// What the environment says: `NO_COLOR` (set and not empty) and `COLORTERM`.
    pub fn detect(no_color: Option<&str>, colorterm: Option<&str>) -> Self {
        match (no_color, colorterm) {
            (Some(set), _) if !set.is_empty() => Self::None,
            (_, Some("truecolor" | "24bit")) => Self::TrueColor,
            (Some(_) | None, Some(_) | None) => Self::Palette,
        }
    }
}

impl Theme {
    /// For dark backgrounds.
    pub fn dark(depth: ColorDepth) -> Self {
        Self { palette: &DARK, depth }
    }

    /// For light backgrounds.
    pub fn light(depth: ColorDepth) -> Self {
        Self { palette: &LIGHT, depth }
    }

    /// The built-in theme of this name.
    pub fn from_name(name: &str, depth: ColorDepth) -> Result<Self, UnknownTheme> {
        let palette = [&DARK, &LIGHT].into_iter().find(|palette| palette.name == name);
        palette.map(|palette| Self { palette, depth }).ok_or_else(|| UnknownTheme(name.to_owned()))
    }

    /// The names of the built-in themes.
    pub fn names() -> [&'static str; 2] {
        [DARK.name, LIGHT.name]
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.palette.name
    }

    /// How text in this role looks.
    pub fn style(&self, role: Role) -> Style {
        let style = self.full(role);
        match self.depth {
            ColorDepth::None => Style { fg: None, bg: None, ..style },
            ColorDepth::Palette | ColorDepth::TrueColor => style,
        }
    }

    /// How selected text looks, over the style of its role.
    pub fn selection(&self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// How it would look, were there colours.
    fn full(&self, role: Role) -> Style {
        let palette = self.palette;
        let style = Style::new();
        match role {
            Role::Text | Role::CodeBlock => style,
            Role::Muted | Role::Border | Role::LineNumber => style.add_modifier(Modifier::DIM),
            Role::User => style.fg(palette.user),
            Role::Assistant => style.fg(palette.assistant),
            Role::Thinking => style.add_modifier(Modifier::DIM | Modifier::ITALIC),
            Role::Tool => style.fg(palette.tool),
            Role::System => style.fg(palette.system),
            Role::Success => style.fg(palette.success),
            Role::Warning => style.fg(palette.system).add_modifier(Modifier::BOLD),
            Role::Error => style.fg(palette.error).add_modifier(Modifier::BOLD),
            Role::Heading(level) => style.fg(palette.heading).add_modifier(heading(level)),
            Role::Code => style.fg(palette.code),
            Role::Strong => style.add_modifier(Modifier::BOLD),
            Role::Emphasis => style.add_modifier(Modifier::ITALIC),
            Role::StrongEmphasis => style.add_modifier(Modifier::BOLD | Modifier::ITALIC),
            Role::Strikethrough => style.add_modifier(Modifier::CROSSED_OUT),
            Role::Link => style.fg(palette.link).add_modifier(Modifier::UNDERLINED),
            Role::ListMarker => style.fg(palette.assistant),
            Role::Quote => style.add_modifier(Modifier::ITALIC),
            Role::Added => self.backed(style.fg(palette.added), palette.added_background),
            Role::Removed => self.backed(style.fg(palette.removed), palette.removed_background),
            Role::AddedWord => self.word(palette.added, palette.added_word_background),
            Role::RemovedWord => self.word(palette.removed, palette.removed_word_background),
            Role::Escaped => style.fg(palette.error).add_modifier(Modifier::REVERSED),
            Role::Match => style.add_modifier(Modifier::REVERSED | Modifier::BOLD),
            Role::Ansi(ansi) => self.ansi(ansi),
            Role::Syntax(syntax) => self.syntax(syntax),
            Role::AddedSyntax(syntax) => self.changed_code(syntax, Role::Added),
            Role::RemovedSyntax(syntax) => self.changed_code(syntax, Role::Removed),
        }
    }

    fn syntax(&self, syntax: Syntax) -> Style {
        let palette = self.palette;
        let style = Style::new();
        match syntax {
            Syntax::Keyword => style.fg(palette.keyword),
            Syntax::Function => style.fg(palette.function),
            Syntax::Type => style.fg(palette.kind),
            Syntax::String => style.fg(palette.string),
            Syntax::Number => style.fg(palette.number),
            Syntax::Comment => style.add_modifier(Modifier::DIM | Modifier::ITALIC),
            Syntax::Attribute => style.fg(palette.attribute),
            Syntax::Punctuation | Syntax::Variable => style,
        }
    }

    /// Code of a changed line: in its own colours on the background of the line, or, where no
    /// background can be had, in the colour of the line.
    fn changed_code(&self, syntax: Syntax, line: Role) -> Style {
        let line = self.full(line);
        match self.depth {
            ColorDepth::TrueColor => Style { bg: line.bg, ..self.syntax(syntax) },
            ColorDepth::Palette | ColorDepth::None => line,
        }
    }

    fn backed(&self, style: Style, background: Color) -> Style {
        match self.depth {
            ColorDepth::TrueColor => Style { fg: None, ..style }.bg(background),
            ColorDepth::Palette | ColorDepth::None => style,
        }
    }

    fn word(&self, color: Color, background: Color) -> Style {
        let style = Style::new().fg(color).add_modifier(Modifier::BOLD);
        match self.depth {
            ColorDepth::TrueColor => self.backed(style, background),
            ColorDepth::Palette | ColorDepth::None => style.add_modifier(Modifier::UNDERLINED),
        }
    }

    fn ansi(&self, ansi: Ansi) -> Style {
        let mut style = Style { fg: None, bg: None, ..Style::new() };
        style.fg = ansi.foreground.map(|color| self.color(color));
        style.bg = ansi.background.map(|color| self.color(color));
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

    fn color(&self, color: AnsiColor) -> Color {
        match (color, self.depth) {
            (AnsiColor::Indexed(index), _) => Color::Indexed(index),
            (AnsiColor::Rgb(r, g, b), ColorDepth::TrueColor) => Color::Rgb(r, g, b),
            (AnsiColor::Rgb(r, g, b), ColorDepth::Palette | ColorDepth::None) => {
                Color::Indexed(nearest(r, g, b))
            }
        }
    }
}

fn heading(level: u8) -> Modifier {
    match level {
        0 | 1 => Modifier::BOLD | Modifier::UNDERLINED,
        2 => Modifier::BOLD,
        3 => Modifier::BOLD | Modifier::ITALIC,
        _ => Modifier::ITALIC,
    }
}

/// The nearest colour of the palette's cube, whose steps are 0, 95, 135, 175, 215 and 255.
fn nearest(r: u8, g: u8, b: u8) -> u8 {
    let step = |value: u8| match value {
        0..=47 => 0,
        48..=114 => 1,
        _ => (value - 35) / 40,
    };
    16 + 36 * step(r) + 6 * step(g) + step(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles() -> Vec<Role> {
        use Syntax::{
            Attribute, Comment, Function, Keyword, Number, Punctuation, String, Type, Variable,
        };
        let mut roles = vec![
            Role::Text,
            Role::Muted,
            Role::Border,
            Role::User,
            Role::Assistant,
            Role::Thinking,
            Role::Tool,
            Role::System,
            Role::Success,
            Role::Warning,
            Role::Error,
            Role::Code,
            Role::CodeBlock,
            Role::Strong,
            Role::Emphasis,
            Role::StrongEmphasis,
            Role::Strikethrough,
            Role::Link,
            Role::ListMarker,
            Role::Quote,
            Role::Added,
            Role::AddedWord,
            Role::Removed,
            Role::RemovedWord,
            Role::LineNumber,
            Role::Escaped,
            Role::Match,
        ];
        roles.extend((1..=6).map(Role::Heading));
        for syntax in
            [Keyword, Function, Type, String, Number, Comment, Punctuation, Attribute, Variable]
        {
            roles.extend([
                Role::Syntax(syntax),
                Role::AddedSyntax(syntax),
                Role::RemovedSyntax(syntax),
            ]);
        }
        let colour = Some(AnsiColor::Rgb(1, 2, 3));
        roles.push(Role::Ansi(Ansi {
            foreground: colour,
            background: colour,
            bold: true,
            ..Ansi::default()
        }));
        roles
    }

    #[test]
    fn without_colours_no_role_has_one() {
        for theme in [Theme::dark(ColorDepth::None), Theme::light(ColorDepth::None)] {
            for role in roles() {
                let style = theme.style(role);
                assert_eq!((style.fg, style.bg), (None, None), "{role:?}");
            }
        }
    }

    #[test]
    fn only_terminals_with_24_bits_get_them() {
        for theme in [Theme::dark(ColorDepth::Palette), Theme::light(ColorDepth::Palette)] {
            for role in roles() {
                let style = theme.style(role);
                for color in [style.fg, style.bg].into_iter().flatten() {
                    assert!(!matches!(color, Color::Rgb(..)), "{role:?}");
                }
            }
        }
        let style = Theme::dark(ColorDepth::TrueColor).style(Role::Added);
        assert!(matches!(style.bg, Some(Color::Rgb(..))));
    }

    #[test]
    fn roles_that_must_differ_differ_without_colours() {
        let theme = Theme::dark(ColorDepth::None);
        for (one, other) in [
            (Role::Added, Role::AddedWord),
            (Role::Text, Role::Muted),
            (Role::Text, Role::Match),
            (Role::Text, Role::Link),
            (Role::Text, Role::Error),
            (Role::Text, Role::Escaped),
            (Role::Text, Role::Heading(2)),
        ] {
            assert_ne!(theme.style(one), theme.style(other), "{one:?} {other:?}");
        }
    }

    #[test]
    fn themes_are_found_by_name() {
        for name in Theme::names() {
            assert_eq!(Theme::from_name(name, ColorDepth::Palette).unwrap().name(), name);
        }
        let error = Theme::from_name("beige", ColorDepth::Palette).unwrap_err();
        assert_eq!(error.to_string(), "There is no theme \"beige\". Choose \"dark\" or \"light\".");
    }

    #[test]
    fn the_environment_says_how_many_colours() {
        let table = [
            (None, None, ColorDepth::Palette),
            (None, Some("truecolor"), ColorDepth::TrueColor),
            (None, Some("24bit"), ColorDepth::TrueColor),
            (Some(""), Some("yes"), ColorDepth::Palette),
            (Some("1"), Some("truecolor"), ColorDepth::None),
        ];
        for (no_color, colorterm, depth) in table {
            assert_eq!(ColorDepth::detect(no_color, colorterm), depth);
        }
    }

    #[test]
    fn colours_of_24_bits_find_their_neighbour() {
        assert_eq!(nearest(0, 0, 0), 16);
        assert_eq!(nearest(255, 255, 255), 231);
        assert_eq!(nearest(255, 0, 0), 196);
        assert_eq!(nearest(95, 135, 175), 67);
    }
}
