//! Faults of networks and servers, played to each protocol: no bytes, few bytes, wrong bytes, error
//! responses of every kind, and addresses that lead nowhere.

use super::*;
use crate::support::answer_streams;
use slug_code::net::{ProxySelection, TimeoutSettings, TransportConfig};
use std::io::{Read, Write};

/// Longer than any test runs.
const NEVER: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(60);

fn limits(first_byte: Duration, idle: Duration, total: Duration) -> TimeoutSettings {
    TimeoutSettings { first_byte: Some(first_byte), idle: Some(idle), total: Some(total) }
}

fn long_timeouts() -> TimeoutSettings {
    limits(NEVER, NEVER, NEVER)
}

/// Sends a request to a server of this protocol.
async fn ask_by(
    protocol: ProviderProtocol,
    server: &ModelServer,
    timeouts: TimeoutSettings,
) -> CollectedResponse {
    ask_at(protocol, endpoint(server), timeouts).await
}

async fn ask_at(
    protocol: ProviderProtocol,
    endpoint: HttpEndpoint,
    timeouts: TimeoutSettings,
) -> CollectedResponse {
    let http = Arc::new(HttpClient::with_transport(TransportConfig {
        timeouts,
        ..TransportConfig::default()
    }));
    let provider = connect(protocol, ConnectionConfig::new(http, endpoint, None));
    let mut stream = provider.stream(request(vec![Message::user("hi")]), CancellationToken::new());
    let mut response = CollectedResponse::default();
    let reading = async {
        while let Some(event) = stream.next().await {
            response.add(event);
        }
    };
    tokio::time::timeout(Duration::from_secs(60), reading).await.expect("an end");
    response
}

/// Collects the events that this reply leads to.
async fn collect(
    protocol: ProviderProtocol,
    reply: ServerReply,
    timeouts: TimeoutSettings,
) -> CollectedResponse {
    let server = ModelServer::start();
    server.reply(reply);
    ask_by(protocol, &server, timeouts).await
}

const CALL: [answer_streams::ScriptedCall<'static>; 1] =
    [("call_1", "Read", "{\"file_path\":\"ä.txt\"}")];

fn whole(protocol: ProviderProtocol) -> ServerReply {
    ServerReply::stream(answer_streams::answer(protocol, "Größe, a look first.", &CALL))
}

/// Asserts that all of [`whole`] was received.
fn assert_whole(response: &CollectedResponse, case: &str) {
    assert_eq!(response.error, None, "{case}");
    assert_eq!(response.text, "Größe, a look first.", "{case}");
    let [(_, name, arguments)] = response.calls.as_slice() else { panic!("{case}: {response:?}") };
    assert_eq!((name.as_str(), arguments.as_str()), (CALL[0].1, CALL[0].2), "{case}");
    assert_eq!(response.finished, Some(StopReason::ToolUse), "{case}");
}

#[tokio::test(flavor = "multi_thread")]
async fn r27_silence_and_dripping_end_at_each_limit() {
    for protocol in ProviderProtocol::ALL {
        let gate = ReplyGate::closed();
        let drip = whole(protocol).sliced(1).paced(Duration::from_millis(10));
        let table = [
            ("no head", whole(protocol).head_gated(&gate), limits(SHORT, NEVER, NEVER), "nothing"),
            ("no byte", whole(protocol).hanging_after(0), limits(SHORT, NEVER, NEVER), "nothing"),
            ("no more", whole(protocol).hanging_after(2), limits(NEVER, SHORT, NEVER), "nothing"),
            (
                "pings",
                whole(protocol).pinging_after(1, Duration::from_millis(5)),
                limits(NEVER, NEVER, SHORT),
                "timeouts.total",
            ),
            ("drops", drip, limits(NEVER, NEVER, SHORT), "timeouts.total"),
        ];
        for (case, reply, timeouts, says) in table {
            let response = collect(protocol, reply, timeouts).await;
            let error = response.error();
            assert!(error.message.contains(says), "{protocol}, {case}: {error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r27_keep_alives_are_no_silence() {
    let listening = ProviderProtocol::ALL.map(|protocol| async move {
        let mut pieces = vec![": ping\n\n".to_owned(); 12];
        pieces.extend(answer_streams::answer(protocol, "Größe, a look first.", &CALL));
        let gate = ReplyGate::closed();
        let reply = ServerReply::stream(pieces).gated(&gate);
        let opening = tokio::spawn(async move {
            for _ in 0..12 {
                tokio::time::sleep(Duration::from_millis(200)).await;
                gate.let_through(1);
            }
            gate.open();
        });
        // The pings alone take longer than the limit for silence.
        let idle = Duration::from_secs(2);
        assert_whole(&collect(protocol, reply, limits(NEVER, idle, NEVER)).await, protocol.name());
        opening.await.unwrap();
    });
    futures_util::future::join_all(listening).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r28_an_end_on_an_open_connection_counts_at_once() {
    for protocol in ProviderProtocol::ALL {
        let events = answer_streams::answer(protocol, "Größe, a look first.", &CALL);
        let count = events.len();
        let reply = ServerReply::stream(events).hanging_after(count);
        // Gemini has no last event: an open stream ends some time after its last chunk.
        if protocol != ProviderProtocol::Gemini {
            assert_whole(&collect(protocol, reply, long_timeouts()).await, protocol.name());
        }

        let mut events = answer_streams::answer(protocol, "Größe, a look first.", &CALL);
        events.truncate(4);
        events.push(answer_streams::overloaded(protocol));
        let response =
            collect(protocol, ServerReply::stream(events).hanging_after(5), long_timeouts()).await;
        assert_eq!(response.finished, None);
        let error = response.error();
        assert!(error.message.contains("Overloaded"), "{protocol}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r30_every_framing_gives_the_same_events() {
    for protocol in ProviderProtocol::ALL {
        let body = answer_streams::answer(protocol, "Größe, a look first.", &CALL).concat();
        let plain = body.replace("\r\n", "\n");
        let dressed = format!("\u{FEFF}: hello\n\n{}", plain.replace("data: ", ": x\ndata:"));
        let no_blank_end = plain.trim_end().to_owned();
        let bodies = [
            ("as it is", body),
            ("CRLF", plain.replace('\n', "\r\n")),
            ("CR", plain.replace('\n', "\r")),
            ("BOM, comments, no space", dressed),
            ("no blank line at the end", no_blank_end),
            ("unknown fields", plain.replace("data: ", "id: 7\nretry: 5\nx\ndata: ")),
        ];
        for (name, body) in bodies {
            for slice in [1, 7, usize::MAX] {
                let case = format!("{protocol}, {name}, in slices of {slice}");
                let reply = ServerReply::stream([body.clone()]).sliced(slice.min(body.len()));
                assert_whole(&collect(protocol, reply, long_timeouts()).await, &case);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r30_packed_and_mislabelled_answers_are_read() {
    for protocol in ProviderProtocol::ALL {
        let case = protocol.name();
        assert_whole(&collect(protocol, whole(protocol).gzipped(), long_timeouts()).await, case);
        for content_type in ["text/plain", "application/json", "application/octet-stream", ""] {
            let events = answer_streams::answer(protocol, "Größe, a look first.", &CALL);
            let reply = ServerReply::raw(200, content_type, events);
            assert_whole(&collect(protocol, reply, long_timeouts()).await, case);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r30_an_endless_event_and_an_endless_answer_are_cut() {
    // 50 MB, as one line and as many.
    let mebibyte = "x".repeat(1 << 20);
    let endless = |start: &str, end: &str| {
        let rest = std::iter::repeat_n(format!("{start}{mebibyte}{end}"), 50);
        ServerReply::stream(std::iter::once("data: {\"x\":\"".to_owned()).chain(rest))
    };
    for protocol in ProviderProtocol::ALL {
        for reply in [endless("", ""), endless("data: ", "\n")] {
            let error = collect(protocol, reply, long_timeouts()).await.error();
            assert!(error.message.contains("16 MB"), "{protocol}: {error}");
            assert_eq!(error.recovery, ErrorRecovery::GiveUp, "{protocol}");
        }
    }
    let no_event = std::iter::repeat_n(mebibyte.clone(), 50);
    let no_event = ServerReply::stream(std::iter::once("{\"x\":\"".to_owned()).chain(no_event));
    let error = collect(ProviderProtocol::Anthropic, no_event, long_timeouts()).await.error();
    assert!(error.message.len() < 2000, "{} bytes", error.message.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn r30_bytes_that_are_no_text_lose_nothing_around_them() {
    for protocol in ProviderProtocol::ALL {
        let body = answer_streams::answer(protocol, "Größe, a look first.", &[]).concat();
        let at = body.find("ö").expect("an ö");
        let mut bytes = body.into_bytes();
        bytes[at] = 0xff;
        let response = collect(protocol, ServerReply::stream([bytes]), long_timeouts()).await;
        assert_eq!(response.text, "Gr\u{FFFD}\u{FFFD}ße, a look first.", "{protocol}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r31_arguments_that_are_no_object_are_never_made_one() {
    let deep = format!("{{\"a\":{}", "[".repeat(100_000));
    let wrong =
        ["{\"file_path\":\"a", "{\"a\":NaN}", "[1,2]", "7", "{\"a\":1} {\"b\":2}", deep.as_str()];
    for protocol in ProviderProtocol::ALL {
        for arguments in wrong {
            let case = format!("{protocol}: {}", &arguments[..arguments.len().min(20)]);
            let calls = [("call_1", "Read", arguments)];
            let events = answer_streams::answer(protocol, "Look.", &calls);
            let response = collect(protocol, ServerReply::stream(events), long_timeouts()).await;
            // Gemini's arguments are part of the server's own JSON, so the whole answer is broken.
            let is_spoilt = response.error.is_some();
            let is_refused = response
                .calls
                .iter()
                .all(|(_, _, json)| matches!(CallInput::parse(json), CallInput::Invalid(_)));
            assert!(is_spoilt || is_refused, "{case}: {response:?}");
            assert!(is_spoilt || response.calls.len() == 1, "{case}");
        }
        let twice = [("call_1", "Read", "{\"file_path\":\"a\",\"file_path\":\"b\"}")];
        let events = answer_streams::answer(protocol, "Look.", &twice);
        let response = collect(protocol, ServerReply::stream(events), long_timeouts()).await;
        let input = CallInput::parse(&response.calls[0].2);
        assert_eq!(input, CallInput::Valid(json!({"file_path": "b"})), "the last one holds");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r31_pieces_that_are_unknown_or_wrong_bring_nothing_down() {
    let deep = format!("data: {{\"a\":{}1{}}}\n\n", "[".repeat(100_000), "]".repeat(100_000));
    let ignored = [
        "event: weather\ndata: {\"type\":\"weather\",\"sunny\":true}\n\n",
        "data: {}\n\n",
        "data: {\"type\":\"\",\"candidates\":{},\"usageMetadata\":[],\"index\":\"x\"}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":99,\"delta\":7}\n\n",
        "data: {\"type\":\"response.output_item.done\",\"item\":7}\n\n",
    ];
    let wrong = [
        "data: null\n\n",
        "data: [1,2]\n\n",
        "data: \"text\"\n\n",
        "data: {\"type\":7,\"choices\":{},\"usage\":[]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":7}],\"candidates\":[{\"content\":7}]}\n\n",
    ];
    let spoiling = ["data: {\"a\":NaN}\n\n", "data: {} {}\n\n", "data: {\"cut\":\n\n"];
    for protocol in ProviderProtocol::ALL {
        let with = |odd: &str| {
            let mut events = answer_streams::answer(protocol, "Größe, a look first.", &CALL);
            events.insert(2, odd.to_owned());
            ServerReply::stream(events)
        };
        for odd in ignored {
            let case = format!("{protocol}: {odd}");
            let response = collect(protocol, with(odd), long_timeouts()).await;
            assert_whole(&response, &case);
        }
        for odd in wrong.into_iter().chain([deep.as_str()]) {
            let response = collect(protocol, with(odd), long_timeouts()).await;
            match &response.error {
                None => assert_whole(&response, protocol.name()),
                Some(error) => {
                    assert_eq!(error.recovery, ErrorRecovery::Retry, "{protocol}: {error}");
                }
            }
        }
        for odd in spoiling {
            let error = collect(protocol, with(odd), long_timeouts()).await.error();
            assert!(error.message.contains("not JSON"), "{protocol}: {error}");
            assert_eq!(error.recovery, ErrorRecovery::Retry, "{protocol}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r33_permanent_refusals_are_reported_briefly_and_not_retried() {
    let page = format!("<html><title>No\u{1b}[31m</title>{}", "<p>no".repeat(200_000));
    let long = "no \u{7}".repeat(300_000);
    for protocol in ProviderProtocol::ALL {
        for status in [400, 401, 403, 404, 413, 422] {
            for (content_type, body) in [("text/html", &page), ("text/plain", &long)] {
                let reply = ServerReply::raw(status, content_type, [body.clone()]);
                let error = collect(protocol, reply, long_timeouts()).await.error();
                let case = format!("{protocol}, {status}, {content_type}: {error}");
                let recovery = match status {
                    413 => ErrorRecovery::Compact(RequestOverflow::default()),
                    401 | 403 | 404 => ErrorRecovery::AskUser,
                    _ => ErrorRecovery::GiveUp,
                };
                assert_eq!((error.status, error.recovery), (Some(status), recovery), "{case}");
                assert!(error.message.len() < 2000, "{case}");
                assert!(!error.message.contains(char::is_control), "{case}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r33_a_refused_key_is_reported_with_where_to_set_it() {
    for protocol in ProviderProtocol::ALL {
        let error =
            collect(protocol, ServerReply::error(401, "bad key"), long_timeouts()).await.error();
        assert!(error.message.contains("`api_key`"), "{protocol}: {error}");
        let error =
            collect(protocol, ServerReply::error(404, "Not Found"), long_timeouts()).await.error();
        assert!(error.message.contains("`endpoint`"), "{protocol}: {error}");
        assert!(!error.message.contains("chat completions"), "{protocol}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r34_transient_failures_are_retried() {
    for protocol in ProviderProtocol::ALL {
        let page = || ServerReply::raw(502, "text/html", ["<html><title>Bad Gateway</title>"]);
        let mut half = answer_streams::answer(protocol, "Größe, a look first.", &[]);
        half.truncate(5);
        half.push(answer_streams::overloaded(protocol));
        let table = [
            (ServerReply::error(500, "boom"), 500),
            (page(), 502),
            (ServerReply::error(503, "busy"), 503),
            (ServerReply::error(529, "overloaded"), 529),
            (ServerReply::error(429, "slow down"), 429),
            (ServerReply::stream(half), 0),
        ];
        for (reply, status) in table {
            let error = collect(protocol, reply, long_timeouts()).await.error();
            assert_eq!(error.recovery, ErrorRecovery::Retry, "{protocol}: {error}");
            let in_midst = status == 0 && error.status.is_some_and(|status| status >= 500);
            assert!(in_midst || error.status == Some(status), "{protocol}: {error:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r37_an_unknown_host_is_reported_with_what_to_check() {
    // No host name can be this long, so no resolver is asked.
    let nowhere = format!("http://{}.invalid/v1", "a".repeat(70));
    for protocol in ProviderProtocol::ALL {
        let endpoint = HttpEndpoint::parse(&nowhere, PlainHttp::Allowed).unwrap();
        let error = ask_at(protocol, endpoint, long_timeouts()).await.error();
        assert!(error.message.contains("was not found"), "{protocol}: {error}");
        assert!(error.message.contains("`endpoint`"), "{protocol}: {error}");
        assert_eq!(error.recovery, ErrorRecovery::Retry, "the network may come back");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r37_a_host_name_that_no_certificate_can_hold_is_not_retried() {
    let nowhere = format!("https://{}.invalid/v1", "a".repeat(70));
    for protocol in ProviderProtocol::ALL {
        let endpoint = HttpEndpoint::parse(&nowhere, PlainHttp::LoopbackOnly).unwrap();
        let error = ask_at(protocol, endpoint, long_timeouts()).await.error();
        assert!(error.message.contains("is not valid"), "{protocol}: {error}");
        assert!(error.message.contains("`endpoint`"), "{protocol}: {error}");
        assert_eq!(error.recovery, ErrorRecovery::AskUser, "{protocol}");
    }
}

/// A proxy that answers each `CONNECT` request with `answer` and closes.
fn proxy(answer: &'static str) -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _head = stream.read(&mut [0; 4096]);
            let _told = stream.write_all(answer.as_bytes());
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn r36_a_proxy_that_fails_is_named_without_its_password() {
    let dead = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let wants = proxy("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n");
    let refuses = proxy("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
    let closes = proxy("");
    let (https, http) = ("https://model.invalid/v1", "http://model.invalid/v1");
    let table = [
        ("http", dead, https, ErrorRecovery::RetryBriefly),
        ("http", dead, http, ErrorRecovery::RetryBriefly),
        ("socks5h", dead, https, ErrorRecovery::RetryBriefly),
        ("http", wants, https, ErrorRecovery::AskUser),
        ("http", wants, http, ErrorRecovery::AskUser),
        ("http", refuses, https, ErrorRecovery::Retry),
        ("http", closes, https, ErrorRecovery::Retry),
        ("socks5h", closes, https, ErrorRecovery::Retry),
    ];
    for protocol in ProviderProtocol::ALL {
        for (scheme, address, server, recovery) in table {
            let proxy = ProxySelection::At(format!("{scheme}://me:CANARY@{address}").into());
            let http = Arc::new(HttpClient::with_transport(TransportConfig {
                proxy,
                ..TransportConfig::default()
            }));
            let endpoint = HttpEndpoint::parse(server, PlainHttp::Allowed).unwrap();
            let provider = connect(protocol, ConnectionConfig::new(http, endpoint, None));
            let said = request(vec![Message::user("hi")]);
            let mut events = provider.stream(said, CancellationToken::new());
            let error = events.next().await.unwrap().unwrap_err();
            let case = format!("{protocol}, {scheme}, {server}: {error:?}");
            assert_eq!(error.recovery, recovery, "{case}");
            assert!(error.message.contains(&format!("{scheme}://{address}")), "{case}");
            assert!(!case.contains("CANARY"), "{case}");
        }
    }
}

#[tokio::test]
async fn an_error_with_the_models_text_is_read_as_its_answer() {
    let refusal = |written: &str| {
        let error = json!({"message": "Failed to call a function.", "code": "tool_use_failed",
            "type": "invalid_request_error", "failed_generation": written});
        ServerReply::json(400, &json!({ "error": error }))
    };
    let call = refusal(r#"{"name": "Read", "arguments": {"file_path": "a"}}"#);
    let response = collect(ProviderProtocol::ChatCompletions, call, long_timeouts()).await;
    assert_eq!(response.error, None);
    let calls: Vec<_> = response.calls.iter().map(|(_, name, json)| (&**name, &**json)).collect();
    assert_eq!(calls, [("Read", r#"{"file_path":"a"}"#)]);
    assert_eq!(response.finished, Some(StopReason::ToolUse));

    let error =
        collect(ProviderProtocol::ChatCompletions, refusal("maybe"), long_timeouts()).await.error();
    assert_eq!(error.recovery, ErrorRecovery::Retry);
    assert!(error.message.contains("test-model wrote a tool call"), "{error}");
}
