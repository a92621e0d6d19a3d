//! Each key with its line, and what messages say about mistakes.

use proptest::prelude::*;
use secrecy::ExposeSecret;

use super::*;

/// The text of a secret that stands in the file.
fn plain(secret: Option<LineValue<RawSecret>>) -> String {
    match secret.map(|it| it.value) {
        Some(RawSecret::Text(text)) => text.expose_secret().to_owned(),
        Some(RawSecret::Variable(_) | RawSecret::Keyring(_)) | None => String::new(),
    }
}

#[test]
fn a_server_has_the_same_keys_at_the_top_and_in_a_table_of_its_own() {
    let keys = r#"
api_key_command = ["op", "read", "x"]
key_header = "api-key"
models = ["a", "b"]
max_tokens = 9
context_window = 2000
effort = "low"
dialect = "mistral"
headers = { X-Team = "t", X-Who = { env = "WHO" } }
query = { api-version = "1" }
ca_file = "ca.pem"
client_certificate = "me.pem"
client_key = "me.key"
proxy = "none"
"#;
    let named = format!("[providers.p]{keys}");
    for (text, lines) in [(keys, 2), (named.as_str(), 2)] {
        let mut parsed = parse(text);
        assert!(parsed.errors.is_empty() && parsed.warnings.is_empty(), "{parsed:?}");
        let named = parsed.raw.providers.remove("p").map(|it| it.value);
        let server = named.unwrap_or(parsed.raw.server);
        let words = ["op", "read", "x"].map(str::to_owned).to_vec();
        assert_eq!(
            server.api_key_command,
            Some(LineValue { value: RawCommand::Words(words), line: lines })
        );
        let at =
            |value: &str, below| Some(LineValue { value: value.to_owned(), line: lines + below });
        assert_eq!(server.key_header, at("api-key", 1));
        assert_eq!(server.models.unwrap().value.len(), 2);
        assert_eq!(server.max_tokens, Some(LineValue { value: 9, line: lines + 3 }));
        assert_eq!(server.context_window, Some(LineValue { value: 2000, line: lines + 4 }));
        assert_eq!(server.effort, at("low", 5));
        assert_eq!(server.dialect, at("mistral", 6));
        let headers = server.headers.unwrap().value;
        assert!(matches!(&headers["X-Team"].value, RawSecret::Text(_)));
        assert!(matches!(&headers["X-Who"].value, RawSecret::Variable(name) if name == "WHO"));
        assert_eq!(server.query.unwrap().value["api-version"].value, "1");
        assert_eq!(server.ca_file, at("ca.pem", 9));
        assert_eq!(server.client_certificate, at("me.pem", 10));
        assert_eq!(server.client_key, at("me.key", 11));
        assert_eq!(server.proxy.unwrap().value.expose_secret(), "none");
    }
}

#[test]
fn each_key_is_read_with_its_line() {
    let text = r#"effort = "high"
endpoint = "http://a/v1"
api_key = "k"
provider = "openai"
model = "m"
system_prompt = """
be
brief"""
max_tokens = 1_000
temperature = 1
max_tool_rounds = 0x10
permission_mode = "plan"
context_window = 32768
[context.static]
team = "we"
[ui]
theme = "dark"
mouse = false
reduced_motion = true
wheel_rows = 5
wheel_events = 9
leave = "all"
status = ["model",
  "mode"]
status_command = "date"
title = false
progress = false
notify = "bell"
notify_after = 9
panel = false
[providers.work]
endpoint = "https://w/v1"
api_key = "w"
model = "big"
protocol = "anthropic"
"#;
    let parsed = parse(text);
    assert!(parsed.errors.is_empty() && parsed.warnings.is_empty(), "{parsed:?}");
    let raw = parsed.raw;
    let at = |value: &str, line| Some(LineValue { value: value.to_owned(), line });
    assert_eq!(raw.server.effort, at("high", 1));
    assert_eq!(raw.server.endpoint, at("http://a/v1", 2));
    assert_eq!(plain(raw.server.api_key), "k");
    assert_eq!(raw.provider, at("openai", 4));
    assert_eq!(raw.server.model, at("m", 5));
    assert_eq!(raw.system_prompt, at("be\nbrief", 6));
    assert_eq!(raw.server.max_tokens, Some(LineValue { value: 1000, line: 9 }));
    assert_eq!(raw.temperature, Some(LineValue { value: 1.0, line: 10 }));
    assert_eq!(raw.max_tool_rounds, Some(LineValue { value: 16, line: 11 }));
    let plan = RawMode::Named("plan".to_owned());
    assert_eq!(raw.permission_mode, Some(LineValue { value: plan, line: 12 }));
    assert_eq!(raw.server.context_window, Some(LineValue { value: 32768, line: 13 }));
    assert_eq!(raw.statics["team"], LineValue { value: "we".to_owned(), line: 15 });
    let dark = RawTheme::Named("dark".to_owned());
    assert_eq!(raw.theme, Some(LineValue { value: dark, line: 17 }));
    assert_eq!(raw.mouse, Some(LineValue { value: false, line: 18 }));
    assert_eq!(raw.reduced_motion, Some(LineValue { value: true, line: 19 }));
    assert_eq!(raw.wheel_rows, Some(LineValue { value: 5, line: 20 }));
    assert_eq!(raw.wheel_events, Some(LineValue { value: 9, line: 21 }));
    assert_eq!(raw.leave, at("all", 22));
    let items = ["model", "mode"].map(str::to_owned).into_iter().zip([23, 24]);
    let items: Vec<_> = items.map(|(value, line)| LineValue { value, line }).collect();
    assert_eq!(raw.status, Some(LineValue { value: items, line: 23 }));
    assert_eq!(raw.status_command, at("date", 25));
    assert_eq!(raw.title, Some(LineValue { value: false, line: 26 }));
    assert_eq!(raw.progress, Some(LineValue { value: false, line: 27 }));
    assert_eq!(raw.notify, at("bell", 28));
    assert_eq!(raw.notify_after, Some(LineValue { value: 9, line: 29 }));
    assert_eq!(raw.panel, Some(LineValue { value: false, line: 30 }));
    let work = &raw.providers["work"];
    assert_eq!(work.line, 31);
    assert_eq!(work.value.endpoint, at("https://w/v1", 32));
    assert_eq!(work.value.model, at("big", 34));
    assert_eq!(work.value.protocol, at("anthropic", 35));
}

#[test]
fn unknown_keys_are_reported_with_their_line() {
    let text = "modle = \"x\"\n[ui]\ncolour = 1\n[providers.p]\nkey = 1\n[brudget]\nmax = 1\n\
                [sandbox]\nhost = []\n[budget]\nturns = 1\n[context]\nx = 1\n[timeouts]\ny = 1\n";
    let parsed = parse(text);
    assert!(parsed.errors.is_empty(), "{:?}", parsed.errors);
    let reported = |remarks: &[ConfigRemark], keys: &[&str]| -> Vec<(usize, bool)> {
        assert_eq!(remarks.len(), keys.len(), "{remarks:?}");
        let pairs = remarks.iter().zip(keys);
        pairs.map(|(remark, key)| (remark.line, remark.text.contains(key))).collect()
    };
    let unknown = ["`modle`", "`providers.p.key`", "`brudget`", "`sandbox.host`", "`budget.turns`"];
    assert_eq!(
        reported(&parsed.unknown, &unknown),
        [(1, true), (5, true), (6, true), (9, true), (11, true)]
    );
    let harmless = ["`ui.colour`", "`context.x`", "`timeouts.y`"];
    assert_eq!(reported(&parsed.warnings, &harmless), [(3, true), (13, true), (15, true)]);
}

#[test]
fn a_key_in_the_file_itself_is_a_secret_there() {
    for (text, holds) in [
        ("api_key = \"k\"", true),
        ("api_key = { env = \"K\" }", false),
        ("headers = { a = \"b\" }", true),
        ("headers = { a = { env = \"B\" } }", false),
        ("query = { a = \"b\" }", true),
        ("[providers.p]\nendpoint = \"http://p\"\napi_key = \"k\"", true),
        ("model = \"m\"", false),
    ] {
        assert_eq!(parse(text).raw.holds_secrets(), holds, "{text}");
    }
}

#[test]
fn wrong_types_are_errors_with_line_and_remedy() {
    for (text, line, words) in [
        ("\nmodel = 3", 2, "`model` must be text in quotes, not a whole number"),
        ("max_tokens = \"many\"", 1, "`max_tokens` must be a whole number"),
        ("max_tokens = 99999999999999999999", 1, "a whole number"),
        ("temperature = true", 1, "a number, like 0.7"),
        ("ui = 1", 1, "a table ([ui] with its keys below it)"),
        ("[ui]\nmouse = \"yes\"", 2, "`ui.mouse` must be true or false"),
        ("permission_mode = 1", 1, "a mode's name in quotes"),
        ("\npermission_mode = { dir = \"/tmp\" }", 2, "a table without `type`"),
        ("permission_mode = { type = 1 }", 1, "`permission_mode.type` must be text"),
        ("permission_mode = { type = \"sandbox\", dir = 1 }", 1, "`permission_mode.dir` must be"),
        ("permission_mode = { type = \"ask\", dir = \"/tmp\" }", 1, "the folder of the sandbox"),
        ("[context.static]\ngit_status = \"x\"", 2, "cannot be one of slug's own"),
        ("[context.static]\n\"a b\" = \"x\"", 2, "letters, digits"),
        ("api_key = { file = \"x\" }", 1, "or where it is: { env"),
        ("api_key_command = 1", 1, "`api_key_command` must be a list"),
        ("headers = \"x\"", 1, "`headers` must be a table"),
        ("[providers.p]\nquery = { a = 1 }", 2, "`providers.p.query.a` must be text"),
        ("a = 1\nmodel = \n", 2, "this is not valid TOML"),
    ] {
        let parsed = parse(text);
        assert_eq!(parsed.errors.len(), 1, "{text}: {:?}", parsed.errors);
        assert_eq!(parsed.errors[0].line, line, "{text}");
        assert!(parsed.errors[0].text.contains(words), "{text}: {}", parsed.errors[0].text);
    }
}

#[test]
fn no_message_repeats_a_key() {
    for text in [
        "api_key = CANARY",
        "proxy = [\"CANARY\"]",
        "headers = { a = [\"CANARY\"] }",
        "api_key = [\"CANARY\"]",
        "api_key = \"CANARY\nx",
    ] {
        let parsed = parse(text);
        assert!(!parsed.errors.is_empty(), "{text}");
        assert!(!format!("{parsed:?}").contains("CANARY"), "{parsed:?}");
    }
    let parsed = parse(
        "api_key = \"CANARY\"\nproxy = \"CANARY\"\n[providers.p]\napi_key = \"CANARY\"\nheaders = { a = \"CANARY\" }",
    );
    assert!(!format!("{parsed:?}").contains("CANARY"), "{parsed:?}");
}

#[test]
fn a_theme_is_a_name_or_a_pair() {
    let text = "[ui]\ntheme = { dark = \"nord\", light = \"light\" }";
    let (dark, light) = (Some("nord".to_owned()), Some("light".to_owned()));
    let pair = RawTheme::Pair { dark, light };
    assert_eq!(parse(text).raw.theme, Some(LineValue { value: pair, line: 2 }));
    let parsed = parse("[ui.theme]\ndusk = \"a\"\nlight = 1");
    assert!(parsed.warnings[0].text.contains("`ui.theme.dusk`"), "{parsed:?}");
    assert!(parsed.errors[0].text.contains("`ui.theme.light`"), "{parsed:?}");
}

#[test]
fn both_forms_of_a_mode_are_understood() {
    for name in ["ask", "yolo", "allowedits", "allow-edits", "plan", "jail"] {
        for text in [format!("\"{name}\""), format!("{{ type = \"{name}\" }}")] {
            let parsed = parse(&format!("permission_mode = {text}"));
            let mode = RawMode::Named(name.to_owned());
            assert_eq!(parsed.raw.permission_mode, Some(LineValue { value: mode, line: 1 }));
            assert!(parsed.errors.is_empty(), "{parsed:?}");
        }
    }
    for (text, dir) in [
        ("permission_mode = \"sandbox\"", None),
        ("permission_mode = { type = \"sandbox\", dir = \"/tmp\" }", Some("/tmp")),
        ("permission_mode = { type = \"sandbox\" }", None),
    ] {
        let dir = dir.map(str::to_owned);
        assert_eq!(parse(text).raw.permission_mode.unwrap().value, RawMode::Sandbox { dir });
    }
    let parsed = parse("permission_mode = { type = \"sandbox\", folder = \"/tmp\" }");
    assert!(parsed.unknown[0].text.contains("permission_mode.folder"), "{:?}", parsed.unknown);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[\\PC\n]{0,200}") {
        let parsed = parse(&text);
        let lines = text.matches('\n').count() + 1;
        for remark in parsed.errors.iter().chain(&parsed.warnings) {
            prop_assert!((1..=lines).contains(&remark.line));
        }
    }
}
