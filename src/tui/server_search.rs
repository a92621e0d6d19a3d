//! Searches for models that slug could start with: the usual local ports, and the environment.

use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use secrecy::SecretString;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::config::services;
use crate::domain::ProviderProtocol;

use super::app::startup::{
    DetectedApiKey, DetectedServer, FirstRunEndpoint, FirstRunEvent, FirstRunJob, LOCAL_SERVERS,
};

/// How long a server on this machine may take to list its models.
const MODEL_LIST_TIMEOUT: Duration = Duration::from_secs(3);

/// Protocols whose service's key is looked for in the environment, in the order of the page. Chat
/// completions is not among them: for OpenAI's key its newer protocol is offered.
const SERVICES: [ProviderProtocol; 3] =
    [ProviderProtocol::Responses, ProviderProtocol::Anthropic, ProviderProtocol::Gemini];

/// The keys of known services in the environment, which `read` gives access to.
pub fn found_keys(read: impl Fn(&str) -> Option<String>) -> Vec<DetectedApiKey> {
    let found = SERVICES.into_iter().filter_map(|protocol| {
        let service = services::of(protocol);
        let variable = service.key_variable;
        let key = read(variable).filter(|key| !key.trim().is_empty())?;
        let key = SecretString::from(key.trim());
        Some(DetectedApiKey { variable, service: service.endpoint, protocol, key })
    });
    found.collect()
}

/// Runs a job and sends its results. `list_models` asks a server for the ids of its models; its
/// error is a sentence for the user.
pub async fn run_job<F>(
    job: FirstRunJob,
    events: mpsc::Sender<FirstRunEvent>,
    list_models: impl Fn(FirstRunEndpoint) -> F,
) where
    F: Future<Output = Result<Vec<String>, String>>,
{
    // A failed send means that the page is over: nothing is left to do.
    match job {
        FirstRunJob::FindServers => {
            let mut asked: FuturesUnordered<_> = LOCAL_SERVERS
                .into_iter()
                .map(|(name, endpoint)| {
                    let target = FirstRunEndpoint::local(endpoint.to_owned(), None);
                    let models = timeout(MODEL_LIST_TIMEOUT, list_models(target));
                    async move { (name, endpoint, models.await) }
                })
                .collect();
            while let Some((name, endpoint, models)) = asked.next().await {
                if let Ok(Ok(models)) = models {
                    let server = DetectedServer { name, endpoint: endpoint.to_owned(), models };
                    if events.send(FirstRunEvent::Found(server)).await.is_err() {
                        return;
                    }
                }
            }
            drop(events.send(FirstRunEvent::SearchFinished).await);
        }
        FirstRunJob::Check { id, target } => {
            let models = list_models(target).await;
            drop(events.send(FirstRunEvent::Checked { id, models }).await);
        }
    }
}
