//! A request without tools, for a server that takes none: they are described in the prompt, and the
//! calls and results of the history become text. The form is that of the Hermes models, which many
//! models were trained on and [`text_tool_calls`](super::text_tool_calls) reads back.

use serde_json::json;

use crate::domain::{ContentBlock, Message, ToolSpec};
use crate::providers::{ProviderRequest, history};

/// What the model is told about calling tools; `{tools}` are their specifications, one a line.
const INSTRUCTIONS: &str = "# Tools

You can call tools. Their names, what they do and the JSON schemas of their arguments:

<tools>
{tools}
</tools>

To call one, end your answer with a block like this, exactly in this form and outside of code:

<tool_call>
{\"name\": \"NAME\", \"arguments\": {\"NAME OF ARGUMENT\": \"VALUE\"}}
</tool_call>

Several blocks may follow each other. Each result comes with the next message, in the order of the \
calls, between <tool_response> and </tool_response>. Never write a result yourself.";

/// The same request with its tools described. The history's text for a message never changes, so
/// what was sent stays a prefix of what is sent next.
pub(super) fn described(request: &ProviderRequest) -> ProviderRequest {
    let mut described = ProviderRequest { tools: [].into(), ..request.clone() };
    if !request.tools.is_empty() {
        let tools: Vec<String> = request.tools.iter().map(specification).collect();
        let instructions = INSTRUCTIONS.replacen("{tools}", &tools.join("\n"), 1);
        let parts = [request.system.as_str(), &instructions];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        described.system = parts.join("\n\n");
    }
    described.messages.iter_mut().for_each(write_out);
    described
}

fn specification(tool: &ToolSpec) -> String {
    let ToolSpec { name, description, input_schema } = tool;
    json!({"name": name, "description": description, "parameters": input_schema}).to_string()
}

/// Turns calls and results into text, where they stand.
fn write_out(message: &mut Message) {
    for block in &mut message.content {
        let text = match block {
            ContentBlock::ToolUse(call) => {
                let name = history::tool_name(&call.name);
                let arguments = history::arguments(&call.input);
                let call = json!({"name": name, "arguments": arguments});
                format!("<tool_call>\n{call}\n</tool_call>")
            }
            ContentBlock::ToolResult { content, is_error, .. } => {
                let output = history::output(content, *is_error);
                format!("<tool_response>\n{output}\n</tool_response>")
            }
            ContentBlock::Text { .. }
            | ContentBlock::Context { .. }
            | ContentBlock::Image(_)
            | ContentBlock::Thinking { .. }
            | ContentBlock::Sealed { .. } => continue,
        };
        *block = ContentBlock::Text { text };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::{CallId, CallInput, MessageRole, ToolCall};
    use crate::providers::chat::text_tool_calls::TextToolCallParser;
    use crate::providers::{EncodedImages, ToolChoice};

    fn text(text: &str) -> ContentBlock {
        ContentBlock::Text { text: text.to_owned() }
    }

    fn request(messages: Vec<Message>) -> ProviderRequest {
        let read = ToolSpec {
            name: "Read".into(),
            description: "Reads a file.".into(),
            input_schema: json!({"type": "object"}),
        };
        ProviderRequest {
            model: "model".into(),
            system: "Be brief.".into(),
            messages,
            images: EncodedImages::default(),
            tools: Arc::from([read]),
            max_tokens: Some(100),
            tool_choice: ToolChoice::Auto,
            temperature: None,
            effort: None,
        }
    }

    #[test]
    fn calls_and_results_become_text_and_are_read_back() {
        let input = json!({"file_path": "a.rs"});
        let call = |id: &str| {
            ContentBlock::ToolUse(ToolCall {
                id: CallId::new(id),
                name: "Read".into(),
                input: CallInput::Valid(input.clone()),
            })
        };
        let result = |id: &str, content: &str, is_error| ContentBlock::ToolResult {
            tool_use_id: CallId::new(id),
            content: content.to_owned(),
            is_error,
        };
        let user = |content| Message { role: MessageRole::User, content };
        let given = request(vec![
            user(vec![text("look")]),
            Message {
                role: MessageRole::Assistant,
                content: vec![text("Looking."), call("a"), call("b")],
            },
            user(vec![result("a", "fn main() {}", false), result("b", "no file", true)]),
        ]);
        let described = described(&given);
        assert!(described.tools.is_empty());
        assert!(described.system.starts_with("Be brief.\n\n# Tools"), "{}", described.system);
        assert!(described.system.contains(r#"{"name":"Read","description":"Reads a file.""#));
        let has_no_blocks = |message: &Message| {
            message.content.iter().all(|block| matches!(block, ContentBlock::Text { .. }))
        };
        assert!(described.messages.iter().all(has_no_blocks));
        let results = described.messages[2].text();
        assert!(results.contains("<tool_response>\nfn main() {}\n</tool_response>"), "{results}");
        assert!(results.contains("Error: no file"), "{results}");

        let mut parser = TextToolCallParser::new(Arc::clone(&given.tools));
        let mut shown = String::new();
        parser.push(&described.messages[1].text(), &mut |text| shown.push_str(text));
        let calls = parser.finish(&mut |text| shown.push_str(text));
        assert_eq!(shown.trim(), "Looking.");
        let calls: Vec<_> = calls.into_iter().map(|it| (it.name, it.input.into_text())).collect();
        let input = input.to_string();
        assert_eq!(calls, [("Read".to_owned(), input.clone()), ("Read".to_owned(), input)]);
    }

    #[test]
    fn without_tools_nothing_is_said_about_them() {
        let given = ProviderRequest { tools: Arc::from([]), ..request(Vec::new()) };
        assert_eq!(described(&given), given);
    }
}
