//! The start screen: what it shows, and its list of recent sessions.

use std::sync::Arc;

use chrono::{DateTime, FixedOffset, TimeDelta};
use crossterm::event::{MouseButton, MouseEventKind};

use crate::agent::{AgentCommand, AgentEvent};
use crate::domain::{NoticeLevel, SessionId};
use crate::services::sessions::{
    SessionList, SessionLockState, SessionRow, SessionStoreRequest, SessionStoreResponse,
};
use crate::session::SessionGrouping;
use crate::tui::app::settings::StartMode;
use crate::tui::app::{ScreenEffect, ScreenMsg};
use crate::tui::test_screen::{AGENT, TestScreen, screen, session};

fn now() -> DateTime<FixedOffset> {
    DateTime::parse_from_rfc3339("2026-11-24T12:00:00+00:00").unwrap()
}

fn session_id(number: u32) -> SessionId {
    format!("0190a1b2-0000-7000-8000-{number:012}").parse().unwrap()
}

fn row(number: u32, title: &str, minutes: i64, folder: &str) -> SessionRow {
    SessionRow {
        id: session_id(number),
        title: title.to_owned(),
        last_used_at: now() - TimeDelta::minutes(minutes),
        working_directory: folder.into(),
        model: "qwen3-coder".to_owned(),
        forked_from: None,
        last_shared_message: None,
        message_count: Some(4),
        lock: SessionLockState::Unlocked,
    }
}

/// A new session, once the sessions on disk have been read.
fn started(width: u16, height: u16) -> TestScreen {
    let here = "/home/me/src/webshop";
    let rows = vec![
        row(
            102,
            "give me a tour of the cart and of all that is priced in it, with tests",
            19,
            here,
        ),
        row(101, "fix the discount", 2, here),
        row(103, "elsewhere", 1, "/home/me/src/other"),
        row(104, "", 5, here),
        row(105, "upgrade to axum 0.9", 60 * 26, here),
    ];
    let opened = AgentEvent::SessionOpened { session: session(), records: Arc::default() };
    let scene = screen(width, height).event(opened);
    let id = scene.model.shared.requests.recent.unwrap();
    assert!(scene.effects.iter().any(|effect| {
        matches!(effect, ScreenEffect::Sessions { id: asked, job: SessionStoreRequest::Recent { .. } } if *asked == id)
    }));
    let list = SessionList { rows, now: now(), grouping: SessionGrouping::default() };
    scene.msg(ScreenMsg::Sessions { id, answer: Ok(SessionStoreResponse::Listed(list)) })
}

fn opened(scene: &TestScreen) -> Option<SessionId> {
    scene.effects.iter().find_map(|effect| match effect {
        ScreenEffect::Agent(AGENT, AgentCommand::Resume { session }) => Some(*session),
        _ => None,
    })
}

fn id(number: u32) -> Option<SessionId> {
    Some(session_id(number))
}

#[test]
fn a_click_on_a_session_opens_it_unless_something_is_typed() {
    let scene = started(80, 24);
    let places = scene.model.conversation.geometry.recent.clone();
    assert_eq!(places.len(), 3);
    let press = |scene: TestScreen, row: u16| {
        scene.clear_effects().mouse(MouseEventKind::Down(MouseButton::Left), places[1].x + 9, row)
    };
    assert_eq!(opened(&press(scene, places[0].y - 1)), None, "the heading");
    assert_eq!(opened(&press(started(80, 24).types("hello"), places[1].y)), None);
    assert_eq!(opened(&press(started(80, 24), places[1].y)), id(102));
}

#[test]
fn at_80x24() {
    insta::assert_snapshot!(started(80, 24).readable_text());
}

#[test]
fn at_120x40() {
    insta::assert_snapshot!(started(120, 40).readable_text());
}

#[test]
fn at_40x12() {
    insta::assert_snapshot!(started(40, 12).readable_text());
}

#[test]
fn the_demo_says_what_to_do() {
    let mut scene = started(80, 24);
    scene.model.shared.settings.start.mode = StartMode::Demo;
    scene.after(1).shows("enter starts the demo");
}

#[test]
fn a_notice_stands_below_and_takes_the_place_of_nothing() {
    let notice =
        |text: &str| AgentEvent::Notice { level: NoticeLevel::Warning, text: text.to_owned() };
    let scene = started(80, 24).event(notice("Fixed permissions of ~/.slug."));
    let scene = scene.shows("Recent here").shows("fix the discount").shows("Fixed permissions");
    scene.event(notice("Something else.")).shows("webshop (main)").shows("Something else.");
}

#[test]
fn a_number_with_alt_opens_a_session_of_this_folder() {
    assert_eq!(opened(&started(80, 24).key("alt+1")), id(101));
    assert_eq!(opened(&started(80, 24).key("alt+3")), id(105));
    let scene = started(80, 24).key("alt+4");
    assert_eq!(opened(&scene), None);
    scene.shows("There is no recent session with this number here.");
}

#[test]
fn down_from_the_empty_input_selects_and_enter_opens() {
    let scene = started(80, 24).key("down").shows("❯ alt+1").key("down").shows("❯ alt+2");
    assert_eq!(opened(&scene.key("enter")), id(102));
    let scene = started(80, 24).key("down").key("down").key("up").key("up");
    // One more goes to the history, as without a list.
    scene.key("up").shows("run the tests");
}

#[test]
fn escape_and_typing_leave_the_list() {
    let scene = started(80, 24).key("down").key("esc").hides("❯ alt+1");
    assert_eq!(opened(&scene.key("enter")), None);
    let scene = started(80, 24).key("down").types("2 things").hides("❯ alt+1").shows("❯ 2 things");
    assert_eq!(opened(&scene.key("enter")), None);
}

#[test]
fn each_day_has_its_tips() {
    let today = started(80, 24);
    let tips =
        |scene: &TestScreen| scene.text().lines().filter(|line| line.contains("/undo")).count();
    assert_eq!(tips(&today), 0, "{}", today.text());
    let mut tomorrow = started(80, 24);
    tomorrow.model.shared.settings.start.day = 1;
    let tomorrow = tomorrow.after(1);
    assert_eq!(tips(&tomorrow), 1, "{}", tomorrow.text());
}

#[test]
fn every_size_is_drawn() {
    for (width, height) in [(20, 6), (1, 1), (5, 3), (30, 9), (300, 80)] {
        let scene = started(width, height);
        scene.event(AgentEvent::Notice { level: NoticeLevel::Info, text: "A notice.".to_owned() });
    }
}
