//! Whether git can look at a repository and run nothing that it names.
//!
//! git's configuration names programs: filters, file system monitors, tools that show differences.
//! The user's own may, the repository's may not: of that only keys are taken that are known to name
//! none, and no line that is not certain to be read here as git reads it. What children's git is told
//! by its environment switches off the rest.

use std::path::{Path, PathBuf};

use super::paths::{Workspace, Zone};
use super::programs::GitUse;

/// A longer file is not read.
const MAX_BYTES: u64 = 256 << 10;

/// Sections of which no key names a program that looking at a repository runs.
const PLAIN_SECTIONS: &str = "advice alias branch color column commit credential fetch gc http index init maintenance \
    pack pull push rebase rerere tag url user";

/// Keys of other sections that name none.
const PLAIN_KEYS: &str = "core.abbrev core.autocrlf core.bare core.commentchar core.compression core.eol \
    core.filemode core.ignorecase core.logallrefupdates core.longpaths \
    core.precomposeunicode core.preloadindex core.quotepath core.repositoryformatversion \
    core.safecrlf core.sharedrepository core.symlinks core.untrackedcache core.whitespace \
    diff.algorithm diff.colormoved diff.context diff.mnemonicprefix diff.noprefix \
    diff.renamelimit diff.renames extensions.objectformat extensions.refstorage \
    extensions.worktreeconfig lfs.repositoryformatversion log.abbrevcommit log.date \
    log.decorate log.follow merge.conflictstyle merge.ff remote.fetch remote.gh-resolved \
    remote.prune remote.pushurl remote.tagopt remote.url status.short \
    status.showuntrackedfiles submodule.active submodule.url";

/// Why git may run something when it looks at the repository around one of these folders.
pub(super) fn hindrance<'a>(
    mut folders: impl Iterator<Item = &'a Path>,
    part: GitUse,
    workspace: &Workspace,
) -> Option<&'static str> {
    if !workspace.is_trusted() {
        return Some("git runs what a repository names, and this folder is not trusted");
    }
    match part {
        // What its hooks and filters run, who allowed it has allowed.
        GitUse::Changes => None,
        GitUse::History | GitUse::WorkingTree => folders.find_map(|it| at(it, part, workspace)),
    }
}

fn at(folder: &Path, part: GitUse, workspace: &Workspace) -> Option<&'static str> {
    let is_inside = |it: &&Path| workspace.resolve(it, Path::new("/")).zone == Zone::Inside;
    let mut inside = folder.ancestors().take_while(is_inside);
    let Some(top) = inside.find(|it| it.join(".git").symlink_metadata().is_ok()) else {
        return Some("no repository of git's begins in the workspace");
    };
    let git = top.join(".git");
    let configurations = if git.is_dir() {
        if git.join("commondir").symlink_metadata().is_ok() {
            return Some("the repository says that its configuration is elsewhere");
        }
        vec![git.join("config"), git.join("config.worktree")]
    } else {
        match linked(&git) {
            Some((own, common)) => vec![common.join("config"), own.join("config.worktree")],
            None => return Some("it cannot be told where this repository is"),
        }
    };
    if !configurations.iter().all(|file| is_plain_file(file)) {
        return Some("the repository's configuration holds more than slug knows to run nothing");
    }
    // Each submodule has a configuration of its own, and may say what is looked at of it.
    (part == GitUse::WorkingTree && top.join(".gitmodules").symlink_metadata().is_ok())
        .then_some("git looks into submodules, which have a configuration of their own")
}

/// The folders of a linked worktree: its own and the one that all have in common.
fn linked(file: &Path) -> Option<(PathBuf, PathBuf)> {
    let text = read(file).ok()??;
    let own = file.parent()?.join(text.strip_prefix("gitdir: ")?.trim_end_matches('\n'));
    let common = read(&own.join("commondir")).ok()??;
    let common = own.join(common.trim_end_matches('\n'));
    Some((own, common))
}

fn is_plain_file(file: &Path) -> bool {
    match read(file) {
        Ok(Some(text)) => is_plain(&text),
        Ok(None) => true,
        Err(_) => false,
    }
}

/// The text of a file; `None` where there is none.
fn read(file: &Path) -> std::io::Result<Option<String>> {
    match std::fs::symlink_metadata(file) {
        Ok(metadata) if metadata.is_file() && metadata.len() <= MAX_BYTES => {
            std::fs::read_to_string(file).map(Some)
        }
        Ok(_) => Err(std::io::ErrorKind::InvalidData.into()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether every line of a configuration is one that names no program.
fn is_plain(text: &str) -> bool {
    let mut section = String::new();
    text.lines().all(|line| {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            return true;
        }
        if let Some(header) = line.strip_prefix('[') {
            let Some(name) = header.strip_suffix(']') else { return false };
            let (name, of) = name.split_once(' ').unwrap_or((name, "\"\""));
            let of = of.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
            section = name.to_ascii_lowercase();
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
            return section.chars().all(is_name) && of.is_some_and(|it| !it.contains(['"', '\\']));
        }
        // A line that goes on, or a value with quotes, may be read in another way than here.
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let key = key.trim().to_ascii_lowercase();
        let is_key = key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let full = format!("{section}.{key}");
        let is_known = PLAIN_SECTIONS.split(' ').any(|it| it == section)
            || PLAIN_KEYS.split(' ').any(|it| it == full);
        is_key && is_known && !value.ends_with('\\')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
        [remote \"origin\"]\n\turl = https://example.org/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
        [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n[user]\n\tname = A\n; and a comment\n";

    #[test]
    fn the_usual_configuration_names_no_program() {
        assert!(is_plain(USUAL));
        assert!(is_plain(""));
    }

    #[test]
    fn whatever_else_is_in_it_is_not_plain() {
        for line in [
            "[core]\n\tfsmonitor = ./x",
            "[core]\n\thooksPath = x",
            "[core]\n\tworktree = /",
            "[core] fsmonitor = ./x",
            "[CORE]\n\tFSMONITOR = ./x",
            "[filter \"x\"]\n\tclean = ./x",
            "[diff \"x\"]\n\ttextconv = ./x",
            "[diff]\n\texternal = ./x",
            "[include]\n\tpath = x",
            "[includeIf \"gitdir:/\"]\n\tpath = x",
            "[extensions]\n\tpartialClone = origin",
            "[user]\n\tname = a\\\n[core]\n\tfsmonitor = ./x",
            "[user \"]\"] name = x",
            "[submodule \"a\"]\n\tignore = none",
            "[remote \"a\\\"b\"]\n\turl = x",
            "what is this",
        ] {
            assert!(!is_plain(&format!("{USUAL}{line}\n")), "{line}");
        }
    }

    proptest::proptest! {
        /// A line that names a program is not overlooked, whatever stands before it.
        #[test]
        fn no_text_before_it_hides_a_program(before in "[\\[\\]a-z\"\\\\;#=. \n]{0,40}") {
            let text = format!("{before}\n[core]\nfsmonitor = ./x\n");
            proptest::prop_assert!(!is_plain(&text));
        }
    }
}
