//! Confines commands to what a [`SandboxProfile`] allows, with what this machine has: bubblewrap,
//! else Landlock with seccomp; on macOS `sandbox-exec`.
//!
//! Each backend is tried once, before the first command, to find out whether it works. Where none
//! does there is no sandbox, and [`SandboxUnavailable`] says what is missing: no command ever runs
//! with a weaker sandbox than asked for. A process host with a sandbox
//! (`ProcessHost::with_sandbox`) is a host like any other. Whoever runs something from the
//! workspace (a tool, a hook, a formatter, a language server) gets that host and knows nothing of
//! sandboxes.
//!
//! The supervisor of each command ([`super::supervisor`]) sets the sandbox up. It stays outside, so that
//! it can end all processes inside.

mod denial_patterns;
mod placeholder;
mod policy;
mod refused_hosts;

#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
pub(super) mod escape_tests;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod links;
#[cfg(target_os = "linux")]
mod mount_check;
#[cfg(target_os = "linux")]
mod mount_placeholders;
#[cfg(target_os = "linux")]
mod proxy;
#[cfg(target_os = "linux")]
pub(super) mod proxy_socket;
#[cfg(any(target_os = "macos", test))]
mod seatbelt;
#[cfg(target_os = "linux")]
mod start;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::domain::{SandboxBackendKind, SandboxProfile};

pub use denial_patterns::denial_line;
#[cfg(target_os = "linux")]
pub use escape_tests::{EscapeOutcome, EscapeTest, trial};
pub use placeholder::is_placeholder;
pub use policy::ProfileSource;

pub(super) use policy::HostSandboxPolicy;
pub(super) use refused_hosts::RefusedHosts;
#[cfg(target_os = "linux")]
pub(super) use start::{ConfinedProcess, start};

/// A way to confine commands that was found to work here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SandboxBackend {
    /// The path of the `bwrap` program.
    Bubblewrap(PathBuf),
    Landlock,
    Seatbelt,
}

/// A command's sandbox, as slug sends it to the supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxSpec {
    pub means: SandboxBackend,
    /// The files and the network that the command sees.
    pub view: SandboxProfile,
}

/// Why there is no sandbox here: each backend that was tried, and what it lacks.
#[derive(Debug, thiserror::Error)]
#[error("No sandbox works on this machine.{}", lacks(.0))]
pub struct SandboxUnavailable(pub Vec<(SandboxBackendKind, String)>);

fn lacks(tried: &[(SandboxBackendKind, String)]) -> String {
    tried.iter().map(|(method, why)| format!("\n  {method}: {why}")).collect()
}

impl SandboxBackend {
    /// The kind of backend, without its paths.
    pub fn method(&self) -> SandboxBackendKind {
        match self {
            Self::Bubblewrap(_) => SandboxBackendKind::Bubblewrap,
            Self::Landlock => SandboxBackendKind::Landlock,
            Self::Seatbelt => SandboxBackendKind::Seatbelt,
        }
    }

    /// Whether commands inside that have no terminal are in a session of their own, and others are
    /// below a process that has the terminal's keys with them.
    pub(super) fn begins_session(&self) -> bool {
        match self {
            Self::Bubblewrap(_) => true,
            Self::Landlock | Self::Seatbelt => false,
        }
    }
}

/// Confines the calling thread for good, with all that it starts from here on, to reading `places` and
/// to no socket; outside Linux nothing is confined. The error is a phrase.
///
/// # Errors
///
/// When the kernel cannot do all of it. What it can do is in force then.
pub(super) fn confine_to_reading(places: &[PathBuf]) -> Result<(), String> {
    #[cfg(target_os = "linux")]
    return landlock::confine_to_reading(places).map_err(|error| error.to_string());
    #[cfg(not(target_os = "linux"))]
    Err(format!("{} places cannot be fenced in here", places.len()))
}

/// Tries the backends, or only one, and returns the first that works. `path` is the value of PATH.
///
/// # Errors
///
/// When no backend works; the error names what each one lacks.
pub fn find(
    only: Option<SandboxBackendKind>,
    path: &OsStr,
    workspace: &Path,
) -> Result<SandboxBackend, SandboxUnavailable> {
    let mut lacks = Vec::new();
    for method in methods().iter().filter(|method| only.is_none_or(|only| only == **method)) {
        match try_out(*method, path, workspace) {
            Ok(means) => return Ok(means),
            Err(why) => lacks.push((*method, why)),
        }
    }
    if let (Some(only), true) = (only, lacks.is_empty()) {
        lacks.push((only, "it belongs to another operating system".to_owned()));
    }
    Err(SandboxUnavailable(lacks))
}

/// The backends of this operating system, the best first.
pub fn methods() -> &'static [SandboxBackendKind] {
    if cfg!(target_os = "linux") {
        &[SandboxBackendKind::Bubblewrap, SandboxBackendKind::Landlock]
    } else if cfg!(target_os = "macos") {
        &[SandboxBackendKind::Seatbelt]
    } else {
        &[]
    }
}

/// Runs a command that does nothing in the sandbox; the error is a phrase.
#[cfg(target_os = "linux")]
fn try_out(
    method: SandboxBackendKind,
    path: &OsStr,
    workspace: &Path,
) -> Result<SandboxBackend, String> {
    if filter::filter(filter::SocketPolicy::Loopback, filter::IpcScope::Machine).is_none() {
        return Err("slug has no seccomp filter for this kind of processor".to_owned());
    }
    match method {
        SandboxBackendKind::Bubblewrap => {
            bubblewrap::try_out(path, workspace).map(SandboxBackend::Bubblewrap)
        }
        SandboxBackendKind::Landlock => landlock::try_out().map(|()| SandboxBackend::Landlock),
        SandboxBackendKind::Seatbelt => Err("it belongs to macOS".to_owned()),
    }
}

#[cfg(target_os = "macos")]
fn try_out(
    method: SandboxBackendKind,
    _path: &OsStr,
    _workspace: &Path,
) -> Result<SandboxBackend, String> {
    match method {
        SandboxBackendKind::Seatbelt => seatbelt::try_out().map(|()| SandboxBackend::Seatbelt),
        SandboxBackendKind::Bubblewrap | SandboxBackendKind::Landlock => {
            Err("it belongs to Linux".to_owned())
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn try_out(
    _method: SandboxBackendKind,
    _path: &OsStr,
    _workspace: &Path,
) -> Result<SandboxBackend, String> {
    Err("slug has no sandbox for this operating system".to_owned())
}

/// How bash is started, for a sandbox's own program to do it.
pub(super) struct BashInvocation<'a> {
    pub bash: &'a Path,
    pub arguments: Vec<std::ffi::OsString>,
    /// Variables for bash alone, not for the sandbox's own program.
    pub variables: &'a [(std::ffi::OsString, std::ffi::OsString)],
    /// Whether its input is a terminal, which `arguments` make its output, too.
    pub has_terminal: bool,
}

/// A started command. On Linux it holds more; elsewhere a supervisor only starts a program.
#[cfg(not(target_os = "linux"))]
pub(super) struct ConfinedProcess {
    /// The first process in the sandbox.
    pub direct: rustix::process::Pid,
    /// Whether the command is in a session of its own, below `direct`.
    pub is_in_own_session: bool,
}

#[cfg(not(target_os = "linux"))]
impl ConfinedProcess {
    /// Lists of hosts only work on Linux, so nothing is refused here.
    pub(super) fn serve_proxy(&mut self) -> RefusedHosts {
        RefusedHosts::default()
    }

    /// Does nothing: commands leave nothing here that would have to be removed.
    pub(super) fn tidy(&self) {}
}

#[cfg(target_os = "macos")]
pub(super) fn start(
    confinement: &SandboxSpec,
    words: &BashInvocation<'_>,
    stdin: std::process::Stdio,
) -> std::io::Result<(ConfinedProcess, Option<std::process::ChildStdin>)> {
    use std::os::unix::process::CommandExt;

    let mut command = seatbelt::command(&confinement.view, words);
    let mut child = command.stdin(stdin).process_group(0).spawn()?;
    let direct = rustix::process::Pid::from_child(&child);
    let confined = ConfinedProcess { direct, is_in_own_session: false };
    Ok((confined, child.stdin.take()))
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(super) fn start(
    _confinement: &SandboxSpec,
    _words: &BashInvocation<'_>,
    _stdin: std::process::Stdio,
) -> std::io::Result<(ConfinedProcess, Option<std::process::ChildStdin>)> {
    Err(std::io::Error::from(std::io::ErrorKind::Unsupported))
}
