//! What tools need from the machine, as traits that `platform` implements and tests can replace.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::domain::{ContentHash, ScanExtent};

/// Reads and writes whole files. A running call has one that opens what the call was approved for,
/// at the place where that was then, and nothing else.
#[async_trait]
pub trait Files: Send + Sync {
    /// What is at `path`. Never blocks on a FIFO or a device: it looks at what was opened before it
    /// reads.
    async fn read(&self, path: &Path, limit: u64) -> Result<FileState, FileError>;

    /// Up to `length` bytes of the regular file at `path` from `offset` on, for files too big to
    /// be read whole. Fewer only at the end of the file. Anything else at `path` counts as
    /// changed.
    async fn read_at(&self, path: &Path, offset: u64, length: u64) -> Result<Vec<u8>, FileError> {
        match self.read(path, u64::MAX).await? {
            FileState::File(bytes) => {
                let at = |place| usize::try_from(place).unwrap_or(usize::MAX).min(bytes.len());
                Ok(bytes[at(offset)..at(offset.saturating_add(length))].to_vec())
            }
            FileState::TooBig(_) | FileState::Missing | FileState::Folder | FileState::Special => {
                Err(FileError::Changed(path.to_owned()))
            }
        }
    }

    /// Puts `bytes` at `path`: a temporary file beside it, synced, then renamed, with the mode of
    /// the file it replaces. Missing folders are made. Other names of a hard-linked file keep the
    /// old content. With `expected`, the content that is there
    /// must still have that hash (`Some(None)`: there must be no file).
    async fn write(
        &self,
        path: &Path,
        bytes: &[u8],
        expected: Option<Option<ContentHash>>,
    ) -> Result<WriteReport, FileError>;

    /// The regular file at `path`, to be read; `None` where there is something else. Blocks: for
    /// searches, off the asynchronous threads.
    fn open(&self, path: &Path) -> Result<Option<File>, FileError>;

    /// When the file or link at `path` was last changed; `None` where there is none. Blocks.
    fn modified(&self, path: &Path) -> Option<SystemTime>;
}

/// What a write came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WriteReport {
    /// How many other names (hard links) the replaced file had. They keep the old content.
    pub other_names: u64,
}

/// What was found at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    /// A regular file, whole.
    File(Vec<u8>),
    /// A regular file of this many bytes, more than the limit.
    TooBig(u64),
    /// Nothing.
    Missing,
    /// A folder.
    Folder,
    /// A FIFO, socket or device.
    Special,
}

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The content is not the one that was expected.
    #[error("{0} has changed on disk since it was read")]
    Changed(PathBuf),
    /// A symbolic link is on the way, where none was when the call was looked at.
    #[error(
        "the way to {0} has a symbolic link on it that was not there before, or that leads in a circle"
    )]
    Linked(PathBuf),
    /// The call did not say that it would touch this.
    #[error("{0} is nothing that this call was approved for")]
    NotApproved(PathBuf),
    /// The operating system says no.
    #[error("cannot {doing} {path}: {source}")]
    Io {
        /// "read", "write", …
        doing: &'static str,
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl FileError {
    /// The same of a file that goes by the name of `path`.
    pub fn at(self, path: &Path) -> Self {
        let path = path.to_owned();
        match self {
            Self::Changed(_) => Self::Changed(path),
            Self::Linked(_) => Self::Linked(path),
            Self::NotApproved(_) => Self::NotApproved(path),
            Self::Io { doing, source, .. } => Self::Io { doing, path, source },
        }
    }
}

/// Runs shell scripts.
#[async_trait]
pub trait Processes: Send + Sync {
    /// Stands for the variables that scripts get: an approval is bound to them.
    fn environment(&self) -> ContentHash {
        ContentHash::of(b"")
    }

    /// Runs `script` to its end, with no terminal and nothing on standard input, in a session of
    /// its own. Standard output and standard error arrive together in `output` as they come.
    ///
    /// It is over when the direct child has exited, not when the last holder of the pipe has. On
    /// `cancel` or at the time limit the whole group gets TERM, and KILL two seconds later; on
    /// `cancel` this returns at once and the killing goes on behind it.
    async fn run(
        &self,
        script: ScriptSpec,
        output: &mut (dyn for<'a> FnMut(&'a [u8]) + Send),
        cancel: CancellationToken,
    ) -> Result<ScriptExit, ProcessError>;
}

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptSpec {
    /// For `bash -c`.
    pub text: String,
    /// The folder to start in.
    pub cwd: PathBuf,
    /// How long it may take.
    pub timeout: Duration,
    /// The value of PATH, where it is not the one that all scripts get.
    pub search_path: Option<OsString>,
}

/// How a script ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptExit {
    /// What ended it.
    pub cause: ExitCause,
    /// How long it ran.
    pub elapsed: Duration,
    /// Whether something it started still runs and holds its output.
    pub left_running: bool,
    /// Hosts that it asked for, and that the sandbox's list does not let it reach.
    pub refused: Vec<String>,
    /// Whether the sandbox covered all that deny rules keep from reading.
    pub denied: ScanExtent,
}

impl ScriptExit {
    /// What is to be said where more is denied to be read than could be found.
    pub fn denied_note(&self) -> Option<String> {
        match self.denied {
            ScanExtent::Whole => None,
            ScanExtent::Part => Some(
                "there is too much to be looked through before each command, so that this one \
                 could perhaps read files that deny rules keep from reading, in the deepest folders"
                    .to_owned(),
            ),
        }
    }

    /// What is to be said of the hosts that it could not reach.
    pub fn refused_note(&self) -> Option<String> {
        let hosts = self.refused.join("; ");
        (!hosts.is_empty()).then(|| {
            format!(
                "the sandbox refused the network to {hosts}. The user's `sandbox.hosts` in \
                 config.toml lists what commands reach"
            )
        })
    }
}

/// What ended a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCause {
    /// It exited with this status.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// It took too long and was killed.
    TimedOut,
    /// The person stopped it.
    Cancelled,
}

/// Why a script could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start bash in {cwd}: {source}")]
pub struct ProcessError {
    /// The folder it should have started in.
    pub cwd: PathBuf,
    /// What the system said.
    pub source: std::io::Error,
}

/// The content of each file as the model last saw it, so that it never edits what it has not read
/// or what has changed since.
#[derive(Debug, Default)]
pub struct ReadLedger {
    seen: Mutex<HashMap<PathBuf, ContentHash>>,
    previewed: Mutex<HashMap<ContentHash, Option<ContentHash>>>,
}

impl ReadLedger {
    /// The model has seen this content.
    pub fn record(&self, path: &Path, content: &[u8]) {
        lock(&self.seen).insert(path.to_owned(), ContentHash::of(content));
    }

    /// What the model last saw of `path`.
    pub fn seen(&self, path: &Path) -> Option<ContentHash> {
        lock(&self.seen).get(path).cloned()
    }

    /// The person is shown what `call` (a hash of its tool and arguments) would change, against
    /// this content; `None` where there is no file.
    pub fn record_preview(&self, call: ContentHash, content: Option<ContentHash>) {
        lock(&self.previewed).insert(call, content);
    }

    /// What the person was last shown of `call`, once: a yes holds for that content alone.
    pub fn take_preview(&self, call: &ContentHash) -> Option<Option<ContentHash>> {
        lock(&self.previewed).remove(call)
    }
}

/// The value, also where a thread that held it has panicked: each is whole after every statement.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
