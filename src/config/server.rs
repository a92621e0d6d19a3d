//! A model server: all that is needed to ask it. The chosen one, and those that can be switched to.
//!
//! A key belongs to the server that was configured where the key was: one that stands in a layer
//! goes to the endpoint that holds as of that layer, and to no other origin. So a key from the
//! environment is not sent to whatever `--endpoint` names. What else a server is sent for itself,
//! headers and a client's certificate, is kept to its origin in the same way.

use std::path::PathBuf;

use super::connection::{ConfigKeySource, ConfigProxy, OriginBoundConfig, ServerTransportConfig};
use super::findings::ConfigFindings;
use super::services::{ProtocolService, SERVICES};
use super::{
    ConfigEndpoint, ConfigError, ConfigOrigin, ConfigValue, EndpointSecurity, ModelChoice,
    ProviderName, ServerOrigin,
};
use crate::domain::{ChatDialect, ProviderProtocol, ReasoningEffort};

/// The window to assume where nobody says another, in tokens.
const ASSUMED_WINDOW: u64 = 200_000;

/// A model server.
#[derive(Debug, Clone)]
pub struct ModelServerConfig {
    /// A protocol's name, or that of a `[providers.NAME]`.
    pub name: ConfigValue<ProviderName>,
    /// How the endpoint is spoken to.
    pub protocol: ProviderProtocol,
    /// In which way, where that is not to be told from the endpoint.
    pub dialect: Option<ConfigValue<ChatDialect>>,
    /// Where the model is asked.
    pub endpoint: ConfigValue<ConfigEndpoint>,
    /// The key for that endpoint's origin.
    pub api_key: Option<ConfigValue<ConfigKeySource>>,
    /// A key that would have been used, had it been configured for this origin.
    pub withheld_key: Option<WithheldKey>,
    /// Which model.
    pub model: ConfigValue<ModelChoice>,
    /// What can be chosen where the server lists nothing.
    pub models: Option<ConfigValue<Vec<String>>>,
    /// Limit of a response, in tokens.
    pub max_tokens: ConfigValue<u32>,
    /// The window in tokens, used only where the server does not say what it serves.
    pub context_window: ConfigValue<u64>,
    /// How hard the model is to think; sent only when set.
    pub effort: Option<ConfigValue<ReasoningEffort>>,
    /// How it is reached.
    pub connection: ServerTransportConfig,
}

/// A key that is not sent, because it belongs to another server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithheldKey {
    /// Where the key was found.
    pub origin: ConfigOrigin,
    /// The server that it belongs to.
    pub belongs_to: ServerOrigin,
}

/// What one place says of a server.
#[derive(Debug, Clone, Default)]
pub(super) struct ServerConfigLayer {
    pub endpoint: Option<ConfigValue<ConfigEndpoint>>,
    pub api_key: Option<ConfigValue<ConfigKeySource>>,
    pub model: Option<ConfigValue<ModelChoice>>,
    pub max_tokens: Option<ConfigValue<u32>>,
    pub context_window: Option<ConfigValue<u64>>,
    pub effort: Option<ConfigValue<ReasoningEffort>>,
    pub ca_file: Option<ConfigValue<PathBuf>>,
    pub proxy: Option<ConfigValue<ConfigProxy>>,
    /// Replaces, as a whole, what a place before it said.
    pub origin_bound: Option<OriginBoundLayer>,
}

/// What one place says of a server that is true of no other.
#[derive(Debug, Clone, Default)]
pub(super) struct OriginBoundLayer {
    pub origin_bound: OriginBoundConfig,
    pub models: Option<ConfigValue<Vec<String>>>,
    pub dialect: Option<ConfigValue<ChatDialect>>,
}

impl ServerConfigLayer {
    /// What holds whichever server is asked.
    pub(super) fn common(&self) -> Self {
        Self {
            max_tokens: self.max_tokens.clone(),
            context_window: self.context_window.clone(),
            effort: self.effort.clone(),
            ca_file: self.ca_file.clone(),
            proxy: self.proxy.clone(),
            ..Self::default()
        }
    }
}

/// Merges what is said of one server; the last word holds. Mistakes and remarks go to `findings`.
pub(super) fn merge(
    name: ConfigValue<ProviderName>,
    service: &ProtocolService,
    parts: impl IntoIterator<Item = ServerConfigLayer>,
    findings: &mut ConfigFindings,
) -> Option<ModelServerConfig> {
    let endpoint = match ConfigEndpoint::parse(service.endpoint) {
        Ok(endpoint) => endpoint,
        Err(error) => {
            let problem = error.to_string();
            findings.errors.push(ConfigError::Value { origin: ConfigOrigin::Default, problem });
            return None;
        }
    };
    let mut held = ConfigValue::default(endpoint);
    let mut keys = Vec::new();
    let mut own: Option<(OriginBoundLayer, ServerOrigin)> = None;
    let mut top = ServerConfigLayer::default();
    for part in parts {
        held = part.endpoint.unwrap_or(held);
        if let Some(key) = part.api_key {
            keys.push(OwnedKey { owner: owner(&key.origin, &held.value), key });
        }
        own = part.origin_bound.map(|it| (it, held.value.origin().clone())).or(own);
        top.model = part.model.or(top.model);
        top.max_tokens = part.max_tokens.or(top.max_tokens);
        top.context_window = part.context_window.or(top.context_window);
        top.effort = part.effort.or(top.effort);
        top.ca_file = part.ca_file.or(top.ca_file);
        top.proxy = part.proxy.or(top.proxy);
    }
    let (api_key, withheld_key) = key_for(&held.value, keys);
    // A server on this machine seldom wants a key: there it is the rule, not worth a warning.
    if let Some(withheld) = &withheld_key
        && held.value.security() != EndpointSecurity::Loopback
    {
        findings.warnings.push(format!(
            "{}: this key belongs to {} and is not sent to {}: name the key and the endpoint in \
             the same place",
            withheld.origin,
            withheld.belongs_to,
            held.value.origin()
        ));
    }
    let OriginBoundLayer { origin_bound: own, models, dialect } =
        origin_bound_for(&held.value, own, findings);
    let default = service.model.filter(|_| held.value.origin().as_str() == service.origin);
    let default = default.map_or(ModelChoice::Served, ModelChoice::parse);
    Some(ModelServerConfig {
        name,
        protocol: service.protocol,
        dialect,
        endpoint: held,
        api_key,
        withheld_key,
        model: top.model.unwrap_or(ConfigValue::default(default)),
        models,
        max_tokens: top.max_tokens.unwrap_or(ConfigValue::default(service.max_tokens)),
        context_window: top.context_window.unwrap_or(ConfigValue::default(ASSUMED_WINDOW)),
        effort: top.effort,
        connection: ServerTransportConfig {
            origin_bound: own,
            ca_file: top.ca_file,
            proxy: top.proxy,
        },
    })
}

struct OwnedKey {
    key: ConfigValue<ConfigKeySource>,
    owner: ServerOrigin,
}

fn owner(origin: &ConfigOrigin, endpoint: &ConfigEndpoint) -> ServerOrigin {
    match service_of(origin) {
        Some(service) => ServerOrigin::of(service),
        None => endpoint.origin().clone(),
    }
}

/// The service whose variable a key was found in.
fn service_of(origin: &ConfigOrigin) -> Option<&'static ProtocolService> {
    match origin {
        ConfigOrigin::Environment(name) => SERVICES.iter().find(|it| it.key_variable == *name),
        ConfigOrigin::Default | ConfigOrigin::File { .. } | ConfigOrigin::Flag(_) => None,
    }
}

/// The last key that belongs to the endpoint; or else the last one of slug's own that does not.
fn key_for(
    endpoint: &ConfigEndpoint,
    keys: Vec<OwnedKey>,
) -> (Option<ConfigValue<ConfigKeySource>>, Option<WithheldKey>) {
    let mut withheld = None;
    for OwnedKey { key, owner } in keys.into_iter().rev() {
        if owner == *endpoint.origin() {
            return (Some(key), None);
        }
        // Other programs have use for a service's variable: that it is set says nothing about slug.
        if withheld.is_none() && service_of(&key.origin).is_none() {
            withheld = Some(WithheldKey { origin: key.origin, belongs_to: owner });
        }
    }
    (None, withheld)
}

/// What belongs to the endpoint, unless it was named for another.
fn origin_bound_for(
    endpoint: &ConfigEndpoint,
    part: Option<(OriginBoundLayer, ServerOrigin)>,
    findings: &mut ConfigFindings,
) -> OriginBoundLayer {
    let Some((part, owner)) = part else { return OriginBoundLayer::default() };
    if owner == *endpoint.origin() {
        return part;
    }
    let places = part.origin_bound.headers.values().map(|it| &it.origin);
    let first =
        places.chain(part.origin_bound.client_certificate.iter().map(|it| &it.origin)).next();
    if let Some(place) = first {
        findings.warnings.push(format!(
            "{place}: headers and certificates for {owner} are not sent to {}: name them and the \
             endpoint in the same place",
            endpoint.origin()
        ));
    }
    OriginBoundLayer::default()
}

/// A header of the person's would silently take the key's place.
pub(super) fn check_headers(
    part: &ServerConfigLayer,
    protocol: ProviderProtocol,
    findings: &mut ConfigFindings,
) {
    let Some(OriginBoundLayer { origin_bound: own, .. }) = &part.origin_bound else { return };
    let taken = own.key_header.as_ref().map_or(protocol.key_header(), |it| it.value.as_str());
    if let Some(header) = own.headers.get(taken) {
        let problem = format!(
            "the key travels in the header `{taken}`: give it as `api_key`, or name the header \
             that it is to travel in with `key_header`"
        );
        findings.errors.push(ConfigError::Value { origin: header.origin.clone(), problem });
    }
}
