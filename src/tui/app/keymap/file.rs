//! Parses `keys.toml`: a table for each context, and in it the names of actions with their keys.
//!
//! ```toml
//! [chat]
//! sessions = ["ctrl+b", "alt+s"]
//! palette = []
//! ```
//!
//! The keys replace those that the action had. What cannot be parsed is left out with a remark that
//! names its line; the rest holds. Presets are written in the same format.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::chord::{KeySequence, suggestion};
use super::context::KeyContext;
use super::resolved_keymap::{KeyActionId, Keymap};
use crate::domain::nearest;

/// New keys for one action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeymapChange {
    pub(super) action: KeyActionId,
    /// The keys that replace the action's keys; empty for none.
    pub(super) keys: Vec<KeySequence>,
    /// The line in the file, from 1.
    pub(super) line: usize,
}

/// A part of the file that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeymapRemark {
    /// The line in the file, from 1.
    pub(super) line: usize,
    /// What is wrong, in a sentence.
    pub(super) text: String,
}

/// The content of a file, and what was left out of it.
#[derive(Debug, Default)]
pub(super) struct ParsedKeymap {
    pub(super) changes: Vec<KeymapChange>,
    pub(super) remarks: Vec<KeymapRemark>,
}

type KeymapValue<'a> = Spanned<DeValue<'a>>;

/// Parses a whole file; `map` provides the names of the actions.
pub(super) fn parse(text: &str, map: &Keymap) -> ParsedKeymap {
    let mut reader = KeymapReader { text, map, parsed: ParsedKeymap::default() };
    match DeTable::parse(text) {
        Ok(table) => reader.top(table.get_ref()),
        Err(error) => {
            let span = error.span().unwrap_or_default();
            let problem = error.message();
            reader.remark(
                span,
                format!(
                    "this is not valid TOML, so none of it applies: \
                {problem}"
                ),
            );
        }
    }
    let mut parsed = reader.parsed;
    parsed.changes.sort_by_key(|change| change.line);
    parsed.remarks.sort_by_key(|remark| remark.line);
    parsed
}

struct KeymapReader<'a> {
    text: &'a str,
    map: &'a Keymap,
    parsed: ParsedKeymap,
}

impl KeymapReader<'_> {
    fn top(&mut self, table: &DeTable<'_>) {
        for (name, value) in table {
            let Some(context) = KeyContext::named(name.get_ref()) else {
                let names = KeyContext::ALL.into_iter().map(KeyContext::name);
                self.unknown("context", name, nearest(name.get_ref(), names));
                continue;
            };
            match value.get_ref() {
                DeValue::Table(actions) => self.context(context, actions),
                _ => {
                    let name = context.name();
                    let text = format!(
                        "`{name}` must be a table: [{name}], with actions below \
                        it"
                    );
                    self.remark(value.span(), text);
                }
            }
        }
    }

    fn context(&mut self, context: KeyContext, actions: &DeTable<'_>) {
        for (name, value) in actions {
            let rows = self.map.rows(context);
            let Some(row) = rows.iter().find(|row| row.name == *name.get_ref().as_ref()) else {
                let names = rows.iter().map(|row| row.name.as_str());
                let near = nearest(name.get_ref(), names);
                self.unknown(&format!("action in [{}]", context.name()), name, near);
                continue;
            };
            let (action, line) = (row.id, self.line(name.span()));
            if let Some(keys) = self.keys(value) {
                self.parsed.changes.push(KeymapChange { action, keys, line });
            }
        }
    }

    /// The keys of an action. `None` if all of them are unreadable, so that a mistake removes no
    /// keys.
    fn keys(&mut self, value: &KeymapValue<'_>) -> Option<Vec<KeySequence>> {
        let written: Vec<&KeymapValue<'_>> = match value.get_ref() {
            DeValue::Array(values) => values.iter().collect(),
            _ => vec![value],
        };
        let mut keys = Vec::new();
        for value in &written {
            match value.get_ref() {
                DeValue::String(text) => match text.parse::<KeySequence>() {
                    Ok(sequence) => keys.push(sequence),
                    Err(error) => self.remark(value.span(), error.to_string()),
                },
                _ => {
                    let text = "keys are written as [\"ctrl+b\", \"g g\"], or as [] for none";
                    self.remark(value.span(), text.to_owned());
                }
            }
        }
        (written.is_empty() || !keys.is_empty()).then_some(keys)
    }

    fn unknown(
        &mut self,
        what: &str,
        name: &Spanned<std::borrow::Cow<'_, str>>,
        near: Option<&str>,
    ) {
        let shown = name.get_ref().escape_debug();
        let text = format!("there is no {what} called `{shown}`{}", suggestion(near));
        self.remark(name.span(), text);
    }

    fn remark(&mut self, span: Range<usize>, text: String) {
        let line = self.line(span);
        self.parsed.remarks.push(KeymapRemark { line, text });
    }

    fn line(&self, span: Range<usize>) -> usize {
        let before = self.text.as_bytes().get(..span.start).unwrap_or_default();
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tui::app::keymap::ChatKey;

    fn remarks(text: &str) -> Vec<(usize, String)> {
        let parsed = parse(text, &Keymap::default());
        parsed.remarks.into_iter().map(|remark| (remark.line, remark.text)).collect()
    }

    #[test]
    fn an_action_gets_the_keys_that_are_written() {
        let text = "[chat]\nsessions = [\"f2\", \"ctrl+x s\"]\npalette = \"f3\"\nhelp = []\n";
        let map = Keymap::default();
        let parsed = parse(text, &map);
        assert_eq!(parsed.remarks, []);
        let sequence = |text: &str| text.parse::<KeySequence>().unwrap();
        let row = |action| map.row(action).unwrap().id;
        let wanted = [
            (row(ChatKey::Sessions), vec![sequence("f2"), sequence("ctrl+x s")], 2),
            (row(ChatKey::Palette), vec![sequence("f3")], 3),
            (row(ChatKey::Help), Vec::new(), 4),
        ];
        let wanted = wanted.map(|(action, keys, line)| KeymapChange { action, keys, line });
        assert_eq!(parsed.changes, wanted);
    }

    #[test]
    fn unknown_names_are_reported_with_line_and_nearest_name() {
        let rows = [
            (
                "\n[chats]\nhelp = \"f2\"",
                2,
                "there is no context called `chats`: did you mean `chat`?",
            ),
            (
                "[chat]\nsesions = \"f2\"",
                2,
                "there is no action in [chat] called `sesions`: did you mean `sessions`?",
            ),
            ("[chat]\nhelp = \"entr\"", 2, "there is no key `entr`: did you mean `enter`?"),
            ("[chat]\nhelp = 3", 2, "keys are written as [\"ctrl+b\", \"g g\"], or as [] for none"),
            ("chat = 3", 1, "`chat` must be a table: [chat], with actions below it"),
            ("[chat]\nqqqqqq = \"f2\"", 2, "there is no action in [chat] called `qqqqqq`"),
        ];
        for (text, line, message) in rows {
            assert_eq!(remarks(text), [(line, message.to_owned())], "{text}");
        }
        assert!(remarks("[chat")[0].1.starts_with("this is not valid TOML, so none of it applies"));
    }

    #[test]
    fn an_unreadable_key_removes_no_other_key() {
        let map = Keymap::default();
        assert_eq!(parse("[chat]\nhelp = [\"entr\"]", &map).changes, []);
        assert_eq!(parse("[chat]\nhelp = [\"entr\", \"f2\"]", &map).changes.len(), 1);
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_without_a_panic(text in "\\PC{0,80}") {
            parse(&text, &Keymap::default());
            parse(&format!("[chat]\nhelp = {text}"), &Keymap::default());
        }
    }
}
