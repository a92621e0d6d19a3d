//! Tests of undoing what a single call changed: the keys, what the pane says, and what is offered.

use super::side_panel::worked;
use crate::agent::AgentCommand;
use crate::domain::{CallId, EntryId};
use crate::session::{LogEntry, LogRecord, RejectedChanges, RewindEntry, RewindPart, RewindScope};
use crate::tui::app::ScreenEffect;
use crate::tui::test_screen::{AGENT, TestScreen, record, recorded};

fn undo(call: &str) -> ScreenEffect {
    ScreenEffect::Agent(AGENT, AgentCommand::UndoCall { call: CallId::new(call) })
}

/// The record of a call's undo, or of the redo of that.
fn undone(call: &str, redoes: Option<&LogRecord>) -> LogRecord {
    let path = "/home/me/src/webshop/README.md".into();
    let file = RejectedChanges { path, count: 1, total: 1, text: String::new() };
    record(LogEntry::Rewind(RewindEntry {
        before: EntryId::generate(),
        redoes: redoes.map(|record| record.id),
        what: RewindScope::Files,
        part: Some(RewindPart { call: Some(CallId::new(call)), files: vec![file] }),
        files: Vec::new(),
        left: Vec::new(),
        messages: 2,
        summary: None,
    }))
}

fn session() -> TestScreen {
    worked(120, 40).clear_effects()
}

#[test]
fn a_key_in_the_input_undoes_the_last_edit_and_the_pane_says_so() {
    let scene = session().shows("alt+u undo edit").key("alt+u").expect_effects(&[undo("c2")]);
    let gone = undone("c2", None);
    let scene = scene.event(recorded(&gone)).shows("undone  +1 -0");
    let scene = scene.shows("You undid an edit of README.md. /redo restores it.");
    let scene = scene.clear_effects().key("alt+u").expect_effects(&[undo("c1")]);
    let scene = scene.event(recorded(&undone("c1", None))).hides("undo edit");
    let scene = scene.clear_effects().key("alt+u").expect_effects(&[]).shows("No edit to undo.");
    let back = scene.event(recorded(&undone("c2", Some(&gone)))).shows("undo edit");
    back.hides("undone  +1 -0").key("alt+u").expect_effects(&[undo("c2")]);
}

#[test]
fn u_on_a_pane_undoes_its_edit() {
    let scene = session().key("tab").key("up").shows("u undo").key("u");
    let scene = scene.expect_effects(&[undo("c1")]);
    let scene = scene.event(recorded(&undone("c1", None))).hides("u undo");
    scene.shows("undone  +2 -1");
}

#[test]
fn while_text_is_typed_the_key_is_not_offered() {
    session().types("now").hides("undo edit");
}
