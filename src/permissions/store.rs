//! Settings files: which there are, reading their rules, and adding one.
//!
//! Order: `~/.slug/settings.json`, `.slug/settings.json`, `.slug/settings.local.json`; the project's
//! two only when the person trusts the project. A rule is added to the file as it is on disk at that
//! moment: its other keys and their order stay, and the file is replaced in one step.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::domain::{RuleFile, RuleKind};
use crate::platform::paths::replace_private;

use super::paths::Workspace;
use super::rules::{RuleSet, Warning};

/// More than this is no settings file.
const MAX_BYTES: u64 = 1024 * 1024;

/// Whether the project's own files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectFiles {
    /// The person trusts the project.
    Trusted,
    /// They are left alone.
    Untrusted,
}

/// Why a rule could not be saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The file holds something that slug must not overwrite.
    #[error("{file} is not a settings file ({why}). Repair it, then save the rule again.")]
    NotSettings {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The operating system says no.
    #[error("cannot save the rule in {file}: {source}")]
    Io {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// The settings files that count, in order, whether they exist or not.
pub fn files(workspace: &Workspace, project: ProjectFiles) -> Vec<PathBuf> {
    let mut files = vec![workspace.slug_home().join("settings.json")];
    if project == ProjectFiles::Trusted {
        let folder = workspace.root().join(".slug");
        files.extend([folder.join("settings.json"), folder.join("settings.local.json")]);
    }
    files
}

/// Where an "always" or a "never" goes.
pub fn rule_file(workspace: &Workspace, project: ProjectFiles) -> RuleFile {
    RuleFile(match project {
        ProjectFiles::Trusted => workspace.root().join(".slug/settings.local.json"),
        ProjectFiles::Untrusted => workspace.slug_home().join("settings.json"),
    })
}

/// The rules of all files that count.
pub fn load(workspace: &Workspace, project: ProjectFiles) -> RuleSet {
    let mut rules = RuleSet::new();
    for file in files(workspace, project) {
        load_file(&mut rules, &file, workspace);
    }
    rules
}

/// Adds the rules of one file. A missing one is no fault.
pub fn load_file(rules: &mut RuleSet, file: &Path, workspace: &Workspace) {
    match read(file) {
        Ok(Some(text)) => rules.add_settings(&text, file, workspace),
        Ok(None) => {}
        Err(error) => rules.add_warning(Warning {
            file: file.to_owned(),
            line: None,
            text: format!("cannot be read, so none of its rules hold: {error}"),
        }),
    }
}

/// Adds a rule to a settings file, which is made when it is not there. Load the rules again after.
pub fn save_rule(file: &RuleFile, kind: RuleKind, rule: &str) -> Result<(), SaveError> {
    let file = &file.0;
    let io = |source| SaveError::Io { file: file.clone(), source };
    let mut settings = match read(file).map_err(io)? {
        Some(text) => serde_json::from_str(&text).map_err(|error| SaveError::NotSettings {
            file: file.clone(),
            why: error.to_string(),
        })?,
        None => json!({}),
    };
    let list = list_of(&mut settings, kind)
        .map_err(|why| SaveError::NotSettings { file: file.clone(), why: why.into() })?;
    let rule = Value::String(rule.trim().to_owned());
    if list.contains(&rule) {
        return Ok(());
    }
    list.push(rule);
    let mut text = format!("{settings:#}");
    text.push('\n');
    replace_private(file, text.as_bytes()).map_err(io)
}

fn list_of(settings: &mut Value, kind: RuleKind) -> Result<&mut Vec<Value>, &'static str> {
    let key = match kind {
        RuleKind::Deny => "deny",
        RuleKind::Ask => "ask",
        RuleKind::Allow => "allow",
    };
    let settings = settings.as_object_mut().ok_or("it is not an object")?;
    let permissions = settings.entry("permissions").or_insert_with(|| Value::Object(Map::new()));
    let permissions = permissions.as_object_mut().ok_or("`permissions` is not an object")?;
    let list = permissions.entry(key).or_insert_with(|| Value::Array(Vec::new()));
    list.as_array_mut().ok_or("its list of rules is not a list")
}

fn read(file: &Path) -> std::io::Result<Option<String>> {
    use std::io::{Error, ErrorKind, Read};
    let metadata = match std::fs::metadata(file) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // A FIFO would block, a device might never end.
    if !metadata.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut text = String::new();
    std::fs::File::open(file)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(Error::new(ErrorKind::InvalidData, "it is larger than 1 MB"));
    }
    Ok(Some(text))
}
