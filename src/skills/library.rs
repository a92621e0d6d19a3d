//! All skills and commands of a session: who is called by a name, who hides whom, and the list for the
//! model.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::frontmatter::PromptFileProblem;
use super::places::PromptPlaces;
use super::prompt_file::{PromptFile, PromptFileKind, PromptFileOrigin};
use super::shipped::shipped_skills;
use crate::domain::sanitize::sanitize_line;

/// What stands before a name that is meant to be a skill's, or a command's, whatever else has it.
const SKILL_PREFIX: &str = "skill:";
const COMMAND_PREFIX: &str = "command:";

/// The skills and commands of a session, what comes first first: the user's own, then the project's,
/// then those that are part of slug; of each, skills before commands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromptLibrary {
    files: Vec<Arc<PromptFile>>,
    refused: Vec<(PathBuf, Vec<PromptFileProblem>)>,
    reserved: Vec<String>,
    user_home: Option<PathBuf>,
}

/// What a front end shows of a library.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PromptLibraryReport {
    pub rows: Vec<PromptFileRow>,
    /// What is wrong with files that are not loaded: path, line and reason.
    pub refused: Vec<String>,
}

/// A skill or command as a front end shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PromptFileRow {
    pub name: String,
    pub is_skill: bool,
    /// What is typed to call it, without the slash; `None` where another one hides it, or only the
    /// model may load it.
    pub command: Option<String>,
    pub description: String,
    pub argument_hint: Option<String>,
    /// Whose it is, as a phrase: "yours", "this project", "slug itself".
    pub origin: String,
    /// The file as it is shown, `~` for the home folder; empty for one that is part of slug.
    pub path: String,
    pub tokens: u64,
    /// Whether the model is told of it.
    pub is_listed: bool,
    /// What has its name instead, as a phrase.
    pub hidden_by: Option<String>,
    /// The rules that it wants allowed for its turn.
    pub allowed_tools: Vec<String>,
    /// Path, line and what is wrong.
    pub warnings: Vec<String>,
}

impl PromptLibrary {
    /// Reads all places. Takes a few milliseconds, so not on the tasks of a screen.
    pub fn read(places: &PromptPlaces) -> Self {
        let found = places.read();
        let mut files: Vec<PromptFile> = found.files;
        files.extend(shipped_skills());
        // A stable sort: within a group the order of the places stays.
        files.sort_by_key(|file| (file.origin, !is_skill(file)));
        Self {
            files: files.into_iter().map(Arc::new).collect(),
            refused: found.refused,
            reserved: places.reserved.clone(),
            user_home: places.user_home.clone(),
        }
    }

    /// All files, what comes first first.
    pub fn files(&self) -> impl Iterator<Item = &Arc<PromptFile>> {
        self.files.iter()
    }

    /// The skill of this name that comes first, as the model asks for one.
    pub fn skill(&self, name: &str) -> Option<&Arc<PromptFile>> {
        let name = name.trim().trim_start_matches('/');
        let name = name.strip_prefix(SKILL_PREFIX).unwrap_or(name);
        let skills = || self.files.iter().filter(|file| is_skill(file));
        skills()
            .find(|file| file.name == name)
            .or_else(|| skills().find(|file| file.name.eq_ignore_ascii_case(name)))
    }

    /// What a message calls that begins with `/name`, and what follows the name.
    pub fn called<'a>(&self, message: &'a str) -> Option<(&Arc<PromptFile>, &'a str)> {
        let line = message.strip_prefix('/')?;
        let (name, typed) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        Some((self.by_command(name)?, typed.trim()))
    }

    fn by_command(&self, name: &str) -> Option<&Arc<PromptFile>> {
        let of_user = self.files.iter().filter(|file| file.is_for_user);
        if self.reserved.iter().any(|reserved| reserved == name) {
            return None;
        }
        // First, or a command in a folder `skill` would take the name that is meant for a skill.
        let meant = [(SKILL_PREFIX, true), (COMMAND_PREFIX, false)].into_iter();
        let mut meant =
            meant.filter_map(|(prefix, skill)| Some((name.strip_prefix(prefix)?, skill)));
        meant
            .find_map(|(name, skill)| {
                of_user.clone().find(|file| is_skill(file) == skill && file.name == name)
            })
            .or_else(|| of_user.clone().find(|file| file.name == name))
    }

    /// What is typed to call a file, without the slash; `None` where nothing leads to it.
    fn command_of(&self, file: &Arc<PromptFile>) -> Option<String> {
        let prefix = if is_skill(file) { SKILL_PREFIX } else { COMMAND_PREFIX };
        let names = [file.name.clone(), format!("{prefix}{}", file.name)];
        names.into_iter().find(|name| self.by_command(name).is_some_and(|it| Arc::ptr_eq(it, file)))
    }

    /// The skills that the model is told of.
    fn listed(&self) -> impl Iterator<Item = &Arc<PromptFile>> {
        let is_first = |file: &&Arc<PromptFile>| {
            self.skill(&file.name).is_some_and(|first| Arc::ptr_eq(first, file))
        };
        self.files
            .iter()
            .filter(|file| file.is_for_model && file.origin != PromptFileOrigin::Shipped)
            .filter(is_first)
    }

    /// The list of skills for the system text, in at most `budget` bytes; empty where there is none. The
    /// same files and budget give the same bytes.
    pub fn listing(&self, budget: usize, how_to_load: &str) -> String {
        let listed: Vec<&Arc<PromptFile>> = self.listed().collect();
        if listed.is_empty() {
            return String::new();
        }
        let head = format!(
            "# Skills\n\nInstructions for some tasks. When a task fits one, load it before you begin: \
             {how_to_load}. A description says only when a skill fits.\n\n"
        );
        let rows = |most: usize| -> String {
            listed.iter().map(|file| row(&file.name, &file.description, most)).collect()
        };
        let room = budget.saturating_sub(head.len());
        let longest = listed.iter().map(|file| file.description.len()).max().unwrap_or_default();
        let mut most = longest;
        let mut text = rows(most);
        while text.len() > room && most > 0 {
            // Descriptions lose their ends together; under 40 bytes they say nothing.
            most = if most > 40 { (most * 3 / 4).max(40) } else { 0 };
            text = rows(most);
        }
        if text.len() > room {
            let mut shown = String::new();
            let mut count = 0;
            for file in &listed {
                let row = row(&file.name, "", 0);
                if shown.len() + row.len() + 60 > room {
                    break;
                }
                shown.push_str(&row);
                count += 1;
            }
            let more = listed.len() - count;
            text = format!("{shown}- and {more} more, which the user knows by /skills\n");
        }
        format!("{head}{}", text.trim_end())
    }

    /// What a front end shows.
    pub fn report(&self) -> PromptLibraryReport {
        let mut first: HashMap<&str, &Arc<PromptFile>> = HashMap::new();
        let mut rows = Vec::with_capacity(self.files.len());
        let listed: Vec<*const PromptFile> = self.listed().map(Arc::as_ptr).collect();
        for file in &self.files {
            let holder = *first.entry(file.name.as_str()).or_insert(file);
            let hidden_by = if self.reserved.contains(&file.name) {
                Some("a command of slug's own".to_owned())
            } else if Arc::ptr_eq(holder, file) {
                None
            } else {
                Some(self.shown_source(holder))
            };
            rows.push(PromptFileRow {
                name: file.name.clone(),
                is_skill: is_skill(file),
                command: self.command_of(file),
                description: file.description.clone(),
                argument_hint: file.argument_hint.clone(),
                origin: origin(file.origin).to_owned(),
                path: self.shown_path(file),
                tokens: file.tokens(),
                is_listed: listed.contains(&Arc::as_ptr(file)),
                hidden_by,
                allowed_tools: file.allowed_tools.clone(),
                warnings: self.warnings(&file.path, &file.problems),
            });
        }
        let refused = self.refused.iter();
        let refused = refused.flat_map(|(path, problems)| self.warnings(path, problems)).collect();
        PromptLibraryReport { rows, refused }
    }

    /// What is wrong with files, as far as it keeps one from doing what its author meant: path, line and
    /// reason, those that are not loaded first.
    pub fn faults(&self) -> Vec<String> {
        let refused = self.refused.iter().map(|(path, problems)| (path, problems));
        let loaded = self.files.iter().map(|file| (&file.path, &file.problems));
        let faults = refused.chain(loaded).flat_map(|(path, problems)| {
            let real: Vec<PromptFileProblem> =
                problems.iter().filter(|problem| !problem.is_advice).cloned().collect();
            self.warnings(path, &real)
        });
        faults.collect()
    }

    fn warnings(&self, path: &Path, problems: &[PromptFileProblem]) -> Vec<String> {
        let path = self.tilde(path);
        problems
            .iter()
            .map(|problem| format!("{path}:{}: {}", problem.line, problem.text))
            .collect()
    }

    /// Where a file is, as the user reads it.
    pub fn shown_path(&self, file: &PromptFile) -> String {
        match file.origin {
            PromptFileOrigin::Shipped => String::new(),
            PromptFileOrigin::User | PromptFileOrigin::Project => self.tilde(&file.path),
        }
    }

    /// What a file is and where it is from, as a phrase: "the skill ~/.slug/skills/x/SKILL.md".
    pub fn shown_source(&self, file: &PromptFile) -> String {
        let what = if is_skill(file) { "the skill" } else { "the command" };
        match file.origin {
            PromptFileOrigin::Shipped => format!("{what} of slug itself"),
            PromptFileOrigin::User | PromptFileOrigin::Project => {
                format!("{what} {}", self.shown_path(file))
            }
        }
    }

    fn tilde(&self, path: &Path) -> String {
        let home = self.user_home.as_deref().and_then(|home| path.strip_prefix(home).ok());
        let text = home
            .map_or_else(|| path.display().to_string(), |below| format!("~/{}", below.display()));
        sanitize_line(&text)
    }
}

impl PromptLibraryReport {
    /// All warnings, those of files that are not loaded first.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        let of_rows = self.rows.iter().flat_map(|row| &row.warnings);
        self.refused.iter().chain(of_rows).map(String::as_str)
    }
}

fn is_skill(file: &PromptFile) -> bool {
    file.kind == PromptFileKind::Skill
}

fn origin(origin: PromptFileOrigin) -> &'static str {
    match origin {
        PromptFileOrigin::User => "yours",
        PromptFileOrigin::Project => "this project",
        PromptFileOrigin::Shipped => "slug itself",
    }
}

fn row(name: &str, description: &str, most: usize) -> String {
    let mut end = most.min(description.len());
    while !description.is_char_boundary(end) {
        end -= 1;
    }
    match end {
        0 => format!("- {name}\n"),
        end if end == description.len() => format!("- {name}: {description}\n"),
        end => format!("- {name}: {}…\n", description[..end].trim_end()),
    }
}
