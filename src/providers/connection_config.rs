//! How to reach a model server: the input of every provider.

use std::sync::Arc;

use secrecy::SecretString;

use crate::domain::ChatDialect;
use crate::net::{ApiKey, HttpClient, HttpEndpoint};

/// A server, and everything needed to send it requests. Nothing has been sent yet.
#[derive(Clone)]
pub struct ConnectionConfig {
    /// The client, with its certificates, headers and proxy.
    pub http: Arc<HttpClient>,
    /// The server's address.
    pub endpoint: HttpEndpoint,
    /// The key for this endpoint; it is sent nowhere else.
    pub key: ApiKey,
    /// The header that carries the key; `None` for the protocol's default.
    pub key_header: Option<String>,
    /// Parameters that are added to every address, as name and value.
    pub query: Vec<(String, String)>,
    /// The models to offer if the server lists none.
    pub models: Vec<String>,
    /// The dialect of chat completions; `None` to derive it from the host.
    pub dialect: Option<ChatDialect>,
}

impl ConnectionConfig {
    /// A configuration with `key` and otherwise defaults.
    pub fn new(http: Arc<HttpClient>, endpoint: HttpEndpoint, key: Option<SecretString>) -> Self {
        Self {
            http,
            endpoint,
            key: ApiKey::known(key),
            key_header: None,
            query: Vec::new(),
            models: Vec::new(),
            dialect: None,
        }
    }
}
