//! Tests of folding panes: one by one, by kind, all at once; and of what is remembered.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use crate::agent::AgentEvent;
use crate::domain::{ContentBlock, PaneFold, ToolStatus};
use crate::services::store_query::{StoreQuery, StoreQueryResult};
use crate::session::{KindFolds, LogRecord, SessionFolds, ToolResultInfo};
use crate::tui::app::{ScreenEffect, ScreenMsg};
use crate::tui::test_screen::{TestScreen, assistant, call, done, result, screen, session, user};

fn thinking(text: &str) -> ContentBlock {
    ContentBlock::Thinking { thinking: text.into(), signature: None }
}

fn bash(id: &str) -> ContentBlock {
    ContentBlock::ToolUse(call(id, "Bash", json!({"command": format!("make {id}")})))
}

fn output(id: &str) -> LogRecord {
    let text: String = (0..40).map(|n| format!("{id} line {n}\n")).collect();
    result(id, &text, done("Bash", 9))
}

/// A log with two rounds of thinking and a command.
fn log() -> Vec<LogRecord> {
    vec![
        user("build it"),
        assistant(vec![thinking("first thought"), bash("one")]),
        output("one"),
        assistant(vec![thinking("second thought"), bash("two")]),
        output("two"),
    ]
}

fn opened(log: &[LogRecord]) -> TestScreen {
    let records = Arc::new(log.to_vec());
    screen(80, 60).event(AgentEvent::SessionOpened { session: session(), records })
}

/// The last folds that were saved.
fn kept(scene: &mut TestScreen) -> (Option<SessionFolds>, Option<KindFolds>) {
    let (mut panes, mut kinds) = (None, None);
    for effect in scene.effects.drain(..) {
        match effect {
            ScreenEffect::KeepFolds { folds, .. } => panes = Some(folds),
            ScreenEffect::KeepKinds(folds) => kinds = Some(folds),
            _ => {}
        }
    }
    (panes, kinds)
}

/// Answers the request for the saved folds.
fn remembering(mut scene: TestScreen, session: &SessionFolds, kinds: &KindFolds) -> TestScreen {
    let asked = scene.effects.drain(..).find_map(|effect| match effect {
        ScreenEffect::QueryStore { id, job: StoreQuery::Folds { .. } } => Some(id),
        _ => None,
    });
    let answer = Ok(StoreQueryResult::Folds { session: session.clone(), kinds: kinds.clone() });
    scene.msg(ScreenMsg::StoreAnswered { id: asked.unwrap(), answer })
}

#[test]
fn output_shows_its_ends_and_how_much_is_hidden() {
    opened(&log())
        .shows("one line 2 ")
        .shows("… 32 lines · tab p shows all")
        .shows("one line 35")
        .hides("one line 3 ");
}

#[test]
fn a_kind_is_folded_at_once() {
    let mut scene = opened(&log()).key("tab").key("up").key("z");
    scene = scene.shows("first thought").shows("second thought").shows("All thinking panes: open");
    let (_, kinds) = kept(&mut scene);
    assert_eq!(kinds.unwrap().0, BTreeMap::from([("thinking".to_owned(), PaneFold::Open)]));
    scene.key("z").hides("first thought").hides("second thought");
}

#[test]
fn calls_are_folded_by_tool_or_all_together() {
    let mut scene = opened(&log()).key("tab").key("z").key("z");
    scene = scene.hides("one line 0").hides("two line 0").shows("All Bash panes: folded");
    assert_eq!(kept(&mut scene).1.unwrap().0.get("Bash"), Some(&PaneFold::Closed));
    scene = scene.key("Z").shows("one line 20").shows("All tools panes: open");
    let tools = BTreeMap::from([("tools".to_owned(), PaneFold::Open)]);
    assert_eq!(kept(&mut scene).1.unwrap().0, tools);
}

#[test]
fn the_command_folds_a_kind_too() {
    opened(&log())
        .types("/fold thinking open")
        .key("enter")
        .shows("first thought")
        .types("/fold Bash closed")
        .key("enter")
        .hides("one line 0")
        .types("/fold Bash auto")
        .key("enter")
        .shows("one line 0");
}

#[test]
fn a_session_remembers_its_panes() {
    let log = log();
    let scene = remembering(opened(&log), &SessionFolds::default(), &KindFolds::default());
    let mut scene = scene.clear_effects().key("tab").key("enter").key("up").key("enter");
    let (panes, kinds) = kept(&mut scene);
    assert_eq!((panes.as_ref().unwrap().panes.len(), kinds), (2, None));
    let scene = opened(&log).hides("second thought").hides("two line 20");
    remembering(scene, &panes.unwrap(), &KindFolds::default())
        .shows("second thought")
        .shows("two line 20")
        .hides("first thought")
        .hides("one line 20");
}

#[test]
fn folding_a_pane_forgets_none_that_has_not_come_yet() {
    let log = log();
    let scene = remembering(opened(&log), &SessionFolds::default(), &KindFolds::default());
    let mut scene = scene.clear_effects().key("tab").key("up").key("up").key("enter");
    let (older, _) = kept(&mut scene);
    let older = older.unwrap();
    assert_eq!(older.panes.len(), 1);
    // Only the end of the session is loaded when another pane is unfolded.
    let scene = remembering(opened(&log[3..]), &older, &KindFolds::default());
    let mut scene = scene.clear_effects().key("tab").key("enter");
    let both = kept(&mut scene).0.unwrap();
    assert_eq!(both.panes.len(), 2);
    assert!(older.panes.iter().all(|(name, fold)| both.panes.get(name) == Some(fold)));
    // A command for all panes applies to those, too.
    let mut scene = scene.key("ctrl+o");
    assert!(kept(&mut scene).0.unwrap().panes.is_empty());
}

#[test]
fn folds_made_before_the_answer_are_kept() {
    let log = log();
    let scene = remembering(opened(&log), &SessionFolds::default(), &KindFolds::default());
    let mut scene = scene.clear_effects().key("tab").key("up").key("up").key("enter");
    let before = kept(&mut scene).0.unwrap();
    let scene = opened(&log).key("tab").key("enter");
    assert!(!scene.effects.iter().any(|it| matches!(it, ScreenEffect::KeepFolds { .. })));
    let mut scene = remembering(scene, &before, &KindFolds::default());
    assert_eq!(kept(&mut scene).0.unwrap().panes.len(), 2);
}

#[test]
fn what_is_folded_in_a_running_session_has_the_same_names_later() {
    let log = log();
    let live = log.iter().map(crate::tui::test_screen::recorded);
    let scene = screen(80, 60).events(live);
    let mut scene = scene.key("tab").key("enter");
    let (panes, _) = kept(&mut scene);
    let scene = remembering(opened(&log), &panes.unwrap(), &KindFolds::default());
    scene.shows("two line 20").hides("one line 20");
}

#[test]
fn kinds_hold_in_every_session() {
    let kinds = KindFolds(BTreeMap::from([("Bash".to_owned(), PaneFold::Closed)]));
    let scene = remembering(opened(&log()), &SessionFolds::default(), &kinds);
    let scene = scene.hides("one line 0");
    let records = Arc::new(log());
    scene.event(AgentEvent::SessionOpened { session: session(), records }).hides("one line 0");
}

#[test]
fn a_stale_answer_folds_nothing() {
    let scene = opened(&log());
    let records = Arc::new(log());
    let id = match scene.effects.iter().find(|it| matches!(it, ScreenEffect::QueryStore { .. })) {
        Some(ScreenEffect::QueryStore { id, .. }) => *id,
        _ => panic!("nothing was asked"),
    };
    let scene = scene.event(AgentEvent::SessionOpened { session: session(), records });
    let kinds = KindFolds(BTreeMap::from([("Bash".to_owned(), PaneFold::Closed)]));
    let answer = Ok(StoreQueryResult::Folds { session: SessionFolds::default(), kinds });
    scene.msg(ScreenMsg::StoreAnswered { id, answer }).shows("one line 0");
}

#[test]
fn a_long_message_folds_with_its_count_of_lines() {
    let text: String = (0..300).map(|n| format!("paste {n}\n")).collect();
    opened(&[user(&format!("what is this?\n{text}"))])
        .shows("❯ what is this?")
        .shows("… 292 lines · tab p shows all")
        .shows("paste 299")
        .drag((3, 2), (3, 2))
        .shows("paste 20 ");
}

#[test]
fn states_differ_in_glyph_and_word() {
    let info = |status| ToolResultInfo { status, ..done("Bash", 1_500) };
    let log = [
        assistant(vec![bash("a"), bash("b"), bash("c"), bash("d")]),
        result("a", "", info(ToolStatus::Done)),
        result("b", "no", info(ToolStatus::Failed)),
        result("c", "no", info(ToolStatus::Denied)),
        result("d", "no", info(ToolStatus::Cancelled)),
    ];
    opened(&log)
        .shows("● Bash    make a  1.5 s")
        .shows("▾ Bash    make b  ✗ failed  1.5 s")
        .shows("▸ Bash    make c  ⊘ denied")
        .shows("▸ Bash    make d  ■ stopped  1.5 s");
}

#[test]
fn output_that_is_kept_says_so() {
    let kept = Some(crate::domain::ContentHash::of(b"all of it"));
    let log = [
        assistant(vec![bash("a")]),
        result("a", "some of it", ToolResultInfo { kept, ..done("Bash", 9) }),
    ];
    opened(&log).shows("… the result is a part of the output · tab p shows all");
}
