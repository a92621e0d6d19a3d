//! Walks the files below a folder, for Glob and Grep.
//!
//! It honours .gitignore and .ignore files, inside a repository or not, and includes hidden files,
//! but not `.git`. It follows no links below its start, leaves out what a deny rule hides and, unless it
//! begins there, the running system, and stops when the call is cancelled.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io, thread};

use ignore::types::Types;
use ignore::{DirEntry, WalkBuilder, WalkState};
use tokio_util::sync::CancellationToken;

use crate::disk::IgnoreFiles;
use crate::domain::SYSTEM_FOLDERS;

use super::{ToolContext, ToolError, off_thread, paths};

/// The advice about a folder to search that a call gives as `path` and that is not there.
pub(super) const SEARCH_ALL: &str = "Leave `path` out to search the whole working folder.";

/// The most threads: more gain nothing on a file system.
const THREADS: usize = 8;

/// What a walk left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SkippedEntries {
    /// Files and folders that could not be read.
    pub unreadable: u64,
    /// Files and folders that a deny rule hides; the content of such a folder is not counted.
    pub hidden: u64,
    /// Folders that ignore files leave out.
    pub ignored_folders: u64,
    /// Files that ignore files leave out and that are wanted by name.
    pub ignored_files: u64,
    /// Folders that are deeper than the walk goes.
    pub too_deep: u64,
    /// `/proc` and the like, which the gate asks about when a call names them.
    pub of_system: u64,
}

/// Which entries a walk visits, beside files and links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VisitedFolders {
    None,
    /// All below the root.
    All,
}

/// Where a search looks, and what it leaves out.
pub(super) struct FileWalk {
    root: PathBuf,
    /// The most levels of folders below the root; `None`: no limit.
    pub levels: Option<usize>,
    /// The wanted kinds of files; `None`: all.
    pub types: Option<Types>,
    pub folders: VisitedFolders,
    /// Whether a file is wanted by its path; ignored files are counted by it.
    pub is_wanted: Arc<dyn Fn(&Path) -> bool + Send + Sync>,
    is_hidden: Arc<dyn Fn(&Path) -> bool + Send + Sync>,
    cancel: CancellationToken,
}

impl FileWalk {
    /// A walk for this call, without limits on levels and types.
    pub fn new(context: &ToolContext, root: PathBuf) -> Self {
        Self {
            root,
            levels: None,
            types: None,
            folders: VisitedFolders::None,
            is_wanted: Arc::new(|_| true),
            is_hidden: context.is_hidden.clone(),
            cancel: context.cancel.clone(),
        }
    }

    /// Calls `visit` for each entry that is to be visited, from several threads and in no order.
    /// Blocks. Returns what was left out.
    pub fn each(self, visit: impl Fn(DirEntry) + Sync) -> SkippedEntries {
        let unreadable = AtomicU64::new(0);
        let too_deep = AtomicU64::new(0);
        let passed = Arc::new(PassedCounts::default());
        if (self.is_hidden)(&self.root) {
            return SkippedEntries { hidden: 1, ..SkippedEntries::default() };
        }
        let mut builder = WalkBuilder::new(&self.root);
        let ignore_files = IgnoreFiles::of(&self.root);
        builder
            .standard_filters(false)
            .follow_links(false)
            .max_depth(self.levels)
            .threads(thread::available_parallelism().map_or(1, NonZero::get).min(THREADS));
        if let Some(types) = self.types {
            builder.types(types);
        }
        let of_system = system_folders_below(&self.root);
        let (is_hidden, is_wanted, counts) = (self.is_hidden, self.is_wanted, passed.clone());
        builder.filter_entry(move |entry| {
            if entry.depth() == 0 {
                return true;
            }
            if entry.file_name() == ".git" {
                return false;
            }
            if of_system.iter().any(|folder| folder == entry.path()) {
                counts.of_system.fetch_add(1, Ordering::Relaxed);
                return false;
            }
            let is_ignored = !ignore_files.takes(entry);
            let is_hidden = is_hidden(entry.path());
            if is_hidden && !is_ignored {
                counts.hidden.fetch_add(1, Ordering::Relaxed);
            }
            if is_ignored && !is_hidden {
                if entry.file_type().is_some_and(|kind| kind.is_dir()) {
                    counts.ignored_folders.fetch_add(1, Ordering::Relaxed);
                } else if is_wanted(entry.path()) {
                    counts.ignored_files.fetch_add(1, Ordering::Relaxed);
                }
            }
            !is_hidden && !is_ignored
        });
        builder.build_parallel().run(|| {
            Box::new(|entry| {
                if self.cancel.is_cancelled() {
                    return WalkState::Quit;
                }
                match entry {
                    Ok(entry) => {
                        let kind = entry.file_type();
                        let is_folder = kind.is_some_and(|kind| kind.is_dir());
                        if is_folder && self.levels == Some(entry.depth()) {
                            too_deep.fetch_add(1, Ordering::Relaxed);
                        }
                        let is_visited = match is_folder {
                            true => self.folders == VisitedFolders::All && entry.depth() > 0,
                            false => kind.is_some_and(|kind| kind.is_file() || kind.is_symlink()),
                        };
                        if is_visited {
                            visit(entry);
                        }
                    }
                    Err(_) => {
                        unreadable.fetch_add(1, Ordering::Relaxed);
                    }
                }
                WalkState::Continue
            })
        });
        SkippedEntries {
            unreadable: unreadable.into_inner(),
            hidden: passed.hidden.load(Ordering::Relaxed),
            ignored_folders: passed.ignored_folders.load(Ordering::Relaxed),
            ignored_files: passed.ignored_files.load(Ordering::Relaxed),
            too_deep: too_deep.into_inner(),
            of_system: passed.of_system.load(Ordering::Relaxed),
        }
    }
}

/// What the filter of a walk has left out so far.
#[derive(Default)]
struct PassedCounts {
    hidden: AtomicU64,
    ignored_folders: AtomicU64,
    ignored_files: AtomicU64,
    of_system: AtomicU64,
}

/// The folders of the running system that a walk from `root` would come to, as it would name them; none
/// where it begins in one.
fn system_folders_below(root: &Path) -> Vec<PathBuf> {
    let Ok(real) = root.canonicalize() else { return Vec::new() };
    let below = |folder: &str| {
        let rest = Path::new(folder).strip_prefix(&real).ok()?;
        (rest != Path::new("")).then(|| root.join(rest))
    };
    SYSTEM_FOLDERS.into_iter().filter_map(below).collect()
}

/// The note for a result about the folders of the running system that a walk left out.
pub(super) fn system_note(left_out: u64) -> Option<String> {
    let folders = SYSTEM_FOLDERS.join(", ");
    (left_out > 0).then(|| {
        format!("[the running system is left out ({folders}); search there by its own path]")
    })
}

/// The note for a result about what deny rules hide; `None` where they hide nothing.
pub(super) fn hidden_note(hidden: u64) -> Option<String> {
    let (places, are) = match hidden {
        0 => return None,
        1 => ("1 file or folder".to_owned(), "is"),
        more => (format!("{more} files or folders"), "are"),
    };
    Some(format!("[{places} {are} left out, because deny rules forbid reading]"))
}

/// The kind of path that a search starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchRoot {
    Folder,
    File,
}

/// Finds out what a search starts from; `None` where the call was stopped. `advice` says what to do
/// where nothing is there.
pub(super) async fn root(
    context: &ToolContext,
    path: &Path,
    advice: &str,
) -> Result<Option<SearchRoot>, ToolError> {
    let owned = path.to_owned();
    let Some(metadata) = off_thread(&context.cancel, move || fs::metadata(owned)).await? else {
        return Ok(None);
    };
    let shown = || context.place.show(path);
    match metadata {
        Ok(metadata) if metadata.is_dir() => Ok(Some(SearchRoot::Folder)),
        Ok(metadata) if metadata.is_file() => Ok(Some(SearchRoot::File)),
        Ok(_) => {
            Err(ToolError(format!("{} is a FIFO, socket or device, not to be searched.", shown())))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(paths::missing(context, path, advice).await)
        }
        Err(error) => Err(ToolError(format!("Cannot look at {}: {error}.", shown()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_leaves_the_running_system_out_unless_it_begins_there() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("all");
        std::os::unix::fs::symlink("/", &link).unwrap();
        let named = |root: &Path| SYSTEM_FOLDERS.map(|it| root.join(&it[1..]));
        assert_eq!(system_folders_below(Path::new("/")), named(Path::new("/")));
        assert_eq!(system_folders_below(&link), named(&link), "as the walk names them");
        for root in [Path::new("/proc"), Path::new("/proc/self"), folder.path()] {
            assert_eq!(system_folders_below(root), Vec::<PathBuf>::new(), "{root:?}");
        }
    }

    #[test]
    fn what_is_left_out_of_the_running_system_is_counted_and_not_visited() {
        let walk = |root: &str| {
            let visited = std::sync::Mutex::new(Vec::new());
            let walk = FileWalk {
                root: root.into(),
                levels: Some(1),
                types: None,
                folders: VisitedFolders::All,
                is_wanted: Arc::new(|_| true),
                is_hidden: Arc::new(|_| false),
                cancel: CancellationToken::new(),
            };
            let passed = walk.each(|entry| visited.lock().unwrap().push(entry.into_path()));
            (passed.of_system, visited.into_inner().unwrap())
        };
        let (left_out, visited) = walk("/");
        let there = SYSTEM_FOLDERS.iter().filter(|folder| Path::new(folder).is_dir()).count();
        assert!(there > 0 && left_out == there as u64, "{left_out}");
        let is_of_system = |path: &PathBuf| SYSTEM_FOLDERS.iter().any(|it| path == Path::new(it));
        assert!(!visited.is_empty() && !visited.iter().any(is_of_system), "{visited:?}");
        let (left_out, visited) = walk("/dev");
        assert!(left_out == 0 && !visited.is_empty(), "{visited:?}");
    }
}
