//! What a server of a session offers: what models are told of, waiting for lists, reading a resource, filling in
//! a prompt.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::tools::READ_RESOURCE_TOOL;

use super::call_result::McpCallResult;
use super::connection::McpError;
use super::lists::McpToolDefinition;
use super::names::{model_tool_name, resources_name};
use super::offers::McpOffers;
use super::server::McpServer;

impl McpServer {
    /// The names of its tools that models are told of: those that are not denied.
    pub(super) fn visible_tools(&self) -> impl Iterator<Item = String> {
        let name = |tool: &McpToolDefinition| model_tool_name(&self.definition.name, &tool.name);
        let names: Vec<String> = self.tools().iter().map(name).collect();
        names.into_iter().filter(|name| !self.surroundings.denied.has(name))
    }

    /// Whether it has resources, and models may read them.
    pub(super) fn has_visible_resources(&self) -> bool {
        let denied = &self.surroundings.denied;
        self.has_resources()
            && !denied.has(READ_RESOURCE_TOOL)
            && !denied.has(&resources_name(&self.definition.name))
    }

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
