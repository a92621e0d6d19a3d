//! From the bytes of an answer to its events, for every protocol that streams them.
//!
//! A response is complete when its protocol's terminal sign has been seen; the end of the bytes
//! alone proves nothing. What comes in the place of a stream (an error, a whole answer, a web page)
//! is told by its first byte, since servers get the content type wrong.

#[cfg(test)]
pub(super) mod testing;

use std::time::Duration;

use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt, stream};
use tokio::time::{Instant, timeout_at};

use super::failure::Site;
use super::json::{NotJson, Outline};
use super::sse::{self, Reading};
use super::{ProviderError, Recovery, StreamEvent};

/// The most bytes of an answer that is not a stream.
const WHOLE_ANSWER: usize = 16 << 20;

/// How long a server whose answer is complete may take over what it sends behind it.
const TRAILER_LIMIT: Duration = Duration::from_secs(5);

/// Turns the events of one protocol into those of all.
pub(super) trait Decoder: Send + 'static {
    /// Takes in one event; in `outline` there is room to read it.
    fn event(
        &mut self,
        event: sse::Event<'_>,
        outline: &mut Outline,
        out: &mut Vec<StreamEvent>,
    ) -> Result<Flow, ProviderError>;

    /// Takes in an answer that came in one piece, which ends it.
    fn whole(&mut self, text: &str, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError>;

    /// Whether a terminal sign has been seen. What breaks or cannot be read behind it spoils
    /// nothing.
    fn is_complete(&self) -> bool;

    /// Ends a complete answer whose stream has ended.
    fn finish(&mut self, out: &mut Vec<StreamEvent>);

    /// Who answers.
    fn site(&self) -> &Site;
}

/// Whether more is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// The answer goes on.
    More,
    /// It has ended.
    Over,
}

/// Decodes the body of an answer. Ends after `Finished` or the first error.
pub(super) fn decode<S, B>(
    bytes: S,
    decoder: impl Decoder,
) -> impl Stream<Item = Result<StreamEvent, ProviderError>> + Send + 'static
where
    S: Stream<Item = Result<B, ProviderError>> + Send + 'static,
    B: AsRef<[u8]> + Send + 'static,
{
    let source = bytes.map(|chunk| chunk.map(|chunk| chunk.as_ref().to_vec())).fuse().boxed();
    let reader = Reader { source: Source::Unread(source), decoder, outline: Outline::default() };
    // In a box, since it changes hands for each chunk.
    let chunks = stream::unfold(Box::new(reader), |mut reader| async move {
        let (events, failure) = reader.next().await?;
        Some((stream::iter(events.into_iter().map(Ok).chain(failure.map(Err))), reader))
    });
    chunks.flatten()
}

/// The error for a piece that is not what the protocol says.
pub(super) fn unreadable(site: &Site, error: &NotJson) -> ProviderError {
    ProviderError {
        message: format!("{} sent a piece that is not JSON ({error}).", site.server),
        status: None,
        recovery: Recovery::Retry,
    }
}

type Bytes = BoxStream<'static, Result<Vec<u8>, ProviderError>>;

/// Draws from the bytes what the decoder needs.
struct Reader<D> {
    source: Source,
    decoder: D,
    outline: Outline,
}

enum Source {
    Unread(Bytes),
    Events(Box<Events>),
    Over,
}

/// A stream of events that has begun.
struct Events {
    bytes: Bytes,
    parser: sse::Parser,
    /// What has been read of the bytes to see what they are.
    head: Vec<u8>,
    /// Until when a complete answer may still be added to.
    closing: Option<Instant>,
}

impl<D: Decoder> Reader<D> {
    /// What comes of the next bytes, and the failure that ends them.
    async fn next(&mut self) -> Option<(Vec<StreamEvent>, Option<ProviderError>)> {
        let mut out = Vec::new();
        let outcome = match std::mem::replace(&mut self.source, Source::Over) {
            Source::Over => return None,
            Source::Unread(bytes) => self.begin(bytes, &mut out).await,
            Source::Events(events) => self.read(events, &mut out).await,
        };
        if outcome.is_err() {
            self.source = Source::Over;
        }
        Some((out, outcome.err()))
    }

    /// Looks at the first byte: events never begin with a bracket.
    async fn begin(
        &mut self,
        mut bytes: Bytes,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        let mut head = Vec::new();
        let first = loop {
            match bytes.next().await {
                Some(chunk) => head.extend(chunk?),
                None => break None,
            }
            let mark = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&head);
            if let Some(first) = mark.iter().find(|byte| !byte.is_ascii_whitespace()) {
                break Some(*first);
            }
        };
        if !matches!(first, Some(b'{' | b'[' | b'<')) {
            let parser = sse::Parser::default();
            self.source = Source::Events(Box::new(Events { bytes, parser, head, closing: None }));
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

    /// Takes in the next bytes, with all the events that end in them.
    async fn read(
        &mut self,
        mut events: Box<Events>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        let next = match (std::mem::take(&mut events.head), events.closing) {
            (head, _) if !head.is_empty() => Some(Ok(head)),
            (_, Some(closing)) => timeout_at(closing, events.bytes.next()).await.unwrap_or(None),
            (_, None) => events.bytes.next().await,
        };
        let mut ended = None;
        let mut any = false;
        let mut take = |event: sse::Event<'_>| {
            any = true;
            ended = match self.decoder.event(event, &mut self.outline, out) {
                Ok(Flow::More) => return Reading::Continue(()),
                Ok(Flow::Over) => Some(Ok(())),
                Err(error) => Some(Err(error)),
            };
            Reading::Break(Ok(()))
        };
        let (reading, at_end) = match next {
            Some(Ok(bytes)) => (events.parser.push(&bytes, &mut take), Ok(())),
            Some(Err(error)) => (Reading::Continue(()), Err(error)),
            None => (events.parser.finish(&mut take), Err(broke_off(self.decoder.site()))),
        };
        if let Some(ended) = ended {
            return ended;
        }
        match reading.break_value().unwrap_or(at_end) {
            Err(_) if self.decoder.is_complete() => self.decoder.finish(out),
            Err(error) => return Err(error),
            Ok(()) => {
                if self.decoder.is_complete() && (any || events.closing.is_none()) {
                    events.closing = Some(Instant::now() + TRAILER_LIMIT);
                }
                self.source = Source::Events(events);
            }
        }
        Ok(())
    }
}

/// The error for an answer without a terminal sign.
pub(super) fn broke_off(site: &Site) -> ProviderError {
    ProviderError {
        message: format!("{} ended the answer before it was complete.", site.server),
        status: None,
        recovery: Recovery::Retry,
    }
}
