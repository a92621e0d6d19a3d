//! Secrets by the name that they are given: `NAME=value`, `name: value`, `"name": "value"`,
//! `--name value`.
//!
//! What a value may be differs with how it is written. A shell and a file of settings take anything
//! up to the next space; in a program it may as well be an expression, which is to stay readable.

use std::ops::Range;

use serde_json::Value;

use crate::domain::secrets::is_secret_name;

use super::{ExportSecretScanner, ExportSecretSpan, LOOK, SHORTEST_TOKEN};

/// Shorter values are none, whatever their name says.
const SHORTEST_VALUE: usize = 4;

/// What the name of a variable says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SecretNameKind {
    /// As variables of the environment are written: its value is secret.
    UpperCase,
    /// As in programs, where the value may be an expression.
    MixedCase,
    /// The header of that name: a word may stand before the secret.
    Authorization,
}

impl SecretNameKind {
    pub(super) fn of(name: &str) -> Option<Self> {
        if !name.bytes().any(|byte| byte.is_ascii_lowercase()) {
            return is_secret_name(name).then_some(Self::UpperCase);
        }
        let lower = name.to_ascii_lowercase();
        if lower.ends_with("authorization") {
            return Some(Self::Authorization);
        }
        says_secret(&lower).then_some(Self::MixedCase)
    }
}

fn says_secret(lower: &str) -> bool {
    const ENDS: [&str; 8] =
        ["token", "secret", "password", "passwd", "passphrase", "credential", "_pass", "-pass"];
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

/// Whether it is a password, which may well be a short number.
fn says_password(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_short = ["_pass", "-pass", "_pwd"].iter().any(|end| lower.ends_with(end));
    is_short || lower == "pass" || lower.contains("passw") || lower.contains("passphrase")
}

/// As many digits alone are a secret under this name. Fewer are a count or a place.
fn fewest_digits(name: &str) -> usize {
    if says_password(name) { SHORTEST_VALUE } else { SHORTEST_TOKEN }
}

/// Of a field in JSON, where a string is always a value.
pub(super) fn is_secret_field(name: &str, value: &Value) -> bool {
    let is_named = || name.len() < LOOK && SecretNameKind::of(name).is_some();
    match value {
        Value::String(text) => !text.is_empty() && is_named(),
        Value::Number(number) => number.to_string().len() >= fewest_digits(name) && is_named(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

/// `--token` among the arguments of a command: its value is the next one.
pub(super) fn is_secret_option(item: &Value) -> bool {
    let name = item.as_str().and_then(|text| text.strip_prefix("--"));
    name.is_some_and(|name| name.len() < LOOK && SecretNameKind::of(name).is_some())
}

/// Whether it may be the value of the option before it, and is there still.
pub(super) fn is_argument(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('-') && !text.starts_with("[redacted")
}

/// Where a value stands, and how it is written.
pub(super) struct SecretAssignment<'a> {
    name: &'a str,
    start: usize,
    quote: Option<u8>,
    joint: AssignmentOperator,
}

/// What is between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AssignmentOperator {
    /// `=` alone, as in shells and in files of settings.
    Tight,
    /// `=` with spaces, as in programs.
    Loose,
    /// A colon, or an arrow.
    Colon,
    /// A space: the name is an option of a command.
    Option,
}

/// Where a value ends that is in no quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SecretValueEnd {
    /// With its line.
    Line,
    /// With its word, whatever else is in it.
    Word,
    /// Where it would in a program.
    Code,
}

impl SecretValueEnd {
    fn is_at(self, byte: u8) -> bool {
        let is_end_of_text = b"\"'`\\".contains(&byte);
        match self {
            Self::Line => is_end_of_text || b"\r\n".contains(&byte),
            Self::Word => is_end_of_text || byte.is_ascii_whitespace(),
            Self::Code => {
                is_end_of_text || byte.is_ascii_whitespace() || b";&|()<>{}[],".contains(&byte)
            }
        }
    }

    fn of(self, bytes: &[u8]) -> usize {
        bytes.iter().position(|byte| self.is_at(*byte)).unwrap_or(bytes.len())
    }
}

impl<'a> SecretAssignment<'a> {
    /// What is assigned to the name at this place.
    pub(super) fn at(look: &ExportSecretScanner<'a>, name: Range<usize>) -> Option<Self> {
        let bytes = look.bytes;
        let byte = |at: usize| bytes.get(at).copied();
        let skip = |mut at: usize, wanted: &[u8], most: usize| {
            let end = at + most;
            while at < end && byte(at).is_some_and(|byte| wanted.contains(&byte)) {
                at += 1;
            }
            at
        };
        let is_option = name.start >= 2 && bytes[name.start - 2..name.start] == *b"--";
        let close = skip(name.end, b"\\\"'`]", 3);
        let separator = skip(close, b" \t", 8);
        let (behind, joint) = match byte(separator) {
            Some(b'=') if byte(separator + 1) == Some(b'=') => return None,
            Some(b'=') if byte(separator + 1) == Some(b'>') => {
                (separator + 2, AssignmentOperator::Colon)
            }
            Some(b'=') if separator == close => (separator + 1, AssignmentOperator::Tight),
            Some(b'=') => (separator + 1, AssignmentOperator::Loose),
            Some(b':') if byte(separator + 1) == Some(b'=') => {
                (separator + 2, AssignmentOperator::Colon)
            }
            // A path in a program, as in `token::Kind`.
            Some(b':') if byte(separator + 1) == Some(b':') => return None,
            Some(b':') => (separator + 1, AssignmentOperator::Colon),
            // The next one in a list of arguments.
            Some(b',') if is_option && close > name.end => {
                (separator + 1, AssignmentOperator::Option)
            }
            Some(_) if is_option && separator > name.end => (separator, AssignmentOperator::Option),
            Some(_) | None => return None,
        };
        let value = skip(behind, b" \t", 8);
        let joint = if joint == AssignmentOperator::Tight && value > behind {
            AssignmentOperator::Loose
        } else {
            joint
        };
        let start = skip(value, b"\\", 1);
        let (quote, start) = match byte(start)? {
            quote @ (b'"' | b'\'' | b'`') => (Some(quote), start + 1),
            _ => (None, start),
        };
        Some(Self { name: &look.text[name], start, quote, joint })
    }

    /// The value, if it is a secret under such a name.
    pub(super) fn secret(
        &self,
        look: &ExportSecretScanner<'_>,
        name: SecretNameKind,
    ) -> Option<ExportSecretSpan> {
        let rest = &look.bytes[self.start..];
        let window = &rest[..rest.len().min(LOOK)];
        let (is_secret, length) = match self.quote {
            Some(quote) => {
                let length = |bytes: &[u8]| {
                    let ends = |byte: &u8| *byte == quote || *byte == b'\n';
                    bytes.iter().position(ends).unwrap_or(bytes.len())
                };
                (self.is_quoted_secret(&window[..length(window)], name), length(rest))
            }
            None => {
                let end = self.end(window, name);
                (self.is_bare_secret(window, end, name), end.of(rest))
            }
        };
        let kind = match name {
            SecretNameKind::UpperCase | SecretNameKind::MixedCase => "secret",
            SecretNameKind::Authorization => "authorization",
        };
        is_secret.then(|| ExportSecretSpan { place: self.start..self.start + length, kind })
    }

    /// `seen` is the beginning of the value, all of it where it is short.
    fn is_quoted_secret(&self, seen: &[u8], name: SecretNameKind) -> bool {
        let is_next_option = self.joint == AssignmentOperator::Option && seen.starts_with(b"-");
        !is_none(seen)
            && !is_next_option
            && match name {
                SecretNameKind::UpperCase => self.is_more_than_a_count(seen),
                SecretNameKind::MixedCase => seen.len() >= SHORTEST_VALUE,
                SecretNameKind::Authorization => seen.len() >= SHORTEST_TOKEN,
            }
    }

    /// How far a value goes that is in no quotes. As a part of a program it ends with what may
    /// stand behind it there; as one of a shell's or of a file of settings it may have anything in it.
    fn end(&self, window: &[u8], name: SecretNameKind) -> SecretValueEnd {
        let word = &window[..SecretValueEnd::Word.of(window)];
        let is_setting = match self.joint {
            AssignmentOperator::Tight => name == SecretNameKind::UpperCase,
            AssignmentOperator::Loose | AssignmentOperator::Colon | AssignmentOperator::Option => {
                false
            }
        };
        if name == SecretNameKind::Authorization {
            SecretValueEnd::Line
        } else if is_setting && word.iter().any(u8::is_ascii_alphanumeric)
            || is_last_on_line(window, word.len()) && !is_code(word)
        {
            SecretValueEnd::Word
        } else {
            SecretValueEnd::Code
        }
    }

    fn is_bare_secret(&self, window: &[u8], end: SecretValueEnd, name: SecretNameKind) -> bool {
        let seen = &window[..end.of(window)];
        if is_none(seen) {
            return false;
        }
        let has_digit = seen.iter().any(u8::is_ascii_digit);
        match name {
            SecretNameKind::Authorization => seen.len() >= SHORTEST_TOKEN,
            SecretNameKind::UpperCase => match self.joint {
                AssignmentOperator::Colon | AssignmentOperator::Option
                    if seen.len() < SHORTEST_TOKEN =>
                {
                    has_digit
                }
                AssignmentOperator::Tight
                | AssignmentOperator::Loose
                | AssignmentOperator::Colon
                | AssignmentOperator::Option => self.is_more_than_a_count(seen),
            },
            SecretNameKind::MixedCase if seen.len() >= SHORTEST_TOKEN && has_digit => true,
            SecretNameKind::MixedCase
                if seen.len() < SHORTEST_VALUE || !self.is_more_than_a_count(seen) =>
            {
                false
            }
            SecretNameKind::MixedCase => match (self.joint, end) {
                (AssignmentOperator::Tight, SecretValueEnd::Word | SecretValueEnd::Line) => {
                    !self.is_word_of_code(seen)
                }
                (
                    AssignmentOperator::Loose | AssignmentOperator::Colon,
                    SecretValueEnd::Word | SecretValueEnd::Line,
                ) => has_digit && !is_number_type(seen),
                // Neither a call nor an element.
                (AssignmentOperator::Tight | AssignmentOperator::Option, SecretValueEnd::Code) => {
                    has_digit && !matches!(window.get(seen.len()), Some(b'(' | b'['))
                }
                (AssignmentOperator::Option, SecretValueEnd::Word | SecretValueEnd::Line) => {
                    has_digit
                }
                (AssignmentOperator::Loose | AssignmentOperator::Colon, SecretValueEnd::Code) => {
                    false
                }
            },
        }
    }

    /// Few digits and nothing else are a count.
    fn is_more_than_a_count(&self, seen: &[u8]) -> bool {
        let is_number = seen.iter().all(u8::is_ascii_digit);
        !is_number || seen.len() >= fewest_digits(self.name)
    }

    /// `token=token`, `password=settings.password`, `token=None`.
    fn is_word_of_code(&self, seen: &[u8]) -> bool {
        const WORDS: [&str; 9] =
            ["none", "null", "true", "false", "nil", "undefined", "string", "required", "optional"];
        let last = seen.rsplit(|byte| b".:>$".contains(byte)).next().unwrap_or(seen);
        last.eq_ignore_ascii_case(self.name.as_bytes())
            || WORDS.iter().any(|word| seen.eq_ignore_ascii_case(word.as_bytes()))
    }
}

/// Nothing, or not the secret itself.
fn is_none(seen: &[u8]) -> bool {
    seen.is_empty() || is_reference(seen) || seen.starts_with(b"[redacted")
}

/// Whether nothing but spaces follows on the line, or in the string that it is the end of.
fn is_last_on_line(window: &[u8], length: usize) -> bool {
    let rest = window[length..].trim_ascii_start();
    let between = &window[length..window.len() - rest.len()];
    if length == LOOK {
        return false;
    }
    between.contains(&b'\n')
        || match rest {
            [] | [b'"' | b'\'' | b'`', ..] => true,
            [b'\\', next, ..] => b"nr\"'".contains(next),
            _ => false,
        }
}

/// Whether a word is, or ends, a part of a program: `next()`, `token,`, `Vec<u8>`, `{`.
fn is_code(word: &[u8]) -> bool {
    let is_punctuation = |byte: &u8| b"()[]{}<>,;".contains(byte);
    let head = word.iter().position(is_punctuation).unwrap_or(word.len());
    let is_path = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.:$".contains(byte);
    word.last().is_some_and(is_punctuation) && word[..head].iter().all(is_path)
}

/// `u128`, `int64`, `Float32`.
fn is_number_type(seen: &[u8]) -> bool {
    const TYPES: [&str; 6] = ["u", "i", "f", "int", "uint", "float"];
    let digits = seen.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let name = &seen[..seen.len() - digits];
    TYPES.iter().any(|it| name.eq_ignore_ascii_case(it.as_bytes()))
}

/// `$NAME` and `${…}` and `$(…)`: the name of a secret, and no secret.
fn is_reference(seen: &[u8]) -> bool {
    let Some(name) = seen.strip_prefix(b"$") else { return false };
    let is_name = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    match name.iter().find(|byte| !is_name(byte)) {
        None => true,
        // The next command of a shell.
        Some(b';' | b'&' | b'|' | b')') => true,
        Some(_) => name.starts_with(b"{") || name.starts_with(b"("),
    }
}
