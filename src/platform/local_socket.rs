//! A Unix socket that only its user can reach.
//!
//! The socket has mode 0600 and is in a folder of mode 0700, both the user's own. The kernel says who
//! connects (`SO_PEERCRED`): another user is refused, and so is a program that slug itself has started, since
//! a command of the model's must not answer slug's questions. What is said on the socket is decided elsewhere.

use std::fs::{DirBuilder, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream as BlockingStream;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use tokio::net::{UnixListener, UnixStream};

/// A socket that listens. Dropping it removes the file.
#[derive(Debug)]
pub struct LocalSocket {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode of the file.
    file: (u64, u64),
}

/// Who has connected.
#[derive(Debug)]
pub enum LocalPeer {
    /// A program of the same user.
    Accepted(UnixStream),
    /// Somebody who may not, and why, as a sentence.
    Refused(UnixStream, &'static str),
}

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum LocalSocketError {
    /// The path names no file in a folder.
    #[error("{} cannot be a socket. Name a file in a folder of yours.", .0.display())]
    NoName(PathBuf),
    /// The folder cannot be opened or made.
    #[error("Cannot open the folder {}: {error}. Make it, or choose another path.", folder.display())]
    NoFolder { folder: PathBuf, error: io::Error },
    /// The folder is another user's.
    #[error("The folder {} is not yours. Choose a path in a folder of yours.", .0.display())]
    OtherOwner(PathBuf),
    /// Other users can look into the folder.
    #[error(
        "Others can open the folder {}, so the socket would not be yours alone. Run `chmod 700` on it, or \
         choose a path in another folder.",
        .0.display()
    )]
    OpenFolder(PathBuf),
    /// A process listens there.
    #[error("A session is served at {} already. End it, or choose another path.", .0.display())]
    InUse(PathBuf),
    /// Something else is there.
    #[error("{} exists and is no socket of yours. Choose another path.", .0.display())]
    NotSocket(PathBuf),
    /// The system refuses.
    #[error("Cannot make the socket {}: {error}.", path.display())]
    Io { path: PathBuf, error: io::Error },
}

impl LocalSocket {
    /// Makes a socket at this path and listens. The folder is made where it is missing; a socket that a dead
    /// process has left there is replaced.
    ///
    /// # Errors
    ///
    /// When the folder is not the user's alone, when a process listens at the path or something else is
    /// there, and when the system refuses.
    pub fn bind(path: &Path) -> Result<Self, LocalSocketError> {
        let absolute = std::path::absolute(path).map_err(|error| failed(path, error))?;
        let (Some(folder), Some(name)) = (absolute.parent(), absolute.file_name()) else {
            return Err(LocalSocketError::NoName(absolute));
        };
        let folder = private_folder(folder)?;
        let path = folder.join(name);
        // Held while the file is looked at and replaced, so that two processes do not replace each other's.
        let lock = File::open(&folder).and_then(|folder| folder.lock().map(|()| folder));
        let lock = lock.map_err(|error| failed(&path, error))?;
        remove_stale(&path)?;
        keep_children()?;
        let listener = UnixListener::bind(&path).map_err(|error| failed(&path, error))?;
        let narrowed = std::fs::set_permissions(&path, Permissions::from_mode(0o600));
        let metadata = narrowed.and_then(|()| path.symlink_metadata());
        let metadata = metadata.map_err(|error| failed(&path, error))?;
        drop(lock);
        Ok(Self { listener, path, file: identity(&metadata) })
    }

    /// The path, without symbolic links in its folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for the next one who connects. Dropping the future loses nobody.
    ///
    /// # Errors
    ///
    /// When the system has no room for another connection, or does not say whose it is.
    pub async fn accept(&self) -> io::Result<LocalPeer> {
        let (stream, _) = self.listener.accept().await?;
        let peer = stream.peer_cred()?;
        Ok(if peer.uid() != geteuid().as_raw() {
            LocalPeer::Refused(stream, "Only the user who runs slug may use this socket.")
        } else if peer.pid().is_some_and(is_own_child) {
            let why = "A program that slug has started may not use slug's socket.";
            LocalPeer::Refused(stream, why)
        } else {
            LocalPeer::Accepted(stream)
        })
    }
}

impl Drop for LocalSocket {
    fn drop(&mut self) {
        let is_own = self.path.symlink_metadata().is_ok_and(|it| identity(&it) == self.file);
        if is_own && let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "the socket stays");
        }
    }
}

#[cfg(target_os = "linux")]
fn is_own_child(pid: i32) -> bool {
    super::descendants::is_below(pid)
}

#[cfg(not(target_os = "linux"))]
fn is_own_child(_pid: i32) -> bool {
    false
}

/// Has the processes that this one has started stay below it, also when one between them ends: what slug
/// has started is told by that.
#[cfg(target_os = "linux")]
fn keep_children() -> Result<(), LocalSocketError> {
    let own = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(own))
        .map_err(|errno| failed(Path::new("/proc/self"), errno.into()))
}

#[cfg(not(target_os = "linux"))]
fn keep_children() -> Result<(), LocalSocketError> {
    Ok(())
}

/// The folder without symbolic links, made where it is missing, if it is the user's alone.
fn private_folder(folder: &Path) -> Result<PathBuf, LocalSocketError> {
    let missing = |error| LocalSocketError::NoFolder { folder: folder.to_owned(), error };
    match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(missing(error)),
    }
    let real = folder.canonicalize().map_err(missing)?;
    let metadata = real.metadata().map_err(missing)?;
    if !metadata.is_dir() {
        return Err(missing(io::ErrorKind::NotADirectory.into()));
    }
    if metadata.uid() != geteuid().as_raw() {
        return Err(LocalSocketError::OtherOwner(real));
    }
    if metadata.mode() & 0o077 != 0 {
        return Err(LocalSocketError::OpenFolder(real));
    }
    Ok(real)
}

/// Removes a socket at which nobody listens.
fn remove_stale(path: &Path) -> Result<(), LocalSocketError> {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(path, error)),
    };
    if !metadata.file_type().is_socket() || metadata.uid() != geteuid().as_raw() {
        return Err(LocalSocketError::NotSocket(path.to_owned()));
    }
    match BlockingStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path).map_err(|error| failed(path, error))
        }
        // A listener with a full queue answers with an error, too.
        Ok(_) | Err(_) => Err(LocalSocketError::InUse(path.to_owned())),
    }
}

fn failed(path: &Path, error: io::Error) -> LocalSocketError {
    LocalSocketError::Io { path: path.to_owned(), error }
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

#[cfg(test)]
mod tests;
