//! What tools need from the machine, as traits that `platform` implements and tests replace.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::domain::{ContentHash, ExitCause, ScanExtent};

use super::formatters::ChangeFormatting;
use super::jobs::{JobHandle, JobSpec, OutputSink, no_jobs};

/// Reads and writes whole files. The files of a running call only open what the call was approved
/// for, at the place where it was when the call was approved.
#[async_trait]
pub trait Files: Send + Sync {
    /// Reads the file at `path`, up to `limit` bytes. Never blocks on a FIFO or a device: it checks
    /// what was opened before it reads.
    ///
    /// # Errors
    ///
    /// When the call was not approved for the path, or the path cannot be opened or read. A missing
    /// file or a folder is no error.
    async fn read(&self, path: &Path, limit: u64) -> Result<FileState, FileError>;

    /// Reads up to `length` bytes from `offset` on, for files too big to be read whole. Returns
    /// fewer only at the end of the file.
    ///
    /// # Errors
    ///
    /// As for [`Self::read`]; anything but a regular file at `path` is [`FileError::Changed`].
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

    /// Replaces the file at `path` by `bytes`, through a synced temporary file beside it that is
    /// renamed and gets the old file's mode. Missing folders are made. Other names of a hard-linked
    /// file keep the old content. With `expected`, the current content must still have that hash
    /// (`Some(None)`: there must be no file).
    ///
    /// # Errors
    ///
    /// [`FileError::Changed`] when `expected` does not hold, and else when the call was not
    /// approved for the path or the path cannot be written.
    async fn write(
        &self,
        path: &Path,
        bytes: &[u8],
        expected: Option<Option<ContentHash>>,
    ) -> Result<WriteReport, FileError>;

    /// Opens the file at `path`, which was found to be a regular one, for reading; `None` where there is
    /// something else by now. Blocks: for searches, off the asynchronous threads.
    ///
    /// # Errors
    ///
    /// When the call was not approved for the path, or the path cannot be opened.
    fn open(&self, path: &Path) -> Result<Option<File>, FileError>;

    /// What is in the folder at `path`, at most `limit` entries in no order, and how many more there
    /// are.
    ///
    /// # Errors
    ///
    /// When the call was not approved for the path, or there is no folder that can be read.
    async fn list(&self, path: &Path, limit: usize) -> Result<(Vec<FolderItem>, u64), FileError>;

    /// When the file or link at `path` was last changed; `None` where there is none. Blocks.
    fn modified(&self, path: &Path) -> Option<SystemTime>;
}

/// What a write reports beside its success.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WriteReport {
    /// The number of other names (hard links) of the replaced file. They keep the old content.
    pub other_names: u64,
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderItem {
    pub name: OsString,
    pub kind: FolderItemKind,
}

/// What an entry of a folder is; links are not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderItemKind {
    Folder,
    /// A regular file, with its size in bytes.
    File(u64),
    /// A symbolic link, with the path that it holds.
    Link(PathBuf),
    /// A FIFO, socket or device, or what cannot be looked at.
    Special,
}

/// What [`Files::read`] finds at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    /// The whole content of a regular file.
    File(Vec<u8>),
    /// The length in bytes of a regular file that exceeds the limit.
    TooBig(u64),
    Missing,
    Folder,
    /// A FIFO, socket or device.
    Special,
}

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The content is not the expected one.
    #[error("{0} has changed on disk since it was read")]
    Changed(PathBuf),
    /// A symbolic link is on the way, where none was when the call was approved.
    #[error(
        "the way to {0} has a symbolic link on it that was not there before, or that leads in a circle"
    )]
    Linked(PathBuf),
    /// The call did not say that it would touch this path.
    #[error("{0} is nothing that this call was approved for")]
    NotApproved(PathBuf),
    /// The operating system could not do it.
    #[error("cannot {doing} {path}: {source}")]
    Io {
        /// A verb for the message: "read", "write", …
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl FileError {
    /// The same error about a file that the call names `path`.
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

/// Runs shell scripts and starts jobs.
#[async_trait]
pub trait Processes: Send + Sync {
    /// A hash of the variables that scripts get: an approval is bound to it.
    fn environment(&self) -> ContentHash {
        ContentHash::of(b"")
    }

    /// Runs `script` to its end, without a terminal and with nothing on standard input, in a
    /// session of its own. Standard output and standard error arrive together in `output` as they
    /// come.
    ///
    /// The run is over when the direct child has exited, not when the last holder of the pipe has.
    /// On `cancel` or at the time limit the whole group gets TERM, and KILL two seconds later. On
    /// `cancel` this returns at once and the killing goes on in the background.
    ///
    /// # Errors
    ///
    /// When the script cannot be started, or its supervisor dies. A script that fails is no error;
    /// see [`ScriptExit::cause`].
    async fn run(
        &self,
        script: ScriptSpec,
        output: &mut (dyn for<'a> FnMut(&'a [u8]) + Send),
        cancel: CancellationToken,
    ) -> Result<ScriptExit, ProcessError>;

    /// Runs `script` as [`Self::run`] does. Where `detach` says so, a script that still runs is handed
    /// back to go on as a job.
    ///
    /// # Errors
    ///
    /// As for [`Self::run`].
    async fn run_detachable(
        &self,
        script: ScriptSpec,
        _detach: DetachPolicy,
        output: &mut (dyn for<'a> FnMut(&'a [u8]) + Send),
        cancel: CancellationToken,
    ) -> Result<ScriptOutcome, ProcessError> {
        self.run(script, output, cancel).await.map(ScriptOutcome::Ended)
    }

    /// Starts a command that goes on by itself, and returns once it runs. What it prints goes to
    /// `output` as it comes. It ends with its last handle, and with slug.
    ///
    /// # Errors
    ///
    /// When the command or its sandbox cannot be started, and where nothing but scripts can run.
    async fn start(
        &self,
        job: JobSpec,
        _output: Box<dyn OutputSink>,
    ) -> Result<Arc<dyn JobHandle>, ProcessError> {
        Err(no_jobs(job.cwd))
    }
}

/// A script and its surroundings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptSpec {
    /// Text for `bash -c`.
    pub text: String,
    pub cwd: PathBuf,
    pub timeout: Duration,
    /// The value of `PATH`; `None`: the one that all scripts get.
    pub search_path: Option<OsString>,
    /// The scratch folder, as a real path: the script gets it in a variable and may change what is
    /// in it, in a sandbox, too.
    pub scratch: Option<PathBuf>,
}

impl ScriptSpec {
    /// A script with the usual `PATH` and no scratch folder.
    pub fn new(text: String, cwd: PathBuf, timeout: Duration) -> Self {
        Self { text, cwd, timeout, search_path: None, scratch: None }
    }
}

/// When a script that runs goes on as a job.
#[derive(Debug, Clone)]
pub struct DetachPolicy {
    /// Cancelled when the user wants it.
    pub asked: CancellationToken,
    /// Whether it goes on at its time limit. Otherwise it is ended there.
    pub at_time_limit: bool,
}

impl DetachPolicy {
    /// It does not.
    pub fn never() -> Self {
        Self { asked: CancellationToken::new(), at_time_limit: false }
    }
}

/// How a script that may go on as a job leaves its call.
pub enum ScriptOutcome {
    Ended(ScriptExit),
    Detached(Box<dyn DetachedScript>),
}

/// A script that still runs, and for which its call no longer waits. Its drop ends it.
pub trait DetachedScript: Send {
    /// How long it has run.
    fn elapsed(&self) -> Duration;

    /// Goes on as a job whose input is empty. What it prints from now on goes to `output`.
    fn into_job(self: Box<Self>, output: Box<dyn OutputSink>) -> Arc<dyn JobHandle>;
}

/// Makes files for the output of calls of which the model gets only a part.
pub trait OutputFiles: Send + Sync {
    /// Makes an empty file that did not exist, which the model may read.
    ///
    /// # Errors
    ///
    /// When the folder of these files is gone or is another one, or no file can be made in it.
    fn create(&self) -> io::Result<OutputFile>;
}

/// A file for the output of a call.
#[derive(Debug)]
pub struct OutputFile {
    /// Absolute.
    pub path: PathBuf,
    pub file: File,
}

/// The end of a script, whatever ended it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptExit {
    pub cause: ExitCause,
    pub elapsed: Duration,
    /// Whether a process that the script started still runs and holds its output.
    pub left_running: bool,
    /// Hosts that the script asked for and that the sandbox's list does not allow.
    pub refused: Vec<String>,
    /// Whether the sandbox found and covered every file that deny rules protect from reading.
    pub denied: ScanExtent,
    /// Protected places in the sandbox's folder that are new since the last look.
    pub made: Vec<String>,
}

/// The most places that a note names.
const MOST_MADE: usize = 8;

impl ScriptExit {
    /// The note for the result about protected places that a command in the sandbox has made.
    pub fn made_note(&self) -> Option<String> {
        let named: Vec<&str> = self.made.iter().take(MOST_MADE).map(String::as_str).collect();
        let more = match self.made.len().saturating_sub(MOST_MADE) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!named.is_empty()).then(|| {
            format!(
                "new in the sandbox's folder, and protected from now on: {}{more}. Git, editors, package \
                 managers or agents run or obey what stands there. Tell the user, who should look at it \
                 before using any of them outside the sandbox",
                named.join(", ")
            )
        })
    }

    /// The note for the result where not every denied file could be found.
    pub fn denied_note(&self) -> Option<String> {
        match self.denied {
            ScanExtent::Whole => None,
            ScanExtent::Part => Some(
                "the folder has too many files to check before each command: in its deepest folders \
                 this command could read files that deny rules hide"
                    .to_owned(),
            ),
        }
    }

    /// The note for the result about hosts that the sandbox refused.
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

/// Why a script could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start bash in {cwd}: {source}")]
pub struct ProcessError {
    /// The folder in which it should have started.
    pub cwd: PathBuf,
    pub source: io::Error,
}

/// The content of each file as the model last read it, so that the model never edits a file that it
/// has not read or that has changed since.
#[derive(Debug, Default)]
pub struct ReadLedger {
    seen: Mutex<HashMap<PathBuf, ContentHash>>,
    previewed: Mutex<HashMap<ContentHash, PreviewedChange>>,
    announced: Mutex<HashMap<PathBuf, usize>>,
}

/// A change as the user was shown it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewedChange {
    /// What the file held; `None` where there was none.
    pub before: Option<ContentHash>,
    pub formatting: ChangeFormatting,
}

/// Changes of files that calls of one response still have to make. They are over with its drop.
#[derive(Debug)]
pub struct AnnouncedChanges {
    ledger: Arc<ReadLedger>,
    paths: Vec<PathBuf>,
}

impl Drop for AnnouncedChanges {
    fn drop(&mut self) {
        let mut announced = lock(&self.ledger.announced);
        for path in &self.paths {
            if let Some(count) = announced.get_mut(path) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    announced.remove(path);
                }
            }
        }
    }
}

impl ReadLedger {
    /// Records that the model has read this content.
    pub fn record(&self, path: &Path, content: &[u8]) {
        self.record_hash(path, ContentHash::of(content));
    }

    /// Records that the model has read the content of this hash.
    pub fn record_hash(&self, path: &Path, hash: ContentHash) {
        lock(&self.seen).insert(path.to_owned(), hash);
    }

    /// The hash of the content that the model last read; `None` where it has not read the file.
    pub fn seen(&self, path: &Path) -> Option<ContentHash> {
        lock(&self.seen).get(path).cloned()
    }

    /// Records a preview of `call` (a hash of its tool and arguments).
    pub fn record_preview(&self, call: ContentHash, shown: PreviewedChange) {
        lock(&self.previewed).insert(call, shown);
    }

    /// Takes the last preview of `call`: an approval holds for that change alone.
    pub fn take_preview(&self, call: &ContentHash) -> Option<PreviewedChange> {
        lock(&self.previewed).remove(call)
    }

    /// Says that a call is going to change these files.
    pub fn announce(self: &Arc<Self>, paths: &[PathBuf]) -> AnnouncedChanges {
        let mut announced = lock(&self.announced);
        for path in paths {
            *announced.entry(path.clone()).or_default() += 1;
        }
        AnnouncedChanges { ledger: self.clone(), paths: paths.to_vec() }
    }

    /// Whether another call of the response changes the file, too, after the one that runs.
    pub fn is_changed_again(&self, path: &Path) -> bool {
        lock(&self.announced).get(path).is_some_and(|count| *count > 1)
    }
}

/// Locks a value, even if a thread has panicked while it held the lock: each value is whole after
/// every statement.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
