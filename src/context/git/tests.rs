//! Tests with the machine's own git, in repositories that try to make git run a program.

use std::fs;

use tempfile::TempDir;

use super::*;

/// A folder with a repository in `repo`. A program that git runs would create `marker`.
struct GitTestRepository {
    folder: TempDir,
    git: GitExecutable,
}

impl GitTestRepository {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("repo")).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let repository =
            Self { git: GitExecutable::find(&path, &[]).expect("git is needed"), folder };
        repository.git(&["init", "-q", "-b", "main"]);
        repository
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path("repo").join(name), text).unwrap();
    }

    /// Runs git like a user, without this machine's settings.
    fn git(&self, arguments: &[&str]) {
        let status = std::process::Command::new(self.git.program())
            .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.hooksPath=/dev/null"])
            .args(arguments)
            .current_dir(self.path("repo"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "git {arguments:?}");
    }

    /// The path of a program that creates the marker.
    fn trap(&self) -> String {
        let path = self.path("trap");
        fs::write(&path, format!("#!/bin/sh\ntouch '{}'\ncat\n", self.path("marker").display()))
            .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    }

    async fn status(&self) -> Option<String> {
        GitStatus::new(self.git.clone(), self.path("repo")).collect().await
    }
}

#[tokio::test]
async fn branch_changes_and_commits_are_reported() {
    let repository = GitTestRepository::new();
    assert_eq!(
        repository.status().await.unwrap(),
        "branch: No commits yet on main\nchanged files: none"
    );
    repository.write("a.txt", "a");
    repository.git(&["add", "."]);
    repository.git(&["commit", "-q", "-m", "First"]);
    repository.git(&["mv", "a.txt", "b.txt"]);
    repository.write("new file.txt", "n");
    let text = repository.status().await.unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..5],
        [
            "branch: main",
            "changed files: 2",
            "R  b.txt (was a.txt)",
            "?? new file.txt",
            "recent commits:"
        ]
    );
    assert!(lines[5].ends_with(" First") && lines.len() == 6, "{text}");
}

#[tokio::test]
async fn a_long_list_is_cut_with_a_count() {
    let repository = GitTestRepository::new();
    for number in 0..30 {
        repository.write(&format!("f{number:02}"), "");
    }
    let text = repository.status().await.unwrap();
    assert!(text.contains("changed files: 30\n?? f00\n"), "{text}");
    assert!(text.ends_with("?? f19\n… 10 more"), "{text}");
}

#[tokio::test]
async fn sandbox_placeholders_are_not_reported_as_files() {
    let repository = GitTestRepository::new();
    for (name, mode) in [(".mcp.json", 0o400), (".envrc", 0o644)] {
        repository.write(name, "");
        let path = repository.path("repo").join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let status = GitStatus::new(repository.git.clone(), repository.path("repo"));
    assert_eq!(status.changes().await.unwrap().added, 1);
    assert!(status.collect().await.unwrap().ends_with("changed files: 1\n?? .envrc"));
}

#[tokio::test]
async fn outside_a_repository_there_is_no_note() {
    let repository = GitTestRepository::new();
    let outside = GitStatus::new(repository.git.clone(), repository.folder.path().to_owned());
    assert_eq!(outside.collect().await, None);
}

#[tokio::test]
async fn s57_a_repository_cannot_have_a_program_run() {
    let repository = GitTestRepository::new();
    let trap = repository.trap();
    repository.write(".gitattributes", "*.txt filter=x=y diff=x\n");
    repository.write("a.txt", "a");
    repository.git(&["add", "."]);
    repository.git(&["commit", "-q", "-m", "First"]);
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "credential.helper",
        "filter.x=y.clean",
        "filter.x=y.process",
        "diff.x.textconv",
        "diff.external",
        "gpg.program",
        "pager.status",
        "pager.log",
    ] {
        repository.git(&["config", key, &trap]);
    }
    repository.git(&["config", "filter.x=y.required", "true"]);
    repository.git(&["config", "log.showSignature", "true"]);
    repository.git(&["config", "status.submoduleSummary", "true"]);
    for hook in ["post-index-change", "fsmonitor-watchman"] {
        let path = repository.path("repo/.git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(repository.path("trap"), path).unwrap();
    }
    // The same size, so that git has to read the content, through the filter.
    repository.write("a.txt", "b");
    let text = repository.status().await.unwrap();
    assert!(text.contains(" M a.txt"), "{text}");
    assert!(!repository.path("marker").exists(), "the repository had a program run");
}

#[tokio::test]
async fn with_more_filters_than_can_be_listed_there_is_no_note() {
    let repository = GitTestRepository::new();
    let trap = repository.trap();
    repository.write(".gitattributes", "*.txt filter=zz\n");
    repository.write("a.txt", "a");
    repository.git(&["add", "."]);
    let path = repository.path("repo/.git/config");
    let mut config = fs::read_to_string(&path).unwrap();
    for number in 0..3000 {
        config.push_str(&format!("[filter \"padding-{number:05}\"]\nsmudge = cat\n"));
    }
    config.push_str(&format!("[filter \"zz\"]\nclean = {trap}\n"));
    fs::write(&path, config).unwrap();
    repository.write("a.txt", "b");
    assert_eq!(repository.status().await, None);
    assert!(!repository.path("marker").exists(), "the repository had a program run");
}

#[tokio::test]
async fn s58_a_bare_repository_inside_is_not_used() {
    let repository = GitTestRepository::new();
    let trap = repository.trap();
    let bare = repository.path("repo/inner");
    repository.git(&["init", "-q", "--bare", "inner"]);
    fs::write(
        bare.join("config"),
        format!(
            "[core]\nbare = false\nworktree = .\nrepositoryformatversion = 0\nfsmonitor = {trap}\n"
        ),
    )
    .unwrap();
    let inner = GitStatus::new(repository.git.clone(), bare);
    // It must not use the bare repository; whether it reports the outer one does not matter.
    inner.collect().await;
    assert!(!repository.path("marker").exists(), "the repository had a program run");
}

#[test]
fn s64_git_is_not_taken_from_the_workspace() {
    let repository = GitTestRepository::new();
    let bin = repository.path("repo/bin");
    fs::create_dir(&bin).unwrap();
    fs::copy(
        {
            repository.trap();
            repository.path("trap")
        },
        bin.join("git"),
    )
    .unwrap();
    let workspace = [repository.path("repo")];
    let path = |folders: &[&Path]| std::env::join_paths(folders).unwrap();
    let relative = Path::new("bin");
    let found =
        |folders: &[&Path]| GitExecutable::find(&path(folders), &workspace).map(|git| git.program);
    assert_eq!(found(&[&bin, relative, Path::new(".")]), None);
    let own = repository.git.program().parent().unwrap();
    assert_eq!(found(&[&bin, own]), Some(repository.git.program.clone()));
    // A link from outside into the workspace still leads to the workspace's program.
    let outside = repository.path("outside");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(bin.join("git"), outside.join("git")).unwrap();
    assert_eq!(found(&[&outside]), None);
}

#[tokio::test]
async fn files_and_commits_are_counted_from_the_index_and_local_refs_alone() {
    let repository = GitTestRepository::new();
    let (cwd, git) = (repository.path("repo"), &repository.git);
    fs::create_dir(cwd.join("build")).unwrap();
    for name in ["build/a", "build/b", "build/[x]", "kept"] {
        repository.write(name, "text");
    }
    repository.write(".gitignore", "ignored\n");
    repository.git(&["add", "build", "kept", ".gitignore"]);
    repository.git(&["commit", "-q", "-m", "First"]);
    repository.write("build/new", "text");
    repository.write("ignored", "text");
    let build = vec![cwd.join("build")];
    assert_eq!(git.tracked_count(&cwd, &build).await, Some(3));
    assert_eq!(git.tracked_count(&cwd, &[cwd.join("build/[x]")]).await, Some(1));
    assert_eq!(git.untracked(&cwd).await, Some(vec!["build/new".into()]));
    assert_eq!(git.unpushed_count(&cwd, "origin", None).await, None, "never fetched");
    repository.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    repository.git(&["commit", "-q", "--allow-empty", "-m", "Second"]);
    assert_eq!(git.unpushed_count(&cwd, "origin", None).await, Some(1));
    assert_eq!(git.unpushed_count(&cwd, "origin", Some("main")).await, Some(1));
    assert_eq!(git.unpushed_count(&cwd, "origin", Some("none")).await, None);
    assert_eq!(git.push_remote(&cwd).await.as_deref(), Some("origin"));
    repository.git(&["config", "remote.up.url", "/nowhere"]);
    repository.git(&["config", "remote.pushDefault", "up"]);
    assert_eq!(git.push_remote(&cwd).await.as_deref(), Some("up"));
    assert_eq!(git.tracked_count(repository.folder.path(), &build).await, None);
    // What a repository may name to be run stays unrun.
    repository.git(&["config", "core.fsmonitor", &repository.trap()]);
    assert_eq!(git.tracked_count(&cwd, &build).await, Some(3));
    assert_eq!(git.untracked(&cwd).await, Some(vec!["build/new".into()]));
    assert_eq!(git.unpushed_count(&cwd, "origin", None).await, Some(1));
    assert!(!repository.path("marker").exists());
}
