//! The queue of events from a running tool to the gate.
//!
//! Tools send events from any thread and must never wait for the screen. Live output is merged into
//! one pending piece of bounded size; changes of files and of the plan are kept one by one.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::Notify;

use crate::domain::sanitize::strip_ansi;
use crate::domain::{ContentHash, MessageImage, TodoItem};
use crate::platform::image;
use crate::session::BlobStore;
use crate::tools::{FileChange, ToolEffects};

/// The most live output that waits, in bytes; older text is dropped.
const MAX_PENDING_BYTES: usize = 64 * 1024;

/// How much of the latest live output is remembered after the gate has taken it, in bytes.
const MAX_RECENT_BYTES: usize = 4 * 1024;

/// An event of a running tool.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ToolEvent {
    /// More live output.
    Progress(String),
    /// The model has written a new plan.
    Todos(Vec<TodoItem>),
    /// A file was written.
    FileChanged(FileChange),
}

/// The events of one call, between the tool and the gate.
pub(super) struct ToolEventQueue {
    inner: Mutex<ToolEventState>,
    news: Notify,
    blobs: BlobStore,
}

/// The tool's end of the queue. Dropping it closes the queue.
pub(super) struct ToolEventSender(Arc<ToolEventQueue>);

#[derive(Default)]
struct ToolEventState {
    progress: String,
    /// The end of all live output, for a call that is stopped before it returns its result.
    so_far: String,
    others: VecDeque<ToolEvent>,
    kept: Option<ContentHash>,
    is_closed: bool,
}

impl ToolEventQueue {
    pub(super) fn new(blobs: BlobStore) -> Self {
        Self { inner: Mutex::default(), news: Notify::new(), blobs }
    }

    /// The tool's end. There must be only one, because dropping it closes the queue.
    pub(super) fn sender(self: &Arc<Self>) -> ToolEventSender {
        ToolEventSender(self.clone())
    }

    /// The hash of the whole output, if the tool has stored it.
    pub(super) fn kept(&self) -> Option<ContentHash> {
        self.lock().kept.clone()
    }

    /// The end of the live output, without its colours.
    pub(super) fn recent_output(&self) -> String {
        strip_ansi(&self.lock().so_far).into_owned()
    }

    /// Whether the tool is done: no more events can come than those in the queue.
    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Waits until there are events or the queue is closed.
    pub(super) async fn wait(&self) {
        self.news.notified().await;
    }

    /// Takes all events out of the queue.
    pub(super) fn take(&self) -> Vec<ToolEvent> {
        let mut inner = self.lock();
        let progress = std::mem::take(&mut inner.progress);
        let mut events: Vec<ToolEvent> = inner.others.drain(..).collect();
        if !progress.is_empty() {
            events.push(ToolEvent::Progress(progress));
        }
        events
    }

    fn put(&self, event: ToolEvent) {
        self.lock().others.push_back(event);
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
        push_bounded(&mut inner.progress, text, MAX_PENDING_BYTES);
        push_bounded(&mut inner.so_far, text, MAX_RECENT_BYTES);
        drop(inner);
        self.0.news.notify_one();
    }

    fn todos(&self, todos: Vec<TodoItem>) {
        self.0.put(ToolEvent::Todos(todos));
    }

    fn file_changed(&self, change: FileChange) {
        self.0.put(ToolEvent::FileChanged(change));
    }

    async fn keep_image(&self, name: &str, bytes: Vec<u8>) -> Result<MessageImage, String> {
        let (blobs, name) = (self.0.blobs.clone(), name.to_owned());
        let kept = tokio::task::spawn_blocking(move || {
            let fit = image::fit(&name, bytes).map_err(|error| error.to_string())?;
            let stored = blobs.put(&fit.bytes);
            stored.map_err(|error| format!("{name} could not be saved: {error}."))?;
            Ok(fit.image)
        });
        kept.await.map_err(|error| format!("The image could not be prepared: {error}."))?
    }

    async fn keep(&self, bytes: Vec<u8>) -> Option<ContentHash> {
        let blobs = self.0.blobs.clone();
        // Writes megabytes and syncs them, so it must not block an async thread.
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

/// Appends `more`, and drops the oldest text beyond `limit` bytes.
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

    fn queue() -> (tempfile::TempDir, Arc<ToolEventQueue>) {
        let folder = tempfile::tempdir().unwrap();
        let queue = ToolEventQueue::new(BlobStore::new(folder.path().to_owned()));
        (folder, Arc::new(queue))
    }

    #[test]
    fn live_output_is_merged_and_bounded() {
        let (_folder, queue) = queue();
        let sender = queue.sender();
        for _ in 0..40_000 {
            sender.progress("äb");
        }
        let taken = queue.take();
        assert_eq!(taken.len(), 1);
        let ToolEvent::Progress(text) = &taken[0] else { panic!("no progress") };
        assert!(text.len() <= MAX_PENDING_BYTES && text.ends_with("äb"));
        assert_eq!(queue.take(), []);
    }

    #[test]
    fn the_end_of_the_output_is_remembered_after_it_was_taken() {
        let (_folder, queue) = queue();
        let sender = queue.sender();
        sender.progress(&"old ".repeat(MAX_RECENT_BYTES));
        sender.progress("\u{1b}[1mnew\u{1b}[0m");
        queue.take();
        let so_far = queue.recent_output();
        assert!(so_far.len() <= MAX_RECENT_BYTES && so_far.ends_with("old new"), "{so_far}");
    }

    #[test]
    fn changes_are_kept_one_by_one() {
        let (_folder, queue) = queue();
        let change = FileChange { path: "/w/a".into(), before: None, after: b"x".to_vec() };
        let sender = queue.sender();
        sender.file_changed(change.clone());
        sender.todos(Vec::new());
        assert_eq!(queue.take(), [ToolEvent::FileChanged(change), ToolEvent::Todos(Vec::new())]);
    }

    #[tokio::test]
    async fn the_end_of_the_tool_wakes_the_gate() {
        let (_folder, queue) = queue();
        let sender = queue.sender();
        assert!(!queue.is_closed());
        drop(sender);
        queue.wait().await;
        assert!(queue.is_closed());
    }
}
