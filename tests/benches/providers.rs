//! Requests to a model, and the decoding of its answers.

use std::collections::HashSet;
use std::sync::Arc;

use divan::{Bencher, black_box, counter::BytesCount};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use slug_code::agent::{RepeatedText, normalise};
use slug_code::domain::{ProviderProtocol, ToolSpec};
use slug_code::providers::EncodedImages;
use slug_code::providers::chat::{self, PromptProgressReports};
use slug_code::providers::{self, ProviderError, ProviderRequest, StreamEvent, ToolChoice, sse};
use tokio::runtime::Builder;

use crate::samples;

type BodyChunk = Result<Vec<u8>, ProviderError>;
type BodyChunks = Vec<BodyChunk>;

/// A 200 KB response in pieces of 24 characters, as chunks of bytes that a socket returns. `event`
/// turns each piece into an event; `end` ends the response.
fn response(event: impl Fn(usize, &str) -> (&'static str, Value), end: &str) -> BodyChunks {
    response_of(&samples::markdown(200_000), event, end)
}

fn response_of(
    text: &str,
    event: impl Fn(usize, &str) -> (&'static str, Value),
    end: &str,
) -> BodyChunks {
    let text: Vec<char> = text.chars().collect();
    let mut bytes = String::new();
    for (number, piece) in text.chunks(24).enumerate() {
        let (name, event) = event(number, &piece.iter().collect::<String>());
        if !name.is_empty() {
            bytes += &format!("event: {name}\n");
        }
        bytes += &format!("data: {event}\n\n");
    }
    bytes += end;
    bytes.as_bytes().chunks(16_384).map(|block| Ok(block.to_vec())).collect()
}

fn chat_response() -> BodyChunks {
    let event = |_, piece: &str| {
        let chunk = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "model",
            "choices": [{ "index": 0, "delta": { "content": piece }, "finish_reason": null }],
        });
        ("", chunk)
    };
    let stop = r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    response(event, &format!("{stop}\n\ndata: [DONE]\n\n"))
}

fn tools() -> Arc<[ToolSpec]> {
    let tool = ToolSpec {
        name: "Read".into(),
        description: "Reads a file".into(),
        input_schema: json!({ "type": "object" }),
    };
    vec![tool; 10].into()
}

fn length(blocks: &[BodyChunk]) -> BytesCount {
    BytesCount::new(blocks.iter().flatten().map(Vec::len).sum::<usize>())
}

#[divan::bench]
fn read_events(bencher: Bencher) {
    let blocks = chat_response();
    bencher.counter(length(&blocks)).bench_local(|| {
        let mut parser = sse::SseParser::default();
        let mut count = 0;
        for block in blocks.iter().flatten() {
            let _ = parser.push(block, &mut |event| {
                count += black_box(event).data.len();
                sse::SseFlow::Continue(())
            });
        }
        count
    });
}

/// Tools are declared, so the text is scanned for calls.
#[divan::bench]
fn decode_chat_completion(bencher: Bencher) {
    decode(bencher, &chat_response(), ProviderProtocol::ChatCompletions, &tools());
}

/// The same with the text in the arguments of a call.
#[divan::bench]
fn decode_chat_completion_call(bencher: Bencher) {
    let event = |number, piece: &str| {
        let mut call = json!({ "index": 0, "function": { "arguments": piece } });
        if number == 0 {
            call["id"] = "call_1".into();
            call["function"]["name"] = "Write".into();
        }
        let chunk = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "model",
            "choices": [{ "index": 0, "delta": { "tool_calls": [call] }, "finish_reason": null }],
        });
        ("", chunk)
    };
    let input = json!({ "content": samples::markdown(200_000) }).to_string();
    let blocks = response_of(&input, event, "data: [DONE]\n\n");
    decode(bencher, &blocks, ProviderProtocol::ChatCompletions, &no_tools());
}

#[divan::bench]
fn decode_message(bencher: Bencher) {
    let event = |_, piece: &str| {
        let delta = json!({ "type": "text_delta", "text": piece });
        let name = "content_block_delta";
        (name, json!({ "type": name, "index": 0, "delta": delta }))
    };
    let blocks = response(event, "data: {\"type\":\"message_stop\"}\n\n");
    decode(bencher, &blocks, ProviderProtocol::Anthropic, &no_tools());
}

#[divan::bench]
fn decode_response(bencher: Bencher) {
    let event = |number: usize, piece: &str| {
        let name = "response.output_text.delta";
        let event = json!({
            "type": name, "item_id": "msg_68af2cd41f8c8197", "output_index": 0, "content_index": 0,
            "delta": piece, "logprobs": [], "obfuscation": &"9wSb5eRZ7vVQ"[number % 12..],
            "sequence_number": number,
        });
        (name, event)
    };
    let end = json!({ "type": "response.completed", "response": { "status": "completed" } });
    let blocks = response(event, &format!("data: {end}\n\n"));
    decode(bencher, &blocks, ProviderProtocol::Responses, &no_tools());
}

#[divan::bench]
fn decode_content(bencher: Bencher) {
    let event = |number: usize, piece: &str| {
        let content = json!({ "parts": [{ "text": piece }], "role": "model" });
        let usage = json!({
            "promptTokenCount": 12_282, "candidatesTokenCount": number,
            "totalTokenCount": 12_282 + number,
            "promptTokensDetails": [{ "modality": "TEXT", "tokenCount": 12_282 }],
        });
        let chunk = json!({
            "candidates": [{ "content": content, "index": 0 }], "usageMetadata": usage,
            "modelVersion": "gemini-3-pro", "responseId": "M3iLaY-AI7zTxN8P3Piw4Qg",
        });
        ("", chunk)
    };
    let blocks = response(event, "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n");
    decode(bencher, &blocks, ProviderProtocol::Gemini, &no_tools());
}

fn no_tools() -> Arc<[ToolSpec]> {
    Arc::from([])
}

fn decode(
    bencher: Bencher,
    blocks: &BodyChunks,
    protocol: ProviderProtocol,
    tools: &Arc<[ToolSpec]>,
) {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    bencher.counter(length(blocks)).bench_local(|| {
        let events = providers::decode(protocol, stream::iter(blocks.clone()), Arc::clone(tools))
            .inspect(|event| assert!(event.is_ok()));
        runtime.block_on(events.count())
    });
}

/// Looks for repetitions in a response of 200 KB, or in one that repeats 3,000 characters and differs each
/// time.
#[divan::bench(args = [false, true])]
fn watch_for_repetitions(bencher: Bencher, is_alike: bool) {
    let text = samples::markdown(200_000);
    let alike = || (0..66).map(|n| format!("{}{n}\n", &text[..3_000])).collect();
    let text: String = if is_alike { alike() } else { text };
    let text: Vec<char> = text.chars().collect();
    let pieces: Vec<StreamEvent> =
        text.chunks(24).map(|piece| StreamEvent::Text(piece.iter().collect())).collect();
    bencher.bench_local(|| {
        let mut watch = RepeatedText::default();
        pieces.iter().filter_map(|piece| watch.in_event(black_box(piece))).count()
    });
}

/// Normalises the whole history and writes it as JSON, as before every request.
#[divan::bench]
fn request_of_200_messages(bencher: Bencher) {
    let history = samples::messages(200);
    let tools = tools();
    bencher.bench(|| {
        let request = ProviderRequest {
            model: "model".into(),
            system: "system".into(),
            messages: normalise(black_box(&history).iter().cloned(), &HashSet::new()),
            images: EncodedImages::default(),
            tools: tools.clone(),
            max_tokens: Some(4_096),
            tool_choice: ToolChoice::Auto,
            temperature: None,
            effort: None,
        };
        chat::body(&request, "localhost", PromptProgressReports::Unknown)
    });
}
