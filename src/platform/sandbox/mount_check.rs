//! Checks what bubblewrap has mounted before anything runs on it.
//!
//! bubblewrap gets paths and follows links in them. A process that already runs in the same folder
//! can put a link in the place of a folder between the look and the mount. So bubblewrap's child
//! waits when everything is mounted. It goes on only if every writable mount shows what is at the
//! same place outside, and everything to be protected has a mount at its own name. From then on
//! no process inside can move either.

use std::ffi::OsString;
use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, FdFlags};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use serde::Deserialize;

use crate::domain::SandboxProfile;

/// How long mounting may take.
const MOUNT_TIMEOUT: Duration = Duration::from_secs(20);

/// How long the mounts may still look wrong: the old root is removed last.
const SETTLING: Duration = Duration::from_millis(200);

/// The devices that bubblewrap takes from outside.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// The pause between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// Holds bubblewrap's child back until its mounts are checked.
#[derive(Debug)]
pub(super) struct MountBarrier {
    info: PipeReader,
    word: PipeWriter,
}

/// The ends of the barrier's pipes that bubblewrap inherits.
#[derive(Debug)]
pub(super) struct BarrierDescriptors {
    info: PipeWriter,
    word: PipeReader,
}

impl BarrierDescriptors {
    /// The numbers of the descriptors: the one bubblewrap writes to, and the one its child waits
    /// for.
    pub(super) fn numbers(&self) -> (i32, i32) {
        (self.info.as_raw_fd(), self.word.as_raw_fd())
    }
}

#[derive(Deserialize)]
struct BubblewrapInfo {
    #[serde(rename = "child-pid")]
    child: i32,
}

impl MountBarrier {
    pub(super) fn new() -> io::Result<(Self, BarrierDescriptors)> {
        let (info, their_info) = io::pipe()?;
        let (their_word, word) = io::pipe()?;
        for end in [their_info.as_fd(), their_word.as_fd()] {
            rustix::io::fcntl_setfd(end, FdFlags::empty())?;
        }
        Ok((Self { info, word }, BarrierDescriptors { info: their_info, word: their_word }))
    }

    /// Lets the child go on once every mount is as `view` wants it. On an error nothing has run,
    /// and no process is left.
    pub(super) fn open(mut self, bubblewrap: &mut Child, view: &SandboxProfile) -> io::Result<()> {
        let (mut child, mut checked) = (None, Ok(MountWait::Ended));
        match self.child(bubblewrap) {
            Ok(Some(pid)) => {
                child = Pid::from_raw(pid);
                checked = wait_for(pid, bubblewrap, view);
            }
            // bubblewrap says why in its own output.
            Ok(None) => {}
            Err(error) => checked = Err(error),
        }
        if let Ok(MountWait::Right) = checked {
            return match self.word.write_all(b"g") {
                // The child has ended by itself.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                result => result,
            };
        }
        // Before the pipe closes, which would release the child, too. It may be gone already.
        if let Some(child) = child {
            let _ = rustix::process::kill_process(child, Signal::KILL);
        }
        if checked.is_err() {
            let group = Pid::from_child(bubblewrap);
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
            bubblewrap.kill()?;
            bubblewrap.wait()?;
        }
        checked.map(drop)
    }

    /// The process id of the child; `None` where bubblewrap has ended without one, and says why in
    /// its own output.
    fn child(&mut self, bubblewrap: &Child) -> io::Result<Option<i32>> {
        let (began, mut text) = (Instant::now(), Vec::new());
        while began.elapsed() < MOUNT_TIMEOUT {
            let is_over = has_ended(bubblewrap);
            let read = self.read_info(&mut text)?;
            if let Ok(BubblewrapInfo { child }) = serde_json::from_slice(&text) {
                return Ok(Some(child));
            }
            match read {
                PipeRead::Something => {}
                PipeRead::Nothing | PipeRead::End if is_over => return Ok(None),
                PipeRead::Nothing => {}
                PipeRead::End => thread::sleep(LOOK_AGAIN),
            }
        }
        Err(io::Error::other("bubblewrap does not say which process is to be looked at"))
    }

    /// Reads from bubblewrap, at most 20 ms: its child can hold the other end for ever.
    fn read_info(&mut self, text: &mut Vec<u8>) -> io::Result<PipeRead> {
        let limit = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        match poll(&mut [PollFd::new(&self.info, PollFlags::IN)], Some(&limit)) {
            Ok(0) | Err(Errno::INTR) => return Ok(PipeRead::Nothing),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut bytes = [0; 512];
        let count = self.info.read(&mut bytes)?;
        text.extend(&bytes[..count]);
        Ok(if count == 0 { PipeRead::End } else { PipeRead::Something })
    }
}

/// The result of a read from the pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PipeRead {
    Something,
    Nothing,
    End,
}

/// The state of the child when the wait is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MountWait {
    /// It waits, and every mount is right.
    Right,
    /// It has ended, or bubblewrap has.
    Ended,
}

/// Whether the process has ended. Its status is left for another call.
fn has_ended(process: &Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match rustix::process::waitid(WaitId::Pid(Pid::from_child(process)), options) {
        Ok(ended) => ended.is_some(),
        Err(error) => error != Errno::INTR,
    }
}

fn is_gone(process: i32) -> bool {
    let asked = Pid::from_raw(process).map(rustix::process::test_kill_process);
    asked.is_none_or(|asked| asked == Err(Errno::SRCH))
}

fn wait_for(child: i32, bubblewrap: &Child, view: &SandboxProfile) -> io::Result<MountWait> {
    let began = Instant::now();
    let mut ready = None;
    loop {
        if has_ended(bubblewrap) {
            return Ok(MountWait::Ended);
        }
        let wrong = match MountTable::of(&child.to_string()) {
            Ok(inside) if inside.is_ready() => {
                ready.get_or_insert_with(Instant::now);
                match first_wrong(&inside, &MountTable::of("self")?, view) {
                    None => return Ok(MountWait::Right),
                    Some(path) => MountCheckError::Changed(path),
                }
            }
            Ok(_) => MountCheckError::Changed(view.dir.clone()),
            Err(_) if is_gone(child) => return Ok(MountWait::Ended),
            Err(error) => {
                ready.get_or_insert_with(Instant::now);
                MountCheckError::Hidden(error)
            }
        };
        if ready.is_some_and(|since| since.elapsed() > SETTLING) || began.elapsed() > MOUNT_TIMEOUT
        {
            return Err(io::Error::other(wrong));
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// Why the child does not go on.
#[derive(Debug, thiserror::Error)]
enum MountCheckError {
    /// A mount is not where it should be.
    #[error("{0} changed meanwhile; nothing ran. Try again")]
    Changed(PathBuf),
    /// `/proc` hides a process with more rights than slug, so its mounts cannot be read.
    #[error(
        "slug cannot check what bwrap has mounted ({0}), so nothing was run. If /proc is mounted with \
         hidepid and bwrap is setuid, run `chmod u-s` on it, or set `sandbox.method = \"landlock\"` in \
         config.toml"
    )]
    Hidden(io::Error),
}

/// The first path that is not mounted as `view` wants it.
fn first_wrong(
    inside: &MountTable,
    outside: &MountTable,
    view: &SandboxProfile,
) -> Option<PathBuf> {
    let is_right = |mount: &&MountEntry| {
        let mut writable = view.writable.iter().chain(&view.scratch).chain([&view.dir]);
        let may = writable.any(|it| mount.at.starts_with(it));
        let is_of_its_own = mount.at.starts_with("/dev") || view.private.contains(&mount.at);
        let is_as_outside = outside.origin(&mount.at) == Some((&*mount.device, mount.root.clone()));
        (if is_as_outside { may } else { is_of_its_own })
            || DEVICES.iter().any(|it| mount.at == Path::new(it))
            // bubblewrap cannot change a place that it cannot enter; a command cannot enter it,
            // either.
            || is_closed(&mount.at)
    };
    // A mount below another mount at the same place cannot be reached.
    let is_beneath = |mount: &MountEntry| {
        inside.0.iter().any(|upper| upper.parent == mount.id && upper.at == mount.at)
    };
    let mut written = inside.0.iter().filter(|mount| mount.is_writable && !is_beneath(mount));
    if let Some(wrong) = written.find(|mount| !is_right(mount)) {
        return Some(wrong.at.clone());
    }
    let is_below_covered = |path: &Path| {
        view.covered.iter().any(|spot| spot.path != path && path.starts_with(&spot.path))
    };
    let at = |path: &Path| inside.0.iter().rfind(|mount| mount.at == path);
    let spots = view.absent.iter().chain(&view.covered).map(|spot| &spot.path);
    let mut read_only = view.fixed.iter().chain(spots).filter(|path| !is_below_covered(path));
    let loose = read_only.find(|path| at(path).is_none_or(|mount| mount.is_writable));
    loose.or_else(|| view.held.iter().find(|path| at(path).is_none())).cloned()
}

fn is_closed(path: &Path) -> bool {
    fs::metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// A line of `mountinfo`: which part of which device is mounted where.
#[derive(Debug, PartialEq, Eq)]
struct MountEntry {
    id: u64,
    /// The id of the mount on which this one is.
    parent: u64,
    device: String,
    root: PathBuf,
    at: PathBuf,
    is_writable: bool,
}

/// The mounts that a process sees; of two at one place the later one is visible.
#[derive(Debug)]
struct MountTable(Vec<MountEntry>);

impl MountTable {
    fn of(process: &str) -> io::Result<Self> {
        fs::read(format!("/proc/{process}/mountinfo")).map(|text| Self::read(&text))
    }

    fn read(text: &[u8]) -> Self {
        Self(text.split(|byte| *byte == b'\n').filter_map(MountEntry::read).collect())
    }

    /// Whether bubblewrap has removed its own two roots and, before that, made `/proc` read only.
    fn is_ready(&self) -> bool {
        let is_own = |mount: &MountEntry| {
            ["/newroot", "/oldroot"].iter().any(|root| mount.at.starts_with(root))
        };
        let proc = self.0.iter().rfind(|mount| mount.at == Path::new("/proc"));
        proc.is_some_and(|proc| !proc.is_writable) && !self.0.iter().any(is_own)
    }

    /// The device that `path` is on, and its path on that device.
    fn origin(&self, path: &Path) -> Option<(&str, PathBuf)> {
        let on = self.0.iter().filter(|mount| path.starts_with(&mount.at));
        let on = on.max_by_key(|mount| mount.at.components().count())?;
        Some((&on.device, on.root.join(path.strip_prefix(&on.at).ok()?)))
    }
}

impl MountEntry {
    /// Parses a line of `mountinfo`; see `proc_pid_mountinfo(5)`.
    fn read(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ');
        let mut number = || str::from_utf8(fields.next()?).ok()?.parse().ok();
        let (id, parent) = (number()?, number()?);
        let device = String::from_utf8_lossy(fields.next()?).into_owned();
        let (root, at) = (unescaped(fields.next()?), unescaped(fields.next()?));
        let is_writable = fields.next()?.split(|byte| *byte == b',').any(|it| it == b"rw");
        Some(Self { id, parent, device, root, at, is_writable })
    }
}

/// Decodes a path, in which `\040` is a space, and so on.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| *first == b'\\');
        let code = code.and_then(|it| u8::from_str_radix(str::from_utf8(it).ok()?, 8).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;

    use crate::domain::{MaskedPath, MaskedPathKind, SandboxNetwork};

    use super::*;

    const OUTSIDE: &str = "\
1 0 8:1 / / rw,relatime - ext4 /dev/a rw
2 1 8:2 / /w rw - ext4 /dev/b rw
3 1 0:5 / /proc rw - proc proc rw
";

    const INSIDE: &str = "\
1 0 8:1 / / ro,relatime - ext4 /dev/a rw
2 1 8:2 / /w ro - ext4 /dev/b rw
3 1 0:5 / /proc ro - proc proc rw
4 1 0:6 / /dev rw - tmpfs tmpfs rw
5 1 0:7 / /proc ro - proc proc rw
6 1 0:8 / /tmp rw - tmpfs tmpfs rw
7 2 8:2 /my\\040app /w/my\\040app rw - ext4 /dev/b rw
8 7 8:2 /my\\040app/sub /w/my\\040app/sub rw - ext4 /dev/b rw
9 8 8:2 /my\\040app/sub/.git /w/my\\040app/sub/.git ro - ext4 /dev/b rw
10 8 0:6 /null /w/my\\040app/.env ro - tmpfs tmpfs rw
11 6 8:1 /tmp/slug-7/s /tmp/slug-7/s rw - ext4 /dev/a rw
";

    fn view() -> SandboxProfile {
        SandboxProfile {
            held: vec!["/w/my app/sub".into()],
            fixed: vec!["/w/my app/sub/.git".into()],
            covered: vec![MaskedPath { path: "/w/my app/.env".into(), kind: MaskedPathKind::File }],
            private: vec!["/tmp".into()],
            scratch: Some("/tmp/slug-7/s".into()),
            ..SandboxProfile::for_folder("/w/my app".into(), SandboxNetwork::Off)
        }
    }

    fn wrong(inside: &str) -> Option<String> {
        let (inside, outside) =
            (MountTable::read(inside.as_bytes()), MountTable::read(OUTSIDE.as_bytes()));
        assert!(inside.is_ready());
        first_wrong(&inside, &outside, &view()).map(|path| path.display().to_string())
    }

    #[test]
    fn right_mounts_are_accepted() {
        assert_eq!(wrong(INSIDE), None);
    }

    #[test]
    fn a_mount_that_followed_a_link_is_found() {
        for (from, to, path) in [
            // Both ends of the mount followed the link.
            ("/my\\040app/sub /w/my\\040app/sub rw", "/other /w/other rw", "/w/other"),
            // Only one end did.
            ("/my\\040app/sub /w", "/other /w", "/w/my app/sub"),
            ("/w/my\\040app/sub rw", "/w/my\\040app/other rw", "/w/my app/other"),
            // Another device has the same path on it.
            ("8 7 8:2", "8 7 8:3", "/w/my app/sub"),
            ("/w/my\\040app/sub/.git ro", "/w/my\\040app/x/.git ro", "/w/my app/sub/.git"),
            ("/w/my\\040app/.env ro", "/w/.env ro", "/w/my app/.env"),
            // The scratch folder was swapped for a link.
            ("8:1 /tmp/slug-7/s /tmp", "8:1 /home/u/.ssh /tmp", "/tmp/slug-7/s"),
            ("/tmp/slug-7/s rw", "/tmp/slug-7/other rw", "/tmp/slug-7/other"),
            // They followed the link to a place that the sandbox made itself.
            ("8:2 /my\\040app/sub /w/my\\040app/sub rw", "8:1 /tmp /tmp rw", "/tmp"),
            ("/w/my\\040app/sub/.git ro", "/w/my\\040app/sub/.git rw", "/w/my app/sub/.git"),
            // A path that should be read only is writable.
            ("/ / ro,", "/ / rw,", "/"),
        ] {
            let changed = INSIDE.replace(from, to);
            assert_ne!(changed, INSIDE, "{from}");
            assert_eq!(wrong(&changed).as_deref(), Some(path), "{from}");
        }
    }

    #[test]
    fn covered_mounts_do_not_matter() {
        let writable = INSIDE.replace("3 1 0:5 / /proc ro", "3 1 0:5 / /proc rw");
        assert_eq!(wrong(&writable).as_deref(), Some("/proc"));
        assert_eq!(wrong(&writable.replace("5 1 0:7", "5 3 0:7")), None);
    }

    /// Runs a script in bubblewrap's place: the barrier's result, and whether the child went on.
    fn run_behind_barrier(script: &str) -> (io::Result<()>, bool) {
        let folder = tempfile::tempdir().unwrap();
        let (barrier, ends) = MountBarrier::new().unwrap();
        let (info, word) = ends.numbers();
        let script = script.replace("INFO", &info.to_string()).replace("WORD", &word.to_string());
        let mut started = std::process::Command::new("/bin/bash")
            .args(["-c", &script])
            .current_dir(&folder)
            .process_group(0)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(ends);
        let result = barrier.open(&mut started, &view());
        // The pipe ends when no process holds it.
        let mut output = started.stdout.take().unwrap();
        output.read_to_end(&mut Vec::new()).unwrap();
        let _ = started.wait();
        (result, folder.path().join("went").exists())
    }

    /// `/proc` tells as little about an unreaped process as about a hidden one.
    #[test]
    fn a_child_whose_mounts_cannot_be_read_stays_blocked() {
        let mut ended = std::process::Command::new("/bin/true").spawn().unwrap();
        while !has_ended(&ended) {
            thread::sleep(LOOK_AGAIN);
        }
        let says = format!("echo '{{ \"child-pid\": {} }}' >&INFO; exec INFO>&-;", ended.id());
        let (result, went) = run_behind_barrier(&format!("{says} read -n1 x <&WORD && touch went"));
        let why = result.unwrap_err().to_string();
        assert!(why.contains("hidepid") && why.contains("chmod u-s"), "{why}");
        assert!(!went);
        ended.wait().unwrap();
    }

    #[test]
    fn an_end_without_a_child_is_no_error_of_the_barrier() {
        let (result, went) = run_behind_barrier("exit 1");
        assert!(result.is_ok() && !went, "{result:?}");
    }

    #[test]
    fn an_orphaned_child_stays_blocked() {
        let child = "(read -n1 x <&WORD && touch went) &";
        let (result, went) = run_behind_barrier(&format!(
            "{child} echo '{{ \"child-pid\": '$!' }}' >&INFO; kill -9 $$"
        ));
        assert!(result.is_ok() && !went, "{result:?}");
    }

    #[test]
    fn unfinished_mounts_are_not_ready() {
        for text in [OUTSIDE.to_owned(), INSIDE.replace(" /tmp rw", " /newroot/tmp rw")] {
            assert!(!MountTable::read(text.as_bytes()).is_ready(), "{text}");
        }
    }
}
