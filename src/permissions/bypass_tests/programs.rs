//! Names: a name means a program of the system, never one that lies in the workspace.

use super::*;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn program(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn with_path(env: BypassTestEnv, path: &str) -> BypassTestEnv {
    let root = env.workspace.root().to_owned();
    let home = env.workspace.home().unwrap().to_str().unwrap();
    let path = path.replace("ROOT", root.to_str().unwrap()).replace("HOME", home);
    let workspace = env.workspace.clone().with_search_path(path.as_ref());
    program(&root.join("bin/ls"), "#!/bin/sh\n");
    program(&root.join("bin/eslint"), "#!/bin/sh\n");
    BypassTestEnv { workspace, ..env }
}

#[test]
fn s64_a_program_of_the_project_is_none_that_a_rule_means() {
    for path in [
        "ROOT/bin:/usr/bin:/bin",
        "bin:/usr/bin:/bin",
        "./bin:/usr/bin",
        ":/usr/bin",
        "ROOT/../app/bin",
    ] {
        let rules =
            || BypassTestEnv::new(PermissionMode::Ask).allow("Bash(ls *)").allow("Bash(eslint *)");
        let env = with_path(rules(), path);
        if path == ":/usr/bin" {
            program(&env.workspace.root().join("ls"), "");
            program(&env.workspace.root().join("eslint"), "");
        }
        env.all(Ask, &["ls", "ls -la", "eslint src", "timeout 5 ls", "cat x | ls"]);
        // Programs of the system and of bash itself are found as always.
        env.all(Allow, &["echo x", "cat x", "true"]);
        let plan = with_path(BypassTestEnv::new(PermissionMode::Plan), path);
        if path == ":/usr/bin" {
            program(&plan.workspace.root().join("ls"), "");
        }
        plan.all(Deny, &["ls"]);
        with_path(BypassTestEnv::new(PermissionMode::Yolo), path).all(Allow, &["eslint src"]);
    }
    let first = with_path(BypassTestEnv::new(PermissionMode::Ask), "/usr/bin:/bin:ROOT/bin");
    first.all(Allow, &["ls"]);
    first.all(Ask, &["eslint"]);
}

#[test]
fn s64_its_rule_has_its_path_and_its_hash() {
    let mut env = with_path(BypassTestEnv::new(PermissionMode::Ask), "ROOT/bin:/usr/bin:/bin");
    let decided = |env: &BypassTestEnv, command: &str| {
        let cwd = env.workspace.root().to_owned();
        let access = ToolAccess::foreground(command, cwd);
        let query = PermissionQuery::resolve("Bash", &[access], &env.workspace);
        decide(&query, &env.rules, env.mode, &env.workspace)
    };
    let decision = decided(&env, "eslint src");
    let rule = decision.allow_rules()[0].clone();
    assert!(rule.starts_with("Bash(./bin/eslint@sha256:"), "{rule}");
    assert!(
        decision.reason().contains("this project's own program ./bin/eslint"),
        "{}",
        decision.reason()
    );
    env.rules.add_session(RuleKind::Allow, &rule, &env.workspace).unwrap();
    let decision = decided(&env, "eslint src");
    assert_eq!(decision.outcome(), Allow);
    env.all(Ask, &["eslint other"]);
    let call = crate::domain::ToolCall {
        id: crate::domain::CallId::new("1"),
        name: "Bash".into(),
        input: crate::domain::CallInput::Valid(serde_json::json!({"command": "eslint src"})),
    };
    // The program is found where PATH finds it, not where another file happens to lie.
    let root = env.workspace.root().display().to_string();
    let approved = decision.approve(&call).unwrap();
    assert_eq!(approved.search_path().unwrap(), &*format!("{root}/bin:/usr/bin:/bin"));
    let approved = decided(&env, "cat src").approve(&call).unwrap();
    assert_eq!(approved.search_path().unwrap(), "/usr/bin:/bin");
    // Other content is another program.
    program(&env.workspace.root().join("bin/eslint"), "#!/bin/sh\nevil\n");
    env.all(Ask, &["eslint src"]);
}

#[test]
fn a_link_outside_to_a_program_of_the_project_is_the_projects_own() {
    let env = with_path(BypassTestEnv::new(PermissionMode::Ask), "HOME/bin:/usr/bin:/bin");
    let (root, home) = (env.workspace.root(), env.workspace.home().unwrap());
    program(&root.join("target/rg"), "#!/bin/sh\nevil\n");
    std::fs::create_dir_all(home.join("bin")).unwrap();
    std::os::unix::fs::symlink(root.join("target/rg"), home.join("bin/rg")).unwrap();
    env.all(Ask, &["rg x", "env rg x"]);
    env.all(Allow, &["ls", "cat src/x"]);
}
