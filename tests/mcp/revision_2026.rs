//! Servers of revision 2026-07-28, which keep no connection: questions come in the place of answers, and
//! changes on a stream that the client opens.

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use tokio::sync::mpsc;

use super::elicitation::{ScriptedUser, chosen, typed};
use super::*;

/// The number of the request that opened a stream, and what is sent on it.
type ChangeStream = (Value, mpsc::UnboundedSender<String>);

/// A server of this revision, and what it was sent.
#[derive(Clone, Default)]
struct StatelessServer {
    tools: Arc<Mutex<Vec<&'static str>>>,
    received: Arc<Mutex<Vec<(HeaderMap, Value)>>>,
    /// The streams of changes that are open.
    streams: Arc<Mutex<Vec<ChangeStream>>>,
}

impl StatelessServer {
    async fn listen(&self) -> Value {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let routes = axum::Router::new().route("/mcp", post(answer)).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        json!({"s": {"url": format!("http://{address}/mcp")}})
    }

    async fn started(&self) -> McpTestEnv {
        McpTestEnv::started(self.listen().await).await
    }

    fn calls(&self, method: &str) -> Vec<Value> {
        let received = self.received.lock().unwrap();
        let of = received.iter().filter(|(_, it)| it["method"] == method);
        of.map(|(_, it)| it["params"].clone()).collect()
    }

    /// Tells all streams that a list has changed.
    fn changed(&self, list: &str) {
        for (id, stream) in self.streams.lock().unwrap().iter() {
            let told = json!({
                "jsonrpc": "2.0", "method": format!("notifications/{list}/list_changed"),
                "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": id}},
            });
            // Fails for a stream that nobody reads any longer.
            let _ = stream.send(format!("data: {told}\n\n"));
        }
    }
}

fn form(message: &str) -> Value {
    json!({"method": "elicitation/create", "params": {
        "message": message,
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    }})
}

/// What a tool of the server answers to these parameters of a call.
fn call(params: &Value) -> Value {
    let asks = |requests: Value, state: &str| json!({"resultType": "input_required", "inputRequests": requests, "requestState": state});
    let says = |text: String| json!({"resultType": "complete", "content": [{"type": "text", "text": text}]});
    let state = params["requestState"].as_str().unwrap_or_default();
    match (params["name"].as_str().unwrap(), state) {
        ("greet", "") => asks(json!({"who": form("Who are you?")}), "one"),
        ("greet", "one") => asks(json!({"a": form("And a?"), "b": form("And b?")}), "two"),
        ("wait", "") => json!({"resultType": "input_required", "requestState": "x"}),
        ("wait", "x") => json!({"resultType": "input_required", "requestState": "y"}),
        ("endless", _) => asks(json!({"q": form("Again?")}), "z"),
        ("sample", _) => {
            let request = json!({"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}});
            asks(json!({"s": request}), "z")
        }
        (name, state) => says(format!("{name} {state} {}", params["inputResponses"])),
    }
}

async fn answer(
    State(server): State<StatelessServer>,
    headers: HeaderMap,
    Json(request): Json<Value>,
) -> Response {
    server.received.lock().unwrap().push((headers, request.clone()));
    let id = request["id"].clone();
    let result = match request["method"].as_str().unwrap_or_default() {
        "server/discover" => json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 3_600_000,
            "cacheScope": "public",
            "capabilities": {"tools": {"listChanged": true}, "resources": {}, "prompts": {}},
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "new", "version": "1"}},
        }),
        "tools/list" => {
            let tools = server.tools.lock().unwrap().clone();
            let tools = tools
                .into_iter()
                .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
            json!({"resultType": "complete", "tools": tools.collect::<Vec<_>>(), "ttlMs": 3_600_000, "cacheScope": "public"})
        }
        "resources/list" => {
            json!({"resultType": "complete", "resources": [], "ttlMs": 0, "cacheScope": "private"})
        }
        "resources/templates/list" => {
            json!({"resultType": "complete", "resourceTemplates": [], "ttlMs": 0, "cacheScope": "private"})
        }
        "prompts/list" => {
            json!({"resultType": "complete", "prompts": [], "ttlMs": 0, "cacheScope": "private"})
        }
        "tools/call" => call(&request["params"]),
        "subscriptions/listen" => {
            let (sender, receiver) = mpsc::unbounded_channel();
            let acknowledged = json!({
                "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                "params": {
                    "_meta": {"io.modelcontextprotocol/subscriptionId": id},
                    "notifications": {"toolsListChanged": true},
                },
            });
            sender.send(format!("data: {acknowledged}\n\n")).unwrap();
            server.streams.lock().unwrap().push((id, sender));
            let events = stream::unfold(receiver, |mut receiver| async {
                let text = receiver.recv().await?;
                Some((Ok::<_, std::convert::Infallible>(Bytes::from(text)), receiver))
            });
            let kind = [("content-type", "text/event-stream")];
            return (StatusCode::OK, kind, Body::from_stream(events)).into_response();
        }
        _ if id.is_null() => return StatusCode::ACCEPTED.into_response(),
        _ => {
            let error = json!({"code": -32601, "message": "method not found"});
            return Json(json!({"jsonrpc": "2.0", "id": id, "error": error})).into_response();
        }
    };
    Json(json!({"jsonrpc": "2.0", "id": id, "result": result})).into_response()
}

#[tokio::test]
async fn what_a_server_needs_is_asked_and_sent_with_the_call_again() {
    let server = StatelessServer::default();
    *server.tools.lock().unwrap() = vec!["greet", "wait"];
    let env = server.started().await;
    assert_eq!(env.servers.status()[0].implementation.as_deref(), Some("new 1"));
    assert_eq!(server.calls("initialize"), Vec::<Value>::new());
    let answers = [
        vec![chosen(0)],
        vec![typed("Ada")],
        // The second round: one is answered, one is not.
        vec![chosen(0)],
        vec![typed("x")],
        vec![chosen(1)],
    ];
    let user = ScriptedUser::new(&answers);
    let (context, _) = env.context();
    let context = ToolContext { user: user.clone(), ..context };
    let output = env.tool("mcp__s__greet").run(&context, json!({"loud": true})).await.unwrap();
    assert_eq!(
        output.observation,
        r#"greet two {"a":{"action":"accept","content":{"name":"x"}},"b":{"action":"decline"}}"#
    );
    let questions: Vec<String> = user.asked().into_iter().map(|it| it.question).collect();
    assert!(questions[0].contains("Who are you?"), "{questions:?}");
    let calls = server.calls("tools/call");
    assert_eq!(calls.len(), 3);
    assert!(calls.iter().all(|it| it["arguments"] == json!({"loud": true})));
    assert_eq!(calls[1]["inputResponses"]["who"]["content"], json!({"name": "Ada"}));
    let (headers, _) = server.received.lock().unwrap().last().unwrap().clone();
    assert_eq!(headers["mcp-protocol-version"], "2026-07-28");
    // One that only wants to be asked again.
    let output = env.call("mcp__s__wait", json!({})).await.unwrap();
    assert_eq!(output.observation, "wait y null");
}

#[tokio::test]
async fn a_server_that_asks_without_end_or_for_what_slug_has_not_is_refused() {
    let server = StatelessServer::default();
    *server.tools.lock().unwrap() = vec!["endless", "sample"];
    let env = server.started().await;
    let error = env.call("mcp__s__endless", json!({})).await.unwrap_err().to_string();
    assert!(error.contains("it asked for more input 10 times in a row"), "{error}");
    assert_eq!(server.calls("tools/call").len(), 10);
    let error = env.call("mcp__s__sample", json!({})).await.unwrap_err().to_string();
    assert!(error.contains("which slug does not support"), "{error}");
    assert_eq!(server.calls("tools/call").len(), 11);
    assert_eq!(env.state(), McpServerState::Ready);
}

#[tokio::test]
async fn changes_are_heard_on_a_stream_that_is_opened_again() {
    let server = StatelessServer::default();
    *server.tools.lock().unwrap() = vec!["greet"];
    let env = server.started().await;
    let names = || -> Vec<String> {
        env.servers.status()[0].tools.iter().map(|tool| tool.name.clone()).collect()
    };
    let streams = || server.streams.lock().unwrap().len();
    env.until("the stream is open", || streams() == 1).await;
    // What the server lets be kept for an hour is read again all the same.
    *server.tools.lock().unwrap() = vec!["greet", "wait"];
    server.changed("tools");
    env.until("it is told", || names() == ["greet", "wait"]).await;
    // The server ends the stream; what changes meanwhile is found with the next one.
    *server.tools.lock().unwrap() = vec!["wait"];
    server.streams.lock().unwrap().clear();
    env.until("it is found", || names() == ["wait"]).await;
    assert_eq!(streams(), 1);
}
