//! How a server is reached and how it gets its key, beside its address.
//!
//! Nothing is read here: a variable, a keyring, a command and a certificate are named, and looked
//! at when the server is first asked.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use super::findings::Findings;
use super::raw::{At, RawCommand, RawSecret, RawServer};
use super::{Origin, Sourced};

/// Where a key comes from.
#[derive(Debug, Clone)]
pub enum KeySource {
    /// It is known.
    Value(SecretString),
    /// The environment variable of this name has it.
    Variable(String),
    /// This command prints it.
    Command(KeyCommand),
    /// The system's keyring has it under this name.
    Keyring(String),
}

/// A command that prints a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyCommand {
    /// A line for `sh -c`.
    Shell(String),
    /// A program and its arguments, without a shell. The program is there.
    Words(String, Vec<String>),
}

/// A value of a header. It may be a secret, and is never shown.
#[derive(Debug, Clone)]
pub enum HeaderText {
    /// This.
    Value(SecretString),
    /// What the environment variable of this name holds.
    Variable(String),
}

/// Which proxy is asked.
#[derive(Debug, Clone)]
pub enum Proxy {
    /// None, whatever the system says.
    Never,
    /// This one.
    At {
        /// Its address, which may have a name and password in it.
        address: SecretString,
        /// The same without them.
        shown: String,
    },
}

/// How a server is reached, beside its address.
#[derive(Debug, Clone, Default)]
pub struct Connection {
    /// What belongs to the server alone.
    pub own: Own,
    /// A file with certificates that are trusted beside the system's.
    pub ca_file: Option<Sourced<PathBuf>>,
    /// The proxy; the system's where none is named.
    pub proxy: Option<Sourced<Proxy>>,
}

/// What belongs to one server, and is told to no other.
#[derive(Debug, Clone, Default)]
pub struct Own {
    /// Headers, by name.
    pub headers: BTreeMap<String, Sourced<HeaderText>>,
    /// What is added to every address.
    pub query: BTreeMap<String, Sourced<String>>,
    /// The header that the key travels in, where it is not the protocol's.
    pub key_header: Option<Sourced<String>>,
    /// A file with the certificate that slug shows, and its key where `client_key` names none.
    pub client_certificate: Option<Sourced<PathBuf>>,
    /// A file with that certificate's key.
    pub client_key: Option<Sourced<PathBuf>>,
}

/// Headers that HTTP or slug itself fills in.
const TAKEN: [&str; 9] = [
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

const PROXY: &str = "`proxy` has to be \"none\" or an address that begins with http://, https://, \
                     socks5:// or socks5h://";

impl Proxy {
    fn parse(text: &SecretString) -> Option<Self> {
        let text = text.expose_secret().trim();
        if text == "none" {
            return Some(Self::Never);
        }
        let mut url = Url::parse(text).ok()?;
        if !matches!(url.scheme(), "http" | "https" | "socks5" | "socks5h") || !url.has_host() {
            return None;
        }
        // Neither fails on an address that has a host.
        let _ = (url.set_username(""), url.set_password(None));
        let shown = url.as_str().trim_end_matches('/').to_owned();
        Some(Self::At { address: text.into(), shown })
    }
}

/// Without name and password.
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("none"),
            Self::At { shown, .. } => f.write_str(shown),
        }
    }
}

/// Where the key is, never what it is.
impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(_) => f.write_str("set"),
            Self::Variable(name) => write!(f, "in ${name}"),
            Self::Command(KeyCommand::Shell(_)) => f.write_str("printed by a command"),
            Self::Command(KeyCommand::Words(program, _)) => write!(f, "printed by `{program}`"),
            Self::Keyring(name) => write!(f, "in the keyring as `{name}`"),
        }
    }
}

impl Connection {
    /// The same without what belongs to one server.
    pub fn shared(&self) -> Self {
        Self { own: Own::default(), ca_file: self.ca_file.clone(), proxy: self.proxy.clone() }
    }
}

impl Own {
    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty()
            && self.query.is_empty()
            && self.key_header.is_none()
            && self.client_certificate.is_none()
            && self.client_key.is_none()
    }
}

impl Findings {
    /// The key of a server, in one of the ways in which it can be written.
    pub(super) fn key_source(
        &mut self,
        key: Option<At<RawSecret>>,
        command: Option<At<RawCommand>>,
        place: &impl Fn(usize) -> Origin,
    ) -> Option<Sourced<KeySource>> {
        match (key, command) {
            (Some(_), Some(command)) => {
                let problem = "`api_key` and `api_key_command` are both there: keep one of them";
                self.error(place(command.line), problem.to_owned())
            }
            (Some(key), None) => self.written_key(key.value, place(key.line)),
            (None, Some(command)) => self.key_command(command.value, place(command.line)),
            (None, None) => None,
        }
    }

    fn written_key(&mut self, key: RawSecret, origin: Origin) -> Option<Sourced<KeySource>> {
        match key {
            RawSecret::Text(key) => Some(self.key(&key, origin)?.map(KeySource::Value)),
            RawSecret::Variable(name) => {
                let value = KeySource::Variable(self.variable(name, &origin)?);
                Some(Sourced { value, origin })
            }
            RawSecret::Keyring(name) => {
                let plain = |c: char| c.is_ascii_alphanumeric() || "-_./@".contains(c);
                // It becomes an argument of the keyring's own program.
                if name.is_empty() || name.starts_with('-') || !name.chars().all(plain) {
                    let problem = "a name in the keyring is made of letters, digits and -_./@";
                    return self.error(origin, problem.to_owned());
                }
                Some(Sourced { value: KeySource::Keyring(name), origin })
            }
        }
    }

    fn key_command(&mut self, command: RawCommand, origin: Origin) -> Option<Sourced<KeySource>> {
        let command = match command {
            RawCommand::Shell(line) if !line.trim().is_empty() => Some(KeyCommand::Shell(line)),
            RawCommand::Words(words) => {
                let mut words = words.into_iter();
                let program = words.next().filter(|program| !program.is_empty());
                program.map(|program| KeyCommand::Words(program, words.collect()))
            }
            RawCommand::Shell(_) => None,
        };
        match command {
            Some(command) => Some(Sourced { value: KeySource::Command(command), origin }),
            None => self.error(origin, "`api_key_command` is empty: fill it in".to_owned()),
        }
    }

    /// What belongs to one server, and is sent to it alone.
    pub(super) fn own(
        &mut self,
        server: &mut RawServer,
        folder: &Path,
        place: &impl Fn(usize) -> Origin,
    ) -> Own {
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
            query.map(|(name, it)| (name, Sourced { value: it.value, origin: place(it.line) }));
        let own = Own {
            headers,
            query: query.collect(),
            key_header,
            client_certificate: path(server.client_certificate.take(), folder, place),
            client_key: path(server.client_key.take(), folder, place),
        };
        if let (Some(key), None) = (&own.client_key, &own.client_certificate) {
            let problem = "`client_key` stands alone: name its `client_certificate`, too";
            self.error::<()>(key.origin.clone(), problem.to_owned());
        }
        own
    }

    /// The proxy, whose address may have a password in it.
    pub(super) fn proxy(&mut self, text: &SecretString, origin: Origin) -> Option<Sourced<Proxy>> {
        match Proxy::parse(text) {
            Some(value) => {
                if has_password(text) {
                    self.secrets.push(text.expose_secret().trim().into());
                }
                Some(Sourced { value, origin })
            }
            None => self.error(origin, PROXY.to_owned()),
        }
    }

    fn header_name(&mut self, name: &str, origin: Origin) -> Option<Sourced<String>> {
        let shown = name.escape_debug();
        match HeaderName::from_bytes(name.as_bytes()) {
            Ok(header) if TAKEN.contains(&header.as_str()) => {
                self.error(origin, format!("the header `{shown}` is filled in by slug itself"))
            }
            Ok(header) => Some(Sourced { value: header.as_str().to_owned(), origin }),
            Err(_) => self.error(origin, format!("`{shown}` cannot be the name of a header")),
        }
    }

    fn header_text(&mut self, text: RawSecret, origin: Origin) -> Option<Sourced<HeaderText>> {
        let value = match text {
            RawSecret::Text(text) => match HeaderValue::from_str(text.expose_secret()) {
                Ok(_) => {
                    self.secrets.push(text.clone());
                    HeaderText::Value(text)
                }
                Err(_) => {
                    let problem = "a header's value is one line of ASCII";
                    return self.error(origin, problem.to_owned());
                }
            },
            RawSecret::Variable(name) => HeaderText::Variable(self.variable(name, &origin)?),
            RawSecret::Keyring(_) => {
                let problem = "a header takes text or { env = \"NAME\" }; the keyring is for keys";
                return self.error(origin, problem.to_owned());
            }
        };
        Some(Sourced { value, origin })
    }

    fn variable(&mut self, name: String, origin: &Origin) -> Option<String> {
        if name.is_empty() || name.contains(['=', '\0']) {
            let problem = "this is not the name of an environment variable";
            return self.error(origin.clone(), problem.to_owned());
        }
        self.key_variables.push(name.clone());
        Some(name)
    }
}

fn has_password(address: &SecretString) -> bool {
    Url::parse(address.expose_secret().trim()).is_ok_and(|url| url.password().is_some())
}

/// A file's name; one that is relative starts at the folder of the configuration.
pub(super) fn path(
    written: Option<At<String>>,
    folder: &Path,
    place: &impl Fn(usize) -> Origin,
) -> Option<Sourced<PathBuf>> {
    let At { value, line } = written?;
    let value = if value.starts_with("~/") { value.into() } else { folder.join(value) };
    Some(Sourced { value, origin: place(line) })
}
