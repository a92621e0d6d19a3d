//! What the questions before the chat are about and what they are answered with. Plain values, so that
//! effects, messages and front ends without a screen can all name them.

use secrecy::{ExposeSecret, SecretString};

use crate::domain::ProviderProtocol;

/// The answer to a question before the chat.
#[derive(Debug, Clone, PartialEq)]
pub enum StartupAnswer {
    /// Whether the folder is trusted.
    Trust(TrustAnswer),
    /// What the first run starts with.
    FirstRun(FirstRunAnswer),
}

/// The user's answer about the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustAnswer {
    /// The folder is trusted from now on.
    Trust,
    /// slug starts without the folder's files.
    GoOnWithout,
    /// slug ends.
    Quit,
}

/// The user's choice of what to start with.
#[derive(Debug, Clone, PartialEq)]
pub enum FirstRunAnswer {
    Demo,
    /// Uses this server. For an unencrypted address of another host, the user has agreed.
    Use {
        target: FirstRunEndpoint,
        /// The model that the user chose; `None` if there was no choice.
        model: Option<String>,
    },
    /// slug ends.
    Quit,
}

/// A server that answers on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetectedServer {
    /// The program that usually listens at this address.
    pub name: &'static str,
    /// Address for chat completions.
    pub endpoint: String,
    /// Ids of the models that it serves.
    pub models: Vec<String>,
}

/// A key in the environment, and the service that it is for.
#[derive(Debug, Clone)]
pub struct DetectedApiKey {
    /// Name of the environment variable.
    pub variable: &'static str,
    pub service: &'static str,
    pub protocol: ProviderProtocol,
    pub key: SecretString,
}

/// The server that the user chose.
#[derive(Debug, Clone)]
pub struct FirstRunEndpoint {
    pub protocol: ProviderProtocol,
    pub endpoint: String,
    /// Sent to this endpoint only; `None` for a server without a key.
    pub key: Option<SecretString>,
    pub key_storage: FirstRunKeyStorage,
}

/// Where a key is stored once its server is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstRunKeyStorage {
    /// In the configuration, with the address.
    InFile,
    /// In the environment, as before: only the protocol is written down.
    InEnvironment,
}

/// Background work of the first run.
#[derive(Debug, Clone, PartialEq)]
pub enum FirstRunJob {
    /// Looks at the usual local ports.
    FindServers,
    /// Asks a server for its models.
    Check {
        /// Number of the check; an answer with an older one is stale.
        id: u64,
        target: FirstRunEndpoint,
    },
}

/// A result of a [`FirstRunJob`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirstRunEvent {
    Found(DetectedServer),
    /// All local ports have been tried.
    SearchFinished,
    /// The answer to [`FirstRunJob::Check`].
    Checked {
        /// Number of the check.
        id: u64,
        /// The server's models, or a sentence about why there are none.
        models: Result<Vec<String>, String>,
    },
}

/// Names and addresses of the usual servers on this machine, the most likely first.
pub const LOCAL_SERVERS: [(&str, &str); 4] = [
    ("vLLM", "http://localhost:8000/v1"),
    ("llama.cpp", "http://localhost:8080/v1"),
    ("Ollama", "http://localhost:11434/v1"),
    ("LM Studio", "http://localhost:1234/v1"),
];

/// The sort key of a server: its place in the list of usual servers.
pub fn rank(endpoint: &str) -> usize {
    LOCAL_SERVERS.iter().position(|(_, known)| *known == endpoint).unwrap_or(LOCAL_SERVERS.len())
}

impl FirstRunEndpoint {
    /// A server for chat completions whose address and key are written to the configuration.
    pub fn local(endpoint: String, key: Option<SecretString>) -> Self {
        Self {
            protocol: ProviderProtocol::ChatCompletions,
            endpoint,
            key,
            key_storage: FirstRunKeyStorage::InFile,
        }
    }
}

impl DetectedApiKey {
    /// The endpoint of the service that the key is for.
    pub fn target(&self) -> FirstRunEndpoint {
        let Self { service, protocol, key, .. } = self;
        FirstRunEndpoint {
            protocol: *protocol,
            endpoint: (*service).to_owned(),
            key: Some(key.clone()),
            key_storage: FirstRunKeyStorage::InEnvironment,
        }
    }
}

impl PartialEq for FirstRunEndpoint {
    fn eq(&self, other: &Self) -> bool {
        let exposed = |it: &Self| it.key.as_ref().map(|key| key.expose_secret().to_owned());
        self.protocol == other.protocol
            && self.endpoint == other.endpoint
            && self.key_storage == other.key_storage
            && exposed(self) == exposed(other)
    }
}

impl PartialEq for DetectedApiKey {
    fn eq(&self, other: &Self) -> bool {
        self.variable == other.variable && self.target() == other.target()
    }
}
