//! The classes of calls whose effect is hard to take back. A question names them, and offers no rule
//! that would allow such a call for good.

use serde::{Deserialize, Serialize};

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

impl CallDanger {
    /// The danger in a few words, as a sentence without its end.
    pub fn words(self) -> &'static str {
        match self {
            Self::ProtectedPlace => "Changes a file that decides what programs run",
            Self::EndsPrograms => "Ends running programs",
            Self::ChangesAccess => "Changes who may use files",
            Self::PushesCommits => "Sends commits to a remote repository",
            Self::Publishes => "Publishes to a registry",
            Self::DiscardsChanges => "Discards changes that are not committed",
            Self::DeletesFiles => "Deletes files",
            Self::RunsAsRoot => "Runs as root",
            Self::RewritesRemoteBranch => "Rewrites a remote branch",
            Self::OverwritesDisk => "Overwrites a disk",
            Self::RunsNetworkScript => "Runs a script from the network",
        }
    }
}
