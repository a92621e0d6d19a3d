//! The private folder of a server that is a program, for as long as the program runs.
//!
//! The program's supervisor removes it, even if slug was killed. Where the supervisor was killed, too,
//! nobody holds the folder's lock any more, and a later slug removes it. A folder without a lock that
//! somebody is just making is never mistaken for one: its maker looks again once it has the lock.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tempfile::TempDir;

use crate::disk::private_folder_in;

use super::scratch::{ScratchRoot, is_own, measured};

/// How the names of these folders begin.
const PREFIX: &str = "slug-server-";

/// How often a folder is made again that another slug has removed before it was locked.
const MAX_TRIES: usize = 10;

/// A server's folder. Its drop removes it.
#[derive(Debug)]
pub struct ServerFolder {
    path: PathBuf,
    _folder: TempDir,
    /// Locked while a slug lives that could want the folder.
    _lock: File,
}

/// A server's folder that no slug wants any more.
#[derive(Debug)]
pub struct DeadServerFolder {
    pub path: PathBuf,
    pub bytes: u64,
    /// Nobody begins to use the folder meanwhile.
    _lock: File,
}

impl ServerFolder {
    /// Makes a folder among the temporary files of `root`.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn make(root: &ScratchRoot) -> io::Result<Self> {
        for dead in DeadServerFolder::all(root)? {
            if let Err(error) = dead.remove() {
                tracing::warn!(%error, path = %dead.path.display(), "not removed");
            }
        }
        for _ in 0..MAX_TRIES {
            let folder = private_folder_in(root.temporary(), PREFIX)?;
            if let Some((path, lock)) = locked(folder.path()) {
                return Ok(Self { path, _folder: folder, _lock: lock });
            }
        }
        Err(io::Error::other("its folder was removed again and again"))
    }

    /// The real path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl DeadServerFolder {
    /// The folders that dead slugs have left among the temporary files of `root`.
    ///
    /// # Errors
    ///
    /// When these cannot be listed.
    pub fn all(root: &ScratchRoot) -> io::Result<Vec<Self>> {
        let listed = fs::read_dir(root.temporary())?.filter_map(|entry| {
            let path = entry.ok()?.path();
            let is_one = path.file_name()?.to_str()?.starts_with(PREFIX);
            is_one.then_some(path)
        });
        Ok(listed.filter_map(Self::at).collect())
    }

    /// The folder at `path`, if it is the user's own and nobody holds its lock.
    fn at(path: PathBuf) -> Option<Self> {
        let found = path.symlink_metadata().ok()?;
        if !found.is_dir() || !is_own(&found) {
            return None;
        }
        let lock = File::open(&path).ok()?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).ok()?;
        let (bytes, _) = measured(&path).ok()?;
        // Another folder may have come into its place.
        let is_same = lock.metadata().ok()?.ino() == path.symlink_metadata().ok()?.ino();
        is_same.then_some(Self { path, bytes, _lock: lock })
    }

    /// Removes the folder with all that is in it.
    ///
    /// # Errors
    ///
    /// When something in it cannot be removed.
    pub fn remove(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.path)
    }
}

/// The real path of a folder and its lock; `None` if another slug has taken it for a dead one.
fn locked(folder: &Path) -> Option<(PathBuf, File)> {
    let path = folder.canonicalize().ok()?;
    let lock = File::open(&path).ok()?;
    // Where the system has no such locks, nobody removes the folder because of one, either.
    let taken = flock(&lock, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK);
    (!taken && path.symlink_metadata().is_ok()).then_some((path, lock))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_folders_that_nobody_has_are_dead() {
        let outer = tempfile::tempdir().unwrap();
        let temporary = outer.path().canonicalize().unwrap();
        let root = ScratchRoot::in_folder(temporary.clone());
        let living = ServerFolder::make(&root).unwrap();
        let left = temporary.join("slug-server-left");
        fs::create_dir(&left).unwrap();
        fs::write(left.join("start"), "export KEY='secret'").unwrap();
        fs::create_dir(temporary.join("slug-other")).unwrap();
        fs::write(temporary.join("slug-server-file"), "mine").unwrap();
        symlink(temporary.join("slug-other"), temporary.join("slug-server-link")).unwrap();

        let dead = DeadServerFolder::all(&root).unwrap();
        assert_eq!(dead.iter().map(|it| &it.path).collect::<Vec<_>>(), [&left]);
        dead[0].remove().unwrap();
        assert!(!left.exists() && living.path().exists());
        assert!(DeadServerFolder::all(&root).unwrap().is_empty());
        // A server that starts removes them as well.
        fs::create_dir(&left).unwrap();
        let other = ServerFolder::make(&root).unwrap();
        assert!(!left.exists() && living.path().exists() && other.path().exists());
        let path = living.path().to_owned();
        drop(living);
        assert!(!path.exists() && temporary.join("slug-server-file").exists());
    }
}
