//! git in a sandbox: commits and the status work, and a command opens no repository that is not the
//! folder's own.

use slug_code::context::{ContextProvider, GitExecutable, GitStatus};

use super::*;

/// git with an invented author and without this machine's configuration.
pub(super) const GIT: &str = "git -c user.name=a -c user.email=a@b.example -c commit.gpgsign=false \
                   -c core.hooksPath=/dev/null";

pub(super) fn git(folder: &Path, line: &str) {
    let script = format!("{GIT} {line}");
    let mut command = std::process::Command::new("bash");
    command.args(["-c", &script]).current_dir(folder);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"] {
        command.env_remove(name);
    }
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
}

#[tokio::test]
async fn s46_in_a_linked_worktree_commits_work_and_protected_files_hold() {
    for mut fixture in fixtures() {
        let main = fixture.dir.with_file_name("main");
        fs::create_dir(&main).unwrap();
        git(&main, "init -q .");
        git(&main, "commit -q --allow-empty -m first");
        let tree = fixture.dir.with_file_name("tree");
        git(&main, &format!("worktree add -q -b side {}", tree.display()));
        fixture.dir = tree.canonicalize().unwrap();
        fs::create_dir(fixture.dir.join("src")).unwrap();
        let commit = format!(
            "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null; echo x > src/f && \
             {GIT} add -A && {GIT} commit -q -m second && {GIT} checkout -q -b other && \
             test -z \"$({GIT} status --porcelain)\""
        );
        let ran = fixture.run(&commit).await;
        // Landlock cannot take what git obeys out of a folder in which git makes its files.
        assert_eq!(ran.works(), fixture.is_bubblewrap(), "{:?}: {}", fixture.backend, ran.printed);
        if fixture.is_bubblewrap() {
            git(&main, "log --format=%s side | grep -qx second");
        }
        let (common, own) = (main.join(".git"), main.join(".git/worktrees/tree"));
        let config = fs::read(common.join("config")).unwrap();
        for (folder, names) in [
            (
                &common,
                &[
                    "config",
                    "hooks/pre-commit",
                    "info/attributes",
                    "HEAD",
                    "new",
                    "objects/info/alternates",
                ][..],
            ),
            (&own, &["commondir", "gitdir", "config.worktree", "modules/x/config"]),
        ] {
            for name in names {
                let path = folder.join(name);
                let path = path.display();
                for command in [
                    format!("mkdir -p $(dirname {path}) && echo x > {path}"),
                    format!("echo x > src/x && mv src/x {path} && exit 0; exit 1"),
                    format!("rm -r {path}"),
                ] {
                    fixture.run(&command).await.assert_blocked(&command);
                }
            }
        }
        fixture.run("echo gitdir: /nowhere > .git").await.assert_blocked("another repository");
        assert_eq!(fs::read(common.join("config")).unwrap(), config);
        git(&fixture.dir, "status --porcelain");
        // git would write through links that a command leaves behind.
        let links = [own.join("MERGE_MSG"), common.join("logs/x"), common.join("refs/heads/a/b")];
        for link in &links {
            let (target, link) = (fixture.outside("kept"), link.display());
            let command = format!("mkdir -p $(dirname {link}) && ln -s {target} {link}");
            let ran = fixture.run(&command).await;
            assert_eq!(
                ran.works(),
                fixture.is_bubblewrap(),
                "{:?}: {}",
                fixture.backend,
                ran.printed
            );
        }
        // The next command finds none of them, even while a process still runs.
        let link = common.join("refs/heads/c");
        fixture.run(&format!("ln -s main {}; sleep 2 &", link.display())).await;
        assert!(
            link.symlink_metadata().is_err(),
            "{:?} has a link when it returns",
            fixture.backend
        );
        // The names are free again once the last supervisor has ended.
        let by = Instant::now() + Duration::from_secs(60);
        let is_left = |path: &Path| path.symlink_metadata().is_ok();
        while is_left(&own.join("modules"))
            || is_left(&own.join("config.worktree"))
            || links.iter().any(|link| is_left(link))
        {
            assert!(Instant::now() < by, "{:?} leaves names behind", fixture.backend);
            std::thread::sleep(Duration::from_millis(10));
        }
        // A link of the user's stays, and keeps the repository closed.
        symlink("main", common.join("refs/heads/mine")).unwrap();
        let file = own.join("new");
        fixture
            .run(&format!("echo x > {}", file.display()))
            .await
            .assert_blocked("a repository with a link");
        assert!(is_left(&common.join("refs/heads/mine")));
    }
}

#[tokio::test]
async fn git_works_inside_as_outside() {
    for fixture in fixtures() {
        let sub = fixture.dir.join("sub");
        fs::create_dir(&sub).unwrap();
        fs::write(sub.join("a"), "one").unwrap();
        git(&sub, "init -q -b it\\'s .");
        git(&sub, "add -A");
        git(&sub, "commit -q -m first");
        git(&sub, "config filter.x=y.clean 'touch made; cat'");
        fs::write(sub.join(".gitattributes"), "a filter=x=y\n").unwrap();
        fs::write(sub.join("a"), "two").unwrap();
        let git_program = GitExecutable::find(&std::env::var_os("PATH").unwrap(), &[]).unwrap();
        let git_program = git_program.inside(Arc::new(fixture.sandboxed_host()));
        let status = GitStatus::new(git_program, sub.clone()).collect().await.unwrap();
        let start = "branch: it's\nchanged files: 2\n M a\n?? .gitattributes\nrecent commits:\n";
        assert!(status.starts_with(start), "{status}");
        assert!(!sub.join("made").exists());
    }
}

/// A file that came with a folder opens no repository of the user's.
#[tokio::test]
async fn s46_a_repository_that_does_not_know_a_folder_is_closed_to_it() {
    for mut fixture in fixtures() {
        let main = fixture.dir.with_file_name("main");
        fs::create_dir(&main).unwrap();
        git(&main, "init -q .");
        git(&main, "commit -q --allow-empty -m first");
        git(
            &main,
            &format!("worktree add -q -b side {}", fixture.dir.with_file_name("t").display()),
        );
        let own = main.join(".git/worktrees/t");
        let dir = fixture.dir.with_file_name("stranger");
        fs::create_dir_all(dir.join("src")).unwrap();
        fs::write(dir.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        fixture.dir = dir;
        for path in [own.join("HEAD"), main.join(".git/refs/heads/side")] {
            fixture
                .run(&format!("echo x > {}", path.display()))
                .await
                .assert_blocked("a repository");
        }
    }
}
