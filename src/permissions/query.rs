//! A call as the decision sees it: what it touches, with links followed and the command analysed.
//!
//! This is the decision's only look at the disk. The same call resolved twice gives queries with
//! the same fingerprint, unless what its paths lead to has changed in between.

use std::path::{Path, PathBuf};

use crate::domain::{Access, ContentHash};

use super::paths::{ResolvedPath, Workspace};
use super::shell::{self, Analysis, Direction, Kind, SimpleCommand, Word};

/// More arguments than this are not looked up on the disk.
const MAX_ARGUMENTS: usize = 512;

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
        let root = Path::new("/");
        let resolved = accesses.iter().map(|access| match access {
            Access::Read(path) => ResolvedAccess::Read(workspace.resolve(path, root)),
            Access::Write(path) => ResolvedAccess::Write(workspace.resolve(path, root)),
            Access::Run { command, cwd } => {
                ResolvedAccess::Run(Box::new(ResolvedRun::new(command, cwd, workspace)))
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
        let mut text = format!("{} {}", self.tool, self.around);
        for access in &self.accesses {
            let line = match access {
                ResolvedAccess::Read(path) => format!("read {:?} {:?}", path.path, path.real),
                ResolvedAccess::Write(path) => format!("write {:?} {:?}", path.path, path.real),
                ResolvedAccess::Run(run) => run.fingerprint(),
            };
            text.push('\0');
            text.push_str(&line);
        }
        ContentHash::of(text.as_bytes())
    }
}

impl ResolvedRun {
    fn new(command: &str, cwd: &Path, workspace: &Workspace) -> Self {
        let analysis = shell::analyse(command);
        let folder = workspace.resolve(cwd, Path::new("/"));
        let flat: Vec<&SimpleCommand> =
            analysis.commands.iter().flat_map(SimpleCommand::flatten).collect();
        let (folders, moves) = folders(&flat, &folder.real);
        let mut budget = MAX_ARGUMENTS;
        let files = flat.iter().map(|one| files(one, &folders, workspace, &mut budget)).collect();
        Self { command: command.to_owned(), cwd: folder, analysis, files, moves }
    }

    /// The same for a static command and for its canonical text, which is what runs.
    fn fingerprint(&self) -> String {
        let text = match &self.analysis.kind {
            Kind::Static { canonical } => canonical,
            Kind::NotStatic { .. } | Kind::NotAnalysable { .. } => &self.command,
        };
        let mut line = format!("run {:?} {text}", self.cwd.real);
        for files in &self.files {
            let arguments = files.arguments.iter().map(|argument| &argument.path);
            for path in files.reads.iter().chain(&files.writes).chain(arguments) {
                line.push_str(&format!("\n{:?} {:?}", path.path, path.real));
            }
        }
        line
    }
}

/// Every folder that the commands may be in, and whether there may be others.
fn folders(commands: &[&SimpleCommand], start: &Path) -> (Vec<PathBuf>, bool) {
    let mut folders = vec![start.to_owned()];
    let mut here = start.to_owned();
    let mut moves = false;
    for command in commands {
        let name = command.words.first().and_then(Word::known);
        let flags_move = command.words.iter().any(|word| {
            matches!(word.text.as_str(), "-C" | "--chdir") || word.text.starts_with("--chdir=")
        });
        match name {
            Some("cd" | "pushd") => {
                let target = command.words[1..].iter().find(|word| !word.text.starts_with('-'));
                match target.and_then(Word::known) {
                    Some(target) => {
                        here.push(target);
                        folders.push(here.clone());
                    }
                    None => moves = true,
                }
            }
            Some("popd") => moves = true,
            Some("env" | "sudo" | "make" | "git" | "tar") if flags_move => moves = true,
            Some(_) | None => {}
        }
    }
    if folders.len() > 4 {
        folders.truncate(4);
        moves = true;
    }
    (folders, moves)
}

fn files(
    command: &SimpleCommand,
    folders: &[PathBuf],
    workspace: &Workspace,
    budget: &mut usize,
) -> CommandFiles {
    let everywhere = |text: &str| -> Vec<ResolvedPath> {
        let path = match (text.strip_prefix("~/"), workspace.home()) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(text),
        };
        let folders = if path.is_absolute() { &folders[..1] } else { folders };
        folders.iter().map(|folder| workspace.resolve(&path, folder)).collect()
    };
    let mut files = CommandFiles::default();
    for redirect in &command.redirects {
        // `~/x` is dynamic, and still says where it leads.
        let text = match redirect.target.known() {
            Some(text) => text,
            None if redirect.target.text.starts_with("~/") => redirect.target.text.as_str(),
            None => continue,
        };
        match redirect.direction {
            Direction::Read => files.reads.extend(everywhere(text)),
            Direction::Write => files.writes.extend(everywhere(text)),
        }
    }
    for word in command.words.iter().skip(1) {
        let text = match word.known() {
            Some(text) => text,
            None if word.text.starts_with("~/") => word.text.as_str(),
            None => continue,
        };
        for candidate in path_candidates(text) {
            if *budget == 0 {
                return files;
            }
            *budget -= 1;
            let text = candidate.to_owned();
            let found = everywhere(candidate).into_iter();
            files.arguments.extend(found.map(|path| Argument { text: text.clone(), path }));
        }
    }
    files
}

/// What in an argument may be a path: all of it, what follows `=` or `:`, and what is glued to a
/// short option.
fn path_candidates(text: &str) -> Vec<&str> {
    let mut candidates = Vec::new();
    match text.strip_prefix('-') {
        Some(option) if !option.starts_with('-') => {
            let mut letters = option.chars();
            letters.next();
            candidates.push(letters.as_str());
        }
        Some(_) => {}
        None => candidates.push(text),
    }
    candidates.extend(text.split_once('=').map(|(_, value)| value));
    candidates.extend(text.split_once(':').map(|(_, path)| path));
    candidates.retain(|candidate| !candidate.is_empty());
    candidates
}
