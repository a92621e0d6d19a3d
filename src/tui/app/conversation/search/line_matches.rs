//! The matches of a query in a text, line by line, with escape sequences left out.

use std::borrow::Cow;
use std::ops::Range;

use crate::domain::sanitize::EscapeSequenceReader;
use crate::tui::app::text_query::{TextQuery, TextQueryKind};

/// The matches in a text, line by line. Escape sequences inside a word do not prevent a match.
pub(super) fn matches(query: &TextQuery, text: &str) -> Vec<Range<usize>> {
    if query.kind() == TextQueryKind::Plain && !text.contains('\u{1b}') {
        return query.matches(text);
    }
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split('\n') {
        let (plain, places) = without_escapes(line);
        let source = |plain: usize| {
            let next = places.partition_point(|(from, _)| *from <= plain);
            let (from, raw) = next.checked_sub(1).map_or((0, 0), |last| places[last]);
            at + raw + (plain - from)
        };
        let ranges = query.matches(&plain);
        found.extend(ranges.into_iter().map(|it| source(it.start)..source(it.end - 1) + 1));
        at += line.len() + 1;
    }
    found
}

/// A line without escape sequences, and the map back: pairs of an offset in the plain text and the
/// offset in the line for the text from there on.
fn without_escapes(line: &str) -> (Cow<'_, str>, Vec<(usize, usize)>) {
    if !line.contains('\u{1b}') {
        return (line.into(), Vec::new());
    }
    let mut sequences = EscapeSequenceReader::new(line);
    let (mut plain, mut places, mut at) = (String::new(), Vec::new(), 0);
    while let Some(next) = line[at..].find('\u{1b}') {
        places.push((plain.len(), at));
        plain.push_str(&line[at..at + next]);
        at += next + sequences.at(at + next).1;
    }
    places.push((plain.len(), at));
    plain.push_str(&line[at..]);
    (plain.into(), places)
}
