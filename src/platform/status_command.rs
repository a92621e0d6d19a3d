//! Runs the person's own command for the first line: `sh -c`, a JSON object on its standard
//! input, the first line of its output.
//!
//! It gets a process group of its own, so that what it starts ends with it, and no terminal to
//! write to. It may take two seconds; what is longer, or prints no end, is killed.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

/// How long it may take.
const LIMIT: Duration = Duration::from_secs(2);
/// As much of its output is read.
const MOST: u64 = 16 * 1024;

/// Why there is no line. Sentences for the person.
#[derive(Debug, thiserror::Error)]
pub enum StatusCommandError {
    /// It could not be started or talked to.
    #[error("it cannot be run: {0}")]
    Run(#[from] io::Error),
    /// It took too long.
    #[error("it took longer than two seconds and was ended")]
    TooLong,
    /// It says that it failed.
    #[error("it ended with {status}{}", said(.complaint))]
    Failed {
        /// How it ended.
        status: std::process::ExitStatus,
        /// The last line of its standard error.
        complaint: String,
    },
}

/// Runs `command` in `folder` with `state` on its standard input.
pub async fn run(command: &str, state: &str, folder: &Path) -> Result<String, StatusCommandError> {
    run_within(LIMIT, command, state, folder).await
}

async fn run_within(
    limit: Duration,
    command: &str,
    state: &str,
    folder: &Path,
) -> Result<String, StatusCommandError> {
    let mut child = Command::new("sh")
        .arg("-c")
        .arg(command)
        .current_dir(folder)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
    let ran = tokio::time::timeout(limit, talk(&mut child, state)).await;
    // What it has left behind goes, too.
    drop(group);
    let (status, out, complaint) = ran.map_err(|_| StatusCommandError::TooLong)??;
    if !status.success() {
        return Err(StatusCommandError::Failed { status, complaint });
    }
    Ok(out.lines().next().unwrap_or_default().trim_end().to_owned())
}

/// Ends a process group when it is dropped, however that comes about.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may be gone already.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

async fn talk(
    child: &mut Child,
    state: &str,
) -> io::Result<(std::process::ExitStatus, String, String)> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let tell = async move {
        if let Some(mut stdin) = stdin {
            // A command that does not care to read is none that fails.
            let _ = stdin.write_all(state.as_bytes()).await;
        }
    };
    let (_, out, complaint) = tokio::join!(tell, read(stdout), read(stderr));
    let status = child.wait().await?;
    let last = complaint?.lines().last().unwrap_or_default().trim().to_owned();
    Ok((status, out?, last))
}

async fn read(from: Option<impl AsyncRead + Unpin>) -> io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(MOST).read_to_end(&mut bytes).await?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn said(complaint: &str) -> String {
    if complaint.is_empty() { String::new() } else { format!(": {complaint}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn line(command: &str) -> Result<String, StatusCommandError> {
        run(command, "{\"model\":\"qwen\"}", Path::new("/")).await
    }

    #[tokio::test]
    async fn its_first_line_comes_back() {
        assert_eq!(line("cat; echo; echo more").await.unwrap(), "{\"model\":\"qwen\"}");
        assert_eq!(line("true").await.unwrap(), "");
        assert_eq!(line("pwd").await.unwrap(), "/");
    }

    #[tokio::test]
    async fn a_failure_says_what_it_complained_of() {
        let error = line("echo one >&2; echo no such thing >&2; exit 3").await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("exit status: 3") && text.ends_with(": no such thing"), "{text}");
    }

    #[tokio::test]
    async fn one_that_takes_too_long_ends_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        // It is given time until it has written the file.
        let name = file.display();
        let command = format!("sleep 300 & echo $! > {name}.new; mv {name}.new {name}; wait");
        let mut limit = Duration::from_millis(20);
        let error = loop {
            let error = run_within(limit, &command, "", folder.path()).await.unwrap_err();
            if file.exists() {
                break error;
            }
            limit *= 2;
        };
        assert!(matches!(error, StatusCommandError::TooLong), "{error}");
        let pid = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        let pid = Pid::from_raw(pid).unwrap();
        let end = tokio::time::Instant::now() + Duration::from_secs(10);
        // Gone, or a zombie that its new parent has not looked at yet.
        let runs = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
            stat.is_ok_and(|stat| !stat.contains(") Z "))
        };
        while runs() {
            assert!(tokio::time::Instant::now() < end, "{pid:?} still runs");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn output_without_an_end_is_cut_off() {
        // Its reader is gone after 16 KB, and it dies of that.
        let error = line("yes").await;
        assert!(error.is_err() || error.is_ok_and(|line| line == "y"));
    }
}
