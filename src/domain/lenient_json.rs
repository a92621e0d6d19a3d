//! JSON as models write it: accepted if its meaning is certain, otherwise refused with the place of
//! the mistake.
//!
//! Beyond JSON this reader accepts commas before a closing bracket, single quotes, keys without
//! quotes, Python's `True`, `False` and `None`, line breaks in strings, backslashes that begin no
//! escape, and a code fence or words around the one object. It never completes a text that breaks
//! off, and never guesses: a missing comma, a bare word or a quote inside a string is an error.
//! Neither does it read more values than `json_values` takes.
//! Every valid document reads as `serde_json` reads it.

use std::fmt;

use serde_json::{Map, Number, Value};

use super::json_values::{MAX_JSON_VALUES, has_more_values};

/// The most levels of nesting that are read.
const MAX_DEPTH: usize = 100;

/// Why a text cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LenientJsonError {
    /// The text ends before the value is complete.
    Truncated,
    /// It has more than [`MAX_JSON_VALUES`].
    TooManyValues,
    /// There is a mistake at one place.
    Syntax(LenientSyntaxError),
}

/// A mistake and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LenientSyntaxError {
    /// Counted from 1.
    line: usize,
    /// In characters, counted from 1.
    column: usize,
    expected: &'static str,
    found: String,
}

impl fmt::Display for LenientJsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => write!(f, "they break off before the object is closed"),
            Self::TooManyValues => write!(f, "they have more than {MAX_JSON_VALUES} values"),
            Self::Syntax(LenientSyntaxError { line, column, expected, found }) => {
                write!(f, "at line {line}, column {column}: expected {expected}, found {found}")
            }
        }
    }
}

/// Reads the one object in `text`, which may have words or a code fence around it.
///
/// # Errors
///
/// Fails with `Truncated` if the object breaks off, with `TooManyValues` if it has more than
/// [`MAX_JSON_VALUES`], and with `Syntax` if there is no object, more than one value, or a mistake in it.
pub fn parse_object(text: &str) -> Result<Map<String, Value>, LenientJsonError> {
    // Where this counts too many in a text that is no JSON, the reader below counts what it reads.
    if !has_more_values(text.as_bytes(), MAX_JSON_VALUES) {
        match serde_json::from_str(text) {
            Ok(Value::Object(fields)) => return Ok(fields),
            // A model sometimes writes the object as a JSON string.
            Ok(Value::String(inner)) => return parse_object(&inner),
            Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) | Err(_) => {}
        }
    }
    let Some(start) = text.find(['{', '[', '"']) else {
        return Err(syntax_error(text, 0, "an object"));
    };
    if !text[start..].starts_with('{') {
        return Err(syntax_error(text, start, "an object"));
    }
    let (value, end) = parse_value(text, start)?;
    if let Some(more) = text[end..].find(['{', '[', '"']) {
        return Err(syntax_error(text, end + more, "nothing behind the object"));
    }
    match value {
        Value::Object(fields) => Ok(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(syntax_error(text, start, "an object"))
        }
    }
}

/// Reads the value that begins at byte `start`, and returns it with the offset behind it.
///
/// # Errors
///
/// Fails with `Truncated` if the text ends within the value, with `TooManyValues` if it has more than
/// [`MAX_JSON_VALUES`], and with `Syntax` at a mistake.
pub fn parse_value(text: &str, start: usize) -> Result<(Value, usize), LenientJsonError> {
    let mut reader = LenientJsonReader { text, at: start, depth: 0, values: 0 };
    reader.skip_space();
    let value = reader.value()?;
    Ok((value, reader.at))
}

fn syntax_error(text: &str, at: usize, expected: &'static str) -> LenientJsonError {
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let excerpt: String = text[at..].chars().take(20).collect();
    LenientJsonError::Syntax(LenientSyntaxError {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        expected,
        found: match excerpt.is_empty() {
            true => "the end".to_owned(),
            false => format!("`{}`", excerpt.escape_debug()),
        },
    })
}

struct LenientJsonReader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// How many values have begun.
    values: usize,
}

/// The kinds of escapes in a string, by which its meaning is judged.
#[derive(Default)]
struct StringEscapes {
    /// A backslash that begins no escape and so stands for itself.
    stray: bool,
    /// `\b` or `\f`. Beside a stray backslash this is more likely a regex's word boundary or a
    /// path.
    rare: bool,
    /// `\n`, `\r` or `\t`.
    blank: bool,
}

impl LenientJsonReader<'_> {
    fn value(&mut self) -> Result<Value, LenientJsonError> {
        self.values += 1;
        if self.values > MAX_JSON_VALUES {
            return Err(LenientJsonError::TooManyValues);
        }
        match self.peek()? {
            '{' => self.nested(Self::fields),
            '[' => self.nested(Self::items),
            quote @ ('"' | '\'') => self.string(quote).map(Value::String),
            '-' | '0'..='9' => self.number(),
            _ => self.word(),
        }
    }

    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<Value, LenientJsonError>,
    ) -> Result<Value, LenientJsonError> {
        if self.depth == MAX_DEPTH {
            return Err(self.wrong("less nesting"));
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn fields(&mut self) -> Result<Value, LenientJsonError> {
        let mut fields = Map::new();
        loop {
            self.skip_space();
            if self.eat('}') {
                return Ok(Value::Object(fields));
            }
            let key = self.key()?;
            self.skip_space();
            if !self.eat(':') {
                return Err(self.missing("`:` behind the key"));
            }
            self.skip_space();
            let value = self.value()?;
            fields.insert(key, value);
            self.skip_space();
            if !self.eat(',') && self.peek()? != '}' {
                return Err(self.wrong("`,` or `}` behind the value"));
            }
        }
    }

    fn items(&mut self) -> Result<Value, LenientJsonError> {
        let mut items = Vec::new();
        loop {
            self.skip_space();
            if self.eat(']') {
                return Ok(Value::Array(items));
            }
            items.push(self.value()?);
            self.skip_space();
            if !self.eat(',') && self.peek()? != ']' {
                return Err(self.wrong("`,` or `]` behind the value"));
            }
        }
    }

    fn key(&mut self) -> Result<String, LenientJsonError> {
        if let quote @ ('"' | '\'') = self.peek()? {
            return self.string(quote);
        }
        let word = self.text[self.at..].split(|c: char| !is_word(c)).next().unwrap_or_default();
        if word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            return Err(self.wrong("a key in double quotes"));
        }
        self.at += word.len();
        Ok(word.to_owned())
    }

    fn number(&mut self) -> Result<Value, LenientJsonError> {
        let rest = &self.text[self.at..];
        let length = rest
            .find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'))
            .unwrap_or(rest.len());
        match serde_json::from_str::<Number>(&rest[..length]) {
            Ok(number) => {
                self.at += length;
                Ok(Value::Number(number))
            }
            Err(_) if length == rest.len() => Err(LenientJsonError::Truncated),
            Err(_) => Err(self.wrong("a number")),
        }
    }

    fn word(&mut self) -> Result<Value, LenientJsonError> {
        let rest = &self.text[self.at..];
        let word = rest.split(|c: char| !is_word(c)).next().unwrap_or_default();
        let value = match word {
            "true" | "True" => Value::Bool(true),
            "false" | "False" => Value::Bool(false),
            "null" | "None" => Value::Null,
            _ if !word.is_empty()
                && word.len() == rest.len()
                && ["true", "True", "false", "False", "null", "None"]
                    .iter()
                    .any(|whole| whole.starts_with(word)) =>
            {
                return Err(LenientJsonError::Truncated);
            }
            _ => return Err(self.wrong("a value (text in double quotes)")),
        };
        self.at += word.len();
        Ok(value)
    }

    fn string(&mut self, quote: char) -> Result<String, LenientJsonError> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        let mut escapes = StringEscapes::default();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find([quote, '\\']).ok_or(LenientJsonError::Truncated)?;
            text.push_str(&rest[..plain]);
            self.at += plain + 1;
            if rest[plain..].starts_with(quote) {
                break;
            }
            self.escape(quote, &mut text, &mut escapes)?;
        }
        let drive = text.as_bytes().get(1) == Some(&b':');
        if escapes.stray && (escapes.rare || (drive && escapes.blank)) {
            self.at = start;
            return Err(self.wrong(r"every backslash in this text written as `\\`"));
        }
        Ok(text)
    }

    /// Reads the rest of an escape, behind the backslash.
    fn escape(
        &mut self,
        quote: char,
        text: &mut String,
        seen: &mut StringEscapes,
    ) -> Result<(), LenientJsonError> {
        let letter = self.peek()?;
        let meant = match letter {
            '"' | '\\' | '/' => letter,
            '\'' if quote == '\'' => letter,
            'n' | 'r' | 't' => {
                seen.blank = true;
                match letter {
                    'n' => '\n',
                    'r' => '\r',
                    _ => '\t',
                }
            }
            'b' | 'f' => {
                seen.rare = true;
                if letter == 'b' { '\u{8}' } else { '\u{c}' }
            }
            'u' => match self.code_point()? {
                Some(meant) => {
                    text.push(meant);
                    return Ok(());
                }
                None => {
                    seen.stray = true;
                    text.push('\\');
                    return Ok(());
                }
            },
            _ => {
                seen.stray = true;
                text.push('\\');
                return Ok(());
            }
        };
        text.push(meant);
        self.at += letter.len_utf8();
        Ok(())
    }

    /// The character of a `\u` escape; `None` if no digits follow.
    fn code_point(&mut self) -> Result<Option<char>, LenientJsonError> {
        let Some(first) = hex(self.text.get(self.at..self.at + 5), 'u') else {
            return match self.text.len() - self.at < 5 {
                true => Err(LenientJsonError::Truncated),
                false => Ok(None),
            };
        };
        if let Some(letter) = char::from_u32(first) {
            self.at += 5;
            return Ok(Some(letter));
        }
        let low = self.text.get(self.at + 5..self.at + 11).and_then(|it| it.strip_prefix('\\'));
        let letter = hex(low, 'u')
            .and_then(|second| char::decode_utf16([unit(first), unit(second)]).next()?.ok());
        match letter {
            Some(letter) => {
                self.at += 11;
                Ok(Some(letter))
            }
            None if self.text.len() - self.at < 11 => Err(LenientJsonError::Truncated),
            None => Err(self.wrong("a whole surrogate pair")),
        }
    }

    fn skip_space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn eat(&mut self, letter: char) -> bool {
        let found = self.text[self.at..].starts_with(letter);
        if found {
            self.at += letter.len_utf8();
        }
        found
    }

    fn peek(&self) -> Result<char, LenientJsonError> {
        self.text[self.at..].chars().next().ok_or(LenientJsonError::Truncated)
    }

    fn missing(&self, expected: &'static str) -> LenientJsonError {
        if self.at == self.text.len() { LenientJsonError::Truncated } else { self.wrong(expected) }
    }

    fn wrong(&self, expected: &'static str) -> LenientJsonError {
        syntax_error(self.text, self.at, expected)
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-' | '$')
}

/// The value of four hexadecimal digits at the start of `text`, behind `letter`.
fn hex(text: Option<&str>, letter: char) -> Option<u32> {
    let digits = text?.strip_prefix(letter)?;
    digits.bytes().all(|it| it.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

/// Four hexadecimal digits always fit into 16 bits.
fn unit(digits: u32) -> u16 {
    u16::try_from(digits).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn flaws_with_one_meaning_are_mended() {
        let table = [
            (r#"{"a": 1,}"#, json!({"a": 1})),
            (r#"{"a": [1, 2,], "b": {},}"#, json!({"a": [1, 2], "b": {}})),
            ("{'a': 'it is \"so\"'}", json!({"a": "it is \"so\""})),
            (r"{'a': 'it\'s'}", json!({"a": "it's"})),
            ("{path: \"x\", limit-1: 2}", json!({"path": "x", "limit-1": 2})),
            (r#"{"a": True, "b": False, "c": None}"#, json!({"a": true, "b": false, "c": null})),
            ("{\"a\": \"one\ntwo\tthree\"}", json!({"a": "one\ntwo\tthree"})),
            (r#"{"a": "\d+\s\w"}"#, json!({"a": r"\d+\s\w"})),
            (r#"{"a": "C:\Users\x"}"#, json!({"a": r"C:\Users\x"})),
            (r#"{"a": "C:\users"}"#, json!({"a": r"C:\users"})),
            (r#"{"a": "\$HOME\n"}"#, json!({"a": "\\$HOME\n"})),
            ("```json\n{\"a\": 1}\n```", json!({"a": 1})),
            ("```\n{\"a\": 1}", json!({"a": 1})),
            ("Here they are: {\"a\": 1}. That is all.", json!({"a": 1})),
            ("{\"a\": 1}}", json!({"a": 1})),
            (r#""{\"a\": 1}""#, json!({"a": 1})),
            ("{a: \"\\ud83d\\ude00\\u00e9\"}", json!({"a": "😀é"})),
        ];
        for (text, expected) in table {
            assert_eq!(parse_object(text).map(Value::Object), Ok(expected), "{text}");
        }
    }

    #[test]
    fn truncated_json_is_not_completed() {
        let whole = "{'a': [1, 2.5, {\"b\": \"x\\u00e9\\\"y\"}], c: True, 'd': None, }";
        assert!(parse_object(whole).is_ok());
        for (cut, _) in whole.char_indices().skip(1) {
            assert_eq!(
                parse_object(&whole[..cut]),
                Err(LenientJsonError::Truncated),
                "{}",
                &whole[..cut]
            );
        }
    }

    #[test]
    fn ambiguous_json_is_refused_with_its_place() {
        let table = [
            ("", "line 1, column 1: expected an object, found the end"),
            ("[1]", "line 1, column 1: expected an object, found `[1]`"),
            ("\"ls\"", "column 1: expected an object, found `ls`"),
            ("ls -la", "column 1: expected an object, found `ls -la`"),
            ("{\"a\": 1 \"b\": 2}", "column 9: expected `,` or `}` behind the value"),
            ("{\"a\": \"say \"hi\" now\"}", "column 13: expected `,` or `}` behind the value"),
            ("{\n  \"a\" 1}", "line 2, column 7: expected `:` behind the key, found `1}`"),
            ("{\"a\": yes}", "column 7: expected a value (text in double quotes), found `yes}`"),
            ("{\"a\": 01}", "column 7: expected a number"),
            ("{1: 2}", "column 2: expected a key in double quotes"),
            ("{\"a\": 1} {\"a\": 2}", "column 10: expected nothing behind the object"),
            (r#"{"a": "\bword\s"}"#, r"every backslash in this text written as `\\`"),
            (r#"{"a": "C:\dir\new"}"#, r"every backslash in this text written as `\\`"),
            (r#"{"a": "\ud800 x    "}"#, "a whole surrogate pair"),
        ];
        for (text, expected) in table {
            let flaw = parse_object(text).unwrap_err().to_string();
            assert!(flaw.contains(expected), "{text}: {flaw}");
        }
        assert!(matches!(parse_object(&"{\"a\":".repeat(1000)), Err(LenientJsonError::Syntax(_))));
    }

    #[test]
    fn more_values_than_any_call_has_are_refused_however_they_are_written() {
        let many = "0,".repeat(MAX_JSON_VALUES);
        let inner = Value::from(format!("{{\"a\": [{many}0]}}")).to_string();
        for text in [
            format!("{{\"a\": [{many}0]}}"),
            format!("{{\"a\": [{many}]}}"),
            // What one reader takes for the inside of a string, the other reads.
            format!("{{'a': '\"', 'b': [{many}]}}"),
            format!("Here: {{a: [{many}0]}}"),
            inner,
        ] {
            assert_eq!(parse_object(&text), Err(LenientJsonError::TooManyValues));
            let told = LenientJsonError::TooManyValues.to_string();
            assert_eq!(told, "they have more than 200000 values");
        }
        // Long texts with many commas are read, with and without mistakes.
        let columns = "a,b\n".repeat(MAX_JSON_VALUES).replace('\n', "\\n");
        for end in ["}", ",}"] {
            let fields = parse_object(&format!("{{\"content\": \"{columns}\"{end}")).unwrap();
            assert_eq!(fields["content"].as_str().unwrap().len(), 4 * MAX_JSON_VALUES);
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e9..1e9).prop_map(Value::from),
            any::<String>().prop_map(Value::String),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                prop::collection::vec((any::<String>(), inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn valid_json_is_read_as_it_is(json in json()) {
            for text in [json.to_string(), serde_json::to_string_pretty(&json).unwrap_or_default()] {
                // serde_json itself reads some fractions as a neighbouring value.
                let read: Value = serde_json::from_str(&text).unwrap_or_default();
                prop_assert_eq!(parse_value(&text, 0), Ok((read, text.len())));
            }
        }

        #[test]
        fn anything_is_read_or_refused(text in "[{}\\[\\]:,'\"a1\\\\utTN -]{0,24}") {
            if let Ok(fields) = parse_object(&text) {
                let canonical = Value::Object(fields.clone()).to_string();
                prop_assert_eq!(parse_object(&canonical), Ok(fields));
            }
        }
    }
}
