//! The [`Files`] port on the real file system.
//!
//! Nothing here can hang on a FIFO or a device: what is at a path is looked at before and after it
//! is opened, and it is opened without blocking. A file is replaced in one step by a temporary
//! file beside it, so that a reader sees the old bytes or the new ones, never a part; other names
//! of a hard-linked file keep the old content. A symbolic link stays, its target is replaced.
//!
//! Which paths may be touched is not decided here.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use rustix::fs::{Access, Gid, OFlags, Uid, XattrFlags};
use rustix::io::Errno;

use crate::domain::ContentHash;
use crate::tools::{FileError, FileState, Files};

/// Files on this machine. All agents of a process share one.
#[derive(Debug, Clone, Default)]
pub struct DiskFiles {
    /// Held from the last look at a file until it is replaced, so that of two agents that change
    /// the same content one is refused.
    replacing: Arc<Mutex<()>>,
}

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
    ) -> Result<(), FileError> {
        let (bytes, replacing) = (bytes.to_owned(), self.replacing.clone());
        off_thread("write", path, move |path| write(path, &bytes, expected, &replacing)).await
    }
}

/// Runs blocking work where it does not hold up the asynchronous threads.
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

enum Found {
    Regular(File, Metadata),
    Missing,
    Folder,
    Special,
}

/// Looks before it opens, because opening a FIFO wakes its writer, and again at what was opened,
/// because something else may have been put there in between.
fn find(path: &Path) -> io::Result<Found> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => return Ok(Found::Folder),
        Ok(metadata) if !metadata.is_file() => return Ok(Found::Special),
        Ok(_) => {}
        Err(error) if is_missing(&error) => return Ok(Found::Missing),
        Err(error) => return Err(error),
    }
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    let file = match OpenOptions::new().read(true).custom_flags(flags as i32).open(path) {
        Ok(file) => file,
        Err(error) if is_missing(&error) => return Ok(Found::Missing),
        Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {
            return Ok(Found::Special);
        }
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    Ok(if metadata.is_dir() {
        Found::Folder
    } else if metadata.is_file() {
        Found::Regular(file, metadata)
    } else {
        Found::Special
    })
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn read(path: &Path, limit: u64) -> Result<FileState, FileError> {
    let (file, metadata) = match find(path).map_err(failed("read", path))? {
        Found::Regular(file, metadata) => (file, metadata),
        Found::Missing => return Ok(FileState::Missing),
        Found::Folder => return Ok(FileState::Folder),
        Found::Special => return Ok(FileState::Special),
    };
    if metadata.len() > limit {
        return Ok(FileState::TooBig(metadata.len()));
    }
    // The length is only a hint: files under /proc say 0, and a log may grow meanwhile.
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(failed("read", path))?;
    let length = bytes.len() as u64;
    Ok(if length > limit { FileState::TooBig(length) } else { FileState::File(bytes) })
}

fn read_at(path: &Path, offset: u64, length: u64) -> Result<Vec<u8>, FileError> {
    let Found::Regular(mut file, _) = find(path).map_err(failed("read", path))? else {
        return Err(FileError::Changed(path.to_owned()));
    };
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(offset))
        .and_then(|_| file.take(length).read_to_end(&mut bytes))
        .map_err(failed("read", path))?;
    Ok(bytes)
}

fn write(
    path: &Path,
    bytes: &[u8],
    expected: Option<Option<ContentHash>>,
    replacing: &Mutex<()>,
) -> Result<(), FileError> {
    let target = link_target(path).map_err(failed("write", path))?;
    let folder = target.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).map_err(failed("make the folder of", path))?;
    let replaced = match find(&target).map_err(failed("write", path))? {
        Found::Regular(file, metadata) => {
            // The rename would not ask whether the file itself may be written.
            rustix::fs::access(&target, Access::WRITE_OK)
                .map_err(|errno| failed("write", path)(errno.into()))?;
            Some((file, metadata))
        }
        Found::Missing => None,
        Found::Folder => return Err(failed("write", path)(Errno::ISDIR.into())),
        Found::Special => {
            return Err(failed("write", path)(io::Error::other("it is not a regular file")));
        }
    };
    // From here on, dropping `temporary` removes it.
    let temporary = temporary_file(folder, replaced.as_ref(), bytes)
        .map_err(failed("write a temporary file beside", path))?;
    let guard = replacing.lock().unwrap_or_else(PoisonError::into_inner);
    match expected {
        Some(None) => {
            temporary.persist_noclobber(&target).map_err(|failure| match failure.error.kind() {
                io::ErrorKind::AlreadyExists => FileError::Changed(path.to_owned()),
                _ => failed("write", path)(failure.error),
            })?;
        }
        Some(Some(hash)) => {
            ensure_unchanged(path, &target, &hash)?;
            temporary.persist(&target).map_err(|failure| failed("write", path)(failure.error))?;
        }
        None => {
            temporary.persist(&target).map_err(|failure| failed("write", path)(failure.error))?;
        }
    }
    drop(guard);
    // The rename itself is durable only once the folder is.
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("sync", folder))
}

/// Where a write through `path` lands: the end of a chain of links, which may not exist yet.
fn link_target(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    // As many as Linux follows.
    for _ in 0..40 {
        match fs::read_link(&target) {
            Ok(link) => target = target.parent().unwrap_or(Path::new("/")).join(link),
            Err(error) if is_missing(&error) || error.kind() == io::ErrorKind::InvalidInput => {
                return Ok(target);
            }
            Err(error) => return Err(error),
        }
    }
    Err(Errno::LOOP.into())
}

fn temporary_file(
    folder: &Path,
    replaced: Option<&(File, Metadata)>,
    bytes: &[u8],
) -> io::Result<tempfile::NamedTempFile> {
    // A new file gets what the umask leaves. A replacement is private until it has the old
    // file's mode, so that a secret is never readable by others in between.
    let mode = if replaced.is_some() { 0o600 } else { 0o666 };
    let mut temporary = tempfile::Builder::new()
        .prefix(".slug-")
        .suffix(".tmp")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)?;
    if let Some((old, metadata)) = replaced {
        take_over(old, metadata, temporary.as_file())?;
    }
    temporary.write_all(bytes)?;
    // With its metadata: a crash must not bring back the temporary file's mode.
    temporary.as_file().sync_all()?;
    Ok(temporary)
}

/// Gives the new file the owner, extended attributes and mode of the old one.
fn take_over(old: &File, metadata: &Metadata, new: &File) -> io::Result<()> {
    let mut mode = metadata.mode() & 0o7777;
    let made = new.metadata()?;
    if (made.uid(), made.gid()) != (metadata.uid(), metadata.gid()) {
        let (owner, group) = (Uid::from_raw(metadata.uid()), Gid::from_raw(metadata.gid()));
        if rustix::fs::fchown(new, Some(owner), Some(group)).is_err() {
            // Only root can give files away. Then set-id bits must not move to another owner,
            // and where the group cannot be kept either, it gets no more than everybody.
            mode &= 0o1777;
            if rustix::fs::fchown(new, None, Some(group)).is_err() {
                mode = (mode & 0o1707) | ((mode & 0o007) << 3);
            }
        }
    }
    copy_attributes(old, new);
    new.set_permissions(Permissions::from_mode(mode))
}

/// Copies extended attributes, access lists among them. Best effort: many file systems have none,
/// and `security.*` is often not for us to set; neither is a reason not to save the person's file.
fn copy_attributes(old: &File, new: &File) {
    let Ok(size) = rustix::fs::flistxattr_query(old) else { return };
    let mut names = vec![0; size];
    if size == 0 || rustix::fs::flistxattr(old, &mut names).is_err() {
        return;
    }
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let name = Path::new(std::ffi::OsStr::from_bytes(name));
        let Ok(size) = rustix::fs::fgetxattr_query(old, name) else { continue };
        let mut value = vec![0; size];
        if size == 0 || rustix::fs::fgetxattr(old, name, &mut value).is_ok() {
            let _ = rustix::fs::fsetxattr(new, name, &value, XattrFlags::empty());
        }
    }
}

fn ensure_unchanged(path: &Path, target: &Path, expected: &ContentHash) -> Result<(), FileError> {
    match read(target, u64::MAX)? {
        FileState::File(bytes) if ContentHash::of(&bytes) == *expected => Ok(()),
        FileState::File(_)
        | FileState::TooBig(_)
        | FileState::Missing
        | FileState::Folder
        | FileState::Special => Err(FileError::Changed(path.to_owned())),
    }
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
    let path = path.to_owned();
    move |source| FileError::Io { doing, path, source }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use tempfile::TempDir;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn r49_special_files_are_told_apart_without_blocking() {
        let dir = TempDir::new().unwrap();
        let at = |name: &str| dir.path().join(name);
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, at("fifo"), rustix::fs::FileType::Fifo, mode, 0)
            .unwrap();
        let _listener = UnixListener::bind(at("socket")).unwrap();
        symlink(at("fifo"), at("link")).unwrap();
        fs::write(at("file"), "x").unwrap();
        let cases = [
            (at("fifo"), FileState::Special),
            (at("link"), FileState::Special),
            (at("socket"), FileState::Special),
            ("/dev/zero".into(), FileState::Special),
            (dir.path().to_owned(), FileState::Folder),
            (at("none"), FileState::Missing),
            (at("file/none"), FileState::Missing),
            (at("file"), FileState::File(b"x".to_vec())),
        ];
        for (path, expected) in cases {
            assert_eq!(DiskFiles::default().read(&path, 10).await.unwrap(), expected, "{path:?}");
        }
        assert!(DiskFiles::default().write(&at("fifo"), b"", None).await.is_err());
        assert!(DiskFiles::default().write(dir.path(), b"", None).await.is_err());
    }

    #[tokio::test]
    async fn more_than_the_limit_is_not_read() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "12345").unwrap();
        assert_eq!(
            DiskFiles::default().read(&path, 5).await.unwrap(),
            FileState::File(b"12345".to_vec())
        );
        assert_eq!(DiskFiles::default().read(&path, 4).await.unwrap(), FileState::TooBig(5));
        assert_eq!(DiskFiles::default().read_at(&path, 1, 3).await.unwrap(), b"234");
        assert_eq!(DiskFiles::default().read_at(&path, 9, 3).await.unwrap(), b"");
    }

    #[tokio::test]
    async fn a_write_makes_folders_and_leaves_nothing_else() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("a/b/f");
        DiskFiles::default().write(&path, b"new", Some(None)).await.unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(&dir.path().join("a/b")), ["f"]);
    }

    #[tokio::test]
    async fn a_new_file_has_the_mode_that_any_program_would_give_it() {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("plain"), "").unwrap();
        DiskFiles::default().write(&dir.path().join("ours"), b"", None).await.unwrap();
        let mode = |name: &str| fs::metadata(dir.path().join(name)).unwrap().mode();
        assert_eq!(mode("ours"), mode("plain"));
    }

    #[tokio::test]
    async fn r15_a_replaced_file_keeps_its_mode() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("run.sh");
        fs::write(&path, "old").unwrap();
        for mode in [0o755, 0o600, 0o664] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            DiskFiles::default().write(&path, b"new", None).await.unwrap();
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode);
        }
    }

    #[tokio::test]
    async fn a_file_that_may_not_be_written_is_not_replaced() {
        // Root may write all files.
        if rustix::process::geteuid().is_root() {
            return;
        }
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
        assert!(DiskFiles::default().write(&path, b"new", None).await.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }

    #[tokio::test]
    async fn r15_a_link_stays_and_its_target_is_written() {
        let dir = TempDir::new().unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        let (target, link) = (dir.path().join("sub/target"), dir.path().join("link"));
        symlink("sub/target", &link).unwrap();
        for content in [b"new".as_slice(), b"newer"] {
            DiskFiles::default().write(&link, content, None).await.unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_eq!(fs::read(&target).unwrap(), content);
        }
        symlink("loop", dir.path().join("loop")).unwrap();
        assert!(DiskFiles::default().write(&dir.path().join("loop"), b"", None).await.is_err());
    }

    #[tokio::test]
    async fn s43_the_other_name_of_a_hard_link_is_not_changed() {
        let dir = TempDir::new().unwrap();
        let (ours, theirs) = (dir.path().join("x"), dir.path().join("bashrc"));
        fs::write(&theirs, "old").unwrap();
        fs::hard_link(&theirs, &ours).unwrap();
        DiskFiles::default().write(&ours, b"new", None).await.unwrap();
        assert_eq!(
            (fs::read(&ours).unwrap(), fs::read(&theirs).unwrap()),
            (b"new".to_vec(), b"old".to_vec())
        );
    }

    #[tokio::test]
    async fn s51_other_content_than_expected_is_left_alone() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "theirs").unwrap();
        for expected in [None, Some(ContentHash::of(b"mine"))] {
            let result = DiskFiles::default().write(&path, b"new", Some(expected)).await;
            assert!(matches!(result, Err(FileError::Changed(_))));
        }
        let gone = dir.path().join("gone");
        let result =
            DiskFiles::default().write(&gone, b"new", Some(Some(ContentHash::of(b"mine")))).await;
        assert!(matches!(result, Err(FileError::Changed(_))));
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        assert_eq!(names(dir.path()), ["f"], "no temporary file stays behind");

        let hash = ContentHash::of(b"theirs");
        DiskFiles::default().write(&path, b"new", Some(Some(hash))).await.unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn r16_of_many_writers_one_wins() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "old").unwrap();
        let files = DiskFiles::default();
        let writers = (0..16_u8).map(|number| {
            let (files, path) = (files.clone(), path.clone());
            let expected = Some(Some(ContentHash::of(b"old")));
            tokio::spawn(async move { files.write(&path, &[number], expected).await.is_ok() })
        });
        let mut winners = 0;
        for writer in writers.collect::<Vec<_>>() {
            winners += usize::from(writer.await.unwrap());
        }
        assert_eq!(winners, 1);
    }

    #[tokio::test]
    async fn extended_attributes_are_kept_where_there_are_any() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "old").unwrap();
        let file = File::open(&path).unwrap();
        let name = "user.slug-test";
        if rustix::fs::fsetxattr(&file, name, b"yes", XattrFlags::empty()).is_err() {
            return;
        }
        DiskFiles::default().write(&path, b"new", None).await.unwrap();
        let mut value = [0; 3];
        rustix::fs::fgetxattr(File::open(&path).unwrap(), name, &mut value).unwrap();
        assert_eq!(&value, b"yes");
    }
}
