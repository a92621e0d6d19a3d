//! Makes the providers of the configured servers.
//!
//! Commands for keys, keyrings and certificates are used only with the first request. Every secret
//! is given to the redactor as soon as it is known.

use std::ffi::OsString;
use std::future::ready;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use secrecy::SecretString;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::config::{
    self, ConfigKeyCommand, EndpointSecurity, ModelServerConfig, ResolvedConfig,
    ServerTransportConfig,
};
use crate::net::{
    ApiKey, ApiKeyFetcher, ClientCertificate, HttpClient, HttpEndpoint, PlainHttp, ProxySelection,
    SecretHeaderValue, TimeoutSettings, TransportConfig, WireLog,
};
use crate::platform::debug_log::{DebugEventNumber, DebugLog};
use crate::platform::key_command::{self, KeyCommandContext, KeyCommandSource};
use crate::platform::redact::Redactor;
use crate::platform::{environment, process_privacy};
use crate::providers::{
    self, ConnectionConfig, ErrorRecovery, ModelCapabilities, ModelInfo, ModelLoading, Provider,
    ProviderError, ProviderRequest, StreamEvent,
};
use crate::trust::TrustStore;

use super::run_context::RunContext;
use super::sandbox_setup;

/// Makes providers for one run. They share the HTTP client where their transport settings allow it.
pub(super) struct ServerConnector<'a> {
    run_context: &'a RunContext,
    redactor: Redactor,
    /// The environment variables that hold keys; commands do not get them.
    hidden: Vec<String>,
    /// The folder that commands can change; programs for keys are not run from it.
    changeable: PathBuf,
    /// The client for all servers without transport settings of their own.
    http: Arc<HttpClient>,
    timeouts: TimeoutSettings,
    wire_log: Option<Arc<dyn WireLog>>,
}

/// Puts the bodies of requests and answers into the debug log.
#[derive(Debug)]
struct DebugWireLog(DebugLog);

impl WireLog for DebugWireLog {
    fn request(&self, address: &str, body: &str) -> u32 {
        self.0.wire_request(address, body).0
    }

    fn response(&self, request: u32, status: u16, body: &str) {
        self.0.wire_response(DebugEventNumber(request), status, body);
    }
}

/// The configured time-outs, in seconds in the configuration.
fn timeouts(config: &ResolvedConfig) -> TimeoutSettings {
    let seconds = |set: &Option<config::ConfigValue<u32>>| {
        set.as_ref().map(|set| Duration::from_secs(u64::from(set.value)))
    };
    TimeoutSettings {
        first_byte: seconds(&config.first_byte),
        idle: seconds(&config.idle),
        total: seconds(&config.total),
    }
}

impl<'a> ServerConnector<'a> {
    pub(super) fn new(
        run_context: &'a RunContext,
        config: &ResolvedConfig,
        redactor: &Redactor,
    ) -> Self {
        config.secrets.iter().for_each(|secret| redactor.learn(secret));
        let named = config.key_variables.iter().map(String::as_str);
        for name in named.chain(environment::KEY_VARIABLES) {
            variable(name).iter().for_each(|secret| redactor.learn(secret));
        }
        Self {
            run_context,
            redactor: redactor.clone(),
            hidden: config.key_variables.clone(),
            changeable: sandbox_setup::changeable(run_context, config),
            http: Arc::new(HttpClient::with_transport(TransportConfig {
                timeouts: timeouts(config),
                ..TransportConfig::default()
            })),
            timeouts: timeouts(config),
            wire_log: None,
        }
    }

    /// The same with the bodies of requests and answers in this debug log.
    pub(super) fn recorded(mut self, debug: &DebugLog) -> Self {
        if debug.is_on() {
            self.wire_log = Some(Arc::new(DebugWireLog(debug.clone())));
            self.http = Arc::new(self.http.with_shared_limits(TransportConfig {
                timeouts: self.timeouts,
                wire_log: self.wire_log.clone(),
                ..TransportConfig::default()
            }));
        }
        self
    }

    /// The provider for a server; fails when its address is not allowed.
    pub(super) fn connect(&self, server: &ModelServerConfig) -> anyhow::Result<Arc<dyn Provider>> {
        Ok(self.checked(providers::connect(server.protocol, self.connection_config(server)?)))
    }

    fn checked(&self, inner: Arc<dyn Provider>) -> Arc<dyn Provider> {
        Arc::new(CheckedModelList { inner, redactor: self.redactor.clone() })
    }

    /// The provider for a server. When the address is not allowed, each request to the provider
    /// fails with the reason.
    pub(super) fn connect_or_tell(&self, server: &ModelServerConfig) -> Arc<dyn Provider> {
        self.connect(server).unwrap_or_else(|error| {
            let name = &server.name.value;
            let message = format!("{error} Start slug with --provider {name} to be asked.");
            Arc::new(UnavailableProvider(message))
        })
    }

    /// The provider with its key already fetched, and the reason when there is no key. `None` when
    /// the address is not allowed.
    pub(super) async fn with_key(
        &self,
        server: &ModelServerConfig,
    ) -> Option<(Arc<dyn Provider>, Result<(), String>)> {
        let mut connection = self.connection_config(server).ok()?;
        let key = match &connection.key {
            ApiKey::Fetched(source) => source.fetch().await,
            ApiKey::None | ApiKey::Given(_) => {
                return Some((
                    self.checked(providers::connect(server.protocol, connection)),
                    Ok(()),
                ));
            }
        };
        let (key, fetched) = match key {
            Ok(key) => (ApiKey::Given(key), Ok(())),
            Err(error) => (ApiKey::None, Err(error)),
        };
        connection.key = key;
        Some((self.checked(providers::connect(server.protocol, connection)), fetched))
    }

    fn connection_config(&self, server: &ModelServerConfig) -> anyhow::Result<ConnectionConfig> {
        let own = &server.connection.origin_bound;
        Ok(ConnectionConfig {
            http: self.http(&server.connection),
            endpoint: endpoint(&self.run_context.trust()?, server)?,
            key: self.key(server),
            key_header: own.key_header.as_ref().map(|name| name.value.clone()),
            query: own.query.iter().map(|(name, it)| (name.clone(), it.value.clone())).collect(),
            models: server.models.as_ref().map(|it| it.value.clone()).unwrap_or_default(),
            dialect: server.dialect.as_ref().map(|it| it.value),
        })
    }

    /// The HTTP client for these transport settings.
    pub(super) fn http(&self, connection: &ServerTransportConfig) -> Arc<HttpClient> {
        let ServerTransportConfig { origin_bound: own, ca_file, proxy } = connection;
        if own.headers.is_empty()
            && own.client_certificate.is_none()
            && ca_file.is_none()
            && proxy.is_none()
        {
            return Arc::clone(&self.http);
        }
        Arc::new(self.http.with_shared_limits(self.transport(connection)))
    }

    /// The HTTP client for a server that listens on this socket.
    pub(super) fn over_socket(&self, socket: PathBuf) -> Arc<HttpClient> {
        Arc::new(self.http.with_shared_limits(TransportConfig {
            timeouts: self.timeouts,
            unix_socket: Some(socket),
            wire_log: self.wire_log.clone(),
            ..TransportConfig::default()
        }))
    }

    /// What these settings mean for any HTTP client.
    pub(super) fn transport(&self, connection: &ServerTransportConfig) -> TransportConfig {
        let ServerTransportConfig { origin_bound: own, ca_file, proxy } = connection;
        let headers = own.headers.iter().map(|(name, it)| (name.clone(), self.header(&it.value)));
        let file = |path: &config::ConfigValue<PathBuf>| self.run_context.expanded(&path.value);
        TransportConfig {
            headers: headers.collect(),
            ca_file: ca_file.as_ref().map(file),
            client: own.client_certificate.as_ref().map(|certificate| ClientCertificate {
                certificate: file(certificate),
                key: own.client_key.as_ref().map(file),
            }),
            timeouts: self.timeouts,
            unix_socket: None,
            wire_log: self.wire_log.clone(),
            proxy: match proxy.as_ref().map(|it| &it.value) {
                None => ProxySelection::System,
                Some(config::ConfigProxy::Never) => ProxySelection::Never,
                Some(config::ConfigProxy::At { address, .. }) => {
                    self.redactor.learn(address);
                    ProxySelection::At(address.clone())
                }
            },
        }
    }

    fn header(&self, text: &config::ConfigHeaderValue) -> SecretHeaderValue {
        let value = match text {
            config::ConfigHeaderValue::Value(value) => Some(value.clone()),
            config::ConfigHeaderValue::Variable(name) => variable(name),
        };
        match (value, text) {
            (Some(value), _) => {
                self.redactor.learn(&value);
                SecretHeaderValue::Value(value)
            }
            (None, config::ConfigHeaderValue::Variable(name)) => {
                SecretHeaderValue::Missing(name.clone())
            }
            (None, config::ConfigHeaderValue::Value(_)) => {
                SecretHeaderValue::Missing(String::new())
            }
        }
    }

    fn key(&self, server: &ModelServerConfig) -> ApiKey {
        let source = match server.api_key.as_ref().map(|key| &key.value) {
            None => return ApiKey::None,
            Some(config::ConfigKeySource::Value(key)) => {
                self.redactor.learn_key(server.name.value.as_str(), key);
                return ApiKey::Given(key.clone());
            }
            Some(config::ConfigKeySource::Variable(name)) => match variable(name) {
                Some(key) => {
                    self.redactor.learn_key(server.name.value.as_str(), &key);
                    return ApiKey::Given(key);
                }
                None => return ApiKey::Fetched(Arc::new(MissingVariable(name.clone()))),
            },
            Some(config::ConfigKeySource::Keyring(name)) => KeyCommandSource::Keyring(name.clone()),
            Some(config::ConfigKeySource::Command(ConfigKeyCommand::Shell(line))) => {
                KeyCommandSource::Shell(line.clone())
            }
            Some(config::ConfigKeySource::Command(ConfigKeyCommand::Words(program, arguments))) => {
                KeyCommandSource::Words(program.clone(), arguments.clone())
            }
        };
        ApiKey::Fetched(Arc::new(FetchedKeySource {
            source,
            path: std::env::var_os("PATH").unwrap_or_default(),
            workspace: self.changeable.clone(),
            folder: self.run_context.home.root().to_owned(),
            hidden: self.hidden.clone(),
            redactor: self.redactor.clone(),
            server: server.name.value.as_str().to_owned(),
        }))
    }
}

/// A provider whose requests all fail with this sentence.
struct UnavailableProvider(String);

impl UnavailableProvider {
    fn error(&self) -> ProviderError {
        let message = self.0.clone();
        ProviderError { message, status: None, recovery: ErrorRecovery::AskUser }
    }
}

#[async_trait]
impl Provider for UnavailableProvider {
    fn stream(
        &self,
        _request: ProviderRequest,
        _cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        stream::once(ready(Err(self.error()))).boxed()
    }

    async fn models(&self) -> Result<Vec<ModelInfo>, ProviderError> {
        Err(self.error())
    }

    fn is_local(&self) -> bool {
        false
    }
}

/// A provider without the models whose names have one of slug's keys in them: a server could list the key
/// that it got, and names of models are shown, logged and saved.
struct CheckedModelList {
    inner: Arc<dyn Provider>,
    redactor: Redactor,
}

#[async_trait]
impl Provider for CheckedModelList {
    fn stream(
        &self,
        request: ProviderRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        self.inner.stream(request, cancel)
    }

    async fn models(&self) -> Result<Vec<ModelInfo>, ProviderError> {
        self.inner.models().await.map(|models| without_keys(models, &self.redactor))
    }

    fn capabilities(&self, model: &str) -> ModelCapabilities {
        self.inner.capabilities(model)
    }

    fn is_local(&self) -> bool {
        self.inner.is_local()
    }

    fn loading(&self) -> Option<watch::Receiver<Option<ModelLoading>>> {
        self.inner.loading()
    }

    fn host(&self) -> Option<&str> {
        self.inner.host()
    }
}

/// The models whose names have none of the keys that `redactor` knows.
pub(super) fn without_keys(mut models: Vec<ModelInfo>, redactor: &Redactor) -> Vec<ModelInfo> {
    let before = models.len();
    models.retain(|model| !redactor.holds_own_key(&model.id));
    if models.len() < before {
        tracing::warn!("a server lists models whose names have a key in them; they are left out");
    }
    models
}

/// A key that a command or the keyring prints.
struct FetchedKeySource {
    source: KeyCommandSource,
    path: OsString,
    workspace: PathBuf,
    folder: PathBuf,
    hidden: Vec<String>,
    redactor: Redactor,
    server: String,
}

#[async_trait]
impl ApiKeyFetcher for FetchedKeySource {
    async fn fetch(&self) -> Result<SecretString, String> {
        let Self { path, workspace, folder, hidden, .. } = self;
        let place = KeyCommandContext { path, workspace, folder, hidden };
        let key = key_command::fetch(&self.source, place).await.map_err(|it| it.to_string())?;
        self.redactor.learn_key(&self.server, &key);
        Ok(key)
    }
}

/// A key from this environment variable, which is not set.
struct MissingVariable(String);

#[async_trait]
impl ApiKeyFetcher for MissingVariable {
    async fn fetch(&self) -> Result<SecretString, String> {
        Err(format!(
            "The key comes from the environment variable {}, which is not set. Set it and \
             restart slug.",
            self.0
        ))
    }
}

/// The address of requests. Plain http to another machine needs an origin that the user has
/// allowed.
fn endpoint(trust: &TrustStore, server: &ModelServerConfig) -> anyhow::Result<HttpEndpoint> {
    let endpoint = &server.endpoint.value;
    let plain = match endpoint.security() {
        EndpointSecurity::PlainRemote if trust.origin_allowed(endpoint.origin().as_str()) => {
            PlainHttp::Allowed
        }
        EndpointSecurity::PlainRemote
        | EndpointSecurity::Loopback
        | EndpointSecurity::Encrypted => PlainHttp::LoopbackOnly,
    };
    Ok(HttpEndpoint::parse(endpoint.as_str(), plain)?)
}

/// The value of an environment variable; `None` when it is unset, blank or not UTF-8.
fn variable(name: &str) -> Option<SecretString> {
    let text = process_privacy::variable(name)?.into_string().ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that lists the key that it got.
    struct ReflectingProvider;

    #[async_trait]
    impl Provider for ReflectingProvider {
        fn stream(
            &self,
            _request: ProviderRequest,
            _cancel: CancellationToken,
        ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
            stream::empty().boxed()
        }

        async fn models(&self) -> Result<Vec<ModelInfo>, ProviderError> {
            let names =
                ["qwen3", "x-k3y-of-mine-42", "6b33792d6f662d6d696e652d3432", "24-enim-fo-y3k"];
            let model = |name: &str| ModelInfo { id: name.to_owned(), ..ModelInfo::default() };
            Ok(names.map(model).to_vec())
        }

        fn is_local(&self) -> bool {
            false
        }
    }

    #[tokio::test]
    async fn a_model_whose_name_has_a_key_is_not_listed() {
        let redactor = Redactor::default();
        let inner = Arc::new(ReflectingProvider);
        let provider = CheckedModelList { inner, redactor: redactor.clone() };
        assert_eq!(provider.models().await.unwrap().len(), 4);
        redactor.learn_key("one", &SecretString::from("k3y-of-mine-42"));
        let names: Vec<String> =
            provider.models().await.unwrap().into_iter().map(|it| it.id).collect();
        assert_eq!(names, ["qwen3"]);
    }
}
