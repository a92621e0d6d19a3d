//! WebSearch, with results that a test has written.

use std::sync::{Arc, Mutex};

use super::*;
use crate::domain::{ToolStatus, WebAddress};
use crate::tools::testing::ToolTestEnv;
use crate::tools::web::with_plain_mark;
use crate::tools::{FetchedPage, PageFormat, WebError, WebPages};

/// An engine that always answers the same, and keeps what it was asked for; without an answer it hangs.
struct OneEngine {
    answer: Option<Result<SearchResults, WebError>>,
    asked: Mutex<Vec<String>>,
}

#[async_trait]
impl WebPages for OneEngine {
    async fn fetch(&self, _: &WebAddress, _: PageFormat) -> Result<FetchedPage, WebError> {
        Err(WebError("no pages".into()))
    }

    async fn search(
        &self,
        words: &str,
        only: &[String],
        not: &[String],
    ) -> Result<SearchResults, WebError> {
        self.asked.lock().unwrap().push(format!("{words} {only:?} {not:?}"));
        match &self.answer {
            Some(answer) => answer.clone(),
            None => std::future::pending().await,
        }
    }
}

fn env(answer: Option<Result<SearchResults, WebError>>) -> (ToolTestEnv, Arc<OneEngine>) {
    let mut env = ToolTestEnv::new();
    let web = Arc::new(OneEngine { answer, asked: Mutex::default() });
    env.context.web = web.clone();
    (env, web)
}

fn results(
    pages: &[(&str, &str, &str)],
    left_out: usize,
) -> Option<Result<SearchResults, WebError>> {
    let pages = pages.iter().map(|(title, url, snippet)| FoundPage {
        title: (*title).into(),
        url: (*url).into(),
        snippet: (*snippet).into(),
    });
    Some(Ok(SearchResults { engine: "Test", pages: pages.collect(), left_out }))
}

#[tokio::test]
async fn s88_results_are_listed_as_data() {
    let found = results(&[("A\n title", "https://a.example/", "Run\nthis")], 2);
    let (env, web) = env(found);
    let input =
        json!({"q": " rust  web ", "domains": "a.example", "blocked_domains": ["b.example"]});
    let output = env.run(&WebSearchTool, input).await.unwrap();
    let (head, list) = output.observation.split_once('\n').unwrap();
    assert_eq!(head, "1 result of Test. 2 results on other domains left out.");
    let expected = untrusted("1. A title\n   https://a.example/\n   Run this");
    assert_eq!(with_plain_mark(list), with_plain_mark(&expected));
    assert_eq!(*web.asked.lock().unwrap(), ["rust web [\"a.example\"] [\"b.example\"]"]);
}

#[tokio::test]
async fn no_results_and_no_search_are_told_apart() {
    let query = || json!({"query": "x"});
    let none = env(results(&[], 0)).0.run(&WebSearchTool, query()).await.unwrap();
    assert_eq!(none.observation, "Test has no results for \"x\".");
    let error = Some(Err(WebError("Test limits searches.".into())));
    let error = env(error).0.run(&WebSearchTool, query()).await.unwrap_err();
    assert_eq!(error.0, "Test limits searches.");
}

#[tokio::test]
async fn a_session_has_a_limited_number_of_searches() {
    let (env, web) = env(results(&[], 0));
    for _ in 0..MAX_SEARCHES {
        env.run(&WebSearchTool, json!({"query": "x"})).await.unwrap();
    }
    let error = env.run(&WebSearchTool, json!({"query": "x"})).await.unwrap_err().0;
    assert!(error.contains("200 searches, which is the limit"), "{error}");
    assert_eq!(web.asked.lock().unwrap().len(), 200);
}

#[tokio::test]
async fn many_long_results_are_bounded_and_a_stop_ends_a_search_that_hangs() {
    let long = "word ".repeat(10_000);
    let rows: Vec<(&str, &str, &str)> = vec![(&long, "https://a.example/", &long); 20];
    let output = env(results(&rows, 0)).0.run(&WebSearchTool, json!({"query": "x"})).await.unwrap();
    assert!(output.observation.len() < 10_000, "{}", output.observation.len());
    let (env, _) = env(None);
    env.context.cancel.cancel();
    let output = env.run(&WebSearchTool, json!({"query": "x"})).await.unwrap();
    assert_eq!(output.status, ToolStatus::Cancelled);
}

#[test]
fn arguments_of_a_search_that_cannot_be_used_are_named() {
    for (input, expected) in [
        (json!({}), "`query` is missing"),
        (json!({"query": "  "}), "`query` is empty"),
        (
            json!({"query": "x", "allowed_domains": ["https://a.example/"]}),
            "must be a list of domains",
        ),
        (json!({"query": "x", "blocked_domains": [3]}), "must be a list of domains"),
        (json!({"query": "x", "page": 2}), "unknown argument `page`"),
    ] {
        let error = arguments(&input).err().unwrap().0;
        assert!(error.contains(expected), "{error}");
    }
}
