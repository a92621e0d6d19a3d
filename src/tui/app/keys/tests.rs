//! Every place of the screen: what is dispatched there is listed, and what is listed is dispatched.

use std::collections::BTreeSet;

use super::super::keymap::KeyContext;
use super::*;
use crate::config::{SettingValue, ThemeChoice, setting};
use crate::domain::ModelName;
use crate::tui::app::choice::PickerChoice;
use crate::tui::app::picker_list::PickerItem;
use crate::tui::app::request_id::RequestId;
use crate::tui::app::shared::RunningRace;
use crate::tui::dialogs::changes::ChangesPage;
use crate::tui::dialogs::connect::ConnectDialog;
use crate::tui::dialogs::context::ContextPage;
use crate::tui::dialogs::hooks::HookTrustDialog;
use crate::tui::dialogs::jobs::JobsPage;
use crate::tui::dialogs::lsp::LspPage;
use crate::tui::dialogs::mcp::McpPage;
use crate::tui::dialogs::memory::MemoryPage;
use crate::tui::dialogs::picker::Picker;
use crate::tui::dialogs::race::RacePage;
use crate::tui::dialogs::reading::{ReadingDialog, ReadingPage};
use crate::tui::dialogs::rewind::{RewindDialog, RewindStage};
use crate::tui::dialogs::rules::RulesPage;
use crate::tui::dialogs::settings::SettingField;
use crate::tui::dialogs::startup::trust::{TrustDialog, TrustSubject};
use crate::tui::dialogs::turn_review::TurnReview;
use crate::tui::test_screen::{TestScreen, question, questions, recorded, screen, user};

/// The actions that are dispatched: each is pressed on a screen of its own.
fn dispatched(model: &ScreenModel) -> BTreeSet<String> {
    let map = Arc::clone(&model.shared.settings.keys);
    let rows = KeyContext::ALL.into_iter().flat_map(|context| map.rows(context));
    let takes = rows.filter(|row| {
        let press = KeyPress::action(&map, row.id);
        pressed(&mut model.clone(), &press);
        press.progress() == KeyPressProgress::Known
    });
    takes.map(|row| row.full_name()).collect()
}

fn listed(model: &ScreenModel) -> BTreeSet<String> {
    let map = &model.shared.settings.keys;
    let rows = place(model).listed().flat_map(|context| map.rows(context));
    rows.map(|row| row.full_name()).collect()
}

fn list_of(choice: PickerChoice) -> Picker {
    let (label, detail, aside) = ("a row".to_owned(), String::new(), String::new());
    Picker::ready(
        "Rows",
        vec![PickerItem { label, detail, aside, keywords: String::new(), choice }],
    )
}

/// A screen with a message, on which this was done.
fn done(act: impl FnOnce(&mut ScreenModel)) -> TestScreen {
    let mut scene = screen(80, 24).event(recorded(&user("the first message")));
    act(&mut scene.model);
    scene.after(400).after(400)
}

fn scenes() -> Vec<(KeyPlace, TestScreen)> {
    let pane = || done(|_| {}).key("esc").key("tab");
    vec![
        (KeyPlace::EmptyInput, screen(80, 24)),
        (KeyPlace::Input, screen(80, 24).types("hello")),
        (KeyPlace::InputList, screen(80, 24).types("/he")),
        (KeyPlace::InputList, screen(80, 24).types("!ls")),
        (KeyPlace::Panes, pane()),
        (KeyPlace::Match, pane().key("/").types("first").key("enter")),
        (KeyPlace::Search, pane().key("/").types("fir")),
        (KeyPlace::Caret, pane().key("v")),
        (KeyPlace::Sessions, screen(80, 24).key("ctrl+b")),
        (KeyPlace::Approval, screen(80, 24).event(question(1, "npm test")).after(400)),
        (KeyPlace::Questions, screen(80, 24).event(questions(1)).after(400)),
        (KeyPlace::Field, screen(80, 24).event(question(1, "npm test")).after(400).key("t")),
        (
            KeyPlace::List,
            done(|it| it.dialogs.push(list_of(PickerChoice::Theme(ThemeChoice::Auto)))),
        ),
        (
            KeyPlace::Models,
            done(|it| {
                let name = ModelName::new("local", "qwen3");
                it.dialogs.push(list_of(PickerChoice::Model(name)));
            }),
        ),
        (KeyPlace::Reading, done(|it| it.dialogs.push(ReadingDialog::new(ReadingPage::Todos)))),
        (KeyPlace::Reading, done(|it| it.dialogs.push(HookTrustDialog::new("+ all".into())))),
        (KeyPlace::Reading, done(|it| it.dialogs.push(trust()))),
        (KeyPlace::Choice, done(connect)),
        (KeyPlace::List, done(connect).key("enter")),
        (KeyPlace::Pager, pager()),
        (KeyPlace::PagerSearch, pager().key("/")),
        (KeyPlace::Changes, done(|it| it.dialogs.push(ChangesPage::new(None)))),
        (KeyPlace::Context, done(|it| it.dialogs.push(ContextPage::default()))),
        (
            KeyPlace::Agents,
            done(|it| it.dialogs.push(agents::open(it.conversation.agent, &it.shared))),
        ),
        (
            KeyPlace::Race,
            done(|it| {
                let (parent, sides) = (it.conversation.agent, [AgentId(8), AgentId(9)]);
                it.dialogs.push(RacePage::new(RunningRace { parent, sides }, parent));
            }),
        ),
        (KeyPlace::Jobs, done(|it| it.dialogs.push(JobsPage::new(None, RequestId(9))))),
        (KeyPlace::Mcp, done(|it| it.dialogs.push(McpPage::new(RequestId(9))))),
        (KeyPlace::Lsp, done(|it| it.dialogs.push(LspPage::new(RequestId(9))))),
        (KeyPlace::Memory, done(|it| it.dialogs.push(MemoryPage::default()))),
        (KeyPlace::Rules, done(|it| it.dialogs.push(RulesPage::default()))),
        (KeyPlace::Field, done(|it| it.dialogs.push(setting_field()))),
        (KeyPlace::Field, done(|it| it.dialogs.push(RulesPage::default())).key("a")),
        (KeyPlace::Review, done(|it| it.dialogs.push(TurnReview::new()))),
        (KeyPlace::Rewind, done(|it| it.dialogs.push(RewindDialog::new(RewindStage::Planning)))),
    ]
}

fn setting_field() -> SettingField {
    SettingField::new(SettingValue {
        setting: setting("ui.wheel_rows").unwrap(),
        value: "3".to_owned(),
        source: "default".to_owned(),
        overridden: None,
    })
}

fn trust() -> TrustDialog {
    TrustDialog::new("~/src", TrustSubject::Folder, &[])
}

fn connect(model: &mut ScreenModel) {
    let _effects =
        model.dialogs.open(ConnectDialog::first_run("~/.slug/config.toml", Vec::new(), Vec::new()));
}

fn pager() -> TestScreen {
    done(|it| {
        let document = Arc::new(TextDocument::new(1, "one\ntwo\n"));
        it.dialogs.push(Pager::new("A text".to_owned(), document));
    })
}

#[test]
fn what_is_dispatched_is_listed_and_what_is_listed_is_dispatched() {
    for (expected, scene) in scenes() {
        assert_eq!(place(&scene.model), expected, "{}", scene.text());
        assert_eq!(
            dispatched(&scene.model),
            listed(&scene.model),
            "{expected:?}\n{}",
            scene.text()
        );
    }
}

#[test]
fn every_place_has_a_scene() {
    let seen: Vec<KeyPlace> = scenes().into_iter().map(|(place, _)| place).collect();
    for place in KeyPlace::ALL {
        assert!(seen.contains(&place), "{place:?}");
    }
}

#[test]
fn on_an_empty_input_the_palette_offers_what_brings_text_back() {
    let palette = screen(80, 24).key("ctrl+p").types("paste the last deletion");
    palette.shows("paste the last deletion").shows("ctrl+y");
}

#[test]
fn the_last_line_names_what_brings_text_back_only_if_there_is_some() {
    let removed = screen(120, 24).hides("paste").types("hello").key("ctrl+u");
    removed.shows("ctrl+y paste");
}

#[test]
fn while_text_is_typed_in_the_list_of_sessions_its_keys_to_leave_and_close_work_too() {
    let scene = screen(80, 24).key("ctrl+b").key("/");
    assert_eq!(place(&scene.model), KeyPlace::List);
    let (dispatched, listed) = (dispatched(&scene.model), listed(&scene.model));
    let more: Vec<&String> = dispatched.difference(&listed).collect();
    assert_eq!(more, ["chat.sessions", "sessions.leave"]);
    assert!(listed.is_subset(&dispatched));
}

#[test]
fn on_the_sheet_of_keys_the_key_that_opened_it_works_too() {
    let scene = screen(80, 24).key("?");
    assert_eq!(place(&scene.model), KeyPlace::Reading);
    let (dispatched, listed) = (dispatched(&scene.model), listed(&scene.model));
    let more: Vec<&String> = dispatched.difference(&listed).collect();
    assert_eq!(more, ["empty-input.help"]);
}
