//! Lists a folder: its files and folders with the stamps by which a change is noticed.

use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use ignore::WalkBuilder;
use ignore::gitignore::Gitignore;

use crate::disk::{IgnoreFiles, ignore_rules};
use crate::domain::MaskedPathKind;
use crate::platform::restore::PathContent;
use crate::platform::sandbox::is_placeholder;

use super::WatchError;

/// A folder with more files and folders than this is not watched.
const MOST: usize = 20_000;
/// How old a stamp must be before an equal stamp means an unchanged file: the clocks of file
/// systems tick slowly.
const TICK: Duration = Duration::from_millis(50);
/// The same for a file system without nanoseconds. FAT's clock is the slowest.
const COARSE_TICK: Duration = Duration::from_secs(2);

/// The files and folders below a folder, at the time of a look.
pub(super) struct FolderListing {
    pub(super) files: Vec<(PathBuf, FileStamp)>,
    pub(super) folders: Vec<(PathBuf, FileStamp, StampAge)>,
    pub(super) unread: Vec<PathBuf>,
}

/// The metadata of a file that changes when the file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    pub(super) changed: (i64, i64),
    pub(super) size: u64,
    pub(super) mode: u32,
    modified: (i64, i64),
    /// `None` where the file system does not record it.
    born: Option<SystemTime>,
    device: u64,
    inode: u64,
}

/// Whether an equal stamp means equal content.
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

    /// Device and inode: equal for all names of a file.
    pub(super) fn place(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    pub(super) fn is_link(&self) -> bool {
        self.mode & 0o170_000 == 0o120_000
    }

    /// Whether a folder has the same entries, as far as its times tell.
    pub(super) fn is_same_folder(&self, other: &Self) -> bool {
        (self.modified, self.changed) == (other.modified, other.changed)
    }

    /// Whether the file appeared after `time`: it was made, or a file that was seen got another
    /// name. A later change is not enough, for a file that was out of view may have been written
    /// to.
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

/// Lists all files and folders below `root`, without slug's own folder `slug_folder`.
pub(super) fn list(
    root: &Path,
    slug_folder: &Path,
    timeout: Duration,
    now: SystemTime,
) -> Result<FolderListing, WatchError> {
    let started = Instant::now();
    let mut listing = FolderListing { files: Vec::new(), folders: Vec::new(), unread: Vec::new() };
    // slug's folder does not exist before its first file.
    let slug_folder = slug_folder.canonicalize().ok();
    let ignore_files = IgnoreFiles::of(root);
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .follow_links(false)
        .filter_entry(move |entry| {
            let is_of_slug = Some(entry.path()) == slug_folder.as_deref();
            let is_known = matches!(entry.file_name().to_str(), Some(".git" | ".slug"));
            entry.depth() == 0 || !(is_of_slug || is_known) && ignore_files.takes(entry)
        })
        .build();
    for (count, entry) in walk.enumerate() {
        if count > MOST {
            return Err(WatchError::TooManyFiles);
        }
        if count % 256 == 0 && started.elapsed() > timeout {
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
        // The file may be gone by now.
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

/// The folder or file that could not be read.
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

/// Whether the file is one of slug's own, which only exist for a moment.
fn is_of_slug(path: &Path, metadata: &Metadata) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let is_temporary = name.starts_with(b".slug-") && name.ends_with(b".tmp");
    is_temporary || (metadata.len() == 0 && is_placeholder(path, MaskedPathKind::File))
}

/// Whether the file holds ignore rules.
pub(super) fn is_ignore_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == ".gitignore" || name == ".ignore")
}

/// The rules of an ignore file before it changed.
pub(super) struct PreviousIgnoreRules {
    folder: PathBuf,
    /// `None` where the old rules are unknown: they may have hidden everything.
    rules: Option<Gitignore>,
}

impl PreviousIgnoreRules {
    /// The rules of the ignore file at `path`, by its old content.
    pub(super) fn by(path: &Path, before: Option<PathContent>) -> Self {
        let folder = path.parent().unwrap_or(path).to_owned();
        let rules = match before {
            Some(PathContent::File { bytes, .. }) => ignore_rules(&folder, &bytes),
            Some(PathContent::Nothing | PathContent::Link { .. }) | None => None,
        };
        Self { folder, rules }
    }

    /// Whether the rules hid this path.
    pub(super) fn has(&self, path: &Path) -> bool {
        path.starts_with(&self.folder)
            && self
                .rules
                .as_ref()
                .is_none_or(|rules| rules.matched_path_or_any_parents(path, false).is_ignore())
    }
}
