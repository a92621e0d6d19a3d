//! Turns the bytes of a response into events, for every streaming protocol.
//!
//! A response is complete when its protocol's terminal sign has come; the end of the bytes alone
//! proves nothing. The first byte tells whether something else came instead of a stream (an error,
//! a whole response, a web page), because servers send wrong content types.

#[cfg(test)]
pub(super) mod testing;

use std::time::Duration;
use std::vec::IntoIter;

use futures_util::{Stream, StreamExt, stream};
use tokio::task::coop::consume_budget;
use tokio::time::{Instant, timeout_at};

use super::failure::{self, RequestTarget};
use super::json::{JsonTape, JsonTapeError, JsonView};
use super::response_size::KeptSize;
use super::sse::{self, SseFlow};
use super::{ErrorRecovery, ProviderError, StreamEvent};
use crate::net::TimeoutError;

/// The most bytes of a response that is not a stream.
const WHOLE_ANSWER: usize = 16 << 20;

/// The most white space before a response that is buffered.
const BLANK_HEAD: usize = 4 << 10;

/// How long a server may keep the connection open behind a complete response.
const TRAILER_LIMIT: Duration = Duration::from_secs(5);

/// Turns the JSON values of one protocol's stream into [`StreamEvent`]s.
pub(super) trait StreamDecoder: Send + 'static {
    /// Whether `[DONE]` ends a response that has had no other terminal sign.
    const DONE_ENDS: bool = false;

    /// Decodes one value of the stream.
    fn value(
        &mut self,
        value: StreamedValue<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<DecoderFlow, ProviderError>;

    /// Decodes a response that came in one piece, which ends it.
    fn whole(
        &mut self,
        value: StreamedValue<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError>;

    /// How much of the response it has kept so far, whether it passed it on later or not.
    fn kept(&self) -> KeptSize;

    /// Whether a terminal sign has come. Errors behind it do no harm.
    fn is_complete(&self) -> bool;

    /// Ends a complete response whose stream has ended.
    fn finish(&mut self, out: &mut Vec<StreamEvent>);

    /// Handles an error that came instead of a response or within it, and ends the response. `Ok` if
    /// the error holds the response.
    fn failed(
        &mut self,
        payload: &str,
        target: &RequestTarget,
        _out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        Err(failure::of_stream(target, payload))
    }
}

/// A value of a stream.
#[derive(Clone, Copy)]
pub(super) struct StreamedValue<'a> {
    pub(super) json: JsonView<'a>,
    /// As the server sent it.
    pub(super) text: &'a str,
    /// The server that answers, for error messages.
    pub(super) target: &'a RequestTarget,
}

impl StreamedValue<'_> {
    /// What a value means that reports an error.
    pub(super) fn error(&self) -> ProviderError {
        failure::of_stream(self.target, self.text)
    }
}

/// Whether the decoder needs more input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DecoderFlow {
    /// The response goes on.
    More,
    /// The response has ended.
    Over,
}

/// Where the bytes of a response come from.
pub(super) trait ByteSource: Send {
    /// Adds the next bytes to `buffer`; `None` at the end. Nothing is lost when it is dropped.
    fn read(
        &mut self,
        buffer: &mut Vec<u8>,
    ) -> impl Future<Output = Option<Result<(), ProviderError>>> + Send;
}

/// The bytes of a stream of pieces.
struct PieceSource<S>(S);

impl<S, B> ByteSource for PieceSource<S>
where
    S: Stream<Item = Result<B, ProviderError>> + Unpin + Send,
    B: AsRef<[u8]> + Send,
{
    async fn read(&mut self, buffer: &mut Vec<u8>) -> Option<Result<(), ProviderError>> {
        Some(self.0.next().await?.map(|piece| buffer.extend_from_slice(piece.as_ref())))
    }
}

/// Decodes the body of a response. Ends after `Finished` or the first error.
pub(super) fn decode<S, B>(
    bytes: S,
    target: RequestTarget,
    decoder: impl StreamDecoder,
) -> impl Stream<Item = Result<StreamEvent, ProviderError>> + Send + 'static
where
    S: Stream<Item = Result<B, ProviderError>> + Send + 'static,
    B: AsRef<[u8]> + Send + 'static,
{
    let reader = ResponseReader::new(PieceSource(Box::pin(bytes.fuse())), decoder, target);
    // Boxed, because the reader moves for each event.
    stream::unfold(Box::new(reader), |mut reader| async move {
        let event = reader.next().await?;
        Some((event, reader))
    })
}

/// The error for an event that does not follow the protocol.
fn unreadable(target: &RequestTarget, error: &JsonTapeError) -> ProviderError {
    ProviderError {
        message: format!("{} sent a piece that is not JSON ({error}).", target.http.server),
        status: None,
        recovery: ErrorRecovery::Retry,
    }
}

/// Reads as many bytes as the decoder needs.
pub(super) struct ResponseReader<S, D> {
    source: ResponseSource<S>,
    response: DecodedResponse<D>,
    /// The events of the last bytes that have not been taken yet, and the error behind them.
    ready: IntoIter<StreamEvent>,
    failure: Option<ProviderError>,
}

/// The decoder with what it reads into.
struct DecodedResponse<D> {
    decoder: D,
    target: RequestTarget,
    tape: JsonTape,
    out: Vec<StreamEvent>,
}

enum ResponseSource<S> {
    Unread(S),
    Events(Box<SseStream<S>>),
    Over,
}

/// A stream of server-sent events that has begun.
struct SseStream<S> {
    bytes: S,
    parser: sse::SseParser,
    /// The bytes that were read last and are not parsed yet.
    buffer: Vec<u8>,
    /// When reading behind a complete response stops.
    closing: Option<Instant>,
    /// When the last event came, or the wait for the first byte began.
    last: Instant,
}

impl<D: StreamDecoder> DecodedResponse<D> {
    fn new(decoder: D, target: RequestTarget) -> Self {
        Self { decoder, target, tape: JsonTape::default(), out: Vec::new() }
    }

    fn event(&mut self, event: sse::SseEvent<'_>) -> Result<DecoderFlow, ProviderError> {
        let Self { decoder, target, tape, out } = self;
        let text = event.data.trim();
        if event.name == "error" {
            return decoder.failed(text, target, out).map(|()| DecoderFlow::Over);
        }
        match text {
            "" => Ok(DecoderFlow::More),
            "[DONE]" if D::DONE_ENDS || decoder.is_complete() => {
                decoder.finish(out);
                Ok(DecoderFlow::Over)
            }
            "[DONE]" => Ok(DecoderFlow::More),
            _ => match tape.read(text) {
                Ok(json) => {
                    let flow = decoder.value(StreamedValue { json, text, target }, out)?;
                    decoder.kept().check()?;
                    Ok(flow)
                }
                // A broken piece after a complete response does no harm.
                Err(_) if decoder.is_complete() => Ok(DecoderFlow::More),
                Err(error) => Err(unreadable(target, &error)),
            },
        }
    }

    fn whole(&mut self, text: &str) -> Result<(), ProviderError> {
        let Self { decoder, target, tape, out } = self;
        match tape.read(text) {
            Ok(json) => decoder.whole(StreamedValue { json, text, target }, out),
            Err(_) => decoder.failed(text, target, out),
        }
    }

    /// Fails if only keep-alives have come since `since` and the limit for them is over.
    fn keeps_on(&self, since: Instant) -> Result<(), ProviderError> {
        match self.target.keep_alives {
            Some(limit) if since.elapsed() > limit => {
                let server = &self.target.http.server;
                Err(TimeoutError::KeepAlives(limit).into_transport_error(server).into())
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl<S: ByteSource, D: StreamDecoder> ResponseReader<S, D> {
    /// A reader of the response in `bytes`.
    pub(super) fn new(bytes: S, decoder: D, target: RequestTarget) -> Self {
        Self {
            source: ResponseSource::Unread(bytes),
            response: DecodedResponse::new(decoder, target),
            ready: Vec::new().into_iter(),
            failure: None,
        }
    }

    /// A reader of the response that the body of a refusal holds; `None` if it holds none.
    pub(super) fn of_refusal(body: &str, decoder: D, target: RequestTarget) -> Option<Self> {
        let mut response = DecodedResponse::new(decoder, target);
        response.decoder.failed(body, &response.target, &mut response.out).ok()?;
        let ready = std::mem::take(&mut response.out).into_iter();
        Some(Self { source: ResponseSource::Over, response, ready, failure: None })
    }

    /// The next event. After an error or the last event comes `None`.
    pub(super) async fn next(&mut self) -> Option<Result<StreamEvent, ProviderError>> {
        loop {
            if let Some(event) = self.ready.next() {
                return Some(Ok(event));
            }
            if let Some(error) = self.failure.take() {
                return Some(Err(error));
            }
            // Decompressed pieces are all available at once, however many they are. The wait lets
            // the task see a cancellation between them.
            consume_budget().await;
            let outcome = match std::mem::replace(&mut self.source, ResponseSource::Over) {
                ResponseSource::Over => return None,
                ResponseSource::Unread(bytes) => self.begin(bytes).await,
                ResponseSource::Events(events) => self.read(events).await,
            };
            match outcome {
                Ok(source) => self.source = source,
                Err(error) => self.failure = Some(error),
            }
            self.ready = std::mem::take(&mut self.response.out).into_iter();
        }
    }

    /// Checks the first byte: a server-sent event never begins with a bracket.
    async fn begin(&mut self, mut bytes: S) -> Result<ResponseSource<S>, ProviderError> {
        let mut head = Vec::new();
        let began = Instant::now();
        let first = loop {
            match bytes.read(&mut head).await {
                Some(read) => read?,
                None => break None,
            }
            self.response.keeps_on(began)?;
            let mark = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&head);
            if let Some(first) = mark.iter().find(|byte| !byte.is_ascii_whitespace()) {
                break Some(*first);
            }
            // Empty lines mean nothing in front of either.
            if head.len() > BLANK_HEAD {
                head = vec![b'\n'];
            }
            consume_budget().await;
        };
        if !matches!(first, Some(b'{' | b'[' | b'<')) {
            let parser = sse::SseParser::default();
            let events = SseStream { bytes, parser, buffer: head, closing: None, last: began };
            return Ok(ResponseSource::Events(Box::new(events)));
        }
        while head.len() < WHOLE_ANSWER
            && let Some(read) = bytes.read(&mut head).await
        {
            read?;
            consume_budget().await;
        }
        let text = String::from_utf8_lossy(&head);
        self.response.whole(text.trim_start_matches('\u{FEFF}').trim())?;
        Ok(ResponseSource::Over)
    }

    /// Reads the next bytes and decodes all events that end in them.
    async fn read(
        &mut self,
        mut events: Box<SseStream<S>>,
    ) -> Result<ResponseSource<S>, ProviderError> {
        let SseStream { bytes, parser, buffer, closing, last } = events.as_mut();
        let next = if !buffer.is_empty() {
            Some(Ok(()))
        } else if let Some(closing) = *closing {
            timeout_at(closing, bytes.read(buffer)).await.unwrap_or(None)
        } else {
            bytes.read(buffer).await
        };
        let response = &mut self.response;
        let mut ended = None;
        let mut any = false;
        let mut take = |event: sse::SseEvent<'_>| {
            any = true;
            ended = match response.event(event) {
                Ok(DecoderFlow::More) => return SseFlow::Continue(()),
                Ok(DecoderFlow::Over) => Some(Ok(())),
                Err(error) => Some(Err(error)),
            };
            SseFlow::Break(Ok(()))
        };
        let reading = match &next {
            Some(Ok(())) => parser.push(buffer, &mut take),
            Some(Err(_)) => SseFlow::Continue(()),
            None => parser.finish(&mut take),
        };
        if let Some(ended) = ended {
            return ended.map(|()| ResponseSource::Over);
        }
        let outcome = match (reading, next) {
            (SseFlow::Break(outcome), _) => outcome,
            (SseFlow::Continue(()), Some(read)) => read,
            (SseFlow::Continue(()), None) => Err(broke_off(&response.target)),
        };
        match outcome {
            Err(_) if response.decoder.is_complete() => {
                response.decoder.finish(&mut response.out);
                return Ok(ResponseSource::Over);
            }
            Err(error) => return Err(error),
            Ok(()) => {}
        }
        buffer.clear();
        if any {
            *last = Instant::now();
        } else {
            response.keeps_on(*last)?;
        }
        if response.decoder.is_complete() && (any || closing.is_none()) {
            *closing = Some(Instant::now() + TRAILER_LIMIT);
        }
        Ok(ResponseSource::Events(events))
    }
}

/// The error for a response without a terminal sign.
pub(super) fn broke_off(target: &RequestTarget) -> ProviderError {
    ProviderError {
        message: format!("{} ended the answer before it was complete.", target.http.server),
        status: None,
        recovery: ErrorRecovery::Retry,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use tokio::runtime::Builder;
    use tokio_util::sync::CancellationToken;

    use super::super::cancel::until_over;
    use super::super::responses::ResponsesDecoder;
    use super::*;

    /// The error of a response that repeats `piece` forever without any wait. A gzipped body arrives
    /// like that.
    fn end_of(
        piece: &'static str,
        site: RequestTarget,
        cancelled: Option<Duration>,
    ) -> Option<String> {
        let (sender, end) = mpsc::channel();
        thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_time().build().unwrap();
            let last = runtime.block_on(async {
                let cancel = CancellationToken::new();
                if let Some(after) = cancelled {
                    let cancel = cancel.clone();
                    tokio::spawn(async move {
                        tokio::time::sleep(after).await;
                        cancel.cancel();
                    });
                }
                let endless = stream::repeat_with(move || Ok(piece.repeat(1 << 10)));
                let events = decode(endless, site, ResponsesDecoder::default()).boxed();
                until_over(events, cancel).collect::<Vec<_>>().await.pop()
            });
            sender.send(last.and_then(Result::err).map(|error| error.message)).unwrap();
        });
        end.recv_timeout(Duration::from_secs(20)).expect("an end")
    }

    /// Keep-alives, an event without data, and empty lines.
    const NOTHING: [&str; 4] = [": keep\n\n", "event: ping\n\n", "\n", " \r\n"];

    #[test]
    fn an_answer_of_nothing_but_keep_alives_can_be_stopped() {
        for piece in NOTHING {
            let cancelled = Some(Duration::from_millis(50));
            assert_eq!(end_of(piece, RequestTarget::default(), cancelled), None, "{piece:?}");
        }
    }

    #[test]
    fn keep_alives_are_an_answer_for_so_long_only() {
        for piece in NOTHING {
            let site = RequestTarget {
                keep_alives: Some(Duration::from_millis(50)),
                ..RequestTarget::default()
            };
            let error = end_of(piece, site, None).expect("an error");
            assert!(error.contains("only keep-alives"), "{piece:?}: {error}");
        }
    }
}
