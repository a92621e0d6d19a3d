//! git's own folders in the sandbox's folder, on the real disk.

use std::fs;
use std::path::{Path, PathBuf};

use crate::domain::SandboxNetwork;
use crate::permissions::RuleSet;

use super::*;

/// A sandbox's folder.
struct SandboxFolder {
    _root: tempfile::TempDir,
    dir: PathBuf,
}

impl SandboxFolder {
    /// With these files: a path, and the text behind a `=`. A path that ends in `/` is a folder.
    fn with(files: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().canonicalize().unwrap().join("app");
        for file in files {
            let (path, text) = file.split_once('=').unwrap_or((file, ""));
            let path = dir.join(path);
            if file.ends_with('/') {
                fs::create_dir_all(path).unwrap();
                continue;
            }
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self { _root: root, dir }
    }

    fn around(&self, dir: &Path) -> Result<SandboxProfile, SandboxPolicyError> {
        let policy =
            SandboxPolicy::around(dir, None, &self.dir.join("../slug"), SandboxNetwork::Off);
        policy?.profile(&HostSandboxDisk, &RuleSet::new())
    }

    /// The profile's paths below the folder that stay unchanged, and those that can be changed.
    fn fixed_and_writable(&self) -> [Vec<String>; 2] {
        let profile = self.around(&self.dir).unwrap();
        let below = |paths: &[PathBuf]| {
            let below = paths.iter().map(|it| it.strip_prefix(&self.dir).unwrap());
            below.map(|it| it.display().to_string()).collect()
        };
        [below(&profile.fixed), below(&profile.writable)]
    }
}

/// A repository without a name of its own, and a working tree that it lists.
const BARE: [&str; 9] = [
    ".git=gitdir: ./.bare\n",
    ".bare/HEAD=ref: refs/heads/a\n",
    ".bare/objects/x",
    ".bare/refs/x",
    ".bare/config=[core]\n",
    "main/.git=gitdir: ../.bare/worktrees/main\n",
    ".bare/worktrees/main/commondir=../..\n",
    ".bare/worktrees/main/gitdir=../../../main/.git\n",
    ".bare/worktrees/main/HEAD=ref: refs/heads/main\n",
];

#[test]
fn a_bare_repository_is_fixed_but_for_what_a_commit_in_its_worktree_writes() {
    let folder = SandboxFolder::with(&BARE);
    let [fixed, writable] = folder.fixed_and_writable();
    let own = ".bare/worktrees/main";
    assert_eq!(
        fixed,
        [".bare", &format!("{own}/commondir"), &format!("{own}/gitdir"), ".git", "main/.git"]
    );
    assert_eq!(writable, [".bare/logs", ".bare/objects", ".bare/refs", own]);
    let profile = folder.around(&folder.dir).unwrap();
    // A folder in `.bare` needs no mount of its own to stay where it is.
    assert_eq!(profile.held, [folder.dir.join("main")]);
    let reserved =
        |name: &str| profile.absent.iter().any(|it| it.path == folder.dir.join(own).join(name));
    assert!(reserved("config.worktree") && reserved("modules"), "{:?}", profile.absent);
}

#[test]
fn a_worktree_that_its_repository_does_not_list_opens_nothing() {
    let mut files = BARE;
    files[7] = ".bare/worktrees/main/gitdir=../../../other/.git\n";
    assert_eq!(SandboxFolder::with(&files).fixed_and_writable()[1], [""; 0]);
}

#[test]
fn a_worktree_of_a_dot_git_opens_nothing() {
    let files = BARE.map(|it| it.replace(".bare", "sub/.git"));
    let files: Vec<&str> = files[1..].iter().map(String::as_str).collect();
    let [fixed, writable] = SandboxFolder::with(&files).fixed_and_writable();
    assert!(fixed.contains(&"sub/.git".to_owned()), "{fixed:?}");
    assert_eq!(writable, [""; 0]);
}

#[test]
fn what_a_git_file_names_is_fixed_with_its_common_folder() {
    let [fixed, _] = SandboxFolder::with(&[
        "a/.git=gitdir: ../data/g\n",
        "data/g/commondir=../h\n",
        "data/h/config",
        "data/i/config",
    ])
    .fixed_and_writable();
    assert_eq!(fixed, ["a/.git", "data/g", "data/h"]);
}

#[test]
fn what_looks_like_a_repository_is_fixed_wherever_it_is() {
    let [fixed, writable] = SandboxFolder::with(&[
        "srv/x.git/HEAD",
        "srv/x.git/objects/",
        "srv/x.git/refs/",
        "only/HEAD",
        "only/refs/",
        "tree/HEAD",
        "tree/objects/",
        "tree/refs/",
        "tree/.git/HEAD",
    ])
    .fixed_and_writable();
    assert_eq!(fixed, ["srv/x.git", "tree/.git"]);
    assert_eq!(writable, [""; 0]);
}

#[test]
fn there_is_no_sandbox_around_a_folder_of_gits_own() {
    let folder =
        SandboxFolder::with(&["x/HEAD", "x/objects/a/", "x/refs/", "x/main/.git=gitdir: y"]);
    for dir in ["x", "x/objects", "x/objects/a"] {
        let error = folder.around(&folder.dir.join(dir)).unwrap_err();
        assert!(matches!(error, SandboxPolicyError::Protected(_)), "{dir}: {error}");
    }
    folder.around(&folder.dir.join("x/main")).unwrap();
    let itself = SandboxFolder::with(&[".git=gitdir: .", "config"]);
    assert!(matches!(itself.around(&itself.dir), Err(SandboxPolicyError::Protected(_))));
    // A command can make such a file further down.
    SandboxFolder::with(&["a/.git=gitdir: ..", "config"]).fixed_and_writable();
}
