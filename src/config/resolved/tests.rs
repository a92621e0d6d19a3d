//! Precedence, powers and keys, as tables.

use std::path::PathBuf;

use secrecy::ExposeSecret;

use super::super::{ConfigText, KeySource, ModelChoice};
use super::*;
use crate::domain::{Dialect, Effort};

/// What a test writes down of each layer; empty texts mean nothing there.
#[derive(Default)]
struct Given<'a> {
    user: &'a str,
    project: &'a str,
    environment: &'a [(&'a str, &'a str)],
    flags: Flags,
}

fn resolved(given: &Given<'_>) -> Result<Config, Vec<ConfigError>> {
    let file = |path: &str, text: &str| {
        let file = ConfigText { path: PathBuf::from(path), text: text.to_owned() };
        (!text.is_empty()).then_some(file)
    };
    let texts =
        Texts { user: file("user.toml", given.user), project: file("p.toml", given.project) };
    let environment = Environment::read(|name| {
        given.environment.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())
    });
    resolve(&texts, &environment.unwrap(), &given.flags)
}

fn config(given: &Given<'_>) -> Config {
    resolved(given).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn problem(given: &Given<'_>) -> String {
    let errors = resolved(given).expect_err("a mistake was accepted");
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn flags(change: impl FnOnce(&mut Flags)) -> Flags {
    let mut flags = Flags::default();
    change(&mut flags);
    flags
}

fn key(config: &Config) -> Option<&str> {
    server_key(&config.server)
}

fn server_key(server: &Server) -> Option<&str> {
    server.api_key.as_ref().map(|key| match &key.value {
        KeySource::Value(key) => key.expose_secret(),
        KeySource::Variable(_) | KeySource::Command(_) | KeySource::Keyring(_) => {
            panic!("{key:?} is no key")
        }
    })
}

#[test]
fn nothing_gives_the_defaults() {
    let config = config(&Given::default());
    assert_eq!(config.server.endpoint.value.as_str(), "http://localhost:8000/v1");
    assert_eq!(config.server.name.value.as_str(), "openai");
    assert_eq!(config.server.model.value, ModelChoice::Served);
    assert_eq!(config.server.max_tokens.value, 4096);
    assert_eq!(config.temperature, None);
    assert_eq!(config.max_tool_rounds.value, 50);
    assert_eq!(config.mode.value, Mode::Ask);
    assert_eq!(config.server.context_window.value, 200_000);
    assert_eq!(config.theme.value, ThemeChoice::Auto);
    assert!(config.mouse.value && !config.reduced_motion.value);
    assert_eq!(config.wheel_rows.value, 3);
    assert!(config.wheel_events.is_none());
    assert_eq!(config.leave.value, Leave::End);
    assert!(config.nothing_configured() && config.warnings.is_empty());
    assert_eq!(config.server.endpoint.origin, Origin::Default);
}

#[test]
fn each_layer_overrides_the_one_before_it() {
    let line = |path: &str| Origin::File { path: path.into(), line: 1 };
    for (user, project, environment, flag, model, origin) in [
        ("", "", "", "", "default", Origin::Default),
        ("u", "", "", "", "u", line("user.toml")),
        ("u", "p", "", "", "p", line("p.toml")),
        ("u", "p", "e", "", "e", Origin::Environment("SLUG_MODEL")),
        ("u", "p", "e", "f", "f", Origin::Flag("--model")),
        ("u", "", "", "f", "f", Origin::Flag("--model")),
        ("", "p", "e", "", "e", Origin::Environment("SLUG_MODEL")),
        ("u", "p", "e", "default", "default", Origin::Flag("--model")),
    ] {
        let file = |model: &str| match model {
            "" => String::new(),
            model => format!("model = \"{model}\""),
        };
        let found = config(&Given {
            user: &file(user),
            project: &file(project),
            environment: &[("SLUG_MODEL", environment)],
            flags: flags(|it| it.model = (!flag.is_empty()).then(|| flag.to_owned())),
        });
        let case = (user, project, environment, flag);
        assert_eq!(found.server.model.value.name(), model, "{case:?}");
        assert_eq!(found.server.model.origin, origin, "{case:?}");
    }
}

#[test]
fn a_trusted_project_sets_preferences() {
    let found = config(&Given {
        user: "max_tokens = 10\nsystem_prompt = \"u\"\n[context.static]\na = \"u\"\nb = \"u\"",
        project: "max_tokens = 20\ntemperature = 0.5\nmax_tool_rounds = 7\ncontext_window = 9000\n\
                  system_prompt = \"p\"\n[context.static]\nb = \"p\"\n[ui]\nmouse = false",
        ..Given::default()
    });
    assert_eq!(found.server.max_tokens.value, 20);
    assert_eq!(found.temperature.unwrap().value, 0.5);
    assert_eq!(found.max_tool_rounds.value, 7);
    assert_eq!(found.server.context_window.value, 9000);
    assert_eq!(found.system_prompt.unwrap().value, "p");
    assert!(!found.mouse.value);
    let statics: Vec<(&str, &str)> =
        found.statics.iter().map(|(name, text)| (name.as_str(), text.value.as_str())).collect();
    assert_eq!(statics, [("a", "u"), ("b", "p")]);
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
}

#[test]
fn what_makes_no_sense_for_the_screen_is_told() {
    for (text, words) in [
        ("[ui]\nwheel_rows = 0", "`ui.wheel_rows` has to be from 1 to 50"),
        ("[ui]\nwheel_events = 51", "`ui.wheel_events` has to be from 1 to 50"),
        ("[ui]\nleave = \"some\"", "`ui.leave` has to be"),
    ] {
        let texts = Given { user: text, ..Given::default() };
        let errors = resolved(&texts).unwrap_err();
        assert!(errors[0].to_string().contains(words), "{errors:?}");
    }
}

#[test]
fn a_project_gives_no_powers() {
    let found = config(&Given {
        user: "endpoint = \"https://mine.example/v1\"\napi_key = \"mine\"",
        project: "endpoint = \"https://evil.example/v1\"\napi_key = \"theirs\"\nprovider = \"x\"\n\
                  permission_mode = \"yolo\"\n[ui]\nstatus_command = \"evil\"\n[providers.x]\nendpoint = \"https://evil.example/v1\"",
        ..Given::default()
    });
    assert_eq!(found.server.endpoint.value.as_str(), "https://mine.example/v1");
    assert_eq!(key(&found), Some("mine"));
    assert_eq!(found.mode.value, Mode::Ask);
    assert_eq!(found.server.name.value.as_str(), "openai");
    assert!(found.status_command.is_none());
    let powers = [
        (1, "endpoint"),
        (2, "api_key"),
        (3, "provider"),
        (4, "permission_mode"),
        (6, "ui.status_command"),
        (7, "providers"),
    ];
    assert_eq!(found.warnings.len(), powers.len(), "{:?}", found.warnings);
    for (warning, (line, power)) in found.warnings.iter().zip(powers) {
        let start = format!("p.toml:{line}: a project cannot set `{power}`");
        assert!(warning.starts_with(&start), "{warning}");
    }
}

#[test]
fn the_limits_of_time_and_the_other_model_are_the_persons() {
    let nothing = config(&Given::default());
    let limits = |found: &Config| {
        [&found.first_byte, &found.idle, &found.total].map(|it| it.as_ref().map(|it| it.value))
    };
    assert_eq!(limits(&nothing), [None; 3]);
    assert_eq!(nothing.fallback_model, None);
    let user = "fallback_model = \"small\"\n[timeouts]\nfirst_byte = 600\nidle = 5\ntotal = 9";
    let found = config(&Given { user, ..Given::default() });
    assert_eq!(limits(&found), [Some(600), Some(5), Some(9)]);
    assert_eq!(found.fallback_model.unwrap().value, "small");
}

#[test]
fn unknown_keys_are_warnings_with_file_and_line() {
    let found = config(&Given { user: "\nfall_back_model = \"x\"", ..Given::default() });
    assert_eq!(found.warnings.len(), 1);
    assert!(found.warnings[0].starts_with("user.toml:2: "), "{:?}", found.warnings);
    assert!(found.warnings[0].contains("`fall_back_model`"), "{:?}", found.warnings);
}

#[test]
fn an_unknown_item_of_the_first_line_is_a_warning() {
    let user = "[ui]\nstatus = [\"modle\", \"mode\"]\nstatus_command = \"date\"";
    let found = config(&Given { user, ..Given::default() });
    assert_eq!(found.status.value.names(), ["|", "mode"]);
    assert_eq!(found.status_command.as_ref().unwrap().value, "date");
    let told = &found.warnings[0];
    assert!(told.starts_with("user.toml:2: ") && told.contains("did you mean `mode`"), "{told}");
}

#[test]
fn a_bad_value_is_an_error_with_its_place_and_a_remedy() {
    for (user, words) in [
        ("endpoint = \"localhost:8000\"", "user.toml:1: `localhost:8000` is not an address"),
        ("\nmax_tokens = 0", "user.toml:2: `max_tokens` has to be from 1"),
        ("[timeouts]\nidle = 0", "`timeouts.idle` has to be from 1"),
        ("max_tool_rounds = -1", "`max_tool_rounds` has to be from 1"),
        ("context_window = 10", "`context_window` has to be from 1024"),
        ("temperature = 9", "`temperature` has to be from 0 to 2"),
        ("effort = \"hard\"", "\"none\", \"minimal\", \"low\""),
        ("permission_mode = \"auto\"", "use ask, allow-edits, plan or yolo"),
        ("provider = \"nope\"", "add [providers.nope]"),
        ("model = \"\"", "the model's name is empty"),
        ("api_key = \" \"", "the key is empty"),
        ("api_key = \"a b\"", "no key has"),
        ("[ui]\ntheme = { dark = \"nord\" }", "a pair of themes names both"),
        ("[ui]\nnotify = \"loud\"", "auto, bell, osc9, osc777, osc99 or never"),
        ("[ui]\nstatus = \"model\"", "has to be a list"),
        ("[ui]\nstatus = [1]", "has to be text in quotes"),
        ("[providers.p]\nmodel = \"m\"", "user.toml:1: [providers.p] has no `endpoint`"),
        ("[providers.openai]\nendpoint = \"http://h/v1\"", "is a built-in name"),
    ] {
        let problem = problem(&Given { user, ..Given::default() });
        assert!(problem.contains(words), "{user}: {problem}");
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let problem = problem(&Given {
        user: "model = 1\nmax_tokens = 0",
        environment: &[("SLUG_ENDPOINT", "nowhere")],
        ..Given::default()
    });
    for words in ["user.toml:1", "user.toml:2", "SLUG_ENDPOINT: `nowhere`"] {
        assert!(problem.contains(words), "{problem}");
    }
}

#[test]
fn an_empty_variable_is_not_set() {
    let found = config(&Given {
        user: "model = \"u\"",
        environment: &[("SLUG_MODEL", ""), ("SLUG_API_KEY", " "), ("SLUG_ENDPOINT", "")],
        ..Given::default()
    });
    assert_eq!(found.server.model.value.name(), "u");
    assert!(found.server.api_key.is_none());
}

#[test]
fn the_sandbox_is_refused_unless_another_mode_overrides_it() {
    let user = "permission_mode = \"sandbox\"";
    let plan = flags(|it| it.mode = Some((ModeChoice::Mode(Mode::Plan), "--plan")));
    assert_eq!(config(&Given { user, flags: plan, ..Given::default() }).mode.value, Mode::Plan);
    let errors = resolved(&Given { user, ..Given::default() }).unwrap_err();
    assert!(matches!(errors[..], [ConfigError::NoSandbox { .. }]), "{errors:?}");
    let sandbox = flags(|it| it.mode = Some((ModeChoice::Sandbox, "--sandbox")));
    let problem = problem(&Given { flags: sandbox, ..Given::default() });
    assert!(problem.starts_with("--sandbox: this version of slug has no sandbox"), "{problem}");
}

#[test]
fn a_key_goes_to_the_server_it_was_configured_for_alone() {
    let local = "http://localhost:8000";
    let mine = "endpoint = \"https://mine.example/v1\"\n";
    let with_key = "endpoint = \"https://mine.example/v1\"\napi_key = \"file\"\n";
    let elsewhere = "https://evil.example/v1";
    for (user, environment, endpoint_flag, key_flag, sent, withheld) in [
        ("api_key = \"file\"", vec![], "", "", Some("file"), None),
        (with_key, vec![], "", "", Some("file"), None),
        (with_key, vec![], elsewhere, "", None, Some("https://mine.example")),
        (with_key, vec![], "https://mine.example/v2", "", Some("file"), None),
        (with_key, vec![], elsewhere, "flag", Some("flag"), None),
        (with_key, vec![("SLUG_ENDPOINT", elsewhere)], "", "", None, Some("https://mine.example")),
        (with_key, vec![("SLUG_API_KEY", "env")], "", "", Some("env"), None),
        (mine, vec![("SLUG_API_KEY", "env")], "", "", Some("env"), None),
        (mine, vec![("SLUG_API_KEY", "env")], elsewhere, "", None, Some("https://mine.example")),
        ("", vec![("SLUG_API_KEY", "env")], elsewhere, "", None, Some(local)),
        (
            "",
            vec![("SLUG_API_KEY", "env"), ("SLUG_ENDPOINT", elsewhere)],
            "",
            "",
            Some("env"),
            None,
        ),
        ("", vec![("OPENAI_API_KEY", "oa")], "", "", None, None),
        ("", vec![("OPENAI_API_KEY", "oa")], elsewhere, "", None, None),
        ("", vec![("OPENAI_API_KEY", "oa")], "https://api.openai.com/v1", "", Some("oa"), None),
        ("", vec![("OPENAI_API_KEY", "oa")], "http://api.openai.com/v1", "", None, None),
        (
            "",
            vec![("OPENAI_API_KEY", "oa")],
            "https://api.openai.com.evil.example/v1",
            "",
            None,
            None,
        ),
        (
            "endpoint = \"https://api.openai.com/v1\"",
            vec![("OPENAI_API_KEY", "oa"), ("SLUG_API_KEY", "env")],
            "",
            "",
            Some("env"),
            None,
        ),
    ] {
        let case = format!("{user} {environment:?} {endpoint_flag} {key_flag}");
        let found = config(&Given {
            user,
            project: "",
            environment: &environment,
            flags: flags(|it| {
                it.endpoint = (!endpoint_flag.is_empty()).then(|| endpoint_flag.to_owned());
                it.api_key = (!key_flag.is_empty()).then(|| key_flag.into());
            }),
        });
        assert_eq!(key(&found), sent, "{case}");
        let belongs = found.server.withheld_key.as_ref().map(|key| key.belongs_to.as_str());
        assert_eq!(belongs, withheld, "{case}");
        assert_eq!(found.warnings.len(), usize::from(withheld.is_some()), "{case}");
    }
}

#[test]
fn a_named_provider_is_endpoint_key_and_model_together() {
    let user = "endpoint = \"http://localhost:8080/v1\"\napi_key = \"top\"\nmodel = \"small\"\n\
                [providers.work]\nendpoint = \"https://work.example/v1\"\napi_key = \"w\"\n\
                model = \"big\"\n[providers.bare]\nendpoint = \"https://bare.example/v1\"\n";
    let choose = |name: &str| flags(|it| it.provider = Some(name.to_owned()));
    let environment: &[_] = &[("SLUG_MODEL", "env")];

    let work = config(&Given { user, environment, flags: choose("work"), ..Given::default() });
    assert_eq!(work.server.name.value.as_str(), "work");
    assert_eq!(work.server.endpoint.value.as_str(), "https://work.example/v1");
    assert_eq!((key(&work), work.server.model.value.name()), (Some("w"), "big"));

    let bare = config(&Given { user, flags: choose("bare"), ..Given::default() });
    assert_eq!((key(&bare), bare.server.model.value.name()), (None, "default"));

    let by_file = format!("provider = \"work\"\n{user}");
    let found = config(&Given { user: &by_file, environment, ..Given::default() });
    assert_eq!(found.server.endpoint.value.as_str(), "https://work.example/v1");
    assert_eq!((key(&found), found.server.model.value.name()), (Some("w"), "env"));

    let back = config(&Given { user: &by_file, flags: choose("openai"), ..Given::default() });
    assert_eq!(back.server.endpoint.value.as_str(), "http://localhost:8080/v1");
    assert_eq!(key(&back), Some("top"));
}

#[test]
fn secrets_are_not_in_debug_output() {
    let environment = [
        ("SLUG_API_KEY", "CANARY-1"),
        ("OPENAI_API_KEY", "CANARY-2"),
        ("SLUG_ENDPOINT", "http://h/v1"),
    ];
    let given = Given {
        user: "api_key = \"CANARY-3\"\n[providers.p]\nendpoint = \"http://p/v1\"\napi_key = \"CANARY-4\"",
        environment: &environment,
        flags: flags(|it| it.api_key = Some("CANARY-5".into())),
        ..Given::default()
    };
    let inputs = Environment::read(|name| {
        environment.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())
    });
    assert!(!format!("{:?} {inputs:?}", given.flags).contains("CANARY"));
    let config = config(&given);
    assert_eq!(key(&config), Some("CANARY-5"));
    assert!(!format!("{config:?}").contains("CANARY"));
}

#[test]
fn a_protocol_brings_its_own_service_key_model_and_limit() {
    let environment: &[_] =
        &[("ANTHROPIC_API_KEY", "a"), ("OPENAI_API_KEY", "oa"), ("SLUG_ENDPOINT", "")];
    let by_flag = || flags(|it| it.provider = Some("anthropic".to_owned()));
    let here = "endpoint = \"http://localhost:8080/v1\"\napi_key = \"k\"\nmodel = \"small\"";
    let file = "provider = \"anthropic\"";
    let there = format!("{file}\n{here}");
    // What stands in the file, the flags, extra variables; endpoint, key, model and limit.
    for (user, flags, extra, want) in [
        (
            file,
            Flags::default(),
            None,
            ("https://api.anthropic.com/v1", Some("a"), "claude-sonnet-5-5", 16_000),
        ),
        (
            "",
            by_flag(),
            None,
            ("https://api.anthropic.com/v1", Some("a"), "claude-sonnet-5-5", 16_000),
        ),
        // The flag names the service; what is configured is another server's.
        (
            here,
            by_flag(),
            None,
            ("https://api.anthropic.com/v1", Some("a"), "claude-sonnet-5-5", 16_000),
        ),
        // The file says that this server speaks the protocol.
        (&there, Flags::default(), None, ("http://localhost:8080/v1", Some("k"), "small", 16_000)),
        (
            file,
            Flags::default(),
            Some(("ANTHROPIC_MODEL", "m")),
            ("https://api.anthropic.com/v1", Some("a"), "m", 16_000),
        ),
        (
            "",
            by_flag(),
            Some(("ANTHROPIC_MAX_TOKENS", "9000")),
            ("https://api.anthropic.com/v1", Some("a"), "claude-sonnet-5-5", 9000),
        ),
        (
            "",
            Flags::default(),
            Some(("ANTHROPIC_MODEL", "m")),
            ("http://localhost:8000/v1", None, "default", 4096),
        ),
    ] {
        let environment: Vec<_> = environment.iter().copied().chain(extra).collect();
        let case = format!("{user} {flags:?} {extra:?}");
        let found = config(&Given { user, environment: &environment, flags, ..Given::default() });
        let seen = (
            found.server.endpoint.value.as_str(),
            key(&found),
            found.server.model.value.name(),
            found.server.max_tokens.value,
        );
        assert_eq!(seen, want, "{case}");
        assert!(found.warnings.is_empty(), "{case}: {:?}", found.warnings);
    }
    let found = config(&Given {
        user: "provider = \"gemini\"",
        environment: &[("GEMINI_API_KEY", "g"), ("ANTHROPIC_API_KEY", "a")],
        ..Given::default()
    });
    assert_eq!(
        found.server.endpoint.value.as_str(),
        "https://generativelanguage.googleapis.com/v1beta"
    );
    assert_eq!((key(&found), found.server.model.value.name()), (Some("g"), "gemini-flash-latest"));
    // Two protocols of one service share its key.
    for provider in ["openai", "responses"] {
        let found = config(&Given {
            user: &format!("provider = \"{provider}\"\nendpoint = \"https://api.openai.com\""),
            environment: &[("OPENAI_API_KEY", "oa")],
            ..Given::default()
        });
        assert_eq!((key(&found), found.warnings.len()), (Some("oa"), 0), "{provider}");
    }
    let found = config(&Given {
        environment: &[("OPENAI_API_KEY", "oa")],
        flags: flags(|it| it.provider = Some("responses".to_owned())),
        ..Given::default()
    });
    assert_eq!(found.server.endpoint.value.as_str(), "https://api.openai.com/v1");
    assert_eq!((key(&found), found.server.protocol), (Some("oa"), Protocol::Responses));
    let wrong: &[_] = &[("ANTHROPIC_MAX_TOKENS", "many")];
    let told = problem(&Given { user: file, environment: wrong, ..Given::default() });
    assert!(told.contains("ANTHROPIC_MAX_TOKENS"), "{told}");
}

#[test]
fn a_named_provider_says_its_protocol() {
    let user = "[providers.work]\nendpoint = \"https://work.example\"\nprotocol = \"anthropic\"";
    let found = config(&Given {
        user,
        environment: &[("ANTHROPIC_API_KEY", "a")],
        flags: flags(|it| it.provider = Some("work".to_owned())),
        ..Given::default()
    });
    assert_eq!(found.server.protocol, Protocol::Anthropic);
    assert_eq!((key(&found), found.server.model.value.name()), (None, "default"));
    let told = problem(&Given { user: &user.replace("anthropic", "smtp"), ..Given::default() });
    assert!(told.contains("`openai`, `responses`, `anthropic`"), "{told}");
}

fn names(config: &Config) -> Vec<&str> {
    config.others.iter().map(|it| it.name.value.as_str()).collect()
}

#[test]
fn all_servers_that_could_be_switched_to_are_known() {
    let user = "endpoint = \"http://localhost:8080/v1\"\nmodel = \"small\"\nmax_tokens = 100\n\
                [providers.work]\nendpoint = \"https://work.example/v1\"\nmax_tokens = 200\n\
                effort = \"low\"\ncontext_window = 5000\n\
                [providers.zed]\nendpoint = \"https://zed.example/v1\"";
    let environment: &[_] =
        &[("ANTHROPIC_API_KEY", "a"), ("OPENAI_API_KEY", "oa"), ("SLUG_MODEL", "env")];
    let found = config(&Given { user, environment, ..Given::default() });
    assert_eq!(names(&found), ["work", "zed", "responses", "anthropic"]);
    let (work, zed, anthropic) = (&found.others[0], &found.others[1], &found.others[3]);
    assert_eq!((work.max_tokens.value, zed.max_tokens.value), (200, 100));
    assert_eq!((work.context_window.value, zed.context_window.value), (5000, 200_000));
    assert_eq!(work.effort.as_ref().map(|it| it.value), Some(Effort::Low));
    assert_eq!(zed.effort, None);
    assert_eq!(anthropic.endpoint.value.as_str(), "https://api.anthropic.com/v1");
    assert_eq!(server_key(anthropic), Some("a"));
    // What is said for the chosen server alone is not said of them.
    assert_eq!(work.model.value, ModelChoice::Served);
    assert_eq!(anthropic.model.value.name(), "claude-sonnet-5-5");
    // What would be withheld from them is no matter of this run.
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);

    let choose = |name: &str| flags(|it| it.provider = Some(name.to_owned()));
    let found = config(&Given { user, environment, flags: choose("work"), ..Given::default() });
    assert_eq!(names(&found), ["zed", "openai", "responses", "anthropic"]);
    assert_eq!(found.others[1].endpoint.value.as_str(), "http://localhost:8080/v1");
    assert_eq!(found.others[1].model.value.name(), "small");
    assert_eq!((found.server.max_tokens.value, found.server.context_window.value), (200, 5000));
    assert_eq!(found.server.effort.as_ref().map(|it| it.value), Some(Effort::Low));
    let found = config(&Given { environment, flags: choose("anthropic"), ..Given::default() });
    assert_eq!(names(&found), ["responses"]);
    assert_eq!(names(&config(&Given::default())), Vec::<&str>::new());
}

#[test]
fn a_key_is_where_the_file_says() {
    for (written, shown) in [
        ("api_key = \"CANARY\"", "set"),
        ("api_key = { env = \"MY_KEY\" }", "in $MY_KEY"),
        ("api_key = { keyring = \"work\" }", "in the keyring as `work`"),
        ("api_key_command = [\"op\", \"read\"]", "printed by `op`"),
        ("api_key_command = \"cat CANARY\"", "printed by a command"),
    ] {
        let named = format!("[providers.p]\nendpoint = \"https://p.example/v1\"\n{written}");
        for (user, provider) in [(written, None), (named.as_str(), Some("p".to_owned()))] {
            let flags = flags(|it| it.provider = provider);
            let found = config(&Given { user, flags, ..Given::default() });
            assert_eq!(found.server.api_key.unwrap().value.to_string(), shown, "{user}");
        }
        // It goes nowhere but to its own server.
        let elsewhere = flags(|it| it.endpoint = Some("https://evil.example/v1".to_owned()));
        let found = config(&Given { user: written, flags: elsewhere, ..Given::default() });
        assert!(found.server.api_key.is_none(), "{written}");
        assert!(found.server.withheld_key.is_some(), "{written}");
    }
}

#[test]
fn what_is_sent_to_one_server_is_sent_to_no_other() {
    let own = "headers = { X-Team = \"t\" }\nquery = { v = \"1\" }\nkey_header = \"api-key\"\n\
               client_certificate = \"me.pem\"\nmodels = [\"m\"]\ndialect = \"mistral\"\n";
    let user = format!(
        "{own}endpoint = \"https://mine.example/v1\"\nca_file = \"ca.pem\"\nproxy = \"none\"\n\
         [providers.work]\nendpoint = \"https://work.example/v1\"\nmodels = []"
    );
    let mine = config(&Given { user: &user, ..Given::default() });
    let Server { connection, models, dialect, .. } = &mine.server;
    assert_eq!(connection.own.headers.len() + connection.own.query.len(), 2);
    assert_eq!(models.as_ref().unwrap().value, ["m"]);
    assert_eq!(dialect.as_ref().unwrap().value, Dialect::Mistral);
    let file = connection.own.client_certificate.as_ref().unwrap();
    assert_eq!(file.value, PathBuf::from("me.pem"));

    // The system of certificates and proxies is the person's whole network.
    let elsewhere = flags(|it| it.endpoint = Some("https://evil.example/v1".to_owned()));
    let found = config(&Given { user: &user, flags: elsewhere, ..Given::default() });
    for server in [&found.server, &mine.others[0]] {
        assert!(server.connection.own.is_empty() && server.dialect.is_none(), "{server:?}");
        assert!(server.connection.ca_file.is_some() && server.connection.proxy.is_some());
    }
    assert!(found.warnings[0].starts_with("user.toml:1: headers"), "{:?}", found.warnings);
}

#[test]
fn a_project_does_not_say_how_a_server_is_reached() {
    let project = "api_key_command = \"evil\"\nkey_header = \"x\"\nheaders = { a = \"b\" }\n\
                   query = { a = \"b\" }\nca_file = \"evil.pem\"\nclient_certificate = \"e\"\n\
                   client_key = \"e\"\nproxy = \"http://evil.example\"";
    let found = config(&Given { project, ..Given::default() });
    assert_eq!(found.warnings.len(), 8, "{:?}", found.warnings);
    let Server { api_key, connection, .. } = &found.server;
    assert!(api_key.is_none() && connection.own.is_empty());
    assert!(connection.ca_file.is_none() && connection.proxy.is_none());
}

#[test]
fn a_connection_that_cannot_be_is_told() {
    for (user, words) in [
        ("api_key = \"k\"\napi_key_command = \"c\"", "user.toml:2: `api_key` and"),
        ("api_key_command = []", "is empty"),
        ("api_key = { keyring = \"--all\" }", "a name in the keyring"),
        ("api_key = { env = \"A=B\" }", "not the name of an environment variable"),
        ("headers = { Host = \"x\" }", "filled in by slug itself"),
        ("headers = { \"a b\" = \"x\" }", "cannot be the name of a header"),
        ("headers = { a = \"x\\ny\" }", "one line of ASCII"),
        ("headers = { a = { keyring = \"x\" } }", "the keyring is for keys"),
        ("headers = { Authorization = \"Basic x\" }", "the key travels in the header `auth"),
        ("proxy = \"ftp://p\"", "begins with http://, https://"),
        ("client_key = \"k\"", "name its `client_certificate`"),
        ("dialect = \"french\"", "\"common\", \"openai\""),
        (
            "[providers.p]\nendpoint = \"https://p/v1\"\nheaders = { api-key = \"x\" }\nkey_header = \"Api-Key\"",
            "header `api-key`",
        ),
    ] {
        let problem = problem(&Given { user, ..Given::default() });
        assert!(problem.contains(words), "{user}: {problem}");
    }
    let user = "key_header = \"api-key\"\nheaders = { Authorization = \"Basic x\" }";
    assert!(resolved(&Given { user, ..Given::default() }).is_ok());
}

#[test]
fn a_proxys_password_is_not_shown() {
    let found = config(&Given { user: "proxy = \"socks5h://me:CANARY@p:1\"", ..Given::default() });
    let proxy = found.server.connection.proxy.as_ref().unwrap();
    assert_eq!(proxy.value.to_string(), "socks5h://p:1");
    assert!(!format!("{found:?}").contains("CANARY"));
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_not_text_is_an_error() {
    use std::os::unix::ffi::OsStringExt;
    let bad = || std::ffi::OsString::from_vec(vec![0xff]);
    let error = Environment::read(|name| (name == "SLUG_MODEL").then(bad)).unwrap_err();
    assert!(error.to_string().starts_with("SLUG_MODEL: "), "{error}");
}

#[test]
fn files_are_found_where_they_belong() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let project = folder.path().join("project");
    std::fs::create_dir_all(project.join(".slug")).unwrap();
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(project.join(".slug/config.toml"), "model = \"p\"").unwrap();
    let read = |user, project| Files { user, project }.read();
    use super::super::UserFile::{Home, Named};

    let none = read(Home(&home), None).unwrap();
    assert!(none.user.is_none() && none.project.is_none());
    let trusted = read(Home(&home), Some(&project)).unwrap();
    assert_eq!(trusted.project.unwrap().text, "model = \"p\"");
    let other = home.join("other.toml");
    let missing = read(Named(&other), None).unwrap_err();
    assert!(matches!(missing, ConfigError::Missing(_)), "{missing}");
    // Working in the folder that holds slug's home: its file is the person's, not a project's.
    let slug_home = project.join(".slug");
    let own = read(Home(&slug_home), Some(&project)).unwrap();
    assert!(own.user.is_some() && own.project.is_none());
}
