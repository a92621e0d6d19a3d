//! What a server of a session offers besides tools: waiting for its lists, reading a resource, filling in
//! a prompt.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::call_result::McpCallResult;
use super::connection::McpError;
use super::offers::McpOffers;
use super::server::McpServer;

impl McpServer {
    /// The resources and prompts of the server; waits where they are being read for the first time.
    pub(super) async fn offers(
        &self,
        cancel: &CancellationToken,
    ) -> Result<Arc<McpOffers>, McpError> {
        let limit = self.definition.limits.start;
        let mut offers = self.offers.subscribe();
        let read = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(McpError::Cancelled),
            read = tokio::time::timeout(limit, offers.wait_for(Option::is_some)) => read,
        };
        match read {
            Ok(Ok(offers)) => Ok(offers.clone().unwrap_or_default()),
            // The sender is gone only with the server.
            Ok(Err(_)) | Err(_) => Err(McpError::TimedOut(limit)),
        }
    }

    /// Reads a resource of the server, which is started first where it has ended.
    pub(super) async fn read_resource(
        self: &Arc<Self>,
        uri: &str,
        cancel: &CancellationToken,
    ) -> Result<McpCallResult, McpError> {
        let read = async { self.connected().await?.read_resource(uri).await };
        self.bounded(read, cancel).await
    }

    /// Has the server fill a prompt in; it is started first where it has ended.
    pub(super) async fn prompt(
        self: &Arc<Self>,
        name: &str,
        arguments: &BTreeMap<String, String>,
        cancel: &CancellationToken,
    ) -> Result<McpCallResult, McpError> {
        let filled = async { self.connected().await?.prompt(name, arguments).await };
        self.bounded(filled, cancel).await
    }

    /// The outcome of a request, unless the server may not run or the user stops it.
    async fn bounded<T>(
        &self,
        request: impl Future<Output = Result<T, McpError>>,
        cancel: &CancellationToken,
    ) -> Result<T, McpError> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let answered = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(McpError::Cancelled),
            answered = request => answered,
        };
        self.note_failure(&answered);
        answered
    }
}
