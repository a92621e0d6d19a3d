//! Finds the protected places in a sandbox's folder: those that exist stay unchanged, and those
//! that do not exist cannot be created.
//!
//! git's own folders are among them, whatever they are called: those that look like one, those that
//! a `.git` file names, and those that another one of them names as the common folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{SandboxDisk, SandboxDiskEntry, SandboxPolicyError};
use crate::domain::{MaskedPath, MaskedPathKind, ScanExtent};
use crate::permissions::git_folders::{is_git_folder, named_by_commondir, named_by_git_file};
use crate::permissions::places::is_protected_entry;

/// The most entries that are searched, those near the top first.
pub(super) const ENTRIES: usize = 20_000;

/// Folders full of other people's programs: protected places in them are not looked for.
pub(super) const NOT_ENTERED: [&str; 4] = ["node_modules", "target", ".venv", "venv"];

/// The protected places of a folder, while they are searched.
pub(super) struct ProtectedPathScan<'a> {
    dir: &'a Path,
    disk: &'a dyn SandboxDisk,
    pub(super) fixed: BTreeSet<PathBuf>,
    pub(super) held: BTreeSet<PathBuf>,
    pub(super) absent: BTreeSet<MaskedPath>,
    /// Folders that slug cannot look into, and that a command could open.
    pub(super) closed: BTreeSet<PathBuf>,
    /// Folders with a `.git` file.
    pub(super) working_trees: Vec<PathBuf>,
}

impl<'a> ProtectedPathScan<'a> {
    pub(super) fn new(dir: &'a Path, disk: &'a dyn SandboxDisk) -> Self {
        let (fixed, held, absent, closed) = Default::default();
        Self { dir, disk, fixed, held, absent, closed, working_trees: Vec::new() }
    }

    /// Keeps `path` unchanged. Where it is missing, keeps the topmost folder that is missing with
    /// it from being created.
    pub(super) fn protect(
        &mut self,
        path: &Path,
        wanted: MaskedPathKind,
    ) -> Result<(), SandboxPolicyError> {
        let Ok(below) = path.strip_prefix(self.dir) else { return Ok(()) };
        let names: Vec<_> = below.components().collect();
        let mut here = self.dir.to_owned();
        for (at, name) in names.iter().enumerate() {
            let above = here.clone();
            here.push(name);
            let is_last = at + 1 == names.len();
            match (self.disk.at(&here), is_last) {
                (SandboxDiskEntry::Closed, _) => return self.close(above),
                (SandboxDiskEntry::Link, _) => return Err(SandboxPolicyError::Link(here)),
                (SandboxDiskEntry::Nothing, _) => {
                    let kind = if is_last { wanted } else { MaskedPathKind::Folder };
                    self.absent.insert(MaskedPath { path: here, kind });
                    return Ok(());
                }
                (SandboxDiskEntry::Folder, false) => {
                    self.held.insert(here.clone());
                }
                (SandboxDiskEntry::Folder | SandboxDiskEntry::File, _) => {
                    self.fixed.insert(here);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn close(&mut self, folder: PathBuf) -> Result<(), SandboxPolicyError> {
        if folder == self.dir {
            return Err(SandboxPolicyError::Closed(folder));
        }
        self.closed.insert(folder);
        Ok(())
    }

    /// Searches the folders below, however deep, for protected places. Links are not followed.
    pub(super) fn scan_subfolders(&mut self) -> Result<ScanExtent, SandboxPolicyError> {
        let mut left = ENTRIES;
        let mut level = vec![self.dir.to_owned()];
        while !level.is_empty() {
            let mut next = Vec::new();
            for folder in level {
                // Another entry may have named it since it was found.
                if self.fixed.contains(&folder) {
                    continue;
                }
                let Ok(entries) = self.disk.list(&folder) else {
                    self.close(folder)?;
                    continue;
                };
                let disk = self.disk;
                let mut has = |path: &Path| disk.at(path) != SandboxDiskEntry::Nothing;
                if entries.iter().any(|(name, _)| name == "HEAD")
                    && is_git_folder(&folder, &mut has)
                {
                    self.protect_git_folder(&folder)?;
                    continue;
                }
                for (name, found) in entries {
                    if left == 0 {
                        return Ok(ScanExtent::Part);
                    }
                    left -= 1;
                    let path = folder.join(&name);
                    let text = name.to_string_lossy();
                    if found != SandboxDiskEntry::Folder && text.eq_ignore_ascii_case(".git") {
                        self.protect_named_by(&path, &folder)?;
                    }
                    if found != SandboxDiskEntry::Link && is_protected_entry(&folder, &text) {
                        // A placeholder that only reserves a name counts as nothing.
                        if self.disk.at(&path) != SandboxDiskEntry::Nothing {
                            self.fixed.insert(path);
                        }
                    } else if found == SandboxDiskEntry::Folder
                        && !NOT_ENTERED.contains(&text.as_ref())
                        && !self.fixed.contains(&path)
                    {
                        next.push(path);
                    }
                }
            }
            level = next;
        }
        Ok(ScanExtent::Whole)
    }

    /// Keeps what a `.git` file or link in `folder` names unchanged.
    fn protect_named_by(&mut self, git: &Path, folder: &Path) -> Result<(), SandboxPolicyError> {
        let text = self.disk.read(git);
        let named = match &text {
            Some(text) => named_by_git_file(folder, text),
            None => Some(git.to_owned()),
        };
        if text.is_some() {
            self.working_trees.push(folder.to_owned());
        }
        match named.and_then(|it| self.disk.real(&it).ok()?) {
            // A command could make such a file further down, for a repository of its own.
            Some(own) if own == self.dir && folder != self.dir => Ok(()),
            Some(own) if own != git => self.protect_git_folder(&own),
            Some(_) | None => Ok(()),
        }
    }

    /// Keeps a folder of git's own unchanged, and the one that has the rest of its repository.
    fn protect_git_folder(&mut self, own: &Path) -> Result<(), SandboxPolicyError> {
        let common = self.disk.read(&own.join("commondir"));
        let common = common.and_then(|it| self.disk.real(&named_by_commondir(own, &it)).ok()?);
        for folder in common.iter().map(PathBuf::as_path).chain([own]) {
            if folder == self.dir {
                return Err(SandboxPolicyError::Protected(folder.to_owned()));
            }
            self.protect(folder, MaskedPathKind::Folder)?;
        }
        Ok(())
    }
}
