//! Tests of `/settings`: the list, the ways to a new value, what is refused, and undo.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::{
    ConfigEnvironment, ConfigFlags, ConfigText, ConfigTexts, SettingChange, SettingInput,
    StatusItem, StatusItems, resolve, setting, setting_values,
};
use crate::tui::app::conversation::composer::EditingMode;
use crate::tui::app::conversation::side_panel::SidePanelChoice;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::msg::ScreenMsg;
use crate::tui::app::request_id::RequestId;
use crate::tui::app::setting_admin::SettingRequest;
use crate::tui::app::setting_response::{LiveSettings, SavedSetting, SettingResponse};
use crate::tui::app::settings::MotionPreference;
use crate::tui::app::wheel::WheelSettings;
use crate::tui::test_screen::{TestScreen, screen};

/// What the service answers where the user's file has this text, `--model` is given, and the project
/// sets the temperature.
fn response(text: &str, saved: Option<SavedSetting>) -> SettingResponse {
    let file = |path: &str, text: &str| {
        Some(ConfigText { path: PathBuf::from(path), text: text.to_owned() })
    };
    let texts = ConfigTexts {
        user: file("/h/config.toml", text),
        project: file("/p/.slug/config.toml", "temperature = 1\n"),
        ..ConfigTexts::default()
    };
    let flags = ConfigFlags { model: Some("m".to_owned()), ..ConfigFlags::default() };
    let config = resolve(&texts, &ConfigEnvironment::default(), &flags).unwrap();
    SettingResponse { values: setting_values(&config, Path::new("/h/config.toml")), saved }
}

/// The id of the last request to the service, and what it asks for.
fn asked(scene: &TestScreen) -> (RequestId, SettingRequest) {
    let last = scene.effects.iter().rev().find_map(|effect| match effect {
        ScreenEffect::Settings { id, job } => Some((*id, job.clone())),
        _ => None,
    });
    last.unwrap_or_else(|| panic!("{:?}", scene.effects))
}

fn open(width: u16, height: u16) -> TestScreen {
    let scene = screen(width, height).types("/settings").key("enter");
    let (id, job) = asked(&scene);
    assert_eq!(job, SettingRequest::List);
    let answer = Ok(response("[ui]\nmouse = false\n", None));
    scene.clear_effects().msg(ScreenMsg::Settings { id, answer })
}

fn change(key: &str, to: SettingInput) -> SettingRequest {
    SettingRequest::Change(SettingChange { setting: setting(key).unwrap(), to })
}

fn live() -> LiveSettings {
    LiveSettings {
        motion: MotionPreference::Reduced,
        wheel: WheelSettings { rows: 9, events: 1 },
        notify_after: Duration::from_secs(70),
        status_items: StatusItems { left: vec![StatusItem::Slug], right: Vec::new() },
        typing: EditingMode::Vi,
        panel: SidePanelChoice::Hidden,
    }
}

/// What the service answers once this setting is written, with what brings its old value back.
fn saved(text: &str, key: &str, undo: SettingInput) -> SettingResponse {
    let undo = SettingChange { setting: setting(key).unwrap(), to: undo };
    let file = "~/.slug/config.toml".to_owned();
    response(text, Some(SavedSetting { undo, file, live: live() }))
}

fn answered(scene: TestScreen, answer: Result<SettingResponse, String>) -> TestScreen {
    let id = asked(&scene).0;
    scene.clear_effects().msg(ScreenMsg::Settings { id, answer })
}

#[test]
fn the_settings_at_80x24_120x40_and_200x60() {
    insta::assert_snapshot!("settings_80x24", open(80, 24).readable_text());
    insta::assert_snapshot!("settings_120x40", open(120, 40).readable_text());
    insta::assert_snapshot!("settings_200x60", open(200, 60).readable_text());
}

#[test]
fn other_programs_names_open_them_too() {
    for name in ["/config", "/preferences", "/options"] {
        let scene = screen(80, 24).types(name).key("enter");
        assert_eq!(asked(&scene).1, SettingRequest::List, "{name}");
    }
}

#[test]
fn a_setting_is_found_by_its_key_its_description_and_other_words() {
    open(100, 30).types("ui.mou").shows("your file:2").shows("1 of 60");
    open(100, 30).types("thinks").shows("effort").hides("ui.mouse");
    open(100, 30).types("colors").shows("ui.theme").shows("1 of 60");
    open(100, 30).types("vim").shows("❯ ui.keys").shows("ui.vi");
    open(100, 30).shows(" 60 ").types("zzz").shows("0 of 60").shows("Nothing matches.");
}

#[test]
fn a_choice_is_picked_from_a_list_and_sent_to_the_file() {
    let scene = open(80, 24).types("ui.mouse").key("enter").shows("true").shows("❯ false");
    let scene = scene.shows("removes it from config.toml").types("true").key("enter");
    let typed = SettingInput::Typed("true".to_owned());
    assert_eq!(asked(&scene).1, change("ui.mouse", typed));
    let scene = open(80, 24).types("ui.mouse").key("enter").types("reset").key("enter");
    assert_eq!(asked(&scene).1, change("ui.mouse", SettingInput::Default));
}

#[test]
fn the_values_say_what_they_mean_and_which_one_is_current() {
    let scene = open(80, 24).types("ui.notify").key("enter");
    let scene = scene.shows("for iTerm2 and Windows Terminal").shows("current");
    insta::assert_snapshot!("values_80x24", scene.readable_text());
}

#[test]
fn esc_leads_back_to_the_list_with_its_filter() {
    let scene = open(80, 24).types("ui.mouse").key("enter").key("esc");
    let scene = scene.shows("Settings").shows("/ ui.mouse").hides("takes the setting out");
    let scene = scene.key("esc").hides("Settings");
    assert!(scene.model.dialogs.is_empty());
    open(80, 24).types("wheel_rows").key("enter").key("esc").shows("/ wheel_rows");
}

#[test]
fn a_refused_value_stays_in_the_field_with_the_reason_until_it_is_right() {
    let scene = open(80, 24).types("wheel_rows").key("enter").shows("3 (default)");
    let scene = scene.types("99").hides("3 (default)").key("enter");
    assert_eq!(asked(&scene).1, change("ui.wheel_rows", SettingInput::Typed("99".to_owned())));
    let reason = "Not saved: `ui.wheel_rows` must be between 1 and 50.";
    let scene = answered(scene, Err(reason.to_owned())).after(10_000);
    insta::assert_snapshot!("refused_80x24", scene.readable_text());
    let scene = scene.shows(reason).key("backspace").key("enter");
    assert_eq!(asked(&scene).1, change("ui.wheel_rows", SettingInput::Typed("9".to_owned())));
    let answer = saved("ui.wheel_rows = 9\n", "ui.wheel_rows", SettingInput::Default);
    let scene = answered(scene, Ok(answer));
    let scene = scene.hides("Not saved").shows("your file:1").shows("2 of 61");
    insta::assert_snapshot!("saved_80x24", scene.readable_text());
}

#[test]
fn the_field_names_the_words_that_there_are() {
    let scene = open(80, 24).types("ui.status").key("enter");
    scene.shows("Words: slug folder branch title").shows("cached cost |");
    open(80, 24).types("models").key("enter").shows("Separate words with spaces.");
}

#[test]
fn a_change_is_asked_for_once() {
    let scene = open(80, 24).types("wheel_rows").key("enter").types("9").key("enter").key("enter");
    let changes = scene.effects.iter().filter(|it| matches!(it, ScreenEffect::Settings { .. }));
    assert_eq!(changes.count(), 1);
}

#[test]
fn a_choice_that_cannot_be_saved_is_told_about() {
    let scene = open(80, 24).types("ui.mouse").key("enter").types("true").key("enter");
    answered(scene, Err("Not saved: no space".to_owned())).shows("Not saved: no space");
}

#[test]
fn what_a_flag_or_the_project_sets_is_refused_with_its_name() {
    for (filter, why) in [
        ("the model to start", "--model sets model for this run. Start slug without it first."),
        ("temperature", "The project sets temperature. Change /p/.slug/config.toml."),
    ] {
        let scene = open(120, 40).types(filter).clear_effects().key("enter");
        assert_eq!(scene.text().matches(why).count(), 2, "below the list and as a toast");
        let asks = |it: &ScreenEffect| matches!(it, ScreenEffect::Settings { .. });
        assert!(!scene.effects.iter().any(asks), "{:?}", scene.effects);
        assert_eq!(scene.model.dialogs.len(), 1);
    }
}

#[test]
fn a_command_opens_for_what_it_changes_and_a_key_is_not_shown() {
    open(80, 24).types("api_key").key("enter").hides("Settings").shows("Connect");
    open(100, 30).types("headers").key("enter").shows("in config.toml itself");
}

#[test]
fn a_saved_setting_takes_effect_and_is_undone_and_done_again() {
    let scene = open(80, 24).types("wheel_rows").key("enter").types("9").key("enter");
    let back = SettingInput::Toml("3".to_owned());
    let answer = saved("ui.wheel_rows = 9\n", "ui.wheel_rows", back.clone());
    let scene = answered(scene, Ok(answer));
    assert_eq!(scene.model.shared.settings.wheel.rows, 9);
    assert!(scene.model.conversation.composer.vi.is_none(), "another setting is not touched");
    let scene = scene.shows("Saved ui.wheel_rows in ~/.slug/config.toml. It takes effect at once.");
    let scene = scene.key("up").shows("❯ Undo ui.wheel_rows  back to 3").key("enter");
    assert_eq!(asked(&scene).1, change("ui.wheel_rows", back));
    let again = SettingInput::Toml("9".to_owned());
    let answer = saved("ui.wheel_rows = 3\n", "ui.wheel_rows", again.clone());
    let scene = answered(scene, Ok(answer)).shows("❯ Undo ui.wheel_rows  back to 9").key("enter");
    assert_eq!(asked(&scene).1, change("ui.wheel_rows", again));
}

#[test]
fn each_setting_of_the_screen_takes_effect_by_itself() {
    for (key, text) in [
        ("ui.reduced_motion", "true"),
        ("ui.wheel_events", "1"),
        ("ui.notify_after", "70"),
        ("ui.status", "slug"),
        ("ui.vi", "true"),
    ] {
        let scene = open(80, 24).types(key).key("enter").types(text).key("enter");
        let before = scene.model.shared.settings.clone();
        let answer = saved("", key, SettingInput::Default);
        let scene = answered(scene, Ok(answer));
        let now = scene.model.shared.settings.clone();
        let changed = [
            ("ui.reduced_motion", before.motion != now.motion),
            ("ui.wheel_events", before.wheel != now.wheel),
            ("ui.notify_after", before.notify_after != now.notify_after),
            ("ui.status", before.status_items != now.status_items),
            ("ui.vi", before.typing != now.typing),
        ];
        for (name, changed) in changed {
            assert_eq!(changed, name == key, "{name} after a change of {key}");
        }
        assert_eq!(scene.model.conversation.composer.vi.is_some(), key == "ui.vi");
    }
}

#[test]
fn without_a_screen_a_setting_is_changed_by_lines() {
    let scene = open(80, 24).msg(ScreenMsg::Line("ui.wheel_rows".into()));
    assert_eq!(scene.model.dialogs.len(), 1, "the field took the place of the list");
    let scene = scene.msg(ScreenMsg::Line("7".into()));
    assert_eq!(asked(&scene).1, change("ui.wheel_rows", SettingInput::Typed("7".to_owned())));
    assert!(scene.model.dialogs.is_empty());
    let answer = Err("Not saved: no space".to_owned());
    answered(scene, answer).shows("Not saved: no space");
}
