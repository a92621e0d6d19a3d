//! Plans a review of what a turn or the session changed, and takes back the changes that the user
//! rejects.
//!
//! Planning only reads, so it is possible while a turn runs. A rejection is a rewind of a part of
//! the files: it is announced in the log, stores what it overwrites, and a redo reverses it. What
//! changed since the user saw it is planned and shown again. What a single call changed is taken back
//! in the same way, without a review.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::domain::{CallId, EntryId, NoticeLevel, TurnId, UserInput, pluralise};
use crate::session::undo::{
    self, FileAction, FileRejection, FilesPlan, PlannedFile, RewindHistory, SkipReason, points,
};
use crate::session::{
    FileChangeSource, LogEntry, LogRecord, RejectedChanges, RewindEntry, RewindPart, RewindScope,
};

use super::AgentEvent;
use super::agent_loop::Agent;
use super::blocking::blocking;
use super::restored_files::{self, FileRestore, RewindFileSystem};
use super::review_plan::{ReviewPlan, ReviewScope};
use super::rewind::{entry, message_summary_after};
use super::rewind_note::bounded;
use super::rewind_plan::RewindError;

/// How much of the first line of a message names its turn, in characters.
const TITLE: usize = 80;

impl Agent {
    /// Plans a review and tells the front end.
    pub(super) async fn plan_review(&mut self, scope: ReviewScope) {
        let planned = match self.reviewable_records().await {
            Ok(records) => {
                let (blobs, workspace) = (self.setup.blobs.clone(), self.setup.workspace.clone());
                let planned = blocking(move || {
                    let disk = RewindFileSystem { blobs: &blobs, workspace: &workspace };
                    plan(&records, scope, &disk).map(Arc::new)
                });
                planned.await.unwrap_or_else(|error| Err(RewindError::Log(error.to_string())))
            }
            Err(reason) => Err(reason),
        };
        self.events.send(AgentEvent::ReviewPlanned(planned));
    }

    /// Takes back the changes that the user rejects of the review that they saw.
    pub(super) async fn reject_changes(
        &mut self,
        shown: Arc<ReviewPlan>,
        rejected: Vec<FileRejection>,
    ) {
        if let Err(reason) = self.apply_rejection(shown, rejected).await {
            self.events.send(AgentEvent::ReviewPlanned(Err(reason)));
        }
    }

    /// Takes back all that one call changed in files, and leaves what others changed since.
    pub(super) async fn undo_call(&mut self, call: CallId) {
        match self.apply_call_undo(call).await {
            Ok(CallUndo::Done(told)) => {
                self.events.send(AgentEvent::Rewound { message: None, told });
            }
            Ok(CallUndo::Nothing) => {
                let text = "Nothing of this call is left in the files.";
                self.events.notice(NoticeLevel::Info, text);
            }
            // The key names no file, so it is no answer about a certain one.
            Ok(CallUndo::Left(SkipReason::NeedsAnswer)) => {
                let text = "Nothing was undone: the file is protected or outside of the workspace. /undo \
                            asks about such a file.";
                self.events.notice(NoticeLevel::Warning, text);
            }
            Ok(CallUndo::Left(reason)) => {
                let text =
                    format!("Nothing was undone: {}. /review shows what can be.", reason.words());
                self.events.notice(NoticeLevel::Warning, text);
            }
            Err(reason) => self.events.notice(NoticeLevel::Error, reason.to_string()),
        }
    }

    async fn apply_call_undo(&mut self, call: CallId) -> Result<CallUndo, RewindError> {
        let records = self.rewindable_records().await?;
        let (blobs, workspace) = (self.setup.blobs.clone(), self.setup.workspace.clone());
        let prepared = blocking(move || {
            let disk = RewindFileSystem { blobs: &blobs, workspace: &workspace };
            prepare_call_undo(&records, call, &disk)
        });
        match prepared.await.map_err(|error| RewindError::Log(error.to_string()))?? {
            PreparedCallUndo::Nothing => Ok(CallUndo::Nothing),
            PreparedCallUndo::Left(reason) => Ok(CallUndo::Left(reason)),
            PreparedCallUndo::Ready(rewind, writes) => {
                self.restore_part(*rewind, writes, "Undone:").await.map(CallUndo::Done)
            }
        }
    }

    async fn apply_rejection(
        &mut self,
        shown: Arc<ReviewPlan>,
        rejected: Vec<FileRejection>,
    ) -> Result<(), RewindError> {
        let records = self.rewindable_records().await?;
        let (blobs, workspace) = (self.setup.blobs.clone(), self.setup.workspace.clone());
        let scope = shown.scope;
        let prepared = blocking(move || {
            let disk = RewindFileSystem { blobs: &blobs, workspace: &workspace };
            prepare(&records, &shown, &rejected, &disk)
        });
        let prepared = prepared.await.map_err(|error| RewindError::Log(error.to_string()))??;
        let Some((rewind, writes)) = prepared else {
            self.plan_review(scope).await;
            let text = "The files have changed since. Check the changes again.";
            self.events.notice(NoticeLevel::Warning, text);
            return Ok(());
        };
        let told = self.restore_part(rewind, writes, "Rejected").await?;
        self.events.send(AgentEvent::Rewound { message: None, told });
        Ok(())
    }

    /// Announces that a part is taken back or brought back, and does it. Returns what was done, as a
    /// phrase.
    pub(super) async fn restore_part(
        &mut self,
        rewind: RewindEntry,
        writes: Vec<FileRestore>,
        verb: &str,
    ) -> Result<String, RewindError> {
        let wanted = writes.len();
        let part = rewind.part.clone().map(|part| part.files).unwrap_or_default();
        if writes.is_empty() {
            return Ok("No file was changed".to_owned());
        }
        let header = self.header(self.session.id);
        let journal = self.session.journal(&self.setup.store, &self.events, header);
        let journal = journal.map_err(|error| RewindError::Log(error.to_string()))?;
        let turn = self.session.last_turn();
        journal
            .announce(turn, LogEntry::Rewind(rewind))
            .await
            .map_err(|error| RewindError::NotRecorded(error.to_string()))?;
        let written = self.write_files(&journal, turn, writes).await;
        self.session.catch_up();
        if written < wanted {
            return Ok(format!("{verb} changes in {written} of {wanted} files"));
        }
        let changes = pluralise(part.iter().map(|file| file.count).sum::<usize>(), "change");
        let place = match part.as_slice() {
            [one] => one.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            files => pluralise(files.len(), "file"),
        };
        Ok(format!("{verb} {changes} in {place}"))
    }

    /// All records of the open session, also while a turn runs.
    async fn reviewable_records(&mut self) -> Result<Vec<LogRecord>, RewindError> {
        if !self.session.has_log() && self.session.read_only.is_none() {
            return Err(RewindError::EmptySession);
        }
        self.saved_records().await.map_err(RewindError::Log)
    }
}

/// What came of taking a call's changes back.
enum CallUndo {
    /// What was done, as a phrase.
    Done(String),
    /// The files are already as they were before the call.
    Nothing,
    /// No file could be changed, for this reason.
    Left(SkipReason),
}

/// What taking a call's changes back would be.
enum PreparedCallUndo {
    Ready(Box<RewindEntry>, Vec<FileRestore>),
    Nothing,
    Left(SkipReason),
}

/// Plans that a call's changes are taken back, and stores what would be overwritten.
fn prepare_call_undo(
    records: &[LogRecord],
    call: CallId,
    disk: &RewindFileSystem<'_>,
) -> Result<PreparedCallUndo, RewindError> {
    let live = live(records);
    let plan = undo::plan_call_undo(&live, &call, disk);
    let made = |record: &&&LogRecord| match &record.entry {
        LogEntry::FileChange(change) => change.call.as_ref() == Some(&call),
        _ => false,
    };
    let Some(first) = live.iter().find(made) else { return Ok(PreparedCallUndo::Nothing) };
    let is_changed =
        |file: &PlannedFile| matches!(file.action, FileAction::Put(_) | FileAction::Remove);
    if !plan.files.iter().any(is_changed) {
        let reason = plan.files.iter().find_map(|file| match &file.action {
            FileAction::Skip(reason) => Some(reason.clone()),
            FileAction::Put(_) | FileAction::Remove | FileAction::Nothing => None,
        });
        return Ok(reason.map_or(PreparedCallUndo::Nothing, PreparedCallUndo::Left));
    }
    let all = |file: &PlannedFile| RejectedChanges {
        path: file.path.clone(),
        count: 1,
        total: 1,
        text: String::new(),
    };
    let part = RewindPart { files: plan.files.iter().map(all).collect(), call: Some(call) };
    let (rewind, writes) = announce(records, first.id, part, plan, disk)?;
    Ok(PreparedCallUndo::Ready(Box::new(rewind), writes))
}

/// The records in force.
fn live(records: &[LogRecord]) -> Vec<&LogRecord> {
    let rewinds = RewindHistory::of(records);
    let live = records.iter().enumerate().filter(|(at, _)| rewinds.is_live(*at));
    live.map(|(_, record)| record).collect()
}

/// The records of a part of the session.
fn within<'a>(records: &[&'a LogRecord], scope: ReviewScope) -> Vec<&'a LogRecord> {
    let is_within = |record: &&&LogRecord| match scope {
        ReviewScope::Turn(turn) => record.turn == turn,
        ReviewScope::LastTurn | ReviewScope::Message(_) | ReviewScope::Session => true,
    };
    records.iter().filter(is_within).copied().collect()
}

fn plan(
    records: &[LogRecord],
    scope: ReviewScope,
    disk: &RewindFileSystem<'_>,
) -> Result<ReviewPlan, RewindError> {
    let live = live(records);
    let changed: BTreeSet<TurnId> = live
        .iter()
        .filter(|record| match &record.entry {
            LogEntry::FileChange(change) => change.by != FileChangeSource::Rewind,
            _ => false,
        })
        .map(|record| record.turn)
        .collect();
    let last = changed.last().copied();
    let turn = match scope {
        ReviewScope::Session => None,
        ReviewScope::LastTurn => Some(last.ok_or(RewindError::NothingChanged)?),
        ReviewScope::Turn(turn) => Some(turn),
        ReviewScope::Message(entry) => {
            let found = live.iter().find(|record| record.id == entry);
            Some(found.ok_or(RewindError::NoMessage)?.turn)
        }
    };
    if last.is_none() {
        return Err(RewindError::NothingChanged);
    }
    let scope = turn.map_or(ReviewScope::Session, ReviewScope::Turn);
    let title = turn.map_or_else(String::new, |turn| title(records, turn));
    Ok(ReviewPlan {
        scope,
        title,
        earlier: turn.and_then(|turn| changed.range(..turn).next_back().copied()),
        later: turn.and_then(|turn| changed.range(turn.next()..).next().copied()),
        changes: undo::plan_review(within(&live, scope), disk),
    })
}

/// How the message of a turn begins.
fn title(records: &[LogRecord], turn: TurnId) -> String {
    let rewinds = RewindHistory::of(records);
    let mut messages = points(records, &rewinds).filter(|(at, _)| records[*at].turn == turn);
    let message = messages.next().map(|(_, message)| UserInput::from_blocks(&message.content));
    let text = message.map_or_else(String::new, |message| message.text);
    text.trim().lines().next().unwrap_or_default().chars().take(TITLE).collect()
}

/// Plans the rejection anew, and stores what would be overwritten. `None` where a file is no longer
/// what the user saw.
fn prepare(
    records: &[LogRecord],
    shown: &ReviewPlan,
    rejected: &[FileRejection],
    disk: &RewindFileSystem<'_>,
) -> Result<Option<(RewindEntry, Vec<FileRestore>)>, RewindError> {
    let reviewed = within(&live(records), shown.scope);
    let before = reviewed.first().ok_or(RewindError::NothingChanged)?.id;
    let mut plan = FilesPlan::default();
    let mut part = Vec::new();
    for FileRejection { path, changes } in rejected {
        let Some(file) = shown.changes.files.iter().find(|file| file.path == *path) else {
            return Ok(None);
        };
        let planned = undo::plan_rejection(reviewed.iter().copied(), file, changes, disk);
        let Some(planned) = planned else { return Ok(None) };
        let (count, total) = (changes.count(), file.changes().len());
        let diff = file.diff().filter(|_| count < total);
        let text = diff.map_or_else(String::new, |diff| bounded(&diff.excluded_text(changes)));
        part.push(RejectedChanges { path: path.clone(), count, total, text });
        plan.files.push(planned);
    }
    announce(records, before, RewindPart { call: None, files: part }, plan, disk).map(Some)
}

/// What taking a part of the changes back is, in the log and in the files, and stores what would be
/// overwritten. Files that stay as they are do not count as a part.
fn announce(
    records: &[LogRecord],
    before: EntryId,
    mut part: RewindPart,
    plan: FilesPlan,
    disk: &RewindFileSystem<'_>,
) -> Result<(RewindEntry, Vec<FileRestore>), RewindError> {
    let (touched, left): (Vec<PlannedFile>, Vec<PlannedFile>) = plan
        .files
        .into_iter()
        .partition(|file| matches!(file.action, FileAction::Put(_) | FileAction::Remove));
    part.files.retain(|file| touched.iter().any(|touched| touched.path == file.path));
    let mut writes = Vec::new();
    for file in &touched {
        writes.push(disk.write(file)?);
    }
    restored_files::sort(&mut writes);
    let mut rewind = RewindEntry {
        part: Some(part),
        files: writes.iter().map(|write| write.change.clone()).collect(),
        left: left.into_iter().map(|file| file.path).collect(),
        ..entry(before, RewindScope::Files)
    };
    (rewind.messages, rewind.summary) = message_summary_after(records, &rewind);
    Ok((rewind, writes))
}
