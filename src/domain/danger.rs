//! The classes of calls whose effect is hard to take back. A question names them, and offers no rule
//! that would allow such a call for good.

use serde::{Deserialize, Serialize};

use super::{format_bytes, pluralise};

/// What a call does that is hard to take back. In order: the worst is last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CallDanger {
    /// Changes a file that programs take orders from.
    ProtectedPlace,
    /// Ends processes, or the whole system.
    EndsPrograms,
    /// Changes owners or permission bits.
    ChangesAccess,
    /// Sends commits to a remote repository.
    PushesCommits,
    /// Publishes a package, an image or a release.
    Publishes,
    /// Throws changes away that no commit holds.
    DiscardsChanges,
    /// Takes files off the disk.
    DeletesFiles,
    /// Runs with the powers of another user, mostly root.
    RunsAsRoot,
    /// Replaces or deletes what a remote branch holds.
    RewritesRemoteBranch,
    /// Writes to a disk, below its files.
    OverwritesDisk,
    /// Runs a script that comes from the network.
    RunsNetworkScript,
}

/// What a dangerous call would touch, counted before it runs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DangerFact {
    /// Files that it would delete.
    Files {
        count: u64,
        bytes: u64,
        /// How many of them git tracks; `None` where that is not known.
        tracked: Option<u64>,
        /// Whether there are more than were counted.
        is_partial: bool,
    },
    /// Commits that it would send, as the remote was fetched last.
    Commits { count: u64, remote: String },
}

/// How far the facts about a call are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DangerFacts {
    /// None can be had.
    #[default]
    Unknown,
    /// They are being counted, and follow as an event.
    Pending,
    /// Counted; empty if that took too long.
    Found(Vec<DangerFact>),
}

/// What is said where nothing could be counted.
pub const NOT_COUNTED: &str = "not counted";

impl DangerFact {
    /// The fact in a few words.
    pub fn words(&self) -> String {
        match self {
            Self::Files { count: 0, is_partial: true, .. } => NOT_COUNTED.to_owned(),
            Self::Files { count: 0, .. } => "none exists now".to_owned(),
            Self::Files { count, bytes, tracked, is_partial } => {
                let files = pluralise(usize::try_from(*count).unwrap_or(usize::MAX), "file");
                let more = if *is_partial { "at least " } else { "" };
                let tracked = match tracked {
                    None => "",
                    Some(0) => ", none in git",
                    Some(tracked) if tracked == count => ", all in git",
                    Some(tracked) => &format!(", {tracked} in git"),
                };
                format!("{more}{files}, {}{tracked}", format_bytes(*bytes))
            }
            Self::Commits { count, remote } => {
                let commits = pluralise(usize::try_from(*count).unwrap_or(usize::MAX), "commit");
                format!("{commits} not yet on {remote}")
            }
        }
    }
}

impl CallDanger {
    /// The danger in a few words, as a sentence without its end.
    pub fn words(self) -> &'static str {
        match self {
            Self::ProtectedPlace => "Changes a file that decides what programs run",
            Self::EndsPrograms => "Ends running programs",
            Self::ChangesAccess => "Changes the permissions or the owner of files",
            Self::PushesCommits => "Sends commits to a remote repository",
            Self::Publishes => "Publishes a package or a release",
            Self::DiscardsChanges => "Discards changes that are not committed",
            Self::DeletesFiles => "Deletes files",
            Self::RunsAsRoot => "Runs as root",
            Self::RewritesRemoteBranch => "Rewrites a remote branch",
            Self::OverwritesDisk => "Overwrites a disk",
            Self::RunsNetworkScript => "Runs a script from the network",
        }
    }
}
