//! JSON with comments and trailing commas, for files that users write. A text is read whole or not
//! at all.
//!
//! A key that occurs twice in one object is an error at any depth, because one of the two values
//! would be lost silently. Each value is reported with its line, counted from 1.

use std::collections::BTreeMap;
use std::fmt;

use jsonc_parser::ParseOptions;
use jsonc_parser::ast::{self, ObjectPropName};
use jsonc_parser::common::Range;
use serde_json::{Map, Value};

/// One step from a value to a value inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonPathStep {
    /// To the value of a key of an object.
    Key(String),
    /// To an item of an array, counted from 0.
    Index(usize),
}

/// The value of a text, with the line of each value.
#[derive(Debug, Clone, PartialEq)]
pub struct JsoncDocument {
    /// The value of the whole text.
    pub value: Value,
    lines: Vec<(Vec<JsonPathStep>, usize)>,
}

/// Why a text cannot be read, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsoncError {
    /// The line of the error, counted from 1.
    pub line: usize,
    /// The problem, without a full stop.
    pub text: String,
}

/// The extensions of JSON that are accepted: comments and trailing commas.
pub const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Reads a text, which may begin with a byte order mark.
///
/// # Errors
///
/// Fails if the text is empty or not JSON, or if a key occurs twice in an object. The error carries
/// the line.
pub fn parse(text: &str) -> Result<JsoncDocument, JsoncError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parsed = jsonc_parser::parse_to_ast(text, &Default::default(), &OPTIONS);
    let parsed = parsed.map_err(|error| JsoncError {
        line: error.line_display(),
        text: format!(
            "not valid JSON: {} at column {}",
            error.kind().to_string().to_lowercase(),
            error.column_display()
        ),
    })?;
    let mut reader = JsoncReader { text, path: Vec::new(), seen: (0, 1), lines: Vec::new() };
    let empty =
        || JsoncError { line: 1, text: "empty, which is not valid JSON: write `{}`".into() };
    let value = reader.value(parsed.value.ok_or_else(empty)?)?;
    Ok(JsoncDocument { value, lines: reader.lines })
}

impl JsoncDocument {
    /// The line of the first value at or below `path` that is not an object or array with values of
    /// its own.
    pub fn line(&self, path: &[JsonPathStep]) -> Option<usize> {
        self.lines.iter().find(|(to, _)| to.starts_with(path)).map(|(_, line)| *line)
    }
}

impl fmt::Display for JsoncError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (line {})", self.text, self.line)
    }
}

struct JsoncReader<'a> {
    text: &'a str,
    path: Vec<JsonPathStep>,
    /// An offset in the text and its line. Offsets only grow, so lines are counted once.
    seen: (usize, usize),
    lines: Vec<(Vec<JsonPathStep>, usize)>,
}

impl JsoncReader<'_> {
    fn value(&mut self, value: ast::Value<'_>) -> Result<Value, JsoncError> {
        Ok(match value {
            ast::Value::Object(object) => {
                self.mark_if(object.properties.is_empty(), object.range.start);
                let (mut fields, mut places) = (Map::new(), BTreeMap::new());
                for property in object.properties {
                    let line = self.line(property.range.start);
                    let name = match property.name {
                        ObjectPropName::String(name) => {
                            self.check_string(name.range)?;
                            name.value.into_owned()
                        }
                        ObjectPropName::Word(name) => name.value.to_owned(),
                    };
                    if let Some(first) = places.insert(name.clone(), line) {
                        let shown = name.escape_debug();
                        let text = format!(
                            "`{shown}` is here twice (first in line {first}), so one would be \
                             lost: merge them"
                        );
                        return Err(JsoncError { line, text });
                    }
                    self.path.push(JsonPathStep::Key(name.clone()));
                    fields.insert(name, self.value(property.value)?);
                    self.path.pop();
                }
                Value::Object(fields)
            }
            ast::Value::Array(array) => {
                self.mark_if(array.elements.is_empty(), array.range.start);
                let mut items = Vec::new();
                for (index, element) in array.elements.into_iter().enumerate() {
                    self.path.push(JsonPathStep::Index(index));
                    items.push(self.value(element)?);
                    self.path.pop();
                }
                Value::Array(items)
            }
            ast::Value::StringLit(text) => {
                self.mark_if(true, text.range.start);
                self.check_string(text.range)?;
                Value::String(text.value.into_owned())
            }
            ast::Value::NumberLit(number) => {
                self.mark_if(true, number.range.start);
                let line = self.line(number.range.start);
                let value = number.value.parse().map_err(|_| JsoncError {
                    line,
                    text: format!("`{}` is not a JSON number", number.value),
                })?;
                Value::Number(value)
            }
            ast::Value::BooleanLit(boolean) => {
                self.mark_if(true, boolean.range.start);
                Value::Bool(boolean.value)
            }
            ast::Value::NullKeyword(null) => {
                self.mark_if(true, null.range.start);
                Value::Null
            }
        })
    }

    /// A line break in a string usually means a missing quote. JSON forbids it, but the parser
    /// accepts it.
    fn check_string(&mut self, range: Range) -> Result<(), JsoncError> {
        let source = self.text.get(range.start..range.end).unwrap_or_default();
        if !source.contains(|c: char| c < ' ') {
            return Ok(());
        }
        let line = self.line(range.start);
        let text = "this text contains a line break or a tab, which JSON writes as `\\n` and \
            `\\t`";
        Err(JsoncError { line, text: text.to_owned() })
    }

    fn mark_if(&mut self, is_leaf: bool, at: usize) {
        let line = self.line(at);
        if is_leaf {
            self.lines.push((self.path.clone(), line));
        }
    }

    fn line(&mut self, at: usize) -> usize {
        let (from, line) = self.seen;
        let between = self.text.as_bytes().get(from..at).unwrap_or_default();
        self.seen = (at, line + between.iter().filter(|byte| **byte == b'\n').count());
        self.seen.1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn each_value_has_its_line() {
        let text = "\u{feff}{\n // one\n \"a\": [1,\n \"x\\\"]\", {\"b\":\nnull,}],\n\n\"c\": {} }";
        let document = parse(text).unwrap();
        assert_eq!(document.value, json!({"a": [1, "x\"]", {"b": null}], "c": {}}));
        let key = |name: &str| JsonPathStep::Key(name.into());
        for (path, line) in [
            (vec![], Some(3)),
            (vec![key("a"), JsonPathStep::Index(0)], Some(3)),
            (vec![key("a"), JsonPathStep::Index(1)], Some(4)),
            (vec![key("a"), JsonPathStep::Index(2)], Some(5)),
            (vec![key("c")], Some(7)),
            (vec![key("d")], None),
        ] {
            assert_eq!(document.line(&path), line, "{path:?}");
        }
    }

    #[test]
    fn ambiguous_text_is_an_error_with_its_line() {
        for (text, line, part) in [
            ("", 1, "empty"),
            ("// nothing\n", 1, "empty"),
            ("{\n\"a\": [1, 2\n", 2, "unterminated array"),
            ("{\n\"a\": 1,\n\n\"a\": 1}", 4, "`a` is here twice (first in line 2)"),
            ("{\"a\": 1, \"\\u0061\": 1}", 1, "twice"),
            ("[{\"b\": {}, \n\"b\": []}]", 2, "twice"),
            ("{\"a\": 'x'}", 1, "single-quoted"),
            ("{a: 1}", 1, "expected string"),
            ("{\"a\": 1 \"b\": 2}", 1, "expected comma"),
            ("{} {}", 1, "more than one"),
            ("{\"a\": 01}", 1, ""),
            ("{\n\"a\": \"b\n\"}", 2, "line break"),
            ("{\n\"a\tb\": 1}", 2, "line break"),
        ] {
            let mistake = parse(text).unwrap_err();
            assert_eq!(mistake.line, line, "{text}: {mistake}");
            assert!(mistake.text.contains(part), "{text}: {mistake}");
        }
    }

    #[test]
    fn deep_nesting_is_a_mistake_and_no_overflow() {
        assert!(parse(&"[".repeat(1_000_000)).is_err());
        let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
        std::thread::Builder::new()
            .stack_size(2 << 20)
            .spawn(move || assert!(parse(&deep).is_ok()))
            .unwrap()
            .join()
            .unwrap();
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(|it| json!(it)),
            any::<f64>().prop_map(|it| json!(it)),
            ".{0,8}".prop_map(Value::String),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                prop::collection::vec((".{0,4}", inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn json_reads_as_serde_reads_it(value in any_json(), pretty in any::<bool>()) {
            let text = if pretty { format!("{value:#}") } else { value.to_string() };
            let expected: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(parse(&text).map(|it| it.value), Ok(expected));
        }

        /// Without comments and trailing commas this parser accepts only JSON.
        #[test]
        fn what_serde_refuses_is_refused(text in "[\\[\\]{}\",:a1e.+\\-\\\\u\n\t ]{0,24}") {
            let lenient = text.replace(char::is_whitespace, "");
            if !lenient.contains(",]") && !lenient.contains(",}") && parse(&text).is_ok() {
                prop_assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text:?}");
            }
        }

        #[test]
        fn parsing_ends_on_any_text(text in "[\\[\\]{}\",:a1/*\\\\\n ]{0,60}") {
            let _ = parse(&text);
        }
    }
}
