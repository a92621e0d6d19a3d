//! Settings files: which files there are, reading their rules, and changing them.
//!
//! Order: `~/.slug/settings.json`, `.slug/settings.json`, `.slug/settings.local.json`; the
//! project's two files only when the user trusts the project. A rule is changed in the file as it
//! is on disk at that moment: its other keys, their order and its comments stay, and the file is
//! replaced in one step. A file that exists but cannot be read fails closed: its rules are not
//! known, so everything is asked about.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::disk::read_user_owned;
use crate::domain::{RuleFile, RuleKind};
use crate::platform::paths::replace_private;

use super::paths::Workspace;
use super::rules::{RuleSet, RuleWarning};
use super::settings_text::{RuleEditError, apply_edit};

/// Whether the project's own settings files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectSettingsTrust {
    /// The user trusts the project, and its files are read.
    Trusted,
    /// The project's files are not read.
    Untrusted,
}

/// Why a rule could not be saved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RuleSaveError {
    /// The file holds something that slug must not overwrite.
    #[error("{file} is not a settings file ({why}). Repair it, then save the rule again.")]
    NotSettings {
        file: PathBuf,
        /// What is wrong with the file.
        why: String,
    },
    /// Somebody else has changed a file of the project.
    #[error(
        "{file} has changed since slug read it, so slug did not write to it. Restart slug to \
            load the changes."
    )]
    Changed { file: PathBuf },
    /// The rule is no longer in the file.
    #[error("{rule} is no longer in {file}.")]
    Gone { file: PathBuf, rule: String },
    /// No rule of this file would take effect.
    #[error("{file} is ignored: the folder is not trusted.")]
    NotCounted { file: PathBuf },
    /// The operating system refused.
    #[error("cannot save the rule in {file}: {why}")]
    Io {
        file: PathBuf,
        /// The system's own error.
        why: String,
    },
}

/// The settings files that count, in order, whether they exist or not.
pub fn files(workspace: &Workspace, project: ProjectSettingsTrust) -> Vec<PathBuf> {
    let mut files = vec![user_file(workspace)];
    if project == ProjectSettingsTrust::Trusted {
        let folder = workspace.root().join(".slug");
        files.extend([folder.join("settings.json"), folder.join("settings.local.json")]);
    }
    files
}

/// The file that the answers "always" and "never" save their rule in.
pub fn rule_file(workspace: &Workspace, project: ProjectSettingsTrust) -> RuleFile {
    RuleFile(match project {
        ProjectSettingsTrust::Trusted => workspace.root().join(".slug/settings.local.json"),
        ProjectSettingsTrust::Untrusted => user_file(workspace),
    })
}

fn user_file(workspace: &Workspace) -> PathBuf {
    workspace.slug_home().join("settings.json")
}

/// The settings files that count, each as it was when slug read or wrote it.
///
/// The project's files are read once. What somebody else changes in them later must be asked about
/// before it takes effect, so it never comes in unnoticed when a rule is saved.
#[derive(Debug, Clone)]
pub struct SettingsFiles {
    user_file: PathBuf,
    /// The working folder.
    root: PathBuf,
    files: Vec<(PathBuf, Result<Option<String>, String>)>,
}

/// A rule and the list that it is in.
pub type RuleEntry = (RuleKind, String);

/// A change to the rules of a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuleEdit {
    /// Adds a rule. One that is already there stays as it is.
    Add(RuleEntry),
    /// Removes a rule.
    Remove(RuleEntry),
    /// Puts one rule in the place of another.
    Replace {
        /// The rule that is removed.
        from: RuleEntry,
        /// The rule that is added.
        to: RuleEntry,
    },
}

/// A settings file as slug has just written it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SavedSettings<'a> {
    pub text: &'a str,
    /// Whether there was no such file before.
    pub is_new: bool,
}

impl SettingsFiles {
    /// Reads all files that count. What is wrong with a file shows in [`Self::rules`].
    pub fn read(workspace: &Workspace, project: ProjectSettingsTrust) -> Self {
        let (user_file, root) = (user_file(workspace), workspace.root().to_owned());
        let files = files(workspace, project).into_iter().map(|file| {
            let text = read(&file, &root);
            (file, text)
        });
        Self { files: files.collect(), user_file, root }
    }

    /// The files, whether they exist or not.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|(file, _)| file.as_path())
    }

    /// The rules of all files, in order, with what was wrong in them.
    pub fn rules(&self, workspace: &Workspace) -> RuleSet {
        let mut rules = RuleSet::new();
        for (file, text) in &self.files {
            add(&mut rules, file, text.as_ref().map(Option::as_deref), workspace);
        }
        rules
    }

    /// Reads the user's own file again, which needs no trust. The project's files stay as they were
    /// read.
    pub fn refresh(&mut self) {
        for (file, text) in self.files.iter_mut().filter(|(file, _)| *file == self.user_file) {
            *text = read(file, &self.root);
        }
    }

    /// Changes the rules of one of the files, which is created when it does not exist, and returns
    /// its new text and whether it is new. A file of the project that somebody else has changed since
    /// it was read is left alone, unless `is_known` says that the user trusts its content.
    ///
    /// # Errors
    ///
    /// Fails when the file does not count, holds no settings, has changed, does not hold the rule
    /// to remove or replace, or cannot be written. The error names the file and the remedy.
    pub fn change(
        &mut self,
        file: &Path,
        edit: &RuleEdit,
        is_known: impl Fn(&str) -> bool,
    ) -> Result<SavedSettings<'_>, RuleSaveError> {
        let is_own = file == self.user_file;
        let missing = || RuleSaveError::NotCounted { file: file.to_owned() };
        let (_, known) = self.files.iter_mut().find(|(it, _)| it == file).ok_or_else(missing)?;
        let io = |error: std::io::Error| RuleSaveError::Io {
            file: file.to_owned(),
            why: error.to_string(),
        };
        let not_settings = |why| RuleSaveError::NotSettings { file: file.to_owned(), why };
        let text = read(file, &self.root).map_err(|why| not_settings(format!("it {why}")))?;
        let is_as_read = known.as_ref().is_ok_and(|known| *known == text);
        if !is_own && !is_as_read && !text.as_deref().is_some_and(is_known) {
            return Err(RuleSaveError::Changed { file: file.to_owned() });
        }
        if !is_own && file.parent().is_some_and(Path::is_symlink) {
            let why = "slug's folder there is a symbolic link, and slug writes through none";
            return Err(io(std::io::Error::other(why)));
        }
        let is_new = text.is_none();
        let text = apply_edit(text.as_deref(), edit).map_err(|error| match error {
            RuleEditError::NotSettings(why) => not_settings(why),
            RuleEditError::Gone(rule) => RuleSaveError::Gone { file: file.to_owned(), rule },
        })?;
        replace_private(file, text.as_bytes()).map_err(io)?;
        *known = Ok(Some(text));
        let text = known.as_ref().ok().and_then(Option::as_deref).unwrap_or_default();
        Ok(SavedSettings { text, is_new })
    }
}

/// Reads the rules of all files that count.
pub fn load(workspace: &Workspace, project: ProjectSettingsTrust) -> RuleSet {
    SettingsFiles::read(workspace, project).rules(workspace)
}

/// Adds the rules of one file. A missing file is no fault.
pub fn load_file(rules: &mut RuleSet, file: &Path, workspace: &Workspace) {
    let text = read(file, workspace.root());
    add(rules, file, text.as_ref().map(Option::as_deref), workspace);
}

fn add(
    rules: &mut RuleSet,
    file: &Path,
    text: Result<Option<&str>, &String>,
    workspace: &Workspace,
) {
    match text {
        Ok(Some(text)) => rules.add_settings(text, file, workspace),
        Ok(None) => {}
        Err(why) => rules.add_fault(RuleWarning {
            file: file.to_owned(),
            line: None,
            text: format!("this {why}."),
        }),
    }
}

/// The text of a file; `None` where there is no file. The error reads on behind the file's name.
fn read(file: &Path, root: &Path) -> Result<Option<String>, String> {
    let folder = file.starts_with(root).then_some(root);
    let read = read_user_owned(file, folder).map_err(|error| error.to_string())?;
    Ok(read.map(|read| read.text))
}
