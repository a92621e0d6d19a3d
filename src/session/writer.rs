//! Lines go in, and come to lie in a file in order, whole and once.
//!
//! A line that cannot be written stays in memory and is tried again before any later one. Whatever
//! fails, the file is cut back to its last whole line before anything else is written to it. A
//! failed sync may have lost what was written since the last good one (the kernel marks such pages
//! clean), so all of that is written again.
//!
//! Not here: records, threads, and the file itself, which is a trait so that tests can make each
//! of its calls fail.

use std::collections::VecDeque;
use std::io;

/// The calls that a log makes.
pub(super) trait LogFile: Send {
    /// Makes what is missing: folder, lock, file. Called before each attempt.
    fn ready(&mut self) -> io::Result<()>;
    /// Appends, perhaps a part only.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Cuts the file to `len` bytes.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
    /// Makes what was written survive the machine.
    fn sync(&mut self) -> io::Result<()>;
}

/// Whether lines only have to be with the operating system, or on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FlushTarget {
    /// They outlive the process.
    System,
    /// They outlive the machine.
    Disk,
}

/// What lies behind the last good byte of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogFileEnd {
    /// Nothing.
    Clean,
    /// Perhaps a part of a line, to be cut off.
    Dirty,
}

/// Writes lines to a file.
#[derive(Debug)]
pub(super) struct SessionLogWriter<F> {
    file: F,
    end: LogFileEnd,
    /// Bytes of the file that are whole lines.
    len: u64,
    /// Bytes of the file that are known to be on the disk.
    synced: u64,
    /// The lines between `synced` and `len`.
    unsynced: VecDeque<Vec<u8>>,
    /// The lines that are not in the file.
    waiting: VecDeque<Vec<u8>>,
}

impl<F: LogFile> SessionLogWriter<F> {
    /// Goes on after the first `len` bytes of `file`.
    pub(super) fn new(file: F, len: u64, end: LogFileEnd) -> Self {
        Self { file, end, len, synced: len, unsynced: VecDeque::new(), waiting: VecDeque::new() }
    }

    /// Takes a line, with its line feed, to be written by the next [`Self::flush`].
    pub(super) fn push(&mut self, line: Vec<u8>) {
        self.waiting.push_back(line);
    }

    /// Takes a line back that could not be written: whatever comes, it will not be.
    pub(super) fn take_back(&mut self, line: &[u8]) {
        self.waiting.retain(|waiting| waiting != line);
        // What is there of it goes at once, where that is possible, and before the next line else.
        if let Err(error) = self.cut() {
            tracing::debug!(%error, "cutting the session log failed");
        }
    }

    /// How many lines are in memory only.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Bytes of the file that are whole lines.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Writes all waiting lines. What fails is tried once more at once, and then by the next call.
    /// With nothing to do the file is not touched.
    pub(super) fn flush(&mut self, reach: FlushTarget) -> io::Result<()> {
        let idle = self.waiting.is_empty() && self.unsynced.is_empty();
        if idle && self.end == LogFileEnd::Clean {
            return Ok(());
        }
        self.attempt(reach).or_else(|error| {
            tracing::debug!(%error, "writing the session log failed, trying once more");
            self.attempt(reach)
        })
    }

    fn attempt(&mut self, reach: FlushTarget) -> io::Result<()> {
        self.file.ready()?;
        self.cut()?;
        while let Some(line) = self.waiting.pop_front() {
            if let Err(error) = write_whole(&mut self.file, &line) {
                self.waiting.push_front(line);
                self.end = LogFileEnd::Dirty;
                // At once, so that a crash from here on leaves no part of a line. When this fails
                // too, the next attempt begins with it.
                if let Err(error) = self.cut() {
                    tracing::debug!(%error, "cutting the session log failed");
                }
                return Err(error);
            }
            self.len += line.len() as u64;
            self.unsynced.push_back(line);
        }
        match reach {
            FlushTarget::System => Ok(()),
            FlushTarget::Disk => self.sync(),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.unsynced.is_empty() {
            return Ok(());
        }
        if let Err(error) = uninterrupted(|| self.file.sync()) {
            self.unsynced.append(&mut self.waiting);
            std::mem::swap(&mut self.unsynced, &mut self.waiting);
            self.len = self.synced;
            self.end = LogFileEnd::Dirty;
            return Err(error);
        }
        self.unsynced.clear();
        self.synced = self.len;
        Ok(())
    }

    fn cut(&mut self) -> io::Result<()> {
        if self.end == LogFileEnd::Dirty {
            uninterrupted(|| self.file.truncate(self.len))?;
            self.end = LogFileEnd::Clean;
        }
        Ok(())
    }
}

fn write_whole<F: LogFile>(file: &mut F, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match uninterrupted(|| file.write(bytes))? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => bytes = &bytes[written..],
        }
    }
    Ok(())
}

fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
