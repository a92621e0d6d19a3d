//! Finds secrets by the name that they are assigned to: `NAME=value`, `name: value`, `"name":
//! "value"`, `--name value`.
//!
//! What counts as a value depends on how it is written. In a shell or a file of settings it is
//! anything up to the next space; in a program it may be an expression, which should stay readable.

use std::ops::Range;

use serde_json::Value;

use crate::domain::secrets::is_secret_name;

use super::{ExportSecretScanner, ExportSecretSpan, LOOK, SHORTEST_TOKEN};

/// In bytes. A shorter value is not a secret, whatever its name says.
const SHORTEST_VALUE: usize = 4;

/// What the spelling of a secret's name says about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SecretNameKind {
    /// Spelled like environment variables: the value is a secret.
    UpperCase,
    /// Spelled as in programs, where the value may be an expression.
    MixedCase,
    /// The header of that name: a word such as `Basic` may come before the secret.
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

/// Whether the name is a password's, which may well be a short number.
fn says_password(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_short = ["_pass", "-pass", "_pwd"].iter().any(|end| lower.ends_with(end));
    is_short || lower == "pass" || lower.contains("passw") || lower.contains("passphrase")
}

/// How many digits alone count as a secret under this name. Fewer are a count or a position.
fn fewest_digits(name: &str) -> usize {
    if says_password(name) { SHORTEST_VALUE } else { SHORTEST_TOKEN }
}

/// Whether the name of a field in JSON says that it holds a secret.
fn is_secret_field_name(name: &str) -> bool {
    name.len() < LOOK && SecretNameKind::of(name).is_some()
}

/// The name, or that of one of them, if it says that a list or an object holds secrets.
pub(super) fn secret_singular(name: &str) -> Option<&str> {
    [Some(name), name.strip_suffix('s')].into_iter().flatten().find(|it| is_secret_field_name(it))
}

/// Whether a field in JSON is a secret. A string there is always a value.
pub(super) fn is_secret_field(name: &str, value: &Value) -> bool {
    let is_named = || is_secret_field_name(name);
    match value {
        Value::String(text) => !text.is_empty() && is_named(),
        Value::Number(number) => number.to_string().len() >= fewest_digits(name) && is_named(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

/// Whether an argument of a command is an option such as `--token`, whose value is the next
/// argument.
pub(super) fn is_secret_option(item: &Value) -> bool {
    let name = item.as_str().and_then(|text| text.strip_prefix("--"));
    name.is_some_and(is_secret_field_name)
}

/// Whether an argument may be the value of the option before it, and is not redacted yet.
pub(super) fn is_argument(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('-') && !text.starts_with("[redacted")
}

/// A name with the start of its value, and how the value is written.
pub(super) struct SecretAssignment<'a> {
    name: &'a str,
    start: usize,
    quote: Option<u8>,
    operator: AssignmentOperator,
}

/// What stands between a name and its value.
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

/// Where a value without quotes ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SecretValueEnd {
    /// At the next line feed, or at the end of a string.
    Line,
    /// At the end of its word, whatever else is in it.
    Word,
    /// Where it would end in a program.
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
    /// The assignment to the name at this place; `None` where nothing is assigned.
    pub(super) fn at(scanner: &ExportSecretScanner<'a>, name: Range<usize>) -> Option<Self> {
        let bytes = scanner.bytes;
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
        let (behind, operator) = match byte(separator) {
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
            // The value is the next item in a list of arguments.
            Some(b',') if is_option && close > name.end => {
                (separator + 1, AssignmentOperator::Option)
            }
            Some(_) if is_option && separator > name.end => (separator, AssignmentOperator::Option),
            Some(_) | None => return None,
        };
        let value = skip(behind, b" \t", 8);
        let operator = if operator == AssignmentOperator::Tight && value > behind {
            AssignmentOperator::Loose
        } else {
            operator
        };
        let start = skip(value, b"\\", 1);
        let (quote, start) = match byte(start)? {
            quote @ (b'"' | b'\'' | b'`') => (Some(quote), start + 1),
            _ => (None, start),
        };
        Some(Self { name: &scanner.text[name], start, quote, operator })
    }

    /// The place of the value, if it is a secret under a name of this kind.
    pub(super) fn secret(
        &self,
        scanner: &ExportSecretScanner<'_>,
        name: SecretNameKind,
    ) -> Option<ExportSecretSpan> {
        let rest = &scanner.bytes[self.start..];
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

    /// Whether a quoted value is a secret. `value` is its beginning, and all of it where it is
    /// short.
    fn is_quoted_secret(&self, value: &[u8], name: SecretNameKind) -> bool {
        let is_next_option = self.operator == AssignmentOperator::Option && value.starts_with(b"-");
        !is_none(value)
            && !is_next_option
            && match name {
                SecretNameKind::UpperCase => self.is_more_than_a_count(value),
                SecretNameKind::MixedCase => value.len() >= SHORTEST_VALUE,
                SecretNameKind::Authorization => value.len() >= SHORTEST_TOKEN,
            }
    }

    /// Where a value without quotes ends. In a program it ends with what may follow it there; in a
    /// shell or a file of settings it may have anything in it.
    fn end(&self, window: &[u8], name: SecretNameKind) -> SecretValueEnd {
        let word = &window[..SecretValueEnd::Word.of(window)];
        let is_setting = match self.operator {
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
        let value = &window[..end.of(window)];
        if is_none(value) {
            return false;
        }
        let has_digit = value.iter().any(u8::is_ascii_digit);
        match name {
            SecretNameKind::Authorization => value.len() >= SHORTEST_TOKEN,
            SecretNameKind::UpperCase => match self.operator {
                AssignmentOperator::Colon | AssignmentOperator::Option
                    if value.len() < SHORTEST_TOKEN =>
                {
                    has_digit
                }
                AssignmentOperator::Tight
                | AssignmentOperator::Loose
                | AssignmentOperator::Colon
                | AssignmentOperator::Option => self.is_more_than_a_count(value),
            },
            SecretNameKind::MixedCase if value.len() >= SHORTEST_TOKEN && has_digit => true,
            SecretNameKind::MixedCase
                if value.len() < SHORTEST_VALUE || !self.is_more_than_a_count(value) =>
            {
                false
            }
            SecretNameKind::MixedCase => match (self.operator, end) {
                (AssignmentOperator::Tight, SecretValueEnd::Word | SecretValueEnd::Line) => {
                    !self.is_word_of_code(value)
                }
                (
                    AssignmentOperator::Loose | AssignmentOperator::Colon,
                    SecretValueEnd::Word | SecretValueEnd::Line,
                ) => has_digit && !is_number_type(value),
                // Neither a call nor an element.
                (AssignmentOperator::Tight | AssignmentOperator::Option, SecretValueEnd::Code) => {
                    has_digit && !matches!(window.get(value.len()), Some(b'(' | b'['))
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

    /// Whether a value is not merely a count, which has few digits and nothing else.
    fn is_more_than_a_count(&self, value: &[u8]) -> bool {
        let is_number = value.iter().all(u8::is_ascii_digit);
        !is_number || value.len() >= fewest_digits(self.name)
    }

    /// Whether a value is the name of a variable or a keyword, as in `token=token`,
    /// `password=settings.password`, `token=None`.
    fn is_word_of_code(&self, value: &[u8]) -> bool {
        const WORDS: [&str; 9] =
            ["none", "null", "true", "false", "nil", "undefined", "string", "required", "optional"];
        let last = value.rsplit(|byte| b".:>$".contains(byte)).next().unwrap_or(value);
        last.eq_ignore_ascii_case(self.name.as_bytes())
            || WORDS.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
    }
}

/// Whether there is no value, or only a reference to the secret.
fn is_none(value: &[u8]) -> bool {
    value.is_empty() || is_reference(value) || value.starts_with(b"[redacted")
}

/// Whether only spaces follow on the line, or in the string that the value ends.
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

/// Whether a word is code, or ends with code: `next()`, `token,`, `Vec<u8>`, `{`.
fn is_code(word: &[u8]) -> bool {
    let is_punctuation = |byte: &u8| b"()[]{}<>,;".contains(byte);
    let head = word.iter().position(is_punctuation).unwrap_or(word.len());
    let is_path = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.:$".contains(byte);
    word.last().is_some_and(is_punctuation) && word[..head].iter().all(is_path)
}

/// Whether a value is the name of a number type, such as `u128`, `int64` or `Float32`.
fn is_number_type(value: &[u8]) -> bool {
    const TYPES: [&str; 6] = ["u", "i", "f", "int", "uint", "float"];
    let digits = value.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let name = &value[..value.len() - digits];
    TYPES.iter().any(|it| name.eq_ignore_ascii_case(it.as_bytes()))
}

/// Whether a value only refers to a secret, as `$NAME`, `${…}` and `$(…)` do.
fn is_reference(value: &[u8]) -> bool {
    let Some(name) = value.strip_prefix(b"$") else { return false };
    let is_name = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    match name.iter().find(|byte| !is_name(byte)) {
        None => true,
        // The next command of a shell begins here.
        Some(b';' | b'&' | b'|' | b')') => true,
        Some(_) => name.starts_with(b"{") || name.starts_with(b"("),
    }
}
