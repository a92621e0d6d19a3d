//! Themes as styles: at each number of colours, and without any.

use ratatui::style::{Color, Modifier};

use super::library::OwnTheme;
use super::roles::ROLES;
use super::*;

const CODE: [Syntax; 9] = [
    Syntax::Keyword,
    Syntax::Function,
    Syntax::Type,
    Syntax::String,
    Syntax::Number,
    Syntax::Comment,
    Syntax::Punctuation,
    Syntax::Attribute,
    Syntax::Variable,
];

/// Every look that there is.
fn looks() -> Vec<Role> {
    let colour = Some(AnsiColor::Rgb(1, 2, 3));
    let output = Ansi { foreground: colour, background: colour, bold: true, ..Ansi::default() };
    let named = ROLES.iter().map(|row| row.role);
    let changed = CODE.into_iter().flat_map(|it| [Role::AddedSyntax(it), Role::RemovedSyntax(it)]);
    named.chain(changed).chain([Role::Text, Role::Ansi(output)]).collect()
}

fn all(depth: ColorDepth) -> Vec<Theme> {
    let library = Library::default();
    library.names().iter().map(|name| library.find(name, depth).unwrap().theme).collect()
}

fn own(text: &str) -> Library {
    let mine = OwnTheme { name: "mine".into(), path: "/t/mine.toml".into(), text: text.to_owned() };
    Library::new(vec![mine])
}

fn mine(text: &str, role: Role) -> (Style, Vec<String>) {
    let found = own(text).find("mine", ColorDepth::TrueColor).unwrap();
    (found.theme.style(role), found.remarks)
}

#[test]
fn shipped_themes_leave_nothing_to_remark() {
    let library = Library::default();
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
    let style = Theme::dark(ColorDepth::TrueColor).style(Role::Added);
    assert!(matches!(style.bg, Some(Color::Rgb(..))));
}

#[test]
fn diffs_have_no_background_on_16_colours() {
    for theme in all(ColorDepth::Sixteen) {
        for role in [Role::Added, Role::AddedWord, Role::Removed, Role::AddedSyntax(CODE[0])] {
            assert_eq!(theme.style(role).bg, None, "{} {role:?}", theme.name());
        }
        assert_ne!(theme.style(Role::Added), theme.style(Role::Removed));
        assert_eq!(theme.style(Role::AddedSyntax(CODE[0])), theme.style(Role::Added));
    }
}

#[test]
fn roles_that_must_differ_differ_with_any_number_of_colours() {
    for depth in [ColorDepth::None, ColorDepth::Sixteen, ColorDepth::Palette, ColorDepth::TrueColor]
    {
        for theme in all(depth) {
            for (one, other) in [
                (Role::Added, Role::AddedWord),
                (Role::Text, Role::Muted),
                (Role::Text, Role::Match),
                (Role::Match, Role::CurrentMatch),
                (Role::Text, Role::Selected),
                (Role::Text, Role::Selection),
                (Role::Text, Role::Link),
                (Role::Text, Role::Error),
                (Role::Text, Role::Escaped),
                (Role::Text, Role::Heading(2)),
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
        (Role::User, 6),
        (Role::Assistant, 2),
        (Role::Tool, 5),
        (Role::System, 3),
        (Role::Error, 9),
    ];
    for (role, index) in rows {
        assert_eq!(dark.style(role).fg, Some(Color::Indexed(index)), "{role:?}");
    }
    for theme in [Theme::dark(ColorDepth::TrueColor), Theme::light(ColorDepth::TrueColor)] {
        assert_eq!(theme.style(Role::Screen), Style::new(), "{}", theme.name());
    }
}

#[test]
fn a_small_theme_changes_what_it_names_and_inherits_the_rest() {
    let text = "inherits = \"high-contrast\"\n[palette]\ncyan = \"#010203\"\n[roles]\ntool = { fg = \
                \"red\", italic = true }\n";
    let (user, remarks) = mine(text, Role::User);
    assert_eq!((user.fg, remarks), (Some(Color::Rgb(1, 2, 3)), Vec::new()));
    let (tool, _) = mine(text, Role::Tool);
    assert_eq!(tool.fg, Some(Color::Rgb(0xff, 0x9c, 0x9c)));
    assert_eq!(tool.add_modifier, Modifier::ITALIC);
    assert_eq!(mine(text, Role::Screen).0.bg, Some(Color::Rgb(0, 0, 0)));
    let clear = format!("background = \"none\"\n{text}");
    assert_eq!(mine(&clear, Role::Screen).0.bg, None);
}

#[test]
fn a_file_without_a_parent_stands_on_slugs_own_for_its_kind() {
    let (user, remarks) = mine("kind = \"light\"", Role::User);
    assert_eq!((user, remarks), (Theme::light(ColorDepth::TrueColor).style(Role::User), vec![]));
    let (broken, remarks) = mine("kind = ", Role::User);
    assert_eq!(broken, Theme::dark(ColorDepth::TrueColor).style(Role::User));
    assert!(remarks[0].starts_with("/t/mine.toml:1: this is not TOML"), "{remarks:?}");
}

#[test]
fn what_a_theme_names_wrongly_is_told_and_inherited() {
    let (user, remarks) = mine("\n[roles]\nuser = \"cyna\"", Role::User);
    assert_eq!(user, Theme::dark(ColorDepth::TrueColor).style(Role::User));
    assert_eq!(
        remarks,
        ["/t/mine.toml:3: no colour is called `cyna`. Did you mean `cyan`?".to_owned()]
    );
    let (_, remarks) = mine("inherits = \"drak\"", Role::User);
    assert!(remarks[0].contains("no theme `drak`. Did you mean `dark`?"), "{remarks:?}");
}

#[test]
fn themes_that_inherit_in_a_circle_end() {
    let theme = |name: &str, parent: &str| OwnTheme {
        name: name.into(),
        path: format!("/t/{name}.toml").into(),
        text: format!("inherits = \"{parent}\""),
    };
    let library = Library::new(vec![theme("a", "b"), theme("b", "a"), theme("c", "c")]);
    for name in ["a", "c"] {
        let found = library.find(name, ColorDepth::TrueColor).unwrap();
        assert_eq!(
            found.theme.style(Role::User),
            Theme::dark(ColorDepth::TrueColor).style(Role::User)
        );
        assert_eq!(found.remarks.len(), 1, "{:?}", found.remarks);
    }
}

#[test]
fn a_theme_of_ones_own_stands_over_the_shipped_one_of_its_name() {
    let dark = OwnTheme {
        name: "dark".into(),
        path: "/t/dark.toml".into(),
        text: "inherits = \"dark\"\n[roles]\nuser = 200".into(),
    };
    let library = Library::new(vec![dark]);
    assert_eq!(library.names().iter().filter(|name| **name == "dark").count(), 1);
    let found = library.find("dark", ColorDepth::TrueColor).unwrap();
    assert_eq!(found.remarks, [""; 0]);
    assert_eq!(found.theme.style(Role::User).fg, Some(Color::Indexed(200)));
    let tool = Theme::dark(ColorDepth::TrueColor).style(Role::Tool);
    assert_eq!(found.theme.style(Role::Tool), tool);
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    let error = Library::default().find("high-contrst", ColorDepth::Palette).unwrap_err();
    assert_eq!(
        error.to_string(),
        "There is no theme `high-contrst`. Did you mean `high-contrast`? Type /theme to see them \
         all."
    );
}
