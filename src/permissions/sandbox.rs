//! What a sandbox around a folder lets a command see and change: the policy, without the mechanism.
//!
//! The policy follows from the folder that the user named, and from nothing in a call. The
//! protected places from which slug, git, a shell or an editor take instructions
//! (`permissions::places`) can be read but not changed, and those that do not exist cannot be
//! created; keys and passwords cannot be read. [`SandboxPolicy::profile`] looks at the disk through
//! [`SandboxDisk`] alone, and `platform::sandbox` enforces the profile. What slug cannot look at,
//! but a command could open, is masked or refused, never taken for nothing.
//!
//! Files that a deny rule on reading names cannot be read, either (`hidden_paths`). In a linked git
//! worktree, commits can be made (`worktree`). Protected places can be created in folders further
//! down: new ones are prevented only in the sandbox's folder itself and in the folders from it down
//! to the one that slug works in.

mod disk;
mod hidden_paths;
mod places;
mod worktree;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::domain::{
    MaskedPath, MaskedPathKind, SYSTEM_FOLDERS, SandboxNetwork, SandboxProfile, ScanExtent,
};

use super::git_folders::is_in_git_folder;
use super::paths::Workspace;
use super::places::ProtectedPlaceKind::{Git, SlugSettings};
use super::places::{ANYWHERE, AT_HOME, PlaceReservation, ProtectedPlace, by_name};
use super::rules::RuleSet;

pub use disk::{HostSandboxDisk, SandboxDisk, SandboxDiskEntry};
pub use hidden_paths::ReadRules;
use places::ProtectedPathScan;
use worktree::{FoldersWithLinks, LinkedWorktree};

/// Paths of the home folder that commands cannot read: keys, passwords, tokens, and what browsers,
/// mail programs, wallets and password stores keep. No such list is complete.
const SECRETS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    ".config/op",
    ".config/sops",
    ".config/git/credentials",
    ".git-credentials",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".terraform.d",
    ".password-store",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".local/share/keyrings",
    ".claude",
    ".codex",
    ".gemini",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/vivaldi",
    ".config/opera",
    ".config/microsoft-edge",
    ".librewolf",
    ".thunderbird",
    ".var/app/org.mozilla.firefox",
    ".var/app/org.mozilla.Thunderbird",
    ".var/app/com.google.Chrome",
    ".var/app/org.chromium.Chromium",
    ".var/app/com.brave.Browser",
    ".var/app/com.microsoft.Edge",
    ".var/app/com.bitwarden.desktop",
    ".var/app/org.keepassxc.KeePassXC",
    "snap/firefox",
    "snap/chromium",
    "snap/brave",
    "snap/thunderbird",
    "snap/bitwarden",
    ".local/share/kwalletd",
    ".config/Bitwarden",
    ".config/1Password",
    ".config/keepassxc",
    ".purple",
    ".bitcoin",
    ".electrum",
    ".config/containers/auth.json",
    ".config/rclone",
    ".config/doctl",
    ".config/github-copilot",
    ".config/netlify",
    ".config/composer/auth.json",
    ".composer/auth.json",
    ".s3cfg",
    ".boto",
    ".oci",
    ".pulumi/credentials.json",
    ".fly",
    // Not settings.xml beside it: Maven stops when that file is there and empty.
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".kaggle",
    ".cache/huggingface/token",
    ".huggingface/token",
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".psql_history",
    ".mysql_history",
    ".python_history",
    ".node_repl_history",
    "Library/Keychains",
    "Library/Application Support/Google/Chrome",
    "Library/Application Support/Chromium",
    "Library/Application Support/BraveSoftware",
    "Library/Application Support/Microsoft Edge",
    "Library/Application Support/Firefox",
    "Library/Application Support/Bitwarden",
    "Library/Application Support/1Password",
];

/// System files that commands cannot read; they matter where slug runs as root.
const SECRETS_OF_ALL: [&str; 2] = ["/etc/shadow", "/etc/gshadow"];

/// Folders that all programs share, and where programs leave sockets.
const SHARED: [&str; 4] = ["/tmp", "/var/tmp", "/run", "/var/run"];

/// Entries of the shared folders that stay visible: on NixOS the programs themselves lie there.
const SHARED_EXCEPTIONS: [&str; 2] = ["/run/current-system", "/run/opengl-driver"];

/// Folders that hold the system or the files of all users.
const WIDE: [&str; 16] = [
    "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/nix", "/opt", "/proc", "/run",
    "/sbin", "/srv", "/sys", "/usr", "/var",
];

/// A sandbox around a folder. All its paths are real ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxPolicy {
    dir: PathBuf,
    /// The folder inside `dir` that slug works in.
    work: PathBuf,
    home: Option<PathBuf>,
    slug_home: PathBuf,
    /// Paths in `dir` that links in protected places lead to.
    linked: Vec<MaskedPath>,
    network: SandboxNetwork,
}

/// Why there can be no sandbox around a folder, or why a command cannot run in it. Each message is
/// a sentence with a remedy.
#[derive(Debug, thiserror::Error)]
pub enum SandboxPolicyError {
    /// The folder cannot be opened.
    #[error("the sandbox's folder {dir} cannot be opened: {source}. Name one that is there")]
    Unreachable {
        /// As the user named it.
        dir: PathBuf,
        /// The system's own error.
        source: std::io::Error,
    },
    /// The path names a file.
    #[error("{0} is not a folder: name the folder that commands may change")]
    NotFolder(PathBuf),
    /// The folder holds too much.
    #[error("a sandbox around {dir} would hold {what}: name a folder further down")]
    TooWide {
        dir: PathBuf,
        /// A phrase: "your home folder".
        what: &'static str,
    },
    /// The folder is a place that commands must not change.
    #[error("{0} has settings that slug, git or a shell use, or keys: choose another folder")]
    Protected(PathBuf),
    /// A link stands where a file or folder must be held in place.
    #[error(
        "{0} is a link, and a sandbox cannot keep a link from being replaced: put the file itself there"
    )]
    Link(PathBuf),
    /// Slug cannot look at this path, and a command could open it.
    #[error(
        "{0} cannot be looked at, so that nothing there could be held back from commands. Give yourself the right to read and enter the folders on the way (chmod u+rx)"
    )]
    Closed(PathBuf),
    /// The folder was searched as a whole at the start, and has since grown too large for that.
    #[error(
        "{dir} now has more than {most} files and folders: too many to find those that commands must not read or change. Delete some, or restart slug with a smaller folder for --sandbox"
    )]
    Grown {
        dir: PathBuf,
        /// The most entries that are searched.
        most: usize,
    },
    /// The deny rules on reading match too many paths to mask them one by one.
    #[error(
        "the deny rules on reading name more than {most} files and folders in {dir}, one by one: deny the folders that they are in"
    )]
    TooManyHidden {
        dir: PathBuf,
        /// The most paths that can be masked.
        most: usize,
    },
}

impl SandboxPolicy {
    /// A sandbox around `dir`. The links in `dir` are followed here, once. `home` is the user's
    /// home folder, `slug_home` slug's own.
    ///
    /// # Errors
    ///
    /// Fails when `dir` cannot be opened, is no folder, holds too much (the home folder, the
    /// system), or is itself a protected place.
    pub fn around(
        dir: &Path,
        home: Option<&Path>,
        slug_home: &Path,
        network: SandboxNetwork,
    ) -> Result<Self, SandboxPolicyError> {
        let unreachable = |source| SandboxPolicyError::Unreachable { dir: dir.to_owned(), source };
        let real = dir.canonicalize().map_err(unreachable)?;
        if !real.is_dir() {
            return Err(SandboxPolicyError::NotFolder(real));
        }
        let exact = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let (home, slug_home) = (home.map(exact), exact(slug_home));
        let (work, linked) = (real.clone(), Vec::new());
        let sandbox = Self { dir: real, work, home, slug_home, linked, network };
        sandbox.check()?;
        let mut has = |path: &Path| path.symlink_metadata().is_ok();
        if is_in_git_folder(&sandbox.dir, Path::new("/"), &mut has) {
            return Err(SandboxPolicyError::Protected(sandbox.dir));
        }
        Ok(sandbox.with_linked_places())
    }

    /// The sandbox's folder, as a real path.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The same sandbox, where slug works in a folder further down: slug takes instructions from
    /// there, too.
    pub fn with_work_in(self, work: PathBuf) -> Self {
        Self { work, ..self }.with_linked_places()
    }

    /// The same sandbox, where commands do not change `file` either, from which slug has its configuration.
    pub fn with_config_file(mut self, file: &Path) -> Self {
        let real = file.canonicalize().ok().filter(|real| real.starts_with(&self.dir));
        self.linked.extend(real.map(|path| MaskedPath { path, kind: MaskedPathKind::File }));
        self
    }

    fn with_linked_places(self) -> Self {
        let (work, home) = (vec![self.work.clone()], self.home.clone());
        let workspace = Workspace::new(&self.dir, work, home, &self.slug_home);
        let targets = workspace.linked_places().into_iter().map(|it| (it, MaskedPathKind::File));
        let start_up = self.start_up().map(|(path, kind)| (workspace.real(&path), kind));
        let linked = targets.chain(start_up).filter(|(path, _)| path.starts_with(&self.dir));
        let linked = linked.map(|(path, kind)| MaskedPath { path, kind }).collect();
        Self { linked, ..self }
    }

    /// The same sandbox, without any network.
    pub fn without_network(self) -> Self {
        Self { network: SandboxNetwork::Off, ..self }
    }

    fn check(&self) -> Result<(), SandboxPolicyError> {
        let dir = &self.dir;
        let too_wide = |what| Err(SandboxPolicyError::TooWide { dir: dir.clone(), what });
        if dir == Path::new("/") {
            return too_wide("the whole machine");
        }
        if self.home.as_ref().is_some_and(|home| home.starts_with(dir)) {
            return too_wide("your home folder");
        }
        if WIDE.iter().any(|wide| dir == Path::new(wide)) {
            return too_wide("what belongs to the system");
        }
        if SHARED.iter().any(|shared| Path::new(shared).starts_with(dir)) {
            return too_wide("what all programs share");
        }
        let named = by_name(dir).is_some_and(|it| matches!(it.kind, SlugSettings | Git));
        let mut closed = self.secrets().chain(self.start_up().map(|(path, _)| path));
        let system = SYSTEM_FOLDERS.iter().any(|root| dir.starts_with(root));
        let holds_dir = |closed: PathBuf| {
            let real = closed.canonicalize();
            dir.starts_with(closed) || real.is_ok_and(|real| dir.starts_with(real))
        };
        if named || system || closed.any(holds_dir) {
            return Err(SandboxPolicyError::Protected(dir.clone()));
        }
        Ok(())
    }

    /// The profile of a command, as the disk is now and where `rules` hold.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::survey`] does.
    pub fn profile(
        &self,
        disk: &dyn SandboxDisk,
        rules: &RuleSet,
    ) -> Result<SandboxProfile, SandboxPolicyError> {
        self.survey(disk, rules).map(|(profile, _)| profile)
    }

    /// The profile of a later command. `first` says whether everything was found at the start. If
    /// so, everything has to be found again: a command could have added files until the search ends
    /// early, and the next command would read what is then not masked.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::survey`] does, and when the folder has grown too large to be searched as a
    /// whole.
    pub fn later_profile(
        &self,
        disk: &dyn SandboxDisk,
        rules: &RuleSet,
        first: ScanExtent,
    ) -> Result<SandboxProfile, SandboxPolicyError> {
        match (first, self.survey(disk, rules)?) {
            (ScanExtent::Whole, (_, ScanExtent::Part)) => {
                Err(SandboxPolicyError::Grown { dir: self.dir.clone(), most: places::ENTRIES })
            }
            (ScanExtent::Whole | ScanExtent::Part, (profile, _)) => Ok(profile),
        }
    }

    /// The profile, and whether everything that it has to protect was found.
    ///
    /// # Errors
    ///
    /// Fails when a link stands in the place of a protected path, when slug cannot look at a path
    /// that a command could open, and when the deny rules match more paths than can be masked.
    pub fn survey(
        &self,
        disk: &dyn SandboxDisk,
        rules: &RuleSet,
    ) -> Result<(SandboxProfile, ScanExtent), SandboxPolicyError> {
        let mut places = ProtectedPathScan::new(&self.dir, disk);
        for above in self.work.ancestors().take_while(|it| it.starts_with(&self.dir)) {
            for row in ANYWHERE {
                let Some((path, kind)) = row.fixed() else { continue };
                let path = above.join(path);
                let is_kept = match row.reserved {
                    PlaceReservation::Always => true,
                    PlaceReservation::InItsFolder => path
                        .parent()
                        .is_some_and(|folder| disk.at(folder) == SandboxDiskEntry::Folder),
                    PlaceReservation::Never => false,
                };
                if is_kept {
                    places.protect(&path, kind)?;
                }
            }
        }
        for (path, kind) in self.start_up().filter(|(path, _)| path.starts_with(&self.dir)) {
            places.protect(&path, kind)?;
        }
        for MaskedPath { path, kind } in &self.linked {
            places.protect(path, *kind)?;
        }
        let mut extent = places.scan_subfolders()?;
        let ProtectedPathScan { mut fixed, mut held, mut absent, closed, working_trees, .. } =
            places;

        let private: Vec<PathBuf> = SHARED.iter().map(PathBuf::from).collect();
        let private: Vec<PathBuf> =
            private.into_iter().filter(|it| disk.at(it) == SandboxDiskEntry::Folder).collect();
        let mut known = FoldersWithLinks::new();
        let mut linked_worktree = |dir: &Path| {
            worktree::linked_worktree(dir, disk, &mut known)
                .filter(|linked| !self.secrets().any(|secret| linked.common.starts_with(secret)))
        };
        let linked = linked_worktree(&self.dir);
        let git = linked.as_ref().map_or_else(|| self.dir.join(".git"), |it| it.common.clone());
        let ignores =
            Some(git.join("info/exclude")).filter(|it| disk.at(it) == SandboxDiskEntry::File);
        let common = linked.as_ref().map(|it| it.common.clone());
        // A repository that is a `.git` in the folder stays closed: nothing in it can be changed.
        let is_open = |it: &LinkedWorktree| {
            it.common.strip_prefix(&self.dir).is_ok_and(|below| by_name(below).is_none())
        };
        let further = working_trees.iter().filter(|it| **it != self.dir);
        let further: Vec<_> =
            further.filter_map(|it| linked_worktree(it)).filter(is_open).collect();
        let mut writable = BTreeSet::new();
        for linked in linked.into_iter().chain(further) {
            fixed.extend(linked.fixed);
            absent.extend(linked.absent);
            writable.extend(linked.writable);
        }
        fixed.retain(|it| !writable.contains(it));

        let secrets =
            self.secrets().filter_map(|path| existing_spot(&path, &self.dir, disk).transpose());
        let mut covered = secrets.collect::<Result<BTreeSet<MaskedPath>, _>>()?;
        let closed =
            closed.into_iter().map(|path| MaskedPath { path, kind: MaskedPathKind::Folder });
        let hidden = hidden_paths::find(&self.dir, disk, rules)?;
        if hidden.extent == ScanExtent::Part {
            extent = ScanExtent::Part;
        }
        covered.extend(hidden.spots.into_iter().chain(closed));
        // The folders above a protected path stay where they are, or something else could be put in
        // their place.
        for path in fixed.iter().chain(covered.iter().map(|spot| &spot.path)) {
            let above = path.ancestors().skip(1);
            let above = above.take_while(|it| *it != self.dir && it.starts_with(&self.dir));
            held.extend(above.map(Path::to_owned));
        }
        // What is in a folder that stays unchanged stays where it is.
        let is_within =
            |it: &PathBuf, all: &BTreeSet<PathBuf>| it.ancestors().any(|above| all.contains(above));
        held.retain(|it| {
            !is_within(it, &fixed) || is_within(it, &writable) && !writable.contains(it)
        });
        let names = match self.network {
            // slug's proxy looks names up, outside the sandbox.
            SandboxNetwork::Off | SandboxNetwork::Hosts(_) => None,
            SandboxNetwork::On => Some("/etc/resolv.conf"),
        };
        let kept = SHARED_EXCEPTIONS.into_iter().chain(names);
        let kept = kept.filter_map(|path| disk.real(Path::new(path)).ok()?).chain(common);
        let profile = SandboxProfile {
            dir: self.dir.clone(),
            writable: writable.into_iter().collect(),
            scratch: None,
            fixed: fixed.into_iter().collect(),
            held: held.into_iter().collect(),
            absent: absent.into_iter().collect(),
            ignores,
            covered: covered.into_iter().collect(),
            denied: hidden.extent,
            kept: kept.filter(|it| private.iter().any(|all| it.starts_with(all))).collect(),
            private,
            network: self.network.clone(),
        };
        Ok((profile, extent))
    }

    /// Paths that commands cannot read, whether they exist or not.
    fn secrets(&self) -> impl Iterator<Item = PathBuf> {
        let of_home =
            self.home.iter().flat_map(|home| SECRETS.iter().map(|secret| home.join(secret)));
        let of_all = SECRETS_OF_ALL.map(PathBuf::from);
        of_home.chain(of_all).chain([self.slug_home.clone()])
    }

    /// Files of the home folder that shells and logins read.
    fn start_up(&self) -> impl Iterator<Item = (PathBuf, MaskedPathKind)> {
        self.home.iter().flat_map(|home| {
            let all = AT_HOME.iter().filter_map(ProtectedPlace::fixed);
            all.map(|(path, kind)| (home.join(path), kind))
        })
    }
}

/// The entry at `path`, with its links followed. Where that cannot be told, the closed folder on
/// the way.
fn existing_spot(
    path: &Path,
    dir: &Path,
    disk: &dyn SandboxDisk,
) -> Result<Option<MaskedPath>, SandboxPolicyError> {
    if disk.at(path) == SandboxDiskEntry::Closed {
        return closed(path, dir, disk).map(Some);
    }
    let unknown = |_| SandboxPolicyError::Closed(path.to_owned());
    let Some(path) = disk.real(path).map_err(unknown)? else { return Ok(None) };
    let kind = match disk.at(&path) {
        SandboxDiskEntry::Nothing => return Ok(None),
        SandboxDiskEntry::Folder => MaskedPathKind::Folder,
        SandboxDiskEntry::Link | SandboxDiskEntry::File => MaskedPathKind::File,
        SandboxDiskEntry::Closed => return Err(SandboxPolicyError::Closed(path)),
    };
    Ok(Some(MaskedPath { path, kind }))
}

/// The folder on the way to `path` that slug cannot look into. The mask keeps it closed.
fn closed(
    path: &Path,
    dir: &Path,
    disk: &dyn SandboxDisk,
) -> Result<MaskedPath, SandboxPolicyError> {
    let nearest = path.ancestors().find(|it| disk.at(it) != SandboxDiskEntry::Closed);
    let real = nearest.and_then(|it| disk.real(it).ok()?).filter(|it| !dir.starts_with(it));
    let path = real.ok_or_else(|| SandboxPolicyError::Closed(path.to_owned()))?;
    Ok(MaskedPath { path, kind: MaskedPathKind::Folder })
}

#[cfg(test)]
mod git_tests;
#[cfg(test)]
mod tests;
