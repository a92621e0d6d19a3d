//! Tests of what the list shows or takes of a session's messages: previews, exports, comparisons
//! and summaries.

use std::sync::Arc;

use super::*;
use crate::domain::MessageRole;
use crate::services::sessions::{PreviewMessage, SessionPreview};
use crate::session::{BranchComparison, ExportedFile, SessionBranch};
use crate::tui::app::geometry::{FrameGeometry, ScreenGeometry};
use crate::tui::branch_page;
use crate::tui::dialogs::OpenDialog;
use crate::tui::dialogs::geometry::{DialogGeometry, PageGeometry};

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
fn x_exports_a_session_and_says_where_the_file_is() {
    let mut screen = TestSidebar::of(week());
    screen.model.shared.settings.home = Some("/home/me".into());
    screen.press("x");
    assert_eq!(screen.jobs(), [SessionStoreRequest::Export { session: id(1) }]);
    assert_eq!(screen.note(), "Exporting “Fix empty cart checkout” …");
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
    assert_eq!(screen.note(), "Export failed: cannot write it: full");
    screen.press("x");
    let asked = screen.asked();
    screen.press("ctrl+b").answer(asked, file(2));
    let toast = screen.model.shared.toast.as_ref().unwrap();
    assert!(toast.text.ends_with("cart-1.html. 2 secrets were redacted."), "{toast:?}");
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
        [ScreenEffect::Agent(AGENT, AgentCommand::Fork { session, at: ForkPosition::End })]
    );
    screen.press("K K K J f");
    let at = ForkPosition::After(preview.messages[3].entry);
    assert_eq!(screen.effects, [ScreenEffect::Agent(AGENT, AgentCommand::Fork { session, at })]);
}

#[test]
fn c_on_two_sessions_compares_them() {
    let mut screen = TestSidebar::of(week());
    screen.press("c");
    assert!(screen.note().contains("compare it with “Fix empty cart checkout”"));
    assert!(screen.jobs().is_empty());
    screen.press("c");
    assert_eq!((screen.jobs(), screen.model.sidebar.marked()), (Vec::new(), None));
    screen.press("c down c");
    let asked = screen.asked();
    let sessions = [id(1), id(2)];
    assert_eq!(screen.jobs(), [SessionStoreRequest::Compare { sessions }]);
    screen.answer(asked, Ok(SessionStoreResponse::Compared(empty_branches())));
    let id = screen.asked_layout(screen.model.shared.geometry.width - 2);
    screen.lay_out(RequestId(id.0 + 9), 118);
    assert!(screen.model.dialogs.top().is_none(), "nobody asked for that one");
    screen.lay_out(id, 118);
    assert!(matches!(screen.model.dialogs.top(), Some(OpenDialog::Pager(_))));
}

/// A comparison of two empty branches.
fn empty_branches() -> Arc<BranchComparison> {
    let branch = || SessionBranch { title: None, said: Vec::new(), files: Vec::new() };
    let branches = [branch(), branch()];
    Arc::new(BranchComparison { shared: 0, last_shared: None, branches })
}

impl TestSidebar {
    /// The request for a layout of this width that the last message led to.
    fn asked_layout(&self, width: u16) -> RequestId {
        match self.effects.as_slice() {
            [ScreenEffect::LayOutBranches { id, width: asked, .. }] if *asked == width => *id,
            other => panic!("{other:?}"),
        }
    }

    fn lay_out(&mut self, id: RequestId, width: u16) {
        let page = branch_page::lay_out(empty_branches(), id.0, width);
        self.effects = update(&mut self.model, ScreenMsg::BranchesLaidOut { id, page });
    }
}

#[test]
fn a_comparison_is_laid_out_for_the_width_that_it_is_drawn_in() {
    let mut screen = TestSidebar::of(week());
    screen.press("c down c");
    screen.answer(screen.asked(), Ok(SessionStoreResponse::Compared(empty_branches())));
    screen.lay_out(screen.asked_layout(118), 118);
    let drawn = |screen: &mut TestSidebar, width| {
        let area = CellRect { x: 1, y: 2, width, height: 20 };
        let page = PageGeometry { area, ..PageGeometry::default() };
        let dialogs = vec![DialogGeometry { page, ..DialogGeometry::default() }];
        let screen_geometry = ScreenGeometry { dialogs, ..screen.model.shared.geometry.clone() };
        let conversation = screen.model.conversation.geometry.clone();
        let geometry = FrameGeometry { screen: screen_geometry, conversation };
        screen.effects = update(&mut screen.model, ScreenMsg::Drawn(Box::new(geometry)));
    };
    drawn(&mut screen, 118);
    assert!(screen.effects.is_empty(), "it has that width");
    drawn(&mut screen, 78);
    let asked = screen.asked_layout(78);
    drawn(&mut screen, 60);
    assert!(screen.effects.is_empty(), "one at a time");
    screen.lay_out(asked, 78);
    drawn(&mut screen, 60);
    screen.asked_layout(60);
}

#[test]
fn a_summary_is_appended_to_the_input_and_not_sent() {
    let mut screen = TestSidebar::of(week());
    screen.model.conversation.status.session = Some(id(5));
    screen.model.conversation.composer.load("look at this:");
    screen.press("s");
    let beside = Some(id(5));
    assert_eq!(screen.jobs(), [SessionStoreRequest::SumUp { session: id(1), beside }]);
    screen
        .answer(screen.asked(), Ok(SessionStoreResponse::SummedUp("From another session".into())));
    let typed = screen.model.conversation.composer.expanded();
    assert!(
        typed.starts_with("look at this:") && typed.ends_with("From another session"),
        "{typed}"
    );
    assert_eq!(screen.model.conversation.focus, KeyboardFocus::Input);
    assert!(screen.effects.iter().all(|effect| !matches!(effect, ScreenEffect::Agent(..))));
}

/// Enter behind a name that was typed sent the summary.
#[test]
fn a_summary_that_comes_while_a_name_is_typed_takes_no_key_of_it() {
    let mut screen = TestSidebar::of(week());
    screen.model.conversation.status.session = Some(id(5));
    screen.press("s");
    let asked = screen.asked();
    screen.press("r");
    screen.answer(asked, Ok(SessionStoreResponse::SummedUp("From another session".into())));
    assert_eq!(screen.model.conversation.focus, KeyboardFocus::Sidebar);
    assert_eq!(screen.model.conversation.composer.expanded(), "From another session");
}
