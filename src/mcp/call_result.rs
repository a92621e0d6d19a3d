//! Reads the results of calls, resources and prompts, block by block: what cannot be read is named, and
//! the rest stays.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::domain::sanitize::sanitize_line;

use super::lists::cut;

/// What a server answered to a call.
#[derive(Debug, Default, PartialEq)]
pub struct McpCallResult {
    /// The text for the model.
    pub text: String,
    pub images: Vec<Vec<u8>>,
    /// What is neither text nor an image that models take.
    pub files: Vec<McpResultFile>,
    /// The structured result, for programs.
    pub structured: Option<Value>,
    pub is_error: bool,
}

/// Binary content of a result.
#[derive(Debug, PartialEq, Eq)]
pub struct McpResultFile {
    /// What it is, for the model: "audio (audio/wav)".
    pub kind: String,
    pub bytes: Vec<u8>,
}

/// Reads the reply to `resources/read`.
///
/// # Errors
///
/// When the reply holds no contents; a phrase.
pub(super) fn read_resource_result(reply: &Value) -> Result<McpCallResult, String> {
    let mut result = McpCallResult::default();
    match reply.get("contents") {
        Some(Value::Array(contents)) => contents.iter().for_each(|it| result.add_resource(it)),
        // Some servers send one content in place of a list.
        Some(content @ Value::Object(_)) => result.add_resource(content),
        Some(_) | None => return Err("the reply holds no contents".into()),
    }
    Ok(result)
}

/// Reads the reply to `prompts/get`. Where not all messages are the user's, each is marked by who
/// says it.
///
/// # Errors
///
/// When the reply holds no messages; a phrase.
pub(super) fn read_prompt_result(reply: &Value) -> Result<McpCallResult, String> {
    let Some(messages) = reply.get("messages").and_then(Value::as_array) else {
        return Err("the reply holds no messages".into());
    };
    let role = |message: &Value| match message.get("role").and_then(Value::as_str) {
        Some("assistant") => "assistant",
        Some(_) | None => "user",
    };
    let is_marked = messages.iter().any(|message| role(message) != "user");
    let mut result = McpCallResult::default();
    for message in messages {
        if is_marked {
            result.add_text(&format!("[{}]", role(message)));
        }
        match message.get("content") {
            Some(Value::Array(blocks)) => blocks.iter().for_each(|block| result.add(block)),
            Some(Value::String(text)) => result.add_text(text),
            Some(block) => result.add(block),
            None => result.add_text("[a message without content]"),
        }
    }
    Ok(result)
}

/// Reads the reply to `tools/call`.
pub fn read_call_result(reply: &Value) -> McpCallResult {
    let mut result = McpCallResult {
        structured: reply.get("structuredContent").filter(|it| !it.is_null()).cloned(),
        is_error: reply.get("isError").and_then(Value::as_bool).unwrap_or(false),
        ..McpCallResult::default()
    };
    match reply.get("content") {
        Some(Value::Array(blocks)) => blocks.iter().for_each(|block| result.add(block)),
        // Some servers send one text in place of a list.
        Some(Value::String(text)) => result.add_text(text),
        Some(block @ Value::Object(_)) => result.add(block),
        Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => {}
    }
    // The text of a structured result is sent beside it; sent twice it would cost twice.
    if result.text.is_empty()
        && let Some(structured) = &result.structured
    {
        result.text = serde_json::to_string_pretty(structured).unwrap_or_default();
    }
    result
}

impl McpCallResult {
    fn add(&mut self, block: &Value) {
        let text = |key: &str| block.get(key).and_then(Value::as_str);
        match text("type") {
            Some("text") => self.add_text(text("text").unwrap_or_default()),
            Some("image") => match text("data").and_then(decoded) {
                Some(bytes) if is_picture(text("mimeType")) => self.images.push(bytes),
                Some(bytes) => self.add_file("image", text("mimeType"), bytes),
                None => self.add_text("[an image that cannot be read]"),
            },
            Some("audio") => match text("data").and_then(decoded) {
                Some(bytes) => self.add_file("audio", text("mimeType"), bytes),
                None => self.add_text("[audio that cannot be read]"),
            },
            Some("resource") => self.add_resource(block.get("resource").unwrap_or(&Value::Null)),
            Some("resource_link") => {
                let uri = text("uri").unwrap_or_default();
                let name = text("name").unwrap_or("resource");
                self.add_text(&format!("[{name}: {uri}]"));
            }
            Some(other) => {
                let other = sanitize_line(other);
                self.add_text(&format!("[content of the unknown type {:?}]", cut(&other, 80)));
            }
            None => self.add_text("[content without a type]"),
        }
    }

    fn add_resource(&mut self, resource: &Value) {
        let text = |key: &str| resource.get(key).and_then(Value::as_str);
        match (text("text"), text("blob").and_then(decoded)) {
            (Some(content), _) => self.add_text(content),
            (None, Some(bytes)) if is_picture(text("mimeType")) => self.images.push(bytes),
            (None, Some(bytes)) => self.add_file("resource", text("mimeType"), bytes),
            (None, None) => self.add_text("[a resource that cannot be read]"),
        }
    }

    fn add_text(&mut self, text: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    fn add_file(&mut self, what: &str, mime: Option<&str>, bytes: Vec<u8>) {
        let mime = sanitize_line(mime.unwrap_or("of an unknown type"));
        self.files.push(McpResultFile { kind: format!("{what} ({})", cut(&mime, 80)), bytes });
    }
}

fn is_picture(mime: Option<&str>) -> bool {
    mime.is_some_and(|mime| ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&mime))
}

fn decoded(data: &str) -> Option<Vec<u8>> {
    STANDARD.decode(data.trim()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_kind_of_content_is_read() {
        let result = read_call_result(&json!({"content": [
            {"type": "text", "text": "one"},
            {"type": "image", "data": "AAEC", "mimeType": "image/png"},
            {"type": "image", "data": "AAEC", "mimeType": "image/svg+xml"},
            {"type": "audio", "data": "AAEC", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "two"}},
            {"type": "resource", "resource": {"uri": "file:///b", "blob": "AAEC"}},
            {"type": "resource_link", "uri": "file:///c", "name": "c"},
        ]}));
        assert_eq!(result.text, "one\ntwo\n[c: file:///c]");
        assert_eq!(result.images, [vec![0, 1, 2]]);
        let kinds: Vec<&str> = result.files.iter().map(|file| &*file.kind).collect();
        assert_eq!(
            kinds,
            ["image (image/svg+xml)", "audio (audio/wav)", "resource (of an unknown type)"]
        );
        assert!(!result.is_error);
    }

    #[test]
    fn what_breaks_the_rules_is_read_all_the_same() {
        let text = |reply: Value| read_call_result(&reply).text;
        assert_eq!(text(json!({"content": "plain"})), "plain");
        assert_eq!(text(json!({"content": {"type": "text", "text": "one"}})), "one");
        assert_eq!(text(json!({})), "");
        assert_eq!(
            text(json!({"content": [{"type": "hologram"}]})),
            "[content of the unknown type \"hologram\"]"
        );
        assert_eq!(text(json!({"content": [{"type": "image"}]})), "[an image that cannot be read]");
        assert_eq!(
            text(json!({"content": [1, {"type": "text", "text": "x"}]})),
            "[content without a type]\nx"
        );
        assert!(read_call_result(&json!({"isError": true})).is_error);
    }

    #[test]
    fn contents_of_a_resource_are_read_one_by_one() {
        let read = |reply: Value| read_resource_result(&reply);
        let result = read(json!({"contents": [
            {"uri": "a:1", "text": "one"},
            {"uri": "a:2", "blob": "AAEC", "mimeType": "application/pdf"},
            {"uri": "a:3", "blob": "AAEC", "mimeType": "image/png"},
            {"uri": "a:4", "blob": "no base64 !"},
            7,
        ]}))
        .unwrap();
        assert_eq!(
            result.text,
            "one\n[a resource that cannot be read]\n[a resource that cannot be read]"
        );
        assert_eq!((result.files.len(), result.images.len()), (1, 1));
        assert_eq!(read(json!({"contents": {"text": "alone"}})).unwrap().text, "alone");
        assert_eq!(read(json!({"contents": []})).unwrap(), McpCallResult::default());
        assert!(read(json!({"contents": "text"})).is_err() && read(json!({})).is_err());
    }

    #[test]
    fn messages_of_a_prompt_are_read_one_by_one() {
        let read = |reply: Value| read_prompt_result(&reply).map(|result| result.text);
        let text = |role: &str, text: &str| json!({"role": role, "content": {"type": "text", "text": text}});
        let alone = json!({"messages": [text("user", "one"), text("junk", "two")]});
        assert_eq!(read(alone).unwrap(), "one\ntwo");
        let both = json!({"messages": [
            text("user", "one"), text("assistant", "two"), {"role": "user", "content": "three"},
            {"role": "user", "content": [{"type": "hologram"}]}, {"role": "user"}, 7,
        ]});
        assert_eq!(
            read(both).unwrap(),
            "[user]\none\n[assistant]\ntwo\n[user]\nthree\n[user]\n[content of the unknown type \
             \"hologram\"]\n[user]\n[a message without content]\n[user]\n[a message without content]"
        );
        assert!(read(json!({"messages": "text"})).is_err() && read(json!({})).is_err());
    }

    #[test]
    fn a_structured_result_is_sent_once() {
        let both = read_call_result(&json!({
            "content": [{"type": "text", "text": "{\"a\":1}"}], "structuredContent": {"a": 1}
        }));
        assert_eq!((&*both.text, both.structured), ("{\"a\":1}", Some(json!({"a": 1}))));
        let alone = read_call_result(&json!({"structuredContent": {"a": 1}}));
        assert_eq!(alone.text, "{\n  \"a\": 1\n}");
    }
}
