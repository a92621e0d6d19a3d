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

use super::filter::{self, Sockets};
use super::stubs::Stubs;
use super::{Confinement, Means, Words, bubblewrap, landlock};
use crate::domain::View;

/// A command inside. What it keeps must live until nothing runs there any more.
#[derive(Debug)]
pub(in crate::platform) struct Inside {
    /// The first process.
    pub direct: Pid,
    _stubs: Stubs,
    _scratch: Option<TempDir>,
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
            let mut child = in_bubblewrap(program, &view, &cwd, words, stdin)?;
            let direct = Pid::from_child(&child);
            let inside = Inside { direct, _stubs: stubs, _scratch: None };
            Ok((inside, child.stdin.take()))
        }
        Means::Landlock => {
            let scratch = tempfile::Builder::new().prefix("slug-").tempdir()?;
            let mut child = under_landlock(&view, scratch.path(), words, stdin)?;
            let direct = Pid::from_child(&child);
            let inside = Inside { direct, _stubs: Stubs::default(), _scratch: Some(scratch) };
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
) -> io::Result<Child> {
    let filter = filter_file(Sockets::Loopback)?;
    let mut command = Command::new(program);
    command
        .arg0("bwrap")
        .args(bubblewrap::arguments(view, filter.as_raw_fd(), cwd))
        .arg(words.bash)
        .args(&words.arguments)
        .stdin(stdin)
        .process_group(0);
    command.spawn()
}

/// The seccomp program, to be read from a descriptor that is passed on.
fn filter_file(sockets: Sockets) -> io::Result<File> {
    let program = filter::filter(sockets).ok_or(io::ErrorKind::Unsupported)?;
    let mut file = File::from(rustix::fs::memfd_create("slug-filter", MemfdFlags::empty())?);
    file.write_all(&filter::bytes(&program))?;
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
                .env("TMPDIR", scratch)
                .stdin(stdin)
                .process_group(0);
            command.spawn()
        });
        thread.join()
    });
    started.unwrap_or_else(|_| Err(io::Error::other("confining a thread failed")))
}
