//! The security cases, each with its id; one file for each class.
//!
//! A case is a trusted workspace in a temporary home, the rules that the case names, and the
//! expected outcome. The cases are examples of their classes.

mod approvals;
mod bash;
mod dangers;
mod fetch;
mod git_folders;
mod invariants;
mod linked_places;
mod modes;
mod paths;
mod programs;
mod scratch;
mod settings;

use std::path::PathBuf;

use crate::domain::{
    CallId, CallInput, ContentHash, PermissionMode, PermissionOutcome, RuleKind, ToolAccess,
    ToolCall, clean_path,
};

use super::{PermissionDecision, PermissionQuery, RuleSet, Workspace, decide};

use PermissionOutcome::{Allow, Ask, Deny};

/// A workspace with rules.
struct PermissionTestEnv {
    folder: tempfile::TempDir,
    workspace: Workspace,
    rules: RuleSet,
    mode: PermissionMode,
}

fn test_env() -> PermissionTestEnv {
    let folder = tempfile::tempdir().unwrap();
    // The real path, so that a linked temporary folder has no effect.
    let home = folder.path().canonicalize().unwrap().join("home");
    let root = home.join("app");
    std::fs::create_dir_all(root.join("src")).unwrap();
    std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
    let workspace = Workspace::new(&root, Vec::new(), Some(home.clone()), home.join(".slug"));
    let workspace = workspace.trusted();
    PermissionTestEnv { folder, workspace, rules: RuleSet::new(), mode: PermissionMode::Ask }
}

fn allow<const N: usize>(rules: [&str; N]) -> PermissionTestEnv {
    rules.into_iter().fold(test_env(), |env, rule| env.rule(RuleKind::Allow, rule))
}

fn deny<const N: usize>(rules: [&str; N]) -> PermissionTestEnv {
    rules.into_iter().fold(test_env(), PermissionTestEnv::deny)
}

impl PermissionTestEnv {
    fn rule(mut self, kind: RuleKind, rule: &str) -> Self {
        self.rules.add_session(kind, rule, &self.workspace).unwrap();
        self
    }

    fn deny(self, rule: &str) -> Self {
        self.rule(RuleKind::Deny, rule)
    }

    fn mode(self, mode: PermissionMode) -> Self {
        Self { mode, ..self }
    }

    fn path(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(rest) => self.workspace.home().unwrap().join(rest),
            None => clean_path(&self.workspace.root().join(path)),
        }
    }

    fn file(&self, path: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
    }

    fn query(&self, tool: &str, accesses: &[ToolAccess]) -> PermissionQuery {
        PermissionQuery::resolve(tool, accesses, &self.workspace)
    }

    fn decide(&self, tool: &str, accesses: &[ToolAccess]) -> PermissionDecision {
        decide(&self.query(tool, accesses), &self.rules, self.mode, &self.workspace)
    }

    fn bash(&self, command: &str) -> PermissionDecision {
        let cwd = self.workspace.root().to_owned();
        self.decide("Bash", &[ToolAccess::foreground(command, cwd)])
    }

    fn read(&self, path: &str) -> PermissionOutcome {
        self.decide("Read", &[ToolAccess::Read(self.path(path))]).outcome()
    }

    fn write(&self, path: &str) -> PermissionOutcome {
        self.decide("Write", &[ToolAccess::Write(self.path(path))]).outcome()
    }

    /// Asserts that each command has this outcome.
    #[track_caller]
    fn all(&self, outcome: PermissionOutcome, commands: &[&str]) {
        for command in commands {
            let decision = self.bash(command);
            assert_eq!(decision.outcome(), outcome, "{command:?}: {decision:#?}");
        }
    }
}

fn texts(decision: &PermissionDecision) -> Vec<&str> {
    decision.parts().iter().map(|part| part.text.as_str()).collect()
}

fn call(tool: &str, input: serde_json::Value) -> ToolCall {
    ToolCall { id: CallId::new("7"), name: tool.into(), input: CallInput::Valid(input) }
}
