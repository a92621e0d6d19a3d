//! From the bytes of an answer to its events, for every protocol that streams them.
//!
//! A response is complete when its protocol's terminal sign has been seen; the end of the bytes
//! alone proves nothing. What comes in the place of a stream (an error, a whole answer, a web page)
//! is told by its first byte, since servers get the content type wrong.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt, stream};
use tokio::time::timeout;

use super::failure::Site;
use super::{ProviderError, Recovery, StreamEvent, sse};

/// The most bytes of an answer that is not a stream.
const WHOLE_ANSWER: usize = 16 << 20;

/// How long a server whose answer is complete may take over what it sends behind it.
const TRAILER_LIMIT: Duration = Duration::from_secs(5);

/// Turns the events of one protocol into those of all.
pub(super) trait Decoder: Send + 'static {
    /// Takes in one event.
    fn event(
        &mut self,
        event: &sse::Event,
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
    let source = bytes.map(|chunk| chunk.map(|chunk| chunk.as_ref().to_vec())).boxed();
    let reader = Reader { source: Source::Unread(source), decoder, ready: VecDeque::new() };
    stream::unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((event, reader))
    })
}

/// The error for a piece that is not what the protocol says.
pub(super) fn unreadable(site: &Site, error: &serde_json::Error) -> ProviderError {
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
    ready: VecDeque<Result<StreamEvent, ProviderError>>,
}

enum Source {
    Unread(Bytes),
    Events(BoxStream<'static, Result<sse::Event, ProviderError>>),
    Over,
}

impl<D: Decoder> Reader<D> {
    async fn next(&mut self) -> Option<Result<StreamEvent, ProviderError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let mut out = Vec::new();
            let outcome = match std::mem::replace(&mut self.source, Source::Over) {
                Source::Over => return None,
                Source::Unread(bytes) => self.begin(bytes, &mut out).await,
                Source::Events(events) => self.read(events, &mut out).await,
            };
            self.ready.extend(out.into_iter().map(Ok));
            if let Err(error) = outcome {
                self.source = Source::Over;
                self.ready.push_back(Err(error));
            }
        }
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
            let rest = stream::once(async { Ok(head) }).chain(bytes);
            self.source = Source::Events(sse::events(rest).boxed());
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

    async fn read(
        &mut self,
        mut events: BoxStream<'static, Result<sse::Event, ProviderError>>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        let next = if self.decoder.is_complete() {
            timeout(TRAILER_LIMIT, events.next()).await.unwrap_or(None)
        } else {
            events.next().await
        };
        match next {
            Some(Ok(event)) => {
                if self.decoder.event(&event, out)? == Flow::More {
                    self.source = Source::Events(events);
                }
                Ok(())
            }
            Some(Err(_)) | None if self.decoder.is_complete() => {
                self.decoder.finish(out);
                Ok(())
            }
            Some(Err(error)) => Err(error),
            None => Err(broke_off(self.decoder.site())),
        }
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
