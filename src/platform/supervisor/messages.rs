//! What slug and a supervisor send each other over their socket.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::super::sandbox::SandboxSpec;

/// What slug wants to run.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::platform) struct SupervisorRequest {
    /// For `bash -c`.
    pub script: String,
    pub input: CommandInput,
    /// Variables for the script that are kept out of the supervisor's environment ([`super::for_loader`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<(OsString, OsString)>,
    /// The sandbox; `None`: the script runs without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<SandboxSpec>,
    /// A folder that the supervisor removes at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
}

/// What the command has as its standard input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::platform) enum CommandInput {
    /// `/dev/null`.
    Nothing,
    Text(String),
    /// The pipe that the supervisor has as its standard error. The command's own standard error goes
    /// where its standard output goes.
    Pipe,
    /// The pseudo-terminal that the supervisor has as its output.
    Terminal,
}

impl CommandInput {
    /// Whether the command is a job, whose host waits to hear that it runs.
    pub(super) fn is_of_job(&self) -> bool {
        match self {
            Self::Pipe | Self::Terminal => true,
            Self::Nothing | Self::Text(_) => false,
        }
    }
}

/// What slug tells a supervisor while its command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::platform) enum SupervisorCommand {
    /// INT for the processes in the foreground, unless a terminal has seen to it.
    Interrupt,
    /// The size of the terminal has changed.
    WindowChanged,
    /// TERM for everything, and KILL after [`super::GRACE`].
    Terminate,
    /// KILL for everything.
    Kill,
}

impl SupervisorCommand {
    const ALL: [Self; 4] = [Self::Interrupt, Self::WindowChanged, Self::Terminate, Self::Kill];

    /// The command as it travels.
    pub(in crate::platform) fn byte(self) -> u8 {
        match self {
            Self::Interrupt => b'i',
            Self::WindowChanged => b'w',
            Self::Terminate => b't',
            Self::Kill => b'k',
        }
    }

    /// Whether it ends the command.
    pub(in crate::platform) fn ends(self) -> bool {
        match self {
            Self::Interrupt | Self::WindowChanged => false,
            Self::Terminate | Self::Kill => true,
        }
    }

    /// The command that was received; anything unknown, and `None` for the end of the socket, mean the
    /// end of everything.
    pub(super) fn received(sent: Option<u8>) -> Self {
        let command = Self::ALL.into_iter().find(|command| Some(command.byte()) == sent);
        command.unwrap_or(Self::Terminate)
    }
}

/// How the direct child ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::platform) enum SupervisorReport {
    /// The command of a job runs.
    Started,
    Code(i32),
    Signal(i32),
    /// The direct child could not be started; the error number of the system.
    NotStarted(i32),
    /// The sandbox could not be set up, and nothing was started; the reason.
    NotConfined(String),
    /// Hosts that the sandbox kept the command from reaching. Sent before the report of the end.
    Refused(Vec<String>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_survives_the_wire() {
        let not_confined = SupervisorReport::NotConfined("why\nnot".to_owned());
        let refused = SupervisorReport::Refused(vec!["a.org:443".to_owned()]);
        for report in [
            SupervisorReport::Started,
            SupervisorReport::Code(3),
            SupervisorReport::Signal(9),
            SupervisorReport::NotStarted(2),
            not_confined,
            refused,
        ] {
            let line = serde_json::to_string(&report).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<SupervisorReport>(&line).unwrap(), report);
        }
    }

    #[test]
    fn every_command_arrives_and_anything_else_ends_everything() {
        for command in SupervisorCommand::ALL {
            assert_eq!(SupervisorCommand::received(Some(command.byte())), command);
        }
        for sent in [None, Some(b'?')] {
            assert_eq!(SupervisorCommand::received(sent), SupervisorCommand::Terminate);
        }
    }
}
