//! Which tools of servers are in the tools array from the start of a session on: those of servers that are
//! always loaded, as they were accepted in an earlier run, because the array must not wait for a server
//! and must not change.
//!
//! A provider that refuses the schema of one tool refuses each request that has it in its array. So a
//! tool stays deferred where its schema has what providers are known to refuse, or it no longer fits.

use serde_json::Value;

use crate::domain::ToolSpec;
use crate::domain::sanitize::sanitize_line;

use super::servers::McpServers;
use super::tool::tool_spec;

/// The most bytes of definitions of all servers in the tools array, some 16,000 tokens. The log of each
/// session begins with them.
const MAX_LOADED: usize = 64 << 10;

/// The most tools of servers in the tools array: OpenAI takes 128 in all (its API reference, `tools`).
const MAX_TOOLS: usize = 100;

/// The longest name of an argument (Anthropic's API: `^[a-zA-Z0-9_.-]{1,64}$`).
const MAX_ARGUMENT_NAME: usize = 64;

/// What the array gets, and what the user is told of the rest.
#[derive(Debug, Default, PartialEq)]
pub struct AlwaysLoadedTools {
    /// By server and name.
    pub specs: Vec<ToolSpec>,
    /// Sentences.
    pub notices: Vec<String>,
}

impl McpServers {
    /// The tools that the sessions of this run have in their tools array.
    pub fn always_loaded(&self) -> AlwaysLoadedTools {
        let mut found = AlwaysLoadedTools::default();
        let (mut left, mut unknown) = (MAX_LOADED, Vec::new());
        for server in self.all() {
            let Some(earlier) = &server.earlier else { continue };
            let name = server.definition.name.as_str();
            if earlier.is_empty() {
                unknown.push(name);
            }
            let mut deferred = Vec::new();
            for tool in earlier.iter() {
                let size = tool.size();
                let fits = size <= left && found.specs.len() < MAX_TOOLS;
                if fits && is_taken_by_providers(&tool.input_schema) {
                    left -= size;
                    found.specs.push(tool_spec(name, tool));
                } else {
                    deferred.push(sanitize_line(&tool.name));
                }
            }
            if !deferred.is_empty() {
                found.notices.push(format!(
                    "These tools of the MCP server {name} are not in the tools array, because providers \
                     refuse their arguments, or they are too many or too long: {}. The model finds them \
                     with ToolSearch.",
                    deferred.join(", ")
                ));
            }
        }
        if !unknown.is_empty() {
            found.notices.push(format!(
                "slug does not know the tools of these MCP servers yet: {}. In this session the model \
                 finds them with ToolSearch; from the next start on they are in the tools array.",
                unknown.join(", ")
            ));
        }
        found
    }
}

/// Whether the schema of a tool's arguments has nothing that a provider is known to refuse in the tools
/// array: another form than an object at its top, names of arguments with other signs, lists of nothing.
fn is_taken_by_providers(schema: &Value) -> bool {
    const OTHER_FORMS: [&str; 6] = ["oneOf", "anyOf", "allOf", "not", "enum", "$ref"];
    OTHER_FORMS.iter().all(|key| schema.get(key).is_none()) && has_plain_parts(schema)
}

/// The recursion ends: the parser has bounded the depth.
fn has_plain_parts(schema: &Value) -> bool {
    let is_plain = |name: &str| {
        (1..=MAX_ARGUMENT_NAME).contains(&name.len())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
    };
    match schema {
        Value::Object(keys) => {
            let properties = keys.get("properties").and_then(Value::as_object);
            let is_list = keys.get("type").is_some_and(|kind| kind == "array");
            properties.into_iter().flatten().all(|(name, _)| is_plain(name))
                && (!is_list || keys.contains_key("items"))
                && keys.values().all(has_plain_parts)
        }
        Value::Array(items) => items.iter().all(has_plain_parts),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_that_a_provider_refuses_stays_out_of_the_array() {
        let with = |properties: Value| json!({"type": "object", "properties": properties});
        for (schema, is_taken) in [
            (json!({"type": "object"}), true),
            (with(json!({"a": {"type": "string", "enum": ["x"]}, "b.c-d_1": {}})), true),
            (with(json!({"a": {"oneOf": [{"type": "string"}, {"type": "null"}]}})), true),
            (with(json!({"a": {"type": "array", "items": {"type": "string"}}})), true),
            (with(json!({"a": {"type": "array"}})), false),
            (with(json!({"a": {"anyOf": [{"type": "array"}]}})), false),
            (with(json!({"a b": {}})), false),
            (with(json!({"": {}})), false),
            (with(json!({"a".repeat(65): {}})), false),
            (with(json!({"a": {"type": "object", "properties": {"$b": {}}}})), false),
            (json!({"type": "object", "anyOf": []}), false),
            (json!({"type": "object", "$ref": "#/$defs/x"}), false),
        ] {
            assert_eq!(is_taken_by_providers(&schema), is_taken, "{schema}");
        }
    }
}
