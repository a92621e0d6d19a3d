//! Tests of renaming and deleting: a change shows at once, reaches the disk, and is reverted when
//! it fails.

use super::*;

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
    screen.model.conversation.status.session = Some(id(1));
    screen.press("r").typed("!").press("enter");
    let title = "Fix empty cart checkout!".to_owned();
    assert_eq!(screen.effects, [ScreenEffect::Agent(AGENT, AgentCommand::SetTitle(title))]);
}

#[test]
fn deleting_shows_at_once_and_is_undone() {
    let mut screen = TestSidebar::of(week());
    let before = screen.titles();
    screen.press("down del");
    assert_eq!(screen.jobs(), [SessionStoreRequest::Trash { session: id(2) }]);
    assert!(!screen.titles().contains(&"try sum() instead".to_owned()));
    assert!(screen.note().contains("u restores it"));
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
fn a_failure_after_the_list_was_closed_is_shown_as_a_toast() {
    let mut screen = TestSidebar::of(week());
    screen.press("d");
    let change = screen.asked();
    screen.press("esc").answer(change, Err("The disk is full.".into()));
    assert_eq!(screen.model.shared.toast.as_ref().unwrap().text, "The disk is full.");
}
