//! Where the first run looks: the usual local ports and the environment.

use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use secrecy::SecretString;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::config::services;
use crate::domain::ProviderProtocol;

use super::{DetectedApiKey, DetectedServer, FirstRunEndpoint, FirstRunEvent, FirstRunJob};

/// Who usually listens where on this machine.
const LOCAL: [(&str, &str); 4] = [
    ("vLLM", "http://localhost:8000/v1"),
    ("llama.cpp", "http://localhost:8080/v1"),
    ("Ollama", "http://localhost:11434/v1"),
    ("LM Studio", "http://localhost:1234/v1"),
];

/// How long a server on this machine may take to say what it serves.
const MODEL_LIST_TIMEOUT: Duration = Duration::from_secs(3);

/// The protocols whose own services keys are looked for, in the order in which they are shown.
/// Chat completions are not among them: who has OpenAI's key is offered its newer protocol.
const SERVICES: [ProviderProtocol; 3] =
    [ProviderProtocol::Responses, ProviderProtocol::Anthropic, ProviderProtocol::Gemini];

/// The keys that the environment has.
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

/// Where a server stands among the others.
pub fn rank(endpoint: &str) -> usize {
    LOCAL.iter().position(|(_, known)| *known == endpoint).unwrap_or(LOCAL.len())
}

/// Does a job. `list_models` asks a server for the ids of its models; its error is a sentence for the person.
pub async fn run_job<F>(
    job: FirstRunJob,
    notes: mpsc::Sender<FirstRunEvent>,
    list_models: impl Fn(FirstRunEndpoint) -> F,
) where
    F: Future<Output = Result<Vec<String>, String>>,
{
    // Nobody listens any more once the screen is gone: then there is nothing left to do.
    match job {
        FirstRunJob::FindServers => {
            let mut asked: FuturesUnordered<_> = LOCAL
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
                    if notes.send(FirstRunEvent::Found(server)).await.is_err() {
                        return;
                    }
                }
            }
            drop(notes.send(FirstRunEvent::SearchFinished).await);
        }
        FirstRunJob::Check { id, target } => {
            let models = list_models(target).await;
            drop(notes.send(FirstRunEvent::Checked { id, models }).await);
        }
    }
}
