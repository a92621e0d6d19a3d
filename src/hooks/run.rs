//! The hooks of a run: which there are, which are on, and starting those that fit a moment.
//!
//! Those of one moment run side by side, a command that stands there twice runs once, and what they
//! say is put together in their order, so that it does not depend on which was faster. In plan mode
//! a command may run only where it can change nothing, which the [`Runner`] sees to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use crate::domain::{ContentHash, Mode};

use super::event::HookEvent;
use super::hook::{Action, Hook, HookId, Origin};
use super::merged::Merged;
use super::moment::{Moment, Scene};
use super::read::Warning;
use super::scripts::{self, Script};
use super::shelf::{HookFiles, Source, SwitchError};
use super::verdict::{Told, Verdict, verdict};

/// Runs the commands of hooks.
#[async_trait]
pub trait Runner: Send + Sync {
    /// Runs a command to its end, with all that it starts; at once over when `cancel` is.
    async fn run(&self, order: Order, cancel: &CancellationToken) -> Ran;
}

/// A command to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// For `sh -c`. Nothing of a call is ever in it.
    pub line: String,
    /// The folder to start in.
    pub cwd: PathBuf,
    /// On its standard input.
    pub input: String,
    /// How long it may take.
    pub limit: Duration,
    /// What it may do.
    pub confine: Confine,
}

/// What a command may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confine {
    /// What the person's own commands may.
    Usual,
    /// It may change nothing; where that cannot be had, it is not run.
    ReadOnly,
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// How it ended.
    pub ended: Ended,
    /// Its standard output.
    pub output: String,
    /// Its standard error.
    pub complaint: String,
    /// How long it ran.
    pub elapsed: Duration,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
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
pub struct Row {
    /// Names it.
    pub id: HookId,
    /// When.
    pub event: HookEvent,
    /// For which tools; empty for all.
    pub filter: String,
    /// What it does.
    pub action: Action,
    /// Where it stands.
    pub origin: Origin,
    /// Whether it is on.
    pub is_on: bool,
    /// What came of it the last time in this run.
    pub last: Option<String>,
}

/// What came of trying a hook.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// The hook.
    pub hook: Row,
    /// Its command, where it has one that could be run.
    pub ran: Option<Ran>,
    /// What slug made of it.
    pub verdict: Verdict,
}

/// The hooks of a run.
pub struct Hooks {
    files: Option<HookFiles>,
    runner: Arc<dyn Runner>,
    shelf: Mutex<Option<Arc<Shelf>>>,
}

#[derive(Default)]
struct Shelf {
    /// The files, each as it holds.
    sources: Vec<Source>,
    /// Files of the project that have changed and do not hold so, as they were when that was told.
    passed_over: Vec<Source>,
    hooks: Vec<Hook>,
    warnings: Vec<Warning>,
    /// The files of a trusted folder that commands name, as they were when this was read.
    scripts: BTreeMap<HookId, Vec<Script>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    off: BTreeSet<HookId>,
    last: BTreeMap<HookId, String>,
}

impl Hooks {
    /// Those of these files, which are read when they are first needed. None where there are no
    /// files: in a run that a hook started itself.
    pub fn new(files: Option<HookFiles>, runner: Arc<dyn Runner>) -> Self {
        Self { files, runner, shelf: Mutex::default() }
    }

    /// What is wrong with them.
    pub fn warnings(&self) -> Vec<Warning> {
        self.shelf().warnings.clone()
    }

    /// Reads the files again. The person's own hooks hold as they are now; a project's hold as the
    /// person has seen them until they say yes to what is new. What has changed is told once.
    pub fn refresh(&self) -> Vec<Changed> {
        let Some(files) = &self.files else { return Vec::new() };
        let before = self.shelf();
        let now = files.load();
        if now == before.sources {
            return Vec::new();
        }
        let mut changes = Vec::new();
        let (mut sources, mut passed_over) = (Vec::new(), Vec::new());
        for (was, is) in before.sources.iter().zip(now) {
            let differs = is.differs(was);
            let is_of_project = files.is_of_project(&is.file);
            let holds = if is_of_project { Holds::AsBefore } else { Holds::Now };
            if differs && !before.passed_over.contains(&is) {
                changes.push(Changed { file: is.file.clone(), holds });
            }
            match (is_of_project, differs) {
                (true, true) => {
                    sources.push(was.clone());
                    passed_over.push(is);
                }
                (_, _) => sources.push(is),
            }
        }
        let fresh = Shelf::of(files, sources, passed_over, Some(&before));
        *self.lock() = Some(Arc::new(fresh));
        changes
    }

    /// The files of the project that do not hold as they are now, relative to its folder: files of hooks,
    /// and those that hooks name.
    pub fn changed(&self) -> Vec<PathBuf> {
        let Some(files) = &self.files else { return Vec::new() };
        let Some(project) = &files.project else { return Vec::new() };
        let shelf = self.shelf();
        let now = files.load();
        let differing = shelf
            .sources
            .iter()
            .zip(&now)
            .filter(|(was, is)| files.is_of_project(&is.file) && is.differs(was));
        let differing = differing.filter_map(|(_, is)| is.file.strip_prefix(project).ok());
        let mut changed: BTreeSet<PathBuf> = differing.map(Path::to_owned).collect();
        for hook in &shelf.hooks {
            if let (Action::Command { line, .. }, Some(before)) =
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
    pub fn renew(&self, is_known: impl Fn(&Path, &ContentHash) -> bool) -> Result<(), PathBuf> {
        let Some(files) = &self.files else { return Ok(()) };
        let Some(project) = &files.project else { return Ok(()) };
        let fresh = Shelf::of(files, files.load(), Vec::new(), None);
        let of_project = fresh.sources.iter().filter(|source| files.is_of_project(&source.file));
        let files = of_project.filter_map(|source| {
            let inside = source.file.strip_prefix(project).ok()?;
            Some((inside.to_owned(), source.hash()?))
        });
        let scripts = fresh.scripts.values().flatten().cloned();
        if let Some((file, _)) = files.chain(scripts).find(|(file, hash)| !is_known(file, hash)) {
            return Err(file);
        }
        fresh.lock().last.clone_from(&self.shelf().lock().last);
        *self.lock() = Some(Arc::new(fresh));
        Ok(())
    }

    /// Whether any hook of this event is on.
    pub fn has(&self, event: HookEvent) -> bool {
        let shelf = self.shelf();
        let off = &shelf.lock().off;
        shelf.hooks.iter().any(|hook| hook.event == event && !off.contains(&hook.id))
    }

    /// All of them.
    pub fn rows(&self) -> Vec<Row> {
        let shelf = self.shelf();
        let state = shelf.lock();
        shelf.hooks.iter().map(|hook| row(hook, &state)).collect()
    }

    /// Switches a hook off, or on again.
    pub fn switch(&self, id: &HookId) -> Result<(), SwitchError> {
        if let Some(files) = &self.files {
            self.shelf().lock().off = files.switch(id)?;
        }
        Ok(())
    }

    /// Runs the hooks that fit, and says what they want.
    pub async fn fire(&self, scene: &Scene, moment: &Moment, cancel: &CancellationToken) -> Merged {
        let shelf = self.shelf();
        let hooks = shelf.fitting(moment);
        if hooks.is_empty() {
            return Merged::default();
        }
        let input = moment.json(scene).to_string();
        let running = hooks.iter().map(|hook| self.one(hook, scene, input.clone(), cancel));
        let verdicts: Vec<Verdict> =
            join_all(running).await.into_iter().map(|(verdict, _)| verdict).collect();
        let mut state = shelf.lock();
        for (hook, verdict) in hooks.iter().zip(&verdicts) {
            state.last.insert(hook.id.clone(), outcome(verdict));
        }
        drop(state);
        Merged::of(hooks.iter().map(|hook| &hook.origin).zip(verdicts))
    }

    /// Runs one hook with a made-up moment. `None` when it is not there.
    pub async fn try_out(
        &self,
        id: &HookId,
        scene: &Scene,
        cancel: &CancellationToken,
    ) -> Option<Trial> {
        let shelf = self.shelf();
        let hook = shelf.hooks.iter().find(|hook| hook.id == *id)?;
        let input = Moment::sample(hook.event).json(scene).to_string();
        let (verdict, ran) = self.one(hook, scene, input, cancel).await;
        let mut state = shelf.lock();
        state.last.insert(hook.id.clone(), outcome(&verdict));
        Some(Trial { hook: row(hook, &state), ran, verdict })
    }

    async fn one(
        &self,
        hook: &Hook,
        scene: &Scene,
        input: String,
        cancel: &CancellationToken,
    ) -> (Verdict, Option<Ran>) {
        let (line, limit) = match &hook.action {
            Action::Prompt(text) => return (Verdict::context(text), None),
            Action::Unreadable(why) => {
                return (Verdict::failed(hook.event, format!("It cannot be read: {why}.")), None);
            }
            Action::Command { line, limit } => (line, *limit),
        };
        if let Some(why) = self.cannot_run(hook, line, &scene.cwd).await {
            return (Verdict::failed(hook.event, why), None);
        }
        let confine = if scene.mode == Mode::Plan { Confine::ReadOnly } else { Confine::Usual };
        let (line, cwd) = (line.clone(), scene.cwd.clone());
        let ran = self.runner.run(Order { line, cwd, input, limit, confine }, cancel).await;
        let verdict = verdict(hook.event, hook.form, &ran.ended, &ran.output, &ran.complaint);
        (verdict, Some(ran))
    }

    /// Why a command must not or cannot be run, where that is known before.
    async fn cannot_run(&self, hook: &Hook, line: &str, cwd: &Path) -> Option<String> {
        let before = self.shelf().scripts.get(&hook.id).cloned();
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

    fn shelf(&self) -> Arc<Shelf> {
        let read = || match &self.files {
            Some(files) => Shelf::of(files, files.load(), Vec::new(), None),
            None => Shelf::default(),
        };
        self.lock().get_or_insert_with(|| Arc::new(read())).clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Shelf>>> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file of hooks that has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The file.
    pub file: PathBuf,
    /// What of it holds.
    pub holds: Holds,
}

/// What of a file that has changed holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// What is in it now.
    Now,
    /// What was in it before.
    AsBefore,
}

impl Shelf {
    fn of(
        files: &HookFiles,
        sources: Vec<Source>,
        passed_over: Vec<Source>,
        before: Option<&Self>,
    ) -> Self {
        let (mut hooks, mut warnings) = (Vec::new(), Vec::new());
        for (found, wrong) in sources.iter().map(Source::hooks) {
            hooks.extend(found);
            warnings.extend(wrong);
        }
        let (off, wrong) = files.off();
        warnings.extend(wrong);
        let project = files.project.as_deref();
        let of = |hook: &Hook| match &hook.action {
            Action::Command { line, .. } => {
                // What had changed since slug began has changed still.
                let known = before.and_then(|it| it.scripts.get(&hook.id)).cloned();
                let scripts = known.or_else(|| Some(scripts::scripts(line, project?)))?;
                Some((hook.id.clone(), scripts))
            }
            Action::Prompt(_) | Action::Unreadable(_) => None,
        };
        let scripts = hooks.iter().filter_map(of).collect();
        let last = before.map(|it| it.lock().last.clone()).unwrap_or_default();
        let state = Mutex::new(State { off, last });
        Self { sources, passed_over, hooks, warnings, scripts, state }
    }

    /// Those that are on and fit, in their order; the same command once.
    fn fitting(&self, moment: &Moment) -> Vec<&Hook> {
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

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn row(hook: &Hook, state: &State) -> Row {
    Row {
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
pub(super) fn outcome(verdict: &Verdict) -> String {
    match (&verdict.word, &verdict.fault) {
        (Told::Block(reason), _) => format!("blocked: {reason}"),
        (_, Some(fault)) => format!("failed: {fault}"),
        (Told::Ask(reason), None) => format!("asked: {reason}"),
        (Told::Allow(_), None) if verdict.input.is_none() => "allowed".into(),
        (Told::Allow(_) | Told::Nothing, None) => match (&verdict.input, &verdict.context) {
            (Some(_), _) => "changed the call".into(),
            (None, Some(_)) => "told the model something".into(),
            (None, None) => "passed".into(),
        },
    }
}
