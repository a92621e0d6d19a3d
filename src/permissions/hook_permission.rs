//! What a hook's word changes in a decision. Pure.
//!
//! A hook can make a decision stricter, and can answer what the mode alone would have asked. It
//! never stands above a deny rule, an ask rule, a protected place, plan mode, or the question about
//! slug's own powers: what the mode that asks nothing would still ask or refuse stays as it is.

use crate::domain::{PermissionMode, PermissionOutcome};

use super::check::decide;
use super::paths::Workspace;
use super::query::PermissionQuery;
use super::rules::RuleSet;
use super::ticket::PermissionDecision;

/// What hooks say of a call, where they do not refuse it. Each with a sentence that says who.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HookPermission {
    /// Nothing.
    #[default]
    Nothing,
    /// It may run without a question.
    Allow(String),
    /// The person is to be asked.
    Ask(String),
}

/// Decides a call of which hooks have said this.
pub fn decide_with(
    query: &PermissionQuery,
    rules: &RuleSet,
    mode: PermissionMode,
    workspace: &Workspace,
    word: &HookPermission,
) -> PermissionDecision {
    let decision = decide(query, rules, mode, workspace);
    match (word, decision.outcome(), mode) {
        (HookPermission::Ask(reason), PermissionOutcome::Allow, _) => {
            decision.by_hook(PermissionOutcome::Ask, reason)
        }
        (
            HookPermission::Allow(reason),
            PermissionOutcome::Ask,
            PermissionMode::Ask
            | PermissionMode::AllowEdits
            | PermissionMode::Sandbox
            | PermissionMode::Yolo,
        ) => {
            let unasked = decide(query, rules, PermissionMode::Yolo, workspace);
            match unasked.outcome() {
                PermissionOutcome::Allow => unasked.by_hook(PermissionOutcome::Allow, reason),
                PermissionOutcome::Ask | PermissionOutcome::Deny => decision,
            }
        }
        (HookPermission::Nothing, _, _)
        | (HookPermission::Ask(_), PermissionOutcome::Ask | PermissionOutcome::Deny, _)
        | (HookPermission::Allow(_), PermissionOutcome::Allow | PermissionOutcome::Deny, _)
        | (HookPermission::Allow(_), PermissionOutcome::Ask, PermissionMode::Plan) => decision,
    }
}
