//! Connects the list of sessions with the rest of the screen: its placement, and the routing of
//! keys, the mouse and answers.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use crate::agent::{self, ForkPosition};
use crate::domain::NoticeLevel;
use crate::domain::sanitize::sanitize;
use crate::session::{ExportedFile, SessionSearchResult};
use crate::tui::app::commands;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::focus::KeyboardFocus;
use crate::tui::app::jump;
use crate::tui::app::keymap::{ChatKey, KeyPress};
use crate::tui::app::keys;
use crate::tui::app::model::ScreenModel;
use crate::tui::app::overlay::Overlay;
use crate::tui::app::pager::{self, Pager};
use crate::tui::app::request::RequestId;
use crate::tui::app::sessions::{BranchPageRequest, SessionStoreRequest, SessionStoreResponse};
use crate::tui::app::title::home_path;

use super::{SidebarContext, SidebarMode, SidebarOutcome, SidebarVisibility};

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
pub fn on_screen(model: &ScreenModel) -> Option<SidebarPlacement> {
    let placement = placement(model.shared.geometry.width);
    match (model.sidebar.visibility, placement, model.conversation.focus) {
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
pub fn open(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    model.conversation.focus = KeyboardFocus::Sidebar;
    model.sidebar.open();
    model.sidebar.jobs(&mut model.shared.requests)
}

/// Opens the list or gives it the focus; closes it if it has the focus.
pub fn toggle(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    if model.conversation.focus == KeyboardFocus::Sidebar {
        take(model, SidebarOutcome::Close)
    } else {
        open(model)
    }
}

/// Handles a key while the list has the focus. `None` if the key is for the chat.
pub fn key(model: &mut ScreenModel, key: &KeyPress<'_>) -> Option<Vec<ScreenEffect>> {
    let page = model.shared.geometry.sidebar.map_or(1, |rows| usize::from(rows.height));
    let context = SidebarContext {
        page,
        open: model.conversation.status.session,
        keys: &model.shared.settings.keys,
    };
    let step = model.sidebar.key(key, context);
    if step == SidebarOutcome::Pass {
        return None;
    }
    let mut effects = take(model, step);
    effects.extend(model.sidebar.jobs(&mut model.shared.requests));
    Some(effects)
}

/// Selects a line and opens its session.
pub fn open_line(model: &mut ScreenModel, line: usize) -> Vec<ScreenEffect> {
    model.sidebar.select(line);
    let context = SidebarContext {
        page: 1,
        open: model.conversation.status.session,
        keys: &model.shared.settings.keys,
    };
    let step = model.sidebar.open_selected(context);
    let mut effects = take(model, step);
    effects.extend(model.sidebar.jobs(&mut model.shared.requests));
    effects
}

/// Closes the list and gives the focus to the input.
pub fn leave(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    take(model, SidebarOutcome::Close)
}

/// Pastes text into the open text field of the list.
pub fn paste(model: &mut ScreenModel, text: &str) -> Vec<ScreenEffect> {
    if let Some(editor) = model.sidebar.editor() {
        editor.paste(text);
        model.sidebar.edited();
    }
    model.sidebar.jobs(&mut model.shared.requests)
}

/// Handles the mouse over the list: the wheel moves the selection, a click selects, a second click
/// opens. `None` if the event is not for the list.
pub fn mouse(model: &mut ScreenModel, event: MouseEvent) -> Option<Vec<ScreenEffect>> {
    let rows = model.shared.geometry.sidebar?;
    on_screen(model).filter(|_| model.overlays.is_empty())?;
    let (_, row) = rows.inside(event.column, event.row)?;
    let page = usize::from(rows.height);
    let mut effects = Vec::new();
    match event.kind {
        MouseEventKind::ScrollUp => model.sidebar.step(-1),
        MouseEventKind::ScrollDown => model.sidebar.step(1),
        MouseEventKind::Down(MouseButton::Left) => {
            model.conversation.focus = KeyboardFocus::Sidebar;
            let line = model.sidebar.first_shown(page) + usize::from(row);
            let known = model.sidebar.session().map(|row| row.id);
            let before = model.sidebar.selected();
            model.sidebar.select(line);
            if line == before && known.is_some() && model.sidebar.mode == SidebarMode::Browsing {
                let context = SidebarContext {
                    page,
                    open: model.conversation.status.session,
                    keys: &model.shared.settings.keys,
                };
                let step = model.sidebar.open_selected(context);
                effects = take(model, step);
            }
        }
        MouseEventKind::Down(_)
        | MouseEventKind::Up(_)
        | MouseEventKind::Drag(_)
        | MouseEventKind::Moved
        | MouseEventKind::ScrollLeft
        | MouseEventKind::ScrollRight => return None,
    }
    effects.extend(model.sidebar.jobs(&mut model.shared.requests));
    Some(effects)
}

/// Routes an answer of the store to the export, comparison, pager or list that waits for it.
pub fn answered(
    model: &mut ScreenModel,
    id: RequestId,
    answer: Result<SessionStoreResponse, String>,
) -> Vec<ScreenEffect> {
    let exports = &mut model.sidebar.exports;
    if let Some(at) = exports.iter().position(|asked| *asked == id) {
        exports.remove(at);
        exported(model, answer);
        return Vec::new();
    }
    if let Ok(SessionStoreResponse::Compared(page)) = &answer
        && let Some(effects) = pager::on_layout(model, id, page)
    {
        return effects;
    }
    if let (SidebarVisibility::Hidden, Err(reason)) = (model.sidebar.visibility, &answer) {
        model.shared.toast(NoticeLevel::Error, reason.clone());
    }
    if model.sidebar.branches.take_if(|asked| *asked == id).is_some() {
        branches_read(model, answer);
        return Vec::new();
    }
    model.sidebar.answer(id, answer, model.shared.now);
    model.sidebar.jobs(&mut model.shared.requests)
}

/// Shows a comparison in the pager, or puts a summary into the input for the user to edit and send.
fn branches_read(model: &mut ScreenModel, answer: Result<SessionStoreResponse, String>) {
    match answer {
        Ok(SessionStoreResponse::Compared(page)) => {
            let pager = Pager::of_branches(page);
            model.overlays.push(Overlay::Pager(Box::new(pager)));
        }
        Ok(SessionStoreResponse::SummedUp(note)) => {
            model.conversation.composer.append(note.into());
            model.conversation.focus = KeyboardFocus::Input;
            if let SidebarPlacement::Over(_) = placement(model.shared.geometry.width) {
                model.sidebar.close();
            }
            model
                .shared
                .toast(NoticeLevel::Info, "The summary is in the input: edit it, and send it.");
        }
        Ok(
            SessionStoreResponse::Changed
            | SessionStoreResponse::Listed(_)
            | SessionStoreResponse::Previewed(_)
            | SessionStoreResponse::Exported(_),
        ) => {}
        Err(reason) => model.shared.toast(NoticeLevel::Error, reason),
    }
}

/// Says where the exported file is: below the list if that is open, else in the last line.
fn exported(model: &mut ScreenModel, answer: Result<SessionStoreResponse, String>) {
    let (level, text) = match answer {
        Ok(SessionStoreResponse::Exported(ExportedFile { path, redacted })) => {
            let place = home_path(&path, model.shared.settings.home.as_deref());
            let secrets = match redacted {
                0 => String::new(),
                1 => " 1 secret was taken out.".to_owned(),
                2.. => format!(" {redacted} secrets were taken out."),
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
        Err(reason) => (NoticeLevel::Error, format!("It is not exported: {reason}")),
    };
    let text = sanitize(&text).into_owned();
    match model.sidebar.visibility {
        SidebarVisibility::Shown => model.sidebar.say(level, text),
        SidebarVisibility::Hidden => model.shared.toast(level, text),
    }
}

fn ask_for_branches(
    model: &mut ScreenModel,
    job: impl FnOnce(RequestId) -> SessionStoreRequest,
) -> Vec<ScreenEffect> {
    let id = model.shared.requests.issue();
    model.sidebar.branches = Some(id);
    vec![ScreenEffect::Sessions { id, job: job(id) }]
}

/// Takes over sessions that the search in messages found.
pub fn found(model: &mut ScreenModel, id: RequestId, found: Vec<SessionSearchResult>) {
    model.sidebar.found(id, found);
}

/// Another session was opened: reads the list again, as the session may be new. A list over the
/// chat closes, unless the session was opened at a search hit: then the user may want to return to
/// the other hits.
pub fn session_opened(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    match (placement(model.shared.geometry.width), &model.conversation.pending_jump) {
        (SidebarPlacement::Beside(_), _) | (SidebarPlacement::Over(_), Some(_)) => {
            model.sidebar.refresh();
        }
        (SidebarPlacement::Over(_), None) => model.sidebar.close(),
    }
    model.sidebar.jobs(&mut model.shared.requests)
}

/// The title of the open session has changed: reads the list again.
pub fn title_changed(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    model.sidebar.refresh();
    model.sidebar.jobs(&mut model.shared.requests)
}

fn take(model: &mut ScreenModel, step: SidebarOutcome) -> Vec<ScreenEffect> {
    match step {
        SidebarOutcome::Stay | SidebarOutcome::Pass => Vec::new(),
        SidebarOutcome::Leave => {
            // Over the chat the list would hide what the user returns to.
            if let SidebarPlacement::Over(_) = placement(model.shared.geometry.width) {
                model.sidebar.close();
            }
            model.conversation.focus = KeyboardFocus::Input;
            model.sidebar.jobs(&mut model.shared.requests)
        }
        SidebarOutcome::Close => {
            model.sidebar.close();
            model.conversation.focus = KeyboardFocus::Input;
            model.sidebar.jobs(&mut model.shared.requests)
        }
        SidebarOutcome::GoTo(target) => jump::go(model, target),
        SidebarOutcome::Help => keys::chat_action(model, ChatKey::Help),
        SidebarOutcome::Open(session) => {
            commands::when_idle(model, agent::AgentCommand::Resume { session })
        }
        SidebarOutcome::Fork(session, upto) => {
            let at = upto.map_or(ForkPosition::End, ForkPosition::After);
            commands::when_idle(model, agent::AgentCommand::Fork { session, at })
        }
        SidebarOutcome::Compare(sessions) => {
            let width = pager::text_width(&model.shared.geometry);
            let page = |id: RequestId| BranchPageRequest { document: id.0, width };
            ask_for_branches(model, |id| SessionStoreRequest::Compare { sessions, page: page(id) })
        }
        SidebarOutcome::Export(session) => {
            let id = model.shared.requests.issue();
            model.sidebar.exports.push(id);
            vec![ScreenEffect::Sessions { id, job: SessionStoreRequest::Export { session } }]
        }
        SidebarOutcome::SumUp(session) => {
            let beside = model.conversation.status.session.filter(|open| *open != session);
            ask_for_branches(model, |_| SessionStoreRequest::SumUp { session, beside })
        }
        SidebarOutcome::Retitle(title) => {
            vec![ScreenEffect::Agent(
                model.conversation.agent,
                agent::AgentCommand::SetTitle(title),
            )]
        }
    }
}
