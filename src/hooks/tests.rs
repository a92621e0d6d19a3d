//! The two forms of hooks as they are read, what each end of a command means, and how the verdicts
//! of several hooks are merged.

mod hook_set;

use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::merge::{HookMessage, MergedHookDecision, MergedHookVerdict};
use super::run::outcome;
use super::verdict::MAX_TEXT_CHARS;
use super::*;

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
            "`tool_filter` must be text",
        ),
        (
            r#"{"hooks":[{"event":"PreToolUze","action":{"type":"command","command":"x"}}]}"#,
            vec![guard(1, "PreToolUse", "")],
            "there is no event `PreToolUze`: write `PreToolUse`",
        ),
        (r#"{"hooks":[{"event":"Lunch"}]}"#, vec![], "there is no event `Lunch`; the events are"),
        (
            r#"{"hooks":[{"on":"user_prompt_submit"}]}"#,
            vec![guard(1, "UserPromptSubmit", "")],
            "a hook without `event`",
        ),
        (
            "{\"hooks\":\n{\"PreToolUse\":{\"matcher\":\"Bash\"}}}",
            vec![guard(2, "PreToolUse", "")],
            "`PreToolUse` is not a list",
        ),
        (
            r#"{"hooks":{"PreToolUse":[{"matcher":"Ba(sh","hooks":[]}]}}"#,
            vec![guard(1, "PreToolUse", "")],
            "`Ba(sh` is not a valid regular expression",
        ),
        (
            r#"{"hooks":{"PreToolUse":[{"matcher":"Edit","command":"x"}]}}"#,
            vec![guard(1, "PreToolUse", "Edit")],
            "an entry without `hooks`",
        ),
        (
            r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"prompt","prompt":"safe?"}]}]}}"#,
            vec![guard(1, "PreToolUse", "")],
            "slug does not ask a model about a hook",
        ),
        (
            r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"x","timeout":0}]}]}}"#,
            vec![guard(1, "PreToolUse", "")],
            "`timeout` must be a number of seconds",
        ),
        (
            "{\"hooks\":[{\"event\":\"PreToolUse\",\n]}",
            vec![guard(2, "PreToolUse", "")],
            "its hooks cannot run",
        ),
        (
            "{\"hooks\":[{\"event\":\"PreToolUse\"}],\n\"hooks\":[]}",
            vec![guard(2, "PreToolUse", "")],
            "`hooks` is here twice",
        ),
        (
            "{\"Hooks\":[\n{\"event\":\"PreToolUse\"}]}",
            vec![guard(2, "PreToolUse", "")],
            "there is no key `Hooks`: write `hooks`",
        ),
        ("{\"hooks\":[{\"event\":\"Stop\",\n]}", vec![], "not valid JSON"),
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
            "`PreToolUse` is outside `hooks`",
        ),
        (
            r#"{"user_prompt_submit":null}"#,
            vec![guard(1, "UserPromptSubmit", "")],
            "is outside `hooks`",
        ),
        (r#"{"PreToolUze":[]}"#, vec![guard(1, "PreToolUse", "")], "is outside `hooks`"),
        (r#"{"Stop":[]}"#, vec![guard(1, "Stop", "")], "is outside `hooks`"),
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
        (PreToolUse, Matcher, Code(126), "", "denied", "blocked: It cannot run: denied"),
        (PreToolUse, Matcher, Code(127), "", "not found", "blocked: It cannot run: not found"),
        (PreToolUse, Matcher, Signal(9), "", "", "blocked: It was killed by signal 9."),
        (
            PreToolUse,
            Matcher,
            late(),
            "",
            "",
            "blocked: It took longer than 30 seconds and was stopped.",
        ),
        (PreToolUse, Matcher, gone(), "", "", "blocked: No such folder."),
        (PreToolUse, Matcher, HookExit::Cancelled, "{", "", "passed"),
        (
            PostToolUse,
            Matcher,
            late(),
            "",
            "",
            "failed: It took longer than 30 seconds and was stopped.",
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
            assert!(word.starts_with("blocked: Its output"), "{output}: {word}");
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
