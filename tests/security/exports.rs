//! Exports are private and clean: a page runs its own script alone, and secrets are taken out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::test_env::TestEnv;

/// A session that holds secrets, and its id.
fn session_with(env: &TestEnv, text: &str) -> String {
    let server = ModelServer::start();
    server.reply(ServerReply::text("Noted."));
    let ran = env.ask(&server, &["-p", text, "--output-format", "json"]).assert_exit_code(0);
    ran.json()["session_id"].as_str().unwrap().to_owned()
}

#[test]
fn an_exported_page_allows_its_own_script_and_style_by_hash_and_nothing_else() {
    let env = TestEnv::new();
    let id = session_with(&env, "hello <script>alert(1)</script> <img src=x onerror=alert(2)>");
    let page = env.run(&["sessions", "export", &id, "--format", "html"]).assert_exit_code(0).out;
    let start = page.find("Content-Security-Policy").unwrap();
    let policy = page[start..].split("content=\"").nth(1).unwrap().split('"').next().unwrap();
    let policy = policy.replace("&#39;", "'").replace("&#x27;", "'");
    assert!(
        !policy.contains("unsafe") && !policy.contains("http") && !policy.contains('*'),
        "{policy}"
    );
    assert!(policy.contains("default-src 'none'"), "{policy}");
    let mut counted = 0;
    for tag in ["script", "style"] {
        for part in page.split(&format!("<{tag}")).skip(1) {
            let body = &part[part.find('>').unwrap() + 1..];
            let body = body.split(&format!("</{tag}>")).next().unwrap();
            let hash = format!("'sha256-{}'", STANDARD.encode(Sha256::digest(body)));
            let directive = policy.split(';').find(|it| it.trim().starts_with(tag)).unwrap();
            assert!(directive.contains(&hash), "{hash} of a {tag} is not in {policy}");
            counted += 1;
        }
    }
    assert_eq!(counted, policy.matches("sha256-").count(), "{policy}");
    assert!(counted >= 2, "{counted}");
    for attribute in [" onclick=", " onload=", " onerror=", " style=", "javascript:"] {
        let in_tags = page.split('<').skip(1).filter_map(|it| it.split('>').next());
        assert!(!in_tags.into_iter().any(|tag| tag.contains(attribute)), "{attribute}");
    }
}

#[test]
fn secrets_by_shape_and_by_name_are_taken_out_of_exports() {
    let secret = "Zq7vK2mW9xT4";
    let send_grid = format!(
        "SG.{}.{}",
        "aB3dE5fG7hJ9kL1mN0pQ2r", "sT4uV6wX8yZ0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0u"
    );
    let mut lines: Vec<String> = [
        "DB_PASS=@",
        "export DB_PASS=@",
        "DB_PASS='@'",
        "DB_PASS=\"@\"",
        "DB_PASS: @",
        "MYSQL_ROOT_PASS=@",
        "API_TOKEN=@",
        "SECRET_KEY=@",
        "PGPASSWORD=@",
        "\"db_pass\": \"@\"",
        "\"accessToken\": \"@\"",
        "postgres://me:@@db.example/x",
        "Authorization: Bearer @abcdefghijkl",
    ]
    .iter()
    .map(|line| line.replacen('@', secret, 1))
    .collect();
    lines.push(format!("mail key {send_grid} here"));
    lines.push(format!("SENDGRID={send_grid}"));
    let env = TestEnv::new();
    for line in &lines {
        let id = session_with(&env, &format!("see\n{line}\nend"));
        for format in ["md", "html", "json", "jsonl"] {
            let out =
                env.run(&["sessions", "export", &id, "--format", format]).assert_exit_code(0).out;
            assert!(!out.contains(secret), "{line} in {format}: {out}");
            assert!(!out.contains(&send_grid[..30]), "{line} in {format}");
            assert!(out.contains("redacted"), "{line} in {format}: {out}");
        }
    }
}
