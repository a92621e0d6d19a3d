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

use std::sync::Arc;

use crate::domain::{EntryId, NoticeLevel, SubagentSummary, UserInput};
use crate::session::undo::{self, FileSystemView, FilesPlan, RewindHistory, RewindMark, points};
use crate::session::{
    LogEntry, LogRecord, RewindEntry, RewindScope, SessionMeta, title_after, title_in_force,
};

use super::AgentEvent;
use super::agent_loop::Agent;
use super::blocking::blocking;
use super::restored_files::{self, FileRestore, RewindFileSystem};
use super::rewind_plan::{RewindDestination, RewindError, RewindPlan};

impl Agent {
    /// Plans a rewind and tells the front end.
    pub(super) async fn plan_rewind(&mut self, to: RewindDestination) {
        let records = match self.no_agents_run() {
            Ok(()) => self.rewindable_records().await,
            Err(reason) => Err(reason),
        };
        let planned = match records {
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
        self.no_agents_run()?;
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
        let (plan, rewind, title, writes) =
            match prepared.map_err(|error| RewindError::Log(error.to_string()))?? {
                PreparedRewind::Unchanged { plan, rewind, title, writes } => {
                    (plan, rewind, title, writes)
                }
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
            .intent(turn, LogEntry::Rewind(*rewind))
            .await
            .map_err(|error| RewindError::NotRecorded(error.to_string()))?;
        if let Some(title) = title {
            journal.write(turn, LogEntry::Title { title }).await;
        }
        let wanted = writes.len();
        let written = self.write_files(&journal, turn, writes).await;
        self.reopen_session().await?;
        let back = plan.to != RewindDestination::Redo;
        let message = (back && what.has_conversation()).then(|| plan.message.clone());
        let told = describe_rewind(plan.to, what, (written, wanted));
        self.events.send(AgentEvent::Rewound { message, told });
        Ok(())
    }

    /// Rebuilds the conversation from the log as it is now, and shows it.
    async fn reopen_session(&mut self) -> Result<(), RewindError> {
        let records = self.rewindable_records().await?;
        self.session.catch_up();
        self.session.replay(&records);
        self.tell_opened(records);
        self.tell_uncounted().await;
        Ok(())
    }

    /// An error names the agents that calls have started and that could still change files.
    fn no_agents_run(&self) -> Result<(), RewindError> {
        let running = self.session.agents.running();
        let names: Vec<String> = running.iter().map(SubagentSummary::name).collect();
        match names.is_empty() {
            true => Ok(()),
            false => Err(RewindError::AgentsRunning(names.join("; "))),
        }
    }

    /// All records of the open session, or why it cannot be rewound.
    pub(super) async fn rewindable_records(&mut self) -> Result<Vec<LogRecord>, RewindError> {
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
    Unchanged {
        plan: RewindPlan,
        rewind: Box<RewindEntry>,
        /// The session's title after it, where that is another one.
        title: Option<String>,
        writes: Vec<FileRestore>,
    },
    /// The files have changed since. Holds the plan as it is now.
    Changed(RewindPlan),
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

pub(super) fn entry(before: EntryId, what: RewindScope) -> RewindEntry {
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
pub(super) fn message_summary_after(
    records: &[LogRecord],
    rewind: &RewindEntry,
) -> (u64, Option<String>) {
    SessionMeta::message_summary(records, &history_after(records, rewind))
}

fn history_after(records: &[LogRecord], rewind: &RewindEntry) -> RewindHistory {
    let mark = RewindMark::Rewind(EntryId::generate(), Box::new(rewind.clone()));
    RewindHistory::of_parts(records, &[mark])
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
    let undone = match shown.to {
        RewindDestination::Redo => RewindHistory::of(records).redoable().map(|at| &records[at]),
        RewindDestination::Last | RewindDestination::Before(_) => None,
    };
    let mut rewind = RewindEntry {
        redoes: undone.map(|record| record.id),
        part: undone.and_then(|record| match &record.entry {
            LogEntry::Rewind(undone) => undone.part.clone(),
            _ => None,
        }),
        ..entry(plan.before, what)
    };
    let mut writes = Vec::new();
    if what.has_files() {
        for file in plan.files.touched() {
            writes.push(disk.write(file)?);
        }
        rewind.files = writes.iter().map(|write| write.change.clone()).collect();
        restored_files::sort(&mut writes);
        rewind.left = plan.files.skipped().map(|file| file.path.clone()).collect();
    }
    let rewinds = history_after(records, &rewind);
    (rewind.messages, rewind.summary) = SessionMeta::message_summary(records, &rewinds);
    let title = Some(title_in_force(records, &rewinds));
    let title = title.filter(|it| *it != title_after(records).unwrap_or_default());
    Ok(PreparedRewind::Unchanged { plan, rewind: Box::new(rewind), title, writes })
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
        RewindDestination::Redo => format!("Restored {done}"),
        RewindDestination::Last | RewindDestination::Before(_) => {
            format!("Undone: {done}. /redo restores it.")
        }
    }
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
                "Undone: the conversation and 2 files. /redo restores it.",
            ),
            (before, RewindScope::Files, (1, 1), "Undone: one file. /redo restores it."),
            (before, RewindScope::Files, (1, 3), "Undone: 1 of 3 files. /redo restores it."),
            (before, RewindScope::Both, (0, 3), "Undone: the conversation. /redo restores it."),
            (before, RewindScope::Files, (0, 3), "No file was changed"),
            (before, RewindScope::Files, (0, 0), "No file needed changing"),
            (RewindDestination::Redo, RewindScope::Files, (2, 2), "Restored 2 files"),
        ] {
            assert_eq!(describe_rewind(to, what, files), expected);
        }
    }
}
