//! Streams of each kind: whole, cut and broken.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::domain::ProviderProtocol;
use crate::providers::reader::testing::{self, DecodedEvents};

fn sse(pieces: &[Value]) -> String {
    pieces.iter().map(|piece| format!("data: {piece}\r\n\r\n")).collect()
}

fn events_of(chunks: &[&[u8]]) -> DecodedEvents {
    let taken = HashSet::from([CallId::new("taken")]);
    testing::decode_chunks(chunks, GeminiDecoder::new(taken))
}

fn parts(parts: &Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}}]})
}

fn stop(word: &str) -> Value {
    json!({"candidates": [{"content": {}, "finishReason": word}]})
}

fn sealed(data: Value) -> StreamEvent {
    StreamEvent::Sealed { protocol: ProviderProtocol::Gemini, data }
}

fn text(content: &str) -> StreamEvent {
    StreamEvent::Text(content.into())
}

fn started(index: usize, id: &str, name: &str) -> StreamEvent {
    StreamEvent::ToolUseStarted { index, id: CallId::new(id), name: name.into() }
}

fn input(index: usize, json: &str) -> StreamEvent {
    StreamEvent::ToolInputDelta { index, json: json.into() }
}

/// Thinking, text with and without a signature, a part of an unknown kind, and three calls.
fn everything() -> Vec<Value> {
    vec![
        parts(&json!([{"text": "hm", "thought": true}])),
        parts(&json!([{"text": "Let me "}, {"text": "look", "thoughtSignature": "s1"}])),
        parts(&json!([{"text": "."}, {"executableCode": {"code": "1"}, "thoughtSignature": "s2"}])),
        parts(&json!([
            {"functionCall": {"name": "Read", "args": {"file_path": "a"}}, "thoughtSignature": "s3"},
            {"functionCall": {"name": "Glob", "id": "given"}},
            {"functionCall": {"name": "Glob", "id": "taken", "args": {}}},
        ])),
        json!({
            "candidates": [{
                "content": {"parts": [{"text": "", "thoughtSignature": "s4"}]},
                "finishReason": "STOP",
            }],
            "usageMetadata": {"promptTokenCount": 20, "cachedContentTokenCount": 8,
                "candidatesTokenCount": 5, "thoughtsTokenCount": 7, "totalTokenCount": 32},
        }),
    ]
}

#[test]
fn a_response_is_read_part_by_part() {
    let (events, error) = events_of(&[sse(&everything()).as_bytes()]);
    assert_eq!(error, None);
    assert_eq!(
        events,
        [
            StreamEvent::Thinking("hm".into()),
            text("Let me "),
            sealed(json!({"thoughtSignature": "s1"})),
            text("look"),
            sealed(json!({})),
            text("."),
            sealed(json!(
                {"part": {"executableCode": {"code": "1"}, "thoughtSignature": "s2"}})),
            sealed(json!({"thoughtSignature": "s3"})),
            started(0, "own", "Read"),
            input(0, "{\"file_path\":\"a\"}"),
            sealed(json!({"id": "given"})),
            started(1, "given", "Glob"),
            sealed(json!({"id": "taken"})),
            started(2, "own", "Glob"),
            input(2, "{}"),
            sealed(json!({"part": {"text": "", "thoughtSignature": "s4"}})),
            StreamEvent::Usage(TokenUsage { input: 20, output: 12, cache_read: 8, cache_write: 0 }),
            StreamEvent::Finished(StopReason::ToolUse),
        ]
    );
}

#[test]
fn a_signature_without_a_part_stands_alone() {
    let bare = json!({"part": {"text": "", "thoughtSignature": "s"}});
    for (part, seen) in [
        (json!({"thoughtSignature": "s"}), vec![sealed(bare.clone())]),
        (
            json!({"text": "hm", "thought": true, "thoughtSignature": "s"}),
            vec![StreamEvent::Thinking("hm".into()), sealed(bare)],
        ),
        (
            json!({"text": "\n", "thoughtSignature": "s"}),
            vec![sealed(json!({"part": {"text": "\n", "thoughtSignature": "s"}}))],
        ),
    ] {
        let (mut events, _) = events_of(&[sse(&[parts(&json!([part])), stop("STOP")]).as_bytes()]);
        assert_eq!(events.pop(), Some(StreamEvent::Finished(StopReason::EndTurn)));
        assert_eq!(events, seen, "{part}");
    }
}

#[test]
fn every_finish_reason_has_a_meaning() {
    let text_chunk = parts(&json!([{"text": "a"}]));
    let call = parts(&json!([{"functionCall": {"name": "Read"}}]));
    let table = [
        ("STOP", &text_chunk, StopReason::EndTurn),
        ("STOP", &call, StopReason::ToolUse),
        ("MAX_TOKENS", &text_chunk, StopReason::MaxTokens),
        ("MAX_TOKENS", &call, StopReason::MaxTokens),
        ("SAFETY", &text_chunk, StopReason::Refusal),
        ("SAFETY", &call, StopReason::Refusal),
        ("RECITATION", &text_chunk, StopReason::Refusal),
        ("IMAGE_SAFETY", &text_chunk, StopReason::Refusal),
        ("OTHER", &text_chunk, StopReason::EndTurn),
        ("A_NEW_ONE", &call, StopReason::ToolUse),
        ("UNEXPECTED_TOOL_CALL", &call, StopReason::ToolUse),
    ];
    for (word, first, reason) in table {
        let (events, error) = events_of(&[sse(&[first.clone(), stop(word)]).as_bytes()]);
        assert_eq!(error, None, "{word}");
        assert_eq!(events.last(), Some(&StreamEvent::Finished(reason)), "{word}");
    }
}

#[test]
fn a_request_that_is_blocked_is_refused() {
    let blocked = json!({"promptFeedback": {"blockReason": "MODEL_ARMOR"}});
    let refused = [StreamEvent::Finished(StopReason::Refusal)];
    assert_eq!(events_of(&[sse(std::slice::from_ref(&blocked)).as_bytes()]).0, refused);
    assert_eq!(events_of(&[blocked.to_string().as_bytes()]).0, refused);
}

#[test]
fn counts_that_come_in_parts_are_put_together() {
    let pieces = [
        json!({"usageMetadata": {"trafficType": "ON_DEMAND"}}),
        json!({"usageMetadata": {"promptTokenCount": 9, "thoughtsTokenCount": 3}}),
        json!({"usageMetadata": {"candidatesTokenCount": 4, "toolUsePromptTokenCount": 2}}),
        stop("STOP"),
    ];
    let (events, _) = events_of(&[sse(&pieces).as_bytes()]);
    let usage = |input, output| {
        StreamEvent::Usage(TokenUsage { input, output, cache_read: 0, cache_write: 0 })
    };
    assert_eq!(events, [usage(9, 3), usage(11, 7), StreamEvent::Finished(StopReason::EndTurn)]);
}

#[test]
fn errors_come_in_every_shape() {
    let overloaded = json!({"error": {"code": 503, "message": "The model is overloaded.",
        "status": "UNAVAILABLE"}});
    let table = [
        (sse(std::slice::from_ref(&overloaded)), ErrorRecovery::Retry, "overloaded"),
        (overloaded.to_string(), ErrorRecovery::Retry, "overloaded"),
        (json!([overloaded]).to_string(), ErrorRecovery::Retry, "overloaded"),
        (format!("event: error\n{}", sse(&[overloaded])), ErrorRecovery::Retry, "overloaded"),
        (sse(&[stop("MALFORMED_FUNCTION_CALL")]), ErrorRecovery::Retry, "malformed function call"),
        (sse(&[parts(&json!([{"text": "a"}]))]), ErrorRecovery::Retry, "before it was complete"),
        (
            parts(&json!([{"text": "a"}])).to_string(),
            ErrorRecovery::Retry,
            "before it was complete",
        ),
        ("data: {\n\n".to_owned(), ErrorRecovery::Retry, "not JSON"),
        ("<html><title>Sign in</title></html>".to_owned(), ErrorRecovery::AskUser, "Sign in"),
    ];
    for (body, recovery, says) in table {
        let (_, error) = events_of(&[body.as_bytes()]);
        let error = error.unwrap();
        assert!(error.message.contains(says), "{error}");
        assert_eq!(error.recovery, recovery, "{error}");
    }
}

#[test]
fn an_answer_may_come_in_one_piece() {
    let chunk = json!({"candidates": [{"content": {"parts": [{"text": "hi"}]},
        "finishReason": "STOP"}]});
    let whole = [text("hi"), StreamEvent::Finished(StopReason::EndTurn)];
    assert_eq!(events_of(&[chunk.to_string().as_bytes()]).0, whole);
    assert_eq!(events_of(&[json!([chunk]).to_string().as_bytes()]).0, whole);
}

#[test]
fn arguments_in_pieces_are_put_together() {
    let call = |call: Value| parts(&json!([{ "functionCall": call }]));
    let piece = |text: &str, ends: bool| {
        let piece = json!({"jsonPath": "$.path", "stringValue": text, "willContinue": !ends});
        call(json!({"partialArgs": [piece], "willContinue": true}))
    };
    let begun = call(json!({"name": "Read", "willContinue": true}));
    let pieces = [begun.clone(), piece("a.", false), piece("rs", true), call(json!({}))];
    let whole = call(json!({"name": "Glob", "args": {"pattern": "*"}}));
    let body = sse(&[&pieces[..], &[whole, begun.clone(), call(json!({})), stop("STOP")]].concat());
    let (events, error) = events_of(&[body.as_bytes()]);
    assert_eq!(error, None);
    assert_eq!(
        events,
        [
            started(0, "own", "Read"),
            input(0, r#"{"path":"a.rs"}"#),
            started(1, "own", "Glob"),
            input(1, r#"{"pattern":"*"}"#),
            started(2, "own", "Read"),
            StreamEvent::Finished(StopReason::ToolUse),
        ]
    );
    let cut = sse(&[begun, piece("a.", false), stop("STOP")]);
    let (events, _) = events_of(&[cut.as_bytes()]);
    let end = [started(0, "own", "Read"), StreamEvent::Finished(StopReason::MaxTokens)];
    assert_eq!(events, end, "a call that breaks off is not made");
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
