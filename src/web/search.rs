//! Search engines: what each is asked, and what its answer means.
//!
//! An engine that refuses to answer has found nothing out: that is never told as "no results", after
//! which models rephrase for ever.

use std::time::Duration;

use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};
use url::{Url, form_urlencoded};

use crate::domain::WebAddress;
use crate::net::{PageBody, PageClient, PageReach, PageRequest, PageResponse};
use crate::tools::{FoundPage, SearchResults, WebError};

/// The most bytes of an engine's answer.
const MAX_ANSWER: usize = 2 << 20;
/// The most results that are asked for.
const MAX_RESULTS: usize = 20;
/// The most characters of a query; DuckDuckGo takes fewer than 500.
const MAX_QUERY: usize = 400;
/// The pause between two searches without a key.
const PAUSE: Duration = Duration::from_secs(1);
/// DuckDuckGo answers only what looks like a browser.
const BROWSER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

const DUCKDUCKGO: &str = "https://html.duckduckgo.com/html/";
const SERPER: &str = "https://google.serper.dev/search";
const BRAVE: &str = "https://api.search.brave.com/res/v1/web/search";

/// The service that finds pages, with what it wants from whoever asks.
#[derive(Debug, Clone)]
pub enum SearchEngine {
    /// Without a key.
    DuckDuckGo,
    Serper(SecretString),
    Brave(SecretString),
    /// A server of the user's own choice, by its address.
    SearXng(WebAddress),
}

/// Asks one engine.
pub(super) struct EngineClient {
    engine: SearchEngine,
    /// Where the engine is; another place in tests.
    base: Result<WebAddress, WebError>,
    last: Mutex<Option<Instant>>,
}

/// What an engine has answered.
#[derive(Debug, PartialEq)]
pub(super) enum EngineAnswer {
    Results(Vec<FoundPage>),
    /// A page of results, for the reader.
    Html(String),
}

impl SearchEngine {
    /// The name that the user and the model read.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::DuckDuckGo => "DuckDuckGo",
            Self::Serper(_) => "Serper",
            Self::Brave(_) => "Brave",
            Self::SearXng(_) => "SearXNG",
        }
    }
}

impl EngineClient {
    pub(super) fn new(engine: SearchEngine) -> Self {
        let at =
            |text| WebAddress::parse(text).map_err(|error| WebError(format!("{text} {error}.")));
        let base = match &engine {
            SearchEngine::DuckDuckGo => at(DUCKDUCKGO),
            SearchEngine::Serper(_) => at(SERPER),
            SearchEngine::Brave(_) => at(BRAVE),
            SearchEngine::SearXng(base) => {
                at(&format!("{}/search", base.as_str().trim_end_matches('/')))
            }
        };
        Self { engine, base, last: Mutex::default() }
    }

    #[cfg(test)]
    pub(super) fn at(engine: SearchEngine, base: WebAddress) -> Self {
        Self { base: Ok(base), ..Self::new(engine) }
    }

    pub(super) fn name(&self) -> &'static str {
        self.engine.name()
    }

    /// The engine's answer to a query.
    pub(super) async fn ask(
        &self,
        pages: &PageClient,
        query: &str,
        user_agent: &str,
    ) -> Result<EngineAnswer, WebError> {
        let query: String = query.chars().take(MAX_QUERY).collect();
        let request = self.request(&query, user_agent)?;
        if let SearchEngine::DuckDuckGo = self.engine {
            self.pause().await;
        }
        let response = pages.request(&request).await;
        let name = self.name();
        let response =
            response.map_err(|error| WebError(format!("{name} was not reached: {error}")))?;
        self.meaning(&response)
    }

    async fn pause(&self) {
        let mut last = self.last.lock().await;
        if let Some(last) = *last {
            sleep_until(last + PAUSE).await;
        }
        *last = Some(Instant::now());
    }

    fn request(&self, query: &str, user_agent: &str) -> Result<PageRequest, WebError> {
        let base = self.base.clone()?;
        let mut request = PageRequest {
            address: base.clone(),
            reach: PageReach::Configured,
            user_agent: user_agent.to_owned(),
            accept: "application/json",
            headers: Vec::new(),
            body: None,
            limit: MAX_ANSWER,
        };
        let with = |pairs: &[(&str, &str)]| {
            let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
            WebAddress::parse(&format!("{base}?{text}"))
                .map_err(|error| WebError(format!("The address of the search {error}.")))
        };
        let count = MAX_RESULTS.to_string();
        match &self.engine {
            SearchEngine::DuckDuckGo => {
                let query = without_bangs(query);
                let mut form = form_urlencoded::Serializer::new(String::new());
                let form = form.extend_pairs([("q", query.as_str()), ("b", ""), ("kl", "wt-wt")]);
                let content_type = "application/x-www-form-urlencoded";
                request.user_agent = BROWSER.to_owned();
                request.accept = "text/html";
                request.headers.push(("referer", "https://html.duckduckgo.com/".into()));
                request.body = Some(PageBody { content_type, text: form.finish() });
            }
            SearchEngine::Serper(key) => {
                request.headers.push(("x-api-key", key.clone()));
                let text = json!({"q": query, "num": MAX_RESULTS}).to_string();
                request.body = Some(PageBody { content_type: "application/json", text });
            }
            SearchEngine::Brave(key) => {
                request.headers.push(("x-subscription-token", key.clone()));
                request.address = with(&[("q", query), ("count", &count)])?;
            }
            SearchEngine::SearXng(_) => {
                request.address = with(&[("q", query), ("format", "json")])?;
            }
        }
        Ok(request)
    }

    fn meaning(&self, response: &PageResponse) -> Result<EngineAnswer, WebError> {
        let (name, body) = (self.name(), String::from_utf8_lossy(&response.body));
        let is_challenge =
            matches!(self.engine, SearchEngine::DuckDuckGo) && is_blocked(response.status, &body);
        if is_challenge || response.status == 429 {
            return Err(WebError(format!(
                "{name} limits searches from this network and has not searched. That says nothing \
                 about results. Do not retry and do not rephrase; it may take an hour. Go on without \
                 a search, or ask the user, who can set another search engine."
            )));
        }
        match (response.status, &self.engine) {
            (200, SearchEngine::DuckDuckGo) => return Ok(EngineAnswer::Html(body.into_owned())),
            (200, SearchEngine::Serper(_) | SearchEngine::Brave(_) | SearchEngine::SearXng(_)) => {}
            (401 | 403, SearchEngine::Serper(_) | SearchEngine::Brave(_)) => {
                return Err(WebError(format!(
                    "{name} does not accept the user's key. Do not retry; tell the user."
                )));
            }
            (403, SearchEngine::SearXng(_)) => {
                return Err(WebError(
                    "The SearXNG server does not answer in JSON: its settings must list json under \
                     search.formats. Do not retry; tell the user."
                        .into(),
                ));
            }
            (status, _) => {
                return Err(WebError(format!(
                    "{name} has not searched: it answered with status {status}. Try again later."
                )));
            }
        }
        let unclear = || WebError(format!("The answer of {name} cannot be read. Tell the user."));
        let answer: Value = serde_json::from_str(&body).map_err(|_| unclear())?;
        let (list, link, snippet) = match &self.engine {
            SearchEngine::Brave(_) => (&answer["web"]["results"], "url", "description"),
            SearchEngine::SearXng(_) => (&answer["results"], "url", "content"),
            SearchEngine::Serper(_) | SearchEngine::DuckDuckGo => {
                (&answer["organic"], "link", "snippet")
            }
        };
        let text = |entry: &Value, key: &str| entry[key].as_str().map(plain).unwrap_or_default();
        let found =
            list.as_array().into_iter().flatten().take(MAX_RESULTS).map(|entry| FoundPage {
                title: text(entry, "title"),
                url: entry[link].as_str().unwrap_or_default().to_owned(),
                snippet: text(entry, snippet),
            });
        Ok(EngineAnswer::Results(found.filter(|it| !it.url.is_empty()).collect()))
    }
}

/// The results of a page of DuckDuckGo's, with the reader's list of its links.
pub(super) fn of_page(html: &str, found: Vec<FoundPage>) -> Result<Vec<FoundPage>, WebError> {
    let found: Vec<FoundPage> = found
        .into_iter()
        .filter_map(|page| Some(FoundPage { url: target(&page.url)?, ..page }))
        .collect();
    let says_none = ["no-results", "No results", "No  results"].iter().any(|it| html.contains(it));
    if found.is_empty() && !says_none {
        return Err(WebError(
            "The answer of DuckDuckGo cannot be read. That says nothing about results. Do not retry; \
             tell the user, who can set another search engine."
                .into(),
        ));
    }
    Ok(found)
}

/// Only pages on hosts of `allowed`, if that names any, and on none of `blocked`; subdomains included.
pub(super) fn filtered(
    results: SearchResults,
    allowed: &[String],
    blocked: &[String],
) -> SearchResults {
    let is_on = |url: &str, domains: &[String]| {
        let host = Url::parse(url).ok().and_then(|url| Some(url.host_str()?.to_lowercase()));
        host.is_some_and(|host| {
            domains.iter().any(|domain| {
                let domain = domain.trim_start_matches("*.").to_lowercase();
                host.strip_suffix(domain.as_str())
                    .is_some_and(|start| start.is_empty() || start.ends_with('.'))
            })
        })
    };
    let (before, mut pages) = (results.pages.len(), results.pages);
    pages.retain(|page| {
        (allowed.is_empty() || is_on(&page.url, allowed)) && !is_on(&page.url, blocked)
    });
    SearchResults { left_out: before - pages.len(), pages, ..results }
}

/// Whether DuckDuckGo asks for a proof that a human searches.
fn is_blocked(status: u16, body: &str) -> bool {
    const SIGNS: [&str; 4] =
        ["anomaly-modal", "/anomaly.js", "Unfortunately, bots use", "challenge-form"];
    status == 202 || SIGNS.iter().any(|sign| body.contains(sign))
}

/// A word with `!` in front sends a search elsewhere.
fn without_bangs(query: &str) -> String {
    let quoted = |word: &str| match word.starts_with('!') {
        true => format!("\"{word}\""),
        false => word.to_owned(),
    };
    query.split_whitespace().map(quoted).collect::<Vec<_>>().join(" ")
}

/// The page behind a link of DuckDuckGo's, which may lead over a page of its own.
fn target(link: &str) -> Option<String> {
    let whole = if link.starts_with("//") { format!("https:{link}") } else { link.to_owned() };
    let url = Url::parse(&whole).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let is_own = url.host_str().is_some_and(|host| host.ends_with("duckduckgo.com"));
    match is_own {
        true => {
            let behind = url.query_pairs().find(|(name, _)| name == "uddg")?.1.into_owned();
            target(&behind).filter(|it| !it.contains("duckduckgo.com/"))
        }
        false => Some(whole),
    }
}

/// A text without the marks of emphasis that Brave puts into it.
fn plain(text: &str) -> String {
    let text = text.replace("<strong>", "").replace("</strong>", "");
    let text = text.replace("&quot;", "\"").replace("&#x27;", "'");
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
