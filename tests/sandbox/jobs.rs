//! Jobs in a sandbox: confined as every command is, with a terminal that works.

use slug_code::domain::JobEnd;
use slug_code::platform::sandbox::SandboxBackend;
use slug_code::tools::{ExitCause, JobStreams, TerminalSize};

use super::fixtures;
use crate::process::jobs::{TERMINAL, start};

#[tokio::test]
async fn a_job_changes_nothing_outside() {
    for fixture in fixtures() {
        let target = fixture.outside("kept");
        for streams in [JobStreams::Pipes, TERMINAL] {
            let text = format!("echo in > made; echo out > {target}; read line; echo \"$line\"");
            let host = fixture.sandboxed_host();
            let (job, printed) = start(&host, &text, &fixture.dir.join("src"), streams).await;
            job.write(b"heard\n").await.unwrap();
            let end = job.wait().await;
            let case = format!("{:?} {streams:?}: {}", fixture.backend, printed.text());
            assert_eq!(end, JobEnd::Exited(ExitCause::Code(0)), "{case}");
            assert!(printed.text().ends_with("heard\n"), "{case}");
            let made = fixture.dir.join("src/made");
            assert_eq!(std::fs::read_to_string(&made).unwrap(), "in\n", "{case}");
            std::fs::remove_file(made).unwrap();
            assert_eq!(std::fs::read_to_string(&target).unwrap(), "as it was", "{case}");
        }
        fixture.assert_tidy();
    }
}

#[tokio::test]
async fn a_terminal_inside_has_its_size_and_hears_of_another() {
    for fixture in fixtures() {
        let text = "trap 'echo now $(stty size)' WINCH; test -t 0 && test -t 1 && test -t 2 && \
                    stty size; echo ready; while :; do sleep 0.05; done";
        let host = fixture.sandboxed_host();
        let (job, printed) = start(&host, text, &fixture.dir, TERMINAL).await;
        printed.shows("ready\n").await;
        assert_eq!(printed.text(), "33 91\nready\n", "{:?}", fixture.backend);
        job.resize(TerminalSize { columns: 120, rows: 40 }).unwrap();
        printed.shows("now 40 120\n").await;
    }
}

#[tokio::test]
async fn a_job_inside_is_interrupted_and_ended() {
    for fixture in fixtures() {
        for streams in [JobStreams::Pipes, TERMINAL] {
            let host = fixture.sandboxed_host();
            let text = "trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 0.05; done";
            let (job, printed) = start(&host, text, &fixture.dir, streams).await;
            printed.shows("ready").await;
            job.interrupt();
            let end = job.wait().await;
            let case = format!("{:?} {streams:?}: {}", fixture.backend, printed.text());
            assert_eq!(end, JobEnd::Exited(ExitCause::Code(7)), "{case}");

            let (job, printed) =
                start(&host, "echo ready; sleep 1000", &fixture.dir, streams).await;
            printed.shows("ready").await;
            job.terminate();
            assert_eq!(job.wait().await, JobEnd::Exited(ExitCause::Cancelled), "{case}");
        }
        fixture.assert_tidy();
    }
}

#[tokio::test]
async fn a_terminal_inside_is_the_controlling_one_and_its_keys_are_for_the_command_alone() {
    for fixture in fixtures() {
        let host = fixture.sandboxed_host();
        // Landlock keeps it from opening the name.
        let to = match fixture.backend {
            SandboxBackend::Bubblewrap(_) => "> /dev/tty",
            SandboxBackend::Landlock | SandboxBackend::Seatbelt => "",
        };
        let text = &format!(
            "echo by its name {to}; sh -c 'echo a$((1+1))b; exec sleep 1000'; \
                    echo status $?; read line; echo \"got $line\""
        );
        let (job, printed) = start(&host, text, &fixture.dir, TERMINAL).await;
        printed.shows("by its name\na2b\n").await;
        let case = format!("{:?}", fixture.backend);
        // A shell without job control dies of it with its command.
        job.interrupt();
        assert!(matches!(job.wait().await, JobEnd::Exited(_)), "{case}");
        assert!(!printed.text().contains("status"), "{case}: {}", printed.text());

        let text = "trap 'echo caught' INT; echo ready; read line; echo \"got $line\"; exit 3";
        let (job, printed) = start(&host, text, &fixture.dir, TERMINAL).await;
        printed.shows("ready\n").await;
        job.interrupt();
        printed.shows("caught\n").await;
        job.write(b"a line\n").await.unwrap();
        let end = job.wait().await;
        assert_eq!(end, JobEnd::Exited(ExitCause::Code(3)), "{case}: {}", printed.text());
    }
}

#[tokio::test]
async fn what_a_job_on_a_terminal_leaves_running_ends_with_it() {
    for fixture in fixtures() {
        let host = fixture.sandboxed_host();
        let text = "(trap '' HUP; setsid sleep 1000) & echo ready; read line";
        let (job, printed) = start(&host, text, &fixture.dir, TERMINAL).await;
        printed.shows("ready\n").await;
        job.terminate();
        assert!(matches!(job.wait().await, JobEnd::Exited(_)), "{:?}", fixture.backend);
        fixture.assert_tidy();
    }
}
