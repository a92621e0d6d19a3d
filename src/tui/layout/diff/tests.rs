//! Tests of laid-out diffs.

use super::*;

fn text(line: &StyledLine) -> String {
    let text: String = line.spans.iter().map(|span| span.text.as_str()).collect();
    text.trim_end().to_owned()
}

fn shown(old: &str, new: &str, width: u16) -> String {
    let diff = FileDiff::between("cart.unknown", old, new);
    let lines = render(&diff, width, usize::MAX, &SyntaxHighlighter::off()).lines;
    lines.iter().map(|line| text(line) + "\n").collect()
}

const OLD: &str = "one\nfn total(&self) {\n    self.lines.reduce(add).unwrap()\n}\n";
const NEW: &str = "one\nfn total(&self) {\n    self.lines.sum()\n}\n";

#[test]
fn unified_lines_have_both_numbers_and_a_sign() {
    insta::assert_snapshot!(shown(OLD, NEW, 60), @r"
       1    1   one
       2    2   fn total(&self) {
       3      -     self.lines.reduce(add).unwrap()
            3 +     self.lines.sum()
       4    4   }
    ");
}

#[test]
fn wide_screens_show_both_sides() {
    let rows = shown(OLD, NEW, 140);
    let row: Vec<&str> = rows.lines().nth(2).unwrap().split('│').map(str::trim).collect();
    assert_eq!(row, ["3 -     self.lines.reduce(add).unwrap()", "3 +     self.lines.sum()"]);
    assert_eq!(rows.lines().count(), 4);
}

#[test]
fn a_run_that_has_no_partner_stands_alone() {
    let rows = shown("a\n", "a\nb\nc\n", 140);
    let second: Vec<&str> = rows.lines().nth(1).unwrap().split('│').map(str::trim).collect();
    assert_eq!(second, ["", "2 + b"]);
}

#[test]
fn changed_words_are_marked() {
    let diff = FileDiff::between("f", "let a = old;\n", "let a = new;\n");
    let lines = render(&diff, 60, 99, &SyntaxHighlighter::off()).lines;
    let marked = |line: &StyledLine, role| {
        line.spans
            .iter()
            .filter(|span| span.role == role)
            .map(|span| span.text.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(marked(&lines[0], StyleRole::RemovedWord), ["old"]);
    assert_eq!(marked(&lines[1], StyleRole::AddedWord), ["new"]);
    assert_eq!(marked(&lines[1], StyleRole::Added), ["+ ", "let a = ", ";"]);
}

#[test]
fn places_apart_are_separated() {
    let old: String = (1..=30).map(|n| format!("line {n}\n")).collect();
    let new = old.replace("line 3\n", "LINE 3\n").replace("line 25\n", "LINE 25\n");
    let rows = shown(&old, &new, 60);
    assert_eq!(rows.lines().filter(|row| row.trim() == "⋯ 15 unchanged lines").count(), 1);
    assert!(rows.contains("  22   22   line 22"), "{rows}");
}

#[test]
fn long_lines_wrap_behind_the_numbers() {
    let diff = FileDiff::between("f", "", &format!("{}\n", "x".repeat(100)));
    let lines = render(&diff, 60, 99, &SyntaxHighlighter::off()).lines;
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| line.gutter == 12));
    assert_eq!(lines[1].join, super::super::LineJoin::Nothing);
}

#[test]
fn long_lines_break_at_spaces() {
    let rows = shown("", "some words, and the last of them is heavy.\n", 40);
    assert_eq!(rows, "        1 + some words, and the last of\n            them is heavy.\n");
}

#[test]
fn narrow_screens_drop_the_numbers() {
    assert_eq!(shown("a\n", "b\n", 20), "- a\n+ b\n");
}

#[test]
fn hidden_characters_of_a_file_are_shown() {
    assert_eq!(shown("", "if \u{202e}x\u{1b}[2J\n", 60).trim(), "1 + if ‹U+202E›x␛[2J");
}

#[test]
fn changed_words_lie_over_the_colours_of_the_code() {
    let (keyword, name) = (
        StyleRole::AddedSyntax(SyntaxTokenKind::Keyword),
        StyleRole::AddedSyntax(SyntaxTokenKind::Function),
    );
    let tokens = [(2, keyword), (9, name)];
    let runs =
        overlay(tokens.into_iter(), &[1..3, 5..6], StyleRole::AddedWord, StyleRole::Added, 12);
    let mut at = 0;
    let mut shown = Vec::new();
    for (end, role) in runs {
        if end > at {
            shown.push((at..end, role));
            at = end;
        }
    }
    let word = StyleRole::AddedWord;
    let expected = [
        (0..1, keyword),
        (1..2, word),
        (2..3, word),
        (3..5, name),
        (5..6, word),
        (6..9, name),
        (9..12, StyleRole::Added),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn the_background_of_a_changed_line_fills_its_column() {
    let diff = FileDiff::between("f", "a\nsame\n", "b\nsame\n");
    let fills = |width| -> Vec<Option<StyleRole>> {
        let lines = render(&diff, width, 99, &SyntaxHighlighter::off()).lines;
        lines.iter().map(|line| line.fill).collect()
    };
    assert_eq!(fills(60), [Some(StyleRole::Removed), Some(StyleRole::Added), None]);
    assert_eq!(fills(140), [Some(StyleRole::Added), None]);
    let beside = render(&diff, 140, 99, &SyntaxHighlighter::off()).lines;
    let left = beside[0].spans.iter().take_while(|span| span.text != two_columns::DIVIDER);
    let filled = left.filter(|span| span.role == StyleRole::Removed).map(|span| span.text.len());
    assert_eq!(filled.sum::<usize>(), 68 - "   1 ".len());
}

#[test]
fn a_side_keeps_its_background_beside_the_rest_of_the_other() {
    let diff = FileDiff::between("f", "a\n", &format!("{}\n", "b".repeat(100)));
    let lines = render(&diff, 140, 99, &SyntaxHighlighter::off()).lines;
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1].spans[0].role, StyleRole::Removed);
}

#[test]
fn line_ends_are_shown() {
    insta::assert_snapshot!(shown("a\r\nb", "a\nb\n", 60), @r"
       line endings CRLF → LF
       1      - a␍␊
       2      - b
    \ no newline at the end of the file
            1 + a␊
            2 + b␊
    ");
}

#[test]
fn a_huge_diff_is_cut_and_says_so() {
    let new: String = (0..100_000).map(|n| format!("line {n}\n")).collect();
    let lines = render(&FileDiff::between("f", "", &new), 60, 200, &SyntaxHighlighter::off()).lines;
    assert_eq!(lines.len(), 201);
    assert_eq!(text(&lines[200]), "   … 99800 more lines · /diff shows all");
}

#[test]
fn the_whole_of_a_diff_says_where_its_changes_stand() {
    let old: String = (1..=30).map(|n| format!("line {n}\n")).collect();
    let new = old.replace("line 3\n", "LINE 3\nand one more\n").replace("line 25\n", "");
    let diff = FileDiff::between("f", &old, &new);
    for (width, places) in [(60, [2..5, 12..13]), (140, [2..4, 11..12])] {
        let (laid, found) = render_whole(&diff, width, &SyntaxHighlighter::off());
        assert_eq!(found, places, "{width}");
        assert!(text(&laid.lines[found[1].start]).contains("- line 25"));
        assert_eq!(found.len(), diff.change_count());
    }
}
