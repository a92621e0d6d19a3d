//! Compares the folder before and after each command that may change files, and logs what changed,
//! so that a rewind can restore it. Changes that tools report themselves are in
//! `tool_event_recorder`.

use std::sync::Arc;

use crate::domain::{CallId, ContentHash};
use crate::permissions::{PermissionQuery, ResolvedAccess};
use crate::platform::restore::PathContent;
use crate::platform::watch::{FolderWatcher, UnkeptReason, WatchError, WatchedChange};
use crate::session::{
    BlobError, BlobStore, FileChangeEntry, FileChangeSource, FileKind, FileVersion, LogEntry,
    UntrackedChanges, UntrackedFile, UntrackedReason, UnwatchedFolderReason,
};

use super::tool_event_recorder::ToolEventRecorder;
use super::tool_gate::ToolGate;

/// The most untracked files that one entry names; the rest is only counted.
const MAX_NAMED: usize = 20;

/// Tracks one command. It is made before the command runs and consumed afterwards.
pub(super) struct ChangeTracker(Arc<FolderWatcher>);

/// Scans the folder in the background, so that the first command does not have to wait for it.
pub(super) fn warm(watch: &Arc<FolderWatcher>) {
    let watch = watch.clone();
    tokio::task::spawn_blocking(move || {
        if let Err(error) = watch.warm() {
            tracing::info!(%error, "what commands change is not watched");
        }
    });
}

/// Scans the folder before a call. `None` when the call cannot change files by a command, when it
/// was stopped meanwhile, or when the folder cannot be scanned.
pub(super) async fn begin_tracking(
    gate: &ToolGate,
    query: &PermissionQuery,
) -> Option<ChangeTracker> {
    let is_known = !query.accesses.is_empty();
    if is_known && !query.accesses.iter().any(ResolvedAccess::may_change_files) {
        return None;
    }
    let watch = gate.watch.clone();
    let scan = tokio::task::spawn_blocking({
        let watch = watch.clone();
        move || watch.look()
    });
    // When the call is stopped meanwhile, nothing runs. A folder that cannot be watched is reported
    // after the command has run.
    gate.context.cancel.run_until_cancelled(scan).await?.ok()?.ok();
    Some(ChangeTracker(watch))
}

impl ChangeTracker {
    /// Scans the folder at once; the future logs what the command has changed.
    pub(super) fn record_changes(
        self,
        call: CallId,
        recorder: ToolEventRecorder,
    ) -> impl Future<Output = ()> + Send + 'static {
        let blobs = recorder.blobs.clone();
        let scan = tokio::task::spawn_blocking(move || file_changes(self.0.changes(), &blobs));
        async move {
            match scan.await {
                Ok((changes, not_covered)) => {
                    log_changes(&recorder, &call, changes, not_covered).await;
                }
                Err(error) => {
                    tracing::error!(%error, "looking for what a command changed was cut short");
                }
            }
        }
    }
}

async fn log_changes(
    recorder: &ToolEventRecorder,
    call: &CallId,
    changes: Vec<FileChangeEntry>,
    not_covered: Option<UntrackedChanges>,
) {
    for change in changes {
        let change = change.of_call(call.clone());
        recorder.journal.write(recorder.turn, LogEntry::FileChange(change)).await;
    }
    if let Some(not_covered) = not_covered {
        recorder.journal.write(recorder.turn, LogEntry::NotCovered(not_covered)).await;
    }
}

fn file_changes(
    changes: Result<Vec<WatchedChange>, WatchError>,
    blobs: &BlobStore,
) -> (Vec<FileChangeEntry>, Option<UntrackedChanges>) {
    let changes = match changes {
        Ok(changes) => changes,
        Err(error) => {
            let folder = Some(match error {
                WatchError::TooManyFiles => UnwatchedFolderReason::TooManyFiles,
                WatchError::TooSlow => UnwatchedFolderReason::TooSlow,
                WatchError::Unreadable => UnwatchedFolderReason::Unreadable,
            });
            return (Vec::new(), Some(UntrackedChanges { folder, ..UntrackedChanges::default() }));
        }
    };
    let mut covered = Vec::new();
    let mut not_covered = UntrackedChanges::default();
    let mut skip = |path, why| {
        if not_covered.files.len() < MAX_NAMED {
            not_covered.files.push(UntrackedFile { path, why });
        } else {
            not_covered.more += 1;
        }
    };
    for changed in changes {
        match changed {
            WatchedChange::Unknown { path, why } => skip(path, why.into()),
            WatchedChange::Known { path, before, after } => {
                match (store_version(&before, blobs), store_version(&after, blobs)) {
                    (Ok(before), Ok(after)) => {
                        covered.push(FileChangeEntry::new(
                            path,
                            before,
                            after,
                            FileChangeSource::Command,
                        ));
                    }
                    (Err(error), _) | (_, Err(error)) => {
                        tracing::warn!(%error, "what a command changed could not be kept");
                        skip(path, UntrackedReason::Unreadable);
                    }
                }
            }
        }
    }
    let is_empty = not_covered.files.is_empty();
    (covered, (!is_empty).then_some(not_covered))
}

fn store_version(
    content: &PathContent,
    blobs: &BlobStore,
) -> Result<Option<FileVersion>, BlobError> {
    let (kind, bytes, mode) = match content {
        PathContent::Nothing => return Ok(None),
        PathContent::File { bytes, mode } => (FileKind::File, bytes, *mode),
        PathContent::Link { target } => (FileKind::Link, target, None),
    };
    let hash: ContentHash = blobs.put(bytes)?;
    Ok(Some(FileVersion { kind, hash, mode }))
}

impl From<UnkeptReason> for UntrackedReason {
    fn from(why: UnkeptReason) -> Self {
        match why {
            UnkeptReason::TooLarge => Self::TooLarge,
            UnkeptReason::TooMany => Self::TooMany,
            UnkeptReason::Unreadable => Self::Unreadable,
            UnkeptReason::Unseen => Self::Unseen,
            UnkeptReason::Moved => Self::Moved,
            UnkeptReason::Name => Self::Name,
        }
    }
}
