//! The list of sessions beside and over the chat.

use crate::tui::app::Effect;
use crate::tui::app::Msg;
use crate::tui::app::sessions::{SessionAnswer, SessionJob};
use crate::tui::app::sidebar::samples::{HERE, week};
use crate::tui::scene::{Scene, recorded, screen, user};

/// A chat with the list open.
pub(super) fn listed(width: u16, height: u16) -> Scene {
    let mut scene = screen(width, height);
    scene.model.sidebar = crate::tui::app::sidebar::Sidebar::new(HERE.into());
    let scene = scene.event(recorded(&user("why does checkout fail?"))).quietly().key("ctrl+b");
    let id = scene.effects.iter().find_map(|effect| match effect {
        Effect::Sessions { id, job: SessionJob::List } => Some(*id),
        _ => None,
    });
    let id = id.unwrap();
    scene.msg(Msg::Sessions { id, answer: Ok(SessionAnswer::Listed(week())) })
}

#[test]
fn beside_the_chat_on_a_wide_screen() {
    insta::assert_snapshot!(listed(120, 40).text());
}

#[test]
fn over_the_chat_on_a_narrow_one() {
    insta::assert_snapshot!(listed(80, 24).text());
}

#[test]
fn on_the_smallest_screen() {
    insta::assert_snapshot!(listed(40, 12).text());
}

#[test]
fn what_is_typed_after_tab_is_for_the_chat() {
    listed(120, 40).key("tab").types("hello").shows("❯ hello").shows("Fix empty cart checkout");
}
