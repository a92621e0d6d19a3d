//! Who may do what: rules from settings files, the analysis of shell commands, and the decision.
//!
//! A call passes here in four steps. [`Query::resolve`] follows symbolic links and analyses the
//! command; [`decide`] is pure and says allow, ask or deny; [`Decision::approve`] or
//! [`Decision::approved_by_person`] makes the [`Approved`] that the gate needs, and nothing else
//! can make one; [`Approved::still_holds`] compares with a second look just before the call runs.
//!
//! Only [`paths`] (links), [`Query::resolve`] through it, and [`store`] touch the disk. A deny rule
//! on Bash is a courtesy to the person, not a wall: a program can do what no rule can see.

mod approved;
mod bash;
mod check;
mod folders;
mod hooked;
mod index;
mod meaning;
pub mod paths;
mod pattern;
mod places;
mod programs;
mod query;
mod report;
mod repository;
mod rules;
pub mod sandbox;
mod search_path;
mod settings_text;
pub mod shell;
pub mod store;
mod words;
mod wrappers;

#[cfg(test)]
mod adversary;
#[cfg(test)]
mod cases;
#[cfg(test)]
mod disk_law;
#[cfg(test)]
mod oracle;

pub use approved::{Approved, Decision};
pub use check::decide;
pub use hooked::{HookWord, decide_with};
pub use meaning::meaning;
pub use paths::{ResolvedPath, Workspace, Zone};
pub use places::{Protected, ProtectedKind};
pub use query::{Query, ResolvedAccess};
pub use report::{ListReport, TestReport};
pub use rules::{RuleError, RuleSet, Warning};
