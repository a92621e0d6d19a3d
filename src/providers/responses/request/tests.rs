//! Request bodies, compared as JSON.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::domain::{CallId, CallInput, MessageImage};
use crate::providers::{EncodedImages, ToolChoice};

fn request(model: &str, messages: Vec<Message>) -> ProviderRequest {
    ProviderRequest {
        model: model.into(),
        system: "Be brief.".into(),
        messages,
        images: EncodedImages::default(),
        tools: Arc::new([]),
        max_tokens: Some(16_000),
        tool_choice: ToolChoice::Auto,
        temperature: None,
        effort: None,
    }
}

fn sent(request: &ProviderRequest) -> Value {
    serde_json::from_slice(&body(request, ConversationKeyField::None)).unwrap()
}

fn user(text: &str) -> Message {
    Message::user(text)
}

fn answer(content: Vec<ContentBlock>) -> Message {
    Message { role: MessageRole::Assistant, content }
}

fn say(text: &str) -> ContentBlock {
    ContentBlock::Text { text: text.into() }
}

fn call(id: &str, input: CallInput) -> ContentBlock {
    ContentBlock::ToolUse(ToolCall { id: CallId::new(id), name: "Read".into(), input })
}

fn sealed(data: Value) -> ContentBlock {
    ContentBlock::Sealed { protocol: ProviderProtocol::Responses, data }
}

fn reasoning(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "x"})
}

#[test]
fn a_request_has_the_shape_of_the_protocol() {
    let tool = ToolSpec {
        name: "Read".into(),
        description: "Reads.".into(),
        input_schema: json!({"type": "object"}),
    };
    let request = ProviderRequest { tools: Arc::new([tool]), ..request("gpt-5", vec![user("hi")]) };
    assert_eq!(
        sent(&request),
        json!({
            "model": "gpt-5", "stream": true, "store": false,
            "include": ["reasoning.encrypted_content"], "max_output_tokens": 16_000,
            "reasoning": {"summary": "auto"}, "instructions": "Be brief.",
            "tools": [{"type": "function", "name": "Read", "description": "Reads.",
                "parameters": {"type": "object"}, "strict": false}],
            "input": [{"type": "message", "role": "user",
                "content": [{"type": "input_text", "text": "hi"}]}],
        })
    );
}

#[test]
fn reasoning_goes_back_with_the_item_that_followed_it() {
    let reply = answer(vec![
        ContentBlock::Thinking { thinking: "hm".into(), signature: None },
        sealed(reasoning("rs_1")),
        sealed(json!({"id": "msg_1", "phase": "commentary"})),
        say("Let me look."),
        sealed(reasoning("rs_2")),
        sealed(json!({"id": "fc_1"})),
        call("call_1", CallInput::Valid(json!({"file_path": "a"}))),
        call("functions.Read:1", CallInput::Invalid("{oops".into())),
    ]);
    let result = |id: &str, content: &str, is_error| ContentBlock::ToolResult {
        tool_use_id: CallId::new(id),
        content: content.into(),
        is_error,
    };
    let results = Message {
        role: MessageRole::User,
        content: vec![
            result("call_1", "", false),
            result("functions.Read:1", "No.", true),
            say("and?"),
        ],
    };
    let body = sent(&request("gpt-5", vec![user("go"), reply, results]));
    assert_eq!(
        body["input"].as_array().unwrap()[1..],
        [
            reasoning("rs_1"),
            json!({"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
                "phase": "commentary", "content":
                [{"type": "output_text", "text": "Let me look.", "annotations": []}]}),
            reasoning("rs_2"),
            json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "Read",
                "arguments": "{\"file_path\":\"a\"}"}),
            json!({"type": "function_call", "call_id": "functions_Read_1", "name": "Read",
                "arguments": "{\"invalid_arguments\":\"{oops\"}"}),
            json!({"type": "function_call_output", "call_id": "call_1", "output": "(no output)"}),
            json!({"type": "function_call_output", "call_id": "functions_Read_1",
                "output": "Error: No."}),
            json!({"type": "message", "role": "user",
                "content": [{"type": "input_text", "text": "and?"}]}),
        ]
    );
}

#[test]
fn reasoning_whose_item_is_gone_stays_behind() {
    let reply = answer(vec![say("Hi."), sealed(reasoning("rs_1"))]);
    let body = sent(&request("gpt-5", vec![user("go"), reply, user("on")]));
    assert_eq!(body["input"].as_array().unwrap().len(), 3);
    let only = answer(vec![sealed(reasoning("rs_1"))]);
    let body = sent(&request("gpt-5", vec![user("go"), only, user("on")]));
    assert_eq!(body["input"][1]["content"][0]["text"], "(nothing said)");
}

#[test]
fn images_go_along_where_their_bytes_are_there() {
    let image = MessageImage::new("shot.png", MediaType::Png, (2, 1), b"png");
    let hash = image.hash.clone();
    let message =
        Message { role: MessageRole::User, content: vec![say("look"), ContentBlock::Image(image)] };
    let mut request = request("m", vec![message]);
    let text = sent(&request)["input"][0]["content"][1]["text"].to_string();
    assert!(text.contains("shot.png"), "{text}");
    request.images.put(hash, EncodedImages::encode(b"png"));
    assert_eq!(
        sent(&request)["input"][0]["content"][1],
        json!({"type": "input_image", "image_url": "data:image/png;base64,cG5n"})
    );
}

#[test]
fn models_are_told_only_what_they_take() {
    let written = |model: &str, effort| {
        let request =
            ProviderRequest { effort, temperature: Some(0.5), ..request(model, vec![user("a")]) };
        let body = sent(&request);
        let encrypted = body["include"] == json!(["reasoning.encrypted_content"]);
        (body["reasoning"].clone(), body["temperature"].clone(), encrypted)
    };
    let null = || Value::Null;
    let high = Some(ReasoningEffort::High);
    let table = [
        ("gpt-5.3-codex", None, (json!({"summary": "auto"}), null(), true)),
        ("openai/o4-mini", high, (json!({"effort": "high", "summary": "auto"}), null(), true)),
        ("gpt-4o", high, (null(), json!(0.5), false)),
        ("gpt-oss-20b", None, (null(), json!(0.5), true)),
        ("qwen3", high, (json!({"effort": "high"}), json!(0.5), true)),
    ];
    for (model, effort, want) in table {
        assert_eq!(written(model, effort), want, "{model} {effort:?}");
    }
}

#[test]
fn the_key_of_a_conversation_is_that_of_its_first_message() {
    let key = |messages: Vec<Message>, field| {
        let body = body(&request("gpt-5", messages), field);
        serde_json::from_slice::<Value>(&body).unwrap()["prompt_cache_key"].clone()
    };
    let sent = ConversationKeyField::PromptCacheKey;
    let first = key(vec![user("fix it")], sent);
    assert_eq!(first.as_str().unwrap().len(), 32);
    assert_eq!(key(vec![user("fix it"), user("and that")], sent), first);
    assert_ne!(key(vec![user("another")], sent), first);
    assert_eq!(key(vec![user("fix it")], ConversationKeyField::None), Value::Null);
}
