//! One provider for all protocols over HTTP: sends a request, waits for the server's rate limiter,
//! and streams the response. What differs from protocol to protocol is a [`WireProtocol`].
//!
//! The whole way of a response is one pump, [`ResponsePump`]: it ends the stream at its terminal event,
//! at its first error, and on cancellation, which closes the connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use reqwest::RequestBuilder;
use reqwest::header::HeaderMap;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::client::ModelServerClient;
use super::connection_config::ConnectionConfig;
use super::listing::ServerModelList;
use super::reader::{ResponseReader, StreamDecoder};
use super::{
    CapabilitySupport, ErrorRecovery, ModelCapabilities, ModelInfo, Provider, ProviderError,
    ProviderRequest, StreamEvent, retry,
};
use crate::domain::ProviderProtocol;
use crate::net::{HttpBody, Permit, RateLimited};

/// A wire protocol: how a request is written, where the models are listed, and how a stream is
/// decoded.
pub(super) trait WireProtocol: Send + Sync + 'static {
    /// Its name.
    const PROTOCOL: ProviderProtocol;
    /// Decodes the response to one request.
    type Decoder: StreamDecoder;

    /// The protocol as the server that `config` describes speaks it.
    fn new(config: &ConnectionConfig) -> Self;

    /// The HTTP request for `request`, with its body.
    ///
    /// # Errors
    ///
    /// Fails if the HTTP client cannot be built.
    fn post(
        &self,
        client: &ModelServerClient,
        request: &ProviderRequest,
    ) -> Result<RequestBuilder, ProviderError>;

    /// The HTTP request for the list of models.
    ///
    /// # Errors
    ///
    /// Fails if the HTTP client cannot be built.
    fn model_list(&self, client: &ModelServerClient) -> Result<RequestBuilder, ProviderError>;

    /// The decoder of the response to `request`.
    fn decoder(&self, request: &ProviderRequest) -> Self::Decoder;

    /// Learns about the server from the headers of a response.
    fn learn_from_headers(&self, _headers: &HeaderMap) {}

    /// Learns about the server from its list of models.
    fn learn_from_list(&self, _list: &ServerModelList) {}

    /// Learns that the server takes no tools with `model`. Returns whether the protocol can do
    /// without: then it describes them in the prompt from now on.
    fn learn_tools_are_refused(&self, _model: &str) -> bool {
        false
    }

    /// What the protocol knows about `model`.
    fn capabilities(&self, _model: &str) -> ModelCapabilities {
        ModelCapabilities::default()
    }
}

/// The provider of a server that speaks `P`.
pub(super) struct ProtocolProvider<P>(Arc<ProtocolServer<P>>);

/// A server, and how it speaks its protocol.
struct ProtocolServer<P> {
    client: ModelServerClient,
    protocol: P,
    /// What the server's list has said about its models, by their names.
    listed: Mutex<HashMap<String, ModelCapabilities>>,
}

impl<P: WireProtocol> ProtocolProvider<P> {
    /// A provider for the server that `config` describes. Sends nothing yet.
    pub(super) fn new(config: ConnectionConfig) -> Self {
        let protocol = P::new(&config);
        let client = ModelServerClient::new(config, P::PROTOCOL.key_header());
        Self(Arc::new(ProtocolServer { client, protocol, listed: Mutex::default() }))
    }
}

impl<P: WireProtocol> ProtocolServer<P> {
    /// Sends the request; returns once the server has begun to answer.
    async fn open(
        &self,
        request: &ProviderRequest,
    ) -> Result<ResponseReader<HttpBody, P::Decoder>, ProviderError> {
        let Self { client, protocol, .. } = self;
        let post = protocol.post(client, request)?;
        let decoder = protocol.decoder(request);
        match client.ask(post, &request.model).await {
            Ok(response) => {
                protocol.learn_from_headers(response.headers());
                let (body, target) = response.into_body();
                Ok(ResponseReader::new(body, decoder, target))
            }
            // A refusal that contains the model's text is a response, although the server could not
            // parse it.
            Err(refusal) => {
                let target = client.site(&request.model).await?;
                let mut error = refusal.error;
                if error.recovery == ErrorRecovery::DescribeTools
                    && !protocol.learn_tools_are_refused(&request.model)
                {
                    error.recovery = ErrorRecovery::AskUser;
                }
                ResponseReader::of_refusal(&refusal.body, decoder, target).ok_or(error)
            }
        }
    }
}

#[async_trait]
impl<P: WireProtocol> Provider for ProtocolProvider<P> {
    fn stream(
        &self,
        request: ProviderRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let phase = AnswerPhase::Waiting(None);
        let pump = ResponsePump { server: Arc::clone(&self.0), request, phase };
        let pumped = stream::unfold((pump, cancel), |(mut pump, cancel)| async move {
            let event = tokio::select! {
                biased;
                () = cancel.cancelled() => return None,
                event = pump.next() => event?,
            };
            Some((event, (pump, cancel)))
        });
        pumped.boxed()
    }

    async fn models(&self) -> Result<Vec<ModelInfo>, ProviderError> {
        let ProtocolServer { client, protocol, listed } = &*self.0;
        let list = client.list(protocol.model_list(client)?).await?;
        protocol.learn_from_list(&list);
        *listed.lock().unwrap_or_else(PoisonError::into_inner) = list.capabilities;
        Ok(list.models)
    }

    fn capabilities(&self, model: &str) -> ModelCapabilities {
        let ProtocolServer { protocol, listed, .. } = &*self.0;
        let listed = listed.lock().unwrap_or_else(PoisonError::into_inner).get(model).copied();
        // Every protocol is asked for streams only.
        let streaming = CapabilitySupport::Supported;
        let by_protocol = ModelCapabilities { streaming, ..protocol.capabilities(model) };
        let mut known = by_protocol.or(listed.unwrap_or_default());
        // Tools are declared wherever the protocol does not describe them.
        if by_protocol.tools != CapabilitySupport::Unsupported
            && known.tools == CapabilitySupport::Unsupported
        {
            known.tools = CapabilitySupport::Unknown;
        }
        known
    }

    fn is_local(&self) -> bool {
        self.0.client.endpoint.is_local()
    }

    fn host(&self) -> Option<&str> {
        self.0.client.host()
    }
}

/// A request on its way from the rate limiter to the end of its response.
struct ResponsePump<P: WireProtocol> {
    server: Arc<ProtocolServer<P>>,
    request: ProviderRequest,
    phase: AnswerPhase<P::Decoder>,
}

enum AnswerPhase<D> {
    /// The request has not been sent. The user has been told about the pause until this time.
    Waiting(Option<Instant>),
    Reading(
        Box<ResponseReader<HttpBody, D>>,
        #[allow(dead_code, reason = "held, not used")] Permit,
    ),
    Over,
}

impl<P: WireProtocol> ResponsePump<P> {
    async fn next(&mut self) -> Option<Result<StreamEvent, ProviderError>> {
        let next = match &mut self.phase {
            AnswerPhase::Over => return None,
            AnswerPhase::Waiting(until) => {
                if let Some(until) = *until {
                    sleep_until(until).await;
                }
                self.begin().await?
            }
            AnswerPhase::Reading(reader, _) => reader.next().await?,
        };
        if matches!(next, Err(_) | Ok(StreamEvent::Finished(_))) {
            self.phase = AnswerPhase::Over;
        }
        Some(next.inspect_err(|error| {
            if let Some(pause) = retry::pause_of_all(error) {
                self.server.client.rate_limiter.pause(pause, &error.message, Instant::now());
            }
        }))
    }

    /// Sends the request, unless the server has asked for a pause.
    async fn begin(&mut self) -> Option<Result<StreamEvent, ProviderError>> {
        let limiter = &self.server.client.rate_limiter;
        let permit = match limiter.active_limit(Instant::now()) {
            None => limiter.acquire().await?,
            Some(limit) => return Some(Ok(self.wait(limit))),
        };
        // While this request waited for a permit, the server may have refused another one.
        if let Some(limit) = self.server.client.rate_limiter.active_limit(Instant::now()) {
            return Some(Ok(self.wait(limit)));
        }
        Some(self.server.open(&self.request).await.map(|reader| {
            self.phase = AnswerPhase::Reading(Box::new(reader), permit);
            StreamEvent::Started
        }))
    }

    fn wait(&mut self, limit: RateLimited) -> StreamEvent {
        self.phase = AnswerPhase::Waiting(Some(Instant::now() + limit.wait));
        StreamEvent::RateLimited(limit)
    }
}
