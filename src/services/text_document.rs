//! A long text, cut into lines once, that is read line by line. It may still grow at its end.

/// Most bytes of a growing document: beyond, its older half is dropped. The tool keeps the whole.
const GROWS_TO: usize = 16 * 1024 * 1024;

/// A text and where its lines begin.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct TextDocument {
    id: u64,
    text: String,
    /// Byte offset of each line. Documents are smaller than 4 GB.
    starts: Vec<u32>,
    /// Lines dropped before the first one.
    dropped_lines: usize,
}

impl TextDocument {
    /// A complete text. No two documents on screen may have the same id.
    pub fn new(id: u64, text: &str) -> Self {
        Self::with(id, text, 0)
    }

    /// A text whose first `dropped_lines` lines are missing.
    pub fn with(id: u64, text: &str, dropped_lines: usize) -> Self {
        let mut document = Self { id, text: String::new(), starts: Vec::new(), dropped_lines };
        document.take(text);
        document
    }

    /// Adds text at the end; the cost is that of the new text. May drop the older half.
    pub fn push(&mut self, text: &str) {
        self.push_within(text, GROWS_TO);
    }

    /// Adds text at the end. Where that makes more than `most` bytes, drops all but the last half of
    /// them.
    pub fn push_within(&mut self, text: &str, most: usize) {
        self.take(text);
        if self.text.len() > most {
            self.keep_last(most / 2);
        }
    }

    /// Identifies the document, so that caches can tell its lines from those of others.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The number of lines, without those dropped.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether the document has no line.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The size of the text in bytes, without what was dropped.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Lines dropped before the first one.
    pub fn dropped_lines(&self) -> usize {
        self.dropped_lines
    }

    /// A line without its line feed; empty behind the last line.
    pub fn line(&self, at: usize) -> &str {
        let start = self.starts.get(at).map_or(self.text.len(), |start| *start as usize);
        let end = self.starts.get(at + 1).map_or(self.text.len(), |start| *start as usize);
        let line = &self.text[start..end];
        line.strip_suffix('\n').unwrap_or(line)
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

    /// Drops the lines before the last `bytes`; of a last line that is longer, its beginning.
    fn keep_last(&mut self, bytes: usize) {
        let wanted = self.text.ceil_char_boundary(self.text.len() - bytes);
        let first = self.starts.partition_point(|start| *start < offset(wanted));
        let cut = self.starts.get(first).copied().unwrap_or(offset(wanted));
        let is_in_last = first == self.starts.len();
        self.text.drain(..cut as usize);
        self.starts.drain(..first);
        for start in &mut self.starts {
            *start -= cut;
        }
        if is_in_last {
            self.starts.push(0);
        }
        self.dropped_lines += first - usize::from(is_in_last);
    }
}

impl std::fmt::Debug for TextDocument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextDocument").field("id", &self.id).field("lines", &self.len()).finish()
    }
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(document: &TextDocument) -> Vec<&str> {
        (0..document.len()).map(|at| document.line(at)).collect()
    }

    #[test]
    fn a_document_that_grows_too_large_drops_its_beginning() {
        let mut document = TextDocument::default();
        let piece: String = (0..1000).map(|_| "x".repeat(99) + "\n").collect();
        for _ in 0..200 {
            document.push(&piece);
        }
        assert!(document.bytes() <= GROWS_TO, "{}", document.bytes());
        assert_eq!(document.dropped_lines() + document.len(), 200_000);
        assert!(lines(&document).iter().all(|line| line.len() == 99));
    }

    #[test]
    fn of_a_last_line_that_is_too_long_the_end_is_kept() {
        let mut document = TextDocument::default();
        document.push_within("one\n", 16);
        document.push_within("ééééééééé", 16);
        assert_eq!((lines(&document), document.dropped_lines()), (vec!["éééé"], 1));
        document.push_within("é\ntwo\n", 16);
        assert_eq!(lines(&document), ["ééééé", "two"]);
    }

    proptest! {
        #[test]
        fn however_it_grows_the_lines_are_those_of_the_text(pieces in proptest::collection::vec("[aé\n]{0,6}", 0..8)) {
            let mut grown = TextDocument::default();
            pieces.iter().for_each(|piece| grown.push(piece));
            let whole = pieces.concat();
            prop_assert_eq!(lines(&grown), whole.split_terminator('\n').collect::<Vec<_>>());
            prop_assert_eq!(grown, TextDocument::new(0, &whole));
        }
    }
}
