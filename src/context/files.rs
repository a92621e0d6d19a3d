//! The note with the working folder as a small tree: names only, without what git ignores.
//!
//! The tree is filled level by level, so everything near the top is shown before anything deeper,
//! until the note is full. The home folder and the root are not listed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ignore::{DirEntry, WalkBuilder};

use crate::disk::IgnoreFiles;

use super::ContextProvider;
use crate::domain::strip_invisible;

/// Provides the tree of a working folder as a note.
#[derive(Debug, Clone)]
pub struct FileStructure {
    cwd: PathBuf,
    user_home: Option<PathBuf>,
}

/// How many levels of folders below the working folder are opened.
const MAX_DEPTH: usize = 2;
/// The most entries that are shown of one folder.
const MAX_ENTRIES: usize = 25;
/// The most entries that are read in one folder.
const MAX_LOOKED_AT: usize = 2000;
/// The largest size of the note, in bytes.
const MAX_BYTES: usize = 1400;
/// When the file system is slower than this, there is no note.
const TIME_LIMIT: Duration = Duration::from_secs(2);

impl FileStructure {
    /// The tree below `cwd`, unless that is `user_home` or the root.
    pub fn new(cwd: PathBuf, user_home: Option<PathBuf>) -> Self {
        Self { cwd, user_home }
    }
}

#[async_trait]
impl ContextProvider for FileStructure {
    fn name(&self) -> &str {
        "file_structure"
    }

    async fn collect(&self) -> Option<String> {
        if self.cwd.parent().is_none() || self.user_home.as_ref() == Some(&self.cwd) {
            return None;
        }
        let cwd = self.cwd.clone();
        let walk = tokio::task::spawn_blocking(move || tree(&cwd));
        let text = tokio::time::timeout(TIME_LIMIT, walk).await.ok()?.ok()?;
        (!text.is_empty()).then_some(text)
    }
}

/// A line of the tree, with the indices of the lines below it.
struct StructureNode {
    name: String,
    children: Vec<usize>,
}

/// The mark of a folder whose entries are not shown.
const UNOPENED: &str = " …";

fn tree(cwd: &Path) -> String {
    let ignore_files = Arc::new(IgnoreFiles::of(cwd));
    let mut nodes = vec![StructureNode { name: String::new(), children: Vec::new() }];
    let mut room = MAX_BYTES;
    let mut level = vec![(0, cwd.to_owned())];
    for depth in 0..=MAX_DEPTH {
        let listings: Vec<(usize, FolderEntries)> =
            level.iter().map(|(index, path)| (*index, list(path, &ignore_files))).collect();
        // All folders of a level get the same number of lines, so that none hides the others.
        let size = |most: usize| {
            listings.iter().map(|(_, listing)| listing.size(most, depth)).sum::<usize>()
        };
        let Some(most) = (1..=MAX_ENTRIES).rev().find(|most| size(*most) <= room) else { break };
        room -= size(most);
        level.clear();
        for (parent, listing) in listings {
            let rest = listing.rest(most);
            let shown = listing.entries.into_iter().take(most).map(|it| (it.name, it.folder));
            for (name, folder) in shown.chain(rest.map(|rest| (rest, None))) {
                let index = nodes.len();
                nodes[parent].children.push(index);
                nodes.push(StructureNode { name, children: Vec::new() });
                level.extend(folder.map(|path| (index, path)));
            }
        }
        if most < MAX_ENTRIES {
            break;
        }
    }
    for (index, path) in level {
        if index > 0 && entries(&path, &ignore_files).next().is_some() {
            nodes[index].name.push_str(UNOPENED);
        }
    }
    render(&nodes)
}

/// What the note can show of a folder: visible names that git does not ignore.
struct FolderEntries {
    entries: Vec<StructureEntry>,
    /// Whether there is more than was looked at.
    is_cut: bool,
}

struct StructureEntry {
    name: String,
    /// The path of a folder; `None` for a file.
    folder: Option<PathBuf>,
}

impl FolderEntries {
    /// The line about the entries beyond the first `most`.
    fn rest(&self, most: usize) -> Option<String> {
        let hidden = self.entries.len().saturating_sub(most);
        let mark = if self.is_cut { "+" } else { "" };
        (hidden > 0 || self.is_cut).then(|| format!("… {hidden}{mark} more"))
    }

    /// How many bytes the first `most` entries and the line about the others take.
    fn size(&self, most: usize, depth: usize) -> usize {
        let line = |name: &str| 2 * depth + name.len() + 1;
        let shown = self.entries.iter().take(most).map(|entry| {
            let mark = if entry.folder.is_some() { UNOPENED.len() } else { 0 };
            line(&entry.name) + mark
        });
        shown.sum::<usize>() + self.rest(most).map_or(0, |rest| line(&rest))
    }
}

fn entries(
    folder: &Path,
    ignore_files: &Arc<IgnoreFiles>,
) -> impl Iterator<Item = DirEntry> + use<> {
    let ignore_files = ignore_files.clone();
    WalkBuilder::new(folder)
        .standard_filters(false)
        .hidden(true)
        .max_depth(Some(1))
        .follow_links(false)
        .filter_entry(move |entry| ignore_files.takes(entry))
        .build()
        .filter_map(Result::ok)
        .filter(|entry| entry.depth() == 1)
}

/// The entries of a folder, folders first, sorted by name.
fn list(folder: &Path, ignore_files: &Arc<IgnoreFiles>) -> FolderEntries {
    let mut walk = entries(folder, ignore_files);
    let mut entries: Vec<StructureEntry> = walk
        .by_ref()
        .take(MAX_LOOKED_AT)
        .map(|entry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let name = entry.file_name().to_string_lossy();
            let name = strip_invisible(&name).text.replace(['\n', '\t'], " ");
            let mark = if is_folder { "/" } else { "" };
            let name = format!("{name}{mark}");
            StructureEntry { name, folder: is_folder.then(|| entry.into_path()) }
        })
        .collect();
    entries.sort_by(|a, b| (a.folder.is_none(), &a.name).cmp(&(b.folder.is_none(), &b.name)));
    FolderEntries { entries, is_cut: walk.next().is_some() }
}

fn render(nodes: &[StructureNode]) -> String {
    let mut text = String::new();
    let mut open: Vec<(usize, usize)> =
        nodes[0].children.iter().rev().map(|child| (*child, 0)).collect();
    while let Some((index, depth)) = open.pop() {
        let node = &nodes[index];
        text.push_str(&"  ".repeat(depth));
        text.push_str(&node.name);
        text.push('\n');
        open.extend(node.children.iter().rev().map(|child| (*child, depth + 1)));
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    fn folder(files: &[&str]) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    #[test]
    fn folders_come_first_and_depth_is_limited() {
        let folder = folder(&["b.rs", "a.rs", "src/main.rs", "src/x/deep/deeper/lost.rs"]);
        assert_eq!(tree(folder.path()), "src/\n  x/\n    deep/ …\n  main.rs\na.rs\nb.rs");
    }

    #[test]
    fn ignored_and_hidden_files_are_left_out() {
        let folder = folder(&["a.rs", "target/x", "sub/keep.rs", "sub/out.log", ".hidden"]);
        fs::write(folder.path().join(".gitignore"), "target/\n*.log\n").unwrap();
        assert_eq!(tree(folder.path()), "sub/\n  keep.rs\na.rs");
    }

    #[test]
    fn many_files_are_counted() {
        let names: Vec<String> = (0..40).map(|number| format!("f{number:02}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let text = tree(folder(&names).path());
        assert!(text.starts_with("f00\n") && text.ends_with("f24\n… 15 more"), "{text}");
    }

    #[test]
    fn the_note_is_bounded_and_the_outer_folders_come_first() {
        let names: Vec<String> = (0..20)
            .flat_map(|outer| {
                (0..20).map(move |inner| format!("folder-{outer:02}/file-{inner:02}.rs"))
            })
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let text = tree(folder(&names).path());
        assert!(text.len() <= MAX_BYTES, "{}", text.len());
        for outer in 0..20 {
            let shown = format!(
                "folder-{outer:02}/\n  file-00.rs\n  file-01.rs\n  file-02.rs\n  … 17 more"
            );
            assert!(text.contains(&shown), "{text}");
        }
    }

    #[test]
    fn folders_that_find_no_room_are_marked() {
        let names: Vec<String> = (0..25)
            .flat_map(|outer| {
                ["sub/a.rs", "b.rs"]
                    .map(|name| format!("folder-of-sources-{outer:02}/module-{outer:02}/{name}"))
            })
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let text = tree(folder(&names).path());
        assert!(text.len() <= MAX_BYTES, "{}", text.len());
        for outer in 0..25 {
            let shown = format!("folder-of-sources-{outer:02}/\n  module-{outer:02}/ …");
            assert!(text.contains(&shown), "{text}");
        }
        let names: Vec<String> =
            (0..25).map(|outer| format!("{}-{outer:02}/a.rs", "long".repeat(11))).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let text = tree(folder(&names).path());
        assert!(text.lines().all(|line| line.ends_with("/ …")), "{text}");
    }

    #[tokio::test]
    async fn a_home_folder_is_not_listed() {
        let folder = folder(&["private.txt"]);
        let path = folder.path().to_owned();
        let at_home = FileStructure::new(path.clone(), Some(path.clone()));
        assert_eq!(at_home.collect().await, None);
        assert!(FileStructure::new(path, None).collect().await.is_some());
        assert_eq!(FileStructure::new(PathBuf::from("/"), None).collect().await, None);
    }

    #[test]
    fn a_fifo_as_ignore_file_is_not_waited_for() {
        let folder = folder(&["a.rs", "sub/b.rs"]);
        let fifo = |name: &str| crate::domain::testing::make_fifo(&folder.path().join(name));
        fifo("sub/.gitignore");
        fifo(".ignore");
        assert_eq!(tree(folder.path()), "sub/\n  b.rs\na.rs");
    }

    #[tokio::test]
    async fn an_empty_folder_gives_no_note() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(FileStructure::new(folder.path().to_owned(), None).collect().await, None);
    }
}
