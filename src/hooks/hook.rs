//! One hook, as it was read.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::domain::ContentHash;

use super::event::HookEvent;
use super::filter::HookFilter;

/// Something that is done at a moment.
#[derive(Debug, Clone)]
pub struct Hook {
    /// Names it over restarts, as long as it stays the same.
    pub id: HookId,
    /// When.
    pub event: HookEvent,
    /// For which tools.
    pub filter: HookFilter,
    /// What its exit status means.
    pub form: HookForm,
    /// What.
    pub action: HookAction,
    /// Where it was written.
    pub origin: HookOrigin,
}

/// SHA-256 of what a hook is and of the file that it stands in.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HookId(pub ContentHash);

/// How it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookForm {
    /// `event`, `tool_filter`, `action`: any status but 0 blocks.
    Short,
    /// `matcher` and `hooks`: status 2 blocks, any other failure is told and passed over.
    Matcher,
}

/// What a hook does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookAction {
    /// Runs a line of shell.
    Command {
        /// For `sh -c`.
        line: String,
        /// How long it may take.
        limit: Duration,
    },
    /// Tells the model something.
    Prompt(String),
    /// It cannot be read, and why.
    Unreadable(String),
}

/// Where a hook was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookOrigin {
    /// The file.
    pub file: PathBuf,
    /// The line in it, from 1, where that is known.
    pub line: Option<usize>,
}

impl HookAction {
    /// The command or the text.
    pub fn text(&self) -> &str {
        match self {
            Self::Command { line, .. } => line,
            Self::Prompt(text) | Self::Unreadable(text) => text,
        }
    }

    /// How long it may take, where that is part of it.
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
    /// Of a hook with these parts.
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
