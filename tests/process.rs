//! Commands run by the real binary's supervisor: how they end, and that no process outlives slug.
//!
//! Some tests need another process between the test and the host: they start this test binary
//! again with only [`helper`], which runs one script as slug would.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use slug_code::platform::environment::{ChildEnvironment, EnvironmentRules};
use slug_code::platform::process::{
    HostPrograms, PIPED_OUTPUT_LIMIT, PipedCommand, PipedOutput, ProcessHost,
};
use slug_code::tools::{ExitCause, ProcessError, Processes, ScriptExit, ScriptSpec};
use tokio_util::sync::CancellationToken;

use crate::support::process_host::process_host;
use crate::support::test_env::SLUG;

pub mod jobs;
pub mod servers;

const LONG: Duration = Duration::from_secs(60);

fn host_with(variables: &[(&str, &str)], rules: &EnvironmentRules) -> ProcessHost {
    let given = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    process_host(std::env::vars_os().chain(given), rules)
}

fn host() -> ProcessHost {
    host_with(&[], &EnvironmentRules::default())
}

fn script(text: &str, cwd: &Path, timeout: Duration) -> ScriptSpec {
    ScriptSpec::new(text.to_owned(), cwd.to_owned(), timeout)
}

/// Runs `text` to its end and returns its output.
async fn run(
    host: &ProcessHost,
    text: &str,
    cwd: &Path,
) -> (Result<ScriptExit, ProcessError>, String) {
    let mut output = Vec::new();
    let exit = host
        .run(script(text, cwd, LONG), &mut |bytes| output.extend(bytes), CancellationToken::new())
        .await;
    (exit, String::from_utf8_lossy(&output).into_owned())
}

fn until(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_alive(pid: i32) -> bool {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::test_kill_process(pid).is_ok()
}

/// The process ids that a script has written to `file`, once there are `count`.
fn pids(file: &Path, count: usize) -> Vec<i32> {
    let read = || {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole).to_owned();
        whole.lines().map(|line| line.trim().parse().unwrap()).collect::<Vec<i32>>()
    };
    until("process ids", Duration::from_secs(60), || read().len() >= count);
    read()
}

#[tokio::test]
async fn exit_codes_and_signals_are_exact() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    for (text, cause) in [
        ("true", ExitCause::Code(0)),
        ("exit 3", ExitCause::Code(3)),
        ("exit 130", ExitCause::Code(130)),
        ("kill -9 $$", ExitCause::Signal(9)),
        ("kill -TERM $$", ExitCause::Signal(15)),
        ("no-such-command-at-all", ExitCause::Code(127)),
    ] {
        let exit = run(&host, text, folder.path()).await.0.unwrap();
        assert_eq!((exit.cause, exit.left_running), (cause, false), "{text}");
    }
}

#[tokio::test]
async fn both_outputs_arrive_in_order_and_whole() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    let (exit, output) =
        run(&host, "echo one; echo two >&2; pwd; seq 1 100000 | tail -n 99997", folder.path())
            .await;
    assert_eq!(exit.unwrap().cause, ExitCause::Code(0));
    let mut lines = output.lines();
    assert_eq!((lines.next(), lines.next()), (Some("one"), Some("two")));
    assert_eq!(lines.next(), folder.path().to_str());
    assert_eq!(lines.clone().count(), 99_997);
    assert_eq!(lines.next_back(), Some("100000"));
}

#[tokio::test]
async fn nothing_is_on_standard_input() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    let (exit, output) = run(&host, "read -r line || echo none", folder.path()).await;
    assert_eq!((exit.unwrap().cause, output.as_str()), (ExitCause::Code(0), "none\n"));
}

fn piped(line: &str, cwd: &Path) -> PipedCommand {
    PipedCommand {
        line: line.to_owned(),
        cwd: cwd.to_owned(),
        timeout: LONG,
        input: "{\"a\": \"it's $(here)\"}".to_owned(),
        output_limit: PIPED_OUTPUT_LIMIT,
        variables: vec![("SLUG_IN_HOOK", "1".into())],
    }
}

async fn run_piped(line: &str) -> PipedOutput {
    let folder = tempfile::tempdir().unwrap();
    host().run_piped(piped(line, folder.path()), &CancellationToken::new()).await.unwrap()
}

#[tokio::test]
async fn a_piped_command_gets_its_input_and_its_outputs_stay_apart() {
    let output = run_piped("cat; echo \"'$0' $SLUG_IN_HOOK\" >&2; exit 2").await;
    assert_eq!(output.exit.cause, ExitCause::Code(2));
    assert_eq!(output.stdout, "{\"a\": \"it's $(here)\"}");
    assert_eq!(output.stderr, "'/bin/sh' 1\n");
}

#[tokio::test]
async fn a_piped_command_that_reads_nothing_and_prints_much_is_bounded() {
    let mut piped = piped("head -c 200000 /dev/zero | tr '\\0' y", Path::new("/"));
    piped.input = "x".repeat(4 << 20);
    let output = host().run_piped(piped, &CancellationToken::new()).await.unwrap();
    assert_eq!(output.exit.cause, ExitCause::Code(0));
    assert_eq!(output.stdout, "y".repeat(64 << 10));
}

#[tokio::test]
async fn a_piped_command_that_takes_too_long_is_ended() {
    let mut piped = piped("sleep 1000", Path::new("/"));
    piped.timeout = Duration::from_millis(100);
    let output = host().run_piped(piped, &CancellationToken::new()).await.unwrap();
    assert_eq!(output.exit.cause, ExitCause::TimedOut);
}

#[tokio::test]
async fn nothing_is_left_of_a_piped_command() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pids");
    let line =
        format!("sleep 1000 & echo $! >> {0}; setsid sleep 1000 & echo $! >> {0}", file.display());
    let host = host();
    let output =
        host.run_piped(piped(&line, folder.path()), &CancellationToken::new()).await.unwrap();
    assert_eq!(output.exit.cause, ExitCause::Code(0));
    for pid in pids(&file, 2) {
        until("its end", LONG, || !is_alive(pid));
    }
}

#[tokio::test]
async fn a_piped_command_is_cancelled_at_once_and_has_no_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let (host, cancel) = (host(), CancellationToken::new());
    let file = folder.path().join("pids");
    let line =
        format!("(exec 3<>/dev/tty) && exit 9; echo $$ >> {}; exec sleep 1000", file.display());
    let running = host.run_piped(piped(&line, folder.path()), &cancel);
    let stopping = async {
        let seen = file.clone();
        let pid = tokio::task::spawn_blocking(move || pids(&seen, 1)[0]).await.unwrap();
        cancel.cancel();
        pid
    };
    let (output, pid) = tokio::join!(running, stopping);
    assert_eq!(output.unwrap().exit.cause, ExitCause::Cancelled);
    until("its end", LONG, || !is_alive(pid));
}

#[tokio::test]
async fn what_cannot_be_started_is_an_error() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    let missing = folder.path().join("gone");
    let error = run(&host, "true", &missing).await.0.unwrap_err();
    assert_eq!(error.source.kind(), std::io::ErrorKind::NotFound);
    let huge = format!("true {}", "x".repeat(4 << 20));
    let error = run(&host, &huge, folder.path()).await.0.unwrap_err();
    assert_eq!(error.source.kind(), std::io::ErrorKind::ArgumentListTooLong);

    let programs = HostPrograms { slug: PathBuf::from(SLUG), bash: None };
    let environment = ChildEnvironment::from_variables([], &EnvironmentRules::default());
    let host = ProcessHost::new(programs, environment).unwrap();
    let error = run(&host, "true", folder.path()).await.0.unwrap_err();
    assert!(error.to_string().contains("install it"), "{error}");
}

#[tokio::test]
async fn a_holder_of_the_pipe_does_not_hold_the_call() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    for holder in ["sleep 997 &", "setsid sleep 997 &", "while :; do echo noise; done &"] {
        let text = format!("{holder} echo $! >> pids; echo ok; date +%s%N > over");
        let (exit, output) = run(&host, &text, folder.path()).await;
        let returned = std::time::SystemTime::now();
        let exit = exit.unwrap();
        assert_eq!((exit.cause, exit.left_running), (ExitCause::Code(0), true), "{holder}");
        assert!(output.contains("ok\n"), "{holder}");
        let over = std::fs::read_to_string(folder.path().join("over")).unwrap();
        let over = Duration::from_nanos(over.trim().parse().unwrap());
        let late = returned.duration_since(std::time::UNIX_EPOCH + over).unwrap();
        assert!(late < Duration::from_secs(5), "{holder}: {late:?} after the direct child");
    }
    let holders = pids(&folder.path().join("pids"), 3);
    assert!(holders.iter().all(|pid| is_alive(*pid)));
    host.end_all().await;
    assert!(!holders.iter().any(|pid| is_alive(*pid)));
}

#[tokio::test]
async fn a_chatty_holder_is_not_blocked_at_once() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    let text = "(seq 1 60000; touch written; sleep 997) & true";
    assert!(run(&host, text, folder.path()).await.0.unwrap().left_running);
    let written = folder.path().join("written");
    let began = Instant::now();
    while !written.exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "340 KB could not be written");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_child_that_ignores_term_is_killed_two_seconds_after_the_limit() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    let limit = Duration::from_millis(300);
    let text = "trap '' TERM; echo $$ > pids; echo before; while :; do sleep 996; done";
    let mut output = Vec::<u8>::new();
    let exit = host
        .run(
            script(text, folder.path(), limit),
            &mut |bytes| output.extend(bytes),
            CancellationToken::new(),
        )
        .await
        .unwrap();
    assert_eq!((exit.cause, exit.left_running), (ExitCause::TimedOut, false));
    assert_eq!(output, b"before\n");
    assert!(exit.elapsed >= limit + Duration::from_secs(2), "{:?}", exit.elapsed);
    assert!(exit.elapsed < limit + Duration::from_secs(20), "{:?}", exit.elapsed);
    let pid = pids(&folder.path().join("pids"), 1)[0];
    until("the child is gone", Duration::from_secs(20), || !is_alive(pid));
}

#[tokio::test]
async fn cancel_returns_at_once_and_everything_goes() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    let file = folder.path().join("pids");
    let text = "trap '' TERM; sleep 995 & echo $! >> pids; setsid bash -c 'echo $$ >> pids; \
                exec sleep 995' & yes";
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let waiting = file.clone();
    let stopped = std::thread::spawn(move || {
        pids(&waiting, 2);
        stop.cancel();
        Instant::now()
    });
    let exit = host.run(script(text, folder.path(), LONG), &mut |_| {}, cancel).await.unwrap();
    let late = stopped.join().unwrap().elapsed();
    assert_eq!(exit.cause, ExitCause::Cancelled);
    assert!(late < Duration::from_secs(5), "{late:?}");
    let began = Instant::now();
    while pids(&file, 2).iter().any(|pid| is_alive(*pid)) {
        assert!(began.elapsed() < Duration::from_secs(20), "still there");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn end_all_ends_a_crowd_in_many_sessions() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    let text = "for i in {1..60}; do setsid bash -c 'echo $$ >> pids; exec sleep 992' & done; \
                (kill -STOP $BASHPID) & echo $! >> pids";
    assert!(run(&host, text, folder.path()).await.0.unwrap().left_running);
    let crowd = pids(&folder.path().join("pids"), 61);
    host.end_all().await;
    let left: Vec<_> = crowd.into_iter().filter(|pid| is_alive(*pid)).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn a_supervisor_that_is_told_to_end_takes_its_command_along() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    let exit = run(&host, "kill -TERM $PPID; sleep 991; true", folder.path()).await.0.unwrap();
    assert_eq!(exit.cause, ExitCause::Signal(15));
    let error = run(&host, "kill -KILL $PPID; sleep 0.1", folder.path()).await.0.unwrap_err();
    assert!(error.to_string().contains("supervisor was killed"), "{error}");
}

#[tokio::test]
async fn a_dropped_run_ends_its_command() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    let file = folder.path().join("pids");
    let text = "echo $$ >> pids; sleep 994; true";
    let folder_path = folder.path().to_owned();
    let task = tokio::spawn(async move {
        let mut sink = |_: &[u8]| {};
        host.run(script(text, &folder_path, LONG), &mut sink, CancellationToken::new()).await
    });
    let pid = tokio::task::spawn_blocking(move || pids(&file, 1)[0]).await.unwrap();
    task.abort();
    let began = Instant::now();
    while is_alive(pid) {
        assert!(began.elapsed() < Duration::from_secs(20), "still there");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn s100_secrets_stay_out_of_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let variables = [
        ("ANTHROPIC_API_KEY", "CANARY"),
        ("SLUG_API_KEY", "CANARY"),
        ("CORP_TOKEN", "CANARY"),
        ("AWS_SECRET_ACCESS_KEY", "CANARY"),
        ("GITHUB_TOKEN", "listed"),
        ("BASH_ENV", "/dev/stderr"),
    ];
    let rules = EnvironmentRules { passed: vec!["GITHUB_TOKEN".to_owned()], ..Default::default() };
    let host = host_with(&variables, &rules);
    let (_, output) = run(&host, "env", folder.path()).await;
    assert!(!output.contains("CANARY"), "{output}");
    assert!(output.contains("GITHUB_TOKEN=listed\n"));
    assert!(output.contains("GIT_TERMINAL_PROMPT=0\n"));
    assert!(!output.contains("BASH_ENV"));
}

#[tokio::test]
async fn no_descriptor_is_inherited_or_leaked() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    let secret = std::fs::File::create(folder.path().join("secret")).unwrap();
    rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty()).unwrap();
    let (_, output) = run(&host, "ls /dev/fd/ | sort -n | tr '\\n' ' '", folder.path()).await;
    // The fourth is the descriptor with which ls reads the folder.
    assert_eq!(output, "0 1 2 3 ");
    let (_, output) = run(&host, "false; nope", folder.path()).await;
    assert!(output.starts_with("bash: line 1: nope"), "{output}");

    let open = || std::fs::read_dir("/dev/fd").unwrap().count();
    let before = open();
    for _ in 0..30 {
        run(&host, "true", folder.path()).await.0.unwrap();
    }
    let began = Instant::now();
    while open() > before {
        assert!(began.elapsed() < Duration::from_secs(20), "{} open, {before} before", open());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_script_cannot_hit_its_supervisor_by_its_own_text() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    let text = "tr '\\0' ' ' < /proc/$PPID/cmdline; : pattern-of-pkill";
    let (_, output) = run(&host, text, folder.path()).await;
    assert!(output.starts_with("slug __child "), "{output}");
    assert!(!output.contains("pattern-of-pkill"), "{output}");
}

/// Runs `$SCENE_SCRIPT` in `$SCENE_FOLDER` as slug would, and leaves the output there.
#[tokio::test]
#[ignore = "started by other tests, in a process of its own"]
async fn helper() {
    let folder = PathBuf::from(std::env::var_os("SCENE_FOLDER").unwrap());
    let text = std::env::var("SCENE_SCRIPT").unwrap();
    let terminal = std::fs::File::open("/dev/tty").is_ok();
    let (exit, output) = run(&host(), &text, &folder).await;
    let report = format!("terminal: {terminal}\n{:?}\n{output}", exit.unwrap().cause);
    std::fs::write(folder.join("report.new"), report).unwrap();
    std::fs::rename(folder.join("report.new"), folder.join("report")).unwrap();
}

const HELPER: [&str; 4] = ["--exact", "process::helper", "--ignored", "--nocapture"];

#[test]
#[cfg(target_os = "linux")]
fn nothing_outlives_a_killed_slug() {
    let text = "sleep 993 & echo $! >> pids; setsid sleep 993 & echo $! >> pids; \
                (trap '' TERM; sleep 993 & echo $! >> pids; wait) & echo $$ >> pids; wait";
    assert_nothing_outlives_a_kill(HELPER, text, 4);
}

/// Kills a process that runs the script `text` by this test, once the script has written so many
/// process ids, and waits until none of these processes is left.
#[cfg(target_os = "linux")]
fn assert_nothing_outlives_a_kill(helper: [&str; 4], text: &str, count: usize) {
    for signal in [rustix::process::Signal::KILL, rustix::process::Signal::HUP] {
        let folder = tempfile::tempdir().unwrap();
        let mut slug = std::process::Command::new(std::env::current_exe().unwrap())
            .args(helper)
            .env("SCENE_FOLDER", folder.path())
            .env("SCENE_SCRIPT", text)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let children = pids(&folder.path().join("pids"), count);
        assert!(children.iter().all(|pid| is_alive(*pid)));
        let pid = rustix::process::Pid::from_child(&slug);
        rustix::process::kill_process(pid, signal).unwrap();
        slug.wait().unwrap();
        until("all are gone", Duration::from_secs(20), || {
            !children.iter().any(|pid| is_alive(*pid))
        });
    }
}

#[test]
fn s75_s76_a_command_has_no_terminal_even_where_slug_has_one() {
    let folder = tempfile::tempdir().unwrap();
    let text = "printf '\\e[2JSPOOF' > /dev/tty; echo open: $?; \
                printf 'protocol=https\\nhost=example.invalid\\n\\n' | \
                GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_ASKPASS= SSH_ASKPASS= \
                git credential fill";
    let pty = portable_pty::native_pty_system()
        .openpty(portable_pty::PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 })
        .unwrap();
    let mut command = portable_pty::CommandBuilder::new(std::env::current_exe().unwrap());
    command.args(HELPER);
    command.env("SCENE_FOLDER", folder.path());
    command.env("SCENE_SCRIPT", text);
    let mut slug = pty.slave.spawn_command(command).unwrap();
    drop(pty.slave);
    let mut screen = pty.master.try_clone_reader().unwrap();
    let shown = std::thread::spawn(move || {
        let mut shown = Vec::new();
        // On Linux, the end of a pseudo-terminal is an error.
        let _ = std::io::Read::read_to_end(&mut screen, &mut shown);
        shown
    });
    slug.wait().unwrap();
    drop(pty.master);
    let report = std::fs::read_to_string(folder.path().join("report")).unwrap();
    assert!(report.starts_with("terminal: true\n"), "the scene has a terminal: {report}");
    assert!(report.contains("/dev/tty: No such device or address"), "{report}");
    assert!(report.contains("open: 1\n"), "{report}");
    assert!(report.contains("terminal prompts disabled"), "{report}");
    assert!(!String::from_utf8_lossy(&shown.join().unwrap()).contains("SPOOF"));
}
