//! A list with a filter, to choose from: the palette, models, modes, the history, and the
//! completion list under `@` and `/`.
//!
//! Lists of items are ranked at once. The workspace may have very many paths, so these are ranked
//! off the UI task: [`PickerList::unranked`] says what to rank, and the list stays as it is until
//! [`PickerList::ranked`] brings the answer.

use std::cmp::Reverse;
use std::sync::Arc;

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::path_ranking;
use crate::tui::app::choice::PickerChoice;
use crate::tui::app::picker_rank;

/// A row of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct PickerItem {
    /// The text that the filter matches.
    pub label: String,
    /// An explanation beside the label.
    pub detail: String,
    /// Text at the right edge: a key, an age.
    pub aside: String,
    /// Other words that find the row, which are not shown.
    pub keywords: String,
    pub choice: PickerChoice,
}

/// Rows, filtered and ranked, one of them selected.
#[derive(Debug, Clone, PartialEq)]
pub struct PickerList {
    source: PickerSource,
    query: String,
    matches: Vec<usize>,
    /// For paths: what `matches` are indices into.
    shown: Arc<Vec<String>>,
    /// The query that `matches` was ranked for; `None` after the rows have changed.
    ranked_for: Option<String>,
    selected: usize,
}

/// The rows of a list, and how the filter matches them.
#[derive(Debug, Clone, PartialEq)]
pub enum PickerSource {
    /// Items, found by name, description and other words; in the filter `^`, `$`, `'` and `!` have
    /// the meaning that nucleo gives them.
    Items(Vec<PickerItem>),
    /// Items whose names may contain these signs, so the filter takes them literally.
    Names(Vec<PickerItem>),
    /// Items in their given order: those that contain the filter's text in one piece are shown.
    Texts(Vec<PickerItem>),
    /// The paths of the workspace, of which there may be very many.
    Paths(PickerPaths),
}

/// Paths to choose from.
#[derive(Debug, Clone, PartialEq)]
pub struct PickerPaths {
    /// All paths, sorted by [`path_ranking::sort`].
    pub all: Arc<Vec<String>>,
    /// Paths used lately, the newest first.
    pub recent: Arc<[String]>,
}

impl PickerList {
    /// A list of all rows, the first one selected. Paths show only once the filter is set.
    pub fn new(source: PickerSource) -> Self {
        let mut list = Self {
            source,
            query: String::new(),
            matches: Vec::new(),
            shown: Arc::default(),
            ranked_for: None,
            selected: 0,
        };
        if !matches!(list.source, PickerSource::Paths(_)) {
            list.rank();
        }
        list
    }

    /// Filters the rows and selects the best match. Paths stay as they are until they are ranked.
    pub fn set_query(&mut self, query: &str) {
        if self.query != query {
            query.clone_into(&mut self.query);
            self.selected = 0;
        }
        if self.ranked_for.as_deref() != Some(query) {
            self.rank_what_is_quick();
        }
    }

    /// Replaces the rows. The filter stays, and so does a selection that the user has moved.
    pub fn set_source(&mut self, source: PickerSource) {
        let chosen = self.chosen().filter(|_| self.selected > 0).cloned();
        self.source = source;
        self.ranked_for = None;
        self.rank_what_is_quick();
        if let Some(items) = self.source.items() {
            let same =
                |at: &usize| items.get(*at).is_some_and(|it| Some(&it.choice) == chosen.as_ref());
            self.selected = self.matches.iter().position(same).unwrap_or(0);
        }
    }

    /// Replaces the rows by the same ones in another order or with other details; the selection
    /// stays.
    pub fn replace(&mut self, items: Vec<PickerItem>) {
        let chosen = self.row(self.selected).map(|(label, ..)| label.to_owned());
        self.source = PickerSource::Items(items);
        self.rank();
        let same = |at: &usize| {
            let item = self.source.items().and_then(|items| items.get(*at));
            item.map(|item| &item.label) == chosen.as_ref()
        };
        self.selected = self.matches.iter().position(same).unwrap_or(0);
    }

    /// The paths that still have to be ranked, and the query; `None` if the ranking is current.
    pub fn unranked(&self) -> Option<(&PickerPaths, &str)> {
        match &self.source {
            PickerSource::Paths(paths) if self.ranked_for.as_ref() != Some(&self.query) => {
                Some((paths, &self.query))
            }
            PickerSource::Paths(_)
            | PickerSource::Items(_)
            | PickerSource::Names(_)
            | PickerSource::Texts(_) => None,
        }
    }

    /// Takes over the paths that match `query` best; the query may be an older one. A selection
    /// that the user has moved stays.
    pub fn ranked(&mut self, query: &str, matches: Vec<usize>) {
        let PickerSource::Paths(paths) = &self.source else { return };
        let all = paths.all.clone();
        let kept = self.matches.get(self.selected).filter(|_| self.selected > 0);
        let kept = kept.and_then(|at| self.shown.get(*at));
        let kept = kept.and_then(|kept| matches.iter().position(|at| all.get(*at) == Some(kept)));
        self.selected = kept.unwrap_or(0);
        self.shown = all;
        self.matches = matches;
        self.ranked_for = Some(query.to_owned());
    }

    /// Ranks at once if the ranking is not current, because the user is about to choose.
    pub fn rank_now(&mut self) {
        if self.unranked().is_some() {
            self.rank();
        }
    }

    /// What the rows are filtered by.
    pub fn query(&self) -> &str {
        &self.query
    }

    /// How many rows match.
    pub fn len(&self) -> usize {
        self.matches.len()
    }

    /// How many rows there are, whether they match or not.
    pub fn total(&self) -> usize {
        self.source.len()
    }

    /// How many rows there are; under a filter also how many match: `8 of 24`.
    pub fn count(&self) -> String {
        match self.query.is_empty() {
            true => self.total().to_string(),
            false => format!("{} of {}", self.len(), self.total()),
        }
    }

    /// Whether no row matches.
    pub fn is_empty(&self) -> bool {
        self.matches.is_empty()
    }

    /// The selected row, counted among the matches.
    pub fn selected(&self) -> usize {
        self.selected
    }

    /// Moves the selection by a number of rows; stops at the ends.
    pub fn step(&mut self, by: isize) {
        let last = self.matches.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    /// Selects a row by its index among the matches; at most the last one.
    pub fn select(&mut self, at: usize) {
        self.selected = at.min(self.matches.len().saturating_sub(1));
    }

    /// The `at`th match: label, detail and aside.
    pub fn row(&self, at: usize) -> Option<(&str, &str, &str)> {
        let index = *self.matches.get(at)?;
        match self.source.items() {
            Some(items) => {
                let item = items.get(index)?;
                Some((&item.label, &item.detail, &item.aside))
            }
            None => Some((self.shown.get(index)?, "", "")),
        }
    }

    /// The choice of the selected row; a path puts itself into the input.
    pub fn choice(&self) -> Option<PickerChoice> {
        let index = *self.matches.get(self.selected)?;
        match self.source.items() {
            Some(items) => items.get(index).map(|item| item.choice.clone()),
            None => self.shown.get(index).cloned().map(PickerChoice::Text),
        }
    }

    /// The choice of the selected row; `None` for paths.
    pub fn chosen(&self) -> Option<&PickerChoice> {
        let index = *self.matches.get(self.selected)?;
        self.source.items()?.get(index).map(|item| &item.choice)
    }

    /// Indices of the characters of a label that match the filter, in order.
    pub fn hits(&self, label: &str) -> Vec<u32> {
        let mut hits = Vec::new();
        if self.query.is_empty() {
            return hits;
        }
        let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
        let mut buffer = Vec::new();
        self.pattern().indices(Utf32Str::new(label, &mut buffer), &mut matcher, &mut hits);
        hits.sort_unstable();
        hits.dedup();
        hits
    }

    fn pattern(&self) -> Pattern {
        let (case, normal) = (CaseMatching::Smart, Normalization::Smart);
        match &self.source {
            PickerSource::Items(_) => Pattern::parse(&self.query, case, normal),
            PickerSource::Names(_) | PickerSource::Paths(_) => {
                Pattern::new(&self.query, case, normal, AtomKind::Fuzzy)
            }
            PickerSource::Texts(_) => Pattern::new(&self.query, case, normal, AtomKind::Substring),
        }
    }

    /// Ranks at once, except paths under a filter.
    fn rank_what_is_quick(&mut self) {
        if self.query.is_empty() || !matches!(self.source, PickerSource::Paths(_)) {
            self.rank();
        }
    }

    fn rank(&mut self) {
        if let PickerSource::Paths(PickerPaths { all, recent }) = &self.source {
            let matches = path_ranking::best(all, recent, &self.query);
            return self.ranked(&self.query.clone(), matches);
        }
        self.ranked_for = Some(self.query.clone());
        let items = self.source.items().unwrap_or_default();
        if self.query.is_empty() {
            self.matches = (0..items.len()).collect();
            return;
        }
        if matches!(self.source, PickerSource::Items(_)) && !picker_rank::has_operator(&self.query)
        {
            self.matches = picker_rank::ranked(&self.query, items);
            return;
        }
        let pattern = self.pattern();
        let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
        let mut buffer = Vec::new();
        let mut scored: Vec<(u32, usize)> = (0..)
            .zip(items)
            .filter_map(|(index, item)| {
                let label = Utf32Str::new(&item.label, &mut buffer);
                Some((pattern.score(label, &mut matcher)?, index))
            })
            .collect();
        if !matches!(self.source, PickerSource::Texts(_)) {
            scored.sort_by_key(|(score, index)| (Reverse(*score), *index));
        }
        self.matches = scored.into_iter().map(|(_, index)| index).collect();
    }
}

impl PickerSource {
    fn len(&self) -> usize {
        match self {
            Self::Items(items) | Self::Names(items) | Self::Texts(items) => items.len(),
            Self::Paths(paths) => paths.all.len(),
        }
    }

    /// The items; `None` for paths.
    fn items(&self) -> Option<&[PickerItem]> {
        match self {
            Self::Items(items) | Self::Names(items) | Self::Texts(items) => Some(items),
            Self::Paths(_) => None,
        }
    }
}

/// Whether a preview of the selected row is shown beneath the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PickerPreview {
    Nothing,
    /// The whole text or details of the row.
    Whole,
    /// A few lines about the row.
    Lines,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str], recent: &[&str]) -> PickerSource {
        let mut all: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        path_ranking::sort(&mut all);
        let recent = recent.iter().map(|name| (*name).to_owned()).collect();
        PickerSource::Paths(PickerPaths { all: Arc::new(all), recent })
    }

    fn items(names: &[&str]) -> Vec<PickerItem> {
        let item = |name: &&str| PickerItem {
            label: (*name).to_owned(),
            detail: String::new(),
            aside: String::new(),
            keywords: String::new(),
            choice: PickerChoice::Text((*name).to_owned()),
        };
        names.iter().map(item).collect()
    }

    fn labels(list: &PickerList) -> Vec<&str> {
        (0..list.len()).filter_map(|at| list.row(at)).map(|(label, _, _)| label).collect()
    }

    #[test]
    fn the_best_match_comes_first() {
        let mut list =
            PickerList::new(paths(&["src/domain/cart.rs", "src/cart.rs", "README.md"], &[]));
        list.set_query("");
        assert_eq!(list.len(), 3);
        list.set_query("cart");
        list.rank_now();
        assert_eq!(labels(&list), ["src/cart.rs", "src/domain/cart.rs"]);
        list.step(5);
        assert_eq!(list.selected(), 1);
        list.set_query("readme");
        list.rank_now();
        assert_eq!(list.choice(), Some(PickerChoice::Text("README.md".into())));
        assert_eq!(list.hits("README.md"), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn the_count_names_the_matches_only_under_a_filter() {
        let mut list = PickerList::new(PickerSource::Items(items(&["one", "other", "two"])));
        assert_eq!(list.count(), "3");
        list.set_query("o");
        assert_eq!(list.count(), "3 of 3");
        list.set_query("tw");
        assert_eq!(list.count(), "1 of 3");
        list.set_query("three");
        assert_eq!(list.count(), "0 of 3");
    }

    #[test]
    fn paths_stay_until_they_are_ranked() {
        let mut list = PickerList::new(paths(&["a.rs", "b.rs"], &[]));
        list.set_query("");
        list.set_query("b");
        assert_eq!(labels(&list), ["a.rs", "b.rs"]);
        assert_eq!(list.unranked().map(|(_, query)| query), Some("b"));
        list.ranked("b", vec![1]);
        assert_eq!(labels(&list), ["b.rs"]);
        assert!(list.unranked().is_none());
    }

    #[test]
    fn a_ranking_for_an_older_query_is_shown_and_the_newer_one_still_awaited() {
        let mut list = PickerList::new(paths(&["a.rs", "ab.rs"], &[]));
        list.set_query("ab");
        list.ranked("a", vec![0, 1]);
        assert_eq!(list.len(), 2);
        assert_eq!(list.unranked().map(|(_, query)| query), Some("ab"));
    }

    #[test]
    fn a_moved_selection_stays_when_other_paths_come() {
        let mut list = PickerList::new(paths(&["b.rs", "c.rs"], &[]));
        list.set_query("");
        list.step(1);
        list.set_source(paths(&["a.rs", "b.rs", "c.rs"], &[]));
        assert_eq!(list.choice(), Some(PickerChoice::Text("c.rs".into())));
    }

    #[test]
    fn the_signs_of_a_filter_are_part_of_a_name() {
        let mut list = PickerList::new(PickerSource::Names(items(&["a!b", "ab"])));
        list.set_query("a!");
        assert_eq!(labels(&list), ["a!b"]);
    }

    #[test]
    fn texts_keep_their_order_and_hold_each_word_in_one_piece() {
        let mut list =
            PickerList::new(PickerSource::Texts(items(&["fix the tests", "text", "test it"])));
        list.set_query("test");
        assert_eq!(labels(&list), ["fix the tests", "test it"]);
        list.set_query("it test");
        assert_eq!(labels(&list), ["test it"]);
    }
}
