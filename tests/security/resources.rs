//! slug ends what does not end by itself, and does not retry what will not change. Also the small
//! promises: hidden files are counted, and no program in the sandbox sets a setuid bit.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;
use slug_code::domain::ProviderProtocol;

use crate::support::answer_streams;
use crate::support::certificates::TestCertificates;
use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::test_env::{HeadlessOutput, TestEnv};
use crate::{bash, result_of};

/// Far more than a run takes, and still an end.
const LONGEST: Duration = Duration::from_secs(20);

/// Runs slug to its end, or kills it and fails.
pub(super) fn in_time(command: &mut Command, what: &str) -> HeadlessOutput {
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

#[test]
fn no_here_document_makes_the_analysis_read_on_for_ever() {
    let env = TestEnv::new();
    for command in [
        "cat <<A$((\t ",
        "<<A$(  ",
        "<<$(( \t",
        "cat <<'' x",
        "cat <<\"\" x # \\",
        "true && <<A$(( '' x $((",
        "[ ^<<A$((  touch x >! $(( <<A ",
        "echo x ) then<<A$(( \\\n select };touch x; ] ",
        "cat $(cat <<  A",
        "bash -c 'cat <<A$((\t '",
    ] {
        // Where it goes wrong, the limit spares the machine.
        let mut limited = Command::new("/bin/sh");
        let slug = env.command(&["permissions", "test", command]);
        let script = "ulimit -v 2000000; exec \"$0\" permissions test \"$1\"";
        limited.args(["-c", script]).arg(slug.get_program()).arg(command);
        limited.current_dir(env.workspace()).env_clear().envs(env.environment());
        limited.stdout(Stdio::piped()).stderr(Stdio::piped());
        let ran = in_time(&mut limited, command);
        assert!(ran.out.contains("ask"), "{command}: {}", ran.describe());
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
    let mut command = env.command_to(&server, &["--yolo", "-p", "go"]);
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
    // A megabyte in which nothing repeats.
    let mega: String = (0..194_000).map(|number| number.to_string()).collect();
    let mega = &mega[..1 << 20];
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
