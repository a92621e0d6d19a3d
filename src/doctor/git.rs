//! Whether git is there and what is checked out.

use std::path::Path;

use super::Finding;
use crate::context::{Git, Head, git_head};

const SUBJECT: &str = "git";

pub(super) fn check(git: Option<&Git>, cwd: &Path) -> Finding {
    let Some(git) = git else {
        return Finding::warn(
            SUBJECT,
            "There is no git in PATH outside the workspace: the model is not told of changes.",
            "Install git, or put its folder into PATH.",
        );
    };
    let program = git.program().display();
    match git_head(cwd) {
        Some(Head::Branch(name)) => Finding::ok(SUBJECT, format!("{program}; on branch {name}.")),
        Some(Head::Detached(commit)) => Finding::ok(SUBJECT, format!("{program}; at {commit}.")),
        None => Finding::ok(SUBJECT, format!("{program}; this folder is in no repository.")),
    }
}
