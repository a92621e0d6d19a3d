//! Rewrites the schema of a tool's arguments for Gemini, which refuses references.

use serde_json::{Map, Value};

/// The most levels of references that are followed; anything deeper becomes "any value".
const DEEPEST: usize = 16;

/// `schema` with each reference replaced by its definition. A definition that refers to itself
/// accepts any value at that place.
pub(super) fn inlined(schema: &Value) -> Value {
    GeminiSchemaInliner { root: schema, open: Vec::new() }.schema(schema)
}

struct GeminiSchemaInliner<'a> {
    root: &'a Value,
    /// The references that are being followed, to find cycles.
    open: Vec<&'a str>,
}

impl<'a> GeminiSchemaInliner<'a> {
    fn schema(&mut self, schema: &'a Value) -> Value {
        match schema {
            Value::Object(fields) => self.fields(fields),
            Value::Array(schemas) => schemas.iter().map(|it| self.schema(it)).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
        }
    }

    fn fields(&mut self, fields: &'a Map<String, Value>) -> Value {
        let mut out = match fields.get("$ref").and_then(Value::as_str) {
            Some(reference) => self.follow(reference),
            None => Map::new(),
        };
        for (key, value) in fields {
            let value = match key.as_str() {
                "$ref" | "$schema" | "$id" | "$defs" | "definitions" => continue,
                // The keys of these objects are the tool's names, not schema keywords.
                "properties" | "patternProperties" => match value.as_object() {
                    Some(named) => {
                        named.iter().map(|(name, it)| (name.clone(), self.schema(it))).collect()
                    }
                    None => value.clone(),
                },
                "const" | "enum" | "default" | "examples" => value.clone(),
                _ => self.schema(value),
            };
            out.insert(key.clone(), value);
        }
        Value::Object(out)
    }

    fn follow(&mut self, reference: &'a str) -> Map<String, Value> {
        let target = reference.strip_prefix('#').and_then(|path| self.root.pointer(path));
        let Some(target) = target else { return Map::new() };
        if self.open.contains(&reference) || self.open.len() >= DEEPEST {
            return Map::new();
        }
        self.open.push(reference);
        let found = self.schema(target);
        self.open.pop();
        match found {
            Value::Object(fields) => fields,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Map::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn definitions_stand_where_they_are_used() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "at": {"$ref": "#/$defs/place", "description": "Where."},
                "all": {"type": "array", "items": {"$ref": "#/$defs/place"}},
                "definitions": {"type": "string", "default": {"$ref": "text"}},
            },
            "additionalProperties": false,
            "$defs": {
                "place": {"type": "object", "properties": {"line": {"$ref": "#/$defs/line"}}},
                "line": {"type": "integer"},
            },
        });
        let place = json!({"type": "object", "properties": {"line": {"type": "integer"}}});
        let mut at = place.clone();
        at["description"] = json!("Where.");
        assert_eq!(
            inlined(&schema),
            json!({
                "type": "object",
                "properties": {
                    "at": at,
                    "all": {"type": "array", "items": place},
                    "definitions": {"type": "string", "default": {"$ref": "text"}},
                },
                "additionalProperties": false,
            })
        );
    }

    #[test]
    fn cyclic_and_unknown_references_accept_anything() {
        let schema = json!({
            "properties": {"tree": {"$ref": "#/$defs/tree"}, "lost": {"$ref": "other.json"}},
            "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
        });
        let tree = json!({"type": "array", "items": {}});
        assert_eq!(inlined(&schema), json!({"properties": {"tree": tree, "lost": {}}}));
    }
}
