//! Against the machine's own git, in repositories that try to have a program run.

use std::fs;

use tempfile::TempDir;

use super::*;

/// A folder with a repository in `repo`, and `marker`, which nothing may make.
struct GitTestRepository {
    folder: TempDir,
    git: GitExecutable,
}

impl GitTestRepository {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("repo")).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let scene = Self { git: GitExecutable::find(&path, &[]).expect("git is needed"), folder };
        scene.git(&["init", "-q", "-b", "main"]);
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path("repo").join(name), text).unwrap();
    }

    /// git as a person would run it, without this machine's settings.
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

    /// A program that leaves the marker behind.
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
async fn branch_changes_and_commits_are_told() {
    let scene = GitTestRepository::new();
    assert_eq!(
        scene.status().await.unwrap(),
        "branch: No commits yet on main\nchanged files: none"
    );
    scene.write("a.txt", "a");
    scene.git(&["add", "."]);
    scene.git(&["commit", "-q", "-m", "First"]);
    scene.git(&["mv", "a.txt", "b.txt"]);
    scene.write("new file.txt", "n");
    let text = scene.status().await.unwrap();
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
    let scene = GitTestRepository::new();
    for number in 0..30 {
        scene.write(&format!("f{number:02}"), "");
    }
    let text = scene.status().await.unwrap();
    assert!(text.contains("changed files: 30\n?? f00\n"), "{text}");
    assert!(text.ends_with("?? f19\n… 10 more"), "{text}");
}

#[tokio::test]
async fn what_keeps_a_name_free_for_a_sandbox_is_no_file() {
    let scene = GitTestRepository::new();
    for (name, mode) in [(".mcp.json", 0o400), (".envrc", 0o644)] {
        scene.write(name, "");
        let path = scene.path("repo").join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let status = GitStatus::new(scene.git.clone(), scene.path("repo"));
    assert_eq!(status.changes().await.unwrap().added, 1);
    assert!(status.collect().await.unwrap().ends_with("changed files: 1\n?? .envrc"));
}

#[tokio::test]
async fn outside_a_repository_nothing_is_told() {
    let scene = GitTestRepository::new();
    let outside = GitStatus::new(scene.git.clone(), scene.folder.path().to_owned());
    assert_eq!(outside.collect().await, None);
}

#[tokio::test]
async fn s57_a_repository_cannot_have_a_program_run() {
    let scene = GitTestRepository::new();
    let trap = scene.trap();
    scene.write(".gitattributes", "*.txt filter=x=y diff=x\n");
    scene.write("a.txt", "a");
    scene.git(&["add", "."]);
    scene.git(&["commit", "-q", "-m", "First"]);
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
        scene.git(&["config", key, &trap]);
    }
    scene.git(&["config", "filter.x=y.required", "true"]);
    scene.git(&["config", "log.showSignature", "true"]);
    scene.git(&["config", "status.submoduleSummary", "true"]);
    for hook in ["post-index-change", "fsmonitor-watchman"] {
        let path = scene.path("repo/.git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(scene.path("trap"), path).unwrap();
    }
    // The same size, so that git has to look at the content, through the filter.
    scene.write("a.txt", "b");
    let text = scene.status().await.unwrap();
    assert!(text.contains(" M a.txt"), "{text}");
    assert!(!scene.path("marker").exists(), "the repository had a program run");
}

#[tokio::test]
async fn more_filters_than_can_be_listed_end_the_asking() {
    let scene = GitTestRepository::new();
    let trap = scene.trap();
    scene.write(".gitattributes", "*.txt filter=zz\n");
    scene.write("a.txt", "a");
    scene.git(&["add", "."]);
    let path = scene.path("repo/.git/config");
    let mut config = fs::read_to_string(&path).unwrap();
    for number in 0..3000 {
        config.push_str(&format!("[filter \"padding-{number:05}\"]\nsmudge = cat\n"));
    }
    config.push_str(&format!("[filter \"zz\"]\nclean = {trap}\n"));
    fs::write(&path, config).unwrap();
    scene.write("a.txt", "b");
    assert_eq!(scene.status().await, None);
    assert!(!scene.path("marker").exists(), "the repository had a program run");
}

#[tokio::test]
async fn s58_a_bare_repository_inside_is_not_used() {
    let scene = GitTestRepository::new();
    let trap = scene.trap();
    let bare = scene.path("repo/inner");
    scene.git(&["init", "-q", "--bare", "inner"]);
    fs::write(
        bare.join("config"),
        format!(
            "[core]\nbare = false\nworktree = .\nrepositoryformatversion = 0\nfsmonitor = {trap}\n"
        ),
    )
    .unwrap();
    let inner = GitStatus::new(scene.git.clone(), bare);
    // It finds no bare repository here; whether it tells of the outer one does not matter.
    inner.collect().await;
    assert!(!scene.path("marker").exists(), "the repository had a program run");
}

#[test]
fn s64_git_is_not_taken_from_the_workspace() {
    let scene = GitTestRepository::new();
    let bin = scene.path("repo/bin");
    fs::create_dir(&bin).unwrap();
    fs::copy(
        {
            scene.trap();
            scene.path("trap")
        },
        bin.join("git"),
    )
    .unwrap();
    let workspace = [scene.path("repo")];
    let path = |folders: &[&Path]| std::env::join_paths(folders).unwrap();
    let relative = Path::new("bin");
    let found =
        |folders: &[&Path]| GitExecutable::find(&path(folders), &workspace).map(|git| git.program);
    assert_eq!(found(&[&bin, relative, Path::new(".")]), None);
    let own = scene.git.program().parent().unwrap();
    assert_eq!(found(&[&bin, own]), Some(scene.git.program.clone()));
    // A link from outside into the workspace is the workspace's program all the same.
    let outside = scene.path("outside");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(bin.join("git"), outside.join("git")).unwrap();
    assert_eq!(found(&[&outside]), None);
}
