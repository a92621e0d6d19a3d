//! Takes secrets out of what slug writes for people to look at and pass on: logs and debug logs.
//! Never out of a session's log, which has to stay what the provider saw.
//!
//! Two nets: the values that slug itself holds, and the shapes of keys that are in wide use.

use std::sync::{Arc, PoisonError, RwLock};

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

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

/// How a key begins, and how many characters of its kind have to follow at least.
const SHAPES: [(&str, usize); 15] = [
    ("sk-", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("hf_", 20),
    ("npm_", 30),
];

const PEM_BEGIN: &str = "-----BEGIN ";
const PEM_END: &str = "-----END ";
const PEM_DASHES: &str = "-----";

/// Knows what is secret. Clones share what they know.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    known: Arc<RwLock<Vec<SecretString>>>,
}

impl Redactor {
    /// From now on, this value is taken out as well.
    pub fn learn(&self, secret: &SecretString) {
        if secret.expose_secret().len() >= SHORTEST_SECRET {
            self.known.write().unwrap_or_else(PoisonError::into_inner).push(secret.clone());
        }
    }

    /// `text` without secrets.
    pub fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in self.known.read().unwrap_or_else(PoisonError::into_inner).iter() {
            if text.contains(secret.expose_secret()) {
                text = text.replace(secret.expose_secret(), REDACTED);
            }
        }
        without_shapes(&text)
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

fn is_secret_field(name: &str) -> bool {
    SECRET_FIELDS.iter().any(|field| name.eq_ignore_ascii_case(field))
}

/// One pass from left to right: wherever a secret begins, it is skipped and its place marked.
fn without_shapes(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = None;
    while let Some(first) = rest.chars().next() {
        if let Some((kept, secret)) = secret_at(rest, before) {
            clean.push_str(&rest[..kept]);
            clean.push_str(REDACTED);
            rest = &rest[kept + secret..];
            before = None;
        } else {
            clean.push(first);
            rest = &rest[first.len_utf8()..];
            before = Some(first);
        }
    }
    clean
}

/// If a secret begins at the start of `rest`: how many bytes before it stay, and its length.
fn secret_at(rest: &str, before: Option<char>) -> Option<(usize, usize)> {
    if rest.starts_with(PEM_BEGIN) {
        return pem_length(rest).map(|length| (0, length));
    }
    if before.is_some_and(|before| before.is_ascii_alphanumeric() || before == '_') {
        return None;
    }
    bearer(rest).or_else(|| {
        let (prefix, least) = SHAPES.into_iter().find(|(prefix, _)| rest.starts_with(prefix))?;
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

/// The length of a private key's block, to the end of the text where its end was cut off. Public
/// keys and certificates are none.
fn pem_length(rest: &str) -> Option<usize> {
    let label = &rest[PEM_BEGIN.len()..];
    let label = &label[..label.find(PEM_DASHES)?];
    if !label.contains("PRIVATE KEY") {
        return None;
    }
    let Some(end) = rest.find(PEM_END) else { return Some(rest.len()) };
    let closing = &rest[end + PEM_END.len()..];
    let closed = closing
        .find(PEM_DASHES)
        .map_or(rest.len(), |dashes| end + PEM_END.len() + dashes + PEM_DASHES.len());
    Some(closed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn shapes_of_keys_are_taken_out() {
        let pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----";
        for (text, expected) in [
            ("key sk-ant-api03-abcdefghijklmnop end".to_owned(), "key [redacted] end"),
            (format!("ghp_{}", "a1".repeat(18)), "[redacted]"),
            ("id=AKIAIOSFODNN7EXAMPLE;".to_owned(), "id=[redacted];"),
            ("authorization: Bearer abc.def-ghi".to_owned(), "authorization: Bearer [redacted]"),
            (format!("<{pem}>"), "<[redacted]>"),
            ("-----BEGIN PRIVATE KEY-----\nMII cut".to_owned(), "[redacted]"),
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

    proptest! {
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
