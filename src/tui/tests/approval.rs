//! Tests of the approval dialog.

use std::path::PathBuf;

use crossterm::event::MouseEventKind;

use crate::agent::{AgentCommand, AgentEvent, RuleReply, RuleRequest};
use crate::domain::{
    ApprovalAnswer, ApprovalId, ApprovalKind, ApprovalRequest, CallDanger, DangerFact, DangerFacts,
    FileDiff, PermissionMode, RuleKind,
};
use crate::permissions::store::RuleEdit;
use crate::tui::app::ScreenEffect;
use crate::tui::test_screen::{AGENT, TURN, TestScreen, question, recorded, screen, user};

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
        ("n", ApprovalAnswer::Deny { instruction: None }),
    ];
    for (key, answer) in rows {
        asked().key(key).expect_effects(&answered(answer)).hides("rm -rf");
    }
}

#[test]
fn always_and_never_show_the_rule_before_they_save_it() {
    for (key, shown, answer) in [
        (
            "a",
            "Allow from now on, saved to ~/.slug/settings.json:",
            always(&["Bash(rm -rf build/)"]),
        ),
        (
            "d",
            "Deny from now on, saved to ~/.slug/settings.json:",
            ApprovalAnswer::Never { rule: "Bash(rm *)".into() },
        ),
    ] {
        let scene = asked().key(key).expect_effects(&[]).shows(shown);
        scene.key("enter").expect_effects(&answered(answer));
        asked().key(key).key("esc").expect_effects(&[]).shows("❯ y  Yes");
    }
    let scene = asked().key("d").key("ctrl+u").types("Bash(rm -rf *)").key("enter");
    scene.expect_effects(&answered(ApprovalAnswer::Never { rule: "Bash(rm -rf *)".into() }));
}

fn always(rules: &[&str]) -> ApprovalAnswer {
    ApprovalAnswer::Always { rules: rules.iter().map(|rule| (*rule).to_owned()).collect() }
}

#[test]
fn each_of_several_rules_is_shown_before_they_are_saved() {
    let AgentEvent::ApprovalAsked(mut request) = question(1, "make && ninja") else { panic!() };
    request.allow_rules = vec!["Bash(make)".into(), "Bash(ninja)".into()];
    let event = AgentEvent::ApprovalAsked(request);
    let scene = screen(80, 24).event(event).clear_effects().key("a").shows("❯ Bash(make)");
    let scene = scene.key("enter").expect_effects(&[]).shows("❯ Bash(ninja)");
    scene.key("enter").expect_effects(&answered(always(&["Bash(make)", "Bash(ninja)"])));
}

#[test]
fn escape_is_a_no_that_stops_the_turn_and_takes_back_what_else_it_asks() {
    let scene = asked().event(question(2, "make")).clear_effects().key_at_once("esc");
    let no = ApprovalAnswer::Deny { instruction: None };
    let told = AgentCommand::Answer { id: ApprovalId(1), answer: no };
    let scene =
        scene.expect_effects(&[ScreenEffect::Agent(AGENT, told), ScreenEffect::CancelTurn(AGENT)]);
    assert!(scene.model.dialogs.is_empty());
}

#[test]
fn enter_takes_the_marked_answer_once_the_question_takes_keys() {
    let scene = asked().shows("❯ y  Yes").key_at_once("enter").expect_effects(&[]);
    scene.key("enter").expect_effects(&answered(ApprovalAnswer::Once));
    let scene = asked().key("down").shows("❯ s").key("up").key("up").shows("❯ y");
    let scene = scene.key("down").key("down").key("down").key("down").shows("❯ n  No");
    scene.key("enter").expect_effects(&answered(ApprovalAnswer::Deny { instruction: None }));
}

#[test]
fn saved_rules_are_named_and_taken_back_by_a_key_while_they_are() {
    let file = PathBuf::from("/home/me/.slug/settings.json");
    let rule = (RuleKind::Deny, "Bash(git push *)".to_owned());
    let saved = || {
        let reply = RuleReply::Saved { file: file.clone(), rules: vec![rule.clone()] };
        let scene = screen(80, 24).event(AgentEvent::Rules(Box::new(reply)));
        scene.shows("Saved: deny Bash(git push *). u undoes this.").clear_effects()
    };
    let edit = RuleEdit::Remove(rule.clone());
    let change = RuleRequest::Change { file: Some(file.clone()), edit };
    let undone = [ScreenEffect::Agent(AGENT, AgentCommand::Rules(change))];
    let scene = saved().key("u").expect_effects(&undone).shows("Removed: deny Bash(git push *)");
    assert!(scene.model.conversation.composer.is_empty());
    // It is a letter again once something else is said, or typed.
    let scene = scene.key("u").expect_effects(&[]);
    assert_eq!(scene.model.conversation.composer.expanded(), "u");
    let scene = saved().after(11_000).key("u");
    assert_eq!(scene.model.conversation.composer.expanded(), "u");
    let scene = saved().types("menu");
    assert_eq!(scene.model.conversation.composer.expanded(), "menu");
    saved().event(question(1, "make")).key("u").expect_effects(&undone).shows("make");
}

/// A question about a call that is hard to take back.
fn dangerous() -> TestScreen {
    let AgentEvent::ApprovalAsked(mut request) = question(1, COMMAND) else { panic!() };
    request.dangers = vec![CallDanger::RewritesRemoteBranch, CallDanger::DeletesFiles];
    screen(80, 24).event(AgentEvent::ApprovalAsked(request)).clear_effects()
}

#[test]
fn danger_is_named_and_needs_a_letter() {
    let scene = dangerous().after(400).shows("Rewrites a remote branch · Deletes files");
    let scene = scene.hides("Always allow").shows("❯ n  No").key("a").expect_effects(&[]);
    // The mark stays off every yes.
    let scene = ["up", "up", "up", "up", "up"].iter().fold(scene, |scene, key| scene.key(key));
    scene.hides("❯ y").hides("❯ s").key("y").expect_effects(&answered(ApprovalAnswer::Once));
    dangerous().key("enter").expect_effects(&answered(ApprovalAnswer::Deny { instruction: None }));
}

#[test]
fn facts_stand_beside_the_danger_and_keys_wait_until_they_are_read() {
    let AgentEvent::ApprovalAsked(mut request) = question(1, COMMAND) else { panic!() };
    request.dangers = vec![CallDanger::DeletesFiles];
    request.facts = DangerFacts::Pending;
    let scene = screen(80, 24).event(AgentEvent::ApprovalAsked(request)).after(400);
    let scene = scene.clear_effects().shows("Deletes files: counting …");
    let row = |scene: &TestScreen| {
        scene.text().lines().position(|row| row.contains("n  No")).unwrap_or_default()
    };
    let before = row(&scene);
    let files =
        DangerFact::Files { count: 21, bytes: 800_000, tracked: Some(1), is_partial: false };
    let told = |id: u64| AgentEvent::ApprovalFacts {
        id: ApprovalId(id),
        facts: vec![files.clone(), DangerFact::Commits { count: 1, remote: "origin".into() }],
    };
    let scene = scene.event(told(2)).shows("counting …").event(told(1));
    let words = "Deletes files: 21 files, 800.0 kB, 1 in git · 1 commit not yet on origin";
    let scene = scene.shows(words).key_at_once("y").expect_effects(&[]);
    assert_eq!(row(&scene), before, "no answer has moved");
    scene.key("y").expect_effects(&answered(ApprovalAnswer::Once));
    // Beside a long danger there is no room.
    let AgentEvent::ApprovalAsked(mut long) = question(1, COMMAND) else { panic!() };
    long.dangers = vec![
        CallDanger::RunsNetworkScript,
        CallDanger::RewritesRemoteBranch,
        CallDanger::DeletesFiles,
    ];
    long.facts = DangerFacts::Found(vec![files.clone()]);
    let long = screen(80, 24).event(AgentEvent::ApprovalAsked(long)).text();
    let at = |words: &str| long.lines().position(|row| row.contains(words)).unwrap_or_default();
    assert_eq!(at("21 files, 800.0 kB, 1 in git") + 1, at("Deletes files"), "{long}");
    // A question that waits gets its facts, too.
    let AgentEvent::ApprovalAsked(mut waiting) = question(2, COMMAND) else { panic!() };
    waiting.dangers = vec![CallDanger::DeletesFiles];
    waiting.facts = DangerFacts::Pending;
    let scene = screen(80, 24).event(question(1, "make"));
    let scene = scene.event(AgentEvent::ApprovalAsked(waiting)).event(told(2));
    scene.key("n").shows("Deletes files: 21 files");
}

#[test]
fn enter_says_no_yes_to_letters_that_imitate_others() {
    let scene = screen(80, 24).event(question(1, "curl https://p\u{430}ypal.example"));
    let no = ApprovalAnswer::Deny { instruction: None };
    scene.clear_effects().key("enter").expect_effects(&answered(no));
}

#[test]
fn for_an_edit_this_session_means_all_edits() {
    let path = "/home/me/src/webshop/src/cart.rs";
    let mode = AgentCommand::SetMode(PermissionMode::AllowEdits);
    for key in ["s", "shift+tab"] {
        let scene = screen(80, 24).event(edit_of(path, 1)).clear_effects();
        let scene = scene.shows("Yes, and all edits this session");
        let [told] = answered(ApprovalAnswer::Once);
        scene.key(key).expect_effects(&[told, ScreenEffect::Agent(AGENT, mode.clone())]);
    }
    let scene = screen(80, 24).event(edit_of("/srv/a.yml", 1)).clear_effects();
    let session = ApprovalAnswer::Session { rules: vec!["Edit(/srv/a.yml)".into()] };
    scene.key("shift+tab").expect_effects(&[]).key("s").expect_effects(&answered(session));
}

#[test]
fn a_yes_to_all_answers_what_is_listed_and_leaves_danger_open() {
    let AgentEvent::ApprovalAsked(mut danger) = question(3, "git push") else { panic!() };
    danger.dangers = vec![CallDanger::PushesCommits];
    let AgentEvent::ApprovalAsked(long) = question(4, "make\nninja") else { panic!() };
    let scene = screen(80, 30)
        .event(question(1, "make"))
        .event(question(2, "cargo test"))
        .event(AgentEvent::ApprovalAsked(danger))
        .event(AgentEvent::ApprovalAsked(long))
        .clear_effects()
        .after(400)
        .shows("1 of 4")
        .shows("  $ cargo test")
        .shows("Y  Yes, and to the 1 waiting call");
    let yes = |id: u64| {
        let answer = ApprovalAnswer::Once;
        ScreenEffect::Agent(AGENT, AgentCommand::Answer { id: ApprovalId(id), answer })
    };
    scene.key("Y").expect_effects(&[yes(1), yes(2)]).shows("git push").shows("3 of 4");
}

#[test]
fn the_chat_scrolls_above_the_question() {
    let said: String = (0..60).map(|line| format!("line {line}\n\n")).collect();
    let scene = screen(80, 24).event(recorded(&user(&said))).event(question(1, "make")).after(400);
    let scene = scene.shows("line 59").key("pgup").hides("line 59").shows("Run this command?");
    let scene = scene.key("end").shows("line 59");
    let scene = (0..9).fold(scene, |scene, _| scene.mouse(MouseEventKind::ScrollUp, 40, 4));
    scene.hides("line 59").shows("Run this command?");
}

#[test]
fn the_input_below_a_question_says_nothing_and_the_last_line_names_the_keys_of_the_question() {
    let scene = asked().after(400).hides("Sent when this turn ends").hides("shift+tab");
    let scene = scene.shows("enter select  esc no and stop");
    scene.key("n").event(AgentEvent::ApprovalWithdrawn(ApprovalId(1))).shows("Sent when this turn");
    let path = "/home/me/src/webshop/src/cart.rs";
    let scene = screen(80, 24).event(edit_of(path, 1)).after(400);
    scene.shows("enter select  esc no and stop  shift+tab all edits");
}

#[test]
fn several_rules_have_a_row_each_and_none_is_cut() {
    let AgentEvent::ApprovalAsked(mut request) = question(1, "make && ninja") else { panic!() };
    let long =
        "ninja -C out/release some/target/with/a/path another/target/that/is/long and/one/more";
    request.allow_rules = vec!["Bash(make)".into(), format!("Bash({long})")];
    let scene = screen(80, 40).event(AgentEvent::ApprovalAsked(request)).after(400);
    let scene =
        scene.shows("s  Yes, and don't ask again this session for").shows("a  Always allow …");
    let text = scene.text();
    let rows = text.lines().map(|row| row.trim_matches(['"', '▌', ' '])).collect::<Vec<_>>();
    assert_eq!(rows.iter().filter(|row| **row == "`make`").count(), 2, "{text}");
    assert_eq!(rows.join(" ").matches(&format!("`{long}`")).count(), 2, "{text}");
}

#[test]
fn a_tiny_screen_can_still_answer() {
    for (width, height) in [(20, 6), (24, 8), (40, 9), (30, 12)] {
        let scene = screen(width, height).event(question(1, "make")).after(400).clear_effects();
        let scene = scene.shows("make");
        scene.key("end").key("y").expect_effects(&answered(ApprovalAnswer::Once));
        let scene = screen(width, height).event(edit_of("/srv/a.yml", 40)).after(400);
        let scene = scene.clear_effects().key("y").expect_effects(&[]);
        scene.key("end").key("y").expect_effects(&answered(ApprovalAnswer::Once));
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
        .shows("$ rm -rf build/")
        .shows("list the files");
    // What the model calls it is no part of what is scrolled, and takes one row.
    let AgentEvent::ApprovalAsked(mut request) = question(1, "rm -rf build/") else { panic!() };
    request.input["description"] = "x\n".repeat(90).into();
    let scene = screen(80, 24).event(AgentEvent::ApprovalAsked(request));
    scene.shows("$ rm -rf build/").shows("x␊x");
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
    let scene = scene.expect_effects(&answered(ApprovalAnswer::Once)).shows("2 of 2").shows("make");
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
    let scene = asked().key("a").key("ctrl+u").types("Bash(rm build/*)").key("enter");
    scene.expect_effects(&answered(always(&["Bash(rm build/*)"])));
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
    asked().key("t").types("x").key("esc").expect_effects(&[]).shows("y  Yes");
}

#[test]
fn a_long_command_is_seen_to_its_end_before_it_can_run() {
    let command: String = (0..60).map(|line| format!("echo {line}\n")).collect();
    let scene = screen(80, 24).event(question(1, &command)).clear_effects();
    scene
        .key("y")
        .expect_effects(&[])
        .shows("Scroll to the end to approve")
        .key("end")
        .key("y")
        .expect_effects(&answered(ApprovalAnswer::Once));
}

#[test]
fn without_rules_there_is_no_always() {
    let AgentEvent::ApprovalAsked(request) = question(1, "x") else { unreachable!() };
    let request = ApprovalRequest { allow_rules: Vec::new(), deny_rule: None, ..*request };
    let scene = screen(80, 24).event(AgentEvent::ApprovalAsked(Box::new(request))).clear_effects();
    scene.hides("Always").key("a").key("s").key("d").key("tab").expect_effects(&[]);
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
    insta::assert_snapshot!(scene.after(400).readable_text());
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
    insta::assert_snapshot!(scene.readable_text());
    let shown: String = scene.text().split(['\n', '▌', ' ', '"']).collect();
    assert!(shown.contains(DEEP.trim_start_matches("/home/me/src/webshop/")), "{shown}");
    scene.key("y").expect_effects(&answered(ApprovalAnswer::Once));
}

#[test]
fn the_name_of_an_edited_file_stays_on_the_screen() {
    let scene = screen(80, 24).event(edit_of(DEEP, 100)).clear_effects();
    scene
        .key("y")
        .expect_effects(&[])
        .key("end")
        .shows("Write deploy.yml?")
        .shows("100 + on: push");
    let name = format!("{}.rs", "a name that has no end ".repeat(9));
    let scene =
        screen(80, 24).event(edit_of(&format!("/srv/{name}"), 100)).clear_effects().key("end");
    scene.shows("Write a name").shows("no end .rs?");
}

#[test]
fn a_path_that_fills_the_screen_is_scrolled_through_first() {
    let path = format!("/srv/{}x.rs", "deep/".repeat(400));
    let scene = screen(80, 24).event(edit_of(&path, 1)).clear_effects();
    scene.key("y").expect_effects(&[]).shows("Scroll to the end to approve").shows("Write x.rs?");
}

#[test]
fn runs_of_spaces_in_a_path_are_visible() {
    let path = format!("/home/me/src/webshop/docs/my notes.md{}/conftest.py", " ".repeat(90));
    let scene = screen(80, 24).event(edit_of(&path, 1)).after(400);
    insta::assert_snapshot!(scene.readable_text());
}

#[test]
fn a_rule_is_never_cut() {
    for (width, height) in [(80, 30), (90, 30), (120, 40)] {
        let text = screen(width, height).event(edit_of(DEEP, 1)).after(400).text();
        let shown: String = text.split(['\n', ' ', '▌', '"']).collect();
        assert_eq!(shown.matches(&format!("`{DEEP}`…")).count(), 2, "{text}");
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
        ("y  Yes", ApprovalAnswer::Once),
        ("don't ask again", ApprovalAnswer::Session { rules: rules() }),
        ("n  No", ApprovalAnswer::Deny { instruction: None }),
    ] {
        asked().after(400).click(text).expect_effects(&answered(answer)).hides("rm -rf");
    }
    asked()
        .after(400)
        .click("Edit the command first")
        .expect_effects(&[])
        .shows("Edit the command. slug checks it again.");
    asked().after(400).click("Always allow").expect_effects(&[]).shows("Allow from now on");
    asked().after(400).click("Never allow").expect_effects(&[]).shows("Deny from now on");
    asked().after(400).click("$ git status").expect_effects(&[]).shows("y  Yes");
    let scene = screen(40, 12).event(question(1, &"ls\n".repeat(9))).after(400).clear_effects();
    let scene = scene.click("this session").expect_effects(&[]).click("more lines");
    scene
        .click("more lines")
        .click("more line")
        .click("this session")
        .expect_effects(&answered(ApprovalAnswer::Session { rules: rules() }));
}

#[test]
fn a_click_that_comes_too_early_answers_nothing() {
    let scene = screen(80, 24).event(question(1, COMMAND)).click("y  Yes").expect_effects(&[]);
    scene.after(400).click("y  Yes").expect_effects(&answered(ApprovalAnswer::Once));
}

#[test]
fn a_click_on_the_box_of_a_change_leaves_it_out() {
    let AgentEvent::ApprovalAsked(request) = question(1, "x") else { unreachable!() };
    let between = "same\n".repeat(9);
    let (old, new) = (format!("a\n{between}b\n"), format!("A\n{between}B\n"));
    let preview = Some(FileDiff::between("/home/me/src/webshop/a", &old, &new));
    let input = serde_json::json!({"file_path": "a"});
    let request = ApprovalRequest { tool: "Edit".into(), input, preview, ..*request };
    let scene = screen(80, 44).event(AgentEvent::ApprovalAsked(Box::new(request))).after(400);
    let scene =
        scene.clear_effects().shows("all 2 changes").click("[x]   11").shows("Yes, 1 of 2 changes");
    let scene = scene.click("[ ]").shows("all 2 changes").click("[x]    1").shows("[ ]    1");
    let Some(ScreenEffect::Agent(
        AGENT,
        AgentCommand::Answer { answer: ApprovalAnswer::Part { left_out }, .. },
    )) = scene.click("Yes, 1 of 2").effects.pop_back()
    else {
        panic!("no part is taken")
    };
    assert!(left_out.has(0) && !left_out.has(1));
}

#[test]
fn the_dialog_at_80x24() {
    insta::assert_snapshot!(asked().event(question(2, "make")).after(400).readable_text());
}

#[test]
fn the_dialog_at_120x40() {
    let scene = screen(120, 40).event(question(1, COMMAND)).event(question(2, "make"));
    insta::assert_snapshot!(scene.after(400).readable_text());
}

#[test]
fn the_dialog_on_the_smallest_screen() {
    let scene = screen(40, 12).event(question(1, COMMAND)).after(400);
    insta::assert_snapshot!(scene.readable_text());
}

/// The question about a command that failed in the sandbox.
fn outside() -> AgentEvent {
    let AgentEvent::ApprovalAsked(request) = question(1, "touch /srv/x && npm i") else {
        unreachable!()
    };
    AgentEvent::ApprovalAsked(Box::new(ApprovalRequest {
        kind: ApprovalKind::SandboxInForce,
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
        insta::assert_snapshot!(format!("outside_{width}x{height}"), scene.readable_text());
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
        reason: "This exact call has had the same result 2 times in a row, and no other call has \
                 changed anything since."
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
    insta::assert_snapshot!(scene.readable_text());
    scene.key("y").expect_effects(&answered(ApprovalAnswer::Once));
}

#[test]
fn a_call_that_leads_nowhere_is_asked_about_on_small_screens() {
    screen(60, 15).event(repeats()).after(400).shows("y  Yes").shows("stop the turn");
}

#[test]
fn s36_what_a_wide_rule_means_is_said_before_it_is_saved() {
    let scene = asked().hides("any code through").key("a").key("ctrl+u");
    scene.types("Bash(npm *)").shows("any code through npm");
}

#[test]
fn a_rule_is_shown_with_its_file_and_line() {
    asked().shows("allowed by Bash(git status)   ~/.slug/settings.json:3");
}
