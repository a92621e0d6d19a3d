//! Tests of themes as styles: at each colour depth, and without colours.

use ratatui::style::{Color, Modifier};

use super::library::UserTheme;
use super::roles::ROLES;
use super::*;

const CODE: [SyntaxTokenKind; 9] = [
    SyntaxTokenKind::Keyword,
    SyntaxTokenKind::Function,
    SyntaxTokenKind::Type,
    SyntaxTokenKind::String,
    SyntaxTokenKind::Number,
    SyntaxTokenKind::Comment,
    SyntaxTokenKind::Punctuation,
    SyntaxTokenKind::Attribute,
    SyntaxTokenKind::Variable,
];

/// Every role that can have a style.
fn looks() -> Vec<StyleRole> {
    let colour = Some(AnsiColor::Rgb(1, 2, 3));
    let output =
        AnsiStyle { foreground: colour, background: colour, bold: true, ..AnsiStyle::default() };
    let named = ROLES.iter().map(|row| row.role);
    let changed =
        CODE.into_iter().flat_map(|it| [StyleRole::AddedSyntax(it), StyleRole::RemovedSyntax(it)]);
    named.chain(changed).chain([StyleRole::Text, StyleRole::Ansi(output)]).collect()
}

fn all(depth: ColorDepth) -> Vec<Theme> {
    let library = ThemeLibrary::default();
    library.names().iter().map(|name| library.find(name, depth).unwrap().theme).collect()
}

fn own(text: &str) -> ThemeLibrary {
    let mine =
        UserTheme { name: "mine".into(), path: "/t/mine.toml".into(), text: text.to_owned() };
    ThemeLibrary::new(vec![mine])
}

fn mine(text: &str, role: StyleRole) -> (Style, Vec<String>) {
    let found = own(text).find("mine", ColorDepth::TrueColor).unwrap();
    (found.theme.style(role), found.remarks)
}

#[test]
fn shipped_themes_have_no_remarks() {
    let library = ThemeLibrary::default();
    for name in library.names() {
        assert_eq!(library.find(name, ColorDepth::TrueColor).unwrap().remarks, [""; 0], "{name}");
    }
    let listed = library.list();
    assert!(listed.iter().all(|theme| theme.label.is_some() && theme.path.is_none()));
    assert!(listed.len() > 10);
}

#[test]
fn without_colours_no_role_has_one() {
    for theme in all(ColorDepth::None) {
        for role in looks() {
            let style = theme.style(role);
            assert_eq!((style.fg, style.bg), (None, None), "{} {role:?}", theme.name());
        }
    }
}

#[test]
fn no_terminal_gets_more_colours_than_it_has() {
    for (depth, last) in [(ColorDepth::Palette, 255), (ColorDepth::Sixteen, 15)] {
        for theme in all(depth) {
            for role in looks() {
                let style = theme.style(role);
                for color in [style.fg, style.bg].into_iter().flatten() {
                    let fits = matches!(color, Color::Indexed(index) if index <= last);
                    assert!(fits, "{} {role:?} {color:?}", theme.name());
                }
            }
        }
    }
    let style = Theme::dark(ColorDepth::TrueColor).style(StyleRole::Added);
    assert!(matches!(style.bg, Some(Color::Rgb(..))));
}

#[test]
fn diffs_have_no_background_on_16_colours() {
    for theme in all(ColorDepth::Sixteen) {
        for role in [
            StyleRole::Added,
            StyleRole::AddedWord,
            StyleRole::Removed,
            StyleRole::AddedSyntax(CODE[0]),
        ] {
            assert_eq!(theme.style(role).bg, None, "{} {role:?}", theme.name());
        }
        assert_ne!(theme.style(StyleRole::Added), theme.style(StyleRole::Removed));
        assert_eq!(theme.style(StyleRole::AddedSyntax(CODE[0])), theme.style(StyleRole::Added));
    }
}

#[test]
fn roles_that_must_differ_differ_with_any_number_of_colours() {
    for depth in [ColorDepth::None, ColorDepth::Sixteen, ColorDepth::Palette, ColorDepth::TrueColor]
    {
        for theme in all(depth) {
            for (one, other) in [
                (StyleRole::Added, StyleRole::AddedWord),
                (StyleRole::Text, StyleRole::Muted),
                (StyleRole::Text, StyleRole::Match),
                (StyleRole::Match, StyleRole::CurrentMatch),
                (StyleRole::Text, StyleRole::Selected),
                (StyleRole::Text, StyleRole::Selection),
                (StyleRole::Text, StyleRole::Link),
                (StyleRole::Text, StyleRole::Error),
                (StyleRole::Text, StyleRole::Escaped),
                (StyleRole::Text, StyleRole::Heading(2)),
            ] {
                let name = theme.name();
                assert_ne!(theme.style(one), theme.style(other), "{name} {depth:?} {one:?}");
            }
        }
    }
}

#[test]
fn the_default_keeps_its_roles() {
    let dark = Theme::dark(ColorDepth::Sixteen);
    let rows = [
        (StyleRole::User, 6),
        (StyleRole::Assistant, 2),
        (StyleRole::Tool, 5),
        (StyleRole::System, 3),
        (StyleRole::Error, 9),
    ];
    for (role, index) in rows {
        assert_eq!(dark.style(role).fg, Some(Color::Indexed(index)), "{role:?}");
    }
    for theme in [Theme::dark(ColorDepth::TrueColor), Theme::light(ColorDepth::TrueColor)] {
        assert_eq!(theme.style(StyleRole::Screen), Style::new(), "{}", theme.name());
    }
}

#[test]
fn a_small_theme_changes_what_it_names_and_inherits_the_rest() {
    let text = "inherits = \"high-contrast\"\n[palette]\ncyan = \"#010203\"\n[roles]\ntool = { fg = \
                \"red\", italic = true }\n";
    let (user, remarks) = mine(text, StyleRole::User);
    assert_eq!((user.fg, remarks), (Some(Color::Rgb(1, 2, 3)), Vec::new()));
    let (tool, _) = mine(text, StyleRole::Tool);
    assert_eq!(tool.fg, Some(Color::Rgb(0xff, 0x9c, 0x9c)));
    assert_eq!(tool.add_modifier, Modifier::ITALIC);
    assert_eq!(mine(text, StyleRole::Screen).0.bg, Some(Color::Rgb(0, 0, 0)));
    let clear = format!("background = \"none\"\n{text}");
    assert_eq!(mine(&clear, StyleRole::Screen).0.bg, None);
}

#[test]
fn a_file_without_a_parent_stands_on_slugs_own_for_its_kind() {
    let (user, remarks) = mine("kind = \"light\"", StyleRole::User);
    assert_eq!(
        (user, remarks),
        (Theme::light(ColorDepth::TrueColor).style(StyleRole::User), vec![])
    );
    let (broken, remarks) = mine("kind = ", StyleRole::User);
    assert_eq!(broken, Theme::dark(ColorDepth::TrueColor).style(StyleRole::User));
    assert!(remarks[0].starts_with("/t/mine.toml:1: not valid TOML"), "{remarks:?}");
}

#[test]
fn mistakes_in_a_theme_are_reported_and_the_parent_is_used() {
    let (user, remarks) = mine("\n[roles]\nuser = \"cyna\"", StyleRole::User);
    assert_eq!(user, Theme::dark(ColorDepth::TrueColor).style(StyleRole::User));
    assert_eq!(
        remarks,
        ["/t/mine.toml:3: there is no colour `cyna`. Did you mean `cyan`?".to_owned()]
    );
    let (_, remarks) = mine("inherits = \"drak\"", StyleRole::User);
    assert!(remarks[0].contains("no theme `drak`. Did you mean `dark`?"), "{remarks:?}");
}

#[test]
fn themes_that_inherit_in_a_circle_end() {
    let theme = |name: &str, parent: &str| UserTheme {
        name: name.into(),
        path: format!("/t/{name}.toml").into(),
        text: format!("inherits = \"{parent}\""),
    };
    let library = ThemeLibrary::new(vec![theme("a", "b"), theme("b", "a"), theme("c", "c")]);
    for name in ["a", "c"] {
        let found = library.find(name, ColorDepth::TrueColor).unwrap();
        assert_eq!(
            found.theme.style(StyleRole::User),
            Theme::dark(ColorDepth::TrueColor).style(StyleRole::User)
        );
        assert_eq!(found.remarks.len(), 1, "{:?}", found.remarks);
    }
}

#[test]
fn a_theme_of_ones_own_stands_over_the_shipped_one_of_its_name() {
    let dark = UserTheme {
        name: "dark".into(),
        path: "/t/dark.toml".into(),
        text: "inherits = \"dark\"\n[roles]\nuser = 200".into(),
    };
    let library = ThemeLibrary::new(vec![dark]);
    assert_eq!(library.names().iter().filter(|name| **name == "dark").count(), 1);
    let found = library.find("dark", ColorDepth::TrueColor).unwrap();
    assert_eq!(found.remarks, [""; 0]);
    assert_eq!(found.theme.style(StyleRole::User).fg, Some(Color::Indexed(200)));
    let tool = Theme::dark(ColorDepth::TrueColor).style(StyleRole::Tool);
    assert_eq!(found.theme.style(StyleRole::Tool), tool);
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    let error = ThemeLibrary::default().find("high-contrst", ColorDepth::Palette).unwrap_err();
    assert_eq!(
        error.to_string(),
        "There is no theme `high-contrst`. Did you mean `high-contrast`? /theme lists them all."
    );
}

/// The band is what tells a message where there are colours; weight does where there are none.
#[test]
fn every_theme_tells_the_users_messages_apart() {
    let library = ThemeLibrary::default();
    for name in library.names() {
        for depth in
            [ColorDepth::TrueColor, ColorDepth::Palette, ColorDepth::Sixteen, ColorDepth::None]
        {
            let theme = library.find(name, depth).unwrap().theme;
            let message = theme.style(StyleRole::UserMessage);
            let is_bold = message.add_modifier.contains(Modifier::BOLD);
            let has_band = message.bg.is_some() && message.bg != theme.style(StyleRole::Screen).bg;
            assert!(has_band || is_bold, "{name} {depth:?}: {message:?}");
            let may_tint = matches!(depth, ColorDepth::TrueColor | ColorDepth::Palette);
            assert!(has_band || !may_tint || name == "ansi", "{name} {depth:?}: {message:?}");
        }
    }
}
