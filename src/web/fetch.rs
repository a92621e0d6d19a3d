//! A page of the web: its redirects, its type, its text.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;

use crate::domain::{NetworkHost, WebAddress, format_bytes};
use crate::net::{PageClient, PageError, PageReach, PageRequest, PageResponse};
use crate::platform::reader_process::ReaderProcess;
use crate::tools::{FetchedPage, PageFormat, PageText, SearchResults, WebError, WebPages};

use super::article::{HtmlPage, MAX_HTML, PageArticle, ReaderTask};
use super::decoding::{BodyKind, decode, kind_of, media_type};
use super::page_cache::PageCache;
use super::search::{EngineAnswer, EngineClient, SearchEngine, filtered, of_page};

/// The most redirects on the way to a page.
const MAX_REDIRECTS: usize = 5;
/// The most bytes of a body, after decompression.
const MAX_BODY: usize = 10 << 20;
/// Several sites of documentation have Markdown for whoever asks.
const ACCEPT: &str = "text/markdown, text/html;q=0.9, */*;q=0.1";

/// The web as the tools know it. Clones of an agent share its cache and its connections.
pub struct WebClient {
    pages: PageClient,
    reader: ReaderProcess,
    user_agent: String,
    cache: PageCache,
    engine: EngineClient,
}

impl WebClient {
    /// A web whose requests go out through `pages`, and which `engine` searches.
    pub fn new(
        pages: PageClient,
        reader: ReaderProcess,
        user_agent: String,
        engine: SearchEngine,
    ) -> Self {
        Self {
            pages,
            reader,
            user_agent,
            cache: PageCache::default(),
            engine: EngineClient::new(engine),
        }
    }
}

#[async_trait]
impl WebPages for WebClient {
    async fn fetch(
        &self,
        address: &WebAddress,
        format: PageFormat,
    ) -> Result<FetchedPage, WebError> {
        let key = (address.to_string(), format);
        if let Some(page) = self.cache.get(&key, Instant::now()) {
            return Ok(FetchedPage::Text(page));
        }
        let fetched = self.follow(address).await?;
        let (at, response) = match fetched {
            FollowedPage::At(at, response) => (at, response),
            FollowedPage::Elsewhere(target) => return Ok(FetchedPage::Elsewhere(target)),
        };
        let content_type = response.content_type.as_deref();
        let page = match kind_of(content_type, &response.body) {
            BodyKind::Html => self.html(&at, &response, format).await?,
            BodyKind::Text => PageText {
                title: None,
                text: decode(content_type, &response.body),
                note: response.is_cut.then(|| cut_note(MAX_BODY)),
                address: at,
            },
            BodyKind::Image | BodyKind::Binary if response.is_cut => {
                let most = format_bytes(MAX_BODY as u64);
                return Err(WebError(format!("{at} is over {most}, the most that is fetched.")));
            }
            BodyKind::Image => return Ok(FetchedPage::Image(response.body)),
            BodyKind::Binary => {
                let media_type = media_type(content_type);
                return Ok(FetchedPage::Binary { media_type, bytes: response.body });
            }
        };
        let page = Arc::new(page);
        self.cache.put(key, page.clone(), Instant::now());
        Ok(FetchedPage::Text(page))
    }

    async fn search(
        &self,
        query: &str,
        allowed: &[String],
        blocked: &[String],
    ) -> Result<SearchResults, WebError> {
        let pages = match self.engine.ask(&self.pages, query, &self.user_agent).await? {
            EngineAnswer::Results(pages) => pages,
            EngineAnswer::Html(html) => {
                let task =
                    HtmlPage { html, address: String::new(), wanted: ReaderTask::SearchResults };
                let read = self.read(&task, "The answer of the search engine").await?;
                of_page(&task.html, read.results)?
            }
        };
        let results = SearchResults { engine: self.engine.name(), pages, left_out: 0 };
        Ok(filtered(results, allowed, blocked))
    }
}

/// Where redirects have led.
enum FollowedPage {
    At(WebAddress, PageResponse),
    Elsewhere(WebAddress),
}

impl WebClient {
    async fn follow(&self, address: &WebAddress) -> Result<FollowedPage, WebError> {
        // Only a rule that names it lets an address of a private network come here.
        let reach = if address.is_private() { PageReach::Named } else { PageReach::Public };
        let mut at = address.clone();
        for _ in 0..=MAX_REDIRECTS {
            let request = PageRequest {
                address: at.clone(),
                reach,
                user_agent: self.user_agent.clone(),
                accept: ACCEPT,
                headers: Vec::new(),
                body: None,
                limit: MAX_BODY,
            };
            let response = self.pages.request(&request).await.map_err(|error| told(&error))?;
            if !matches!(response.status, 301 | 302 | 303 | 307 | 308) {
                return succeeded(&at, response).map(|response| FollowedPage::At(at, response));
            }
            let location = response.location.as_deref().ok_or_else(|| {
                WebError(format!("{at} redirects to nowhere. The page cannot be fetched."))
            })?;
            let target = at.join(location).map_err(|error| {
                WebError(format!("{at} redirects to an address that {error}. It was not followed."))
            })?;
            if at.is_encrypted() && !target.is_encrypted() {
                return Err(WebError(format!(
                    "{at} redirects to an address without encryption, which was not followed."
                )));
            }
            if !is_same_server(&at, &target) {
                return Ok(FollowedPage::Elsewhere(target));
            }
            at = target;
        }
        Err(WebError(format!(
            "{address} redirects more than {MAX_REDIRECTS} times. The page cannot be fetched."
        )))
    }

    async fn html(
        &self,
        at: &WebAddress,
        response: &PageResponse,
        format: PageFormat,
    ) -> Result<PageText, WebError> {
        let mut html = decode(response.content_type.as_deref(), &response.body);
        let is_cut = response.is_cut || html.len() > MAX_HTML;
        html.truncate(html.floor_char_boundary(MAX_HTML));
        let page = HtmlPage::new(html, at.to_string(), format);
        let PageArticle { title, text, .. } = self.read(&page, at.as_str()).await?;
        if text.is_empty() {
            return Err(WebError(format!(
                "{at} has no text: it needs JavaScript, which does not run here. Look for another \
                 source, such as an API or a file of the same site."
            )));
        }
        Ok(PageText { address: at.clone(), title, text, note: is_cut.then(|| cut_note(MAX_HTML)) })
    }
}

impl WebClient {
    /// What the reader makes of a page, which is called `name` in errors.
    async fn read(&self, page: &HtmlPage, name: &str) -> Result<PageArticle, WebError> {
        let unread = |why: String| {
            WebError(format!("{name} cannot be read as a page: {why}. Look for another source."))
        };
        let input = serde_json::to_vec(page).map_err(|error| unread(error.to_string()))?;
        let answer = self.reader.read(&input).await.map_err(|error| unread(error.to_string()))?;
        serde_json::from_slice(&answer).map_err(|error| unread(error.to_string()))
    }
}

fn cut_note(limit: usize) -> String {
    format!("The page is longer than {}; the rest was left out.", format_bytes(limit as u64))
}

fn told(error: &PageError) -> WebError {
    let advice = match error {
        PageError::Private { .. } => {
            " Only the user can allow that, with a rule on the address itself. Do not retry."
        }
        PageError::NoHost(_) | PageError::TooSlow(_) | PageError::Transport(_) => "",
    };
    WebError(format!("{error}{advice}"))
}

/// Whether a decision about one address holds for the other: the same host and port, or the step from
/// http to https of a name. The servers of a numeric address have rules for each port.
fn is_same_server(from: &WebAddress, target: &WebAddress) -> bool {
    let is_name = matches!(from.host(), NetworkHost::Name(_));
    let is_upgrade = is_name && (from.port(), target.port()) == (80, 443) && target.is_encrypted();
    from.host() == target.host() && (from.port() == target.port() || is_upgrade)
}

/// A server's error page is no content.
fn succeeded(at: &WebAddress, response: PageResponse) -> Result<PageResponse, WebError> {
    let advice = match response.status {
        200..=299 => return Ok(response),
        401 | 403 => "The server does not let slug see it. Do not retry; look for another source.",
        404 | 410 => "There is no such page. Check the address, or search for the page.",
        429 => "The server limits requests. Do not retry within minutes.",
        500..=599 => "The server has a problem. Try again later, or look for another source.",
        _ => "Look for another source.",
    };
    Err(WebError(format!("{at} was answered with status {}. {advice}", response.status)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s84_only_a_name_goes_on_from_http_to_https() {
        let address = |text: &str| WebAddress::parse(text).unwrap();
        for (from, target, is_same) in [
            ("http://example.org/", "https://example.org/", true),
            ("http://example.org/", "http://example.org/b", true),
            ("http://example.org:8080/", "https://example.org/", false),
            ("http://example.org/", "https://example.com/", false),
            ("http://127.0.0.1/", "https://127.0.0.1/", false),
            ("http://[::1]/", "https://[::1]/", false),
        ] {
            assert_eq!(
                is_same_server(&address(from), &address(target)),
                is_same,
                "{from} {target}"
            );
        }
    }
}
