//! Maintenance of the session store in the background, while the user begins to type: removes
//! temporary files of a slug that was killed in the middle of a write, packs old logs, and removes
//! old scratch folders.
//!
//! Nothing waits for it, and slug may end in the middle: each step is complete by itself.

use std::path::Path;
use std::time::Duration;

use crate::domain::SessionId;
use crate::platform::files;
use crate::platform::scratch::ScratchRoot;
use crate::platform::server_folder::DeadServerFolder;
use crate::session::{GcMode, ReclaimedSpace, SessionStore};

/// Logs that were not used for this long are packed.
const PACK_AFTER: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The most logs that one start packs, so that a large store does not keep slug busy for minutes.
const PACK_AT_ONCE: usize = 50;

/// Scratch folders in which nothing was changed for this long are removed.
const SCRATCH_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Starts the maintenance on its own thread.
pub(super) fn start(store: SessionStore) {
    let thread = std::thread::Builder::new().name("upkeep".into()).spawn(move || work(&store));
    if let Err(error) = thread {
        tracing::debug!(%error, "no thread for the upkeep");
    }
}

fn work(store: &SessionStore) {
    match store.unfinished_writes() {
        Ok(targets) => targets.iter().for_each(|target| clear(target)),
        Err(error) => tracing::warn!(%error, "what a killed slug left is not known"),
    }
    match store.pack_old(PACK_AFTER, PACK_AT_ONCE) {
        Ok(packed) if packed.count > 0 => tracing::info!(?packed, "old logs"),
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "old logs stay as they are"),
    }
    let scratch = remove_old_scratch(store, &ScratchRoot::system(), GcMode::Apply);
    if scratch.count > 0 {
        tracing::info!(?scratch, "old scratch folders");
    }
}

/// Removes the folders of servers whose slug is dead, and the scratch folders in which nothing was
/// changed for a week, but for those of sessions that are open. What cannot be removed is tried again the
/// next time.
pub(super) fn remove_old_scratch(
    store: &SessionStore,
    root: &ScratchRoot,
    mode: GcMode,
) -> ReclaimedSpace {
    let mut reclaimed = ReclaimedSpace::default();
    let old = root.old_folders(SCRATCH_AGE).unwrap_or_else(|error| {
        tracing::warn!(%error, "scratch folders cannot be listed");
        Vec::new()
    });
    let dead = DeadServerFolder::all(root).unwrap_or_else(|error| {
        tracing::warn!(%error, "folders of servers cannot be listed");
        Vec::new()
    });
    for folder in dead {
        let removed = match mode {
            GcMode::DryRun => Ok(()),
            GcMode::Apply => folder.remove(),
        };
        match removed {
            Ok(()) => reclaimed.add(folder.bytes),
            Err(error) => tracing::warn!(%error, path = %folder.path.display(), "not removed"),
        }
    }
    for folder in old {
        // The folder of a session of another SLUG_HOME is old, too.
        let session = folder.name.parse::<SessionId>();
        let is_in_use = session.is_ok_and(|session| !matches!(store.in_use(session), Ok(None)));
        if is_in_use {
            continue;
        }
        match mode {
            GcMode::DryRun => reclaimed.add(folder.bytes),
            GcMode::Apply => match folder.remove() {
                Ok(()) => reclaimed.add(folder.bytes),
                Err(error) => tracing::warn!(%error, name = folder.name, "not removed"),
            },
        }
    }
    reclaimed
}

/// Removes temporary files that a killed slug has left beside the file it was writing.
fn clear(target: &Path) {
    match files::remove_leftovers(target) {
        Ok(0) => {}
        Ok(count) => tracing::info!(target = %target.display(), count, "left by a kill"),
        Err(error) => tracing::debug!(target = %target.display(), %error, "not looked at"),
    }
}
