//! What a running call tells, on its way to the log and the front end.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use crate::domain::{CallId, NoticeLevel, TurnId};
use crate::session::{
    BlobError, BlobStore, FileChangeEntry, FileChangeSource, FileKind, FileVersion, LogEntry,
    UntrackedChanges, UntrackedFile, UntrackedReason,
};
use crate::tools::FileChange;

use super::AgentEvent;
use super::event_sender::AgentEventSender;
use super::journal::SessionJournal;
use super::tool_events::{ToolEvent, ToolEventQueue};

/// Keeps what the calls of a turn tell.
#[derive(Clone)]
pub(super) struct ToolEventRecorder {
    pub(super) turn: TurnId,
    pub(super) journal: Arc<SessionJournal>,
    pub(super) blobs: BlobStore,
    pub(super) events: AgentEventSender,
}

impl ToolEventRecorder {
    /// Takes what the call told since the last time.
    pub(super) async fn record_events(&self, call: &CallId, facts: &ToolEventQueue) {
        for fact in facts.take() {
            match fact {
                ToolEvent::Progress(text) => {
                    let call = call.clone();
                    self.events
                        .tell(AgentEvent::ToolProgress { turn: self.turn, call, text })
                        .await;
                }
                ToolEvent::Todos(todos) => {
                    self.journal.write(self.turn, LogEntry::Todo { todos: todos.clone() }).await;
                    self.events.tell(AgentEvent::TodosChanged(todos)).await;
                }
                ToolEvent::FileChanged(change) => self.keep_change(change).await,
            }
        }
    }

    /// Keeps what a call still does after it was left behind: a file whose writing could not be
    /// stopped any more is on record like every other, so that it can be undone.
    pub(super) async fn record_late_events(self, facts: Arc<ToolEventQueue>) {
        loop {
            let is_last = facts.is_closed();
            for fact in facts.take() {
                match fact {
                    // The call is over for the person and the model.
                    ToolEvent::Progress(_) | ToolEvent::Todos(_) => {}
                    ToolEvent::FileChanged(change) => self.keep_change(change).await,
                }
            }
            if is_last {
                break;
            }
            facts.wait().await;
        }
    }

    /// Keeps both contents by hash and writes the change to the log.
    async fn keep_change(&self, change: FileChange) {
        let blobs = self.blobs.clone();
        let path = change.path.clone();
        let kept = tokio::task::spawn_blocking(move || {
            let mode = std::fs::metadata(&change.path).ok();
            let mode = mode.map(|metadata| metadata.permissions().mode() & 0o7777);
            let image = |hash| FileVersion { kind: FileKind::File, hash, mode };
            let before = change.before.as_deref().map(|bytes| blobs.put(bytes)).transpose()?;
            let after = blobs.put(&change.after)?;
            // Links on the way may be others when it is undone.
            let real = change.path.canonicalize().ok().filter(|real| *real != change.path);
            let (before, after) = (before.map(image), Some(image(after)));
            let changed = FileChangeEntry::new(change.path, before, after, FileChangeSource::Tool);
            Ok::<_, BlobError>(FileChangeEntry { real, ..changed })
        })
        .await;
        match kept {
            // The log would name another place, and what was there would be taken for removed.
            Ok(Ok(changed)) if changed.place().to_str().is_none() => {
                let files = vec![UntrackedFile { path, why: UntrackedReason::Name }];
                let not_covered = UntrackedChanges { files, ..UntrackedChanges::default() };
                self.journal.write(self.turn, LogEntry::NotCovered(not_covered)).await;
            }
            Ok(Ok(changed)) => {
                self.journal.write(self.turn, LogEntry::FileChange(changed)).await;
            }
            Ok(Err(error)) => {
                let text = format!("What a changed file held could not be kept: {error}.");
                self.events.notice(NoticeLevel::Warning, text).await;
            }
            Err(error) => tracing::error!(%error, "keeping a changed file was cut short"),
        }
    }
}
