//! Search engines as servers on loopback play them.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::*;
use crate::net::{SystemLookup, TransportConfig};

/// An engine that answers one request, and what it was asked.
fn engine(status: &str, body: &str) -> (WebAddress, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/search", listener.local_addr().unwrap());
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = String::new();
        let mut buffer = [0; 8192];
        // The head and the body may come apart.
        while !asked.contains("\r\n\r\n")
            || (asked.starts_with("POST") && asked.ends_with("\r\n\r\n"))
        {
            let count = stream.read(&mut buffer).unwrap();
            asked.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
        stream.write_all(answer.as_bytes()).unwrap();
        asked
    });
    (WebAddress::parse(&address).unwrap(), thread)
}

async fn ask(
    engine_kind: SearchEngine,
    status: &str,
    body: &str,
) -> (Result<EngineAnswer, WebError>, String) {
    let (base, thread) = engine(status, body);
    let client = EngineClient::at(engine_kind, base);
    let pages = PageClient::new(Arc::new(SystemLookup), TransportConfig::default());
    let answer = client.ask(&pages, "rust !g web", "slug/test").await;
    (answer, thread.join().unwrap())
}

fn page(title: &str, url: &str, snippet: &str) -> FoundPage {
    FoundPage { title: title.into(), url: url.into(), snippet: snippet.into() }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_engine_is_asked_in_its_own_way() {
    let one = EngineAnswer::Results(vec![page("T", "https://a.example/", "S & <s>")]);
    let serper =
        r#"{"organic":[{"title":"T","link":"https://a.example/","snippet":"S & <s>"},{}]}"#;
    let (found, asked) = ask(SearchEngine::Serper("k3y".into()), "200 OK", serper).await;
    assert_eq!(found.unwrap(), one);
    assert!(asked.starts_with("POST /search ") && asked.contains("x-api-key: k3y"), "{asked}");
    assert!(asked.ends_with(r#"{"q":"rust !g web","num":20}"#), "{asked}");

    let brave = r#"{"web":{"results":[{"title":"<strong>T</strong>","url":"https://a.example/","description":"S &amp; &lt;s&gt;"}]}}"#;
    let (found, asked) = ask(SearchEngine::Brave("k3y".into()), "200 OK", brave).await;
    assert_eq!(found.unwrap(), one);
    assert!(asked.starts_with("GET /search?q=rust+%21g+web&count=20 "), "{asked}");
    assert!(asked.contains("x-subscription-token: k3y"), "{asked}");

    let searxng = r#"{"results":[{"title":"T","url":"https://a.example/","content":"S & <s>"}]}"#;
    let base = || SearchEngine::SearXng(WebAddress::parse("http://127.0.0.1/").unwrap());
    let (found, asked) = ask(base(), "200 OK", searxng).await;
    assert_eq!(found.unwrap(), one);
    assert!(asked.starts_with("GET /search?q=rust+%21g+web&format=json "), "{asked}");

    let (found, asked) = ask(SearchEngine::DuckDuckGo, "200 OK", "<p>page").await;
    assert_eq!(found.unwrap(), EngineAnswer::Html("<p>page".into()));
    assert!(asked.contains("user-agent: Mozilla/5.0") && asked.contains("referer: https://html."));
    assert!(asked.ends_with("q=rust+%22%21g%22+web&b=&kl=wt-wt"), "{asked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_refuses_is_not_an_engine_without_results() {
    let base = || SearchEngine::SearXng(WebAddress::parse("http://127.0.0.1/").unwrap());
    let challenge = "<form id=\"challenge-form\"><div class=\"anomaly-modal__title\">";
    for (engine, status, body, says) in [
        (SearchEngine::DuckDuckGo, "202 Accepted", "", "limits searches"),
        (SearchEngine::DuckDuckGo, "200 OK", challenge, "limits searches"),
        (SearchEngine::DuckDuckGo, "303 See Other", "", "status 303"),
        (SearchEngine::Serper("k".into()), "429 Too Many", "", "limits searches"),
        (SearchEngine::Serper("k".into()), "403 Forbidden", "", "does not accept the user's key"),
        (SearchEngine::Brave("k".into()), "401 No", "", "does not accept the user's key"),
        (SearchEngine::Brave("k".into()), "200 OK", "<html>", "cannot be read"),
        (base(), "403 Forbidden", "", "search.formats"),
        (base(), "500 Oops", "", "status 500"),
    ] {
        let error = ask(engine, status, body).await.0.unwrap_err().0;
        assert!(error.contains(says), "{error}");
        assert!(!error.to_lowercase().contains("no results"), "{error}");
    }
    let none = ask(base(), "200 OK", r#"{"results":[]}"#).await.0.unwrap();
    assert_eq!(none, EngineAnswer::Results(Vec::new()));
}

#[test]
fn links_of_duckduckgo_lead_to_the_pages_behind_them() {
    let found = of_page(
        "",
        vec![
            page("a", "//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2Fx%3Fy%3D1&rut=f", ""),
            page("b", "https://b.example/", ""),
            page("ad", "https://duckduckgo.com/y.js?ad_domain=x", ""),
            page("js", "javascript:alert(1)", ""),
        ],
    );
    let urls: Vec<String> = found.unwrap().into_iter().map(|it| it.url).collect();
    assert_eq!(urls, ["https://a.example/x?y=1", "https://b.example/"]);
    assert_eq!(of_page("<div class=\"no-results\">", Vec::new()), Ok(Vec::new()));
    assert!(of_page("<p>new layout", Vec::new()).unwrap_err().0.contains("cannot be read"));
}

#[test]
fn domains_are_kept_or_left_out_with_their_subdomains() {
    let results = || SearchResults {
        engine: "Test",
        pages: [
            "https://a.example/",
            "https://www.a.example/x",
            "https://bada.example/",
            "https://b.example/",
        ]
        .map(|url| page("", url, ""))
        .to_vec(),
        left_out: 0,
    };
    let urls = |allowed: &[&str], blocked: &[&str]| {
        let list = |it: &[&str]| it.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let found = filtered(results(), &list(allowed), &list(blocked));
        (found.pages.into_iter().map(|it| it.url).collect::<Vec<_>>().join(" "), found.left_out)
    };
    assert_eq!(urls(&["A.example"], &[]), ("https://a.example/ https://www.a.example/x".into(), 2));
    assert_eq!(urls(&[], &["a.example"]), ("https://bada.example/ https://b.example/".into(), 2));
    assert_eq!(urls(&["a.example"], &["www.a.example"]), ("https://a.example/".into(), 3));
}
