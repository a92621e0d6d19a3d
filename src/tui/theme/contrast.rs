//! Tests that every shipped theme is readable: each role against each background that it can stand
//! on.
//!
//! The rule is WCAG's AA: 4.5 to 1 for text, 3 to 1 for graphics (frames, rules, the bars of
//! quotes). A theme that paints the screen is measured on its own background. A theme that leaves
//! the background to the terminal is measured on common terminal backgrounds; its plain text is the
//! terminal's own there, and so is its contrast.
//!
//! 24 bits and the palette of 256 are measured. The 16 colours differ from terminal to terminal;
//! only the theme made of them is measured, with xterm's values on black. Dim text is left out: the
//! terminal decides how dim it is, which is why only that theme has any.

use ratatui::style::{Color, Modifier};

use super::roles::ROLES;
use super::*;

/// Least contrast of text (WCAG AA).
pub const TEXT: f32 = 4.5;
/// Least contrast of graphics (WCAG AA).
pub const DRAWN: f32 = 3.0;

/// Common backgrounds of terminals: black, GitHub's, Catppuccin's; white, GitHub's, Solarized's.
const DARK: [RgbColor; 3] =
    [RgbColor(0, 0, 0), RgbColor(0x0d, 0x11, 0x17), RgbColor(0x1e, 0x1e, 0x2e)];
const LIGHT: [RgbColor; 3] =
    [RgbColor(255, 255, 255), RgbColor(0xf6, 0xf8, 0xfa), RgbColor(0xfd, 0xf6, 0xe3)];

/// Roles that stand in the rows of lists.
const IN_LISTS: [StyleRole; 10] = [
    StyleRole::Screen,
    StyleRole::Muted,
    StyleRole::User,
    StyleRole::Assistant,
    StyleRole::Strong,
    StyleRole::System,
    StyleRole::Success,
    StyleRole::Warning,
    StyleRole::Error,
    StyleRole::Border,
];

/// Roles that stand on the band of a message.
const IN_MESSAGES: [StyleRole; 3] = [StyleRole::Text, StyleRole::Muted, StyleRole::User];

/// Roles that stand on the changed lines of a diff, besides code.
const IN_DIFFS: [StyleRole; 3] = [StyleRole::Added, StyleRole::Removed, StyleRole::LineNumber];

fn least(role: StyleRole) -> f32 {
    if role == StyleRole::Border { DRAWN } else { TEXT }
}

/// The backgrounds that a theme's screen can have.
pub fn on_screen(theme: &Theme) -> Vec<RgbColor> {
    let of_the_16 = matches!(theme.style(StyleRole::User).fg, Some(Color::Indexed(0..16)));
    match (theme.style(StyleRole::Screen).bg.and_then(RgbColor::of), theme.kind()) {
        (Some(painted), _) => vec![painted],
        (None, _) if of_the_16 => vec![DARK[0]],
        (None, ThemeKind::Dark) => DARK.to_vec(),
        (None, ThemeKind::Light) => LIGHT.to_vec(),
    }
}

/// Whether the theme has a background of its own, on which the 16 colours of what commands print are
/// the theme's, too. Elsewhere they are the terminal's.
pub fn paints(theme: &Theme) -> bool {
    theme.style(StyleRole::Screen).bg.is_some()
}

/// The foreground and background of a role; `None` if one of them is the terminal's own.
fn shown(style: Style, behind: Style, screen: Option<RgbColor>) -> Option<(RgbColor, RgbColor)> {
    let style = behind.patch(style);
    if style.add_modifier.contains(Modifier::DIM) {
        return None;
    }
    let fg = style.fg.and_then(RgbColor::of)?;
    let bg = style.bg.and_then(RgbColor::of).or(screen)?;
    let reversed = style.add_modifier.contains(Modifier::REVERSED);
    Some(if reversed { (bg, fg) } else { (fg, bg) })
}

fn faults(theme: &Theme) -> Vec<String> {
    let mut faults = Vec::new();
    let mut measure = |role: StyleRole, behind: StyleRole, screen: Option<RgbColor>| {
        let background = theme.style(StyleRole::Screen).patch(theme.style(behind));
        let Some((fg, bg)) = shown(theme.style(role), background, screen) else { return };
        let contrast = fg.contrast(bg);
        if contrast < least(role) {
            faults.push(format!(
                "{} {:?}: {role:?} on {behind:?}: {contrast:.2}, {fg:02x?} on {bg:02x?}",
                theme.name(),
                theme.depth,
            ));
        }
    };
    for screen in on_screen(theme) {
        for row in &ROLES {
            measure(row.role, StyleRole::Screen, Some(screen));
        }
        for role in IN_LISTS {
            measure(
                if role == StyleRole::Screen { StyleRole::Text } else { role },
                StyleRole::Selected,
                Some(screen),
            );
        }
        for role in IN_MESSAGES {
            measure(role, StyleRole::UserMessage, Some(screen));
        }
        for color in (0..16).map(AnsiColor::Indexed).filter(|_| paints(theme)) {
            let printed = AnsiStyle { foreground: Some(color), ..AnsiStyle::default() };
            measure(StyleRole::Ansi(printed), StyleRole::Screen, Some(screen));
            let marked = AnsiStyle { background: Some(color), ..AnsiStyle::default() };
            measure(StyleRole::Ansi(marked), StyleRole::Screen, Some(screen));
        }
        for line in [StyleRole::Added, StyleRole::Removed] {
            for role in IN_DIFFS {
                measure(role, line, Some(screen));
            }
            for row in ROLES.iter().filter(|row| matches!(row.role, StyleRole::Syntax(_))) {
                let StyleRole::Syntax(syntax) = row.role else { continue };
                let code = if line == StyleRole::Added {
                    StyleRole::AddedSyntax(syntax)
                } else {
                    StyleRole::RemovedSyntax(syntax)
                };
                measure(code, StyleRole::Screen, Some(screen));
            }
        }
    }
    faults.sort();
    faults.dedup();
    faults
}

#[test]
fn every_shipped_theme_can_be_read() {
    let library = ThemeLibrary::default();
    let mut all = Vec::new();
    for name in library.names() {
        for depth in [ColorDepth::TrueColor, ColorDepth::Palette] {
            all.extend(faults(&library.find(name, depth).unwrap().theme));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// If detection of the background is wrong, text on one of slug's tints is still readable, since
/// slug sets both of its colours.
#[test]
fn roles_with_a_background_set_a_text_colour() {
    let library = ThemeLibrary::default();
    for name in library.names() {
        let theme = library.find(name, ColorDepth::TrueColor).unwrap().theme;
        for row in &ROLES {
            let style = theme.style(row.role);
            let is_painted = row.role == StyleRole::Screen && style.bg.is_some();
            if style.bg.is_some() || is_painted {
                assert!(style.fg.is_some(), "{name} {}", row.name);
            }
        }
    }
}

#[test]
fn high_contrast_is_higher() {
    let theme = ThemeLibrary::default().find("high-contrast", ColorDepth::TrueColor).unwrap().theme;
    for row in ROLES.iter().filter(|row| row.role != StyleRole::Border) {
        let shown = shown(theme.style(row.role), theme.style(StyleRole::Screen), None);
        let (fg, bg) = shown.unwrap();
        assert!(fg.contrast(bg) >= 7.0, "{}: {:.2}", row.name, fg.contrast(bg));
    }
}

#[test]
fn a_theme_that_cannot_be_read_is_noticed() {
    let grey = library::UserTheme {
        name: "grey".into(),
        path: "/t/grey.toml".into(),
        text: "background = \"#777777\"\n[roles]\nmuted = \"#888888\"".into(),
    };
    let found = ThemeLibrary::new(vec![grey]).find("grey", ColorDepth::TrueColor).unwrap();
    let faults = faults(&found.theme);
    assert!(faults.iter().any(|fault| fault.contains("Muted on Screen")), "{faults:?}");
    assert_eq!(RgbColor::of(Color::Indexed(9)), Some(RgbColor(255, 0, 0)));
}
