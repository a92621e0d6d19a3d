//! Opens another session: a new one, a stored one, or a fork.
//!
//! The old session is closed only after the new one was read, so it stays open when that fails.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::domain::sanitize::sanitize_line;
use crate::domain::{EntryId, NoticeLevel, SessionId, UserInput};
use crate::session::{LoadedLog, LogEntry, LogRecord, StoreError};

use super::active_session::ActiveSession;
use super::agent_loop::Agent;
use super::blocking::blocking;
use super::jobs::{CallJobs, ended_with_session};
use super::tool_gate::Interactivity;
use super::{AgentEvent, ForkPosition};

/// The most tools that a notice names, and the most characters of a name out of a log.
const MAX_TOOLS_NAMED: usize = 5;
const MAX_NAME: usize = 64;

impl Agent {
    pub(super) async fn new_session(&mut self) {
        let left = self.leave_session().await;
        self.session = ActiveSession::new();
        self.setup.registry.begin_session();
        self.allowance.begin_session();
        self.tell_opened(Vec::new());
        self.tell_left(left);
    }

    /// What calls of the open session start jobs with.
    pub(super) fn call_jobs(&self) -> CallJobs {
        CallJobs {
            jobs: self.session.jobs.clone(),
            processes: self.setup.processes.clone(),
            blobs: self.setup.blobs.clone(),
            redactor: self.setup.redactor.clone(),
            events: self.events.clone(),
            may_outlive: false,
        }
    }

    /// Closes the open session because another one follows. Returns what the user is told about the jobs
    /// that end with it, once the other one is open: it takes the place of all that was shown.
    async fn leave_session(&mut self) -> Option<String> {
        self.titles.forget();
        let ended = ended_with_session(&self.session.jobs.end_all());
        self.session.close().await;
        ended
    }

    fn tell_left(&self, left: Option<String>) {
        if let Some(text) = left {
            self.events.notice(NoticeLevel::Info, text);
        }
    }

    /// Saves what could not be saved so far, and says where the session is.
    pub(super) async fn tell_saved(&mut self) {
        let saved = match self.session.save().await {
            Ok(false) if self.session.read_only.is_none() => {
                "Nothing to save yet: the session starts with its first message.".to_owned()
            }
            Ok(_) => {
                let path = self.setup.store.log_path(self.session.id);
                format!("Saved in {}", path.display())
            }
            Err(error) => return self.error(error.to_string()),
        };
        self.events.notice(NoticeLevel::Info, saved);
    }

    /// Gives the session a title. The title is an entry of the log, so a session without a log can
    /// have none.
    pub(super) async fn set_title(&mut self, title: String) {
        if let Some(reason) = self.session.read_only.clone() {
            self.error(reason);
        } else if self.session.has_log() {
            self.session.note(LogEntry::Title { title }).await;
        } else {
            self.error("Nothing to rename yet: the session starts with its first message.");
        }
    }

    /// Opens the session that the command line names. When that fails, an interactive run begins an
    /// empty session and shows the reason.
    pub(super) async fn resume_or_new(&mut self, session: SessionId) {
        if let Err(error) = self.resume(session).await {
            self.begin_without(error.to_string());
        }
    }

    pub(super) async fn fork_or_new(&mut self, session: SessionId) {
        if let Err(error) = self.fork(session, ForkPosition::End).await {
            self.begin_without(error.to_string());
        }
    }

    /// Goes on without the session that was asked for. A headless run opens nothing: a script must
    /// not get its answer from another session.
    fn begin_without(&mut self, reason: String) {
        match self.setup.interactivity {
            Interactivity::Interactive => {
                self.tell_opened(Vec::new());
                self.error(reason);
            }
            Interactivity::Headless => self.refuse_turn(reason),
        }
    }

    pub(super) async fn resume(&mut self, session: SessionId) -> Result<(), StoreError> {
        if session == self.session.id {
            return Ok(());
        }
        let (active, loaded, shown) = self.load(session).await?;
        let left = self.leave_session().await;
        self.session = active;
        let server_tools = loaded.header.as_ref().map(|header| header.server_tools.as_slice());
        let unknown_tools = self.setup.registry.resume_session(server_tools.unwrap_or_default());
        if self.setup.parent.is_some() {
            // What a fork has of its parent's log runs on there.
            self.session.interrupted_agents = None;
            self.session.lost_jobs.clear();
        }
        self.allowance.begin_session();
        let unknown_provider = self.take_over_model().await;
        let read_only = self.session.read_only.clone();
        match shown {
            Some(first) => self.tell_read(loaded.records, first),
            None => self.tell_opened(loaded.records),
        }
        self.tell_uncounted().await;
        for notice in &loaded.notices {
            self.events.notice(NoticeLevel::Warning, notice.to_string());
        }
        self.tell_unknown(unknown_provider, &unknown_tools);
        self.tell_left(left);
        if let Some(reason) = read_only {
            self.events.notice(NoticeLevel::Info, reason);
        }
        Ok(())
    }

    /// Says what the log names that this run does not have, and that a session goes on without.
    fn tell_unknown(&self, provider: Option<String>, tools: &[String]) {
        if let Some(provider) = provider {
            let text = format!(
                "Your configuration has no provider {}, which answered in this session. {} answers now; \
                 /model chooses another.",
                shown_name(&provider),
                self.current_provider().name
            );
            self.events.notice(NoticeLevel::Warning, text);
        }
        if !tools.is_empty() {
            let shown: Vec<String> =
                tools.iter().take(MAX_TOOLS_NAMED).map(|name| shown_name(name)).collect();
            let more = match tools.len().saturating_sub(MAX_TOOLS_NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let text = format!(
                "This session had tools of MCP servers in its tools array that no server has as they \
                 were: {}{more}. They are left out; the model finds what there is now with ToolSearch.",
                shown.join(", ")
            );
            self.events.notice(NoticeLevel::Warning, text);
        }
    }

    /// Loads a session to continue it; a session of another folder or of a newer slug can only be
    /// read. The end of a long session is shown while the rest is being read; then the id of the
    /// first shown record is returned, too.
    async fn load(
        &self,
        session: SessionId,
    ) -> Result<(ActiveSession, LoadedLog, Option<EntryId>), StoreError> {
        let store = self.setup.store.clone();
        let (show, newest) = oneshot::channel();
        // The receiver is gone when slug ends meanwhile.
        let opening = blocking(move || store.open_showing(session, |it| drop(show.send(it))));
        let (opened, shown) = tokio::join!(opening, self.show(session, newest));
        let (log, loaded) = match opened? {
            Ok(opened) => opened,
            Err(StoreError::Newer(_)) => {
                let store = self.setup.store.clone();
                let loaded = blocking(move || store.read(session)).await??;
                let active = ActiveSession::read_only(session, &loaded.records, NEWER.to_owned());
                return Ok((active, loaded, shown));
            }
            Err(error) => return Err(error),
        };
        let active = match self.belongs_elsewhere(&loaded) {
            Some(reason) => {
                log.close().await?;
                ActiveSession::read_only(session, &loaded.records, reason)
            }
            None => ActiveSession::stored(log, &loaded.records, &self.events),
        };
        Ok((active, loaded, shown))
    }

    async fn show(
        &self,
        session: SessionId,
        newest: oneshot::Receiver<Vec<LogRecord>>,
    ) -> Option<EntryId> {
        // A short session is not shown in advance: the sender is dropped, and `recv` fails.
        let records = newest.await.ok()?;
        let first = records.first()?.id;
        self.events.send(AgentEvent::SessionOpened { session, records: Arc::new(records) });
        Some(first)
    }

    pub(super) async fn fork(
        &mut self,
        session: SessionId,
        at: ForkPosition,
    ) -> Result<(), StoreError> {
        let (store, header) = (self.setup.store.clone(), self.header(SessionId::generate()));
        let fork = header.session_id;
        let make_fork = move || {
            let (upto, message) = match at {
                ForkPosition::End => (None, None),
                ForkPosition::After(entry) => (Some(entry), None),
                ForkPosition::Before(entry) => {
                    let (upto, record) = store.record_and_previous(session, entry)?;
                    let LogEntry::Message(logged) = record.entry else {
                        return Err(StoreError::NoSuchEntry { session, entry });
                    };
                    (Some(upto), Some(UserInput::from_blocks(&logged.content)))
                }
            };
            store.fork(session, upto, header).map(|()| message)
        };
        let message = blocking(make_fork).await??;
        self.resume(fork).await?;
        self.events.send(AgentEvent::Forked { from: session, at, message });
        Ok(())
    }

    /// Tells the front end about the open session, with all of its records.
    pub(super) fn tell_opened(&mut self, records: Vec<LogRecord>) {
        let session = self.session.id;
        self.events.send(AgentEvent::SessionOpened { session, records: Arc::new(records) });
        self.tell_session_state();
    }

    /// Tells the front end how much is sent by estimate, where no server has counted what would be sent
    /// now.
    pub(super) async fn tell_uncounted(&mut self) {
        let conversation = &self.session.conversation;
        let is_counted = conversation.counted.is_some() || conversation.messages.is_empty();
        if !is_counted && self.setup.interactivity == Interactivity::Interactive {
            let ledger = self.ledger().await;
            self.events.send(AgentEvent::ContextEstimated(Box::new(ledger)));
        }
    }

    /// Tells the front end the records before the one that was shown first.
    fn tell_read(&mut self, mut records: Vec<LogRecord>, first: EntryId) {
        let session = self.session.id;
        let shown = records.iter().position(|record| record.id == first);
        records.truncate(shown.unwrap_or_default());
        self.events.send(AgentEvent::SessionRead { session, earlier: Arc::new(records) });
        self.tell_session_state();
    }

    /// Tells the front end the title, plan and spending of the session.
    fn tell_session_state(&mut self) {
        self.events.send(AgentEvent::session_state(&self.session.conversation));
        self.tell_spent();
    }

    fn belongs_elsewhere(&self, loaded: &LoadedLog) -> Option<String> {
        let folder = &loaded.header.as_ref()?.cwd;
        (*folder != self.setup.place.cwd).then(|| {
            format!(
                "This session belongs to {} and is read-only here. To continue it, start slug \
                 there, or fork it into this folder with /fork.",
                folder.display()
            )
        })
    }
}

/// Why a session of a newer slug cannot be continued.
const NEWER: &str = "This session was written by a newer slug. It is read-only; /fork continues \
    it.";

/// A name out of a log, for a notice.
fn shown_name(name: &str) -> String {
    sanitize_line(&name.chars().take(MAX_NAME).collect::<String>())
}
