//! One layer of the configuration: what one file, the environment or the flags set, already checked
//! and typed. All layers have the same shape, so merging them is one fold.

use std::collections::BTreeMap;
use std::path::Path;

use super::connection::{self, ConfigKeySource};
use super::findings::ConfigFindings;
use super::raw::{self, LineValue, RawConfig, RawServer};
use super::server::{self, OriginBoundLayer, ServerConfigLayer};
use super::services::{self, ProtocolService};
use super::{
    ConfigEnvironment, ConfigError, ConfigFlags, ConfigOrigin, ConfigText, ConfigValue,
    ExitTranscript, FormatterConfig, KeyPreset, LocalModelConfig, ModeChoice, ModelChoice,
    NotificationMethod, ServiceVariables, StatusItems, ThemeChoice,
};
use crate::domain::{HostRule, ProviderProtocol, SandboxBackendKind, UsageBudget, WebAddress};

/// Whose file a layer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfigScope {
    User,
    /// The project's file sets preferences, never privileges.
    Project,
}

/// The values that one source sets; `None` where it sets nothing.
#[derive(Debug, Default)]
pub(super) struct ConfigLayer {
    pub server: ServerConfigLayer,
    pub provider: Option<ConfigValue<String>>,
    pub system_prompt: Option<ConfigValue<String>>,
    pub temperature: Option<ConfigValue<f32>>,
    pub max_tool_rounds: Option<ConfigValue<u32>>,
    pub fallback_model: Option<ConfigValue<String>>,
    pub budget_turn: Option<ConfigValue<UsageBudget>>,
    pub budget_session: Option<ConfigValue<UsageBudget>>,
    pub first_byte: Option<ConfigValue<u32>>,
    pub idle: Option<ConfigValue<u32>>,
    pub total: Option<ConfigValue<u32>>,
    pub bash_environment: Option<ConfigValue<Vec<String>>>,
    pub mode: Option<ConfigValue<ModeChoice>>,
    pub statics: BTreeMap<String, ConfigValue<String>>,
    /// The tables `[mcp.NAME]`, as JSON.
    pub mcp: BTreeMap<String, ConfigValue<serde_json::Value>>,
    /// The tables `[lsp.NAME]`, as JSON.
    pub lsp: BTreeMap<String, ConfigValue<serde_json::Value>>,
    pub lsp_wait: Option<ConfigValue<u32>>,
    pub lsp_memory: Option<ConfigValue<u32>>,
    pub local: LocalModelConfig,
    pub formatters: FormatterConfig,
    pub providers: BTreeMap<String, ProviderConfigLayer>,
    pub theme: Option<ConfigValue<ThemeChoice>>,
    pub keys: Option<ConfigValue<KeyPreset>>,
    pub mouse: Option<ConfigValue<bool>>,
    pub reduced_motion: Option<ConfigValue<bool>>,
    pub panel: Option<ConfigValue<bool>>,
    pub model_titles: Option<ConfigValue<bool>>,
    pub wheel_rows: Option<ConfigValue<u32>>,
    pub wheel_events: Option<ConfigValue<u32>>,
    pub leave: Option<ConfigValue<ExitTranscript>>,
    pub status: Option<ConfigValue<StatusItems>>,
    pub status_command: Option<ConfigValue<String>>,
    pub title: Option<ConfigValue<bool>>,
    pub images: Option<ConfigValue<bool>>,
    pub progress: Option<ConfigValue<bool>>,
    pub notify: Option<ConfigValue<NotificationMethod>>,
    pub notify_after: Option<ConfigValue<u32>>,
    pub vi: Option<ConfigValue<bool>>,
    pub sandbox_network: Option<ConfigValue<bool>>,
    pub sandbox_hosts: Option<ConfigValue<Vec<HostRule>>>,
    pub sandbox_method: Option<ConfigValue<Option<SandboxBackendKind>>>,
    pub searxng: Option<ConfigValue<WebAddress>>,
}

/// A named provider: endpoint, key, model and everything that goes with them.
#[derive(Debug, Clone)]
pub(super) struct ProviderConfigLayer {
    pub origin: ConfigOrigin,
    pub protocol: ProviderProtocol,
    pub part: ServerConfigLayer,
}

impl ConfigLayer {
    /// Reads the layer of a file. What a project's file must not set is left out with a warning.
    pub(super) fn from_file(
        file: &ConfigText,
        scope: ConfigScope,
        findings: &mut ConfigFindings,
    ) -> Self {
        let parsed = raw::parse(&file.text);
        let place = |line| ConfigOrigin::File { path: file.path.clone(), line };
        findings.errors.extend(
            parsed
                .errors
                .into_iter()
                .map(|it| ConfigError::Value { origin: place(it.line), problem: it.text }),
        );
        findings
            .warnings
            .extend(parsed.warnings.iter().map(|it| format!("{}: {}", place(it.line), it.text)));
        match scope {
            ConfigScope::User => {
                let unknown = parsed.unknown.into_iter();
                findings.errors.extend(
                    unknown
                        .map(|it| ConfigError::Value { origin: place(it.line), problem: it.text }),
                );
            }
            // An unknown key may have been meant to restrict, but a project does not set
            // restrictions, so it only gives a warning.
            ConfigScope::Project => {
                let unknown = parsed.unknown.iter();
                findings
                    .warnings
                    .extend(unknown.map(|it| format!("{}: {}", place(it.line), it.text)));
            }
        }
        let mut raw = parsed.raw;
        match scope {
            ConfigScope::User => {}
            ConfigScope::Project => {
                let dropped = drop_privileged_keys(&mut raw);
                findings.warnings.extend(dropped.into_iter().map(|(name, line)| {
                    format!(
                        "{}: a project cannot set `{name}`, so slug ignores it. Set it in your \
                         own configuration if you want it",
                        place(line)
                    )
                }));
            }
        }
        Self::from_raw(raw, &file.path, findings)
    }

    /// Reads the layer of the command line.
    pub(super) fn from_flags(flags: &ConfigFlags, findings: &mut ConfigFindings) -> Self {
        let at = ConfigOrigin::Flag;
        let ConfigFlags {
            endpoint,
            api_key,
            model,
            provider,
            system_prompt,
            mode,
            budget,
            max_tool_rounds,
            local,
            local_context,
        } = flags.clone();
        let text = |value, flag| ConfigValue { value, origin: at(flag) };
        let key = api_key.and_then(|it| findings.key(&it, at("--api-key")));
        Self {
            server: ServerConfigLayer {
                endpoint: endpoint.and_then(|it| findings.endpoint(&it, at("--endpoint"))),
                api_key: key.map(|key| key.map(ConfigKeySource::Value)),
                model: model.and_then(|it| findings.model(&it, at("--model"))),
                ..ServerConfigLayer::default()
            },
            provider: provider.map(|it| text(it, "--provider")),
            system_prompt: system_prompt.map(|it| text(it, "--system-prompt")),
            max_tool_rounds: max_tool_rounds
                .map(|value| ConfigValue { value, origin: ConfigOrigin::Flag("--max-rounds") }),
            mode: mode.map(|(value, flag)| ConfigValue { value, origin: at(flag) }),
            budget_session: budget.map(|value| ConfigValue { value, origin: at("--budget") }),
            local: LocalModelConfig {
                model: local.map(|value| ConfigValue { value, origin: at("--local") }),
                context: local_context
                    .map(|value| ConfigValue { value, origin: at("--local-context") }),
                ..LocalModelConfig::default()
            },
            ..Self::default()
        }
    }

    fn from_raw(raw: RawConfig, path: &Path, findings: &mut ConfigFindings) -> Self {
        let place = |line| ConfigOrigin::File { path: path.to_owned(), line };
        let text = |it: LineValue<String>| ConfigValue { value: it.value, origin: place(it.line) };
        let flag = |it: LineValue<bool>| ConfigValue { value: it.value, origin: place(it.line) };
        let folder = path.parent().unwrap_or(Path::new(""));
        let providers = raw.providers.into_iter();
        Self {
            server: findings.part(raw.server, folder, &place),
            provider: raw.provider.map(text),
            system_prompt: raw.system_prompt.map(text),
            temperature: raw.temperature.and_then(|it| findings.temperature(&it, &place)),
            max_tool_rounds: raw
                .max_tool_rounds
                .and_then(|it| findings.count(&it, 1, "max_tool_rounds", &place)),
            bash_environment: raw.bash_environment.map(|it| ConfigValue {
                value: it.value.into_iter().map(|name| name.value).collect(),
                origin: place(it.line),
            }),
            mode: raw.permission_mode.and_then(|it| findings.mode(it, &place)),
            fallback_model: raw.fallback_model.map(text).filter(|it| !it.value.trim().is_empty()),
            budget_turn: raw.budget_turn.and_then(|it| findings.budget(&it, &place)),
            budget_session: raw.budget_session.and_then(|it| findings.budget(&it, &place)),
            first_byte: raw
                .first_byte
                .and_then(|it| findings.count(&it, 1, "timeouts.first_byte", &place)),
            idle: raw.idle.and_then(|it| findings.count(&it, 1, "timeouts.idle", &place)),
            total: raw.total.and_then(|it| findings.count(&it, 1, "timeouts.total", &place)),
            mcp: raw
                .mcp
                .into_iter()
                .map(|(name, it)| (name, ConfigValue { value: it.value, origin: place(it.line) }))
                .collect(),
            lsp: raw
                .lsp
                .into_iter()
                .map(|(name, it)| (name, ConfigValue { value: it.value, origin: place(it.line) }))
                .collect(),
            lsp_wait: raw
                .lsp_wait
                .and_then(|it| findings.count(&it, 0, "lsp.wait_seconds", &place)),
            lsp_memory: raw
                .lsp_memory
                .and_then(|it| findings.count(&it, 256, "lsp.memory_mb", &place)),
            local: findings.local(raw.local, folder, &place),
            formatters: FormatterConfig::new(raw.formatters, &place),
            statics: raw.statics.into_iter().map(|(name, it)| (name, text(it))).collect(),
            providers: providers
                .filter_map(|(name, it)| {
                    let named = findings.named(&name, it, folder, &place)?;
                    Some((name, named))
                })
                .collect(),
            theme: raw.theme.and_then(|it| findings.theme(it, &place)),
            keys: raw.keys.and_then(|it| findings.keys(&it, &place)),
            mouse: raw.mouse.map(flag),
            reduced_motion: raw.reduced_motion.map(flag),
            panel: raw.panel.map(flag),
            model_titles: raw.model_titles.map(flag),
            wheel_rows: raw
                .wheel_rows
                .and_then(|it| findings.wheel_count(&it, "ui.wheel_rows", &place)),
            wheel_events: raw
                .wheel_events
                .and_then(|it| findings.wheel_count(&it, "ui.wheel_events", &place)),
            leave: raw.leave.and_then(|it| findings.leave(&it, &place)),
            status: raw.status.map(|it| findings.status(&it, &place)),
            status_command: raw.status_command.map(text).filter(|it| !it.value.trim().is_empty()),
            title: raw.title.map(flag),
            images: raw.images.map(flag),
            progress: raw.progress.map(flag),
            notify: raw.notify.and_then(|it| findings.notify(&it, &place)),
            notify_after: raw
                .notify_after
                .and_then(|it| findings.count(&it, 0, "ui.notify_after", &place)),
            vi: raw.vi.map(flag),
            sandbox_network: raw.sandbox_network.map(flag),
            sandbox_hosts: raw.sandbox_hosts.and_then(|it| findings.hosts(&it, &place)),
            sandbox_method: raw.sandbox_method.and_then(|it| findings.method(&it, &place)),
            searxng: raw.searxng.and_then(|it| findings.searxng(&it, &place)),
        }
    }
}

impl ServerConfigLayer {
    /// Reads the variables of slug itself.
    pub(super) fn from_environment(
        environment: &ConfigEnvironment,
        findings: &mut ConfigFindings,
    ) -> Self {
        let at = ConfigOrigin::Environment;
        let ConfigEnvironment { endpoint, api_key, model, .. } = environment;
        let key = api_key.as_ref().and_then(|it| findings.key(it, at("SLUG_API_KEY")));
        Self {
            endpoint: endpoint.as_ref().and_then(|it| findings.endpoint(it, at("SLUG_ENDPOINT"))),
            api_key: key.map(|key| key.map(ConfigKeySource::Value)),
            model: model.as_ref().and_then(|it| findings.model(it, at("SLUG_MODEL"))),
            ..Self::default()
        }
    }

    /// Reads the key that a service's variable holds.
    pub(super) fn of_key(variables: &ServiceVariables, findings: &mut ConfigFindings) -> Self {
        let at = ConfigOrigin::Environment(variables.service.key_variable);
        let key = variables.api_key.as_ref().and_then(|it| findings.key(it, at));
        Self { api_key: key.map(|key| key.map(ConfigKeySource::Value)), ..Self::default() }
    }

    /// Reads the other variables of the service whose protocol is used.
    pub(super) fn of_variables(
        variables: &ServiceVariables,
        findings: &mut ConfigFindings,
    ) -> Self {
        let service = variables.service;
        let model = service.model_variable.zip(variables.model.as_ref());
        let limit = service.limit_variable.zip(variables.max_tokens.as_ref());
        Self {
            model: model.and_then(|(name, it)| findings.model(it, ConfigOrigin::Environment(name))),
            max_tokens: limit.and_then(|(name, it)| {
                let origin = ConfigOrigin::Environment(name);
                match it.trim().parse() {
                    Ok(value) if value > 0 => Some(ConfigValue { value, origin }),
                    Ok(_) | Err(_) => {
                        findings.error(origin, format!("`{name}` must be a number, 1 or more"))
                    }
                }
            }),
            ..Self::default()
        }
    }

    /// The service itself, where a flag names its protocol: then the configured endpoint and model
    /// are another server's.
    pub(super) fn of_service(
        service: &ProtocolService,
        origin: &ConfigOrigin,
        findings: &mut ConfigFindings,
    ) -> Self {
        let model = service.model.map_or(ModelChoice::Served, ModelChoice::parse);
        Self {
            endpoint: findings.endpoint(service.own_endpoint, origin.clone()),
            model: Some(ConfigValue { value: model, origin: origin.clone() }),
            ..Self::default()
        }
    }
}

impl ConfigFindings {
    /// Checks what a file sets for one server, at its top or in a table of its own.
    fn part(
        &mut self,
        mut raw: RawServer,
        folder: &Path,
        place: &impl Fn(usize) -> ConfigOrigin,
    ) -> ServerConfigLayer {
        let own = self.origin_bound(&mut raw, folder, place);
        let dialect = raw.dialect.and_then(|it| self.dialect(&it, place));
        let models = raw.models.map(|it| ConfigValue {
            value: it.value.into_iter().map(|model| model.value).collect(),
            origin: place(it.line),
        });
        ServerConfigLayer {
            api_key: self.key_source(raw.api_key, raw.api_key_command, place),
            endpoint: raw.endpoint.and_then(|it| self.endpoint(&it.value, place(it.line))),
            model: raw.model.and_then(|it| self.model(&it.value, place(it.line))),
            max_tokens: raw.max_tokens.and_then(|it| self.count(&it, 1, "max_tokens", place)),
            context_window: raw
                .context_window
                .and_then(|it| self.count(&it, 1024, "context_window", place))
                .map(|window| window.map(u64::from)),
            effort: raw.effort.and_then(|it| self.effort(&it, place)),
            ca_file: connection::path(raw.ca_file, folder, place),
            proxy: raw.proxy.and_then(|it| self.proxy(&it.value, place(it.line))),
            origin_bound: (!own.is_empty() || models.is_some() || dialect.is_some())
                .then_some(OriginBoundLayer { origin_bound: own, models, dialect }),
        }
    }

    fn named(
        &mut self,
        name: &str,
        it: LineValue<RawServer>,
        folder: &Path,
        place: &impl Fn(usize) -> ConfigOrigin,
    ) -> Option<ProviderConfigLayer> {
        let origin = place(it.line);
        // A protocol's own service is one server; chat completions are spoken by many.
        let service = ProviderProtocol::parse(name);
        if service == Some(ProviderProtocol::ChatCompletions) {
            let problem = format!(
                "[providers.{name}] cannot be used, because `{name}` is a built-in name: give it \
                 another one"
            );
            return self.error(origin, problem);
        }
        let mut raw = it.value;
        let protocol = match raw.protocol.take() {
            Some(written) => self.protocol(&written.value, place(written.line))?,
            None => service.unwrap_or(ProviderProtocol::ChatCompletions),
        };
        if let Some(service) = service.filter(|service| *service != protocol) {
            let problem = format!(
                "[providers.{name}] cannot speak `{protocol}`, because `{name}` is a built-in \
                 name: give it another one",
                protocol = protocol.name(),
                name = service.name()
            );
            return self.error(origin, problem);
        }
        let service = service.map(services::of);
        if raw.endpoint.is_none() && service.is_none() {
            let problem = format!("[providers.{name}] has no `endpoint`: add one");
            return self.error(origin, problem);
        }
        let mut part = self.part(raw, folder, place);
        if let Some(service) = service.filter(|_| part.endpoint.is_none()) {
            part.endpoint = self.endpoint(service.own_endpoint, origin.clone());
            let model = service.model.map(ModelChoice::parse);
            let usual = model.map(|value| ConfigValue { value, origin: origin.clone() });
            part.model = part.model.or(usual);
        }
        server::check_headers(&part, protocol, self);
        // A named provider is complete in itself: what it does not set is not taken from the top of
        // the file.
        let model =
            part.model.or(Some(ConfigValue { value: ModelChoice::Served, origin: origin.clone() }));
        let own = Some(part.origin_bound.unwrap_or_default());
        Some(ProviderConfigLayer {
            origin,
            protocol,
            part: ServerConfigLayer { model, origin_bound: own, ..part },
        })
    }
}

/// Removes from a project's file what would give slug privileges or send anything elsewhere. Gives
/// the removed keys with their lines.
fn drop_privileged_keys(raw: &mut RawConfig) -> Vec<(&'static str, usize)> {
    let server = &mut raw.server;
    let mut dropped: Vec<(&'static str, usize)> = [
        ("endpoint", server.endpoint.take().map(|it| it.line)),
        ("api_key", server.api_key.take().map(|it| it.line)),
        ("api_key_command", server.api_key_command.take().map(|it| it.line)),
        ("key_header", server.key_header.take().map(|it| it.line)),
        ("headers", server.headers.take().map(|it| it.line)),
        ("query", server.query.take().map(|it| it.line)),
        ("ca_file", server.ca_file.take().map(|it| it.line)),
        ("client_certificate", server.client_certificate.take().map(|it| it.line)),
        ("client_key", server.client_key.take().map(|it| it.line)),
        ("proxy", server.proxy.take().map(|it| it.line)),
        ("budget.turn", raw.budget_turn.take().map(|it| it.line)),
        ("budget.session", raw.budget_session.take().map(|it| it.line)),
        ("provider", raw.provider.take().map(|it| it.line)),
        ("bash.environment", raw.bash_environment.take().map(|it| it.line)),
        ("permission_mode", raw.permission_mode.take().map(|it| it.line)),
        ("sandbox.network", raw.sandbox_network.take().map(|it| it.line)),
        ("sandbox.hosts", raw.sandbox_hosts.take().map(|it| it.line)),
        ("sandbox.method", raw.sandbox_method.take().map(|it| it.line)),
        ("web.searxng", raw.searxng.take().map(|it| it.line)),
        ("lsp.wait_seconds", raw.lsp_wait.take().map(|it| it.line)),
        ("lsp.memory_mb", raw.lsp_memory.take().map(|it| it.line)),
        ("ui.status_command", raw.status_command.take().map(|it| it.line)),
    ]
    .into_iter()
    .filter_map(|(name, line)| Some((name, line?)))
    .collect();
    let providers = std::mem::take(&mut raw.providers);
    dropped.extend(providers.values().map(|it| ("providers", it.line)));
    let servers = std::mem::take(&mut raw.mcp);
    dropped.extend(servers.values().map(|it| ("mcp", it.line)));
    let servers = std::mem::take(&mut raw.lsp);
    dropped.extend(servers.values().map(|it| ("lsp", it.line)));
    dropped.extend(std::mem::take(&mut raw.local).line().map(|line| ("local", line)));
    let formatters = std::mem::take(&mut raw.formatters);
    dropped.extend(formatters.line().map(|line| ("formatters", line)));
    dropped.sort_by_key(|(_, line)| *line);
    dropped
}
