//! Short titles: the few words that name a tool call, and paths and texts in short.

use std::path::Path;

use crate::domain::CallInput;
pub use crate::domain::first_line;
use crate::domain::sanitize::sanitize;
use crate::tools;

/// The title of a call on one line: the path it reads, the command it runs. Paths inside `cwd` are
/// relative.
pub fn title(name: &str, input: &CallInput, cwd: &Path) -> String {
    match input {
        CallInput::Valid(input) => tools::call_title(name, input, cwd),
        CallInput::Invalid(_) => "invalid JSON arguments".to_owned(),
    }
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
        let titled = |input| title("Bash", &input, Path::new("/w"));
        assert_eq!(titled(CallInput::Valid(json!({"command": "make\nls"}))), "make …");
        assert_eq!(titled(CallInput::Invalid("{".into())), "invalid JSON arguments");
    }

    #[test]
    fn home_is_a_tilde() {
        let home = Some(Path::new("/home/me"));
        assert_eq!(home_path(Path::new("/home/me/src"), home), "~/src");
        assert_eq!(home_path(Path::new("/home/me"), home), "~");
        assert_eq!(home_path(Path::new("/etc"), home), "/etc");
    }
}
