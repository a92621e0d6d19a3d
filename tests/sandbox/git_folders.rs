//! git's own folders that have another name than `.git`: no command changes or moves them, and a
//! commit in a worktree of one works as in any.

use super::git_repositories::{GIT, git};
use super::*;

/// Asserts that no command makes, changes or removes these files in a folder, or moves it away.
async fn assert_closed(fixture: &SandboxFixture, folder: &str, names: &[&str]) {
    for name in names {
        let path = format!("{folder}/{name}");
        for command in [
            format!("mkdir -p $(dirname {path}) && echo x >> {path}"),
            format!("echo x > src/x && mv src/x {path} && exit 0; exit 1"),
            format!("rm -r {path}"),
        ] {
            fixture.run(&command).await.assert_blocked(&command);
        }
    }
    for command in [
        format!("mv {folder} src/moved"),
        format!("mv {folder} {folder}.moved && mkdir -p {folder}"),
    ] {
        fixture.run(&command).await.assert_blocked(&command);
    }
}

/// What git obeys in its own folder.
const OBEYED: [&str; 7] = [
    "config",
    "config.worktree",
    "hooks/pre-commit",
    "info/attributes",
    "HEAD",
    "commondir",
    "worktrees/new/config.worktree",
];

/// `.bare` beside its worktrees, with a `.git` file at the top.
#[tokio::test]
async fn in_a_worktree_of_a_bare_repository_commits_work_and_the_repository_holds() {
    for fixture in fixtures() {
        fs::remove_dir_all(fixture.dir.join(".git")).unwrap();
        git(&fixture.dir, "init -q --bare .bare");
        fs::write(fixture.dir.join(".git"), "gitdir: ./.bare\n").unwrap();
        git(&fixture.dir, "worktree add -q --orphan -b a main");
        git(&fixture.dir.join("main"), "commit -q --allow-empty -m first");
        let commit = format!(
            "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null; cd main && \
             echo x > f && {GIT} add f && {GIT} commit -q -m second && {GIT} checkout -q -b b"
        );
        let ran = fixture.run(&commit).await;
        // Landlock cannot take what git obeys out of a folder in which git makes its files.
        assert_eq!(ran.works(), fixture.is_bubblewrap(), "{:?}: {}", fixture.backend, ran.printed);
        if fixture.is_bubblewrap() {
            git(&fixture.dir.join("main"), "log --format=%s a | grep -qx second");
        }
        assert_closed(&fixture, ".bare", &OBEYED).await;
        let own = ["commondir", "gitdir", "config.worktree", "modules/x/config"];
        assert_closed(&fixture, ".bare/worktrees/main", &own).await;
        assert_closed(&fixture, ".bare/objects", &["info/alternates"]).await;
        fixture.run("echo gitdir: /nowhere > .git").await.assert_blocked("another repository");
        git(&fixture.dir.join("main"), "status --porcelain");
    }
}

#[tokio::test]
async fn a_repository_that_a_git_file_names_holds() {
    for fixture in fixtures() {
        fs::remove_dir_all(fixture.dir.join(".git")).unwrap();
        fs::create_dir(fixture.dir.join("data")).unwrap();
        git(&fixture.dir, "init -q --separate-git-dir=data/g .");
        // The rest of the repository is elsewhere, in a folder without a `HEAD`.
        fs::create_dir(fixture.dir.join("data/h")).unwrap();
        for name in ["config", "objects", "refs"] {
            fs::rename(
                fixture.dir.join("data/g").join(name),
                fixture.dir.join("data/h").join(name),
            )
            .unwrap();
        }
        fs::write(fixture.dir.join("data/g/commondir"), "../h\n").unwrap();
        git(&fixture.dir, "commit -q --allow-empty -m first");
        assert_closed(&fixture, "data/g", &OBEYED).await;
        assert_closed(&fixture, "data/h", &["config", "hooks/pre-commit"]).await;
        fixture.run("mv data src/d && mkdir data").await.assert_blocked("moving what holds it");
        git(&fixture.dir, "status --porcelain");
    }
}

#[tokio::test]
async fn a_bare_repository_of_the_project_holds() {
    for fixture in fixtures() {
        git(&fixture.dir, "init -q --bare srv/x.git");
        assert_closed(&fixture, "srv/x.git", &OBEYED).await;
        fixture.run("mv srv src/s").await.assert_blocked("moving what holds it");
        git(&fixture.dir.join("srv/x.git"), "rev-parse --is-bare-repository");
        // A `HEAD` alone makes no repository.
        fs::create_dir_all(fixture.dir.join("src/looks/refs")).unwrap();
        fs::write(fixture.dir.join("src/looks/HEAD"), "x").unwrap();
        fixture.run("echo x > src/looks/config").await.assert_works("what is no repository");
    }
}
