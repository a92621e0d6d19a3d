//! Tries ways out of a sandbox: `slug doctor` starts the running binary inside, where it does what
//! a command must not be able to do, and checks the result from outside.
//!
//! It touches none of the user's files: the folder, the key and the sockets are made for it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{SandboxBackend, proxy_socket};
use crate::domain::SandboxProfile;
use crate::platform::process::ProcessHost;
use crate::platform::supervisor;
use crate::tools::{Processes, ScriptSpec};

/// The argument after [`supervisor::COMMAND`] that makes slug try the ways out.
pub(in crate::platform) const COMMAND: &str = "attempts";

/// The mode of a folder that its owner can look into.
const OPEN: u32 = 0o755;

const CANARY: &str = "a key that nobody reads";
/// How long all attempts together may take.
const LIMIT: Duration = Duration::from_secs(20);
/// How long one connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// A way out that was tried, and its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EscapeTest {
    /// What was tried, as a phrase.
    pub what: &'static str,
    pub outcome: EscapeOutcome,
}

/// The result of a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EscapeOutcome {
    /// The sandbox refused it.
    Nothing,
    /// It got out of the sandbox.
    Escape,
}

/// The files and sockets that the tries aim at.
#[derive(Debug, Serialize, Deserialize)]
struct EscapeTargets {
    root: PathBuf,
    tcp: u16,
    udp: u16,
    name: String,
    process: u32,
}

/// A phrase, and the function that tries the way.
type EscapeRoute = (&'static str, fn(&EscapeTargets) -> bool);

/// All ways out. A function returns true when it got out, as far as the inside can tell.
const ESCAPE_ROUTES: [EscapeRoute; 20] = [
    ("writing outside of the folder", |it| write(&it.outside().join("new"))),
    ("changing what git runs", |it| write(&it.dir().join(".git/config"))),
    ("moving .git away", |it| {
        fs::rename(it.dir().join(".git"), it.dir().join("src/moved")).is_ok()
    }),
    ("moving a folder with .git in it", |it| {
        fs::rename(it.dir().join("sub"), it.dir().join("src/sub")).is_ok()
    }),
    ("opening a folder that an earlier command shut", |it| {
        // Where the mode can be changed, that must not be enough.
        let _ = fs::set_permissions(it.shut(), Permissions::from_mode(OPEN));
        write(&it.shut().join(".git/config"))
    }),
    ("a setting of the kernel", |_| {
        // Only opened: nothing is written to it.
        OpenOptions::new().append(true).open("/proc/sys/kernel/core_pattern").is_ok()
    }),
    ("making a .mcp.json", |it| write(&it.dir().join(".mcp.json"))),
    ("reading a key in .ssh", |it| {
        fs::read_to_string(it.key()).is_ok_and(|text| text.contains(CANARY))
    }),
    ("a TCP connection", |it| {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, it.tcp));
        TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).is_ok()
    }),
    ("a host that is not listed", |it| through_the_proxy(it.tcp).unwrap_or(false)),
    ("a UDP datagram", |it| {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
        // Sending succeeds in any case; the receiver knows whether it arrived.
        let _ = socket.and_then(|own| own.send_to(b"out", (Ipv4Addr::LOCALHOST, it.udp)));
        false
    }),
    ("a Unix socket", |it| UnixStream::connect(it.socket()).is_ok()),
    ("an abstract Unix socket", |it| {
        let address = UnixAddress::from_abstract_name(&it.name);
        address.and_then(|address| UnixStream::connect_addr(&address)).is_ok()
    }),
    ("a datagram to a Unix socket", |it| {
        let pair = UnixDatagram::pair();
        pair.and_then(|(own, _)| own.send_to(b"out", it.mailbox())).is_ok()
    }),
    ("a datagram to an abstract Unix socket", |it| {
        let address = UnixAddress::from_abstract_name(it.mailbox_name());
        let pair = UnixDatagram::pair();
        address.and_then(|to| pair.and_then(|(own, _)| own.send_to_addr(b"out", &to))).is_ok()
    }),
    ("a netlink socket", |_| can_open_socket(AddressFamily::NETLINK, SocketType::RAW)),
    ("a VSOCK socket", |_| can_open_socket(AddressFamily::from_raw(40), SocketType::STREAM)),
    ("the terminal", |_| fs::File::open("/dev/tty").is_ok()),
    ("the environment of slug", |it| {
        fs::read(format!("/proc/{}/environ", it.process)).is_ok_and(|text| !text.is_empty())
    }),
    ("an inherited descriptor", |_| has_inherited_descriptors()),
];

impl EscapeTargets {
    fn dir(&self) -> PathBuf {
        self.root.join("app")
    }

    fn shut(&self) -> PathBuf {
        self.dir().join("shut")
    }

    fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    fn key(&self) -> PathBuf {
        self.home().join(".ssh/id")
    }

    fn outside(&self) -> PathBuf {
        self.root.join("outside")
    }

    fn socket(&self) -> PathBuf {
        self.outside().join("s")
    }

    fn mailbox(&self) -> PathBuf {
        self.outside().join("d")
    }

    fn mailbox_name(&self) -> String {
        format!("{}-d", self.name)
    }
}

/// Tries each way out of the sandbox around this process, and prints the results.
pub(in crate::platform) fn main(targets: &OsStr) -> ExitCode {
    let parsed = targets.to_str().and_then(|text| serde_json::from_str::<EscapeTargets>(text).ok());
    let Some(targets) = parsed else { return ExitCode::from(2) };
    let seems: Vec<bool> = ESCAPE_ROUTES.iter().map(|(_, way)| way(&targets)).collect();
    let line = serde_json::to_string(&seems).unwrap_or_default();
    match writeln!(io::stdout(), "{line}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn write(path: &Path) -> bool {
    fs::write(path, "out").is_ok()
}

/// Whether slug's proxy, where there is one, leads to this machine's own port.
fn through_the_proxy(port: u16) -> io::Result<bool> {
    let proxy = SocketAddr::from((Ipv4Addr::LOCALHOST, proxy_socket::PORT));
    let mut stream = TcpStream::connect_timeout(&proxy, CONNECT_TIMEOUT)?;
    stream.set_read_timeout(Some(CONNECT_TIMEOUT))?;
    write!(stream, "CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n")?;
    let mut answer = [0; 12];
    stream.read_exact(&mut answer)?;
    Ok(&answer == b"HTTP/1.1 200")
}

fn can_open_socket(family: AddressFamily, kind: SocketType) -> bool {
    rustix::net::socket(family, kind, None).is_ok()
}

fn has_inherited_descriptors() -> bool {
    let open: BTreeSet<i32> = fs::read_dir("/dev/fd")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    // The listing's own descriptor is closed by now.
    open.iter().filter(|fd| fs::read_link(format!("/dev/fd/{fd}")).is_ok()).any(|fd| *fd > 2)
}

/// Tries each way out of a sandbox. Folders for it are made in `base`; `profile_of` gives the
/// profile for a folder, a home and slug's own folder.
///
/// # Errors
///
/// When the tries cannot be made; the error is a sentence.
pub async fn trial(
    host: &ProcessHost,
    backend: &SandboxBackend,
    base: &Path,
    profile_of: &(dyn Fn(&Path, &Path, &Path) -> Result<SandboxProfile, String> + Sync),
) -> Result<Vec<EscapeTest>, String> {
    let failed = |error: io::Error| error.to_string();
    let root = tempfile::Builder::new().prefix(".slug-doctor-").tempdir_in(base);
    let root = root.map_err(failed)?;
    let at = root.path().canonicalize().map_err(failed)?;
    let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
    let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
    tcp.set_nonblocking(true).and_then(|()| udp.set_nonblocking(true)).map_err(failed)?;
    let targets = EscapeTargets {
        tcp: tcp.local_addr().map_err(failed)?.port(),
        udp: udp.local_addr().map_err(failed)?.port(),
        name: format!("slug-doctor-{}", std::process::id()),
        process: std::process::id(),
        root: at,
    };
    make(&targets).map_err(failed)?;
    let _socket = UnixListener::bind(targets.socket()).map_err(failed)?;
    let address = UnixAddress::from_abstract_name(&targets.name).map_err(failed)?;
    let _named = UnixListener::bind_addr(&address).map_err(failed)?;
    let _mailbox = UnixDatagram::bind(targets.mailbox()).map_err(failed)?;
    let address = UnixAddress::from_abstract_name(targets.mailbox_name()).map_err(failed)?;
    let _mailbox_named = UnixDatagram::bind_addr(&address).map_err(failed)?;

    let look = || profile_of(&targets.dir(), &targets.home(), &targets.home().join(".slug"));
    let script = |text| ScriptSpec::new(text, targets.dir(), LIMIT);
    // What one command leaves behind must not be a way out for the next.
    let view = look()?;
    let port = host.with_sandbox(backend.clone(), Arc::new(move || Ok(view.clone())));
    let shutting = script("chmod 0 shut".to_owned());
    let ran = port.run(shutting, &mut |_| {}, CancellationToken::new()).await;
    ran.map_err(|error| error.to_string())?;

    let program = std::env::current_exe().map_err(failed)?;
    let mut view = look()?;
    view.kept.push(program.clone());
    let words = serde_json::to_string(&targets).map_err(|error| error.to_string())?;
    let program = program.to_str().ok_or("the path of slug is no text")?;
    let text =
        format!("exec {} {} {COMMAND} {}", quoted(program), supervisor::COMMAND, quoted(&words));
    let port = host.with_sandbox(backend.clone(), Arc::new(move || Ok(view.clone())));
    let mut printed = Vec::new();
    let take = &mut |bytes: &[u8]| printed.extend(bytes);
    let ran = port.run(script(text), take, CancellationToken::new()).await;
    // Else the folder could not be removed.
    fs::set_permissions(targets.shut(), Permissions::from_mode(OPEN)).map_err(failed)?;
    ran.map_err(|error| error.to_string())?;
    let seems: Vec<bool> = serde_json::from_slice(&printed)
        .map_err(|_| format!("what was sent in said: {}", String::from_utf8_lossy(&printed)))?;
    let is_out = |what: &str| match what {
        "writing outside of the folder" => targets.outside().join("new").exists(),
        "a TCP connection" => tcp.accept().is_ok(),
        "a UDP datagram" => udp.recv(&mut [0; 8]).is_ok(),
        "changing what git runs" => {
            fs::metadata(targets.dir().join(".git/config")).is_ok_and(|found| found.len() > 0)
        }
        _ => false,
    };
    let attempts = ESCAPE_ROUTES.iter().zip(seems).map(|((what, _), seems)| {
        let outcome =
            if seems || is_out(what) { EscapeOutcome::Escape } else { EscapeOutcome::Nothing };
        EscapeTest { what, outcome }
    });
    Ok(attempts.collect())
}

fn make(targets: &EscapeTargets) -> io::Result<()> {
    for folder in [".git", "src", "sub/.git", "shut/.git"] {
        fs::create_dir_all(targets.dir().join(folder))?;
    }
    fs::write(targets.dir().join(".git/config"), "")?;
    for folder in [".ssh", ".slug"] {
        fs::create_dir_all(targets.home().join(folder))?;
    }
    fs::write(targets.key(), CANARY)?;
    fs::create_dir(targets.outside())
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_escapes_without_a_sandbox() {
        let root = tempfile::tempdir().unwrap();
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let targets = EscapeTargets {
            root: root.path().canonicalize().unwrap(),
            tcp: tcp.local_addr().unwrap().port(),
            udp: 0,
            name: format!("slug-test-{}", std::process::id()),
            process: std::process::id(),
        };
        make(&targets).unwrap();
        let _socket = UnixListener::bind(targets.socket()).unwrap();
        let address = UnixAddress::from_abstract_name(&targets.name).unwrap();
        let _named = UnixListener::bind_addr(&address).unwrap();
        let _mailbox = UnixDatagram::bind(targets.mailbox()).unwrap();
        let address = UnixAddress::from_abstract_name(targets.mailbox_name()).unwrap();
        let _mailbox_named = UnixDatagram::bind_addr(&address).unwrap();
        // Only root can change the kernel's settings. A VSOCK, a terminal or an extra descriptor
        // may be missing on this machine. A datagram's receiver knows whether it arrived, and
        // outside there is no proxy.
        let unsure = [
            "a setting of the kernel",
            "a host that is not listed",
            "a UDP datagram",
            "a VSOCK socket",
            "the terminal",
            "an inherited descriptor",
        ];
        for (what, way) in ESCAPE_ROUTES.iter().filter(|(what, _)| !unsure.contains(what)) {
            assert!(way(&targets), "{what} would be refused anyway");
        }
    }

    #[test]
    fn the_quoted_targets_survive_the_shell() {
        assert_eq!(quoted("it's {\"a\": 1}"), "'it'\\''s {\"a\": 1}'");
    }
}
