//! What a turn waits for: the pieces of a response, its calls, the `Stop` hooks, and the end of a pause.
//! Each of them waits for ever where nothing of its kind runs, so that all can stand in one `select!`.

use std::future::pending;

use tokio::task::JoinHandle;

use crate::domain::ToolCall;
use crate::hooks::MergedHookVerdict;
use crate::providers::{ProviderError, StreamEvent};

use super::answer_stream::AnswerStream;

/// The calls of a response, while they run.
pub(super) struct CallBatch {
    pub(super) calls: Vec<ToolCall>,
    pub(super) running: JoinHandle<()>,
}

pub(super) async fn next_piece(
    stream: &mut Option<AnswerStream>,
) -> Option<Result<StreamEvent, ProviderError>> {
    match stream {
        Some(stream) => stream.next().await,
        None => pending().await,
    }
}

/// Waits for the running calls. Returns them if the batch ended abnormally.
pub(super) async fn finished(batch: &mut Option<CallBatch>) -> Option<Vec<ToolCall>> {
    let ended = match batch {
        Some(batch) => (&mut batch.running).await,
        None => pending().await,
    };
    let batch = batch.take()?;
    ended.err().map(|error| {
        tracing::error!(%error, "a batch of calls ended abnormally");
        batch.calls
    })
}

/// Waits for the `Stop` hooks. When they fail, the turn ends.
pub(super) async fn asked_hooks(
    ending: &mut Option<JoinHandle<MergedHookVerdict>>,
) -> MergedHookVerdict {
    let merged = match ending {
        Some(ending) => ending.await,
        None => pending().await,
    };
    *ending = None;
    merged.unwrap_or_else(|error| {
        tracing::error!(%error, "asking hooks ended abnormally");
        MergedHookVerdict::default()
    })
}

pub(super) async fn wait_until(when: Option<tokio::time::Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when).await,
        None => pending().await,
    }
}
