//! Where a server is, and how it is asked: what every protocol is given.

use std::sync::Arc;

use secrecy::SecretString;

use super::http::{HttpClient, HttpEndpoint};
use super::key::ApiKey;
use crate::domain::ChatDialect;

/// A server, with what is needed to ask it. Nothing has been sent yet.
#[derive(Clone)]
pub struct ConnectionConfig {
    /// The client, with its certificates, headers and proxy.
    pub http: Arc<HttpClient>,
    /// The address.
    pub endpoint: HttpEndpoint,
    /// The key for it, which goes nowhere else.
    pub key: ApiKey,
    /// The header that the key travels in, where it is not the protocol's own.
    pub key_header: Option<String>,
    /// What is added to every address, as name and value.
    pub query: Vec<(String, String)>,
    /// What can be chosen where the server lists nothing.
    pub models: Vec<String>,
    /// How chat completions are spoken, where the address does not tell.
    pub dialect: Option<ChatDialect>,
}

impl ConnectionConfig {
    /// The plain way to a server with `key`.
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
