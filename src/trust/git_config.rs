//! Whether git, asked about a folder, could run or obey anything that the folder brings along. slug asks
//! about such a folder before it runs git there.
//!
//! Only what a fresh clone has is known to be harmless. Any other line counts as a power.

use std::path::{Path, PathBuf};

use crate::disk::{has_git_hooks, read_text};

/// The largest configuration that is read, in bytes; a plain one is far smaller.
const MAX_CONFIG: u64 = 64 << 10;

/// Sections of git's configuration and their keys that name no program, no file and no other
/// configuration (git-config(1)).
const PLAIN: [(&str, &[&str]); 4] = [
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
        ],
    ),
    ("remote", &["url", "fetch"]),
    ("branch", &["remote", "merge"]),
    ("user", &["name", "email"]),
];

/// Whether nothing that git reads for this folder could make it run anything: there is no
/// repository, or one as a fresh clone has it.
pub fn is_plain(folder: &Path) -> bool {
    match folder.ancestors().find(|folder| looks_like_repository(folder)) {
        Some(found) => {
            let git: PathBuf = found.join(".git");
            // A `.git` that is a file or a link names another place, and a folder that is a
            // repository itself is one that somebody has made so.
            let is_own = git.symlink_metadata().is_ok_and(|it| it.is_dir());
            is_own
                && !git.join("config.worktree").exists()
                && !git.join("info/attributes").exists()
                && !git.join("commondir").exists()
                && !has_git_hooks(&git)
                && match read_text(&git.join("config"), MAX_CONFIG) {
                    Ok(Some(text)) => text.lines().try_fold("", plain_line).is_some(),
                    Ok(None) | Err(_) => false,
                }
        }
        None => true,
    }
}

fn looks_like_repository(folder: &Path) -> bool {
    folder.join(".git").symlink_metadata().is_ok()
        || (folder.join("HEAD").exists() && folder.join("objects").exists())
}

/// The section that holds behind a line; `None` if the line is not plain.
fn plain_line<'a>(section: &'a str, line: &'a str) -> Option<&'a str> {
    let line = line.trim();
    if line.is_empty() || line.starts_with(['#', ';']) {
        return Some(section);
    }
    if line.ends_with('\\') {
        return None;
    }
    if let Some(heading) = line.strip_prefix('[') {
        let name = heading.strip_suffix(']')?;
        let name = name.split_whitespace().next()?;
        return PLAIN.iter().find(|(known, _)| *known == name).map(|(known, _)| *known);
    }
    let key = line.split('=').next()?.trim().to_lowercase();
    let (_, keys) = PLAIN.iter().find(|(known, _)| *known == section)?;
    keys.contains(&key.as_str()).then_some(section)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLONE: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
                         \tlogallrefupdates = true\n[remote \"origin\"]\n\turl = \
                         https://host/shop.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
                         [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n";

    fn repository(config: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(".git")).unwrap();
        std::fs::write(folder.path().join(".git/config"), config).unwrap();
        folder
    }

    #[test]
    fn a_fresh_clone_and_a_folder_without_git_are_plain() {
        let folder = repository(CLONE);
        assert!(is_plain(folder.path()));
        let below = folder.path().join("src/deep");
        std::fs::create_dir_all(&below).unwrap();
        assert!(is_plain(&below));
        assert!(is_plain(tempfile::tempdir().unwrap().path()));
    }

    #[test]
    fn s57_whatever_could_run_something_is_not_plain() {
        for line in [
            "[core]\n\tfsmonitor = ./evil",
            "[core]\n\thooksPath = hooks",
            "[core] fsmonitor = ./evil",
            "[filter \"x\"]\n\tclean = ./evil",
            "[include]\n\tpath = evil",
            "[alias]\n\tstatus = !evil",
            "[diff \"x\"]\n\ttextconv = ./evil",
            "[remote \"o\"]\n\turl = a\\\nb",
            "[remote \"o\"]\n\tvcs = evil",
            "fsmonitor = ./evil",
        ] {
            assert!(!is_plain(repository(&format!("{CLONE}{line}\n")).path()), "{line}");
        }
    }

    #[test]
    fn s57_hooks_are_not_plain_and_samples_are() {
        let folder = repository(CLONE);
        let hooks = folder.path().join(".git/hooks");
        std::fs::create_dir_all(&hooks).unwrap();
        std::fs::write(hooks.join("pre-commit.sample"), "").unwrap();
        assert!(is_plain(folder.path()));
        std::fs::write(hooks.join("pre-commit"), "").unwrap();
        assert!(!is_plain(folder.path()));
    }

    #[test]
    fn a_repository_somewhere_else_is_not_plain() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".git"), "gitdir: /elsewhere\n").unwrap();
        assert!(!is_plain(folder.path()));
        let bare = tempfile::tempdir().unwrap();
        std::fs::write(bare.path().join("HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::create_dir(bare.path().join("objects")).unwrap();
        assert!(!is_plain(bare.path()));
    }
}
