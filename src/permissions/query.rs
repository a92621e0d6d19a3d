//! A call as the decision sees it: what it touches, with links followed and the command analysed.
//!
//! This is the decision's only look at the disk. The same call resolved twice gives queries with
//! the same fingerprint, unless what its paths lead to has changed in between.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::domain::{Access, ContentHash, clean_path};

use super::globs::{Beginning, Places, Ways};
use super::paths::{ResolvedPath, Seen, Workspace, Zone};
use super::pattern::MAX_DEPTH;
use super::readonly;
use super::shell::{self, Analysis, Direction, Kind, SimpleCommand, Word};
use super::values::{self, Carried};
use super::wrappers::base_name;

/// More paths than this are not looked up on the disk: they are compared as they are written.
const MAX_LOOKUPS: usize = 2048;
/// More entries of folders than this are not compared with patterns.
const MAX_LISTED: usize = 20_000;
/// More folders than this that a command may be in are not followed.
const MAX_FOLDERS: usize = 8;

/// A call, ready to be decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The tool's name.
    pub tool: String,
    /// What it touches.
    pub accesses: Vec<ResolvedAccess>,
    /// Stands for the folder and for the environment that what it starts gets.
    pub around: ContentHash,
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
}

/// A command with the files that can be seen in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedRun {
    /// As the model wrote it.
    pub command: String,
    /// The folder it starts in.
    pub cwd: ResolvedPath,
    /// What it is.
    pub analysis: Analysis,
    /// For each of the analysis's commands, flattened, in order.
    pub files: Vec<CommandFiles>,
    /// Whether it changes its folder in a way that cannot be followed, so that relative paths may
    /// lead elsewhere.
    pub moves: bool,
    /// Whether it names more than is looked up on the disk, or something absurdly deep.
    pub crowded: bool,
}

/// The files that can be seen in a simple command. A relative path has one entry for each folder
/// that the command may be in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandFiles {
    /// What redirections read.
    pub reads: Vec<ResolvedPath>,
    /// What redirections write.
    pub writes: Vec<ResolvedPath>,
    /// Arguments that may be paths.
    pub arguments: Vec<Argument>,
    /// What patterns fit at the moment.
    pub matches: Vec<Argument>,
}

impl CommandFiles {
    /// Everything but redirections.
    pub(super) fn named(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().chain(&self.matches)
    }
}

/// An argument, or a part of one, that may be a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// As it stands in the command.
    pub text: String,
    /// Where it would lead.
    pub path: ResolvedPath,
}

impl Query {
    /// Follows links and analyses commands.
    pub fn resolve(tool: &str, accesses: &[Access], workspace: &Workspace) -> Self {
        let mut seen = Seen::default();
        let root = Path::new("/");
        let resolved = accesses.iter().map(|access| match access {
            Access::Read(path) => {
                ResolvedAccess::Read(workspace.resolve_seen(path, root, &mut seen))
            }
            Access::Write(path) => {
                ResolvedAccess::Write(workspace.resolve_seen(path, root, &mut seen))
            }
            Access::Run { command, cwd } => {
                ResolvedAccess::Run(Box::new(ResolvedRun::new(command, cwd, workspace, &mut seen)))
            }
        });
        let around = ContentHash::of(b"");
        Self { tool: tool.to_owned(), accesses: resolved.collect(), around }
    }

    /// In this folder, where what is started gets the environment that a hash stands for.
    pub fn within(self, cwd: &Path, environment: &ContentHash) -> Self {
        let text = format!("{cwd:?} {environment}");
        Self { around: ContentHash::of(text.as_bytes()), ..self }
    }

    /// Stands for what would be touched: a change of it means that another thing would be.
    pub fn fingerprint(&self) -> ContentHash {
        let mut parts = Parts::default();
        parts.add(&self.tool);
        parts.add(self.around.as_str());
        for access in &self.accesses {
            match access {
                ResolvedAccess::Read(path) => parts.add("read").add_path(path),
                ResolvedAccess::Write(path) => parts.add("write").add_path(path),
                ResolvedAccess::Run(run) => run.add_to(parts.add("run")),
            };
        }
        ContentHash::of(&parts.0)
    }
}

/// What a hash is made of. Each part says how long it is, so that none reads as two.
#[derive(Default)]
struct Parts(Vec<u8>);

impl Parts {
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
        let reads = |command: &SimpleCommand| {
            readonly::paths_read(command).is_some()
                && command.redirects.iter().all(|it| it.direction == Direction::Read)
        };
        matches!(self.analysis.kind, Kind::Static { .. })
            && self.analysis.commands.iter().flat_map(SimpleCommand::flatten).all(reads)
    }

    fn new(command: &str, cwd: &Path, workspace: &Workspace, seen: &mut Seen) -> Self {
        let analysis = shell::analyse(command);
        let folder = workspace.resolve_seen(cwd, Path::new("/"), seen);
        let flat: Vec<&SimpleCommand> =
            analysis.commands.iter().flat_map(SimpleCommand::flatten).collect();
        let (folders, moves) = folders(&flat, &folder.real, workspace.home());
        let beginning = Beginning::of(command);
        let places = Places { folders: &folders, home: workspace.home(), left: MAX_LISTED };
        let (left, crowded) = (MAX_LOOKUPS, false);
        let carried = &analysis.carried;
        let mut lookup = Lookup { workspace, places, carried, beginning, seen, left, crowded };
        let files = flat.iter().map(|one| lookup.files(one)).collect();
        let crowded = lookup.crowded || lookup.places.left == 0;
        Self { command: command.to_owned(), cwd: folder, analysis, files, moves, crowded }
    }

    /// The same for a static command and for its canonical text, which is what runs.
    fn add_to<'a>(&self, parts: &'a mut Parts) -> &'a mut Parts {
        let text = match &self.analysis.kind {
            Kind::Static { canonical } => canonical,
            Kind::NotStatic { .. } | Kind::NotAnalysable { .. } => &self.command,
        };
        parts.add(&self.cwd.real).add(text);
        for files in &self.files {
            let arguments = files.arguments.iter().map(|argument| &argument.path);
            for path in files.reads.iter().chain(&files.writes).chain(arguments) {
                parts.add_path(path);
            }
        }
        parts
    }
}

/// Every folder that the commands may be in, and whether there may be others. A `cd` may fail, so
/// that each leads on from all folders before it.
fn folders(commands: &[&SimpleCommand], start: &Path, home: Option<&Path>) -> (Vec<PathBuf>, bool) {
    let mut folders = vec![start.to_owned()];
    let mut moves = false;
    for command in commands {
        let Some((name, arguments)) = command.words.split_first() else { continue };
        let targets: Vec<Option<PathBuf>> = match name.known().map(base_name) {
            Some("cd" | "pushd") => {
                let target = arguments.iter().find(|word| !word.text.starts_with('-'));
                let bare = arguments.is_empty().then(|| home.map(Path::to_owned)).flatten();
                vec![target.and_then(|word| spelled(word, home)).or(bare)]
            }
            Some("popd") => vec![None],
            Some(name) => started_in(name, arguments, home),
            None => Vec::new(),
        };
        for target in targets {
            let Some(target) = target else {
                moves = true;
                continue;
            };
            let from = folders.clone();
            for folder in from.iter().map(|folder| folder.join(&target)) {
                if folders.len() == MAX_FOLDERS {
                    moves = true;
                } else if !folders.contains(&folder) {
                    folders.push(folder);
                }
            }
        }
    }
    (folders, moves)
}

/// The folders that options such as `-C` make a program start in; `None` for one that is not known.
fn started_in(name: &str, arguments: &[Word], home: Option<&Path>) -> Vec<Option<PathBuf>> {
    let takes = matches!(
        name,
        "bsdtar"
            | "cargo"
            | "cmake"
            | "env"
            | "git"
            | "gmake"
            | "go"
            | "make"
            | "meson"
            | "ninja"
            | "npm"
            | "pnpm"
            | "sudo"
            | "tar"
            | "yarn"
    );
    if !takes {
        return Vec::new();
    }
    let mut folders = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let text = word.text.as_str();
        let glued = ["--chdir=", "--directory=", "--cwd=", "--prefix="]
            .iter()
            .find_map(|option| text.strip_prefix(option))
            .or_else(|| text.strip_prefix("-C").filter(|folder| !folder.is_empty()));
        if let Some(folder) = glued {
            let word = Word { text: folder.to_owned(), kind: word.kind };
            folders.push(spelled(&word, home));
        } else if matches!(text, "-C" | "-D" | "--chdir" | "--directory" | "--cwd" | "--prefix") {
            folders.push(arguments.get(at + 1).and_then(|word| spelled(word, home)));
        }
    }
    folders
}

/// The path that a word is: its text, or what it says where only the home folder or the working
/// folder in it is an expansion. Good enough to refuse by, or to ask.
fn spelled(word: &Word, home: Option<&Path>) -> Option<PathBuf> {
    let text = match word.known() {
        Some(text) => return Some(PathBuf::from(text)),
        None => word.text.replace(['"', '\'', '\\'], ""),
    };
    let starts = [("~", true), ("$HOME", true), ("${HOME}", true)].into_iter().chain([
        ("~+", false),
        ("$PWD", false),
        ("${PWD}", false),
    ]);
    for (start, at_home) in starts {
        let Some(rest) =
            text.strip_prefix(start).filter(|rest| rest.is_empty() || rest.starts_with('/'))
        else {
            continue;
        };
        let rest = Path::new(rest.trim_start_matches('/'));
        let fixed = !has_expansion(&rest.to_string_lossy());
        return match at_home {
            true => home.filter(|_| fixed).map(|home| home.join(rest)),
            false => fixed.then(|| rest.to_owned()),
        };
    }
    None
}

fn has_expansion(text: &str) -> bool {
    text.contains(['$', '`', '*', '?', '[', '{', '(', '<', '>', '~'])
}

/// The components at the end of a dynamic word that stand there as they are: `.slug/x` of
/// `$DIR/.slug/x`. What is above them is not known.
fn known_end(word: &Word) -> Option<PathBuf> {
    let text = word.text.replace(['"', '\'', '\\'], "");
    let parts: Vec<&str> = text.split('/').collect();
    let known = parts.iter().rev().take_while(|part| !has_expansion(part)).count();
    let end = parts[parts.len() - known..].join("/");
    (!end.is_empty() && known < parts.len()).then(|| PathBuf::from(end))
}

/// Looks up paths, up to a number.
struct Lookup<'a> {
    workspace: &'a Workspace,
    places: Places<'a>,
    /// What a word that is not known may be.
    carried: &'a [Carried],
    beginning: Beginning,
    seen: &'a mut Seen,
    left: usize,
    crowded: bool,
}

impl Lookup<'_> {
    fn files(&mut self, command: &SimpleCommand) -> CommandFiles {
        let home = self.workspace.home();
        let mut files = CommandFiles::default();
        for redirect in &command.redirects {
            let Some(path) = spelled(&redirect.target, home) else {
                // Where it leads is not known, but what takes orders has the same name everywhere.
                let mut unclear = CommandFiles::default();
                self.unclear(&redirect.target, &mut unclear);
                let named: Vec<ResolvedPath> =
                    unclear.named().map(|argument| argument.path.clone()).collect();
                match redirect.direction {
                    Direction::Read => files.reads.extend(protected(named)),
                    Direction::Write => files.writes.extend(protected(named)),
                }
                files.arguments.extend(unclear.arguments);
                files.matches.extend(unclear.matches);
                self.carried(&redirect.target, &mut files);
                continue;
            };
            let found = self.everywhere(&path);
            match redirect.direction {
                Direction::Read => files.reads.extend(found),
                Direction::Write => files.writes.extend(found),
            }
        }
        for word in command.words.iter().skip(1) {
            match word.known() {
                Some(text) => {
                    for candidate in path_candidates(text) {
                        self.argument(Path::new(candidate), candidate, &mut files);
                        // A program may read the `~` that the shell left.
                        if let Some((rest, home)) = candidate.strip_prefix("~/").zip(home) {
                            self.argument(&home.join(rest), candidate, &mut files);
                        }
                    }
                }
                None => {
                    self.unclear(word, &mut files);
                    self.carried(word, &mut files);
                }
            }
        }
        files
    }

    /// What a word may name that is known only when it runs.
    fn unclear(&mut self, word: &Word, files: &mut CommandFiles) {
        let home = self.places.home;
        let ways = Ways::read(&word.text, self.beginning);
        let own = spelled(word, home).or_else(|| known_end(word));
        if let Some(path) = own {
            self.argument(&path, &word.text, files);
        }
        for text in ways.meant().into_iter().chain(ways.spelled()) {
            let word = Word::dynamic(text);
            let plain = || (!has_expansion(&word.text)).then(|| PathBuf::from(&word.text));
            let path = spelled(&word, home).or_else(|| known_end(&word)).or_else(plain);
            if let Some(path) = path {
                self.argument(&path, &word.text, files);
            }
        }
        for path in ways.listed(&mut self.places) {
            let path = self.workspace.resolve_seen(&path, Path::new("/"), self.seen);
            files.matches.push(Argument { text: word.text.clone(), path });
        }
    }

    /// What variables hold, where a word has one in it.
    fn carried(&mut self, word: &Word, files: &mut CommandFiles) {
        if word.known().is_some() || !word.text.contains('$') {
            return;
        }
        for Carried { word, .. } in self.carried {
            for candidate in path_candidates(&word.text) {
                self.argument(Path::new(candidate), candidate, files);
            }
        }
        let (texts, is_crowded) = values::texts(&word.text, self.carried);
        self.crowded |= is_crowded;
        for text in texts {
            match has_expansion(&text) {
                true => self.unclear(&Word::dynamic(text), files),
                false => {
                    for candidate in path_candidates(&text) {
                        self.argument(Path::new(candidate), candidate, files);
                    }
                }
            }
        }
    }

    fn argument(&mut self, path: &Path, text: &str, files: &mut CommandFiles) {
        let found = self.everywhere(path);
        let arguments = found.into_iter().map(|path| Argument { text: text.to_owned(), path });
        files.arguments.extend(arguments);
    }

    /// The path from each folder that the command may be in.
    fn everywhere(&mut self, path: &Path) -> Vec<ResolvedPath> {
        let all = self.places.folders;
        let folders = if path.is_absolute() { &all[..1] } else { all };
        let deep = path.components().count() > MAX_DEPTH;
        let look = !deep && self.left >= folders.len();
        self.crowded |= !look;
        self.left = self.left.saturating_sub(folders.len());
        let resolve = |folder: &PathBuf| match look {
            true => self.workspace.resolve_seen(path, folder, self.seen),
            false => as_written(&folder.join(path)),
        };
        folders.iter().map(resolve).collect()
    }
}

fn protected(paths: Vec<ResolvedPath>) -> impl Iterator<Item = ResolvedPath> {
    paths.into_iter().filter(|path| path.protected.is_some())
}

/// A path that is not looked up.
fn as_written(path: &Path) -> ResolvedPath {
    let path = clean_path(path);
    ResolvedPath {
        real: path.clone(),
        path,
        zone: Zone::Outside,
        protected: None,
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
