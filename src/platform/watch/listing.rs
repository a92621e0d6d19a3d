//! What is in a folder at the moment, as far as it can be seen from outside.

use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use ignore::WalkBuilder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::disk::IgnoreFiles;
use crate::domain::MaskedPathKind;
use crate::platform::restore::PathContent;
use crate::platform::sandbox::is_placeholder;

use super::WatchError;

/// More files and folders than this are not watched.
const MOST: usize = 20_000;
/// A stamp has to be this old before it says that nothing has changed since: clocks of file
/// systems tick slowly.
const TICK: Duration = Duration::from_millis(50);
/// The same where the file system has no nanoseconds. FAT's clock is the slowest.
const COARSE_TICK: Duration = Duration::from_secs(2);

/// What is there at the moment.
pub(super) struct FolderListing {
    pub(super) files: Vec<(PathBuf, FileStamp)>,
    pub(super) folders: Vec<(PathBuf, FileStamp, StampAge)>,
    /// Folders that could not be listed.
    pub(super) unread: Vec<PathBuf>,
}

/// What changes with a file, as far as it can be seen from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    pub(super) changed: (i64, i64),
    pub(super) size: u64,
    pub(super) mode: u32,
    modified: (i64, i64),
    /// Not every file system knows it.
    born: Option<SystemTime>,
    device: u64,
    inode: u64,
}

/// Whether the same stamp means the same content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StampAge {
    Old,
    Young,
}

impl FileStamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self {
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            size: metadata.len(),
            mode: metadata.mode(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            born: metadata.created().ok(),
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }

    /// The same file has the same place under every name.
    pub(super) fn place(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    pub(super) fn is_link(&self) -> bool {
        self.mode & 0o170_000 == 0o120_000
    }

    /// Whether a folder has the same entries, as far as it says.
    pub(super) fn is_same_folder(&self, other: &Self) -> bool {
        (self.modified, self.changed) == (other.modified, other.changed)
    }

    /// Whether it came to be there after that time: it was made, or something that was seen there
    /// got another name. To have been changed since is not enough, for a file that was out of sight
    /// may have been written to.
    pub(super) fn is_since(&self, time: SystemTime, is_named_anew: bool) -> bool {
        let is_born = self.born.is_none_or(|born| born + tick(self.changed) >= time);
        (is_born || is_named_anew) && stamp_age(self.changed, time) == StampAge::Young
    }
}

pub(super) fn stamp_age(changed: (i64, i64), now: SystemTime) -> StampAge {
    let seconds = Duration::from_secs(u64::try_from(changed.0).unwrap_or(0));
    let part = Duration::from_nanos(u64::try_from(changed.1).unwrap_or(0));
    let at = SystemTime::UNIX_EPOCH + seconds + part;
    if at + tick(changed) < now { StampAge::Old } else { StampAge::Young }
}

fn tick((_, nanoseconds): (i64, i64)) -> Duration {
    if nanoseconds == 0 { COARSE_TICK } else { TICK }
}

/// All files and folders below `root`, without slug's own folder `shelf`.
pub(super) fn list(
    root: &Path,
    shelf: &Path,
    patience: Duration,
    now: SystemTime,
) -> Result<FolderListing, WatchError> {
    let started = Instant::now();
    let mut listing = FolderListing { files: Vec::new(), folders: Vec::new(), unread: Vec::new() };
    // Before the first file of slug's it is not there.
    let shelf = shelf.canonicalize().ok();
    let ignore_files = IgnoreFiles::of(root);
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .follow_links(false)
        .filter_entry(move |entry| {
            let is_of_slug = Some(entry.path()) == shelf.as_deref();
            let is_known = matches!(entry.file_name().to_str(), Some(".git" | ".slug"));
            entry.depth() == 0 || !(is_of_slug || is_known) && ignore_files.takes(entry)
        })
        .build();
    for (count, entry) in walk.enumerate() {
        if count > MOST {
            return Err(WatchError::TooManyFiles);
        }
        if count % 256 == 0 && started.elapsed() > patience {
            return Err(WatchError::TooSlow);
        }
        let entry = match entry {
            Ok(entry) => entry,
            Err(_) if count == 0 => return Err(WatchError::Unreadable),
            Err(error) => {
                listing.unread.extend(place_of(&error).map(Path::to_owned));
                continue;
            }
        };
        // It may be gone by now.
        let Ok(metadata) = fs::symlink_metadata(entry.path()) else { continue };
        let stamp = FileStamp::of(&metadata);
        if metadata.is_dir() {
            let trust = stamp_age(stamp.changed, now);
            listing.folders.push((entry.into_path(), stamp, trust));
        } else if (metadata.is_file() || metadata.is_symlink())
            && !is_of_slug(entry.path(), &metadata)
        {
            listing.files.push((entry.into_path(), stamp));
        }
    }
    Ok(listing)
}

/// The folder or file that could not be looked at.
fn place_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            place_of(err)
        }
        ignore::Error::Partial(errors) => errors.iter().find_map(place_of),
        ignore::Error::Loop { child, .. } => Some(child),
        ignore::Error::Io(_)
        | ignore::Error::Glob { .. }
        | ignore::Error::UnrecognizedFileType(_)
        | ignore::Error::InvalidDefinition => None,
    }
}

/// What slug itself puts there for a moment.
fn is_of_slug(path: &Path, metadata: &Metadata) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let is_temporary = name.starts_with(b".slug-") && name.ends_with(b".tmp");
    is_temporary || (metadata.len() == 0 && is_placeholder(path, MaskedPathKind::File))
}

/// Whether the file says what is ignored.
pub(super) fn is_ignore_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == ".gitignore" || name == ".ignore")
}

/// What an ignore file hid as it was before.
pub(super) struct PreviousIgnoreRules {
    folder: PathBuf,
    /// `None` where nobody knows any more: then it may have hidden everything.
    rules: Option<Gitignore>,
}

impl PreviousIgnoreRules {
    /// By the ignore file at this path, when it was that.
    pub(super) fn by(path: &Path, before: Option<PathContent>) -> Self {
        let folder = path.parent().unwrap_or(path).to_owned();
        let rules = match before {
            Some(PathContent::File { bytes, .. }) => {
                rules(&folder, &String::from_utf8_lossy(&bytes))
            }
            Some(PathContent::Nothing | PathContent::Link { .. }) | None => None,
        };
        Self { folder, rules }
    }

    /// Whether it hid this.
    pub(super) fn has(&self, path: &Path) -> bool {
        path.starts_with(&self.folder)
            && self
                .rules
                .as_ref()
                .is_none_or(|rules| rules.matched_path_or_any_parents(path, false).is_ignore())
    }
}

fn rules(folder: &Path, text: &str) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.lines() {
        // A line that is no pattern hid nothing.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}
