//! What a configuration is resolved from: file texts, the environment and flags, as plain values.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use super::services::{ProtocolService, SERVICES};
use super::{ConfigError, ConfigOrigin, ModeChoice};
use crate::disk::{UserOwnedText, read_user_owned};
use crate::domain::UsageBudget;

/// Which files are read.
#[derive(Debug, Clone, Copy)]
pub struct ConfigFiles<'a> {
    /// The person's own.
    pub user: UserConfigFile<'a>,
    /// The working folder, if it is trusted. Its `.slug/config.toml` is then read.
    pub project: Option<&'a Path>,
}

/// The person's own configuration file.
#[derive(Debug, Clone, Copy)]
pub enum UserConfigFile<'a> {
    /// `config.toml` in slug's home folder; it need not be there.
    Home(&'a Path),
    /// The file that `--config` names; it has to be there.
    Named(&'a Path),
}

/// A configuration file's path and text.
#[derive(Clone)]
pub struct ConfigText {
    /// Where it was read.
    pub path: PathBuf,
    /// All of it, without a byte order mark.
    pub text: String,
}

/// Keys stand in the text.
impl fmt::Debug for ConfigText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigText").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The files that were found.
#[derive(Debug, Clone, Default)]
pub struct ConfigTexts {
    /// The person's own.
    pub user: Option<ConfigText>,
    /// The project's; only of a trusted project.
    pub project: Option<ConfigText>,
    /// Whether other users of the machine may read the person's own.
    pub is_open_to_others: bool,
}

/// The environment variables that slug reads. An empty one counts as not set.
#[derive(Debug, Clone, Default)]
pub struct ConfigEnvironment {
    /// `SLUG_ENDPOINT`
    pub endpoint: Option<String>,
    /// `SLUG_API_KEY`
    pub api_key: Option<SecretString>,
    /// `SLUG_MODEL`
    pub model: Option<String>,
    /// What is set for the services of each protocol.
    pub services: Vec<ServiceVariables>,
}

/// The variables of one service, which other programs read, too.
#[derive(Debug, Clone)]
pub struct ServiceVariables {
    /// Whose they are.
    pub service: &'static ProtocolService,
    /// `OPENAI_API_KEY` and the like.
    pub api_key: Option<SecretString>,
    /// `ANTHROPIC_MODEL`
    pub model: Option<String>,
    /// `ANTHROPIC_MAX_TOKENS`
    pub max_tokens: Option<String>,
}

/// What the command line says of the configuration.
#[derive(Debug, Clone, Default)]
pub struct ConfigFlags {
    /// `--endpoint`
    pub endpoint: Option<String>,
    /// `--api-key`
    pub api_key: Option<SecretString>,
    /// `--model`
    pub model: Option<String>,
    /// `--provider`
    pub provider: Option<String>,
    /// `--system-prompt`
    pub system_prompt: Option<String>,
    /// `--budget`
    pub budget: Option<UsageBudget>,
    /// `--yolo`, `--allow-edits`, `--plan` or `--sandbox`, with the flag's name.
    pub mode: Option<(ModeChoice, &'static str)>,
}

impl ConfigEnvironment {
    /// Asks `get`, normally `std::env::var_os`, for each variable. One that is not text cannot be
    /// used, which is an error, not an absence.
    pub fn read(get: impl Fn(&str) -> Option<OsString>) -> Result<Self, ConfigError> {
        let text = |name: &'static str| match get(name).map(OsString::into_string) {
            Some(Ok(value)) if value.trim().is_empty() => Ok(None),
            Some(Ok(value)) => Ok(Some(value)),
            Some(Err(_)) => Err(ConfigError::Value {
                origin: ConfigOrigin::Environment(name),
                problem: "its value is not UTF-8 text: set it again or unset it".to_owned(),
            }),
            None => Ok(None),
        };
        let secret = |name| text(name).map(|key| key.map(|key| SecretString::from(key.trim())));
        let maybe = |name: Option<&'static str>| name.map_or(Ok(None), text);
        let variables = |service: &'static ProtocolService| {
            Ok(ServiceVariables {
                service,
                api_key: secret(service.key_variable)?,
                model: maybe(service.model_variable)?,
                max_tokens: maybe(service.limit_variable)?,
            })
        };
        Ok(Self {
            endpoint: text("SLUG_ENDPOINT")?,
            api_key: secret("SLUG_API_KEY")?,
            model: text("SLUG_MODEL")?,
            services: SERVICES.iter().map(variables).collect::<Result<_, _>>()?,
        })
    }
}

impl ConfigFiles<'_> {
    /// Reads the files. A project's file that is the person's own (the working folder is the home
    /// folder) is not read twice.
    pub fn read(self) -> Result<ConfigTexts, ConfigError> {
        let user = match self.user {
            UserConfigFile::Home(home) => read(&home.join("config.toml"), None)?,
            UserConfigFile::Named(path) => {
                Some(read(path, None)?.ok_or_else(|| ConfigError::Missing(path.to_owned()))?)
            }
        };
        let (user, is_open_to_others) = user.map_or((None, false), |(it, open)| (Some(it), open));
        let own = user.as_ref().and_then(|file| file.path.canonicalize().ok());
        let project = self
            .project
            .map(|folder| folder.join(".slug").join("config.toml"))
            .filter(|path| own.is_none() || path.canonicalize().ok() != own);
        let project = match project {
            Some(path) => read(&path, self.project)?.map(|(text, _)| text),
            None => None,
        };
        Ok(ConfigTexts { user, project, is_open_to_others })
    }
}

/// A file's text, and whether others may read it.
fn read(path: &Path, folder: Option<&Path>) -> Result<Option<(ConfigText, bool)>, ConfigError> {
    let read = read_user_owned(path, folder).map_err(|error| ConfigError::Unreadable {
        path: path.to_owned(),
        problem: error.to_string(),
    })?;
    Ok(read.map(|UserOwnedText { text, is_open_to_others }| {
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        (ConfigText { path: path.to_owned(), text }, is_open_to_others)
    }))
}
