//! Tests of the first run's keys, and of how it looks.

use secrecy::ExposeSecret;

use super::super::samples::{arm, key, picture};
use super::*;

/// Selects "Another server" and takes it.
fn another(page: &mut FirstRunPage) {
    while page.selected() != FirstRunChoice::Other {
        press(page, KeyCode::Down);
    }
    press(page, KeyCode::Enter);
}

fn page() -> FirstRunPage {
    let environment = |name: &str| match name {
        "OPENAI_API_KEY" => Some("sk-secret".to_owned()),
        "ANTHROPIC_API_KEY" => Some("x".to_owned()),
        _ => None,
    };
    let mut page = FirstRunPage::new("~/.slug/config.toml", found_keys(environment));
    page.update(StartupInput::Opened);
    page
}

fn found(page: &mut FirstRunPage, name: &'static str, endpoint: &str, models: &[&str]) {
    let models = models.iter().map(|model| (*model).to_owned()).collect();
    page.update(StartupInput::Note(FirstRunEvent::Found(DetectedServer {
        name,
        endpoint: endpoint.into(),
        models,
    })));
}

/// Presses a key on a page that has been on screen for a while.
fn press(page: &mut FirstRunPage, code: KeyCode) -> StartupTransition<FirstRunJob, FirstRunAnswer> {
    arm(page);
    page.update(key(code))
}

fn typed(page: &mut FirstRunPage, text: &str) {
    for c in text.chars() {
        press(page, KeyCode::Char(c));
    }
}

fn used(
    next: StartupTransition<FirstRunJob, FirstRunAnswer>,
) -> (String, Option<String>, Option<String>) {
    match next {
        StartupTransition::Done(FirstRunAnswer::Use { target, model }) => {
            let FirstRunEndpoint { endpoint, key, .. } = target;
            (endpoint, key.map(|key| key.expose_secret().to_owned()), model)
        }
        other => panic!("{other:?}"),
    }
}

/// The check that a transition requests.
fn check(next: StartupTransition<FirstRunJob, FirstRunAnswer>) -> (u64, String, Option<String>) {
    match next {
        StartupTransition::Draw(jobs) => match jobs.as_slice() {
            [FirstRunJob::Check { id, target }] => {
                let key = target.key.as_ref().map(|key| key.expose_secret().to_owned());
                (*id, target.endpoint.clone(), key)
            }
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_local_server_is_used_without_a_key() {
    let mut page = page();
    found(&mut page, "vLLM", "http://localhost:8000/v1", &["qwen3"]);
    let expected = ("http://localhost:8000/v1".to_owned(), None, None);
    assert_eq!(used(press(&mut page, KeyCode::Enter)), expected);
}

#[test]
fn several_models_are_asked_about() {
    let mut page = page();
    found(&mut page, "Ollama", "http://localhost:11434/v1", &["a", "b"]);
    press(&mut page, KeyCode::Enter);
    press(&mut page, KeyCode::Down);
    press(&mut page, KeyCode::Down);
    let (_, _, model) = used(press(&mut page, KeyCode::Enter));
    assert_eq!(model.as_deref(), Some("b"));
}

#[test]
fn what_is_selected_stays_selected_while_servers_appear() {
    let mut page = page();
    press(&mut page, KeyCode::Down);
    press(&mut page, KeyCode::Down);
    assert_eq!(page.selected(), FirstRunChoice::Other);
    found(&mut page, "vLLM", "http://localhost:8000/v1", &["qwen3"]);
    assert_eq!(page.selected(), FirstRunChoice::Other);
    for _ in 0..3 {
        press(&mut page, KeyCode::Up);
    }
    assert_eq!(page.selected(), FirstRunChoice::Server("http://localhost:8000/v1".into()));
}

#[test]
fn a_key_of_the_environment_goes_to_its_own_server() {
    let mut page = page();
    let (id, endpoint, key) = check(press(&mut page, KeyCode::Enter));
    assert_eq!(
        (endpoint.as_str(), key.as_deref()),
        ("https://api.openai.com/v1", Some("sk-secret"))
    );
    let stale = FirstRunEvent::Checked { id: id + 1, models: Ok(Vec::new()) };
    assert!(matches!(page.update(StartupInput::Note(stale)), StartupTransition::Wait));
    let models = Ok(vec!["m".to_owned()]);
    let next = page.update(StartupInput::Note(FirstRunEvent::Checked { id, models }));
    assert_eq!(used(next).1.as_deref(), Some("sk-secret"));
}

#[test]
fn each_key_is_a_choice_that_works_at_once() {
    let mut page = page();
    let keys = [FirstRunChoice::Key("OPENAI_API_KEY"), FirstRunChoice::Key("ANTHROPIC_API_KEY")];
    assert_eq!(page.choices()[..2], keys);
    press(&mut page, KeyCode::Down);
    let (id, endpoint, key) = check(press(&mut page, KeyCode::Enter));
    assert_eq!((endpoint.as_str(), key.as_deref()), ("https://api.anthropic.com", Some("x")));
    let models = ["claude-opus-5-5", "claude-sonnet-5-5"].map(str::to_owned).to_vec();
    page.update(StartupInput::Note(FirstRunEvent::Checked { id, models: Ok(models) }));
    match press(&mut page, KeyCode::Enter) {
        StartupTransition::Done(FirstRunAnswer::Use { target, model }) => {
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
    page.update(StartupInput::Paste(" https://models.example/api \n".into()));
    press(&mut page, KeyCode::Enter);
    typed(&mut page, "secret");
    assert!(!picture(&page, 80, 24).contains("secret"));
    let (id, endpoint, key) = check(press(&mut page, KeyCode::Enter));
    assert_eq!((endpoint.as_str(), key.as_deref()), ("https://models.example/api", Some("secret")));
    let models = Err("The server says 401: the key is not known.".to_owned());
    page.update(StartupInput::Note(FirstRunEvent::Checked { id, models }));
    let shown = picture(&page, 80, 24);
    assert!(shown.contains("401") && shown.contains("ends in /v1"), "{shown}");
    assert!(shown.contains("https://models.example/api"), "the address can be mended: {shown}");
}

#[test]
fn an_unencrypted_address_of_another_host_needs_a_yes() {
    let mut page = page();
    another(&mut page);
    typed(&mut page, "http://gpu.lan:8000/v1");
    press(&mut page, KeyCode::Enter);
    assert!(matches!(page.step, FirstRunStep::Unencrypted));
    press(&mut page, KeyCode::Enter);
    assert!(matches!(page.step, FirstRunStep::Address), "enter is not a yes");
    press(&mut page, KeyCode::Enter);
    press(&mut page, KeyCode::Char('y'));
    let (_, endpoint, key) = check(press(&mut page, KeyCode::Enter));
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
        assert_eq!(address::judge(text).ok(), way, "{text}");
    }
}

#[test]
fn escape_goes_back_a_step_and_at_last_leaves() {
    let mut page = page();
    another(&mut page);
    typed(&mut page, "https://host/v1");
    press(&mut page, KeyCode::Enter);
    press(&mut page, KeyCode::Enter);
    assert!(matches!(page.step, FirstRunStep::Checking { .. }));
    press(&mut page, KeyCode::Esc);
    assert!(matches!(page.step, FirstRunStep::Address));
    press(&mut page, KeyCode::Esc);
    assert!(matches!(page.step, FirstRunStep::Choose));
    assert!(matches!(
        press(&mut page, KeyCode::Esc),
        StartupTransition::Done(FirstRunAnswer::Quit)
    ));
}

#[test]
fn the_demo_and_leaving_are_a_key_away() {
    let mut page = page();
    for _ in 0..5 {
        press(&mut page, KeyCode::Char('j'));
    }
    assert!(matches!(
        press(&mut page, KeyCode::Enter),
        StartupTransition::Done(FirstRunAnswer::Demo)
    ));
    let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert!(matches!(
        page.update(StartupInput::Key(ctrl_c)),
        StartupTransition::Done(FirstRunAnswer::Quit)
    ));
}

#[test]
fn looking_again_forgets_what_was_found() {
    let mut page = page();
    found(&mut page, "vLLM", "http://localhost:8000/v1", &[]);
    page.update(StartupInput::Note(FirstRunEvent::SearchFinished));
    assert!(matches!(
        press(&mut page, KeyCode::Char('r')),
        StartupTransition::Draw(jobs) if matches!(jobs.as_slice(), [FirstRunJob::FindServers])
    ));
    assert!(page.servers.is_empty());
}

#[test]
fn with_servers_and_keys_at_80_columns() {
    let mut page = page();
    found(&mut page, "vLLM", "http://localhost:8000/v1", &["Qwen/Qwen3-Coder-30B"]);
    found(&mut page, "Ollama", "http://localhost:11434/v1", &["a", "b", "c"]);
    insta::assert_snapshot!(picture(&page, 80, 24));
}

#[test]
fn with_nothing_found_at_120_columns() {
    let mut page = FirstRunPage::new("~/.slug/config.toml", Vec::new());
    page.update(StartupInput::Note(FirstRunEvent::SearchFinished));
    insta::assert_snapshot!(picture(&page, 120, 40));
}

#[test]
fn on_the_smallest_screen() {
    let mut page = page();
    found(&mut page, "vLLM", "http://localhost:8000/v1", &["Qwen/Qwen3-Coder-30B"]);
    press(&mut page, KeyCode::Down);
    press(&mut page, KeyCode::Down);
    insta::assert_snapshot!(picture(&page, 40, 12));
}

#[test]
fn the_key_is_typed_as_dots() {
    let mut page = page();
    another(&mut page);
    typed(&mut page, "https://host/v1");
    press(&mut page, KeyCode::Enter);
    typed(&mut page, "sk-123");
    insta::assert_snapshot!(picture(&page, 80, 24));
}

#[test]
fn an_unencrypted_address() {
    let mut page = page();
    another(&mut page);
    typed(&mut page, "http://gpu.lan:8000/v1");
    press(&mut page, KeyCode::Enter);
    insta::assert_snapshot!(picture(&page, 80, 24));
}

#[test]
fn nothing_breaks_at_any_size() {
    let mut page = page();
    for (width, height) in [(1, 1), (2, 3), (12, 5), (300, 100)] {
        picture(&page, width, height);
    }
    another(&mut page);
    typed(&mut page, "https://a-long-host.example/日本語/v1");
    for (width, height) in [(1, 1), (2, 3), (12, 5), (300, 100)] {
        picture(&page, width, height);
    }
}
