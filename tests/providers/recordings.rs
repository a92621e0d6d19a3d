//! The decoders against recorded streams of real servers, compared with what the vendors' own
//! libraries decode from the same bytes.
//!
//! The recordings are not part of the project. If `SLUG_FACTS` names a folder that holds them in
//! `streams/`, all streams of slug's protocols are read whole, byte by byte and in odd pieces.
//! Otherwise there is nothing to do.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use slug_code::domain::{CallInput, ProviderProtocol, StopReason, TokenUsage};
use slug_code::providers::{self, StreamEvent};

use super::CollectedResponse;

#[tokio::test]
async fn recorded_streams_decode_as_the_vendors_libraries_do() {
    let Some(streams) = streams() else { return };
    let index = fs::read_to_string(streams.join("INDEX.tsv")).unwrap();
    let mut counts = HashMap::new();
    let mut differences = Vec::new();
    for row in index.lines().skip(1) {
        let mut cells = row.split('\t');
        let (file, protocol, grade) =
            (cells.next().unwrap(), cells.next().unwrap(), cells.next().unwrap());
        let Some(protocol) = protocol_named(protocol) else { continue };
        *counts.entry(protocol).or_insert(0) += 1;
        let bytes = fs::read(streams.join(file)).unwrap();
        let expected = streams.join(file).with_extension("expected.json");
        let mut expected: Value = serde_json::from_slice(&fs::read(expected).unwrap()).unwrap();
        if row.contains("functionCall:partialArgs") {
            put_together(&mut expected);
        }
        let whole = decode(protocol, &bytes, bytes.len().max(1)).await;
        let differs: Vec<String> = compare(protocol, &whole, &expected["normal"], grade);
        differences.extend(differs.into_iter().map(|what| format!("{file}: {what}")));
        // Generated ids differ from run to run.
        let contents = |response: &CollectedResponse| {
            let calls: Vec<_> =
                response.calls.iter().map(|(_, name, json)| (name.clone(), json.clone())).collect();
            (
                response.text.clone(),
                response.thinking.clone(),
                calls,
                response.usage,
                response.finished,
            )
        };
        for size in [1, 7, 1021] {
            let pieces = decode(protocol, &bytes, size).await;
            assert_eq!(contents(&pieces), contents(&whole), "{file} in pieces of {size}");
            assert_eq!(pieces.error, whole.error, "{file} in pieces of {size}");
        }
    }
    assert!(counts[&ProviderProtocol::ChatCompletions] > 60, "{counts:?} in {}", streams.display());
    assert!(counts[&ProviderProtocol::Anthropic] > 15, "{counts:?} in {}", streams.display());
    assert!(counts[&ProviderProtocol::Responses] > 20, "{counts:?} in {}", streams.display());
    assert!(counts[&ProviderProtocol::Gemini] > 15, "{counts:?} in {}", streams.display());
    assert!(differences.is_empty(), "of {counts:?}:\n{}", differences.join("\n"));
}

#[tokio::test]
async fn recordings_of_llama_cpp_decode() {
    let Some(streams) = streams() else { return };
    let folder = streams.with_file_name("llama-server");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let protocol = if name.contains("-anth-") {
            ProviderProtocol::Anthropic
        } else if name.contains("-resp-") {
            ProviderProtocol::Responses
        } else {
            ProviderProtocol::ChatCompletions
        };
        if name.contains("-cancel-") || path.extension().is_none_or(|extension| extension != "sse")
        {
            continue;
        }
        let response = decode(protocol, &fs::read(&path).unwrap(), 4096).await;
        assert_eq!(response.error, None, "{name}");
        assert!(response.finished.is_some(), "{name}");
        for (_, tool, json) in &response.calls {
            let whole = matches!(CallInput::parse(json), CallInput::Valid(_));
            assert!(
                whole || response.finished == Some(StopReason::MaxTokens),
                "{name}: {tool} {json}"
            );
        }
        count += 1;
    }
    assert!(count > 20, "only {count} recordings");
}

fn streams() -> Option<PathBuf> {
    let facts = std::env::var_os("SLUG_FACTS")?;
    let streams = Path::new(&facts).join("streams");
    assert!(streams.is_dir(), "SLUG_FACTS has no folder `streams`");
    Some(streams)
}

/// The protocol of a row; `None` if slug does not speak it.
fn protocol_named(protocol: &str) -> Option<ProviderProtocol> {
    match protocol {
        "openai-chat" => Some(ProviderProtocol::ChatCompletions),
        "anthropic" => Some(ProviderProtocol::Anthropic),
        "openai-responses" => Some(ProviderProtocol::Responses),
        "gemini" => Some(ProviderProtocol::Gemini),
        _ => None,
    }
}

async fn decode(protocol: ProviderProtocol, bytes: &[u8], size: usize) -> CollectedResponse {
    let chunks: Vec<_> = bytes.chunks(size).map(|chunk| Ok(chunk.to_vec())).collect();
    let mut events = providers::decode(protocol, stream::iter(chunks), Arc::from([]));
    let mut response = CollectedResponse::default();
    while let Some(event) = events.next().await {
        response.add(event);
    }
    response
}

/// The library returns pieces of arguments as they come, each as a call of its own.
fn put_together(expected: &mut Value) {
    let mut calls: Vec<Value> = Vec::new();
    for part in expected["final"]["parts"].as_array().unwrap() {
        let call = &part["function_call"];
        if call["name"].is_string() {
            calls.push(json!({"id": null, "name": call["name"], "arguments": {}}));
        }
        let arguments = &mut calls.last_mut().unwrap()["arguments"];
        for piece in call["partial_args"].as_array().into_iter().flatten() {
            let key = piece["json_path"].as_str().unwrap().trim_start_matches("$.");
            let text = arguments[key].as_str().unwrap_or_default().to_owned();
            arguments[key] = (text + piece["string_value"].as_str().unwrap()).into();
        }
    }
    expected["normal"]["tool_calls"] = calls.into();
}

/// The differences. Where slug differs from the libraries on purpose, the expectation is adapted.
fn compare(
    protocol: ProviderProtocol,
    response: &CollectedResponse,
    normal: &Value,
    grade: &str,
) -> Vec<String> {
    let mut differs = Vec::new();
    if grade == "X" {
        return differs;
    }
    let (thinking, text) = words(normal);
    let mut note = |what: &str, seen: String, expected: String| {
        if seen != expected {
            differs.push(format!("{what} is {seen}, not {expected}"));
        }
    };
    note("text", response.text.clone(), text);
    note("thinking", response.thinking.clone(), thinking);
    if grade == "E" {
        note("error", format!("{}", response.error.is_some()), "true".into());
        return differs;
    }
    note("error", format!("{:?}", response.error), "None".into());
    let calls = normal["tool_calls"].as_array().cloned().unwrap_or_default();
    let mut seen = calls_of(response);
    for (call, expected) in seen.iter_mut().zip(&calls) {
        if expected["id"].is_null() {
            // slug generated the id.
            call.0.clear();
        }
    }
    note("calls", format!("{seen:?}"), format!("{:?}", calls_in(&calls)));
    note(
        "usage",
        format!("{:?}", response.usage),
        format!("{:?}", usage_in(protocol, &normal["usage"])),
    );
    if normal.get("signatures_not_verbatim").is_none() {
        match protocol {
            ProviderProtocol::ChatCompletions | ProviderProtocol::Responses => {}
            ProviderProtocol::Anthropic => {
                note(
                    "seals",
                    format!("{:?}", thinking_signatures_of(response)),
                    format!("{:?}", thinking_signatures_in(normal)),
                );
            }
            ProviderProtocol::Gemini => {
                let signatures = format!("{:?}", signatures_of(response));
                note("signatures", signatures, format!("{:?}", signatures_in(normal)));
            }
        }
    }
    let reason = reason_in(normal, &calls);
    note("stop reason", format!("{:?}", response.finished), format!("{:?}", Some(reason)));
    differs
}

/// Thinking and text. The libraries leave inline `<think>` in the text, do not know
/// `reasoning_details`, and keep a refusal apart.
fn words(normal: &Value) -> (String, String) {
    let mut thinking = normal["thinking"].as_str().unwrap_or_default().to_owned();
    let mut text = normal["text"].as_str().unwrap_or_default().to_owned();
    if thinking.is_empty() {
        let details = normal["reasoning_details"].as_array().into_iter().flatten();
        let pieces = details.filter_map(|detail| {
            detail.get("text").or_else(|| detail.get("summary")).and_then(Value::as_str)
        });
        thinking = pieces.collect();
    }
    if let Some((thought, said)) =
        text.trim_start().strip_prefix("<think>").and_then(|rest| rest.split_once("</think>"))
    {
        thinking.push_str(thought);
        text = said.trim_start().to_owned();
    }
    text.push_str(normal["refusal"].as_str().unwrap_or_default());
    (thinking, text)
}

/// Signatures and redacted thinking, which go back byte for byte.
fn thinking_signatures_of(response: &CollectedResponse) -> (Vec<String>, Vec<String>) {
    let mut signatures = (Vec::new(), Vec::new());
    for event in &response.events {
        match event {
            StreamEvent::Signature(signature) => signatures.0.push(signature.clone()),
            StreamEvent::Sealed { data, .. } if data["type"] == "redacted_thinking" => {
                signatures.1.push(data["data"].as_str().unwrap().to_owned());
            }
            _ => {}
        }
    }
    signatures
}

fn thinking_signatures_in(normal: &Value) -> (Vec<String>, Vec<String>) {
    let list = |name: &str| {
        let all = normal[name].as_array().into_iter().flatten();
        all.map(|signature| signature.as_str().unwrap().to_owned()).collect()
    };
    (list("signatures"), list("redacted"))
}

/// Gemini's signatures, with the kind of part that each one is on.
fn signatures_of(response: &CollectedResponse) -> Vec<(&'static str, String)> {
    let mut signatures = Vec::new();
    for (at, event) in response.events.iter().enumerate() {
        let StreamEvent::Sealed { data, .. } = event else { continue };
        let part = data.get("part");
        let Some(signature) = part.unwrap_or(data)["thoughtSignature"].as_str() else { continue };
        let on = match (part, &response.events[at + 1]) {
            (Some(part), _) if part.get("text").is_some() => "text",
            (Some(_), _) => "other",
            (None, StreamEvent::ToolUseStarted { .. }) => "function_call",
            (None, _) => "text",
        };
        signatures.push((on, signature.to_owned()));
    }
    signatures
}

fn signatures_in(normal: &Value) -> Vec<(&'static str, String)> {
    let all = normal["signatures"].as_array().into_iter().flatten();
    all.map(|it| {
        let on = match it["on"].as_str().unwrap() {
            "text" => "text",
            "function_call" => "function_call",
            _ => "other",
        };
        (on, it["sig"].as_str().unwrap().to_owned())
    })
    .collect()
}

fn calls_of(response: &CollectedResponse) -> Vec<(String, String, String)> {
    let input = |json: &str| match CallInput::parse(json) {
        CallInput::Valid(value) => value.to_string(),
        CallInput::Invalid(raw) => raw,
    };
    response.calls.iter().map(|(id, name, json)| (id.clone(), name.clone(), input(json))).collect()
}

fn calls_in(calls: &[Value]) -> Vec<(String, String, String)> {
    let string = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let read = |call: &Value| {
        let arguments = match call["arguments_ok"].as_bool() {
            Some(false) => string(&call["arguments_raw"]),
            // Groq's way to say that there are none.
            Some(true) | None if call["arguments"].is_null() => "{}".to_owned(),
            Some(true) | None => call["arguments"].to_string(),
        };
        (string(&call["id"]), string(&call["name"]), arguments)
    };
    calls.iter().map(read).collect()
}

/// slug counts reasoning as output even if the server counts it apart.
fn usage_in(protocol: ProviderProtocol, usage: &Value) -> Option<TokenUsage> {
    let count = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    if protocol == ProviderProtocol::Anthropic {
        let cache_read = count("/cache_read_input_tokens").unwrap_or(0);
        let cache_write = count("/cache_creation_input_tokens").unwrap_or(0);
        let input = count("/input_tokens")? + cache_read + cache_write;
        return Some(TokenUsage {
            input,
            output: count("/output_tokens")?,
            cache_read,
            cache_write,
        });
    }
    if protocol == ProviderProtocol::Responses {
        let cached = |name: &str| count(&format!("/input_tokens_details/{name}")).unwrap_or(0);
        return Some(TokenUsage {
            input: count("/input_tokens")?,
            output: count("/output_tokens")?,
            cache_read: cached("cached_tokens"),
            cache_write: cached("cache_write_tokens"),
        });
    }
    if protocol == ProviderProtocol::Gemini {
        let or_none = |path| count(path).unwrap_or(0);
        return Some(TokenUsage {
            input: count("/prompt_token_count")? + or_none("/tool_use_prompt_token_count"),
            output: or_none("/candidates_token_count") + or_none("/thoughts_token_count"),
            cache_read: or_none("/cached_content_token_count"),
            cache_write: 0,
        });
    }
    let input = count("/prompt_tokens")?;
    let completion = count("/completion_tokens")?;
    let thought = count("/completion_tokens_details/reasoning_tokens").unwrap_or(0);
    let apart = count("/total_tokens") == Some(input + completion + thought);
    let cached = count("/prompt_tokens_details/cached_tokens").or_else(|| count("/cached_tokens"));
    Some(TokenUsage {
        input,
        output: if apart { completion + thought } else { completion },
        cache_read: cached.unwrap_or(0),
        cache_write: 0,
    })
}

/// The provider's stop reason as slug reports it: calls count whatever the reason is, and so do
/// broken calls and refusals.
fn reason_in(normal: &Value, calls: &[Value]) -> StopReason {
    let is_cut = calls.last().is_some_and(|call| call["arguments_ok"] == false);
    let word = match normal["incomplete_details"]["reason"].as_str() {
        Some("max_output_tokens") => Some("length"),
        other => other.or(normal["stop_reason"].as_str()),
    };
    match word {
        Some("length" | "max_tokens" | "MAX_TOKENS") => StopReason::MaxTokens,
        Some("content_filter" | "refusal" | "SAFETY") => StopReason::Refusal,
        None if normal["prompt_feedback"]["block_reason"].is_string() => StopReason::Refusal,
        Some("pause_turn") => StopReason::Paused,
        _ if normal["refusal"].as_str().is_some_and(|refusal| !refusal.is_empty()) => {
            StopReason::Refusal
        }
        _ if is_cut => StopReason::MaxTokens,
        _ if !calls.is_empty() => StopReason::ToolUse,
        _ => StopReason::EndTurn,
    }
}
