//! Settings of each agent, with what slug takes over and what it leaves, and why.

use super::*;
use crate::domain::RuleKind::{Allow, Ask, Deny};

fn items(format: MigrationFormat, text: &str) -> Vec<(String, MigrationOutcome)> {
    let workspace = Workspace::new("/w", Vec::new(), Some("/home/u".into()), "/home/u/.slug");
    let items = read(format, text, &workspace).unwrap();
    items.into_iter().map(|item| (item.name, item.outcome)).collect()
}

/// The rules that are taken over, and the names and reasons of what is left.
fn sorted(format: MigrationFormat, text: &str) -> (Vec<RuleEntry>, Vec<(String, String)>) {
    let (mut rules, mut left) = (Vec::new(), Vec::new());
    for (name, outcome) in items(format, text) {
        match outcome {
            MigrationOutcome::Rule(rule) => rules.push(rule),
            MigrationOutcome::Left(why) => left.push((name, why)),
            MigrationOutcome::Hook { .. } => {}
        }
    }
    (rules, left)
}

fn rule(kind: RuleKind, rule: &str) -> RuleEntry {
    (kind, rule.to_owned())
}

const OF_PROJECT: MigrationFormat = MigrationFormat::ClaudeCodeSettings(SettingsOwner::Project);
const OF_USER: MigrationFormat = MigrationFormat::ClaudeCodeSettings(SettingsOwner::User);

#[test]
fn the_rules_of_claude_code_keep_their_meaning() {
    let text = r#"{
        // Comments are read.
        "permissions": {
            "allow": ["Bash(npm run test:*)", "Read(//etc/hosts)", "Edit(/src/**)", "mcp__git", "Bash(*)"],
            "ask": ["WebFetch(domain:example.org)"],
            "deny": ["Read(./.env)", "Read(~/.ssh/**)", "Bash(curl:*)"]
        }
    }"#;
    let (rules, left) = sorted(OF_PROJECT, text);
    assert_eq!(left, []);
    assert_eq!(
        rules,
        [
            rule(Allow, "Bash(npm run test:*)"),
            rule(Allow, "Read(/etc/hosts)"),
            rule(Allow, "Edit(./src/**)"),
            rule(Allow, "mcp__git"),
            rule(Allow, "Bash"),
            rule(Ask, "WebFetch(domain:example.org)"),
            rule(Deny, "Read(./.env)"),
            rule(Deny, "Read(~/.ssh/**)"),
            rule(Deny, "Bash(curl:*)"),
        ]
    );
}

#[test]
fn what_claude_code_has_and_slug_has_not_is_left_with_the_reason() {
    let text = r#"{
        "$schema": "https://example.org",
        "permissions": {
            "allow": ["Tsk", "Read(/src/**)", 7],
            "defaultMode": "acceptEdits", "additionalDirectories": ["../lib"]
        },
        "model": "opus", "env": {"A": "secret"}, "newThing": {}
    }"#;
    let (rules, left) = sorted(OF_USER, text);
    assert_eq!(rules, []);
    let names: Vec<&str> = left.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "allow Tsk",
            "allow Read(/src/**)",
            "allow 7",
            "permissions.defaultMode acceptEdits",
            "permissions.additionalDirectories [\"../lib\"]",
            "model opus",
            "env",
            "newThing",
        ]
    );
    assert!(left[0].1.contains("there is no tool `Tsk`"), "{left:?}");
    assert!(left[1].1.contains("~/.claude"), "{left:?}");
    assert!(left.iter().all(|(_, why)| !why.ends_with('.')), "{left:?}");
}

#[test]
fn hooks_are_taken_in_their_form_and_those_that_slug_cannot_run_are_left() {
    let text = r#"{"hooks": {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "guard.sh", "timeout": 5}]},
            {"matcher": "Edit", "hooks": [{"type": "agent", "prompt": "is it good?"}]}
        ],
        "WorktreeCreate": [{"hooks": [{"type": "command", "command": "x"}]}],
        "Stop": {"hooks": []}
    }}"#;
    let found = items(OF_PROJECT, text);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "hook PreToolUse Bash: guard.sh",
            "hook PreToolUse Edit: agent",
            "hook WorktreeCreate: x",
            "hook Stop",
        ]
    );
    let taken: Vec<(&str, &Value)> = found
        .iter()
        .filter_map(|(_, outcome)| match outcome {
            MigrationOutcome::Hook { event, entry } => Some((event.as_str(), entry)),
            MigrationOutcome::Rule(_) | MigrationOutcome::Left(_) => None,
        })
        .collect();
    assert_eq!(taken.len(), 1);
    let file = hook_file(taken).unwrap();
    let (hooks, warnings) = hooks::read(&file, Path::new("hooks.json"));
    assert_eq!((hooks.len(), warnings.len()), (1, 0), "{file}");
    assert_eq!(hook_file([]), None);
}

#[test]
fn of_opencode_a_pattern_is_taken_where_its_order_makes_no_difference() {
    let text = |of_all: &str| {
        format!(
            r#"{{"mcp": {{}}, "permission": {{
                "edit": "allow", "webfetch": "deny", "websearch": "ask", "task": "deny",
                "read": {{"*.env": "deny"}},
                "bash": {{"*": "{of_all}", "git status": "allow", "git push*": "ask", "rm *": "deny"}}
            }}, "model": "x/y"}}"#
        )
    };
    let common = [rule(Allow, "Edit"), rule(Deny, "WebFetch")];
    let (rules, left) = sorted(MigrationFormat::OpencodeConfig, &text("ask"));
    assert_eq!(rules[..2], common);
    assert_eq!(rules[2..], [rule(Allow, "Bash(git status)"), rule(Deny, "Bash(rm *)")]);
    assert_eq!(left.len(), 6, "{left:?}");
    let (rules, _) = sorted(MigrationFormat::OpencodeConfig, &text("allow"));
    assert_eq!(
        rules[2..],
        [
            rule(Allow, "Bash"),
            rule(Allow, "Bash(git status)"),
            rule(Ask, "Bash(git push *)"),
            rule(Deny, "Bash(rm *)"),
        ]
    );
    // To deny all would deny `git status`, too.
    let (rules, left) = sorted(MigrationFormat::OpencodeConfig, &text("deny"));
    assert_eq!(rules[2..], [rule(Allow, "Bash(git status)"), rule(Deny, "Bash(rm *)")]);
    assert!(left.iter().any(|(name, _)| name == "bash \"*\" deny"), "{left:?}");
}

#[test]
fn the_rules_of_codex_are_commands_by_their_first_words() {
    let text = r#"
        # Reading is fine.
        prefix_rule(pattern=["git", ["status", "log"]]) # "both"
        prefix_rule(
            pattern = ['gh', 'pr', 'merge'],
            decision = "prompt",
            justification = "it is public",
        )
        prefix_rule(pattern = ["rm", "-rf"], decision = "forbidden")
        prefix_rule(pattern = ["echo", "a*b"], decision = "allow")
        prefix_rule(pattern = WORDS, decision = "allow")
        prefix_rule(pattern = ["x"], decision = "perhaps")
        prefix_rule(pattern = [], decision = "allow")
    "#;
    let (rules, left) = sorted(MigrationFormat::CodexRules, text);
    assert_eq!(
        rules,
        [
            rule(Allow, "Bash(git status *)"),
            rule(Allow, "Bash(git log *)"),
            rule(Ask, "Bash(gh pr merge *)"),
            rule(Deny, "Bash(rm -rf *)"),
        ]
    );
    assert_eq!(left.len(), 4, "{left:?}");
    let many = format!("prefix_rule(pattern = [{}])", r#"["a", "b"], "#.repeat(20));
    let (rules, left) = sorted(MigrationFormat::CodexRules, &many);
    assert_eq!((rules.len(), left.len()), (0, 1));
}

#[test]
fn what_codex_says_about_approval_is_named_with_what_to_do() {
    let text = "approval_policy = \"never\"\n[mcp_servers.a]\ncommand = \"x\"\n[profiles.p]\n";
    let (rules, left) = sorted(MigrationFormat::CodexConfig, text);
    assert_eq!(rules, []);
    let names: Vec<&str> = left.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["approval_policy never", "profiles"]);
}

#[test]
fn a_text_of_another_form_is_an_error() {
    let workspace = Workspace::new("/w", Vec::new(), None, "/s");
    for (format, text) in [
        (OF_USER, ""),
        (OF_USER, "[]"),
        (OF_USER, "{\"permissions\": {"),
        (MigrationFormat::OpencodeConfig, "7"),
        (MigrationFormat::CodexConfig, "a = "),
    ] {
        let error = read(format, text, &workspace).unwrap_err();
        assert!(!error.is_empty() && !error.ends_with('.'), "{format:?} {text:?}: {error}");
    }
}
