//! Which call, target, folder and environment an approval is bound to.

use std::path::Path;

use serde_json::json;

use crate::domain::ContentHash;

use super::*;

#[test]
fn s109_an_approval_is_bound_to_what_was_approved() {
    let env = allow(["Bash(ls *)"]);
    let cwd = env.workspace.root().to_owned();
    let run = |command: &str, cwd: &Path| {
        env.query("Bash", &[ToolAccess::foreground(command, cwd.to_owned())])
    };
    let one = call("Bash", json!({"command": "rm x", "timeout": 1}));
    let approved = env.bash("rm x").approve_by_user(&one, "once").unwrap();
    assert_eq!(approved.input(), &json!({"command": "rm x", "timeout": 1}));
    assert_eq!(approved.approved_by(), "user (once)");
    assert!(approved.still_holds(&run("rm x", &cwd)));
    assert!(!approved.still_holds(&run("rm y", &cwd)));
    assert!(!approved.still_holds(&run("rm x", &cwd.join("src"))));
    let other = call("Bash", json!({"timeout": 1, "command": "rm x"}));
    let same = env.bash("rm x").approve_by_user(&other, "once").unwrap();
    assert_eq!(same.binding(), approved.binding());
    let other = call("Bash", json!({"timeout": 2, "command": "rm x"}));
    let changed = env.bash("rm x").approve_by_user(&other, "once").unwrap();
    assert_ne!(changed.binding(), approved.binding());
}

#[test]
fn s109_only_an_allowed_call_gets_a_ticket() {
    let env = allow(["Bash(ls *)"]).deny("Bash(rm *)");
    let one = call("Bash", json!({"command": "ls"}));
    assert!(env.bash("make").approve(&one).is_err());
    assert!(env.bash("rm x").approve(&one).is_err());
    assert!(env.bash("rm x").approve_by_user(&one, "once").is_err());
    assert!(env.bash("ls").approve(&call("Read", json!({}))).is_err());
    let raw = ToolCall { input: CallInput::Invalid("{".into()), ..one.clone() };
    assert!(env.bash("ls").approve(&raw).is_err());
    assert_eq!(env.bash("ls").approve(&one).unwrap().approved_by(), "rule Bash(ls *)");
}

#[cfg(unix)]
#[test]
fn s109_a_target_that_has_moved_no_longer_holds() {
    use std::os::unix::fs::symlink;
    let env = test_env();
    let access = [ToolAccess::Write(env.path("src/d/f"))];
    std::fs::create_dir(env.path("src/d")).unwrap();
    let one = call("Write", json!({"file_path": "src/d/f"}));
    let approved = env.decide("Write", &access).approve_by_user(&one, "once").unwrap();
    assert!(approved.still_holds(&env.query("Write", &access)));
    std::fs::remove_dir(env.path("src/d")).unwrap();
    symlink(env.folder.path(), env.path("src/d")).unwrap();
    assert!(!approved.still_holds(&env.query("Write", &access)));
}

#[cfg(unix)]
#[test]
fn s109_an_approval_of_a_pattern_is_bound_to_the_folder_in_front_of_it() {
    use std::os::unix::fs::symlink;
    let env = test_env();
    let folder = env.path("src/d");
    let commands = [
        "rm -rf src/d/*",
        "rm -rf src/d/s*",
        "cat src/d/{a,b}",
        "cp src/d/?x out",
        "rm src/d/$X",
        "src/d/t*",
    ];
    for command in commands {
        std::fs::create_dir(&folder).unwrap();
        let access = [ToolAccess::foreground(command, env.workspace.root().to_owned())];
        let one = call("Bash", json!({"command": command}));
        let approved = env.decide("Bash", &access).approve_by_user(&one, "once").unwrap();
        assert!(approved.still_holds(&env.query("Bash", &access)), "{command}");
        std::fs::remove_dir(&folder).unwrap();
        symlink(env.folder.path(), &folder).unwrap();
        assert!(!approved.still_holds(&env.query("Bash", &access)), "{command}");
        std::fs::remove_file(&folder).unwrap();
    }
}

#[test]
fn s109_an_approval_is_bound_to_the_folder_and_the_environment() {
    let env = test_env();
    let access = [ToolAccess::Write(env.path("src/f"))];
    let (here, there) = (env.workspace.root(), env.path("src"));
    let (one, other) = (ContentHash::of(b"A=1"), ContentHash::of(b"A=2"));
    let within = |cwd: &Path, environment| env.query("Write", &access).within(cwd, environment);
    let ticket = |query: &PermissionQuery| {
        let decision = decide(query, &env.rules, env.mode, &env.workspace);
        decision.approve_by_user(&call("Write", json!({"file_path": "f"})), "once").unwrap()
    };
    let approved = ticket(&within(here, &one));
    assert!(approved.still_holds(&within(here, &one)));
    for elsewhere in [within(&there, &one), within(here, &other)] {
        assert!(!approved.still_holds(&elsewhere));
        assert_ne!(ticket(&elsewhere).binding(), approved.binding());
    }
    assert_eq!(ticket(&within(here, &one)).binding(), approved.binding());
}
