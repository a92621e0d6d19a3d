//! Renders the output of commands: colours are kept, every other sequence that a terminal would
//! obey is not.
//!
//! A line ends up as a terminal would show it after carriage returns, backspaces and the few
//! sequences that move or erase within a line, so that only the last state of a progress bar is
//! shown. Other sequences are shown as visible escapes. Lines are cut after [`MAX_COLUMNS`], and of
//! a huge line only the part that shows is read.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::wrap::{BreakOpportunities, StyledPiece, WrapFrame, escape, wrap};
use super::{AnsiColor, AnsiStyle, StyleRole, StyledLine, StyledSpan};
use crate::domain::sanitize::{EscapeSequence, EscapeSequenceReader};

/// Columns of a line that are shown.
pub const MAX_COLUMNS: usize = 4_096;
/// Bytes of a line that are read.
const MAX_BYTES: usize = 64 * 1024;
/// Terminals have a stop every 8 columns.
const TAB: usize = 8;

/// How much of an output is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnsiExcerpt {
    /// Every line.
    All,
    /// The first and the last lines, with a count of the hidden lines between them.
    Ends {
        /// Lines at the start.
        head: usize,
        /// Lines at the end.
        tail: usize,
    },
}

/// Lays out an output, one or more rows for each of its lines.
pub fn render(output: &str, excerpt: AnsiExcerpt, width: u16) -> Vec<StyledLine> {
    let body = output.strip_suffix('\n').unwrap_or(output);
    let mut painter = AnsiRenderer { width, style: AnsiStyle::default(), out: Vec::new() };
    let (head, tail) = match excerpt {
        AnsiExcerpt::All => (usize::MAX, 0),
        AnsiExcerpt::Ends { head, tail } => (head, tail),
    };
    let total = body.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let hidden = total.saturating_sub(head.saturating_add(tail));
    if hidden < 2 {
        painter.lines(body, 0);
        return painter.out;
    }
    let start = match head {
        0 => 0,
        _ => body.match_indices('\n').nth(head - 1).map_or(body.len(), |(at, _)| at + 1),
    };
    if head > 0 {
        painter.lines(&body[..start - 1], 0);
    }
    painter.out.push(hidden_line(hidden, start));
    painter.style = AnsiStyle::default();
    if tail > 0 {
        let end = body.rmatch_indices('\n').nth(tail - 1).map_or(0, |(at, _)| at + 1);
        painter.lines(&body[end..], end);
    }
    painter.out
}

/// Keeps the first `head` and the last `tail` lines, and says how many it left out. Leaves out
/// nothing where that would save no line.
pub fn hide_middle(mut lines: Vec<StyledLine>, head: usize, tail: usize) -> Vec<StyledLine> {
    let hidden = lines.len().saturating_sub(head + tail);
    if hidden > 1 {
        let source = lines[head].source;
        lines.splice(head..head + hidden, [hidden_line(hidden, source)]);
    }
    lines
}

fn hidden_line(count: usize, source: usize) -> StyledLine {
    let text = format!("… {count} lines hidden");
    let gutter = u16::try_from(text.len()).unwrap_or(u16::MAX);
    StyledLine {
        spans: vec![StyledSpan::new(text, StyleRole::Muted)],
        source,
        gutter,
        ..StyledLine::default()
    }
}

struct AnsiRenderer {
    width: u16,
    /// The style that the last SGR sequence set; it carries over to the next line.
    style: AnsiStyle,
    out: Vec<StyledLine>,
}

/// The content of one column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AnsiGlyph {
    /// A byte range of the line.
    Text { start: usize, end: usize },
    /// The second half of a wide character.
    Tail,
    /// Nothing was written here.
    Blank,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct AnsiCell {
    glyph: AnsiGlyph,
    role: StyleRole,
}

impl AnsiRenderer {
    fn lines(&mut self, text: &str, source: usize) {
        let mut at = source;
        for line in text.split('\n') {
            self.line(line, at);
            at += line.len() + 1;
        }
    }

    fn line(&mut self, line: &str, source: usize) {
        let shown = shown_part(line);
        let text = &line[shown.clone()];
        let mut row =
            AnsiRow { text, cells: Vec::new(), cursor: 0, hidden: line.len() - shown.end };
        let mut sequences = EscapeSequenceReader::new(text);
        let mut at = 0;
        while at < text.len() {
            at = self.step(&mut row, &mut sequences, at);
        }
        let from = source + shown.start;
        let mut pieces = row.pieces(from);
        if row.hidden > 0 {
            let text = format!(" … {} more bytes", row.hidden);
            let end = from + text_len(&pieces, from);
            pieces.push(StyledPiece::new(text, StyleRole::Muted, end..end));
        }
        let frame = WrapFrame {
            breaks: BreakOpportunities::Anywhere,
            tab: TAB,
            source,
            ..WrapFrame::prose(self.width)
        };
        wrap(&pieces, &frame, &mut self.out);
    }

    /// Processes one character or sequence; returns where the next begins.
    fn step(
        &mut self,
        row: &mut AnsiRow<'_>,
        sequences: &mut EscapeSequenceReader<'_>,
        at: usize,
    ) -> usize {
        let rest = &row.text[at..];
        match rest.as_bytes()[0] {
            b'\r' => row.cursor = 0,
            0x8 => row.cursor = row.cursor.saturating_sub(1),
            b'\t' => row.cursor = (row.cursor / TAB + 1) * TAB,
            b' '..=b'~' if rest.as_bytes().get(1).is_none_or(u8::is_ascii) => {
                row.put(at..at + 1, 1, role(self.style));
            }
            0x1b => return self.sequence(row, sequences, at),
            0..=0x1f | 0x7f => row.put(at..at + 1, 1, StyleRole::Escaped),
            0xc2 if rest.as_bytes().get(1).is_some_and(|byte| *byte < 0xa0) => {
                return self.sequence(row, sequences, at);
            }
            _ => {
                let cluster = rest.graphemes(true).next().unwrap_or(rest);
                row.put(at..at + cluster.len(), cluster.width(), role(self.style));
                return at + cluster.len();
            }
        }
        at + 1
    }

    fn sequence(
        &mut self,
        row: &mut AnsiRow<'_>,
        sequences: &mut EscapeSequenceReader<'_>,
        at: usize,
    ) -> usize {
        let (sequence, length) = sequences.at(at);
        let count = |parameters: &str| parameters.parse::<usize>().unwrap_or(1).max(1);
        match sequence {
            EscapeSequence::Csi(parameters, 'm') => sgr(parameters, &mut self.style),
            EscapeSequence::Csi("" | "0", 'K') => row.cells.truncate(row.cursor),
            EscapeSequence::Csi("1", 'K') => row.erase(row.cursor + 1),
            EscapeSequence::Csi("2", 'K') => row.erase(usize::MAX),
            EscapeSequence::Csi(columns, 'C') => row.cursor += count(columns).min(MAX_COLUMNS),
            EscapeSequence::Csi(columns, 'D') => {
                row.cursor = row.cursor.saturating_sub(count(columns));
            }
            EscapeSequence::Csi(column, 'G') => row.cursor = count(column) - 1,
            // The visibility of the cursor has no effect on text.
            EscapeSequence::Csi("?25", 'h' | 'l') => {}
            EscapeSequence::Csi(..) | EscapeSequence::Other => {
                let end = at + length;
                for (offset, c) in row.text[at..end].char_indices() {
                    row.put(at + offset..at + offset + c.len_utf8(), 1, StyleRole::Escaped);
                }
                return end;
            }
        }
        at + length
    }
}

/// One line as a terminal sees it.
struct AnsiRow<'t> {
    text: &'t str,
    cells: Vec<AnsiCell>,
    cursor: usize,
    /// Number of bytes that are not shown.
    hidden: usize,
}

impl<'t> AnsiRow<'t> {
    /// Writes text at the cursor.
    fn put(&mut self, range: Range<usize>, width: usize, role: StyleRole) {
        if width == 0 && self.extend_last(&range) {
            return;
        }
        if self.cursor + width > MAX_COLUMNS {
            self.hidden += range.len();
            return;
        }
        let end = self.cursor + width.max(1);
        if self.cells.len() < end {
            let blank = AnsiCell { glyph: AnsiGlyph::Blank, role: StyleRole::Text };
            self.cells.resize(end, blank);
        }
        let glyph = AnsiGlyph::Text { start: range.start, end: range.end };
        self.cells[self.cursor] = AnsiCell { glyph, role };
        self.cells[self.cursor + 1..end].fill(AnsiCell { glyph: AnsiGlyph::Tail, role });
        self.cursor = end;
    }

    /// Adds a mark without width to the character before it.
    fn extend_last(&mut self, range: &Range<usize>) -> bool {
        let last = self.cursor.checked_sub(1).and_then(|at| self.cells.get_mut(at));
        match last {
            Some(AnsiCell { glyph: AnsiGlyph::Text { end, .. }, .. }) if *end == range.start => {
                *end = range.end;
                true
            }
            Some(_) | None => false,
        }
    }

    fn erase(&mut self, end: usize) {
        let end = end.min(self.cells.len());
        self.cells[..end].fill(AnsiCell { glyph: AnsiGlyph::Blank, role: StyleRole::Text });
    }

    /// The line's text as runs of one role each, without trailing blanks.
    fn pieces(&self, source: usize) -> Vec<StyledPiece<'t>> {
        let text = self.text;
        let shown = self.cells.iter().rposition(|cell| cell.glyph != AnsiGlyph::Blank);
        let cells = &self.cells[..shown.map_or(0, |last| last + 1)];
        let mut runs: Vec<(AnsiGlyph, StyleRole)> = Vec::new();
        for cell in cells {
            match (runs.last_mut(), cell.glyph) {
                (_, AnsiGlyph::Tail) => {}
                (
                    Some((AnsiGlyph::Text { end, .. }, role)),
                    AnsiGlyph::Text { start, end: next },
                ) if *end == start && *role == cell.role => {
                    *end = next;
                }
                (_, AnsiGlyph::Text { .. } | AnsiGlyph::Blank) => {
                    runs.push((cell.glyph, cell.role));
                }
            }
        }
        let mut pieces = Vec::with_capacity(runs.len());
        let mut here = source;
        for (glyph, role) in runs {
            match glyph {
                AnsiGlyph::Text { start, end } => {
                    escape(&text[start..end], role, source + start, &mut pieces);
                    here = source + end;
                }
                AnsiGlyph::Tail | AnsiGlyph::Blank => {
                    let source = here..here;
                    pieces.push(StyledPiece::new(" ", StyleRole::Text, source));
                }
            }
        }
        pieces
    }
}

/// The end of the last piece, relative to the start of its line.
fn text_len(pieces: &[StyledPiece<'_>], from: usize) -> usize {
    pieces.last().map_or(0, |piece| piece.source.end.saturating_sub(from))
}

/// The part of a huge line that is read: the beginning of what the last carriage return left.
fn shown_part(line: &str) -> Range<usize> {
    if line.len() <= MAX_BYTES {
        return 0..line.len();
    }
    let end = line.trim_end_matches('\r').len();
    let start = line[..end].rfind('\r').map_or(0, |at| at + 1);
    let mut stop = (start + MAX_BYTES).min(end);
    while !line.is_char_boundary(stop) {
        stop -= 1;
    }
    start..if stop == end { line.len() } else { stop }
}

fn role(style: AnsiStyle) -> StyleRole {
    if style == AnsiStyle::default() { StyleRole::Text } else { StyleRole::Ansi(style) }
}

/// Applies the parameters of a "select graphic rendition" sequence (ECMA-48, 8.3.117).
fn sgr(parameters: &str, style: &mut AnsiStyle) {
    let mut fields = parameters.split(';');
    while let Some(field) = fields.next() {
        let (code, sub) = field.split_once(':').unwrap_or((field, ""));
        let code = if code.is_empty() { Some(0) } else { code.parse::<u8>().ok() };
        match code {
            Some(0) => *style = AnsiStyle::default(),
            Some(1) => style.bold = true,
            Some(2) => style.dim = true,
            Some(3) => style.italic = true,
            Some(4) => style.underline = sub != "0",
            Some(7) => style.reverse = true,
            Some(21) => style.underline = true,
            Some(22) => (style.bold, style.dim) = (false, false),
            Some(23) => style.italic = false,
            Some(24) => style.underline = false,
            Some(27) => style.reverse = false,
            Some(code @ 30..=37) => style.foreground = Some(AnsiColor::Indexed(code - 30)),
            Some(code @ 90..=97) => style.foreground = Some(AnsiColor::Indexed(code - 82)),
            Some(code @ 40..=47) => style.background = Some(AnsiColor::Indexed(code - 40)),
            Some(code @ 100..=107) => style.background = Some(AnsiColor::Indexed(code - 92)),
            Some(39) => style.foreground = None,
            Some(49) => style.background = None,
            Some(code @ (38 | 48)) => {
                let color = if sub.is_empty() { next_color(&mut fields) } else { sub_color(sub) };
                if code == 38 {
                    style.foreground = color.or(style.foreground);
                } else {
                    style.background = color.or(style.background);
                }
            }
            Some(_) | None => {}
        }
    }
}

/// A colour in the fields that follow: `5;N` or `2;R;G;B`.
fn next_color<'p>(fields: &mut impl Iterator<Item = &'p str>) -> Option<AnsiColor> {
    let kind = fields.next()?;
    let mut number = || fields.next().and_then(|field| field.parse::<u8>().ok());
    match kind {
        "5" => Some(AnsiColor::Indexed(number()?)),
        "2" => Some(AnsiColor::Rgb(number()?, number()?, number()?)),
        _ => None,
    }
}

/// A colour in the same field: `5:N`, `2:R:G:B` or `2:SPACE:R:G:B`.
fn sub_color(sub: &str) -> Option<AnsiColor> {
    let fields: Vec<&str> = sub.split(':').collect();
    let number = |field: &str| field.parse::<u8>().ok();
    match fields.as_slice() {
        ["5", index] => Some(AnsiColor::Indexed(number(index)?)),
        ["2", r, g, b] | ["2", _, r, g, b] => {
            Some(AnsiColor::Rgb(number(r)?, number(g)?, number(b)?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(lines: &[StyledLine]) -> Vec<String> {
        let line = |line: &StyledLine| line.spans.iter().map(|span| span.text.as_str()).collect();
        lines.iter().map(line).collect()
    }

    fn shown(output: &str) -> Vec<String> {
        text(&render(output, AnsiExcerpt::All, 40))
    }

    #[test]
    fn a_line_is_what_a_terminal_would_show_last() {
        let table = [
            ("10%\r50%\r100%\n", "100%"),
            ("loading...\rdone", "doneing..."),
            ("loading...\r\u{1b}[Kdone", "done"),
            ("loading...\u{1b}[2K\u{1b}[1Gdone", "done"),
            ("abc\u{8}\u{8}X", "aXc"),
            ("a\u{8}\u{8}\u{8}b", "b"),
            ("line\r\n", "line"),
            ("a\tb", "a       b"),
            ("12345678\rab\tc", "ab345678c"),
            ("x\u{1b}[3Cy", "x   y"),
            ("\u{1b}[?25lspin\u{1b}[?25h", "spin"),
            ("日本\r語", "語本"),
            ("e\u{301}x", "e\u{301}x"),
        ];
        for (output, line) in table {
            assert_eq!(shown(output), [line], "{output:?}");
        }
    }

    #[test]
    fn control_sequences_are_made_visible() {
        let table = [
            ("\u{1b}[2J\u{1b}[H", "␛[2J␛[H"),
            ("\u{1b}]0;T\u{7}x", "␛]0;T␇x"),
            ("\u{1b}]52;c;QUJD\u{7}", "␛]52;c;QUJD␇"),
            ("\u{1b}]8;;http://e\u{1b}\\x", "␛]8;;http://e␛\\x"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("\u{1b}[6n\u{1b}[c", "␛[6n␛[c"),
            ("a\u{0}\u{7f}\u{202e}b", "a␀␡‹U+202E›b"),
            ("end\u{1b}", "end␛"),
        ];
        for (output, line) in table {
            assert_eq!(shown(output), [line], "{output:?}");
        }
    }

    #[test]
    fn colours_are_kept_and_go_on_in_the_next_line() {
        let lines = render("\u{1b}[1;31mred\nstill\u{1b}[0m not", AnsiExcerpt::All, 40);
        let red = AnsiStyle {
            foreground: Some(AnsiColor::Indexed(1)),
            bold: true,
            ..AnsiStyle::default()
        };
        assert_eq!(lines[0].spans, [StyledSpan::new("red", StyleRole::Ansi(red))]);
        let second = [
            StyledSpan::new("still", StyleRole::Ansi(red)),
            StyledSpan::new(" not", StyleRole::Text),
        ];
        assert_eq!(lines[1].spans, second);
    }

    #[test]
    fn sgr_knows_all_forms_of_colour() {
        let table = [
            ("38;5;200", Some(AnsiColor::Indexed(200))),
            ("38;2;1;2;3", Some(AnsiColor::Rgb(1, 2, 3))),
            ("38:2::1:2:3", Some(AnsiColor::Rgb(1, 2, 3))),
            ("38:5:9", Some(AnsiColor::Indexed(9))),
            ("94", Some(AnsiColor::Indexed(12))),
            ("31;39", None),
            ("31;", None),
            ("38;5", None),
        ];
        for (parameters, foreground) in table {
            let mut style = AnsiStyle::default();
            sgr(parameters, &mut style);
            assert_eq!(style.foreground, foreground, "{parameters}");
        }
    }

    #[test]
    fn the_middle_of_long_output_is_counted() {
        let output: String = (1..=10).map(|n| format!("{n}\n")).collect();
        let ends = AnsiExcerpt::Ends { head: 2, tail: 3 };
        let lines = render(&output, ends, 40);
        assert_eq!(text(&lines), ["1", "2", "… 5 lines hidden", "8", "9", "10"]);
        assert_eq!(lines[3].source, output.find('8').unwrap());
        let short: String = (1..=6).map(|n| format!("{n}\n")).collect();
        assert_eq!(render(&short, ends, 40).len(), 6);
        assert_eq!(
            text(&render(&output, AnsiExcerpt::Ends { head: 0, tail: 1 }, 40)),
            ["… 9 lines hidden", "10"]
        );
    }

    #[test]
    fn lines_fold_in_the_same_way() {
        let lines = render("1\n2\n3\n4\n5", AnsiExcerpt::All, 40);
        assert_eq!(text(&hide_middle(lines.clone(), 1, 1)), ["1", "… 3 lines hidden", "5"]);
        assert_eq!(hide_middle(lines.clone(), 2, 2), lines);
    }

    #[test]
    fn a_huge_line_is_cut_and_says_so() {
        let lines = render(&"x".repeat(10_000_000), AnsiExcerpt::All, 100);
        let text = text(&lines).concat();
        assert!(text.ends_with("xx … 9995904 more bytes"));
        assert_eq!(lines.len(), 42);
        let spinner = "working |\r".repeat(1_000_000) + "done";
        assert_eq!(shown(&spinner), ["done"]);
    }

    proptest! {
        #[test]
        fn any_output_is_harmless_and_fits(
            parts in prop::collection::vec(prop_oneof![
                Just("\u{1b}[".to_owned()), Just("\u{1b}]".into()), Just("\r".into()), Just("\n".into()),
                Just("\u{8}".into()), Just("\t".into()), Just("\u{9b}".into()), Just("日".into()), Just("\u{301}".into()),
                "[0-9;:mKGCDJ]{1,6}", ".{0,8}",
            ], 0..20),
            width in 4u16..60,
        ) {
            for line in render(&parts.concat(), AnsiExcerpt::All, width) {
                let columns: usize =
                    line.spans.iter().map(|span| super::super::wrap::display_width(&span.text)).sum();
                prop_assert!(columns <= usize::from(width));
                prop_assert!(line.spans.iter().all(|span| !span.text.chars().any(char::is_control)));
            }
        }
    }
}
