//! Starts a command in a sandbox, and keeps what the sandbox needs while anything runs there.

use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use rustix::fs::MemfdFlags;
use rustix::process::Pid;
use tempfile::TempDir;

use super::bubblewrap::BubblewrapDescriptors;
use super::filter::{self, IpcScope, SocketPolicy};
use super::links::SymlinkCleanup;
use super::mount_check::MountBarrier;
use super::mount_placeholders::MountPlaceholders;
use super::{
    BashInvocation, RefusedHosts, SandboxBackend, SandboxSpec, bubblewrap, landlock, proxy_socket,
};
use crate::disk::{private_folder, read_text};
use crate::domain::{SandboxNetwork, SandboxProfile};

/// A command in a sandbox. It must live until no process runs there any more.
#[derive(Debug)]
pub(in crate::platform) struct ConfinedProcess {
    /// The first process in the sandbox.
    pub direct: Pid,
    /// Whether the command is in a session of its own, below `direct`.
    pub is_in_own_session: bool,
    proxy_socket: Option<proxy_socket::OuterProxySocket>,
    // Dropped before the placeholders: when those are gone, everything counts as cleaned up.
    links: SymlinkCleanup,
    _stubs: MountPlaceholders,
    _scratch: Option<TempDir>,
}

impl ConfinedProcess {
    /// Serves the hosts that the command may reach, until the runtime ends. The hosts that it was
    /// kept from are collected in the returned value.
    pub fn serve_proxy(&mut self) -> RefusedHosts {
        let refused = RefusedHosts::default();
        if let Some(proxy_socket) = self.proxy_socket.take() {
            tokio::spawn(proxy_socket.serve(refused.clone()));
        }
        refused
    }

    /// Removes links that the next command would take for the user's, while something still runs.
    pub fn tidy(&self) {
        self.links.remove();
    }
}

/// Starts bash in the sandbox, in the current folder.
pub(in crate::platform) fn start(
    confinement: &SandboxSpec,
    words: &BashInvocation<'_>,
    stdin: Stdio,
) -> io::Result<(ConfinedProcess, Option<ChildStdin>)> {
    let mut view = confinement.view.clone();
    let cwd = std::env::current_dir()?;
    if !cwd.starts_with(&view.dir) {
        return Err(io::Error::other(format!(
            "{} lies outside of the sandbox around {}",
            cwd.display(),
            view.dir.display()
        )));
    }
    let is_in_own_session = confinement.means.begins_session() && !words.has_terminal;
    match &confinement.means {
        SandboxBackend::Bubblewrap(program) => {
            let (placeholders, held) = MountPlaceholders::hold(&view.absent)?;
            view.absent = held;
            view.writable.retain(|folder| is_there(folder));
            let (mut child, proxy_socket) = in_bubblewrap(program, &view, &cwd, words, stdin)?;
            let direct = Pid::from_child(&child);
            let links = SymlinkCleanup::of(&view);
            let confined = ConfinedProcess {
                direct,
                is_in_own_session,
                proxy_socket,
                links,
                _stubs: placeholders,
                _scratch: None,
            };
            Ok((confined, child.stdin.take()))
        }
        SandboxBackend::Landlock => {
            let scratch = private_folder("slug-")?;
            let mut child = under_landlock(&view, &scratch.path().canonicalize()?, words, stdin)?;
            let direct = Pid::from_child(&child);
            let (links, _stubs, _scratch) =
                (SymlinkCleanup::default(), MountPlaceholders::default(), Some(scratch));
            let proxy_socket = None;
            let confined = ConfinedProcess {
                direct,
                is_in_own_session,
                proxy_socket,
                links,
                _stubs,
                _scratch,
            };
            Ok((confined, child.stdin.take()))
        }
        SandboxBackend::Seatbelt => Err(io::Error::from(io::ErrorKind::Unsupported)),
    }
}

/// Makes a folder that is missing. Only what exists can be mounted.
fn is_there(folder: &Path) -> bool {
    match fs::create_dir(folder) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::AlreadyExists,
    }
}

fn in_bubblewrap(
    program: &Path,
    view: &SandboxProfile,
    cwd: &Path,
    words: &BashInvocation<'_>,
    stdin: Stdio,
) -> io::Result<(Child, Option<proxy_socket::OuterProxySocket>)> {
    let program_of_filter = filter::filter(SocketPolicy::Loopback, IpcScope::Inside);
    let program_of_filter = program_of_filter.ok_or(io::ErrorKind::Unsupported)?;
    let filter = memory_file("slug-filter", &filter::bytes(&program_of_filter))?;
    // Where the list cannot be read there is nothing to add to.
    let list = view.ignores.as_ref().and_then(|path| read_text(path, u64::MAX).ok()?);
    let ignores =
        list.map(|list| memory_file("slug-ignores", bubblewrap::ignored(view, &list).as_bytes()));
    let ignores = ignores.transpose()?;
    let (barrier, ends) = MountBarrier::new()?;
    let descriptors = BubblewrapDescriptors {
        filter: filter.as_raw_fd(),
        ignores: ignores.as_ref().map(File::as_raw_fd),
        gate: ends.numbers(),
    };
    let (inner, outer) = match &view.network {
        SandboxNetwork::Hosts(hosts) => Some(proxy_socket::make(hosts)?).unzip(),
        SandboxNetwork::Off | SandboxNetwork::On => (None, None),
    };
    let mut command = Command::new(program);
    let session = (!words.has_terminal).then_some(bubblewrap::NEW_SESSION);
    command
        .arg0("bwrap")
        .args(session)
        .args(bubblewrap::arguments(view, descriptors, cwd, words.variables))
        .stdin(stdin)
        .process_group(0);
    if words.has_terminal {
        // bubblewrap would make the terminal of its output a device inside.
        command.stdout(Stdio::null());
    }
    if let Some(inner) = &inner {
        command.arg(words.bash).args(["--noprofile", "--norc", "-c"]).arg(inner.script());
    }
    let mut child = command.arg(words.bash).args(&words.arguments).spawn()?;
    drop(ends);
    barrier.open(&mut child, view)?;
    Ok((child, outer))
}

/// A file in memory whose descriptor bubblewrap inherits.
fn memory_file(name: &str, bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create(name, MemfdFlags::empty())?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

/// Starts bash from a confined thread: the confinement holds for what the thread starts, and for
/// nothing else in this process.
fn under_landlock(
    view: &SandboxProfile,
    scratch: &Path,
    words: &BashInvocation<'_>,
    stdin: Stdio,
) -> io::Result<Child> {
    let started = std::thread::scope(|scope| {
        let thread = scope.spawn(move || {
            landlock::confine_thread(view, scratch).map_err(io::Error::other)?;
            let mut command = Command::new(words.bash);
            command
                .arg0("bash")
                .args(&words.arguments)
                .envs(words.variables.iter().cloned())
                .env("TMPDIR", scratch)
                .stdin(stdin)
                .process_group(0);
            command.spawn()
        });
        thread.join()
    });
    started.unwrap_or_else(|_| Err(io::Error::other("confining a thread failed")))
}
