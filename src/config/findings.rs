//! Checks the values of a layer, and collects what is wrong with them. A value that passes is typed
//! from then on.

use std::path::PathBuf;

use secrecy::{ExposeSecret, SecretString};

use super::raw::{LineValue, RawMode, RawTheme};
use super::{
    ConfigEndpoint, ConfigError, ConfigOrigin, ConfigValue, ExitTranscript, KeyPreset, ModeChoice,
    ModelChoice, NotificationMethod, StatusItems, ThemeChoice,
};
use crate::domain::{
    ChatDialect, HostRule, ProviderProtocol, ReasoningEffort, SandboxBackendKind, UsageBudget,
    WebAddress,
};

/// What was found while layers were made: mistakes, and the secrets that must not be shown.
#[derive(Debug, Default)]
pub(super) struct ConfigFindings {
    pub errors: Vec<ConfigError>,
    pub warnings: Vec<String>,
    /// Each key and header that a layer holds, also one that a later layer overrides.
    pub secrets: Vec<SecretString>,
    /// The environment variables that layers take secrets from.
    pub key_variables: Vec<String>,
}

impl ConfigFindings {
    pub(super) fn error<T>(&mut self, origin: ConfigOrigin, problem: String) -> Option<T> {
        self.errors.push(ConfigError::Value { origin, problem });
        None
    }

    pub(super) fn endpoint(
        &mut self,
        text: &str,
        origin: ConfigOrigin,
    ) -> Option<ConfigValue<ConfigEndpoint>> {
        match ConfigEndpoint::parse(text) {
            Ok(value) => Some(ConfigValue { value, origin }),
            Err(error) => self.error(origin, error.to_string()),
        }
    }

    pub(super) fn key(
        &mut self,
        key: &SecretString,
        origin: ConfigOrigin,
    ) -> Option<ConfigValue<SecretString>> {
        let text = key.expose_secret().trim();
        if text.is_empty() {
            return self.error(origin, "the key is empty: fill it in or remove it".to_owned());
        }
        // A key travels in a header, which holds only visible ASCII.
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            let problem = "the key contains spaces or invalid characters: copy it again";
            return self.error(origin, problem.to_owned());
        }
        self.secrets.push(text.into());
        Some(ConfigValue { value: text.into(), origin })
    }

    pub(super) fn model(
        &mut self,
        name: &str,
        origin: ConfigOrigin,
    ) -> Option<ConfigValue<ModelChoice>> {
        let name = name.trim();
        if name.is_empty() {
            let problem = "the model's name is empty: write one, or `default` for the server's own";
            return self.error(origin, problem.to_owned());
        }
        Some(ConfigValue { value: ModelChoice::parse(name), origin })
    }

    pub(super) fn mode(
        &mut self,
        it: LineValue<RawMode>,
        place: &impl Fn(usize) -> ConfigOrigin,
    ) -> Option<ConfigValue<ModeChoice>> {
        let origin = place(it.line);
        match it.value {
            RawMode::Sandbox { dir } => {
                let dir = dir.map(PathBuf::from);
                Some(ConfigValue { value: ModeChoice::Sandbox(dir), origin })
            }
            RawMode::Named(name) => match name.parse() {
                Ok(mode) => Some(ConfigValue { value: ModeChoice::Mode(mode), origin }),
                Err(error) => self.error(origin, format!("{error}")),
            },
        }
    }

    pub(super) fn hosts(
        &mut self,
        it: &LineValue<Vec<LineValue<String>>>,
        place: &impl Fn(usize) -> ConfigOrigin,
    ) -> Option<ConfigValue<Vec<HostRule>>> {
        let mut hosts = Vec::new();
        for named in &it.value {
            match named.value.parse() {
                Ok(host) => hosts.push(host),
                Err(error) => {
                    let shown = named.value.escape_debug();
                    let problem = format!("`sandbox.hosts`: \"{shown}\" {error}");
                    self.error::<()>(place(named.line), problem);
                }
            }
        }
        Some(ConfigValue { value: hosts, origin: place(it.line) })
    }

    pub(super) fn searxng(
        &mut self,
        it: &LineValue<String>,
        place: &impl Fn(usize) -> ConfigOrigin,
    ) -> Option<ConfigValue<WebAddress>> {
        match WebAddress::parse(&it.value) {
            Ok(value) => Some(ConfigValue { value, origin: place(it.line) }),
            Err(error) => {
                self.error(place(it.line), format!("the address in `web.searxng` {error}"))
            }
        }
    }

    pub(super) fn method(
        &mut self,
        it: &LineValue<String>,
        place: &impl Fn(usize) -> ConfigOrigin,
    ) -> Option<ConfigValue<Option<SandboxBackendKind>>> {
        let origin = place(it.line);
        let named = [
            SandboxBackendKind::Bubblewrap,
            SandboxBackendKind::Landlock,
            SandboxBackendKind::Seatbelt,
        ]
        .into_iter()
        .find(|method| method.name() == it.value);
        match (named, it.value.as_str()) {
            (Some(method), _) => Some(ConfigValue { value: Some(method), origin }),
            (None, "auto") => Some(ConfigValue { value: None, origin }),
            (None, _) => self.error(
                origin,
                "`sandbox.method` must be auto, bwrap, landlock or seatbelt".to_owned(),
            ),
        }
    }

    pub(super) fn keys(
        &mut self,
        it: &LineValue<String>,
        place: &impl Fn(usize) -> ConfigOrigin,
    ) -> Option<ConfigValue<KeyPreset>> {
        match KeyPreset::ALL.into_iter().find(|preset| preset.name() == it.value) {
            Some(value) => Some(ConfigValue { value, origin: place(it.line) }),
            None => self.error(
                place(it.line),
                "`ui.keys` must be \"default\", \"vi\" or \"emacs\"; bind single keys in \
                 keys.toml next to config.toml"
                    .to_owned(),
            ),
        }
    }

    pub(super) fn theme(
        &mut self,
        it: LineValue<RawTheme>,
        place: &impl Fn(usize) -> ConfigOrigin,
    ) -> Option<ConfigValue<ThemeChoice>> {
        let origin = place(it.line);
        let value = match it.value {
            RawTheme::Named(name) => ThemeChoice::parse(&name),
            RawTheme::Pair { dark: Some(dark), light: Some(light) } => {
                ThemeChoice::Pair { dark, light }
            }
            RawTheme::Pair { dark: None, .. } | RawTheme::Pair { light: None, .. } => {
                let problem = "a pair of themes needs both: { dark = \"nord\", light = \"light\" }";
                return self.error(origin, problem.to_owned());
            }
        };
        Some(ConfigValue { value, origin })
    }

    pub(super) fn leave(
        &mut self,
        it: &LineValue<String>,
        place: &impl Fn(usize) -> ConfigOrigin,
    ) -> Option<ConfigValue<ExitTranscript>> {
        match ExitTranscript::ALL.into_iter().find(|leave| leave.name() == it.value) {
            Some(value) => Some(ConfigValue { value, origin: place(it.line) }),
            None => self.error(
                place(it.line),
                "`ui.leave` must be \"end\", \"all\" or \"nothing\"".to_owned(),
            ),
        }
    }

    pub(super) fn status(
        &mut self,
        it: &LineValue<Vec<LineValue<String>>>,
        place: &impl Fn(usize) -> ConfigOrigin,
    ) -> ConfigValue<StatusItems> {
        let (value, unknown) = StatusItems::parse(it.value.iter().map(|name| name.value.as_str()));
        let origin = place(it.line);
        self.warnings.extend(unknown.into_iter().map(|text| format!("{origin}: {text}")));
        ConfigValue { value, origin }
    }

    pub(super) fn notify(
        &mut self,
        it: &LineValue<String>,
        place: &impl Fn(usize) -> ConfigOrigin,
    ) -> Option<ConfigValue<NotificationMethod>> {
        match NotificationMethod::ALL.into_iter().find(|method| method.name() == it.value) {
            Some(value) => Some(ConfigValue { value, origin: place(it.line) }),
            None => self.error(
                place(it.line),
                "`ui.notify` must be auto, bell, osc9, osc777, osc99 or never".to_owned(),
            ),
        }
    }

    /// The number of rows or events for the mouse wheel, from 1 to 50.
    pub(super) fn wheel_count(
        &mut self,
        it: &LineValue<i64>,
        name: &str,
        place: &impl Fn(usize) -> ConfigOrigin,
    ) -> Option<ConfigValue<u32>> {
        let origin = place(it.line);
        match u32::try_from(it.value) {
            Ok(value @ 1..=50) => Some(ConfigValue { value, origin }),
            Ok(_) | Err(_) => self.error(origin, format!("`{name}` must be between 1 and 50")),
        }
    }

    pub(super) fn temperature(
        &mut self,
        it: &LineValue<f64>,
        place: &impl Fn(usize) -> ConfigOrigin,
    ) -> Option<ConfigValue<f32>> {
        if !(0.0..=2.0).contains(&it.value) {
            let problem = "`temperature` must be between 0 and 2".to_owned();
            return self.error(place(it.line), problem);
        }
        Some(ConfigValue { value: it.value as f32, origin: place(it.line) })
    }

    pub(super) fn budget(
        &mut self,
        it: &LineValue<String>,
        place: &impl Fn(usize) -> ConfigOrigin,
    ) -> Option<ConfigValue<UsageBudget>> {
        let origin = place(it.line);
        match it.value.parse() {
            Ok(value) => Some(ConfigValue { value, origin }),
            Err(error) => self.error(origin, format!("{error}")),
        }
    }

    pub(super) fn effort(
        &mut self,
        it: &LineValue<String>,
        place: &impl Fn(usize) -> ConfigOrigin,
    ) -> Option<ConfigValue<ReasoningEffort>> {
        let origin = place(it.line);
        match ReasoningEffort::parse(&it.value) {
            Some(value) => Some(ConfigValue { value, origin }),
            None => {
                let names = ReasoningEffort::ALL.map(ReasoningEffort::name).join("\", \"");
                self.error(origin, format!("`effort` must be one of \"{names}\""))
            }
        }
    }

    pub(super) fn dialect(
        &mut self,
        it: &LineValue<String>,
        place: &impl Fn(usize) -> ConfigOrigin,
    ) -> Option<ConfigValue<ChatDialect>> {
        let origin = place(it.line);
        match ChatDialect::parse(&it.value) {
            Some(value) => Some(ConfigValue { value, origin }),
            None => {
                let names = ChatDialect::ALL.map(ChatDialect::name).join("\", \"");
                self.error(origin, format!("`dialect` must be one of \"{names}\""))
            }
        }
    }

    pub(super) fn count(
        &mut self,
        it: &LineValue<i64>,
        least: u32,
        name: &str,
        place: &impl Fn(usize) -> ConfigOrigin,
    ) -> Option<ConfigValue<u32>> {
        let origin = place(it.line);
        match u32::try_from(it.value) {
            Ok(value) if value >= least => Some(ConfigValue { value, origin }),
            Ok(_) | Err(_) => {
                let most = u32::MAX;
                self.error(origin, format!("`{name}` must be between {least} and {most}"))
            }
        }
    }

    pub(super) fn protocol(
        &mut self,
        name: &str,
        origin: ConfigOrigin,
    ) -> Option<ProviderProtocol> {
        ProviderProtocol::parse(name).or_else(|| {
            let names = ProviderProtocol::ALL.map(ProviderProtocol::name).join("`, `");
            let shown = name.escape_debug();
            self.error(origin, format!("there is no protocol `{shown}`: choose one of `{names}`"))
        })
    }
}
