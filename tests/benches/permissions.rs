//! Decides a command against many rules.

use std::path::Path;

use divan::{Bencher, black_box};
use slug_code::domain::{PermissionMode, ToolAccess};
use slug_code::permissions::{PermissionQuery, RuleSet, Workspace, decide};

/// 200 characters, as models write them.
const COMMAND: &str = "cd crates/parser && cargo test --workspace --all-features -- --nocapture \
     2>&1 | grep -E '^(test|error|failures)' | head -n 40; git status --short && git diff --stat \
     HEAD~3 -- src/parser.rs tests/parser.rs";

fn rules(workspace: &Workspace) -> RuleSet {
    let allow: Vec<String> = (0..400).map(|n| format!("Bash(tool{n} run *)")).collect();
    let deny: Vec<String> = (0..50).map(|n| format!("Read(secrets{n}/**)")).collect();
    let ask: Vec<String> = (0..50).map(|n| format!("Bash(deploy{n} *)")).collect();
    let rules = serde_json::json!({ "permissions": { "allow": allow, "deny": deny, "ask": ask } });
    let mut set = RuleSet::new();
    set.add_settings(&rules.to_string(), Path::new("/home/me/.slug/settings.json"), workspace);
    assert_eq!(set.sources().count(), 500);
    set
}

fn workspace() -> Workspace {
    Workspace::new("/work", Vec::new(), Some("/home/me".into()), "/home/me/.slug")
}

#[divan::bench]
fn decide_a_command_against_500_rules(bencher: Bencher) {
    let workspace = workspace();
    let rules = rules(&workspace);
    let access = [ToolAccess::foreground(COMMAND, "/work")];
    bencher.bench(|| {
        let query = PermissionQuery::resolve("Bash", black_box(&access), &workspace);
        decide(&query, &rules, PermissionMode::Ask, &workspace).outcome()
    });
}

/// The same without the analysis of the command and the disk access.
#[divan::bench]
fn decide_an_analysed_command_against_500_rules(bencher: Bencher) {
    let workspace = workspace();
    let rules = rules(&workspace);
    let access = [ToolAccess::foreground(COMMAND, "/work")];
    let query = PermissionQuery::resolve("Bash", &access, &workspace);
    bencher.bench(|| decide(black_box(&query), &rules, PermissionMode::Ask, &workspace).outcome());
}

#[divan::bench]
fn read_500_rules(bencher: Bencher) {
    let workspace = workspace();
    bencher.bench(|| rules(&workspace));
}
