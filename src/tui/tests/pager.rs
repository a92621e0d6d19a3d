//! Tests of the pager.

use std::sync::Arc;

use serde_json::json;

use crate::agent::AgentEvent;
use crate::domain::{CallId, ContentBlock, ContentHash};
use crate::services::store_query::{StoreQuery, StoreQueryResult};
use crate::services::text_document::TextDocument;
use crate::session::ToolResultInfo;
use crate::tui::app::{ScreenEffect, ScreenMsg};
use crate::tui::dialogs::pager::plain_text;
use crate::tui::test_screen::{TURN, TestScreen, assistant, call, done, recorded, result, screen};

pub(super) fn ran(width: u16, height: u16, output: &str, kept: Option<ContentHash>) -> TestScreen {
    let bash = call("c1", "Bash", json!({"command": "make all"}));
    screen(width, height)
        .event(recorded(&assistant(vec![ContentBlock::ToolUse(bash)])))
        .event(recorded(&result("c1", output, ToolResultInfo { kept, ..done("Bash", 1_500) })))
        .key("tab")
        .clear_effects()
        .key("p")
}

pub(super) fn numbered(count: usize) -> String {
    (1..=count).map(|n| format!("line {n}\n")).collect()
}

fn answered(mut scene: TestScreen, text: &str) -> TestScreen {
    let (id, document) = scene
        .effects
        .drain(..)
        .find_map(|effect| match effect {
            ScreenEffect::QueryStore { id, job: StoreQuery::FullOutput { document, .. } } => {
                Some((id, document))
            }
            _ => None,
        })
        .expect("the whole is asked for");
    let answer = StoreQueryResult::Document(Arc::new(TextDocument::new(document, text)));
    scene.msg(ScreenMsg::StoreAnswered { id, answer: Ok(answer) })
}

fn running() -> TestScreen {
    let bash = call("c1", "Bash", json!({"command": "make all"}));
    screen(80, 24)
        .event(AgentEvent::TurnStarted { turn: TURN })
        .event(recorded(&assistant(vec![ContentBlock::ToolUse(bash.clone())])))
        .event(AgentEvent::ToolStarted { turn: TURN, call: bash })
}

fn prints(text: String) -> AgentEvent {
    AgentEvent::ToolProgress { turn: TURN, call: CallId::new("c1"), text }
}

/// While a call runs the log has nothing of it; an empty page would say less than the reason.
#[test]
fn an_explanation_that_there_is_none_of_leaves_no_page() {
    let mut scene = ran(80, 24, "done\n", None).key("esc").clear_effects().key("x");
    let id = scene.effects.drain(..).find_map(|effect| match effect {
        ScreenEffect::QueryStore { id, job: StoreQuery::Explanation { .. } } => Some(id),
        _ => None,
    });
    let answer = Err("The session's log does not have this yet.".to_owned());
    let scene = scene.shows("Explained").msg(ScreenMsg::StoreAnswered { id: id.unwrap(), answer });
    scene.hides("Explained").shows("does not have this yet");
}

#[test]
fn the_pager_at_80x24() {
    insta::assert_snapshot!(ran(80, 24, &numbered(300), None).key("#").key("pgdn").readable_text());
}

#[test]
fn the_pager_searches_at_120x40() {
    let scene = ran(120, 40, &numbered(300), None).key("/").types("line 1").key("down");
    insta::assert_snapshot!(scene.readable_text());
}

#[test]
fn it_moves_by_lines_pages_and_ends() {
    let scene = ran(80, 24, &numbered(300), None).shows("1-21 of 300 lines");
    let scene = scene.key("j").shows("2-22 of").key("pgdn").shows("22-42 of");
    let scene = scene.key("end").shows("280-300 of 300 lines  100%").key("k").shows("279-299 of");
    scene.key("g").shows("1-21 of").key("esc").shows("… 292 lines · tab p");
}

#[test]
fn matches_are_counted_and_gone_through() {
    let scene = ran(80, 24, &numbered(300), None).key("/").types("Line 2");
    let scene = scene.shows("not found").key("esc").hides("not found");
    let scene = scene.key("/").types("line 2").shows("1 of 111").key("enter");
    let scene = scene.key("n").shows("2 of 111").shows("line 20 ").key("N").key("N");
    scene.shows("111 of 111").shows("line 299");
}

#[test]
fn a_regular_expression_is_taken_on_request() {
    let scene = ran(80, 24, &numbered(300), None).key("/").types("line [5]0$");
    let scene = scene.shows("not found").key("tab").shows("regex /line [5]0$").shows("1 of 1");
    scene.types("(").shows("unclosed group");
}

#[test]
fn the_stored_output_replaces_the_shortened_result() {
    let kept = Some(ContentHash::of(b"whole"));
    let scene = ran(80, 24, "head\n[left out]\ntail", kept).shows("loading");
    let scene = scene.shows("[left out]");
    answered(scene, &numbered(5_000)).hides("reading").shows("1-21 of 5000 lines");
}

#[test]
fn output_is_followed_until_the_user_scrolls_up() {
    let scene = running().event(prints(numbered(100))).key("tab").key("p").clear_effects();
    let scene = scene.shows("following").shows("line 100").event(prints("more\n".into()));
    let scene = scene.shows("more").key("k").shows("running").event(prints(numbered(50)));
    let scene = scene.hides("line 50 ").key("F").shows("following").shows("line 50 ");
    let kept = Some(ContentHash::of(b"whole"));
    let info = ToolResultInfo { kept, ..done("Bash", 9) };
    let scene = scene.event(recorded(&result("c1", "cut", info)));
    answered(scene, &numbered(400)).hides("following").shows("line 400");
}

#[test]
fn long_lines_wrap_or_are_looked_at_sideways() {
    let line = format!("{}END\n", "x".repeat(100));
    let scene = ran(80, 24, &line, None).shows("END").key("w").hides("END");
    scene.key("right").key("right").key("right").key("right").shows("END");
}

#[test]
fn lines_or_all_of_it_are_copied() {
    let mut scene = ran(80, 24, &numbered(30), None).key("j").key("v").key("j").key("c");
    let copied = |scene: &mut TestScreen| match scene.effects.pop_front() {
        Some(ScreenEffect::CopyLines { document, lines, what }) => {
            (plain_text(&document, lines), what)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(copied(&mut scene), ("line 2\nline 3\n".to_owned(), "the lines"));
    let mut scene = scene.key("c");
    assert_eq!(copied(&mut scene), (numbered(30), "all of it"));
}

#[test]
fn lines_are_marked_with_the_mouse() {
    let scene = ran(80, 24, &numbered(30), None).drag((3, 3), (3, 5));
    let asked = scene.effects.iter().any(|effect| match effect {
        ScreenEffect::CopyLines { lines, .. } => *lines == (1..4),
        _ => false,
    });
    assert!(asked, "{:?}", scene.effects);
}

#[test]
fn a_long_text_is_searched_elsewhere() {
    let mut scene = ran(80, 24, &numbered(30_000), None).key("/").types("x");
    let (id, document, query) = scene
        .effects
        .drain(..)
        .find_map(|effect| match effect {
            ScreenEffect::Find { id, document, query } => Some((id, document, query)),
            _ => None,
        })
        .unwrap();
    let hits = crate::tui::dialogs::pager::search::hits(&document, &query, 0..document.len());
    let scene =
        scene.shows("searching").msg(ScreenMsg::Found { id, hits, searched: document.len() });
    scene.shows("not found");
}
