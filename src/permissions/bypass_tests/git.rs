//! Which repositories git may read without a question.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::platform::environment::{ChildEnvironment, EnvironmentRules};

use super::*;

/// Makes what git accepts as a repository, at `git`.
fn make_repository(git: &Path, config: &str) {
    std::fs::create_dir_all(git.join("objects/info")).unwrap();
    std::fs::create_dir_all(git.join("refs/heads")).unwrap();
    std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(git.join("config"), config).unwrap();
}

fn trusted(config: &str) -> BypassTestEnv {
    let env = BypassTestEnv::new(PermissionMode::Ask);
    make_repository(&env.workspace.root().join(".git"), config);
    env
}

/// Runs a command as slug's child process in the root; gives what it printed, errors included.
fn run(env: &BypassTestEnv, command: &str) -> String {
    let home = env.workspace.home().unwrap();
    let given = [("PATH", std::env::var_os("PATH").unwrap()), ("HOME", home.into())]
        .map(|(name, value)| (name.into(), value));
    let environment = ChildEnvironment::from_variables(given, &EnvironmentRules::default());
    let run = Command::new("bash")
        .args(["--noprofile", "--norc", "-c", command])
        .current_dir(env.workspace.root())
        .env_clear()
        .envs(environment.variables())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into_owned()
}

/// A repository of git's own making with a commit, of which more is made by `script`. There
/// `$evil` leaves `ran` in the home folder.
fn made(script: &str) -> BypassTestEnv {
    let env = BypassTestEnv::new(PermissionMode::Ask);
    let home = env.workspace.home().unwrap();
    std::fs::write(home.join("secret"), "password=hunter2\n").unwrap();
    let evil = home.join("evil");
    std::fs::write(&evil, format!("touch '{}'; cat \"$@\"", home.join("ran").display())).unwrap();
    let settings = "[user]\n\tname = a\n\temail = a@b\n[init]\n\tdefaultBranch = main\n";
    std::fs::write(home.join(".gitconfig"), settings).unwrap();
    let begin = format!(
        "set -e; evil='sh {}'; git init -q .; echo hi >a.txt; git add a.txt; git commit -qm one",
        evil.display()
    );
    run(&env, &format!("{begin}\n{script}\n: >'{}'", home.join("made").display()));
    assert!(home.join("made").exists(), "{script}");
    std::fs::remove_file(home.join("ran")).ok();
    env
}

/// Asserts that each command is asked about, and that git really runs what the repository names.
fn runs_and_asks(env: &BypassTestEnv, commands: &[&str]) {
    let ran = env.workspace.home().unwrap().join("ran");
    for command in commands {
        assert_eq!(env.outcome(command), Ask, "{command}");
        let output = run(env, command);
        assert!(ran.exists(), "{command}: {output}");
        std::fs::remove_file(&ran).unwrap();
    }
}

const LOOKS: [&str; 7] = [
    "git status",
    "git status -s && git diff --stat",
    "git log --oneline -20",
    "git show HEAD~1",
    "git blame src/a",
    "git branch -a",
    "git -C src diff | head -50",
];

#[test]
fn s57_a_trusted_repository_is_looked_at_unasked() {
    trusted("[core]\n\tbare = false\n").all(Allow, &LOOKS);
    let plan = BypassTestEnv { mode: PermissionMode::Plan, ..trusted("") };
    plan.all(Allow, &LOOKS);
}

#[test]
fn s57_what_could_run_something_is_asked() {
    for config in [
        "[core]\n\tfsmonitor = ./x\n",
        "[filter \"x\"]\n\tclean = ./x\n",
        "[include]\n\tpath = x\n",
    ] {
        trusted(config).all(Ask, &LOOKS);
    }
    let untrusted = trusted("");
    let (root, home) = (untrusted.workspace.root(), untrusted.workspace.home().unwrap());
    let workspace = Workspace::new(root, Vec::new(), Some(home.to_owned()), home.join(".slug"));
    untrusted.all(Allow, &["git status"]);
    let untrusted = BypassTestEnv { workspace, ..untrusted }.allow("Bash(git *)");
    untrusted.all(Ask, &["git status", "git add x", "git commit -m x"]);
    let outside = trusted("");
    outside.all(
        Ask,
        &[
            "git -C .. status",
            "git diff --output=x",
            "git diff --ext-diff",
            "git diff --no-index a b",
            "git diff /etc/passwd x",
            "git log --show-signature",
            "git branch new",
            "git branch -D x",
            "git status --porcelain --untracked=all",
            "git stash",
            "cd .. && git status",
        ],
    );
    let with_submodules = trusted("");
    std::fs::write(with_submodules.workspace.root().join(".gitmodules"), "").unwrap();
    with_submodules.all(Ask, &["git status", "git diff"]);
    with_submodules.all(Allow, &["git log"]);
    let denies = trusted("").deny("Read(.env)");
    denies.all(Ask, &["git diff", "git show", "git log -p"]);
    denies.all(Allow, &["git status", "git log --oneline"]);
}

#[test]
fn a_repository_above_the_workspace_is_not_looked_at() {
    let env = trusted("");
    let root = env.workspace.root().to_owned();
    std::fs::rename(root.join(".git"), root.parent().unwrap().join(".git")).unwrap();
    env.all(Ask, &["git status"]);
}

#[test]
fn a_linked_worktree_is_looked_at_where_its_repository_knows_it() {
    let env = made("git worktree add -q ../w; cd ..; rm -r app; mv w app; cd app");
    // Moved by hand, the worktree belongs to another repository.
    env.all(Ask, &LOOKS);
    let env = made(
        "mv .git ../main; mkdir ../main/worktrees ../main/worktrees/w; cd ../main
         cp HEAD index worktrees/w; echo ../.. >worktrees/w/commondir
         echo \"$PWD/../app/.git\" >worktrees/w/gitdir
         echo \"gitdir: $PWD/worktrees/w\" >../app/.git",
    );
    env.all(Allow, &LOOKS);
    assert!(run(&env, "git log").contains("one"));
    let own = env.workspace.home().unwrap().join("main/worktrees/w");
    std::fs::write(own.join("config.worktree"), "[core]\n\tfsmonitor = ./x\n").unwrap();
    env.all(Ask, &LOOKS);
    std::fs::remove_file(own.join("config.worktree")).unwrap();
    symlink("../../../secret", own.join("MERGE_MSG")).unwrap();
    env.all(Ask, &LOOKS);
}

const EVIL_DIFF: &str = "echo '*.txt diff=x' >.gitattributes; echo y >>a.txt
    git config diff.x.textconv \"$evil\"";

#[test]
fn folders_that_git_takes_for_no_repository_are_ignored() {
    for nearer in [
        "mkdir .git",
        "mkdir .git; touch .git/config",
        "git init -q .; echo what >.git/HEAD",
        "git init -q .; : >.git/HEAD",
        "git init -q .; rm .git/HEAD; ln -s nowhere .git/HEAD",
        "git init -q .; rm -r .git/refs",
        "git init -q .; rm -r .git/objects",
    ] {
        let script = format!(
            "{EVIL_DIFF}; mkdir n; cd n; echo hi >b.txt; git add b.txt; git commit -qm two; echo y >>b.txt; {nearer}"
        );
        let env = made(&script);
        runs_and_asks(&env, &["git diff", "cd n && git diff", "git -C n log -p -- ../a.txt"]);
        // The same where the workspace begins there.
        let (root, home) = (env.workspace.root(), env.workspace.home().unwrap());
        let workspace =
            Workspace::new(root.join("n"), Vec::new(), Some(home.into()), home.join(".slug"));
        let inner = BypassTestEnv { workspace: workspace.trusted(), ..env };
        runs_and_asks(&inner, &["git diff"]);
    }
    made("mkdir n; cd n; git init -q .").all(Allow, &["cd n && git diff", "git -C n status"]);
    let env = trusted("[remote \"origin\"]\n\turl = x\n").allow("Bash(git *)");
    env.all(Allow, &["git status", "git push origin"]);
    std::fs::write(env.workspace.root().join(".git/commondir"), "../src\n").unwrap();
    env.all(Ask, &["git push origin"]);
    BypassTestEnv { rules: RuleSet::new(), ..env }.all(Ask, &LOOKS);
    for odd in ["gitdir: ../.git\n", "gitdir: nowhere\n", "x"] {
        let env = trusted("");
        std::fs::write(env.workspace.root().join("src/.git"), odd).unwrap();
        env.all(Ask, &["cd src && git status", "git -C src log"]);
    }
    let env = trusted("");
    symlink("../.git", env.workspace.root().join("src/.git")).unwrap();
    env.all(Ask, &["cd src && git status"]);
}

#[test]
fn a_folder_in_a_repository_may_be_one() {
    for name in ["modules", "worktrees"] {
        let env = made(&format!(
            "mkdir -p foo/.git/{name}; cp -r .git foo/.git/{name}/x; cd foo/.git/{name}/x
             echo '*.txt diff=x' >info/attributes
             git config core.bare true; git config diff.x.textconv \"$evil\""
        ));
        let there = format!("foo/.git/{name}/x");
        let commands = [format!("git -C {there} log -p"), format!("cd {there} && git show")];
        runs_and_asks(&env, &commands.each_ref().map(String::as_str));
    }
    trusted("").all(Ask, &["git -C .git log", "cd .git/refs && git log"]);
    let env = trusted("");
    std::fs::write(env.workspace.root().join("src/HEAD"), "").unwrap();
    env.all(Ask, &["git -C src log", "cd src/x && git log"]);
}

/// A repository inside another, and how git knows of it.
fn with_module(then: &str) -> BypassTestEnv {
    made(&format!(
        "(mkdir s; cd s; git init -q .; echo hi >a.txt; git add -A; git commit -qm i)
         git add s; printf '[submodule \"s\"]\\n\\tpath = s\\n\\turl = ./s\\n\\tignore = none\\n' >.gitmodules
         git add -A; git commit -qm two; echo '*.txt filter=x' >s/.gitattributes
         git -C s config filter.x.clean \"$evil\"; touch -d 2001-01-01 s/a.txt
         {then}"
    ))
}

#[test]
fn a_submodule_is_one_by_the_index() {
    for then in [
        "rm .gitmodules",
        "git rm -q --cached .gitmodules; rm .gitmodules",
        "rm .gitmodules; git update-index --index-version 4",
        "rm .gitmodules; touch new; git add -N new",
    ] {
        runs_and_asks(&with_module(then), &["git status"]);
    }
    for then in ["rm .gitmodules; git update-index --split-index", "rm .gitmodules; touch b"] {
        with_module(then).all(Ask, &["git status", "git diff --stat", "git blame a.txt"]);
    }
    with_module("rm .gitmodules").all(Allow, &["git log"]);
    // In any version, an index of files alone is no hindrance.
    for then in [
        "true",
        "git update-index --index-version 4",
        "touch new; git add -N new",
        "git update-index --index-version 4; touch a.txu b; git add .; git add -N b",
        "mkdir d; touch d/$(printf %0250d 1) d/a; git add .; ln -s a l; git add l",
    ] {
        made(then).all(Allow, &["git status", "git diff"]);
    }
    made("git update-index --split-index").all(Ask, &["git status"]);
}

/// With threads, git would take the start of each part from the index.
#[test]
fn the_index_is_read_from_its_beginning() {
    let env = made(
        "touch b; git add b; git config index.threads 3
         git -c index.threads=3 update-index --force-write-index",
    );
    let file = env.workspace.root().join(".git/index");
    let mut index = std::fs::read(&file).unwrap();
    let parts = index.windows(4).rposition(|it| it == b"IEOT").unwrap();
    index.copy_within(parts + 12..parts + 16, parts + 20);
    std::fs::write(&file, index).unwrap();
    env.all(Allow, &["git ls-files"]);
    assert_eq!(run(&env, "git ls-files"), "a.txt\nb\n");
    assert_eq!(run(&env, "git -c index.threads=3 ls-files"), "a.txt\na.txt\n");
}

#[test]
fn git_reads_nothing_outside_through_its_own_files() {
    for name in [
        "info/grafts",
        "info/attributes",
        "objects/info/alternates",
        "packed-refs",
        "shallow",
        "rebase-merge/head-name",
        "rebase-apply/head-name",
        "refs/heads/deep/er",
        "worktrees/x/HEAD",
        "logs/HEAD",
        "objects/pack/pack-x.idx",
        "objects/aa/bb",
        "index",
        "new-in-a-later-version",
    ] {
        let env = made("");
        let link = env.workspace.root().join(".git").join(name);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::fs::remove_file(&link).ok();
        symlink(env.workspace.home().unwrap().join("secret"), &link).unwrap();
        env.all(Ask, &LOOKS);
    }
    for name in ["objects", "refs", "info", "refs/heads", "objects/info", "objects/pack", "logs"] {
        let env = made("");
        let (git, home) = (env.workspace.root().join(".git"), env.workspace.home().unwrap());
        let moved = home.join("moved");
        std::fs::rename(git.join(name), &moved).unwrap();
        symlink(&moved, git.join(name)).unwrap();
        env.all(Ask, &LOOKS);
    }
    let others =
        "git init -q ../private; cd ../private; echo x >f; git add f; git commit -qm private
        cd ../app; echo \"$PWD/../private/.git/objects\" >.git/objects/info/alternates";
    let env = made(others);
    let shown = run(&env, "git show $(git -C ../private rev-parse HEAD)");
    assert!(shown.contains("private"), "{shown}");
    env.all(Ask, &LOOKS);
    // What git does not read may be a link, as other tools create them.
    made("rm -rf .git/hooks; ln -s ../hooks .git/hooks").all(Allow, &LOOKS);
}

#[test]
fn a_signature_is_not_looked_at_unasked() {
    for format in ["%G?", "%+G?", "%-GK", "% GS", "%h %x09%+GG", "%(signature)", "%(signature:key)"]
    {
        let commands = [
            format!("git log '--format={format}'"),
            format!("git show '--pretty=tformat:{format}'"),
            format!("git branch '--format={format}'"),
        ];
        trusted("").all(Ask, &commands.each_ref().map(String::as_str));
    }
    trusted("").all(Allow, &["git log '--format=%h %an%n%s' --grep=GET"]);
    trusted("").allow("Bash(git *)").all(Allow, &["git commit -m '5% Go: the signature'"]);
}

#[test]
fn options_that_may_show_contents_are_asked_where_some_are_denied() {
    let env = trusted("").deny("Read(.env)");
    env.all(
        Ask,
        &[
            "git status -v",
            "git status -vv",
            "git status -sv",
            "git status --verbose",
            "git log --unified=3",
            "git log -U3",
            "git log -ip",
            "git log --patch",
            "git log --word-diff",
            "git log -Sx",
            "git log -c",
            "git diff --stat",
            "git show --stat",
            "git branch '--format=%(raw)'",
        ],
    );
    env.all(
        Allow,
        &[
            "git status -sb",
            "git status --porcelain=v2 -uno",
            "git log -20 --oneline --graph",
            "git log -n 5 --stat --since=yesterday",
            "git log '--format=%h %s' --name-only",
            "git branch -avv",
            "git ls-files -s",
            "git rev-parse --short HEAD",
            "git blame src/a -L1,3",
        ],
    );
}

#[test]
fn a_wildcard_covers_configured_addresses_alone() {
    let config = "[remote \"origin\"]\n\turl = https://example.org/a\n[remote \"none\"]\n\turl =\n";
    let env = trusted(config).allow("Bash(git *)");
    env.all(
        Allow,
        &[
            "git push",
            "git push -u origin main",
            "git fetch --all",
            "cd src && git pull origin main",
            "git remote",
            "git remote -v",
            "git remote get-url origin",
        ],
    );
    env.all(
        Ask,
        &[
            "git fetch x",
            "git push src main",
            "git pull none",
            "git push https://example.org/b",
            "git remote add x https://example.org/b",
            "git remote add x ./src",
            "git remote set-url origin https://example.org/b",
            "git remote set-url --push origin https://example.org/b",
            "git remote rename origin x",
            "git remote remove origin",
            "git remote set-branches origin x",
            "git remote -v update",
            "git remote show origin",
            "git -C .. push origin",
        ],
    );
    for odd in
        ["[include]\n\tpath = x\n", "[user]\n\tname = \"a\\\n", "[remote \"origin\"]\n\turl =\n"]
    {
        trusted(&format!("{config}{odd}")).allow("Bash(git *)").all(Ask, &["git push origin"]);
    }
    let with_filter = format!("{config}[filter \"lfs\"]\n\tclean = git-lfs clean\n");
    trusted(&with_filter).allow("Bash(git *)").all(Allow, &["git push origin"]);
    let named = trusted(config).allow("Bash(git remote add *)").allow("Bash(git push x)");
    named.all(Allow, &["git remote add x https://example.org/b", "git push x"]);
    trusted(config).all(Ask, &["git push origin", "git remote -v"]);
}

#[test]
fn a_wildcard_rule_covers_git_in_another_repository_only_where_that_names_no_program() {
    let env = made(
        "git config filter.x.clean \"$evil\"; \
         for n in plain named; do git init -q $n; (cd $n; echo x >b; git add b; git commit -qm two); done; \
         git -C named config diff.external \"$evil\"",
    );
    let env = env.allow("Bash(git *)").allow("Bash(cd *)");
    env.all(
        Allow,
        &["git status", "git diff", "git log -p", "git -C plain log -p", "git -C plain diff"],
    );
    env.all(
        Ask,
        &[
            "git -C named status",
            "git -C named diff",
            "git -C named log -p",
            "cd named && git show",
        ],
    );
    let plain = "sort a.txt; git -C plain diff";
    assert_eq!(env.outcome(plain), Allow);
    assert_eq!(env.outcome_in_background(plain), Ask, "by then the folder may be another");
    assert_eq!(env.outcome_in_background("git -C plain log"), Allow);
}

#[test]
fn what_a_submodule_names_is_covered_by_no_rule_on_git() {
    let module = "git init -q m; (cd m; echo x >b; git add b; git commit -qm two); \
                  git add m 2>/dev/null; git commit -qm three; ";
    let changes = ["git commit -am x", "git checkout main", "git add .", "git fetch", "git stash"];
    let env = made(module).allow("Bash(git *)");
    env.all(Allow, &["git status", "git diff"]);
    env.all(Allow, &changes);
    let named = "git -C m config filter.x.clean \"$evil\"; echo '* filter=x' > m/.git/info/attributes; \
                 sleep 1.1; echo y > m/b; ";
    let told = "printf '[submodule \"m\"]\\n\\tpath = m\\n\\turl = ./m\\n\\tignore = none\\n' > .gitmodules";
    let env = made(&format!("{module}{named}{told}")).allow("Bash(git *)");
    runs_and_asks(&env, &["git status", "git diff"]);
    env.all(Ask, &changes);
    env.all(Allow, &["git log -p"]);
    // A branch can make a submodule of a repository that lies there, and say that git looks into it.
    let brought = "git init -q m; (cd m; echo x >b; git add b; git commit -qm two); \
                   git checkout -qb other; git add m 2>/dev/null; ";
    let back = "; git add .gitmodules; git commit -qm three; git checkout -q main 2>/dev/null; \
                test -d m/.git || git init -q m; ";
    let env = made(&format!("{brought}{told}{back}{named}")).allow("Bash(git *)");
    env.all(Allow, &["git status", "git diff"]);
    env.all(Ask, &["git checkout other", "git merge other", "git add ."]);
}

#[test]
fn an_added_folder_is_no_trusted_one() {
    let env = made("mkdir sub");
    let top = env.workspace.root().parent().unwrap().join("added");
    make_repository(&top.join(".git"), "");
    std::fs::create_dir_all(top.join(".git/hooks")).unwrap();
    std::fs::write(top.join(".git/hooks/pre-commit"), "exit 0").unwrap();
    let home = env.workspace.home().unwrap().to_owned();
    let workspace = Workspace::new(
        env.workspace.root(),
        vec![top.clone()],
        Some(home.clone()),
        home.join(".slug"),
    );
    let env = BypassTestEnv { workspace: workspace.trusted(), ..env };
    let added = |command: &str| format!("git -C {} {command}", top.display());
    env.all(Ask, &[&added("status"), &added("log")]);
    let env = env.allow("Bash(git *)");
    env.all(Ask, &[&added("commit -am x"), &format!("cd {} && git commit -am x", top.display())]);
    env.all(Allow, &["git status"]);
}
