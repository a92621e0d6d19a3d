//! What connecting a model is about: servers and services that can be chosen, the work that it takes,
//! and what that work finds. Plain values, so that effects, messages and front ends without a screen
//! can all name them.

use std::path::PathBuf;

use secrecy::{ExposeSecret, SecretString};

use crate::config::{ConfigEndpoint, services};
use crate::domain::ProviderProtocol;
use crate::providers::ProviderFault;

/// A service that the page offers by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostedService {
    Anthropic,
    OpenAi,
    Gemini,
    OpenRouter,
}

/// OpenRouter's address of chat completions (openrouter.ai/docs, "Quickstart").
const OPENROUTER: &str = "https://openrouter.ai/api/v1";

impl HostedService {
    /// All services, in the order of the page.
    pub const ALL: [Self; 4] = [Self::Anthropic, Self::OpenAi, Self::Gemini, Self::OpenRouter];

    /// The name that people know it by.
    pub fn label(self) -> &'static str {
        match self {
            Self::Anthropic => "Anthropic",
            Self::OpenAi => "OpenAI",
            Self::Gemini => "Gemini",
            Self::OpenRouter => "OpenRouter",
        }
    }

    /// What kind of models it has, in a few words.
    pub fn models(self) -> &'static str {
        match self {
            Self::Anthropic => "Claude",
            Self::OpenAi => "GPT",
            Self::Gemini => "Google's models",
            Self::OpenRouter => "models from many providers",
        }
    }

    /// What slug speaks to it.
    pub fn protocol(self) -> ProviderProtocol {
        match self {
            Self::Anthropic => ProviderProtocol::Anthropic,
            Self::OpenAi => ProviderProtocol::Responses,
            Self::Gemini => ProviderProtocol::Gemini,
            Self::OpenRouter => ProviderProtocol::ChatCompletions,
        }
    }

    /// The provider's name in the configuration.
    pub fn provider_name(self) -> &'static str {
        match self {
            Self::Anthropic | Self::OpenAi | Self::Gemini => self.protocol().name(),
            Self::OpenRouter => "openrouter",
        }
    }

    /// The address that requests go to, whichever the user has typed.
    pub fn endpoint(self) -> &'static str {
        match self {
            Self::Anthropic | Self::OpenAi | Self::Gemini => {
                services::of(self.protocol()).own_endpoint
            }
            Self::OpenRouter => OPENROUTER,
        }
    }

    /// The page on which the service gives out keys.
    pub fn key_page(self) -> &'static str {
        match self {
            Self::Anthropic => "console.anthropic.com/settings/keys",
            Self::OpenAi => "platform.openai.com/api-keys",
            Self::Gemini => "aistudio.google.com/apikey",
            Self::OpenRouter => "openrouter.ai/settings/keys",
        }
    }

    /// The variable in which other programs keep its key, too; `None` where slug reads none.
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::Anthropic | Self::OpenAi | Self::Gemini => {
                Some(services::of(self.protocol()).key_variable)
            }
            Self::OpenRouter => None,
        }
    }

    /// The model to begin with, among those that the service lists. `None` if the user has to choose.
    pub fn usual_model(self, listed: &[String]) -> Option<String> {
        let usual = match self {
            Self::Anthropic | Self::OpenAi | Self::Gemini => services::of(self.protocol()).model?,
            // The service chooses a model for each request (openrouter.ai/docs, "Auto Router").
            Self::OpenRouter => "openrouter/auto",
        };
        listed.iter().find(|model| *model == usual).cloned()
    }

    /// The service at this endpoint, by its origin.
    pub fn at(endpoint: &ConfigEndpoint) -> Option<Self> {
        let is_there = |service: &Self| {
            let own = ConfigEndpoint::parse(service.endpoint());
            own.is_ok_and(|own| own.origin() == endpoint.origin())
        };
        Self::ALL.into_iter().find(is_there)
    }
}

/// A server that answers on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetectedServer {
    /// The program that usually listens at this address.
    pub name: &'static str,
    /// Address for chat completions.
    pub endpoint: String,
    /// Ids of the models that it serves; none where it wants a key first.
    pub models: Vec<String>,
    pub access: ServerAccess,
}

/// A model file on this machine whose server slug could start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetectedModelFile {
    pub path: PathBuf,
    /// The model's name.
    pub name: String,
    /// Its size, and how it fits the memory.
    pub details: String,
}

/// Whether a server answers without a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerAccess {
    Open,
    WantsKey,
}

/// A key in the environment, and the service that it is for.
#[derive(Debug, Clone)]
pub struct DetectedApiKey {
    /// Name of the environment variable.
    pub variable: &'static str,
    pub service: HostedService,
    pub key: SecretString,
}

/// A provider that is in the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectedProvider {
    pub name: String,
    pub protocol: ProviderProtocol,
    pub endpoint: String,
    /// Where its key comes from, in words; `None` without a key.
    pub key: Option<String>,
    pub place: ConnectPlace,
}

/// Where a connection is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectPlace {
    /// At the top of the user's configuration.
    Top,
    /// In its `[providers.NAME]`.
    Named(String),
    /// The key is in this environment variable, as before: only the provider's name is written down.
    Environment(&'static str),
}

/// The server that the user chose.
#[derive(Debug, Clone)]
pub struct ConnectTarget {
    pub protocol: ProviderProtocol,
    pub endpoint: String,
    /// Sent to this endpoint only; `None` for a server without a key.
    pub key: Option<SecretString>,
    pub place: ConnectPlace,
}

/// Why a server's models could not be listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectFailure {
    /// A sentence for the user.
    pub message: String,
    pub fault: ProviderFault,
}

/// Background work of the page.
#[derive(Debug, Clone, PartialEq)]
pub enum ConnectJob {
    /// Looks at the usual local ports, and at what is configured.
    FindServers,
    /// Asks a server for its models.
    Check {
        /// Number of the job; an answer with an older one is stale.
        id: u64,
        target: ConnectTarget,
    },
    /// Asks a configured provider for its models.
    Test { id: u64, provider: String },
    /// Writes a connection down, and makes it usable in the running session.
    Save {
        id: u64,
        target: ConnectTarget,
        /// The model that the user chose; `None` if there was no choice.
        model: Option<String>,
        preference: ConnectPreference,
    },
    /// Takes a provider out of the configuration.
    Remove { id: u64, place: ConnectPlace },
}

/// Whether slug starts with a connection from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectPreference {
    /// It takes the place of the one that slug would start with.
    Default,
    /// It is one more to switch to, unless nothing else is configured.
    Additional,
}

/// A result of a [`ConnectJob`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectEvent {
    /// The providers of the configuration, and the file that connections are written to.
    Configured {
        file: String,
        providers: Vec<ConnectedProvider>,
    },
    Found(DetectedServer),
    /// All local ports have been tried.
    SearchFinished,
    /// The answer to [`ConnectJob::Check`] and [`ConnectJob::Test`].
    Checked {
        /// Number of the job.
        id: u64,
        /// The server's models, or why there are none.
        models: Result<Vec<String>, ConnectFailure>,
    },
    /// The answer to [`ConnectJob::Save`]: the provider's name.
    Saved {
        id: u64,
        outcome: Result<String, String>,
    },
    /// The answer to [`ConnectJob::Remove`]: what is configured now.
    Removed {
        id: u64,
        outcome: Result<Vec<ConnectedProvider>, String>,
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

impl ConnectTarget {
    /// A server for chat completions whose address and key go to the top of the configuration.
    pub fn server(endpoint: String, key: Option<SecretString>) -> Self {
        Self {
            protocol: ProviderProtocol::ChatCompletions,
            endpoint,
            key,
            place: ConnectPlace::Top,
        }
    }

    /// A hosted service with this key, in a table of its own.
    pub fn hosted(service: HostedService, key: Option<SecretString>) -> Self {
        Self {
            protocol: service.protocol(),
            endpoint: service.endpoint().to_owned(),
            key,
            place: ConnectPlace::Named(service.provider_name().to_owned()),
        }
    }
}

impl DetectedApiKey {
    /// The service that the key is for, with the key where it is.
    pub fn target(&self) -> ConnectTarget {
        ConnectTarget {
            place: ConnectPlace::Environment(self.variable),
            ..ConnectTarget::hosted(self.service, Some(self.key.clone()))
        }
    }
}

impl PartialEq for ConnectTarget {
    fn eq(&self, other: &Self) -> bool {
        let exposed = |it: &Self| it.key.as_ref().map(|key| key.expose_secret().to_owned());
        self.protocol == other.protocol
            && self.endpoint == other.endpoint
            && self.place == other.place
            && exposed(self) == exposed(other)
    }
}

impl PartialEq for DetectedApiKey {
    fn eq(&self, other: &Self) -> bool {
        self.variable == other.variable && self.target() == other.target()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_known_by_the_host_of_its_address() {
        for (address, service) in [
            ("https://api.openai.com/v1", Some(HostedService::OpenAi)),
            ("https://api.anthropic.com", Some(HostedService::Anthropic)),
            ("https://openrouter.ai/v1", Some(HostedService::OpenRouter)),
            ("https://api.openai.com.example/v1", None),
            ("http://localhost:8000/v1", None),
        ] {
            let endpoint = ConfigEndpoint::parse(address).unwrap();
            assert_eq!(HostedService::at(&endpoint), service, "{address}");
        }
    }

    #[test]
    fn the_usual_model_is_one_that_is_listed() {
        let listed = ["claude-sonnet-5-5".to_owned(), "openrouter/auto".to_owned()];
        let usual = |service: HostedService| service.usual_model(&listed);
        assert_eq!(usual(HostedService::Anthropic).as_deref(), Some("claude-sonnet-5-5"));
        assert_eq!(usual(HostedService::OpenRouter).as_deref(), Some("openrouter/auto"));
        assert_eq!(usual(HostedService::Gemini), None);
    }
}
