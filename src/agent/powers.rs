//! What an agent may do right now: its rules and its mode, and the news that they changed.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::domain::{Mode, RuleFile, RuleKind};
use crate::permissions::store::{ProjectFiles, SaveError, load, rule_file, save_rule};
use crate::permissions::{Decision, Query, RuleError, RuleSet, Workspace, decide};
use crate::trust::{TrustError, TrustStore};

/// Rules and mode, shared by the driver and its running calls.
#[derive(Debug)]
pub(super) struct Powers {
    workspace: Arc<Workspace>,
    project: ProjectFiles,
    inner: Mutex<Inner>,
    /// Held while a settings file is read, changed and written.
    saving: Mutex<()>,
    version: watch::Sender<u64>,
}

#[derive(Debug)]
struct Inner {
    rules: RuleSet,
    of_session: Vec<(RuleKind, String)>,
    mode: Mode,
}

/// Why a rule does not hold as it was meant to.
#[derive(Debug, thiserror::Error)]
pub(super) enum PowerError {
    #[error(transparent)]
    Rule(#[from] RuleError),
    #[error("{0} The rule holds until slug ends.")]
    Save(#[from] SaveError),
    #[error("The rule is saved, but this folder's trust is not: {0}")]
    Trust(#[from] TrustError),
    #[error("The rule may not be saved: {0}.")]
    Lost(#[from] tokio::task::JoinError),
}

impl Powers {
    /// The rules of the settings files that count.
    pub(super) fn new(workspace: Arc<Workspace>, project: ProjectFiles, mode: Mode) -> Self {
        let rules = load(&workspace, project);
        let inner = Mutex::new(Inner { rules, of_session: Vec::new(), mode });
        Self { workspace, project, inner, saving: Mutex::new(()), version: watch::channel(0).0 }
    }

    /// What is wrong with the settings files, in sentences.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.lock().rules.warnings().iter().map(ToString::to_string).collect()
    }

    /// What holds for `query` now. The receiver wakes when that may have changed.
    pub(super) fn decide(&self, query: &Query) -> (Decision, watch::Receiver<u64>) {
        let inner = self.lock();
        let changed = self.version.subscribe();
        (decide(query, &inner.rules, inner.mode, &self.workspace), changed)
    }

    /// Whether searches have to leave a path out.
    pub(super) fn hides(&self, path: &Path) -> bool {
        self.lock().rules.hides(path)
    }

    pub(super) fn mode(&self) -> Mode {
        self.lock().mode
    }

    pub(super) fn set_mode(&self, mode: Mode) {
        let mut inner = self.lock();
        inner.mode = mode;
        self.changed(&inner);
    }

    /// Where saved rules go.
    pub(super) fn rule_file(&self) -> RuleFile {
        rule_file(&self.workspace, self.project)
    }

    /// Rules that hold until slug ends.
    pub(super) fn add_for_session(
        &self,
        kind: RuleKind,
        rules: &[String],
    ) -> Result<(), PowerError> {
        let mut inner = self.lock();
        for rule in rules {
            inner.rules.add_session(kind, rule, &self.workspace)?;
            inner.of_session.push((kind, rule.clone()));
        }
        self.changed(&inner);
        Ok(())
    }

    /// Rules that are saved, off the async threads. What cannot be saved holds until slug ends.
    pub(super) async fn save(
        self: &Arc<Self>,
        kind: RuleKind,
        rules: Vec<String>,
    ) -> Result<(), PowerError> {
        let powers = self.clone();
        tokio::task::spawn_blocking(move || powers.save_now(kind, &rules)).await?
    }

    fn save_now(&self, kind: RuleKind, rules: &[String]) -> Result<(), PowerError> {
        for rule in rules {
            RuleSet::check(rule, kind, &self.workspace)?;
        }
        let file = self.rule_file();
        // Two answers at once must not overwrite each other's rule.
        let _saving = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        for rule in rules {
            if let Err(error) = save_rule(&file, kind, rule) {
                self.add_for_session(kind, rules)?;
                return Err(error.into());
            }
        }
        // The rule holds from here on, whatever comes of the trust.
        self.reload()?;
        self.keep_trust(&file)
    }

    fn reload(&self) -> Result<(), RuleError> {
        let mut fresh = load(&self.workspace, self.project);
        let mut inner = self.lock();
        for (kind, rule) in &inner.of_session {
            fresh.add_session(*kind, rule, &self.workspace)?;
        }
        inner.rules = fresh;
        self.changed(&inner);
        Ok(())
    }

    /// A rule that slug itself has just written into a trusted folder is no change to ask about.
    fn keep_trust(&self, file: &RuleFile) -> Result<(), PowerError> {
        let folder = self.workspace.root();
        let Ok(inside) = file.0.strip_prefix(folder) else { return Ok(()) };
        let content = std::fs::read(&file.0).map_err(|source| TrustError::Io {
            doing: "read",
            path: file.0.clone(),
            source,
        })?;
        let mut trust = TrustStore::open(self.workspace.slug_home(), self.workspace.home())?;
        Ok(trust.keep_own_change(folder, inside, &content)?)
    }

    /// Wakes the open questions, under the lock: who decides afterwards has seen the change.
    fn changed(&self, _inner: &Inner) {
        self.version.send_modify(|version| *version += 1);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
