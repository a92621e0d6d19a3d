//! Asks servers that are not configured yet for their models, while the user chooses one.
//!
//! The shared settings of the configuration apply to all of them: proxy and certificates. Settings
//! for a single server, such as headers, are sent only to a server that the user has picked, not to
//! one that was merely found on this machine.

use std::sync::Arc;

use crate::config::{ResolvedConfig, ServerTransportConfig};
use crate::net::{HttpClient, HttpEndpoint, PlainHttp};
use crate::platform::redact::Redactor;
use crate::providers::{ConnectionConfig, ProviderFault, connect};
use crate::services::connect::{ConnectFailure, ConnectTarget};

use super::run_context::RunContext;
use super::servers::{ServerConnector, without_keys};

/// The connections to servers that were found and to the server that the user picked.
pub(super) struct ServerDiscovery {
    found: Arc<HttpClient>,
    picked: Arc<HttpClient>,
    key_header: Option<String>,
    query: Vec<(String, String)>,
    redactor: Redactor,
}

/// Whether the user has picked a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerConsent {
    /// Not picked: the server was found on this machine.
    None,
    /// Picked, so it gets the settings for a single server.
    Chosen,
}

impl ServerDiscovery {
    /// Prepares the connections; no request is made yet.
    pub(super) fn new(run_context: &RunContext, config: &ResolvedConfig) -> Arc<Self> {
        let redactor = Redactor::default();
        let servers = ServerConnector::new(run_context, config, &redactor);
        let ServerTransportConfig { origin_bound: own, .. } = &config.server.connection;
        let query = own.query.iter().map(|(name, it)| (name.clone(), it.value.clone()));
        Arc::new(Self {
            found: servers.http(&config.server.connection.shared()),
            picked: servers.http(&config.server.connection),
            key_header: own.key_header.as_ref().map(|name| name.value.clone()),
            query: query.collect(),
            redactor,
        })
    }

    /// The ids of a server's models. Before this, the user
    /// has agreed to an address that is not encrypted.
    pub(super) async fn models(
        self: Arc<Self>,
        consent: ServerConsent,
        target: ConnectTarget,
    ) -> Result<Vec<String>, ConnectFailure> {
        let ConnectTarget { protocol, endpoint, key, .. } = target;
        key.iter().for_each(|key| self.redactor.learn(key));
        let endpoint = HttpEndpoint::parse(&endpoint, PlainHttp::Allowed).map_err(|error| {
            ConnectFailure { message: error.to_string(), fault: ProviderFault::Other }
        })?;
        let connection = match consent {
            ServerConsent::None => ConnectionConfig::new(Arc::clone(&self.found), endpoint, key),
            ServerConsent::Chosen => ConnectionConfig {
                key_header: self.key_header.clone(),
                query: self.query.clone(),
                ..ConnectionConfig::new(Arc::clone(&self.picked), endpoint, key)
            },
        };
        let models = connect(protocol, connection).models().await;
        models
            .map(|models| without_keys(models, &self.redactor))
            .map(|models| models.into_iter().map(|model| model.id).collect())
            .map_err(|error| ConnectFailure { fault: error.fault(), message: error.message })
    }
}
