//! Finds what a command changes in a folder, by looking at it before and after the command.
//!
//! It covers what git would: the files that no `.gitignore` or `.ignore` names, hidden ones too,
//! without `.git` and slug's own folder. The contents of small files are kept in one unnamed file,
//! so that the old content is still there when a command overwrites it. A file is read again only
//! when its stamp has changed or is too young to be trusted. A folder is listed again only when its
//! own stamp has changed.
//!
//! A file is reported as made or removed only when that is certain, since undoing removes made
//! files. Not reported as made: a file that only came into view, because ignore rules or
//! permissions changed, and a file that may be the only copy of a removed one of which nothing was
//! kept.
//!
//! All of it is bounded: a folder with too many files is not watched at all, a file that is too
//! large is reported but not kept, and a look reads only so much, for only so long. Everything here
//! blocks.

mod contents;
mod listing;

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use self::contents::{ReadBudget, WatchContentStore, WatchedContent};
use self::listing::{
    FileStamp, FolderListing, PreviousIgnoreRules, StampAge, is_ignore_file, list, stamp_age,
};
use super::files;
use super::restore::PathContent;

/// The most bytes of contents that one look keeps.
const ALL: u64 = 64 << 20;
/// The most changes of one command that are reported with their content.
const MAX_REPORTED: usize = 300;
/// The most time for a listing, and for the reading after it.
const LISTING_TIMEOUT: Duration = Duration::from_secs(3);
/// After this many slow listings in a row the folder is not listed again.
const SLOW: u8 = 3;

/// Remembers the files of a folder, to find what a command changes.
#[derive(Debug)]
pub struct FolderWatcher {
    root: PathBuf,
    /// The folder of the unnamed file; slug's own folder, which is not watched.
    content_folder: PathBuf,
    bounds: WatchLimits,
    state: Mutex<WatchState>,
}

/// The bounds of one look.
#[derive(Debug, Clone, Copy)]
struct WatchLimits {
    /// The most bytes that are kept.
    all: u64,
    listing: Duration,
    reading: Duration,
}

/// A change that a command made to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchedChange {
    /// The content is known before and after.
    Known { path: PathBuf, before: PathContent, after: PathContent },
    /// Nothing was kept of the old or the new content.
    Unknown { path: PathBuf, why: UnkeptReason },
}

/// Why the content of a file is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnkeptReason {
    /// The file is larger than 256 KB.
    TooLarge,
    /// There are too many files, or too many changed at once.
    TooMany,
    Unreadable,
    /// The file is or was out of view: ignored, or in a folder that cannot be listed.
    Unseen,
    /// A file vanished of which nothing is kept, and this may be that file in another place.
    Moved,
    /// The name is not UTF-8, so the session's log cannot hold it.
    Name,
}

/// Why a folder is not watched. The messages complete a sentence for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WatchError {
    /// More than 20,000 files and folders.
    #[error("there are too many files to watch")]
    TooManyFiles,
    /// Listing takes longer than three seconds.
    #[error("the folder takes too long to list")]
    TooSlow,
    #[error("the folder cannot be listed")]
    Unreadable,
}

#[derive(Debug, Default)]
struct WatchState {
    /// All files; `None` before the first look.
    files: Option<Vec<(PathBuf, WatchedFile)>>,
    folders: Vec<(PathBuf, FileStamp, StampAge)>,
    unread: Vec<PathBuf>,
    /// When the last look began.
    looked: Option<SystemTime>,
    contents: WatchContentStore,
    /// The error of the last look, if it failed.
    failed: Option<WatchError>,
    /// The number of slow listings in a row.
    slow: u8,
}

/// What the last look found out about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WatchedFile {
    stamp: FileStamp,
    stamp_age: StampAge,
    content: WatchedContent,
}

impl FolderWatcher {
    /// Watches the folder at the real path `root`. `content_folder` gets the unnamed file.
    pub fn new(root: PathBuf, content_folder: PathBuf) -> Self {
        let bounds = WatchLimits { all: ALL, listing: LISTING_TIMEOUT, reading: LISTING_TIMEOUT };
        Self { root, content_folder, bounds, state: Mutex::default() }
    }

    /// Records the state of the folder before a command.
    ///
    /// # Errors
    ///
    /// When the folder has too many files, takes too long to list, or cannot be listed.
    pub fn look(&self) -> Result<(), WatchError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.contents.length() > 4 * ALL {
            // Everything is read again, without the old contents.
            *state = WatchState::default();
        }
        state.compared(self).map(drop)
    }

    /// Like [`Self::look`], but only if there was no look yet: the first one takes longest.
    ///
    /// # Errors
    ///
    /// As for [`Self::look`].
    pub fn warm(&self) -> Result<(), WatchError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Once a command may run, a late look would hide its changes.
        if state.files.is_some() {
            return Ok(());
        }
        state.compared(self).map(drop)
    }

    /// The changes since the last look.
    ///
    /// # Errors
    ///
    /// When the last look failed or there was none, or the folder cannot be listed now.
    pub fn changes(&self) -> Result<Vec<WatchedChange>, WatchError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.files.is_none() {
            return Err(state.failed.unwrap_or(WatchError::Unreadable));
        }
        let changes = state.compared(self)?;
        let kept: Vec<Result<(PathContent, PathContent), UnkeptReason>> =
            changes.iter().enumerate().map(|(at, it)| state.kept(at, it)).collect();
        // A new file may be a removed one that moved. If that one was not kept, the new file stays.
        let lost: HashSet<(u64, u64)> = changes
            .iter()
            .zip(&kept)
            .filter(|((_, _, after), kept)| after.is_none() && kept.is_err())
            .filter_map(|((_, before, _), _)| Some(before.as_ref()?.stamp.place()))
            .collect();
        let listed = changes.into_iter().zip(kept).map(|((path, before, after), kept)| {
            let took = after.as_ref().is_some_and(|after| lost.contains(&after.stamp.place()));
            let may_be_lost = took || (before.is_none() && !lost.is_empty());
            match kept {
                Ok(_) if may_be_lost => WatchedChange::Unknown { path, why: UnkeptReason::Moved },
                Ok((before, after)) => WatchedChange::Known { path, before, after },
                Err(why) => WatchedChange::Unknown { path, why },
            }
        });
        Ok(listed.collect())
    }
}

type FileDifference = (PathBuf, Option<WatchedFile>, Option<WatchedFile>);

impl WatchState {
    /// Updates the state, and returns how it differs from the one before.
    fn compared(&mut self, watch: &FolderWatcher) -> Result<Vec<FileDifference>, WatchError> {
        if let Some(error) = self.given_up() {
            return Err(error);
        }
        let now = SystemTime::now();
        if let Some(other) = self.other_stamps() {
            self.looked = Some(now);
            return Ok(self.read_again(watch, other, now));
        }
        match list(&watch.root, &watch.content_folder, watch.bounds.listing, now) {
            Ok(listing) => {
                (self.failed, self.slow) = (None, 0);
                Ok(self.take(watch, listing, now))
            }
            Err(error) => {
                let slow = self.slow + u8::from(error == WatchError::TooSlow);
                *self = Self { failed: Some(error), slow, ..Self::default() };
                Err(error)
            }
        }
    }

    /// Why the folder is not listed again. A slow listing is tried again a few times.
    fn given_up(&self) -> Option<WatchError> {
        self.failed.filter(|error| *error != WatchError::TooSlow || self.slow >= SLOW)
    }

    /// The files whose stamps changed or are too young to be trusted. `None`: a folder or an ignore
    /// file has changed, so the folder must be listed again.
    fn other_stamps(&self) -> Option<Vec<(usize, FileStamp)>> {
        let files = self.files.as_ref()?;
        for (path, stamp, trust) in &self.folders {
            let now = FileStamp::of(&fs::symlink_metadata(path).ok()?);
            if *trust == StampAge::Young || !now.is_same_folder(stamp) {
                return None;
            }
        }
        let mut others = Vec::new();
        for (at, (path, known)) in files.iter().enumerate() {
            let stamp = FileStamp::of(&fs::symlink_metadata(path).ok()?);
            if stamp != known.stamp && is_ignore_file(path) {
                return None;
            }
            if stamp != known.stamp || known.stamp_age == StampAge::Young {
                others.push((at, stamp));
            }
        }
        Some(others)
    }

    /// Reads these files again, and leaves all others as they are.
    fn read_again(
        &mut self,
        watch: &FolderWatcher,
        others: Vec<(usize, FileStamp)>,
        now: SystemTime,
    ) -> Vec<FileDifference> {
        let mut files = self.files.take().unwrap_or_default();
        let reading = self.contents.reading(watch.bounds.all, watch.bounds.reading);
        let mut changes = Vec::new();
        for (at, stamp) in others {
            let (path, before) = &files[at];
            let known = self.read(watch, (path, stamp), Some(before), (at, &reading), now);
            if !before.is_as(&known) {
                changes.push((path.clone(), Some(before.clone()), Some(known.clone())));
            }
            files[at].1 = known;
        }
        self.files = Some(files);
        changes
    }

    /// Compares a new listing with the state, and stores it.
    fn take(
        &mut self,
        watch: &FolderWatcher,
        listing: FolderListing,
        now: SystemTime,
    ) -> Vec<FileDifference> {
        let is_first = self.files.is_none();
        let since = self.looked.replace(now).unwrap_or(now);
        let reading = self.contents.reading(watch.bounds.all, watch.bounds.reading);
        // Paths are hashed and compared part by part, strings as a whole.
        let old = self.files.take().unwrap_or_default().into_iter();
        let mut old: HashMap<OsString, WatchedFile> =
            old.map(|(path, known)| (path.into_os_string(), known)).collect();
        let places: HashSet<(u64, u64)> = old.values().map(|known| known.stamp.place()).collect();
        let mut files = Vec::with_capacity(listing.files.len());
        let mut changes = Vec::new();
        for (path, stamp) in listing.files {
            let before = old.remove(path.as_os_str());
            let known = match &before {
                Some(known) if known.stamp == stamp && known.stamp_age == StampAge::Old => {
                    known.clone()
                }
                Some(_) | None => {
                    let at = files.len();
                    self.read(watch, (&path, stamp), before.as_ref(), (at, &reading), now)
                }
            };
            match before {
                Some(before) if before.is_as(&known) => {}
                None if is_first => {}
                Some(before) => changes.push((path.clone(), Some(before), Some(known.clone()))),
                None => {
                    let was_seen = !self.unread.iter().any(|folder| path.starts_with(folder));
                    let is_named_anew = places.contains(&stamp.place());
                    let is_new = stamp.is_since(since, is_named_anew);
                    let before = (!(is_new && was_seen)).then(|| WatchedFile::unseen(stamp));
                    changes.push((path.clone(), before, Some(known.clone())));
                }
            }
            files.push((path, known));
        }
        changes.extend(old.into_iter().filter_map(|(path, known)| gone(path.into(), known)));
        self.doubt_what_was_hidden(&mut changes);
        changes.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        self.files = Some(files);
        self.folders = listing.folders;
        self.unread = listing.unread;
        changes
    }

    /// Marks new files as unseen that a changed or removed ignore file may have hidden before.
    fn doubt_what_was_hidden(&self, changes: &mut [FileDifference]) {
        let hidden: Vec<PreviousIgnoreRules> = changes
            .iter()
            .filter(|(path, before, _)| before.is_some() && is_ignore_file(path))
            .map(|(path, before, _)| {
                PreviousIgnoreRules::by(path, self.thing(before.as_ref()).ok())
            })
            .collect();
        for (path, before, after) in changes {
            if let (None, Some(after)) = (&before, &after)
                && hidden.iter().any(|hidden| hidden.has(path))
            {
                *before = Some(WatchedFile::unseen(after.stamp));
            }
        }
    }

    /// Reads the stamp and the content of a file; the content is kept.
    fn read(
        &mut self,
        watch: &FolderWatcher,
        (path, stamp): (&Path, FileStamp),
        before: Option<&WatchedFile>,
        (kept, reading): (usize, &ReadBudget),
        now: SystemTime,
    ) -> WatchedFile {
        let content = before.map(|before| &before.content);
        if reading.is_over() {
            // The kept content is still right if the stamp is; all other files are read another
            // time.
            let same = before.filter(|before| before.stamp == stamp);
            let content = same.map(|before| before.content.clone());
            let content = content.unwrap_or(WatchedContent::NotKept(UnkeptReason::TooMany));
            return WatchedFile { stamp, stamp_age: StampAge::Young, content };
        }
        let content =
            self.contents.read(&watch.content_folder, (path, stamp), content, (kept, reading.room));
        WatchedFile { stamp, stamp_age: stamp_age(stamp.changed, now), content }
    }

    /// The old and the new content of the change at index `at`, as far as both are kept.
    fn kept(
        &self,
        at: usize,
        (path, before, after): &FileDifference,
    ) -> Result<(PathContent, PathContent), UnkeptReason> {
        if at >= MAX_REPORTED {
            return Err(UnkeptReason::TooMany);
        }
        // The session's log could not name the file.
        path.to_str().ok_or(UnkeptReason::Name)?;
        Ok((self.thing(before.as_ref())?, self.thing(after.as_ref())?))
    }

    fn thing(&self, known: Option<&WatchedFile>) -> Result<PathContent, UnkeptReason> {
        let Some(known) = known else { return Ok(PathContent::Nothing) };
        self.contents.thing(&known.content, known.stamp.mode & 0o7777)
    }
}

impl WatchedFile {
    /// Whether the file is the same in all that can be restored.
    fn is_as(&self, other: &Self) -> bool {
        match (&self.content, &other.content) {
            (WatchedContent::File { hash, .. }, WatchedContent::File { hash: other_hash, .. }) => {
                hash == other_hash && self.stamp.mode == other.stamp.mode
            }
            (WatchedContent::Link(target), WatchedContent::Link(other)) => target == other,
            (WatchedContent::NotKept(_), _) | (_, WatchedContent::NotKept(_)) => {
                self.stamp == other.stamp
            }
            (WatchedContent::File { .. } | WatchedContent::Link(_), _) => false,
        }
    }

    /// A file that is not in view.
    fn unseen(stamp: FileStamp) -> Self {
        Self {
            stamp,
            stamp_age: StampAge::Young,
            content: WatchedContent::NotKept(UnkeptReason::Unseen),
        }
    }
}

/// The change of a file that is not listed any more; `None` where it is only out of view.
fn gone(path: PathBuf, known: WatchedFile) -> Option<FileDifference> {
    let after = match fs::symlink_metadata(&path) {
        Ok(metadata) if metadata.is_file() || metadata.is_symlink() => {
            let stamp = FileStamp::of(&metadata);
            if stamp == known.stamp {
                return None;
            }
            Some(WatchedFile::unseen(stamp))
        }
        Ok(_) => None,
        Err(error) if files::is_missing(&error) => None,
        Err(_) => Some(WatchedFile::unseen(known.stamp)),
    };
    Some((path, Some(known), after))
}

#[cfg(test)]
mod tests;
