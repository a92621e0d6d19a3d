//! `slug __child`: the small process that stands between slug and one shell command.
//!
//! It takes a session of its own, so that nothing below it has a terminal, becomes the reaper of
//! everything the command starts, and ends all of that when slug dies or says so. Its standard
//! input is a socket to slug: slug sends one `SupervisorRequest` as a line of JSON, then closes its sending
//! half to have everything ended; back comes one `SupervisorReport` when the direct child has exited. The
//! death of slug closes the socket as well, so that no way of dying is missed.
//!
//! The script travels over the socket and not on the command line, where `pkill -f` in a script
//! would find it and hit the supervisor.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

#[cfg(target_os = "linux")]
use super::descendants;
use super::sandbox::{self, BashInvocation, RefusedHosts, SandboxSpec};

/// The first argument that makes slug this supervisor.
pub const COMMAND: &str = "__child";

/// How long what runs has between TERM and KILL.
pub const GRACE: Duration = Duration::from_secs(2);

/// The second argument that makes it die of a signal instead; see `signals::raise_again`.
pub(super) const RAISE: &str = "raise";

/// The status of a command line that cannot be understood, as in other commands of slug.
const USAGE: u8 = 2;

/// KILL is sent again this often, to what was started meanwhile.
const KILL_AGAIN: Duration = Duration::from_millis(50);

/// What KILL has not ended after this long hangs in the kernel and dies when it gets out.
const UNKILLABLE: Duration = Duration::from_secs(10);

/// What slug wants run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SupervisorRequest {
    /// For `bash -c`.
    pub script: String,
    /// On its standard input, where there is anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Variables for the script that the supervisor itself is not started with ([`for_loader`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<(OsString, OsString)>,
    /// What it is kept inside of, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<SandboxSpec>,
}

/// How the direct child ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SupervisorReport {
    /// It exited with this status.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// It could not be started; the error number.
    NotStarted(i32),
    /// Its sandbox could not be set up; why. Nothing was started.
    NotConfined(String),
    /// Not the end: the sandbox kept it from reaching these hosts. Comes before the end.
    Refused(Vec<String>),
}

/// The path of the running binary, to start supervisors with.
pub fn program() -> io::Result<PathBuf> {
    // On Linux this name keeps working when an update replaces the file.
    let running = Path::new("/proc/self/exe");
    if cfg!(target_os = "linux") && running.exists() {
        return Ok(running.to_owned());
    }
    std::env::current_exe()
}

/// Takes out of a supervisor's environment what has a program load other people's code. The
/// supervisor and a sandbox's own program run outside, and an empty or relative entry of
/// `LD_LIBRARY_PATH` is a folder in which commands write.
pub(super) fn for_loader(command: &mut Command) -> Vec<(OsString, OsString)> {
    let is_one = |name: &OsStr| {
        let name = name.as_encoded_bytes();
        name.starts_with(b"LD_") || name.starts_with(b"DYLD_")
    };
    let set = command.get_envs().filter(|(name, _)| is_one(name));
    let taken: Vec<_> =
        set.filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
    for (name, _) in &taken {
        command.env_remove(name);
    }
    taken
}

/// The command line of a supervisor; `Stdio` is the caller's.
pub(super) fn command(program: &Path, bash: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg0("slug").arg(COMMAND).arg(std::process::id().to_string()).arg(bash);
    command
}

/// Supervises, until nothing is left to supervise. `args` are those after [`COMMAND`].
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let inherited = inherited_descriptors();
    let args: Vec<OsString> = args.collect();
    let (parent, bash) = match args.as_slice() {
        [raise, number] if raise == RAISE => return parse(number).map_or(USAGE.into(), die_of),
        #[cfg(target_os = "linux")]
        [attempts, targets] if attempts == sandbox::escape_tests::COMMAND => {
            return sandbox::escape_tests::main(targets);
        }
        #[cfg(target_os = "linux")]
        [door] if door == sandbox::proxy_socket::COMMAND => return sandbox::proxy_socket::main(),
        [parent, bash] => (parse(parent), Path::new(bash)),
        _ => return USAGE.into(),
    };
    let Some(parent) = parent else { return USAGE.into() };
    name_process();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let outcome = runtime.and_then(|runtime| {
        let outcome = runtime.block_on(supervise(parent, bash, &inherited));
        // A name that is being looked up holds up nothing.
        runtime.shutdown_background();
        outcome
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // Nobody is there to be told: slug sees the socket close without a report.
        Err(_) => ExitCode::FAILURE,
    }
}

fn parse(number: &OsStr) -> Option<i32> {
    number.to_str()?.parse().ok()
}

/// Dies of a signal, with whose default action this process was started.
fn die_of(number: i32) -> ExitCode {
    if let Some(signal) = Signal::from_named_raw(number)
        && rustix::process::kill_process(rustix::process::getpid(), signal).is_err()
    {
        return ExitCode::FAILURE;
    }
    // Reached when whoever started slug has the signal ignored.
    ExitCode::from(u8::try_from(128 + number).unwrap_or(u8::MAX))
}

async fn supervise(parent: i32, bash: &Path, inherited: &[i32]) -> io::Result<()> {
    // Fails only where this already leads a session, which is as good.
    let _ = rustix::process::setsid();
    let mut child_ended = signal(SignalKind::child())?;
    let mut told_to_end = [
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
        signal(SignalKind::hangup())?,
        signal(SignalKind::quit())?,
    ];
    tie_to(parent)?;

    let control = StdUnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    // Fails where it is no socket: somebody's terminal must not be made non-blocking.
    control.peer_addr()?;
    control.set_nonblocking(true)?;
    let mut control = BufReader::new(UnixStream::from_std(control)?);
    let mut line = String::new();
    control.read_line(&mut line).await?;
    let order: SupervisorRequest = serde_json::from_str(&line)?;

    let started = start(bash, order, inherited);
    let_go_of_output()?;
    let mut inside = match started {
        Ok(inside) => inside,
        Err(not_started) => return report(&mut control, not_started).await,
    };
    let refused = match &mut inside {
        DirectChild::Plain(_) => RefusedHosts::default(),
        DirectChild::Confined(inside) => inside.serve_proxy(),
    };

    let mut tree = ProcessTree { direct: inside.direct(), is_reaped: false };
    let mut inside = Some(inside);
    let mut ending: Option<KillSchedule> = None;
    let mut byte = [0; 1];
    loop {
        let (status, left) = tree.reap();
        if left == RemainingProcesses::Nothing {
            // The sandbox has put its things away when slug hears of the end.
            drop(inside.take());
        } else if status.is_some()
            && let Some(DirectChild::Confined(inside)) = &inside
        {
            // The last of a sandbox may take a moment longer than its command.
            inside.tidy();
        }
        if let Some(status) = status {
            let refused = Some(refused.take()).filter(|hosts| !hosts.is_empty());
            for line in refused.map(SupervisorReport::Refused).into_iter().chain([status]) {
                if report(&mut control, line).await.is_err() {
                    ending.get_or_insert_with(|| KillSchedule::begin(&tree));
                }
            }
        }
        if left == RemainingProcesses::Nothing
            || ending.as_ref().is_some_and(KillSchedule::is_hopeless)
        {
            return Ok(());
        }
        let again = ending.as_ref().map_or_else(|| left.look_again(), |it| Some(it.next));
        tokio::select! {
            _ = child_ended.recv() => {}
            // Slug sends nothing after its order: a byte, the end and an error are all the end.
            _ = control.read(&mut byte), if ending.is_none() => {
                ending = Some(KillSchedule::begin(&tree));
            }
            () = any_signal(&mut told_to_end), if ending.is_none() => {
                ending = Some(KillSchedule::begin(&tree));
            }
            () = at(again) => {
                if let Some(ending) = &mut ending {
                    ending.kill(&tree);
                }
            }
        }
    }
}

/// Everything is being ended: TERM was sent at once, KILL follows.
struct KillSchedule {
    began: Instant,
    next: Instant,
}

impl KillSchedule {
    fn begin(tree: &ProcessTree) -> Self {
        tree.signal(Signal::TERM);
        // What is stopped gets its TERM only when it goes on.
        tree.signal(Signal::CONT);
        let began = Instant::now();
        Self { began, next: began + GRACE }
    }

    fn kill(&mut self, tree: &ProcessTree) {
        tree.signal(Signal::KILL);
        self.next = Instant::now() + KILL_AGAIN;
    }

    fn is_hopeless(&self) -> bool {
        self.began.elapsed() > UNKILLABLE
    }
}

/// The direct child and all that it started.
struct ProcessTree {
    direct: Pid,
    is_reaped: bool,
}

/// What still lives below the supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RemainingProcesses {
    Children,
    /// No child of its own but members of the group, which no signal will announce the end of.
    /// Only where there are no subreapers.
    #[cfg_attr(target_os = "linux", expect(dead_code, reason = "Linux has subreapers"))]
    Group,
    Nothing,
}

impl ProcessTree {
    /// Collects what has exited. Returns how the direct child ended, if it was among it.
    fn reap(&mut self) -> (Option<SupervisorReport>, RemainingProcesses) {
        let mut report = None;
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.direct => {
                    self.is_reaped = true;
                    report = exit_report(status);
                }
                Ok(Some(_)) => {}
                Ok(None) => return (report, RemainingProcesses::Children),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return (report, group_left(self.direct)),
            }
        }
    }

    fn signal(&self, signal: Signal) {
        // Once it is reaped, its group's number can be somebody else's; on Linux the rest of the
        // group is found below the supervisor.
        if !self.is_reaped || cfg!(not(target_os = "linux")) {
            // Nobody may be left in it.
            let _ = rustix::process::kill_process_group(self.direct, signal);
        }
        #[cfg(target_os = "linux")]
        descendants::signal_all(signal);
    }
}

impl RemainingProcesses {
    fn look_again(self) -> Option<Instant> {
        match self {
            Self::Group => Some(Instant::now() + Duration::from_millis(500)),
            Self::Children | Self::Nothing => None,
        }
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

#[cfg(target_os = "linux")]
fn group_left(_direct: Pid) -> RemainingProcesses {
    RemainingProcesses::Nothing
}

#[cfg(not(target_os = "linux"))]
fn group_left(direct: Pid) -> RemainingProcesses {
    match rustix::process::test_kill_process_group(direct) {
        Ok(()) => RemainingProcesses::Group,
        Err(_) => RemainingProcesses::Nothing,
    }
}

fn exit_report(status: WaitStatus) -> Option<SupervisorReport> {
    status
        .exit_status()
        .map(SupervisorReport::Code)
        .or(status.terminating_signal().map(SupervisorReport::Signal))
}

async fn report(control: &mut BufReader<UnixStream>, report: SupervisorReport) -> io::Result<()> {
    let mut line = serde_json::to_vec(&report)?;
    line.push(b'\n');
    control.write_all(&line).await
}

async fn any_signal(signals: &mut [tokio::signal::unix::Signal; 4]) {
    let [terminate, interrupt, hangup, quit] = signals;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        _ = hangup.recv() => {}
        _ = quit.recv() => {}
    }
}

/// What was started.
enum DirectChild {
    Plain(Pid),
    /// With what its sandbox needs for as long as anything runs there.
    Confined(sandbox::ConfinedProcess),
}

impl DirectChild {
    fn direct(&self) -> Pid {
        match self {
            Self::Plain(direct) => *direct,
            Self::Confined(inside) => inside.direct,
        }
    }
}

fn start(
    bash: &Path,
    order: SupervisorRequest,
    inherited: &[i32],
) -> Result<DirectChild, SupervisorReport> {
    // Closing a descriptor by number is unsafe in Rust; bash does it and becomes the bash that
    // runs the script, under the same process id. A sandbox's own program cannot name it, either.
    let own = ["--noprofile", "--norc", "-c"];
    let closing: Vec<String> = inherited.iter().map(|fd| format!(" {fd}<&-")).collect();
    let become_bash = format!("exec{}; exec -a bash \"$0\" \"$@\"", closing.concat());
    let by_itself = own.map(OsString::from).into_iter().chain([order.script.into()]);
    let renamed = || {
        let first = own.map(OsString::from).into_iter().chain([become_bash.into(), bash.into()]);
        first.chain(by_itself.clone()).collect()
    };
    let stdin = if order.input.is_some() { Stdio::piped() } else { Stdio::null() };
    let (started, stdin) = match &order.confinement {
        Some(confinement) => {
            let words = BashInvocation { bash, arguments: renamed(), variables: &order.variables };
            let (inside, stdin) = sandbox::start(confinement, &words, stdin).map_err(|error| {
                SupervisorReport::NotConfined(format!("its sandbox cannot be set up: {error}"))
            })?;
            (DirectChild::Confined(inside), stdin)
        }
        None => {
            let arguments: Vec<OsString> =
                if inherited.is_empty() { by_itself.collect() } else { renamed() };
            let mut command = Command::new(bash);
            command.arg0("bash").args(arguments).envs(order.variables);
            command.stdin(stdin).process_group(0);
            let mut child = command.spawn().map_err(|error| {
                let invalid = rustix::io::Errno::INVAL.raw_os_error();
                SupervisorReport::NotStarted(error.raw_os_error().unwrap_or(invalid))
            })?;
            (DirectChild::Plain(Pid::from_child(&child)), child.stdin.take())
        }
    };
    if let (Some(mut stdin), Some(input)) = (stdin, order.input) {
        // A command may read as late as it likes, or never: that must hold up nothing here. The
        // thread ends with the pipe, or with the supervisor.
        std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    }
    Ok(started)
}

/// The supervisor must not hold the output's pipe: its end is how slug knows that nobody does.
fn let_go_of_output() -> io::Result<()> {
    let null = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

/// Descriptors beyond the standard three that whoever started slug has left open to all its
/// children. To be called before anything is opened.
fn inherited_descriptors() -> Vec<i32> {
    let Ok(listing) = std::fs::read_dir("/dev/fd") else { return Vec::new() };
    let open: Vec<i32> = listing
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|fd| *fd > 2)
        .collect();
    // The listing's own descriptor is closed by now.
    open.into_iter()
        .filter(|fd| Path::new(&format!("/dev/fd/{fd}")).symlink_metadata().is_ok())
        .collect()
}

/// Has the kernel tell when slug is gone, and become the parent of orphans.
#[cfg(target_os = "linux")]
fn tie_to(parent: i32) -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
    // It may have died before the kernel was asked.
    if Pid::as_raw(rustix::process::getppid()) != parent {
        return Err(io::Error::other("slug is gone"));
    }
    Ok(())
}

/// Elsewhere the end of the socket alone tells.
#[cfg(not(target_os = "linux"))]
fn tie_to(_parent: i32) -> io::Result<()> {
    Ok(())
}

/// Started as `/proc/self/exe`, it would be listed as "exe".
fn name_process() {
    // Not through `/proc/self/comm`, which belongs to root in a process that is not dumpable.
    #[cfg(target_os = "linux")]
    // The name is only for people who look at a list of processes.
    let _ = rustix::thread::set_name(c"slug-child");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_survives_the_wire() {
        let not_confined = SupervisorReport::NotConfined("why\nnot".to_owned());
        let refused = SupervisorReport::Refused(vec!["a.org:443".to_owned()]);
        for report in [
            SupervisorReport::Code(3),
            SupervisorReport::Signal(9),
            SupervisorReport::NotStarted(2),
            not_confined,
            refused,
        ] {
            let line = serde_json::to_string(&report).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<SupervisorReport>(&line).unwrap(), report);
        }
    }

    #[test]
    fn wrong_arguments_are_refused() {
        for args in [&[][..], &["1"], &["x", "/bin/bash"], &["1", "2", "3"]] {
            let args = args.iter().map(OsString::from);
            assert_eq!(format!("{:?}", main(args)), format!("{:?}", ExitCode::from(2)));
        }
    }
}
