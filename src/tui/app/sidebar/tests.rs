//! Tests of the list's keys and of the requests they make.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::samples::{HERE, at, fork, id, list, now, row, week};
use super::*;
use crate::agent::{AgentCommand, ForkPosition};
use crate::domain::MessageRole;
use crate::session::{
    BranchComparison, ExportedFile, SearchHitSource, SessionBranch, SessionSearchHit,
    SessionSearchResult,
};
use crate::tui::app::composer::ChatComposer;
use crate::tui::app::geometry::{CellRect, PageGeometry, ScreenGeometry};
use crate::tui::app::model::{KeyboardFocus, ScreenModel, ScreenSettings};
use crate::tui::app::overlay::Overlay;
use crate::tui::app::pager::document::PagerDocument;
use crate::tui::app::sessions::{BranchPage, BranchPageRequest, PreviewMessage, SessionPreview};
use crate::tui::app::status::ScreenStatus;
use crate::tui::app::{ScreenMsg, update};

/// A screen with the list open and filled.
struct TestSidebar {
    model: ScreenModel,
    effects: Vec<ScreenEffect>,
}

impl TestSidebar {
    fn of(list: SessionList) -> Self {
        let mut screen = Self::closed(120);
        screen.press("ctrl+b");
        let id = screen.asked();
        screen.answer(id, Ok(SessionStoreResponse::Listed(list)));
        screen
    }

    fn closed(width: u16) -> Self {
        let settings = ScreenSettings { cwd: HERE.into(), ..ScreenSettings::default() };
        let mut model = ScreenModel::new(
            settings,
            ScreenStatus::default(),
            ChatComposer::new(Vec::new(), ""),
            (width, 40),
        );
        model.geometry.sidebar = Some(CellRect { x: 1, y: 1, width: 38, height: 10 });
        Self { model, effects: Vec::new() }
    }

    /// Presses keys: names, or characters to type.
    fn press(&mut self, keys: &str) -> &mut Self {
        for name in keys.split(' ') {
            let (code, modifiers) = match name {
                "ctrl+b" => (KeyCode::Char('b'), KeyModifiers::CONTROL),
                "enter" => (KeyCode::Enter, KeyModifiers::NONE),
                "esc" => (KeyCode::Esc, KeyModifiers::NONE),
                "tab" => (KeyCode::Tab, KeyModifiers::NONE),
                "up" => (KeyCode::Up, KeyModifiers::NONE),
                "down" => (KeyCode::Down, KeyModifiers::NONE),
                "home" => (KeyCode::Home, KeyModifiers::NONE),
                "end" => (KeyCode::End, KeyModifiers::NONE),
                "pgdn" => (KeyCode::PageDown, KeyModifiers::NONE),
                "pgup" => (KeyCode::PageUp, KeyModifiers::NONE),
                "del" => (KeyCode::Delete, KeyModifiers::NONE),
                one => (KeyCode::Char(one.chars().next().unwrap()), KeyModifiers::NONE),
            };
            self.effects = update(&mut self.model, ScreenMsg::Key(KeyEvent::new(code, modifiers)));
        }
        self
    }

    fn typed(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            let key = KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
            self.effects = update(&mut self.model, ScreenMsg::Key(key));
        }
        self
    }

    fn answer(&mut self, id: RequestId, answer: Result<SessionStoreResponse, String>) -> &mut Self {
        self.effects = update(&mut self.model, ScreenMsg::Sessions { id, answer });
        self
    }

    /// The last request that the last message led to.
    fn asked(&self) -> RequestId {
        match self.effects.last() {
            Some(ScreenEffect::Sessions { id, .. }) => *id,
            other => panic!("{other:?}"),
        }
    }

    fn jobs(&self) -> Vec<SessionStoreRequest> {
        let job = |effect: &ScreenEffect| match effect {
            ScreenEffect::Sessions { job, .. } => Some(job.clone()),
            _ => None,
        };
        self.effects.iter().filter_map(job).collect()
    }

    fn selected(&self) -> &str {
        self.model.sidebar.session().map_or("", SessionRow::name)
    }

    fn note(&self) -> &str {
        self.model.sidebar.note.as_ref().map_or("", |note| note.text.as_str())
    }

    fn titles(&self) -> Vec<String> {
        let tree = self.model.sidebar.tree.as_ref().unwrap();
        let lines = 0..tree.lines().len();
        lines.filter_map(|line| Some(tree.session_at(line)?.name().to_owned())).collect()
    }
}

#[test]
fn keys_move_over_headings_and_stop_at_the_ends() {
    let cases = [
        ("up", "Fix empty cart checkout"),
        ("j", "try sum() instead"),
        ("down down down down", "Upgrade to axum 0.9"),
        ("down down down down down", "Flaky inventory test"),
        ("down down down down down k", "Upgrade to axum 0.9"),
        ("end", "Untitled"),
        ("end j", "Untitled"),
        ("end home", "Fix empty cart checkout"),
        ("pgdn", "A first look"),
        ("pgdn pgup", "try sum() instead"),
    ];
    for (keys, title) in cases {
        assert_eq!(TestSidebar::of(week()).press(keys).selected(), title, "{keys}");
    }
}

#[test]
fn the_selected_session_is_always_on_screen_with_its_heading() {
    let mut screen = TestSidebar::of(week());
    let rows = 10;
    for key in ["down"; 12].into_iter().chain(["up"; 12]) {
        screen.press(key);
        let sidebar = &screen.model.sidebar;
        let first = sidebar.first_shown(rows);
        assert!((first..first + rows).contains(&sidebar.selected()), "{key}");
    }
    assert_eq!(screen.model.sidebar.first_shown(rows), 0, "the heading above the first is shown");
}

#[test]
fn enter_opens_and_f_forks() {
    let session = id(1);
    let mut screen = TestSidebar::of(week());
    screen.press("enter");
    assert_eq!(screen.effects, [ScreenEffect::Agent(AgentCommand::Resume { session })]);
    screen.press("f");
    assert_eq!(
        screen.effects,
        [ScreenEffect::Agent(AgentCommand::Fork { session, at: ForkPosition::End })]
    );
}

#[test]
fn enter_on_the_open_session_returns_to_it_and_it_cannot_be_deleted() {
    let mut screen = TestSidebar::of(week());
    screen.model.status.session = Some(id(1));
    screen.press("d");
    assert!(screen.jobs().is_empty());
    assert!(screen.note().contains("Open another one first"), "{}", screen.note());
    screen.press("enter");
    assert!(screen.effects.is_empty());
    assert_eq!(screen.model.focus, KeyboardFocus::Input);
}

#[test]
fn a_session_locked_by_another_slug_is_not_opened() {
    let mut screen = TestSidebar::of(list(vec![SessionRow {
        lock: SessionLockState::Locked,
        ..row(1, "a", 1)
    }]));
    screen.press("enter");
    assert!(screen.effects.is_empty());
    assert!(screen.note().contains("Fork it with f"), "{}", screen.note());
}

#[test]
fn renaming_shows_at_once_and_is_reverted_when_it_fails() {
    let mut screen = TestSidebar::of(week());
    screen.press("r").typed(" now").press("enter");
    let title = "Fix empty cart checkout now";
    assert_eq!(screen.selected(), title);
    assert_eq!(
        screen.jobs(),
        [SessionStoreRequest::Rename { session: id(1), title: title.into() }]
    );
    let id = screen.asked();
    screen.answer(id, Err("The disk is full.".into()));
    assert_eq!(
        (screen.selected(), screen.note()),
        ("Fix empty cart checkout", "The disk is full.")
    );
}

#[test]
fn letters_in_a_title_are_letters() {
    let mut screen = TestSidebar::of(week());
    screen.press("r").typed("dfu/").press("esc");
    assert!(screen.effects.is_empty());
    assert_eq!(screen.selected(), "Fix empty cart checkout");
    assert_eq!(screen.model.sidebar.mode, SidebarMode::Browsing);
}

#[test]
fn the_open_session_gets_its_title_from_the_agent() {
    let mut screen = TestSidebar::of(week());
    screen.model.status.session = Some(id(1));
    screen.press("r").typed("!").press("enter");
    let title = "Fix empty cart checkout!".to_owned();
    assert_eq!(screen.effects, [ScreenEffect::Agent(AgentCommand::SetTitle(title))]);
}

#[test]
fn deleting_shows_at_once_and_is_undone() {
    let mut screen = TestSidebar::of(week());
    let before = screen.titles();
    screen.press("down del");
    assert_eq!(screen.jobs(), [SessionStoreRequest::Trash { session: id(2) }]);
    assert!(!screen.titles().contains(&"try sum() instead".to_owned()));
    assert!(screen.note().contains("u brings it back"));
    let trashed = screen.asked();
    screen.answer(trashed, Ok(SessionStoreResponse::Changed));
    screen.press("u");
    assert_eq!(screen.jobs(), [SessionStoreRequest::Restore { session: id(2) }]);
    assert_eq!(screen.titles(), before);
    assert_eq!(screen.selected(), "try sum() instead");
    let restored = screen.asked();
    screen.answer(restored, Err("There is a session already.".into()));
    assert!(screen.model.sidebar.can_undo(), "it can be tried again");
    assert!(!screen.titles().contains(&"try sum() instead".to_owned()));
}

#[test]
fn changes_reach_the_disk_one_after_another() {
    let mut screen = TestSidebar::of(week());
    screen.press("d");
    let first = screen.asked();
    screen.press("d");
    assert!(screen.jobs().is_empty(), "the first is still under way");
    screen.press("u");
    screen.answer(first, Ok(SessionStoreResponse::Changed));
    let second = screen.jobs();
    assert!(matches!(second.as_slice(), [SessionStoreRequest::Trash { .. }]), "{second:?}");
    let id = screen.asked();
    screen.answer(id, Ok(SessionStoreResponse::Changed));
    assert!(matches!(screen.jobs().as_slice(), [SessionStoreRequest::Restore { .. }]));
}

#[test]
fn a_session_that_could_not_be_deleted_comes_back() {
    let mut screen = TestSidebar::of(week());
    let before = screen.titles();
    screen.press("d");
    let id = screen.asked();
    screen.press("u");
    screen.answer(id, Err("It is open in process 7.".into()));
    assert_eq!(screen.titles(), before);
    assert!(screen.jobs().is_empty(), "nothing is there to bring back");
    assert!(!screen.model.sidebar.can_undo());
    assert_eq!(screen.note(), "It is open in process 7.");
}

#[test]
fn a_deletion_can_be_undone_after_the_list_was_closed() {
    let mut screen = TestSidebar::of(week());
    screen.press("d");
    let id = screen.asked();
    screen.answer(id, Ok(SessionStoreResponse::Changed)).press("esc ctrl+b");
    let listing = screen.asked();
    screen.answer(listing, Ok(SessionStoreResponse::Listed(list(vec![row(5, "other", 1)]))));
    screen.press("u");
    assert_eq!(screen.titles(), ["other", "Fix empty cart checkout"]);
}

#[test]
fn a_list_read_while_something_changed_is_read_again() {
    let mut screen = TestSidebar::of(week());
    screen.press("tab ctrl+b");
    let stale = screen.asked();
    screen.press("d");
    let change = screen.asked();
    screen.answer(stale, Ok(SessionStoreResponse::Listed(week())));
    assert!(!screen.titles().contains(&"Fix empty cart checkout".to_owned()));
    screen.answer(change, Ok(SessionStoreResponse::Changed));
    assert_eq!(screen.jobs(), [SessionStoreRequest::List]);
}

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
    assert_eq!(screen.model.focus, KeyboardFocus::Input);
}

#[test]
fn enter_opens_the_filtered_session_and_it_stays_selected() {
    let mut screen = TestSidebar::of(week());
    screen.press("/").typed("fl").press("down enter");
    assert_eq!(screen.effects, [ScreenEffect::Agent(AgentCommand::Resume { session: id(6) })]);
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

#[test]
fn g_shows_this_project_alone_and_all_again() {
    let mut screen = TestSidebar::of(week());
    assert_eq!(screen.press("g").titles().len(), 8);
    assert_eq!(screen.press("g").titles().len(), 10);
}

#[test]
fn a_preview_follows_the_selection_one_read_at_a_time() {
    let mut screen = TestSidebar::of(week());
    screen.press("p");
    assert_eq!(screen.jobs(), [SessionStoreRequest::Preview { session: id(1) }]);
    let first = screen.asked();
    assert!(screen.press("down down down").jobs().is_empty());
    let preview = SessionPreview {
        messages: vec![PreviewMessage {
            entry: EntryId::generate(),
            role: MessageRole::User,
            text: "hello".into(),
        }],
    };
    screen.answer(first, Ok(SessionStoreResponse::Previewed(preview.clone())));
    assert_eq!(
        screen.jobs(),
        [SessionStoreRequest::Preview { session: id(3) }],
        "the one selected now"
    );
    let second = screen.asked();
    screen.answer(first, Err("stale".into()));
    screen.answer(second, Ok(SessionStoreResponse::Previewed(preview.clone())));
    assert_eq!(screen.model.sidebar.pane.of(id(3)), Some(&Ok(preview)));
    assert!(screen.jobs().is_empty());
    assert_eq!(screen.press("p").model.sidebar.pane, SidebarPreview::Closed);
}

#[test]
fn leaving_keeps_the_list_beside_the_chat_and_closes_it_over_the_chat() {
    for (width, visibility) in [(120, SidebarVisibility::Shown), (80, SidebarVisibility::Hidden)] {
        let mut screen = TestSidebar::closed(width);
        screen.press("ctrl+b").press("tab");
        assert_eq!(screen.model.focus, KeyboardFocus::Input);
        assert_eq!(screen.model.sidebar.visibility, visibility, "{width}");
    }
}

#[test]
fn the_key_that_opens_the_list_closes_it_from_within() {
    for keys in ["ctrl+b", "/ ctrl+b", "r ctrl+b"] {
        let mut screen = TestSidebar::of(week());
        screen.press(keys);
        assert_eq!(screen.model.focus, KeyboardFocus::Input, "{keys}");
        assert_eq!(screen.model.sidebar.visibility, SidebarVisibility::Hidden, "{keys}");
    }
    let mut screen = TestSidebar::of(week());
    screen.press("tab").press("ctrl+b");
    assert_eq!(screen.model.focus, KeyboardFocus::Sidebar, "from outside it goes to the list");
}

#[test]
fn a_screen_made_narrow_shows_the_chat_unless_the_list_has_the_focus() {
    let mut screen = TestSidebar::of(week());
    assert!(matches!(on_screen(&screen.model), Some(SidebarPlacement::Beside(_))));
    update(&mut screen.model, ScreenMsg::Resized { width: 80, height: 24 });
    assert!(matches!(on_screen(&screen.model), Some(SidebarPlacement::Over(_))));
    update(&mut screen.model, ScreenMsg::Resized { width: 120, height: 24 });
    screen.press("tab");
    update(&mut screen.model, ScreenMsg::Resized { width: 80, height: 24 });
    assert_eq!(on_screen(&screen.model), None);
}

#[test]
fn a_click_selects_and_another_one_opens() {
    use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
    let mut screen = TestSidebar::of(week());
    let click = |row| {
        let kind = MouseEventKind::Down(MouseButton::Left);
        ScreenMsg::Mouse(MouseEvent { kind, column: 5, row, modifiers: KeyModifiers::NONE })
    };
    assert!(update(&mut screen.model, click(3)).is_empty());
    assert_eq!(screen.selected(), "try sum() instead");
    assert!(update(&mut screen.model, click(1)).is_empty(), "a heading is not opened");
    assert_eq!(screen.selected(), "try sum() instead");
    let effects = update(&mut screen.model, click(3));
    assert_eq!(effects, [ScreenEffect::Agent(AgentCommand::Resume { session: id(2) })]);
}

#[test]
fn a_failure_after_the_list_was_closed_is_shown_as_a_toast() {
    let mut screen = TestSidebar::of(week());
    screen.press("d");
    let change = screen.asked();
    screen.press("esc").answer(change, Err("The disk is full.".into()));
    assert_eq!(screen.model.toast.as_ref().unwrap().text, "The disk is full.");
}

#[test]
fn unused_keys_reach_the_chat_but_letters_do_not_reach_the_input() {
    let mut screen = TestSidebar::of(week());
    screen.typed("zq");
    assert!(screen.model.composer.is_empty());
    let palette = KeyEvent::new(KeyCode::Char('p'), KeyModifiers::CONTROL);
    update(&mut screen.model, ScreenMsg::Key(palette));
    assert_eq!(screen.model.overlays.len(), 1);
}

#[test]
fn a_list_that_cannot_be_read_says_why() {
    let mut screen = TestSidebar::closed(120);
    screen.press("ctrl+b");
    let id = screen.asked();
    screen.answer(id, Err("cannot list /x: no".into()));
    assert_eq!(screen.note(), "cannot list /x: no");
}

#[test]
fn opening_another_session_reads_the_list_again() {
    let mut screen = TestSidebar::of(week());
    let opened =
        crate::agent::AgentEvent::SessionOpened { session: id(2), records: Vec::new().into() };
    screen.effects = update(&mut screen.model, ScreenMsg::Agent(Box::new(opened)));
    assert_eq!(screen.jobs(), [SessionStoreRequest::List]);
    assert_eq!(screen.model.focus, KeyboardFocus::Input);
    let listing = screen.asked();
    screen.answer(listing, Ok(SessionStoreResponse::Listed(week())));
    assert_eq!(screen.selected(), "Fix empty cart checkout");
}

#[test]
fn time_goes_on_while_the_list_is_open() {
    let mut screen = TestSidebar::of(week());
    update(&mut screen.model, ScreenMsg::Tick(Duration::from_secs(300)));
    let clock = screen.model.sidebar.clock(screen.model.now).unwrap();
    assert_eq!(age(row(1, "", 12).last_used_at, clock), "17m");
    assert_eq!(now() + TimeDelta::minutes(5), clock);
}

#[test]
fn a_list_of_ten_thousand_sessions_works() {
    let rows = (1..=10_000).map(|number| match number % 4 {
        0 => at("/home/me/blog", row(number, "a post", 5)),
        1 => row(number, "a session", i64::try_from(number).unwrap()),
        _ => fork(number - 1, row(number, "a fork", 5)),
    });
    let mut screen = TestSidebar::of(list(rows.collect()));
    assert_eq!(screen.titles().len(), 10_000);
    screen.press("end");
    assert_eq!(
        screen.model.sidebar.selected() + 1,
        screen.model.sidebar.tree.as_ref().unwrap().lines().len()
    );
    screen.press("home d");
    assert_eq!(screen.titles().len(), 9_999);
    screen.press("/").typed("post");
    assert_eq!(screen.titles().len(), 2_500);
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
    assert_eq!(sessions[..3], [id(3), id(4), id(2)], "the newest first");
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
    assert_eq!(screen.effects, [ScreenEffect::Agent(AgentCommand::Resume { session: id(4) })]);
    assert!(screen.model.pending_jump.is_some());
}

#[test]
fn x_exports_a_session_and_says_where_the_file_is() {
    let mut screen = TestSidebar::of(week());
    screen.model.settings.home = Some("/home/me".into());
    screen.press("x");
    assert_eq!(screen.jobs(), [SessionStoreRequest::Export { session: id(1) }]);
    assert_eq!(screen.note(), "“Fix empty cart checkout” is being exported …");
    let asked = screen.asked();
    screen.press("down x");
    let other = screen.asked();
    let file = |redacted| {
        let path = "/home/me/.slug/exports/cart-1.html".into();
        Ok(SessionStoreResponse::Exported(ExportedFile { path, redacted }))
    };
    screen.answer(asked, file(0));
    assert_eq!(screen.note(), "Exported to ~/.slug/exports/cart-1.html.");
    screen.answer(other, Err("cannot write it: full".into()));
    assert_eq!(screen.note(), "It is not exported: cannot write it: full");
    screen.press("x");
    let asked = screen.asked();
    screen.press("ctrl+b").answer(asked, file(2));
    let toast = screen.model.toast.as_ref().unwrap();
    assert!(toast.text.ends_with("cart-1.html. 2 secrets were taken out."), "{toast:?}");
}

#[test]
fn the_grouping_goes_round_and_is_remembered() {
    let mut screen = TestSidebar::of(week());
    for grouping in [SessionGrouping::Date, SessionGrouping::Forks, SessionGrouping::Project] {
        screen.press("v");
        assert_eq!(screen.jobs(), [SessionStoreRequest::Group(grouping)]);
        assert_eq!(screen.selected(), "Fix empty cart checkout", "what was selected stays so");
    }
}

#[test]
fn a_fork_begins_after_the_selected_message_of_the_preview() {
    let mut screen = TestSidebar::of(week());
    screen.press("p");
    let message = |n: usize| PreviewMessage {
        entry: EntryId::generate(),
        role: MessageRole::User,
        text: format!("message {n}"),
    };
    let preview = SessionPreview { messages: (0..5).map(message).collect() };
    screen.answer(screen.asked(), Ok(SessionStoreResponse::Previewed(preview.clone())));
    let session = id(1);
    screen.press("f");
    assert_eq!(
        screen.effects,
        [ScreenEffect::Agent(AgentCommand::Fork { session, at: ForkPosition::End })]
    );
    screen.press("K K K J f");
    let at = ForkPosition::After(preview.messages[3].entry);
    assert_eq!(screen.effects, [ScreenEffect::Agent(AgentCommand::Fork { session, at })]);
}

#[test]
fn the_newest_are_there_at_once_and_all_a_moment_later() {
    let first = || list(week().rows.into_iter().take(2).collect());
    let asked = |screen: &mut TestSidebar| {
        screen.press("ctrl+b");
        assert_eq!(screen.jobs(), [SessionStoreRequest::Newest, SessionStoreRequest::List]);
        let ids = screen.effects.iter().filter_map(|effect| match effect {
            ScreenEffect::Sessions { id, .. } => Some(*id),
            _ => None,
        });
        ids.collect::<Vec<_>>()
    };
    let mut screen = TestSidebar::closed(120);
    let ids = asked(&mut screen);
    screen.answer(ids[0], Ok(SessionStoreResponse::Listed(list(Vec::new()))));
    assert_eq!(screen.model.sidebar.tree, None, "that none is known says nothing");
    screen.answer(ids[1], Ok(SessionStoreResponse::Listed(first())));
    screen.answer(ids[0], Ok(SessionStoreResponse::Listed(week())));
    assert_eq!(screen.titles().len(), 2, "all of them were faster");
    for (key, title) in [(None, "newer still"), (Some("down"), "try sum() instead")] {
        let mut screen = TestSidebar::closed(120);
        let ids = asked(&mut screen);
        screen.answer(ids[0], Ok(SessionStoreResponse::Listed(first())));
        assert_eq!(screen.titles().len(), 2);
        key.map(|key| screen.press(key).jobs());
        let all = [vec![row(20, "newer still", 1)], week().rows].concat();
        screen.answer(ids[1], Ok(SessionStoreResponse::Listed(list(all))));
        assert_eq!(screen.titles().len(), 11);
        assert_eq!(screen.selected(), title, "what was chosen stays, else the first is selected");
    }
}

#[test]
fn c_on_two_sessions_compares_them() {
    let mut screen = TestSidebar::of(week());
    screen.press("c");
    assert!(screen.note().contains("“Fix empty cart checkout” is compared with"));
    assert!(screen.jobs().is_empty());
    screen.press("c");
    assert_eq!((screen.jobs(), screen.model.sidebar.marked()), (Vec::new(), None));
    screen.press("c down c");
    let asked = screen.asked();
    let sessions = [id(1), id(2)];
    let page = BranchPageRequest { document: asked.0, width: screen.model.geometry.width - 2 };
    assert_eq!(screen.jobs(), [SessionStoreRequest::Compare { sessions, page }]);
    screen.answer(asked, Ok(SessionStoreResponse::Compared(page_of(page))));
    assert!(matches!(screen.model.overlays.last(), Some(Overlay::Pager(_))));
}

/// A comparison of two empty branches.
fn page_of(page: BranchPageRequest) -> BranchPage {
    let branch = || SessionBranch { title: None, said: Vec::new(), files: Vec::new() };
    let branches =
        BranchComparison { shared: 0, last_shared: None, branches: [branch(), branch()] };
    let document = Arc::new(PagerDocument::new(page.document, "A and B"));
    BranchPage { branches: Arc::new(branches), width: page.width, document }
}

#[test]
fn a_comparison_is_laid_out_for_the_width_that_it_is_drawn_in() {
    let mut screen = TestSidebar::of(week());
    screen.press("c down c");
    let order = BranchPageRequest { document: screen.asked().0, width: 118 };
    screen.answer(screen.asked(), Ok(SessionStoreResponse::Compared(page_of(order))));
    let drawn = |screen: &mut TestSidebar, width| {
        let area = CellRect { x: 1, y: 2, width, height: 20 };
        let page = Some(PageGeometry { area, ..PageGeometry::default() });
        let geometry = ScreenGeometry { page, ..screen.model.geometry.clone() };
        screen.effects = update(&mut screen.model, ScreenMsg::Drawn(Box::new(geometry)));
    };
    drawn(&mut screen, 118);
    assert!(screen.effects.is_empty(), "it has that width");
    drawn(&mut screen, 78);
    let asked = screen.asked();
    let order = BranchPageRequest { document: asked.0, width: 78 };
    let branches = page_of(order).branches;
    assert_eq!(screen.jobs(), [SessionStoreRequest::Lay { branches, page: order }]);
    drawn(&mut screen, 60);
    assert!(screen.effects.is_empty(), "one at a time");
    screen.answer(asked, Ok(SessionStoreResponse::Compared(page_of(order))));
    drawn(&mut screen, 60);
    assert_eq!(screen.jobs().len(), 1, "and then for what it is now");
}

#[test]
fn a_summary_is_appended_to_the_input_and_not_sent() {
    let mut screen = TestSidebar::of(week());
    screen.model.status.session = Some(id(5));
    screen.model.composer.load("look at this:");
    screen.press("s");
    let beside = Some(id(5));
    assert_eq!(screen.jobs(), [SessionStoreRequest::SumUp { session: id(1), beside }]);
    screen
        .answer(screen.asked(), Ok(SessionStoreResponse::SummedUp("From another session".into())));
    let typed = screen.model.composer.expanded();
    assert!(
        typed.starts_with("look at this:") && typed.ends_with("From another session"),
        "{typed}"
    );
    assert_eq!(screen.model.focus, KeyboardFocus::Input);
    assert!(screen.effects.iter().all(|effect| !matches!(effect, ScreenEffect::Agent(_))));
}
