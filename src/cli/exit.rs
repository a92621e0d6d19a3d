//! How slug ends, in numbers that a script can use.

use std::process::ExitCode;

/// The exit status of slug. The numbers are documented and do not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum CliExitStatus {
    /// Answered, or done.
    Answered = 0,
    /// Failed; standard error says why.
    Failed = 1,
    /// The command line or the configuration is wrong.
    Usage = 2,
    /// Stopped by a limit that was set: a budget, a number of rounds or a time.
    Limit = 3,
    /// Answered, but calls were refused for want of permission.
    Refused = 4,
    /// A sandbox was asked for and none can be had. `EX_CONFIG` of sysexits.h.
    NoSandbox = 78,
}

impl CliExitStatus {
    /// The number that the shell sees.
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl From<CliExitStatus> for ExitCode {
    fn from(exit: CliExitStatus) -> Self {
        Self::from(exit.code())
    }
}
