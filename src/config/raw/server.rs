//! The keys of a model server: the same at the top of a file and in a `[providers.NAME]`.

use std::collections::BTreeMap;

use secrecy::SecretString;
use toml::de::DeValue;

use super::{ConfigReader, LineValue, TomlValue};

/// The keys of one server, as written. Fields have the names of their keys.
#[derive(Debug, Default)]
pub struct RawServer {
    /// Only in a `[providers.NAME]`.
    pub protocol: Option<LineValue<String>>,
    pub endpoint: Option<LineValue<String>>,
    pub api_key: Option<LineValue<RawSecret>>,
    pub api_key_command: Option<LineValue<RawCommand>>,
    pub key_header: Option<LineValue<String>>,
    pub model: Option<LineValue<String>>,
    pub models: Option<LineValue<Vec<LineValue<String>>>>,
    pub max_tokens: Option<LineValue<i64>>,
    pub context_window: Option<LineValue<i64>>,
    pub effort: Option<LineValue<String>>,
    pub dialect: Option<LineValue<String>>,
    pub headers: Option<LineValue<BTreeMap<String, LineValue<RawSecret>>>>,
    pub query: Option<LineValue<BTreeMap<String, LineValue<String>>>>,
    pub ca_file: Option<LineValue<String>>,
    pub client_certificate: Option<LineValue<String>>,
    pub client_key: Option<LineValue<String>>,
    pub proxy: Option<LineValue<SecretString>>,
}

/// A secret as written: the text itself, or where it is.
#[derive(Debug, Clone)]
pub enum RawSecret {
    /// The secret itself, in the file.
    Text(SecretString),
    /// `{ env = "NAME" }`
    Variable(String),
    /// `{ keyring = "NAME" }`
    Keyring(String),
}

/// A command as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawCommand {
    /// `"…"`, for `sh -c`.
    Shell(String),
    /// `["program", "argument"]`, run without a shell.
    Words(Vec<String>),
}

impl ConfigReader<'_> {
    /// Reads one of the keys that a server has at the top and in a table of its own, and says
    /// whether `key` is one. `below` stands before the key's name in messages.
    pub(super) fn of_server(
        &mut self,
        server: &mut RawServer,
        key: &str,
        below: &str,
        value: &TomlValue<'_>,
    ) -> bool {
        let name = &format!("{below}{key}");
        match key {
            "endpoint" => server.endpoint = self.string(name, value),
            "api_key" => server.api_key = self.secret(name, value),
            "api_key_command" => server.api_key_command = self.command(name, value),
            "key_header" => server.key_header = self.string(name, value),
            "model" => server.model = self.string(name, value),
            "models" => server.models = self.strings(name, value),
            "max_tokens" => server.max_tokens = self.integer(name, value),
            "context_window" => server.context_window = self.integer(name, value),
            "effort" => server.effort = self.string(name, value),
            "dialect" => server.dialect = self.string(name, value),
            "headers" => server.headers = self.each(name, value, Self::secret),
            "query" => server.query = self.each(name, value, Self::string),
            "ca_file" => server.ca_file = self.string(name, value),
            "client_certificate" => server.client_certificate = self.string(name, value),
            "client_key" => server.client_key = self.string(name, value),
            "proxy" => server.proxy = self.hidden(name, value),
            _ => return false,
        }
        true
    }

    pub(super) fn providers(&mut self, value: &TomlValue<'_>) {
        let Some(table) = self.table("providers", value) else { return };
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            let path = format!("providers.{name}");
            let Some(table) = self.table(&path, value) else { continue };
            let below = format!("{path}.");
            let mut server = RawServer::default();
            for (key, value) in table {
                let key_path = format!("{below}{}", key.get_ref());
                match key.get_ref().as_ref() {
                    "protocol" => server.protocol = self.string(&key_path, value),
                    key if self.of_server(&mut server, key, &below, value) => {}
                    _ => self.unknown(&key_path, key.span()),
                }
            }
            let line = self.line(key.span());
            self.parsed.raw.providers.insert(name.to_owned(), LineValue { value: server, line });
        }
    }

    /// A text, or a table that says where the text is.
    fn secret(&mut self, name: &str, value: &TomlValue<'_>) -> Option<LineValue<RawSecret>> {
        let line = self.line(value.span());
        let found = match value.get_ref() {
            DeValue::String(text) => Some(RawSecret::Text(text.to_string().into())),
            DeValue::Table(table) => {
                let mut entries = table.iter();
                match (entries.next(), entries.next()) {
                    (Some((key, place)), None) => match (key.get_ref().as_ref(), place.get_ref()) {
                        ("env", DeValue::String(place)) => {
                            Some(RawSecret::Variable(place.to_string()))
                        }
                        ("keyring", DeValue::String(place)) => {
                            Some(RawSecret::Keyring(place.to_string()))
                        }
                        _ => None,
                    },
                    _ => None,
                }
            }
            _ => None,
        };
        match found {
            Some(value) => Some(LineValue { value, line }),
            None => {
                let wanted = "text in quotes, or where it is: { env = \"NAME\" }";
                self.wrong(name, wanted, value.get_ref(), value)
            }
        }
    }

    /// A text that may hold a password, and is kept as a secret.
    fn hidden(&mut self, name: &str, value: &TomlValue<'_>) -> Option<LineValue<SecretString>> {
        self.string(name, value).map(|text| LineValue { value: text.value.into(), line: text.line })
    }

    /// A line for the shell, or a list of words.
    fn command(&mut self, name: &str, value: &TomlValue<'_>) -> Option<LineValue<RawCommand>> {
        let line = self.line(value.span());
        let command = match value.get_ref() {
            DeValue::String(text) => RawCommand::Shell(text.to_string()),
            DeValue::Array(_) => {
                let words = self.strings(name, value)?.value;
                RawCommand::Words(words.into_iter().map(|word| word.value).collect())
            }
            other => {
                let wanted = "a list, like [\"pass\", \"show\", \"llm\"], or text for the shell";
                return self.wrong(name, wanted, other, value);
            }
        };
        Some(LineValue { value: command, line })
    }

    /// A table with keys of the user's choice.
    fn each<T>(
        &mut self,
        name: &str,
        value: &TomlValue<'_>,
        read: impl Fn(&mut Self, &str, &TomlValue<'_>) -> Option<LineValue<T>>,
    ) -> Option<LineValue<BTreeMap<String, LineValue<T>>>> {
        let line = self.line(value.span());
        let DeValue::Table(table) = value.get_ref() else {
            let wanted = "a table, like { Name = \"value\" }";
            return self.wrong(name, wanted, value.get_ref(), value);
        };
        let mut entries = BTreeMap::new();
        for (key, value) in table {
            let key = key.get_ref().as_ref();
            if let Some(read) = read(self, &format!("{name}.{key}"), value) {
                entries.insert(key.to_owned(), read);
            }
        }
        Some(LineValue { value: entries, line })
    }
}
