//! The inputs that a configuration is resolved from: file texts, the environment and flags, as
//! plain values.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use super::services::{ProtocolService, SERVICES};
use super::{ConfigError, ConfigOrigin, ConfigValue, KeyPreset, ModeChoice, inputrc};
use crate::disk::{UserOwnedText, read_user_owned};
use crate::domain::UsageBudget;

/// Which files are read.
#[derive(Debug, Clone, Copy)]
pub struct ConfigFiles<'a> {
    pub user: UserConfigFile<'a>,
    /// The working folder, if it is trusted; its `.slug/config.toml` is read then.
    pub project: Option<&'a Path>,
    /// readline's files, whose editing mode holds where no keys are configured; see
    /// [`inputrc_files`](super::inputrc_files).
    pub inputrc: &'a [PathBuf],
}

/// The user's own configuration file.
#[derive(Debug, Clone, Copy)]
pub enum UserConfigFile<'a> {
    /// `config.toml` in this folder, slug's home; the file may be missing.
    Home(&'a Path),
    /// The file that `--config` names; it must exist.
    Named(&'a Path),
}

/// A configuration file's path and text.
#[derive(Clone)]
pub struct ConfigText {
    pub path: PathBuf,
    /// The whole text, without a byte order mark.
    pub text: String,
}

/// Leaves out the text, which may hold keys.
impl fmt::Debug for ConfigText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigText").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The texts of the files that were found.
#[derive(Debug, Clone, Default)]
pub struct ConfigTexts {
    pub user: Option<ConfigText>,
    /// Read only of a trusted project.
    pub project: Option<ConfigText>,
    /// Whether other users of the machine may read the user's own file.
    pub is_open_to_others: bool,
    /// The keys for the editing mode that readline is set to.
    pub editing_mode: Option<ConfigValue<KeyPreset>>,
}

/// The environment variables that slug reads. An empty variable counts as not set.
#[derive(Debug, Clone, Default)]
pub struct ConfigEnvironment {
    /// `SLUG_ENDPOINT`
    pub endpoint: Option<String>,
    /// `SLUG_API_KEY`
    pub api_key: Option<SecretString>,
    /// `SLUG_MODEL`
    pub model: Option<String>,
    /// The variables of each protocol's own service.
    pub services: Vec<ServiceVariables>,
}

/// The variables of one service, which other programs read, too.
#[derive(Debug, Clone)]
pub struct ServiceVariables {
    pub service: &'static ProtocolService,
    /// `OPENAI_API_KEY` and the like.
    pub api_key: Option<SecretString>,
    /// `ANTHROPIC_MODEL`
    pub model: Option<String>,
    /// `ANTHROPIC_MAX_TOKENS`
    pub max_tokens: Option<String>,
}

/// The flags of the command line that set configuration values.
#[derive(Debug, Clone, Default)]
pub struct ConfigFlags {
    pub endpoint: Option<String>,
    pub api_key: Option<SecretString>,
    pub model: Option<String>,
    pub provider: Option<String>,
    pub system_prompt: Option<String>,
    pub budget: Option<UsageBudget>,
    pub max_tool_rounds: Option<u32>,
    /// The model file of `--local`.
    pub local: Option<PathBuf>,
    pub local_context: Option<u32>,
    /// From `--yolo`, `--allow-edits`, `--plan` or `--sandbox`, with the flag's name.
    pub mode: Option<(ModeChoice, &'static str)>,
}

impl ConfigEnvironment {
    /// Reads each variable with `get`, normally `std::env::var_os`.
    ///
    /// # Errors
    ///
    /// Fails when a variable is set and is not UTF-8; the error names it.
    pub fn read(get: impl Fn(&str) -> Option<OsString>) -> Result<Self, ConfigError> {
        let text = |name: &'static str| match get(name).map(OsString::into_string) {
            Some(Ok(value)) if value.trim().is_empty() => Ok(None),
            Some(Ok(value)) => Ok(Some(value)),
            Some(Err(_)) => Err(ConfigError::Value {
                origin: ConfigOrigin::Environment(name),
                problem: "its value is not UTF-8 text: correct or unset it".to_owned(),
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
    /// Reads the files. Where the project's file is the user's own file (the working folder is the
    /// home folder), it is not read as the project's.
    ///
    /// # Errors
    ///
    /// Fails when a file exists and cannot be read, and when the file that `--config` names does
    /// not exist.
    pub fn read(self) -> Result<ConfigTexts, ConfigError> {
        let user = match self.user {
            UserConfigFile::Home(home) => read(&home.join("config.toml"), None)?,
            UserConfigFile::Named(path) => {
                Some(read(path, None)?.ok_or_else(|| ConfigError::Missing(path.to_owned()))?)
            }
        };
        let (user, is_open_to_others) = user.map_or((None, false), |(it, open)| (Some(it), open));
        let user_path = user.as_ref().and_then(|file| file.path.canonicalize().ok());
        let project = self
            .project
            .map(|folder| folder.join(".slug").join("config.toml"))
            .filter(|path| user_path.is_none() || path.canonicalize().ok() != user_path);
        let project = match project {
            Some(path) => read(&path, self.project)?.map(|(text, _)| text),
            None => None,
        };
        let editing_mode = inputrc::editing_mode(self.inputrc);
        Ok(ConfigTexts { user, project, is_open_to_others, editing_mode })
    }
}

/// A file's text, and whether other users may read it; `None` where there is no file.
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
