//! What a running tool tells the agent, kept until the gate fetches it.
//!
//! Tools speak from any thread and must never wait for the screen. Live output is merged into one
//! pending piece of bounded size; changes of files and plan are kept one by one.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::Notify;

use crate::domain::sanitize::strip_ansi;
use crate::domain::{ContentHash, TodoItem};
use crate::session::BlobStore;
use crate::tools::{FileChange, ToolEffects};

/// Live output that waits, at most; older text gives way.
const PENDING: usize = 64 * 1024;

/// What is remembered of live output that was passed on already.
const REMEMBERED: usize = 4 * 1024;

/// Something a tool told.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ToolEvent {
    /// More live output.
    Progress(String),
    /// The plan has changed.
    Todos(Vec<TodoItem>),
    /// A file was written.
    FileChanged(FileChange),
}

/// The mailbox between a tool and the gate.
pub(super) struct ToolEventQueue {
    inner: Mutex<ToolEventState>,
    news: Notify,
    blobs: BlobStore,
}

/// The tool's end of the mailbox. When its last clone is gone, nothing more can come.
pub(super) struct ToolEventSender(Arc<ToolEventQueue>);

#[derive(Default)]
struct ToolEventState {
    progress: String,
    /// The end of all live output, for a call that never comes to report it.
    so_far: String,
    others: VecDeque<ToolEvent>,
    kept: Option<ContentHash>,
    is_closed: bool,
}

impl ToolEventQueue {
    pub(super) fn new(blobs: BlobStore) -> Self {
        Self { inner: Mutex::default(), news: Notify::new(), blobs }
    }

    /// The end for the tool. One is enough: it closes the mailbox when it goes.
    pub(super) fn sender(self: &Arc<Self>) -> ToolEventSender {
        ToolEventSender(self.clone())
    }

    /// The output that was kept whole.
    pub(super) fn kept(&self) -> Option<ContentHash> {
        self.lock().kept.clone()
    }

    /// The end of the live output, without its colours.
    pub(super) fn recent_output(&self) -> String {
        strip_ansi(&self.lock().so_far).into_owned()
    }

    /// Whether nothing more can come than what is there.
    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Wakes when something is there, or when the mailbox is closed.
    pub(super) async fn wait(&self) {
        self.news.notified().await;
    }

    /// Everything that is there.
    pub(super) fn take(&self) -> Vec<ToolEvent> {
        let mut inner = self.lock();
        let progress = std::mem::take(&mut inner.progress);
        let mut facts: Vec<ToolEvent> = inner.others.drain(..).collect();
        if !progress.is_empty() {
            facts.push(ToolEvent::Progress(progress));
        }
        facts
    }

    fn put(&self, fact: ToolEvent) {
        self.lock().others.push_back(fact);
        self.news.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, ToolEventState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ToolEventSender {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.news.notify_one();
    }
}

#[async_trait]
impl ToolEffects for ToolEventSender {
    fn progress(&self, text: &str) {
        let mut inner = self.0.lock();
        push_bounded(&mut inner.progress, text, PENDING);
        push_bounded(&mut inner.so_far, text, REMEMBERED);
        drop(inner);
        self.0.news.notify_one();
    }

    fn todos(&self, todos: Vec<TodoItem>) {
        self.0.put(ToolEvent::Todos(todos));
    }

    fn file_changed(&self, change: FileChange) {
        self.0.put(ToolEvent::FileChanged(change));
    }

    async fn keep(&self, bytes: Vec<u8>) -> Option<ContentHash> {
        let blobs = self.0.blobs.clone();
        // Megabytes, synced: not for a thread that others wait on.
        match tokio::task::spawn_blocking(move || blobs.put(&bytes)).await {
            Ok(Ok(hash)) => {
                self.0.lock().kept = Some(hash.clone());
                Some(hash)
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "the whole output of a call could not be kept");
                None
            }
            Err(error) => {
                tracing::error!(%error, "keeping the whole output of a call was cut short");
                None
            }
        }
    }
}

/// Appends, and lets the oldest text go.
fn push_bounded(text: &mut String, more: &str, limit: usize) {
    text.push_str(more);
    let excess = text.len().saturating_sub(limit);
    if excess > 0 {
        let cut = text.ceil_char_boundary(excess);
        text.drain(..cut);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> (tempfile::TempDir, Arc<ToolEventQueue>) {
        let folder = tempfile::tempdir().unwrap();
        let facts = ToolEventQueue::new(BlobStore::new(folder.path().to_owned()));
        (folder, Arc::new(facts))
    }

    #[test]
    fn live_output_is_merged_and_bounded() {
        let (_folder, facts) = facts();
        let teller = facts.sender();
        for _ in 0..40_000 {
            teller.progress("äb");
        }
        let taken = facts.take();
        assert_eq!(taken.len(), 1);
        let ToolEvent::Progress(text) = &taken[0] else { panic!("no progress") };
        assert!(text.len() <= PENDING && text.ends_with("äb"));
        assert_eq!(facts.take(), []);
    }

    #[test]
    fn the_end_of_the_output_is_remembered_after_it_was_taken() {
        let (_folder, facts) = facts();
        let teller = facts.sender();
        teller.progress(&"old ".repeat(REMEMBERED));
        teller.progress("\u{1b}[1mnew\u{1b}[0m");
        facts.take();
        let so_far = facts.recent_output();
        assert!(so_far.len() <= REMEMBERED && so_far.ends_with("old new"), "{so_far}");
    }

    #[test]
    fn changes_are_kept_one_by_one() {
        let (_folder, facts) = facts();
        let change = FileChange { path: "/w/a".into(), before: None, after: b"x".to_vec() };
        let teller = facts.sender();
        teller.file_changed(change.clone());
        teller.todos(Vec::new());
        assert_eq!(facts.take(), [ToolEvent::FileChanged(change), ToolEvent::Todos(Vec::new())]);
    }

    #[tokio::test]
    async fn the_end_of_the_tool_is_news() {
        let (_folder, facts) = facts();
        let teller = facts.sender();
        assert!(!facts.is_closed());
        drop(teller);
        facts.wait().await;
        assert!(facts.is_closed());
    }
}
