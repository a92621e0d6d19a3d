//! The two forms of hooks as they are read, what each end of a command means, and how the verdicts
//! of several hooks are merged.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use proptest::prelude::*;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::merge::{HookMessage, MergedHookDecision, MergedHookVerdict};
use super::run::outcome;
use super::verdict::MAX_TEXT_CHARS;
use super::*;
use crate::domain::{ContentHash, PermissionMode, SessionId};

const FILE: &str = "/w/.slug/settings.json";

/// Each hook in a line: event, filter, form, what it does, and its line in the file.
fn listed(text: &str) -> (Vec<String>, Vec<String>) {
    let (hooks, warnings) = read(text, Path::new(FILE));
    let line = |hook: &Hook| {
        let what = match &hook.action {
            HookAction::Command { line, limit } => format!("{line} ({}s)", limit.as_secs()),
            HookAction::Prompt(text) => format!("say {text}"),
            HookAction::Unreadable(_) => "UNREADABLE".into(),
        };
        let at = hook.origin.line.unwrap_or_default();
        format!("{at} {} [{}] {:?} {what}", hook.event.name(), hook.filter.text(), hook.form)
    };
    (hooks.iter().map(line).collect(), warnings.iter().map(ToString::to_string).collect())
}

#[test]
fn the_short_form_is_read() {
    let text = r#"{"hooks":[
        {"event":"PreToolUse","tool_filter":"bash","action":{"type":"command","command":"./a"}},
        {"event":"session_start",
         "action":{"type":"prompt","content":"Be brief."}}
    ]}"#;
    assert_eq!(
        listed(text),
        (
            vec![
                "2 PreToolUse [bash] Short ./a (30s)".into(),
                "4 SessionStart [] Short say Be brief.".into()
            ],
            vec![]
        )
    );
}

#[test]
fn the_form_in_wide_use_is_read() {
    let text = r#"{"permissions":{},"hooks":{
        "PreToolUse":[{"matcher":"Bash|Edit","hooks":[
            {"type":"command","command":"a","timeout":10},
            {"type":"command",
             "command":"b"}]}],
        "Stop":[{"hooks":[{"type":"prompt","content":"c"}]}]}}"#;
    assert_eq!(
        listed(text),
        (
            vec![
                "3 PreToolUse [Bash|Edit] Matcher a (10s)".into(),
                "5 PreToolUse [Bash|Edit] Matcher b (30s)".into(),
                "6 Stop [] Matcher say c".into()
            ],
            vec![]
        )
    );
    for text in [r#"{"permissions":{"allow":[]}}"#, r#"{"stop":true,"model":"x","hooks":[]}"#] {
        assert_eq!(listed(text), (vec![], vec![]), "{text}");
    }
}

/// What cannot be read is reported with its line; a hook that may be a guard stays as one that
/// blocks.
#[test]
fn s72_unreadable_hooks_are_reported_and_unreadable_guards_block() {
    let guard = |line: usize, event: &str, filter: &str| {
        format!("{line} {event} [{filter}] Matcher UNREADABLE")
    };
    let any = |line| vec![guard(line, "PreToolUse", ""), guard(line, "UserPromptSubmit", "")];
    let table: &[(&str, Vec<String>, &str)] = &[
        (
            r#"{"hooks":[{"event":"PreToolUse","action":{"type":"command"}}]}"#,
            vec![guard(1, "PreToolUse", "")],
            "a command hook without `command`",
        ),
        (
            r#"{"hooks":[{"event":"PreToolUse","tool_filter":"Bash","action":{"type":"http"}}]}"#,
            vec![guard(1, "PreToolUse", "Bash")],
            "a hook of type `http`",
        ),
        (
            "{\"hooks\":[{\"event\":\"Stop\",\"tool_filter\":3,\n\"action\":{}}]}",
            vec![guard(1, "Stop", "")],
            "`tool_filter` is no text",
        ),
        (
            r#"{"hooks":[{"event":"PreToolUze","action":{"type":"command","command":"x"}}]}"#,
            vec![guard(1, "PreToolUse", "")],
            "there is no event `PreToolUze`: write `PreToolUse`",
        ),
        (r#"{"hooks":[{"event":"Lunch"}]}"#, vec![], "there is no event `Lunch`; there are"),
        (
            r#"{"hooks":[{"on":"user_prompt_submit"}]}"#,
            vec![guard(1, "UserPromptSubmit", "")],
            "a hook without `event`",
        ),
        (
            "{\"hooks\":\n{\"PreToolUse\":{\"matcher\":\"Bash\"}}}",
            vec![guard(2, "PreToolUse", "")],
            "`PreToolUse` is no list",
        ),
        (
            r#"{"hooks":{"PreToolUse":[{"matcher":"Ba(sh","hooks":[]}]}}"#,
            vec![guard(1, "PreToolUse", "")],
            "`Ba(sh` is no regular expression",
        ),
        (
            r#"{"hooks":{"PreToolUse":[{"matcher":"Edit","command":"x"}]}}"#,
            vec![guard(1, "PreToolUse", "Edit")],
            "an entry without `hooks`",
        ),
        (
            r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"prompt","prompt":"safe?"}]}]}}"#,
            vec![guard(1, "PreToolUse", "")],
            "slug has no model judge a hook",
        ),
        (
            r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"x","timeout":0}]}]}}"#,
            vec![guard(1, "PreToolUse", "")],
            "`timeout` is no number of seconds",
        ),
        (
            "{\"hooks\":[{\"event\":\"PreToolUse\",\n]}",
            vec![guard(2, "PreToolUse", "")],
            "so its hooks cannot be run",
        ),
        (
            "{\"hooks\":[{\"event\":\"PreToolUse\"}],\n\"hooks\":[]}",
            vec![guard(2, "PreToolUse", "")],
            "`hooks` stands here twice",
        ),
        (
            "{\"Hooks\":[\n{\"event\":\"PreToolUse\"}]}",
            vec![guard(2, "PreToolUse", "")],
            "there is no key `Hooks`: write `hooks`",
        ),
        ("{\"hooks\":[{\"event\":\"Stop\",\n]}", vec![], "this is not JSON"),
        (r#"{"hooks":null}"#, any(1), "neither a list nor"),
        (r#"{"hooks":"x"}"#, any(1), "neither a list nor"),
        ("{\n\"hooks\":5}", any(2), "neither a list nor"),
        ("{\"hooks\":[\n\"exit 2\"]}", any(2), "a hook without `event`"),
        (
            "{\"hooks\":{\n\"hooks\":{\"PreToolUse\":[]}}}",
            vec![guard(2, "PreToolUse", "")],
            "there is no event `hooks`",
        ),
        (
            "{\"permissions\":{},\n\"PreToolUse\":[{\"hooks\":[]}]}",
            vec![guard(2, "PreToolUse", "")],
            "`PreToolUse` stands outside of `hooks`",
        ),
        (
            r#"{"user_prompt_submit":null}"#,
            vec![guard(1, "UserPromptSubmit", "")],
            "stands outside of `hooks`",
        ),
        (r#"{"PreToolUze":[]}"#, vec![guard(1, "PreToolUse", "")], "stands outside of `hooks`"),
        (r#"{"Stop":[]}"#, vec![guard(1, "Stop", "")], "stands outside of `hooks`"),
    ];
    for (text, hooks, warning) in table {
        let (found, warnings) = listed(text);
        assert_eq!((&found, warnings.len()), (hooks, 1), "{text}: {warnings:?}");
        assert!(warnings[0].starts_with(FILE) && warnings[0].contains(warning), "{warnings:?}");
    }
}

#[test]
fn an_unreadable_hook_leaves_the_others_readable() {
    let text = r#"{"hooks":{"Lunch":[],"Stop":[{"hooks":[{"type":"x"},{"type":"command","command":"a"}]}]}}"#;
    let (hooks, warnings) = listed(text);
    assert_eq!(hooks.last().unwrap(), "1 Stop [] Matcher a (30s)");
    assert_eq!(warnings.len(), 2);
}

#[test]
fn filters_say_which_tools() {
    let table = [
        ("", HookForm::Short, "Bash", true),
        ("*", HookForm::Matcher, "Bash", true),
        ("bash", HookForm::Short, "Bash", true),
        ("bash", HookForm::Matcher, "Bash", false),
        ("Bash|Edit", HookForm::Matcher, "Edit", true),
        ("Bash, Edit", HookForm::Matcher, "Edit", true),
        ("Bash", HookForm::Matcher, "BashOutput", false),
        ("Bash.*", HookForm::Matcher, "BashOutput", true),
        ("^Bash$|Write", HookForm::Matcher, "BashOutput", false),
        ("mcp__.*__write.*", HookForm::Matcher, "mcp__files__write_file", true),
        ("edit.*", HookForm::Short, "Edit", true),
        ("edit.*", HookForm::Matcher, "Edit", false),
    ];
    for (filter, form, tool, fits) in table {
        assert_eq!(
            HookFilter::parse(filter, form).unwrap().fits(Some(tool)),
            fits,
            "{filter} {tool}"
        );
    }
}

fn outcome_of(
    event: HookEvent,
    form: HookForm,
    ended: &HookExit,
    output: &str,
    complaint: &str,
) -> String {
    outcome(&verdict(event, form, ended, output, complaint))
}

#[test]
fn s72_each_end_of_a_command_means_one_thing() {
    use HookEvent::{PostToolUse, PreToolUse, Stop};
    use HookExit::{Code, NotStarted, Signal, TimedOut};
    use HookForm::{Matcher, Short};
    let late = || TimedOut(Duration::from_secs(30));
    let gone = || NotStarted("No such folder.".into());
    let table = [
        (PreToolUse, Short, Code(0), "", "", "passed"),
        (PreToolUse, Short, Code(0), "careful", "", "told the model something"),
        (PreToolUse, Short, Code(1), "", "no", "blocked: no"),
        (PreToolUse, Short, Code(9), "why", "", "blocked: why"),
        (PreToolUse, Short, Code(9), "", "", "blocked: It gave no reason."),
        (PreToolUse, Matcher, Code(2), "", "no", "blocked: no"),
        (PreToolUse, Matcher, Code(1), "", "no", "failed: It ended with status 1: no"),
        (PreToolUse, Matcher, Code(126), "", "denied", "blocked: It cannot be run: denied"),
        (PreToolUse, Matcher, Code(127), "", "not found", "blocked: It cannot be run: not found"),
        (PreToolUse, Matcher, Signal(9), "", "", "blocked: Signal 9 ended it."),
        (
            PreToolUse,
            Matcher,
            late(),
            "",
            "",
            "blocked: It took longer than 30 seconds and was ended.",
        ),
        (PreToolUse, Matcher, gone(), "", "", "blocked: No such folder."),
        (PreToolUse, Matcher, HookExit::Cancelled, "{", "", "passed"),
        (
            PostToolUse,
            Matcher,
            late(),
            "",
            "",
            "failed: It took longer than 30 seconds and was ended.",
        ),
        (PostToolUse, Matcher, gone(), "", "", "failed: No such folder."),
        (PostToolUse, Matcher, Code(2), "", "lint", "blocked: lint"),
        (Stop, Short, Code(3), "", "tests fail", "blocked: tests fail"),
        (Stop, Short, Code(0), "fine", "", "passed"),
    ];
    for (event, form, ended, output, complaint, means) in table {
        let case = format!("{event:?} {form:?} {ended:?} {output}");
        assert_eq!(outcome_of(event, form, &ended, output, complaint), means, "{case}");
    }
}

#[test]
fn json_on_standard_output_decides() {
    let pre = HookEvent::PreToolUse;
    let specific = |json: serde_json::Value| json!({"hookSpecificOutput": json}).to_string();
    let table = [
        (pre, json!({"decision": "block", "reason": "no"}).to_string(), "blocked: no"),
        (pre, json!({"decision": "approve"}).to_string(), "allowed"),
        (
            pre,
            specific(json!({"hookEventName": "PreToolUse", "permissionDecision": "deny",
                            "permissionDecisionReason": "secret"})),
            "blocked: secret",
        ),
        (
            pre,
            specific(json!({"permissionDecision": "ask", "permissionDecisionReason": "?"})),
            "asked: ?",
        ),
        (pre, specific(json!({"permissionDecision": "allow"})), "allowed"),
        (pre, specific(json!({"updatedInput": {"command": "ls"}})), "changed the call"),
        (pre, specific(json!({"additionalContext": "note"})), "told the model something"),
        (pre, "{}".into(), "passed"),
        (pre, json!({"suppressOutput": true, "unknown": 3}).to_string(), "passed"),
        (
            HookEvent::Stop,
            json!({"decision": "block", "reason": "go on"}).to_string(),
            "blocked: go on",
        ),
        (HookEvent::Stop, json!({"decision": "approve"}).to_string(), "passed"),
    ];
    for (event, output, means) in table {
        assert_eq!(
            outcome_of(event, HookForm::Matcher, &HookExit::Code(0), &output, ""),
            means,
            "{output}"
        );
    }
    let output = json!({"continue": false, "stopReason": "enough", "systemMessage": "look"});
    let verdict = verdict(pre, HookForm::Short, &HookExit::Code(0), &output.to_string(), "");
    assert_eq!(verdict.stop.as_deref(), Some("enough"));
    assert_eq!(verdict.message.as_deref(), Some("look"));
}

#[test]
fn s72_garbage_where_json_was_begun_blocks_a_guard() {
    let specific = |text: &str| format!("{{\"hookSpecificOutput\":{text}}}");
    for output in [
        "{".to_owned(),
        "{\"decision\": \"allow\"} and more".into(),
        "{\"decision\": \"perhaps\"}".into(),
        "{\"decision\": true}".into(),
        "{\"continue\": \"no\"}".into(),
        "{\"reason\": 1}".into(),
        specific("3"),
        specific("{\"permissionDecision\":\"yes\"}"),
        specific("{\"hookEventName\":\"Stop\",\"permissionDecision\":\"allow\"}"),
        specific("{\"updatedInput\":\"ls\"}"),
    ] {
        for form in [HookForm::Short, HookForm::Matcher] {
            let word = outcome_of(HookEvent::PreToolUse, form, &HookExit::Code(0), &output, "");
            assert!(word.starts_with("blocked: What it printed"), "{output}: {word}");
        }
        let word =
            outcome_of(HookEvent::PostToolUse, HookForm::Matcher, &HookExit::Code(0), &output, "");
        assert!(!word.starts_with("blocked"), "{output}: {word}");
    }
}

#[test]
fn passed_on_texts_are_bounded() {
    let verdict = verdict(
        HookEvent::PreToolUse,
        HookForm::Short,
        &HookExit::Code(0),
        &"ä".repeat(MAX_TEXT_CHARS * 2),
        "",
    );
    let context = verdict.context.unwrap();
    assert!(
        context.ends_with("[the rest is left out]")
            && context.chars().count() < MAX_TEXT_CHARS + 30
    );
}

proptest! {
    #[test]
    fn no_end_of_a_command_panics_and_a_guard_is_never_lost(
        output in any::<String>(), complaint in any::<String>(), code in 1..256_i32
    ) {
        let of = |event, form, code| verdict(event, form, &HookExit::Code(code), &output, &complaint);
        let blocks = |verdict: HookVerdict| matches!(verdict.decision, HookDecision::Block(_));
        for event in HookEvent::ALL {
            of(event, HookForm::Matcher, 0);
            prop_assert!(blocks(of(event, HookForm::Short, code)) || matches!(code, 126 | 127));
        }
        prop_assert!(blocks(of(HookEvent::PreToolUse, HookForm::Matcher, 2)));
    }

    #[test]
    fn any_text_can_be_read(text in "[\\[\\]{}\":,a-zA-Z ]{0,80}") {
        read(&text, Path::new(FILE));
        read(&format!("{{\"hooks\":{text}}}"), Path::new(FILE));
    }
}

fn origin(line: usize) -> HookOrigin {
    HookOrigin { file: FILE.into(), line: Some(line) }
}

fn merged(verdicts: impl IntoIterator<Item = HookVerdict>) -> MergedHookVerdict {
    let numbered: Vec<(HookOrigin, HookVerdict)> =
        verdicts.into_iter().zip(1..).map(|(verdict, line)| (origin(line), verdict)).collect();
    MergedHookVerdict::of(numbered.iter().map(|(origin, verdict)| (origin, verdict.clone())))
}

fn says(word: HookDecision) -> HookVerdict {
    HookVerdict { decision: word, ..HookVerdict::default() }
}

#[test]
fn the_strictest_word_holds_and_of_equals_the_first() {
    let (allow, ask) =
        (|| says(HookDecision::Allow("a".into())), || says(HookDecision::Ask("q".into())));
    let block = |reason: &str| says(HookDecision::Block(reason.into()));
    let message = |text: &str, line| HookMessage { text: text.into(), origin: origin(line) };
    let table = [
        (vec![], MergedHookDecision::Nothing),
        (vec![HookVerdict::default(), allow()], MergedHookDecision::Allow(message("a", 2))),
        (vec![allow(), ask()], MergedHookDecision::Ask(message("q", 2))),
        (vec![block("b"), ask(), allow(), block("c")], MergedHookDecision::Block(message("b", 1))),
        (vec![allow(), block("c"), ask()], MergedHookDecision::Block(message("c", 2))),
    ];
    for (verdicts, word) in table {
        assert_eq!(merged(verdicts).decision, word);
    }
}

#[test]
fn hooks_that_change_a_call_in_different_ways_block_it() {
    let change = |command: &str| HookVerdict {
        input: Some(json!({"command": command})),
        context: Some(command.into()),
        ..HookVerdict::default()
    };
    let same = merged([change("ls"), change("ls")]);
    assert_eq!(same.input, Some((json!({"command": "ls"}), origin(1))));
    assert_eq!(
        (same.decision, same.contexts),
        (MergedHookDecision::Nothing, vec!["ls".into(), "ls".into()])
    );
    let MergedHookDecision::Block(message) = merged([change("ls"), change("rm")]).decision else {
        panic!("it passed")
    };
    assert!(message.text.contains("different ways") && message.origin == origin(2), "{message:?}");
}

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
    assert!(message.text.contains("guard.sh has changed since slug began"), "{}", message.text);
    assert_eq!(runner.0.lock().unwrap().len(), 1);
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
    assert!(read().contains("is a link that leads nowhere"), "{}", read());
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
