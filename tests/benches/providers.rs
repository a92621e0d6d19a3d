//! What goes to a model, and what comes back.

use std::sync::Arc;

use divan::{Bencher, black_box, counter::BytesCount};
use futures_util::{StreamExt, stream};
use slug_code::agent::normalise;
use slug_code::domain::ToolSpec;
use slug_code::providers::Images;
use slug_code::providers::chat::{self, Progress};
use slug_code::providers::failure::Site;
use slug_code::providers::{ProviderError, Request, sse};
use tokio::runtime::Builder;

use crate::samples;

/// The bytes of a response of 200 KB in pieces of 24 characters, in the blocks that a socket gives.
fn response() -> Vec<Result<Vec<u8>, ProviderError>> {
    let text: Vec<char> = samples::markdown(200_000).chars().collect();
    let mut bytes = String::new();
    for piece in text.chunks(24) {
        let delta = serde_json::json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "model",
            "choices": [{
                "index": 0,
                "delta": { "content": piece.iter().collect::<String>() },
                "finish_reason": null,
            }],
        });
        bytes += &format!("data: {delta}\n\n");
    }
    bytes += "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    bytes += "data: [DONE]\n\n";
    bytes.as_bytes().chunks(16_384).map(|block| Ok(block.to_vec())).collect()
}

fn tools() -> Arc<[ToolSpec]> {
    let tool = ToolSpec {
        name: "Read".into(),
        description: "Reads a file".into(),
        input_schema: serde_json::json!({ "type": "object" }),
    };
    vec![tool; 10].into()
}

fn length(blocks: &[Result<Vec<u8>, ProviderError>]) -> BytesCount {
    BytesCount::new(blocks.iter().flatten().map(Vec::len).sum::<usize>())
}

#[divan::bench]
fn read_events(bencher: Bencher) {
    let blocks = response();
    bencher.counter(length(&blocks)).bench_local(|| {
        let mut parser = sse::Parser::default();
        let mut count = 0;
        for block in blocks.iter().flatten() {
            let _ = parser.push(block, &mut |event| {
                count += black_box(event).data.len();
                sse::Reading::Continue(())
            });
        }
        count
    });
}

/// With tools declared, so that the text is scanned for calls.
#[divan::bench]
fn decode_chat_completion(bencher: Bencher) {
    let blocks = response();
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let mut asked = chat::Asked::default();
    asked.tools = tools();
    bencher.counter(length(&blocks)).bench_local(|| {
        let events = chat::decode(stream::iter(blocks.clone()), Site::default(), asked.clone());
        runtime.block_on(events.count())
    });
}

/// The whole history put in order and written as JSON, which happens before every request.
#[divan::bench]
fn request_of_200_messages(bencher: Bencher) {
    let history = samples::messages(200);
    let tools = tools();
    bencher.bench(|| {
        let request = Request {
            model: "model".into(),
            system: "system".into(),
            messages: normalise(black_box(&history).iter().cloned()),
            images: Images::default(),
            tools: tools.clone(),
            max_tokens: 4_096,
            temperature: None,
            effort: None,
        };
        chat::body(&request, "localhost", Progress::Unknown)
    });
}
