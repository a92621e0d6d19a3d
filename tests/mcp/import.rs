//! `slug mcp import`: where it looks, what it shows, and what it writes.

use serde_json::{Value, json};

use crate::support::terminal::PtySlug;
use crate::support::test_env::TestEnv;

/// Writes a file below the user's home folder.
fn write_in_home(env: &TestEnv, file: &str, text: &str) {
    let path = env.home().join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn config(env: &TestEnv) -> String {
    std::fs::read_to_string(env.slug_home().join("config.toml")).unwrap_or_default()
}

fn all_agents(env: &TestEnv) {
    let here = env.workspace();
    let claude = json!({
        "mcpServers": {"git": {"command": "uvx", "args": ["mcp-server-git"], "env": {"A_TOKEN": "s3cr3t"}}},
        "projects": {here.to_str().unwrap(): {"mcpServers": {"here": {"url": "https://example.com/mcp",
            "headers": {"Authorization": "Bearer ${HERE_TOKEN}"}}}}},
    });
    write_in_home(env, ".claude.json", &claude.to_string());
    write_in_home(
        env,
        ".codex/config.toml",
        "[mcp_servers.codexed]\ncommand = \"x\"\n[mcp_servers.git]\ncommand = \"other\"\n",
    );
    write_in_home(
        env,
        ".config/opencode/opencode.jsonc",
        r#"{"mcp": {"opened": {"type": "local", "command": ["x", "y"],},},}"#,
    );
    write_in_home(
        env,
        ".config/crush/crush.json",
        r#"{"mcp": {"crushed": {"type": "stdio", "command": "x", "env": {"A": "$(id)"}}}}"#,
    );
    env.write(
        ".vscode/mcp.json",
        r#"{"servers": {"coded": {"command": "x", "env": {"K": "${input:k}"}}, "plain": {"command": "x"}}}"#,
    );
}

#[test]
fn without_a_source_the_files_of_all_agents_are_listed_and_nothing_is_written() {
    let env = TestEnv::new();
    let none = env.run(&["mcp", "import"]);
    assert!(none.out.starts_with("No MCP servers of Claude Code, Codex, "), "{}", none.out);
    none.assert_exit_code(0);
    all_agents(&env);
    let listed = env.run(&["mcp", "import"]);
    for line in [
        "claude-code  ~/.claude.json  2 servers: here, git\n",
        "codex        ~/.codex/config.toml  2 servers: codexed, git\n",
        "opencode     ~/.config/opencode/opencode.jsonc  1 server: opened\n",
        "crush        ~/.config/crush/crush.json  1 server: crushed\n",
        "mcp.json  2 servers: coded, plain\n",
        "See what slug would add: slug mcp import claude-code\n",
    ] {
        assert!(listed.out.contains(line), "{line}: {}", listed.out);
    }
    assert!(!listed.out.contains("s3cr3t"));
    env.run(&["mcp", "import", "--yes"]).assert_exit_code(2);
    assert_eq!(config(&env), "");
}

/// The preview has names alone, and is all that happens without a yes.
#[test]
fn a_preview_shows_names_and_writes_nothing() {
    let env = TestEnv::new();
    all_agents(&env);
    let shown = env.run(&["mcp", "import", "claude-code"]).assert_exit_code(0);
    assert_eq!(
        shown.out,
        "~/.claude.json\n  \
         add   here: https://example.com/mcp\n        \
         sends Authorization\n        \
         uses your HERE_TOKEN\n  \
         add   git: uvx mcp-server-git\n        \
         sends A_TOKEN\n        \
         note: the value of env.A_TOKEN may be a secret, and is copied as it is into your config.toml\n\
         Nothing is written. To add: slug mcp import claude-code --yes\n"
    );
    assert!(!shown.err.contains("s3cr3t"), "{}", shown.err);
    // Without a terminal nobody has said yes.
    env.run_with_input(&["mcp", "import", "claude-code"], "y\n").assert_exit_code(0);
    let json = env.run(&["mcp", "import", "claude-code", "--json"]);
    assert!(!json.out.contains("s3cr3t"), "{}", json.out);
    let json = json.json();
    assert_eq!(json["written"], false);
    assert_eq!(json["files"][0]["add"][1]["name"], "git");
    assert_eq!(config(&env), "");
}

#[test]
fn with_a_yes_servers_are_added_and_those_that_there_are_stay() {
    let env = TestEnv::new();
    all_agents(&env);
    env.run(&["mcp", "import", "claude-code", "--yes"]).assert_exit_code(0);
    let written = config(&env);
    assert!(written.contains("Bearer ${HERE_TOKEN}") && written.contains("s3cr3t"), "{written}");
    let mode = std::fs::metadata(env.slug_home().join("config.toml")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode.permissions()) & 0o777, 0o600);
    let git = env.run(&["mcp", "get", "git", "--json"]).json();
    assert_eq!((&git["starts"], &git["state"]), (&json!("uvx mcp-server-git"), &json!("enabled")));

    let again = env.run(&["mcp", "import", "claude-code", "--yes"]).assert_exit_code(0);
    assert!(again.out.contains("  skip  git: there is a server of this name\n"), "{}", again.out);
    assert!(again.out.ends_with("Nothing to add.\n"), "{}", again.out);
    assert_eq!(config(&env), written);

    let codex = env.run(&["mcp", "import", "codex", "--yes"]).assert_exit_code(0);
    assert!(codex.out.contains("  skip  git: there is a server of this name\n"), "{}", codex.out);
    assert!(codex.out.contains("Added codexed to "), "{}", codex.out);
    let git = env.run(&["mcp", "get", "git", "--json"]).json();
    assert_eq!(git["starts"], "uvx mcp-server-git");
}

#[test]
fn what_another_agent_asks_or_a_shell_expands_is_skipped_with_its_reason() {
    let env = TestEnv::new();
    all_agents(&env);
    let vs_code = env.run(&["mcp", "import", "vscode", "--yes"]).assert_exit_code(0);
    let why = "  skip  coded: asks for a value when it starts (`${input:…}`)\n";
    assert!(vs_code.out.contains(why), "{}", vs_code.out);
    let crush = env.run(&["mcp", "import", "crush", "--yes", "--json"]).json();
    assert_eq!(crush["written"], false);
    let skipped = &crush["files"][0]["skip"][0];
    assert_eq!(skipped["why"], "has a value that a shell would have to expand");
    let listed = env.run(&["mcp", "list", "--json"]).json();
    let names: Vec<&Value> = listed.as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["plain"]);
}

#[test]
fn a_named_file_is_read_in_its_own_form_and_a_broken_one_is_an_error() {
    let env = TestEnv::new();
    env.write("other.json", r#"{"mcpServers": {"s": {"command": "x"}}}"#);
    env.run(&["mcp", "import", "other.json", "--yes"]).assert_exit_code(0);
    assert!(config(&env).contains("[mcp.s]"));
    env.run(&["mcp", "import", "none.json"]).assert_exit_code(1);
    env.run(&["mcp", "import", "codex"]).assert_exit_code(1);
    write_in_home(&env, ".codex/config.toml", "token = s3cr3t");
    let broken = env.run(&["mcp", "import", "codex", "--yes"]);
    assert!(
        broken.err.contains("~/.codex/config.toml: not valid TOML (line 1)."),
        "{}",
        broken.err
    );
    assert!(!broken.err.contains("s3cr3t"), "{}", broken.err);
    broken.assert_exit_code(1);
    let fifo = env.path("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    env.run(&["mcp", "import", "fifo"]).assert_exit_code(1);
}

/// S73: names of servers are texts of others.
#[test]
fn s73_no_name_of_a_file_reaches_the_terminal_as_it_is() {
    let env = TestEnv::new();
    let hostile = json!({"mcpServers": {"a\u{1b}[2J": {"command": "x"},
        "b": {"command": "x\u{1b}[2J", "env": {"N\u{1b}": "y"}}}});
    env.write("hostile.json", &hostile.to_string());
    let shown = env.run(&["mcp", "import", "hostile.json"]);
    assert!(!shown.out.contains('\u{1b}') && !shown.err.contains('\u{1b}'), "{}", shown.out);
}

/// What was typed ahead is no answer, and anything but a `y` is a no.
#[test]
fn on_a_terminal_servers_are_added_after_a_yes() {
    let env = TestEnv::new();
    all_agents(&env);
    let open = || PtySlug::at(&env, 120, 30).args(&["mcp", "import", "opencode"]).open();
    for answer in ["\r", "n\r"] {
        let mut slug = open();
        slug.keys("y\r");
        slug.wait_for_question("Add 1 server to ");
        slug.wait_for_question("Add 1 server to ");
        slug.keys(answer);
        assert!(slug.wait().success());
        assert!(slug.raw().contains("Nothing is written."), "{}", slug.raw());
        assert_eq!(config(&env), "");
    }
    let mut slug = open();
    slug.wait_for_question("Add 1 server to ");
    slug.keys("y\r");
    assert!(slug.wait().success());
    assert!(slug.raw().contains("Added opened to "), "{}", slug.raw());
    assert!(config(&env).contains("[mcp.opened]"), "{}", config(&env));
}
