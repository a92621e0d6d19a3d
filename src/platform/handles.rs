//! Opens the folder of a file by its real path, without following a single symbolic link.
//!
//! An approval is for a place, which was found by following the links of the path in the call. The
//! place that is opened later must be the same, even if somebody puts a link in its way meanwhile.
//! So the path is walked from the root, name by name, each below a handle of the folder above, and
//! a link anywhere on it is an error. Linux does that in one call, `openat2`. Where that is missing
//! (before Linux 5.6, in some containers, on macOS) it is done in steps.
//!
//! This is stricter than staying below a root, as `RESOLVE_BENEATH` and cap-std do: there, a folder
//! that is swapped for a link could still move a write to another place below the root, such as
//! `.git/hooks`.
//!
//! Not covered: a folder that is moved while its handle is open is still that folder, so that the
//! write goes to its new place.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

/// A place that may or may not exist yet: an open folder and a name in it.
#[derive(Debug)]
pub(super) struct FolderEntry {
    pub(super) folder: OwnedFd,
    pub(super) name: OsString,
}

/// How folders that do not exist are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingFolders {
    /// A missing folder is an error.
    Leave,
    /// Missing folders are made.
    Make,
}

/// Opens a folder only to look up names in it.
#[cfg(target_os = "linux")]
const STEP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const STEP: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Opens the folder of `path`; `None` for the root, which is in no folder. A symbolic link on the
/// way gives `ELOOP`.
pub(super) fn folder_entry(
    path: &Path,
    missing: MissingFolders,
) -> io::Result<Option<FolderEntry>> {
    check_real(path)?;
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
    let folder = folder(parent, missing)?;
    Ok(Some(FolderEntry { folder, name: name.to_owned() }))
}

fn check_real(path: &Path) -> io::Result<()> {
    let plain = |part: &Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    if path.is_absolute() && path.components().all(|part| plain(&part)) {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a real path"))
    }
}

/// Opens a folder to list what is in it. A symbolic link on the way or at its end gives `ELOOP`.
pub(super) fn folder_to_list(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Some(entry) = folder_entry(path, MissingFolders::Leave)? else {
        return Ok(rustix::fs::openat(CWD, path, flags, Mode::empty())?);
    };
    let opened =
        rustix::fs::openat(&entry.folder, &entry.name, flags | OFlags::NOFOLLOW, Mode::empty());
    opened.map_err(|errno| match is_link(&entry.folder, &entry.name) {
        true => Errno::LOOP.into(),
        false => errno.into(),
    })
}

/// Opens what is at `path` for reading, without waiting for a writer of a FIFO. A symbolic link on the
/// way or at its end gives `ELOOP`.
pub(super) fn to_read(path: &Path) -> io::Result<OwnedFd> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    {
        check_real(path)?;
        let only = rustix::fs::ResolveFlags::NO_SYMLINKS;
        match rustix::fs::openat2(CWD, path, flags, Mode::empty(), only) {
            Ok(file) => return Ok(file),
            Err(Errno::NOSYS | Errno::PERM) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    let Some(entry) = folder_entry(path, MissingFolders::Leave)? else {
        return Err(Errno::ISDIR.into());
    };
    Ok(rustix::fs::openat(&entry.folder, &entry.name, flags, Mode::empty())?)
}

fn folder(path: &Path, missing: MissingFolders) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        let only = rustix::fs::ResolveFlags::NO_SYMLINKS;
        match rustix::fs::openat2(CWD, path, STEP, Mode::empty(), only) {
            Ok(folder) => return Ok(folder),
            Err(Errno::NOENT) if missing == MissingFolders::Make => {}
            // The kernel lacks the call, or a container that does not know it forbids it.
            Err(Errno::NOSYS | Errno::PERM) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    in_steps(path, missing)
}

fn in_steps(path: &Path, missing: MissingFolders) -> io::Result<OwnedFd> {
    let mut here = rustix::fs::openat(CWD, "/", STEP, Mode::empty())?;
    for part in path.components() {
        if let Component::Normal(name) = part {
            here = step(&here, name, missing)?;
        }
    }
    Ok(here)
}

fn step(here: &OwnedFd, name: &OsStr, missing: MissingFolders) -> io::Result<OwnedFd> {
    let open = || rustix::fs::openat(here, name, STEP | OFlags::NOFOLLOW, Mode::empty());
    let mut opened = open();
    if opened.as_ref().is_err_and(|errno| *errno == Errno::NOENT) && missing == MissingFolders::Make
    {
        match rustix::fs::mkdirat(here, name, Mode::from_raw_mode(0o777)) {
            // Another process may have made it meanwhile.
            Ok(()) | Err(Errno::EXIST) => opened = open(),
            Err(errno) => return Err(errno.into()),
        }
    }
    // Which error a link gives depends on the system.
    opened.map_err(|errno| if is_link(here, name) { Errno::LOOP.into() } else { errno.into() })
}

fn is_link(folder: impl AsFd, name: &OsStr) -> bool {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// The path of an opened folder, as the system reports it.
    fn opened(
        path: &Path,
        way: fn(&Path, MissingFolders) -> io::Result<OwnedFd>,
    ) -> io::Result<bool> {
        let handle = fs::File::from(way(path, MissingFolders::Leave)?).metadata()?;
        let meant = fs::symlink_metadata(path)?;
        use std::os::unix::fs::MetadataExt;
        Ok((handle.dev(), handle.ino()) == (meant.dev(), meant.ino()))
    }

    #[test]
    fn both_ways_open_the_same_and_follow_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b/c")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        symlink("a", root.join("link")).unwrap();
        symlink("b", root.join("a/last")).unwrap();
        let is = |error: Errno| Err(error.raw_os_error());
        let cases = [
            ("a/b/c", Ok(true)),
            ("a", Ok(true)),
            ("", Ok(true)),
            ("link/b", is(Errno::LOOP)),
            ("a/last", is(Errno::LOOP)),
            ("a/none/c", is(Errno::NOENT)),
            ("file/c", is(Errno::NOTDIR)),
        ];
        for way in [folder, in_steps] {
            for (path, expected) in &cases {
                let found = opened(&root.join(path), way);
                let found = found.map_err(|error| error.raw_os_error().unwrap());
                assert_eq!(found, *expected, "{path}");
            }
        }
    }

    #[test]
    fn missing_folders_are_made_below_folders_alone() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join("elsewhere")).unwrap();
        symlink("elsewhere", root.join("link")).unwrap();
        folder_entry(&root.join("x/y/z/file"), MissingFolders::Make).unwrap();
        assert!(root.join("x/y/z").is_dir());
        assert!(folder_entry(&root.join("link/y/file"), MissingFolders::Make).is_err());
        assert_eq!(fs::read_dir(root.join("elsewhere")).unwrap().count(), 0);
    }

    #[test]
    fn only_real_paths_are_taken() {
        assert!(folder_entry(Path::new("relative/x"), MissingFolders::Leave).is_err());
        assert!(folder_entry(Path::new("/tmp/../etc/x"), MissingFolders::Leave).is_err());
        assert!(folder_entry(Path::new("/"), MissingFolders::Leave).unwrap().is_none());
    }
}
