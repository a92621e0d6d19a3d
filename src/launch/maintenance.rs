//! What is put right in the background while the person begins to type: temporary files of a slug
//! that was killed in the middle of a write go, and old logs are packed.
//!
//! Nothing waits for it, and slug may end before it does: each step is whole by itself.

use std::path::Path;
use std::time::Duration;

use crate::platform::files;
use crate::session::SessionStore;

/// Logs that nobody has used for so long are packed.
const PACK_AFTER: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// At each start, so that the first one with a large store does not work for minutes.
const PACK_AT_ONCE: usize = 50;

/// Begins it.
pub(super) fn start(store: SessionStore) {
    let begun = std::thread::Builder::new().name("upkeep".into()).spawn(move || work(&store));
    if let Err(error) = begun {
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

/// Removes what a killed slug has left beside a file that it was going to write.
fn clear(target: &Path) {
    match files::remove_leftovers(target) {
        Ok(0) => {}
        Ok(count) => tracing::info!(target = %target.display(), count, "left by a kill"),
        Err(error) => tracing::debug!(target = %target.display(), %error, "not looked at"),
    }
}
