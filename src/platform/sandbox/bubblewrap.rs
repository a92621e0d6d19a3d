//! bubblewrap: gives a command its own view of files, processes and network.
//!
//! bubblewrap is not told to die with its parent: processes that a command leaves running in the
//! background would die with it, too. The supervisor stays outside, reaps all processes inside, and
//! ends them when slug goes.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::domain::{MaskedPathKind, SandboxNetwork, SandboxProfile};
use crate::platform::which;

use super::mount_check::MountBarrier;
use super::proxy_socket;

const NAME: &str = "bwrap";

/// How long a command that does nothing may take.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(20);

/// The first arguments of every sandbox.
const ALWAYS: [&str; 14] = [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    // A user who runs slug as root has none of root's capabilities inside.
    "--cap-drop",
    "ALL",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    // Without capabilities the kernel would still let root change its settings there.
    "--remount-ro",
    "/proc",
];

/// The argument that keeps a command from every terminal: left out where it has one of its own.
pub(super) const NEW_SESSION: &str = "--new-session";

/// The kernel's limits on user namespaces: the file, the value that forbids them, and the message.
const LIMITS: [(&str, &str, &str); 3] = [
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor keeps it from making user namespaces \
         (kernel.apparmor_restrict_unprivileged_userns is 1): give bwrap a profile that allows \
         `userns`",
    ),
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "user namespaces are off (kernel.unprivileged_userns_clone is 0)",
    ),
    (
        "/proc/sys/user/max_user_namespaces",
        "0",
        "user namespaces are off (user.max_user_namespaces is 0)",
    ),
];

/// Descriptors that bubblewrap inherits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BubblewrapDescriptors {
    /// The seccomp program.
    pub filter: i32,
    /// The text for git's list of ignored files, where git has one.
    pub ignores: Option<i32>,
    /// The pipe to which bubblewrap writes its child's id, and the one on which the child waits.
    pub gate: (i32, i32),
}

/// The arguments of bubblewrap up to the command. `cwd` is the current folder of the command, and
/// `variables` are for the command alone.
pub(super) fn arguments(
    view: &SandboxProfile,
    handed: BubblewrapDescriptors,
    cwd: &Path,
    variables: &[(OsString, OsString)],
) -> Vec<OsString> {
    let mut words = BubblewrapArguments(ALWAYS.map(OsString::from).to_vec());
    match &view.network {
        SandboxNetwork::Off => words.add(["--unshare-net"]),
        SandboxNetwork::Hosts(hosts) => {
            words.add(["--unshare-net"]);
            for (name, value) in proxy_socket::variables(hosts) {
                words.0.extend(["--setenv".into(), name.into(), value.into()]);
            }
        }
        SandboxNetwork::On => {}
    }
    for folder in &view.private {
        words.on("--tmpfs", folder);
    }
    let (uncovered, others): (Vec<&PathBuf>, Vec<&PathBuf>) =
        view.kept.iter().partition(|it| view.covered.iter().any(|spot| it.starts_with(&spot.path)));
    for path in others {
        words.bind("--ro-bind", path);
    }
    words.bind("--bind", &view.dir);
    let writable = view.writable.iter().chain(&view.scratch).chain(&view.held);
    let mut mounts: Vec<(&str, &PathBuf)> = writable.map(|it| ("--bind", it)).collect();
    mounts.extend(view.fixed.iter().map(|it| ("--ro-bind", it)));
    // The rule for a folder holds but for those that are further down.
    mounts.sort_by_key(|(_, path)| path.components().count());
    for (option, path) in mounts {
        words.bind(option, path);
    }
    for spot in &view.absent {
        match spot.kind {
            // In the sandbox this is a device, which git and other programs ignore.
            MaskedPathKind::File => words.nothing_at(&spot.path),
            MaskedPathKind::Folder => words.bind("--ro-bind", &spot.path),
        }
    }
    if let (Some(path), Some(list)) = (&view.ignores, handed.ignores) {
        words.0.extend(["--ro-bind-data".into(), list.to_string().into(), path.into()]);
    }
    let outermost =
        |path: &Path| !view.covered.iter().any(|it| it.path != path && path.starts_with(&it.path));
    let covered: Vec<_> = view.covered.iter().filter(|spot| outermost(&spot.path)).collect();
    for spot in &covered {
        match spot.kind {
            MaskedPathKind::File => words.nothing_at(&spot.path),
            MaskedPathKind::Folder => words.on("--tmpfs", &spot.path),
        }
    }
    for path in uncovered {
        words.bind("--ro-bind", path);
    }
    for spot in covered.iter().filter(|spot| spot.kind == MaskedPathKind::Folder) {
        words.on("--remount-ro", &spot.path);
    }
    if view.private.iter().any(|folder| folder == Path::new("/tmp")) {
        words.add(["--setenv", "TMPDIR", "/tmp"]);
    }
    words.add(["--seccomp"]);
    words.0.push(handed.filter.to_string().into());
    let (info, word) = handed.gate;
    words.0.extend(["--info-fd".into(), info.to_string().into()]);
    words.0.extend(["--block-fd".into(), word.to_string().into()]);
    words.on("--chdir", cwd);
    for (name, value) in variables {
        words.0.extend(["--setenv".into(), name.clone(), value.clone()]);
    }
    words.add(["--"]);
    words.0
}

struct BubblewrapArguments(Vec<OsString>);

impl BubblewrapArguments {
    fn add<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    fn on(&mut self, option: &str, path: &Path) {
        self.0.extend([option.into(), path.into()]);
    }

    fn bind(&mut self, option: &str, path: &Path) {
        self.0.extend([option.into(), path.into(), path.into()]);
    }

    fn nothing_at(&mut self, path: &Path) {
        self.0.extend(["--ro-bind".into(), "/dev/null".into(), path.into()]);
    }
}

/// git's list of ignored files with the names in the folder that belong to no repository.
pub(super) fn ignored(view: &SandboxProfile, list: &str) -> String {
    let mut text = list.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    for spot in view.absent.iter().chain(&view.covered) {
        let Ok(inside) = spot.path.strip_prefix(&view.dir) else { continue };
        // The list cannot hold a name with a line end.
        let Some(name) = inside.to_str().filter(|name| !name.contains('\n')) else { continue };
        let is_special = |c: char| "*?[]\\ ".contains(c);
        let escaped =
            name.chars().flat_map(|c| is_special(c).then_some('\\').into_iter().chain([c]));
        text.push_str(&format!("/{}\n", escaped.collect::<String>()));
    }
    text
}

/// Finds `bwrap` in `path` and runs something with it. The error is a phrase.
pub(super) fn try_out(path: &OsStr, workspace: &Path) -> Result<PathBuf, String> {
    let program = which::find(NAME, path, workspace)
        .ok_or("it is not installed: install the package bubblewrap")?;
    let failed = |error| format!("{} cannot be used: {error}", program.display());
    let (output, status) = run_nothing(&program).map_err(failed)?;
    if status.success() {
        return Ok(program);
    }
    let complaint = output.lines().next().unwrap_or("it failed without a word").trim();
    let limit = LIMITS.iter().find(|(file, value, _)| {
        std::fs::read_to_string(file).is_ok_and(|text| text.trim() == *value)
    });
    Err(match limit {
        Some((_, _, why)) => format!("{why} ({complaint})"),
        None => complaint.to_owned(),
    })
}

/// Runs a command that does nothing, as later commands will run. Its output goes to a file: after a
/// failure, processes that it leaves could hold a pipe for ever.
fn run_nothing(program: &Path) -> io::Result<(String, ExitStatus)> {
    let (barrier, ends) = MountBarrier::new()?;
    let mut errors = tempfile::tempfile()?;
    let (info, word) = ends.numbers();
    let mut child = Command::new(program)
        .arg0(NAME)
        .args(ALWAYS)
        .arg(NEW_SESSION)
        .args(["--tmpfs", "/tmp", "--unshare-net"])
        .args(["--info-fd", &info.to_string(), "--block-fd", &word.to_string()])
        .args(["--", "true"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors.try_clone()?)
        .process_group(0)
        .spawn()?;
    drop(ends);
    let temporary = PathBuf::from("/tmp");
    let private = vec![temporary.clone()];
    barrier.open(
        &mut child,
        &SandboxProfile { private, ..SandboxProfile::for_folder(temporary, SandboxNetwork::Off) },
    )?;
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if began.elapsed() > TRIAL_TIMEOUT {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::other("a command that does nothing does not end in it"));
        }
        thread::sleep(Duration::from_millis(1));
    };
    let mut output = Vec::new();
    errors.rewind()?;
    errors.read_to_end(&mut output)?;
    Ok((String::from_utf8_lossy(&output).into_owned(), status))
}

#[cfg(test)]
mod tests {
    use crate::domain::{MaskedPath, ScanExtent};

    use super::*;

    fn spot(path: &str, kind: MaskedPathKind) -> MaskedPath {
        MaskedPath { path: path.into(), kind }
    }

    #[test]
    fn later_mounts_lie_on_top_of_earlier_ones() {
        let view = SandboxProfile {
            dir: "/w/app".into(),
            writable: vec!["/w/main/.git/objects".into()],
            scratch: Some("/tmp/slug-7/s".into()),
            fixed: vec!["/w/app/.git".into(), "/w/app/.cargo/config.toml".into()],
            held: vec!["/w/app/.cargo".into()],
            absent: vec![
                spot("/w/app/.mcp.json", MaskedPathKind::File),
                spot("/w/app/.slug", MaskedPathKind::Folder),
            ],
            ignores: Some("/w/app/.git/info/exclude".into()),
            covered: vec![
                spot("/h/.netrc", MaskedPathKind::File),
                spot("/h/.ssh", MaskedPathKind::Folder),
                spot("/h/.ssh/deeper", MaskedPathKind::Folder),
            ],
            denied: ScanExtent::Whole,
            private: vec!["/tmp".into(), "/run".into()],
            kept: vec!["/run/current-system".into(), "/h/.ssh/known_hosts".into()],
            network: SandboxNetwork::Off,
        };
        let handed = BubblewrapDescriptors { filter: 7, ignores: Some(8), gate: (9, 10) };
        let own = [("LD_LIBRARY_PATH".into(), "/l".into())];
        let words = arguments(&view, handed, Path::new("/w/app/src"), &own);
        let line = words.iter().map(|it| it.to_str().unwrap()).collect::<Vec<_>>().join(" ");
        assert_eq!(
            line,
            "--unshare-user --unshare-pid --unshare-ipc --cap-drop ALL \
             --ro-bind / / --dev /dev --proc /proc --remount-ro /proc --unshare-net --tmpfs /tmp --tmpfs /run \
             --ro-bind /run/current-system /run/current-system --bind /w/app /w/app \
             --bind /tmp/slug-7/s /tmp/slug-7/s --bind /w/app/.cargo /w/app/.cargo \
             --ro-bind /w/app/.git /w/app/.git --bind /w/main/.git/objects /w/main/.git/objects \
             --ro-bind /w/app/.cargo/config.toml /w/app/.cargo/config.toml \
             --ro-bind /dev/null /w/app/.mcp.json --ro-bind /w/app/.slug /w/app/.slug \
             --ro-bind-data 8 /w/app/.git/info/exclude \
             --ro-bind /dev/null /h/.netrc --tmpfs /h/.ssh \
             --ro-bind /h/.ssh/known_hosts /h/.ssh/known_hosts --remount-ro /h/.ssh \
             --setenv TMPDIR /tmp --seccomp 7 --info-fd 9 --block-fd 10 --chdir /w/app/src \
             --setenv LD_LIBRARY_PATH /l --"
        );
        assert_eq!(ignored(&view, "a"), "a\n/.mcp.json\n/.slug\n");
        let odd = SandboxProfile {
            absent: vec![spot("/w/app/a[1] b", MaskedPathKind::File)],
            ..view.clone()
        };
        assert_eq!(ignored(&odd, ""), "/a\\[1\\]\\ b\n");
        let with = SandboxProfile { network: SandboxNetwork::On, ..view };
        assert!(!arguments(&with, handed, Path::new("/w"), &[]).contains(&"--unshare-net".into()));
    }
}
