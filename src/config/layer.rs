//! One layer of the configuration: what a single file, the environment, or the flags say, already
//! checked and typed. All layers have the same shape, so that merging them is one fold.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use secrecy::{ExposeSecret, SecretString};

use super::raw::{self, At, Raw, RawMode, RawTheme};
use super::services::Service;
use super::{
    ConfigError, ConfigText, Endpoint, Environment, Flags, Notify, Origin, ServiceVariables,
    Sourced, StatusItems,
};
use crate::domain::{Effort, Mode, Protocol};

/// Which model answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelChoice {
    /// The one that the server offers: `default`.
    Served,
    /// This one.
    Named(String),
}

/// A permission mode as it can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModeChoice {
    /// One that slug has.
    Mode(Mode),
    /// The operating system's sandbox, which this version does not have.
    Sandbox,
}

/// Which theme is used. Whether there is one of a name is the screen's to know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ThemeChoice {
    /// `dark` or `light` by the terminal's background, `dark` where that cannot be told.
    #[default]
    Auto,
    /// This one.
    Named(String),
    /// One of these, by the terminal's background.
    Pair {
        /// On a dark one.
        dark: String,
        /// On a light one.
        light: String,
    },
}

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The person's.
    User,
    /// The project's: sets preferences, never powers.
    Project,
}

/// What one place says. `None` where it says nothing.
#[derive(Debug, Default)]
pub(super) struct Layer {
    pub endpoint: Option<Sourced<Endpoint>>,
    pub api_key: Option<Sourced<SecretString>>,
    pub provider: Option<Sourced<String>>,
    pub model: Option<Sourced<ModelChoice>>,
    pub system_prompt: Option<Sourced<String>>,
    pub max_tokens: Option<Sourced<u32>>,
    pub temperature: Option<Sourced<f32>>,
    pub effort: Option<Sourced<Effort>>,
    pub max_tool_rounds: Option<Sourced<u32>>,
    pub mode: Option<Sourced<ModeChoice>>,
    pub context_window: Option<Sourced<u64>>,
    pub statics: BTreeMap<String, Sourced<String>>,
    pub providers: BTreeMap<String, Named>,
    pub theme: Option<Sourced<ThemeChoice>>,
    pub keys: Option<Sourced<KeyPreset>>,
    pub mouse: Option<Sourced<bool>>,
    pub reduced_motion: Option<Sourced<bool>>,
    pub wheel_rows: Option<Sourced<u32>>,
    pub wheel_events: Option<Sourced<u32>>,
    pub leave: Option<Sourced<Leave>>,
    pub status: Option<Sourced<StatusItems>>,
    pub status_command: Option<Sourced<String>>,
    pub title: Option<Sourced<bool>>,
    pub images: Option<Sourced<bool>>,
    pub progress: Option<Sourced<bool>>,
    pub notify: Option<Sourced<Notify>>,
    pub notify_after: Option<Sourced<u32>>,
    pub vi: Option<Sourced<bool>>,
}

/// A named provider: endpoint, key and model that go together.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub protocol: Protocol,
    pub endpoint: Sourced<Endpoint>,
    pub api_key: Option<Sourced<SecretString>>,
    pub model: Sourced<ModelChoice>,
}

/// What was found wrong while layers were made.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub errors: Vec<ConfigError>,
    pub warnings: Vec<String>,
}

impl ModelChoice {
    /// `default` stands for the model that the server offers.
    pub fn parse(name: &str) -> Self {
        if name == "default" { Self::Served } else { Self::Named(name.to_owned()) }
    }

    /// The name as written in the configuration.
    pub fn name(&self) -> &str {
        match self {
            Self::Served => "default",
            Self::Named(name) => name,
        }
    }
}

impl ThemeChoice {
    /// `auto` stands for the terminal's background.
    pub fn parse(name: &str) -> Self {
        if name == "auto" { Self::Auto } else { Self::Named(name.to_owned()) }
    }
}

/// What of the transcript stays in the terminal once slug has left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Leave {
    /// What was said last.
    #[default]
    End,
    /// Everything.
    All,
    /// Nothing.
    Nothing,
}

impl Leave {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::End, Self::All, Self::Nothing];

    /// As it is written in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::All => "all",
            Self::Nothing => "nothing",
        }
    }
}

/// Which keys slug begins with, before the person's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeyPreset {
    /// slug's own.
    #[default]
    Default,
    /// For hands that know Vi.
    Vi,
    /// For hands that know Emacs.
    Emacs,
}

impl KeyPreset {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Default, Self::Vi, Self::Emacs];

    /// The name as written in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Vi => "vi",
            Self::Emacs => "emacs",
        }
    }
}

impl fmt::Display for KeyPreset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for ThemeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Named(name) => f.write_str(name),
            Self::Pair { dark, light } => write!(f, "{dark} or {light}"),
        }
    }
}

impl Layer {
    /// What a file says. What a project's file may not say is left out with a warning.
    pub(super) fn from_file(file: &ConfigText, scope: Scope, findings: &mut Findings) -> Self {
        let parsed = raw::parse(&file.text);
        let place = |line| Origin::File { path: file.path.clone(), line };
        findings.errors.extend(
            parsed
                .errors
                .into_iter()
                .map(|it| ConfigError::Value { origin: place(it.line), problem: it.text }),
        );
        findings
            .warnings
            .extend(parsed.warnings.iter().map(|it| format!("{}: {}", place(it.line), it.text)));
        let mut raw = parsed.raw;
        match scope {
            Scope::User => {}
            Scope::Project => {
                let dropped = drop_powers(&mut raw);
                findings.warnings.extend(dropped.into_iter().map(|(name, line)| {
                    format!(
                        "{}: a project cannot set `{name}`, and it is left out: set it in your \
                         own configuration if you want it",
                        place(line)
                    )
                }));
            }
        }
        Self::from_raw(raw, &file.path, findings)
    }

    /// What the environment says.
    pub(super) fn from_environment(environment: &Environment, findings: &mut Findings) -> Self {
        let at = Origin::Environment;
        let Environment { endpoint, api_key, model, .. } = environment;
        Self {
            endpoint: endpoint.as_ref().and_then(|it| findings.endpoint(it, at("SLUG_ENDPOINT"))),
            api_key: api_key.as_ref().and_then(|it| findings.key(it, at("SLUG_API_KEY"))),
            model: model.as_ref().and_then(|it| findings.model(it, at("SLUG_MODEL"))),
            ..Self::default()
        }
    }

    /// The key that a service's variable holds.
    pub(super) fn of_key(variables: &ServiceVariables, findings: &mut Findings) -> Self {
        let at = Origin::Environment(variables.service.key_variable);
        let api_key = variables.api_key.as_ref().and_then(|it| findings.key(it, at));
        Self { api_key, ..Self::default() }
    }

    /// What else is set for the service whose protocol is spoken.
    pub(super) fn of_variables(variables: &ServiceVariables, findings: &mut Findings) -> Self {
        let service = variables.service;
        let model = service.model_variable.zip(variables.model.as_ref());
        let limit = service.limit_variable.zip(variables.max_tokens.as_ref());
        Self {
            model: model.and_then(|(name, it)| findings.model(it, Origin::Environment(name))),
            max_tokens: limit.and_then(|(name, it)| {
                let origin = Origin::Environment(name);
                match it.trim().parse() {
                    Ok(value) if value > 0 => Some(Sourced { value, origin }),
                    Ok(_) | Err(_) => {
                        findings.error(origin, format!("`{name}` has to be a number from 1"))
                    }
                }
            }),
            ..Self::default()
        }
    }

    /// The service itself, where its protocol's name was given as a flag: whatever else is
    /// configured is another server's.
    pub(super) fn of_service(service: &Service, origin: &Origin, findings: &mut Findings) -> Self {
        let model = service.model.map_or(ModelChoice::Served, ModelChoice::parse);
        Self {
            endpoint: findings.endpoint(service.endpoint, origin.clone()),
            model: Some(Sourced { value: model, origin: origin.clone() }),
            ..Self::default()
        }
    }

    /// What the command line says.
    pub(super) fn from_flags(flags: &Flags, findings: &mut Findings) -> Self {
        let at = Origin::Flag;
        let Flags { endpoint, api_key, model, provider, system_prompt, mode } = flags.clone();
        let text = |value, flag| Sourced { value, origin: at(flag) };
        Self {
            endpoint: endpoint.and_then(|it| findings.endpoint(&it, at("--endpoint"))),
            api_key: api_key.and_then(|it| findings.key(&it, at("--api-key"))),
            provider: provider.map(|it| text(it, "--provider")),
            model: model.and_then(|it| findings.model(&it, at("--model"))),
            system_prompt: system_prompt.map(|it| text(it, "--system-prompt")),
            mode: mode.map(|(value, flag)| Sourced { value, origin: at(flag) }),
            ..Self::default()
        }
    }

    fn from_raw(raw: Raw, path: &Path, findings: &mut Findings) -> Self {
        let place = |line| Origin::File { path: path.to_owned(), line };
        let text = |it: At<String>| Sourced { value: it.value, origin: place(it.line) };
        let flag = |it: At<bool>| Sourced { value: it.value, origin: place(it.line) };
        Self {
            endpoint: raw.endpoint.and_then(|it| findings.endpoint(&it.value, place(it.line))),
            api_key: raw.api_key.and_then(|it| findings.key(&it.value, place(it.line))),
            provider: raw.provider.map(text),
            model: raw.model.and_then(|it| findings.model(&it.value, place(it.line))),
            system_prompt: raw.system_prompt.map(text),
            max_tokens: raw.max_tokens.and_then(|it| findings.count(&it, 1, "max_tokens", &place)),
            temperature: raw.temperature.and_then(|it| findings.temperature(&it, &place)),
            effort: raw.effort.and_then(|it| findings.effort(&it, &place)),
            max_tool_rounds: raw
                .max_tool_rounds
                .and_then(|it| findings.count(&it, 1, "max_tool_rounds", &place)),
            mode: raw.permission_mode.and_then(|it| findings.mode(it, &place)),
            context_window: raw
                .context_window
                .and_then(|it| findings.count(&it, 1024, "context_window", &place))
                .map(|window| window.map(u64::from)),
            statics: raw.statics.into_iter().map(|(name, it)| (name, text(it))).collect(),
            providers: raw
                .providers
                .into_iter()
                .filter_map(|(name, it)| Some((name.clone(), findings.named(&name, it, &place)?)))
                .collect(),
            theme: raw.theme.and_then(|it| findings.theme(it, &place)),
            keys: raw.keys.and_then(|it| findings.keys(&it, &place)),
            mouse: raw.mouse.map(flag),
            reduced_motion: raw.reduced_motion.map(flag),
            wheel_rows: raw.wheel_rows.and_then(|it| findings.few(&it, "ui.wheel_rows", &place)),
            wheel_events: raw
                .wheel_events
                .and_then(|it| findings.few(&it, "ui.wheel_events", &place)),
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
        }
    }
}

impl Findings {
    fn error<T>(&mut self, origin: Origin, problem: String) -> Option<T> {
        self.errors.push(ConfigError::Value { origin, problem });
        None
    }

    fn endpoint(&mut self, text: &str, origin: Origin) -> Option<Sourced<Endpoint>> {
        match Endpoint::parse(text) {
            Ok(value) => Some(Sourced { value, origin }),
            Err(error) => self.error(origin, error.to_string()),
        }
    }

    fn key(&mut self, key: &SecretString, origin: Origin) -> Option<Sourced<SecretString>> {
        let text = key.expose_secret().trim();
        if text.is_empty() {
            return self.error(origin, "the key is empty: fill it in or remove it".to_owned());
        }
        // A key travels in a header, which holds visible ASCII alone.
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            let problem = "the key holds white space or characters that no key has: copy it again";
            return self.error(origin, problem.to_owned());
        }
        Some(Sourced { value: text.into(), origin })
    }

    fn model(&mut self, name: &str, origin: Origin) -> Option<Sourced<ModelChoice>> {
        let name = name.trim();
        if name.is_empty() {
            let problem = "the model's name is empty: write one, or `default` for the server's own";
            return self.error(origin, problem.to_owned());
        }
        Some(Sourced { value: ModelChoice::parse(name), origin })
    }

    fn mode(
        &mut self,
        it: At<RawMode>,
        place: &impl Fn(usize) -> Origin,
    ) -> Option<Sourced<ModeChoice>> {
        let origin = place(it.line);
        match it.value {
            RawMode::Sandbox => Some(Sourced { value: ModeChoice::Sandbox, origin }),
            RawMode::Named(name) => match name.parse() {
                Ok(mode) => Some(Sourced { value: ModeChoice::Mode(mode), origin }),
                Err(error) => self.error(origin, format!("{error}")),
            },
        }
    }

    fn keys(
        &mut self,
        it: &At<String>,
        place: &impl Fn(usize) -> Origin,
    ) -> Option<Sourced<KeyPreset>> {
        match KeyPreset::ALL.into_iter().find(|preset| preset.name() == it.value) {
            Some(value) => Some(Sourced { value, origin: place(it.line) }),
            None => self.error(
                place(it.line),
                "`ui.keys` has to be \"default\", \"vi\" or \"emacs\"; single keys are bound in \
                 keys.toml beside config.toml"
                    .to_owned(),
            ),
        }
    }

    fn theme(
        &mut self,
        it: At<RawTheme>,
        place: &impl Fn(usize) -> Origin,
    ) -> Option<Sourced<ThemeChoice>> {
        let origin = place(it.line);
        let value = match it.value {
            RawTheme::Named(name) => ThemeChoice::parse(&name),
            RawTheme::Pair { dark: Some(dark), light: Some(light) } => {
                ThemeChoice::Pair { dark, light }
            }
            RawTheme::Pair { dark: None, .. } | RawTheme::Pair { light: None, .. } => {
                let problem = "a pair of themes names both: { dark = \"nord\", light = \"light\" }";
                return self.error(origin, problem.to_owned());
            }
        };
        Some(Sourced { value, origin })
    }

    fn leave(
        &mut self,
        it: &At<String>,
        place: &impl Fn(usize) -> Origin,
    ) -> Option<Sourced<Leave>> {
        match Leave::ALL.into_iter().find(|leave| leave.name() == it.value) {
            Some(value) => Some(Sourced { value, origin: place(it.line) }),
            None => self.error(
                place(it.line),
                "`ui.leave` has to be \"end\", \"all\" or \"nothing\"".to_owned(),
            ),
        }
    }

    fn status(
        &mut self,
        it: &At<Vec<At<String>>>,
        place: &impl Fn(usize) -> Origin,
    ) -> Sourced<StatusItems> {
        let (value, unknown) = StatusItems::parse(it.value.iter().map(|name| name.value.as_str()));
        let origin = place(it.line);
        self.warnings.extend(unknown.into_iter().map(|text| format!("{origin}: {text}")));
        Sourced { value, origin }
    }

    fn notify(
        &mut self,
        it: &At<String>,
        place: &impl Fn(usize) -> Origin,
    ) -> Option<Sourced<Notify>> {
        match Notify::ALL.into_iter().find(|way| way.name() == it.value) {
            Some(value) => Some(Sourced { value, origin: place(it.line) }),
            None => self.error(
                place(it.line),
                "`ui.notify` has to be auto, bell, osc9, osc777, osc99 or never".to_owned(),
            ),
        }
    }

    /// A count for the wheel.
    fn few(
        &mut self,
        it: &At<i64>,
        name: &str,
        place: &impl Fn(usize) -> Origin,
    ) -> Option<Sourced<u32>> {
        let origin = place(it.line);
        match u32::try_from(it.value) {
            Ok(value @ 1..=50) => Some(Sourced { value, origin }),
            Ok(_) | Err(_) => self.error(origin, format!("`{name}` has to be from 1 to 50")),
        }
    }

    fn temperature(
        &mut self,
        it: &At<f64>,
        place: &impl Fn(usize) -> Origin,
    ) -> Option<Sourced<f32>> {
        if !(0.0..=2.0).contains(&it.value) {
            let problem = "`temperature` has to be from 0 to 2".to_owned();
            return self.error(place(it.line), problem);
        }
        Some(Sourced { value: it.value as f32, origin: place(it.line) })
    }

    fn effort(
        &mut self,
        it: &At<String>,
        place: &impl Fn(usize) -> Origin,
    ) -> Option<Sourced<Effort>> {
        let origin = place(it.line);
        match Effort::parse(&it.value) {
            Some(value) => Some(Sourced { value, origin }),
            None => {
                let names = Effort::ALL.map(Effort::name).join("\", \"");
                self.error(origin, format!("`effort` has to be one of \"{names}\""))
            }
        }
    }

    fn count(
        &mut self,
        it: &At<i64>,
        least: u32,
        name: &str,
        place: &impl Fn(usize) -> Origin,
    ) -> Option<Sourced<u32>> {
        let origin = place(it.line);
        match u32::try_from(it.value) {
            Ok(value) if value >= least => Some(Sourced { value, origin }),
            Ok(_) | Err(_) => {
                let most = u32::MAX;
                self.error(origin, format!("`{name}` has to be from {least} to {most}"))
            }
        }
    }

    fn named(
        &mut self,
        name: &str,
        it: At<raw::RawProvider>,
        place: &impl Fn(usize) -> Origin,
    ) -> Option<Named> {
        let origin = place(it.line);
        if Protocol::parse(name).is_some() {
            let problem = format!(
                "[providers.{name}] cannot be used, because `{name}` is a built-in name: give it \
                 another one"
            );
            return self.error(origin, problem);
        }
        let protocol = match &it.value.protocol {
            Some(written) => self.protocol(&written.value, place(written.line))?,
            None => Protocol::ChatCompletions,
        };
        let Some(endpoint) = it.value.endpoint else {
            let problem = format!("[providers.{name}] has no `endpoint`: add one");
            return self.error(origin, problem);
        };
        let endpoint = self.endpoint(&endpoint.value, place(endpoint.line));
        let api_key = it.value.api_key.and_then(|key| self.key(&key.value, place(key.line)));
        let model = match it.value.model {
            Some(model) => self.model(&model.value, place(model.line)),
            None => Some(Sourced { value: ModelChoice::Served, origin }),
        };
        Some(Named { protocol, endpoint: endpoint?, api_key, model: model? })
    }

    fn protocol(&mut self, name: &str, origin: Origin) -> Option<Protocol> {
        Protocol::parse(name).or_else(|| {
            let names = Protocol::ALL.map(Protocol::name).join("`, `");
            let shown = name.escape_debug();
            self.error(origin, format!("there is no protocol `{shown}`: choose one of `{names}`"))
        })
    }
}

/// Takes out of a project's file what would give slug powers or send anything elsewhere.
fn drop_powers(raw: &mut Raw) -> Vec<(&'static str, usize)> {
    let mut dropped: Vec<(&'static str, usize)> = [
        ("endpoint", raw.endpoint.take().map(|it| it.line)),
        ("api_key", raw.api_key.take().map(|it| it.line)),
        ("provider", raw.provider.take().map(|it| it.line)),
        ("permission_mode", raw.permission_mode.take().map(|it| it.line)),
        ("ui.status_command", raw.status_command.take().map(|it| it.line)),
    ]
    .into_iter()
    .filter_map(|(name, line)| Some((name, line?)))
    .collect();
    let providers = std::mem::take(&mut raw.providers);
    dropped.extend(providers.values().map(|it| ("providers", it.line)));
    dropped.sort_by_key(|(_, line)| *line);
    dropped
}
