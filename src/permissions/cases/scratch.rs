//! The scratch folder: what is free there, and that it is no way to anywhere else. Also what allow
//! rules on reading cover, whichever way a call takes.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::*;
use crate::permissions::ResolvedAccess;
use crate::permissions::shell::AnalysisKind;

const SCRATCH: &str = "~/tmp/slug-7/s1";
const ALL_MODES: [PermissionMode; 5] = [
    PermissionMode::Ask,
    PermissionMode::AllowEdits,
    PermissionMode::Plan,
    PermissionMode::Sandbox,
    PermissionMode::Yolo,
];

/// The same env in a session with a scratch folder outside of the workspace.
fn with_scratch(env: PermissionTestEnv) -> PermissionTestEnv {
    let scratch = env.path(SCRATCH);
    std::fs::create_dir_all(&scratch).unwrap();
    std::fs::write(env.path("src/a"), "a").unwrap();
    let workspace = env.workspace.with_scratch(Some(&scratch));
    PermissionTestEnv { workspace, ..env }
}

fn scratch_env() -> PermissionTestEnv {
    with_scratch(test_env())
}

fn run_in(env: &PermissionTestEnv, cwd: &Path, command: &str) -> PermissionOutcome {
    let run = ToolAccess::foreground(command, cwd.to_owned());
    env.decide("Bash", &[run]).outcome()
}

#[test]
fn the_scratch_folder_is_read_and_written_unasked() {
    let reads = [
        "cat $SLUG_SCRATCH/x",
        "ls -la \"$SLUG_SCRATCH\"",
        "grep -rn a ${SLUG_SCRATCH} | head -3",
        "cd $SLUG_SCRATCH && ls",
    ];
    let writes = [
        "echo a > $SLUG_SCRATCH/x",
        "grep -rn a src > \"$SLUG_SCRATCH/found.txt\" 2>&1",
        "mkdir -p $SLUG_SCRATCH/a/b && cp src/a $SLUG_SCRATCH/a/",
        "ls | tee $SLUG_SCRATCH/log | wc -l",
        "rm -rf $SLUG_SCRATCH/a",
        "mv $SLUG_SCRATCH/a $SLUG_SCRATCH/b",
    ];
    for mode in ALL_MODES {
        let env = scratch_env().mode(mode);
        let is_plan = mode == PermissionMode::Plan;
        env.all(Allow, &reads);
        env.all(if is_plan { Deny } else { Allow }, &writes);
        assert_eq!(env.read(&format!("{SCRATCH}/x")), Allow, "{mode}");
        let write = if is_plan { Deny } else { Allow };
        assert_eq!(env.write(&format!("{SCRATCH}/new/x")), write, "{mode}");
    }
    // Without a scratch folder the variable is one like any other.
    test_env().all(Ask, &["cat $SLUG_SCRATCH/x", "echo a > $SLUG_SCRATCH/x"]);
}

#[test]
fn rules_come_before_the_scratch_folder() {
    let pattern = format!("{SCRATCH}/**");
    let denied = with_scratch(deny([&format!("Read({pattern})"), &format!("Edit({pattern})")]));
    denied.all(Deny, &["cat $SLUG_SCRATCH/x", "echo a > $SLUG_SCRATCH/x", "rm $SLUG_SCRATCH/x"]);
    assert_eq!(denied.write(&format!("{SCRATCH}/x")), Deny);
    let asking = with_scratch(test_env().rule(RuleKind::Ask, "Bash(rm *)"));
    asking.all(Ask, &["rm $SLUG_SCRATCH/x"]);
    with_scratch(deny(["Read(.env)"])).all(
        Deny,
        &["cp .env $SLUG_SCRATCH/x", "tee $SLUG_SCRATCH/x < .env", "cat .env > $SLUG_SCRATCH/x"],
    );
}

#[test]
fn the_scratch_folder_is_no_way_out() {
    let env = scratch_env();
    env.file("~/.ssh/id");
    env.file("~/notes");
    symlink(env.path("~/.ssh"), env.path(&format!("{SCRATCH}/ssh"))).unwrap();
    symlink(env.path("~/notes"), env.path(&format!("{SCRATCH}/notes"))).unwrap();
    symlink(env.path(SCRATCH), env.path("scratch")).unwrap();
    env.all(
        Ask,
        &[
            "cat $SLUG_SCRATCH/ssh/id",
            "cat $SLUG_SCRATCH/../../../notes",
            "cat $SLUG_SCRATCH/../s2/x",
            "ls $SLUG_SCRATCH/..",
            "echo a > $SLUG_SCRATCH/notes",
            "echo a > $SLUG_SCRATCH/../x",
            "echo a > ${SLUG_SCRATCH}2/x",
            "echo a > $SLUG_SCRATCH2/x",
            "rm -rf $SLUG_SCRATCH/..",
            "cp src/a $SLUG_SCRATCH/notes",
            "cp ../notes $SLUG_SCRATCH/x",
            "mv src/a $SLUG_SCRATCH/x",
            "mv $SLUG_SCRATCH/x src/a",
            "cp $SLUG_SCRATCH/x src/a",
            // By another name the folder is not what the session was given.
            "echo a > scratch/x",
            "touch src/b $SLUG_SCRATCH/x",
            "python3 $SLUG_SCRATCH/x.py",
            "bash $SLUG_SCRATCH/x.sh",
            "$SLUG_SCRATCH/ls",
            "cat /proc/self/environ > $SLUG_SCRATCH/x",
            "cd $SLUG_SCRATCH && make",
            "git init $SLUG_SCRATCH/repo",
            "ln -s ~/.ssh $SLUG_SCRATCH/x",
            "touch $SLUG_SCRATCH/x &&  mv $SLUG_SCRATCH/d $SLUG_SCRATCH/z && cat $SLUG_SCRATCH/z/x",
            "mv $SLUG_SCRATCH/d $SLUG_SCRATCH/z &",
        ],
    );
    for (path, read, write) in [
        (format!("{SCRATCH}/ssh/id"), Ask, Ask),
        (format!("{SCRATCH}/notes"), Ask, Ask),
        ("scratch/x".into(), Ask, Ask),
        ("~/tmp/slug-7/s2/x".into(), Ask, Ask),
        ("~/tmp/slug-7/s1x".into(), Ask, Ask),
        (format!("{SCRATCH}/.git/hooks/pre-commit"), Allow, Ask),
    ] {
        assert_eq!((env.read(&path), env.write(&path)), (read, write), "{path}");
    }
    // The files are protected wherever they are; a redirection would show no diff.
    env.all(Deny, &["echo a > $SLUG_SCRATCH/.git/config"]);
    env.all(Ask, &["mkdir $SLUG_SCRATCH/.git", "cp src/a $SLUG_SCRATCH/.envrc"]);
}

#[test]
fn a_link_in_the_place_of_the_scratch_folder_ends_what_is_free() {
    let env = scratch_env();
    std::fs::remove_dir(env.path(SCRATCH)).unwrap();
    std::fs::create_dir(env.path("~/private")).unwrap();
    symlink(env.path("~/private"), env.path(SCRATCH)).unwrap();
    env.all(Ask, &["echo a > $SLUG_SCRATCH/x", "cat $SLUG_SCRATCH/id", "tee $SLUG_SCRATCH/x"]);
    assert_eq!(
        (env.read(&format!("{SCRATCH}/id")), env.write(&format!("{SCRATCH}/id"))),
        (Ask, Ask)
    );
}

#[test]
fn a_file_with_other_names_is_asked_about_there_too() {
    let env = scratch_env();
    env.file("~/.bashrc");
    std::fs::hard_link(env.path("~/.bashrc"), env.path(&format!("{SCRATCH}/hard"))).unwrap();
    env.all(Ask, &["echo a > $SLUG_SCRATCH/hard", "tee $SLUG_SCRATCH/hard"]);
}

#[test]
fn rules_with_a_pattern_do_not_reach_into_the_scratch_folder() {
    // The model writes there without a question, so a project's command must not run what is there.
    let env = with_scratch(allow(["Bash(make *)", "Bash(node *)", "Bash(make)", "Bash(cp *)"]));
    env.all(Allow, &["make all", "node x.js", "make > $SLUG_SCRATCH/log"]);
    env.all(
        Ask,
        &[
            "make -C $SLUG_SCRATCH",
            "cd $SLUG_SCRATCH && make",
            "node $SLUG_SCRATCH/x.js",
            "make -f $SLUG_SCRATCH/Makefile",
            "cp src/a $SLUG_SCRATCH/new.js && node $SLUG_SCRATCH/new.js",
            "node --require=$SLUG_SCRATCH/x.js src/a",
        ],
    );
    let scratch = env.path(SCRATCH);
    std::fs::write(scratch.join("Makefile"), "all:").unwrap();
    assert_eq!(run_in(&env, &scratch, "make"), Ask);
    env.all(Allow, &["cp src/a $SLUG_SCRATCH/x", "cp $SLUG_SCRATCH/x src/a"]);
}

#[test]
fn git_never_runs_unasked_in_the_scratch_folder() {
    let env = scratch_env();
    let scratch = env.path(SCRATCH);
    std::fs::create_dir_all(scratch.join(".git/objects")).unwrap();
    std::fs::create_dir_all(scratch.join(".git/refs")).unwrap();
    std::fs::write(scratch.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(scratch.join(".git/config"), "[core]\n\tfsmonitor = id\n").unwrap();
    env.all(Ask, &["git -C $SLUG_SCRATCH status", "cd $SLUG_SCRATCH && git log"]);
    assert_eq!(run_in(&env, &scratch, "git status"), Ask);
}

#[test]
fn the_variable_is_known_only_where_nothing_else_can_set_it() {
    scratch_env().all(
        Ask,
        &[
            "SLUG_SCRATCH=/etc; cat $SLUG_SCRATCH/shadow",
            "SLUG_SCRATCH=/etc cat $SLUG_SCRATCH/shadow",
            "export SLUG_SCRATCH=/etc && cat $SLUG_SCRATCH/shadow",
            "read SLUG_SCRATCH < src/a; cat $SLUG_SCRATCH",
            "IFS=/; cat $SLUG_SCRATCH/x",
            "cat ${SLUG_SCRATCH:-/etc}/x",
            "cat ${SLUG_SCRATCH%/*}/x",
            "cat ${!SLUG_SCRATCH}/x",
            "cat $$SLUG_SCRATCH/x",
            "cat $SLUG_SCRATCH/$x",
            "cat $SLUG_SCRATCH/*",
            "cat $SLUG_SCRATCH/{a,../../b}",
            "env SLUG_SCRATCH=/etc cat $SLUG_SCRATCH/shadow",
            "bash -c 'cat $SLUG_SCRATCH/x'",
            "eval cat $SLUG_SCRATCH/x",
            "for x in a; do cat $SLUG_SCRATCH/x; done",
        ],
    );
    let env = scratch_env();
    let path = env.path("src").join("$SLUG_SCRATCH");
    std::fs::write(&path, "a").unwrap();
    // In single quotes and behind a backslash it is a name.
    let decision = env.bash("cat 'src/$SLUG_SCRATCH' src/\\$SLUG_SCRATCH");
    assert_eq!(decision.outcome(), Allow);
}

#[test]
fn what_runs_is_the_text_with_the_folder_in_it() {
    let env = scratch_env();
    let scratch = env.path(SCRATCH).display().to_string();
    for command in [
        "printf '%s|' $SLUG_SCRATCH \"$SLUG_SCRATCH/a b\" ${SLUG_SCRATCH}x a'$SLUG_SCRATCH'",
        "echo \"${SLUG_SCRATCH}[0]\" x$SLUG_SCRATCH/",
    ] {
        let cwd = env.workspace.root().to_owned();
        let query = env.query("Bash", &[ToolAccess::foreground(command, cwd)]);
        let [ResolvedAccess::Run(run)] = &query.accesses[..] else { panic!("{query:?}") };
        let AnalysisKind::Static { canonical } = &run.analysis.kind else { panic!("{run:?}") };
        let output = |text: &str, variable: &str| {
            let bash =
                Command::new("bash").args(["-c", text]).env("SLUG_SCRATCH", variable).output();
            String::from_utf8(bash.unwrap().stdout).unwrap()
        };
        assert_eq!(output(canonical, "/elsewhere"), output(command, &scratch), "{canonical}");
    }
    // A folder whose name the shell would split or expand is never taken for known.
    let odd = env.path("~/tmp/a b");
    std::fs::create_dir_all(&odd).unwrap();
    let workspace = env.workspace.with_scratch(Some(&odd));
    PermissionTestEnv { workspace, ..env }.all(Ask, &["cat $SLUG_SCRATCH/x"]);
}

#[test]
fn a_working_folder_is_judged_like_a_cd() {
    let env = scratch_env();
    let (sub, outside) = (env.path("src"), env.path("~/"));
    symlink(env.path("~/"), env.path("src/out")).unwrap();
    for (cwd, command, expected) in [
        (sub.clone(), "cat a", Allow),
        (sub, "cat ../../notes", Ask),
        (outside, "ls", Ask),
        (env.path("src/out"), "ls", Ask),
        (env.path("src/none/../.."), "cat src/a", Allow),
        (env.path(SCRATCH), "ls", Allow),
        (env.path("/proc/self"), "cat environ", Ask),
        (env.path(".git"), "touch x", Ask),
    ] {
        assert_eq!(run_in(&env, &cwd, command), expected, "{command} in {}", cwd.display());
        let plan = PermissionTestEnv { mode: PermissionMode::Plan, ..scratch_env() };
        if command == "touch x" {
            assert_eq!(run_in(&plan, &plan.path(".git"), command), Deny);
        }
    }
    let env = with_scratch(allow(["Bash(npm *)"]));
    assert_eq!(run_in(&env, &env.path("src"), "npm test"), Allow);
    assert_eq!(run_in(&env, &env.path("~/"), "npm test"), Ask);
    let env = deny(["Read(src/secret)"]);
    env.file("src/secret");
    assert_eq!(run_in(&env, &env.path("src"), "cat secret"), Deny);
}

#[test]
fn a_rule_that_allows_reading_allows_the_commands_that_only_read() {
    for mode in [PermissionMode::Ask, PermissionMode::AllowEdits, PermissionMode::Plan] {
        let env = allow(["Read(~/lib/**)", "Read(~/one/*)"]).mode(mode);
        env.file("~/lib/sub/x.h");
        env.file("~/one/deep/x");
        env.file("~/one/x");
        env.file("~/secret");
        symlink(env.path("~/secret"), env.path("~/lib/link")).unwrap();
        let folder = env.path("~/lib").display().to_string();
        let one = env.path("~/one").display().to_string();
        let secret = env.path("~/secret").display().to_string();
        let all = |commands: &[String], expected| {
            for command in commands {
                assert_eq!(env.bash(command).outcome(), expected, "{command} in {mode}");
            }
        };
        all(
            &[
                format!("cat {folder}/sub/x.h"),
                format!("grep -rn x {folder} | head"),
                format!("cat < {folder}/sub/x.h"),
                format!("cd {folder}/sub && ls"),
                format!("cat {one}/x"),
            ],
            Allow,
        );
        all(
            &[
                format!("cat {folder}/../secret"),
                format!("cat {folder}/link"),
                format!("cat {folder}/sub/x.h {secret}"),
                // The rule covers what is in the folder, not what is below that.
                format!("grep -rn x {one}"),
                format!("cat {one}/deep/x"),
                format!("cat {folder}x"),
            ],
            Ask,
        );
        let writes = if mode == PermissionMode::Plan { Deny } else { Ask };
        all(&[format!("cat src/a > {folder}/new"), format!("rm {folder}/sub/x.h")], writes);
    }
    let env =
        allow(["Read(~/lib/**)"]).rule(RuleKind::Ask, "Read(~/lib/key)").deny("Read(~/lib/no)");
    for (name, expected) in [("key", Ask), ("no", Deny), ("other", Allow)] {
        env.file(&format!("~/lib/{name}"));
        let path = env.path(&format!("~/lib/{name}")).display().to_string();
        assert_eq!(env.bash(&format!("cat {path}")).outcome(), expected, "{name}");
    }
    allow(["Read(/**)"]).all(Ask, &["cat /proc/self/environ", "cat < /proc/self/environ"]);
}

#[test]
fn a_rule_on_every_command_covers_reading_by_other_tools() {
    let env = allow(["Bash"]);
    env.file("~/notes");
    assert_eq!((env.read("~/notes"), env.write("~/notes")), (Allow, Ask));
    env.all(Allow, &["cat ../notes", "cat < ../notes"]);
    assert_eq!(env.read("/proc/self/environ"), Ask);
    assert_eq!(allow(["Bash"]).deny("Read(~/notes)").read("~/notes"), Deny);
    assert_eq!(allow(["Bash"]).rule(RuleKind::Ask, "Read(~/notes)").read("~/notes"), Ask);
    assert_eq!(allow(["Bash"]).mode(PermissionMode::Plan).read("~/notes"), Ask);
    assert_eq!(allow(["Bash(cat *)"]).read("~/notes"), Ask);
    // Commands are confined by a sandbox, and the tools are not.
    let root = env.workspace.root().to_owned();
    let workspace = env.workspace.with_sandbox(&root);
    let env = PermissionTestEnv { workspace, ..env };
    assert_eq!(env.read("~/notes"), Ask);
}
