//! Where the first run looks: the usual local ports and the environment.

use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use secrecy::SecretString;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::domain::Protocol;

use super::{FoundKey, Job, Note, Server, Serves};

/// Who usually listens where on this machine.
const LOCAL: [(&str, &str); 4] = [
    ("vLLM", "http://localhost:8000/v1"),
    ("llama.cpp", "http://localhost:8080/v1"),
    ("Ollama", "http://localhost:11434/v1"),
    ("LM Studio", "http://localhost:1234/v1"),
];

/// How long a server on this machine may take to say what it serves.
const PATIENCE: Duration = Duration::from_secs(3);

/// The keys that the environment has, in the order in which they are shown.
pub fn found_keys(read: impl Fn(&str) -> Option<String>) -> Vec<FoundKey> {
    let known = [
        ("OPENAI_API_KEY", Protocol::ChatCompletions),
        ("ANTHROPIC_API_KEY", Protocol::Anthropic),
        ("GEMINI_API_KEY", Protocol::Gemini),
    ];
    let found = known.into_iter().filter_map(|(variable, protocol)| {
        let key = read(variable).filter(|key| !key.trim().is_empty())?;
        let serves = match protocol {
            Protocol::ChatCompletions => Serves::ChatCompletions {
                endpoint: "https://api.openai.com/v1",
                key: SecretString::from(key.trim()),
            },
            Protocol::Anthropic | Protocol::Gemini | Protocol::Responses => {
                Serves::Another(protocol)
            }
        };
        Some(FoundKey { variable, serves })
    });
    found.collect()
}

/// Where a server stands among the others.
pub fn rank(endpoint: &str) -> usize {
    LOCAL.iter().position(|(_, known)| *known == endpoint).unwrap_or(LOCAL.len())
}

/// Does a job. `list_models` asks the server at an address, with a key, for the ids of its
/// models; its error is a sentence for the person.
pub async fn work<F>(
    job: Job,
    notes: mpsc::Sender<Note>,
    list_models: impl Fn(String, Option<SecretString>) -> F,
) where
    F: Future<Output = Result<Vec<String>, String>>,
{
    // Nobody listens any more once the screen is gone: then there is nothing left to do.
    match job {
        Job::Look => {
            let mut asked: FuturesUnordered<_> = LOCAL
                .into_iter()
                .map(|(name, endpoint)| {
                    let models = timeout(PATIENCE, list_models(endpoint.to_owned(), None));
                    async move { (name, endpoint, models.await) }
                })
                .collect();
            while let Some((name, endpoint, models)) = asked.next().await {
                if let Ok(Ok(models)) = models {
                    let server = Server { name, endpoint: endpoint.to_owned(), models };
                    if notes.send(Note::Found(server)).await.is_err() {
                        return;
                    }
                }
            }
            drop(notes.send(Note::Looked).await);
        }
        Job::Check { id, endpoint, key } => {
            let models = list_models(endpoint, key).await;
            drop(notes.send(Note::Checked { id, models }).await);
        }
    }
}
