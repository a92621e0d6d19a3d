//! Reads the lists that servers send, item by item: one that cannot be used is named and left out, and
//! the others stay. What an item of tools is, is here; `offers` has resources and prompts.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::domain::ContentHash;
use crate::domain::sanitize::{sanitize, sanitize_line};

/// The most bytes of a description or of a server's instructions that models are shown.
pub(super) const MAX_DESCRIPTION: usize = 2048;

/// The most bytes of a tool's schema: no real one comes near.
const MAX_SCHEMA: usize = 64 * 1024;

/// The most tools of one server that are taken in.
const MAX_TOOLS: usize = 2000;

/// The most sentences about items that were left out of a list; the others are counted.
const MAX_DROPPED: usize = 50;

/// The most characters of a tool's name: the protocol's own limit (2025-11-25, "Tool Names").
pub(super) const MAX_RAW_NAME: usize = 128;

/// A tool as its server defines it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

impl McpToolDefinition {
    /// About how many bytes a model reads of it.
    pub(super) fn size(&self) -> usize {
        self.name.len() + self.description.len() + self.input_schema.to_string().len()
    }
}

/// What was read of a page of a list.
#[derive(Debug, PartialEq)]
pub struct McpListPage<T> {
    pub items: Vec<T>,
    /// A sentence for each item that was left out.
    pub dropped: Vec<String>,
    /// Where the next page begins.
    pub cursor: Option<String>,
}

/// A kind of list, and how an item of it is read.
pub(super) struct McpListKind<T> {
    /// The key of the list in a reply.
    pub(super) key: &'static str,
    /// One item of it, for sentences.
    pub(super) noun: &'static str,
    /// What tells one item from the others.
    pub(super) id: fn(&T) -> &str,
    pub(super) read: fn(&Value) -> Result<T, &'static str>,
    /// The most items of one server that are taken in.
    pub(super) limit: usize,
}

/// The list of `tools/list`.
pub(super) const TOOL_LIST: McpListKind<McpToolDefinition> = McpListKind {
    key: "tools",
    noun: "tool",
    id: |tool| &tool.name,
    read: read_tool,
    limit: MAX_TOOLS,
};

impl<T> McpListKind<T> {
    /// Reads one page.
    ///
    /// # Errors
    ///
    /// When the reply holds no such list; a phrase.
    pub(super) fn page(&self, reply: &Value) -> Result<McpListPage<T>, String> {
        let Some(items) = reply.get(self.key).and_then(Value::as_array) else {
            return Err(format!("the reply holds no list of {}s", self.noun));
        };
        let cursor = reply.get("nextCursor").and_then(Value::as_str);
        let cursor = cursor.filter(|cursor| !cursor.is_empty()).map(str::to_owned);
        let mut page = McpListPage { items: Vec::new(), dropped: Vec::new(), cursor };
        for (at, item) in items.iter().enumerate() {
            match (self.read)(item) {
                Ok(read) => page.items.push(read),
                Err(why) => {
                    let name = item.get("name").and_then(Value::as_str);
                    let name = name.map_or_else(|| format!("number {}", at + 1), quoted);
                    page.dropped.push(format!("The {} {name} was left out: {why}.", self.noun));
                }
            }
        }
        Ok(page)
    }
}

/// Puts page after page together, as far as the bounds go.
pub(super) struct McpList<T> {
    kind: McpListKind<T>,
    items: Vec<T>,
    dropped: Vec<String>,
    /// How many sentences about items that were left out are not in `dropped`.
    untold: usize,
    ids: HashSet<String>,
    cursors: HashSet<String>,
}

impl<T> McpList<T> {
    pub(super) fn new(kind: McpListKind<T>) -> Self {
        let (items, dropped, untold) = (Vec::new(), Vec::new(), 0);
        Self { kind, items, dropped, untold, ids: HashSet::new(), cursors: HashSet::new() }
    }

    /// Adds a page, and returns where the next one begins; `None` at the end, and where a server
    /// goes in circles.
    ///
    /// # Errors
    ///
    /// When the reply holds no such list; a phrase.
    pub(super) fn add(&mut self, reply: &Value) -> Result<Option<String>, String> {
        let page = self.kind.page(reply)?;
        let (noun, limit) = (self.kind.noun, self.kind.limit);
        for why in page.dropped {
            self.drop_item(why);
        }
        for item in page.items {
            let id = (self.kind.id)(&item);
            if self.ids.contains(id) {
                self.drop_item(format!("A second {noun} {} was left out.", quoted(id)));
            } else if self.items.len() < limit {
                self.ids.insert(id.to_owned());
                self.items.push(item);
            } else {
                self.drop_item(format!("Only {limit} {noun}s were taken in."));
                return Ok(None);
            }
        }
        Ok(page.cursor.filter(|next| self.cursors.insert(next.clone())))
    }

    fn drop_item(&mut self, why: String) {
        match self.dropped.len() < MAX_DROPPED {
            true => self.dropped.push(why),
            false => self.untold += 1,
        }
    }

    /// The items, and a sentence for each that was left out.
    pub(super) fn finish(mut self) -> (Vec<T>, Vec<String>) {
        if self.untold > 0 {
            let (untold, noun) = (self.untold, self.kind.noun);
            self.dropped.push(format!("{untold} more {noun}s were left out."));
        }
        (self.items, self.dropped)
    }
}

fn quoted(name: &str) -> String {
    format!("{:?}", cut(&sanitize_line(name), 80))
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

    fn page(tools: impl Into<Value>) -> McpListPage<McpToolDefinition> {
        let tools: Value = tools.into();
        TOOL_LIST.page(&json!({"tools": tools})).unwrap()
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
        let names: Vec<&str> = page.items.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["good", "none", "null", "untyped"]);
        assert!(page.items[0].claims_read_only && !page.items[2].claims_read_only);
        assert_eq!(page.items[1].input_schema, json!({"type": "object", "properties": {}}));
        assert_eq!(page.items[3].input_schema["type"], "object");
        assert_eq!(page.dropped.len(), 7, "{:?}", page.dropped);
        assert!(page.dropped.iter().all(|it| !it.contains('\u{1b}')), "{:?}", page.dropped);
    }

    #[test]
    fn an_empty_cursor_is_the_end() {
        let reply = |cursor: Value| json!({"tools": [], "nextCursor": cursor});
        assert_eq!(TOOL_LIST.page(&reply("".into())).unwrap().cursor, None);
        assert_eq!(TOOL_LIST.page(&reply(7.into())).unwrap().cursor, None);
        assert_eq!(TOOL_LIST.page(&reply("n".into())).unwrap().cursor.as_deref(), Some("n"));
        assert!(TOOL_LIST.page(&json!({"tools": {}})).is_err());
        assert!(TOOL_LIST.page(&json!([])).is_err());
    }

    #[test]
    fn a_list_is_bounded_whatever_a_server_sends() {
        let mut list = McpList::new(TOOL_LIST);
        let bad: Vec<Value> = (0..60).map(|_| json!({"inputSchema": {}})).collect();
        let reply = json!({"tools": bad, "nextCursor": "two"});
        assert_eq!(list.add(&reply).unwrap().as_deref(), Some("two"));
        let twice = json!({"tools": [{"name": "a"}, {"name": "a"}], "nextCursor": "two"});
        assert_eq!(list.add(&twice).unwrap(), None, "a cursor that comes again ends the list");
        let many: Vec<Value> =
            (0..=MAX_TOOLS).map(|at| json!({"name": format!("t{at}")})).collect();
        assert_eq!(list.add(&json!({"tools": many, "nextCursor": "three"})).unwrap(), None);
        let (items, dropped) = list.finish();
        assert_eq!((items.len(), dropped.len()), (MAX_TOOLS, MAX_DROPPED + 1));
        assert_eq!(dropped.last().unwrap(), "12 more tools were left out.");
    }

    #[test]
    fn descriptions_are_short_and_harmless() {
        let long = format!("{}\u{202e}\u{1b}]0;x\u{7}", "ä".repeat(3000));
        let tool = &page(json!([{"name": "t", "description": long}])).items[0];
        assert!(tool.description.len() <= MAX_DESCRIPTION);
        let tool = &page(json!([{"name": "t", "description": "a\u{202e}\u{1b}[1m"}])).items[0];
        assert!(!tool.description.contains(['\u{202e}', '\u{1b}']), "{}", tool.description);
    }

    /// S93: each part of a definition counts, and the order of its keys does not.
    #[test]
    fn s93_the_hash_covers_the_definition_in_any_order() {
        let hash = |tool: Value| page(json!([tool])).items[0].hash.clone();
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
