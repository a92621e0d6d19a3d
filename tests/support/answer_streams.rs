//! One answer as each protocol's servers stream it: text, then calls, then the end.

use serde_json::{Value, json};
use slug_code::domain::ProviderProtocol;

/// A call: its id, its tool and its arguments as JSON text.
pub type ScriptedCall<'a> = (&'a str, &'a str, &'a str);

/// The events of an answer with `text`, one word at a time, and then `calls`.
pub fn answer(protocol: ProviderProtocol, text: &str, calls: &[ScriptedCall<'_>]) -> Vec<String> {
    match protocol {
        ProviderProtocol::ChatCompletions => chat(text, calls),
        ProviderProtocol::Anthropic => anthropic(text, calls),
        ProviderProtocol::Responses => responses(text, calls),
        ProviderProtocol::Gemini => gemini(text, calls),
    }
}

/// An error within an answer: the server is overloaded.
pub fn overloaded(protocol: ProviderProtocol) -> String {
    match protocol {
        ProviderProtocol::ChatCompletions => {
            data(&json!({"error": {"message": "Overloaded", "type": "server_error", "code": 503}}))
        }
        ProviderProtocol::Anthropic => event(&json!({"type": "error",
            "error": {"type": "overloaded_error", "message": "Overloaded"}})),
        ProviderProtocol::Responses => event(&json!({"type": "response.failed", "response":
            {"status": "failed", "error": {"code": "server_error", "message": "Overloaded"}}})),
        ProviderProtocol::Gemini => {
            data(&json!({"error": {"code": 503, "status": "UNAVAILABLE", "message": "Overloaded"}}))
        }
    }
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn event(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap())
}

/// The arguments as two pieces.
fn halves(arguments: &str) -> [&str; 2] {
    let middle = arguments.char_indices().nth(arguments.chars().count() / 2).map_or(0, |it| it.0);
    [&arguments[..middle], &arguments[middle..]]
}

fn chat(text: &str, calls: &[ScriptedCall<'_>]) -> Vec<String> {
    let chunk = |delta: Value, reason: Option<&str>| {
        data(&json!({"object": "chat.completion.chunk", "model": "test-model",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}))
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
    events.extend(text.split_inclusive(' ').map(|word| chunk(json!({"content": word}), None)));
    for (index, (id, name, arguments)) in calls.iter().enumerate() {
        let [first, rest] = halves(arguments);
        let function = json!({"name": name, "arguments": first});
        let call = json!({"index": index, "id": id, "type": "function", "function": function});
        events.push(chunk(json!({"tool_calls": [call]}), None));
        let call = json!({"index": index, "function": {"arguments": rest}});
        events.push(chunk(json!({"tool_calls": [call]}), None));
    }
    let reason = if calls.is_empty() { "stop" } else { "tool_calls" };
    events.push(chunk(json!({}), Some(reason)));
    events.push(data(&json!({"choices": [],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}})));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn anthropic(text: &str, calls: &[ScriptedCall<'_>]) -> Vec<String> {
    let usage = json!({"input_tokens": 100, "output_tokens": 1});
    let mut events = vec![event(&json!({"type": "message_start",
        "message": {"role": "assistant", "content": [], "usage": usage}}))];
    let mut block = |number: usize, start: Value, deltas: Vec<Value>| {
        events.push(event(
            &json!({"type": "content_block_start", "index": number, "content_block": start}),
        ));
        events.extend(deltas.into_iter().map(|delta| {
            event(&json!({"type": "content_block_delta", "index": number, "delta": delta}))
        }));
        events.push(event(&json!({"type": "content_block_stop", "index": number})));
    };
    let words = text.split_inclusive(' ').map(|word| json!({"type": "text_delta", "text": word}));
    block(0, json!({"type": "text", "text": ""}), words.collect());
    for (number, (id, name, arguments)) in (1..).zip(calls) {
        let start = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
        let pieces = halves(arguments)
            .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
        block(number, start, pieces.into());
    }
    let reason = if calls.is_empty() { "end_turn" } else { "tool_use" };
    events.push(event(&json!({"type": "message_delta", "delta": {"stop_reason": reason},
        "usage": {"output_tokens": 10}})));
    events.push(event(&json!({"type": "message_stop"})));
    events
}

fn responses(text: &str, calls: &[ScriptedCall<'_>]) -> Vec<String> {
    let mut events = vec![
        event(&json!({"type": "response.created", "response": {"status": "in_progress"}})),
        event(&json!({"type": "response.output_item.added", "output_index": 0,
            "item": {"type": "message", "role": "assistant", "content": []}})),
    ];
    events.extend(text.split_inclusive(' ').map(|word| {
        event(&json!({"type": "response.output_text.delta", "output_index": 0, "delta": word}))
    }));
    events.push(event(&json!({"type": "response.output_item.done", "output_index": 0, "item":
        {"type": "message", "content": [{"type": "output_text", "text": text}]}})));
    for (place, (id, name, arguments)) in (1..).zip(calls) {
        let item = |arguments: &str| json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments});
        let at = |kind: &str, field: &str, value: Value| {
            let mut it = json!({"type": kind, "output_index": place});
            it[field] = value;
            event(&it)
        };
        events.push(at("response.output_item.added", "item", item("")));
        for piece in halves(arguments) {
            events.push(at("response.function_call_arguments.delta", "delta", json!(piece)));
        }
        events.push(at("response.output_item.done", "item", item(arguments)));
    }
    events.push(event(&json!({"type": "response.completed", "response":
        {"status": "completed", "usage": {"input_tokens": 100, "output_tokens": 10}}})));
    events
}

/// Gemini's arguments are JSON values: invalid JSON breaks the whole chunk.
fn gemini(text: &str, calls: &[ScriptedCall<'_>]) -> Vec<String> {
    let parts = |parts: String, more: &str| {
        format!(
            "data: {{\"candidates\":[{{\"content\":{{\"role\":\"model\",\"parts\":[{parts}]}}\
             {more}}}],\"usageMetadata\":{{\"promptTokenCount\":100,\"candidatesTokenCount\":10}}}}\
             \r\n\r\n"
        )
    };
    let words = text.split_inclusive(' ');
    let mut events: Vec<String> =
        words.map(|word| parts(json!({"text": word}).to_string(), "")).collect();
    for (id, name, arguments) in calls {
        let call = format!(
            "{{\"functionCall\":{{\"id\":{},\"name\":{},\"args\":{arguments}}}}}",
            json!(id),
            json!(name)
        );
        events.push(parts(call, ""));
    }
    events.push(parts(String::new(), ",\"finishReason\":\"STOP\""));
    events
}
