//! Servers that are not configured yet, asked for their models while the person chooses one.
//!
//! They are reached as the configuration says: through its proxy, with its certificates. What
//! stands in it for one server alone, headers and the like, waits for the server that is chosen; so
//! one that the person has picked gets it already, and one that was merely found here does not.

use std::sync::Arc;

use crate::config::{ResolvedConfig, ServerTransportConfig};
use crate::platform::redact::Redactor;
use crate::providers::http::{HttpClient, HttpEndpoint, PlainHttp};
use crate::providers::{ConnectionConfig, connect};
use crate::tui::welcome::first_run::FirstRunEndpoint;

use super::run_context::RunContext;
use super::servers::ServerConnector;

/// How such servers are asked.
pub(super) struct ServerDiscovery {
    found: Arc<HttpClient>,
    picked: Arc<HttpClient>,
    key_header: Option<String>,
    query: Vec<(String, String)>,
}

/// What the person has said to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerConsent {
    /// Nothing: it listens on this machine.
    None,
    /// That it may be the one.
    Chosen,
}

impl ServerDiscovery {
    /// Nothing is read or asked yet.
    pub(super) fn new(ground: &RunContext, config: &ResolvedConfig) -> Arc<Self> {
        let servers = ServerConnector::new(ground, config, &Redactor::default());
        let ServerTransportConfig { origin_bound: own, .. } = &config.server.connection;
        let query = own.query.iter().map(|(name, it)| (name.clone(), it.value.clone()));
        Arc::new(Self {
            found: servers.http(&config.server.connection.shared()),
            picked: servers.http(&config.server.connection),
            key_header: own.key_header.as_ref().map(|name| name.value.clone()),
            query: query.collect(),
        })
    }

    /// The ids of a server's models; an error is a sentence for the person, who has agreed to an
    /// address that is not encrypted.
    pub(super) async fn models(
        self: Arc<Self>,
        said: ServerConsent,
        target: FirstRunEndpoint,
    ) -> Result<Vec<String>, String> {
        let FirstRunEndpoint { protocol, endpoint, key, .. } = target;
        let endpoint = HttpEndpoint::parse(&endpoint, PlainHttp::Allowed)
            .map_err(|error| error.to_string())?;
        let way = match said {
            ServerConsent::None => ConnectionConfig::new(Arc::clone(&self.found), endpoint, key),
            ServerConsent::Chosen => ConnectionConfig {
                key_header: self.key_header.clone(),
                query: self.query.clone(),
                ..ConnectionConfig::new(Arc::clone(&self.picked), endpoint, key)
            },
        };
        let models = connect(protocol, way).models().await;
        models
            .map(|models| models.into_iter().map(|model| model.id).collect())
            .map_err(|error| error.message)
    }
}
