//! Tests of leaving out changes of an edit in the approval dialog.

use crossterm::event::MouseEventKind;

use crate::agent::{AgentCommand, AgentEvent};
use crate::domain::{ApprovalAnswer, ApprovalId, ApprovalRequest, FileDiff};
use crate::tui::app::ScreenEffect;
use crate::tui::dialogs::OpenDialog;
use crate::tui::test_screen::{AGENT, TestScreen, question, screen};

/// The old and new text of a file with three changes, the first two near each other.
fn texts() -> (String, String) {
    let filler =
        |from: usize| -> String { (from..from + 12).map(|n| format!("// {n}\n")).collect() };
    let text = |total: &str, empty: &str, last: &str| {
        format!(
            "fn total(&self) -> Money {{\n    {total}\n}}\n\nfn is_empty(&self) -> bool {{\n    \
             {empty}\n}}\n{}fn last() {{\n    {last}\n}}\n",
            filler(10)
        )
    };
    let old =
        text("self.lines.iter().map(Line::price).reduce(Add::add).unwrap()", "false", "old();");
    let new = text(
        "self.lines.iter().map(Line::price).sum()",
        "self.lines.is_empty()",
        "new();\n    more();",
    );
    (old, new)
}

fn asked_about(width: u16, height: u16, old: &str, new: &str) -> TestScreen {
    let AgentEvent::ApprovalAsked(request) = question(1, "x") else { unreachable!() };
    let path = "/home/me/src/webshop/src/cart.rs";
    let request = ApprovalRequest {
        tool: "Edit".into(),
        input: serde_json::json!({"file_path": path}),
        parts: Vec::new(),
        allow_rules: vec!["Edit(src/cart.rs)".into()],
        deny_rule: Some("Edit(src/cart.rs)".into()),
        preview: Some(FileDiff::between(path, old, new)),
        ..*request
    };
    screen(width, height)
        .event(AgentEvent::ApprovalAsked(Box::new(request)))
        .after(400)
        .clear_effects()
}

fn asked(width: u16, height: u16) -> TestScreen {
    let (old, new) = texts();
    asked_about(width, height, &old, &new)
}

fn answered(answer: ApprovalAnswer) -> [ScreenEffect; 1] {
    [ScreenEffect::Agent(AGENT, AgentCommand::Answer { id: ApprovalId(1), answer })]
}

fn focus(scene: &TestScreen) -> usize {
    let Some(OpenDialog::Approval(approval)) = scene.model.dialogs.top() else { unreachable!() };
    approval.hunks.as_ref().unwrap().focus
}

#[test]
fn with_all_changes_taken_the_approval_is_the_usual_one() {
    asked(80, 56).shows("all 3 changes").key("y").expect_effects(&answered(ApprovalAnswer::Once));
    asked(80, 56)
        .key("space")
        .key("space")
        .key("y")
        .expect_effects(&answered(ApprovalAnswer::Once));
}

#[test]
fn an_approval_carries_the_excluded_changes() {
    let scene =
        asked(80, 56).key("right").key("space").expect_effects(&[]).shows("Yes, 2 of 3 changes");
    let left_out = [1].into_iter().collect();
    scene.shows("[ ]").key("y").expect_effects(&answered(ApprovalAnswer::Part { left_out }));
}

#[test]
fn there_is_no_yes_to_nothing() {
    let scene =
        ["space", "right", "space", "]", "space"].into_iter().fold(asked(80, 56), TestScreen::key);
    let scene = scene.shows("(no changes selected)").hides("[x]");
    scene.key("y").key("enter").expect_effects(&[]);
}

#[test]
fn a_rule_is_saved_only_with_the_whole() {
    let rules = vec!["Edit(src/cart.rs)".to_owned()];
    let scene = asked(80, 56).key("space").key("a").key("s").expect_effects(&[]);
    let scene = scene.key("space").key("a").key("enter");
    scene.expect_effects(&answered(ApprovalAnswer::Always { rules }));
}

#[test]
fn a_single_change_is_not_picked_at() {
    let scene = asked_about(80, 24, "a\n", "b\n").hides("[x]").hides("space include");
    scene.key("space").key("right").key("y").expect_effects(&answered(ApprovalAnswer::Once));
}

#[test]
fn the_next_change_is_brought_into_sight_and_the_focus_follows_the_view() {
    let scene = asked(80, 24).hides("more();").key("right").key("right").shows("more();");
    assert_eq!(focus(&scene), 2);
    let scene = scene.key("home").hides("more();");
    assert_eq!(focus(&scene), 0);
    let wheel = |scene: TestScreen| scene.mouse(MouseEventKind::ScrollDown, 40, 11);
    let scene = (0..40).fold(scene, |scene, _| wheel(scene)).shows("more();");
    assert_eq!(focus(&scene), 2, "the first that is in sight");
    scene.key("space").shows("2 of 3").shows("[ ]");
}

#[test]
fn on_a_short_screen_the_answers_stand_in_two_columns() {
    let scene = asked(80, 24);
    let text = scene.text();
    let diff = text.lines().filter(|row| row.starts_with("\"▌") && row.contains(" fn ")).count();
    assert!(diff >= 2, "{text}");
    let (yes, no) = ("y  Yes, all 3 changes", "n  No");
    let row = text.lines().find(|row| row.contains(yes)).unwrap();
    assert!(row.contains(no), "{text}");
    // Each answer is where the mouse finds it.
    let deny = ApprovalAnswer::Deny { instruction: None };
    asked(80, 24).click("n  No").expect_effects(&answered(deny));
    asked(80, 24).key("end").click("y  Yes").expect_effects(&answered(ApprovalAnswer::Once));
}

#[test]
fn wide_dialogs_have_both_sides() {
    let row = |scene: &TestScreen| {
        let text = scene.text();
        text.lines().find(|row| row.contains("sum()")).unwrap().to_owned()
    };
    assert!(row(&asked(200, 60)).contains("unwrap()"));
    assert!(!row(&asked(120, 40)).contains("unwrap()"));
}

#[test]
fn the_changes_at_80x24() {
    insta::assert_snapshot!(asked(80, 24).readable_text());
}

#[test]
fn the_changes_at_120x40() {
    insta::assert_snapshot!(asked(120, 40).key("right").key("space").readable_text());
}

#[test]
fn the_changes_at_200x60() {
    insta::assert_snapshot!(asked(200, 60).key("right").key("space").readable_text());
}

#[test]
fn the_changes_on_the_smallest_screen() {
    insta::assert_snapshot!(asked(40, 12).readable_text());
}
