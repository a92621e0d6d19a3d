//! Everything that is needed to ask a model server: the chosen one, and those that the user can
//! switch to.
//!
//! A key belongs to the server that was configured where the key was: a key in a layer is sent to
//! the endpoint that holds as of that layer, and to no other origin. So a key from the environment
//! is not sent to whatever `--endpoint` names. Headers and the client certificate of a server are
//! bound to its origin in the same way.

use std::path::PathBuf;

use super::connection::{ConfigKeySource, ConfigProxy, OriginBoundConfig, ServerTransportConfig};
use super::findings::ConfigFindings;
use super::services::{ProtocolService, SERVICES};
use super::{
    ConfigEndpoint, ConfigError, ConfigOrigin, ConfigValue, EndpointSecurity, ModelChoice,
    ProviderName, ServerOrigin,
};
use crate::domain::{ChatDialect, ProviderProtocol, ReasoningEffort};

/// The context window, in tokens, that is assumed where nobody says another.
const ASSUMED_WINDOW: u64 = 200_000;

/// Everything that is needed to ask one model server.
#[derive(Debug, Clone)]
pub struct ModelServerConfig {
    /// A protocol's name, or that of a `[providers.NAME]`.
    pub name: ConfigValue<ProviderName>,
    pub protocol: ProviderProtocol,
    /// The variant of the protocol; `None` where the endpoint tells it.
    pub dialect: Option<ConfigValue<ChatDialect>>,
    pub endpoint: ConfigValue<ConfigEndpoint>,
    /// Belongs to the endpoint's origin.
    pub api_key: Option<ConfigValue<ConfigKeySource>>,
    /// A key that would have been used, had it been configured for this origin.
    pub withheld_key: Option<WithheldKey>,
    pub model: ConfigValue<ModelChoice>,
    /// The models to choose from where the server lists none.
    pub models: Option<ConfigValue<Vec<String>>>,
    /// The limit of a response, in tokens; `None` goes by the model.
    pub max_tokens: Option<ConfigValue<u32>>,
    /// In tokens; used only where the server does not report its window.
    pub context_window: ConfigValue<u64>,
    /// Sent only when set.
    pub effort: Option<ConfigValue<ReasoningEffort>>,
    /// How the server is reached.
    pub connection: ServerTransportConfig,
}

/// A key that is not sent, because it belongs to another server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithheldKey {
    /// Where the key was found.
    pub origin: ConfigOrigin,
    /// The only origin that the key may be sent to.
    pub belongs_to: ServerOrigin,
}

/// The settings of one source for a server.
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
    /// Replaces, as a whole, the value of an earlier source.
    pub origin_bound: Option<OriginBoundLayer>,
}

/// The settings of one source that apply to one server only.
#[derive(Debug, Clone, Default)]
pub(super) struct OriginBoundLayer {
    pub origin_bound: OriginBoundConfig,
    pub models: Option<ConfigValue<Vec<String>>>,
    pub dialect: Option<ConfigValue<ChatDialect>>,
}

impl ServerConfigLayer {
    /// The settings that apply whichever server is asked.
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

/// Merges the settings for one server; later parts override earlier ones. Mistakes and warnings go
/// to `findings`.
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
    let mut current_endpoint = ConfigValue::default(endpoint);
    let mut keys = Vec::new();
    let mut own: Option<(OriginBoundLayer, ServerOrigin)> = None;
    let mut top = ServerConfigLayer::default();
    for part in parts {
        current_endpoint = part.endpoint.unwrap_or(current_endpoint);
        if let Some(key) = part.api_key {
            keys.push(OwnedKey { owner: owner(&key.origin, &current_endpoint.value), key });
        }
        own = part.origin_bound.map(|it| (it, current_endpoint.value.origin().clone())).or(own);
        top.model = part.model.or(top.model);
        top.max_tokens = part.max_tokens.or(top.max_tokens);
        top.context_window = part.context_window.or(top.context_window);
        top.effort = part.effort.or(top.effort);
        top.ca_file = part.ca_file.or(top.ca_file);
        top.proxy = part.proxy.or(top.proxy);
    }
    let (api_key, withheld_key) = key_for(&current_endpoint.value, keys);
    // A server on this machine rarely needs a key: a withheld key is normal there, not worth a
    // warning.
    if let Some(withheld) = &withheld_key
        && current_endpoint.value.security() != EndpointSecurity::Loopback
    {
        findings.warnings.push(format!(
            "{}: this key belongs to {} and is not sent to {}: name the key and the endpoint in \
             the same place",
            withheld.origin,
            withheld.belongs_to,
            current_endpoint.value.origin()
        ));
    }
    let OriginBoundLayer { origin_bound: own, models, dialect } =
        origin_bound_for(&current_endpoint.value, own, findings);
    let is_own_service = current_endpoint.value.origin().as_str() == service.origin;
    let model = service.model.filter(|_| is_own_service);
    let model = model.map_or(ModelChoice::Served, ModelChoice::parse);
    Some(ModelServerConfig {
        name,
        protocol: service.protocol,
        dialect,
        endpoint: current_endpoint,
        api_key,
        withheld_key,
        model: top.model.unwrap_or(ConfigValue::default(model)),
        models,
        max_tokens: top.max_tokens,
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

/// The last key that belongs to the endpoint. Without one, the last of slug's own keys that does
/// not, as the withheld key.
fn key_for(
    endpoint: &ConfigEndpoint,
    keys: Vec<OwnedKey>,
) -> (Option<ConfigValue<ConfigKeySource>>, Option<WithheldKey>) {
    let mut withheld = None;
    for OwnedKey { key, owner } in keys.into_iter().rev() {
        if owner == *endpoint.origin() {
            return (Some(key), None);
        }
        // Other programs use a service's variable, too: that it is set says nothing about slug.
        if withheld.is_none() && service_of(&key.origin).is_none() {
            withheld = Some(WithheldKey { origin: key.origin, belongs_to: owner });
        }
    }
    (None, withheld)
}

/// The settings that belong to the endpoint; the default, with a warning, where they were set for
/// another origin.
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

/// Reports a configured header that would silently replace the key's header.
pub(super) fn check_headers(
    part: &ServerConfigLayer,
    protocol: ProviderProtocol,
    findings: &mut ConfigFindings,
) {
    let Some(OriginBoundLayer { origin_bound: own, .. }) = &part.origin_bound else { return };
    let header_name = own.key_header.as_ref().map_or(protocol.key_header(), |it| it.value.as_str());
    if let Some(header) = own.headers.get(header_name) {
        let problem = format!(
            "slug sends the key in the header `{header_name}` itself: set `api_key` instead, or another \
             header with `key_header`"
        );
        findings.errors.push(ConfigError::Value { origin: header.origin.clone(), problem });
    }
}
