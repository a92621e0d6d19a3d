//! What language servers find in the files that a call has changed, in its result.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use crate::domain::{ContentHash, MessageImage, TodoItem, ToolOutput, ToolStatus};
use crate::tools::{FileChange, LanguageServers, ToolEffects};

use super::tool_events::ToolEventSender;
use super::tool_gate::ToolGate;

/// A tool's effects, with the changes that language servers may have something to say about remembered.
pub(super) struct ChangeCollector {
    inner: ToolEventSender,
    code: Arc<dyn LanguageServers>,
    changes: CollectedChanges,
}

/// The changes of a call, in order.
pub(super) type CollectedChanges = Arc<Mutex<Vec<FileChange>>>;

impl ChangeCollector {
    pub(super) fn new(
        inner: ToolEventSender,
        code: Arc<dyn LanguageServers>,
    ) -> (Self, CollectedChanges) {
        let changes = CollectedChanges::default();
        (Self { inner, code, changes: changes.clone() }, changes)
    }
}

#[async_trait]
impl ToolEffects for ChangeCollector {
    fn progress(&self, text: &str) {
        self.inner.progress(text);
    }

    fn todos(&self, todos: Vec<TodoItem>) {
        self.inner.todos(todos);
    }

    fn file_changed(&self, change: FileChange) {
        if self.code.covers(&change.path) {
            self.changes.lock().unwrap_or_else(PoisonError::into_inner).push(change.clone());
        }
        self.inner.file_changed(change);
    }

    async fn keep(&self, bytes: Vec<u8>) -> Option<ContentHash> {
        self.inner.keep(bytes).await
    }

    async fn keep_image(&self, name: &str, bytes: Vec<u8>) -> Result<MessageImage, String> {
        self.inner.keep_image(name, bytes).await
    }
}

/// The output with what is new among the findings in the files that the call has changed.
pub(super) async fn with_new_findings(
    gate: &ToolGate,
    changes: &CollectedChanges,
    output: ToolOutput,
) -> ToolOutput {
    let changes = std::mem::take(&mut *changes.lock().unwrap_or_else(PoisonError::into_inner));
    if changes.is_empty() || output.status != ToolStatus::Done {
        return output;
    }
    let checking = gate.context.code.check_changes(changes);
    match gate.context.cancel.run_until_cancelled(checking).await.flatten() {
        None => output,
        Some(found) => {
            let observation = format!("{}\n\n{found}", output.observation);
            ToolOutput { observation, ..output }
        }
    }
}
