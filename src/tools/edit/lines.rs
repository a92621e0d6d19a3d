//! Finds whole lines that match except for white space at their ends, and gives the new lines the
//! file's indentation. Pure.

use std::ops::Range;

use similar::DiffOp;

use super::matching::{TextReplacement, normalise_char, with_line_ends};
use crate::domain::align;

/// The most places that are told of a text that is in several.
pub(super) const MAX_PLACES: usize = 1000;

/// The lines, counted from 0, at which the lines of `old` begin in `text`, compared when trimmed.
pub(super) fn find(text: &str, old: &str) -> Vec<usize> {
    let wanted: Vec<String> = split(old).iter().map(|line| key(line)).collect();
    if wanted.iter().all(String::is_empty) {
        return Vec::new();
    }
    // As one text each, so that equal lines do not make it lines times lines.
    let joined = |lines: &[String]| format!("\n{}\n", lines.join("\n"));
    let there: Vec<String> = split(text).iter().map(|line| key(line)).collect();
    let (wanted, there) = (joined(&wanted), joined(&there));
    let (mut starts, mut from, mut line) = (Vec::new(), 0, 0);
    while starts.len() < MAX_PLACES
        && let Some(at) = there[from..].find(&wanted)
    {
        line += there[from..from + at].matches('\n').count();
        starts.push(line);
        (from, line) = (from + at + 1, line + 1);
    }
    starts
}

/// The replacement of the lines of `old` at `start` by `new`, with the file's indentation.
pub(super) fn replacement(text: &str, start: usize, old: &str, new: &str) -> TextReplacement {
    let old_lines = split(old);
    let spans = spans(text);
    let there = &spans[start..start + old_lines.len()];
    let (Some(first), Some(last)) = (there.first(), there.last()) else {
        return TextReplacement { range: 0..0, text: String::new() };
    };
    if new.is_empty() && old.ends_with('\n') {
        return TextReplacement { range: first.start..last.next, text: String::new() };
    }
    // The last line keeps its line end. If the old text includes it, the new text must not add it.
    let new = if old.ends_with('\n') { new.strip_suffix('\n').unwrap_or(new) } else { new };
    let new_lines: Vec<&str> = new.split('\n').collect();
    let file_lines: Vec<&str> = there.iter().map(|span| &text[span.start..span.end]).collect();
    let lines = merged(&old_lines, &new_lines, &file_lines);
    let range = first.start..last.end;
    let text = with_line_ends(&lines.join("\n"), text, &range);
    TextReplacement { range, text }
}

/// Whether the lines of `old` at `start` have other indentation in the file, and `old` and `new`
/// begin with different indentation, so that nothing says what the new lines should get.
pub(super) fn disagree_on_indent(text: &str, start: usize, old: &str, new: &str) -> bool {
    let (old, new, there) = (split(old), split(new), split(text));
    let pairs = old.iter().zip(&there[start..]).filter(|(old, _)| !old.trim().is_empty());
    let is_mapped = pairs.into_iter().any(|(old, file)| indent(old) != indent(file));
    let indents = |lines: &[&'_ str]| {
        let real =
            lines.iter().filter(|line| !line.trim().is_empty()).map(|line| indent(line).to_owned());
        let real: Vec<String> = real.collect();
        Some((real.first()?.clone(), real.iter().min_by_key(|indent| indent.len())?.clone()))
    };
    match (indents(&old), indents(&new)) {
        (Some((old_first, old_least)), Some((new_first, new_least))) => {
            is_mapped && old_first != new_first && old_least != new_least
        }
        (None, _) | (_, None) => false,
    }
}

/// The lines of a text without their ends. A line end at the end of the text begins no new line.
pub(super) fn split(text: &str) -> Vec<&str> {
    spans(text).iter().map(|span| &text[span.start..span.end]).collect()
}

/// A line as it is compared: trimmed, with normalised characters.
pub(super) fn key(line: &str) -> String {
    line.trim().chars().map(normalise_char).collect()
}

/// Where a line lies in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct EditLineSpan {
    pub start: usize,
    /// Before the line end.
    pub end: usize,
    /// Behind the line end.
    pub next: usize,
}

/// The lines of a text. A line end at the end of the text begins no new line.
pub(super) fn spans(text: &str) -> Vec<EditLineSpan> {
    let mut start = 0;
    text.split_inclusive('\n')
        .map(|line| {
            let next = start + line.len();
            let content = line.strip_suffix('\n').unwrap_or(line);
            let content = content.strip_suffix('\r').unwrap_or(content);
            let span = EditLineSpan { start, end: start + content.len(), next };
            start = next;
            span
        })
        .collect()
}

/// The new lines. Those that are in the old text, too, keep the file's bytes; the others get mapped
/// indentation.
fn merged(old: &[&str], new: &[&str], file: &[&str]) -> Vec<String> {
    let indents = IndentMapping::new(old, new, file);
    let mut lines = Vec::with_capacity(new.len());
    let mut add = |range: Range<usize>, near: usize| {
        lines.extend(new[range].iter().map(|line| indents.mapped(line, near)));
    };
    let mut kept: Vec<(usize, usize)> = Vec::new();
    for op in align(old, new, None) {
        match op {
            DiffOp::Equal { old_index, new_index, len } => {
                add(new_index..new_index + len, old_index);
                kept.extend((0..len).map(|step| (new_index + step, old_index + step)));
            }
            DiffOp::Delete { .. } => {}
            DiffOp::Insert { old_index, new_index, new_len }
            | DiffOp::Replace { old_index, new_index, new_len, .. } => {
                add(new_index..new_index + new_len, old_index);
            }
        }
    }
    for (new_index, old_index) in kept {
        lines[new_index] = file[old_index].to_owned();
    }
    lines
}

/// Maps the indentation of the old text to that of the file.
struct IndentMapping<'a> {
    /// For each line that is not blank: its number, its indentation in the old text and in the
    /// file.
    pairs: Vec<(usize, &'a str, &'a str)>,
    /// How many spaces of the model's stand for one tab of the file's, or the other way round.
    spaces_per_tab: usize,
}

impl<'a> IndentMapping<'a> {
    fn new(old: &[&'a str], new: &[&'a str], file: &[&'a str]) -> Self {
        let pairs: Vec<(usize, &str, &str)> = old
            .iter()
            .zip(file)
            .enumerate()
            .filter(|(_, (old, _))| !old.trim().is_empty())
            .map(|(index, (old, file))| (index, indent(old), indent(file)))
            .collect();
        let spaces_per_tab = spaces_per_tab(&pairs, new);
        Self { pairs, spaces_per_tab }
    }

    /// A line of the new text, near line `near` of the old text, with the file's indentation.
    fn mapped(&self, line: &str, near: usize) -> String {
        let own = indent(line);
        let rest = &line[own.len()..];
        if rest.is_empty() {
            return line.to_owned();
        }
        let distance = |(index, _, _): &&(usize, &str, &str)| index.abs_diff(near);
        let same = self.pairs.iter().filter(|(_, old, _)| *old == own).min_by_key(distance);
        if let Some((_, _, file)) = same {
            return format!("{file}{rest}");
        }
        // Deeper than a known line: its indentation and the rest. Shallower than all: less of it.
        let outer = self.pairs.iter().filter(|(_, old, _)| own.starts_with(old));
        if let Some((_, old, file)) = outer.max_by_key(|(_, old, _)| old.len()) {
            return format!("{file}{}{rest}", self.converted(&own[old.len()..], file));
        }
        let inner = self.pairs.iter().filter(|(_, old, _)| old.starts_with(own));
        if let Some((_, old, file)) = inner.min_by_key(|(_, old, _)| old.len()) {
            let less = self.converted(&old[own.len()..], file);
            if let Some(file) = file.strip_suffix(less.as_str()) {
                return format!("{file}{rest}");
            }
        }
        line.to_owned()
    }

    /// Additional indentation, in the characters that the file uses next to it.
    fn converted(&self, more: &str, beside: &str) -> String {
        let file_uses = |c| match beside.is_empty() {
            true => self.pairs.iter().any(|(_, _, file)| file.starts_with(c)),
            false => beside.ends_with(c),
        };
        if more.chars().all(|c| c == ' ') && file_uses('\t') {
            let tabs = "\t".repeat(more.len() / self.spaces_per_tab);
            return tabs + &" ".repeat(more.len() % self.spaces_per_tab);
        }
        if more.chars().all(|c| c == '\t') && file_uses(' ') {
            return " ".repeat(more.len() * self.spaces_per_tab);
        }
        more.to_owned()
    }
}

fn spaces_per_tab(pairs: &[(usize, &str, &str)], new: &[&str]) -> usize {
    let is_only = |text: &str, c: char| !text.is_empty() && text.chars().all(|each| each == c);
    let from_pairs = pairs.iter().find_map(|(_, old, file)| {
        if is_only(old, ' ') && is_only(file, '\t') {
            Some(old.len() / file.len())
        } else if is_only(old, '\t') && is_only(file, ' ') {
            Some(file.len() / old.len())
        } else {
            None
        }
    });
    let spaces = |text: &&str| is_only(indent(text), ' ');
    let smallest = || new.iter().filter(|line| spaces(line)).map(|line| indent(line).len()).min();
    from_pairs.or_else(smallest).filter(|count| *count > 0).unwrap_or(4)
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text after the only match of `old` is replaced by `new`.
    fn edited(text: &str, old: &str, new: &str) -> String {
        let starts = find(text, old);
        assert_eq!(starts.len(), 1, "{starts:?}");
        super::super::matching::apply(text, &[replacement(text, starts[0], old, new)])
    }

    #[test]
    fn missing_indentation_is_added() {
        let text = "impl A {\n    fn a() {\n        b();\n    }\n}\n";
        let old = "fn a() {\n    b();\n}\n";
        let new = "fn a() {\n    if c {\n        b();\n    }\n}\n";
        let expected =
            "impl A {\n    fn a() {\n        if c {\n            b();\n        }\n    }\n}\n";
        assert_eq!(edited(text, old, new), expected);
    }

    #[test]
    fn spaces_become_the_tabs_of_the_file() {
        let text = "f:\n\tif a {\n\t\tb\n\t}\n";
        let old = "  if a {\n    b\n  }";
        let new = "  if a {\n    for c {\n      b\n    }\n  }\n  d";
        assert_eq!(edited(text, old, new), "f:\n\tif a {\n\t\tfor c {\n\t\t\tb\n\t\t}\n\t}\n\td\n");
    }

    #[test]
    fn tabs_become_the_spaces_of_the_file() {
        let text = "  if a {\n    b\n  }\n";
        let old = "\tif a {\n\t\tb\n\t}";
        let new = "\tif a {\n\t\tif c {\n\t\t\tb\n\t\t}\n\t}";
        assert_eq!(edited(text, old, new), "  if a {\n    if c {\n      b\n    }\n  }\n");
    }

    #[test]
    fn a_line_shallower_than_all_loses_indentation() {
        let text = "\t\ta\n\t\tb\n";
        assert_eq!(edited(text, "        a\n        b\n", "        a\n    c\n"), "\t\ta\n\tc\n");
    }

    #[test]
    fn lines_that_stay_keep_their_bytes() {
        let text = "a  \n\u{201c}b\u{201d}\t\nc\n";
        let expected = "a  \n\u{201c}b\u{201d}\t\nd\n";
        assert_eq!(edited(text, "a\n\"b\"\n c\n", "a\n\"b\"\n d\n"), expected);
    }

    #[test]
    fn line_ends_stay() {
        let text = "x\r\n  a\r\n  b\r\ny\n";
        assert_eq!(edited(text, "a\nb\n", "a\nc\nd\n"), "x\r\n  a\r\n  c\r\n  d\r\ny\n");
        assert_eq!(edited("  a", "a\n", "b\n"), "  b", "no line end is added at the end");
    }

    #[test]
    fn lines_can_go() {
        assert_eq!(edited("x\n  a\ny\n", "a\n", ""), "x\ny\n");
        assert_eq!(edited("x\n  a \n  b\ny\n", " a\n b\n", " b\n"), "x\n  b\ny\n");
    }

    #[test]
    fn blank_lines_match_nothing() {
        assert_eq!(find("a\n\n\nb\n", " \n"), [] as [usize; 0]);
    }
}
