//! Instructions that hold for a part of a project: rules with `paths`, and the instruction files of
//! folders below the one that slug works in. They are sent once work touches what they are about.
//!
//! Folders of others' code (`node_modules` and the like) and hidden ones are passed over.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::rules::{self, ScopedRuleFile};
use super::{
    InstructionLevel, InstructionPlace, InstructionReader, InstructionScope, MAIN_FILES, MAX_BYTES,
    includes,
};
use crate::disk::read_text;

/// Folders whose instructions are not meant for work on this project.
const FOREIGN_FOLDERS: [&str; 4] = ["node_modules", "target", "vendor", "site-packages"];
/// How far below the project's folder a file counts.
const MAX_DEPTH: usize = 6;
/// The most folders that [`nested_instruction_files`] looks into.
const MAX_FOLDERS: usize = 2000;
/// The most rules of a folder that are looked at each time.
const MAX_RULES: usize = 500;
/// The most characters that one file brings along.
const MAX_CHARACTERS: usize = 10_000;

/// What a file for a part of the project says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NestedInstructions {
    /// The file, by its path in the project.
    pub file: String,
    /// Its text with what it includes, below a line that says where it is from and for what it holds.
    pub text: String,
    pub warnings: Vec<String>,
}

impl InstructionScope<'_> {
    /// What holds for these paths and not for the whole project, the outermost first.
    pub fn nested(&self, touched: &[PathBuf]) -> Vec<NestedInstructions> {
        let Some(root) = self.project.first() else { return Vec::new() };
        let mut found = Vec::new();
        let mut folders: Vec<PathBuf> = Vec::new();
        for path in touched {
            for folder in self.folders_to(path, root) {
                if !folders.contains(&folder) {
                    folders.push(folder);
                }
            }
        }
        for folder in &folders {
            let main = MAIN_FILES.iter().map(|name| folder.join(name));
            let Some(path) = main.into_iter().find(|path| fs::symlink_metadata(path).is_ok())
            else {
                continue;
            };
            let part = includes::shown(folder, root);
            found.extend(self.note(&path, root, None, &format!("for work in {part}/")));
        }
        for folder in self.project {
            let below: Vec<&Path> =
                touched.iter().filter_map(|path| path.strip_prefix(folder).ok()).collect();
            if below.is_empty() {
                continue;
            }
            for path in rules::rule_files(folder).into_iter().take(MAX_RULES) {
                let Ok(Some(text)) = read_text(&path, MAX_BYTES) else { continue };
                let rule = ScopedRuleFile::read(&text);
                if below.iter().any(|path| rule.holds_for(path)) {
                    let part = format!("for files like {}", rule.told());
                    found.extend(self.note(&path, root, Some(&rule.body), &part));
                }
            }
        }
        found
    }

    /// The folders between the project's own and a path, outermost first.
    fn folders_to(&self, path: &Path, root: &Path) -> Vec<PathBuf> {
        let Ok(below) = path.strip_prefix(root) else { return Vec::new() };
        let mut folders = Vec::new();
        let mut folder = root.to_owned();
        for part in below.components().take(MAX_DEPTH) {
            let Component::Normal(name) = part else { break };
            if is_foreign(&name.to_string_lossy()) {
                break;
            }
            folder.push(name);
            if !folder.is_dir() {
                break;
            }
            if !self.project.contains(&folder) {
                folders.push(folder.clone());
            }
        }
        folders
    }

    fn note(
        &self,
        path: &Path,
        root: &Path,
        body: Option<&str>,
        part: &str,
    ) -> Option<NestedInstructions> {
        if (self.hides)(path) {
            return None;
        }
        let place = InstructionPlace { level: InstructionLevel::Project, folder: root };
        let mut reader = InstructionReader::new(self);
        let text = reader.text_of(path, place);
        if let Some(text) = &text {
            let body = body.unwrap_or(text);
            reader.section("", path, place, body, text.len());
        }
        let found = reader.finish();
        let file = includes::shown(path, root);
        let mut text = format!("Instructions of {file}, {part}:\n\n{}", found.text.trim());
        if found.text.is_empty() {
            if found.warnings.is_empty() {
                return None;
            }
            text.clear();
        }
        if let Some((end, _)) = text.char_indices().nth(MAX_CHARACTERS) {
            text.truncate(end);
            text.push_str("\n[slug cut this text here: read the file if the rest matters.]");
        }
        Some(NestedInstructions { file, text, warnings: found.warnings })
    }
}

/// The instruction files of folders below `folder`, by their paths in it.
pub fn nested_instruction_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![(folder.to_owned(), 0)];
    let mut looked = 0;
    while let Some((parent, depth)) = open.pop() {
        looked += 1;
        if looked > MAX_FOLDERS {
            break;
        }
        if depth > 0 {
            let mut names = MAIN_FILES.iter().map(|name| parent.join(name));
            found.extend(names.find(|path| path.is_file()));
        }
        let entries = fs::read_dir(&parent).into_iter().flatten().flatten();
        let folders = entries.filter(|it| it.file_type().is_ok_and(|kind| kind.is_dir()));
        let ours = folders.filter(|it| !is_foreign(&it.file_name().to_string_lossy()));
        if depth < MAX_DEPTH {
            open.extend(ours.map(|it| (it.path(), depth + 1)));
        }
    }
    let mut found: Vec<PathBuf> =
        found.iter().filter_map(|path| Some(path.strip_prefix(folder).ok()?.to_owned())).collect();
    found.sort();
    found
}

fn is_foreign(name: &str) -> bool {
    name.starts_with('.') || FOREIGN_FOLDERS.contains(&name)
}
