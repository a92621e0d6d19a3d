//! Request bodies, compared as JSON.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::domain::{CallInput, MessageImage};
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
    serde_json::from_slice(&body(request)).unwrap()
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

fn call(id: &str, name: &str) -> ContentBlock {
    let input = CallInput::Valid(json!({"a": id}));
    ContentBlock::ToolUse(ToolCall { id: CallId::new(id), name: name.into(), input })
}

fn result(id: &str, content: &str, is_error: bool) -> ContentBlock {
    ContentBlock::ToolResult { tool_use_id: CallId::new(id), content: content.into(), is_error }
}

fn sealed(data: Value) -> ContentBlock {
    ContentBlock::Sealed { protocol: ProviderProtocol::Gemini, data }
}

#[test]
fn a_request_has_the_shape_of_the_protocol() {
    let tool = ToolSpec {
        name: "Read".into(),
        description: "Reads.".into(),
        input_schema: json!({"$schema": "x", "type": "object"}),
    };
    let request = ProviderRequest {
        tools: Arc::new([tool]),
        temperature: Some(0.5),
        ..request("gemini-2.0-flash", vec![user("hi")])
    };
    assert_eq!(
        sent(&request),
        json!({
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "tools": [{"functionDeclarations": [{"name": "Read", "description": "Reads.",
                "parametersJsonSchema": {"type": "object"}}]}],
            "generationConfig": {"maxOutputTokens": 16_000, "temperature": 0.5},
            "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        })
    );
}

#[test]
fn signatures_go_back_on_the_parts_that_they_came_with() {
    let code = json!({"executableCode": {"code": "1"}, "thoughtSignature": "s2"});
    let reply = answer(vec![
        ContentBlock::Thinking { thinking: "hm".into(), signature: None },
        say("Let me "),
        sealed(json!({"thoughtSignature": "s1"})),
        say("look"),
        sealed(json!({})),
        say("."),
        sealed(json!({"part": code})),
        sealed(json!({"thoughtSignature": "s3", "id": "given"})),
        call("given", "Read"),
        call("own", "Glob"),
        sealed(json!({"thoughtSignature": "s4"})),
    ]);
    let results = Message {
        role: MessageRole::User,
        content: vec![result("given", "r", false), result("own", "", false)],
    };
    let body = sent(&request("gemini-3-flash", vec![user("go"), reply, results]));
    assert_eq!(
        body["contents"][1],
        json!({"role": "model", "parts": [
            {"text": "Let me "},
            {"text": "look", "thoughtSignature": "s1"},
            {"text": "."},
            code,
            {"functionCall": {"id": "given", "name": "Read", "args": {"a": "given"}},
                "thoughtSignature": "s3"},
            {"functionCall": {"name": "Glob", "args": {"a": "own"}}},
            {"text": "", "thoughtSignature": "s4"},
        ]})
    );
    assert_eq!(
        body["contents"][2],
        json!({"role": "user", "parts": [
            {"functionResponse": {"id": "given", "name": "Read", "response": {"output": "r"}}},
            {"functionResponse": {"name": "Glob", "response": {"output": "(no output)"}}},
        ]})
    );
}

#[test]
fn a_call_of_another_models_gets_the_documented_signature() {
    let reply = || {
        answer(vec![
            ContentBlock::Thinking { thinking: "hm".into(), signature: Some("seal".into()) },
            ContentBlock::Sealed {
                protocol: ProviderProtocol::Anthropic,
                data: json!({"data": "x"}),
            },
            call("toolu_1", "Read"),
            call("toolu_2", "Read"),
        ])
    };
    let signatures = |model: &str| {
        let body = sent(&request(model, vec![user("go"), reply()]));
        let parts = body["contents"][1]["parts"].as_array().unwrap().clone();
        parts.iter().map(|part| part["thoughtSignature"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(signatures("gemini-3-flash"), [json!(UNSIGNED), Value::Null]);
    assert_eq!(signatures("gemini-2.5-flash"), [Value::Null, Value::Null]);
}

#[test]
fn a_failed_call_says_so_and_what_else_was_said_follows() {
    let back =
        Message { role: MessageRole::User, content: vec![result("c", "No.", true), say("and?")] };
    let messages = vec![user("go"), answer(vec![call("c", "")]), back];
    let body = sent(&request("gemini-2.5-flash", messages));
    assert_eq!(
        body["contents"][2]["parts"],
        json!([
            {"functionResponse": {"name": "unknown", "response": {"error": "No."}}},
            {"text": "and?"},
        ])
    );
}

#[test]
fn a_response_that_only_thought_is_not_empty() {
    let thought = ContentBlock::Thinking { thinking: "hm".into(), signature: None };
    let body = sent(&request("m", vec![user("go"), answer(vec![thought]), user("on")]));
    assert_eq!(body["contents"][1]["parts"], json!([{"text": "(nothing said)"}]));
}

#[test]
fn images_go_along_where_their_bytes_are_there() {
    let image = MessageImage::new("shot.png", MediaType::Png, (2, 1), b"png");
    let hash = image.hash.clone();
    let message =
        Message { role: MessageRole::User, content: vec![say("look"), ContentBlock::Image(image)] };
    let mut request = request("m", vec![message]);
    let text = sent(&request)["contents"][0]["parts"][1]["text"].to_string();
    assert!(text.contains("shot.png"), "{text}");
    request.images.put(hash, EncodedImages::encode(b"png"));
    assert_eq!(
        sent(&request)["contents"][0]["parts"][1],
        json!({"inlineData": {"mimeType": "image/png", "data": "cG5n"}})
    );
}

#[test]
fn thinking_is_asked_for_as_the_model_takes_it() {
    let level = |level: &str| json!({"includeThoughts": true, "thinkingLevel": level});
    let budget = |budget: u32| json!({"includeThoughts": true, "thinkingBudget": budget});
    let table = [
        ("gemini-2.0-flash", Some(ReasoningEffort::High), Value::Null),
        ("gemini-3-flash", None, json!({"includeThoughts": true})),
        ("gemini-3-flash", Some(ReasoningEffort::None), level("MINIMAL")),
        ("gemini-3-flash", Some(ReasoningEffort::Medium), level("MEDIUM")),
        ("gemini-3-flash", Some(ReasoningEffort::Max), level("HIGH")),
        ("gemini-3-pro-preview", Some(ReasoningEffort::None), level("LOW")),
        ("gemini-3-pro-preview", Some(ReasoningEffort::Medium), level("HIGH")),
        ("gemini-2.5-flash", None, json!({"includeThoughts": true})),
        ("gemini-2.5-flash", Some(ReasoningEffort::None), json!({"thinkingBudget": 0})),
        ("gemini-2.5-pro", Some(ReasoningEffort::None), budget(128)),
        ("gemini-2.5-pro", Some(ReasoningEffort::High), budget(16_384)),
    ];
    for (model, effort, expected) in table {
        let request = ProviderRequest { effort, ..request(model, vec![user("a")]) };
        assert_eq!(
            sent(&request)["generationConfig"]["thinkingConfig"],
            expected,
            "{model} {effort:?}"
        );
    }
}
