//! The [`Files`] port on the real file system.
//!
//! A path given here is a real one: no symbolic link is followed, on the way or at its end. So the
//! file that is opened is the one that the user or a rule approved (see `handles`).
//!
//! Nothing here can hang on a FIFO or a device: slug looks at the path before and after opening it,
//! and opens it without blocking. A file is replaced in one step by a temporary file beside it, so
//! that a reader sees the old bytes or the new ones, never a mixture. Other names of a hard-linked
//! file keep the old content.
//!
//! Which paths may be touched is not decided here.

use std::ffi::OsStr;
use std::fs::{File, Metadata, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use rustix::fs::{
    Access, AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, Stat, Uid, XattrFlags,
};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use uuid::Uuid;

use crate::domain::ContentHash;
use crate::tools::{FileError, FileState, Files, FolderItem, FolderItemKind, WriteReport};

use super::handles::{self, FolderEntry, MissingFolders};

/// The port on the files of this machine.
#[derive(Debug, Clone, Copy)]
pub struct DiskFiles;

/// Held from the last look at a file until the file is replaced. Two writers in this process,
/// agents or a rewind, may start from the same content; the lock makes one of them fail.
static REPLACING: Mutex<()> = Mutex::new(());

#[async_trait]
impl Files for DiskFiles {
    async fn read(&self, path: &Path, limit: u64) -> Result<FileState, FileError> {
        off_thread("read", path, move |path| read(path, limit)).await
    }

    async fn read_at(&self, path: &Path, offset: u64, length: u64) -> Result<Vec<u8>, FileError> {
        off_thread("read", path, move |path| read_at(path, offset, length)).await
    }

    async fn write(
        &self,
        path: &Path,
        bytes: &[u8],
        expected: Option<Option<ContentHash>>,
    ) -> Result<WriteReport, FileError> {
        let bytes = bytes.to_owned();
        off_thread("write", path, move |path| write(path, &bytes, expected)).await
    }

    fn open(&self, path: &Path) -> Result<Option<File>, FileError> {
        open_found(path).map_err(file_error("read", path))
    }

    async fn list(&self, path: &Path, limit: usize) -> Result<(Vec<FolderItem>, u64), FileError> {
        off_thread("list", path, move |path| items(path, limit).map_err(file_error("list", path)))
            .await
    }

    fn modified(&self, path: &Path) -> Option<SystemTime> {
        let spot = handles::folder_entry(path, MissingFolders::Leave).ok()??;
        let stat = look(&spot).ok()??;
        let seconds = Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or(0));
        let part = Duration::from_nanos(u32::try_from(stat.st_mtime_nsec).unwrap_or(0).into());
        SystemTime::UNIX_EPOCH.checked_add(seconds + part)
    }
}

/// Marks a call to the disk, which tests make fail.
#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "it fails in tests")]
fn step() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
use tests::step;

/// Runs blocking work on a thread where it does not hold up asynchronous tasks.
async fn off_thread<T: Send + 'static>(
    doing: &'static str,
    path: &Path,
    work: impl FnOnce(&Path) -> Result<T, FileError> + Send + 'static,
) -> Result<T, FileError> {
    let owned = path.to_owned();
    match tokio::task::spawn_blocking(move || work(&owned)).await {
        Ok(result) => result,
        Err(stopped) => {
            Err(FileError::Io { doing, path: path.to_owned(), source: io::Error::other(stopped) })
        }
    }
}

pub(super) enum FileLookup {
    Regular(File, Metadata),
    Missing,
    Folder,
    Special,
}

fn find(path: &Path) -> io::Result<FileLookup> {
    match handles::folder_entry(path, MissingFolders::Leave) {
        Ok(Some(spot)) => find_at(&spot),
        Ok(None) => Ok(FileLookup::Folder),
        Err(error) if is_missing(&error) => Ok(FileLookup::Missing),
        Err(error) => Err(error),
    }
}

/// Opens a file that a walk has found to be regular: one look less than [`find_at`] takes, which is
/// a quarter of the time of a search.
fn open_found(path: &Path) -> io::Result<Option<File>> {
    let file = match handles::to_read(path) {
        Ok(file) => File::from(file),
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(file.metadata()?.is_file().then_some(file))
}

/// Looks at the entry before opening it, because opening a FIFO wakes its writer, and again at the
/// opened file, because the entry may have been replaced in between.
pub(super) fn find_at(spot: &FolderEntry) -> io::Result<FileLookup> {
    let Some(stat) = look(spot)? else { return Ok(FileLookup::Missing) };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Ok(FileLookup::Folder),
        FileType::Symlink => return Err(Errno::LOOP.into()),
        _ => return Ok(FileLookup::Special),
    }
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(&spot.folder, &spot.name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(FileLookup::Missing),
        Err(Errno::NXIO) => return Ok(FileLookup::Special),
        Err(errno) => return Err(errno.into()),
    };
    let metadata = file.metadata()?;
    Ok(if metadata.is_dir() {
        FileLookup::Folder
    } else if metadata.is_file() {
        FileLookup::Regular(file, metadata)
    } else {
        FileLookup::Special
    })
}

pub(super) fn look(spot: &FolderEntry) -> io::Result<Option<Stat>> {
    match rustix::fs::statat(&spot.folder, &spot.name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

pub(super) fn read(path: &Path, limit: u64) -> Result<FileState, FileError> {
    state(find(path).map_err(file_error("read", path))?, limit).map_err(file_error("read", path))
}

pub(super) fn state(found: FileLookup, limit: u64) -> io::Result<FileState> {
    let (file, metadata) = match found {
        FileLookup::Regular(file, metadata) => (file, metadata),
        FileLookup::Missing => return Ok(FileState::Missing),
        FileLookup::Folder => return Ok(FileState::Folder),
        FileLookup::Special => return Ok(FileState::Special),
    };
    if metadata.len() > limit {
        return Ok(FileState::TooBig(metadata.len()));
    }
    // The length is only a hint: files under /proc say 0, and a log may grow meanwhile.
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    let length = bytes.len() as u64;
    Ok(if length > limit { FileState::TooBig(length) } else { FileState::File(bytes) })
}

fn items(path: &Path, limit: usize) -> io::Result<(Vec<FolderItem>, u64)> {
    let folder = handles::folder_to_list(path)?;
    let (mut items, mut more) = (Vec::new(), 0);
    for entry in rustix::fs::Dir::read_from(&folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        if items.len() == limit {
            more += 1;
            continue;
        }
        items.push(FolderItem { name: name.to_owned(), kind: item_kind(&folder, name) });
    }
    Ok((items, more))
}

fn item_kind(folder: &OwnedFd, name: &OsStr) -> FolderItemKind {
    let Ok(stat) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
        return FolderItemKind::Special;
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => FolderItemKind::File(u64::try_from(stat.st_size).unwrap_or(0)),
        FileType::Directory => FolderItemKind::Folder,
        FileType::Symlink => match rustix::fs::readlinkat(folder, name, Vec::new()) {
            Ok(target) => FolderItemKind::Link(OsStr::from_bytes(target.to_bytes()).into()),
            Err(_) => FolderItemKind::Special,
        },
        _ => FolderItemKind::Special,
    }
}

fn read_at(path: &Path, offset: u64, length: u64) -> Result<Vec<u8>, FileError> {
    let FileLookup::Regular(mut file, _) = find(path).map_err(file_error("read", path))? else {
        return Err(FileError::Changed(path.to_owned()));
    };
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(offset))
        .and_then(|_| file.take(length).read_to_end(&mut bytes))
        .map_err(file_error("read", path))?;
    Ok(bytes)
}

fn write(
    path: &Path,
    bytes: &[u8],
    expected: Option<Option<ContentHash>>,
) -> Result<WriteReport, FileError> {
    let spot = handles::folder_entry(path, MissingFolders::Make)
        .map_err(file_error("make the folder of", path))?;
    let Some(spot) = spot else { return Err(file_error("write", path)(Errno::ISDIR.into())) };
    let replaced = match find_at(&spot).map_err(file_error("write", path))? {
        FileLookup::Regular(file, metadata) => {
            // The rename would not check whether the file itself may be written.
            rustix::fs::accessat(&spot.folder, &spot.name, Access::WRITE_OK, AtFlags::empty())
                .map_err(|errno| file_error("write", path)(errno.into()))?;
            Some((file, metadata))
        }
        FileLookup::Missing => None,
        FileLookup::Folder => return Err(file_error("write", path)(Errno::ISDIR.into())),
        FileLookup::Special => {
            return Err(file_error("write", path)(io::Error::other("it is not a regular file")));
        }
    };
    step().map_err(file_error("write", path))?;
    let temporary = TemporaryFile::filled(&spot, replaced.as_ref(), bytes, None)
        .map_err(file_error("write a temporary file beside", path))?;
    step().map_err(file_error("write", path))?;
    let guard = lock_replace();
    match expected {
        Some(None) => match temporary.put_where_nothing_is() {
            Ok(()) => {}
            Err(Errno::EXIST) => return Err(FileError::Changed(path.to_owned())),
            Err(errno) => return Err(file_error("write", path)(errno.into())),
        },
        Some(Some(hash)) => {
            ensure_unchanged(path, &spot, &hash)?;
            temporary.put().map_err(|errno| file_error("write", path)(errno.into()))?;
        }
        None => temporary.put().map_err(|errno| file_error("write", path)(errno.into()))?,
    }
    drop(guard);
    sync(&spot).map_err(file_error("sync the folder of", path))?;
    let names = replaced.map_or(1, |(_, metadata)| metadata.nlink());
    Ok(WriteReport { other_names: names.saturating_sub(1) })
}

/// Keeps all other threads of this process from replacing a file until the guard is dropped.
pub(super) fn lock_replace() -> MutexGuard<'static, ()> {
    REPLACING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Syncs the folder: the rename itself is durable only after that.
pub(super) fn sync(spot: &FolderEntry) -> io::Result<()> {
    step()?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::openat(&spot.folder, ".", flags, Mode::empty()) {
        Ok(folder) => File::from(folder).sync_all(),
        // A folder may be writable and not readable: then there is no way to sync it.
        Err(Errno::ACCESS) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// A file beside the one that it is going to replace. The drop removes it, unless it was renamed
/// into place.
pub(super) struct TemporaryFile<'a> {
    spot: &'a FolderEntry,
    name: String,
    file: File,
}

impl<'a> TemporaryFile<'a> {
    /// Makes a file with this content. Its mode is `mode` if given, else the mode of the file that
    /// it replaces, else what the umask leaves.
    pub(super) fn filled(
        spot: &'a FolderEntry,
        replaced: Option<&(File, Metadata)>,
        bytes: &[u8],
        mode: Option<u32>,
    ) -> io::Result<Self> {
        // A new file gets what the umask leaves. A replacement is private until it has the old
        // file's mode or the wanted one, so that others can never read a secret in between.
        let is_private = replaced.is_some() || mode.is_some();
        let created = Mode::from_raw_mode(if is_private { 0o600 } else { 0o666 });
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let name = temporary_name();
        let file = rustix::fs::openat(&spot.folder, &name, flags, created)?;
        let mut temporary = Self { spot, name, file: File::from(file) };
        step()?;
        if let Some((old, metadata)) = replaced {
            let own = take_over(old, metadata, &temporary.file)?;
            if mode.is_none() {
                temporary.file.set_permissions(own)?;
            }
        }
        step()?;
        temporary.file.write_all(bytes)?;
        if let Some(mode) = mode {
            step()?;
            // Set after the content, since writing takes set-id bits away.
            temporary.file.set_permissions(Permissions::from_mode(mode))?;
        }
        step()?;
        // Syncs the metadata, too: a crash must not bring back the temporary file's mode.
        temporary.file.sync_all()?;
        Ok(temporary)
    }

    pub(super) fn put(&self) -> Result<(), Errno> {
        let FolderEntry { folder, name } = self.spot;
        rustix::fs::renameat(folder, &self.name, folder, name)
    }

    pub(super) fn put_where_nothing_is(&self) -> Result<(), Errno> {
        let FolderEntry { folder, name } = self.spot;
        match rustix::fs::renameat_with(folder, &self.name, folder, name, RenameFlags::NOREPLACE) {
            // Not every file system supports this flag; most of those that do not have hard links.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                rustix::fs::linkat(folder, &self.name, folder, name, AtFlags::empty())
            }
            renamed => renamed,
        }
    }
}

impl Drop for TemporaryFile<'_> {
    fn drop(&mut self) {
        // After the rename nothing has this name, and the call fails.
        let _ = rustix::fs::unlinkat(&self.spot.folder, &self.name, AtFlags::empty());
    }
}

/// The beginning of the names of temporary files; the process id and a random id follow.
const TEMPORARY: &str = ".slug-";

/// A unique name, by which the files that a killed slug left behind are recognised.
pub(super) fn temporary_name() -> String {
    format!("{TEMPORARY}{}-{}.tmp", std::process::id(), Uuid::new_v4().simple())
}

/// Removes the temporary files and links that a killed slug has left beside `target`, and returns
/// their number.
///
/// # Errors
///
/// When the folder cannot be listed, or one of the files cannot be looked at or removed.
pub fn remove_leftovers(target: &Path) -> io::Result<usize> {
    let folder = match target.parent() {
        Some(folder) => folder.canonicalize()?,
        None => return Ok(0),
    };
    let mut removed = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let writer = entry.file_name().to_str().and_then(writer);
        let kind = entry.file_type()?;
        if (kind.is_file() || kind.is_symlink()) && writer.is_some_and(is_gone) {
            std::fs::remove_file(entry.path())?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// The process id in the name of a temporary file; `None` for any other name.
fn writer(name: &str) -> Option<Pid> {
    let (process, id) = name.strip_prefix(TEMPORARY)?.strip_suffix(".tmp")?.split_once('-')?;
    let is_id = Uuid::try_parse(id).is_ok() && id.len() == Uuid::nil().simple().to_string().len();
    is_id.then(|| Pid::from_raw(process.parse().ok()?)).flatten()
}

fn is_gone(process: Pid) -> bool {
    test_kill_process(process) == Err(Errno::SRCH)
}

/// Gives the new file the owner and extended attributes of the old one, and returns the mode that
/// it must get then.
fn take_over(old: &File, metadata: &Metadata, new: &File) -> io::Result<Permissions> {
    let mut mode = metadata.mode() & 0o7777;
    let made = new.metadata()?;
    if (made.uid(), made.gid()) != (metadata.uid(), metadata.gid()) {
        let (owner, group) = (Uid::from_raw(metadata.uid()), Gid::from_raw(metadata.gid()));
        if rustix::fs::fchown(new, Some(owner), Some(group)).is_err() {
            // Only root can give files away. Without the owner the set-id bits are dropped, and
            // without the group the group gets no more rights than everybody.
            mode &= 0o1777;
            if rustix::fs::fchown(new, None, Some(group)).is_err() {
                mode = (mode & 0o1707) | ((mode & 0o007) << 3);
            }
        }
    }
    copy_attributes(old, new);
    Ok(Permissions::from_mode(mode))
}

/// Copies extended attributes, access lists among them, as far as possible: many file systems have
/// none, and `security.*` often needs root. Neither is a reason not to save the user's file.
fn copy_attributes(old: &File, new: &File) {
    let Ok(size) = rustix::fs::flistxattr_query(old) else { return };
    let mut names = vec![0; size];
    if size == 0 || rustix::fs::flistxattr(old, &mut names).is_err() {
        return;
    }
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let name = Path::new(OsStr::from_bytes(name));
        let Ok(size) = rustix::fs::fgetxattr_query(old, name) else { continue };
        let mut value = vec![0; size];
        if size == 0 || rustix::fs::fgetxattr(old, name, &mut value).is_ok() {
            let _ = rustix::fs::fsetxattr(new, name, &value, XattrFlags::empty());
        }
    }
}

fn ensure_unchanged(
    path: &Path,
    spot: &FolderEntry,
    expected: &ContentHash,
) -> Result<(), FileError> {
    let found = find_at(spot).and_then(|found| state(found, u64::MAX));
    match found.map_err(file_error("read", path))? {
        FileState::File(bytes) if ContentHash::of(&bytes) == *expected => Ok(()),
        FileState::File(_)
        | FileState::TooBig(_)
        | FileState::Missing
        | FileState::Folder
        | FileState::Special => Err(FileError::Changed(path.to_owned())),
    }
}

pub(super) fn file_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
    let path = path.to_owned();
    move |source| match source.raw_os_error() {
        Some(code) if code == Errno::LOOP.raw_os_error() => FileError::Linked(path),
        Some(_) | None => FileError::Io { doing, path, source },
    }
}

#[cfg(test)]
pub(in crate::platform) mod tests;
