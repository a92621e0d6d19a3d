//! Where a path really leads, and how slug classifies it: inside the workspace or outside, plain or
//! one of the protected places that slug, git, a shell or an editor reads instructions from.
//!
//! Invariants: a path is inside only when both its lexical and its real form are, compared by
//! components; it is protected when either form is, or when a link in a protected place leads there.
//! A path that does not exist yet gets its real form from its nearest existing folder. Nothing is
//! opened, and only links are followed.

mod protected_links;

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use crate::disk;
use crate::domain::{SYSTEM_FOLDERS, clean_path};

use super::git_folders::is_in_git_folder;
use super::places::{self, ProtectionReason};
use super::search_path::SearchPath;
use protected_links::{ProtectedLink, ProtectedLinks};

/// The most symbolic links that one path may lead through, as on Linux (path_resolution(7)).
const MAX_LINKS: usize = 40;

/// The folders that an agent works in, and the folders that matter to where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    root: PathBuf,
    added: Vec<PathBuf>,
    home: Option<PathBuf>,
    slug_home: PathBuf,
    /// The root and the added folders by their names and, where they differ, by their real paths.
    /// The next two lists likewise.
    all_roots: Vec<PathBuf>,
    all_homes: Vec<PathBuf>,
    all_slug_homes: Vec<PathBuf>,
    protected_links: ProtectedLinks,
    sandbox: Option<PathBuf>,
    scratch: Option<PathBuf>,
    /// Real paths.
    readable: Vec<PathBuf>,
    is_trusted: bool,
    search_path: SearchPath,
}

/// A path as named and as it really is, with what slug knows of both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedPath {
    /// Absolute and lexically clean.
    pub path: PathBuf,
    /// The same path with all links followed.
    pub real: PathBuf,
    pub zone: PathZone,
    /// Who reads instructions from this path, if anybody does.
    pub protected: Option<ProtectionReason>,
    /// Whether the path is a folder now.
    pub folder: bool,
    /// Whether anything exists at the path now.
    pub exists: bool,
    /// Whether the path is a file with other hard links.
    pub has_other_names: bool,
}

/// Whether a path counts as part of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathZone {
    /// Below the root or an added folder.
    Inside,
    /// The session's scratch folder, or below it.
    Scratch,
    /// Outside, in a folder whose files are there to be read, as those of the user's skills.
    Readable,
    Outside,
}

impl PathZone {
    /// Whether nothing is to be written there.
    pub fn is_outside(self) -> bool {
        match self {
            Self::Inside | Self::Scratch => false,
            Self::Readable | Self::Outside => true,
        }
    }
}

impl Workspace {
    /// Looks up where the folders really are, and where links in protected places lead. All paths
    /// are absolute.
    pub fn new(
        root: impl Into<PathBuf>,
        added: Vec<PathBuf>,
        home: Option<PathBuf>,
        slug_home: impl Into<PathBuf>,
    ) -> Self {
        let root = clean_path(&root.into());
        let slug_home = clean_path(&slug_home.into());
        let added: Vec<PathBuf> = added.into_iter().map(|path| clean_path(&path)).collect();
        let mut cache = PathLookupCache::default();
        let mut with_real = |paths: &[&PathBuf]| {
            let mut all: Vec<PathBuf> = paths.iter().map(|path| (*path).clone()).collect();
            let real = paths.iter().filter_map(|path| cache.real(path)).map(|(real, _)| real);
            all.extend(real.collect::<Vec<_>>());
            let mut known = HashSet::new();
            all.retain(|path| known.insert(path.clone()));
            all
        };
        let roots: Vec<&PathBuf> = std::iter::once(&root).chain(&added).collect();
        let homes: Vec<&PathBuf> = home.iter().collect();
        let workspace = Self {
            all_roots: with_real(&roots),
            all_homes: with_real(&homes),
            all_slug_homes: with_real(&[&slug_home]),
            root,
            added,
            home,
            slug_home,
            protected_links: ProtectedLinks::default(),
            sandbox: None,
            scratch: None,
            readable: Vec::new(),
            is_trusted: false,
            search_path: SearchPath::default(),
        };
        let protected_links = ProtectedLinks::find(&workspace, &mut cache);
        Self { protected_links, ..workspace }
    }

    /// The same workspace in a run whose configuration is `file`, an absolute path, instead of the one in
    /// slug's own folder.
    pub fn with_config_file(mut self, file: &Path) -> Self {
        let settings = self.slug_home.join("config.toml");
        self.protected_links.add_settings(&clean_path(file), &settings);
        self
    }

    /// The same workspace, which the user trusts.
    pub fn trusted(self) -> Self {
        Self { is_trusted: true, ..self }
    }

    /// Whether the user trusts the folder. In an untrusted one, no git command counts as one that
    /// only reads.
    pub fn is_trusted(&self) -> bool {
        self.is_trusted
    }

    /// The same workspace, in which commands find programs along `path`, the value of PATH.
    pub fn with_search_path(self, path: &OsStr) -> Self {
        let home = self.home.as_deref();
        let tops = self.all_roots.iter().map(|root| disk::project_top(root, home)).collect();
        let mut cache = PathLookupCache::default();
        let real =
            |folder: &Path| cache.real(folder).map_or_else(|| folder.to_owned(), |(real, _)| real);
        let search_path = SearchPath::new(path, tops, real);
        Self { search_path, ..self }
    }

    pub(super) fn search_path(&self) -> &SearchPath {
        &self.search_path
    }

    /// The same workspace with a sandbox in force around `dir`, a real path.
    pub fn with_sandbox(self, dir: &Path) -> Self {
        Self { sandbox: Some(dir.to_owned()), ..self }
    }

    /// The folder of the sandbox that is in force, if one is.
    pub fn sandbox(&self) -> Option<&Path> {
        self.sandbox.as_deref()
    }

    /// The same workspace in a session whose scratch folder is `folder`, a real path; `None` in one
    /// that has none.
    pub fn with_scratch(self, folder: Option<&Path>) -> Self {
        Self { scratch: folder.map(Path::to_owned), ..self }
    }

    /// The same workspace, in which what is below these folders (real paths) may be read.
    pub fn with_readable(self, folders: Vec<PathBuf>) -> Self {
        Self { readable: folders, ..self }
    }

    /// The scratch folder, as a command line can name it without quotes.
    pub(super) fn plain_scratch(&self) -> Option<&str> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
        self.scratch.as_deref()?.to_str().filter(|path| path.chars().all(is_plain))
    }

    /// Whether a path is in the sandbox's folder, by its name and by its real path.
    pub fn is_in_sandbox(&self, path: &ResolvedPath) -> bool {
        let Some(dir) = &self.sandbox else { return false };
        // The name may lead there by a link above the folder; then the real path decides.
        path.real.starts_with(dir) && (path.path.starts_with(dir) || path.zone == PathZone::Inside)
    }

    /// The folder that the agent works in: absolute and clean, its links not followed.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The root first, then the added folders.
    pub fn roots(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(self.root.as_path()).chain(self.added.iter().map(PathBuf::as_path))
    }

    /// The user's home folder.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Where slug keeps its own files, `~/.slug` by default.
    pub fn slug_home(&self) -> &Path {
        &self.slug_home
    }

    /// Whether a path is the workspace, the home folder or slug's own folder, or a folder above one
    /// of them.
    pub(super) fn is_above(&self, path: &ResolvedPath) -> bool {
        let mut all = self.all_roots.iter().chain(&self.all_homes).chain(&self.all_slug_homes);
        all.any(|folder| folder.starts_with(&path.real))
    }

    /// The real path, links followed; the path itself where its links form a circle.
    pub fn real(&self, path: &Path) -> PathBuf {
        PathLookupCache::default().real(path).map_or_else(|| path.to_owned(), |(real, _)| real)
    }

    /// The path for the screen: relative inside the root.
    pub fn show(&self, path: &Path) -> String {
        match path.strip_prefix(&self.root) {
            Ok(inside) if inside.as_os_str().is_empty() => ".".into(),
            Ok(inside) => inside.display().to_string(),
            Err(_) => path.display().to_string(),
        }
    }

    /// Resolves `path`. A relative path is taken from `from`, which has to be absolute; its `..`
    /// are followed as the system does it, after links.
    pub fn resolve(&self, path: &Path, from: &Path) -> ResolvedPath {
        self.resolve_cached(path, from, &mut PathLookupCache::default())
    }

    /// The same as [`Self::resolve`], with a cache for many paths.
    pub(super) fn resolve_cached(
        &self,
        path: &Path,
        from: &Path,
        cache: &mut PathLookupCache,
    ) -> ResolvedPath {
        let lexical = clean_path(&from.join(path));
        let followed = cache.real_in(path, from);
        let circular = followed.is_none();
        let (real, kind) = followed.unwrap_or_else(|| (lexical.clone(), CachedPathKind::Other));
        let is_direct = real == lexical;
        let inside = !circular && self.contains(&lexical) && (is_direct || self.contains(&real));
        let mut has = |path: &Path| cache.at(path) != CachedPathKind::Nothing;
        let mut is_of_git = |path: &Path| {
            let top = self.all_roots.iter().find(|root| below(path, root).is_some());
            places::is_of_bare_repository(path, &mut has)
                || is_in_git_folder(path, top.map_or(Path::new("/"), |it| it), &mut has)
        };
        let protected = self
            .protection(&lexical)
            .or_else(|| if is_direct { None } else { self.protection(&real) })
            .or_else(|| is_of_git(&real).then_some(places::BARE_REPOSITORY));
        // A link that leads there from elsewhere does not make its own name a part of it.
        let is_in_scratch = |path: &Path| {
            self.scratch.as_deref().is_some_and(|scratch| below(path, scratch).is_some())
        };
        let zone = if !circular && is_in_scratch(&lexical) && is_in_scratch(&real) {
            PathZone::Scratch
        } else if inside {
            PathZone::Inside
        } else if self.readable.iter().any(|folder| below(&real, folder).is_some()) {
            PathZone::Readable
        } else {
            PathZone::Outside
        };
        ResolvedPath {
            zone,
            protected,
            folder: kind == CachedPathKind::Folder,
            exists: kind != CachedPathKind::Nothing,
            has_other_names: kind == CachedPathKind::LinkedFile,
            path: lexical,
            real,
        }
    }

    fn contains(&self, path: &Path) -> bool {
        self.all_roots.iter().any(|root| below(path, root).is_some())
    }

    /// Where links in protected places lead, if all that is or could be below is protected, too;
    /// of `~/.config`, only parts are.
    pub(super) fn linked_places(&self) -> Vec<PathBuf> {
        let is_whole =
            |link: &&ProtectedLink| self.protection_by_name(&link.path.join("*")).is_some();
        self.protected_links.iter().filter(is_whole).map(|link| link.target.clone()).collect()
    }

    /// Why a clean path is protected, if it is: by its names, or by those of a link that leads
    /// there.
    fn protection(&self, path: &Path) -> Option<ProtectionReason> {
        self.protection_by_name(path).or_else(|| {
            let names = self.protected_links.names_of(path);
            names.iter().find_map(|name| self.protection_by_name(name))
        })
    }

    fn protection_by_name(&self, path: &Path) -> Option<ProtectionReason> {
        if SYSTEM_FOLDERS.iter().any(|root| below(path, Path::new(root)).is_some()) {
            return Some(places::SYSTEM);
        }
        for home in &self.all_slug_homes {
            if let Some(inside) = below(path, home) {
                // By its default name, slug's folder would look like a project's own `.slug`.
                let is_memory = below(inside, Path::new("memory")).is_some();
                return (!is_memory).then_some(places::SLUG_SETTINGS);
            }
        }
        let mut in_homes = self.all_homes.iter().filter_map(|home| below(path, home));
        if let Some(start_up) = in_homes.find_map(places::at_home) {
            return Some(start_up);
        }
        // Names above the workspace are not the workspace's own: it may lie in a folder called
        // `.slug`.
        let inside = self.all_roots.iter().find_map(|root| below(path, root));
        places::by_name(inside.unwrap_or(path))
    }
}

/// The part of a path below a folder, both of them clean. Compares bytes, which is an order of
/// magnitude faster than comparing components; a command may name many paths.
fn below<'a>(path: &'a Path, folder: &Path) -> Option<&'a Path> {
    let folder = folder.as_os_str().as_bytes();
    match path.as_os_str().as_bytes().strip_prefix(folder)? {
        [] => Some(Path::new("")),
        [b'/', rest @ ..] => Some(Path::new(OsStr::from_bytes(rest))),
        rest => folder.ends_with(b"/").then(|| Path::new(OsStr::from_bytes(rest))),
    }
}

/// What was found at each path, so that each is looked up once.
#[derive(Debug, Default)]
pub(super) struct PathLookupCache {
    places: HashMap<OsString, CachedPathKind>,
    /// The real paths of the few folders that relative paths were taken from.
    folders: Vec<(PathBuf, Option<(PathBuf, CachedPathKind)>)>,
    /// Whether git may look without a question, by the top of a repository and whether its files
    /// are read, too.
    pub(super) repositories: HashMap<(PathBuf, bool), Result<(), &'static str>>,
}

/// The kind of entry that a look at the disk found, links not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum CachedPathKind {
    Nothing,
    Link(PathBuf),
    Folder,
    /// A file with more than one hard link.
    LinkedFile,
    /// A file, or something that cannot be looked at.
    Other,
}

impl PathLookupCache {
    /// Follows every link in an absolute path, and says what is at its end. The part that does not
    /// exist is kept as it is. `None` when there are more than [`MAX_LINKS`] links.
    fn real(&mut self, path: &Path) -> Option<(PathBuf, CachedPathKind)> {
        let real = PathBuf::with_capacity(path.as_os_str().len());
        self.follow(real, CachedPathKind::Folder, path, MAX_LINKS)
    }

    /// The same for a path taken from a folder.
    fn real_in(&mut self, path: &Path, folder: &Path) -> Option<(PathBuf, CachedPathKind)> {
        if path.is_absolute() {
            return self.real(path);
        }
        let is_it = |(known, _): &(PathBuf, _)| known.as_os_str() == folder.as_os_str();
        let at = match self.folders.iter().position(is_it) {
            Some(at) => at,
            None => {
                let real = self.real(folder);
                self.folders.push((folder.to_owned(), real));
                self.folders.len() - 1
            }
        };
        let (folder, kind) = self.folders[at].1.as_ref()?;
        let mut real =
            PathBuf::with_capacity(folder.as_os_str().len() + path.as_os_str().len() + 1);
        real.push(folder);
        let kind = kind.clone();
        self.follow(real, kind, path, MAX_LINKS)
    }

    /// Continues from `real`, which has no links in it and where `kind` is found.
    fn follow(
        &mut self,
        mut real: PathBuf,
        mut kind: CachedPathKind,
        path: &Path,
        links: usize,
    ) -> Option<(PathBuf, CachedPathKind)> {
        let mut ahead = path.components();
        while let Some(component) = ahead.next() {
            match component {
                Component::Prefix(_) | Component::CurDir => {}
                Component::RootDir => {
                    real.push(component);
                    kind = CachedPathKind::Folder;
                }
                Component::ParentDir => {
                    real.pop();
                    kind = self.at(&real);
                }
                Component::Normal(name) => {
                    real.push(name);
                    // Nothing exists below what does not exist, so the disk is not asked.
                    if kind == CachedPathKind::Nothing {
                        continue;
                    }
                    kind = self.at(&real);
                    if let CachedPathKind::Link(target) = kind {
                        let path = target.join(ahead.as_path());
                        real.pop();
                        return self.follow(
                            real,
                            CachedPathKind::Folder,
                            &path,
                            links.checked_sub(1)?,
                        );
                    }
                }
            }
        }
        Some((real, kind))
    }

    fn at(&mut self, path: &Path) -> CachedPathKind {
        if let Some(kind) = self.places.get(path.as_os_str()) {
            return kind.clone();
        }
        let kind = CachedPathKind::look(path);
        self.places.insert(path.as_os_str().to_owned(), kind.clone());
        kind
    }
}

impl CachedPathKind {
    fn look(path: &Path) -> Self {
        let metadata = match std::fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Self::Nothing;
            }
            Err(_) => return Self::Other,
        };
        if metadata.is_dir() {
            return Self::Folder;
        }
        if !metadata.is_symlink() {
            let has_others = metadata.is_file() && metadata.nlink() > 1;
            return if has_others { Self::LinkedFile } else { Self::Other };
        }
        std::fs::read_link(path).map_or(Self::Other, Self::Link)
    }
}

#[cfg(test)]
mod tests {
    use super::places::ProtectedPlaceKind;
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
        assert_eq!(at(&workspace, "src/new/file").zone, PathZone::Inside);
        assert_eq!(at(&workspace, ".").zone, PathZone::Inside);
        assert_eq!(at(&workspace, "../app-secrets/k").zone, PathZone::Outside);
        assert_eq!(at(&workspace, "src/../../x").zone, PathZone::Outside);
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
        assert_eq!(at(&workspace, "d/passwd").zone, PathZone::Outside);
        assert_eq!(at(&workspace, "dangling").zone, PathZone::Outside);
        assert_eq!(at(&workspace, "s/new.rs").zone, PathZone::Inside);
        assert_eq!(at(&workspace, "loop").zone, PathZone::Outside);
        // The system resolves `..` from where the link leads.
        assert_eq!(at(&workspace, "d/../x").real, Path::new("/x"));
    }

    #[cfg(unix)]
    #[test]
    fn a_root_behind_a_link_is_still_the_root() {
        let (dir, workspace) = workspace();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(workspace.root(), &link).unwrap();
        let linked = Workspace::new(&link, Vec::new(), None, dir.path().join("slug"));
        assert_eq!(at(&linked, "src/x").zone, PathZone::Inside);
        let real = workspace.root().join("src/x");
        assert_eq!(linked.resolve(&real, Path::new("/")).zone, PathZone::Inside);
    }

    #[test]
    fn an_added_folder_is_inside() {
        let (dir, workspace) = workspace();
        let added = dir.path().join("added");
        let both =
            Workspace::new(workspace.root(), vec![added.clone()], None, dir.path().join("s"));
        assert_eq!(both.resolve(&added.join("x"), Path::new("/")).zone, PathZone::Inside);
    }

    #[test]
    fn below_is_by_whole_names() {
        for (path, folder, rest) in [
            ("/a/b/c", "/a", Some("b/c")),
            ("/a", "/a", Some("")),
            ("/ab", "/a", None),
            ("/a", "/a/b", None),
            ("/a/b", "/", Some("a/b")),
            ("/", "/", Some("")),
        ] {
            let found = below(Path::new(path), Path::new(folder));
            assert_eq!(found, rest.map(Path::new), "{path} below {folder}");
            assert_eq!(found, Path::new(path).strip_prefix(folder).ok());
        }
    }

    #[test]
    fn places_that_take_orders_are_protected() {
        use ProtectedPlaceKind::{BareRepository, Git, SlugSettings, StartUp, System, Tooling};
        let (_dir, workspace) = workspace();
        for (path, protected) in [
            ("src/main.rs", None),
            (".slug/settings.json", Some(SlugSettings)),
            ("sub/.slug/config.toml", Some(SlugSettings)),
            (".mcp.json", Some(SlugSettings)),
            ("../.slug/settings.json", Some(SlugSettings)),
            ("../.slug/trust.json", Some(SlugSettings)),
            ("../.slug/memory/notes.md", None),
            (".git/hooks/pre-commit", Some(Git)),
            (".GIT/config", Some(Git)),
            (".git", Some(Git)),
            ("sub/.git/config", Some(Git)),
            (".gitmodules", Some(Git)),
            (".gitignore", None),
            ("sub/HEAD", Some(BareRepository)),
            (".github/workflows/ci.yml", Some(Tooling)),
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
            assert_eq!(at(&workspace, path).protected.map(|it| it.kind), protected, "{path}");
        }
    }
}
