//! What a front end asks of the hooks, and the answers.

use std::sync::Arc;

use crate::hooks::{HookId, HookRow, HookTrial};

/// A request to the hooks service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookAdminRequest {
    List,
    /// Switch a hook off, or on again, and list all hooks.
    Switch(HookId),
    /// Run a hook with a made-up payload.
    Try(HookId),
    /// Trust the hooks that were listed as new, and list all hooks.
    Trust,
}

/// The answer to a [`HookAdminRequest`].
#[derive(Debug, Clone, PartialEq)]
pub enum HookAdminResponse {
    Listed(Vec<HookRow>),
    /// All hooks, where those of a project have changed since they were trusted.
    Changed {
        /// The hooks in force.
        rows: Vec<HookRow>,
        /// What trusting the changed hooks would allow, in lines.
        news: Arc<str>,
    },
    /// The result of a trial.
    Tried(Box<HookTrial>),
}
