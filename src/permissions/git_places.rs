//! Finds what a `.git` file and git's configuration name in place of `.git` and its files: git's
//! own folder, a folder of hooks, attributes, and configuration that is included. Such places are
//! protected as those of `.git` are.
//!
//! They are looked up once, and what cannot be read names nothing: this protects files that would
//! otherwise be the project's own, and takes no protection from any.

use std::path::{Path, PathBuf};

use super::git_folders::{named_by_commondir, named_by_git_file};
use crate::disk;

/// What the folders with git's data stand for.
pub(super) const GIT: &str = ".git";

/// A longer configuration file, in bytes, is not read.
const MAX_BYTES: u64 = 256 << 10;
/// The most configuration files that are read, included ones too.
const MAX_FILES: usize = 32;

/// The files and folders that a `.git` file and git's configuration name in place of `.git` and of
/// those in it: where git keeps its data, the folder of hooks, and configuration that is included.
/// Each with what it stands for. `root` is the top of a working tree; the configuration of the
/// repository and of the user are read.
pub(super) fn named_places(root: &Path, home: Option<&Path>) -> Vec<(&'static str, PathBuf)> {
    let git = git_folder(root);
    let common = text(&git.join("commondir"));
    let common = common.map_or_else(|| git.clone(), |it| named_by_commondir(&git, &it));
    let mut files = vec![common.join("config"), git.join("config.worktree")];
    let at_home = [".gitconfig", ".config/git/config"];
    files.extend(home.into_iter().flat_map(|home| at_home.map(|name| home.join(name))));
    let own = [git, common].into_iter().filter(|it| *it != root.join(GIT));
    let mut named: Vec<(&'static str, PathBuf)> = own.map(|it| (GIT, it)).collect();
    let mut at = 0;
    while let Some(file) = files.get(at).filter(|_| at < MAX_FILES).cloned() {
        at += 1;
        let folder = file.parent().unwrap_or(root).to_owned();
        for (name, value) in text(&file).as_deref().map(settings).unwrap_or_default() {
            // git takes an empty name for none.
            if value.is_empty() {
                continue;
            }
            let (stands_for, from) = match &*name {
                "core.hookspath" => (".git/hooks", root),
                "core.attributesfile" => (".git/info/attributes", root),
                "include.path" | "includeif.path" => (".git/config", &*folder),
                _ => continue,
            };
            let path = match (value.strip_prefix("~/"), home) {
                (Some(inside), Some(home)) => home.join(inside),
                _ => from.join(&value),
            };
            if stands_for == ".git/config" {
                files.push(path.clone());
            }
            named.push((stands_for, path));
        }
    }
    named
}

/// Where git keeps the data of the working tree at `root`.
fn git_folder(root: &Path) -> PathBuf {
    let git = root.join(GIT);
    text(&git).and_then(|text| named_by_git_file(root, &text)).unwrap_or(git)
}

fn text(file: &Path) -> Option<String> {
    disk::read_text(file, MAX_BYTES).ok().flatten()
}

/// The settings of a text, section and key in lower case, as far as they can be told. For what is
/// protected in addition: a line that is missed leaves its file as it was.
fn settings(text: &str) -> Vec<(String, String)> {
    let mut section = String::new();
    let mut all = Vec::new();
    for line in text.lines().map(str::trim) {
        let mut line = line;
        if let Some(header) = line.strip_prefix('[') {
            let name = header.split([' ', '.', ']', '\t']).next().unwrap_or_default();
            section = name.to_ascii_lowercase();
            line = header.rsplit_once(']').map_or("", |(_, rest)| rest);
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let value = value.split(" #").next().unwrap_or(value).split(" ;").next().unwrap_or(value);
        let key = key.trim().to_ascii_lowercase();
        all.push((format!("{section}.{key}"), value.trim().trim_matches('"').to_owned()));
    }
    all
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_empty_name_is_none() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".git")).unwrap();
        let config = "[core]\n\thooksPath =\n\tattributesFile = \"\"\n[include]\n\tpath = \n";
        fs::write(folder.path().join(".git/config"), config).unwrap();
        assert_eq!(named_places(folder.path(), None), []);
    }

    #[test]
    fn hooks_and_included_files_are_found_wherever_they_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let (root, home) = (folder.path().join("w"), folder.path().join("home"));
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir_all(&home).unwrap();
        let config = "[core]\n\thooksPath = tools/hooks # ours\n[include]\n\tpath = \"../.gitconfig\"\n\
                      [includeIf \"gitdir:~/x\"] path = ~/more\n[alias]\n\tpath = no\n";
        fs::write(root.join(".git/config"), config).unwrap();
        fs::write(root.join(".gitconfig"), "[include]\npath = deeper\n").unwrap();
        fs::write(home.join(".gitconfig"), "[CORE]\nAttributesFile = /etc/a\n").unwrap();
        let named = named_places(&root, Some(&home));
        let expected = [
            (".git/hooks", root.join("tools/hooks")),
            (".git/config", root.join(".git/../.gitconfig")),
            (".git/config", home.join("more")),
            (".git/info/attributes", PathBuf::from("/etc/a")),
            (".git/config", root.join(".git/../deeper")),
        ];
        assert_eq!(named, expected);
    }

    #[test]
    fn a_linked_working_tree_has_the_configuration_of_its_repository() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("main/.git/worktrees/w")).unwrap();
        fs::create_dir_all(at("w")).unwrap();
        fs::write(at("w/.git"), format!("gitdir: {}\n", at("main/.git/worktrees/w").display()))
            .unwrap();
        fs::write(at("main/.git/worktrees/w/commondir"), "../..\n").unwrap();
        fs::write(at("main/.git/config"), "[core]\nhooksPath=hooks\n").unwrap();
        let own = at("main/.git/worktrees/w");
        let expected =
            [(GIT, own.clone()), (GIT, own.join("../..")), (".git/hooks", at("w/hooks"))];
        assert_eq!(named_places(&at("w"), None), expected);
    }

    #[test]
    fn included_files_that_name_each_other_end() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".git")).unwrap();
        fs::write(folder.path().join(".git/config"), "[include]\npath = config\n").unwrap();
        assert_eq!(named_places(folder.path(), None).len(), MAX_FILES - 1);
    }
}
