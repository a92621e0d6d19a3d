//! The prompts that the user sent before, across sessions, for the history of the input.
//!
//! Append-only, one JSON object per line. Several slugs append to the same file; each line is a
//! single write, so lines of different slugs alternate but never mix. The file is read from its
//! end, page by page, in steps of bounded size; a line is read whole, however long it is.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::disk::open_regular;
use crate::domain::UserInput;

use super::files;

/// The file of sent prompts, which all running slugs append to.
#[derive(Debug, Clone)]
pub struct PromptHistoryFile {
    path: PathBuf,
}

/// Some consecutive prompts of the history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryPage {
    /// The newest one first.
    pub prompts: Vec<SentPrompt>,
    /// The offset at which the page before this one ends, in bytes; `None` where there is none.
    pub earlier: Option<u64>,
}

/// One prompt that the user sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentPrompt {
    timestamp: DateTime<Utc>,
    /// The working folder in which it was sent; `None` in lines of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    #[serde(flatten)]
    pub typed: UserInput,
}

/// A page stops growing once it has this many prompts.
const PROMPTS: usize = 1_000;
/// A page stops growing once so many bytes were read for it.
const BYTES: u64 = 1 << 20;
/// How much is read at a time, in bytes.
const STEP: u64 = 256 << 10;

impl PromptHistoryFile {
    /// The history in the file `path`, which does not have to exist.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Appends a prompt that was sent just now, from this folder.
    ///
    /// # Errors
    ///
    /// When the file cannot be created or written.
    pub fn add(&self, typed: &UserInput, folder: &Path) -> io::Result<()> {
        if let Some(dir) = self.path.parent() {
            files::make_folder(dir)?;
        }
        let folder = Some(folder.to_string_lossy().into_owned());
        let prompt = SentPrompt { timestamp: Utc::now(), folder, typed: typed.clone() };
        // A line feed first: another slug may have left a half-written line. Readers skip blank
        // lines.
        let mut line = vec![b'\n'];
        serde_json::to_writer(&mut line, &prompt)?;
        line.push(b'\n');
        files::open_append(&self.path)?.write_all(&line)
    }

    /// The page that ends at the offset `before`; without it, the newest page.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or is not a regular file.
    pub fn page(&self, before: Option<u64>) -> io::Result<HistoryPage> {
        let file = open_regular(&self.path).map_err(io::Error::other)?;
        file.map_or_else(|| Ok(HistoryPage::default()), |(file, _)| page(file, before))
    }
}

fn page(mut file: File, before: Option<u64>) -> io::Result<HistoryPage> {
    let length = file.metadata()?.len();
    let end = before.map_or(length, |before| before.min(length));
    let mut start = end;
    let mut prompts = Vec::new();
    // The beginning of what was read so far: a line whose own beginning has not been read yet.
    let mut cut: Vec<u8> = Vec::new();
    while start > 0 && prompts.len() < PROMPTS && (prompts.is_empty() || end - start < BYTES) {
        let step = STEP.min(start);
        start -= step;
        file.seek(SeekFrom::Start(start))?;
        let mut piece = Vec::new();
        (&mut file).take(step).read_to_end(&mut piece)?;
        let first = if start == 0 { Some(0) } else { piece.iter().position(|b| *b == b'\n') };
        piece.append(&mut cut);
        let whole = first.map_or_else(Vec::new, |first| piece.split_off(first));
        cut = piece;
        let lines = whole.rsplit(|byte| *byte == b'\n');
        prompts.extend(lines.filter_map(|line| serde_json::from_slice::<SentPrompt>(line).ok()));
    }
    let earlier = start + u64::try_from(cut.len()).unwrap_or(u64::MAX);
    Ok(HistoryPage { prompts, earlier: (start > 0).then_some(earlier) })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn history() -> (tempfile::TempDir, PromptHistoryFile) {
        let home = tempfile::tempdir().unwrap();
        let history = PromptHistoryFile::new(home.path().join("slug/history.jsonl"));
        (home, history)
    }

    fn add(history: &PromptHistoryFile, text: &str) {
        history.add(&text.into(), Path::new("/w")).unwrap();
    }

    fn texts(page: &HistoryPage) -> Vec<&str> {
        page.prompts.iter().map(|prompt| prompt.typed.text.as_str()).collect()
    }

    #[test]
    fn prompts_come_newest_first_with_their_folder() {
        let (_home, history) = history();
        assert_eq!(history.page(None).unwrap(), HistoryPage::default());
        for text in ["one", "two\nlines", "three"] {
            add(&history, text);
        }
        let page = history.page(None).unwrap();
        assert_eq!(texts(&page), ["three", "two\nlines", "one"]);
        assert_eq!((page.prompts[0].folder.as_deref(), page.earlier), (Some("/w"), None));
    }

    #[test]
    fn a_line_without_a_folder_is_read() {
        let (_home, history) = history();
        add(&history, "new");
        let line = b"{\"timestamp\":\"2026-01-01T00:00:00Z\",\"text\":\"old\"}\n";
        files::open_append(&history.path).unwrap().write_all(line).unwrap();
        assert_eq!(texts(&history.page(None).unwrap()), ["old", "new"]);
    }

    #[test]
    fn a_line_that_was_cut_off_takes_no_other_with_it() {
        let (_home, history) = history();
        add(&history, "before");
        files::open_append(&history.path).unwrap().write_all(b"{\"text\": \"cut").unwrap();
        add(&history, "after");
        assert_eq!(texts(&history.page(None).unwrap()), ["after", "before"]);
    }

    #[test]
    fn the_pages_together_are_the_whole_file() {
        let (_home, history) = history();
        let sent: Vec<String> =
            (0..700).map(|number| format!("{number} {}", "x".repeat(number * 9))).collect();
        sent.iter().for_each(|text| add(&history, text));
        add(&history, &"y".repeat(3 << 20));
        let mut read = Vec::new();
        let mut before = None;
        let mut pages = 0;
        loop {
            let page = history.page(before).unwrap();
            read.extend(texts(&page).into_iter().map(str::to_owned));
            pages += 1;
            before = page.earlier;
            if before.is_none() {
                break;
            }
        }
        assert!(pages > 2);
        assert_eq!(read.remove(0).len(), 3 << 20);
        read.reverse();
        assert!(read == sent);
    }

    #[test]
    fn the_file_is_for_the_owner_alone() {
        let (_home, history) = history();
        add(&history, "secret");
        let mode = std::fs::metadata(&history.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
