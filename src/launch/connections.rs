//! The configuration while slug runs: the connections to providers, what is set, and adding, testing
//! and removing a connection or changing a setting. What is saved is read again as at a start, so it
//! holds now as it will then.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::agent::AgentProviderSet;
use crate::cli::Cli;
use crate::config::SettingOutcome;
use crate::config::{self, ConfigChange, ConfigEndpoint, EndpointSecurity, ResolvedConfig};
use crate::config::{ConfigKeySource, ConfigOrigin, ModelServerConfig, NamedServerChange};
use crate::permissions::store::ProjectSettingsTrust;
use crate::platform::debug_log::DebugLog;
use crate::platform::redact::Redactor;
use crate::services::connect::{
    ConnectEvent, ConnectFailure, ConnectJob, ConnectPlace, ConnectPreference, ConnectTarget,
    ConnectedProvider,
};
use crate::services::server_search::run_search;
use crate::trust::TrustStore;
use crate::tui::app::conversation::title::home_path;
use crate::tui::app::setting_admin::SettingRequest;
use crate::tui::app::setting_response::{SavedSetting, SettingResponse};

use super::build::{self, DEMO_PROVIDER};
use super::live_settings::live_settings;
use super::local::LOCAL_PROVIDER;
use super::run_context::RunContext;
use super::server_discovery::{ServerConsent, ServerDiscovery};
use super::servers::ServerConnector;

/// How a run reaches its providers, and what it takes to read their configuration again.
pub(super) struct ProviderConnections {
    pub(super) cli: Cli,
    pub(super) run_context: RunContext,
    pub(super) project: ProjectSettingsTrust,
    pub(super) redactor: Redactor,
    pub(super) debug: DebugLog,
    /// The providers of the run, which its agent shares.
    pub(super) providers: AgentProviderSet,
}

impl ProviderConnections {
    /// Does a job of the page that connects models, and sends what it finds.
    pub(super) async fn run(self: &Arc<Self>, job: ConnectJob, events: mpsc::Sender<ConnectEvent>) {
        let done = match job {
            ConnectJob::FindServers => return self.find(events).await,
            ConnectJob::Check { id, target } => {
                if let (Some(key), ConnectPlace::Named(name)) = (&target.key, &target.place) {
                    self.redactor.learn_key(name, key);
                } else if let Some(key) = &target.key {
                    self.redactor.learn(key);
                }
                ConnectEvent::Checked { id, models: self.models_of(target).await }
            }
            ConnectJob::Test { id, provider } => {
                ConnectEvent::Checked { id, models: self.models_of_configured(&provider).await }
            }
            ConnectJob::Save { id, target, model, preference } => {
                let this = Arc::clone(self);
                let outcome = blocking(move || this.save(target, model, preference)).await;
                ConnectEvent::Saved { id, outcome }
            }
            ConnectJob::Remove { id, place } => {
                let this = Arc::clone(self);
                let outcome = blocking(move || this.remove(&place)).await;
                ConnectEvent::Removed { id, outcome }
            }
        };
        // A failed send means that the page is closed.
        drop(events.send(done).await);
    }

    async fn find(self: &Arc<Self>, events: mpsc::Sender<ConnectEvent>) {
        let this = Arc::clone(self);
        let read = blocking(move || {
            let config = this.config()?;
            Ok((configured(&config), ServerDiscovery::new(&this.run_context, &config)))
        });
        match read.await {
            Ok((configured, discovery)) => {
                let file = self.run_context.config_file(&self.cli);
                let file = home_path(&file, self.run_context.user_home.as_deref());
                let known = ConnectEvent::Configured { file, providers: configured };
                if events.send(known).await.is_ok() {
                    let list = |target| Arc::clone(&discovery).models(ServerConsent::None, target);
                    run_search(events, list).await;
                }
            }
            Err(error) => {
                tracing::warn!(error, "the configuration cannot be read");
                drop(events.send(ConnectEvent::SearchFinished).await);
            }
        }
    }

    async fn models_of(&self, target: ConnectTarget) -> Result<Vec<String>, ConnectFailure> {
        let other =
            |message| ConnectFailure { message, fault: crate::providers::ProviderFault::Other };
        let config = self.config().map_err(other)?;
        // Headers and the like at the top of the file are for the server there.
        let consent = match target.place {
            ConnectPlace::Top => ServerConsent::Chosen,
            ConnectPlace::Named(_) | ConnectPlace::Environment(_) => ServerConsent::None,
        };
        let discovery = ServerDiscovery::new(&self.run_context, &config);
        discovery.models(consent, target).await
    }

    async fn models_of_configured(&self, name: &str) -> Result<Vec<String>, ConnectFailure> {
        let found = self.providers.all().into_iter().find(|it| it.name == name);
        let Some(found) = found else {
            let message = format!("{name} is no longer configured.");
            return Err(ConnectFailure { message, fault: crate::providers::ProviderFault::Other });
        };
        let models = found
            .provider
            .models()
            .await
            .map_err(|error| ConnectFailure { fault: error.fault(), message: error.message })?;
        Ok(models.into_iter().map(|model| model.id).collect())
    }

    /// Does what `/settings` asks for.
    pub(super) fn settings(&self, job: &SettingRequest) -> Result<SettingResponse, String> {
        let file = self.run_context.config_file(&self.cli);
        let (config, saved) = match job {
            SettingRequest::List => (self.config()?, None),
            SettingRequest::Change(change) => {
                let SettingOutcome { config, undo } =
                    self.run_context.change_setting(&self.cli, self.project, change)?;
                let live = live_settings(&config);
                let file = home_path(&file, self.run_context.user_home.as_deref());
                (config, Some(SavedSetting { undo, file, live }))
            }
        };
        Ok(SettingResponse { values: config::setting_values(&config, &file), saved })
    }

    fn config(&self) -> Result<ResolvedConfig, String> {
        self.run_context
            .config(&self.cli, self.project)
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    }

    fn save(
        &self,
        target: ConnectTarget,
        model: Option<String>,
        preference: ConnectPreference,
    ) -> Result<String, String> {
        let preference = match self.config()?.nothing_configured() {
            true => ConnectPreference::Default,
            false => preference,
        };
        let place = target.place.clone();
        let mut trust = self.run_context.trust().map_err(|error| error.to_string())?;
        let file = self.run_context.config_file(&self.cli);
        write(&file, &mut trust, target, model, preference).map_err(|error| error.to_string())?;
        let config = self.reload()?;
        Ok(match place {
            ConnectPlace::Named(name) => name,
            ConnectPlace::Top | ConnectPlace::Environment(_) => {
                config.server.name.value.to_string()
            }
        })
    }

    fn remove(&self, place: &ConnectPlace) -> Result<Vec<ConnectedProvider>, String> {
        let change = match place {
            ConnectPlace::Named(name) => ConfigChange::RemoveNamed(name.clone()),
            ConnectPlace::Top => ConfigChange::RemoveTop,
            ConnectPlace::Environment(variable) => {
                return Err(format!("The key is in {variable}. Unset that, and start slug again."));
            }
        };
        let file = self.run_context.config_file(&self.cli);
        config::save(&file, &[change]).map_err(|error| error.to_string())?;
        Ok(configured(&self.reload()?))
    }

    /// Reads the configuration again, and makes its providers those of the run.
    fn reload(&self) -> Result<ResolvedConfig, String> {
        let config = self.config()?;
        let servers =
            ServerConnector::new(&self.run_context, &config, &self.redactor).recorded(&self.debug);
        // These are in no file, or run already.
        let is_own = |name: &str| [DEMO_PROVIDER, LOCAL_PROVIDER].contains(&name);
        let own = self.providers.all().into_iter().filter(|it| is_own(&it.name));
        let configured = config
            .servers()
            .map(|server| build::agent_provider(server, servers.connect_or_tell(server)));
        self.providers.replace_all(own.chain(configured).collect());
        Ok(config)
    }
}

/// Writes a connection into the configuration. Before this, the user has agreed to an address that
/// is not encrypted. A key in the environment is not copied.
pub(super) fn write(
    file: &Path,
    trust: &mut TrustStore,
    target: ConnectTarget,
    model: Option<String>,
    preference: ConnectPreference,
) -> anyhow::Result<()> {
    let ConnectTarget { protocol, endpoint, key, place } = target;
    let endpoint = ConfigEndpoint::parse(&endpoint)?;
    if endpoint.security() == EndpointSecurity::PlainRemote {
        trust.allow_origin(endpoint.origin().as_str())?;
    }
    let changes = match place {
        ConnectPlace::Environment(_) => {
            let model = model.map(ConfigChange::Model);
            std::iter::once(ConfigChange::Provider(protocol.name().to_owned()))
                .chain(model)
                .collect()
        }
        ConnectPlace::Top => {
            let key = key.map(ConfigChange::ApiKey);
            let model = model.map(ConfigChange::Model);
            std::iter::once(ConfigChange::Endpoint(endpoint)).chain(key).chain(model).collect()
        }
        ConnectPlace::Named(name) => {
            let named = NamedServerChange { protocol, endpoint, api_key: key, model };
            let mut changes = vec![ConfigChange::Named(name.clone(), named)];
            if preference == ConnectPreference::Default {
                changes.push(ConfigChange::Provider(name));
            }
            changes
        }
    };
    config::save(file, &changes)?;
    Ok(())
}

/// What is configured, for the list of the page: nothing of slug's defaults.
fn configured(config: &ResolvedConfig) -> Vec<ConnectedProvider> {
    if config.nothing_configured() && config.others.is_empty() {
        return Vec::new();
    }
    let servers = config.servers().filter(|server| {
        server.endpoint.origin != ConfigOrigin::Default || server.api_key.is_some()
    });
    servers.map(|server| connected(config, server)).collect()
}

fn connected(config: &ResolvedConfig, server: &ModelServerConfig) -> ConnectedProvider {
    let name = server.name.value.to_string();
    let key = server.api_key.as_ref();
    let place = match key.map(|key| (&key.origin, &key.value)) {
        _ if config.named_providers.contains(&name) => ConnectPlace::Named(name.clone()),
        Some((ConfigOrigin::Environment(variable), ConfigKeySource::Value(_))) => {
            ConnectPlace::Environment(variable)
        }
        Some(_) | None => ConnectPlace::Top,
    };
    ConnectedProvider {
        protocol: server.protocol,
        endpoint: server.endpoint.value.to_string(),
        key: key.map(|key| match &key.origin {
            ConfigOrigin::Environment(variable) => format!("in ${variable}"),
            ConfigOrigin::Default | ConfigOrigin::File { .. } | ConfigOrigin::Flag(_) => {
                key.value.to_string()
            }
        }),
        name,
        place,
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(format!("This has failed inside slug: {error}.")),
    }
}
