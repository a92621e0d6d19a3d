//! What choosing a row of a list stands for. Plain values, so that lists, intents and the shell can
//! all name them.

use std::sync::Arc;

use crate::commands::{CopyArgument, EffortArgument};
use crate::config::ThemeChoice;
use crate::domain::{EntryId, ModelName, PermissionMode, SessionId, UserInput};
use crate::hooks::HookRow;

use super::keymap::KeyActionId;

/// What to do when a row is chosen.
#[derive(Debug, Clone, PartialEq)]
pub enum PickerChoice {
    /// Does what a key would do.
    Key(KeyActionId),
    /// Runs a slash command, by name.
    Command(String),
    /// Changes the model.
    Model(ModelName),
    /// Sets the thinking effort.
    Thinking(EffortArgument),
    /// Changes the mode.
    Mode(PermissionMode),
    /// Copies a part of the session.
    Copied(CopyArgument),
    /// Changes the theme; while its row is selected, the screen previews it.
    Theme(ThemeChoice),
    /// Opens a past session, or mentions it.
    Session(SessionId),
    /// Does nothing: the row is only read.
    Nothing,
    /// Puts a text into the input.
    Text(String),
    /// Puts an earlier message into the input.
    Sent(UserInput),
    /// Does something with a hook.
    Hook(HookChoice),
    /// Opens the dialog for going back before this message.
    Rewind(EntryId),
}

/// A row of the lists of `/hooks`.
#[derive(Debug, Clone, PartialEq)]
pub enum HookChoice {
    One {
        action: HookChoiceAction,
        hook: Arc<HookRow>,
    },
    /// The hooks that have changed; the text says what is new, in lines.
    News(HookNewsAction, Arc<str>),
}

/// What choosing the row of changed hooks does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookNewsAction {
    /// Shows the question whether to trust them.
    Ask,
    Trust,
}

/// What choosing the row of a hook does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookChoiceAction {
    /// Lists the actions for the hook.
    Open,
    /// Switches the hook off, or on again.
    Switch,
    /// Runs the hook with a made-up payload.
    Try,
}

impl PickerChoice {
    /// The theme, if this choice changes the theme.
    pub fn theme(&self) -> Option<&ThemeChoice> {
        if let Self::Theme(choice) = self { Some(choice) } else { None }
    }
}
