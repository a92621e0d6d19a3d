//! Finds what a `.git` file and git's configuration name in place of `.git` and its files: git's
//! own folder, a folder of hooks, attributes, configuration that is included, and the files that any
//! other setting names (`core.fsmonitor`, a filter, an alias, `commit.template`). Such places are
//! protected as those of `.git` are.
//!
//! Which settings name programs changes with git and with what is installed beside it, so the words
//! of all are looked at. They are looked up once, and what cannot be read names nothing: this protects
//! files that would otherwise be the project's own, and takes no protection from any.

use std::path::{Path, PathBuf};

use super::git_folders::{named_by_commondir, named_by_git_file};
use crate::disk;
use crate::domain::clean_path;

/// What the folders with git's data stand for.
pub(super) const GIT: &str = ".git";
/// What files of settings, and those that settings name, stand for.
const CONFIG: &str = ".git/config";

/// A longer configuration file, in bytes, is not read.
const MAX_BYTES: u64 = 256 << 10;
/// The most configuration files that are read, included ones too.
const MAX_FILES: usize = 32;
/// The most words of settings that are looked for on the disk.
const MAX_WORDS: usize = 4096;

/// Sections whose values have slashes and are names of git's own or addresses: only what is a file is
/// taken for a path there.
const NAMES: [&str; 5] = ["branch", "remote", "submodule", "url", "user"];

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
    let (mut at, mut words_left) = (0, MAX_WORDS);
    while let Some(file) = files.get(at).filter(|_| at < MAX_FILES).cloned() {
        at += 1;
        let folder = file.parent().unwrap_or(root).to_owned();
        for (name, value) in text(&file).as_deref().map(settings).unwrap_or_default() {
            // git takes an empty name for none.
            if value.is_empty() {
                continue;
            }
            let place = |from: &Path, value: &str| match (value.strip_prefix("~/"), home) {
                (Some(inside), Some(home)) => home.join(inside),
                _ => from.join(value),
            };
            match &*name {
                "core.hookspath" => named.push((".git/hooks", place(root, &value))),
                "core.attributesfile" => named.push((".git/info/attributes", place(root, &value))),
                "include.path" | "includeif.path" => {
                    let path = place(&folder, &value);
                    files.push(path.clone());
                    named.push((CONFIG, path));
                }
                "core.worktree" => {}
                _ => {
                    let words: Vec<&str> = words(&value).take(words_left).collect();
                    words_left -= words.len();
                    let paths = words.into_iter().map(|word| (word, place(root, word)));
                    let in_root = paths.filter(|(word, path)| names_file(&name, word, path, root));
                    named.extend(in_root.map(|(_, path)| (CONFIG, path)));
                }
            }
        }
    }
    named
}

/// Whether a word of a setting names a file of the working tree: one that is there, or one that could be
/// made, if the word is a path.
fn names_file(setting: &str, word: &str, path: &Path, root: &Path) -> bool {
    let clean = clean_path(path);
    if clean == root || !clean.starts_with(root) {
        return false;
    }
    let section = setting.split('.').next().unwrap_or_default();
    match path.metadata() {
        Ok(found) => !found.is_dir(),
        Err(_) => {
            let is_path = word.contains('/') && !word.contains([':', '*', '+']);
            is_path && (!NAMES.contains(&section) || word.starts_with("./"))
        }
    }
}

/// The words of a value that may be a command for a shell.
fn words(value: &str) -> impl Iterator<Item = &str> {
    let is_end = |c: char| c.is_whitespace() || "'\"\\|&;()<>=`$!,".contains(c);
    value.split(is_end).filter(|word| !word.is_empty())
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
    // A line goes on behind a backslash at its end.
    let text = text.replace("\r\n", "\n").replace("\\\n", "");
    for line in text.lines().map(str::trim) {
        let mut line = line;
        if let Some(header) = line.strip_prefix('[') {
            let name = header.split([' ', '.', ']', '\t']).next().unwrap_or_default();
            section = name.to_ascii_lowercase();
            line = behind_header(header);
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let key = key.trim().to_ascii_lowercase();
        all.push((format!("{section}.{key}"), unquoted(value)));
    }
    all
}

/// What follows the `]` that ends a header, of which `header` has the rest of the line.
fn behind_header(header: &str) -> &str {
    let (mut in_quotes, mut is_escaped) = (false, false);
    for (at, c) in header.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => in_quotes = !in_quotes,
            ']' if !in_quotes => return &header[at + 1..],
            _ => {}
        }
    }
    ""
}

/// A value without its quotes, escapes and comment (git-config(1), "Values").
fn unquoted(value: &str) -> String {
    let (mut plain, mut in_quotes, mut is_escaped) = (String::new(), false, false);
    for c in value.trim().chars() {
        match c {
            'n' | 't' | 'b' if is_escaped => plain.push(' '),
            _ if is_escaped => plain.push(c),
            '\\' => {}
            '"' => in_quotes = !in_quotes,
            '#' | ';' if !in_quotes => break,
            _ => plain.push(c),
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    plain.trim_end().to_owned()
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
    fn every_file_of_the_working_tree_that_a_setting_names_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("w");
        let at = |path: &str| (CONFIG, root.join(path));
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir_all(root.join("lib")).unwrap();
        for file in ["fsmon", "message.txt", "tools/clean", "origin"] {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "").unwrap();
        }
        let config = r#"[core]
    fsmonitor = fsmon
    sshCommand = "ssh -F ./ssh_config"
    editor = \"tools/edit\" --wait
    worktree = ../lib
[filter "x]y"] clean = sh -c 'tools/clean %f'
    smudge = cat |\
 ./not/there
[commit]
    template = message.txt ; ours
[alias]
    go = "!f() { tools/go; }; f"
[difftool "x"]
    cmd = /usr/bin/x "$LOCAL" ../outside
[branch "feature"]
    merge = refs/heads/topic
    remote = origin
[remote "origin"]
    url = lib
    fetch = +refs/heads/*:refs/remotes/origin/*
[user]
    name = a/b
"#;
        fs::write(root.join(".git/config"), config).unwrap();
        let expected = [
            "fsmon",
            "ssh_config",
            "tools/edit",
            "tools/clean",
            "not/there",
            "message.txt",
            "tools/go",
            // A file of this name is there.
            "origin",
        ];
        let cleaned: Vec<_> = named_places(&root, None)
            .into_iter()
            .map(|(stands_for, path)| (stands_for, clean_path(&path)))
            .collect();
        assert_eq!(cleaned, expected.map(at));
    }

    #[test]
    fn values_are_read_as_git_reads_them() {
        for (line, value) in [
            ("a = \"x # y\" z # w", "x # y z"),
            ("a = x\\\\y\\\"z", "x\\y\"z"),
            ("a = x\\ty;z", "x y"),
            ("a =", ""),
        ] {
            let all = settings(&format!("[s \"]\"] {line}"));
            assert_eq!(all, [("s.a".to_owned(), value.to_owned())], "{line}");
        }
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
