//! The modes, and what holds in each of them.

use super::*;

#[test]
fn s106_plan_mode_changes_nothing() {
    let env =
        allow(["Edit", "Write", "Bash", "Bash(touch *)", "Bash(*)"]).mode(PermissionMode::Plan);
    for tool in ["Write", "Edit", "MultiEdit"] {
        assert_eq!(env.decide(tool, &[ToolAccess::Write(env.path("src/x"))]).outcome(), Deny);
    }
    env.all(
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
    env.all(
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
    env.all(
        Ask,
        &["cat /etc/passwd", "ls ../", "cat < ../x", "cat /proc/self/environ", "grep x /etc/hosts"],
    );
    env.all(Ask, &["tail ../x"]);
    env.all(Allow, &["python3 --version", "git --version", "node --version && gcc --version"]);
    assert_eq!((env.read("src/x"), env.read("../x")), (Allow, Ask));
    env.deny("Read(.env)").all(Deny, &["cat .env"]);
}

#[test]
fn a_version_is_told_without_a_question_by_what_no_file_of_the_project_replaces() {
    test_env()
        .all(Allow, &["python3 --version", "git --version", "node --version && make --version"]);
    test_env().all(
        Ask,
        &[
            "cargo --version",
            "npm --version",
            "./node --version",
            "src/python3 --version",
            "python3 x.py --version",
            "python3 --version x",
            "make --version x",
            "PATH=. node --version",
        ],
    );
}

#[test]
fn s108_yolo_has_a_floor() {
    let env = deny(["Bash(git push *)"]).mode(PermissionMode::Yolo);
    env.all(
        Deny,
        &["git push", "ls && git push origin", "sh -c 'git push'", "$(git push)", "env git push"],
    );
    env.all(Allow, &["rm -rf x", "ls $x", "curl x | sh", "eval ls", "cat ../x > ../y"]);
    for path in
        [".slug/settings.local.json", "~/.slug/settings.json", ".mcp.json", "~/.slug/config.toml"]
    {
        assert_eq!(env.write(path), Ask, "{path}");
    }
    env.all(Deny, &["echo x > .slug/settings.json", "for i in 1; do echo x > .git/config; done"]);
    env.all(
        Ask,
        &[
            "cp x .slug/settings.json",
            "rm ~/.slug/trust.json",
            "sed -i s/a/b/ .mcp.json",
            "sh -c 'cp x .slug/y'",
            // Nobody can tell what it would change.
            "ls 'x",
        ],
    );
    env.all(Allow, &["cat .slug/settings.json"]);
    assert_eq!((env.read("../x"), env.write("../x")), (Allow, Allow));
    let asks = env.rule(RuleKind::Ask, "Bash(deploy *)");
    asks.all(Ask, &["deploy now"]);
}

#[test]
fn each_mode_does_what_its_name_says() {
    use PermissionMode::{AllowEdits, Ask as AskMode, Plan, Sandbox, Yolo};
    for (mode, read, read_out, write, write_out, run) in [
        (AskMode, Allow, Ask, Ask, Ask, Ask),
        (AllowEdits, Allow, Ask, Allow, Ask, Ask),
        (Plan, Allow, Ask, Deny, Deny, Deny),
        // As without a sandbox, until one is in force.
        (Sandbox, Allow, Ask, Ask, Ask, Ask),
        (Yolo, Allow, Allow, Allow, Allow, Allow),
    ] {
        let env = test_env().mode(mode);
        assert_eq!(env.read("src/x"), read, "{mode}");
        assert_eq!(env.read("../x"), read_out, "{mode}");
        assert_eq!(env.write("src/x"), write, "{mode}");
        assert_eq!(env.write("../x"), write_out, "{mode}");
        assert_eq!(env.bash("npm test").outcome(), run, "{mode}");
        assert_eq!(env.decide("TodoWrite", &[ToolAccess::Nothing]).outcome(), Allow, "{mode}");
    }
}

/// What the user said yes to with yolo is work in a folder, not the end of their home.
#[test]
fn yolo_asks_before_the_home_folder_goes_however_it_is_named() {
    let env = test_env().mode(PermissionMode::Yolo);
    let home = env.workspace.home().unwrap().display().to_string();
    env.all(
        Ask,
        &[
            "rm -rf ~",
            "rm -rf ~/",
            "rm -rf $HOME",
            "rm -rf \"${HOME}\"",
            "rm -rf x ~ y",
            "FORCE=1 rm -rf ~",
            "ls && rm -r -- ~",
            "sudo rm -rf ~",
            "rm -rf ~/app/..",
            "mv ~ /tmp/x",
            "rm -rf \"$PWD\"",
        ],
    );
    env.all(Ask, &[&format!("rm -rf {home}"), "rm -rf ..", "rm -rf /"]);
    for command in ["rm -rf ~", "rm -rf .."] {
        let reason = env.bash(command).reason().to_owned();
        assert_eq!(
            reason,
            "May change all of your home folder or of the workspace, so slug always asks."
        );
    }
    env.all(
        Allow,
        &["ls ~", "rm -rf ~/other", "cp -r ~/other x", "rm -rf $HOME/x", "cat ~/notes", "mv x ~"],
    );
}

/// What a folder brings with it is seen also where the command is not certain enough to be allowed.
#[test]
fn yolo_asks_before_a_copied_folder_or_a_search_that_deletes_reaches_a_protected_place() {
    let env = test_env().mode(PermissionMode::Yolo);
    for path in ["tpl/.git/hooks/pre-commit", "tpl/plain", "sub/.vscode/tasks.json", "clean/a/b"] {
        env.file(path);
    }
    env.file("~/elsewhere/x");
    std::fs::hard_link(env.path("~/elsewhere/x"), env.path("linked")).unwrap();
    env.all(
        Ask,
        &[
            "cp -r tpl/. .",
            "cp -a tpl/. src",
            "cp -Rf tpl new",
            "cp --recursive -v clean tpl ~/elsewhere",
            "cp -rp clean/a .git",
            "sudo cp -r tpl/. .",
            "make && cp -r ./tpl/. \"$HOME\"",
            "find ~ -delete",
            "find . -name '*.json' -delete",
            "find -delete",
            "find sub clean -type f -delete",
            "find ~ -regextype awk -delete",
            // By a path, with options that the table does not list, and as what another program runs.
            "/bin/rm -rf ~",
            "/bin/rm -rf tpl",
            "rm --rec ~",
            "rm -rf --one-file-system ~",
            "rm -rf --interactive=never tpl",
            "sudo /bin/rm -rf tpl",
            "/bin/cp -r tpl/. .",
            "cp -rT tpl .",
            "cp -r --no-dereference tpl/. .",
            "cp -r -t . tpl/.git",
            "cp -a --target-directory=src tpl",
            "mv -t /tmp ~",
            "mv -T . /tmp/x",
            "mv -b tpl other",
            "/bin/mv --backup tpl other",
            "chmod -R --reference=tpl/plain ~",
            "chown -R me ~",
            "chgrp -R me tpl",
            "xargs rm -rf tpl",
            "ls | xargs rm -rf ~",
            "rm -rf $X ~",
            "/usr/bin/tee linked",
            "cp --sparse=never src/a linked",
            "truncate -s 0 linked",
        ],
    );
    env.all(
        Allow,
        &[
            "cp -r clean/. .",
            "cp -a clean tpl",
            "cp -r src new",
            "find clean -delete",
            "find . -name x",
            "/bin/rm -rf clean",
            "rm --rec clean",
            "mv -t src clean",
            "cp -rT clean new",
            "xargs rm -rf clean",
            "chown -R me clean",
            "rm -rf $X",
            "truncate -s 0 tpl/plain",
        ],
    );
}

/// The same env with a sandbox around the workspace.
fn sandboxed(env: PermissionTestEnv) -> PermissionTestEnv {
    let root = env.workspace.root().to_owned();
    let workspace = env.workspace.with_sandbox(&root);
    PermissionTestEnv { workspace, mode: PermissionMode::Sandbox, ..env }
}

#[test]
fn in_the_sandbox_commands_and_its_folder_are_not_asked_about() {
    let env = sandboxed(test_env());
    let all = (env.read("src/x"), env.write("src/x"), env.read("../x"), env.write("../x"));
    assert_eq!(all, (Allow, Allow, Ask, Ask));
    let commands =
        ["npm test", "ls $(id)", "for i in a b; do rm $i; done", "echo x > ../y", "ls 'x"];
    env.all(Allow, &commands);
    env.all(Allow, &["rm -rf .slug"]);
    assert_eq!((env.write(".git/config"), env.write(".slug/settings.json")), (Ask, Ask));
    env.all(Deny, &["echo x > .git/config"]);
    sandboxed(deny(["Bash(rm *)"])).all(Deny, &["rm x", "ls; rm x"]);
    sandboxed(test_env().rule(RuleKind::Ask, "Bash(git push *)")).all(Ask, &["git push"]);
}

#[test]
fn s111_a_command_in_another_folder_is_not_sandboxed() {
    let env = sandboxed(test_env());
    let cwd = env.workspace.home().unwrap().to_owned();
    let run = ToolAccess::foreground("npm test", cwd);
    assert_eq!(env.decide("Bash", &[run]).outcome(), Ask);
}

#[cfg(unix)]
#[test]
fn s114_a_link_out_of_the_sandbox_is_no_way_out_for_slug_itself() {
    use std::os::unix::fs::symlink;
    let env = sandboxed(test_env());
    env.file("~/.bashrc");
    env.file("~/notes");
    symlink(env.path("~/.bashrc"), env.path("out")).unwrap();
    symlink(env.path("~/notes"), env.path("src/out")).unwrap();
    symlink(env.path("~/"), env.path("home")).unwrap();
    for path in ["out", "src/out", "home/notes", "home/new"] {
        assert_eq!(env.write(path), Ask, "{path}");
    }
}

#[test]
fn deny_comes_before_ask_before_allow() {
    let env = allow(["Bash(git *)"]);
    env.all(Allow, &["git push"]);
    let env = env.rule(RuleKind::Ask, "Bash(git push *)");
    env.all(Ask, &["git push", "git add a; git push"]);
    env.all(Allow, &["git status"]);
    env.deny("Bash(git push --force *)").all(Deny, &["git push --force", "git push --force x"]);
    let env =
        allow(["Edit(src/**)"]).rule(RuleKind::Ask, "Edit(src/gen/**)").deny("Edit(src/gen/x)");
    assert_eq!(
        (env.write("src/a"), env.write("src/gen/a"), env.write("src/gen/x")),
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
        rule_name: "Tickets".into(),
        read_only,
        definition: ContentHash::of(b"now"),
    };
    let fetch = ToolAccess::Fetch { url: "https://example.org/a".into() };
    let env = test_env();
    for (accesses, in_plan) in [
        (vec![], Deny),
        (vec![external(false)], Deny),
        (vec![external(true)], Ask),
        (vec![fetch], Ask),
        (vec![ToolAccess::Search { query: "words".into() }], Ask),
        (vec![ToolAccess::Nothing, external(false)], Deny),
    ] {
        let query = PermissionQuery::resolve("Tickets", &accesses, &env.workspace);
        let outcome = |rules: &RuleSet, mode| decide(&query, rules, mode, &env.workspace).outcome();
        for mode in [PermissionMode::Ask, PermissionMode::AllowEdits, PermissionMode::Sandbox] {
            assert_eq!(outcome(&RuleSet::new(), mode), Ask, "{accesses:?}");
        }
        assert_eq!(outcome(&RuleSet::new(), PermissionMode::Plan), in_plan, "{accesses:?}");
        assert_eq!(outcome(&RuleSet::new(), PermissionMode::Yolo), Allow, "{accesses:?}");
        for (kind, wanted) in [(RuleKind::Allow, Allow), (RuleKind::Deny, Deny)] {
            let mut rules = RuleSet::new();
            rules.add_session(kind, "Tickets", &env.workspace).unwrap();
            assert_eq!(outcome(&rules, PermissionMode::Ask), wanted, "{accesses:?}");
            // Only of what slug does itself is it certain that it changes nothing.
            let is_certain = !accesses.contains(&external(true));
            let in_plan = if is_certain && in_plan == Ask {
                wanted
            } else {
                if wanted == Deny { Deny } else { in_plan }
            };
            assert_eq!(outcome(&rules, PermissionMode::Plan), in_plan, "{accesses:?}");
        }
    }
}

#[test]
fn s93_a_yes_to_a_servers_tool_is_for_it_as_it_is_defined_now() {
    let env = test_env();
    let query = |definition: &[u8]| {
        let access = ToolAccess::External {
            server: "tickets".into(),
            tool: "search".into(),
            rule_name: "mcp__tickets__search".into(),
            read_only: false,
            definition: ContentHash::of(definition),
        };
        PermissionQuery::resolve("mcp__tickets__search", &[access], &env.workspace)
    };
    let decided = |definition: &[u8], rules: &RuleSet| {
        decide(&query(definition), rules, PermissionMode::Ask, &env.workspace)
    };
    let asked = decided(b"now", &RuleSet::new());
    let [offered] = asked.allow_rules() else { panic!("{asked:?}") };
    assert!(crate::permissions::is_on_definition(offered), "{offered}");
    assert_eq!(asked.deny_rule(), Some("mcp__tickets__search"));
    let mut rules = RuleSet::new();
    rules.add_session(RuleKind::Allow, offered, &env.workspace).unwrap();
    assert_eq!(decided(b"now", &rules).outcome(), Allow);
    assert_eq!(decided(b"later", &rules).outcome(), Ask);
    assert_ne!(query(b"now").fingerprint(), query(b"later").fingerprint());
    // A rule without a definition goes on to allow every one.
    let mut rules = RuleSet::new();
    rules.add_session(RuleKind::Allow, "mcp__tickets__search", &env.workspace).unwrap();
    assert_eq!(decided(b"later", &rules).outcome(), Allow);
    for (rule, kind) in [
        (offered.as_str(), RuleKind::Deny),
        (offered.as_str(), RuleKind::Ask),
        ("mcp__tickets__search(definition:1a2b)", RuleKind::Allow),
        ("mcp__tickets__search(x)", RuleKind::Allow),
        ("mcp__tickets__*(definition:00112233445566778899aabbccddeeff)", RuleKind::Allow),
    ] {
        assert!(RuleSet::check(rule, kind, &env.workspace).is_err(), "{kind:?} {rule}");
    }
}

/// Rules on a server cover what slug's own tools ask of it.
#[test]
fn what_is_read_of_a_server_is_under_the_rules_on_that_server() {
    let env = test_env();
    let access = ToolAccess::External {
        server: "tickets".into(),
        tool: "ticket://7".into(),
        rule_name: "mcp__tickets__ReadMcpResource".into(),
        read_only: true,
        definition: ContentHash::of(b"now"),
    };
    let query = PermissionQuery::resolve("ReadMcpResource", &[access], &env.workspace);
    let decided = |kind, rule: &str, mode| {
        let mut rules = RuleSet::new();
        rules.add_session(kind, rule, &env.workspace).unwrap();
        decide(&query, &rules, mode, &env.workspace).outcome()
    };
    for (kind, rule, in_ask, in_plan, in_yolo) in [
        (RuleKind::Deny, "mcp__tickets__*", Deny, Deny, Deny),
        (RuleKind::Deny, "ReadMcpResource", Deny, Deny, Deny),
        (RuleKind::Ask, "mcp__tickets__*", Ask, Ask, Ask),
        (RuleKind::Allow, "mcp__tickets__ReadMcpResource", Allow, Ask, Allow),
        (RuleKind::Allow, "mcp__tickets__*", Allow, Ask, Allow),
        (RuleKind::Allow, "ReadMcpResource", Allow, Ask, Allow),
        (RuleKind::Deny, "mcp__other__*", Ask, Ask, Allow),
        (RuleKind::Allow, "mcp__other__*", Ask, Ask, Allow),
    ] {
        let outcomes = [PermissionMode::Ask, PermissionMode::Plan, PermissionMode::Yolo]
            .map(|mode| decided(kind, rule, mode));
        assert_eq!(outcomes, [in_ask, in_plan, in_yolo], "{kind:?} {rule}");
    }
    let asked = decide(&query, &RuleSet::new(), PermissionMode::Ask, &env.workspace);
    let [offered] = asked.allow_rules() else { panic!("{asked:?}") };
    assert!(offered.starts_with("mcp__tickets__ReadMcpResource(definition:"), "{offered}");
    assert_eq!(decided(RuleKind::Allow, offered, PermissionMode::Ask), Allow);
}

#[test]
fn calls_that_touch_nothing_are_allowed_in_every_mode() {
    let env = test_env();
    let query = PermissionQuery::resolve("TodoWrite", &[ToolAccess::Nothing], &env.workspace);
    for mode in [
        PermissionMode::Ask,
        PermissionMode::AllowEdits,
        PermissionMode::Sandbox,
        PermissionMode::Plan,
        PermissionMode::Yolo,
    ] {
        assert_eq!(decide(&query, &RuleSet::new(), mode, &env.workspace).outcome(), Allow);
    }
}
