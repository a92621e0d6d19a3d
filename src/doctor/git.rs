//! Whether slug can use git, and what is checked out.

use std::path::Path;

use super::DoctorFinding;
use crate::context::{GitExecutable, GitHead, git_head};

const SUBJECT: &str = "git";

pub(super) fn check(git: Option<&GitExecutable>, cwd: &Path) -> DoctorFinding {
    let Some(git) = git else {
        return DoctorFinding::warn(
            SUBJECT,
            "There is no git in PATH outside the workspace: the model is not told of changes.",
            "Install git, or put its folder into PATH.",
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
        None => DoctorFinding::ok(SUBJECT, format!("{program}; this folder is in no repository.")),
    }
}
