//! Commands: what a rule allows of them, what it refuses, and what is always asked.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

#[test]
fn s1_every_simple_command_of_a_chain_needs_a_rule() {
    let asks = allow(["Bash(ls *)"]);
    let denies = allow(["Bash(ls *)"]).deny("Bash(rm *)");
    for operator in ["&&", "||", ";", "|", "|&", "&", "\n"] {
        let command = format!("ls -l {operator} rm -rf x");
        let decision = asks.bash(&command);
        assert_eq!(decision.outcome(), Ask, "{command}");
        assert_eq!(texts(&decision), ["ls -l", "rm -rf x"], "{command}");
        assert_eq!(decision.parts()[0].decision, Allow);
        assert_eq!(decision.allow_rules(), ["Bash(rm -rf x)"]);
        denies.all(Deny, &[&command]);
    }
    asks.all(Allow, &["ls -l && ls", "ls", "ls | ls & ls"]);
}

#[test]
fn s3_a_line_end_and_a_backslash_begin_a_second_command() {
    let decision = allow(["Bash(ls *)"]).bash("ls -l\n\\rm -rf x");
    assert_eq!(decision.outcome(), Ask);
    assert_eq!(texts(&decision), ["ls -l", "rm -rf x"]);
}

#[test]
fn s4_unreadable_characters_are_asked() {
    let env = allow(["Bash(ls *)", "Bash(ls)", "Bash"]);
    for c in [
        '\r',
        '\u{b}',
        '\u{c}',
        '\u{a0}',
        '\u{1b}',
        '\u{85}',
        '\u{2028}',
        '\u{202e}',
        '\u{200b}',
        '\u{e0041}',
        '\u{7f}',
        '\u{feff}',
    ] {
        env.all(Ask, &[&format!("ls{c}rm"), &format!("ls '{c}'")]);
    }
    deny(["Bash(rm *)"]).all(Deny, &["ls\rrm x", "ls\u{a0}rm"]);
    env.all(Allow, &["ls\t-l", "ls 'naïve 日本語'"]);
}

#[test]
fn s6_expansions_and_evaluating_builtins_are_asked() {
    let env = allow([
        "Bash(echo *)",
        "Bash(printf *)",
        "Bash(ls *)",
        "Bash(test *)",
        "Bash(read *)",
        "Bash(unset *)",
        "Bash(let *)",
        "Bash(declare *)",
        "Bash([[ *)",
        "Bash([ *)",
        "Bash(*)",
        "Bash(printf -v 'a[$(id)]' x)",
        "Bash(unset 'a[$(id)]')",
    ]);
    env.all(
        Ask,
        &[
            "echo $((a[$(id)]))",
            "[[ -v a[$(id)] ]]",
            "printf -v 'a[$(id)]' x",
            "printf -vx y",
            "ls ${A:-$(id)}",
            "x='$(id)'; ls ${x@P}",
            "ls \"$@\"",
            "read 'a[$(id)]'",
            "test -v 'a[$(id)]'",
            "[ -v 'a[$(id)]' ]",
            "unset 'a[$(id)]'",
            "let 'a[$(id)]=1'",
            "declare 'a=1'",
            "[[ 'a[$(id)]' -eq 1 ]]",
            "export A=1",
            "readonly A=1",
            "typeset A=1",
            "set -x",
            "shopt -s extglob",
            "alias a=b",
            "hash ls",
            "enable ls",
            "echo \"a$b\"",
            "ls *.rs",
            "ls {a,b}",
            "ls ~",
            "mapfile -C x a",
            "wait -p 'a[0]'",
        ],
    );
    env.all(Allow, &["printf '%s' -v", "test -f x", "[ -f x ]"]);
}

#[test]
fn s7_ifs_is_an_expansion() {
    allow(["Bash(ls *)", "Bash(cat *)"])
        .all(Ask, &["ls$IFS-l", "ls${IFS}-l", "cat$IFS/etc/passwd"]);
}

#[test]
fn s9_deny_rules_match_words_without_quotes() {
    let env = deny(["Bash(rm *)"]);
    env.all(
        Deny,
        &[
            "'rm' -rf /",
            "r'm' -rf /",
            "\\rm -rf \\/",
            "rm -r'f' '/'",
            "rm",
            "/bin/rm x",
            "$'\\x72m' x",
            "$\"rm\" x",
            "\"rm\" x",
        ],
    );
    env.all(Ask, &["$'\\xzz' x", "$rm x"]);
}

#[test]
fn s10_line_continuations_are_no_word_ends() {
    deny(["Bash(rm *)"]).all(Deny, &["r\\\nm -rf x"]);
    let decision = allow(["Bash(echo *)"]).bash("echo 'a'\"b\"\\c");
    assert_eq!(decision.outcome(), Allow);
    assert_eq!(texts(&decision), ["echo abc"]);
}

#[test]
fn s12_here_documents_are_asked_and_looked_into() {
    let commands =
        ["cat <<E\n$(id)\nE", "cat <<E\nx\nE\nrm y", "cat <<'E'\n$(id)\nE", "cat <<<$(id)"];
    allow(["Bash(cat *)"]).all(Ask, &commands);
    deny(["Bash(id)"]).all(Deny, &[commands[0], commands[3]]);
    deny(["Bash(rm *)"]).all(Deny, &[commands[1]]);
}

#[test]
fn s13_an_assignment_in_front_needs_a_rule_that_spells_it() {
    let env =
        allow(["Bash(git diff *)", "Bash(ls *)", "Bash(*)", "Bash(RUST_LOG=debug cargo test *)"]);
    env.all(
        Ask,
        &[
            "GIT_EXTERNAL_DIFF=./x git diff",
            "LD_PRELOAD=./x.so ls",
            "PATH=.:$PATH ls",
            "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0=./x git status",
            "RUST_LOG=trace cargo test",
            "RUST_LOG=debug LD_PRELOAD=x cargo test",
            "A=1",
        ],
    );
    env.all(Allow, &["RUST_LOG=debug cargo test --lib"]);
    deny(["Bash(rm *)"]).all(Deny, &["A=1 rm x"]);
    let wrapped = allow(["Bash(env *)", "Bash(git diff *)"]);
    wrapped.all(Ask, &["env GIT_EXTERNAL_DIFF=./x git diff"]);
    wrapped.all(Allow, &["env -i git diff"]);
}

#[test]
fn s15_what_a_wrapper_runs_needs_a_rule_too() {
    let rules = [
        "Bash(timeout *)",
        "Bash(env *)",
        "Bash(command *)",
        "Bash(time *)",
        "Bash(nice *)",
        "Bash(nohup *)",
        "Bash(xargs *)",
        "Bash(sudo *)",
        "Bash(stdbuf *)",
        "Bash(find *)",
    ];
    let commands = [
        "timeout 2 rm x",
        "env rm x",
        "nice rm",
        "nohup rm",
        "command rm",
        "xargs rm",
        "time rm x",
        "! rm x",
        "coproc rm x",
        "sudo -u root rm x",
        "stdbuf -oL rm",
        "env A=1 nice timeout 3 nohup rm x",
        "find . -exec rm x ';'",
        "timeout --strange 2 rm x",
        "env -S 'rm x'",
    ];
    allow(rules).all(Ask, &commands);
    allow(rules).deny("Bash(rm *)").all(Deny, &commands);
    allow(["Bash(timeout *)", "Bash(npm test *)"])
        .all(Allow, &["timeout 60 npm test", "time npm test"]);
    allow(["Bash(timeout 2 rm x)"]).all(Allow, &["timeout 2 rm x"]);
    allow(["Bash(xargs *)", "Bash(rm *)"]).all(Ask, &["xargs rm"]);
}

#[test]
fn s16_code_in_arguments_is_never_allowed_by_a_wildcard() {
    let commands = [
        "eval rm",
        "exec rm",
        "builtin eval rm",
        "trap 'rm x' EXIT",
        "sh -c 'rm x'",
        "bash -lc 'rm x'",
        "ssh h rm",
    ];
    let others = [". ./x", "source x", "bash", "ssh h cmd"];
    let every = allow([
        "Bash(*)",
        "Bash(eval *)",
        "Bash(exec *)",
        "Bash(builtin *)",
        "Bash(trap *)",
        "Bash(sh *)",
        "Bash(bash *)",
        "Bash(python *)",
        "Bash(ssh *)",
        "Bash(rm *)",
        "Bash(. *)",
        "Bash(source *)",
    ]);
    every.all(Ask, &commands);
    every.all(Ask, &others);
    // Any other program can do anything, and a wildcard on it allows that.
    every.all(Allow, &["python3 -c x", "node -e x", "watch x"]);
    deny(["Bash(rm *)"]).all(Deny, &commands);
    allow(["Bash(sh -c 'ls -l')"]).all(Allow, &["sh -c 'ls -l'"]);
    allow(["Bash(eval ls)"]).all(Ask, &["eval ls"]);
}

#[test]
fn s18_commands_inside_control_flow_are_seen() {
    let commands = [
        "if true; then rm x; fi",
        "for i in a; do rm x; done",
        "while true; do rm x; done",
        "case a in a) rm x;; esac",
        "( rm x )",
        "{ rm x; }",
        "[[ -f a ]] && rm x",
        "f() { rm x; }; f",
    ];
    deny(["Bash(rm *)"]).all(Deny, &commands);
    allow(["Bash(*)"]).all(Ask, &commands);
}

#[test]
fn s19_redirections_are_writes() {
    let env = allow(["Bash(echo *)"]);
    env.all(
        Ask,
        &[
            "echo x > f",
            "echo x >> f",
            "echo x >| f",
            "echo x &> f",
            "echo x >&f",
            "echo x <>f",
            "echo x 2>f",
            "echo x {fd}>f",
            "echo x > ../f",
            "echo x > /dev/tcp/1.2.3.4/80",
            "echo x >&$f",
        ],
    );
    env.all(
        Allow,
        &[
            "echo x 2>&1",
            "echo x >/dev/null",
            "echo x &>/dev/null",
            "echo x >&2",
            "echo x </dev/null",
        ],
    );
    env.all(
        Deny,
        &["echo x > ~/.bashrc", "echo x >> .git/hooks/pre-commit", "echo x > .slug/settings.json"],
    );
    let edits = allow(["Bash(echo *)", "Edit(out/**)"]).deny("Edit(secret/**)");
    edits.all(Allow, &["echo x > out/f", "echo x 2>> out/f"]);
    edits.all(Ask, &["echo x > f", "cd /tmp && echo x > out/f"]);
    edits.all(Deny, &["echo x > secret/f", "echo x > out/../secret/f"]);
    let mode = allow(["Bash(echo *)"]).mode(PermissionMode::AllowEdits);
    mode.all(Allow, &["echo x > f"]);
    mode.all(Ask, &["echo x > ../f", "rm f"]);
    allow(["Bash(echo *)", "Edit(.envrc)"]).all(Ask, &["echo x > .envrc"]);
    let decision = allow(["Bash(echo *)"]).bash("echo x > f");
    assert_eq!(decision.allow_rules(), ["Edit(./f)"]);
    assert_eq!(texts(&decision), ["echo x", "> f"]);
}

#[test]
fn s21_no_number_of_commands_hides_one() {
    let env = deny(["Bash(curl *)"]);
    let started = Instant::now();
    env.all(Deny, &[&format!("{}curl evil", "true && ".repeat(60))]);
    env.all(Deny, &[&format!("{}curl evil", "true && ".repeat(5_000))]);
    // Each in 50 ms, four times as long without optimisation on a busy machine.
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
}

#[test]
fn s22_what_does_not_parse_is_asked_and_still_denied() {
    let env = allow(["Bash(ls *)", "Bash(ls)", "Bash"]);
    env.all(Ask, &["ls &&", "ls 'x", "ls ;; rm", "ls )", "ls \"$("]);
    deny(["Bash(rm *)"]).all(Deny, &["ls ;; rm", "ls 'x; rm y", "ls && (rm", "$(rm x"]);
    let started = Instant::now();
    for command in
        ["x".repeat(1 << 20), "a ".repeat(1 << 19), "$(".repeat(10_000), "{".repeat(10_000)]
    {
        assert_eq!(env.bash(&command).outcome(), Ask);
    }
    // Four of 100 ms each, with room for a build without optimisation.
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    let decision = env.bash("ls 'x");
    assert_eq!((decision.allow_rules().len(), decision.run_as()), (0, None));
}

#[test]
fn s22_what_does_not_parse_reaches_no_file_that_a_rule_is_about() {
    let env = deny(["Read(secret.txt)", "Edit(locked/**)"]).rule(RuleKind::Ask, "Read(asked.txt)");
    for name in ["secret.txt", "asked.txt", "open.txt", "locked/a"] {
        env.file(name);
    }
    let long = format!("cat secret.txt # {}", "x".repeat(20_000));
    let denied = [
        "cat secret.txt #\u{a0}",
        "cat < secret.txt #\u{a0}",
        "cat --file=secret.txt \u{a0}",
        "cat \"$HOME\"/x ./secret.txt 'y",
        "touch locked/new #\u{a0}",
        &long,
    ];
    let env = [PermissionMode::Ask, PermissionMode::Sandbox, PermissionMode::Yolo]
        .into_iter()
        .fold(env, |env, mode| {
            let env = env.mode(mode);
            env.all(Deny, &denied);
            env.all(Ask, &["cat asked.txt #\u{a0}"]);
            env
        });
    env.all(Ask, &["cat open.txt #\u{a0}", "cp a ~/bin/ls #\u{a0}", "slug --yolo #\u{a0}"]);
}

#[test]
fn an_ask_rule_on_files_holds_for_the_arguments_of_commands() {
    let env =
        test_env().rule(RuleKind::Ask, "Read(asked.txt)").rule(RuleKind::Ask, "Edit(kept/**)");
    for name in ["asked.txt", "open.txt", "kept/a"] {
        env.file(name);
    }
    let asked =
        ["cat asked.txt", "cat < asked.txt", "grep x ./asked.txt", "python3 x.py asked.txt"];
    env.all(Ask, &asked);
    env.all(Allow, &["cat open.txt"]);
    let yolo = env.mode(PermissionMode::Yolo);
    yolo.all(Ask, &asked);
    yolo.all(Ask, &["touch kept/a", "rm kept/a", "echo x > kept/a"]);
    yolo.all(Allow, &["touch open.txt", "cat kept/a"]);
}

#[test]
fn no_rule_is_offered_for_what_runs_its_input() {
    let env = test_env();
    let offered = |command: &str| {
        let decision = env.bash(command);
        assert_eq!(decision.outcome(), Ask, "{command}");
        !decision.allow_rules().is_empty()
    };
    for command in [
        "echo 'id' | sh",
        "cat x | bash -s",
        "echo 1 | python3 -",
        "echo 1 | node",
        "echo 1 | env sh",
        "echo id | ssh host",
        "echo f | xargs rm",
        "sh < x",
        "sh <<< 'id'",
        "python3 - <<'E'\nprint(1)\nE",
    ] {
        assert!(!offered(command), "{command}");
    }
    for command in ["sh build.sh", "echo 1 | ./tool x", "python3 x.py < data", "cargo test | cat"] {
        assert!(offered(command), "{command}");
    }
}

#[test]
fn s24_patterns_end_at_words() {
    let env = allow(["Bash(npm *)"]);
    env.all(Allow, &["npm", "npm i", "npm\ti"]);
    env.all(Ask, &["npmx i", "np m", "/tmp/npm i"]);
    let mut rules = RuleSet::new();
    let text = "{\n\"permissions\":{\"allow\":[\n\"Bash(ls*)\"]}}";
    rules.add_settings(text, Path::new("s.json"), &env.workspace);
    assert_eq!(rules.warnings()[0].line, Some(3));
    assert!(rules.warnings()[0].to_string().contains("write `ls *`"), "{}", rules.warnings()[0]);
}

#[test]
fn s25_the_rule_that_is_offered_is_the_narrowest() {
    let env = test_env();
    assert_eq!(env.bash("git stash").allow_rules(), ["Bash(git stash)"]);
    assert_eq!(
        env.bash("git add a && git push").allow_rules(),
        ["Bash(git add a)", "Bash(git push)"]
    );
    assert_eq!(env.bash("python x.py").allow_rules(), ["Bash(python x.py)"]);
    assert_eq!(env.bash("ls $x").allow_rules(), Vec::<String>::new());
    assert_eq!(env.bash("git push origin").deny_rule(), Some("Bash(git push *)"));
    assert_eq!(env.bash("rm -rf build/").deny_rule(), Some("Bash(rm *)"));
    assert_eq!(env.bash("timeout 5 git push").deny_rule(), Some("Bash(git push *)"));
    let known = allow(["Bash(git add *)"]);
    assert_eq!(known.bash("git add a && git push").allow_rules(), ["Bash(git push)"]);
}

#[test]
fn s27_what_was_checked_is_what_runs() {
    let env = allow(["Bash(ls *)", "Bash(pwd)"]);
    let decision = env.bash("ls \\-l && pwd # and more");
    assert_eq!(decision.run_as(), Some("ls -l && pwd"));
    let input = json!({"command": "ls \\-l && pwd # and more", "timeout": 5});
    let approved = decision.approve(&call("Bash", input)).unwrap();
    assert_eq!(approved.input(), &json!({"command": "ls -l && pwd", "timeout": 5}));
    let cwd = env.workspace.root().to_owned();
    let again = ToolAccess::foreground("ls -l && pwd", cwd);
    assert!(approved.still_holds(&env.query("Bash", &[again])));
}

#[test]
fn a_bare_bash_matches_every_call_that_can_be_read() {
    let env = allow(["Bash"]);
    env.all(Allow, &["ls $x", "for i in a; do rm x; done", "eval ls", "sh -c ls", "A=1 ls"]);
    env.all(Ask, &["ls 'x"]);
    env.all(Deny, &["echo $x > .git/config"]);
}

#[test]
fn bash_patterns_match_word_by_word() {
    for (pattern, command, fits) in [
        ("hg status", "hg status", true),
        ("hg status", "hg status -s", false),
        ("hg status", "hg", false),
        ("hg *", "hg", true),
        ("hg * main", "hg push origin main", true),
        ("hg * main", "hg main", true),
        ("hg * main", "hg push main x", false),
        ("npm run test:*", "npm run test", true),
        ("npm run test:*", "npm run test -- x", true),
        ("npm run test:*", "npm run tests", false),
        ("*", "anything at all", true),
        ("nx*", "nxs", true),
        ("nx*", "nx x", false),
        ("lint src/*.rs", "lint src/a.rs", true),
        ("lint src/*.rs", "lint src/../a.rs", false),
        ("lint src/*.rs", "lint src/a/b.rs", false),
        ("say 'a  b'", "say 'a  b'", true),
        ("say 'a  b'", "say a b", false),
        ("say '*'", "say '*'", true),
        ("say '*'", "say x", false),
        ("say a\\ b", "say 'a b'", true),
        ("hg commit -m *", "hg commit -m 'rm -rf x; y'", true),
    ] {
        let outcome = allow([&*format!("Bash({pattern})")]).bash(command).outcome();
        assert_eq!(outcome, if fits { Allow } else { Ask }, "{pattern} / {command}");
    }
}

/// In the dialog, the rule stands beside the part that it allows, although the whole is asked
/// about.
#[test]
fn a_rule_that_is_not_enough_is_named_and_decides_nothing() {
    let env = allow(["Bash(npm *)"]);
    let decision = env.bash("npm install && for f in *.md; do rm \"$f\"; done");
    let named: Vec<_> = decision
        .parts()
        .iter()
        .map(|part| (part.decision, part.rule.as_ref().map(|rule| rule.rule.as_str())))
        .collect();
    assert_eq!(named, [(Ask, Some("Bash(npm *)")), (Ask, None)]);
    assert_eq!((decision.outcome(), decision.rule()), (Ask, None));
}

#[test]
fn reasons_name_what_slug_cannot_tell_or_always_asks_about() {
    let env = allow(["Bash(make *)"]);
    for (command, reason) in [
        (
            "for x in a b; do make $x; done",
            "Contains a loop, so slug cannot tell what it will run.",
        ),
        ("make $X", "`$X` is known only at run time, so slug cannot tell what it will run."),
        (
            "echo 'x",
            "slug could not parse this command: a quote, a bracket or a here-document may be open.",
        ),
        ("cat /etc/hostname", "Reads outside the workspace."),
        // What a script begins with is no reason, unless the rest is allowed.
        ("set -euo pipefail\ncat /etc/hostname", "Reads outside the workspace."),
        (
            "set -euo pipefail\nmake all",
            "`set` can run its arguments or change later commands, so slug always asks.",
        ),
    ] {
        let decision = env.bash(command);
        assert_eq!((decision.outcome(), decision.reason()), (Ask, reason), "{command}");
    }
    let ruled = env.rule(RuleKind::Ask, "Bash(echo *)");
    assert_eq!(ruled.bash("echo hi; cat x").reason(), "The rule Bash(echo *) asks.");
    let plan = allow([]).mode(PermissionMode::Plan);
    assert_eq!(plan.bash("make").reason(), "Plan mode only runs read-only commands.");
}
