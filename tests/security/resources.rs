//! slug does not wait for special files, ends what does not end by itself, and does not retry what
//! will not change. Also the small promises: hidden files are counted, exports are private and
//! clean, hooks are bound to the files that they run.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::process::{Pid, Signal, kill_process};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;
use sha2::{Digest, Sha256};
use slug_code::domain::ProviderProtocol;

use crate::support::answer_streams;
use crate::support::certificates::TestCertificates;
use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::test_env::{HeadlessOutput, TestEnv, with_server};
use crate::{bash, result_of};

/// Far more than a run takes, and still an end.
const LONGEST: Duration = Duration::from_secs(20);

/// Runs slug to its end, or kills it and fails.
fn in_time(command: &mut Command, what: &str) -> HeadlessOutput {
    let child = command.spawn().unwrap();
    let pid = Pid::from_child(&child);
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(child.wait_with_output().unwrap()));
    let output = ended.recv_timeout(LONGEST).unwrap_or_else(|_| {
        kill_process(pid, Signal::KILL).unwrap();
        panic!("{what}: slug hangs");
    });
    HeadlessOutput::of(&output)
}

fn make_fifo(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Creates something at `path` that is not a regular file.
fn put(kind: &str, path: &Path) -> Option<UnixListener> {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match kind {
        "fifo" => make_fifo(path),
        "socket" => return UnixListener::bind(path).ok(),
        "endless" => symlink("/dev/zero", path).unwrap(),
        "to a fifo" => {
            let fifo = path.with_file_name("the-fifo-itself");
            make_fifo(&fifo);
            symlink(fifo, path).unwrap();
        }
        _ => symlink("/dev/tty", path).unwrap(),
    }
    None
}

#[test]
fn a_walk_opens_nothing_but_regular_files() {
    let places = [
        "shop/.ignore",
        "shop/sub/.ignore",
        "shop/.rgignore",
        "shop/sub/.gitignore",
        "shop/sub/data.txt",
        // Above the folder, and in the user's home.
        ".ignore",
        ".gitignore",
        "home/.config/git/ignore",
        "home/.ignore",
    ];
    for place in places {
        for kind in ["fifo", "to a fifo", "endless", "socket"] {
            let (env, server) = (TestEnv::new(), ModelServer::start());
            env.write("a.txt", "alpha\n");
            env.write("sub/b.txt", "alpha\n");
            let root = env.home().parent().unwrap().to_owned();
            let _listener = put(kind, &root.join(place));
            server.reply(ServerReply::calls(
                "",
                &[
                    ("g1", "Grep", json!({"pattern": "alpha"})),
                    ("g2", "Glob", json!({"pattern": "**/*.txt"})),
                ],
            ));
            server.reply(ServerReply::text("Done."));
            let endpoint = server.endpoint();
            let mut command = env.command(&with_server(&endpoint, &["-p", "go"]));
            let ran = in_time(&mut command, &format!("{kind} at {place}")).assert_exit_code(0);
            let found = result_of(&server.chat_requests()[1], "g1");
            assert!(
                found.contains("a.txt") && found.contains("sub/b.txt"),
                "{place}: {}",
                ran.describe()
            );
        }
    }
}

#[test]
fn a_tool_that_is_given_no_regular_file_says_so() {
    for kind in ["fifo", "to a fifo", "endless", "socket"] {
        let (env, server) = (TestEnv::new(), ModelServer::start());
        let _listener = put(kind, &env.path("it"));
        env.write_home("settings.json", r#"{"permissions":{"allow":["Read","Edit","Write"]}}"#);
        server.reply(ServerReply::calls(
            "",
            &[
                ("r1", "Read", json!({"file_path": "it"})),
                ("w1", "Write", json!({"file_path": "it", "content": "x"})),
                ("e1", "Edit", json!({"file_path": "it", "old_string": "a", "new_string": "b"})),
                ("g1", "Grep", json!({"pattern": "x", "path": "it"})),
            ],
        ));
        server.reply(ServerReply::text("Done."));
        let endpoint = server.endpoint();
        let mut command = env.command(&with_server(&endpoint, &["-p", "see @it and go"]));
        let ran = in_time(&mut command, kind);
        assert!(ran.code.is_some(), "{}", ran.describe());
        for id in ["r1", "w1", "e1"] {
            let result = result_of(&server.chat_requests()[1], id);
            assert!(result.starts_with("Error"), "{id} on {kind}: {result}");
        }
        let there = env.path("it").symlink_metadata().unwrap().file_type();
        assert!(!there.is_file(), "{kind} was replaced");
    }
}

#[test]
fn slugs_own_folder_is_read_without_waiting() {
    for file in [
        "history.jsonl",
        "models.json",
        "favourites.json",
        "folds.json",
        "catalogue.json",
        "hooks-off.json",
        "themes/dark.toml",
        "sessions/01a2009a-f949-70ea-8bd5-f7d2ed8f5d81.jsonl",
        "sessions/01a2009a-f949-70ea-8bd5-f7d2ed8f5d81.meta.json",
        "SLUG.md",
    ] {
        for kind in ["fifo", "endless"] {
            let (env, server) = (TestEnv::new(), ModelServer::start());
            let _listener = put(kind, &env.slug_home().join(file));
            server.reply(ServerReply::text("Done."));
            let endpoint = server.endpoint();
            let mut asked = env.command(&with_server(&endpoint, &["-p", "go"]));
            let ran = in_time(&mut asked, &format!("{kind} at {file}"));
            assert!(ran.code.is_some(), "{file}: {}", ran.describe());
            for arguments in [&["sessions", "list"][..], &["sessions", "search", "x"]] {
                in_time(&mut env.command(arguments), &format!("{arguments:?}, {kind} at {file}"));
            }
        }
    }
}

#[test]
fn the_lists_of_trusted_folders_and_of_sessions_are_read_without_waiting() {
    for kind in ["fifo", "endless"] {
        let (env, server) = (TestEnv::new(), ModelServer::start());
        let _listener = put(kind, &env.slug_home().join("trust.json"));
        server.reply(ServerReply::text("Done."));
        let endpoint = server.endpoint();
        in_time(&mut env.command(&["-m", "test-model", "-e", &endpoint, "-p", "go"]), kind);
        let env = TestEnv::new();
        let _listener = put(kind, &env.slug_home().join("sessions/index"));
        in_time(&mut env.command(&["sessions", "list"]), kind);
    }
}

#[test]
fn an_import_opens_nothing_but_regular_files() {
    for kind in ["fifo", "socket", "endless"] {
        let env = TestEnv::new();
        let _listener = put(kind, &env.path("logs/a.jsonl"));
        env.write("logs/b.jsonl", "{\"role\":\"user\",\"content\":\"hello\"}\n");
        in_time(&mut env.command(&["sessions", "import", "logs/a.jsonl"]), kind)
            .assert_exit_code(1);
        in_time(&mut env.command(&["sessions", "import", "logs"]), kind);
    }
}

const PROTOCOLS: [(ProviderProtocol, &str); 4] = [
    (ProviderProtocol::ChatCompletions, "openai"),
    (ProviderProtocol::Anthropic, "anthropic"),
    (ProviderProtocol::Responses, "responses"),
    (ProviderProtocol::Gemini, "gemini"),
];

/// Asks a server that speaks this protocol, in yolo mode.
fn ask(env: &TestEnv, server: &ModelServer, name: &str) -> HeadlessOutput {
    let endpoint = server.endpoint();
    let endpoint = if name == "gemini" { endpoint.replace("/v1", "/v1beta") } else { endpoint };
    env.write_home(
        "config.toml",
        &format!("provider = \"{name}\"\nendpoint = \"{endpoint}\"\nmodel = \"test-model\"\n"),
    );
    let mut command = env.command(&["--trust-workspace", "--yolo", "-p", "go"]);
    in_time(&mut command, name)
}

#[test]
fn an_answer_of_too_many_calls_runs_none_of_them_in_any_protocol() {
    for (protocol, name) in PROTOCOLS {
        for (count, is_too_many) in [(257, true), (3000, true)] {
            let (env, server) = (TestEnv::new(), ModelServer::start());
            let ids: Vec<String> = (0..count).map(|number| format!("c{number}")).collect();
            let calls: Vec<answer_streams::ScriptedCall<'_>> = ids
                .iter()
                .map(|id| (id.as_str(), "Bash", r#"{"command": "touch made"}"#))
                .collect();
            server.reply(ServerReply::stream(answer_streams::answer(protocol, "Here.", &calls)));
            server.reply(ServerReply::stream(answer_streams::answer(protocol, "Done.", &[])));
            let ran = ask(&env, &server, name);
            assert_eq!(env.path("made").exists(), !is_too_many, "{name}: {}", ran.describe());
            assert_eq!(ran.code, Some(1), "{name}: {}", ran.describe());
            assert!(ran.err.contains("256"), "{name}: {}", ran.describe());
            assert_eq!(server.model_requests().len(), 1, "{name}: it is not asked again");
        }
    }
}

#[test]
fn an_answer_of_256_calls_is_one() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let ids: Vec<String> = (0..256).map(|number| format!("c{number}")).collect();
    let calls: Vec<answer_streams::ScriptedCall<'_>> =
        ids.iter().map(|id| (id.as_str(), "Glob", r#"{"pattern": "*.none"}"#)).collect();
    server.reply(ServerReply::stream(answer_streams::answer(
        ProviderProtocol::ChatCompletions,
        "Here.",
        &calls,
    )));
    server.reply(ServerReply::text("Done."));
    env.ask(&server, &["-p", "go"]).assert_exit_code(0);
    assert_eq!(server.chat_requests().len(), 2);
}

#[test]
fn calls_that_stand_in_the_text_are_counted_too() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let call = "<tool_call>\n{\"name\": \"Bash\", \"arguments\": {\"command\": \"touch made\"}}\n</tool_call>\n";
    server.reply(ServerReply::text(call));
    server.reply(ServerReply::text("Done."));
    env.ask(&server, &["--yolo", "-p", "go"]).assert_exit_code(0);
    assert!(env.path("made").exists(), "one such call is made");
    fs::remove_file(env.path("made")).unwrap();
    server.forget();
    let many = call.repeat(300);
    server.reply(ServerReply::words([many.as_str()]));
    server.reply(ServerReply::text("Done."));
    let ran = env.ask(&server, &["--yolo", "-p", "go"]);
    assert!(!env.path("made").exists(), "{}", ran.describe());
    assert_eq!(ran.code, Some(1), "{}", ran.describe());
}

/// One piece of an answer in chat completions.
fn chunk(delta: &serde_json::Value) -> String {
    let it = json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]});
    format!("data: {it}\n\n")
}

/// Has the server send 18 MB, and fails unless slug ends the answer at 16 MB and does not ask
/// again.
#[track_caller]
fn ends_at_16_mb(what: &str, begin: &str, piece: &str) {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let pieces = std::iter::once(begin.to_owned()).chain(vec![piece.to_owned(); 18]);
    server.reply(ServerReply::stream(pieces));
    server.reply(ServerReply::error(400, "asked again"));
    let endpoint = server.endpoint();
    let mut command = env.command(&with_server(&endpoint, &["--yolo", "-p", "go"]));
    let ran = in_time(&mut command, what).assert_exit_code(1);
    assert!(
        ran.err.contains("16 MB"),
        "{what}: {}",
        ran.err.chars().take(2000).collect::<String>()
    );
    assert_eq!(server.chat_requests().len(), 1, "{what}");
}

#[test]
fn an_answer_of_too_many_bytes_ends_with_an_error() {
    let mega = "x".repeat(1 << 20);
    ends_at_16_mb("thinking", "", &chunk(&json!({"reasoning_content": mega})));
    let arguments = chunk(&json!({"tool_calls": [{"index": 0, "id": "c", "type": "function",
        "function": {"name": "Bash", "arguments": mega}}]}));
    ends_at_16_mb("arguments", "", &arguments);
}

#[test]
fn a_line_without_an_end_ends_with_an_error() {
    ends_at_16_mb("a line", "data: ", &"x".repeat(1 << 20));
}

/// A server with a bad certificate, and the number of connections to it.
fn tls(
    certificates: &TestCertificates,
    name: &str,
    years: (i32, i32),
) -> (String, Arc<AtomicUsize>) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (certificate, key) = certificates.issue_for(name, years);
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let chain = vec![certificate.der().clone()];
    let config =
        ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://{}/v1", listener.local_addr().unwrap());
    let came = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&came);
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut stream =
                StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), socket.unwrap());
            let _ = stream.read(&mut [0; 1024]);
        }
    });
    (address, came)
}

#[test]
fn a_bad_certificate_is_tried_once_and_gets_the_right_advice() {
    let certificates = TestCertificates::new();
    for (name, years, is_known, message) in [
        ("127.0.0.1", (2019, 2022), true, "expired"),
        ("127.0.0.1", (2150, 2160), true, "not valid yet"),
        ("other.example", (1975, 4096), true, "another name"),
        ("127.0.0.1", (1975, 4096), false, "ca_file"),
    ] {
        let env = TestEnv::new();
        let (endpoint, came) = tls(&certificates, name, years);
        if is_known {
            env.write_home(
                "config.toml",
                &format!("ca_file = {:?}\n", certificates.file("ca.pem")),
            );
        }
        let arguments = ["--trust-workspace", "-m", "m", "-e", &endpoint, "-p", "go"];
        let ran = in_time(&mut env.command(&arguments), message).assert_exit_code(1);
        assert!(ran.err.contains(message), "{message}: {}", ran.describe());
        assert!(!ran.err.contains("Trying again"), "{message}: {}", ran.describe());
        assert_eq!(
            ran.err.contains("ca_file"),
            message == "ca_file",
            "{message}: {}",
            ran.describe()
        );
        // slug may ask for the context window as well as for the answer.
        assert!(
            came.load(Ordering::SeqCst) <= 3,
            "{message}: came {} times",
            came.load(Ordering::SeqCst)
        );
    }
}

#[test]
fn hidden_files_are_counted_in_what_is_found() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    for file in ["a.pem", "sub/b.pem", "sub/deep/c.pem", "secret/d.txt", "secret/e.txt"] {
        env.write(file, "alpha\n");
    }
    env.write("open.txt", "alpha\n");
    for (rules, left, expected) in [
        (json!(["Read(*.pem)"]), 3, "3"),
        (json!(["Read(a.pem)"]), 1, "1"),
        (json!(["Read(sub/**)"]), 2, ""),
        (json!([]), 0, ""),
    ] {
        env.write_home("settings.json", &json!({"permissions": {"deny": rules}}).to_string());
        server.forget();
        server.reply(ServerReply::calls(
            "",
            &[
                ("g1", "Grep", json!({"pattern": "alpha"})),
                ("g2", "Glob", json!({"pattern": "**/*"})),
                ("g3", "Grep", json!({"pattern": "no such thing"})),
            ],
        ));
        server.reply(ServerReply::text("Done."));
        env.ask(&server, &["-p", "go"]).assert_exit_code(0);
        let request = server.chat_requests().pop().unwrap();
        for id in ["g1", "g2", "g3"] {
            let result = result_of(&request, id);
            let tells = result.to_lowercase().contains("rule")
                || result.contains("hid")
                || result.contains("left out");
            assert_eq!(tells, left > 0, "{rules} {id}: {result}");
            assert!(result.contains(expected), "{rules} {id}: {result}");
            if left == 3 {
                assert!(!result.contains(".pem\n") && !result.contains("a.pem"), "{result}");
            }
        }
    }
}

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

/// Runs slug with this answer to the question about the folder.
fn trust(env: &TestEnv, server: &ModelServer, answer: &str) -> HeadlessOutput {
    let endpoint = server.endpoint();
    let arguments = ["--model", "test-model", "--endpoint", &endpoint, "--linear"];
    env.run_with_input(&arguments, &format!("{answer}\n")).assert_exit_code(0)
}

#[test]
fn a_hook_is_asked_about_again_when_what_it_names_has_changed() {
    for (line, file) in [
        ("make lint", "Makefile"),
        ("make -s check", "Makefile"),
        ("make -f build.mk lint", "build.mk"),
        ("cd sub && make", "sub/Makefile"),
        ("make -C sub", "sub/Makefile"),
        ("npm run lint", "package.json"),
        ("pnpm lint", "package.json"),
        ("yarn lint", "package.json"),
        ("bun run lint", "package.json"),
        ("just lint", "justfile"),
        ("./tools/lint.sh", "tools/lint.sh"),
        ("bash tools/lint.sh --all", "tools/lint.sh"),
        ("sh -e ./tools/lint.sh", "tools/lint.sh"),
        ("python3 tools/lint.py", "tools/lint.py"),
        ("node ./tools/lint.js", "tools/lint.js"),
        ("cd sub && ./t.sh", "sub/t.sh"),
        ("true && tools/a.sh; tools/b.sh", "tools/b.sh"),
        ("env A=b ./tools/lint.sh", "tools/lint.sh"),
        ("timeout 5 tools/lint.sh", "tools/lint.sh"),
        ("sh -c './tools/lint.sh'", "tools/lint.sh"),
        ("cat x | ./tools/lint.sh > log", "tools/lint.sh"),
        ("if true; then ./tools/lint.sh; fi", "tools/lint.sh"),
        ("\"./tools/lint.sh\"", "tools/lint.sh"),
    ] {
        let (env, server) = (TestEnv::new(), ModelServer::start());
        let hook = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": line}]}]}});
        env.write(".slug/settings.json", &hook.to_string());
        env.write(file, "one\n");
        let asked = trust(&env, &server, "y");
        assert!(asked.out.contains("Do you trust this folder?"), "{line}: {}", asked.describe());
        assert!(!asked.out.contains("cannot tell"), "{line}: {}", asked.describe());
        let again = trust(&env, &server, "/quit");
        assert!(!again.out.contains("has changed"), "{line}: {}", again.describe());
        env.write(file, "two\n");
        let changed = trust(&env, &server, "/quit");
        assert!(changed.out.contains("has changed"), "{line}: {}", changed.describe());
    }
}

#[test]
fn a_hook_whose_files_cannot_be_told_says_so() {
    for line in
        ["$LINT", "\"$HOME\"/x", "$(cat which) run", "eval \"$A\"", "./*.sh", "some-program --all"]
    {
        let (env, server) = (TestEnv::new(), ModelServer::start());
        let hook = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": line}]}]}});
        env.write(".slug/settings.json", &hook.to_string());
        let asked = trust(&env, &server, "n");
        assert!(asked.out.contains("cannot tell"), "{line}: {}", asked.describe());
    }
}

#[test]
fn a_hook_whose_file_has_changed_is_not_run() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let hook = json!({"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "make -s seen"}]}]}});
    env.write(".slug/settings.json", &hook.to_string());
    env.write("Makefile", "seen:\n\ttouch first\n");
    trust(&env, &server, "y");
    env.write("Makefile", "seen:\n\ttouch second\n");
    server.reply(ServerReply::text("Done."));
    let endpoint = server.endpoint();
    env.run(&["-m", "test-model", "-e", &endpoint, "-p", "go"]);
    assert!(!env.path("second").exists() && !env.path("first").exists());
}

/// In the sandbox the kernel refuses these bits, whoever sets them.
#[test]
fn no_program_in_the_sandbox_sets_a_bit_that_lends_its_owner() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let lines = [
        "cp /bin/true it; chmod u+s it",
        "cp /bin/true it; chmod 6711 it",
        "mkdir d; chmod g+s d",
        "mkdir -m 6777 d2",
        "install -m 4711 /bin/true it2",
        "python3 -c 'import os; os.open(\"it3\", os.O_CREAT|os.O_WRONLY, 0o4755)'",
        "python3 -c 'import os; open(\"it4\",\"w\"); os.fchmod(os.open(\"it4\",os.O_RDONLY), 0o2755)'",
        "python3 -c 'import os; os.mknod(\"it5\", 0o104755)'",
        "python3 -c 'import os; os.mkdir(\"it6\", 0o2777)'",
        "perl -e 'chmod 04755, \"it\"'",
        "find it -exec chmod 4755 {} ';'",
    ];
    for (number, line) in lines.iter().enumerate() {
        server.reply(bash(&format!("c{number}"), line));
    }
    server.reply(ServerReply::text("Done."));
    let ran = env.ask(&server, &["--sandbox", ".", "-p", "go"]);
    if ran.code == Some(78) {
        eprintln!("skipped: there can be no sandbox here");
        return;
    }
    assert!(env.path("it").exists(), "{}", ran.describe());
    for entry in fs::read_dir(env.workspace()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o6000, 0, "{:?} has {mode:o}", entry.path());
    }
}
