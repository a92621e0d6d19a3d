//! Request bodies, compared as JSON.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::domain::{CallId, CallInput, ChatDialect, ContentHash, MessageImage, ProviderProtocol};
use crate::providers::chat::dialect;
use crate::providers::chat::reasoning_names::ReasoningNames;
use crate::providers::{EncodedImages, ToolChoice};

fn request(messages: Vec<Message>) -> ProviderRequest {
    ProviderRequest {
        model: "m".into(),
        system: "Be brief.".into(),
        messages,
        images: EncodedImages::default(),
        tools: Arc::new([]),
        max_tokens: Some(4096),
        tool_choice: ToolChoice::Auto,
        temperature: None,
        effort: None,
    }
}

fn sent(request: &ProviderRequest) -> Value {
    sent_to("localhost", request)
}

fn sent_to(host: &str, request: &ProviderRequest) -> Value {
    let dialect = dialect::at(host).unwrap_or(ChatDialect::Common);
    body_for(dialect, request)
}

fn body_for(dialect: ChatDialect, request: &ProviderRequest) -> Value {
    let quirks = dialect::of(dialect, &request.model);
    serde_json::from_slice(&body(request, quirks, PromptProgressReports::Unknown)).unwrap()
}

fn assistant(content: Vec<ContentBlock>) -> Message {
    Message { role: MessageRole::Assistant, content }
}

fn calls(id: &str, name: &str, arguments: &str) -> ContentBlock {
    let input = CallInput::parse(arguments);
    ContentBlock::ToolUse(ToolCall { id: CallId::new(id), name: name.into(), input })
}

fn answers(id: &str, content: &str, is_error: bool) -> ContentBlock {
    ContentBlock::ToolResult { tool_use_id: CallId::new(id), content: content.into(), is_error }
}

fn thinks(thinking: &str, signature: Option<&str>) -> ContentBlock {
    ContentBlock::Thinking { thinking: thinking.into(), signature: signature.map(str::to_owned) }
}

#[test]
fn images_go_with_the_message_as_parts_of_it() {
    let image = |name: &str, bytes: &[u8]| MessageImage::new(name, MediaType::Jpeg, (3, 2), bytes);
    let content = vec![
        ContentBlock::Text { text: "why [Image 1 a.jpg 3×2]?".into() },
        ContentBlock::Image(image("a.jpg", b"abc")),
        ContentBlock::Image(image("gone.jpg", b"gone")),
    ];
    let mut request = request(vec![Message { role: MessageRole::User, content }]);
    request.images.put(ContentHash::of(b"abc"), EncodedImages::encode(b"abc"));
    assert_eq!(
        sent(&request)["messages"][1],
        json!({"role": "user", "content": [
            {"type": "text",
             "text": "why [Image 1 a.jpg 3×2]?\n\n[An image was here: gone.jpg 3×2]"},
            {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,YWJj"}},
        ]})
    );
}

/// A conversation with every kind of block.
fn conversation() -> Vec<Message> {
    vec![
        Message {
            role: MessageRole::User,
            content: vec![
                ContentBlock::Text { text: "Fix it".into() },
                ContentBlock::Context { name: "git_status".into(), text: "clean".into() },
            ],
        },
        assistant(vec![
            thinks("Look first.", None),
            ContentBlock::Text { text: "Looking.".into() },
            calls("c1", "Read", r#"{"b":1,"a":"é"}"#),
            calls("c2", "Read", r#"{"file_pa"#),
        ]),
        Message {
            role: MessageRole::User,
            content: vec![answers("c1", "fn main", false), answers("c2", "not JSON", true)],
        },
        assistant(vec![calls("c3", "Bash", "")]),
        Message {
            role: MessageRole::User,
            content: vec![answers("c3", "", false), ContentBlock::Text { text: "Hurry".into() }],
        },
        assistant(vec![ContentBlock::Text { text: "Done.".into() }]),
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
    let bytes =
        body(&request, dialect::of(ChatDialect::Common, "m"), PromptProgressReports::Wanted);
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
            body(
                &request(whole[..upto].to_vec()),
                dialect::of(ChatDialect::Common, "m"),
                PromptProgressReports::Unknown,
            )
        })
        .collect();
    for pair in bodies.windows(2) {
        let open = &pair[0][..pair[0].len() - b"]}".len()];
        assert!(pair[1].starts_with(open), "{}", String::from_utf8_lossy(&pair[1]));
    }
}

#[test]
fn strict_services_get_no_field_they_do_not_know() {
    let message = assistant(vec![thinks("hm", None), ContentBlock::Text { text: "hi".into() }]);
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
    let message =
        assistant(vec![thinks("secret", Some("sig")), ContentBlock::Text { text: "hi".into() }]);
    let body = sent(&request(vec![Message::user("hi"), message, Message::user("so?")]));
    assert_eq!(body["messages"][2], json!({"role": "assistant", "content": "hi"}));
}

/// A turn with everything that dialects write differently.
fn turn(effort: Option<ReasoningEffort>, image: &MessageImage) -> ProviderRequest {
    let reply = assistant(vec![
        thinks("hm", None),
        ContentBlock::Text { text: "Looking.".into() },
        calls("call_1", "Read", "{}"),
        ContentBlock::Sealed {
            protocol: ProviderProtocol::ChatCompletions,
            data: json!({"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}),
        },
    ]);
    let answered = Message {
        role: MessageRole::User,
        content: vec![
            answers("call_1", "done", false),
            ContentBlock::Text { text: "And this?".into() },
            ContentBlock::Image(image.clone()),
        ],
    };
    let mut request = request(vec![Message::user("hi"), reply, answered]);
    request.images.put(ContentHash::of(b"abc"), EncodedImages::encode(b"abc"));
    request.effort = effort;
    request
}

/// The fields of a body besides the model, the messages, the streaming options and the key of the
/// conversation.
fn head(body: &Value) -> Value {
    let mut head = body.as_object().unwrap().clone();
    for key in ["model", "stream", "stream_options", "messages", "prompt_cache_key"] {
        head.remove(key);
    }
    Value::Object(head)
}

#[test]
fn each_dialect_is_written_as_its_server_reads_it() {
    const HIGH: Option<ReasoningEffort> = Some(ReasoningEffort::ExtraHigh);
    const OFF: Option<ReasoningEffort> = Some(ReasoningEffort::None);
    let both = json!({"reasoning_content": "hm", "reasoning": "hm"});
    let content = json!({"reasoning_content": "hm"});
    let plain = json!({"reasoning": "hm"});
    let nothing = json!({});
    let kept = json!({"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]});
    let word = |word: &str| json!({"max_tokens": 4096, "reasoning_effort": word});
    let switched = |on: bool| {
        let kind = if on { "enabled" } else { "disabled" };
        json!({"max_tokens": 4096, "thinking": {"type": kind}})
    };
    let silent = json!({"max_tokens": 4096});
    let openai = |word: &str| json!({"max_completion_tokens": 4096, "reasoning_effort": word});
    let off_by_template =
        json!({"max_tokens": 4096, "chat_template_kwargs": {"enable_thinking": false}});
    let by_template = json!({"max_tokens": 4096, "reasoning_effort": "high",
        "chat_template_kwargs": {"enable_thinking": true}});
    let llama = json!({"max_tokens": 4096,
        "chat_template_kwargs": {"enable_thinking": true, "reasoning_effort": "high"}});
    let router = |word: &str| json!({"max_tokens": 4096, "reasoning": {"effort": word}});
    // The head with high effort, the head without thinking, and how reasoning goes back.
    let table = [
        (ChatDialect::Common, word("xhigh"), word("none"), &both),
        (ChatDialect::OpenAi, openai("xhigh"), openai("none"), &nothing),
        (ChatDialect::Azure, openai("xhigh"), openai("none"), &nothing),
        (ChatDialect::Vllm, by_template.clone(), off_by_template.clone(), &both),
        (ChatDialect::Sglang, by_template, off_by_template.clone(), &both),
        (ChatDialect::LlamaCpp, llama, off_by_template, &both),
        (ChatDialect::Ollama, word("high"), word("none"), &both),
        (ChatDialect::LmStudio, word("high"), word("low"), &both),
        (ChatDialect::OpenRouter, router("xhigh"), router("none"), &kept),
        (ChatDialect::DeepSeek, switched(true), switched(false), &content),
        (ChatDialect::Groq, word("high"), word("none"), &plain),
        (ChatDialect::Mistral, silent.clone(), silent.clone(), &nothing),
        (ChatDialect::Xai, word("high"), word("low"), &content),
        (ChatDialect::Moonshot, switched(true), switched(false), &content),
        (ChatDialect::Zai, switched(true), switched(false), &content),
        (ChatDialect::MiniMax, silent.clone(), silent, &nothing),
    ];
    assert_eq!(table.len(), ChatDialect::ALL.len());
    let image = MessageImage::new("a.jpg", MediaType::Jpeg, (3, 2), b"abc");
    for (dialect, much, none, reasoning) in table {
        let body = body_for(dialect, &turn(HIGH, &image));
        assert_eq!(head(&body), much, "{dialect}");
        assert_eq!(head(&body_for(dialect, &turn(OFF, &image))), none, "{dialect}");
        let unset = head(&body_for(dialect, &turn(None, &image)));
        assert_eq!(unset.as_object().unwrap().len(), 1, "{dialect}: {unset}");

        let messages = body["messages"].as_array().unwrap();
        let mut reply = messages[2].as_object().unwrap().clone();
        let text = match dialect {
            ChatDialect::MiniMax => "<think>\nhm\n</think>\n\nLooking.",
            _ => "Looking.",
        };
        assert_eq!(reply.remove("content"), Some(json!(text)), "{dialect}");
        let id = reply["tool_calls"][0]["id"].clone();
        assert_eq!(messages[3]["tool_call_id"], id, "{dialect}");
        reply.retain(|key, _| key.starts_with("reasoning"));
        assert_eq!(&Value::Object(reply), reasoning, "{dialect}");

        let roles: Vec<&str> = messages.iter().filter_map(|it| it["role"].as_str()).collect();
        let id = id.as_str().unwrap();
        if dialect == ChatDialect::Mistral {
            assert!(id.len() == 9 && id.bytes().all(|it| it.is_ascii_alphanumeric()), "{id}");
            assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant", "user"]);
        } else {
            assert_eq!(id, "call_1", "{dialect}");
            assert_eq!(roles, ["system", "user", "assistant", "tool", "user"], "{dialect}");
        }
        let shown = messages.last().unwrap()["content"].is_array();
        assert_eq!(shown, dialect != ChatDialect::DeepSeek, "{dialect}");
    }
}

#[test]
fn a_mistral_wants_its_ids_whoever_serves_it() {
    let image = MessageImage::new("a.jpg", MediaType::Jpeg, (3, 2), b"abc");
    let mut request = turn(None, &image);
    request.model = "mistralai/Devstral-Small-2507".to_owned();
    let body = body_for(ChatDialect::Vllm, &request);
    assert_eq!(body["messages"][3]["tool_call_id"].as_str().unwrap().len(), 9);
    assert_eq!(body["messages"][4]["role"], "assistant");
    // If no message follows the results, no bridging message is added.
    let last = request.messages.last_mut().unwrap();
    last.content.truncate(1);
    assert_eq!(body_for(ChatDialect::Vllm, &request)["messages"].as_array().unwrap().len(), 4);
}

#[test]
fn claude_behind_a_gateway_gets_cache_marks_and_the_same_content() {
    let image = MessageImage::new("a.jpg", MediaType::Jpeg, (3, 2), b"abc");
    let mut request = turn(None, &image);
    request.messages.push(assistant(vec![calls("call_2", "Read", "{}")]));
    let results = vec![answers("call_2", "more", false)];
    request.messages.push(Message { role: MessageRole::User, content: results });
    let plain = body_for(ChatDialect::OpenRouter, &request);
    request.model = "anthropic/claude-sonnet-5".to_owned();
    let marked = body_for(ChatDialect::OpenRouter, &request);
    assert_eq!(marked.to_string().matches("cache_control").count(), 3);
    let mark = json!({"type": "ephemeral"});
    let messages = marked["messages"].as_array().unwrap();
    assert_eq!(
        messages[0]["content"],
        json!([{"type": "text", "text": "Be brief.", "cache_control": mark}])
    );
    // The message with an image is the end of the previous request; its text is marked.
    assert_eq!(messages[4]["content"][0]["cache_control"], mark);
    assert_eq!(
        messages[6]["content"],
        json!([{"type": "text", "text": "more", "cache_control": mark}])
    );
    assert!(!plain.to_string().contains("cache_control"));
    assert!(!body_for(ChatDialect::Common, &request).to_string().contains("cache_control"));
}

#[test]
fn openai_is_told_the_conversation() {
    let request = request(vec![Message::user("hi")]);
    assert_eq!(sent_to("api.openai.com", &request)["prompt_cache_key"].as_str().unwrap().len(), 32);
    assert_eq!(sent_to("localhost", &request)["prompt_cache_key"], Value::Null);
}

#[test]
fn reasoning_goes_back_under_the_name_that_it_came_under() {
    let names = |quirks: DialectQuirks, names: &ReasoningNames, messages| {
        let request = request(messages);
        let quirks = names.settle(&request, quirks);
        let body: Value =
            serde_json::from_slice(&body(&request, quirks, PromptProgressReports::Unknown))
                .unwrap();
        let reply = body["messages"][2].as_object().cloned().unwrap_or_default();
        reply.keys().filter(|key| key.starts_with("reasoning")).cloned().collect::<Vec<_>>()
    };
    let common = dialect::of(ChatDialect::Common, "m");
    let said =
        || vec![Message::user("hi"), assistant(vec![thinks("hm", None)]), Message::user("?")];
    // A server that has told.
    let told = ReasoningNames::default();
    assert!(names(common, &told, vec![Message::user("hi")]).is_empty());
    told.open("m", common).unwrap().get_or_init(|| dialect::PLAIN);
    assert_eq!(names(common, &told, said()), ["reasoning"]);
    // One that tells when both names were sent already.
    let late = ReasoningNames::default();
    assert_eq!(names(common, &late, said()), ["reasoning_content", "reasoning"]);
    late.open("m", common).unwrap().get_or_init(|| dialect::PLAIN);
    assert_eq!(names(common, &late, said()), ["reasoning_content", "reasoning"]);
    // Where the dialect knows the name, nothing is learned.
    assert!(told.open("m", dialect::of(ChatDialect::Groq, "m")).is_none());
}
