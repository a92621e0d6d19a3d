//! Which rows of a list fit a filter, and in which order: what the user typed in full stands above
//! what only contains it, and words above scattered letters.

use std::cmp::Reverse;

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::tui::app::picker_list::PickerItem;

/// How a row fits a filter, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PickerFit {
    /// The filter is the name of the row, or one of its other names.
    Exact,
    /// The name begins with the filter; the shorter name stands first.
    NamePrefix { length: usize },
    /// Another name begins with the filter.
    OtherNamePrefix,
    /// Each word of the filter begins a word of the label.
    LabelWords,
    /// Each word of the filter begins a word of the label, the description or another name.
    AllWords,
    /// The letters of the filter are scattered over the name, the closer together the better. Only
    /// for a label of one word: in a sentence any letters can be found.
    Scattered { score: Reverse<u32> },
}

/// Whether a filter has a sign with which nucleo narrows a match: `^`, `$`, `'`, `!`.
pub fn has_operator(query: &str) -> bool {
    query.split_whitespace().any(|atom| atom.starts_with(['^', '\'', '!']) || atom.ends_with('$'))
}

/// The rows that fit the filter, as indices, the best first. Rows that fit equally well keep their
/// order.
pub fn ranked(query: &str, items: &[PickerItem]) -> Vec<usize> {
    let query = query.trim().trim_start_matches('/').to_lowercase();
    let words: Vec<&str> = query.split_whitespace().collect();
    let pattern = Pattern::new(&query, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy);
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let mut buffer = Vec::new();
    let mut fitting: Vec<(PickerFit, usize)> = (0..)
        .zip(items)
        .filter_map(|(at, item)| {
            let fit = by_words(&query, &words, item).or_else(|| {
                if item.label.contains(' ') {
                    return None;
                }
                let label = Utf32Str::new(&item.label, &mut buffer);
                let score = Reverse(pattern.score(label, &mut matcher)?);
                Some(PickerFit::Scattered { score })
            });
            Some((fit?, at))
        })
        .collect();
    fitting.sort();
    fitting.into_iter().map(|(_, at)| at).collect()
}

fn by_words(query: &str, words: &[&str], item: &PickerItem) -> Option<PickerFit> {
    let label = item.label.trim_start_matches('/').to_lowercase();
    let keywords = item.keywords.to_lowercase();
    let mut others = keywords.split_whitespace();
    if label == query || others.clone().any(|other| other == query) {
        return Some(PickerFit::Exact);
    }
    if label.starts_with(query) {
        return Some(PickerFit::NamePrefix { length: label.len() });
    }
    if others.any(|other| other.starts_with(query)) {
        return Some(PickerFit::OtherNamePrefix);
    }
    if begin_words(words, &[&label]) {
        return Some(PickerFit::LabelWords);
    }
    let detail = item.detail.to_lowercase();
    begin_words(words, &[&label, &detail, &keywords]).then_some(PickerFit::AllWords)
}

/// Whether each of these words begins a word of the texts.
fn begin_words(words: &[&str], texts: &[&str]) -> bool {
    let is_part_of_word = |c: char| c.is_alphanumeric();
    words.iter().all(|word| {
        texts.iter().any(|text| {
            text.match_indices(word)
                .any(|(at, _)| !text[..at].chars().next_back().is_some_and(is_part_of_word))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::app::choice::PickerChoice;

    fn item(label: &str, detail: &str, keywords: &str) -> PickerItem {
        PickerItem {
            label: label.into(),
            detail: detail.into(),
            aside: String::new(),
            keywords: keywords.into(),
            choice: PickerChoice::Text(label.into()),
        }
    }

    #[test]
    fn names_stand_above_words_and_words_above_scattered_letters() {
        let items = [
            item("/model", "switch the model", ""),
            item("/mode", "change the permission mode", ""),
            item("/theme", "change the colour theme", "colors"),
            item("/quit", "quit slug", "exit"),
            item("close what is open, else stop the turn", "", ""),
            item("/sessions", "open a past session", "resume"),
        ];
        let table: &[(&str, &[&str])] = &[
            ("/mode", &["/mode", "/model"]),
            ("mod", &["/mode", "/model"]),
            ("exit", &["/quit"]),
            ("res", &["/sessions"]),
            ("colour", &["/theme"]),
            ("change the", &["/mode", "/theme"]),
            ("stop turn", &["close what is open, else stop the turn"]),
            ("ssn", &["/sessions"]),
            ("cwio", &[]),
        ];
        for (query, expected) in table {
            let found: Vec<&str> =
                ranked(query, &items).into_iter().map(|at| items[at].label.as_str()).collect();
            assert_eq!(found, *expected, "{query}");
        }
    }

    #[test]
    fn signs_that_narrow_a_match_are_left_to_the_matcher() {
        for (query, expected) in
            [("mode", false), ("^mod", true), ("del$", true), ("a !b", true), ("'x", true)]
        {
            assert_eq!(has_operator(query), expected, "{query}");
        }
    }
}
