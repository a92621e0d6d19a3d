//! Bodies of requests, written out.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::domain::{CallId, CallInput, ContentHash, Image};
use crate::providers::Images;
use crate::providers::chat::dialect;

fn request(messages: Vec<Message>) -> Request {
    Request {
        model: "m".into(),
        system: "Be brief.".into(),
        messages,
        images: Images::default(),
        tools: Arc::new([]),
        max_tokens: 4096,
        temperature: None,
        effort: None,
    }
}

fn sent(request: &Request) -> Value {
    sent_to("localhost", request)
}

fn sent_to(host: &str, request: &Request) -> Value {
    serde_json::from_slice(&body(request, dialect::of(host), Progress::Unknown)).unwrap()
}

fn assistant(content: Vec<Block>) -> Message {
    Message { role: Role::Assistant, content }
}

fn calls(id: &str, name: &str, arguments: &str) -> Block {
    let input = CallInput::parse(arguments);
    Block::ToolUse(ToolCall { id: CallId::new(id), name: name.into(), input })
}

fn answers(id: &str, content: &str, is_error: bool) -> Block {
    Block::ToolResult { tool_use_id: CallId::new(id), content: content.into(), is_error }
}

fn thinks(thinking: &str, signature: Option<&str>) -> Block {
    Block::Thinking { thinking: thinking.into(), signature: signature.map(str::to_owned) }
}

#[test]
fn images_go_with_the_message_as_parts_of_it() {
    let image = |name: &str, bytes: &[u8]| Image::new(name, MediaType::Jpeg, (3, 2), bytes);
    let content = vec![
        Block::Text { text: "why [Image 1 a.jpg 3×2]?".into() },
        Block::Image(image("a.jpg", b"abc")),
        Block::Image(image("gone.jpg", b"gone")),
    ];
    let mut request = request(vec![Message { role: Role::User, content }]);
    request.images.put(ContentHash::of(b"abc"), Images::encode(b"abc"));
    assert_eq!(
        sent(&request)["messages"][1],
        json!({"role": "user", "content": [
            {"type": "text",
             "text": "why [Image 1 a.jpg 3×2]?\n\n[An image was here: gone.jpg 3×2]"},
            {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,YWJj"}},
        ]})
    );
}

/// A conversation with everything in it.
fn conversation() -> Vec<Message> {
    vec![
        Message {
            role: Role::User,
            content: vec![
                Block::Text { text: "Fix it".into() },
                Block::Context { name: "git_status".into(), text: "clean".into() },
            ],
        },
        assistant(vec![
            thinks("Look first.", None),
            Block::Text { text: "Looking.".into() },
            calls("c1", "Read", r#"{"b":1,"a":"é"}"#),
            calls("c2", "Read", r#"{"file_pa"#),
        ]),
        Message {
            role: Role::User,
            content: vec![answers("c1", "fn main", false), answers("c2", "not JSON", true)],
        },
        assistant(vec![calls("c3", "Bash", "")]),
        Message {
            role: Role::User,
            content: vec![answers("c3", "", false), Block::Text { text: "Hurry".into() }],
        },
        assistant(vec![Block::Text { text: "Done.".into() }]),
        Message::user("Thanks"),
    ]
}

#[test]
fn a_conversation_is_written_as_servers_want_it() {
    let messages = sent(&request(conversation()))["messages"].clone();
    let function = |name: &str, arguments: &str| json!({"name": name, "arguments": arguments});
    assert_eq!(
        messages,
        json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user",
             "content": "Fix it\n\n<context name=\"git_status\">\nclean\n</context>"},
            {"role": "assistant", "content": "Looking.",
             "reasoning_content": "Look first.", "reasoning": "Look first.",
             "tool_calls": [
                {"id": "c1", "type": "function", "function": function("Read", r#"{"b":1,"a":"é"}"#)},
                {"id": "c2", "type": "function",
                 "function": function("Read", r#"{"invalid_arguments":"{\"file_pa"}"#)},
             ]},
            {"role": "tool", "tool_call_id": "c1", "content": "fn main"},
            {"role": "tool", "tool_call_id": "c2", "content": "Error: not JSON"},
            {"role": "assistant", "content": null,
             "tool_calls": [{"id": "c3", "type": "function", "function": function("Bash", "{}")}]},
            {"role": "tool", "tool_call_id": "c3", "content": "(no output)"},
            {"role": "user", "content": "Hurry"},
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": "Thanks"},
        ])
    );
}

#[test]
fn only_what_is_set_is_sent() {
    let body = sent(&request(vec![Message::user("hi")]));
    let keys: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["model", "stream", "stream_options", "max_tokens", "messages"]);
    assert_eq!(body["stream_options"], json!({"include_usage": true}));
}

#[test]
fn tools_temperature_and_progress_are_sent_when_there_are_any() {
    let mut request = request(vec![Message::user("hi")]);
    request.temperature = Some(0.2);
    let schema = json!({"type": "object", "properties": {"z": {}, "a": {}}});
    request.tools = Arc::new([ToolSpec {
        name: "Read".into(),
        description: "Reads.".into(),
        input_schema: schema.clone(),
    }]);
    let bytes = body(&request, dialect::of("localhost"), Progress::Wanted);
    let body: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(body["return_progress"], json!(true));
    assert_eq!(body["temperature"].to_string(), "0.2");
    assert_eq!(
        body["tools"],
        json!([{"type": "function",
                "function": {"name": "Read", "description": "Reads.", "parameters": schema}}])
    );
}

#[test]
fn each_request_begins_with_the_one_before_it() {
    let whole = conversation();
    let bodies: Vec<Vec<u8>> = [1, 3, 5, 7]
        .iter()
        .map(|&upto| {
            body(&request(whole[..upto].to_vec()), dialect::of("localhost"), Progress::Unknown)
        })
        .collect();
    for pair in bodies.windows(2) {
        let open = &pair[0][..pair[0].len() - b"]}".len()];
        assert!(pair[1].starts_with(open), "{}", String::from_utf8_lossy(&pair[1]));
    }
}

#[test]
fn strict_services_get_no_field_they_do_not_know() {
    let message = assistant(vec![thinks("hm", None), Block::Text { text: "hi".into() }]);
    let request = request(vec![Message::user("hi"), message, Message::user("so?")]);
    let keys = |host| {
        let body = sent_to(host, &request);
        let keys: Vec<String> = body["messages"][2].as_object().unwrap().keys().cloned().collect();
        keys.join(" ")
    };
    assert_eq!(keys("localhost"), "role content reasoning_content reasoning");
    assert_eq!(keys("api.openai.com"), "role content");
    assert_eq!(keys("api.groq.com"), "role content reasoning");
    assert_eq!(keys("api.deepseek.com"), "role content reasoning_content");
    assert_eq!(sent_to("api.openai.com", &request)["max_completion_tokens"], json!(4096));
    assert_eq!(sent_to("api.openai.com", &request)["max_tokens"], Value::Null);
}

#[test]
fn sealed_reasoning_of_another_protocol_stays_behind() {
    let message = assistant(vec![thinks("secret", Some("sig")), Block::Text { text: "hi".into() }]);
    let body = sent(&request(vec![Message::user("hi"), message, Message::user("so?")]));
    assert_eq!(body["messages"][2], json!({"role": "assistant", "content": "hi"}));
}
