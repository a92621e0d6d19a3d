//! Streams of each kind: whole, cut and broken.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::providers::ErrorRecovery;
use crate::providers::reader::testing::{self, DecodedEvents};

fn sse(events: &[Value]) -> String {
    let line = |event: &Value| {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
    };
    events.iter().map(line).collect()
}

fn events_of(chunks: &[&[u8]]) -> DecodedEvents {
    testing::decode_chunks(chunks, AnthropicDecoder::default())
}

fn start(number: u64, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": number, "content_block": block})
}

fn delta(number: u64, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": number, "delta": delta})
}

fn stop(number: u64) -> Value {
    json!({"type": "content_block_stop", "index": number})
}

/// Thinking, redacted thinking, text and two calls, one of them without arguments.
fn everything() -> Vec<Value> {
    vec![
        json!({"type": "message_start", "message": {"usage": {
            "input_tokens": 5, "cache_creation_input_tokens": 7, "cache_read_input_tokens": 11,
            "output_tokens": 1}}}),
        json!({"type": "ping"}),
        start(0, &json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, &json!({"type": "thinking_delta", "thinking": "hm"})),
        delta(0, &json!({"type": "signature_delta", "signature": "c2Vh"})),
        delta(0, &json!({"type": "signature_delta", "signature": "bA=="})),
        stop(0),
        start(1, &json!({"type": "redacted_thinking", "data": "xyz"})),
        stop(1),
        start(2, &json!({"type": "text", "text": ""})),
        delta(2, &json!({"type": "text_delta", "text": "Let me look."})),
        json!({"type": "news", "index": 2}),
        stop(2),
        start(3, &json!({"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}})),
        delta(3, &json!({"type": "input_json_delta", "partial_json": ""})),
        delta(3, &json!({"type": "input_json_delta", "partial_json": "{\"file_path\":"})),
        delta(3, &json!({"type": "input_json_delta", "partial_json": "\"a\"}"})),
        stop(3),
        start(4, &json!({"type": "tool_use", "id": "toolu_2", "name": "Glob"})),
        delta(4, &json!({"type": "input_json_delta", "partial_json": ""})),
        stop(4),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": 20}}),
        json!({"type": "message_stop"}),
    ]
}

fn joined(events: Vec<StreamEvent>) -> Vec<StreamEvent> {
    let mut joined: Vec<StreamEvent> = Vec::new();
    for event in events {
        match (joined.last_mut(), event) {
            (Some(StreamEvent::Usage(last)), StreamEvent::Usage(usage)) => *last = usage,
            (_, event) => joined.push(event),
        }
    }
    joined
}

#[test]
fn a_response_is_read_block_by_block() {
    let (events, error) = events_of(&[sse(&everything()).as_bytes()]);
    assert_eq!(error, None);
    let usage = |output| TokenUsage { input: 23, output, cache_read: 11, cache_write: 7 };
    let started = |index, id: &str, name: &str| StreamEvent::ToolUseStarted {
        index,
        id: CallId::new(id),
        name: name.into(),
    };
    let input = |json: &str| StreamEvent::ToolInputDelta { index: 0, json: json.into() };
    let sealed = json!({"type": "redacted_thinking", "data": "xyz"});
    assert_eq!(
        joined(events),
        [
            StreamEvent::Usage(usage(1)),
            StreamEvent::Thinking("hm".into()),
            StreamEvent::Signature("c2VhbA==".into()),
            StreamEvent::Sealed { protocol: ProviderProtocol::Anthropic, data: sealed },
            StreamEvent::Text("Let me look.".into()),
            started(0, "toolu_1", "Read"),
            input("{\"file_path\":"),
            input("\"a\"}"),
            started(1, "toolu_2", "Glob"),
            StreamEvent::Usage(usage(20)),
            StreamEvent::Finished(StopReason::ToolUse),
        ]
    );
}

#[test]
fn each_stop_reason_is_known() {
    let table = [
        ("end_turn", StopReason::EndTurn),
        ("stop_sequence", StopReason::EndTurn),
        ("max_tokens", StopReason::MaxTokens),
        ("model_context_window_exceeded", StopReason::MaxTokens),
        ("pause_turn", StopReason::Paused),
        ("refusal", StopReason::Refusal),
        ("something_new", StopReason::EndTurn),
    ];
    for (word, reason) in table {
        let ended = json!({"type": "message_delta", "delta": {"stop_reason": word}});
        let (events, error) = events_of(&[sse(&[ended]).as_bytes()]);
        assert_eq!((events, error), (vec![StreamEvent::Finished(reason)], None), "{word}");
    }
}

#[test]
fn arguments_that_break_off_mean_the_limit_was_reached() {
    let events = [
        start(0, &json!({"type": "tool_use", "id": "t", "name": "Read", "input": {}})),
        delta(0, &json!({"type": "input_json_delta", "partial_json": "{\"file"})),
        stop(0),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
    ];
    let (events, _) = events_of(&[sse(&events).as_bytes()]);
    assert_eq!(events.last(), Some(&StreamEvent::Finished(StopReason::MaxTokens)));
}

#[test]
fn whole_arguments_may_come_with_the_start() {
    let events = [
        start(0, &json!({"type": "tool_use", "id": "t", "name": "Read", "input": {"a": 1}})),
        stop(0),
        json!({"type": "message_stop"}),
    ];
    let (events, _) = events_of(&[sse(&events).as_bytes()]);
    assert_eq!(events[1], StreamEvent::ToolInputDelta { index: 0, json: "{\"a\":1}".into() });
}

#[test]
fn blocks_of_the_servers_own_tools_are_kept_whole() {
    let search = json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}});
    let events = [
        start(0, &search),
        delta(0, &json!({"type": "input_json_delta", "partial_json": "{\"q\":\"x\"}"})),
        stop(0),
        json!({"type": "message_delta", "delta": {"stop_reason": "pause_turn"}}),
        json!({"type": "message_stop"}),
    ];
    let (events, _) = events_of(&[sse(&events).as_bytes()]);
    let kept = json!(
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": "x"}});
    assert_eq!(
        events,
        [
            StreamEvent::Sealed { protocol: ProviderProtocol::Anthropic, data: kept },
            StreamEvent::Finished(StopReason::Paused),
        ]
    );
}

#[test]
fn errors_come_in_every_shape() {
    let overloaded = json!({"type": "error", "error":
        {"type": "overloaded_error", "message": "Overloaded"}});
    let table = [
        (sse(std::slice::from_ref(&overloaded)), ErrorRecovery::Retry, "Overloaded"),
        (overloaded.to_string(), ErrorRecovery::Retry, "Overloaded"),
        (
            "data: {\"error\":{\"code\":500,\"message\":\"it broke\"}}\n\n".to_owned(),
            ErrorRecovery::Retry,
            "it broke",
        ),
        (sse(&[json!({"type": "ping"})]), ErrorRecovery::Retry, "before it was complete"),
        ("data: {\n\n".to_owned(), ErrorRecovery::Retry, "not JSON"),
        ("data: [DONE]\n\n".to_owned(), ErrorRecovery::Retry, "before it was complete"),
    ];
    for (body, recovery, says) in table {
        let (_, error) = events_of(&[body.as_bytes()]);
        let error = error.unwrap();
        assert!(error.message.contains(says), "{error}");
        assert_eq!(error.recovery, recovery, "{error}");
    }
}

#[test]
fn a_gateways_done_ends_a_complete_answer() {
    let ended = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}});
    let body = sse(&[ended]) + "event: data\ndata: [DONE]\n\n";
    assert_eq!(events_of(&[body.as_bytes()]).0, [StreamEvent::Finished(StopReason::EndTurn)]);
}

#[test]
fn an_answer_may_come_in_one_piece() {
    let body = json!({"type": "message", "content": [{"type": "text", "text": "hi"}],
        "stop_reason": "end_turn", "usage": {"input_tokens": 3, "output_tokens": 1}});
    let (events, error) = events_of(&[body.to_string().as_bytes()]);
    assert_eq!(error, None);
    assert_eq!(events[1], StreamEvent::Text("hi".into()));
    assert_eq!(events[2], StreamEvent::Finished(StopReason::EndTurn));
}

proptest! {
    #[test]
    fn any_split_gives_the_same_events(
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let bytes = sse(&everything()).into_bytes();
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let chunks: Vec<&[u8]> = at.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
        prop_assert_eq!(events_of(&chunks), events_of(&[&bytes]));
    }
}

#[test]
fn what_is_kept_until_a_block_ends_is_limited() {
    let error = |first: &Value, pieces: Box<dyn Iterator<Item = Value> + Send>| {
        testing::error_of_endless(first, pieces, AnthropicDecoder::default())
    };
    let thinking = start(0, &json!({"type": "thinking", "thinking": "", "signature": ""}));
    let long = || "s".repeat(1 << 20);
    let signature = move |_| delta(0, &json!({"type": "signature_delta", "signature": long()}));
    assert_eq!(error(&thinking, Box::new((0..15).map(signature))), None);
    let end = error(&thinking, Box::new((0..17).map(signature))).unwrap();
    assert!(end.contains("more than 16 MB"), "{end}");

    let block = move |number| {
        start(number, &json!({"type": "web_search_tool_result", "content": [{"text": long()}]}))
    };
    let end = error(&json!({"type": "ping"}), Box::new((0..17).map(block))).unwrap();
    assert!(end.contains("more than 16 MB"), "{end}");
    let small = |number| start(number, &json!({"type": "x", "content": vec![json!({}); 1000]}));
    let end = error(&json!({"type": "ping"}), Box::new((0..600).map(small))).unwrap();
    assert!(end.contains("too many parts"), "{end}");
}
