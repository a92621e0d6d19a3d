//! bubblewrap: a command gets its own view of files, processes and network.
//!
//! It is not told to die with its parent: what a command leaves running in the background would
//! die with it, too. The supervisor stays outside, is the reaper of all that is inside, and ends
//! it when slug goes.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::domain::{Network, SpotKind, View};
use crate::platform::which;

const NAME: &str = "bwrap";

/// What every sandbox begins with.
const ALWAYS: [&str; 7] = [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--new-session",
    // Who runs slug as root is not root inside.
    "--cap-drop",
    "ALL",
    "--ro-bind",
];

/// Where the kernel says what it lets programs do.
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

/// The arguments before the command: `filter` is the descriptor of the seccomp program, `cwd` the
/// folder that the command starts in.
pub(super) fn arguments(view: &View, filter: i32, cwd: &Path) -> Vec<OsString> {
    let mut words = Line(ALWAYS.map(OsString::from).to_vec());
    words.add(["/", "/", "--dev", "/dev", "--proc", "/proc"]);
    match view.network {
        Network::Off => words.add(["--unshare-net"]),
        Network::On => {}
    }
    for folder in &view.private {
        words.on("--tmpfs", folder);
    }
    words.bind("--bind", &view.dir);
    for folder in &view.held {
        words.bind("--bind", folder);
    }
    for path in &view.fixed {
        words.bind("--ro-bind", path);
    }
    for spot in &view.absent {
        match spot.kind {
            // In the sandbox a device stands there, which git and others pass over.
            SpotKind::File => words.nothing_at(&spot.path),
            SpotKind::Folder => words.bind("--ro-bind", &spot.path),
        }
    }
    let outermost =
        |path: &Path| !view.covered.iter().any(|it| it.path != path && path.starts_with(&it.path));
    let covered: Vec<_> = view.covered.iter().filter(|spot| outermost(&spot.path)).collect();
    for spot in &covered {
        match spot.kind {
            SpotKind::File => words.nothing_at(&spot.path),
            SpotKind::Folder => words.on("--tmpfs", &spot.path),
        }
    }
    for path in &view.kept {
        words.bind("--ro-bind", path);
    }
    for spot in covered.iter().filter(|spot| spot.kind == SpotKind::Folder) {
        words.on("--remount-ro", &spot.path);
    }
    words.add(["--setenv", "TMPDIR", "/tmp", "--seccomp"]);
    words.0.push(filter.to_string().into());
    words.on("--chdir", cwd);
    words.add(["--"]);
    words.0
}

struct Line(Vec<OsString>);

impl Line {
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

/// The `bwrap` of `path`, once it has run something. Why it did not is a phrase.
pub(super) fn try_out(path: &OsStr, workspace: &Path) -> Result<PathBuf, String> {
    let program = which::find(NAME, path, workspace)
        .ok_or("it is not installed: install the package bubblewrap")?;
    let run = Command::new(&program)
        .args(ALWAYS)
        .args(["/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--unshare-net"])
        .args(["--", "true"])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{} cannot be started: {error}", program.display()))?;
    if run.status.success() {
        return Ok(program);
    }
    let complaint = String::from_utf8_lossy(&run.stderr);
    let complaint = complaint.lines().next().unwrap_or("it failed without a word").trim();
    let limit = LIMITS.iter().find(|(file, value, _)| {
        std::fs::read_to_string(file).is_ok_and(|text| text.trim() == *value)
    });
    Err(match limit {
        Some((_, _, why)) => format!("{why} ({complaint})"),
        None => complaint.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use crate::domain::Spot;

    use super::*;

    fn spot(path: &str, kind: SpotKind) -> Spot {
        Spot { path: path.into(), kind }
    }

    #[test]
    fn a_view_becomes_a_line_in_which_what_comes_later_lies_on_top() {
        let view = View {
            dir: "/w/app".into(),
            fixed: vec!["/w/app/.git".into(), "/w/app/.cargo/config.toml".into()],
            held: vec!["/w/app/.cargo".into()],
            absent: vec![
                spot("/w/app/.mcp.json", SpotKind::File),
                spot("/w/app/.slug", SpotKind::Folder),
            ],
            covered: vec![
                spot("/h/.netrc", SpotKind::File),
                spot("/h/.ssh", SpotKind::Folder),
                spot("/h/.ssh/deeper", SpotKind::Folder),
            ],
            private: vec!["/tmp".into(), "/run".into()],
            kept: vec!["/run/current-system".into()],
            network: Network::Off,
        };
        let words = arguments(&view, 7, Path::new("/w/app/src"));
        let line = words.iter().map(|it| it.to_str().unwrap()).collect::<Vec<_>>().join(" ");
        assert_eq!(
            line,
            "--unshare-user --unshare-pid --unshare-ipc --new-session --cap-drop ALL \
             --ro-bind / / --dev /dev --proc /proc --unshare-net --tmpfs /tmp --tmpfs /run \
             --bind /w/app /w/app --bind /w/app/.cargo /w/app/.cargo \
             --ro-bind /w/app/.git /w/app/.git \
             --ro-bind /w/app/.cargo/config.toml /w/app/.cargo/config.toml \
             --ro-bind /dev/null /w/app/.mcp.json --ro-bind /w/app/.slug /w/app/.slug \
             --ro-bind /dev/null /h/.netrc --tmpfs /h/.ssh \
             --ro-bind /run/current-system /run/current-system --remount-ro /h/.ssh \
             --setenv TMPDIR /tmp --seccomp 7 --chdir /w/app/src --"
        );
        let with = View { network: Network::On, ..view };
        assert!(!arguments(&with, 7, Path::new("/w")).contains(&"--unshare-net".into()));
    }
}
