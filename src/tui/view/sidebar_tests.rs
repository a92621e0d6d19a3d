//! Tests of how the list of sessions looks.

use std::path::PathBuf;

use chrono::TimeDelta;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Style;

use super::*;
use crate::domain::EntryId;
use crate::services::sessions::SessionStoreResponse;
use crate::session::SessionSearchResult;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::keymap::KeyPress;
use crate::tui::app::request_id::RequestCounter;
use crate::tui::app::request_id::RequestId;
use crate::tui::app::sidebar::samples::{HERE, id, list, now, row, week};
use crate::tui::app::sidebar::{SidebarContext, SidebarPlacement, placement};

struct SidebarTestStyles;

impl RoleStyles for SidebarTestStyles {
    fn style(&self, role: StyleRole) -> Style {
        match role {
            StyleRole::Selected => Style::new().add_modifier(Modifier::REVERSED),
            _ => Style::new(),
        }
    }
}

/// The list after these keys. `;` stands for enter, `>` for down, `<` for esc.
fn after(keys: &str) -> Sidebar {
    let mut sidebar = Sidebar::new(PathBuf::from(HERE));
    let mut requests = RequestCounter::default();
    sidebar.open();
    answer(&mut sidebar, &mut requests);
    let map = Keymap::default();
    let around = SidebarContext { page: 10, open: Some(id(5)), keys: &map };
    for c in keys.chars() {
        let code = match c {
            ';' => KeyCode::Enter,
            '>' => KeyCode::Down,
            '<' => KeyCode::Esc,
            c => KeyCode::Char(c),
        };
        let key = KeyEvent::new(code, KeyModifiers::NONE);
        sidebar.key(&KeyPress::new(&Keymap::default(), Vec::new(), key), around);
        answer(&mut sidebar, &mut requests);
    }
    sidebar
}

fn answer(sidebar: &mut Sidebar, requests: &mut RequestCounter) {
    use crate::services::sessions::SessionStoreRequest;
    for effect in sidebar.jobs(requests) {
        let ScreenEffect::Sessions { id, job } = effect else { continue };
        let answer = match job {
            SessionStoreRequest::Newest
            | SessionStoreRequest::Recent { .. }
            | SessionStoreRequest::List => SessionStoreResponse::Listed(week()),
            SessionStoreRequest::Preview { .. } => SessionStoreResponse::Previewed(talk()),
            SessionStoreRequest::Rename { .. }
            | SessionStoreRequest::Trash { .. }
            | SessionStoreRequest::Restore { .. }
            | SessionStoreRequest::Compare { .. }
            | SessionStoreRequest::Export { .. }
            | SessionStoreRequest::SumUp { .. }
            | SessionStoreRequest::Group(_) => SessionStoreResponse::Changed,
        };
        sidebar.answer(id, Ok(answer), Duration::ZERO);
    }
}

/// A preview of a short session.
fn talk() -> SessionPreview {
    let message =
        |role, text: &str| PreviewMessage { entry: EntryId::generate(), role, text: text.into() };
    let mut all = vec![
        message(Speaker::User, "why does checkout fail when the cart is empty?"),
        message(Speaker::Assistant, "Because `reduce` on an empty iterator yields `None`."),
    ];
    for number in 1..=6 {
        all.push(message(Speaker::User, &format!("and part {number}?")));
        all.push(message(Speaker::Assistant, &format!("Part {number} is fine.")));
    }
    all.push(message(Speaker::User, "thanks"));
    SessionPreview { messages: all }
}

/// The list with a search text that was found in two sessions.
fn found() -> Sidebar {
    let mut sidebar = after("/empty cart");
    let mut requests = RequestCounter::default();
    sidebar.edited();
    let place = |who, minutes, before: &str, found: &str, behind: &str| SessionSearchHit {
        entry: EntryId::generate(),
        call: None,
        timestamp: (now() - TimeDelta::minutes(minutes)).into(),
        who,
        before: before.into(),
        found: found.into(),
        behind: behind.into(),
    };
    let places = vec![
        place(SearchHitSource::User, 12, "…why does checkout fail with an ", "empty cart", "?"),
        place(SearchHitSource::Call("Bash".into()), 11, "cargo test ", "empty cart", ""),
        place(
            SearchHitSource::Result(Some("Bash".into())),
            11,
            "test ",
            "empty cart",
            " … ok, and more of it",
        ),
    ];
    let one = SessionSearchResult { session: id(1), places, more: true };
    let places =
        vec![place(SearchHitSource::Model, 3 * 1440, "The ", "Empty cart", " has no currency.")];
    let two = SessionSearchResult { session: id(7), places, more: false };
    sidebar.deliver(&mut requests, vec![one, two]);
    sidebar
}

fn picture(sidebar: &Sidebar, width: u16, height: u16) -> String {
    let columns = match placement(width) {
        SidebarPlacement::Beside(columns) | SidebarPlacement::Over(columns) => columns,
    };
    let area = Rect { x: 0, y: 0, width: columns, height };
    let mut buffer = Buffer::empty(area);
    let map = Keymap::default();
    let context = SidebarViewContext {
        now: Duration::ZERO,
        open: Some(id(5)),
        keys: SidebarKeyFocus::Focused,
        map: &map,
    };
    let drawn = draw(sidebar, context, &SidebarTestStyles, area, &mut buffer);
    let mut text = String::new();
    for y in 0..height {
        let mut line = String::new();
        let mut x = 0;
        while x < columns {
            let cell = &buffer[(x, y)];
            line.push_str(cell.symbol());
            x += paint::width(cell.symbol()).max(1);
        }
        let reversed =
            buffer.cell((2, y)).is_some_and(|cell| cell.modifier.contains(Modifier::REVERSED));
        text.push_str(line.trim_end());
        text.push_str(if reversed { " ◂\n" } else { "\n" });
    }
    if let Some(caret) = drawn.caret {
        text.push_str(&format!("caret {},{}\n", caret.x, caret.y));
    }
    text
}

#[test]
fn at_80_columns() {
    insta::assert_snapshot!(picture(&after(">>"), 80, 24));
}

#[test]
fn at_120_columns_with_a_preview() {
    insta::assert_snapshot!(picture(&after("p"), 120, 40));
}

#[test]
fn while_it_filters() {
    insta::assert_snapshot!(picture(&after("/fl"), 80, 16));
}

#[test]
fn what_was_said_is_found_with_what_stands_around_it() {
    insta::assert_snapshot!(picture(&found(), 80, 24));
    insta::assert_snapshot!("what_was_said_is_found_120", picture(&found(), 120, 40));
}

#[test]
fn while_nothing_is_typed_the_words_are_named() {
    insta::assert_snapshot!(picture(&after("/"), 120, 16));
}

#[test]
fn by_date() {
    insta::assert_snapshot!(picture(&after("v"), 80, 24));
}

#[test]
fn by_forks_with_where_they_part() {
    insta::assert_snapshot!(picture(&after("vv"), 80, 24));
}

#[test]
fn a_message_of_the_preview_is_gone_to() {
    insta::assert_snapshot!(picture(&after("pKK"), 120, 40));
}

#[test]
fn while_a_title_is_typed() {
    insta::assert_snapshot!(picture(&after(">r, twice"), 80, 16));
}

#[test]
fn after_a_deletion() {
    insta::assert_snapshot!(picture(&after("d"), 80, 16));
}

#[test]
fn on_the_smallest_screen() {
    insta::assert_snapshot!(picture(&after("p"), 40, 12));
}

#[test]
fn matches_stand_out_in_selected_and_other_rows() {
    struct MatchTestStyles;
    impl RoleStyles for MatchTestStyles {
        fn style(&self, role: StyleRole) -> Style {
            match role {
                StyleRole::Match => Style::new().add_modifier(Modifier::UNDERLINED),
                _ => Style::new(),
            }
        }
    }
    let area = Rect { x: 0, y: 0, width: 46, height: 8 };
    let mut buffer = Buffer::empty(area);
    let map = Keymap::default();
    let context = SidebarViewContext {
        now: Duration::ZERO,
        open: None,
        keys: SidebarKeyFocus::Focused,
        map: &map,
    };
    draw(&after("/fl"), context, &MatchTestStyles, area, &mut buffer);
    let marked = |x: u16, y: u16| buffer[(x, y)].modifier.contains(Modifier::UNDERLINED);
    // "with a feature flag" is selected, "Flaky inventory test" is not.
    assert_eq!([marked(18, 2), marked(19, 2), marked(21, 2)], [false, true, false]);
    assert_eq!([marked(4, 4), marked(6, 4)], [true, false]);
}

#[test]
fn nothing_breaks_at_any_size() {
    for keys in ["", "p", "/x", "r", "d", "gp", "v", "vv", "pK"] {
        let sidebar = after(keys);
        for (width, height) in [(1, 1), (2, 2), (3, 5), (10, 3), (12, 12), (40, 12), (300, 100)] {
            picture(&sidebar, width, height);
        }
    }
}

#[test]
fn a_long_list_is_drawn_from_the_selection_down() {
    let mut sidebar = Sidebar::new(PathBuf::from(HERE));
    sidebar.open();
    let mut requests = RequestCounter::default();
    sidebar.jobs(&mut requests);
    let rows = (1..=10_000).map(|number| row(number, &format!("session {number}"), 1)).collect();
    sidebar.answer(RequestId(1), Ok(SessionStoreResponse::Listed(list(rows))), Duration::ZERO);
    sidebar.step(isize::MAX);
    let picture = picture(&sidebar, 80, 12);
    assert!(picture.contains("session 1 ") && !picture.contains("session 9"), "{picture}");
}
