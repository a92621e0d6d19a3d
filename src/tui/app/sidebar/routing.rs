//! Connects the list of sessions with the rest of the screen: its placement, and the routing of
//! keys, the mouse and answers.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use crate::agent::{AgentCommand, ForkPosition};
use crate::domain::sanitize::sanitize;
use crate::domain::{NoticeLevel, SessionId};
use crate::services::sessions::{SessionStoreRequest, SessionStoreResponse};
use crate::session::{ExportedFile, SessionSearchResult};
use crate::tui::app::conversation::title::home_path;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::focus::KeyboardFocus;
use crate::tui::app::intent::{Intent, intents};
use crate::tui::app::keymap::KeyPress;
use crate::tui::app::request_id::RequestId;
use crate::tui::app::shared::SharedState;
use crate::tui::branch_page::BranchPage;

use super::{Sidebar, SidebarContext, SidebarMode, SidebarOutcome, SidebarVisibility};

/// From this many columns on, the list is beside the chat.
const WIDE: u16 = 100;

/// Where the list is, with its width in columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SidebarPlacement {
    /// At the left, with the chat beside it.
    Beside(u16),
    /// Over the chat.
    Over(u16),
}

/// Where the list would be on a screen of `width` columns.
pub fn placement(width: u16) -> SidebarPlacement {
    if width >= WIDE {
        SidebarPlacement::Beside((width / 3).clamp(35, 46))
    } else {
        SidebarPlacement::Over(width.min(46))
    }
}

/// Where the list is on screen now; `None` if it is not visible. Over the chat it is visible only
/// while it has the focus: so a screen that is made narrow shows the chat.
pub fn on_screen(sidebar: &Sidebar, width: u16, focus: KeyboardFocus) -> Option<SidebarPlacement> {
    let placement = placement(width);
    match (sidebar.visibility, placement, focus) {
        (SidebarVisibility::Shown, SidebarPlacement::Beside(_), _)
        | (SidebarVisibility::Shown, SidebarPlacement::Over(_), KeyboardFocus::Sidebar) => {
            Some(placement)
        }
        (
            SidebarVisibility::Shown,
            SidebarPlacement::Over(_),
            KeyboardFocus::Input | KeyboardFocus::Pane(_) | KeyboardFocus::Caret(_),
        )
        | (SidebarVisibility::Hidden, _, _) => None,
    }
}

/// Opens the list and gives it the focus.
pub fn open(sidebar: &mut Sidebar, shared: &mut SharedState) -> Vec<Intent> {
    sidebar.open();
    with_jobs(sidebar, shared, vec![Intent::FocusSessions])
}

/// Opens the list or gives it the focus; closes it if it has the focus.
pub fn toggle(
    sidebar: &mut Sidebar,
    shared: &mut SharedState,
    focus: KeyboardFocus,
) -> Vec<Intent> {
    if focus == KeyboardFocus::Sidebar { leave(sidebar, shared) } else { open(sidebar, shared) }
}

/// Handles a key while the list has the focus; `open` is the session in the chat. `None` if the key
/// is for the chat.
pub fn key(
    sidebar: &mut Sidebar,
    shared: &mut SharedState,
    open: Option<SessionId>,
    key: &KeyPress<'_>,
) -> Option<Vec<Intent>> {
    let page = shared.geometry.sidebar.map_or(1, |rows| usize::from(rows.height));
    let step = sidebar.key(key, SidebarContext { page, open, keys: &shared.settings.keys });
    if step == SidebarOutcome::Pass {
        return None;
    }
    let wanted = carry_out(sidebar, shared, open, step);
    Some(with_jobs(sidebar, shared, wanted))
}

/// Selects a line and opens its session.
pub fn open_line(
    sidebar: &mut Sidebar,
    shared: &mut SharedState,
    open: Option<SessionId>,
    line: usize,
) -> Vec<Intent> {
    sidebar.select(line);
    open_selected(sidebar, shared, open)
}

fn open_selected(
    sidebar: &mut Sidebar,
    shared: &mut SharedState,
    open: Option<SessionId>,
) -> Vec<Intent> {
    let context = SidebarContext { page: 1, open, keys: &shared.settings.keys };
    let step = sidebar.open_selected(context);
    let wanted = carry_out(sidebar, shared, open, step);
    with_jobs(sidebar, shared, wanted)
}

/// Closes the list and gives the focus to the input.
pub fn leave(sidebar: &mut Sidebar, shared: &mut SharedState) -> Vec<Intent> {
    sidebar.close();
    with_jobs(sidebar, shared, vec![Intent::FocusInput])
}

/// Pastes text into the open text field of the list.
pub fn paste(sidebar: &mut Sidebar, shared: &mut SharedState, text: &str) -> Vec<ScreenEffect> {
    if let Some(editor) = sidebar.editor() {
        editor.paste(text);
        sidebar.edited();
    }
    sidebar.jobs(&mut shared.requests.ids)
}

/// Handles the mouse over a list that is on screen: the wheel moves the selection, a click selects,
/// a second click opens; `open` is the session in the chat. `None` if the event is not for the list.
pub fn mouse(
    sidebar: &mut Sidebar,
    shared: &mut SharedState,
    open: Option<SessionId>,
    event: MouseEvent,
) -> Option<Vec<Intent>> {
    let rows = shared.geometry.sidebar?;
    let (_, row) = rows.inside(event.column, event.row)?;
    let page = usize::from(rows.height);
    let mut wanted = Vec::new();
    match event.kind {
        MouseEventKind::ScrollUp => sidebar.step(-1),
        MouseEventKind::ScrollDown => sidebar.step(1),
        MouseEventKind::Down(MouseButton::Left) => {
            wanted.push(Intent::FocusSessions);
            let line = sidebar.first_shown(page) + usize::from(row);
            let known = sidebar.session().map(|row| row.id);
            let before = sidebar.selected();
            sidebar.select(line);
            if line == before && known.is_some() && sidebar.mode == SidebarMode::Browsing {
                wanted.extend(open_selected(sidebar, shared, open));
            }
        }
        MouseEventKind::Down(_)
        | MouseEventKind::Up(_)
        | MouseEventKind::Drag(_)
        | MouseEventKind::Moved
        | MouseEventKind::ScrollLeft
        | MouseEventKind::ScrollRight => return None,
    }
    Some(with_jobs(sidebar, shared, wanted))
}

/// Routes an answer of the store to the export, comparison or list that waits for it.
pub fn answered(
    sidebar: &mut Sidebar,
    shared: &mut SharedState,
    id: RequestId,
    answer: Result<SessionStoreResponse, String>,
) -> Vec<Intent> {
    if let Some(at) = sidebar.exports.iter().position(|asked| *asked == id) {
        sidebar.exports.remove(at);
        exported(sidebar, shared, answer);
        return Vec::new();
    }
    if let (SidebarVisibility::Hidden, Err(reason)) = (sidebar.visibility, &answer) {
        shared.toast(NoticeLevel::Error, reason.clone());
    }
    if sidebar.branches.take_if(|asked| *asked == id).is_some() {
        return branches_read(sidebar, shared, answer);
    }
    sidebar.answer(id, answer, shared.now);
    with_jobs(sidebar, shared, Vec::new())
}

/// Has a comparison laid out for the pager, or puts a summary into the input for the user to edit and send.
fn branches_read(
    sidebar: &mut Sidebar,
    shared: &mut SharedState,
    answer: Result<SessionStoreResponse, String>,
) -> Vec<Intent> {
    match answer {
        Ok(SessionStoreResponse::Compared(branches)) => {
            let (id, width) = (shared.requests.issue(), shared.geometry.page_text_width());
            sidebar.branches = Some(id);
            vec![Intent::Effect(ScreenEffect::LayOutBranches { id, branches, width })]
        }
        Ok(SessionStoreResponse::SummedUp(note)) => {
            let append = Intent::AppendToInput(note.into());
            // What is typed meanwhile, as into a new name, goes where it was meant to go.
            if sidebar.mode != SidebarMode::Browsing {
                shared.toast(NoticeLevel::Info, "The summary is in the input.");
                return vec![append];
            }
            if let SidebarPlacement::Over(_) = placement(shared.geometry.width) {
                sidebar.close();
            }
            shared.toast(NoticeLevel::Info, "The summary is in the input. Edit it, then send it.");
            vec![append, Intent::FocusInput]
        }
        Ok(
            SessionStoreResponse::Changed
            | SessionStoreResponse::Listed(_)
            | SessionStoreResponse::Previewed(_)
            | SessionStoreResponse::Exported(_),
        ) => Vec::new(),
        Err(reason) => {
            shared.toast(NoticeLevel::Error, reason);
            Vec::new()
        }
    }
}

/// Shows the comparison that was asked for last in the pager.
pub fn branches_laid_out(sidebar: &mut Sidebar, id: RequestId, page: BranchPage) -> Vec<Intent> {
    let asked = sidebar.branches.take_if(|asked| *asked == id);
    asked.map(|_| Intent::OpenBranches(page)).into_iter().collect()
}

/// Asks the store to export a session as a web page; [`answered`] says where it is.
pub fn ask_for_export(
    sidebar: &mut Sidebar,
    shared: &mut SharedState,
    session: SessionId,
) -> ScreenEffect {
    let id = shared.requests.issue();
    sidebar.exports.push(id);
    ScreenEffect::Sessions { id, job: SessionStoreRequest::Export { session } }
}

/// Says where the exported file is: below the list if that is open, else in the last line.
fn exported(
    sidebar: &mut Sidebar,
    shared: &mut SharedState,
    answer: Result<SessionStoreResponse, String>,
) {
    let (level, text) = match answer {
        Ok(SessionStoreResponse::Exported(ExportedFile { path, redacted })) => {
            let place = home_path(&path, shared.settings.home.as_deref());
            let secrets = match redacted {
                0 => String::new(),
                1 => " 1 secret was redacted.".to_owned(),
                2.. => format!(" {redacted} secrets were redacted."),
            };
            (NoticeLevel::Info, format!("Exported to {place}.{secrets}"))
        }
        Ok(
            SessionStoreResponse::Changed
            | SessionStoreResponse::Listed(_)
            | SessionStoreResponse::Previewed(_)
            | SessionStoreResponse::Compared(_)
            | SessionStoreResponse::SummedUp(_),
        ) => return,
        Err(reason) => (NoticeLevel::Error, format!("Export failed: {reason}")),
    };
    let text = sanitize(&text).into_owned();
    match sidebar.visibility {
        SidebarVisibility::Shown => sidebar.say(level, text),
        SidebarVisibility::Hidden => shared.toast(level, text),
    }
}

fn ask_for_branches(
    sidebar: &mut Sidebar,
    shared: &mut SharedState,
    job: SessionStoreRequest,
) -> Vec<Intent> {
    let id = shared.requests.issue();
    sidebar.branches = Some(id);
    vec![Intent::Effect(ScreenEffect::Sessions { id, job })]
}

/// Takes over sessions that the search in messages found.
pub fn found(sidebar: &mut Sidebar, id: RequestId, found: Vec<SessionSearchResult>) {
    sidebar.found(id, found);
}

/// Another session was opened: reads the list again, as the session may be new. A list over the
/// chat closes, unless the session was opened at a search hit (`is_at_hit`): then the user may want
/// to return to the other hits.
pub fn session_opened(
    sidebar: &mut Sidebar,
    shared: &mut SharedState,
    is_at_hit: bool,
) -> Vec<ScreenEffect> {
    match placement(shared.geometry.width) {
        SidebarPlacement::Over(_) if !is_at_hit => sidebar.close(),
        SidebarPlacement::Over(_) | SidebarPlacement::Beside(_) => sidebar.refresh(),
    }
    sidebar.jobs(&mut shared.requests.ids)
}

/// The title of the open session has changed: reads the list again.
pub fn title_changed(sidebar: &mut Sidebar, shared: &mut SharedState) -> Vec<ScreenEffect> {
    sidebar.refresh();
    sidebar.jobs(&mut shared.requests.ids)
}

fn with_jobs(
    sidebar: &mut Sidebar,
    shared: &mut SharedState,
    mut wanted: Vec<Intent>,
) -> Vec<Intent> {
    wanted.extend(intents(sidebar.jobs(&mut shared.requests.ids)));
    wanted
}

fn carry_out(
    sidebar: &mut Sidebar,
    shared: &mut SharedState,
    open: Option<SessionId>,
    step: SidebarOutcome,
) -> Vec<Intent> {
    match step {
        SidebarOutcome::Stay | SidebarOutcome::Pass => Vec::new(),
        SidebarOutcome::Leave => {
            // Over the chat the list would hide what the user returns to.
            if let SidebarPlacement::Over(_) = placement(shared.geometry.width) {
                sidebar.close();
            }
            vec![Intent::FocusInput]
        }
        SidebarOutcome::Close => {
            sidebar.close();
            vec![Intent::FocusInput]
        }
        SidebarOutcome::GoTo(target) => vec![Intent::GoTo(target)],
        SidebarOutcome::Help => vec![Intent::OpenHelp],
        SidebarOutcome::Open(session) => {
            vec![Intent::WhenIdle(AgentCommand::Resume { session })]
        }
        SidebarOutcome::Fork(session, upto) => {
            let at = upto.map_or(ForkPosition::End, ForkPosition::After);
            vec![Intent::WhenIdle(AgentCommand::Fork { session, at })]
        }
        SidebarOutcome::Compare(sessions) => {
            ask_for_branches(sidebar, shared, SessionStoreRequest::Compare { sessions })
        }
        SidebarOutcome::Export(session) => {
            vec![Intent::Effect(ask_for_export(sidebar, shared, session))]
        }
        SidebarOutcome::SumUp(session) => {
            let beside = open.filter(|open| *open != session);
            ask_for_branches(sidebar, shared, SessionStoreRequest::SumUp { session, beside })
        }
        SidebarOutcome::Retitle(title) => {
            vec![Intent::Command(AgentCommand::SetTitle(title))]
        }
    }
}
