//! A call as the decision sees it: what the call touches, with links followed and the command
//! analysed.
//!
//! Here alone the decision looks at the disk. The same call resolved twice gives queries with the
//! same fingerprint, unless what its paths lead to has changed in between.

mod path_lookup;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::domain::{CommandPace, ContentHash, ToolAccess};

use super::folders::{PossibleFolders, changes_folder};
use super::paths::{PathLookupCache, ResolvedPath, Workspace};
use super::places::ProtectionReason;
use super::programs::{self, CommandEffects, MovedLinks};
use super::search_path::ProjectProgram;
use super::shell::{
    self, AnalysisKind, CommandAnalysis, CommandObstacle, CommandOrder, RedirectDirection,
    SimpleCommand, WrappedCommands,
};
use path_lookup::{CommandPathLookup, MAX_LOOKUPS};

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
    /// Types something into the terminal of a job: what it is as a command, and as the user reads it.
    Type(Box<ResolvedRun>, String),
    /// Calls a tool of an external server.
    External {
        /// The name that rules have for what is used.
        rule_name: String,
        /// The server's name.
        server: String,
        /// The tool's name on that server, or what else of it is used.
        tool: String,
        /// Whether the server says that the tool changes nothing.
        read_only: bool,
        /// Hash of the tool's definition.
        definition: ContentHash,
    },
    /// Requests a URL.
    Fetch { url: String },
    /// Asks a search engine.
    Search { query: String },
    /// Asks the user something.
    AskUser,
    /// Touches nothing.
    Nothing,
}

impl ResolvedAccess {
    /// The command that this access runs, if it runs one.
    pub fn run(&self) -> Option<&ResolvedRun> {
        match self {
            Self::Run(run) => Some(run),
            Self::Read(_)
            | Self::Write(_)
            | Self::External { .. }
            | Self::Fetch { .. }
            | Self::Search { .. }
            | Self::Type(..)
            | Self::AskUser
            | Self::Nothing => None,
        }
    }

    /// Whether the access may change files beyond those that it names.
    pub fn may_change_files(&self) -> bool {
        match self {
            Self::Run(run) => !run.only_reads(),
            Self::Type(..) => true,
            Self::External { read_only, .. } => !read_only,
            Self::Read(_)
            | Self::Write(_)
            | Self::Fetch { .. }
            | Self::Search { .. }
            | Self::AskUser
            | Self::Nothing => false,
        }
    }
}

impl PermissionQuery {
    /// Why the call's command cannot be analysed, if it cannot.
    pub fn unreadable_command(&self) -> Option<&CommandObstacle> {
        let mut runs = self.accesses.iter().filter_map(ResolvedAccess::run);
        runs.find_map(|run| match &run.analysis.kind {
            AnalysisKind::NotAnalysable { why } => Some(why),
            AnalysisKind::Static { .. } | AnalysisKind::NotStatic { .. } => None,
        })
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
    /// The paths that stand in the parts of the command that did not parse.
    pub rough_paths: Vec<PathArgument>,
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
    /// Why the paths of this command, or those of later calls, may lead elsewhere than they do now,
    /// if they may.
    pub path_doubt: Option<&'static str>,
    /// The files that redirections read.
    pub reads: Vec<ResolvedPath>,
    /// The files that redirections write.
    pub writes: Vec<ResolvedPath>,
    /// Arguments that may be paths. A relative path has one entry for each folder.
    pub arguments: Vec<PathArgument>,
    /// Where the folders lead in front of a pattern or braces, which the shell looks through. An approval
    /// is bound to them.
    pub pattern_folders: Vec<ResolvedPath>,
    /// `None` when the command can do anything.
    pub effects: Option<ResolvedEffects>,
    /// What the program would change of what slug always asks about, if it does what its name and options
    /// usually mean, and the shell puts the home folder that slug knows in the place of `~` and `$HOME`.
    /// Only where its effects are not known for certain.
    pub usual_change: Option<ProtectionReason>,
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
    /// Why no wildcard rule covers git there.
    pub beyond_rules: Option<&'static str>,
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
    /// Whether something exists there, or a program could make it: not where even the first folder of
    /// the path is missing.
    pub can_be_made: bool,
}

impl PathArgument {
    fn new(text: &str, path: ResolvedPath, can_be_made: bool) -> Self {
        Self { text: text.to_owned(), path, can_be_made }
    }
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
        const LOST: &str = "Changes its folder, so slug cannot tell where this file is.";
        self.has_unknown_folder.then_some(LOST).or(self.path_doubt)
    }

    /// Why a command in the background is not judged by what its paths lead to now, if it is not.
    /// Only a redirection, a folder and a program that nothing delays are opened before a later call can
    /// run. `start` is the folder in which the whole line begins.
    fn background_doubt(&self, is_delayed: bool, start: &Path) -> Option<&'static str> {
        const LATER: &str =
            "Runs in the background and may change what other commands' paths lead to.";
        const LATE: &str =
            "Runs in the background, where its paths may lead elsewhere before it opens them.";
        let has_redirects = !self.reads.is_empty() || !self.writes.is_empty();
        let changes = self.effects.as_ref().is_some_and(|it| !it.writes.is_empty());
        let works_elsewhere = self.folders.iter().any(|folder| folder.real != start);
        let names_paths =
            self.effects.is_none() && self.arguments.iter().any(|it| it.text.contains('/'));
        let opens_late = changes
            || self.known_reads().next().is_some()
            || is_delayed
                && (has_redirects || works_elsewhere || names_paths || self.program.is_some());
        self.moves_links().then_some(LATER).or(opens_late.then_some(LATE))
    }

    /// The paths that the program itself changes.
    fn changed(&self) -> impl Iterator<Item = &ResolvedPath> + Clone {
        self.effects.as_ref().map_or(&[][..], |it| &it.writes).iter().map(|it| &it.path)
    }

    /// Whether this command may put a link where the paths of another part of the command line lead,
    /// or something else into a folder that the other part moves.
    fn can_redirect_paths_of(&self, other: &Self) -> bool {
        let is_below = |path: &ResolvedPath| {
            let mut tops = self.changed();
            tops.any(|top| path.path.starts_with(&top.path) || path.real.starts_with(&top.real))
        };
        let arguments = other.known_reads().map(|it| &it.path).chain(other.changed());
        let mut paths = other.reads.iter().chain(&other.writes).chain(arguments);
        let leads_elsewhere = match self.effects.as_ref().map(|it| it.moved_links) {
            None | Some(MovedLinks::Nowhere) => false,
            Some(MovedLinks::InTargets) => {
                paths.any(is_below) || other.folders.iter().any(is_below)
            }
            // git follows no link, but `cd` does.
            Some(MovedLinks::Anywhere) => {
                let is_git = other.effects.as_ref().is_some_and(|it| it.by_words.git.is_some());
                let is_unknown = other.effects.is_none();
                let names_paths = paths.next().is_some()
                    || (is_unknown && other.arguments.iter().any(|it| it.text.contains('/')));
                other.folders.len() > 1 || (!is_git && names_paths)
            }
        };
        let mut sources = other.moved_folders();
        let made = self.writes.iter().chain(self.changed());
        leads_elsewhere
            || sources.any(|from| made.clone().any(|it| it.path.starts_with(&from.path)))
    }

    /// Whether this command may change the project's own program that another part runs.
    fn can_change_program_of(&self, other: &Self) -> bool {
        other.program.as_ref().is_some_and(|program| {
            let mut changed = self.writes.iter().chain(self.changed());
            self.moves_links_anywhere() || changed.any(|it| program.is_changed_with(it))
        })
    }

    /// What the command moves, where that is more than plain files.
    pub(super) fn moved_folders(&self) -> impl Iterator<Item = &ResolvedPath> {
        let effects = self.effects.iter().filter(|it| it.moved_links == MovedLinks::InTargets);
        effects.flat_map(|it| {
            let is_source = |path: &&PathArgument| it.by_words.target_entries.contains(&path.text);
            it.writes.iter().filter(is_source).map(|it| &it.path)
        })
    }

    /// Whether this command may put links anywhere in the working tree.
    fn moves_links_anywhere(&self) -> bool {
        self.effects.as_ref().is_some_and(|it| it.moved_links == MovedLinks::Anywhere)
    }

    /// Whether this command may put links somewhere.
    fn moves_links(&self) -> bool {
        self.effects.as_ref().is_some_and(|it| it.moved_links != MovedLinks::Nowhere)
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
            ToolAccess::Run { command, cwd, pace } => {
                let run = ResolvedRun::new(command, cwd, *pace, workspace, &mut cache);
                ResolvedAccess::Run(Box::new(run))
            }
            ToolAccess::Type { text, shown, cwd } => {
                let pace = CommandPace::Background;
                let run = ResolvedRun::new(text, cwd, pace, workspace, &mut cache);
                ResolvedAccess::Type(Box::new(run), shown.clone())
            }
            ToolAccess::External { server, tool, rule_name, read_only, definition } => {
                ResolvedAccess::External {
                    server: server.clone(),
                    tool: tool.clone(),
                    rule_name: rule_name.clone(),
                    read_only: *read_only,
                    definition: definition.clone(),
                }
            }
            ToolAccess::Fetch { url } => ResolvedAccess::Fetch { url: url.clone() },
            ToolAccess::Search { query } => ResolvedAccess::Search { query: query.clone() },
            ToolAccess::AskUser => ResolvedAccess::AskUser,
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
                ResolvedAccess::Type(run, shown) => run.add_to(parts.add("type").add(shown)),
                ResolvedAccess::External { server, tool, definition, .. } => {
                    parts.add("external").add(server).add(tool).add(definition.as_str())
                }
                ResolvedAccess::Fetch { url } => parts.add("fetch").add(url),
                ResolvedAccess::Search { query } => parts.add("search").add(query),
                ResolvedAccess::AskUser => parts.add("ask"),
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

    /// Whether a part of the line may put links where the paths of other commands lead.
    pub fn moves_links(&self) -> bool {
        let mut all = self.commands.iter().filter_map(|it| it.effects.as_ref());
        all.any(|it| it.by_words.moved_links != MovedLinks::Nowhere)
    }

    /// Whether a part of the line opens what its words name, so that it was judged by where that leads.
    pub fn opens_named_paths(&self) -> bool {
        self.commands.iter().any(|it| {
            let git = it.effects.as_ref().is_some_and(|it| it.by_words.git.is_some());
            let changes = it.effects.as_ref().is_some_and(|it| !it.writes.is_empty());
            let redirects = !it.reads.is_empty() || !it.writes.is_empty();
            git || changes || redirects || it.known_reads().next().is_some() || it.program.is_some()
        })
    }

    /// All commands of the line, each followed by those that it wraps.
    pub(super) fn flattened(&self) -> impl Iterator<Item = &SimpleCommand> {
        self.analysis.commands.iter().flat_map(SimpleCommand::flatten)
    }

    fn new(
        command: &str,
        cwd: &Path,
        pace: CommandPace,
        workspace: &Workspace,
        cache: &mut PathLookupCache,
    ) -> Self {
        let analysis = shell::analyse_in(command, workspace.plain_scratch());
        let folder = workspace.resolve_cached(cwd, Path::new("/"), cache);
        let changes =
            |it: &&SimpleCommand| programs::effects(it).is_none_or(|effects| !effects.is_reader);
        let all = analysis.commands.iter().flat_map(SimpleCommand::flatten);
        let several_change = all.filter(changes).count() > 1;
        let mut lookup = CommandPathLookup {
            workspace,
            cache,
            left: MAX_LOOKUPS,
            over_limit: false,
            several_change,
        };
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
        // The outermost command knows its pipeline, and whether the shell waits for it.
        let outer: Vec<&SimpleCommand> =
            analysis.commands.iter().flat_map(|it| vec![it; it.flatten().len()]).collect();
        // All of a job goes on beside later calls, as what stands before `&`.
        let is_job = pace == CommandPace::Background;
        let waits_for = |at: usize, other: usize| {
            outer[other].pipeline != outer[at].pipeline && !changes_folder(flat[other])
        };
        let is_delayed =
            |at: usize| outer[at].is_delayed || is_job && (0..at).any(|other| waits_for(at, other));
        let has_background = is_job || outer.iter().any(|it| it.is_background);
        let movers: Vec<usize> =
            (0..commands.len()).filter(|at| commands[*at].moves_links_anywhere()).collect();
        let may_run_before = |other: usize, at: usize| {
            let is_beside = outer[other].pipeline == outer[at].pipeline;
            other < at || is_beside || has_background || analysis.is_compound
        };
        // Where a command that may put links anywhere runs before a `cd`, or beside it, the folder
        // may be another.
        let may_lead_elsewhere = |cd| movers.iter().any(|mover| may_run_before(*mover, cd));
        const MOVED: &str = "Another part of the command may change what this leads to.";
        let mut folder_may_be_moved = false;
        for at in 0..commands.len() {
            // `cd` is left out: its path counts for the commands that run in it.
            if changes_folder(flat[at]) {
                folder_may_be_moved |= may_lead_elsewhere(at) || is_delayed(at);
                continue;
            }
            let command = &commands[at];
            let mut others = commands.iter().enumerate().filter(|(other, _)| *other != at);
            let is_moved = folder_may_be_moved
                || commands.iter().any(|it| it.can_change_program_of(command))
                || others.any(|(other, it)| {
                    may_run_before(other, at) && it.can_redirect_paths_of(command)
                });
            let goes_on = is_job || outer[at].is_background;
            let in_background = || commands[at].background_doubt(is_delayed(at), &folder.real);
            commands[at].path_doubt =
                is_moved.then_some(MOVED).or_else(|| goes_on.then(in_background).flatten());
        }
        let named: Vec<&Path> =
            commands.iter().filter_map(|it| it.program.as_ref()?.path.parent()).collect();
        let search_path = workspace.search_path().without_project(workspace, &named);
        let over_limit = lookup.over_limit;
        let rough_paths = lookup.rough(&analysis.rough, &folder.real);
        Self {
            command: command.to_owned(),
            cwd: folder,
            analysis,
            commands,
            rough_paths,
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
            let paths = command.reads.iter().chain(&command.writes).chain(arguments);
            for path in paths.chain(&command.pattern_folders) {
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
