//! Certificates, headers, proxies and fetched keys, over real sockets.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use async_trait::async_trait;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use secrecy::SecretString;
use serde_json::json;
use slug_code::domain::{Message, ProviderProtocol};
use slug_code::net::{
    ApiKey, ApiKeyFetcher, ClientCertificate, HttpClient, HttpEndpoint, PlainHttp, ProxySelection,
    SecretHeaderValue, TransportConfig,
};
use slug_code::providers::{ConnectionConfig, ErrorRecovery, ModelInfo, ProviderError, connect};

use crate::support::certificates::TestCertificates;
use crate::support::model_server::{ModelServer, ServerReply};

const LIST: &str = r#"{"data": [{"id": "m"}]}"#;

#[derive(Clone, Copy)]
enum ClientAuth {
    Anyone,
    Known,
}

/// A server that lists one model to every client that it accepts, and passes on the headers that it
/// received.
fn serve(
    certificates: &TestCertificates,
    clients: ClientAuth,
) -> (HttpEndpoint, Receiver<HashMap<String, String>>) {
    serve_with(certificates, clients, certificates.issue("127.0.0.1"))
}

/// The same, with this server certificate.
fn serve_with(
    certificates: &TestCertificates,
    clients: ClientAuth,
    (certificate, key): (rcgen::Certificate, rcgen::KeyPair),
) -> (HttpEndpoint, Receiver<HashMap<String, String>>) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = ServerConfig::builder();
    let builder = match clients {
        ClientAuth::Anyone => builder.with_no_client_auth(),
        ClientAuth::Known => {
            let mut roots = RootCertStore::empty();
            roots.add(certificates.authority.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder(Arc::new(roots)).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        }
    };
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = builder.with_single_cert(vec![certificate.der().clone()], key).unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("https://{}/v1", listener.local_addr().unwrap());
    let (seen, received) = channel();
    thread::spawn(move || {
        while let Ok((socket, _)) = listener.accept() {
            let connection = ServerConnection::new(config.clone()).unwrap();
            // That the server rejects a client is not a failure of the server.
            if let Ok(headers) = answer(StreamOwned::new(connection, socket), LIST)
                && seen.send(headers).is_err()
            {
                return;
            }
        }
    });
    (HttpEndpoint::parse(&endpoint, PlainHttp::LoopbackOnly).unwrap(), received)
}

/// Reads the head of a request, answers it and closes. The request line is stored under `""`.
fn answer(stream: impl Read + Write, body: &str) -> std::io::Result<HashMap<String, String>> {
    let mut stream = BufReader::new(stream);
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        match (line.trim_end(), line.split_once(": ")) {
            ("", _) => break,
            (_, Some((name, value))) => {
                headers.insert(name.to_lowercase(), value.trim_end().to_owned());
            }
            (line, None) => {
                headers.insert(String::new(), line.to_owned());
            }
        }
    }
    let length = body.len();
    write!(
        stream.get_mut(),
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )?;
    stream.get_mut().flush()?;
    Ok(headers)
}

fn connection_config(endpoint: &HttpEndpoint, transport: TransportConfig) -> ConnectionConfig {
    ConnectionConfig::new(Arc::new(HttpClient::with_transport(transport)), endpoint.clone(), None)
}

async fn models(config: ConnectionConfig) -> Result<Vec<String>, ProviderError> {
    let models = connect(ProviderProtocol::ChatCompletions, config).models().await?;
    Ok(models.into_iter().map(|model: ModelInfo| model.id).collect())
}

fn client(certificate: &Path, key: Option<&Path>) -> Option<ClientCertificate> {
    let (certificate, key) = (certificate.to_owned(), key.map(Path::to_owned));
    Some(ClientCertificate { certificate, key })
}

#[tokio::test]
async fn a_configured_authority_is_trusted() {
    let certificates = TestCertificates::new();
    let (endpoint, _seen) = serve(&certificates, ClientAuth::Anyone);
    let error = models(connection_config(&endpoint, TransportConfig::default())).await.unwrap_err();
    assert!(
        error.message.contains("not trusted") && error.message.contains("`ca_file`"),
        "{error}"
    );
    let ca_file = Some(certificates.file("ca.pem"));
    assert_eq!(
        models(connection_config(
            &endpoint,
            TransportConfig { ca_file, ..TransportConfig::default() }
        ))
        .await
        .unwrap(),
        ["m"]
    );
}

#[tokio::test]
async fn a_bad_certificate_is_not_retried_and_gets_its_own_advice() {
    let certificates = TestCertificates::new();
    for (name, years, advice) in [
        ("127.0.0.1", (2020, 2021), ["has expired since 2021-01-01", "clock"]),
        ("127.0.0.1", (2120, 2121), ["is not valid yet before 2120-01-01", "clock"]),
        ("elsewhere.example", (1975, 4096), ["is for another name", "`endpoint`"]),
    ] {
        let issued = certificates.issue_for(name, years);
        let (endpoint, _seen) = serve_with(&certificates, ClientAuth::Anyone, issued);
        let ca_file = Some(certificates.file("ca.pem"));
        let config =
            connection_config(&endpoint, TransportConfig { ca_file, ..TransportConfig::default() });
        let error = models(config).await.unwrap_err();
        assert!(advice.iter().all(|part| error.message.contains(part)), "{error}");
        assert!(!error.message.contains("ca_file"), "{error}");
        assert_eq!(error.recovery, ErrorRecovery::AskUser, "{error}");
    }
}

#[tokio::test]
async fn a_server_without_tls_is_not_retried() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("https://{}/v1", listener.local_addr().unwrap());
    let endpoint = HttpEndpoint::parse(&endpoint, PlainHttp::LoopbackOnly).unwrap();
    thread::spawn(move || {
        while let Ok((mut socket, _)) = listener.accept() {
            let _ = socket.read(&mut [0; 512]);
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let error = models(connection_config(&endpoint, TransportConfig::default())).await.unwrap_err();
    assert!(error.message.contains("http://"), "{error}");
    assert_eq!(error.recovery, ErrorRecovery::AskUser, "{error}");
}

#[tokio::test]
async fn a_client_certificate_is_sent_to_a_server_that_asks_for_one() {
    let certificates = TestCertificates::new();
    let (endpoint, _seen) = serve(&certificates, ClientAuth::Known);
    let (both, certificate, key) = (
        certificates.file("both.pem"),
        certificates.file("client.pem"),
        certificates.file("client.key"),
    );
    for (client, is_let_in) in
        [(None, false), (client(&both, None), true), (client(&certificate, Some(&key)), true)]
    {
        let case = format!("{client:?}");
        let ca_file = Some(certificates.file("ca.pem"));
        let found = models(connection_config(
            &endpoint,
            TransportConfig { ca_file, client, ..TransportConfig::default() },
        ))
        .await;
        assert_eq!(found.is_ok(), is_let_in, "{case}: {found:?}");
    }
}

#[tokio::test]
async fn unusable_files_are_reported_by_name() {
    let certificates = TestCertificates::new();
    certificates.write("empty.pem", "CANARY");
    let (endpoint, _seen) = serve(&certificates, ClientAuth::Anyone);
    let (gone, empty) = (certificates.file("gone.pem"), certificates.file("empty.pem"));
    let ca = |file: &Path| TransportConfig {
        ca_file: Some(file.to_owned()),
        ..TransportConfig::default()
    };
    let shows = |client| TransportConfig { client, ..TransportConfig::default() };
    for (transport, file, key) in [
        (ca(&gone), "gone.pem", "`ca_file`"),
        (ca(&empty), "empty.pem", "`ca_file`"),
        (shows(client(&gone, None)), "gone.pem", "`client_certificate`"),
        (shows(client(&certificates.file("client.pem"), None)), "client.pem", "`client_key`"),
        (shows(client(&certificates.file("client.pem"), Some(&gone))), "gone.pem", "`client_key`"),
    ] {
        let error = models(connection_config(&endpoint, transport)).await.unwrap_err();
        assert!(error.message.contains(file) && error.message.contains(key), "{error}");
        assert!(!error.message.contains("CANARY"), "{error}");
        assert_eq!(error.recovery, ErrorRecovery::AskUser);
    }
}

#[tokio::test]
async fn headers_query_and_the_keys_header_are_the_servers_own() {
    let server = ModelServer::start();
    server.answer(
        "GET /v1/models?api-version=1%2B",
        ServerReply::json(200, &json!({"data": [{"id": "m"}]})),
    );
    let endpoint = super::endpoint(&server);
    let value = |text: &str| SecretHeaderValue::Value(text.into());
    let headers =
        vec![("x-team".to_owned(), value("CANARY-team")), ("user-agent".to_owned(), value("mine"))];
    let mut config =
        connection_config(&endpoint, TransportConfig { headers, ..TransportConfig::default() });
    config.key = ApiKey::Given("CANARY-key".into());
    config.key_header = Some("api-key".to_owned());
    config.query = vec![("api-version".to_owned(), "1+".to_owned())];
    assert_eq!(models(config.clone()).await.unwrap(), ["m"]);
    let request = server.requests().pop().unwrap();
    assert_eq!(request.headers["api-key"], "CANARY-key");
    assert_eq!(request.headers["x-team"], "CANARY-team");
    assert_eq!(request.headers["user-agent"], "mine");
    assert!(!request.headers.contains_key("authorization"));

    // A server cannot bring the secrets that it received onto the screen by repeating them.
    let words = "no CANARY-team with CANARY-key";
    server.answer("GET /v1/models?api-version=1%2B", ServerReply::error(403, words));
    let error = models(config).await.unwrap_err();
    assert!(!error.message.contains("CANARY"), "{error}");

    let missing = vec![("x-team".to_owned(), SecretHeaderValue::Missing("TEAM".to_owned()))];
    let transport = TransportConfig { headers: missing, ..TransportConfig::default() };
    let error = models(connection_config(&endpoint, transport)).await.unwrap_err();
    assert!(error.message.contains("variable TEAM, which is not set"), "{error}");
}

#[tokio::test]
async fn an_authorization_header_has_the_word_bearer() {
    let server = ModelServer::start();
    server.answer("GET /v1/models?limit=1000", ServerReply::json(200, &json!({"data": []})));
    let mut config = connection_config(&super::endpoint(&server), TransportConfig::default());
    config.key = ApiKey::Given("k".into());
    config.key_header = Some("authorization".to_owned());
    let provider = connect(ProviderProtocol::Anthropic, config);
    provider.models().await.unwrap();
    let request = server.requests().pop().unwrap();
    assert_eq!(request.headers["authorization"], "Bearer k");
    assert!(!request.headers.contains_key("x-api-key"));
}

#[tokio::test]
async fn configured_models_are_offered_if_there_is_no_list() {
    let empty = json!({"data": []});
    for (reply, offered) in [
        (ServerReply::error(404, "Not Found"), Some("named")),
        (ServerReply::json(200, &empty), Some("named")),
        (ServerReply::raw(200, "text/html", ["<html>"]), Some("named")),
        (ServerReply::json(200, &json!({"data": [{"id": "listed"}]})), Some("listed")),
        (ServerReply::error(401, "no key"), None),
    ] {
        let server = ModelServer::start();
        server.answer("GET /v1/models", reply);
        let mut config = connection_config(&super::endpoint(&server), TransportConfig::default());
        config.models = vec!["named".to_owned()];
        let found = models(config).await.ok().and_then(|mut models| models.pop());
        assert_eq!(found.as_deref(), offered);
    }
}

/// Accepts one connection, and passes on what `take` reads from it.
fn listen<T: Send + 'static>(
    take: impl FnOnce(TcpStream) -> T + Send + 'static,
) -> (String, Receiver<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (seen, received) = channel();
    thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        // Nothing receives any more if the test has failed.
        let _ = seen.send(take(socket));
    });
    (address, received)
}

fn elsewhere() -> HttpEndpoint {
    HttpEndpoint::parse("http://model.example/v1", PlainHttp::Allowed).unwrap()
}

#[tokio::test]
async fn remote_servers_are_reached_through_the_proxy() {
    let (address, seen) = listen(|socket| answer(socket, LIST).unwrap());
    let proxy = ProxySelection::At(format!("http://me:CANARY@{address}").into());
    let config =
        connection_config(&elsewhere(), TransportConfig { proxy, ..TransportConfig::default() });
    assert_eq!(models(config.clone()).await.unwrap(), ["m"]);
    let request = seen.recv().unwrap();
    assert!(request[""].starts_with("GET http://model.example/v1/models"), "{request:?}");
    assert_eq!(request["proxy-authorization"], "Basic bWU6Q0FOQVJZ");
    // The proxy accepts only one connection, so this request fails.
    let error = models(config).await.unwrap_err();
    assert!(!error.message.contains("CANARY"), "{error}");
}

#[tokio::test]
async fn a_socks_proxy_looks_names_up_itself() {
    let (address, seen) = listen(|mut socket| {
        let mut greeting = [0; 2];
        socket.read_exact(&mut greeting).unwrap();
        let mut methods = vec![0; greeting[1].into()];
        socket.read_exact(&mut methods).unwrap();
        socket.write_all(&[5, 0]).unwrap();
        let mut head = [0; 5];
        socket.read_exact(&mut head).unwrap();
        let mut name = vec![0; head[4].into()];
        socket.read_exact(&mut name).unwrap();
        socket.read_exact(&mut [0; 2]).unwrap();
        socket.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
        answer(socket, LIST).unwrap();
        (head[3], String::from_utf8(name).unwrap())
    });
    let proxy = ProxySelection::At(format!("socks5h://{address}").into());
    let config =
        connection_config(&elsewhere(), TransportConfig { proxy, ..TransportConfig::default() });
    assert_eq!(models(config).await.unwrap(), ["m"]);
    assert_eq!(seen.recv().unwrap(), (3, "model.example".to_owned()));
}

#[tokio::test]
async fn a_server_on_this_machine_is_asked_without_a_proxy() {
    let server = ModelServer::start();
    // No proxy listens at this address.
    let proxy = ProxySelection::At("http://127.0.0.1:1".into());
    let config = connection_config(
        &super::endpoint(&server),
        TransportConfig { proxy, ..TransportConfig::default() },
    );
    assert_eq!(models(config).await.unwrap(), ["test-model"]);
}

/// Returns keys one after another; the last one again and again.
struct RotatingKeys(Mutex<Vec<&'static str>>);

impl RotatingKeys {
    fn of(keys: &[&'static str]) -> ApiKey {
        ApiKey::Fetched(Arc::new(Self(Mutex::new(keys.iter().rev().copied().collect()))))
    }
}

#[async_trait]
impl ApiKeyFetcher for RotatingKeys {
    async fn fetch(&self) -> Result<SecretString, String> {
        let mut keys = self.0.lock().unwrap();
        let key = if keys.len() > 1 { keys.pop() } else { keys.last().copied() };
        key.map(SecretString::from).ok_or_else(|| "There is no key.".to_owned())
    }
}

fn keys_of(server: &ModelServer) -> Vec<String> {
    let header =
        |it: crate::support::model_server::RecordedRequest| it.headers["authorization"].clone();
    server.requests().into_iter().map(header).collect()
}

#[tokio::test]
async fn a_fetched_key_that_is_refused_is_fetched_once_more() {
    let server = ModelServer::start();
    server.reply(ServerReply::error(401, "the key one has expired"));
    server.reply(ServerReply::text("Hello"));
    server.reply(ServerReply::text("again"));
    server.reply(ServerReply::error(401, "no"));
    server.reply(ServerReply::error(401, "no"));
    let mut config = connection_config(&super::endpoint(&server), TransportConfig::default());
    config.key = RotatingKeys::of(&["CANARY-1", "CANARY-2", "CANARY-3"]);
    let provider = super::chat(config);
    let messages = || vec![Message::user("hi")];
    assert_eq!(super::ask(&provider, messages()).await.text, "Hello");
    assert_eq!(super::ask(&provider, messages()).await.text, "again");
    let refused = super::ask(&provider, messages()).await.error();
    assert_eq!(refused.status, Some(401));
    let sent = ["1", "2", "2", "2", "3"].map(|number| format!("Bearer CANARY-{number}"));
    assert_eq!(keys_of(&server), sent);
}

#[tokio::test]
async fn without_a_key_nothing_is_sent() {
    let server = ModelServer::start();
    let mut config = connection_config(&super::endpoint(&server), TransportConfig::default());
    config.key = RotatingKeys::of(&[]);
    let error = models(config).await.unwrap_err();
    assert_eq!(
        (error.message.as_str(), error.recovery),
        ("There is no key.", ErrorRecovery::AskUser)
    );
    assert!(server.requests().is_empty());
}
