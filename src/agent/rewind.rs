//! Going back in the session, and forth again: files, conversation, or both.
//!
//! What would happen is planned and shown before anything does. Then it is planned once more: where
//! that comes out otherwise, nothing is done and the person is shown the new plan. What is
//! overwritten is kept before it is, and the log says what is about to be written before it is
//! written, so that going forth, and going back once more after a crash, always work.
//!
//! A log may come from elsewhere and name any file. What lies outside the workspace or is protected
//! is left in every plan, and goes back only where the plan that was shown says so of that file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::domain::{ContentBlock, ContentHash, EntryId, NoticeLevel, UserInput};
use crate::permissions::{PathZone, ProtectionReason, Workspace};
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
use super::sessions::blocking;

/// Larger files are left alone.
const LARGEST: u64 = 16 << 20;
/// Why it cannot be gone back yet.
const UNSETTLED: &str = "A stopped call is still being looked after. Try it again in a moment.";
/// How what the model is told of it is named.
const CONTEXT: &str = "rewind";

/// Where to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewindDestination {
    /// Before the last message that has not been gone back before.
    Last,
    /// Before this message.
    Before(EntryId),
    /// Forth again: the last rewind is taken back.
    Redo,
}

/// What going there would do.
#[derive(Debug, Clone, PartialEq)]
pub struct RewindPlan {
    /// Where to, once it is known: never [`RewindDestination::Last`].
    pub to: RewindDestination,
    /// The message that it goes back before, or went back before.
    pub before: EntryId,
    /// What that says.
    pub message: UserInput,
    /// What can be chosen.
    pub offers: Vec<RewindScope>,
    /// How many messages go, or come back.
    pub messages: u64,
    /// What becomes of the files.
    pub files: FilesPlan,
}

impl Agent {
    /// Tells what going there would do.
    pub(super) async fn plan_rewind(&mut self, to: RewindDestination) {
        let planned = match self.rewindable_records().await {
            Ok(records) => {
                let (blobs, workspace) = (self.setup.blobs.clone(), self.setup.workspace.clone());
                let planned = blocking(move || {
                    let disk = RewindFileSystem { blobs: &blobs, workspace: &workspace };
                    plan(&records, to, &disk).map(Arc::new)
                });
                planned.await.unwrap_or_else(|error| Err(error.to_string()))
            }
            Err(reason) => Err(reason),
        };
        self.events.tell(AgentEvent::RewindPlanned(planned)).await;
    }

    /// Goes where a plan says that was shown.
    pub(super) async fn rewind(&mut self, shown: Arc<RewindPlan>, what: RewindScope) {
        if let Err(reason) = self.apply_rewind(&shown, what).await {
            self.events.tell(AgentEvent::RewindPlanned(Err(reason))).await;
        }
    }

    async fn apply_rewind(
        &mut self,
        shown: &Arc<RewindPlan>,
        what: RewindScope,
    ) -> Result<(), String> {
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
        let (plan, rewind, writes) = match prepared.map_err(|error| error.to_string())?? {
            PreparedRewind::Unchanged { plan, rewind, writes } => (plan, rewind, writes),
            PreparedRewind::Changed(plan) => {
                self.events.tell(AgentEvent::RewindPlanned(Ok(Arc::new(plan)))).await;
                let text = "The files have changed since: look again at what would happen.";
                self.events.notice(NoticeLevel::Warning, text).await;
                return Ok(());
            }
        };
        let header = self.header(self.session.id);
        let journal = self.session.journal(&self.setup.store, &self.events, header);
        let journal = journal.map_err(|error| error.to_string())?;
        let turn = self.session.last_turn();
        journal.intent(turn, LogEntry::Rewind(rewind.clone())).await.map_err(|error| {
            format!("Nothing was taken back, since nothing happens that is not on record. {error}")
        })?;
        let mut written = 0;
        for write in writes {
            let change = write.change.clone();
            let done =
                blocking(move || restore::put(write.change.place(), &write.now, &write.then));
            match done.await {
                Ok(Ok(put)) => {
                    journal.write(turn, LogEntry::FileChange(change)).await;
                    written += 1;
                    self.warn_of(put).await;
                }
                Ok(Err(error)) => self.error(format!("{error}. It was left as it is.")).await,
                Err(error) => self.error(error.to_string()).await,
            }
        }
        self.reopen_session(what).await?;
        let back = plan.to != RewindDestination::Redo;
        let message = (back && what.has_conversation()).then(|| plan.message.clone());
        let told = describe_rewind(plan.to, what, (written, rewind.files.len()));
        self.events.tell(AgentEvent::Rewound { message, told }).await;
        Ok(())
    }

    async fn warn_of(&self, put: RestoreDurability) {
        match put {
            RestoreDurability::Synced => {}
            RestoreDurability::NotSynced(error) => {
                let text =
                    format!("{error}. It was written, and may be lost if the machine stops.");
                self.events.notice(NoticeLevel::Warning, text).await;
            }
        }
    }

    /// What the model is told of its changes that are no longer there, while it remembers them.
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

    /// Takes the log as it is now for the conversation, and shows it.
    async fn reopen_session(&mut self, what: RewindScope) -> Result<(), String> {
        let records = self.rewindable_records().await?;
        self.session.catch_up();
        self.session.replay(&records);
        if what.has_conversation() {
            // What the model has read is no longer in what it is sent.
            self.session.reads = Arc::default();
        }
        self.tell_opened(records).await;
        Ok(())
    }

    /// All records of the open session, or why it cannot be gone back in.
    async fn rewindable_records(&mut self) -> Result<Vec<LogRecord>, String> {
        if let Some(reason) = self.session.read_only.clone() {
            return Err(reason);
        }
        if !self.session.has_log() {
            return Err("Nothing has been said in this session yet.".to_owned());
        }
        // What a stopped call still does is to be taken back, too.
        if !self.session.wait_for_late_writes().await {
            return Err(UNSETTLED.to_owned());
        }
        let (store, session) = (self.setup.store.clone(), self.session.id);
        let read = blocking(move || store.read(session)).await;
        match read {
            Ok(Ok(loaded)) => Ok(loaded.records),
            Ok(Err(error)) | Err(error) => Err(error.to_string()),
        }
    }
}

/// Whether the model is told with this of files that went back.
pub(super) fn tells_of_rewind(block: &ContentBlock) -> bool {
    matches!(block, ContentBlock::Context { name, .. } if name == CONTEXT)
}

/// A plan on its way.
enum PreparedRewind {
    /// It is still the one that was shown, and everything that would be lost is kept.
    Unchanged { plan: RewindPlan, rewind: RewindEntry, writes: Vec<RewindWrite> },
    /// The files have changed since, and this would happen now.
    Changed(RewindPlan),
}

/// A file that is about to be written.
struct RewindWrite {
    now: PathContent,
    then: PathContent,
    change: FileChangeEntry,
}

/// What is on the disk.
struct RewindFileSystem<'a> {
    blobs: &'a BlobStore,
    workspace: &'a Workspace,
}

impl FileSystemView for RewindFileSystem<'_> {
    fn current_state(&self, path: &Path) -> CurrentFileState {
        match restore::look(path, LARGEST) {
            Ok(PathInspection::Content(thing)) => match image_of(&thing) {
                Some((image, bytes)) => CurrentFileState::Present(image, bytes),
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
            protected: resolved.protected.map(ProtectionReason::description),
        }
    }
}

fn image_of(thing: &PathContent) -> Option<(FileVersion, Vec<u8>)> {
    let (kind, bytes, mode) = match thing {
        PathContent::Nothing => return None,
        PathContent::File { bytes, mode } => (FileKind::File, bytes, mode.map(plain_mode)),
        PathContent::Link { target } => (FileKind::Link, target, None),
    };
    Some((FileVersion { kind, hash: ContentHash::of(bytes), mode }, bytes.clone()))
}

fn thing_of(image: &FileVersion, bytes: Vec<u8>) -> PathContent {
    match image.kind {
        FileKind::File => PathContent::File { bytes, mode: image.mode.map(plain_mode) },
        FileKind::Link => PathContent::Link { target: bytes },
    }
}

fn plan(
    records: &[LogRecord],
    to: RewindDestination,
    world: &dyn FileSystemView,
) -> Result<RewindPlan, String> {
    let rewinds = RewindHistory::of(records);
    if let RewindDestination::Redo = to {
        return plan_redo(records, &rewinds, world);
    }
    let mut all = points(records, &rewinds);
    let found = match to {
        RewindDestination::Before(entry) => all.find(|(at, _)| records[*at].id == entry),
        RewindDestination::Last | RewindDestination::Redo => {
            let upto = rewinds.files_back_to().unwrap_or(records.len());
            all.rfind(|(at, _)| *at < upto)
        }
    };
    let Some((at, said)) = found else {
        return Err("There is no message of yours to go back before.".to_owned());
    };
    let before = records[at].id;
    let files = undo::plan_undo(records, at, world);
    let offers = match files.touched().next().is_some() || files.has_questions() {
        true => vec![RewindScope::Both, RewindScope::Files, RewindScope::Conversation],
        false => vec![RewindScope::Conversation],
    };
    let (now, _) = SessionMeta::message_summary(records, &rewinds);
    let (then, _) = SessionMeta::message_summary(&records[..at], &rewinds);
    Ok(RewindPlan {
        to: RewindDestination::Before(before),
        before,
        message: UserInput::from_blocks(&said.content),
        offers,
        messages: now.saturating_sub(then),
        files,
    })
}

fn plan_redo(
    records: &[LogRecord],
    rewinds: &RewindHistory,
    world: &dyn FileSystemView,
) -> Result<RewindPlan, String> {
    let undone = rewinds.redoable().and_then(|at| match &records[at].entry {
        LogEntry::Rewind(undone) => Some((records[at].id, undone)),
        _ => None,
    });
    let Some((id, undone)) = undone else {
        return Err("There is nothing to bring back.".to_owned());
    };
    let files = match undone.what.has_files() {
        true => undo::plan_redo(undone, world),
        false => FilesPlan::default(),
    };
    let message = records.iter().find(|record| record.id == undone.before);
    let message = message.and_then(|record| match &record.entry {
        LogEntry::Message(said) => Some(UserInput::from_blocks(&said.content)),
        _ => None,
    });
    let entry = RewindEntry { redoes: Some(id), ..entry(undone.before, undone.what) };
    let (then, _) = outlook_after(records, &entry);
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
        files: Vec::new(),
        left: Vec::new(),
        messages: 0,
        summary: None,
    }
}

/// What lists show once the log has this, too.
fn outlook_after(records: &[LogRecord], rewind: &RewindEntry) -> (u64, Option<String>) {
    let mark = RewindMark::Rewind(EntryId::generate(), Box::new(rewind.clone()));
    SessionMeta::message_summary(records, &RewindHistory::of_parts(records, &[mark]))
}

/// Plans it again, and keeps what would be overwritten.
fn prepare(
    records: &[LogRecord],
    shown: &RewindPlan,
    what: RewindScope,
    disk: &RewindFileSystem<'_>,
) -> Result<PreparedRewind, String> {
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
        // A folder may have to be made where there is a file now.
        writes.sort_by_key(|write| write.then != PathContent::Nothing);
        rewind.left = plan.files.skipped().map(|file| file.path.clone()).collect();
    }
    (rewind.messages, rewind.summary) = outlook_after(records, &rewind);
    Ok(PreparedRewind::Unchanged { plan, rewind, writes })
}

fn write(file: &PlannedFile, blobs: &BlobStore) -> Result<RewindWrite, String> {
    let kept = |bytes: &[u8]| {
        blobs.put(bytes).map_err(|error: BlobError| {
            format!("Nothing was taken back: what is there now could not be kept. {error}")
        })
    };
    let now = match restore::look(&file.path, LARGEST) {
        Ok(PathInspection::Content(now)) => now,
        Ok(PathInspection::Other(what)) => return Err(format!("{}: {what}", file.path.display())),
        Err(error) => return Err(format!("{}: {error}", file.path.display())),
    };
    let before = image_of(&now);
    if let Some((_, bytes)) = &before {
        kept(bytes)?;
    }
    let (then, after) = match &file.action {
        FileAction::Put(put) => {
            if put.is_merged {
                kept(&put.bytes)?;
            }
            (thing_of(&put.version, put.bytes.clone()), Some(put.version.clone()))
        }
        FileAction::Nothing | FileAction::Remove | FileAction::Skip(_) => {
            (PathContent::Nothing, None)
        }
    };
    let before = before.map(|(image, _)| image);
    if before != file.now {
        return Err("The files have just changed. Try it again.".to_owned());
    }
    let change = FileChangeEntry::new(file.path.clone(), before, after, FileChangeSource::Rewind);
    Ok(RewindWrite { now, then, change })
}

/// What was done, in a sentence; so many of the files were written that should have been.
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
        let none = if wanted == 0 { "No file had to be changed" } else { "No file was changed" };
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

/// Names of files for a sentence.
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
    fn what_is_told_counts_what_was_written() {
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
            (before, RewindScope::Files, (0, 0), "No file had to be changed"),
            (RewindDestination::Redo, RewindScope::Files, (2, 2), "Brought 2 files back"),
        ] {
            assert_eq!(describe_rewind(to, what, files), expected);
        }
    }
}
