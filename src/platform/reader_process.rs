//! `slug __reader`: slug once more, as a small process that reads what others have made.
//!
//! A parser can overflow its stack, loop, or take all memory on input that was made for that. In a
//! process of its own this ends nothing but the process. It gets bytes on standard input and answers on
//! standard output. Before it reads them it gives up the means to do anything else: it can open no file
//! and no socket, for it can have no further descriptor, and its memory and time are limited.
//!
//! A program of the system that reads in slug's place gets the same limits. It must open its libraries,
//! so it can read what belongs to installed programs, and nothing else where the kernel has Landlock.
//! It can make no socket and write no file.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, setrlimit};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

use super::{process_privacy, sandbox};

/// The first argument that makes slug run as the reader.
pub const COMMAND: &str = "__reader";

/// The time for one document; the process itself has the same limit on its processor time.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// The most memory of a reader, in bytes of addresses.
const MEMORY: u64 = 512 << 20;
/// Descriptors of a reader: its three streams.
const DESCRIPTORS: u64 = 3;
/// Descriptors of a program: it opens libraries and tables.
const PROGRAM_DESCRIPTORS: u64 = 32;
/// The most bytes of an answer.
const ANSWER: u64 = 16 << 20;
/// The most bytes of what a reader complains about; the last ones.
const COMPLAINT: usize = 4096;

/// Where the libraries and tables of installed programs are; each may be missing.
const PROGRAM_PLACES: [&str; 9] = [
    "/usr",
    "/lib",
    "/lib64",
    "/etc/ld.so.cache",
    "/nix/store",
    "/gnu/store",
    "/opt",
    "/home/linuxbrew/.linuxbrew",
    "/dev/null",
];
/// The same in the folder around that of a program which is installed elsewhere.
const PREFIX_PLACES: [&str; 4] = ["lib", "lib64", "share/poppler", "Cellar"];

/// Starts readers.
#[derive(Debug, Clone)]
pub struct ReaderProcess {
    /// slug itself.
    program: PathBuf,
}

/// Why a document could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReaderError {
    #[error("it takes more than {n} s to read", n = TIME_LIMIT.as_secs())]
    TooSlow,
    #[error("its text is larger than {n} MB", n = ANSWER >> 20)]
    TooLong,
    #[error("the process that reads it crashed")]
    Ended,
    #[error("its reader could not be started: {0}")]
    NotStarted(io::Error),
}

/// What a program has made of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReaderAnswer {
    pub is_success: bool,
    pub output: Vec<u8>,
    /// The end of its standard error.
    pub complaint: String,
}

impl ReaderProcess {
    /// Readers that run `program`.
    pub fn new(program: PathBuf) -> Self {
        Self { program }
    }

    /// The reader's answer to `input`. A drop ends the reader.
    ///
    /// # Errors
    ///
    /// When the reader does not answer in time, or ends without success.
    pub async fn read(&self, input: &[u8]) -> Result<Vec<u8>, ReaderError> {
        let answer = self.exchange(&[], input).await?;
        if answer.is_success { Ok(answer.output) } else { Err(ReaderError::Ended) }
    }

    /// The answer to `input` of a program of the system, within the limits of a reader. A drop ends
    /// the program.
    ///
    /// # Errors
    ///
    /// When the program does not answer in time, or is ended by a signal.
    pub async fn read_with(
        &self,
        program: &Path,
        arguments: &[&str],
        input: &[u8],
    ) -> Result<ReaderAnswer, ReaderError> {
        let mut words = vec![program.as_os_str()];
        words.extend(arguments.iter().map(OsStr::new));
        self.exchange(&words, input).await
    }

    async fn exchange(&self, words: &[&OsStr], input: &[u8]) -> Result<ReaderAnswer, ReaderError> {
        let mut child = Command::new(&self.program)
            .arg0("slug")
            .arg(COMMAND)
            .args(words)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(ReaderError::NotStarted)?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let write = async {
            if let Some(mut stdin) = stdin {
                // A reader that ends early is told apart by its status.
                let _ = stdin.write_all(input).await;
            }
        };
        let answer = async {
            let mut answer = Vec::new();
            if let Some(stdout) = stdout {
                stdout.take(ANSWER + 1).read_to_end(&mut answer).await?;
            }
            io::Result::Ok(answer)
        };
        let complaint = async {
            match stderr {
                Some(stderr) => last_bytes(stderr).await,
                None => Ok(Vec::new()),
            }
        };
        let exchange = async {
            let ((), answer, complaint) = tokio::join!(write, answer, complaint);
            let status = child.wait().await;
            let ended = |_: io::Error| ReaderError::Ended;
            let (output, status) = (answer.map_err(ended)?, status.map_err(ended)?);
            if output.len() as u64 > ANSWER {
                return Err(ReaderError::TooLong);
            }
            let complaint = String::from_utf8_lossy(&complaint.map_err(ended)?).into_owned();
            match status.code() {
                Some(code) => Ok(ReaderAnswer { is_success: code == 0, output, complaint }),
                None => Err(ReaderError::Ended),
            }
        };
        timeout(TIME_LIMIT, exchange).await.map_err(|_| ReaderError::TooSlow)?
    }
}

/// Reads a stream to its end and keeps the last bytes, so that nobody waits for room in it.
async fn last_bytes(mut stream: impl AsyncRead + Unpin) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    let mut piece = [0; COMPLAINT];
    loop {
        let count = stream.read(&mut piece).await?;
        if count == 0 {
            return Ok(kept);
        }
        kept.extend_from_slice(&piece[..count]);
        kept.drain(..kept.len().saturating_sub(COMPLAINT));
    }
}

/// Runs a program of the system in place of this process, confined and limited for good. Returns
/// only where that fails.
pub fn run_program(program: &OsStr, arguments: &[OsString]) -> ExitCode {
    // This does not fail on any supported kernel, and an exec undoes it.
    let _ = process_privacy::close_process();
    // The limits hold also where the kernel has no Landlock: a PDF viewer has not even these.
    let _ = sandbox::confine_to_reading(&readable_places(Path::new(program)));
    if limit_process(PROGRAM_DESCRIPTORS).is_ok() {
        let _ = std::process::Command::new(program).args(arguments).exec();
    }
    ExitCode::FAILURE
}

/// What a program has to read: its own file, and what belongs to installed programs.
fn readable_places(program: &Path) -> Vec<PathBuf> {
    let real = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    let prefix = real.parent().and_then(Path::parent).map(Path::to_owned);
    let around = PREFIX_PLACES.iter().filter_map(|place| Some(prefix.as_ref()?.join(place)));
    let mut places: Vec<PathBuf> = around.collect();
    places.extend(PROGRAM_PLACES.map(PathBuf::from));
    places.push(real);
    places
}

/// Limits this process to what a reader needs, for good.
///
/// # Errors
///
/// When the system refuses a limit: then nothing must be read.
pub fn limit_this_process() -> io::Result<()> {
    limit_process(DESCRIPTORS)
}

fn limit_process(descriptors: u64) -> io::Result<()> {
    for (resource, limit) in [
        (Resource::As, MEMORY),
        (Resource::Cpu, TIME_LIMIT.as_secs()),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
        (Resource::Nofile, descriptors),
    ] {
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    }
    Ok(())
}
