//! Bash over processes that play a part.

use std::sync::Arc;

use super::*;
use crate::domain::{ContentHash, ScanExtent};
use crate::platform::scratch::ScratchRoot;
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
        "hm\n[the folder has too many files to check before each command: in its deepest folders \
         this command could read files that deny rules hide]"
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
        (json!(900), 600),
        (json!(1_000), 1),
        (json!(600_000), 600),
        (json!(3_600_000), 600),
    ];
    for (timeout, seconds) in cases {
        let input = json!({"command": "x", "timeout": timeout, "description": "Test"});
        let output = env.run(&BashTool, input).await.unwrap();
        let script = env.processes.scripts.lock().unwrap().pop().unwrap();
        assert_eq!(script.timeout, Duration::from_secs(seconds));
        assert_eq!(script.cwd, env.context.place.cwd);
        let is_over = timeout == json!(3_600_000) || timeout == json!(900);
        assert_eq!(output.observation.contains("lowered to 600 s"), is_over);
    }
}

/// Files for long output in a folder of the test.
fn with_outputs() -> (ToolTestEnv, PathBuf) {
    let mut env = ToolTestEnv::new();
    let root = env.path("tmp");
    std::fs::create_dir(&root).unwrap();
    let scratch = ScratchRoot::in_folder(root).open("s1").unwrap();
    let folder = scratch.path().to_owned();
    env.context.outputs = Some(Arc::new(scratch));
    (env, folder)
}

fn files(folder: &Path) -> Vec<String> {
    let found = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        found.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn long_output_is_whole_and_plain_in_a_file_that_the_result_names() {
    let (env, folder) = with_outputs();
    let printed: String = (1..=10_000).map(|at| format!("\x1b[32mline\x1b[0m {at}\r\n")).collect();
    // In pieces that end anywhere.
    let pieces: Vec<&[u8]> = printed.as_bytes().chunks(997).collect();
    let output = bash(&env, &pieces, ExitCause::Code(0)).await;
    let path = folder.join("output-1.txt");
    let note = format!(" in all. All of it is in {}: use Grep or Read on it.]", path.display());
    assert!(output.observation.contains(&note), "{}", output.observation);
    let expected: String = (1..=10_000).map(|at| format!("line {at}\n")).collect();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
    bash(&env, &pieces, ExitCause::Code(1)).await;
    assert_eq!(files(&folder), ["output-1.txt", "output-2.txt"]);
}

#[tokio::test]
async fn a_file_is_left_only_where_the_result_is_cut() {
    let (env, folder) = with_outputs();
    bash(&env, &[b"short\n"], ExitCause::Code(0)).await;
    // Much is printed, but little is seen in the end.
    let progress: String = (1..=20_000).map(|at| format!("{at}\r")).collect();
    let output = bash(&env, &[progress.as_bytes(), b"done\n"], ExitCause::Code(0)).await;
    assert_eq!(output.observation, "done");
    // A program is nothing to read line by line.
    let program = [b"\x7fELF".as_slice(), &[0, 1, 2, 255].repeat(20_000)].concat();
    let output = bash(&env, &[&program], ExitCause::Code(0)).await;
    assert_eq!(output.observation, "[binary, 80004 bytes]");
    assert_eq!(files(&folder), [""; 0]);
}

#[tokio::test]
async fn output_beyond_what_is_kept_in_memory_is_in_the_file() {
    let (env, folder) = with_outputs();
    let line = "0123456789abcdef".repeat(4) + "\n";
    let piece = line.repeat(1 << 14);
    let pieces = vec![piece.as_bytes(); 12];
    let output = bash(&env, &pieces, ExitCause::Code(0)).await;
    assert!(output.observation.contains("All of it is in "), "{}", output.observation);
    let length = folder.join("output-1.txt").metadata().unwrap().len();
    assert_eq!(length, 12 * piece.len() as u64);
}

#[tokio::test]
async fn a_few_random_bytes_do_not_hide_the_text_around_them() {
    let env = ToolTestEnv::new();
    let noise: Vec<u8> = (0..64_u8).map(|at| at.wrapping_mul(37) | 0x80).collect();
    let text = "running 1 test\n".repeat(10);
    let printed = [text.as_bytes(), &noise, b"\ntest failed\n"].concat();
    let output = bash(&env, &[&printed], ExitCause::Code(1)).await;
    assert_eq!(
        output.observation,
        format!("{text}[binary, 64 bytes]\ntest failed\n[exit status 1]")
    );
    assert_eq!(env.effects.kept(), [printed], "the user can look at all of it");
}

#[test]
fn access_is_the_command_as_written() {
    let place = WorkingDirectory { cwd: "/w".into(), home: None };
    let access = BashTool.access(&json!({"command": " ls -l\n"}), &place).unwrap();
    assert_eq!(access, [ToolAccess::foreground(" ls -l\n", "/w")]);
    let cases = [
        (json!({}), "Bash: `command` is missing."),
        (json!({"command": " \n"}), "Bash: `command` is empty."),
        (json!({"command": "a\u{0}b"}), "Bash: `command` holds a NUL character."),
        (json!({"command": ["ls"]}), "Bash: `command` must be a string"),
        (json!({"command": "ls", "timeout": "long"}), "Bash: `timeout` must be a whole number"),
        (json!({"command": "ls", "description": ["a"]}), "Bash: `description` must be a string"),
        (
            json!({"command": "serve", "detach": true}),
            "Bash: unknown argument `detach`. Arguments: command, description, run_in_background, \
             timeout, tty, workdir.",
        ),
    ];
    let (on_terminal, pace) = (json!({"command": "vim x", "tty": true}), CommandPace::Background);
    let access = BashTool.access(&on_terminal, &place).unwrap();
    let (command, cwd) = ("vim x".to_owned(), "/w".into());
    assert_eq!(access, [ToolAccess::Run { command, cwd, pace }]);
    for (workdir, cwd) in
        [("sub", "/w/sub"), ("/etc", "/etc"), ("../x", "/x"), ("", "/w"), (".", "/w")]
    {
        let input = json!({"command": "ls", "workdir": workdir});
        let access = BashTool.access(&input, &place).unwrap();
        assert_eq!(access, [ToolAccess::foreground("ls", cwd)]);
    }
    for (input, expected) in cases {
        let error = BashTool.access(&input, &place).unwrap_err();
        assert!(error.0.starts_with(expected), "{error}");
    }
}
