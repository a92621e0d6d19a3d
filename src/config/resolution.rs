//! The configuration that holds: all layers merged, each value with its origin.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use secrecy::SecretString;

use super::findings::ConfigFindings;
use super::inputs::{ConfigEnvironment, ConfigFiles, ConfigFlags, ConfigTexts};
use super::layer::{ConfigLayer, ConfigScope};
use super::raw;
use super::server::{self, ModelServerConfig, ServerConfigLayer};
use super::services;
use super::{
    ConfigError, ConfigOrigin, ConfigValue, ExitTranscript, FormatterConfig, KeyPreset,
    LocalModelConfig, ModeChoice, NotificationMethod, StatusItems, ThemeChoice,
};
use crate::domain::{
    HostRule, PermissionMode, ProviderProtocol, SandboxBackendKind, UsageBudget, WebAddress,
};

/// The whole configuration of a run.
#[derive(Debug, Clone)]
pub struct ResolvedConfig {
    /// The server that is asked.
    pub server: ModelServerConfig,
    /// The other servers that the user can switch to.
    pub others: Vec<ModelServerConfig>,
    /// Replaces slug's own system prompt.
    pub system_prompt: Option<ConfigValue<String>>,
    /// Sent only when set.
    pub temperature: Option<ConfigValue<f32>>,
    /// The most rounds of tool calls in one turn; `None` goes by the front end.
    pub max_tool_rounds: Option<ConfigValue<u32>>,
    /// The model that answers while the chosen model's server is overloaded.
    pub fallback_model: Option<ConfigValue<String>>,
    /// What each turn may use before slug asks the user.
    pub budget_turn: Option<ConfigValue<UsageBudget>>,
    /// What the whole session may use before slug asks the user.
    pub budget_session: Option<ConfigValue<UsageBudget>>,
    /// Seconds until the first byte of an answer; `None` leaves slug's own limit.
    pub first_byte: Option<ConfigValue<u32>>,
    /// Seconds between two pieces of an answer; `None` leaves slug's own limit.
    pub idle: Option<ConfigValue<u32>>,
    /// Seconds for a whole answer; `None` leaves slug's own limit.
    pub total: Option<ConfigValue<u32>>,
    /// Variables that commands get although their names look like secrets.
    pub bash_environment: Option<ConfigValue<Vec<String>>>,
    /// What happens to a call that no rule covers.
    pub mode: ConfigValue<PermissionMode>,
    /// `None` without a sandbox. The inner value is the sandbox's folder as written; `None` stands
    /// for the working folder.
    pub sandbox: Option<ConfigValue<Option<PathBuf>>>,
    /// Whether commands in the sandbox have a network.
    pub sandbox_network: ConfigValue<bool>,
    /// The only hosts that commands in the sandbox reach; `None` where there is no such list.
    pub sandbox_hosts: Option<ConfigValue<Vec<HostRule>>>,
    /// The sandbox mechanism; `None` takes the best that the machine has.
    pub sandbox_method: ConfigValue<Option<SandboxBackendKind>>,
    /// The SearXNG server that searches the web; `None` takes another engine.
    pub searxng: Option<ConfigValue<WebAddress>>,
    /// The texts of `[context.static]` for the model, by name.
    pub statics: BTreeMap<String, ConfigValue<String>>,
    /// The user's MCP servers, as JSON with the keys of `.mcp.json`.
    pub mcp: BTreeMap<String, ConfigValue<serde_json::Value>>,
    /// The user's language servers, as JSON.
    pub lsp: BTreeMap<String, ConfigValue<serde_json::Value>>,
    /// How many seconds the result of a change waits for language servers; 0 for no look at all.
    pub lsp_wait: ConfigValue<u32>,
    /// How many megabytes of memory a process of a language server may ask for.
    pub lsp_memory: ConfigValue<u32>,
    /// The model whose server slug runs itself.
    pub local: LocalModelConfig,
    /// The formatters that the user sets up, and whether any runs.
    pub formatters: FormatterConfig,
    pub theme: ConfigValue<ThemeChoice>,
    /// The keys that slug starts with, before the user's own are added.
    pub keys: ConfigValue<KeyPreset>,
    /// Whether slug handles the mouse.
    pub mouse: ConfigValue<bool>,
    /// Whether nothing on screen moves by itself.
    pub reduced_motion: ConfigValue<bool>,
    /// Whether a wide screen has a panel beside the transcript.
    pub panel: ConfigValue<bool>,
    /// Whether a hosted model names new sessions.
    pub model_titles: ConfigValue<bool>,
    /// The number of rows that one notch of the wheel scrolls.
    pub wheel_rows: ConfigValue<u32>,
    /// The number of events that the terminal sends for one notch; `None` lets slug guess.
    pub wheel_events: Option<ConfigValue<u32>>,
    /// Which part of the transcript stays in the terminal after slug exits.
    pub leave: ConfigValue<ExitTranscript>,
    /// The items of the first line.
    pub status: ConfigValue<StatusItems>,
    /// A command whose output the first line shows; only from the user's own file.
    pub status_command: Option<ConfigValue<String>>,
    /// Whether slug sets the title of the terminal's window.
    pub title: ConfigValue<bool>,
    /// Whether images are shown as pictures, where the terminal supports that.
    pub images: ConfigValue<bool>,
    /// Whether slug tells the terminal that it is working, where that is safe.
    pub progress: ConfigValue<bool>,
    /// How slug notifies the user.
    pub notify: ConfigValue<NotificationMethod>,
    /// A turn that took at least this many seconds is worth a notification when it ends.
    pub notify_after: ConfigValue<u32>,
    /// Whether the input has Vi's keys.
    pub vi: ConfigValue<bool>,
    /// The names of the `[providers.NAME]`.
    pub named_providers: Vec<String>,
    /// Each key and other secret that is written anywhere, also one that nothing uses.
    pub secrets: Vec<SecretString>,
    /// The environment variables that hold secrets.
    pub key_variables: Vec<String>,
    /// Values that were left out, and why; each with file and line.
    pub warnings: Vec<String>,
}

/// A protocol's name, or that of a `[providers.NAME]` table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderName(String);

impl ResolvedConfig {
    /// All servers, the chosen one first.
    pub fn servers(&self) -> impl Iterator<Item = &ModelServerConfig> {
        std::iter::once(&self.server).chain(&self.others)
    }

    /// Whether the user has not configured any model: slug then shows its first-run screen.
    pub fn nothing_configured(&self) -> bool {
        self.local.model.is_none() && !self.names_server() && self.server.api_key.is_none()
    }

    /// The model whose server slug runs in this run: the one that a flag names, or that of the file where
    /// no other server and no model is named anywhere. A key alone names none.
    pub fn local_model(&self) -> Option<&ConfigValue<PathBuf>> {
        let model = self.local.model.as_ref()?;
        (matches!(model.origin, ConfigOrigin::Flag(_)) || !self.names_server()).then_some(model)
    }

    fn names_server(&self) -> bool {
        let ModelServerConfig { name, endpoint, model, .. } = &self.server;
        [&name.origin, &endpoint.origin, &model.origin]
            .into_iter()
            .any(|origin| *origin != ConfigOrigin::Default)
    }
}

impl ProviderName {
    fn of(protocol: ProviderProtocol) -> Self {
        Self(protocol.name().to_owned())
    }

    /// The name as written in the configuration.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProviderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads the files and resolves the configuration.
///
/// # Errors
///
/// Fails when a file cannot be read, or when values are wrong; then the list holds every mistake,
/// each with its origin.
pub fn load(
    files: ConfigFiles<'_>,
    environment: &ConfigEnvironment,
    flags: &ConfigFlags,
) -> Result<ResolvedConfig, Vec<ConfigError>> {
    let texts = files.read().map_err(|error| vec![error])?;
    resolve(&texts, environment, flags)
}

/// Merges defaults, files, environment and flags.
///
/// # Errors
///
/// Fails when values are wrong. The list holds every mistake, each with its origin.
pub fn resolve(
    texts: &ConfigTexts,
    environment: &ConfigEnvironment,
    flags: &ConfigFlags,
) -> Result<ResolvedConfig, Vec<ConfigError>> {
    let mut findings = ConfigFindings::default();
    let mut file = |text: &Option<_>, scope| match text {
        Some(text) => ConfigLayer::from_file(text, scope, &mut findings),
        None => ConfigLayer::default(),
    };
    let user = file(&texts.user, ConfigScope::User);
    let project = file(&texts.project, ConfigScope::Project);
    if let Some(file) = texts.user.as_ref().filter(|_| texts.is_open_to_others)
        && raw::parse(&file.text).raw.holds_secrets()
    {
        let path = file.path.display();
        findings.warnings.push(format!(
            "{path} contains keys, and other users of this machine can read it: chmod 600 '{path}'"
        ));
    }
    let from_environment = ServerConfigLayer::from_environment(environment, &mut findings);
    let from_flags = ConfigLayer::from_flags(flags, &mut findings);
    let keys: Vec<ServerConfigLayer> = environment
        .services
        .iter()
        .map(|it| ServerConfigLayer::of_key(it, &mut findings))
        .collect();

    let provider = provider(&user, &from_flags, &mut findings);
    let named = user.providers.get(provider.value.as_str());
    let protocol = named
        .map(|named| named.protocol)
        .or_else(|| ProviderProtocol::parse(provider.value.as_str()))
        .unwrap_or(ProviderProtocol::ChatCompletions);
    if named.is_none() {
        server::check_headers(&user.server, protocol, &mut findings);
    }
    let service = services::of(protocol);
    let of_service = environment.services.iter().find(|it| it.service.protocol == protocol);
    let layers = [&user.server, &project.server, &from_environment, &from_flags.server];
    let whole = match (named, protocol, &provider.origin) {
        (Some(named), _, _) => Some(named.part.clone()),
        // Many servers speak chat completions. Where one is configured it is meant; without one, a
        // key of the service tells that the service is.
        (None, ProviderProtocol::ChatCompletions, _)
            if layers.iter().any(|layer| layer.endpoint.is_some())
                || of_service.is_none_or(|it| it.api_key.is_none()) =>
        {
            None
        }
        (None, _, ConfigOrigin::Flag(_)) => {
            let mut own = ServerConfigLayer::of_service(service, &provider.origin, &mut findings);
            // The file means the same server, so its model does, too.
            if protocol == ProviderProtocol::ChatCompletions
                && user.provider.as_ref().is_some_and(|it| it.value == protocol.name())
            {
                own.model = None;
            }
            Some(own)
        }
        (None, ProviderProtocol::ChatCompletions, ConfigOrigin::File { .. }) => {
            let own = ServerConfigLayer::of_service(service, &provider.origin, &mut findings);
            Some(ServerConfigLayer { model: None, ..own })
        }
        (
            None,
            _,
            ConfigOrigin::Default | ConfigOrigin::File { .. } | ConfigOrigin::Environment(_),
        ) => None,
    };
    let variables = of_service.map(|it| ServerConfigLayer::of_variables(it, &mut findings));
    let (by_file, by_flag) = match provider.origin {
        ConfigOrigin::Flag(_) => ([None, None], [whole, variables]),
        ConfigOrigin::Default | ConfigOrigin::File { .. } | ConfigOrigin::Environment(_) => {
            ([whole, variables], [None, None])
        }
    };
    let [by_file, file_variables] = by_file;
    let parts = [Some(user.server.clone()), by_file, Some(project.server.clone())]
        .into_iter()
        .chain(keys.iter().cloned().map(Some))
        .chain([file_variables, Some(from_environment)])
        .chain(by_flag)
        .chain([Some(from_flags.server.clone())])
        .flatten();
    let server = server::merge(provider, service, parts, &mut findings);
    let others = match &server {
        Some(chosen) => others(chosen, &user, &project, environment, &keys),
        None => Vec::new(),
    };
    let named_providers = user.providers.keys().cloned().collect();
    let mut layers = [user, project, from_flags];
    if layers.iter().all(|layer| layer.keys.is_none() && layer.vi.is_none()) {
        layers[0].keys = texts.editing_mode.clone();
    }
    let resolved = merge(server, others, layers, findings)?;
    Ok(ResolvedConfig { named_providers, ..resolved })
}

/// The servers that the user can switch to: each `[providers.NAME]`, the one at the top of the
/// user's file, and each protocol's own service whose key is in the environment.
fn others(
    chosen: &ModelServerConfig,
    user: &ConfigLayer,
    project: &ConfigLayer,
    environment: &ConfigEnvironment,
    keys: &[ServerConfigLayer],
) -> Vec<ModelServerConfig> {
    // Mistakes in them have been reported already, or do not matter for this run.
    let mut unused = ConfigFindings::default();
    let common = project.server.common();
    let is_chosen = |name: &str| chosen.name.value.as_str() == name;
    let mut others = Vec::new();
    for (name, named) in user.providers.iter().filter(|(name, _)| !is_chosen(name)) {
        let name = ConfigValue { value: ProviderName(name.clone()), origin: named.origin.clone() };
        let parts = [user.server.clone(), named.part.clone(), common.clone()];
        let parts = parts.into_iter().chain(keys.iter().cloned());
        others.extend(server::merge(name, services::of(named.protocol), parts, &mut unused));
    }
    let by_file = user.provider.as_ref().and_then(|it| ProviderProtocol::parse(&it.value));
    let top = by_file.unwrap_or(ProviderProtocol::ChatCompletions);
    if let Some(endpoint) = &user.server.endpoint
        && endpoint.value != chosen.endpoint.value
        && !is_chosen(top.name())
    {
        let name = ConfigValue { value: ProviderName::of(top), origin: endpoint.origin.clone() };
        let parts = [user.server.clone(), common.clone()];
        let parts = parts.into_iter().chain(keys.iter().cloned());
        others.extend(server::merge(name, services::of(top), parts, &mut unused));
    }
    for (variables, key) in environment.services.iter().zip(keys) {
        let service = variables.service;
        let name = ProviderName::of(service.protocol);
        // Chat completions are the service's older protocol; its newer one has the same models.
        let is_known = service.protocol == ProviderProtocol::ChatCompletions
            || chosen.endpoint.value.origin().as_str() == service.origin
            || others.iter().any(|it| it.name.value == name);
        let Some(found) = key.api_key.as_ref().filter(|_| !is_known && !is_chosen(name.as_str()))
        else {
            continue;
        };
        let origin = found.origin.clone();
        let own = ServerConfigLayer::of_service(service, &origin, &mut unused);
        let variables = ServerConfigLayer::of_variables(variables, &mut unused);
        let parts = [user.server.common(), common.clone(), own, key.clone(), variables];
        others.extend(server::merge(
            ConfigValue { value: name, origin },
            service,
            parts,
            &mut unused,
        ));
    }
    others
}

fn provider(
    user: &ConfigLayer,
    flags: &ConfigLayer,
    findings: &mut ConfigFindings,
) -> ConfigValue<ProviderName> {
    let Some(chosen) = flags.provider.as_ref().or(user.provider.as_ref()) else {
        return ConfigValue::default(ProviderName(
            ProviderProtocol::ChatCompletions.name().to_owned(),
        ));
    };
    let name = chosen.value.as_str();
    let names = || {
        let known = user.providers.keys().map(String::as_str);
        ProviderProtocol::ALL
            .map(ProviderProtocol::name)
            .into_iter()
            .chain(known)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let problem = if ProviderProtocol::parse(name).is_some() || user.providers.contains_key(name) {
        None
    } else {
        let shown = name.escape_debug();
        Some(format!(
            "there is no provider `{shown}`: add [providers.{shown}] to your configuration, or \
             choose one of {}",
            names()
        ))
    };
    if let Some(problem) = problem {
        findings.errors.push(ConfigError::Value { origin: chosen.origin.clone(), problem });
    }
    chosen.clone().map(ProviderName)
}

fn merge(
    server: Option<ModelServerConfig>,
    others: Vec<ModelServerConfig>,
    layers: [ConfigLayer; 3],
    findings: ConfigFindings,
) -> Result<ResolvedConfig, Vec<ConfigError>> {
    let mut top = ConfigLayer::default();
    for layer in layers {
        top.system_prompt = layer.system_prompt.or(top.system_prompt);
        top.temperature = layer.temperature.or(top.temperature);
        top.max_tool_rounds = layer.max_tool_rounds.or(top.max_tool_rounds);
        top.fallback_model = layer.fallback_model.or(top.fallback_model);
        top.budget_turn = layer.budget_turn.or(top.budget_turn);
        top.budget_session = layer.budget_session.or(top.budget_session);
        top.first_byte = layer.first_byte.or(top.first_byte);
        top.idle = layer.idle.or(top.idle);
        top.total = layer.total.or(top.total);
        top.bash_environment = layer.bash_environment.or(top.bash_environment);
        top.mode = layer.mode.or(top.mode);
        top.theme = layer.theme.or(top.theme);
        top.keys = layer.keys.or(top.keys);
        top.mouse = layer.mouse.or(top.mouse);
        top.reduced_motion = layer.reduced_motion.or(top.reduced_motion);
        top.panel = layer.panel.or(top.panel);
        top.model_titles = layer.model_titles.or(top.model_titles);
        top.wheel_rows = layer.wheel_rows.or(top.wheel_rows);
        top.wheel_events = layer.wheel_events.or(top.wheel_events);
        top.leave = layer.leave.or(top.leave);
        top.status = layer.status.or(top.status);
        top.status_command = layer.status_command.or(top.status_command);
        top.title = layer.title.or(top.title);
        top.images = layer.images.or(top.images);
        top.progress = layer.progress.or(top.progress);
        top.notify = layer.notify.or(top.notify);
        top.notify_after = layer.notify_after.or(top.notify_after);
        top.vi = layer.vi.or(top.vi);
        top.sandbox_network = layer.sandbox_network.or(top.sandbox_network);
        top.sandbox_hosts = layer.sandbox_hosts.or(top.sandbox_hosts);
        top.sandbox_method = layer.sandbox_method.or(top.sandbox_method);
        top.searxng = layer.searxng.or(top.searxng);
        top.statics.extend(layer.statics);
        top.mcp.extend(layer.mcp);
        top.lsp.extend(layer.lsp);
        top.lsp_wait = layer.lsp_wait.or(top.lsp_wait);
        top.lsp_memory = layer.lsp_memory.or(top.lsp_memory);
        top.local = top.local.overridden(layer.local);
        top.formatters = top.formatters.overridden(layer.formatters);
    }
    let asked =
        top.mode.unwrap_or(ConfigValue::default(ModeChoice::Mode(PermissionMode::default())));
    let (mode, sandbox) = match asked {
        // A plain `sandbox` is a sandbox around the working folder.
        ConfigValue { value: ModeChoice::Mode(PermissionMode::Sandbox), origin } => {
            let sandbox = ConfigValue { value: None, origin: origin.clone() };
            (ConfigValue { value: PermissionMode::Sandbox, origin }, Some(sandbox))
        }
        ConfigValue { value: ModeChoice::Mode(value), origin } => {
            (ConfigValue { value, origin }, None)
        }
        ConfigValue { value: ModeChoice::Sandbox(value), origin } => {
            let sandbox = ConfigValue { value, origin: origin.clone() };
            (ConfigValue { value: PermissionMode::Sandbox, origin }, Some(sandbox))
        }
    };
    let Some(server) = server.filter(|_| findings.errors.is_empty()) else {
        return Err(findings.errors);
    };
    Ok(ResolvedConfig {
        server,
        others,
        system_prompt: top.system_prompt,
        temperature: top.temperature,
        max_tool_rounds: top.max_tool_rounds,
        fallback_model: top.fallback_model,
        budget_turn: top.budget_turn,
        budget_session: top.budget_session,
        first_byte: top.first_byte,
        idle: top.idle,
        total: top.total,
        bash_environment: top.bash_environment,
        mode,
        sandbox,
        sandbox_network: top.sandbox_network.unwrap_or(ConfigValue::default(false)),
        sandbox_hosts: top.sandbox_hosts,
        sandbox_method: top.sandbox_method.unwrap_or(ConfigValue::default(None)),
        searxng: top.searxng,
        statics: top.statics,
        mcp: top.mcp,
        lsp: top.lsp,
        lsp_wait: top.lsp_wait.unwrap_or(ConfigValue::default(3)),
        lsp_memory: top.lsp_memory.unwrap_or(ConfigValue::default(4096)),
        local: top.local,
        formatters: top.formatters,
        theme: top.theme.unwrap_or(ConfigValue::default(ThemeChoice::default())),
        keys: top.keys.unwrap_or(ConfigValue::default(KeyPreset::default())),
        mouse: top.mouse.unwrap_or(ConfigValue::default(true)),
        reduced_motion: top.reduced_motion.unwrap_or(ConfigValue::default(false)),
        panel: top.panel.unwrap_or(ConfigValue::default(true)),
        model_titles: top.model_titles.unwrap_or(ConfigValue::default(true)),
        wheel_rows: top.wheel_rows.unwrap_or(ConfigValue::default(3)),
        wheel_events: top.wheel_events,
        leave: top.leave.unwrap_or(ConfigValue::default(ExitTranscript::default())),
        status: top.status.unwrap_or(ConfigValue::default(StatusItems::default())),
        status_command: top.status_command,
        title: top.title.unwrap_or(ConfigValue::default(true)),
        images: top.images.unwrap_or(ConfigValue::default(true)),
        progress: top.progress.unwrap_or(ConfigValue::default(true)),
        notify: top.notify.unwrap_or(ConfigValue::default(NotificationMethod::default())),
        notify_after: top.notify_after.unwrap_or(ConfigValue::default(5)),
        vi: top.vi.unwrap_or(ConfigValue::default(false)),
        named_providers: Vec::new(),
        secrets: findings.secrets,
        key_variables: findings.key_variables,
        warnings: findings.warnings,
    })
}

#[cfg(test)]
mod tests;
