//! What choosing a row of a list stands for. Plain values, so that lists, intents and the shell can
//! all name them.

use std::sync::Arc;

use crate::commands::{CopyArgument, EffortArgument};
use crate::config::{SettingChange, SettingKind, SettingValue, ThemeChoice};
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
    /// Does something with a setting.
    Setting(SettingChoice),
    /// Opens the dialog for going back before this message.
    Rewind(EntryId),
}

/// A row of the lists of `/settings`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingChoice {
    /// Asks for the new value.
    Open(SettingValue),
    /// Writes a value into the user's file.
    Set(SettingChange),
    /// Takes the last change back; the list stays open.
    Undo(SettingChange),
}

impl PickerChoice {
    /// Whether the list stays open under what the row opens, or for another choice.
    pub fn keeps_list(&self) -> bool {
        match self {
            Self::Setting(SettingChoice::Open(value)) => {
                value.overridden.is_some() || !matches!(value.setting.kind, SettingKind::Command(_))
            }
            Self::Setting(SettingChoice::Undo(_)) => true,
            Self::Setting(SettingChoice::Set(_))
            | Self::Key(_)
            | Self::Command(_)
            | Self::Model(_)
            | Self::Thinking(_)
            | Self::Mode(_)
            | Self::Copied(_)
            | Self::Theme(_)
            | Self::Session(_)
            | Self::Text(_)
            | Self::Sent(_)
            | Self::Hook(_)
            | Self::Rewind(_)
            | Self::Nothing => false,
        }
    }
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
