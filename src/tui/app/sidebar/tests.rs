//! Tests of the list's keys and of the requests they make.

mod changes;
mod contents;
mod search;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::tui::test_screen::AGENT;

use super::samples::{HERE, at, fork, id, list, now, row, week};
use super::*;
use crate::agent::{AgentCommand, ForkPosition};
use crate::tui::app::conversation::composer::ChatComposer;
use crate::tui::app::conversation::status::ConversationStatus;
use crate::tui::app::focus::KeyboardFocus;
use crate::tui::app::geometry::CellRect;
use crate::tui::app::model::ScreenModel;
use crate::tui::app::settings::ScreenSettings;
use crate::tui::app::{ScreenMsg, update};

/// A screen with the list open and filled.
struct TestSidebar {
    model: ScreenModel,
    effects: Vec<ScreenEffect>,
}

impl TestSidebar {
    fn placement(&self) -> Option<SidebarPlacement> {
        let ScreenModel { sidebar, shared, conversation, .. } = &self.model;
        on_screen(sidebar, shared.geometry.width, conversation.focus)
    }

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
            AGENT,
            settings,
            ConversationStatus::default(),
            ChatComposer::new(Vec::new(), ""),
            (width, 40),
        );
        model.shared.geometry.sidebar = Some(CellRect { x: 1, y: 1, width: 38, height: 10 });
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
    assert_eq!(screen.effects, [ScreenEffect::Agent(AGENT, AgentCommand::Resume { session })]);
    screen.press("f");
    assert_eq!(
        screen.effects,
        [ScreenEffect::Agent(AGENT, AgentCommand::Fork { session, at: ForkPosition::End })]
    );
}

#[test]
fn enter_on_the_open_session_returns_to_it_and_it_cannot_be_deleted() {
    let mut screen = TestSidebar::of(week());
    screen.model.conversation.status.session = Some(id(1));
    screen.press("d");
    assert!(screen.jobs().is_empty());
    assert!(screen.note().contains("Open another one first"), "{}", screen.note());
    screen.press("enter");
    assert!(screen.effects.is_empty());
    assert_eq!(screen.model.conversation.focus, KeyboardFocus::Input);
}

#[test]
fn a_session_locked_by_another_slug_is_not_opened() {
    let mut screen = TestSidebar::of(list(vec![SessionRow {
        lock: SessionLockState::Locked,
        ..row(1, "a", 1)
    }]));
    screen.press("enter");
    assert!(screen.effects.is_empty());
    assert!(screen.note().contains("fork it with f"), "{}", screen.note());
}

#[test]
fn g_shows_this_project_alone_and_all_again() {
    let mut screen = TestSidebar::of(week());
    assert_eq!(screen.press("g").titles().len(), 8);
    assert_eq!(screen.press("g").titles().len(), 10);
}

#[test]
fn leaving_keeps_the_list_beside_the_chat_and_closes_it_over_the_chat() {
    for (width, visibility) in [(120, SidebarVisibility::Shown), (80, SidebarVisibility::Hidden)] {
        let mut screen = TestSidebar::closed(width);
        screen.press("ctrl+b").press("tab");
        assert_eq!(screen.model.conversation.focus, KeyboardFocus::Input);
        assert_eq!(screen.model.sidebar.visibility, visibility, "{width}");
    }
}

#[test]
fn the_key_that_opens_the_list_closes_it_from_within() {
    for keys in ["ctrl+b", "/ ctrl+b", "r ctrl+b"] {
        let mut screen = TestSidebar::of(week());
        screen.press(keys);
        assert_eq!(screen.model.conversation.focus, KeyboardFocus::Input, "{keys}");
        assert_eq!(screen.model.sidebar.visibility, SidebarVisibility::Hidden, "{keys}");
    }
    let mut screen = TestSidebar::of(week());
    screen.press("tab").press("ctrl+b");
    assert_eq!(
        screen.model.conversation.focus,
        KeyboardFocus::Sidebar,
        "from outside it goes to the list"
    );
}

#[test]
fn a_screen_made_narrow_shows_the_chat_unless_the_list_has_the_focus() {
    let mut screen = TestSidebar::of(week());
    assert!(matches!(screen.placement(), Some(SidebarPlacement::Beside(_))));
    update(&mut screen.model, ScreenMsg::Resized { width: 80, height: 24 });
    assert!(matches!(screen.placement(), Some(SidebarPlacement::Over(_))));
    update(&mut screen.model, ScreenMsg::Resized { width: 120, height: 24 });
    screen.press("tab");
    update(&mut screen.model, ScreenMsg::Resized { width: 80, height: 24 });
    assert_eq!(screen.placement(), None);
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
    assert_eq!(effects, [ScreenEffect::Agent(AGENT, AgentCommand::Resume { session: id(2) })]);
}

#[test]
fn unused_keys_reach_the_chat_but_letters_do_not_reach_the_input() {
    let mut screen = TestSidebar::of(week());
    screen.typed("zq");
    assert!(screen.model.conversation.composer.is_empty());
    let palette = KeyEvent::new(KeyCode::Char('p'), KeyModifiers::CONTROL);
    update(&mut screen.model, ScreenMsg::Key(palette));
    assert_eq!(screen.model.dialogs.len(), 1);
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
    screen.effects = update(&mut screen.model, ScreenMsg::Agent(AGENT, Box::new(opened)));
    let asked = screen.jobs();
    assert!(
        matches!(asked[..], [SessionStoreRequest::Recent { .. }, SessionStoreRequest::List]),
        "{asked:?}"
    );
    assert_eq!(screen.model.conversation.focus, KeyboardFocus::Input);
    let listing = screen.asked();
    screen.answer(listing, Ok(SessionStoreResponse::Listed(week())));
    assert_eq!(screen.selected(), "Fix empty cart checkout");
}

#[test]
fn time_goes_on_while_the_list_is_open() {
    let mut screen = TestSidebar::of(week());
    update(&mut screen.model, ScreenMsg::Tick(Duration::from_secs(300)));
    let clock = screen.model.sidebar.clock(screen.model.shared.now).unwrap();
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
