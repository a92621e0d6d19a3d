//! Servers of HTTP+SSE, the transport before streamable HTTP: a scripted one on loopback.

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use futures_util::stream;
use tokio::sync::mpsc;

use super::*;

/// As the address of a server that names none.
const NOWHERE: &str = "nowhere";

/// A server that sends what it has to say on the stream, and takes messages at `/messages`.
#[derive(Clone)]
struct SseServer {
    /// The data of its event `endpoint`.
    endpoint: &'static str,
    /// With what status it answers the GET request, and of what kind that is.
    greeting: (StatusCode, &'static str),
    streams: Arc<Mutex<Vec<mpsc::UnboundedSender<String>>>>,
    received: Arc<Mutex<Vec<Value>>>,
}

impl SseServer {
    fn new() -> Self {
        Self {
            endpoint: "messages?session=1",
            greeting: (StatusCode::OK, "text/event-stream; charset=utf-8"),
            streams: Arc::default(),
            received: Arc::default(),
        }
    }

    /// Listens; the address of its stream.
    async fn listen(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let routes = axum::Router::new()
            .route("/sse", get(open_stream))
            .route("/messages", post(take_message))
            .with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        format!("http://{address}/sse")
    }

    fn say(&self, text: &str) {
        for sender in self.streams.lock().unwrap().iter() {
            // Fails for a stream that nobody reads any longer.
            let _ = sender.send(text.to_owned());
        }
    }

    fn methods(&self) -> Vec<String> {
        let received = self.received.lock().unwrap();
        received.iter().map(|it| it["method"].as_str().unwrap_or_default().to_owned()).collect()
    }

    fn count(&self, method: &str) -> usize {
        self.methods().iter().filter(|it| *it == method).count()
    }

    async fn env(&self, more: Value) -> McpTestEnv {
        let mut keys =
            json!({"url": self.listen().await, "type": "sse", "headers": {"X-Key": "k1"}});
        keys.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        McpTestEnv::new(json!({"old": keys}))
    }
}

async fn open_stream(State(server): State<SseServer>, headers: HeaderMap) -> Response {
    if headers.get("x-key").is_none_or(|key| key != "k1") {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let (sender, receiver) = mpsc::unbounded_channel();
    sender.send(": hello\n\nevent: ping\ndata: 1\n\n".to_owned()).unwrap();
    if server.endpoint != NOWHERE {
        sender.send(format!("event: endpoint\ndata: {}\n\n", server.endpoint)).unwrap();
    }
    *server.streams.lock().unwrap() = vec![sender];
    let parts = stream::unfold(receiver, |mut receiver| async {
        let text = receiver.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(text), receiver))
    });
    let (status, kind) = server.greeting;
    (status, [("content-type", kind)], Body::from_stream(parts)).into_response()
}

async fn take_message(
    State(server): State<SseServer>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    assert_eq!(headers.get("x-key").unwrap(), "k1");
    let request: Value = serde_json::from_slice(&body).unwrap();
    server.received.lock().unwrap().push(request.clone());
    let result = match request["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
            "serverInfo": {"name": "older", "version": "1"},
        }),
        "tools/list" => {
            let names = ["add", "hang", "close", "huge", "forget"];
            json!({"tools": names.map(|name| json!({"name": name, "inputSchema": {"type": "object"}}))})
        }
        "tools/call" => match request["params"]["name"].as_str().unwrap() {
            "add" => json!({"content": [{"type": "text", "text": "42"}]}),
            "close" => {
                server.streams.lock().unwrap().clear();
                return StatusCode::ACCEPTED;
            }
            "huge" => {
                server.say(&format!("data: {}", "x".repeat(17 << 20)));
                return StatusCode::ACCEPTED;
            }
            "forget" => return StatusCode::NOT_FOUND,
            _ => return StatusCode::ACCEPTED,
        },
        _ => return StatusCode::ACCEPTED,
    };
    let reply = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    server.say(&format!(": alive\n\nevent: message\ndata: no message\n\ndata: {reply}\n\n"));
    StatusCode::ACCEPTED
}

async fn started(server: &SseServer) -> McpTestEnv {
    let env = server.env(json!({})).await;
    env.allow_all().await;
    env.until("it is ready", || env.state() == McpServerState::Ready).await;
    env
}

/// The sentence with which a server fails.
async fn failure(env: &McpTestEnv) -> String {
    env.allow_all().await;
    env.until("it has failed", || matches!(env.state(), McpServerState::Failed(_))).await;
    let McpServerState::Failed(why) = env.state() else { unreachable!() };
    why
}

#[tokio::test]
async fn an_older_server_is_reached_with_its_headers_and_called() {
    let server = SseServer::new();
    let env = started(&server).await;
    assert_eq!(env.servers.status()[0].implementation.as_deref(), Some("older 1"));
    assert_eq!(env.call("mcp__old__add", json!({})).await.unwrap().observation, "42");
    assert_eq!(server.methods()[..2], ["initialize", "notifications/initialized"]);
}

/// The specification has clients try the older transport where the newer one is refused.
#[tokio::test]
async fn an_address_that_refuses_streamable_http_is_tried_as_an_older_server() {
    let server = SseServer::new();
    let env = server.env(json!({"type": "http"})).await;
    env.allow_all().await;
    env.until("it is ready", || env.state() == McpServerState::Ready).await;
    assert_eq!(env.call("mcp__old__add", json!({})).await.unwrap().observation, "42");
}

#[tokio::test]
async fn a_server_that_is_none_says_why() {
    let gone = McpTestEnv::new(json!({"s": {"type": "sse", "url": "http://127.0.0.1:1/sse"}}));
    let why = failure(&gone).await;
    assert!(why.starts_with("It cannot be reached: Connection refused"), "{why}");
    for (greeting, expected) in [
        (
            (StatusCode::NOT_FOUND, "text/event-stream"),
            "it answered with HTTP status 404 Not Found.",
        ),
        ((StatusCode::FOUND, "text/event-stream"), "it answered with HTTP status 302 Found."),
        ((StatusCode::OK, "text/html"), "it has no stream of events at this address."),
    ] {
        let server = SseServer { greeting, ..SseServer::new() };
        let why = failure(&server.env(json!({})).await).await;
        assert_eq!(why, format!("It cannot be reached over HTTP+SSE: {expected}"));
        let why = failure(&server.env(json!({"type": "http"})).await).await;
        assert!(!why.contains("HTTP+SSE"), "the first failure is told: {why}");
        assert_eq!(server.methods(), Vec::<String>::new());
    }
    // A stream that names no address is one of streamable HTTP.
    let silent = SseServer { endpoint: NOWHERE, ..SseServer::new() };
    let why = failure(&silent.env(json!({"type": "http", "start_timeout": 2})).await).await;
    assert!(!why.contains("did not answer"), "{why}");
    let locked = SseServer::new().env(json!({"headers": {}})).await;
    locked.allow_all().await;
    locked.until("it needs a login", || locked.state() == McpServerState::NeedsLogin).await;
}

/// No message and no header leave for an origin that the user has not configured.
#[tokio::test]
async fn a_server_cannot_send_slug_elsewhere() {
    for endpoint in ["http://127.0.0.1:1/messages", "//localhost/messages", "ftp://127.0.0.1/x", ""]
    {
        let server = SseServer { endpoint, ..SseServer::new() };
        let why = failure(&server.env(json!({"start_timeout": 5})).await).await;
        assert!(why.starts_with("It cannot be reached over HTTP+SSE: "), "{endpoint}: {why}");
        assert_eq!(server.methods(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_stream_that_ends_fails_the_call_and_the_next_one_starts_anew() {
    for tool in ["close", "huge", "forget"] {
        let server = SseServer::new();
        let env = started(&server).await;
        let error = env.call(&format!("mcp__old__{tool}"), json!({})).await.unwrap_err().0;
        // A refusal and the end of the stream that follows it come in either order.
        let is_refused = tool == "forget" && error.contains("HTTP status 404 Not Found");
        assert!(is_refused || error.contains("It has ended"), "{tool}: {error}");
        assert_eq!(env.call("mcp__old__add", json!({})).await.unwrap().observation, "42", "{tool}");
        assert_eq!(server.count("initialize"), 2, "{tool}");
        assert_eq!(server.count("tools/call"), 2, "no call is made twice: {tool}");
    }
}

#[tokio::test]
async fn a_call_that_is_stopped_is_cancelled_on_an_older_server() {
    let server = SseServer::new();
    let env = started(&server).await;
    let (context, _) = env.context();
    let tool = env.tool("mcp__old__hang");
    let cancel = context.cancel.clone();
    let call = tokio::spawn(async move { tool.run(&context, json!({})).await });
    env.until("it is called", || server.count("tools/call") == 1).await;
    cancel.cancel();
    assert_eq!(call.await.unwrap().unwrap().status, ToolStatus::Cancelled);
    env.until("it is told", || server.count("notifications/cancelled") == 1).await;
}
