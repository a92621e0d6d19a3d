//! Turns the bytes of an answer into events, for every streaming protocol.
//!
//! A response is complete when its protocol's terminal sign has come; the end of the bytes alone
//! proves nothing. The first byte tells whether something else came instead of a stream (an error,
//! a whole answer, a web page), because servers send wrong content types.

#[cfg(test)]
pub(super) mod testing;

use std::time::Duration;

use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt, stream};
use tokio::task::coop::consume_budget;
use tokio::time::{Instant, timeout_at};

use super::failure::RequestTarget;
use super::json::{JsonTape, JsonTapeError};
use super::sse::{self, SseFlow};
use super::{ErrorRecovery, ProviderError, StreamEvent};
use crate::net::TimeoutError;

/// The most bytes of an answer that is not a stream.
const WHOLE_ANSWER: usize = 16 << 20;

/// The most white space before an answer that is buffered.
const BLANK_HEAD: usize = 4 << 10;

/// How long a server may keep the connection open behind a complete answer.
const TRAILER_LIMIT: Duration = Duration::from_secs(5);

/// Turns the events of one protocol into [`StreamEvent`]s.
pub(super) trait StreamDecoder: Send + 'static {
    /// Decodes one event; `tape` is a reusable buffer for its JSON.
    fn event(
        &mut self,
        event: sse::SseEvent<'_>,
        tape: &mut JsonTape,
        out: &mut Vec<StreamEvent>,
    ) -> Result<DecoderFlow, ProviderError>;

    /// Decodes an answer that came in one piece, which ends it.
    fn whole(&mut self, text: &str, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError>;

    /// Whether a terminal sign has come. Errors behind it do no harm.
    fn is_complete(&self) -> bool;

    /// Ends a complete answer whose stream has ended.
    fn finish(&mut self, out: &mut Vec<StreamEvent>);

    /// The server that answers, for error messages.
    fn site(&self) -> &RequestTarget;
}

/// Whether the decoder needs more input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DecoderFlow {
    /// The answer goes on.
    More,
    /// The answer has ended.
    Over,
}

/// Decodes the body of an answer. Ends after `Finished` or the first error.
pub(super) fn decode<S, B>(
    bytes: S,
    decoder: impl StreamDecoder,
) -> impl Stream<Item = Result<StreamEvent, ProviderError>> + Send + 'static
where
    S: Stream<Item = Result<B, ProviderError>> + Send + 'static,
    B: AsRef<[u8]> + Send + 'static,
{
    // Decompressed chunks are all available at once, however many they are. The wait lets the task
    // see a cancellation between them.
    let source = bytes.then(|chunk| async move {
        consume_budget().await;
        chunk.map(|chunk| chunk.as_ref().to_vec())
    });
    let source = source.fuse().boxed();
    let reader = ResponseStreamReader {
        source: ResponseSource::Unread(source),
        decoder,
        tape: JsonTape::default(),
    };
    // Boxed, because the reader moves for each chunk.
    let chunks = stream::unfold(Box::new(reader), |mut reader| async move {
        let (events, failure) = reader.next().await?;
        Some((stream::iter(events.into_iter().map(Ok).chain(failure.map(Err))), reader))
    });
    chunks.flatten()
}

/// The error for an event that does not follow the protocol.
pub(super) fn unreadable(site: &RequestTarget, error: &JsonTapeError) -> ProviderError {
    ProviderError {
        message: format!("{} sent a piece that is not JSON ({error}).", site.http.server),
        status: None,
        recovery: ErrorRecovery::Retry,
    }
}

type ResponseByteStream = BoxStream<'static, Result<Vec<u8>, ProviderError>>;

/// Reads as many bytes as the decoder needs.
struct ResponseStreamReader<D> {
    source: ResponseSource,
    decoder: D,
    tape: JsonTape,
}

enum ResponseSource {
    Unread(ResponseByteStream),
    Events(Box<SseStream>),
    Over,
}

/// A stream of server-sent events that has begun.
struct SseStream {
    bytes: ResponseByteStream,
    parser: sse::SseParser,
    /// The bytes that were read to find out what they are.
    head: Vec<u8>,
    /// When reading behind a complete answer stops.
    closing: Option<Instant>,
    /// When the last event came, or the wait for the first byte began.
    last: Instant,
}

impl<D: StreamDecoder> ResponseStreamReader<D> {
    /// The events in the next bytes, and the error that ends the stream, if there is one.
    async fn next(&mut self) -> Option<(Vec<StreamEvent>, Option<ProviderError>)> {
        let mut out = Vec::new();
        let outcome = match std::mem::replace(&mut self.source, ResponseSource::Over) {
            ResponseSource::Over => return None,
            ResponseSource::Unread(bytes) => self.begin(bytes, &mut out).await,
            ResponseSource::Events(events) => self.read(events, &mut out).await,
        };
        if outcome.is_err() {
            self.source = ResponseSource::Over;
        }
        Some((out, outcome.err()))
    }

    /// Checks the first byte: a server-sent event never begins with a bracket.
    async fn begin(
        &mut self,
        mut bytes: ResponseByteStream,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        let mut head = Vec::new();
        let began = Instant::now();
        let first = loop {
            match bytes.next().await {
                Some(chunk) => head.extend(chunk?),
                None => break None,
            }
            keeps_on(self.decoder.site(), began)?;
            let mark = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&head);
            if let Some(first) = mark.iter().find(|byte| !byte.is_ascii_whitespace()) {
                break Some(*first);
            }
            // Empty lines mean nothing in front of either.
            if head.len() > BLANK_HEAD {
                head = vec![b'\n'];
            }
        };
        if !matches!(first, Some(b'{' | b'[' | b'<')) {
            let parser = sse::SseParser::default();
            let events = SseStream { bytes, parser, head, closing: None, last: began };
            self.source = ResponseSource::Events(Box::new(events));
            return Ok(());
        }
        while head.len() < WHOLE_ANSWER
            && let Some(chunk) = bytes.next().await
        {
            head.extend(chunk?);
        }
        let text = String::from_utf8_lossy(&head);
        self.decoder.whole(text.trim_start_matches('\u{FEFF}').trim(), out)
    }

    /// Reads the next bytes and decodes all events that end in them.
    async fn read(
        &mut self,
        mut events: Box<SseStream>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        let next = match (std::mem::take(&mut events.head), events.closing) {
            (head, _) if !head.is_empty() => Some(Ok(head)),
            (_, Some(closing)) => timeout_at(closing, events.bytes.next()).await.unwrap_or(None),
            (_, None) => events.bytes.next().await,
        };
        let mut ended = None;
        let mut any = false;
        let mut take = |event: sse::SseEvent<'_>| {
            any = true;
            ended = match self.decoder.event(event, &mut self.tape, out) {
                Ok(DecoderFlow::More) => return SseFlow::Continue(()),
                Ok(DecoderFlow::Over) => Some(Ok(())),
                Err(error) => Some(Err(error)),
            };
            SseFlow::Break(Ok(()))
        };
        let (reading, at_end) = match next {
            Some(Ok(bytes)) => (events.parser.push(&bytes, &mut take), Ok(())),
            Some(Err(error)) => (SseFlow::Continue(()), Err(error)),
            None => (events.parser.finish(&mut take), Err(broke_off(self.decoder.site()))),
        };
        if let Some(ended) = ended {
            return ended;
        }
        match reading.break_value().unwrap_or(at_end) {
            Err(_) if self.decoder.is_complete() => self.decoder.finish(out),
            Err(error) => return Err(error),
            Ok(()) => {
                if any {
                    events.last = Instant::now();
                } else {
                    keeps_on(self.decoder.site(), events.last)?;
                }
                if self.decoder.is_complete() && (any || events.closing.is_none()) {
                    events.closing = Some(Instant::now() + TRAILER_LIMIT);
                }
                self.source = ResponseSource::Events(events);
            }
        }
        Ok(())
    }
}

/// Fails if only keep-alives have come since `since` and the limit for them is over.
fn keeps_on(site: &RequestTarget, since: Instant) -> Result<(), ProviderError> {
    match site.keep_alives {
        Some(limit) if since.elapsed() > limit => {
            Err(TimeoutError::KeepAlives(limit).into_transport_error(&site.http.server).into())
        }
        Some(_) | None => Ok(()),
    }
}

/// The error for an answer without a terminal sign.
pub(super) fn broke_off(site: &RequestTarget) -> ProviderError {
    ProviderError {
        message: format!("{} ended the answer before it was complete.", site.http.server),
        status: None,
        recovery: ErrorRecovery::Retry,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::mpsc;
    use std::thread;

    use tokio::runtime::Builder;
    use tokio_util::sync::CancellationToken;

    use super::super::cancel::until_over;
    use super::super::responses;
    use super::*;

    /// The error of an answer that repeats `piece` forever without any wait. A gzipped body arrives
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
                let events = responses::decode(endless, site, HashSet::new()).boxed();
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
            assert!(error.contains("nothing but keep-alives"), "{piece:?}: {error}");
        }
    }
}
