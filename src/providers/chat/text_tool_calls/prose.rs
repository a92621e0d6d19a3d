//! Where in Markdown a place is plain prose: in no code and in no quotes.
//!
//! When in doubt a place is not plain. A code span that is not closed lasts to the end of its
//! paragraph, a quote that is not closed to the end of its line.

/// Follows a text letter by letter.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ProseTracker {
    code: MarkdownCode,
    line: ProseLine,
    /// The mark that closes the quote, and how many are open, one within the other.
    quote: Option<(char, usize)>,
    /// Quoted with `>`.
    is_quotation: bool,
    /// Indented as far as code is.
    is_indented_code: bool,
    /// The line before was blank, or there was none.
    follows_blank: bool,
    /// A row of equal marks that may go on.
    run: Option<MarkRun>,
    last: char,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MarkdownCode {
    None,
    /// Closed by a row of so many backticks.
    Span(usize),
    /// Closed by a line of at least so many of the mark. While the line of the opener lasts, a
    /// backtick shows that it was a span.
    Fence {
        mark: char,
        length: usize,
        opening: bool,
    },
    /// A line that closes a fence unless something else is on it.
    Closing {
        mark: char,
        length: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProseLine {
    /// Only white space so far, this wide.
    Start(usize),
    Inside,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct MarkRun {
    mark: char,
    length: usize,
    at_start: bool,
}

/// From this indentation on a line is code.
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
    /// Whether what comes next is plain. What comes next is no backtick.
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

    /// Whether only white space stands before it in its line.
    pub(super) fn is_at_line_start(&self) -> bool {
        matches!(self.line, ProseLine::Start(_)) && self.run.is_none()
    }

    /// Goes past a letter.
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

    /// Goes past the letters that say nothing of the place but what came last, and begin no call
    /// within a line. Most letters are such.
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

    /// Notes what the beginning of a line says; whether this was it.
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

/// By byte, whether within a line it is of a letter that neither marks nor quotes anything.
const QUIET: [bool; 256] = {
    let mut quiet = [false; 256];
    let mut byte = 0;
    while byte < quiet.len() {
        quiet[byte] = is_quiet(byte as u8);
        byte += 1;
    }
    quiet
};

/// The last two begin letters beyond ASCII among which quotes are.
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
        fn skipping_is_passing_letter_by_letter(
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
