//! Writes lines to a file in order, each one whole and once.
//!
//! A line that cannot be written stays in memory and is tried again before any later one. Whatever
//! fails, the file is cut back to its last whole line before anything else is written to it. A
//! failed sync may have lost everything written since the last good one, because the kernel marks
//! such pages clean; so all of that is written again.
//!
//! Not here: records, threads, and the file itself, which is a trait so that tests can make each of
//! its calls fail.

use std::collections::VecDeque;
use std::io;

/// The calls to the file that a log makes.
pub(super) trait LogFile: Send {
    /// Creates what is missing: folder, lock, file. Called before each attempt.
    fn ready(&mut self) -> io::Result<()>;
    /// Appends `bytes`, perhaps only a part of them; returns how many.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Cuts the file to `len` bytes.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
    /// Makes everything that was written survive a crash of the machine.
    fn sync(&mut self) -> io::Result<()>;
}

/// How far lines have to get before a flush returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FlushTarget {
    /// To the operating system: they survive the process.
    System,
    /// To the disk: they survive a crash of the machine.
    Disk,
}

/// What follows the last good byte of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogFileEnd {
    /// Nothing.
    Clean,
    /// Perhaps a part of a line, which has to be cut off.
    Dirty,
}

/// Writes lines to a [`LogFile`] and keeps those in memory that are not safe yet.
#[derive(Debug)]
pub(super) struct SessionLogWriter<F> {
    file: F,
    end: LogFileEnd,
    /// How much of the file is whole lines, in bytes.
    len: u64,
    /// How much of the file is known to be on the disk, in bytes.
    synced: u64,
    /// The lines between `synced` and `len`.
    unsynced: VecDeque<Vec<u8>>,
    /// The lines that are not in the file.
    waiting: VecDeque<Vec<u8>>,
}

impl<F: LogFile> SessionLogWriter<F> {
    /// A writer that appends after the first `len` bytes of `file`.
    pub(super) fn new(file: F, len: u64, end: LogFileEnd) -> Self {
        Self { file, end, len, synced: len, unsynced: VecDeque::new(), waiting: VecDeque::new() }
    }

    /// Queues a line, with its line feed, for the next [`Self::flush`].
    pub(super) fn push(&mut self, line: Vec<u8>) {
        self.waiting.push_back(line);
    }

    /// Takes back a line that could not be written, so that it never will be.
    pub(super) fn take_back(&mut self, line: &[u8]) {
        self.waiting.retain(|waiting| waiting != line);
        // Whatever part of the line is in the file is cut off at once, where that is possible, and
        // otherwise before the next line.
        if let Err(error) = self.cut() {
            tracing::debug!(%error, "cutting the session log failed");
        }
    }

    /// The number of lines that are only in memory.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How much of the file is whole lines, in bytes.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Writes all waiting lines. A call that fails is tried once more at once, and then by the next
    /// flush. Does not touch the file when there is nothing to do.
    pub(super) fn flush(&mut self, target: FlushTarget) -> io::Result<()> {
        let idle = self.waiting.is_empty() && self.unsynced.is_empty();
        if idle && self.end == LogFileEnd::Clean {
            return Ok(());
        }
        self.attempt(target).or_else(|error| {
            tracing::debug!(%error, "writing the session log failed, trying once more");
            self.attempt(target)
        })
    }

    fn attempt(&mut self, target: FlushTarget) -> io::Result<()> {
        self.file.ready()?;
        self.cut()?;
        while let Some(line) = self.waiting.pop_front() {
            if let Err(error) = write_whole(&mut self.file, &line) {
                self.waiting.push_front(line);
                self.end = LogFileEnd::Dirty;
                // Cut at once, so that a crash from here on leaves no part of a line. When this
                // fails too, the next attempt begins with it.
                if let Err(error) = self.cut() {
                    tracing::debug!(%error, "cutting the session log failed");
                }
                return Err(error);
            }
            self.len += line.len() as u64;
            self.unsynced.push_back(line);
        }
        match target {
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
