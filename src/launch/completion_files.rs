//! What completion reads from the disk: the paths of the workspace, the names in a folder, the
//! number of lines in a file. All functions block, so call them on a thread that may block.
//!
//! Names that cannot be written in a mention (control characters, quotes) are left out.

use std::fs;
use std::io::Read;
use std::path::Path;

use ignore::WalkBuilder;

use crate::disk::{FileTextError, IgnoreFiles, open_regular};
use crate::tui::app::path_ranking;

/// The most paths that are listed; more than anybody picks from.
const MAX_PATHS: usize = 200_000;
/// The most names of one folder that are listed.
const MAX_NAMES: usize = 5_000;
/// The largest file whose lines are counted, in bytes.
const MAX_COUNTED_BYTES: u64 = 64 << 20;

/// The files and folders below `cwd`, relative to it, without what git ignores, in the order of the
/// completion list.
pub(super) fn paths_of(cwd: &Path) -> Vec<String> {
    let mut walk = WalkBuilder::new(cwd);
    let ignore_files = IgnoreFiles::of(cwd);
    walk.standard_filters(false);
    walk.filter_entry(move |entry| entry.file_name() != ".git" && ignore_files.takes(entry));
    let entries = walk.build().filter_map(Result::ok).filter(|entry| entry.depth() > 0);
    let mut all: Vec<String> = entries
        .filter_map(|entry| {
            let kind = entry.file_type()?;
            let path = entry.path().strip_prefix(cwd).ok()?.to_str().filter(|it| is_plain(it))?;
            match (kind.is_dir(), kind.is_file()) {
                (true, _) => Some(format!("{path}/")),
                (false, true) => Some(path.to_owned()),
                (false, false) => None,
            }
        })
        .take(MAX_PATHS)
        .collect();
    path_ranking::sort(&mut all);
    all
}

/// The names in a folder, sorted, hidden names last. Empty when the folder cannot be read.
pub(super) fn names_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok().filter(|name| is_plain(name))?;
            // A link to a folder is completed like a folder.
            let is_folder = fs::metadata(entry.path()).is_ok_and(|it| it.is_dir());
            Some(if is_folder { format!("{name}/") } else { name })
        })
        .take(MAX_NAMES)
        .collect();
    names.sort_unstable_by(|a, b| (a.starts_with('.'), a).cmp(&(b.starts_with('.'), b)));
    names
}

/// The number of lines of a text file. `None` for a file that is no text, too large or unreadable.
pub(super) fn lines_of(path: &Path) -> Option<u64> {
    count(path).unwrap_or_else(|error| {
        tracing::debug!(path = %path.display(), %error, "the lines cannot be counted");
        None
    })
}

fn count(path: &Path) -> Result<Option<u64>, FileTextError> {
    let opened = open_regular(path)?.filter(|(_, metadata)| metadata.len() <= MAX_COUNTED_BYTES);
    let Some((file, _)) = opened else { return Ok(None) };
    let mut file = file.take(MAX_COUNTED_BYTES);
    let mut buffer = vec![0; 64 << 10];
    let (mut lines, mut last) = (0, b'\n');
    loop {
        let length = file.read(&mut buffer)?;
        let Some(piece) = buffer.get(..length).filter(|piece| !piece.is_empty()) else { break };
        if piece.contains(&0) {
            return Ok(None);
        }
        lines += piece.iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>();
        last = piece.last().copied().unwrap_or(last);
    }
    Ok(Some(lines + u64::from(last != b'\n')))
}

fn is_plain(name: &str) -> bool {
    !name.chars().any(|c| c.is_control() || c == '"')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn files_and_folders_are_listed_as_git_would() {
        let folder = folder(&[
            (".gitignore", "target/\n"),
            ("target/a", ""),
            (".git/HEAD", ""),
            ("src/cart.rs", ""),
            ("src/deep/er.rs", ""),
            ("my notes.md", ""),
            ("a\nb", ""),
            ("a\"b", ""),
        ]);
        let want =
            [".gitignore", "my notes.md", "src/", "src/cart.rs", "src/deep/", "src/deep/er.rs"];
        assert_eq!(paths_of(folder.path()), want);
    }

    #[test]
    fn a_folder_is_listed_with_what_is_hidden_last() {
        let folder = folder(&[("b", ""), (".a", ""), ("c/d", ""), ("a\tb", "")]);
        assert_eq!(names_in(folder.path()), ["b", "c/", ".a"]);
        assert_eq!(names_in(&folder.path().join("gone")), [""; 0]);
    }

    #[test]
    fn the_lines_of_texts_are_counted() {
        let folder = folder(&[("a", "one\ntwo\n"), ("b", "one\ntwo"), ("c", ""), ("d", "a\0b")]);
        let counts = ["a", "b", "c", "d", "gone"].map(|name| lines_of(&folder.path().join(name)));
        assert_eq!(counts, [Some(2), Some(2), Some(0), None, None]);
        assert_eq!(lines_of(folder.path()), None);
    }
}
