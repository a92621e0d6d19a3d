//! A project's hook is bound to the files that it runs: one that has changed is asked about again.

use serde_json::json;

use crate::support::model_server::{ModelServer, ServerReply};
use crate::support::test_env::{HeadlessOutput, TestEnv};

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
