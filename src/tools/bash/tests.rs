//! Bash over processes that play a part.

use super::*;
use crate::domain::{ContentHash, ScanExtent};
use crate::tools::testing::ToolTestEnv;

async fn bash(env: &ToolTestEnv, output: &[&[u8]], cause: ExitCause) -> ToolOutput {
    env.processes.play(output, cause);
    env.run(&BashTool, json!({"command": "x"})).await.unwrap()
}

#[tokio::test]
async fn output_comes_live_and_in_the_end() {
    let env = ToolTestEnv::new();
    let output = bash(&env, &[b"caf\xc3", b"\xa9\n", b"two\n"], ExitCause::Code(0)).await;
    assert_eq!(env.effects.progress(), "café\ntwo\n");
    assert_eq!(output.observation, "café\ntwo");
    assert_eq!((output.status, output.summary, output.display), (ToolStatus::Done, None, None));
    assert!(env.effects.kept().is_empty());
    let silent = bash(&env, &[], ExitCause::Code(0)).await;
    assert_eq!(silent.observation, "(no output)");
}

#[tokio::test]
async fn a_command_in_a_list_is_one_line() {
    for (command, line) in [
        (json!(["bash", "-lc", "cd a && ls"]), "cd a && ls"),
        (json!(["git", "commit", "-m", "it's done"]), r"git commit -m 'it'\''s done'"),
        (json!(["echo", ""]), "echo ''"),
        (json!(["cargo test"]), "cargo test"),
    ] {
        let env = ToolTestEnv::new();
        env.run(&BashTool, json!({"cmd": command})).await.unwrap();
        assert_eq!(env.processes.scripts.lock().unwrap()[0].text, line);
    }
    let env = ToolTestEnv::new();
    let error = env.run(&BashTool, json!({"command": [1]})).await.unwrap_err();
    assert!(error.0.starts_with("Bash: `command` must be a string, not [1]"), "{error}");
}

#[tokio::test]
async fn the_result_says_how_the_command_ended() {
    let env = ToolTestEnv::new();
    let cases = [
        (ExitCause::Code(2), "hm\n[exit status 2]", ToolStatus::Failed, "exit 2"),
        (ExitCause::Signal(9), "hm\n[killed by signal 9]", ToolStatus::Failed, "signal 9"),
        (ExitCause::Cancelled, "hm\n[stopped by the user]", ToolStatus::Cancelled, "stopped"),
        (ExitCause::TimedOut, "hm\n[timed out after 120 s", ToolStatus::Failed, "timed out"),
    ];
    for (cause, observation, status, summary) in cases {
        let output = bash(&env, &[b"hm\n"], cause).await;
        assert!(output.observation.starts_with(observation), "{}", output.observation);
        assert_eq!((output.status, output.summary.as_deref()), (status, Some(summary)));
    }
    env.processes.exit.lock().unwrap().left_running = true;
    let output = bash(&env, &[], ExitCause::Code(0)).await;
    assert_eq!(
        output.observation,
        "(no output)\n[something it started still runs in the background]"
    );
}

#[tokio::test]
async fn the_result_says_when_not_all_denied_files_were_found() {
    let env = ToolTestEnv::new();
    let whole = bash(&env, &[b"hm\n"], ExitCause::Code(0)).await;
    assert_eq!(whole.observation, "hm");
    env.processes.exit.lock().unwrap().denied = ScanExtent::Part;
    let part = bash(&env, &[b"hm\n"], ExitCause::Code(0)).await;
    assert_eq!(
        part.observation,
        "hm\n[there is too much to be looked through before each command, so that this one could \
         perhaps read files that deny rules keep from reading, in the deepest folders]"
    );
}

#[tokio::test]
async fn much_output_is_cut_and_kept_whole() {
    let env = ToolTestEnv::new();
    let printed: String = (1..=10_000).map(|number| format!("line {number}\n")).collect();
    let output = bash(&env, &[printed.as_bytes()], ExitCause::Code(0)).await;
    assert!(output.observation.len() < MODEL_BYTES + 300);
    assert!(output.observation.starts_with("line 1\nline 2\n"));
    assert!(output.observation.ends_with("\nline 9999\nline 10000"));
    assert!(output.observation.contains(" left out here; 96.6 KB in all, kept for the user."));
    assert_eq!(env.effects.kept(), [printed.as_bytes()]);
    let hash = ContentHash::of(printed.as_bytes());
    assert_eq!(output.output["kept"], json!(hash));
}

#[tokio::test]
async fn r42_a_line_without_end_is_one_capped_line() {
    let env = ToolTestEnv::new();
    let piece = vec![b'x'; 1 << 20];
    let pieces = vec![piece.as_slice(); 12];
    let output = bash(&env, &pieces, ExitCause::Code(0)).await;
    assert!(output.observation.len() < MODEL_BYTES + 300);
    assert!(output.observation.contains("12.0 MB in all"), "what was dropped is counted");
    assert!(env.effects.kept()[0].len() < 11 << 20);
}

#[tokio::test]
async fn colours_are_for_the_user_alone() {
    let env = ToolTestEnv::new();
    let output = bash(&env, &[b"\x1b[32mok\x1b[0m\r\n1%\r2%\n"], ExitCause::Code(0)).await;
    assert_eq!(output.observation, "ok\n2%");
    let text = "\x1b[32mok\x1b[0m\n2%\n".to_owned();
    assert_eq!(output.display, Some(ToolDisplay::Terminal { text }));
}

#[tokio::test]
async fn r43_binary_output_is_named() {
    let env = ToolTestEnv::new();
    let output = bash(&env, &[b"\x7fELF\x02\x01\x01\0\0\0"], ExitCause::Code(0)).await;
    assert_eq!(output.observation, "[binary, 10 bytes]");
    assert_eq!(env.effects.kept().len(), 1);
    let invalid = bash(&env, &[b"gr\xfc\xdfe\n"], ExitCause::Code(1)).await;
    assert_eq!(invalid.observation, "gr\u{fffd}\u{fffd}e\n[exit status 1]");
}

#[tokio::test]
async fn the_time_limit_is_understood_and_bounded() {
    let env = ToolTestEnv::new();
    let cases = [
        (json!(null), 120),
        (json!(0), 120),
        (json!("5000"), 5),
        (json!(60), 60),
        (json!(600_000), 600),
        (json!(3_600_000), 600),
    ];
    for (timeout, seconds) in cases {
        let input = json!({"command": "x", "timeout": timeout, "description": "Test"});
        let output = env.run(&BashTool, input).await.unwrap();
        let script = env.processes.scripts.lock().unwrap().pop().unwrap();
        assert_eq!(script.timeout, Duration::from_secs(seconds));
        assert_eq!(script.cwd, env.context.place.cwd);
        assert_eq!(output.observation.contains("lowered to 600 s"), timeout == json!(3_600_000));
    }
}

#[test]
fn access_is_the_command_as_written() {
    let place = WorkingDirectory { cwd: "/w".into(), home: None };
    let access = BashTool.access(&json!({"command": " ls -l\n"}), &place).unwrap();
    assert_eq!(access, [ToolAccess::Run { command: " ls -l\n".into(), cwd: "/w".into() }]);
    let cases = [
        (json!({}), "Bash: `command` is missing."),
        (json!({"command": " \n"}), "Bash: `command` is empty."),
        (json!({"command": "a\u{0}b"}), "Bash: `command` holds a NUL character."),
        (json!({"command": ["ls"]}), "Bash: `command` must be a string"),
        (json!({"command": "ls", "timeout": "long"}), "Bash: `timeout` must be a whole number"),
        (json!({"command": "ls", "description": ["a"]}), "Bash: `description` must be a string"),
        (
            json!({"command": "serve", "run_in_background": true}),
            "Bash: there is no argument `run_in_background`; there are command, description, timeout.",
        ),
    ];
    for (input, expected) in cases {
        let error = BashTool.access(&input, &place).unwrap_err();
        assert!(error.0.starts_with(expected), "{error}");
    }
}
