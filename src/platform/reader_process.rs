//! `slug __reader`: slug once more, as a small process that reads what others have made.
//!
//! A parser can overflow its stack, loop, or take all memory on input that was made for that. In a
//! process of its own this ends nothing but the process. It gets bytes on standard input and answers on
//! standard output. Before it reads them it gives up the means to do anything else: it can open no file
//! and no socket, for it can have no further descriptor, and its memory and time are limited.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, setrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

/// The first argument that makes slug run as the reader.
pub const COMMAND: &str = "__reader";

/// The time for one document; the process itself has the same limit on its processor time.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// The most memory of a reader, in bytes of addresses.
const MEMORY: u64 = 512 << 20;
/// Descriptors of a reader: its three streams.
const DESCRIPTORS: u64 = 3;
/// The most bytes of an answer.
const ANSWER: u64 = 16 << 20;

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
    #[error("its reader ended on it")]
    Ended,
    #[error("its reader could not be started: {0}")]
    NotStarted(io::Error),
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
    pub async fn read(&self, input: Vec<u8>) -> Result<Vec<u8>, ReaderError> {
        let mut child = Command::new(&self.program)
            .arg0("slug")
            .arg(COMMAND)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(ReaderError::NotStarted)?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let write = async {
            if let Some(mut stdin) = stdin {
                // A reader that ends early is told apart by its status.
                let _ = stdin.write_all(&input).await;
            }
        };
        let answer = async {
            let mut answer = Vec::new();
            if let Some(stdout) = stdout {
                stdout.take(ANSWER).read_to_end(&mut answer).await?;
            }
            io::Result::Ok(answer)
        };
        let exchange = async {
            let ((), answer) = tokio::join!(write, answer);
            let status = child.wait().await;
            match (answer, status) {
                (Ok(answer), Ok(status)) if status.success() => Ok(answer),
                (Ok(_) | Err(_), Ok(_) | Err(_)) => Err(ReaderError::Ended),
            }
        };
        timeout(TIME_LIMIT, exchange).await.map_err(|_| ReaderError::TooSlow)?
    }
}

/// Limits this process to what a reader needs, for good.
///
/// # Errors
///
/// When the system refuses a limit: then nothing must be read.
pub fn limit_this_process() -> io::Result<()> {
    for (resource, limit) in [
        (Resource::As, MEMORY),
        (Resource::Cpu, TIME_LIMIT.as_secs()),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
        (Resource::Nofile, DESCRIPTORS),
    ] {
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    }
    Ok(())
}
