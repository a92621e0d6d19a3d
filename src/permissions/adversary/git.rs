//! What git may look at without a question.

use super::*;

fn trusted(config: &str) -> Attack {
    let attack = Attack::new(Mode::Ask);
    let git = attack.workspace.root().join(".git");
    std::fs::create_dir(&git).unwrap();
    std::fs::write(git.join("config"), config).unwrap();
    Attack { workspace: attack.workspace.clone().trusted(), ..attack }
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
    let plan = Attack { mode: Mode::Plan, ..trusted("") };
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
    let untrusted = Attack { workspace, ..untrusted }.allow("Bash(git *)");
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
    let attack = trusted("");
    let root = attack.workspace.root().to_owned();
    std::fs::rename(root.join(".git"), root.parent().unwrap().join(".git")).unwrap();
    attack.all(Ask, &["git status"]);
}

#[test]
fn a_linked_worktree_is_looked_at_by_its_own_configuration() {
    let attack = trusted("");
    let (root, home) = (attack.workspace.root(), attack.workspace.home().unwrap());
    std::fs::remove_dir_all(root.join(".git")).unwrap();
    let (own, common) = (home.join("main/.git/worktrees/w"), home.join("main/.git"));
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(root.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
    std::fs::write(own.join("commondir"), "../..\n").unwrap();
    std::fs::write(common.join("config"), "[core]\n\tbare = false\n").unwrap();
    attack.all(Allow, &["git status"]);
    std::fs::write(own.join("config.worktree"), "[core]\n\tfsmonitor = ./x\n").unwrap();
    attack.all(Ask, &["git status"]);
}
