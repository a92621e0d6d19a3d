//! Work on files, off the async threads.

use crate::session::StoreError;

/// Runs work on files off the async threads. Fails when the work panics.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    let work = tokio::task::spawn_blocking(work).await;
    work.map_err(|error| StoreError::Io {
        doing: "work on",
        path: "the session store".into(),
        source: std::io::Error::other(error),
    })
}
