//! A command is judged in the folder to which the commands before it lead, and a rule with a
//! pattern holds only in the workspace.

use std::fs;

use proptest::prelude::*;
use slug_code::domain::{PermissionMode, PermissionOutcome};

use super::test_project::TestProject;

/// Rules with patterns on every program that is used here.
const RULES: [&str; 25] = [
    "Bash(npm *)",
    "Bash(pnpm *)",
    "Bash(yarn *)",
    "Bash(bun *)",
    "Bash(make *)",
    "Bash(cargo *)",
    "Bash(git *)",
    "Bash(go *)",
    "Bash(uv *)",
    "Bash(ninja *)",
    "Bash(cmake *)",
    "Bash(tar *)",
    "Bash(just *)",
    "Bash(mvn *)",
    "Bash(gradle *)",
    "Bash(terraform *)",
    "Bash(composer *)",
    "Bash(touch *)",
    "Bash(cp *)",
    "Bash(rm *)",
    "Bash(mkdir *)",
    "Bash(python3 *)",
    "Bash(pytest *)",
    "Bash(printf *)",
    "Bash(read *)",
];

/// Command lines that go to the folder `D` and do something there.
const LEADING: [&str; 62] = [
    "cd D && npm test",
    "cd D; npm test",
    "cd -- D && npm test",
    "cd -P D && npm test",
    "cd -L D && make",
    "cd src && cd D && npm test",
    "cd D && ls && cargo build",
    "cd D || npm test",
    "cd D | npm test; cd D && make",
    "(cd D && npm test)",
    "{ cd D; npm test; }",
    "cd D\nnpm test",
    "pushd D && npm test",
    "pushd D; make; popd",
    "pushd src; pushd D; make",
    "cd src; pushd D > /dev/null && touch x",
    "env -C D make",
    "env --chdir=D make",
    "env --chdir D make",
    "env -CD make",
    "timeout 5 env -C D make",
    "git -C D stash",
    "git -C src -C D stash",
    "git --git-dir=D/.git stash",
    "git --work-tree=D stash",
    "git -C D status",
    "make -C D",
    "make -CD",
    "make --directory=D",
    "make --directory D all",
    "make -f D/Makefile",
    "make --file=D/Makefile",
    "make -I D",
    "npm --prefix D test",
    "npm --prefix=D test",
    "npm test --prefix D",
    "npm -C D test",
    "pnpm -C D test",
    "pnpm --dir D test",
    "pnpm --dir=D test",
    "yarn --cwd D test",
    "yarn --cwd=D test",
    "bun --cwd D test",
    "bun --cwd=D run x",
    "cargo --manifest-path D/Cargo.toml build",
    "cargo build --manifest-path=D/Cargo.toml",
    "cargo -C D build",
    "cargo --config D/config.toml build",
    "go -C D build",
    "go -C=D build",
    "uv --directory D run x",
    "uv --project=D run x",
    "ninja -C D",
    "cmake -S D -B build",
    "cmake --build D",
    "tar -C D -xf a.tar",
    "tar --directory=D -xf a.tar",
    "just -d D build",
    "just --justfile D/justfile build",
    "mvn -f D/pom.xml test",
    "gradle -p D test",
    "terraform -chdir=D apply",
];

#[test]
fn a_rule_with_a_pattern_holds_in_no_folder_outside_however_it_is_led_to() {
    let project = TestProject::with_rules(&RULES, &[]);
    for file in ["Makefile", "config.toml", "justfile", "pom.xml", "Cargo.toml", "package.json"] {
        fs::write(project.sibling_path("beside").join(file), "").unwrap();
    }
    let beside = project.sibling_path("beside").display().to_string();
    for folder in [beside.as_str(), "../beside", "src/../../beside", "/usr/share"] {
        let lines = LEADING.iter().filter(|line| {
            // Behind another folder, a relative path leads to none of those outside, and a file has
            // to exist.
            folder == beside
                || (!line.contains("src") && !line.contains("file ") && !line.contains("D/"))
        });
        let lines = lines.map(|line| line.replace('D', folder));
        project.assert_all(lines, PermissionMode::Ask, PermissionOutcome::Ask);
    }
}

/// Adds a link that leads out of the project.
fn with_a_link(project: &TestProject) {
    std::os::unix::fs::symlink(project.sibling_path("beside"), project.root().join("link"))
        .unwrap();
}

#[test]
fn a_link_that_leads_outside_is_outside() {
    let project = TestProject::with_rules(&RULES, &[]);
    with_a_link(&project);
    let lines = [
        "cd link && npm test",
        "cd ./link; make",
        "cd -P link && make",
        "cd -L link && make",
        "cd link/../src && touch x",
        "pushd link && make",
        "env -C link make",
        "git -C link stash",
        "make -C link",
        "make --directory=link",
        "npm --prefix link test",
        "npm --prefix=./link test",
        "cargo --manifest-path link/Cargo.toml build",
        "pnpm --dir link test",
        "yarn --cwd link test",
        "touch link/x.txt",
        "cp a.txt link/",
        "rm link/x.txt",
        "cat link/x.txt",
    ];
    project.assert_all(lines, PermissionMode::Ask, PermissionOutcome::Ask);
}

#[test]
fn a_word_that_is_a_link_which_leads_outside_is_outside() {
    let project = TestProject::with_rules(&RULES, &[]);
    with_a_link(&project);
    let lines =
        ["npm -C link test", "just -d link build", "cmake --build link", "gradle -p link test"];
    project.assert_all(lines, PermissionMode::Ask, PermissionOutcome::Ask);
    project.assert_all(
        ["pytest link", "python3 link/x.txt", "mvn -f link test"],
        PermissionMode::Ask,
        PermissionOutcome::Ask,
    );
}

#[test]
fn a_rule_with_a_pattern_holds_in_the_folders_of_the_workspace() {
    let project = TestProject::with_rules(&RULES, &[]);
    let lines = [
        "cd src && npm test",
        "cd src/deep && make",
        "cd src && cd .. && npm test",
        "cd src/deep && cd ../.. && touch x",
        "make -C src",
        "make --directory=src/deep",
        "npm --prefix src test",
        "cargo --manifest-path src/Cargo.toml build",
        "git -C src stash",
        "touch src/x",
        "cd src && cp a.rs ../b.rs",
        "mkdir -p src/new/er && touch src/new/er/x",
    ];
    project.assert_all(lines, PermissionMode::Ask, PermissionOutcome::Allow);
}

#[test]
fn a_bare_rule_holds_in_every_folder() {
    let project = TestProject::with_rules(&["Bash"], &[]);
    let beside = project.sibling_path("beside").display().to_string();
    let lines = LEADING.iter().map(|line| line.replace('D', &beside));
    // A repository that is named in another way than by its folder is a case of the protected
    // places.
    let lines = lines.filter(|line| !line.contains(".git"));
    project.assert_all(lines, PermissionMode::Ask, PermissionOutcome::Allow);
    let means = slug_code::permissions::meaning("Bash").unwrap();
    assert!(means.contains("every command") && means.contains("every folder"), "{means}");
}

#[test]
fn what_is_read_and_written_is_judged_in_the_folder_that_it_is_in() {
    let mut project = TestProject::with_rules(&["Bash(touch *)", "Bash(cp *)", "Bash(rm *)"], &[]);
    let asked = [
        "cd src && touch ../../x",
        "cd src/deep && touch ../../../x",
        "cd .. && touch project/x",
        "cd .. && cat beside/x.txt",
        "cd src && cat ../../beside/x.txt",
        "cd / && cat etc/passwd",
        "cd /etc && cat passwd",
        "cd .. && ls",
        "pushd .. && cat beside/x.txt",
        "cd src && cp a.rs ../../beside/",
        "cd src && rm ../../beside/x.txt",
        "cd src && cat < ../../beside/x.txt",
        "cd src && echo x > ../../beside/x.txt",
        "env -C .. cat beside/x.txt",
        "cd src && cd ../.. && cat beside/x.txt",
    ];
    project.assert_all(asked, PermissionMode::Ask, PermissionOutcome::Ask);
    let allowed = [
        "cd src && touch ../x",
        "cd src && cat ../a.txt",
        "cd src/deep && cat ../../a.txt ../a.rs",
        "cd src && cp a.rs deep/",
        "cd src/deep && cat ../a.rs && cd ../.. && cat a.txt",
    ];
    project.assert_all(allowed, PermissionMode::Ask, PermissionOutcome::Allow);
    // A deny rule on a path matches there, too.
    project.write("src/secret.txt", "x");
    project.set_rules(&["Bash"], &["Read(src/secret.txt)", "Edit(src/locked.txt)"]);
    let denied = [
        "cat src/secret.txt",
        "cd src && cat secret.txt",
        "cd src/deep && cat ../secret.txt",
        "pushd src; head secret.txt",
        "cd src && python3 x.py secret.txt",
        "env -C src cat secret.txt",
        "cd src && cat < secret.txt",
        "cd src && echo x > locked.txt",
        "cd src; echo x >> ./locked.txt",
    ];
    project.assert_all(denied, PermissionMode::Yolo, PermissionOutcome::Deny);
}

#[test]
fn a_deny_rule_on_edits_finds_what_a_plain_program_is_certain_to_change() {
    let project = TestProject::with_rules(&["Bash"], &["Edit(src/locked.txt)"]);
    project.write("src/locked.txt", "x");
    let lines = [
        "cp a.txt src/locked.txt",
        "mv a.txt src/locked.txt",
        "rm src/locked.txt",
        "tee src/locked.txt",
        "touch src/locked.txt",
        "cd src && cp a.rs locked.txt",
    ];
    project.assert_all(lines, PermissionMode::Yolo, PermissionOutcome::Deny);
}

#[test]
fn a_folder_that_is_known_only_when_it_runs_is_asked() {
    let project = TestProject::with_rules(&RULES, &[]);
    let lines = [
        "cd $X && npm test",
        "cd \"$(pwd)\" && npm test",
        "cd ~ && npm test",
        "cd && npm test",
        "cd - && npm test",
        "cd src*; npm test",
        "pushd && npm test",
        "pushd +1 && npm test",
        "popd && npm test",
        "dirs -c; popd; npm test",
        "CDPATH=/tmp cd x && npm test",
        "make -C $X",
        "npm --prefix \"$X\" test",
        "git -C `pwd` stash",
        "env -C ~ make",
    ];
    project.assert_all(lines, PermissionMode::Ask, PermissionOutcome::Ask);
}

/// Commands that assign a variable, or change what the words behind them mean.
const ASSIGNING: [&str; 60] = [
    "PATH=/tmp",
    "PATH=/tmp:$PATH",
    "A+=x",
    "A[0]=x",
    "A=(x y)",
    "export PATH=/tmp",
    "export -n PATH",
    "declare PATH=/tmp",
    "declare -x PATH=/tmp",
    "declare -g PATH=/tmp",
    "declare -n P=PATH",
    "typeset PATH=/tmp",
    "local PATH=/tmp",
    "readonly PATH=/tmp",
    "read PATH",
    "read -r PATH < a.txt",
    "read -a PATH",
    "read -p x PATH",
    "mapfile PATH < a.txt",
    "mapfile -t PATH",
    "readarray PATH",
    "printf -v PATH /tmp",
    "printf -vPATH /tmp",
    "printf -v PATH %s /tmp",
    "printf %n PATH",
    "printf '%n' PATH",
    "printf 'abc%n' PATH",
    "printf 'abc%5n' PATH",
    "printf '%s%n' x PATH",
    "printf '%%%n' PATH",
    "printf '%-n' PATH",
    "printf '%*n' 3 PATH",
    "printf '%ln' PATH",
    "printf '%.3n' PATH",
    "printf '%(x)T%n' 0 PATH",
    "printf -- '%n' PATH",
    "printf '\\x25n' PATH",
    "printf \"%n\" PATH",
    "getopts a PATH",
    "let PATH=1",
    "let x++",
    "unset PATH",
    "unset -f ls",
    "alias ls=touch",
    "unalias ls",
    "hash -p /tmp/x ls",
    "enable -n echo",
    "enable -f /tmp/x.so x",
    "set -- a",
    "set -o posix",
    "set -a",
    "shopt -s expand_aliases",
    "trap 'touch x' EXIT",
    "trap 'touch x' DEBUG",
    "source a.txt",
    ". ./a.txt",
    "eval A=b",
    "wait -n -p PATH",
    "exec 3> out",
    "complete -C touch ls",
];

#[test]
fn what_assigns_makes_a_line_dynamic() {
    let wild: Vec<String> = [
        "export",
        "declare",
        "typeset",
        "local",
        "readonly",
        "read",
        "mapfile",
        "readarray",
        "printf",
        "getopts",
        "let",
        "unset",
        "alias",
        "unalias",
        "hash",
        "enable",
        "set",
        "shopt",
        "trap",
        "source",
        "eval",
        "wait",
        "exec",
        "complete",
        "npm",
    ]
    .map(|name| format!("Bash({name} *)"))
    .into();
    let wild: Vec<&str> = wild.iter().map(String::as_str).collect();
    let project = TestProject::with_rules(&wild, &[]);
    for behind in ["", "; ls", " && npm test", "\nls"] {
        let lines = ASSIGNING.iter().map(|line| format!("{line}{behind}"));
        // Inside printf's own text nothing is an assignment to bash.
        let lines = lines.filter(|line| !line.contains("x25n"));
        project.assert_all(lines, PermissionMode::Ask, PermissionOutcome::Ask);
    }
    let before = ASSIGNING.iter().filter(|line| line.contains('=') && !line.contains(' '));
    let before: Vec<String> = before.map(|line| format!("{line} npm test")).collect();
    project.assert_all(before, PermissionMode::Ask, PermissionOutcome::Ask);
}

#[test]
fn what_only_prints_is_no_assignment() {
    let project = TestProject::with_rules(&["Bash(printf *)"], &[]);
    let lines = [
        "printf '%s\\n' x",
        "printf 'a%%n'",
        "printf '100%%'",
        "printf '%d %x' 1 2",
        "printf '\\n'",
    ];
    project.assert_all(lines, PermissionMode::Ask, PermissionOutcome::Allow);
}

/// Names for one step, none of which leads anywhere unexpected.
fn step() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "src", "deep", "..", ".", "link", "../..", "src/deep", "beside", "project",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    /// However a line changes folders: where bash ends outside, the rule does not hold.
    #[test]
    fn a_walk_that_ends_outside_is_asked(
        steps in prop::collection::vec((step(), prop::sample::select(vec!["cd", "pushd", "cd -P", "cd -L"])), 1..5),
    ) {
        let project = TestProject::with_rules(&["Bash(npm *)", "Bash(touch *)"], &[]);
        std::os::unix::fs::symlink(project.sibling_path("beside"), project.root().join("link")).unwrap();
        fs::create_dir_all(project.root().join("src/deep/deep")).unwrap();
        let walk: Vec<String> = steps.iter().map(|(step, how)| format!("{how} {step}")).collect();
        let line = walk.join(" && ");
        let output = std::process::Command::new("bash")
            .args(["--norc", "-c", &format!("{{ {line}; }} > /dev/null 2>&1 && pwd -P")])
            .current_dir(project.root())
            .output()
            .unwrap();
        let place = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let is_outside = !place.is_empty() && !std::path::Path::new(&place).starts_with(project.root());
        let outcome = project.outcome(&format!("{line} && touch x"), PermissionMode::Ask);
        if is_outside {
            prop_assert_eq!(outcome, PermissionOutcome::Ask, "{} ends in {}", line, place);
        }
    }
}
