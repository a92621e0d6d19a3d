//! Fills one line after the other with words, within a frame: where each line ends, and which bytes
//! of the source its columns show.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use crate::tui::layout::{LineJoin, SourceRun, StyledLine, StyledSpan};

use super::{BreakOpportunities, StyledPiece, WrapFrame, cluster_width, display_width};

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

    /// The source position of a byte of a piece; its start where the text is not the source.
    fn source(&self, piece: usize, at: usize) -> usize {
        let StyledPiece { text, source, .. } = &self.pieces[piece];
        if at >= text.len() {
            source.end
        } else if source.len() == text.len() {
            source.start + at
        } else {
            source.start
        }
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
