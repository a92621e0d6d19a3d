//! The hint for the model when a file does not contain the old text. Pure.

use std::fmt::Write;

use super::lines::{key, split};
use super::matching::{line_number, with_line_ends};
use crate::tools::similarity::similarity;
use crate::tools::truncation;

/// The most lines of the closest place that are shown.
const SHOWN_LINES: usize = 20;
/// The most characters of each line that are shown.
const SHOWN_CHARS: usize = 200;
/// A place with a lower score is not worth showing.
const ALIKE: f32 = 0.5;

/// A hint of some lines about the closest place, or that there is none.
pub(super) fn hint(text: &str, old: &str, new: &str) -> String {
    let mut hint = String::new();
    let written = with_line_ends(new, text, &(0..0));
    if let Some(at) = text.find(&written).filter(|_| !new.trim().is_empty()) {
        let line = line_number(text, at);
        let _ = writeln!(
            hint,
            "new_string is already there, at line {line}: the edit may have been made before."
        );
    }
    if has_line_numbers(old) {
        hint.push_str(
            "old_string seems to hold the line numbers that Read adds; leave them out.\n",
        );
    }
    let (old, there) = (split(old), split(text));
    if let Some(start) = closest(&old, &there) {
        describe(&mut hint, &old, &there, start);
    } else {
        hint.push_str("Nothing in the file looks like it. Read the file again.\n");
    }
    hint
}

/// The place with most lines of `old`; failing that, the place that resembles its longest line.
fn closest(old: &[&str], there: &[&str]) -> Option<usize> {
    let wanted: Vec<String> = old.iter().map(|line| key(line)).collect();
    let keys: Vec<String> = there.iter().map(|line| key(line)).collect();
    let (longest, telling) =
        wanted.iter().enumerate().max_by_key(|(_, line)| line.chars().count())?;
    if telling.is_empty() {
        return None;
    }
    let starts = (0..keys.len()).map(|place| place.saturating_sub(longest));
    let scored = starts.map(|start| {
        let same = |(offset, line): (usize, &String)| {
            // A line with a brace alone is everywhere.
            line.contains(char::is_alphanumeric) && keys.get(start + offset) == Some(line)
        };
        let equal = wanted.iter().enumerate().filter(|pair| same(*pair)).count();
        let alike = keys.get(start + longest).map_or(0.0, |line| bounded(telling, line));
        (equal as f32 + alike, start)
    });
    let (score, start) = scored.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    (score >= ALIKE).then_some(start)
}

/// The similarity of two lines; 0 for minified lines and for lines of too different length.
fn bounded(a: &str, b: &str) -> f32 {
    let (short, long) = (a.len().min(b.len()), a.len().max(b.len()));
    if long > 2000 || short * 4 < long { 0.0 } else { similarity(a, b) }
}

fn describe(hint: &mut String, old: &[&str], there: &[&str], start: usize) {
    let end = (start + old.len()).min(there.len());
    let shown = end.min(start + SHOWN_LINES);
    let _ = writeln!(hint, "The closest place (→ is a tab, · a space):");
    for (offset, line) in there[start..shown].iter().enumerate() {
        let _ = writeln!(hint, "{}\t{}", start + offset + 1, visible(line));
    }
    if shown < end {
        let _ = writeln!(hint, "[{} more lines]", end - shown);
    }
    let differs = old.iter().zip(&there[start..end]).position(|(old, file)| old != file);
    if let Some(offset) = differs {
        let _ = writeln!(hint, "The first difference is at line {}:", start + offset + 1);
        let _ = writeln!(hint, "file:       {}", visible(there[start + offset]));
        let _ = writeln!(hint, "old_string: {}", visible(old[offset]));
    }
    hint.push_str("Send old_string exactly as the file has it.\n");
}

/// A line in which white space at its ends can be seen: that is where it goes wrong.
pub(super) fn visible(line: &str) -> String {
    let mark = |text: &str| text.replace('\t', "→").replace(' ', "·");
    let core = line.trim_matches([' ', '\t']);
    let start = line.len() - line.trim_start_matches([' ', '\t']).len();
    if core.is_empty() {
        return mark(line);
    }
    let (before, after) = (&line[..start], &line[start + core.len()..]);
    let core = core.replace('\t', "→");
    format!("{}{}{}", mark(before), truncation::line(&core, SHOWN_CHARS), mark(after))
}

fn has_line_numbers(old: &str) -> bool {
    let numbered = |line: &&str| {
        let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < line.trim_start().len() && rest.starts_with(['\t', '→', '|'])
    };
    let lines = split(old);
    !lines.is_empty() && lines.iter().all(numbered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_place_shows_tabs_and_spaces() {
        let text = "fn a() {\n\tlet x = 1;\n\tuse_it(x);\n}\n";
        let hint = hint(text, "    let x = 2;\n    use_it(x);\n", "    let y = 3;\n");
        assert_eq!(
            hint,
            "The closest place (→ is a tab, · a space):\n2\t→let x = 1;\n3\t→use_it(x);\n\
             The first difference is at line 2:\nfile:       →let x = 1;\n\
             old_string: ····let x = 2;\nSend old_string exactly as the file has it.\n"
        );
    }

    #[test]
    fn an_edit_that_was_made_before_is_reported() {
        let hint = hint("a\nnew line\nb\n", "old line", "new line");
        assert!(hint.starts_with("new_string is already there, at line 2:"), "{hint}");
    }

    #[test]
    fn line_numbers_in_the_old_text_are_reported() {
        let hint = hint("let a = 1;\n", "  12\tlet a = 1;\n  13\tlet b;\n", "x");
        assert!(hint.contains("line numbers that Read adds"), "{hint}");
    }

    #[test]
    fn a_file_with_nothing_similar_is_reported() {
        let hint = hint("abc\ndef\n", "zzz yyy", "x");
        assert_eq!(hint, "Nothing in the file looks like it. Read the file again.\n");
    }
}
