//! What bubblewrap has mounted, looked at before anything runs on it.
//!
//! bubblewrap is told paths and follows links in them, and what runs in the same folder already can
//! put a link in the place of a folder between the look and the mount. So its child is made to wait
//! when all is mounted, and goes on only where every mount that can be written shows at its place
//! what lies there outside, and everything that is to be held has a mount at its own name. From then
//! on neither can be moved from inside.

use std::ffi::OsString;
use std::fs;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::FdFlags;
use rustix::process::{Pid, Signal};
use serde::Deserialize;

use crate::domain::View;

/// How long mounting may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long what is mounted may still look wrong: the old root goes last.
const SETTLING: Duration = Duration::from_millis(200);

/// What of `/dev` bubblewrap takes from outside.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// How often it is looked at meanwhile.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// What bubblewrap's child waits behind.
#[derive(Debug)]
pub(super) struct Gate {
    info: PipeReader,
    word: PipeWriter,
}

/// Its other side, for bubblewrap.
#[derive(Debug)]
pub(super) struct Ends {
    info: PipeWriter,
    word: PipeReader,
}

impl Ends {
    /// The numbers of the descriptors: of what it is to say, and of what it waits for.
    pub(super) fn numbers(&self) -> (i32, i32) {
        (self.info.as_raw_fd(), self.word.as_raw_fd())
    }
}

#[derive(Deserialize)]
struct Info {
    #[serde(rename = "child-pid")]
    child: i32,
}

impl Gate {
    pub(super) fn new() -> io::Result<(Self, Ends)> {
        let (info, their_info) = io::pipe()?;
        let (their_word, word) = io::pipe()?;
        for end in [their_info.as_fd(), their_word.as_fd()] {
            rustix::io::fcntl_setfd(end, FdFlags::empty())?;
        }
        Ok((Self { info, word }, Ends { info: their_info, word: their_word }))
    }

    /// Lets the child go on once everything is where `view` has it. Where it is not, nothing has
    /// run, and nothing is left.
    pub(super) fn open(mut self, bubblewrap: &mut Child, view: &View) -> io::Result<()> {
        let mut said = serde_json::Deserializer::from_reader(&self.info);
        // What it says when it cannot begin is in its own output.
        let Ok(Info { child }) = Info::deserialize(&mut said) else { return Ok(()) };
        match wait_for(child, view) {
            Ok(()) => match self.word.write_all(b"g") {
                // It has ended by itself, and says why in its own output.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                told => told,
            },
            Err(error) => {
                // It takes the end of the pipe for a word, too.
                if let Some(child) = Pid::from_raw(child) {
                    let _ = rustix::process::kill_process(child, Signal::KILL);
                }
                bubblewrap.kill()?;
                bubblewrap.wait()?;
                Err(error)
            }
        }
    }
}

fn wait_for(child: i32, view: &View) -> io::Result<()> {
    let began = Instant::now();
    let mut ready = None;
    loop {
        // It has ended by itself.
        let Ok(inside) = Mounts::of(&child.to_string()) else { return Ok(()) };
        let wrong = if inside.is_ready() {
            ready.get_or_insert_with(Instant::now);
            match first_wrong(&inside, &Mounts::of("self")?, view) {
                None => return Ok(()),
                wrong => wrong,
            }
        } else {
            None
        };
        if ready.is_some_and(|since| since.elapsed() > SETTLING) || began.elapsed() > PATIENCE {
            let what = wrong.as_deref().unwrap_or(&view.dir);
            return Err(io::Error::other(format!(
                "{} was changed meanwhile; nothing was run. Try again",
                what.display()
            )));
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// The first path that is not as `view` has it.
fn first_wrong(inside: &Mounts, outside: &Mounts, view: &View) -> Option<PathBuf> {
    let is_right = |mount: &&Mount| {
        let mut writable = view.writable.iter().chain([&view.dir]);
        let may = writable.any(|it| mount.at.starts_with(it));
        let is_of_its_own = mount.at.starts_with("/dev") || view.private.contains(&mount.at);
        let is_as_outside = outside.origin(&mount.at) == Some((&*mount.device, mount.root.clone()));
        (if is_as_outside { may } else { is_of_its_own })
            || DEVICES.iter().any(|it| mount.at == Path::new(it))
            // bubblewrap leaves as it is what it cannot enter, and no more can a command.
            || is_closed(&mount.at)
    };
    let mut written = inside.0.iter().filter(|mount| mount.is_writable);
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

/// A mount: what of which device is where.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    device: String,
    root: PathBuf,
    at: PathBuf,
    is_writable: bool,
}

/// What a process has mounted; of two at one place the later one is seen.
#[derive(Debug)]
struct Mounts(Vec<Mount>);

impl Mounts {
    fn of(process: &str) -> io::Result<Self> {
        fs::read(format!("/proc/{process}/mountinfo")).map(|text| Self::read(&text))
    }

    fn read(text: &[u8]) -> Self {
        Self(text.split(|byte| *byte == b'\n').filter_map(Mount::read).collect())
    }

    /// Whether bubblewrap has let go of its own two roots, and closed `/proc`, which it does between.
    fn is_ready(&self) -> bool {
        let is_own =
            |mount: &Mount| ["/newroot", "/oldroot"].iter().any(|root| mount.at.starts_with(root));
        let proc = self.0.iter().rfind(|mount| mount.at == Path::new("/proc"));
        proc.is_some_and(|proc| !proc.is_writable) && !self.0.iter().any(is_own)
    }

    /// The device that `path` is on, and where on it.
    fn origin(&self, path: &Path) -> Option<(&str, PathBuf)> {
        let on = self.0.iter().filter(|mount| path.starts_with(&mount.at));
        let on = on.max_by_key(|mount| mount.at.components().count())?;
        Some((&on.device, on.root.join(path.strip_prefix(&on.at).ok()?)))
    }
}

impl Mount {
    /// A line of `mountinfo`; see `proc_pid_mountinfo(5)`.
    fn read(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ').skip(2);
        let device = String::from_utf8_lossy(fields.next()?).into_owned();
        let (root, at) = (unescaped(fields.next()?), unescaped(fields.next()?));
        let is_writable = fields.next()?.split(|byte| *byte == b',').any(|it| it == b"rw");
        Some(Self { device, root, at, is_writable })
    }
}

/// A path there has `\040` for a space, and so on.
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
    use crate::domain::{Network, Spot, SpotKind};

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
";

    fn view() -> View {
        View {
            held: vec!["/w/my app/sub".into()],
            fixed: vec!["/w/my app/sub/.git".into()],
            covered: vec![Spot { path: "/w/my app/.env".into(), kind: SpotKind::File }],
            private: vec!["/tmp".into()],
            ..View::around("/w/my app".into(), Network::Off)
        }
    }

    fn wrong(inside: &str) -> Option<String> {
        let (inside, outside) = (Mounts::read(inside.as_bytes()), Mounts::read(OUTSIDE.as_bytes()));
        assert!(inside.is_ready());
        first_wrong(&inside, &outside, &view()).map(|path| path.display().to_string())
    }

    #[test]
    fn what_is_mounted_as_it_was_meant_is_let_go() {
        assert_eq!(wrong(INSIDE), None);
    }

    #[test]
    fn what_a_link_has_led_elsewhere_is_found() {
        for (from, to, path) in [
            // Both ends of the mount followed the link.
            ("/my\\040app/sub /w/my\\040app/sub rw", "/other /w/other rw", "/w/other"),
            // One of them did.
            ("/my\\040app/sub /w", "/other /w", "/w/my app/sub"),
            ("/w/my\\040app/sub rw", "/w/my\\040app/other rw", "/w/my app/other"),
            // Another device has the same path on it.
            ("8 7 8:2", "8 7 8:3", "/w/my app/sub"),
            ("/w/my\\040app/sub/.git ro", "/w/my\\040app/x/.git ro", "/w/my app/sub/.git"),
            ("/w/my\\040app/.env ro", "/w/.env ro", "/w/my app/.env"),
            // They followed it to where the sandbox has something of its own.
            ("8:2 /my\\040app/sub /w/my\\040app/sub rw", "8:1 /tmp /tmp rw", "/tmp"),
            ("/w/my\\040app/sub/.git ro", "/w/my\\040app/sub/.git rw", "/w/my app/sub/.git"),
            // What was to be read only is not.
            ("/ / ro,", "/ / rw,", "/"),
        ] {
            let changed = INSIDE.replace(from, to);
            assert_ne!(changed, INSIDE, "{from}");
            assert_eq!(wrong(&changed).as_deref(), Some(path), "{from}");
        }
    }

    #[test]
    fn while_it_is_being_mounted_it_is_not_ready() {
        for text in [OUTSIDE.to_owned(), INSIDE.replace(" /tmp rw", " /newroot/tmp rw")] {
            assert!(!Mounts::read(text.as_bytes()).is_ready(), "{text}");
        }
    }
}
