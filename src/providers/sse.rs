//! Bytes of a server-sent event stream in, events out; the same events however the bytes are cut.
//!
//! The field syntax is `eventsource_stream`'s. A [`Splitter`] ahead of it does what a conforming
//! parser does not and what real servers need: a byte order mark that is cut in two, invalid
//! UTF-8 (which becomes U+FFFD), pending data at the end of the stream, a cap on one event, and
//! the non-standard field `error: {…}`, in which older llama.cpp servers report failures. It hands
//! over one whole event at a time, so that the parser's buffer never holds more than that.
//!
//! Comments are dropped here; they count as signs of life where the bytes are read. Ids and
//! reconnection times are not kept: no model server can resume a stream.

use std::borrow::Cow;
use std::future::ready;

use eventsource_stream::EventStream;
use futures_util::{Stream, StreamExt, stream};
use serde_json::Value;

use super::{ProviderError, Recovery};

/// The most bytes that one event may have.
pub const MAX_EVENT: usize = 16 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its type, "message" where the server gave none.
    pub name: String,
    /// Its data lines, joined by line feeds.
    pub data: String,
}

/// Reads `bytes` as events. An error of the source is passed on; the caller stops there.
pub fn events<S, B>(bytes: S) -> impl Stream<Item = Result<Event, ProviderError>> + Send
where
    S: Stream<Item = Result<B, ProviderError>> + Send,
    B: AsRef<[u8]> + Send,
{
    let blocks = bytes
        .map(Some)
        .chain(stream::once(ready(None)))
        .scan(Splitter::default(), |splitter, chunk| {
            let mut blocks = Vec::new();
            match chunk {
                Some(Ok(chunk)) => splitter.push(chunk.as_ref(), &mut blocks),
                Some(Err(error)) => blocks.push(Err(error)),
                None => splitter.finish(&mut blocks),
            }
            ready(Some(stream::iter(blocks)))
        })
        .flatten();
    EventStream::new(blocks).map(|event| match event {
        Ok(event) => Ok(Event { name: event.event, data: event.data }),
        Err(error) => {
            let text = error.to_string();
            Err(error.into_transport().unwrap_or_else(|| broken(text)))
        }
    })
}

type Block = Result<Vec<u8>, ProviderError>;

/// Cuts bytes into lines and lines into the blocks between blank lines.
#[derive(Default)]
struct Splitter {
    /// The finished lines of the block so far, cleaned.
    block: Vec<u8>,
    /// The line that is not finished.
    line: Vec<u8>,
    /// A line feed that comes next belongs to the carriage return before it.
    after_return: bool,
    /// The first line, which may begin with a byte order mark, is over.
    past_first_line: bool,
    /// An event was too long; nothing more is read.
    overrun: bool,
}

impl Splitter {
    fn push(&mut self, mut bytes: &[u8], out: &mut Vec<Block>) {
        while !bytes.is_empty() && !self.overrun {
            if std::mem::take(&mut self.after_return) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = bytes.iter().position(|&byte| byte == b'\n' || byte == b'\r') else {
                self.line.extend_from_slice(bytes);
                self.check_size(out);
                return;
            };
            self.after_return = bytes[end] == b'\r';
            if self.line.is_empty() {
                self.end_line(&bytes[..end], out);
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(&bytes[..end]);
                self.end_line(&line, out);
            }
            self.check_size(out);
            bytes = &bytes[end + 1..];
        }
    }

    fn finish(&mut self, out: &mut Vec<Block>) {
        if self.overrun {
            return;
        }
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.end_line(&line, out);
        }
        self.end_block(out);
    }

    fn end_line(&mut self, line: &[u8], out: &mut Vec<Block>) {
        let line = match std::mem::replace(&mut self.past_first_line, true) {
            true => line,
            false => line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line),
        };
        if line.is_empty() {
            self.end_block(out);
            return;
        }
        let line = String::from_utf8_lossy(line);
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        match name {
            "data" | "event" => self.add(&line),
            // A comment has an empty name.
            "" | "id" | "retry" => {}
            _ if reports_error(value) => {
                self.end_block(out);
                self.add("event: error");
                self.add(&format!("data:{value}"));
                self.end_block(out);
            }
            _ => {}
        }
    }

    fn add(&mut self, line: &str) {
        self.block.extend_from_slice(line.as_bytes());
        self.block.push(b'\n');
    }

    fn end_block(&mut self, out: &mut Vec<Block>) {
        if !self.block.is_empty() {
            self.block.push(b'\n');
            out.push(Ok(std::mem::take(&mut self.block)));
        }
    }

    fn check_size(&mut self, out: &mut Vec<Block>) {
        if self.block.len() + self.line.len() > MAX_EVENT {
            self.overrun = true;
            self.block = Vec::new();
            self.line = Vec::new();
            out.push(Err(broken(Cow::from("a single event was over 16 MB long"))));
        }
    }
}

/// Whether the value of an unknown field is an error that must not be lost.
fn reports_error(value: &str) -> bool {
    let value = value.trim_start();
    value.starts_with('{')
        && serde_json::from_str::<Value>(value)
            .is_ok_and(|json| json.get("error").is_some() || json.get("message").is_some())
}

fn broken(what: impl Into<Cow<'static, str>>) -> ProviderError {
    ProviderError {
        message: format!(
            "The server's answer cannot be read: {}. Check `endpoint` and `provider`.",
            what.into()
        ),
        status: None,
        recovery: Recovery::GiveUp,
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use proptest::prelude::*;

    use super::*;

    fn read(chunks: &[&[u8]]) -> Vec<Event> {
        let source = stream::iter(chunks.iter().map(|chunk| Ok(chunk.to_vec())));
        let events: Vec<_> = events(source).collect().now_or_never().unwrap();
        events.into_iter().collect::<Result<_, _>>().unwrap()
    }

    fn datas(bytes: &[u8]) -> Vec<String> {
        read(&[bytes]).into_iter().map(|event| event.data).collect()
    }

    #[test]
    fn real_framings_are_read() {
        let table: &[(&[u8], &[&str])] = &[
            (b"data: a\n\ndata: b\n\n", &["a", "b"]),
            (b"data:a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
            (b"data: a\r\rdata: b\r\r", &["a", "b"]),
            (b"\xEF\xBB\xBFdata: a\n\n", &["a"]),
            (b": ping\n\n:\n\n: \ndata: a\n\n", &["a"]),
            (b"data: a\ndata: b\n\n", &["a\nb"]),
            (b"id: 7\nretry: 10\nweird: x\ndata: a\n\n", &["a"]),
            (b"data: a\n\ndata: b", &["a", "b"]),
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
            events.iter().map(|event| (event.name.as_str(), event.data.as_str())).collect();
        assert_eq!(
            seen,
            [("message", "{\"a\":1}"), ("error", "{\"message\":\"full\"}"), ("message", "b")]
        );
    }

    #[test]
    fn one_event_is_capped() {
        let chunk = vec![b'x'; 1 << 20];
        let mut chunks = vec![Ok(b"data: ".to_vec())];
        chunks.extend((0..17).map(|_| Ok(chunk.clone())));
        let events: Vec<_> = events(stream::iter(chunks)).collect().now_or_never().unwrap();
        assert_eq!(events.len(), 1);
        assert!(events[0].as_ref().unwrap_err().message.contains("16 MB"));
    }

    #[test]
    fn a_line_ended_by_a_return_waits_for_nothing() {
        let mut splitter = Splitter::default();
        let mut out = Vec::new();
        splitter.push(b"data: a\r\r", &mut out);
        assert_eq!(out.len(), 1);
    }

    proptest! {
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
