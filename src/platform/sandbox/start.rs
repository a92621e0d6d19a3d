//! Starts a command inside, and keeps what its sandbox needs for as long as anything runs there.

use std::fs::File;
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
use crate::disk::read_text;
use crate::domain::{SandboxNetwork, SandboxProfile};

/// A command inside. What it keeps must live until nothing runs there any more.
#[derive(Debug)]
pub(in crate::platform) struct ConfinedProcess {
    /// The first process.
    pub direct: Pid,
    proxy_socket: Option<proxy_socket::OuterProxySocket>,
    // Before the names are free, or it would look as if all had been put away.
    links: SymlinkCleanup,
    _stubs: MountPlaceholders,
    _scratch: Option<TempDir>,
}

impl ConfinedProcess {
    /// Serves what it may reach of the network, until the runtime ends. What it asks for and does
    /// not get is found in what this returns.
    pub fn serve_proxy(&mut self) -> RefusedHosts {
        let refused = RefusedHosts::default();
        if let Some(door) = self.proxy_socket.take() {
            tokio::spawn(door.serve(refused.clone()));
        }
        refused
    }

    /// Takes away what the next command would take for the person's, while something still runs.
    pub fn tidy(&self) {
        self.links.remove();
    }
}

/// Starts a bash inside, in the current folder.
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
    match &confinement.means {
        SandboxBackend::Bubblewrap(program) => {
            let (stubs, held) = MountPlaceholders::hold(&view.absent)?;
            view.absent = held;
            let (mut child, door) = in_bubblewrap(program, &view, &cwd, words, stdin)?;
            let direct = Pid::from_child(&child);
            let links = SymlinkCleanup::of(&view);
            let inside = ConfinedProcess {
                direct,
                proxy_socket: door,
                links,
                _stubs: stubs,
                _scratch: None,
            };
            Ok((inside, child.stdin.take()))
        }
        SandboxBackend::Landlock => {
            let scratch = tempfile::Builder::new().prefix("slug-").tempdir()?;
            let mut child = under_landlock(&view, &scratch.path().canonicalize()?, words, stdin)?;
            let direct = Pid::from_child(&child);
            let (links, _stubs, _scratch) =
                (SymlinkCleanup::default(), MountPlaceholders::default(), Some(scratch));
            let inside = ConfinedProcess { direct, proxy_socket: None, links, _stubs, _scratch };
            Ok((inside, child.stdin.take()))
        }
        SandboxBackend::Seatbelt => Err(io::Error::from(io::ErrorKind::Unsupported)),
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
    let filter = handed("slug-filter", &filter::bytes(&program_of_filter))?;
    // Where it cannot be read there is nothing to add to.
    let list = view.ignores.as_ref().and_then(|path| read_text(path, u64::MAX).ok()?);
    let ignores =
        list.map(|list| handed("slug-ignores", bubblewrap::ignored(view, &list).as_bytes()));
    let ignores = ignores.transpose()?;
    let (gate, ends) = MountBarrier::new()?;
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
    command
        .arg0("bwrap")
        .args(bubblewrap::arguments(view, descriptors, cwd, words.variables))
        .stdin(stdin)
        .process_group(0);
    if let Some(inner) = &inner {
        command.arg(words.bash).args(["--noprofile", "--norc", "-c"]).arg(inner.script());
    }
    let mut child = command.arg(words.bash).args(&words.arguments).spawn()?;
    drop(ends);
    gate.open(&mut child, view)?;
    Ok((child, outer))
}

/// Something to be read from a descriptor that is passed on.
fn handed(name: &str, bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create(name, MemfdFlags::empty())?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

/// What a thread is confined to holds for what it starts, and for nothing else in this process.
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
