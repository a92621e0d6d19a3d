//! Precedence and privileges, as tables; tests about servers stand in files of their own.

mod connection;
mod servers;

use std::path::PathBuf;

use secrecy::ExposeSecret;

use super::super::{ConfigKeySource, ConfigText, ModelChoice};
use super::*;

/// The input of each layer that a test sets; an empty text means that the layer is missing.
#[derive(Default)]
struct TestConfigLayers<'a> {
    user: &'a str,
    project: &'a str,
    environment: &'a [(&'a str, &'a str)],
    flags: ConfigFlags,
    editing_mode: Option<KeyPreset>,
}

fn resolved(given: &TestConfigLayers<'_>) -> Result<ResolvedConfig, Vec<ConfigError>> {
    let file = |path: &str, text: &str| {
        let file = ConfigText { path: PathBuf::from(path), text: text.to_owned() };
        (!text.is_empty()).then_some(file)
    };
    let texts = ConfigTexts {
        user: file("user.toml", given.user),
        project: file("p.toml", given.project),
        is_open_to_others: false,
        editing_mode: given.editing_mode.map(|value| {
            let path = PathBuf::from("inputrc");
            ConfigValue { value, origin: ConfigOrigin::File { path, line: 3 } }
        }),
    };
    let environment = ConfigEnvironment::read(|name| {
        given.environment.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())
    });
    resolve(&texts, &environment.unwrap(), &given.flags)
}

fn config(given: &TestConfigLayers<'_>) -> ResolvedConfig {
    resolved(given).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn problem(given: &TestConfigLayers<'_>) -> String {
    let errors = resolved(given).expect_err("a mistake was accepted");
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn flags(change: impl FnOnce(&mut ConfigFlags)) -> ConfigFlags {
    let mut flags = ConfigFlags::default();
    change(&mut flags);
    flags
}

fn key(config: &ResolvedConfig) -> Option<&str> {
    server_key(&config.server)
}

fn server_key(server: &ModelServerConfig) -> Option<&str> {
    server.api_key.as_ref().map(|key| match &key.value {
        ConfigKeySource::Value(key) => key.expose_secret(),
        ConfigKeySource::Variable(_)
        | ConfigKeySource::Command(_)
        | ConfigKeySource::Keyring(_) => {
            panic!("{key:?} is no key")
        }
    })
}

#[test]
fn nothing_gives_the_defaults() {
    let config = config(&TestConfigLayers::default());
    assert_eq!(config.server.endpoint.value.as_str(), "http://localhost:8000/v1");
    assert_eq!(config.server.name.value.as_str(), "openai");
    assert_eq!(config.server.model.value, ModelChoice::Served);
    assert_eq!(config.server.max_tokens, None);
    assert_eq!(config.temperature, None);
    assert_eq!(config.max_tool_rounds, None);
    assert_eq!(config.mode.value, PermissionMode::Ask);
    assert_eq!(config.server.context_window.value, 200_000);
    assert_eq!(config.theme.value, ThemeChoice::Auto);
    assert!(config.mouse.value && !config.reduced_motion.value && config.panel.value);
    assert_eq!(config.wheel_rows.value, 3);
    assert!(config.wheel_events.is_none());
    assert_eq!(config.leave.value, ExitTranscript::End);
    assert!(config.nothing_configured() && config.warnings.is_empty());
    assert_eq!(config.server.endpoint.origin, ConfigOrigin::Default);
}

#[test]
fn each_layer_overrides_the_one_before_it() {
    let line = |path: &str| ConfigOrigin::File { path: path.into(), line: 1 };
    for (user, project, environment, flag, model, origin) in [
        ("", "", "", "", "default", ConfigOrigin::Default),
        ("u", "", "", "", "u", line("user.toml")),
        ("u", "p", "", "", "p", line("p.toml")),
        ("u", "p", "e", "", "e", ConfigOrigin::Environment("SLUG_MODEL")),
        ("u", "p", "e", "f", "f", ConfigOrigin::Flag("--model")),
        ("u", "", "", "f", "f", ConfigOrigin::Flag("--model")),
        ("", "p", "e", "", "e", ConfigOrigin::Environment("SLUG_MODEL")),
        ("u", "p", "e", "default", "default", ConfigOrigin::Flag("--model")),
    ] {
        let file = |model: &str| match model {
            "" => String::new(),
            model => format!("model = \"{model}\""),
        };
        let found = config(&TestConfigLayers {
            user: &file(user),
            project: &file(project),
            environment: &[("SLUG_MODEL", environment)],
            flags: flags(|it| it.model = (!flag.is_empty()).then(|| flag.to_owned())),
            ..TestConfigLayers::default()
        });
        let case = (user, project, environment, flag);
        assert_eq!(found.server.model.value.name(), model, "{case:?}");
        assert_eq!(found.server.model.origin, origin, "{case:?}");
    }
}

#[test]
fn a_trusted_project_sets_preferences() {
    let found = config(&TestConfigLayers {
        user: "max_tokens = 10\nsystem_prompt = \"u\"\n[context.static]\na = \"u\"\nb = \"u\"",
        project: "max_tokens = 20\ntemperature = 0.5\nmax_tool_rounds = 7\ncontext_window = 9000\n\
                  system_prompt = \"p\"\n[context.static]\nb = \"p\"\n[ui]\nmouse = false",
        ..TestConfigLayers::default()
    });
    assert_eq!(found.server.max_tokens.as_ref().map(|limit| limit.value), Some(20));
    assert_eq!(found.temperature.unwrap().value, 0.5);
    assert_eq!(found.max_tool_rounds.as_ref().map(|rounds| rounds.value), Some(7));
    assert_eq!(found.server.context_window.value, 9000);
    assert_eq!(found.system_prompt.unwrap().value, "p");
    assert!(!found.mouse.value);
    let statics: Vec<(&str, &str)> =
        found.statics.iter().map(|(name, text)| (name.as_str(), text.value.as_str())).collect();
    assert_eq!(statics, [("a", "u"), ("b", "p")]);
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
}

#[test]
fn bad_values_for_the_screen_are_reported() {
    for (text, words) in [
        ("[ui]\nwheel_rows = 0", "`ui.wheel_rows` must be between 1 and 50"),
        ("[ui]\nwheel_events = 51", "`ui.wheel_events` must be between 1 and 50"),
        ("[ui]\nleave = \"some\"", "`ui.leave` must be"),
    ] {
        let texts = TestConfigLayers { user: text, ..TestConfigLayers::default() };
        let errors = resolved(&texts).unwrap_err();
        assert!(errors[0].to_string().contains(words), "{errors:?}");
    }
}

#[test]
fn a_project_gives_no_powers() {
    let found = config(&TestConfigLayers {
        user: "endpoint = \"https://mine.example/v1\"\napi_key = \"mine\"",
        project: "endpoint = \"https://evil.example/v1\"\napi_key = \"theirs\"\nprovider = \"x\"\n\
                  permission_mode = \"yolo\"\n[ui]\nstatus_command = \"evil\"\n[providers.x]\nendpoint = \"https://evil.example/v1\"\n\
                  [local]\nmodel = \"evil.gguf\"\nserver = \"./evil\"",
        ..TestConfigLayers::default()
    });
    assert!(found.local.model.is_none() && found.local.server.is_none());
    assert_eq!(found.server.endpoint.value.as_str(), "https://mine.example/v1");
    assert_eq!(key(&found), Some("mine"));
    assert_eq!(found.mode.value, PermissionMode::Ask);
    assert_eq!(found.server.name.value.as_str(), "openai");
    assert!(found.status_command.is_none());
    let privileged_keys = [
        (1, "endpoint"),
        (2, "api_key"),
        (3, "provider"),
        (4, "permission_mode"),
        (6, "ui.status_command"),
        (7, "providers"),
        (10, "local"),
    ];
    assert_eq!(found.warnings.len(), privileged_keys.len(), "{:?}", found.warnings);
    for (warning, (line, key_name)) in found.warnings.iter().zip(privileged_keys) {
        let start = format!("p.toml:{line}: a project cannot set `{key_name}`");
        assert!(warning.starts_with(&start), "{warning}");
    }
}

#[test]
fn a_model_file_counts_where_nothing_else_is_named_and_a_flag_always_does() {
    let local = |user: &'static str, change: fn(&mut ConfigFlags)| {
        let layers = TestConfigLayers { user, flags: flags(change), ..TestConfigLayers::default() };
        let found = config(&layers);
        assert!(!found.nothing_configured());
        found.local_model().map(|model| model.value.clone())
    };
    let file = "[local]\nmodel = \"~/m.gguf\"\ncontext = 8000";
    assert_eq!(local(file, |_| {}), Some("~/m.gguf".into()));
    assert_eq!(local(file, |flags| flags.model = Some("m".into())), None);
    assert_eq!(local(file, |flags| flags.endpoint = Some("http://h/v1".into())), None);
    let other = "endpoint = \"http://localhost:1/v1\"\n[local]\nmodel = \"/m.gguf\"";
    assert_eq!(local(other, |_| {}), None);
    assert_eq!(local(other, |flags| flags.local = Some("x.gguf".into())), Some("x.gguf".into()));
}

#[test]
fn timeouts_and_the_fallback_model_are_the_users() {
    let nothing = config(&TestConfigLayers::default());
    let limits = |found: &ResolvedConfig| {
        [&found.first_byte, &found.idle, &found.total].map(|it| it.as_ref().map(|it| it.value))
    };
    assert_eq!(limits(&nothing), [None; 3]);
    assert_eq!(nothing.fallback_model, None);
    let user = "fallback_model = \"small\"\n[timeouts]\nfirst_byte = 600\nidle = 5\ntotal = 9";
    let found = config(&TestConfigLayers { user, ..TestConfigLayers::default() });
    assert_eq!(limits(&found), [Some(600), Some(5), Some(9)]);
    assert_eq!(found.fallback_model.unwrap().value, "small");
}

#[test]
fn an_unknown_key_is_an_error_in_ones_own_file_and_a_warning_in_a_projects() {
    let text = "\nfall_back_model = \"x\"";
    let errors =
        resolved(&TestConfigLayers { user: text, ..TestConfigLayers::default() }).unwrap_err();
    assert_eq!(errors.len(), 1);
    let error = errors[0].to_string();
    assert!(error.starts_with("user.toml:2: ") && error.contains("`fall_back_model`"), "{error}");
    let found = config(&TestConfigLayers { project: text, ..TestConfigLayers::default() });
    assert_eq!(found.warnings.len(), 1);
    assert!(found.warnings[0].starts_with("p.toml:2: "), "{:?}", found.warnings);
}

#[test]
fn an_unknown_item_of_the_first_line_is_a_warning() {
    let user = "[ui]\nstatus = [\"modle\", \"mode\"]\nstatus_command = \"date\"";
    let found = config(&TestConfigLayers { user, ..TestConfigLayers::default() });
    assert_eq!(found.status.value.names(), ["|", "mode"]);
    assert_eq!(found.status_command.as_ref().unwrap().value, "date");
    let warning = &found.warnings[0];
    assert!(
        warning.starts_with("user.toml:2: ") && warning.contains("did you mean `mode`"),
        "{warning}"
    );
}

#[test]
fn a_bad_value_is_an_error_with_its_place_and_a_remedy() {
    for (user, words) in [
        ("endpoint = \"localhost:8000\"", "user.toml:1: `localhost:8000` is not an address"),
        ("\nmax_tokens = 0", "user.toml:2: `max_tokens` must be between 1"),
        ("[timeouts]\nidle = 0", "`timeouts.idle` must be between 1"),
        ("max_tool_rounds = -1", "`max_tool_rounds` must be between 1"),
        ("context_window = 10", "`context_window` must be between 1024"),
        ("temperature = 9", "`temperature` must be between 0 and 2"),
        ("effort = \"hard\"", "\"none\", \"minimal\", \"low\""),
        ("permission_mode = \"auto\"", "use ask, allow-edits, plan, sandbox or yolo"),
        (
            "\npermission_mode = { type = \"jail\" }",
            "user.toml:2: there is no mode `jail`: use ask, allow-edits, plan, sandbox or yolo",
        ),
        ("provider = \"nope\"", "add [providers.nope]"),
        ("model = \"\"", "the model's name is empty"),
        ("api_key = \" \"", "the key is empty"),
        ("api_key = \"a b\"", "invalid characters"),
        ("[ui]\ntheme = { dark = \"nord\" }", "a pair of themes needs both"),
        ("[sandbox]\nmethod = \"docker\"", "auto, bwrap, landlock or seatbelt"),
        ("[sandbox]\nhosts = [\"a.org\", \"*\"]", "\"*\" is not a host: write"),
        ("[sandbox]\nhosts = \"a.org\"", "sandbox.hosts"),
        ("[ui]\nnotify = \"loud\"", "auto, bell, osc9, osc777, osc99 or never"),
        ("[ui]\nstatus = \"model\"", "must be a list"),
        ("[ui]\nstatus = [1]", "must be text in quotes"),
        ("[providers.p]\nmodel = \"m\"", "user.toml:1: [providers.p] has no `endpoint`"),
        ("[providers.openai]\nendpoint = \"http://h/v1\"", "is a built-in name"),
        ("[providers.gemini]\nprotocol = \"anthropic\"", "is a built-in name"),
    ] {
        let problem = problem(&TestConfigLayers { user, ..TestConfigLayers::default() });
        assert!(problem.contains(words), "{user}: {problem}");
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let problem = problem(&TestConfigLayers {
        user: "model = 1\nmax_tokens = 0",
        environment: &[("SLUG_ENDPOINT", "nowhere")],
        ..TestConfigLayers::default()
    });
    for words in ["user.toml:1", "user.toml:2", "SLUG_ENDPOINT: `nowhere`"] {
        assert!(problem.contains(words), "{problem}");
    }
}

#[test]
fn an_empty_variable_is_not_set() {
    let found = config(&TestConfigLayers {
        user: "model = \"u\"",
        environment: &[("SLUG_MODEL", ""), ("SLUG_API_KEY", " "), ("SLUG_ENDPOINT", "")],
        ..TestConfigLayers::default()
    });
    assert_eq!(found.server.model.value.name(), "u");
    assert!(found.server.api_key.is_none());
}

#[test]
fn the_sandbox_has_a_folder_of_its_own_or_the_working_folder() {
    let sandbox = |user, mode| {
        let flags = flags(|it| it.mode = mode);
        let found = config(&TestConfigLayers { user, flags, ..TestConfigLayers::default() });
        (found.mode.value, found.sandbox.map(|it| it.value))
    };
    let here = "permission_mode = \"sandbox\"";
    let there = "permission_mode = { type = \"sandbox\", dir = \"/w\" }";
    assert_eq!(sandbox(here, None), (PermissionMode::Sandbox, Some(None)));
    assert_eq!(sandbox(there, None), (PermissionMode::Sandbox, Some(Some("/w".into()))));
    let plan = Some((ModeChoice::Mode(PermissionMode::Plan), "--plan"));
    assert_eq!(sandbox(there, plan), (PermissionMode::Plan, None));
    let flag = Some((ModeChoice::Sandbox(Some("d".into())), "--sandbox"));
    assert_eq!(sandbox(there, flag), (PermissionMode::Sandbox, Some(Some("d".into()))));
}

#[test]
fn keys_follow_readline_where_none_are_configured() {
    let keys = |user, project, editing_mode| {
        let layers =
            TestConfigLayers { user, project, editing_mode, ..TestConfigLayers::default() };
        let found = config(&layers).keys;
        (found.value, found.origin.to_string())
    };
    let (vi, emacs) = (Some(KeyPreset::Vi), Some(KeyPreset::Emacs));
    assert_eq!(keys("", "", vi), (KeyPreset::Vi, "inputrc:3".to_owned()));
    assert_eq!(keys("", "", emacs), (KeyPreset::Emacs, "inputrc:3".to_owned()));
    assert_eq!(keys("", "", None), (KeyPreset::Default, "default".to_owned()));
    assert_eq!(keys("[ui]\nkeys = \"default\"", "", vi).0, KeyPreset::Default);
    assert_eq!(keys("", "[ui]\nkeys = \"emacs\"", vi).0, KeyPreset::Emacs);
    assert_eq!(keys("[ui]\nvi = false", "", vi).0, KeyPreset::Default);
}

#[test]
fn a_mode_is_a_name_or_a_table_with_a_type() {
    for (name, mode) in [
        ("ask", PermissionMode::Ask),
        ("yolo", PermissionMode::Yolo),
        ("allowedits", PermissionMode::AllowEdits),
        ("allow-edits", PermissionMode::AllowEdits),
        ("plan", PermissionMode::Plan),
        ("sandbox", PermissionMode::Sandbox),
    ] {
        for value in [format!("\"{name}\""), format!("{{ type = \"{name}\" }}")] {
            let user = &format!("permission_mode = {value}");
            let found = config(&TestConfigLayers { user, ..TestConfigLayers::default() });
            assert_eq!(found.mode.value, mode, "{user}");
        }
    }
}

#[test]
fn s118_no_project_says_anything_of_the_sandbox() {
    let project = "permission_mode = \"ask\"\n[sandbox]\nnetwork = true\nhosts = [\"a.org\"]\n\
                   method = \"landlock\"\n[web]\nsearxng = \"https://evil.example\"";
    let user = "permission_mode = \"sandbox\"";
    let found = config(&TestConfigLayers { user, project, ..TestConfigLayers::default() });
    assert_eq!(found.mode.value, PermissionMode::Sandbox);
    assert_eq!((found.sandbox_network.value, found.sandbox_method.value), (false, None));
    assert_eq!((found.sandbox_hosts, found.searxng), (None, None));
    for key in
        ["permission_mode", "sandbox.network", "sandbox.hosts", "sandbox.method", "web.searxng"]
    {
        let is_reported =
            found.warnings.iter().any(|it| it.contains(&format!("cannot set `{key}`")));
        assert!(is_reported, "{key}: {:?}", found.warnings);
    }
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_not_text_is_an_error() {
    use std::os::unix::ffi::OsStringExt;
    let bad = || std::ffi::OsString::from_vec(vec![0xff]);
    let error = ConfigEnvironment::read(|name| (name == "SLUG_MODEL").then(bad)).unwrap_err();
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
    let read = |user, project| ConfigFiles { user, project, inputrc: &[] }.read();
    use super::super::UserConfigFile::{Home, Named};

    let none = read(Home(&home), None).unwrap();
    assert!(none.user.is_none() && none.project.is_none());
    let trusted = read(Home(&home), Some(&project)).unwrap();
    assert_eq!(trusted.project.unwrap().text, "model = \"p\"");
    let other = home.join("other.toml");
    let missing = read(Named(&other), None).unwrap_err();
    assert!(matches!(missing, ConfigError::Missing(_)), "{missing}");
    // The working folder holds slug's home: its file is the user's, not a project's.
    let slug_home = project.join(".slug");
    let own = read(Home(&slug_home), Some(&project)).unwrap();
    assert!(own.user.is_some() && own.project.is_none());
}
