//! Finds the programs that slug itself runs (bash, git) in the PATH, once, at the start.
//!
//! A repository must not be able to put its own `git` in front of the real one. So relative entries
//! of the PATH and entries inside the workspace are skipped, and so are links that lead there. The
//! commands that the model runs through bash use the PATH as it is.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The first executable `name` in `path` (the value of PATH) that lies outside `workspace`.
pub fn find(name: &str, path: &OsStr, workspace: &Path) -> Option<PathBuf> {
    let workspace = fs::canonicalize(workspace).unwrap_or_else(|_| workspace.to_owned());
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        // Most folders of a PATH do not have it, and this look is cheaper than following links.
        .filter(|candidate| candidate.exists())
        .find(|candidate| is_trusted_program(candidate, &workspace))
}

/// Those of `names` that [`find`] would find, in their order. Each folder is looked at once, by
/// whatever names the PATH has it.
pub fn find_all<'a>(names: &[&'a str], path: &OsStr, workspace: &Path) -> Vec<&'a str> {
    let workspace = fs::canonicalize(workspace).unwrap_or_else(|_| workspace.to_owned());
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in std::env::split_paths(path).filter(|folder| folder.is_absolute()) {
        if let Ok(real) = fs::canonicalize(folder)
            && !real.starts_with(&workspace)
            && !folders.contains(&real)
        {
            folders.push(real);
        }
    }
    let is_there = |name: &&&str| {
        let candidates = folders.iter().map(|folder| folder.join(name));
        candidates.filter(|it| it.exists()).any(|it| leads_to_program(&it, &workspace))
    };
    names.iter().filter(is_there).copied().collect()
}

/// `path` (the value of PATH) without relative entries, which would find programs in whatever folder
/// a command runs in.
pub fn absolute(path: &OsStr) -> OsString {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    // What was split at colons has none.
    std::env::join_paths(folders).unwrap_or_default()
}

/// `path` (the value of PATH) without the entries in which [`find`] does not look, for a program that
/// searches others by itself.
pub fn outside(path: &OsStr, workspace: &Path) -> OsString {
    let workspace = fs::canonicalize(workspace).unwrap_or_else(|_| workspace.to_owned());
    let folders = std::env::split_paths(path);
    let left = folders.filter(|folder| folder.is_absolute() && is_outside(folder, &workspace));
    // What was split at colons has none.
    std::env::join_paths(left).unwrap_or_default()
}

fn is_trusted_program(candidate: &Path, workspace: &Path) -> bool {
    candidate.parent().is_some_and(|folder| is_outside(folder, workspace))
        && leads_to_program(candidate, workspace)
}

/// Whether a folder exists and, its links followed, is outside `workspace`.
fn is_outside(folder: &Path, workspace: &Path) -> bool {
    fs::canonicalize(folder).is_ok_and(|folder| !folder.starts_with(workspace))
}

/// Whether a file, its links followed, is a program outside `workspace`.
fn leads_to_program(candidate: &Path, workspace: &Path) -> bool {
    let Ok(target) = fs::canonicalize(candidate) else { return false };
    let is_program = fs::metadata(&target)
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0);
    is_program && !target.starts_with(workspace)
}

#[cfg(test)]
mod tests {
    use std::env::join_paths;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A workspace and a folder outside it, each with a program `git`.
    fn workspace_and_outside() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let (workspace, outside) = (root.path().join("work"), root.path().join("usr-bin"));
        for folder in [&workspace.join("bin"), &outside] {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join("git"), "").unwrap();
            fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
        }
        (root, workspace, outside)
    }

    #[test]
    fn s64_relative_and_workspace_entries_are_skipped() {
        let (_root, workspace, outside) = workspace_and_outside();
        let path = join_paths([
            Path::new("."),
            Path::new(""),
            Path::new("bin"),
            &workspace.join("bin"),
            &outside.join("../work/bin"),
            &outside,
        ]);
        let path = path.unwrap();
        assert_eq!(find("git", &path, &workspace), Some(outside.join("git")));
        assert_eq!(super::outside(&path, &workspace), outside);
        let absolute =
            join_paths([workspace.join("bin"), outside.join("../work/bin"), outside.clone()]);
        assert_eq!(super::absolute(&path), absolute.unwrap());
        fs::rename(outside.join("git"), outside.join("hg")).unwrap();
        assert_eq!(find_all(&["hg", "git", "hg"], &path, &workspace), ["hg", "hg"]);
    }

    #[test]
    fn s64_links_into_the_workspace_are_skipped() {
        let (root, workspace, outside) = workspace_and_outside();
        let links = root.path().join("links");
        fs::create_dir(&links).unwrap();
        symlink(workspace.join("bin/git"), links.join("git")).unwrap();
        symlink(workspace.join("bin"), root.path().join("dir")).unwrap();
        let path = join_paths([links.clone(), root.path().join("dir"), outside.clone()]).unwrap();
        assert_eq!(find("git", &path, &workspace), Some(outside.join("git")));
        let left = join_paths([links, outside]).unwrap();
        assert_eq!(super::outside(&path, &workspace), left);
    }

    #[test]
    fn only_executable_files_are_found() {
        let (root, workspace, outside) = workspace_and_outside();
        let plain = root.path().join("plain");
        fs::create_dir_all(plain.join("bash")).unwrap();
        fs::write(plain.join("git"), "").unwrap();
        fs::set_permissions(plain.join("git"), fs::Permissions::from_mode(0o644)).unwrap();
        let path = join_paths([plain, outside.clone()]).unwrap();
        assert_eq!(find("git", &path, &workspace), Some(outside.join("git")));
        assert_eq!(find("bash", &path, &workspace), None);
    }
}
