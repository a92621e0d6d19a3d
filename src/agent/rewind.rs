//! Rewinds a session, and reverses a rewind: files, conversation, or both.
//!
//! A rewind is planned and shown before anything happens, and planned again when the user accepts
//! it. When the second plan differs, nothing is done and the user sees the new plan. Contents are
//! stored before they are overwritten, and the log says what will be written before it is written,
//! so that a redo, and another rewind after a crash, always work.
//!
//! A log may come from another machine and name any file. Every plan skips files that are outside
//! the workspace or protected; such a file is restored only if the user has said so for this very
//! file. How a plan is computed from the log is in `session::undo`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::domain::{ContentBlock, ContentHash, EntryId, NoticeLevel, UserInput};
use crate::permissions::{PathZone, Workspace};
use crate::platform::restore::{self, PathContent, PathInspection, RestoreDurability};
use crate::session::undo::{
    self, CurrentFileState, FileAction, FilePlace, FileSystemView, FilesPlan, PlannedFile,
    RewindHistory, RewindMark, points,
};
use crate::session::{
    BlobError, BlobStore, FileChangeEntry, FileChangeSource, FileKind, FileVersion, LogEntry,
    LogRecord, RewindEntry, RewindScope, SessionMeta, plain_mode,
};

use super::AgentEvent;
use super::agent_loop::Agent;
use super::blocking::blocking;
use super::rewind_plan::{CONTEXT, RewindDestination, RewindError, RewindPlan};

/// Larger files are not restored, in bytes.
const MAX_FILE_BYTES: u64 = 16 << 20;

impl Agent {
    /// Plans a rewind and tells the front end.
    pub(super) async fn plan_rewind(&mut self, to: RewindDestination) {
        let planned = match self.rewindable_records().await {
            Ok(records) => {
                let (blobs, workspace) = (self.setup.blobs.clone(), self.setup.workspace.clone());
                let planned = blocking(move || {
                    let disk = RewindFileSystem { blobs: &blobs, workspace: &workspace };
                    plan(&records, to, &disk).map(Arc::new)
                });
                planned.await.unwrap_or_else(|error| Err(RewindError::Log(error.to_string())))
            }
            Err(reason) => Err(reason),
        };
        self.events.send(AgentEvent::RewindPlanned(planned));
    }

    /// Does the rewind of the plan that the user saw.
    pub(super) async fn rewind(&mut self, shown: Arc<RewindPlan>, what: RewindScope) {
        if let Err(reason) = self.apply_rewind(&shown, what).await {
            self.events.send(AgentEvent::RewindPlanned(Err(reason)));
        }
    }

    async fn apply_rewind(
        &mut self,
        shown: &Arc<RewindPlan>,
        what: RewindScope,
    ) -> Result<(), RewindError> {
        let records = self.rewindable_records().await?;
        let (blobs, workspace) = (self.setup.blobs.clone(), self.setup.workspace.clone());
        let shown = shown.clone();
        let prepared = blocking(move || {
            prepare(
                &records,
                &shown,
                what,
                &RewindFileSystem { blobs: &blobs, workspace: &workspace },
            )
        });
        let prepared = prepared.await;
        let (plan, rewind, writes) =
            match prepared.map_err(|error| RewindError::Log(error.to_string()))?? {
                PreparedRewind::Unchanged { plan, rewind, writes } => (plan, rewind, writes),
                PreparedRewind::Changed(plan) => {
                    self.events.send(AgentEvent::RewindPlanned(Ok(Arc::new(plan))));
                    let text = "The files have changed since. Check again what would happen.";
                    self.events.notice(NoticeLevel::Warning, text);
                    return Ok(());
                }
            };
        let header = self.header(self.session.id);
        let journal = self.session.journal(&self.setup.store, &self.events, header);
        let journal = journal.map_err(|error| RewindError::Log(error.to_string()))?;
        let turn = self.session.last_turn();
        journal
            .intent(turn, LogEntry::Rewind(rewind.clone()))
            .await
            .map_err(|error| RewindError::NotRecorded(error.to_string()))?;
        let mut written = 0;
        for write in writes {
            let change = write.change.clone();
            let done =
                blocking(move || restore::put(write.change.place(), &write.now, &write.then));
            match done.await {
                Ok(Ok(put)) => {
                    journal.write(turn, LogEntry::FileChange(change)).await;
                    written += 1;
                    self.warn_of(put);
                }
                Ok(Err(error)) => self.error(format!("{error}. Not touched.")),
                Err(error) => self.error(error.to_string()),
            }
        }
        self.reopen_session().await?;
        let back = plan.to != RewindDestination::Redo;
        let message = (back && what.has_conversation()).then(|| plan.message.clone());
        let told = describe_rewind(plan.to, what, (written, rewind.files.len()));
        self.events.send(AgentEvent::Rewound { message, told });
        Ok(())
    }

    fn warn_of(&self, put: RestoreDurability) {
        match put {
            RestoreDurability::Synced => {}
            RestoreDurability::NotSynced(error) => {
                let text =
                    format!("{error}. It was written, and may be lost if the machine stops.");
                self.events.notice(NoticeLevel::Warning, text);
            }
        }
    }

    /// Tells the model which of its changes were restored while they are still in its conversation.
    pub(super) fn reverted_files_note(&self) -> Option<ContentBlock> {
        let files = &self.session.reverted_files;
        (!files.is_empty()).then(|| ContentBlock::Context {
            name: CONTEXT.into(),
            text: format!(
                "The user took your changes of these files back: {}. Read them again before you \
                 edit them.",
                names(files, &self.setup.place.cwd)
            ),
        })
    }

    /// Rebuilds the conversation from the log as it is now, and shows it.
    async fn reopen_session(&mut self) -> Result<(), RewindError> {
        let records = self.rewindable_records().await?;
        self.session.catch_up();
        self.session.replay(&records);
        self.tell_opened(records);
        Ok(())
    }

    /// All records of the open session, or why it cannot be rewound.
    async fn rewindable_records(&mut self) -> Result<Vec<LogRecord>, RewindError> {
        if let Some(reason) = self.session.read_only.clone() {
            return Err(RewindError::ReadOnlySession(reason));
        }
        if !self.session.has_log() {
            return Err(RewindError::EmptySession);
        }
        // The rewind also restores what a stopped call is still doing.
        if !self.session.wait_for_late_writes().await {
            return Err(RewindError::LateWrites);
        }
        let (store, session) = (self.setup.store.clone(), self.session.id);
        let read = blocking(move || store.read(session)).await;
        match read {
            Ok(Ok(loaded)) => Ok(loaded.records),
            Ok(Err(error)) | Err(error) => Err(RewindError::Log(error.to_string())),
        }
    }
}

/// A plan that was computed again when the user accepted it.
enum PreparedRewind {
    /// The plan is the one that the user saw, and everything that will be overwritten is stored.
    Unchanged { plan: RewindPlan, rewind: RewindEntry, writes: Vec<RewindWrite> },
    /// The files have changed since. Holds the plan as it is now.
    Changed(RewindPlan),
}

/// A file that is about to be written.
struct RewindWrite {
    now: PathContent,
    then: PathContent,
    change: FileChangeEntry,
}

/// The files on disk, as `session::undo` looks at them.
struct RewindFileSystem<'a> {
    blobs: &'a BlobStore,
    workspace: &'a Workspace,
}

impl FileSystemView for RewindFileSystem<'_> {
    fn current_state(&self, path: &Path) -> CurrentFileState {
        match restore::look(path, MAX_FILE_BYTES) {
            Ok(PathInspection::Content(content)) => match version_of(&content) {
                Some((version, bytes)) => CurrentFileState::Present(version, bytes),
                None => CurrentFileState::Nothing,
            },
            Ok(PathInspection::Other(what)) => CurrentFileState::Other(what.to_owned()),
            Err(error) => CurrentFileState::Other(format!("it cannot be read: {error}")),
        }
    }

    fn content(&self, hash: &ContentHash) -> Option<Vec<u8>> {
        self.blobs.get(hash).unwrap_or_else(|error| {
            tracing::warn!(%error, "a content cannot be read");
            None
        })
    }

    fn place(&self, path: &Path) -> FilePlace {
        let resolved = self.workspace.resolve(path, self.workspace.root());
        FilePlace {
            is_outside: resolved.zone == PathZone::Outside,
            protected: resolved.protected.map(|reason| reason.description().into()),
        }
    }
}

fn version_of(content: &PathContent) -> Option<(FileVersion, Vec<u8>)> {
    let (kind, bytes, mode) = match content {
        PathContent::Nothing => return None,
        PathContent::File { bytes, mode } => (FileKind::File, bytes, mode.map(plain_mode)),
        PathContent::Link { target } => (FileKind::Link, target, None),
    };
    Some((FileVersion { kind, hash: ContentHash::of(bytes), mode }, bytes.clone()))
}

fn path_content(version: &FileVersion, bytes: Vec<u8>) -> PathContent {
    match version.kind {
        FileKind::File => PathContent::File { bytes, mode: version.mode.map(plain_mode) },
        FileKind::Link => PathContent::Link { target: bytes },
    }
}

fn plan(
    records: &[LogRecord],
    to: RewindDestination,
    file_system: &dyn FileSystemView,
) -> Result<RewindPlan, RewindError> {
    let rewinds = RewindHistory::of(records);
    if let RewindDestination::Redo = to {
        return plan_redo(records, &rewinds, file_system);
    }
    let mut all = points(records, &rewinds);
    let found = match to {
        RewindDestination::Before(entry) => all.find(|(at, _)| records[*at].id == entry),
        RewindDestination::Last | RewindDestination::Redo => {
            let upto = rewinds.files_back_to().unwrap_or(records.len());
            all.rfind(|(at, _)| *at < upto)
        }
    };
    let Some((at, message)) = found else {
        return Err(RewindError::NoMessage);
    };
    let before = records[at].id;
    let files = undo::plan_undo(records, at, file_system);
    let offers = match files.touched().next().is_some() || files.has_questions() {
        true => vec![RewindScope::Both, RewindScope::Files, RewindScope::Conversation],
        false => vec![RewindScope::Conversation],
    };
    let (now, _) = SessionMeta::message_summary(records, &rewinds);
    let (then, _) = SessionMeta::message_summary(&records[..at], &rewinds);
    Ok(RewindPlan {
        to: RewindDestination::Before(before),
        before,
        message: UserInput::from_blocks(&message.content),
        offers,
        messages: now.saturating_sub(then),
        files,
    })
}

fn plan_redo(
    records: &[LogRecord],
    rewinds: &RewindHistory,
    file_system: &dyn FileSystemView,
) -> Result<RewindPlan, RewindError> {
    let undone = rewinds.redoable().and_then(|at| match &records[at].entry {
        LogEntry::Rewind(undone) => Some((records[at].id, undone)),
        _ => None,
    });
    let Some((id, undone)) = undone else {
        return Err(RewindError::NothingToRedo);
    };
    let files = match undone.what.has_files() {
        true => undo::plan_redo(undone, file_system),
        false => FilesPlan::default(),
    };
    let message = records.iter().find(|record| record.id == undone.before);
    let message = message.and_then(|record| match &record.entry {
        LogEntry::Message(message) => Some(UserInput::from_blocks(&message.content)),
        _ => None,
    });
    let entry = RewindEntry { redoes: Some(id), ..entry(undone.before, undone.what) };
    let (then, _) = message_summary_after(records, &entry);
    let (now, _) = SessionMeta::message_summary(records, rewinds);
    Ok(RewindPlan {
        to: RewindDestination::Redo,
        before: undone.before,
        message: message.unwrap_or_default(),
        offers: vec![undone.what],
        messages: then.saturating_sub(now),
        files,
    })
}

fn entry(before: EntryId, what: RewindScope) -> RewindEntry {
    RewindEntry {
        before,
        redoes: None,
        what,
        part: None,
        files: Vec::new(),
        left: Vec::new(),
        messages: 0,
        summary: None,
    }
}

/// The number of messages and the summary that lists show once the log has this entry.
fn message_summary_after(records: &[LogRecord], rewind: &RewindEntry) -> (u64, Option<String>) {
    let mark = RewindMark::Rewind(EntryId::generate(), Box::new(rewind.clone()));
    SessionMeta::message_summary(records, &RewindHistory::of_parts(records, &[mark]))
}

/// Plans the rewind again, and stores what would be overwritten.
fn prepare(
    records: &[LogRecord],
    shown: &RewindPlan,
    what: RewindScope,
    disk: &RewindFileSystem<'_>,
) -> Result<PreparedRewind, RewindError> {
    let now = plan(records, shown.to, disk)?;
    let mut plan = now.clone();
    plan.files.copy_overrides(&shown.files);
    if what.has_files() && !plan.files.has_same_effect(&shown.files) {
        return Ok(PreparedRewind::Changed(now));
    }
    let redoes = match shown.to {
        RewindDestination::Redo => RewindHistory::of(records).redoable().map(|at| records[at].id),
        RewindDestination::Last | RewindDestination::Before(_) => None,
    };
    let mut rewind = RewindEntry { redoes, ..entry(plan.before, what) };
    let mut writes = Vec::new();
    if what.has_files() {
        for file in plan.files.touched() {
            writes.push(write(file, disk.blobs)?);
        }
        rewind.files = writes.iter().map(|write| write.change.clone()).collect();
        // Removals come first: a folder may have to be made where there is a file now.
        writes.sort_by_key(|write| write.then != PathContent::Nothing);
        rewind.left = plan.files.skipped().map(|file| file.path.clone()).collect();
    }
    (rewind.messages, rewind.summary) = message_summary_after(records, &rewind);
    Ok(PreparedRewind::Unchanged { plan, rewind, writes })
}

fn write(file: &PlannedFile, blobs: &BlobStore) -> Result<RewindWrite, RewindError> {
    let store = |bytes: &[u8]| {
        blobs.put(bytes).map_err(|error: BlobError| {
            RewindError::Files(format!(
                "Nothing was undone, because the current content could not be saved. {error}"
            ))
        })
    };
    let unreadable = |why: &str| RewindError::Files(format!("{}: {why}", file.path.display()));
    let now = match restore::look(&file.path, MAX_FILE_BYTES) {
        Ok(PathInspection::Content(now)) => now,
        Ok(PathInspection::Other(what)) => return Err(unreadable(what)),
        Err(error) => return Err(unreadable(&error.to_string())),
    };
    let before = version_of(&now);
    if let Some((_, bytes)) = &before {
        store(bytes)?;
    }
    let (then, after) = match &file.action {
        FileAction::Put(put) => {
            if put.is_merged {
                store(&put.bytes)?;
            }
            (path_content(&put.version, put.bytes.clone()), Some(put.version.clone()))
        }
        FileAction::Nothing | FileAction::Remove | FileAction::Skip(_) => {
            (PathContent::Nothing, None)
        }
    };
    let before = before.map(|(version, _)| version);
    if before != file.now {
        return Err(RewindError::FilesChanged);
    }
    let change = FileChangeEntry::new(file.path.clone(), before, after, FileChangeSource::Rewind);
    Ok(RewindWrite { now, then, change })
}

/// What was done, as a phrase. `written` of `wanted` files were restored.
fn describe_rewind(
    to: RewindDestination,
    what: RewindScope,
    (written, wanted): (usize, usize),
) -> String {
    let mut done = Vec::new();
    if what.has_conversation() {
        done.push("the conversation".to_owned());
    }
    match (written, wanted) {
        (0, _) => {}
        (1, 1) => done.push("one file".to_owned()),
        (written, wanted) if written == wanted => done.push(format!("{wanted} files")),
        (written, wanted) => done.push(format!("{written} of {wanted} files")),
    }
    if done.is_empty() {
        let none = if wanted == 0 { "No file needed changing" } else { "No file was changed" };
        return none.to_owned();
    }
    let done = done.join(" and ");
    match to {
        RewindDestination::Redo => format!("Brought {done} back"),
        RewindDestination::Last | RewindDestination::Before(_) => {
            format!("Took {done} back; /redo undoes that")
        }
    }
}

/// The first five files for a sentence, and how many more there are.
fn names(paths: &[PathBuf], cwd: &Path) -> String {
    let shown = paths
        .iter()
        .take(5)
        .map(|path| path.strip_prefix(cwd).unwrap_or(path).to_string_lossy().into_owned());
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if paths.len() > 5 {
        text.push_str(&format!(" and {} more", paths.len() - 5));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_counts_the_files_that_were_written() {
        let before = RewindDestination::Before(EntryId::generate());
        for (to, what, files, expected) in [
            (
                before,
                RewindScope::Both,
                (2, 2),
                "Took the conversation and 2 files back; /redo undoes that",
            ),
            (before, RewindScope::Files, (1, 1), "Took one file back; /redo undoes that"),
            (before, RewindScope::Files, (1, 3), "Took 1 of 3 files back; /redo undoes that"),
            (before, RewindScope::Both, (0, 3), "Took the conversation back; /redo undoes that"),
            (before, RewindScope::Files, (0, 3), "No file was changed"),
            (before, RewindScope::Files, (0, 0), "No file needed changing"),
            (RewindDestination::Redo, RewindScope::Files, (2, 2), "Brought 2 files back"),
        ] {
            assert_eq!(describe_rewind(to, what, files), expected);
        }
    }
}
