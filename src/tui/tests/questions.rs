//! Tests of the guard of every question, one case for each kind: keys typed before the question
//! could be read answer nothing, and Enter never approves anything that runs.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::agent::{AgentCommand, AgentEvent, RuleReply};
use crate::config::KeyPreset;
use crate::domain::{
    ApprovalAnswer, ApprovalKind, ApprovalRequest, CallDanger, FileDiff, RuleKind, RuleSource,
};
use crate::hooks::{HookAction, HookEvent, HookId, HookOrigin, HookRow};
use crate::permissions::RuleListReport;
use crate::services::hook_admin::{HookAdminRequest, HookAdminResponse};
use crate::session::RewindScope;
use crate::tui::app::attention::TerminalFocus;
use crate::tui::app::keymap::KeyPlace;
use crate::tui::app::msg::JobControl;
use crate::tui::app::{ScreenEffect, ScreenMsg, update};
use crate::tui::dialogs::OpenDialog;
use crate::tui::test_screen::{AGENT, TURN, TestScreen, key_named, question, questions, screen};

/// A question: how it is opened, the key that says yes, and keys that must never say yes.
struct QuestionCase {
    name: &'static str,
    ask: fn() -> TestScreen,
    yes: &'static str,
    never: &'static [&'static str],
}

const NEVER: &[&str] = &["enter", "tab", "ctrl+y"];
/// For what can be taken back: Enter takes the marked yes.
const NEVER_UNMARKED: &[&str] = &["tab", "ctrl+y"];

const KINDS: [QuestionCase; 10] = [
    QuestionCase {
        name: "a command",
        ask: || asked(ApprovalKind::Permission),
        yes: "y",
        never: NEVER,
    },
    QuestionCase {
        name: "outside the sandbox",
        ask: || asked(ApprovalKind::SandboxInForce),
        yes: "y",
        never: NEVER,
    },
    QuestionCase {
        name: "the same call again",
        ask: || asked(ApprovalKind::RepeatedCall),
        yes: "y",
        never: NEVER_UNMARKED,
    },
    QuestionCase { name: "a budget", ask: || asked(ApprovalKind::Budget), yes: "s", never: NEVER },
    QuestionCase {
        name: "the model's own",
        ask: || screen(80, 24).event(questions(1)),
        yes: "1",
        never: &["tab", "ctrl+y"],
    },
    QuestionCase { name: "an edit", ask: edit, yes: "y", never: NEVER_UNMARKED },
    // A rewind can be undone, so Enter may say yes if no file is outside of the workspace.
    QuestionCase { name: "the rewind dialog", ask: rewind, yes: "y", never: &["tab"] },
    QuestionCase { name: "hooks that have changed", ask: hooks, yes: "y", never: NEVER },
    QuestionCase { name: "trying a hook", ask: hook, yes: "enter", never: &["y", "space"] },
    QuestionCase { name: "removing a rule", ask: removal, yes: "d", never: &["tab", "y"] },
];

fn asked(matter: ApprovalKind) -> TestScreen {
    let AgentEvent::ApprovalAsked(request) = question(1, "rm -rf build/") else { unreachable!() };
    let dangers = vec![CallDanger::DeletesFiles];
    let request = ApprovalRequest { kind: matter, dangers, ..*request };
    start().event(AgentEvent::ApprovalAsked(Box::new(request)))
}

fn edit() -> TestScreen {
    let AgentEvent::ApprovalAsked(request) = question(1, "x") else { unreachable!() };
    let request = ApprovalRequest {
        tool: "Edit".into(),
        input: serde_json::json!({"file_path": "/home/me/src/webshop/a.rs"}),
        preview: Some(FileDiff::between("/home/me/src/webshop/a.rs", "one\n", "two\n")),
        ..*request
    };
    start().event(AgentEvent::ApprovalAsked(Box::new(request)))
}

fn start() -> TestScreen {
    screen(80, 24).event(AgentEvent::TurnStarted { turn: TURN })
}

fn rewind() -> TestScreen {
    super::rewind::planned(80, 24)
}

fn row() -> HookRow {
    HookRow {
        id: HookId(crate::domain::ContentHash::of(b"h")),
        event: HookEvent::Stop,
        filter: String::new(),
        action: HookAction::Command { line: "make".into(), limit: Duration::from_secs(30) },
        origin: HookOrigin {
            file: "/home/me/src/webshop/.slug/settings.json".into(),
            line: Some(1),
        },
        is_on: true,
        last: None,
    }
}

fn hook_list(answer: HookAdminResponse) -> TestScreen {
    let scene = screen(80, 24).types("/hooks").key("enter");
    let id = scene.effects.iter().rev().find_map(|effect| match effect {
        ScreenEffect::Hooks { id, .. } => Some(*id),
        _ => None,
    });
    scene.msg(ScreenMsg::Hooks { id: id.unwrap(), answer: Ok(answer) })
}

fn hooks() -> TestScreen {
    let news = "  + on Stop runs curl x.example\n".into();
    hook_list(HookAdminResponse::Changed { rows: vec![row()], news }).key("enter")
}

fn hook() -> TestScreen {
    hook_list(HookAdminResponse::Listed(vec![row()])).key("enter").key_at_once("down")
}

fn removal() -> TestScreen {
    let rule = RuleSource {
        rule: "Bash(git push *)".into(),
        kind: RuleKind::Deny,
        file: Some("/home/me/.slug/settings.json".into()),
        line: Some(3),
    };
    let list = RuleListReport { rules: vec![rule], warnings: Vec::new() };
    let news = RuleReply::Listed { list, files: Vec::new(), failed: None };
    let scene = screen(80, 24).types("/permissions").key("enter");
    scene.event(AgentEvent::Rules(Box::new(news))).key("d")
}

/// Whether something was approved since the last check.
fn agreed(scene: &TestScreen) -> bool {
    scene.effects.iter().any(|effect| match effect {
        ScreenEffect::Agent(
            AGENT,
            AgentCommand::Answer { answer: ApprovalAnswer::Deny { .. }, .. },
        ) => false,
        ScreenEffect::Agent(
            AGENT,
            AgentCommand::Answer { .. }
            | AgentCommand::AnswerQuestions { .. }
            | AgentCommand::Rewind { .. }
            | AgentCommand::Rules(_),
        ) => true,
        ScreenEffect::Hooks { job, .. } => {
            matches!(job, HookAdminRequest::Trust | HookAdminRequest::Try(_))
        }
        _ => false,
    })
}

/// Sends a message without drawing or letting time pass.
fn raw(mut scene: TestScreen, msg: ScreenMsg) -> TestScreen {
    let effects = update(&mut scene.model, msg);
    scene.effects.extend(effects);
    scene
}

fn press(name: &str) -> ScreenMsg {
    ScreenMsg::Key(key_named(name))
}

#[test]
fn every_kind_is_answered_once_it_was_on_screen_for_a_while() {
    for kind in &KINDS {
        let scene = (kind.ask)().clear_effects().after(300).key_at_once(kind.yes);
        assert!(agreed(&scene), "{}\n{}", kind.name, scene.text());
    }
}

#[test]
fn no_kind_is_answered_by_a_key_that_comes_too_early() {
    for kind in &KINDS {
        let scene = (kind.ask)().clear_effects().after(299).key_at_once(kind.yes);
        assert!(!agreed(&scene), "{}", kind.name);
        // The user types on: each key restarts the wait.
        let scene =
            scene.after(200).key_at_once(kind.yes).after(200).key_at_once(kind.yes).after(200);
        let scene = scene.msg(ScreenMsg::Paste("y".into())).after(200).key_at_once(kind.yes);
        assert!(!agreed(&scene), "{}", kind.name);
    }
}

#[test]
fn no_kind_is_answered_before_it_was_painted() {
    for kind in &KINDS {
        let scene = raw((kind.ask)().clear_effects().after(400), ScreenMsg::ScreenLost);
        // No frame is painted, however long that takes.
        let scene = raw(scene, ScreenMsg::Tick(Duration::from_secs(1_000)));
        let scene =
            raw(raw(scene, ScreenMsg::InputIdle(Duration::from_secs(1_000))), press(kind.yes));
        assert!(!agreed(&scene), "{}", kind.name);
        // The frame that the terminal took was made before the question came.
        let scene = raw(scene, ScreenMsg::Painted(Duration::from_secs(1_001)));
        let scene =
            raw(raw(scene, ScreenMsg::InputIdle(Duration::from_secs(1_002))), press(kind.yes));
        assert!(!agreed(&scene), "{}", kind.name);
    }
}

#[test]
fn no_kind_is_answered_by_a_key_that_waited_while_slug_was_busy() {
    for kind in &KINDS {
        let scene = (kind.ask)().clear_effects();
        let scene = raw(scene, ScreenMsg::Tick(Duration::from_secs(1_000)));
        assert!(!agreed(&raw(scene, press(kind.yes))), "{}", kind.name);
    }
}

#[test]
fn no_kind_is_answered_by_what_was_typed_elsewhere() {
    let elsewhere = [
        ScreenMsg::ScreenLost,
        ScreenMsg::JobControl(JobControl::Continued),
        ScreenMsg::FocusChanged(TerminalFocus::Focused),
    ];
    for kind in &KINDS {
        for msg in &elsewhere {
            let scene =
                (kind.ask)().after(5_000).clear_effects().msg(msg.clone()).key_at_once(kind.yes);
            assert!(!agreed(&scene), "{}, {msg:?}", kind.name);
            assert!(agreed(&scene.after(300).key_at_once(kind.yes)), "{}, {msg:?}", kind.name);
        }
    }
}

#[test]
fn enter_and_other_keys_of_a_hand_that_does_not_read_never_agree() {
    for kind in &KINDS {
        for key in kind.never {
            let scene = (kind.ask)().clear_effects().key(key).key(key);
            assert!(!agreed(&scene), "{}, {key}", kind.name);
        }
    }
}

#[test]
fn enter_approves_no_danger_whatever_it_is_bound_to() {
    for own in ["once = \"enter\"", "session = \"enter\""] {
        let own = format!("[approval]\naccept = []\n{own}\n");
        let scene = screen(80, 24).keys(KeyPreset::Default, &own);
        let AgentEvent::ApprovalAsked(mut request) = question(1, "rm a") else { unreachable!() };
        request.dangers = vec![CallDanger::DeletesFiles];
        let event = AgentEvent::ApprovalAsked(request);
        let scene = scene.event(event).clear_effects().key("enter");
        assert!(!agreed(&scene), "{own}");
    }
}

#[test]
fn escape_is_a_no_at_once() {
    let scene = asked(ApprovalKind::Permission).clear_effects().key_at_once("esc");
    assert!(!agreed(&scene) && scene.model.dialogs.is_empty());
    assert!(matches!(scene.effects.back(), Some(ScreenEffect::CancelTurn(AGENT))));
    for ask in [rewind as fn() -> TestScreen, hooks] {
        let scene = ask().clear_effects().key_at_once("esc");
        assert!(!agreed(&scene) && scene.model.dialogs.is_empty());
    }
}

#[test]
fn text_that_was_typed_ahead_stands_in_the_input() {
    let scene = start().types("why does it ").event(question(1, "ls")).clear_effects();
    let scene = "fail y".chars().fold(scene, |scene, c| {
        raw(scene, ScreenMsg::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)))
    });
    assert!(!agreed(&scene));
    assert_eq!(scene.model.conversation.composer.expanded(), "why does it fail y");
}

#[test]
fn text_that_was_typed_at_the_shell_stands_nowhere() {
    let scene =
        asked(ApprovalKind::Permission).after(500).clear_effects().msg(ScreenMsg::ScreenLost);
    let scene = scene.key_at_once("y").key_at_once("enter").msg(ScreenMsg::Paste("y".into()));
    let scene = scene.key_at_once("n").key_at_once("x");
    assert!(!agreed(&scene) && scene.model.conversation.composer.is_empty());
}

/// Keys that arrive together, in the order of a text; `\n` is Enter.
fn burst(scene: TestScreen, text: &str) -> TestScreen {
    let scene = text.chars().fold(scene.after(500), |scene, c| {
        let code = if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) };
        raw(scene, ScreenMsg::Key(KeyEvent::new(code, KeyModifiers::NONE)))
    });
    scene.after(1)
}

#[test]
fn a_text_in_one_piece_answers_nothing_whatever_it_begins_with() {
    for kind in &KINDS {
        for rest in ["es please\n", "\n", " "] {
            let scene = (kind.ask)().clear_effects();
            if scene.model.dialogs.top().is_some_and(|it| it.place() == KeyPlace::List) {
                continue; // A list with a filter: text is text there.
            }
            let scene = burst(scene, &format!("{}{rest}", kind.yes));
            assert!(!agreed(&scene), "{}, {rest:?}\n{}", kind.name, scene.text());
        }
    }
}

#[test]
fn a_text_in_one_piece_goes_into_the_input_and_what_it_says_is_done() {
    for text in ["stop that", "y or n?", "Yes to all", "\nnow"] {
        let scene = burst(asked(ApprovalKind::Permission).clear_effects(), text);
        assert!(!agreed(&scene), "{text}");
        assert_eq!(scene.model.conversation.composer.expanded(), text.trim_start(), "{text}");
    }
    let scene = burst(asked(ApprovalKind::Permission).clear_effects(), "/mode\n");
    assert!(!agreed(&scene), "{}", scene.text());
    assert_eq!(scene.model.dialogs.len(), 2, "{}", scene.text());
}

#[test]
fn a_letter_that_answers_nothing_begins_a_text() {
    let scene = asked(ApprovalKind::Permission).clear_effects().key("/").key_at_once("s");
    assert!(!agreed(&scene));
    // A hand that pauses for a word is still typing.
    let scene = scene.after(999).key_at_once("y");
    assert!(!agreed(&scene));
    assert_eq!(scene.model.conversation.composer.expanded(), "/sy");
    let scene = scene.after(999);
    assert!(!scene.model.dialogs.takes_answers());
    let scene = scene.after(1).key_at_once("backspace").after(1_000).shows("❯ /s");
    assert!(agreed(&scene.key_at_once("y")));
}

#[test]
fn while_text_stands_below_a_question_enter_sends_it_and_answers_nothing() {
    for ask in [edit, || asked(ApprovalKind::Permission)] {
        let typed = || ask().clear_effects().types("use le").after(5_000);
        let scene = typed().shows("enter queue your text").key_at_once("enter");
        assert!(!agreed(&scene), "{}", scene.text());
        assert_eq!(scene.model.dialogs.len(), 1, "the question stays");
        assert!(!scene.model.conversation.queue.items().is_empty(), "{}", scene.text());
        // With an empty input Enter is an answer again, once the guard is armed.
        let scene = scene.hides("enter queue").after(5_000).shows("enter select");
        assert!(scene.model.conversation.composer.is_empty());

        for (key, left) in
            [("ctrl+c", ""), ("ctrl+u", ""), ("ctrl+w", "use "), ("backspace", "use l")]
        {
            let scene = typed().key_at_once(key);
            assert!(!agreed(&scene) && scene.model.dialogs.len() == 1, "{key}: {}", scene.text());
            assert_eq!(scene.model.conversation.composer.expanded(), left, "{key}");
        }
    }
}

#[test]
fn a_key_that_repeats_is_no_text() {
    let scene = burst(asked(ApprovalKind::Permission).clear_effects(), "y");
    assert!(agreed(&scene));
    let scene = burst(edit().clear_effects(), "]]]");
    assert!(scene.model.conversation.composer.is_empty() && scene.model.dialogs.takes_answers());
}

#[test]
fn escape_ends_a_text_and_is_a_no() {
    let scene = raw(asked(ApprovalKind::Permission).after(500).clear_effects(), press("y"));
    let scene = raw(scene, press("esc")).after(1);
    assert!(!agreed(&scene) && scene.model.dialogs.is_empty());
}

#[test]
fn a_question_below_another_overlay_takes_nothing() {
    let scene = rewind()
        .after(500)
        .event(question(1, "ls"))
        .clear_effects()
        .key_at_once("y")
        .key_at_once("f");
    assert!(
        !scene
            .effects
            .iter()
            .any(|it| matches!(it, ScreenEffect::Agent(AGENT, AgentCommand::Rewind { .. })))
    );
    // Once the upper question is answered, the lower one has to be read again.
    let scene = scene.key("n").clear_effects().key_at_once("y");
    assert!(!agreed(&scene));
    let scene = scene.after(300).key_at_once("y");
    assert!(matches!(
        scene.effects.back(),
        Some(ScreenEffect::Agent(AGENT, AgentCommand::Rewind { what: RewindScope::Both, .. }))
    ));
}

#[test]
fn a_diff_that_is_longer_than_the_screen_is_approved_once_its_end_was_seen() {
    let (old, new): (String, String) = (String::new(), (0..90).map(|n| format!("{n}\n")).collect());
    for tool in ["Write", "Edit"] {
        let AgentEvent::ApprovalAsked(request) = question(1, "x") else { unreachable!() };
        let request = ApprovalRequest {
            tool: tool.into(),
            input: serde_json::json!({"file_path": "/home/me/src/webshop/a.rs"}),
            preview: Some(FileDiff::between("/home/me/src/webshop/a.rs", &old, &new)),
            ..*request
        };
        let scene =
            screen(80, 24).event(AgentEvent::ApprovalAsked(Box::new(request))).clear_effects();
        let mut scene = scene.shows("Scroll to the end to approve");
        for key in ["y", "s", "a", "pgdn", "y"] {
            scene = scene.key(key);
            assert!(!agreed(&scene), "{tool} {key}");
        }
        assert!(agreed(&scene.key("end").key("y")), "{tool}");
    }
}

#[test]
fn arguments_that_are_longer_than_the_screen_are_seen_to_their_end() {
    let AgentEvent::ApprovalAsked(request) = question(1, "x") else { unreachable!() };
    let text: String = (0..90).map(|n| format!("{n}\n")).collect();
    let input = serde_json::json!({ "text": text });
    let request = ApprovalRequest { tool: "Other".into(), input, ..*request };
    let scene = screen(80, 24).event(AgentEvent::ApprovalAsked(Box::new(request))).clear_effects();
    let scene = scene.key("y");
    assert!(!agreed(&scene));
    assert!(agreed(&scene.key("end").key("y")));
}

#[test]
fn a_line_that_was_typed_before_the_question_was_printed_is_no_answer() {
    for (ask, line) in [
        ((|| asked(ApprovalKind::Permission)) as fn() -> TestScreen, "y"),
        (rewind, "1"),
        (hooks, "y"),
        (hook, "2"),
    ] {
        let scene = raw(ask().clear_effects(), ScreenMsg::Line(line.into()));
        assert!(!agreed(&scene), "{line}");
        let toast = scene.model.shared.toast.as_ref().map(|toast| toast.text.clone());
        assert!(toast.unwrap().contains("before the question was shown"));
        let scene = raw(scene.after(300), ScreenMsg::Line(line.into()));
        assert!(agreed(&scene), "{line}");
    }
}

#[test]
fn a_guarded_list_is_only_one_that_runs_or_changes_something() {
    let guarded =
        |scene: &TestScreen| scene.model.dialogs.top().is_some_and(|it| it.guard().is_some());
    assert!(guarded(&hook()));
    let plain = screen(80, 24).types("/mode").key("enter");
    assert!(matches!(plain.model.dialogs.top(), Some(OpenDialog::Picker(_))) && !guarded(&plain));
}

#[test]
fn a_question_says_that_a_command_would_go_on_in_the_background() {
    let AgentEvent::ApprovalAsked(request) = question(1, "npm run dev") else { unreachable!() };
    let input = serde_json::json!({"command": "npm run dev", "run_in_background": true});
    let request = ApprovalRequest { input, ..*request };
    start()
        .event(AgentEvent::ApprovalAsked(Box::new(request)))
        .shows("Run this command in the background?");
}
