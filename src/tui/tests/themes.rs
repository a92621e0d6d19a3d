//! Tests of changing the theme.

use std::sync::Arc;

use crate::config::ThemeChoice;
use crate::platform::terminal_background::TerminalBackground;
use crate::tui::app::request_id::RequestId;
use crate::tui::app::{ScreenEffect, ScreenMsg, themes};
use crate::tui::test_screen::{TestScreen, screen};
use crate::tui::theme::ThemeLibrary;
use crate::tui::theme::library::UserTheme;

fn named(name: &str) -> ThemeChoice {
    ThemeChoice::Named(name.to_owned())
}

/// The open list of themes, with one of the user's own.
fn list() -> TestScreen {
    let scene = screen(80, 24).types("/theme").key("enter");
    let id = asked(&scene);
    scene.clear_effects().msg(ScreenMsg::ThemesRead { id, library: Arc::new(library()) })
}

fn library() -> ThemeLibrary {
    let path = "/home/me/.slug/themes/mine.toml".into();
    ThemeLibrary::new(vec![UserTheme {
        name: "mine".into(),
        path,
        text: "kind = \"light\"\nx = 1".into(),
    }])
}

fn asked(scene: &TestScreen) -> RequestId {
    let read = scene.effects.iter().find_map(|effect| match effect {
        ScreenEffect::ReadThemes(id) => Some(*id),
        _ => None,
    });
    read.unwrap()
}

/// The themes that were saved.
fn kept(scene: &TestScreen) -> Vec<ThemeChoice> {
    let kept = scene.effects.iter().filter_map(|effect| match effect {
        ScreenEffect::KeepTheme(choice) => Some(choice.clone()),
        _ => None,
    });
    kept.collect()
}

#[track_caller]
fn wears(scene: TestScreen, name: &str) -> TestScreen {
    assert_eq!(themes::shown(&scene.model), name, "{}", scene.text());
    scene
}

#[test]
fn the_list_of_themes() {
    insta::assert_snapshot!(list().readable_text());
}

#[test]
fn moving_through_the_list_shows_each_theme_at_once() {
    let scene = wears(list(), "dark").key("down");
    let scene = wears(scene, "dark").key("down");
    let scene = wears(scene, "light").key("down");
    assert_eq!(kept(&wears(scene, "high-contrast")), []);
}

#[test]
fn leaving_the_list_gives_back_what_was_there() {
    let scene = list().key("down").key("down");
    assert_eq!(kept(&wears(wears(scene, "light").key("esc"), "dark")), []);
    let scene = list().key("down").key("down");
    wears(scene.key("ctrl+c"), "dark");
}

#[test]
fn enter_keeps_the_theme() {
    let scene = list().types("contrast").key("enter");
    let scene = wears(scene, "high-contrast").shows("Theme: high-contrast");
    assert_eq!(kept(&scene), [named("high-contrast")]);
}

#[test]
fn the_filter_shows_its_best_match() {
    wears(list().types("mine"), "mine").shows("light, 1 error");
}

#[test]
fn a_theme_can_be_named_at_once() {
    let scene = screen(80, 24).types("/theme light").key("esc").key("enter");
    let id = asked(&scene);
    let scene = scene.clear_effects().msg(ScreenMsg::ThemesRead { id, library: Arc::default() });
    assert_eq!(kept(&wears(scene, "light")), [named("light")]);
}

#[test]
fn a_name_that_there_is_not_changes_nothing() {
    let scene = screen(80, 24).types("/theme ligth").key("enter");
    let id = asked(&scene);
    let scene = scene.clear_effects().msg(ScreenMsg::ThemesRead { id, library: Arc::default() });
    assert_eq!(kept(&wears(scene, "dark").shows("Did you mean `light`?")), []);
}

#[test]
fn mistakes_in_a_theme_are_told_when_it_is_chosen() {
    list().types("mine").key("enter").shows("mine.toml:2: a theme has no `x`");
}

#[test]
fn names_are_completed() {
    screen(80, 24).types("/theme hi").shows("high-contrast");
}

#[test]
fn an_answer_to_an_older_request_opens_nothing() {
    let scene = screen(80, 24).types("/theme").key("enter");
    let first = asked(&scene);
    let scene = scene.clear_effects().types("/theme").key("enter");
    scene.msg(ScreenMsg::ThemesRead { id: first, library: Arc::default() }).hides("Themes");
}

#[test]
fn the_background_decides_while_nothing_else_is_chosen() {
    let scene = wears(screen(80, 24), "dark").msg(ScreenMsg::Background(TerminalBackground::Light));
    let mut scene = wears(scene, "light");
    scene.model.shared.theme.choice =
        ThemeChoice::Pair { dark: "ansi".into(), light: "high-contrast".into() };
    let scene = wears(scene, "high-contrast").msg(ScreenMsg::Background(TerminalBackground::Dark));
    let mut scene = wears(scene, "ansi");
    assert!(scene.model.shared.theme.follows_background());
    scene.model.shared.theme.choice = named("light");
    assert!(!scene.model.shared.theme.follows_background());
    wears(scene, "light");
}
