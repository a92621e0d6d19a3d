//! Instruction files: what the user and the project want the model to know.
//!
//! They are read from disk each time the user sends a message, and never stored. The same files
//! give the same bytes; without files nothing is sent. They are only text: whatever they say,
//! permissions stay as they are.
//!
//! Of a project, the root of the git repository and the working folder are read, in this order. In
//! each folder SLUG.md is read, else AGENTS.md, else CLAUDE.md; then the rules of `.slug/rules` and
//! `.claude/rules`. What holds only for some files or folders is read when work touches them: see
//! [`nested`].
//!
//! A file includes others with `@path`. These lie in the same project, and no link leads to them; the
//! user's own file includes only what is in slug's folder.

mod includes;
mod nested;
mod remember;
mod report;
mod rules;

use std::collections::HashSet;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::repository_root;
use crate::disk::read_text;
use crate::domain::sanitize::sanitize_line;
use crate::domain::{clean_path, strip_invisible};

pub use nested::{NestedInstructions, nested_instruction_files};
pub use remember::{RememberError, remembered_line, with_line};
pub use report::{
    InstructionGroup, InstructionReport, InstructionRow, InstructionState, RememberLevel,
    RememberPlace,
};
use rules::ScopedRuleFile;

/// The most characters that are sent of all files together. Where they are cut, a line about it
/// follows.
pub const MAX_CHARACTERS: usize = 40_000;

/// The text of all instruction files, with warnings about them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadedInstructions {
    /// The text of all files below their headings; empty when there is none.
    pub text: String,
    /// Warnings for the user, as sentences. Each read gives them again, so show each only once.
    pub warnings: Vec<String>,
    /// The files that the text is made of, in order.
    pub files: Vec<InstructionFile>,
    /// Files that are there and are no part of the text.
    pub unread: Vec<UnreadInstructionFile>,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionFile {
    pub path: PathBuf,
    pub level: InstructionLevel,
    /// The size of its text in bytes, before the limit cuts anything.
    pub bytes: usize,
    /// Which file includes it.
    pub included_by: Option<PathBuf>,
    /// Where it stands in the text that is sent, with its heading; empty where it was cut off.
    pub sent: Range<usize>,
}

/// A file that is there and is not sent from the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadInstructionFile {
    pub path: PathBuf,
    pub level: InstructionLevel,
    /// Why, as a phrase.
    pub reason: String,
    /// Whether it is sent once work touches the files that it is about.
    pub is_for_a_part: bool,
}

/// Whose an instruction file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstructionLevel {
    /// In slug's home folder, for all projects.
    User,
    /// In the project, for all who work on it.
    Project,
    /// In the project, and only the user's.
    Local,
}

/// Which instruction files apply.
#[derive(Clone, Copy)]
pub struct InstructionScope<'a> {
    /// slug's home folder.
    pub home: &'a Path,
    /// The project's folders, outermost first; none for an untrusted project.
    pub project: &'a [PathBuf],
    /// Whether a rule denies reading a file, which no file then includes.
    pub hides: &'a dyn Fn(&Path) -> bool,
}

impl InstructionScope<'_> {
    /// Reads the files that hold from the start.
    pub fn read(&self) -> LoadedInstructions {
        let mut reader = InstructionReader::new(self);
        let user = InstructionPlace { level: InstructionLevel::User, folder: self.home };
        reader.main_file("# Global Rules", self.home, user);
        let Some(root) = self.project.first() else { return reader.finish() };
        let of_project = InstructionPlace { level: InstructionLevel::Project, folder: root };
        for folder in self.project {
            reader.main_file("# Project Rules", folder, of_project);
        }
        for folder in self.project {
            reader.rules(folder, of_project);
        }
        let local = InstructionPlace { level: InstructionLevel::Local, folder: root };
        for folder in self.project {
            reader.file("# Local Notes (private)", &folder.join("SLUG.local.md"), local);
        }
        reader.finish()
    }
}

/// The folders whose instructions apply to work in `cwd`, once it is trusted: the root of its
/// repository, if that is another folder of the same owner, and `cwd` itself. A home folder that is
/// a repository does not count as a project.
pub fn project_folders(cwd: &Path, user_home: Option<&Path>) -> Vec<PathBuf> {
    let owner = |path: &Path| fs::metadata(path).ok().map(|it| it.uid());
    let root = repository_root(cwd).filter(|root| {
        root != cwd
            && Some(root.as_path()) != user_home
            && root.parent().is_some()
            && owner(root) == owner(cwd)
    });
    root.into_iter().chain([cwd.to_owned()]).collect()
}

/// Where a file stands.
#[derive(Clone, Copy)]
struct InstructionPlace<'a> {
    level: InstructionLevel,
    /// What it includes is in here. A project's own file is, too, whatever links there are, or a project
    /// could have any file of the user's sent.
    folder: &'a Path,
}

struct InstructionReader<'a> {
    scope: &'a InstructionScope<'a>,
    text: String,
    sections: Vec<InstructionSection>,
    found: LoadedInstructions,
    /// What was looked at: each file is read once.
    seen: HashSet<PathBuf>,
    /// The files that include the one that is read, from the outermost on.
    including: Vec<PathBuf>,
    /// How many files were included.
    included: usize,
}

struct InstructionSection {
    heading: String,
    /// Where its heading begins in the text.
    start: usize,
    /// Where the first line below the heading begins.
    body: usize,
    path: PathBuf,
}

/// The most files that the line about a cut names.
const NAMED_FILES: usize = 10;

/// The names of a folder's own file: the first that is there is read.
const MAIN_FILES: [&str; 3] = ["SLUG.md", "AGENTS.md", "CLAUDE.md"];

/// A file with more bytes than this has more characters than the limit, because a character has at
/// most four bytes.
const MAX_BYTES: u64 = (MAX_CHARACTERS * 4 + 4) as u64;

impl<'a> InstructionReader<'a> {
    fn new(scope: &'a InstructionScope<'a>) -> Self {
        Self {
            scope,
            text: String::new(),
            sections: Vec::new(),
            found: LoadedInstructions::default(),
            seen: HashSet::new(),
            including: Vec::new(),
            included: 0,
        }
    }

    fn main_file(&mut self, heading: &str, folder: &Path, place: InstructionPlace<'_>) {
        let present = MAIN_FILES
            .into_iter()
            .map(|name| folder.join(name))
            .filter(|path| fs::symlink_metadata(path).is_ok());
        let mut present = present.collect::<Vec<_>>().into_iter();
        let Some(path) = present.next() else { return };
        self.file(heading, &path, place);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for other in present.filter(|other| !self.seen.contains(other)) {
            let reason = format!("not read: {name} in the same folder comes first");
            self.found.unread.push(UnreadInstructionFile {
                path: other,
                level: place.level,
                reason,
                is_for_a_part: false,
            });
        }
    }

    fn rules(&mut self, folder: &Path, place: InstructionPlace<'_>) {
        for path in rules::rule_files(folder) {
            let Some(text) = self.text_of(&path, place) else { continue };
            let rule = ScopedRuleFile::read(&text);
            for problem in &rule.problems {
                self.warn(&path, problem);
            }
            if rule.is_for_all() {
                let name = rules::name(folder, &path);
                self.section(&format!("# Rule: {name}"), &path, place, &rule.body, text.len());
            } else if self.seen.insert(path.clone()) {
                let reason = format!("sent once work touches {}", rule.told());
                let level = place.level;
                self.found.unread.push(UnreadInstructionFile {
                    path,
                    level,
                    reason,
                    is_for_a_part: true,
                });
            }
        }
    }

    fn file(&mut self, heading: &str, path: &Path, place: InstructionPlace<'_>) {
        if let Some(text) = self.text_of(path, place) {
            self.section(heading, path, place, &text, text.len());
        }
    }

    /// The text of a file as it is on disk, where it may be read.
    fn text_of(&mut self, path: &Path, place: InstructionPlace<'_>) -> Option<String> {
        match place.level {
            // A link of the user's own may lead anywhere.
            InstructionLevel::User => {}
            InstructionLevel::Project | InstructionLevel::Local => {
                if leads_outside(path, place.folder) {
                    self.warn(
                        path,
                        "links outside the project and is left out: copy the file \
                        into the project instead",
                    );
                    return None;
                }
            }
        }
        match read_text(path, MAX_BYTES) {
            Ok(text) => text.map(|text| text.replace("\r\n", "\n")),
            Err(error) => {
                self.warn(path, &format!("{error}; it is left out"));
                None
            }
        }
    }

    /// Adds a file's `text`, and behind it what it includes.
    fn section(
        &mut self,
        heading: &str,
        path: &Path,
        place: InstructionPlace<'_>,
        text: &str,
        bytes: usize,
    ) {
        if !self.seen.insert(path.to_owned()) {
            return;
        }
        let visible = strip_invisible(text);
        if visible.removed > 0 {
            let count = visible.removed;
            self.warn(
                path,
                &format!(
                    "contains {count} invisible characters, which the model does not get: check \
                     where the file comes from"
                ),
            );
        }
        let body = visible.text.trim();
        if body.is_empty() {
            return;
        }
        self.found.files.push(InstructionFile {
            path: path.to_owned(),
            level: place.level,
            bytes,
            included_by: self.including.last().cloned(),
            sent: 0..0,
        });
        self.add(heading, body, path);
        self.including.push(path.to_owned());
        for name in includes::included(body) {
            self.include(path, &name, place);
        }
        self.including.pop();
    }

    /// Reads the file that `@name` in `from` means; a name of nothing that exists is no include.
    fn include(&mut self, from: &Path, name: &str, place: InstructionPlace<'_>) {
        let Some(parent) = from.parent() else { return };
        let path = clean_path(&parent.join(name));
        let problem = |what: &str| format!("names @{}, {what}", sanitize_line(name));
        if !path.starts_with(place.folder) || name.starts_with('~') {
            if includes::looks_like_text(name) {
                self.warn(from, &problem("which is outside of its folder and is left out"));
            }
            return;
        }
        if !path.is_file() {
            if includes::looks_like_text(name) {
                self.warn(from, &problem("which is no file and is left out"));
            }
            return;
        }
        if self.including.contains(&path) {
            let chain = self.including.iter().skip_while(|it| **it != path).chain([&path]);
            let chain: Vec<String> = chain.map(|it| includes::shown(it, place.folder)).collect();
            let chain = chain.join(" → ");
            return self.warn(from, &format!("is part of a cycle of includes: {chain}"));
        }
        if self.seen.contains(&path) {
            return;
        }
        let refused = if includes::passes_link(&path, place.folder) {
            "which is reached through a symbolic link and is left out"
        } else if includes::is_hidden(&path, place.folder) {
            "which is hidden and is left out"
        } else if (self.scope.hides)(&path) {
            "which a permission rule hides; it is left out"
        } else if self.including.len() > includes::MAX_DEPTH {
            "which is nested too deeply (at most 4 levels of includes) and is left out"
        } else if self.included >= includes::MAX_FILES {
            "which is over the limit of 50 included files and is left out"
        } else {
            self.included += 1;
            let by = includes::shown(from, place.folder);
            let heading = format!("# Included by {by}: {}", includes::shown(&path, place.folder));
            return self.file(&heading, &path, place);
        };
        self.warn(from, &problem(refused));
    }

    fn add(&mut self, heading: &str, body: &str, path: &Path) {
        let same = self.sections.last().is_some_and(|section| section.heading == heading);
        let start = self.text.len();
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        if !same {
            self.text.push_str(heading);
            self.text.push_str("\n\n");
        }
        let section = InstructionSection {
            heading: heading.to_owned(),
            start,
            body: self.text.len(),
            path: path.to_owned(),
        };
        self.sections.push(section);
        self.text.push_str(body);
    }

    fn warn(&mut self, path: &Path, what: &str) {
        let path = path.to_string_lossy();
        self.found.warnings.push(format!("{} {what}.", sanitize_line(&path)));
    }

    fn finish(mut self) -> LoadedInstructions {
        if let Some((limit, _)) = self.text.char_indices().nth(MAX_CHARACTERS) {
            self.cut(limit);
        }
        let starts: Vec<usize> = self.sections.iter().map(|section| section.start).collect();
        let ends = starts.iter().copied().skip(1).chain([self.text.len()]);
        for (file, (start, end)) in self.found.files.iter_mut().zip(starts.iter().zip(ends)) {
            let end = end.min(self.text.len());
            file.sent = (*start).min(end)..end;
        }
        self.found.text = self.text;
        self.found
    }

    /// Cuts the text after the last line that ends before `limit`. A line that fills the limit by
    /// itself is cut inside, and a heading without text is cut, too.
    fn cut(&mut self, limit: usize) {
        let Some(section) = self.sections.iter().rfind(|section| section.start <= limit) else {
            return;
        };
        let line = self.text[..limit].rfind('\n').unwrap_or_default();
        let is_first_section = section.start == 0;
        let end = if line > section.body {
            line
        } else if is_first_section && limit > section.body {
            limit
        } else {
            section.start
        };
        let path = section.path.clone();
        let left_out: Vec<String> = self
            .sections
            .iter()
            .filter(|it| it.start >= section.start)
            .map(|it| strip_invisible(&it.path.to_string_lossy()).text.replace('\n', " "))
            .collect();
        self.text.truncate(end);
        self.text.truncate(self.text.trim_end().len());
        self.text.push_str(&cut_notice(&left_out, end > section.start));
        self.warn(
            &path,
            "is cut off, and what comes after it is left out, because the instruction files are \
             over 40,000 characters together: shorten them",
        );
    }
}

/// What the model is told where the text ends too early. The first file of `left_out` lost only its
/// end if `has_part`.
fn cut_notice(left_out: &[String], has_part: bool) -> String {
    let mut names: Vec<String> =
        left_out.iter().take(NAMED_FILES).map(|path| format!("- {path}")).collect();
    if has_part && let Some(first) = names.first_mut() {
        first.insert_str(2, "the rest of ");
    }
    if left_out.len() > NAMED_FILES {
        names.push(format!("- {} more files", left_out.len() - NAMED_FILES));
    }
    format!(
        "\n\n[slug cut this text here, because the instruction files together hold more than 40,000 \
         characters. Left out:\n{}\nRead them if they matter to the task.]",
        names.join("\n"),
    )
}

fn leads_outside(path: &Path, folder: &Path) -> bool {
    match (path.canonicalize(), folder.canonicalize()) {
        (Ok(real), Ok(folder)) => !real.starts_with(folder),
        // A link that leads nowhere counts as a missing file, which reading reports.
        (Err(_), _) | (_, Err(_)) => false,
    }
}

#[cfg(test)]
mod tests;
