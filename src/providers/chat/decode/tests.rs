//! Answers in every shape that servers send them.

use serde_json::json;

use super::*;
use crate::domain::TokenUsage;
use crate::providers::reader::testing;
use crate::providers::{ErrorRecovery, PrefillProgress};

/// What came of an answer.
#[derive(Debug, Default, PartialEq)]
struct DecodedChat {
    text: String,
    thinking: String,
    sealed: Option<Value>,
    /// "name arguments"
    calls: Vec<String>,
    usage: Option<TokenUsage>,
    prefill: Vec<PrefillProgress>,
    finished: Option<StopReason>,
    error: Option<ProviderError>,
}

fn hear(body: &str) -> DecodedChat {
    hear_asked(body, ChatRequestContext::default())
}

fn hear_asked(body: &str, asked: ChatRequestContext) -> DecodedChat {
    let (events, error) = testing::decode_chunks(&[body.as_bytes()], |bytes| {
        decode(bytes, RequestTarget::default(), asked)
    });
    let mut heard = DecodedChat { error, ..DecodedChat::default() };
    for event in events {
        match event {
            StreamEvent::Text(text) => heard.text += &text,
            StreamEvent::Thinking(text) => heard.thinking += &text,
            StreamEvent::ToolUseStarted { name, .. } => heard.calls.push(format!("{name} ")),
            StreamEvent::ToolInputDelta { index, json } => heard.calls[index] += &json,
            StreamEvent::Usage(usage) => heard.usage = Some(usage),
            StreamEvent::Prefill(prefill) => heard.prefill.push(prefill),
            StreamEvent::Finished(reason) => heard.finished = Some(reason),
            StreamEvent::Sealed { protocol: ProviderProtocol::ChatCompletions, data } => {
                heard.sealed = Some(data);
            }
            other => panic!("{other:?}"),
        }
    }
    heard
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
    let heard = hear(&body);
    assert_eq!(heard.text, "Hello");
    assert_eq!(
        heard.usage,
        Some(TokenUsage { input: 10, output: 2, cache_read: 0, ..TokenUsage::default() })
    );
    assert_eq!(heard.finished, Some(StopReason::EndTurn));
    assert_eq!(heard.error, None);
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
        let heard = hear(&body);
        assert_eq!((heard.thinking.as_str(), heard.text.as_str()), ("hm", "yes"), "{thought}");
    }
}

#[test]
fn tags_in_the_text_are_text_where_reasoning_is_reported() {
    let body = sse(&[
        delta(&json!({"reasoning": "hm"})),
        delta(&json!({"content": "<think>is a tag"})),
        finish("stop"),
    ]);
    assert_eq!(hear(&body).text, "<think>is a tag");
}

#[test]
fn finish_reasons_are_read_together_with_what_came() {
    let call = |arguments: &str| {
        delta(&json!({"tool_calls": [{"index": 0, "id": "a",
                      "function": {"name": "Read", "arguments": arguments}}]}))
    };
    let said = delta(&json!({"content": "x"}));
    let table = [
        (vec![said.clone(), finish("stop")], StopReason::EndTurn),
        (vec![said.clone(), finish("eos")], StopReason::EndTurn),
        (vec![said.clone(), finish("length")], StopReason::MaxTokens),
        (vec![said, finish("content_filter")], StopReason::Refusal),
        (vec![delta(&json!({"refusal": "No."})), finish("stop")], StopReason::Refusal),
        (vec![call("{}"), finish("tool_calls")], StopReason::ToolUse),
        (vec![call("{}"), finish("stop")], StopReason::ToolUse),
        (vec![call("{}"), finish("length")], StopReason::MaxTokens),
        (vec![call("{\"a\":"), finish("tool_calls")], StopReason::MaxTokens),
        (vec![call("{nope}"), finish("tool_calls")], StopReason::ToolUse),
    ];
    for (chunks, reason) in table {
        assert_eq!(hear(&sse(&chunks)).finished, Some(reason), "{chunks:?}");
    }
}

#[test]
fn a_repeated_finish_makes_no_second_call() {
    let call = json!({"tool_calls": [{"index": 0, "id": "a",
                      "function": {"name": "Read", "arguments": "{}"}}]});
    let heard = hear(&sse(&[delta(&call), finish("tool_calls"), finish("tool_calls")]));
    assert_eq!(heard.calls, ["Read {}"]);
}

#[test]
fn calls_of_older_servers_are_read() {
    let body = sse(&[
        delta(&json!({"function_call": {"name": "Read", "arguments": "{"}})),
        delta(&json!({"function_call": {"arguments": "}"}})),
        finish("function_call"),
    ]);
    assert_eq!(hear(&body).calls, ["Read {}"]);
}

#[test]
fn an_answer_ends_only_at_a_sign_of_its_end() {
    let said = delta(&json!({"content": "x"}));
    let done = format!("{}data: [DONE]\n\n", sse(std::slice::from_ref(&said)));
    assert_eq!(hear(&done).finished, Some(StopReason::EndTurn));
    let with_usage = sse(&[said.clone(), usage_chunk()]);
    assert_eq!(hear(&with_usage).finished, Some(StopReason::EndTurn));
    let mut cumulative = said.clone();
    cumulative["usage"] = usage_chunk()["usage"].clone();
    for cut in [sse(&[said]), sse(&[cumulative]), String::new()] {
        let heard = hear(&cut);
        assert_eq!(heard.finished, None, "{cut}");
        assert_eq!(heard.error.map(|error| error.recovery), Some(ErrorRecovery::Retry), "{cut}");
    }
}

#[test]
fn errors_are_found_wherever_they_come() {
    let said = sse(&[delta(&json!({"content": "x"}))]);
    let table = [
        format!("{said}data: {{\"error\":{{\"message\":\"boom\"}}}}\n\ndata: [DONE]\n\n"),
        format!("{said}event: error\ndata: {{\"error\":{{\"message\":\"boom\"}}}}\n\n"),
        format!("{said}error: {{\"message\":\"boom\"}}\n\n"),
        format!("{said}data: {{\"object\":\"error\",\"message\":\"boom\"}}\n\n"),
        format!(
            "{said}{}data: {{\"error\":\"boom\",\"choices\":[]}}\n\n",
            sse(&[finish("length")])
        ),
    ];
    for body in table {
        let heard = hear(&body);
        assert_eq!(heard.text, "x", "{body}");
        let error = heard.error.unwrap();
        assert!(error.message.contains("boom"), "{error}");
    }
}

#[test]
fn what_comes_in_the_place_of_a_stream_is_told_by_its_content() {
    let heard = hear(r#" {"error":{"message":"prompt is too long"}}"#);
    assert_eq!(heard.error.unwrap().recovery, ErrorRecovery::Compact);

    let page = hear("<!DOCTYPE html><html><title>Log in</title></html>").error.unwrap();
    assert!(page.message.contains("Log in"), "{page}");

    let whole = json!({
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "Hello", "reasoning_content": "hm",
            "tool_calls": [{"id": "a", "function": {"name": "Read", "arguments": "{}"}}],
        }}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    });
    let heard = hear(&format!("\u{FEFF}{whole}"));
    assert_eq!((heard.text.as_str(), heard.thinking.as_str()), ("Hello", "hm"));
    assert_eq!(heard.calls, ["Read {}"]);
    assert_eq!(heard.finished, Some(StopReason::ToolUse));
    assert!(hear("{}").error.is_some());
}

#[test]
fn a_whole_message_beside_the_deltas_is_not_said_twice() {
    let mut chunk = delta(&json!({"content": "x"}));
    chunk["choices"][0]["message"] = json!({"content": "x so far"});
    assert_eq!(hear(&sse(&[chunk, finish("stop")])).text, "x");
}

#[test]
fn only_the_first_choice_counts() {
    let other =
        json!({"choices": [{"index": 1, "delta": {"content": "y"}, "finish_reason": "stop"}]});
    let heard = hear(&sse(&[delta(&json!({"content": "x"})), other, finish("length")]));
    assert_eq!((heard.text.as_str(), heard.finished), ("x", Some(StopReason::MaxTokens)));
}

#[test]
fn usage_of_groq_is_found_in_its_own_place() {
    let groq =
        json!({"choices": [], "x_groq": {"usage": {"prompt_tokens": 1, "completion_tokens": 2}}});
    let heard = hear(&sse(&[finish("stop"), groq]));
    assert_eq!(
        heard.usage,
        Some(TokenUsage { input: 1, output: 2, cache_read: 0, ..TokenUsage::default() })
    );
}

#[test]
fn the_reading_of_the_prompt_is_reported() {
    let mut chunk = delta(&json!({"role": "assistant", "content": null}));
    chunk["prompt_progress"] = json!({"total": 637, "cache": 5, "processed": 300, "time_ms": 1});
    let heard = hear(&sse(&[chunk, finish("stop")]));
    assert_eq!(heard.prefill, [PrefillProgress { processed: 300, total: 637, cached: 5 }]);
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
    assert_eq!(hear(&body).text, "x");
}

#[test]
fn broken_json_is_an_error_before_the_end_and_nothing_after_it() {
    let depth = "[".repeat(100_000);
    for junk in ["{\"choices\":[", "{\"a\":NaN}", "{}{}", &format!("{{\"a\":{depth}")] {
        let error = hear(&format!("data: {junk}\n\n")).error.unwrap();
        assert_eq!(error.recovery, ErrorRecovery::Retry);
        let after = format!("{}data: {junk}\n\n", sse(&[finish("stop")]));
        assert_eq!(hear(&after).finished, Some(StopReason::EndTurn));
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
        let heard =
            hear_asked(&body, ChatRequestContext { details, ..ChatRequestContext::default() });
        (heard.thinking, heard.sealed)
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
    let heard = hear_asked(&body, reading());
    assert_eq!(heard.text, "I look. ");
    assert_eq!(heard.calls, ["Read {\"a\":1}"]);
    assert_eq!(heard.finished, Some(StopReason::ToolUse));
    assert_eq!(hear(&body).calls, Vec::<String>::new(), "the tool is not declared");
}

#[test]
fn calls_in_the_text_stay_text_beside_reported_ones() {
    let written = "<tool_call>{\"name\": \"Read\", \"arguments\": {}}</tool_call>";
    let said = delta(&json!({"content": written}));
    let reported = delta(&json!({"tool_calls": [{"index": 0, "id": "a",
                                 "function": {"name": "Read", "arguments": "{}"}}]}));
    for chunks in [[said.clone(), reported.clone()], [reported, said]] {
        let heard = hear_asked(&sse(&[&chunks[..], &[finish("tool_calls")]].concat()), reading());
        assert_eq!(heard.calls, ["Read {}"]);
        assert_eq!(heard.text, written);
    }
}

/// An error as Groq sends it, in a stream or in the place of one.
fn failed(written: &str) -> Value {
    json!({"error": {"message": "Failed to call a function.", "type": "invalid_request_error",
        "code": "tool_use_failed", "failed_generation": written, "status_code": 400}})
}

#[test]
fn a_call_that_the_server_could_not_read_is_made() {
    let call = "{\"name\": \"Read\", \"arguments\": {\"a\": 1}}";
    let thought = format!("<think>How?</think>{call}");
    let spoken = "I look. <function=Read{\"a\": 1}</function>";
    let by_gateway = json!({"error": {"code": 400, "message": "Provider returned error",
        "metadata": {"raw": failed(call).to_string(), "provider_name": "Groq"}}});
    let table = [
        (failed(call), ""),
        (failed(&thought), ""),
        (failed(spoken), "I look. "),
        (by_gateway, ""),
    ];
    for (error, said) in table {
        let begun = sse(&[delta(&json!({"reasoning": "hm"}))]);
        for body in [
            format!("{begun}event: error\ndata: {error}\n\n"),
            format!("{begun}data: {error}\n\ndata: [DONE]\n\n"),
            error.to_string(),
        ] {
            let heard = hear_asked(&body, reading());
            assert_eq!(heard.error, None, "{body}");
            assert_eq!(heard.text, said, "{body}");
            assert_eq!(heard.calls, ["Read {\"a\":1}"], "{body}");
            assert_eq!(heard.finished, Some(StopReason::ToolUse), "{body}");
        }
    }
}

#[test]
fn what_came_before_the_server_failed_is_not_said_or_called_again() {
    let written = "I look. <tool_call>{\"name\": \"Read\", \"arguments\": {\"a\": 1}}</tool_call>";
    let error = format!("event: error\ndata: {}\n\n", failed(written));
    for streamed in ["I look. ", written] {
        let body = sse(&[delta(&json!({"content": streamed}))]) + &error;
        let heard = hear_asked(&body, reading());
        assert_eq!((heard.text.as_str(), heard.error), ("I look. ", None));
        assert_eq!(heard.calls, ["Read {\"a\":1}"], "{streamed}");
    }
    let reported = delta(&json!({"tool_calls": [{"index": 0, "id": "a",
                                 "function": {"name": "Read", "arguments": "{}"}}]}));
    let heard = hear_asked(&(sse(&[reported]) + &error), reading());
    assert_eq!(heard.error.map(|error| error.recovery), Some(ErrorRecovery::Retry));
}

#[test]
fn a_call_that_nobody_can_read_is_told_and_asked_for_again() {
    let unknown = "{\"name\": \"Delete\", \"arguments\": {}}";
    for written in ["maybe", unknown, "{\"name\": \"Read\", \"arguments\": {\"a\": nope", ""] {
        let body = format!("event: error\ndata: {}\n\n", failed(written));
        let error = hear_asked(&body, reading()).error.unwrap();
        assert_eq!(error.recovery, ErrorRecovery::Retry, "{written}");
        assert!(error.message.contains("wrote a tool call that"), "{error}");
        assert!(error.message.contains("/model"), "{error}");
    }
}
