//! Runs the user's own command for the status line: `sh -c` with a JSON object on its standard
//! input; the first line of its output is shown. It gets two seconds and is killed after that.

use std::path::Path;
use std::time::Duration;

use super::environment::ChildEnvironment;
use super::user_command::{
    self, UserCommandError, UserCommandLine, UserCommandRun, UserCommandVariables,
};

/// How long the command may take.
const LIMIT: Duration = Duration::from_secs(2);

/// The user's command for the status line, and its environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusCommand {
    line: UserCommandLine,
    environment: ChildEnvironment,
}

/// Why there is no line. The messages are sentences for the user.
#[derive(Debug, thiserror::Error)]
pub enum StatusCommandError {
    /// The command could not be started or did not end in time.
    #[error(transparent)]
    Run(#[from] UserCommandError),
    /// The command ended with an error.
    #[error("it ended with {status}{}", said(.complaint))]
    Failed {
        status: std::process::ExitStatus,
        /// The last line of its standard error.
        complaint: String,
    },
}

impl StatusCommand {
    /// `line` is for the shell; `environment` is all that the command gets of slug's variables.
    pub fn new(line: &str, environment: ChildEnvironment) -> Self {
        Self { line: UserCommandLine::Shell(line.to_owned()), environment }
    }
}

/// Runs `command` in `folder` with `state` on its standard input, and returns its first line.
///
/// # Errors
///
/// When the command cannot be started, takes longer than two seconds, or fails.
pub async fn run(
    command: &StatusCommand,
    state: &str,
    folder: &Path,
) -> Result<String, StatusCommandError> {
    run_within(LIMIT, command, state, folder).await
}

async fn run_within(
    limit: Duration,
    command: &StatusCommand,
    state: &str,
    folder: &Path,
) -> Result<String, StatusCommandError> {
    let StatusCommand { line, environment } = command;
    let variables = UserCommandVariables::OfCommands(environment);
    let printed =
        user_command::run(UserCommandRun { line, folder, input: state, limit, variables }).await?;
    if !printed.status.success() {
        let complaint = printed.stderr.lines().last().unwrap_or_default().trim().to_owned();
        return Err(StatusCommandError::Failed { status: printed.status, complaint });
    }
    Ok(printed.stdout.lines().next().unwrap_or_default().trim_end().to_owned())
}

fn said(complaint: &str) -> String {
    if complaint.is_empty() { String::new() } else { format!(": {complaint}") }
}

#[cfg(test)]
mod tests {
    use rustix::process::Pid;

    use super::*;
    use crate::platform::environment::EnvironmentRules;

    fn command_of(line: &str) -> StatusCommand {
        let rules = EnvironmentRules::default();
        StatusCommand::new(line, ChildEnvironment::from_variables(std::env::vars_os(), &rules))
    }

    async fn line(command: &str) -> Result<String, StatusCommandError> {
        run(&command_of(command), "{\"model\":\"qwen\"}", Path::new("/")).await
    }

    #[tokio::test]
    async fn the_first_line_is_returned() {
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
    async fn a_slow_command_is_killed_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        // The command gets time until it has written the file.
        let name = file.display();
        let command = format!("sleep 300 & echo $! > {name}.new; mv {name}.new {name}; wait");
        let mut limit = Duration::from_millis(20);
        let error = loop {
            let error =
                run_within(limit, &command_of(&command), "", folder.path()).await.unwrap_err();
            if file.exists() {
                break error;
            }
            limit *= 2;
        };
        assert!(matches!(error, StatusCommandError::Run(UserCommandError::TooLong(_))), "{error}");
        let pid = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        let pid = Pid::from_raw(pid).unwrap();
        let end = tokio::time::Instant::now() + Duration::from_secs(10);
        // Gone, or a zombie that its new parent has not reaped yet.
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
        // The reader closes the pipe after 16 KB, and the command dies of that.
        let error = line("yes").await;
        assert!(error.is_err() || error.is_ok_and(|line| line == "y"));
    }
}
