//! Hooks in a sandbox: the usual one, and the read-only one of plan mode.

use std::net::TcpListener;

use slug_code::platform::process::{PIPED_OUTPUT_LIMIT, PipedCommand};

use super::*;

#[tokio::test]
async fn s115_a_hook_runs_inside_with_its_input() {
    for fixture in fixtures() {
        let piped = |line: String| PipedCommand {
            line,
            cwd: fixture.dir.clone(),
            timeout: Duration::from_secs(60),
            input: "told".to_owned(),
            output_limit: PIPED_OUTPUT_LIMIT,
            variables: Vec::new(),
        };
        let none = CancellationToken::new();
        let output = fixture
            .sandboxed_host()
            .run_piped(piped("cat; echo no >&2; exit 2".into()), &none)
            .await;
        let output = output.unwrap();
        let all = (output.exit.cause, output.stdout.as_str(), output.stderr.as_str());
        assert_eq!(all, (ExitCause::Code(2), "told", "no\n"), "{:?}", fixture.backend);
        let line = format!("echo x > {}", fixture.outside("kept"));
        let output = fixture.sandboxed_host().run_piped(piped(line), &none).await.unwrap();
        assert_ne!(output.exit.cause, ExitCause::Code(0));
        assert_eq!(fs::read_to_string(fixture.outside.join("kept")).unwrap(), "as it was");
    }
}

/// The sandbox of hooks in plan mode: narrowing it to read only opens nothing.
#[tokio::test]
async fn s106_a_read_only_sandbox_is_closed_where_the_other_is() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    for mut fixture in fixtures() {
        fixture.rules = denying(&fixture, &["Read(.env)"]);
        for path in
            [fixture.dir.join("note"), fixture.dir.join(".env"), fixture.dir.join("src/.env")]
        {
            fs::write(path, "CANARY").unwrap();
        }
        let scratch = tempfile::tempdir().unwrap();
        let scratch = scratch.path().canonicalize().unwrap();
        let host = fixture.sandboxed_host().read_only(scratch.clone()).unwrap();
        let run = async |line: &str| {
            let line = format!("cd '{}' && {line}", fixture.dir.display());
            let piped = PipedCommand {
                line,
                cwd: scratch.clone(),
                timeout: Duration::from_secs(60),
                input: String::new(),
                output_limit: PIPED_OUTPUT_LIMIT,
                variables: Vec::new(),
            };
            let output = host.run_piped(piped, &CancellationToken::new()).await.unwrap();
            (output.exit.cause == ExitCause::Code(0), output.stdout + &output.stderr)
        };
        for line in ["cat note", "ls . src", "echo x > $TMPDIR/o && cat $TMPDIR/o"] {
            let (works, printed) = run(line).await;
            assert!(works, "{line} {:?}: {printed}", fixture.backend);
        }
        let (id, trust) = (fixture.home.join(".ssh/id"), fixture.home.join(".slug/trust.json"));
        for line in [
            "cat .env",
            "cat src/.env",
            &format!("cat '{}'", id.display()),
            &format!("cat '{}'", trust.display()),
            "touch made",
            "touch src/made",
            "echo x >> .git/config",
            "touch .mcp.json",
            &format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'"),
        ] {
            let (works, printed) = run(line).await;
            let is_closed = !works && !printed.contains("CANARY");
            assert!(is_closed, "{line} {:?}: {printed}", fixture.backend);
        }
    }
}
