//! Tests of the first run's keys, and of how it looks.

use crossterm::event::{KeyEvent, KeyModifiers};
use secrecy::ExposeSecret;

use super::super::samples::{StartupScene, answer};
use super::*;
use crate::domain::ProviderProtocol;
use crate::tui::app::ScreenMsg;
use crate::tui::app::startup::FirstRunKeyStorage;
use crate::tui::dialogs::OpenDialog;
use crate::tui::server_search::found_keys;

fn dialog(scene: &StartupScene) -> &FirstRunDialog {
    match scene.model.dialogs.top() {
        Some(OpenDialog::FirstRun(dialog)) => dialog,
        other => panic!("{other:?}"),
    }
}

/// Selects "Another server" and takes it.
fn another(scene: &mut StartupScene) {
    while dialog(scene).selected() != FirstRunChoice::Other {
        scene.press(KeyCode::Down);
    }
    scene.press(KeyCode::Enter);
}

fn page_at(width: u16, height: u16) -> StartupScene {
    let environment = |name: &str| match name {
        "OPENAI_API_KEY" => Some("sk-secret".to_owned()),
        "ANTHROPIC_API_KEY" => Some("x".to_owned()),
        _ => None,
    };
    let opening = FirstRunDialog::open("~/.slug/config.toml", found_keys(environment));
    assert_eq!(opening.effects, [ScreenEffect::FirstRun(FirstRunJob::FindServers)]);
    StartupScene::new(opening.dialog.unwrap(), width, height)
}

fn page() -> StartupScene {
    page_at(80, 24)
}

fn tell(scene: &mut StartupScene, event: FirstRunEvent) -> Vec<ScreenEffect> {
    scene.send(ScreenMsg::FirstRun(event))
}

fn found(scene: &mut StartupScene, name: &'static str, endpoint: &str, models: &[&str]) {
    let models = models.iter().map(|model| (*model).to_owned()).collect();
    let server = DetectedServer { name, endpoint: endpoint.into(), models };
    tell(scene, FirstRunEvent::Found(server));
}

fn typed(scene: &mut StartupScene, text: &str) {
    for c in text.chars() {
        scene.press(KeyCode::Char(c));
    }
}

fn first_run_answer(effects: Vec<ScreenEffect>) -> Option<FirstRunAnswer> {
    answer(effects).map(|answer| match answer {
        StartupAnswer::FirstRun(answer) => answer,
        StartupAnswer::Trust(other) => panic!("{other:?}"),
    })
}

fn used(effects: Vec<ScreenEffect>) -> (String, Option<String>, Option<String>) {
    match first_run_answer(effects) {
        Some(FirstRunAnswer::Use { target, model }) => {
            let FirstRunEndpoint { endpoint, key, .. } = target;
            (endpoint, key.map(|key| key.expose_secret().to_owned()), model)
        }
        other => panic!("{other:?}"),
    }
}

/// The check that effects ask for.
fn check(effects: &[ScreenEffect]) -> (u64, String, Option<String>) {
    match effects {
        [ScreenEffect::FirstRun(FirstRunJob::Check { id, target })] => {
            let key = target.key.as_ref().map(|key| key.expose_secret().to_owned());
            (*id, target.endpoint.clone(), key)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_local_server_is_used_without_a_key() {
    let mut page = page();
    found(&mut page, "vLLM", "http://localhost:8000/v1", &["qwen3"]);
    let expected = ("http://localhost:8000/v1".to_owned(), None, None);
    assert_eq!(used(page.press(KeyCode::Enter)), expected);
}

#[test]
fn several_models_are_asked_about() {
    let mut page = page();
    found(&mut page, "Ollama", "http://localhost:11434/v1", &["a", "b"]);
    page.press(KeyCode::Enter);
    page.press(KeyCode::Down);
    page.press(KeyCode::Down);
    let (_, _, model) = used(page.press(KeyCode::Enter));
    assert_eq!(model.as_deref(), Some("b"));
}

#[test]
fn what_is_selected_stays_selected_while_servers_appear() {
    let mut page = page();
    page.press(KeyCode::Down);
    page.press(KeyCode::Down);
    assert_eq!(dialog(&page).selected(), FirstRunChoice::Other);
    found(&mut page, "vLLM", "http://localhost:8000/v1", &["qwen3"]);
    assert_eq!(dialog(&page).selected(), FirstRunChoice::Other);
    for _ in 0..3 {
        page.press(KeyCode::Up);
    }
    assert_eq!(dialog(&page).selected(), FirstRunChoice::Server("http://localhost:8000/v1".into()));
}

#[test]
fn a_key_of_the_environment_goes_to_its_own_server() {
    let mut page = page();
    let (id, endpoint, key) = check(&page.press(KeyCode::Enter));
    assert_eq!(
        (endpoint.as_str(), key.as_deref()),
        ("https://api.openai.com/v1", Some("sk-secret"))
    );
    let stale = FirstRunEvent::Checked { id: id + 1, models: Ok(Vec::new()) };
    assert_eq!(tell(&mut page, stale), []);
    let models = Ok(vec!["m".to_owned()]);
    let next = tell(&mut page, FirstRunEvent::Checked { id, models });
    assert_eq!(used(next).1.as_deref(), Some("sk-secret"));
}

#[test]
fn each_key_is_a_choice_that_works_at_once() {
    let mut page = page();
    let keys = [FirstRunChoice::Key("OPENAI_API_KEY"), FirstRunChoice::Key("ANTHROPIC_API_KEY")];
    assert_eq!(dialog(&page).choices()[..2], keys);
    page.press(KeyCode::Down);
    let (id, endpoint, key) = check(&page.press(KeyCode::Enter));
    assert_eq!((endpoint.as_str(), key.as_deref()), ("https://api.anthropic.com", Some("x")));
    let models = ["claude-opus-5-5", "claude-sonnet-5-5"].map(str::to_owned).to_vec();
    tell(&mut page, FirstRunEvent::Checked { id, models: Ok(models) });
    match first_run_answer(page.press(KeyCode::Enter)) {
        Some(FirstRunAnswer::Use { target, model }) => {
            assert_eq!(
                (target.protocol, target.key_storage),
                (ProviderProtocol::Anthropic, FirstRunKeyStorage::InEnvironment)
            );
            assert_eq!(model.as_deref(), Some("claude-sonnet-5-5"), "what is usually asked");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn another_server_is_checked_and_its_error_shown() {
    let mut page = page();
    another(&mut page);
    page.send(ScreenMsg::Paste(" https://models.example/api \n".into()));
    page.press(KeyCode::Enter);
    typed(&mut page, "secret");
    assert!(!page.picture().contains("secret"));
    let (id, endpoint, key) = check(&page.press(KeyCode::Enter));
    assert_eq!((endpoint.as_str(), key.as_deref()), ("https://models.example/api", Some("secret")));
    let models = Err("The server says 401: the key is not known.".to_owned());
    tell(&mut page, FirstRunEvent::Checked { id, models });
    let shown = page.picture();
    assert!(shown.contains("401") && shown.contains("ends in /v1"), "{shown}");
    assert!(shown.contains("https://models.example/api"), "the address can be mended: {shown}");
}

#[test]
fn an_unencrypted_address_of_another_host_needs_a_yes() {
    let mut page = page();
    another(&mut page);
    typed(&mut page, "http://gpu.lan:8000/v1");
    page.press(KeyCode::Enter);
    assert!(matches!(&dialog(&page).step, FirstRunStep::Unencrypted));
    page.press(KeyCode::Enter);
    assert!(matches!(&dialog(&page).step, FirstRunStep::Address), "enter is not a yes");
    page.press(KeyCode::Enter);
    page.press(KeyCode::Char('y'));
    let (_, endpoint, key) = check(&page.press(KeyCode::Enter));
    assert_eq!((endpoint.as_str(), key), ("http://gpu.lan:8000/v1", None));
}

#[test]
fn addresses_are_judged_by_host_and_scheme() {
    let cases = [
        ("https://host/v1", Some(AddressSecurity::Safe)),
        ("http://localhost:8000/v1", Some(AddressSecurity::Safe)),
        ("http://127.0.0.1:8000", Some(AddressSecurity::Safe)),
        ("http://127.9.9.9", Some(AddressSecurity::Safe)),
        ("http://[::1]:8000/v1", Some(AddressSecurity::Safe)),
        ("http://a.localhost/v1", Some(AddressSecurity::Safe)),
        ("http://10.0.0.2:8000/v1", Some(AddressSecurity::Unencrypted)),
        ("http://localhost.example/v1", Some(AddressSecurity::Unencrypted)),
        ("http://127.0.0.1.example/v1", Some(AddressSecurity::Unencrypted)),
        ("https://me:pw@host/v1", None),
        ("localhost:8000", None),
        ("ftp://host", None),
        ("host/v1", None),
        ("", None),
    ];
    for (text, way) in cases {
        assert_eq!(server_address::judge(text).ok(), way, "{text}");
    }
}

#[test]
fn escape_goes_back_a_step_and_at_last_leaves() {
    let mut page = page();
    another(&mut page);
    typed(&mut page, "https://host/v1");
    page.press(KeyCode::Enter);
    page.press(KeyCode::Enter);
    assert!(matches!(&dialog(&page).step, FirstRunStep::Checking { .. }));
    page.press(KeyCode::Esc);
    assert!(matches!(&dialog(&page).step, FirstRunStep::Address));
    page.press(KeyCode::Esc);
    assert!(matches!(&dialog(&page).step, FirstRunStep::Choose));
    assert_eq!(first_run_answer(page.press(KeyCode::Esc)), Some(FirstRunAnswer::Quit));
}

#[test]
fn the_demo_and_leaving_are_a_key_away() {
    let mut page = page();
    for _ in 0..5 {
        page.press(KeyCode::Char('j'));
    }
    assert_eq!(first_run_answer(page.press(KeyCode::Enter)), Some(FirstRunAnswer::Demo));
    let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(first_run_answer(page.event(ctrl_c)), Some(FirstRunAnswer::Quit));
}

#[test]
fn looking_again_forgets_what_was_found() {
    let mut page = page();
    found(&mut page, "vLLM", "http://localhost:8000/v1", &[]);
    tell(&mut page, FirstRunEvent::SearchFinished);
    let search = ScreenEffect::FirstRun(FirstRunJob::FindServers);
    assert_eq!(page.press(KeyCode::Char('r')), [search]);
    assert!(dialog(&page).servers.is_empty());
}

#[test]
fn with_servers_and_keys_at_80_columns() {
    let mut page = page();
    found(&mut page, "vLLM", "http://localhost:8000/v1", &["Qwen/Qwen3-Coder-30B"]);
    found(&mut page, "Ollama", "http://localhost:11434/v1", &["a", "b", "c"]);
    insta::assert_snapshot!(page.picture());
}

#[test]
fn with_nothing_found_at_120_columns() {
    let dialog = FirstRunDialog::new("~/.slug/config.toml", Vec::new());
    let mut page = StartupScene::new(dialog, 120, 40);
    tell(&mut page, FirstRunEvent::SearchFinished);
    insta::assert_snapshot!(page.picture());
}

#[test]
fn on_the_smallest_screen() {
    let mut page = page_at(40, 12);
    found(&mut page, "vLLM", "http://localhost:8000/v1", &["Qwen/Qwen3-Coder-30B"]);
    page.press(KeyCode::Down);
    page.press(KeyCode::Down);
    insta::assert_snapshot!(page.picture());
}

#[test]
fn the_key_is_typed_as_dots() {
    let mut page = page();
    another(&mut page);
    typed(&mut page, "https://host/v1");
    page.press(KeyCode::Enter);
    typed(&mut page, "sk-123");
    insta::assert_snapshot!(page.picture());
}

#[test]
fn an_unencrypted_address() {
    let mut page = page();
    another(&mut page);
    typed(&mut page, "http://gpu.lan:8000/v1");
    page.press(KeyCode::Enter);
    insta::assert_snapshot!(page.picture());
}

#[test]
fn nothing_breaks_at_any_size() {
    let mut page = page();
    for (width, height) in [(1, 1), (2, 3), (12, 5), (300, 100)] {
        page.resize(width, height);
        page.picture();
    }
    another(&mut page);
    typed(&mut page, "https://a-long-host.example/日本語/v1");
    for (width, height) in [(1, 1), (2, 3), (12, 5), (300, 100)] {
        page.resize(width, height);
        page.picture();
    }
}

#[test]
fn no_log_shows_the_key() {
    let mut page = page();
    another(&mut page);
    typed(&mut page, "https://host/v1");
    page.press(KeyCode::Enter);
    typed(&mut page, "hunter2");
    let shown = format!("{:?}", page.model.dialogs);
    assert!(!shown.contains("hunter2") && !shown.contains("sk-secret"), "{shown}");
}
