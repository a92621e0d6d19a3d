//! WebSearch: pages of the web by words.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::input::{ArgumentReader, InputShape};
use super::web::{FoundPage, SearchResults, untrusted};
use super::{Tool, ToolContext, ToolError, WorkingDirectory, stopped_output};
use crate::domain::{
    ToolAccess, ToolCapability, ToolDescriptor, ToolKind, ToolOutput, ToolSpec, pluralise,
};

/// Asks the search engine of this run.
pub(super) struct WebSearchTool;

const SHAPE: InputShape = InputShape {
    tool: "WebSearch",
    example: r#"{"query": "words to look for"}"#,
    arguments: &[
        ("query", &["q", "search"]),
        ("allowed_domains", &["domains", "include_domains"]),
        ("blocked_domains", &["exclude_domains"]),
    ],
    place: "",
};

static DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(SHAPE.tool, ToolKind::Search, ToolCapability::Network).deferred();

/// The most searches of a session: more only serve a model that goes in circles.
const MAX_SEARCHES: u32 = 200;
/// The most results that are shown.
const SHOWN: usize = 10;
/// The most characters of a title, and of the text below it.
const TITLE_CHARS: usize = 200;
const SNIPPET_CHARS: usize = 500;

struct SearchArguments {
    query: String,
    allowed: Vec<String>,
    blocked: Vec<String>,
}

#[async_trait]
impl Tool for WebSearchTool {
    fn descriptor(&self) -> &ToolDescriptor {
        &DESCRIPTOR
    }

    fn spec(&self) -> ToolSpec {
        let domains = json!({"type": "array", "items": {"type": "string"}});
        ToolSpec {
            name: SHAPE.tool.into(),
            description: "Searches the web. Read a result with WebFetch.".into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "query": {"type": "string"},
                    "allowed_domains": domains,
                    "blocked_domains": domains,
                },
                "required": ["query"],
            }),
        }
    }

    fn access(
        &self,
        input: &Value,
        _place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        Ok(vec![ToolAccess::Search { query: arguments(input)?.query }])
    }

    fn canonical_input(&self, input: Value) -> Value {
        SHAPE.canonical(input)
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let SearchArguments { query, allowed, blocked } = arguments(&input)?;
        if context.searches.fetch_add(1, Ordering::Relaxed) >= MAX_SEARCHES {
            return Err(ToolError(format!(
                "This session has had {MAX_SEARCHES} searches, which is the limit. Work with what you \
                 have found, or ask the user."
            )));
        }
        let searching = context.web.search(&query, &allowed, &blocked);
        let results = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return Ok(stopped_output()),
            results = searching => results.map_err(|error| ToolError(error.0))?,
        };
        Ok(shown(&query, &results))
    }
}

fn shown(query: &str, results: &SearchResults) -> ToolOutput {
    let SearchResults { engine, pages, left_out } = results;
    let left_out = match left_out {
        0 => String::new(),
        count => format!(" {} on other domains left out.", pluralise(*count, "result")),
    };
    if pages.is_empty() {
        return ToolOutput::text(format!("{engine} has no results for {query:?}.{left_out}"))
            .with_summary("no results")
            .with_output(json!([]));
    }
    let pages = &pages[..pages.len().min(SHOWN)];
    let list: Vec<String> =
        pages.iter().enumerate().map(|(at, page)| entry(at + 1, page)).collect();
    let count = pluralise(pages.len(), "result");
    ToolOutput::text(format!("{count} of {engine}.{left_out}\n{}", untrusted(&list.join("\n"))))
        .with_summary(count)
        .with_output(json!(pages))
}

fn entry(number: usize, page: &FoundPage) -> String {
    let line = |text: &str, most: usize| {
        let text: Vec<&str> = text.split_whitespace().collect();
        text.join(" ").chars().take(most).collect::<String>()
    };
    let (title, snippet) = (line(&page.title, TITLE_CHARS), line(&page.snippet, SNIPPET_CHARS));
    let mut text = format!("{number}. {title}\n   {}", line(&page.url, 2000));
    if !snippet.is_empty() {
        text.push_str(&format!("\n   {snippet}"));
    }
    text
}

fn arguments(input: &Value) -> Result<SearchArguments, ToolError> {
    let input = ArgumentReader::new(SHAPE, input)?;
    let query = input.text("query")?.split_whitespace().collect::<Vec<_>>().join(" ");
    if query.is_empty() {
        return Err(input.wrong("`query` is empty"));
    }
    let (allowed, blocked) =
        (domains(&input, "allowed_domains")?, domains(&input, "blocked_domains")?);
    Ok(SearchArguments { query, allowed, blocked })
}

/// A list of domains; one alone may come as text.
fn domains(input: &ArgumentReader<'_>, name: &str) -> Result<Vec<String>, ToolError> {
    let wrong = || input.wrong(format!("`{name}` must be a list of domains like \"docs.rs\""));
    let text = |value: &Value| value.as_str().map(|it| it.trim().to_owned()).ok_or_else(wrong);
    let listed = match input.value(name) {
        None => Vec::new(),
        Some(Value::Array(items)) => items.iter().map(text).collect::<Result<Vec<_>, _>>()?,
        Some(other) => vec![text(other)?],
    };
    let is_domain = |text: &&String| {
        !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || "/:@".contains(c))
    };
    if listed.iter().any(|text| !is_domain(&text) && !text.is_empty()) {
        return Err(wrong());
    }
    Ok(listed.into_iter().filter(|text| !text.is_empty()).collect())
}

#[cfg(test)]
#[path = "web_search_tests.rs"]
mod tests;
