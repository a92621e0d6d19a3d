//! Tests of the list of sessions beside and over the chat.

use std::sync::Arc;

use serde_json::json;

use crate::agent::{AgentCommand, AgentEvent};
use crate::domain::{CallId, ContentBlock, ContentHash, EntryId, TYPED_BY_USER};
use crate::services::sessions::{SessionStoreRequest, SessionStoreResponse};
use crate::session::{
    LogEntry, LogRecord, SearchHitSource, SessionHeader, SessionSearchHit, SessionSearchResult,
    TurnOutcome,
};
use crate::tui::app::ScreenEffect;
use crate::tui::app::ScreenMsg;
use crate::tui::app::focus::KeyboardFocus;
use crate::tui::app::sidebar::samples::{HERE, id, now, week};
use crate::tui::test_screen::{
    AGENT, TestScreen, assistant, call, done, record, recorded, result, screen, turn_end, user,
};

/// A chat with the list of sessions open.
pub(super) fn listed(width: u16, height: u16) -> TestScreen {
    let mut scene = screen(width, height);
    scene.model.sidebar = crate::tui::app::sidebar::Sidebar::new(HERE.into());
    let scene =
        scene.event(recorded(&user("why does checkout fail?"))).clear_effects().key("ctrl+b");
    let id = scene.effects.iter().find_map(|effect| match effect {
        ScreenEffect::Sessions { id, job: SessionStoreRequest::List } => Some(*id),
        _ => None,
    });
    let id = id.unwrap();
    scene.msg(ScreenMsg::Sessions { id, answer: Ok(SessionStoreResponse::Listed(week())) })
}

#[test]
fn beside_the_chat_on_a_wide_screen() {
    insta::assert_snapshot!(listed(120, 40).readable_text());
}

#[test]
fn over_the_chat_on_a_narrow_one() {
    insta::assert_snapshot!(listed(80, 24).readable_text());
}

#[test]
fn on_the_smallest_screen() {
    insta::assert_snapshot!(listed(40, 12).readable_text());
}

#[test]
fn what_is_typed_after_tab_is_for_the_chat() {
    listed(120, 40).key("tab").types("hello").shows("❯ hello").shows("Fix empty cart checkout");
}

/// The list after a jump to `needle`, found at this entry of a past session.
fn gone_to(width: u16, entry: EntryId, call: Option<CallId>) -> TestScreen {
    let scene = screen(width, 30).key("ctrl+b");
    let Some(ScreenEffect::Sessions { id: asked, .. }) = scene.effects.back().cloned() else {
        panic!()
    };
    let scene = scene
        .msg(ScreenMsg::Sessions { id: asked, answer: Ok(SessionStoreResponse::Listed(week())) });
    let scene = scene.key("/").types("needle");
    let Some(ScreenEffect::SearchSessions { id: asked, .. }) = scene.effects.back().cloned() else {
        panic!("{:?}", scene.effects)
    };
    let place = SessionSearchHit {
        entry,
        call,
        timestamp: now().into(),
        who: SearchHitSource::Model,
        before: "a ".into(),
        found: "needle".into(),
        behind: " here".into(),
    };
    let found = vec![SessionSearchResult { session: id(1), places: vec![place], more: false }];
    scene.msg(ScreenMsg::SessionsFound { id: asked, found }).shows("a needle here").key("enter")
}

/// A long session with the search text in its middle, and the entry that holds it.
fn with_a_needle() -> (Arc<Vec<LogRecord>>, EntryId) {
    let said = |text: &str| assistant(vec![ContentBlock::Text { text: text.to_owned() }]);
    let mut records: Vec<LogRecord> =
        (0..2_000).flat_map(|n| [user(&format!("ask {n}")), said("hay")]).collect();
    records[1001] = said("a needle here");
    let entry = records[1001].id;
    (Arc::new(records), entry)
}

#[test]
fn enter_on_a_place_that_was_found_opens_its_session_there_and_escape_goes_back() {
    for width in [80, 120] {
        let (records, entry) = with_a_needle();
        let scene = gone_to(width, entry, None);
        let Some(ScreenEffect::Agent(AGENT, AgentCommand::Resume { session })) =
            scene.effects.back().cloned()
        else {
            panic!("{:?}", scene.effects)
        };
        let opened = AgentEvent::SessionOpened { session, records: Arc::clone(&records) };
        let mut scene = scene.event(opened).shows("hay").hides("/ needle  ");
        let folded = scene.effects.iter().find_map(|effect| match effect {
            ScreenEffect::Backfill { id, older } => Some((*id, older.clone().replay())),
            _ => None,
        });
        let (id, folded) = folded.unwrap();
        scene = scene.msg(ScreenMsg::Backfilled { id, folded }).after(20);
        let scene = scene.shows("a needle here").shows("1 of 1");
        let block = scene.model.conversation.search.as_ref().unwrap().current().unwrap().block;
        assert_eq!(scene.model.conversation.focus, KeyboardFocus::Pane(block), "{width}");
        let scene = scene.key("esc").shows("/ needle").hides("1 of 1");
        assert_eq!(scene.model.conversation.focus, KeyboardFocus::Sidebar, "{width}");
    }
}

#[test]
fn a_place_in_a_result_is_gone_to_by_its_call() {
    let call = call("c7", "Read", json!({"file_path": "a.rs"}));
    let answer = result("c7", "hay\nneedle\nhay", done("Read", 3));
    let scene = gone_to(120, answer.id, Some(CallId::new("c7")));
    let records = vec![user("read it"), assistant(vec![ContentBlock::ToolUse(call)]), answer];
    let header = SessionHeader {
        session_id: id(1),
        version: 1,
        cwd: "/home/me/src/webshop".into(),
        model: String::new(),
        provider: String::new(),
        forked_from: None,
        spawned_by: None,
        server_tools: Vec::new(),
    };
    let first = LogRecord { entry: LogEntry::Session(header), ..user("") };
    let records = Arc::new([vec![first], records].concat());
    let scene = scene.event(AgentEvent::SessionOpened { session: id(1), records }).after(20);
    scene.shows("1 of 1").shows("needle");
}

#[test]
fn a_place_that_is_gone_is_said() {
    let (records, _) = with_a_needle();
    let scene = gone_to(120, EntryId::generate(), None);
    let short = Arc::new(records[..4].to_vec());
    let scene = scene.event(AgentEvent::SessionOpened { session: id(1), records: short });
    let scene =
        scene.event(AgentEvent::SessionRead { session: id(1), earlier: Arc::new(Vec::new()) });
    assert_eq!(scene.model.conversation.pending_jump, None);
    scene.shows("no longer in the transcript");
}

/// slug was killed in the midst of a turn: that is said when the session is opened again.
#[test]
fn a_session_whose_last_message_was_not_answered_says_so() {
    let opened = |records: Vec<LogRecord>| {
        let records = Arc::new(records);
        screen(80, 24).event(AgentEvent::SessionOpened { session: id(1), records }).after(20)
    };
    let told = "slug ended before your last message was answered. /retry goes on from";
    opened(vec![user("Rename the cart.")]).shows("Rename the cart.").shows(told);
    let end = turn_end(TurnOutcome::Answered);
    opened(vec![
        user("Rename the cart."),
        assistant(vec![ContentBlock::Text { text: "Done.".into() }]),
        end,
    ])
    .hides("slug ended before");
    let began = || LogEntry::ToolStarted {
        call: CallId::new("c"),
        arguments: ContentHash::of(b"{}"),
        approved_by: TYPED_BY_USER.to_owned(),
    };
    let end = turn_end(TurnOutcome::Answered);
    opened(vec![user("Rename the cart."), end, record(began())])
        .shows("slug ended while a `!` command of yours ran.")
        .hides("slug ended before");
    opened(vec![user("Rename the cart."), record(began())])
        .shows("slug ended before")
        .shows("slug ended while a `!` command of yours ran.");
}
