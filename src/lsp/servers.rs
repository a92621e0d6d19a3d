//! The language servers of a session: which of them is for a file, and what it is asked.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;

use crate::domain::sanitize::sanitize_line;
use crate::tools::{
    CodeAnswer, CodeItem, CodeOperation, CodePlace, CodeQuery, FileChange, LanguageServerError,
    LanguageServers,
};

use super::changes::{ChangeTicket, LateFindings, check_changes};
use super::definition::LspServerDefinition;
use super::diagnostic::LspDiagnostic;
use super::queries::{ask_session, needed_capability};
use super::root::root_for;
use super::session::{LspSession, MAX_TEXT};
use super::slot::{LspPorts, LspSlot, find_program};
use super::status::{LspNews, LspServerPhase, LspServerStatus};

/// How long it is remembered that a program is not there.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(30);

/// How long news are collected before they are told.
const NEWS_PAUSE: Duration = Duration::from_millis(100);

/// How often a server that loads the project is looked at, while somebody follows it.
const LOOK_AGAIN_WHILE_BUSY: Duration = Duration::from_secs(1);

/// The most files of one call whose findings are compared.
const MAX_CHECKED: usize = 20;

/// How long findings may take that are asked for, also while a server still loads.
const FINDINGS_LIMIT: Duration = Duration::from_secs(30);

/// The servers of a session in a trusted folder. None runs before it is needed; dropping this ends all.
pub struct LspServers {
    /// In order of precedence.
    definitions: Vec<Arc<LspServerDefinition>>,
    /// The folder that the user trusts. Files outside of it have no server.
    workspace: PathBuf,
    ports: LspPorts,
    /// How long the result of a change waits for findings; zero for no look at all.
    wait: Duration,
    slots: Mutex<HashMap<(String, PathBuf), Arc<LspSlot>>>,
    /// When a program was not found, by the name of its server.
    missing: Mutex<HashMap<String, (Instant, String)>>,
    late: Arc<LateFindings>,
    news: LspNews,
}

/// What the table and the configuration have for a file, where it is installed.
#[derive(Default)]
struct ServersForFile {
    slots: Vec<Arc<LspSlot>>,
    /// Why others that would be are not, as sentences, each with its family.
    problems: Vec<(String, String)>,
}

/// What was found of a server for a file.
pub(super) struct ServerLook {
    pub(super) definition: Arc<LspServerDefinition>,
    root: PathBuf,
    pub(super) program: Result<(), String>,
}

/// The definitions that know the ending of a file's name, none for a file that is not in `workspace`.
pub(super) fn definitions_for<'a>(
    definitions: &'a [Arc<LspServerDefinition>],
    workspace: &Path,
    path: &Path,
) -> impl Iterator<Item = &'a Arc<LspServerDefinition>> {
    let extension = extension_of(path).filter(|_| path.starts_with(workspace));
    definitions
        .iter()
        .filter(move |it| extension.as_ref().is_some_and(|name| it.language(name).is_some()))
}

/// Of each family the servers up to the first whose program `find` finds, with their roots. Blocks.
pub(super) fn installed_servers(
    definitions: &[Arc<LspServerDefinition>],
    (file, workspace): (&Path, &Path),
    find: impl Fn(&LspServerDefinition) -> Result<(), String>,
) -> Vec<ServerLook> {
    let mut looks: Vec<ServerLook> = Vec::new();
    for definition in definitions {
        let is_found =
            |it: &ServerLook| it.program.is_ok() && it.definition.family == definition.family;
        if looks.iter().any(is_found) {
            continue;
        }
        if let Some(root) = root_for(definition, file, workspace) {
            let program = find(definition);
            looks.push(ServerLook { definition: definition.clone(), root, program });
        }
    }
    looks
}

impl LspServers {
    /// The servers for the files in `workspace`.
    pub fn new(
        definitions: Vec<LspServerDefinition>,
        workspace: PathBuf,
        ports: LspPorts,
        wait: Duration,
    ) -> Self {
        Self {
            definitions: definitions.into_iter().map(Arc::new).collect(),
            workspace,
            ports,
            wait,
            slots: Mutex::default(),
            missing: Mutex::default(),
            late: Arc::default(),
            news: LspNews::default(),
        }
    }

    /// The definitions that know the ending of the file's name.
    fn definitions_for(&self, path: &Path) -> impl Iterator<Item = &Arc<LspServerDefinition>> {
        definitions_for(&self.definitions, &self.workspace, path)
    }

    /// The servers for a file: of each family the first that is installed. Looks at the disk off the
    /// asynchronous threads.
    async fn servers_for(&self, path: &Path) -> ServersForFile {
        let definitions: Vec<_> = self.definitions_for(path).cloned().collect();
        if definitions.is_empty() {
            return ServersForFile::default();
        }
        let missing: HashMap<String, String> = {
            let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
            let recent = missing.iter().filter(|(_, (when, _))| when.elapsed() < LOOK_AGAIN_AFTER);
            recent.map(|(name, (_, why))| (name.clone(), why.clone())).collect()
        };
        let known = missing.clone();
        let (file, workspace) = (path.to_owned(), self.workspace.clone());
        let programs = self.ports.programs.clone();
        let looking = tokio::task::spawn_blocking(move || {
            let find = |definition: &LspServerDefinition| match missing.get(&definition.name) {
                Some(why) => Err(why.clone()),
                None => find_program(definition, &programs).map(drop),
            };
            installed_servers(&definitions, (&file, &workspace), find)
        });
        let Ok(looks) = looking.await else { return ServersForFile::default() };
        let mut found = ServersForFile::default();
        for look in looks {
            match look.program {
                Ok(()) => found.slots.push(self.slot(&look.definition, look.root)),
                Err(why) => {
                    let name = &look.definition.name;
                    if !known.contains_key(name) {
                        let mut missing =
                            self.missing.lock().unwrap_or_else(PoisonError::into_inner);
                        missing.insert(name.clone(), (Instant::now(), why.clone()));
                    }
                    found.problems.push((look.definition.family.clone(), why));
                }
            }
        }
        let families: Vec<_> = found.slots.iter().map(|it| it.definition.family.clone()).collect();
        found.problems.retain(|(family, _)| !families.contains(family));
        found.problems.dedup_by(|b, a| a.0 == b.0);
        found
    }

    fn slot(&self, definition: &Arc<LspServerDefinition>, root: PathBuf) -> Arc<LspSlot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (definition.name.clone(), root.clone());
        let (ports, news) = (self.ports.clone(), self.news.clone());
        let new = || Arc::new(LspSlot::new(definition.clone(), root, ports, news));
        slots.entry(key).or_insert_with(new).clone()
    }

    /// What is known of each server, once something has changed since `seen`, with what to wait from
    /// next; at once where nothing was seen yet. Those that have been needed come first, then those that
    /// are installed; each at the place of its definition.
    pub async fn status_after(&self, seen: Option<u64>) -> (u64, Vec<LspServerStatus>) {
        let mut changes = self.news.subscribe();
        let is_busy = self.running().iter().any(|(_, session)| session.state.is_busy());
        // Nobody tells that a server has loaded the project.
        let limit = if is_busy { LOOK_AGAIN_WHILE_BUSY } else { Duration::MAX };
        let news = changes.wait_for(|count| Some(*count) != seen);
        let _ = tokio::time::timeout(limit, news).await;
        if seen.is_some() {
            // Findings of many files come at once.
            tokio::time::sleep(NEWS_PAUSE).await;
        }
        let count = *changes.borrow_and_update();
        (count, self.status().await)
    }

    async fn status(&self) -> Vec<LspServerStatus> {
        let slots: Vec<Arc<LspSlot>> = {
            let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            slots.values().cloned().collect()
        };
        let mut all: Vec<LspServerStatus> = slots.iter().map(|slot| slot.status()).collect();
        let is_needed = |it: &&Arc<LspServerDefinition>| {
            slots.iter().all(|slot| slot.definition.name != it.name)
        };
        let rest: Vec<_> = self.definitions.iter().filter(is_needed).cloned().collect();
        let programs = self.ports.programs.clone();
        let looking = tokio::task::spawn_blocking(move || {
            let look = |definition: &Arc<LspServerDefinition>| {
                let mut status = LspServerStatus::of(definition);
                if let Err(why) = find_program(definition, &programs) {
                    status.phase = LspServerPhase::NotInstalled(why);
                }
                status
            };
            rest.iter().map(look).collect::<Vec<_>>()
        });
        // It fails only while slug ends.
        all.extend(looking.await.unwrap_or_default());
        let place = |name: &str| self.definitions.iter().position(|it| it.name == name);
        all.sort_by_cached_key(|it| (it.rank(), place(&it.name), it.root.clone()));
        all
    }

    /// Ends the server of a root, until it is restarted.
    ///
    /// # Errors
    ///
    /// When there is no such server; a sentence.
    pub async fn stop(&self, name: &str, root: &Path) -> Result<(), String> {
        self.find_slot(name, root)?.stop().await;
        Ok(())
    }

    /// Ends the server of a root if it runs, and starts it anew.
    ///
    /// # Errors
    ///
    /// When there is no such server, or it cannot start; a sentence.
    pub async fn restart(&self, name: &str, root: &Path) -> Result<(), String> {
        let slot = self.find_slot(name, root)?;
        self.missing.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        slot.restart().await
    }

    fn find_slot(&self, name: &str, root: &Path) -> Result<Arc<LspSlot>, String> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let found = slots.get(&(name.to_owned(), root.to_owned())).cloned();
        found.ok_or_else(|| format!("No language server {name} has started in {}.", root.display()))
    }

    /// The sessions that run now.
    fn running(&self) -> Vec<(Arc<LspSlot>, Arc<LspSession>)> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let running = slots.values().filter_map(|slot| Some((slot.clone(), slot.running()?)));
        let mut running: Vec<_> = running.collect();
        running.sort_by(|(a, _), (b, _)| {
            (&a.definition.name, &a.root).cmp(&(&b.definition.name, &b.root))
        });
        running
    }

    /// Asks one server about a file.
    async fn ask_slot(&self, slot: &Arc<LspSlot>, query: &CodeQuery) -> Result<CodeAnswer, String> {
        let session = slot.session().await?;
        let name = &slot.definition.name;
        if let Some(needed) = needed_capability(query.operation)
            && !session.offers(needed)
        {
            return Err(format!("The language server {name} cannot answer that."));
        }
        let failed = |error| format!("The language server {name}: {error}");
        session.sync_open().await.map_err(failed)?;
        let mut answer = match &query.path {
            None => ask_session(&session, query).await.map_err(failed)?,
            Some(path) => {
                let language = extension_of(path)
                    .and_then(|it| slot.definition.language(&it).map(str::to_owned));
                let language = language.unwrap_or_default();
                let place = (path.as_path(), &*language);
                let synced = session.sync(place, &query.text, None).await.map_err(failed)?;
                match query.operation {
                    CodeOperation::Diagnostics => {
                        let found = session.findings(path, synced, FINDINGS_LIMIT).await;
                        let found = found.ok_or_else(|| {
                            format!("The language server {name} has not reported on this file yet. Ask again later.")
                        })?;
                        let item = |it: &LspDiagnostic| CodeItem {
                            place: CodePlace::File(path.clone()),
                            line: u64::from(it.at.line) + 1,
                            label: it.line(),
                            depth: 0,
                        };
                        CodeAnswer { items: found.iter().map(item).collect(), ..Default::default() }
                    }
                    _ => ask_session(&session, query).await.map_err(failed)?,
                }
            }
        };
        session.touch();
        if session.state.is_busy() {
            answer.notes.push(format!(
                "{name} is still loading the project: something may be missing. Ask again later."
            ));
        }
        Ok(answer)
    }

    async fn ask_all(
        &self,
        slots: &[Arc<LspSlot>],
        query: &CodeQuery,
    ) -> Result<CodeAnswer, String> {
        let (mut all, mut failures) = (CodeAnswer::default(), Vec::new());
        let mut is_answered = false;
        for slot in slots {
            match self.ask_slot(slot, query).await {
                Ok(answer) => {
                    is_answered = true;
                    all.items.extend(answer.items);
                    all.notes.extend(answer.notes);
                    all.edits.extend(answer.edits);
                    if !answer.text.is_empty() {
                        all.text = answer.text;
                    }
                    // Findings come from all servers, other answers from the first that has one.
                    let is_enough =
                        !all.items.is_empty() || !all.text.is_empty() || !all.edits.is_empty();
                    if is_enough
                        && query.operation != CodeOperation::Diagnostics
                        && query.path.is_some()
                    {
                        return Ok(all);
                    }
                }
                Err(why) => failures.push(why),
            }
        }
        match is_answered {
            true => {
                all.notes.extend(failures);
                Ok(all)
            }
            false => Err(failures.join(" ")),
        }
    }
}

#[async_trait]
impl LanguageServers for LspServers {
    async fn ask(&self, query: &CodeQuery) -> Result<CodeAnswer, LanguageServerError> {
        let found = match &query.path {
            Some(path) => {
                let found = self.servers_for(path).await;
                if found.slots.is_empty() && found.problems.is_empty() {
                    let name = extension_of(path).unwrap_or_default();
                    return Err(LanguageServerError(format!(
                        "No language server is known for this file (.{name}) in this folder. Use Grep \
                         and Read."
                    )));
                }
                found
            }
            None => {
                let slots: Vec<_> = self.running().into_iter().map(|(slot, _)| slot).collect();
                if slots.is_empty() {
                    return Err(LanguageServerError(
                        "No language server runs yet. Name any file of the language as file_path."
                            .into(),
                    ));
                }
                ServersForFile { slots, problems: Vec::new() }
            }
        };
        if found.slots.is_empty() {
            let why: Vec<String> = found.problems.into_iter().map(|(_, why)| why).collect();
            let why = why.join(" ");
            return Err(LanguageServerError(format!("{why} Use Grep and Read meanwhile.")));
        }
        self.ask_all(&found.slots, query).await.map_err(LanguageServerError)
    }

    fn covers(&self, path: &Path) -> bool {
        !self.wait.is_zero() && self.definitions_for(path).next().is_some()
    }

    async fn check_changes(&self, changes: Vec<FileChange>) -> Option<String> {
        let deadline = tokio::time::Instant::now() + self.wait;
        // By server, each file once and as the call has left it.
        let mut by_slot: Vec<(Arc<LspSlot>, Vec<FileChange>)> = Vec::new();
        let mut tickets = Vec::new();
        for change in merged(changes) {
            if !self.covers(&change.path) || change.after.len() as u64 > MAX_TEXT {
                continue;
            }
            if tickets.len() >= MAX_CHECKED {
                break;
            }
            tickets.push((self.late.begin(&change.path), change.path.clone()));
            for slot in self.servers_for(&change.path).await.slots {
                match by_slot.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &slot)) {
                    Some((_, changes)) => changes.push(change.clone()),
                    None => by_slot.push((slot, vec![change.clone()])),
                }
            }
        }
        let mut checks = Vec::new();
        for (slot, changes) in by_slot {
            let is_warm = slot.running().is_some_and(|session| session.is_warm());
            let is_of =
                |it: &&(ChangeTicket, PathBuf)| changes.iter().any(|change| change.path == it.1);
            let tickets = tickets.iter().filter(is_of).cloned().collect();
            let workspace = self.workspace.clone();
            let show = move |path: &Path| {
                sanitize_line(&path.strip_prefix(&workspace).unwrap_or(path).to_string_lossy())
            };
            let answer = self.late.run(tickets, show, check_changes(slot, changes));
            if is_warm {
                checks.push(answer);
            }
        }
        let mut texts = Vec::new();
        for check in checks {
            if let Ok(Ok(Some(text))) = tokio::time::timeout_at(deadline, check).await {
                texts.push(text);
            }
        }
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    fn take_late_findings(&self) -> Option<String> {
        self.late.take()
    }
}

/// The changes with one for each file: from its first state to its last.
fn merged(changes: Vec<FileChange>) -> Vec<FileChange> {
    let mut all: Vec<FileChange> = Vec::new();
    for change in changes {
        match all.iter_mut().find(|it| it.path == change.path) {
            Some(first) => first.after = change.after,
            None => all.push(change),
        }
    }
    all
}

/// The ending of a file's name, in small letters and without the point.
pub(super) fn extension_of(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_ascii_lowercase())
}
