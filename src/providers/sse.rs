//! Turns the bytes of a server-sent event stream into events. However the bytes are cut, the events
//! are the same.
//!
//! `eventsource_stream` cuts the events. A [`SseParser`] in front of it gives it one line at a time
//! and handles what a conforming parser does not and real servers need: invalid UTF-8 (which becomes
//! U+FFFD), a line that ends with a carriage return and has nothing behind it yet, pending data at
//! the end of the stream, a limit to the size of an event, and the non-standard field `error: {…}`,
//! in which older llama.cpp servers report failures.
//!
//! The crate copies the rest of what it was given for each line, which is why it gets single lines:
//! it reads 1.2 GB/s in pieces of a few lines, and 8 MB/s in pieces of a megabyte.
//!
//! Comments are dropped; they count as signs of life where the bytes are read. Ids and reconnection
//! times are not kept: no model server can resume a stream.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use encoding_rs::{Decoder, UTF_8};
use eventsource_stream::EventStream;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt, stream};
use memchr::memchr2;
use serde_json::Value;

use super::{ErrorRecovery, ProviderError};

/// The most bytes of one event.
pub const MAX_EVENT: usize = 16 << 20;

/// One dispatched event, borrowed from the parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The event type; "message" if the server gave none.
    pub name: &'a str,
    /// The data lines, joined by line feeds.
    pub data: &'a str,
}

/// Whether to read on; `Break` carries how the stream ended.
pub type SseFlow = ControlFlow<Result<(), ProviderError>>;

/// The lines that the crate has not read yet.
type PendingLines = Arc<Mutex<VecDeque<String>>>;

/// Splits bytes into lines, and gives them to the crate.
pub struct SseParser {
    decoder: Decoder,
    /// What has been decoded behind the last line end.
    line: String,
    /// Whether a line feed that comes next belongs to the carriage return before it.
    after_return: bool,
    lines: PendingLines,
    events: EventStream<BoxStream<'static, Result<String, Infallible>>>,
    /// The bytes of the current event that the crate has.
    size: usize,
}

impl Default for SseParser {
    fn default() -> Self {
        let lines = PendingLines::default();
        let source = lines.clone();
        let take = move |_: &mut std::task::Context<'_>| match source
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front()
        {
            Some(line) => Poll::Ready(Some(Ok(line))),
            None => Poll::Pending,
        };
        Self {
            decoder: UTF_8.new_decoder_with_bom_removal(),
            line: String::new(),
            after_return: false,
            lines,
            events: EventStream::new(stream::poll_fn(take).boxed()),
            size: 0,
        }
    }
}

impl SseParser {
    /// Reads more bytes. `take` receives each complete event, and stops the reading by `Break`.
    pub fn push(&mut self, bytes: &[u8], take: &mut dyn FnMut(SseEvent<'_>) -> SseFlow) -> SseFlow {
        let text = self.decoded(bytes, false);
        let mut rest = text.as_str();
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_return) && rest.starts_with('\n') {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', rest.as_bytes()) else {
                self.line.push_str(rest);
                return self.check_size();
            };
            self.after_return = rest.as_bytes()[end] == b'\r';
            self.line.push_str(&rest[..end]);
            self.check_size()?;
            self.end_line(take)?;
            rest = &rest[end + 1..];
        }
        SseFlow::Continue(())
    }

    /// Ends the input: pending lines count as an event too.
    pub fn finish(&mut self, take: &mut dyn FnMut(SseEvent<'_>) -> SseFlow) -> SseFlow {
        let text = self.decoded(&[], true);
        self.line.push_str(&text);
        if !self.line.is_empty() {
            self.end_line(take)?;
        }
        self.end_line(take)
    }

    fn decoded(&mut self, bytes: &[u8], is_last: bool) -> String {
        let room = self.decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(bytes.len());
        let mut text = String::with_capacity(room);
        let _ = self.decoder.decode_to_string(bytes, &mut text, is_last);
        text
    }

    /// Ends the line, which is empty between events.
    fn end_line(&mut self, take: &mut dyn FnMut(SseEvent<'_>) -> SseFlow) -> SseFlow {
        let mut line = std::mem::take(&mut self.line);
        let error = line.split_once(':').filter(|(name, value)| {
            !["data", "event", "id", "retry", ""].contains(name) && reports_error(value)
        });
        if let Some((_, value)) = error {
            let report = format!("event:error\ndata:{value}\n\n");
            self.read("\n".to_owned(), take)?;
            return self.read(report, take);
        }
        match line.as_bytes() {
            [] => self.size = 0,
            // A comment.
            [b':', ..] => return SseFlow::Continue(()),
            // A field with another name. The crate would take a mark here, where it has been given no
            // line yet, for the one at the start of the stream, which the decoder has removed.
            _ if line.starts_with('\u{FEFF}') => return SseFlow::Continue(()),
            _ => self.size += line.len(),
        }
        line.push('\n');
        self.read(line, take)
    }

    /// Gives lines to the crate, and takes the event that they complete.
    fn read(&mut self, lines: String, take: &mut dyn FnMut(SseEvent<'_>) -> SseFlow) -> SseFlow {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push_back(lines);
        while let Some(Some(event)) = self.events.next().now_or_never() {
            match event {
                Ok(event) => take(SseEvent { name: &event.event, data: &event.data })?,
                Err(error) => return SseFlow::Break(Err(broken(&error.to_string()))),
            }
        }
        SseFlow::Continue(())
    }

    fn check_size(&mut self) -> SseFlow {
        if self.size + self.line.len() > MAX_EVENT {
            return SseFlow::Break(Err(broken("a single event was over 16 MB long")));
        }
        SseFlow::Continue(())
    }
}

/// Whether the value of an unknown field is an error report.
fn reports_error(value: &str) -> bool {
    let value = value.trim_start();
    value.starts_with('{')
        && serde_json::from_str::<Value>(value)
            .is_ok_and(|json| json.get("error").is_some() || json.get("message").is_some())
}

fn broken(what: &str) -> ProviderError {
    ProviderError {
        message: format!(
            "Cannot read the server's answer: {what}. Check `endpoint` and `provider`."
        ),
        status: None,
        recovery: ErrorRecovery::GiveUp,
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use proptest::prelude::*;

    use super::*;

    type SseNameAndData = (String, String);

    /// The name and the data of each event in these pieces.
    fn read(chunks: &[&[u8]]) -> Vec<SseNameAndData> {
        let mut parser = SseParser::default();
        let mut events = Vec::new();
        let mut take = |event: SseEvent<'_>| {
            events.push((event.name.to_owned(), event.data.to_owned()));
            SseFlow::Continue(())
        };
        for chunk in chunks {
            assert_eq!(parser.push(chunk, &mut take), SseFlow::Continue(()));
        }
        assert_eq!(parser.finish(&mut take), SseFlow::Continue(()));
        events
    }

    /// The same, parsed by the crate alone.
    fn read_by_the_crate(text: &str) -> Vec<SseNameAndData> {
        let source = stream::once(ready(Ok::<_, Infallible>(text.to_owned())));
        let mut events = EventStream::new(source);
        let mut all = Vec::new();
        while let Some(Some(event)) = events.next().now_or_never() {
            let event = event.unwrap();
            all.push((event.event, event.data));
        }
        all
    }

    fn datas(bytes: &[u8]) -> Vec<String> {
        read(&[bytes]).into_iter().map(|(_, data)| data).collect()
    }

    #[test]
    fn real_framings_are_read() {
        let table: &[(&[u8], &[&str])] = &[
            (b"data: a\n\ndata: b\n\n", &["a", "b"]),
            (b"data:a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
            (b"data: a\r\rdata: b\r\r", &["a", "b"]),
            (b"\xEF\xBB\xBFdata: a\n\n", &["a"]),
            (b": ping\n\n:\n\n: \ndata: a\n\n", &["a"]),
            (b":\n\xEF\xBB\xBFdata: a\n\ndata: b\n\n", &["b"]),
            (b"\xEF\xBB\xBF\xEF\xBB\xBFdata: a\n\ndata: b\n\n", &["b"]),
            (b"data: a\ndata: b\n\n", &["a\nb"]),
            (b"id: 7\nretry: 10\nweird: x\ndata: a\n\n", &["a"]),
            (b"data: a\n\ndata: b", &["a", "b"]),
            (b"data\n\ndata:\n\n", &["", ""]),
            (b"data: a\xFF\xFEb\n\n", &["a\u{FFFD}\u{FFFD}b"]),
            (b"\n\n\n", &[]),
            (b"", &[]),
        ];
        for (bytes, expected) in table {
            assert_eq!(&datas(bytes), expected, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn an_error_field_becomes_an_event_of_its_own() {
        let events = read(&[b"data: {\"a\":1}\nerror: {\"message\":\"full\"}\ndata: b\n\n"]);
        let seen: Vec<_> =
            events.iter().map(|(name, data)| (name.as_str(), data.as_str())).collect();
        assert_eq!(
            seen,
            [("message", "{\"a\":1}"), ("error", "{\"message\":\"full\"}"), ("message", "b")]
        );
    }

    #[test]
    fn one_event_is_capped() {
        let chunk = vec![b'x'; 1 << 20];
        let mut parser = SseParser::default();
        let mut take = |event: SseEvent<'_>| panic!("{event:?}");
        assert_eq!(parser.push(b"data: ", &mut take), SseFlow::Continue(()));
        let end = (0..17).find_map(|_| parser.push(&chunk, &mut take).break_value());
        assert!(end.unwrap().unwrap_err().message.contains("16 MB"));
    }

    #[test]
    fn a_line_ended_by_a_return_waits_for_nothing() {
        let mut parser = SseParser::default();
        let mut count = 0;
        let _ = parser.push(b"data: a\r\r", &mut |_| {
            count += 1;
            SseFlow::Continue(())
        });
        assert_eq!(count, 1);
    }

    #[test]
    fn nothing_is_read_behind_the_event_that_ends_it() {
        let mut parser = SseParser::default();
        let mut seen = Vec::new();
        let end = parser.push(b"data: a\n\ndata: b\n\n", &mut |event| {
            seen.push(event.data.to_owned());
            SseFlow::Break(Ok(()))
        });
        assert_eq!((end, seen), (SseFlow::Break(Ok(())), vec!["a".to_owned()]));
    }

    proptest! {
        #[test]
        fn events_are_what_the_crate_makes_of_them(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "data: ", "data:", "data", "data : ", "event: ", "event:", "event", "\n", "\r",
                    "\r\n", "\n\n", "data: a\n\n", "event: b\r\ndata: c\r\n\r\n", ": ping", "id: 1", "retry: 5", "é", "{\"a\":1}", " ", ":", "x",
                    "\u{FEFF}", "\0",
                ]),
                0..40,
            ),
        ) {
            // Only this parser treats pending data at the end as an event.
            let whole = format!("{}\n\n", parts.concat());
            prop_assert_eq!(read(&[whole.as_bytes()]), read_by_the_crate(&whole));
        }

        #[test]
        fn any_split_gives_the_same_events(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "\u{FEFF}", "data: ", "data:", "event: error", "\n", "\r", "\r\n", "\n\n",
                    ": ping", "error: {\"error\":1}", "é", "{\"a\":1}", "id: 1", "x",
                ]),
                0..40,
            ),
            junk in prop::collection::vec(any::<u8>(), 0..6),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let mut bytes = parts.concat().into_bytes();
            bytes.extend(junk);
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.push(0);
            at.push(bytes.len());
            at.sort_unstable();
            let chunks: Vec<&[u8]> = at.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            let whole = read(&[&bytes]);
            prop_assert_eq!(&read(&chunks), &whole);
            prop_assert_eq!(&read(&single), &whole);
        }
    }
}
