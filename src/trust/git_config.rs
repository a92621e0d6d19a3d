//! Whether git, asked about a folder, could run or obey anything that the folder brings along. slug asks
//! about such a folder before it runs git there.
//!
//! Only what a fresh clone has is known to be harmless. Any other line counts as a power.

use std::path::{Path, PathBuf};

use crate::disk::{git_left_to_run, git_modules, has_git_hooks, read_text};

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

/// What git would run or obey in the repository that a folder is in, each file with its lines. Files are
/// relative to the folder.
pub(super) fn powers(folder: &Path) -> Vec<(PathBuf, Vec<String>)> {
    let repository = folder.ancestors().enumerate().find(|(_, it)| looks_like_repository(it));
    let Some((levels, top)) = repository else { return Vec::new() };
    let git: PathBuf = top.join(".git");
    let up: PathBuf = std::iter::repeat_n("..", levels).collect();
    let told = |name: &str, line: &str| (up.join(name), vec![line.to_owned()]);
    // A `.git` that is a file or a link names another place, and a folder that is a repository itself is
    // one that somebody has made so.
    if !git.symlink_metadata().is_ok_and(|it| it.is_dir()) {
        let name = if git.symlink_metadata().is_ok() { ".git" } else { "HEAD" };
        return vec![told(name, "makes git use a repository other than the folder's own .git")];
    }
    let mut found = Vec::new();
    for (name, line) in [
        (".git/config.worktree", "git reads it as its configuration"),
        (".git/info/attributes", "says which files git passes through programs"),
        (".git/commondir", "makes git use another repository"),
        (".git/remotes", "names remotes that git uses"),
        (".git/branches", "names remotes that git uses"),
    ] {
        let path = top.join(name);
        // Older versions of git make an empty folder for branches.
        let is_empty = path.read_dir().is_ok_and(|mut entries| entries.next().is_none());
        if path.exists() && !is_empty {
            found.push(told(name, line));
        }
    }
    if has_git_hooks(&git) {
        found.extend(git_hooks(&git).iter().map(|name| told(name, "git runs it")));
    }
    let left = git_left_to_run(&git);
    let left = left.unwrap_or_else(|| vec!["what is left to do cannot be read".to_owned()]);
    if !left.is_empty() {
        found.push((up.join(".git"), left));
    }
    let configuration = |name: &str, is_plain: fn(&str) -> bool| {
        let lines = match read_text(&top.join(name), MAX_CONFIG) {
            Ok(Some(text)) => {
                unknown_lines(&text).into_iter().filter(|line| !is_plain(line)).collect()
            }
            Ok(None) | Err(_) => vec!["cannot be read; git may use it".to_owned()],
        };
        (!lines.is_empty()).then(|| (up.join(name), lines))
    };
    found.extend(configuration(".git/config", |_| false));
    // Git writes itself where it has checked a submodule out.
    let is_worktree = |line: &str| line.starts_with("git setting: worktree");
    let Some(modules) = git_modules(&git) else {
        found.push(told(".git/modules", "cannot be read; git may use it"));
        return found;
    };
    for data in modules.iter().filter_map(|data| data.strip_prefix(top).ok()) {
        let data = data.display();
        found.extend(configuration(&format!("{data}/config"), is_worktree));
        for (name, line) in [
            ("config.worktree", "git reads it as its configuration"),
            ("commondir", "makes git use another repository"),
        ] {
            let name = format!("{data}/{name}");
            if top.join(&name).exists() {
                found.push(told(&name, line));
            }
        }
        if has_git_hooks(&top.join(data.to_string())) {
            found.push(told(&format!("{data}/hooks"), "git runs it"));
        }
    }
    found
}

/// Whether nothing that git reads for this folder could make it run anything: there is no
/// repository, or one as a fresh clone has it.
pub fn is_plain(folder: &Path) -> bool {
    powers(folder).is_empty()
}

/// The hooks of a repository that has some, or else the folder in which nobody can look for them.
fn git_hooks(git: &Path) -> Vec<String> {
    let entries = git.join("hooks").read_dir().into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names
        .filter(|name| !name.ends_with(".sample"))
        .map(|name| format!(".git/hooks/{name}"))
        .collect();
    names.sort();
    if names.is_empty() {
        names.push(".git/hooks".to_owned());
    }
    names
}

/// The lines of a configuration that are not known to be harmless, each with the section above it.
fn unknown_lines(text: &str) -> Vec<String> {
    let (mut section, mut lines) = ("", Vec::new());
    for line in text.lines() {
        match plain_line(section, line) {
            Some(now) => section = now,
            None => {
                if line.trim_start().starts_with('[') {
                    section = "";
                }
                lines.push(format!("git setting: {}", line.trim()));
            }
        }
    }
    lines
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
    fn what_git_would_run_or_obey_is_named() {
        let folder = repository(&format!(
            "{CLONE}[filter \"x\"]\n\tclean = ./evil\n[core]\n\tbare = false\n"
        ));
        std::fs::create_dir_all(folder.path().join(".git/hooks")).unwrap();
        for hook in ["pre-commit", "post-checkout", "pre-push.sample"] {
            std::fs::write(folder.path().join(".git/hooks").join(hook), "").unwrap();
        }
        let shown = |folder: &Path| {
            let all = powers(folder).into_iter();
            all.map(|(path, lines)| (path.display().to_string(), lines)).collect::<Vec<_>>()
        };
        let lines = |lines: &[&str]| lines.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let (hook, clean) = (lines(&["git runs it"]), "git setting: clean = ./evil");
        let expected = [
            (".git/hooks/post-checkout".to_owned(), hook.clone()),
            (".git/hooks/pre-commit".to_owned(), hook),
            (".git/config".to_owned(), lines(&["git setting: [filter \"x\"]", clean])),
        ];
        assert_eq!(shown(folder.path()), expected);
        let below = folder.path().join("src/deep");
        std::fs::create_dir_all(&below).unwrap();
        let above = expected.map(|(path, lines)| (format!("../../{path}"), lines));
        assert_eq!(shown(&below), above);
    }

    #[test]
    fn s57_the_data_of_submodules_and_what_was_left_to_run_is_named() {
        let folder = repository(CLONE);
        let put = |path: &str, text: &str| {
            let path = folder.path().join(".git").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        for name in ["a/b", "a/b/modules/c"] {
            put(&format!("modules/{name}/HEAD"), "ref: refs/heads/a\n");
            put(&format!("modules/{name}/config"), "[core]\n\tworktree = ../../../../a/b\n");
        }
        assert!(is_plain(folder.path()), "{:?}", powers(folder.path()));
        put("modules/a/b/modules/c/config", "[remote \"o\"]\n\tuploadpack = ./evil\n");
        put("modules/a/b/hooks/post-checkout", "");
        put("rebase-merge/strategy", "x/evil\n");
        let shown: Vec<(String, String)> = powers(folder.path())
            .into_iter()
            .map(|(path, lines)| (path.display().to_string(), lines.join("; ")))
            .collect();
        let expected = [
            (".git", "merge strategy: x/evil"),
            (".git/modules/a/b/hooks", "git runs it"),
            (".git/modules/a/b/modules/c/config", "git setting: uploadpack = ./evil"),
        ];
        assert_eq!(shown, expected.map(|(path, line)| (path.to_owned(), line.to_owned())));
    }

    #[test]
    fn s57_remotes_of_an_older_form_are_not_plain() {
        for name in ["remotes", "branches"] {
            let folder = repository(CLONE);
            let place = folder.path().join(".git").join(name);
            std::fs::create_dir_all(&place).unwrap();
            assert!(is_plain(folder.path()), "{name}");
            std::fs::write(place.join("origin"), "URL: ./vendor/evil\n").unwrap();
            assert!(!is_plain(folder.path()), "{name}");
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
