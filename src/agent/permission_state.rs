//! What an agent may do right now: its rules and its mode, and a signal when they change.
//!
//! The project's settings files hold as they were when the user trusted them. Changes that others
//! make to them while slug runs are asked about at the next start.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::domain::{PermissionMode, RuleFile, RuleKind, RuleSource};
use crate::permissions::sandbox::ReadRules;
use crate::permissions::store::{
    ProjectSettingsTrust, RuleEdit, RuleEntry, SavedSettings, SettingsFiles, rule_file,
};
use crate::permissions::{
    HookPermission, PermissionDecision, PermissionQuery, RuleError, RuleListReport, RuleSet,
    Workspace, decide_with,
};
use crate::tools::SHELL_TOOL;
use crate::trust::{TrustError, TrustStore};

use super::path_order::PathOrder;
use super::rule_request::RuleChangeError;

/// Rules and mode, shared by the agent loop and the running calls.
#[derive(Debug)]
pub(super) struct PermissionState {
    workspace: Arc<Workspace>,
    project: ProjectSettingsTrust,
    inner: Arc<Mutex<RulesAndMode>>,
    /// What is allowed until the turn ends: to this agent alone, in no other agent's turn.
    of_turn: Mutex<Vec<String>>,
    ceiling: ModeCeiling,
    /// Locked while a settings file is read, changed and written.
    settings: Arc<Mutex<SettingsFiles>>,
    version: watch::Sender<u64>,
    /// Shared with the agents that this one starts.
    pub(super) path_order: PathOrder,
    /// Where the sandbox looks up which files commands may read; `None` without a sandbox.
    read_rules: Option<Arc<ReadRules>>,
}

/// What an agent's mode is at most, whatever the mode of its parent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModeCeiling {
    Open,
    /// It changes nothing.
    Plan,
}

impl ModeCeiling {
    fn narrow(self, mode: PermissionMode) -> PermissionMode {
        match self {
            Self::Open => mode,
            Self::Plan => PermissionMode::Plan,
        }
    }
}

#[derive(Debug)]
struct RulesAndMode {
    rules: RuleSet,
    of_session: Vec<(RuleKind, String)>,
    mode: PermissionMode,
    /// The mode before the present plan mode.
    before_plan: Option<PermissionMode>,
}

impl PermissionState {
    /// Reads the rules of the settings files that count under this trust.
    pub(super) fn new(
        workspace: Arc<Workspace>,
        project: ProjectSettingsTrust,
        mode: PermissionMode,
        read_rules: Option<Arc<ReadRules>>,
    ) -> Self {
        let settings = SettingsFiles::read(&workspace, project);
        let rules = settings.rules(&workspace);
        let inner =
            Mutex::new(RulesAndMode { rules, of_session: Vec::new(), mode, before_plan: None });
        let (inner, settings) = (Arc::new(inner), Arc::new(Mutex::new(settings)));
        let ceiling = ModeCeiling::Open;
        let version = watch::channel(0).0;
        let (of_turn, path_order) = (Mutex::default(), PathOrder::default());
        let state = Self {
            workspace,
            project,
            inner,
            of_turn,
            ceiling,
            settings,
            version,
            path_order,
            read_rules,
        };
        state.changed(&state.lock());
        state
    }

    /// What is wrong in the settings files, as sentences.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.lock().rules.warnings().iter().map(ToString::to_string).collect()
    }

    /// Decides `query` by rules, mode and the verdict of the hooks. The receiver wakes when rules
    /// or mode have changed since.
    pub(super) fn decide(
        &self,
        query: &PermissionQuery,
        hook_permission: &HookPermission,
    ) -> (PermissionDecision, watch::Receiver<u64>) {
        let inner = self.lock();
        let changed = self.version.subscribe();
        let mode = self.ceiling.narrow(inner.mode);
        let rules = self.rules_in_turn(&inner.rules);
        (decide_with(query, &rules, mode, &self.workspace, hook_permission), changed)
    }

    /// What a decision goes by: besides what is in force anyway, what this agent may do until its turn ends.
    fn rules_in_turn<'a>(&self, rules: &'a RuleSet) -> Cow<'a, RuleSet> {
        let mut rules = Cow::Borrowed(rules);
        for rule in self.turn_rules().iter() {
            if let Err(error) = rules.to_mut().add_session(RuleKind::Allow, rule, &self.workspace) {
                tracing::error!(%error, rule, "a rule of the turn is left out");
            }
        }
        rules
    }

    /// Whether a deny rule hides this path from what a tool finds.
    pub(super) fn hides(&self, tool: &str, path: &Path) -> bool {
        self.lock().rules.hides(tool, path)
    }

    /// Whether a deny rule covers every call of a tool.
    pub(super) fn denies_tool(&self, tool: &str) -> bool {
        self.lock().rules.denies_tool(tool)
    }

    pub(super) fn mode(&self) -> PermissionMode {
        self.ceiling.narrow(self.lock().mode)
    }

    /// The same rules and mode for an agent that this one's starts: what changes here, changes there,
    /// and an answer for the session holds for both.
    pub(super) fn for_child(&self, ceiling: ModeCeiling) -> Self {
        Self {
            workspace: self.workspace.clone(),
            project: self.project,
            inner: self.inner.clone(),
            of_turn: Mutex::default(),
            ceiling,
            settings: self.settings.clone(),
            version: self.version.clone(),
            path_order: self.path_order.clone(),
            read_rules: self.read_rules.clone(),
        }
    }

    /// The mode that held before plan mode was chosen last.
    pub(super) fn mode_before_plan(&self) -> Option<PermissionMode> {
        self.lock().before_plan
    }

    pub(super) fn set_mode(&self, mode: PermissionMode) {
        let mut inner = self.lock();
        if mode == PermissionMode::Plan && inner.mode != mode {
            inner.before_plan = Some(inner.mode);
        }
        inner.mode = mode;
        self.changed(&inner);
    }

    /// The settings file that new rules are saved to.
    pub(super) fn rule_file(&self) -> RuleFile {
        rule_file(&self.workspace, self.project)
    }

    /// Checks that texts are rules that could be saved.
    pub(super) fn check(&self, kind: RuleKind, rules: &[String]) -> Result<(), RuleError> {
        rules.iter().try_for_each(|rule| RuleSet::check(rule, kind, &self.workspace))
    }

    /// Adds rules that hold until slug ends.
    pub(super) fn add_for_session(
        &self,
        kind: RuleKind,
        rules: &[String],
    ) -> Result<(), RuleChangeError> {
        let mut inner = self.lock();
        for rule in rules {
            inner.rules.add_session(kind, rule, &self.workspace)?;
            inner.of_session.push((kind, rule.clone()));
        }
        self.changed(&inner);
        Ok(())
    }

    /// Allows what a rule says until the turn ends. Deny and ask rules hold all the same.
    pub(super) fn allow_for_turn(&self, rule: &str) -> Result<(), RuleError> {
        RuleSet::check(rule, RuleKind::Allow, &self.workspace)?;
        self.turn_rules().push(rule.to_owned());
        self.changed(&self.lock());
        Ok(())
    }

    /// Ends what was allowed for a turn.
    pub(super) fn end_turn_rules(&self) {
        let had = !std::mem::take(&mut *self.turn_rules()).is_empty();
        if had {
            self.changed(&self.lock());
        }
    }

    /// Saves rules to the settings file, off the async threads. When that fails, they hold until
    /// slug ends. Returns those that the file did not hold before.
    pub(super) async fn save(
        self: &Arc<Self>,
        kind: RuleKind,
        rules: Vec<String>,
    ) -> Result<Vec<RuleEntry>, RuleChangeError> {
        let state = self.clone();
        tokio::task::spawn_blocking(move || state.save_now(kind, &rules)).await?
    }

    fn save_now(
        &self,
        kind: RuleKind,
        rules: &[String],
    ) -> Result<Vec<RuleEntry>, RuleChangeError> {
        self.check(kind, rules)?;
        let file = self.rule_file();
        let before = self.list().0.rules;
        for rule in rules {
            let edit = RuleEdit::Add((kind, rule.clone()));
            match self.change_file(&file.0, &edit) {
                Ok(()) => {}
                Err(RuleChangeError::Save(error)) => {
                    self.add_for_session(kind, rules)?;
                    return Err(RuleChangeError::SessionOnly(error));
                }
                Err(error) => return Err(error),
            }
        }
        let is_new = |rule: &&String| {
            let is_it = |it: &RuleSource| {
                it.kind == kind && it.rule == rule.trim() && it.file.as_ref() == Some(&file.0)
            };
            !before.iter().any(is_it)
        };
        Ok(rules.iter().filter(is_new).map(|rule| (kind, rule.trim().to_owned())).collect())
    }

    /// Changes a rule of a settings file; without a file, a rule that holds until slug ends.
    pub(super) async fn change(
        self: &Arc<Self>,
        file: Option<PathBuf>,
        edit: RuleEdit,
    ) -> Result<(), RuleChangeError> {
        let state = self.clone();
        tokio::task::spawn_blocking(move || state.change_now(file.as_deref(), edit)).await?
    }

    fn change_now(&self, file: Option<&Path>, edit: RuleEdit) -> Result<(), RuleChangeError> {
        if let RuleEdit::Add((kind, rule)) | RuleEdit::Replace { to: (kind, rule), .. } = &edit {
            RuleSet::check(rule, *kind, &self.workspace)?;
        }
        match file {
            Some(file) => self.change_file(file, &edit),
            None => {
                let (from, to) = match edit {
                    RuleEdit::Add(to) => (None, Some(to)),
                    RuleEdit::Remove(from) => (Some(from), None),
                    RuleEdit::Replace { from, to } => (Some(from), Some(to)),
                };
                {
                    let mut inner = self.lock();
                    inner.of_session.retain(|rule| Some(rule) != from.as_ref());
                    inner.of_session.extend(to);
                }
                Ok(self.apply_settings(&self.settings())?)
            }
        }
    }

    /// The rules that allow commands, as they are written.
    pub(super) fn command_rules(&self) -> Vec<String> {
        let inner = self.lock();
        let allowed = inner.rules.sources().filter(|source| source.kind == RuleKind::Allow);
        let of_commands = allowed.filter(|source| {
            source.rule == SHELL_TOOL || source.rule.starts_with(&format!("{SHELL_TOOL}("))
        });
        of_commands.map(|source| source.rule.clone()).collect()
    }

    /// All rules that hold, and the settings files that they can be saved to.
    pub(super) fn list(&self) -> (RuleListReport, Vec<PathBuf>) {
        let report = RuleListReport::from(&*self.rules_in_turn(&self.lock().rules));
        let files = self.settings().files().map(Path::to_owned).collect();
        (report, files)
    }

    fn change_file(&self, file: &Path, edit: &RuleEdit) -> Result<(), RuleChangeError> {
        // Two answers at the same time must not overwrite each other's rule.
        let mut settings = self.settings();
        settings.refresh();
        let saved = settings.change(file, edit, |text| self.is_trusted(file, text))?;
        let (text, is_new) = (saved.text.to_owned(), saved.is_new);
        // The rule holds from now on, even if the trust cannot be saved.
        self.apply_settings(&settings)?;
        self.keep_trust(file, SavedSettings { text: &text, is_new })
    }

    /// Puts the rules of the files and those of the session into force.
    fn apply_settings(&self, settings: &SettingsFiles) -> Result<(), RuleError> {
        let mut fresh = settings.rules(&self.workspace);
        let mut inner = self.lock();
        for (kind, rule) in &inner.of_session {
            fresh.add_session(*kind, rule, &self.workspace)?;
        }
        inner.rules = fresh;
        self.changed(&inner);
        Ok(())
    }

    /// Whether this content of a project's file is trusted: another slug process may have written
    /// it for the user since this one read it.
    fn is_trusted(&self, file: &Path, text: &str) -> bool {
        let folder = self.workspace.root();
        let inside = file.strip_prefix(folder).ok();
        let trust = TrustStore::open(self.workspace.slug_home(), self.workspace.home());
        inside
            .zip(trust.ok())
            .is_some_and(|(inside, trust)| trust.knows(folder, inside, text.as_bytes()))
    }

    /// Keeps a trusted folder trusted after slug itself has written a rule into one of its files, also
    /// one that is trusted because there was nothing in it to ask about.
    fn keep_trust(&self, file: &Path, saved: SavedSettings<'_>) -> Result<(), RuleChangeError> {
        Ok(self.keep_own_text(file, saved.text, saved.is_new)?)
    }

    /// Keeps a trusted folder trusted after slug itself has written this text into one of its files for
    /// the user. Other files are no part of the trust.
    ///
    /// # Errors
    ///
    /// When the trust cannot be read or saved.
    pub(super) fn keep_own_text(
        &self,
        file: &Path,
        text: &str,
        is_new: bool,
    ) -> Result<(), TrustError> {
        let folder = self.workspace.root();
        let Ok(inside) = file.strip_prefix(folder) else { return Ok(()) };
        let mut trust = TrustStore::open(self.workspace.slug_home(), self.workspace.home())?;
        if is_new {
            trust.keep_own_file(folder, inside, text.as_bytes())?;
        }
        trust.keep_own_change(folder, inside, text.as_bytes())
    }

    /// Wakes the open questions. The caller holds the lock, so whoever decides afterwards sees the
    /// change.
    fn changed(&self, inner: &RulesAndMode) {
        if let Some(read_rules) = &self.read_rules {
            read_rules.set(&inner.rules);
        }
        self.version.send_modify(|version| *version += 1);
    }

    fn turn_rules(&self) -> MutexGuard<'_, Vec<String>> {
        self.of_turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settings(&self) -> MutexGuard<'_, SettingsFiles> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, RulesAndMode> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
