//! What `/memory` shows of the instruction files: each with its level and size, whether it goes out, and
//! why it does not. Reading only; [`remember`](super::remember) adds a line.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::nested::nested_instruction_files;
use super::{InstructionLevel, InstructionScope, LoadedInstructions, MAIN_FILES, includes, rules};

/// Bytes in a token; a good estimate for English and code.
const BYTES_PER_TOKEN: u64 = 4;

/// All instruction files as a front end shows them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InstructionReport {
    /// In the order in which they are sent, each followed by what it includes.
    pub files: Vec<InstructionRow>,
    /// What is wrong with files, as sentences.
    pub warnings: Vec<String>,
    /// Where a line can be added, the project's first.
    pub places: Vec<RememberPlace>,
    /// Whether the project's files are read: the user trusts the folder.
    pub is_trusted: bool,
}

/// An instruction file as a front end shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InstructionRow {
    pub path: PathBuf,
    pub group: InstructionGroup,
    /// About how many tokens it has.
    pub tokens: u64,
    pub state: InstructionState,
    /// How many files include one another down to this one; 0 for one that stands by itself.
    pub depth: usize,
}

/// The heading that a file stands under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum InstructionGroup {
    /// The user's own, for all projects.
    User,
    Project,
    Rules,
    /// The user's own for this project.
    Local,
    /// Files of folders below.
    Part,
}

/// Whether a file goes to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum InstructionState {
    /// With every message.
    Sent,
    /// It went out as a note, since work has touched what it is about.
    SentAsNote,
    /// Not yet: it is about a part of the project. Holds when it goes out, as a phrase.
    ForAPart(String),
    /// Not, with the reason as a phrase that follows "It is".
    NotSent(String),
    /// The file does not exist; an editor would make it.
    Missing,
}

/// A file that a line can be added to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RememberPlace {
    pub level: RememberLevel,
    pub path: PathBuf,
    /// Whether the file has to be made.
    pub is_new: bool,
}

/// Whose instructions get a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RememberLevel {
    /// All who work on the project.
    Project,
    /// The user, in all projects.
    User,
}

impl InstructionScope<'_> {
    /// What there is now. `noted` has the paths in the project of files that went out as notes.
    pub fn report(&self, noted: &BTreeSet<String>) -> InstructionReport {
        let found = self.read();
        let mut files = self.sent_from_start(&found);
        let is_noted = |path: &Path| {
            let root = self.project.first();
            root.is_some_and(|root| noted.contains(&includes::shown(path, root)))
        };
        for file in &found.unread {
            let group = group_of(&file.path, file.level);
            let state = match (is_noted(&file.path), file.is_for_a_part) {
                (true, _) => InstructionState::SentAsNote,
                (false, true) => InstructionState::ForAPart(file.reason.clone()),
                (false, false) => InstructionState::NotSent(file.reason.clone()),
            };
            files.push(row(&file.path, group, state));
        }
        for root in self.project.iter().take(1) {
            for path in nested_instruction_files(root) {
                let (path, folder) = (root.join(&path), path.parent().map(Path::to_owned));
                if files.iter().any(|file| file.path == path) || (self.hides)(&path) {
                    continue;
                }
                let folder = includes::shown(&folder.unwrap_or_default(), root);
                let state = match is_noted(&path) {
                    true => InstructionState::SentAsNote,
                    false => {
                        InstructionState::ForAPart(format!("sent once work touches {folder}/"))
                    }
                };
                files.push(row(&path, InstructionGroup::Part, state));
            }
        }
        self.add_missing(&mut files);
        files.sort_by_key(|file| file.group);
        InstructionReport {
            files,
            warnings: found.warnings,
            places: self.remember_places(),
            is_trusted: !self.project.is_empty(),
        }
    }

    /// The files that a line can be added to: at each level the one that is read there.
    pub fn remember_places(&self) -> Vec<RememberPlace> {
        let project = self.project.first().map(|root| (RememberLevel::Project, root.as_path()));
        let places = project.into_iter().chain([(RememberLevel::User, self.home)]);
        let place = |(level, folder): (RememberLevel, &Path)| {
            let path = main_file(folder);
            let is_new = fs::symlink_metadata(&path).is_err();
            RememberPlace { level, path, is_new }
        };
        places.map(place).collect()
    }

    fn sent_from_start(&self, found: &LoadedInstructions) -> Vec<InstructionRow> {
        let mut files: Vec<InstructionRow> = Vec::new();
        for file in &found.files {
            let parent = file.included_by.as_ref();
            let parent = parent.and_then(|by| files.iter().find(|it| it.path == *by));
            let group = parent.map_or(group_of(&file.path, file.level), |parent| parent.group);
            let state = if file.sent.is_empty() {
                let reason = "left out: all files together are over 40,000 characters";
                InstructionState::NotSent(reason.to_owned())
            } else {
                InstructionState::Sent
            };
            files.push(InstructionRow {
                path: file.path.clone(),
                group,
                tokens: tokens(file.bytes as u64),
                state,
                depth: parent.map_or(0, |parent| parent.depth + 1),
            });
        }
        files
    }

    /// Where a level has no file that is read, the one that could be.
    fn add_missing(&self, files: &mut Vec<InstructionRow>) {
        let user = [(InstructionGroup::User, self.home)];
        let root = self.project.first().map(|root| (InstructionGroup::Project, root.as_path()));
        for (group, folder) in user.into_iter().chain(root) {
            let path = main_file(folder);
            if files.iter().any(|file| file.path == path) {
                continue;
            }
            let state = match fs::symlink_metadata(&path) {
                Ok(_) => InstructionState::NotSent("empty, or cannot be read".to_owned()),
                Err(_) => InstructionState::Missing,
            };
            files.insert(0, row(&path, group, state));
        }
    }
}

/// The file that is read of a folder, or would be.
pub(super) fn main_file(folder: &Path) -> PathBuf {
    let mut names = MAIN_FILES.iter().map(|name| folder.join(name));
    let found = names.find(|path| fs::symlink_metadata(path).is_ok());
    found.unwrap_or_else(|| folder.join(MAIN_FILES[0]))
}

fn row(path: &Path, group: InstructionGroup, state: InstructionState) -> InstructionRow {
    let bytes = fs::metadata(path).map_or(0, |metadata| metadata.len());
    InstructionRow { path: path.to_owned(), group, tokens: tokens(bytes), state, depth: 0 }
}

fn group_of(path: &Path, level: InstructionLevel) -> InstructionGroup {
    match level {
        InstructionLevel::User => InstructionGroup::User,
        InstructionLevel::Local => InstructionGroup::Local,
        InstructionLevel::Project if rules::is_rule(path) => InstructionGroup::Rules,
        InstructionLevel::Project => InstructionGroup::Project,
    }
}

fn tokens(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
