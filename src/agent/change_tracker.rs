//! A look at the folder before and after each command that may change files, so that what it
//! changed can be taken back.

use std::sync::Arc;

use crate::domain::ContentHash;
use crate::permissions::{PermissionQuery, ResolvedAccess};
use crate::platform::restore::PathContent;
use crate::platform::watch::{FolderWatcher, UnkeptReason, WatchError, WatchedChange};
use crate::session::{
    BlobError, BlobStore, FileChangeEntry, FileChangeSource, FileKind, FileVersion, LogEntry,
    UntrackedChanges, UntrackedFile, UntrackedReason, UnwatchedFolderReason,
};

use super::gate::ToolGate;
use super::tool_event_recorder::ToolEventRecorder;

/// So many files are named of those that are not covered.
const NAMED: usize = 20;

/// The folder as it was before a command.
pub(super) struct ChangeTracker(Arc<FolderWatcher>);

/// Has the folder looked at before the first command needs it.
pub(super) fn warm(watch: &Arc<FolderWatcher>) {
    let watch = watch.clone();
    tokio::task::spawn_blocking(move || {
        if let Err(error) = watch.warm() {
            tracing::info!(%error, "what commands change is not watched");
        }
    });
}

/// Looks at the folder, unless the call is known to change no file by a command.
pub(super) async fn begin_tracking(
    gate: &ToolGate,
    query: &PermissionQuery,
) -> Option<ChangeTracker> {
    let is_known = !query.accesses.is_empty();
    if is_known && !query.accesses.iter().any(ResolvedAccess::may_change_files) {
        return None;
    }
    let watch = gate.watch.clone();
    let looked = tokio::task::spawn_blocking({
        let watch = watch.clone();
        move || watch.look()
    });
    // Where the call is stopped meanwhile, nothing runs. A folder that cannot be watched is told
    // of once the command has run.
    gate.context.cancel.run_until_cancelled(looked).await?.ok()?.ok();
    Some(ChangeTracker(watch))
}

impl ChangeTracker {
    /// Looks at the folder at once, and puts on record what the command has changed.
    pub(super) fn record_changes(
        self,
        keeper: ToolEventRecorder,
    ) -> impl Future<Output = ()> + Send + 'static {
        let blobs = keeper.blobs.clone();
        let looking = tokio::task::spawn_blocking(move || found(self.0.changes(), &blobs));
        async move {
            match looking.await {
                Ok((changes, not_covered)) => put_on_record(&keeper, changes, not_covered).await,
                Err(error) => {
                    tracing::error!(%error, "looking for what a command changed was cut short");
                }
            }
        }
    }
}

async fn put_on_record(
    keeper: &ToolEventRecorder,
    changes: Vec<FileChangeEntry>,
    not_covered: Option<UntrackedChanges>,
) {
    for change in changes {
        keeper.journal.write(keeper.turn, LogEntry::FileChange(change)).await;
    }
    if let Some(not_covered) = not_covered {
        keeper.journal.write(keeper.turn, LogEntry::NotCovered(not_covered)).await;
    }
}

fn found(
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
    let mut leave = |path, why| {
        if not_covered.files.len() < NAMED {
            not_covered.files.push(UntrackedFile { path, why });
        } else {
            not_covered.more += 1;
        }
    };
    for changed in changes {
        match changed {
            WatchedChange::Unknown { path, why } => leave(path, why.into()),
            WatchedChange::Known { path, before, after } => {
                match (kept(&before, blobs), kept(&after, blobs)) {
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
                        leave(path, UntrackedReason::Unreadable);
                    }
                }
            }
        }
    }
    let is_empty = not_covered.files.is_empty();
    (covered, (!is_empty).then_some(not_covered))
}

fn kept(thing: &PathContent, blobs: &BlobStore) -> Result<Option<FileVersion>, BlobError> {
    let (kind, bytes, mode) = match thing {
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
