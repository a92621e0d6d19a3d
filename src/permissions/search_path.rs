//! Finds the programs that a command gives by name alone.
//!
//! A folder of PATH that lies in the project, or is relative, may hold anything that somebody put
//! there. The project is the workspace and the git repository around it. Neither a rule on a name nor a mode that allows a name covers a program of the project's
//! own. Such a program has a rule of its own, with the file's path and the hash of its contents.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::domain::{ContentHash, clean_path};

use super::paths::{ResolvedPath, Workspace};

/// A larger program, in bytes, gets no hash, and so no rule.
const MAX_BYTES: u64 = 64 << 20;
/// How many letters of the hash stand in a rule.
const HASH_LETTERS: usize = 24;

/// Commands that bash runs itself, wherever PATH leads.
const BUILTINS: &str = ": . [ alias bg bind break builtin caller cd command compgen complete compopt continue \
    declare dirs disown echo enable eval exec exit export false fc fg getopts hash help \
    history jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly \
    return set shift shopt source suspend test times trap true type typeset ulimit umask \
    unalias unset wait";

/// The folders in which programs are searched, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchPath {
    folders: Vec<PathBuf>,
    /// The folders among them that are relative or lie in the project.
    of_project: Vec<PathBuf>,
    /// The tops of the projects that the workspace belongs to.
    tops: Vec<PathBuf>,
}

/// A program of the project's own that would be run by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectProgram {
    /// As PATH finds it; links are not followed.
    pub path: PathBuf,
    /// The path with all links followed.
    real: PathBuf,
    shown: String,
    hash: Option<ContentHash>,
}

impl SearchPath {
    /// Reads the value of PATH. `tops` are the folders below which programs are the project's own;
    /// `real` follows the links in a path.
    pub(super) fn new(
        path: &OsStr,
        tops: Vec<PathBuf>,
        mut real: impl FnMut(&Path) -> PathBuf,
    ) -> Self {
        let folders = std::env::split_paths(path).collect();
        let found = Self { folders, of_project: Vec::new(), tops };
        let mut is_of_project =
            |it: &&PathBuf| !it.is_absolute() || found.is_inside(it) || found.is_inside(&real(it));
        let of_project = found.folders.iter().filter(&mut is_of_project).cloned().collect();
        Self { of_project, ..found }
    }

    fn is_inside(&self, path: &Path) -> bool {
        self.tops.iter().any(|top| path.starts_with(top))
    }

    /// The value of PATH without the project's folders, except those in `kept`; `None` where PATH
    /// holds none of the project's folders.
    pub(super) fn without_project(
        &self,
        workspace: &Workspace,
        kept: &[&Path],
    ) -> Option<OsString> {
        if self.of_project.is_empty() {
            return None;
        }
        let is_kept = |folder: &Path| {
            let folder = workspace.root().join(folder);
            kept.contains(&folder.as_path())
        };
        let folders = self.folders.iter();
        let left = folders.filter(|it| !self.of_project.contains(it) || is_kept(it));
        std::env::join_paths(left).ok()
    }

    /// The project's own program that PATH finds under `name`, for a command that runs in one of
    /// `folders`.
    pub(super) fn project_program(
        &self,
        name: &str,
        folders: &[PathBuf],
        workspace: &Workspace,
    ) -> Option<ProjectProgram> {
        if name.contains('/') || BUILTINS.split(' ').any(|it| it == name) {
            return None;
        }
        let first_in = |from: &PathBuf| {
            let mut all = self.folders.iter().map(|folder| (folder, from.join(folder).join(name)));
            all.find(|(_, path)| is_program(path))
        };
        // A folder outside may hold a link to a program of the project.
        let is_of_project = |(folder, path): &(&PathBuf, PathBuf)| {
            self.of_project.contains(folder)
                || path.is_symlink() && path.canonicalize().is_ok_and(|real| self.is_inside(&real))
        };
        // Without a relative folder in PATH, every folder finds the same.
        let from =
            if self.of_project.is_empty() { &folders[..1.min(folders.len())] } else { folders };
        let mut of_project = from.iter().filter_map(first_in).filter(is_of_project);
        of_project.next().map(|(_, path)| ProjectProgram::at(path, workspace))
    }
}

impl ProjectProgram {
    fn at(path: PathBuf, workspace: &Workspace) -> Self {
        let shown = match path.strip_prefix(workspace.root()) {
            Ok(inside) => format!("./{}", inside.display()),
            Err(_) => path.display().to_string(),
        };
        let is_small = std::fs::metadata(&path).is_ok_and(|it| it.len() <= MAX_BYTES);
        let content = is_small.then(|| std::fs::read(&path).ok()).flatten();
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        Self { shown, hash: content.map(|bytes| ContentHash::of(&bytes)), path, real }
    }

    /// Whether a change of `changed`, or of the file that it leads to, may change the program.
    pub(super) fn is_changed_with(&self, changed: &ResolvedPath) -> bool {
        clean_path(&self.path).starts_with(&changed.path) || self.real.starts_with(&changed.real)
    }

    /// The name by which a rule covers the program: its path and the hash of its contents.
    pub fn rule_name(&self) -> String {
        match &self.hash {
            Some(hash) => {
                let letters = hash.as_str().get(..HASH_LETTERS).unwrap_or_default();
                format!("{}@sha256:{letters}", self.shown)
            }
            None => format!("{}@", self.shown),
        }
    }

    /// Whether a rule can cover the program: one without a hash has none.
    pub fn has_rule(&self) -> bool {
        self.hash.is_some()
    }

    /// The program's path for the screen: relative inside the workspace.
    pub fn display_path(&self) -> &str {
        &self.shown
    }
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}
