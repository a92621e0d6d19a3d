//! Takes secrets out of what slug writes for others to read and pass on: logs and debug logs. Never
//! out of a session's log, which must stay what the provider saw.
//!
//! Two kinds are found: the values that slug itself holds, in the forms in which programs usually
//! print them (`known_secrets`), and text in the shape of widely used keys. In the output of tools
//! only the first kind is replaced, before the model or the session's log gets it: no model needs
//! to see a key that slug uses.

use std::borrow::Cow;
use std::sync::{Arc, PoisonError, RwLock};

use secrecy::SecretString;
use serde_json::Value;

use crate::domain::secrets::{SHAPES, is_secret_name, private_keys};

use known_secrets::{KnownSecrets, SecretMatch, TextRemainder};

mod known_secrets;

/// The replacement for a secret.
pub const REDACTED: &str = "[redacted]";

/// Shorter tokens are ordinary words, in characters.
const SHORTEST_SECRET: usize = 8;

/// Fields of JSON whose values are secret whatever they look like.
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

/// Knows which values are secret. Clones share what they know.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    known: Arc<RwLock<Arc<KnownSecrets>>>,
    /// Those of them that are slug's own keys.
    own: Arc<RwLock<Arc<KnownSecrets>>>,
}

impl Redactor {
    /// Replaces this value from now on.
    pub fn learn(&self, secret: &SecretString) {
        self.add_own(secret, "[redacted: a secret of slug's]", false);
    }

    /// Replaces the key for a server from now on, with a mark that names the server.
    pub fn learn_key(&self, server: &str, key: &SecretString) {
        self.add_own(key, &format!("[redacted: slug's key for {server}]"), true);
    }

    /// Replaces what slug sends to an MCP server from now on. It is the user's: commands and other
    /// servers may get it, too ([`Self::holds_own_key`]).
    pub fn learn_of_server(&self, server: &str, secret: &SecretString) {
        let mark = format!("[redacted: a secret for the MCP server {server}]");
        add(&self.known, secret, &mark, false);
    }

    fn add_own(&self, secret: &SecretString, mark: &str, is_named: bool) {
        add(&self.own, secret, mark, is_named);
        add(&self.known, secret, mark, is_named);
    }

    /// Whether `text` holds one of slug's own keys.
    pub fn holds_own_key(&self, text: &str) -> bool {
        let own = Arc::clone(&self.own.read().unwrap_or_else(PoisonError::into_inner));
        matches!(replaced(&own, text, |mark| mark), Cow::Owned(_))
    }

    fn known(&self) -> Arc<KnownSecrets> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces all secrets in `text`, of both kinds.
    pub fn text(&self, text: &str) -> String {
        without_shapes(&replaced(&self.known(), text, |_| REDACTED))
    }

    /// Whether slug holds no value that could be replaced.
    pub fn knows_nothing(&self) -> bool {
        self.known().is_empty()
    }

    /// Replaces the values in `text` that slug knows. Other secrets stay.
    pub fn redact_own<'a>(&self, text: &'a str) -> Cow<'a, str> {
        replaced(&self.known(), text, |mark| mark)
    }

    /// Like [`Self::redact_own`], for all strings and field names of a JSON value.
    pub fn redact_own_json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact_own(&text).into_owned()),
            Value::Array(items) => {
                items.into_iter().map(|item| self.redact_own_json(item)).collect()
            }
            Value::Object(fields) => fields
                .into_iter()
                .map(|(name, value)| {
                    (self.redact_own(&name).into_owned(), self.redact_own_json(value))
                })
                .collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value,
        }
    }

    /// Like [`Self::redact_own`], for bytes that come in pieces.
    pub fn stream(&self) -> RedactionStream {
        RedactionStream { known: self.known(), held: Vec::new() }
    }

    /// Replaces all secrets in the strings and field names of `value`, and the values of fields
    /// with secret names.
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

fn add(to: &RwLock<Arc<KnownSecrets>>, secret: &SecretString, mark: &str, is_named: bool) {
    let mut known = to.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(more) = known.with(secret, mark, is_named) {
        *known = Arc::new(more);
    }
}

/// Replaces the known secrets in `text`; `by` turns the mark of a secret into its replacement.
fn replaced<'a>(known: &KnownSecrets, text: &'a str, by: impl Fn(&str) -> &str) -> Cow<'a, str> {
    let (mut clean, mut at) = (String::new(), 0);
    while let SecretMatch::Secret(place, mark) =
        known.find(text.as_bytes(), at, TextRemainder::None)
    {
        // A match begins and ends with whole characters.
        clean.push_str(text.get(at..place.start).unwrap_or_default());
        clean.push_str(by(mark));
        at = place.end;
    }
    if at == 0 {
        return Cow::Borrowed(text);
    }
    clean.push_str(text.get(at..).unwrap_or_default());
    Cow::Owned(clean)
}

/// Replaces the values that slug itself holds, even where one is split between two pieces: what
/// could be the beginning of a secret waits for the next piece.
#[derive(Debug)]
pub struct RedactionStream {
    known: Arc<KnownSecrets>,
    held: Vec<u8>,
}

impl RedactionStream {
    /// Takes a piece, and passes on what cannot be part of a secret.
    pub fn push(&mut self, bytes: &[u8], output: &mut dyn FnMut(&[u8])) {
        if self.known.is_empty() {
            return output(bytes);
        }
        self.held.extend_from_slice(bytes);
        let end = self.hand_on(TextRemainder::MayFollow, output);
        self.held.drain(..end);
    }

    /// Knows from now on what `redactor` has learnt since this stream began.
    pub fn refresh(&mut self, redactor: &Redactor) {
        self.known = redactor.known();
    }

    /// Passes on the rest: no further piece comes.
    pub fn end(&mut self, output: &mut dyn FnMut(&[u8])) {
        self.hand_on(TextRemainder::None, output);
        self.held.clear();
    }

    /// Returns how many bytes of `held` were passed on.
    fn hand_on(&self, rest: TextRemainder, output: &mut dyn FnMut(&[u8])) -> usize {
        let mut at = 0;
        let mut give = |bytes: &[u8]| {
            if !bytes.is_empty() {
                output(bytes);
            }
        };
        loop {
            match self.known.find(&self.held, at, rest) {
                SecretMatch::Secret(place, mark) => {
                    give(&self.held[at..place.start]);
                    give(mark.as_bytes());
                    at = place.end;
                }
                SecretMatch::Open(end) => {
                    give(&self.held[at..end]);
                    return end;
                }
                SecretMatch::Nothing => {
                    give(&self.held[at..]);
                    return self.held.len();
                }
            }
        }
    }
}

fn is_secret_field(name: &str) -> bool {
    SECRET_FIELDS.iter().any(|field| name.eq_ignore_ascii_case(field))
}

/// Replaces text in the shape of a key, in one pass from left to right.
fn without_shapes(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut keys = private_keys(text).into_iter().peekable();
    let mut at = 0;
    let mut before = None;
    while let Some(first) = text[at..].chars().next() {
        // The last match may reach into a private key.
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
    bearer(rest).or_else(|| assigned(rest)).or_else(|| {
        let (prefix, least, _) =
            SHAPES.into_iter().find(|(prefix, _, _)| rest.starts_with(prefix))?;
        let tail = token_length(&rest[prefix.len()..]);
        (tail >= least).then_some((0, prefix.len() + tail))
    })
}

/// Finds `Bearer TOKEN`, in any case; the word stays.
fn bearer(rest: &str) -> Option<(usize, usize)> {
    const WORD: &str = "bearer ";
    let word = rest.get(..WORD.len())?;
    let length = token_length(&rest[WORD.len()..]);
    (word.eq_ignore_ascii_case(WORD) && length >= SHORTEST_SECRET).then_some((WORD.len(), length))
}

/// Finds `DB_PASS=value` by the meaning of the name, which stays. Only names in the form of
/// environment variables count, since in a program anything may follow a name.
fn assigned(rest: &str) -> Option<(usize, usize)> {
    let is_name = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    let name = rest.bytes().take_while(|byte| is_name(byte)).count();
    let value = rest[name..].strip_prefix('=')?;
    let ends = |c: char| c.is_whitespace() || "\"'`\\".contains(c);
    let length = value.find(ends).unwrap_or(value.len());
    let is_reference = value.starts_with('$') || value.starts_with('[');
    (is_secret_name(&rest[..name]) && length >= 4 && !is_reference).then_some((name + 1, length))
}

/// How many bytes at the start of `text` can be a token.
fn token_length(text: &str) -> usize {
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~+/=".contains(byte);
    text.bytes().take_while(|byte| is_token(byte)).count()
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
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
            (format!("mail SG.{}.{}!", "a1".repeat(11), "b_2".repeat(14)), "mail [redacted]!"),
            (
                "DB_PASS=hunter2 SMTP_PASS=x:y@z;".to_owned(),
                "DB_PASS=[redacted] SMTP_PASS=[redacted]",
            ),
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
            "DB_PASS=$DB_PASS COMPASS=north GH_PAT=\"\"",
            "SG.1.2 and SG.Config",
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
    fn s100_in_tool_output_only_slugs_own_secrets_are_replaced() {
        let redactor = Redactor::default();
        redactor.learn_key("work", &SecretString::from("sk-mine-0123456789abcdef"));
        redactor.learn(&SecretString::from("sk-mine-0123"));
        let theirs = format!("ghp_{}", "a1".repeat(18));
        let text = format!("{theirs} sk-mine-0123456789abcdef sk-mine-0123");
        assert_eq!(
            redactor.redact_own(&text),
            format!("{theirs} [redacted: slug's key for work] [redacted: a secret of slug's]")
        );
        assert!(matches!(redactor.redact_own("nothing"), Cow::Borrowed("nothing")));
    }

    type EncodeFn = fn(&[u8]) -> String;

    /// The encodings of the usual programs.
    const ENCODERS: [(&str, EncodeFn); 11] = [
        ("as it is", |it| String::from_utf8_lossy(it).into_owned()),
        ("base64", |it| STANDARD.encode(it)),
        ("base64 without padding", |it| STANDARD_NO_PAD.encode(it)),
        ("base64url", |it| URL_SAFE.encode(it)),
        ("base64url without padding", |it| URL_SAFE_NO_PAD.encode(it)),
        ("hex", |it| hex(it, |byte| format!("{byte:02x}"))),
        ("HEX", |it| hex(it, |byte| format!("{byte:02X}"))),
        ("hex with spaces", |it| hex(it, |byte| format!("{byte:02x} "))),
        ("percent", |it| hex(it, |byte| format!("%{byte:02X}"))),
        ("percent where needed", |it| {
            hex(it, |byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                    char::from(byte).to_string()
                }
                _ => format!("%{byte:02x}"),
            })
        }),
        ("reversed", |it| it.iter().rev().map(|byte| char::from(*byte)).collect()),
    ];

    fn hex(bytes: &[u8], one: impl Fn(u8) -> String) -> String {
        bytes.iter().map(|byte| one(*byte)).collect()
    }

    /// The text in lines of this many characters.
    fn wrapped(text: &str, width: usize) -> String {
        let lines: Vec<_> = text.as_bytes().chunks(width).map(String::from_utf8_lossy).collect();
        lines.join("\n")
    }

    /// The output of a stream that gets the text in pieces.
    fn streamed(redactor: &Redactor, text: &str, cuts: Vec<usize>) -> String {
        let mut streamed = Vec::new();
        let mut stream = redactor.stream();
        let (mut rest, mut cuts) = (text.as_bytes(), cuts.into_iter().cycle());
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(cuts.next().unwrap().min(rest.len()));
            stream.push(piece, &mut |bytes| streamed.extend_from_slice(bytes));
            rest = more;
        }
        stream.end(&mut |bytes| streamed.extend_from_slice(bytes));
        String::from_utf8(streamed).unwrap()
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
            prop_assert_eq!(streamed(&redactor, &text, cuts), redactor.redact_own(&text));
        }

        #[test]
        fn s100_a_key_is_taken_out_in_each_usual_encoding(
            key in "[!-~]{8,120}",
            (before, after) in ("[ -~]{0,7}", "[ -~]{0,7}"),
            width in 8..80_usize,
        ) {
            let redactor = Redactor::default();
            redactor.learn_key("work", &SecretString::from(key.as_str()));
            for (encoder, encode) in ENCODERS {
                // Alone, and encoded together with the text around it.
                for (start, end) in [("", ""), (before.as_str(), after.as_str()), ("", "\n")] {
                    let text = encode(format!("{start}{key}{end}").as_bytes());
                    let is_percent = encoder.starts_with("percent");
                    let width = if is_percent { text.len() } else { width };
                    for text in [text.clone(), wrapped(&text, width)] {
                        let clean = redactor.redact_own(&text);
                        let left = clean.replacen("[redacted: slug's key for work]", "", 1);
                        prop_assert!(left.len() < clean.len(), "{encoder}: {text}");
                        // What is around it, a character on either side that is mixed with that,
                        // and the padding.
                        let most = 3 * (start.len() + end.len()) + 4;
                        let left = left.split_whitespace().collect::<String>();
                        prop_assert!(left.len() <= most, "{encoder}: {text} -> {left}");
                        prop_assert!(redactor.text(&text).contains(REDACTED), "{encoder}: {text}");
                    }
                }
            }
        }

        #[test]
        fn s100_an_encoded_key_in_pieces_is_taken_out_like_a_whole_one(
            keys in prop::collection::vec("[a-c]{8,12}", 1..3),
            picks in prop::collection::vec((0..ENCODERS.len(), 0..3_usize, "[a-c%]{0,4}"), 0..6),
            cuts in prop::collection::vec(1..20_usize, 1..30),
        ) {
            let redactor = Redactor::default();
            for (number, key) in keys.iter().enumerate() {
                redactor.learn_key(&number.to_string(), &SecretString::from(key.as_str()));
            }
            let part = |(encoder, key, between): &(usize, usize, String)| {
                let encoded = (ENCODERS[*encoder].1)(keys[key % keys.len()].as_bytes());
                format!("{encoded}{between}")
            };
            let text = picks.iter().map(part).collect::<String>();
            prop_assert_eq!(streamed(&redactor, &text, cuts), redactor.redact_own(&text));
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
