//! Writes output of which the model gets only a part to a file that it may read, while it comes.
//!
//! The file has plain text, as the result has it. It is made once there is more than the result
//! takes. What is written comes from the process port, which has taken slug's keys out of it.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use super::{MODEL_BYTES, clean};
use crate::tools::{OutputFile, OutputFiles, text};

/// The most bytes that are written: a command without an end must not fill the disk.
const MAX_FILE: u64 = 256 << 20;

/// A line longer than this is written in parts.
const MAX_LINE: usize = 1 << 20;

/// The whole output of a command, in a file where it is long.
pub(super) struct WholeOutput {
    outputs: Option<Arc<dyn OutputFiles>>,
    /// What is not written yet: everything before there is a file, and then a part of a line.
    pending: Vec<u8>,
    file: Option<(PathBuf, BufWriter<File>)>,
    written: u64,
}

/// The file that has an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SavedOutput {
    pub path: PathBuf,
    /// Whether everything is in it.
    pub is_whole: bool,
}

impl WholeOutput {
    /// Without `outputs`, nothing is written.
    pub fn new(outputs: Option<Arc<dyn OutputFiles>>) -> Self {
        Self { outputs, pending: Vec::new(), file: None, written: 0 }
    }

    /// Adds the next piece. A file that cannot be written is given up: the result then says
    /// nothing of it.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.outputs.is_none() || self.written >= MAX_FILE {
            return;
        }
        self.pending.extend_from_slice(bytes);
        if self.file.is_none() && self.pending.len() <= MODEL_BYTES {
            return;
        }
        let end = match self.pending.iter().rposition(|byte| *byte == b'\n') {
            Some(newline) => newline + 1,
            None if self.pending.len() > MAX_LINE => self.pending.len(),
            None => 0,
        };
        self.write(end);
    }

    /// The file with everything that has come. Where the result has it all, no file is left.
    pub fn finish(mut self, is_cut: bool) -> Option<SavedOutput> {
        if !is_cut {
            self.forget();
            return None;
        }
        self.write(self.pending.len());
        let (path, mut file) = self.file.take()?;
        file.flush().ok()?;
        Some(SavedOutput { path, is_whole: self.written < MAX_FILE })
    }

    /// Writes the first bytes of what is pending.
    fn write(&mut self, end: usize) {
        let Some(outputs) = &self.outputs else { return };
        if self.file.is_none() {
            match text::binary_kind(&self.pending).is_none().then(|| outputs.create()) {
                Some(Ok(OutputFile { path, file })) => {
                    self.file = Some((path, BufWriter::new(file)));
                }
                Some(Err(error)) => return self.give_up(&error),
                // Nobody reads that as lines.
                None => return self.forget(),
            }
        }
        let Some((_, file)) = &mut self.file else { return };
        let plain = clean::plain(&String::from_utf8_lossy(&self.pending[..end]));
        let left = usize::try_from(MAX_FILE - self.written).unwrap_or(usize::MAX);
        let bytes = &plain.as_bytes()[..plain.len().min(left)];
        if let Err(error) = file.write_all(bytes) {
            return self.give_up(&error);
        }
        self.written += bytes.len() as u64;
        self.pending.drain(..end);
    }

    fn give_up(&mut self, error: &io::Error) {
        tracing::warn!(%error, "long output is not in a file");
        self.forget();
    }

    fn forget(&mut self) {
        if let Some((path, _)) = self.file.take() {
            // It is left where it cannot be removed; nothing names it.
            let _ = std::fs::remove_file(path);
        }
        (self.outputs, self.file, self.pending) = (None, None, Vec::new());
    }
}
