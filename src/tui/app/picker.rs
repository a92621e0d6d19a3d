//! A list to choose from with a fuzzy filter: palette, models, modes, history, and the
//! list under `@` and `/`.

use std::cmp::Reverse;
use std::sync::Arc;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::commands::Copied;
use crate::config::ThemeChoice;
use crate::domain::{Mode, Typed};

use super::editor::{Editor, Lines};
use super::effect::RequestId;
use super::keymap::{self, ActionId, ListKey, Press};
use super::overlay::Step;

/// What choosing a row means.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    /// Does what a key would do.
    Key(ActionId),
    /// Runs a slash command, by name.
    Command(&'static str),
    /// Changes the model.
    Model(String),
    /// Changes the mode.
    Mode(Mode),
    /// Copies a part of the session.
    Copied(Copied),
    /// Changes the theme; while it is selected, it is tried on.
    Theme(ThemeChoice),
    /// Puts a text into the input.
    Text(String),
    /// Puts what was sent before into the input.
    Sent(Typed),
}

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// What is matched.
    pub label: String,
    /// What explains it.
    pub detail: String,
    /// What stands at the right edge: a key, an age.
    pub aside: String,
    /// What choosing it means.
    pub choice: Choice,
}

/// Rows, filtered and ranked, one of them selected.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    source: Source,
    query: String,
    matches: Vec<usize>,
    selected: usize,
}

/// Where rows come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// Each row made by hand.
    Items(Vec<Item>),
    /// Paths, of which there may be very many.
    Paths(Arc<Vec<String>>),
}

/// A list over the chat, with its filter.
#[derive(Debug, Clone, PartialEq)]
pub struct Picker {
    /// What is chosen here.
    pub title: &'static str,
    /// What is typed to filter.
    pub filter: Editor,
    /// The rows.
    pub list: List,
    /// Whether the rows are there.
    pub state: Loading,
    /// Where it opens.
    pub room: Room,
}

/// Where a list opens over the chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// In the middle.
    Middle,
    /// At the right edge, where it leaves something of the chat in sight.
    Side,
}

/// Whether rows are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loading {
    /// They were asked for.
    Waiting(RequestId),
    /// They are.
    Ready,
    /// They could not be had, and why.
    Failed(String),
}

impl Choice {
    /// The theme that it would change to.
    pub fn theme(&self) -> Option<&ThemeChoice> {
        if let Self::Theme(choice) = self { Some(choice) } else { None }
    }
}

impl List {
    /// A list of all rows, the first selected.
    pub fn new(source: Source) -> Self {
        let mut list = Self { source, query: String::new(), matches: Vec::new(), selected: 0 };
        list.rank();
        list
    }

    /// Filters; the best match is selected.
    pub fn set_query(&mut self, query: &str) {
        if self.query != query {
            query.clone_into(&mut self.query);
            self.selected = 0;
            self.rank();
        }
    }

    /// Puts other rows in; the filter stays.
    pub fn set_source(&mut self, source: Source) {
        self.source = source;
        self.selected = 0;
        self.rank();
    }

    /// How many rows match.
    pub fn len(&self) -> usize {
        self.matches.len()
    }

    /// Whether no row matches.
    pub fn is_empty(&self) -> bool {
        self.matches.is_empty()
    }

    /// The selected row, counted among the matches.
    pub fn selected(&self) -> usize {
        self.selected
    }

    /// Selects a row so many further, stopping at the ends.
    pub fn step(&mut self, by: isize) {
        let last = self.matches.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    /// Selects a row by its place among the matches.
    pub fn select(&mut self, at: usize) {
        self.selected = at.min(self.matches.len().saturating_sub(1));
    }

    /// The `at`th match: label, detail and aside.
    pub fn row(&self, at: usize) -> Option<(&str, &str, &str)> {
        let index = *self.matches.get(at)?;
        match &self.source {
            Source::Items(items) => {
                let item = items.get(index)?;
                Some((&item.label, &item.detail, &item.aside))
            }
            Source::Paths(paths) => Some((paths.get(index)?, "", "")),
        }
    }

    /// What choosing the selected row means.
    pub fn choice(&self) -> Option<Choice> {
        let index = *self.matches.get(self.selected)?;
        match &self.source {
            Source::Items(items) => items.get(index).map(|item| item.choice.clone()),
            Source::Paths(paths) => paths.get(index).cloned().map(Choice::Text),
        }
    }

    /// What choosing the selected row would mean, where rows are made by hand.
    pub fn chosen(&self) -> Option<&Choice> {
        let index = *self.matches.get(self.selected)?;
        match &self.source {
            Source::Items(items) => items.get(index).map(|item| &item.choice),
            Source::Paths(_) => None,
        }
    }

    /// Which characters of a row's label match the filter.
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
        Pattern::parse(&self.query, CaseMatching::Smart, Normalization::Smart)
    }

    fn rank(&mut self) {
        let count = match &self.source {
            Source::Items(items) => items.len(),
            Source::Paths(paths) => paths.len(),
        };
        if self.query.is_empty() {
            self.matches = (0..count).collect();
            return;
        }
        let pattern = self.pattern();
        let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
        let mut buffer = Vec::new();
        let mut scored: Vec<(u32, usize)> = (0..count)
            .filter_map(|index| {
                let label = match &self.source {
                    Source::Items(items) => items.get(index)?.label.as_str(),
                    Source::Paths(paths) => paths.get(index)?.as_str(),
                };
                let score = pattern.score(Utf32Str::new(label, &mut buffer), &mut matcher)?;
                Some((score, index))
            })
            .collect();
        scored.sort_by_key(|(score, index)| (Reverse(*score), *index));
        self.matches = scored.into_iter().map(|(_, index)| index).collect();
    }
}

impl Picker {
    /// A list that is there.
    pub fn ready(title: &'static str, items: Vec<Item>) -> Self {
        let list = List::new(Source::Items(items));
        Self {
            title,
            filter: Editor::new(Lines::One),
            list,
            state: Loading::Ready,
            room: Room::Middle,
        }
    }

    /// A list that was asked for.
    pub fn waiting(title: &'static str, id: RequestId) -> Self {
        Self { state: Loading::Waiting(id), ..Self::ready(title, Vec::new()) }
    }

    /// The answer to a request. An answer to another one is stale.
    pub fn fill(&mut self, id: RequestId, items: Result<Vec<Item>, String>) {
        if self.state != Loading::Waiting(id) {
            return;
        }
        match items {
            Ok(items) => {
                self.list.set_source(Source::Items(items));
                self.state = Loading::Ready;
            }
            Err(reason) => self.state = Loading::Failed(reason),
        }
    }

    /// A key.
    pub fn key(&mut self, key: &Press<'_>, page: usize) -> Step {
        let page = isize::try_from(page.max(1)).unwrap_or(1);
        match keymap::find(keymap::LIST, key) {
            Some(ListKey::Previous) => self.list.step(-1),
            Some(ListKey::Next) => self.list.step(1),
            Some(ListKey::PageUp) => self.list.step(-page),
            Some(ListKey::PageDown) => self.list.step(page),
            Some(ListKey::Accept) => return self.choose(),
            Some(ListKey::Back) => return Step::Close,
            None => self.filter.key(key),
        }
        self.list.set_query(&self.filter.text());
        Step::Stay
    }

    /// Chooses the selected row.
    pub fn choose(&self) -> Step {
        self.list.choice().map_or(Step::Stay, Step::Choose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_match_comes_first() {
        let paths = ["src/domain/cart.rs", "src/cart.rs", "README.md"].map(str::to_owned);
        let mut list = List::new(Source::Paths(Arc::new(paths.to_vec())));
        assert_eq!(list.len(), 3);
        list.set_query("cart");
        assert_eq!(list.len(), 2);
        list.step(5);
        assert_eq!(list.selected(), 1);
        list.set_query("readme");
        assert_eq!(list.choice(), Some(Choice::Text("README.md".into())));
        assert_eq!(list.hits("README.md"), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn an_answer_to_an_older_request_is_stale() {
        let mut picker = Picker::waiting("Models", RequestId(2));
        picker.fill(RequestId(1), Err("no".into()));
        assert_eq!(picker.state, Loading::Waiting(RequestId(2)));
        picker.fill(RequestId(2), Ok(Vec::new()));
        assert_eq!(picker.state, Loading::Ready);
    }
}
