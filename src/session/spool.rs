//! The output of a job while its session is open: a nameless file beside the contents, which holds
//! the first and the last megabytes.
//!
//! The file has no name, so nobody else can open it, and it goes with slug however slug ends. Byte
//! `n` of the output lies at byte `n` of the file up to [`HEAD`]; everything after that is written
//! round and round into the [`TAIL`] bytes behind. So a place in the output is found without an
//! index, and a reader that keeps up sees everything, however long the output is.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::watch;

use crate::domain::JobOutputPiece;

use super::files;

/// How much of the start of an output is kept, in bytes.
const HEAD: u64 = 5 << 20;
/// How much of its end is kept, in bytes.
const TAIL: u64 = 5 << 20;
/// The most bytes of a piece.
const PIECE: u64 = 64 << 10;

/// The bounds of a spool: [`HEAD`] and [`TAIL`], smaller in tests.
#[derive(Debug, Clone, Copy)]
struct SpoolBounds {
    head: u64,
    tail: u64,
}

/// What reader and writer share of an output beside its file.
#[derive(Debug, Clone, Default)]
struct SpoolState {
    /// The length of the output.
    written: u64,
    /// The length that the output will have after the write under way, which overwrites older bytes.
    claimed: u64,
    is_over: bool,
    /// Why the output from `written` on is lost.
    failure: Option<String>,
}

/// Writes the output of a job. Dropping it ends the output.
#[derive(Debug)]
pub struct SpoolWriter {
    file: Arc<File>,
    bounds: SpoolBounds,
    state: watch::Sender<SpoolState>,
}

/// Reads the output of a job while it is written and after that. Clones read the same output.
#[derive(Debug, Clone)]
pub struct SpoolReader {
    file: Arc<File>,
    bounds: SpoolBounds,
    state: watch::Receiver<SpoolState>,
}

/// The folder `spool` below the folder of contents.
pub(super) fn spool_folder(blobs: &Path) -> PathBuf {
    blobs.join("spool")
}

/// A new spool in this folder, which is made where it is missing. Blocks.
///
/// # Errors
///
/// When the folder or the file cannot be made.
pub(super) fn create(folder: &Path) -> io::Result<(SpoolWriter, SpoolReader)> {
    create_bounded(folder, SpoolBounds { head: HEAD, tail: TAIL })
}

fn create_bounded(folder: &Path, bounds: SpoolBounds) -> io::Result<(SpoolWriter, SpoolReader)> {
    files::make_folder(folder)?;
    files::step()?;
    let file = tempfile::tempfile_in(folder)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    let file = Arc::new(file);
    let (state, seen) = watch::channel(SpoolState::default());
    let reader = SpoolReader { file: file.clone(), bounds, state: seen };
    Ok((SpoolWriter { file, bounds, state }, reader))
}

impl SpoolBounds {
    /// Where byte `at` of the output lies in the file, and how many bytes from there on lie in a row.
    fn place(self, at: u64) -> (u64, u64) {
        match at.checked_sub(self.head) {
            None => (at, self.head - at),
            Some(behind) => {
                let behind = behind % self.tail;
                (self.head + behind, self.tail - behind)
            }
        }
    }

    /// The first byte from `at` on that is still kept of an output of this length.
    fn first_kept(self, at: u64, length: u64) -> u64 {
        if at < self.head { at } else { at.max(length.saturating_sub(self.tail)) }
    }
}

impl SpoolWriter {
    /// Adds to the output. What cannot be written is lost, with all that follows: the reader is told
    /// so, and the job goes on.
    pub async fn write(&mut self, bytes: &[u8]) {
        // No write overwrites what it has written itself.
        let most = usize::try_from(self.bounds.tail.min(PIECE)).unwrap_or(usize::MAX);
        for piece in bytes.chunks(most) {
            self.write_piece(piece).await;
        }
    }

    async fn write_piece(&mut self, bytes: &[u8]) {
        if self.state.borrow().failure.is_some() {
            return;
        }
        let (file, bounds, bytes) = (self.file.clone(), self.bounds, bytes.to_vec());
        let at = self.state.borrow().written;
        let end = at + bytes.len() as u64;
        self.state.send_modify(|state| state.claimed = end);
        let written =
            tokio::task::spawn_blocking(move || write_at(&file, bounds, at, &bytes)).await;
        let failure = match written {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(error) => Some(error.to_string()),
        };
        self.state.send_modify(|state| match failure {
            None => state.written = end,
            Some(_) => state.failure = failure,
        });
    }

    /// Ends the output.
    pub fn end(&mut self) {
        self.state.send_modify(|state| state.is_over = true);
    }
}

impl Drop for SpoolWriter {
    fn drop(&mut self) {
        self.end();
    }
}

fn write_at(file: &File, bounds: SpoolBounds, mut at: u64, bytes: &[u8]) -> io::Result<()> {
    let mut bytes = bytes;
    while !bytes.is_empty() {
        let (place, in_a_row) = bounds.place(at);
        let now = usize::try_from(in_a_row).unwrap_or(usize::MAX).min(bytes.len());
        let (piece, rest) = bytes.split_at(now);
        files::step()?;
        file.write_all_at(piece, place)?;
        at += now as u64;
        bytes = rest;
    }
    Ok(())
}

impl SpoolReader {
    /// The length of the output so far, with what is no longer kept.
    pub fn length(&self) -> u64 {
        self.state.borrow().written
    }

    /// The output from byte `from` on, at most 64 KB of it. Where nothing is there yet, waits for
    /// more or for the end.
    ///
    /// # Errors
    ///
    /// When the output could not be kept from here on, or the file cannot be read.
    pub async fn follow(&self, from: u64) -> io::Result<JobOutputPiece> {
        let mut state = self.state.clone();
        loop {
            let now = {
                let has_news =
                    |it: &SpoolState| it.written > from || it.is_over || it.failure.is_some();
                // The writer says that the output is over before it is gone.
                let news = state.wait_for(has_news).await.map_err(io::Error::other)?;
                news.clone()
            };
            if now.written <= from {
                return match now.failure {
                    Some(why) => Err(io::Error::other(format!("the output is not kept: {why}"))),
                    None => Ok(JobOutputPiece {
                        skipped: 0,
                        bytes: Vec::new(),
                        next: from,
                        is_last: true,
                    }),
                };
            }
            let start = self.bounds.first_kept(from, now.claimed);
            let (place, in_a_row) = self.bounds.place(start);
            let length = (now.written - start).min(in_a_row).min(PIECE);
            let file = self.file.clone();
            let bytes = tokio::task::spawn_blocking(move || {
                let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
                file.read_exact_at(&mut bytes, place).map(|()| bytes)
            });
            let bytes = bytes.await.map_err(io::Error::other)??;
            let (next, later) = (start + length, self.state.borrow().clone());
            // The writer may have come round while this was read.
            if self.bounds.first_kept(start, later.claimed) == start {
                let is_last = later.is_over && later.failure.is_none() && next == later.written;
                return Ok(JobOutputPiece { skipped: start - from, bytes, next, is_last });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spool(head: u64, tail: u64) -> (tempfile::TempDir, SpoolWriter, SpoolReader) {
        let home = tempfile::tempdir().unwrap();
        let folder = spool_folder(&home.path().join("blobs"));
        let (writer, reader) = create_bounded(&folder, SpoolBounds { head, tail }).unwrap();
        (home, writer, reader)
    }

    /// Everything from the start on, with a mark for each gap.
    async fn all(reader: &SpoolReader) -> String {
        let (mut text, mut from) = (String::new(), 0);
        loop {
            let piece = reader.follow(from).await.unwrap();
            if piece.skipped > 0 {
                text.push_str(&format!("[{}]", piece.skipped));
            }
            text.push_str(std::str::from_utf8(&piece.bytes).unwrap());
            if piece.is_last {
                return text;
            }
            from = piece.next;
        }
    }

    #[tokio::test]
    async fn the_first_and_the_last_bytes_are_kept_and_the_gap_is_counted() {
        let (_home, mut writer, reader) = spool(4, 6);
        for piece in ["ab", "cdef", "ghijklmnop", "qrst"] {
            writer.write(piece.as_bytes()).await;
        }
        writer.end();
        assert_eq!(all(&reader).await, "abcd[10]opqrst");
        assert_eq!(reader.length(), 20);
    }

    #[tokio::test]
    async fn a_reader_that_keeps_up_sees_everything() {
        let (_home, mut writer, reader) = spool(3, 5);
        let (mut seen, mut from) = (Vec::new(), 0);
        for number in 0..200_u8 {
            writer.write(&[number, number]).await;
            while from < reader.length() {
                let piece = reader.follow(from).await.unwrap();
                assert_eq!(piece.skipped, 0);
                seen.extend(piece.bytes);
                from = piece.next;
            }
        }
        assert_eq!(seen, (0..200).flat_map(|number| [number, number]).collect::<Vec<u8>>());
    }

    #[tokio::test]
    async fn a_reader_at_the_end_waits_for_more_and_then_for_the_end() {
        let (_home, mut writer, reader) = spool(10, 10);
        writer.write(b"one").await;
        let following = tokio::spawn(async move {
            let more = reader.follow(3).await.unwrap();
            (more.clone(), reader.follow(more.next).await.unwrap())
        });
        tokio::task::yield_now().await;
        writer.write(b" two").await;
        while !following.is_finished() {
            writer.end();
            tokio::task::yield_now().await;
        }
        let (more, last) = following.await.unwrap();
        assert_eq!(more.bytes, b" two");
        assert_eq!((last.bytes.len(), last.is_last), (0, true));
    }

    #[tokio::test]
    async fn a_writer_that_is_dropped_ends_the_output() {
        let (_home, mut writer, reader) = spool(10, 10);
        writer.write(b"x").await;
        drop(writer);
        assert_eq!(all(&reader).await, "x");
        assert!(reader.follow(1).await.unwrap().is_last);
    }

    #[tokio::test]
    async fn what_cannot_be_kept_is_said_and_what_was_kept_stays() {
        let (_home, mut writer, reader) = spool(4, 4);
        writer.write(b"ab").await;
        // A file that cannot be written.
        writer.file = Arc::new(File::open("/dev/null").unwrap());
        writer.write(b"cd").await;
        writer.end();
        assert_eq!(reader.follow(0).await.unwrap().bytes, b"ab");
        let error = reader.follow(2).await.unwrap_err().to_string();
        assert!(error.starts_with("the output is not kept: "), "{error}");
    }

    #[tokio::test]
    async fn the_file_is_for_the_owner_alone_and_has_no_name() {
        let (home, writer, _reader) = spool(4, 4);
        let mode = writer.file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        let folder = spool_folder(&home.path().join("blobs"));
        let mode = folder.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o700);
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    }
}
