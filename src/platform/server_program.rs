//! A server that is a program (of MCP, or a language server): started as a job, its standard output and
//! input carry the messages.
//!
//! The program gets a few variables of slug's environment and those that its definition names (case
//! S97). Their values reach it as environment: never in a file, and not on a command line, which other
//! users could read. Until the program runs they have other names, so that neither the supervisor nor
//! the shell in between acts on them. A program that is given by name is searched outside of the project,
//! and so are the programs that it starts in turn (case S64). What it says on standard error is kept in
//! part, for the page about servers.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, SimplexStream, WriteHalf};
use tokio::net::unix::pipe;
use tokio_util::task::AbortOnDropHandle;

use crate::domain::JobEnd;
use crate::tools::{JobBelongings, JobHandle, JobSpec, JobStreams, OutputSink, Processes};

use super::paths::private_file;
use super::scratch::ScratchRoot;
use super::server_folder::ServerFolder;
use super::which;

/// The buffer between a server's pipes and the protocol.
const BUFFER: usize = 64 * 1024;

/// How much of standard error is kept: the last of it.
const MAX_ERROR_OUTPUT: usize = 64 * 1024;

/// How long a server may take to end by itself once its input has ended.
const END_LIMIT: Duration = Duration::from_secs(2);

/// What any server has of slug's environment, besides the variables of its definition.
const PASSED_VARIABLES: &str = "PATH|HOME|LANG|TERM";

/// The names that the variables of a definition have until the program runs, before their number.
const VALUE_VARIABLE: &str = "SLUG_SERVER_VALUE_";

/// Where programs are searched that a definition gives by name alone.
#[derive(Debug, Clone)]
pub struct ServerProgramSearch {
    /// The value of PATH.
    pub path: OsString,
    /// The folder whose programs no name means.
    pub project: PathBuf,
}

impl ServerProgramSearch {
    /// The PATH of a program with these variables: without relative entries and those in the project,
    /// wherever it starts.
    pub fn path(&self, env: &BTreeMap<String, String>) -> OsString {
        let path = env.get("PATH").map_or(&*self.path, OsStr::new);
        which::outside(path, &self.project)
    }

    /// The program that `command` means in `path`; `None` where there is none by that name.
    pub fn program(&self, command: &str, path: &OsStr) -> Option<String> {
        if command.contains('/') {
            return Some(command.to_owned());
        }
        let found = which::find(command, path, &self.project)?;
        Some(found.to_string_lossy().into_owned())
    }
}

/// The last of what a server has said on standard error.
#[derive(Debug, Clone, Default)]
pub struct ServerErrorOutput(Arc<Mutex<VecDeque<u8>>>);

impl ServerErrorOutput {
    /// The text so far, at most the last 64 KB.
    pub fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = bytes.iter().copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn add(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(bytes);
        let surplus = kept.len().saturating_sub(MAX_ERROR_OUTPUT);
        kept.drain(..surplus);
    }
}

/// A running program.
pub struct ServerProgram {
    job: Arc<dyn JobHandle>,
    /// Passes on what slug sends, and ends the program once that is over.
    _input: AbortOnDropHandle<()>,
    _errors: Option<AbortOnDropHandle<()>>,
    /// Removed with the program.
    folder: ServerFolder,
}

/// slug's ends of a program's pipes.
pub struct ServerProgramStreams {
    pub output: ReadHalf<SimplexStream>,
    pub input: WriteHalf<SimplexStream>,
}

/// What is started, with its variables replaced.
pub struct ServerProgramSpec<'a> {
    pub command: &'a str,
    pub args: &'a [String],
    pub env: &'a BTreeMap<String, String>,
    /// The value of PATH, whatever `env` says.
    pub search_path: OsString,
    pub cwd: PathBuf,
    /// More variables of slug's environment that it gets, as a pattern of a shell's `case`, such as
    /// `GOPATH|LC_*`; empty for none.
    pub passed: &'a str,
    /// The most memory that each of its processes may ask for, in bytes; `None` for no limit.
    pub memory_limit: Option<u64>,
}

impl ServerProgram {
    /// Starts a program.
    ///
    /// # Errors
    ///
    /// When no private folder can be made, or the program's shell cannot be started. A program that does
    /// not exist is no error here: it ends at once, and says so on standard error.
    pub async fn start(
        spec: ServerProgramSpec<'_>,
        processes: &dyn Processes,
        errors: &ServerErrorOutput,
    ) -> io::Result<(Self, ServerProgramStreams)> {
        let folder = ServerFolder::make(&ScratchRoot::system())?;
        let path = folder.path().to_owned();
        let error_pipe = open_error_pipe(&path.join("errors"))?;
        private_file(&path.join("pid"), OpenOptions::new().write(true).create_new(true))?;
        let job = JobSpec {
            text: start_script(&spec, &path, error_pipe.is_some()),
            cwd: spec.cwd,
            streams: JobStreams::Pipes,
            search_path: Some(spec.search_path),
            scratch: Some(path.clone()),
            time_limit: None,
            belongings: JobBelongings { variables: values(spec.env), folder: Some(path) },
        };
        let (output, sink) = tokio::io::simplex(BUFFER);
        let sink = Box::new(MessageSink(Some(sink)));
        let job = processes.start(job, sink).await.map_err(|error| error.source)?;
        let (mut from_slug, input) = tokio::io::simplex(BUFFER);
        let written = job.clone();
        let feed = tokio::spawn(async move {
            let mut buffer = vec![0; BUFFER];
            while let Ok(count @ 1..) = from_slug.read(&mut buffer).await {
                if written.write(buffer.get(..count).unwrap_or_default()).await.is_err() {
                    break;
                }
            }
            written.close_input().await;
            if tokio::time::timeout(END_LIMIT, written.wait()).await.is_err() {
                written.terminate();
            }
        });
        let errors = error_pipe.map(|pipe| {
            let errors = errors.clone();
            AbortOnDropHandle::new(tokio::spawn(async move { keep_errors(pipe, errors).await }))
        });
        let program = Self { job, _input: AbortOnDropHandle::new(feed), _errors: errors, folder };
        Ok((program, ServerProgramStreams { output, input }))
    }

    /// The program's process id; `None` until it runs.
    pub fn pid(&self) -> Option<u32> {
        std::fs::read_to_string(self.folder.path().join("pid")).ok()?.trim().parse().ok()
    }

    /// How the program has ended; `None` while it runs.
    pub fn ended(&self) -> Option<JobEnd> {
        self.job.ended()
    }

    /// What [`Self::terminate`] does, to be done by another.
    pub fn ending(&self) -> Box<dyn Fn() + Send> {
        let job = self.job.clone();
        Box::new(move || job.terminate())
    }

    /// Ends the program and all that it started.
    pub fn terminate(&self) {
        self.job.terminate();
    }
}

/// The last handle is dropped here, too, but the feeding task has one of its own.
impl Drop for ServerProgram {
    fn drop(&mut self) {
        self.job.terminate();
    }
}

/// Gives what a program prints to the protocol; waits where that is slower.
struct MessageSink(Option<WriteHalf<SimplexStream>>);

#[async_trait]
impl OutputSink for MessageSink {
    async fn write(&mut self, bytes: &[u8]) {
        if let Some(sink) = &mut self.0
            && sink.write_all(bytes).await.is_err()
        {
            // Nobody reads any more.
            self.0 = None;
        }
    }

    async fn end(&mut self) {
        if let Some(mut sink) = self.0.take() {
            // Fails only when nobody reads.
            let _ = sink.shutdown().await;
        }
    }
}

/// The variables that a definition sets. PATH is given otherwise.
fn set_variables(env: &BTreeMap<String, String>) -> impl Iterator<Item = (&String, &String)> {
    env.iter().filter(|(name, _)| *name != "PATH")
}

/// The values of a definition's variables, under the names that the script knows.
fn values(env: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let values = set_variables(env).enumerate();
    values
        .map(|(number, (_, value))| (format!("{VALUE_VARIABLE}{number}"), value.clone()))
        .collect()
}

/// The text that a shell runs to become the program, without the values of its variables.
fn start_script(spec: &ServerProgramSpec<'_>, folder: &Path, has_error_pipe: bool) -> String {
    let more = if spec.passed.is_empty() { String::new() } else { format!("|{}", spec.passed) };
    let mut script = format!(
        "for slug_name in $(compgen -e); do case $slug_name in \
         {PASSED_VARIABLES}|{VALUE_VARIABLE}*{more}) ;; \
         *) unset \"$slug_name\" ;; esac; done\n"
    );
    if let Some(bytes) = spec.memory_limit {
        // Where the system has no such limit, the server runs without it.
        script.push_str(&format!("ulimit -d {} 2>/dev/null\n", bytes / 1024));
    }
    for (number, (name, _)) in set_variables(spec.env).enumerate() {
        let from = format!("{VALUE_VARIABLE}{number}");
        script.push_str(&format!("export {name}=\"${from}\"\nunset {from}\n"));
    }
    // The shell becomes the program.
    script.push_str(&format!("echo $$ >{}\n", quoted(&folder.join("pid").to_string_lossy())));
    let errors = folder.join("errors");
    let errors = if has_error_pipe { errors.to_string_lossy() } else { "/dev/null".into() };
    script.push_str(&format!("exec 2>{}\nexec -- {}", quoted(&errors), quoted(spec.command)));
    for arg in spec.args {
        script.push(' ');
        script.push_str(&quoted(arg));
    }
    script.push('\n');
    script
}

/// Whether a shell can export a variable of this name.
pub fn is_variable_name(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A word as a shell reads it back.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Makes the pipe for standard error. It is opened for both directions, so that it neither waits for
/// the program nor ends before it.
#[cfg(target_os = "linux")]
fn open_error_pipe(path: &Path) -> io::Result<Option<pipe::Receiver>> {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    pipe::OpenOptions::new().read_write(true).open_receiver(path).map(Some)
}

/// Elsewhere a pipe with a name cannot be read in both directions: standard error is dropped.
#[cfg(not(target_os = "linux"))]
fn open_error_pipe(_path: &Path) -> io::Result<Option<pipe::Receiver>> {
    Ok(None)
}

async fn keep_errors(mut pipe: pipe::Receiver, errors: ServerErrorOutput) {
    let mut buffer = vec![0; 4096];
    while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
        errors.add(buffer.get(..count).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_of_standard_error_is_kept() {
        let errors = ServerErrorOutput::default();
        for _ in 0..100 {
            errors.add(&[b'x'; 4096]);
        }
        errors.add(b"end\xff");
        let text = errors.text();
        assert!(text.len() <= MAX_ERROR_OUTPUT + 2 && text.ends_with("end\u{fffd}"));
    }

    #[test]
    fn words_reach_the_program_as_they_are() {
        let spec = ServerProgramSpec {
            command: "a b",
            args: &["$(touch x)".into(), "it's".into()],
            env: &BTreeMap::from(
                [("A", "$HOME\n'"), ("PATH", ".")].map(|(n, v)| (n.into(), v.into())),
            ),
            search_path: OsString::new(),
            cwd: "/".into(),
            passed: "LC_*",
            memory_limit: Some(2048),
        };
        let value = ("SLUG_SERVER_VALUE_0".to_owned(), "$HOME\n'".to_owned());
        assert_eq!(values(spec.env), [value]);
        let script = start_script(&spec, Path::new("/t"), true);
        assert!(!script.contains("PATH="), "{script}");
        assert!(
            script.contains("|TERM|SLUG_SERVER_VALUE_*|LC_*) ;;")
                && script.contains("ulimit -d 2 "),
            "{script}"
        );
        let end = "export A=\"$SLUG_SERVER_VALUE_0\"\nunset SLUG_SERVER_VALUE_0\necho $$ >'/t/pid'\nexec 2>'/t/errors'\nexec -- 'a b' '$(touch x)' 'it'\\''s'\n";
        assert!(script.ends_with(end), "{script}");
        for (name, is_name) in [("A_1", true), ("1A", false), ("", false), ("A;x", false)] {
            assert_eq!(is_variable_name(name), is_name, "{name}");
        }
    }
}
