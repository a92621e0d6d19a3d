//! What a sandboxed command may see and change, as a plain value. `permissions::sandbox` makes it
//! from the folder that the user chose; `platform::sandbox` enforces it.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::HostRule;

/// What a sandboxed command may see and change. All paths are absolute and free of symbolic links.
///
/// Anything that no field mentions can be read and not changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxProfile {
    /// The folder that commands may change.
    pub dir: PathBuf,
    /// Other paths that commands may change, also inside of `fixed` ones. What is missing is a folder
    /// that the sandbox makes.
    pub writable: Vec<PathBuf>,
    /// The session's scratch folder, which commands may change, wherever it is.
    pub scratch: Option<PathBuf>,
    /// Existing paths in `dir` or `writable` that commands may only read.
    pub fixed: Vec<PathBuf>,
    /// Folders in `dir` that contain an exception to the rule for `dir`. They must not be moved or
    /// renamed.
    pub held: Vec<PathBuf>,
    /// Paths that do not exist and that commands must not create.
    pub absent: Vec<MaskedPath>,
    /// git's exclude file of this repository. Placeholders for the `absent` paths are listed there,
    /// so that git does not see them as new files.
    pub ignores: Option<PathBuf>,
    /// Existing paths that commands cannot read.
    pub covered: Vec<MaskedPath>,
    /// Whether the scan found everything that deny rules on reading name. What it missed is not
    /// covered.
    pub denied: ScanExtent,
    /// Shared folders that are replaced by an empty private one, or hidden: `/tmp`, `/run`.
    pub private: Vec<PathBuf>,
    /// Paths that stay readable even though they may be inside a private folder.
    pub kept: Vec<PathBuf>,
    /// Whether commands reach a network, and which hosts.
    pub network: SandboxNetwork,
}

impl SandboxProfile {
    /// A profile in which only `dir` can be changed and everything can be read.
    pub fn for_folder(dir: PathBuf, network: SandboxNetwork) -> Self {
        Self {
            dir,
            writable: Vec::new(),
            scratch: None,
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

    /// The same profile, in which only `scratch` can be changed: what was writable becomes
    /// read-only, and what was hidden stays hidden.
    pub fn into_read_only(mut self, scratch: PathBuf) -> Self {
        let before = std::mem::replace(&mut self.dir, scratch);
        if !self.covered.iter().any(|spot| before.starts_with(&spot.path)) {
            self.kept.push(before);
        }
        let (writable, fixed, held, absent) = Default::default();
        Self { writable, scratch: None, fixed, held, absent, ignores: None, ..self }
    }
}

/// A path, and whether a file or a folder is (or would be) there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MaskedPath {
    /// The absolute path.
    pub path: PathBuf,
    /// Decides what the sandbox puts in the path's place.
    pub kind: MaskedPathKind,
}

/// Whether a path is a folder or anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum MaskedPathKind {
    /// Anything but a folder: files, sockets, devices.
    File,
    /// A folder, which hides everything below it.
    Folder,
}

/// Whether sandboxed commands reach a network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SandboxNetwork {
    /// No network at all.
    #[default]
    Off,
    /// These hosts, through slug's proxy, and nothing else.
    Hosts(Vec<HostRule>),
    /// Everything that slug itself reaches.
    On,
}

/// The mechanism that enforces the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SandboxBackendKind {
    /// bubblewrap: the command gets its own view of files, processes and network.
    Bubblewrap,
    /// Landlock and seccomp: the kernel refuses forbidden accesses.
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

/// The active sandbox, in brief.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSummary {
    /// The mechanism that enforces it.
    pub backend: SandboxBackendKind,
    /// The folder that commands may change.
    pub dir: PathBuf,
    /// Whether commands reach a network, and which hosts.
    pub network: SandboxNetwork,
    /// Whether the scan of `dir` for protected paths was complete.
    pub extent: ScanExtent,
}

/// Whether a scan of a folder was complete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScanExtent {
    /// The scan saw every file and folder.
    #[default]
    Whole,
    /// The folder is too large; the scan skipped the deepest levels.
    Part,
}

impl SandboxSummary {
    /// Folder and network as one phrase.
    pub fn meaning(&self) -> String {
        format!("{}, {}", self.folder_phrase(), self.network_phrase())
    }

    /// Which mechanism sandboxes which folder, as a phrase.
    pub fn folder_phrase(&self) -> String {
        let rest = match self.extent {
            ScanExtent::Whole => "",
            ScanExtent::Part => " (too big to be looked through)",
        };
        format!("{} around {}{rest}", self.backend, self.dir.display())
    }

    /// What commands reach, as a phrase.
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

/// The most hosts that a phrase names.
const MAX_NAMED_HOSTS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_one_short_phrase() {
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
