//! The session that an agent works on: its conversation, its journal, and what a session that is
//! opened is restored from.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use crate::domain::{ContentBlock, EntryId, FileRead, JobId, SessionId, TurnId};
use crate::platform::scratch::SessionScratch;
use crate::session::undo::RewindHistory;
use crate::session::{
    FileChangeSource, LogEntry, LogError, LogHandle, LogRecord, ReplayedConversation,
    SessionHeader, SessionStore, StoreError, TurnOutcome,
};
use crate::tools::ReadLedger;

use super::children::interruption::interrupted_note;
use super::children::session_agents::SessionAgents;
use super::event_queue::AgentEventSender;
use super::job_follower::JobFollower;
use super::jobs::SessionJobs;
use super::journal::SessionJournal;
use super::lost_jobs::{LostJob, lost_jobs};
use super::rewind_note::UntoldRewinds;
use super::rewind_plan::tells_of_rewind;

/// The session that is open now, new or from the store, with its log.
pub(super) struct ActiveSession {
    pub(super) id: SessionId,
    pub(super) conversation: ReplayedConversation,
    /// What the model has read of which file in this session.
    pub(super) reads: Arc<ReadLedger>,
    /// How often the model has searched the web since the session was opened.
    pub(super) searches: Arc<AtomicU32>,
    /// Whether the user stopped the last turn.
    pub(super) was_interrupted: bool,
    /// The newest turn with a message.
    spoken: Option<TurnId>,
    /// What was taken back while the conversation stayed, and the model has not been told of yet.
    pub(super) untold_rewinds: UntoldRewinds,
    /// What runs beside the conversation until the session is left.
    pub(super) jobs: Arc<SessionJobs>,
    /// Jobs of the log that ended with slug, and of which the model has not been told.
    pub(super) lost_jobs: Vec<LostJob>,
    /// The agents that calls have started.
    pub(super) agents: Arc<SessionAgents>,
    /// What the model is told of agents that ended with slug, once.
    pub(super) interrupted_agents: Option<ContentBlock>,
    /// Tells the front end about the jobs, while it wants to know.
    pub(super) follower: Option<JobFollower>,
    /// Why nothing can be added to this session; `None` for a session that can go on.
    pub(super) read_only: Option<String>,
    /// The scratch folder of the newest turn; `None` where there can be none.
    pub(super) scratch: Option<Arc<SessionScratch>>,
    journal: Option<Arc<SessionJournal>>,
    /// The newest record that was read back from the log.
    reread: Option<EntryId>,
}

impl ActiveSession {
    /// An empty session. Nothing is on disk before its first message.
    pub(super) fn new() -> Self {
        Self {
            id: SessionId::generate(),
            conversation: ReplayedConversation::default(),
            reads: Arc::default(),
            searches: Arc::default(),
            was_interrupted: false,
            spoken: None,
            untold_rewinds: UntoldRewinds::default(),
            jobs: Arc::default(),
            lost_jobs: Vec::new(),
            agents: Arc::default(),
            interrupted_agents: None,
            follower: None,
            read_only: None,
            scratch: None,
            journal: None,
            reread: None,
        }
    }

    /// A session from the store.
    pub(super) fn stored(log: LogHandle, records: &[LogRecord], events: &AgentEventSender) -> Self {
        let mut session = Self { id: log.session(), ..Self::new() };
        session.journal = Some(Arc::new(SessionJournal::new(log, events.clone())));
        session.replay(records);
        session
    }

    /// A session that can be read and forked, but not continued. `reason` is a sentence for the
    /// user.
    pub(super) fn read_only(id: SessionId, records: &[LogRecord], reason: String) -> Self {
        let mut session = Self { id, read_only: Some(reason), ..Self::new() };
        session.replay(records);
        session
    }

    /// The journal. A session without a log gets one, which begins with `header`.
    pub(super) fn journal(
        &mut self,
        store: &SessionStore,
        events: &AgentEventSender,
        header: SessionHeader,
    ) -> Result<Arc<SessionJournal>, StoreError> {
        if let Some(journal) = &self.journal {
            return Ok(journal.clone());
        }
        let log = store.create(header)?;
        let journal = Arc::new(SessionJournal::new(log, events.clone()));
        self.journal = Some(journal.clone());
        Ok(journal)
    }

    /// Whether this session has a log yet: a new one has none before its first message.
    pub(super) fn has_log(&self) -> bool {
        self.journal.is_some()
    }

    /// Saves what waits to be saved. `false` while the session has no log.
    ///
    /// # Errors
    ///
    /// When some lines still cannot be saved.
    pub(super) async fn save(&self) -> Result<bool, LogError> {
        match &self.journal {
            Some(journal) => journal.save().await.map(|()| true),
            None => Ok(false),
        }
    }

    /// Uses up the number of a turn that was asked for but does not begin, so that no other turn
    /// gets that number.
    pub(super) fn skip_turn(&mut self) -> TurnId {
        let turn = self.conversation.next_turn;
        self.conversation.next_turn = turn.next();
        turn
    }

    /// Writes an entry outside of a turn, under the number of the last one. Does nothing while the
    /// session has no log.
    pub(super) async fn note(&mut self, entry: LogEntry) {
        self.write(self.last_turn(), entry).await;
    }

    /// Writes an entry. Does nothing while the session has no log.
    pub(super) async fn write(&mut self, turn: TurnId, entry: LogEntry) {
        if let Some(journal) = self.journal.clone() {
            journal.write(turn, entry).await;
            self.catch_up();
        }
    }

    /// Applies to the conversation the records that the journal has written since the last call.
    pub(super) fn catch_up(&mut self) {
        let written = self.journal.as_ref().map(|journal| journal.take_written());
        for record in written.into_iter().flatten() {
            if self.reread.is_none_or(|known| record.id > known) {
                self.take(&record);
            }
        }
    }

    /// Rebuilds the conversation alone from all records of the log, also while a turn runs. Results
    /// of running calls that came meanwhile are among the records, and not applied again.
    pub(super) fn rebuild_conversation(&mut self, records: &[LogRecord]) {
        self.catch_up();
        self.reread = self.reread.max(records.last().map(|record| record.id));
        self.conversation = ReplayedConversation::of(records);
    }

    /// Rebuilds the conversation and the state from all records of the log.
    pub(super) fn replay(&mut self, records: &[LogRecord]) {
        let rewinds = RewindHistory::of(records);
        self.was_interrupted = false;
        self.spoken = None;
        self.untold_rewinds.clear();
        self.reads = Arc::default();
        // Also of what was rewound: it can come back.
        if let Some(job) = last_job(records) {
            job.reserve();
        }
        let live = records.iter().enumerate().filter(|(at, _)| rewinds.is_live(*at));
        let live = live.map(|(_, record)| record);
        for record in live.clone() {
            self.note_state(record);
            note_read(&self.reads, &record.entry);
        }
        let own = self.jobs.all();
        self.lost_jobs = lost_jobs(live);
        self.lost_jobs.retain(|lost| own.iter().all(|job| job.id != lost.id));
        self.interrupted_agents =
            if self.agents.all().is_empty() { interrupted_note(records) } else { None };
        self.conversation = ReplayedConversation::of(records);
    }

    fn take(&mut self, record: &LogRecord) {
        self.note_state(record);
        self.conversation.apply(record);
    }

    fn note_state(&mut self, record: &LogRecord) {
        let entry = &record.entry;
        if entry.as_message().is_some_and(|message| message.source.is_main()) {
            self.spoken = Some(record.turn);
        }
        if let LogEntry::TurnEnd(end) = entry {
            // A turn that only compacts has no answer to stop.
            if self.spoken == Some(record.turn) {
                self.was_interrupted = end.outcome == TurnOutcome::Interrupted;
            }
        } else if let LogEntry::Rewind(rewind) = entry {
            self.untold_rewinds.note(record.id, rewind);
        } else if entry.as_message().is_some_and(|it| it.content.iter().any(tells_of_rewind)) {
            self.untold_rewinds.clear();
        }
    }

    /// The number of the newest turn; zero before the first.
    pub(super) fn last_turn(&self) -> TurnId {
        TurnId(self.conversation.next_turn.0.saturating_sub(1))
    }

    /// Waits until stopped calls have written all that they still have to write; `false` when that
    /// takes too long.
    pub(super) async fn wait_for_late_writes(&self) -> bool {
        match &self.journal {
            Some(journal) => journal.wait_for_late_writes().await,
            None => true,
        }
    }

    /// Ends the session's jobs, saves what is left and releases the session for other processes.
    pub(super) async fn close(&mut self) {
        self.follower = None;
        self.agents.close().await;
        self.jobs.end_all();
        if let Some(scratch) = self.scratch.take() {
            scratch.remove_if_empty();
        }
        if let Some(journal) = self.journal.take() {
            journal.close().await;
        }
    }
}

/// Records what the model knows of a file by an entry: what it was shown, and what it wrote over
/// that.
pub(super) fn note_read(reads: &ReadLedger, entry: &LogEntry) {
    if let Some(FileRead { path, hash }) = entry.as_message().and_then(|it| it.read.as_ref()) {
        reads.record_hash(path, hash.clone());
    } else if let LogEntry::FileChange(change) = entry {
        let knows_it = change.before.is_none() || reads.seen(&change.path) == change.before;
        if let (FileChangeSource::Tool, true, Some(after)) = (change.by, knows_it, &change.after) {
            reads.record_hash(&change.path, after.clone());
        }
    }
}

/// The last job that a conversation names.
fn last_job(records: &[LogRecord]) -> Option<JobId> {
    let results = records.iter().filter_map(|record| record.entry.as_message()?.result.as_ref());
    results.filter_map(|result| result.job).max()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::{ContentHash, Message};
    use crate::session::{FileChangeEntry, FileKind, FileVersion, MessageEntry};

    /// A model that has read of job 41 would take another job 41 for it.
    #[test]
    fn the_jobs_of_an_opened_session_are_numbered_after_those_of_its_log() {
        let line = |job: u64| {
            let result = json!({"name": "Bash", "status": "done", "elapsed_ms": 7, "job": job});
            let content = json!([{"type": "tool_result", "tool_use_id": "c", "content": "up"}]);
            let record = json!({
                "id": "01a2009b-0fa8-707a-8159-3ff8c2f9ffbc", "turn": 1, "type": "message",
                "timestamp": "2026-11-22T00:14:51.816790819Z", "role": "user",
                "content": content, "result": result,
            });
            serde_json::from_value::<LogRecord>(record).unwrap()
        };
        let records = [line(7_041), line(7_005)];
        ActiveSession::read_only(SessionId::generate(), &records, "It is a test.".into());
        assert!(JobId::generate() > JobId(7_041));
    }

    #[test]
    fn a_log_says_what_the_model_knows_of_each_file() {
        let hash = |text: &str| ContentHash::of(text.as_bytes());
        let shown = |path: &str, text: &str| {
            let read = Some(FileRead { path: path.into(), hash: hash(text) });
            LogEntry::Message(MessageEntry { read, ..MessageEntry::new(Message::user("")) })
        };
        let version =
            |text: &str| Some(FileVersion { kind: FileKind::File, hash: hash(text), mode: None });
        let changed = |path: &str, before: &str, after: &str, by| {
            let before = if before.is_empty() { None } else { version(before) };
            LogEntry::FileChange(FileChangeEntry::new(path.into(), before, version(after), by))
        };
        let reads = ReadLedger::default();
        for entry in [
            shown("/w/read", "a"),
            shown("/w/edited", "a"),
            changed("/w/edited", "a", "b", FileChangeSource::Tool),
            changed("/w/made", "", "a", FileChangeSource::Tool),
            shown("/w/stale", "a"),
            changed("/w/stale", "theirs", "theirs and mine", FileChangeSource::Tool),
            changed("/w/unread", "a", "b", FileChangeSource::Tool),
            shown("/w/by_command", "a"),
            changed("/w/by_command", "a", "b", FileChangeSource::Command),
        ] {
            note_read(&reads, &entry);
        }
        for (path, known) in [
            ("/w/read", Some("a")),
            ("/w/edited", Some("b")),
            ("/w/made", Some("a")),
            ("/w/stale", Some("a")),
            ("/w/unread", None),
            ("/w/by_command", Some("a")),
        ] {
            assert_eq!(reads.seen(path.as_ref()), known.map(hash), "{path}");
        }
    }
}
