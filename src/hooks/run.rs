//! The hooks of a run: which there are, which are on, and starting those that fit a moment.
//!
//! Those of one moment run side by side, a command that stands there twice runs once, and what they
//! say is put together in their order, so that it does not depend on which was faster. In plan mode
//! a command may run only where it can change nothing, which the [`HookRunner`] sees to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use crate::domain::{ContentHash, PermissionMode};

use super::event::HookEvent;
use super::hook::{Hook, HookAction, HookId, HookOrigin};
use super::hook_files::{HookFileText, HookFiles, HookSwitchError};
use super::merge::MergedHookVerdict;
use super::payload::{HookContext, HookPayload};
use super::read::HookWarning;
use super::scripts::{self, HookScript};
use super::verdict::{HookDecision, HookVerdict, verdict};

/// Runs the commands of hooks.
#[async_trait]
pub trait HookRunner: Send + Sync {
    /// Runs a command to its end, with all that it starts; at once over when `cancel` is.
    async fn run(&self, order: HookCommand, cancel: &CancellationToken) -> HookCommandResult;
}

/// A command to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCommand {
    /// For `sh -c`. Nothing of a call is ever in it.
    pub line: String,
    /// The folder to start in.
    pub cwd: PathBuf,
    /// On its standard input.
    pub input: String,
    /// How long it may take.
    pub limit: Duration,
    /// What it may do.
    pub confine: HookConfinement,
}

/// What a command may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookConfinement {
    /// What the person's own commands may.
    Normal,
    /// It may change nothing; where that cannot be had, it is not run.
    ReadOnly,
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq)]
pub struct HookCommandResult {
    /// How it ended.
    pub exit: HookExit,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// How long it ran.
    pub elapsed: Duration,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq)]
pub enum HookExit {
    /// With this status.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// It took longer than this.
    TimedOut(Duration),
    /// It was not run, and why, in a sentence.
    NotStarted(String),
    /// The person stopped it.
    Cancelled,
}

/// A hook as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookRow {
    /// Names it.
    pub id: HookId,
    /// When.
    pub event: HookEvent,
    /// For which tools; empty for all.
    pub filter: String,
    /// What it does.
    pub action: HookAction,
    /// Where it stands.
    pub origin: HookOrigin,
    /// Whether it is on.
    pub is_on: bool,
    /// What came of it the last time in this run.
    pub last: Option<String>,
}

/// What came of trying a hook.
#[derive(Debug, Clone, PartialEq)]
pub struct HookTrial {
    /// The hook.
    pub hook: HookRow,
    /// Its command, where it has one that could be run.
    pub ran: Option<HookCommandResult>,
    /// What slug made of it.
    pub verdict: HookVerdict,
}

/// The hooks of a run.
pub struct HookSet {
    files: Option<HookFiles>,
    runner: Arc<dyn HookRunner>,
    loaded: Mutex<Option<Arc<LoadedHooks>>>,
}

#[derive(Default)]
struct LoadedHooks {
    /// The files, each as it holds.
    sources: Vec<HookFileText>,
    /// Files of the project that have changed and do not hold so, as they were when that was told.
    ignored_sources: Vec<HookFileText>,
    hooks: Vec<Hook>,
    warnings: Vec<HookWarning>,
    /// The files of a trusted folder that commands name, as they were when this was read.
    scripts: BTreeMap<HookId, Vec<HookScript>>,
    state: Mutex<HookRunState>,
}

#[derive(Default)]
struct HookRunState {
    off: BTreeSet<HookId>,
    last: BTreeMap<HookId, String>,
}

impl HookSet {
    /// Those of these files, which are read when they are first needed. None where there are no
    /// files: in a run that a hook started itself.
    pub fn new(files: Option<HookFiles>, runner: Arc<dyn HookRunner>) -> Self {
        Self { files, runner, loaded: Mutex::default() }
    }

    /// What is wrong with them.
    pub fn warnings(&self) -> Vec<HookWarning> {
        self.loaded().warnings.clone()
    }

    /// Reads the files again. The person's own hooks hold as they are now; a project's hold as the
    /// person has seen them until they say yes to what is new. What has changed is told once.
    pub fn refresh(&self) -> Vec<HookFileChange> {
        let Some(files) = &self.files else { return Vec::new() };
        let before = self.loaded();
        let now = files.load();
        if now == before.sources {
            return Vec::new();
        }
        let mut changes = Vec::new();
        let (mut sources, mut passed_over) = (Vec::new(), Vec::new());
        for (was, is) in before.sources.iter().zip(now) {
            let differs = is.differs(was);
            let is_of_project = files.is_of_project(&is.file);
            let holds =
                if is_of_project { HookFileVersion::Previous } else { HookFileVersion::Current };
            if differs && !before.ignored_sources.contains(&is) {
                changes.push(HookFileChange { file: is.file.clone(), version: holds });
            }
            match (is_of_project, differs) {
                (true, true) => {
                    sources.push(was.clone());
                    passed_over.push(is);
                }
                (_, _) => sources.push(is),
            }
        }
        let fresh = LoadedHooks::of(files, sources, passed_over, Some(&before));
        *self.lock() = Some(Arc::new(fresh));
        changes
    }

    /// The files of the project that do not hold as they are now, relative to its folder: files of hooks,
    /// and those that hooks name.
    pub fn changed(&self) -> Vec<PathBuf> {
        let Some(files) = &self.files else { return Vec::new() };
        let Some(project) = &files.project else { return Vec::new() };
        let shelf = self.loaded();
        let now = files.load();
        let differing = shelf
            .sources
            .iter()
            .zip(&now)
            .filter(|(was, is)| files.is_of_project(&is.file) && is.differs(was));
        let differing = differing.filter_map(|(_, is)| is.file.strip_prefix(project).ok());
        let mut changed: BTreeSet<PathBuf> = differing.map(Path::to_owned).collect();
        for hook in &shelf.hooks {
            if let (HookAction::Command { line, .. }, Some(before)) =
                (&hook.action, shelf.scripts.get(&hook.id))
            {
                let now = scripts::scripts(line, project);
                let others = before.iter().filter(|script| !now.contains(script));
                changed.extend(others.map(|(file, _)| file.clone()));
            }
        }
        changed.into_iter().collect()
    }

    /// Takes a project's files as they are now, where each is `known`: the person has said yes to just
    /// this content. Else nothing changes, and the first that is not is the error.
    pub fn accept_changes(
        &self,
        is_known: impl Fn(&Path, &ContentHash) -> bool,
    ) -> Result<(), PathBuf> {
        let Some(files) = &self.files else { return Ok(()) };
        let Some(project) = &files.project else { return Ok(()) };
        let fresh = LoadedHooks::of(files, files.load(), Vec::new(), None);
        let of_project = fresh.sources.iter().filter(|source| files.is_of_project(&source.file));
        let files = of_project.filter_map(|source| {
            let inside = source.file.strip_prefix(project).ok()?;
            Some((inside.to_owned(), source.hash()?))
        });
        let scripts = fresh.scripts.values().flatten().cloned();
        if let Some((file, _)) = files.chain(scripts).find(|(file, hash)| !is_known(file, hash)) {
            return Err(file);
        }
        fresh.lock().last.clone_from(&self.loaded().lock().last);
        *self.lock() = Some(Arc::new(fresh));
        Ok(())
    }

    /// Whether any hook of this event is on.
    pub fn has(&self, event: HookEvent) -> bool {
        let shelf = self.loaded();
        let off = &shelf.lock().off;
        shelf.hooks.iter().any(|hook| hook.event == event && !off.contains(&hook.id))
    }

    /// All of them.
    pub fn rows(&self) -> Vec<HookRow> {
        let shelf = self.loaded();
        let state = shelf.lock();
        shelf.hooks.iter().map(|hook| row(hook, &state)).collect()
    }

    /// Switches a hook off, or on again.
    pub fn switch(&self, id: &HookId) -> Result<(), HookSwitchError> {
        if let Some(files) = &self.files {
            self.loaded().lock().off = files.switch(id)?;
        }
        Ok(())
    }

    /// Runs the hooks that fit, and says what they want.
    pub async fn fire(
        &self,
        scene: &HookContext,
        moment: &HookPayload,
        cancel: &CancellationToken,
    ) -> MergedHookVerdict {
        let shelf = self.loaded();
        let hooks = shelf.fitting(moment);
        if hooks.is_empty() {
            return MergedHookVerdict::default();
        }
        let input = moment.json(scene).to_string();
        let running = hooks.iter().map(|hook| self.one(hook, scene, input.clone(), cancel));
        let verdicts: Vec<HookVerdict> =
            join_all(running).await.into_iter().map(|(verdict, _)| verdict).collect();
        let mut state = shelf.lock();
        for (hook, verdict) in hooks.iter().zip(&verdicts) {
            state.last.insert(hook.id.clone(), outcome(verdict));
        }
        drop(state);
        MergedHookVerdict::of(hooks.iter().map(|hook| &hook.origin).zip(verdicts))
    }

    /// Runs one hook with a made-up moment. `None` when it is not there.
    pub async fn try_out(
        &self,
        id: &HookId,
        scene: &HookContext,
        cancel: &CancellationToken,
    ) -> Option<HookTrial> {
        let shelf = self.loaded();
        let hook = shelf.hooks.iter().find(|hook| hook.id == *id)?;
        let input = HookPayload::sample(hook.event).json(scene).to_string();
        let (verdict, ran) = self.one(hook, scene, input, cancel).await;
        let mut state = shelf.lock();
        state.last.insert(hook.id.clone(), outcome(&verdict));
        Some(HookTrial { hook: row(hook, &state), ran, verdict })
    }

    async fn one(
        &self,
        hook: &Hook,
        scene: &HookContext,
        input: String,
        cancel: &CancellationToken,
    ) -> (HookVerdict, Option<HookCommandResult>) {
        let (line, limit) = match &hook.action {
            HookAction::Prompt(text) => return (HookVerdict::context(text), None),
            HookAction::Unreadable(why) => {
                return (
                    HookVerdict::failed(hook.event, format!("It cannot be read: {why}.")),
                    None,
                );
            }
            HookAction::Command { line, limit } => (line, *limit),
        };
        if let Some(why) = self.cannot_run(hook, line, &scene.cwd).await {
            return (HookVerdict::failed(hook.event, why), None);
        }
        let confine = if scene.mode == PermissionMode::Plan {
            HookConfinement::ReadOnly
        } else {
            HookConfinement::Normal
        };
        let (line, cwd) = (line.clone(), scene.cwd.clone());
        let ran = self.runner.run(HookCommand { line, cwd, input, limit, confine }, cancel).await;
        let verdict = verdict(hook.event, hook.form, &ran.exit, &ran.stdout, &ran.stderr);
        (verdict, Some(ran))
    }

    /// Why a command must not or cannot be run, where that is known before.
    async fn cannot_run(&self, hook: &Hook, line: &str, cwd: &Path) -> Option<String> {
        let before = self.loaded().scripts.get(&hook.id).cloned();
        let folder = self.files.as_ref().and_then(|files| files.project.clone());
        let (line, cwd) = (line.to_owned(), cwd.to_owned());
        let looked = tokio::task::spawn_blocking(move || {
            if let (Some(before), Some(folder)) = (before, folder)
                && let now = scripts::scripts(&line, &folder)
                && let Some((file, _)) = before.iter().find(|script| !now.contains(script))
            {
                let file = folder.join(file);
                let file = file.display();
                return Some(format!(
                    "It is not run: {file} has changed since slug began. Look at it, then trust it in \
                     /hooks or start slug anew."
                ));
            }
            let file = scripts::not_executable(&line, &cwd)?;
            let file = file.display();
            Some(format!("It cannot be run: {file} is not executable. Run: chmod +x {file}"))
        });
        looked.await.unwrap_or_else(|error| Some(format!("It cannot be looked at: {error}.")))
    }

    fn loaded(&self) -> Arc<LoadedHooks> {
        let read = || match &self.files {
            Some(files) => LoadedHooks::of(files, files.load(), Vec::new(), None),
            None => LoadedHooks::default(),
        };
        self.lock().get_or_insert_with(|| Arc::new(read())).clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<LoadedHooks>>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file of hooks that has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookFileChange {
    /// The file.
    pub file: PathBuf,
    /// What of it holds.
    pub version: HookFileVersion,
}

/// What of a file that has changed holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookFileVersion {
    /// What is in it now.
    Current,
    /// What was in it before.
    Previous,
}

impl LoadedHooks {
    fn of(
        files: &HookFiles,
        sources: Vec<HookFileText>,
        passed_over: Vec<HookFileText>,
        before: Option<&Self>,
    ) -> Self {
        let (mut hooks, mut warnings) = (Vec::new(), Vec::new());
        for (found, wrong) in sources.iter().map(HookFileText::hooks) {
            hooks.extend(found);
            warnings.extend(wrong);
        }
        let (off, wrong) = files.off();
        warnings.extend(wrong);
        let project = files.project.as_deref();
        let of = |hook: &Hook| match &hook.action {
            HookAction::Command { line, .. } => {
                // What had changed since slug began has changed still.
                let known = before.and_then(|it| it.scripts.get(&hook.id)).cloned();
                let scripts = known.or_else(|| Some(scripts::scripts(line, project?)))?;
                Some((hook.id.clone(), scripts))
            }
            HookAction::Prompt(_) | HookAction::Unreadable(_) => None,
        };
        let scripts = hooks.iter().filter_map(of).collect();
        let last = before.map(|it| it.lock().last.clone()).unwrap_or_default();
        let state = Mutex::new(HookRunState { off, last });
        Self { sources, ignored_sources: passed_over, hooks, warnings, scripts, state }
    }

    /// Those that are on and fit, in their order; the same command once.
    fn fitting(&self, moment: &HookPayload) -> Vec<&Hook> {
        let state = self.lock();
        let mut fitting: Vec<&Hook> = Vec::new();
        for hook in &self.hooks {
            let fits = hook.event == moment.event()
                && hook.filter.fits(moment.subject())
                && !state.off.contains(&hook.id);
            let is_there = |other: &&Hook| (other.form, &other.action) == (hook.form, &hook.action);
            if fits && !fitting.iter().any(is_there) {
                fitting.push(hook);
            }
        }
        fitting
    }

    fn lock(&self) -> MutexGuard<'_, HookRunState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn row(hook: &Hook, state: &HookRunState) -> HookRow {
    HookRow {
        id: hook.id.clone(),
        event: hook.event,
        filter: hook.filter.text().to_owned(),
        action: hook.action.clone(),
        origin: hook.origin.clone(),
        is_on: !state.off.contains(&hook.id),
        last: state.last.get(&hook.id).cloned(),
    }
}

/// What a verdict comes to, in a few words.
pub(super) fn outcome(verdict: &HookVerdict) -> String {
    match (&verdict.decision, &verdict.fault) {
        (HookDecision::Block(reason), _) => format!("blocked: {reason}"),
        (_, Some(fault)) => format!("failed: {fault}"),
        (HookDecision::Ask(reason), None) => format!("asked: {reason}"),
        (HookDecision::Allow(_), None) if verdict.input.is_none() => "allowed".into(),
        (HookDecision::Allow(_) | HookDecision::Nothing, None) => {
            match (&verdict.input, &verdict.context) {
                (Some(_), _) => "changed the call".into(),
                (None, Some(_)) => "told the model something".into(),
                (None, None) => "passed".into(),
            }
        }
    }
}
