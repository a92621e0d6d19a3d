//! Landlock: the kernel denies a thread, and all that it starts, whatever is not granted.
//!
//! A grant covers a folder with everything below it, and cannot be taken back further down. So to
//! protect something from changes or reading, its neighbours are granted one by one instead of the
//! folder they are in. Nothing can then be made, renamed or removed directly in that folder. This
//! always holds for the sandbox's own folder, since names in it must be kept free.
//!
//! A grant is for the place that was looked at: its path is opened without following links, since
//! a process that already runs in the folder can put one there meanwhile.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus,
    PathBeneath, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use super::filter::{self, IpcScope, SocketPolicy};
use crate::domain::{SandboxNetwork, SandboxProfile};
use crate::platform::handles::{self, MissingFolders};

/// The oldest version that is enough: it restricts truncation (Linux 6.2).
const OLDEST: ABI = ABI::V3;

/// The devices that commands get.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// The rights on a path and everything below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LandlockAccess {
    /// Listing the names in it.
    List,
    /// Reading and running.
    Read,
    /// Reading, running and all changes.
    Change,
}

/// The grants for a profile. `list` returns the entries of a folder, without links.
pub(super) fn grants(
    view: &SandboxProfile,
    scratch: &Path,
    list: &dyn Fn(&Path) -> Vec<PathBuf>,
) -> Vec<(PathBuf, LandlockAccess)> {
    let covered: Vec<&Path> = view.covered.iter().map(|spot| spot.path.as_path()).collect();
    let mut hidden = covered.clone();
    hidden.extend(view.private.iter().map(PathBuf::as_path));
    hidden.push(Path::new("/dev"));
    let mut closed = covered.clone();
    closed.extend(view.fixed.iter().map(PathBuf::as_path));
    closed.extend(view.absent.iter().map(|spot| spot.path.as_path()));

    let mut grants = Vec::new();
    open(Path::new("/"), &hidden, LandlockAccess::Read, list, &mut grants);
    // The folder may lie in one that all programs share.
    open(&view.dir, &covered, LandlockAccess::Read, list, &mut grants);
    open(&view.dir, &closed, LandlockAccess::Change, list, &mut grants);
    for kept in &view.kept {
        let within: Vec<&Path> =
            covered.iter().copied().filter(|covered| !kept.starts_with(covered)).collect();
        open(kept, &within, LandlockAccess::Read, list, &mut grants);
    }
    for folder in view.kept.iter().chain([&view.dir]) {
        if covered.iter().any(|covered| covered != folder && covered.starts_with(folder)) {
            // Names are no content, and a command that cannot list its own folder finds nothing.
            grants.push((folder.clone(), LandlockAccess::List));
        }
    }
    grants.extend(DEVICES.map(|path| (PathBuf::from(path), LandlockAccess::Change)));
    for folder in [scratch].into_iter().chain(view.scratch.as_deref()) {
        grants.push((folder.to_owned(), LandlockAccess::Change));
    }
    grants
}

fn open(
    path: &Path,
    closed: &[&Path],
    grant: LandlockAccess,
    list: &dyn Fn(&Path) -> Vec<PathBuf>,
    grants: &mut Vec<(PathBuf, LandlockAccess)>,
) {
    if closed.iter().any(|closed| path.starts_with(closed)) {
        return;
    }
    if !closed.iter().any(|closed| closed.starts_with(path)) {
        return grants.push((path.to_owned(), grant));
    }
    for child in list(path) {
        open(&child, closed, grant, list, grants);
    }
}

/// The entries of a folder without links. The target of a link is granted at its own place or not.
pub(super) fn list(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let entries = entries.filter_map(Result::ok);
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()))
        .map(|entry| entry.path())
        .collect()
}

/// Why this thread could not be confined. The messages complete a sentence.
#[derive(Debug, thiserror::Error)]
pub(super) enum LandlockError {
    #[error("Landlock refuses: {0}")]
    Refused(#[from] RulesetError),
    #[error("only a part of it is enforced: {0:?}")]
    InPart(RestrictionStatus),
    #[error("{0}")]
    TooOld(String),
    #[error("the capabilities of root cannot be given up: {0}")]
    Capabilities(rustix::io::Errno),
    #[error("seccomp refuses: {0}")]
    Seccomp(#[from] seccompiler::Error),
    #[error("slug has no seccomp filter for this kind of processor")]
    Processor,
}

/// Confines the calling thread for good, with all that it starts from here on.
pub(super) fn confine_thread(view: &SandboxProfile, scratch: &Path) -> Result<(), LandlockError> {
    let has_network = view.network == SandboxNetwork::On;
    grant_only(grants(view, scratch, &list), has_network)?;
    refuse_sockets(match view.network {
        // Landlock cannot tell hosts by their address, so it allows none.
        SandboxNetwork::Off | SandboxNetwork::Hosts(_) => SocketPolicy::None,
        SandboxNetwork::On => SocketPolicy::Loopback,
    })
}

/// Confines the calling thread for good, with all that it starts from here on, to reading `places` and
/// to no socket. It is confined as far as the kernel can, also where this fails.
pub(super) fn confine_to_reading(places: &[PathBuf]) -> Result<(), LandlockError> {
    let real = places.iter().filter_map(|place| place.canonicalize().ok());
    let granted = grant_only(real.map(|place| (place, LandlockAccess::Read)).collect(), false);
    refuse_sockets(SocketPolicy::None)?;
    granted
}

/// Takes all rights on files but these from the calling thread, and the capabilities of root.
fn grant_only(
    grants: Vec<(PathBuf, LandlockAccess)>,
    has_network: bool,
) -> Result<(), LandlockError> {
    let abi = version()?;
    let files = AccessFs::from_all(abi);
    let mut rules =
        Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(files)?;
    if abi >= ABI::V4 && !has_network {
        rules = rules.handle_access(AccessNet::from_all(abi))?;
    }
    if abi >= ABI::V6 {
        rules = rules.scope(Scope::from_all(abi))?;
    }
    let mut rules = rules.create()?;
    for (path, grant) in grants {
        let access = match grant {
            LandlockAccess::List => AccessFs::ReadDir.into(),
            LandlockAccess::Read => AccessFs::from_read(abi),
            LandlockAccess::Change => files,
        };
        // A path that is gone or cannot be opened gets no grant.
        if let Ok((place, kind)) = place(&path) {
            rules = rules.add_rule(PathBeneath::new(place, access & right_for(kind, abi)))?;
        }
    }
    let status = rules.restrict_self()?;
    if status.ruleset != RulesetStatus::FullyEnforced || !status.no_new_privs {
        return Err(LandlockError::InPart(status));
    }
    // Some checks are skipped for a process with capabilities, and slug may run as root.
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, none).map_err(LandlockError::Capabilities)
}

fn refuse_sockets(sockets: SocketPolicy) -> Result<(), LandlockError> {
    let filter = filter::filter(sockets, IpcScope::Machine).ok_or(LandlockError::Processor)?;
    Ok(seccompiler::apply_filter(&filter)?)
}

/// Opens a path without following links, and returns its kind.
fn place(path: &Path) -> io::Result<(OwnedFd, FileType)> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = match handles::folder_entry(path, MissingFolders::Leave)? {
        Some(spot) => rustix::fs::openat(spot.folder, &spot.name, flags, Mode::empty())?,
        None => rustix::fs::openat(CWD, path, flags, Mode::empty())?,
    };
    let kind = FileType::from_raw_mode(rustix::fs::fstat(place.as_fd())?.st_mode);
    if kind == FileType::Symlink {
        return Err(rustix::io::Errno::LOOP.into());
    }
    Ok((place, kind))
}

/// The rights that can be granted: rights on folders mean nothing for a file.
fn right_for(kind: FileType, abi: ABI) -> BitFlags<AccessFs> {
    if kind == FileType::Directory { AccessFs::from_all(abi) } else { AccessFs::from_file(abi) }
}

/// The Landlock version of this kernel.
fn version() -> Result<ABI, LandlockError> {
    // Only a ruleset in force tells its version, so a thread that ends right away takes one.
    let probe = thread::spawn(|| -> Result<RestrictionStatus, RulesetError> {
        Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(OLDEST))?
            .create()?
            .restrict_self()
    });
    let status = match probe.join() {
        Ok(status) => status?,
        Err(_) => return Err(LandlockError::TooOld("the kernel cannot be asked".to_owned())),
    };
    let abi = match status.landlock {
        LandlockStatus::NotEnabled => {
            let why = "it is switched off: add `landlock` to the kernel's `lsm=` parameter";
            return Err(LandlockError::TooOld(why.to_owned()));
        }
        LandlockStatus::NotImplemented => {
            return Err(LandlockError::TooOld("this kernel does not have it".to_owned()));
        }
        LandlockStatus::Available { effective_abi, .. } => effective_abi,
    };
    if abi < OLDEST {
        let (have, need) = (abi as i32, OLDEST as i32);
        return Err(LandlockError::TooOld(format!(
            "this kernel has version {have} of it, and version {need} is needed (Linux 6.2)"
        )));
    }
    Ok(abi)
}

/// Confines a thread to a folder and tries to write outside. The error is a phrase.
pub(super) fn try_out() -> Result<(), String> {
    let inside = tempfile::tempdir().map_err(|error| error.to_string())?;
    let outside = tempfile::tempdir().map_err(|error| error.to_string())?;
    let scratch = inside.path().canonicalize().map_err(|error| error.to_string())?;
    let view = SandboxProfile::for_folder(scratch.clone(), SandboxNetwork::Off);
    let target = outside.path().join("out");
    let tried = thread::spawn(move || {
        confine_thread(&view, &scratch).map_err(|error| error.to_string())?;
        let stays = fs::write(&target, "out").is_err();
        let works = fs::write(scratch.join("in"), "in").is_ok();
        if stays && works { Ok(()) } else { Err("it does not hold what it promises".to_owned()) }
    });
    tried.join().unwrap_or_else(|_| Err("trying it failed".to_owned()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::domain::{MaskedPath, MaskedPathKind, ScanExtent};

    use super::*;

    /// A small machine: each folder with its entries.
    fn machine() -> BTreeMap<&'static str, Vec<&'static str>> {
        BTreeMap::from([
            ("/", vec!["/usr", "/home", "/tmp", "/dev"]),
            ("/home", vec!["/home/u", "/home/v"]),
            ("/home/u", vec!["/home/u/.ssh", "/home/u/app", "/home/u/notes"]),
            ("/home/u/app", vec!["/home/u/app/.git", "/home/u/app/src", "/home/u/app/pkg"]),
            ("/home/u/app/pkg", vec!["/home/u/app/pkg/.npmrc", "/home/u/app/pkg/lib"]),
        ])
    }

    fn of(view: &SandboxProfile, wanted: LandlockAccess) -> Vec<String> {
        let machine = machine();
        let list = |folder: &Path| {
            let children = machine.get(folder.to_str().unwrap()).cloned().unwrap_or_default();
            children.into_iter().map(PathBuf::from).collect()
        };
        let granted = grants(view, Path::new("/tmp/scratch"), &list);
        let paths = granted.into_iter().filter(|(_, grant)| *grant == wanted);
        paths
            .map(|(path, _)| path.display().to_string())
            .filter(|it| !it.starts_with("/dev"))
            .collect()
    }

    fn view() -> SandboxProfile {
        SandboxProfile {
            dir: "/home/u/app".into(),
            writable: Vec::new(),
            scratch: Some("/tmp/slug-7/s".into()),
            fixed: vec!["/home/u/app/.git".into(), "/home/u/app/pkg/.npmrc".into()],
            held: Vec::new(),
            absent: vec![MaskedPath {
                path: "/home/u/app/.slug".into(),
                kind: MaskedPathKind::Folder,
            }],
            ignores: None,
            covered: vec![MaskedPath { path: "/home/u/.ssh".into(), kind: MaskedPathKind::Folder }],
            denied: ScanExtent::Whole,
            private: vec!["/tmp".into()],
            kept: Vec::new(),
            network: SandboxNetwork::Off,
        }
    }

    #[test]
    fn neighbours_of_hidden_paths_are_granted_one_by_one() {
        assert_eq!(
            of(&view(), LandlockAccess::Read),
            ["/usr", "/home/u/app", "/home/u/notes", "/home/v", "/home/u/app"]
        );
    }

    #[test]
    fn nothing_above_a_fixed_path_can_be_changed() {
        assert_eq!(
            of(&view(), LandlockAccess::Change),
            ["/home/u/app/src", "/home/u/app/pkg/lib", "/tmp/scratch", "/tmp/slug-7/s"]
        );
    }

    #[test]
    fn a_link_is_granted_nowhere() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/file"), "").unwrap();
        std::os::unix::fs::symlink("a", root.join("link")).unwrap();
        for (path, kind) in [
            ("a/b", Some(FileType::Directory)),
            ("a/file", Some(FileType::RegularFile)),
            ("link", None),
            ("link/b", None),
        ] {
            let found = place(&root.join(path)).ok().map(|(_, kind)| kind);
            assert_eq!(found, kind, "{path}");
        }
        assert_eq!(place(Path::new("/")).unwrap().1, FileType::Directory);
    }

    #[test]
    fn a_folder_among_the_shared_ones_is_granted_all_the_same() {
        let view = SandboxProfile {
            dir: "/tmp/w".into(),
            fixed: Vec::new(),
            absent: Vec::new(),
            ..view()
        };
        assert!(of(&view, LandlockAccess::Change).contains(&"/tmp/w".to_owned()));
        assert!(of(&view, LandlockAccess::Read).contains(&"/tmp/w".to_owned()));
    }
}
