//! Fetches newer facts from models.dev. Only ever on the user's request.

use chrono::NaiveDate;

use super::{ModelCatalogue, models_dev};
use crate::net::{HttpClient, HttpEndpoint, HttpTarget};
use crate::providers::ProviderError;
use crate::providers::failure::{self, RequestTarget};

/// The site that publishes the facts.
pub const SOURCE: &str = "https://models.dev";

/// The path of the file below [`SOURCE`].
const FILE: &str = "api.json";

/// The most bytes that are downloaded; the file has about four million.
const MAX_DOWNLOAD_BYTES: usize = 32 << 20;

/// Why a refresh gives no newer facts.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueRefreshError {
    /// The request failed.
    #[error(transparent)]
    NotFetched(#[from] ProviderError),
    /// The answer is not the file that slug expects.
    #[error("{address} does not have the expected catalogue: {source}. Try again later.")]
    NotRead {
        /// The address that was asked.
        address: String,
        /// What the parser says about the text.
        source: serde_json::Error,
    },
    /// The file has no model that slug can use.
    #[error("{address} lists no usable model. Try again later.")]
    Empty {
        /// The address that was asked.
        address: String,
    },
}

/// Downloads the catalogue from `from`, normally [`SOURCE`], and dates it `today`.
///
/// # Errors
///
/// Fails if the request fails, if the text is not in the format of models.dev, or if it has no
/// usable model. The error is a sentence with a remedy.
pub async fn refresh(
    http: &HttpClient,
    from: &HttpEndpoint,
    today: NaiveDate,
) -> Result<ModelCatalogue, CatalogueRefreshError> {
    let address = from.join(FILE).to_string();
    let http_target = HttpTarget { server: from.to_string(), ..HttpTarget::default() };
    let site = RequestTarget { http: http_target, ..RequestTarget::default() };
    let client = http.client(from).map_err(ProviderError::from)?;
    let text = failure::fetch(client.get(from.join(FILE)), &site, MAX_DOWNLOAD_BYTES).await?;
    let read = models_dev::read(&text, today);
    let catalogue =
        read.map_err(|source| CatalogueRefreshError::NotRead { address: address.clone(), source })?;
    if catalogue.is_empty() { Err(CatalogueRefreshError::Empty { address }) } else { Ok(catalogue) }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;
    use crate::net::PlainHttp;

    /// The result of a refresh from a server that answers one request with `body`.
    async fn refreshed(
        body: &'static str,
    ) -> (Result<ModelCatalogue, CatalogueRefreshError>, String) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let serving = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            let length = stream.read(&mut request).unwrap();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(body.as_bytes()).unwrap();
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        let endpoint = HttpEndpoint::parse(&address, PlainHttp::LoopbackOnly).unwrap();
        let today = NaiveDate::from_ymd_opt(2026, 11, 22).unwrap();
        let refreshed = refresh(&HttpClient::new(), &endpoint, today).await;
        (refreshed, serving.join().unwrap())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn newer_facts_come_from_the_address() {
        let body = r#"{"xai": {"models": {"grok-9": {
            "release_date": "2026-11-01", "tool_call": true, "limit": {"context": 9000},
            "modalities": {"input": ["text"], "output": ["text"]}}}}}"#;
        let (catalogue, request) = refreshed(body).await;
        let catalogue = catalogue.unwrap();
        assert_eq!(catalogue.find("api.x.ai", "grok-9").unwrap().window, 9000);
        assert!(request.starts_with("GET /api.json "), "{request}");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_text_that_is_no_catalogue_is_an_error() {
        for (body, error) in [
            ("<html>sorry</html>", "does not have the expected catalogue"),
            ("{}", "lists no usable model"),
        ] {
            let said = refreshed(body).await.0.unwrap_err().to_string();
            assert!(said.contains(error), "{said}");
        }
    }
}
