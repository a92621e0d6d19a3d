//! Which texts are redacted, and which are not.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn clean(text: &str) -> String {
    ExportRedactor::default().text(text)
}

/// Texts that hold a secret, each with the part that must go.
fn planted() -> Vec<(String, String)> {
    let long = "Z9x8Y7w6V5u4T3s2R1q0Z9x8Y7w6V5u4T3s2R1q0";
    let whole = |text: String| (text.clone(), text);
    vec![
        whole(format!("sk-ant-api03-{long}")),
        whole(format!("ghp_{long}")),
        whole(format!("github_pat_{long}")),
        whole("AKIAIOSFODNN7EXAMPLE".into()),
        whole(format!("AIza{long}")),
        whole(format!("xoxb-{long}")),
        whole(format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{long}")),
        (
            format!(
                "-----BEGIN RSA PRIVATE KEY-----\n{long}\n{long}\n-----END RSA PRIVATE KEY-----"
            ),
            long.into(),
        ),
        (format!("… 12 lines hidden\n{long}\nabc=\n-----END RSA PRIVATE KEY-----"), long.into()),
        (format!("-----BEGIN RSA PRIVATE KEY-----\n{long}\nabcdefgh"), "abcdefgh".into()),
        (format!("Authorization: Bearer {long}"), long.into()),
        (format!("authorization: Basic {long}"), long.into()),
        (format!("export STRIPE_SECRET={long}"), long.into()),
        ("DB_PASSWORD=hunter2!".into(), "hunter2!".into()),
        ("DB_PASS=hunter2!".into(), "hunter2!".into()),
        ("export SMTP_PASS='a b c d'".into(), "a b c d".into()),
        ("PGPASS_PWD=123456".into(), "123456".into()),
        ("db_pass: hunter2".into(), "hunter2".into()),
        ("{\"smtp_pass\": \"hunter2!\"}".into(), "hunter2!".into()),
        whole(format!("SG.{}.{}", "a1".repeat(11), "b_2".repeat(14))),
        (format!("GITHUB_TOKEN: \"{long}\""), long.into()),
        (format!("{{\"api_key\": \"{long}\"}}"), long.into()),
        (format!("{{\\\"apiKey\\\": \\\"{long}\\\"}}"), long.into()),
        (format!("deploy --token {long}"), long.into()),
        (format!("postgres://me:{long}@db/x"), long.into()),
        ("DB_PASSWORD=p&ssw(0rd)!x".into(), "&ssw".into()),
        ("DB_PASSWORD=(abc123x".into(), "abc".into()),
        ("DB_PASSWORD = p&ssw(0rd)!x".into(), "&ssw".into()),
        ("DB_PASSWORD=123456".into(), "123456".into()),
        ("spring.datasource.password=hunter2".into(), "hunter2".into()),
        ("password: hunter2".into(), "hunter2".into()),
        ("password: p&ssw0rd!".into(), "&ssw".into()),
        ("password = hunter2".into(), "hunter2".into()),
        ("password=correcthorsebattery".into(), "correct".into()),
        ("curl -d 'user=me&password=correcthorse'".into(), "correcthorse".into()),
        ("Server=db;Password=hunter2;Port=5".into(), "hunter2".into()),
        ("mysql --password=hunter2 --host=x".into(), "hunter2".into()),
        ("mysql --password hunter2 --host=x".into(), "hunter2".into()),
        ("run([\"curl\", \"--token\", \"abcdefgh\"])".into(), "abcdefgh".into()),
        ("{\\\"args\\\":[\\\"--token\\\",\\\"abcdefgh\\\"]}".into(), "abcdefgh".into()),
    ]
}

#[test]
fn each_known_shape_is_redacted() {
    for (text, secret) in planted() {
        let clean = clean(&text);
        assert!(!clean.contains(&secret) && clean.contains("[redacted: "), "{text} -> {clean}");
    }
}

#[test]
fn the_kind_of_a_secret_is_named() {
    for (text, expected) in [
        ("export API_KEY=abc123 # mine", "export API_KEY=[redacted: secret] # mine"),
        ("Authorization: Bearer abcdefgh1", "Authorization: [redacted: authorization]"),
        ("id AKIAIOSFODNN7EXAMPLE.", "id [redacted: AWS key]."),
        ("\u{1b}[32mAKIAIOSFODNN7EXAMPLE\u{1b}[0m", "[redacted: AWS key]"),
        (r#"{"a":"x\nAKIAIOSFODNN7EXAMPLE"}"#, r#"{"a":"x\n[redacted: AWS key]"}"#),
        ("https://me:pass@host/", "https://me:[redacted: password]@host/"),
        ("password=hunter2\nhost=x", "password=[redacted: secret]\nhost=x"),
        ("a password: hunter2 \nb", "a password: [redacted: secret] \nb"),
        (
            "the words -----BEGIN PRIVATE KEY-----, and\nmore",
            "the words [redacted: private key], and\nmore",
        ),
    ] {
        assert_eq!(clean(text), expected);
    }
}

#[test]
fn ordinary_text_and_code_stay() {
    for text in [
        "ask-me-anything-about-something",
        "the bearer of news, the bearer instruments",
        "let token = lexer.next();",
        "if token == other { }",
        "token::Kind::Open",
        "key=lambda pair: pair[1]",
        "MAX_TOKENS=4096",
        "TOKEN=$GITHUB_TOKEN curl",
        "TOKEN=$GITHUB_TOKEN; export TOKEN",
        "KEYS = [\n    1,\n]",
        "KEY_UP = 38",
        "KEY = (1 << 3)",
        "KEYS=(\n  one\n)",
        "parse(token=token, next=1)",
        "    token=token,\n    password=settings.password,\n",
        "    api_key=config.api_key\n)",
        "password=None",
        "secret=sha256(text)",
        "token=tokens[0]",
        "password={password}",
        "token: Option<u64>,",
        "    secret: Vec<u8>\n",
        "token: u128",
        "the token: 4096 of them",
        "Password: required",
        "password: see page 12",
        "`--token`, `--password` and `--api-key KEY`",
        "--max-token=4096",
        "token = next(tokens)",
        "password: String,",
        "git checkout 0123456789abcdef0123456789abcdef01234567",
        "-----BEGIN PUBLIC KEY-----\nMII\n-----END PUBLIC KEY-----",
        "größer ≥ 2, http://localhost:8000/v1",
    ] {
        assert_eq!(clean(text), text);
    }
}

#[test]
fn a_field_with_a_secret_name_is_redacted_whatever_it_holds() {
    let mut redaction = ExportRedactor::default();
    let value =
        json!({"env": {"DB_PASSWORD": "pw", "PATH": "/bin"}, "max_tokens": 5, "password": ""});
    let expected = json!({
        "env": {"DB_PASSWORD": "[redacted: secret]", "PATH": "/bin"}, "max_tokens": 5, "password": "",
    });
    assert_eq!((redaction.json(value), redaction.count), (expected, 1));
}

#[test]
fn a_number_under_a_secret_name_is_redacted_unless_it_is_a_count() {
    let value =
        json!({"password": 1234, "api_key": 12_345_678, "token": 15_024, "MAX_TOKENS": 4096});
    let expected = json!({
        "password": "[redacted: secret]", "api_key": "[redacted: secret]", "token": 15_024,
        "MAX_TOKENS": 4096,
    });
    assert_eq!(ExportRedactor::default().json(value), expected);
}

#[test]
fn the_value_of_a_secret_option_is_redacted() {
    let long = format!("ghp_{}", "a1".repeat(18));
    for (arguments, count) in [
        (json!(["curl", "--token", "[redacted: secret]", "url"]), 1),
        (json!(["--token", "[redacted: GitHub token]"]), 1),
        (json!(["--token", "--password", "[redacted: secret]"]), 1),
        (json!(["--tokens", "two", "words"]), 0),
        (json!(["--token", 5]), 0),
    ] {
        let secret = |item: &Value| match item.as_str() {
            Some("[redacted: secret]") => json!("abcdefgh"),
            Some("[redacted: GitHub token]") => json!(long),
            Some(_) | None => item.clone(),
        };
        let given = arguments.as_array().unwrap().iter().map(secret).collect();
        let mut redaction = ExportRedactor::default();
        assert_eq!((redaction.json(given), redaction.count), (arguments, count));
    }
}

#[test]
fn a_private_key_in_a_diff_is_redacted_whole() {
    let line = |text: &str| json!({"tag": "added", "text": text});
    let lines =
        ["a", "-----BEGIN PRIVATE KEY-----", "MIIEvQIBADAN", "-----END PRIVATE KEY-----", "b"];
    let mut redaction = ExportRedactor::default();
    let clean = redaction.json(json!({"lines": lines.map(line)}));
    let expected = ["a", "[redacted: private key]", "", "", "b"].map(line);
    assert_eq!((clean, redaction.count), (json!({"lines": expected}), 1));
}

#[test]
fn a_key_that_overlaps_another_secret_is_redacted() {
    let line = "MIIE4Z9".repeat(9);
    let text = format!("API_KEY={line}\n{line}\n-----END PRIVATE KEY----- on");
    assert_eq!(clean(&text), "[redacted: private key] on");
    let text = format!("Bearer {line}-----BEGIN PRIVATE KEY-----\n{line}\n and on");
    assert_eq!(clean(&text), "Bearer [redacted: authorization][redacted: private key]\n and on");
}

proptest! {
    #[test]
    fn no_planted_secret_survives_between_other_texts(
        which in prop::collection::vec((0..planted().len(), "[ ,.;a-z\\n]{0,12}[ \\n]"), 1..8),
    ) {
        let planted = planted();
        let text: String =
            which.iter().map(|(at, between)| format!("{}\n{between}", planted[*at].0)).collect();
        let clean = clean(&text);
        for (at, _) in which {
            prop_assert!(!clean.contains(&planted[at].1), "{text:?} -> {clean:?}");
        }
    }

    #[test]
    fn any_text_is_read(
        text in "\\PC{0,40}((KEY|token|sk-|eyJ|://|=|:|@|\"|-----BEGIN |\n)\\PC{0,9}){0,9}",
    ) {
        let clean = clean(&text);
        prop_assert!(clean.is_empty() == strip_ansi(&text).is_empty());
    }
}

#[test]
fn lists_and_objects_under_a_secret_name_keep_only_their_names() {
    let mut redactor = ExportRedactor::default();
    let clean = redactor.json(json!({
        "password": ["hunter2", {"old": "hunter1", "since": null, "pin": 12_345_678}],
        "secrets": {"db": {"user": "u1", "is_on": true}, "none": ""},
        "usage": {"input": [1, 2]},
    }));
    let mark = mark("secret");
    assert_eq!(
        clean,
        json!({
            "password": [mark, {"old": mark, "since": null, "pin": mark}],
            "secrets": {"db": {"user": mark, "is_on": true}, "none": ""},
            "usage": {"input": [1, 2]},
        })
    );
    assert_eq!(redactor.count, 4);
}
