//! Finds the files and folders that links in protected places lead to: who writes there writes to
//! the protected place. What a `.git` file names, and what git's configuration names in place of its
//! own folder of hooks, or includes, counts as such a link.
//!
//! The links are looked up once, in the folders where protected places of the user, of slug and of
//! the workspace stand. What cannot be read counts as empty. A link that is made later is not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{FileType, read_dir};
use std::path::{Path, PathBuf};

use super::{PathLookupCache, Workspace, below, places};
use crate::permissions::git_places;

/// The most entries of one folder that are looked at.
const MAX_ENTRIES: usize = 4096;
/// The most protected folders of one root that are looked into.
const MAX_FOLDERS: usize = 64;

/// The links in protected places, by where they lead.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ProtectedLinks {
    /// In lower case, because some file systems do not tell cases apart.
    by_target: BTreeMap<OsString, Vec<ProtectedLink>>,
}

/// A link in a protected place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProtectedLink {
    pub(super) path: PathBuf,
    /// Where it leads, with all links followed. Nothing needs to exist there.
    pub(super) target: PathBuf,
}

impl ProtectedLinks {
    /// Looks for links in the home folder, in slug's own and in the roots, and in the protected
    /// folders at their top.
    pub(super) fn find(workspace: &Workspace, cache: &mut PathLookupCache) -> Self {
        let mut folders = BTreeSet::from([workspace.slug_home.clone()]);
        folders.extend(places::IN_SLUG_HOME.map(|folder| workspace.slug_home.join(folder)));
        if let Some(home) = &workspace.home {
            folders.extend(places::folders_at_home().into_iter().map(|folder| home.join(folder)));
        }
        for root in workspace.roots() {
            folders.insert(root.to_owned());
            folders.extend(protected_folders(root, workspace));
        }
        let mut links = Self::default();
        let is_top = |root: &Path, it: &Path| it == root || it.join(".git").exists();
        let around = |root| Path::ancestors(root).filter(move |it| is_top(root, it));
        for top in workspace.roots().flat_map(around) {
            for (stands_for, named) in git_places::named_places(top, workspace.home()) {
                // A working tree in its own repository is the user's all the same.
                let holds_root =
                    |it: &Path| workspace.all_roots.iter().any(|at| at.starts_with(it));
                if let Some((target, _)) = cache.real(&named)
                    && !(stands_for == git_places::GIT && holds_root(&target))
                {
                    links.add(ProtectedLink { path: top.join(stands_for), target });
                }
            }
        }
        for (path, kind) in folders.iter().flat_map(|folder| entries(folder)) {
            if !kind.is_symlink() || workspace.protection_by_name(&path).is_none() {
                continue;
            }
            if let Some((target, _)) = cache.real(&path) {
                links.add(ProtectedLink { path, target });
            }
        }
        links
    }

    /// Adds a file that is read as slug's own settings, by its name and by its real path.
    pub(super) fn add_settings(&mut self, file: &Path, settings: &Path) {
        let real = PathLookupCache::default().real(file).map(|(real, _)| real);
        for target in BTreeSet::from_iter(real.into_iter().chain([file.to_owned()])) {
            self.add(ProtectedLink { path: settings.to_owned(), target });
        }
    }

    fn add(&mut self, link: ProtectedLink) {
        let key = link.target.as_os_str().to_ascii_lowercase();
        self.by_target.entry(key).or_default().push(link);
    }

    /// The names that a path has through the links that lead to it or to a folder above it.
    pub(super) fn names_of(&self, path: &Path) -> Vec<PathBuf> {
        if self.by_target.is_empty() {
            return Vec::new();
        }
        let path = PathBuf::from(path.as_os_str().to_ascii_lowercase());
        let mut names = Vec::new();
        for above in path.ancestors() {
            let links = self.by_target.get(above.as_os_str()).into_iter().flatten();
            let Some(rest) = below(&path, above) else { continue };
            names.extend(links.map(|link| link.path.iter().chain(rest).collect::<PathBuf>()));
        }
        names
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ProtectedLink> {
        self.by_target.values().flatten()
    }
}

/// The protected folders at the top of a root. Not `.git`, whose entries git makes itself.
fn protected_folders(root: &Path, workspace: &Workspace) -> Vec<PathBuf> {
    let is_git = |path: &Path| path.file_name().is_some_and(|it| it.eq_ignore_ascii_case(".git"));
    entries(root)
        .filter(|(path, kind)| !kind.is_file() && !is_git(path))
        .map(|(path, _)| path)
        .filter(|path| workspace.protection_by_name(path).is_some())
        .take(MAX_FOLDERS)
        .collect()
}

/// The entries of a folder, links not followed.
fn entries(folder: &Path) -> impl Iterator<Item = (PathBuf, FileType)> + use<> {
    let listed = read_dir(folder).into_iter().flatten().take(MAX_ENTRIES).flatten();
    listed.filter_map(|entry| Some((entry.path(), entry.file_type().ok()?)))
}
