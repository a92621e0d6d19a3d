//! Tests of the filter and of the search in messages.

use super::*;
use crate::session::{SearchHitSource, SessionSearchHit, SessionSearchResult};

#[test]
fn typing_after_a_slash_filters_and_commands_are_letters_there() {
    let mut screen = TestSidebar::of(week());
    screen.press("/").typed("fl");
    assert_eq!(screen.titles(), ["with a feature flag", "Flaky inventory test"]);
    screen.typed("d");
    assert!(screen.titles().is_empty() && screen.jobs().is_empty());
    assert_eq!(screen.selected(), "");
    screen.press("esc");
    assert_eq!(screen.titles().len(), 10);
    assert_eq!(screen.model.sidebar.visibility, SidebarVisibility::Shown);
    screen.press("esc");
    assert_eq!(screen.model.sidebar.visibility, SidebarVisibility::Hidden);
    assert_eq!(screen.model.conversation.focus, KeyboardFocus::Input);
}

#[test]
fn enter_opens_the_filtered_session_and_it_stays_selected() {
    let mut screen = TestSidebar::of(week());
    screen.press("/").typed("fl").press("down enter");
    assert_eq!(
        screen.effects,
        [ScreenEffect::Agent(AGENT, AgentCommand::Resume { session: id(6) })]
    );
    screen.press("esc");
    assert_eq!(screen.selected(), "Flaky inventory test");
}

#[test]
fn pasting_filters_too() {
    let mut screen = TestSidebar::of(week());
    screen.press("/");
    update(&mut screen.model, ScreenMsg::Paste("axum".into()));
    assert_eq!(screen.titles(), ["Upgrade to axum 0.9"]);
}

/// A session with one search hit.
fn found(session: u128) -> SessionSearchResult {
    let place = SessionSearchHit {
        entry: EntryId::generate(),
        call: None,
        timestamp: now().into(),
        who: SearchHitSource::User,
        before: String::new(),
        found: "cart".into(),
        behind: String::new(),
    };
    SessionSearchResult { session: id(session), places: vec![place], more: false }
}

/// The text of each search that the last message started; "" for a stop.
fn searches(screen: &TestSidebar) -> Vec<&str> {
    fn text(effect: &ScreenEffect) -> Option<&str> {
        match effect {
            ScreenEffect::SearchSessions { text, .. } => Some(text),
            ScreenEffect::StopSearch => Some(""),
            _ => None,
        }
    }
    screen.effects.iter().filter_map(text).collect()
}

#[test]
fn each_letter_starts_a_search_and_a_short_text_stops_it() {
    let mut screen = TestSidebar::of(week());
    let steps = [("/", None), ("c", None), ("a", Some("ca")), ("r", Some("car"))];
    for (key, text) in steps {
        let begun: Vec<&str> = text.into_iter().collect();
        assert_eq!(searches(screen.press(key)), begun, "{key}");
    }
    assert_eq!(searches(screen.typed(" ")), [""; 0], "the text is the same");
    assert_eq!(searches(screen.typed("model:x")), ["car"], "in fewer sessions");
    assert_eq!(searches(screen.press("esc")), [""]);
    screen.press("/").typed("日");
    assert_eq!(searches(&screen), ["日"]);
    assert_eq!(searches(screen.press("ctrl+b")), [""], "a list that is gone looks for nothing");
}

#[test]
fn text_typed_before_the_list_is_loaded_is_searched_in_all_sessions() {
    let ids = |screen: &TestSidebar| {
        let id = |effect: &ScreenEffect| match effect {
            ScreenEffect::Sessions { id, .. } => Some(*id),
            _ => None,
        };
        screen.effects.iter().filter_map(id).collect::<Vec<_>>()
    };
    for newest in [Vec::new(), vec![row(1, "Fix empty cart checkout", 12)]] {
        let mut screen = TestSidebar::closed(120);
        let asked = ids(screen.press("ctrl+b"));
        screen.press("/").typed("cart");
        screen.answer(asked[0], Ok(SessionStoreResponse::Listed(list(newest))));
        assert_eq!(searches(&screen), [""; 0]);
        screen.answer(asked[1], Ok(SessionStoreResponse::Listed(week())));
        let Some(ScreenEffect::SearchSessions { text, sessions, .. }) = screen.effects.last()
        else {
            panic!("{:?}", screen.effects)
        };
        assert_eq!((text.as_str(), sessions.len()), ("cart", week().rows.len()));
    }
}

#[test]
fn results_come_in_parts_and_the_selection_stays() {
    let mut screen = TestSidebar::of(week());
    screen.press("/").typed("cart");
    let Some(ScreenEffect::SearchSessions { id: asked, sessions, .. }) =
        screen.effects.last().cloned()
    else {
        panic!("{:?}", screen.effects)
    };
    assert_eq!(sessions[..3], [id(3), id(4), id(2)], "newest first");
    assert_eq!(screen.titles(), ["Fix empty cart checkout"]);
    update(
        &mut screen.model,
        ScreenMsg::SessionsFound { id: RequestId(999), found: vec![found(5)] },
    );
    assert_eq!(screen.titles().len(), 1, "of another search");
    update(
        &mut screen.model,
        ScreenMsg::SessionsFound { id: asked, found: vec![found(4), found(5)] },
    );
    assert_eq!(screen.selected(), "Fix empty cart checkout");
    assert_eq!(
        screen.model.sidebar.search_progress(),
        Some((2, SidebarSearchState::Running(asked)))
    );
    update(&mut screen.model, ScreenMsg::SessionsFound { id: asked, found: Vec::new() });
    assert_eq!(screen.model.sidebar.search_progress(), Some((2, SidebarSearchState::Done)));
    screen.press("down down");
    assert_eq!(screen.selected(), "and a property test", "its place is selected, too");
    screen.press("enter");
    assert_eq!(
        screen.effects,
        [ScreenEffect::Agent(AGENT, AgentCommand::Resume { session: id(4) })]
    );
    assert!(screen.model.conversation.pending_jump.is_some());
}
