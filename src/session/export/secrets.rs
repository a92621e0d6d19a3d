//! Finds secrets by their shape, and replaces each by `[redacted: …]`.
//!
//! One pass from left to right over a text. Everything that is looked at twice is limited, so that
//! the time grows only with the length. slug's own keys do not matter here, since they never get
//! into a log. The redactor takes out too much rather than too little, because an export is passed
//! on.

mod assignments;

use std::ops::Range;

use serde_json::{Map, Value};

use crate::domain::sanitize::strip_ansi;
use crate::domain::secrets::{SHAPES, password_in_address, private_keys};

use assignments::{
    SecretAssignment, SecretNameKind, is_secret_field, is_secret_option, secret_singular,
};

/// How far the scanner looks ahead to decide whether something is a secret, in bytes.
const LOOK: usize = 512;
/// In bytes. A shorter token is an ordinary word.
const SHORTEST_TOKEN: usize = 8;

/// Redacts secrets, and counts them.
#[derive(Debug, Default)]
pub(super) struct ExportRedactor {
    pub(super) count: usize,
}

/// A secret in a text.
#[derive(Debug)]
struct ExportSecretSpan {
    place: Range<usize>,
    kind: &'static str,
}

impl ExportRedactor {
    /// `text` without its secrets and without escape sequences, between which a secret may be
    /// hidden.
    pub(super) fn text(&mut self, text: &str) -> String {
        let text = strip_ansi(text);
        let secrets = find(&text);
        self.count += secrets.len();
        let mut clean = String::with_capacity(text.len());
        let mut at = 0;
        for ExportSecretSpan { place, kind } in secrets {
            clean.push_str(&text[at..place.start]);
            clean.push_str(&mark(kind));
            at = place.end;
        }
        clean.push_str(&text[at..]);
        clean
    }

    /// `value` without the secrets in its strings and names, and without the values of fields whose
    /// name says that they are secret.
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
                Value::Array(_) | Value::Object(_) => match secret_singular(&name) {
                    Some(name) => self.all_of(name, value),
                    None => self.json(value),
                },
                value if is_secret_field(&name, &value) => self.secret(),
                value => self.json(value),
            };
            (self.text(&name), value)
        };
        fields.into_iter().map(field).collect()
    }

    /// A list or an object under a secret name: all that it holds is secret, but for its own names.
    fn all_of(&mut self, name: &str, value: Value) -> Value {
        match value {
            Value::Array(items) => items.into_iter().map(|item| self.all_of(name, item)).collect(),
            Value::Object(fields) => {
                let field =
                    |(own, value): (String, Value)| (self.text(&own), self.all_of(name, value));
                Value::Object(fields.into_iter().map(field).collect())
            }
            value if is_secret_field(name, &value) => self.secret(),
            value @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => value,
        }
    }

    fn secret(&mut self) -> Value {
        self.count += 1;
        Value::String(mark("secret"))
    }

    /// Redacts the items of a list. The lines of a diff are read as one text, because a private key
    /// takes several lines.
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
        let mut is_behind_option = false;
        let item = |item: Value| {
            let is_option = is_secret_option(&item);
            let is_value = is_behind_option && item.as_str().is_some_and(assignments::is_argument);
            is_behind_option = is_option;
            if is_value { self.secret() } else { self.json(item) }
        };
        items.into_iter().map(item).collect()
    }

    /// Redacts lines. A secret that takes several lines is replaced on the first of them, and its
    /// other lines become empty.
    fn lines(&mut self, lines: &[String]) -> Vec<String> {
        let lines: Vec<_> = lines.iter().map(|line| strip_ansi(line)).collect();
        let secrets = find(&lines.join("\n"));
        let mut secrets = secrets.into_iter().peekable();
        let mut start = 0;
        let mut clean = Vec::with_capacity(lines.len());
        for line in &lines {
            let end = start + line.len();
            let (mut text, mut at) = (String::new(), start);
            while let Some(ExportSecretSpan { place, kind }) = secrets.peek() {
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

/// All secrets of a text, in order and without overlaps.
fn find(text: &str) -> Vec<ExportSecretSpan> {
    let mut scanner = ExportSecretScanner { text, bytes: text.as_bytes(), run_end: 0 };
    let mut keys = private_keys(text).into_iter().peekable();
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        // A secret that was found before may reach into a private key.
        let key = keys.next_if(|key| key.start <= at).map(|key| key.start.max(at)..key.end);
        let secret = match key {
            Some(place) if place.is_empty() => continue,
            Some(place) => Some(ExportSecretSpan { place, kind: "private key" }),
            None => scanner.secret(at),
        };
        match secret {
            Some(secret) => {
                at = secret.place.end;
                found.push(secret);
            }
            None => at += 1,
        }
    }
    found
}

struct ExportSecretScanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// The end of the run of token characters that was looked at last.
    run_end: usize,
}

impl ExportSecretScanner<'_> {
    /// The secret that the text at `at` reveals; it may begin after `at`.
    fn secret(&mut self, at: usize) -> Option<ExportSecretSpan> {
        let first = self.bytes[at];
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

    /// Whether a word begins here. It also does after the letter of an escape, as in JSON within a
    /// text: `\nghp_…`.
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

    /// The end of the run of token characters that begins at `at`.
    fn token_end(&mut self, at: usize) -> usize {
        if self.run_end <= at {
            let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~+/=".contains(byte);
            let length = self.bytes[at..].iter().take_while(|byte| is_token(byte)).count();
            self.run_end = at + length;
        }
        self.run_end
    }

    fn shaped(&mut self, at: usize) -> Option<ExportSecretSpan> {
        let (prefix, least, kind) =
            SHAPES.into_iter().find(|(prefix, _, _)| self.starts(at, prefix))?;
        let end = self.token_end(at);
        let dots = self.bytes[at..end].iter().rev().take_while(|byte| **byte == b'.').count();
        let end = end - dots;
        (end >= at + prefix.len() + least).then_some(ExportSecretSpan { place: at..end, kind })
    }

    /// A JWT: at least two parts in base64 with a dot between them, the first of which begins like
    /// a JSON object.
    fn web_token(&mut self, at: usize) -> Option<ExportSecretSpan> {
        if !self.starts(at, "eyJ") {
            return None;
        }
        let window = &self.bytes[at..self.bytes.len().min(at + 2 * LOOK)];
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
        let header = window.iter().take_while(|byte| is_part(byte)).count();
        if header < 10 || !self.starts(at + header, ".") {
            return None;
        }
        Some(ExportSecretSpan { place: at..self.token_end(at), kind: "JWT" })
    }

    fn bearer(&mut self, at: usize) -> Option<ExportSecretSpan> {
        let window = self.bytes.get(at..at + 7)?;
        if !window.eq_ignore_ascii_case(b"bearer ") {
            return None;
        }
        let start = at + 7;
        let end = self.token_end(start);
        let token = &self.bytes[start..end.min(start + LOOK)];
        let is_token = token.len() >= SHORTEST_TOKEN && !token.iter().all(u8::is_ascii_lowercase);
        is_token.then_some(ExportSecretSpan { place: start..end, kind: "authorization" })
    }

    /// The password in an address such as `://user:password@host`.
    fn in_address(&self, at: usize) -> Option<ExportSecretSpan> {
        let window = &self.bytes[at..self.bytes.len().min(at + LOOK)];
        let password = password_in_address(window)?;
        Some(ExportSecretSpan { place: at + password.start..at + password.end, kind: "password" })
    }

    /// A value whose name says that it is secret: `NAME=value`, `name: value`, `"name": "value"` or
    /// `--name value`.
    fn assigned(&self, at: usize) -> Option<ExportSecretSpan> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        let escaped = at >= 2 && self.bytes[at - 2] == b'\\';
        // This is within a name, and the whole name was looked at before.
        if let Some(before) = self.before(at)
            && is_name(before)
            && before != b'-'
            && !escaped
        {
            return None;
        }
        let window = &self.bytes[at..self.bytes.len().min(at + LOOK)];
        let length = window.iter().take_while(|byte| is_name(**byte)).count();
        let name = SecretNameKind::of(&self.text[at..at + length])?;
        let value = SecretAssignment::at(self, at..at + length)?;
        value.secret(self, name)
    }
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
