//! What a running call tells, on its way to the log and the front end.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use crate::domain::{CallId, NoticeLevel, TurnId};
use crate::session::{
    BlobError, Blobs, ChangedBy, Entry, FileChanged, FileKind, Image, NotCovered, Uncovered, Why,
};
use crate::tools::FileChange;

use super::Event;
use super::events::Events;
use super::facts::{Fact, Facts};
use super::journal::Journal;

/// Keeps what the calls of a turn tell.
#[derive(Clone)]
pub(super) struct Keeper {
    pub(super) turn: TurnId,
    pub(super) journal: Arc<Journal>,
    pub(super) blobs: Blobs,
    pub(super) events: Events,
}

impl Keeper {
    /// Takes what the call told since the last time.
    pub(super) async fn pass_on(&self, call: &CallId, facts: &Facts) {
        for fact in facts.take() {
            match fact {
                Fact::Progress(text) => {
                    let call = call.clone();
                    self.events.tell(Event::ToolProgress { turn: self.turn, call, text }).await;
                }
                Fact::Todos(todos) => {
                    self.journal.write(self.turn, Entry::Todo { todos: todos.clone() }).await;
                    self.events.tell(Event::TodosChanged(todos)).await;
                }
                Fact::FileChanged(change) => self.keep_change(change).await,
            }
        }
    }

    /// Keeps what a call still does after it was left behind: a file whose writing could not be
    /// stopped any more is on record like every other, so that it can be undone.
    pub(super) async fn pass_on_late(self, facts: Arc<Facts>) {
        loop {
            let is_last = facts.is_closed();
            for fact in facts.take() {
                match fact {
                    // The call is over for the person and the model.
                    Fact::Progress(_) | Fact::Todos(_) => {}
                    Fact::FileChanged(change) => self.keep_change(change).await,
                }
            }
            if is_last {
                break;
            }
            facts.news().await;
        }
    }

    /// Keeps both contents by hash and writes the change to the log.
    async fn keep_change(&self, change: FileChange) {
        let blobs = self.blobs.clone();
        let path = change.path.clone();
        let kept = tokio::task::spawn_blocking(move || {
            let mode = std::fs::metadata(&change.path).ok();
            let mode = mode.map(|metadata| metadata.permissions().mode() & 0o7777);
            let image = |hash| Image { kind: FileKind::File, hash, mode };
            let before = change.before.as_deref().map(|bytes| blobs.put(bytes)).transpose()?;
            let after = blobs.put(&change.after)?;
            // Links on the way may be others when it is undone.
            let real = change.path.canonicalize().ok().filter(|real| *real != change.path);
            let (before, after) = (before.map(image), Some(image(after)));
            let changed = FileChanged::new(change.path, before, after, ChangedBy::Tool);
            Ok::<_, BlobError>(FileChanged { real, ..changed })
        })
        .await;
        match kept {
            // The log would name another place, and what was there would be taken for removed.
            Ok(Ok(changed)) if changed.place().to_str().is_none() => {
                let files = vec![Uncovered { path, why: Why::Name }];
                let not_covered = NotCovered { files, ..NotCovered::default() };
                self.journal.write(self.turn, Entry::NotCovered(not_covered)).await;
            }
            Ok(Ok(changed)) => {
                self.journal.write(self.turn, Entry::FileChange(changed)).await;
            }
            Ok(Err(error)) => {
                let text = format!("What a changed file held could not be kept: {error}.");
                self.events.notice(NoticeLevel::Warning, text).await;
            }
            Err(error) => tracing::error!(%error, "keeping a changed file was cut short"),
        }
    }
}
