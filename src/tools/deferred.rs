//! The tools that are not in the tools array: found by name and by keyword.
//!
//! What is compared is made small once, so that a search through thousands of tools takes
//! milliseconds. slug's own never change within a session; those of servers come and go, and a search
//! takes the set as it is then.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

use super::built_in::is_same_name;
use super::denied_tools::DeniedTools;
use super::similarity::similarity;
use crate::domain::ToolSpec;

/// The deferred tools of an agent.
#[derive(Debug, Default)]
pub struct DeferredTools {
    tools: Vec<Arc<IndexedTool>>,
    /// The names of the tools that are in the tools array.
    listed: Vec<String>,
}

/// The deferred tools as they are now. Clones see the same.
#[derive(Debug, Clone, Default)]
pub struct CurrentDeferredTools {
    tools: Arc<RwLock<Arc<DeferredTools>>>,
    pub(super) denied: DeniedTools,
    /// The tools of servers that are in the session's tools array.
    pub(super) listed: SharedSpecs,
}

/// Specs that are replaced as a whole. Clones see the same.
#[derive(Debug, Clone)]
pub(super) struct SharedSpecs(Arc<RwLock<Arc<[ToolSpec]>>>);

impl Default for SharedSpecs {
    fn default() -> Self {
        Self::new(Vec::new().into())
    }
}

impl SharedSpecs {
    pub(super) fn new(specs: Arc<[ToolSpec]>) -> Self {
        Self(Arc::new(RwLock::new(specs)))
    }

    pub(super) fn get(&self) -> Arc<[ToolSpec]> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, specs: Arc<[ToolSpec]>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = specs;
    }
}

impl CurrentDeferredTools {
    pub(super) fn new(tools: DeferredTools) -> Self {
        let (denied, listed) = (DeniedTools::default(), SharedSpecs::default());
        Self { tools: Arc::new(RwLock::new(Arc::new(tools))), denied, listed }
    }

    /// The set at this moment, without the tools that are denied or in the tools array.
    pub fn get(&self) -> Arc<DeferredTools> {
        let all = self.tools.read().unwrap_or_else(PoisonError::into_inner).clone();
        let of_servers = self.listed.get();
        let array: HashSet<&str> = of_servers.iter().map(|spec| spec.name.as_str()).collect();
        let is_left_out = |tool: &Arc<IndexedTool>| {
            array.contains(&*tool.spec.name) || self.denied.has(&tool.spec.name)
        };
        if array.is_empty() && !all.tools.iter().any(is_left_out) {
            return all;
        }
        let tools = all.tools.iter().filter(|tool| !is_left_out(tool)).cloned().collect();
        let names = of_servers.iter().map(|spec| &spec.name);
        let listed = all.listed.iter().chain(names).cloned().collect();
        Arc::new(DeferredTools { tools, listed })
    }

    pub(super) fn set(&self, tools: DeferredTools) {
        *self.tools.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(tools);
    }
}

#[derive(Debug)]
struct IndexedTool {
    spec: ToolSpec,
    /// The words of the name in small letters, a space before and after each.
    name: String,
    /// The description and the names of the arguments, the same way.
    text: String,
}

/// What names lead to.
#[derive(Debug, PartialEq)]
pub(super) struct SelectedTools<'a> {
    pub found: Vec<&'a ToolSpec>,
    /// Names of tools that are called directly.
    pub listed: Vec<&'a str>,
    pub unknown: Vec<String>,
}

impl DeferredTools {
    /// `listed` are the names of the tools in the tools array.
    pub fn new(deferred: Vec<ToolSpec>, listed: Vec<String>) -> Self {
        let tools = deferred.into_iter().map(IndexedTool::new).map(Arc::new).collect();
        Self { tools, listed }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.spec.name.as_str())
    }

    /// The tools that fit at least one word of the query, the best first. A word that begins with
    /// `+` must be in the name.
    pub fn search(&self, query: &str) -> Vec<&ToolSpec> {
        let query = query.to_lowercase();
        let terms: Vec<SearchTerm> = query.split_whitespace().flat_map(SearchTerm::of).collect();
        let scored = self.tools.iter().enumerate().filter_map(|(at, tool)| {
            let mut sum = 0;
            for term in &terms {
                let score = tool.score(term);
                if term.is_required && !tool.name.contains(term.stem.as_str()) {
                    return None;
                }
                sum += score;
            }
            (sum > 0).then_some((sum, at))
        });
        let mut scored: Vec<(u32, usize)> = scored.collect();
        scored.sort_by_key(|(score, at)| (std::cmp::Reverse(*score), *at));
        scored.into_iter().map(|(_, at)| &self.tools[at].spec).collect()
    }

    /// The tools of these names.
    pub(super) fn select<'a>(&'a self, names: impl Iterator<Item = &'a str>) -> SelectedTools<'a> {
        let mut selected =
            SelectedTools { found: Vec::new(), listed: Vec::new(), unknown: Vec::new() };
        for name in names {
            let specs = || self.tools.iter().map(|tool| &tool.spec);
            let spec = specs()
                .find(|spec| spec.name == name)
                .or_else(|| specs().find(|spec| is_same_name(&spec.name, name)));
            let listed = || self.listed.iter().find(|own| is_same_name(own, name));
            if let Some(spec) = spec {
                if !selected.found.contains(&spec) {
                    selected.found.push(spec);
                }
            } else if let Some(listed) = listed() {
                selected.listed.push(listed);
            } else {
                selected.unknown.push(name.to_owned());
            }
        }
        selected
    }

    /// The names most like a text, the most alike first.
    pub(super) fn nearest(&self, text: &str, most: usize) -> Vec<&str> {
        let text = text.to_lowercase();
        let scored = self.names().map(|name| (similarity(&text, &name.to_lowercase()), name));
        let mut scored: Vec<(f32, &str)> = scored.filter(|(score, _)| *score >= 0.3).collect();
        scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        scored.into_iter().take(most).map(|(_, name)| name).collect()
    }
}

/// A word of a query.
struct SearchTerm {
    word: String,
    /// The word without the ending of a plural or a participle.
    stem: String,
    is_required: bool,
}

impl SearchTerm {
    fn of(text: &str) -> impl Iterator<Item = Self> {
        let is_required = text.starts_with('+');
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1);
        words.map(move |word| {
            let ending = ["ing", "ies", "es", "ed", "s"].into_iter().find_map(|ending| {
                word.strip_suffix(ending).filter(|stem| stem.chars().count() >= 3)
            });
            let stem = ending.unwrap_or(word).to_owned();
            Self { word: word.to_owned(), stem, is_required }
        })
    }
}

impl IndexedTool {
    fn new(spec: ToolSpec) -> Self {
        let arguments = spec.input_schema["properties"].as_object();
        let arguments = arguments.into_iter().flat_map(|fields| fields.keys());
        let mut text = words(&spec.description);
        for argument in arguments {
            text.push_str(&words(argument));
        }
        // `WebFetch` is found by "web", by "fetch", and as a whole.
        let name = format!("{}{} ", words(&spec.name), spec.name.to_lowercase());
        Self { spec, name, text }
    }

    fn score(&self, term: &SearchTerm) -> u32 {
        let is_word = |text: &str| {
            text.match_indices(term.word.as_str()).any(|(at, found)| {
                text[..at].ends_with(' ') && text[at + found.len()..].starts_with(' ')
            })
        };
        if self.name.trim_end().ends_with(&format!(" {}", term.word)) {
            return 40;
        }
        if is_word(&self.name) {
            return 30;
        }
        if self.name.contains(term.stem.as_str()) {
            return 15;
        }
        if is_word(&self.text) {
            return 6;
        }
        if self.text.contains(term.stem.as_str()) { 3 } else { 0 }
    }
}

/// The words of a text in small letters with a space around each; `camelCase` is two words.
fn words(text: &str) -> String {
    let mut words = String::with_capacity(text.len() + 8);
    words.push(' ');
    let mut before = ' ';
    for c in text.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            words.push(' ');
        }
        before = c;
        match c.is_alphanumeric() {
            true => words.extend(c.to_lowercase()),
            false if !words.ends_with(' ') => words.push(' '),
            false => {}
        }
    }
    if !words.ends_with(' ') {
        words.push(' ');
    }
    words
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;

    fn spec(name: &str, description: &str) -> ToolSpec {
        let input_schema = json!({"type": "object", "properties": {"page_url": {}}});
        ToolSpec { name: name.into(), description: description.into(), input_schema }
    }

    fn tools() -> DeferredTools {
        let specs = vec![
            spec("WebSearch", "Searches the web."),
            spec("WebFetch", "Gets a page of the web as Markdown."),
            spec("mcp__tracker__list_issues", "Lists open issues of a project."),
            spec("NotebookEdit", "Changes one cell of a Jupyter notebook."),
        ];
        DeferredTools::new(specs, vec!["Read".into()])
    }

    #[test]
    fn tools_are_found_by_words_of_name_description_and_arguments() {
        let tools = tools();
        for (query, expected) in [
            (
                "fetch a web page",
                vec!["WebFetch", "WebSearch", "mcp__tracker__list_issues", "NotebookEdit"],
            ),
            ("fetching", vec!["WebFetch"]),
            ("webfetch", vec!["WebFetch"]),
            ("jupyter cells", vec!["NotebookEdit"]),
            ("+tracker open", vec!["mcp__tracker__list_issues"]),
            ("issue", vec!["mcp__tracker__list_issues"]),
            ("WEB", vec!["WebSearch", "WebFetch"]),
            ("terraform", vec![]),
            ("", vec![]),
            ("%% !", vec![]),
        ] {
            let found: Vec<&str> = tools.search(query).iter().map(|it| it.name.as_str()).collect();
            assert_eq!(found, expected, "{query}");
        }
    }

    #[test]
    fn names_lead_to_tools_in_any_spelling() {
        let tools = tools();
        let selected = tools.select(["web_fetch", "WebFetch", "read", "Browser"].into_iter());
        let found: Vec<&str> = selected.found.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(
            (found, selected.listed, selected.unknown),
            (vec!["WebFetch"], vec!["Read"], vec!["Browser".to_owned()])
        );
        assert_eq!(tools.nearest("WebFech", 1), ["WebFetch"]);
        assert_eq!(tools.nearest("xyz", 3), [""; 0]);
    }

    #[test]
    fn a_search_through_two_thousand_tools_takes_under_five_milliseconds() {
        let long = "Lists, filters and sorts the records of one kind in the workspace. ".repeat(5);
        let specs =
            (0..2000).map(|at| spec(&format!("mcp__server{}__list_records_{at}", at % 40), &long));
        let tools = DeferredTools::new(specs.collect(), Vec::new());
        let fastest = (0..10)
            .map(|_| {
                let begun = Instant::now();
                assert_eq!(tools.search("list records by workspace 77").len(), 2000);
                begun.elapsed()
            })
            .min();
        // An unoptimised build is some ten times slower than what users have.
        let most = Duration::from_millis(if cfg!(debug_assertions) { 50 } else { 5 });
        assert!(fastest.is_some_and(|it| it < most), "{fastest:?}");
    }
}
