//! Reads lines of a bounded length. What is longer is skipped, never kept.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// The longest line that is read, in bytes: a prompt with some images.
pub(super) const LONGEST_LINE: usize = 16 << 20;

/// Reads the lines of one client.
pub(super) struct LineReader<R> {
    from: BufReader<R>,
    longest: usize,
    number: u64,
}

/// A line as it came, with its end if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReadLine {
    Whole(Vec<u8>),
    /// Longer than slug reads.
    TooLong,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(from: R, longest: usize) -> Self {
        Self { from: BufReader::new(from), longest, number: 0 }
    }

    /// The next line with its number, from 1; `None` at the end. The last one needs no line end. A future
    /// that is dropped loses what it has read.
    ///
    /// # Errors
    ///
    /// When the client cannot be read from any more.
    pub(super) async fn next(&mut self) -> io::Result<Option<(u64, ReadLine)>> {
        let (mut line, mut is_too_long, mut is_begun) = (Vec::new(), false, false);
        loop {
            let part = self.from.fill_buf().await?;
            if part.is_empty() {
                if !is_begun {
                    return Ok(None);
                }
                break;
            }
            is_begun = true;
            let end = part.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(part.len(), |at| at + 1);
            if line.len() + used > self.longest {
                (line, is_too_long) = (Vec::new(), true);
            }
            if !is_too_long {
                line.extend_from_slice(&part[..used]);
            }
            self.from.consume(used);
            if end.is_some() {
                break;
            }
        }
        self.number += 1;
        let read = if is_too_long { ReadLine::TooLong } else { ReadLine::Whole(line) };
        Ok(Some((self.number, read)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(bytes: &[u8], longest: usize) -> Vec<(u64, ReadLine)> {
        let mut reader = LineReader::new(bytes, longest);
        let mut lines = Vec::new();
        while let Some(line) = reader.next().await.unwrap() {
            lines.push(line);
        }
        lines
    }

    fn whole(number: u64, text: &[u8]) -> (u64, ReadLine) {
        (number, ReadLine::Whole(text.to_vec()))
    }

    #[tokio::test]
    async fn lines_come_whole_and_the_last_needs_no_end() {
        let lines = all(b"{}\n\n\xff\0half", 100).await;
        assert_eq!(lines, [whole(1, b"{}\n"), whole(2, b"\n"), whole(3, b"\xff\0half")]);
        assert_eq!(all(b"", 100).await, []);
    }

    #[tokio::test]
    async fn a_long_line_is_skipped_and_counted() {
        let long = [vec![b'x'; 300_000], b"\nnext\n".to_vec()].concat();
        assert_eq!(all(&long, 100_000).await, [(1, ReadLine::TooLong), whole(2, b"next\n")]);
        let endless = vec![b'x'; 300_000];
        assert_eq!(all(&endless, 100_000).await, [(1, ReadLine::TooLong)]);
        assert_eq!(all(b"123\n", 4).await, [whole(1, b"123\n")]);
        assert_eq!(all(b"1234\n5\n", 4).await, [(1, ReadLine::TooLong), whole(2, b"5\n")]);
    }
}
