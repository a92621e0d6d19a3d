//! The key for a server, wherever it comes from, reaches that server and no child or log.

use crate::bash;
use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::test_env::TestEnv;

#[test]
fn s100_s102_the_key_reaches_its_server_and_no_child_or_log() {
    let (env, server) = (TestEnv::new(), ModelServer::start());
    env.write_home("settings.json", r#"{"permissions":{"allow":["Bash"]}}"#);
    server.reply(bash("c1", "env"));
    server.reply(ServerReply::text("Done."));
    let endpoint = server.endpoint();
    let mut command =
        env.command(&["--trust-workspace", "--debug-log", "-m", "test-model", "-p", "env"]);
    command.env("SLUG_API_KEY", "sk-CANARY-0123456789").env("SLUG_ENDPOINT", &endpoint);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let requests = server.chat_requests();
    assert_eq!(requests[0].headers["authorization"], "Bearer sk-CANARY-0123456789");
    assert!(!requests[1].body.to_string().contains("CANARY"));
    assert_nowhere(&env, "CANARY");
}

/// Asserts that no file of slug's home holds `secret`.
fn assert_nowhere(env: &TestEnv, secret: &str) {
    let mut folders = vec![env.slug_home()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            assert!(!String::from_utf8_lossy(&bytes).contains(secret), "{}", path.display());
        }
    }
}

/// The real key is only in the file that the command reads; the debug log learns it when it is
/// printed.
#[test]
fn s100_s102_a_key_from_anywhere_reaches_its_server_and_no_child_or_log() {
    use std::os::unix::fs::PermissionsExt;
    let key = "CANARY-0123456789".to_owned();
    for way in [
        "api_key_command = [\"cat\", \"../../tmp/key\"]",
        "api_key_command = \"env > ../../tmp/seen; cat ../../tmp/key\"",
        "api_key = { keyring = \"work\" }",
        "api_key = { env = \"MY_LLM\" }",
    ] {
        let (env, server) = (TestEnv::new(), ModelServer::start());
        let tmp = env.home().join("../tmp");
        std::fs::write(tmp.join("key"), format!("{key}\nuser: me\n")).unwrap();
        let tool = tmp.join("secret-tool");
        std::fs::write(&tool, "#!/bin/sh\ncat \"${0%/*}/key\"\n").unwrap();
        std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        env.write_home("settings.json", r#"{"permissions":{"allow":["Bash"]}}"#);
        let endpoint = server.endpoint();
        let config = format!(
            "endpoint = \"{endpoint}\"\nmodel = \"test-model\"\n{way}\n\
             headers = {{ X-Who = {{ env = \"MY_WHO\" }} }}\n"
        );
        env.write_home("config.toml", &config);
        server.reply(bash("c1", "env; cat /proc/$PPID/cmdline"));
        server.reply(ServerReply::text("Done."));
        let mut command = env.command(&["--trust-workspace", "--debug-log", "-p", "env"]);
        let path = std::env::var_os("PATH").unwrap();
        let paths = std::iter::once(tmp.clone()).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(paths).unwrap());
        command.env("OPENAI_API_KEY", "CANARY-openai").env("MY_WHO", "CANARY-who-it-is");
        if way.contains("MY_LLM") {
            command.env("MY_LLM", &key);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{way}: {output:?}");
        let requests = server.chat_requests();
        assert_eq!(requests[0].headers["authorization"], format!("Bearer {key}"), "{way}");
        assert_eq!(requests[0].headers["x-who"], "CANARY-who-it-is", "{way}");
        assert!(!requests[1].body.to_string().contains("CANARY"), "{way}");
        assert!(!String::from_utf8_lossy(&output.stderr).contains("CANARY"), "{way}");
        assert_nowhere(&env, "CANARY");
        if let Ok(seen) = std::fs::read_to_string(tmp.join("seen")) {
            assert!(seen.contains("PATH=") && !seen.contains("CANARY"), "{seen}");
        }

        // A key that the server repeats is taken out of the debug log, though only the key is
        // known.
        server.reply(ServerReply::text(&format!("Your key is {key}.")));
        let mut command = env.command(&["--trust-workspace", "--debug-log", "-p", "again"]);
        let paths = std::iter::once(tmp.clone()).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(paths).unwrap()).env("MY_LLM", &key);
        command.env("MY_WHO", "x");
        assert!(command.output().unwrap().status.success());
        let mut folders = vec![env.slug_home().join("debug"), env.slug_home().join("logs")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let text = std::fs::read_to_string(&path).unwrap();
                    assert!(!text.contains(&key), "{way}: {}", path.display());
                }
            }
        }
    }
}

#[test]
fn a_missing_key_is_reported_before_anything_is_sent() {
    for (way, expected) in [
        ("api_key_command = \"echo locked >&2; exit 3\"", "exit status: 3: locked"),
        ("api_key = { env = \"NOT_SET_HERE\" }", "variable NOT_SET_HERE, which is not set"),
    ] {
        let (env, server) = (TestEnv::new(), ModelServer::start());
        let endpoint = server.endpoint();
        let config = format!("endpoint = \"{endpoint}\"\nmodel = \"test-model\"\n{way}\n");
        env.write_home("config.toml", &config);
        let ran = env.run(&["--trust-workspace", "-p", "hello"]).assert_exit_code(1);
        assert!(ran.describe().contains(expected), "{}", ran.describe());
        assert!(server.chat_requests().is_empty(), "{way}");
        let doctor = env.run(&["doctor"]).assert_exit_code(1);
        assert!(
            doctor.describe().contains("There is no key for")
                && doctor.describe().contains(expected)
        );
    }
}
