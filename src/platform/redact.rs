//! Takes secrets out of what slug writes for people to look at and pass on: logs and debug logs.
//! Never out of a session's log, which has to stay what the provider saw.
//!
//! Two nets: the values that slug itself holds, and the shapes of keys that are in wide use. Of what
//! tools give, only the first is taken out, and before the model or the session's log has it: a
//! key that slug uses is nothing that a model needs to see.

use std::borrow::Cow;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::domain::secrets::{SHAPES, private_keys};

/// Stands where a secret was.
pub const REDACTED: &str = "[redacted]";

/// Shorter values are too common to be looked for.
const SHORTEST_SECRET: usize = 8;

/// Fields whose values are secret whatever they look like.
const SECRET_FIELDS: [&str; 8] = [
    "api_key",
    "apikey",
    "authorization",
    "password",
    "proxy-authorization",
    "secret",
    "x-api-key",
    "x-goog-api-key",
];

/// Knows what is secret. Clones share what they know.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    known: Arc<RwLock<Vec<Known>>>,
}

/// A value that slug holds.
#[derive(Debug, Clone)]
struct Known {
    value: SecretString,
    /// What stands in its place in what a tool gives.
    mark: Arc<str>,
}

impl Redactor {
    /// From now on, this value is taken out as well.
    pub fn learn(&self, secret: &SecretString) {
        self.add(secret, "[redacted: a secret of slug's]");
    }

    /// The same, of the key for a server.
    pub fn learn_key(&self, server: &str, key: &SecretString) {
        self.add(key, &format!("[redacted: slug's key for {server}]"));
    }

    fn add(&self, secret: &SecretString, mark: &str) {
        let text = secret.expose_secret();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if text.len() < SHORTEST_SECRET || known.iter().any(|it| it.value() == text) {
            return;
        }
        // The longer first: another may be the beginning of it.
        let place = known.partition_point(|it| it.value().len() >= text.len());
        known.insert(place, Known { value: secret.clone(), mark: mark.into() });
    }

    fn known(&self) -> RwLockReadGuard<'_, Vec<Known>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// `text` without secrets.
    pub fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for known in self.known().iter() {
            if text.contains(known.value()) {
                text = text.replace(known.value(), REDACTED);
            }
        }
        without_shapes(&text)
    }

    /// Whether slug holds nothing that could be taken out by value.
    pub fn knows_nothing(&self) -> bool {
        self.known().is_empty()
    }

    /// `text` without what slug itself holds. Other secrets stay.
    pub fn own<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut clean = Cow::Borrowed(text);
        for known in self.known().iter() {
            if clean.contains(known.value()) {
                clean = Cow::Owned(clean.replace(known.value(), &known.mark));
            }
        }
        clean
    }

    /// The same in all strings and field names of a value.
    pub fn own_json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.own(&text).into_owned()),
            Value::Array(items) => items.into_iter().map(|item| self.own_json(item)).collect(),
            Value::Object(fields) => fields
                .into_iter()
                .map(|(name, value)| (self.own(&name).into_owned(), self.own_json(value)))
                .collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value,
        }
    }

    /// The same for bytes that come in pieces.
    pub fn stream(&self) -> Stream {
        Stream { known: self.known().clone(), held: Vec::new() }
    }

    /// `value` without secrets, in its strings, its field names and by the names of its fields.
    pub fn json(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.json(item)).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(name, value)| {
                    let value = match value {
                        Value::String(_) if is_secret_field(name) => Value::from(REDACTED),
                        Value::String(_)
                        | Value::Null
                        | Value::Bool(_)
                        | Value::Number(_)
                        | Value::Array(_)
                        | Value::Object(_) => self.json(value),
                    };
                    (self.text(name), value)
                })
                .collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

impl Known {
    fn value(&self) -> &str {
        self.value.expose_secret()
    }
}

/// Takes out what slug itself holds, also where it is cut between two pieces: what could be the
/// beginning of a secret waits for the next one.
#[derive(Debug)]
pub struct Stream {
    known: Vec<Known>,
    held: Vec<u8>,
}

impl Stream {
    /// Hands on what can be handed on by now.
    pub fn push(&mut self, bytes: &[u8], output: &mut dyn FnMut(&[u8])) {
        if self.known.is_empty() {
            return output(bytes);
        }
        self.held.extend_from_slice(bytes);
        let mut at = 0;
        while let Some((place, known)) = self.first(at) {
            if place > at {
                output(&self.held[at..place]);
            }
            output(known.mark.as_bytes());
            at = place + known.value().len();
        }
        let end = self.held.len() - self.beginning(&self.held[at..]);
        if end > at {
            output(&self.held[at..end]);
        }
        self.held.drain(..end);
    }

    /// Hands on what waits: nothing more comes.
    pub fn end(self, output: &mut dyn FnMut(&[u8])) {
        if !self.held.is_empty() {
            output(&self.held);
        }
    }

    /// The first secret behind `at`.
    fn first(&self, at: usize) -> Option<(usize, &Known)> {
        let places = self.known.iter().filter_map(|known| {
            Some((at + position(&self.held[at..], known.value().as_bytes())?, known))
        });
        places.min_by_key(|(place, _)| *place)
    }

    /// How many bytes at the end of `bytes` could be the beginning of a secret.
    fn beginning(&self, bytes: &[u8]) -> usize {
        let lengths = self.known.iter().map(|known| {
            let value = known.value().as_bytes();
            let most = bytes.len().min(value.len() - 1);
            let fits = |length: &usize| bytes.ends_with(&value[..*length]);
            (1..=most).rev().find(fits).unwrap_or(0)
        });
        lengths.max().unwrap_or(0)
    }
}

/// Where `wanted` begins in `bytes`.
fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = wanted.first()?;
    let mut at = 0;
    while let Some(next) = bytes[at..].iter().position(|byte| byte == first) {
        at += next;
        if bytes[at..].starts_with(wanted) {
            return Some(at);
        }
        at += 1;
    }
    None
}

fn is_secret_field(name: &str) -> bool {
    SECRET_FIELDS.iter().any(|field| name.eq_ignore_ascii_case(field))
}

/// One pass from left to right: wherever a secret begins, it is skipped and its place marked.
fn without_shapes(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut keys = private_keys(text).into_iter().peekable();
    let mut at = 0;
    let mut before = None;
    while let Some(first) = text[at..].chars().next() {
        // What was found may go on into a key.
        let key = keys.next_if(|key| key.start <= at);
        let secret = match key {
            Some(key) if key.end <= at => continue,
            Some(key) => Some((0, key.end - at)),
            None => secret_at(&text[at..], before),
        };
        if let Some((kept, secret)) = secret {
            clean.push_str(&text[at..at + kept]);
            clean.push_str(REDACTED);
            at += kept + secret;
            before = None;
        } else {
            clean.push(first);
            at += first.len_utf8();
            before = Some(first);
        }
    }
    clean
}

/// If a secret begins at the start of `rest`: how many bytes before it stay, and its length.
fn secret_at(rest: &str, before: Option<char>) -> Option<(usize, usize)> {
    if before.is_some_and(|before| before.is_ascii_alphanumeric() || before == '_') {
        return None;
    }
    bearer(rest).or_else(|| {
        let (prefix, least, _) =
            SHAPES.into_iter().find(|(prefix, _, _)| rest.starts_with(prefix))?;
        let tail = token_length(&rest[prefix.len()..]);
        (tail >= least).then_some((0, prefix.len() + tail))
    })
}

/// `Bearer TOKEN`, in any case: the word stays.
fn bearer(rest: &str) -> Option<(usize, usize)> {
    const WORD: &str = "bearer ";
    let word = rest.get(..WORD.len())?;
    let length = token_length(&rest[WORD.len()..]);
    (word.eq_ignore_ascii_case(WORD) && length >= SHORTEST_SECRET).then_some((WORD.len(), length))
}

/// How much of the start of `text` a token can be.
fn token_length(text: &str) -> usize {
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~+/=".contains(byte);
    text.bytes().take_while(|byte| is_token(byte)).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn s105_shapes_of_keys_are_taken_out() {
        let pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----";
        for (text, expected) in [
            ("key sk-ant-api03-abcdefghijklmnop end".to_owned(), "key [redacted] end"),
            (format!("ghp_{}", "a1".repeat(18)), "[redacted]"),
            ("id=AKIAIOSFODNN7EXAMPLE;".to_owned(), "id=[redacted];"),
            ("authorization: Bearer abc.def-ghi".to_owned(), "authorization: Bearer [redacted]"),
            (format!("<{pem}>"), "<[redacted]>"),
            (
                format!("-----BEGIN PRIVATE KEY-----\n{}\nnext to it", "MIIE4Z9".repeat(9)),
                "[redacted]\nnext to it",
            ),
            (
                format!("cut …\n{}\n-----END PRIVATE KEY-----\nnext", "MIIE4Z9".repeat(9)),
                "cut …\n[redacted]\nnext",
            ),
        ] {
            assert_eq!(Redactor::default().text(&text), expected);
        }
    }

    #[test]
    fn ordinary_text_stays() {
        for text in [
            "ask-me-anything-about-something",
            "risk-based-assessment-of-things",
            "sk-short",
            "the bearer of news",
            "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----",
            "-----BEGIN PUBLIC KEY-----\nMII\n-----END PUBLIC KEY-----",
            "git checkout 0123456789abcdef0123456789abcdef01234567",
            "größer ≥ 2",
        ] {
            assert_eq!(Redactor::default().text(text), text);
        }
    }

    #[test]
    fn what_slug_holds_is_taken_out_by_value_in_every_clone() {
        let redactor = Redactor::default();
        let clone = redactor.clone();
        redactor.learn(&SecretString::from("correct horse"));
        redactor.learn(&SecretString::from("abc"));
        assert_eq!(clone.text("abc: correct horse!"), "abc: [redacted]!");
        assert!(!format!("{redactor:?}").contains("horse"));
    }

    #[test]
    fn json_is_searched_through_and_by_field() {
        let redactor = Redactor::default();
        redactor.learn(&SecretString::from("two\nlines"));
        let value = json!({
            "X-Api-Key": "plain",
            "max_tokens": 5,
            "messages": [{"content": "see two\nlines"}, null, true],
            "api_key": null,
        });
        let expected = json!({
            "X-Api-Key": "[redacted]",
            "max_tokens": 5,
            "messages": [{"content": "see [redacted]"}, null, true],
            "api_key": null,
        });
        assert_eq!(redactor.json(&value), expected);
    }

    #[test]
    fn s100_of_what_tools_give_only_slugs_own_is_taken_out() {
        let redactor = Redactor::default();
        redactor.learn_key("work", &SecretString::from("sk-mine-0123456789abcdef"));
        redactor.learn(&SecretString::from("sk-mine-0123"));
        let theirs = format!("ghp_{}", "a1".repeat(18));
        let text = format!("{theirs} sk-mine-0123456789abcdef sk-mine-0123");
        assert_eq!(
            redactor.own(&text),
            format!("{theirs} [redacted: slug's key for work] [redacted: a secret of slug's]")
        );
        assert!(matches!(redactor.own("nothing"), Cow::Borrowed("nothing")));
    }

    proptest! {
        #[test]
        fn s100_a_key_in_pieces_is_taken_out_like_a_whole_one(
            parts in prop::collection::vec(
                prop::sample::select(vec!["abc", "abcabcabd", "ab", "c", "xyz-secret", "\n"]), 0..12
            ),
            cuts in prop::collection::vec(1..9_usize, 1..30),
        ) {
            let redactor = Redactor::default();
            redactor.learn_key("a", &SecretString::from("abcabcabd"));
            redactor.learn_key("b", &SecretString::from("xyz-secret"));
            let text = parts.concat();
            let mut streamed = Vec::new();
            let mut stream = redactor.stream();
            let (mut rest, mut cuts) = (text.as_bytes(), cuts.into_iter().cycle());
            while !rest.is_empty() {
                let (piece, more) = rest.split_at(cuts.next().unwrap().min(rest.len()));
                stream.push(piece, &mut |bytes| streamed.extend_from_slice(bytes));
                rest = more;
            }
            stream.end(&mut |bytes| streamed.extend_from_slice(bytes));
            prop_assert_eq!(String::from_utf8(streamed).unwrap(), redactor.own(&text));
        }

        #[test]
        fn any_text_is_read_and_a_second_pass_changes_nothing(text in ".{0,200}") {
            let once = Redactor::default().text(&text);
            prop_assert_eq!(Redactor::default().text(&once), once);
        }

        #[test]
        fn a_key_is_found_between_any_other_text(before in "[^A-Za-z0-9_]{0,20}", after in "\\PC{0,20}") {
            let key = format!("sk-{}", "Z9".repeat(12));
            let clean = Redactor::default().text(&format!("{before}{key} {after}"));
            prop_assert!(!clean.contains(&key));
        }
    }
}
