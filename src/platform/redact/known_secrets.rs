//! Finds the secrets that slug holds in a text, in the forms in which programs usually print them:
//! literal, percent-encoded, backwards, in hexadecimal, in base64.
//!
//! A secret that is encoded in base64 among other bytes looks different at each of three offsets,
//! and its first and last character are mixed with its neighbours; the search looks for the part in
//! between. Encoders break lines, so white space inside is skipped. Not found: a secret that is
//! encoded twice, compressed, or printed in pieces with other text between them (the three columns
//! of `xxd`).

use std::ops::Range;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use secrecy::{ExposeSecret, SecretString};

/// Values and encoded forms with fewer bytes are too common to look for.
const SHORTEST: usize = 8;

/// The most bytes between two characters of a secret: the end of a line and some spaces.
const WIDEST_GAP: usize = 8;

/// The secrets that slug holds. A change makes a new one, so that a running search is not
/// disturbed.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownSecrets {
    secrets: Vec<KnownSecret>,
    patterns: Vec<KnownSecretPattern>,
    /// For each byte, the patterns that can begin with it; empty while there is no pattern.
    by_first: Vec<Vec<usize>>,
}

#[derive(Debug, Clone)]
struct KnownSecret {
    value: SecretString,
    /// The replacement for the value in the output of a tool.
    mark: Arc<str>,
    /// Whether the mark names the server of a key.
    is_named: bool,
}

/// One encoded form of a secret, as the search compares it.
#[derive(Clone)]
struct KnownSecretPattern {
    form: KnownSecretEncoding,
    bytes: Vec<u8>,
    secret: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KnownSecretEncoding {
    Literal,
    /// Each byte literal or as `%2F`.
    Percent,
    /// Two digits for each byte, in upper or lower case, with the usual separators in between.
    Hex,
    /// In the standard alphabet or in that for URLs.
    Base64,
}

/// The result of a search.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SecretMatch<'a> {
    /// The place of a secret, and its mark.
    Secret(Range<usize>, &'a str),
    /// From here on, more text is needed to decide.
    Open(usize),
    Nothing,
}

/// Whether more text may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextRemainder {
    MayFollow,
    None,
}

enum PatternComparison {
    /// The text begins with the whole pattern, in this many bytes.
    Whole(usize),
    /// The text is a beginning of the pattern.
    Open,
    Differs,
}

impl KnownSecrets {
    pub(super) fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// A copy with one more secret; `None` when it changes nothing. A mark with a server's name
    /// replaces one without.
    pub(super) fn with(&self, value: &SecretString, mark: &str, is_named: bool) -> Option<Self> {
        let text = value.expose_secret();
        if text.len() < SHORTEST {
            return None;
        }
        let mut all = self.clone();
        let known = all.secrets.iter_mut().find(|it| it.value.expose_secret() == text);
        if let Some(known) = known {
            if known.is_named || !is_named {
                return None;
            }
            (known.mark, known.is_named) = (mark.into(), true);
            return Some(all);
        }
        let secret = all.secrets.len();
        all.secrets.push(KnownSecret { value: value.clone(), mark: mark.into(), is_named });
        all.by_first.resize(256, Vec::new());
        for (form, bytes) in forms(text.as_bytes()) {
            let pattern = KnownSecretPattern { form, bytes, secret };
            for first in pattern.first_bytes() {
                all.by_first[usize::from(first)].push(all.patterns.len());
            }
            all.patterns.push(pattern);
        }
        Some(all)
    }

    /// The first secret in `text` from `at` on; of two at one place the longer.
    pub(super) fn find(&self, text: &[u8], at: usize, rest: TextRemainder) -> SecretMatch<'_> {
        if self.patterns.is_empty() {
            return SecretMatch::Nothing;
        }
        for (at, first) in text.iter().enumerate().skip(at) {
            let (mut longest, mut is_open) = (None::<(usize, usize)>, false);
            for index in &self.by_first[usize::from(*first)] {
                let pattern = &self.patterns[*index];
                match pattern.compare(&text[at..]) {
                    PatternComparison::Whole(length) if longest.is_none_or(|it| it.0 < length) => {
                        longest = Some((length, pattern.secret));
                    }
                    PatternComparison::Open => is_open = true,
                    PatternComparison::Whole(_) | PatternComparison::Differs => {}
                }
            }
            if is_open && rest == TextRemainder::MayFollow {
                return SecretMatch::Open(at);
            }
            if let Some((length, secret)) = longest {
                return SecretMatch::Secret(at..at + length, &self.secrets[secret].mark);
            }
        }
        SecretMatch::Nothing
    }
}

/// All forms of a value that the search looks for.
fn forms(value: &[u8]) -> impl Iterator<Item = (KnownSecretEncoding, Vec<u8>)> {
    let reversed = value.iter().rev().copied().collect();
    let hex = value.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect();
    let base64 = (0..3).map(move |before| {
        let text = STANDARD_NO_PAD.encode([&vec![0; before], value].concat());
        // Six bits a character; characters that share a byte with a neighbour are left out.
        let start = (before * 8).div_ceil(6);
        let end = (before + value.len()) * 8 / 6;
        text.as_bytes()[start..end].to_vec()
    });
    let plain = [
        (KnownSecretEncoding::Literal, value.to_vec()),
        (KnownSecretEncoding::Percent, value.to_vec()),
    ];
    let others = [(KnownSecretEncoding::Literal, reversed), (KnownSecretEncoding::Hex, hex)];
    let base64 = base64.map(|bytes| (KnownSecretEncoding::Base64, bytes));
    plain.into_iter().chain(others).chain(base64).filter(|(_, bytes)| bytes.len() >= SHORTEST)
}

impl KnownSecretPattern {
    /// All bytes that it can begin with.
    fn first_bytes(&self) -> Vec<u8> {
        let can_begin = |byte: &u8| match self.form {
            KnownSecretEncoding::Percent if *byte == b'%' => true,
            KnownSecretEncoding::Literal
            | KnownSecretEncoding::Percent
            | KnownSecretEncoding::Hex
            | KnownSecretEncoding::Base64 => self.form.lowercased(*byte) == self.bytes[0],
        };
        (0..=u8::MAX).filter(can_begin).collect()
    }

    fn compare(&self, text: &[u8]) -> PatternComparison {
        let mut at = 0;
        for (seen, wanted) in self.bytes.iter().enumerate() {
            let mut gap = 0;
            loop {
                let rest = &text[at..];
                let Some(byte) = rest.first() else {
                    // Else the end of each second line would wait for the next one. A secret with a
                    // line break that early is found only when the output is searched as a whole.
                    let waits = seen >= SHORTEST || !text[at - gap..].contains(&b'\n');
                    return if waits {
                        PatternComparison::Open
                    } else {
                        PatternComparison::Differs
                    };
                };
                match self.form.step(*wanted, rest) {
                    PatternComparison::Whole(length) => {
                        at += length;
                        break;
                    }
                    PatternComparison::Open => return PatternComparison::Open,
                    PatternComparison::Differs => {
                        if seen == 0 || gap == WIDEST_GAP || !self.form.is_gap(*byte) {
                            return PatternComparison::Differs;
                        }
                        (at, gap) = (at + 1, gap + 1);
                    }
                }
            }
        }
        PatternComparison::Whole(at)
    }
}

impl KnownSecretEncoding {
    /// The byte as patterns store it.
    fn lowercased(self, byte: u8) -> u8 {
        match (self, byte) {
            (Self::Hex, byte) => byte.to_ascii_lowercase(),
            (Self::Base64, b'-') => b'+',
            (Self::Base64, b'_') => b'/',
            (Self::Literal | Self::Percent | Self::Base64, byte) => byte,
        }
    }

    /// Whether `text`, which is not empty, begins with this byte of a pattern.
    fn step(self, wanted: u8, text: &[u8]) -> PatternComparison {
        if self == Self::Percent && text[0] == b'%' {
            let wanted = format!("{wanted:02x}");
            let digits = text[1..text.len().min(3)].iter();
            if digits.zip(wanted.bytes()).all(|(is, wanted)| is.to_ascii_lowercase() == wanted) {
                return if text.len() < 3 {
                    PatternComparison::Open
                } else {
                    PatternComparison::Whole(3)
                };
            }
        }
        if self.lowercased(text[0]) == wanted {
            PatternComparison::Whole(1)
        } else {
            PatternComparison::Differs
        }
    }

    fn is_gap(self, byte: u8) -> bool {
        // `73:6b`, `73, 6b`, `73-6b` and `\x73\x6b`.
        byte.is_ascii_whitespace() || self == Self::Hex && b":,-\\x".contains(&byte)
    }
}

/// Hides the bytes: a pattern is as secret as the value.
impl std::fmt::Debug for KnownSecretPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pattern").field("form", &self.form).finish_non_exhaustive()
    }
}
