//! A call as the decision sees it: what the call touches, with links followed and the command
//! analysed.
//!
//! Here alone the decision looks at the disk. The same call resolved twice gives queries with the
//! same fingerprint, unless what its paths lead to has changed in between.

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

/// A command that names more paths than this is over the limit: the paths beyond it are compared as
/// they are written, not looked up on the disk.
const MAX_LOOKUPS: usize = 2048;

/// A call, resolved and ready to be decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionQuery {
    pub tool: String,
    pub accesses: Vec<ResolvedAccess>,
    /// Hash of the working folder and of the environment that the call's processes get.
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
    /// Calls a tool of an external server.
    External {
        /// The server's name.
        server: String,
        /// The tool's name on that server.
        tool: String,
        /// Whether the server says that the tool changes nothing.
        read_only: bool,
    },
    /// Requests a URL.
    Fetch { url: String },
    /// Touches nothing.
    Nothing,
}

impl ResolvedAccess {
    /// The command that this access runs, if it runs one.
    pub fn run(&self) -> Option<&ResolvedRun> {
        match self {
            Self::Run(run) => Some(run),
            _ => None,
        }
    }

    /// Whether the access may change files beyond those that it names.
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
    /// The folder that the command starts in.
    pub cwd: ResolvedPath,
    pub analysis: CommandAnalysis,
    /// Each of the analysis's commands with what it wraps, flattened, in order.
    pub commands: Vec<ResolvedCommand>,
    /// Whether the command names more paths than are looked up on the disk, or a path deeper than
    /// `MAX_DEPTH`.
    pub is_over_limit: bool,
    /// The value of PATH for the command, without the project's folders except those of programs
    /// that the command itself names. `None` where PATH holds none of the project's folders.
    pub search_path: Option<OsString>,
}

/// A simple command with its paths resolved on the disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResolvedCommand {
    /// The folders that the command may run in.
    pub folders: Vec<ResolvedPath>,
    /// Whether the command may also run in folders that are not known.
    pub has_unknown_folder: bool,
    /// Whether another part of the command line may change what this command's paths lead to.
    pub has_unstable_paths: bool,
    /// The files that redirections read.
    pub reads: Vec<ResolvedPath>,
    /// The files that redirections write.
    pub writes: Vec<ResolvedPath>,
    /// Arguments that may be paths. A relative path has one entry for each folder.
    pub arguments: Vec<PathArgument>,
    /// `None` when the command can do anything.
    pub effects: Option<ResolvedEffects>,
    /// The project's own program that PATH finds under the command's name.
    pub program: Option<ProjectProgram>,
}

/// What a program of the table of plain programs does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedEffects {
    /// The effects that follow from the words alone.
    pub by_words: CommandEffects,
    /// The paths that the program changes.
    pub writes: Vec<PathArgument>,
    /// Why git does not run in these folders without a question, nor by a wildcard rule to the
    /// remote that it is given.
    pub hindrance: Option<&'static str>,
    /// Whether the program changes folders that hold more entries than are searched.
    pub is_too_large: bool,
    /// Where the program may put links; narrower than `by_words` where all that it moves is plain
    /// files.
    pub moved_links: MovedLinks,
}

/// An argument, or a part of one, that may be a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathArgument {
    /// As it stands in the command.
    pub text: String,
    /// Where the path leads.
    pub path: ResolvedPath,
}

impl ResolvedCommand {
    /// Whether the command is certain to only read. Redirections are not considered.
    pub(super) fn only_reads(&self) -> bool {
        let effects = self.effects.as_ref();
        effects.is_some_and(|it| it.by_words.is_reader && it.hindrance.is_none())
    }

    /// Whether the command changes a file that has other hard links, one of which may be protected.
    pub(super) fn changes_other_names(&self) -> bool {
        let effects = self.effects.as_ref().filter(|it| !it.by_words.is_recursive);
        let targets = effects.map_or(&[][..], |it| &it.writes).iter().map(|it| &it.path);
        self.writes.iter().chain(targets).any(|it| it.has_other_names)
    }

    /// The folders both by their names and by their real paths; a program run there works in the
    /// real one.
    fn places(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().flat_map(|folder| [folder.path.as_path(), folder.real.as_path()])
    }

    /// Why it is not certain where the command's paths lead, if it is not.
    pub(super) fn uncertainty(&self) -> Option<&'static str> {
        const LOST: &str = "It changes its folder, so it cannot be said where this file is.";
        const MOVED: &str = "Another part of the command may change what this leads to.";
        self.has_unknown_folder.then_some(LOST).or_else(|| self.has_unstable_paths.then_some(MOVED))
    }

    /// Whether this command may change what the paths of another part of the same command line lead
    /// to: by a link that it creates, or by writing into the project's own program that the other
    /// part runs.
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
            // git follows no link, but `cd` does.
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

    /// The arguments that the program is known to read.
    pub(super) fn known_reads(&self) -> impl Iterator<Item = &PathArgument> {
        let reads = self.effects.as_ref().map_or(&[][..], |it| &it.by_words.reads);
        self.arguments.iter().filter(|argument| reads.contains(&argument.text))
    }
}

impl PermissionQuery {
    /// Follows the links in the accesses' paths and analyses their commands.
    pub fn resolve(tool: &str, accesses: &[ToolAccess], workspace: &Workspace) -> Self {
        let mut cache = PathLookupCache::default();
        let root = Path::new("/");
        let resolved = accesses.iter().map(|access| match access {
            ToolAccess::Read(path) => {
                ResolvedAccess::Read(workspace.resolve_cached(path, root, &mut cache))
            }
            ToolAccess::Write(path) => {
                ResolvedAccess::Write(workspace.resolve_cached(path, root, &mut cache))
            }
            ToolAccess::Run { command, cwd } => {
                ResolvedAccess::Run(Box::new(ResolvedRun::new(command, cwd, workspace, &mut cache)))
            }
            ToolAccess::External { server, tool, read_only } => ResolvedAccess::External {
                server: server.clone(),
                tool: tool.clone(),
                read_only: *read_only,
            },
            ToolAccess::Fetch { url } => ResolvedAccess::Fetch { url: url.clone() },
            ToolAccess::Nothing => ResolvedAccess::Nothing,
        });
        let context_hash = ContentHash::of(b"");
        Self { tool: tool.to_owned(), accesses: resolved.collect(), context_hash }
    }

    /// Binds the query to a working folder and to the environment, given by its hash, that the
    /// call's processes get.
    pub fn within(self, cwd: &Path, environment: &ContentHash) -> Self {
        let text = format!("{cwd:?} {environment}");
        Self { context_hash: ContentHash::of(text.as_bytes()), ..self }
    }

    /// Hash of what the call touches. Another fingerprint means that the call would touch something
    /// else.
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

/// The bytes that a fingerprint hashes. The length stands before each part, so that two parts never
/// read as one.
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
    /// Whether the command is known to change no file.
    pub fn only_reads(&self) -> bool {
        let reads = |(command, resolved): (&SimpleCommand, &ResolvedCommand)| {
            resolved.only_reads()
                && command.redirects.iter().all(|it| it.direction == RedirectDirection::Read)
        };
        matches!(self.analysis.kind, AnalysisKind::Static { .. })
            && self.flattened().zip(&self.commands).all(reads)
    }

    /// All commands of the line, each followed by those that it wraps.
    pub(super) fn flattened(&self) -> impl Iterator<Item = &SimpleCommand> {
        self.analysis.commands.iter().flat_map(SimpleCommand::flatten)
    }

    fn new(command: &str, cwd: &Path, workspace: &Workspace, cache: &mut PathLookupCache) -> Self {
        let analysis = shell::analyse(command);
        let folder = workspace.resolve_cached(cwd, Path::new("/"), cache);
        let mut lookup =
            CommandPathLookup { workspace, cache, left: MAX_LOOKUPS, over_limit: false };
        let mut possible = PossibleFolders::new(folder.real.clone());
        let mut commands = Vec::new();
        for outer in &analysis.commands {
            let (own, inner) = (lookup.command(outer, outer.order, &mut possible), outer.flatten());
            // What a wrapper runs starts in the wrapper's folder, and may change the shell's own
            // folder.
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
        // `cd` is left out: its path counts for the commands that run in it.
        for at in (0..commands.len()).filter(|at| !changes_folder(flat[*at])) {
            let mut others = commands.iter().enumerate().filter(|(other, _)| *other != at);
            commands[at].has_unstable_paths =
                others.any(|(_, other)| other.can_redirect_paths_of(&commands[at]));
        }
        let named: Vec<&Path> =
            commands.iter().filter_map(|it| it.program.as_ref()?.path.parent()).collect();
        let search_path = workspace.search_path().without_project(workspace, &named);
        let over_limit = lookup.over_limit;
        Self {
            command: command.to_owned(),
            cwd: folder,
            analysis,
            commands,
            is_over_limit: over_limit,
            search_path,
        }
    }

    /// Adds the command to a fingerprint. A static command and its canonical text, which is what
    /// runs, add the same.
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

/// The folder holds more entries than are searched.
struct FolderTooLarge;

/// Looks up a command's paths on the disk, [`MAX_LOOKUPS`] at most.
struct CommandPathLookup<'a> {
    workspace: &'a Workspace,
    cache: &'a mut PathLookupCache,
    left: usize,
    over_limit: bool,
}

impl CommandPathLookup<'_> {
    /// Resolves one command, and follows it into the folder that it changes to.
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
        let hindrance = repository::hindrance(inside, &by_words, self.workspace, self.cache);
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
        ResolvedEffects { by_words, writes, hindrance, is_too_large, moved_links }
    }

    /// A protected place in the folder `from`, either where it is now or where it lands when `from`
    /// goes `to`.
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
        for word in command.words.iter().skip(1) {
            let Some(text) = word.known() else {
                if let Some(path) = static_path(word, home) {
                    self.argument(&path, &word.text, folders, &mut files);
                }
                continue;
            };
            for candidate in path_candidates(text) {
                self.argument(Path::new(candidate), candidate, folders, &mut files);
                // A program may expand the `~` that the shell left alone.
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
