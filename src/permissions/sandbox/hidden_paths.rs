//! Finds the files on the disk that deny rules on reading match, so that a command in the sandbox
//! cannot read them, either.
//!
//! A rule that names a path says where to look. A rule with a wildcard is searched from where its
//! wildcards begin, except in folders of other people's programs and in `.git`, unless the rule
//! names those. Files that are created later, further hard links of the same file, and git's
//! history are not found. A rule on all reading (`Read` alone) applies only to slug's own tools.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::places::{ENTRIES, NOT_ENTERED};
use super::{SandboxDisk, SandboxDiskEntry, SandboxPolicyError, closed, existing_spot};
use crate::domain::{MaskedPath, MaskedPathKind, SYSTEM_FOLDERS, ScanExtent};
use crate::permissions::pattern::PathPattern;
use crate::permissions::rules::RuleSet;

/// The most paths that can be masked one by one.
const MAX_HIDDEN_PATHS: usize = 1000;

/// The rules in force, shared with the code that builds sandbox profiles.
#[derive(Debug, Default)]
pub struct ReadRules(Mutex<Arc<RuleSet>>);

impl ReadRules {
    /// Replaces the rules; the next profile follows the new ones.
    pub fn set(&self, rules: &RuleSet) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules.clone());
    }

    /// The rules in force now.
    pub fn current(&self) -> Arc<RuleSet> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The paths to mask, and whether all of them were found.
pub(super) struct HiddenPaths {
    pub spots: BTreeSet<MaskedPath>,
    pub extent: ScanExtent,
}

/// Searches for what the rules match, first in `dir`.
pub(super) fn find(
    dir: &Path,
    disk: &dyn SandboxDisk,
    rules: &RuleSet,
) -> Result<HiddenPaths, SandboxPolicyError> {
    let patterns: Vec<&PathPattern> = rules.denied_read_patterns().collect();
    let starts: BTreeSet<PathBuf> = patterns.iter().flat_map(|it| it.starts()).collect();
    let first = starts.iter().any(|start| dir.starts_with(start)).then(|| dir.to_owned());
    let mut search = HiddenPathSearch {
        dir,
        disk,
        patterns,
        hidden: HiddenPaths { spots: BTreeSet::new(), extent: ScanExtent::Whole },
        folders: VecDeque::new(),
        left: ENTRIES,
    };
    for start in first.into_iter().chain(starts) {
        let found = search.disk.at(&start);
        search.look_at(start, found, FolderDescent::Enter)?;
    }
    search.run()
}

/// Whether the entries of a folder are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FolderDescent {
    Enter,
    Skip,
}

struct HiddenPathSearch<'a> {
    dir: &'a Path,
    disk: &'a dyn SandboxDisk,
    patterns: Vec<&'a PathPattern>,
    hidden: HiddenPaths,
    folders: VecDeque<PathBuf>,
    left: usize,
}

impl HiddenPathSearch<'_> {
    fn run(mut self) -> Result<HiddenPaths, SandboxPolicyError> {
        let mut seen = HashSet::new();
        while let Some(folder) = self.folders.pop_front() {
            if !seen.insert(folder.clone()) {
                continue;
            }
            let Ok(entries) = self.disk.list(&folder) else {
                self.hidden.spots.insert(closed(&folder, self.dir, self.disk)?);
                continue;
            };
            for (name, found) in entries {
                if self.left == 0 {
                    self.hidden.extent = ScanExtent::Part;
                    return Ok(self.hidden);
                }
                self.left -= 1;
                let is_skipped = name == ".git" || NOT_ENTERED.iter().any(|other| name == *other);
                let below = if is_skipped { FolderDescent::Skip } else { FolderDescent::Enter };
                self.look_at(folder.join(name), found, below)?;
            }
            if self.hidden.spots.len() > MAX_HIDDEN_PATHS {
                return Err(SandboxPolicyError::TooManyHidden {
                    dir: self.dir.to_owned(),
                    most: MAX_HIDDEN_PATHS,
                });
            }
        }
        Ok(self.hidden)
    }

    fn look_at(
        &mut self,
        path: PathBuf,
        found: SandboxDiskEntry,
        below: FolderDescent,
    ) -> Result<(), SandboxPolicyError> {
        // Nothing in a file system that the kernel makes up.
        if SYSTEM_FOLDERS.iter().any(|root| path.starts_with(root)) {
            return Ok(());
        }
        let is_named = self.patterns.iter().any(|pattern| pattern.is_match(&path));
        if !is_named && found != SandboxDiskEntry::Closed {
            if found == SandboxDiskEntry::Folder && below == FolderDescent::Enter {
                self.folders.push_back(path);
            }
            return Ok(());
        }
        let Some(spot) = existing_spot(&path, self.dir, self.disk)? else { return Ok(()) };
        // A link to a system folder would take that folder away from every command.
        if found != SandboxDiskEntry::Link
            || spot.kind == MaskedPathKind::File
            || spot.path.starts_with(self.dir)
        {
            self.hidden.spots.insert(spot);
        }
        Ok(())
    }
}
