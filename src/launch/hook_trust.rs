//! Trusts the hooks of a project again after they have changed while slug runs. The user trusts
//! exactly the files that were shown.

use std::path::PathBuf;

use crate::hooks::HookSet;
use crate::trust::{
    InventoryItemKind, TrustError, TrustLineMark, TrustQuestion, TrustQuestionFile, TrustStore,
};

/// The folder in question, and the homes whose trust store is used.
pub(super) struct ProjectHookTrust {
    pub(super) cwd: PathBuf,
    pub(super) home: PathBuf,
    pub(super) user_home: Option<PathBuf>,
}

/// Why the changed hooks are still not trusted.
#[derive(Debug, thiserror::Error)]
pub(super) enum HookTrustError {
    /// The trust store could not be written.
    #[error(transparent)]
    Store(#[from] TrustError),
    /// A file has changed since it was shown.
    #[error("{0} has changed since it was shown. Open /hooks again.")]
    Changed(PathBuf),
}

impl ProjectHookTrust {
    /// The question to ask when these files have changed; `None` when there are none.
    pub(super) fn question(
        &self,
        changed: &[PathBuf],
    ) -> Result<Option<TrustQuestion>, TrustError> {
        if changed.is_empty() {
            return Ok(None);
        }
        self.store()?.question(&self.cwd).map(Some)
    }

    /// Saves the user's trust; the hooks hold from now on as they were shown.
    pub(super) fn take(
        &self,
        question: TrustQuestion,
        hooks: &HookSet,
    ) -> Result<(), HookTrustError> {
        let mut store = self.store()?;
        store.grant_asked(question)?;
        let covered = store.covered(&self.cwd);
        let renewed = hooks.accept_changes(|file, hash| covered.get(file) == Some(hash));
        renewed.map_err(HookTrustError::Changed)
    }

    fn store(&self) -> Result<TrustStore, TrustError> {
        TrustStore::open(&self.home, self.user_home.as_deref())
    }
}

/// The lines of a question: the files that have changed, or all files with hooks when the folder
/// was not trusted before.
pub(super) fn lines(question: &TrustQuestion) -> String {
    let items = question.items();
    let is_new =
        |item: &&TrustQuestionFile| item.lines.iter().any(|(mark, _)| *mark != TrustLineMark::Same);
    let mut shown: Vec<&TrustQuestionFile> = items.iter().filter(is_new).collect();
    if shown.is_empty() {
        shown =
            items.iter().filter(|item| item.kinds.contains(&InventoryItemKind::Hooks)).collect();
    }
    let mut text = String::new();
    for item in shown {
        text.push_str(&format!("{}, {}\n", item.path.display(), item.words()));
        for (mark, line) in &item.lines {
            text.push_str(&format!("  {}{line}\n", mark.sign()));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_named_once_above_its_new_and_removed_lines() {
        let folder = tempfile::tempdir().unwrap();
        let (home, project) = (folder.path().join("home"), folder.path().join("app"));
        let hook = |command: &str| {
            format!(
                r#"{{"hooks":[{{"event":"Stop","action":{{"type":"command","command":"{command}"}}}},
                {{"event":"Stop","action":{{"type":"command","command":"make"}}}}]}}"#
            )
        };
        fs::create_dir_all(project.join(".slug")).unwrap();
        fs::write(project.join(".slug/settings.json"), hook("one")).unwrap();
        fs::write(project.join("SLUG.md"), "x").unwrap();
        let mut store = TrustStore::open(&home, None).unwrap();
        store.grant(&project).unwrap();
        fs::write(project.join(".slug/settings.json"), hook("two")).unwrap();
        let question = store.question(&project).unwrap();
        let expected = "\
.slug/settings.json, programs that slug would run
  + on Stop runs two (slug cannot tell which files two uses)
    on Stop runs make (slug cannot tell which files make uses)
  - on Stop runs one (slug cannot tell which files one uses)
";
        assert_eq!(lines(&question), expected);
    }
}
