//! Breaks styled text into lines that fit a width, by grapheme clusters and display columns.
//!
//! Lines break at a space, else beside a wide character that does not close or open something, else
//! inside a word. Nothing is lost: the texts of the lines, joined as their
//! [`LineJoin`](super::LineJoin)s say, are the source again, except for tabs (shown as spaces) and a
//! space at the end of a source line that had no room. A cluster wider than the whole line is shown
//! as `�`. The cost is linear in the text.

mod line_wrapper;

use std::borrow::Cow;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::{StyleRole, StyledSpan, WebLink};
use crate::domain::sanitize::{self, SanitizedPieceKind};

pub use line_wrapper::wrap;

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

/// Columns that prose takes at most: longer lines are hard to read. Code, tables and diffs may take
/// more.
pub const PROSE_WIDTH: u16 = 110;

impl WrapFrame {
    /// The frame with at most this many columns.
    pub fn narrowed(self, most: u16) -> Self {
        Self { width: self.width.min(most), ..self }
    }

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tui::layout::{LineJoin, StyledLine};

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
