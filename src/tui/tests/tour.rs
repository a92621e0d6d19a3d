//! The guided tour: its marks wait for the real thing, block nothing, and end with a card.

use serde_json::json;

use crate::agent::AgentEvent;
use crate::config::KeyPreset;
use crate::domain::{ApprovalId, ContentBlock, ContentHash, FileDiff};
use crate::session::{
    FileChangeEntry, FileChangeSource, FileKind, FileVersion, LogEntry, LogRecord, TurnOutcome,
};
use crate::tui::app::keymap::AlwaysKey;
use crate::tui::app::tour::{TourForm, TourState};
use crate::tui::test_screen::{
    TURN, TestScreen, assistant, call, done, question, record, recorded, result, screen, turn_end,
    user,
};

fn tour(width: u16, height: u16) -> TestScreen {
    let mut scene = screen(width, height);
    scene.model.shared.tour = Some(TourState::new(TourForm::Screen));
    scene.after(1)
}

/// The question about an edit of two changes.
fn edit_question() -> AgentEvent {
    let AgentEvent::ApprovalAsked(mut request) = question(1, "") else { panic!() };
    let old: String = (1..40).map(|line| format!("line {line}\n")).collect();
    let new = old.replace("line 3\n", "three\n").replace("line 30\n", "thirty\n");
    request.tool = "Edit".into();
    request.input = json!({"file_path": "price.py"});
    request.parts.clear();
    request.preview = Some(FileDiff::between("/home/me/src/webshop/price.py", &old, &new));
    AgentEvent::ApprovalAsked(request)
}

/// The record of a file that was created.
fn changed() -> LogRecord {
    let hash = ContentHash::of(b"now");
    let after = FileVersion { kind: FileKind::File, hash, mode: None };
    let path = "/home/me/src/webshop/price.py".into();
    record(LogEntry::FileChange(FileChangeEntry::new(
        path,
        None,
        Some(after),
        FileChangeSource::Tool,
    )))
}

fn sent(scene: TestScreen) -> TestScreen {
    scene.event(AgentEvent::TurnStarted { turn: TURN }).event(recorded(&user("fix it")))
}

#[test]
fn each_mark_waits_for_what_it_names_and_the_card_is_the_end() {
    let scene = tour(120, 40).shows("1/12").shows("enter sends the message in the input.");
    let scene = sent(scene).shows("2/12").shows("slug reads without asking.");
    let scene = scene.event(edit_question()).shows("3/12").shows("space leaves this change out.");
    // Any other key does what it always does.
    let scene = scene.key("right").shows("3/12");
    let scene = scene.key("space").shows("4/12").shows("space includes it again.");
    let scene = scene.key("space").shows("5/12").shows("y allows the edit.");
    let scene = scene.key("y").event(AgentEvent::ApprovalWithdrawn(ApprovalId(1)));
    let scene = scene.shows("6/12").shows("y runs the tests. e would edit the command first.");
    let bash = call("c2", "Bash", json!({"command": "sh test.sh"}));
    let scene = scene
        .event(recorded(&assistant(vec![ContentBlock::ToolUse(bash)])))
        .event(recorded(&result("c2", "ok", done("Bash", 3))))
        .shows("7/12");
    let scene = scene.event(recorded(&changed())).event(recorded(&turn_end(TurnOutcome::Answered)));
    let scene = scene.shows("8/12").shows("ctrl+p lists every command and key.");
    let scene = scene.key("ctrl+p").shows("9/12").key("esc");
    let scene = scene.shows("10/12").types("/diff").key("enter").shows("What this session changed");
    let scene = scene.key("q").shows("11/12").shows("Type /undo and press enter");
    let scene = scene.types("/undo").key("enter").shows("12/12");
    let scene = scene.key("esc").shows("That was slug").hides("12/12");
    assert!(scene.model.shared.tour.is_none());
    scene.key("esc").hides("That was slug");
}

#[test]
fn a_user_who_does_something_else_is_never_held_up() {
    // Yes at once, without trying the changes: their marks are over.
    let scene = sent(tour(120, 40)).event(edit_question()).key("y");
    let scene = scene.event(AgentEvent::ApprovalWithdrawn(ApprovalId(1)));
    let scene = scene.shows("6/12");
    // Stopped: what belongs to the turn is over.
    scene.event(recorded(&turn_end(TurnOutcome::Interrupted))).shows("8/12");
}

#[test]
fn a_mark_is_skipped_and_the_tour_left_with_one_key_each() {
    let scene = tour(120, 40).key("f8").shows("2/12");
    let scene = scene.key("f9").hides("2/12").shows("You left the tour.");
    assert!(scene.model.shared.tour.is_none());
    // Without a tour the keys are nobody's.
    let scene = scene.key("f8").key("f9").key("?");
    scene.hides("in the tour: the next mark");
}

#[test]
fn marks_name_the_keys_as_they_are_bound() {
    let own = "[approval]\npick = \"x\"\n[always]\nleave-tour = \"alt+q\"\n";
    let scene = sent(tour(120, 40).keys(KeyPreset::Default, own)).event(edit_question());
    let scene = scene.shows("x leaves this change out.").shows("alt+q leave the tour");
    assert_eq!(scene.model.shared.settings.keys.key(AlwaysKey::LeaveTour), "alt+q");
}

#[test]
fn marks_and_questions_fit_a_small_screen() {
    insta::assert_snapshot!(tour(40, 12).readable_text());
    insta::assert_snapshot!(sent(tour(40, 12)).event(edit_question()).readable_text());
    insta::assert_snapshot!(sent(tour(80, 24)).event(edit_question()).readable_text());
}

#[test]
fn the_card_fits_a_small_screen() {
    let mut scene = tour(80, 24);
    for _ in 0..20 {
        scene = scene.key("f8");
    }
    insta::assert_snapshot!(scene.readable_text());
}
