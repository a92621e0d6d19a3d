//! A long text cut into lines once, which may still grow at its end.

use crate::tui::layout::pager_lines;

/// Bytes that a growing document keeps: beyond, the older half goes. The tool keeps the whole.
const GROWS_TO: usize = 16 * 1024 * 1024;

/// A text and where its lines begin.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PagerDocument {
    id: u64,
    text: String,
    /// Where each line begins. Documents are smaller than 4 GB.
    starts: Vec<u32>,
    /// Lines before the first one that were let go.
    dropped_lines: usize,
}

impl PagerDocument {
    /// The document of this id, of which no two on screen may have the same.
    pub fn new(id: u64, text: &str) -> Self {
        Self::with(id, text, 0)
    }

    /// The rest of a text of which so many lines are gone.
    pub fn with(id: u64, text: &str, let_go: usize) -> Self {
        let mut document =
            Self { id, text: String::new(), starts: Vec::new(), dropped_lines: let_go };
        document.take(text);
        document
    }

    /// Adds text at the end; costs what is new.
    pub fn push(&mut self, text: &str) {
        self.take(text);
        if self.text.len() > GROWS_TO {
            self.let_go_of_half();
        }
    }

    /// Tells its lines from those of every other document.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// How many lines there are.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there is no line.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// How many bytes there are.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Lines before the first one that were let go.
    pub fn dropped_lines(&self) -> usize {
        self.dropped_lines
    }

    /// A line without its line feed; empty behind the last.
    pub fn line(&self, at: usize) -> &str {
        let start = self.starts.get(at).map_or(self.text.len(), |start| *start as usize);
        let end = self.starts.get(at + 1).map_or(self.text.len(), |start| *start as usize);
        let line = &self.text[start..end];
        line.strip_suffix('\n').unwrap_or(line)
    }

    /// Some lines as they are read: without escape sequences, as a terminal would show them.
    pub fn read(&self, lines: std::ops::Range<usize>) -> String {
        let mut text = String::new();
        for line in lines {
            text.push_str(&pager_lines::text(self.line(line)));
            text.push('\n');
        }
        text
    }

    fn take(&mut self, text: &str) {
        let from = self.text.len();
        self.text.push_str(text);
        let begins = from == 0 || self.text.as_bytes()[from - 1] == b'\n';
        if begins && !text.is_empty() {
            self.starts.push(offset(from));
        }
        let feeds = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        // The line feed at the very end begins no line yet.
        let starts = feeds.map(|(at, _)| from + at + 1).filter(|start| *start < self.text.len());
        self.starts.extend(starts.map(offset));
    }

    fn let_go_of_half(&mut self) {
        let wanted = offset(self.text.len() - GROWS_TO / 2);
        let first = self.starts.partition_point(|start| *start < wanted);
        let cut = self.starts.get(first).copied().unwrap_or(wanted);
        self.text.drain(..cut as usize);
        self.starts.drain(..first);
        for start in &mut self.starts {
            *start -= cut;
        }
        self.dropped_lines += first;
    }
}

impl std::fmt::Debug for PagerDocument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Document").field("id", &self.id).field("lines", &self.len()).finish()
    }
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(document: &PagerDocument) -> Vec<&str> {
        (0..document.len()).map(|at| document.line(at)).collect()
    }

    #[test]
    fn a_document_that_grows_too_large_lets_its_beginning_go() {
        let mut document = PagerDocument::default();
        let piece: String = (0..1000).map(|_| "x".repeat(99) + "\n").collect();
        for _ in 0..200 {
            document.push(&piece);
        }
        assert!(document.bytes() <= GROWS_TO, "{}", document.bytes());
        assert_eq!(document.dropped_lines() + document.len(), 200_000);
        assert!(lines(&document).iter().all(|line| line.len() == 99));
    }

    proptest! {
        #[test]
        fn however_it_grows_the_lines_are_those_of_the_text(pieces in proptest::collection::vec("[aé\n]{0,6}", 0..8)) {
            let mut grown = PagerDocument::default();
            pieces.iter().for_each(|piece| grown.push(piece));
            let whole = pieces.concat();
            prop_assert_eq!(lines(&grown), whole.split_terminator('\n').collect::<Vec<_>>());
            prop_assert_eq!(grown, PagerDocument::new(0, &whole));
        }
    }
}
