//! Takes the events of running calls to the log and the front end. Changes of files that commands
//! make are found in `change_tracker`.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use crate::domain::{CallId, NoticeLevel, TurnId};
use crate::session::{
    BlobError, BlobStore, FileChangeEntry, FileChangeSource, FileKind, FileVersion, LogEntry,
    UntrackedChanges, UntrackedFile, UntrackedReason,
};
use crate::tools::FileChange;

use super::AgentEvent;
use super::event_queue::AgentEventSender;
use super::journal::SessionJournal;
use super::tool_events::{ToolEvent, ToolEventQueue};

/// Records the events of the calls of one turn.
#[derive(Clone)]
pub(super) struct ToolEventRecorder {
    pub(super) turn: TurnId,
    pub(super) journal: Arc<SessionJournal>,
    pub(super) blobs: BlobStore,
    pub(super) events: AgentEventSender,
}

impl ToolEventRecorder {
    /// Records the events that the call has sent since the last time.
    pub(super) async fn record_events(&self, call: &CallId, queue: &ToolEventQueue) {
        for event in queue.take() {
            match event {
                ToolEvent::Progress(text) => {
                    let call = call.clone();
                    self.events.send(AgentEvent::ToolProgress { turn: self.turn, call, text });
                }
                ToolEvent::Todos(todos) => {
                    self.journal.write(self.turn, LogEntry::Todo { todos }).await;
                }
                ToolEvent::FileChanged(change) => self.keep_change(call, change).await,
            }
        }
    }

    /// Records what a call still does after a stop: a file whose writing could not be stopped is
    /// logged like any other, so that it can be restored.
    pub(super) async fn record_late_events(self, call: CallId, queue: Arc<ToolEventQueue>) {
        loop {
            let is_last = queue.is_closed();
            for event in queue.take() {
                match event {
                    // For the user and the model the call is over.
                    ToolEvent::Progress(_) | ToolEvent::Todos(_) => {}
                    ToolEvent::FileChanged(change) => self.keep_change(&call, change).await,
                }
            }
            if is_last {
                break;
            }
            queue.wait().await;
        }
    }

    /// Stores both contents by hash and writes the change to the log.
    async fn keep_change(&self, call: &CallId, change: FileChange) {
        let blobs = self.blobs.clone();
        let path = change.path.clone();
        let kept = tokio::task::spawn_blocking(move || {
            let mode = std::fs::metadata(&change.path).ok();
            let mode = mode.map(|metadata| metadata.permissions().mode() & 0o7777);
            let version = |hash| FileVersion { kind: FileKind::File, hash, mode };
            let before = change.before.as_deref().map(|bytes| blobs.put(bytes)).transpose()?;
            let after = blobs.put(&change.after)?;
            // The links in the path may lead elsewhere by the time of a rewind.
            let real = change.path.canonicalize().ok().filter(|real| *real != change.path);
            let (before, after) = (before.map(version), Some(version(after)));
            let changed = FileChangeEntry::new(change.path, before, after, FileChangeSource::Tool);
            Ok::<_, BlobError>(FileChangeEntry { real, ..changed })
        })
        .await;
        match kept {
            // A path that is not UTF-8 would be another one in the log, so a rewind would take the
            // file for removed.
            Ok(Ok(changed)) if changed.place().to_str().is_none() => {
                let files = vec![UntrackedFile { path, why: UntrackedReason::Name }];
                let not_covered = UntrackedChanges { files, ..UntrackedChanges::default() };
                self.journal.write(self.turn, LogEntry::NotCovered(not_covered)).await;
            }
            Ok(Ok(changed)) => {
                let changed = changed.of_call(call.clone());
                self.journal.write(self.turn, LogEntry::FileChange(changed)).await;
            }
            Ok(Err(error)) => {
                let text = format!(
                    "The old content of a changed file could not be saved, so /undo cannot restore it: {error}."
                );
                self.events.notice(NoticeLevel::Warning, text);
            }
            Err(error) => tracing::error!(%error, "keeping a changed file was cut short"),
        }
    }
}
