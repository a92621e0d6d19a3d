//! No program that slug starts finds slug's keys: not in an environment, not in `/proc`, and not in
//! the output in another encoding. With the real binary, as a plain user and as the tests' own
//! user.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::result_of;
use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::skip::skip;
use crate::support::test_env::{SLUG, TestEnv};

/// The user `nobody`, a plain user of every system.
const NOBODY: u32 = 65534;

/// The place of each key, or its variable, and the key.
type Keys = [(&'static str, String); 6];

/// A key for each place that slug takes keys from. The flag's key is the one that is used. Each test
/// has keys of its own: the command line of a slug that is just starting still holds the flag's, and
/// the commands of the tests that run at the same time can see it.
fn keys_of(test: &str) -> Keys {
    [
        ("flag", format!("sk-CANARY-flag-{test}-0123456789")),
        ("SLUG_API_KEY", format!("sk-CANARY-slug-{test}-9876543210")),
        ("OPENAI_API_KEY", format!("sk-CANARY-open-{test}-5678901234")),
        ("MINE", format!("CANARY.overridden/by+everything.{test}")),
        ("OTHERS", format!("CANARY.of.a.provider.{test}.not.asked")),
        ("file", format!("CANARY-written-in-the-file-{test}-1")),
    ]
}

/// Looks for keys where a program can look, and writes down what it finds. `open` and `closed` say
/// what could be read of slug and of its supervisor.
const LOOK: &str = r#"supervisor=$1
slug=$(cut -d' ' -f4 /proc/$supervisor/stat)
sleep 60 & control=$!
for it in supervisor:$supervisor slug:$slug control:$control; do
  for file in environ mem maps; do
    if (exec 3<"/proc/${it#*:}/$file") 2>/dev/null; then echo "${it%%:*} $file open"
    else echo "${it%%:*} $file closed"; fi
  done
  cat /proc/${it#*:}/comm
done > looked
kill $control
{ env; set; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\0' '\n'; ls -l /proc/$$/fd
  for fd in /proc/$slug/fd/* /proc/$supervisor/fd/*; do test -f $fd && cat $fd; done
} > found 2> /dev/null
true"#;

/// Prints the keys that are in a file, in each encoding.
const PRINT: &str = "cat notes; base64 notes; base64 -w0 notes; (printf x; cat notes) | base64; \
    base64 notes | tr +/ -_; od -An -v -tx1 notes; od -An -v -tx1 notes | tr -d ' \\n'; \
    od -An -v -tx1 notes | tr -d ' \\n' | tr a-f A-F; od -An -v -tx1 notes | tr ' ' % | tr -d '\\n'; \
    while read -r line; do for ((i=${#line}-1;i>=0;i--)); do printf %s \"${line:i:1}\"; done; echo; \
    done < notes";

fn with_all_keys(env: &TestEnv, server: &ModelServer, keys: &Keys) -> Command {
    let [(_, flag), .., (_, file)] = keys;
    env.write_home("settings.json", r#"{"permissions":{"allow":["Bash"]}}"#);
    env.write("look.sh", LOOK);
    let other = "[providers.other]\nendpoint = \"http://localhost:1/v1\"";
    env.write_home(
        "config.toml",
        &format!(
            "api_key = {{ env = \"MINE\" }}\n\
             {other}\napi_key = {{ env = \"OTHERS\" }}\n\
             headers = {{ \"x-more\" = \"{file}\" }}\n"
        ),
    );
    let config = env.slug_home().join("config.toml");
    fs::set_permissions(config, fs::Permissions::from_mode(0o600)).unwrap();
    let endpoint = server.endpoint();
    let mut command = env.command(&["--trust-workspace", "-m", "test-model", "-e", &endpoint]);
    command.args(["-k", flag, "-p", "go"]);
    command.envs(keys[1..5].iter().cloned());
    command
}

/// Runs `command` as a plain user, who becomes the owner of the environment. Does nothing where the
/// tests already run as a plain user.
fn as_plain_user(env: &TestEnv, command: &mut Command) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let root = env.home().parent().unwrap().to_owned();
    let mut folders = vec![root];
    while let Some(path) = folders.pop() {
        chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        if path.is_dir() {
            folders.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    command.uid(NOBODY).gid(NOBODY);
}

/// Whether the user `nobody` can start slug where it was built.
fn can_be_started_by_all() -> bool {
    let is_open = |path: &Path| {
        path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o001 != 0)
    };
    let can = !rustix::process::geteuid().is_root() || Path::new(SLUG).ancestors().all(is_open);
    if !can {
        skip(format!("{SLUG} cannot be started by a plain user"));
    }
    can
}

fn look(command: &mut Command, server: &ModelServer, keys: &Keys) {
    server.reply(crate::bash("l1", "bash look.sh $PPID"));
    server.reply(ServerReply::text("Done."));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let (_, flag) = &keys[0];
    assert_eq!(server.chat_requests()[0].headers["authorization"], format!("Bearer {flag}"));
}

fn assert_nothing_found(env: &TestEnv, keys: &Keys) {
    let found = String::from_utf8_lossy(&fs::read(env.path("found")).unwrap()).into_owned();
    assert!(found.contains("PATH="), "it has looked");
    let is_key = |line: &&str| keys.iter().any(|(_, key)| line.contains(key));
    assert_eq!(found.lines().find(is_key), None, "a command finds a key of slug's");
}

#[test]
fn s100_an_encoded_key_that_a_server_sends_back_is_not_printed() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let key = "sk-CANARY-0123456789";
    let backwards: String = key.chars().rev().collect();
    let (hex, base64) =
        (key.bytes().map(|it| format!("{it:02x}")).collect::<String>(), STANDARD.encode(key));
    server.reply(ServerReply::error(400, &format!("no: {backwards}, {hex}, {base64}, {key}")));
    let endpoint = server.endpoint();
    let mut command = env.command(&["-m", "test-model", "-e", &endpoint, "-p", "go"]);
    let output = command.env("SLUG_API_KEY", key).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("no: "), "{stderr}");
    for form in [key, &backwards, &hex, base64.trim_end_matches('=')] {
        assert!(!stderr.contains(form), "{form}: {stderr}");
        assert!(!format!("{:?}", env.sessions()).contains(form), "{form}");
    }
}

#[test]
fn s100_a_key_under_another_name_reaches_no_command() {
    let key = "made-up-words-of-mine-17";
    let wrapped = format!("{{\"key\":\"{key}\"}}");
    let config = [
        String::new(),
        format!("api_key = \"{key}\""),
        format!("api_key_command = \"echo '{key}'\""),
    ];
    for (case, config) in config.iter().enumerate() {
        let (env, server) = (TestEnv::new(), ModelServer::start());
        let server_of_it = format!("endpoint = \"{}\"\nmodel = \"test-model\"", server.endpoint());
        env.write_home("config.toml", &format!("{server_of_it}\n{config}\n"));
        let file = env.slug_home().join("config.toml");
        fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
        server.reply(crate::bash("c1", "env > found"));
        server.reply(ServerReply::text("Done."));
        let mut command = env.command(&["--yolo", "-p", "go"]);
        if case == 0 {
            command.env("SLUG_API_KEY", key);
        }
        let output = command.envs([("MYLLM", key), ("MYCONF", &wrapped), ("MINE", "x")]).output();
        assert!(output.as_ref().unwrap().status.success(), "{config}: {output:?}");
        assert_eq!(
            server.chat_requests()[0].headers["authorization"],
            format!("Bearer {key}"),
            "{config}"
        );
        let found = env.read("found");
        assert!(found.contains("MINE=x") && !found.contains(key), "{config}: {found}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn s100_a_command_of_a_plain_user_cannot_read_slug_or_its_supervisor() {
    if !can_be_started_by_all() {
        return;
    }
    let (env, server, keys) = (TestEnv::new(), ModelServer::start(), keys_of("plain"));
    let mut command = with_all_keys(&env, &server, &keys);
    as_plain_user(&env, &mut command);
    look(&mut command, &server, &keys);
    let looked = env.read("looked");
    for line in [
        "supervisor environ closed",
        "supervisor mem closed",
        "supervisor maps closed",
        "slug-child",
        "slug environ closed",
        "slug mem closed",
        "slug maps closed",
        // A process without secrets can be read; without this the test would prove nothing.
        "control environ open",
    ] {
        assert!(looked.lines().any(|it| it == line), "{line} in {looked}");
    }
    assert_nothing_found(&env, &keys);
}

#[cfg(target_os = "linux")]
#[test]
fn s100_no_environment_or_command_line_holds_a_key_whoever_reads_it() {
    let (env, server, keys) = (TestEnv::new(), ModelServer::start(), keys_of("whoever"));
    look(&mut with_all_keys(&env, &server, &keys), &server, &keys);
    assert_nothing_found(&env, &keys);
}

#[test]
fn s100_a_key_of_any_layer_is_redacted_in_each_usual_form() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let keys = keys_of("layer");
    let mut command = with_all_keys(&env, &server, &keys);
    let keys = keys.map(|(_, key)| key);
    env.write("notes", &format!("{}\n", keys.join("\n")));
    server.reply(ServerReply::calls(
        "",
        &[("p1", "Bash", json!({"command": PRINT})), ("r1", "Read", json!({"file_path": "notes"}))],
    ));
    server.reply(ServerReply::text("Done."));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let results = ["p1", "r1"].map(|id| result_of(&server.chat_requests()[1], id)).concat();
    let solid: String = results.split_whitespace().collect();
    for key in &keys {
        let hex: String = key.bytes().map(|byte| format!("{byte:02x}")).collect();
        let percent: String = key.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let reversed: String = key.chars().rev().collect();
        // Wherever the key begins in base64, its middle is one of three texts.
        let base64 = [0, 1, 2].map(|from| STANDARD.encode(&key[from..from + 9]));
        let url = base64.clone().map(|it| it.replace('+', "-").replace('/', "_"));
        let forms = [key.clone(), hex.clone(), hex.to_uppercase(), percent, reversed];
        for form in forms.into_iter().chain(base64).chain(url) {
            assert!(!solid.contains(&form), "{form} of {key} in {results}");
        }
    }
    assert!(results.matches("[redacted: ").count() >= 11 * keys.len(), "{results}");
}

#[test]
fn s100_a_command_that_prints_a_key_gets_all_but_slugs_keys() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    let line = "env > ../seen; echo sk-CANARY-printed-0123456";
    let endpoint = server.endpoint();
    env.write_home(
        "config.toml",
        &format!("endpoint = \"{endpoint}\"\napi_key_command = \"{line}\"\n"),
    );
    server.reply(ServerReply::text("Done."));
    let mut command = env.command(&["--trust-workspace", "-m", "test-model", "-p", "go"]);
    command.env("OPENAI_API_KEY", "sk-CANARY-open-5678901234").env("VAULT_TOKEN", "passes");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let seen = fs::read_to_string(env.home().join("seen")).unwrap();
    assert!(seen.contains("VAULT_TOKEN=passes"), "{seen}");
    assert!(!seen.contains("CANARY"), "{seen}");
}
