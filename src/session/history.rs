//! What the person sent before, across sessions, for the input's history.
//!
//! Append-only, one JSON object a line. Several slugs write to the same file; each line is one
//! write, so theirs mix but do not mingle.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::domain::Typed;

use super::files::{self, missing_is_none};

/// The prompts in one file.
#[derive(Debug, Clone)]
pub struct History {
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Prompt {
    timestamp: DateTime<Utc>,
    #[serde(flatten)]
    typed: Typed,
}

/// Prompts that are offered at most.
const PROMPTS: usize = 1_000;
/// Bytes at the end of the file that are read at most.
const BYTES: u64 = 4 << 20;

impl History {
    /// The prompts in this file, which does not have to exist.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Adds what was sent just now.
    pub fn add(&self, typed: &Typed) -> io::Result<()> {
        if let Some(dir) = self.path.parent() {
            files::make_folder(dir)?;
        }
        // A blank line ends what someone else may have left half-written; readers skip it.
        let mut line = vec![b'\n'];
        serde_json::to_writer(&mut line, &Prompt { timestamp: Utc::now(), typed: typed.clone() })?;
        line.push(b'\n');
        files::open_append(&self.path)?.write_all(&line)
    }

    /// The last thousand prompts, the newest first, each once.
    pub fn load(&self) -> io::Result<Vec<Typed>> {
        let bytes = missing_is_none(self.end())?.unwrap_or_default();
        let mut seen = HashSet::new();
        Ok(bytes
            .rsplit(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice::<Prompt>(line).ok())
            .map(|prompt| prompt.typed)
            .filter(|typed| seen.insert(typed.text.clone()))
            .take(PROMPTS)
            .collect())
    }

    fn end(&self) -> io::Result<Vec<u8>> {
        let mut file = File::open(&self.path)?;
        let start = file.metadata()?.len().saturating_sub(BYTES);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn history() -> (tempfile::TempDir, History) {
        let home = tempfile::tempdir().unwrap();
        let history = History::new(home.path().join("slug/history.jsonl"));
        (home, history)
    }

    #[test]
    fn prompts_come_newest_first_and_once() {
        let (_home, history) = history();
        assert_eq!(history.load().unwrap(), []);
        for text in ["one", "two\nlines", "one", "three"] {
            history.add(&text.into()).unwrap();
        }
        assert_eq!(history.load().unwrap(), ["three", "one", "two\nlines"].map(Typed::from));
    }

    #[test]
    fn a_line_that_was_cut_off_takes_no_other_with_it() {
        let (_home, history) = history();
        history.add(&"before".into()).unwrap();
        files::open_append(&history.path).unwrap().write_all(b"{\"text\": \"cut").unwrap();
        history.add(&"after".into()).unwrap();
        assert_eq!(history.load().unwrap(), ["after", "before"].map(Typed::from));
    }

    #[test]
    fn no_more_than_a_thousand_are_offered() {
        let (_home, history) = history();
        for number in 0..1_010 {
            history.add(&format!("prompt {number}").into()).unwrap();
        }
        let prompts = history.load().unwrap();
        assert_eq!(prompts.len(), 1_000);
        assert_eq!(prompts[0].text, "prompt 1009");
    }

    #[test]
    fn the_file_is_for_the_owner_alone() {
        let (_home, history) = history();
        history.add(&"secret".into()).unwrap();
        let mode = std::fs::metadata(&history.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
