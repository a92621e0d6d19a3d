//! The permission mode as it is shown: its name, and a colour of its own for each mode.

use crate::domain::PermissionMode;
use crate::tui::app::ScreenModel;
use crate::tui::layout::{StyleRole, StyledSpan};

use super::paint::span;

/// The mode, and the sandbox that confines commands.
pub fn spans(model: &ScreenModel) -> Vec<StyledSpan> {
    let mode = model.conversation.status.mode;
    vec![span(text(model, mode), role(mode))]
}

/// The role in which a mode is drawn, here and on the input's sign: the more runs without a
/// question, the louder.
pub fn role(mode: PermissionMode) -> StyleRole {
    match mode {
        PermissionMode::Ask => StyleRole::Text,
        PermissionMode::Plan => StyleRole::Heading(2),
        PermissionMode::AllowEdits => StyleRole::Warning,
        PermissionMode::Sandbox => StyleRole::Success,
        PermissionMode::Yolo => StyleRole::Escaped,
    }
}

fn text(model: &ScreenModel, mode: PermissionMode) -> String {
    match (&model.shared.settings.boundary, mode) {
        (None, PermissionMode::Yolo) => format!(" {mode} "),
        (None, _) => mode.name().to_owned(),
        (Some(boundary), PermissionMode::Sandbox) => format!("sandbox {}", boundary.backend),
        (
            Some(boundary),
            PermissionMode::Ask
            | PermissionMode::AllowEdits
            | PermissionMode::Plan
            | PermissionMode::Yolo,
        ) => {
            format!("{mode} in {}", boundary.backend)
        }
    }
}
