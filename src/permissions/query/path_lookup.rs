//! Looks up the paths of a command on the disk: what its words, its redirections and its effects
//! lead to, from each folder that the command may be in.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::domain::clean_path;
use crate::permissions::folders::{PossibleFolders, add_all, cd_target, static_path};
use crate::permissions::paths::{PathLookupCache, PathZone, ResolvedPath, Workspace};
use crate::permissions::pattern::MAX_DEPTH;
use crate::permissions::places::{self, ProtectionReason};
use crate::permissions::programs::{self, CommandEffects, MovedLinks};
use crate::permissions::repository;
use crate::permissions::shell::{CommandOrder, RedirectDirection, ShellWord, SimpleCommand};
use crate::permissions::words::RoughCommand;

use super::{PathArgument, ResolvedCommand, ResolvedEffects};

/// A command that names more paths than this is over the limit: the paths beyond it are compared as
/// they are written, not looked up on the disk.
pub(super) const MAX_LOOKUPS: usize = 2048;

/// The folder holds more entries than are searched.
struct FolderTooLarge;

/// Looks up a command's paths on the disk, [`MAX_LOOKUPS`] at most.
pub(super) struct CommandPathLookup<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) cache: &'a mut PathLookupCache,
    pub(super) left: usize,
    pub(super) over_limit: bool,
    /// Whether several parts of the line change files: one may make or remove what another one
    /// writes to.
    pub(super) several_change: bool,
}

impl CommandPathLookup<'_> {
    /// Resolves one command, and follows it into the folder that it changes to.
    pub(super) fn command(
        &mut self,
        command: &SimpleCommand,
        order: CommandOrder,
        possible: &mut PossibleFolders,
    ) -> ResolvedCommand {
        let home = self.workspace.home();
        if order != CommandOrder::AfterSuccess {
            possible.current.clone_from(&possible.visited);
        }
        let outside_of = possible.current.clone();
        let started_in: Vec<Option<PathBuf>> = programs::start_folders(&command.words)
            .iter()
            .map(|word| static_path(word, home))
            .collect();
        let (mut folders, mut has_unknown) = (outside_of.clone(), possible.has_unknown);
        if !started_in.is_empty() {
            let (further, unknown) = PossibleFolders::below(&outside_of, &started_in);
            add_all(&mut folders, &further);
            has_unknown |= unknown;
        }
        let mut resolved = self.files(command, &folders);
        resolved.has_unknown_folder = has_unknown;
        let root = Path::new("/");
        let all =
            folders.iter().map(|folder| self.workspace.resolve_cached(folder, root, self.cache));
        resolved.folders = all.collect();
        resolved.effects =
            programs::effects(command).map(|it| self.effects(it, &resolved, &folders));
        if resolved.effects.is_none() {
            resolved.usual_change = self.usual_change(command, &resolved, &folders);
        }
        let search_path = self.workspace.search_path();
        let name = command.words.first().filter(|word| word.is_literal());
        resolved.program =
            name.and_then(|name| search_path.project_program(&name.text, &folders, self.workspace));
        if let Some(target) = cd_target(command, home) {
            possible.go(target, order);
        }
        resolved
    }

    fn effects(
        &mut self,
        by_words: CommandEffects,
        resolved: &ResolvedCommand,
        folders: &[PathBuf],
    ) -> ResolvedEffects {
        let (mut writes, mut is_too_large) = (Vec::new(), false);
        if by_words.is_recursive {
            let (from, to) =
                match by_words.writes.last().filter(|_| !by_words.target_entries.is_empty()) {
                    Some(target) => (&by_words.target_entries, Some(target)),
                    None => (&by_words.writes, None),
                };
            for text in from {
                match self.protected_below(text, to.map(Path::new), folders) {
                    Ok(found) => writes.extend(found.map(|path| (text, path))),
                    Err(FolderTooLarge) => is_too_large = true,
                }
            }
        }
        for (at, text) in by_words.writes.iter().enumerate() {
            let found = self.everywhere(Path::new(text), folders);
            let is_target = at + 1 == by_words.writes.len();
            // An entry that is put into a folder changes what is in the folder, not the folder.
            let has_entries = is_target && !by_words.target_entries.is_empty();
            let is_into = has_entries && found.iter().any(|it| it.folder);
            if is_into || has_entries && self.several_change {
                for source in
                    by_words.target_entries.iter().filter_map(|it| Path::new(it).file_name())
                {
                    let inside = self.everywhere(&Path::new(text).join(source), folders);
                    writes.extend(inside.into_iter().map(|path| (text, path)));
                }
            }
            if !is_into || self.several_change {
                // What would remove a folder above the workspace is asked about itself.
                let found = found.into_iter().filter(|it| !is_into || !self.workspace.is_above(it));
                writes.extend(found.map(|path| (text, path)));
            }
        }
        let writes = writes.into_iter();
        let writes = writes.map(|(text, path)| PathArgument::new(text, path, true)).collect();
        let inside = || resolved.folders.iter().map(|folder| folder.real.as_path());
        let beyond_rules = repository::beyond_rules(inside(), &by_words, self.workspace);
        let hindrance =
            repository::hindrance(inside(), &by_words, beyond_rules, self.workspace, self.cache);
        // A plain file brings no link with it.
        let mut is_plain = |text: &String| {
            let found = self.everywhere(Path::new(text), folders);
            found.iter().all(|it| it.exists && !it.folder && it.path == it.real)
        };
        let moved_links = match by_words.moved_links {
            MovedLinks::InTargets
                if !by_words.target_entries.is_empty()
                    && by_words.target_entries.iter().all(&mut is_plain) =>
            {
                MovedLinks::Nowhere
            }
            other => other,
        };
        ResolvedEffects { by_words, writes, hindrance, beyond_rules, is_too_large, moved_links }
    }

    /// What a command changes of the home folder, the workspace, a folder above one of them or a protected
    /// place, as its name and options usually mean, where its words are what the shell makes of them with
    /// the home folder that slug knows. Another program of that name, or another home folder, may do less:
    /// this is reason to ask, never to allow.
    fn usual_change(
        &mut self,
        command: &SimpleCommand,
        resolved: &ResolvedCommand,
        folders: &[PathBuf],
    ) -> Option<ProtectionReason> {
        let home = self.workspace.home();
        let expanded = |word: &ShellWord| {
            let path = static_path(word, home)?;
            Some(ShellWord::literal(path.to_string_lossy()))
        };
        // What only the shell knows is passed over.
        let words = command.words.iter().filter_map(expanded).collect();
        let expanded = SimpleCommand { words, ..SimpleCommand::default() };
        let effects = self.effects(programs::usual_effects(&expanded)?, resolved, folders);
        if effects.writes.iter().any(|it| self.workspace.is_above(&it.path)) {
            return Some(places::WHOLE_HOME);
        }
        let is_in_place = !effects.by_words.is_recursive;
        if is_in_place && effects.writes.iter().any(|it| it.path.has_other_names) {
            return Some(places::OTHER_NAMES);
        }
        effects.writes.iter().find_map(|it| it.path.protected)
    }

    /// A protected place in the folder `from`, either where it is now or where it may land when
    /// `from` goes `to`.
    fn protected_below(
        &mut self,
        from: &str,
        to: Option<&Path>,
        folders: &[PathBuf],
    ) -> Result<Option<ResolvedPath>, FolderTooLarge> {
        let mut left = MAX_LOOKUPS;
        // What is in `from/.` goes into the target itself.
        let name = Path::new(from).file_name().filter(|_| !from.ends_with("/."));
        let mut targets = Vec::new();
        for target in to.map_or_else(Vec::new, |to| self.everywhere(to, folders)) {
            let inside = name.filter(|_| target.folder || self.several_change);
            targets.extend(inside.map(|name| target.path.join(name)));
            if inside.is_none() || self.several_change {
                targets.push(target.path);
            }
        }
        let starts = self.everywhere(Path::new(from), folders).into_iter();
        let mut ahead: Vec<(PathBuf, Vec<PathBuf>)> =
            starts.filter(|it| it.folder).map(|it| (it.path, targets.clone())).collect();
        while let Some((here, there)) = ahead.pop() {
            for entry in std::fs::read_dir(&here).into_iter().flatten().flatten() {
                left = left.checked_sub(1).ok_or(FolderTooLarge)?;
                let name = entry.file_name();
                let here = here.join(&name);
                let there: Vec<PathBuf> = there.iter().map(|it| it.join(&name)).collect();
                for path in std::iter::once(&here).chain(&there) {
                    let path = self.workspace.resolve_cached(path, Path::new("/"), self.cache);
                    if path.protected.is_some() {
                        return Ok(Some(path));
                    }
                }
                if entry.file_type().is_ok_and(|it| it.is_dir()) {
                    ahead.push((here, there));
                }
            }
        }
        Ok(None)
    }

    /// The files that redirections open, and the words that may be paths.
    fn files(&mut self, command: &SimpleCommand, folders: &[PathBuf]) -> ResolvedCommand {
        let home = self.workspace.home();
        let mut files = ResolvedCommand::default();
        for redirect in &command.redirects {
            let Some(path) = static_path(&redirect.target, home) else { continue };
            let found = self.everywhere(&path, folders);
            match redirect.direction {
                RedirectDirection::Read => files.reads.extend(found),
                RedirectDirection::Write => files.writes.extend(found),
            }
        }
        for (at, word) in command.words.iter().enumerate() {
            if at > 0 {
                files.arguments.extend(self.arguments(word, folders));
            }
            if let Some(folder) = folder_of_pattern(word) {
                files.pattern_folders.extend(self.everywhere(&folder, folders));
            }
        }
        files
    }

    /// The paths that the words of text which did not parse may be, each word once.
    pub(super) fn rough(&mut self, rough: &[RoughCommand], folder: &Path) -> Vec<PathArgument> {
        let words: BTreeSet<&str> =
            rough.iter().flat_map(RoughCommand::words).map(|word| &*word.text).collect();
        let folders = [folder.to_owned()];
        words.into_iter().flat_map(|it| self.arguments(&ShellWord::literal(it), &folders)).collect()
    }

    /// The paths that a word may be.
    fn arguments(&mut self, word: &ShellWord, folders: &[PathBuf]) -> Vec<PathArgument> {
        let home = self.workspace.home();
        let Some(text) = word.known() else {
            let path = static_path(word, home);
            return path.map_or_else(Vec::new, |path| self.argument(&path, &word.text, folders));
        };
        let mut arguments = Vec::new();
        for candidate in path_candidates(text) {
            arguments.extend(self.argument(Path::new(candidate), candidate, folders));
            // A program may expand the `~` that the shell left alone.
            if let Some((rest, home)) = candidate.strip_prefix("~/").zip(home) {
                arguments.extend(self.argument(&home.join(rest), candidate, folders));
            }
        }
        arguments
    }

    fn argument(&mut self, path: &Path, text: &str, folders: &[PathBuf]) -> Vec<PathArgument> {
        let found = self.everywhere(path, folders);
        let mut arguments = Vec::with_capacity(found.len());
        for path in found {
            let can_be_made = path.exists || self.has_top(&path.real);
            arguments.push(PathArgument::new(text, path, can_be_made));
        }
        arguments
    }

    /// Whether the first folder of an absolute path exists: else it may be any text with a slash.
    fn has_top(&mut self, path: &Path) -> bool {
        let top: PathBuf = path.components().take(2).collect();
        top != path && self.workspace.resolve_cached(&top, Path::new("/"), self.cache).exists
    }

    /// The path resolved from each folder that the command may be in.
    fn everywhere(&mut self, path: &Path, all: &[PathBuf]) -> Vec<ResolvedPath> {
        let folders = if path.is_absolute() { &all[..1] } else { all };
        let deep = path.components().count() > MAX_DEPTH;
        let look = !deep && self.left >= folders.len();
        self.over_limit |= !look;
        self.left = self.left.saturating_sub(folders.len());
        let resolve = |folder: &PathBuf| match look {
            true => self.workspace.resolve_cached(path, folder, self.cache),
            false => as_written(&folder.join(path)),
        };
        folders.iter().map(resolve).collect()
    }
}

/// A path that is compared as written and not looked up on the disk.
fn as_written(path: &Path) -> ResolvedPath {
    let path = clean_path(path);
    ResolvedPath {
        real: path.clone(),
        path,
        zone: PathZone::Outside,
        protected: None,
        has_other_names: false,
        folder: false,
        exists: true,
    }
}

/// The parts of an argument that may be a path: all of it, what follows `=`, `:`, `,` or `@`, and
/// what is glued to short options.
fn path_candidates(text: &str) -> Vec<&str> {
    let mut candidates = vec![text];
    if let Some(option) = text.strip_prefix('-').filter(|option| !option.starts_with('-')) {
        // `-f.env`, `-hf.env`.
        let letters = option.char_indices().take_while(|(_, c)| c.is_ascii_alphabetic()).take(4);
        candidates.extend(letters.map(|(at, _)| &option[at + 1..]));
    }
    for mark in ['=', ':', ',', '@'] {
        candidates.extend(text.split_once(mark).map(|(_, rest)| rest));
    }
    // `a=@file`.
    candidates.extend(text.split_once("=@").map(|(_, rest)| rest));
    candidates.retain(|candidate| !candidate.is_empty());
    candidates.dedup();
    candidates
}

/// The folder in front of the first sign in a word that only the shell knows the meaning of.
fn folder_of_pattern(word: &ShellWord) -> Option<PathBuf> {
    if word.known().is_some() {
        return None;
    }
    let begin = word.text.split(['*', '?', '[', '{', '$', '`', '\\', '\'', '"']).next()?;
    let (folder, _) = begin.rsplit_once('/')?;
    Some(if folder.is_empty() { PathBuf::from("/") } else { PathBuf::from(folder) })
}
