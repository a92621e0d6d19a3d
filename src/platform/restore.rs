//! Reads, restores and removes files, for a rewind of a session.
//!
//! It keeps the rules of the file tools: no symbolic link is followed, on the way or at the end, a
//! file is replaced in one step and keeps its owner, and nothing is written where the path holds
//! something else than expected. Folders that become empty stay.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use crate::tools::{FileError, FileState};

use super::files::{self, FileLookup, TemporaryFile};
use super::handles::{self, FolderEntry, MissingFolders};

/// The content of a path, as found or as wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathContent {
    Nothing,
    /// A regular file.
    File {
        bytes: Vec<u8>,
        /// Permission bits. When writing, `None` keeps those of the replaced file or uses the usual
        /// ones; when comparing, `None` fits any.
        mode: Option<u32>,
    },
    /// A symbolic link.
    Link {
        target: Vec<u8>,
    },
}

/// The result of looking at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathInspection {
    /// Something that [`put`] can write or remove.
    Content(PathContent),
    /// Something that is neither restored nor removed; a few words that say what it is.
    Other(&'static str),
}

/// Reads what is at a real path. Files larger than `limit` bytes are not read.
///
/// # Errors
///
/// When the system cannot read it. A missing file, a folder or a link on the way is no error.
pub fn look(path: &Path, limit: u64) -> io::Result<PathInspection> {
    let spot = match handles::folder_entry(path, MissingFolders::Leave) {
        Ok(Some(spot)) => spot,
        Ok(None) => return Ok(PathInspection::Other("it is a folder now")),
        Err(error) if files::is_missing(&error) => {
            return Ok(PathInspection::Content(PathContent::Nothing));
        }
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            return Ok(PathInspection::Other("a symbolic link is on the way to it now"));
        }
        Err(error) => return Err(error),
    };
    look_at(&spot, limit)
}

fn look_at(spot: &FolderEntry, limit: u64) -> io::Result<PathInspection> {
    let stat = files::look(spot)?;
    if stat.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink) {
        let target = rustix::fs::readlinkat(&spot.folder, &spot.name, Vec::new())?.into_bytes();
        return Ok(PathInspection::Content(PathContent::Link { target }));
    }
    let found = files::find_at(spot)?;
    let mode = match &found {
        FileLookup::Regular(_, metadata) => Some(metadata.permissions().mode() & 0o7777),
        FileLookup::Missing | FileLookup::Folder | FileLookup::Special => None,
    };
    Ok(match files::state(found, limit)? {
        FileState::File(bytes) => PathInspection::Content(PathContent::File { bytes, mode }),
        FileState::Missing => PathInspection::Content(PathContent::Nothing),
        FileState::TooBig(_) => PathInspection::Other("it is too large now"),
        FileState::Folder => PathInspection::Other("it is a folder now"),
        FileState::Special => PathInspection::Other("it is not a regular file now"),
    })
}

/// Whether a restored path survives a crash of the machine.
#[derive(Debug)]
pub enum RestoreDurability {
    /// The folder is synced: a crash changes nothing.
    Synced,
    /// The change is made, but a crash of the machine may bring the old state back.
    NotSynced(FileError),
}

/// Puts `wanted` at a real path that must still hold `expected`; missing folders are made.
///
/// # Errors
///
/// [`FileError::Changed`] when the path holds something else, and the system's error when a step
/// fails. The path then holds the old content, unless [`RestoreDurability`] was returned.
pub fn put(
    path: &Path,
    expected: &PathContent,
    wanted: &PathContent,
) -> Result<RestoreDurability, FileError> {
    let failed = |doing| files::file_error(doing, path);
    let spot =
        handles::folder_entry(path, MissingFolders::Make).map_err(failed("make the folder of"))?;
    let Some(spot) = spot else { return Err(failed("write")(Errno::ISDIR.into())) };
    match wanted {
        PathContent::Nothing => {
            let _guard = files::lock_replace();
            ensure_still(path, &spot, expected)?;
            match rustix::fs::unlinkat(&spot.folder, &spot.name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(failed("remove")(errno.into())),
            }
        }
        PathContent::File { bytes, mode } => {
            let replaced = match expected {
                PathContent::File { .. } => match files::find_at(&spot).map_err(failed("write"))? {
                    FileLookup::Regular(file, metadata) => Some((file, metadata)),
                    FileLookup::Missing | FileLookup::Folder | FileLookup::Special => None,
                },
                PathContent::Nothing | PathContent::Link { .. } => None,
            };
            let doing = "write a temporary file beside";
            let temporary = TemporaryFile::filled(&spot, replaced.as_ref(), bytes, *mode)
                .map_err(failed(doing))?;
            let guard = files::lock_replace();
            let placed = match expected {
                PathContent::Nothing => temporary.put_where_nothing_is(),
                PathContent::File { .. } | PathContent::Link { .. } => {
                    ensure_still(path, &spot, expected)?;
                    temporary.put()
                }
            };
            drop(guard);
            placed.map_err(|errno| changed_or_failed(errno, path))?;
        }
        PathContent::Link { target } => put_link(path, &spot, expected, target)?,
    }
    Ok(match files::sync(&spot).map_err(failed("sync the folder of")) {
        Ok(()) => RestoreDurability::Synced,
        Err(error) => RestoreDurability::NotSynced(error),
    })
}

fn put_link(
    path: &Path,
    spot: &FolderEntry,
    expected: &PathContent,
    target: &[u8],
) -> Result<(), FileError> {
    let target = OsString::from_vec(target.to_owned());
    if *expected == PathContent::Nothing {
        let made = rustix::fs::symlinkat(&target, &spot.folder, &spot.name);
        return made.map_err(|errno| changed_or_failed(errno, path));
    }
    let name = files::temporary_name();
    rustix::fs::symlinkat(&target, &spot.folder, &name)
        .map_err(|errno| changed_or_failed(errno, path))?;
    let _guard = files::lock_replace();
    let placed = ensure_still(path, spot, expected).and_then(|()| {
        rustix::fs::renameat(&spot.folder, &name, &spot.folder, &spot.name)
            .map_err(|errno| changed_or_failed(errno, path))
    });
    // After the rename nothing has this name, and the call fails.
    let _ = rustix::fs::unlinkat(&spot.folder, &name, AtFlags::empty());
    placed
}

fn changed_or_failed(errno: Errno, path: &Path) -> FileError {
    match errno {
        Errno::EXIST => FileError::Changed(path.to_owned()),
        errno => files::file_error("write", path)(errno.into()),
    }
}

/// Checks that the content is the expected one, and the permissions where some are expected.
fn ensure_still(path: &Path, spot: &FolderEntry, expected: &PathContent) -> Result<(), FileError> {
    let looked = look_at(spot, u64::MAX).map_err(files::file_error("read", path))?;
    let is_expected = match (&looked, expected) {
        (
            PathInspection::Content(PathContent::File { bytes, mode }),
            PathContent::File { bytes: old, mode: wanted },
        ) => bytes == old && (wanted.is_none() || mode == wanted),
        (PathInspection::Content(thing), expected) => thing == expected,
        (PathInspection::Other(_), _) => false,
    };
    if is_expected { Ok(()) } else { Err(FileError::Changed(path.to_owned())) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::domain::faults::with_failing_call;

    fn folder() -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        (folder, root)
    }

    fn file(text: &str, mode: u32) -> PathContent {
        PathContent::File { bytes: text.as_bytes().to_vec(), mode: Some(mode) }
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.to_string_lossy().into_owned()).collect()
    }

    fn link(target: &str) -> PathContent {
        PathContent::Link { target: target.as_bytes().to_vec() }
    }

    fn seen(path: &Path) -> PathContent {
        match look(path, u64::MAX).unwrap() {
            PathInspection::Content(thing) => thing,
            PathInspection::Other(other) => panic!("{other}"),
        }
    }

    #[test]
    fn anything_becomes_anything_else() {
        let things =
            [PathContent::Nothing, file("a", 0o644), file("b", 0o755), link("a"), link("nowhere")];
        for from in &things {
            for to in &things {
                let (_folder, root) = folder();
                let path = root.join("sub/file");
                put(&path, &PathContent::Nothing, from).unwrap();
                assert_eq!(seen(&path), *from);
                put(&path, from, to).unwrap();
                assert_eq!(seen(&path), *to, "{from:?}");
                let left = fs::read_dir(root.join("sub")).unwrap().count();
                assert_eq!(left, usize::from(*to != PathContent::Nothing), "{from:?} {to:?}");
            }
        }
    }

    #[test]
    fn what_is_not_as_expected_is_left() {
        let (_folder, root) = folder();
        let path = root.join("file");
        fs::write(&path, "theirs").unwrap();
        for expected in [PathContent::Nothing, file("mine", 0o644), link("x")] {
            for wanted in [PathContent::Nothing, file("new", 0o644), link("new")] {
                if (&expected, &wanted) == (&PathContent::Nothing, &PathContent::Nothing) {
                    continue;
                }
                let error = put(&path, &expected, &wanted).unwrap_err();
                assert!(matches!(error, FileError::Changed(_)), "{expected:?} {wanted:?} {error}");
                assert_eq!(fs::read(&path).unwrap(), b"theirs");
            }
        }
        assert_eq!(fs::read_dir(&root).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn no_link_on_the_way_is_followed() {
        let (_folder, root) = folder();
        fs::create_dir(root.join("real")).unwrap();
        fs::write(root.join("real/file"), "a").unwrap();
        symlink("real", root.join("link")).unwrap();
        let path = root.join("link/file");
        assert!(matches!(look(&path, 10).unwrap(), PathInspection::Other(_)));
        let error = put(&path, &file("a", 0o644), &file("b", 0o644)).unwrap_err();
        assert!(matches!(error, FileError::Linked(_)), "{error}");
        assert_eq!(fs::read(root.join("real/file")).unwrap(), b"a");
    }

    #[test]
    fn other_kinds_of_files_are_reported() {
        let (_folder, root) = folder();
        fs::write(root.join("large"), "0123456789").unwrap();
        assert_eq!(look(&root, 5).unwrap(), PathInspection::Other("it is a folder now"));
        assert_eq!(
            look(&root.join("large"), 5).unwrap(),
            PathInspection::Other("it is too large now")
        );
        assert_eq!(seen(&root.join("none/file")), PathContent::Nothing);
    }

    #[test]
    fn a_file_with_changed_permissions_is_left_alone() {
        let (_folder, root) = folder();
        let path = root.join("file");
        put(&path, &PathContent::Nothing, &file("a", 0o600)).unwrap();
        for wanted in [PathContent::Nothing, file("b", 0o644), link("x")] {
            let error = put(&path, &file("a", 0o644), &wanted).unwrap_err();
            assert!(matches!(error, FileError::Changed(_)), "{error}");
            assert_eq!(seen(&path), file("a", 0o600));
        }
        let unknown = PathContent::File { bytes: b"a".to_vec(), mode: None };
        put(&path, &unknown, &file("b", 0o644)).unwrap();
        assert_eq!(seen(&path), file("b", 0o644));
    }

    #[test]
    fn whichever_call_fails_the_path_is_old_or_new_and_the_report_is_right() {
        let mut unsynced = 0;
        for from in [PathContent::Nothing, file("a", 0o640)] {
            for call in 0.. {
                let (_folder, root) = folder();
                let (path, wanted) = (root.join("file"), file("b", 0o600));
                if from != PathContent::Nothing {
                    put(&path, &PathContent::Nothing, &from).unwrap();
                }
                let done = with_failing_call(call, || put(&path, &from, &wanted));
                let is_told = match &done {
                    None | Some(Ok(_)) => &wanted,
                    Some(Err(_)) => &from,
                };
                assert_eq!(seen(&path), *is_told, "call {call}");
                assert_eq!(names(&root).len(), usize::from(*is_told != PathContent::Nothing));
                unsynced += usize::from(matches!(done, Some(Ok(RestoreDurability::NotSynced(_)))));
                if done.is_none() {
                    assert!(call > 4);
                    break;
                }
            }
        }
        assert_eq!(unsynced, 2, "once from each");
    }

    fn private() -> PathContent {
        file("secret", 0o600)
    }

    #[test]
    fn private_files_are_private_at_once_and_a_kill_leaves_nothing() {
        let mut left_something = false;
        for call in 0.. {
            let (_folder, root) = folder();
            let path = root.join("file");
            put(&path, &PathContent::Nothing, &file("open", 0o644)).unwrap();
            let child = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "platform::restore::tests::one_that_kills_itself", "--ignored"])
                .env(files::tests::KILL_AT, call.to_string())
                .env("SLUG_TEST_TARGET", &path)
                .output()
                .unwrap();
            for name in names(&root) {
                let metadata = fs::metadata(root.join(&name)).unwrap();
                let (mode, is_open) = (metadata.permissions().mode() & 0o777, name == "file");
                assert!(is_open || mode == 0o600, "call {call}: {name} has {mode:o}");
                left_something |= !is_open;
            }
            files::remove_leftovers(&path).unwrap();
            assert_eq!(names(&root), ["file"], "call {call}");
            if child.status.success() {
                assert!(call > 4 && left_something);
                assert_eq!(seen(&path), private());
                return;
            }
        }
    }

    #[test]
    #[ignore = "it is started by the test before it"]
    fn one_that_kills_itself() {
        let path = std::env::var_os("SLUG_TEST_TARGET").unwrap();
        put(Path::new(&path), &file("open", 0o644), &private()).unwrap();
    }
}
