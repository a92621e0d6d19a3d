//! Tests of the approval dialog.

use crate::agent::{AgentCommand, AgentEvent};
use crate::domain::{ApprovalAnswer, ApprovalId, ApprovalKind, ApprovalRequest, FileDiff};
use crate::tui::app::ScreenEffect;
use crate::tui::test_screen::{AGENT, TURN, TestScreen, question, screen};

const COMMAND: &str = "git status && rm -rf build/";

fn asked() -> TestScreen {
    screen(80, 24)
        .event(AgentEvent::TurnStarted { turn: TURN })
        .event(question(1, COMMAND))
        .clear_effects()
}

fn answered(answer: ApprovalAnswer) -> [ScreenEffect; 1] {
    [ScreenEffect::Agent(AGENT, AgentCommand::Answer { id: ApprovalId(1), answer })]
}

fn rules() -> Vec<String> {
    vec!["Bash(rm -rf build/)".into()]
}

#[test]
fn each_key_is_its_answer() {
    let rows = [
        ("y", ApprovalAnswer::Once),
        ("s", ApprovalAnswer::Session { rules: rules() }),
        ("a", ApprovalAnswer::Always { rules: rules() }),
        ("n", ApprovalAnswer::Deny { instruction: None }),
        ("esc", ApprovalAnswer::Deny { instruction: None }),
        ("d", ApprovalAnswer::Never { rule: "Bash(rm *)".into() }),
    ];
    for (key, answer) in rows {
        asked().key(key).expect_effects(&answered(answer)).hides("rm -rf");
    }
}

#[test]
fn s78_a_question_shows_what_would_run_and_not_what_the_model_calls_it() {
    let AgentEvent::ApprovalAsked(mut request) = question(1, "rm -rf build/") else { panic!() };
    request.input["description"] = "list the files".into();
    screen(80, 24)
        .event(AgentEvent::TurnStarted { turn: TURN })
        .event(AgentEvent::ApprovalAsked(request))
        .clear_effects()
        .shows("rm -rf build/")
        .hides("list the files");
}

#[test]
fn a_typing_hand_never_answers() {
    let scene =
        asked().key_at_once("y").after(200).key_at_once("y").expect_effects(&[]).shows("❯ yy");
    scene.key("y").expect_effects(&answered(ApprovalAnswer::Once)).shows("❯ yy");
}

#[test]
fn the_next_question_waits_for_a_quiet_hand_too() {
    let scene = asked().event(question(2, "make")).shows("1 of 2").key("y").key_at_once("y");
    let scene = scene.expect_effects(&answered(ApprovalAnswer::Once)).hides("1 of 2").shows("make");
    assert!(scene.model.conversation.composer.is_empty());
    scene.key("n").expect_effects(&[ScreenEffect::Agent(
        AGENT,
        AgentCommand::Answer {
            id: ApprovalId(2),
            answer: ApprovalAnswer::Deny { instruction: None },
        },
    )]);
}

#[test]
fn the_rule_can_be_edited() {
    let scene = asked().key("tab").shows("The rule that allows it");
    let scene = scene.key("ctrl+u").types("Bash(rm build/*)").key("enter").expect_effects(&[]);
    let rules = vec!["Bash(rm build/*)".to_owned()];
    scene
        .shows("Bash(rm build/*)")
        .key("a")
        .expect_effects(&answered(ApprovalAnswer::Always { rules }));
}

#[test]
fn the_command_can_be_edited() {
    let input = serde_json::json!({"command": "git status"});
    asked()
        .key("e")
        .key("ctrl+u")
        .types("git status")
        .key("enter")
        .expect_effects(&answered(ApprovalAnswer::Edited { input }));
}

#[test]
fn a_no_can_say_what_to_do_instead() {
    let scene = asked().key("t").types("use make clean").key("enter");
    scene.expect_effects(&answered(ApprovalAnswer::Deny {
        instruction: Some("use make clean".into()),
    }));
    asked().key("t").types("x").key("esc").expect_effects(&[]).shows("yes, once");
}

#[test]
fn a_long_command_is_seen_to_its_end_before_it_can_run() {
    let command: String = (0..60).map(|line| format!("echo {line}\n")).collect();
    let scene = screen(80, 24).event(question(1, &command)).clear_effects();
    scene
        .key("y")
        .expect_effects(&[])
        .shows("then it can be approved")
        .key("end")
        .key("y")
        .expect_effects(&answered(ApprovalAnswer::Once));
}

#[test]
fn without_rules_there_is_no_always() {
    let AgentEvent::ApprovalAsked(request) = question(1, "x") else { unreachable!() };
    let request = ApprovalRequest { allow_rules: Vec::new(), deny_rule: None, ..*request };
    let scene = screen(80, 24).event(AgentEvent::ApprovalAsked(Box::new(request))).clear_effects();
    scene.hides("always").key("a").key("s").key("d").key("tab").expect_effects(&[]);
}

#[test]
fn a_withdrawn_question_goes() {
    asked().shows("rm -rf").event(AgentEvent::ApprovalWithdrawn(ApprovalId(1))).hides("rm -rf");
}

#[test]
fn hidden_characters_are_shown() {
    screen(80, 24).event(question(1, "rm \u{202e}sj.bil\x1b[1A")).shows("rm ‹U+202E›sj.bil␛[1A");
}

#[test]
fn an_edit_shows_what_it_changes() {
    let AgentEvent::ApprovalAsked(request) = question(1, "x") else { unreachable!() };
    let path = "/home/me/src/webshop/src/cart.rs";
    let request = ApprovalRequest {
        tool: "Edit".into(),
        input: serde_json::json!({"file_path": path}),
        parts: Vec::new(),
        preview: Some(FileDiff::between(path, "fn a() {}\nold();\n", "fn a() {}\nnew();\n")),
        ..*request
    };
    let scene = screen(80, 24).event(AgentEvent::ApprovalAsked(Box::new(request)));
    insta::assert_snapshot!(scene.after(400).text());
}

/// An edit of one line in this file.
fn edit_of(path: &str, count: usize) -> AgentEvent {
    let AgentEvent::ApprovalAsked(request) = question(1, "x") else { unreachable!() };
    AgentEvent::ApprovalAsked(Box::new(ApprovalRequest {
        tool: "Write".into(),
        input: serde_json::json!({"file_path": path}),
        parts: Vec::new(),
        allow_rules: vec![format!("Edit({path})")],
        deny_rule: Some(format!("Edit({path})")),
        preview: Some(FileDiff::between(path, "", &"on: push\n".repeat(count))),
        ..*request
    }))
}

const DEEP: &str = "/home/me/src/webshop/services/payments-gateway/src/main/java/com/example/\
                    payments/gateway/client/.github/workflows/deploy.yml";

#[test]
fn all_of_a_long_path_is_shown_before_its_edit_can_be_approved() {
    let scene = screen(80, 24).event(edit_of(DEEP, 1)).clear_effects();
    insta::assert_snapshot!(scene.text());
    let shown: String = scene.text().split(['\n', '│', ' ', '"']).collect();
    assert!(shown.contains(DEEP.trim_start_matches("/home/me")), "{shown}");
    scene.key("y").expect_effects(&answered(ApprovalAnswer::Once));
}

#[test]
fn the_name_of_an_edited_file_stays_on_the_screen() {
    let scene = screen(80, 24).event(edit_of(DEEP, 100)).clear_effects();
    scene
        .key("y")
        .expect_effects(&[])
        .key("end")
        .shows("Write  deploy.yml")
        .shows("100 + on: push");
    let name = format!("{}.rs", "a name that has no end ".repeat(9));
    let scene =
        screen(80, 24).event(edit_of(&format!("/srv/{name}"), 100)).clear_effects().key("end");
    scene.shows("Write  a name").shows("no end .rs ");
}

#[test]
fn a_path_that_fills_the_screen_is_scrolled_through_first() {
    let path = format!("/srv/{}x.rs", "deep/".repeat(400));
    let scene = screen(80, 24).event(edit_of(&path, 1)).clear_effects();
    scene.key("y").expect_effects(&[]).shows("then it can be approved").shows("Write  x.rs");
}

#[test]
fn runs_of_spaces_in_a_path_are_visible() {
    let path = format!("/home/me/src/webshop/docs/my notes.md{}/conftest.py", " ".repeat(90));
    let scene = screen(80, 24).event(edit_of(&path, 1)).after(400);
    insta::assert_snapshot!(scene.text());
}

#[test]
fn rules_that_do_not_fit_end_with_a_mark() {
    for (width, height) in [(80, 24), (90, 24), (120, 40)] {
        let text = screen(width, height).event(edit_of(DEEP, 1)).after(400).text();
        let rows = |words: &str| text.lines().filter(|it| it.contains(words)).count();
        let cut =
            |words: &str| text.lines().filter(|it| it.contains(words) && it.contains('…')).count();
        for words in ["no, always for", "yes, always for"] {
            assert_eq!((rows(words), cut(words)), (1, 1), "{words}\n{text}");
        }
    }
}

#[test]
fn the_folder_of_a_command_is_shown_whole() {
    let AgentEvent::ApprovalAsked(mut request) = question(1, "make") else { unreachable!() };
    request.cwd = format!("/srv/{}/other", "a  long/".repeat(12)).into();
    let event = AgentEvent::ApprovalAsked(request);
    screen(80, 24).event(event).after(400).shows("a␠␠long").shows("/other");
}

#[test]
fn answers_are_clicked_as_their_keys_are_pressed() {
    for (text, answer) in [
        ("yes, once", ApprovalAnswer::Once),
        ("yes, for this session", ApprovalAnswer::Session { rules: rules() }),
        ("yes, always", ApprovalAnswer::Always { rules: rules() }),
        ("no, always", ApprovalAnswer::Never { rule: "Bash(rm *)".into() }),
    ] {
        asked().after(400).click(text).expect_effects(&answered(answer)).hides("rm -rf");
    }
    asked()
        .after(400)
        .click("edit the command")
        .expect_effects(&[])
        .shows("The command to run instead");
    asked().after(400).click("edits the rule").expect_effects(&[]).shows("The rule that allows it");
    asked().after(400).click("git status").expect_effects(&[]).shows("yes, once");
    let scene = screen(40, 12).event(question(1, "ls")).after(400).clear_effects();
    let scene = scene.click("this session").expect_effects(&[]).click("more below");
    scene
        .click("this session")
        .expect_effects(&answered(ApprovalAnswer::Session { rules: rules() }));
}

#[test]
fn a_click_that_comes_too_early_answers_nothing() {
    let scene = screen(80, 24).event(question(1, COMMAND)).click("yes, once").expect_effects(&[]);
    scene.after(400).click("yes, once").expect_effects(&answered(ApprovalAnswer::Once));
}

#[test]
fn a_click_on_the_box_of_a_change_leaves_it_out() {
    let AgentEvent::ApprovalAsked(request) = question(1, "x") else { unreachable!() };
    let between = "same\n".repeat(9);
    let (old, new) = (format!("a\n{between}b\n"), format!("A\n{between}B\n"));
    let preview = Some(FileDiff::between("/home/me/src/webshop/a", &old, &new));
    let input = serde_json::json!({"file_path": "a"});
    let request = ApprovalRequest { tool: "Edit".into(), input, preview, ..*request };
    let scene = screen(80, 30).event(AgentEvent::ApprovalAsked(Box::new(request))).after(400);
    let scene =
        scene.clear_effects().shows("all 2 changes").click("[x]   11").shows("yes, 1 of 2 changes");
    let scene = scene.click("[ ]").shows("all 2 changes").click("[x]    1").shows("[ ]    1");
    let Some(ScreenEffect::Agent(
        AGENT,
        AgentCommand::Answer { answer: ApprovalAnswer::Part { left_out }, .. },
    )) = scene.click("yes, 1 of 2").effects.pop_back()
    else {
        panic!("no part is taken")
    };
    assert!(left_out.has(0) && !left_out.has(1));
}

#[test]
fn the_dialog_at_80x24() {
    insta::assert_snapshot!(asked().event(question(2, "make")).after(400).text());
}

#[test]
fn the_dialog_at_120x40() {
    let scene = screen(120, 40).event(question(1, COMMAND)).event(question(2, "make"));
    insta::assert_snapshot!(scene.after(400).text());
}

#[test]
fn the_dialog_on_the_smallest_screen() {
    let scene = screen(40, 12).event(question(1, COMMAND)).after(400);
    insta::assert_snapshot!(scene.text());
}

/// The question about a command that failed in the sandbox.
fn outside() -> AgentEvent {
    let AgentEvent::ApprovalAsked(request) = question(1, "touch /srv/x && npm i") else {
        unreachable!()
    };
    AgentEvent::ApprovalAsked(Box::new(ApprovalRequest {
        kind: ApprovalKind::SandboxEscalation,
        reason: "It failed in the sandbox (bwrap around /home/me/src/webshop, no network): touch: \
                 cannot touch '/srv/x': Read-only file system. Outside the sandbox it can change \
                 what you can change, and reach what you can reach."
            .into(),
        parts: Vec::new(),
        allow_rules: Vec::new(),
        deny_rule: None,
        ..*request
    }))
}

#[test]
fn s118_a_command_is_asked_for_again_outside_the_sandbox() {
    for (width, height) in [(80, 24), (120, 40)] {
        let scene = screen(width, height).event(outside()).after(400);
        insta::assert_snapshot!(format!("outside_{width}x{height}"), scene.text());
    }
    screen(80, 24)
        .event(outside())
        .after(400)
        .key("y")
        .expect_effects(&answered(ApprovalAnswer::Once));
    let no = ApprovalAnswer::Deny { instruction: None };
    screen(80, 24).event(outside()).after(400).key("n").expect_effects(&answered(no));
}

/// The question about a call that led nowhere twice.
fn repeats() -> AgentEvent {
    let AgentEvent::ApprovalAsked(request) = question(1, "x") else { unreachable!() };
    AgentEvent::ApprovalAsked(Box::new(ApprovalRequest {
        tool: "Read".into(),
        input: serde_json::json!({"file_path": "src/cart.rs"}),
        kind: ApprovalKind::RepeatedCall,
        reason:
            "This exact call has had the same result 2 times in a row, and nothing has changed \
                 since."
                .into(),
        parts: Vec::new(),
        allow_rules: Vec::new(),
        deny_rule: None,
        ..*request
    }))
}

#[test]
fn a_call_that_leads_nowhere_goes_on_or_stops() {
    let scene = screen(80, 24).event(repeats()).clear_effects();
    insta::assert_snapshot!(scene.text());
    scene.key("y").expect_effects(&answered(ApprovalAnswer::Once));
}

#[test]
fn a_call_that_leads_nowhere_is_asked_about_on_small_screens() {
    screen(60, 15).event(repeats()).after(400).shows("go on").shows("stop the turn");
}

#[test]
fn s36_what_a_wide_rule_means_is_said_before_it_is_saved() {
    let scene = asked().hides("any code through").key("tab").key("ctrl+u");
    let scene = scene.types("Bash(npm *)").shows("any code through npm");
    scene.key("enter").shows("any code through npm").shows("yes, always for  Bash(npm *)");
}

#[test]
fn a_rule_is_shown_with_its_file_and_line() {
    asked().shows("allowed by Bash(git status)   ~/.slug/settings.json:3");
}
