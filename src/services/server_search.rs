//! Searches for models that slug could start with: the usual local ports, and the environment.

use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use secrecy::SecretString;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::providers::ProviderFault;

use super::connect::{
    ConnectEvent, ConnectFailure, ConnectJob, ConnectTarget, DetectedApiKey, DetectedServer,
    HostedService, LOCAL_SERVERS, ServerAccess,
};

/// How long a server on this machine may take to list its models.
const MODEL_LIST_TIMEOUT: Duration = Duration::from_secs(3);

/// The keys of known services in the environment, which `read` gives access to.
pub fn found_keys(read: impl Fn(&str) -> Option<String>) -> Vec<DetectedApiKey> {
    let found = HostedService::ALL.into_iter().filter_map(|service| {
        let variable = service.key_variable()?;
        let key = read(variable).filter(|key| !key.trim().is_empty())?;
        let key = SecretString::from(key.trim());
        Some(DetectedApiKey { variable, service, key })
    });
    found.collect()
}

/// Asks the usual local servers for their models, and sends each that answers, also one that wants a
/// key first. `list_models` asks a server for the ids of its models.
pub async fn run_search<F>(
    events: mpsc::Sender<ConnectEvent>,
    list_models: impl Fn(ConnectTarget) -> F,
) where
    F: Future<Output = Result<Vec<String>, ConnectFailure>>,
{
    let mut asked: FuturesUnordered<_> = LOCAL_SERVERS
        .into_iter()
        .map(|(name, endpoint)| {
            let target = ConnectTarget::server(endpoint.to_owned(), None);
            let models = timeout(MODEL_LIST_TIMEOUT, list_models(target));
            async move { (name, endpoint, models.await) }
        })
        .collect();
    while let Some((name, endpoint, models)) = asked.next().await {
        let (models, access) = match models {
            Ok(Ok(models)) => (models, ServerAccess::Open),
            Ok(Err(failure)) if failure.fault == ProviderFault::KeyRefused => {
                (Vec::new(), ServerAccess::WantsKey)
            }
            Ok(Err(_)) | Err(_) => continue,
        };
        let server = DetectedServer { name, endpoint: endpoint.to_owned(), models, access };
        // A failed send means that the page is over: nothing is left to do.
        if events.send(ConnectEvent::Found(server)).await.is_err() {
            return;
        }
    }
    drop(events.send(ConnectEvent::SearchFinished).await);
}

/// Runs a job of the first run, on which nothing is configured yet, and sends its results.
pub async fn run_job<F>(
    job: ConnectJob,
    events: mpsc::Sender<ConnectEvent>,
    list_models: impl Fn(ConnectTarget) -> F,
) where
    F: Future<Output = Result<Vec<String>, ConnectFailure>>,
{
    match job {
        ConnectJob::FindServers => run_search(events, list_models).await,
        ConnectJob::Check { id, target } => {
            let models = list_models(target).await;
            drop(events.send(ConnectEvent::Checked { id, models }).await);
        }
        // The caller of the first run writes the choice down, and there is nothing else to change.
        ConnectJob::Test { .. } | ConnectJob::Save { .. } | ConnectJob::Remove { .. } => {}
    }
}
