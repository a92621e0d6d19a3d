//! The file operations of sessions: folders of mode 0700, files of mode 0600, and replacing a whole
//! file.
//!
//! Each call that changes something on the disk begins with [`step`], so that tests can make each
//! of them fail. Nothing here knows what the files hold.

use std::fs::{DirBuilder, File, FileTimes, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::SystemTime;

use serde::Serializer;
use tempfile::NamedTempFile;

use crate::disk::{FileTextError, read_regular};

/// In bytes. slug writes no larger cache file.
const MAX_BYTES: u64 = 1 << 30;

/// Reads a whole file that can be made again; `None` where there is none. Never blocks on a FIFO or
/// a device.
pub(super) fn read_cache(path: &Path) -> Result<Option<Vec<u8>>, FileTextError> {
    read_regular(path, MAX_BYTES)
}

/// Whether a file has to survive a crash of the machine, or can be made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// It can be made again, so it is not synced.
    Cache,
    /// It is synced before its name points to it.
    Synced,
}

/// Marks a call to the disk that tests can make fail.
#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "it fails in tests")]
pub(super) fn step() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
pub(super) use crate::domain::faults::step;

/// Makes a folder and its parents, for the owner alone.
pub(super) fn make_folder(dir: &Path) -> io::Result<()> {
    step()?;
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Opens a file to append to it, and creates it where it is missing, for the owner alone.
pub(super) fn open_append(path: &Path) -> io::Result<File> {
    step()?;
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// Syncs a folder, so that new names in it survive a crash of the machine.
pub(super) fn sync_folder(dir: &Path) -> io::Result<()> {
    step()?;
    File::open(dir)?.sync_all()
}

/// Replaces the file at `path` by `parts`, one after another: writes a temporary file beside it and
/// renames that, so that a reader finds either the old content or the new one.
pub(super) fn replace(path: &Path, parts: &[&[u8]], durability: Durability) -> io::Result<()> {
    replace_with(path, durability, |file| {
        parts.iter().try_for_each(|part| {
            step()?;
            file.write_all(part)
        })
    })
}

/// Replaces the file at `path` by what `fill` writes, like [`replace`]. When it fails, the old file
/// is unchanged.
pub(super) fn replace_with(
    path: &Path,
    durability: Durability,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    make_folder(dir)?;
    step()?;
    // Temporary files have mode 0600 and are removed when anything below fails.
    let mut file = NamedTempFile::with_prefix_in(TEMPORARY, dir)?;
    fill(file.as_file_mut())?;
    if durability == Durability::Synced {
        step()?;
        file.as_file().sync_data()?;
    }
    step()?;
    file.persist(path).map_err(|failed| failed.error)?;
    match durability {
        Durability::Cache => Ok(()),
        Durability::Synced => sync_folder(dir),
    }
}

/// The prefix of the names of temporary files, which a killed slug leaves behind.
pub(super) const TEMPORARY: &str = ".tmp";

/// Sets the modification time of a file.
pub(super) fn set_modified(file: &File, time: SystemTime) -> io::Result<()> {
    step()?;
    file.set_times(FileTimes::new().set_modified(time))
}

/// Moves a file to another name.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    step()?;
    std::fs::rename(from, to)
}

/// Removes a file; a missing one is no error.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    step()?;
    missing_is_none(std::fs::remove_file(path)).map(|_| ())
}

/// Turns "not found" into `None`.
pub(super) fn missing_is_none<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a path as JSON text. Bytes that are not UTF-8 become U+FFFD, so that a session in such a
/// folder can still be saved.
pub(super) fn serialize_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_made_is_for_the_owner_alone() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("a/b/file");
        replace(&file, &[b"one ", b"two"], Durability::Synced).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&file), 0o600);
        assert_eq!(mode(file.parent().unwrap()), 0o700);
        assert_eq!(mode(&home.path().join("a")), 0o700);
        assert_eq!(std::fs::read(&file).unwrap(), b"one two");
    }

    #[test]
    fn a_replaced_file_leaves_nothing_beside_it() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        replace(&file, &[b"old"], Durability::Cache).unwrap();
        replace(&file, &[b"new"], Durability::Cache).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1);
    }
}
