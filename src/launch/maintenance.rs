//! Maintenance of the session store in the background, while the user begins to type: removes
//! temporary files of a slug that was killed in the middle of a write, and packs old logs.
//!
//! Nothing waits for it, and slug may end in the middle: each step is complete by itself.

use std::path::Path;
use std::time::Duration;

use crate::platform::files;
use crate::session::SessionStore;

/// Logs that were not used for this long are packed.
const PACK_AFTER: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The most logs that one start packs, so that a large store does not keep slug busy for minutes.
const PACK_AT_ONCE: usize = 50;

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
}

/// Removes temporary files that a killed slug has left beside the file it was writing.
fn clear(target: &Path) {
    match files::remove_leftovers(target) {
        Ok(0) => {}
        Ok(count) => tracing::info!(target = %target.display(), count, "left by a kill"),
        Err(error) => tracing::debug!(target = %target.display(), %error, "not looked at"),
    }
}
