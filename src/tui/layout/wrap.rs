//! Breaks styled text into lines that fit a width, by grapheme clusters and display columns.
//!
//! Lines break at a space, else beside a wide character that does not close or open something, else
//! inside a word. Nothing is lost: the texts of the lines, joined as their [`LineJoin`]s say, are
//! the source again, except for tabs (shown as spaces) and a space at the end of a source line that
//! had no room. A cluster wider than the whole line is shown as `�`. The cost is linear in the
//! text.

use std::borrow::Cow;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::{LineJoin, SourceRun, StyleRole, StyledLine, StyledSpan, WebLink};
use crate::domain::sanitize::{self, SanitizedPieceKind};

/// A run of text in one role, and where it stands in the source. It may hold line feeds and tabs,
/// but no other control character: [`escape`] makes such pieces from any text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StyledPiece<'a> {
    pub text: Cow<'a, str>,
    pub role: StyleRole,
    /// The part of the source that the text stands for, in bytes.
    pub source: Range<usize>,
    /// The link that a click on the text opens.
    pub link: Option<WebLink>,
}

/// The decoration around the text, and how the text is broken.
#[derive(Debug, Clone)]
pub struct WrapFrame {
    /// Columns of the whole line, decoration included.
    pub width: u16,
    /// Decoration on the left of the first line.
    pub first: Vec<StyledSpan>,
    /// Decoration on the left of the others.
    pub rest: Vec<StyledSpan>,
    pub breaks: BreakOpportunities,
    /// Columns from one tab stop to the next.
    pub tab: usize,
    /// Where the text begins in the source; the source position of a line without text.
    pub source: usize,
}

/// Where a line may break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakOpportunities {
    /// Between words where possible, for prose.
    Words,
    /// At the width, as a terminal breaks lines, for the output of commands.
    Anywhere,
}

impl<'a> StyledPiece<'a> {
    /// A piece without a link.
    pub fn new(text: impl Into<Cow<'a, str>>, role: StyleRole, source: Range<usize>) -> Self {
        Self { text: text.into(), role, source, link: None }
    }
}

impl WrapFrame {
    /// A frame without decoration that breaks between words, with tab stops every 4 columns.
    pub fn prose(width: u16) -> Self {
        Self {
            width,
            first: Vec::new(),
            rest: Vec::new(),
            breaks: BreakOpportunities::Words,
            tab: 4,
            source: 0,
        }
    }
}

/// Columns that a text takes on the screen, counted as it is painted: cluster by cluster.
pub fn display_width(text: &str) -> usize {
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return text.len();
    }
    text.graphemes(true).map(cluster_width).sum()
}

/// Columns that one grapheme cluster takes, as ratatui counts them: the half-width sound marks of
/// katakana, which belong to the cluster before them, have a column of their own.
pub fn cluster_width(cluster: &str) -> usize {
    let marks = cluster.chars().filter(|c| matches!(c, '\u{ff9e}' | '\u{ff9f}')).count();
    cluster.width() + marks
}

/// Cuts any text into harmless pieces; escapes that were made visible get [`StyleRole::Escaped`].
pub fn escape<'a>(text: &'a str, role: StyleRole, source: usize, out: &mut Vec<StyledPiece<'a>>) {
    out.extend(sanitize::pieces(text).map(|piece| {
        let role = match piece.kind {
            SanitizedPieceKind::Plain => role,
            SanitizedPieceKind::Escaped => StyleRole::Escaped,
        };
        let place = source + piece.source.start..source + piece.source.end;
        StyledPiece::new(piece.text, role, place)
    }));
}

/// The start of `text` that fits `width` columns, ending in `…` if something was cut.
pub fn truncate(text: &str, width: usize) -> Cow<'_, str> {
    if display_width(text) <= width {
        return Cow::Borrowed(text);
    }
    let mut column = 0;
    let kept = text.graphemes(true).take_while(|cluster| {
        column += cluster_width(cluster);
        column < width
    });
    let mut kept: String = kept.collect();
    if width > 0 {
        kept.push('…');
    }
    Cow::Owned(kept)
}

/// The end of a path that fits `width` columns: the beginning says less, so it is cut first.
pub fn truncate_path(path: &str, width: usize) -> Cow<'_, str> {
    if display_width(path) <= width {
        return Cow::Borrowed(path);
    }
    let mut ends = path.match_indices('/').map(|(at, _)| &path[at..]);
    let fits = ends.find(|end| display_width(end) < width);
    fits.map_or_else(|| truncate(path, width), |end| Cow::Owned(format!("…{end}")))
}

/// Wraps the pieces and appends the lines to `out`: at least one line, the first of them joined as
/// [`LineJoin::Newline`].
pub fn wrap(pieces: &[StyledPiece<'_>], frame: &WrapFrame, out: &mut Vec<StyledLine>) {
    let mut wrapper = LineWrapper {
        frame,
        pieces,
        out,
        line: StyledLine::default(),
        decoration: 0,
        available: 0,
        column: 0,
        solid: false,
        space: TrailingSpace::None,
        word: Vec::new(),
        word_width: 0,
        after: WrapWordEnd::Other,
        placed: None,
        here: frame.source,
    };
    wrapper.begin(&frame.first, LineJoin::Newline);
    for index in 0..pieces.len() {
        wrapper.piece(index);
    }
    wrapper.commit();
    wrapper.emit();
}

struct LineWrapper<'a, 'o> {
    frame: &'a WrapFrame,
    pieces: &'a [StyledPiece<'a>],
    out: &'o mut Vec<StyledLine>,
    /// The line being filled.
    line: StyledLine,
    /// How many of the line's spans are decoration.
    decoration: usize,
    /// Columns for text on the line, and how many of them are taken.
    available: usize,
    column: usize,
    /// Whether the line holds more than spaces.
    solid: bool,
    space: TrailingSpace,
    /// Fragments of the word that is not yet placed.
    word: Vec<WordFragment>,
    word_width: usize,
    after: WrapWordEnd,
    /// Source position of the line's first character.
    placed: Option<usize>,
    /// How far the source has been read.
    here: usize,
}

/// The last character of the pending word, which decides whether a line may break after it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WrapWordEnd {
    /// Not wide: no break without a space.
    Other,
    /// Wide: a line may break after it.
    Wide,
    /// Wide and an opening bracket: no line may break after it.
    Opening,
}

/// The space at the end of the line being filled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TrailingSpace {
    None,
    /// On the line; removed if the line breaks here.
    Shown,
    /// Not on the full line; it stands for the break if more text follows.
    Swallowed,
}

/// A part of a piece, within one word.
struct WordFragment {
    piece: usize,
    range: Range<usize>,
    width: usize,
}

impl<'a> LineWrapper<'a, '_> {
    fn piece(&mut self, piece: usize) {
        let text: &'a str = &self.pieces[piece].text;
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            self.here = self.source(piece, at);
            match bytes[at] {
                b'\n' => {
                    self.commit();
                    self.here = self.source(piece, at + 1);
                    self.next_line(LineJoin::Newline);
                    at += 1;
                }
                b' ' => {
                    self.commit();
                    self.space(piece);
                    at += 1;
                }
                b'\t' => {
                    self.commit();
                    self.tab(piece);
                    at += 1;
                }
                _ => at = self.cluster(piece, text, at),
            }
        }
    }

    /// Processes a run of ASCII or one cluster; returns where it ends.
    fn cluster(&mut self, piece: usize, text: &str, at: usize) -> usize {
        let bytes = text.as_bytes();
        let mut end = at + bytes[at..].iter().take_while(|byte| byte.is_ascii_graphic()).count();
        // The last character may carry a combining mark that is not ASCII.
        if end < bytes.len() && !bytes[end].is_ascii() {
            end = end.saturating_sub(1).max(at);
        }
        if end > at {
            if self.after == WrapWordEnd::Wide {
                let closing = bytes[at..end].iter().take_while(|byte| b"!),.:;?]}".contains(byte));
                match closing.count() {
                    0 => self.commit(),
                    closing => end = at + closing,
                }
            }
            self.push(WordFragment { piece, range: at..end, width: end - at });
            return end;
        }
        let cluster = text[at..].graphemes(true).next().unwrap_or(&text[at..]);
        let (range, width) = (at..at + cluster.len(), cluster_width(cluster));
        let end = range.end;
        let wide = width > 1;
        // A line may break on either side of a wide character.
        let apart = match self.after {
            WrapWordEnd::Wide => true,
            WrapWordEnd::Opening => false,
            WrapWordEnd::Other => wide,
        };
        if apart && !cannot_begin_line(cluster) {
            self.commit();
        }
        self.push(WordFragment { piece, range, width });
        self.after = match wide {
            true if cannot_end_line(cluster) => WrapWordEnd::Opening,
            true => WrapWordEnd::Wide,
            false => WrapWordEnd::Other,
        };
        end
    }

    fn push(&mut self, fragment: WordFragment) {
        self.word_width += fragment.width;
        match self.word.last_mut() {
            Some(last)
                if last.piece == fragment.piece && last.range.end == fragment.range.start =>
            {
                last.range.end = fragment.range.end;
                last.width += fragment.width;
            }
            Some(_) | None => self.word.push(fragment),
        }
        if self.frame.breaks == BreakOpportunities::Anywhere {
            self.commit();
        }
    }

    /// Places the pending word: on this line, on the next, or, if it is too long, on several.
    fn commit(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let fits = self.column + self.word_width <= self.available;
        let moves = self.frame.breaks == BreakOpportunities::Words && self.solid && !fits;
        if self.space == TrailingSpace::Swallowed || moves {
            self.break_line();
        }
        let word = std::mem::take(&mut self.word);
        let fits = self.column + self.word_width <= self.available;
        for fragment in &word {
            if fits {
                self.place(fragment.piece, fragment.range.clone(), fragment.width);
            } else {
                self.fill(fragment);
            }
        }
        self.word = word;
        self.word.clear();
        self.word_width = 0;
        self.after = WrapWordEnd::Other;
    }

    /// Places a fragment cluster by cluster, on as many lines as it takes.
    fn fill(&mut self, fragment: &WordFragment) {
        let text: &'a str = &self.pieces[fragment.piece].text;
        let mut at = fragment.range.start;
        while at < fragment.range.end {
            let run = (self.available - self.column).min(fragment.range.end - at);
            let bytes = text.as_bytes();
            let ascii = bytes[at..at + run].iter().take_while(|byte| byte.is_ascii()).count();
            // A character before one that is not ASCII may be part of its cluster.
            let marked = bytes.get(at + ascii).is_some_and(|byte| !byte.is_ascii());
            let ascii = ascii - usize::from(marked && ascii > 0);
            if ascii > 0 {
                self.place(fragment.piece, at..at + ascii, ascii);
                at += ascii;
                continue;
            }
            let cluster = text[at..fragment.range.end].graphemes(true).next().unwrap_or_default();
            let width = cluster_width(cluster);
            if self.column > 0 && self.column + width > self.available {
                self.break_line();
            }
            self.place(fragment.piece, at..at + cluster.len(), width);
            at += cluster.len().max(1);
        }
    }

    fn place(&mut self, piece: usize, range: Range<usize>, width: usize) {
        let source = self.source(piece, range.start);
        self.placed.get_or_insert(source);
        self.run(piece, &range, width);
        let text: &'a str = &self.pieces[piece].text;
        if width > self.available {
            self.append("�", piece);
            self.column += 1;
        } else {
            self.append(&text[range], piece);
            self.column += width;
        }
        (self.solid, self.space) = (true, TrailingSpace::None);
    }

    /// Records which bytes of the source the next columns show. Where the text is not the source
    /// itself (an escape made visible, an entity), each column shows the whole part.
    fn run(&mut self, piece: usize, range: &Range<usize>, width: usize) {
        let StyledPiece { text, source, .. } = &self.pieces[piece];
        if source.is_empty() {
            return;
        }
        let column = self.line.gutter + u16::try_from(self.column).unwrap_or(u16::MAX);
        let is_source = source.len() == text.len();
        let at = source.start + range.start;
        if is_source && width <= self.available {
            SourceRun::push_text(&mut self.line.runs, &text[range.clone()], column, at);
            return;
        }
        let shown = if is_source { at..source.start + range.end } else { source.clone() };
        let width =
            if width <= self.available { u16::try_from(width).unwrap_or(u16::MAX) } else { 1 };
        let run = SourceRun { column, width, source: shown.start, bytes: shown.len() };
        SourceRun::push(&mut self.line.runs, run);
    }

    /// Appends text with the role and link of `piece`.
    fn append(&mut self, text: &str, piece: usize) {
        let StyledPiece { role, link, .. } = &self.pieces[piece];
        match self.line.spans[self.decoration..].last_mut() {
            Some(span) if span.role == *role && span.link == *link => span.text.push_str(text),
            Some(_) | None => {
                let link = link.clone();
                self.line.spans.push(StyledSpan { link, ..StyledSpan::new(text, *role) });
            }
        }
    }

    fn space(&mut self, piece: usize) {
        if self.space == TrailingSpace::Swallowed {
            self.next_line(LineJoin::Space);
        }
        if self.column < self.available {
            self.put_blank(piece, 1);
            self.space = TrailingSpace::Shown;
        } else {
            self.space = TrailingSpace::Swallowed;
        }
    }

    fn tab(&mut self, piece: usize) {
        if self.space == TrailingSpace::Swallowed {
            self.next_line(LineJoin::Space);
        }
        let stop = self.frame.tab.max(1);
        let room = self.available - self.column;
        match (stop - self.column % stop).min(room) {
            0 => self.space = TrailingSpace::Swallowed,
            columns => {
                self.put_blank(piece, columns);
                self.space = TrailingSpace::None;
            }
        }
    }

    fn put_blank(&mut self, piece: usize, columns: usize) {
        self.placed.get_or_insert(self.here);
        let StyledPiece { text, source, .. } = &self.pieces[piece];
        if !source.is_empty() {
            let column = self.line.gutter + u16::try_from(self.column).unwrap_or(u16::MAX);
            let bytes = if source.len() == text.len() { 1 } else { source.len() };
            let width = u16::try_from(columns).unwrap_or(u16::MAX);
            SourceRun::push(
                &mut self.line.runs,
                SourceRun { column, width, source: self.here, bytes },
            );
        }
        for _ in 0..columns {
            self.append(" ", piece);
        }
        self.column += columns;
    }

    /// Goes to the next line because this one is full.
    fn break_line(&mut self) {
        match self.space {
            TrailingSpace::None => self.next_line(LineJoin::Nothing),
            TrailingSpace::Swallowed => self.next_line(LineJoin::Space),
            TrailingSpace::Shown => {
                if let Some(span) = self.line.spans.last_mut() {
                    span.text.pop();
                    if span.text.is_empty() {
                        self.line.spans.pop();
                    }
                }
                self.drop_last_column();
                self.next_line(LineJoin::Space);
            }
        }
    }

    /// Removes the space at the end of the line.
    fn drop_last_column(&mut self) {
        let column = self.line.gutter + u16::try_from(self.column).unwrap_or(u16::MAX);
        let Some(last) = self.line.runs.last_mut().filter(|run| run.end() == column) else {
            return;
        };
        if last.width > 1 {
            last.width -= 1;
            last.bytes -= 1;
        } else {
            self.line.runs.pop();
        }
    }

    fn next_line(&mut self, join: LineJoin) {
        self.emit();
        let frame = self.frame;
        self.begin(&frame.rest, join);
    }

    fn emit(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        line.source = self.placed.take().unwrap_or(self.here);
        self.out.push(line);
    }

    /// Begins a line. Decoration that would leave no room for text is left out.
    fn begin(&mut self, decoration: &[StyledSpan], join: LineJoin) {
        let width = usize::from(self.frame.width).max(2);
        let taken: usize = decoration.iter().map(|span| display_width(&span.text)).sum();
        let (spans, taken) =
            if taken + 2 > width { (Vec::new(), 0) } else { (decoration.to_vec(), taken) };
        self.decoration = spans.len();
        self.line = StyledLine {
            spans,
            gutter: u16::try_from(taken).unwrap_or(u16::MAX),
            join,
            ..StyledLine::default()
        };
        self.available = width - taken;
        self.column = 0;
        self.solid = false;
        self.space = TrailingSpace::None;
    }

    /// The source position of a byte of a piece.
    fn source(&self, piece: usize, at: usize) -> usize {
        let source = &self.pieces[piece].source;
        (source.start + at).min(source.end)
    }
}

/// Whether a character may not begin a line after a wide one: it closes a bracket, a sentence, or a
/// syllable.
fn cannot_begin_line(cluster: &str) -> bool {
    cluster.starts_with([
        '、', '。', '，', '．', '：', '；', '！', '？', '）', '］', '｝', '」', '』', '】', '》',
        '〉', '〕', '〗', '〙', '”', '’', '…', 'ー', '々', 'ゝ', 'ヽ', 'っ', 'ッ', 'ゃ', 'ャ',
        'ゅ', 'ュ', 'ょ', 'ョ', '・', '!', ')', ',', '.', ':', ';', '?', ']', '}',
    ])
}

/// Whether a wide character may not end a line: it opens a bracket.
fn cannot_end_line(cluster: &str) -> bool {
    cluster
        .starts_with(['（', '［', '｛', '「', '『', '【', '《', '〈', '〔', '〖', '〘', '“', '‘'])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(text: &str, frame: &WrapFrame) -> Vec<StyledLine> {
        let mut pieces = Vec::new();
        escape(text, StyleRole::Text, 0, &mut pieces);
        let mut out = Vec::new();
        wrap(&pieces, frame, &mut out);
        out
    }

    fn text(line: &StyledLine) -> String {
        line.spans.iter().map(|span| span.text.as_str()).collect()
    }

    fn shown(source: &str, width: u16) -> Vec<String> {
        lines(source, &WrapFrame::prose(width)).iter().map(text).collect()
    }

    /// Joins lines without decoration into the source.
    fn joined(lines: &[StyledLine]) -> String {
        let mut out = String::new();
        for (index, line) in lines.iter().enumerate() {
            out.push_str(match line.join {
                LineJoin::Newline if index == 0 => "",
                LineJoin::Newline => "\n",
                LineJoin::Space => " ",
                LineJoin::Nothing => "",
            });
            out.push_str(&text(line));
        }
        out
    }

    #[test]
    fn lines_break_at_spaces_else_inside_words() {
        assert_eq!(shown("the quick brown fox", 10), ["the quick", "brown fox"]);
        assert_eq!(shown("a incomprehensible b", 8), ["a", "incompre", "hensible", "b"]);
        assert_eq!(shown("    deeplyindented", 8), ["    deep", "lyindent", "ed"]);
        assert_eq!(shown("exactly8 more", 8), ["exactly8", "more"]);
        assert_eq!(shown("one\n\ntwo", 8), ["one", "", "two"]);
        assert_eq!(shown("", 8), [""]);
        assert_eq!(shown("trailing ", 8), ["trailing"]);
    }

    #[test]
    fn wide_characters_and_joined_emoji_are_whole() {
        assert_eq!(shown("日本語のテキスト", 7), ["日本語", "のテキ", "スト"]);
        assert_eq!(shown("see 日本語", 7), ["see 日", "本語"]);
        let family = "👩\u{200d}👩\u{200d}👧";
        assert_eq!(shown(&family.repeat(3), 5), [family.repeat(2), family.to_owned()]);
        assert_eq!(shown("cafe\u{301} noir", 4), ["cafe\u{301}", "noir"]);
        assert_eq!(
            shown("1\u{fe0f}\u{20e3}2\u{fe0f}\u{20e3}", 2),
            ["1\u{fe0f}\u{20e3}", "2\u{fe0f}\u{20e3}"]
        );
    }

    #[test]
    fn no_line_begins_with_closing_punctuation() {
        assert_eq!(shown("日本語です。次の文", 10), ["日本語で", "す。次の文"]);
        assert_eq!(shown("日本「語」です", 6), ["日本", "「語」", "です"]);
        assert_eq!(shown("見る(日本)。", 10), ["見る(日", "本)。"]);
        assert_eq!(shown("。。。。。。", 6), ["。。。", "。。。"]);
    }

    #[test]
    fn tabs_reach_the_next_stop() {
        assert_eq!(shown("a\tb\n\tc", 20), ["a   b", "    c"]);
    }

    #[test]
    fn decoration_stands_before_each_line_and_hangs() {
        let frame = WrapFrame {
            first: vec![StyledSpan::new("1. ", StyleRole::ListMarker)],
            rest: vec![StyledSpan::new("   ", StyleRole::Text)],
            ..WrapFrame::prose(9)
        };
        let lines = lines("one two three", &frame);
        assert_eq!(lines.iter().map(text).collect::<Vec<_>>(), ["1. one", "   two", "   three"]);
        assert!(lines.iter().all(|line| line.gutter == 3));
        assert_eq!(lines.iter().map(|line| line.source).collect::<Vec<_>>(), [0, 4, 8]);
        assert_eq!(lines[1].join, LineJoin::Space);
    }

    #[test]
    fn escapes_made_visible_have_their_own_role() {
        let lines = lines("a\u{1b}b", &WrapFrame::prose(9));
        let roles: Vec<StyleRole> = lines[0].spans.iter().map(|span| span.role).collect();
        assert_eq!(roles, [StyleRole::Text, StyleRole::Escaped, StyleRole::Text]);
        assert_eq!(text(&lines[0]), "a␛b");
    }

    #[test]
    fn a_cut_text_says_so() {
        assert_eq!(truncate("short", 5), "short");
        assert_eq!(truncate("longer", 5), "long…");
        assert_eq!(truncate("日本語", 5), "日本…");
        assert_eq!(truncate("日本語", 0), "");
    }

    #[test]
    fn a_megabyte_without_a_space_is_linear() {
        let lines = lines(&"é".repeat(500_000), &WrapFrame::prose(80));
        assert_eq!(lines.len(), 6_250);
    }

    fn prose() -> impl Strategy<Value = String> {
        let word = prop::sample::select(vec![
            "a",
            "bc",
            "word",
            "longerword",
            " ",
            "  ",
            "\n",
            "日",
            "本語",
            "é",
            "e\u{301}",
            "👩\u{200d}👩\u{200d}👧",
            "🇩🇪",
            "1\u{fe0f}\u{20e3}",
            "ไทยไทย",
            "\u{1b}",
            "x.y/z",
            "—",
        ]);
        prop_oneof![
            prop::collection::vec(word, 0..30).prop_map(|words| words.concat()),
            "[^\t]{0,60}".prop_map(|text| text),
        ]
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_doubled(source in prose(), width in 4u16..30, anywhere: bool) {
            let source = sanitize::sanitize(&source).replace('\t', " ");
            let breaks = if anywhere { BreakOpportunities::Anywhere } else { BreakOpportunities::Words };
            let lines = lines(&source, &WrapFrame { breaks, ..WrapFrame::prose(width) });
            let trimmed = |text: &str| -> Vec<String> {
                text.split('\n').map(|line| line.trim_end_matches(' ').to_owned()).collect()
            };
            prop_assert_eq!(trimmed(&joined(&lines)), trimmed(&source));
        }

        #[test]
        fn no_line_is_wider_than_the_width(source in ".{0,60}", width in 2u16..30, indent in 0usize..8) {
            let decoration = vec![StyledSpan::new(" ".repeat(indent), StyleRole::Text)];
            let frame = WrapFrame { first: decoration.clone(), rest: decoration, ..WrapFrame::prose(width) };
            for line in lines(&source, &frame) {
                let columns: usize = line.spans.iter().map(|span| display_width(&span.text)).sum();
                prop_assert!(columns <= usize::from(width), "{:?}", line);
                prop_assert!(line.spans.iter().all(|span| !span.text.chars().any(char::is_control)));
            }
        }

        #[test]
        fn sources_never_go_back(source in prose(), width in 4u16..30) {
            let lines = lines(&source, &WrapFrame::prose(width));
            prop_assert!(lines.windows(2).all(|pair| pair[0].source <= pair[1].source));
        }
    }
}
