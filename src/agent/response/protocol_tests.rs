//! A conversation can move from one protocol to another: a response of each protocol is valid when
//! any other protocol sends it.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use super::*;
use crate::agent::normalise;
use crate::providers::chat::PromptProgressReports;
use crate::providers::{
    EncodedImages, ProviderRequest, ToolChoice, anthropic, chat, decode, gemini, responses,
};

/// A response with sealed and unsealed thinking, text and two calls, as its protocol streams it.
/// Signatures and sealed blocks contain SEAL, thinking contains THOUGHT.
fn made_by(protocol: ProviderProtocol) -> Message {
    let pieces: Vec<Value> = match protocol {
        ProviderProtocol::ChatCompletions => {
            let delta = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]});
            let call = |index: u64, id: &str, name: &str| json!({"index": index, "id": id, "function": {"name": name, "arguments": "{}"}});
            vec![
                delta(json!({"reasoning_content": "THOUGHT"})),
                delta(json!({"content": "Looking."})),
                delta(json!({"tool_calls": [call(0, "functions.Read:0", "Read")]})),
                delta(json!({"tool_calls": [call(1, "functions.Glob:1", "Glob")]})),
                json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
            ]
        }
        ProviderProtocol::Responses => {
            let done = |place: u64, item: Value| json!({"type": "response.output_item.done", "output_index": place, "item": item});
            let call = |id: &str, name: &str| {
                json!({"type": "function_call", "id": format!("SEAL-{id}"), "call_id": id,
                    "name": name, "arguments": "{}"})
            };
            vec![
                json!({"type": "response.reasoning_summary_text.delta", "output_index": 0,
                    "delta": "THOUGHT"}),
                done(
                    0,
                    json!({"type": "reasoning", "id": "SEAL-rs", "summary": [],
                    "encrypted_content": "SEAL"}),
                ),
                done(
                    1,
                    json!({"type": "message", "phase": "SEAL-phase",
                    "content": [{"type": "output_text", "text": "Looking."}]}),
                ),
                done(2, call("call_1", "Read")),
                done(3, call("call_2", "Glob")),
                json!({"type": "response.completed", "response": {"status": "completed"}}),
            ]
        }
        ProviderProtocol::Anthropic => {
            let blocks = [
                json!({"type": "thinking", "thinking": "THOUGHT", "signature": "SEAL"}),
                json!({"type": "redacted_thinking", "data": "SEAL"}),
                json!({"type": "text", "text": "Looking."}),
                json!({"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}}),
                json!({"type": "tool_use", "id": "toolu_2", "name": "Glob", "input": {}}),
            ];
            let blocks = (0..).zip(blocks).flat_map(|(number, block): (u64, _)| {
                [
                    json!({"type": "content_block_start", "index": number, "content_block": block}),
                    json!({"type": "content_block_stop", "index": number}),
                ]
            });
            let end = json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}});
            blocks.chain([end, json!({"type": "message_stop"})]).collect()
        }
        ProviderProtocol::Gemini => vec![json!({"candidates": [{"finishReason": "STOP", "content":
        {"parts": [
            {"text": "THOUGHT", "thought": true},
            {"text": "Looking.", "thoughtSignature": "SEAL"},
            {"functionCall": {"name": "Read", "id": "given.id"}, "thoughtSignature": "SEAL"},
            {"functionCall": {"name": "Glob"}},
        ]}}]})],
    };
    let body: String = pieces.iter().map(|piece| format!("data: {piece}\n\n")).collect();
    let events = decode(protocol, stream::iter([Ok(body)]), Arc::from([]));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut response = ResponseAssembler::default();
    let mut reason = None;
    for event in runtime.block_on(events.collect::<Vec<_>>()) {
        reason = reason.or(response.take(event.unwrap()));
    }
    assert_eq!(reason, Some(StopReason::ToolUse), "{protocol}");
    response.finish()
}

fn request(model: &str, response: Message) -> ProviderRequest {
    let answered = response.calls().map(|call| ContentBlock::ToolResult {
        tool_use_id: call.id.clone(),
        content: "done".to_owned(),
        is_error: false,
    });
    let results = Message { role: MessageRole::User, content: answered.collect() };
    let history =
        [Message::user("Go."), response.clone(), results, response, Message::user("And?")];
    ProviderRequest {
        model: model.to_owned(),
        system: "Be brief.".to_owned(),
        messages: normalise(history, &HashSet::new()),
        images: EncodedImages::default(),
        tools: Arc::new([]),
        max_tokens: None,
        tool_choice: ToolChoice::Auto,
        temperature: None,
        effort: None,
    }
}

/// The roles in a request body, and its calls and results in order, by id (by name for protocols
/// that pair them by name).
#[derive(Default)]
struct SentConversation {
    roles: Vec<String>,
    asked: Vec<String>,
    answered: Vec<String>,
}

impl SentConversation {
    fn read(protocol: ProviderProtocol, body: &Value) -> Self {
        let mut sent = Self::default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let turns = match protocol {
            ProviderProtocol::ChatCompletions | ProviderProtocol::Anthropic => &body["messages"],
            ProviderProtocol::Responses => &body["input"],
            ProviderProtocol::Gemini => &body["contents"],
        };
        for turn in turns.as_array().unwrap() {
            let list = |name: &str| turn[name].as_array().into_iter().flatten();
            let call = match turn["type"].as_str() {
                Some("function_call") => "assistant",
                Some("function_call_output") => "user",
                _ => "",
            };
            let role = match turn["role"].as_str() {
                Some("tool") => "user".to_owned(),
                Some(role) => role.to_owned(),
                None => call.to_owned(),
            };
            if !role.is_empty() && role != "system" && sent.roles.last() != Some(&role) {
                sent.roles.push(role);
            }
            match call {
                "assistant" => sent.asked.push(text(&turn["call_id"])),
                "user" => sent.answered.push(text(&turn["call_id"])),
                _ => {}
            }
            if turn["role"] == "tool" {
                sent.answered.push(text(&turn["tool_call_id"]));
            }
            sent.asked.extend(list("tool_calls").map(|call| text(&call["id"])));
            for part in list("content").chain(list("parts")) {
                match part["type"].as_str() {
                    Some("tool_use") => sent.asked.push(text(&part["id"])),
                    Some("tool_result") => sent.answered.push(text(&part["tool_use_id"])),
                    _ => {}
                }
                if let Some(call) = part.get("functionCall") {
                    sent.asked.push(text(&call["name"]));
                }
                if let Some(answer) = part.get("functionResponse") {
                    sent.answered.push(text(&answer["name"]));
                }
            }
        }
        sent
    }
}

#[test]
fn a_response_of_one_protocol_is_valid_in_every_other() {
    for maker in ProviderProtocol::ALL {
        let response = made_by(maker);
        assert_eq!(
            (response.text().as_str(), response.calls().count()),
            ("Looking.", 2),
            "{maker}"
        );
        for target in ProviderProtocol::ALL {
            let case = format!("made by {maker}, sent to {target}");
            let body = match target {
                ProviderProtocol::ChatCompletions => chat::body(
                    &request("m", response.clone()),
                    "localhost",
                    PromptProgressReports::Unknown,
                ),
                ProviderProtocol::Responses => responses::body(&request("gpt-5", response.clone())),
                ProviderProtocol::Anthropic => {
                    anthropic::body(&request("claude-sonnet-5", response.clone()))
                }
                ProviderProtocol::Gemini => {
                    gemini::body(&request("gemini-3-flash", response.clone()))
                }
            };
            let text = String::from_utf8(body).unwrap();
            let has_seals = maker == target && maker != ProviderProtocol::ChatCompletions;
            assert_eq!(text.contains("SEAL"), has_seals, "{case}: {text}");
            let signed = [maker, target] == [ProviderProtocol::Anthropic; 2];
            let unsigned =
                target == ProviderProtocol::ChatCompletions && maker != ProviderProtocol::Anthropic;
            assert_eq!(text.contains("THOUGHT"), signed || unsigned, "{case}: {text}");

            let sent = SentConversation::read(target, &serde_json::from_str(&text).unwrap());
            let model = if target == ProviderProtocol::Gemini { "model" } else { "assistant" };
            assert_eq!(sent.roles, ["user", model, "user", model, "user"], "{case}: {text}");
            assert_eq!(sent.asked.len(), 4, "{case}: {text}");
            assert_eq!(sent.asked, sent.answered, "{case}: {text}");
            let strict = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            for id in sent.asked {
                let fits = (1..=64).contains(&id.len()) && id.chars().all(strict);
                assert!(fits || target == ProviderProtocol::ChatCompletions, "{case}: {id}");
            }
            let wants_dummy = target == ProviderProtocol::Gemini && maker != target;
            assert_eq!(text.contains("skip_thought_signature_validator"), wants_dummy, "{case}");
        }
    }
}
