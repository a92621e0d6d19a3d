//! Reads the lists of tools that servers send, item by item: one that cannot be used is named and
//! left out, and the others stay.

use serde_json::{Map, Value, json};

use crate::domain::ContentHash;
use crate::domain::sanitize::{sanitize, sanitize_line};

/// The most bytes of a description or of a server's instructions that models are shown.
pub const MAX_DESCRIPTION: usize = 2048;

/// The most bytes of a tool's schema: no real one comes near.
const MAX_SCHEMA: usize = 64 * 1024;

/// The most tools of one server that are taken in.
pub const MAX_TOOLS: usize = 2000;

/// The most characters of a tool's name: the protocol's own limit (2025-11-25, "Tool Names").
const MAX_RAW_NAME: usize = 128;

/// A tool as its server defines it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpToolDefinition {
    /// The name on the wire.
    pub name: String,
    /// Harmless to show, and cut at 2 KB.
    pub description: String,
    /// A JSON schema whose `type` is `object`.
    pub input_schema: Value,
    /// What the server says; a word of an untrusted party.
    pub claims_read_only: bool,
    /// About how many tokens a model reads of it, at four bytes each.
    pub tokens: u64,
    /// Of all that the server says of the tool.
    pub hash: ContentHash,
}

/// What was read of a page of a list.
#[derive(Debug, Default, PartialEq)]
pub struct McpToolPage {
    pub tools: Vec<McpToolDefinition>,
    /// A sentence for each tool that was left out.
    pub dropped: Vec<String>,
    /// Where the next page begins.
    pub cursor: Option<String>,
}

/// Reads one page of `tools/list`.
///
/// # Errors
///
/// When the reply holds no list of tools; a phrase.
pub fn read_tool_page(reply: &Value) -> Result<McpToolPage, String> {
    let Some(items) = reply.get("tools").and_then(Value::as_array) else {
        return Err("the reply holds no list of tools".into());
    };
    let mut page = McpToolPage {
        cursor: reply
            .get("nextCursor")
            .and_then(Value::as_str)
            .filter(|cursor| !cursor.is_empty())
            .map(str::to_owned),
        ..McpToolPage::default()
    };
    for (at, item) in items.iter().enumerate() {
        match read_tool(item) {
            Ok(tool) => page.tools.push(tool),
            Err(why) => {
                let name = item.get("name").and_then(Value::as_str);
                let name = name.map_or_else(
                    || format!("number {}", at + 1),
                    |name| format!("{:?}", cut(&sanitize_line(name), 80)),
                );
                page.dropped.push(format!("The tool {name} was left out: {why}."));
            }
        }
    }
    Ok(page)
}

fn read_tool(item: &Value) -> Result<McpToolDefinition, &'static str> {
    let item = item.as_object().ok_or("it is not an object")?;
    let name = item.get("name").and_then(Value::as_str).ok_or("it has no name")?;
    if name.is_empty() || name.chars().count() > MAX_RAW_NAME {
        return Err("its name is empty or too long");
    }
    let description = item.get("description").and_then(Value::as_str).unwrap_or_default();
    let description = cut(&sanitize(description), MAX_DESCRIPTION).to_owned();
    let input_schema = input_schema(item)?;
    let read = name.len() + description.len() + input_schema.to_string().len();
    Ok(McpToolDefinition {
        name: name.to_owned(),
        description,
        input_schema,
        tokens: read.div_ceil(4) as u64,
        claims_read_only: item
            .get("annotations")
            .and_then(|annotations| annotations.get("readOnlyHint"))
            .and_then(Value::as_bool)
            .unwrap_or(false),
        hash: definition_hash(item),
    })
}

/// The schema of a tool's arguments. A tool without one takes none.
fn input_schema(item: &Map<String, Value>) -> Result<Value, &'static str> {
    match item.get("inputSchema") {
        None | Some(Value::Null) => Ok(json!({"type": "object", "properties": {}})),
        Some(Value::Object(schema)) => {
            match schema.get("type") {
                None => {}
                Some(Value::String(kind)) if kind == "object" => {}
                Some(_) => return Err("its arguments are not an object"),
            }
            let mut schema = schema.clone();
            schema.insert("type".into(), "object".into());
            let schema = Value::Object(schema);
            if serde_json::to_string(&schema).map_or(true, |text| text.len() > MAX_SCHEMA) {
                return Err("its schema is larger than 64 KB");
            }
            Ok(schema)
        }
        Some(_) => Err("its schema is not an object"),
    }
}

/// A hash of the definition in which the order of keys does not count.
fn definition_hash(item: &Map<String, Value>) -> ContentHash {
    let told = ["name", "title", "description", "inputSchema", "annotations"];
    let told: Map<String, Value> =
        told.into_iter().filter_map(|key| Some((key.to_owned(), sorted(item.get(key)?)))).collect();
    ContentHash::of(Value::Object(told).to_string().as_bytes())
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> =
                map.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// The first `limit` bytes of a text, at a character's end.
pub(super) fn cut(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(tools: impl Into<Value>) -> McpToolPage {
        let tools: Value = tools.into();
        read_tool_page(&json!({"tools": tools})).unwrap()
    }

    #[test]
    fn one_bad_tool_leaves_the_others() {
        let page = page(json!([
            {"name": "good", "description": "does it", "inputSchema": {"type": "object", "properties": {"a": {}}},
             "annotations": {"readOnlyHint": true}},
            {"name": "none"},
            {"name": "null", "inputSchema": null, "annotations": "junk", "icons": 7},
            {"name": "untyped", "inputSchema": {"properties": {}}},
            {"name": "bool", "inputSchema": true},
            {"name": "array", "inputSchema": {"type": "array"}},
            {"name": "\u{1b}[31mred", "inputSchema": 1},
            {"inputSchema": {}},
            {"name": ""},
            "text",
            {"name": "huge", "inputSchema": {"description": "x".repeat(100_000)}},
        ]));
        let names: Vec<&str> = page.tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["good", "none", "null", "untyped"]);
        assert!(page.tools[0].claims_read_only && !page.tools[2].claims_read_only);
        assert_eq!(page.tools[1].input_schema, json!({"type": "object", "properties": {}}));
        assert_eq!(page.tools[3].input_schema["type"], "object");
        assert_eq!(page.dropped.len(), 7, "{:?}", page.dropped);
        assert!(page.dropped.iter().all(|it| !it.contains('\u{1b}')), "{:?}", page.dropped);
    }

    #[test]
    fn an_empty_cursor_is_the_end() {
        let reply = |cursor: Value| json!({"tools": [], "nextCursor": cursor});
        assert_eq!(read_tool_page(&reply("".into())).unwrap().cursor, None);
        assert_eq!(read_tool_page(&reply(7.into())).unwrap().cursor, None);
        assert_eq!(read_tool_page(&reply("n".into())).unwrap().cursor.as_deref(), Some("n"));
        assert!(read_tool_page(&json!({"tools": {}})).is_err());
        assert!(read_tool_page(&json!([])).is_err());
    }

    #[test]
    fn descriptions_are_short_and_harmless() {
        let long = format!("{}\u{202e}\u{1b}]0;x\u{7}", "ä".repeat(3000));
        let tool = &page(json!([{"name": "t", "description": long}])).tools[0];
        assert!(tool.description.len() <= MAX_DESCRIPTION);
        let tool = &page(json!([{"name": "t", "description": "a\u{202e}\u{1b}[1m"}])).tools[0];
        assert!(!tool.description.contains(['\u{202e}', '\u{1b}']), "{}", tool.description);
    }

    /// S93: each part of a definition counts, and the order of its keys does not.
    #[test]
    fn s93_the_hash_covers_the_definition_in_any_order() {
        let hash = |tool: Value| page(json!([tool])).tools[0].hash.clone();
        let base = json!({"name": "t", "description": "d", "inputSchema": {"type": "object", "x": {"a": 1, "b": 2}}});
        let again = json!({"inputSchema": {"x": {"b": 2, "a": 1}, "type": "object"}, "description": "d", "name": "t"});
        assert_eq!(hash(base.clone()), hash(again));
        let changes = [
            ("description", json!("d.")),
            ("title", json!("T")),
            ("annotations", json!({"readOnlyHint": true})),
            ("inputSchema", json!({"type": "object", "x": {"a": 1, "b": 3}})),
        ];
        for (key, value) in changes {
            let mut changed = base.clone();
            changed[key] = value;
            assert_ne!(hash(base.clone()), hash(changed), "{key}");
        }
    }
}
