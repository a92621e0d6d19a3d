//! `slug __child`: the small process that stands between slug and one shell command.
//!
//! The supervisor takes a session of its own, so that nothing below it has a terminal. It reaps
//! everything that the command starts, and ends all of it when slug dies or asks for the end. Its
//! standard input is a socket to slug. slug sends one `SupervisorRequest` as a line of JSON, and
//! later closes its sending half to have everything ended; before that it can send
//! `SupervisorCommand`s, a byte each. The supervisor answers with one `SupervisorReport` when the
//! direct child has exited. The death of slug closes the socket as well, so that the supervisor notices
//! every way in which slug can die.
//!
//! The script travels over the socket and not on the command line, where `pkill -f` in a script
//! would match the supervisor and kill it.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

#[cfg(target_os = "linux")]
use super::descendants;
use super::sandbox::{self, BashInvocation, RefusedHosts};

mod messages;

pub(super) use messages::{CommandInput, SupervisorCommand, SupervisorReport, SupervisorRequest};

/// The first argument that makes slug run as the supervisor.
pub const COMMAND: &str = "__child";

/// The time between TERM and KILL for the processes that are being ended.
pub const GRACE: Duration = Duration::from_secs(2);

/// The second argument that makes the process die of a signal instead; see `signals::raise_again`.
pub(super) const RAISE: &str = "raise";

/// The exit status for a command line that cannot be understood, as in other commands of slug.
const USAGE: u8 = 2;

/// The interval at which KILL is repeated, for processes that were started meanwhile.
const KILL_AGAIN: Duration = Duration::from_millis(50);

/// A process that KILL has not ended after this time hangs in the kernel, and dies when it leaves
/// it.
const UNKILLABLE: Duration = Duration::from_secs(10);

/// The path of the running binary, to start supervisors with.
///
/// # Errors
///
/// When the system does not tell the path of the binary.
pub fn program() -> io::Result<PathBuf> {
    // On Linux this name keeps working when an update replaces the file.
    let running = Path::new("/proc/self/exe");
    if cfg!(target_os = "linux") && running.exists() {
        return Ok(running.to_owned());
    }
    std::env::current_exe()
}

/// Removes the variables that make a program load other code from a supervisor's environment, and
/// returns them. The supervisor and the sandbox's own program run outside the sandbox, and an empty
/// or relative entry of `LD_LIBRARY_PATH` is a folder in which commands write.
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

/// The command line of a supervisor; the caller sets its `Stdio`.
pub(super) fn command(program: &Path, bash: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg0("slug").arg(COMMAND).arg(std::process::id().to_string()).arg(bash);
    command
}

/// Runs the supervisor until nothing is left to supervise. `args` are those after [`COMMAND`].
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let inherited = inherited_descriptors();
    let args: Vec<OsString> = args.collect();
    let (parent, bash) = match args.as_slice() {
        [raise, number] if raise == RAISE => return parse(number).map_or(USAGE.into(), die_of),
        #[cfg(target_os = "linux")]
        [command, targets] if command == sandbox::escape_tests::COMMAND => {
            return sandbox::escape_tests::main(targets);
        }
        #[cfg(target_os = "linux")]
        [command] if command == sandbox::proxy_socket::COMMAND => {
            return sandbox::proxy_socket::main();
        }
        [parent, bash] => (parse(parent), Path::new(bash)),
        _ => return USAGE.into(),
    };
    let Some(parent) = parent else { return USAGE.into() };
    name_process();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let outcome = runtime.and_then(|runtime| {
        let outcome = runtime.block_on(supervise(parent, bash, &inherited));
        // A name lookup that is still running must not delay the end.
        runtime.shutdown_background();
        outcome
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // Nobody can be told: slug sees that the socket closes without a report.
        Err(_) => ExitCode::FAILURE,
    }
}

fn parse(number: &OsStr) -> Option<i32> {
    number.to_str()?.parse().ok()
}

/// Dies of a signal. This process was started with the default action for it.
fn die_of(number: i32) -> ExitCode {
    if let Some(signal) = Signal::from_named_raw(number)
        && rustix::process::kill_process(rustix::process::getpid(), signal).is_err()
    {
        return ExitCode::FAILURE;
    }
    // Reached when the program that started slug has set the signal to be ignored.
    ExitCode::from(u8::try_from(128 + number).unwrap_or(u8::MAX))
}

async fn supervise(parent: i32, bash: &Path, inherited: &[i32]) -> io::Result<()> {
    // Fails only where this process already leads a session, which is as good.
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
    // Fails where standard input is no socket: a user's terminal must not become non-blocking.
    control.peer_addr()?;
    control.set_nonblocking(true)?;
    let mut control = BufReader::new(UnixStream::from_std(control)?);
    let mut line = String::new();
    control.read_line(&mut line).await?;
    let request: SupervisorRequest = serde_json::from_str(&line)?;
    // Dropped before the socket, whose end tells slug that nothing of the command is left.
    let _folder = OwnedJobFolder(request.folder.clone());

    let (is_job, has_terminal) =
        (request.input.is_of_job(), request.input == CommandInput::Terminal);
    let is_wrapped = is_wrapped(&request);
    if has_terminal {
        rustix::process::ioctl_tiocsctty(io::stdout())?;
    }
    let started = start(bash, request, inherited);
    let in_foreground = match &started {
        // Its bash takes the foreground itself; see `JOB_CONTROL`.
        Ok(_) if is_wrapped => Ok(()),
        Ok(child) if has_terminal => put_in_foreground(child.direct()),
        Ok(_) | Err(_) => Ok(()),
    };
    let ready = in_foreground.and_then(|()| let_go_of_output());
    let mut child = match started {
        Ok(child) => child,
        Err(not_started) => return report(&mut control, not_started).await,
    };
    let refused = match &mut child {
        DirectChild::Plain(_) => RefusedHosts::default(),
        DirectChild::Confined(confined) => confined.serve_proxy(),
    };

    let foreground = child.foreground(has_terminal);
    let mut tree = ProcessTree { direct: child.direct(), is_reaped: false, has_terminal };
    let mut child = Some(child);
    // The command runs by now: whatever fails from here on ends it.
    let is_heard = !is_job || report(&mut control, SupervisorReport::Started).await.is_ok();
    let mut ending = (ready.is_err() || !is_heard).then(|| KillSchedule::begin(&tree));
    let (mut byte, mut is_connected) = ([0; 1], true);
    loop {
        let (status, left) = tree.reap();
        if left == RemainingProcesses::Nothing {
            // The sandbox has removed its placeholders before slug hears of the end.
            drop(child.take());
        } else if status.is_some()
            && let Some(DirectChild::Confined(confined)) = &child
        {
            // The last process of a sandbox may take a moment longer than its command.
            confined.tidy();
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
            return ready;
        }
        let again = ending.as_ref().map_or_else(|| left.look_again(), |it| Some(it.next));
        tokio::select! {
            _ = child_ended.recv() => {}
            count = control.read(&mut byte), if is_connected => {
                let sent = matches!(count, Ok(1)).then_some(byte[0]);
                is_connected = sent.is_some();
                match SupervisorCommand::received(sent) {
                    SupervisorCommand::Interrupt => foreground.signal(&tree, Signal::INT),
                    SupervisorCommand::WindowChanged => foreground.signal(&tree, Signal::WINCH),
                    SupervisorCommand::Terminate => {
                        ending.get_or_insert_with(|| KillSchedule::begin(&tree));
                    }
                    SupervisorCommand::Kill => {
                        ending.get_or_insert_with(KillSchedule::without_grace).kill(&tree);
                    }
                }
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

/// A folder that is removed when the value is dropped.
struct OwnedJobFolder(Option<PathBuf>);

impl Drop for OwnedJobFolder {
    fn drop(&mut self) {
        if let Some(folder) = &self.0 {
            // slug may have removed it; what stays is removed at a later start.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// How everything is ended: TERM is sent at once, KILL follows and is repeated.
struct KillSchedule {
    began: Instant,
    next: Instant,
}

impl KillSchedule {
    fn begin(tree: &ProcessTree) -> Self {
        tree.signal(Signal::TERM);
        // A stopped process gets its TERM only when it continues.
        tree.signal(Signal::CONT);
        let began = Instant::now();
        Self { began, next: began + GRACE }
    }

    /// A schedule that begins with KILL.
    fn without_grace() -> Self {
        let began = Instant::now();
        Self { began, next: began }
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
    /// A command that ctrl+z has stopped on its terminal goes on at once: nobody else could do that.
    has_terminal: bool,
}

/// The processes that a key at a terminal would signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ForegroundProcesses {
    /// The group of the direct child.
    DirectGroup,
    /// The groups below the direct child, which is the sandbox's own program. Only on Linux.
    GroupsBelow,
    /// Those that the command's terminal knows: it signals them itself.
    OfTerminal,
}

impl ForegroundProcesses {
    fn signal(self, tree: &ProcessTree, signal: Signal) {
        match self {
            // Later, another process group can have the number.
            Self::DirectGroup if tree.is_reaped => {}
            Self::DirectGroup => {
                // The group may be empty.
                let _ = rustix::process::kill_process_group(tree.direct, signal);
            }
            Self::GroupsBelow => {
                #[cfg(target_os = "linux")]
                descendants::signal_groups_below(tree.direct, signal);
            }
            Self::OfTerminal => {}
        }
    }
}

/// What still lives below the supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RemainingProcesses {
    Children,
    /// No child, but members of the process group; no signal announces their end. Only on systems
    /// without subreapers.
    #[cfg_attr(target_os = "linux", expect(dead_code, reason = "Linux has subreapers"))]
    Group,
    Nothing,
}

impl ProcessTree {
    /// Collects what has exited. Returns the report for the direct child if it was among them.
    fn reap(&mut self) -> (Option<SupervisorReport>, RemainingProcesses) {
        let mut report = None;
        let stops = if self.has_terminal { WaitOptions::UNTRACED } else { WaitOptions::empty() };
        loop {
            match rustix::process::wait(WaitOptions::NOHANG | stops) {
                Ok(Some((pid, status))) if status.stopped() => {
                    if pid == self.direct && status.stopping_signal() == Some(Signal::TSTP.as_raw())
                    {
                        // Fails only where it has died meanwhile.
                        let _ = rustix::process::kill_process_group(pid, Signal::CONT);
                    }
                }
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
        // Once the direct child is reaped, another process group can get its number. On Linux the
        // rest of the group is found below the supervisor.
        if !self.is_reaped || cfg!(not(target_os = "linux")) {
            // The group may be empty.
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

/// The started command.
enum DirectChild {
    Plain(Pid),
    /// Holds what its sandbox needs for as long as anything runs there.
    Confined(sandbox::ConfinedProcess),
}

impl DirectChild {
    fn direct(&self) -> Pid {
        match self {
            Self::Plain(direct) => *direct,
            Self::Confined(confined) => confined.direct,
        }
    }

    fn foreground(&self, has_terminal: bool) -> ForegroundProcesses {
        match self {
            Self::Confined(confined) if confined.is_in_own_session => {
                ForegroundProcesses::GroupsBelow
            }
            Self::Plain(_) | Self::Confined(_) if has_terminal => ForegroundProcesses::OfTerminal,
            Self::Plain(_) | Self::Confined(_) => ForegroundProcesses::DirectGroup,
        }
    }
}

/// Whether the command has a terminal below the sandbox's own program, which would die of a ctrl+c
/// together with it.
fn is_wrapped(request: &SupervisorRequest) -> bool {
    request.input == CommandInput::Terminal
        && request.confinement.as_ref().is_some_and(|it| it.means.begins_session())
}

/// Runs the command in a process group of its own that has the terminal's keys, so that ctrl+c is not
/// for the sandbox's own program. A command that stops itself goes on at once: nobody could do that.
const JOB_CONTROL: &str = "set -m; (exec -a bash \"$0\" \"$@\"); s=$?; \
    while [ -n \"$(jobs -ps)\" ]; do fg >/dev/null; s=$?; done; exit $s";

/// Makes the direct child's group the one that the terminal's keys are for.
fn put_in_foreground(direct: Pid) -> io::Result<()> {
    rustix::termios::tcsetpgrp(io::stdout(), direct)?;
    // It was stopped if it has used the terminal already.
    Ok(rustix::process::kill_process_group(direct, Signal::CONT)?)
}

/// The standard input of the command, and the text for it if it is a pipe of the supervisor's own.
fn standard_input(input: CommandInput) -> io::Result<(Stdio, Option<String>)> {
    Ok(match input {
        CommandInput::Nothing => (Stdio::null(), None),
        CommandInput::Text(text) => (Stdio::piped(), Some(text)),
        CommandInput::Pipe => {
            let pipe = io::stderr().as_fd().try_clone_to_owned()?;
            rustix::stdio::dup2_stderr(io::stdout())?;
            (pipe.into(), None)
        }
        CommandInput::Terminal => (io::stdout().as_fd().try_clone_to_owned()?.into(), None),
    })
}

fn start(
    bash: &Path,
    request: SupervisorRequest,
    inherited: &[i32],
) -> Result<DirectChild, SupervisorReport> {
    // Closing a descriptor by number is unsafe in Rust. So bash does it, and then becomes the bash
    // that runs the script, under the same process id. A sandbox's own program cannot close a
    // descriptor by number, either.
    let own = ["--noprofile", "--norc", "-c"];
    let closing: String = inherited.iter().map(|fd| format!(" {fd}<&-")).collect();
    let has_terminal = request.input == CommandInput::Terminal;
    // Inside bubblewrap, the terminal comes by the input alone.
    let output = if has_terminal { " >&0 2>&0" } else { "" };
    let run = if is_wrapped(&request) { JOB_CONTROL } else { "exec -a bash \"$0\" \"$@\"" };
    let become_bash = format!("exec{output}{closing}; {run}");
    let by_itself = own.map(OsString::from).into_iter().chain([request.script.into()]);
    let renamed = || {
        let first = own.map(OsString::from).into_iter().chain([become_bash.into(), bash.into()]);
        first.chain(by_itself.clone()).collect()
    };
    let invalid = rustix::io::Errno::INVAL.raw_os_error();
    let not_started =
        |error: io::Error| SupervisorReport::NotStarted(error.raw_os_error().unwrap_or(invalid));
    let (stdin, text) = standard_input(request.input).map_err(not_started)?;
    let (started, stdin) = match &request.confinement {
        Some(confinement) => {
            let (arguments, variables) = (renamed(), request.variables.as_slice());
            let words = BashInvocation { bash, arguments, variables, has_terminal };
            let (confined, stdin) =
                sandbox::start(confinement, &words, stdin).map_err(|error| {
                    SupervisorReport::NotConfined(format!("its sandbox cannot be set up: {error}"))
                })?;
            (DirectChild::Confined(confined), stdin)
        }
        None => {
            let arguments: Vec<OsString> =
                if inherited.is_empty() { by_itself.collect() } else { renamed() };
            let mut command = Command::new(bash);
            command.arg0("bash").args(arguments).envs(request.variables);
            command.stdin(stdin).process_group(0);
            let mut child = command.spawn().map_err(not_started)?;
            (DirectChild::Plain(Pid::from_child(&child)), child.stdin.take())
        }
    };
    if let (Some(mut stdin), Some(text)) = (stdin, text) {
        // A command may read late or never, which must not hold up the supervisor. The thread ends
        // with the pipe, or with the supervisor.
        std::thread::spawn(move || drop(stdin.write_all(text.as_bytes())));
    }
    Ok(started)
}

/// Lets go of the output's pipe: slug sees from its end that no process holds it any more.
fn let_go_of_output() -> io::Result<()> {
    let null = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

/// Descriptors beyond the standard three that the program which started slug has left open to all
/// its children. Must be called before anything is opened.
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

/// Makes the kernel tell when slug is gone, and makes this process the parent of orphans.
#[cfg(target_os = "linux")]
fn tie_to(parent: i32) -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
    // slug may have died before the kernel was asked.
    if Pid::as_raw(rustix::process::getppid()) != parent {
        return Err(io::Error::other("slug is gone"));
    }
    Ok(())
}

/// Without Linux, only the end of the socket tells.
#[cfg(not(target_os = "linux"))]
fn tie_to(_parent: i32) -> io::Result<()> {
    Ok(())
}

/// Names the process, which would be listed as "exe" since it is started as `/proc/self/exe`.
fn name_process() {
    // Not through `/proc/self/comm`, which belongs to root in a process that is not dumpable.
    #[cfg(target_os = "linux")]
    // The name is only for those who read a list of processes, so a failure does not matter.
    let _ = rustix::thread::set_name(c"slug-child");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_arguments_are_refused() {
        for args in [&[][..], &["1"], &["x", "/bin/bash"], &["1", "2", "3"]] {
            let args = args.iter().map(OsString::from);
            assert_eq!(format!("{:?}", main(args)), format!("{:?}", ExitCode::from(2)));
        }
    }
}
