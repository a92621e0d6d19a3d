//! Settings files: which there are, reading their rules, and changing them.
//!
//! Order: `~/.slug/settings.json`, `.slug/settings.json`, `.slug/settings.local.json`; the project's
//! two only when the person trusts the project. A rule is changed in the file as it is on disk at
//! that moment: its other keys, their order and its comments stay, and the file is replaced in one
//! step. A file that is there and gives no text closes: its rules cannot be known, so everything is
//! asked.

use std::path::{Path, PathBuf};

use crate::disk::read_user_owned;
use crate::domain::{RuleFile, RuleKind};
use crate::platform::paths::replace_private;

use super::paths::Workspace;
use super::rules::{RuleSet, RuleWarning};
use super::settings_text::{RuleEditError, apply_edit};

/// Whether the project's own files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectSettingsTrust {
    /// The person trusts the project.
    Trusted,
    /// They are left alone.
    Untrusted,
}

/// Why a rule could not be saved.
#[derive(Debug, thiserror::Error)]
pub enum RuleSaveError {
    /// The file holds something that slug must not overwrite.
    #[error("{file} is not a settings file ({why}). Repair it, then save the rule again.")]
    NotSettings {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Somebody else has changed a file of the project.
    #[error(
        "{file} has changed since slug read it, so it was left alone. Start slug again to see what is new in it."
    )]
    Changed {
        /// The file.
        file: PathBuf,
    },
    /// The rule is no longer there.
    #[error("{rule} is not in {file} any more.")]
    Gone {
        /// The file.
        file: PathBuf,
        /// The rule.
        rule: String,
    },
    /// No rule of this file would hold.
    #[error("{file} is not read here: the folder is not trusted.")]
    NotCounted {
        /// The file.
        file: PathBuf,
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
pub fn files(workspace: &Workspace, project: ProjectSettingsTrust) -> Vec<PathBuf> {
    let mut files = vec![user_file(workspace)];
    if project == ProjectSettingsTrust::Trusted {
        let folder = workspace.root().join(".slug");
        files.extend([folder.join("settings.json"), folder.join("settings.local.json")]);
    }
    files
}

/// Where an "always" or a "never" goes.
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
/// The project's are read once: what somebody else changes in them later has to be asked about
/// before it holds, so it never comes in by the way when a rule is saved.
#[derive(Debug, Clone)]
pub struct SettingsFiles {
    user_file: PathBuf,
    /// The working folder.
    root: PathBuf,
    files: Vec<(PathBuf, Result<Option<String>, String>)>,
}

/// A rule and the list that it is in.
pub type RuleEntry = (RuleKind, String);

/// What is to become of the rules of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleEdit {
    /// This one comes in. One that is there already stays as it is.
    Add(RuleEntry),
    /// This one goes.
    Remove(RuleEntry),
    /// One takes the place of another.
    Replace {
        /// The one that goes.
        from: RuleEntry,
        /// The one that comes in.
        to: RuleEntry,
    },
}

impl SettingsFiles {
    /// Reads all of them.
    pub fn read(workspace: &Workspace, project: ProjectSettingsTrust) -> Self {
        let (own, root) = (user_file(workspace), workspace.root().to_owned());
        let files = files(workspace, project).into_iter().map(|file| {
            let text = read(&file, &root);
            (file, text)
        });
        Self { files: files.collect(), user_file: own, root }
    }

    /// The files, whether they exist or not.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|(file, _)| file.as_path())
    }

    /// All their rules.
    pub fn rules(&self, workspace: &Workspace) -> RuleSet {
        let mut rules = RuleSet::new();
        for (file, text) in &self.files {
            add(&mut rules, file, text.as_ref().map(Option::as_deref), workspace);
        }
        rules
    }

    /// Reads the person's own file again: it needs no trust.
    pub fn refresh(&mut self) {
        for (file, text) in self.files.iter_mut().filter(|(file, _)| *file == self.user_file) {
            *text = read(file, &self.root);
        }
    }

    /// Changes the rules of one of the files, which is made when it is not there, and returns its
    /// new text. A file of the project that somebody else has changed since it was read is left
    /// alone, unless `is_known` says that its content may hold.
    pub fn change(
        &mut self,
        file: &Path,
        edit: &RuleEdit,
        is_known: impl Fn(&str) -> bool,
    ) -> Result<&str, RuleSaveError> {
        let is_own = file == self.user_file;
        let missing = || RuleSaveError::NotCounted { file: file.to_owned() };
        let (_, known) = self.files.iter_mut().find(|(it, _)| it == file).ok_or_else(missing)?;
        let io = |source| RuleSaveError::Io { file: file.to_owned(), source };
        let not_settings = |why| RuleSaveError::NotSettings { file: file.to_owned(), why };
        let text = read(file, &self.root).map_err(|why| not_settings(format!("it {why}")))?;
        let is_as_read = known.as_ref().is_ok_and(|known| *known == text);
        if !is_own && !is_as_read && !text.as_deref().is_some_and(is_known) {
            return Err(RuleSaveError::Changed { file: file.to_owned() });
        }
        let text = apply_edit(text.as_deref(), edit).map_err(|error| match error {
            RuleEditError::NotSettings(why) => not_settings(why),
            RuleEditError::Gone(rule) => RuleSaveError::Gone { file: file.to_owned(), rule },
        })?;
        replace_private(file, text.as_bytes()).map_err(io)?;
        *known = Ok(Some(text));
        Ok(known.as_ref().ok().and_then(Option::as_deref).unwrap_or_default())
    }
}

/// The rules of all files that count.
pub fn load(workspace: &Workspace, project: ProjectSettingsTrust) -> RuleSet {
    SettingsFiles::read(workspace, project).rules(workspace)
}

/// Adds the rules of one file. A missing one is no fault.
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

/// The text of a file, `None` where there is none. What is wrong follows the file's name.
fn read(file: &Path, root: &Path) -> Result<Option<String>, String> {
    let folder = file.starts_with(root).then_some(root);
    let read = read_user_owned(file, folder).map_err(|error| error.to_string())?;
    Ok(read.map(|read| read.text))
}
