//! Streams of each kind: whole, cut and broken.

use proptest::prelude::*;

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
    let taken = HashSet::from([CallId::new("taken")]);
    testing::decode_chunks(chunks, ResponsesDecoder::new(taken))
}

fn event(kind: &str, place: u64, more: &Value) -> Value {
    let mut event = json!({"type": format!("response.{kind}"), "output_index": place});
    let fields = event.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    event
}

fn added(place: u64, item: &Value) -> Value {
    event("output_item.added", place, &json!({"item": item}))
}

fn done(place: u64, item: &Value) -> Value {
    event("output_item.done", place, &json!({"item": item}))
}

fn delta(kind: &str, place: u64, delta: &str) -> Value {
    event(&format!("{kind}.delta"), place, &json!({"delta": delta}))
}

fn completed() -> Value {
    json!({"type": "response.completed", "response": {"status": "completed", "output": [],
        "usage": {"input_tokens": 20, "output_tokens": 9,
            "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 2}}}})
}

fn call(arguments: &str) -> Value {
    json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "Read",
        "arguments": arguments})
}

fn reasoning() -> Value {
    json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": "c2VhbA=="})
}

fn message(text: &str) -> Value {
    json!({"type": "message", "id": "msg_1", "phase": "commentary",
        "content": [{"type": "output_text", "text": text}]})
}

/// Reasoning in two parts, a message and two calls, of which the second has an id of the history.
fn everything() -> Vec<Value> {
    vec![
        json!({"type": "response.created", "response": {"status": "in_progress"}}),
        added(0, &json!({"type": "reasoning", "id": "rs_1", "summary": []})),
        event("reasoning_summary_part.added", 0, &json!({"summary_index": 0})),
        delta("reasoning_summary_text", 0, "h"),
        event("reasoning_summary_part.added", 0, &json!({"summary_index": 1})),
        delta("reasoning_summary_text", 0, "m"),
        done(0, &reasoning()),
        added(1, &message("")),
        delta("output_text", 1, "Let me "),
        delta("output_text", 1, "look."),
        json!({"type": "response.news", "output_index": 1}),
        done(1, &message("Let me look.")),
        added(2, &call("")),
        delta("function_call_arguments", 2, "{\"file_path\":"),
        delta("function_call_arguments", 2, "\"a\"}"),
        done(2, &call("{\"file_path\":\"a\"}")),
        done(
            3,
            &json!({"type": "function_call", "call_id": "taken", "name": "Glob",
            "arguments": "{}"}),
        ),
        completed(),
    ]
}

fn sealed(data: Value) -> StreamEvent {
    StreamEvent::Sealed { protocol: ProviderProtocol::Responses, data }
}

fn started(index: usize, id: &str, name: &str) -> StreamEvent {
    StreamEvent::ToolUseStarted { index, id: CallId::new(id), name: name.into() }
}

fn input(index: usize, json: &str) -> StreamEvent {
    StreamEvent::ToolInputDelta { index, json: json.into() }
}

fn usage() -> StreamEvent {
    StreamEvent::Usage(TokenUsage { input: 20, output: 9, cache_read: 8, cache_write: 2 })
}

#[test]
fn a_response_is_read_item_by_item() {
    let (events, error) = events_of(&[sse(&everything()).as_bytes()]);
    assert_eq!(error, None);
    assert_eq!(
        events,
        [
            StreamEvent::Thinking("h".into()),
            StreamEvent::Thinking("\n\n".into()),
            StreamEvent::Thinking("m".into()),
            sealed(reasoning()),
            sealed(json!({"id": "msg_1", "phase": "commentary"})),
            StreamEvent::Text("Let me ".into()),
            StreamEvent::Text("look.".into()),
            started(0, "call_1", "Read"),
            input(0, "{\"file_path\":"),
            input(0, "\"a\"}"),
            started(1, "own", "Glob"),
            input(1, "{}"),
            usage(),
            StreamEvent::Finished(StopReason::ToolUse),
        ]
    );
}

#[test]
fn content_that_did_not_stream_is_read_from_the_end_event() {
    let whole =
        [done(0, &reasoning()), done(1, &message("Hi.")), done(2, &call("{}")), completed()];
    let expected = [
        StreamEvent::Thinking("hm".into()),
        sealed(reasoning()),
        StreamEvent::Text("Hi.".into()),
        started(0, "call_1", "Read"),
        input(0, "{}"),
        usage(),
        StreamEvent::Finished(StopReason::ToolUse),
    ];
    assert_eq!(events_of(&[sse(&whole).as_bytes()]).0, expected);
}

#[test]
fn items_without_a_place_are_known_by_their_id() {
    let strip = |mut event: Value| {
        event.as_object_mut().unwrap().remove("output_index");
        event
    };
    let argument =
        event("function_call_arguments.delta", 0, &json!({"item_id": "fc_1", "delta": "{}"}));
    let events = [added(0, &call("")), argument, done(0, &call("{}")), completed()].map(strip);
    let (events, _) = events_of(&[sse(&events).as_bytes()]);
    assert_eq!(events[..2], [started(0, "call_1", "Read"), input(0, "{}")]);
    assert_eq!(events[2], usage());
}

#[test]
fn reasoning_that_only_its_server_could_find_again_is_not_kept() {
    let open = json!({"type": "reasoning", "id": "rs_1", "content":
        [{"type": "reasoning_text", "text": "hm"}]});
    let (events, _) = events_of(&[sse(&[done(0, &open), completed()]).as_bytes()]);
    assert_eq!(events[..2], [StreamEvent::Thinking("hm".into()), usage()]);
}

#[test]
fn every_end_has_a_meaning() {
    let incomplete = |reason: &str| {
        json!({"type": "response.incomplete", "response": {"status": "incomplete",
            "incomplete_details": {"reason": reason}}})
    };
    let refusal = json!({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]});
    let table = [
        (vec![completed()], StopReason::EndTurn),
        (vec![done(0, &call("{}")), completed()], StopReason::ToolUse),
        (vec![incomplete("max_output_tokens")], StopReason::MaxTokens),
        (vec![done(0, &call("{")), incomplete("max_output_tokens")], StopReason::MaxTokens),
        (vec![incomplete("content_filter")], StopReason::Refusal),
        (vec![delta("refusal", 0, "No."), completed()], StopReason::Refusal),
        (vec![done(0, &refusal), completed()], StopReason::Refusal),
    ];
    for (events, reason) in table {
        let (decoded, error) = events_of(&[sse(&events).as_bytes()]);
        assert_eq!(error, None, "{events:?}");
        assert_eq!(decoded.last(), Some(&StreamEvent::Finished(reason)), "{events:?}");
    }
}

#[test]
fn errors_come_in_every_shape() {
    let inner = json!({"code": "server_error", "message": "It broke"});
    let table = [
        (json!({"type": "error", "error": inner}), ErrorRecovery::Retry, "It broke"),
        (
            json!({"type": "error", "code": "server_error", "message": "It broke"}),
            ErrorRecovery::Retry,
            "It broke",
        ),
        (json!({"error": inner}), ErrorRecovery::Retry, "It broke"),
        (
            json!({"type": "response.failed", "response": {"status": "failed", "error": inner}}),
            ErrorRecovery::Retry,
            "It broke",
        ),
        (
            json!({"type": "response.failed", "response": {"status": "failed", "error":
            {"code": "insufficient_quota", "message": "You exceeded your current quota."}}}),
            ErrorRecovery::AskUser,
            "credit",
        ),
        (json!({"type": "response.created"}), ErrorRecovery::Retry, "before it was complete"),
    ];
    for (event, recovery, says) in table {
        for body in [sse(std::slice::from_ref(&event)), format!("data: {event}\n\n")] {
            let (_, error) = events_of(&[body.as_bytes()]);
            let error = error.unwrap();
            assert!(error.message.contains(says), "{error}");
            assert_eq!(error.recovery, recovery, "{error}");
        }
    }
    let whole = json!({"error": inner}).to_string();
    assert_eq!(events_of(&[whole.as_bytes()]).1.unwrap().recovery, ErrorRecovery::Retry);
    assert!(events_of(&[b"data: {\n\n"]).1.unwrap().message.contains("not JSON"));
}

#[test]
fn an_answer_may_come_in_one_piece() {
    let body = json!({"object": "response", "status": "completed",
        "output": [message("hi")], "usage": {"input_tokens": 3, "output_tokens": 1}});
    let expected = [
        sealed(json!({"phase": "commentary"})),
        StreamEvent::Text("hi".into()),
        StreamEvent::Usage(TokenUsage { input: 3, output: 1, cache_read: 0, cache_write: 0 }),
        StreamEvent::Finished(StopReason::EndTurn),
    ];
    assert_eq!(events_of(&[body.to_string().as_bytes()]), (expected.to_vec(), None));
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
