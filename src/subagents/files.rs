//! Finds and reads the files that define agents: slug's own, Claude Code's, opencode's and Codex's.
//!
//! The files of a project are read only where the user trusts the folder; the question about trust shows
//! those that [`project_agent_files`] lists, and no others are read.

use std::path::{Path, PathBuf};

use crate::disk::read_text;
use crate::domain::strip_invisible;

use super::definition::{SubagentType, SubagentTypes};
use super::{codex_file, markdown_file};

/// The most bytes of a file.
const MAX_BYTES: u64 = 256 * 1024;
/// The most files of a folder that are read, and how deep they may lie.
const MAX_FILES: usize = 200;
const MAX_DEPTH: usize = 4;
/// The most characters of a name and of a description.
const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 400;

/// Where files lie, what ends their names, and whether the name of a file names its agent.
const FOLDERS: [(&str, &str, bool); 5] = [
    (".slug/agents", "md", true),
    (".claude/agents", "md", false),
    (".opencode/agents", "md", true),
    (".opencode/agent", "md", true),
    (".codex/agents", "toml", false),
];

/// The same in the user's home folder, but for those in slug's own.
const HOME_FOLDERS: [(&str, &str, bool); 4] = [
    (".claude/agents", "md", false),
    (".config/opencode/agents", "md", true),
    (".config/opencode/agent", "md", true),
    (".codex/agents", "toml", false),
];

/// Why a file defines no agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SkippedFile {
    /// It is not meant to define one.
    Document,
    /// It is wrong; a part of a sentence about it.
    Broken(String),
}

/// The folders in which agents may be defined.
#[derive(Debug, Clone)]
pub struct SubagentPlaces {
    /// slug's own folder.
    pub slug_home: PathBuf,
    pub user_home: Option<PathBuf>,
    /// The working folder; `None` unless the user trusts it.
    pub project: Option<PathBuf>,
}

impl SubagentPlaces {
    /// All folders from which types are taken, whether they are there or not.
    #[cfg(test)]
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        let below = |top: &PathBuf, folders: &[(&str, &str, bool)]| -> Vec<PathBuf> {
            folders.iter().map(|(folder, ..)| top.join(folder)).collect()
        };
        let of_home = self.user_home.iter().flat_map(|home| below(home, &HOME_FOLDERS));
        let of_project = self.project.iter().flat_map(|folder| below(folder, &FOLDERS));
        of_home.chain(of_project).chain([self.slug_home.join("agents")]).collect()
    }
}

/// What there is to start.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundSubagents {
    pub types: SubagentTypes,
    /// What is wrong with files, as sentences.
    pub warnings: Vec<String>,
}

/// Reads all files that define agents. Those of the project stand above those of the user, and these
/// above slug's own types.
pub fn read_subagents(places: &SubagentPlaces) -> FoundSubagents {
    let mut files: Vec<(PathBuf, bool)> = Vec::new();
    if let Some(project) = &places.project {
        let named = project_agent_files(project).into_iter();
        files.extend(named.map(|path| (project.join(&path), names_agent(&path))));
    }
    list(&places.slug_home.join("agents"), "md", 0, &mut |path| files.push((path, true)));
    if let Some(home) = &places.user_home {
        for (folder, extension, is_named) in HOME_FOLDERS {
            list(&home.join(folder), extension, 0, &mut |path| files.push((path, is_named)));
        }
    }
    let (mut types, mut warnings) = (Vec::new(), Vec::new());
    for (path, is_named) in files {
        match read_file(&path, is_named) {
            Ok((kind, doubts)) => {
                types.push(kind);
                warnings.extend(doubts.iter().map(|it| format!("In {}: {it}.", path.display())));
            }
            Err(SkippedFile::Document) => {}
            Err(SkippedFile::Broken(why)) => {
                warnings.push(format!("The agent in {} is left out: {why}.", path.display()));
            }
        }
    }
    FoundSubagents { types: SubagentTypes::with(types), warnings }
}

/// The files of a project that define agents, relative to its folder, in the order in which they count.
/// A link that leads out of the project is none: it could have any file of the user's sent.
pub fn project_agent_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(real) = folder.canonicalize() else { return Vec::new() };
    let is_inside = |path: &Path| path.canonicalize().is_ok_and(|path| path.starts_with(&real));
    let mut found = Vec::new();
    for (place, extension, _) in FOLDERS {
        list(&folder.join(place), extension, 0, &mut |path| {
            if is_inside(&path) {
                found.extend(path.strip_prefix(folder).map(Path::to_owned));
            }
        });
    }
    found
}

/// What the question about trust says of a file.
pub fn summary_line(path: &Path, text: &str) -> String {
    match read_text_as(path, text, names_agent(path)) {
        Ok((kind, _)) => {
            let tools = match (&kind.tools.only, kind.is_read_only) {
                (_, true) => "reads only".to_owned(),
                (Some(only), false) if only.is_empty() => "no tools".to_owned(),
                (Some(only), false) => only.join(", "),
                (None, false) => "all tools".to_owned(),
            };
            let model = kind.model.map(|model| format!(", with {model}")).unwrap_or_default();
            format!("agent {} ({tools}{model}): {}", kind.name, kind.description)
        }
        Err(SkippedFile::Document) => "defines no agent".to_owned(),
        Err(SkippedFile::Broken(why)) => format!("not readable: {why}"),
    }
}

fn names_agent(path: &Path) -> bool {
    FOLDERS.iter().any(|(folder, _, is_named)| *is_named && path.starts_with(folder))
}

/// A type, and what slug cannot hold of it as it is written.
type ReadSubagent = (SubagentType, Vec<String>);

fn read_file(path: &Path, is_named: bool) -> Result<ReadSubagent, SkippedFile> {
    let text =
        read_text(path, MAX_BYTES).map_err(|error| SkippedFile::Broken(error.to_string()))?;
    let text = text.ok_or(SkippedFile::Document)?;
    let (kind, warnings) = read_text_as(path, &text, is_named)?;
    Ok((SubagentType { file: Some(path.to_owned()), ..kind }, warnings))
}

fn read_text_as(path: &Path, text: &str, is_named: bool) -> Result<ReadSubagent, SkippedFile> {
    let text = strip_invisible(text).text;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let (mut kind, warnings) = match path.extension().is_some_and(|it| it == "toml") {
        true => (codex_file::read(&text)?, Vec::new()),
        false => markdown_file::read(&text, stem.as_deref().filter(|_| is_named))?,
    };
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/' | ' ');
    if kind.name.chars().count() > MAX_NAME || !kind.name.chars().all(is_plain) {
        return Err(SkippedFile::Broken(
            "its `name` is over 64 characters, or has characters other than letters, digits, \
             spaces and - _ . : /"
                .to_owned(),
        ));
    }
    let description = kind.description.split_whitespace().collect::<Vec<_>>().join(" ");
    kind.description = description.chars().take(MAX_DESCRIPTION).collect();
    Ok((kind, warnings))
}

/// The files below a folder, in the order of their names.
fn list(folder: &Path, extension: &str, depth: usize, take: &mut dyn FnMut(PathBuf)) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.flatten().take(MAX_FILES).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        // A link to a folder is not followed: it may lead in a circle.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if depth < MAX_DEPTH {
                list(&path, extension, depth + 1, take);
            }
        } else if path.extension().is_some_and(|it| it == extension) {
            take(path);
        }
    }
}
