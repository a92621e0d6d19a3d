//! Answers in every shape that servers send.

use serde_json::{Value, json};

use super::*;
use crate::domain::TokenUsage;
use crate::providers::chat::dialect;
use crate::providers::reader::testing;
use crate::providers::{ErrorRecovery, PrefillProgress, RequestOverflow};

/// The events of a response, combined.
#[derive(Debug, Default, PartialEq)]
struct DecodedChat {
    text: String,
    thinking: String,
    sealed: Option<Value>,
    /// Each as "name arguments".
    calls: Vec<String>,
    usage: Option<TokenUsage>,
    prefill: Vec<PrefillProgress>,
    finished: Option<StopReason>,
    error: Option<ProviderError>,
}

fn decode_body(body: &str) -> DecodedChat {
    decode_with(body, ChatRequestContext::default())
}

fn decode_with(body: &str, context: ChatRequestContext) -> DecodedChat {
    let (events, error) = testing::decode_chunks(&[body.as_bytes()], ChatDecoder::new(context));
    let mut decoded = DecodedChat { error, ..DecodedChat::default() };
    for event in events {
        match event {
            StreamEvent::Text(text) => decoded.text += &text,
            StreamEvent::Thinking(text) => decoded.thinking += &text,
            StreamEvent::ToolUseStarted { name, .. } => decoded.calls.push(format!("{name} ")),
            StreamEvent::ToolInputDelta { index, json } => decoded.calls[index] += &json,
            StreamEvent::Usage(usage) => decoded.usage = Some(usage),
            StreamEvent::Prefill(prefill) => decoded.prefill.push(prefill),
            StreamEvent::Finished(reason) => decoded.finished = Some(reason),
            StreamEvent::Sealed { protocol: ProviderProtocol::ChatCompletions, data } => {
                decoded.sealed = Some(data);
            }
            other => panic!("{other:?}"),
        }
    }
    decoded
}

fn sse(payloads: &[Value]) -> String {
    payloads.iter().map(|payload| format!("data: {payload}\n\n")).collect()
}

fn delta(delta: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn usage_chunk() -> Value {
    json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}})
}

#[test]
fn an_answer_as_the_protocol_has_it() {
    let mut body = sse(&[
        delta(&json!({"role": "assistant", "content": ""})),
        delta(&json!({"content": "Hel"})),
        delta(&json!({"content": "lo"})),
        finish("stop"),
        usage_chunk(),
    ]);
    body.push_str("data: [DONE]\n\n");
    let decoded = decode_body(&body);
    assert_eq!(decoded.text, "Hello");
    assert_eq!(
        decoded.usage,
        Some(TokenUsage { input: 10, output: 2, cache_read: 0, ..TokenUsage::default() })
    );
    assert_eq!(decoded.finished, Some(StopReason::EndTurn));
    assert_eq!(decoded.error, None);
}

#[test]
fn reasoning_is_read_from_every_field_and_shown_once() {
    let table = [
        json!({"reasoning_content": "hm"}),
        json!({"reasoning": "hm"}),
        json!({"reasoning": "hm", "reasoning_content": "hm", "content": ""}),
        json!({"reasoning_content": "", "reasoning": "hm"}),
        json!({"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}),
        json!({"reasoning_details": [{"type": "reasoning.summary", "summary": "hm"},
                                     {"type": "reasoning.encrypted", "data": "xx"}]}),
        json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}),
        json!({"content": "<think>hm</think>"}),
    ];
    for thought in table {
        let body = sse(&[delta(&thought), delta(&json!({"content": "yes"})), finish("stop")]);
        let decoded = decode_body(&body);
        assert_eq!((decoded.thinking.as_str(), decoded.text.as_str()), ("hm", "yes"), "{thought}");
    }
}

#[test]
fn tags_in_the_text_are_text_where_reasoning_is_reported() {
    let body = sse(&[
        delta(&json!({"reasoning": "hm"})),
        delta(&json!({"content": "<think>is a tag"})),
        finish("stop"),
    ]);
    assert_eq!(decode_body(&body).text, "<think>is a tag");
}

#[test]
fn finish_reasons_are_read_together_with_what_came() {
    let call = |arguments: &str| {
        delta(&json!({"tool_calls": [{"index": 0, "id": "a",
                      "function": {"name": "Read", "arguments": arguments}}]}))
    };
    let text_chunk = delta(&json!({"content": "x"}));
    let table = [
        (vec![text_chunk.clone(), finish("stop")], StopReason::EndTurn),
        (vec![text_chunk.clone(), finish("eos")], StopReason::EndTurn),
        (vec![text_chunk.clone(), finish("length")], StopReason::MaxTokens),
        (vec![text_chunk, finish("content_filter")], StopReason::Refusal),
        (vec![delta(&json!({"refusal": "No."})), finish("stop")], StopReason::Refusal),
        (vec![call("{}"), finish("tool_calls")], StopReason::ToolUse),
        (vec![call("{}"), finish("stop")], StopReason::ToolUse),
        (vec![call("{}"), finish("length")], StopReason::MaxTokens),
        (vec![call("{\"a\":"), finish("tool_calls")], StopReason::MaxTokens),
        (vec![call("{nope}"), finish("tool_calls")], StopReason::ToolUse),
    ];
    for (chunks, reason) in table {
        assert_eq!(decode_body(&sse(&chunks)).finished, Some(reason), "{chunks:?}");
    }
}

#[test]
fn a_repeated_finish_makes_no_second_call() {
    let call = json!({"tool_calls": [{"index": 0, "id": "a",
                      "function": {"name": "Read", "arguments": "{}"}}]});
    let decoded = decode_body(&sse(&[delta(&call), finish("tool_calls"), finish("tool_calls")]));
    assert_eq!(decoded.calls, ["Read {}"]);
}

#[test]
fn calls_of_older_servers_are_read() {
    let body = sse(&[
        delta(&json!({"function_call": {"name": "Read", "arguments": "{"}})),
        delta(&json!({"function_call": {"arguments": "}"}})),
        finish("function_call"),
    ]);
    assert_eq!(decode_body(&body).calls, ["Read {}"]);
}

#[test]
fn an_answer_ends_only_at_a_sign_of_its_end() {
    let text_chunk = delta(&json!({"content": "x"}));
    let done = format!("{}data: [DONE]\n\n", sse(std::slice::from_ref(&text_chunk)));
    assert_eq!(decode_body(&done).finished, Some(StopReason::EndTurn));
    let with_usage = sse(&[text_chunk.clone(), usage_chunk()]);
    assert_eq!(decode_body(&with_usage).finished, Some(StopReason::EndTurn));
    let mut cumulative = text_chunk.clone();
    cumulative["usage"] = usage_chunk()["usage"].clone();
    for cut in [sse(&[text_chunk]), sse(&[cumulative]), String::new()] {
        let decoded = decode_body(&cut);
        assert_eq!(decoded.finished, None, "{cut}");
        assert_eq!(decoded.error.map(|error| error.recovery), Some(ErrorRecovery::Retry), "{cut}");
    }
}

#[test]
fn errors_are_found_wherever_they_come() {
    let text_chunk = sse(&[delta(&json!({"content": "x"}))]);
    let table = [
        format!("{text_chunk}data: {{\"error\":{{\"message\":\"boom\"}}}}\n\ndata: [DONE]\n\n"),
        format!("{text_chunk}event: error\ndata: {{\"error\":{{\"message\":\"boom\"}}}}\n\n"),
        format!("{text_chunk}error: {{\"message\":\"boom\"}}\n\n"),
        format!("{text_chunk}data: {{\"object\":\"error\",\"message\":\"boom\"}}\n\n"),
        format!(
            "{text_chunk}{}data: {{\"error\":\"boom\",\"choices\":[]}}\n\n",
            sse(&[finish("length")])
        ),
    ];
    for body in table {
        let decoded = decode_body(&body);
        assert_eq!(decoded.text, "x", "{body}");
        let error = decoded.error.unwrap();
        assert!(error.message.contains("boom"), "{error}");
    }
}

#[test]
fn an_answer_without_a_stream_is_recognised_by_its_content() {
    let decoded = decode_body(r#" {"error":{"message":"prompt is too long"}}"#);
    assert_eq!(decoded.error.unwrap().recovery, ErrorRecovery::Compact(RequestOverflow::default()));

    let page = decode_body("<!DOCTYPE html><html><title>Log in</title></html>").error.unwrap();
    assert!(page.message.contains("Log in"), "{page}");

    let whole = json!({
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "Hello", "reasoning_content": "hm",
            "tool_calls": [{"id": "a", "function": {"name": "Read", "arguments": "{}"}}],
        }}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    });
    let decoded = decode_body(&format!("\u{FEFF}{whole}"));
    assert_eq!((decoded.text.as_str(), decoded.thinking.as_str()), ("Hello", "hm"));
    assert_eq!(decoded.calls, ["Read {}"]);
    assert_eq!(decoded.finished, Some(StopReason::ToolUse));
    assert!(decode_body("{}").error.is_some());
}

#[test]
fn a_whole_message_beside_the_deltas_is_not_repeated() {
    let mut chunk = delta(&json!({"content": "x"}));
    chunk["choices"][0]["message"] = json!({"content": "x so far"});
    assert_eq!(decode_body(&sse(&[chunk, finish("stop")])).text, "x");
}

#[test]
fn only_the_first_choice_counts() {
    let other =
        json!({"choices": [{"index": 1, "delta": {"content": "y"}, "finish_reason": "stop"}]});
    let decoded = decode_body(&sse(&[delta(&json!({"content": "x"})), other, finish("length")]));
    assert_eq!((decoded.text.as_str(), decoded.finished), ("x", Some(StopReason::MaxTokens)));
}

#[test]
fn usage_of_groq_is_found_in_its_own_place() {
    let groq =
        json!({"choices": [], "x_groq": {"usage": {"prompt_tokens": 1, "completion_tokens": 2}}});
    let decoded = decode_body(&sse(&[finish("stop"), groq]));
    assert_eq!(
        decoded.usage,
        Some(TokenUsage { input: 1, output: 2, cache_read: 0, ..TokenUsage::default() })
    );
}

#[test]
fn the_reading_of_the_prompt_is_reported() {
    let mut chunk = delta(&json!({"role": "assistant", "content": null}));
    chunk["prompt_progress"] = json!({"total": 637, "cache": 5, "processed": 300, "time_ms": 1});
    let decoded = decode_body(&sse(&[chunk, finish("stop")]));
    assert_eq!(decoded.prefill, [PrefillProgress { processed: 300, total: 637, cached: 5 }]);
}

#[test]
fn leaves_of_any_type_do_no_harm() {
    let odd = json!({"choices": [{"index": null, "finish_reason": 7, "delta": {
        "content": 1, "reasoning": {}, "tool_calls": "x", "refusal": [], "function_call": 3,
    }}], "usage": [], "x_groq": 1, "error": null, "prompt_progress": "x"});
    let opening = json!({"choices": [], "prompt_filter_results": [], "id": "", "created": 0});
    let ping = json!({"type": "ping"});
    let bare = json!({"choices": [{"delta": null}]});
    let body = sse(&[opening, ping, odd, bare, delta(&json!({"content": "x"})), finish("stop")]);
    assert_eq!(decode_body(&body).text, "x");
}

#[test]
fn broken_json_is_an_error_before_the_end_and_nothing_after_it() {
    let depth = "[".repeat(100_000);
    for junk in ["{\"choices\":[", "{\"a\":NaN}", "{}{}", &format!("{{\"a\":{depth}")] {
        let error = decode_body(&format!("data: {junk}\n\n")).error.unwrap();
        assert_eq!(error.recovery, ErrorRecovery::Retry);
        let after = format!("{}data: {junk}\n\n", sse(&[finish("stop")]));
        assert_eq!(decode_body(&after).finished, Some(StopReason::EndTurn));
    }
}

#[test]
fn parts_of_reasoning_are_kept_where_they_are_to_go_back() {
    let piece = |text: &str| {
        json!({"choices": [{"delta": {"reasoning": text, "reasoning_details":
            [{"type": "reasoning.text", "text": text, "index": 0}]}}]})
    };
    let end = json!({"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]});
    let body: String =
        [piece("Let "), piece("me."), end].map(|chunk| format!("data: {chunk}\n\n")).concat();
    let kept = |details| {
        let decoded =
            decode_with(&body, ChatRequestContext { details, ..ChatRequestContext::default() });
        (decoded.thinking, decoded.sealed)
    };
    let whole = json!([{"type": "reasoning.text", "text": "Let me.", "index": 0}]);
    let thought = "Let me.".to_owned();
    assert_eq!(
        kept(ReasoningDetailsMode::Kept),
        (thought.clone(), Some(json!({"reasoning_details": whole})))
    );
    assert_eq!(kept(ReasoningDetailsMode::Read), (thought, None));
}

fn reading() -> ChatRequestContext {
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: String::new(),
        input_schema: json!({"type": "object"}),
    };
    ChatRequestContext { tools: [tool("Read")].into(), ..ChatRequestContext::default() }
}

#[test]
fn calls_in_the_text_are_calls_where_the_server_reports_none() {
    let written = "<tool_call>{\"name\": \"Read\", \"arguments\": {\"a\": 1}}</tool_call>";
    let body = sse(&[
        delta(&json!({"content": "<think>No: <tool_call>{</think>I look. "})),
        delta(&json!({"content": written})),
        delta(&json!({"content": "\n"})),
        finish("stop"),
    ]);
    let decoded = decode_with(&body, reading());
    assert_eq!(decoded.text, "I look. ");
    assert_eq!(decoded.calls, ["Read {\"a\":1}"]);
    assert_eq!(decoded.finished, Some(StopReason::ToolUse));
    assert_eq!(decode_body(&body).calls, Vec::<String>::new(), "the tool is not declared");
}

#[test]
fn calls_in_the_text_stay_text_beside_reported_ones() {
    let written = "<tool_call>{\"name\": \"Read\", \"arguments\": {}}</tool_call>";
    let text_chunk = delta(&json!({"content": written}));
    let reported = delta(&json!({"tool_calls": [{"index": 0, "id": "a",
                                 "function": {"name": "Read", "arguments": "{}"}}]}));
    for chunks in [[text_chunk.clone(), reported.clone()], [reported, text_chunk]] {
        let decoded =
            decode_with(&sse(&[&chunks[..], &[finish("tool_calls")]].concat()), reading());
        assert_eq!(decoded.calls, ["Read {}"]);
        assert_eq!(decoded.text, written);
    }
}

/// An error as Groq sends it, in a stream or instead of one.
fn failed(written: &str) -> Value {
    json!({"error": {"message": "Failed to call a function.", "type": "invalid_request_error",
        "code": "tool_use_failed", "failed_generation": written, "status_code": 400}})
}

#[test]
fn a_call_that_the_server_could_not_read_is_made() {
    let call = "{\"name\": \"Read\", \"arguments\": {\"a\": 1}}";
    let thought = format!("<think>How?</think>{call}");
    let with_call = "I look. <function=Read{\"a\": 1}</function>";
    let by_gateway = json!({"error": {"code": 400, "message": "Provider returned error",
        "metadata": {"raw": failed(call).to_string(), "provider_name": "Groq"}}});
    let table = [
        (failed(call), ""),
        (failed(&thought), ""),
        (failed(with_call), "I look. "),
        (by_gateway, ""),
    ];
    for (error, text) in table {
        let begun = sse(&[delta(&json!({"reasoning": "hm"}))]);
        for body in [
            format!("{begun}event: error\ndata: {error}\n\n"),
            format!("{begun}data: {error}\n\ndata: [DONE]\n\n"),
            error.to_string(),
        ] {
            let decoded = decode_with(&body, reading());
            assert_eq!(decoded.error, None, "{body}");
            assert_eq!(decoded.text, text, "{body}");
            assert_eq!(decoded.calls, ["Read {\"a\":1}"], "{body}");
            assert_eq!(decoded.finished, Some(StopReason::ToolUse), "{body}");
        }
    }
}

#[test]
fn text_and_calls_before_a_failure_are_not_repeated() {
    let written = "I look. <tool_call>{\"name\": \"Read\", \"arguments\": {\"a\": 1}}</tool_call>";
    let error = format!("event: error\ndata: {}\n\n", failed(written));
    for streamed in ["I look. ", written] {
        let body = sse(&[delta(&json!({"content": streamed}))]) + &error;
        let decoded = decode_with(&body, reading());
        assert_eq!((decoded.text.as_str(), decoded.error), ("I look. ", None));
        assert_eq!(decoded.calls, ["Read {\"a\":1}"], "{streamed}");
    }
    let reported = delta(&json!({"tool_calls": [{"index": 0, "id": "a",
                                 "function": {"name": "Read", "arguments": "{}"}}]}));
    let decoded = decode_with(&(sse(&[reported]) + &error), reading());
    assert_eq!(decoded.error.map(|error| error.recovery), Some(ErrorRecovery::Retry));
}

#[test]
fn an_unreadable_call_is_an_error_to_retry() {
    let unknown = "{\"name\": \"Delete\", \"arguments\": {}}";
    for written in ["maybe", unknown, "{\"name\": \"Read\", \"arguments\": {\"a\": nope", ""] {
        let body = format!("event: error\ndata: {}\n\n", failed(written));
        let error = decode_with(&body, reading()).error.unwrap();
        assert_eq!(error.recovery, ErrorRecovery::Retry, "{written}");
        assert!(error.message.contains("wrote a tool call that"), "{error}");
        assert!(error.message.contains("/model"), "{error}");
    }
}

#[test]
fn the_field_of_the_reasoning_is_noted() {
    let noted = |fields: &str| {
        let name = ReasoningName::default();
        let context = ChatRequestContext {
            reasoning_name: Some(Arc::clone(&name)),
            ..ChatRequestContext::default()
        };
        let chunk = format!("{{\"choices\":[{{\"index\":0,\"delta\":{{{fields}}}}}]}}");
        decode_with(&format!("data: {chunk}\n\ndata: [DONE]\n\n"), context);
        name.get().copied()
    };
    assert_eq!(noted("\"reasoning\":\"hm\""), Some(dialect::PLAIN));
    assert_eq!(noted("\"reasoning_content\":\"hm\",\"reasoning\":null"), Some(dialect::CONTENT));
    assert_eq!(noted("\"reasoning_content\":\"hm\",\"reasoning\":\"hm\""), None);
    assert_eq!(noted("\"content\":\"hello\""), None);
}

#[test]
fn what_is_kept_of_a_response_is_limited() {
    let error = |count: usize, delta: &Value| {
        let details = ReasoningDetailsMode::Kept;
        let context = ChatRequestContext { details, ..ChatRequestContext::default() };
        let piece = json!({"choices": [{"index": 0, "delta": delta}]});
        let pieces = std::iter::repeat_n(piece.clone(), count);
        testing::error_of_endless(&piece, pieces, ChatDecoder::new(context))
    };
    let detail = |text: &str, index: Value| json!({"reasoning_details": [{"type": "reasoning.text", "text": text, "index": index}]});
    let long = "r".repeat(1 << 20);
    assert_eq!(error(14, &detail(&long, json!(0))), None);
    let nameless = json!({"tool_calls": [{"index": 0, "function": {"arguments": long}}]});
    for delta in [detail(&long, json!(0)), nameless] {
        let end = error(17, &delta).unwrap();
        assert!(end.contains("more than 16 MB"), "{end}");
    }
    let mut empty = detail("", Value::Null);
    empty["reasoning_details"] = vec![json!({"type": "x"}); 2000].into();
    let end = error(200, &empty).unwrap();
    assert!(end.contains("too many parts"), "{end}");
}
