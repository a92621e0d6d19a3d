//! What a command changes in a folder: a look before it and one after it.
//!
//! Covers what git would: the files that no `.gitignore` or `.ignore` names, hidden ones too,
//! without `.git` and slug's own folder. The contents of small files are kept in one nameless file,
//! so that what a command overwrote is still there; a content is read again only where its file has
//! another stamp, or where the stamp is so young that it tells nothing. A folder is listed again
//! only where its own stamp has changed.
//!
//! Bounded: a folder with too many files is not watched at all, and a file that is too large is
//! named but not kept. Everything here blocks.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use ignore::WalkBuilder;

use crate::domain::{ContentHash, SpotKind};
use crate::tools::FileState;

use super::files;
use super::restore::Thing;
use super::sandbox::is_placeholder;

/// More files and folders than this are not watched.
const MOST: usize = 20_000;
/// The contents of so many are kept.
const KEPT: usize = 10_000;
/// Larger files are not kept.
const LARGEST: u64 = 256 << 10;
/// All contents together.
const ALL: u64 = 64 << 20;
/// So many changes of one command are told.
const TOLD: usize = 300;
/// A listing that takes longer is given up.
const PATIENCE: Duration = Duration::from_secs(3);
/// A stamp has to be this old before it says that nothing has changed since: clocks of file
/// systems tick slowly.
const TICK: Duration = Duration::from_millis(50);

/// A folder that is watched.
#[derive(Debug)]
pub struct Watch {
    root: PathBuf,
    /// The folder for the nameless file.
    shelf: PathBuf,
    state: Mutex<State>,
}

/// A file that a command changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// From one thing to another.
    Known {
        /// The file.
        path: PathBuf,
        /// What was there.
        before: Thing,
        /// What is there.
        after: Thing,
    },
    /// Nothing was kept of it.
    Unknown {
        /// The file.
        path: PathBuf,
        /// Why.
        why: NotKept,
    },
}

/// Why a content is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotKept {
    /// It is too large.
    TooLarge,
    /// There are too many, or too many were changed at once.
    TooMany,
    /// It cannot be read.
    Unreadable,
}

/// Why a folder is not watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WatchError {
    /// It has too many files.
    #[error("there are too many files to watch")]
    TooManyFiles,
    /// It cannot be listed.
    #[error("the folder cannot be listed")]
    Unreadable,
}

#[derive(Debug, Default)]
struct State {
    /// All files; none before the first look.
    files: Option<Vec<(PathBuf, Known)>>,
    folders: Vec<(PathBuf, Stamp, Trust)>,
    pack: Option<Pack>,
    /// Why it is not looked at again.
    given_up: Option<WatchError>,
}

/// What is known of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    stamp: Stamp,
    trust: Trust,
    content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    File { hash: ContentHash, at: u64, length: usize },
    Link(Vec<u8>),
    NotKept(NotKept),
}

/// What changes with a file, as far as it can be seen from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: (i64, i64),
    changed: (i64, i64),
    size: u64,
    inode: u64,
    mode: u32,
}

/// Whether the same stamp means the same content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    Old,
    Young,
}

/// The nameless file.
#[derive(Debug)]
struct Pack {
    file: File,
    length: u64,
}

/// What is there at the moment.
struct Listing {
    files: Vec<(PathBuf, Stamp)>,
    folders: Vec<(PathBuf, Stamp, Trust)>,
}

impl Watch {
    /// Watches what is below the real path `root`. Contents go to a nameless file in `shelf`.
    pub fn new(root: PathBuf, shelf: PathBuf) -> Self {
        Self { root, shelf, state: Mutex::default() }
    }

    /// Takes in how everything is now: before a command.
    pub fn look(&self) -> Result<(), WatchError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.pack.as_ref().is_some_and(|pack| pack.length > 4 * ALL) {
            // What is there is read anew, without what it was before.
            *state = State::default();
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
    pub fn changes(&self) -> Result<Vec<Changed>, WatchError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.files.is_none() {
            return Err(state.given_up.unwrap_or(WatchError::Unreadable));
        }
        let changes = state.compared(self)?;
        let told = changes.into_iter().enumerate().map(|(at, (path, before, after))| {
            if at >= TOLD {
                return Changed::Unknown { path, why: NotKept::TooMany };
            }
            match (state.thing(before.as_ref()), state.thing(after.as_ref())) {
                (Ok(before), Ok(after)) => Changed::Known { path, before, after },
                (Err(why), _) | (_, Err(why)) => Changed::Unknown { path, why },
            }
        });
        Ok(told.collect())
    }
}

type Difference = (PathBuf, Option<Known>, Option<Known>);

impl State {
    /// Brings the state up to date, and tells how it differs from the one before.
    fn compared(&mut self, watch: &Watch) -> Result<Vec<Difference>, WatchError> {
        if let Some(error) = self.given_up {
            return Err(error);
        }
        let now = SystemTime::now();
        if let Some(other) = self.other_stamps() {
            return Ok(self.read_again(watch, other, now));
        }
        match list(&watch.root, now) {
            Ok(listing) => Ok(self.take(watch, listing, now)),
            Err(error) => {
                *self = Self { given_up: Some(error), ..Self::default() };
                Err(error)
            }
        }
    }

    /// The files whose stamps are others now, or say nothing, where the same files are there.
    fn other_stamps(&self) -> Option<Vec<(usize, Stamp)>> {
        let files = self.files.as_ref()?;
        for (path, stamp, trust) in &self.folders {
            let now = Stamp::of(&fs::symlink_metadata(path).ok()?);
            if *trust == Trust::Young || now.modified != stamp.modified {
                return None;
            }
        }
        let mut others = Vec::new();
        for (at, (path, known)) in files.iter().enumerate() {
            let stamp = Stamp::of(&fs::symlink_metadata(path).ok()?);
            if stamp != known.stamp {
                let name = path.file_name();
                if name.is_some_and(|name| name == ".gitignore" || name == ".ignore") {
                    return None;
                }
            }
            if stamp != known.stamp || known.trust == Trust::Young {
                others.push((at, stamp));
            }
        }
        Some(others)
    }

    /// Reads these files, and leaves all others as they are.
    fn read_again(
        &mut self,
        watch: &Watch,
        others: Vec<(usize, Stamp)>,
        now: SystemTime,
    ) -> Vec<Difference> {
        let mut files = self.files.take().unwrap_or_default();
        let mut changes = Vec::new();
        for (at, stamp) in others {
            let (path, before) = &files[at];
            let content = self.read(watch, (path, stamp), Some(before), (at, u64::MAX));
            let known = Known { stamp, trust: trust(stamp.changed, now), content };
            if !before.is_as(&known) {
                changes.push((path.clone(), Some(before.clone()), Some(known.clone())));
            }
            files[at].1 = known;
        }
        self.files = Some(files);
        changes
    }

    /// Takes another listing in.
    fn take(&mut self, watch: &Watch, listing: Listing, now: SystemTime) -> Vec<Difference> {
        let is_first = self.files.is_none();
        let room = if is_first { ALL } else { u64::MAX };
        // Paths are hashed and compared part by part, names of files as they are.
        let old = self.files.take().unwrap_or_default().into_iter();
        let mut old: HashMap<OsString, Known> =
            old.map(|(path, known)| (path.into_os_string(), known)).collect();
        let mut files = Vec::with_capacity(listing.files.len());
        let mut changes = Vec::new();
        for (path, stamp) in listing.files {
            let before = old.remove(path.as_os_str());
            let known = match &before {
                Some(known) if known.stamp == stamp && known.trust == Trust::Old => known.clone(),
                Some(_) | None => {
                    let place = (files.len(), room);
                    let content = self.read(watch, (&path, stamp), before.as_ref(), place);
                    Known { stamp, trust: trust(stamp.changed, now), content }
                }
            };
            if !is_first && before.as_ref().is_none_or(|before| !before.is_as(&known)) {
                changes.push((path.clone(), before, Some(known.clone())));
            }
            files.push((path, known));
        }
        changes.extend(old.into_iter().map(|(path, known)| (path.into(), Some(known), None)));
        changes.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        self.files = Some(files);
        self.folders = listing.folders;
        changes
    }

    /// Reads a file and keeps what it holds.
    fn read(
        &mut self,
        watch: &Watch,
        (path, stamp): (&Path, Stamp),
        before: Option<&Known>,
        (kept, room): (usize, u64),
    ) -> Content {
        if stamp.mode & 0o170_000 == 0o120_000 {
            return match fs::read_link(path) {
                Ok(target) => Content::Link(target.as_os_str().as_bytes().to_vec()),
                Err(_) => Content::NotKept(NotKept::Unreadable),
            };
        }
        if stamp.size > LARGEST {
            return Content::NotKept(NotKept::TooLarge);
        }
        if kept >= KEPT {
            return Content::NotKept(NotKept::TooMany);
        }
        let bytes = match files::read(path, LARGEST) {
            Ok(FileState::File(bytes)) => bytes,
            Ok(FileState::TooBig(_)) => return Content::NotKept(NotKept::TooLarge),
            Ok(FileState::Missing | FileState::Folder | FileState::Special) | Err(_) => {
                return Content::NotKept(NotKept::Unreadable);
            }
        };
        let hash = ContentHash::of(&bytes);
        if let Some(Known { content: old @ Content::File { hash: old_hash, .. }, .. }) = before
            && *old_hash == hash
        {
            return old.clone();
        }
        match self.keep(watch, &bytes, room) {
            Ok(Some(at)) => Content::File { hash, at, length: bytes.len() },
            Ok(None) => Content::NotKept(NotKept::TooMany),
            Err(error) => {
                tracing::warn!(%error, "what a file holds cannot be kept");
                Content::NotKept(NotKept::Unreadable)
            }
        }
    }

    /// Where the content is kept, if there is room for it.
    fn keep(&mut self, watch: &Watch, bytes: &[u8], room: u64) -> io::Result<Option<u64>> {
        let pack = match &mut self.pack {
            Some(pack) => pack,
            None => {
                fs::create_dir_all(&watch.shelf)?;
                let file = tempfile::tempfile_in(&watch.shelf)?;
                self.pack.insert(Pack { file, length: 0 })
            }
        };
        if pack.length + bytes.len() as u64 > room {
            return Ok(None);
        }
        pack.file.write_all(bytes)?;
        let at = pack.length;
        pack.length += bytes.len() as u64;
        Ok(Some(at))
    }

    fn thing(&self, known: Option<&Known>) -> Result<Thing, NotKept> {
        let Some(known) = known else { return Ok(Thing::Nothing) };
        match &known.content {
            Content::Link(target) => Ok(Thing::Link { target: target.clone() }),
            Content::NotKept(why) => Err(*why),
            Content::File { at, length, .. } => {
                let pack = self.pack.as_ref().ok_or(NotKept::Unreadable)?;
                let mut bytes = vec![0; *length];
                pack.file.read_exact_at(&mut bytes, *at).map_err(|_| NotKept::Unreadable)?;
                Ok(Thing::File { bytes, mode: Some(known.stamp.mode & 0o7777) })
            }
        }
    }
}

impl Known {
    /// Whether it is the same file in all that can be brought back.
    fn is_as(&self, other: &Self) -> bool {
        match (&self.content, &other.content) {
            (Content::File { hash, .. }, Content::File { hash: other_hash, .. }) => {
                hash == other_hash && self.stamp.mode == other.stamp.mode
            }
            (Content::Link(target), Content::Link(other)) => target == other,
            (Content::NotKept(_), Content::NotKept(_)) => self.stamp == other.stamp,
            (Content::File { .. } | Content::Link(_) | Content::NotKept(_), _) => false,
        }
    }
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            size: metadata.len(),
            inode: metadata.ino(),
            mode: metadata.mode(),
        }
    }
}

fn trust(changed: (i64, i64), now: SystemTime) -> Trust {
    let seconds = Duration::from_secs(u64::try_from(changed.0).unwrap_or(0));
    let part = Duration::from_nanos(u64::try_from(changed.1).unwrap_or(0));
    let changed = SystemTime::UNIX_EPOCH + seconds + part;
    if changed + TICK < now { Trust::Old } else { Trust::Young }
}

/// All files and folders below `root`.
fn list(root: &Path, now: SystemTime) -> Result<Listing, WatchError> {
    let started = Instant::now();
    let mut listing = Listing { files: Vec::new(), folders: Vec::new() };
    let walk = WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .follow_links(false)
        .filter_entry(|entry| {
            entry.depth() == 0 || !matches!(entry.file_name().to_str(), Some(".git" | ".slug"))
        })
        .build();
    for (count, entry) in walk.enumerate() {
        if count > MOST || (count % 256 == 0 && started.elapsed() > PATIENCE) {
            return Err(WatchError::TooManyFiles);
        }
        let entry = match entry {
            Ok(entry) => entry,
            Err(_) if count == 0 => return Err(WatchError::Unreadable),
            Err(_) => continue,
        };
        // It may be gone by now.
        let Ok(metadata) = fs::symlink_metadata(entry.path()) else { continue };
        let stamp = Stamp::of(&metadata);
        if metadata.is_dir() {
            let trust = trust(stamp.modified, now);
            listing.folders.push((entry.into_path(), stamp, trust));
        } else if (metadata.is_file() || metadata.is_symlink())
            && !is_of_slug(entry.path(), &metadata)
        {
            listing.files.push((entry.into_path(), stamp));
        }
    }
    Ok(listing)
}

/// What slug itself puts there for a moment.
fn is_of_slug(path: &Path, metadata: &Metadata) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let is_temporary = name.starts_with(b".slug-") && name.ends_with(b".tmp");
    is_temporary || (metadata.len() == 0 && is_placeholder(path, SpotKind::File))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    struct Folder {
        _folder: tempfile::TempDir,
        root: PathBuf,
        watch: Watch,
    }

    fn folder() -> Folder {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("work");
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(root.join("src/a.rs"), "one").unwrap();
        fs::write(root.join("b"), "two").unwrap();
        fs::write(root.join(".gitignore"), "target\n").unwrap();
        let watch = Watch::new(root.clone(), folder.path().join("shelf"));
        Folder { _folder: folder, root, watch }
    }

    fn file(text: &str) -> Thing {
        Thing::File { bytes: text.as_bytes().to_vec(), mode: Some(0o644) }
    }

    impl Folder {
        fn at(&self, name: &str) -> PathBuf {
            self.root.join(name)
        }

        /// What a command changes that does this.
        fn changes(&self, command: impl FnOnce(&Self)) -> Vec<(String, Thing, Thing)> {
            self.watch.look().unwrap();
            command(self);
            let name = |path: PathBuf| {
                path.strip_prefix(&self.root).unwrap().to_string_lossy().into_owned()
            };
            let changes = self.watch.changes().unwrap().into_iter().map(|changed| match changed {
                Changed::Known { path, before, after } => (name(path), before, after),
                Changed::Unknown { path, why } => panic!("{path:?} {why:?}"),
            });
            changes.collect()
        }
    }

    fn write(path: &Path, text: &str) {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, PermissionsExt::from_mode(0o644)).unwrap();
    }

    #[test]
    fn what_is_made_changed_and_removed_is_found_with_its_content() {
        let folder = folder();
        for name in ["b", "src/a.rs"] {
            fs::set_permissions(folder.at(name), PermissionsExt::from_mode(0o644)).unwrap();
        }
        let changes = folder.changes(|it| {
            write(&it.at("src/a.rs"), "ONE");
            fs::remove_file(it.at("b")).unwrap();
            write(&it.at("src/new"), "new");
            symlink("b", it.at("link")).unwrap();
        });
        let expected = [
            ("b".to_owned(), file("two"), Thing::Nothing),
            ("link".to_owned(), Thing::Nothing, Thing::Link { target: b"b".to_vec() }),
            ("src/a.rs".to_owned(), file("one"), file("ONE")),
            ("src/new".to_owned(), Thing::Nothing, file("new")),
        ];
        assert_eq!(changes, expected);
        assert_eq!(folder.changes(|_| {}), []);
    }

    #[test]
    fn the_same_size_at_the_same_instant_is_no_hiding_place() {
        let folder = folder();
        for round in 0..50 {
            let changes = folder.changes(|it| write(&it.at("b"), &format!("{round:03}")));
            assert_eq!(changes.len(), 1, "round {round}");
            assert_eq!(changes[0].2, file(&format!("{round:03}")));
        }
    }

    #[test]
    fn permissions_alone_are_a_change() {
        let folder = folder();
        write(&folder.at("b"), "two");
        let changes = folder.changes(|it| {
            fs::set_permissions(it.at("b"), PermissionsExt::from_mode(0o755)).unwrap();
        });
        let after = Thing::File { bytes: b"two".to_vec(), mode: Some(0o755) };
        assert_eq!(changes, [("b".to_owned(), file("two"), after)]);
    }

    #[test]
    fn what_is_ignored_or_slugs_own_is_not_watched() {
        let folder = folder();
        let changes = folder.changes(|it| {
            for name in ["target", ".git", ".slug"] {
                fs::create_dir_all(it.at(name)).unwrap();
                write(&it.at(name).join("file"), "x");
            }
            write(&it.at(".slug-0.tmp"), "x");
        });
        assert_eq!(changes, []);
    }

    #[test]
    fn what_somebody_else_changes_between_commands_is_not_the_commands() {
        let folder = folder();
        folder.changes(|_| {});
        write(&folder.at("b"), "mine");
        assert_eq!(folder.changes(|_| {}), []);
        let changes = folder.changes(|it| write(&it.at("b"), "its"));
        assert_eq!(changes, [("b".to_owned(), file("mine"), file("its"))]);
    }

    #[test]
    fn what_is_too_large_or_too_much_is_named() {
        let folder = folder();
        let large = "x".repeat(LARGEST as usize + 1);
        write(&folder.at("large"), &large);
        folder.watch.look().unwrap();
        write(&folder.at("large"), &large.replace('x', "y"));
        for number in 0..TOLD + 5 {
            write(&folder.at(&format!("made-{number:04}")), "x");
        }
        let changes = folder.watch.changes().unwrap();
        let why = |wanted| {
            let is = |it: &&Changed| matches!(it, Changed::Unknown { why, .. } if *why == wanted);
            changes.iter().filter(is).count()
        };
        assert_eq!(changes.len(), TOLD + 6);
        assert_eq!((why(NotKept::TooLarge), why(NotKept::TooMany)), (1, 6));
    }

    #[test]
    fn a_folder_that_cannot_be_listed_is_said_and_not_tried_again() {
        let shelf = tempfile::tempdir().unwrap();
        let watch = Watch::new("/no/such/folder".into(), shelf.path().to_owned());
        assert_eq!(watch.look(), Err(WatchError::Unreadable));
        assert_eq!(watch.changes(), Err(WatchError::Unreadable));
    }
}
