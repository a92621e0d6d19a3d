//! Jobs: commands with an input and an output of their own that go on until they are ended.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde_json::json;
use slug_code::domain::JobEnd;
use slug_code::platform::environment::EnvironmentRules;
use slug_code::tools::{
    DetachPolicy, ExitCause, JobBelongings, JobHandle, JobSpec, JobStreams, OutputSink, Processes,
    ScriptOutcome, ScriptSpec, TerminalSize,
};
use tokio_util::sync::CancellationToken;

#[cfg(target_os = "linux")]
use super::assert_nothing_outlives_a_kill;
use super::{LONG, host, host_with, is_alive, pids, until};

pub const TERMINAL: JobStreams = JobStreams::Terminal(TerminalSize { columns: 91, rows: 33 });
const BOTH: [JobStreams; 2] = [JobStreams::Pipes, TERMINAL];

/// What a job has printed, without the carriage returns of a terminal.
#[derive(Debug, Clone, Default)]
pub struct PrintedOutput {
    printed: Arc<Mutex<(Vec<u8>, bool)>>,
}

#[async_trait]
impl OutputSink for PrintedOutput {
    async fn write(&mut self, bytes: &[u8]) {
        let mut printed = self.printed.lock().unwrap();
        assert!(!printed.1, "something was printed behind the end");
        printed.0.extend_from_slice(bytes);
    }

    async fn end(&mut self) {
        self.printed.lock().unwrap().1 = true;
    }
}

impl PrintedOutput {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.printed.lock().unwrap().0).replace('\r', "")
    }

    fn is_over(&self) -> bool {
        self.printed.lock().unwrap().1
    }

    pub async fn shows(&self, text: &str) {
        let began = Instant::now();
        while !self.text().contains(text) {
            assert!(began.elapsed() < LONG, "no {text:?} in {:?}", self.text());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

pub fn spec(text: &str, cwd: &Path, streams: JobStreams) -> JobSpec {
    JobSpec {
        text: text.to_owned(),
        cwd: cwd.to_owned(),
        streams,
        search_path: None,
        scratch: None,
        time_limit: None,
        belongings: JobBelongings::default(),
    }
}

/// A started job and what it prints.
pub async fn start(
    host: &dyn Processes,
    text: &str,
    cwd: &Path,
    streams: JobStreams,
) -> (Arc<dyn JobHandle>, PrintedOutput) {
    let printed = PrintedOutput::default();
    let sink = Box::new(printed.clone());
    (host.start(spec(text, cwd, streams), sink).await.unwrap(), printed)
}

async fn gone(pid: i32) {
    tokio::task::spawn_blocking(move || until("its end", LONG, || !is_alive(pid))).await.unwrap();
}

async fn pid_in(file: PathBuf) -> i32 {
    tokio::task::spawn_blocking(move || pids(&file, 1)[0]).await.unwrap()
}

#[tokio::test]
async fn a_job_is_talked_to_while_it_runs() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    let text = "read a; echo \"got $a\"; pwd; echo err >&2; cat; echo over; exit 3";
    for streams in BOTH {
        let (job, printed) = start(&host, text, folder.path(), streams).await;
        assert_eq!(job.ended(), None);
        job.write(b"one\n").await.unwrap();
        printed.shows("got one\n").await;
        job.write(b"two\n").await.unwrap();
        printed.shows("two\n").await;
        job.close_input().await;
        assert_eq!(job.wait().await, JobEnd::Exited(ExitCause::Code(3)), "{streams:?}");
        assert_eq!(job.ended(), Some(JobEnd::Exited(ExitCause::Code(3))));
        assert!(printed.is_over());
        let text = printed.text();
        assert!(text.contains(&format!("{}\nerr\n", folder.path().display())), "{text}");
        assert!(text.ends_with("over\n"), "{text}");
    }
}

#[tokio::test]
async fn a_closed_input_takes_nothing_more() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    let (job, _) = start(&host, "sleep 1000", folder.path(), JobStreams::Pipes).await;
    job.close_input().await;
    let error = job.write(b"x").await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    let (job, printed) =
        start(&host, "exec <&-; echo closed; sleep 1000", folder.path(), JobStreams::Pipes).await;
    printed.shows("closed").await;
    let error = job.write(b"x").await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn a_terminal_is_one_of_its_own_and_has_its_size() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    let text = "trap 'echo now $(stty size)' WINCH; test -t 0 && test -t 1 && test -t 2 && echo all; \
                echo $TERM; stty size; echo by its name > /dev/tty; echo ready; \
                while :; do sleep 0.05; done";
    let (job, printed) = start(&host, text, folder.path(), TERMINAL).await;
    printed.shows("all\nxterm-256color\n33 91\nby its name\nready\n").await;
    job.resize(TerminalSize { columns: 120, rows: 40 }).unwrap();
    printed.shows("now 40 120\n").await;

    let (job, printed) = start(&host, "tty; echo $TERM", folder.path(), JobStreams::Pipes).await;
    let error = job.resize(TerminalSize { columns: 120, rows: 40 }).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
    job.wait().await;
    assert_eq!(printed.text(), "not a tty\ndumb\n");
}

#[tokio::test]
async fn interrupting_a_job_is_pressing_ctrl_c() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    for streams in BOTH {
        let text = "trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 0.05; done";
        let (job, printed) = start(&host, text, folder.path(), streams).await;
        printed.shows("ready").await;
        job.interrupt();
        assert_eq!(job.wait().await, JobEnd::Exited(ExitCause::Code(7)), "{streams:?}");
        assert!(printed.text().contains("caught"));
        let (job, printed) = start(&host, "echo ready; sleep 1000", folder.path(), streams).await;
        printed.shows("ready").await;
        job.interrupt();
        assert_eq!(job.wait().await, JobEnd::Exited(ExitCause::Signal(2)), "{streams:?}");
    }
    // A shell with job control: the keys are for what it has put into the foreground.
    let text = "exec bash --norc --noprofile -i";
    let (job, printed) = start(&host, text, folder.path(), TERMINAL).await;
    // What prints is already in the foreground: before that, the key would be for the shell itself.
    job.write(b"sh -c 'echo a$((1+1))b; exec sleep 1000'\n").await.unwrap();
    printed.shows("a2b").await;
    job.interrupt();
    job.write(b"echo status $?; exit 5\n").await.unwrap();
    assert_eq!(job.wait().await, JobEnd::Exited(ExitCause::Code(5)));
    assert!(printed.text().contains("status 130"), "{}", printed.text());
}

#[tokio::test]
async fn a_job_that_is_terminated_gets_a_moment_and_one_that_is_killed_does_not() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    for streams in BOTH {
        let polite = "trap 'echo bye; exit 9' TERM; echo ready; while :; do sleep 0.05; done";
        let (job, printed) = start(&host, polite, folder.path(), streams).await;
        printed.shows("ready").await;
        job.terminate();
        assert_eq!(job.wait().await, JobEnd::Exited(ExitCause::Cancelled), "{streams:?}");
        assert!(printed.text().contains("bye"));

        let deaf = "trap '' TERM HUP; echo ready; while :; do sleep 0.05; done";
        let (job, printed) = start(&host, deaf, folder.path(), streams).await;
        printed.shows("ready").await;
        let began = Instant::now();
        job.terminate();
        assert_eq!(job.wait().await, JobEnd::Exited(ExitCause::Cancelled));
        assert!(began.elapsed() >= Duration::from_secs(2), "{:?}", began.elapsed());

        let (job, printed) = start(&host, deaf, folder.path(), streams).await;
        printed.shows("ready").await;
        let began = Instant::now();
        job.terminate();
        job.kill();
        assert_eq!(job.wait().await, JobEnd::Exited(ExitCause::Cancelled));
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    }
}

#[tokio::test]
async fn a_job_is_over_when_nothing_of_it_runs() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    let text = "(setsid sleep 0.4; echo late) & exit 4";
    let began = Instant::now();
    let (job, printed) = start(&host, text, folder.path(), JobStreams::Pipes).await;
    assert_eq!(job.wait().await, JobEnd::Exited(ExitCause::Code(4)));
    assert!(began.elapsed() >= Duration::from_millis(400));
    assert_eq!(printed.text(), "late\n");
    let text = "read line; kill -KILL $PPID; sleep 0.2";
    let (job, _) = start(&host, text, folder.path(), JobStreams::Pipes).await;
    job.write(b"now\n").await.unwrap();
    assert_eq!(job.wait().await, JobEnd::Lost);
    // What is left of it may print for ever, until nobody reads.
    let text = "read line; kill -KILL $PPID; exec yes";
    let (job, _) = start(&host, text, folder.path(), JobStreams::Pipes).await;
    job.write(b"now\n").await.unwrap();
    let end = tokio::time::timeout(Duration::from_secs(20), job.wait()).await;
    assert_eq!(end.ok(), Some(JobEnd::Lost));
}

/// The supervisor hears of the end of slug wherever it is in its start.
#[test]
fn a_command_whose_slug_has_died_meanwhile_is_ended() {
    for input in ["pipe", "nothing"] {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().canonicalize().unwrap();
        let (mut slug, supervisor) = UnixStream::pair().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_slug"))
            .args(["__child", &std::process::id().to_string(), "/bin/bash"])
            .current_dir(&place)
            .stdin(OwnedFd::from(supervisor))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let request = json!({"script": "exec sleep 1000", "input": input});
        writeln!(slug, "{request}").unwrap();
        drop(slug);
        child.wait().unwrap();
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let left = processes.filter(|process| {
            std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == place)
        });
        assert_eq!(left.count(), 0, "{input}");
    }
}

#[tokio::test]
async fn much_output_arrives_whole() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    let numbers: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
    for streams in BOTH {
        let (job, printed) = start(&host, "seq 1 100000", folder.path(), streams).await;
        assert_eq!(job.wait().await, JobEnd::Exited(ExitCause::Code(0)));
        assert!(printed.text() == numbers, "{streams:?}: {} bytes", printed.text().len());
    }
}

#[tokio::test]
async fn a_job_ends_with_its_last_handle_and_with_its_host() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    for streams in BOTH {
        let text = "echo $$ > pid; exec sleep 1000";
        let (job, _) = start(&host, text, folder.path(), streams).await;
        let pid = pid_in(folder.path().join("pid")).await;
        drop(job.clone());
        assert!(is_alive(pid));
        drop(job);
        gone(pid).await;
        std::fs::remove_file(folder.path().join("pid")).unwrap();
    }
    let (job, _) = start(&host, "exec sleep 1000", folder.path(), TERMINAL).await;
    host.end_all().await;
    assert_eq!(job.ended(), Some(JobEnd::Exited(ExitCause::Cancelled)));
}

#[tokio::test]
async fn s100_a_job_gets_the_variables_and_descriptors_of_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let host = host_with(&[("ANTHROPIC_API_KEY", "CANARY")], &EnvironmentRules::default());
    let secret = std::fs::File::create(folder.path().join("secret")).unwrap();
    rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty()).unwrap();
    for streams in BOTH {
        let text = "env; ls /dev/fd/ | sort -n | tr '\\n' ' '";
        let (job, printed) = start(&host, text, folder.path(), streams).await;
        job.wait().await;
        let text = printed.text();
        assert!(!text.contains("CANARY") && text.contains("GIT_TERMINAL_PROMPT=0\n"), "{text}");
        // The fourth is the descriptor with which ls reads the folder.
        assert!(text.ends_with("\n0 1 2 3 "), "{streams:?}: {text}");
    }
}

#[tokio::test]
async fn what_cannot_be_started_is_told_at_once() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    let huge = format!("true {}", "x".repeat(4 << 20));
    for (text, cwd, kind) in [
        ("true", folder.path().join("gone"), std::io::ErrorKind::NotFound),
        (&huge, folder.path().to_owned(), std::io::ErrorKind::ArgumentListTooLong),
    ] {
        let sink = Box::new(PrintedOutput::default());
        let started = host.start(spec(text, &cwd, JobStreams::Pipes), sink).await;
        let Err(error) = started else { panic!("{} was started", cwd.display()) };
        assert_eq!(error.source.kind(), kind);
    }
}

/// Starts `$SCENE_SCRIPT` in `$SCENE_FOLDER` as a job of each kind, and waits for ever.
#[tokio::test]
#[ignore = "started by another test, in a process of its own"]
async fn helper() {
    let folder = PathBuf::from(std::env::var_os("SCENE_FOLDER").unwrap());
    let text = std::env::var("SCENE_SCRIPT").unwrap();
    let host = host();
    let (piped, _) = start(&host, &text, &folder, JobStreams::Pipes).await;
    let (terminal, _) = start(&host, &text, &folder, TERMINAL).await;
    tokio::join!(piped.wait(), terminal.wait());
}

#[test]
#[cfg(target_os = "linux")]
fn no_job_outlives_a_killed_slug() {
    let helper = ["--exact", "process::jobs::helper", "--ignored", "--nocapture"];
    let text = "trap '' HUP; sleep 989 & echo $! >> pids; setsid sleep 989 & echo $! >> pids; \
                (trap '' TERM HUP; sleep 989 & echo $! >> pids; wait) & echo $$ >> pids; wait";
    assert_nothing_outlives_a_kill(helper, text, 8);
}

#[tokio::test]
async fn a_script_goes_on_as_a_job_at_its_time_limit_and_loses_no_output() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    let text = "echo early; while [ ! -e go ]; do sleep 0.02; done; echo late; exit 4";
    let script =
        ScriptSpec::new(text.to_owned(), folder.path().to_owned(), Duration::from_millis(500));
    let detach = DetachPolicy { asked: CancellationToken::new(), at_time_limit: true };
    let mut early = Vec::new();
    let mut output = |bytes: &[u8]| early.extend_from_slice(bytes);
    let outcome =
        host.run_detachable(script, detach, &mut output, CancellationToken::new()).await.unwrap();
    let ScriptOutcome::Detached(script) = outcome else { panic!("it was ended") };
    assert_eq!(early, b"early\n");
    let printed = PrintedOutput::default();
    let job = script.into_job(Box::new(printed.clone()));
    assert!(job.write(b"x").await.is_err(), "it has no input");
    std::fs::write(folder.path().join("go"), "").unwrap();
    assert_eq!(job.wait().await, JobEnd::Exited(ExitCause::Code(4)));
    assert_eq!(printed.text(), "late\n");
}

#[tokio::test]
async fn a_script_that_goes_on_ends_with_its_host_and_when_nobody_takes_it() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    for is_taken in [true, false] {
        let file = folder.path().join(format!("pid-{is_taken}"));
        let text = format!("echo $$ > {}; exec sleep 1000", file.display());
        let script = ScriptSpec::new(text, folder.path().to_owned(), LONG);
        let detach = DetachPolicy { asked: CancellationToken::new(), at_time_limit: false };
        let asked = detach.asked.clone();
        let waits_for = file.clone();
        let asking = tokio::spawn(async move {
            let pid = pid_in(waits_for).await;
            asked.cancel();
            pid
        });
        let outcome = host
            .run_detachable(script, detach, &mut |_| {}, CancellationToken::new())
            .await
            .unwrap();
        let ScriptOutcome::Detached(script) = outcome else { panic!("it was ended") };
        let pid = asking.await.unwrap();
        if is_taken {
            let job = script.into_job(Box::new(PrintedOutput::default()));
            assert_eq!(job.ended(), None);
            host.end_all().await;
            assert_eq!(job.wait().await, JobEnd::Exited(ExitCause::Cancelled));
        } else {
            drop(script);
        }
        gone(pid).await;
    }
}

#[tokio::test]
async fn a_terminal_says_when_a_line_is_read_without_being_shown() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    let text = "echo first; read a; stty -echo; echo second; read b; stty echo; stty -icanon -echo; \
                echo third; read c";
    let (job, printed) = start(&host, text, folder.path(), TERMINAL).await;
    printed.shows("first\n").await;
    assert!(!job.hides_input());
    job.write(b"x\n").await.unwrap();
    printed.shows("second\n").await;
    assert!(job.hides_input());
    job.write(b"hidden-word\n").await.unwrap();
    // Programs that read single keys, as editors do, show what they like.
    printed.shows("third\n").await;
    assert!(!job.hides_input());
    assert!(!printed.text().contains("hidden-word"), "{}", printed.text());
    let (job, _) = start(&host, "sleep 1000", folder.path(), JobStreams::Pipes).await;
    assert!(!job.hides_input());
}
