//! Whether slug can use git, and what is checked out.

use std::path::Path;

use super::DoctorFinding;
use crate::context::{GitExecutable, GitHead, git_head};

const SUBJECT: &str = "git";

pub(super) fn check(git: Option<&GitExecutable>, cwd: &Path) -> DoctorFinding {
    let Some(git) = git else {
        return DoctorFinding::warn(
            SUBJECT,
            "git was not found in PATH outside the workspace, so the model is not told about changes.",
            "Install git, or add its folder to PATH.",
        );
    };
    let program = git.program().display();
    match git_head(cwd) {
        Some(GitHead::Branch(name)) => {
            DoctorFinding::ok(SUBJECT, format!("{program}; on branch {name}."))
        }
        Some(GitHead::Detached(commit)) => {
            DoctorFinding::ok(SUBJECT, format!("{program}; at {commit}."))
        }
        None => {
            DoctorFinding::ok(SUBJECT, format!("{program}; this folder is not in a repository."))
        }
    }
}
