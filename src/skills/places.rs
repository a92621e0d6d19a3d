//! Where skills and commands are looked for, and what is found there.
//!
//! Reading is bounded in depth, folders and bytes. Of a project, only what really lies in it is read: a
//! link that leads out of it is passed over, or a project could have any file of the user's sent.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::frontmatter::PromptFileProblem;
use super::prompt_file::{PromptDialect, PromptFile, PromptFileOrigin, PromptFileSeed};
use crate::disk::read_text;
use crate::domain::sanitize::sanitize_line;
use crate::domain::strip_invisible;

/// How far below its place a file is found.
const MAX_DEPTH: usize = 5;
/// The most folders that are looked into, of all places together.
const MAX_FOLDERS: usize = 2000;
/// The most files of one folder.
const MAX_ENTRIES: usize = 2000;
/// A larger file is not read.
const MAX_BYTES: u64 = 256 << 10;

const SKILL_FILE: &str = "SKILL.md";

/// The folders that a session looks into.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptPlaces {
    /// The user's home folder.
    pub user_home: Option<PathBuf>,
    /// slug's own folder.
    pub slug_home: PathBuf,
    /// The project's folders, the nearest last; empty without trust.
    pub project: Vec<PathBuf>,
    /// Names that are slug's own commands, which no file takes.
    pub reserved: Vec<String>,
}

/// What one look into the places has found, what comes first first.
#[derive(Debug, Default)]
pub(super) struct FoundPromptFiles {
    pub(super) files: Vec<PromptFile>,
    /// Files that are not loaded, each with the reasons.
    pub(super) refused: Vec<(PathBuf, Vec<PromptFileProblem>)>,
}

#[derive(Debug, Clone, Copy)]
enum PlaceKind {
    Skills,
    Markdown(PromptDialect),
    /// Only the files in the folder itself.
    FlatMarkdown(PromptDialect),
    Toml,
}

struct PromptPlace {
    folder: PathBuf,
    kind: PlaceKind,
    origin: PromptFileOrigin,
    /// What links must not lead out of.
    inside: Option<PathBuf>,
}

use PlaceKind::{FlatMarkdown, Markdown, Skills, Toml};
use PromptDialect::{FromOne, FromZero};

/// Below the folder of a project, in the order of precedence.
const OF_PROJECT: [(&str, PlaceKind); 8] = [
    (".slug/skills", Skills),
    (".agents/skills", Skills),
    (".claude/skills", Skills),
    (".slug/commands", Markdown(FromOne)),
    (".claude/commands", Markdown(FromZero)),
    (".opencode/command", Markdown(FromOne)),
    (".opencode/commands", Markdown(FromOne)),
    (".gemini/commands", Toml),
];

/// Below the user's home folder, behind slug's own.
const OF_HOME: [(&str, PlaceKind); 7] = [
    (".agents/skills", Skills),
    (".claude/skills", Skills),
    (".claude/commands", Markdown(FromZero)),
    (".config/opencode/command", Markdown(FromOne)),
    (".config/opencode/commands", Markdown(FromOne)),
    (".codex/prompts", FlatMarkdown(FromOne)),
    (".gemini/commands", Toml),
];

impl PromptPlaces {
    fn all(&self) -> Vec<PromptPlace> {
        let user = |folder: PathBuf, kind| PromptPlace {
            folder,
            kind,
            origin: PromptFileOrigin::User,
            inside: None,
        };
        let home = self.user_home.as_deref();
        let mut places: Vec<PromptPlace> = vec![user(self.slug_home.join("skills"), Skills)];
        let of_home = |(below, kind): &(&str, PlaceKind)| Some(user(home?.join(below), *kind));
        let (skills, commands): (Vec<_>, Vec<_>) =
            OF_HOME.iter().partition(|(_, kind)| matches!(kind, Skills));
        places.extend(skills.into_iter().filter_map(of_home));
        places.push(user(self.slug_home.join("commands"), Markdown(FromOne)));
        places.extend(commands.into_iter().filter_map(of_home));
        places.extend(self.project.iter().rev().flat_map(|folder| of_project(folder)));
        places
    }

    /// All folders from which skills and commands are taken, whether they are there or not.
    #[cfg(test)]
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        self.all().into_iter().map(|place| place.folder).collect()
    }

    /// The user's folders that hold skills, by their real paths: what is in them is read without a
    /// question.
    pub fn readable(&self) -> Vec<PathBuf> {
        let places = self.all().into_iter();
        let of_user = places
            .filter(|place| place.origin == PromptFileOrigin::User && matches!(place.kind, Skills));
        of_user.filter_map(|place| place.folder.canonicalize().ok()).collect()
    }

    pub(super) fn read(&self) -> FoundPromptFiles {
        let mut walk = PromptFileWalk::default();
        for place in self.all() {
            walk.place(&place);
        }
        walk.found
    }
}

fn of_project(folder: &Path) -> impl Iterator<Item = PromptPlace> + '_ {
    OF_PROJECT.iter().map(|(below, kind)| PromptPlace {
        folder: folder.join(below),
        kind: *kind,
        origin: PromptFileOrigin::Project,
        inside: folder.canonicalize().ok(),
    })
}

/// The skills and commands that a project's folder has of its own, for the question about trust.
pub fn project_prompt_files(folder: &Path) -> Vec<PromptFile> {
    let mut walk = PromptFileWalk::default();
    for place in of_project(folder) {
        walk.place(&place);
    }
    walk.found.files
}

/// The most files beside a skill that are named.
const MAX_RESOURCES: usize = 40;

/// The files beside the `SKILL.md` of a folder, relative to it, and whether there are more.
pub fn skill_resources(folder: &Path) -> (Vec<String>, bool) {
    let mut names = Vec::new();
    let has_all = add_resources(folder, folder, 0, &mut names);
    (names, !has_all)
}

/// Adds the files of a folder, in order; `false` once there is no room for another.
fn add_resources(top: &Path, folder: &Path, depth: usize, names: &mut Vec<String>) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return true };
    let mut paths: Vec<PathBuf> =
        entries.filter_map(Result::ok).take(MAX_ENTRIES).map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().all(|path| {
        let Ok(name) = path.strip_prefix(top) else { return true };
        let name = sanitize_line(&strip_invisible(&name.to_string_lossy()).text);
        // A link to a folder could lead in a circle.
        let is_folder = path.symlink_metadata().is_ok_and(|it| it.is_dir());
        if name.starts_with('.') || name == SKILL_FILE {
            return true;
        }
        if is_folder {
            return depth == 2 || add_resources(top, &path, depth + 1, names);
        }
        let has_room = names.len() < MAX_RESOURCES;
        if has_room {
            names.push(name);
        }
        has_room
    })
}

#[derive(Default)]
struct PromptFileWalk {
    found: FoundPromptFiles,
    /// The real paths of files that were found: a folder can be reached by several links.
    known: HashSet<PathBuf>,
    folders: usize,
}

impl PromptFileWalk {
    fn place(&mut self, place: &PromptPlace) {
        self.folder(place, &place.folder, &mut Vec::new());
    }

    fn folder(&mut self, place: &PromptPlace, folder: &Path, names: &mut Vec<String>) {
        if self.folders == MAX_FOLDERS || names.len() == MAX_DEPTH {
            return;
        }
        if let Some(inside) = &place.inside
            && !folder.canonicalize().is_ok_and(|real| real.starts_with(inside))
        {
            return;
        }
        let Ok(entries) = fs::read_dir(folder) else { return };
        self.folders += 1;
        if matches!(place.kind, Skills) && !names.is_empty() {
            let file = folder.join(SKILL_FILE);
            if file.symlink_metadata().is_ok() {
                return self.file(place, &file, names.last().map_or("", String::as_str));
            }
        }
        let mut entries: Vec<(String, PathBuf)> = entries
            .filter_map(Result::ok)
            .take(MAX_ENTRIES)
            .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
            .filter(|(name, _)| !name.starts_with('.') && name != "node_modules")
            .collect();
        entries.sort();
        for (name, path) in entries {
            if path.is_dir() {
                if !matches!(place.kind, FlatMarkdown(_)) {
                    names.push(name);
                    self.folder(place, &path, names);
                    names.pop();
                }
                continue;
            }
            let extension = match place.kind {
                Skills => continue,
                Markdown(_) | FlatMarkdown(_) => ".md",
                Toml => ".toml",
            };
            if let Some(stem) = name.strip_suffix(extension) {
                let parts = names.iter().map(String::as_str).chain([stem]);
                self.file(place, &path, &parts.collect::<Vec<_>>().join(":"));
            }
        }
    }

    fn file(&mut self, place: &PromptPlace, path: &Path, place_name: &str) {
        let Ok(real) = path.canonicalize() else { return };
        let is_outside = place.inside.as_ref().is_some_and(|inside| !real.starts_with(inside));
        if is_outside {
            let text =
                "it links outside the project and is not loaded: copy it into the project instead";
            self.found.refused.push((path.to_owned(), vec![PromptFileProblem::new(1, text)]));
            return;
        }
        if !self.known.insert(real) {
            return;
        }
        let refuse = |text: String| vec![PromptFileProblem::new(1, text)];
        let text = match read_text(path, MAX_BYTES + 1) {
            Ok(Some(text)) if text.len() as u64 > MAX_BYTES => {
                Err(refuse("it is over 256 KB and is not loaded".to_owned()))
            }
            Ok(Some(text)) => Ok(text),
            Ok(None) => return,
            Err(error) => Err(refuse(format!("it {error}, and is not loaded"))),
        };
        let seed = PromptFileSeed { path, origin: place.origin, place_name };
        let read = text.and_then(|text| match place.kind {
            Skills => PromptFile::skill(&seed, &text),
            Markdown(dialect) | FlatMarkdown(dialect) => {
                Ok(PromptFile::command(&seed, &text, dialect))
            }
            Toml => PromptFile::toml_command(&seed, &text),
        });
        match read {
            Ok(file) => self.found.files.push(file),
            Err(problems) => self.found.refused.push((path.to_owned(), problems)),
        }
    }
}
