//! Short titles: the few words that name a tool call, and paths and texts in short.

use std::path::Path;

use serde_json::Value;

use crate::domain::CallInput;
use crate::domain::sanitize::sanitize;

/// The title of a call on one line: the path it reads, the command it runs. Paths inside `cwd` are
/// relative.
pub fn title(name: &str, input: &CallInput, cwd: &Path) -> String {
    match input {
        CallInput::Valid(input) => of_tool(name, input, cwd),
        CallInput::Invalid(_) => "arguments that are not JSON".to_owned(),
    }
}

fn of_tool(name: &str, input: &Value, cwd: &Path) -> String {
    let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
    let path = |key: &str| shown_path(text(key), cwd);
    match name {
        "Read" => join(&[&path("file_path"), &lines(input)]),
        "Write" | "Edit" | "MultiEdit" => path("file_path"),
        "Bash" => first_line(text("command")),
        "Glob" => join(&[text("pattern"), &path("path")]),
        "Grep" => {
            let filter = [text("glob"), text("type")].into_iter().find(|text| !text.is_empty());
            let pattern = format!("{:?}", text("pattern"));
            join(&[&pattern, &path("path"), filter.unwrap_or_default()])
        }
        "TodoWrite" => plan(input),
        _ => anything(input),
    }
}

/// A path for display: relative if it is inside the working folder.
pub fn shown_path(path: &str, cwd: &Path) -> String {
    let inside = Path::new(path).strip_prefix(cwd).ok();
    inside.map_or_else(|| path.to_owned(), |inside| inside.display().to_string())
}

/// A path for display, with the home folder as `~`.
pub fn home_path(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(inside) if inside.as_os_str().is_empty() => "~".to_owned(),
        Some(inside) => format!("~/{}", inside.display()),
        None => path.display().to_string(),
    }
}

/// A whole path with every character visible: a space beside another one or at an end of a name as
/// `␠`, other blanks by their numbers, and control characters sanitized as everywhere.
pub fn visible_path(path: &str) -> String {
    let path = sanitize(path);
    let mut shown = String::with_capacity(path.len());
    let mut before = '/';
    let mut rest = path.chars().peekable();
    while let Some(c) = rest.next() {
        let after = rest.peek().copied().unwrap_or('/');
        match c {
            ' ' if [before, after].iter().any(|it| *it == '/' || it.is_whitespace()) => {
                shown.push('␠');
            }
            ' ' => shown.push(' '),
            '\n' => shown.push('␊'),
            '\t' => shown.push('␉'),
            _ if c.is_whitespace() => shown.push_str(&format!("‹U+{:04X}›", u32::from(c))),
            _ => shown.push(c),
        }
        before = c;
    }
    shown
}

/// The first line of a text, with ` …` if there are more.
pub fn first_line(text: &str) -> String {
    let text = text.trim();
    match text.split_once('\n') {
        Some((first, _)) => format!("{} …", first.trim_end()),
        None => text.to_owned(),
    }
}

fn lines(input: &Value) -> String {
    let number = |key: &str| input.get(key).and_then(Value::as_u64);
    match (number("offset"), number("limit")) {
        (None, None) => String::new(),
        (Some(from), None) => format!("{}-", from.max(1)),
        (None, Some(limit)) => format!("1-{limit}"),
        (Some(from), Some(limit)) => {
            let from = from.max(1);
            format!("{from}-{}", (from + limit).saturating_sub(1))
        }
    }
}

fn plan(input: &Value) -> String {
    let todos = input.get("todos").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let done = todos.iter().filter(|todo| todo.get("status") == Some(&"completed".into())).count();
    format!("{done} of {} done", todos.len())
}

fn anything(input: &Value) -> String {
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

fn join(parts: &[&str]) -> String {
    let parts: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_in_a_path_is_invisible() {
        for (path, shown) in [
            ("~/my notes/a b.md", "~/my notes/a b.md"),
            ("a  b/ c/d ", "a␠␠b/␠c/d␠"),
            ("a\tb\nc\u{3000}d\u{200b}", "a␉b␊c‹U+3000›d‹U+200B›"),
            ("a \u{a0}b", "a␠‹U+00A0›b"),
        ] {
            assert_eq!(visible_path(path), shown, "{path:?}");
        }
    }

    #[test]
    fn calls_have_titles_by_their_input() {
        let rows = [
            ("Read", json!({"file_path": "/w/src/cart.rs", "limit": 120}), "src/cart.rs 1-120"),
            ("Read", json!({"file_path": "/etc/hosts", "offset": 5, "limit": 2}), "/etc/hosts 5-6"),
            ("Edit", json!({"file_path": "/w/a.rs", "old_string": "x"}), "a.rs"),
            ("Bash", json!({"command": "cargo test\necho"}), "cargo test …"),
            ("Grep", json!({"pattern": "fn total", "path": "/w/src"}), "\"fn total\" src"),
            ("Glob", json!({"pattern": "**/*.rs"}), "**/*.rs"),
            ("TodoWrite", json!({"todos": [{"status": "completed"}, {}]}), "1 of 2 done"),
            ("Other", json!({"n": 1, "what": "this"}), "this"),
        ];
        for (name, input, want) in rows {
            let input = CallInput::Valid(input);
            assert_eq!(title(name, &input, Path::new("/w")), want);
        }
    }

    #[test]
    fn home_is_a_tilde() {
        let home = Some(Path::new("/home/me"));
        assert_eq!(home_path(Path::new("/home/me/src"), home), "~/src");
        assert_eq!(home_path(Path::new("/home/me"), home), "~");
        assert_eq!(home_path(Path::new("/etc"), home), "/etc");
    }
}
