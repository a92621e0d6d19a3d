//! The two streams of the protocol. Each has a thread: a read of standard input cannot be cancelled, and a
//! client that does not read must not stop the agents.

use std::io::{BufRead, BufReader, Read, Write};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The longest line that is read, in bytes: a prompt with some large images.
const LONGEST_LINE: u64 = 64 << 20;

/// How many lines may wait on each side.
const WAITING_LINES: usize = 256;

/// A line of the client's, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcpLine {
    Whole(Vec<u8>),
    /// Longer than slug reads; the line is skipped.
    TooLong,
}

/// The lines of the client, and the lines to it.
pub struct AcpStreams {
    /// Ends when standard input does.
    pub input: mpsc::Receiver<AcpLine>,
    /// Takes lines without their end. When it is full, whoever sends waits.
    pub output: mpsc::Sender<String>,
    /// Cancelled when nobody reads standard output any more.
    pub is_closed: CancellationToken,
}

impl AcpStreams {
    /// Starts a thread for each stream. The one that reads may outlive everything else.
    pub fn start(input: impl Read + Send + 'static, output: impl Write + Send + 'static) -> Self {
        let (lines, received) = mpsc::channel(WAITING_LINES);
        std::thread::spawn(move || read(BufReader::new(input), &lines));
        let (sender, to_write) = mpsc::channel(WAITING_LINES);
        let is_closed = CancellationToken::new();
        let closed = is_closed.clone().drop_guard();
        std::thread::spawn(move || {
            let _closed = closed;
            write(output, to_write);
        });
        Self { input: received, output: sender, is_closed }
    }
}

fn read(mut input: impl BufRead, lines: &mpsc::Sender<AcpLine>) {
    loop {
        let mut line = Vec::new();
        match input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) => return tracing::warn!(%error, "standard input"),
        }
        let is_whole = line.last() == Some(&b'\n') || (line.len() as u64) < LONGEST_LINE;
        let line = if is_whole {
            AcpLine::Whole(line)
        } else if input.skip_until(b'\n').is_ok() {
            AcpLine::TooLong
        } else {
            return;
        };
        if lines.blocking_send(line).is_err() {
            return;
        }
    }
}

fn write(mut output: impl Write, mut lines: mpsc::Receiver<String>) {
    while let Some(mut line) = lines.blocking_recv() {
        line.push('\n');
        let written = output.write_all(line.as_bytes()).and_then(|()| match lines.is_empty() {
            true => output.flush(),
            false => Ok(()),
        });
        if let Err(error) = written {
            return tracing::info!(%error, "nobody reads standard output any more");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_arrive_whole_and_a_last_one_needs_no_end() {
        let mut streams = AcpStreams::start(&b"{}\n\nlast"[..], Vec::new());
        let mut lines = Vec::new();
        while let Some(line) = streams.input.recv().await {
            lines.push(line);
        }
        let whole = |text: &str| AcpLine::Whole(text.into());
        assert_eq!(lines, [whole("{}\n"), whole("\n"), whole("last")]);
    }

    #[tokio::test]
    async fn a_line_without_end_is_skipped_and_the_next_one_is_read() {
        let long = std::io::repeat(b'x').take(LONGEST_LINE + 10).chain(&b"\nnext\n"[..]);
        let mut streams = AcpStreams::start(long, Vec::new());
        assert_eq!(streams.input.recv().await, Some(AcpLine::TooLong));
        assert_eq!(streams.input.recv().await, Some(AcpLine::Whole(b"next\n".to_vec())));
    }
}
