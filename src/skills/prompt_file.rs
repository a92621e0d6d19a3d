//! One skill or custom command, as its file says it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::frontmatter::{PromptFileProblem, PromptFrontmatter};
use crate::domain::sanitize::{sanitize, sanitize_line};
use crate::domain::{ContentHash, strip_invisible};

/// The most characters of a description (agentskills.io specification).
const MAX_DESCRIPTION: usize = 1024;
/// The most characters of a name (the same).
const MAX_NAME: usize = 64;

/// A skill or a custom command: a text for the model that the user or the model calls by a name.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptFile {
    /// What it is called by, without a slash.
    pub name: String,
    pub kind: PromptFileKind,
    pub origin: PromptFileOrigin,
    /// The file; for a shipped one, a name that leads nowhere.
    pub path: PathBuf,
    /// What it is for, on one line. A command has at least its first line.
    pub description: String,
    /// What follows the name, for the user: `[issue]`.
    pub argument_hint: Option<String>,
    /// The names of its arguments in order, for `$name`.
    pub argument_names: Vec<String>,
    /// The rules that it wants allowed while it runs, as they are written.
    pub allowed_tools: Vec<String>,
    /// The model that it wants.
    pub model: Option<String>,
    /// Whether the model may load it by itself.
    pub is_for_model: bool,
    /// Whether the user calls it by its name.
    pub is_for_user: bool,
    /// The text below the frontmatter, without invisible characters.
    pub body: Arc<str>,
    /// Of the whole file.
    pub hash: ContentHash,
    pub problems: Vec<PromptFileProblem>,
}

/// What kind of file it is, which decides how its placeholders are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptFileKind {
    /// A folder with a `SKILL.md`. Placeholders are those of Claude Code.
    Skill,
    Command(PromptDialect),
}

/// How a command writes its placeholders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptDialect {
    /// `$ARGUMENTS`, and `$0` for the first word, as in Claude Code.
    FromZero,
    /// `$ARGUMENTS`, and `$1` for the first word, as in opencode, Codex and shells.
    FromOne,
    /// `{{args}}`, `!{command}` and `@{path}`, as in Gemini CLI.
    Braces,
}

/// Who has put a file there, in the order in which files of one name are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PromptFileOrigin {
    User,
    Project,
    /// Part of slug.
    Shipped,
}

/// What is known of a file before it is read.
pub(super) struct PromptFileSeed<'a> {
    pub(super) path: &'a Path,
    pub(super) origin: PromptFileOrigin,
    /// By its place: the name of its folder, or of the file and the folders above it.
    pub(super) place_name: &'a str,
}

impl PromptFile {
    /// The folder of a skill, with whatever else is in it.
    pub fn folder(&self) -> Option<&Path> {
        match (self.kind, self.origin) {
            (PromptFileKind::Skill, PromptFileOrigin::User | PromptFileOrigin::Project) => {
                self.path.parent()
            }
            (PromptFileKind::Skill, PromptFileOrigin::Shipped)
            | (PromptFileKind::Command(_), _) => None,
        }
    }

    /// How its placeholders are written.
    pub fn dialect(&self) -> PromptDialect {
        match self.kind {
            PromptFileKind::Skill => PromptDialect::FromZero,
            PromptFileKind::Command(dialect) => dialect,
        }
    }

    /// The tokens of its text, by the rule of four bytes a token.
    pub fn tokens(&self) -> u64 {
        self.body.len().div_ceil(4) as u64
    }

    /// A skill from the text of its `SKILL.md`.
    ///
    /// # Errors
    ///
    /// Why there is no skill to load, with the line.
    pub(super) fn skill(
        seed: &PromptFileSeed<'_>,
        text: &str,
    ) -> Result<Self, Vec<PromptFileProblem>> {
        let (front, mut problems) = read(text);
        let Some(description) = front.text("description") else {
            problems.push(PromptFileProblem::new(
                1,
                "it has no description and is not loaded: add `description:` to its frontmatter",
            ));
            return Err(problems);
        };
        let written = front.text("name");
        let name = match &written {
            Some(name) if is_callable(name) => name.clone(),
            Some(_) | None => callable(seed.place_name),
        };
        problems.extend(name_problems(written.as_deref(), seed.place_name));
        let mut skill =
            Self::of(seed, (text, &front), PromptFileKind::Skill, name, &description, problems);
        skill.is_for_model = front.switch("disable-model-invocation") != Some(true);
        skill.is_for_user = front.switch("user-invocable") != Some(false);
        Ok(skill)
    }

    /// A command from the text of its Markdown file.
    pub(super) fn command(seed: &PromptFileSeed<'_>, text: &str, dialect: PromptDialect) -> Self {
        let (front, problems) = read(text);
        let description = front.text("description").unwrap_or_else(|| first_line(&front.body));
        let name = callable(seed.place_name);
        let kind = PromptFileKind::Command(dialect);
        Self::of(seed, (text, &front), kind, name, &description, problems)
    }

    /// A command from the text of a TOML file, as Gemini CLI has them: `prompt` and `description`.
    ///
    /// # Errors
    ///
    /// Why there is no command to load, with the line.
    pub(super) fn toml_command(
        seed: &PromptFileSeed<'_>,
        text: &str,
    ) -> Result<Self, Vec<PromptFileProblem>> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let before = error.span().map_or("", |span| &text[..span.start.min(text.len())]);
            let line = before.matches('\n').count() + 1;
            vec![PromptFileProblem::new(line, format!("it is not valid TOML: {}", error.message()))]
        })?;
        let field = |name: &str| table.get(name).and_then(toml::Value::as_str);
        let Some(prompt) = field("prompt") else {
            return Err(vec![PromptFileProblem::new(1, "it has no `prompt` and is not loaded")]);
        };
        let mut front = PromptFrontmatter::default();
        let (body, problem) = visible(prompt);
        front.body = body;
        let description =
            field("description").map_or_else(|| first_line(&front.body), str::to_owned);
        front.fields.insert("description".to_owned(), Value::from(description.clone()));
        let (name, kind) =
            (callable(seed.place_name), PromptFileKind::Command(PromptDialect::Braces));
        let problems = problem.into_iter().collect();
        Ok(Self::of(seed, (text, &front), kind, name, &description, problems))
    }

    fn of(
        seed: &PromptFileSeed<'_>,
        (text, front): (&str, &PromptFrontmatter),
        kind: PromptFileKind,
        name: String,
        description: &str,
        mut problems: Vec<PromptFileProblem>,
    ) -> Self {
        let (description, shortened) = one_line(description, MAX_DESCRIPTION);
        if shortened {
            let text = "its description is over 1024 characters: the rest is left out";
            problems.push(PromptFileProblem::new(1, text));
        }
        let harmless = |text: String| one_line(&text, MAX_DESCRIPTION).0;
        Self {
            name,
            kind,
            origin: seed.origin,
            path: seed.path.to_owned(),
            description,
            argument_hint: front.text("argument-hint").map(harmless),
            argument_names: front.words("arguments"),
            allowed_tools: front.words("allowed-tools").into_iter().map(harmless).collect(),
            model: front.text("model").map(harmless).filter(|model| model != "inherit"),
            is_for_model: false,
            is_for_user: true,
            body: front.body.trim_end().into(),
            hash: ContentHash::of(text.as_bytes()),
            problems,
        }
    }
}

/// The frontmatter and the text of a Markdown file, without what nobody can see.
fn read(text: &str) -> (PromptFrontmatter, Vec<PromptFileProblem>) {
    let (text, problem) = visible(&text.replace("\r\n", "\n"));
    let mut front = PromptFrontmatter::read(&text);
    let mut problems = std::mem::take(&mut front.problems);
    problems.extend(problem);
    (front, problems)
}

fn visible(text: &str) -> (String, Option<PromptFileProblem>) {
    let first = text.lines().position(|line| strip_invisible(line).removed > 0);
    let visible = strip_invisible(text);
    let problem = first.map(|line| {
        let text = format!(
            "it contains {} invisible characters, which the model does not get: check where it comes from",
            visible.removed
        );
        PromptFileProblem::new(line + 1, text)
    });
    (sanitize(&visible.text).into_owned(), problem)
}

/// A text on one line without control characters, and whether it was longer than `most` characters.
fn one_line(text: &str, most: usize) -> (String, bool) {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = sanitize_line(&strip_invisible(&words).text);
    match line.char_indices().nth(most) {
        Some((end, _)) => (format!("{}…", &line[..end]), true),
        None => (line, false),
    }
}

/// The first line that says something, without the marks of a heading.
fn first_line(body: &str) -> String {
    let lines = body.lines().map(|line| line.trim_start_matches(['#', ' ', '-', '*']).trim());
    let line = lines.into_iter().find(|line| !line.is_empty() && !line.starts_with('<'));
    one_line(line.unwrap_or_default(), 100).0
}

/// Whether a name can be typed behind a slash.
fn is_callable(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || "-_.:".contains(c))
        && name.starts_with(|c: char| c.is_alphanumeric())
        && name.chars().count() <= MAX_NAME
}

/// A name that can be typed behind a slash, as near to this one as possible.
fn callable(name: &str) -> String {
    let fit = |c: char| if c.is_alphanumeric() || "-_.:".contains(c) { c } else { '-' };
    let name: String = strip_invisible(name).text.chars().map(fit).take(MAX_NAME).collect();
    let name = name.trim_start_matches(|c: char| !c.is_alphanumeric());
    if name.is_empty() { "unnamed".to_owned() } else { name.to_owned() }
}

/// How a skill's name goes against the specification.
fn name_problems(written: Option<&str>, folder: &str) -> Option<PromptFileProblem> {
    let Some(name) = written else {
        let text = format!("it has no name: it is called {} after its folder", callable(folder));
        return Some(PromptFileProblem::advice(text));
    };
    let name = &*one_line(name, MAX_NAME).0;
    if !is_callable(name) {
        let text = format!("the name {name:?} cannot be typed: it is called {}", callable(folder));
        return Some(PromptFileProblem::advice(text));
    }
    let is_plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if !is_plain || name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        let text = format!(
            "the name {name} should have only lowercase letters, digits and single hyphens"
        );
        return Some(PromptFileProblem::advice(text));
    }
    let text = || format!("the name {name} should be that of its folder, {}", callable(folder));
    (name != folder).then(|| PromptFileProblem::advice(text()))
}
