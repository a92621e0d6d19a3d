//! One hook, as it was read from a settings file.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::domain::ContentHash;

use super::event::HookEvent;
use super::filter::HookFilter;

/// A command or a text that slug runs or sends on an event.
#[derive(Debug, Clone)]
pub struct Hook {
    /// Stays the same over restarts, as long as the hook and its file's path do.
    pub id: HookId,
    pub event: HookEvent,
    /// Which tools the hook applies to.
    pub filter: HookFilter,
    /// Decides what the hook's exit status means.
    pub form: HookForm,
    pub action: HookAction,
    pub origin: HookOrigin,
}

/// SHA-256 of everything that makes the hook: file, event, filter, form, action and timeout.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HookId(pub ContentHash);

/// The form in which a hook was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookForm {
    /// `event`, `tool_filter`, `action`: any exit status but 0 blocks.
    Short,
    /// `matcher` and `hooks`: exit status 2 blocks; any other failure is reported and ignored.
    Matcher,
}

/// What a hook does when it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookAction {
    /// Runs a shell command.
    Command {
        /// The command line for `sh -c`.
        line: String,
        /// The timeout, after which the command is killed.
        limit: Duration,
    },
    /// A text for the model.
    Prompt(String),
    /// The hook cannot be read; the text says why.
    Unreadable(String),
}

/// The place in a settings file where a hook was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookOrigin {
    pub file: PathBuf,
    /// From 1; `None` where the line is not known.
    pub line: Option<usize>,
}

impl HookAction {
    /// The command line, the prompt text, or why the hook cannot be read.
    pub fn text(&self) -> &str {
        match self {
            Self::Command { line, .. } => line,
            Self::Prompt(text) | Self::Unreadable(text) => text,
        }
    }

    /// The timeout in milliseconds; empty for an action without one.
    fn limit(&self) -> String {
        match self {
            Self::Command { limit, .. } => limit.as_millis().to_string(),
            Self::Prompt(_) | Self::Unreadable(_) => String::new(),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Command { .. } => "command",
            Self::Prompt(_) => "prompt",
            Self::Unreadable(_) => "unreadable",
        }
    }
}

impl HookId {
    /// The id of a hook with these parts.
    pub(super) fn of(
        event: HookEvent,
        filter: &HookFilter,
        form: HookForm,
        action: &HookAction,
        origin: &HookOrigin,
    ) -> Self {
        let form = match form {
            HookForm::Short => "short",
            HookForm::Matcher => "matcher",
        };
        let (file, limit) = (origin.file.to_string_lossy(), action.limit());
        let parts =
            [&file, event.name(), form, filter.text(), action.kind(), &limit, action.text()];
        Self(ContentHash::of(parts.join("\0").as_bytes()))
    }
}

impl fmt::Display for HookOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.file.display()),
            None => write!(f, "{}", self.file.display()),
        }
    }
}
