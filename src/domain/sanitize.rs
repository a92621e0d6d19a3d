//! Makes text from models, tools, files and servers harmless to show.
//!
//! Everything that a terminal would obey or a reader could not see becomes visible: control
//! characters as their pictures (`␛`), C1 controls as `\u{9b}`, bidi marks, zero-width characters
//! and tags as `‹U+202E›`. Line feeds and tabs stay, CRLF becomes LF. Joiners and variation
//! selectors stay only where a script or an emoji needs them, because elsewhere they can hide data.
//!
//! Sanitising twice gives the same as sanitising once. Visible characters never change; `lookalike`
//! handles letters that imitate others.

use std::borrow::Cow;
use std::ops::Range;

use super::is_invisible;

/// A run of text after sanitising, with its place in the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SanitizedPiece<'a> {
    /// The text to show.
    pub text: Cow<'a, str>,
    /// The byte range in the original text that `text` stands for.
    pub source: Range<usize>,
    /// Whether `text` is the original or stands for a character that must not be shown raw.
    pub kind: SanitizedPieceKind,
}

/// The origin of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SanitizedPieceKind {
    /// Text of the original, unchanged.
    Plain,
    /// One character of the original, made visible.
    Escaped,
}

/// An escape sequence of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EscapeSequence<'a> {
    /// A control sequence: its parameters and its last character, as in `ESC [ 1;31 m`.
    Csi(&'a str, char),
    /// Any other: title, clipboard, device string, character set, lone escape.
    Other,
}

/// The text with every harmful character made visible. Borrowed if nothing changes.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if next_suspect(text.as_bytes(), 0) == text.len() {
        return Cow::Borrowed(text);
    }
    let mut pieces = pieces(text);
    let Some(first) = pieces.next() else { return Cow::Borrowed("") };
    if first.text.len() == text.len() && first.kind == SanitizedPieceKind::Plain {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&first.text);
    out.extend(pieces.map(|piece| piece.text));
    Cow::Owned(out)
}

/// A text on one line, with every harmful character made visible: a line end as `␊`, because a space
/// would let a comment in a script look as if it went on.
pub fn sanitize_line(text: &str) -> String {
    sanitize(text).replace('\t', "    ").replace('\n', "␊")
}

/// The same as [`sanitize`], in pieces that say which of them were made visible.
pub fn pieces(text: &str) -> SanitizedPieces<'_> {
    SanitizedPieces { text, at: 0, escape: None }
}

/// The text without escape sequences, for the model: colours, titles and the like are noise there.
/// A line that was redrawn with carriage returns keeps its last state. Tag characters, which models
/// read and users do not see, are made visible; other controls are dropped.
pub fn strip_ansi(text: &str) -> Cow<'_, str> {
    if next_suspect(text.as_bytes(), 0) == text.len() {
        return Cow::Borrowed(text);
    }
    let mut sequences = EscapeSequenceReader::new(text);
    let mut out = String::with_capacity(text.len());
    let (mut at, mut line, mut returned) = (0, 0, false);
    while let Some(c) = text[at..].chars().next() {
        let next = at + c.len_utf8();
        match c {
            '\u{1b}' | '\u{80}'..='\u{9f}' => {
                at += sequences.at(at).1;
                continue;
            }
            '\n' => {
                out.push('\n');
                (line, returned) = (out.len(), false);
            }
            '\r' => returned = true,
            '\u{8}' if out.len() > line => drop(out.pop()),
            '\u{e0000}'..='\u{e007f}' => out.push_str(&visible(c)),
            _ if c.is_control() && c != '\t' => {}
            _ => {
                if returned {
                    out.truncate(line);
                    returned = false;
                }
                out.push(c);
            }
        }
        at = next;
    }
    Cow::Owned(out)
}

/// Reads escape sequences in one text, in linear time whatever the text holds.
#[derive(Debug)]
pub struct EscapeSequenceReader<'a> {
    text: &'a str,
    /// No string terminator comes before this offset: an earlier search found none.
    unterminated_until: usize,
}

impl<'a> EscapeSequenceReader<'a> {
    /// Reads the escape sequences of `text`.
    pub fn new(text: &'a str) -> Self {
        Self { text, unterminated_until: 0 }
    }

    /// The sequence that begins at `index`, which must be at an escape or a C1 control, and its
    /// length in bytes. Of a sequence that never ends only the introducer counts, so that it
    /// swallows no text.
    pub fn at(&mut self, index: usize) -> (EscapeSequence<'a>, usize) {
        let rest = &self.text[index..];
        let mut chars = rest.chars();
        let (introducer, length) = match (chars.next(), chars.next()) {
            (Some('\u{1b}'), Some(second)) => (second, 1 + second.len_utf8()),
            (Some('\u{1b}'), None) | (None, _) => {
                return (EscapeSequence::Other, rest.len().min(1));
            }
            (Some(c1), _) => (char::from((c1 as u32 as u8).wrapping_sub(0x40)), c1.len_utf8()),
        };
        match introducer {
            '[' => control_sequence(rest, length),
            ']' | 'P' | 'X' | '^' | '_' => (EscapeSequence::Other, self.string(index, length)),
            ' '..='/' => {
                let end = rest[length..].find(|c: char| !(' '..='/').contains(&c));
                let end = end.map_or(rest.len(), |end| length + end);
                let last = rest[end..].chars().next().is_some_and(|c| ('0'..='~').contains(&c));
                (EscapeSequence::Other, if last { end + 1 } else { 1 })
            }
            '0'..='~' => (EscapeSequence::Other, length),
            _ => (EscapeSequence::Other, 1),
        }
    }

    /// The length of a string such as `ESC ] … BEL`. A string ends at the line end.
    fn string(&mut self, index: usize, introducer: usize) -> usize {
        let body = index + introducer;
        if body < self.unterminated_until {
            return introducer;
        }
        let rest = &self.text[body..];
        let end = rest.char_indices().find_map(|(at, c)| match c {
            '\u{7}' | '\u{9c}' => Some(Ok(at + c.len_utf8())),
            '\u{1b}' if rest[at + 1..].starts_with('\\') => Some(Ok(at + 2)),
            '\n' => Some(Err(at)),
            _ => None,
        });
        match end.unwrap_or(Err(rest.len())) {
            Ok(length) => introducer + length,
            Err(searched) => {
                self.unterminated_until = body + searched;
                introducer
            }
        }
    }
}

/// The pieces of a text; see [`pieces`].
#[derive(Debug)]
pub struct SanitizedPieces<'a> {
    text: &'a str,
    at: usize,
    /// A character to escape next, found while the text before it was returned.
    escape: Option<char>,
}

impl<'a> Iterator for SanitizedPieces<'a> {
    type Item = SanitizedPiece<'a>;

    fn next(&mut self) -> Option<SanitizedPiece<'a>> {
        if let Some(c) = self.escape.take() {
            return Some(self.escaped(c));
        }
        let mut start = self.at;
        loop {
            let index = next_suspect(self.text.as_bytes(), self.at);
            let Some(c) = self.text[index..].chars().next() else {
                self.at = index;
                return (start < index).then(|| self.plain(start..index));
            };
            let next = index + c.len_utf8();
            match char_treatment(c, &self.text[start..index], &self.text[next..]) {
                CharTreatment::Keep => self.at = next,
                CharTreatment::Drop if start < index => {
                    self.at = next;
                    return Some(self.plain(start..index));
                }
                CharTreatment::Drop => (self.at, start) = (next, next),
                CharTreatment::Escape if start < index => {
                    (self.at, self.escape) = (index, Some(c));
                    return Some(self.plain(start..index));
                }
                CharTreatment::Escape => {
                    self.at = index;
                    return Some(self.escaped(c));
                }
            }
        }
    }
}

impl<'a> SanitizedPieces<'a> {
    fn plain(&self, source: Range<usize>) -> SanitizedPiece<'a> {
        SanitizedPiece {
            text: Cow::Borrowed(&self.text[source.clone()]),
            source,
            kind: SanitizedPieceKind::Plain,
        }
    }

    fn escaped(&mut self, c: char) -> SanitizedPiece<'a> {
        let start = self.at;
        self.at += c.len_utf8();
        let text = Cow::Owned(visible(c));
        SanitizedPiece { text, source: start..self.at, kind: SanitizedPieceKind::Escaped }
    }
}

enum CharTreatment {
    Keep,
    Drop,
    Escape,
}

/// The first byte from `from` on that may begin a suspicious character, by its UTF-8 lead byte.
/// Nearly all text has none, so this scan is the whole cost of sanitising it.
fn next_suspect(bytes: &[u8], from: usize) -> usize {
    let suspect = |byte: &u8| match byte {
        b'\n' | b'\t' => false,
        0..=0x1f | 0x7f => true,
        0xc2 | 0xcd | 0xd8 | 0xe1 | 0xe2 | 0xe3 | 0xef | 0xf0 | 0xf3 => true,
        0x20..=0x7e | 0x80..=0xc1 | 0xc3..=0xcc | 0xce..=0xd7 => false,
        0xd9..=0xe0 | 0xe4..=0xee | 0xf1..=0xf2 | 0xf4..=0xff => false,
    };
    bytes[from..].iter().position(suspect).map_or(bytes.len(), |at| from + at)
}

/// How to treat `c`. `before` is the unchanged text since the last escaped character.
fn char_treatment(c: char, before: &str, after: &str) -> CharTreatment {
    let keep = match c {
        '\r' if after.starts_with('\n') => return CharTreatment::Drop,
        '\n' | '\t' => true,
        '\u{200d}' => joined(before, after, |c| is_pictograph(c) || in_joining_script(c)),
        '\u{200c}' => joined(before, after, in_joining_script),
        '\u{fe00}'..='\u{fe0f}' => before.chars().next_back().is_some_and(|base| takes(c, base)),
        '\u{e0100}'..='\u{e01ef}' => before.chars().next_back().is_some_and(is_ideograph),
        _ => !c.is_control() && !is_invisible(c),
    };
    if keep { CharTreatment::Keep } else { CharTreatment::Escape }
}

/// Whether both neighbours of a joiner can be joined.
fn joined(before: &str, after: &str, joins: fn(char) -> bool) -> bool {
    let before = before.strip_suffix('\u{fe0f}').unwrap_or(before);
    before.chars().next_back().is_some_and(joins) && after.chars().next().is_some_and(joins)
}

/// Whether a variation selector has a meaning behind `base`.
fn takes(selector: char, base: char) -> bool {
    if base.is_ascii() {
        return selector == '\u{fe0f}' && matches!(base, '0'..='9' | '#' | '*');
    }
    !base.is_whitespace()
        && !matches!(base, '\u{fe00}'..='\u{fe0f}' | '\u{200c}' | '\u{200d}')
        && !matches!(base, '\u{e0100}'..='\u{e01ef}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        | '\u{2190}'..='\u{23ff}' | '\u{25a0}'..='\u{27bf}' | '\u{2900}'..='\u{2bff}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// Scripts that need joiners for spelling: Arabic and related scripts, the Indic scripts,
/// Mongolian.
fn in_joining_script(c: char) -> bool {
    matches!(c, '\u{620}'..='\u{6ff}' | '\u{710}'..='\u{7ff}' | '\u{840}'..='\u{dff}'
        | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17b3}' | '\u{17b6}'..='\u{17ff}'
        | '\u{1820}'..='\u{18aa}')
}

fn visible(c: char) -> String {
    match c as u32 {
        code @ 0..=0x1f => char::from_u32(0x2400 + code).map_or_else(String::new, String::from),
        0x7f => '␡'.into(),
        code @ 0x80..=0x9f => format!("\\u{{{code:x}}}"),
        code => format!("‹U+{code:04X}›"),
    }
}

/// Reads `ESC [ parameters intermediates final`; `length` is the introducer's length in bytes.
fn control_sequence(rest: &str, length: usize) -> (EscapeSequence<'_>, usize) {
    let body = &rest[length..];
    let parameters = body.find(|c| !('0'..='?').contains(&c)).unwrap_or(body.len());
    let last = body[parameters..].find(|c| !(' '..='/').contains(&c));
    let last = parameters + last.unwrap_or(body.len() - parameters);
    match body[last..].chars().next() {
        Some(c @ '@'..='~') if last == parameters => {
            (EscapeSequence::Csi(&body[..parameters], c), length + last + 1)
        }
        Some('@'..='~') => (EscapeSequence::Other, length + last + 1),
        Some(_) | None => (EscapeSequence::Other, length),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn s73_s79_harmful_characters_are_made_visible() {
        let table = [
            ("plain text\n\twith tabs", "plain text\n\twith tabs"),
            ("a\u{1b}[2Jb", "a␛[2Jb"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("a\u{7f}b\u{0}c\u{7}", "a␡b␀c␇"),
            ("one\r\ntwo\rthree\r", "one\ntwo␍three␍"),
            ("if \u{202e}x\u{2066}", "if ‹U+202E›x‹U+2066›"),
            ("pass\u{200b}word\u{ad}", "pass‹U+200B›word‹U+00AD›"),
            ("a\u{e0041}", "a‹U+E0041›"),
            ("a\u{200d}b", "a‹U+200D›b"),
            ("x\u{fe00}\u{fe01}", "x‹U+FE00›‹U+FE01›"),
        ];
        for (raw, shown) in table {
            assert_eq!(sanitize(raw), shown, "{raw:?}");
        }
    }

    #[test]
    fn scripts_and_emoji_keep_their_joiners() {
        for text in [
            "👩\u{200d}👩\u{200d}👧",
            "❤\u{fe0f}\u{200d}🔥",
            "1\u{fe0f}\u{20e3}",
            "می\u{200c}خواهم",
            "क\u{94d}\u{200d}ष",
        ] {
            assert!(matches!(sanitize(text), Cow::Borrowed(_)), "{text:?}");
        }
    }

    #[test]
    fn harmless_text_is_not_copied() {
        assert!(matches!(sanitize("naïve “text” — 日本 🦀"), Cow::Borrowed(_)));
    }

    #[test]
    fn the_model_gets_output_without_sequences() {
        let table = [
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}text", "text"),
            ("\u{1b}]8;;http://e\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{9b}2Jx\u{9d}0;t\u{9c}y", "xy"),
            ("\u{1b}]0;never ends\nnext", "0;never ends\nnext"),
            ("\u{1b}(Bx\u{1b}=y", "xy"),
            ("10%\r50%\r100%\r\ndone", "100%\ndone"),
            ("ab\u{8}c", "ac"),
            ("a\u{0}b\u{e0041}", "ab‹U+E0041›"),
            ("end\u{1b}", "end"),
        ];
        for (raw, stripped) in table {
            assert_eq!(strip_ansi(raw), stripped, "{raw:?}");
        }
    }

    #[test]
    fn sequences_that_never_end_cost_linear_time() {
        let text = "\u{1b}]".repeat(200_000);
        assert_eq!(strip_ansi(&text), "");
    }

    fn nasty() -> impl Strategy<Value = String> {
        let odd = prop::sample::select(vec![
            "\r",
            "\n",
            "\r\n",
            "\t",
            "\u{1b}",
            "\u{1b}[1m",
            "\u{1b}]0;",
            "\u{7}",
            "\u{9b}",
            "\u{9c}",
            "\u{202e}",
            "\u{200d}",
            "\u{200c}",
            "\u{fe0f}",
            "\u{e0041}",
            "\u{e0101}",
            "👩",
            "❤",
            "日",
            "1",
            "a",
            "क",
            "م",
            "\u{301}",
            "\u{7f}",
            " ",
            "\u{8}",
        ]);
        prop_oneof![
            prop::collection::vec(odd, 0..12).prop_map(|parts| parts.concat()),
            ".{0,40}".prop_map(|text| text),
            prop::collection::vec(any::<char>(), 0..40).prop_map(String::from_iter),
        ]
    }

    proptest! {
        #[test]
        fn s73_no_control_character_is_left_and_twice_is_once(text in nasty()) {
            let once = sanitize(&text).into_owned();
            prop_assert!(once.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()));
            let twice = sanitize(&once);
            prop_assert_eq!(&twice, &once);
        }

        #[test]
        fn pieces_cover_the_text_in_order(text in nasty()) {
            let mut at = 0;
            for piece in pieces(&text) {
                prop_assert!(text[at..piece.source.start].chars().all(|c| c == '\r'));
                at = piece.source.end;
            }
            prop_assert_eq!(at, text.len());
        }

        #[test]
        fn stripped_text_holds_no_escape(text in nasty()) {
            let stripped = strip_ansi(&text);
            prop_assert!(stripped.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()));
        }
    }
}
