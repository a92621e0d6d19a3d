//! What a command changes in a folder: a look before it and one after it.
//!
//! Covers what git would: the files that no `.gitignore` or `.ignore` names, hidden ones too,
//! without `.git` and slug's own folder. The contents of small files are kept in one nameless file,
//! so that what a command overwrote is still there; a content is read again only where its file has
//! another stamp, or where the stamp is so young that it tells nothing. A folder is listed again
//! only where its own stamp has changed.
//!
//! What is told as made or removed is so for certain, since undoing removes what was made: a file
//! that only came into view, because rules or permissions are others now, is none, and neither is
//! what may be the only copy of a file of which nothing was kept.
//!
//! Bounded: a folder with too many files is not watched at all, a file that is too large is
//! named but not kept, and a look reads only so much, for only so long. Everything here blocks.

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

/// All contents that one look keeps.
const ALL: u64 = 64 << 20;
/// So many changes of one command are told.
const MAX_REPORTED: usize = 300;
/// A listing that takes longer is given up, and after so long nothing more is read.
const LISTING_TIMEOUT: Duration = Duration::from_secs(3);
/// After so many slow listings in a row the folder is not listed again.
const SLOW: u8 = 3;

/// A folder that is watched.
#[derive(Debug)]
pub struct FolderWatcher {
    root: PathBuf,
    /// The folder for the nameless file.
    content_folder: PathBuf,
    bounds: WatchLimits,
    state: Mutex<WatchState>,
}

/// What one look may take.
#[derive(Debug, Clone, Copy)]
struct WatchLimits {
    /// Bytes that are kept.
    all: u64,
    listing: Duration,
    reading: Duration,
}

/// A file that a command changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchedChange {
    /// From one thing to another.
    Known {
        /// The file.
        path: PathBuf,
        /// What was there.
        before: PathContent,
        /// What is there.
        after: PathContent,
    },
    /// Nothing was kept of it.
    Unknown {
        /// The file.
        path: PathBuf,
        /// Why.
        why: UnkeptReason,
    },
}

/// Why a content is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnkeptReason {
    /// It is too large.
    TooLarge,
    /// There are too many, or too many were changed at once.
    TooMany,
    /// It cannot be read.
    Unreadable,
    /// It was out of sight before or is now: ignored, or in a folder that cannot be listed.
    Unseen,
    /// Something went of which nothing is kept, and this may be it, in another place.
    Moved,
    /// Its name is not UTF-8.
    Name,
}

/// Why a folder is not watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WatchError {
    /// It has too many files.
    #[error("there are too many files to watch")]
    TooManyFiles,
    /// Listing it takes too long.
    #[error("the folder takes too long to list")]
    TooSlow,
    /// It cannot be listed.
    #[error("the folder cannot be listed")]
    Unreadable,
}

#[derive(Debug, Default)]
struct WatchState {
    /// All files; none before the first look.
    files: Option<Vec<(PathBuf, WatchedFile)>>,
    folders: Vec<(PathBuf, FileStamp, StampAge)>,
    /// Folders that could not be listed.
    unread: Vec<PathBuf>,
    /// When the last look began.
    looked: Option<SystemTime>,
    contents: WatchContentStore,
    /// Why the last look failed.
    failed: Option<WatchError>,
    /// So many looks in a row were too slow.
    slow: u8,
}

/// What is known of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WatchedFile {
    stamp: FileStamp,
    stamp_age: StampAge,
    content: WatchedContent,
}

impl FolderWatcher {
    /// Watches what is below the real path `root`. Contents go to a nameless file in `shelf`.
    pub fn new(root: PathBuf, shelf: PathBuf) -> Self {
        let bounds = WatchLimits { all: ALL, listing: LISTING_TIMEOUT, reading: LISTING_TIMEOUT };
        Self { root, content_folder: shelf, bounds, state: Mutex::default() }
    }

    /// Takes in how everything is now: before a command.
    pub fn look(&self) -> Result<(), WatchError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.contents.length() > 4 * ALL {
            // What is there is read anew, without what it was before.
            *state = WatchState::default();
        }
        state.compared(self).map(drop)
    }

    /// The same, where nobody has looked yet: in good time, for the first look takes longest.
    pub fn warm(&self) -> Result<(), WatchError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Once a command may run, a look that comes late would hide what it does.
        if state.files.is_some() {
            return Ok(());
        }
        state.compared(self).map(drop)
    }

    /// What has changed since the last look.
    pub fn changes(&self) -> Result<Vec<WatchedChange>, WatchError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.files.is_none() {
            return Err(state.failed.unwrap_or(WatchError::Unreadable));
        }
        let changes = state.compared(self)?;
        let kept: Vec<Result<(PathContent, PathContent), UnkeptReason>> =
            changes.iter().enumerate().map(|(at, it)| state.kept(at, it)).collect();
        // A file that went may be one that came. Where nothing is kept of it, what came stays.
        let lost: HashSet<(u64, u64)> = changes
            .iter()
            .zip(&kept)
            .filter(|((_, _, after), kept)| after.is_none() && kept.is_err())
            .filter_map(|((_, before, _), _)| Some(before.as_ref()?.stamp.place()))
            .collect();
        let told = changes.into_iter().zip(kept).map(|((path, before, after), kept)| {
            let took = after.as_ref().is_some_and(|after| lost.contains(&after.stamp.place()));
            let may_be_lost = took || (before.is_none() && !lost.is_empty());
            match kept {
                Ok(_) if may_be_lost => WatchedChange::Unknown { path, why: UnkeptReason::Moved },
                Ok((before, after)) => WatchedChange::Known { path, before, after },
                Err(why) => WatchedChange::Unknown { path, why },
            }
        });
        Ok(told.collect())
    }
}

type FileDifference = (PathBuf, Option<WatchedFile>, Option<WatchedFile>);

impl WatchState {
    /// Brings the state up to date, and tells how it differs from the one before.
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

    /// Why it is not listed again. What was slow once may have been slow for another reason.
    fn given_up(&self) -> Option<WatchError> {
        self.failed.filter(|error| *error != WatchError::TooSlow || self.slow >= SLOW)
    }

    /// The files whose stamps are others now, or say nothing, where the same files are there.
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

    /// Reads these files, and leaves all others as they are.
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

    /// Takes another listing in.
    fn take(
        &mut self,
        watch: &FolderWatcher,
        listing: FolderListing,
        now: SystemTime,
    ) -> Vec<FileDifference> {
        let is_first = self.files.is_none();
        let since = self.looked.replace(now).unwrap_or(now);
        let reading = self.contents.reading(watch.bounds.all, watch.bounds.reading);
        // Paths are hashed and compared part by part, names of files as they are.
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

    /// What ignore files hid that are others now may have been there before.
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

    /// What a file is and holds, which is kept.
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
            // What was kept is still right if the stamp is; everything else is read another time.
            let same = before.filter(|before| before.stamp == stamp);
            let content = same.map(|before| before.content.clone());
            let content = content.unwrap_or(WatchedContent::NotKept(UnkeptReason::TooMany));
            return WatchedFile { stamp, stamp_age: StampAge::Young, content };
        }
        let content =
            self.contents.read(&watch.content_folder, (path, stamp), content, (kept, reading.room));
        WatchedFile { stamp, stamp_age: stamp_age(stamp.changed, now), content }
    }

    /// What a change was from and to, as far as both are kept; it is one of so many.
    fn kept(
        &self,
        at: usize,
        (path, before, after): &FileDifference,
    ) -> Result<(PathContent, PathContent), UnkeptReason> {
        if at >= MAX_REPORTED {
            return Err(UnkeptReason::TooMany);
        }
        // The log could not name it again.
        path.to_str().ok_or(UnkeptReason::Name)?;
        Ok((self.thing(before.as_ref())?, self.thing(after.as_ref())?))
    }

    fn thing(&self, known: Option<&WatchedFile>) -> Result<PathContent, UnkeptReason> {
        let Some(known) = known else { return Ok(PathContent::Nothing) };
        self.contents.thing(&known.content, known.stamp.mode & 0o7777)
    }
}

impl WatchedFile {
    /// Whether it is the same file in all that can be brought back.
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

    /// One that is not seen.
    fn unseen(stamp: FileStamp) -> Self {
        Self {
            stamp,
            stamp_age: StampAge::Young,
            content: WatchedContent::NotKept(UnkeptReason::Unseen),
        }
    }
}

/// What became of a file that is not listed any more; nothing, where it is only out of sight.
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
