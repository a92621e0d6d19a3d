//! Decides which tool calls may run: the rules of settings files, the analysis of shell commands,
//! and the decision.
//!
//! A call passes in four steps. [`PermissionQuery::resolve`] follows symbolic links and analyses
//! the command. [`decide`] is pure and says allow, ask or deny. [`PermissionDecision::approve`] or
//! [`PermissionDecision::approve_by_user`] makes the [`ToolCallTicket`] that the gate needs;
//! nothing else can make one. [`ToolCallTicket::still_holds`] compares the ticket with a second
//! look at the disk just before the call runs.
//!
//! Only [`paths`] (links), [`PermissionQuery::resolve`] through it, and [`store`] touch the disk. A
//! deny rule on Bash is a courtesy to the user, not a wall: a program can do what no rule can see.

mod bash;
mod check;
mod danger;
pub mod danger_targets;
mod definition_rule;
mod domain_rule;
mod fetch;
mod file_family;
mod folders;
mod git_folders;
mod git_places;
mod hook_permission;
mod index;
mod meaning;
pub mod paths;
mod pattern;
mod place_patterns;
mod places;
mod programs;
mod query;
mod report;
mod repository;
mod rule_advice;
mod rules;
pub mod sandbox;
mod search_path;
mod settings_text;
pub mod shell;
pub mod store;
mod ticket;
mod tool_names;
mod words;
mod wrappers;

#[cfg(test)]
mod bypass_tests;
#[cfg(test)]
mod cases;
#[cfg(test)]
mod disk_invariants;
#[cfg(test)]
mod oracle;

pub use check::decide;
pub use definition_rule::{is_on_definition, rule_on_definition};
pub use domain_rule::domain_in;
pub use hook_permission::{HookPermission, decide_with};
pub use meaning::meaning;
pub use paths::{PathZone, ResolvedPath, Workspace};
pub use places::{ProtectedPlaceKind, ProtectionReason};
pub use query::{PermissionQuery, ResolvedAccess};
pub use report::{PermissionTestReport, RuleListReport};
pub use rules::{READ_RULE, RuleError, RuleSet, RuleWarning};
pub use ticket::{PermissionDecision, ToolCallTicket};
