//! Between the list of sessions and the rest of the screen.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use crate::agent::{self, ForkPosition};
use crate::domain::NoticeLevel;
use crate::domain::sanitize::sanitize;
use crate::session::{ExportedFile, SessionSearchResult};
use crate::tui::app::commands;
use crate::tui::app::effect::{Effect, RequestId};
use crate::tui::app::jump;
use crate::tui::app::keymap::{ChatKey, Press};
use crate::tui::app::keys;
use crate::tui::app::model::{Focus, Model};
use crate::tui::app::overlay::Overlay;
use crate::tui::app::pager::{self, Pager};
use crate::tui::app::sessions::{PageOrder, SessionAnswer, SessionJob};
use crate::tui::app::title::home_path;

use super::{Around, Mode, Presence, Step};

/// Columns of the screen from which on the list is beside the chat.
const WIDE: u16 = 100;

/// Where the list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// At the left, the chat beside it; so many columns.
    Beside(u16),
    /// Over the chat; so many columns.
    Over(u16),
}

/// Where the list is on a screen of so many columns.
pub fn placement(width: u16) -> Placement {
    if width >= WIDE {
        Placement::Beside((width / 3).clamp(35, 46))
    } else {
        Placement::Over(width.min(46))
    }
}

/// Where the list is on screen now. Over the chat only while the keys go to it: a screen that was
/// made narrow shows the chat.
pub fn on_screen(model: &Model) -> Option<Placement> {
    let placement = placement(model.geometry.width);
    match (model.sidebar.presence, placement, model.focus) {
        (Presence::Shown, Placement::Beside(_), _)
        | (Presence::Shown, Placement::Over(_), Focus::Sidebar) => Some(placement),
        (Presence::Shown, Placement::Over(_), Focus::Input | Focus::Pane(_) | Focus::Caret(_))
        | (Presence::Hidden, _, _) => None,
    }
}

/// Opens the list, or goes to it.
pub fn open(model: &mut Model) -> Vec<Effect> {
    model.focus = Focus::Sidebar;
    model.sidebar.open();
    model.sidebar.jobs(&mut model.requests)
}

/// Opens the list or goes to it; from the list itself, closes it.
pub fn toggle(model: &mut Model) -> Vec<Effect> {
    if model.focus == Focus::Sidebar { take(model, Step::Close) } else { open(model) }
}

/// A key while the list has the focus. `None` where it means something to the chat.
pub fn key(model: &mut Model, key: &Press<'_>) -> Option<Vec<Effect>> {
    let page = model.geometry.sidebar.map_or(1, |rows| usize::from(rows.height));
    let around = Around { page, open: model.status.session, keys: &model.settings.keys };
    let step = model.sidebar.key(key, around);
    if step == Step::Pass {
        return None;
    }
    let mut effects = take(model, step);
    effects.extend(model.sidebar.jobs(&mut model.requests));
    Some(effects)
}

/// Opens the session on a line.
pub fn open_line(model: &mut Model, line: usize) -> Vec<Effect> {
    model.sidebar.select(line);
    let around = Around { page: 1, open: model.status.session, keys: &model.settings.keys };
    let step = model.sidebar.open_selected(around);
    let mut effects = take(model, step);
    effects.extend(model.sidebar.jobs(&mut model.requests));
    effects
}

/// Closes the list.
pub fn leave(model: &mut Model) -> Vec<Effect> {
    take(model, Step::Close)
}

/// Text in one piece.
pub fn paste(model: &mut Model, text: &str) -> Vec<Effect> {
    if let Some(editor) = model.sidebar.editor() {
        editor.paste(text);
        model.sidebar.edited();
    }
    model.sidebar.jobs(&mut model.requests)
}

/// The mouse over the list: the wheel moves in it, a click selects, another one opens.
pub fn mouse(model: &mut Model, event: MouseEvent) -> Option<Vec<Effect>> {
    let rows = model.geometry.sidebar?;
    on_screen(model).filter(|_| model.overlays.is_empty())?;
    let (_, row) = rows.inside(event.column, event.row)?;
    let page = usize::from(rows.height);
    let mut effects = Vec::new();
    match event.kind {
        MouseEventKind::ScrollUp => model.sidebar.step(-1),
        MouseEventKind::ScrollDown => model.sidebar.step(1),
        MouseEventKind::Down(MouseButton::Left) => {
            model.focus = Focus::Sidebar;
            let line = model.sidebar.first_shown(page) + usize::from(row);
            let known = model.sidebar.session().map(|row| row.id);
            let before = model.sidebar.selected();
            model.sidebar.select(line);
            if line == before && known.is_some() && model.sidebar.mode == Mode::Browsing {
                let around =
                    Around { page, open: model.status.session, keys: &model.settings.keys };
                let step = model.sidebar.open_selected(around);
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
    effects.extend(model.sidebar.jobs(&mut model.requests));
    Some(effects)
}

/// An answer of the store's.
pub fn answered(
    model: &mut Model,
    id: RequestId,
    answer: Result<SessionAnswer, String>,
) -> Vec<Effect> {
    let exports = &mut model.sidebar.exports;
    if let Some(at) = exports.iter().position(|asked| *asked == id) {
        exports.remove(at);
        exported(model, answer);
        return Vec::new();
    }
    if let Ok(SessionAnswer::Compared(page)) = &answer
        && let Some(effects) = pager::laid(model, id, page)
    {
        return effects;
    }
    if let (Presence::Hidden, Err(reason)) = (model.sidebar.presence, &answer) {
        model.toast(NoticeLevel::Error, reason.clone());
    }
    if model.sidebar.branches.take_if(|asked| *asked == id).is_some() {
        branches_read(model, answer);
        return Vec::new();
    }
    model.sidebar.answer(id, answer, model.now);
    model.sidebar.jobs(&mut model.requests)
}

/// Two branches are shown over the whole screen; a summary goes into the input, to be edited and
/// sent by the person.
fn branches_read(model: &mut Model, answer: Result<SessionAnswer, String>) {
    match answer {
        Ok(SessionAnswer::Compared(page)) => {
            let pager = Pager::of_branches(page);
            model.overlays.push(Overlay::Pager(Box::new(pager)));
        }
        Ok(SessionAnswer::SummedUp(note)) => {
            model.composer.append(note.into());
            model.focus = Focus::Input;
            if let Placement::Over(_) = placement(model.geometry.width) {
                model.sidebar.close();
            }
            model.toast(NoticeLevel::Info, "The summary is in the input: edit it, and send it.");
        }
        Ok(
            SessionAnswer::Changed
            | SessionAnswer::Listed(_)
            | SessionAnswer::Previewed(_)
            | SessionAnswer::Exported(_),
        ) => {}
        Err(reason) => model.toast(NoticeLevel::Error, reason),
    }
}

/// Where the file is, told where the person is.
fn exported(model: &mut Model, answer: Result<SessionAnswer, String>) {
    let (level, text) = match answer {
        Ok(SessionAnswer::Exported(ExportedFile { path, redacted })) => {
            let place = home_path(&path, model.settings.home.as_deref());
            let secrets = match redacted {
                0 => String::new(),
                1 => " 1 secret was taken out.".to_owned(),
                2.. => format!(" {redacted} secrets were taken out."),
            };
            (NoticeLevel::Info, format!("Exported to {place}.{secrets}"))
        }
        Ok(
            SessionAnswer::Changed
            | SessionAnswer::Listed(_)
            | SessionAnswer::Previewed(_)
            | SessionAnswer::Compared(_)
            | SessionAnswer::SummedUp(_),
        ) => return,
        Err(reason) => (NoticeLevel::Error, format!("It is not exported: {reason}")),
    };
    let text = sanitize(&text).into_owned();
    match model.sidebar.presence {
        Presence::Shown => model.sidebar.say(level, text),
        Presence::Hidden => model.toast(level, text),
    }
}

fn ask_for_branches(model: &mut Model, job: impl FnOnce(RequestId) -> SessionJob) -> Vec<Effect> {
    let id = model.requests.issue();
    model.sidebar.branches = Some(id);
    vec![Effect::Sessions { id, job: job(id) }]
}

/// What a search of what was said has found.
pub fn found(model: &mut Model, id: RequestId, found: Vec<SessionSearchResult>) {
    model.sidebar.found(id, found);
}

/// Another session is open: it may be new to the list, which is no longer in the way. Where a place
/// in it was gone to, there may be others in the list to come back for.
pub fn session_opened(model: &mut Model) -> Vec<Effect> {
    match (placement(model.geometry.width), &model.goal) {
        (Placement::Beside(_), _) | (Placement::Over(_), Some(_)) => model.sidebar.refresh(),
        (Placement::Over(_), None) => model.sidebar.close(),
    }
    model.sidebar.jobs(&mut model.requests)
}

/// The open session has another title.
pub fn title_changed(model: &mut Model) -> Vec<Effect> {
    model.sidebar.refresh();
    model.sidebar.jobs(&mut model.requests)
}

fn take(model: &mut Model, step: Step) -> Vec<Effect> {
    match step {
        Step::Stay | Step::Pass => Vec::new(),
        Step::Leave => {
            // Over the chat it would hide what is gone back to.
            if let Placement::Over(_) = placement(model.geometry.width) {
                model.sidebar.close();
            }
            model.focus = Focus::Input;
            model.sidebar.jobs(&mut model.requests)
        }
        Step::Close => {
            model.sidebar.close();
            model.focus = Focus::Input;
            model.sidebar.jobs(&mut model.requests)
        }
        Step::GoTo(goal) => jump::go(model, goal),
        Step::Help => keys::chat_action(model, ChatKey::Help),
        Step::Open(session) => commands::when_idle(model, agent::AgentCommand::Resume { session }),
        Step::Fork(session, upto) => {
            let at = upto.map_or(ForkPosition::End, ForkPosition::After);
            commands::when_idle(model, agent::AgentCommand::Fork { session, at })
        }
        Step::Compare(sessions) => {
            let width = pager::text_width(&model.geometry);
            let page = |id: RequestId| PageOrder { document: id.0, width };
            ask_for_branches(model, |id| SessionJob::Compare { sessions, page: page(id) })
        }
        Step::Export(session) => {
            let id = model.requests.issue();
            model.sidebar.exports.push(id);
            vec![Effect::Sessions { id, job: SessionJob::Export { session } }]
        }
        Step::SumUp(session) => {
            let beside = model.status.session.filter(|open| *open != session);
            ask_for_branches(model, |_| SessionJob::SumUp { session, beside })
        }
        Step::Retitle(title) => vec![Effect::Agent(agent::AgentCommand::SetTitle(title))],
    }
}
