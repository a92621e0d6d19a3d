//! Reads a file of JSON objects, one per line, packed or not.

use std::io::{self, BufRead, Read};
use std::path::Path;

use serde_json::Value;

use crate::session::compression;

/// In bytes. A longer line counts as one that is not an object.
const LONGEST: usize = 64 << 20;

/// The lines of a file, blank ones skipped.
pub(super) struct JsonLinesReader {
    reader: Box<dyn BufRead + Send>,
    line: Vec<u8>,
}

impl JsonLinesReader {
    pub(super) fn open(file: &Path) -> io::Result<Self> {
        Ok(Self { reader: compression::read(file)?, line: Vec::new() })
    }

    /// The bytes of the line that was read last.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.line
    }

    /// The next line: an object, or `Some(None)` where it is not one; `None` at the end of the
    /// file.
    pub(super) fn next(&mut self) -> io::Result<Option<Option<Value>>> {
        loop {
            self.line.clear();
            let mut part = (&mut self.reader).take(LONGEST as u64 + 1);
            if part.read_until(b'\n', &mut self.line)? == 0 {
                return Ok(None);
            }
            if self.line.len() > LONGEST {
                if !self.line.ends_with(b"\n") {
                    self.reader.skip_until(b'\n')?;
                }
                return Ok(Some(None));
            }
            let line = self.line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.line);
            if !line.trim_ascii().is_empty() {
                let value = serde_json::from_slice(line).ok();
                return Ok(Some(value.filter(Value::is_object)));
            }
        }
    }
}
