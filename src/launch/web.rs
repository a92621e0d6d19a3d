//! The web of a run: how slug names itself to servers, and which engine searches.

use std::sync::Arc;

use secrecy::SecretString;

use crate::config::ResolvedConfig;
use crate::net::{PageClient, SystemLookup, TransportConfig};
use crate::platform::process_privacy;
use crate::platform::reader_process::ReaderProcess;
use crate::platform::supervisor;
use crate::tools::WebPages;
use crate::web::{SearchEngine, WebClient};

/// How slug names itself to web servers.
const USER_AGENT: &str =
    concat!("slug/", env!("CARGO_PKG_VERSION"), " (coding agent; fetches for its user)");

/// The web of this run. Nothing is connected yet.
pub(super) fn client(
    config: &ResolvedConfig,
    transport: TransportConfig,
) -> std::io::Result<Arc<dyn WebPages>> {
    let reader = ReaderProcess::new(supervisor::program()?);
    let engine = engine(config, |name| process_privacy::variable(name)?.into_string().ok());
    let pages = PageClient::new(Arc::new(SystemLookup), transport);
    Ok(Arc::new(WebClient::new(pages, reader, USER_AGENT.to_owned(), engine)))
}

/// The engine that the user has set up, and else the one that needs no key.
fn engine(config: &ResolvedConfig, variable: impl Fn(&str) -> Option<String>) -> SearchEngine {
    let key = |name| variable(name).filter(|key| !key.trim().is_empty()).map(SecretString::from);
    if let Some(searxng) = &config.searxng {
        return SearchEngine::SearXng(searxng.value.clone());
    }
    let serper = || key("SERPER_API_KEY").map(SearchEngine::Serper);
    let brave = || key("BRAVE_API_KEY").map(SearchEngine::Brave);
    serper().or_else(brave).unwrap_or(SearchEngine::DuckDuckGo)
}
