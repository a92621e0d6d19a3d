//! What is asked of a running server besides calls of its tools: its lists, a resource, a prompt.

use std::collections::BTreeMap;

use rmcp::model::{
    ClientRequest, GetPromptRequest, GetPromptRequestParams, ListPromptsRequest,
    ListResourceTemplatesRequest, ListResourcesRequest, ListToolsRequest, PaginatedRequestParams,
    ReadResourceRequest, ReadResourceRequestParams, ServerCapabilities,
};
use serde_json::Value;

use super::call_result::{McpCallResult, read_prompt_result, read_resource_result};
use super::connection::{McpConnection, McpError};
use super::lists::{McpList, McpListKind, McpToolDefinition, TOOL_LIST};
use super::offers::{McpOffers, PROMPT_LIST, RESOURCE_LIST, TEMPLATE_LIST};
use super::rounds::RoundInput;

/// The most pages of a list; some servers' lists have no end.
const MAX_PAGES: usize = 64;

impl McpConnection {
    /// The tools of the server, and a sentence for each that was left out.
    ///
    /// # Errors
    ///
    /// When a page cannot be had; a server without tools has an empty list.
    pub(super) async fn list_tools(
        &self,
    ) -> Result<(Vec<McpToolDefinition>, Vec<String>), McpError> {
        if self.capabilities().is_some_and(|can| can.tools.is_none()) {
            return Ok(Default::default());
        }
        self.list(TOOL_LIST, |params| {
            let request = ListToolsRequest { params: Some(params), ..Default::default() };
            ClientRequest::ListToolsRequest(request)
        })
        .await
    }

    /// The resources and prompts of the server. A list that cannot be had is empty, and a sentence
    /// says why.
    pub(super) async fn list_offers(&self) -> McpOffers {
        let mut offers = McpOffers::default();
        let ServerCapabilities { resources, prompts, .. } = self.capabilities().unwrap_or_default();
        if resources.is_some() {
            let listed = self.list(RESOURCE_LIST, |params| {
                let request = ListResourcesRequest { params: Some(params), ..Default::default() };
                ClientRequest::ListResourcesRequest(request)
            });
            offers.resources = offers.take("resources", listed.await);
            let listed = self.list(TEMPLATE_LIST, |params| {
                let params = Some(params);
                let request = ListResourceTemplatesRequest { params, ..Default::default() };
                ClientRequest::ListResourceTemplatesRequest(request)
            });
            // Many servers with resources know nothing of templates.
            offers.templates = match listed.await {
                Err(McpError::Refused(_)) => Vec::new(),
                listed => offers.take("resource templates", listed),
            };
        }
        if prompts.is_some() {
            let listed = self.list(PROMPT_LIST, |params| {
                let request = ListPromptsRequest { params: Some(params), ..Default::default() };
                ClientRequest::ListPromptsRequest(request)
            });
            offers.prompts = offers.take("prompts", listed.await);
        }
        offers
    }

    /// Reads a list page by page.
    async fn list<T>(
        &self,
        kind: McpListKind<T>,
        request: impl Fn(PaginatedRequestParams) -> ClientRequest,
    ) -> Result<(Vec<T>, Vec<String>), McpError> {
        let (mut list, mut cursor) = (McpList::new(kind), None);
        for _ in 0..MAX_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor.take());
            let reply = self.request(request(params), self.limits.start).await?;
            cursor = list.add(&reply).map_err(McpError::Unreadable)?;
            if cursor.is_none() {
                break;
            }
        }
        Ok(list.finish())
    }

    /// Reads a resource. Dropping the future cancels that on the server.
    ///
    /// # Errors
    ///
    /// When the server does not answer in time, is gone, or answers with an error.
    pub(super) async fn read_resource(&self, uri: &str) -> Result<McpCallResult, McpError> {
        let request = |RoundInput { responses, state }: RoundInput| {
            let mut params = ReadResourceRequestParams::new(uri);
            (params.input_responses, params.request_state) = (responses, state);
            ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
        };
        let reply = self.request_in_rounds(request, self.limits.idle, |_| {}).await?;
        read_resource_result(&reply).map_err(McpError::Unreadable)
    }

    /// Has the server fill a prompt in. Dropping the future cancels that on the server.
    ///
    /// # Errors
    ///
    /// When the server does not answer in time, is gone, or answers with an error.
    pub(super) async fn prompt(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> Result<McpCallResult, McpError> {
        let arguments = arguments.iter().map(|(name, it)| (name.clone(), Value::from(it.as_str())));
        let params = GetPromptRequestParams::new(name).with_arguments(arguments.collect());
        let request = |RoundInput { responses, state }: RoundInput| {
            let mut params = params.clone();
            (params.input_responses, params.request_state) = (responses, state);
            ClientRequest::GetPromptRequest(GetPromptRequest::new(params))
        };
        let reply = self.request_in_rounds(request, self.limits.idle, |_| {}).await?;
        read_prompt_result(&reply).map_err(McpError::Unreadable)
    }
}
