//! Tests of a run's hooks: which of them run, how often, and that files which changed or cannot be
//! read open nothing.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::domain::{ContentHash, PermissionMode, SessionId};

/// Records its commands, and ends as the line says: a number is an exit status, `late` and `stuck`
/// are not.
#[derive(Default)]
struct FakeHookRunner(Mutex<Vec<HookCommand>>);

#[async_trait]
impl HookRunner for FakeHookRunner {
    async fn run(&self, order: HookCommand, _cancel: &CancellationToken) -> HookCommandResult {
        let exit = match order.line.parse() {
            Ok(status) => HookExit::Code(status),
            Err(_) => HookExit::Code(0),
        };
        self.0.lock().unwrap().push(order);
        let (stdout, stderr) = (String::new(), "said no".to_owned());
        HookCommandResult { exit, stdout, stderr, elapsed: Duration::ZERO }
    }
}

fn place(text: &str) -> (tempfile::TempDir, Arc<FakeHookRunner>, HookSet) {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("settings.json"), text).unwrap();
    let runner = Arc::new(FakeHookRunner::default());
    let files = HookFiles { home: home.path().to_owned(), project: None };
    (home, runner.clone(), HookSet::new(Some(files), runner))
}

fn context(mode: PermissionMode) -> HookContext {
    HookContext { session: SessionId::generate(), transcript: "/t".into(), cwd: "/".into(), mode }
}

fn call(tool: &str, path: &str) -> HookPayload {
    let input = json!({"file_path": path});
    HookPayload::PreToolUse(HookToolCall { tool: tool.into(), input, id: "c1".into() })
}

#[tokio::test]
async fn s72_what_a_call_says_reaches_standard_input_and_no_command_line() {
    let text = r#"{"hooks":[{"event":"PreToolUse","tool_filter":"read","action":{"type":"command","command":"cat >log"}}]}"#;
    let (_home, runner, hooks) = place(text);
    let path = "src/$(touch pwn).rs";
    let cancel = CancellationToken::new();
    hooks.fire(&context(PermissionMode::Ask), &call("Read", path), &cancel).await;
    hooks.fire(&context(PermissionMode::Ask), &call("Write", path), &cancel).await;
    let orders = runner.0.lock().unwrap();
    assert_eq!(orders.len(), 1, "the other one is for another tool");
    assert_eq!((orders[0].line.as_str(), orders[0].confine), ("cat >log", HookConfinement::Normal));
    let payload: serde_json::Value = serde_json::from_str(&orders[0].input).unwrap();
    assert_eq!(payload["tool_input"]["file_path"], path);
    for key in ["session_id", "transcript_path", "cwd", "permission_mode", "tool_use_id"] {
        assert!(payload[key].is_string(), "{key} in {payload}");
    }
    assert_eq!(payload["hook_event_name"], "PreToolUse");
}

#[tokio::test]
async fn the_same_command_runs_once_and_plan_mode_confines_it() {
    let text = r#"{"hooks":{"PreToolUse":[
        {"hooks":[{"type":"command","command":"0"},{"type":"command","command":"2"}]},
        {"matcher":"Read","hooks":[{"type":"command","command":"0"}]}]}}"#;
    let (_home, runner, hooks) = place(text);
    let merged = hooks
        .fire(&context(PermissionMode::Plan), &call("Read", "a"), &CancellationToken::new())
        .await;
    assert!(matches!(merged.decision, MergedHookDecision::Block(_)), "{merged:?}");
    let orders = runner.0.lock().unwrap();
    let mut lines: Vec<(&str, HookConfinement)> =
        orders.iter().map(|order| (order.line.as_str(), order.confine)).collect();
    lines.sort_unstable_by_key(|(line, _)| *line);
    assert_eq!(lines, [("0", HookConfinement::ReadOnly), ("2", HookConfinement::ReadOnly)]);
    let last: Vec<Option<String>> = hooks.rows().into_iter().map(|row| row.last).collect();
    assert_eq!(last, [Some("passed".into()), Some("blocked: said no".into()), None]);
}

#[tokio::test]
async fn a_hook_that_is_off_is_not_run_until_it_is_on_again() {
    let text = r#"{"hooks":[{"event":"PreToolUse","action":{"type":"command","command":"1"}}]}"#;
    let (home, runner, hooks) = place(text);
    let id = hooks.rows()[0].id.clone();
    hooks.switch(&id).unwrap();
    assert!(!hooks.has(HookEvent::PreToolUse) && !hooks.rows()[0].is_on);
    let cancel = CancellationToken::new();
    let merged = hooks.fire(&context(PermissionMode::Ask), &call("Read", "a"), &cancel).await;
    assert_eq!(merged, MergedHookVerdict::default());
    // The next run still has the hook off, and the hook's file was not changed.
    let files = HookFiles { home: home.path().to_owned(), project: None };
    let next = HookSet::new(Some(files), runner);
    assert!(!next.rows()[0].is_on);
    assert_eq!(std::fs::read_to_string(home.path().join("settings.json")).unwrap(), text);
    next.switch(&id).unwrap();
    assert!(next.rows()[0].is_on);
    std::fs::write(home.path().join("hooks-off.json"), "{").unwrap();
    let why = next.switch(&id).unwrap_err().to_string();
    assert!(why.contains("Repair or delete it"), "{why}");
}

#[tokio::test]
async fn s72_a_missing_run_bit_blocks_and_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("guard.sh");
    std::fs::write(&script, "#!/bin/sh\nexit 0\n").unwrap();
    let text = json!({"hooks": {"PreToolUse": [{"hooks": [
        {"type": "command", "command": format!("{} --now", script.display())}]}]}});
    let (_home, runner, hooks) = place(&text.to_string());
    let cancel = CancellationToken::new();
    let merged = hooks.fire(&context(PermissionMode::Ask), &call("Read", "a"), &cancel).await;
    let MergedHookDecision::Block(message) = merged.decision else { panic!("it passed") };
    assert!(
        message.text.ends_with(&format!("Run: chmod +x {}", script.display())),
        "{}",
        message.text
    );
    assert!(runner.0.lock().unwrap().is_empty());
}

/// The timeout is a part of the hook: a guard that is killed at once guards nothing.
#[test]
fn a_limit_that_changes_in_a_project_s_file_holds_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("app");
    std::fs::create_dir_all(project.join(".slug")).unwrap();
    let file = project.join(".slug/settings.json");
    let write = |timeout: f64| {
        let hook = json!({"type": "command", "command": "guard", "timeout": timeout});
        let text = json!({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}).to_string();
        std::fs::write(&file, text).unwrap();
    };
    write(30.0);
    let files = HookFiles { home: folder.path().join("home"), project: Some(project) };
    let hooks = HookSet::new(Some(files), Arc::new(FakeHookRunner::default()));
    let before = hooks.rows();
    write(0.1);
    let changed = HookFileChange { file: file.clone(), version: HookFileVersion::Previous };
    assert_eq!(hooks.refresh(), [changed]);
    assert_eq!(hooks.rows(), before);
}

/// A script that the model has changed meanwhile is not the one that the user trusted.
#[tokio::test]
async fn a_script_of_the_project_that_changes_is_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().canonicalize().unwrap();
    std::fs::create_dir(project.join(".slug")).unwrap();
    std::fs::write(project.join("guard.sh"), "exit 0").unwrap();
    std::fs::write(project.join("other.sh"), "exit 0").unwrap();
    let text = r#"{"hooks":[{"event":"PreToolUse",
        "action":{"type":"command","command":"sh other.sh && sh guard.sh"}}]}"#;
    std::fs::write(project.join(".slug/hooks.json"), text).unwrap();
    let files = HookFiles { home: project.join("home"), project: Some(project.clone()) };
    let runner = Arc::new(FakeHookRunner::default());
    let hooks = HookSet::new(Some(files), runner.clone());
    let (context, cancel) = (context(PermissionMode::Ask), CancellationToken::new());
    assert_eq!(
        hooks.fire(&context, &call("Read", "a"), &cancel).await,
        MergedHookVerdict::default()
    );
    std::fs::write(project.join("guard.sh"), "rm -rf /").unwrap();
    let MergedHookDecision::Block(message) =
        hooks.fire(&context, &call("Read", "a"), &cancel).await.decision
    else {
        panic!("it passed")
    };
    assert!(message.text.contains("guard.sh has changed since slug started"), "{}", message.text);
    assert_eq!(runner.0.lock().unwrap().len(), 1);
}

/// The user has not trusted a file that was not there, though the command named it all along.
#[tokio::test]
async fn a_hook_is_not_run_once_a_file_appears_that_it_names() {
    for (line, there, new) in [
        ("make -s lint", "Makefile", "GNUmakefile"),
        ("make -s lint", "README", "makefile"),
        ("make -s -C sub lint", "sub/Makefile", "sub/GNUmakefile"),
        ("make -s -Csub lint", "sub/README", "sub/Makefile"),
        ("make -sCsub lint", "Makefile", "sub/Makefile"),
        ("make -s -f lint.mk lint", "Makefile", "lint.mk"),
        ("make -s -flint.mk lint", "Makefile", "lint.mk"),
        ("sh ./opt.sh || true", "README", "opt.sh"),
        ("test -f opt.sh && . ./opt.sh; true", "README", "opt.sh"),
        ("cd sub && npm run lint", "sub/README", "sub/package.json"),
        ("cd sub && npm run lint", "package.json", "sub/package.json"),
        ("cd sub/deep && npm run lint", "sub/deep/README", "sub/package.json"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().canonicalize().unwrap();
        let write = |file: &str, text: &str| {
            let file = project.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        let action = json!({"type": "command", "command": line});
        let text = json!({"hooks": [{"event": "PreToolUse", "action": action}]}).to_string();
        write(".slug/hooks.json", &text);
        write(there, "1");
        let files = HookFiles { home: project.join("home"), project: Some(project.clone()) };
        let runner = Arc::new(FakeHookRunner::default());
        let hooks = HookSet::new(Some(files), runner.clone());
        let (context, cancel) = (context(PermissionMode::Ask), CancellationToken::new());
        let input = call("Read", "a");
        let passed = MergedHookVerdict::default();
        assert_eq!(hooks.fire(&context, &input, &cancel).await, passed, "{line}");

        write(new, "2");
        let merged = hooks.fire(&context, &input, &cancel).await;
        let MergedHookDecision::Block(message) = merged.decision else {
            panic!("{line} passed with {new}")
        };
        let why = format!("{new} has appeared since slug started");
        assert!(message.text.contains(&why), "{line}: {}", message.text);
        assert_eq!(runner.0.lock().unwrap().len(), 1, "{line}");

        assert_eq!(hooks.changed(), [PathBuf::from(new)], "{line}");
        let refused = hooks.accept_changes(|file, _| file != Path::new(new));
        assert_eq!(refused, Err(PathBuf::from(new)), "{line}");
        hooks.accept_changes(|_, _| true).unwrap();
        assert_eq!(hooks.fire(&context, &input, &cancel).await, passed, "{line}");
    }
}

#[tokio::test]
async fn changes_in_a_project_hold_once_the_user_has_accepted_them() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().canonicalize().unwrap();
    std::fs::create_dir(project.join(".slug")).unwrap();
    let file = project.join(".slug/hooks.json");
    let write = |line: &str| {
        let action = json!({"type": "command", "command": line});
        let text = json!({"hooks": [{"event": "PreToolUse", "action": action}]}).to_string();
        std::fs::write(&file, text).unwrap();
    };
    write("sh guard.sh");
    std::fs::write(project.join("guard.sh"), "exit 0").unwrap();
    let files = HookFiles { home: project.join("home"), project: Some(project.clone()) };
    let hooks = HookSet::new(Some(files), Arc::new(FakeHookRunner::default()));
    assert!(hooks.changed().is_empty());
    let lines = || hooks.rows().iter().map(|row| row.action.text().to_owned()).collect::<String>();
    write("sh guard.sh --strict");
    std::fs::write(project.join("guard.sh"), "exit 2").unwrap();
    assert_eq!(hooks.changed(), [PathBuf::from(".slug/hooks.json"), "guard.sh".into()]);
    // Accepting one file does not accept the other.
    let refused = hooks.accept_changes(|file, _| file == Path::new(".slug/hooks.json"));
    assert_eq!((refused, lines().as_str()), (Err("guard.sh".into()), "sh guard.sh"));
    let now = ContentHash::of(b"exit 2");
    hooks.accept_changes(|file, hash| file != Path::new("guard.sh") || *hash == now).unwrap();
    assert_eq!((hooks.changed(), lines().as_str()), (Vec::new(), "sh guard.sh --strict"));
    let cancel = CancellationToken::new();
    assert_eq!(
        hooks.fire(&context(PermissionMode::Ask), &call("Read", "a"), &cancel).await,
        MergedHookVerdict::default()
    );
}

#[test]
fn s72_a_file_that_cannot_be_read_blocks() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("hooks.json");
    let read = || {
        let files = HookFiles { home: home.path().to_owned(), project: None };
        let hooks = HookSet::new(Some(files), Arc::new(FakeHookRunner::default()));
        assert!(hooks.has(HookEvent::PreToolUse) && hooks.has(HookEvent::UserPromptSubmit));
        hooks.warnings()[0].to_string()
    };
    std::fs::create_dir(&file).unwrap();
    assert!(read().contains("is not a regular file"), "{}", read());
    std::fs::remove_dir(&file).unwrap();
    crate::domain::testing::make_fifo(&file);
    assert!(read().contains("is not a regular file"), "{}", read());
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/nowhere/hooks.json", &file).unwrap();
    assert!(read().contains("is a broken link"), "{}", read());
    std::fs::remove_file(&file).unwrap();
    // Cut off before anything that the file may have said.
    for text in ["", "{", "{\"hooks\": {", "[]"] {
        std::fs::write(&file, text).unwrap();
        assert!(read().contains("hooks.json:1: "), "{}", read());
    }
}

#[test]
fn files_of_a_project_are_read_only_where_it_is_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let (home, project) = (folder.path().join("home"), folder.path().join("app"));
    for (file, command) in [
        (home.join("settings.json"), "1"),
        (home.join("hooks.json"), "2"),
        (project.join(".slug/hooks.json"), "3"),
        (project.join(".slug/settings.json"), "4"),
        (project.join(".slug/settings.local.json"), "5"),
    ] {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let action = json!({"type": "command", "command": command});
        let text = json!({"hooks": [{"event": "Stop", "action": action}]}).to_string();
        std::fs::write(file, text).unwrap();
    }
    let lines = |project: Option<&PathBuf>| {
        let files = HookFiles { home: home.clone(), project: project.cloned() };
        let rows = HookSet::new(Some(files), Arc::new(FakeHookRunner::default())).rows();
        rows.iter().map(|row| row.action.text().to_owned()).collect::<String>()
    };
    assert_eq!(lines(Some(&project)), "12345");
    assert_eq!(lines(None), "12");
}

#[tokio::test]
async fn trying_a_hook_out_shows_what_slug_makes_of_it() {
    let text = r#"{"hooks":[{"event":"Stop","action":{"type":"command","command":"3"}}]}"#;
    let (_home, runner, hooks) = place(text);
    let id = hooks.rows()[0].id.clone();
    let trial =
        hooks.try_out(&id, &context(PermissionMode::Ask), &CancellationToken::new()).await.unwrap();
    assert_eq!(trial.verdict.decision, HookDecision::Block("said no".into()));
    assert_eq!(trial.hook.last.as_deref(), Some("blocked: said no"));
    assert_eq!(runner.0.lock().unwrap().len(), 1);
}
