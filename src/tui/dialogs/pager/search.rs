//! The search in the pager: all matches are counted, and one of them is the current one. A short
//! text is searched at once, a long one off the UI task. For text added later, only the new part is
//! searched.

use std::ops::Range;

use crate::tui::app::request_id::RequestId;
use crate::tui::app::text_query::TextQuery;
use crate::tui::layout::pager_lines;

use crate::services::text_document::TextDocument;

/// Documents of at most this many bytes are searched at once.
pub const AT_ONCE: usize = 128 * 1024;

/// A line with matches, and how many it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PagerMatch {
    pub line: usize,
    /// At least 1.
    pub count: usize,
}

/// The match that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurrentPagerMatch {
    /// Index into the lines with matches.
    pub hit: usize,
    /// Which match of that line, counted from 0.
    pub nth: usize,
}

/// A query with what it has found.
#[derive(Debug, Clone, PartialEq)]
pub struct PagerSearch {
    pub query: TextQuery,
    /// The lines with matches, in order.
    pub hits: Vec<PagerMatch>,
    /// The request of a search off the UI task, while it runs.
    pub asked: Option<RequestId>,
    /// The match that is shown.
    pub current: Option<CurrentPagerMatch>,
    /// The line from which to look for the first match, and which match of that line is wanted.
    origin: (usize, usize),
    /// How many lines were searched and do not change any more.
    searched: usize,
}

/// Which match to go to from the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagerSearchDirection {
    /// Down.
    Next,
    /// Up.
    Previous,
}

/// The lines with matches within `lines`.
pub fn hits(document: &TextDocument, query: &TextQuery, lines: Range<usize>) -> Vec<PagerMatch> {
    let count = |line: usize| query.matches(&pager_lines::text(document.line(line))).len();
    let hits = lines.map(|line| PagerMatch { line, count: count(line) });
    hits.filter(|hit| hit.count > 0).collect()
}

impl PagerSearch {
    /// A search without matches yet, which will go to the first match from line `origin`.
    pub fn new(query: TextQuery, origin: usize) -> Self {
        Self::at(query, origin, 0)
    }

    /// A search without matches yet, which will go to the `nth` match of a line.
    pub fn at(query: TextQuery, line: usize, nth: usize) -> Self {
        let (hits, asked, current) = (Vec::new(), None, None);
        Self { query, hits, asked, current, origin: (line, nth), searched: 0 }
    }

    /// The line from which to look for the first match.
    pub fn origin(&self) -> usize {
        self.origin.0
    }

    /// Takes over the matches in the lines before `searched`, searches the rest, and selects the
    /// first match from the origin on, else the first of all.
    pub fn found(&mut self, found: Vec<PagerMatch>, searched: usize, document: &TextDocument) {
        self.hits = found;
        self.asked = None;
        self.searched = searched.saturating_sub(1);
        self.go_on(document);
        let (line, wanted) = self.origin;
        let first = self.hits.partition_point(|hit| hit.line < line);
        let hit = if first < self.hits.len() { first } else { 0 };
        let is_there = |hit: &PagerMatch| hit.line == line && wanted < hit.count;
        let nth = if self.hits.get(hit).is_some_and(is_there) { wanted } else { 0 };
        self.current = (!self.hits.is_empty()).then_some(CurrentPagerMatch { hit, nth });
    }

    /// Searches the lines that were added since, and the last line again, which may have grown.
    pub fn go_on(&mut self, document: &TextDocument) {
        if self.asked.is_some() {
            return;
        }
        let kept = self.hits.partition_point(|hit| hit.line < self.searched);
        self.hits.truncate(kept);
        self.hits.extend(hits(document, &self.query, self.searched..document.len()));
        // The last line may still grow.
        self.searched = document.len().saturating_sub(1);
    }

    /// Goes to the next or previous match; wraps around at the ends.
    pub fn step(&mut self, direction: PagerSearchDirection) {
        let Some(CurrentPagerMatch { hit, nth }) = self.current else { return };
        let count = |at: usize| self.hits.get(at).map_or(0, |hit| hit.count);
        let lines = self.hits.len();
        self.current = Some(match direction {
            PagerSearchDirection::Next if nth + 1 < count(hit) => {
                CurrentPagerMatch { hit, nth: nth + 1 }
            }
            PagerSearchDirection::Next => {
                CurrentPagerMatch { hit: (hit + 1) % lines.max(1), nth: 0 }
            }
            PagerSearchDirection::Previous if nth > 0 => CurrentPagerMatch { hit, nth: nth - 1 },
            PagerSearchDirection::Previous => {
                let hit = hit.checked_sub(1).unwrap_or(lines.saturating_sub(1));
                CurrentPagerMatch { hit, nth: count(hit).saturating_sub(1) }
            }
        });
    }

    /// The number of all matches.
    pub fn total(&self) -> usize {
        self.hits.iter().map(|hit| hit.count).sum()
    }

    /// The number of the current match, from 1.
    pub fn number(&self) -> Option<usize> {
        let CurrentPagerMatch { hit, nth } = self.current?;
        let above: usize = self.hits.iter().take(hit).map(|hit| hit.count).sum();
        Some(above + nth + 1)
    }

    /// The line of the current match, and which match of that line it is, from 0.
    pub fn current_place(&self) -> Option<(usize, usize)> {
        let CurrentPagerMatch { hit, nth } = self.current?;
        Some((self.hits.get(hit)?.line, nth))
    }
}

#[cfg(test)]
mod tests {
    use crate::tui::app::text_query::TextQueryKind;

    use crate::tui::dialogs::pager::search::*;

    fn search(text: &str, document: &TextDocument, origin: usize) -> PagerSearch {
        let query = TextQuery::new(text, TextQueryKind::Plain).unwrap();
        let found = hits(document, &query, 0..document.len());
        let mut search = PagerSearch::new(query, origin);
        search.found(found, document.len(), document);
        search
    }

    #[test]
    fn stepping_through_matches_wraps_at_the_ends() {
        let document = TextDocument::new(1, "aXa\nb\na\n\u{1b}[1ma\u{1b}[0m");
        let mut search = search("a", &document, 1);
        assert_eq!(
            (search.total(), search.number(), search.current_place()),
            (4, Some(3), Some((2, 0)))
        );
        let mut seen = Vec::new();
        for direction in [
            PagerSearchDirection::Next,
            PagerSearchDirection::Next,
            PagerSearchDirection::Next,
            PagerSearchDirection::Previous,
            PagerSearchDirection::Previous,
        ] {
            search.step(direction);
            seen.push(search.current_place().unwrap());
        }
        assert_eq!(seen, [(3, 0), (0, 0), (0, 1), (0, 0), (3, 0)]);
    }

    #[test]
    fn a_query_without_matches_has_no_current_place() {
        let document = TextDocument::new(1, "abc");
        let mut search = search("x", &document, 0);
        search.step(PagerSearchDirection::Next);
        assert_eq!((search.total(), search.number(), search.current_place()), (0, None, None));
    }

    #[test]
    fn added_lines_are_searched_too() {
        let mut document = TextDocument::new(1, "a\nno a");
        let mut search = search("a", &document, 0);
        document.push("a\na\n");
        search.go_on(&document);
        document.push("a");
        search.go_on(&document);
        let hits: Vec<(usize, usize)> = search.hits.iter().map(|it| (it.line, it.count)).collect();
        assert_eq!(hits, [(0, 1), (1, 2), (2, 1), (3, 1)]);
    }
}
