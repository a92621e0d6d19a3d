//! How a server is reached and how it gets its key, apart from its address.
//!
//! Nothing is read here: a variable, a keyring, a command and a certificate are only named. They
//! are read when the server is first asked.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use super::findings::ConfigFindings;
use super::raw::{LineValue, RawCommand, RawSecret, RawServer};
use super::{ConfigOrigin, ConfigValue};

/// Where a key comes from.
#[derive(Debug, Clone)]
pub enum ConfigKeySource {
    /// The key itself.
    Value(SecretString),
    /// The environment variable of this name holds the key.
    Variable(String),
    /// This command prints the key.
    Command(ConfigKeyCommand),
    /// The system's keyring holds the key under this name.
    Keyring(String),
}

/// A command that prints a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigKeyCommand {
    /// A line for `sh -c`.
    Shell(String),
    /// A program and its arguments, run without a shell. The program is never empty.
    Words(String, Vec<String>),
}

/// The value of a header. It may be a secret, and is never shown.
#[derive(Debug, Clone)]
pub enum ConfigHeaderValue {
    Value(SecretString),
    /// The name of the environment variable that holds the value.
    Variable(String),
}

/// Which proxy is used.
#[derive(Debug, Clone)]
pub enum ConfigProxy {
    /// None, whatever the system's settings say.
    Never,
    At {
        /// May hold a name and a password.
        address: SecretString,
        /// The address without name and password.
        shown: String,
    },
}

/// How a server is reached, apart from its address.
#[derive(Debug, Clone, Default)]
pub struct ServerTransportConfig {
    /// Settings that belong to this server alone.
    pub origin_bound: OriginBoundConfig,
    /// A file with certificates that are trusted besides the system's.
    pub ca_file: Option<ConfigValue<PathBuf>>,
    /// `None` uses the system's proxy settings.
    pub proxy: Option<ConfigValue<ConfigProxy>>,
}

/// Settings that belong to one server and are sent to no other.
#[derive(Debug, Clone, Default)]
pub struct OriginBoundConfig {
    /// By name, in lower case.
    pub headers: BTreeMap<String, ConfigValue<ConfigHeaderValue>>,
    /// Query parameters that are added to every request.
    pub query: BTreeMap<String, ConfigValue<String>>,
    /// The header for the key, where it is not the protocol's own.
    pub key_header: Option<ConfigValue<String>>,
    /// A file with the client certificate, and with its key where `client_key` names none.
    pub client_certificate: Option<ConfigValue<PathBuf>>,
    /// A file with the client certificate's key.
    pub client_key: Option<ConfigValue<PathBuf>>,
}

/// Headers that HTTP or slug itself sets.
const RESERVED_HEADERS: [&str; 9] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "host",
    "proxy-authorization",
    "te",
    "transfer-encoding",
];

const PROXY: &str = "`proxy` must be \"none\" or an address that starts with http://, https://, \
                     socks5:// or socks5h://";

impl ConfigProxy {
    fn parse(text: &SecretString) -> Option<Self> {
        let text = text.expose_secret().trim();
        if text == "none" {
            return Some(Self::Never);
        }
        let mut url = Url::parse(text).ok()?;
        if !matches!(url.scheme(), "http" | "https" | "socks5" | "socks5h") || !url.has_host() {
            return None;
        }
        // Neither call fails on an address that has a host.
        let _ = (url.set_username(""), url.set_password(None));
        let shown = url.as_str().trim_end_matches('/').to_owned();
        Some(Self::At { address: text.into(), shown })
    }
}

/// Leaves out name and password.
impl fmt::Display for ConfigProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("none"),
            Self::At { shown, .. } => f.write_str(shown),
        }
    }
}

/// Says where the key is, never what it is.
impl fmt::Display for ConfigKeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(_) => f.write_str("set"),
            Self::Variable(name) => write!(f, "in ${name}"),
            Self::Command(ConfigKeyCommand::Shell(_)) => f.write_str("printed by a command"),
            Self::Command(ConfigKeyCommand::Words(program, _)) => {
                write!(f, "printed by `{program}`")
            }
            Self::Keyring(name) => write!(f, "in the keyring as `{name}`"),
        }
    }
}

impl ServerTransportConfig {
    /// The same configuration without what belongs to one server.
    pub fn shared(&self) -> Self {
        Self {
            origin_bound: OriginBoundConfig::default(),
            ca_file: self.ca_file.clone(),
            proxy: self.proxy.clone(),
        }
    }
}

impl OriginBoundConfig {
    /// Whether nothing is set; the layer then leaves the settings of earlier layers alone.
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty()
            && self.query.is_empty()
            && self.key_header.is_none()
            && self.client_certificate.is_none()
            && self.client_key.is_none()
    }
}

impl ConfigFindings {
    /// The key of a server, in whichever way it is written. Both `api_key` and `api_key_command`
    /// together are an error.
    pub(super) fn key_source(
        &mut self,
        key: Option<LineValue<RawSecret>>,
        command: Option<LineValue<RawCommand>>,
        place: &impl Fn(usize) -> ConfigOrigin,
    ) -> Option<ConfigValue<ConfigKeySource>> {
        match (key, command) {
            (Some(_), Some(command)) => {
                let problem = "`api_key` and `api_key_command` are both set: keep one of them";
                self.error(place(command.line), problem.to_owned())
            }
            (Some(key), None) => self.written_key(key.value, place(key.line)),
            (None, Some(command)) => self.key_command(command.value, place(command.line)),
            (None, None) => None,
        }
    }

    fn written_key(
        &mut self,
        key: RawSecret,
        origin: ConfigOrigin,
    ) -> Option<ConfigValue<ConfigKeySource>> {
        match key {
            RawSecret::Text(key) => Some(self.key(&key, origin)?.map(ConfigKeySource::Value)),
            RawSecret::Variable(name) => {
                let value = ConfigKeySource::Variable(self.variable(name, &origin)?);
                Some(ConfigValue { value, origin })
            }
            RawSecret::Keyring(name) => {
                let plain = |c: char| c.is_ascii_alphanumeric() || "-_./@".contains(c);
                // The name becomes an argument of the keyring's own program.
                if name.is_empty() || name.starts_with('-') || !name.chars().all(plain) {
                    let problem =
                        "a name in the keyring can contain only letters, digits and -_./@";
                    return self.error(origin, problem.to_owned());
                }
                Some(ConfigValue { value: ConfigKeySource::Keyring(name), origin })
            }
        }
    }

    fn key_command(
        &mut self,
        command: RawCommand,
        origin: ConfigOrigin,
    ) -> Option<ConfigValue<ConfigKeySource>> {
        let command = match command {
            RawCommand::Shell(line) if !line.trim().is_empty() => {
                Some(ConfigKeyCommand::Shell(line))
            }
            RawCommand::Words(words) => {
                let mut words = words.into_iter();
                let program = words.next().filter(|program| !program.is_empty());
                program.map(|program| ConfigKeyCommand::Words(program, words.collect()))
            }
            RawCommand::Shell(_) => None,
        };
        match command {
            Some(command) => Some(ConfigValue { value: ConfigKeySource::Command(command), origin }),
            None => self.error(origin, "`api_key_command` is empty: fill it in".to_owned()),
        }
    }

    /// The settings that belong to this server alone.
    pub(super) fn origin_bound(
        &mut self,
        server: &mut RawServer,
        folder: &Path,
        place: &impl Fn(usize) -> ConfigOrigin,
    ) -> OriginBoundConfig {
        let key_header = server.key_header.take();
        let key_header = key_header.and_then(|it| self.header_name(&it.value, place(it.line)));
        let headers = server.headers.take().map(|it| it.value).unwrap_or_default();
        let headers = headers.into_iter().filter_map(|(name, it)| {
            let origin = place(it.line);
            let name = self.header_name(&name, origin.clone())?.value;
            Some((name, self.header_text(it.value, origin)?))
        });
        let headers = headers.collect();
        let query = server.query.take().map(|it| it.value).unwrap_or_default();
        let query = query.into_iter();
        let query =
            query.map(|(name, it)| (name, ConfigValue { value: it.value, origin: place(it.line) }));
        let own = OriginBoundConfig {
            headers,
            query: query.collect(),
            key_header,
            client_certificate: path(server.client_certificate.take(), folder, place),
            client_key: path(server.client_key.take(), folder, place),
        };
        if let (Some(key), None) = (&own.client_key, &own.client_certificate) {
            let problem = "`client_key` is set without `client_certificate`: set both";
            self.error::<()>(key.origin.clone(), problem.to_owned());
        }
        own
    }

    /// The proxy. Its address is a secret where it holds a password.
    pub(super) fn proxy(
        &mut self,
        text: &SecretString,
        origin: ConfigOrigin,
    ) -> Option<ConfigValue<ConfigProxy>> {
        match ConfigProxy::parse(text) {
            Some(value) => {
                if has_password(text) {
                    self.secrets.push(text.expose_secret().trim().into());
                }
                Some(ConfigValue { value, origin })
            }
            None => self.error(origin, PROXY.to_owned()),
        }
    }

    fn header_name(&mut self, name: &str, origin: ConfigOrigin) -> Option<ConfigValue<String>> {
        let shown = name.escape_debug();
        match HeaderName::from_bytes(name.as_bytes()) {
            Ok(header) if RESERVED_HEADERS.contains(&header.as_str()) => {
                self.error(origin, format!("slug sets the header `{shown}` itself: remove it"))
            }
            Ok(header) => Some(ConfigValue { value: header.as_str().to_owned(), origin }),
            Err(_) => self.error(origin, format!("`{shown}` is not a valid header name")),
        }
    }

    fn header_text(
        &mut self,
        text: RawSecret,
        origin: ConfigOrigin,
    ) -> Option<ConfigValue<ConfigHeaderValue>> {
        let value = match text {
            RawSecret::Text(text) => match HeaderValue::from_str(text.expose_secret()) {
                Ok(_) => {
                    self.secrets.push(text.clone());
                    ConfigHeaderValue::Value(text)
                }
                Err(_) => {
                    let problem = "a header's value must be one line of ASCII";
                    return self.error(origin, problem.to_owned());
                }
            },
            RawSecret::Variable(name) => ConfigHeaderValue::Variable(self.variable(name, &origin)?),
            RawSecret::Keyring(_) => {
                let problem =
                    "a header must be text or { env = \"NAME\" }; the keyring is only for keys";
                return self.error(origin, problem.to_owned());
            }
        };
        Some(ConfigValue { value, origin })
    }

    fn variable(&mut self, name: String, origin: &ConfigOrigin) -> Option<String> {
        if name.is_empty() || name.contains(['=', '\0']) {
            let problem = "not a valid name of an environment variable";
            return self.error(origin.clone(), problem.to_owned());
        }
        self.key_variables.push(name.clone());
        Some(name)
    }
}

fn has_password(address: &SecretString) -> bool {
    Url::parse(address.expose_secret().trim()).is_ok_and(|url| url.password().is_some())
}

/// A file's path; a relative one is taken from the folder of the configuration file.
pub(super) fn path(
    written: Option<LineValue<String>>,
    folder: &Path,
    place: &impl Fn(usize) -> ConfigOrigin,
) -> Option<ConfigValue<PathBuf>> {
    let LineValue { value, line } = written?;
    let value = if value.starts_with("~/") { value.into() } else { folder.join(value) };
    Some(ConfigValue { value, origin: place(line) })
}
