//! The web of a run.

use std::sync::Arc;

use crate::net::SystemLookup;
use crate::platform::reader_process::ReaderProcess;
use crate::platform::supervisor;
use crate::tools::WebPages;
use crate::web::WebClient;

/// How slug names itself to web servers.
const USER_AGENT: &str =
    concat!("slug/", env!("CARGO_PKG_VERSION"), " (coding agent; fetches for its user)");

/// The web of this run. Nothing is connected yet.
pub(super) fn client() -> std::io::Result<Arc<dyn WebPages>> {
    let reader = ReaderProcess::new(supervisor::program()?);
    Ok(Arc::new(WebClient::new(Arc::new(SystemLookup), reader, USER_AGENT.to_owned())))
}
