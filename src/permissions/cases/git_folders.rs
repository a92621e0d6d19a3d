//! git's own folders that have another name than `.git`.

use super::*;

/// Workspaces of a slug that starts when these files are there, in the modes that ask least. A path
/// that ends in `/` is a folder.
fn with_files(files: &[(&str, &str)]) -> [PermissionTestEnv; 2] {
    [PermissionMode::AllowEdits, PermissionMode::Yolo].map(|mode| {
        let env = test_env().mode(mode);
        std::fs::remove_dir_all(env.path(".git")).unwrap();
        for (file, text) in files {
            let path = env.path(file);
            let folder = if file.ends_with('/') { Some(&*path) } else { path.parent() };
            std::fs::create_dir_all(folder.unwrap()).unwrap();
            if !file.ends_with('/') {
                std::fs::write(path, text).unwrap();
            }
        }
        env.started_again()
    })
}

/// What git obeys or continues later, and what it keeps.
const FILES: [&str; 8] = [
    "config.worktree",
    "rebase-merge/git-rebase-todo",
    "rebase-apply/author-script",
    "packed-refs",
    "sequencer/todo",
    "info/attributes",
    "worktrees/main/config.worktree",
    "new",
];

#[track_caller]
fn asks_in(env: &PermissionTestEnv, folder: &str) {
    for file in FILES {
        env.writes(Ask, &[&format!("{folder}/{file}")]);
    }
}

#[test]
fn a_folder_that_is_a_repository_is_asked_about_with_all_below() {
    let files = [
        ("srv/x.git/HEAD", "ref: refs/heads/a"),
        ("srv/x.git/objects/", ""),
        ("srv/x.git/refs/", ""),
        ("srv/x.git/main/.git", "gitdir: ../worktrees/main"),
        ("looks/HEAD", ""),
        ("looks/refs/", ""),
    ];
    for env in with_files(&files) {
        asks_in(&env, "srv/x.git");
        env.writes(Ask, &["looks/HEAD", "looks/config"]);
        env.writes(Allow, &["looks/new", "srv/new", "srv/x.gitx/new", "srv/x.git/main/src/a"]);
        for line in ["mv srv/x.git b", "rm -r srv/x.git", "mv srv other", "cp a srv/x.git/new"] {
            assert_eq!(env.bash(line).outcome(), Ask, "{line}");
        }
    }
}

#[test]
fn a_folder_that_a_git_file_names_is_asked_about_with_its_common_folder() {
    let files = [
        (".git", "gitdir: ./data/g\n"),
        ("data/g/commondir", "../h\n"),
        ("data/h/config", ""),
        ("data/i/config", ""),
    ];
    for env in with_files(&files) {
        asks_in(&env, "data/g");
        asks_in(&env, "data/h");
        env.writes(Allow, &["data/i/config", "data/new", "src/a"]);
    }
}

/// `git worktree add` in a bare repository: the repository holds the workspace.
#[test]
fn a_workspace_in_its_own_repository_can_be_changed() {
    let files = [
        (".git", "gitdir: ../worktrees/app"),
        ("../HEAD", "ref: refs/heads/a"),
        ("../objects/", ""),
        ("../refs/", ""),
        ("../worktrees/app/commondir", "../.."),
    ];
    for env in with_files(&files) {
        env.writes(Allow, &["src/a", "new"]);
        env.writes(Ask, &["../worktrees/app/config.worktree", "../packed-refs"]);
    }
}
