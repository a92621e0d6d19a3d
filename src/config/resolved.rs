//! What holds: all layers merged, each value with its origin.
//!
//! A key belongs to the server that was configured where the key was: one that stands in a layer
//! goes to the endpoint that holds as of that layer, and to no other origin. So a key from the
//! environment is not sent to whatever `--endpoint` names.

use std::collections::BTreeMap;
use std::fmt;

use secrecy::SecretString;

use super::inputs::{Environment, Files, Flags, Texts};
use super::layer::{
    Findings, KeyPreset, Layer, Leave, ModeChoice, ModelChoice, Named, Scope, ThemeChoice,
};
use super::services::{self, SERVICES, Service};
use super::{ConfigError, Endpoint, Notify, Origin, Reach, ServerOrigin, Sourced, StatusItems};
use crate::domain::{Effort, Mode, Protocol};

/// The whole configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// A protocol's name, or that of a `[providers.NAME]`.
    pub provider: Sourced<ProviderName>,
    /// How the endpoint is spoken to.
    pub protocol: Protocol,
    /// Where the model is asked.
    pub endpoint: Sourced<Endpoint>,
    /// The key for that endpoint's origin.
    pub api_key: Option<Sourced<SecretString>>,
    /// A key that would have been used, had it been configured for this origin.
    pub withheld_key: Option<WithheldKey>,
    /// Which model.
    pub model: Sourced<ModelChoice>,
    /// Takes the place of slug's own prompt.
    pub system_prompt: Option<Sourced<String>>,
    /// Limit of a response, in tokens.
    pub max_tokens: Sourced<u32>,
    /// Sent only when set.
    pub temperature: Option<Sourced<f32>>,
    /// How hard the model is to think; sent only when set.
    pub effort: Option<Sourced<Effort>>,
    /// How many rounds of tool calls a turn may take.
    pub max_tool_rounds: Sourced<u32>,
    /// What happens to a call that no rule speaks of.
    pub mode: Sourced<Mode>,
    /// The window in tokens, used only where the server does not say what it serves.
    pub context_window: Sourced<u64>,
    /// Texts for the model, by name.
    pub statics: BTreeMap<String, Sourced<String>>,
    /// Which theme.
    pub theme: Sourced<ThemeChoice>,
    /// Which keys, before the person's own.
    pub keys: Sourced<KeyPreset>,
    /// Whether slug takes the mouse.
    pub mouse: Sourced<bool>,
    /// Whether nothing on screen moves by itself.
    pub reduced_motion: Sourced<bool>,
    /// Rows that a notch of the wheel goes.
    pub wheel_rows: Sourced<u32>,
    /// Events that the terminal sends for a notch, where slug is not to guess.
    pub wheel_events: Option<Sourced<u32>>,
    /// What stays in the terminal once slug has left.
    pub leave: Sourced<Leave>,
    /// What the first line shows.
    pub status: Sourced<StatusItems>,
    /// A command whose output the first line shows; only from the person's own file.
    pub status_command: Option<Sourced<String>>,
    /// Whether slug names the terminal's window.
    pub title: Sourced<bool>,
    /// Whether images are shown as pictures, where the terminal can do that.
    pub images: Sourced<bool>,
    /// Whether slug tells the terminal that it works, where that is safe.
    pub progress: Sourced<bool>,
    /// How slug calls for the person.
    pub notify: Sourced<Notify>,
    /// Seconds that a turn has to take for its end to be told.
    pub notify_after: Sourced<u32>,
    /// Whether the input has Vi's keys.
    pub vi: Sourced<bool>,
    /// What was left out, and why; each with file and line.
    pub warnings: Vec<String>,
}

/// The name of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderName(String);

/// A key that is not sent, because it belongs to another server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithheldKey {
    /// Where the key was found.
    pub origin: Origin,
    /// The server that it belongs to.
    pub belongs_to: ServerOrigin,
}

impl Config {
    /// Whether nobody has said which model to use: then slug shows its first-run screen.
    pub fn nothing_configured(&self) -> bool {
        self.provider.origin == Origin::Default
            && self.endpoint.origin == Origin::Default
            && self.model.origin == Origin::Default
            && self.api_key.is_none()
    }
}

impl ProviderName {
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

/// Reads the files and resolves everything. All that is wrong is told at once.
pub fn load(
    files: Files<'_>,
    environment: &Environment,
    flags: &Flags,
) -> Result<Config, Vec<ConfigError>> {
    let texts = files.read().map_err(|error| vec![error])?;
    resolve(&texts, environment, flags)
}

/// Merges defaults, files, environment and flags.
pub fn resolve(
    texts: &Texts,
    environment: &Environment,
    flags: &Flags,
) -> Result<Config, Vec<ConfigError>> {
    let mut findings = Findings::default();
    let mut file = |text: &Option<_>, scope| match text {
        Some(text) => Layer::from_file(text, scope, &mut findings),
        None => Layer::default(),
    };
    let user = file(&texts.user, Scope::User);
    let project = file(&texts.project, Scope::Project);
    let from_environment = Layer::from_environment(environment, &mut findings);
    let from_flags = Layer::from_flags(flags, &mut findings);

    let provider = provider(&user, &from_flags, &mut findings);
    let named = user.providers.get(provider.value.as_str());
    let protocol = named
        .map(|named| named.protocol)
        .or_else(|| Protocol::parse(provider.value.as_str()))
        .unwrap_or(Protocol::ChatCompletions);
    let service = services::of(protocol);
    let whole = match (named, protocol, &provider.origin) {
        (Some(named), _, _) => Some(Layer::from_named(named)),
        // Chat completions are spoken at whatever endpoint is configured.
        (None, Protocol::ChatCompletions, _)
        | (None, _, Origin::Default | Origin::File { .. } | Origin::Environment(_)) => None,
        (None, _, Origin::Flag(_)) => {
            Some(Layer::of_service(service, &provider.origin, &mut findings))
        }
    };
    let of_service = environment.services.iter().find(|it| it.service.protocol == protocol);
    let variables = of_service.map(|it| Layer::of_variables(it, &mut findings));
    let (by_file, by_flag) = match provider.origin {
        Origin::Flag(_) => ([None, None], [whole, variables]),
        Origin::Default | Origin::File { .. } | Origin::Environment(_) => {
            ([whole, variables], [None, None])
        }
    };
    let [by_file, file_variables] = by_file;
    let keys: Vec<Layer> =
        environment.services.iter().map(|it| Layer::of_key(it, &mut findings)).collect();
    let layers: Vec<Layer> = [Some(user), by_file, Some(project)]
        .into_iter()
        .chain(keys.into_iter().map(Some))
        .chain([file_variables, Some(from_environment)])
        .chain(by_flag)
        .chain([Some(from_flags)])
        .flatten()
        .collect();
    merge(provider, service, layers, findings)
}

impl Layer {
    /// A named provider is a whole: what it does not say does not come from below it.
    fn from_named(named: &Named) -> Self {
        Self {
            endpoint: Some(named.endpoint.clone()),
            api_key: named.api_key.clone(),
            model: Some(named.model.clone()),
            ..Self::default()
        }
    }
}

fn provider(user: &Layer, flags: &Layer, findings: &mut Findings) -> Sourced<ProviderName> {
    let Some(chosen) = flags.provider.as_ref().or(user.provider.as_ref()) else {
        return Sourced::default(ProviderName(Protocol::ChatCompletions.name().to_owned()));
    };
    let name = chosen.value.as_str();
    let names = || {
        let known = user.providers.keys().map(String::as_str);
        Protocol::ALL.map(Protocol::name).into_iter().chain(known).collect::<Vec<_>>().join(", ")
    };
    let problem = if Protocol::parse(name).is_some() || user.providers.contains_key(name) {
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
    provider: Sourced<ProviderName>,
    service: &Service,
    layers: Vec<Layer>,
    mut findings: Findings,
) -> Result<Config, Vec<ConfigError>> {
    let endpoint = Endpoint::parse(service.endpoint).map_err(|error| {
        vec![ConfigError::Value { origin: Origin::Default, problem: error.to_string() }]
    })?;
    let mut held = Sourced::default(endpoint);
    let mut keys = Vec::new();
    let mut top = Layer::default();
    for layer in layers {
        if let Some(endpoint) = layer.endpoint {
            held = endpoint;
        }
        if let Some(key) = layer.api_key {
            keys.push(OwnedKey { owner: owner(&key.origin, &held.value), key });
        }
        top.model = layer.model.or(top.model);
        top.system_prompt = layer.system_prompt.or(top.system_prompt);
        top.max_tokens = layer.max_tokens.or(top.max_tokens);
        top.temperature = layer.temperature.or(top.temperature);
        top.effort = layer.effort.or(top.effort);
        top.max_tool_rounds = layer.max_tool_rounds.or(top.max_tool_rounds);
        top.mode = layer.mode.or(top.mode);
        top.context_window = layer.context_window.or(top.context_window);
        top.theme = layer.theme.or(top.theme);
        top.keys = layer.keys.or(top.keys);
        top.mouse = layer.mouse.or(top.mouse);
        top.reduced_motion = layer.reduced_motion.or(top.reduced_motion);
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
        top.statics.extend(layer.statics);
    }
    let (api_key, withheld_key) = key_for(&held.value, keys);
    // A server on this machine seldom wants a key: there it is the rule, not worth a warning.
    if let Some(withheld) = &withheld_key
        && held.value.reach() != Reach::Loopback
    {
        findings.warnings.push(format!(
            "{}: this key belongs to {} and is not sent to {}: name the key and the endpoint in \
             the same place",
            withheld.origin,
            withheld.belongs_to,
            held.value.origin()
        ));
    }
    let mode = match top.mode.unwrap_or(Sourced::default(ModeChoice::Mode(Mode::default()))) {
        Sourced { value: ModeChoice::Mode(value), origin } => Sourced { value, origin },
        Sourced { value: ModeChoice::Sandbox, origin } => {
            findings.errors.push(ConfigError::NoSandbox { origin });
            Sourced::default(Mode::default())
        }
    };
    if !findings.errors.is_empty() {
        return Err(findings.errors);
    }
    let own = service.model.filter(|_| held.value.origin().as_str() == service.origin);
    let unnamed = own.map_or(ModelChoice::Served, ModelChoice::parse);
    Ok(Config {
        provider,
        protocol: service.protocol,
        endpoint: held,
        api_key,
        withheld_key,
        model: top.model.unwrap_or(Sourced::default(unnamed)),
        system_prompt: top.system_prompt,
        max_tokens: top.max_tokens.unwrap_or(Sourced::default(service.max_tokens)),
        temperature: top.temperature,
        effort: top.effort,
        max_tool_rounds: top.max_tool_rounds.unwrap_or(Sourced::default(50)),
        mode,
        context_window: top.context_window.unwrap_or(Sourced::default(200_000)),
        statics: top.statics,
        theme: top.theme.unwrap_or(Sourced::default(ThemeChoice::default())),
        keys: top.keys.unwrap_or(Sourced::default(KeyPreset::default())),
        mouse: top.mouse.unwrap_or(Sourced::default(true)),
        reduced_motion: top.reduced_motion.unwrap_or(Sourced::default(false)),
        wheel_rows: top.wheel_rows.unwrap_or(Sourced::default(3)),
        wheel_events: top.wheel_events,
        leave: top.leave.unwrap_or(Sourced::default(Leave::default())),
        status: top.status.unwrap_or(Sourced::default(StatusItems::default())),
        status_command: top.status_command,
        title: top.title.unwrap_or(Sourced::default(true)),
        images: top.images.unwrap_or(Sourced::default(true)),
        progress: top.progress.unwrap_or(Sourced::default(true)),
        notify: top.notify.unwrap_or(Sourced::default(Notify::default())),
        notify_after: top.notify_after.unwrap_or(Sourced::default(5)),
        vi: top.vi.unwrap_or(Sourced::default(false)),
        warnings: findings.warnings,
    })
}

struct OwnedKey {
    key: Sourced<SecretString>,
    owner: ServerOrigin,
}

fn owner(origin: &Origin, endpoint: &Endpoint) -> ServerOrigin {
    match service_of(origin) {
        Some(service) => ServerOrigin::of(service),
        None => endpoint.origin().clone(),
    }
}

/// The service whose variable a key was found in.
fn service_of(origin: &Origin) -> Option<&'static Service> {
    match origin {
        Origin::Environment(name) => SERVICES.iter().find(|it| it.key_variable == *name),
        Origin::Default | Origin::File { .. } | Origin::Flag(_) => None,
    }
}

/// The last key that belongs to the endpoint; or else the last one of slug's own that does not.
fn key_for(
    endpoint: &Endpoint,
    keys: Vec<OwnedKey>,
) -> (Option<Sourced<SecretString>>, Option<WithheldKey>) {
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

#[cfg(test)]
mod tests;
