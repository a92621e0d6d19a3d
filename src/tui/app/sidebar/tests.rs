//! Tests of the list's keys and of what they ask for.

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
        let mut scene = Self::closed(120);
        scene.press("ctrl+b");
        let id = scene.asked();
        scene.answer(id, Ok(SessionStoreResponse::Listed(list)));
        scene
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
    let mut scene = TestSidebar::of(week());
    let rows = 10;
    for key in ["down"; 12].into_iter().chain(["up"; 12]) {
        scene.press(key);
        let sidebar = &scene.model.sidebar;
        let first = sidebar.first_shown(rows);
        assert!((first..first + rows).contains(&sidebar.selected()), "{key}");
    }
    assert_eq!(scene.model.sidebar.first_shown(rows), 0, "the heading above the first is shown");
}

#[test]
fn enter_opens_and_f_forks() {
    let session = id(1);
    let mut scene = TestSidebar::of(week());
    scene.press("enter");
    assert_eq!(scene.effects, [ScreenEffect::Agent(AgentCommand::Resume { session })]);
    scene.press("f");
    assert_eq!(
        scene.effects,
        [ScreenEffect::Agent(AgentCommand::Fork { session, at: ForkPosition::End })]
    );
}

#[test]
fn the_open_session_is_gone_back_to_and_not_deleted() {
    let mut scene = TestSidebar::of(week());
    scene.model.status.session = Some(id(1));
    scene.press("d");
    assert!(scene.jobs().is_empty());
    assert!(scene.note().contains("Open another one first"), "{}", scene.note());
    scene.press("enter");
    assert!(scene.effects.is_empty());
    assert_eq!(scene.model.focus, KeyboardFocus::Input);
}

#[test]
fn a_session_that_runs_elsewhere_is_not_opened() {
    let mut scene = TestSidebar::of(list(vec![SessionRow {
        lock: SessionLockState::Locked,
        ..row(1, "a", 1)
    }]));
    scene.press("enter");
    assert!(scene.effects.is_empty());
    assert!(scene.note().contains("Fork it with f"), "{}", scene.note());
}

#[test]
fn renaming_shows_at_once_and_is_taken_back_when_it_fails() {
    let mut scene = TestSidebar::of(week());
    scene.press("r").typed(" now").press("enter");
    let title = "Fix empty cart checkout now";
    assert_eq!(scene.selected(), title);
    assert_eq!(scene.jobs(), [SessionStoreRequest::Rename { session: id(1), title: title.into() }]);
    let id = scene.asked();
    scene.answer(id, Err("The disk is full.".into()));
    assert_eq!((scene.selected(), scene.note()), ("Fix empty cart checkout", "The disk is full."));
}

#[test]
fn letters_in_a_title_are_letters() {
    let mut scene = TestSidebar::of(week());
    scene.press("r").typed("dfu/").press("esc");
    assert!(scene.effects.is_empty());
    assert_eq!(scene.selected(), "Fix empty cart checkout");
    assert_eq!(scene.model.sidebar.mode, SidebarMode::Browsing);
}

#[test]
fn the_open_session_gets_its_title_from_the_agent() {
    let mut scene = TestSidebar::of(week());
    scene.model.status.session = Some(id(1));
    scene.press("r").typed("!").press("enter");
    let title = "Fix empty cart checkout!".to_owned();
    assert_eq!(scene.effects, [ScreenEffect::Agent(AgentCommand::SetTitle(title))]);
}

#[test]
fn deleting_shows_at_once_and_is_undone() {
    let mut scene = TestSidebar::of(week());
    let before = scene.titles();
    scene.press("down del");
    assert_eq!(scene.jobs(), [SessionStoreRequest::Trash { session: id(2) }]);
    assert!(!scene.titles().contains(&"try sum() instead".to_owned()));
    assert!(scene.note().contains("u brings it back"));
    let trashed = scene.asked();
    scene.answer(trashed, Ok(SessionStoreResponse::Changed));
    scene.press("u");
    assert_eq!(scene.jobs(), [SessionStoreRequest::Restore { session: id(2) }]);
    assert_eq!(scene.titles(), before);
    assert_eq!(scene.selected(), "try sum() instead");
    let restored = scene.asked();
    scene.answer(restored, Err("There is a session already.".into()));
    assert!(scene.model.sidebar.can_undo(), "it can be tried again");
    assert!(!scene.titles().contains(&"try sum() instead".to_owned()));
}

#[test]
fn changes_reach_the_disk_one_after_another() {
    let mut scene = TestSidebar::of(week());
    scene.press("d");
    let first = scene.asked();
    scene.press("d");
    assert!(scene.jobs().is_empty(), "the first is still under way");
    scene.press("u");
    scene.answer(first, Ok(SessionStoreResponse::Changed));
    let second = scene.jobs();
    assert!(matches!(second.as_slice(), [SessionStoreRequest::Trash { .. }]), "{second:?}");
    let id = scene.asked();
    scene.answer(id, Ok(SessionStoreResponse::Changed));
    assert!(matches!(scene.jobs().as_slice(), [SessionStoreRequest::Restore { .. }]));
}

#[test]
fn what_could_not_be_deleted_comes_back() {
    let mut scene = TestSidebar::of(week());
    let before = scene.titles();
    scene.press("d");
    let id = scene.asked();
    scene.press("u");
    scene.answer(id, Err("It is open in process 7.".into()));
    assert_eq!(scene.titles(), before);
    assert!(scene.jobs().is_empty(), "nothing is there to bring back");
    assert!(!scene.model.sidebar.can_undo());
    assert_eq!(scene.note(), "It is open in process 7.");
}

#[test]
fn a_deletion_can_be_undone_after_the_list_was_closed() {
    let mut scene = TestSidebar::of(week());
    scene.press("d");
    let id = scene.asked();
    scene.answer(id, Ok(SessionStoreResponse::Changed)).press("esc ctrl+b");
    let listing = scene.asked();
    scene.answer(listing, Ok(SessionStoreResponse::Listed(list(vec![row(5, "other", 1)]))));
    scene.press("u");
    assert_eq!(scene.titles(), ["other", "Fix empty cart checkout"]);
}

#[test]
fn a_list_read_while_something_changed_is_read_again() {
    let mut scene = TestSidebar::of(week());
    scene.press("tab ctrl+b");
    let stale = scene.asked();
    scene.press("d");
    let change = scene.asked();
    scene.answer(stale, Ok(SessionStoreResponse::Listed(week())));
    assert!(!scene.titles().contains(&"Fix empty cart checkout".to_owned()));
    scene.answer(change, Ok(SessionStoreResponse::Changed));
    assert_eq!(scene.jobs(), [SessionStoreRequest::List]);
}

#[test]
fn typing_after_a_slash_filters_and_commands_are_letters_there() {
    let mut scene = TestSidebar::of(week());
    scene.press("/").typed("fl");
    assert_eq!(scene.titles(), ["with a feature flag", "Flaky inventory test"]);
    scene.typed("d");
    assert!(scene.titles().is_empty() && scene.jobs().is_empty());
    assert_eq!(scene.selected(), "");
    scene.press("esc");
    assert_eq!(scene.titles().len(), 10);
    assert_eq!(scene.model.sidebar.visibility, SidebarVisibility::Shown);
    scene.press("esc");
    assert_eq!(scene.model.sidebar.visibility, SidebarVisibility::Hidden);
    assert_eq!(scene.model.focus, KeyboardFocus::Input);
}

#[test]
fn what_was_found_is_opened_and_stays_selected() {
    let mut scene = TestSidebar::of(week());
    scene.press("/").typed("fl").press("down enter");
    assert_eq!(scene.effects, [ScreenEffect::Agent(AgentCommand::Resume { session: id(6) })]);
    scene.press("esc");
    assert_eq!(scene.selected(), "Flaky inventory test");
}

#[test]
fn pasting_filters_too() {
    let mut scene = TestSidebar::of(week());
    scene.press("/");
    update(&mut scene.model, ScreenMsg::Paste("axum".into()));
    assert_eq!(scene.titles(), ["Upgrade to axum 0.9"]);
}

#[test]
fn g_shows_this_project_alone_and_all_again() {
    let mut scene = TestSidebar::of(week());
    assert_eq!(scene.press("g").titles().len(), 8);
    assert_eq!(scene.press("g").titles().len(), 10);
}

#[test]
fn a_preview_follows_the_selection_one_read_at_a_time() {
    let mut scene = TestSidebar::of(week());
    scene.press("p");
    assert_eq!(scene.jobs(), [SessionStoreRequest::Preview { session: id(1) }]);
    let first = scene.asked();
    assert!(scene.press("down down down").jobs().is_empty());
    let preview = SessionPreview {
        messages: vec![PreviewMessage {
            entry: EntryId::generate(),
            role: MessageRole::User,
            text: "hello".into(),
        }],
    };
    scene.answer(first, Ok(SessionStoreResponse::Previewed(preview.clone())));
    assert_eq!(
        scene.jobs(),
        [SessionStoreRequest::Preview { session: id(3) }],
        "the one selected now"
    );
    let second = scene.asked();
    scene.answer(first, Err("stale".into()));
    scene.answer(second, Ok(SessionStoreResponse::Previewed(preview.clone())));
    assert_eq!(scene.model.sidebar.pane.of(id(3)), Some(&Ok(preview)));
    assert!(scene.jobs().is_empty());
    assert_eq!(scene.press("p").model.sidebar.pane, SidebarPreview::Closed);
}

#[test]
fn the_list_stays_beside_the_chat_and_goes_from_over_it() {
    for (width, presence) in [(120, SidebarVisibility::Shown), (80, SidebarVisibility::Hidden)] {
        let mut scene = TestSidebar::closed(width);
        scene.press("ctrl+b").press("tab");
        assert_eq!(scene.model.focus, KeyboardFocus::Input);
        assert_eq!(scene.model.sidebar.visibility, presence, "{width}");
    }
}

#[test]
fn the_key_that_opens_the_list_closes_it_from_within() {
    for keys in ["ctrl+b", "/ ctrl+b", "r ctrl+b"] {
        let mut scene = TestSidebar::of(week());
        scene.press(keys);
        assert_eq!(scene.model.focus, KeyboardFocus::Input, "{keys}");
        assert_eq!(scene.model.sidebar.visibility, SidebarVisibility::Hidden, "{keys}");
    }
    let mut scene = TestSidebar::of(week());
    scene.press("tab").press("ctrl+b");
    assert_eq!(scene.model.focus, KeyboardFocus::Sidebar, "from outside it goes to the list");
}

#[test]
fn a_screen_made_narrow_shows_the_chat_unless_the_keys_are_here() {
    let mut scene = TestSidebar::of(week());
    assert!(matches!(on_screen(&scene.model), Some(SidebarPlacement::Beside(_))));
    update(&mut scene.model, ScreenMsg::Resized { width: 80, height: 24 });
    assert!(matches!(on_screen(&scene.model), Some(SidebarPlacement::Over(_))));
    update(&mut scene.model, ScreenMsg::Resized { width: 120, height: 24 });
    scene.press("tab");
    update(&mut scene.model, ScreenMsg::Resized { width: 80, height: 24 });
    assert_eq!(on_screen(&scene.model), None);
}

#[test]
fn a_click_selects_and_another_one_opens() {
    use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
    let mut scene = TestSidebar::of(week());
    let click = |row| {
        let kind = MouseEventKind::Down(MouseButton::Left);
        ScreenMsg::Mouse(MouseEvent { kind, column: 5, row, modifiers: KeyModifiers::NONE })
    };
    assert!(update(&mut scene.model, click(3)).is_empty());
    assert_eq!(scene.selected(), "try sum() instead");
    assert!(update(&mut scene.model, click(1)).is_empty(), "a heading is not opened");
    assert_eq!(scene.selected(), "try sum() instead");
    let effects = update(&mut scene.model, click(3));
    assert_eq!(effects, [ScreenEffect::Agent(AgentCommand::Resume { session: id(2) })]);
}

#[test]
fn a_failure_after_the_list_was_closed_is_told_all_the_same() {
    let mut scene = TestSidebar::of(week());
    scene.press("d");
    let change = scene.asked();
    scene.press("esc").answer(change, Err("The disk is full.".into()));
    assert_eq!(scene.model.toast.as_ref().unwrap().text, "The disk is full.");
}

#[test]
fn keys_that_mean_nothing_here_reach_the_chat_but_no_letter_the_input() {
    let mut scene = TestSidebar::of(week());
    scene.typed("zq");
    assert!(scene.model.composer.is_empty());
    let palette = KeyEvent::new(KeyCode::Char('p'), KeyModifiers::CONTROL);
    update(&mut scene.model, ScreenMsg::Key(palette));
    assert_eq!(scene.model.overlays.len(), 1);
}

#[test]
fn a_list_that_cannot_be_read_says_why() {
    let mut scene = TestSidebar::closed(120);
    scene.press("ctrl+b");
    let id = scene.asked();
    scene.answer(id, Err("cannot list /x: no".into()));
    assert_eq!(scene.note(), "cannot list /x: no");
}

#[test]
fn another_session_opened_is_read_into_the_list() {
    let mut scene = TestSidebar::of(week());
    let opened =
        crate::agent::AgentEvent::SessionOpened { session: id(2), records: Vec::new().into() };
    scene.effects = update(&mut scene.model, ScreenMsg::Agent(Box::new(opened)));
    assert_eq!(scene.jobs(), [SessionStoreRequest::List]);
    assert_eq!(scene.model.focus, KeyboardFocus::Input);
    let listing = scene.asked();
    scene.answer(listing, Ok(SessionStoreResponse::Listed(week())));
    assert_eq!(scene.selected(), "Fix empty cart checkout");
}

#[test]
fn time_goes_on_while_the_list_is_open() {
    let mut scene = TestSidebar::of(week());
    update(&mut scene.model, ScreenMsg::Tick(Duration::from_secs(300)));
    let clock = scene.model.sidebar.clock(scene.model.now).unwrap();
    assert_eq!(age(row(1, "", 12).last_used_at, clock), "17m");
    assert_eq!(now() + TimeDelta::minutes(5), clock);
}

#[test]
fn ten_thousand_sessions_are_no_burden() {
    let rows = (1..=10_000).map(|number| match number % 4 {
        0 => at("/home/me/blog", row(number, "a post", 5)),
        1 => row(number, "a session", i64::try_from(number).unwrap()),
        _ => fork(number - 1, row(number, "a fork", 5)),
    });
    let mut scene = TestSidebar::of(list(rows.collect()));
    assert_eq!(scene.titles().len(), 10_000);
    scene.press("end");
    assert_eq!(
        scene.model.sidebar.selected() + 1,
        scene.model.sidebar.tree.as_ref().unwrap().lines().len()
    );
    scene.press("home d");
    assert_eq!(scene.titles().len(), 9_999);
    scene.press("/").typed("post");
    assert_eq!(scene.titles().len(), 2_500);
}

/// Where a text was found in a session.
fn found(session: u128) -> SessionSearchResult {
    let place = SessionSearchHit {
        entry: EntryId::generate(),
        call: None,
        timestamp: now().into(),
        who: SearchHitSource::Person,
        before: String::new(),
        found: "cart".into(),
        behind: String::new(),
    };
    SessionSearchResult { session: id(session), places: vec![place], more: false }
}

/// The text of each search that the last message began; "" where one was stopped.
fn searches(scene: &TestSidebar) -> Vec<&str> {
    fn text(effect: &ScreenEffect) -> Option<&str> {
        match effect {
            ScreenEffect::SearchSessions { text, .. } => Some(text),
            ScreenEffect::StopSearch => Some(""),
            _ => None,
        }
    }
    scene.effects.iter().filter_map(text).collect()
}

#[test]
fn each_letter_begins_a_search_and_what_is_too_short_ends_it() {
    let mut scene = TestSidebar::of(week());
    let steps = [("/", None), ("c", None), ("a", Some("ca")), ("r", Some("car"))];
    for (key, text) in steps {
        let begun: Vec<&str> = text.into_iter().collect();
        assert_eq!(searches(scene.press(key)), begun, "{key}");
    }
    assert_eq!(searches(scene.typed(" ")), [""; 0], "the text is the same");
    assert_eq!(searches(scene.typed("model:x")), ["car"], "in fewer sessions");
    assert_eq!(searches(scene.press("esc")), [""]);
    scene.press("/").typed("日");
    assert_eq!(searches(&scene), ["日"]);
    assert_eq!(searches(scene.press("ctrl+b")), [""], "a list that is gone looks for nothing");
}

#[test]
fn what_is_typed_before_the_list_is_there_is_looked_for_in_all_of_it() {
    let ids = |scene: &TestSidebar| {
        let id = |effect: &ScreenEffect| match effect {
            ScreenEffect::Sessions { id, .. } => Some(*id),
            _ => None,
        };
        scene.effects.iter().filter_map(id).collect::<Vec<_>>()
    };
    for newest in [Vec::new(), vec![row(1, "Fix empty cart checkout", 12)]] {
        let mut scene = TestSidebar::closed(120);
        let asked = ids(scene.press("ctrl+b"));
        scene.press("/").typed("cart");
        scene.answer(asked[0], Ok(SessionStoreResponse::Listed(list(newest))));
        assert_eq!(searches(&scene), [""; 0]);
        scene.answer(asked[1], Ok(SessionStoreResponse::Listed(week())));
        let Some(ScreenEffect::SearchSessions { text, sessions, .. }) = scene.effects.last() else {
            panic!("{:?}", scene.effects)
        };
        assert_eq!((text.as_str(), sessions.len()), ("cart", week().rows.len()));
    }
}

#[test]
fn what_is_found_comes_in_bit_by_bit_and_the_selection_stays() {
    let mut scene = TestSidebar::of(week());
    scene.press("/").typed("cart");
    let Some(ScreenEffect::SearchSessions { id: asked, sessions, .. }) =
        scene.effects.last().cloned()
    else {
        panic!("{:?}", scene.effects)
    };
    assert_eq!(sessions[..3], [id(3), id(4), id(2)], "the newest first");
    assert_eq!(scene.titles(), ["Fix empty cart checkout"]);
    update(
        &mut scene.model,
        ScreenMsg::SessionsFound { id: RequestId(999), found: vec![found(5)] },
    );
    assert_eq!(scene.titles().len(), 1, "of another search");
    update(
        &mut scene.model,
        ScreenMsg::SessionsFound { id: asked, found: vec![found(4), found(5)] },
    );
    assert_eq!(scene.selected(), "Fix empty cart checkout");
    assert_eq!(
        scene.model.sidebar.search_progress(),
        Some((2, SidebarSearchState::Running(asked)))
    );
    update(&mut scene.model, ScreenMsg::SessionsFound { id: asked, found: Vec::new() });
    assert_eq!(scene.model.sidebar.search_progress(), Some((2, SidebarSearchState::Done)));
    scene.press("down down");
    assert_eq!(scene.selected(), "and a property test", "its place is selected, too");
    scene.press("enter");
    assert_eq!(scene.effects, [ScreenEffect::Agent(AgentCommand::Resume { session: id(4) })]);
    assert!(scene.model.pending_jump.is_some());
}

#[test]
fn x_exports_a_session_and_says_where_the_file_is() {
    let mut scene = TestSidebar::of(week());
    scene.model.settings.home = Some("/home/me".into());
    scene.press("x");
    assert_eq!(scene.jobs(), [SessionStoreRequest::Export { session: id(1) }]);
    assert_eq!(scene.note(), "“Fix empty cart checkout” is being exported …");
    let asked = scene.asked();
    scene.press("down x");
    let other = scene.asked();
    let file = |redacted| {
        let path = "/home/me/.slug/exports/cart-1.html".into();
        Ok(SessionStoreResponse::Exported(ExportedFile { path, redacted }))
    };
    scene.answer(asked, file(0));
    assert_eq!(scene.note(), "Exported to ~/.slug/exports/cart-1.html.");
    scene.answer(other, Err("cannot write it: full".into()));
    assert_eq!(scene.note(), "It is not exported: cannot write it: full");
    scene.press("x");
    let asked = scene.asked();
    scene.press("ctrl+b").answer(asked, file(2));
    let toast = scene.model.toast.as_ref().unwrap();
    assert!(toast.text.ends_with("cart-1.html. 2 secrets were taken out."), "{toast:?}");
}

#[test]
fn the_grouping_goes_round_and_is_remembered() {
    let mut scene = TestSidebar::of(week());
    for grouping in [SessionGrouping::Date, SessionGrouping::Forks, SessionGrouping::Project] {
        scene.press("v");
        assert_eq!(scene.jobs(), [SessionStoreRequest::Group(grouping)]);
        assert_eq!(scene.selected(), "Fix empty cart checkout", "what was selected stays so");
    }
}

#[test]
fn a_fork_begins_at_the_message_of_the_preview_that_was_gone_to() {
    let mut scene = TestSidebar::of(week());
    scene.press("p");
    let said = |n: usize| PreviewMessage {
        entry: EntryId::generate(),
        role: MessageRole::User,
        text: format!("message {n}"),
    };
    let preview = SessionPreview { messages: (0..5).map(said).collect() };
    scene.answer(scene.asked(), Ok(SessionStoreResponse::Previewed(preview.clone())));
    let session = id(1);
    scene.press("f");
    assert_eq!(
        scene.effects,
        [ScreenEffect::Agent(AgentCommand::Fork { session, at: ForkPosition::End })]
    );
    scene.press("K K K J f");
    let at = ForkPosition::After(preview.messages[3].entry);
    assert_eq!(scene.effects, [ScreenEffect::Agent(AgentCommand::Fork { session, at })]);
}

#[test]
fn the_newest_are_there_at_once_and_all_a_moment_later() {
    let first = || list(week().rows.into_iter().take(2).collect());
    let asked = |scene: &mut TestSidebar| {
        scene.press("ctrl+b");
        assert_eq!(scene.jobs(), [SessionStoreRequest::Newest, SessionStoreRequest::List]);
        let ids = scene.effects.iter().filter_map(|effect| match effect {
            ScreenEffect::Sessions { id, .. } => Some(*id),
            _ => None,
        });
        ids.collect::<Vec<_>>()
    };
    let mut scene = TestSidebar::closed(120);
    let ids = asked(&mut scene);
    scene.answer(ids[0], Ok(SessionStoreResponse::Listed(list(Vec::new()))));
    assert_eq!(scene.model.sidebar.tree, None, "that none is known says nothing");
    scene.answer(ids[1], Ok(SessionStoreResponse::Listed(first())));
    scene.answer(ids[0], Ok(SessionStoreResponse::Listed(week())));
    assert_eq!(scene.titles().len(), 2, "all of them were faster");
    for (key, title) in [(None, "newer still"), (Some("down"), "try sum() instead")] {
        let mut scene = TestSidebar::closed(120);
        let ids = asked(&mut scene);
        scene.answer(ids[0], Ok(SessionStoreResponse::Listed(first())));
        assert_eq!(scene.titles().len(), 2);
        key.map(|key| scene.press(key).jobs());
        let all = [vec![row(20, "newer still", 1)], week().rows].concat();
        scene.answer(ids[1], Ok(SessionStoreResponse::Listed(list(all))));
        assert_eq!(scene.titles().len(), 11);
        assert_eq!(scene.selected(), title, "what was chosen stays, else the first is selected");
    }
}

#[test]
fn c_on_one_and_on_another_compares_them() {
    let mut scene = TestSidebar::of(week());
    scene.press("c");
    assert!(scene.note().contains("“Fix empty cart checkout” is compared with"));
    assert!(scene.jobs().is_empty());
    scene.press("c");
    assert_eq!((scene.jobs(), scene.model.sidebar.marked()), (Vec::new(), None));
    scene.press("c down c");
    let asked = scene.asked();
    let sessions = [id(1), id(2)];
    let page = BranchPageRequest { document: asked.0, width: scene.model.geometry.width - 2 };
    assert_eq!(scene.jobs(), [SessionStoreRequest::Compare { sessions, page }]);
    scene.answer(asked, Ok(SessionStoreResponse::Compared(page_of(page))));
    assert!(matches!(scene.model.overlays.last(), Some(Overlay::Pager(_))));
}

/// Two branches without a word.
fn page_of(page: BranchPageRequest) -> BranchPage {
    let branch = || SessionBranch { title: None, said: Vec::new(), files: Vec::new() };
    let branches =
        BranchComparison { shared: 0, last_shared: None, branches: [branch(), branch()] };
    let document = Arc::new(PagerDocument::new(page.document, "A and B"));
    BranchPage { branches: Arc::new(branches), width: page.width, document }
}

#[test]
fn a_comparison_is_laid_out_for_the_width_that_it_is_drawn_in() {
    let mut scene = TestSidebar::of(week());
    scene.press("c down c");
    let order = BranchPageRequest { document: scene.asked().0, width: 118 };
    scene.answer(scene.asked(), Ok(SessionStoreResponse::Compared(page_of(order))));
    let drawn = |scene: &mut TestSidebar, width| {
        let area = CellRect { x: 1, y: 2, width, height: 20 };
        let page = Some(PageGeometry { area, ..PageGeometry::default() });
        let geometry = ScreenGeometry { page, ..scene.model.geometry.clone() };
        scene.effects = update(&mut scene.model, ScreenMsg::Drawn(Box::new(geometry)));
    };
    drawn(&mut scene, 118);
    assert!(scene.effects.is_empty(), "it has that width");
    drawn(&mut scene, 78);
    let asked = scene.asked();
    let order = BranchPageRequest { document: asked.0, width: 78 };
    let branches = page_of(order).branches;
    assert_eq!(scene.jobs(), [SessionStoreRequest::Lay { branches, page: order }]);
    drawn(&mut scene, 60);
    assert!(scene.effects.is_empty(), "one at a time");
    scene.answer(asked, Ok(SessionStoreResponse::Compared(page_of(order))));
    drawn(&mut scene, 60);
    assert_eq!(scene.jobs().len(), 1, "and then for what it is now");
}

#[test]
fn a_summary_goes_behind_what_is_typed_and_is_not_sent() {
    let mut scene = TestSidebar::of(week());
    scene.model.status.session = Some(id(5));
    scene.model.composer.load("look at this:");
    scene.press("s");
    let beside = Some(id(5));
    assert_eq!(scene.jobs(), [SessionStoreRequest::SumUp { session: id(1), beside }]);
    scene.answer(scene.asked(), Ok(SessionStoreResponse::SummedUp("From another session".into())));
    let typed = scene.model.composer.expanded();
    assert!(
        typed.starts_with("look at this:") && typed.ends_with("From another session"),
        "{typed}"
    );
    assert_eq!(scene.model.focus, KeyboardFocus::Input);
    assert!(scene.effects.iter().all(|effect| !matches!(effect, ScreenEffect::Agent(_))));
}
