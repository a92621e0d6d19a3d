//! Scratch folders: one for each session, in the system's folder for temporary files, for files of
//! the model's own and for long output of commands.
//!
//! The gate lets the model write there unasked, so the folder has to be the one that slug made:
//! it and the folder around it belong to the user, have mode 0700 and are no links. Each open
//! checks that without following a link, and where it does not hold there is no scratch folder.
//! A path in it is checked by the gate like any other: a link in it leads where it leads.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};

use crate::tools::{OutputFile, OutputFiles};

/// The mode of the folders: for the user alone.
const FOLDER_MODE: u32 = 0o700;
/// The mode of the files that slug makes in them.
const FILE_MODE: u32 = 0o600;
/// The sticky bit: only the owner of an entry can move or remove it.
const STICKY: u32 = 0o1000;
/// The permission of others to write.
const GROUP_WRITE: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;

/// How many numbers are tried for the name of an output file.
const MAX_NAMES: u32 = 10_000;

/// The folder that holds all scratch folders of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScratchRoot {
    temporary: PathBuf,
}

/// The scratch folder of a session.
#[derive(Debug)]
pub struct SessionScratch {
    path: PathBuf,
    handle: OwnedFd,
    /// The number of the last output file.
    last: AtomicU32,
}

/// A scratch folder that nobody has changed anything in for long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldScratch {
    path: PathBuf,
    /// The session's id, as the folder's name.
    pub name: String,
    pub bytes: u64,
}

impl ScratchRoot {
    /// The root in the system's folder for temporary files.
    pub fn system() -> Self {
        let temporary = std::env::temp_dir();
        // A relative one would be another folder in each place.
        let is_usable = temporary.is_absolute();
        Self::in_folder(if is_usable { temporary } else { PathBuf::from("/tmp") })
    }

    /// The root in this folder for temporary files.
    pub fn in_folder(temporary: PathBuf) -> Self {
        Self { temporary }
    }

    /// The folder for temporary files.
    pub(super) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Makes the folder `name` where it is missing, and opens it.
    ///
    /// # Errors
    ///
    /// When it or the folder around it is a link, no folder or another user's; when others could
    /// put something in their place; and when it cannot be made.
    pub fn open(&self, name: &str) -> io::Result<SessionScratch> {
        let temporary = self.temporary.canonicalize()?;
        if !is_safe(&fs::metadata(&temporary)?) {
            let what = format!("other users could replace what is in {}", temporary.display());
            return Err(io::Error::other(what));
        }
        let outer = rustix::fs::openat(CWD, &temporary, FOLDER, Mode::empty())?;
        let around = root_name();
        let open = || private_folder(private_folder(&outer, around.as_ref())?, name.as_ref());
        // Another session may just have removed the folder around it, which was empty then.
        let handle = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => open()?,
            opened => opened?,
        };
        let path = temporary.join(&around).join(name);
        Ok(SessionScratch { path, handle, last: AtomicU32::new(0) })
    }

    /// The folders in which nothing was changed for `age`.
    ///
    /// # Errors
    ///
    /// When the root cannot be listed, or is not the user's own. No root is no error.
    pub fn old_folders(&self, age: Duration) -> io::Result<Vec<OldScratch>> {
        let root = self.temporary.join(root_name());
        match root.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Ok(found) if found.is_dir() && is_own(&found) => {}
            Ok(_) => return Err(io::Error::other("it is no folder of this user's own")),
            Err(error) => return Err(error),
        }
        let mut old = Vec::new();
        for entry in fs::read_dir(&root)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if !entry.file_type()?.is_dir() {
                continue;
            }
            let path = entry.path();
            let (bytes, newest) = match measured(&path) {
                Ok(measured) => measured,
                Err(error) => {
                    tracing::warn!(folder = %path.display(), %error, "a scratch folder stays");
                    continue;
                }
            };
            // A time in the future is not old.
            if SystemTime::now().duration_since(newest).is_ok_and(|since| since >= age) {
                old.push(OldScratch { path, name, bytes });
            }
        }
        Ok(old)
    }
}

impl OldScratch {
    /// Removes the folder with all that is in it. Links in it are removed, not followed.
    ///
    /// # Errors
    ///
    /// When something in it cannot be removed.
    pub fn remove(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.path)
    }
}

impl SessionScratch {
    /// The real path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the folder its mode again, which a command may have changed.
    pub fn keep_private(&self) {
        let mode = Mode::from_raw_mode(FOLDER_MODE);
        if let Err(error) = rustix::fs::fchmod(&self.handle, mode) {
            tracing::warn!(%error, folder = %self.path.display(), "the scratch folder keeps its mode");
        }
    }

    /// Removes the folder if nothing is in it, and the one around it if it was the last: most
    /// sessions never use theirs.
    pub fn remove_if_empty(&self) {
        for folder in self.path.ancestors().take(2) {
            // It fails where something is in it, or where it is gone already.
            let _ = fs::remove_dir(folder);
        }
    }
}

impl OutputFiles for SessionScratch {
    fn create(&self) -> io::Result<OutputFile> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        for _ in 0..MAX_NAMES {
            let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
            let name = format!("output-{number}.txt");
            let mode = Mode::from_raw_mode(FILE_MODE);
            match rustix::fs::openat(&self.handle, &name, flags | OFlags::CLOEXEC, mode) {
                Ok(file) => {
                    return Ok(OutputFile { path: self.path.join(name), file: File::from(file) });
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Err(io::Error::other("there are too many files of that name"))
    }
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn root_name() -> String {
    format!("slug-{}", geteuid().as_raw())
}

/// Opens a folder of the user's own, and makes it where it is missing.
fn private_folder(parent: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    match rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(FOLDER_MODE)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno.into()),
    }
    let folder = File::from(rustix::fs::openat(&parent, name, FOLDER, Mode::empty())?);
    let found = folder.metadata()?;
    if !is_own(&found) {
        return Err(io::Error::other("the folder belongs to another user"));
    }
    if found.mode() & 0o7777 != FOLDER_MODE {
        folder.set_permissions(fs::Permissions::from_mode(FOLDER_MODE))?;
    }
    Ok(folder.into())
}

pub(super) fn is_own(found: &Metadata) -> bool {
    found.uid() == geteuid().as_raw()
}

/// Whether no other user can move or remove what is in this folder.
fn is_safe(temporary: &Metadata) -> bool {
    let is_trusted = is_own(temporary) || temporary.uid() == 0;
    let by_group = temporary.mode() & GROUP_WRITE != 0 && temporary.gid() != getegid().as_raw();
    let by_others = temporary.mode() & OTHERS_WRITE != 0;
    is_trusted && (temporary.mode() & STICKY != 0 || !by_group && !by_others)
}

/// The size of a folder, and the time of the newest change in it. Links are not followed.
pub(super) fn measured(path: &Path) -> io::Result<(u64, SystemTime)> {
    let found = path.symlink_metadata()?;
    let (mut bytes, mut newest) = (found.len(), found.modified()?);
    if found.is_dir() {
        for entry in fs::read_dir(path)? {
            let (more, time) = match measured(&entry?.path()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                measured => measured?,
            };
            bytes += more;
            newest = newest.max(time);
        }
    }
    Ok((bytes, newest))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::{chown, symlink};

    use super::*;

    fn temporary() -> (tempfile::TempDir, PathBuf, ScratchRoot) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        let root = ScratchRoot::in_folder(path.clone());
        (dir, path, root)
    }

    #[test]
    fn a_folder_that_a_command_has_opened_to_others_is_closed_again() {
        let (_dir, _, root) = temporary();
        let folder = root.open("s1").unwrap();
        for mode in [0o777, 0o750, 0o000, 0o1700] {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
            folder.keep_private();
            assert_eq!(fs::metadata(folder.path()).unwrap().mode() & 0o7777, FOLDER_MODE);
        }
        // Where it is gone, nothing is made in its place.
        fs::remove_dir(folder.path()).unwrap();
        folder.keep_private();
        assert!(!folder.path().exists());
    }

    #[test]
    fn a_folder_is_for_the_user_alone_and_stays_the_same() {
        let (_dir, temporary, root) = temporary();
        let folder = root.open("s1").unwrap();
        assert_eq!(folder.path(), temporary.join(root_name()).join("s1"));
        for path in [folder.path(), folder.path().parent().unwrap()] {
            assert_eq!(fs::metadata(path).unwrap().mode() & 0o7777, FOLDER_MODE);
        }
        fs::write(folder.path().join("kept"), "x").unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let again = root.open("s1").unwrap();
        assert_eq!(fs::read(again.path().join("kept")).unwrap(), b"x");
        assert_eq!(fs::metadata(again.path()).unwrap().mode() & 0o7777, FOLDER_MODE);
    }

    #[test]
    fn a_link_or_a_file_in_its_place_is_refused() {
        for place in [root_name(), format!("{}/s1", root_name())] {
            let (_dir, temporary, root) = temporary();
            let elsewhere = temporary.join("elsewhere");
            fs::create_dir_all(elsewhere.join("s1")).unwrap();
            fs::create_dir_all(temporary.join(&place).parent().unwrap()).unwrap();
            symlink(&elsewhere, temporary.join(&place)).unwrap();
            assert!(root.open("s1").is_err(), "a link at {place}");
            assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
            fs::remove_file(temporary.join(&place)).unwrap();
            fs::write(temporary.join(&place), "").unwrap();
            assert!(root.open("s1").is_err(), "a file at {place}");
        }
    }

    #[test]
    fn a_temporary_folder_in_which_others_can_move_things_is_refused() {
        let (_dir, temporary, root) = temporary();
        fs::set_permissions(&temporary, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(root.open("s1").is_err());
        if geteuid().is_root() {
            chown(&temporary, None, Some(getegid().as_raw() + 1)).unwrap();
            fs::set_permissions(&temporary, fs::Permissions::from_mode(0o775)).unwrap();
            assert!(root.open("s1").is_err(), "a group of others");
        }
        fs::set_permissions(&temporary, fs::Permissions::from_mode(0o1777)).unwrap();
        assert!(root.open("s1").is_ok());
    }

    #[test]
    fn output_files_never_replace_or_follow_what_is_there() {
        let (_dir, temporary, root) = temporary();
        let folder = root.open("s1").unwrap();
        fs::write(temporary.join("target"), "whole").unwrap();
        symlink(temporary.join("target"), folder.path().join("output-1.txt")).unwrap();
        fs::write(folder.path().join("output-2.txt"), "mine").unwrap();
        let mut output = folder.create().unwrap();
        assert_eq!(output.path, folder.path().join("output-3.txt"));
        output.file.write_all(b"text").unwrap();
        assert_eq!(output.file.metadata().unwrap().mode() & 0o777, FILE_MODE);
        assert_eq!(fs::read(temporary.join("target")).unwrap(), b"whole");
        assert_eq!(fs::read(folder.path().join("output-2.txt")).unwrap(), b"mine");
        // The folder that was opened, whatever stands in its place now.
        fs::rename(folder.path(), temporary.join("moved")).unwrap();
        symlink(&temporary, folder.path()).unwrap();
        folder.create().unwrap();
        assert!(temporary.join("moved/output-4.txt").exists());
        assert!(!temporary.join("output-4.txt").exists());
    }

    #[test]
    fn a_folder_that_cannot_be_read_keeps_no_other() {
        let (_dir, _, root) = temporary();
        let closed = root.open("s1").unwrap();
        root.open("s2").unwrap();
        let inner = closed.path().join("closed");
        fs::create_dir(&inner).unwrap();
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o000)).unwrap();
        let old = root.old_folders(Duration::ZERO).unwrap();
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o700)).unwrap();
        let mut names: Vec<&str> = old.iter().map(|it| it.name.as_str()).collect();
        names.sort_unstable();
        // Root reads all.
        let expected: &[&str] = if geteuid().is_root() { &["s1", "s2"] } else { &["s2"] };
        assert_eq!(names, expected);
    }

    #[test]
    fn old_folders_are_removed_with_their_links_alone() {
        let (_dir, temporary, root) = temporary();
        assert_eq!(root.old_folders(Duration::ZERO).unwrap(), []);
        let folder = root.open("s1").unwrap();
        let outside = temporary.join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "x").unwrap();
        symlink(&outside, folder.path().join("link")).unwrap();
        assert_eq!(root.old_folders(Duration::from_secs(60)).unwrap(), []);
        let old = root.old_folders(Duration::ZERO).unwrap();
        assert_eq!(old.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["s1"]);
        folder.remove_if_empty();
        assert!(folder.path().exists());
        old[0].remove().unwrap();
        assert!(!folder.path().exists() && outside.join("file").exists());
        let empty = root.open("s2").unwrap();
        empty.remove_if_empty();
        assert!(!temporary.join(root_name()).exists());
    }
}
