//! The hooks of a run: which hooks there are, which are on, and running those that match an event.
//!
//! The hooks of one event run side by side. A command that is listed twice runs once, and the
//! verdicts are merged in the hooks' order, so that the result does not depend on which hook was
//! faster. In plan mode a command runs only where it can change nothing; the [`HookRunner`] sees to
//! that.

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

/// Runs the commands of hooks. The platform implements it; tests replace it.
#[async_trait]
pub trait HookRunner: Send + Sync {
    /// Runs a command, with everything that it starts, to its end. Stops at once when `cancel` is
    /// cancelled.
    async fn run(&self, command: HookCommand, cancel: &CancellationToken) -> HookCommandResult;
}

/// A hook's command, ready to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCommand {
    /// For `sh -c`. Never holds any part of a tool call.
    pub line: String,
    /// The folder that the command starts in.
    pub cwd: PathBuf,
    /// The payload, for the command's standard input.
    pub input: String,
    /// The timeout, after which the command is killed.
    pub limit: Duration,
    pub confine: HookConfinement,
}

/// What a hook's command may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookConfinement {
    /// As much as the user's own commands.
    Normal,
    /// Nothing may be changed. Where that cannot be enforced, the command is not run.
    ReadOnly,
}

/// How a hook's command ended, and what it printed.
#[derive(Debug, Clone, PartialEq)]
pub struct HookCommandResult {
    pub exit: HookExit,
    pub stdout: String,
    pub stderr: String,
    pub elapsed: Duration,
}

/// How a hook's command ended.
#[derive(Debug, Clone, PartialEq)]
pub enum HookExit {
    /// With this exit status.
    Code(i32),
    /// Killed by this signal.
    Signal(i32),
    /// Killed after this timeout.
    TimedOut(Duration),
    /// Not run; the sentence says why.
    NotStarted(String),
    /// Stopped by the user.
    Cancelled,
}

/// A hook as `/hooks` lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookRow {
    pub id: HookId,
    pub event: HookEvent,
    /// The filter's text; empty when the hook applies to all tools.
    pub filter: String,
    pub action: HookAction,
    pub origin: HookOrigin,
    pub is_on: bool,
    /// The outcome of the last time in this run, in a few words; `None` before it ran.
    pub last: Option<String>,
}

/// The result of trying out one hook.
#[derive(Debug, Clone, PartialEq)]
pub struct HookTrial {
    pub hook: HookRow,
    /// The command's end; `None` where no command was run.
    pub ran: Option<HookCommandResult>,
    pub verdict: HookVerdict,
}

/// All hooks of a run. Without [`HookFiles`] it is empty.
pub struct HookSet {
    files: Option<HookFiles>,
    runner: Arc<dyn HookRunner>,
    loaded: Mutex<Option<Arc<LoadedHooks>>>,
}

#[derive(Default)]
struct LoadedHooks {
    /// The files, each in the version that holds.
    sources: Vec<HookFileText>,
    /// Changed files of the project whose change does not hold yet, as they were when the change
    /// was reported.
    ignored_sources: Vec<HookFileText>,
    hooks: Vec<Hook>,
    warnings: Vec<HookWarning>,
    /// The files that the hooks' commands name, relative to the trusted folder, with the hash that
    /// each had when it was first read. A file that is not among them has appeared since.
    scripts: BTreeMap<HookId, Vec<HookScript>>,
    state: Mutex<HookRunState>,
}

#[derive(Default)]
struct HookRunState {
    off: BTreeSet<HookId>,
    last: BTreeMap<HookId, String>,
}

impl HookSet {
    /// The hooks of these files, which are read when they are first needed. Without files there are
    /// no hooks: so in a run that a hook itself started.
    pub fn new(files: Option<HookFiles>, runner: Arc<dyn HookRunner>) -> Self {
        Self { files, runner, loaded: Mutex::default() }
    }

    /// What is wrong in the files.
    pub fn warnings(&self) -> Vec<HookWarning> {
        self.loaded().warnings.clone()
    }

    /// Reads the files again. The user's own hooks hold as they are now; a project's hold as the
    /// user has seen them, until the user accepts the change. Each change is reported once.
    pub fn refresh(&self) -> Vec<HookFileChange> {
        let Some(files) = &self.files else { return Vec::new() };
        let before = self.loaded();
        let now = files.load();
        if now == before.sources {
            return Vec::new();
        }
        let mut changes = Vec::new();
        let (mut sources, mut ignored_sources) = (Vec::new(), Vec::new());
        for (was, is) in before.sources.iter().zip(now) {
            let differs = is.differs(was);
            let is_of_project = files.is_of_project(&is.file);
            let version =
                if is_of_project { HookFileVersion::Previous } else { HookFileVersion::Current };
            if differs && !before.ignored_sources.contains(&is) {
                changes.push(HookFileChange { file: is.file.clone(), version });
            }
            match (is_of_project, differs) {
                (true, true) => {
                    sources.push(was.clone());
                    ignored_sources.push(is);
                }
                (_, _) => sources.push(is),
            }
        }
        let fresh = LoadedHooks::of(files, sources, ignored_sources, Some(&before));
        *self.lock() = Some(Arc::new(fresh));
        changes
    }

    /// The files of the project that have changed and whose change does not hold, relative to the
    /// project: hook files, and files that hooks name.
    pub fn changed(&self) -> Vec<PathBuf> {
        let Some(files) = &self.files else { return Vec::new() };
        let Some(project) = &files.project else { return Vec::new() };
        let loaded = self.loaded();
        let now = files.load();
        let differing = loaded
            .sources
            .iter()
            .zip(&now)
            .filter(|(was, is)| files.is_of_project(&is.file) && is.differs(was));
        let differing = differing.filter_map(|(_, is)| is.file.strip_prefix(project).ok());
        let mut changed: BTreeSet<PathBuf> = differing.map(Path::to_owned).collect();
        for hook in &loaded.hooks {
            if let (HookAction::Command { line, .. }, Some(before)) =
                (&hook.action, loaded.scripts.get(&hook.id))
            {
                let now = scripts::scripts(line, project);
                changed.extend(scripts::changed_files(before, &now).map(Path::to_owned));
            }
        }
        changed.into_iter().collect()
    }

    /// Accepts a project's files as they are now, if `is_known` says of each that the user trusts
    /// exactly this content.
    ///
    /// # Errors
    ///
    /// Changes nothing when a file is not known, and gives the first such file, relative to the
    /// project.
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
        let loaded = self.loaded();
        let off = &loaded.lock().off;
        loaded.hooks.iter().any(|hook| hook.event == event && !off.contains(&hook.id))
    }

    /// Whether any hook that is on matches the payload.
    pub fn has_fitting(&self, payload: &HookPayload) -> bool {
        !self.loaded().fitting(payload).is_empty()
    }

    /// All hooks, in order, for `/hooks`.
    pub fn rows(&self) -> Vec<HookRow> {
        let loaded = self.loaded();
        let state = loaded.lock();
        loaded.hooks.iter().map(|hook| row(hook, &state)).collect()
    }

    /// Switches a hook off, or on again.
    ///
    /// # Errors
    ///
    /// Fails when the list of switched-off hooks cannot be read or written.
    pub fn switch(&self, id: &HookId) -> Result<(), HookSwitchError> {
        if let Some(files) = &self.files {
            self.loaded().lock().off = files.switch(id)?;
        }
        Ok(())
    }

    /// Runs the hooks that match the payload, and merges what they want.
    pub async fn fire(
        &self,
        context: &HookContext,
        payload: &HookPayload,
        cancel: &CancellationToken,
    ) -> MergedHookVerdict {
        let loaded = self.loaded();
        let hooks = loaded.fitting(payload);
        if hooks.is_empty() {
            return MergedHookVerdict::default();
        }
        let input = payload.json(context).to_string();
        let running = hooks.iter().map(|hook| self.one(hook, context, input.clone(), cancel));
        let verdicts: Vec<HookVerdict> =
            join_all(running).await.into_iter().map(|(verdict, _)| verdict).collect();
        let mut state = loaded.lock();
        for (hook, verdict) in hooks.iter().zip(&verdicts) {
            state.last.insert(hook.id.clone(), outcome(verdict));
        }
        drop(state);
        MergedHookVerdict::of(hooks.iter().map(|hook| &hook.origin).zip(verdicts))
    }

    /// Runs one hook with a made-up payload. `None` when there is no such hook.
    pub async fn try_out(
        &self,
        id: &HookId,
        context: &HookContext,
        cancel: &CancellationToken,
    ) -> Option<HookTrial> {
        let loaded = self.loaded();
        let hook = loaded.hooks.iter().find(|hook| hook.id == *id)?;
        let input = HookPayload::sample(hook.event).json(context).to_string();
        let (verdict, ran) = self.one(hook, context, input, cancel).await;
        let mut state = loaded.lock();
        state.last.insert(hook.id.clone(), outcome(&verdict));
        Some(HookTrial { hook: row(hook, &state), ran, verdict })
    }

    async fn one(
        &self,
        hook: &Hook,
        context: &HookContext,
        input: String,
        cancel: &CancellationToken,
    ) -> (HookVerdict, Option<HookCommandResult>) {
        let (line, limit) = match &hook.action {
            HookAction::Prompt(text) => return (HookVerdict::context(text), None),
            HookAction::Unreadable(why) => {
                return (HookVerdict::failed(hook.event, format!("Cannot read it: {why}.")), None);
            }
            HookAction::Command { line, limit } => (line, *limit),
        };
        if let Some(why) = self.cannot_run(hook, line, &context.cwd).await {
            return (HookVerdict::failed(hook.event, why), None);
        }
        let confine = if context.mode == PermissionMode::Plan {
            HookConfinement::ReadOnly
        } else {
            HookConfinement::Normal
        };
        let (line, cwd) = (line.clone(), context.cwd.clone());
        let ran = self.runner.run(HookCommand { line, cwd, input, limit, confine }, cancel).await;
        let verdict = verdict(hook.event, hook.form, &ran.exit, &ran.stdout, &ran.stderr);
        (verdict, Some(ran))
    }

    /// Why a command must not or cannot be run, where that is known before it starts.
    async fn cannot_run(&self, hook: &Hook, line: &str, cwd: &Path) -> Option<String> {
        let before = self.loaded().scripts.get(&hook.id).cloned();
        let folder = self.files.as_ref().and_then(|files| files.project.clone());
        let (line, cwd) = (line.to_owned(), cwd.to_owned());
        let reason = tokio::task::spawn_blocking(move || {
            if let (Some(before), Some(folder)) = (before, folder)
                && let now = scripts::scripts(&line, &folder)
                && let Some(file) = scripts::changed_files(&before, &now).next()
            {
                let is_known = before.iter().any(|(known, _)| known == file);
                let what = if is_known { "has changed" } else { "has appeared" };
                let file = folder.join(file);
                let file = file.display();
                return Some(format!(
                    "It does not run: {file} {what} since slug started. Check it, then trust it \
                     in /hooks or restart slug."
                ));
            }
            let file = scripts::not_executable(&line, &cwd)?;
            let file = file.display();
            Some(format!("It cannot run: {file} is not executable. Run: chmod +x {file}"))
        });
        reason.await.unwrap_or_else(|error| Some(format!("Cannot check it: {error}.")))
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

/// A hook file that has changed during the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookFileChange {
    pub file: PathBuf,
    pub version: HookFileVersion,
}

/// Which version of a changed file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookFileVersion {
    /// The version on disk.
    Current,
    /// The version from before the change.
    Previous,
}

impl LoadedHooks {
    fn of(
        files: &HookFiles,
        sources: Vec<HookFileText>,
        ignored_sources: Vec<HookFileText>,
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
                // A script that has changed since slug began still counts as changed.
                let known = before.and_then(|it| it.scripts.get(&hook.id)).cloned();
                let scripts = known.or_else(|| Some(scripts::scripts(line, project?)))?;
                Some((hook.id.clone(), scripts))
            }
            HookAction::Prompt(_) | HookAction::Unreadable(_) => None,
        };
        let scripts = hooks.iter().filter_map(of).collect();
        let last = before.map(|it| it.lock().last.clone()).unwrap_or_default();
        let state = Mutex::new(HookRunState { off, last });
        Self { sources, ignored_sources, hooks, warnings, scripts, state }
    }

    /// The hooks that are on and match, in order; the same command only once.
    fn fitting(&self, payload: &HookPayload) -> Vec<&Hook> {
        let state = self.lock();
        let mut fitting: Vec<&Hook> = Vec::new();
        for hook in &self.hooks {
            let fits = hook.event == payload.event()
                && hook.filter.fits(payload.subject())
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

/// A verdict in a few words, for `/hooks`.
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
