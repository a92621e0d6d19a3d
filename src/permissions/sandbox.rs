//! What a sandbox around a folder lets a command see: the policy, without the means.
//!
//! It follows from the folder that the person named and from nothing that a call says. The places
//! from which slug, git, a shell or an editor take orders ([`super::paths`]) can be read and not
//! be changed, and what is not there of them cannot be made; keys and passwords cannot be read.
//! [`Sandbox::view`] looks at the disk through [`Look`] alone; `platform::sandbox` carries out
//! what it says.
//!
//! Deeper than [`DEPTH`] folders nothing is looked for, and a place that takes orders can be made
//! in a folder below: only the folder itself is kept free of new ones.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::domain::{Network, Spot, SpotKind, View};
use crate::platform::sandbox;

use super::paths::{FILES, FILES_BELOW, FOLDERS, START_UP_FILES, START_UP_FOLDERS};

/// How deep what takes orders is looked for.
const DEPTH: usize = 4;

/// How many entries are looked at for it.
const ENTRIES: usize = 20_000;

/// Folders that are full of other people's programs: what runs there runs as those do.
const NOT_ENTERED: [&str; 4] = ["node_modules", "target", ".venv", "venv"];

/// What of the home folder cannot be read: keys, passwords, tokens, and what browsers keep.
const SECRETS: [&str; 34] = [
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
    "Library/Keychains",
];

/// The same of the machine, for who runs slug as root.
const SECRETS_OF_ALL: [&str; 2] = ["/etc/shadow", "/etc/gshadow"];

/// Folders in which all programs meet, sockets among what they leave there.
const SHARED: [&str; 4] = ["/tmp", "/var/tmp", "/run", "/var/run"];

/// What of them programs cannot do without: on NixOS they are there themselves.
const KEPT: [&str; 2] = ["/run/current-system", "/run/opengl-driver"];

/// Folders that hold the system or everybody's files.
const WIDE: [&str; 16] = [
    "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/nix", "/opt", "/proc", "/run",
    "/sbin", "/srv", "/sys", "/usr", "/var",
];

/// A sandbox around a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    dir: PathBuf,
    home: Option<PathBuf>,
    slug_home: PathBuf,
    network: Network,
}

/// Why there can be no sandbox around a folder. Sentences with a remedy.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// It cannot be opened.
    #[error("the sandbox's folder {dir} cannot be opened: {source}. Name one that is there")]
    Unreachable {
        /// As it was named.
        dir: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is a file.
    #[error("{0} is not a folder: name the folder that commands may change")]
    NotFolder(PathBuf),
    /// Too much is in it.
    #[error("a sandbox around {dir} would hold {what}: name a folder further down")]
    TooWide {
        /// The folder.
        dir: PathBuf,
        /// What.
        what: &'static str,
    },
    /// It is a place that commands must not change.
    #[error(
        "{0} is a place from which slug, git or a shell take orders, or that holds keys: name another folder"
    )]
    Protected(PathBuf),
    /// A link stands where something has to be held in place.
    #[error(
        "{0} is a link, and a sandbox cannot keep a link from being replaced: put the file itself there"
    )]
    Link(PathBuf),
}

/// What is at a path, links not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// Anything else.
    File,
}

/// A look at the disk.
pub trait Look {
    /// What is at `path`.
    fn at(&self, path: &Path) -> Found;
    /// What is in `folder`, in any order; nothing where it cannot be read.
    fn list(&self, folder: &Path) -> Vec<(OsString, Found)>;
    /// Where `path` really is; `None` where there is nothing.
    fn real(&self, path: &Path) -> Option<PathBuf>;
}

/// The disk itself.
#[derive(Debug, Clone, Copy)]
pub struct Disk;

impl Sandbox {
    /// A sandbox around `dir`, whose links are followed here, once. `home` is the person's home
    /// folder, `slug_home` slug's own.
    pub fn around(
        dir: &Path,
        home: Option<&Path>,
        slug_home: &Path,
        network: Network,
    ) -> Result<Self, SandboxError> {
        let unreachable = |source| SandboxError::Unreachable { dir: dir.to_owned(), source };
        let real = dir.canonicalize().map_err(unreachable)?;
        if !real.is_dir() {
            return Err(SandboxError::NotFolder(real));
        }
        let exact = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let (home, slug_home) = (home.map(exact), exact(slug_home));
        let sandbox = Self { dir: real, home, slug_home, network };
        sandbox.check()?;
        Ok(sandbox)
    }

    /// The folder, where it really is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether there is a network inside.
    pub fn network(&self) -> Network {
        self.network
    }

    fn check(&self) -> Result<(), SandboxError> {
        let dir = &self.dir;
        let too_wide = |what| Err(SandboxError::TooWide { dir: dir.clone(), what });
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
        let named = dir.components().any(|part| {
            let name = part.as_os_str().to_string_lossy().to_ascii_lowercase();
            FOLDERS.iter().any(|(folder, _)| *folder == name)
        });
        let mut closed = self.secrets().chain(self.start_up().map(|(path, _)| path));
        let system = ["/dev", "/proc", "/sys"].iter().any(|root| dir.starts_with(root));
        if named || system || closed.any(|closed| dir.starts_with(closed)) {
            return Err(SandboxError::Protected(dir.clone()));
        }
        Ok(())
    }

    /// What a command sees, as the disk is now.
    pub fn view(&self, disk: &dyn Look) -> Result<View, SandboxError> {
        let mut places = Places::new(&self.dir, disk);
        for (name, _) in FOLDERS {
            places.protect(&self.dir.join(name), SpotKind::Folder)?;
        }
        for (name, _) in FILES {
            places.protect(&self.dir.join(name), SpotKind::File)?;
        }
        for (folder, name, _) in FILES_BELOW {
            places.protect(&self.dir.join(folder).join(name), SpotKind::File)?;
        }
        for (path, kind) in self.start_up().filter(|(path, _)| path.starts_with(&self.dir)) {
            places.protect(&path, kind)?;
        }
        places.further_down();
        let Places { fixed, held, absent, .. } = places;

        let here = |path: &Path| {
            let real = disk.real(path)?;
            let kind = kind(disk.at(&real))?;
            Some(Spot { path: real, kind })
        };
        let private: Vec<PathBuf> = SHARED.iter().map(PathBuf::from).collect();
        let private: Vec<PathBuf> =
            private.into_iter().filter(|it| disk.at(it) == Found::Folder).collect();
        let names = match self.network {
            Network::Off => None,
            Network::On => disk.real(Path::new("/etc/resolv.conf")),
        };
        let kept = KEPT.iter().filter_map(|path| disk.real(Path::new(path))).chain(names);
        let covered: BTreeSet<Spot> = self.secrets().filter_map(|path| here(&path)).collect();
        Ok(View {
            dir: self.dir.clone(),
            fixed: fixed.into_iter().collect(),
            held: held.into_iter().collect(),
            absent: absent.into_iter().collect(),
            covered: covered.into_iter().collect(),
            kept: kept.filter(|it| private.iter().any(|all| it.starts_with(all))).collect(),
            private,
            network: self.network,
        })
    }

    /// What cannot be read, whether it is there or not.
    fn secrets(&self) -> impl Iterator<Item = PathBuf> {
        let of_home = self.home.iter().flat_map(|home| SECRETS.map(|secret| home.join(secret)));
        let of_all = SECRETS_OF_ALL.map(PathBuf::from);
        of_home.chain(of_all).chain([self.slug_home.clone()])
    }

    /// What of the home folder shells and logins read.
    fn start_up(&self) -> impl Iterator<Item = (PathBuf, SpotKind)> {
        self.home.iter().flat_map(|home| {
            let files = START_UP_FILES.map(|file| (home.join(file), SpotKind::File));
            let folders = START_UP_FOLDERS.map(|folder| (home.join(folder), SpotKind::Folder));
            files.into_iter().chain(folders)
        })
    }
}

/// What of a folder takes orders, while it is looked for.
struct Places<'a> {
    dir: &'a Path,
    disk: &'a dyn Look,
    fixed: BTreeSet<PathBuf>,
    held: BTreeSet<PathBuf>,
    absent: BTreeSet<Spot>,
}

impl<'a> Places<'a> {
    fn new(dir: &'a Path, disk: &'a dyn Look) -> Self {
        let (fixed, held, absent) = Default::default();
        Self { dir, disk, fixed, held, absent }
    }

    /// Keeps `path` as it is; where it is missing, the topmost folder that is missing with it.
    fn protect(&mut self, path: &Path, wanted: SpotKind) -> Result<(), SandboxError> {
        let Ok(below) = path.strip_prefix(self.dir) else { return Ok(()) };
        let names: Vec<_> = below.components().collect();
        let mut here = self.dir.to_owned();
        for (at, name) in names.iter().enumerate() {
            here.push(name);
            let is_last = at + 1 == names.len();
            match (self.disk.at(&here), is_last) {
                (Found::Link, _) => return Err(SandboxError::Link(here)),
                (Found::Nothing, _) => {
                    let kind = if is_last { wanted } else { SpotKind::Folder };
                    self.absent.insert(Spot { path: here, kind });
                    return Ok(());
                }
                (Found::Folder, false) => {
                    self.held.insert(here.clone());
                }
                (Found::Folder | Found::File, _) => {
                    self.fixed.insert(here);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// What takes orders in the folders below. A link there is not followed.
    fn further_down(&mut self) {
        let mut left = ENTRIES;
        let mut level = vec![self.dir.to_owned()];
        for depth in 0..DEPTH {
            let mut next = Vec::new();
            for folder in level {
                for (name, found) in self.disk.list(&folder) {
                    if left == 0 {
                        return;
                    }
                    left -= 1;
                    let path = folder.join(&name);
                    let text = name.to_string_lossy();
                    // The uppermost level has been dealt with, with what is missing there.
                    if depth > 0 && found != Found::Link && takes_orders(&folder, &text) {
                        self.fixed.insert(path);
                    } else if found == Found::Folder
                        && !NOT_ENTERED.contains(&text.as_ref())
                        && !self.fixed.contains(&path)
                    {
                        next.push(path);
                    }
                }
            }
            level = next;
        }
    }
}

fn takes_orders(folder: &Path, name: &str) -> bool {
    FOLDERS.iter().any(|(it, _)| *it == name)
        || FILES.iter().any(|(it, _)| *it == name)
        || FILES_BELOW.iter().any(|(above, it, _)| *it == name && folder.ends_with(above))
}

fn kind(found: Found) -> Option<SpotKind> {
    match found {
        Found::Nothing => None,
        Found::Folder => Some(SpotKind::Folder),
        Found::Link | Found::File => Some(SpotKind::File),
    }
}

impl Look for Disk {
    fn at(&self, path: &Path) -> Found {
        let is_placeholder = [SpotKind::File, SpotKind::Folder]
            .into_iter()
            .any(|kind| sandbox::is_placeholder(path, kind));
        if is_placeholder {
            return Found::Nothing;
        }
        fs::symlink_metadata(path).map_or(Found::Nothing, |it| found(it.file_type()))
    }

    fn list(&self, folder: &Path) -> Vec<(OsString, Found)> {
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let entries = entries.filter_map(Result::ok);
        entries.filter_map(|it| Some((it.file_name(), found(it.file_type().ok()?)))).collect()
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok()
    }
}

fn found(kind: fs::FileType) -> Found {
    if kind.is_dir() {
        Found::Folder
    } else if kind.is_symlink() {
        Found::Link
    } else {
        Found::File
    }
}

#[cfg(test)]
mod tests;
