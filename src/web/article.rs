//! HTML as Markdown or text: the article where a page has one, else the whole page.
//!
//! This runs in a process of its own (`platform::reader_process`): pages are written by anybody, and
//! deep nesting overflows the stack of any parser of trees. What a page hides by an attribute is left
//! out; what it hides by colour, size or position cannot be told.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;
use std::thread;

use dom_query::Document;
use dom_smoothie::{Config, Readability, TextMode};
use serde::{Deserialize, Serialize};

use crate::platform::process_privacy;
use crate::platform::reader_process::limit_this_process;
use crate::tools::{FoundPage, PageFormat};

/// The most bytes of HTML that are read; a parser needs many times that.
pub(super) const MAX_HTML: usize = 2 << 20;
/// An article shorter than this is taken for a part of the page.
const SHORTEST_ARTICLE: usize = 250;
/// The stack of the thread that parses.
const STACK: usize = 64 << 20;
/// What no reader of a page sees.
const HIDDEN: &str = "[hidden], [aria-hidden=\"true\"], [style*=\"display:none\"], \
     [style*=\"display: none\"], [style*=\"visibility:hidden\"], [style*=\"visibility: hidden\"], \
     template, noscript, script, style, svg, iframe, object, embed";

/// A page for the reader.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HtmlPage {
    pub(super) html: String,
    pub(super) address: String,
    pub(super) wanted: ReaderTask,
}

/// What is made of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ReaderTask {
    Markdown,
    Text,
    /// The list of results that DuckDuckGo shows.
    SearchResults,
}

/// What the reader makes of a page.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PageArticle {
    pub(super) title: Option<String>,
    pub(super) text: String,
    /// Filled for [`ReaderTask::SearchResults`] alone.
    pub(super) results: Vec<FoundPage>,
}

impl HtmlPage {
    pub(super) fn new(html: String, address: String, format: PageFormat) -> Self {
        let wanted = match format {
            PageFormat::Markdown => ReaderTask::Markdown,
            PageFormat::Text => ReaderTask::Text,
        };
        Self { html, address, wanted }
    }
}

/// Runs the reader: a page on standard input becomes an article on standard output.
pub fn main() -> ExitCode {
    // This does not fail on any supported kernel, and nobody reads what a reader would say.
    let _ = process_privacy::close_process();
    match limit_this_process().ok().and_then(|()| serve()) {
        Some(()) => ExitCode::SUCCESS,
        None => ExitCode::FAILURE,
    }
}

fn serve() -> Option<()> {
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input).ok()?;
    let page: HtmlPage = serde_json::from_slice(&input).ok()?;
    let parsing = thread::Builder::new().stack_size(STACK).spawn(move || article(&page)).ok()?;
    let answer = serde_json::to_vec(&parsing.join().ok()?).ok()?;
    let mut out = std::io::stdout();
    out.write_all(&answer).and_then(|()| out.flush()).ok()
}

fn article(page: &HtmlPage) -> PageArticle {
    let document = Document::from(page.html.as_str());
    let (mode, is_markdown) = match page.wanted {
        ReaderTask::Markdown => (TextMode::Markdown, true),
        ReaderTask::Text => (TextMode::Formatted, false),
        ReaderTask::SearchResults => {
            return PageArticle { results: search_results(&document), ..PageArticle::default() };
        }
    };
    document.select(HIDDEN).remove();
    let title = document.select("title").text().trim().to_owned();
    let title = (!title.is_empty()).then_some(title);
    let config = Config { text_mode: mode, keep_classes: true, ..Config::default() };
    let readability =
        Readability::with_document(document.clone(), Some(&page.address), Some(config));
    let found = readability.and_then(|mut readability| readability.parse());
    if let Ok(found) = found
        && found.text_content.trim().len() >= SHORTEST_ARTICLE
    {
        let title = Some(found.title).filter(|it| !it.trim().is_empty()).or(title);
        let text = found.text_content.trim().to_owned();
        return PageArticle { title, text, results: Vec::new() };
    }
    let text = match is_markdown {
        true => document.md(None),
        false => document.formatted_text(),
    };
    PageArticle { title, text: text.trim().to_owned(), results: Vec::new() }
}

/// The results on a page of html.duckduckgo.com, without those that are paid for.
fn search_results(document: &Document) -> Vec<FoundPage> {
    let results = document.select("div.web-result");
    let found =
        results.iter().filter(|result| !result.has_class("result--ad")).filter_map(|result| {
            let link = result.select("h2 a").first();
            Some(FoundPage {
                title: link.text().trim().to_owned(),
                url: link.attr("href")?.to_string(),
                snippet: result.select(".result__snippet").first().text().trim().to_owned(),
            })
        });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(html: &str, format: PageFormat) -> PageArticle {
        article(&HtmlPage::new(html.to_owned(), "https://example.org/a/b".to_owned(), format))
    }

    #[test]
    fn an_article_becomes_markdown_without_what_is_around_it() {
        let words = "Some words of the article that are long enough to count. ".repeat(8);
        let html = format!(
            "<html><head><title>The title</title></head><body><nav><a href='/x'>Menu</a></nav>\
             <article><h1>The title</h1><h2>Part</h2><p>{words}<a href='/c'>link</a></p>\
             <pre><code>let a = 1;</code></pre><table><tr><th>k</th></tr><tr><td>v</td></tr></table>\
             </article><footer>Imprint</footer></body></html>"
        );
        let found = read(&html, PageFormat::Markdown);
        assert_eq!(found.title.as_deref(), Some("The title"));
        for part in ["## Part", "[link](https://example.org/c)", "let a = 1;", "| v |"] {
            assert!(found.text.contains(part), "{part}: {}", found.text);
        }
        assert!(!found.text.contains("Menu") && !found.text.contains("Imprint"), "{}", found.text);
        let text = read(&html, PageFormat::Text).text;
        assert!(text.contains("Part") && !text.contains("## Part"), "{text}");
    }

    #[test]
    fn a_page_without_an_article_is_read_whole() {
        let found = read("<title>T</title><ul><li>a <b>b</b></ul>", PageFormat::Markdown);
        assert_eq!(
            found,
            PageArticle { title: Some("T".into()), text: "- a **b**".into(), results: Vec::new() }
        );
        assert_eq!(read("<div id=app></div><script>x()</script>", PageFormat::Text).text, "");
        assert_eq!(read("", PageFormat::Markdown), PageArticle::default());
    }

    #[test]
    fn s88_what_a_page_hides_by_attribute_is_left_out() {
        let html = "<p>seen<!-- run a --><span hidden>run b</span><span style='color:red;display:none'>\
                    run c</span><span aria-hidden=true>run d</span></p><template>run e</template>\
                    <script>run f</script><noscript>run g</noscript>";
        for format in [PageFormat::Markdown, PageFormat::Text] {
            assert_eq!(read(html, format).text, "seen");
        }
    }

    #[test]
    fn a_page_of_results_becomes_a_list_without_what_is_paid_for() {
        let html = "<div id=links><div class='result web-result result--ad'><h2><a href='/ad'>Ad</a></h2></div>\
                    <div class='result web-result'><h2 class=result__title><a class=result__a \
                    href='//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2F'>A <b>title</b></a></h2>\
                    <a class=result__snippet>Some <b>words</b></a></div>\
                    <div class='result web-result'><h2>No link</h2></div></div>";
        let page = HtmlPage {
            html: html.to_owned(),
            address: String::new(),
            wanted: ReaderTask::SearchResults,
        };
        let found = FoundPage {
            title: "A title".into(),
            url: "//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2F".into(),
            snippet: "Some words".into(),
        };
        assert_eq!(article(&page).results, [found]);
    }
}
