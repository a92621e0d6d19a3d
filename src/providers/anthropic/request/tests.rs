//! Request bodies, compared as JSON.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::domain::{CallId, CallInput, MessageImage, ToolCall};
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

fn call(id: &str, input: CallInput) -> ContentBlock {
    ContentBlock::ToolUse(ToolCall { id: CallId::new(id), name: "Read".into(), input })
}

#[test]
fn signed_thinking_goes_back_unchanged_and_unsigned_thinking_does_not() {
    let thought = |signature: Option<&str>| ContentBlock::Thinking {
        thinking: "hm".into(),
        signature: signature.map(str::to_owned),
    };
    let sealed = |protocol| ContentBlock::Sealed {
        protocol,
        data: json!({"type": "redacted_thinking", "data": "x"}),
    };
    let reply = answer(vec![
        thought(Some("seal")),
        sealed(ProviderProtocol::Anthropic),
        sealed(ProviderProtocol::ChatCompletions),
        thought(None),
        say("done"),
    ]);
    let body = sent(&request("claude-sonnet-5", vec![user("go"), reply, user("on")]));
    assert_eq!(
        body["messages"][1]["content"],
        json!([
            {"type": "thinking", "thinking": "hm", "signature": "seal"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "text", "text": "done"},
        ])
    );
}

#[test]
fn calls_stand_last_and_results_first_answer_them() {
    let input = CallInput::Valid(json!({"file_path": "a"}));
    let reply = answer(vec![call("functions.Read:0", input), say("Let me look.")]);
    let result = ContentBlock::ToolResult {
        tool_use_id: CallId::new("functions.Read:0"),
        content: String::new(),
        is_error: true,
    };
    let back = Message { role: MessageRole::User, content: vec![result, say("and?")] };
    let body = sent(&request("m", vec![user("go"), reply, back]));
    assert_eq!(
        body["messages"][1]["content"],
        json!([
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "functions_Read_0", "name": "Read",
                "input": {"file_path": "a"}},
        ])
    );
    assert_eq!(
        body["messages"][2]["content"][0],
        json!({"type": "tool_result", "tool_use_id": "functions_Read_0",
            "content": "(no output)", "is_error": true})
    );
}

#[test]
fn unparsable_arguments_go_back_as_an_object() {
    let reply = answer(vec![call("c", CallInput::Invalid("{oops".into()))]);
    let body = sent(&request("m", vec![user("go"), reply]));
    assert_eq!(body["messages"][1]["content"][0]["input"], json!({"invalid_arguments": "{oops"}));
}

#[test]
fn a_response_that_only_thought_is_not_empty() {
    let thought = ContentBlock::Thinking { thinking: "hm".into(), signature: None };
    let body = sent(&request("m", vec![user("go"), answer(vec![thought]), user("on")]));
    assert_eq!(body["messages"][1]["content"], json!([{"type": "text", "text": "(nothing said)"}]));
}

#[test]
fn images_go_along_where_their_bytes_are_there() {
    let image = MessageImage::new("shot.png", MediaType::Png, (2, 1), b"png");
    let hash = image.hash.clone();
    let message =
        Message { role: MessageRole::User, content: vec![say("look"), ContentBlock::Image(image)] };
    let mut request = request("m", vec![message]);
    let text = sent(&request)["messages"][0]["content"][1]["text"].to_string();
    assert!(text.contains("shot.png"), "{text}");
    request.images.put(hash, EncodedImages::encode(b"png"));
    assert_eq!(
        sent(&request)["messages"][0]["content"][1]["source"],
        json!({"type": "base64", "media_type": "image/png", "data": "cG5n"})
    );
}

#[test]
fn cache_marks_follow_the_system_prompt_the_newest_message_and_the_user_message_before() {
    let talk =
        vec![user("a"), answer(vec![say("b")]), user("c"), answer(vec![say("d")]), user("e")];
    let body = sent(&request("m", talk));
    let marked = |part: &Value| part["cache_control"]["type"] == "ephemeral";
    assert!(marked(&body["system"][0]));
    let marks: Vec<bool> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| marked(&message["content"][0]))
        .collect();
    assert_eq!(marks, [false, false, true, false, true]);
}

#[test]
fn thinking_is_asked_for_as_the_model_takes_it() {
    let written = |model: &str, effort, max_tokens| {
        let request = ProviderRequest {
            effort,
            max_tokens,
            temperature: Some(0.5),
            ..request(model, vec![user("a")])
        };
        let body = sent(&request);
        (
            body["thinking"].clone(),
            body["output_config"]["effort"].clone(),
            body["temperature"].clone(),
        )
    };
    let null = Value::Null;
    let budget = |tokens: u32| json!({"type": "enabled", "budget_tokens": tokens});
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    let table = [
        ("claude-haiku-4-5", None, 16_000, (budget(10_000), null.clone(), null.clone())),
        (
            "claude-haiku-4-5",
            Some(ReasoningEffort::Max),
            16_000,
            (budget(14_976), null.clone(), null.clone()),
        ),
        ("claude-haiku-4-5", None, 2_000, (null.clone(), null.clone(), json!(0.5))),
        (
            "claude-haiku-4-5",
            Some(ReasoningEffort::None),
            16_000,
            (null.clone(), null.clone(), json!(0.5)),
        ),
        ("claude-sonnet-5", None, 16_000, (adaptive.clone(), null.clone(), null.clone())),
        (
            "claude-sonnet-5",
            Some(ReasoningEffort::High),
            16_000,
            (adaptive, json!("high"), null.clone()),
        ),
        (
            "claude-sonnet-5",
            Some(ReasoningEffort::None),
            16_000,
            (json!({"type": "disabled"}), json!("low"), null.clone()),
        ),
        (
            "claude-opus-5-5",
            Some(ReasoningEffort::None),
            16_000,
            (null.clone(), json!("low"), null.clone()),
        ),
        ("qwen3", Some(ReasoningEffort::High), 16_000, (null.clone(), null, json!(0.5))),
    ];
    for (model, effort, max_tokens, want) in table {
        assert_eq!(written(model, effort, Some(max_tokens)), want, "{model} {effort:?}");
    }
}

#[test]
fn a_model_with_a_budget_does_not_think_in_a_turn_that_began_without_a_thought_of_its_own() {
    let call = || call("c", CallInput::Valid(json!({})));
    let thought = ContentBlock::Thinking { thinking: "hm".into(), signature: Some("seal".into()) };
    let result = || Message {
        role: MessageRole::User,
        content: vec![ContentBlock::ToolResult {
            tool_use_id: CallId::new("c"),
            content: "x".into(),
            is_error: false,
        }],
    };
    let bare = || vec![user("go"), answer(vec![call()]), result()];
    let own = vec![user("go"), answer(vec![thought, call()]), result()];
    let mut over = bare();
    over.extend([answer(vec![say("done")]), user("and now?")]);
    let table = [
        ("claude-haiku-4-5", bare(), false),
        ("claude-haiku-4-5", own, true),
        ("claude-haiku-4-5", over, true),
        ("claude-sonnet-5", bare(), true),
    ];
    for (model, messages, thinks) in table {
        let body = sent(&request(model, messages));
        assert_eq!(body.get("thinking").is_some(), thinks, "{model} {body}");
    }
}
