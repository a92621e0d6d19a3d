//! Finds secrets by their shape, and puts a word in their place.
//!
//! One pass from left to right over a text; whatever is looked at twice is bounded, so that the
//! time grows with the length alone. What slug itself holds is no matter here: it never gets into
//! a log. Too much is taken out rather than too little, since what is exported is passed on.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::domain::sanitize::strip_ansi;
use crate::domain::secrets::{SHAPES, private_key};

/// How far is looked for what decides whether something is a secret.
const LOOK: usize = 512;
/// Shorter tokens are words.
const SHORTEST_TOKEN: usize = 8;

/// Counts what it takes out.
#[derive(Debug, Default)]
pub(super) struct Redaction {
    pub(super) count: usize,
}

/// A secret in a text.
#[derive(Debug)]
struct Secret {
    place: Range<usize>,
    kind: &'static str,
}

impl Redaction {
    /// `text` without secrets. Colours go, too: a secret may be hidden between them.
    pub(super) fn text(&mut self, text: &str) -> String {
        let text = strip_ansi(text);
        let secrets = find(&text);
        self.count += secrets.len();
        let mut clean = String::with_capacity(text.len());
        let mut at = 0;
        for Secret { place, kind } in secrets {
            clean.push_str(&text[at..place.start]);
            clean.push_str(&mark(kind));
            at = place.end;
        }
        clean.push_str(&text[at..]);
        clean
    }

    /// `value` without secrets in its strings and names, and without what the name of a field
    /// says is secret.
    pub(super) fn json(&mut self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(items) => self.array(items),
            Value::Object(fields) => Value::Object(self.object(fields)),
            Value::Null | Value::Bool(_) | Value::Number(_) => value,
        }
    }

    fn object(&mut self, fields: Map<String, Value>) -> Map<String, Value> {
        let field = |(name, value): (String, Value)| {
            let value = match value {
                Value::String(text) if is_secret_field(&name) && !text.is_empty() => {
                    self.count += 1;
                    Value::String(mark("secret"))
                }
                Value::String(_)
                | Value::Array(_)
                | Value::Object(_)
                | Value::Null
                | Value::Bool(_)
                | Value::Number(_) => self.json(value),
            };
            (self.text(&name), value)
        };
        fields.into_iter().map(field).collect()
    }

    /// Lines of a diff are read as the one text that they are: a private key has many.
    fn array(&mut self, mut items: Vec<Value>) -> Value {
        let texts: Option<Vec<String>> = items.iter().map(text_of).collect();
        if let Some(texts) = texts.filter(|texts| texts.len() > 1) {
            for (item, text) in items.iter_mut().zip(self.lines(&texts)) {
                match item {
                    Value::String(line) => *line = text,
                    Value::Object(fields) => {
                        fields.insert("text".into(), text.into());
                    }
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {}
                }
            }
        }
        items.into_iter().map(|item| self.json(item)).collect()
    }

    /// A secret over several lines is named on the first of them, and the others are left empty.
    fn lines(&mut self, lines: &[String]) -> Vec<String> {
        let lines: Vec<_> = lines.iter().map(|line| strip_ansi(line)).collect();
        let secrets = find(&lines.join("\n"));
        let mut secrets = secrets.into_iter().peekable();
        let mut start = 0;
        let mut clean = Vec::with_capacity(lines.len());
        for line in &lines {
            let end = start + line.len();
            let (mut text, mut at) = (String::new(), start);
            while let Some(Secret { place, kind }) = secrets.peek() {
                if place.start > end {
                    break;
                }
                text.push_str(&line[at - start..place.start.max(at) - start]);
                if place.start >= start {
                    text.push_str(&mark(kind));
                    self.count += 1;
                }
                at = place.end.min(end);
                if place.end > end {
                    break;
                }
                secrets.next();
            }
            text.push_str(&line[at - start..]);
            clean.push(text);
            start = end + 1;
        }
        clean
    }
}

/// The text of a line: an object's `text`, as in a diff, or the string itself.
fn text_of(item: &Value) -> Option<String> {
    match item {
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) if fields.contains_key("tag") => {
            Some(fields.get("text")?.as_str()?.to_owned())
        }
        Value::Object(_) | Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {
            None
        }
    }
}

fn mark(kind: &str) -> String {
    format!("[redacted: {kind}]")
}

/// All secrets of a text, in order, none within another.
fn find(text: &str) -> Vec<Secret> {
    let mut look = Look { text, bytes: text.as_bytes(), run_end: 0 };
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        match look.secret(at) {
            Some(secret) => {
                at = secret.place.end;
                found.push(secret);
            }
            None => at += 1,
        }
    }
    found
}

struct Look<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// Where the run of token characters ends that was looked at last.
    run_end: usize,
}

impl Look<'_> {
    /// The secret that is found out by what stands at `at`; it may begin behind that.
    fn secret(&mut self, at: usize) -> Option<Secret> {
        let first = self.bytes[at];
        if first == b'-' {
            let length = private_key(&self.text[at..])?;
            return Some(Secret { place: at..at + length, kind: "private key" });
        }
        if first == b':' && self.starts(at, "://") {
            return self.in_address(at + 3);
        }
        if !self.begins_word(at) {
            return None;
        }
        self.assigned(at)
            .or_else(|| self.bearer(at))
            .or_else(|| self.web_token(at))
            .or_else(|| self.shaped(at))
    }

    fn starts(&self, at: usize, with: &str) -> bool {
        self.bytes[at..].starts_with(with.as_bytes())
    }

    fn before(&self, at: usize) -> Option<u8> {
        self.bytes.get(at.checked_sub(1)?).copied()
    }

    /// Also behind the letter of an escape, as in JSON within a text: `\nghp_…`.
    fn begins_word(&self, at: usize) -> bool {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if !is_word(self.bytes[at]) {
            return false;
        }
        match self.before(at) {
            Some(before) if is_word(before) => at >= 2 && self.bytes[at - 2] == b'\\',
            Some(_) | None => true,
        }
    }

    /// The end of the token characters from `at` on.
    fn token_end(&mut self, at: usize) -> usize {
        if self.run_end <= at {
            let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~+/=".contains(byte);
            let length = self.bytes[at..].iter().take_while(|byte| is_token(byte)).count();
            self.run_end = at + length;
        }
        self.run_end
    }

    fn shaped(&mut self, at: usize) -> Option<Secret> {
        let (prefix, least, kind) =
            SHAPES.into_iter().find(|(prefix, _, _)| self.starts(at, prefix))?;
        let end = self.token_end(at);
        let dots = self.bytes[at..end].iter().rev().take_while(|byte| **byte == b'.').count();
        let end = end - dots;
        (end >= at + prefix.len() + least).then_some(Secret { place: at..end, kind })
    }

    /// Two parts that are JSON objects in base64, with a dot between them.
    fn web_token(&mut self, at: usize) -> Option<Secret> {
        if !self.starts(at, "eyJ") {
            return None;
        }
        let window = &self.bytes[at..self.bytes.len().min(at + 2 * LOOK)];
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
        let header = window.iter().take_while(|byte| is_part(byte)).count();
        if header < 10 || !self.starts(at + header, ".") {
            return None;
        }
        Some(Secret { place: at..self.token_end(at), kind: "JWT" })
    }

    fn bearer(&mut self, at: usize) -> Option<Secret> {
        let window = self.bytes.get(at..at + 7)?;
        if !window.eq_ignore_ascii_case(b"bearer ") {
            return None;
        }
        let start = at + 7;
        let end = self.token_end(start);
        let token = &self.bytes[start..end.min(start + LOOK)];
        let is_token = token.len() >= SHORTEST_TOKEN && !token.iter().all(u8::is_ascii_lowercase);
        is_token.then_some(Secret { place: start..end, kind: "authorization" })
    }

    /// `://user:password@host`
    fn in_address(&self, at: usize) -> Option<Secret> {
        let window = &self.bytes[at..self.bytes.len().min(at + LOOK)];
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b"/\"'<>`".contains(byte);
        let window = &window[..window.iter().position(ends).unwrap_or(window.len())];
        let host = window.iter().rposition(|byte| *byte == b'@')?;
        let colon = window[..host].iter().position(|byte| *byte == b':')?;
        let place = at + colon + 1..at + host;
        (!place.is_empty() && !self.text[place.clone()].starts_with('$'))
            .then_some(Secret { place, kind: "password" })
    }

    /// `NAME=value`, `name: value`, `"name": "value"`, `--name value`, by what the name says.
    fn assigned(&self, at: usize) -> Option<Secret> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        let escaped = at >= 2 && self.bytes[at - 2] == b'\\';
        // Within a name: the whole of it was looked at.
        if let Some(before) = self.before(at)
            && is_name(before)
            && before != b'-'
            && !escaped
        {
            return None;
        }
        let window = &self.bytes[at..self.bytes.len().min(at + LOOK)];
        let length = window.iter().take_while(|byte| is_name(**byte)).count();
        let name = Name::of(&self.text[at..at + length])?;
        let value = Assigned::at(self, at, at + length)?;
        value.secret(self, name)
    }
}

/// What the name of a variable says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    /// As variables of the environment are written: its value is secret.
    Loud,
    /// As in programs, where the value may be an expression.
    Quiet,
    /// The header of that name: a word may stand before the secret.
    Authorization,
}

impl Name {
    fn of(name: &str) -> Option<Self> {
        const WORDS: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD"];
        if !name.bytes().any(|byte| byte.is_ascii_lowercase()) {
            return WORDS.iter().any(|word| name.contains(word)).then_some(Self::Loud);
        }
        let lower = name.to_ascii_lowercase();
        if lower.ends_with("authorization") {
            return Some(Self::Authorization);
        }
        says_secret(&lower).then_some(Self::Quiet)
    }
}

fn says_secret(lower: &str) -> bool {
    const ENDS: [&str; 6] = ["token", "secret", "password", "passwd", "passphrase", "credential"];
    const OF_KEYS: [&str; 10] = [
        "api",
        "access",
        "secret",
        "private",
        "auth",
        "signing",
        "encryption",
        "account",
        "client",
        "master",
    ];
    let of_key = || {
        let owner = lower.strip_suffix("key")?.trim_end_matches(['_', '-']);
        OF_KEYS.iter().find(|it| owner.ends_with(**it))
    };
    ENDS.iter().any(|end| lower.ends_with(end)) || of_key().is_some()
}

/// Of a field in JSON, where a string is always a value.
fn is_secret_field(name: &str) -> bool {
    name.len() < LOOK && Name::of(name).is_some()
}

/// Where a value stands, and how it is written.
struct Assigned {
    start: usize,
    quote: Option<u8>,
    /// Whether it stands behind a colon.
    colon: bool,
}

impl Assigned {
    fn at(look: &Look<'_>, name_start: usize, name_end: usize) -> Option<Self> {
        let bytes = look.bytes;
        let byte = |at: usize| bytes.get(at).copied();
        let skip = |mut at: usize, wanted: &[u8], most: usize| {
            let end = at + most;
            while at < end && byte(at).is_some_and(|byte| wanted.contains(&byte)) {
                at += 1;
            }
            at
        };
        let separator = skip(skip(name_end, b"\\\"'`]", 3), b" \t", 8);
        let (behind, colon) = match byte(separator) {
            Some(b'=') if byte(separator + 1) == Some(b'=') => return None,
            Some(b'=') if byte(separator + 1) == Some(b'>') => (separator + 2, true),
            Some(b'=') => (separator + 1, false),
            Some(b':') if byte(separator + 1) == Some(b'=') => (separator + 2, true),
            // A path in a program, as in `token::Kind`.
            Some(b':') if byte(separator + 1) == Some(b':') => return None,
            Some(b':') => (separator + 1, true),
            Some(_) if name_start >= 2 && bytes[name_start - 2..name_start] == *b"--" => {
                if separator == name_end {
                    return None;
                }
                (separator, true)
            }
            Some(_) | None => return None,
        };
        let start = skip(skip(behind, b" \t", 8), b"\\", 1);
        match byte(start) {
            Some(quote @ (b'"' | b'\'' | b'`')) => {
                Some(Self { start: start + 1, quote: Some(quote), colon })
            }
            Some(_) => Some(Self { start, quote: None, colon }),
            None => None,
        }
    }

    fn secret(&self, look: &Look<'_>, name: Name) -> Option<Secret> {
        let rest = &look.bytes[self.start..];
        let ends = |byte: &u8| match (self.quote, name) {
            (Some(quote), _) => *byte == quote || *byte == b'\n',
            (None, Name::Authorization) => b"\r\n\"'`\\".contains(byte),
            (None, Name::Loud | Name::Quiet) => {
                byte.is_ascii_whitespace() || b"\"'`;&|()<>\\{}[],".contains(byte)
            }
        };
        let window = &rest[..rest.len().min(LOOK)];
        let seen = &window[..window.iter().position(ends).unwrap_or(window.len())];
        if !self.is_secret(seen, name) {
            return None;
        }
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        let place = self.start..self.start + length;
        let kind = match name {
            Name::Loud | Name::Quiet => "secret",
            Name::Authorization => "authorization",
        };
        Some(Secret { place, kind })
    }

    /// `seen` is the beginning of the value, all of it where it is short.
    fn is_secret(&self, seen: &[u8], name: Name) -> bool {
        if seen.is_empty() || is_reference(seen) || seen.starts_with(b"[redacted") {
            return false;
        }
        let digits = seen.iter().filter(|byte| byte.is_ascii_digit()).count();
        match (name, self.quote) {
            (Name::Loud, None) if self.colon && seen.len() < SHORTEST_TOKEN => digits > 0,
            (Name::Loud, _) => digits < seen.len() || seen.len() >= SHORTEST_TOKEN,
            (Name::Quiet, Some(_)) => seen.len() >= 4,
            (Name::Quiet, None) => seen.len() >= SHORTEST_TOKEN && digits > 0,
            (Name::Authorization, _) => seen.len() >= SHORTEST_TOKEN,
        }
    }
}

/// `$NAME` and `${…}` and `$(…)`: the name of a secret, and no secret.
fn is_reference(seen: &[u8]) -> bool {
    let Some(name) = seen.strip_prefix(b"$") else { return false };
    let is_name = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    name.is_empty() || name.starts_with(b"{") || name.starts_with(b"(") || name.iter().all(is_name)
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
