//! The modes, and what holds in each of them.

use super::*;

#[test]
fn s106_plan_mode_changes_nothing() {
    let scene =
        allow(["Edit", "Write", "Bash", "Bash(touch *)", "Bash(*)"]).mode(PermissionMode::Plan);
    for tool in ["Write", "Edit", "MultiEdit"] {
        assert_eq!(scene.decide(tool, &[ToolAccess::Write(scene.path("src/x"))]).outcome(), Deny);
    }
    scene.all(
        Deny,
        &[
            "touch x",
            "echo x > f",
            "git stash",
            "ls $x",
            "ls && touch x",
            "find . -delete",
            "sort -o f",
            "eval ls",
            "A=1 ls",
            "env ls",
            "ls 'x",
            "cat <<E\nE",
            "(ls)",
            "npm test",
            "tee f",
        ],
    );
    scene.all(
        Allow,
        &[
            "ls -la src",
            "cat src/a | head -5",
            "grep -rn x src 2>/dev/null",
            "find . -name '*.rs' | wc -l",
            "pwd",
            "echo /etc/passwd",
            "cat < src/a",
        ],
    );
    scene.all(
        Ask,
        &["cat /etc/passwd", "ls ../", "cat < ../x", "cat /proc/self/environ", "grep x /etc/hosts"],
    );
    scene.all(Ask, &["head -c5 ~/x"].map(|_| "tail ../x"));
    assert_eq!((scene.read("src/x"), scene.read("../x")), (Allow, Ask));
    scene.deny("Read(.env)").all(Deny, &["cat .env"]);
}

#[test]
fn s108_yolo_has_a_floor() {
    let scene = deny(["Bash(git push *)"]).mode(PermissionMode::Yolo);
    scene.all(
        Deny,
        &["git push", "ls && git push origin", "sh -c 'git push'", "$(git push)", "env git push"],
    );
    scene.all(Allow, &["rm -rf x", "ls $x", "ls 'x", "curl x | sh", "eval ls", "cat ../x > ../y"]);
    for path in
        [".slug/settings.local.json", "~/.slug/settings.json", ".mcp.json", "~/.slug/config.toml"]
    {
        assert_eq!(scene.write(path), Ask, "{path}");
    }
    scene.all(Deny, &["echo x > .slug/settings.json", "for i in 1; do echo x > .git/config; done"]);
    scene.all(
        Ask,
        &[
            "cp x .slug/settings.json",
            "rm ~/.slug/trust.json",
            "sed -i s/a/b/ .mcp.json",
            "sh -c 'cp x .slug/y'",
        ],
    );
    scene.all(Allow, &["cat .slug/settings.json"]);
    assert_eq!((scene.read("../x"), scene.write("../x")), (Allow, Allow));
    let asks = scene.rule(RuleKind::Ask, "Bash(deploy *)");
    asks.all(Ask, &["deploy now"]);
}

#[test]
fn each_mode_does_what_its_name_says() {
    use PermissionMode::{AllowEdits, Ask as AskMode, Plan, Sandbox, Yolo};
    for (mode, read, read_out, write, write_out, run) in [
        (AskMode, Allow, Ask, Ask, Ask, Ask),
        (AllowEdits, Allow, Ask, Allow, Ask, Ask),
        (Plan, Allow, Ask, Deny, Deny, Deny),
        // Until one is in force.
        (Sandbox, Allow, Ask, Ask, Ask, Ask),
        (Yolo, Allow, Allow, Allow, Allow, Allow),
    ] {
        let scene = scene().mode(mode);
        assert_eq!(scene.read("src/x"), read, "{mode}");
        assert_eq!(scene.read("../x"), read_out, "{mode}");
        assert_eq!(scene.write("src/x"), write, "{mode}");
        assert_eq!(scene.write("../x"), write_out, "{mode}");
        assert_eq!(scene.bash("npm test").outcome(), run, "{mode}");
        assert_eq!(scene.decide("TodoWrite", &[ToolAccess::Nothing]).outcome(), Allow, "{mode}");
    }
}

/// In a sandbox around the workspace.
fn sandboxed(scene: PermissionTestEnv) -> PermissionTestEnv {
    let root = scene.workspace.root().to_owned();
    let workspace = scene.workspace.with_sandbox(&root);
    PermissionTestEnv { workspace, mode: PermissionMode::Sandbox, ..scene }
}

#[test]
fn in_the_sandbox_commands_and_its_folder_are_not_asked_about() {
    let scene = sandboxed(scene());
    let all = (scene.read("src/x"), scene.write("src/x"), scene.read("../x"), scene.write("../x"));
    assert_eq!(all, (Allow, Allow, Ask, Ask));
    let commands =
        ["npm test", "ls $(id)", "for i in a b; do rm $i; done", "echo x > ../y", "ls 'x"];
    scene.all(Allow, &commands);
    scene.all(Allow, &["rm -rf .slug"]);
    assert_eq!((scene.write(".git/config"), scene.write(".slug/settings.json")), (Ask, Ask));
    scene.all(Deny, &["echo x > .git/config"]);
    sandboxed(deny(["Bash(rm *)"])).all(Deny, &["rm x", "ls; rm x"]);
    sandboxed(super::scene().rule(RuleKind::Ask, "Bash(git push *)")).all(Ask, &["git push"]);
}

#[test]
fn s111_a_command_elsewhere_is_none_that_the_sandbox_holds() {
    let scene = sandboxed(scene());
    let cwd = scene.workspace.home().unwrap().to_owned();
    let run = ToolAccess::Run { command: "npm test".into(), cwd };
    assert_eq!(scene.decide("Bash", &[run]).outcome(), Ask);
}

#[cfg(unix)]
#[test]
fn s114_a_link_out_of_the_sandbox_is_no_way_out_for_slug_itself() {
    use std::os::unix::fs::symlink;
    let scene = sandboxed(scene());
    scene.file("~/.bashrc");
    scene.file("~/notes");
    symlink(scene.path("~/.bashrc"), scene.path("out")).unwrap();
    symlink(scene.path("~/notes"), scene.path("src/out")).unwrap();
    symlink(scene.path("~/"), scene.path("home")).unwrap();
    for path in ["out", "src/out", "home/notes", "home/new"] {
        assert_eq!(scene.write(path), Ask, "{path}");
    }
}

#[test]
fn deny_comes_before_ask_before_allow() {
    let scene = allow(["Bash(git *)"]);
    scene.all(Allow, &["git push"]);
    let scene = scene.rule(RuleKind::Ask, "Bash(git push *)");
    scene.all(Ask, &["git push", "git add a; git push"]);
    scene.all(Allow, &["git status"]);
    scene.deny("Bash(git push --force *)").all(Deny, &["git push --force", "git push --force x"]);
    let scene =
        allow(["Edit(src/**)"]).rule(RuleKind::Ask, "Edit(src/gen/**)").deny("Edit(src/gen/x)");
    assert_eq!(
        (scene.write("src/a"), scene.write("src/gen/a"), scene.write("src/gen/x")),
        (Allow, Ask, Deny)
    );
    let nothing = [ToolAccess::Nothing];
    assert_eq!(deny(["TodoWrite"]).decide("TodoWrite", &nothing).outcome(), Deny);
    assert_eq!(deny(["mcp__a__*"]).decide("mcp__a__b", &nothing).outcome(), Deny);
    assert_eq!(deny(["mcp__a__*"]).decide("mcp__b__b", &nothing).outcome(), Allow);
    deny(["Bash"]).mode(PermissionMode::Yolo).all(Deny, &["ls"]);
}

#[test]
fn what_slug_cannot_see_is_asked_about_unless_a_rule_names_the_tool() {
    let external = |read_only| ToolAccess::External {
        server: "tickets".into(),
        tool: "search".into(),
        read_only,
    };
    let fetch = ToolAccess::Fetch { url: "https://example.org/a".into() };
    let scene = scene();
    for (accesses, in_plan) in [
        (vec![], Deny),
        (vec![external(false)], Deny),
        (vec![external(true)], Ask),
        (vec![fetch], Ask),
        (vec![ToolAccess::Nothing, external(false)], Deny),
    ] {
        let query = PermissionQuery::resolve("Tickets", &accesses, &scene.workspace);
        let outcome =
            |rules: &RuleSet, mode| decide(&query, rules, mode, &scene.workspace).outcome();
        for mode in [PermissionMode::Ask, PermissionMode::AllowEdits, PermissionMode::Sandbox] {
            assert_eq!(outcome(&RuleSet::new(), mode), Ask, "{accesses:?}");
        }
        assert_eq!(outcome(&RuleSet::new(), PermissionMode::Plan), in_plan, "{accesses:?}");
        assert_eq!(outcome(&RuleSet::new(), PermissionMode::Yolo), Allow, "{accesses:?}");
        for (kind, wanted) in [(RuleKind::Allow, Allow), (RuleKind::Deny, Deny)] {
            let mut rules = RuleSet::new();
            rules.add_session(kind, "Tickets", &scene.workspace).unwrap();
            assert_eq!(outcome(&rules, PermissionMode::Ask), wanted, "{accesses:?}");
        }
    }
}

#[test]
fn what_touches_nothing_is_allowed_in_every_mode() {
    let scene = scene();
    let query = PermissionQuery::resolve("TodoWrite", &[ToolAccess::Nothing], &scene.workspace);
    for mode in [
        PermissionMode::Ask,
        PermissionMode::AllowEdits,
        PermissionMode::Sandbox,
        PermissionMode::Plan,
        PermissionMode::Yolo,
    ] {
        assert_eq!(decide(&query, &RuleSet::new(), mode, &scene.workspace).outcome(), Allow);
    }
}
