//! The chat-completions provider over real sockets against the scripted server, and the decoders
//! against recorded streams of real servers where these are available.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use secrecy::SecretString;
use serde_json::json;
use slug_code::domain::{
    CallId, CallInput, ContentBlock, Message, MessageRole, ProviderProtocol, StopReason,
    TokenUsage, ToolCall, ToolSpec,
};
use slug_code::net::{HttpClient, HttpEndpoint, PlainHttp};
use slug_code::providers::EncodedImages;
use slug_code::providers::{
    ConnectionConfig, ErrorRecovery, ModelInfo, PrefillProgress, Provider, ProviderError,
    ProviderRequest, RequestOverflow, StreamEvent, ToolChoice, connect,
};
use tokio_util::sync::CancellationToken;

use crate::support::model_server::{ModelServer, ReplyGate, ServerReply, wait_until};

mod connection;
mod faults;
mod rate_limiter;
mod recordings;

/// The events of an answer, combined.
#[derive(Debug, Default, PartialEq)]
struct CollectedResponse {
    events: Vec<StreamEvent>,
    text: String,
    thinking: String,
    calls: Vec<(String, String, String)>,
    usage: Option<TokenUsage>,
    finished: Option<StopReason>,
    error: Option<ProviderError>,
}

impl CollectedResponse {
    fn add(&mut self, event: Result<StreamEvent, ProviderError>) {
        assert!(self.finished.is_none() && self.error.is_none(), "something after the end");
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                self.error = Some(error);
                return;
            }
        };
        match event.clone() {
            StreamEvent::Text(text) => self.text += &text,
            StreamEvent::Thinking(text) => self.thinking += &text,
            StreamEvent::ToolUseStarted { index, id, name } => {
                assert_eq!(index, self.calls.len(), "calls are numbered in order");
                self.calls.push((id.as_str().to_owned(), name, String::new()));
            }
            StreamEvent::ToolInputDelta { index, json } => self.calls[index].2 += &json,
            StreamEvent::Usage(usage) => self.usage = Some(usage),
            StreamEvent::Finished(reason) => self.finished = Some(reason),
            StreamEvent::Started
            | StreamEvent::RateLimited(_)
            | StreamEvent::Prefill(_)
            | StreamEvent::Signature(_)
            | StreamEvent::Sealed { .. } => {}
        }
        self.events.push(event);
    }

    fn error(self) -> ProviderError {
        self.error.expect("an error")
    }
}

fn endpoint(server: &ModelServer) -> HttpEndpoint {
    HttpEndpoint::parse(&server.endpoint(), PlainHttp::LoopbackOnly).unwrap()
}

fn chat(config: ConnectionConfig) -> Arc<dyn Provider> {
    connect(ProviderProtocol::ChatCompletions, config)
}

fn provider(server: &ModelServer) -> Arc<dyn Provider> {
    chat(ConnectionConfig::new(Arc::new(HttpClient::new()), endpoint(server), None))
}

fn request(messages: Vec<Message>) -> ProviderRequest {
    ProviderRequest {
        model: "test-model".into(),
        system: "Be brief.".into(),
        messages,
        images: EncodedImages::default(),
        tools: Arc::new([ToolSpec {
            name: "Read".into(),
            description: "Reads a file.".into(),
            input_schema: json!({"type": "object", "properties": {"file_path": {"type": "string"}}}),
        }]),
        max_tokens: Some(100),
        tool_choice: ToolChoice::Auto,
        temperature: None,
        effort: None,
    }
}

async fn ask(provider: &Arc<dyn Provider>, messages: Vec<Message>) -> CollectedResponse {
    let mut stream = provider.stream(request(messages), CancellationToken::new());
    let mut response = CollectedResponse::default();
    while let Some(event) = stream.next().await {
        response.add(event);
    }
    response
}

async fn hello(server: &ModelServer) -> CollectedResponse {
    ask(&provider(server), vec![Message::user("hi")]).await
}

#[tokio::test]
async fn an_answer_streams_from_socket_to_events() {
    let server = ModelServer::start();
    server.reply(ServerReply::thinking("hm", "Hello"));
    let response = hello(&server).await;
    assert_eq!(response.events.first(), Some(&StreamEvent::Started));
    assert_eq!((response.thinking.as_str(), response.text.as_str()), ("hm", "Hello"));
    assert_eq!(
        response.usage,
        Some(TokenUsage { input: 100, output: 10, cache_read: 60, ..TokenUsage::default() })
    );
    assert_eq!(response.finished, Some(StopReason::EndTurn));
    server.assert_clean();
}

#[tokio::test]
async fn each_protocol_asks_at_its_own_address_with_its_own_header() {
    const KEY: &str = "sk-canary";
    let message = json!({"type": "message", "content": [{"type": "output_text", "text": "Hi"}]});
    let whole = [
        (
            ProviderProtocol::Responses,
            "/v1/responses",
            ("authorization", "Bearer sk-canary"),
            json!({"status": "completed", "output": [message]}),
        ),
        (
            ProviderProtocol::Anthropic,
            "/v1/messages",
            ("x-api-key", KEY),
            json!({"type": "message", "stop_reason": "end_turn",
                "content": [{"type": "text", "text": "Hi"}]}),
        ),
        (
            ProviderProtocol::Gemini,
            "/v1beta/models/test-model:streamGenerateContent?alt=sse",
            ("x-goog-api-key", KEY),
            json!({"candidates": [{"finishReason": "STOP",
                "content": {"parts": [{"text": "Hi"}]}}]}),
        ),
    ];
    for (protocol, path, (header, value), answer) in whole {
        let server = ModelServer::start();
        server.answer(&format!("POST {path}"), ServerReply::json(200, &answer));
        let key = Some(SecretString::from(KEY));
        let provider = connect(
            protocol,
            ConnectionConfig::new(Arc::new(HttpClient::new()), endpoint(&server), key),
        );
        let greeting = request(vec![Message::user("hi")]);
        let mut response = CollectedResponse::default();
        let mut events = provider.stream(greeting, CancellationToken::new());
        while let Some(event) = events.next().await {
            response.add(event);
        }
        assert_eq!((response.error, response.text.as_str()), (None, "Hi"), "{protocol}");
        let recorded = server.requests().pop().unwrap();
        assert_eq!((recorded.path.as_str(), recorded.headers[header].as_str()), (path, value));
        let keys = recorded.headers.values().filter(|it| it.contains(KEY)).count();
        assert_eq!(keys, 1, "{protocol} sends the key once");
    }
}

#[tokio::test]
async fn a_tool_loop_sends_what_a_strict_server_takes() {
    let server = ModelServer::start();
    let provider = provider(&server);
    let mut messages = vec![Message::user("Look around")];
    for turn in 0..5 {
        let id = format!("c{turn}");
        let path = json!({"file_path": "é\n"});
        server.reply(ServerReply::calls(
            "Looking.",
            &[(&id, "Read", path), (&format!("{id}b"), "Read", json!({}))],
        ));
        let response = ask(&provider, messages.clone()).await;
        assert_eq!(response.finished, Some(StopReason::ToolUse));
        let mut content = vec![
            ContentBlock::Thinking { thinking: format!("thought {turn}"), signature: None },
            ContentBlock::Text { text: response.text.clone() },
        ];
        let mut results = Vec::new();
        for (id, name, arguments) in response.calls {
            let input = match turn {
                3 => CallInput::Invalid("{\"cut".into()),
                _ => CallInput::parse(&arguments),
            };
            let tool_use_id = CallId::new(id);
            content.push(ContentBlock::ToolUse(ToolCall { id: tool_use_id.clone(), name, input }));
            results.push(ContentBlock::ToolResult {
                tool_use_id,
                content: "x".into(),
                is_error: turn == 3,
            });
        }
        messages.push(Message { role: MessageRole::Assistant, content });
        messages.push(Message { role: MessageRole::User, content: results });
    }
    server.reply(ServerReply::text("All done."));
    assert_eq!(ask(&provider, messages).await.text, "All done.");
    server.assert_clean();
    let chats = server.chat_requests();
    assert_eq!(chats.len(), 6);
    for pair in chats.windows(2) {
        let open = &pair[0].raw[..pair[0].raw.len() - 2];
        assert!(pair[1].raw.starts_with(open), "the whole body grows at its end alone");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pieces_arrive_as_they_are_sent() {
    let server = ModelServer::start();
    let gate = ReplyGate::closed();
    server.reply(ServerReply::words(["one ", "two"]).gated(&gate));
    let mut stream =
        provider(&server).stream(request(vec![Message::user("hi")]), CancellationToken::new());
    assert_eq!(stream.next().await.unwrap(), Ok(StreamEvent::Started));
    gate.let_through(2);
    assert_eq!(stream.next().await.unwrap(), Ok(StreamEvent::Text("one ".into())));
    gate.let_through(1);
    assert_eq!(stream.next().await.unwrap(), Ok(StreamEvent::Text("two".into())));
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_closes_the_connection_in_every_phase() {
    let gate = ReplyGate::closed();
    let table = [
        ("before the head", ServerReply::text("x").head_gated(&gate), 0),
        ("before the first piece", ServerReply::text("x").gated(&gate), 1),
        ("in the midst", ServerReply::text("one two three").hanging_after(3), 3),
    ];
    for (phase, reply, events) in table {
        let server = ModelServer::start();
        server.reply(reply);
        let cancel = CancellationToken::new();
        let mut stream =
            provider(&server).stream(request(vec![Message::user("hi")]), cancel.clone());
        let event_count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&event_count);
        let listening = tokio::spawn(async move {
            while let Some(event) = stream.next().await {
                event.unwrap();
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        server.wait_for_requests(1);
        assert!(wait_until(|| event_count.load(Ordering::SeqCst) == events), "{phase}");
        let stopped = Instant::now();
        cancel.cancel();
        listening.await.unwrap();
        assert!(stopped.elapsed() < Duration::from_secs(5), "{phase}");
        assert!(server.wait_until_idle(), "{phase}: the server still sends");
        assert_eq!(server.aborted_replies(), 1, "{phase}");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_an_error_to_retry() {
    let table = [
        ServerReply::text("one two").closing_after(2),
        ServerReply::text("one two").resetting_after(2),
        ServerReply::stream(["data: {\"choices\":[{\"delta\":{\"content\":\"one \"}}]}\n\n"]),
    ];
    for reply in table {
        let server = ModelServer::start();
        server.reply(reply);
        let response = hello(&server).await;
        assert_eq!(response.text, "one ");
        assert_eq!(response.finished, None);
        assert_eq!(response.error().recovery, ErrorRecovery::Retry);
    }
}

#[tokio::test]
async fn a_complete_answer_stays_complete_when_the_connection_breaks() {
    let server = ModelServer::start();
    server.reply(ServerReply::text("x").resetting_after(3));
    let response = hello(&server).await;
    assert_eq!((response.text.as_str(), response.finished), ("x", Some(StopReason::EndTurn)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_connection_does_not_hold_up_the_end() {
    let server = ModelServer::start();
    let reply = ServerReply::text("x");
    server.reply(reply.hanging_after(5));
    let started = Instant::now();
    assert_eq!(hello(&server).await.finished, Some(StopReason::EndTurn));
    assert!(started.elapsed() < Duration::from_secs(20));
    assert!(server.wait_until_idle());
}

#[tokio::test]
async fn error_responses_carry_a_remedy() {
    let table = [
        (
            ServerReply::error(429, "slow down").with_header("retry-after", "7"),
            ErrorRecovery::RetryAfter(Duration::from_secs(7)),
            "slow down",
        ),
        (ServerReply::error(500, "boom"), ErrorRecovery::Retry, "boom"),
        (
            ServerReply::error(400, "prompt is too long: 9 tokens > 8 maximum"),
            ErrorRecovery::Compact(RequestOverflow { window: Some(8), prompt: Some(9) }),
            "larger window with /model",
        ),
        (ServerReply::error(401, "no"), ErrorRecovery::AskUser, "requires a key"),
        (
            ServerReply::error(404, "The model `test-model` does not exist"),
            ErrorRecovery::AskUser,
            "/model",
        ),
        (
            ServerReply::raw(502, "text/html", ["<html><title>Bad Gateway</title>"]),
            ErrorRecovery::Retry,
            "Bad Gateway",
        ),
        (ServerReply::raw(422, "text/plain", ["x".repeat(1 << 20)]), ErrorRecovery::GiveUp, "xxx…"),
        (
            ServerReply::raw(302, "text/plain", ["x"])
                .with_header("location", "http://127.0.0.1:1/v1"),
            ErrorRecovery::AskUser,
            "http://127.0.0.1:1/v1",
        ),
        (
            ServerReply::json(
                200,
                &json!({"error": {"message": "Context size has been exceeded."}}),
            ),
            ErrorRecovery::Compact(RequestOverflow::default()),
            "larger window with /model",
        ),
        (
            ServerReply::raw(200, "text/html", ["<!doctype html><title>Sign in</title>"]),
            ErrorRecovery::AskUser,
            "Sign in",
        ),
    ];
    for (reply, recovery, says) in table {
        let server = ModelServer::start();
        server.reply(reply);
        let error = hello(&server).await.error();
        assert_eq!(error.recovery, recovery, "{error}");
        assert!(error.message.contains(says), "{error}");
        assert!(error.message.len() < 2000, "{error}");
    }
}

#[tokio::test]
async fn a_missing_server_is_reported_with_a_remedy() {
    let server = ModelServer::start();
    let there = endpoint(&server);
    drop(server);
    // Until the listener's thread notices the end, it may accept one more connection.
    let refused = || std::net::TcpStream::connect((there.host(), port(&there))).is_err();
    assert!(wait_until(refused));
    let provider = chat(ConnectionConfig::new(Arc::new(HttpClient::new()), there.clone(), None));
    let error = ask(&provider, vec![Message::user("hi")]).await.error();
    assert_eq!(
        error.message,
        format!(
            "No server answers at {there}. Start one, or set `endpoint` in ~/.slug/config.toml."
        )
    );
    assert_eq!(error.recovery, ErrorRecovery::RetryBriefly);
    assert_eq!(provider.models().await, Err(error));
}

fn port(endpoint: &HttpEndpoint) -> u16 {
    endpoint.join("").port().unwrap()
}

#[tokio::test]
async fn the_key_goes_to_its_origin_and_into_no_message() {
    let (server, other) = (ModelServer::start(), ModelServer::start());
    let key = Some(SecretString::from("sk-secret"));
    let provider = chat(ConnectionConfig::new(Arc::new(HttpClient::new()), endpoint(&server), key));
    let elsewhere = format!("{}/chat/completions", other.endpoint());
    server.reply(ServerReply::json(307, &json!({})).with_header("location", &elsewhere));
    server.reply(ServerReply::error(401, "the key sk-secret is wrong"));
    let moved = ask(&provider, vec![Message::user("hi")]).await.error();
    assert!(moved.message.contains(&elsewhere), "{moved}");
    let refused = ask(&provider, vec![Message::user("hi")]).await.error();
    assert!(!refused.message.contains("sk-secret"), "{refused}");
    assert_eq!(server.chat_requests()[0].headers["authorization"], "Bearer sk-secret");
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn models_are_listed_with_the_window_that_is_served() {
    let server = ModelServer::start();
    let list = json!({"data": [{"id": "a", "max_model_len": 32768}, {"id": "b"}]});
    server.answer("GET /v1/models", ServerReply::json(200, &list));
    let models = provider(&server).models().await.unwrap();
    assert_eq!(
        models,
        [
            ModelInfo { id: "a".into(), context_window: Some(32768), ..ModelInfo::default() },
            ModelInfo { id: "b".into(), ..ModelInfo::default() },
        ]
    );
    assert_eq!(server.requests().len(), 1, "only llama.cpp is asked for its props");
}

#[tokio::test]
async fn llama_cpp_is_asked_for_its_window_and_its_progress() {
    let server = ModelServer::start();
    let list =
        json!({"data": [{"id": "a", "owned_by": "llamacpp", "meta": {"n_ctx_train": 32768}}]});
    server.answer("GET /v1/models", ServerReply::json(200, &list));
    let props = json!({"default_generation_settings": {"n_ctx": 8192}});
    server.answer("GET /props", ServerReply::json(200, &props));
    let provider = provider(&server);
    let models = provider.models().await.unwrap();
    assert_eq!(
        models,
        [ModelInfo { id: "a".into(), context_window: Some(8192), ..ModelInfo::default() }]
    );

    let progress = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\
        null}}],\"prompt_progress\":{\"total\":637,\"cache\":5,\"processed\":300,\"time_ms\":1}}\n\n:\n\n";
    let end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    server.reply(ServerReply::stream([progress, end]));
    let response = ask(&provider, vec![Message::user("hi")]).await;
    let prefill = PrefillProgress { processed: 300, total: 637, cached: 5 };
    assert!(response.events.contains(&StreamEvent::Prefill(prefill)), "{response:?}");
    assert_eq!(server.chat_requests()[0].body["return_progress"], json!(true));
}

#[tokio::test]
async fn ollama_and_lm_studio_are_asked_for_their_windows_in_their_own_places() {
    let server = ModelServer::start();
    let list = json!({"data": [{"id": "a:8b", "owned_by": "library"},
                               {"id": "me/b", "owned_by": "me"}]});
    server.answer("GET /v1/models", ServerReply::json(200, &list));
    let loaded = json!({"models": [{"name": "a:8b", "context_length": 4096}]});
    server.answer("GET /api/ps", ServerReply::json(200, &loaded));
    let shown = json!({"parameters": "num_ctx 8192", "model_info": {"x.context_length": 99}});
    server.answer("POST /api/show", ServerReply::json(200, &shown));
    let models = provider(&server).models().await.unwrap();
    let windows: Vec<_> = models.iter().map(|model| model.context_window).collect();
    assert_eq!(windows, [Some(4096), Some(8192)]);
    assert_eq!(server.requests().last().unwrap().body, json!({"model": "me/b"}));

    let server = ModelServer::start();
    let list = json!({"data": [{"id": "a", "owned_by": "organization_owner"}]});
    server.answer("GET /v1/models", ServerReply::json(200, &list));
    let own =
        json!({"data": [{"id": "a", "loaded_context_length": 8192, "max_context_length": 9}]});
    server.answer("GET /api/v0/models", ServerReply::json(200, &own));
    let models = provider(&server).models().await.unwrap();
    assert_eq!(
        models,
        [ModelInfo { id: "a".into(), context_window: Some(8192), ..ModelInfo::default() }]
    );
}

#[tokio::test]
async fn progress_is_requested_only_once_a_server_is_known_to_be_llama_cpp() {
    let server = ModelServer::start();
    let provider = provider(&server);
    server.reply(ServerReply::text("x").with_header("Server", "llama.cpp"));
    server.reply(ServerReply::text("y"));
    for _ in 0..2 {
        ask(&provider, vec![Message::user("hi")]).await;
    }
    let asks_progress: Vec<bool> = server
        .chat_requests()
        .iter()
        .map(|chat| chat.body.get("return_progress").is_some())
        .collect();
    assert_eq!(asks_progress, [false, true]);
}

#[tokio::test]
async fn an_invalid_model_list_is_reported_with_a_remedy() {
    let server = ModelServer::start();
    for reply in [
        ServerReply::raw(200, "text/html", ["<html>"]),
        ServerReply::json(200, &json!({"ok": true})),
    ] {
        server.answer("GET /v1/models", reply);
        let error = provider(&server).models().await.unwrap_err();
        assert!(error.message.contains("/v1"), "{error}");
        assert_eq!(error.recovery, ErrorRecovery::AskUser);
    }
}

#[test]
fn the_scripted_server_sees_what_is_wrong_with_a_request() {
    let server = ModelServer::start();
    let send = |messages: serde_json::Value, tools: serde_json::Value| {
        let before = server.chat_requests().len();
        let body = json!({"messages": messages, "tools": tools}).to_string();
        let address = server.endpoint().replace("http://", "").replace("/v1", "");
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        std::io::Write::write_all(&mut stream, (head + &body).as_bytes()).unwrap();
        server.wait_for_requests(before + 1);
    };
    let system = json!({"role": "system", "content": "s"});
    let user = |text: &str| json!({"role": "user", "content": text});
    let calls = json!({"role": "assistant", "content": null, "tool_calls":
        [{"id": "a", "function": {"name": "Read", "arguments": "{"}}]});
    let tools = json!([{"type": "function"}]);
    send(json!([system, user("x")]), tools.clone());
    server.assert_clean();
    send(json!([system, user("x"), calls, user("y"), user("z"), system]), json!([]));
    send(json!([user("x"), {"role": "tool", "tool_call_id": "b", "content": "r"}]), tools);
    let complaints = server.complaints().join("\n");
    for wrong in [
        "chat request 2: its tools are empty",
        "two user messages in a row",
        "a second system message",
        "{\"a\"} have no result",
        "the arguments `{` are no object",
        "its tools are not those",
        "chat request 3: message 1 answers `b`, which is no open call",
        "chat request 3: no earlier request is its beginning",
    ] {
        assert!(complaints.contains(wrong), "{wrong}\nnot in:\n{complaints}");
    }
}
