//! What a confined command sees of the machine, as a plain value: made by `permissions::sandbox`
//! from the folder that the person named, carried out by `platform::sandbox`.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::HostRule;

/// What a command sees. All paths are absolute and without links.
///
/// What nothing here speaks of can be read and not be changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxProfile {
    /// The folder that can be changed.
    pub dir: PathBuf,
    /// What can be changed besides, wherever it is.
    pub writable: Vec<PathBuf>,
    /// What exists in these and can only be read.
    pub fixed: Vec<PathBuf>,
    /// Folders in `dir` that have something in them that is not as elsewhere there, and that have to
    /// stay where they are.
    pub held: Vec<PathBuf>,
    /// What is not there and must not come into being.
    pub absent: Vec<MaskedPath>,
    /// git's own list of what it passes over here: what stands for the absent is none of a
    /// repository's files.
    pub ignores: Option<PathBuf>,
    /// What exists and cannot be read.
    pub covered: Vec<MaskedPath>,
    /// Whether all that deny rules on reading name was found: what was not is not covered.
    pub denied: ScanExtent,
    /// Folders for all programs, each of which gets one of its own or none: `/tmp`, `/run`.
    pub private: Vec<PathBuf>,
    /// What can be read though it may lie in one of those.
    pub kept: Vec<PathBuf>,
    /// Whether there is a network.
    pub network: SandboxNetwork,
}

impl SandboxProfile {
    /// One in which nothing but `dir` can be changed, and everything read.
    pub fn for_folder(dir: PathBuf, network: SandboxNetwork) -> Self {
        Self {
            dir,
            writable: Vec::new(),
            fixed: Vec::new(),
            held: Vec::new(),
            absent: Vec::new(),
            ignores: None,
            covered: Vec::new(),
            denied: ScanExtent::Whole,
            private: Vec::new(),
            kept: Vec::new(),
            network,
        }
    }

    /// The same with only `scratch` to change: what could be changed before can be read, and what
    /// could be neither stays so.
    pub fn into_read_only(mut self, scratch: PathBuf) -> Self {
        let before = std::mem::replace(&mut self.dir, scratch);
        if !self.covered.iter().any(|spot| before.starts_with(&spot.path)) {
            self.kept.push(before);
        }
        let (writable, fixed, held, absent) = Default::default();
        Self { writable, fixed, held, absent, ignores: None, ..self }
    }
}

/// A path and what is, or would be, there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MaskedPath {
    /// Where.
    pub path: PathBuf,
    /// What.
    pub kind: MaskedPathKind,
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum MaskedPathKind {
    /// Anything but a folder.
    File,
    /// A folder.
    Folder,
}

/// Whether confined commands reach a network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SandboxNetwork {
    /// None at all.
    #[default]
    Off,
    /// These hosts, through slug's proxy, and nothing else.
    Hosts(Vec<HostRule>),
    /// All that slug itself reaches.
    On,
}

/// What keeps a command inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SandboxBackendKind {
    /// bubblewrap: a view of its own of files, processes and network.
    Bubblewrap,
    /// Landlock with seccomp: the kernel refuses.
    Landlock,
    /// macOS's `sandbox-exec`.
    Seatbelt,
}

impl SandboxBackendKind {
    /// The name in the configuration and on screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bubblewrap => "bwrap",
            Self::Landlock => "landlock",
            Self::Seatbelt => "seatbelt",
        }
    }
}

impl fmt::Display for SandboxBackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The sandbox that is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSummary {
    /// What keeps commands inside.
    pub backend: SandboxBackendKind,
    /// The folder that they can change.
    pub dir: PathBuf,
    /// Whether they reach a network.
    pub network: SandboxNetwork,
    /// Whether all was found in the folder that has to be held back.
    pub extent: ScanExtent,
}

/// Whether everything in a folder was looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScanExtent {
    /// All of it.
    #[default]
    Whole,
    /// There is too much: what lies deepest was not.
    Part,
}

impl SandboxSummary {
    /// What it does, as a phrase.
    pub fn meaning(&self) -> String {
        format!("{}, {}", self.folder_phrase(), self.network_phrase())
    }

    /// What keeps commands in which folder.
    pub fn folder_phrase(&self) -> String {
        let rest = match self.extent {
            ScanExtent::Whole => "",
            ScanExtent::Part => " (too big to be looked through)",
        };
        format!("{} around {}{rest}", self.backend, self.dir.display())
    }

    /// What they reach.
    pub fn network_phrase(&self) -> String {
        match &self.network {
            SandboxNetwork::Off => "no network".to_owned(),
            SandboxNetwork::Hosts(hosts) => {
                let named: Vec<String> =
                    hosts.iter().take(MAX_NAMED_HOSTS).map(HostRule::to_string).collect();
                let more = match hosts.len().saturating_sub(MAX_NAMED_HOSTS) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                format!("no network but {}{more}", named.join(", "))
            }
            SandboxNetwork::On => "with the network".to_owned(),
        }
    }
}

/// As many hosts are named in a phrase.
const MAX_NAMED_HOSTS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_force_is_said_in_a_few_words() {
        let hosts = |listed: &[&str]| {
            SandboxNetwork::Hosts(listed.iter().map(|text| text.parse().unwrap()).collect())
        };
        let five = ["a.org", "*.b.org", "c.org:81", "d.org", "e.org"];
        for (network, extent, meaning) in [
            (SandboxNetwork::Off, ScanExtent::Whole, "bwrap around /w, no network"),
            (SandboxNetwork::On, ScanExtent::Whole, "bwrap around /w, with the network"),
            (hosts(&["a.org"]), ScanExtent::Whole, "bwrap around /w, no network but a.org"),
            (
                hosts(&five),
                ScanExtent::Part,
                "bwrap around /w (too big to be looked through), no network but a.org, *.b.org, \
                 c.org:81 and 2 more",
            ),
        ] {
            let boundary = SandboxSummary {
                backend: SandboxBackendKind::Bubblewrap,
                dir: "/w".into(),
                network,
                extent,
            };
            assert_eq!(boundary.meaning(), meaning);
        }
    }
}
