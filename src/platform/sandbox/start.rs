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

use super::bubblewrap::Handed;
use super::filter::{self, Shared, Sockets};
use super::links::Links;
use super::mounted::Gate;
use super::stubs::Stubs;
use super::{Confinement, Means, Refused, Words, bubblewrap, door, landlock};
use crate::disk::read_text;
use crate::domain::{Network, View};

/// A command inside. What it keeps must live until nothing runs there any more.
#[derive(Debug)]
pub(in crate::platform) struct Inside {
    /// The first process.
    pub direct: Pid,
    door: Option<door::Outer>,
    // Before the names are free, or it would look as if all had been put away.
    links: Links,
    _stubs: Stubs,
    _scratch: Option<TempDir>,
}

impl Inside {
    /// Serves what it may reach of the network, until the runtime ends. What it asks for and does
    /// not get is found in what this returns.
    pub fn open_door(&mut self) -> Refused {
        let refused = Refused::default();
        if let Some(door) = self.door.take() {
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
    confinement: &Confinement,
    words: &Words<'_>,
    stdin: Stdio,
) -> io::Result<(Inside, Option<ChildStdin>)> {
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
        Means::Bubblewrap(program) => {
            let (stubs, held) = Stubs::hold(&view.absent)?;
            view.absent = held;
            let (mut child, door) = in_bubblewrap(program, &view, &cwd, words, stdin)?;
            let direct = Pid::from_child(&child);
            let links = Links::of(&view);
            let inside = Inside { direct, door, links, _stubs: stubs, _scratch: None };
            Ok((inside, child.stdin.take()))
        }
        Means::Landlock => {
            let scratch = tempfile::Builder::new().prefix("slug-").tempdir()?;
            let mut child = under_landlock(&view, &scratch.path().canonicalize()?, words, stdin)?;
            let direct = Pid::from_child(&child);
            let (links, _stubs, _scratch) = (Links::default(), Stubs::default(), Some(scratch));
            let inside = Inside { direct, door: None, links, _stubs, _scratch };
            Ok((inside, child.stdin.take()))
        }
        Means::Seatbelt => Err(io::Error::from(io::ErrorKind::Unsupported)),
    }
}

fn in_bubblewrap(
    program: &Path,
    view: &View,
    cwd: &Path,
    words: &Words<'_>,
    stdin: Stdio,
) -> io::Result<(Child, Option<door::Outer>)> {
    let program_of_filter = filter::filter(Sockets::Loopback, Shared::Inside);
    let program_of_filter = program_of_filter.ok_or(io::ErrorKind::Unsupported)?;
    let filter = handed("slug-filter", &filter::bytes(&program_of_filter))?;
    // Where it cannot be read there is nothing to add to.
    let list = view.ignores.as_ref().and_then(|path| read_text(path, u64::MAX).ok()?);
    let ignores =
        list.map(|list| handed("slug-ignores", bubblewrap::ignored(view, &list).as_bytes()));
    let ignores = ignores.transpose()?;
    let (gate, ends) = Gate::new()?;
    let descriptors = Handed {
        filter: filter.as_raw_fd(),
        ignores: ignores.as_ref().map(File::as_raw_fd),
        gate: ends.numbers(),
    };
    let (inner, outer) = match &view.network {
        Network::Hosts(hosts) => Some(door::make(hosts)?).unzip(),
        Network::Off | Network::On => (None, None),
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
    view: &View,
    scratch: &Path,
    words: &Words<'_>,
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
