//! `slug migrate`: a home and a folder set up for another agent, what slug takes over and what it leaves.

use serde_json::Value;

use crate::support::test_env::TestEnv;

fn json(env: &TestEnv, arguments: &[&str]) -> Value {
    let output = env.run(arguments).assert_exit_code(0);
    serde_json::from_str(&output.out).unwrap()
}

/// Everything that Claude Code has in a home and a repository.
fn claude_code() -> TestEnv {
    let env = TestEnv::new();
    env.write("../home/.claude/CLAUDE.md", "Answer in English.\n");
    env.write(
        "../home/.claude/skills/deploy/SKILL.md",
        "---\nname: deploy\ndescription: x\n---\nx",
    );
    env.write(
        "../home/.claude/settings.json",
        r#"{"permissions": {"deny": ["Read(~/.ssh/**)"]}, "model": "opus"}"#,
    );
    env.write(
        "../home/.claude.json",
        r#"{"mcpServers": {"tracker": {"type": "http", "url": "https://tracker.example/mcp"}}}"#,
    );
    env.write("CLAUDE.md", "Use tabs.\n");
    env.write(".claude/commands/fix.md", "Fix $ARGUMENTS");
    env.write(".claude/agents/reviewer.md", "---\nname: reviewer\ndescription: x\n---\nx");
    env.write(".mcp.json", r#"{"mcpServers": {}}"#);
    env.write(
        ".claude/settings.json",
        r#"{
            "permissions": {"allow": ["Bash(npm test:*)", "Edit(/src/**)"]},
            "hooks": {"PreToolUse": [
                {"matcher": "Bash", "hooks": [{"type": "command", "command": "./guard.sh"}]}
            ]}
        }"#,
    );
    env.write(
        ".claude/settings.local.json",
        r#"{"permissions": {"allow": ["WebFetch(domain:docs.rs)"]},
            "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "beep"}]}]}}"#,
    );
    env
}

#[test]
fn what_claude_code_has_is_shown_and_taken_over_once() {
    let env = claude_code();
    let shown = env.run(&["migrate", "claude-code"]).assert_exit_code(0).out;
    for line in [
        "  as it is  CLAUDE.md: instructions",
        "  as it is  .claude/commands: commands",
        "  as it is  .claude/agents: agents",
        "  as it is  .mcp.json: MCP servers",
        "  as it is  ~/.claude/skills: skills",
        "~/.claude/settings.json to ~/.slug/settings.json\n  add   deny Read(~/.ssh/**)",
        "  skip  model opus: choose one with /model",
        "  add   allow Edit(/src/**), in slug: Edit(./src/**)",
        "  add   hook PreToolUse Bash: ./guard.sh",
        "  add   allow WebFetch(domain:docs.rs)",
        "  skip  hook Stop: beep: it is yours alone",
        "  add   instructions for every project",
        "  add   tracker: https://tracker.example/mcp",
        "Nothing is written. To add 4 rules, 1 hook, 1 server, 1 instruction file: slug migrate claude-code",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    assert!(!env.slug_home().join("settings.json").exists());

    let written = env.run(&["migrate", "claude-code", "--yes"]).assert_exit_code(0).out;
    assert!(written.contains("Added 4 rules, 1 hook, 1 server, 1 instruction file."), "{written}");
    assert_eq!(env.read("../home/.slug/SLUG.md"), "Answer in English.\n");
    assert!(env.read("../home/.slug/config.toml").contains("https://tracker.example/mcp"));
    let report = json(&env, &["--trust-workspace", "permissions", "list", "--json"]);
    let rules = report["rules"].as_array().unwrap().iter().map(|it| it["rule"].as_str().unwrap());
    let rules: Vec<&str> = rules.collect();
    for rule in
        ["Read(~/.ssh/**)", "Bash(npm test:*)", "Edit(./src/**)", "WebFetch(domain:docs.rs)"]
    {
        assert!(rules.contains(&rule), "{rule}: {rules:?}");
    }
    assert_eq!(report["warnings"].as_array().map(Vec::len), Some(0), "{report}");
    // The project's own files count only once the folder is trusted.
    let untrusted = json(&env, &["permissions", "list", "--json"]).to_string();
    assert!(untrusted.contains(".ssh") && !untrusted.contains("npm test"), "{untrusted}");

    let again = env.run(&["migrate", "claude-code", "--yes"]).assert_exit_code(0).out;
    assert!(again.contains("Nothing to add."), "{again}");
    assert!(again.contains("skip  deny Read(~/.ssh/**): slug has it"), "{again}");
    assert!(again.contains("slug has a hooks.json there"), "{again}");
}

#[test]
fn what_codex_has_is_shown_and_taken_over() {
    let env = TestEnv::new();
    env.write("../home/.codex/AGENTS.md", "Be brief.\n");
    env.write("../home/.codex/prompts/fix.md", "Fix $1");
    env.write("../home/.codex/rules/default.rules", "prefix_rule(pattern = [\"git\", \"log\"])\n");
    env.write(
        "../home/.codex/config.toml",
        "approval_policy = \"on-request\"\n[mcp_servers.docs]\ncommand = \"docs-server\"\n",
    );
    env.write("AGENTS.md", "Use tabs.\n");
    let written = env.run(&["migrate", "codex", "--yes"]).assert_exit_code(0).out;
    for line in [
        "  as it is  AGENTS.md: instructions",
        "  as it is  ~/.codex/prompts: commands",
        "  skip  approval_policy on-request: set `permission_mode`",
        "  add   allow git log, in slug: Bash(git log *)",
        "Added 1 rule, 1 server, 1 instruction file.\n",
    ] {
        assert!(written.contains(line), "{line}\n{written}");
    }
    assert!(env.read("../home/.slug/settings.json").contains("Bash(git log *)"));
    assert_eq!(env.read("../home/.slug/SLUG.md"), "Be brief.\n");
}

#[test]
fn what_opencode_has_is_shown_and_taken_over() {
    let env = TestEnv::new();
    env.write(
        "opencode.json",
        r#"{"permission": {"edit": "allow", "bash": {"*": "ask", "git push*": "deny"}}}"#,
    );
    env.write(".opencode/command/fix.md", "Fix $1");
    let written = env.run(&["migrate", "opencode", "--yes"]).assert_exit_code(0).out;
    for line in [
        "  as it is  .opencode/command: commands",
        "opencode.json to .slug/settings.json",
        "  add   edit allow, in slug: Edit",
        "  add   bash \"git push*\" deny, in slug: Bash(git push *)",
        "  skip  bash \"*\" ask: slug does so without a rule",
        "Added 2 rules. slug asks about the project's files at its next start.",
    ] {
        assert!(written.contains(line), "{line}\n{written}");
    }
    assert!(env.read(".slug/settings.json").contains("Bash(git push *)"));
}

#[test]
fn what_is_there_is_kept_and_what_cannot_be_read_is_said() {
    let env = claude_code();
    env.write("../home/.slug/SLUG.md", "Mine.\n");
    env.write(
        "../home/.slug/settings.json",
        "{\n  // mine\n  \"permissions\": {\"ask\": [\"Bash(rm *)\"]}\n}\n",
    );
    env.write(".claude/settings.json", "{\"permissions\": {");
    let written = env.run(&["migrate", "claude-code", "--yes"]).assert_exit_code(0).out;
    assert!(written.contains("skip  the file: "), "{written}");
    assert!(written.contains("skip  instructions: ~/.slug/SLUG.md already exists"), "{written}");
    assert_eq!(env.read("../home/.slug/SLUG.md"), "Mine.\n");
    let settings = env.read("../home/.slug/settings.json");
    assert!(settings.contains("// mine") && settings.contains("Bash(rm *)"), "{settings}");
    assert!(settings.contains("Read(~/.ssh/**)"), "{settings}");
}

#[test]
fn hostile_settings_are_shown_harmless_and_write_nowhere_else() {
    let env = TestEnv::new();
    let elsewhere = env.path("../elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, env.path(".slug")).unwrap();
    env.write(
        ".claude/settings.json",
        "{\"permissions\": {\"allow\": [\"Bash(*)\"]}, \
         \"hooks\": {\"PreToolUse\": [{\"matcher\": \"\u{1b}]0;x\u{7}\", \"hooks\": \
         [{\"type\": \"command\", \"command\": \"a\u{202e}b\"}]}]}}",
    );
    let written = env.run(&["migrate", "claude-code", "--yes"]).assert_exit_code(0).out;
    assert!(!written.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{written:?}");
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0, "{written}");
}

#[test]
fn without_another_agent_there_is_nothing_to_take_over() {
    let env = TestEnv::new();
    let output = env.run(&["migrate"]).assert_exit_code(1);
    assert!(
        output.err.contains("No settings found here of: Claude Code, Codex, opencode"),
        "{}",
        output.err
    );
    env.run(&["migrate", "cursor"]).assert_exit_code(2);
    env.write("CLAUDE.md", "x");
    env.write("../home/.codex/prompts/a.md", "x");
    let both = env.run(&["migrate"]).assert_exit_code(0).out;
    assert!(both.contains("To take one over: slug migrate claude-code|codex"), "{both}");
}
