//! A call as the decision sees it: what it touches, with links followed and the command analysed.
//!
//! This is the decision's only look at the disk. The same call resolved twice gives queries with
//! the same fingerprint, unless what its paths lead to has changed in between.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::domain::{ContentHash, ToolAccess, clean_path};

use super::folders::{PossibleFolders, add_all, cd_target, changes_folder, static_path};
use super::paths::{PathLookupCache, PathZone, ResolvedPath, Workspace};
use super::pattern::MAX_DEPTH;
use super::programs::{self, CommandEffects, MovedLinks};
use super::repository;
use super::search_path::ProjectProgram;
use super::shell::{
    self, AnalysisKind, CommandAnalysis, CommandOrder, RedirectDirection, SimpleCommand,
    WrappedCommands,
};

/// More paths than this are not looked up on the disk: they are compared as they are written.
const MAX_LOOKUPS: usize = 2048;

/// A call, ready to be decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionQuery {
    /// The tool's name.
    pub tool: String,
    /// What it touches.
    pub accesses: Vec<ResolvedAccess>,
    /// Stands for the folder and for the environment that what it starts gets.
    pub context_hash: ContentHash,
}

/// One thing that a call touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolvedAccess {
    /// Reads a path.
    Read(ResolvedPath),
    /// Makes or changes a file.
    Write(ResolvedPath),
    /// Runs a command.
    Run(Box<ResolvedRun>),
    /// Asks a tool of a server.
    External {
        /// The server's name.
        server: String,
        /// The tool's name there.
        tool: String,
        /// Whether it is said to change nothing.
        read_only: bool,
    },
    /// Gets what is at an address.
    Fetch {
        /// The address.
        url: String,
    },
    /// Touches nothing.
    Nothing,
}

impl ResolvedAccess {
    /// The command that is run, if it is one.
    pub fn run(&self) -> Option<&ResolvedRun> {
        match self {
            Self::Run(run) => Some(run),
            _ => None,
        }
    }

    /// Whether it may change files, and not only those that it names.
    pub fn may_change_files(&self) -> bool {
        match self {
            Self::Run(run) => !run.only_reads(),
            Self::External { read_only, .. } => !read_only,
            Self::Read(_) | Self::Write(_) | Self::Fetch { .. } | Self::Nothing => false,
        }
    }
}

/// A command with the files that can be seen in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedRun {
    /// As the model wrote it.
    pub command: String,
    /// The folder it starts in.
    pub cwd: ResolvedPath,
    /// What it is.
    pub analysis: CommandAnalysis,
    /// Each of the analysis's commands, flattened, in order.
    pub commands: Vec<ResolvedCommand>,
    /// Whether it names more than is looked up on the disk, or something absurdly deep.
    pub is_over_limit: bool,
    /// The value of PATH without folders of the project's, where it has such: but for those of
    /// programs that the command itself names.
    pub search_path: Option<OsString>,
}

/// A simple command as it meets the disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResolvedCommand {
    /// The folders in which it may run.
    pub folders: Vec<ResolvedPath>,
    /// Whether it may run in others, too.
    pub has_unknown_folder: bool,
    /// Whether another part of the command line may change what its names lead to.
    pub has_unstable_paths: bool,
    /// What redirections read.
    pub reads: Vec<ResolvedPath>,
    /// What redirections write.
    pub writes: Vec<ResolvedPath>,
    /// Arguments that may be paths. A relative path has one entry for each folder.
    pub arguments: Vec<PathArgument>,
    /// What it does; `None` when it can do anything.
    pub effects: Option<ResolvedEffects>,
    /// The project's own program that its name stands for.
    pub program: Option<ProjectProgram>,
}

/// What a program of the table does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedEffects {
    /// What it does, by its words.
    pub by_words: CommandEffects,
    /// What it changes.
    pub writes: Vec<PathArgument>,
    /// Why git is not run there without a question, or by a wildcard to the remote it is given.
    pub hindrance: Option<&'static str>,
    /// Whether it changes folders with more in them than is looked through.
    pub is_too_large: bool,
    /// Where it may put links, now that it is known what is moved.
    pub moved_links: MovedLinks,
}

/// An argument, or a part of one, that may be a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathArgument {
    /// As it stands in the command.
    pub text: String,
    /// Where it would lead.
    pub path: ResolvedPath,
}

impl ResolvedCommand {
    /// Whether it is certain that it only reads, redirections apart.
    pub(super) fn only_reads(&self) -> bool {
        let effects = self.effects.as_ref();
        effects.is_some_and(|it| it.by_words.is_reader && it.hindrance.is_none())
    }

    /// Whether it changes what is in a file that has other names, too: one of them may be protected.
    pub(super) fn changes_other_names(&self) -> bool {
        let effects = self.effects.as_ref().filter(|it| !it.by_words.is_recursive);
        let targets = effects.map_or(&[][..], |it| &it.writes).iter().map(|it| &it.path);
        self.writes.iter().chain(targets).any(|it| it.has_other_names)
    }

    /// The folders by their names, and where a program really is that goes there.
    fn places(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().flat_map(|folder| [folder.path.as_path(), folder.real.as_path()])
    }

    /// Why it cannot be said where its names lead, if so.
    pub(super) fn uncertainty(&self) -> Option<&'static str> {
        const LOST: &str = "It changes its folder, so it cannot be said where this file is.";
        const MOVED: &str = "Another part of the command may change what this leads to.";
        self.has_unknown_folder.then_some(LOST).or_else(|| self.has_unstable_paths.then_some(MOVED))
    }

    /// Whether it may change what the names in another part of the same command lead to: by a link
    /// that it puts there, or by what it writes into the project's own program that the other runs.
    fn can_redirect_paths_of(&self, other: &Self) -> bool {
        let effects = self.effects.as_ref();
        let written = effects.map_or(&[][..], |it| &it.writes).iter().map(|it| &it.path);
        let is_below = |path: &ResolvedPath| {
            let mut tops = written.clone();
            tops.any(|top| path.path.starts_with(&top.path) || path.real.starts_with(&top.real))
        };
        let other_writes = other.effects.as_ref().map_or(&[][..], |it| &it.writes);
        let arguments = other.known_reads().chain(other_writes).map(|it| &it.path);
        let mut paths = other.reads.iter().chain(&other.writes).chain(arguments);
        let (leads_elsewhere, changes_all) = match effects.map(|it| it.moved_links) {
            None | Some(MovedLinks::Nowhere) => (false, false),
            Some(MovedLinks::InTargets) => {
                (paths.any(is_below) || other.folders.iter().any(is_below), false)
            }
            // git goes through no link, but `cd` does.
            Some(MovedLinks::Anywhere) => {
                let is_git = other.effects.as_ref().is_some_and(|it| it.by_words.git.is_some());
                (other.folders.len() > 1 || (!is_git && paths.next().is_some()), true)
            }
        };
        let changes_program = other.program.as_ref().is_some_and(|program| {
            let mut changed = self.writes.iter().chain(written.clone());
            changes_all || changed.any(|it| program.is_changed_with(it))
        });
        leads_elsewhere || changes_program
    }

    /// What it reads, where that is known.
    pub(super) fn known_reads(&self) -> impl Iterator<Item = &PathArgument> {
        let reads = self.effects.as_ref().map_or(&[][..], |it| &it.by_words.reads);
        self.arguments.iter().filter(|argument| reads.contains(&argument.text))
    }
}

impl PermissionQuery {
    /// Follows links and analyses commands.
    pub fn resolve(tool: &str, accesses: &[ToolAccess], workspace: &Workspace) -> Self {
        let mut seen = PathLookupCache::default();
        let root = Path::new("/");
        let resolved = accesses.iter().map(|access| match access {
            ToolAccess::Read(path) => {
                ResolvedAccess::Read(workspace.resolve_cached(path, root, &mut seen))
            }
            ToolAccess::Write(path) => {
                ResolvedAccess::Write(workspace.resolve_cached(path, root, &mut seen))
            }
            ToolAccess::Run { command, cwd } => {
                ResolvedAccess::Run(Box::new(ResolvedRun::new(command, cwd, workspace, &mut seen)))
            }
            ToolAccess::External { server, tool, read_only } => ResolvedAccess::External {
                server: server.clone(),
                tool: tool.clone(),
                read_only: *read_only,
            },
            ToolAccess::Fetch { url } => ResolvedAccess::Fetch { url: url.clone() },
            ToolAccess::Nothing => ResolvedAccess::Nothing,
        });
        let around = ContentHash::of(b"");
        Self { tool: tool.to_owned(), accesses: resolved.collect(), context_hash: around }
    }

    /// In this folder, where what is started gets the environment that a hash stands for.
    pub fn within(self, cwd: &Path, environment: &ContentHash) -> Self {
        let text = format!("{cwd:?} {environment}");
        Self { context_hash: ContentHash::of(text.as_bytes()), ..self }
    }

    /// Stands for what would be touched: a change of it means that another thing would be.
    pub fn fingerprint(&self) -> ContentHash {
        let mut parts = FingerprintParts::default();
        parts.add(&self.tool);
        parts.add(self.context_hash.as_str());
        for access in &self.accesses {
            match access {
                ResolvedAccess::Read(path) => parts.add("read").add_path(path),
                ResolvedAccess::Write(path) => parts.add("write").add_path(path),
                ResolvedAccess::Run(run) => run.add_to(parts.add("run")),
                ResolvedAccess::External { server, tool, .. } => {
                    parts.add("external").add(server).add(tool)
                }
                ResolvedAccess::Fetch { url } => parts.add("fetch").add(url),
                ResolvedAccess::Nothing => parts.add("nothing"),
            };
        }
        ContentHash::of(&parts.0)
    }
}

/// What a hash is made of. Each part says how long it is, so that none reads as two.
#[derive(Default)]
struct FingerprintParts(Vec<u8>);

impl FingerprintParts {
    fn add(&mut self, part: impl AsRef<OsStr>) -> &mut Self {
        let bytes = part.as_ref().as_encoded_bytes();
        self.0.extend(bytes.len().to_le_bytes());
        self.0.extend(bytes);
        self
    }

    fn add_path(&mut self, path: &ResolvedPath) -> &mut Self {
        self.add(&path.path).add(&path.real)
    }
}

impl ResolvedRun {
    /// Whether it is known to change no file.
    pub fn only_reads(&self) -> bool {
        let reads = |(command, resolved): (&SimpleCommand, &ResolvedCommand)| {
            resolved.only_reads()
                && command.redirects.iter().all(|it| it.direction == RedirectDirection::Read)
        };
        matches!(self.analysis.kind, AnalysisKind::Static { .. })
            && self.flattened().zip(&self.commands).all(reads)
    }

    /// All commands in it, those that wrappers run behind them.
    pub(super) fn flattened(&self) -> impl Iterator<Item = &SimpleCommand> {
        self.analysis.commands.iter().flat_map(SimpleCommand::flatten)
    }

    fn new(command: &str, cwd: &Path, workspace: &Workspace, seen: &mut PathLookupCache) -> Self {
        let analysis = shell::analyse(command);
        let folder = workspace.resolve_cached(cwd, Path::new("/"), seen);
        let mut lookup = CommandPathLookup { workspace, seen, left: MAX_LOOKUPS, crowded: false };
        let mut possible = PossibleFolders::new(folder.real.clone());
        let mut commands = Vec::new();
        for outer in &analysis.commands {
            let (own, inner) = (lookup.command(outer, outer.order, &mut possible), outer.flatten());
            // What a wrapper runs begins where that was told to, and may move the shell itself.
            let mut inside = PossibleFolders::of(own.places(), own.has_unknown_folder);
            commands.push(own);
            for command in inner.into_iter().skip(1) {
                commands.push(lookup.command(command, CommandOrder::Nested, &mut inside));
            }
            if outer.inner != WrappedCommands::Nothing {
                possible.merge(&inside);
            }
        }
        let flat: Vec<&SimpleCommand> =
            analysis.commands.iter().flat_map(SimpleCommand::flatten).collect();
        // Where `cd` leads counts for what runs there.
        for at in (0..commands.len()).filter(|at| !changes_folder(flat[*at])) {
            let mut others = commands.iter().enumerate().filter(|(other, _)| *other != at);
            commands[at].has_unstable_paths =
                others.any(|(_, other)| other.can_redirect_paths_of(&commands[at]));
        }
        let named: Vec<&Path> =
            commands.iter().filter_map(|it| it.program.as_ref()?.path.parent()).collect();
        let search_path = workspace.search_path().without_project(workspace, &named);
        let crowded = lookup.crowded;
        Self {
            command: command.to_owned(),
            cwd: folder,
            analysis,
            commands,
            is_over_limit: crowded,
            search_path,
        }
    }

    /// The same for a static command and for its canonical text, which is what runs.
    fn add_to<'a>(&self, parts: &'a mut FingerprintParts) -> &'a mut FingerprintParts {
        let text = match &self.analysis.kind {
            AnalysisKind::Static { canonical } => canonical,
            AnalysisKind::NotStatic { .. } | AnalysisKind::NotAnalysable { .. } => &self.command,
        };
        parts.add(&self.cwd.real).add(text);
        for command in &self.commands {
            let arguments = command.arguments.iter().map(|argument| &argument.path);
            for path in command.reads.iter().chain(&command.writes).chain(arguments) {
                parts.add_path(path);
            }
            if let Some(program) = &command.program {
                parts.add(program.rule_name());
            }
            if command.effects.as_ref().is_some_and(|it| it.hindrance.is_none()) {
                parts.add("plain");
            }
        }
        parts
    }
}

/// A folder holds more than is looked through.
struct FolderTooLarge;

/// Looks up paths, up to a number.
struct CommandPathLookup<'a> {
    workspace: &'a Workspace,
    seen: &'a mut PathLookupCache,
    left: usize,
    crowded: bool,
}

impl CommandPathLookup<'_> {
    /// Looks a command up, and follows it to where it goes.
    fn command(
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
        let (mut folders, mut is_lost) = (outside_of.clone(), possible.has_unknown);
        if !started_in.is_empty() {
            let (further, lost) = PossibleFolders::below(&outside_of, &started_in);
            add_all(&mut folders, &further);
            is_lost |= lost;
        }
        let mut resolved = self.files(command, &folders);
        resolved.has_unknown_folder = is_lost;
        let root = Path::new("/");
        let all =
            folders.iter().map(|folder| self.workspace.resolve_cached(folder, root, self.seen));
        resolved.folders = all.collect();
        resolved.effects =
            programs::effects(command).map(|it| self.effects(it, &resolved, &folders));
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
            // What is put into a folder changes what is in it, not the folder.
            let is_into = !by_words.target_entries.is_empty()
                && is_target
                && found.iter().any(|it| it.folder);
            if is_into {
                for source in
                    by_words.target_entries.iter().filter_map(|it| Path::new(it).file_name())
                {
                    let inside = self.everywhere(&Path::new(text).join(source), folders);
                    writes.extend(inside.into_iter().map(|path| (text, path)));
                }
            } else {
                writes.extend(found.into_iter().map(|path| (text, path)));
            }
        }
        let writes = writes.into_iter();
        let writes = writes.map(|(text, path)| PathArgument { text: text.clone(), path }).collect();
        let inside = resolved.folders.iter().map(|folder| folder.real.as_path());
        let hindrance = repository::hindrance(inside, &by_words, self.workspace, self.seen);
        // A plain file brings no link.
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
        ResolvedEffects { by_words, writes, hindrance, is_too_large, moved_links }
    }

    /// What in a folder is protected where it is, or will be where it is brought to.
    fn protected_below(
        &mut self,
        from: &str,
        to: Option<&Path>,
        folders: &[PathBuf],
    ) -> Result<Option<ResolvedPath>, FolderTooLarge> {
        let mut left = MAX_LOOKUPS;
        let target = to.and_then(|to| self.everywhere(to, folders).into_iter().next());
        let target = target.map(|it| match Path::new(from).file_name() {
            Some(name) if it.folder => it.path.join(name),
            Some(_) | None => it.path,
        });
        let starts = self.everywhere(Path::new(from), folders).into_iter();
        let mut ahead: Vec<(PathBuf, Option<PathBuf>)> =
            starts.filter(|it| it.folder).map(|it| (it.path, target.clone())).collect();
        while let Some((here, there)) = ahead.pop() {
            for entry in std::fs::read_dir(&here).into_iter().flatten().flatten() {
                left = left.checked_sub(1).ok_or(FolderTooLarge)?;
                let name = entry.file_name();
                let (here, there) = (here.join(&name), there.as_ref().map(|it| it.join(&name)));
                for path in [Some(&here), there.as_ref()].into_iter().flatten() {
                    let path = self.workspace.resolve_cached(path, Path::new("/"), self.seen);
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

    /// What redirections open, and what may be a path among the words.
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
        for word in command.words.iter().skip(1) {
            let Some(text) = word.known() else {
                if let Some(path) = static_path(word, home) {
                    self.argument(&path, &word.text, folders, &mut files);
                }
                continue;
            };
            for candidate in path_candidates(text) {
                self.argument(Path::new(candidate), candidate, folders, &mut files);
                // A program may read the `~` that the shell left.
                if let Some((rest, home)) = candidate.strip_prefix("~/").zip(home) {
                    self.argument(&home.join(rest), candidate, folders, &mut files);
                }
            }
        }
        files
    }

    fn argument(
        &mut self,
        path: &Path,
        text: &str,
        folders: &[PathBuf],
        files: &mut ResolvedCommand,
    ) {
        let found = self.everywhere(path, folders);
        let arguments = found.into_iter().map(|path| PathArgument { text: text.to_owned(), path });
        files.arguments.extend(arguments);
    }

    /// The path from each folder that the command may be in.
    fn everywhere(&mut self, path: &Path, all: &[PathBuf]) -> Vec<ResolvedPath> {
        let folders = if path.is_absolute() { &all[..1] } else { all };
        let deep = path.components().count() > MAX_DEPTH;
        let look = !deep && self.left >= folders.len();
        self.crowded |= !look;
        self.left = self.left.saturating_sub(folders.len());
        let resolve = |folder: &PathBuf| match look {
            true => self.workspace.resolve_cached(path, folder, self.seen),
            false => as_written(&folder.join(path)),
        };
        folders.iter().map(resolve).collect()
    }
}

/// A path that is not looked up.
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

/// What in an argument may be a path: all of it, what follows `=`, `:`, `,` or `@`, and what is
/// glued to short options.
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
