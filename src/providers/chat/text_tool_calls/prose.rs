//! Tells which places of a Markdown text are plain prose: not in code and not in quotes.
//!
//! Doubtful places are not plain. An unclosed code span lasts to the end of its paragraph, an
//! unclosed quote to the end of its line.

/// Follows a text character by character.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ProseTracker {
    code: MarkdownCode,
    line: ProseLine,
    /// The closing quotation mark, and how many nested quotes are open.
    quote: Option<(char, usize)>,
    /// The line is a block quote (`>`).
    is_quotation: bool,
    /// The line is indented as far as code.
    is_indented_code: bool,
    /// The line before is blank, or there is none.
    follows_blank: bool,
    /// A run of equal marks that may continue.
    run: Option<MarkRun>,
    last: char,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MarkdownCode {
    None,
    /// Closed by a run of this many backticks.
    Span(usize),
    /// Closed by a line with at least this many marks. While the opening line lasts, a backtick
    /// turns it into a span.
    Fence {
        mark: char,
        length: usize,
        opening: bool,
    },
    /// A line that closes a fence unless it holds anything else.
    Closing {
        mark: char,
        length: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProseLine {
    /// Only white space so far, of this width.
    Start(usize),
    Inside,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct MarkRun {
    mark: char,
    length: usize,
    at_start: bool,
}

/// A line with this indentation is code (CommonMark, "Indented code blocks").
const CODE_INDENT: usize = 4;

impl Default for ProseTracker {
    fn default() -> Self {
        Self {
            code: MarkdownCode::None,
            line: ProseLine::Start(0),
            quote: None,
            is_quotation: false,
            is_indented_code: false,
            follows_blank: true,
            run: None,
            last: '\n',
        }
    }
}

impl ProseTracker {
    /// Whether the next character is plain prose. The caller makes sure that it is no backtick.
    pub(super) fn is_plain(&mut self) -> bool {
        self.end_run();
        let indented = match self.line {
            ProseLine::Start(width) => {
                width >= CODE_INDENT && (self.follows_blank || self.is_indented_code)
            }
            ProseLine::Inside => self.is_indented_code,
        };
        self.code == MarkdownCode::None && self.quote.is_none() && !self.is_quotation && !indented
    }

    /// Whether only white space precedes in this line.
    pub(super) fn is_at_line_start(&self) -> bool {
        matches!(self.line, ProseLine::Start(_)) && self.run.is_none()
    }

    /// Moves past a character.
    pub(super) fn pass(&mut self, letter: char) {
        if self.run.is_some_and(|run| run.mark != letter) {
            self.end_run();
        }
        match letter {
            '\n' => self.end_line(),
            '`' | '~' if self.last != '\\' || self.code != MarkdownCode::None => self.mark(letter),
            ' ' | '\t' | '\r' => {
                if let ProseLine::Start(width) = &mut self.line {
                    *width += if letter == '\t' { CODE_INDENT } else { 1 };
                }
            }
            _ => self.inside(letter),
        }
        self.last = letter;
    }

    /// Moves past characters that cannot change the state within a line and cannot begin a call;
    /// only the last one is remembered. Most characters are of this kind. Returns their length in
    /// bytes.
    pub(super) fn skip(&mut self, text: &str) -> usize {
        if self.run.is_some()
            || self.line != ProseLine::Inside
            || matches!(self.code, MarkdownCode::Closing { .. })
        {
            return 0;
        }
        let upto = text.bytes().position(|byte| !QUIET[usize::from(byte)]).unwrap_or(text.len());
        if let Some(last) = text[..upto].chars().next_back() {
            self.last = last;
        }
        upto
    }

    fn mark(&mut self, mark: char) {
        match &mut self.run {
            Some(run) => run.length += 1,
            None => {
                let at_start = matches!(self.line, ProseLine::Start(_));
                self.begin_line();
                self.run = Some(MarkRun { mark, length: 1, at_start });
            }
        }
    }

    fn inside(&mut self, letter: char) {
        if self.begin_line() && letter == '>' {
            self.is_quotation = true;
        }
        if let MarkdownCode::Closing { mark, length } = self.code {
            self.code = MarkdownCode::Fence { mark, length, opening: false };
        }
        if self.code != MarkdownCode::None {
            return;
        }
        let opens = self.last.is_whitespace()
            || matches!(self.last, '(' | '[' | '{' | '-' | ':' | '=' | ',');
        match self.quote {
            Some((quote, depth)) if quote == letter && opens => {
                self.quote = Some((quote, depth + 1));
            }
            Some((quote, depth)) if quote == letter => {
                self.quote = (depth > 1).then_some((quote, depth - 1));
            }
            Some(_) => {}
            None => {
                let closer = match letter {
                    '"' | '\'' if opens => Some(letter),
                    '“' | '„' => Some('”'),
                    '‘' => Some('’'),
                    '«' => Some('»'),
                    _ => None,
                };
                self.quote = closer.map(|closer| (closer, 1));
            }
        }
    }

    /// Updates the state at the beginning of a line; true if that beginning is complete.
    fn begin_line(&mut self) -> bool {
        let ProseLine::Start(width) = self.line else { return false };
        self.line = ProseLine::Inside;
        self.is_indented_code =
            width >= CODE_INDENT && (self.follows_blank || self.is_indented_code);
        self.follows_blank = false;
        true
    }

    fn end_run(&mut self) {
        let Some(MarkRun { mark, length, at_start }) = self.run.take() else { return };
        let span = if mark == '`' { MarkdownCode::Span(length) } else { MarkdownCode::None };
        self.code = match self.code {
            MarkdownCode::None if at_start && length >= 3 => {
                MarkdownCode::Fence { mark, length, opening: true }
            }
            MarkdownCode::None => span,
            MarkdownCode::Span(open) if mark == '`' && length == open => MarkdownCode::None,
            MarkdownCode::Fence { mark: '`', length: open, opening: true } if mark == '`' => {
                if length == open {
                    MarkdownCode::None
                } else {
                    MarkdownCode::Span(open)
                }
            }
            MarkdownCode::Fence { mark: open, length: least, opening: false }
                if at_start && mark == open && length >= least =>
            {
                MarkdownCode::Closing { mark, length: least }
            }
            code @ (MarkdownCode::Span(_) | MarkdownCode::Fence { .. }) => code,
            MarkdownCode::Closing { mark, length } => {
                MarkdownCode::Fence { mark, length, opening: false }
            }
        };
    }

    fn end_line(&mut self) {
        self.end_run();
        let blank = matches!(self.line, ProseLine::Start(_));
        self.code = match self.code {
            MarkdownCode::Closing { .. } => MarkdownCode::None,
            MarkdownCode::Span(_) if blank => MarkdownCode::None,
            MarkdownCode::Fence { mark, length, .. } => {
                MarkdownCode::Fence { mark, length, opening: false }
            }
            code @ (MarkdownCode::None | MarkdownCode::Span(_)) => code,
        };
        self.line = ProseLine::Start(0);
        self.quote = None;
        self.is_quotation = false;
        self.follows_blank = blank;
    }
}

/// By byte, whether within a line it belongs to a character that is no mark and no quote.
const QUIET: [bool; 256] = {
    let mut quiet = [false; 256];
    let mut byte = 0;
    while byte < quiet.len() {
        quiet[byte] = is_quiet(byte as u8);
        byte += 1;
    }
    quiet
};

/// The last two are lead bytes of the non-ASCII characters that include quotation marks.
const fn is_quiet(byte: u8) -> bool {
    let marks = matches!(byte, b'\n' | b'`' | b'~' | b'<' | b'[' | b'{' | b']');
    !marks && !matches!(byte, b'"' | b'\'' | 0xC2 | 0xE2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn code_and_quotes_are_not_plain() {
        let table = [
            ("", true),
            ("a b ", true),
            ("`a` ", true),
            ("`a ", false),
            ("`a\n", false),
            ("`a\n\n", true),
            ("``a`b", false),
            ("``a`b``", true),
            (r"\` ", true),
            ("```\n", false),
            ("```sh\na\n\nb\n", false),
            ("```\na\n```\n", true),
            ("```\na\n``` b\n", false),
            ("````\n```\n", false),
            ("```a``` ", true),
            ("~~~\n```\n", false),
            ("~~~\na\n~~~\n", true),
            ("~~gone~~ ", true),
            ("> ", false),
            (">\n", true),
            ("a\n\n    ", false),
            ("a\n\n    b\n    ", false),
            ("a\n    ", true),
            ("\t", false),
            ("the \"", false),
            ("the \"a\" ", true),
            ("the \"a\n", true),
            ("the \"f({\"a\": \"b\"})", false),
            ("the \"f({\"a\": \"b\"})\" ", true),
            ("don't ", true),
            ("the 'a", false),
            ("„a", false),
            ("«a» ", true),
            ("5\" disk ", true),
        ];
        for (text, plain) in table {
            let mut prose = ProseTracker::default();
            text.chars().for_each(|letter| prose.pass(letter));
            assert_eq!(prose.is_plain(), plain, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn skipping_equals_passing_each_character(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "a b", "\n", "\n\n", "    ", "\t", "`", "```", "~~~", "\"", "'", "\\", ">", "<", "[",
                    "(", "f", "é", "“", "”", "«", "»", "…", "\u{a0}", "漢", ",", "\r\n",
                ]),
                0..24,
            ),
        ) {
            let text = parts.concat();
            let (mut skipping, mut passing) = (ProseTracker::default(), ProseTracker::default());
            let mut at = 0;
            while at < text.len() {
                let skipped = skipping.skip(&text[at..]);
                text[at..at + skipped].chars().for_each(|letter| passing.pass(letter));
                at += skipped;
                if let Some(letter) = text[at..].chars().next() {
                    skipping.pass(letter);
                    passing.pass(letter);
                    at += letter.len_utf8();
                }
                prop_assert_eq!(&skipping, &passing, "{:?}", &text[..at]);
            }
        }
    }
}
