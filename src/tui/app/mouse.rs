//! Which part of the screen a mouse event is for: the topmost dialog, the list of sessions, or the
//! conversation.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use crate::commands::ParsedCommand;

use super::commands;
use super::conversation::transcript_mouse;
use super::effect::ScreenEffect;
use super::keys;
use super::model::ScreenModel;
use super::sidebar;

/// Handles a mouse event. One over the sidebar is for the sidebar, unless a drag is under way.
pub fn mouse(model: &mut ScreenModel, event: MouseEvent) -> Vec<ScreenEffect> {
    if model.dialogs.takes_everything() {
        let top = model.dialogs.top_index();
        let taken =
            keys::on_dialog(model, top, |dialog, around| Some(dialog.raw_mouse(event, around)));
        return taken.flatten().unwrap_or_default();
    }
    let turned = match event.kind {
        MouseEventKind::ScrollUp => {
            Some(model.shared.wheel_remainder.by(-1, model.shared.settings.wheel))
        }
        MouseEventKind::ScrollDown => {
            Some(model.shared.wheel_remainder.by(1, model.shared.settings.wheel))
        }
        MouseEventKind::Down(_)
        | MouseEventKind::Up(_)
        | MouseEventKind::Drag(_)
        | MouseEventKind::Moved
        | MouseEventKind::ScrollLeft
        | MouseEventKind::ScrollRight => None,
    };
    if turned == Some(0) {
        return Vec::new();
    }
    let placement =
        sidebar::on_screen(&model.sidebar, model.shared.geometry.width, model.conversation.focus);
    if placement.is_some() && model.dialogs.is_empty() && model.conversation.drag.is_none() {
        let open = model.conversation.status.session;
        if let Some(wanted) = sidebar::mouse(&mut model.sidebar, &mut model.shared, open, event) {
            return keys::carry_out(model, None, wanted);
        }
    }
    let at = (event.column, event.row);
    let top = model.dialogs.top_index();
    match (event.kind, turned) {
        (_, Some(rows)) => {
            // A dialog in the dock leaves the rest of the screen as it is.
            let by_dialog = keys::on_dialog(model, top, |dialog, around| {
                let docked = around.measured.docked;
                if docked.is_some_and(|area| area.inside(at.0, at.1).is_none()) {
                    return None;
                }
                dialog.wheel(rows, around);
                Some(Vec::new())
            });
            if by_dialog.flatten().is_none() {
                transcript_mouse::wheel(&mut model.conversation, rows);
            }
        }
        (MouseEventKind::Down(MouseButton::Left), None) => {
            let panel = model.shared.geometry.panel.as_ref().filter(|_| top.is_none());
            if let Some(command) = panel.and_then(|panel| panel.at(at.0, at.1)).cloned() {
                return commands::run(model, ParsedCommand { command, may_run_in_turn: true });
            }
            match keys::on_dialog(model, top, |dialog, around| Some(dialog.click(at, around))) {
                Some(effects) => return effects.unwrap_or_default(),
                None => {
                    let wanted =
                        transcript_mouse::press(&mut model.conversation, &model.shared, event);
                    return keys::carry_out(model, None, wanted);
                }
            }
        }
        (MouseEventKind::Drag(MouseButton::Left), None) => {
            match keys::on_dialog(model, top, |dialog, around| dialog.drag(at, around)).flatten() {
                Some(effects) => return effects,
                None => transcript_mouse::drag(&mut model.conversation, &model.shared, event),
            }
        }
        (MouseEventKind::Up(MouseButton::Left), None) => {
            let by_dialog = keys::on_dialog(model, top, |dialog, _| dialog.button_up()).flatten();
            return by_dialog.unwrap_or_else(|| {
                let wanted = transcript_mouse::release(&mut model.conversation);
                keys::carry_out(model, None, wanted)
            });
        }
        (_, None) => {}
    }
    Vec::new()
}
