//! What each protocol sends where the response has to be text.

use serde_json::json;

use super::*;

fn request(tool_choice: ToolChoice) -> ProviderRequest {
    let read = ToolSpec {
        name: "Read".into(),
        description: "Reads.".into(),
        input_schema: json!({"type": "object"}),
    };
    ProviderRequest {
        model: "m".into(),
        system: "Be brief.".into(),
        messages: vec![Message::user("hi")],
        images: EncodedImages::default(),
        tools: Arc::from([read]),
        max_tokens: None,
        tool_choice,
        temperature: None,
        effort: None,
    }
}

fn body(protocol: ProviderProtocol, request: &ProviderRequest) -> Vec<u8> {
    match protocol {
        ProviderProtocol::ChatCompletions => {
            chat::body(request, "localhost", chat::PromptProgressReports::Unknown)
        }
        ProviderProtocol::Responses => responses::body(request),
        ProviderProtocol::Anthropic => anthropic::body(request),
        ProviderProtocol::Gemini => gemini::body(request),
    }
}

#[test]
fn where_no_call_may_come_the_tools_stay_and_the_beginning_does_not_change() {
    let gemini = json!({"functionCallingConfig": {"mode": "NONE"}});
    for (protocol, field, choice) in [
        (ProviderProtocol::ChatCompletions, "tool_choice", json!("none")),
        (ProviderProtocol::Responses, "tool_choice", json!("none")),
        (ProviderProtocol::Anthropic, "tool_choice", json!({"type": "none"})),
        (ProviderProtocol::Gemini, "toolConfig", gemini),
    ] {
        let free = body(protocol, &request(ToolChoice::Auto));
        let text_only = body(protocol, &request(ToolChoice::None));
        assert!(text_only.starts_with(&free[..free.len() - 1]), "{protocol}");
        let sent: Value = serde_json::from_slice(&text_only).unwrap();
        assert_eq!(sent[field], choice, "{protocol}");
        let free: Value = serde_json::from_slice(&free).unwrap();
        assert_eq!(free[field], Value::Null, "{protocol}");
        assert_eq!(sent["tools"], free["tools"], "{protocol}");
        let without_tools = ProviderRequest { tools: Arc::from([]), ..request(ToolChoice::None) };
        let sent: Value = serde_json::from_slice(&body(protocol, &without_tools)).unwrap();
        assert_eq!(sent[field], Value::Null, "{protocol} has no tools");
    }
}
