//! Call arguments that come in pieces, each with the path of its place.
//!
//! Vertex streams them only on request, and slug does not ask; a gateway may.

use serde_json::{Value, json};

/// A call whose arguments are still incomplete.
#[derive(Debug)]
pub(super) struct PartialFunctionCall {
    /// The number of the call in the response.
    pub(super) index: usize,
    arguments: Value,
}

impl PartialFunctionCall {
    /// A call without arguments so far.
    pub(super) fn of(index: usize) -> Self {
        Self { index, arguments: Value::Null }
    }

    /// Adds a piece. Pieces of a string are joined; any other value comes whole.
    pub(super) fn take(&mut self, piece: &Value) {
        let path = piece["jsonPath"].as_str();
        let Some(place) = path.and_then(|path| place(&mut self.arguments, path)) else { return };
        let whole = ["numberValue", "boolValue"].iter().find_map(|key| piece.get(key));
        match (place, piece["stringValue"].as_str(), whole) {
            (Value::String(text), Some(more), _) => text.push_str(more),
            (place, Some(text), _) => *place = text.into(),
            (place, None, Some(whole)) => *place = whole.clone(),
            // A null, which is the initial value.
            (_, None, None) => {}
        }
    }

    /// All arguments as JSON; `None` if there are none.
    pub(super) fn json(&self) -> Option<String> {
        (!self.arguments.is_null()).then(|| self.arguments.to_string())
    }
}

/// The place of a path like `$.files[0].name`, created if missing.
fn place<'a>(mut at: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    let mut rest = path.strip_prefix('$')?;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix('[') {
            let (key, behind) = behind.split_once(']')?;
            at = match key.parse() {
                Ok(number) => item(at, number)?,
                Err(_) => field(at, key.trim_matches(['\'', '"']))?,
            };
            rest = behind;
        } else {
            let name = rest.strip_prefix('.')?;
            let (name, behind) = name.split_at(name.find(['.', '[']).unwrap_or(name.len()));
            at = field(at, name)?;
            rest = behind;
        }
    }
    Some(at)
}

fn field<'a>(at: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    if at.is_null() {
        *at = json!({});
    }
    Some(at.as_object_mut()?.entry(name).or_insert(Value::Null))
}

/// The item with this number; items come in order, so at most one is added.
fn item(at: &mut Value, number: usize) -> Option<&mut Value> {
    if at.is_null() {
        *at = json!([]);
    }
    let items = at.as_array_mut()?;
    if number == items.len() {
        items.push(Value::Null);
    }
    items.get_mut(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_find_their_places() {
        let mut partial = PartialFunctionCall::of(0);
        for (path, key, value) in [
            ("$.files[0].name", "stringValue", json!("a.")),
            ("$.files[0].name", "stringValue", json!("rs")),
            ("$.files[1]['name']", "stringValue", json!("b")),
            ("$.deep", "boolValue", json!(true)),
            ("$.limit", "numberValue", json!(3)),
            ("$.rest", "nullValue", json!("NULL_VALUE")),
            ("$.files[9]", "numberValue", json!(1)),
            ("$.deep.er", "numberValue", json!(1)),
            ("files", "numberValue", json!(1)),
        ] {
            partial.take(&json!({"jsonPath": path, key: value}));
        }
        let expected = json!({"files": [{"name": "a.rs"}, {"name": "b"}], "deep": true,
                              "limit": 3, "rest": null});
        assert_eq!(partial.json(), Some(expected.to_string()));
        assert_eq!(PartialFunctionCall::of(0).json(), None);
    }
}
