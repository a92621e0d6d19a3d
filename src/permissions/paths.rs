//! Where a path really leads, and what it is to slug: inside the workspace or outside, plain or one
//! of the places from which slug, git, a shell or an editor would take orders.
//!
//! Invariants: a path is inside only when both its lexical and its real form are, compared by
//! components; it is protected when either is. A path that does not exist yet has the real form of
//! its nearest existing folder. Nothing is opened, and nothing is followed but links.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use crate::domain::clean_path;

/// As many links as Linux follows.
const MAX_LINKS: usize = 40;

/// The folders that an agent works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    root: PathBuf,
    added: Vec<PathBuf>,
    home: Option<PathBuf>,
    slug_home: PathBuf,
    real_roots: Vec<PathBuf>,
    real_home: Option<PathBuf>,
    real_slug_home: PathBuf,
    sandbox: Option<PathBuf>,
}

/// A path and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedPath {
    /// Absolute and lexically clean.
    pub path: PathBuf,
    /// The same with all links followed.
    pub real: PathBuf,
    /// Inside the workspace or outside.
    pub zone: Zone,
    /// What takes orders from it, if anything does.
    pub protected: Option<Protected>,
    /// Whether there is a folder now.
    pub folder: bool,
    /// Whether there is anything now.
    pub exists: bool,
}

/// Inside the workspace or outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// Below the root or an added folder.
    Inside,
    /// Anywhere else.
    Outside,
}

/// What takes orders from a path. Writing there is always asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protected {
    /// slug: its settings, rules and servers.
    OwnPowers,
    /// git: hooks, configuration, attributes.
    Git,
    /// Shells and logins, ssh included.
    StartUp,
    /// Editors and package managers.
    Tooling,
    /// The kernel: `/proc`, `/sys`, `/dev`. Reading is asked, too.
    System,
}

impl Workspace {
    /// Looks up where the folders really are. All paths are absolute.
    pub fn new(
        root: impl Into<PathBuf>,
        added: Vec<PathBuf>,
        home: Option<PathBuf>,
        slug_home: impl Into<PathBuf>,
    ) -> Self {
        let root = clean_path(&root.into());
        let slug_home = clean_path(&slug_home.into());
        let added: Vec<PathBuf> = added.into_iter().map(|path| clean_path(&path)).collect();
        let real = |path: &Path| follow(Path::new("/"), path).unwrap_or_else(|| path.to_owned());
        Self {
            real_roots: std::iter::once(&root).chain(&added).map(|path| real(path)).collect(),
            real_home: home.as_deref().map(real),
            real_slug_home: real(&slug_home),
            root,
            added,
            home,
            slug_home,
            sandbox: None,
        }
    }

    /// The same with a sandbox in force around `dir`, which is where it really is.
    pub fn with_sandbox(self, dir: &Path) -> Self {
        Self { sandbox: Some(dir.to_owned()), ..self }
    }

    /// The folder of the sandbox that is in force.
    pub fn sandbox(&self) -> Option<&Path> {
        self.sandbox.as_deref()
    }

    /// Whether a path is in that folder, by its name and where it really is.
    pub fn is_in_sandbox(&self, path: &ResolvedPath) -> bool {
        let Some(dir) = &self.sandbox else { return false };
        // The name may lead there by a link above the folder; where it really is decides then.
        path.real.starts_with(dir) && (path.path.starts_with(dir) || path.zone == Zone::Inside)
    }

    /// The folder that the agent works in.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The root and the added folders.
    pub fn roots(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(self.root.as_path()).chain(self.added.iter().map(PathBuf::as_path))
    }

    /// The person's home folder.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Where slug keeps its own files.
    pub fn slug_home(&self) -> &Path {
        &self.slug_home
    }

    /// Where a path really is; itself where its links go in a circle.
    pub fn real(&self, path: &Path) -> PathBuf {
        follow(Path::new("/"), path).unwrap_or_else(|| path.to_owned())
    }

    /// The path as people read it: relative inside the root.
    pub fn show(&self, path: &Path) -> String {
        match path.strip_prefix(&self.root) {
            Ok(inside) if inside.as_os_str().is_empty() => ".".into(),
            Ok(inside) => inside.display().to_string(),
            Err(_) => path.display().to_string(),
        }
    }

    /// Finds out what `path` is. A relative one is taken from `from`, which has to be absolute; its
    /// `..` are followed as the system does, after links.
    pub fn resolve(&self, path: &Path, from: &Path) -> ResolvedPath {
        let whole = from.join(path);
        let lexical = clean_path(&whole);
        let followed = follow(Path::new("/"), &whole);
        let circular = followed.is_none();
        let real = followed.unwrap_or_else(|| lexical.clone());
        let inside = !circular && self.contains(&lexical) && self.contains(&real);
        let metadata = std::fs::symlink_metadata(&real).ok();
        ResolvedPath {
            zone: if inside { Zone::Inside } else { Zone::Outside },
            protected: self.protection(&lexical).or_else(|| self.protection(&real)),
            folder: metadata.as_ref().is_some_and(std::fs::Metadata::is_dir),
            exists: metadata.is_some(),
            path: lexical,
            real,
        }
    }

    fn contains(&self, path: &Path) -> bool {
        self.roots()
            .chain(self.real_roots.iter().map(PathBuf::as_path))
            .any(|r| path.starts_with(r))
    }

    fn protection(&self, path: &Path) -> Option<Protected> {
        if ["/proc", "/sys", "/dev"].iter().any(|root| path.starts_with(root)) {
            return Some(Protected::System);
        }
        for home in [&self.slug_home, &self.real_slug_home] {
            if path.starts_with(home) && !path.starts_with(home.join("memory")) {
                return Some(Protected::OwnPowers);
            }
            // Its default name would look like a project's own folder below.
            if path.starts_with(home) {
                return None;
            }
        }
        for home in [&self.home, &self.real_home].into_iter().flatten() {
            if let Ok(inside) = path.strip_prefix(home)
                && is_start_up(&names(inside))
            {
                return Some(Protected::StartUp);
            }
        }
        // Names above the workspace are not its own: it may lie in a folder called `.slug`.
        let mut roots = self.roots().chain(self.real_roots.iter().map(PathBuf::as_path));
        let inside = roots.find_map(|root| path.strip_prefix(root).ok());
        by_name(&names(inside.unwrap_or(path)))
    }
}

impl Protected {
    /// Why a change there is asked, as the end of "It changes …".
    pub fn what(self) -> &'static str {
        match self {
            Self::OwnPowers => "what slug itself may do",
            Self::Git => "what git runs",
            Self::StartUp => "what runs when you log in or open a shell",
            Self::Tooling => "what an editor or a package manager runs",
            Self::System => "the running system",
        }
    }
}

/// Follows every link in `path`, which starts at `from`, a real folder. What does not exist is kept
/// as it is. `None` when there are too many links.
fn follow(from: &Path, path: &Path) -> Option<PathBuf> {
    let mut real = from.to_owned();
    let mut ahead: Vec<OsString> = components(path);
    let mut links = 0;
    while let Some(name) = ahead.pop() {
        if name == ".." {
            real.pop();
            continue;
        }
        if name == "/" {
            real = PathBuf::from("/");
            continue;
        }
        real.push(&name);
        let Ok(target) = std::fs::read_link(&real) else { continue };
        links += 1;
        if links > MAX_LINKS {
            return None;
        }
        real.pop();
        ahead.extend(components(&target));
    }
    Some(real)
}

/// The components, last first.
fn components(path: &Path) -> Vec<OsString> {
    let names = path.components().filter(|component| *component != Component::CurDir);
    let mut names: Vec<OsString> = names.map(|c| c.as_os_str().to_owned()).collect();
    names.reverse();
    names
}

/// Components in lower case: some file systems take `.GIT` for `.git`.
fn names(path: &Path) -> Vec<String> {
    let names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(lower(name)),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            None
        }
    });
    names.collect()
}

fn lower(name: &OsStr) -> String {
    name.to_string_lossy().to_ascii_lowercase()
}

/// Files of the home folder that a shell, a login or ssh reads.
pub(super) const START_UP_FILES: [&str; 23] = [
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".inputrc",
    ".gitconfig",
    ".pam_environment",
    ".xprofile",
    ".xinitrc",
    ".xsession",
    ".netrc",
    ".tmux.conf",
    ".vimrc",
];

/// Folders of the home folder of which they read anything.
pub(super) const START_UP_FOLDERS: [&str; 13] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".kube",
    ".config/git",
    ".config/fish",
    ".config/autostart",
    ".config/systemd",
    ".config/environment.d",
    ".config/nvim",
    ".local/bin",
    "library/launchagents",
    "bin",
];

/// Folders that mean the same in every folder, with all that is in them.
pub(super) const FOLDERS: [(&str, Protected); 6] = [
    (".slug", Protected::OwnPowers),
    (".git", Protected::Git),
    (".husky", Protected::Git),
    (".vscode", Protected::Tooling),
    (".idea", Protected::Tooling),
    (".devcontainer", Protected::Tooling),
];

/// Files that mean the same in every folder.
pub(super) const FILES: [(&str, Protected); 12] = [
    (".mcp.json", Protected::OwnPowers),
    (".gitmodules", Protected::Git),
    (".envrc", Protected::Tooling),
    (".npmrc", Protected::Tooling),
    (".yarnrc", Protected::Tooling),
    (".yarnrc.yml", Protected::Tooling),
    (".pnpmfile.cjs", Protected::Tooling),
    (".ripgreprc", Protected::Tooling),
    (".tool-versions", Protected::Tooling),
    ("mise.toml", Protected::Tooling),
    (".mise.toml", Protected::Tooling),
    (".pre-commit-config.yaml", Protected::Tooling),
];

/// Files that do so below a folder of this name.
pub(super) const FILES_BELOW: [(&str, &str, Protected); 2] =
    [(".cargo", "config.toml", Protected::Tooling), (".cargo", "config", Protected::Tooling)];

fn is_start_up(names: &[String]) -> bool {
    let below = |folder: &&str| {
        let mut names = names.iter();
        folder.split('/').all(|part| names.next().is_some_and(|name| name == part))
    };
    matches!(names, [name] if START_UP_FILES.contains(&name.as_str()))
        || START_UP_FOLDERS.iter().any(below)
}

/// Names that mean the same in every folder.
fn by_name(names: &[String]) -> Option<Protected> {
    let file = names.last()?.as_str();
    let folder = |(folder, _): &&(&str, Protected)| names.iter().any(|name| name == folder);
    let pair = |(folder, file, _): &&(&str, &str, Protected)| {
        names.windows(2).any(|pair| pair[0] == *folder && pair[1] == *file)
    };
    let in_folder = FOLDERS.iter().find(folder).map(|(_, protected)| *protected);
    let by_file = || FILES.iter().find(|(name, _)| *name == file).map(|(_, it)| *it);
    let by_pair = || FILES_BELOW.iter().find(pair).map(|(_, _, protected)| *protected);
    in_folder.or_else(by_file).or_else(by_pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> (tempfile::TempDir, Workspace) {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        let root = home.join("app");
        std::fs::create_dir_all(root.join("src")).unwrap();
        let workspace = Workspace::new(&root, Vec::new(), Some(home.clone()), home.join(".slug"));
        (dir, workspace)
    }

    fn at(workspace: &Workspace, path: &str) -> ResolvedPath {
        workspace.resolve(Path::new(path), workspace.root())
    }

    #[test]
    fn inside_is_by_component() {
        let (_dir, workspace) = workspace();
        assert_eq!(at(&workspace, "src/new/file").zone, Zone::Inside);
        assert_eq!(at(&workspace, ".").zone, Zone::Inside);
        assert_eq!(at(&workspace, "../app-secrets/k").zone, Zone::Outside);
        assert_eq!(at(&workspace, "src/../../x").zone, Zone::Outside);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_to_their_end() {
        use std::os::unix::fs::symlink;
        let (_dir, workspace) = workspace();
        let root = workspace.root();
        symlink("/etc", root.join("d")).unwrap();
        symlink("/nowhere/new", root.join("dangling")).unwrap();
        symlink("src", root.join("s")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        assert_eq!(at(&workspace, "d/passwd").real, Path::new("/etc/passwd"));
        assert_eq!(at(&workspace, "d/passwd").zone, Zone::Outside);
        assert_eq!(at(&workspace, "dangling").zone, Zone::Outside);
        assert_eq!(at(&workspace, "s/new.rs").zone, Zone::Inside);
        assert_eq!(at(&workspace, "loop").zone, Zone::Outside);
        // The system goes up from where the link leads.
        assert_eq!(at(&workspace, "d/../x").real, Path::new("/x"));
    }

    #[cfg(unix)]
    #[test]
    fn a_root_behind_a_link_is_still_the_root() {
        let (dir, workspace) = workspace();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(workspace.root(), &link).unwrap();
        let linked = Workspace::new(&link, Vec::new(), None, dir.path().join("slug"));
        assert_eq!(at(&linked, "src/x").zone, Zone::Inside);
        let real = workspace.root().join("src/x");
        assert_eq!(linked.resolve(&real, Path::new("/")).zone, Zone::Inside);
    }

    #[test]
    fn an_added_folder_is_inside() {
        let (dir, workspace) = workspace();
        let added = dir.path().join("added");
        let both =
            Workspace::new(workspace.root(), vec![added.clone()], None, dir.path().join("s"));
        assert_eq!(both.resolve(&added.join("x"), Path::new("/")).zone, Zone::Inside);
    }

    #[test]
    fn places_that_take_orders_are_protected() {
        use Protected::{Git, OwnPowers, StartUp, System, Tooling};
        let (_dir, workspace) = workspace();
        for (path, protected) in [
            ("src/main.rs", None),
            (".slug/settings.json", Some(OwnPowers)),
            ("sub/.slug/config.toml", Some(OwnPowers)),
            (".mcp.json", Some(OwnPowers)),
            ("../.slug/settings.json", Some(OwnPowers)),
            ("../.slug/trust.json", Some(OwnPowers)),
            ("../.slug/memory/notes.md", None),
            (".git/hooks/pre-commit", Some(Git)),
            (".GIT/config", Some(Git)),
            (".git", Some(Git)),
            ("sub/.git/config", Some(Git)),
            (".gitmodules", Some(Git)),
            (".gitignore", None),
            ("../.bashrc", Some(StartUp)),
            ("../.ssh/authorized_keys", Some(StartUp)),
            ("../.config/git/config", Some(StartUp)),
            (".bashrc", None),
            (".vscode/tasks.json", Some(Tooling)),
            (".idea/x/y", Some(Tooling)),
            (".envrc", Some(Tooling)),
            ("sub/.npmrc", Some(Tooling)),
            (".yarnrc.yml", Some(Tooling)),
            (".ripgreprc", Some(Tooling)),
            (".cargo/config.toml", Some(Tooling)),
            ("Cargo.toml", None),
            ("/proc/self/environ", Some(System)),
            ("/dev/fd/0", Some(System)),
            ("/sys/kernel", Some(System)),
            ("/process/x", None),
        ] {
            assert_eq!(at(&workspace, path).protected, protected, "{path}");
        }
    }
}
