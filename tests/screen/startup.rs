//! The questions before the chat, and the first start.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::support::connect_proxy::ConnectProxy;
use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::terminal::{PtySlug, key};
use crate::support::test_env::TestEnv;
use crate::{bash, last_user_text};

const QUESTION: &str = "Do you trust this folder?";

/// A workspace that brings its own instructions and a rule.
fn with_its_own_ways() -> TestEnv {
    let env = TestEnv::new();
    env.write("SLUG.md", "Speak like a PIRATE.\n");
    env.write(".slug/settings.json", r#"{"permissions":{"allow":["Bash(touch made)"]}}"#);
    env
}

fn untrusted(env: &TestEnv, server: &ModelServer) -> PtySlug {
    let arguments = ["-m", "test-model", "-e", &server.endpoint()];
    PtySlug::at(env, 100, 30).args(&arguments).open()
}

#[test]
fn a_new_folder_is_asked_about_before_anything_is_sent() {
    let (env, server) = (with_its_own_ways(), ModelServer::start());
    let mut slug = untrusted(&env, &server);
    slug.wait_until("the question with what the folder brings", |screen| {
        screen.contains(QUESTION)
            && screen.contains("SLUG.md")
            && screen.contains("Bash(touch made)")
    });
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_folder_with_nothing_to_trust_is_not_asked_about() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let mut slug = untrusted(&env, &server);
    slug.wait_for("slug asks before it changes or runs anything.");
    assert!(!slug.raw().contains(QUESTION));
    slug.quit();
    // No answer was kept: what comes later is asked about.
    env.write("SLUG.md", "Speak like a PIRATE.\n");
    let mut slug = untrusted(&env, &server);
    slug.wait_for(QUESTION);
}

/// `npx` and `python3 -m` run what they find in the folder that they start in.
#[test]
fn an_empty_folder_is_asked_about_before_the_users_own_servers_start_there() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.run(&["mcp", "add", "own", "--", "touch", "started"]).assert_exit_code(0);
    let mut slug = untrusted(&env, &server);
    slug.wait_until("the question", |screen| {
        screen.contains(QUESTION) && screen.contains("MCP servers in it")
    });
    assert!(!env.path("started").exists());
}

#[test]
fn a_rule_that_slug_saved_itself_is_not_asked_about() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(bash("c1", "touch made"));
    server.reply(ServerReply::text("Not then."));
    let mut slug = untrusted(&env, &server);
    slug.wait_for("test-model");
    slug.say("run it");
    slug.answer("touch made", "d");
    slug.wait_for("settings.local.json");
    slug.keys(key::ENTER);
    slug.wait_for("Not then.");
    assert!(env.read(".slug/settings.local.json").contains("deny"));
    slug.quit();
    let mut slug = untrusted(&env, &server);
    slug.wait_for("slug asks before it changes or runs anything.");
    assert!(!slug.raw().contains(QUESTION));
}

#[test]
fn s57_a_repository_that_configures_programs_for_git_is_asked_about() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write(".git/config", "[core]\n\tfsmonitor = ./evil\n");
    let mut slug = untrusted(&env, &server);
    slug.wait_for(QUESTION);
    slug.wait_for("continue without trusting");
}

#[test]
fn a_trusted_folder_brings_its_rules_and_instructions() {
    let (env, server) = (with_its_own_ways(), ModelServer::start());
    server.reply(bash("c1", "touch made"));
    server.reply(ServerReply::text("Arr."));
    let mut slug = untrusted(&env, &server);
    slug.wait_for_question(QUESTION);
    slug.keys("y");
    slug.wait_for("test-model");
    slug.say("run it");
    slug.wait_for("Arr.");
    assert!(env.path("made").exists());
    assert!(server.chat_requests()[0].body.to_string().contains("PIRATE"));
    server.assert_clean();
}

#[test]
fn without_trust_nothing_of_the_folder_is_active() {
    let (env, server) = (with_its_own_ways(), ModelServer::start());
    server.reply(bash("c1", "touch made"));
    server.reply(ServerReply::text("As you wish."));
    let mut slug = untrusted(&env, &server);
    slug.wait_for_question(QUESTION);
    slug.keys("n");
    slug.wait_for("test-model");
    slug.say("run it");
    slug.answer("touch made", "n");
    slug.wait_for("As you wish.");
    for request in server.chat_requests() {
        assert!(!request.body.to_string().contains("PIRATE"), "{}", request.body);
    }
}

#[test]
fn trust_is_asked_for_once() {
    let (env, server) = (with_its_own_ways(), ModelServer::start());
    let mut slug = untrusted(&env, &server);
    slug.wait_for_question(QUESTION);
    slug.keys("y");
    slug.wait_for("test-model");
    slug.quit();
    let mut slug = untrusted(&env, &server);
    slug.wait_for("test-model");
    assert!(!slug.raw().contains(QUESTION));
}

#[test]
fn the_home_folder_is_not_asked_about_and_not_trusted() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    std::fs::write(env.home().join("SLUG.md"), "Speak like a PIRATE.\n").unwrap();
    server.reply(ServerReply::text("Good morning."));
    let home = env.home().display().to_string();
    let arguments = ["-m", "test-model", "-e", &server.endpoint(), "--directory", &home];
    let mut slug = PtySlug::at(&env, 100, 30).args(&arguments).open();
    slug.wait_for("cannot be trusted: it contains too much.");
    slug.say("hello");
    slug.wait_for("Good morning.");
    assert!(!slug.raw().contains(QUESTION));
    assert!(!server.chat_requests()[0].body.to_string().contains("PIRATE"));
    slug.quit();
}

#[test]
fn with_nothing_configured_it_helps_to_begin() {
    let env = TestEnv::new();
    let mut slug = PtySlug::at(&env, 100, 30).args(&["--trust-workspace"]).open();
    slug.wait_until("the first-run screen", |screen| {
        screen.contains("Choose a model.")
            && screen.contains("On this machine")
            && screen.contains("Anthropic")
            && screen.contains("Try the demo")
    });
}

#[test]
fn a_server_typed_at_the_first_run_is_kept_and_used() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    // The setting applies to the server that is chosen later.
    env.write_home("config.toml", "headers = { X-Team = \"blue\" }\n");
    server.reply(ServerReply::text("Good morning."));
    let mut slug = PtySlug::at(&env, 100, 30).args(&["--trust-workspace"]).open();
    choose_address(&mut slug);
    // What is left out is completed.
    let address = server.endpoint().replace("http://", "").replace("/v1", "");
    slug.keys(&address);
    slug.wait_for_question(&address);
    slug.keys(key::ENTER);
    slug.wait_for("test-model");
    slug.say("hello");
    slug.wait_for("Good morning.");
    let file = env.slug_home().join("config.toml");
    assert!(std::fs::read_to_string(&file).unwrap().contains(&server.endpoint()));
    let asked = server.requests();
    assert!(asked.iter().all(|it| it.headers["x-team"] == "blue"), "{asked:?}");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

/// Goes to the row for an address, on a machine that may have other servers, and takes it.
fn choose_address(slug: &mut PtySlug) {
    slug.wait_for_no("looking");
    slug.wait_for("Enter an address");
    let is_marked = |screen: &str| screen.contains("❯ Enter an address");
    for _ in 0..12 {
        if is_marked(&slug.screen()) {
            break;
        }
        let before = slug.screen();
        slug.keys(key::DOWN);
        slug.wait_until("a step down", |screen| screen != before);
    }
    slug.wait_until("the row for an address", is_marked);
    slug.wait_for_question("Enter an address");
    slug.keys(key::ENTER);
    slug.wait_for("The address of the server");
}

#[test]
fn a_dead_server_is_replaced_from_inside() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Good morning."));
    // Nothing listens on this port of the loopback interface.
    env.write_home("config.toml", "endpoint = \"http://127.0.0.1:1/v1\"\nmodel = \"gone\"\n");
    let mut slug = PtySlug::at(&env, 100, 30).args(&["--trust-workspace"]).open();
    slug.wait_for("enter: fix it now");
    slug.keys(key::ENTER);
    slug.wait_for("Connect a model");
    choose_address(&mut slug);
    slug.keys(&server.endpoint());
    slug.wait_for_question(&server.endpoint());
    slug.keys(key::ENTER);
    slug.wait_for("Connected: ");
    slug.say("hello");
    slug.wait_for("Good morning.");
    assert_eq!(server.chat_requests()[0].body["model"], "test-model");
    slug.quit();
    let file = env.slug_home().join("config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("[providers.127-0-0-1-"), "{text}");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    // The server that works is the one that slug starts with.
    server.reply(ServerReply::text("Good night."));
    let mut slug = PtySlug::at(&env, 100, 30).args(&["--trust-workspace"]).open();
    slug.wait_for("test-model");
    slug.say("bye");
    slug.wait_for("Good night.");
}

#[test]
fn a_key_of_the_environment_is_tried_on_the_way_that_is_configured() {
    let (env, tunnel) = (TestEnv::new(), ConnectProxy::start());
    let proxy = format!("proxy = \"{}\"\n", tunnel.address());
    env.write_home("config.toml", &format!("{}{proxy}", tunnel.ca_file()));
    let start = PtySlug::at(&env, 100, 30).args(&["--linear", "--trust-workspace"]);
    let mut slug = start.env("OPENAI_API_KEY", "CANARY-key").open();
    slug.wait_for_raw("the question", |raw| raw.contains("Type a number, or an address"));
    // Depends on how many other servers this machine has.
    let raw = slug.raw();
    let row = raw.lines().find(|line| line.contains("OPENAI_API_KEY")).unwrap();
    let (number, _) = row.split_once('.').unwrap();
    slug.wait_for_question("OPENAI_API_KEY");
    slug.keys(&format!("{}\r", number.trim()));
    slug.wait_for_raw("the conversation", |raw| raw.ends_with("You: "));
    let asked = &tunnel.requests()[0];
    assert_eq!(asked.connect, "CONNECT api.openai.com:443 HTTP/1.1");
    assert!(asked.head[0].starts_with("GET /v1/models"), "{asked:?}");
    let key = "authorization: Bearer CANARY-key";
    assert!(asked.head.iter().any(|line| line.eq_ignore_ascii_case(key)), "{asked:?}");
    assert!(!slug.raw().contains("CANARY"));
}

fn with_two_models(server: ModelServer) -> ModelServer {
    let models = json!({"object": "list", "data": [
        {"id": "small-model", "object": "model"}, {"id": "large-model", "object": "model"}]});
    server.answer("GET /v1/models", ServerReply::json(200, &models));
    server.reply(ServerReply::text("Large it is."));
    server
}

fn take_second_model(slug: &mut PtySlug) {
    slug.wait_until("both models", |screen| {
        screen.contains("small-model") && screen.contains("large-model")
    });
    slug.keys(key::DOWN);
    slug.keys(key::ENTER);
}

#[test]
fn the_user_chooses_among_several_models() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let server = with_two_models(server);
    let arguments = ["--trust-workspace", "-e", &server.endpoint()];
    let mut slug = PtySlug::at(&env, 100, 30).args(&arguments).open();
    take_second_model(&mut slug);
    slug.wait_for_no("small-model");
    slug.say("hello");
    slug.wait_for("Large it is.");
    assert_eq!(server.chat_requests()[0].body["model"], "large-model");
}

#[test]
fn the_only_model_of_a_server_is_taken() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Good morning."));
    let arguments = ["--trust-workspace", "-e", &server.endpoint()];
    let mut slug = PtySlug::at(&env, 100, 30).args(&arguments).open();
    slug.wait_for("test-model");
    slug.say("hello");
    slug.wait_for("Good morning.");
    assert_eq!(server.chat_requests()[0].body["model"], "test-model");
}

#[test]
fn no_color_writes_no_colour() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("# Title\n\n```rust\nfn main() {}\n```\n\n> quoted\n"));
    let endpoint = server.endpoint();
    let arguments = ["--trust-workspace", "-m", "test-model", "-e", &endpoint];
    let mut slug = PtySlug::at(&env, 100, 30).args(&arguments).env("NO_COLOR", "1").open();
    slug.wait_for("test-model");
    slug.say("show me");
    slug.wait_for("quoted");
    let raw = slug.raw();
    let coloured: Vec<&str> = raw.split("\x1b[").skip(1).filter_map(colour).collect();
    assert!(coloured.is_empty(), "{coloured:?}");
}

/// The parameters of a sequence that sets a colour other than the terminal's default.
fn colour(sequence: &str) -> Option<&str> {
    let end = sequence.find(|c: char| c != ';' && c != ':' && !c.is_ascii_digit())?;
    let parameters = sequence[end..].starts_with('m').then_some(&sequence[..end])?;
    let mut numbers = parameters.split([';', ':']).filter_map(|number| number.parse().ok());
    let is_colour = |number: u16| matches!(number, 30..=38 | 40..=48 | 58 | 90..=97 | 100..=107);
    numbers.any(is_colour).then_some(parameters)
}

#[test]
fn a_message_on_the_command_line_is_sent_first() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    server.reply(ServerReply::text("Fixed."));
    let mut slug = PtySlug::at(&env, 100, 30).server(&server).args(&["fix the tests"]).open();
    slug.wait_for("Fixed.");
    slug.quit();
    server.reply(ServerReply::text("As a line."));
    let arguments = ["--linear", "!touch", "made"];
    let slug = PtySlug::at(&env, 100, 30).server(&server).args(&arguments).open();
    slug.wait_for_raw("the answer", |raw| raw.contains("As a line."));
    let sent: Vec<_> = server.chat_requests().iter().map(last_user_text).collect();
    assert!(sent[0].ends_with("fix the tests") && sent[1].ends_with("!touch made"), "{sent:?}");
    assert!(!env.path("made").exists());
}

#[test]
fn a_first_message_waits_for_the_choice_among_several_models() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let server = with_two_models(server);
    let arguments = ["--trust-workspace", "-e", &server.endpoint(), "hello there"];
    let mut slug = PtySlug::at(&env, 100, 30).args(&arguments).open();
    take_second_model(&mut slug);
    slug.wait_for("Large it is.");
    assert_eq!(server.chat_requests()[0].body["model"], "large-model");
}

#[test]
fn a_first_message_that_cannot_be_sent_goes_into_the_input() {
    let env = TestEnv::new();
    // Nothing listens on this port of the loopback interface.
    let arguments = ["--trust-workspace", "-e", "http://127.0.0.1:1/v1", "hello there"];
    let mut slug = PtySlug::at(&env, 100, 30).args(&arguments).open();
    slug.wait_until("the message in the input", |screen| {
        screen.contains("No server answers") && screen.contains("❯ hello there")
    });
}

#[test]
fn a_dead_server_is_told_of_once() {
    let env = TestEnv::new();
    let arguments = ["--trust-workspace", "-e", "http://127.0.0.1:1/v1"];
    let mut slug = PtySlug::at(&env, 100, 30).args(&arguments).open();
    slug.wait_for("No server answers");
    slug.say("hello there");
    slug.wait_for("The turn failed. /retry sends your message again.");
    let screen = slug.screen();
    assert_eq!(screen.matches("No server answers").count(), 1, "{screen}");
}
