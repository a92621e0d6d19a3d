//! Formats a text with what the project has configured.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

use crate::disk::read_regular;
use crate::domain::ContentHash;
use crate::platform::server_program::ServerProgramSearch;
use crate::tools::{FormatRequest, FormatResult, TextFormatter};

use super::checks::{judge, output_limit};
use super::definition::{FormatterDefinition, SignWeight};
use super::project::{FormatterChoice, arguments, choose, own_programs};

/// A longer text is not formatted, in bytes.
const MAX_TEXT: usize = 1 << 20;

/// How often a formatter may take too long or not start, until it is left alone for the session.
const MAX_FAULTS: u32 = 2;

/// A larger program has no hash, in bytes.
const MAX_PROGRAM: u64 = 64 << 20;

/// How many letters of a program's hash the user's configuration has, as rules have.
const HASH_LETTERS: usize = 24;

/// The most sentences and files that are remembered.
const MAX_REMEMBERED: usize = 1_000;

/// A formatter's program and its surroundings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatterCommand {
    /// Absolute.
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// The value of PATH.
    pub search_path: OsString,
    pub cwd: PathBuf,
    /// The text for standard input.
    pub input: String,
    pub time_limit: Duration,
    /// The most bytes of standard output that are kept.
    pub output_limit: usize,
}

/// What a formatter has printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatterOutput {
    pub end: FormatterEnd,
    /// Standard output; invalid UTF-8 is replaced.
    pub text: String,
    /// Standard error.
    pub complaint: String,
}

/// How a formatter has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormatterEnd {
    Code(i32),
    Killed,
    TimedOut,
}

/// Runs formatters.
#[async_trait]
pub trait FormatterRunner: Send + Sync {
    /// Whether formatters run in a sandbox; the error is a phrase that says why not.
    ///
    /// # Errors
    ///
    /// When there is no sandbox for them.
    async fn confinement(&self) -> Result<(), String>;

    /// Runs a formatter to its end, in the sandbox where there is one. Dropping this ends it.
    ///
    /// # Errors
    ///
    /// When it cannot be started; a phrase.
    async fn run(&self, command: FormatterCommand) -> Result<FormatterOutput, String>;
}

/// What the formatters of a run share.
pub struct FormatterPorts {
    pub runner: Arc<dyn FormatterRunner>,
    pub programs: ServerProgramSearch,
    /// Programs that the user lets run although they are the project's own or there is no sandbox, as
    /// `NAME@sha256:HASH`.
    pub allowed: Vec<String>,
    pub time_limit: Duration,
}

/// The formatters of a folder that the user trusts.
pub struct ProjectFormatters {
    /// In order of precedence.
    definitions: Arc<[FormatterDefinition]>,
    /// The folder, as a real path. Files outside of it are not formatted.
    pub(super) workspace: PathBuf,
    ports: FormatterPorts,
    memory: Mutex<FormatterMemory>,
}

#[derive(Default)]
struct FormatterMemory {
    /// What the model was told.
    told: HashSet<String>,
    /// How often each formatter has taken too long or not started.
    faults: HashMap<String, u32>,
    /// What each file held last that its formatter had nothing to change in, or that slug has made of
    /// such a text and could not format.
    formatted: HashMap<PathBuf, ContentHash>,
}

/// What is run for a file.
struct FormatterRun {
    choice: FormatterChoice,
    program: PathBuf,
    arguments: Vec<String>,
}

impl ProjectFormatters {
    /// The formatters for the files in `workspace`, a real path.
    pub fn new(
        definitions: Vec<FormatterDefinition>,
        workspace: PathBuf,
        ports: FormatterPorts,
    ) -> Self {
        Self { definitions: definitions.into(), workspace, ports, memory: Mutex::default() }
    }

    /// What formats a file; `None` where the project has nothing for it. The error is a sentence.
    async fn find(&self, path: &Path) -> Result<Option<FormatterRun>, String> {
        let (definitions, workspace) = (self.definitions.clone(), self.workspace.clone());
        let file = path.to_owned();
        let looking = tokio::task::spawn_blocking(move || {
            let choice = choose(&definitions, &file, &workspace)?;
            let arguments = arguments(&choice, &workspace)?;
            Some((choice, arguments))
        });
        // It fails only while slug ends.
        let Some((choice, arguments)) = looking.await.ok().flatten() else { return Ok(None) };
        let name = choice.definition.name.clone();
        if self.memory().faults.get(&name).is_some_and(|count| *count >= MAX_FAULTS) {
            return Ok(None);
        }
        let confinement = self.ports.runner.confinement().await;
        let finder = ProgramFinder {
            programs: self.ports.programs.clone(),
            allowed: self.ports.allowed.clone(),
            workspace: self.workspace.clone(),
            confinement,
        };
        let looking = tokio::task::spawn_blocking(move || {
            let program = finder.find(&choice);
            (choice, program)
        });
        match looking.await {
            Err(_) => Ok(None),
            Ok((choice, Ok(program))) => Ok(Some(FormatterRun { choice, program, arguments })),
            // Nobody has asked for it.
            Ok((choice, Err(_))) if choice.weight == SignWeight::Usual => Ok(None),
            Ok((_, Err(why))) => Err(why),
        }
    }

    async fn run(&self, run: &FormatterRun, text: &str) -> Result<String, String> {
        let name = &run.choice.definition.name;
        let command = FormatterCommand {
            program: run.program.clone(),
            arguments: run.arguments.clone(),
            search_path: self.ports.programs.path(&BTreeMap::new()),
            cwd: run.choice.root.clone(),
            input: text.to_owned(),
            time_limit: self.ports.time_limit,
            output_limit: output_limit(text),
        };
        let output = self.ports.runner.run(command).await;
        let is_fault = output.as_ref().map_or(true, |it| it.end == FormatterEnd::TimedOut);
        let judged = match output {
            Ok(output) => judge(output, text, self.ports.time_limit.as_secs()),
            Err(why) => Err(format!("could not be started: {why}")),
        };
        let mut memory = self.memory();
        let faults = memory.faults.entry(name.clone()).or_default();
        *faults = if is_fault { *faults + 1 } else { 0 };
        judged.map_err(|why| match *faults >= MAX_FAULTS {
            true => format!("{name} {why}. slug does not run it again in this session."),
            false => format!("{name} {}.", why.trim_end_matches('.')),
        })
    }

    /// Whether the file was formatted before it is changed. An empty or new one counts.
    async fn is_formatted(&self, run: &FormatterRun, before: Option<&str>) -> bool {
        let Some(before) = before.filter(|text| !text.trim().is_empty()) else { return true };
        let hash = ContentHash::of(before.as_bytes());
        if self.memory().formatted.get(&run.choice.file) == Some(&hash) {
            return true;
        }
        self.run(run, before).await.is_ok_and(|text| same_lines(&text, before))
    }

    fn remember(&self, file: PathBuf, text: &str) {
        let mut memory = self.memory();
        if memory.formatted.len() >= MAX_REMEMBERED {
            memory.formatted.clear();
        }
        memory.formatted.insert(file, ContentHash::of(text.as_bytes()));
    }

    fn memory(&self) -> MutexGuard<'_, FormatterMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sentence, if it was not said before.
    fn failed(&self, why: String) -> FormatResult {
        let mut memory = self.memory();
        if memory.told.len() >= MAX_REMEMBERED {
            memory.told.clear();
        }
        FormatResult::Failed(memory.told.insert(why.clone()).then_some(why))
    }
}

#[async_trait]
impl TextFormatter for ProjectFormatters {
    async fn format(&self, request: FormatRequest) -> FormatResult {
        let FormatRequest { path, before, after, is_changed_again } = request;
        if after.len() > MAX_TEXT || after.trim().is_empty() {
            return FormatResult::NotConfigured;
        }
        let run = match self.find(&path).await {
            Ok(Some(run)) => run,
            Ok(None) => return FormatResult::NotConfigured,
            Err(why) => return self.failed(why),
        };
        if run.choice.weight == SignWeight::Usual
            && !self.is_formatted(&run, before.as_deref()).await
        {
            return FormatResult::NotConfigured;
        }
        if is_changed_again {
            self.remember(run.choice.file, &after);
            return FormatResult::NotConfigured;
        }
        match self.run(&run, &after).await {
            Ok(text) => {
                self.remember(run.choice.file, &text);
                FormatResult::Formatted { by: run.choice.definition.name, text }
            }
            Err(why) => {
                self.remember(run.choice.file, &after);
                self.failed(why)
            }
        }
    }
}

/// Whether two texts differ in nothing but the kind of their line ends.
fn same_lines(a: &str, b: &str) -> bool {
    a == b || a.replace("\r\n", "\n") == b.replace("\r\n", "\n")
}

/// Finds a formatter's program. Blocks.
struct ProgramFinder {
    programs: ServerProgramSearch,
    allowed: Vec<String>,
    workspace: PathBuf,
    confinement: Result<(), String>,
}

impl ProgramFinder {
    /// The program: the project's own where the user lets it run, else the one of the PATH outside of
    /// the project. The error is a sentence.
    fn find(&self, choice: &FormatterChoice) -> Result<PathBuf, String> {
        let name = &choice.definition.name;
        let command = choice.definition.command.first().map(String::as_str).unwrap_or_default();
        let path = self.programs.path(&BTreeMap::new());
        let (own, outside) = if command.contains('/') {
            let path = self.workspace.join(command);
            let is_own = self.is_own(&path);
            let found = path.is_file().then_some(path);
            if is_own { (Vec::from_iter(found), None) } else { (Vec::new(), found) }
        } else {
            let own = own_programs(command, &choice.root, &self.workspace);
            (own, self.programs.program(command, &path).map(PathBuf::from))
        };
        let allowed = own.iter().find(|it| pinned_name(it).is_some_and(|pin| self.allows(&pin)));
        if let Some(program) = allowed {
            return Ok(program.clone());
        }
        match (outside, &self.confinement, own.first()) {
            (Some(program), Ok(()), _) => Ok(program),
            (Some(program), Err(why), _) => match pinned_name(&program) {
                Some(pin) if self.allows(&pin) => Ok(program),
                pin => Err(needs_yes(
                    &format!("{name} would run without a sandbox ({why})"),
                    pin.as_deref(),
                )),
            },
            (None, _, Some(own)) => {
                let shown = own.strip_prefix(&self.workspace).unwrap_or(own).display();
                let what = format!("{name} is here only as a program of this project, {shown}");
                Err(needs_yes(&what, pinned_name(own).as_deref()))
            }
            (None, _, None) => {
                Err(format!("this project is set up for {name}, which is not installed."))
            }
        }
    }

    fn allows(&self, pin: &str) -> bool {
        self.allowed.iter().any(|it| it == pin)
    }

    /// Whether a program belongs to the project, by its own path or by where its links lead.
    fn is_own(&self, program: &Path) -> bool {
        let project = &self.programs.project;
        let project = project.canonicalize().unwrap_or_else(|_| project.clone());
        let real = program.canonicalize().unwrap_or_else(|_| program.to_owned());
        [program, &real]
            .iter()
            .any(|it| it.starts_with(&project) || it.starts_with(&self.workspace))
    }
}

/// What the user's configuration calls a program: its name, and the hash of the file that it leads to.
fn pinned_name(program: &Path) -> Option<String> {
    let name = program.file_name()?.to_str()?;
    let bytes = read_regular(&program.canonicalize().ok()?, MAX_PROGRAM).ok().flatten()?;
    if bytes.len() as u64 >= MAX_PROGRAM {
        return None;
    }
    let hash = ContentHash::of(&bytes);
    Some(format!("{name}@sha256:{}", hash.as_str().get(..HASH_LETTERS)?))
}

fn needs_yes(what: &str, pin: Option<&str>) -> String {
    match pin {
        Some(pin) => format!(
            "{what}. The user can let it run: `allow = [\"{pin}\"]` under [formatters] in their config.toml."
        ),
        None => format!("{what}, and its file is too large to be let run by its hash."),
    }
}
