//! The requests of a login, by slug's own HTTP client: its proxies, its certificates, no redirects to
//! other places. The secret of a client that a server registers is noted for the login's file: the
//! library forgets it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest,
};

use crate::net::{HttpClient, HttpEndpoint, PlainHttp};

use super::credentials::McpCredentials;

/// The most bytes of an answer; the documents of a login have a few kilobytes.
const MAX_ANSWER: usize = 1024 * 1024;

const DEFAULT_LIMIT: Duration = Duration::from_secs(30);

/// Sends the requests of a login.
pub(in crate::mcp) struct LoginRequests {
    http: Arc<HttpClient>,
    /// Whether the server itself is on this machine; only then may it name others that are.
    is_local: bool,
    credentials: McpCredentials,
}

impl LoginRequests {
    pub(in crate::mcp) fn new(
        http: Arc<HttpClient>,
        is_local: bool,
        credentials: McpCredentials,
    ) -> Self {
        Self { http, is_local, credentials }
    }

    async fn send(
        &self,
        request: OAuthHttpRequest,
    ) -> Result<http::Response<Vec<u8>>, OAuthHttpClientError> {
        let limit = request.timeout.unwrap_or(DEFAULT_LIMIT);
        let url = request.request.uri().to_string();
        let endpoint = HttpEndpoint::parse(&url, PlainHttp::LoopbackOnly)?;
        if endpoint.is_local() && !self.is_local {
            return Err(
                format!("{} is on this machine, and the server is not", endpoint.origin()).into()
            );
        }
        let request = reqwest::Request::try_from(request.request)?;
        let client = self.http.client(&endpoint).map_err(|error| error.to_string())?;
        let exchange = async {
            let response = client.execute(request).await?;
            let mut answer = http::Response::builder().status(response.status());
            for (name, value) in response.headers() {
                answer = answer.header(name, value);
            }
            let mut body = Vec::new();
            let mut pieces = response.bytes_stream();
            while let Some(piece) = pieces.next().await {
                let piece = piece?;
                if piece.len() > MAX_ANSWER - body.len() {
                    return Err(format!("its answer is longer than {MAX_ANSWER} bytes").into());
                }
                body.extend_from_slice(&piece);
            }
            let answer = answer.body(body)?;
            if answer.status().is_success() {
                self.credentials.note_registration(answer.body());
            }
            Ok(answer)
        };
        match tokio::time::timeout(limit, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("it did not answer within {} seconds", limit.as_secs()).into()),
        }
    }
}

impl OAuthHttpClient for LoginRequests {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(self.send(request))
    }
}
