//! What a hook's answer changes in a decision. Pure.
//!
//! A hook can make a decision stricter, and it can answer a question that the mode alone would have
//! asked. It never overrides a deny rule, an ask rule, a protected place, plan mode, or the
//! question about slug's own settings: what yolo mode would still ask or deny stays as it is.

use crate::domain::{PermissionMode, PermissionOutcome};

use super::check::decide;
use super::paths::Workspace;
use super::query::PermissionQuery;
use super::rules::RuleSet;
use super::ticket::PermissionDecision;

/// What hooks answer about a call that they do not block. Each answer has a sentence that names the
/// hook.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HookPermission {
    /// No hook answered.
    #[default]
    Nothing,
    /// The call may run without a question.
    Allow(String),
    /// The user is to be asked.
    Ask(String),
}

/// Decides a call for which hooks have answered `answer`.
pub fn decide_with(
    query: &PermissionQuery,
    rules: &RuleSet,
    mode: PermissionMode,
    workspace: &Workspace,
    answer: &HookPermission,
) -> PermissionDecision {
    let decision = decide(query, rules, mode, workspace);
    match (answer, decision.outcome(), mode) {
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
            let in_yolo_mode = decide(query, rules, PermissionMode::Yolo, workspace);
            match in_yolo_mode.outcome() {
                PermissionOutcome::Allow => in_yolo_mode.by_hook(PermissionOutcome::Allow, reason),
                PermissionOutcome::Ask | PermissionOutcome::Deny => decision,
            }
        }
        (HookPermission::Nothing, _, _)
        | (HookPermission::Ask(_), PermissionOutcome::Ask | PermissionOutcome::Deny, _)
        | (HookPermission::Allow(_), PermissionOutcome::Allow | PermissionOutcome::Deny, _)
        | (HookPermission::Allow(_), PermissionOutcome::Ask, PermissionMode::Plan) => decision,
    }
}
