//! What a call is about in a few words, and parts that the tools make such titles of.

use std::path::Path;

use serde_json::Value;

use crate::domain::first_line;

/// A path for display: relative if it is inside the working folder.
pub(super) fn shown_path(path: &str, cwd: &Path) -> String {
    let inside = Path::new(path).strip_prefix(cwd).ok();
    inside.map_or_else(|| path.to_owned(), |inside| inside.display().to_string())
}

/// An argument that is a text; empty where it is absent or something else.
pub(super) fn text<'a>(input: &'a Value, name: &str) -> &'a str {
    input.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The lines that `offset` and `limit` ask for: `5-`, `1-120`.
pub(super) fn lines(input: &Value) -> String {
    let number = |key: &str| input.get(key).and_then(Value::as_u64);
    match (number("offset"), number("limit")) {
        (None, None) => String::new(),
        (Some(from), None) => format!("{}-", from.max(1)),
        (None, Some(limit)) => format!("1-{limit}"),
        (Some(from), Some(limit)) => {
            let from = from.max(1);
            format!("{from}-{}", from.saturating_add(limit).saturating_sub(1))
        }
    }
}

/// The parts that are not empty, a space between them.
pub(super) fn join(parts: &[&str]) -> String {
    let parts: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

/// The first argument that is a text: the title of a call whose tool says nothing better.
pub(super) fn first_text(input: &Value) -> String {
    match input {
        Value::Object(fields) => {
            let first = fields.values().find_map(Value::as_str);
            first.map(first_line).unwrap_or_default()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            String::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_without_an_end_are_told_as_they_are() {
        let all = json!({"offset": u64::MAX, "limit": u64::MAX});
        assert_eq!(lines(&all), format!("{}-{}", u64::MAX, u64::MAX - 1));
        assert_eq!(lines(&json!({"offset": 0, "limit": 2})), "1-2");
    }
}
