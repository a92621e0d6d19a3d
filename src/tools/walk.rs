//! Walks the files below a folder, for Glob and Grep.
//!
//! It honours .gitignore and .ignore files, inside a repository or not, and includes hidden files,
//! but not `.git`. It follows no links below its start, leaves out what a deny rule hides, and
//! stops when the call is cancelled.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io, thread};

use ignore::types::Types;
use ignore::{DirEntry, WalkBuilder, WalkState};
use tokio_util::sync::CancellationToken;

use crate::disk::IgnoreFiles;

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
        let (is_hidden, is_wanted, counts) = (self.is_hidden, self.is_wanted, passed.clone());
        builder.filter_entry(move |entry| {
            if entry.depth() == 0 {
                return true;
            }
            if entry.file_name() == ".git" {
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
        }
    }
}

/// What the filter of a walk has left out so far.
#[derive(Default)]
struct PassedCounts {
    hidden: AtomicU64,
    ignored_folders: AtomicU64,
    ignored_files: AtomicU64,
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
