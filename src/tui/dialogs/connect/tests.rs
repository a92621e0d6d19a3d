//! Tests of the page's keys and lines, and of how it looks.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use secrecy::ExposeSecret;

use super::*;
use crate::domain::ProviderProtocol;
use crate::services::connect::ServerAccess;
use crate::services::server_search::found_keys;
use crate::tui::app::ScreenMsg;
use crate::tui::dialogs::OpenDialog;
use crate::tui::dialogs::startup::samples::{StartupScene, answer};

fn dialog(scene: &StartupScene) -> &ConnectDialog {
    match scene.model.dialogs.top() {
        Some(OpenDialog::Connect(dialog)) => dialog,
        other => panic!("{other:?}"),
    }
}

/// Selects a row of the list and takes it.
fn take(scene: &mut StartupScene, choice: &ConnectChoice) -> Vec<ScreenEffect> {
    let rows = dialog(scene).choices();
    assert!(rows.contains(choice), "{choice:?} in {rows:?}");
    for _ in 0..rows.len() {
        scene.press(KeyCode::Up);
    }
    while dialog(scene).selected() != *choice {
        scene.press(KeyCode::Down);
    }
    scene.press(KeyCode::Enter)
}

fn environment(name: &str) -> Option<String> {
    match name {
        "OPENAI_API_KEY" => Some("sk-secret".to_owned()),
        "ANTHROPIC_API_KEY" => Some("x".to_owned()),
        _ => None,
    }
}

fn page_at(width: u16, height: u16) -> StartupScene {
    let opening = ConnectDialog::first_run("~/.slug/config.toml", Vec::new(), Vec::new());
    assert_eq!(opening.effects, [ScreenEffect::Connect(ConnectJob::FindServers)]);
    StartupScene::new(opening.dialog.unwrap(), width, height)
}

fn page() -> StartupScene {
    page_at(80, 24)
}

/// The page with keys in the environment.
fn page_with_keys() -> StartupScene {
    let opening =
        ConnectDialog::first_run("~/.slug/config.toml", found_keys(environment), Vec::new());
    StartupScene::new(opening.dialog.unwrap(), 80, 24)
}

/// The page with a model file that slug could serve.
fn page_with_file(width: u16, height: u16) -> StartupScene {
    let file = DetectedModelFile {
        path: "/models/qwen3-8b.gguf".into(),
        name: "qwen3-8b".to_owned(),
        details: "5.0 GB, fits, with a window of 32.8k".to_owned(),
    };
    let opening = ConnectDialog::first_run("~/.slug/config.toml", Vec::new(), vec![file]);
    StartupScene::new(opening.dialog.unwrap(), width, height)
}

#[test]
fn a_model_file_is_offered_where_no_server_runs() {
    for size in [(80, 24), (120, 40)] {
        let mut page = page_with_file(size.0, size.1);
        assert!(!page.picture().contains("qwen3-8b"), "{}", page.picture());
        tell(&mut page, ConnectEvent::SearchFinished);
        assert!(
            page.picture().contains("qwen3-8b  5.0 GB, fits, with a window"),
            "{}",
            page.picture()
        );
        assert!(page.picture().contains("slug starts llama-server"), "{}", page.picture());
        let answer =
            first_run_answer(take(&mut page, &ConnectChoice::File("/models/qwen3-8b.gguf".into())));
        assert_eq!(answer, Some(FirstRunAnswer::File("/models/qwen3-8b.gguf".into())));
    }
    let mut page = page_with_file(80, 24);
    found(&mut page, "vLLM", "http://localhost:8000/v1", &["m"]);
    tell(&mut page, ConnectEvent::SearchFinished);
    assert!(!page.picture().contains("qwen3-8b"), "{}", page.picture());
}

/// The page beside a chat, with two providers configured.
fn chat_page(width: u16, height: u16) -> StartupScene {
    configured_page(ConnectDialog::in_chat("lab", None), width, height)
}

fn configured_page(opening: DialogOpening<ConnectDialog>, width: u16, height: u16) -> StartupScene {
    let mut scene = StartupScene::new(opening.dialog.unwrap(), width, height);
    let configured = |name: &str, endpoint: &str, key: Option<&str>, place| ConnectedProvider {
        name: name.to_owned(),
        protocol: ProviderProtocol::ChatCompletions,
        endpoint: endpoint.to_owned(),
        key: key.map(str::to_owned),
        place,
    };
    let lab = ConnectPlace::Named("lab".to_owned());
    let providers = vec![
        configured("lab", "https://llm.example/v1", Some("set"), lab),
        ConnectedProvider {
            protocol: ProviderProtocol::Gemini,
            ..configured(
                "gemini",
                HostedService::Gemini.endpoint(),
                Some("in $GEMINI_API_KEY"),
                ConnectPlace::Environment("GEMINI_API_KEY"),
            )
        },
    ];
    let file = "~/.slug/config.toml".to_owned();
    tell(&mut scene, ConnectEvent::Configured { file, providers });
    tell(&mut scene, ConnectEvent::SearchFinished);
    scene
}

fn tell(scene: &mut StartupScene, event: ConnectEvent) -> Vec<ScreenEffect> {
    scene.send(ScreenMsg::Connect(event))
}

fn found(scene: &mut StartupScene, name: &'static str, endpoint: &str, models: &[&str]) {
    let models = models.iter().map(|model| (*model).to_owned()).collect();
    let access = ServerAccess::Open;
    let server = DetectedServer { name, endpoint: endpoint.into(), models, access };
    tell(scene, ConnectEvent::Found(server));
}

/// A server that refuses to list its models without a key.
fn found_locked(scene: &mut StartupScene, name: &'static str, endpoint: &str) {
    let access = ServerAccess::WantsKey;
    let server = DetectedServer { name, endpoint: endpoint.into(), models: Vec::new(), access };
    tell(scene, ConnectEvent::Found(server));
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

fn used(effects: Vec<ScreenEffect>) -> (ConnectTarget, Option<String>) {
    match first_run_answer(effects) {
        Some(FirstRunAnswer::Use { target, model }) => (target, model),
        other => panic!("{other:?}"),
    }
}

/// The job that effects ask for.
fn job(effects: &[ScreenEffect]) -> &ConnectJob {
    match effects {
        [ScreenEffect::Connect(job)] => job,
        other => panic!("{other:?}"),
    }
}

/// The check that effects ask for.
fn check(effects: &[ScreenEffect]) -> (u64, String, Option<String>) {
    match job(effects) {
        ConnectJob::Check { id, target } => {
            let key = target.key.as_ref().map(|key| key.expose_secret().to_owned());
            (*id, target.endpoint.clone(), key)
        }
        other => panic!("{other:?}"),
    }
}

fn answers(models: &[&str]) -> Result<Vec<String>, ConnectFailure> {
    Ok(models.iter().map(|model| (*model).to_owned()).collect())
}

fn fails(message: &str, fault: ProviderFault) -> Result<Vec<String>, ConnectFailure> {
    Err(ConnectFailure { message: message.to_owned(), fault })
}

#[test]
fn a_local_server_is_used_without_a_key() {
    let mut page = page();
    found(&mut page, "vLLM", "http://localhost:8000/v1", &["qwen3"]);
    let expected = ConnectTarget::server("http://localhost:8000/v1".to_owned(), None);
    assert_eq!(used(page.press(KeyCode::Enter)), (expected, None));
}

#[test]
fn a_local_server_that_wants_a_key_is_listed_and_asks_for_it() {
    let mut page = page();
    found_locked(&mut page, "vLLM", "http://localhost:8000/v1");
    assert!(page.picture().contains("needs a key"), "{}", page.picture());
    page.press(KeyCode::Enter);
    page.send(ScreenMsg::Paste(" token \n".into()));
    let (id, endpoint, key) = check(&page.press(KeyCode::Enter));
    assert_eq!((endpoint.as_str(), key.as_deref()), ("http://localhost:8000/v1", Some("token")));
    let next = tell(&mut page, ConnectEvent::Checked { id, models: answers(&["qwen3"]) });
    let (target, _) = used(next);
    assert_eq!((target.place, target.key.is_some()), (ConnectPlace::Top, true));
}

#[test]
fn several_models_are_asked_about() {
    let mut page = page();
    found(&mut page, "Ollama", "http://localhost:11434/v1", &["a", "b"]);
    page.press(KeyCode::Enter);
    page.press(KeyCode::Down);
    page.press(KeyCode::Down);
    let (_, model) = used(page.press(KeyCode::Enter));
    assert_eq!(model.as_deref(), Some("b"));
}

#[test]
fn what_is_selected_stays_selected_while_servers_appear() {
    let mut page = page();
    page.press(KeyCode::Down);
    let openai = ConnectChoice::Hosted(HostedService::OpenAi);
    assert_eq!(dialog(&page).selected(), openai);
    found(&mut page, "vLLM", "http://localhost:8000/v1", &["qwen3"]);
    assert_eq!(dialog(&page).selected(), openai);
    for _ in 0..3 {
        page.press(KeyCode::Up);
    }
    let server = ConnectChoice::Server("http://localhost:8000/v1".into());
    assert_eq!(dialog(&page).selected(), server);
}

#[test]
fn a_hosted_service_takes_a_key_and_its_usual_model() {
    let mut page = page();
    take(&mut page, &ConnectChoice::Hosted(HostedService::Anthropic));
    assert_eq!(page.press(KeyCode::Enter), [], "no key is typed yet");
    typed(&mut page, "sk-wrong");
    assert!(!page.picture().contains("sk-wrong"));
    let (id, endpoint, key) = check(&page.press(KeyCode::Enter));
    assert_eq!(
        (endpoint.as_str(), key.as_deref()),
        ("https://api.anthropic.com", Some("sk-wrong"))
    );
    let refused = fails("The server refuses the key.", ProviderFault::KeyRefused);
    tell(&mut page, ConnectEvent::Checked { id, models: refused });
    assert!(page.picture().contains("! The server refuses the key."), "{}", page.picture());
    typed(&mut page, "sk-right");
    let (id, _, key) = check(&page.press(KeyCode::Enter));
    assert_eq!(key.as_deref(), Some("sk-right"));
    let listed = answers(&["claude-opus-5-5", "claude-sonnet-5-5"]);
    let (target, model) = used(tell(&mut page, ConnectEvent::Checked { id, models: listed }));
    assert_eq!(model.as_deref(), Some("claude-sonnet-5-5"));
    let place = ConnectPlace::Named("anthropic".to_owned());
    assert_eq!((target.protocol, target.place), (ProviderProtocol::Anthropic, place));
}

#[test]
fn a_key_of_the_environment_is_used_where_it_is() {
    let mut page = page_with_keys();
    let first = ConnectChoice::Hosted(HostedService::Anthropic);
    assert_eq!(dialog(&page).selected(), first, "what has a key comes first");
    let (id, endpoint, key) =
        check(&take(&mut page, &ConnectChoice::Hosted(HostedService::OpenAi)));
    let sent = (endpoint.as_str(), key.as_deref());
    assert_eq!(sent, ("https://api.openai.com/v1", Some("sk-secret")));
    let stale = ConnectEvent::Checked { id: id + 1, models: Ok(Vec::new()) };
    assert_eq!(tell(&mut page, stale), []);
    let (target, _) = used(tell(&mut page, ConnectEvent::Checked { id, models: answers(&["m"]) }));
    assert_eq!(target.place, ConnectPlace::Environment("OPENAI_API_KEY"));
}

#[test]
fn another_server_is_asked_without_a_key_first() {
    let mut page = page();
    take(&mut page, &ConnectChoice::Other);
    page.send(ScreenMsg::Paste(" models.example/api \n".into()));
    let (id, endpoint, key) = check(&page.press(KeyCode::Enter));
    assert_eq!((endpoint.as_str(), key), ("https://models.example/api", None));
    let refused = fails("The server wants a key.", ProviderFault::KeyRefused);
    tell(&mut page, ConnectEvent::Checked { id, models: refused });
    assert!(page.picture().contains("The key for this server"), "{}", page.picture());
    typed(&mut page, "secret");
    let (id, _, key) = check(&page.press(KeyCode::Enter));
    assert_eq!(key.as_deref(), Some("secret"));
    tell(
        &mut page,
        ConnectEvent::Checked { id, models: fails("It is on fire.", ProviderFault::Other) },
    );
    assert!(page.picture().contains("It is on fire."), "{}", page.picture());
}

#[test]
fn an_address_that_fails_can_be_mended() {
    let mut page = page();
    take(&mut page, &ConnectChoice::Other);
    typed(&mut page, "127.0.0.1:8089");
    let (id, endpoint, _) = check(&page.press(KeyCode::Enter));
    assert_eq!(endpoint, "http://127.0.0.1:8089/v1");
    let models = fails("No server answers.", ProviderFault::NotListening);
    tell(&mut page, ConnectEvent::Checked { id, models });
    let shown = page.picture();
    assert!(shown.contains("No server answers.") && shown.contains("127.0.0.1:8089"), "{shown}");
}

#[test]
fn the_address_of_a_known_service_asks_for_its_key() {
    let mut page = page();
    take(&mut page, &ConnectChoice::Other);
    typed(&mut page, "api.openai.com");
    page.press(KeyCode::Enter);
    assert!(page.picture().contains("Your OpenAI key"), "{}", page.picture());
}

#[test]
fn an_unencrypted_address_of_another_host_needs_a_yes() {
    let mut page = page();
    take(&mut page, &ConnectChoice::Other);
    typed(&mut page, "http://gpu.lan:8000/v1");
    page.press(KeyCode::Enter);
    assert!(matches!(&dialog(&page).step, ConnectStep::Unencrypted(_)));
    page.press(KeyCode::Enter);
    assert!(matches!(&dialog(&page).step, ConnectStep::Address), "enter is not a yes");
    page.press(KeyCode::Enter);
    let (_, endpoint, key) = check(&page.press(KeyCode::Char('y')));
    assert_eq!((endpoint.as_str(), key), ("http://gpu.lan:8000/v1", None));
}

#[test]
fn escape_goes_back_a_step_and_at_last_leaves() {
    let mut page = page();
    take(&mut page, &ConnectChoice::Other);
    typed(&mut page, "https://host/v1");
    page.press(KeyCode::Enter);
    assert!(matches!(&dialog(&page).step, ConnectStep::Checking { .. }));
    page.press(KeyCode::Esc);
    assert!(matches!(&dialog(&page).step, ConnectStep::Address));
    page.press(KeyCode::Esc);
    assert!(matches!(&dialog(&page).step, ConnectStep::Choose));
    assert_eq!(first_run_answer(page.press(KeyCode::Esc)), Some(FirstRunAnswer::Quit));
}

#[test]
fn the_demo_and_leaving_are_a_key_away() {
    let mut page = page();
    for _ in 0..9 {
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
    tell(&mut page, ConnectEvent::SearchFinished);
    let search = ScreenEffect::Connect(ConnectJob::FindServers);
    assert_eq!(page.press(KeyCode::Char('r')), [search]);
    assert!(dialog(&page).servers.is_empty());
}

#[test]
fn beside_the_chat_a_new_provider_is_saved_and_answers_at_once() {
    let mut page = chat_page(80, 24);
    take(&mut page, &ConnectChoice::Hosted(HostedService::OpenRouter));
    typed(&mut page, "sk-or");
    let (id, _, _) = check(&page.press(KeyCode::Enter));
    let models = answers(&["meta/llama", "openrouter/auto"]);
    let next = tell(&mut page, ConnectEvent::Checked { id, models });
    let ConnectJob::Save { id, target, model, preference } = job(&next) else { panic!("{next:?}") };
    assert_eq!(target.place, ConnectPlace::Named("openrouter".to_owned()));
    assert_eq!(model.as_deref(), Some("openrouter/auto"));
    assert_eq!(*preference, ConnectPreference::Additional);
    let saved = ModelName::new("openrouter", "openrouter/auto");
    let next = tell(&mut page, ConnectEvent::Saved { id: *id, outcome: Ok("openrouter".into()) });
    let agent = page.model.conversation.agent;
    assert_eq!(next, [ScreenEffect::Agent(agent, AgentCommand::UseModel(saved))]);
    assert!(page.model.dialogs.is_empty());
}

#[test]
fn a_found_server_gets_a_free_name() {
    let mut page = chat_page(80, 24);
    found(&mut page, "LM Studio", "http://localhost:1234/v1", &["a"]);
    let next = take(&mut page, &ConnectChoice::Server("http://localhost:1234/v1".into()));
    let ConnectJob::Save { target, .. } = job(&next) else { panic!("{next:?}") };
    assert_eq!(target.place, ConnectPlace::Named("lm-studio".to_owned()));
    let failed = ConnectEvent::Saved { id: 1, outcome: Err("The disk is full.".into()) };
    assert_eq!(tell(&mut page, failed), []);
    assert!(page.picture().contains("! The disk is full."), "{}", page.picture());
}

#[test]
fn a_configured_provider_is_tested_changed_and_removed() {
    let lab = ConnectChoice::Configured("lab".to_owned());
    let mut page = chat_page(80, 24);
    take(&mut page, &lab);
    page.press(KeyCode::Down);
    let tested = page.press(KeyCode::Enter);
    assert_eq!(job(&tested), &ConnectJob::Test { id: 1, provider: "lab".into() });
    tell(&mut page, ConnectEvent::Checked { id: 1, models: answers(&["a", "b"]) });
    assert!(page.picture().contains("lab answers: 2 models."), "{}", page.picture());

    take(&mut page, &lab);
    page.press(KeyCode::Down);
    page.press(KeyCode::Down);
    page.press(KeyCode::Enter);
    typed(&mut page, "new-key");
    let (_, endpoint, key) = check(&page.press(KeyCode::Enter));
    assert_eq!((endpoint.as_str(), key.as_deref()), ("https://llm.example/v1", Some("new-key")));
    page.press(KeyCode::Esc);

    take(&mut page, &lab);
    for _ in 0..3 {
        page.press(KeyCode::Down);
    }
    page.press(KeyCode::Enter);
    assert!(page.picture().contains("Remove lab?"), "{}", page.picture());
    page.press(KeyCode::Enter);
    assert!(matches!(&dialog(&page).step, ConnectStep::Choose), "enter is not a yes");
    take(&mut page, &lab);
    for _ in 0..3 {
        page.press(KeyCode::Down);
    }
    page.press(KeyCode::Enter);
    let asked = page.press(KeyCode::Char('y'));
    let place = ConnectPlace::Named("lab".to_owned());
    let ConnectJob::Remove { id, place: removed } = job(&asked) else { panic!("{asked:?}") };
    assert_eq!(*removed, place);
    tell(&mut page, ConnectEvent::Removed { id: *id, outcome: Ok(Vec::new()) });
    assert!(!page.picture().contains("llm.example"), "{}", page.picture());
}

#[test]
fn a_key_of_the_environment_is_not_changed_here() {
    let mut page = chat_page(80, 24);
    take(&mut page, &ConnectChoice::Configured("gemini".to_owned()));
    let shown = page.picture();
    assert!(shown.contains("Test it") && !shown.contains("Remove it"), "{shown}");
    assert!(shown.contains("key in $GEMINI_API_KEY"), "{shown}");
}

#[test]
fn after_a_rejected_key_the_page_asks_for_another() {
    let rejected = |provider: &str| {
        let opening = ConnectDialog::in_chat(provider, Some(ProviderFault::KeyRefused));
        configured_page(opening, 80, 24)
    };
    let mut page = rejected("lab");
    let shown = page.picture();
    assert!(shown.contains("https://llm.example/v1"), "{shown}");
    assert!(shown.contains("The server rejected the key. Enter another one."), "{shown}");
    typed(&mut page, "sk-new");
    let next = page.press(KeyCode::Enter);
    let ConnectJob::Check { target, .. } = job(&next) else { panic!("{next:?}") };
    assert_eq!(target.place, ConnectPlace::Named("lab".to_owned()));
    assert_eq!(target.key.as_ref().map(|key| key.expose_secret()), Some("sk-new"));

    let mut page = rejected("lab");
    page.press(KeyCode::Esc);
    assert!(matches!(dialog(&page).step, ConnectStep::Choose), "esc leads to all that there is");
    // A key of the environment is changed there.
    assert!(matches!(dialog(&rejected("gemini")).step, ConnectStep::Choose));
}

#[test]
fn what_mends_a_fault_is_what_slug_starts_with() {
    let opening = ConnectDialog::in_chat("lab", Some(ProviderFault::NotListening));
    let mut page = StartupScene::new(opening.dialog.unwrap(), 80, 24);
    found(&mut page, "Ollama", "http://localhost:11434/v1", &["a"]);
    let next = page.press(KeyCode::Enter);
    let ConnectJob::Save { preference, .. } = job(&next) else { panic!("{next:?}") };
    assert_eq!(*preference, ConnectPreference::Default);
}

#[test]
fn lines_answer_it_without_a_screen() {
    let mut page = chat_page(80, 24);
    let line = |page: &mut StartupScene, text: &str| {
        page.arm();
        page.send(ScreenMsg::Line(text.to_owned()))
    };
    let read = linear_page::page(dialog(&page)).unwrap();
    let read: Vec<_> = read.lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(
        read[..3],
        ["Connect a model", "1. lab, which is connected", "2. gemini, which is connected"]
    );
    assert_eq!(line(&mut page, "9"), [], "no row has this number");
    line(&mut page, "1");
    let tested = line(&mut page, "2");
    assert_eq!(job(&tested), &ConnectJob::Test { id: 1, provider: "lab".into() });
    tell(&mut page, ConnectEvent::Checked { id: 1, models: answers(&["a"]) });
    line(&mut page, "1");
    line(&mut page, "4");
    line(&mut page, "maybe");
    assert!(matches!(&dialog(&page).step, ConnectStep::Removing(_)));
    line(&mut page, "n");
    line(&mut page, "3");
    let asked = linear_page::page(dialog(&page)).unwrap();
    assert!(asked.lines[0].text.contains("is not typed here"), "{asked:?}");
    assert_eq!(line(&mut page, "sk-shown"), [], "a key that everyone saw is used for nothing");
    line(&mut page, "");
    assert!(matches!(&dialog(&page).step, ConnectStep::Choose));
    line(&mut page, "");
    assert!(page.model.dialogs.is_empty());
}

#[test]
fn with_servers_and_keys_at_80_columns() {
    let mut page = page_with_keys();
    found(&mut page, "vLLM", "http://localhost:8000/v1", &["Qwen/Qwen3-Coder-30B"]);
    found_locked(&mut page, "Ollama", "http://localhost:11434/v1");
    insta::assert_snapshot!(page.readable_picture());
}

#[test]
fn with_nothing_found_at_120_columns() {
    let mut page = page_at(120, 40);
    tell(&mut page, ConnectEvent::SearchFinished);
    insta::assert_snapshot!(page.readable_picture());
}

#[test]
fn on_the_smallest_screen() {
    let mut page = page_at(40, 12);
    found(&mut page, "vLLM", "http://localhost:8000/v1", &["Qwen/Qwen3-Coder-30B"]);
    page.press(KeyCode::Down);
    page.press(KeyCode::Down);
    insta::assert_snapshot!(page.readable_picture());
}

#[test]
fn beside_the_chat_at_80_columns() {
    insta::assert_snapshot!(chat_page(80, 24).readable_picture());
}

#[test]
fn the_key_is_typed_as_dots() {
    let mut page = page();
    take(&mut page, &ConnectChoice::Hosted(HostedService::Gemini));
    typed(&mut page, "sk-123");
    insta::assert_snapshot!(page.readable_picture());
}

#[test]
fn an_unencrypted_address() {
    let mut page = page();
    take(&mut page, &ConnectChoice::Other);
    typed(&mut page, "http://gpu.lan:8000/v1");
    page.press(KeyCode::Enter);
    insta::assert_snapshot!(page.readable_picture());
}

#[test]
fn nothing_breaks_at_any_size() {
    let sizes = [(1, 1), (2, 3), (12, 5), (20, 6), (300, 100)];
    let at_all_sizes = |page: &mut StartupScene| {
        for (width, height) in sizes {
            page.resize(width, height);
            page.picture();
        }
        page.resize(80, 24);
    };
    let mut page = page();
    at_all_sizes(&mut page);
    take(&mut page, &ConnectChoice::Other);
    typed(&mut page, "https://a-long-host.example/\u{65e5}\u{672c}\u{8a9e}/v1");
    at_all_sizes(&mut page);
    let mut page = chat_page(80, 24);
    take(&mut page, &ConnectChoice::Configured("lab".to_owned()));
    at_all_sizes(&mut page);
}

#[test]
fn no_log_shows_the_key() {
    let mut page = page_with_keys();
    take(&mut page, &ConnectChoice::Hosted(HostedService::Gemini));
    typed(&mut page, "hunter2");
    let shown = format!("{:?}", page.model.dialogs);
    assert!(!shown.contains("hunter2") && !shown.contains("sk-secret"), "{shown}");
}
