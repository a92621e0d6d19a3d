//! The line with which the user sends a prompt of a server: `/server:prompt 12 why="it is slow"`.
//!
//! A word that begins with the name of an argument and `=` is that argument; another word is the first
//! argument that has none yet, and the last such argument takes all that is left. In double quotes a
//! backslash keeps a quote or a backslash as it is.

use std::collections::BTreeMap;

use super::names::model_server_name;
use super::offers::{McpPrompt, McpPromptArgument};

impl McpPrompt {
    /// The name of the slash command, without the slash.
    pub fn command(&self, server: &str) -> String {
        format!("{}:{}", model_server_name(server), self.typed)
    }

    /// The arguments by name, as they are written behind the command.
    ///
    /// # Errors
    ///
    /// When there are more than the prompt takes; a sentence.
    pub fn read_arguments(&self, written: &str) -> Result<BTreeMap<String, String>, String> {
        let mut values: BTreeMap<String, String> = BTreeMap::new();
        let mut rest = written.trim();
        while !rest.is_empty() {
            let mut free = self.arguments.iter().filter(|it| !values.contains_key(&it.name));
            let named = free.clone().find_map(|argument| {
                let value = rest.strip_prefix(argument.name.as_str())?.strip_prefix('=')?;
                Some((argument, value))
            });
            let (argument, value, left) = match (named, free.next(), free.next()) {
                (Some((argument, value)), _, _) => {
                    let (value, left) = first_value(value);
                    (argument, value, left)
                }
                (None, None, _) => {
                    let names: Vec<&str> = self.arguments.iter().map(|it| &*it.name).collect();
                    return Err(match names.is_empty() {
                        true => "It takes no arguments.".to_owned(),
                        false => format!("It takes no more than {}.", names.join(", ")),
                    });
                }
                (None, Some(last), None) if !rest.starts_with('"') => (last, rest.to_owned(), ""),
                (None, Some(next), _) => {
                    let (value, left) = first_value(rest);
                    (next, value, left)
                }
            };
            values.insert(argument.name.clone(), value);
            rest = left.trim_start();
        }
        Ok(values)
    }

    /// The arguments that the prompt needs and that have no value.
    pub fn missing(&self, values: &BTreeMap<String, String>) -> Vec<&McpPromptArgument> {
        let is_missing = |it: &&McpPromptArgument| {
            it.is_required && values.get(&it.name).is_none_or(|value| value.trim().is_empty())
        };
        self.arguments.iter().filter(is_missing).collect()
    }

    /// What to say of arguments that are missing; `None` where none is.
    pub fn complaint(&self, server: &str, values: &BTreeMap<String, String>) -> Option<String> {
        let missing = self.missing(values);
        let first = missing.first()?;
        let command = self.command(server);
        let names: Vec<String> = missing.iter().map(|it| format!("`{}`", it.name)).collect();
        Some(format!("/{command} needs {}: /{command} {}=VALUE", names.join(" and "), first.name))
    }

    /// The line that sends the prompt with these arguments.
    pub fn line(&self, server: &str, values: &BTreeMap<String, String>) -> String {
        let mut line = format!("/{}", self.command(server));
        for argument in &self.arguments {
            if let Some(value) = values.get(&argument.name).filter(|value| !value.is_empty()) {
                let is_plain = !value.contains(|c: char| c.is_whitespace() || c == '"');
                let value = match is_plain {
                    true => value.clone(),
                    false => format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")),
                };
                line.push_str(&format!(" {}={value}", argument.name));
            }
        }
        line
    }
}

/// The first value of a text, and what is behind it.
fn first_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let (mut value, mut is_escaped) = (String::new(), false);
    for (at, c) in quoted.char_indices() {
        match (is_escaped, c) {
            (true, '"' | '\\') => {
                value.push(c);
                is_escaped = false;
            }
            (true, _) => {
                value.extend(['\\', c]);
                is_escaped = false;
            }
            (false, '\\') => is_escaped = true,
            (false, '"') => return (value, &quoted[at + 1..]),
            (false, _) => value.push(c),
        }
    }
    if is_escaped {
        value.push('\\');
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn prompt(arguments: &[(&str, bool)]) -> McpPrompt {
        let argument = |(name, is_required): &(&str, bool)| McpPromptArgument {
            name: (*name).to_owned(),
            description: String::new(),
            is_required: *is_required,
        };
        McpPrompt {
            name: "re view".into(),
            typed: "re_view".into(),
            description: String::new(),
            arguments: arguments.iter().map(argument).collect(),
        }
    }

    #[test]
    fn arguments_are_read_by_name_or_in_order() {
        let two = prompt(&[("pr", true), ("why", false)]);
        for (written, wanted) in [
            ("", &[][..]),
            ("12", &[("pr", "12")]),
            ("12 it is slow", &[("pr", "12"), ("why", "it is slow")]),
            ("why=\"it is \\\"slow\\\"\" 12", &[("pr", "12"), ("why", "it is \"slow\"")]),
            ("pr=12 don't why=ask", &[("pr", "12"), ("why", "don't why=ask")]),
            ("\"a b\" \"c", &[("pr", "a b"), ("why", "c")]),
            ("pr= x", &[("pr", ""), ("why", "x")]),
            ("other=1", &[("pr", "other=1")]),
        ] {
            let wanted: BTreeMap<String, String> =
                wanted.iter().map(|(name, it)| ((*name).into(), (*it).into())).collect();
            assert_eq!(two.read_arguments(written), Ok(wanted), "{written}");
        }
        let error = two.read_arguments("pr=1 why=2 more").unwrap_err();
        assert_eq!(error, "It takes no more than pr, why.");
        assert_eq!(prompt(&[]).read_arguments("x").unwrap_err(), "It takes no arguments.");
    }

    #[test]
    fn missing_arguments_are_named() {
        let three = prompt(&[("pr", true), ("why", false), ("who", true)]);
        let values = three.read_arguments("pr=").unwrap();
        assert_eq!(
            three.complaint("my server", &values).unwrap(),
            "/my_server:re_view needs `pr` and `who`: /my_server:re_view pr=VALUE"
        );
        assert_eq!(three.complaint("s", &three.read_arguments("pr=1 who=2").unwrap()), None);
    }

    proptest! {
        #[test]
        fn a_line_is_read_as_it_was_written(a in "[ -~é\n]{0,12}", b in "[ -~é\n]{1,12}") {
            let two = prompt(&[("pr", true), ("why", false)]);
            let values: BTreeMap<String, String> = [("pr", a), ("why", b)]
                .into_iter()
                .filter(|(_, value)| !value.is_empty())
                .map(|(name, value)| (name.to_owned(), value))
                .collect();
            let line = two.line("s", &values);
            let written = line.strip_prefix("/s:re_view").unwrap();
            prop_assert_eq!(two.read_arguments(written), Ok(values));
        }
    }
}
